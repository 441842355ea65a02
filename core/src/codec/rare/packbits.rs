//! `packbits`: elements without their unused bits. Two formats of one name.
//!
//! Specification: numcodecs `PackBits` (v2 id `packbits`; v3 name `numcodecs.packbits`, array→array): a byte that counts the
//! padding bits, then booleans, the first in the most significant bit. zarr-extensions, "packbits" (v3 name `packbits`,
//! array→bytes): the bits `first_bit` to `last_bit` of each component (by default all that count: 4 of `int4`), the first in the
//! least significant bit; the sign of a signed integer is its highest kept bit; the padding
//! is counted in the first byte, the last one, or nowhere (`padding_encoding`). zarrs leaves the count out where whole components are
//! kept; their length tells, and they are read.
//! Example: `{"name": "packbits", "configuration": {"padding_encoding": "none", "first_bit": 0, "last_bit": 11}}`
//! Example of numcodecs: `{"name": "numcodecs.packbits", "configuration": {}}`

use crate::codec::build::{ArrayCodec, Built};
use crate::codec::config::{Config, as_number};
use crate::codec::stage::{BYTES, Dest, Size, Stage};
use crate::codec::streams::{check_input, check_whole, decode_known, output};
use crate::dtype::{DataType, ElementType, Kind};
use crate::error::{Result, bail};
use crate::multiversion::multiversion;
use std::sync::Arc;

/// numcodecs' `packbits`: booleans to bytes.
pub(in crate::codec) fn build_numcodecs(_config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    // In v2 a filter views whatever comes in as booleans.
    if item.size() != 1 {
        bail!(Metadata, "packbits takes bool, found elements of {}", item.data_type.name());
    }
    Ok(ArrayCodec::new(item, BYTES, |from, _| Arc::new(NumcodecsPackBits(from.data_type))).ordered())
}

/// Eight booleans, any byte but 0 being true, as the bits of a byte; `multiplier` brings them to their places.
fn gather(bools: [u8; 8], multiplier: u64) -> u8 {
    let mut x = u64::from_le_bytes(bools);
    // The lowest bit of each byte becomes whether any of its bits is set.
    x |= x >> 4;
    x |= x >> 2;
    x |= x >> 1;
    ((x & 0x0101_0101_0101_0101).wrapping_mul(multiplier) >> 56) as u8
}

/// The multiplier that puts the first boolean into the most significant bit.
const MSB_FIRST: u64 = 0x8040_2010_0804_0201;
/// The multiplier that puts it into the least significant bit.
const LSB_FIRST: u64 = 0x0102_0408_1020_4080;

/// Booleans to bits, eight to a byte; the last byte may have fewer.
fn pack(src: &[u8], out: &mut [u8], multiplier: u64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the processor has the instructions.
    let done = if std::arch::is_x86_feature_detected!("avx2") { unsafe { pack_avx2(src, out, multiplier == MSB_FIRST) } } else { 0 };
    #[cfg(not(target_arch = "x86_64"))]
    let done = 0;
    let (blocks, rest) = src.get(done * 8..).unwrap_or_default().as_chunks::<8>();
    let mut slots = out.get_mut(done..).unwrap_or_default().iter_mut();
    slots.by_ref().zip(blocks).for_each(|(slot, block)| *slot = gather(*block, multiplier));
    if let Some(slot) = slots.next() {
        let mut block = [0; 8];
        block.iter_mut().zip(rest).for_each(|(b, v)| *b = *v);
        *slot = gather(block, multiplier);
    }
}

/// 32 booleans at once; how many bytes were made.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn pack_avx2(src: &[u8], out: &mut [u8], msb_first: bool) -> usize {
    use std::arch::x86_64::*;
    let reversal =
        _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    let (blocks, slots) = (src.as_chunks::<32>().0, out.as_chunks_mut::<4>().0);
    for (block, slot) in blocks.iter().zip(slots) {
        // SAFETY: 32 bytes are there; this load needs no alignment.
        let v = unsafe { _mm256_loadu_si256(block.as_ptr().cast()) };
        let v = if msb_first { _mm256_shuffle_epi8(v, reversal) } else { v };
        let zeros = _mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_setzero_si256()));
        *slot = (!zeros as u32).to_le_bytes();
    }
    blocks.len() * 4
}

multiversion! {
    /// The inverse of [`pack`].
    fn unpack(src: &[u8], out: &mut [u8], msb_first: bool) {
        // Each byte of the mask keeps the bit that becomes that boolean.
        let mask = if msb_first { 0x0102_0408_1020_4080 } else { 0x8040_2010_0804_0201u64 };
        let spread = |byte: u8| {
            let bits = u64::from_le_bytes([byte; 8]) & mask;
            // A byte that is not 0 reaches its highest bit, and no carry the next byte.
            ((bits + 0x7f7f_7f7f_7f7f_7f7f) >> 7 & 0x0101_0101_0101_0101).to_le_bytes()
        };
        let (blocks, rest) = out.as_chunks_mut::<8>();
        let whole = blocks.len();
        blocks.iter_mut().zip(src).for_each(|(block, byte)| *block = spread(*byte));
        if let Some(byte) = src.get(whole) {
            rest.iter_mut().zip(spread(*byte)).for_each(|(slot, bit)| *slot = bit);
        }
    }
}

fn map_size(size: Size, f: impl Fn(usize) -> usize) -> Size {
    match size {
        Size::Exact(n) => Size::Exact(f(n)),
        Size::AtMost(n) => Size::AtMost(f(n)),
    }
}

/// numcodecs' format, over elements of that type.
struct NumcodecsPackBits(DataType);

impl Stage for NumcodecsPackBits {
    fn name(&self) -> &'static str {
        "packbits"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        map_size(decoded, |n| 1 + n.div_ceil(8))
    }

    fn check_writing(&self) -> Result<()> {
        if self.0 != DataType::Bool {
            bail!(Metadata, "packbits takes bool, found elements of {}", self.0.name());
        }
        Ok(())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        // An array of other elements that is there may have a bit in each.
        if self.0 != DataType::Bool
            && let Some(byte) = src.iter().find(|byte| **byte > 1)
        {
            bail!(Unsupported, "packbits of {} keeps 0 and 1 only, found a byte {byte}", self.0.name());
        }
        let out = output(dst, 1 + src.len().div_ceil(8))?;
        if let Some((head, packed)) = out.split_first_mut() {
            *head = (packed.len() * 8 - src.len()) as u8;
            pack(src, packed, MSB_FIRST);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let Some((&padding, packed)) = src.split_first() else {
            bail!(Truncated, "found no bytes, expected at least the one that counts the padding");
        };
        match (packed.len() * 8).checked_sub(padding.into()).filter(|_| padding < 8) {
            Some(n) => decode_known(dst, n, &mut |out| {
                unpack(packed, out, true);
                Ok(())
            }),
            None => bail!(Chunk, "found {padding} padding bits in {} bytes, expected at most 7", packed.len()),
        }
    }
}

/// Where v3's format counts the padding bits.
#[derive(Clone, Copy, PartialEq)]
enum Padding {
    None,
    First,
    Last,
}

/// v3's format, over elements in native byte order.
struct PackBits {
    padding: Padding,
    data_type: DataType,
    /// Bytes of a component in memory.
    component: usize,
    first_bit: u32,
    /// The number of bits that are kept of a component.
    bits: u32,
}

/// v3's `packbits`: reads `padding_encoding`, `first_bit` and `last_bit` (also as `start_bit` and `end_bit`, and
/// `start_byte` and `end_byte` for the padding, as the schema beside the specification has them).
pub(in crate::codec) fn build(config: &Config<'_>, item: ElementType) -> Result<Built> {
    let padding = match config.text("padding_encoding")? {
        None | Some("none") => Padding::None,
        Some("first_byte" | "start_byte") => Padding::First,
        Some("last_byte" | "end_byte") => Padding::Last,
        Some(other) => {
            return Err(config.error("padding_encoding", format!("found {other:?}, expected none, first_byte or last_byte")));
        }
    };
    // The count of a time has a sign.
    let data_type = as_number(item).data_type;
    if matches!(data_type, DataType::Struct(_)) {
        bail!(Unsupported, "packbits of {} is not supported", data_type.name());
    }
    let component = data_type.swap_unit();
    let all = if data_type.is_number() { i64::from(data_type.bits()) } else { component as i64 * 8 };
    let named = |name, other| if config.get(name).is_some() { name } else { other };
    let first_bit = config.int(named("first_bit", "start_bit"), 0, all - 1, 0)?;
    let last_bit = config.int(named("last_bit", "end_bit"), first_bit, all - 1, all - 1)?;
    let bits = (last_bit - first_bit + 1) as u32;
    Ok(Built::bytes(PackBits { padding, data_type, component, first_bit: first_bit as u32, bits }))
}

impl PackBits {
    /// The encoded bytes of that number of decoded bytes, without the one that counts the padding.
    fn packed_size(&self, decoded: usize) -> usize {
        let bits = (decoded / self.component) as u128 * u128::from(self.bits);
        usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)
    }

    fn total_size(&self, decoded: usize) -> usize {
        self.packed_size(decoded).saturating_add(usize::from(self.padding != Padding::None))
    }

    /// Whether the count of the padding, 0, may be left out.
    fn may_lack_count(&self) -> bool {
        self.padding != Padding::None && self.bits as usize == self.component * 8
    }

    fn padding_bits(&self, decoded: usize) -> u8 {
        let bits = (decoded / self.component) as u128 * u128::from(self.bits);
        (bits.div_ceil(8) * 8 - bits) as u8
    }

    fn pack_into(&self, src: &[u8], out: &mut [u8]) {
        if self.data_type == DataType::Bool {
            return pack(src, out, LSB_FIRST);
        }
        let mask = u64::MAX >> (64 - self.bits);
        let (mut held, mut count, mut slots) = (0u128, 0, out.iter_mut());
        for component in src.chunks_exact(self.component) {
            held |= u128::from((word(component) >> self.first_bit) & mask) << count;
            count += self.bits;
            while count >= 8 {
                slots.next().into_iter().for_each(|slot| *slot = held as u8);
                (held, count) = (held >> 8, count - 8);
            }
        }
        slots.next().into_iter().for_each(|slot| *slot = held as u8);
    }

    fn unpack_into(&self, src: &[u8], out: &mut [u8]) {
        if self.data_type == DataType::Bool {
            return unpack(src, out, false);
        }
        let mask = u64::MAX >> (64 - self.bits);
        // The sign of a signed integer is its highest kept bit.
        let unused = if self.data_type.kind() == Kind::Int { 64 - self.bits - self.first_bit } else { 0 };
        let (mut held, mut count, mut bytes) = (0u128, 0, src.iter());
        for component in out.chunks_exact_mut(self.component) {
            while count < self.bits {
                held |= u128::from(bytes.next().copied().unwrap_or(0)) << count;
                count += 8;
            }
            let value = ((held as u64 & mask) << self.first_bit << unused) as i64;
            let value = if unused > 0 { value >> unused } else { value };
            component.iter_mut().zip(value.to_le_bytes()).for_each(|(slot, byte)| *slot = byte);
            (held, count) = (held >> self.bits, count - self.bits);
        }
    }

    /// The packed bytes without the one that counts the padding, and that count.
    fn split<'a>(&self, src: &'a [u8]) -> Result<(&'a [u8], Option<u8>)> {
        let parts = match self.padding {
            Padding::None => return Ok((src, None)),
            Padding::First => src.split_first(),
            Padding::Last => src.split_last(),
        };
        match parts {
            Some((&padding, packed)) => Ok((packed, Some(padding))),
            None => bail!(Truncated, "found no bytes, expected at least the one that counts the padding"),
        }
    }
}

/// Up to 8 bytes as a number.
fn word(component: &[u8]) -> u64 {
    let mut raw = [0; 8];
    raw.iter_mut().zip(component).for_each(|(slot, byte)| *slot = *byte);
    u64::from_le_bytes(raw)
}

impl Stage for PackBits {
    fn name(&self) -> &'static str {
        "packbits"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        let size = map_size(decoded, |n| self.total_size(n));
        if self.may_lack_count() { Size::AtMost(size.max()) } else { size }
    }

    fn unit(&self) -> usize {
        self.component
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_input("packbits", src.len(), self.component)?;
        let out = output(dst, self.total_size(src.len()))?;
        let padding = self.padding_bits(src.len());
        let packed = match self.padding {
            Padding::None => Some(out),
            Padding::First => out.split_first_mut().map(|(slot, packed)| {
                *slot = padding;
                packed
            }),
            Padding::Last => out.split_last_mut().map(|(slot, packed)| {
                *slot = padding;
                packed
            }),
        };
        self.pack_into(src, packed.unwrap_or_default());
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let most = match &dst {
            Dest::Exact(d) => d.len(),
            Dest::AtMost(_, max) | Dest::Checked(_, max, _) => *max,
        };
        let (packed, padding) = if self.may_lack_count() && src.len() == most { (src, None) } else { self.split(src)? };
        let n = match &dst {
            Dest::Exact(_) => most,
            // Without a count, as many elements as there may be.
            _ if padding.is_none() && self.packed_size(most) == packed.len() => most,
            Dest::AtMost(..) | Dest::Checked(..) => {
                let bits = (packed.len() as u128 * 8).saturating_sub(padding.unwrap_or(0).into());
                usize::try_from(bits / u128::from(self.bits)).unwrap_or(usize::MAX).saturating_mul(self.component)
            }
        };
        check_whole("packbits", n, self.component)?;
        if packed.len() != self.packed_size(n) {
            bail!(Chunk, "found {} packed bytes, expected {} for {n} bytes", packed.len(), self.packed_size(n));
        }
        if let Some(found) = padding.filter(|p| *p != self.padding_bits(n)) {
            bail!(Chunk, "found {found} padding bits, expected {}", self.padding_bits(n));
        }
        decode_known(dst, n, &mut |out| {
            self.unpack_into(packed, out);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use crate::dtype::Unit;

    fn v3(json: &str, t: DataType) -> StageRef {
        stage_v3("packbits", &config_of(json), ElementType::native(t)).unwrap()
    }

    #[test]
    fn numcodecs_puts_the_first_boolean_highest() {
        let stage = stage_v2("packbits", "{}", DataType::Bool);
        assert_eq!(encoded(&stage, &[0, 1, 1, 1, 1, 1, 0, 0]), [0, 0x7c]);
        assert_eq!(encoded(&stage, &[1, 0, 0, 1]), [4, 144]);
        assert_eq!(encoded(&stage, &[]), [0]);
        for n in 0..40 {
            let bools: Vec<u8> = (0..n).map(|i| (i % 3 == 0) as u8).collect();
            let bytes = encoded(&stage, &bools);
            assert_eq!(Size::Exact(bytes.len()), stage.encoded_size(Size::Exact(n)));
        }
        let mut out = Vec::new();
        stage.encode(&[0, 2, 128, 255], &mut out).unwrap();
        assert_eq!(out, [4, 0b0111_0000]);
        assert!(stage_v3("numcodecs.packbits", &config_of("{}"), ElementType::native(DataType::Int32)).is_err());
    }

    #[test]
    fn v3_puts_the_first_element_lowest() {
        assert_eq!(encoded(&v3("{}", DataType::Bool), &[0, 1, 1, 1, 1, 1, 0, 0, 1]), [0x3e, 1]);
        assert_eq!(encoded(&v3(r#"{"padding_encoding": "first_byte"}"#, DataType::Bool), &[1, 0, 0, 1]), [4, 9]);
        assert_eq!(encoded(&v3(r#"{"padding_encoding": "last_byte"}"#, DataType::Bool), &[1, 0, 0, 1]), [9, 4]);
        assert_eq!(encoded(&v3(r#"{"last_bit": 3}"#, DataType::UInt8), &[1, 2, 3]), [0x21, 0x03]);
        let negative: Vec<u8> = [-4i16, 3, -1].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(encoded(&v3(r#"{"last_bit": 2}"#, DataType::Int16), &negative), [0b11_011_100, 0b1]);
        // The byte order of the bits: element i is at bit i * 4.
        assert_eq!(encoded(&v3("{}", DataType::Int4), &[0xff, 7, 0xf8]), [0x7f, 0x08]);
        assert_eq!(encoded(&v3("{}", DataType::UInt2), &[1, 2, 3, 0, 1]), [0b00_11_10_01, 1]);
        assert_eq!(encoded(&v3(r#"{"last_bit": 2}"#, DataType::Int4), &[0xfc, 3]), [0b011_100]);
        let six = DataType::Narrow(crate::dtype::Narrow::Float6E2M3Fn);
        assert_eq!(encoded(&v3("{}", six), &[0x3f, 1, 2, 0x20]), [0x7f, 0x20, 0x80]);
        let pairs = DataType::ComplexNarrow(crate::dtype::Narrow::Float4E2M1Fn);
        assert_eq!(encoded(&v3(r#"{"padding_encoding": "last_byte"}"#, pairs), &[1, 2, 0xf, 0]), [0x21, 0x0f, 0]);
        let high: Vec<u8> = [-4096i16, 4096].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(encoded(&v3(r#"{"first_bit": 12}"#, DataType::Int16), &high), [0x1f]);
    }

    #[test]
    fn all_bits_of_every_type_round_trip() {
        for t in DataType::numbers() {
            let stage = v3("{}", t);
            let all = t.bits() as usize == t.swap_unit() * 8;
            let mut data = if t == DataType::Bool { vec![1, 0, 1] } else { sample(t.size() * 9) };
            if !all && t != DataType::Bool {
                let (unused, signed) = (8 - t.bits(), t.kind() == Kind::Int);
                data.iter_mut().for_each(|b| *b = if signed { ((*b << unused) as i8 >> unused) as u8 } else { *b << unused >> unused });
            }
            let bytes = encoded(&stage, &data);
            assert!(if all { bytes == data } else { bytes.len() == (data.len() * t.bits() as usize).div_ceil(8) }, "{t:?}");
            assert_eq!(Size::Exact(bytes.len()), stage.encoded_size(Size::Exact(data.len())), "{t:?}");
        }
        let words: Vec<u8> = [1u64 << 62, 5, (1 << 63) - 1].iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(encoded(&v3(r#"{"last_bit": 62}"#, DataType::UInt64), &words).len(), 24);
        assert_eq!(encoded(&v3(r#"{"last_bit": 62, "first_bit": null}"#, DataType::Int64), &[0; 800]).len(), 788);
    }

    #[test]
    fn damage_is_an_error() {
        let numcodecs = stage_v2("packbits", "{}", DataType::Bool);
        for bytes in [&[][..], &[1], &[8, 0], &[0], &[0, 1, 2]] {
            assert!(numcodecs.decode(bytes, Dest::Exact(&mut [0; 8])).is_err(), "{bytes:?}");
        }
        let stage = v3(r#"{"padding_encoding": "first_byte"}"#, DataType::Bool);
        for bytes in [&[][..], &[4], &[3, 9], &[255, 9], &[4, 9, 9]] {
            assert!(stage.decode(bytes, Dest::Exact(&mut [0; 4])).is_err(), "{bytes:?}");
            let _ = stage.decode(bytes, Dest::AtMost(&mut Vec::new(), 100));
        }
        let e = v3("{}", DataType::Bool).decode(&[1, 2], Dest::Exact(&mut [0; 8])).unwrap_err();
        assert_eq!((e.kind(), e.message()), (ErrorKind::Chunk, "found 2 packed bytes, expected 1 for 8 bytes"));
    }

    #[test]
    fn whole_components_are_read_without_a_count_of_padding_as_zarrs_stores_them() {
        for t in [DataType::UInt8, DataType::Int16, DataType::Float32, DataType::Complex64] {
            for padding in ["first_byte", "last_byte"] {
                let (stage, data) = (v3(&format!(r#"{{"padding_encoding": "{padding}"}}"#), t), sample(t.size() * 5));
                assert_eq!(encoded(&stage, &data).len(), data.len() + 1);
                assert_eq!(stage.encoded_size(Size::Exact(data.len())), Size::AtMost(data.len() + 1));
                let mut out = vec![0; data.len()];
                stage.decode(&data, Dest::Exact(&mut out)).unwrap();
                assert_eq!(out, data, "{t:?}, {padding}");
                stage.decode(&data, Dest::AtMost(&mut out, data.len())).unwrap();
                assert_eq!(out, data, "{t:?}, {padding}");
                assert!(stage.decode(&data[1..], Dest::Exact(&mut vec![0; data.len()])).is_err());
            }
        }
        let stage = v3(r#"{"padding_encoding": "first_byte", "last_bit": 6}"#, DataType::UInt8);
        assert!(stage.decode(&[0; 7], Dest::Exact(&mut [0; 8])).is_err());
    }

    #[test]
    fn configurations_are_checked() {
        doc_stage(include_str!("packbits.rs"));
        for (json, t, field) in [
            (r#"{"padding_encoding": "both"}"#, DataType::Bool, "configuration.padding_encoding"),
            (r#"{"last_bit": 1}"#, DataType::Bool, "configuration.last_bit"),
            (r#"{"first_bit": 3, "last_bit": 2}"#, DataType::Int8, "configuration.last_bit"),
            (r#"{"start_bit": 8}"#, DataType::Int8, "configuration.start_bit"),
            (r#"{"last_bit": 4}"#, DataType::Int4, "configuration.last_bit"),
            (r#"{"first_bit": 32}"#, DataType::Complex64, "configuration.first_bit"),
        ] {
            let e = stage_v3("packbits", &config_of(json), ElementType::native(t)).err().unwrap();
            assert_eq!(e.field(), Some(field), "{json}");
        }
    }

    #[test]
    fn times_have_the_sign_of_their_count() {
        let seconds = Unit::new("s", 1).unwrap();
        for t in [DataType::DateTime(seconds), DataType::TimeDelta(seconds), DataType::Int64] {
            let (stage, data) = (v3(r#"{"last_bit": 39}"#, t), le!(i64, -1, 5, -(1i64 << 39), 1_782_864_000));
            let packed = encoded(&stage, &data);
            assert_eq!(packed[..10], [0xff, 0xff, 0xff, 0xff, 0xff, 5, 0, 0, 0, 0], "{t:?}");
            assert_eq!(decoded(&stage, &packed), data, "{t:?}");
            assert_eq!(encoded(&v3("{}", t), &data), data, "{t:?}");
        }
    }

    #[test]
    fn the_highest_kept_bit_is_the_sign_wherever_the_kept_bits_begin() {
        for (first, last) in [(0u32, 5u32), (4, 9), (4, 15), (15, 15), (0, 15)] {
            let json = format!(r#"{{"first_bit": {first}, "last_bit": {last}}}"#);
            let stage = stage_v3("packbits", &config_of(&json), ElementType::native(DataType::Int16)).unwrap();
            let values: Vec<i16> = (-300..300).map(|i| i * 109).collect();
            let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            let (mut packed, mut back) = (Vec::new(), vec![0; data.len()]);
            stage.encode(&data, &mut packed).unwrap();
            stage.decode(&packed, Dest::Exact(&mut back)).unwrap();
            for (value, got) in values.iter().zip(back.as_chunks::<2>().0) {
                let want = value << (15 - last) >> (15 - last + first) << first;
                assert_eq!(i16::from_le_bytes(*got), want, "{value} bits {first} to {last}");
            }
        }
    }
}
