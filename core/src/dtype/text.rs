//! Text to text: bytes padded with NUL or blanks, code points, and items of variable length, of any lengths.
//!
//! The value of a padded element ends before its padding, that of C's text at its first NUL. Bytes that become code points must be UTF-8, code points that become
//! bytes must be characters (no surrogates); a value that is longer than its place does not fit.

use super::run::Run;
use super::variable::{Arena, VarItem};
use super::{DataType, ElementType};
use crate::limits;
use std::ptr::{copy_nonoverlapping, write_bytes};
use std::sync::Arc;

/// A conversion between two types of text.
#[derive(Clone, Debug)]
pub(super) struct TextTransfer {
    from: ElementType,
    to: ElementType,
    /// Keeps the UTF-8 of code points that became items of variable length.
    kept: Option<Arc<Arena>>,
}

impl TextTransfer {
    /// The conversion, if both are text. Bytes become items that point into the source, so that is for sources that stay; code points
    /// become items that point into memory which goes with the conversion; items point to what they pointed to.
    pub fn new(from: ElementType, to: ElementType) -> Option<TextTransfer> {
        use DataType::*;
        let fixed = |t: DataType| matches!(t, Bytes(_) | CText(_) | Chars(_));
        let converts = match (from.data_type, to.data_type) {
            (Text(_), Text(_)) => true,
            (a, b) if fixed(a) => fixed(b) || matches!(b, Text(_) | VarText | VarBytes),
            (Text(_) | VarText | VarBytes, b) if fixed(b) => true,
            (VarText, Text(_) | VarBytes) | (Text(_) | VarBytes, VarText) => true,
            _ => false,
        };
        let keeps = matches!((from.data_type, to.data_type), (Text(_), VarText));
        converts.then(|| TextTransfer { from, to, kept: keeps.then(Arc::default) })
    }

    /// Converts a run of elements.
    ///
    /// # Safety
    /// As for [`super::transfer::Transfer::run`]; items must point to bytes that are there.
    pub unsafe fn run(&self, run: Run) -> std::result::Result<(), usize> {
        run.blocks(1, |one| {
            // SAFETY: one element on either side.
            unsafe { self.one(one.src, one.dst) }.ok_or(0)
        })
    }

    /// # Safety
    /// One element is readable at `src`, one writable at `dst`.
    unsafe fn one(&self, src: *const u8, dst: *mut u8) -> Option<()> {
        // SAFETY: as for this function, throughout.
        unsafe {
            if let DataType::Text(n) = self.from.data_type {
                let points = Points { at: src, len: n as usize, swap: self.from.swapped() };
                return match self.to.data_type {
                    DataType::Text(m) => points.copy(dst, m as usize, self.to.swapped()),
                    DataType::VarText => {
                        let item = self.keep(&points)?;
                        dst.cast::<VarItem>().write_unaligned(item);
                        Some(())
                    }
                    _ => points.encode(dst, self.to.size(), self.padding()),
                };
            }
            let mut value = self.value(src);
            if matches!(self.to.data_type, DataType::Bytes(_) | DataType::Text(_)) {
                value = trimmed(value, 0);
            }
            match self.to.data_type {
                DataType::Text(m) => decode(value, dst, m as usize, self.to.swapped()),
                DataType::VarText | DataType::VarBytes => {
                    if self.to.data_type == DataType::VarText {
                        std::str::from_utf8(value).ok()?;
                    }
                    dst.cast::<VarItem>().write_unaligned(VarItem::new(value));
                    Some(())
                }
                _ => {
                    let room = self.to.size().checked_sub(value.len())?;
                    copy_nonoverlapping(value.as_ptr(), dst, value.len());
                    write_bytes(dst.add(value.len()), self.padding(), room);
                    Some(())
                }
            }
        }
    }

    /// Copies code points as UTF-8 to memory that goes with the conversion.
    ///
    /// # Safety
    /// The points are readable.
    unsafe fn keep(&self, points: &Points) -> Option<VarItem> {
        // SAFETY: the caller's promise.
        let count = unsafe { points.count() };
        let mut text = smallvec::SmallVec::<[u8; 256]>::new();
        if text.try_reserve(count.saturating_mul(4)).is_err() {
            limits::memory_ended();
            return Some(VarItem::EMPTY);
        }
        for i in 0..count {
            // SAFETY: i < count.
            let c = char::from_u32(unsafe { points.get(i) })?;
            text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        let kept = self.kept.as_ref()?.copy(&text);
        if kept.is_none() {
            limits::memory_ended();
        }
        Some(kept.unwrap_or(VarItem::EMPTY))
    }

    /// Why the element at `src` does not fit.
    ///
    /// # Safety
    /// As for [`TextTransfer::run`], for one element.
    pub unsafe fn explain(&self, src: *const u8) -> String {
        let room = match self.to.data_type {
            DataType::Text(n) => format!("{n} characters"),
            DataType::VarText => "a text".to_string(),
            other => format!("{} bytes", other.size()),
        };
        if let DataType::Text(n) = self.from.data_type {
            let points = Points { at: src, len: n as usize, swap: self.from.swapped() };
            // SAFETY: the caller's promise.
            let wrong = unsafe { (0..points.count()).map(|i| points.get(i)).find(|p| char::from_u32(*p).is_none()) };
            return match wrong.filter(|_| !matches!(self.to.data_type, DataType::Text(_))) {
                Some(point) => format!("the code point {point:#x} is no character"),
                None => format!("a text does not fit into {room}"),
            };
        }
        // SAFETY: the caller's promise.
        let value = unsafe { self.value(src) };
        match std::str::from_utf8(value) {
            Err(e) if matches!(self.to.data_type, DataType::Text(_) | DataType::VarText) => {
                format!("the bytes are not UTF-8 at byte {}", e.valid_up_to())
            }
            _ => format!("a text of {} bytes does not fit into {room}", value.len()),
        }
    }

    /// The bytes of a source element without its padding.
    ///
    /// # Safety
    /// One element is readable at `src`, and its bytes stay.
    unsafe fn value<'a>(&self, src: *const u8) -> &'a [u8] {
        let pad = match self.from.data_type {
            // SAFETY: an item is there, and its bytes are.
            DataType::VarText | DataType::VarBytes => return unsafe { src.cast::<VarItem>().read_unaligned().bytes() },
            DataType::Chars(_) => b' ',
            _ => 0,
        };
        // SAFETY: as many bytes as the type has.
        let bytes = unsafe { std::slice::from_raw_parts(src, self.from.size()) };
        match self.from.data_type {
            DataType::CText(_) => bytes.split(|&b| b == 0).next().unwrap_or_default(),
            _ => trimmed(bytes, pad),
        }
    }

    fn padding(&self) -> u8 {
        if matches!(self.to.data_type, DataType::Chars(_)) { b' ' } else { 0 }
    }
}

/// The bytes before the padding at the end.
fn trimmed(bytes: &[u8], pad: u8) -> &[u8] {
    let end = bytes.iter().rposition(|&b| b != pad).map_or(0, |last| last + 1);
    bytes.get(..end).unwrap_or_default()
}

/// Code points in memory.
struct Points {
    at: *const u8,
    len: usize,
    swap: bool,
}

impl Points {
    /// # Safety
    /// `i < len`, and the points are readable.
    unsafe fn get(&self, i: usize) -> u32 {
        // SAFETY: the caller's promise.
        let point = unsafe { self.at.cast::<u32>().add(i).read_unaligned() };
        if self.swap { point.swap_bytes() } else { point }
    }

    /// The points before the NULs at the end.
    ///
    /// # Safety
    /// The points are readable.
    unsafe fn count(&self) -> usize {
        // SAFETY: i < len.
        (0..self.len).rev().find(|&i| unsafe { self.get(i) } != 0).map_or(0, |last| last + 1)
    }

    /// # Safety
    /// The points are readable, and `room` points writable at `dst`.
    unsafe fn copy(&self, dst: *mut u8, room: usize, swap: bool) -> Option<()> {
        // SAFETY: the caller's promise; `count` points are there and fit.
        unsafe {
            let count = self.count();
            let rest = room.checked_sub(count)?;
            let to = dst.cast::<u32>();
            for i in 0..count {
                let point = self.get(i);
                to.add(i).write_unaligned(if swap { point.swap_bytes() } else { point });
            }
            write_bytes(to.add(count).cast::<u8>(), 0, rest * 4);
        }
        Some(())
    }

    /// # Safety
    /// The points are readable, and `room` bytes writable at `dst`.
    unsafe fn encode(&self, dst: *mut u8, room: usize, pad: u8) -> Option<()> {
        // SAFETY: the caller's promise; what is written was checked to fit.
        unsafe {
            let mut at = 0;
            for i in 0..self.count() {
                let mut buf = [0; 4];
                let bytes = char::from_u32(self.get(i))?.encode_utf8(&mut buf).as_bytes();
                if bytes.len() > room - at {
                    return None;
                }
                copy_nonoverlapping(bytes.as_ptr(), dst.add(at), bytes.len());
                at += bytes.len();
            }
            write_bytes(dst.add(at), pad, room - at);
        }
        Some(())
    }
}

/// UTF-8 to code points, padded with NUL.
///
/// # Safety
/// `room` points are writable at `dst`.
unsafe fn decode(value: &[u8], dst: *mut u8, room: usize, swap: bool) -> Option<()> {
    let text = std::str::from_utf8(value).ok()?;
    let to = dst.cast::<u32>();
    let mut at = 0;
    for c in text.chars() {
        if at == room {
            return None;
        }
        let point = u32::from(c);
        // SAFETY: at < room.
        unsafe { to.add(at).write_unaligned(if swap { point.swap_bytes() } else { point }) };
        at += 1;
    }
    // SAFETY: the rest of the room.
    unsafe { write_bytes(to.add(at).cast::<u8>(), 0, (room - at) * 4) };
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::dtype::run::Run;
    use crate::dtype::transfer::Transfer;
    use crate::dtype::variable::VarItem;
    use crate::dtype::{ByteOrder, DataType::*, ElementType};

    fn points(text: &str, n: usize, order: ByteOrder) -> Vec<u8> {
        let mut all: Vec<u32> = text.chars().map(u32::from).collect();
        all.resize(n, 0);
        all.iter().flat_map(|p| if order == ByteOrder::Big { p.to_be_bytes() } else { p.to_le_bytes() }).collect()
    }

    /// Converts three elements, the second of which is the one.
    fn convert(from: impl Into<ElementType>, to: impl Into<ElementType>, element: &[u8]) -> std::result::Result<Vec<u8>, usize> {
        let (from, to) = (from.into(), to.into());
        assert_eq!(element.len(), from.size());
        let pad = if matches!(from.data_type, Chars(_)) { b' ' } else { 0 };
        let mut src = vec![pad; from.size()];
        src.extend_from_slice(element);
        src.resize(from.size() * 3, pad);
        let mut dst = vec![0x55; to.size() * 3];
        let transfer = Transfer::new(from, to).unwrap();
        // SAFETY: three elements on either side.
        unsafe {
            transfer.run(Run {
                src: src.as_ptr(),
                src_stride: from.size() as isize,
                dst: dst.as_mut_ptr(),
                dst_stride: to.size() as isize,
                n: 3,
            })
        }?;
        Ok(dst[to.size()..2 * to.size()].to_vec())
    }

    #[test]
    fn padded_bytes_of_any_length_and_padding() {
        assert_eq!(convert(Bytes(5), Bytes(3), b"ab\0\0\0").unwrap(), b"ab\0");
        assert_eq!(convert(Bytes(5), Bytes(8), b"a\0b\0\0").unwrap(), b"a\0b\0\0\0\0\0");
        assert_eq!(convert(Bytes(3), Chars(5), b"ab\0").unwrap(), b"ab   ");
        assert_eq!(convert(Chars(5), Bytes(3), b"a b  ").unwrap(), b"a b");
        assert_eq!(convert(Chars(4), Chars(2), b"    ").unwrap(), b"  ");
        assert_eq!(convert(Bytes(5), Bytes(3), b"abcd\0"), Err(1));
        assert_eq!(convert(Chars(4), Bytes(3), b"abcd"), Err(1));
    }

    /// A program's memory behind the end of its text is whatever was there before.
    #[test]
    fn text_of_c_ends_at_its_first_nul() {
        for (to, stored) in
            [(Bytes(5), &b"ab\0\0\0"[..]), (Bytes(2), b"ab"), (Chars(4), b"ab  "), (Text(2), &points("ab", 2, ByteOrder::NATIVE))]
        {
            assert_eq!(convert(CText(5), to, b"ab\0UU").unwrap(), stored, "{to:?}");
        }
        assert_eq!(convert(CText(3), Bytes(3), b"abc").unwrap(), b"abc");
        assert_eq!(convert(CText(3), Bytes(2), b"\0UU").unwrap(), b"\0\0");
        assert_eq!(convert(CText(5), Bytes(2), b"abc\0U"), Err(1));
        assert_eq!(convert(Bytes(5), CText(5), b"a\0b\0\0").unwrap(), b"a\0b\0\0", "reading gives what is stored");
        assert_eq!(Transfer::new(Bytes(5).into(), CText(5).into()).unwrap().plain_copy(), Some(5));
        assert_eq!(convert(Text(2), CText(3), &points("ab", 2, ByteOrder::NATIVE)).unwrap(), b"ab\0");
    }

    #[test]
    fn code_points_and_utf_8() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let u = |n| ElementType::new(Text(n), order);
            assert_eq!(convert(u(4), Bytes(6), &points("aé𝄞", 4, order)), Err(1));
            assert_eq!(convert(u(4), Bytes(9), &points("aé𝄞", 4, order)).unwrap(), "aé𝄞\0\0".as_bytes());
            assert_eq!(convert(u(2), Chars(4), &points("é", 2, order)).unwrap(), "é  ".as_bytes());
            assert_eq!(convert(Bytes(4), u(3), "éa\0".as_bytes()).unwrap(), points("éa", 3, order));
            assert_eq!(convert(Bytes(4), u(3), b"abcd"), Err(1));
            assert_eq!(convert(Bytes(4), u(4), b"ab\xff\0"), Err(1));
            assert_eq!(
                convert(u(3), ElementType::new(Text(5), ByteOrder::Big), &points("xyz", 3, order)).unwrap(),
                points("xyz", 5, ByteOrder::Big)
            );
            assert_eq!(convert(u(3), Text(2), &points("xyz", 3, order)), Err(1));
        }
        // A surrogate is no character, but stays what it is among code points.
        let surrogate = [0x00, 0xd8, 0, 0];
        assert_eq!(convert(Text(1), Bytes(4), &surrogate), Err(1));
        assert_eq!(convert(Text(1), Text(1), &surrogate).unwrap(), surrogate);
    }

    #[test]
    fn items_of_variable_length() {
        let item = |bytes: &[u8]| VarItem::new(bytes).to_element();
        let text = "größe".as_bytes();
        assert_eq!(convert(VarText, Bytes(8), &item(text)).unwrap(), "größe\0".as_bytes());
        assert_eq!(convert(VarText, Chars(9), &item(text)).unwrap(), "größe  ".as_bytes());
        assert_eq!(convert(VarText, Text(5), &item(text)).unwrap(), points("größe", 5, ByteOrder::Little));
        assert_eq!(convert(VarText, Bytes(4), &item(text)), Err(1));
        assert_eq!(convert(VarBytes, Bytes(2), &item(b"")).unwrap(), b"\0\0");
        // NULs at the end are padding there.
        for from in [VarText, VarBytes] {
            assert_eq!(convert(from, Bytes(3), &item(b"ab\0\0\0")).unwrap(), b"ab\0");
            assert_eq!(convert(from, Bytes(3), &item(b"\0ab\0")).unwrap(), b"\0ab");
        }
        assert_eq!(convert(VarText, Text(3), &item(b"ab\0\0\0")).unwrap(), points("ab", 3, ByteOrder::Little));
        assert_eq!(convert(VarText, Chars(3), &item(b"ab\0\0")), Err(1), "blanks are the padding here");
        let src = *b"\0\0\0ab\0\0\0\0";
        let mut dst = [VarItem::EMPTY; 3];
        let transfer = Transfer::new(Bytes(3).into(), VarText.into()).unwrap();
        // SAFETY: three elements on either side, and the source stays.
        let value = unsafe {
            transfer.run(Run { src: src.as_ptr(), src_stride: 3, dst: dst.as_mut_ptr().cast(), dst_stride: 16, n: 3 }).unwrap();
            dst[1].bytes()
        };
        assert_eq!(value, b"ab");
        for (from, to, bytes, is_taken) in [
            (VarText, VarBytes, text, true),
            (VarBytes, VarText, text, true),
            (VarBytes, VarText, &[0x61, 0xff], false),
            (VarText, VarBytes, b"ab\0", true),
        ] {
            let converted = convert(from, to, &item(bytes));
            // SAFETY: one item, which points to bytes that are there.
            let found = converted.map(|element| unsafe { crate::dtype::variable::items(&element).next().unwrap().bytes().to_vec() });
            assert_eq!(found, if is_taken { Ok(bytes.to_vec()) } else { Err(1) }, "{from:?} {to:?} {bytes:?}");
        }
        assert!(Transfer::new(Text(3).into(), VarBytes.into()).is_err() && Transfer::new(VarBytes.into(), Text(3).into()).is_err());
    }

    #[test]
    fn code_points_become_texts_of_any_length_that_stay_as_long_as_the_conversion() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            // More than one buffer of copies.
            let n = 9000;
            let value = |i: usize| ["", "a", "größe", "𝄞", "abcdefgh"][i % 5];
            let src: Vec<u8> = (0..n).flat_map(|i| points(value(i), 8, order)).collect();
            let mut dst = vec![VarItem::EMPTY; n];
            let transfer = Transfer::new(ElementType::new(Text(8), order), VarText.into()).unwrap();
            // SAFETY: that many elements are on either side.
            unsafe {
                transfer.run(Run { src: src.as_ptr(), src_stride: 32, dst: dst.as_mut_ptr().cast(), dst_stride: 16, n }).unwrap();
            }
            drop(src);
            // SAFETY: the conversion keeps the bytes.
            assert!(dst.iter().enumerate().all(|(i, item)| unsafe { item.bytes() } == value(i).as_bytes()));
        }
        assert_eq!(convert(Text(1), VarText, &[0x00, 0xd8, 0, 0]), Err(1), "a surrogate is no character");
    }
}
