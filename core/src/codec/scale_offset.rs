//! `scale_offset`: `(x - offset) * scale` in the type of the array.
//!
//! Specification: zarr-extensions, "scale_offset" (v3 name `scale_offset`). What the type cannot hold is an error when it is encoded.
//! Example: `{"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}}`

use super::arithmetic::{Precision, blocks, is_real};
use super::build::ArrayCodec;
use super::cast_value::CastValue;
use super::config::Config;
use super::elementwise::Elementwise;
use super::scalar::{self, Scalar, truncate};
use super::stage::Stage;
use super::unscale::{unscale, unscale_short};
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, ElementType, Kind};
use crate::error::{Result, bail, err};
use crate::multiversion::multiversion;
use std::any::Any;
use std::sync::Arc;

/// Reads `offset` and `scale`; other members are errors.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    config.only(&["offset", "scale"])?;
    let t = item.data_type;
    if !is_real(t) {
        bail!(Unsupported, "scale_offset of {} is not supported", t.name());
    }
    let scalar = |name: &str, default: i64| match config.get(name) {
        None => Ok(if t.kind() == Kind::Float { Scalar::F(default as f64) } else { Scalar::I(default) }),
        // Python's programs may have `true` for 1.
        Some(value) => match Fill::from_json_v3(t, &value.as_bool().map_or_else(|| value.clone(), |is_true| i64::from(is_true).into())) {
            Ok(fill) => Ok(scalar::load(ElementType::native(t), &fill.element(t))),
            Err(e) => Err(e.at_field(config.path(name))),
        },
    };
    let (offset, scale) = (scalar("offset", 0)?, scalar("scale", 1)?);
    if scale.f64() == 0.0 {
        return Err(config.error("scale", "found 0, expected another number".into()));
    }
    Ok(ArrayCodec::new(item, item, move |from, to| Arc::new(ScaleOffset { from, to, offset, scale })))
}

struct ScaleOffset {
    from: ElementType,
    to: ElementType,
    offset: Scalar,
    scale: Scalar,
}

impl ScaleOffset {
    /// Integers, each exactly; an error where one has no result in its type.
    fn integers(&self, src: &[u8], dst: &mut [u8], decoding: bool) -> Result<()> {
        let (t, offset, scale) = (self.from.data_type, int(self.offset), int(self.scale));
        let (source, target) = if decoding { (self.to, self.from) } else { (self.from, self.to) };
        let mut failed = None;
        scalar::map(src, source, dst, target, |x| {
            let x = int(x);
            // 128 bits hold the product of two numbers of 64.
            let result = match decoding {
                true if x % scale != 0 => None,
                true => Some(x / scale + offset),
                false => (x - offset).checked_mul(scale),
            };
            match result.filter(|n| int(truncate(t, *n as u64)) == *n) {
                Some(n) => truncate(t, n as u64),
                None => {
                    failed.get_or_insert(x);
                    Scalar::U(0)
                }
            }
        });
        match failed {
            None => Ok(()),
            Some(x) if decoding => Err(err!(Chunk, "scale_offset cannot decode {x} to {}", t.name())),
            Some(x) => Err(err!(Range, "scale_offset cannot encode {x} in {}", t.name())),
        }
    }

    fn is_float(&self) -> bool {
        self.from.data_type.kind() == Kind::Float
    }
}

/// Short integers that `cast_value` widens to binary32 and `scale_offset` scales, decoded in one loop.
pub(super) struct ScaledIntegers {
    integers: DataType,
    offset: f32,
    scale: f32,
}

impl ScaledIntegers {
    /// Recognises the pair of stages `first` (outermost when decoding) and `second`; `None` for all others.
    pub(super) fn of(first: &dyn Stage, second: &dyn Stage) -> Option<ScaledIntegers> {
        let (first, second): (&dyn Any, &dyn Any) = (first, second);
        let (scale, cast) = (first.downcast_ref::<ScaleOffset>()?, second.downcast_ref::<CastValue>()?);
        let (single, integers) = (ElementType::native(DataType::Float32), cast.widened_integers()?);
        let exact = (scale.from, scale.to) == (single, single) && (1e-30..1e30).contains(&scale.scale.f64().abs());
        exact.then(|| ScaledIntegers { integers, offset: scale.offset.f64() as f32, scale: scale.scale.f64() as f32 })
    }

    /// Decodes as many integers as `dst` has room for numbers.
    pub(super) fn decode(&self, src: &[u8], dst: &mut [u8]) {
        unscale_short(self.integers, src, dst, self.offset, self.scale);
    }
}

/// An integer of any type.
fn int(x: Scalar) -> i128 {
    match x {
        Scalar::U(n) => n.into(),
        Scalar::I(n) => n.into(),
        Scalar::F(x) | Scalar::C(x, _) => x as i128,
    }
}

impl Elementwise for ScaleOffset {
    const NAME: &'static str = "scale_offset";

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        if !self.is_float() {
            return self.integers(src, dst, false);
        }
        let (p, offset, scale) = (Precision::of(self.from.data_type), self.offset.f64(), self.scale.f64());
        // NaN and infinities stay such.
        let (finite, mut fits) = (|block: &[f64]| block.iter().filter(|x| x.is_finite()).count(), true);
        blocks(self.from, src, self.to, dst, |block| {
            let before = finite(block);
            match p.single() {
                Some(single) => shifted(block, single, offset, scale),
                None => {
                    p.step(block, |x| x - offset);
                    p.step(block, |x| x * scale);
                }
            }
            fits &= finite(block) == before;
        });
        if !fits {
            bail!(Range, "a number of {} becomes infinite by the scale {scale} and the offset {offset}", self.from.data_type.name());
        }
        Ok(())
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        if !self.is_float() {
            return self.integers(src, dst, true);
        }
        unscale(Precision::of(self.from.data_type), (self.to, src), (self.from, dst), self.offset.f64(), self.scale.f64());
        Ok(())
    }
}

multiversion! {
    /// `(x - offset) * scale`.
    fn shifted(block: &mut [f64], single: bool, offset: f64, scale: f64) {
        if single {
            let (offset, scale) = (offset as f32, scale as f32);
            block.iter_mut().for_each(|x| *x = (((*x as f32) - offset) * scale).into());
        } else {
            block.iter_mut().for_each(|x| *x = (*x - offset) * scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    #[test]
    fn scaled_integers_decode_as_in_two_steps() {
        let words: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let special = [3.0, -7.0, 0.1, 1e-3, 1.0 / 3.0, 1e29, 1e-29, 16777215.0, 0.999_999_94, 1.000_000_1];
        let scales = (1..300).step_by(crate::settings::apart(16)).map(|i| i as f32 * 0.37).chain(special);
        for (scale, offset) in scales.flat_map(|scale| [(scale, 0.0), (scale, 273.15f32)]) {
            for t in [DataType::Int16, DataType::UInt16, DataType::Int8, DataType::UInt8] {
                let single = ElementType::native(DataType::Float32);
                let stage = ScaleOffset { from: single, to: single, offset: Scalar::F(offset.into()), scale: Scalar::F(scale.into()) };
                let cast = stage_v3("cast_value", &config_of(&format!(r#"{{"data_type": "{}"}}"#, t.name())), single).unwrap();
                let pair = ScaledIntegers::of(&stage, &*cast).unwrap();
                let mut found = vec![0; words.len() / t.size() * 4];
                let (mut widened, mut expected) = (found.clone(), found.clone());
                pair.decode(&words, &mut found);
                cast.decode(&words, Dest::Exact(&mut widened)).unwrap();
                stage.decode(&widened, Dest::Exact(&mut expected)).unwrap();
                assert!(found == expected, "{} by {scale} and {offset}", t.name());
            }
        }
    }

    #[test]
    fn only_pairs_that_stay_exact_are_decoded_in_one_loop() {
        let single = ElementType::native(DataType::Float32);
        let scale = |json: &str, item| stage_v3("scale_offset", &config_of(json), item).unwrap();
        let cast = |json: &str, item| stage_v3("cast_value", &config_of(json), item).unwrap();
        let short = cast(r#"{"data_type": "int16"}"#, single);
        assert!(ScaledIntegers::of(&*scale(r#"{"scale": 10}"#, single), &*short).is_some());
        assert!(ScaledIntegers::of(&*short, &*scale("{}", single)).is_none(), "the order of the two");
        assert!(ScaledIntegers::of(&*scale(r#"{"scale": 1e31}"#, single), &*short).is_none(), "the scale");
        let double = ElementType::native(DataType::Float64);
        assert!(ScaledIntegers::of(&*scale("{}", double), &*cast(r#"{"data_type": "int16"}"#, double)).is_none(), "the precision");
        assert!(ScaledIntegers::of(&*scale("{}", single), &*cast(r#"{"data_type": "int32"}"#, single)).is_none(), "the integers");
        let mapped = cast(r#"{"data_type": "int16", "scalar_map": {"decode": [[0, "NaN"]]}}"#, single);
        assert!(ScaledIntegers::of(&*scale("{}", single), &*mapped).is_none(), "the map");
    }

    #[test]
    fn scale_offset_calculates_in_the_type_of_the_array() {
        let s = |json: &str, t| stage_v3("scale_offset", &config_of(json), ElementType::native(t)).unwrap();
        let ints = s(r#"{"offset": 5, "scale": 2}"#, DataType::Int8);
        assert_eq!(encoded(&ints, &[5, 6, 0]), [0, 2, 0xf6]);
        assert_eq!(decoded(&ints, &[0, 2, 0xf6]), [5, 6, 0]);
        assert_eq!(ints.encode(&[100], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(ints.decode(&[3], Dest::Exact(&mut [0])).unwrap_err().kind(), ErrorKind::Chunk);
        let unsigned = s(r#"{"offset": 5}"#, DataType::UInt8);
        assert_eq!(unsigned.encode(&[4], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Range);
        let floats = s(r#"{"offset": -4.5, "scale": 10}"#, DataType::Float32);
        assert_eq!(encoded(&floats, &le!(f32, 0.1)), ((0.1f32 + 4.5) * 10.0).to_le_bytes());
        assert_eq!(decoded(&floats, &le!(f32, 46)), (46f32 / 10.0 - 4.5).to_le_bytes());
        for t in [DataType::Float16, DataType::Float32, DataType::Float64] {
            let tenfold = s(r#"{"scale": 10}"#, t);
            let element = |x: f64| Fill::from_json_v3(t, &x.into()).unwrap().element(t);
            let most = if t == DataType::Float16 { 65504.0 } else { 1e38 * if t == DataType::Float64 { 1e270 } else { 1.0 } };
            for elements in [vec![element(most)], [vec![element(1.0); 300], vec![element(-most)]].concat()] {
                assert_eq!(tenfold.encode(&elements.concat(), &mut Vec::new()).unwrap_err().kind(), ErrorKind::Range, "{t:?}");
            }
            let none = ["NaN", "Infinity", "-Infinity"].map(|text| Fill::from_json_v3(t, &text.into()).unwrap().element(t));
            assert_eq!(encoded(&tenfold, &none.concat()), none.concat(), "{t:?}");
        }
        assert_eq!(decoded(&s("{}", DataType::UInt64), &u64::MAX.to_le_bytes()), u64::MAX.to_le_bytes());
    }

    #[test]
    fn configurations_are_checked() {
        doc_stage(include_str!("scale_offset.rs"));
        for (json, field) in [
            (r#"{"scale": 0}"#, "configuration.scale"),
            (r#"{"factor": 1}"#, "configuration.factor"),
            (r#"{"offset": 300}"#, "configuration.offset"),
        ] {
            assert_eq!(stage_v3("scale_offset", &config_of(json), BYTES).err().unwrap().field(), Some(field), "{json}");
        }
    }
}
