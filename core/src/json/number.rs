//! JSON numbers with their source text.

use super::text::Text;
use crate::error::Result;
use crate::limits;

/// Returns a text, however long; an error instead of an abort when memory is short.
pub fn text(text: &str) -> Result<Text> {
    limits::with_spare(text.len() + size_of::<[usize; 2]>(), || Text::new(text))
}

/// A number as JSON writes it. Two are equal if their texts are. The bare tokens `NaN`, `Infinity` and `-Infinity` are among them.
#[derive(Clone, PartialEq, Eq)]
pub struct Number(Spelling);

/// Integers of 64 bits are written in one way only: their texts are made when they are asked for.
#[derive(Clone, PartialEq, Eq)]
enum Spelling {
    /// 0 or more.
    Natural(u64),
    /// Less than 0.
    Negative(i64),
    /// The text of any other number.
    Other(Text),
}

impl Number {
    /// Wraps a text that is known to be a number, and no integer of 64 bits but `-0`.
    pub(super) fn of_text(text: Text) -> Number {
        Number(Spelling::Other(text))
    }

    /// Wraps an integer of 64 bits.
    pub(super) fn of_integer(value: i128) -> Number {
        Number(if value < 0 { Spelling::Negative(value as i64) } else { Spelling::Natural(value as u64) })
    }

    /// Returns the shortest text that reads as `value` again, or `None` if it is not finite.
    pub fn from_f64(value: f64) -> Option<Number> {
        value.is_finite().then(|| Number::of_text(Text::from(format!("{value:?}"))))
    }

    /// Returns the shortest text that reads as the `float` `value` again, which must be finite, also where the text is read as a double first.
    pub fn from_f32(value: f32) -> Number {
        let shortest = Text::from(format!("{value:?}"));
        // The nearest double may be halfway to another `float`: so it is of 7.038531e-26 and its negative.
        let is_same = shortest.parse::<f64>().is_ok_and(|double| double as f32 == value);
        Number::of_text(if is_same { shortest } else { Text::from(format!("{:?}", f64::from(value))) })
    }

    /// Returns the number as it is written.
    pub fn text(&self) -> Text {
        match &self.0 {
            Spelling::Natural(n) => digits_of(*n, false),
            Spelling::Negative(n) => digits_of(n.unsigned_abs(), true),
            Spelling::Other(text) => text.clone(),
        }
    }

    /// Returns the number as it is written, or `None` for an integer of 64 bits.
    pub fn other_text(&self) -> Option<&str> {
        if let Spelling::Other(text) = &self.0 { Some(text) } else { None }
    }

    /// Returns whether it is written without fraction and exponent.
    pub fn is_integer(&self) -> bool {
        self.other_text().is_none_or(|text| text.bytes().all(|b| b.is_ascii_digit() || b == b'-'))
    }

    /// Returns the number as an unsigned integer, or `None` for any other text, such as `1.0` or `1e3`.
    pub fn as_u64(&self) -> Option<u64> {
        if let Spelling::Natural(n) = self.0 { Some(n) } else { None }
    }

    /// Returns the number as a signed integer, or `None` for any other text, such as `1.0` or `1e3`.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Spelling::Natural(n) => (*n).try_into().ok(),
            Spelling::Negative(n) => Some(*n),
            Spelling::Other(text) => (text == "-0").then_some(0),
        }
    }

    /// Returns the nearest double, or `None` if it is not finite.
    pub fn as_f64(&self) -> Option<f64> {
        match &self.0 {
            Spelling::Natural(n) => Some(*n as f64),
            Spelling::Negative(n) => Some(*n as f64),
            Spelling::Other(text) => text.parse().ok().filter(|value: &f64| value.is_finite()),
        }
    }
}

/// Returns the digits of an integer, in a fraction of the time that the standard library's formatter takes: shapes are lists of them.
fn digits_of(mut left: u64, is_negative: bool) -> Text {
    let (mut digits, mut begin) = ([b'-'; 21], 21);
    while left > 0 || begin == 21 {
        begin -= 1;
        digits[begin] = b'0' + (left % 10) as u8;
        left /= 10;
    }
    std::str::from_utf8(&digits[begin - usize::from(is_negative)..]).map(Text::new).unwrap_or_default()
}
