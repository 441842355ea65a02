//! Attributes with values of an array's elements, where a copy of the array has elements of another type.
//! Conventions: CF 2.5.1, 3.5 and 8.1; netCDF's best practices, "Unsigned Data".

use super::missing::{Types, exact_number, in_type, is_number, is_same, missing_to_type, missing_value, stored_value};
use super::time::TimeUnits;
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Kind, Unit};
use crate::metadata::{Format, Map, Value, json};

/// The attribute with values that mean "missing", beside `_FillValue`.
const MISSING: &str = "missing_value";

/// Other attributes with values of the stored type.
const STORED: [&str; 5] = ["valid_min", "valid_max", "valid_range", "flag_values", "flag_masks"];

/// An attribute with what elements mean, which are values of the stored type only where that is not scaled.
const MEANT: &str = "actual_range";

/// Lets the attributes with values of elements follow another type. Returns what is to be told of values that mean "missing", and that it lacks.
pub(in crate::node) fn values_to_type(attributes: &mut Map, types: Types, new: DataType, format: Format) -> Option<String> {
    missing_to_type(attributes, types, new, format);
    let stored = types.0;
    if !is_number(stored) || stored.kind() == Kind::Complex {
        return None;
    }
    let is_scaled = ["scale_factor", "add_offset"].into_iter().any(|name| attributes.contains_key(name));
    for name in STORED.into_iter().chain((!is_scaled).then_some(MEANT)) {
        if let Some(value) = attributes.get_mut(name)
            // Of numbers that are scaled only integers are of the stored type: others are what they mean.
            && !(is_scaled && each(value).iter().any(|item| item.is_number() && item.as_i64().is_none() && item.as_u64().is_none()))
            && let Some(followed) = of_each(value, |item| Some(value_in_type(types, new, item).unwrap_or_else(|| as_meant(types, item))))
        {
            *value = followed;
        }
    }
    let (value, mut lost) = (attributes.get(MISSING)?, Vec::new());
    let kept = of_each(value, |item| {
        let kept = value_in_type(types, new, item);
        lost.extend(kept.is_none().then(|| json::brief(item)));
        kept
    });
    match kept {
        Some(kept) => drop(attributes.insert(MISSING.into(), kept)),
        None => drop(attributes.shift_remove(MISSING)),
    }
    let told = || format!("{MISSING} {} is no value of {}: what was missing by it is not any more", lost.join(", "), new.name());
    (!lost.is_empty()).then(told)
}

/// What is to be told where counts become times, or times counts: the counts stay what they are.
pub(in crate::node) fn times_to_type(attributes: &Map, old: DataType, new: DataType) -> Option<String> {
    let epoch = |time| if matches!(time, DataType::DateTime(_)) { " since 1970-01-01" } else { "" };
    match (old, new) {
        (_, DataType::DateTime(unit) | DataType::TimeDelta(unit)) if is_number(old) => {
            let units = attributes.get("units").and_then(Value::as_str).filter(|units| TimeUnits::is_one(units))?;
            Some(format!("the elements are taken for counts of {}{}, whatever their units say: {units:?}", counted(unit), epoch(new)))
        }
        (DataType::DateTime(unit) | DataType::TimeDelta(unit), _) if is_number(new) => {
            Some(format!("times become counts of {}{}: what is not a time becomes a number, too", counted(unit), epoch(old)))
        }
        _ => None,
    }
}

/// A unit of times in words.
fn counted(unit: Unit) -> String {
    if unit.scale == 1 { unit.name().into() } else { format!("{} {}", unit.scale, unit.name()) }
}

/// The values of a list, or the one.
fn each(value: &Value) -> &[Value] {
    value.as_array().unwrap_or(std::slice::from_ref(value))
}

/// A value, or each of a list, as `follow` has it; those that have none go. `None` where none is left.
fn of_each(value: &Value, mut follow: impl FnMut(&Value) -> Option<Value>) -> Option<Value> {
    let Value::Array(items) = value else { return follow(value) };
    let kept: Vec<Value> = items.iter().filter_map(follow).collect();
    (items.is_empty() || !kept.is_empty()).then(|| Value::Array(kept.into()))
}

/// The number that a value of the stored type means; any other value as it is.
fn as_meant((stored, meant): Types, item: &Value) -> Value {
    let element = missing_value(stored, item).flatten().filter(|_| meant != stored);
    element.and_then(|element| Fill::from_bytes(&element).to_json_v3(meant).ok()).unwrap_or_else(|| item.clone())
}

/// The texts that readers take for numbers.
const NAMES: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// A value of the stored type as one of another: as it is, where that is the same number, or where no element ever was that value. `None` where the type
/// has no such number, or JSON.
fn value_in_type(types: Types, new: DataType, item: &Value) -> Option<Value> {
    if item.as_str().is_some_and(|text| !NAMES.contains(&text)) {
        return Some(item.clone());
    }
    let item = &as_meant(types, item);
    let Some(element) = stored_value(types, item).flatten() else { return Some(item.clone()) };
    let element = in_type(types, new, &element).filter(|_| is_number(new))?;
    if is_same(new, item, &element) { Some(item.clone()) } else { exact_number(new, &element) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DataType::{Bool, Complex64, DateTime, Float16, Float32, Float64, Int8, Int16, Int64, TimeDelta, UInt8, UInt16, UInt64};

    fn followed(attributes: &str, types: Types, new: DataType) -> (String, Option<String>) {
        let mut attributes = json::parse_object(attributes.as_bytes(), 10_000).unwrap();
        let told = values_to_type(&mut attributes, types, new, Format::V3);
        (Value::Object(attributes).to_string(), told)
    }

    #[test]
    fn values_of_the_stored_type_become_the_numbers_that_they_mean() {
        let (unsigned, signed) = ((Int8, UInt8), (UInt8, Int8));
        for (types, new, attributes, wanted) in [
            (unsigned, UInt8, r#"{"valid_min":0,"valid_max":-2}"#, r#"{"valid_min":0,"valid_max":254}"#),
            (unsigned, Int16, r#"{"valid_range":[1,-2],"units":"K"}"#, r#"{"valid_range":[1,254],"units":"K"}"#),
            (unsigned, Float32, r#"{"flag_values":[1,-128],"flag_masks":[-1]}"#, r#"{"flag_values":[1,128],"flag_masks":[255]}"#),
            (unsigned, UInt8, r#"{"valid_max":254,"valid_min":"low"}"#, r#"{"valid_max":254,"valid_min":"low"}"#),
            (unsigned, UInt8, r#"{"missing_value":-1}"#, r#"{"missing_value":255}"#),
            (unsigned, Int16, r#"{"missing_value":[-1,255,0]}"#, r#"{"missing_value":[255,255,0]}"#),
            (unsigned, UInt8, r#"{"_FillValue":-1,"missing_value":-1}"#, r#"{"_FillValue":255,"missing_value":255}"#),
            // Of numbers that are not scaled alone.
            (unsigned, UInt8, r#"{"actual_range":[0,-1]}"#, r#"{"actual_range":[0,255]}"#),
            (unsigned, UInt8, r#"{"actual_range":[0,-1],"add_offset":-9}"#, r#"{"actual_range":[0,-1],"add_offset":-9}"#),
            (
                unsigned,
                UInt8,
                r#"{"valid_min":-5.0,"valid_max":-2,"scale_factor":0.5}"#,
                r#"{"valid_min":-5.0,"valid_max":254,"scale_factor":0.5}"#,
            ),
            (unsigned, UInt8, r#"{"valid_range":[-5.0,20.5],"add_offset":1.5}"#, r#"{"valid_range":[-5.0,20.5],"add_offset":1.5}"#),
            (unsigned, UInt8, r#"{"valid_max":-2.0}"#, r#"{"valid_max":254}"#),
            (signed, Int8, r#"{"valid_range":[128,127],"missing_value":255}"#, r#"{"valid_range":[-128,127],"missing_value":-1}"#),
            ((Int16, UInt16), UInt8, r#"{"valid_max":-1}"#, r#"{"valid_max":65535}"#),
            // What is nearest in the copy.
            ((Float64, Float64), Float32, r#"{"valid_max":0.1,"units":"K"}"#, r#"{"valid_max":0.10000000149011612,"units":"K"}"#),
            ((Float32, Float32), Float64, r#"{"actual_range":[0.5,0.1]}"#, r#"{"actual_range":[0.5,0.10000000149011612]}"#),
            // What is rounded to zero is none of the numbers above it.
            ((Float32, Float32), Float64, r#"{"valid_min":1e-50}"#, r#"{"valid_min":1e-50}"#),
            ((Float32, Float32), Float16, r#"{"valid_min":1e-9}"#, r#"{"valid_min":1e-9}"#),
            ((Float64, Float64), Int16, r#"{"valid_range":[-9.5,1e9]}"#, r#"{"valid_range":[-9.5,1e9]}"#),
            // Numbers that mean themselves stay.
            ((Int8, Int8), Int16, r#"{"valid_max":-1,"flag_values":[-1]}"#, r#"{"valid_max":-1,"flag_values":[-1]}"#),
        ] {
            assert_eq!(followed(attributes, types, new), (wanted.into(), None), "{types:?} {new:?} {attributes}");
        }
    }

    #[test]
    fn what_is_no_number_keeps_its_name_in_version_2() {
        for (value, new, wanted) in [
            ("NaN", Float64, Some("NaN")),
            (r#""NaN""#, Float64, Some(r#""NaN""#)),
            ("Infinity", Float64, Some("Infinity")),
            (r#""-Infinity""#, Float64, Some(r#""-Infinity""#)),
            ("-1.5", Float64, Some("-1.5")),
            ("Infinity", Int16, None),
        ] {
            let mut attributes = json::parse_object(format!(r#"{{"_FillValue":{value}}}"#).as_bytes(), 100).unwrap();
            values_to_type(&mut attributes, (Float32, Float32), new, Format::V2);
            let wanted = wanted.map_or("{}".into(), |wanted| format!(r#"{{"_FillValue":{wanted}}}"#));
            assert_eq!(Value::Object(attributes).to_string(), wanted, "{value} {new:?}");
        }
    }

    #[test]
    fn values_that_mean_missing_are_the_elements_of_the_copy_or_go_and_are_told() {
        for (stored, new, value, wanted, lost) in [
            (Int16, UInt8, "-999", None, "-999"),
            (Int16, UInt8, "[-999,7]", Some("[7]"), "-999"),
            (Int16, UInt8, "[-999,-998]", None, "-999, -998"),
            (Int16, Bool, "0", None, "0"),
            (Int64, Int16, "-9.223372036854776e18", None, "-9.223372036854776e18"),
            (UInt64, Int16, "9.223372036854776e18", None, "9.223372036854776e18"),
            (Float64, Int16, "-9.5", None, "-9.5"),
            (Float32, Int16, "NaN", None, "NaN"),
            (Float32, Int16, "-999.0", Some("-999.0"), ""),
            (Int16, Float32, "-999", Some("-999"), ""),
            (Int64, Float32, "16777217", Some("16777216.0"), ""),
            // The element is the nearest one.
            (Float64, Float32, "1e20", Some("1.0000000200408773e20"), ""),
            (Float32, Float64, "1e20", Some("1.0000000200408773e20"), ""),
            (Float32, Float64, "NaN", Some("NaN"), ""),
            (Float64, Int16, r#""NaN""#, None, r#""NaN""#),
            (Float64, Float32, r#""NaN""#, Some(r#""NaN""#), ""),
            (Float64, Int64, "9007199254740993", Some("9007199254740992"), ""),
            (Float64, Complex64, "-999", Some("-999"), ""),
            (Float64, Complex64, "1e20", Some("1.0000000200408773e20"), ""),
            // What no element ever was.
            (Float32, Float64, "1e40", Some("1e40"), ""),
            (Float16, Float32, "1e20", Some("1e20"), ""),
            (UInt8, Int16, "-999", Some("-999"), ""),
            (Int64, Int16, "9.223372036854776e18", Some("9.223372036854776e18"), ""),
            (UInt64, Int16, "1.8446744073709552e19", Some("1.8446744073709552e19"), ""),
            (Int16, UInt8, r#""none""#, Some(r#""none""#), ""),
            (Float32, Float64, r#""0x7fc00000""#, Some(r#""0x7fc00000""#), ""),
            (Float64, Int16, r#""AAAAAAAA8D8=""#, Some(r#""AAAAAAAA8D8=""#), ""),
            (Int16, UInt8, "[]", Some("[]"), ""),
        ] {
            let (found, told) = followed(&format!(r#"{{"missing_value":{value}}}"#), (stored, stored), new);
            let wanted = wanted.map_or("{}".into(), |wanted| format!(r#"{{"missing_value":{wanted}}}"#));
            let at = format!("{stored:?} {new:?} {value}");
            assert_eq!((found, told.is_some()), (wanted, !lost.is_empty()), "{at}");
            assert!(told.is_none_or(|told| told.starts_with(&format!("missing_value {lost} is no value of {}: ", new.name()))), "{at}");
        }
    }

    #[test]
    fn counts_that_become_times_and_times_that_become_counts_are_told() {
        let days = Unit::new("D", 1).unwrap();
        for (attributes, old, new, wanted) in [
            (r#"{"units":"days since 2000-01-01"}"#, Int64, DateTime(days), "days since 2000-01-01"),
            (r#"{"units":"days since 2000-01-01"}"#, Int16, TimeDelta(days), "days since 2000-01-01"),
            (r#"{"units":"days"}"#, Int64, DateTime(days), ""),
            (r#"{"units":"days since 2000-01-01"}"#, Int64, Int16, ""),
            ("{}", DateTime(days), Int64, "since 1970-01-01"),
            ("{}", TimeDelta(days), Float64, "counts of D:"),
            ("{}", DateTime(Unit::new("h", 6).unwrap()), Int64, "counts of 6 h since 1970-01-01"),
            ("{}", DateTime(days), DateTime(days), ""),
            ("{}", DateTime(days), DataType::Text(9), ""),
        ] {
            let told = times_to_type(&json::parse_object(attributes.as_bytes(), 10_000).unwrap(), old, new);
            assert_eq!(told.is_some(), !wanted.is_empty(), "{attributes} {old:?} {new:?}: {told:?}");
            assert!(told.is_none_or(|told| told.contains(wanted)), "{attributes} {old:?} {new:?}");
        }
    }
}
