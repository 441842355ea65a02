//! Elements as text: JSON and CSV.

use crate::info::text_for_non_finite;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ozarr::dtype::fill::Fill;
use ozarr::dtype::{DataType, Field, Kind, Struct};
use ozarr::node::{Value, json};
use std::fmt::Write;

/// A form of text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `"NaN"`, `[0.5, -1.0]`.
    Json,
    /// `nan`, `0.5-1.0j`: what numpy and pandas read.
    Csv,
}

/// The type as which elements are read to be printed: a float16 or a narrower one prints as the float32 that it is, an int4 as an int8.
pub fn printed_as(data_type: DataType) -> DataType {
    match data_type {
        DataType::Float16 | DataType::Narrow(_) => DataType::Float32,
        DataType::ComplexNarrow(_) => DataType::Complex64,
        _ if data_type.bits() < 8 && data_type.kind() == Kind::Int => DataType::Int8,
        _ if data_type.bits() < 8 && data_type.kind() == Kind::UInt => DataType::UInt8,
        _ => data_type,
    }
}

/// Appends one element (of a type that [`printed_as`] gives), its bytes in native order.
pub fn push(out: &mut String, form: Form, data_type: DataType, bytes: &[u8]) {
    use DataType::*;
    // Writing to a string cannot fail.
    let _ = match data_type {
        Bool => write!(out, "{}", bytes.first().is_some_and(|&b| b != 0)),
        Int8 => write!(out, "{}", i8::from_ne_bytes(first(bytes))),
        Int16 => write!(out, "{}", i16::from_ne_bytes(first(bytes))),
        Int32 => write!(out, "{}", i32::from_ne_bytes(first(bytes))),
        Int64 => write!(out, "{}", i64::from_ne_bytes(first(bytes))),
        UInt8 => write!(out, "{}", u8::from_ne_bytes(first(bytes))),
        UInt16 | Float16 => write!(out, "{}", u16::from_ne_bytes(first(bytes))),
        UInt32 => write!(out, "{}", u32::from_ne_bytes(first(bytes))),
        UInt64 => write!(out, "{}", u64::from_ne_bytes(first(bytes))),
        Float32 => float(out, form, f32::from_ne_bytes(first(bytes))),
        Float64 => float(out, form, f64::from_ne_bytes(first(bytes))),
        Complex64 => complex(out, form, f32::from_ne_bytes(first(bytes)), f32::from_ne_bytes(first(&bytes[4..]))),
        Complex128 => complex(out, form, f64::from_ne_bytes(first(bytes)), f64::from_ne_bytes(first(&bytes[8..]))),
        Bytes(_) => text(out, form, &String::from_utf8_lossy(bytes)),
        Text(_) => text(out, form, &bytes.chunks_exact(4).map(code_point).collect::<String>()),
        Raw(_) => text(out, form, &bytes.iter().fold("0x".to_string(), |hex, b| format!("{hex}{b:02x}"))),
        DateTime(_) | TimeDelta(_) => match i64::from_ne_bytes(first(bytes)) {
            i64::MIN => text(out, form, "NaT"),
            count => write!(out, "{count}"),
        },
        VarText => whole_text(out, form, &String::from_utf8_lossy(bytes)),
        VarBytes => whole_text(out, form, &STANDARD.encode(bytes)),
        VarJson if form == Form::Json => stored_json(out, &String::from_utf8_lossy(bytes)),
        VarJson => whole_text(out, form, &String::from_utf8_lossy(bytes)),
        VarArray(number) => list(out, form, *number, bytes),
        Struct(s) if form == Form::Json => {
            structure(out, s, bytes);
            Ok(())
        }
        Struct(s) => {
            let mut object = String::new();
            structure(&mut object, s, bytes);
            text(out, form, &object)
        }
        _ => text(out, form, &bytes.iter().fold("0x".to_string(), |hex, b| format!("{hex}{b:02x}"))),
    };
}

/// JSON as it is stored. Other writers store bare NaN and infinities, for which JSON has no form; what is no JSON at all is shown as a text.
fn stored_json(out: &mut String, text: &str) -> std::fmt::Result {
    if json::parse_text(text).is_ok() {
        return out.write_str(text);
    }
    match json::parse_given(text) {
        Ok(value) => out.write_str(&json::to_compact(&text_for_non_finite(value))),
        Err(_) => whole_text(out, Form::Json, text),
    }
}

/// A JSON object of the fields.
fn structure(out: &mut String, s: &Struct, bytes: &[u8]) {
    out.push('{');
    for (i, field) in s.fields().iter().filter(|f| !f.name.is_empty()).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push_str(&Value::from(field.name.as_str()).to_string());
        out.push_str(": ");
        let place = bytes.get(field.offset..field.offset + field.size()).unwrap_or_default();
        values(out, field, &field.shape, place);
    }
    out.push('}');
}

/// The values of a field: lists in lists where it has a shape.
fn values(out: &mut String, field: &Field, shape: &[u64], bytes: &[u8]) {
    let Some((&n, rest)) = shape.split_first() else {
        return match field.element.data_type {
            DataType::Float16 => {
                // A number has a form in JSON.
                let number = Fill::from_bytes(bytes).to_json_v3(DataType::Float16).unwrap_or_default();
                out.push_str(&number.to_string());
            }
            other => push(out, Form::Json, other, bytes),
        };
    };
    out.push('[');
    let step = (bytes.len() / n.max(1) as usize).max(1);
    for (i, part) in bytes.chunks(step).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        values(out, field, rest, part);
    }
    out.push(']');
}

/// A string without the NULs that pad it.
fn text(out: &mut String, form: Form, text: &str) -> std::fmt::Result {
    whole_text(out, form, text.trim_end_matches('\0'))
}

/// Numbers in brackets; in CSV one field. Nobody knows there which type they have, so a narrow float has the digits of its value as a
/// double: a reader of JSON gets the very number.
fn list(out: &mut String, form: Form, number: DataType, bytes: &[u8]) -> std::fmt::Result {
    let mut all = String::from("[");
    for (i, element) in bytes.chunks_exact(number.size()).enumerate() {
        all.push_str(if i > 0 { ", " } else { "" });
        match number {
            DataType::Float16 => float(&mut all, Form::Json, half(element).wide())?,
            DataType::Float32 => float(&mut all, Form::Json, f32::from_ne_bytes(first(element)).wide())?,
            _ => push(&mut all, Form::Json, number, element),
        }
    }
    all.push(']');
    if form == Form::Json { out.write_str(&all) } else { whole_text(out, form, &all) }
}

/// A binary16 as a number that prints.
fn half(bytes: &[u8]) -> f32 {
    let bits = u16::from_ne_bytes(first(bytes));
    let (sign, exponent, mantissa) = (if bits >> 15 == 1 { -1.0 } else { 1.0 }, i32::from(bits >> 10 & 31), f32::from(bits & 1023));
    sign * match exponent {
        0 => mantissa * 2f32.powi(-24),
        31 if mantissa == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + mantissa) * 2f32.powi(exponent - 25),
    }
}

fn whole_text(out: &mut String, form: Form, text: &str) -> std::fmt::Result {
    match form {
        Form::Json => write!(out, "{}", Value::from(text)),
        Form::Csv if text.contains(['"', ',', '\n', '\r']) => write!(out, "\"{}\"", text.replace('"', "\"\"")),
        Form::Csv => out.write_str(text),
    }
}

/// A code point; what is none, as numpy may hold it, is the replacement character.
fn code_point(bytes: &[u8]) -> char {
    char::from_u32(u32::from_ne_bytes(first(bytes))).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A float; its shortest digits that give the same bits.
trait Float: Copy {
    fn wide(self) -> f64;
    fn digits(self, out: &mut String) -> std::fmt::Result;
}

impl Float for f32 {
    fn wide(self) -> f64 {
        self.into()
    }
    fn digits(self, out: &mut String) -> std::fmt::Result {
        out.write_str(&json::Number::from_f32(self).text())
    }
}

impl Float for f64 {
    fn wide(self) -> f64 {
        self
    }
    fn digits(self, out: &mut String) -> std::fmt::Result {
        write!(out, "{self:?}")
    }
}

fn float(out: &mut String, form: Form, x: impl Float) -> std::fmt::Result {
    let wide = x.wide();
    let (json, csv) = match (wide.is_nan(), wide.is_infinite(), wide > 0.0) {
        (true, ..) => ("\"NaN\"", "nan"),
        (_, true, true) => ("\"Infinity\"", "inf"),
        (_, true, false) => ("\"-Infinity\"", "-inf"),
        _ => return x.digits(out),
    };
    out.write_str(if form == Form::Json { json } else { csv })
}

fn complex<F: Float>(out: &mut String, form: Form, re: F, im: F) -> std::fmt::Result {
    if form == Form::Json {
        out.push('[');
        float(out, form, re)?;
        out.push_str(", ");
        float(out, form, im)?;
        out.push(']');
        return Ok(());
    }
    float(out, form, re)?;
    if !im.wide().is_sign_negative() || im.wide().is_nan() {
        out.push('+');
    }
    float(out, form, im)?;
    out.push('j');
    Ok(())
}

/// The first bytes of an element, which has them.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|i| bytes.get(i).copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_numbers_print_as_wider_ones() {
        for t in DataType::numbers() {
            let wide = printed_as(t);
            assert_eq!(wide.kind(), t.kind());
            assert!(wide == t || wide.size() >= t.size() && DataType::NUMPY.contains(&wide), "{t:?}");
            assert!(t.bits() >= 8 || wide != t || t == DataType::Bool, "{t:?}");
        }
    }

    #[test]
    fn elements_have_their_text_in_both_forms() {
        let pair = |a: f64, b: f64| [a.to_ne_bytes(), b.to_ne_bytes()].concat();
        let npy = |name: &str| ozarr::dtype::parse_v2::parse(&Value::from(name)).unwrap().data_type;
        let structured = |list: &str| ozarr::dtype::parse_v2::parse(&ozarr::node::json::parse_text(list).unwrap()).unwrap().data_type;
        let cases: &[(DataType, Vec<u8>, &str, &str)] = &[
            (DataType::Bool, vec![2], "true", "true"),
            (DataType::Int8, vec![0x80], "-128", "-128"),
            (DataType::UInt64, u64::MAX.to_ne_bytes().into(), "18446744073709551615", "18446744073709551615"),
            (DataType::Float32, 0.1f32.to_ne_bytes().into(), "0.1", "0.1"),
            // Of 7.038531e-26 the nearest double is rounded to another float32.
            (DataType::Float32, 0x15ae_43fdu32.to_ne_bytes().into(), "7.038530691851209e-26", "7.038530691851209e-26"),
            (DataType::Float64, 1e300f64.to_ne_bytes().into(), "1e300", "1e300"),
            (DataType::Float64, (-0.0f64).to_ne_bytes().into(), "-0.0", "-0.0"),
            (DataType::Float64, f64::NAN.to_ne_bytes().into(), "\"NaN\"", "nan"),
            (DataType::Float32, f32::NEG_INFINITY.to_ne_bytes().into(), "\"-Infinity\"", "-inf"),
            (DataType::Bytes(5), b"a\"b,\0".to_vec(), r#""a\"b,""#, r#""a""b,""#),
            (DataType::Text(2), vec![0xe9, 0, 0, 0, 0, 0, 0, 0], "\"é\"", "é"),
            (DataType::VarText, "a\"b\0".into(), r#""a\"b\u0000""#, "\"a\"\"b\0\""),
            (DataType::VarBytes, vec![255, 0], "\"/wA=\"", "/wA="),
            (DataType::VarJson, b"[1,null]".to_vec(), "[1,null]", "\"[1,null]\""),
            (DataType::VarJson, b"{\"a\":[NaN,-Infinity]}".to_vec(), r#"{"a":["NaN","-Infinity"]}"#, r#""{""a"":[NaN,-Infinity]}""#),
            (DataType::VarJson, b"[1".to_vec(), "\"[1\"", "[1"),
            (DataType::VarArray(&DataType::Int16), vec![1, 0, 254, 255], "[1, -2]", "\"[1, -2]\""),
            (
                DataType::VarArray(&DataType::Float16),
                vec![0, 0xc0, 1, 0],
                "[-2.0, 5.960464477539063e-8]",
                "\"[-2.0, 5.960464477539063e-8]\"",
            ),
            (DataType::VarArray(&DataType::Float16), vec![1, 0x7e], "[\"NaN\"]", "\"[\"\"NaN\"\"]\""),
            (DataType::VarArray(&DataType::Float32), 0.1f32.to_ne_bytes().into(), "[0.10000000149011612]", "[0.10000000149011612]"),
            (DataType::Raw(2), vec![1, 255], "\"0x01ff\"", "0x01ff"),
            (npy("<M8[s]"), (-1i64).to_ne_bytes().into(), "-1", "-1"),
            (npy("<m8[ns]"), i64::MIN.to_ne_bytes().into(), "\"NaT\"", "NaT"),
            (
                structured(r#"[["x","<f4"],["n",[["s","|S2"],["h","<f2",[2]]]],["","|V1"]]"#),
                vec![0, 0, 0xc0, 0x3f, b'a', 0, 0, 0x3c, 0, 0x7e, 7],
                r#"{"x": 1.5, "n": {"s": "a", "h": [1.0, "NaN"]}}"#,
                r#""{""x"": 1.5, ""n"": {""s"": ""a"", ""h"": [1.0, ""NaN""]}}""#,
            ),
            (DataType::Complex128, pair(0.5, -1.0), "[0.5, -1.0]", "0.5-1.0j"),
            (DataType::Complex128, pair(f64::INFINITY, f64::NAN), "[\"Infinity\", \"NaN\"]", "inf+nanj"),
        ];
        for (data_type, bytes, json, csv) in cases {
            for (form, want) in [(Form::Json, json), (Form::Csv, csv)] {
                let mut text = String::new();
                push(&mut text, form, *data_type, bytes);
                assert_eq!(text, **want);
            }
        }
    }
}
