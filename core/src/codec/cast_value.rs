//! `cast_value`: numbers of one type stored as another, with stated rounding, handling of what does not fit, and exceptions.
//!
//! Specification: zarr-extensions, "cast_value" (v3 name `cast_value`), for integers and floating-point numbers.
//! Example: `{"name": "cast_value", "configuration": {"data_type": "uint8", "rounding": "towards-zero", "out_of_range": "clamp", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}}}`
//!
//! A value is looked up in the map of its direction; else it is rounded, as if exponents had no end; else, where it is out of
//! range, it is clamped or wrapped if the configuration says so. What is left is an error.

use super::arithmetic::{BLOCK, blocks, convert, is_real};
use super::build::ArrayCodec;
use super::config::Config;
use super::elementwise::Elementwise;
use super::scalar::{self, Scalar};
use crate::dtype::fill::Fill;
use crate::dtype::number::range;
use crate::dtype::{DataType, ElementType, Kind, parse_v3};
use crate::error::{Result, bail, err};
use crate::metadata::{Value, json::brief};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rounding {
    NearestEven,
    TowardsZero,
    TowardsPositive,
    TowardsNegative,
    NearestAway,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum OutOfRange {
    Fail,
    Clamp,
    Wrap,
}

/// Reads `data_type`, `rounding`, `out_of_range` and `scalar_map`; other members are errors.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    config.only(&["data_type", "rounding", "out_of_range", "scalar_map"])?;
    let Some(name) = config.get("data_type") else {
        return Err(config.error("data_type", "the member is missing".into()));
    };
    let target = parse_v3::parse(name).map_err(|e| e.at_field(config.path("data_type")))?;
    for (t, field) in [(item.data_type, None), (target, Some("data_type"))] {
        if !is_real(t) {
            let e =
                err!(Unsupported, "cast_value of {} is not supported, expected an integer or a floating-point number of NumPy", t.name());
            return Err(field.map_or_else(|| e.clone(), |f| e.clone().at_field(config.path(f))));
        }
    }
    let rounding = match config.text("rounding")? {
        None | Some("nearest-even") => Rounding::NearestEven,
        Some("towards-zero") => Rounding::TowardsZero,
        Some("towards-positive") => Rounding::TowardsPositive,
        Some("towards-negative") => Rounding::TowardsNegative,
        Some("nearest-away") => Rounding::NearestAway,
        Some(other) => {
            let expected = "nearest-even, towards-zero, towards-positive, towards-negative or nearest-away";
            return Err(config.error("rounding", format!("found {other:?}, expected {expected}")));
        }
    };
    let out_of_range = match config.text("out_of_range")? {
        None => OutOfRange::Fail,
        Some("clamp") => OutOfRange::Clamp,
        Some("wrap") if target.kind() != Kind::Float => OutOfRange::Wrap,
        Some("wrap") => return Err(config.error("out_of_range", format!("found \"wrap\", which {} cannot do", target.name()))),
        Some(other) => return Err(config.error("out_of_range", format!("found {other:?}, expected clamp or wrap"))),
    };
    let encode = Arc::new(Cast { rounding, out_of_range, map: map(config, "encode", item.data_type, target)? });
    let decode = Arc::new(Cast { rounding, out_of_range, map: map(config, "decode", target, item.data_type)? });
    let to = ElementType::native(target);
    Ok(ArrayCodec::new(item, to, move |from, to| Arc::new(CastValue { from, to, encode: encode.clone(), decode: decode.clone() })))
}

/// The pairs of `scalar_map` for one direction.
fn map(config: &Config<'_>, direction: &str, from: DataType, to: DataType) -> Result<Vec<(Scalar, Scalar)>> {
    let fail = |message: String| err!(Metadata, "{message}").at_field(config.path("scalar_map"));
    let members = match config.get("scalar_map") {
        None => return Ok(Vec::new()),
        Some(Value::Object(members)) => members,
        Some(other) => return Err(fail(format!("found {}, expected an object", brief(other)))),
    };
    if let Some(other) = members.keys().find(|k| !["encode", "decode"].contains(&k.as_str())) {
        return Err(fail(format!("found the member {other:?}, expected encode or decode")));
    }
    let pairs = match members.get(direction) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(pairs)) => pairs,
        Some(other) => return Err(fail(format!("found {}, expected a list of pairs", brief(other)))),
    };
    let scalar = |t: DataType, value: &Value| {
        // The specification's own example has this spelling.
        let infinity = Value::from("Infinity");
        let value = if value.as_str() == Some("+Infinity") { &infinity } else { value };
        let fill = Fill::from_json_v3(t, value).map_err(|e| e.at_field(config.path("scalar_map")))?;
        Ok(scalar::load(ElementType::native(t), &fill.element(t)))
    };
    let pair = |pair: &Value| match pair.as_array() {
        Some([key, value]) => Ok((scalar(from, key)?, scalar(to, value)?)),
        _ => Err(fail(format!("found {}, expected a pair", brief(pair)))),
    };
    pairs.iter().map(pair).collect()
}

/// One direction of the codec.
struct Cast {
    rounding: Rounding,
    out_of_range: OutOfRange,
    map: Vec<(Scalar, Scalar)>,
}

/// Bits of the significand, and the exponent of the least number above 0, of a floating-point type.
fn precision(t: DataType) -> (i32, i32) {
    match t.size() {
        2 => (11, -24),
        4 => (24, -149),
        _ => (53, -1074),
    }
}

/// Whether every value of that type is one of binary64.
fn fits_f64(t: DataType) -> bool {
    t.kind() == Kind::Float || t.size() <= 4
}

/// Whether two keys are one: equal numbers, or NaN whatever its bits are.
fn same(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::F(x), Scalar::F(y)) => x == y || x.is_nan() && y.is_nan(),
        _ => a == b,
    }
}

impl Cast {
    /// One value in the other type; `None` where there is no rule for it.
    fn value(&self, x: Scalar, to: DataType) -> Option<Scalar> {
        if let Some((_, value)) = self.map.iter().find(|(key, _)| same(*key, x)) {
            return Some(*value);
        }
        if to.kind() == Kind::Float { self.float(x, to) } else { self.integer(x, to) }
    }

    fn integer(&self, x: Scalar, to: DataType) -> Option<Scalar> {
        let (n, huge) = match x {
            Scalar::U(n) => (i128::from(n), false),
            Scalar::I(n) => (i128::from(n), false),
            Scalar::F(x) | Scalar::C(x, _) if x.is_finite() => {
                let x = self.whole(x);
                // From 2^117 on, binary64 has multiples of 2^64 only.
                (x as i128, x.abs() >= 2f64.powi(120))
            }
            Scalar::F(_) | Scalar::C(..) => return None,
        };
        let (low, high) = range(to);
        let n = match self.out_of_range {
            _ if (low..=high).contains(&n) => n,
            OutOfRange::Fail => return None,
            OutOfRange::Clamp => n.clamp(low, high),
            OutOfRange::Wrap if huge => 0,
            OutOfRange::Wrap => n,
        };
        Some(scalar::truncate(to, n as u64))
    }

    fn whole(&self, x: f64) -> f64 {
        match self.rounding {
            Rounding::NearestEven => x.round_ties_even(),
            Rounding::TowardsZero => x.trunc(),
            Rounding::TowardsPositive => x.ceil(),
            Rounding::TowardsNegative => x.floor(),
            Rounding::NearestAway => x.round(),
        }
    }

    fn float(&self, x: Scalar, to: DataType) -> Option<Scalar> {
        let (negative, magnitude, exponent) = match x {
            Scalar::U(n) => (false, n, 0),
            Scalar::I(n) => (n < 0, n.unsigned_abs(), 0),
            Scalar::F(x) | Scalar::C(x, _) if x == 0.0 || !x.is_finite() => return Some(Scalar::F(x)),
            Scalar::F(x) | Scalar::C(x, _) => {
                let bits = x.to_bits();
                let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
                if field == 0 { (x < 0.0, fraction, -1074) } else { (x < 0.0, fraction | 1 << 52, field - 1075) }
            }
        };
        let (digits, least) = precision(to);
        let length = 64 - magnitude.leading_zeros() as i32;
        let drop = (length - digits).max(least - exponent).max(0);
        let rounded = self.cut(u128::from(magnitude), drop as u32, negative);
        // At most 53 bits times a power of two; both factors of the power are numbers of binary64 themselves.
        let scale = exponent + drop;
        let result = rounded as f64 * 2f64.powi(scale / 2) * 2f64.powi(scale - scale / 2);
        let largest = match to.size() {
            2 => 65504.0,
            4 => f64::from(f32::MAX),
            _ => f64::MAX,
        };
        let result = match self.out_of_range {
            _ if result <= largest => result,
            OutOfRange::Clamp => f64::INFINITY,
            _ => return None,
        };
        Some(Scalar::F(if negative { -result } else { result }))
    }

    /// A magnitude without its last `drop` bits, rounded.
    fn cut(&self, magnitude: u128, drop: u32, negative: bool) -> u128 {
        if drop == 0 {
            return magnitude;
        }
        // 64 bits of magnitude: with 70 dropped, all that is left is "less than a half".
        let drop = drop.min(70);
        let (kept, rest, half) = (magnitude >> drop, magnitude & ((1 << drop) - 1), 1u128 << (drop - 1));
        let up = match self.rounding {
            Rounding::NearestEven => rest > half || rest == half && kept & 1 == 1,
            Rounding::NearestAway => rest >= half,
            Rounding::TowardsZero => false,
            Rounding::TowardsPositive => rest > 0 && !negative,
            Rounding::TowardsNegative => rest > 0 && negative,
        };
        kept + u128::from(up)
    }

    /// Whether blocks of binary64 can be tried first: every value fits, and the loops round as is asked for.
    fn is_simple(&self, from: DataType, to: DataType) -> bool {
        let rounds = to.kind() != Kind::Float || to.size() == 8 || self.rounding == Rounding::NearestEven;
        self.map.is_empty() && fits_f64(from) && fits_f64(to) && rounds
    }

    fn run(&self, src: &[u8], from: ElementType, dst: &mut [u8], to: ElementType) -> std::result::Result<(), Scalar> {
        if !self.is_simple(from.data_type, to.data_type) {
            return self.each(src, from, dst, to);
        }
        let sizes = (BLOCK * from.size(), BLOCK * to.size());
        for (s, d) in src.chunks(sizes.0).zip(dst.chunks_mut(sizes.1)) {
            if !self.block(s, from, d, to) {
                self.each(s, from, d, to)?;
            }
        }
        Ok(())
    }

    /// A block of values none of which is out of range; false where one is.
    fn block(&self, src: &[u8], from: ElementType, dst: &mut [u8], to: ElementType) -> bool {
        let t = to.data_type;
        let mut fits = true;
        if t.kind() == Kind::Float && t.size() > 2 && (from.data_type.kind() != Kind::Float || from.size() <= to.size()) {
            // None is out of range.
            return convert(from, src, to, dst);
        }
        if t.kind() == Kind::Float {
            let largest = if t.size() == 2 { 65504.0 } else { f64::from(f32::MAX) };
            let all = t.size() == 8;
            blocks(from, src, to, dst, |block| {
                fits = all || block.iter().fold(true, |fits, x| fits & (x.abs() <= largest));
            });
            return fits;
        }
        let (low, high) = range(t);
        let (low, high) = (low as f64, high as f64);
        blocks(from, src, to, dst, |block| {
            match self.rounding {
                Rounding::NearestEven => block.iter_mut().for_each(|x| *x = x.round_ties_even()),
                Rounding::TowardsZero => block.iter_mut().for_each(|x| *x = x.trunc()),
                _ => block.iter_mut().for_each(|x| *x = self.whole(*x)),
            }
            fits = block.iter().fold(true, |fits, x| fits & (*x >= low) & (*x <= high));
        });
        fits
    }

    /// Value by value; the first for which there is no rule is the error.
    fn each(&self, src: &[u8], from: ElementType, dst: &mut [u8], to: ElementType) -> std::result::Result<(), Scalar> {
        let mut failed = None;
        scalar::map(src, from, dst, to, |x| {
            self.value(x, to.data_type).unwrap_or_else(|| {
                failed.get_or_insert(x);
                Scalar::U(0)
            })
        });
        failed.map_or(Ok(()), Err)
    }
}

pub(super) struct CastValue {
    from: ElementType,
    to: ElementType,
    encode: Arc<Cast>,
    decode: Arc<Cast>,
}

impl CastValue {
    /// The type of the stored integers, where decoding only makes floating-point numbers of native integers of up to 16 bits.
    pub(super) fn widened_integers(&self) -> Option<DataType> {
        use DataType::*;
        let exact = matches!((self.to.data_type, self.from.data_type), (Int8 | UInt8 | Int16 | UInt16, Float32 | Float64));
        (exact && self.decode.map.is_empty() && !self.to.swapped()).then_some(self.to.data_type)
    }
}

/// The text of a value in messages.
fn shown(x: Scalar) -> String {
    match x {
        Scalar::U(n) => n.to_string(),
        Scalar::I(n) => n.to_string(),
        Scalar::F(x) | Scalar::C(x, _) => format!("{x:?}"),
    }
}

impl Elementwise for CastValue {
    const NAME: &'static str = "cast_value";

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        match self.encode.run(src, self.from, dst, self.to) {
            Ok(()) => Ok(()),
            Err(x) => bail!(Range, "cast_value cannot encode {} as {}", shown(x), self.to.data_type.name()),
        }
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        match self.decode.run(src, self.to, dst, self.from) {
            Ok(()) => Ok(()),
            Err(x) => bail!(Chunk, "cast_value cannot decode {} as {}", shown(x), self.from.data_type.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use crate::dtype::Narrow;
    use crate::store::suite::Random;

    fn cast(t: DataType, json: &str) -> StageRef {
        stage_v3("cast_value", &config_of(json), ElementType::native(t)).unwrap()
    }

    fn encoded(stage: &StageRef, data: &[u8]) -> Result<Vec<u8>> {
        let mut out = vec![7; 99];
        stage.encode(data, &mut out).map(|()| out)
    }

    fn decoded(stage: &StageRef, data: &[u8]) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        stage.decode(data, Dest::AtMost(&mut out, 1 << 20)).map(|()| out)
    }

    #[test]
    fn the_example_is_read_and_maps_first() {
        let line = include_str!("cast_value.rs").lines().find_map(|l| l.strip_prefix("//! Example: `")).unwrap();
        let object = config_of(line.trim_end_matches('`'));
        let s = stage_v3("cast_value", object["configuration"].as_object().unwrap(), ElementType::native(DataType::Float32)).unwrap();
        assert_eq!(encoded(&s, &le!(f32, 1.9, f32::NAN, 300, -7)).unwrap(), [1, 0, 255, 0]);
        assert!(decoded(&s, &[9, 0]).unwrap()[..4] == 9f32.to_le_bytes());
        assert!(f32::from_le_bytes(decoded(&s, &[9, 0]).unwrap()[4..].try_into().unwrap()).is_nan());
    }

    #[test]
    fn each_rounding_is_the_specifications() {
        let x = [2.5, -2.5, 3.5, 2.4, -2.4, 2.6, -2.6, 0.5, -0.5];
        for (name, expected) in [
            ("nearest-even", [2, -2, 4, 2, -2, 3, -3, 0, 0]),
            ("towards-zero", [2, -2, 3, 2, -2, 2, -2, 0, 0]),
            ("towards-positive", [3, -2, 4, 3, -2, 3, -2, 1, 0]),
            ("towards-negative", [2, -3, 3, 2, -3, 2, -3, 0, -1]),
            ("nearest-away", [3, -3, 4, 2, -2, 3, -3, 1, -1]),
        ] {
            for (t, extra) in [("int8", ""), ("int64", ""), ("int16", r#", "scalar_map": {"encode": [[77, 1]]}"#)] {
                let s = cast(DataType::Float64, &format!(r#"{{"data_type": "{t}", "rounding": "{name}"{extra}}}"#));
                let bytes = encoded(&s, &x.iter().flat_map(|x: &f64| x.to_le_bytes()).collect::<Vec<_>>()).unwrap();
                let size = bytes.len() / x.len();
                let got: Vec<i8> = bytes.iter().step_by(size).map(|b| *b as i8).collect();
                assert_eq!(got, expected, "{name} {t}");
            }
        }
    }

    #[test]
    fn floats_are_rounded_in_every_direction() {
        let ulp = 2f64.powi(-23);
        let cases = [1.0 + ulp * 0.25, 1.0 + ulp * 0.5, 1.0 + ulp * 1.5, -1.0 - ulp * 0.75, 2f64.powi(-150), -2f64.powi(-151), 1e-300];
        for (name, ulps) in [
            ("nearest-even", [0, 0, 2, -1, 0, 0, 0]),
            ("towards-zero", [0, 0, 1, 0, 0, 0, 0]),
            ("towards-positive", [1, 1, 2, 0, 1, 0, 1]),
            ("towards-negative", [0, 0, 1, -1, 0, -1, 0]),
            ("nearest-away", [0, 1, 2, -1, 1, 0, 0]),
        ] {
            let s = cast(DataType::Float64, &format!(r#"{{"data_type": "float32", "rounding": "{name}"}}"#));
            for (x, n) in cases.iter().zip(ulps) {
                let got = f32::from_le_bytes(encoded(&s, &x.to_le_bytes()).unwrap().try_into().unwrap());
                let expected = if x.abs() > 0.5 { (x.round() + f64::from(n) * ulp) as f32 } else { n as f32 * f32::from_bits(1) };
                assert_eq!(got, expected, "{name} {x:e}");
            }
        }
        // Against the processor's own rounding: by way of the general path, which an entry of the map forces.
        let general = cast(DataType::Float64, r#"{"data_type": "float32", "out_of_range": "clamp", "scalar_map": {"encode": [[77, 1]]}}"#);
        let mut random = Random(1);
        for _ in 0..20_000 {
            let x = f64::from_bits((random.number() & !(0x7ff << 52)) | (1023 - 160 + random.below(300)) << 52);
            assert_eq!(encoded(&general, &x.to_le_bytes()).unwrap(), (x as f32).to_le_bytes(), "{x:e}");
        }
        let halves = cast(DataType::UInt64, r#"{"data_type": "float32"}"#);
        for n in [0u64, 1, u64::MAX, (1 << 54) + (1 << 30) + 1, (1 << 24) + 1, (1 << 25) + 2] {
            assert_eq!(encoded(&halves, &n.to_le_bytes()).unwrap(), (n as f32).to_le_bytes(), "{n}");
        }
        let to_double = cast(DataType::Int64, r#"{"data_type": "float64", "rounding": "towards-zero"}"#);
        assert_eq!(encoded(&to_double, &i64::MAX.to_le_bytes()).unwrap(), le!(f64, 9223372036854774784.0));
    }

    #[test]
    fn what_is_out_of_range_fails_is_clamped_or_wraps() {
        let int = |range: &str| cast(DataType::Float64, &format!(r#"{{"data_type": "int16"{range}}}"#));
        let (fail, clamp, wrap) = (int(""), int(r#", "out_of_range": "clamp""#), int(r#", "out_of_range": "wrap""#));
        for (x, clamped, wrapped) in
            [(32768.0, 32767, -32768), (32769.0, 32767, -32767), (-32769.0, -32768, 32767), (1e300, 32767, 0), (-65536.0, -32768, 0)]
        {
            let data = [1.0, x].iter().flat_map(|x: &f64| x.to_le_bytes()).collect::<Vec<_>>();
            assert_eq!(encoded(&fail, &data).unwrap_err().kind(), ErrorKind::Range, "{x}");
            assert_eq!(encoded(&clamp, &data).unwrap(), le!(i16, 1, clamped), "{x}");
            assert_eq!(encoded(&wrap, &data).unwrap(), le!(i16, 1, wrapped), "{x}");
        }
        assert_eq!(encoded(&fail, &32767.4f64.to_le_bytes()).unwrap(), le!(i16, 32767));
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for s in [&fail, &clamp, &wrap] {
                assert_eq!(encoded(s, &x.to_le_bytes()).unwrap_err().kind(), ErrorKind::Range);
            }
        }
        let half = |range: &str| cast(DataType::Float32, &format!(r#"{{"data_type": "float16"{range}}}"#));
        assert!(encoded(&half(""), &65520f32.to_le_bytes()).is_err());
        assert_eq!(encoded(&half(""), &65519f32.to_le_bytes()).unwrap(), half::f16::from_f32(65504.0).to_le_bytes());
        assert_eq!(
            encoded(&half(r#", "out_of_range": "clamp""#), &(-65520f32).to_le_bytes()).unwrap(),
            half::f16::NEG_INFINITY.to_le_bytes()
        );
        assert_eq!(encoded(&half(""), &(-0.0f32).to_le_bytes()).unwrap(), half::f16::NEG_ZERO.to_le_bytes());
        assert_eq!(encoded(&half(""), &f32::INFINITY.to_le_bytes()).unwrap(), half::f16::INFINITY.to_le_bytes());
        let e = decoded(&cast(DataType::Int8, r#"{"data_type": "int16"}"#), &300i16.to_le_bytes()).unwrap_err();
        assert!(e.kind() == ErrorKind::Chunk && e.message().contains("300"), "{e}");
    }

    #[test]
    fn the_specifications_example_of_numpy_is_read() {
        let json = r#"{"data_type": "uint8", "rounding": "towards-zero", "out_of_range": "wrap",
            "scalar_map": {"encode": [["NaN", 0], ["+Infinity", 0], ["-Infinity", 0]]}}"#;
        let s = cast(DataType::Float64, json);
        assert_eq!(encoded(&s, &le!(f64, f64::NAN, f64::INFINITY, -1, 257.9)).unwrap(), [0, 0, 255, 1]);
    }

    #[test]
    fn configuration_errors_name_the_member() {
        for (json, field) in [
            ("{}", "configuration.data_type"),
            (r#"{"data_type": "complex64"}"#, "configuration.data_type"),
            (r#"{"data_type": "int4"}"#, "configuration.data_type"),
            (r#"{"data_type": "bfloat16"}"#, "configuration.data_type"),
            (r#"{"data_type": "int8", "rounding": "up"}"#, "configuration.rounding"),
            (r#"{"data_type": "int8", "out_of_range": "error"}"#, "configuration.out_of_range"),
            (r#"{"data_type": "float32", "out_of_range": "wrap"}"#, "configuration.out_of_range"),
            (r#"{"data_type": "int8", "scalar_map": []}"#, "configuration.scalar_map"),
            (r#"{"data_type": "int8", "scalar_map": {"both": []}}"#, "configuration.scalar_map"),
            (r#"{"data_type": "int8", "scalar_map": {"encode": [[1]]}}"#, "configuration.scalar_map"),
            (r#"{"data_type": "int8", "more": 1}"#, "configuration.more"),
        ] {
            let e = stage_v3("cast_value", &config_of(json), ElementType::native(DataType::Float32)).err().unwrap();
            assert!(e.field().unwrap().starts_with(field), "{json}: {e}");
        }
        for item in [DataType::Bool, DataType::UInt4, DataType::Narrow(Narrow::BFloat16), DataType::Narrow(Narrow::Float8E4M3Fn)] {
            let e = stage_v3("cast_value", &config_of(r#"{"data_type": "float32"}"#), ElementType::native(item)).err().unwrap();
            assert_eq!(e.kind(), ErrorKind::Unsupported, "{e}");
        }
        assert!(crate::codec::parse::has("cast_value"));
    }
}
