//! Shards: what a partial write encodes and what it carries over, damaged indexes, shards that are kept open, chunks as they are,
//! shards that are written piece by piece.

#[path = "support/int32.rs"]
mod int32;

use int32::{alone, read, view, write};
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection, stats};
use ozarr::error::{ErrorKind, Result};
use ozarr::node::{Array, Context, Create, Mode, Options, Spec, Store};
use ozarr::store::latency::LatencyStore;
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::memory::MemoryStore;
use ozarr::store::suite::TestFolder;
use ozarr::store::{Condition, SharedStore, get};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
const ZSTD: &str = r#"{"name":"zstd","configuration":{"level":1,"checksum":false}}"#;
const CRC: &str = r#"{"name":"crc32c"}"#;

fn shard(inner: &str, shape: &str, index: &str, location: &str) -> String {
    format!(
        r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":[{inner}],"index_codecs":[{index}],"index_location":"{location}"}}}}"#
    )
}

fn create(shared: &SharedStore, codecs: &str, shape: &[u64], chunk: &[u64], threads: usize) -> Array {
    let store = Store::from_shared(&Context::with_threads(threads), shared.clone(), Mode::ReadWrite);
    let mut spec = Spec::new(DataType::Int32, shape).unwrap();
    spec.set_chunks(chunk).unwrap();
    spec.set_codecs_json(&format!("[{codecs}]")).unwrap();
    Array::create(&store, "a", &spec, Create::Overwrite).unwrap()
}

fn memory() -> SharedStore {
    Arc::new(MemoryStore::new())
}

fn object(shared: &SharedStore, key: &str) -> Option<Vec<u8>> {
    get(&**shared, key, usize::MAX).unwrap()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

/// The entries of an index of `n` inner chunks that begins at `at`.
fn entries(bytes: &[u8], at: usize, n: usize) -> Vec<(u64, u64)> {
    (0..n).map(|i| (word(bytes, at + 16 * i), word(bytes, at + 16 * i + 8))).collect()
}

#[test]
fn one_inner_chunk_written_is_one_inner_chunk_encoded_and_the_others_are_carried_over_as_bytes() {
    let _alone = alone();
    let inner = format!("{LITTLE},{ZSTD}");
    let nested = shard(&inner, "[2]", LITTLE, "end");
    let cases = [
        ("index at the end", shard(&inner, "[4]", &format!("{LITTLE},{CRC}"), "end"), 4),
        ("index at the start", shard(&inner, "[4]", LITTLE, "start"), 4),
        ("nested", shard(&nested, "[8]", &format!("{LITTLE},{CRC}"), "end"), 2),
    ];
    for (name, codecs, extent) in cases {
        let shared = memory();
        let array = create(&shared, &codecs, &[64], &[32], 1);
        let values: Vec<i32> = (1..65).collect();
        write(&array, &[0], &[64], &values).unwrap();
        let before = object(&shared, "a/c/0").unwrap();
        for (what, start, count, decoded) in [("whole", 8i64, extent, 0), ("a part", 8, 1, 1)] {
            let before = stats::Counters::process().snapshot();
            write(&array, &[start], &[count], &vec![-5; count as usize]).unwrap();
            let now = stats::Counters::process().snapshot();
            assert_eq!(now.encoded_chunks - before.encoded_chunks, 1, "{name}: {what}");
            assert_eq!(now.decoded_chunks - before.decoded_chunks, decoded, "{name}: {what}");
        }
        let mut want = values.clone();
        want[8..8 + extent as usize].fill(-5);
        assert_eq!(read(&array, &[0], &[64]).unwrap(), want, "{name}");
        // The bytes of each other inner chunk stand in the new shard as they did in the old one.
        let after = object(&shared, "a/c/0").unwrap();
        let n = if name == "nested" { 4 } else { 8 };
        let index = |bytes: &[u8]| match name {
            "index at the start" => entries(bytes, 0, n),
            _ => entries(bytes, bytes.len() - 16 * n - 4, n),
        };
        let changed = if name == "nested" { 1 } else { 2 };
        for (i, (old, new)) in index(&before).into_iter().zip(index(&after)).enumerate().filter(|(i, _)| *i != changed) {
            let part = |bytes: &[u8], e: (u64, u64)| bytes[e.0 as usize..(e.0 + e.1) as usize].to_vec();
            assert_eq!(part(&before, old), part(&after, new), "{name}: inner chunk {i}");
        }
        assert!(object(&shared, "a/c/1").is_some());
    }
}

#[test]
fn inner_chunks_of_nothing_but_the_fill_value_go_and_the_last_one_takes_the_shard_with_it() {
    let _alone = alone();
    let shared = memory();
    let nested = shard(&format!("{LITTLE},{ZSTD}"), "[2]", LITTLE, "end");
    for codecs in [shard(LITTLE, "[4]", LITTLE, "end"), shard(&nested, "[4]", LITTLE, "start")] {
        let array = create(&shared, &codecs, &[10], &[8], 1);
        write(&array, &[1], &[4], &[1, 2, 3, 4]).unwrap();
        assert_eq!(array.chunk_count(true).unwrap(), 2);
        for (start, values) in [(1, &[0, 0, 0][..]), (0, &[0, 0, 0, 0, 4, 0, 0, 0])] {
            write(&array, &[start], &[values.len() as i64], values).unwrap();
            assert_eq!((array.chunk_count(true).unwrap(), read(&array, &[0], &[10]).unwrap()), (1, vec![0, 0, 0, 0, 4, 0, 0, 0, 0, 0]));
        }
        write(&array, &[4], &[1], &[0]).unwrap();
        assert_eq!(object(&shared, "a/c/0"), None);
        array.set_write_fill_chunks(true);
        write(&array, &[9], &[1], &[0]).unwrap();
        assert_eq!(array.chunk_count(true).unwrap(), 1);
        array.set_write_fill_chunks(false);
    }
}

#[test]
fn dead_space_and_any_order_are_understood_and_shared_bytes_stay_shared() {
    let _alone = alone();
    let shared = memory();
    let array = create(&shared, &shard(LITTLE, "[1]", LITTLE, "end"), &[4], &[4], 1);
    // Junk, inner chunk 2, junk, inner chunk 0; inner chunk 1 is missing, inner chunk 3 is the bytes of 0.
    let mut bytes = vec![9; 3];
    let put = |bytes: &mut Vec<u8>, n: i32| {
        bytes.extend(n.to_le_bytes());
        (bytes.len() as u64 - 4, 4u64)
    };
    let two = put(&mut bytes, 22);
    bytes.extend([9; 50]);
    let zero = put(&mut bytes, 20);
    let index = [zero, (u64::MAX, u64::MAX), two, zero];
    index.iter().for_each(|(a, b)| bytes.extend([a.to_le_bytes(), b.to_le_bytes()].concat()));
    shared.put("a/c/0", &[&bytes], Condition::None).unwrap();
    assert_eq!(read(&array, &[0], &[4]).unwrap(), [20, 0, 22, 20]);
    write(&array, &[1], &[1], &[21]).unwrap();
    assert_eq!(read(&array, &[0], &[4]).unwrap(), [20, 21, 22, 20]);
    assert_eq!(object(&shared, "a/c/0").unwrap().len(), 4 * 4 + 64);
    // More entries on one place than there are bytes: one copy of them stays.
    let mut bytes = 7i32.to_le_bytes().to_vec();
    (0..4).for_each(|_| bytes.extend([0u64.to_le_bytes(), 4u64.to_le_bytes()].concat()));
    bytes.truncate(4 + 64);
    shared.put("a/c/0", &[&bytes], Condition::None).unwrap();
    write(&array, &[0], &[1], &[1]).unwrap();
    assert_eq!(read(&array, &[0], &[4]).unwrap(), [1, 7, 7, 7]);
}

#[test]
fn overlapping_entries_do_not_blow_a_shard_up() {
    let _alone = alone();
    let shared = memory();
    let array = create(&shared, &shard(&format!("{LITTLE},{ZSTD}"), "[1]", LITTLE, "start"), &[256], &[256], 1);
    let mut bytes: Vec<u8> = (0..256u64).flat_map(|i| [(4096 + i).to_le_bytes(), 60_000u64.to_le_bytes()].concat()).collect();
    bytes.resize(70_000, 0);
    shared.put("a/c/0", &[&bytes], Condition::None).unwrap();
    let e = write(&array, &[0], &[1], &[1]).unwrap_err();
    assert_eq!((e.kind(), e.key()), (ErrorKind::ShardIndex, Some("a/c/0")), "{e}");
    assert!(e.message().contains("overlap"), "{e}");
    assert_eq!(object(&shared, "a/c/0").unwrap(), bytes);
}

/// One store knows the length of an object before its bytes are read, the other does not.
fn stores() -> [(&'static str, SharedStore); 2] {
    let slow = LatencyStore::new(memory(), Duration::from_micros(100));
    [("memory", memory()), ("with latency", Arc::new(slow))]
}

#[test]
fn one_bad_inner_chunk_is_an_error_for_the_regions_that_hit_it_and_no_others() {
    let _alone = alone();
    const ALL: u64 = u64::MAX;
    // The entry that inner chunk 1 of 4 gets, and what reading and changing it gives: the kind and a part of the message.
    type Row = (&'static str, (u64, u64), Option<(ErrorKind, &'static str)>);
    let rows: &[Row] = &[
        ("empty", (ALL, ALL), None),
        ("empty, as older writers said it", (83, ALL), None),
        ("the offset of an empty one only", (ALL, 4), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("behind the end", (1 << 20, 8), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("over the end", (90, 8), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("into the index", (25, 8), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("wrapping around", (ALL - 3, 8), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("wrapping around to the start", (1 << 63, 1 << 63), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("huge", (0, ALL - 1), Some((ErrorKind::ShardIndex, "inner chunk 1"))),
        ("too short", (8, 7), Some((ErrorKind::Chunk, "inner chunk 1 at byte 8"))),
        ("too long", (8, 9), Some((ErrorKind::Chunk, "inner chunk 1 at byte 8"))),
        ("nothing", (8, 0), Some((ErrorKind::Chunk, "inner chunk 1 at byte 8"))),
    ];
    for (store, shared) in stores() {
        for &(name, entry, want) in rows {
            if (store, name) == ("with latency", "into the index") {
                // Where the length of the object is not known, nor is where its index begins.
                continue;
            }
            let array = create(&shared, &shard(LITTLE, "[2]", LITTLE, "end"), &[8], &[8], 1);
            write(&array, &[0], &[8], &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
            let mut bytes = object(&shared, "a/c/0").unwrap();
            assert_eq!(bytes.len(), 96);
            bytes[48..56].copy_from_slice(&entry.0.to_le_bytes());
            bytes[56..64].copy_from_slice(&entry.1.to_le_bytes());
            shared.put("a/c/0", &[&bytes], Condition::None).unwrap();
            assert_eq!(read(&array, &[0], &[2]).unwrap(), [1, 2], "{store}: {name}");
            assert_eq!(read(&array, &[4], &[4]).unwrap(), [5, 6, 7, 8], "{store}: {name}");
            let damaged = |done: Result<()>| match (done, want) {
                (Ok(()), None) => {}
                (Err(e), Some((kind, text))) => {
                    // Where the length of the object is not known beforehand, that of the inner chunk is looked at first.
                    let also = if (store, name) == ("with latency", "huge") { ErrorKind::Chunk } else { kind };
                    let kind = if e.kind() == also { also } else { kind };
                    assert_eq!((e.kind(), e.key()), (kind, Some("a/c/0")), "{store}: {name}: {e}");
                    assert!(e.to_string().contains(text), "{store}: {name}: {e}");
                }
                (other, _) => panic!("{store}: {name}: {other:?}"),
            };
            damaged(read(&array, &[1], &[3]).map(drop));
            damaged(read(&array, &[0], &[8]).map(drop));
            damaged(read(&array, &[3], &[1]).map(drop));
            if want.is_some() {
                damaged(write(&array, &[3], &[1], &[-1]));
                assert_eq!(object(&shared, "a/c/0").unwrap(), bytes, "{store}: {name}");
            } else {
                assert_eq!(read(&array, &[2], &[2]).unwrap(), [0, 0], "{store}: {name}");
            }
            // Written whole, it is whole again.
            write(&array, &[2], &[2], &[-3, -4]).unwrap();
            assert_eq!(read(&array, &[0], &[8]).unwrap(), [1, 2, -3, -4, 5, 6, 7, 8], "{store}: {name}");
        }
    }
}

#[test]
fn a_damaged_index_is_an_error_with_its_key() {
    let _alone = alone();
    for location in ["start", "end"] {
        for (index, sum) in [(LITTLE.to_string(), false), (format!("{LITTLE},{CRC}"), true)] {
            for (_, shared) in stores() {
                let array = create(&shared, &shard(LITTLE, "[2]", &index, location), &[4], &[4], 1);
                write(&array, &[0], &[4], &[1, 2, 3, 4]).unwrap();
                let bytes = object(&shared, "a/c/0").unwrap();
                assert_eq!(bytes.len(), 16 + 32 + if sum { 4 } else { 0 }, "the size follows from the codecs of the index");
                let at = if location == "start" { 0 } else { 16 };
                let mut flipped = bytes.clone();
                flipped[at + 8] ^= 1;
                for (name, bad) in [("flipped", flipped.as_slice()), ("short", &bytes[..20]), ("empty", &[])] {
                    shared.put("a/c/0", &[bad], Condition::None).unwrap();
                    let e = read(&array, &[0], &[1]).unwrap_err();
                    assert_eq!(e.key(), Some("a/c/0"), "{name}: {e}");
                    let kinds = [ErrorKind::ShardIndex, ErrorKind::Truncated, if sum { ErrorKind::Checksum } else { ErrorKind::Chunk }];
                    assert!(kinds.contains(&e.kind()), "{location} {name}: {e:?}");
                    assert!(write(&array, &[0], &[1], &[9]).is_err());
                    assert_eq!(object(&shared, "a/c/0").unwrap(), bad);
                }
                write(&array, &[0], &[4], &[5, 6, 7, 8]).unwrap();
                assert_eq!(read(&array, &[0], &[4]).unwrap(), [5, 6, 7, 8]);
            }
        }
    }
}

#[test]
fn a_shard_has_the_same_bytes_whatever_the_threads_and_the_direction() {
    let _alone = alone();
    let codecs = shard(&format!("{LITTLE},{ZSTD}"), "[16,64]", &format!("{LITTLE},{CRC}"), "end");
    let (shape, n) = ([512u64, 1024], 512 * 1024);
    let values: Vec<i32> = (0..n).map(|i| i / 7 * 13 % 1001).collect();
    let mut objects = Vec::new();
    for threads in [1, 2, 5] {
        for backwards in [false, true] {
            let shared = memory();
            let array = create(&shared, &codecs, &shape, &shape, threads);
            let mut mine = values.clone();
            if backwards {
                mine.reverse();
            }
            let (start, step): ([i64; 2], [i64; 2]) = if backwards { ([511, 1023], [-1, -1]) } else { ([0, 0], [1, 1]) };
            let selection = Selection::new(&shape, &start, &[512, 1024], Some(&step)).unwrap();
            // SAFETY: the memory lives as long as the call.
            unsafe { array.write(&selection, &view(&mut mine, &shape)).unwrap() };
            assert!(read(&array, &[0, 0], &[512, 1024]).unwrap() == values, "{threads} {backwards}");
            // A part of most inner chunks, all others being carried over.
            write(&array, &[3, 5], &[300, 1000], &values[..300_000]).unwrap();
            let mut want = values.clone();
            (0..300).for_each(|i| want[(i + 3) * 1024 + 5..][..1000].copy_from_slice(&values[i * 1000..][..1000]));
            assert!(read(&array, &[0, 0], &[512, 1024]).unwrap() == want, "{threads} {backwards}");
            objects.push(object(&shared, "a/c/0/0").unwrap());
        }
    }
    assert!(objects.iter().all(|o| *o == objects[0]));
}

#[test]
fn an_error_in_one_piece_is_one_error() {
    let _alone = alone();
    let shared = memory();
    let array = create(&shared, &shard(&format!("{LITTLE},{ZSTD}"), "[64]", LITTLE, "end"), &[1 << 20], &[1 << 20], 4);
    let mut values = vec![1i64; 1 << 20];
    values[1 << 19] = i64::MAX;
    let memory = Memory::of(&mut values, &[1 << 20], DataType::Int64);
    // SAFETY: the memory lives as long as the call.
    let e = unsafe { array.write(&Selection::all(&[1 << 20]), &memory) }.unwrap_err();
    assert_eq!((e.kind(), e.key()), (ErrorKind::Range, Some("a/c/0")));
    assert_eq!(object(&shared, "a/c/0"), None);
}

fn open(folder: &TestFolder) -> SharedStore {
    Arc::new(LocalStore::open(folder, true, SyncMode::None).unwrap())
}

#[test]
fn a_shard_that_is_kept_open_is_looked_at_again() {
    let _alone = alone();
    let folder = TestFolder::new("open");
    let shared = open(&folder);
    let array = create(&shared, &shard(LITTLE, "[2]", LITTLE, "end"), &[8], &[4], 1);
    write(&array, &[0], &[8], &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let other = Array::open(&Store::from_shared(&Context::default(), open(&folder), Mode::ReadWrite), "a").unwrap();
    let file = folder.join("a/c/0");
    let one = || read(&array, &[1], &[1]).unwrap()[0];
    assert_eq!((one(), one()), (2, 2));
    write(&array, &[1], &[1], &[20]).unwrap();
    assert_eq!(one(), 20, "written by the same handle");
    write(&other, &[1], &[1], &[21]).unwrap();
    assert_eq!(one(), 21, "written by another");
    // The old file keeps a name elsewhere: its number of names is the same after the replacement.
    std::fs::hard_link(&file, folder.join("elsewhere")).unwrap();
    assert_eq!(one(), 21);
    write(&other, &[1], &[1], &[22]).unwrap();
    assert_eq!(one(), 22, "replaced, the old file still having a name");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(one(), 0, "erased");
    write(&other, &[1], &[1], &[23]).unwrap();
    assert_eq!(one(), 23);
    // Other programs may write in place.
    let changed = std::fs::read(&file).unwrap();
    let mut longer = 24i32.to_le_bytes().repeat(2);
    longer.extend(&changed[8..]);
    longer.splice(8..8, [0; 8]);
    std::thread::sleep(Duration::from_millis(20));
    std::fs::write(&file, &longer).unwrap();
    assert_eq!(one(), 24, "changed in place");
    assert_eq!(read(&array, &[4], &[4]).unwrap(), [5, 6, 7, 8]);
}

#[test]
fn few_files_stay_open_and_none_after_the_array() {
    let _alone = alone();
    let folder = TestFolder::new("few");
    let shared = open(&folder);
    let open_files = || {
        let all = std::fs::read_dir("/proc/self/fd").unwrap().filter_map(|f| std::fs::read_link(f.unwrap().path()).ok());
        all.filter(|target| target.starts_with(folder.join("a/c"))).count()
    };
    let array = create(&shared, &shard(LITTLE, "[1]", LITTLE, "end"), &[80], &[2], 3);
    write(&array, &[0], &[80], &(1..81).collect::<Vec<_>>()).unwrap();
    assert_eq!(open_files(), 0);
    // None is kept open while another change could leave no trace.
    std::thread::sleep(Duration::from_millis(40));
    for _ in 0..2 {
        assert_eq!(read(&array, &[0], &[80]).unwrap(), (1..81).collect::<Vec<_>>());
        (0..40).for_each(|i| assert_eq!(read(&array, &[2 * i], &[1]).unwrap(), [2 * i as i32 + 1]));
        let n = open_files();
        assert!((1..=16).contains(&n), "{n}");
    }
    drop(array);
    assert_eq!(open_files(), 0);
}

#[test]
fn with_latency_a_warm_element_of_a_shard_in_a_shard_is_one_request_too() {
    let _alone = alone();
    let slow = Arc::new(LatencyStore::new(memory(), Duration::from_micros(100)));
    let shared: SharedStore = slow.clone();
    let nested = shard(&shard(LITTLE, "[2]", LITTLE, "start"), "[8]", LITTLE, "end");
    let array = create(&shared, &nested, &[32], &[32], 1);
    write(&array, &[0], &[32], &(1..33).collect::<Vec<i32>>()).unwrap();
    let requests = |start: i64| {
        let before = slow.stats().requests;
        assert_eq!(read(&array, &[start], &[1]).unwrap(), [start as i32 + 1]);
        slow.stats().requests - before
    };
    // Both indexes and the chunk; one chunk; the index of another inner shard and a chunk; one chunk of each.
    assert_eq!([0, 5, 9, 14, 2].map(requests), [3, 1, 2, 1, 1]);
    let other = Array::open(&Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite), "a").unwrap();
    write(&other, &[3], &[1], &[40]).unwrap();
    assert_eq!(read(&array, &[2], &[2]).unwrap(), [3, 40], "a replaced shard is read anew");
}

#[test]
fn with_latency_a_warm_element_is_one_request_and_a_replaced_shard_is_read_anew() {
    let _alone = alone();
    let slow = Arc::new(LatencyStore::new(memory(), Duration::from_micros(100)));
    let shared: SharedStore = slow.clone();
    let array = create(&shared, &shard(LITTLE, "[2]", LITTLE, "end"), &[8], &[8], 1);
    write(&array, &[0], &[6], &[1, 2, 3, 4, 5, 6]).unwrap();
    let requests = |start: i64, want: i32| {
        let before = slow.stats().requests;
        assert_eq!(read(&array, &[start], &[1]).unwrap(), [want]);
        slow.stats().requests - before
    };
    assert_eq!(requests(0, 1), 2, "cold");
    assert_eq!(requests(3, 4), 1, "warm");
    let other = Array::open(&Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite), "a").unwrap();
    write(&other, &[6], &[1], &[7]).unwrap();
    assert_eq!(requests(3, 4), 3, "replaced");
    assert_eq!(requests(6, 7), 1, "warm again");
    write(&other, &[4], &[4], &[0; 4]).unwrap();
    assert_eq!(read(&array, &[6], &[1]).unwrap(), [0]);
    write(&other, &[6], &[1], &[9]).unwrap();
    // Empty in the index that is known: the index is asked again.
    assert_eq!(read(&array, &[6], &[1]).unwrap(), [9]);
}

#[test]
fn shards_piece_by_piece_equal_those_of_one_write() {
    let _alone = alone();
    for location in ["start", "end"] {
        let codecs = format!(
            r#"{{"name":"transpose","configuration":{{"order":[1,0]}}}},{}"#,
            shard(&format!("{LITTLE},{ZSTD}"), "[3,2]", &format!("{LITTLE},{CRC}"), location)
        );
        let (one, folder) = (memory(), TestFolder::new(location));
        let pieces = open(&folder);
        let values: Vec<i32> = (0..35).map(|i| if i < 14 { 0 } else { i }).collect();
        write(&create(&one, &codecs, &[5, 7], &[6, 9], 1), &[0, 0], &[5, 7], &values).unwrap();
        let array = create(&pieces, &codecs, &[5, 7], &[6, 9], 1);
        let mut writer = array.shard_writer(&[0, 0]).unwrap();
        // The same order as the index gives the same bytes.
        for j in 0..3u64 {
            for i in 0..3u64 {
                let inside = writer.inside(&[i, j]).unwrap();
                let mut piece = Vec::new();
                for y in 0..inside[0] {
                    for x in 0..inside[1] {
                        piece.push(values[((i * 2 + y) * 7 + j * 3 + x) as usize]);
                    }
                }
                // SAFETY: the memory lives as long as the call.
                unsafe { writer.put(&[i, j], &view(&mut piece, &inside)).unwrap() };
            }
        }
        assert_eq!(object(&pieces, "a/c/0/0"), None);
        writer.finish().unwrap();
        assert_eq!(object(&pieces, "a/c/0/0"), object(&one, "a/c/0/0"), "{location}");
        let names = std::fs::read_dir(folder.join("a/c/0")).unwrap().count();
        assert_eq!(names, 1, "no temporary file is left");
        // Begun and dropped: nothing has changed. Finished without anything: the shard goes.
        let before = object(&pieces, "a/c/0/0");
        drop(array.shard_writer(&[0, 0]).unwrap());
        assert_eq!((object(&pieces, "a/c/0/0"), std::fs::read_dir(folder.join("a/c/0")).unwrap().count()), (before, 1));
        array.shard_writer(&[0, 0]).unwrap().finish().unwrap();
        assert_eq!(object(&pieces, "a/c/0/0"), None);
    }
}

#[test]
fn a_shard_finished_behind_a_cut_stores_nothing_of_what_was_cut_off() {
    for (cut, put, stored) in [(6, 2, false), (10, 2, false), (0, 2, false), (12, 2, true), (12, 3, false)] {
        let array = create(&memory(), &shard(LITTLE, "[4]", LITTLE, "end"), &[16], &[8], 0);
        let mut writer = array.shard_writer(&[1]).unwrap();
        // SAFETY: the memory lives as long as the call.
        unsafe { writer.put(&[put], &view(&mut [7; 4], &[4])).unwrap() };
        array.resize(&[cut], false).unwrap();
        let finished = writer.finish().map_err(|e| e.kind());
        assert_eq!(finished, if stored { Ok(()) } else { Err(ErrorKind::Bounds) }, "cut to {cut}, put {put}");
        array.resize(&[16], false).unwrap();
        let sum: i32 = read(&array, &[0], &[16]).unwrap().iter().sum();
        assert_eq!(sum, if stored { 28 } else { 0 }, "cut to {cut}, put {put}");
    }
}

#[test]
fn what_lies_between_the_inner_chunks_of_a_large_shard_is_not_read_when_a_part_changes() {
    let _alone = alone();
    let folder = TestFolder::new("sparse");
    let shared = open(&folder);
    let array = create(&shared, &shard(LITTLE, "[2]", LITTLE, "end"), &[8], &[8], 1);
    // Inner chunk 1 lies 3 GiB behind inner chunk 0; the others are not stored.
    let far = 3u64 << 30;
    let entries = [0, 8, far, 8, u64::MAX, u64::MAX, u64::MAX, u64::MAX];
    let file = folder.join("a/c/0");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let file = std::fs::File::create(file).unwrap();
    file.write_all_at(&[10i32, 11].map(i32::to_le_bytes).concat(), 0).unwrap();
    file.write_all_at(&[12i32, 13].map(i32::to_le_bytes).concat(), far).unwrap();
    file.write_all_at(&entries.map(u64::to_le_bytes).concat(), far + 8).unwrap();
    let before = stats::Counters::process().snapshot().bytes_read;
    write(&array, &[4], &[1], &[14]).unwrap();
    let found = stats::Counters::process().snapshot().bytes_read - before;
    assert!(found < 1 << 20, "{found} bytes were read");
    assert_eq!(read(&array, &[0], &[8]).unwrap(), [10, 11, 12, 13, 14, 0, 0, 0]);
    assert_eq!(object(&shared, "a/c/0").unwrap().len(), 3 * 8 + 64);
}

#[test]
fn compressed_shards_have_no_inner_chunks_of_their_own_but_read_and_write() {
    let _alone = alone();
    let shared = memory();
    let array = create(&shared, &format!("{},{ZSTD}", shard(LITTLE, "[2]", LITTLE, "end")), &[8], &[8], 2);
    write(&array, &[1], &[3], &[1, 2, 3]).unwrap();
    assert_eq!(read(&array, &[0], &[5]).unwrap(), [0, 1, 2, 3, 0]);
    assert_eq!(array.chunk_place(&[0], true).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(array.chunk_place(&[0], false).unwrap().is_some());
    write(&array, &[0], &[8], &[0; 8]).unwrap();
    assert_eq!(object(&shared, "a/c/0"), None);
}

#[test]
fn an_empty_object_is_a_missing_shard_to_writers_too_where_that_was_asked_for() {
    let _one = alone();
    for (threads, inner) in [(1, LITTLE.to_string()), (2, format!("{LITTLE},{ZSTD}"))] {
        let shared = memory();
        create(&shared, &shard(&inner, "[2]", LITTLE, "end"), &[8], &[8], threads);
        shared.put("a/c/0", &[], Condition::None).unwrap();
        let e = write(
            &Array::open(&Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite), "a").unwrap(),
            &[1],
            &[2],
            &[5, 6],
        );
        assert_eq!(e.unwrap_err().kind(), ErrorKind::ShardIndex);
        let options = Options { empty_is_missing: true, ..Options::default() };
        let array = Array::open(&Store::new(&Context::default(), shared, Mode::ReadWrite, options), "a").unwrap();
        assert_eq!(read(&array, &[0], &[8]).unwrap(), [0; 8]);
        write(&array, &[1], &[2], &[5, 6]).unwrap();
        assert_eq!(read(&array, &[0], &[8]).unwrap(), [0, 5, 6, 0, 0, 0, 0, 0]);
    }
}
