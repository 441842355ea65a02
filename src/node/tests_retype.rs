//! Copies with another type of the elements: the values are those of the source, and what speaks of the old type goes or is refused.

use super::tests::{memory, object, own, put};
use super::*;
use crate::dtype::base64_text::double_to_base64;
use crate::dtype::variable::VarItem;
use crate::dtype::{DataType, Overflow};
use crate::engine::{Memory, Selection};
use crate::error::{ErrorKind, Result};
use crate::store::StorageExt;

fn values(array: &Array) -> Vec<f64> {
    let shape = array.shape();
    let mut values = vec![f64::NAN; shape.iter().product::<u64>() as usize];
    own!(array.read(&Selection::all(&shape), &Memory::of(&mut values, &shape, DataType::Float64)).unwrap());
    values
}

fn write(array: &Array, values: &mut [f64]) {
    let shape = array.shape();
    own!(array.write(&Selection::all(&shape), &Memory::of(values, &shape, DataType::Float64)).unwrap());
}

fn copied(from: &Store, to: &Store, options: RechunkOptions, change: &dyn Fn(&mut Spec) -> Result<()>) -> Result<RechunkReport> {
    from.rechunk_node("a", (to, "a"), options, &mut |_, spec| change(spec), &mut |_, _| Ok(()))
}

/// What a table of codecs starts from: the type, the member with the codecs, and they.
type Source = (DataType, &'static str, &'static str);

const SOURCES: &[Source] = {
    use DataType::{Bool, Float32, Float64, Int16, Int32};
    &[
        (Int32, "filters", r#"[{"id":"delta","dtype":"<i4"}]"#),
        (Int32, "filters", r#"[{"id":"delta","dtype":"<i4","astype":"<i2"}]"#),
        (Float32, "filters", r#"[{"id":"delta","dtype":"<f4"}]"#),
        (
            Float64,
            "filters",
            r#"[{"id":"fixedscaleoffset","offset":0,"scale":10,"dtype":"<f8","astype":"<i2"},{"id":"delta","dtype":"<i2"}]"#,
        ),
        (Float64, "filters", r#"[{"id":"quantize","digits":1,"dtype":"<f8"}]"#),
        (Float32, "filters", r#"[{"id":"quantize","digits":1,"dtype":"<f4"},{"id":"shuffle","elementsize":4}]"#),
        (Float32, "filters", r#"[{"id":"bitround","keepbits":5}]"#),
        (Int32, "filters", r#"[{"id":"bitround","keepbits":3}]"#),
        (Float64, "filters", r#"[{"id":"astype","decode_dtype":"<f8","encode_dtype":"<f4"}]"#),
        (Bool, "filters", r#"[{"id":"packbits"}]"#),
        (Float32, "filters", r#"[{"id":"zfpy","mode":2,"rate":8,"tolerance":-1,"precision":-1}]"#),
        (Int32, "filters", r#"[{"id":"zfpy","mode":3,"precision":20,"rate":-1,"tolerance":-1}]"#),
        (Int16, "compressor", r#"{"id":"pcodec","level":8}"#),
        (Int16, "codecs", r#"["packbits","crc32c"]"#),
        (Int16, "codecs", r#"[{"name":"packbits","configuration":{"first_bit":0,"last_bit":8}}]"#),
        (
            Float64,
            "codecs",
            r#"[{"name":"scale_offset","configuration":{"scale":10}},{"name":"cast_value","configuration":{"data_type":"uint16"}},{"name":"bytes","configuration":{"endian":"little"}}]"#,
        ),
        (
            Float32,
            "codecs",
            r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bitround","configuration":{"keepbits":5}},{"name":"bytes","configuration":{"endian":"big"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#,
        ),
        (Int32, "codecs", r#"[{"name":"zfp","configuration":{"mode":"fixed_precision","precision":20}}]"#),
        (Float32, "codecs", r#"[{"name":"https://codec.zarrs.dev/array_to_bytes/zfp","configuration":{"mode":"fixed_rate","rate":16}}]"#),
        (Bool, "codecs", r#"[{"name":"https://codec.zarrs.dev/array_to_bytes/packbits"}]"#),
    ]
};

#[test]
fn a_copy_of_another_type_has_the_values_of_the_source_whatever_its_codecs() {
    use DataType::{Bool, Float16, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16};
    for (data_type, member, codecs) in SOURCES {
        let mut spec = Spec::new(*data_type, &[8]).unwrap();
        spec.set_chunks(&[4]).unwrap();
        spec.set_member_json(member, codecs).unwrap();
        let from = memory();
        let source = Array::create(&from, "a", &spec, Create::New).unwrap_or_else(|e| panic!("{codecs}: {e}"));
        for wanted_type in
            [Bool, Int8, UInt8, Int16, UInt16, Int32, Int64, Float16, Float32, Float64].into_iter().filter(|t| t != data_type)
        {
            let is_bool = *data_type == Bool || wanted_type == Bool;
            let given = if is_bool { [0., 1., 1., 0., 1., 1., 1., 0.] } else { [0.0, 1.6, 2.0, 37.1, 64.25, 99.9, 25.7, 3.0] };
            write(&source, &mut given.clone());
            let read = values(&source);
            if matches!(wanted_type, UInt8 | UInt16) && read.iter().any(|x| *x < 0.0) {
                continue;
            }
            let plain = Array::create(&memory(), "a", &Spec::new(wanted_type, &[8]).unwrap(), Create::New).unwrap();
            write(&plain, &mut read.clone());
            for format in [Format::V2, Format::V3] {
                let (to, options) = (memory(), RechunkOptions { format: Some(format), ..RechunkOptions::default() });
                let done = copied(&from, &to, options, &|spec| spec.set_data_type(wanted_type));
                let at = format!("{codecs} {wanted_type:?} {format:?}");
                if codecs.contains("pcodec")
                    && let Err(e) = &done
                {
                    assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("pcodec"), "{at}: {e}");
                    continue;
                }
                let report = done.unwrap_or_else(|e| panic!("{at}: {e}"));
                let found = values(&Array::open(&to, "a").unwrap());
                if !report.notes.iter().any(|note| note.contains("zfp rounds")) {
                    assert_eq!(found, values(&plain), "{at}");
                }
            }
        }
    }
}

#[test]
fn attributes_of_the_elements_of_one_type_go_or_follow() {
    use DataType::{Bool, Float32, Int8, Int16, Int64, UInt8};
    let unsigned = r#"{"_Unsigned":"true"}"#;
    for (old, attributes, new, wanted) in [
        (Float32, unsigned, Int8, "{}"),
        (UInt8, unsigned, Int16, "{}"),
        (Int8, unsigned, Int8, unsigned),
        (Int64, r#"{"_FillValue":-9.223372036854776e18}"#, Float32, r#"{"_FillValue":"AAAAAAAA4MM="}"#),
        (Bool, r#"{"_FillValue":true}"#, Float32, r#"{"_FillValue":"AAAAAAAA8D8="}"#),
        (Float32, r#"{"_FillValue":"FK5H4XoUQEg="}"#, Int64, "{}"),
        (Int16, r#"{"_FillValue":[-3]}"#, Float32, r#"{"_FillValue":"AAAAAAAACMA="}"#),
        (Int16, r#"{"_FillValue":-3,"ozarr_digest":"00"}"#, Bool, "{}"),
        (Int16, r#"{"_FillValue":-3,"ozarr_digest":"00"}"#, Float32, r#"{"_FillValue":"AAAAAAAACMA="}"#),
        (Int16, r#"{"ozarr_digest":"00"}"#, Int16, r#"{"ozarr_digest":"00"}"#),
    ] {
        let (from, to) = (memory(), memory());
        let mut spec = Spec::new(old, &[2]).unwrap();
        spec.set_attributes_json(attributes).unwrap();
        write(&Array::create(&from, "a", &spec, Create::New).unwrap(), &mut [1.0, 0.0]);
        copied(&from, &to, RechunkOptions::default(), &|spec| spec.set_data_type(new)).unwrap();
        assert_eq!(attributes_of(&to), wanted, "{old:?} {attributes} {new:?}");
    }
}

#[test]
fn a_copy_tells_of_what_was_missing_where_it_is_not_any_more_and_only_there() {
    use DataType::{Complex64, Float32, Float64, Int16};
    use Format::{V2, V3};
    for (format, old, told, new, wanted, is_told) in [
        (V2, Float32, r#""NaN""#, Float64, Some(r#""NaN""#), false),
        (V2, Float32, "NaN", Float64, Some("NaN"), false),
        (V2, Float64, "-Infinity", Float32, Some("-Infinity"), false),
        (V2, Float64, "1e20", Float32, Some("1.0000000200408773e20"), false),
        (V2, Float64, "-999.0", Int16, Some("-999.0"), false),
        (V2, Float64, "1e20", Int16, None, true),
        (V2, Float32, "NaN", Int16, None, true),
        (V2, Float32, "1e40", Float64, None, false),
        (V2, Float32, "1e-50", Float64, None, false),
        (V2, Float32, "-9999.0", Complex64, Some("-9999.0"), false),
        (V3, Float32, r#""AAAAAAAA+P8=""#, Float64, Some(r#""AAAAAAAA+H8=""#), false),
        (V3, Float32, "Infinity", Float64, Some(r#""AAAAAAAA8H8=""#), false),
        (V3, Float32, r#""AAAAAAAA8H8=""#, Int16, None, true),
    ] {
        let (from, to, at) = (memory(), memory(), format!("{format:?} {old:?} {told} {new:?}"));
        let mut spec = Spec::new(old, &[2]).unwrap();
        spec.set_format(format).unwrap();
        if format == V2 {
            spec.set_fill_json("null").unwrap();
        }
        write(&Array::create(&from, "a", &spec, Create::New).unwrap(), &mut [1.0, 0.0]);
        let key = if format == V2 { "a/.zattrs" } else { "a/zarr.json" };
        let mut document = if format == V2 { Map::new() } else { super::tests::object(&from, key) };
        let attributes = format!(r#"{{"_FillValue":{told}}}"#);
        let text = match format {
            V2 => attributes,
            V3 => {
                document.insert("attributes".into(), Map::new().into());
                Value::Object(document).to_string().replace(r#""attributes":{}"#, &format!(r#""attributes":{attributes}"#))
            }
        };
        put(&from, key, &text);
        let report = copied(&from, &to, RechunkOptions::default(), &|spec| spec.set_data_type(new)).unwrap_or_else(|e| panic!("{at}: {e}"));
        let wanted = wanted.map_or("{}".into(), |wanted| format!(r#"{{"_FillValue":{wanted}}}"#));
        assert_eq!((attributes_of(&to), !report.notes.is_empty()), (wanted, is_told), "{at}: {:?}", report.notes);
    }
}

#[test]
fn a_further_type_is_refused_where_attributes_have_followed_one() {
    use DataType::{Float32, Int8, Int32, UInt8};
    let (away, back): (&[DataType], &[DataType]) = (&[Float32], &[Float32, Int8]);
    for (attributes, types, is_refused) in [
        (r#"{"_Unsigned":"true","_FillValue":-1,"valid_max":-2}"#, back, true),
        (r#"{"_Unsigned":"true","valid_max":-2}"#, &[UInt8, Int8], true),
        (r#"{"_Unsigned":"true"}"#, &[UInt8, Float32, Int8], true),
        (r#"{"_FillValue":-1}"#, &[Int32, UInt8, Int8], true),
        (r#"{"_FillValue":-1}"#, &[Float32, Int32], true),
        (r#"{"missing_value":-1}"#, &[UInt8, Int32], true),
        (r#"{"missing_value":-1}"#, &[Float32, Int32], false),
        (r#"{"_Unsigned":"true","_FillValue":-1,"valid_max":-2}"#, away, false),
        (r#"{"_Unsigned":"true","_FillValue":-1,"valid_max":-2}"#, &[Int8, Float32, Float32], false),
        (r#"{"units":"K","valid_max":-2}"#, back, false),
        (r#"{"ozarr_digest":"00"}"#, back, false),
    ] {
        let (from, to, at) = (memory(), memory(), format!("{attributes} {types:?}"));
        let mut spec = Spec::new(Int8, &[2]).unwrap();
        spec.set_attributes_json(attributes).unwrap();
        write(&Array::create(&from, "a", &spec, Create::New).unwrap(), &mut [1.0, -56.0]);
        let done = copied(&from, &to, RechunkOptions::default(), &|spec| types.iter().try_for_each(|new| spec.set_data_type(*new)));
        let found = done.map(|_| ()).map_err(|e| (e.kind(), e.to_string().contains("data_type")));
        assert_eq!(found, if is_refused { Err((ErrorKind::Argument, true)) } else { Ok(()) }, "{at}");
    }
}

fn attributes_of(store: &Store) -> String {
    Value::Object(Array::open(store, "a").unwrap().attributes().shown().unwrap()).to_string()
}

#[test]
fn a_copy_of_integers_that_mean_those_of_the_other_sign_has_the_numbers_that_they_mean() {
    use DataType::{Float32, Int8, Int16, UInt8, UInt32};
    // As bits: 200 and -56, 255 and -1, 5.
    let (signed, unsigned) = ([-56.0, -1.0, 5.0], [200.0, 255.0, 5.0]);
    for (old, new, numbers, fill) in [
        (Int8, UInt8, unsigned, "255"),
        (Int8, Int16, unsigned, "255"),
        (Int8, UInt32, unsigned, "255"),
        (Int8, Float32, unsigned, r#""AAAAAADgb0A=""#),
        (UInt8, Int8, signed, "-1"),
        (UInt8, Int16, signed, "-1"),
        (UInt8, Float32, signed, r#""AAAAAAAA8L8=""#),
    ] {
        for (format, overflow, said) in
            [(Format::V2, Overflow::Error, None), (Format::V3, Overflow::Saturate, Some("-1")), (Format::V3, Overflow::Wrap, Some("255"))]
        {
            let (from, to, at) = (memory(), memory(), format!("{old:?} {new:?} {format:?} {said:?}"));
            let mut spec = Spec::new(old, &[6]).unwrap();
            spec.set_chunks(&[3]).unwrap();
            spec.set_format(format).unwrap();
            spec.set_dimension_names(vec![Some("x".into())]).unwrap();
            spec.set_fill_json(if old == Int8 { "-1" } else { "255" }).unwrap();
            let told = said.map(|said| format!(r#","_FillValue":{said}"#)).unwrap_or_default();
            spec.set_attributes_json(&format!(r#"{{"_Unsigned":"{}"{told}}}"#, old == Int8)).unwrap();
            let source = Array::create(&from, "a", &spec, Create::New).unwrap();
            let mut bits = if old == Int8 { signed } else { unsigned };
            let half = Selection::new(&[6], &[0], &[3], None).unwrap();
            own!(source.write(&half, &Memory::of(&mut bits, &[3], DataType::Float64)).unwrap());
            let options = RechunkOptions { overflow, ..RechunkOptions::default() };
            let report = copied(&from, &to, options, &|spec| spec.set_data_type(new)).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert!(report.notes.is_empty(), "{at}: {:?}", report.notes);
            let copy = Array::open(&to, "a").unwrap();
            assert_eq!(values(&copy), [&numbers[..], &[numbers[1]; 3]].concat(), "{at}");
            let chunks = to.shared().keys("a/").unwrap().iter().filter(|key| key.ends_with('0') || key.ends_with('1')).count();
            assert_eq!(chunks, 1, "{at}: chunks of nothing but the fill value are not stored");
            let attributes = attributes_of(&to);
            let wanted = if said.is_some() { format!(r#"{{"_FillValue":{fill}}}"#) } else { "{}".into() };
            assert_eq!(attributes, wanted, "{at}");
        }
    }
    // What they mean may not fit.
    for (new, overflow, wanted) in [(Int8, Overflow::Saturate, Ok(vec![127.0, 5.0])), (Int8, Overflow::Error, Err(ErrorKind::Range))] {
        let (from, to) = (memory(), memory());
        let mut spec = Spec::new(Int16, &[2]).unwrap();
        spec.set_attributes_json(r#"{"_Unsigned":"true"}"#).unwrap();
        write(&Array::create(&from, "a", &spec, Create::New).unwrap(), &mut [-1.0, 5.0]);
        let options = RechunkOptions { overflow, ..RechunkOptions::default() };
        let done = copied(&from, &to, options, &|spec| spec.set_data_type(new));
        assert_eq!(done.map(|_| values(&Array::open(&to, "a").unwrap())).map_err(|e| e.kind()), wanted, "{overflow:?}");
    }
}

#[test]
fn what_is_no_number_stays_missing_in_a_copy_of_version_2_and_nothing_is_told() {
    for value in ["NaN", r#""NaN""#, "Infinity", r#""Infinity""#] {
        let (from, to) = (memory(), memory());
        let document =
            r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<f4","fill_value":null,"order":"C","filters":null,"compressor":null}"#;
        put(&from, "a/.zarray", document);
        put(&from, "a/.zattrs", &format!(r#"{{"_FillValue":{value},"_ARRAY_DIMENSIONS":["x"]}}"#));
        let report = copied(&from, &to, RechunkOptions::default(), &|spec| spec.set_data_type(DataType::Float64)).unwrap();
        assert_eq!(report.notes, Vec::<String>::new(), "{value}");
        let found = Array::open(&to, "a").unwrap().attributes().all().unwrap().get("_FillValue").map(ToString::to_string);
        assert_eq!(found.as_deref(), Some(value));
    }
}

#[test]
fn a_fill_value_that_the_codecs_change_stays_where_whole_chunks_are_missing_and_is_told_of_elsewhere() {
    let scaled = r#"{"name":"numcodecs.fixedscaleoffset","configuration":{"offset":0,"scale":10,"dtype":"<f4","astype":"<i2"}}"#;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"float32","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":1e36,"dimension_names":["x"],"codecs":[{scaled},{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}"#
    );
    let from = memory();
    put(&from, "a/zarr.json", &document);
    let source = Array::open(&from, "a").unwrap();
    let half = Selection::new(&[8], &[0], &[4], None).unwrap();
    own!(source.write(&half, &Memory::of(&mut [1.0, 2.0, 3.0, 4.0], &[4], DataType::Float64)).unwrap());
    type Change = fn(&mut Spec) -> Result<()>;
    let (told, fill) = ("the codecs change the fill value", f64::from(1e36f32));
    let cases: [(&str, Option<Format>, Change, bool); 5] = [
        ("version 2", Some(Format::V2), |_| Ok(()), false),
        ("another compressor", None, |spec| spec.set_compressor("gzip", None), false),
        ("smaller chunks", None, |spec| spec.set_chunks(&[2]), false),
        ("larger chunks", None, |spec| spec.set_chunks(&[8]), true),
        ("larger chunks of another type", None, |spec| spec.set_chunks(&[8]).and_then(|()| spec.set_data_type(DataType::Float64)), false),
    ];
    for (name, format, change, is_told) in cases {
        let to = memory();
        let report = copied(&from, &to, RechunkOptions { format, ..RechunkOptions::default() }, &change).unwrap();
        let found = values(&Array::open(&to, "a").unwrap());
        if name != "larger chunks" {
            assert_eq!(found, [1.0, 2.0, 3.0, 4.0, fill, fill, fill, fill], "{name}");
        }
        if name != "smaller chunks" {
            assert_eq!(report.notes.iter().any(|note| note.contains(told)), is_told, "{name}: {:?}", report.notes);
        }
    }
}

#[test]
fn a_copy_of_strings_as_bytes_and_back_has_the_same_bytes_in_each_version_and_bytes_that_are_no_text_are_an_error() {
    use DataType::{VarBytes, VarText};
    use Format::{V2, V3};
    let valid: [&[u8]; 5] = ["größe".as_bytes(), b"", b"a\0b", b"end\0", b"long enough to be kept apart"];
    for (old, new, elements, wanted) in [
        (VarText, VarBytes, valid, Ok(())),
        (VarBytes, VarText, valid, Ok(())),
        (VarBytes, VarText, [b"a", b"\xff", b"", b"", b""], Err(ErrorKind::Range)),
    ] {
        for (from_format, to_format) in [(V2, V2), (V2, V3), (V3, V2), (V3, V3)] {
            let (from, to, at) = (memory(), memory(), format!("{old:?} {new:?} {from_format:?} {to_format:?}"));
            let mut spec = Spec::new(old, &[9]).unwrap();
            spec.set_format(from_format).unwrap();
            spec.set_chunks(&[3]).unwrap();
            let source = Array::create(&from, "a", &spec, Create::New).unwrap();
            let mut items = elements.map(VarItem::new);
            let part = Selection::new(&[9], &[0], &[5], None).unwrap();
            let memory = Memory { arena: Some(Default::default()), ..Memory::of(&mut items, &[5], old) };
            own!(source.write(&part, &memory).unwrap());
            let options = RechunkOptions { format: Some(to_format), ..RechunkOptions::default() };
            let change = |spec: &mut Spec| spec.set_chunks(&[2]).and_then(|()| spec.set_data_type(new));
            let done = copied(&from, &to, options, &change);
            assert_eq!(done.as_ref().map(|_| ()).map_err(|e| e.kind()), wanted, "{at}");
            if done.is_ok() {
                let copy = Array::open(&to, "a").unwrap();
                assert_eq!(copy.data_type(), new, "{at}");
                let (mut found, shape) = ([VarItem::EMPTY; 9], copy.shape());
                let memory = Memory { arena: Some(Default::default()), ..Memory::of(&mut found, &shape, new) };
                own!(copy.read(&Selection::all(&shape), &memory).unwrap());
                // SAFETY: the arena lives as long as the memory.
                let bytes = found.iter().map(|item| unsafe { item.bytes() });
                assert!(bytes.eq(valid.into_iter().chain([&b""[..]; 4])), "{at}");
                // What is read has the type of the array, or none that keeps bytes.
                let refused = own!(copy.read(&Selection::all(&shape), &Memory { data_type: old, ..memory.clone() }));
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::Type, "{at}");
            }
        }
    }
}

#[test]
fn a_copy_of_text_as_another_has_the_fill_value_of_the_source_or_none_in_version_2() {
    use DataType::{Bytes, VarBytes, VarText};
    use Format::{V2, V3};
    for (old, new, format, fill, wanted) in [
        (VarText, VarBytes, V2, "null", "null"),
        (VarText, VarBytes, V2, r#""x""#, r#""eA==""#),
        (VarText, VarBytes, V3, r#""x""#, r#""eA==""#),
        (VarBytes, VarText, V2, "null", "null"),
        (VarBytes, VarText, V2, r#""eA==""#, r#""x""#),
        (Bytes(3), VarText, V2, "null", "null"),
        (Bytes(3), VarText, V2, r#""eA==""#, r#""x""#),
    ] {
        let (from, to) = (memory(), memory());
        let mut spec = Spec::new(old, &[2]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_dimension_names(vec![Some("x".into())]).unwrap();
        spec.set_fill_json(fill).unwrap();
        Array::create(&from, "a", &spec, Create::New).unwrap();
        let done = copied(&from, &to, RechunkOptions::default(), &|spec| spec.set_data_type(new));
        let at = format!("{old:?} {new:?} {format:?} {fill}");
        done.unwrap_or_else(|e| panic!("{at}: {e}"));
        let document = super::tests::object(&to, if format == V2 { "a/.zarray" } else { "a/zarr.json" });
        assert_eq!(document["fill_value"].to_string(), wanted, "{at}");
    }
}

#[test]
fn zeros_are_not_missing_in_a_copy_whose_type_rounds_what_is_missing_to_them() {
    let tiny = 1e-60;
    for (format, is_named, fill, notes) in [
        (Format::V2, true, "null", 1),
        // Nothing is missing there, and what is not stored is what it becomes.
        (Format::V2, false, "0.0", 0),
        (Format::V3, true, "null", 1),
    ] {
        let (from, to) = (memory(), memory());
        let mut spec = Spec::new(DataType::Float64, &[6]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_chunks(&[2]).unwrap();
        if is_named {
            spec.set_dimension_names(vec![Some("x".into())]).unwrap();
        }
        spec.set_fill(DataType::Float64, &f64::to_ne_bytes(tiny)).unwrap();
        if format == Format::V3 {
            spec.set_attributes_json(&format!(r#"{{"_FillValue":"{}"}}"#, double_to_base64(tiny))).unwrap();
        }
        let source = Array::create(&from, "a", &spec, Create::New).unwrap();
        let shape = source.shape();
        let mut some = [0.0, tiny, 3.0];
        own!(source.write(&Selection::new(&shape, &[0], &[3], None).unwrap(), &Memory::of(&mut some, &[3], DataType::Float64)).unwrap());
        let options = RechunkOptions { format: Some(Format::V2), ..RechunkOptions::default() };
        let report = copied(&from, &to, options, &|spec| spec.set_data_type(DataType::Float32)).unwrap();
        let found = object(&to, "a/.zarray")["fill_value"].to_string();
        assert_eq!((found.as_str(), report.notes.len()), (fill, notes), "{format:?} {is_named}: {:?}", report.notes);
        assert_eq!(values(&Array::open(&to, "a").unwrap()), [0.0, 0.0, 3.0, 0.0, 0.0, 0.0], "{format:?} {is_named}");
    }
}
