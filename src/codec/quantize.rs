//! `quantize`: floating-point numbers rounded to a number of decimal digits, by way of a power of two.
//!
//! Specification: numcodecs `Quantize` (v2 id `quantize`; v3 name `numcodecs.quantize`).
//! Example: `{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f4"}}`

use super::arithmetic::{Precision, blocks};
use super::build::ArrayCodec;
use super::config::Config;
use super::multiversion::multiversion;
use super::stage::{Dest, Size, Stage};
use super::streams::{check_whole, converted, converted_size, decode_known, output};
use crate::dtype::{ElementType, Kind};
use crate::error::Result;
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

impl Stage for Quantize {
    fn name(&self) -> &'static str {
        "quantize"
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        Some((self.from, self.to))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        converted_size(decoded, self.from, self.to)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_whole("quantize", src.len(), self.from.size())?;
        let p = Precision::of(self.from.data_type);
        let scale = p.round(self.scale);
        let out = output(dst, converted(src.len(), self.from, self.to))?;
        match p.single() {
            Some(single) => blocks(self.from, src, self.to, out, |block| quantized(block, single, scale)),
            None => blocks(self.from, src, self.to, out, |block| {
                p.step(block, |x| scale * x);
                p.step(block, |x| x.round_ties_even() / scale);
            }),
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("quantize", src.len(), self.to.size())?;
        decode_known(dst, converted(src.len(), self.to, self.from), |out| {
            blocks(self.to, src, self.from, out, |_| {});
            Ok(())
        })
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
    use super::*;
    use crate::codec::StageRef;
    use crate::codec::parse::build_v2;
    use crate::codec::testing::*;

    fn encoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
        let mut out = vec![1; 99];
        stage.encode(data, &mut out).unwrap();
        assert_eq!(stage.encoded_size(Size::Exact(data.len())), Size::Exact(out.len()));
        out
    }

    fn decoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        stage.decode(data, Dest::AtMost(&mut out, 1 << 20)).unwrap();
        out
    }

    macro_rules! le {
        ($t:ty, $($v:expr),*) => { { let v: Vec<u8> = [$($v as $t),*].iter().flat_map(|v| v.to_le_bytes()).collect(); v } };
    }

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
