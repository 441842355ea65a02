//! `sharding_indexed`: many inner chunks in one object, found through an index. Configuration and the index; the walk over
//! the inner chunks is the engine's.
//!
//! Specification: ZEP 2, v3 core codecs, "sharding-indexed" (v3 name `sharding_indexed`; not in v2).
//! Example: `{"name": "sharding_indexed", "configuration": {"chunk_shape": [32, 32], "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "gzip"], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"], "index_location": "end"}}`

use super::bound::{IndexLocation, Leaf};
use super::chain::{Chain, Shards};
use super::config::Config;
use crate::dtype::{ByteOrder, DataType};
use crate::error::{Result, bail};
use crate::limits::{self, Dims, c_strides};
use crate::metadata::extension::Extension;
use crate::metadata::{Value, json::brief};
use std::ops::Range;

/// What the index has for an inner chunk that is not stored.
pub const EMPTY: u64 = u64::MAX;
/// Bytes of one entry of the decoded index.
pub const ENTRY: usize = 16;

/// Reads the configuration for elements of `data_type` in chunks of that rank; `parse_list` makes a chain of a list of codecs inside, for
/// elements of a type in chunks of a rank.
pub(super) fn parse(
    config: &Config<'_>,
    data_type: DataType,
    rank: usize,
    parse_list: impl Fn(&[Extension], DataType, usize) -> Result<Chain>,
) -> Result<Shards> {
    let chain = |member: &str, data_type, rank| {
        let list = config.codec_list(member)?;
        parse_list(&list, data_type, rank).map_err(|e| e.at_field(config.path(member)))
    };
    let inner_shape = chunk_shape(config, rank)?;
    let inner = chain("codecs", data_type, rank)?;
    let index = chain("index_codecs", DataType::UInt64, limits::check_rank(rank + 1)?)?;
    if !index.has_fixed_size() {
        return Err(config.error("index_codecs", "found a codec whose encoded size varies, expected codecs of fixed size".into()));
    }
    let location = match config.text("index_location")? {
        None | Some("end") => IndexLocation::End,
        Some("start") => IndexLocation::Start,
        Some(other) => return Err(config.error("index_location", format!("found {other:?}, expected \"start\" or \"end\""))),
    };
    Ok(Shards { inner_shape, inner, index, location, codes_fill: false })
}

fn chunk_shape(config: &Config<'_>, rank: usize) -> Result<Dims> {
    let fail = |message| config.error("chunk_shape", message);
    match config.get("chunk_shape") {
        None => Err(fail("the member is missing".into())),
        Some(Value::Array(items)) if items.len() == rank => items
            .iter()
            // zarr-python 3.2 wrote `true` where the program gave True for 1.
            .map(|v| {
                v.as_u64()
                    .or(v.as_bool().map(u64::from))
                    .filter(|&n| n > 0)
                    .ok_or_else(|| fail(format!("found {}, expected an integer of 1 or more", brief(v))))
            })
            .collect(),
        Some(other) => Err(fail(format!("found {}, expected a list of {rank} integers", brief(other)))),
    }
}

/// Turns a decoded index into entries in native byte order and C order, the form that [`decode_entry`] takes.
pub fn index_to_native(index: &Leaf, decoded: &mut Vec<u8>) -> Result<()> {
    if decoded.len() != index.layout.bytes {
        bail!(ShardIndex, "found an index of {} bytes, expected {}", decoded.len(), index.layout.bytes);
    }
    reorder(index, decoded, true)
}

/// The inverse of [`index_to_native`]: the buffer that enters the index's first stage.
pub fn index_from_native(index: &Leaf, entries: &mut Vec<u8>) -> Result<()> {
    if entries.len() != index.layout.bytes {
        bail!(ShardIndex, "found entries of {} bytes, expected {}", entries.len(), index.layout.bytes);
    }
    reorder(index, entries, false)
}

fn reorder(index: &Leaf, buf: &mut Vec<u8>, to_native: bool) -> Result<()> {
    if index.layout.element.order == ByteOrder::Big {
        buf.as_chunks_mut::<8>().0.iter_mut().for_each(|word| word.reverse());
    }
    let native = c_strides(&index.shape, 8);
    if native == index.layout.strides || buf.is_empty() {
        return Ok(());
    }
    let mut out = Vec::new();
    limits::grow(&mut out, buf.len())?;
    let (words, _) = buf.as_chunks::<8>();
    let (slots, _) = out.as_chunks_mut::<8>();
    let mut at = Dims::from_elem(0, index.shape.len());
    for i in 0..words.len() {
        let other = at.iter().zip(&index.layout.strides).map(|(&n, &s)| n as usize * s as usize).sum::<usize>() / 8;
        let (from, to) = if to_native { (other, i) } else { (i, other) };
        if let (Some(word), Some(slot)) = (words.get(from), slots.get_mut(to)) {
            *slot = *word;
        }
        for (n, &len) in at.iter_mut().zip(&index.shape).rev() {
            *n += 1;
            if *n < len {
                break;
            }
            *n = 0;
        }
    }
    *buf = out;
    Ok(())
}

/// Where inner chunk `i` (in C order of the inner grid) is: offset and length from the first byte of the shard, or `None`
/// where it is not stored. `index` is native ([`index_to_native`]); `i` beyond it is an error of kind `ShardIndex`.
///
/// An entry with only the length 2^64-1 counts as not stored: older writers added the index's size to the offset.
pub fn decode_entry(index: &[u8], i: usize) -> Result<Option<(u64, u64)>> {
    let words = index.as_chunks::<8>().0;
    let entry = i.checked_mul(2).and_then(|at| Some((words.get(at)?, words.get(at.checked_add(1)?)?)));
    let Some((offset, len)) = entry.map(|(offset, len)| (u64::from_le_bytes(*offset), u64::from_le_bytes(*len))) else {
        bail!(ShardIndex, "inner chunk {i} lies outside an index of {} entries", index.len() / ENTRY);
    };
    match (offset, len) {
        (_, EMPTY) => Ok(None),
        (EMPTY, _) => bail!(ShardIndex, "inner chunk {i} has the offset of an empty one, but {len} bytes"),
        entry => Ok(Some(entry)),
    }
}

/// Where the inner chunks of a shard of `object` bytes may be whose index has `index` bytes: everywhere but there.
pub fn room(location: IndexLocation, index: usize, object: u64) -> Range<u64> {
    match location {
        IndexLocation::Start => index as u64..object,
        IndexLocation::End => 0..object.saturating_sub(index as u64),
    }
}

/// Checks that inner chunk `i` is inside the [`room`] of its shard.
pub fn check_entry(i: usize, (offset, len): (u64, u64), room: &Range<u64>) -> Result<()> {
    match offset.checked_add(len) {
        Some(end) if offset >= room.start && end <= room.end => Ok(()),
        _ => bail!(ShardIndex, "inner chunk {i} has {len} bytes at {offset}, the shard has room from {} to {}", room.start, room.end),
    }
}

/// Writes entries as a native index into `index`, which is cleared first.
pub fn encode_index(entries: &[Option<(u64, u64)>], index: &mut Vec<u8>) -> Result<()> {
    index.clear();
    limits::reserve(index, entries.len().saturating_mul(ENTRY))?;
    for entry in entries {
        let (offset, len) = entry.unwrap_or((EMPTY, EMPTY));
        index.extend_from_slice(&offset.to_le_bytes());
        index.extend_from_slice(&len.to_le_bytes());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::parse::parse_list;
    use crate::codec::testing::{config_of, doc_example};
    use crate::error::ErrorKind;

    fn shards(json: &str) -> Result<Shards> {
        parse(&Config::v3(&config_of(json)), DataType::Int32, 1, |list, t, rank| parse_list(list, t, rank, 1))
    }

    const BYTES: &str = r#"[{"name": "bytes", "configuration": {"endian": "little"}}]"#;

    #[test]
    fn the_example_of_the_specification_has_an_index_of_68_bytes() {
        let map = doc_example(include_str!("sharding.rs"));
        let s = parse(&Config::v3(&map), DataType::Int32, 2, |list, t, rank| parse_list(list, t, rank, 1)).unwrap();
        let grid = s.inner_grid(&[64, 64]).unwrap();
        assert_eq!(grid.as_slice(), &[2, 2]);
        assert_eq!(s.bind_index(&grid).unwrap().sizes.last().unwrap().max(), 68);
    }

    #[test]
    fn members_are_checked() {
        let json = |shape: &str, location: &str| {
            format!(r#"{{"chunk_shape": {shape}, "codecs": {BYTES}, "index_codecs": {BYTES}, "index_location": {location}}}"#)
        };
        assert_eq!(shards(&json("[2]", "\"start\"")).unwrap().location, IndexLocation::Start);
        assert_eq!(shards(&json("[2]", "null")).unwrap().location, IndexLocation::End);
        let cases = [
            (json("[2]", "\"middle\""), "configuration.index_location"),
            (json("[2, 2]", "\"end\""), "configuration.chunk_shape"),
            (json("[0]", "\"end\""), "configuration.chunk_shape"),
            (json("2", "\"end\""), "configuration.chunk_shape"),
            (r#"{"chunk_shape": [2], "index_codecs": []}"#.to_string(), "configuration.codecs"),
            (r#"{"chunk_shape": [2], "codecs": [3]}"#.to_string(), "configuration.codecs[0]"),
            (format!(r#"{{"chunk_shape": [2], "codecs": {BYTES}, "index_codecs": []}}"#), "configuration.index_codecs"),
        ];
        for (json, field) in cases {
            assert_eq!(shards(&json).err().unwrap().field(), Some(field), "{json}");
        }
    }

    #[test]
    fn too_many_inner_chunks_are_refused() {
        let s = shards(&format!(r#"{{"chunk_shape": [1], "codecs": {BYTES}, "index_codecs": {BYTES}}}"#)).unwrap();
        assert!(s.inner_grid(&[limits::MAX_INNER_CHUNKS]).is_ok());
        assert_eq!(s.inner_grid(&[limits::MAX_INNER_CHUNKS + 1]).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn entries_round_trip() {
        let entries = [Some((5, 7)), None, Some((0, 0)), Some((1 << 40, 1))];
        let mut index = vec![1];
        encode_index(&entries, &mut index).unwrap();
        assert_eq!(index.len(), 64);
        for (i, entry) in entries.iter().enumerate() {
            assert_eq!(decode_entry(&index, i).unwrap(), *entry);
        }
        assert_eq!(decode_entry(&index, 4).unwrap_err().kind(), ErrorKind::ShardIndex);
        assert!(decode_entry(&index, usize::MAX).is_err());
    }

    #[test]
    fn half_empty_entries_follow_the_rules() {
        let mut index = Vec::new();
        encode_index(&[Some((12, EMPTY)), Some((EMPTY, 12))], &mut index).unwrap();
        assert_eq!(decode_entry(&index, 0).unwrap(), None);
        assert_eq!(decode_entry(&index, 1).unwrap_err().kind(), ErrorKind::ShardIndex);
    }

    #[test]
    fn entries_must_lie_inside_the_shard() {
        for (location, entry, fits) in [
            (IndexLocation::End, (4, 6), true),
            (IndexLocation::End, (4, 7), false),
            (IndexLocation::End, (0, 10), true),
            (IndexLocation::Start, (20, 10), true),
            (IndexLocation::Start, (19, 10), false),
            (IndexLocation::Start, (20, 11), false),
            (IndexLocation::Start, (u64::MAX - 1, 5), false),
        ] {
            let checked = check_entry(0, entry, &room(location, 20, 30)).map_err(|e| e.kind());
            assert_eq!(checked, if fits { Ok(()) } else { Err(ErrorKind::ShardIndex) }, "{location:?} {entry:?}");
        }
        assert_eq!(room(IndexLocation::End, 20, 10), 0..0);
    }

    #[test]
    fn an_index_in_another_layout_becomes_native_and_back() {
        let json = format!(
            r#"{{"chunk_shape": [1], "codecs": {BYTES}, "index_codecs": [
                {{"name": "transpose", "configuration": {{"order": [1, 0]}}}}, {{"name": "bytes", "configuration": {{"endian": "big"}}}}]}}"#
        );
        let leaf = shards(&json).unwrap().bind_index(&[3]).unwrap();
        let mut native = Vec::new();
        encode_index(&[Some((1, 2)), None, Some((5, 6))], &mut native).unwrap();
        let mut stored = native.clone();
        index_from_native(&leaf, &mut stored).unwrap();
        let expected: Vec<u8> = [1, EMPTY, 5, 2, EMPTY, 6].iter().flat_map(|n| n.to_be_bytes()).collect();
        assert_eq!(stored, expected);
        index_to_native(&leaf, &mut stored).unwrap();
        assert_eq!(stored, native);
        assert!(index_to_native(&leaf, &mut vec![0; 40]).is_err());
    }
}
