//! The value that means "missing", as an attribute and as the fill value, in both versions.
//! Conventions: CF 2.5.1; xarray, "Zarr Encoding Specification", for `_FillValue`.

use crate::dtype::base64_text::{double_from_base64, double_to_base64};
use crate::dtype::coding::NOT_A_TIME;
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Element, Kind, Real};
use crate::metadata::v2::DIMENSIONS;
use crate::metadata::{ArrayMeta, Format, Map, Value, json};
use crate::node::conventions::sign::{UNSIGNED, meant_type};
use crate::node::spec::converted_fill;

/// The attribute with the value that means "missing" in version 3.
pub(in crate::node) const FILL: &str = "_FillValue";

/// The types of an array's elements: as they are stored, and of the numbers that they mean.
pub(in crate::node) type Types = (DataType, DataType);

/// The name by which libozarr_netcdf has that of text in version 3, where xarray opens no store with the other one.
const TEXT_FILL: &str = "_nc_fill_value";

/// Makes the attributes of a variable of version 2 those of version 3, where the fill value no longer says what is missing.
pub(in crate::node) fn missing_to_v3(attributes: &mut Map, meta: &ArrayMeta) {
    let data_type = meta.data_type;
    if !attributes.contains_key(DIMENSIONS) {
        return;
    }
    if matches!(data_type.kind(), Kind::Opaque | Kind::Variable)
        && let Some(text) = attributes.shift_remove(FILL)
    {
        attributes.insert(TEXT_FILL.into(), text);
    }
    if !is_number(data_type) {
        return;
    }
    let missing = missing_of(meta, attributes);
    let value = missing.and_then(|missing| fill_attribute_beside(attributes, Format::V3, data_type, &missing));
    set_fill_attribute(attributes, value);
}

/// Sets what says of numbers which one is missing, or leaves it out: a form that is not the type's has readers refuse the whole dataset.
fn set_fill_attribute(attributes: &mut Map, value: Option<Value>) {
    match value {
        Some(value) => drop(attributes.insert(FILL.into(), value)),
        None => drop(attributes.shift_remove(FILL)),
    }
}

/// Makes the attributes and the fill value of a variable of version 3 those of version 2, where the fill value is what means "missing", unless it is
/// null. Whether the fill value is lost, which is nothing where it is zero.
pub(in crate::node) fn missing_to_v2(attributes: &mut Map, data_type: DataType, fill: &mut Fill) -> bool {
    if matches!(data_type.kind(), Kind::Opaque | Kind::Variable)
        && let Some(text) = attributes.shift_remove(TEXT_FILL)
        && !attributes.contains_key(FILL)
    {
        // Beside the fill value, as `missing_to_v3` found it.
        attributes.insert(FILL.into(), plain_text(data_type, text));
        return false;
    }
    let types = (data_type, meant_type(attributes, data_type));
    let told = attributes.get(FILL).and_then(|value| stored_value(types, value));
    let missing = told.clone().flatten();
    if told.is_some() {
        set_fill_attribute(attributes, missing.as_ref().and_then(|missing| fill_attribute(Format::V2, data_type, missing)));
    }
    let old = fill.element(data_type);
    match missing {
        Some(missing) if missing == old => return false,
        Some(missing) => *fill = Fill::from_bytes(&missing),
        None if is_no_number(data_type, &old) => return false,
        None => *fill = Fill::undefined(),
    }
    old.iter().any(|&byte| byte != 0)
}

/// The missing value of text as version 2 has it: one byte, which libozarr_netcdf writes as base64 in version 3, as it is.
fn plain_text(data_type: DataType, text: Value) -> Value {
    match Fill::from_json_v3(data_type, &text).map(|fill| fill.element(data_type)).as_deref() {
        Ok([byte]) if data_type.size() == 1 && byte.is_ascii() => char::from(*byte).to_string().into(),
        Ok([byte]) if data_type.size() == 1 => Value::Array(vec![u64::from(*byte).into()].into()),
        _ => text,
    }
}

/// The element of an array that means "missing": the fill value of a variable of version 2, else what the attribute says.
pub(in crate::node) fn missing_of(meta: &ArrayMeta, attributes: &Map) -> Option<Element> {
    if !is_number(meta.data_type) {
        return None;
    }
    if meta.format == Format::V2 && meta.fill.defined && attributes.contains_key(DIMENSIONS) {
        return Some(meta.fill.element(meta.data_type));
    }
    let types = (meta.data_type, meant_type(attributes, meta.data_type));
    attributes.get(FILL).and_then(|value| stored_value(types, value)).flatten()
}

/// Makes the attribute that says what is missing, of elements of `stored` that mean numbers of `meant`, one of another type: each type has a form of
/// its own, and readers refuse the others. It goes where the type has no such value.
pub(super) fn missing_to_type(attributes: &mut Map, types: Types, new: DataType, format: Format) {
    let (stored, _) = types;
    let Some(value) = attributes.get(FILL).filter(|_| is_number(stored) || matches!(stored.kind(), Kind::Bool | Kind::Time)) else {
        return;
    };
    let Some(element) = stored_value(types, value) else { return };
    let is_kept = is_number(new) || (stored.kind(), new.kind()) == (Kind::Time, Kind::Time);
    let element = element.filter(|_| is_kept).and_then(|element| in_type(types, new, &element));
    let followed = element.and_then(|element| match format {
        // NaN and infinities have no form of their own there: they are what they were.
        Format::V2 if is_same(new, value, &element) => Some(value.clone()),
        Format::V2 => exact_number(new, &element),
        Format::V3 => fill_attribute(format, new, &element),
    });
    set_fill_attribute(attributes, followed);
}

/// The element of another type that an element becomes, if that has one.
pub(in crate::node) fn in_type(types: Types, new: DataType, element: &[u8]) -> Option<Element> {
    let converted = converted_fill(&Fill::from_bytes(element), types.1, new).ok()??.element(new);
    let is_other = |data_type, element: &[u8]| plain_number(data_type, element).is_some_and(|number| number.double() != 0.0);
    // A number that is rounded to zero would name elements that it did not.
    (!is_other(types.1, element) || is_other(new, &converted)).then_some(converted)
}

/// Whether a value names an element of a type also to readers that take a number for a double, as it is, and compare.
pub(super) fn is_same(data_type: DataType, value: &Value, element: &[u8]) -> bool {
    let Value::Number(number) = single(value) else {
        return missing_value(data_type, value).flatten().is_some_and(|named| named[..] == *element);
    };
    match plain_number(data_type, element) {
        Some(Real::Int(integer)) if number.is_integer() => number.text().parse() == Ok(integer),
        Some(Real::Int(integer)) => number.as_f64() == Some(integer as f64),
        Some(Real::Float(real)) => number.text().parse().is_ok_and(|double: f64| double == real || double.is_nan() && real.is_nan()),
        None => false,
    }
}

/// An element as a real number, which a complex one may be.
pub(super) fn plain_number(data_type: DataType, element: &[u8]) -> Option<Real> {
    let Some(part) = data_type.part() else { return Real::load(data_type, element) };
    let (real, imaginary) = element.split_at_checked(part.size())?;
    Real::load(part, real).filter(|_| imaginary.iter().all(|&byte| byte == 0))
}

/// The number that an element is, where JSON has one: readers compare with it as a double, where no fill value of version 2 says what is missing.
pub(super) fn exact_number(data_type: DataType, element: &[u8]) -> Option<Value> {
    match plain_number(data_type, element) {
        Some(Real::Float(number)) => number.is_finite().then(|| Value::Number(json::number(number))),
        _ => Fill::from_bytes(element).to_json_v3(data_type).ok().filter(Value::is_number),
    }
}

/// Whether values of a type are numbers, of which one may mean "missing".
pub(in crate::node) fn is_number(data_type: DataType) -> bool {
    matches!(data_type.kind(), Kind::Int | Kind::UInt | Kind::Float | Kind::Complex)
}

/// Whether an element is NaN or "not a time", which are missing by themselves.
pub(in crate::node) fn is_no_number(data_type: DataType, element: &[u8]) -> bool {
    match data_type.kind() {
        Kind::Time => element == NOT_A_TIME.to_ne_bytes(),
        Kind::Complex => data_type.part().is_some_and(|part| element.chunks_exact(part.size()).any(|value| is_no_number(part, value))),
        _ => matches!(Real::load(data_type, element), Some(Real::Float(value)) if value.is_nan()),
    }
}

/// Returns the element that an attribute's value means; `Some(None)` if the type has no such element, `None` for other values.
pub(in crate::node) fn missing_value(data_type: DataType, value: &Value) -> Option<Option<Element>> {
    let read = |value: &Value| Fill::from_json_v3(data_type, value).ok().map(|fill| fill.element(data_type));
    let is_float = data_type.kind() == Kind::Float;
    // Readers compare with the number itself: no element is one that rounds to infinity or to zero.
    let near = |double: f64, value: &Value| {
        let is_near = |real: f64| (double == 0.0 || real != 0.0) && !(double.is_finite() && real.is_infinite());
        let is_one = |element: &Element| Real::load(data_type, element).is_none_or(|real| is_near(real.double()));
        read(value).filter(is_one).or_else(|| named(data_type, double))
    };
    match if is_number(data_type) { single(value) } else { value } {
        // Eight bytes of a double, whatever the type (XR-12); other writers put the number itself, or its name (XR-14).
        Value::String(text) if is_float => match double_from_base64(text) {
            Some(double) => Some(near(double, &Value::Number(json::number(double)))),
            None => read(value).map(Some),
        },
        value @ Value::Number(n) if is_float => n.text().parse().ok().map(|double| near(double, value)),
        // Both parts of a complex number, each as a real number has it.
        Value::Array(parts) if parts.len() == 2 && data_type.kind() == Kind::Complex => {
            let part = |value| missing_value(data_type.part()?, value);
            let (real, imaginary) = (part(&parts[0])?, part(&parts[1])?);
            Some(real.zip(imaginary).map(|(real, imaginary)| real.into_iter().chain(imaginary).collect()))
        }
        value @ Value::Number(_) if data_type.kind() == Kind::Complex => {
            let real = missing_value(data_type.part()?, value)?;
            Some(real.map(|real| Fill::from_bytes(&real).element(data_type)))
        }
        value @ Value::Number(n) => match read(value) {
            Some(element) => Some(Some(element)),
            // -9999.0 for an integer; a number out of range has no element.
            None => Some(n.text().parse::<f64>().ok().filter(|x| x.fract() == 0.0).and_then(whole).and_then(|number| read(&number))),
        },
        value => read(value).map(Some),
    }
}

/// The one item of a list, which other readers take for it; any other value as it is.
fn single(value: &Value) -> &Value {
    match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        _ => value,
    }
}

/// The element that an attribute's value means, as [`missing_value`] tells it; a number that does not fit the stored type may be the one that is meant.
pub(super) fn stored_value((stored, meant): Types, value: &Value) -> Option<Option<Element>> {
    Some(missing_value(stored, value)?.or_else(|| missing_value(meant, value).flatten()))
}

/// A number without a fraction as an integer of 64 bits, if it is one.
fn whole(double: f64) -> Option<Value> {
    let number = double as i128;
    i64::try_from(number).map(Value::from).or_else(|_| u64::try_from(number).map(Value::from)).ok()
}

/// NaN and the infinities, which JSON has no numbers for.
fn named(data_type: DataType, double: f64) -> Option<Element> {
    let name = if double.is_nan() {
        "NaN"
    } else if double > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    let fill = Fill::from_json_v3(data_type, &name.into()).ok()?;
    (!double.is_finite()).then(|| fill.element(data_type))
}

/// `_FillValue` of a missing value: in version 3 as xarray has it, base64 of a double for real numbers, a list of both parts for complex ones,
/// integers as they are; in version 2 the number, where JSON has one. Text has none: xarray refuses a store with it, and the array's fill value says it.
pub(super) fn fill_attribute(format: Format, data_type: DataType, element: &[u8]) -> Option<Value> {
    if let (Format::V3, Kind::Complex, Some(part)) = (format, data_type.kind(), data_type.part()) {
        return element.chunks(part.size()).map(|element| fill_attribute(format, part, element)).collect();
    }
    match (format, Real::load(data_type, element)) {
        (Format::V3, Some(Real::Float(value))) => Some(double_to_base64(value).into()),
        (Format::V3, _) if !matches!(data_type.kind(), Kind::Bool | Kind::Int | Kind::UInt | Kind::Time) => None,
        (Format::V3, _) => Fill::from_bytes(element).to_json_v3(data_type).ok(),
        (Format::V2, _) => Fill::from_bytes(element).to_json_v3(data_type).ok().filter(Value::is_number),
    }
}

/// `_FillValue` as [`fill_attribute`] has it, beside these attributes: where integers with a sign are stored without one, the number that is meant, without
/// which xarray opens no dataset of version 3. It takes `_Unsigned` "False" and the like for nothing, and `_FillValue` for the element.
pub(super) fn fill_attribute_beside(attributes: &Map, format: Format, data_type: DataType, element: &[u8]) -> Option<Value> {
    let is_meant = format == Format::V3 && attributes.get(UNSIGNED).and_then(Value::as_str) == Some("false");
    fill_attribute(format, if is_meant { meant_type(attributes, data_type) } else { data_type }, element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{v2, v3};
    use crate::node::Spec;

    fn object(text: &str) -> Map {
        json::parse_object(text.as_bytes(), 10_000).unwrap()
    }

    /// The fill value and the attributes of an array that is made like another in the other version, and the notes.
    fn turned(meta: &ArrayMeta, attributes: &str, to: Format) -> (String, String, usize) {
        let mut notes = Vec::new();
        let spec = Spec::like(meta, object(attributes), Some(to), &mut notes).unwrap();
        let (new, attributes) = spec.resolve(None).unwrap();
        let document = if to == Format::V2 { v2::write_array(&new) } else { v3::write_array(&new) }.unwrap();
        (document["fill_value"].to_string(), Value::Object(attributes).to_string(), notes.len())
    }

    #[test]
    fn what_is_missing_stays_missing_and_nothing_else_does_in_the_other_version() {
        let v2 = |dtype: &str, fill: &str| {
            v2::array_from(object(&format!(
                r#"{{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"{dtype}","fill_value":{fill},"order":"C","filters":null,"compressor":null}}"#
            )))
        };
        let x = r#""_ARRAY_DIMENSIONS":["x"]"#;
        for (dtype, fill, attributes, want) in [
            ("<i2", "-999", format!("{{{x}}}"), r#"{"_FillValue":-999}"#),
            ("<i2", "null", format!("{{{x}}}"), "{}"),
            ("<i2", "-999", "{}".into(), "{}"),
            ("<f4", "\"NaN\"", format!("{{{x}}}"), r#"{"_FillValue":"AAAAAAAA+H8="}"#),
            ("<f4", "-1", format!(r#"{{"_FillValue":-1.0,{x}}}"#), r#"{"_FillValue":"AAAAAAAA8L8="}"#),
            ("<f4", "null", format!(r#"{{"_FillValue":-1.0,{x}}}"#), r#"{"_FillValue":"AAAAAAAA8L8="}"#),
            ("<c8", "[1.0,\"NaN\"]", format!("{{{x}}}"), r#"{"_FillValue":["AAAAAAAA8D8=","AAAAAAAA+H8="]}"#),
            ("<c8", "null", format!(r#"{{"_FillValue":-1.0,{x}}}"#), r#"{"_FillValue":["AAAAAAAA8L8=","AAAAAAAAAAA="]}"#),
            ("<i2", "null", format!(r#"{{"_FillValue":[-999],{x}}}"#), r#"{"_FillValue":-999}"#),
            ("|i1", "null", format!(r#"{{"_FillValue":255,"_Unsigned":"true",{x}}}"#), r#"{"_FillValue":-1,"_Unsigned":"true"}"#),
            ("|u1", "128", format!(r#"{{"_Unsigned":"false",{x}}}"#), r#"{"_Unsigned":"false","_FillValue":-128}"#),
            ("<u2", "65535", format!(r#"{{"_FillValue":65535,"_Unsigned":"false",{x}}}"#), r#"{"_FillValue":-1,"_Unsigned":"false"}"#),
            // xarray knows "false" in this spelling alone.
            ("|u1", "128", format!(r#"{{"_Unsigned":"False",{x}}}"#), r#"{"_Unsigned":"False","_FillValue":128}"#),
            ("|u1", "128", format!(r#"{{"_Unsigned":"true",{x}}}"#), r#"{"_Unsigned":"true","_FillValue":128}"#),
            ("|i1", "-128", format!(r#"{{"_Unsigned":"true",{x}}}"#), r#"{"_Unsigned":"true","_FillValue":-128}"#),
            // What no element is has no form that readers understand.
            ("<f4", "null", format!(r#"{{"_FillValue":1e40,{x}}}"#), "{}"),
            ("<i2", "null", format!(r#"{{"_FillValue":NaN,{x}}}"#), "{}"),
            ("<i2", "null", format!(r#"{{"_FillValue":-9.5,{x}}}"#), "{}"),
            ("|b1", "false", format!("{{{x}}}"), "{}"),
            ("|S1", "\"\"", format!(r#"{{"_FillValue":"-",{x}}}"#), r#"{"_nc_fill_value":"-"}"#),
            ("|S1", "\"\"", r#"{"_FillValue":"-"}"#.into(), r#"{"_FillValue":"-"}"#),
        ] {
            assert_eq!(turned(&v2(dtype, fill).unwrap(), &attributes, Format::V3).1, want, "{dtype} {fill}");
        }
        let v3 = |data_type: &str, fill: &str, shape: &str, names: &str| {
            v3::array_from(object(&format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"{data_type}","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{shape}}}}},
                "chunk_key_encoding":{{"name":"default"}},"fill_value":{fill},"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]{names}}}"#
            )))
        };
        let x = r#","dimension_names":["x"]"#;
        for (data_type, fill, shape, names, attributes, want) in [
            ("int64", "0", "[2]", x, "{}", ("null", "{}", 0)),
            ("int64", "0", "[2]", "", "{}", ("0", "{}", 0)),
            ("int64", "0", "[]", "", "{}", ("null", "{}", 0)),
            ("int16", "0", "[2]", x, r#"{"_FillValue":-999}"#, ("-999", r#"{"_FillValue":-999}"#, 0)),
            ("int16", "-999", "[2]", x, r#"{"_FillValue":-999}"#, ("-999", r#"{"_FillValue":-999}"#, 0)),
            ("int8", "0", "[2]", x, r#"{"_Unsigned":"true","_FillValue":255}"#, ("-1", r#"{"_Unsigned":"true","_FillValue":-1}"#, 0)),
            ("uint8", "0", "[2]", x, r#"{"_Unsigned":"false","_FillValue":-128}"#, ("128", r#"{"_Unsigned":"false","_FillValue":128}"#, 0)),
            ("float32", "0.0", "[2]", x, r#"{"_FillValue":"AAAAgB2vFUQ="}"#, ("1e20", r#"{"_FillValue":1e20}"#, 0)),
            ("float32", "0.0", "[2]", x, r#"{"_FillValue":"FK5H4XoUQEg="}"#, ("null", "{}", 0)),
            ("int16", "5", "[2]", x, "{}", ("null", "{}", 1)),
            ("int16", "5", "[2]", x, r#"{"_FillValue":-999}"#, ("-999", r#"{"_FillValue":-999}"#, 1)),
            ("bool", "false", "[2]", x, "{}", ("null", "{}", 0)),
            ("float32", "\"NaN\"", "[2]", x, "{}", ("\"NaN\"", "{}", 0)),
            ("float32", "\"NaN\"", "[2]", x, r#"{"_FillValue":"AAAAAAAA+H8="}"#, ("\"NaN\"", "{}", 0)),
            ("float32", "0.0", "[2]", x, r#"{"_FillValue":"AAAAAAAA+H8="}"#, ("\"NaN\"", "{}", 0)),
            ("float32", "\"NaN\"", "[2]", x, r#"{"_FillValue":"AAAAAAAA8L8="}"#, ("-1.0", r#"{"_FillValue":-1.0}"#, 1)),
            ("float32", "0.0", "[2]", x, "{}", ("null", "{}", 0)),
            ("r8", "[0]", "[2]", x, r#"{"_nc_fill_value":"LQ=="}"#, ("\"AA==\"", r#"{"_FillValue":"-"}"#, 0)),
            ("r8", "[0]", "[2]", x, r#"{"_nc_fill_value":"yA=="}"#, ("\"AA==\"", r#"{"_FillValue":[200]}"#, 0)),
            ("r16", "[0,0]", "[2]", x, r#"{"_nc_fill_value":"ab"}"#, ("\"AAA=\"", r#"{"_FillValue":"ab"}"#, 0)),
            ("complex64", "[\"NaN\",0.0]", "[2]", x, "{}", ("[\"NaN\",0.0]", "{}", 0)),
            ("complex64", "[0.0,0.0]", "[2]", x, r#"{"_FillValue":["AAAAAAAA8D8=","AAAAAAAA8L8="]}"#, ("[1.0,-1.0]", "{}", 0)),
        ] {
            let (found, found_attributes, notes) = turned(&v3(data_type, fill, shape, names).unwrap(), attributes, Format::V2);
            let attributes = object(&found_attributes).into_iter().filter(|(name, _)| name != DIMENSIONS).collect();
            assert_eq!((found.as_str(), Value::Object(attributes).to_string().as_str(), notes), want, "{data_type} {fill} {shape}");
            assert_eq!(found_attributes.contains(DIMENSIONS), !names.is_empty() || shape == "[]");
        }
    }

    #[test]
    fn the_fill_values_of_text_are_in_version_2_again_what_they_were() {
        for (dtype, filters, fill) in [("|S1", "null", r#""""#), ("|S1", "null", r#""-""#), ("|O", r#"[{"id":"vlen-utf8"}]"#, r#""*""#)] {
            let old = v2::array_from(object(&format!(
                r#"{{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"{dtype}","fill_value":{fill},"order":"C","filters":{filters},"compressor":null}}"#
            )));
            let old = old.unwrap();
            let attributes = object(r#"{"_FillValue":"-","_ARRAY_DIMENSIONS":["x"]}"#);
            let made = |meta: &ArrayMeta, attributes: Map, to| {
                let mut notes = Vec::new();
                let (new, attributes) = Spec::like(meta, attributes, Some(to), &mut notes).unwrap().resolve(None).unwrap();
                assert!(notes.is_empty(), "{dtype} {fill}: {notes:?}");
                (new, attributes)
            };
            let (v3, attributes) = made(&old, attributes, Format::V3);
            assert!(attributes.contains_key(TEXT_FILL), "{dtype} {fill}: {attributes:?}");
            let (new, attributes) = made(&v3, attributes, Format::V2);
            assert_eq!((new.fill.defined, new.fill.element(new.data_type)), (true, old.fill.element(old.data_type)), "{dtype} {fill}");
            assert_eq!(attributes.get(FILL), Some(&"-".into()), "{dtype} {fill}");
            assert!(!attributes.contains_key(TEXT_FILL), "{dtype} {fill}");
        }
    }

    #[test]
    fn what_is_missing_stays_missing_in_another_type() {
        let v2 = |dtype: &str, fill: &str| {
            v2::array_from(object(&format!(
                r#"{{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"{dtype}","fill_value":{fill},"order":"C","filters":null,"compressor":null}}"#
            )))
        };
        for (dtype, fill, format, data_type, want) in [
            ("<i2", "-999", Format::V2, DataType::Float64, ("-999.0", "{}")),
            ("<i2", "-999", Format::V3, DataType::Float64, ("-999.0", r#"{"_FillValue":"AAAAAAA4j8A="}"#)),
            ("<f4", "\"NaN\"", Format::V2, DataType::Int32, ("null", "{}")),
            ("<f4", "\"NaN\"", Format::V3, DataType::Int32, ("0", "{}")),
            ("<f4", "\"NaN\"", Format::V3, DataType::Float64, ("\"NaN\"", r#"{"_FillValue":"AAAAAAAA+H8="}"#)),
            ("<f8", "-1.0", Format::V3, DataType::Int16, ("-1", r#"{"_FillValue":-1}"#)),
            ("<i4", "70000", Format::V2, DataType::Int16, ("null", "{}")),
            ("<i4", "70000", Format::V3, DataType::Int16, ("0", "{}")),
            ("<i4", "null", Format::V2, DataType::Int16, ("null", "{}")),
            ("<i2", "1", Format::V2, DataType::Bool, ("null", "{}")),
            ("<f4", "0.0", Format::V2, DataType::Bool, ("null", "{}")),
            ("|b1", "true", Format::V2, DataType::Int16, ("1", "{}")),
            // Zeros would be missing that were not.
            ("<f8", "1e-60", Format::V2, DataType::Float32, ("null", "{}")),
            ("<f8", "1e-60", Format::V3, DataType::Float32, ("0.0", "{}")),
            ("<f8", "-0.0", Format::V2, DataType::Float32, ("-0.0", "{}")),
            ("<i2", "1", Format::V3, DataType::Bool, ("true", "{}")),
        ] {
            let mut spec =
                Spec::like(&v2(dtype, fill).unwrap(), object(r#"{"_ARRAY_DIMENSIONS":["x"]}"#), Some(format), &mut Vec::new()).unwrap();
            spec.set_data_type(data_type).unwrap();
            let (new, attributes) = spec.resolve(None).unwrap();
            let document = if format == Format::V2 { v2::write_array(&new) } else { v3::write_array(&new) }.unwrap();
            let attributes = attributes.into_iter().filter(|(name, _)| name != DIMENSIONS).collect();
            let found = (document["fill_value"].to_string(), Value::Object(attributes).to_string());
            assert_eq!((found.0.as_str(), found.1.as_str()), want, "{dtype} {fill} {format:?} {data_type:?}");
        }
    }
}
