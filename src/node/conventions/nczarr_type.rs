//! The types that attributes have in netCDF, which NCZarr's keys tell of.
//! Convention: netCDF-C, "NetCDF-4 Zarr Implementation" (checklist NZ-08).

use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Kind};
use crate::metadata::{Map, Value};

/// The type of NCZarr's own keys. netCDF-C reads no attribute of a node where another one has it.
pub(super) const JSON: &str = "|J0";
/// The type of texts, and of JSON that is no number: netCDF-C reads it as its text.
const CHARS: &str = ">S1";
/// The type of a list of texts, with netCDF's default of their length.
const STRINGS: &str = "|S128";

/// The names that netCDF-C reads as real numbers, in any case of their letters.
const NOT_FINITE: [&str; 7] = ["NaN", "-NaN", "NaNf", "Infinity", "-Infinity", "Infinityf", "-Infinityf"];

/// What the type of an attribute or variable is in netCDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NcType {
    /// `NC_CHAR`.
    Char,
    /// `NC_STRING`.
    String,
    /// Any JSON.
    Json,
    /// A number of that type.
    Number(DataType),
}

impl NcType {
    /// The type of one attribute, as `_nczarr_attr` has it (NZ-08).
    pub fn parse(text: &str) -> Option<NcType> {
        let (order, rest) = text.split_at_checked(1)?;
        match (order, rest) {
            (">", "S1") => Some(NcType::Char),
            (_, "J0") => Some(NcType::Json),
            (_, rest) if rest.starts_with('S') => Some(NcType::String),
            _ => {
                // One writer has numbers in "the order of this host".
                let plain = format!("{}{rest}", if order == "|" || order == "=" { "<" } else { order });
                let element = crate::dtype::parse_v2::parse(&plain.as_str().into()).ok()?;
                element.data_type.is_number().then_some(NcType::Number(element.data_type))
            }
        }
    }

    /// The name of the type: `char`, `string`, `json`, or that of a number.
    pub fn name(&self) -> String {
        match self {
            NcType::Char => "char".into(),
            NcType::String => "string".into(),
            NcType::Json => "json".into(),
            NcType::Number(data_type) => data_type.name().into(),
        }
    }
}

/// The types that attributes of a node are known to have.
pub(super) enum Types {
    /// In NCZarr's keys.
    Known(Map),
    /// In the record of libozarr_netcdf, which has those alone that JSON does not say.
    Recorded(Map),
}

impl Types {
    /// The type of an attribute as the keys are to have it.
    pub fn of<'a>(&'a self, name: &str, value: &Value) -> &'a str {
        let (Types::Known(all) | Types::Recorded(all)) = self;
        let found = all.get(name).and_then(Value::as_str).filter(|text| fits(text, value));
        found.unwrap_or_else(|| match (self, type_of(value)) {
            (Types::Recorded(_), "<i4") => "<i8",
            (_, other) => other,
        })
    }
}

/// Whether a value can be of the type that was written for it, so that netCDF reads it unchanged.
fn fits(text: &str, value: &Value) -> bool {
    let items = match value {
        Value::Array(items) if !items.is_empty() => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    match NcType::parse(text) {
        Some(NcType::Number(data_type)) => items.iter().all(|item| holds(data_type, item)),
        Some(NcType::Char) => type_of(value) == CHARS,
        Some(NcType::String) => items.iter().all(is_text),
        Some(NcType::Json) | None => false,
    }
}

fn is_text(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::HalfPairs(_))
}

/// Whether a type of numbers has a number: integers exactly, real ones rounded. NaN and the infinities are texts to netCDF, too.
fn holds(data_type: DataType, value: &Value) -> bool {
    let is_real = data_type.kind() == Kind::Float;
    let is_in_range = |n: f64| !n.is_finite() || data_type.size() == 8 || (n as f32).is_finite();
    match value {
        Value::String(text) => is_real && NOT_FINITE.iter().any(|name| text.eq_ignore_ascii_case(name)),
        Value::Number(number) if is_real => number.text().parse().is_ok_and(is_in_range),
        Value::Number(_) => Fill::from_json_v3(data_type, value).is_ok(),
        Value::Bool(_) => !is_real,
        _ => false,
    }
}

/// The type that an attribute is given: text is characters, a list of texts strings, true and false are 1 and 0, and numbers have the least type
/// that holds all of them. netCDF-C reads what else JSON has as characters.
fn type_of(value: &Value) -> &'static str {
    let integer = |value: &Value| match (value.as_i64(), value.as_u64()) {
        (Some(n), _) if i32::try_from(n).is_ok() => Some("<i4"),
        (Some(_), _) => Some("<i8"),
        (None, Some(_)) => Some("<u8"),
        (None, None) => None,
    };
    let number = |value: &Value| value.is_number().then(|| integer(value).unwrap_or("<f8"));
    match value {
        Value::Bool(_) => "<u1",
        Value::Number(_) => number(value).unwrap_or("<f8"),
        Value::Array(items) if !items.is_empty() => {
            let types: Option<Vec<&'static str>> = items.iter().map(number).collect();
            let widest = ["<f8", "<u8", "<i8", "<i4"];
            let other = if items.iter().all(is_text) { STRINGS } else { CHARS };
            types.and_then(|types| widest.into_iter().find(|t| types.contains(t))).unwrap_or(other)
        }
        _ => CHARS,
    }
}

/// A type by its name in netCDF; `None` for those whose values tell it, and those that a program has defined.
pub(super) fn of_netcdf(name: &str) -> Option<&'static str> {
    Some(match name {
        "byte" => "<i1",
        "ubyte" => "<u1",
        "short" => "<i2",
        "ushort" => "<u2",
        "int" => "<i4",
        "uint" => "<u4",
        "uint64" => "<u8",
        "float" => "<f4",
        "double" => "<f8",
        "string" => STRINGS,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::json;

    #[test]
    fn a_type_is_kept_where_netcdf_reads_the_same_value_by_it() {
        let cases = [
            ("<f4", r#""NaN""#, "<f4"),
            ("<f8", r#""-Infinity""#, "<f8"),
            ("<f8", r#"["NaN", 1.5]"#, "<f8"),
            ("<f8", r#""some text""#, ">S1"),
            ("<f8", r#"["NaN", "text"]"#, "|S128"),
            ("<i4", r#""NaN""#, ">S1"),
            ("<f4", "0.1", "<f4"),
            ("<f4", "1", "<f4"),
            ("<f4", "1e300", "<f8"),
            ("<i2", "-5", "<i2"),
            ("<i2", "[1, -2]", "<i2"),
            ("<i4", "5.5", "<f8"),
            ("<i4", "[1, 0.5]", "<f8"),
            ("<i4", "5000000000", "<i8"),
            ("<i1", "300", "<i4"),
            ("<u4", "-1", "<i4"),
            ("<u8", "18446744073709551615", "<u8"),
            ("|S7", r#"["a", "b"]"#, "|S7"),
            ("|S7", r#""a""#, "|S7"),
            ("|S7", r#"["a", 1]"#, ">S1"),
            ("|S7", "1", "<i4"),
            (">S1", r#""a""#, ">S1"),
            (">S1", r#"["a", "b"]"#, "|S128"),
            (">S1", r#"{"a": 1}"#, ">S1"),
            ("|J0", r#"["a", "b"]"#, "|S128"),
            ("|J0", r#"{"a": 1}"#, ">S1"),
            ("|J0", "null", ">S1"),
            ("|J0", "true", "<u1"),
            ("<i4", "true", "<i4"),
            ("<f8", "true", "<u1"),
            ("|J0", "1", "<i4"),
            ("", r#"["a", "b"]"#, "|S128"),
            ("", "[]", ">S1"),
        ];
        for (known, value, want) in cases {
            let parsed = json::parse_text(value).unwrap();
            let found = if fits(known, &parsed) { known } else { type_of(&parsed) };
            assert_eq!(found, want, "{known} {value}");
        }
    }
}
