//! `fixedscaleoffset`: `(x - offset) * scale`, rounded to integers.
//!
//! Specification: numcodecs `FixedScaleOffset` (v2 id `fixedscaleoffset`; v3 name `numcodecs.fixedscaleoffset`).
//! Example: `{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 0, "scale": 10, "dtype": "<i4", "astype": "<i2"}}`
//!
//! The arithmetic is NumPy's (2 and newer): floating-point numbers keep their precision, the scalars become it; integers with an
//! integer scalar stay integers and wrap, with a floating-point scalar they become float64; division makes float64 of integers.

use super::arithmetic::{Precision, blocks, is_real};
use super::build::ArrayCodec;
use super::config::Config;
use super::elementwise::Elementwise;
use super::scalar::{self, Scalar, truncate};
use super::unscale::unscale;
use crate::dtype::{DataType, ElementType, Kind};
use crate::error::{Result, bail, err};
use crate::metadata::json::brief;
use crate::multiversion::multiversion;
use std::sync::Arc;

/// A number in JSON. Whether it is an integer decides how NumPy calculates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    Int(i128),
    Float(f64),
}

impl Factor {
    fn read(config: &Config<'_>, name: &str) -> Result<Factor> {
        let Some(value) = config.get(name) else {
            return Err(config.error(name, "the member is missing".into()));
        };
        let int = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)).or(value.as_bool().map(i128::from));
        match int.map(Factor::Int).or(value.as_f64().map(Factor::Float)) {
            Some(scalar) => Ok(scalar),
            None => Err(config.error(name, format!("found {}, expected a number", brief(value)))),
        }
    }

    fn f64(self) -> f64 {
        match self {
            Factor::Int(n) => n as f64,
            Factor::Float(x) => x,
        }
    }
}

/// `fixedscaleoffset`: `(x - offset) * scale`, rounded to integers and stored in `astype`.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    let dtype = config.element_or("dtype", item)?;
    let astype = config.element("astype")?.unwrap_or(dtype);
    for (name, t) in [("dtype", dtype.data_type), ("astype", astype.data_type)] {
        if !is_real(t) {
            return Err(err!(Unsupported, "fixedscaleoffset of {} is not supported", t.name()).at_field(config.path(name)));
        }
    }
    let (offset, scale) = (Factor::read(config, "offset")?, Factor::read(config, "scale")?);
    Ok(ArrayCodec::new(dtype, astype, move |from, to| Arc::new(FixedScaleOffset { from, to, offset, scale })))
}

struct FixedScaleOffset {
    from: ElementType,
    to: ElementType,
    offset: Factor,
    scale: Factor,
}

impl FixedScaleOffset {
    /// Integers with an integer offset stay in their own type, where they wrap; so they do with an integer scale.
    fn encode_integers(&self, offset: u64, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let t = self.from.data_type;
        match self.scale {
            Factor::Int(scale) => {
                let scale = as_word(scale, t)?;
                scalar::map(src, self.from, dst, self.to, |x| truncate(t, x.bits().wrapping_sub(offset).wrapping_mul(scale)));
            }
            Factor::Float(scale) => {
                let scaled = |x: Scalar| (truncate(t, x.bits().wrapping_sub(offset)).f64() * scale).round_ties_even();
                scalar::map(src, self.from, dst, self.to, |x| Scalar::F(scaled(x)));
            }
        }
        Ok(())
    }
}

/// The bits of an integer scalar that an integer type must be able to hold, as NumPy demands.
fn as_word(n: i128, t: DataType) -> Result<u64> {
    let bits = t.size() as u32 * 8;
    let (low, high) = if t.kind() == Kind::Int { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if !(low..=high).contains(&n) {
        bail!(Unsupported, "fixedscaleoffset cannot write {} with the integer {n}, which does not fit", t.name());
    }
    Ok(n as u64)
}

impl Elementwise for FixedScaleOffset {
    const NAME: &'static str = "fixedscaleoffset";

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    fn check_writing(&self) -> Result<()> {
        let t = self.from.data_type;
        let factors = [self.offset, self.scale];
        let integers = factors.iter().map_while(|factor| if let Factor::Int(n) = factor { Some(*n) } else { None });
        if t.kind() == Kind::Float { Ok(()) } else { integers.map(|n| as_word(n, t)).try_for_each(|word| word.map(|_| ())) }
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let t = self.from.data_type;
        if let (Kind::Int | Kind::UInt, Factor::Int(offset)) = (t.kind(), self.offset) {
            return self.encode_integers(as_word(offset, t)?, src, dst);
        }
        let p = Precision::of(t);
        let (offset, scale) = (p.round(self.offset.f64()), p.round(self.scale.f64()));
        match p.single() {
            Some(single) => blocks(self.from, src, self.to, dst, |block| scaled(block, single, offset, scale)),
            None => blocks(self.from, src, self.to, dst, |block| {
                p.step(block, |x| x - offset);
                p.step(block, |x| x * scale);
                block.iter_mut().for_each(|x| *x = x.round_ties_even());
            }),
        }
        Ok(())
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let p = Precision::of(self.to.data_type);
        unscale(p, (self.to, src), (self.from, dst), p.round(self.offset.f64()), p.round(self.scale.f64()));
        Ok(())
    }
}

multiversion! {
    /// `(x - offset) * scale`, rounded to integers.
    fn scaled(block: &mut [f64], single: bool, offset: f64, scale: f64) {
        if single {
            let (offset, scale) = (offset as f32, scale as f32);
            block.iter_mut().for_each(|x| *x = (((*x as f32) - offset) * scale).round_ties_even().into());
        } else {
            block.iter_mut().for_each(|x| *x = ((*x - offset) * scale).round_ties_even());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    fn fso(json: &str) -> StageRef {
        stage_v2("fixedscaleoffset", json, DataType::UInt8)
    }

    #[test]
    fn floats_become_integers_and_back() {
        let s = fso(r#"{"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "|u1"}"#);
        let stored = encoded(&s, &le!(f64, 1000.0, 1000.11111, 1000.44444, 1000.55, 1001.0));
        assert_eq!(stored, [0, 1, 4, 5, 10]);
        assert_eq!(decoded(&s, &stored), le!(f64, 1000.0, 1000.1, 1000.4, 1000.5, 1001.0));
        let big = fso(r#"{"offset": 0.5, "scale": 10, "dtype": ">f8", "astype": ">i2"}"#);
        assert_eq!(encoded(&big, &(-2.5f64).to_be_bytes()), (-30i16).to_be_bytes());
        assert_eq!(decoded(&big, &(-30i16).to_be_bytes()), (-2.5f64).to_be_bytes());
        // Half to even, and the values below 0 of unsigned types wrap.
        let s = fso(r#"{"offset": 0, "scale": 1, "dtype": "<f4", "astype": "|u1"}"#);
        assert_eq!(encoded(&s, &le!(f32, 0.5, 1.5, 2.5, -1.0, 300.0)), [0, 2, 2, 255, 44]);
    }

    #[test]
    fn narrow_floats_keep_their_precision() {
        let s = fso(r#"{"offset": 0.1, "scale": 3, "dtype": "<f4"}"#);
        assert_eq!(decoded(&s, &7f32.to_le_bytes()), (7f32 / 3f32 + 0.1f32).to_le_bytes());
        let s = fso(r#"{"offset": 0.1, "scale": 3, "dtype": "<f4", "astype": "<i4"}"#);
        assert_eq!(decoded(&s, &7i32.to_le_bytes()), ((7f64 / 3f64 + 0.1f64) as f32).to_le_bytes());
        let s = fso(r#"{"offset": 0, "scale": 3, "dtype": "<f2"}"#);
        assert_eq!(decoded(&s, &half::f16::ONE.to_le_bytes()), half::f16::from_f64(1.0 / 3.0).to_le_bytes());
    }

    #[test]
    fn integers_wrap_with_integer_scalars_and_become_floats_with_others() {
        let s = fso(r#"{"offset": 100, "scale": 2, "dtype": "|i1"}"#);
        assert_eq!(encoded(&s, &[101, 0, 0x80]), [2, 56, 56]);
        let s = fso(r#"{"offset": 10, "scale": 0.5, "dtype": "|u1", "astype": "<i2"}"#);
        assert_eq!(encoded(&s, &[20, 5]), le!(i16, 5, 126));
        let s = fso(r#"{"offset": 10.0, "scale": 2, "dtype": "|u1", "astype": "<i2"}"#);
        assert_eq!(encoded(&s, &[20, 5]), le!(i16, 20, -10));
        assert_eq!(decoded(&s, &le!(i16, 20, -9)), [20, 5]);
        let s = fso(r#"{"offset": 1000, "scale": 1, "dtype": "|i1"}"#);
        let e = s.encode(&[1], &mut Vec::new()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        assert!(s.check_writing().is_err(), "told when an array is made");
        for fits in [r#"{"offset": 1000.0, "scale": 1, "dtype": "|i1"}"#, r#"{"offset": true, "scale": 1e3, "dtype": "|i1"}"#] {
            fso(fits).check_writing().unwrap();
        }
    }

    #[test]
    fn long_buffers_are_cut_into_blocks() {
        let s = fso(r#"{"offset": 3, "scale": 1, "dtype": "<f8", "astype": "<i2"}"#);
        let data: Vec<u8> = (0..1000).flat_map(|i| f64::from(i).to_le_bytes()).collect();
        let stored: Vec<u8> = (-3i16..997).flat_map(|i| i.to_le_bytes()).collect();
        assert_eq!(encoded(&s, &data), stored);
        assert_eq!(decoded(&s, &stored), data);
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        doc_stage(include_str!("fixed_scale_offset.rs"));
        for (json, field) in [
            (r#"{"scale": 1, "dtype": "<f4"}"#, "offset"),
            (r#"{"offset": "1", "scale": 1, "dtype": "<f4"}"#, "offset"),
            (r#"{"offset": 1, "scale": 1}"#, "dtype"),
            (r#"{"offset": 1, "scale": 1, "dtype": "<c8"}"#, "dtype"),
            (r#"{"offset": 1, "scale": 1, "dtype": "<f4", "astype": "|b1"}"#, "astype"),
        ] {
            assert_eq!(build_v2("fixedscaleoffset", &config_of(json), BYTES).err().unwrap().field(), Some(field), "{json}");
        }
        let s = fso(r#"{"offset": 0, "scale": 1, "dtype": "<f8", "astype": "<i4"}"#);
        assert!(s.decode(&[0; 7], Dest::Exact(&mut [0; 16])).is_err());
        assert!(s.decode(&[0; 8], Dest::Exact(&mut [0; 8])).is_err());
        assert!(s.decode(&[0; 8], Dest::AtMost(&mut Vec::new(), 15)).is_err());
    }
}
