//! The inputs of the fuzz targets that are kept in fuzz/corpus, and damaged ones made of them, run as ordinary tests: what fuzzing found once is
//! looked for ever after, and the targets go on compiling.

#[cfg(feature = "cloud")]
#[path = "../fuzz/targets/answers.rs"]
mod answers;
#[path = "../fuzz/targets/calls.rs"]
mod calls;
#[path = "../fuzz/targets/chunk.rs"]
mod chunk;
#[path = "../fuzz/targets/hierarchy.rs"]
mod hierarchy;
#[path = "../fuzz/targets/metadata.rs"]
mod metadata;
#[path = "../fuzz/targets/model.rs"]
mod model;
#[path = "../fuzz/targets/regions.rs"]
mod regions;
#[path = "../fuzz/targets/shard.rs"]
mod shard;
#[path = "../fuzz/targets/shard_writes.rs"]
mod shard_writes;
#[path = "../fuzz/targets/zip.rs"]
mod zip;

use ozarr::store::suite::Random;
use std::panic::catch_unwind;
use std::path::Path;

/// Damaged inputs made of each that is kept; and of those that are programs of many calls.
const DAMAGED: [u64; 2] = [60, 8];

/// The input with some bytes changed, a piece cut out, or its end cut off.
fn damaged(input: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = input.to_vec();
    let at = |random: &mut Random, len: usize| random.below(len.max(1) as u64) as usize;
    match random.below(4) {
        0 => bytes.truncate(at(random, input.len())),
        1 => {
            let (a, b) = (at(random, input.len()), at(random, input.len()));
            bytes.drain(a.min(b)..a.max(b));
        }
        _ => {
            for _ in 0..=random.below(4) {
                let i = at(random, bytes.len());
                let byte = random.number();
                if let Some(b) = bytes.get_mut(i) {
                    *b = [byte as u8, 0, 0xff, *b ^ (1 << (byte % 8))][(byte >> 8) as usize % 4];
                }
            }
        }
    }
    bytes
}

#[test]
fn kept_inputs_and_damaged_ones_end_with_an_error_or_a_result() {
    type Target = (&'static str, fn(&[u8]), u64);
    let targets: &[Target] = &[
        #[cfg(feature = "cloud")]
        ("answers", answers::run, DAMAGED[1]),
        ("calls", calls::run, DAMAGED[1]),
        ("chunk", chunk::run, DAMAGED[0]),
        ("hierarchy", hierarchy::run, DAMAGED[0]),
        ("metadata", metadata::run, DAMAGED[0]),
        ("regions", regions::run, DAMAGED[0]),
        ("shard", shard::run, DAMAGED[0]),
        ("shard_writes", shard_writes::run, DAMAGED[1]),
        ("zip", zip::run, DAMAGED[0]),
    ];
    let mut runs = 0;
    for (name, run, damaged_inputs) in targets {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
        let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no inputs");
        for file in files {
            let input = std::fs::read(&file).unwrap();
            assert!(catch_unwind(|| run(&input)).is_ok(), "{}", file.display());
            let mut random = Random(1);
            for n in 0..*damaged_inputs {
                let bytes = damaged(&input, &mut random);
                assert!(catch_unwind(|| run(&bytes)).is_ok(), "{}, damaged input {n}: {bytes:?}", file.display());
                runs += 1;
            }
        }
    }
    println!("{runs} damaged inputs");
}
