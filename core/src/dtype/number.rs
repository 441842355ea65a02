//! One number of any type, exactly: read from an element, and stored as one of another type as the caller's policy says.
//!
//! This is the slow and complete way, and what the kernels of `transfer.rs` fall back to where a number does not fit. Codecs that
//! convert element by element may use it, too.

use super::narrow::odd;
use super::{DataType, Kind, Narrow};
use std::fmt;

/// What happens to a number that does not fit into the type that it is converted to.
///
/// NaN never becomes an integer or a bool, nor a floating-point type without NaN: that is an error under every policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Overflow {
    /// An error of kind `Range`.
    #[default]
    Error,
    /// Integers, also those that are left of a floating-point number without its fraction, modulo 2^n; an infinity is an error. To a
    /// floating-point type as IEEE 754 rounds: infinity, or NaN where the type has none, or the largest number where it has neither.
    /// To bool: all but 0 is true.
    Wrap,
    /// The nearest number that the type has: its least or its largest one. To bool: all but 0 is true.
    Saturate,
}

/// A real number of any type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Real {
    /// An integer, or a bool as 0 or 1.
    Int(i128),
    /// A floating-point number.
    Float(f64),
}

impl Real {
    /// The value of an element in this host's byte order, or of the first part of a complex one. `None` if the type is no number, or
    /// the bytes are fewer than it has.
    pub fn load(data_type: DataType, bytes: &[u8]) -> Option<Real> {
        use DataType::*;
        use Real::{Float, Int};
        let data_type = real_part(data_type);
        let raw = bytes.get(..data_type.size()).filter(|_| data_type.is_number())?;
        let mut word = [0; 8];
        word.iter_mut().zip(raw).for_each(|(w, b)| *w = *b);
        let word = u64::from_le_bytes(word);
        Some(match data_type {
            Bool => Int(i128::from(word != 0)),
            Float16 => Float(self::Narrow::Float16.to_f32(word as u16).into()),
            Narrow(n) => Float(n.to_f32(word as u16).into()),
            Float32 => Float(f32::from_bits(word as u32).into()),
            Float64 => Float(f64::from_bits(word)),
            _ => {
                let unused = 64 - data_type.bits();
                let high = word << unused;
                Int(if data_type.kind() == Kind::Int { i128::from(high as i64 >> unused) } else { i128::from(high >> unused) })
            }
        })
    }

    /// Stores the number as the real type `data_type` (of a complex type: as its first part), in this host's byte order. False, and
    /// nothing is stored, where it does not fit and the policy has nothing for it, where the type is no number, or `out` is too short.
    pub fn store(self, data_type: DataType, overflow: Overflow, out: &mut [u8]) -> bool {
        let data_type = real_part(data_type);
        let Some(out) = out.get_mut(..data_type.size()).filter(|_| data_type.is_number()) else { return false };
        let bits = match data_type {
            DataType::Float16 => self.narrow(Narrow::Float16, overflow).map(u64::from),
            DataType::Narrow(n) => self.narrow(n, overflow).map(u64::from),
            DataType::Float32 => self.single(overflow).map(|v| u64::from(v.to_bits())),
            DataType::Float64 => Some(self.double().to_bits()),
            DataType::Bool => self.truth(overflow),
            _ => self.integer(data_type, overflow),
        };
        let Some(bits) = bits else { return false };
        out.iter_mut().zip(bits.to_le_bytes()).for_each(|(slot, byte)| *slot = byte);
        true
    }

    /// The nearest binary64.
    pub fn double(self) -> f64 {
        match self {
            Real::Int(n) => n as f64,
            Real::Float(f) => f,
        }
    }

    fn single(self, overflow: Overflow) -> Option<f32> {
        let value = match self {
            Real::Int(n) => n as f32,
            Real::Float(f) => f as f32,
        };
        match overflow {
            _ if value.is_finite() || !self.double().is_finite() => Some(value),
            Overflow::Error => None,
            Overflow::Wrap => Some(value),
            Overflow::Saturate => Some(f32::MAX.copysign(value)),
        }
    }

    fn narrow(self, narrow: Narrow, overflow: Overflow) -> Option<u16> {
        let single = match self {
            Real::Int(n) => odd(odd_wide(n)),
            Real::Float(f) => odd(f),
        };
        let (code, unfit) = narrow.of_f32(single);
        // Numbers beyond binary32 come as its infinity.
        let unfit = unfit || (single.is_infinite() && self.double().is_finite());
        match overflow {
            _ if !unfit => Some(code),
            Overflow::Error => None,
            _ if single.is_nan() => None,
            Overflow::Wrap => Some(code),
            Overflow::Saturate if single <= 0.0 && narrow.sign() == 0 => Some(0),
            Overflow::Saturate => Some(narrow.largest() | if single < 0.0 { narrow.sign() } else { 0 }),
        }
    }

    fn truth(self, overflow: Overflow) -> Option<u64> {
        let value = self.double();
        match overflow {
            _ if value == 0.0 || value == 1.0 => Some(value as u64),
            Overflow::Error => None,
            _ => (!value.is_nan()).then_some(1),
        }
    }

    fn integer(self, data_type: DataType, overflow: Overflow) -> Option<u64> {
        // Beyond 128 bits only the low ones count, and those are 0.
        const WIDE: f64 = (1u128 << 127) as f64;
        let (low, high) = range(data_type);
        let whole = match self {
            Real::Int(n) => n,
            Real::Float(f) if f.is_nan() => return None,
            Real::Float(f) if f.abs() < WIDE => f as i128,
            Real::Float(f) => match overflow {
                Overflow::Error => return None,
                Overflow::Wrap if f.is_infinite() => return None,
                Overflow::Wrap => 0,
                Overflow::Saturate => return Some((if f > 0.0 { high } else { low }) as u64),
            },
        };
        let unused = 64 - data_type.bits();
        match overflow {
            _ if (low..=high).contains(&whole) => Some(whole as u64),
            Overflow::Error => None,
            Overflow::Saturate => Some(whole.clamp(low, high) as u64),
            Overflow::Wrap if low < 0 => Some(((whole as i64) << unused >> unused) as u64),
            Overflow::Wrap => Some((whole as u64) << unused >> unused),
        }
    }

    /// Why the number does not fit into a type: `int16 ends at 32767`.
    pub fn limit_text(self, data_type: DataType) -> String {
        let (data_type, value) = (real_part(data_type), self.double());
        let name = data_type.name();
        let narrow = match data_type {
            DataType::Narrow(n) => Some(n),
            DataType::Float16 => Some(Narrow::Float16),
            _ => None,
        };
        let (low, high) = match (data_type.kind(), narrow) {
            (Kind::Bool, _) => return "bool takes 0 and 1".into(),
            (Kind::Int | Kind::UInt, _) => {
                let (low, high) = range(data_type);
                (Real::Int(low), Real::Int(high))
            }
            (_, Some(n)) => {
                let high = f64::from(n.to_f32(n.largest()));
                (Real::Float(if n.sign() == 0 { n.to_f32(0).into() } else { -high }), Real::Float(high))
            }
            _ => (Real::Float(f32::MIN.into()), Real::Float(f32::MAX.into())),
        };
        match value {
            v if v.is_nan() => format!("{name} has no NaN"),
            v if v.is_infinite() => format!("{name} has no infinity"),
            v if v > 0.0 => format!("{name} ends at {high}"),
            _ => format!("{name} begins at {low}"),
        }
    }
}

impl fmt::Display for Real {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Real::Int(n) => n.fmt(f),
            Real::Float(x) if x.is_nan() => f.write_str("NaN"),
            Real::Float(x) if x.is_infinite() => f.write_str(if *x > 0.0 { "Infinity" } else { "-Infinity" }),
            Real::Float(x) => write!(f, "{x:?}"),
        }
    }
}

/// The type in memory of a real number, or of a part of a complex one.
fn real_part(data_type: DataType) -> DataType {
    data_type.part().unwrap_or(data_type.in_memory())
}

/// The least and the largest value of an integer type.
pub fn range(data_type: DataType) -> (i128, i128) {
    let bits = data_type.bits().min(64);
    if data_type.kind() == Kind::Int { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
}

/// A binary64 from an integer: exact, or odd where digits were cut off.
fn odd_wide(value: i128) -> f64 {
    let magnitude = value.unsigned_abs();
    let cut = (128 - magnitude.leading_zeros()).saturating_sub(53);
    let kept = magnitude >> cut << cut;
    let odd = (kept | u128::from(kept != magnitude) << cut) as f64;
    if value < 0 { -odd } else { odd }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::{Bool, Bytes, Float16, Float32, Int2, Int4, Int8, Int16, Int32, Int64, Raw, UInt2, UInt8, UInt64};
    use Real::{Float, Int};

    fn stored(value: Real, data_type: DataType, overflow: Overflow) -> Option<Real> {
        let mut out = [0xa5; 8];
        let fits = value.store(data_type, overflow, &mut out);
        assert!(fits || out == [0xa5; 8]);
        fits.then(|| Real::load(data_type, &out).unwrap())
    }

    #[test]
    fn policies_decide_what_does_not_fit() {
        let narrow = DataType::Narrow;
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        let table: &[(Real, DataType, Option<Real>, Option<Real>)] = &[
            (Int(70000), Int16, Some(Int(4464)), Some(Int(32767))),
            (Int(-129), Int8, Some(Int(127)), Some(Int(-128))),
            (Int(-1), UInt64, Some(Int(u64::MAX.into())), Some(Int(0))),
            (Int(9), Int4, Some(Int(-7)), Some(Int(7))),
            (Int(-3), UInt2, Some(Int(1)), Some(Int(0))),
            (Int(2), Bool, Some(Int(1)), Some(Int(1))),
            (Float(0.5), Bool, Some(Int(1)), Some(Int(1))),
            (Float(nan), Bool, None, None),
            (Float(-300.75), Int8, Some(Int(-44)), Some(Int(-128))),
            (Float(1e300), Int32, Some(Int(0)), Some(Int(i32::MAX.into()))),
            (Float(1.8446744073709552e19 + 4096.0), UInt64, Some(Int(4096)), Some(Int(u64::MAX.into()))),
            (Float(-inf), Int64, None, Some(Int(i64::MIN.into()))),
            (Float(inf), UInt8, None, Some(Int(255))),
            (Float(nan), Int64, None, None),
            (Float(1e300), Float32, Some(Float(inf)), Some(Float(f32::MAX.into()))),
            (Float(-1e6), Float16, Some(Float(-inf)), Some(Float(-65504.0))),
            (Int(u64::MAX.into()), Float16, Some(Float(inf)), Some(Float(65504.0))),
            (Float(-1e300), narrow(Narrow::BFloat16), Some(Float(-inf)), Some(Float(-3.3895313892515355e38))),
            (Float(1e9), narrow(Narrow::Float8E5M2), Some(Float(inf)), Some(Float(57344.0))),
            (Float(-449e3), narrow(Narrow::Float8E4M3Fn), Some(Float(nan)), Some(Float(-448.0))),
            (Float(inf), narrow(Narrow::Float8E4M3Fnuz), Some(Float(nan)), Some(Float(240.0))),
            (Float(-inf), narrow(Narrow::Float4E2M1Fn), Some(Float(-6.0)), Some(Float(-6.0))),
            (Float(nan), narrow(Narrow::Float6E3M2Fn), None, None),
            (Float(0.0), narrow(Narrow::Float8E8M0Fnu), Some(Float(nan)), Some(Float(2f64.powi(-127)))),
            (Float(-3.0), narrow(Narrow::Float8E8M0Fnu), Some(Float(nan)), Some(Float(2f64.powi(-127)))),
        ];
        let same = |a: Option<Real>, b: Option<Real>| match (a, b) {
            (Some(Float(x)), Some(Float(y))) if x.is_nan() => y.is_nan(),
            (a, b) => a == b,
        };
        for &(value, data_type, wrapped, saturated) in table {
            assert_eq!(stored(value, data_type, Overflow::Error), None, "{value} {data_type:?}");
            for (overflow, want) in [(Overflow::Wrap, wrapped), (Overflow::Saturate, saturated)] {
                let got = stored(value, data_type, overflow);
                assert!(same(got, want), "{value} {data_type:?} {overflow:?}: {got:?}, expected {want:?}");
            }
        }
        for (value, data_type) in
            [(Float(inf), Float16), (Float(nan), narrow(Narrow::Float8E8M0Fnu)), (Float(-0.9), UInt8), (Int(-8), Int4)]
        {
            for overflow in [Overflow::Error, Overflow::Wrap, Overflow::Saturate] {
                assert!(stored(value, data_type, overflow).is_some(), "{value} {data_type:?}");
            }
        }
    }

    #[test]
    fn integers_are_rounded_once() {
        // A tie of bfloat16 plus the last bit of 64: by way of binary64 or binary32 it would be the tie.
        let tie = (1i128 << 62) + (1 << 54);
        assert_eq!(stored(Int(tie), DataType::Narrow(Narrow::BFloat16), Overflow::Error), Some(Float(2f64.powi(62))));
        assert_eq!(stored(Int(tie + 1), DataType::Narrow(Narrow::BFloat16), Overflow::Error), Some(Float(2f64.powi(62) + 2f64.powi(55))));
        assert_eq!(
            stored(Int(-tie - 1), DataType::Narrow(Narrow::BFloat16), Overflow::Error),
            Some(Float(-(2f64.powi(62) + 2f64.powi(55))))
        );
    }

    #[test]
    fn misfits_are_explained() {
        for (value, data_type, text) in [
            (Int(70000), Int16, "int16 ends at 32767"),
            (Float(-1e300), Float32, "float32 begins at -3.4028234663852886e38"),
            (Float(500.0), DataType::ComplexNarrow(Narrow::Float8E4M3Fn), "float8_e4m3fn ends at 448.0"),
            (Float(0.0), DataType::Narrow(Narrow::Float8E8M0Fnu), "float8_e8m0fnu begins at 5.877471754111438e-39"),
            (Float(f64::NAN), Int4, "int4 has no NaN"),
            (Float(f64::INFINITY), DataType::Narrow(Narrow::Float4E2M1Fn), "float4_e2m1fn has no infinity"),
            (Int(2), Bool, "bool takes 0 and 1"),
        ] {
            assert_eq!(value.limit_text(data_type), text);
        }
        assert_eq!((Int(3).to_string(), Float(f64::NAN).to_string(), Float(1.5).to_string()), ("3".into(), "NaN".into(), "1.5".into()));
    }

    #[test]
    fn sub_byte_integers_are_read_from_their_low_bits_and_written_whole() {
        assert_eq!(Real::load(Int4, &[0x7f]), Some(Int(-1)));
        assert_eq!(Real::load(UInt2, &[0xfe]), Some(Int(2)));
        let mut out = [0];
        assert!(Int(-2).store(Int2, Overflow::Error, &mut out));
        assert_eq!(out, [0xfe]);
        assert!(Real::load(Int32, &[1, 2]).is_none() && Real::load(Bytes(4), &[0; 4]).is_none());
        assert!(!Int(1).store(Int32, Overflow::Error, &mut [0; 2]) && !Int(1).store(Raw(1), Overflow::Error, &mut [0]));
    }
}
