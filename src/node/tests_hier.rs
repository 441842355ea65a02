//! Hierarchies as other programs and hostile hands leave them: names, attributes, links, documents that are no JSON.

use super::*;
use crate::dtype::DataType;
use crate::error::ErrorKind;
use crate::node::{Create, Mode, Spec};
use std::sync::{Arc, Mutex};

fn store() -> Store {
    Store::memory(&Context::default())
}

const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[2,3],"data_type":"int8","fill_value":0,
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2,3]}},"chunk_key_encoding":{"name":"default"},"codecs":[{"name":"bytes"}]ATTRIBUTES}"#;

fn with(attributes: &str) -> Array {
    let store = store();
    store.key_put("a/zarr.json", ARRAY.replace("ATTRIBUTES", attributes).as_bytes()).unwrap();
    Array::open(&store, "a").unwrap()
}

fn names(array: &Array) -> Vec<String> {
    array.dimension_names().into_iter().map(|n| n.unwrap_or_default()).collect()
}

#[test]
fn converted_arrays_have_their_names_in_the_attribute() {
    let cases = [
        (r#","attributes":{"_ARRAY_DIMENSIONS":["y","x"]}"#, ["y", "x"]),
        (r#","dimension_names":["b","a"],"attributes":{"_ARRAY_DIMENSIONS":["y","x"]}"#, ["b", "a"]),
        (r#","dimension_names":null,"attributes":{"_ARRAY_DIMENSIONS":["y","x"]}"#, ["y", "x"]),
        (r#","attributes":{"_ARRAY_DIMENSIONS":["y"]}"#, ["", ""]),
        (r#","attributes":{"_ARRAY_DIMENSIONS":"yx"}"#, ["", ""]),
    ];
    for (text, want) in cases {
        assert_eq!(names(&with(text)), want, "{text}");
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = told.clone();
    let call: context::Listener = Arc::new(move |_: Level, text: &str| sink.lock().unwrap().push(text.to_string()));
    let settings = Settings { log: Some(Log { level: Level::Warning, call }), ..Settings::default() };
    let watching = Store::memory(&Context::default().with_settings(settings));
    watching.key_put("a/zarr.json", ARRAY.replace("ATTRIBUTES", cases[1].0).as_bytes()).unwrap();
    Array::open(&watching, "a").unwrap();
    assert!(told.lock().unwrap().iter().any(|t| t.starts_with("XR-05: a/zarr.json")), "{told:?}");
}

#[test]
fn names_can_be_given_to_an_array_that_is_there() {
    for format in [Format::V2, Format::V3] {
        let store = store();
        let mut spec = Spec::new(DataType::Int8, &[2, 3]).unwrap();
        spec.set_format(format).unwrap();
        let array = Array::create(&store, "g/a", &spec, Create::New).unwrap();
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let given = [Some("y".to_string()), Some("x".to_string())];
        array.set_dimension_names(&given).unwrap();
        for open in [Array::open(&store, "g/a").unwrap(), Group::open(&store, "").unwrap().open_array("g/a").unwrap()] {
            assert_eq!(names(&open), ["y", "x"]);
            assert!(open.attributes().names().unwrap().is_empty());
        }
        assert_eq!(array.set_dimension_names(&given[..1]).unwrap_err().kind(), ErrorKind::Rank);
        let half = array.set_dimension_names(&[None, Some("x".into())]);
        assert_eq!(half.is_ok(), format == Format::V3, "{half:?}");
        array.set_dimension_names(&[None, None]).unwrap();
        assert_eq!(names(&Array::open(&store, "g/a").unwrap()), ["", ""]);
    }
}

#[test]
fn attributes_of_programs_are_hidden_unless_they_are_asked_for() {
    let store = store();
    let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
    spec.set_format(Format::V2).unwrap();
    spec.set_dimension_names(vec![Some("x".into())]).unwrap();
    spec.set_attributes_json(r#"{"units":"m","_nczarr_array":{"x":1},"_NCProperties":"v","_n":1}"#).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let attributes = array.attributes();
    assert_eq!(attributes.names().unwrap(), ["units", "_n"]);
    assert_eq!(attributes.get_json("_ARRAY_DIMENSIONS").unwrap(), "[\"x\"]");
    attributes.replace_json(r#"{"title":"t"}"#).unwrap();
    assert_eq!(attributes.names().unwrap(), ["title"]);
    assert_eq!(names(&Array::open(&store, "a").unwrap()), ["x"]);
    assert_eq!(attributes.all().unwrap().len(), 4);
    attributes.set_raw(true);
    assert_eq!(attributes.names().unwrap().len(), 4);
    attributes.replace_json("{}").unwrap();
    assert!(attributes.all().unwrap().is_empty());
    // In version 3 the names have a place of their own, and xarray shows all attributes of an array.
    let array = with(r#","attributes":{"_nc":1,"_ARRAY_DIMENSIONS":["y","x"]}"#);
    assert_eq!(array.attributes().names().unwrap(), ["_nc", "_ARRAY_DIMENSIONS"]);
}

/// What is no JSON, or more than it should be: an error that says where, or a value that survives.
#[test]
fn documents_that_are_no_json_are_refused_and_odd_ones_survive() {
    let deep = format!(r#","attributes":{{"d":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let cases = [
        (",// a comment", "line"),
        (",/* a comment */", "line"),
        (r#","attributes":{"a":1,}"#, "trailing comma"),
        (r#","attributes":{"a":[1,]}"#, "trailing comma"),
        (r#","attributes":{'a':1}"#, "line"),
        (r#","attributes":{"a":01}"#, "invalid number"),
        (r#","attributes":{"a":0x1}"#, "line"),
        (r#","attributes":{"a":"\x01"}"#, "escape"),
        (r#","attributes":{"a":"\ud800"}"#, "escape"),
        (&deep, "recursion limit"),
    ];
    for (text, words) in cases {
        let store = store();
        store.key_put("a/zarr.json", ARRAY.replace("ATTRIBUTES", text).as_bytes()).unwrap();
        let e = Array::open(&store, "a").err().unwrap();
        let shown = &text[..text.len().min(60)];
        assert!(e.kind() == ErrorKind::Metadata && e.key() == Some("a/zarr.json") && e.to_string().contains(words), "{shown}: {e}");
        assert_eq!(store.node_kind("a").unwrap(), NodeKind::Unknown);
    }
    let digits = "9".repeat(100_000);
    let array = with(&format!(r#","attributes":{{"n":{digits},"e":1e999,"u":18446744073709551615,"x":1,"x":2,"":0,"\u0000":3}}"#));
    let attributes = array.attributes();
    assert_eq!(attributes.get_json("n").unwrap(), digits);
    for name in ["n", "e"] {
        assert_eq!(attributes.get_f64(name).unwrap_err().kind(), ErrorKind::Range, "{name}");
    }
    assert_eq!((attributes.get_u64("u").unwrap(), attributes.get_i64("x").unwrap(), attributes.get_i64("").unwrap()), (u64::MAX, 2, 0));
    attributes.set_i64("x", 5).unwrap();
    let again = Array::open(array.store(), "a").unwrap();
    assert_eq!(again.attributes().get_json("n").unwrap(), digits);
    assert_eq!(again.attributes().names().unwrap(), ["n", "e", "u", "x", "", "\0"]);
}

#[test]
fn numbers_of_attributes_are_exact() {
    let store = store();
    let group = Group::create(&store, "", None, Create::New).unwrap();
    let attributes = group.attributes();
    let reals = [0.1, f64::MIN_POSITIVE, 5e-324, f64::MAX, -0.0, 1.0 / 3.0, 123_456_789.123_456_78];
    attributes.set_f64s("reals", &reals).unwrap();
    attributes.set_i64s("integers", &[i64::MIN, -1, i64::MAX]).unwrap();
    attributes.set_u64("u", u64::MAX).unwrap();
    let attributes = Group::open(&store, "").unwrap();
    let attributes = attributes.attributes();
    let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&attributes.get_f64s("reals").unwrap()), bits(&reals));
    assert_eq!(attributes.get_i64s("integers").unwrap(), [i64::MIN, -1, i64::MAX]);
    assert_eq!(attributes.get_u64("u").unwrap(), u64::MAX);
    assert_eq!(attributes.get_i64("u").unwrap_err().kind(), ErrorKind::Range);
    assert_eq!(attributes.get_i64s("reals").unwrap_err().kind(), ErrorKind::Type);
    assert_eq!(group.attributes().set_f64s("reals", &[f64::NAN]).unwrap_err().kind(), ErrorKind::Range);
}

/// 100,000 levels do not fit into a key; as many as do are walked.
#[test]
fn hierarchies_of_many_levels_end_at_the_limit_of_a_path() {
    let store = store();
    let deep = vec!["g"; 480].join("/");
    Group::create(&store, &deep, None, Create::New).unwrap();
    let too_deep = vec!["g"; 100_000].join("/");
    assert_eq!(Group::create(&store, &too_deep, None, Create::New).err().unwrap().kind(), ErrorKind::Name);
    assert_eq!(Group::open(&store, &too_deep).err().unwrap().kind(), ErrorKind::Name);
    let root = Group::open(&store, "").unwrap();
    assert_eq!(root.nodes(usize::MAX).unwrap().len(), 480);
    assert_eq!(root.tree(usize::MAX).unwrap().lines().count(), 480);
    root.consolidate().unwrap();
    assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]));
}

#[test]
fn step_keeps_consolidated_metadata_from_the_first_change_on() {
    let shared = Arc::new(crate::store::memory::MemoryStore::new());
    let options = Options { consolidate: store::Consolidate::Step, ..Options::default() };
    let store = Store::new(&Context::default(), shared.clone(), Mode::ReadWrite, options);
    let root = Group::create(&store, "", None, Create::New).unwrap();
    Array::create(&store, "a", &Spec::new(DataType::Int8, &[2]).unwrap(), Create::New).unwrap();
    root.attributes().set_i64("n", 1).unwrap();
    let reader = Store::from_shared(&Context::default(), shared, Mode::Read);
    assert_eq!(Group::open(&reader, "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
}

/// Another process consolidated while this one made a node, and did not see it.
#[test]
fn what_others_missed_when_they_consolidated_is_added_on_close() {
    for format in [Format::V2, Format::V3] {
        let shared = Arc::new(crate::store::memory::MemoryStore::new());
        let store = Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite);
        let document = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_dimension_names(vec![Some("x".into())]).unwrap();
        Array::create(&store, "g/a", &spec, Create::New).unwrap();
        store.close(None).unwrap();
        let early = store.key_get(document).unwrap().unwrap();
        Array::create(&store, "g/b", &spec, Create::New).unwrap();
        store.key_put(document, &early).unwrap();
        let root = Group::open(&store, "").unwrap();
        assert!(!root.consolidated_differences().unwrap().unwrap().is_empty());
        store.close(None).unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
    }
}
