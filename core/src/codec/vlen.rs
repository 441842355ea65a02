//! `vlen-utf8`, `vlen-bytes`, `vlen-array`: the number of elements, then for each its number of bytes and the bytes; numbers are
//! of 32 bits, little-endian.
//! Specification: numcodecs `vlen` (v2); zarr-extensions `codecs/vlen-utf8`, `codecs/vlen-bytes`. `zarrs.vlen_v2` is one writer's name for either
//! of these.

use super::config::Config;
use super::stage::{FIRST_ROOM, VariableCodec};
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{DataType, ElementType, parse_v2};
use crate::error::{Result, bail, err};
use crate::limits::reserve;
use std::sync::Arc;

/// What the bytes of an element are.
enum Content {
    Text,
    Bytes,
    /// Numbers of that type, as they are stored.
    Numbers(ElementType),
}

struct Vlen {
    name: &'static str,
    content: Content,
}

/// The codec of that name for elements of `data_type`.
pub(super) fn build(name: &str, config: &Config<'_>, data_type: DataType) -> Result<Arc<dyn VariableCodec>> {
    let codec = match (name.strip_prefix("numcodecs.").unwrap_or(name), data_type) {
        ("vlen-utf8" | "zarrs.vlen_v2", DataType::VarText) => Vlen { name: "vlen-utf8", content: Content::Text },
        ("vlen-bytes" | "zarrs.vlen_v2", DataType::VarBytes) => Vlen { name: "vlen-bytes", content: Content::Bytes },
        // Text is bytes; other writers do so.
        ("vlen-bytes", DataType::VarText) => Vlen { name: "vlen-bytes", content: Content::Text },
        ("vlen-array", DataType::VarArray(_)) => {
            let dtype = config.get("dtype").ok_or_else(|| config.error("dtype", "the member is missing".into()))?;
            let element = parse_v2::parse(dtype).map_err(|e| e.at_field(config.path("dtype")))?;
            Vlen { name: "vlen-array", content: Content::Numbers(element) }
        }
        _ => bail!(Metadata, "{name:?} does not take elements of {}", data_type.name()),
    };
    Ok(Arc::new(codec))
}

impl Vlen {
    /// Brings the numbers of one element into the order of this host, or back.
    fn turn(&self, bytes: &mut [u8]) {
        if let Content::Numbers(element) = self.content
            && element.swapped()
        {
            bytes.chunks_exact_mut(element.data_type.swap_unit()).for_each(<[u8]>::reverse);
        }
    }

    fn check(&self, i: usize, bytes: &[u8]) -> Result<()> {
        match self.content {
            Content::Bytes => Ok(()),
            Content::Text => match std::str::from_utf8(bytes) {
                Ok(_) => Ok(()),
                Err(e) => bail!(Range, "element {i} is not UTF-8: byte {} of {}", e.valid_up_to(), bytes.len()),
            },
            Content::Numbers(element) if bytes.len().is_multiple_of(element.size()) => Ok(()),
            Content::Numbers(element) => {
                bail!(
                    Range,
                    "element {i} has {} bytes, expected a multiple of {} ({})",
                    bytes.len(),
                    element.size(),
                    element.data_type.name()
                )
            }
        }
    }
}

impl VariableCodec for Vlen {
    fn name(&self) -> &'static str {
        self.name
    }

    fn encode(&self, items: &[u8], _shape: &[u64], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        // SAFETY: the engine passes buffers of items whose bytes it keeps.
        let list = || unsafe { variable::items(items) };
        let total = list().try_fold(4usize, |n, item| n.checked_add(4)?.checked_add(item.len));
        let total = total.filter(|n| *n as u64 <= crate::limits::max_chunk());
        reserve(dst, total.ok_or_else(|| err!(Limit, "the elements of the chunk have more bytes than a chunk may have"))?)?;
        let length = |n: usize| u32::try_from(n).map(u32::to_le_bytes);
        let count = list().len();
        dst.extend_from_slice(&length(count).map_err(|_| err!(Limit, "found {count} elements, the limit of a chunk is 2^32 - 1"))?);
        for (i, item) in list().enumerate() {
            // SAFETY: as above.
            let bytes = unsafe { item.bytes() };
            self.check(i, bytes)?;
            let size = length(bytes.len()).map_err(|_| err!(Limit, "element {i} has {} bytes, the limit is 2^32 - 1", bytes.len()))?;
            dst.extend_from_slice(&size);
            let at = dst.len();
            dst.extend_from_slice(bytes);
            self.turn(&mut dst[at..]);
        }
        Ok(())
    }

    fn check_first(&self, first: &[u8], count: usize) -> Result<()> {
        check_count(first, count)?;
        let end = |at: usize| at.checked_add(4)?.checked_add(read_length(first, at)?);
        // Ends with the first element that is not within these bytes.
        match (0..count).try_fold(4, |at, _| end(at).filter(|end| *end <= first.len())) {
            Some(end) => bail!(Chunk, "found more than {FIRST_ROOM} bytes, of which the {count} elements are the first {end}"),
            None => Ok(()),
        }
    }

    fn decode(&self, mut bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>> {
        let wanted = items.len() / size_of::<VarItem>();
        check_count(&bytes, wanted)?;
        let mut at = 4;
        for i in 0..wanted {
            let len = read_length(&bytes, at).ok_or_else(|| err!(Truncated, "the bytes end before element {i} of {wanted}"))?;
            at += 4;
            let have = bytes.len() - at;
            let Some(value) = at.checked_add(len).and_then(|end| bytes.get_mut(at..end)) else {
                bail!(Truncated, "element {i} has {len} bytes, found {have}");
            };
            self.turn(value);
            self.check(i, value).map_err(|e| err!(Chunk, "{}", e.message()))?;
            variable::set(items, i, VarItem::new(value));
            at += len;
        }
        // Bytes behind the last element are of no meaning (HD-22).
        Ok(bytes)
    }
}

fn check_count(bytes: &[u8], expected: usize) -> Result<()> {
    match read_length(bytes, 0) {
        Some(found) if found == expected => Ok(()),
        Some(found) => bail!(Chunk, "found {found} elements, expected {expected}"),
        None => bail!(Truncated, "found {} bytes, expected a number of elements", bytes.len()),
    }
}

fn read_length(bytes: &[u8], at: usize) -> Option<usize> {
    bytes.get(at..)?.first_chunk::<4>().map(|b| u32::from_le_bytes(*b) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::config::Style;

    fn codec(name: &str, json: &str, data_type: DataType) -> Arc<dyn VariableCodec> {
        let map = crate::json::parse_object(json.as_bytes(), 1 << 20).unwrap();
        build(name, &Config::new(&map, Style::V2), data_type).unwrap()
    }

    fn buffer(list: &[&[u8]]) -> Vec<u8> {
        list.iter().flat_map(|b| VarItem::new(b).to_element()).collect()
    }

    fn values(items: &[u8]) -> Vec<Vec<u8>> {
        // SAFETY: the tests keep what the items point into.
        unsafe { variable::items(items).map(|i| i.bytes().to_vec()).collect() }
    }

    #[test]
    fn elements_come_back_from_the_documented_bytes() {
        let text = codec("vlen-utf8", "{}", DataType::VarText);
        let list: &[&[u8]] = &[b"foo", b"", "naïve".as_bytes()];
        let mut stored = Vec::new();
        text.encode(&buffer(list), &[], &mut stored).unwrap();
        assert_eq!(stored, [&[3, 0, 0, 0, 3, 0, 0, 0][..], b"foo", &[0, 0, 0, 0, 6, 0, 0, 0], "naïve".as_bytes()].concat());
        let mut items = vec![0; 3 * size_of::<VarItem>()];
        let kept = text.decode(stored.clone(), &mut items).unwrap();
        assert_eq!(values(&items), list);
        drop(kept);
        stored.extend_from_slice(b"behind");
        text.decode(stored, &mut items).unwrap();
    }

    #[test]
    fn numbers_are_stored_in_their_order() {
        let codec = codec("vlen-array", r#"{"dtype": ">i2"}"#, DataType::VarArray(&DataType::Int16));
        let mut stored = Vec::new();
        codec.encode(&buffer(&[&[1, 0, 2, 0], &[]]), &[], &mut stored).unwrap();
        assert_eq!(stored, [2, 0, 0, 0, 4, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
        let mut items = vec![0; 2 * size_of::<VarItem>()];
        let _kept = codec.decode(stored, &mut items).unwrap();
        assert_eq!(values(&items), [vec![1, 0, 2, 0], vec![]]);
        assert!(codec.encode(&buffer(&[&[1, 2, 3]]), &[], &mut Vec::new()).is_err());
    }

    #[test]
    fn the_first_bytes_of_a_long_chunk_tell_whether_they_are_of_these_elements() {
        let text = codec("vlen-utf8", "{}", DataType::VarText);
        let mut stored = Vec::new();
        text.encode(&buffer(&[b"ab", &[b'c'; 100]]), &[], &mut stored).unwrap();
        let told = |first: &[u8], count| text.check_first(first, count).map_err(|e| e.message().to_string());
        assert_eq!(told(&[0; 64], 2).unwrap_err(), "found 0 elements, expected 2");
        assert_eq!(told(&stored[..50], 2), Ok(()), "the second element goes on");
        assert_eq!(told(&stored[..12], 2), Ok(()), "within a length");
        stored.resize(1000, 0);
        assert_eq!(told(&stored, 2).unwrap_err(), "found more than 1048576 bytes, of which the 2 elements are the first 114");
    }

    #[test]
    fn an_element_of_4_gib_is_refused_by_its_number() {
        // Pages that nobody touches take no memory.
        let long = vec![0; 1 << 32];
        let e = codec("vlen-bytes", "{}", DataType::VarBytes).encode(&buffer(&[b"a", &long]), &[], &mut Vec::new()).unwrap_err();
        let expected = if crate::limits::max_chunk() > 5 << 30 { "element 1 has 4294967296 bytes" } else { "than a chunk may have" };
        assert!(e.kind() == crate::error::ErrorKind::Limit && e.message().contains(expected), "{e}");
    }

    #[test]
    fn damaged_bytes_are_errors_at_every_length() {
        let text = codec("vlen-utf8", "{}", DataType::VarText);
        let mut stored = Vec::new();
        text.encode(&buffer(&[b"ab", b"c"]), &[], &mut stored).unwrap();
        let mut items = vec![0; 2 * size_of::<VarItem>()];
        for n in 0..stored.len() {
            assert!(text.decode(stored[..n].to_vec(), &mut items).is_err(), "{n}");
        }
        for (at, byte) in [(0, 3), (0, 1), (4, 255), (7, 255), (8, 0xff)] {
            let mut bad = stored.clone();
            bad[at] = byte;
            assert!(text.decode(bad, &mut items).is_err(), "{at}");
        }
        assert_eq!(text.encode(&buffer(&[&[0xff]]), &[], &mut Vec::new()).unwrap_err().kind(), crate::error::ErrorKind::Range);
    }
}
