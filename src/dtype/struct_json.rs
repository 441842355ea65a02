//! Structured types as JSON: v2's lists, v3's `struct` and `structured`, and the values of a whole struct.
//! Specification: v2 "Data type encoding"; v3 extensions, data types `struct` and `structured` (its older form, which is read only).
//!
//! v2 `[["x", "<f8"], ["v", ">f4", [3]], ["n", [["a", "<i2"]]], ["", "|V4"]]`: no bytes between fields, each with its own order.
//! v3 `{"name": "struct", "configuration": {"fields": [{"name": "x", "data_type": "float64"}]}}`: no orders, no shapes.

use super::fill::{Fill, brief};
use super::{DataType, Element, ElementType, Field, Kind, Struct, parse_v2, parse_v3, record};
use crate::error::{Result, bail, err};
use crate::json::{Map, Value, json};

/// Reads v2's list of fields.
pub(super) fn parse_list(list: &[Value]) -> Result<&'static Struct> {
    parse_list_at(list, 1)
}

fn parse_list_at(list: &[Value], depth: usize) -> Result<&'static Struct> {
    if depth > record::MAX_DEPTH {
        bail!(Limit, "found structs more than {} deep", record::MAX_DEPTH);
    }
    let field = |(i, value): (usize, &Value)| field_v2(value, depth).map_err(|e| e.at_field(format!("[{i}]")));
    Struct::packed(list.iter().take(record::MAX_FIELDS + 1).enumerate().map(field).collect::<Result<_>>()?)
}

fn field_v2(value: &Value, depth: usize) -> Result<Field> {
    let (name, data_type, shape) = match value.as_array() {
        Some([name, data_type]) => (name, data_type, None),
        Some([name, data_type, shape]) => (name, data_type, Some(shape)),
        _ => bail!(Metadata, "found {}, expected [name, type] or [name, type, shape]", brief(value)),
    };
    let name = match name {
        Value::String(name) => name.clone(),
        Value::Array(_) => bail!(Unsupported, "found the name {}: fields with a title are not supported", brief(name)),
        other => bail!(Metadata, "found {}, expected the name of a field", brief(other)),
    };
    let element = match data_type {
        Value::Array(list) => ElementType::native(DataType::Struct(parse_list_at(list, depth + 1).map_err(|e| e.at_field("[1]"))?)),
        other => parse_v2::parse(other).map_err(|e| e.at_field("[1]"))?,
    };
    if name.is_empty() && !matches!(element.data_type, DataType::Raw(_)) {
        bail!(Metadata, "found a field without a name of type {}; padding is of type |V", brief(data_type));
    }
    let shape = shape.map_or(Ok(Vec::new()), |s| shape_v2(s).map_err(|e| e.at_field("[2]")))?;
    Ok(Field { name: name.to_string(), offset: 0, element, shape })
}

/// `[2, 3]`, or a bare `2`.
fn shape_v2(value: &Value) -> Result<Vec<u64>> {
    let length =
        |v: &Value| v.as_u64().filter(|n| *n >= 1).ok_or_else(|| err!(Metadata, "found {}, expected a length of at least 1", brief(v)));
    match value {
        Value::Array(list) if list.len() > crate::limits::MAX_RANK => {
            bail!(Limit, "found a shape of rank {}, the limit is {}", list.len(), crate::limits::MAX_RANK)
        }
        Value::Array(list) => list.iter().map(length).collect(),
        bare => Ok(vec![length(bare)?]),
    }
}

/// v2's list of fields.
pub(super) fn to_list(s: &Struct) -> Value {
    let field = |f: &Field| {
        let mut entry = vec![Value::from(f.name.as_str()), parse_v2::to_json(f.element)];
        if !f.shape.is_empty() {
            entry.push(Value::from(f.shape.clone()));
        }
        Value::Array(entry.into())
    };
    s.fields().iter().map(field).collect()
}

/// Reads the configuration of `struct` or `structured`: fields as objects, or as pairs.
pub(super) fn parse_configuration(configuration: &Map, depth: usize) -> Result<DataType> {
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
    let data_type = parse_v3::parse_at(data_type, depth + 1).map_err(|e| e.at_field("data_type"))?;
    Ok(Field { name: name.to_string(), offset: 0, element: ElementType::native(data_type), shape: Vec::new() })
}

/// The `data_type` of v3 for a struct that [`check_v3`] accepts.
pub(super) fn to_object(s: &Struct) -> Value {
    let field = |f: &Field| json!({"name": f.name.as_str(), "data_type": parse_v3::to_json(f.element.data_type)});
    json!({"name": "struct", "configuration": {"fields": s.fields().iter().map(field).collect::<Value>()}})
}

/// Refuses structs that v3 has no form for: fields with shapes, without names, or in different byte orders.
pub fn check_v3(data_type: DataType) -> Result<()> {
    if let DataType::Foreign(f) = data_type
        && f.name_v3().is_none()
    {
        bail!(Unsupported, "the data type {:?} was registered without a name in zarr_format 3", f.name());
    }
    let DataType::Struct(s) = data_type else { return Ok(()) };
    if data_type.has_order() && data_type.field_order().is_none() {
        bail!(Unsupported, "the fields have different byte orders, which zarr_format 3 cannot say");
    }
    for f in s.fields() {
        if !f.shape.is_empty() {
            bail!(Unsupported, "the field {:?} has a shape, which zarr_format 3 cannot say", f.name);
        }
        if f.name.is_empty() {
            bail!(Unsupported, "found padding between the fields, which zarr_format 3 cannot say");
        }
        check_v3(f.element.data_type)?;
    }
    Ok(())
}

/// A value of all fields: an object with a member for each (those that are missing are 0), in native order.
pub(super) fn fill_from_object(s: &Struct, members: &Map) -> Result<Fill> {
    let mut out = Element::from_elem(0, s.size());
    if let Some(other) = members.keys().find(|k| s.field(k).is_none()) {
        bail!(Metadata, "found a value of the field {other:?}, which the type does not have");
    }
    for f in s.fields() {
        let Some(value) = members.get(&f.name).filter(|_| !f.name.is_empty()) else { continue };
        let place = out.get_mut(f.offset..f.offset + f.size()).unwrap_or_default();
        put_values(f.element, &f.shape, value, place).map_err(|e| e.at_field(&f.name))?;
    }
    Ok(Fill::from_bytes(&out))
}

/// The value of a struct of one field without that field's name, as TensorStore writes it.
pub(super) fn fill_from_only_field(s: &Struct, value: &Value) -> Option<Fill> {
    match s.fields() {
        [field] if field.shape.is_empty() && field.element.data_type.kind() != Kind::Struct => {
            let mut out = Element::from_elem(0, s.size());
            put_values(ElementType::native(field.element.data_type), &[], value, &mut out).ok()?;
            Some(Fill::from_bytes(&out))
        }
        _ => None,
    }
}

/// The values of a field with a shape are lists in lists.
fn put_values(element: ElementType, shape: &[u64], value: &Value, place: &mut [u8]) -> Result<()> {
    let Some((&n, rest)) = shape.split_first() else {
        let fill = Fill::from_json_v3(element.data_type.native(), value)?;
        return from_native(element, &fill.element(element.data_type), place);
    };
    let Value::Array(items) = value else { bail!(Metadata, "found {}, expected a list of {n} values", brief(value)) };
    if items.len() as u64 != n {
        bail!(Metadata, "found {} values, expected {n}", items.len());
    }
    let step = place.len() / items.len().max(1);
    for (i, (item, place)) in items.iter().zip(place.chunks_mut(step.max(1))).enumerate() {
        put_values(element, rest, item, place).map_err(|e| e.at_field(format!("[{i}]")))?;
    }
    Ok(())
}

/// The object for one native element.
pub(super) fn fill_to_object(s: &Struct, bytes: &[u8]) -> Value {
    let mut members = Map::new();
    for f in s.fields().iter().filter(|f| !f.name.is_empty()) {
        let place = bytes.get(f.offset..f.offset + f.size()).unwrap_or_default();
        members.insert(f.name.as_str().into(), values_of(f.element, &f.shape, place));
    }
    Value::Object(members)
}

fn values_of(element: ElementType, shape: &[u64], place: &[u8]) -> Value {
    match shape.split_first() {
        None => to_native(element, place).map_or(Value::Null, |native| Fill::from_bytes(&native).to_json_v3(element.data_type.native())),
        Some((&n, rest)) => place.chunks((place.len() / n.max(1) as usize).max(1)).map(|part| values_of(element, rest, part)).collect(),
    }
}

/// One element in the order of this host, from the order of `element`.
pub(super) fn to_native(element: ElementType, bytes: &[u8]) -> Result<Element> {
    let native = ElementType::native(element.data_type.native());
    let mut out = Element::from_elem(0, native.size());
    turn(element, native, bytes, &mut out)?;
    Ok(out)
}

/// One element of the order of `element`, from that of this host.
pub(super) fn from_native(element: ElementType, bytes: &[u8], out: &mut [u8]) -> Result<()> {
    turn(ElementType::native(element.data_type.native()), element, bytes, out)
}

fn turn(from: ElementType, to: ElementType, bytes: &[u8], out: &mut [u8]) -> Result<()> {
    if bytes.len() != from.size() || out.len() != to.size() {
        bail!(Internal, "{} bytes of {} for {} of {}", bytes.len(), from.size(), out.len(), to.size());
    }
    let transfer = super::transfer::Transfer::new(from, to)?;
    // SAFETY: one element on either side, of the sizes that were just checked.
    let done = unsafe { transfer.run(super::run::Run::one(bytes.as_ptr(), out.as_mut_ptr())) };
    done.map_err(|_| err!(Internal, "an element does not fit its own type"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ByteOrder;
    use crate::error::{Error, ErrorKind};

    fn v2(text: &str) -> Result<ElementType> {
        parse_v2::parse(&crate::json::parse_text(text).unwrap())
    }

    fn v3(text: &str) -> Result<DataType> {
        parse_v3::parse(&crate::json::parse_text(text).unwrap())
    }

    #[test]
    fn v2_lists_come_back_as_they_are() {
        for (text, size) in [
            (r#"[["field_a",">i2"],["field_b",[["subfield_c",">f4"],["subfield_d","<i2"]]]]"#, 8),
            (r#"[["r","|u1"],["g","|u1"],["b","|u1"]]"#, 3),
            (r#"[["x","<f4"],["y","<f4"],["z","<f4",[2,2]]]"#, 24),
            (
                r#"[["a","|b1"],["","|V7"],["t","<M8[10s]"],["","|V2"],["s","|S3"],["u",">U2"],["n",[["q","<c8"]],[2]]]"#,
                1 + 7 + 8 + 2 + 3 + 8 + 16,
            ),
            (r#"[["α β","<f2"]]"#, 2),
        ] {
            let element = v2(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(element.size(), size);
            assert_eq!(parse_v2::to_json(element).to_string(), text);
        }
        assert_eq!(parse_v2::to_json(v2(r#"[["z","<f4",2]]"#).unwrap()).to_string(), r#"[["z","<f4",[2]]]"#);
    }

    #[test]
    fn lists_that_are_no_types_are_refused_with_their_place() {
        for (text, kind, field, words) in [
            ("[]", ErrorKind::Metadata, None, "0 fields"),
            (r#"["<f4",[2]]"#, ErrorKind::Metadata, Some("[0]"), "[name, type]"),
            (r#"[["x"]]"#, ErrorKind::Metadata, Some("[0]"), "[name, type]"),
            (r#"[["x","<f4",[1],2]]"#, ErrorKind::Metadata, Some("[0]"), "[name, type]"),
            (r#"[["x","<f4"],["x","<f4"]]"#, ErrorKind::Metadata, None, "twice"),
            (r#"[[["title","x"],"<f4"]]"#, ErrorKind::Unsupported, Some("[0]"), "title"),
            (r#"[[3,"<f4"]]"#, ErrorKind::Metadata, Some("[0]"), "name"),
            (r#"[["","<f4"]]"#, ErrorKind::Metadata, Some("[0]"), "padding"),
            (r#"[["x","<q4"]]"#, ErrorKind::Metadata, Some("[0][1]"), "<q4"),
            (r#"[["x","<f4",[0]]]"#, ErrorKind::Metadata, Some("[0][2]"), "at least 1"),
            (r#"[["x","<f4",[-1]]]"#, ErrorKind::Metadata, Some("[0][2]"), "at least 1"),
            (r#"[["x","<f4","3"]]"#, ErrorKind::Metadata, Some("[0][2]"), "at least 1"),
            (r#"[["x","<f8",[4294967296,4294967296,4294967296]]]"#, ErrorKind::Limit, None, "too large"),
            (r#"[["n",[["x","<f4"],["y",[]]]]]"#, ErrorKind::Metadata, Some("[0][1][1][1]"), "0 fields"),
        ] {
            let e = v2(text).unwrap_err();
            assert_eq!((e.kind(), e.field()), (kind, field), "{text}: {e}");
            assert!(e.message().contains(words), "{text}: {e}");
        }
        let deep = (0..40).fold("\"<f4\"".to_string(), |inner, _| format!("[[\"x\",{inner}]]"));
        assert_eq!(v2(&deep).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn both_forms_of_v3_are_read_and_one_is_written() {
        let struct_ = r#"{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"float64"},{"name":"n","data_type":{"name":"struct","configuration":{"fields":[{"name":"t","data_type":{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}}]}}}]}}"#;
        let data_type = v3(struct_).unwrap();
        assert_eq!(data_type.size(), 16);
        assert_eq!(parse_v3::to_json(data_type).to_string(), struct_);
        let pairs = r#"{"name":"structured","configuration":{"fields":[["x",{"name":"float64"}],["n",{"name":"structured","configuration":{"fields":[["t",{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}]]}}]]}}"#;
        assert_eq!(v3(pairs).unwrap(), data_type);
        for (text, field, words) in [
            (r#""struct""#, Some("configuration.fields"), "missing"),
            (r#"{"name":"struct","configuration":{"fields":[]}}"#, Some("configuration.fields"), "0 fields"),
            (r#"{"name":"struct","configuration":{"fields":{}}}"#, Some("configuration.fields"), "list"),
            (
                r#"{"name":"struct","configuration":{"fields":[{"name":"","data_type":"int8"}]}}"#,
                Some("configuration.fields[0].name"),
                "empty",
            ),
            (r#"{"name":"struct","configuration":{"fields":[{"name":"x"}]}}"#, Some("configuration.fields[0].data_type"), "missing"),
            (
                r#"{"name":"struct","configuration":{"fields":[{"name":"x","data_type":"int8","y":1}]}}"#,
                Some("configuration.fields[0].y"),
                "unknown",
            ),
            (r#"{"name":"struct","configuration":{"fields":[["x","int8"]],"more":1}}"#, Some("configuration"), "more"),
            (r#"{"name":"struct","configuration":{"fields":[["x","int9"]]}}"#, Some("configuration.fields[0].data_type"), "int9"),
        ] {
            let e = v3(text).unwrap_err();
            assert!(field.is_none() || e.field() == field, "{text}: {e}");
            assert!(e.to_string().contains(words), "{text}: {e}");
        }
    }

    #[test]
    fn what_v3_cannot_say_is_refused() {
        let check = |text: &str| check_v3(v2(text).unwrap().data_type).map_err(|e: Error| e.message().to_string());
        assert!(check(r#"[["a",">i2"],["b","|u1"],["c",[["d",">f8"]]]]"#).is_ok());
        assert!(check(r#"[["a",">i2"],["b","<i2"]]"#).unwrap_err().contains("byte orders"));
        assert!(check(r#"[["a",">i2"],["c",[["d","<f8"]]]]"#).unwrap_err().contains("byte orders"));
        assert!(check(r#"[["a",">i2",[2]]]"#).unwrap_err().contains("shape"));
        assert!(check(r#"[["a",">i2"],["","|V2"]]"#).unwrap_err().contains("padding"));
    }

    #[test]
    fn fill_values_are_packed_bytes_in_v2_and_objects_in_v3() {
        let element = v2(r#"[["a",">i2"],["v","<f4",[2]],["n",[["s","|S2"]]],["","|V1"]]"#).unwrap();
        let native = element.data_type.native();
        let value = json!("AAEAAIA/AAAAwEFCCQ==");
        let fill = Fill::from_json_v2(element, &value).unwrap();
        let bytes = [&1i16.to_le_bytes()[..], &1f32.to_le_bytes(), &(-2f32).to_le_bytes(), b"AB\x09"].concat();
        assert_eq!(fill.element(native).to_vec(), bytes);
        assert_eq!(fill.to_json_v2(element), value);
        let object = json!({"a": 1, "v": [1.0, -2.0], "n": {"s": "QUI="}});
        assert_eq!(fill.to_json_v3(native), object);
        let mut again = Fill::from_json_v3(native, &object).unwrap();
        again.value[12] = 9;
        assert_eq!(again, fill);
        assert_eq!(Fill::from_json_v2(element, &object).unwrap().element(native)[..12], bytes[..12]);
        assert_eq!(Fill::from_json_v2(element, &json!(0)).unwrap(), Fill::from_bytes(&[0; 13]));
        assert!(!Fill::from_json_v2(element, &Value::Null).unwrap().defined);
        assert_eq!(Fill::from_json_v3(native, &json!({"a": 7})).unwrap().element(native)[..3], [7, 0, 0]);
        // Packed bytes in v3 are in the order of the codec, which is little wherever a writer did this.
        assert_eq!(Fill::from_json_v3(native, &json!("AQAAAIA/AAAAwEFCCQ==")).unwrap(), fill);
        for bad in
            [json!("AAE="), json!("?"), json!(1), json!([1]), json!({"a": 40000}), json!({"b": 1}), json!({"v": [1]}), json!({"v": 1})]
        {
            assert_eq!(Fill::from_json_v2(element, &bad).unwrap_err().kind(), ErrorKind::Metadata, "{bad}");
            assert_eq!(Fill::from_json_v3(native, &bad).unwrap_err().kind(), ErrorKind::Metadata, "{bad}");
        }
        assert_eq!(native.field_order(), Some(ByteOrder::Little));
    }

    #[test]
    fn the_fill_value_of_an_only_field_may_be_bare() {
        let one = |fill: Value, field: &str| {
            let data_type =
                v3(&format!(r#"{{"name":"struct","configuration":{{"fields":[{{"name":"a","data_type":{field}}}]}}}}"#)).unwrap();
            Fill::from_json_v3(data_type, &fill).map(|f| f.element(data_type).to_vec()).map_err(|e| e.kind())
        };
        for (fill, field, bytes) in [
            (json!(true), r#""bool""#, vec![1]),
            (json!(-2), r#""int16""#, vec![0xfe, 0xff]),
            (json!("NaN"), r#""float32""#, vec![0, 0, 0xc0, 0x7f]),
            (json!([1.0, -0.0]), r#""complex64""#, vec![0, 0, 0x80, 0x3f, 0, 0, 0, 0x80]),
            (json!("/v8="), r#""int16""#, vec![0xfe, 0xff]),
        ] {
            assert_eq!(one(fill.clone(), field), Ok(bytes), "{fill}");
        }
        for (fill, field) in
            [(json!(2), r#""bool""#), (json!(40000), r#""int16""#), (json!([1]), r#""int16""#), (json!("?"), r#""float32""#)]
        {
            assert_eq!(one(fill.clone(), field), Err(ErrorKind::Metadata), "{fill}");
        }
    }
}
