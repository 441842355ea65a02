//! Hierarchies as other programs and hostile hands leave them: names, attributes, links, documents that are no JSON.

use super::tests::{kind, spec_as};
use super::tests_store::Due;
use super::*;
use crate::dtype::DataType;
use crate::error::ErrorKind;
use crate::node::{Create, Mode, Spec};
use crate::settings::apart;
use crate::store::latency::LatencyStore;
use crate::store::suite::TestFolder;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
    array.dimension_names().unwrap().into_iter().map(|n| n.unwrap_or_default()).collect()
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
fn a_node_below_a_group_of_another_format_is_told_to_the_log() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = told.clone();
    let call: context::Listener = Arc::new(move |_: Level, text: &str| sink.lock().unwrap().push(text.to_string()));
    let settings = Settings { log: Some(Log { level: Level::Warning, call }), ..Settings::default() };
    let store = Store::memory(&Context::default().with_settings(settings));
    Group::create(&store, "g", Some(Format::V3), Create::New).unwrap();
    for (format, path) in [(Format::V3, "g/a"), (Format::V2, "g/b/c"), (Format::V2, "h/d")] {
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(format).unwrap();
        Array::create(&store, path, &spec, Create::New).unwrap();
    }
    let told = told.lock().unwrap();
    let expected = "is made in format 2 below g, a group in format 3: other programs, such as zarr-python, do not find it";
    assert!(told.len() == 2 && told[0].contains("g/b/c of ") && told[0].ends_with(expected), "{told:?}");
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
fn attributes_that_cannot_be_read_are_not_taken_for_an_array_without_names() {
    use crate::store::fault;
    use crate::store::os::Call;
    let folder = TestFolder::new("unread-names");
    let open = || Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[("file.sync", "none")]).unwrap();
    let mut spec = Spec::new(DataType::Int8, &[2, 2]).unwrap();
    spec.set_format(Format::V2).unwrap();
    spec.set_dimension_names(vec![Some("y".into()), Some("x".into())]).unwrap();
    Array::create(&open(), "a", &spec, Create::New).unwrap();
    let mut failed = [0; 2];
    for (i, call) in [Call::Open, Call::Read].into_iter().enumerate() {
        for after in 0..20 {
            let store = open();
            let hit = fault::Fault { after, ..fault::fail(call, libc::EIO) };
            let (read, _) = fault::with(&[hit], || Array::open(&store, "a")?.dimension_names());
            failed[i] += usize::from(read.is_err());
            assert!(read.is_err() || read.unwrap() == [Some("y".to_string()), Some("x".to_string())], "{call:?} behind {after}");
            let store = open();
            let (made, _) = fault::with(&[hit], || Array::create(&store, "a", &spec, Create::OpenIfSame));
            let e = made.err().map(|e| e.kind());
            assert_ne!(e, Some(ErrorKind::Exists), "{call:?} behind {after}");
        }
    }
    assert!(failed.iter().all(|&n| n >= 2), "{failed:?}: the document and the attributes");
}

#[test]
fn attributes_of_programs_are_hidden_unless_they_are_asked_for() {
    let store = store();
    let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
    spec.set_format(Format::V2).unwrap();
    spec.set_dimension_names(vec![Some("x".into())]).unwrap();
    spec.set_attributes_json(r#"{"units":"m","_nczarr_array":{"x":1},"_NCProperties":"v","_NCAR_id":1}"#).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let attributes = array.attributes();
    assert_eq!(attributes.names().unwrap(), ["units", "_NCAR_id"]);
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

/// In a folder the path of the new node leads through the file of a chunk.
#[test]
fn no_node_is_made_below_a_chunk_of_an_array() {
    let folder = TestFolder::new("below-a-chunk");
    let local = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    for store in [local, store()] {
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(crate::metadata::Format::V2).unwrap();
        Group::create(&store, "", Some(crate::metadata::Format::V2), Create::New).unwrap();
        let array = Array::create(&store, "c", &spec, Create::New).unwrap();
        array.chunk_write(&[0], false, &[7; 2]).unwrap();
        for path in ["c/0", "c/0/x", "c/1"] {
            let e = Array::create(&store, path, &spec, Create::New).err().unwrap();
            assert!(e.kind() == ErrorKind::NodeKind && e.message().contains("c of "), "{path}: {e}");
            let e = Group::create(&store, path, None, Create::OpenIfSame).err().unwrap();
            assert_eq!(e.kind(), ErrorKind::NodeKind, "{path}: {e}");
        }
    }
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
        (r#","attributes":{"\ud800":1}"#, "escape"),
        (&deep, "at line 2, column 286 values are nested deeper than the limit of 127 levels"),
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
    assert_eq!(
        (attributes.get_numbers("u", DataType::UInt64).unwrap(), attributes.get_i64("x").unwrap(), attributes.get_i64("").unwrap()),
        (u64::MAX.to_ne_bytes().to_vec(), 2, 0)
    );
    attributes.set_i64("x", 5).unwrap();
    let again = Array::open(array.store(), "a").unwrap();
    assert_eq!(again.attributes().get_json("n").unwrap(), digits);
    assert_eq!(again.attributes().names().unwrap(), ["n", "e", "u", "x", "", "\0"]);
}

#[test]
fn numbers_of_attributes_are_exact() {
    use DataType::{Float32, Float64, Int8, Int64, UInt16, UInt64};
    let store = store();
    let group = Group::create(&store, "", None, Create::New).unwrap();
    let bytes = |all: &[f64]| all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    let singles = |all: &[f32]| all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    let integers = |all: &[i64]| all.iter().flat_map(|x| x.to_ne_bytes()).collect::<Vec<u8>>();
    let cases = [
        ("reals", Float64, bytes(&[0.1, f64::MIN_POSITIVE, 5e-324, f64::MAX, -0.0, 1.0 / 3.0, 123_456_789.123_456_78])),
        ("singles", Float32, singles(&[0.1, f32::MIN_POSITIVE, 1e-45, f32::MAX, -0.0, 16_777_217.0, 1.0 / 3.0])),
        ("integers", Int64, integers(&[i64::MIN, -1, i64::MAX])),
        ("unsigned", UInt64, integers(&[-1, 0])),
        ("bytes", Int8, vec![0x80, 0x7f]),
        ("half", DataType::Float16, vec![0x66, 0x2e]),
        ("none", UInt16, vec![]),
    ];
    for (name, element, given) in &cases {
        group.attributes().set_numbers(name, *element, given, false).unwrap();
    }
    group.attributes().set_numbers("one", UInt64, &u64::MAX.to_ne_bytes(), true).unwrap();
    let again = Group::open(&store, "").unwrap();
    let attributes = again.attributes();
    for (name, element, given) in &cases {
        assert_eq!(&attributes.get_numbers(name, *element).unwrap(), given, "{name}");
    }
    assert_eq!(attributes.get_json("one").unwrap(), u64::MAX.to_string());
    assert_eq!(attributes.get_json("singles").unwrap(), "[0.1,1.1754944e-38,1e-45,3.4028235e38,-0.0,16777216.0,0.33333334]");
    assert_eq!(attributes.get_json("none").unwrap(), "[]");
    assert_eq!(kind(attributes.get_i64("one")), ErrorKind::Range);
    assert_eq!(kind(attributes.get_i64("reals")), ErrorKind::Type);
    assert_eq!(kind(group.attributes().set_numbers("one", Int8, &[], true)), ErrorKind::Argument);
}

#[test]
fn numbers_that_do_not_fit_are_named_with_attribute_element_and_value() {
    use DataType::{Bool, Complex64, Float32, Float64, Int16, UInt8, UInt64};
    let store = store();
    let all =
        r#"{"r": [0, 40000], "m": -1, "f": [1, 2.5], "e": [1e39, 1e999], "s": [1, "x"], "t": "x", "d": 123456789012345678901234567890}"#;
    let document = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{all}}}"#);
    store.key_put("g/zarr.json", document.as_bytes()).unwrap();
    let group = Group::open(&store, "g").unwrap();
    let attributes = group.attributes();
    let cases = [
        ("r", Int16, ErrorKind::Range, "attribute \"r\" of g: element 1 is 40000, but int16 ends at 32767"),
        ("m", UInt8, ErrorKind::Range, "attribute \"m\" of g is -1, but uint8 begins at 0"),
        ("m", UInt64, ErrorKind::Range, "attribute \"m\" of g is -1, but uint64 begins at 0"),
        ("f", Int16, ErrorKind::Type, "attribute \"f\" of g: element 1 is 2.5, expected an integer"),
        ("e", Float32, ErrorKind::Range, "element 0 is 1e39, which no float32 can hold"),
        ("e", Float64, ErrorKind::Range, "element 1 is 1e999, which no float64 can hold"),
        ("s", Float64, ErrorKind::Type, "element 1 is \"x\", expected a number"),
        ("t", Float64, ErrorKind::Type, "attribute \"t\" of g is \"x\", expected a number"),
        ("d", UInt64, ErrorKind::Range, "is 123456789012345678901234567890, but uint64 ends at 18446744073709551615"),
        ("r", Bool, ErrorKind::Type, "bool"),
        ("r", Complex64, ErrorKind::Type, "complex64"),
    ];
    for (name, element, want, words) in cases {
        let e = attributes.get_numbers(name, element).unwrap_err();
        assert!(e.kind() == want && e.message().contains(words), "{name} as {}: {e}", element.name());
    }
    let e = attributes.set_numbers("v", Float32, &[[0; 4], f32::NAN.to_ne_bytes()].concat(), false).unwrap_err();
    assert!(e.kind() == ErrorKind::Range && e.message().starts_with("attribute \"v\" of g: element 1 is NaN"), "{e}");
    assert_eq!(kind(attributes.set_i64("", 1)), ErrorKind::Name);
}

/// xarray reads `_FillValue` of floating-point arrays of version 3 from base64 of a double, and nothing else.
#[test]
fn fill_value_attributes_are_what_xarray_reads() {
    let text = "\"AAAAAAAA+H8=\"";
    for (format, data_type, value, want) in [
        (Format::V3, DataType::Float32, f64::NAN, text),
        (Format::V3, DataType::Float64, -9999.0, "\"AAAAAICHw8A=\""),
        (Format::V3, DataType::Int16, -9999.0, "-9999.0"),
        (Format::V2, DataType::Float32, -9999.0, "-9999.0"),
    ] {
        let mut spec = Spec::new(data_type, &[2]).unwrap();
        spec.set_format(format).unwrap();
        let array = Array::create(&store(), "a", &spec, Create::New).unwrap();
        let attributes = array.attributes();
        attributes.set_f64("_FillValue", value).unwrap();
        assert_eq!(attributes.get_json("_FillValue").unwrap(), want);
        assert_eq!(attributes.get_f64("_FillValue").unwrap().to_bits(), value.to_bits());
        attributes.set_f64("scale_factor", 0.5).unwrap();
        assert_eq!(attributes.get_json("scale_factor").unwrap(), "0.5");
        let is_text = format == Format::V3 && data_type != DataType::Int16;
        attributes.set_numbers("_FillValue", DataType::Int32, &(-9999i32).to_ne_bytes(), true).unwrap();
        assert_eq!(attributes.get_json("_FillValue").unwrap(), if is_text { "\"AAAAAICHw8A=\"" } else { "-9999" });
        attributes.set_i64("_FillValue", -999).unwrap();
        assert_eq!(attributes.get_json("_FillValue").unwrap(), if is_text { "\"AAAAAAA4j8A=\"" } else { "-999" });
        assert_eq!((attributes.get_i64("_FillValue").unwrap(), attributes.get_f64("_FillValue").unwrap()), (-999, -999.0));
        assert_eq!(attributes.get_numbers("_FillValue", DataType::Int16).unwrap(), (-999i16).to_ne_bytes());
        assert_eq!(
            attributes.set_i64("_FillValue", (1 << 53) + 1).map_err(|e| e.kind()),
            if is_text { Err(ErrorKind::Range) } else { Ok(()) }
        );
        assert_eq!(kind(attributes.set_f64("valid_min", f64::NAN)), ErrorKind::Range);
    }
}

#[test]
fn lists_of_texts_and_truth_values_are_kept() {
    let store = store();
    let group = Group::create(&store, "", None, Create::New).unwrap();
    let attributes = group.attributes();
    attributes.set_strings("flag_meanings", &["land", "sea", ""]).unwrap();
    attributes.set_bool("restart", true).unwrap();
    attributes.set_string("one", "x").unwrap();
    attributes.set_json("mixed", "[\"a\", 1]").unwrap();
    assert_eq!(attributes.get_json("flag_meanings").unwrap(), "[\"land\",\"sea\",\"\"]");
    assert_eq!(attributes.get_strings("flag_meanings").unwrap(), ["land", "sea", ""]);
    assert_eq!(attributes.get_strings("one").unwrap(), ["x"]);
    assert_eq!(kind(attributes.get_strings("mixed")), ErrorKind::Type);
    assert!(attributes.get_bool("restart").unwrap());
    assert_eq!(kind(attributes.get_bool("one")), ErrorKind::Type);
}

/// Another handle's changes are seen after `refresh`; one's own that are being collected stay on top of them.
#[test]
fn refresh_renews_the_attributes() {
    for format in [Format::V2, Format::V3] {
        let store = store();
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(format).unwrap();
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        let nodes = [Node::Array(array), Node::Group(group)];
        for node in nodes {
            let attributes = node.attributes();
            attributes.set_i64("n", 1).unwrap();
            Node::open(&store, node.path()).unwrap().attributes().set_i64("n", 2).unwrap();
            assert_eq!(attributes.get_i64("n").unwrap(), 1);
            node.refresh().unwrap();
            assert_eq!(attributes.get_i64("n").unwrap(), 2);
            assert!(format == Format::V2 || node.metadata_json().unwrap().contains("\"n\": 2"));
            attributes.begin().unwrap();
            attributes.set_i64("own", 3).unwrap();
            Node::open(&store, node.path()).unwrap().attributes().set_i64("n", 4).unwrap();
            node.refresh().unwrap();
            assert_eq!((attributes.get_i64("own").unwrap(), attributes.get_i64("n").unwrap()), (3, 4));
            attributes.commit().unwrap();
            assert_eq!(Node::open(&store, node.path()).unwrap().attributes().get_i64("own").unwrap(), 3);
        }
    }
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

/// A file system takes names of 255 bytes: a longer one is neither a node that is there nor one that is not.
#[test]
fn names_that_the_file_system_refuses_are_an_error_of_their_own() {
    let folder = TestFolder::new("long-name");
    let store = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let name = "n".repeat(256);
    let spec = Spec::new(DataType::Int8, &[2]).unwrap();
    for (what, result) in [
        ("create an array", Array::create(&store, &name, &spec, Create::New).map(drop)),
        ("overwrite an array", Array::create(&store, &name, &spec, Create::Overwrite).map(drop)),
        ("create a group", Group::create(&store, &name, None, Create::New).map(drop)),
        ("open an array", Array::open(&store, &name).map(drop)),
        ("open a group", Group::open(&store, &name).map(drop)),
        ("ask for the kind", store.node_kind(&name).map(drop)),
    ] {
        let e = result.expect_err(what);
        assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Limit, libc::ENAMETOOLONG), "{what}: {e}");
        assert!(e.to_string().contains(&name), "{what}: {e}");
    }
}

#[test]
fn overwriting_a_store_that_fails_half_way_leaves_nothing_below_the_new_node_when_it_is_done_again() {
    use crate::store::fault;
    use crate::store::os::Call;
    for (format, call) in [(Format::V2, Call::Open), (Format::V3, Call::Open), (Format::V2, Call::Unlink), (Format::V3, Call::Unlink)] {
        let mut failed = 0;
        for after in (0..60).step_by(apart(3)) {
            let folder = TestFolder::new("half-erased");
            let store = Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[("file.sync", "none")]).unwrap();
            let create = |how| Group::create(&store, "", Some(format), how);
            create(Create::New).unwrap();
            for name in ["t", "time"] {
                Array::create(&store, name, &Spec::new(DataType::Int8, &[2]).unwrap(), Create::New).unwrap();
            }
            Group::open(&store, "").unwrap().consolidate().unwrap();
            // The store is not replaced as a whole, as where it is a mount point.
            let faults = [fault::fail(Call::Mkdir, libc::EACCES), fault::Fault { after, times: 1000, ..fault::fail(call, libc::EIO) }];
            failed += usize::from(fault::with(&faults, || create(Create::Overwrite)).0.is_err());
            let again = create(Create::Overwrite).unwrap();
            assert_eq!(again.children().unwrap().len(), 0, "{format:?}, {call:?} behind {after}");
        }
        assert!((5..60).contains(&(failed * apart(3))), "{format:?}, {call:?}: {failed} failed");
    }
}

#[test]
fn consolidated_groups_have_their_version_as_a_number() {
    let store = store();
    for key in [".zgroup", "g/.zgroup"] {
        store.key_put(key, br#"{"zarr_format":"2"}"#).unwrap();
    }
    let root = Group::open(&store, "").unwrap();
    root.consolidate().unwrap();
    let listed = || String::from_utf8(store.key_get(".zmetadata").unwrap().unwrap()).unwrap();
    let entries = |text: &str| text.replace(char::is_whitespace, "").matches(r#"/.zgroup":{"zarr_format":2}"#).count();
    let all = listed();
    assert!(!all.contains("\"2\"") && entries(&all) == 1, "{all}");
    assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]));
    // As it was written so far.
    store.key_put(".zmetadata", all.replace(": 2", ": \"2\"").as_bytes()).unwrap();
    assert_eq!(root.consolidated_differences().unwrap().map(|all| all.len()), Some(2));
    root.open_group("g").unwrap().attributes().set("units", "K".into()).unwrap();
    assert_eq!(entries(&listed()), 1, "{}", listed());
}

#[test]
fn step_keeps_consolidated_metadata_from_the_first_change_on() {
    let folder = TestFolder::new("step");
    let place = folder.to_str().unwrap();
    let store = Store::open(&Context::default(), place, Mode::ReadWrite, &[("file.sync", "none"), ("consolidate", "step")]).unwrap();
    let root = Group::create(&store, "", None, Create::New).unwrap();
    let create = |path| Array::create(&store, path, &Spec::new(DataType::Int8, &[2]).unwrap(), Create::Overwrite).unwrap();
    let changes: [(&str, &dyn Fn()); 6] = [
        ("create", &|| drop(create("a"))),
        ("rename", &|| store.rename_node("a", "b").unwrap()),
        ("attribute", &|| root.attributes().set_i64("n", 1).unwrap()),
        ("overwrite", &|| drop(create("b"))),
        ("create again", &|| drop(create("a"))),
        ("erase", &|| store.erase_node("a").unwrap()),
    ];
    for (what, change) in changes {
        change();
        let reader = Store::open(&Context::default(), place, Mode::Read, &[]).unwrap();
        assert_eq!(Group::open(&reader, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{what}");
    }
}

#[test]
fn what_arrays_of_a_store_that_was_let_go_are_named_is_consolidated_once() {
    for format in [Format::V2, Format::V3] {
        let shared = Arc::new(crate::store::memory::MemoryStore::new());
        let store = Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite);
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        store.let_go();
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(format).unwrap();
        let name = |path| {
            let array = Array::create(&store, path, &spec, Create::New).unwrap();
            array.set_dimension_names(&[Some("x".into())]).and_then(|()| array.close()).unwrap();
        };
        let reader = Store::from_shared(&Context::default(), shared.clone(), Mode::Read);
        let differences = || Group::open(&reader, "").unwrap().consolidated_differences().unwrap();
        name("a");
        assert_eq!(differences(), None, "{format:?}: closing the group does it");
        root.close().unwrap();
        assert_eq!(differences(), Some(vec![]), "{format:?}");
        Group::create(&store, "g", None, Create::New).unwrap();
        drop(root);
        name("g/b");
        assert_eq!(Group::open(&reader, "g").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}: nobody else does it");
    }
}

/// One group after the other would take several round trips for each.
#[test]
fn flush_brings_changes_into_the_consolidated_metadata_of_many_groups_side_by_side() {
    let paths: Vec<String> = (0..12).map(|i| format!("g{i}")).collect();
    for format in [Format::V2, Format::V3] {
        let near = store();
        for path in &paths {
            let group = Group::create(&near, path, Some(format), Create::New).unwrap();
            Array::create(&near, &format!("{path}/a"), &spec_as(format, &[2], &[2]), Create::New).unwrap();
            group.consolidate().unwrap();
        }
        let far = Arc::new(LatencyStore::new(near.shared().clone(), Duration::from_millis(2)));
        let options = Options { consolidate: Consolidate::Flush, ..Options::default() };
        let store = Store::new(&Context::default(), far.clone(), Mode::ReadWrite, options);
        paths.iter().for_each(|path| Array::open(&store, &format!("{path}/a")).unwrap().resize(&[7], true).unwrap());
        assert!(far.stats().most_in_flight < 8, "{format:?}: what was done before is no measure");
        store.flush_all().unwrap();
        assert!(far.stats().most_in_flight >= 8, "{format:?}: {:?}", far.stats());
        for path in &paths {
            assert_eq!(Group::open(&near, path).unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        }
    }
}

#[test]
fn flush_reads_what_changed_in_version_2_with_the_attributes() {
    let (near, paths) = (store(), (0..12).map(|i| format!("a{i}")).collect::<Vec<_>>());
    let root = Group::create(&near, "", Some(Format::V2), Create::New).unwrap();
    for path in &paths {
        let array = Array::create(&near, path, &spec_as(Format::V2, &[2], &[2]), Create::New).unwrap();
        array.attributes().set("units", "K".into()).unwrap();
    }
    root.consolidate().unwrap();
    let far = Arc::new(LatencyStore::new(near.shared().clone(), Duration::from_millis(2)));
    let options = Options { consolidate: Consolidate::Flush, ..Options::default() };
    let store = Store::new(&Context::default(), far.clone(), Mode::ReadWrite, options);
    paths.iter().for_each(|path| Array::open(&store, path).unwrap().resize(&[7], true).unwrap());
    store.flush_all().unwrap();
    assert!(far.stats().most_in_flight >= 3 * paths.len(), "{:?}", far.stats());
    assert_eq!(Group::open(&near, "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
}

#[test]
fn flush_brings_all_changes_into_consolidated_metadata_at_once() {
    for format in [Format::V2, Format::V3] {
        let shared = Arc::new(crate::store::memory::MemoryStore::new());
        let options = Options { consolidate: Consolidate::Flush, ..Options::default() };
        let store = Store::new(&Context::default(), shared.clone(), Mode::ReadWrite, options);
        let key = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(format).unwrap();
        let arrays: Vec<Array> = ["a", "g/b"].iter().map(|path| Array::create(&store, path, &spec, Create::New).unwrap()).collect();
        let reader = Store::from_shared(&Context::default(), shared.clone(), Mode::Read);
        let differences = || Group::open(&reader, "").unwrap().consolidated_differences().unwrap();
        assert_eq!(differences(), None, "{format:?}: nothing is consolidated before a flush");
        store.flush_all().unwrap();
        assert_eq!(differences(), Some(vec![]), "{format:?}");
        let before = store.key_get(key).unwrap();
        arrays.iter().for_each(|array| array.resize(&[7], true).unwrap());
        arrays[0].attributes().set_i64("n", 1).unwrap();
        assert_eq!(store.key_get(key).unwrap(), before, "{format:?}: what readers see waits");
        assert!(!differences().unwrap().is_empty());
        assert_eq!(
            Group::open(&store, "").unwrap().open_array("g/b").unwrap().shape().as_slice(),
            [7],
            "{format:?}: this process sees its own"
        );
        store.flush_all().unwrap();
        assert_eq!(differences(), Some(vec![]), "{format:?}");
        // What goes may not be listed any more.
        store.erase_node("a").unwrap();
        assert_eq!(differences(), Some(vec![]), "{format:?}");
        arrays[1].resize(&[9], true).unwrap();
        store.close(None).unwrap();
        assert_eq!(differences(), Some(vec![]), "{format:?}: closing does the same");
        // Nobody flushes a store that the program has let go: its nodes do.
        let root = Group::open(&store, "").unwrap();
        store.let_go();
        let ends: [(&str, &dyn Fn() -> crate::error::Result<()>); 4] = [
            ("flush an array", &|| arrays[1].flush()),
            ("close an array", &|| arrays[1].close()),
            ("flush a group", &|| root.flush()),
            ("flush an appender", &|| Appender::open(&arrays[1], 0, 0, 0)?.flush()),
        ];
        for (length, (name, end)) in (10..).zip(ends) {
            arrays[1].resize(&[length], true).unwrap();
            assert!(!differences().unwrap().is_empty(), "{format:?}: {name}");
            end().unwrap();
            assert_eq!(differences(), Some(vec![]), "{format:?}: {name}");
        }
    }
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

/// A node that is opened by a location of its own, as a store, is known to the groups that its folder is below, too.
#[test]
fn consolidated_metadata_above_a_store_of_one_node_are_kept_right() {
    for format in [Format::V3, Format::V2] {
        let top = TestFolder::new("above");
        let at = |below: &str| Store::locate(&Context::default(), top.join(below).to_str().unwrap(), Mode::ReadWrite).unwrap();
        let create = |below: &str, length: u64, how: Create| {
            let (store, path) = at(below);
            let mut spec = Spec::new(DataType::Int8, &[length]).unwrap();
            spec.set_format(format).unwrap();
            Array::create(&store, &path, &spec, how).unwrap()
        };
        let (runs, path) = at("runs");
        assert_eq!(path, "");
        Group::create(&runs, "", Some(format), Create::New).unwrap();
        Group::create(&runs, "one", Some(format), Create::New).unwrap();
        create("runs/one/t", 4, Create::New);
        let open = |below: &str| Group::open(&at(below).0, "").unwrap();
        open("runs/one").consolidate().unwrap();
        open("runs").consolidate().unwrap();
        let check = |what: &str| {
            for below in ["runs", "runs/one"] {
                let told = open(below).consolidated_differences().unwrap();
                assert_eq!(told, Some(vec![]), "{format:?}, {what}: {below}");
            }
        };
        check("at first");
        let array = create("runs/one/t", 7, Create::Overwrite);
        check("overwriting");
        array.attributes().set_i64("n", 1).unwrap();
        check("an attribute");
        array.resize(&[9], false).unwrap();
        check("resizing");
        create("runs/one/u", 2, Create::New);
        check("a new array");
        let (store, path) = at("runs/one/t");
        store.erase_node(&path).unwrap();
        check("erasing");
        assert_eq!(open("runs").open_array("one/u").unwrap().shape().to_vec(), [2]);
    }
}

/// Links and `..` in the location of a node do not hide it from the groups above it.
#[test]
fn consolidated_metadata_above_a_store_are_kept_right_by_whatever_path_it_is_opened() {
    let top = TestFolder::new("above-links");
    let at = |below: &str| Store::locate(&Context::default(), top.join(below).to_str().unwrap(), Mode::ReadWrite).unwrap().0;
    for (root, below) in [("runs", "one/t"), ("links", "")] {
        Group::create(&at(root), "", None, Create::New).unwrap();
        if !below.is_empty() {
            Array::create(&at(root), below, &Spec::new(DataType::Int8, &[4]).unwrap(), Create::New).unwrap();
        }
    }
    std::fs::create_dir(top.join("runs/one/other")).unwrap();
    std::os::unix::fs::symlink("../runs/one", top.join("links/l")).unwrap();
    std::os::unix::fs::symlink("runs/one/t", top.join("t")).unwrap();
    let roots = ["runs", "links"].map(|root| Group::open(&at(root), "").unwrap());
    roots.iter().for_each(|group| group.consolidate().unwrap());
    for (length, path) in (5..).zip(["runs/one/t", "runs/one/other/../t", "t", "links/l/t"]) {
        Array::open(&at(path), "").unwrap().resize(&[length], false).unwrap();
        assert_eq!(Group::open(&at("runs"), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{path}");
    }
    assert_eq!(Group::open(&at("links"), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "by the last path");
}

#[test]
fn an_error_of_who_is_told_of_a_fault_ends_verifying() {
    let store = with("").store().clone();
    store.key_put("a/zarr.json", ARRAY.replace("ATTRIBUTES", "").replace("bytes", "none-such").as_bytes()).unwrap();
    let mut told = Vec::new();
    let mut each = |fault: &Fault| {
        told.push(fault.kind);
        if told.len() == 1 { Err(crate::error::err!(Cancelled, "enough")) } else { Ok(()) }
    };
    let e = store.verify("a", VerifyOptions::default(), &mut each, &mut |_, _| Ok(())).unwrap_err();
    assert_eq!((e.kind(), told), (ErrorKind::Cancelled, vec![FaultKind::Unsupported]));
}

#[test]
fn a_node_erased_by_its_own_location_leaves_no_folder_in_its_group_and_its_folder_elsewhere() {
    let top = TestFolder::new("erase");
    let open = |folder: &str| Store::open(&Context::default(), top.join(folder).to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let spec = Spec::new(DataType::Int32, &[4]).unwrap();
    Group::create(&open("group"), "", None, Create::New).unwrap();
    for (folder, stays) in [("group/array", false), ("group/no-group/array", true), ("array", true)] {
        std::fs::create_dir_all(top.join(folder)).unwrap();
        Array::create(&open(folder), "", &spec, Create::New).unwrap();
        open(folder).key_put("c/0", b"1").unwrap();
        open(folder).erase_node("").unwrap();
        assert_eq!(top.join(folder).exists(), stays, "{folder}");
    }
}

/// Groups that are opened behind a change and ahead of its flush, within it, or behind one that failed.
#[test]
fn consolidated_metadata_from_before_a_change_are_not_believed_once_it_is_told() {
    for (format, listed) in [(Format::V2, "g/.zmetadata"), (Format::V3, "g/zarr.json")] {
        for how in [Consolidate::Flush, Consolidate::Named] {
            let due = Due::default();
            let options = Options { consolidate: how, ..Options::default() };
            let store = Store::new(&Context::default(), due.in_memory().shared().clone(), Mode::ReadWrite, options);
            let group = Group::create(&store, "g", Some(format), Create::New).unwrap();
            let array = Array::create(&store, "g/a", &spec_as(format, &[4], &[4]), Create::New).unwrap();
            group.consolidate().and_then(|()| store.flush_all()).unwrap();
            let is_told = how == Consolidate::Named;
            if is_told {
                due.fail(listed);
            }
            assert_eq!(array.resize(&[8], false).is_err(), is_told);
            let length = |group: &Group| group.open_array("a").unwrap().shape()[0];
            let (before, within) = (Group::open(&store, "g").unwrap(), Arc::new(Mutex::new(None)));
            assert_eq!(length(&before), 8, "{format:?} {how:?}");
            let (again, found) = (store.clone(), within.clone());
            due.set_here(listed, move || {
                let group = Group::open(&again, "g")?;
                assert_eq!(length(&group), 8, "{format:?} {how:?}");
                *found.lock().unwrap() = Some(group);
                Ok(())
            });
            store.flush_all().unwrap();
            let within = within.lock().unwrap().take().unwrap();
            assert_eq!([&before, &within].map(length), [8, 8], "{format:?} {how:?}");
            assert_eq!(Group::open(&store, "g").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?} {how:?}");
        }
    }
}
