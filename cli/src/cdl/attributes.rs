//! Attributes as netCDF has them: with types, which JSON does not say. The rules are those of this library's format of netCDF.

use super::token::{NcType, Number, push_quoted};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ozarr::node::{Map, NcType as Recorded, Value, json};

/// The attribute with the value of elements that are missing.
pub const FILL: &str = "_FillValue";

/// The name by which a store has that of text where xarray would not open it with the other one.
const TEXT_FILL: &str = "_nc_fill_value";

/// The values of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Chars(Vec<u8>),
    Strings(Vec<String>),
    Numbers(NcType, Vec<Number>),
}

/// An attribute.
#[derive(Debug)]
pub struct Attribute {
    pub name: String,
    pub values: Values,
}

impl Attribute {
    /// Appends the values as CDL has them behind the equals sign; ncdump breaks text behind the ends of its lines in files of the classic model.
    pub fn push(&self, out: &mut Vec<u8>, classic: bool) {
        let list = |out: &mut Vec<u8>, n: usize, push: &dyn Fn(&mut Vec<u8>, usize)| {
            for i in 0..n {
                out.extend_from_slice(if i > 0 { b", " } else { b"" });
                push(out, i);
            }
        };
        match &self.values {
            Values::Chars(text) if classic => {
                for (i, line) in trimmed(text).split(|&b| b == b'\n').enumerate() {
                    out.extend_from_slice(if i > 0 { b"\\n\",\n\t\t\t" } else { b"" });
                    push_quoted(out, line, false);
                    out.truncate(out.len() - 1);
                }
                out.push(b'"');
            }
            Values::Chars(text) => push_quoted(out, trimmed(text), false),
            Values::Numbers(_, numbers) if numbers.is_empty() => out.extend_from_slice(b"\"\""),
            Values::Numbers(nc, numbers) => list(out, numbers.len(), &|out, i| nc.push_attribute(out, numbers[i])),
            Values::Strings(all) => list(out, all.len(), &|out, i| push_quoted(out, all[i].as_bytes(), false)),
        }
    }
}

/// Text without the NULs at its end.
pub fn trimmed(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    &text[..end]
}

/// The attributes of a node. `types` tells the type that is recorded for a name; `variable` is the type of the node's elements, if it is
/// an array.
pub fn read(attributes: &Map, types: &dyn Fn(&str) -> Option<NcType>, variable: Option<NcType>) -> Vec<Attribute> {
    let one = |name: &str, value: &Value| {
        let name = if name == TEXT_FILL && variable.is_some() { FILL } else { name };
        let fill = variable.filter(|_| name == FILL);
        let values = match (fill, value) {
            (Some(nc), Value::String(text)) if nc != NcType::String => fill_of_text(nc, text),
            // Of unsigned bytes others have the number that is meant.
            (Some(nc), _) => typed(value, Some(nc), true),
            _ => typed(value, types(name), false),
        };
        Attribute { name: name.to_string(), values }
    };
    let known = attributes.iter().filter(|(name, _)| variable.is_none() || *name != TEXT_FILL || !attributes.contains_key(FILL));
    known.map(|(name, value)| one(name, value)).collect()
}

/// A type as NCZarr records it; what has no type of its own is guessed.
pub fn of_nczarr(recorded: &Recorded) -> Option<NcType> {
    match recorded {
        Recorded::String => Some(NcType::String),
        Recorded::Number(data_type) => NcType::of_numbers(data_type.native()),
        Recorded::Char | Recorded::Json => None,
    }
}

/// A fill value that is text: base64 of a double, or of a character, as xarray has it; or the name of a number that is not finite.
fn fill_of_text(nc: NcType, text: &str) -> Values {
    let bytes = STANDARD.decode(text).unwrap_or_default();
    if nc == NcType::Char {
        let first = if bytes.len() == 1 { bytes.first() } else { text.as_bytes().first() };
        return Values::Chars(first.copied().into_iter().collect());
    }
    let real = match <[u8; 8]>::try_from(bytes) {
        Ok(bytes) => f64::from_le_bytes(bytes),
        Err(_) => text.parse().unwrap_or(0.0),
    };
    Values::Numbers(nc, vec![nc.convert(Number::Real(real))])
}

fn typed(value: &Value, recorded: Option<NcType>, wraps: bool) -> Values {
    let nc = recorded.filter(|&nc| fits(value, nc, wraps)).unwrap_or_else(|| guessed(value));
    let items = value.as_array().unwrap_or(std::slice::from_ref(value));
    match nc {
        NcType::Char => Values::Chars(bytes(value).unwrap_or_else(|| json::to_compact(value).into_bytes())),
        NcType::String => Values::Strings(items.iter().map(|v| v.as_str().unwrap_or_default().to_string()).collect()),
        nc => Values::Numbers(nc, items.iter().filter_map(number).map(|n| nc.convert(n)).collect()),
    }
}

/// The bytes of a text: those that are no UTF-8 are stored as a list of numbers.
fn bytes(value: &Value) -> Option<Vec<u8>> {
    let items = match value.as_str() {
        Some(text) => return Some(text.as_bytes().to_vec()),
        None => value.as_array().filter(|items| !items.is_empty())?,
    };
    items.iter().map(|item| item.as_u64()?.try_into().ok()).collect()
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Bool(b) => Some(Number::Integer((*b).into())),
        Value::Number(n) => {
            let text = n.text();
            text.parse().map(Number::Integer).ok().or_else(|| text.parse().map(Number::Real).ok())
        }
        _ => None,
    }
}

/// Whether a value can be of a type, so that a wrong record does no harm; numbers that the type does not have are, where it wraps them.
fn fits(value: &Value, nc: NcType, wraps: bool) -> bool {
    let items = value.as_array().unwrap_or(std::slice::from_ref(value));
    match nc {
        NcType::Char => true,
        NcType::String => items.iter().all(|v| v.is_string() || v.is_null()),
        _ => items.iter().all(|v| number(v).is_some_and(|n| wraps || nc.holds(n))),
    }
}

/// The type of a value for which none is recorded.
fn guessed(value: &Value) -> NcType {
    let Some(items) = value.as_array() else {
        return match (value, number(value)) {
            (Value::Bool(_), _) => NcType::Byte,
            (_, Some(number)) => of_number(number),
            _ => NcType::Char,
        };
    };
    if !items.is_empty() && items.iter().all(Value::is_string) {
        return NcType::String;
    }
    if !items.is_empty() && items.iter().all(|item| matches!(item, Value::Bool(_))) {
        return NcType::Byte;
    }
    let mut found = NcType::Int64;
    for item in items {
        match (item.is_number(), number(item).map(of_number)) {
            (true, Some(NcType::Double)) => found = NcType::Double,
            (true, Some(NcType::UInt64)) if found == NcType::Int64 => found = NcType::UInt64,
            (true, Some(_)) => {}
            _ => return NcType::Char,
        }
    }
    found
}

fn of_number(number: Number) -> NcType {
    match number {
        Number::Integer(n) if i64::try_from(n).is_ok() => NcType::Int64,
        Number::Integer(n) if u64::try_from(n).is_ok() => NcType::UInt64,
        _ => NcType::Double,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_becomes_what_netcdf_can_say() {
        let cases: &[(&str, Option<NcType>, &str)] = &[
            ("\"K\"", None, "\"K\""),
            ("3", None, "3LL"),
            ("3", Some(NcType::Short), "3s"),
            ("3.0", None, "3."),
            ("[1, 2.5]", None, "1., 2.5"),
            ("[1, 9223372036854775808]", None, "1ULL, 9223372036854775808ULL"),
            ("-9223372036854775809", None, "-9.22337203685478e+18"),
            ("[\"a\", \"b\"]", None, "\"a\", \"b\""),
            ("[\"a\", 1]", None, r#""[\"a\",1]""#),
            ("[\"a\", 1]", Some(NcType::Float), r#""[\"a\",1]""#),
            ("true", None, "1b"),
            ("[true, false]", None, "1b, 0b"),
            ("[true, 1]", None, "\"[true,1]\""),
            ("[true, 1]", Some(NcType::Short), "1s, 1s"),
            ("70000", Some(NcType::Short), "70000LL"),
            ("[0, 254]", Some(NcType::Byte), "0LL, 254LL"),
            ("[-128, 127]", Some(NcType::Byte), "-128b, 127b"),
            ("-1", Some(NcType::UInt64), "-1LL"),
            ("18446744073709551615", Some(NcType::Int64), "18446744073709551615ULL"),
            ("18446744073709551615", Some(NcType::UInt64), "18446744073709551615ULL"),
            ("1.5", Some(NcType::Int), "1.5"),
            ("-5.0", Some(NcType::Short), "-5s"),
            ("1e40", Some(NcType::Int64), "1.e+40"),
            ("1e40", Some(NcType::Float), "1.e+40"),
            ("0.1", Some(NcType::Float), "0.1f"),
            ("16777217", Some(NcType::Float), "1.677722e+07f"),
            ("[1, 300]", Some(NcType::Char), "\"[1,300]\""),
            ("123456789012345678901234567890", None, "1.23456789012346e+29"),
            ("[]", None, "\"\""),
            ("null", None, "\"null\""),
            ("{\"a\": 1}", None, r#""{\"a\":1}""#),
            ("[104, 255]", Some(NcType::Char), "\"h\u{fffd}\""),
        ];
        for (text, recorded, want) in cases {
            let value = json::parse_text(text).unwrap_or_else(|e| panic!("{e}"));
            let mut out = Vec::new();
            Attribute { name: String::new(), values: typed(&value, *recorded, false) }.push(&mut out, false);
            assert_eq!(String::from_utf8_lossy(&out), *want, "{text}");
        }
    }

    #[test]
    fn the_fill_value_of_text_has_a_name_of_its_own_in_the_store() {
        for (stored, want) in [
            (r#"{"_nc_fill_value": "LQ=="}"#, "-"),
            (r#"{"_nc_fill_value": "*"}"#, "*"),
            (r#"{"_nc_fill_value": "LQ==", "_FillValue": "*"}"#, "*"),
        ] {
            let found = read(&json::parse_object(stored.as_bytes(), usize::MAX).unwrap(), &|_| None, Some(NcType::Char));
            let found: Vec<_> = found.into_iter().map(|a| (a.name, a.values)).collect();
            assert_eq!(found, [(FILL.to_string(), Values::Chars(want.into()))], "{stored}");
        }
    }

    #[test]
    fn the_fill_value_of_a_variable_has_its_type() {
        let found = read(&json::parse_object(br#"{"_FillValue": 255}"#, usize::MAX).unwrap(), &|_| None, Some(NcType::Byte));
        assert_eq!(found[0].values, Values::Numbers(NcType::Byte, vec![Number::Integer(-1)]));
    }

    #[test]
    fn fill_values_are_base64_or_text() {
        let fill = |nc, text| fill_of_text(nc, text);
        assert_eq!(fill(NcType::Float, "AAAAAAAAIsA="), Values::Numbers(NcType::Float, vec![Number::Real(-9.0)]));
        assert_eq!(fill(NcType::Double, "NaN"), Values::Numbers(NcType::Double, vec![Number::Real(f64::NAN)]));
        assert_eq!(fill(NcType::Char, "*"), Values::Chars(b"*".to_vec()));
        assert_eq!(fill(NcType::Char, "Kg=="), Values::Chars(b"*".to_vec()));
    }
}
