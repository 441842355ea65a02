//! `delta`: differences between neighbouring elements.
//!
//! Specification: numcodecs `Delta` (v2 id `delta`; v3 name `numcodecs.delta`).
//! Example: `{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}`

use super::build::ArrayCodec;
use super::config::Config;
use super::elementwise::Elementwise;
use super::scalar::{Scalar, binary16, cast, load, map, truncate};
use crate::dtype::{DataType, ElementType, Kind, unlike_units};
use crate::error::{Result, bail, err};
use crate::multiversion::multiversion;
use std::sync::Arc;

/// Reads `dtype`, in which differences are made, and `astype`, in which they are stored.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<ArrayCodec> {
    let dtype = config.element_or("dtype", item)?;
    let astype = config.element("astype")?.unwrap_or(dtype);
    if dtype.data_type.kind() == Kind::Complex && astype.data_type.kind() != Kind::Complex {
        return Err(config.error("astype", format!("found {}, expected a complex type", astype.data_type.name())));
    }
    if unlike_units(dtype.data_type, astype.data_type) {
        return Err(err!(Unsupported, "delta of times that are stored in another unit is not supported").at_field(config.path("astype")));
    }
    Ok(ArrayCodec::new(dtype, astype, |from, to| Arc::new(Delta { from, to })).ordered())
}

/// `a + b` or `a - b` in that data type: integers wrap, floating-point numbers round to it.
fn add(t: DataType, a: Scalar, b: Scalar, subtract: bool) -> Scalar {
    let sum = |x: f64, y: f64| if subtract { x - y } else { x + y };
    // The sum of two binary32 (or binary16) numbers in binary64, rounded once more, is the sum rounded once.
    let round = |x: f64| match t {
        DataType::Float16 => binary16(x).to_f64(),
        DataType::Float32 | DataType::Complex64 => f64::from(x as f32),
        _ => x,
    };
    match t.kind() {
        Kind::Bool => Scalar::U(u64::from(a.is_true() != b.is_true())),
        Kind::Int | Kind::UInt | Kind::Time | Kind::Opaque | Kind::Struct | Kind::Variable => {
            let (a, b) = (a.bits(), b.bits());
            truncate(t, if subtract { a.wrapping_sub(b) } else { a.wrapping_add(b) })
        }
        Kind::Float => Scalar::F(round(sum(a.f64(), b.f64()))),
        Kind::Complex => Scalar::C(round(sum(a.f64(), b.f64())), round(sum(a.imaginary(), b.imaginary()))),
    }
}

/// Whether a floating-point type has an integer as it is.
fn is_exact(integer: Scalar, to: DataType) -> bool {
    cast(to, integer).f64() as i128 == whole(integer)
}

/// The number that an integer is.
fn whole(integer: Scalar) -> i128 {
    match integer {
        Scalar::I(n) => n.into(),
        n => n.bits().into(),
    }
}

/// The type in which NumPy accumulates elements of `stored` that become `t`: one that holds both where numbers are
/// floating-point, `t` itself (wrapping) otherwise.
fn sum_type(t: DataType, stored: DataType) -> DataType {
    let bits = |t: DataType| match (t.kind(), t.size()) {
        (Kind::Float, n) => n * 8,
        (Kind::Complex, n) => n * 4,
        (_, n) => (n * 16).min(64),
    };
    match (t.kind(), bits(t).max(bits(stored))) {
        (Kind::Float, 16) => DataType::Float16,
        (Kind::Float, 32) => DataType::Float32,
        (Kind::Float, _) => DataType::Float64,
        (Kind::Complex, 64) => DataType::Complex128,
        _ => t,
    }
}

/// The sum in which numcodecs accumulates differences of integers that are stored as floating-point numbers, or where NumPy has no integers for both
/// types, of which one has 64 bits without a sign and the other a sign: it does not wrap.
struct FloatingSum {
    integers: DataType,
    /// The floating-point type that holds both.
    sums: DataType,
    sum: f64,
}

impl FloatingSum {
    /// For integers of that type, where the other one is floating-point or no integers hold both.
    fn of(integers: DataType, stored: DataType) -> Option<FloatingSum> {
        let bits = match (stored.kind(), integers.kind()) {
            (Kind::Float, _) => stored.size() * 8,
            (Kind::Complex, _) => stored.size() * 4,
            (Kind::Int, Kind::UInt) if integers.size() == 8 => 64,
            (Kind::UInt, Kind::Int) if stored.size() == 8 => 64,
            _ => return None,
        };
        let sums = match bits.max((integers.size() * 16).min(64)) {
            16 => DataType::Float16,
            32 => DataType::Float32,
            _ => DataType::Float64,
        };
        Some(FloatingSum { integers, sums, sum: 0.0 })
    }

    /// Whether that value comes out of the sum with its difference from the last one. Short integers are cut out of 32 bits, others are undefined
    /// where the type ends.
    fn gives(&mut self, value: Scalar, difference: Scalar) -> bool {
        self.sum = add(self.sums, Scalar::F(self.sum), Scalar::F(difference.f64()), false).f64();
        let wraps = self.integers.size() < 4 && self.sum.abs() < f64::from(i32::MAX);
        let sum = self.sum as i128;
        let cut = if wraps { whole(truncate(self.integers, sum as u64)) } else { sum };
        cut == whole(value)
    }
}

/// The loops of `delta` between equal types, for each type that is common.
macro_rules! delta_loops {
    ($($t:ty, $differences:ident, $sums:ident, $zero:expr, $add:expr, $subtract:expr;)*) => { $(
        multiversion! {
            fn $differences(src: &[u8], dst: &mut [u8], swapped: bool) {
                let (src, dst) = (src.as_chunks::<{ size_of::<$t>() }>().0, dst.as_chunks_mut().0);
                let (Some((first, rest)), Some((slot, slots))) = (src.split_first(), dst.split_first_mut()) else { return };
                *slot = *first;
                let terms = rest.iter().zip(src).zip(slots);
                if swapped {
                    terms.for_each(|((x, last), d)| *d = $subtract(<$t>::from_be_bytes(*x), <$t>::from_be_bytes(*last)).to_be_bytes());
                } else {
                    terms.for_each(|((x, last), d)| *d = $subtract(<$t>::from_le_bytes(*x), <$t>::from_le_bytes(*last)).to_le_bytes());
                }
            }

            fn $sums(src: &[u8], dst: &mut [u8], swapped: bool) {
                let terms = src.as_chunks::<{ size_of::<$t>() }>().0.iter().zip(dst.as_chunks_mut().0);
                let mut sum: $t = $zero;
                if swapped {
                    terms.for_each(|(x, d)| {
                        sum = $add(sum, <$t>::from_be_bytes(*x));
                        *d = sum.to_be_bytes();
                    });
                } else {
                    terms.for_each(|(x, d)| {
                        sum = $add(sum, <$t>::from_le_bytes(*x));
                        *d = sum.to_le_bytes();
                    });
                }
            }
        }
    )* };
}

// Adding to -0 changes no number, not even -0.
delta_loops!(
    u8, differences_u8, sums_u8, 0, u8::wrapping_add, u8::wrapping_sub;
    u16, differences_u16, sums_u16, 0, u16::wrapping_add, u16::wrapping_sub;
    u32, differences_u32, sums_u32, 0, u32::wrapping_add, u32::wrapping_sub;
    u64, differences_u64, sums_u64, 0, u64::wrapping_add, u64::wrapping_sub;
    f32, differences_f32, sums_f32, -0.0, std::ops::Add::add, std::ops::Sub::sub;
    f64, differences_f64, sums_f64, -0.0, std::ops::Add::add, std::ops::Sub::sub;
);

/// Differences or sums between equal types, for the types that are common. False where there is no loop.
fn delta_of_one_type(e: ElementType, src: &[u8], dst: &mut [u8], sums: bool) -> bool {
    let run = match (e.data_type.kind(), e.size(), sums) {
        (Kind::Int | Kind::UInt, 1, false) => differences_u8,
        (Kind::Int | Kind::UInt, 2, false) => differences_u16,
        (Kind::Int | Kind::UInt, 4, false) => differences_u32,
        (Kind::Int | Kind::UInt, 8, false) => differences_u64,
        (Kind::Float, 4, false) => differences_f32,
        (Kind::Float, 8, false) => differences_f64,
        (Kind::Int | Kind::UInt, 1, true) => sums_u8,
        (Kind::Int | Kind::UInt, 2, true) => sums_u16,
        (Kind::Int | Kind::UInt, 4, true) => sums_u32,
        (Kind::Int | Kind::UInt, 8, true) => sums_u64,
        (Kind::Float, 4, true) => sums_f32,
        (Kind::Float, 8, true) => sums_f64,
        _ => return false,
    };
    run(src, dst, e.swapped());
    true
}

struct Delta {
    from: ElementType,
    to: ElementType,
}

impl Elementwise for Delta {
    const NAME: &'static str = "delta";
    const SEPARATE: bool = false;

    fn types(&self) -> (ElementType, ElementType) {
        (self.from, self.to)
    }

    /// The sums behind NaN and infinities are NaN.
    fn spoils(&self, element: &[u8]) -> bool {
        let value = load(self.from, element);
        !(value.f64().is_finite() && value.imaginary().is_finite())
    }

    fn check_writing(&self) -> Result<()> {
        if self.from.data_type == DataType::Bool {
            bail!(Unsupported, "delta of bool cannot be written: other readers cannot invert it");
        }
        Ok(())
    }

    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        Elementwise::check_writing(self)?;
        let t = self.from.data_type;
        if self.from == self.to && delta_of_one_type(self.from, src, dst, false) {
            return Ok(());
        }
        let (mut first, mut last, mut lost) = (true, cast(t, Scalar::U(0)), None);
        let is_integer = matches!(t.kind(), Kind::Int | Kind::UInt);
        let is_whole = matches!(self.to.data_type.kind(), Kind::Int | Kind::UInt);
        let mut floating = FloatingSum::of(t, self.to.data_type).filter(|_| is_integer);
        map(src, self.from, dst, self.to, |value| {
            let difference = if first { value } else { add(t, value, last, true) };
            (first, last) = (false, value);
            let stored = cast(self.to.data_type, difference);
            if let Some(sum) = &mut floating
                && !((is_whole || is_exact(difference, self.to.data_type)) && sum.gives(value, stored))
            {
                lost = lost.or(Some(whole(difference)));
            }
            difference
        });
        if let Some(n) = lost {
            // Differences of unsigned integers wrap, and are large where values fall.
            let (from, to) = (t.name(), self.to.data_type.name());
            bail!(Range, "delta cannot encode the difference {n} of {from} as {to}, which rounds it or its sum with those before");
        }
        Ok(())
    }

    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()> {
        if self.from == self.to && delta_of_one_type(self.from, src, dst, true) {
            return Ok(());
        }
        let (t, mut sum) = (sum_type(self.from.data_type, self.to.data_type), None);
        map(src, self.to, dst, self.from, |difference| {
            let difference = cast(t, difference);
            let value = sum.map_or(difference, |sum| add(t, sum, difference, false));
            sum = Some(value);
            value
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use crate::error::ErrorKind;

    fn stage(json: &str) -> StageRef {
        stage_v2("delta", json, DataType::UInt8)
    }

    #[test]
    fn delta_accumulates_in_its_own_type() {
        let d = stage(r#"{"dtype": "<i8", "astype": "|i1"}"#);
        let data = le!(i64, 100, 200, 300, 290);
        assert_eq!(encoded(&d, &data), le!(i8, 100, 100, 100, -10));
        assert_eq!(decoded(&d, &encoded(&d, &data)), data);
        assert_eq!(d.encoded_size(Size::Exact(32)), Size::Exact(4));
    }

    #[test]
    fn differences_of_integers_that_a_float_does_not_hold_are_refused() {
        let check = |dtype: &str, astype: &str, data: Vec<u8>, fits: bool| {
            let d = stage(&format!(r#"{{"dtype": "{dtype}", "astype": "{astype}"}}"#));
            let mut out = Vec::new();
            match d.encode(&data, &mut out) {
                Ok(()) => assert!(fits && decoded(&d, &out) == data, "{dtype} {astype}"),
                Err(e) => assert!(!fits && e.kind() == ErrorKind::Range, "{dtype} {astype}: {e}"),
            }
        };
        check("<u8", "<f8", le!(u64, 10, 7, 9, 1, 50), false);
        check("<u8", "<f8", le!(u64, 10, 9), false);
        check("<u8", "<f8", le!(u64, 1, 7, 9, 50), true);
        check("<u4", "<f4", le!(u32, 10, 7, 9, 1, 50), false);
        // What numcodecs adds does not wrap.
        check("<u4", "<f8", le!(u32, 10, 7, 9, 1, 50), false);
        check("<u4", "<f8", le!(u32, 1, 7, 9, 4_000_000_000u32), true);
        check("<i4", "<f8", le!(i32, -2_000_000_000, 2_000_000_000), false);
        check("<i8", "<f8", le!(i64, 1i64 << 53, (1i64 << 53) + 1), false);
        check("<i4", "<f4", le!(i32, 1 << 24, (1 << 24) + 1), true);
        check("|u1", "<f2", vec![200, 100, 5, 255, 0], true);
        check("<u2", "<f4", le!(u16, 10, 7, 9, 1, 50), true);
        check("<i8", "<f8", le!(i64, 10, 7, 9, 1, 50), true);
        check("<i8", "<f8", le!(i64, 0, (1i64 << 53) + 1), false);
        // NumPy has no integers for both: it adds doubles.
        check("<u8", "<i8", le!(u64, 10, 7, 9, 1, 50), true);
        check("<u8", "<i2", le!(u64, 10, 7, 9, 1, 50), true);
        check("<u8", "<i8", le!(u64, (1u64 << 60) + 1, (1u64 << 60) + 2), false);
        check("<u8", "<i8", le!(u64, 1u64 << 63), false);
        check("<i8", "<u8", le!(i64, 1, 7, 9, 50), true);
        check("<i8", "<u8", le!(i64, 10, 9), false);
        check("<i2", "<u8", le!(i16, 10, 9), false);
        check("<u4", "<i8", le!(u32, 10, 9, 4_000_000_000u32), true);
        check("<i8", "<u4", le!(i64, 1, 7, 9, 50), true);
    }

    #[test]
    fn delta_wraps_integers_and_follows_both_byte_orders() {
        let d = stage(r#"{"dtype": ">u2", "astype": "<u2"}"#);
        let data = be!(u16, 5, 3, 65535, 0);
        assert_eq!(encoded(&d, &data), le!(u16, 5, 65534, 65532, 1));
        assert_eq!(decoded(&d, &encoded(&d, &data)), data);
    }

    #[test]
    fn delta_of_times_in_another_unit_is_refused() {
        for (dtype, astype, ok) in
            [("<M8[ns]", "<m8[s]", false), ("<m8[s]", "<m8[ms]", false), ("<M8[s]", "<m8[s]", true), ("<m8[s]", "<i8", true)]
        {
            let built = build_v2("delta", &config_of(&format!(r#"{{"dtype": "{dtype}", "astype": "{astype}"}}"#)), BYTES);
            match built.err() {
                Some(e) => assert!(!ok && (e.kind(), e.field()) == (ErrorKind::Unsupported, Some("astype")), "{dtype} {astype}: {e}"),
                None => assert!(ok, "{dtype} {astype}"),
            }
        }
    }

    #[test]
    fn delta_of_floats_rounds_to_its_type() {
        let d = stage(r#"{"dtype": "<f4"}"#);
        let data = le!(f32, 1e8, 1.0, -0.0, 3.5);
        assert_eq!(encoded(&d, &data), le!(f32, 1e8, 1.0f32 - 1e8f32, -1.0, 3.5));
        let halves: Vec<u8> = [1.0f32, 1.5, 2048.0, 2050.0].iter().flat_map(|&x| half::f16::from_f32(x).to_le_bytes()).collect();
        let d = stage(r#"{"dtype": "<f2"}"#);
        assert_eq!(decoded(&d, &encoded(&d, &halves)), halves);
        let d = stage(r#"{"dtype": "<c16", "astype": "<c8"}"#);
        let data = le!(f64, 1, 2, 4, -3);
        assert_eq!(encoded(&d, &data), le!(f32, 1, 2, 3, -5));
        assert_eq!(decoded(&d, &encoded(&d, &data)), data);
    }

    #[test]
    fn the_tight_loops_agree_with_the_general_ones() {
        for &t in DataType::NUMPY.iter().filter(|t| t.kind() != Kind::Bool) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let e = ElementType::new(t, order);
                // Small integers: exact in every type. Forced through the general loop by another byte order on one side.
                let mut native = Vec::new();
                let bytes = ElementType::new(DataType::Int8, order);
                native.resize(8 * t.size(), 0);
                map(&[0, 3, 250, 7, 7, 100, 9, 2], bytes, &mut native, e, |x| x);
                let one: StageRef = Arc::new(Delta { from: e, to: e });
                let two: StageRef = Arc::new(Delta { from: e, to: ElementType::new(t, ByteOrder::Big) });
                let mut general = vec![0; native.len()];
                map(&encoded(&two, &native), ElementType::new(t, ByteOrder::Big), &mut general, e, |x| x);
                assert_eq!(encoded(&one, &native), general, "{e:?}");
                assert_eq!(decoded(&one, &general), native, "{e:?}");
                assert_eq!(decoded(&two, &encoded(&two, &native)), native, "{e:?}");
            }
        }
        let d = stage(r#"{"dtype": "<f8"}"#);
        let zeros = le!(f64, -0.0, -0.0);
        assert_eq!(encoded(&d, &zeros), le!(f64, -0.0, 0.0));
        assert_eq!(decoded(&d, &zeros), zeros);
    }

    #[test]
    fn sums_are_rounded_to_the_wider_type_only() {
        let d = stage(r#"{"dtype": "<f4", "astype": "<f8"}"#);
        // In binary32, adding 1 to 2^24 twice changes nothing.
        assert_eq!(decoded(&d, &le!(f64, 16_777_216.0, 1, 1)), le!(f32, 16_777_216.0, 16_777_216.0, 16_777_218.0));
        assert_eq!(sum_type(DataType::Float16, DataType::Int16), DataType::Float32);
        assert_eq!(sum_type(DataType::Float16, DataType::UInt8), DataType::Float16);
        assert_eq!(sum_type(DataType::Int32, DataType::Float64), DataType::Int32);
        assert_eq!(sum_type(DataType::Complex64, DataType::Complex128), DataType::Complex128);
    }

    #[test]
    fn delta_of_bool_is_read_but_not_written() {
        let d = stage(r#"{"dtype": "|b1"}"#);
        assert_eq!(decoded(&d, &[1, 1, 0, 1]), [1, 0, 0, 1]);
        assert_eq!(d.encode(&[1, 0], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        doc_stage(include_str!("delta.rs"));
        for (json, field) in
            [("{}", "dtype"), (r#"{"dtype": "<i4", "astype": 4}"#, "astype"), (r#"{"dtype": "<c8", "astype": "<f4"}"#, "astype")]
        {
            assert_eq!(build_v2("delta", &config_of(json), BYTES).err().unwrap().field(), Some(field), "{json}");
        }
        refuses_wrong_sizes(&*stage(r#"{"dtype": "<i4"}"#));
    }
}
