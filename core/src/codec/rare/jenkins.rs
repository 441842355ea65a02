//! `jenkins_lookup3`: the bytes and Bob Jenkins' hash of them, 4 bytes little-endian, behind them.
//!
//! Specification: numcodecs `JenkinsLookup3` (v2 id `jenkins_lookup3`; v3 name `numcodecs.jenkins_lookup3`).
//! Example: `{"name": "numcodecs.jenkins_lookup3", "configuration": {"initval": 0, "prefix": null}}`

use crate::codec::build::Built;
use crate::codec::checksum::{Checksum, Sum};
use crate::codec::config::Config;
use crate::dtype::ElementType;
use crate::error::{Result, bail};
use crate::metadata::json::brief;

/// Reads `initval`, which the hash begins with. A `prefix` (bytes in Python, with no form in JSON) is refused.
pub(in crate::codec) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    if let Some(prefix) = config.get("prefix") {
        bail!(Unsupported, "jenkins_lookup3 with the prefix {} is not supported", brief(prefix));
    }
    let initval = config.int("initval", 0, i64::from(u32::MAX), 0)? as u32;
    let sum = Sum::From(lookup3, initval);
    Ok(Built::bytes(Checksum::new("jenkins_lookup3", "lookup3 checksum", false, sum)))
}

/// The hash `lookup3` of Bob Jenkins (hashlittle, 32 bits).
fn lookup3(data: &[u8], initval: u32) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(data.len() as u32).wrapping_add(initval);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut rest = data;
    // The last block, of 1 to 12 bytes, is mixed in another way.
    while rest.len() > 12 {
        let Some((block, after)) = rest.split_first_chunk::<12>() else { break };
        (a, b, c) = mix(added([a, b, c], block));
        rest = after;
    }
    if !rest.is_empty() {
        let mut block = [0; 12];
        block.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
        [a, b, c] = added([a, b, c], &block);
        for (shift, pick) in [(14, 0), (11, 1), (25, 2), (16, 0), (4, 1), (14, 2), (24, 0)] {
            let (target, from) = match pick {
                0 => (&mut c, b),
                1 => (&mut a, c),
                _ => (&mut b, a),
            };
            *target = (*target ^ from).wrapping_sub(from.rotate_left(shift));
        }
    }
    c
}

/// Three little-endian words, added to the state.
fn added(state: [u32; 3], block: &[u8; 12]) -> [u32; 3] {
    let words = block.as_chunks::<4>().0;
    std::array::from_fn(|i| state[i].wrapping_add(u32::from_le_bytes(words[i])))
}

/// lookup3's mixing of a block.
fn mix([mut a, mut b, mut c]: [u32; 3]) -> (u32, u32, u32) {
    for (first, second) in [(4, 6), (8, 16), (19, 4)] {
        a = a.wrapping_sub(c) ^ c.rotate_left(first);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(second);
        a = a.wrapping_add(c);
        // Each round ends with the three words in the places of the next one's.
        (a, b, c) = (c, a, b);
    }
    (a, b, c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    #[test]
    fn hashes_of_many_lengths_are_those_of_numcodecs() {
        let long: Vec<u8> = (0..9).flat_map(|_| 0..=255u8).chain([b'x']).collect();
        for (data, from_0, from_7) in [
            (&b""[..], 0xdead_beef, 0xdead_bef6),
            (&[1], 0x04ec_883b, 0x5543_253f),
            (&[1, 2], 0x2176_70cf, 0xacc5_d8fa),
            (&long, 0x2ce2_d296, 0xbb4b_b21e),
            (&[0xff; 1443], 0xd1b5_b169, 0x5a06_f6ab),
        ] {
            assert_eq!((lookup3(data, 0), lookup3(data, 7)), (from_0, from_7), "{}", data.len());
        }
    }

    #[test]
    fn the_checksum_is_behind_the_bytes() {
        let stage = stage_v2("jenkins_lookup3", "{}", DataType::UInt8);
        let mut out = Vec::new();
        stage.encode(b"123456789", &mut out).unwrap();
        assert_eq!(out[9..], 0x845d_9a96u32.to_le_bytes());
        let stage = stage_v2("jenkins_lookup3", r#"{"initval": 7, "prefix": null}"#, DataType::UInt8);
        round_trips(&*stage, SIZES);
        refuses_damage(&*stage);
    }

    #[test]
    fn configurations_are_checked() {
        doc_stage(include_str!("jenkins.rs"));
        for (json, field) in
            [(r#"{"initval": -1}"#, Some("initval")), (r#"{"initval": 4294967296}"#, Some("initval")), (r#"{"prefix": "abc"}"#, None)]
        {
            let e = build_v2("jenkins_lookup3", &config_of(json), BYTES).err().unwrap();
            assert_eq!(e.field(), field, "{json}");
        }
    }
}
