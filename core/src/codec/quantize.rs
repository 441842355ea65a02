//! `quantize`: floating-point numbers rounded to a number of decimal digits, by way of a power of two.
//!
//! Specification: numcodecs `Quantize` (v2 id `quantize`; v3 name `numcodecs.quantize`).
//! An array's fill value must be a number that this does not change. One that is too large to be scaled stays as it is.
//! Example: `{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f4"}}`

use super::arithmetic::{Precision, blocks};
use super::build::ArrayCodec;
use super::config::Config;
use super::elementwise::Elementwise;
use crate::dtype::{ElementType, Kind};
use crate::error::Result;
use crate::multiversion::multiversion;
use std::sync::Arc;

/// Reads `digits`, `dtype` and `astype`.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    let dtype = config.element_or("dtype", item)?;
    let astype = config.element("astype")?.unwrap_or(dtype);
    for (name, t) in [("dtype", dtype.data_type), ("astype", astype.data_type)] {
        if t.kind() != Kind::Float {
            return Err(config.error(name, format!("found {}, expected a floating-point type", t.name())));
        }
    }
    if config.get("digits").is_none() {
        return Err(config.error("digits", "the member is missing".into()));
    }
    let digits = config.int("digits", -300, 300, 0)?;
    let exponent = 10f64.powf(-digits as f64).log10();
    let exponent = if exponent < 0.0 { exponent.floor() } else { exponent.ceil() };
    let scale = 2f64.powf(10f64.powf(-exponent).log2().ceil());
    Ok(ArrayCodec::new(dtype, astype, move |from, to| Arc::new(Quantize { from, to, scale })))
}

struct Quantize {
    from: ElementType,
    to: ElementType,
    scale: f64,
}

impl Elementwise for Quantize {
    const NAME: &'static str = "quantize";

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let p = Precision::of(self.from.data_type);
        let scale = p.round(self.scale);
        match p.single() {
            Some(single) => blocks(self.from, src, self.to, dst, |block| quantized(block, single, scale)),
            None => blocks(self.from, src, self.to, dst, |block| {
                let quantize = |x: f64| {
                    let rounded = p.round(p.round(scale * x).round_ties_even() / scale);
                    if rounded.is_finite() { rounded } else { x }
                };
                block.iter_mut().for_each(|x| *x = quantize(*x));
            }),
        }
        Ok(())
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        blocks(self.to, src, self.from, dst, |_| {});
        Ok(())
    }
}

multiversion! {
    /// `round(x * scale) / scale`, or `x` where that is infinite.
    fn quantized(block: &mut [f64], single: bool, scale: f64) {
        if single {
            let scale = scale as f32;
            block.iter_mut().for_each(|x| {
                let rounded = (scale * (*x as f32)).round_ties_even() / scale;
                *x = if rounded.is_finite() { rounded.into() } else { *x };
            });
        } else {
            block.iter_mut().for_each(|x| {
                let rounded = (scale * *x).round_ties_even() / scale;
                *x = if rounded.is_finite() { rounded } else { *x };
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::codec::testing::*;

    #[test]
    fn quantize_rounds_to_a_power_of_two() {
        let q = |json| stage_v2("quantize", json, DataType::Float64);
        let data = le!(f64, 0.0, 0.11111111, 0.33333333, 0.55555556, 1.0);
        assert_eq!(encoded(&q(r#"{"digits": 1, "dtype": "<f8"}"#), &data), le!(f64, 0.0, 0.125, 0.3125, 0.5625, 1.0));
        assert_eq!(encoded(&q(r#"{"digits": 3, "dtype": "<f8", "astype": "<f4"}"#), &data[8..16]), 0.111328125f32.to_le_bytes());
        assert_eq!(decoded(&q(r#"{"digits": 3, "dtype": "<f8", "astype": "<f4"}"#), &1.5f32.to_le_bytes()), 1.5f64.to_le_bytes());
        assert_eq!(encoded(&q(r#"{"digits": -2, "dtype": "<f8"}"#), &1234f64.to_le_bytes()), 1216f64.to_le_bytes());
    }

    /// Such numbers are multiples of the step already.
    #[test]
    fn numbers_too_large_to_be_scaled_stay() {
        let q = |digits: i32, t: &str| stage_v2("quantize", &format!(r#"{{"digits": {digits}, "dtype": "{t}"}}"#), DataType::Float64);
        let halves: Vec<u8> = [600.0, -60000.0, 1.004].iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect();
        let kept: Vec<u8> = [600.0, -60000.0, 1.0].iter().flat_map(|x| half::f16::from_f32(*x).to_le_bytes()).collect();
        assert_eq!(encoded(&q(2, "<f2"), &halves), kept);
        let singles = le!(f32, 1e37, -9.96921e36, f32::MAX, f32::INFINITY);
        assert_eq!(encoded(&q(2, "<f4"), &singles), singles);
        assert_eq!(encoded(&q(-37, "<f4"), &le!(f32, f32::MAX)), le!(f32, f32::MAX), "rounding up");
        assert_eq!(encoded(&q(300, "<f4"), &le!(f32, 0.0, 0.1)), le!(f32, 0.0, 0.1), "a step that binary32 has not");
        assert_eq!(encoded(&q(300, "<f8"), &le!(f64, 1e300)), le!(f64, 1e300));
    }

    #[test]
    fn configurations_are_checked() {
        let s = doc_stage(include_str!("quantize.rs"));
        assert_eq!(s.name(), "quantize");
        for (json, field) in [
            (r#"{"dtype": "<f4"}"#, "digits"),
            (r#"{"digits": 1.5, "dtype": "<f4"}"#, "digits"),
            (r#"{"digits": 1, "dtype": "<i4"}"#, "dtype"),
        ] {
            assert_eq!(build_v2("quantize", &config_of(json), BYTES).err().unwrap().field(), Some(field), "{json}");
        }
    }
}
