//! Zarr v3 `data_type`: a name, or an object with a name and a configuration.
//! Specification: v3 core, "Data types", and the registry of extensions.

use super::DataType;
use super::fill::brief;
use crate::error::{Result, bail, err};
use serde_json::Value;

/// Names that the registry knows and this library does not read.
const KNOWN: &[&str] = &[
    "string",
    "bytes",
    "variable_length_bytes",
    "null_terminated_bytes",
    "fixed_length_utf32",
    "raw_bytes",
    "struct",
    "structured",
    "numpy.datetime64",
    "numpy.timedelta64",
    "bfloat16",
    "complex_bfloat16",
    "complex_float16",
    "int2",
    "int4",
    "uint2",
    "uint4",
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3b11fnuz",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
];

/// Reads the `data_type` member of a `zarr.json`. Other types than the core's are `Unsupported`, named.
pub fn parse(value: &Value) -> Result<DataType> {
    let object = match value {
        Value::String(name) => return by_name(name),
        Value::Object(object) => object,
        _ => bail!(Metadata, "found {}, expected the name of a data type", brief(value)),
    };
    let data_type = match object.get("name") {
        Some(Value::String(name)) => by_name(name)?,
        Some(other) => return Err(err!(Metadata, "found {}, expected a string", brief(other)).at_field("name")),
        None => return Err(err!(Metadata, "the member is missing").at_field("name")),
    };
    for (member, value) in object {
        match (member.as_str(), value) {
            ("name", _) | ("must_understand", Value::Bool(_)) | ("configuration", Value::Null) => {}
            ("configuration", Value::Object(c)) if c.is_empty() => {}
            ("configuration", _) => {
                return Err(
                    err!(Metadata, "found {}, expected nothing: {} has no parameters", brief(value), data_type.name()).at_field(member)
                );
            }
            _ => return Err(err!(Metadata, "unknown member beside the name {:?}", data_type.name()).at_field(member)),
        }
    }
    Ok(data_type)
}

fn by_name(name: &str) -> Result<DataType> {
    match name {
        "complex_float32" => return Ok(DataType::Complex64),
        "complex_float64" => return Ok(DataType::Complex128),
        _ => {}
    }
    if let Some(&data_type) = DataType::ALL.iter().find(|t| t.name() == name) {
        return Ok(data_type);
    }
    let raw = name.strip_prefix('r').is_some_and(|bits| !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit()));
    let state = if raw || KNOWN.contains(&name) { "supported" } else { "known" };
    bail!(Unsupported, "the data type {} is not {state}", brief(&Value::from(name)));
}

/// The `data_type` member for that type.
pub fn to_json(data_type: DataType) -> Value {
    Value::from(data_type.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use serde_json::json;

    #[test]
    fn every_type_comes_back_in_every_form() {
        for &data_type in DataType::ALL {
            assert_eq!(parse(&to_json(data_type)).unwrap(), data_type);
            for value in [
                json!({"name": data_type.name()}),
                json!({"name": data_type.name(), "configuration": {}}),
                json!({"configuration": null, "must_understand": true, "name": data_type.name()}),
            ] {
                assert_eq!(parse(&value).unwrap(), data_type);
            }
        }
        assert_eq!(parse(&json!("complex_float32")).unwrap(), DataType::Complex64);
        assert_eq!(parse(&json!("complex_float64")).unwrap(), DataType::Complex128);
    }

    #[test]
    fn types_of_others_are_refused_by_name() {
        for name in ["string", "r16", "bfloat16", "numpy.datetime64", "Int32", "<f8", "", "uint128"] {
            for value in [json!(name), json!({"name": name, "configuration": {"unit": "s"}})] {
                let e = parse(&value).unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Unsupported, "{name}");
                assert!(e.message().contains(&format!("{name:?}")), "{e}");
            }
        }
    }

    #[test]
    fn what_is_no_name_is_a_metadata_error() {
        for value in [
            json!(3),
            json!(null),
            json!(["int32"]),
            json!({}),
            json!({"name": 3}),
            json!({"name": "int8", "configuration": {"a": 1}}),
            json!({"name": "int8", "x": 1}),
        ] {
            assert_eq!(parse(&value).unwrap_err().kind(), ErrorKind::Metadata, "{value}");
        }
    }
}
