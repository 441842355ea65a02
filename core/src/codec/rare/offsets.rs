//! `zarrs.vlen`: the offsets of the elements and their bytes, each through a chain of codecs of its own.
//!
//! Documentation: zarrs, "vlen array to bytes codec" (v3 name `zarrs.vlen`): 8 bytes with the number of bytes of the encoded offsets
//! (little-endian), these, and the encoded data; with `index_location` "end" the data come first and the 8 bytes last. There is one
//! offset more than elements, as in Apache Arrow.
//! Example: `{"name": "zarrs.vlen", "configuration": {"data_codecs": ["bytes"], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "index_data_type": "uint32", "index_location": "start"}}`

use crate::codec::bound::Leaf;
use crate::codec::chain::Chain;
use crate::codec::config::Config;
use crate::codec::stage::{Dest, FIRST_ROOM, Size, VariableCodec};
use crate::codec::streams::wrong_size;
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{DataType, ElementType};
use crate::error::{Result, bail, err};
use crate::limits::{grow, max_chunk, reserve};
use crate::metadata::extension::Extension;
use std::sync::Arc;

struct Offsets {
    data: Chain,
    index: Chain,
    /// The type of the offsets.
    number: DataType,
    at_end: bool,
    is_text: bool,
}

/// Makes the codec for elements of `data_type`; `parse_list` makes a chain of a list of codecs inside, for elements of a type.
pub(in crate::codec) fn build(
    config: &Config<'_>,
    data_type: DataType,
    parse_list: impl Fn(&[Extension], DataType) -> Result<Chain>,
) -> Result<Arc<dyn VariableCodec>> {
    let is_text = match data_type {
        DataType::VarText => true,
        DataType::VarBytes => false,
        other => bail!(Metadata, "\"zarrs.vlen\" does not take elements of {}", other.name()),
    };
    let number = match config.text("index_data_type")? {
        Some("uint32") => DataType::UInt32,
        None | Some("uint64") => DataType::UInt64,
        Some(other) => return Err(config.error("index_data_type", format!("found {other:?}, expected uint32 or uint64"))),
    };
    let at_end = match config.text("index_location")? {
        None | Some("start") => false,
        Some("end") => true,
        Some(other) => return Err(config.error("index_location", format!("found {other:?}, expected start or end"))),
    };
    let chain = |member: &str, data_type: DataType| {
        let chain = parse_list(&config.codec_list(member)?, data_type).map_err(|e| e.at_field(config.path(member)))?;
        match chain.is_sharded() {
            false => Ok(chain),
            true => Err(config.error(member, "found shards, expected codecs of one buffer".into())),
        }
    };
    Ok(Arc::new(Offsets { data: chain("data_codecs", DataType::UInt8)?, index: chain("index_codecs", number)?, number, at_end, is_text }))
}

impl Offsets {
    fn check(&self, i: usize, bytes: &[u8]) -> Result<()> {
        match std::str::from_utf8(bytes) {
            Err(e) if self.is_text => bail!(Range, "element {i} is not UTF-8: byte {} of {}", e.valid_up_to(), bytes.len()),
            _ => Ok(()),
        }
    }

    /// The encoded offsets and the encoded data.
    fn split<'a>(&self, bytes: &'a [u8]) -> Result<(&'a [u8], &'a [u8])> {
        let short = || err!(Truncated, "found {} bytes, expected the offsets of the elements and their length", bytes.len());
        let (length, rest) = match self.at_end {
            false => bytes.split_first_chunk::<8>().map(|(length, rest)| (*length, rest)),
            true => bytes.split_last_chunk::<8>().map(|(rest, length)| (*length, rest)),
        }
        .ok_or_else(short)?;
        let length = usize::try_from(u64::from_le_bytes(length)).ok().filter(|n| *n <= rest.len()).ok_or_else(short)?;
        Ok(if self.at_end { (&rest[rest.len() - length..], &rest[..rest.len() - length]) } else { rest.split_at(length) })
    }

    fn offset(&self, index: &[u8], i: usize) -> u64 {
        let at = i * self.number.size();
        let mut word = [0u8; 8];
        word[..self.number.size()].copy_from_slice(&index[at..at + self.number.size()]);
        u64::from_le_bytes(word)
    }
}

/// Encodes native elements that fill a leaf's buffer.
fn encode_leaf(leaf: &Leaf, mut elements: Vec<u8>) -> Result<Vec<u8>> {
    turn(leaf.layout.element, &mut elements);
    for stage in &leaf.stages {
        let mut next = Vec::new();
        stage.encode(&elements, &mut next).map_err(|e| e.at_field(stage.name()))?;
        elements = next;
    }
    Ok(elements)
}

/// Decodes to native elements that fill a leaf's buffer.
fn decode_leaf(leaf: &Leaf, encoded: &[u8]) -> Result<Vec<u8>> {
    let mut now: Option<Vec<u8>> = None;
    for (stage, size) in leaf.stages.iter().zip(&leaf.sizes).rev() {
        let (src, mut next) = (now.as_deref().unwrap_or(encoded), Vec::new());
        let most = size.max().saturating_mul(2).saturating_add(1 << 16);
        match size {
            // A size that damaged offsets may say is not made room for before the bytes are there.
            Size::Exact(n) if *n > src.len().saturating_mul(16).max(FIRST_ROOM) => stage
                .decode(src, Dest::AtMost(&mut next, *n))
                .and_then(|()| if next.len() == *n { Ok(()) } else { Err(wrong_size(next.len(), *n)) }),
            Size::Exact(n) => stage.decode(src, Dest::Exact(grow(&mut next, *n)?)),
            Size::AtMost(_) => stage.decode(src, Dest::AtMost(&mut next, most)),
        }
        .map_err(|e| e.at_field(stage.name()))?;
        now = Some(next);
    }
    let mut elements = match now {
        Some(elements) => elements,
        None => {
            let mut copy = Vec::new();
            reserve(&mut copy, encoded.len())?;
            copy.extend_from_slice(encoded);
            copy
        }
    };
    if elements.len() != leaf.layout.bytes {
        bail!(Chunk, "found {} bytes, expected {}", elements.len(), leaf.layout.bytes);
    }
    turn(leaf.layout.element, &mut elements);
    Ok(elements)
}

fn turn(element: ElementType, bytes: &mut [u8]) {
    if element.swapped() {
        bytes.chunks_exact_mut(element.size()).for_each(<[u8]>::reverse);
    }
}

impl VariableCodec for Offsets {
    fn name(&self) -> &'static str {
        "zarrs.vlen"
    }

    fn unverified(&self) -> Option<Arc<dyn VariableCodec>> {
        Some(Arc::new(Offsets { data: self.data.clone().unverified(), index: self.index.clone().unverified(), ..*self }))
    }

    fn any_thread(&self) -> bool {
        self.data.any_thread() && self.index.any_thread()
    }

    fn check_writing(&self) -> Result<()> {
        let exact = |chain: &Chain, member: &str| chain.bind_leaf(&[256])?.check_exact().map_err(|e| e.at_field(member));
        exact(&self.data, "data_codecs").and_then(|()| exact(&self.index, "index_codecs"))
    }

    fn encode(&self, items: &[u8], _shape: &[u64], dst: &mut Vec<u8>) -> Result<()> {
        // SAFETY: the engine passes buffers of items whose bytes it keeps.
        let list = || unsafe { variable::items(items) };
        let total = list().try_fold(0usize, |n, item| n.checked_add(item.len));
        let limit = if self.number == DataType::UInt32 { max_chunk().min(u64::from(u32::MAX)) } else { max_chunk() };
        let total = total.filter(|n| *n as u64 <= limit);
        let total = total.ok_or_else(|| err!(Limit, "the elements of the chunk have more than {limit} bytes"))?;
        let (mut data, mut index) = (Vec::new(), Vec::new());
        reserve(&mut data, total)?;
        reserve(&mut index, (list().len() + 1).saturating_mul(self.number.size()))?;
        let size = self.number.size();
        index.extend_from_slice(&[0u8; 8][..size]);
        for (i, item) in list().enumerate() {
            // SAFETY: as above.
            let bytes = unsafe { item.bytes() };
            self.check(i, bytes)?;
            data.extend_from_slice(bytes);
            index.extend_from_slice(&(data.len() as u64).to_le_bytes()[..size]);
        }
        let index = encode_leaf(&self.index.bind_leaf(&[list().len() as u64 + 1])?, index)?;
        let data = if data.is_empty() { data } else { encode_leaf(&self.data.bind_leaf(&[total as u64])?, data)? };
        dst.clear();
        reserve(dst, index.len().saturating_add(data.len()).saturating_add(8))?;
        let length = (index.len() as u64).to_le_bytes();
        let pieces: [&[u8]; 3] = if self.at_end { [&data, &index, &length] } else { [&length, &index, &data] };
        pieces.iter().for_each(|piece| dst.extend_from_slice(piece));
        Ok(())
    }

    fn decode(&self, bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>> {
        let wanted = items.len() / size_of::<VarItem>();
        let (index, data) = self.split(&bytes)?;
        let index = decode_leaf(&self.index.bind_leaf(&[wanted as u64 + 1])?, index)?;
        let total = self.offset(&index, wanted);
        if total > max_chunk() {
            bail!(Limit, "the elements have {total} bytes, the limit is {}", max_chunk());
        }
        let data = if total == 0 { Vec::new() } else { decode_leaf(&self.data.bind_leaf(&[total])?, data)? };
        for i in 0..wanted {
            let (start, end) = (self.offset(&index, i), self.offset(&index, i + 1));
            // No offset is beyond the memory, if none is beyond the data.
            let Some(value) = data.get(start.min(total) as usize..end.min(total) as usize).filter(|_| start <= end && end <= total) else {
                bail!(Chunk, "element {i} is from {start} to {end} of {total} bytes");
            };
            self.check(i, value).map_err(|e| err!(Chunk, "{}", e.message()))?;
            variable::set(items, i, VarItem::new(value));
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::config::Style;
    use crate::codec::parse::parse_list;
    use crate::error::ErrorKind;

    fn codec(json: &str, data_type: DataType) -> Result<Arc<dyn VariableCodec>> {
        let map = crate::json::parse_object(json.as_bytes(), 1 << 20).unwrap();
        build(&Config::new(&map, Style::V3), data_type, |list, t| parse_list(list, t, 1, 1))
    }

    fn buffer(list: &[&[u8]]) -> Vec<u8> {
        list.iter().flat_map(|b| VarItem::new(b).to_element()).collect()
    }

    const PLAIN: &str = r#"{"data_codecs": ["bytes"], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}], "index_data_type": "uint32"}"#;

    #[test]
    fn offsets_and_data_are_where_the_documentation_has_them() {
        let mut stored = Vec::new();
        codec(PLAIN, DataType::VarText).unwrap().encode(&buffer(&[b"ab", b"", b"c"]), &[], &mut stored).unwrap();
        assert_eq!(stored, [16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, b'a', b'b', b'c']);
    }

    #[test]
    fn elements_come_back_through_any_chains() {
        let chains = [
            PLAIN.to_string(),
            PLAIN.replace("\"little\"", "\"big\"").replace("uint32\"", "uint64\", \"index_location\": \"end\""),
            PLAIN.replace("[\"bytes\"]", r#"["bytes", {"name": "gzip", "configuration": {"level": 5}}, "crc32c"]"#),
            PLAIN.replace("\"little\"}}", r#""little"}}, {"name": "zstd", "configuration": {"level": 1}}"#),
        ];
        for json in chains {
            for list in [&[&b"foo"[..], b"", "naïve".as_bytes()][..], &[b"", b""], &[]] {
                let codec = codec(&json, DataType::VarText).unwrap();
                let (mut stored, mut items) =
                    (Vec::new(), vec![0; std::mem::size_of_val(list) / size_of::<&[u8]>() * size_of::<VarItem>()]);
                codec.encode(&buffer(list), &[], &mut stored).unwrap();
                let kept = codec.decode(stored.clone(), &mut items).unwrap();
                // SAFETY: what they point into is kept.
                let found: Vec<Vec<u8>> = unsafe { variable::items(&items).map(|i| i.bytes().to_vec()).collect() };
                assert_eq!(found, list, "{json}");
                drop(kept);
                for n in 0..stored.len() {
                    assert!(codec.decode(stored[..n].to_vec(), &mut items).is_err(), "{json}: {n} bytes");
                }
            }
        }
    }

    #[test]
    fn long_texts_are_read_and_lying_offsets_are_errors() {
        let text = vec![b'a'; 3 << 20];
        let zstd = r#"["bytes", {"name": "zstd", "configuration": {"level": 1}}]"#;
        let gzip = r#"["bytes", {"name": "gzip", "configuration": {"level": 1}}, "crc32c"]"#;
        for codecs in [zstd, gzip] {
            let codec = codec(&PLAIN.replace("[\"bytes\"]", codecs), DataType::VarText).unwrap();
            let (mut stored, mut items) = (Vec::new(), VarItem::EMPTY.to_element().to_vec());
            codec.encode(&buffer(&[&text]), &[], &mut stored).unwrap();
            assert!(codec.decode(stored.clone(), &mut items).unwrap() == text, "{codecs}");
            // The last offset, which is the size of all texts.
            for size in [0u32, 1, (3 << 20) - 1, (3 << 20) + 1, 200 << 20] {
                stored[12..16].copy_from_slice(&size.to_le_bytes());
                let e = codec.decode(stored.clone(), &mut items).map(|_| ()).err();
                assert_eq!(e.map(|e| e.kind()), (size > 0).then_some(ErrorKind::Chunk), "{codecs}: {size}");
            }
        }
    }

    #[test]
    fn damage_and_wrong_configurations_are_named() {
        let codec_of = |json: &str| codec(json, DataType::VarText);
        let mut stored = Vec::new();
        let plain = codec_of(PLAIN).unwrap();
        plain.encode(&buffer(&[b"ab", b"c"]), &[], &mut stored).unwrap();
        let mut items = vec![0; 2 * size_of::<VarItem>()];
        for (at, byte) in [(0, 255), (7, 255), (8, 3), (12, 9), (16, 200), (19, 255), (20, 0xff)] {
            let mut bad = stored.clone();
            bad[at] = byte;
            assert!(plain.decode(bad, &mut items).is_err(), "byte {at}");
        }
        let cases = [
            (PLAIN.replace("uint32", "int8"), "configuration.index_data_type"),
            (PLAIN.replace("uint32\"", "uint32\", \"index_location\": \"middle\""), "configuration.index_location"),
            (PLAIN.replace("data_codecs", "codecs"), "configuration.data_codecs"),
            (PLAIN.replace("[\"bytes\"]", "[\"gzip\"]"), "configuration.data_codecs[0]"),
        ];
        for (json, field) in cases {
            assert_eq!(codec_of(&json).err().unwrap().field(), Some(field), "{json}");
        }
        assert_eq!(codec(PLAIN, DataType::Int8).err().unwrap().kind(), ErrorKind::Metadata);
        assert!(codec(PLAIN, DataType::VarBytes).unwrap().encode(&buffer(&[&[0xff]]), &[], &mut Vec::new()).is_ok());
    }
}
