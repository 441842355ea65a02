//! `bitround`: numbers rounded to their leading bits, so that they compress better. Decoding changes nothing.
//!
//! Specification: numcodecs `BitRound` (v2 id `bitround`; v3 name `numcodecs.bitround`), for real floating-point numbers;
//! zarr-extensions, "bitround" (v3 name `bitround`), for integers, times (as their counts) and complex numbers, too.
//! Example: `{"name": "bitround", "configuration": {"keepbits": 10}}`
//!
//! Of a floating-point number `keepbits` bits of the mantissa are kept; infinities are treated like numbers, as numcodecs does.
//! NaN stays as it is: its bits rounded might be those of a number. Of an integer the bits from the highest one of its magnitude
//! on are kept. An array's fill value must be a number that this does not change.

use super::build::ArrayCodec;
use super::config::{Config, Style, as_number};
use super::elementwise::Elementwise;
use crate::dtype::{DataType, ElementType, Kind, Narrow};
use crate::error::{Result, bail};
use crate::multiversion::multiversion;
use std::sync::Arc;

/// Reads `keepbits`. Whether it is sensible for the type is checked when encoding, because decoding does not need it.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    if config.get("keepbits").is_none() {
        return Err(config.error("keepbits", "the member is missing".into()));
    }
    let keepbits = config.int("keepbits", 0, 1 << 16, 0)? as u32;
    if matches!(item.data_type, DataType::Struct(_)) {
        bail!(Unsupported, "bitround of {} is not supported", item.data_type.name());
    }
    // In v3 the stage may also swap bytes; in v2 there is one type on both sides.
    let of_numcodecs = config.style == Style::Numcodecs;
    Ok(ArrayCodec::new(item, item, move |from, to| Arc::new(BitRound { from, to, keepbits, of_numcodecs })))
}

struct BitRound {
    from: ElementType,
    to: ElementType,
    keepbits: u32,
    /// Whether it is numcodecs' in v3, which takes signed integers for the bits of floating-point numbers when it decodes.
    of_numcodecs: bool,
}

impl BitRound {
    /// Refuses what is not rounded.
    fn check(&self) -> Result<()> {
        let (t, keep) = (as_number(self.from).data_type, self.keepbits);
        match mantissa(t) {
            Some(mantissa) if keep > mantissa => bail!(Unsupported, "found {keep} bits to keep, {} has {mantissa}", t.name()),
            None if !matches!(t.kind(), Kind::Int | Kind::UInt) || keep == 0 => {
                bail!(Unsupported, "bitround to {keep} bits of {} is not supported", t.name())
            }
            _ => Ok(()),
        }
    }
}

/// The bits of the mantissa of a floating-point type (or of a component). Formats of 8 bits and less have none to spare.
pub fn mantissa(t: DataType) -> Option<u32> {
    match t.part().unwrap_or(t) {
        DataType::Narrow(n @ Narrow::BFloat16) => Some(n.mantissa()),
        DataType::Float16 => Some(10),
        DataType::Float32 => Some(23),
        DataType::Float64 => Some(52),
        _ => None,
    }
}

/// Bytes that are rounded at once, in units of any size.
const BLOCK: usize = 4096;

/// Applies `f` to each unit of bytes in the host's order.
macro_rules! each {
    ($t:ty, $src:expr, $dst:expr, $f:expr) => {{
        let f = $f;
        $src.as_chunks().0.iter().zip($dst.as_chunks_mut().0).for_each(|(s, d)| *d = f(<$t>::from_ne_bytes(*s)).to_ne_bytes())
    }};
}

/// Rounds the mantissa half to even, except that of NaN, which would carry into the exponent or lose all its bits. A number that would
/// become infinite is cut instead.
macro_rules! round_float {
    ($t:ty, $mantissa:expr, $keep:expr) => {{
        let drop: u32 = $mantissa - $keep;
        let infinity = <$t>::MAX >> 1 >> $mantissa << $mantissa;
        move |x: $t| {
            if drop == 0 || x & <$t>::MAX >> 1 > infinity {
                return x;
            }
            let half = ((1 as $t) << (drop - 1)) - 1;
            let rounded = x.wrapping_add((x >> drop & 1) + half) >> drop << drop;
            if rounded & <$t>::MAX >> 1 == infinity { x >> drop << drop } else { rounded }
        }
    }};
}

/// Rounds the magnitude half to even from its highest bit on; one that would no longer fit is cut instead.
macro_rules! round_int {
    ($t:ty, $signed:ty, $is_signed:expr, $keep:expr, $bits:expr) => {{
        let keep: u32 = $keep;
        let largest = (if $is_signed { <$signed>::MAX as $t } else { <$t>::MAX }) >> (<$t>::BITS - $bits);
        move |x: $t| {
            let negative = $is_signed && (x as $signed) < 0;
            let magnitude = if negative { (x as $signed).unsigned_abs() } else { x };
            let drop = (<$t>::BITS - magnitude.leading_zeros()).saturating_sub(keep);
            if drop == 0 {
                return x;
            }
            let cut = magnitude >> drop << drop;
            let half = ((1 as $t) << (drop - 1)) - 1;
            let rounded = match magnitude.checked_add((magnitude >> drop & 1) + half) {
                Some(sum) if sum >> drop << drop <= largest => sum >> drop << drop,
                _ => cut,
            };
            if negative { rounded.wrapping_neg() } else { rounded }
        }
    }};
}

multiversion! {
    fn swap(unit: usize, bytes: &mut [u8]) {
        match unit {
            2 => bytes.as_chunks_mut().0.iter_mut().for_each(|b| *b = u16::from_ne_bytes(*b).swap_bytes().to_ne_bytes()),
            4 => bytes.as_chunks_mut().0.iter_mut().for_each(|b| *b = u32::from_ne_bytes(*b).swap_bytes().to_ne_bytes()),
            _ => bytes.as_chunks_mut().0.iter_mut().for_each(|b| *b = u64::from_ne_bytes(*b).swap_bytes().to_ne_bytes()),
        }
    }

    fn round(codec: &BitRound, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let (t, from, to) = (as_number(codec.from).data_type, codec.from.swapped(), codec.to.swapped());
        let (unit, signed, keep) = (t.swap_unit(), t.kind() == Kind::Int, codec.keepbits);
        codec.check()?;
        let mantissa = mantissa(t);
        let mut native = [0; BLOCK];
        for (src, dst) in src.chunks(BLOCK).zip(dst.chunks_mut(BLOCK)) {
            let src = if from {
                let native = &mut native[..src.len()];
                native.copy_from_slice(src);
                swap(unit, native);
                &*native
            } else {
                src
            };
            match (mantissa, unit) {
                (Some(mantissa), 2) => each!(u16, src, dst, round_float!(u16, mantissa, keep)),
                (Some(mantissa), 4) => each!(u32, src, dst, round_float!(u32, mantissa, keep)),
                (Some(mantissa), _) => each!(u64, src, dst, round_float!(u64, mantissa, keep)),
                (None, 1) => each!(u8, src, dst, round_int!(u8, i8, signed, keep, t.bits())),
                (None, 2) => each!(u16, src, dst, round_int!(u16, i16, signed, keep, t.bits())),
                (None, 4) => each!(u32, src, dst, round_int!(u32, i32, signed, keep, t.bits())),
                (None, _) => each!(u64, src, dst, round_int!(u64, i64, signed, keep, t.bits())),
            }
            if to {
                swap(unit, dst);
            }
        }
        Ok(())
    }
}

impl Elementwise for BitRound {
    const NAME: &'static str = "bitround";

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    fn check_writing(&self) -> Result<()> {
        if self.of_numcodecs && self.from.data_type.kind() == Kind::Int {
            let name = self.from.data_type.name();
            bail!(Unsupported, "numcodecs.bitround of {name} is read as other numbers by zarr-python, expected \"bitround\"");
        }
        self.check()
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        round(self, src, dst)
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        dst.copy_from_slice(src);
        if self.from != self.to {
            swap(self.from.data_type.swap_unit(), dst);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use crate::dtype::Unit;

    fn stage(keepbits: u32, t: DataType) -> StageRef {
        let json = format!(r#"{{"keepbits": {keepbits}}}"#);
        stage_v3("bitround", &config_of(&json), ElementType::native(t)).unwrap()
    }

    #[test]
    fn mantissas_are_rounded_half_to_even() {
        let one = 0x3f80_0000u32;
        let cases =
            [(one, one), (one | 1, one), (one | 0x10_0000, one), (one | 0x30_0000, one | 0x40_0000), (one | 0x10_0001, one | 0x20_0000)];
        for (x, rounded) in cases {
            assert_eq!(encoded(&stage(2, DataType::Float32), &x.to_le_bytes()), rounded.to_le_bytes(), "{x:x}");
        }
        assert_eq!(encoded(&stage(0, DataType::Float64), &1.75f64.to_le_bytes()), 2f64.to_le_bytes());
        assert_eq!(encoded(&stage(3, DataType::Complex64), &le!(f32, 1.06f32, -1.07)), le!(f32, 1f32, -1.125));
        let bfloat = Narrow::BFloat16;
        assert_eq!(encoded(&stage(2, DataType::Narrow(bfloat)), &[0x30, 0x40, 0x31, 0x40]), [0x40, 0x40, 0x40, 0x40]);
        assert_eq!(encoded(&stage(2, DataType::ComplexNarrow(bfloat)), &[0x10, 0x3f, 0x31, 0xc0]), [0, 0x3f, 0x40, 0xc0]);
        let eight = DataType::Narrow(Narrow::Float8E5M2);
        assert_eq!(stage(1, eight).encode(&[1], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
        for (t, all) in [(DataType::Float16, 10), (DataType::Narrow(bfloat), 7), (DataType::Float32, 23), (DataType::Float64, 52)] {
            assert_eq!(encoded(&stage(all, t), &sample(80)), sample(80));
            assert_eq!(stage(all + 1, t).encode(&sample(80), &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }

    #[test]
    fn nan_stays_as_it_is_and_infinity_infinity() {
        for keep in [0, 1, 2, 7, 9] {
            for bits in [0x7f80_0001u32, 0x7fc0_0000, 0x7fff_ffff, 0xff80_0001, 0xffff_ffff, 0x7f80_0000, 0xff80_0000, 0, 1 << 31] {
                assert_eq!(encoded(&stage(keep, DataType::Float32), &bits.to_le_bytes()), bits.to_le_bytes(), "{bits:x}");
            }
            for bits in [0x7ff0_0000_0000_0001u64, 0x7fff_ffff_ffff_ffff, u64::MAX, 0xfff0_0000_0000_0000] {
                assert_eq!(encoded(&stage(keep, DataType::Complex128), &[bits; 2].map(u64::to_le_bytes).concat())[8..], bits.to_le_bytes());
            }
            for bits in [0x7c01u16, 0x7fff, 0xffff, 0xfc00] {
                assert_eq!(encoded(&stage(keep, DataType::Float16), &bits.to_le_bytes()), bits.to_le_bytes(), "{bits:x}");
            }
        }
        for (bits, rounded) in [(0x7f81u16, 0x7f81u16), (0x7fff, 0x7fff), (0xff80, 0xff80), (0x7f7f, 0x7f60), (0x4031, 0x4040)] {
            let stage = stage(2, DataType::Narrow(Narrow::BFloat16));
            assert_eq!(encoded(&stage, &bits.to_le_bytes()), rounded.to_le_bytes(), "{bits:x}");
        }
    }

    #[test]
    fn what_would_round_to_infinity_is_cut() {
        let half = |x: f32| half::f16::from_f32(x).to_le_bytes();
        for (x, cut) in [(65504.0, 64512.0), (-65504.0, -64512.0), (64512.0, 64512.0), (64500.0, 64512.0)] {
            assert_eq!(encoded(&stage(5, DataType::Float16), &half(x)), half(cut), "{x}");
        }
        for keep in [0, 5, 22] {
            let bits = |x: &[u8]| u32::from_le_bytes(x.try_into().unwrap());
            let cut = f32::MAX.to_bits() >> (23 - keep) << (23 - keep);
            assert_eq!(bits(&encoded(&stage(keep, DataType::Float32), &f32::MAX.to_le_bytes())), cut, "{keep}");
        }
    }

    #[test]
    fn integers_are_rounded_from_their_highest_bit() {
        assert_eq!(encoded(&stage(2, DataType::UInt8), &[0, 1, 5, 6, 7, 9, 11, 200, 255]), [0, 1, 4, 6, 8, 8, 12, 192, 192]);
        assert_eq!(encoded(&stage(1, DataType::Int4), &[0xf8, 0xfb, 3, 5, 6, 7]), [0xf8, 0xfc, 4, 4, 4, 4]);
        assert_eq!(encoded(&stage(2, DataType::UInt4), &[5, 7, 13, 15]), [4, 8, 12, 12]);
        let values = le!(i32, 1000, -1000, i32::MIN, i32::MAX, 3);
        assert_eq!(encoded(&stage(3, DataType::Int32), &values), le!(i32, 1024, -1024, i32::MIN, 0x7000_0000, 3));
        assert!(stage(0, DataType::Int8).encode(&[1], &mut Vec::new()).is_err());
        let seconds = Unit::new("s", 1).unwrap();
        for t in [DataType::DateTime(seconds), DataType::TimeDelta(seconds), DataType::Int64] {
            let (counts, rounded) = (le!(i64, 1000, -1000, i64::MIN, i64::MAX, 3), le!(i64, 1024, -1024, i64::MIN, 7i64 << 60, 3));
            assert_eq!(encoded(&stage(3, t), &counts), rounded, "{t:?}");
        }
    }

    #[test]
    fn both_byte_orders_are_rounded_and_swapped_back() {
        for t in [DataType::Float16, DataType::Float32, DataType::Complex128, DataType::Int16] {
            let codec = build(&Config::v3(&config_of(r#"{"keepbits": 5}"#)), ElementType::native(t)).unwrap();
            let (little, big) = (ElementType::native(t), ElementType::new(t, ByteOrder::Big));
            let swap = |mut bytes: Vec<u8>| {
                bytes.chunks_exact_mut(t.swap_unit()).for_each(<[u8]>::reverse);
                bytes
            };
            let (data, plain) = (sample(160), encoded(&codec.stage(little, little), &sample(160)));
            assert_eq!(encoded(&codec.stage(little, big), &data), swap(plain.clone()));
            assert_eq!(encoded(&codec.stage(big, big), &swap(data)), swap(plain.clone()));
            let mut out = vec![0; 160];
            codec.stage(little, big).decode(&swap(plain.clone()), Dest::Exact(&mut out)).unwrap();
            assert_eq!(out, plain);
        }
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        doc_stage(include_str!("bitround.rs"));
        for json in ["{}", r#"{"keepbits": -1}"#, r#"{"keepbits": "5"}"#] {
            let e = build(&Config::v3(&config_of(json)), ElementType::native(DataType::Float32)).err().unwrap();
            assert_eq!(e.field(), Some("configuration.keepbits"));
        }
        let s = stage(3, DataType::Float32);
        assert!(s.decode(&[0; 7], Dest::Exact(&mut [0; 7])).is_err());
        assert!(s.decode(&[0; 8], Dest::Exact(&mut [0; 4])).is_err());
    }
}
