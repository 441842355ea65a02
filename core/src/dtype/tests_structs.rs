//! Structs as JSON: their types in v2 and v3, and the values of whole structs.

use super::fill::Fill;
use super::*;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{Value, json};

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
        (r#"{"name":"struct","configuration":{"fields":[{"name":"","data_type":"int8"}]}}"#, Some("configuration.fields[0].name"), "empty"),
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
    assert_eq!(fill.to_json_v2(element).unwrap(), value);
    let object = json!({"a": 1, "v": [1.0, -2.0], "n": {"s": "QUI="}});
    assert_eq!(fill.to_json_v3(native).unwrap(), object);
    let mut again = Fill::from_json_v3(native, &object).unwrap().value.to_element().unwrap();
    again[12] = 9;
    assert_eq!(Fill::from_bytes(&again), fill);
    assert_eq!(Fill::from_json_v2(element, &object).unwrap().element(native)[..12], bytes[..12]);
    assert_eq!(Fill::from_json_v2(element, &json!(0)).unwrap(), Fill::from_bytes(&[0; 13]));
    assert!(!Fill::from_json_v2(element, &Value::Null).unwrap().defined);
    assert_eq!(Fill::from_json_v3(native, &json!({"a": 7})).unwrap().element(native)[..3], [7, 0, 0]);
    // Times that are missing stay missing, also in a struct.
    let times = v2(r#"[["a","<i2"],["t","<M8[s]",[2]],["n",[["d",">m8[ms]"],["b","|u1"]]]]"#).unwrap().data_type.native();
    let given = Fill::from_json_v3(times, &json!({"a": 7, "n": {"b": 1}})).unwrap().element(times);
    let no_time = i64::MIN.to_ne_bytes();
    assert_eq!(given.to_vec(), [&7i16.to_ne_bytes()[..], &no_time, &no_time, &no_time, &[1]].concat());
    // Packed bytes in v3 are in the order of the codec, which is little wherever a writer did this.
    assert_eq!(Fill::from_json_v3(native, &json!("AQAAAIA/AAAAwEFCCQ==")).unwrap(), fill);
    for bad in [json!("AAE="), json!("?"), json!(1), json!([1]), json!({"a": 40000}), json!({"b": 1}), json!({"v": [1]}), json!({"v": 1})] {
        assert_eq!(Fill::from_json_v2(element, &bad).unwrap_err().kind(), ErrorKind::Metadata, "{bad}");
        assert_eq!(Fill::from_json_v3(native, &bad).unwrap_err().kind(), ErrorKind::Metadata, "{bad}");
    }
    assert_eq!(native.field_order(), Some(ByteOrder::Little));
}

#[test]
fn the_fill_value_of_an_only_field_may_be_bare() {
    let one = |fill: Value, field: &str| {
        let data_type = v3(&format!(r#"{{"name":"struct","configuration":{{"fields":[{{"name":"a","data_type":{field}}}]}}}}"#)).unwrap();
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
    for (fill, field) in [(json!(2), r#""bool""#), (json!(40000), r#""int16""#), (json!([1]), r#""int16""#), (json!("?"), r#""float32""#)] {
        assert_eq!(one(fill.clone(), field), Err(ErrorKind::Metadata), "{fill}");
    }
}
