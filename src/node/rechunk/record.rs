//! What libozarr_netcdf has recorded in the groups of a copy of the types of attributes.

use crate::dtype::DataType;
use crate::metadata::{Format, Map, Value, json};
use crate::node::conventions::missing::FILL;

/// Makes the record of libozarr_netcdf the text that it is in format 2, where NCZarr opens no file in which a group has an attribute that
/// is an object.
pub(super) fn as_text(attributes: &mut Map) {
    if let Some(record) = attributes.get_mut("_nc_model").filter(|record| record.is_object()) {
        *record = json::to_compact(record).into();
    }
}

/// Lets the record of a group, which is a text in version 2, follow another type of the elements of one variable: its attributes get the type that is
/// meant, and `_FillValue` that of the elements, where it was an enumeration's.
pub(super) fn follow(format: Format, document: &mut Map, variable: &str, (stored, meant): (DataType, DataType)) {
    let attributes = match format {
        Format::V2 => Some(document),
        Format::V3 => document.get_mut("attributes").and_then(Value::as_object_mut),
    };
    let Some(attributes) = attributes else { return };
    if let Some(record) = attributes.get_mut("_nc_model") {
        if let Some(parsed) = record.as_str().and_then(|text| json::parse_text(text).ok()).filter(Value::is_object) {
            *record = parsed;
        }
        let types = record.as_object_mut().and_then(|record| {
            record.get_mut("variables")?.as_object_mut()?.get_mut(variable)?.as_object_mut()?.get_mut("types")?.as_object_mut()
        });
        let names = nc_name(stored).zip(nc_name(meant));
        for types in types.into_iter() {
            types.retain(|attribute, recorded| {
                if let Some((stored, meant)) = names
                    && recorded.as_str() == Some(stored)
                {
                    *recorded = meant.into();
                }
                &**attribute != FILL
            });
        }
    }
    if format == Format::V2 {
        as_text(attributes);
    }
}

/// The name of an integer's type in the record.
fn nc_name(data_type: DataType) -> Option<&'static str> {
    use DataType::*;
    Some(match data_type {
        Int8 => "byte",
        UInt8 => "ubyte",
        Int16 => "short",
        UInt16 => "ushort",
        Int32 => "int",
        UInt32 => "uint",
        Int64 => "int64",
        UInt64 => "uint64",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_value_of_an_enumeration_gets_the_type_of_the_elements() {
        for (stored, meant) in [(DataType::Int8, DataType::Int8), (DataType::Int8, DataType::UInt8), (DataType::Float32, DataType::Float32)]
        {
            let record =
                |types: &str| format!(r#"{{"attributes":{{"_nc_model":{{"variables":{{"a":{{"type":"/e","types":{{{types}}}}}}}}}}}}}"#);
            let document = |types: &str| json::parse_object(record(types).as_bytes(), 10_000).unwrap();
            let mut found = document(r#""_FillValue":"/e","x":"/e""#);
            follow(Format::V3, &mut found, "a", (stored, meant));
            assert_eq!(Value::Object(found).to_string(), Value::Object(document(r#""x":"/e""#)).to_string());
        }
    }

    #[test]
    fn attributes_of_the_type_of_elements_get_that_of_the_numbers_that_these_mean() {
        let record = |range: &str| {
            format!(
                r#"{{"variables":{{"a":{{"types":{{"valid_range":"{range}","scale_factor":"float"}}}},"b":{{"types":{{"x":"byte"}}}}}}}}"#
            )
        };
        for (format, is_text) in [(Format::V2, true), (Format::V2, false), (Format::V3, false)] {
            let held = |range: &str, is_text| if is_text { Value::from(record(range)) } else { json::parse_text(&record(range)).unwrap() };
            let document = |value: Value| {
                let text = format!(r#"{{"_nc_model":{value}}}"#);
                let text = if format == Format::V3 { format!(r#"{{"attributes":{text}}}"#) } else { text };
                json::parse_object(text.as_bytes(), 10_000).unwrap()
            };
            let mut found = document(held("byte", is_text));
            follow(format, &mut found, "a", (DataType::Int8, DataType::UInt8));
            let wanted = document(held("ubyte", format == Format::V2));
            assert_eq!(Value::Object(found).to_string(), Value::Object(wanted).to_string(), "{format:?} {is_text}");
        }
        let mut other = json::parse_object(br#"{"_nc_model":3,"units":"K"}"#, 10_000).unwrap();
        follow(Format::V2, &mut other, "a", (DataType::Int8, DataType::UInt8));
        assert_eq!(Value::Object(other).to_string(), r#"{"_nc_model":3,"units":"K"}"#);
    }
}
