//! The values of attributes as numbers, texts and truth values of the caller's types.
//! Conventions: xarray, "Zarr Encoding Specification", for `_FillValue` in version 3.

use super::Attributes;
use super::attr_change::AttributeChange;
use super::conventions::missing::FILL;
use crate::dtype::base64_text::{double_from_base64, double_to_base64};
use crate::dtype::number::{self, Overflow};
use crate::dtype::{DataType, Kind};
use crate::error::{Error, Result, bail, err};
use crate::limits::{collect, filled, try_collect};
use crate::metadata::json::{self, List, Number, Text, brief};
use crate::metadata::{Format, Map, Value};

/// What kind of JSON value an attribute is. The discriminants are those of the C header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum JsonKind {
    /// `null`.
    Null = 0,
    /// `true` or `false`.
    Bool = 1,
    /// A number without fraction and exponent.
    Integer = 2,
    /// Any other number; a bare `NaN` or `Infinity` of another writer, too.
    Number = 3,
    /// A string.
    String = 4,
    /// A list.
    Array = 5,
    /// An object.
    Object = 6,
}

impl JsonKind {
    fn of(value: &Value) -> JsonKind {
        match value {
            Value::Null => JsonKind::Null,
            Value::Bool(_) => JsonKind::Bool,
            Value::Number(n) if n.is_integer() => JsonKind::Integer,
            Value::Number(_) => JsonKind::Number,
            Value::String(_) | Value::HalfPairs(_) => JsonKind::String,
            Value::Array(_) => JsonKind::Array,
            Value::Object(_) => JsonKind::Object,
        }
    }
}

/// What a number of an attribute is, in messages: `attribute "x" of t`, with `: element 1` in a list.
struct ValuePlace<'a> {
    attributes: &'a Attributes,
    name: &'a str,
    /// The index in the list; `None` where the attribute is no list.
    index: Option<usize>,
}

impl std::fmt::Display for ValuePlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "attribute {:?} of {}", self.name, self.attributes.name())?;
        self.index.map_or(Ok(()), |i| write!(f, ": element {i}"))
    }
}

impl Attributes {
    /// What kind of value an attribute is.
    pub fn kind(&self, name: &str) -> Result<JsonKind> {
        self.with(name, |value| Ok(JsonKind::of(value)))
    }

    /// An attribute that is an integer of 64 bits. `1.0` is no integer; `_FillValue` may be base64 of a double that is one.
    pub fn get_i64(&self, name: &str) -> Result<i64> {
        self.with(name, |value| match self.fill_value(name, value).as_ref().unwrap_or(value) {
            Value::Number(n) if n.is_integer() => n
                .text()
                .parse()
                .map_err(|_| err!(Range, "attribute {name:?} of {} is {}, which does not fit into 64 bits", self.name(), brief(value))),
            other => Err(self.wrong_kind(name, other, "an integer")),
        })
    }

    /// An attribute that is a number, an integer or a bare `NaN` or `Infinity` among them. `_FillValue` may be base64 of a double.
    pub fn get_f64(&self, name: &str) -> Result<f64> {
        self.with(name, |value| match self.fill_value(name, value).as_ref().unwrap_or(value) {
            Value::Number(n) => match n.text().parse::<f64>() {
                Ok(x) if x.is_finite() || json::is_non_finite(n) => Ok(x),
                _ => bail!(Range, "attribute {name:?} of {} is {}, which no double can hold", self.name(), brief(value)),
            },
            other => Err(self.wrong_kind(name, other, "a number")),
        })
    }

    /// An attribute that is `true` or `false`.
    pub fn get_bool(&self, name: &str) -> Result<bool> {
        self.with(name, |value| value.as_bool().ok_or_else(|| self.wrong_kind(name, value, "true or false")))
    }

    /// An attribute that is a string.
    pub fn get_string(&self, name: &str) -> Result<Text> {
        self.with(name, |value| match value {
            Value::String(s) => Ok(s.clone()),
            Value::HalfPairs(_) => Err(self.wrong_kind(name, value, "Unicode; it can be had as JSON")),
            other => Err(self.wrong_kind(name, other, "a string")),
        })
    }

    /// An attribute that is a list of strings, or one string.
    pub fn get_strings(&self, name: &str) -> Result<Vec<Text>> {
        self.with(name, |value| {
            let one = |item: &Value| match item {
                Value::String(s) => Ok(s.clone()),
                _ => Err(self.wrong_kind(name, value, "a list of strings")),
            };
            try_collect(items(value).iter().map(one))
        })
    }

    /// An attribute that is a list of numbers, or one number, as elements of `element` in this host's byte order. Errors: `Type`
    /// where one is no number (no integer, for an integer type), `Range` where one does not fit.
    pub fn get_numbers(&self, name: &str, element: DataType) -> Result<Vec<u8>> {
        check_type(element)?;
        self.with(name, |value| {
            let fill = self.fill_value(name, value);
            let value = fill.as_ref().unwrap_or(value);
            let (all, size) = (items(value), element.size());
            let mut bytes = filled(0, all.len() * size)?;
            for (i, (item, out)) in all.iter().zip(bytes.chunks_exact_mut(size)).enumerate() {
                let place = ValuePlace { attributes: self, name, index: value.is_array().then_some(i) };
                store_number(item, element, out, &place)?;
            }
            Ok(bytes)
        })
    }

    /// An attribute of any kind as JSON, in the shortest form.
    pub fn get_json(&self, name: &str) -> Result<String> {
        self.with(name, json::compact_of_any)
    }

    /// Sets an integer. `_FillValue` as for [`Attributes::set_f64`]: an error of kind `Range` where no double is that integer.
    pub fn set_i64(&self, name: &str, value: i64) -> Result<()> {
        self.set_numbers(name, DataType::Int64, &value.to_ne_bytes(), true)
    }

    /// Sets a number. NaN and infinities have no form in JSON: an error of kind `Range` where the context does not allow them.
    /// `_FillValue` of a floating-point array of version 3 becomes base64, as xarray wants it.
    pub fn set_f64(&self, name: &str, value: f64) -> Result<()> {
        self.set_numbers(name, DataType::Float64, &value.to_ne_bytes(), true)
    }

    /// Sets `true` or `false`.
    pub fn set_bool(&self, name: &str, value: bool) -> Result<()> {
        self.set(name, value.into())
    }

    /// Sets a string.
    pub fn set_string(&self, name: &str, value: &str) -> Result<()> {
        self.set(name, Value::text_of_any(value)?)
    }

    /// Sets a list of strings.
    pub fn set_strings(&self, name: &str, values: &[&str]) -> Result<()> {
        self.set(name, Value::Array(List::of(try_collect(values.iter().map(|&text| Value::text_of_any(text)))?)?))
    }

    /// Sets a list of numbers, given as elements of `element` in this host's byte order; with `single` the one number, without a list.
    /// Each is written so that it reads as that element again. NaN and infinities as for [`Attributes::set_f64`].
    pub fn set_numbers(&self, name: &str, element: DataType, bytes: &[u8], single: bool) -> Result<()> {
        check_type(element)?;
        let one = |(i, item): (usize, &[u8])| {
            self.number_of(item, element, &ValuePlace { attributes: self, name, index: (!single).then_some(i) })
        };
        let mut values = bytes.chunks_exact(element.size()).enumerate().map(one);
        if single {
            return self.set(name, values.next().ok_or_else(|| err!(Argument, "found no number, expected one"))??);
        }
        self.set(name, Value::Array(List::of(try_collect(values)?)?))
    }

    /// Sets what a JSON text says.
    pub fn set_json(&self, name: &str, text: &str) -> Result<()> {
        let value = json::parse_allowed(text, self.allows_non_finite()).map_err(|e| e.at_field(name))?;
        json::check_range(&value).map_err(|e| e.at_field(name))?;
        self.set(name, value)
    }

    /// Sets those of a JSON object in one write, or none of them. The others stay.
    pub fn update_json(&self, text: &str) -> Result<()> {
        let given = match json::parse_allowed(text, self.allows_non_finite())? {
            Value::Object(given) if given.contains_key("") => return Err(self.unnamed()),
            Value::Object(given) => given,
            other => bail!(Type, "found {}, expected an object of attributes", brief(&other)),
        };
        given.iter().try_for_each(|(name, value)| json::check_range(value).map_err(|e| e.at_field(name)))?;
        self.change_all(collect(given.into_iter().map(|(name, value)| AttributeChange::Set(name, value)))?)
    }

    /// The node's document as JSON, with the attributes as last read or published.
    pub(super) fn document_json(&self, format: Format, mut document: Map) -> Result<String> {
        if let (Format::V3, Some(attributes)) = (format, self.published()) {
            document.insert("attributes".into(), Value::Object((*attributes).clone()));
        }
        json::text_of_any(&Value::Object(document), 0)
    }

    /// Converts an element to the value that represents it.
    fn number_of(&self, item: &[u8], element: DataType, place: &ValuePlace<'_>) -> Result<Value> {
        let Some(found) = number::Real::load(element, item) else { bail!(Internal, "{place} has no value") };
        let is_text = place.name == FILL && place.index.is_none() && self.fill_is_text();
        let double = match found {
            number::Real::Int(n) if is_text && n as f64 as i128 != n => bail!(Range, "{place} is {n}, which no double is"),
            number::Real::Int(n) if is_text => n as f64,
            number::Real::Int(n) => return Ok(if n < 0 { (n as i64).into() } else { (n as u64).into() }),
            number::Real::Float(double) => double,
        };
        if is_text {
            return Ok(double_to_base64(double).into());
        }
        if !double.is_finite() && !self.allows_non_finite() {
            bail!(Range, "{place} is {found}; {}", json::NO_FORM);
        }
        Ok(Value::Number(if double.is_finite() && element.size() <= 4 { Number::from_f32(double as f32) } else { json::number(double) }))
    }

    /// The number that `_FillValue` is, where it is base64 of a double; `None` for any other attribute.
    fn fill_value(&self, name: &str, value: &Value) -> Option<Value> {
        let text = value.as_str().filter(|_| name == FILL && self.is_real())?;
        let double = double_from_base64(text)?;
        let is_whole = double.fract() == 0.0 && double.abs() < 2f64.powi(63) && (double != 0.0 || double.is_sign_positive());
        Some(if is_whole { (double as i64).into() } else { Value::Number(json::number(double)) })
    }
}

/// The items of a list; anything else is a list of itself.
fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// An error of kind `Type` for what is neither an integer nor a floating-point type.
fn check_type(element: DataType) -> Result<()> {
    if element.part().is_none() && matches!(element.kind(), Kind::Int | Kind::UInt | Kind::Float) {
        return Ok(());
    }
    bail!(Type, "found the type {}, expected an integer or a floating-point type for the numbers of an attribute", element.name())
}

/// Stores the number that a value is as an element.
fn store_number(value: &Value, element: DataType, out: &mut [u8], place: &ValuePlace<'_>) -> Result<()> {
    let wrong = |expected| err!(Type, "{place} is {}, expected {expected}", brief(value));
    let Value::Number(number) = value else { return Err(wrong("a number")) };
    let misfit = |why: String| -> Error { err!(Range, "{place} is {}, {why}", brief(value)) };
    let text = number.text();
    let cannot = || misfit(format!("which no {} can hold", element.name()));
    let parsed = match element.kind() {
        Kind::Int | Kind::UInt if !number.is_integer() => return Err(wrong("an integer")),
        Kind::Int | Kind::UInt => number::Real::Int(text.parse().map_err(|_| cannot())?),
        // One rounding, not two.
        _ if element == DataType::Float32 => number::Real::Float(text.parse::<f32>().map_err(|_| cannot())?.into()),
        _ => number::Real::Float(text.parse().map_err(|_| cannot())?),
    };
    if !parsed.double().is_finite() && !json::is_non_finite(number) {
        return Err(cannot());
    }
    if !parsed.store(element, Overflow::Error, out) {
        return Err(misfit(format!("but {}", parsed.limit_text(element))));
    }
    Ok(())
}
