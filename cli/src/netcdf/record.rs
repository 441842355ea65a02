//! Attributes of netCDF as JSON, and what JSON and Zarr do not say: the record that the netCDF format of this library keeps.

use super::file::Dim;
use crate::cdl::attributes::{Attribute, FILL, Values, trimmed};
use crate::cdl::token::{NcType, Number};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ozarr::dtype::base64_text::double_to_base64;
use ozarr::node::{Format, Map, Value, json};

/// The attributes of a node; `variable` is the type of its elements, if it is an array.
pub fn members(attributes: &[Attribute], variable: Option<NcType>, format: Format) -> Map {
    let is_fill = |a: &Attribute| variable.is_some() && a.name == FILL;
    let value = |a: &Attribute| if is_fill(a) && format == Format::V3 { fill_value(&a.values) } else { value(&a.values) };
    // It is the array's fill value, too. As an attribute NCZarr reads that of numbers in format 2, and xarray none of text in format 3.
    let is_apart = |a: &Attribute| match &a.values {
        Values::Chars(bytes) => format == Format::V2 || (variable == Some(NcType::Char) && bytes.len() == 1),
        Values::Strings(all) => format == Format::V2 || (variable == Some(NcType::String) && all.len() == 1),
        // Readers that are strict would refuse all attributes for what JSON has no number for.
        Values::Numbers(_, all) => format == Format::V2 && all.iter().any(|n| matches!(n, Number::Real(x) if !x.is_finite())),
    };
    let kept = attributes.iter().filter(|a| !(is_fill(a) && is_apart(a)));
    kept.map(|a| (a.name.as_str(), value(a))).collect()
}

/// A `_FillValue` as a value of its variable's type, rounded as netCDF-C does if it is a real number; none if it is no such value. Classic files
/// have those of other types, too.
pub fn fill_of(values: &Values, nc: NcType) -> Option<Values> {
    match values {
        Values::Numbers(_, all) if all.len() == 1 && nc == NcType::Char => match all[0] {
            Number::Integer(n) => Some(Values::Chars(vec![n.try_into().ok()?])),
            Number::Real(_) => None,
        },
        Values::Numbers(_, all) if all.len() == 1 && nc != NcType::String => {
            let converted = nc.convert(all[0]);
            let fits = match (all[0], converted) {
                (Number::Real(x), Number::Real(y)) => x.is_infinite() == y.is_infinite(),
                (Number::Real(x), Number::Integer(n)) => x == n as f64,
                (Number::Integer(_), Number::Real(_)) => true,
                (Number::Integer(n), Number::Integer(kept)) => n == kept,
            };
            fits.then(|| Values::Numbers(nc, vec![converted]))
        }
        Values::Chars(text) if nc == NcType::Char && text.len() == 1 => Some(values.clone()),
        Values::Strings(all) if nc == NcType::String && all.len() == 1 => Some(values.clone()),
        _ => None,
    }
}

fn number(number: Number) -> Value {
    match number {
        Number::Integer(n) => i64::try_from(n).map(Value::from).or_else(|_| u64::try_from(n).map(Value::from)).unwrap_or_default(),
        Number::Real(x) if x.is_finite() => {
            // A float, too, is the same number to programs that read a double: others scale packed elements with it.
            json::parse_given(&format!("{x:?}")).unwrap_or_default()
        }
        Number::Real(x) => {
            let text = if x.is_nan() {
                "NaN"
            } else if x > 0.0 {
                "Infinity"
            } else {
                "-Infinity"
            };
            json::parse_given(text).unwrap_or_default()
        }
    }
}

fn value(values: &Values) -> Value {
    match values {
        // Programs in C write the NUL at the end of a text, too, which none takes for a part of it.
        Values::Chars(bytes) => match std::str::from_utf8(trimmed(bytes)) {
            Ok(text) => text.into(),
            Err(_) => Value::from_iter(bytes.iter().map(|&b| Value::from(u64::from(b)))),
        },
        Values::Strings(all) if all.len() == 1 => all[0].as_str().into(),
        Values::Strings(all) => Value::from_iter(all.iter().map(|text| Value::from(text.as_str()))),
        Values::Numbers(_, all) if all.len() == 1 => number(all[0]),
        Values::Numbers(_, all) => Value::from_iter(all.iter().map(|&n| number(n))),
    }
}

/// xarray has real numbers and characters as base64.
fn fill_value(values: &Values) -> Value {
    match values {
        Values::Numbers(NcType::Float | NcType::Double, all) => match all.first() {
            Some(Number::Real(x)) => double_to_base64(*x).as_str().into(),
            _ => Value::Null,
        },
        Values::Chars(bytes) if bytes.len() == 1 => STANDARD.encode(bytes).as_str().into(),
        other => value(other),
    }
}

/// The types of attributes that the JSON of their values does not tell.
fn types(attributes: &[Attribute], variable: bool) -> Option<Value> {
    let name = |a: &Attribute| match &a.values {
        _ if variable && a.name == FILL => None,
        Values::Chars(bytes) => std::str::from_utf8(bytes).is_err().then_some("char"),
        Values::Strings(all) => (all.len() < 2).then_some("string"),
        Values::Numbers(NcType::Int64, _) => None,
        Values::Numbers(NcType::Double, all) if !all.is_empty() => None,
        Values::Numbers(nc, _) => Some(nc.name()),
    };
    let all: Map = attributes.iter().filter_map(|a| Some((a.name.as_str(), Value::from(name(a)?)))).collect();
    (!all.is_empty()).then_some(Value::Object(all))
}

/// A variable that was copied.
pub struct Recorded<'a> {
    pub name: &'a str,
    pub attributes: &'a [Attribute],
    /// Whether it has chunks of a fixed shape.
    pub chunked: bool,
    /// How many groups above it each of its dimensions is, where their names do not tell.
    pub above: &'a [u64],
}

/// A group's record.
pub fn of_group(classic: bool, dims: &[Dim], variables: &[Recorded<'_>], groups: &[&str], attributes: &[Attribute]) -> Value {
    let dim = |d: &Dim| {
        let value = if d.unlimited { object([("unlimited", Some(true.into()))]) } else { object([("size", Some(d.length.into()))]) };
        (d.name.clone(), value)
    };
    let variable = |v: &Recorded<'_>| {
        let fill = v.attributes.iter().any(|a| a.name == FILL).then(|| true.into());
        let above = (!v.above.is_empty()).then(|| Value::from_iter(v.above.iter().map(|&n| Value::from(n))));
        let members = [("chunked", v.chunked.then(|| true.into())), ("fill", fill), ("types", types(v.attributes, true)), ("above", above)];
        (v.name.to_string(), object(members))
    };
    object([
        ("version", Some(1.into())),
        ("classic", classic.then(|| true.into())),
        ("dimensions", Some(Value::Object(dims.iter().map(dim).collect()))),
        ("variables", Some(Value::Object(variables.iter().map(variable).collect()))),
        ("groups", Some(Value::from_iter(groups.iter().map(|&name| Value::from(name))))),
        ("types", types(attributes, false)),
    ])
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Value {
    Value::Object(members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}
