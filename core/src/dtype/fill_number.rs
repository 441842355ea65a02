//! One number of a fill value: from its text in JSON, rounded once, and back in the fewest digits.

use super::narrow::odd;
use super::number::range;
use super::{DataType, Element, Kind, Narrow, Real};
use crate::json::{self, Number, Value};
use std::cmp::Ordering;

/// The first bytes of a slice that has them.
pub(super) fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
}

/// An integer (or a bool, 0 or 1) from its source text; `0.0` and `1e3` are integers too.
pub(super) fn integer(data_type: DataType, text: &str) -> Option<Element> {
    let n = match text.parse::<i128>() {
        Ok(n) => n,
        Err(_) => Decimal::parse(text)?.integer()?,
    };
    let (low, high) = match data_type.kind() {
        Kind::Bool => (0, 1),
        Kind::Int | Kind::UInt => range(data_type),
        _ => return None,
    };
    (low..=high).contains(&n).then(|| Element::from_slice(&n.to_le_bytes()[..data_type.size()]))
}

/// A floating-point number from its source text or one of the words for special values.
pub(super) fn float(data_type: DataType, text: &str) -> Option<Element> {
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return hex(data_type, digits);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let special = if unsigned.eq_ignore_ascii_case("nan") {
        // "NaN" is the positive quiet one, with or without a sign.
        f64::from_bits(0x7ff8_0000_0000_0000)
    } else if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
        if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }
    } else {
        return match (data_type, narrow_of(data_type)) {
            // TensorStore writes the least number, of which all bits are zero, as 0.0.
            (_, Some(Narrow::Float8E8M0Fnu)) if decimal_to_sided(text)? == 0.0 => Some(Element::from_slice(&[0])),
            (_, Some(n)) => {
                let (code, unfit) = n.of_f32(odd(decimal_to_sided(text)?));
                // Beyond the largest number is infinity, where there is one.
                (!unfit || n.has_infinity()).then(|| Element::from_slice(&code.to_le_bytes()[..n.size()]))
            }
            (DataType::Float32, _) => Some(Element::from_slice(&text.parse::<f32>().ok()?.to_ne_bytes())),
            _ => Some(Element::from_slice(&text.parse::<f64>().ok()?.to_ne_bytes())),
        };
    };
    match (data_type, narrow_of(data_type)) {
        (_, Some(n)) => {
            let code = if special.is_nan() { n.nan()? } else { n.of_f32(special as f32).0 };
            (special.is_nan() || n.has_infinity()).then(|| Element::from_slice(&code.to_le_bytes()[..n.size()]))
        }
        (DataType::Float32, _) if special.is_nan() => Some(Element::from_slice(&0x7fc0_0000u32.to_ne_bytes())),
        (DataType::Float32, _) => Some(Element::from_slice(&(special as f32).to_ne_bytes())),
        _ => Some(Element::from_slice(&special.to_ne_bytes())),
    }
}

/// The format of a floating-point type narrower than binary32.
fn narrow_of(data_type: DataType) -> Option<Narrow> {
    match data_type {
        DataType::Float16 => Some(Narrow::Float16),
        DataType::Narrow(n) => Some(n),
        _ => None,
    }
}

/// The bits of a floating-point number, most significant digit first; missing digits are zeros in front.
fn hex(data_type: DataType, digits: &str) -> Option<Element> {
    if digits.is_empty() || digits.len() > 2 * data_type.size() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let bits = u64::from_str_radix(digits, 16).ok()?;
    if data_type.bits() < 64 && bits >> data_type.bits() != 0 {
        return None;
    }
    Some(Element::from_slice(&bits.to_le_bytes()[..data_type.size()]))
}

/// A decimal number as it is written: 0.`digits` · 10^`exponent`, without zeros at either end of the digits.
#[derive(Debug, PartialEq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads `-1.5e+3`, also `1.` and `.5` and a leading `+`.
    fn parse(text: &str) -> Option<Decimal> {
        let negative = text.starts_with('-');
        let text = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Decimal::exponent(exponent)?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = [whole.as_bytes(), fraction.as_bytes()].concat();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|&&d| d == b'0').count();
        digits.drain(..zeros);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let exponent = exponent.saturating_add(whole.len() as i64).saturating_sub(zeros as i64);
        Some(if digits.is_empty() { Decimal { negative, digits, exponent: 0 } } else { Decimal { negative, digits, exponent } })
    }

    fn exponent(text: &str) -> Option<i64> {
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        // Beyond this no number of digits in a document brings it back.
        let limit = i64::MAX / 4;
        let value = digits.parse::<i64>().unwrap_or(limit).min(limit);
        Some(if text.starts_with('-') { -value } else { value })
    }

    /// The number, if it is an integer of at most 38 digits.
    fn integer(&self) -> Option<i128> {
        let places = usize::try_from(self.exponent).ok().filter(|&p| p <= 38 && p >= self.digits.len())?;
        let magnitude = (0..places).fold(0i128, |n, i| n * 10 + i128::from(self.digits.get(i).map_or(0, |d| d - b'0')));
        Some(if self.negative { -magnitude } else { magnitude })
    }

    /// Compares the magnitudes.
    fn compare(&self, other: &Decimal) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            // Without trailing zeros the shorter of two equal beginnings is the smaller number, as in the order of slices.
            (false, false) => self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

/// A binary64 that a narrower format rounds as it rounds the number itself.
fn decimal_to_sided(text: &str) -> Option<f64> {
    let near: f64 = text.parse().ok()?;
    // A tie of two numbers of a narrow format is a binary64. If `near` is one, the text may be beside it: step to that side, which decides the tie.
    let exact = Decimal::parse(&format!("{near:.200}"));
    let sided = match (Decimal::parse(text), exact) {
        (Some(text), Some(exact)) if near != 0.0 => match text.compare(&exact) {
            Ordering::Less if near > 0.0 => near.next_down(),
            Ordering::Less => near.next_up(),
            Ordering::Greater if near > 0.0 => near.next_up(),
            Ordering::Greater => near.next_down(),
            Ordering::Equal => near,
        },
        _ => near,
    };
    Some(sided)
}

/// The fill value of an unsigned type that a document has as the signed number of the same bits: zarr-java and Zarr.jl write 255 of `uint8` as
/// -1. `None` for other types and numbers.
pub fn unsigned(data_type: DataType, value: &Value) -> Option<Value> {
    let (n, bits) = (i128::from(value.as_i64()?), data_type.bits());
    let is_unsigned = data_type.kind() == Kind::UInt && !matches!(data_type, DataType::Registered(_));
    (is_unsigned && n < 0 && n >= -(1 << (bits - 1))).then(|| Value::from((n + (1 << bits)) as u64))
}

/// The JSON of an integer.
pub(super) fn integer_to_json(data_type: DataType, bytes: &[u8]) -> Value {
    match Real::load(data_type, bytes) {
        Some(Real::Int(n)) => i64::try_from(n).map_or_else(|_| Value::from(n as u64), Value::from),
        _ => Value::Null,
    }
}

/// The JSON of a floating-point number; with `hex`, a NaN that is not the usual one is its bits.
pub(super) fn float_to_json(data_type: DataType, bytes: &[u8], hex: bool) -> Value {
    let (value, bits, quiet, text) = match (data_type, narrow_of(data_type)) {
        (_, Some(n)) => {
            let code = u16::from_ne_bytes(first(&bytes[..n.size()]));
            let value = n.to_f32(code);
            let text = if n == Narrow::Float16 { shortest_f16(value, code) } else { format!("{value:?}") };
            (f64::from(value), u64::from(code), n.nan().map_or(0, u64::from), text)
        }
        (DataType::Float32, _) => {
            let v = f32::from_ne_bytes(first(bytes));
            (f64::from(v), u64::from(v.to_bits()), 0x7fc0_0000, Number::from_f32(v).text().into())
        }
        _ => {
            let v = f64::from_ne_bytes(first(bytes));
            (v, v.to_bits(), 0x7ff8_0000_0000_0000, format!("{v:?}"))
        }
    };
    if value.is_nan() {
        return if hex && bits != quiet { format!("0x{bits:0width$x}", width = 2 * data_type.size()).into() } else { "NaN".into() };
    }
    if value.is_infinite() {
        return Value::String(if value > 0.0 { "Infinity" } else { "-Infinity" }.into());
    }
    json::parse_text(&text).unwrap_or(0.into())
}

/// The fewest digits that are read as the same binary16.
fn shortest_f16(value: f32, code: u16) -> String {
    let same = |text: &String| decimal_to_sided(text).map(|v| Narrow::Float16.of_f32(odd(v)).0) == Some(code);
    let short = (0..5).map(|digits| format!("{value:.digits$e}")).find(same);
    let number = short.and_then(|text| text.parse::<f64>().ok()).unwrap_or(value.into());
    format!("{number:?}")
}

/// The parts of a number as Python prints it, `0j` or `(1+2j)`: simplezarr writes such texts.
pub(super) fn complex_of_text(text: &str) -> Option<Value> {
    let inner = text.strip_prefix('(').map_or(Some(text), |rest| rest.strip_suffix(')'))?.strip_suffix('j')?;
    let is_sign = |at: usize| at > 0 && inner[at..].starts_with(['+', '-']) && !inner[..at].ends_with(['e', 'E']);
    let sign = inner.char_indices().map(|(at, _)| at).find(|&at| is_sign(at));
    let (real, imaginary) = inner.split_at(sign.unwrap_or(0));
    let number = |part: &str| part.parse::<f64>().ok().filter(|n| n.is_finite()).map(Value::from);
    Some(Value::from(vec![number(if real.is_empty() { "0" } else { real })?, number(imaginary)?]))
}
