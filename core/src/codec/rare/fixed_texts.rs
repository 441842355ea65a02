//! `vlen-utf8` and `vlen-bytes` over elements of one length (`<U5`, `|S5`): each without the zeros that pad it, as `codec/vlen.rs` stores elements of
//! variable length. zarr-python 3.0 writes format 2 so.
//! Specification: numcodecs `vlen`.

use crate::codec::build::Built;
use crate::codec::config::Config;
use crate::codec::stage::{Dest, Size, Stage};
use crate::codec::streams::{check_input, decode_known};
use crate::dtype::{DataType, ElementType};
use crate::error::{Result, bail, err};
use crate::limits::reserve;

/// The codec of one of the two names.
struct FixedTexts {
    name: &'static str,
    element: ElementType,
}

/// Makes `vlen-utf8` of text of one length.
pub(in crate::codec) fn build_utf8(_config: &Config<'_>, item: ElementType) -> Result<Built> {
    match item.data_type {
        DataType::Text(_) => Ok(Built::bytes(FixedTexts { name: "vlen-utf8", element: item })),
        other => bail!(Metadata, "\"vlen-utf8\" takes text (\"dtype\": \"|O\" or \"<U…\"), found {}", other.name()),
    }
}

/// Makes `vlen-bytes` of bytes of one length.
pub(in crate::codec) fn build_bytes(_config: &Config<'_>, item: ElementType) -> Result<Built> {
    match item.data_type {
        DataType::Bytes(_) | DataType::CText(_) => Ok(Built::bytes(FixedTexts { name: "vlen-bytes", element: item })),
        other => bail!(Metadata, "\"vlen-bytes\" takes bytes (\"dtype\": \"|O\" or \"|S…\"), found {}", other.name()),
    }
}

impl FixedTexts {
    fn is_text(&self) -> bool {
        matches!(self.element.data_type, DataType::Text(_))
    }

    /// Appends the bytes of element number `i` as they are stored.
    fn append(&self, i: usize, element: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let used = element.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
        if !self.is_text() {
            dst.extend_from_slice(&element[..used]);
            return Ok(());
        }
        for point in &element.as_chunks::<4>().0[..used.div_ceil(4)] {
            let point = if self.element.swapped() { u32::from_be_bytes(*point) } else { u32::from_le_bytes(*point) };
            let c = char::from_u32(point).ok_or_else(|| err!(Range, "element {i} has {point:#x}, which is no character of Unicode"))?;
            dst.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        Ok(())
    }

    /// Writes element number `i` from its stored bytes, and zeros behind it.
    fn place(&self, i: usize, stored: &[u8], element: &mut [u8]) -> Result<()> {
        element.fill(0);
        let name = self.element.data_type.name();
        if !self.is_text() {
            let size = element.len();
            let Some(front) = element.get_mut(..stored.len()) else {
                bail!(Chunk, "element {i} has {} bytes, expected at most {size} ({name})", stored.len());
            };
            front.copy_from_slice(stored);
            return Ok(());
        }
        let text = std::str::from_utf8(stored)
            .map_err(|e| err!(Chunk, "element {i} is not UTF-8: byte {} of {}", e.valid_up_to(), stored.len()))?;
        let mut points = element.as_chunks_mut::<4>().0.iter_mut();
        for c in text.chars() {
            let Some(point) = points.next() else {
                bail!(Chunk, "element {i} has {} characters, expected at most {} ({name})", text.chars().count(), self.element.size() / 4);
            };
            *point = if self.element.swapped() { u32::from(c).to_be_bytes() } else { u32::from(c).to_le_bytes() };
        }
        Ok(())
    }
}

/// Takes the next little-endian number off the front.
fn number(bytes: &mut &[u8]) -> Result<usize> {
    let (number, rest) =
        bytes.split_first_chunk::<4>().ok_or_else(|| err!(Truncated, "found {} bytes, expected a number of 4", bytes.len()))?;
    *bytes = rest;
    Ok(u32::from_le_bytes(*number) as usize)
}

impl Stage for FixedTexts {
    fn name(&self) -> &'static str {
        self.name
    }

    /// A character of 4 bytes takes at most 4 in UTF-8, and each element 4 for its length.
    fn encoded_size(&self, decoded: Size) -> Size {
        let n = decoded.max();
        Size::AtMost((n / self.element.size().max(1)).saturating_mul(4).saturating_add(n).saturating_add(4))
    }

    fn unit(&self) -> usize {
        self.element.size().max(1)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        let size = self.unit();
        check_input(self.name, src.len(), size)?;
        let count = src.len() / size;
        if u32::try_from(count).is_err() || u32::try_from(size).is_err() {
            bail!(Limit, "found {count} elements of {size} bytes, the limits are 2^32 - 1");
        }
        reserve(dst, self.encoded_size(Size::Exact(src.len())).max())?;
        dst.extend_from_slice(&(count as u32).to_le_bytes());
        for (i, element) in src.chunks_exact(size).enumerate() {
            let at = dst.len();
            dst.extend_from_slice(&[0; 4]);
            self.append(i, element, dst)?;
            let length = (dst.len() - at - 4) as u32;
            dst[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }

    fn decode(&self, mut src: &[u8], dest: Dest<'_>) -> Result<()> {
        let (size, count) = (self.element.size(), number(&mut src)?);
        let n = count.checked_mul(size).ok_or_else(|| err!(Limit, "found {count} elements of {size} bytes"))?;
        decode_known(dest, n, &mut |out| {
            let mut rest = src;
            for (i, element) in out.chunks_exact_mut(size.max(1)).enumerate() {
                let len = number(&mut rest)?;
                let Some((stored, behind)) = rest.split_at_checked(len) else {
                    bail!(Truncated, "element {i} has {len} bytes, found {}", rest.len());
                };
                self.place(i, stored, element)?;
                rest = behind;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::config::Style;
    use crate::dtype::ByteOrder;
    use crate::metadata::Map;

    fn stage(data_type: DataType, order: ByteOrder) -> crate::codec::stage::StageRef {
        let (map, item) = (Map::new(), ElementType::new(data_type, order));
        let build = if matches!(data_type, DataType::Text(_)) { build_utf8 } else { build_bytes };
        build(&Config::new(&map, Style::V2), item).unwrap().stage
    }

    /// What zarr-python 3.0.10 stores of `["ab", "é", "hello"]` and `[b"ab", b"", b"hello"]`, and the elements in memory.
    fn cases() -> Vec<(DataType, ByteOrder, Vec<u8>, Vec<u8>)> {
        let text = "ab\0\0\0é\0\0\0\0hello";
        let points = |order| {
            text.chars().flat_map(move |c| if order == ByteOrder::Big { u32::from(c).to_be_bytes() } else { u32::from(c).to_le_bytes() })
        };
        let utf8 = b"\x03\0\0\0\x02\0\0\0ab\x02\0\0\0\xc3\xa9\x05\0\0\0hello".to_vec();
        let bytes = b"\x03\0\0\0\x02\0\0\0ab\0\0\0\0\x05\0\0\0hello".to_vec();
        vec![
            (DataType::Text(5), ByteOrder::Little, points(ByteOrder::Little).collect(), utf8.clone()),
            (DataType::Text(5), ByteOrder::Big, points(ByteOrder::Big).collect(), utf8),
            (DataType::Bytes(5), ByteOrder::NATIVE, b"ab\0\0\0\0\0\0\0\0hello".to_vec(), bytes),
        ]
    }

    #[test]
    fn elements_of_one_length_are_stored_without_what_pads_them() {
        for (data_type, order, elements, stored) in cases() {
            let stage = stage(data_type, order);
            let mut made = Vec::new();
            stage.encode(&elements, &mut made).unwrap();
            assert_eq!(made, stored, "{data_type:?}");
            assert!(stage.encoded_size(Size::Exact(elements.len())).max() >= stored.len());
            let mut back = vec![9; elements.len()];
            stage.decode(&stored, Dest::Exact(&mut back)).unwrap();
            assert_eq!(back, elements, "{data_type:?}");
        }
    }

    #[test]
    fn short_elements_may_take_more_bytes_than_their_own() {
        let (stage, elements) = (stage(DataType::Bytes(1), ByteOrder::NATIVE), vec![b'a'; 200_000]);
        let mut stored = Vec::new();
        stage.encode(&elements, &mut stored).unwrap();
        assert_eq!(stage.encoded_size(Size::Exact(elements.len())).max(), stored.len());
    }

    #[test]
    fn damaged_and_too_long_elements_are_errors() {
        for (data_type, order, elements, stored) in cases() {
            let stage = stage(data_type, order);
            let mut back = vec![9; elements.len()];
            for end in 0..stored.len() {
                assert!(stage.decode(&stored[..end], Dest::Exact(&mut back)).is_err(), "{data_type:?}: {end}");
            }
            let long = b"\x01\0\0\0\x06\0\0\0sixsix";
            let size = elements.len() / 3;
            let error = stage.decode(long, Dest::Exact(&mut back[..size])).unwrap_err();
            assert!(error.message().contains("element 0 has 6") && error.message().contains("at most 5"), "{error}");
        }
        let stage = stage(DataType::Text(1), ByteOrder::NATIVE);
        assert!(stage.encode(&0xd800u32.to_ne_bytes(), &mut Vec::new()).unwrap_err().message().contains("0xd800"));
    }
}
