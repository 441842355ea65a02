//! Descriptions of data types, as users give them: exactly one type, or an error that names the candidates.
//!
//! Specification: zarr-python's "Data Type Resolution": v2 texts and lists (`>M8[10s]`, `[["x", "<f8"]]`), v3 names and objects
//! (`{"name": "numpy.datetime64", …}`), and where no version is given also C's and NumPy's names (`double`, `int32_t`, `f8`).

use super::fill::Fill;
use super::{ByteOrder, DataType, ElementType, Kind, parse_v2, parse_v3};
use crate::error::{ErrorKind, Result, bail};
use crate::json::{Value, brief};
use crate::limits::told;

/// In which words a type is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// Those of v2, v3, C and NumPy.
    Any,
    /// The `dtype` of a `.zarray`: a text or a list of fields.
    V2,
    /// The `data_type` of a `zarr.json`: a name or an object.
    V3,
}

/// The one type that the text describes: JSON, or a bare name. `Argument` for texts that fit several types, or are no JSON;
/// `Metadata` and `Unsupported` as for documents.
pub fn parse(text: &str, grammar: Grammar) -> Result<ElementType> {
    let text = text.trim();
    let value = match text.chars().next() {
        Some('[' | '{' | '"') => {
            crate::json::parse_text(text).map_err(|e| told(e, ErrorKind::Argument, |why| format!("the data type is no JSON: {why}")))?
        }
        _ => Value::from(text),
    };
    match (grammar, &value) {
        (Grammar::V2, Value::Object(_)) => bail!(Metadata, "found {}, expected a text or a list, as zarr_format 2 has", brief(&value)),
        (Grammar::V3, Value::Array(_)) => bail!(Metadata, "found {}, expected a name or an object, as zarr_format 3 has", brief(&value)),
        (Grammar::V2, _) | (_, Value::Array(_)) => parse_v2::parse(&value),
        (Grammar::V3, _) | (_, Value::Object(_)) => parse_v3::parse(&value).map(ElementType::native),
        (Grammar::Any, Value::String(name)) => parse_any(name),
        _ => bail!(Metadata, "found {}, expected a data type", brief(&value)),
    }
}

fn parse_any(name: &str) -> Result<ElementType> {
    let value = Value::from(name);
    let (v2, v3) = (parse_v2::parse(&value), parse_v3::parse(&value).map(ElementType::native));
    let mut found: Vec<ElementType> = Vec::new();
    for element in v2.iter().chain(&v3).copied().chain(other_names(name)) {
        if !found.contains(&element) {
            found.push(element);
        }
    }
    match found.as_slice() {
        [one] => Ok(*one),
        [] if name.starts_with(['<', '>', '|', '=']) => v2,
        [] => v3,
        several => {
            let names: Vec<String> = several.iter().map(|e| format!("{} ({})", parse_v2::text(*e), e.data_type.name())).collect();
            bail!(Argument, "the data type {} may be any of {}", brief(&value), names.join(", "))
        }
    }
}

/// C's names, and NumPy's without a byte order. Those whose width differs between machines or languages have several types.
fn other_names(name: &str) -> Vec<ElementType> {
    use DataType::*;
    let types: &[DataType] = match name {
        "_Bool" => &[Bool],
        "char" => &[Int8, Bytes(1)],
        "int8_t" | "signed char" => &[Int8],
        "int16_t" | "short" => &[Int16],
        "int32_t" => &[Int32],
        "int64_t" | "long long" => &[Int64],
        "int" | "long" | "integer" => &[Int32, Int64],
        "uint8_t" | "unsigned char" => &[UInt8],
        "uint16_t" | "unsigned short" => &[UInt16],
        "uint32_t" | "unsigned int" | "unsigned" => &[UInt32],
        "uint64_t" | "unsigned long long" | "size_t" => &[UInt64],
        "unsigned long" => &[UInt32, UInt64],
        "half" | "_Float16" => &[Float16],
        "float" => &[Float32],
        "double" => &[Float64],
        "real" => &[Float32, Float64],
        "float complex" | "float _Complex" | "complex float" => &[Complex64],
        "double complex" | "double _Complex" | "complex double" => &[Complex128],
        "complex" => &[Complex64, Complex128],
        _ => &[],
    };
    if !types.is_empty() {
        return types.iter().map(|&t| t.into()).collect();
    }
    let short = match name.split_once("64") {
        Some(("datetime", unit)) => format!("M8{unit}"),
        Some(("timedelta", unit)) => format!("m8{unit}"),
        _ => name.to_string(),
    };
    // A full name says nothing of an order: that of this machine. A short one leaves it open.
    let orders: &[char] = if short == name { &['<', '>'] } else { &['<'] };
    orders.iter().filter_map(|order| parse_v2::parse(&Value::from(format!("{order}{short}"))).ok()).collect()
}

/// The value of elements that nobody gave one: 0, false, no text, "not a time".
pub fn default_scalar(data_type: DataType) -> Fill {
    let data_type = data_type.in_memory();
    match data_type.kind() {
        Kind::Time => Fill::from_bytes(&i64::MIN.to_ne_bytes()),
        _ => Fill::zero(),
    }
}

/// How the bytes of an element are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orders {
    /// There is nothing to order.
    Unordered,
    /// All are in that order.
    All(ByteOrder),
    /// Fields of a struct differ.
    Mixed,
}

/// The order of the bytes of the type.
pub fn order_of(element: ElementType) -> Orders {
    match element.data_type {
        other if !other.has_order() => Orders::Unordered,
        DataType::Struct(_) => element.data_type.field_order().map_or(Orders::Mixed, Orders::All),
        _ => Orders::All(element.order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_description_is_one_type() {
        for (text, grammar, numpy) in [
            ("<f8", Grammar::Any, "<f8"),
            (">M8[10s]", Grammar::V2, ">M8[10s]"),
            ("\">i2\"", Grammar::V2, ">i2"),
            ("float64", Grammar::Any, "<f8"),
            (" double ", Grammar::Any, "<f8"),
            ("float", Grammar::Any, "<f4"),
            ("int32_t", Grammar::Any, "<i4"),
            ("size_t", Grammar::Any, "<u8"),
            ("double complex", Grammar::Any, "<c16"),
            ("complex64", Grammar::Any, "<c8"),
            ("bool", Grammar::Any, "|b1"),
            ("u1", Grammar::Any, "|u1"),
            ("S12", Grammar::Any, "|S12"),
            ("datetime64[10s]", Grammar::Any, "<M8[10s]"),
            ("timedelta64", Grammar::Any, "<m8"),
            ("r24", Grammar::Any, "|V3"),
            (r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":10}}"#, Grammar::V3, "<M8[10s]"),
            (r#"{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}"#, Grammar::Any, "<U2"),
        ] {
            let element = parse(text, grammar).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(parse_v2::text(element), numpy, "{text}");
        }
        let s = parse(r#"[["x", "<f8"], ["id", ">i4"]]"#, Grammar::Any).unwrap();
        assert_eq!((s.size(), order_of(s)), (12, Orders::Mixed));
        assert_eq!(order_of(parse(">i2", Grammar::V2).unwrap()), Orders::All(ByteOrder::Big));
        assert_eq!(order_of(parse("|S3", Grammar::V2).unwrap()), Orders::Unordered);
    }

    #[test]
    fn several_types_are_an_error_that_names_them() {
        for (text, names) in [
            ("int", ["<i4", "<i8"]),
            ("char", ["|i1", "|S1"]),
            ("f8", ["<f8", ">f8"]),
            ("M8[s]", ["<M8[s]", ">M8[s]"]),
            ("complex", ["<c8", "<c16"]),
        ] {
            let e = parse(text, Grammar::Any).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Argument, "{text}");
            assert!(names.iter().all(|n| e.message().contains(n)), "{e}");
        }
    }

    #[test]
    fn words_of_the_other_version_are_refused() {
        for (text, grammar, kind) in [
            (r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":10}}"#, Grammar::V2, ErrorKind::Metadata),
            (r#"[["x","<f8"]]"#, Grammar::V3, ErrorKind::Metadata),
            ("float64", Grammar::V2, ErrorKind::Unsupported),
            ("<f8", Grammar::V3, ErrorKind::Unsupported),
            ("double", Grammar::V3, ErrorKind::Unsupported),
            ("", Grammar::Any, ErrorKind::Unsupported),
            ("{", Grammar::Any, ErrorKind::Argument),
            ("<q8", Grammar::Any, ErrorKind::Metadata),
            ("quad", Grammar::Any, ErrorKind::Unsupported),
        ] {
            assert_eq!(parse(text, grammar).unwrap_err().kind(), kind, "{text}");
        }
    }

    #[test]
    fn defaults_are_zero_or_no_time() {
        let second = parse("<M8[s]", Grammar::V2).unwrap().data_type;
        assert_eq!(default_scalar(second).to_json_v3(second).unwrap(), Value::from("NaT"));
        assert_eq!(default_scalar(DataType::Text(3)).to_json_v2(DataType::Text(3)).unwrap(), Value::from(""));
        assert_eq!(default_scalar(DataType::Complex64).element(DataType::Complex64).to_vec(), [0; 8]);
    }
}
