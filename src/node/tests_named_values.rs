//! Attributes that name elements, in copies of another type: what a reader finds missing, or valid, in the source it finds in the copy.

use super::conventions::retyped::values_to_type;
use crate::dtype::DataType;
use crate::dtype::base64_text::double_from_base64;
use crate::metadata::{Format, Value, json};
use DataType::{Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64};

const TYPES: [DataType; 11] = [Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64];

/// What attributes say, in range of some types, at their edges and beyond, as JSON has it.
const SAID: [&str; 25] = [
    "0",
    "-0.0",
    "5",
    "5.0",
    "0.1",
    "1e-9",
    "1e-50",
    "-9.5",
    "-1",
    "127",
    "-128",
    "255",
    "-999",
    "-999.0",
    "32767",
    "65504",
    "65535",
    "65536.0",
    "16777217",
    "2147483647",
    "9223372036854775807",
    "18446744073709551615",
    "1e20",
    "1e40",
    "-1.7976931348623157e308",
];

/// What JSON has no number for, as others write it.
const UNUSUAL: [&str; 6] = ["NaN", "Infinity", "-Infinity", r#""NaN""#, r#""Infinity""#, r#""none""#];

/// What the elements of the sources are, where their type has it.
const ELEMENTS: [f64; 22] = [
    0.0,
    -0.0,
    1.0,
    5.0,
    0.1,
    -9.5,
    -1.0,
    127.0,
    -128.0,
    255.0,
    -999.0,
    32767.0,
    65504.0,
    65535.0,
    65536.0,
    16777217.0,
    2147483647.0,
    9007199254740992.0,
    1e20,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

/// The numbers of a type, as C casts them.
fn cast(data_type: DataType, value: f64) -> Option<f64> {
    let whole = |low: f64, high: f64| (value.fract() == 0.0 && value >= low && value <= high).then_some(value + 0.0);
    match data_type {
        Int8 => whole(-128.0, 127.0),
        Int16 => whole(-32768.0, 32767.0),
        Int32 => whole(-2147483648.0, 2147483647.0),
        Int64 => whole(-9223372036854775808.0, 9223372036854774784.0),
        UInt8 => whole(0.0, 255.0),
        UInt16 => whole(0.0, 65535.0),
        UInt32 => whole(0.0, 4294967295.0),
        UInt64 => whole(0.0, 18446744073709549568.0),
        Float16 => Some(half(value)),
        Float32 => Some(f64::from(value as f32)),
        _ => Some(value),
    }
}

/// The nearest number with eleven digits in base two, of which those of binary16 have exponents up to 15.
fn half(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 2f64.powi((value.abs().log2().floor() as i32).max(-14) - 10);
    let near = (value / unit).round_ties_even() * unit;
    if near.abs() > 65504.0 { f64::INFINITY.copysign(value) } else { near }
}

/// The numbers that an attribute says to a reader in another language, which takes each for a double and compares.
fn numbers(value: Option<&Value>) -> Vec<f64> {
    let one = |value: &Value| match value {
        Value::Number(number) => number.text().parse().ok(),
        Value::String(text) => double_from_base64(text),
        _ => None,
    };
    match value {
        Some(Value::Array(items)) => items.iter().filter_map(one).collect(),
        value => value.and_then(one).into_iter().collect(),
    }
}

/// One attribute of a source, and the types of a copy.
struct Case<'a> {
    from: DataType,
    to: DataType,
    format: Format,
    name: &'a str,
    said: &'a str,
}

impl Case<'_> {
    /// Elements of the source that its attribute may name, each with the one of the copy; those of which there is none do not count.
    fn elements(&self) -> Vec<(f64, f64)> {
        let both = |&value: &f64| cast(self.from, value).and_then(|old| Some((old, cast(self.to, old)?)));
        ELEMENTS.iter().filter_map(both).filter(|(old, new)| old.is_infinite() || new.is_finite()).collect()
    }

    /// The number that is said, as an element of the source.
    fn named(&self) -> Option<f64> {
        let is_float = matches!(self.from, Float16 | Float32 | Float64);
        let said: f64 = if is_float { self.said.trim_matches('"') } else { self.said }.parse().ok()?;
        cast(self.from, said).filter(|element| (said.is_infinite() || element.is_finite()) && (said == 0.0 || *element != 0.0))
    }

    /// What is wrong with the attribute of the copy, which has this value.
    fn fault(&self, value: Option<&Value>, is_told: bool) -> Option<&'static str> {
        let (found, named, elements) = (numbers(value), self.named(), self.elements());
        let is_unusual = UNUSUAL.contains(&self.said);
        if !is_unusual && value.is_some_and(json::has_non_finite) {
            return Some("no JSON");
        }
        let is_float = matches!(self.to, Float16 | Float32 | Float64);
        let is_form = |value: &Value| if is_float { value.is_string() } else { value.as_i64().is_some() || value.as_u64().is_some() };
        let is_fill_3 = (self.name, self.format) == ("_FillValue", Format::V3);
        if is_fill_3 && (named.is_some() || !is_unusual) && !value.is_none_or(is_form) {
            return Some("a form that xarray refuses");
        }
        let is_limit = self.name.starts_with("valid");
        let limit = named.or_else(|| self.said.parse().ok());
        let is_named = |element: f64| if is_limit { limit.is_some_and(|limit| element <= limit) } else { named == Some(element) };
        let is_found = |element: f64| found.iter().any(|&number| if is_limit { element <= number } else { element == number });
        // Readers do not know of texts.
        let is_read = is_fill_3 || !self.said.starts_with('"');
        for &(old, new) in elements.iter().filter(|_| is_read) {
            if is_named(old) && !is_found(new) && !is_told {
                return Some("what was named is not");
            }
            if !is_named(old) && is_found(new) && !elements.iter().any(|other| is_named(other.0) && other.1 == new) {
                return Some("what was not named is");
            }
        }
        None
    }
}

#[test]
fn an_attribute_names_in_a_copy_of_another_type_the_elements_that_it_named() {
    let mut faults = Vec::new();
    for (from, to) in TYPES.into_iter().flat_map(|from| TYPES.map(|to| (from, to))).filter(|(from, to)| from != to) {
        for name in ["_FillValue", "missing_value", "valid_max"] {
            for (format, said) in
                [Format::V2, Format::V3].into_iter().flat_map(|format| SAID.iter().chain(&UNUSUAL).map(move |said| (format, said)))
            {
                if name == "valid_max" && UNUSUAL.contains(said) {
                    continue;
                }
                let mut attributes = json::parse_object(format!(r#"{{"{name}":{said}}}"#).as_bytes(), 1000).unwrap();
                let told = values_to_type(&mut attributes, (from, from), to, format);
                let case = Case { from, to, format, name, said };
                if let Some(fault) = case.fault(attributes.get(name), told.is_some()) {
                    faults.push(format!(
                        "{from:?} {to:?} {format:?} {name} {said}: {fault}: {:?}",
                        attributes.get(name).map(Value::to_string)
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..faults.len().min(40)].join("\n"));
}
