//! `quantize`: floating-point numbers rounded to a number of decimal digits, by way of a power of two.
//!
//! Specification: numcodecs `Quantize` (v2 id `quantize`; v3 name `numcodecs.quantize`).
//! An array's fill value must be a number that this does not change.
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
                p.step(block, |x| scale * x);
                p.step(block, |x| x.round_ties_even() / scale);
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
    /// `round(x * scale) / scale`.
    fn quantized(block: &mut [f64], single: bool, scale: f64) {
        if single {
            let scale = scale as f32;
            block.iter_mut().for_each(|x| *x = ((scale * (*x as f32)).round_ties_even() / scale).into());
        } else {
            block.iter_mut().for_each(|x| *x = (scale * *x).round_ties_even() / scale);
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
