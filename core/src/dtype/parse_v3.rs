//! Zarr v3 `data_type`: a name, or an object with a name and a configuration.
//! Specification: v3 core, "Data types", and the registry of extensions.

use super::{DataType, ElementType, Field, MAX_LENGTH, Struct, Unit, record, registered};
use crate::error::{Error, Result, bail, err};
use crate::json::{Map, Value, brief, json};

/// Names that the registry knows and this library does not read.
const KNOWN: &[&str] = &[];

/// Reads the `data_type` member of a `zarr.json`. Types that this library does not read are `Unsupported`, named.
pub fn parse(value: &Value) -> Result<DataType> {
    parse_at(value, 1)
}

/// Reads the type of a field that is in `depth - 1` structs.
fn parse_at(value: &Value, depth: usize) -> Result<DataType> {
    let object = match value {
        Value::String(name) => return named(name, &Map::new(), depth),
        Value::Object(object) => object,
        _ => bail!(Metadata, "found {}, expected the name of a data type", brief(value)),
    };
    let name = match object.get("name") {
        Some(Value::String(name)) => name,
        Some(other) => return Err(err!(Metadata, "found {}, expected a string", brief(other)).at_field("name")),
        None => return Err(err!(Metadata, "the member is missing").at_field("name")),
    };
    let none = Map::new();
    let configuration = match object.get("configuration") {
        None | Some(Value::Null) => &none,
        Some(Value::Object(c)) => c,
        Some(other) => return Err(err!(Metadata, "found {}, expected an object", brief(other)).at_field("configuration")),
    };
    let data_type = named(name, configuration, depth)?;
    for (member, value) in object {
        if !matches!((member.as_str(), value), ("name" | "configuration", _) | ("must_understand", Value::Bool(_))) {
            return Err(err!(Metadata, "unknown member beside the name {name:?}").at_field(member));
        }
    }
    Ok(data_type)
}

/// The type of that name; its configuration must have exactly the members that the type knows.
fn named(name: &str, configuration: &Map, depth: usize) -> Result<DataType> {
    if let Some(registered) = registered::find_v3(name) {
        return match configuration.keys().next() {
            None => Ok(registered),
            Some(member) => Err(err!(Metadata, "found the member {member:?}, expected nothing").at_field("configuration")),
        };
    }
    let (data_type, members): (_, &[&str]) = match name {
        "null_terminated_bytes" => (DataType::Bytes(length(configuration, 1)?), &["length_bytes"]),
        "raw_bytes" => (DataType::Raw(length(configuration, 1)?), &["length_bytes"]),
        "fixed_length_utf32" => (DataType::Text(length(configuration, 4)? / 4), &["length_bytes"]),
        "numpy.datetime64" => (DataType::DateTime(unit(configuration)?), &["unit", "scale_factor"]),
        "numpy.timedelta64" => (DataType::TimeDelta(unit(configuration)?), &["unit", "scale_factor"]),
        "struct" | "structured" => (parse_configuration(configuration, depth).map_err(|e| e.at_field("configuration"))?, &["fields"]),
        _ => (by_name(name)?, &[]),
    };
    match configuration.iter().find(|(member, _)| !members.contains(&member.as_str())) {
        None => Ok(data_type),
        Some((member, _)) if members.is_empty() => {
            Err(err!(Metadata, "found the member {member:?}, expected nothing: {name} has no parameters").at_field("configuration"))
        }
        Some((member, _)) => Err(err!(Metadata, "found the member {member:?}, expected {}", members.join(", ")).at_field("configuration")),
    }
}

/// `length_bytes`, a multiple of `unit`, of which there are as many as version 2 allows.
fn length(configuration: &Map, unit: u32) -> Result<u32> {
    let (at, most) = (|e: Error| e.at_field("configuration.length_bytes"), MAX_LENGTH * unit);
    let value = configuration.get("length_bytes").ok_or_else(|| at(err!(Metadata, "the member is missing")))?;
    let n = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (1..=most).contains(n) && n.is_multiple_of(unit));
    n.ok_or_else(|| at(err!(Metadata, "found {}, expected a multiple of {unit} from {unit} to {most}", brief(value))))
}

/// `unit` and `scale_factor`.
fn unit(configuration: &Map) -> Result<Unit> {
    let name = configuration.get("unit").and_then(Value::as_str);
    let name = name.ok_or_else(|| err!(Metadata, "the member is missing, or no text").at_field("configuration.unit"))?;
    let scale = configuration.get("scale_factor").and_then(Value::as_u64);
    let scale = scale.ok_or_else(|| err!(Metadata, "the member is missing, or no integer").at_field("configuration.scale_factor"))?;
    Unit::new(name, scale).ok_or_else(|| {
        let units = Unit::NAMES.join(", ");
        err!(Metadata, "found {scale} of {name:?}, expected 1 to 2147483647 of one of {units}").at_field("configuration.unit")
    })
}

fn by_name(name: &str) -> Result<DataType> {
    match name {
        "complex_float32" => return Ok(DataType::Complex64),
        "complex_float64" => return Ok(DataType::Complex128),
        "string" => return Ok(DataType::VarText),
        // The registered name, zarr-python's, and that of old zarrs.
        "bytes" | "variable_length_bytes" | "binary" => return Ok(DataType::VarBytes),
        _ => {}
    }
    if let Some(data_type) = DataType::numbers().find(|t| t.name() == name) {
        return Ok(data_type);
    }
    if let Some(digits) = name.strip_prefix('r').filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit())) {
        let bits = digits.parse::<u32>().ok().filter(|n| *n > 0 && n.is_multiple_of(8) && n / 8 <= MAX_LENGTH);
        return bits.map(|n| DataType::Raw(n / 8)).ok_or_else(|| err!(Metadata, "found {name:?}, expected r and a multiple of 8"));
    }
    let state = if KNOWN.contains(&name) { "supported" } else { "known" };
    bail!(Unsupported, "the data type {} is not {state}", brief(&Value::from(name)));
}

/// The `data_type` member for that type.
pub fn to_json(data_type: DataType) -> Value {
    to_json_as(data_type, &Value::Null)
}

/// As the function above, with raw bytes by the name `r*` where `given`, which is a `data_type` too, has that: zarr-python and TensorStore read them
/// by the other one alone (J-12).
pub fn to_json_as(data_type: DataType, given: &Value) -> Value {
    let configured = |configuration: Value| {
        let members = [("name".to_string(), Value::from(data_type.name())), ("configuration".to_string(), configuration)];
        Value::Object(members.into_iter().collect())
    };
    let unit = |unit: Unit| json!({"unit": unit.name(), "scale_factor": unit.scale});
    match data_type {
        DataType::Bytes(n) => configured(json!({"length_bytes": n})),
        DataType::Text(n) => configured(json!({"length_bytes": n * 4})),
        DataType::Raw(n) if says_bits(given) => Value::from(format!("r{}", u64::from(n) * 8)),
        DataType::Raw(n) => configured(json!({"length_bytes": n})),
        DataType::Struct(s) => to_object(s, given),
        DataType::DateTime(u) | DataType::TimeDelta(u) => configured(unit(u)),
        number => Value::from(number.name()),
    }
}

/// Whether a `data_type` is `r*`, raw bytes by the number of their bits.
fn says_bits(data_type: &Value) -> bool {
    let name = data_type.as_str().or_else(|| data_type["name"].as_str());
    name.is_some_and(|name| matches!(by_name(name), Ok(DataType::Raw(_))))
}

/// Reads the configuration of `struct` or `structured`: fields as objects, or as pairs.
fn parse_configuration(configuration: &Map, depth: usize) -> Result<DataType> {
    if depth > record::MAX_DEPTH {
        bail!(Limit, "found structs more than {} deep", record::MAX_DEPTH);
    }
    let fields = configuration.get("fields").ok_or_else(|| err!(Metadata, "the member is missing").at_field("fields"))?;
    let Value::Array(list) = fields else {
        return Err(err!(Metadata, "found {}, expected a list of fields", brief(fields)).at_field("fields"));
    };
    let field = |(i, value): (usize, &Value)| field_v3(value, depth).map_err(|e| e.at_field(format!("fields[{i}]")));
    let fields: Vec<Field> = list.iter().take(record::MAX_FIELDS + 1).enumerate().map(field).collect::<Result<_>>()?;
    Ok(DataType::Struct(Struct::packed(fields).map_err(|e| e.at_field("fields"))?))
}

fn field_v3(value: &Value, depth: usize) -> Result<Field> {
    let (name, data_type) = match value {
        Value::Array(pair) if pair.len() == 2 => (&pair[0], &pair[1]),
        Value::Object(members) => {
            let member = |name: &str| members.get(name).ok_or_else(|| err!(Metadata, "the member is missing").at_field(name));
            if let Some(other) = members.keys().find(|k| !matches!(k.as_str(), "name" | "data_type")) {
                return Err(err!(Metadata, "an unknown member, expected name and data_type").at_field(other));
            }
            (member("name")?, member("data_type")?)
        }
        other => bail!(Metadata, "found {}, expected an object with name and data_type", brief(other)),
    };
    let Value::String(name) = name else { return Err(err!(Metadata, "found {}, expected a string", brief(name)).at_field("name")) };
    if name.is_empty() {
        return Err(err!(Metadata, "found an empty name").at_field("name"));
    }
    let data_type = parse_at(data_type, depth + 1).map_err(|e| e.at_field("data_type"))?;
    Ok(Field { name: name.to_string(), offset: 0, element: ElementType::native(data_type), shape: Vec::new() })
}

/// The `data_type` of v3 for a struct that [`check_v3`] accepts.
fn to_object(s: &Struct, given: &Value) -> Value {
    let field =
        |(i, f): (usize, &Field)| json!({"name": f.name.as_str(), "data_type": to_json_as(f.element.data_type, type_of_field(given, i))});
    json!({"name": "struct", "configuration": {"fields": s.fields().iter().enumerate().map(field).collect::<Value>()}})
}

/// A `data_type` as [`to_json_as`] takes it, of a struct whose first `count` fields are those of `given`, with one more of the type `last`.
pub fn with_field(given: &Value, count: usize, last: Value) -> Value {
    let types = (0..count).map(|i| type_of_field(given, i).clone()).chain([last]);
    json!({"configuration": {"fields": types.map(|data_type| json!({"data_type": data_type})).collect::<Value>()}})
}

/// The type of a field in a `data_type` of either form of structs; null where it has no such field.
pub fn type_of_field(data_type: &Value, i: usize) -> &Value {
    let field = &data_type["configuration"]["fields"][i];
    if field.as_array().is_some() { &field[1] } else { &field["data_type"] }
}

/// Refuses structs that v3 has no form for: fields with shapes, without names, or in different byte orders.
pub fn check_v3(data_type: DataType) -> Result<()> {
    if let DataType::Registered(f) = data_type
        && f.name_v3().is_none()
    {
        bail!(Unsupported, "the data type {:?} was registered without a name in zarr_format 3", f.name());
    }
    let DataType::Struct(s) = data_type else { return Ok(()) };
    if data_type.has_order() && data_type.field_order().is_none() {
        bail!(Unsupported, "the fields have different byte orders, which zarr_format 3 cannot say: create the array in zarr_format 2");
    }
    for f in s.fields() {
        if !f.shape.is_empty() {
            bail!(
                Unsupported,
                "the field {:?} has a shape, which zarr_format 3 cannot say: create the array in zarr_format 2, or give each value a field",
                f.name
            );
        }
        if f.name.is_empty() {
            bail!(Unsupported, "found padding between the fields, which zarr_format 3 cannot say: create the array in zarr_format 2");
        }
        check_v3(f.element.data_type)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn every_type_comes_back_in_every_form() {
        for data_type in DataType::numbers() {
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
    fn bytes_text_and_times_come_back() {
        let second = Unit::new("s", 10).unwrap();
        for (data_type, json) in [
            (DataType::Bytes(5), json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 5}})),
            (DataType::Text(12), json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 48}})),
            (DataType::Text(1 << 24), json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 1 << 26}})),
            (DataType::Raw(5), json!({"name": "raw_bytes", "configuration": {"length_bytes": 5}})),
            (DataType::DateTime(second), json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}})),
            (DataType::TimeDelta(second), json!({"name": "numpy.timedelta64", "configuration": {"unit": "s", "scale_factor": 10}})),
        ] {
            assert_eq!((parse(&json).unwrap(), to_json(data_type)), (data_type, json));
        }
        for bits in [json!("r40"), json!({"name": "r40"})] {
            assert_eq!((parse(&bits).unwrap(), to_json_as(DataType::Raw(5), &bits)), (DataType::Raw(5), json!("r40")));
        }
    }

    #[test]
    fn types_of_others_are_refused_by_name() {
        for name in ["bfloat8", "float8_e9m9", "int3", "Int32", "<f8", "", "uint128", "zarrs.optional"] {
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
            json!("r12"),
            json!("r0"),
            json!("numpy.datetime64"),
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s"}}),
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}}),
            json!({"name": "numpy.timedelta64", "configuration": {"unit": "x", "scale_factor": 1}}),
            json!({"name": "numpy.timedelta64", "configuration": {"unit": "s", "scale_factor": 1, "more": 1}}),
            json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}}),
            json!({"name": "raw_bytes", "configuration": {"length_bytes": -1}}),
        ] {
            assert_eq!(parse(&value).unwrap_err().kind(), ErrorKind::Metadata, "{value}");
        }
    }
}
