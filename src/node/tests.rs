//! Tests of nodes over a store in memory: creating, opening, listing, changing, consolidating, resizing.

use super::*;
use crate::dtype::DataType;
use crate::engine::{Memory, Selection};
use crate::error::ErrorKind;
use crate::metadata::{Format, Map, Value, json};
use crate::store::suite::TestFolder;
use crate::store::{Condition, StorageExt, get};

/// A call that has memory of the test's own, which lives as long.
macro_rules! own {
    ($call:expr) => {
        // SAFETY: as is said.
        unsafe { $call }
    };
}
pub(super) use own;

pub(super) fn memory() -> Store {
    Store::memory(&Context::default())
}

pub(super) fn new_dataset(format: Option<Format>) -> (Store, Dataset) {
    let store = Store::memory(&Context::with_threads(1));
    let ds = Dataset::create(&store, "", format, Create::New).unwrap();
    (store, ds)
}

/// Opens a store with a delay added to each request.
pub(super) fn far_from(near: &Store, delay: std::time::Duration) -> Store {
    let far = crate::store::latency::LatencyStore::new(near.shared().clone(), delay);
    Store::from_shared(near.context(), std::sync::Arc::new(far), Mode::ReadWrite)
}

pub(super) fn put(store: &Store, key: &str, text: &str) {
    store.shared().put(key, &[text.as_bytes()], Condition::None).unwrap();
}

pub(super) fn text(store: &Store, key: &str) -> Option<String> {
    get(&**store.shared(), key, 1 << 30).unwrap().map(|b| String::from_utf8(b).unwrap())
}

pub(super) fn object(store: &Store, key: &str) -> Map {
    json::parse_object(text(store, key).unwrap_or_else(|| panic!("no {key}")).as_bytes(), 1 << 30).unwrap()
}

pub(super) fn keys(store: &Store) -> Vec<String> {
    store.shared().keys("").unwrap()
}

pub(super) fn spec(shape: &[u64], chunks: &[u64]) -> Spec {
    let mut spec = Spec::new(DataType::Int32, shape).unwrap();
    spec.set_chunks(chunks).unwrap();
    spec.set_compressor("none", None).unwrap();
    spec
}

pub(super) fn spec_v2(shape: &[u64], chunks: &[u64]) -> Spec {
    spec_as(Format::V2, shape, chunks)
}

pub(super) fn spec_as(format: Format, shape: &[u64], chunks: &[u64]) -> Spec {
    let mut spec = spec(shape, chunks);
    spec.set_format(format).unwrap();
    spec
}

pub(super) fn view(data: &mut [i32], shape: &[u64]) -> Memory {
    Memory::of(data, shape, DataType::Int32)
}

pub(super) fn write_all(array: &Array, values: &mut [i32]) {
    let shape = array.shape();
    own!(array.write(&Selection::all(&shape), &view(values, &shape)).unwrap());
}

pub(super) fn read_all(array: &Array) -> Vec<i32> {
    let shape = array.shape();
    let mut values = vec![-7; shape.iter().product::<u64>() as usize];
    own!(array.read(&Selection::all(&shape), &view(&mut values, &shape)).unwrap());
    values
}

pub(super) fn kind<T>(result: crate::error::Result<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("no error"),
        Err(e) => e.kind(),
    }
}

pub(super) fn message<T>(result: crate::error::Result<T>) -> String {
    match result {
        Ok(_) => panic!("no error"),
        Err(e) => e.to_string(),
    }
}

/// What is wrong in a store.
pub(super) fn faults(store: &Store, options: VerifyOptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut each = |fault: &Fault| {
        faults.push(fault.clone());
        Ok(())
    };
    store.verify("", options, &mut each, &mut |_, _| Ok(())).unwrap();
    faults
}

#[test]
fn modes_are_parsed() {
    assert_eq!((Mode::parse("r").unwrap(), Mode::parse("r+").unwrap()), (Mode::Read, Mode::ReadWrite));
    assert_eq!(kind(Mode::parse("w")), ErrorKind::Argument);
}

#[test]
fn creating_makes_the_missing_ancestors_in_the_same_format() {
    let store = memory();
    Array::create(&store, "a\\b//c/", &spec(&[4], &[2]), Create::New).unwrap();
    assert_eq!(keys(&store), ["a/b/c/zarr.json", "a/b/zarr.json", "a/zarr.json", "zarr.json"]);
    let store = memory();
    Array::create(&store, "a/b", &spec_v2(&[4], &[2]), Create::New).unwrap();
    assert_eq!(keys(&store), [".zgroup", "a/.zgroup", "a/b/.zarray"]);
    assert_eq!(json::to_compact(&Value::Object(object(&store, ".zgroup"))), r#"{"zarr_format":2}"#);
}

#[test]
fn existing_ancestors_are_left_untouched() {
    let store = memory();
    let root = Group::create(&store, "", None, Create::New).unwrap();
    root.attributes().set_i64("n", 1).unwrap();
    let before = text(&store, "zarr.json");
    Group::create(&store, "a/b", None, Create::New).unwrap();
    assert_eq!(text(&store, "zarr.json"), before);
    assert!(text(&store, "a/zarr.json").is_some());
}

#[test]
fn a_group_without_a_format_has_that_of_the_enclosing_group() {
    for (format, key) in [(Format::V2, "a/b/.zgroup"), (Format::V3, "a/b/zarr.json")] {
        let store = memory();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        let group = Group::create(&store, "a/b", None, Create::New).unwrap();
        assert_eq!(group.format(), format);
        assert!(text(&store, key).is_some());
        let array = Array::create(&store, "a/t", &spec(&[1], &[1]), Create::New).unwrap();
        assert_eq!(array.format(), format);
    }
    assert_eq!(Group::create(&memory(), "x", None, Create::New).unwrap().format(), Format::V3);
}

#[test]
fn nothing_stands_below_an_array() {
    let store = memory();
    Array::create(&store, "a", &spec(&[4], &[2]), Create::New).unwrap();
    assert_eq!(kind(Group::create(&store, "a/b", None, Create::New)), ErrorKind::NodeKind);
    assert_eq!(kind(Array::create(&store, "a/b/c", &spec(&[4], &[2]), Create::Overwrite)), ErrorKind::NodeKind);
    assert_eq!(keys(&store), ["a/zarr.json", "zarr.json"]);
}

#[test]
fn names_are_checked_on_creation_and_leniently_on_opening() {
    let store = memory();
    for name in ["__x", "a/zarr.json", ".zarray", "...", "a/../b", "."] {
        assert_eq!(kind(Group::create(&store, name, None, Create::New)), ErrorKind::Name, "{name}");
        assert_eq!(kind(Array::create(&store, name, &spec(&[], &[]), Create::New)), ErrorKind::Name, "{name}");
    }
    assert!(keys(&store).is_empty());
    put(&store, "__x/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    Group::open(&store, "/__x/").unwrap();
    assert_eq!(kind(Group::open(&store, "a/../b")), ErrorKind::Name);
}

/// xarray names an unnamed array so.
#[test]
fn reserved_names_that_are_there_are_copied_and_consolidated() {
    let store = memory();
    let root = Group::create(&store, "g", None, Create::New).unwrap();
    let array = Array::create(&store, "g/x", &spec(&[2], &[2]), Create::New).unwrap();
    let name = "g/__xarray_dataarray_variable__";
    put(&store, &format!("{name}/zarr.json"), &text(&store, "g/x/zarr.json").unwrap());
    array.store().erase_node("g/x").unwrap();
    root.consolidate().unwrap();
    assert!(text(&store, "g/zarr.json").unwrap().contains("__xarray_dataarray_variable__"));
    assert_eq!(root.tree(9).unwrap().lines().count(), 1);
    let found: Vec<_> = root.nodes(usize::MAX).unwrap().into_iter().map(|c| (c.name.clone(), c.kind())).collect();
    assert_eq!(found, [("__xarray_dataarray_variable__".to_string(), NodeKind::Array)]);
    let options = RechunkOptions::default;
    assert_eq!(store.rechunk_node("g", (&store, "copy"), options(), &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap().nodes, 2);
    store.migrate("g", Some((&store, "new")), true, &mut |_, _| Ok(())).unwrap();
    for group in ["copy", "new"] {
        Array::open(&store, &format!("{group}/__xarray_dataarray_variable__")).unwrap();
    }
    // Version 2 has such names, and version 3 gets no new one.
    put(&store, "old/.zgroup", r#"{"zarr_format":2}"#);
    put(&store, "old/__x/.zgroup", r#"{"zarr_format":2}"#);
    let copied = |format, to| {
        let options = RechunkOptions { format, ..options() };
        store.rechunk_node("old", (&store, to), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).map(|report| report.nodes)
    };
    assert_eq!(copied(None, "second").unwrap(), 2);
    assert_eq!(kind(copied(Some(Format::V3), "third")), ErrorKind::Name);
}

#[test]
fn the_third_version_is_preferred_where_both_stand() {
    let store = memory();
    put(&store, ".zgroup", r#"{"zarr_format":2}"#);
    put(&store, "zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    assert_eq!(Group::open(&store, "").unwrap().format(), Format::V3);
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let store = memory();
    assert!(message(Node::open(&store, "")).contains("zarr.json, .zarray and .zgroup"));
    assert!(message(Node::open(&store, "a/b")).contains("no node a/b"));
    let nowhere = std::env::temp_dir().join("ozarr-no-such-folder");
    let folder = Store::open(&Context::default(), nowhere.to_str().unwrap(), Mode::Read, &[]).unwrap();
    assert_eq!(message(Group::open(&folder, "")), format!("no group in {}: there is no such folder", nowhere.display()));
    #[cfg(unix)]
    {
        let top = crate::store::suite::TestFolder::made("link-to-nothing");
        let link = top.join("s");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let folder = Store::open(&Context::default(), link.to_str().unwrap(), Mode::Read, &[]).unwrap();
        assert_eq!(message(Group::open(&folder, "")), format!("no group in {}: there is a link to what is not there", link.display()));
    }
    for name in ["temperature", "x", "y", "g/u"] {
        Array::create(&store, name, &spec(&[1], &[1]), Create::New).unwrap();
    }
    let place = store.shared().describe();
    let e = Array::open(&store, "temprature").err().unwrap();
    assert_eq!((e.kind(), e.to_string()), (ErrorKind::NotFound, format!("no array temprature in {place}; it has g, temperature, x, y")));
    assert_eq!(message(Group::open(&store, "g/v")), format!("no group g/v in {place}; g has u"));
    assert_eq!(message(Node::open(&store, "x/v")), format!("no node x/v in {place}; x is an array"));
    for i in 0..20 {
        Group::create(&store, &format!("many/v{i}"), None, Create::New).unwrap();
    }
    assert!(message(Node::open(&store, "many/w")).ends_with(" and up to 12 more"));
    for i in 0..1100 {
        Group::create(&store, &format!("many/step{i:04}"), None, Create::New).unwrap();
    }
    let told = message(Node::open(&store, "many/stop1099"));
    assert!(told.contains("step1099") && told.ends_with(" and up to 1112 more"), "{told}");
}

#[test]
fn what_is_not_there_in_a_store_with_latency_is_told_without_listing_it() {
    use super::tests_store::{Next, on, told};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let (near, lists) = (memory(), Arc::new(AtomicUsize::new(0)));
    for i in 0..20 {
        Array::create(&near, &format!("g/step{i}"), &spec(&[1], &[1]), Create::New).unwrap();
    }
    let counted = lists.clone();
    let counting = told(near.shared().clone(), move |next| {
        counted.fetch_add(usize::from(matches!(next, Next::List)), Ordering::Relaxed);
        Ok(())
    });
    let far = far_from(&on(counting), std::time::Duration::ZERO);
    let missing = || Array::open(&far, "g/stop1").err().map(|e| (e.kind(), e.to_string())).unwrap();
    let nothing = format!("no array g/stop1 in {}", far.shared().describe());
    assert_eq!(missing(), (ErrorKind::NotFound, nothing.clone()));
    Group::open(&near, "g").and_then(|group| group.consolidate()).unwrap();
    let (_, text) = missing();
    assert!(text.starts_with(&format!("{nothing}; g has step")) && text.contains("step1,") && text.ends_with(" and 12 more"), "{text}");
    assert_eq!(lists.load(Ordering::Relaxed), 0);
}

#[test]
fn the_wrong_kind_says_what_to_open() {
    let store = memory();
    Array::create(&store, "a", &spec(&[1], &[1]), Create::New).unwrap();
    let e = Group::open(&store, "a").err().unwrap();
    assert!(e.kind() == ErrorKind::NodeKind && e.to_string().contains("open it as an array"), "{e}");
    let e = Array::open(&store, "").err().unwrap();
    assert!(e.kind() == ErrorKind::NodeKind && e.to_string().contains("open it as a group"), "{e}");
    assert!(matches!(Node::open(&store, "a").unwrap(), Node::Array(_)));
    assert!(matches!(Node::open(&store, "/").unwrap(), Node::Group(_)));
}

#[test]
fn new_refuses_what_stands_there() {
    let store = memory();
    Array::create(&store, "a", &spec(&[1], &[1]), Create::New).unwrap();
    put(&store, "bad/zarr.json", "{");
    let before = keys(&store);
    for path in ["a", "", "bad"] {
        assert_eq!(kind(Array::create(&store, path, &spec(&[1], &[1]), Create::New)), ErrorKind::Exists, "{path}");
        assert_eq!(kind(Group::create(&store, path, None, Create::New)), ErrorKind::Exists, "{path}");
    }
    assert_eq!(keys(&store), before);
}

#[test]
fn overwriting_erases_below_the_path_and_nothing_beside_it() {
    let store = memory();
    Array::create(&store, "foo/a", &spec(&[1], &[1]), Create::New).unwrap();
    Array::create(&store, "foobar", &spec(&[1], &[1]), Create::New).unwrap();
    Array::create(&store, "foo", &spec_v2(&[1], &[1]), Create::Overwrite).unwrap();
    assert_eq!(keys(&store), ["foo/.zarray", "foobar/zarr.json", "zarr.json"]);
    put(&store, "bad/zarr.json", "{");
    Group::create(&store, "bad", None, Create::Overwrite).unwrap();
    assert_eq!(store.node_kind("bad").unwrap(), NodeKind::Group);
}

#[test]
fn overwriting_where_no_node_stands_erases_no_other_files() {
    let store = memory();
    put(&store, "notes.txt", "mine");
    put(&store, "photos/1.jpg", "mine");
    Group::create(&store, "", None, Create::Overwrite).unwrap();
    Array::create(&store, "photos", &spec(&[1], &[1]), Create::Overwrite).unwrap();
    assert_eq!(keys(&store), ["notes.txt", "photos/1.jpg", "photos/zarr.json", "zarr.json"]);
}

#[test]
fn chunks_left_behind_by_a_kill_are_not_taken_for_the_new_arrays() {
    let store = memory();
    for key in ["a/c/0", "a/c/7", "a/c/x", "a/.zattrs"] {
        put(&store, key, "1234");
    }
    let array = Array::create(&store, "a", &spec(&[4], &[1]), Create::New).unwrap();
    assert_eq!(read_all(&array), [0; 4]);
    assert_eq!(keys(&store), ["a/.zattrs", "a/c/x", "a/zarr.json", "zarr.json"]);
    put(&store, "b/.zattrs", r#"{"old":1}"#);
    let array = Array::create(&store, "b", &spec_v2(&[4], &[1]), Create::New).unwrap();
    assert!(array.attributes().names().unwrap().is_empty());
}

#[test]
fn open_if_same_opens_or_names_the_first_difference() {
    let store = memory();
    let wanted = spec(&[4, 6], &[2, 3]);
    let first = Array::create(&store, "a", &wanted, Create::OpenIfSame).unwrap();
    first.attributes().set_i64("n", 1).unwrap();
    let again = Array::create(&store, "a", &wanted, Create::OpenIfSame).unwrap();
    assert_eq!(again.attributes().get_i64("n").unwrap(), 1);
    type Edit = fn(&mut Spec);
    let edits: &[(Edit, &str)] = &[
        (|s| s.set_format(Format::V2).unwrap(), "zarr_format 3 instead of 2"),
        (|s| *s = spec(&[4, 7], &[2, 3]), "shape [4, 6] instead of [4, 7]"),
        (|s| s.set_chunks(&[2, 2]).unwrap(), "chunks [2, 3] instead of [2, 2]"),
        (|s| *s = Spec::new(DataType::Int16, &[4, 6]).unwrap(), "data type int32 instead of int16"),
        (|s| s.set_fill(DataType::Int32, &5i32.to_ne_bytes()).unwrap(), "fill value 0 instead of 5"),
        (|s| s.set_compressor("gzip", None).unwrap(), r#""endian":"little"}}] instead of [{"#),
        (|s| s.set_compressor("gzip", None).unwrap(), r#"}] is already at a of"#),
        (|s| s.set_separator(crate::grid::key::Separator::Dot).unwrap(), "chunk keys"),
    ];
    for (edit, want) in edits {
        let mut other = wanted.clone();
        edit(&mut other);
        let e = Array::create(&store, "a", &other, Create::OpenIfSame).err().unwrap();
        assert!(e.kind() == ErrorKind::Exists && e.to_string().contains(want), "{want}: {e}");
    }
    // Others, and former releases, leave parameters of codecs to what they mean.
    let mut compressed = wanted.clone();
    compressed.set_compressor("zstd", None).unwrap();
    Array::create(&store, "b", &compressed, Create::New).unwrap();
    let document = String::from_utf8(store.key_get("b/zarr.json").unwrap().unwrap()).unwrap();
    let short = document.replace(r#""checksum": false"#, r#""checksum": null"#);
    assert_ne!(short, document);
    store.key_put("b/zarr.json", short.as_bytes()).unwrap();
    Array::create(&store, "b", &compressed, Create::OpenIfSame).unwrap();
    compressed.set_compressor("zstd", Some(2)).unwrap();
    assert_eq!(kind(Array::create(&store, "b", &compressed, Create::OpenIfSame)), ErrorKind::Exists);
    assert_eq!(kind(Array::create(&store, "", &wanted, Create::OpenIfSame)), ErrorKind::Exists);
    let group = Group::create(&store, "", None, Create::OpenIfSame).unwrap();
    assert_eq!(group.format(), Format::V3);
    assert_eq!(kind(Group::create(&store, "", Some(Format::V2), Create::OpenIfSame)), ErrorKind::Exists);
    assert_eq!(kind(Group::create(&store, "a", None, Create::OpenIfSame)), ErrorKind::Exists);
}

/// A fill value that is left open is compared as the type has it: that of texts has no bytes.
#[test]
fn open_if_same_names_another_type_whatever_the_fill_values_are() {
    use DataType::{Bool, Bytes, Complex64, Float16, Int8, Text, VarBytes, VarText};
    let types = [Bool, Int8, Float16, Complex64, Bytes(3), Text(2), VarText, VarBytes];
    for (format, there, wanted) in
        [Format::V2, Format::V3].into_iter().flat_map(|f| types.iter().flat_map(move |&t| types.map(|w| (f, t, w))))
    {
        let store = memory();
        let spec = |data_type| {
            let mut spec = Spec::new(data_type, &[4]).unwrap();
            spec.set_format(format).unwrap();
            spec
        };
        Array::create(&store, "a", &spec(there), Create::New).unwrap();
        let opened = Array::create(&store, "a", &spec(wanted), Create::OpenIfSame).map(drop).map_err(|e| e.to_string());
        let is_right = if there == wanted { opened.is_ok() } else { opened.as_ref().is_err_and(|e| e.contains(" instead of ")) };
        assert!(is_right, "{format:?}: {there:?} is there, {wanted:?} wanted: {opened:?}");
    }
}

/// What makes stored numbers mean something else.
#[test]
fn open_if_same_compares_names_of_dimensions_and_how_numbers_are_meant() {
    type Edit = fn(&mut Spec);
    let name = |spec: &mut Spec, names: [&str; 2]| spec.set_dimension_names(names.map(|name| Some(name.to_string())).to_vec()).unwrap();
    let attributes = |spec: &mut Spec, text: &str| spec.set_attributes_json(text).unwrap();
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let wanted = |json: &str| {
            let mut spec = spec_as(format, &[4, 4], &[2, 2]);
            name(&mut spec, ["x", "y"]);
            attributes(&mut spec, json);
            spec
        };
        let first = wanted(r#"{"units":"hours since 2000-01-01","calendar":"noleap","scale_factor":0.01,"add_offset":1000,"title":"a"}"#);
        Array::create(&store, "a", &first, Create::New).unwrap();
        let differ: &[(&str, &str)] = &[
            (r#"{"units":"days since 2000-01-01"}"#, "the attribute units \"hours since 2000-01-01\" instead of \"days since 2000-01-01\""),
            (r#"{"calendar":"standard"}"#, "the attribute calendar"),
            (r#"{"scale_factor":0.1}"#, "the attribute scale_factor 0.01 instead of 0.1"),
            (r#"{"add_offset":0}"#, "the attribute add_offset"),
        ];
        for (json, text) in differ {
            let e = Array::create(&store, "a", &wanted(json), Create::OpenIfSame).err().unwrap();
            assert!(e.kind() == ErrorKind::Exists && e.to_string().contains(text), "{format:?} {text}: {e}");
        }
        // Others are the user's and may have been changed, and a number may be written in several ways.
        for json in [r#"{"title":"b"}"#, "{}", r#"{"scale_factor":1e-2,"add_offset":1000.0}"#] {
            Array::create(&store, "a", &wanted(json), Create::OpenIfSame).unwrap_or_else(|e| panic!("{format:?} {json}: {e}"));
        }
        let names: &[(Edit, bool)] = &[
            (|s| s.set_dimension_names(vec![Some("y".into()), Some("x".into())]).unwrap(), false),
            (|s| s.set_dimension_names(vec![Some("x".into()), Some("y".into())]).unwrap(), true),
            (|_| {}, true),
        ];
        for (edit, is_same) in names {
            let mut other = spec_as(format, &[4, 4], &[2, 2]);
            edit(&mut other);
            let again = Array::create(&store, "a", &other, Create::OpenIfSame);
            assert_eq!(again.as_ref().err().map(|e| e.kind()), (!is_same).then_some(ErrorKind::Exists), "{format:?} {is_same}");
            if let Err(e) = again {
                assert!(e.to_string().contains("dimension names [\"x\",\"y\"] instead of [\"y\",\"x\"]"), "{e}");
            }
        }
        // Numbers that are packed are not those of an array that is not.
        Array::create(&store, "plain", &wanted("{}"), Create::New).unwrap();
        let e = Array::create(&store, "plain", &wanted(r#"{"scale_factor":0.1}"#), Create::OpenIfSame).err().unwrap();
        assert!(e.to_string().contains("no attribute scale_factor instead of 0.1"), "{e}");
        let number = r#"{"_FillValue":9007199254740993,"units":[1]}"#;
        Array::create(&store, "other", &wanted(r#"{"calendar":"Gregorian","_FillValue":[-999]}"#), Create::New).unwrap();
        Array::create(&store, "number", &wanted(number), Create::New).unwrap();
        let cases = [
            // What is meant where nothing is said.
            ("plain", r#"{"scale_factor":1,"add_offset":0.0,"calendar":"standard"}"#, true),
            ("plain", r#"{"calendar":"noleap"}"#, false),
            ("other", r#"{"calendar":"standard","_FillValue":[-999.0]}"#, true),
            ("other", r#"{"_FillValue":[-998]}"#, false),
            ("other", r#"{"calendar":"360_day"}"#, false),
            ("number", r#"{"_FillValue":9007199254740992}"#, false),
            ("number", number, true),
        ];
        for (path, json, is_same) in cases {
            let again = Array::create(&store, path, &wanted(json), Create::OpenIfSame);
            assert_eq!(again.is_ok(), is_same, "{format:?} {path} {json}: {:?}", again.err());
        }
    }
}

/// As they were made before named arrays of version 2 had no fill value but one that was asked for.
#[test]
fn open_if_same_opens_named_arrays_of_version_2_with_the_fill_value_zero() {
    for data_type in [DataType::Int32, DataType::Float64, DataType::VarText] {
        let store = memory();
        let wanted = |fill: Option<&str>| {
            let mut spec = Spec::new(data_type, &[4]).unwrap();
            spec.set_format(Format::V2).unwrap();
            spec.set_dimension_names(vec![Some("x".into())]).unwrap();
            fill.map_or(Ok(()), |fill| spec.set_fill_json(fill)).unwrap();
            spec
        };
        let is_text = data_type == DataType::VarText;
        let (zero, other) = if is_text { ("\"\"", "\"a\"") } else { ("0", "1") };
        Array::create(&store, "old", &wanted(Some(zero)), Create::New).unwrap();
        Array::create(&store, "other", &wanted(Some(other)), Create::New).unwrap();
        let old = Array::create(&store, "old", &wanted(None), Create::OpenIfSame).unwrap();
        assert!(old.fill().defined);
        assert_eq!(kind(Array::create(&store, "other", &wanted(None), Create::OpenIfSame)), ErrorKind::Exists);
        Array::create(&store, "new", &wanted(None), Create::New).unwrap();
        Array::create(&store, "new", &wanted(None), Create::OpenIfSame).unwrap();
        if !is_text {
            assert_eq!(kind(Array::create(&store, "new", &wanted(Some(zero)), Create::OpenIfSame)), ErrorKind::Exists);
        }
    }
}

#[test]
fn erasing_a_node_leaves_its_namesakes() {
    let store = memory();
    for path in ["foo", "foobar", "foo/x/y"] {
        Group::create(&store, path, None, Create::OpenIfSame).unwrap();
    }
    store.erase_node("foo").unwrap();
    assert_eq!(keys(&store), ["foobar/zarr.json", "zarr.json"]);
    assert_eq!(kind(store.erase_node("foo")), ErrorKind::NotFound);
    put(&store, "bad/zarr.json", "[]");
    store.erase_node("bad").unwrap();
    store.erase_node("").unwrap();
    assert!(keys(&store).is_empty());
}

#[test]
fn a_store_for_reading_refuses_changes() {
    let store = memory();
    Array::create(&store, "a", &spec(&[4], &[2]), Create::New).unwrap();
    let read = Store::from_shared(&Context::default(), store.shared().clone(), Mode::Read);
    let array = Array::open(&read, "a").unwrap();
    let group = Group::open(&read, "").unwrap();
    let shape = [4];
    let write = own!(array.write(&Selection::all(&shape), &view(&mut [0; 4], &shape)));
    let append = own!(array.append(0, 4, &view(&mut [0; 4], &shape)));
    let results = [
        write,
        append,
        array.resize(&[1], false),
        array.attributes().set_i64("n", 1),
        array.attributes().begin(),
        group.attributes().erase("n"),
        group.consolidate(),
        read.erase_node("a"),
        Group::create(&read, "g", None, Create::New).map(drop),
        Array::create(&read, "g", &spec(&[1], &[1]), Create::New).map(drop),
    ];
    for (i, result) in results.into_iter().enumerate() {
        assert_eq!(kind(result), ErrorKind::ReadOnly, "{i}");
    }
    read.flush().unwrap();
}

#[test]
fn children_are_listed_with_their_kinds_and_errors() {
    let store = memory();
    let root = Group::create(&store, "", None, Create::New).unwrap();
    Array::create(&store, "b", &spec(&[1], &[1]), Create::New).unwrap();
    Group::create(&store, "a", None, Create::New).unwrap();
    put(&store, "broken/zarr.json", "{");
    put(&store, "new/zarr.json", &text(&store, "b/zarr.json").unwrap().replace("int32", "float13"));
    put(&store, "old/.zarray", r#"{"zarr_format":2,"shape":[1],"chunks":[1],"dtype":"<i4"}"#);
    put(&store, "__shown/zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
    put(&store, "__folder/readme", "");
    put(&store, "folder/readme", "");
    let children = root.children().unwrap();
    let found: Vec<_> = children.iter().map(|c| (c.name.as_str(), c.kind(), c.error().map(|e| e.kind()))).collect();
    use NodeKind::{Array as A, Group as G, Unknown as U};
    assert_eq!(
        found,
        [
            ("__shown", G, None),
            ("a", G, None),
            ("b", A, None),
            ("broken", U, Some(ErrorKind::Metadata)),
            ("new", U, Some(ErrorKind::Unsupported)),
            ("old", A, None)
        ]
    );
    assert_eq!(store.node_kind("broken").unwrap(), U);
    assert_eq!(store.node_kind("folder").unwrap(), NodeKind::None);
    assert_eq!(root.child_path("x/../y").map_err(|e| e.kind()), Err(ErrorKind::Name));
    assert_eq!(Group::open(&store, "a").unwrap().child_path("/x//y").unwrap(), "a/x/y");
}

#[test]
fn what_a_child_is_is_read_when_it_is_asked() {
    let folder = TestFolder::new("children");
    let store = Store::open(&Context::default(), &folder.to_string_lossy(), Mode::ReadWrite, &[]).unwrap();
    let root = Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
    for name in ["a", "b", "c", "d"] {
        Group::create(&store, name, Some(Format::V3), Create::New).unwrap();
    }
    std::fs::create_dir(folder.join("e")).unwrap();
    std::fs::create_dir(folder.join("__f")).unwrap();
    std::fs::copy(folder.join("a/zarr.json"), folder.join("__f/zarr.json")).unwrap();
    let children = root.children().unwrap();
    std::fs::write(folder.join("b/zarr.json"), "{").unwrap();
    std::fs::remove_file(folder.join("c/zarr.json")).unwrap();
    let found: Vec<_> = children.iter().map(|c| (c.name.as_str(), c.kind(), c.error().map(|e| e.kind()))).collect();
    let unknown = |kind| (NodeKind::Unknown, Some(kind));
    let (group, damaged, gone) = ((NodeKind::Group, None), unknown(ErrorKind::Metadata), unknown(ErrorKind::NotFound));
    let wanted = [("__f", group), ("a", group), ("b", damaged), ("c", gone), ("d", group)];
    assert_eq!(found, wanted.map(|(name, (kind, error))| (name, kind, error)));
    std::fs::write(folder.join("a/zarr.json"), "{").unwrap();
    assert_eq!(children[1].kind(), NodeKind::Group, "it is read once");
}

#[test]
fn attributes_change_and_all_else_stays_literally() {
    let document = r#"{"zarr_format":3,"node_type":"group","note":{"must_understand":false,"big":12345678901234567890123},
        "attributes":{"huge":1e400,"nan":NaN,"z":[1.50,-Infinity],"a":1}}"#;
    let zattrs = r#"{"huge":1e400,"nan":NaN,"z":[1.50,-Infinity],"a":1}"#;
    for format in [Format::V3, Format::V2] {
        let store = memory();
        if format == Format::V3 {
            put(&store, "zarr.json", document);
        } else {
            put(&store, ".zgroup", r#"{"zarr_format":2,"_nczarr_group":{}}"#);
            put(&store, ".zattrs", zattrs);
        }
        let group = Group::open(&store, "").unwrap();
        group.attributes().set_string("b", "ü").unwrap();
        group.attributes().erase("a").unwrap();
        let key = if format == Format::V3 { "zarr.json" } else { ".zattrs" };
        let stored = json::to_compact(&Value::Object(object(&store, key)));
        assert!(stored.contains(r#""huge":1e400,"nan":NaN,"z":[1.50,-Infinity],"b":"ü""#), "{stored}");
        assert_eq!(stored.contains("12345678901234567890123"), format == Format::V3);
        if format == Format::V2 {
            assert!(text(&store, ".zgroup").unwrap().contains("_nczarr_group"));
        }
        let again = Group::open(&store, "").unwrap();
        assert!(again.attributes().get_f64("nan").unwrap().is_nan());
        assert_eq!(kind(again.attributes().get_f64("huge")), ErrorKind::Range);
    }
}

#[test]
fn attributes_have_types() {
    let store = memory();
    let group = Group::create(&store, "", None, Create::New).unwrap();
    let a = group.attributes();
    a.set_i64("i", i64::MIN).unwrap();
    a.set_f64("f", 1.0).unwrap();
    a.set_string("s", "x").unwrap();
    a.set_json("l", r#"[1, {"k": null}]"#).unwrap();
    for (name, value) in [("n", "null"), ("b", "true"), ("o", "{}"), ("u", "18446744073709551616")] {
        a.set_json(name, value).unwrap();
    }
    assert_eq!(a.get_i64("i").unwrap(), i64::MIN);
    assert_eq!(a.get_f64("i").unwrap(), i64::MIN as f64);
    assert_eq!(a.get_f64("f").unwrap(), 1.0);
    assert_eq!(a.get_string("s").unwrap(), "x");
    assert_eq!(a.get_json("f").unwrap(), "1.0");
    let kinds: Vec<JsonKind> = ["n", "b", "i", "f", "s", "l", "o"].iter().map(|n| a.kind(n).unwrap()).collect();
    use JsonKind::*;
    assert_eq!(kinds, [Null, Bool, Integer, Number, String, Array, Object]);
    assert_eq!(a.names().unwrap(), ["i", "f", "s", "l", "n", "b", "o", "u"]);
    assert_eq!(kind(a.get_i64("f")), ErrorKind::Type);
    assert!(message(a.get_i64("f")).contains("1.0"));
    assert_eq!(kind(a.get_i64("u")), ErrorKind::Range);
    assert_eq!(kind(a.get_f64("s")), ErrorKind::Type);
    assert_eq!(kind(a.get_string("i")), ErrorKind::Type);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(kind(a.set_f64("f", bad)), ErrorKind::Range);
    }
    assert_eq!(kind(a.set_json("f", "NaN")), ErrorKind::Range);
    assert_eq!(kind(a.replace_json("{")), ErrorKind::Argument);
    assert_eq!(kind(a.replace_json("[]")), ErrorKind::Type);
    let e = a.get_i64("j").unwrap_err();
    assert!(e.kind() == ErrorKind::NotFound && e.to_string().contains("it has b, f, i"), "{e}");
    assert_eq!(kind(a.erase("j")), ErrorKind::NotFound);
    a.replace_json(r#"{"only":1}"#).unwrap();
    assert_eq!(Group::open(&store, "").unwrap().attributes().names().unwrap(), ["only"]);
    assert!(group.metadata_json().unwrap().contains("only"));
}

#[test]
fn attributes_that_could_not_be_read_again_are_refused() {
    let store = memory();
    let root = Group::create(&store, "", None, Create::New).unwrap();
    let group = Group::create(&store, "g", None, Create::New).unwrap();
    root.consolidate().unwrap();
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    group.attributes().set_json("deep", &nested(100)).unwrap();
    assert_eq!(kind(group.attributes().set_json("deeper", &nested(101))), ErrorKind::Limit);
    assert_eq!(kind(group.attributes().replace_json(&format!("{{\"a\":{}}}", nested(101)))), ErrorKind::Limit);
    assert_eq!(Group::open(&store, "g").unwrap().attributes().names().unwrap(), ["deep"]);
    Group::open(&store, "").unwrap();
    let mut s = spec(&[1], &[1]);
    s.set_attributes_json(&format!("{{\"a\":{}}}", nested(126))).unwrap();
    assert_eq!(kind(Array::create(&store, "a", &s, Create::New)), ErrorKind::Limit);
    assert_eq!(store.node_kind("a").unwrap(), NodeKind::None);
}

#[test]
fn collected_changes_are_seen_here_and_published_at_commit() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        let (a, other) = (group.attributes(), Group::open(&store, "").unwrap());
        assert_eq!(kind(a.commit()), ErrorKind::State);
        a.begin().unwrap();
        assert_eq!(kind(a.begin()), ErrorKind::State);
        a.set_i64("x", 1).unwrap();
        a.set_i64("y", 2).unwrap();
        a.erase("x").unwrap();
        assert_eq!(a.names().unwrap(), ["y"]);
        assert!(Group::open(&store, "").unwrap().attributes().names().unwrap().is_empty());
        other.attributes().set_i64("z", 3).unwrap();
        a.commit().unwrap();
        let mut names = Group::open(&store, "").unwrap().attributes().names().unwrap();
        names.sort();
        assert_eq!(names, ["y", "z"]);
        a.set_i64("w", 4).unwrap();
        assert_eq!(Group::open(&store, "").unwrap().attributes().names().unwrap().len(), 3);
        let dropped = Group::open(&store, "").unwrap();
        dropped.attributes().begin().unwrap();
        dropped.attributes().set_i64("lost", 1).unwrap();
        drop(dropped);
        assert_eq!(Group::open(&store, "").unwrap().attributes().names().unwrap().len(), 3);
    }
}

#[test]
fn each_handle_of_a_node_collects_its_own_changes() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        let array = Array::create(&store, "a", &spec(&[1], &[1]), Create::New).unwrap();
        let handles = [
            (group.attributes(), &group.for_another_handle().attributes().for_another_handle()),
            (array.attributes(), &array.for_another_handle().attributes().for_another_handle()),
        ];
        for (one, other) in handles {
            one.begin().unwrap();
            one.set_i64("mine", 1).unwrap();
            other.set_i64("theirs", 2).unwrap();
            assert_eq!(other.names().unwrap(), ["theirs"]);
            assert_eq!(one.names().unwrap(), ["theirs", "mine"]);
            one.set_raw(true);
            assert!(!other.is_raw());
            other.begin().unwrap();
            other.erase("theirs").unwrap();
            one.commit().unwrap();
            assert_eq!(other.names().unwrap(), ["mine"]);
            other.commit().unwrap();
            assert_eq!(one.names().unwrap(), ["mine"]);
        }
    }
}

#[test]
fn several_attributes_are_set_at_once_or_none() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let (one, other) = (Group::create(&store, "", Some(format), Create::New).unwrap(), Group::open(&store, "").unwrap());
        let stored = || Group::open(&store, "").unwrap().attributes().to_json().unwrap().split_whitespace().collect::<String>();
        other.attributes().set_i64("theirs", 1).unwrap();
        one.attributes().update_json(r#"{"a": 1, "b": [2]}"#).unwrap();
        for (bad, kind) in [
            ("{\"c\": 3, \"\": 4}", ErrorKind::Name),
            ("{\"c\": 3, \"d\": 1e999}", ErrorKind::Range),
            ("[1]", ErrorKind::Type),
            ("{", ErrorKind::Argument),
        ] {
            assert_eq!(one.attributes().update_json(bad).unwrap_err().kind(), kind, "{bad}");
        }
        assert_eq!(stored(), r#"{"theirs":1,"a":1,"b":[2]}"#);
        one.attributes().begin().unwrap();
        one.attributes().update_json(r#"{"a": 5, "c": 6}"#).unwrap();
        assert_eq!(stored(), r#"{"theirs":1,"a":1,"b":[2]}"#);
        one.attributes().commit().unwrap();
        assert_eq!(stored(), r#"{"theirs":1,"a":5,"b":[2],"c":6}"#);
    }
}

#[test]
fn setters_of_many_threads_and_handles_lose_nothing() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        Group::create(&store, "a", Some(format), Create::New).unwrap();
        root.consolidate().unwrap();
        let shared = Group::open(&store, "a").unwrap();
        std::thread::scope(|s| {
            for t in 0..4 {
                let (store, shared) = (&store, &shared);
                s.spawn(move || {
                    let own = Group::open(store, "a").unwrap();
                    for i in 0..20 {
                        let group = if i % 2 == 0 { &own } else { shared };
                        group.attributes().set_i64(&format!("t{t}i{i}"), i).unwrap();
                    }
                });
            }
        });
        assert_eq!(Group::open(&store, "a").unwrap().attributes().names().unwrap().len(), 80);
        let entry = match format {
            Format::V3 => object(&store, "zarr.json")["consolidated_metadata"]["metadata"]["a"]["attributes"].clone(),
            Format::V2 => object(&store, ".zmetadata")["metadata"]["a/.zattrs"].clone(),
        };
        assert_eq!(entry.as_object().unwrap().len(), 80);
    }
}

#[test]
fn attributes_of_an_erased_node_are_not_brought_back() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let group = Group::create(&store, "a", Some(format), Create::New).unwrap();
        store.erase_node("a").unwrap();
        assert_eq!(kind(group.attributes().set_i64("x", 1)), ErrorKind::NotFound);
        assert_eq!(keys(&store).len(), 1);
    }
}

#[test]
fn dimension_names_in_both_formats() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let mut s = spec_as(format, &[2, 2], &[2, 2]);
        let plain = Array::create(&store, "plain", &s, Create::New).unwrap();
        assert_eq!(plain.dimension_names().unwrap(), [None, None]);
        s.set_dimension_names(vec![Some("y".into()), Some("x".into())]).unwrap();
        s.set_attributes_json(r#"{"units":"K"}"#).unwrap();
        Array::create(&store, "a", &s, Create::New).unwrap();
        let array = Array::open(&store, "a").unwrap();
        assert_eq!(array.dimension_names().unwrap(), [Some("y".to_string()), Some("x".to_string())]);
        assert_eq!(array.attributes().get_string("units").unwrap(), "K");
        assert_eq!(text(&store, "a/.zattrs").is_some_and(|t| t.contains("_ARRAY_DIMENSIONS")), format == Format::V2);
    }
}

#[test]
fn an_unsupported_codec_leaves_the_metadata_usable() {
    let store = memory();
    Array::create(&store, "a", &spec(&[4], &[4]), Create::New).unwrap();
    let document = text(&store, "a/zarr.json").unwrap().replace("\"name\": \"bytes\"", "\"name\": \"sorcery\"");
    put(&store, "a/zarr.json", &document);
    let array = Array::open(&store, "a").unwrap();
    array.attributes().set_i64("n", 1).unwrap();
    let mut data = [0; 4];
    let e = own!(array.read(&Selection::all(&[4]), &view(&mut data, &[4]))).unwrap_err();
    assert_eq!((e.kind(), e.key()), (ErrorKind::Unsupported, Some("a/zarr.json")));
    assert!(e.to_string().contains("sorcery"), "{e}");
    array.resize(&[9], false).unwrap();
    assert_eq!(kind(array.resize(&[3], false)), ErrorKind::Unsupported);
    assert_eq!(Array::open(&store, "a").unwrap().shape().as_slice(), [9]);
    put(&store, "a/zarr.json", &document.replace("\"little\"", "7").replace("sorcery", "bytes"));
    assert_eq!(kind(Array::open(&store, "a")), ErrorKind::Metadata);
}

#[test]
fn inquiries_tell_what_the_document_says() {
    let store = memory();
    let mut s = spec(&[10, 6], &[4, 6]);
    s.set_inner_chunks(&[2, 3]).unwrap();
    s.set_fill(DataType::Int32, &7i32.to_ne_bytes()).unwrap();
    s.set_order(crate::metadata::Order::F).unwrap();
    Array::create(&store, "a", &s, Create::New).unwrap();
    let array = Array::open(&store, "a").unwrap();
    assert_eq!((array.shape().as_slice(), array.rank()), (&[10, 6][..], 2));
    assert_eq!((array.chunk_shape().as_slice(), array.inner_chunk_shape().as_slice()), (&[4, 6][..], &[2, 3][..]));
    assert_eq!((array.data_type(), array.format(), array.path()), (DataType::Int32, Format::V3, "a"));
    assert_eq!(array.fill().element(DataType::Int32)[..], 7i32.to_ne_bytes());
    assert_eq!(read_all(&array), [7; 60]);
    assert!(array.metadata_json().unwrap().contains("sharding_indexed"));
}

#[test]
fn consolidated_metadata_follows_every_change() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        let s = spec_as(format, &[4], &[2]);
        let array = Array::create(&store, "g/a", &s, Create::New).unwrap();
        root.consolidate().unwrap();
        let group = Group::open(&store, "g").unwrap();
        group.consolidate().unwrap();
        let check = |what: &str| {
            for (path, group) in [("", &root), ("g", &group)] {
                let key = path::join(path, if format == Format::V3 { "zarr.json" } else { ".zmetadata" });
                let found = object(&store, &key);
                group.consolidate().unwrap();
                let fresh = object(&store, &key);
                // The order of entries is arbitrary.
                assert_eq!(Value::Object(found), Value::Object(fresh), "{what}: {key}");
            }
        };
        check("at first");
        array.attributes().set_i64("n", 1).unwrap();
        check("attribute of an array");
        group.attributes().set_i64("n", 1).unwrap();
        check("attribute of a group");
        root.attributes().set_i64("n", 1).unwrap();
        check("attribute of the root");
        array.resize(&[6], false).unwrap();
        check("resize");
        own!(array.append(0, 1, &view(&mut [5], &[1])).unwrap());
        check("append");
        Group::create(&store, "g/x/y", Some(format), Create::New).unwrap();
        check("new nodes");
        Array::create(&store, "g/x", &s, Create::Overwrite).unwrap();
        check("overwriting");
        store.erase_node("g/x").unwrap();
        check("erasing");
    }
}

#[test]
fn consolidated_metadata_has_the_form_of_other_writers() {
    let store = memory();
    let root = Group::create(&store, "", None, Create::New).unwrap();
    let group = Group::create(&store, "g", None, Create::New).unwrap();
    Array::create(&store, "g/a", &spec(&[4], &[2]), Create::New).unwrap();
    group.consolidate().unwrap();
    root.consolidate().unwrap();
    let member = object(&store, "zarr.json")["consolidated_metadata"].clone();
    assert_eq!((&member["kind"], &member["must_understand"]), (&Value::from("inline"), &Value::from(false)));
    let entries = member["metadata"].as_object().unwrap();
    assert_eq!(entries.keys().collect::<Vec<_>>(), ["g", "g/a"]);
    assert!(entries["g"].get("consolidated_metadata").is_none());
    assert_eq!(entries["g/a"], Value::Object(object(&store, "g/a/zarr.json")));
    Group::open(&store, "").unwrap();

    let store = memory();
    let root = Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
    root.attributes().set_i64("n", 1).unwrap();
    let mut s = spec_v2(&[4], &[2]);
    s.set_dimension_names(vec![Some("x".into())]).unwrap();
    Array::create(&store, "a", &s, Create::New).unwrap();
    root.consolidate().unwrap();
    let document = object(&store, ".zmetadata");
    assert_eq!(document["zarr_consolidated_format"], Value::from(1));
    assert_eq!(document["metadata"].as_object().unwrap().keys().collect::<Vec<_>>(), [".zgroup", ".zattrs", "a/.zarray", "a/.zattrs"]);
}

#[test]
fn shrinking_erases_outside_and_fills_beyond_the_edge() {
    for keep in [false, true] {
        let store = memory();
        let array = Array::create(&store, "a", &spec(&[5, 5], &[2, 2]), Create::New).unwrap();
        write_all(&array, &mut (1..=25).collect::<Vec<i32>>());
        array.resize(&[3, 5], keep).unwrap();
        assert_eq!(read_all(&array), (1..=15).collect::<Vec<i32>>());
        assert_eq!(text(&store, "a/c/2/0").is_some(), keep);
        array.resize(&[5, 5], keep).unwrap();
        let want: Vec<i32> = (1..=25).map(|i| if i > 15 && !keep { 0 } else { i }).collect();
        assert_eq!(read_all(&array), want);
        assert_eq!(Array::open(&store, "a").unwrap().shape().as_slice(), [5, 5]);
    }
}

#[test]
fn rank_zero_and_length_zero() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let s = spec_as(format, &[], &[]);
        let scalar = Array::create(&store, "s", &s, Create::New).unwrap();
        write_all(&scalar, &mut [42]);
        assert_eq!(read_all(&Array::open(&store, "s").unwrap()), [42]);
        scalar.resize(&[], false).unwrap();
        assert_eq!(kind(own!(scalar.append(0, 1, &view(&mut [1], &[1])))), ErrorKind::Bounds);
        assert_eq!(read_all(&scalar), [42]);
        let mut s = Spec::new(DataType::Int32, &[0, 3]).unwrap();
        s.set_format(format).unwrap();
        let empty = Array::create(&store, "e", &s, Create::New).unwrap();
        assert_eq!(empty.chunk_shape().as_slice(), [1 << 16, 3]);
        assert!(read_all(&empty).is_empty());
        empty.resize(&[2, 0], false).unwrap();
        assert!(read_all(&empty).is_empty());
        empty.resize(&[2, 2], false).unwrap();
        write_all(&empty, &mut [1, 2, 3, 4]);
        empty.resize(&[0, 2], false).unwrap();
        empty.resize(&[2, 2], false).unwrap();
        assert_eq!(read_all(&empty), [0; 4]);
    }
}

#[test]
fn shrinking_with_an_undefined_fill_value_leaves_zeros() {
    let store = memory();
    let mut s = spec_v2(&[6], &[4]);
    s.set_fill_json("null").unwrap();
    let array = Array::create(&store, "a", &s, Create::New).unwrap();
    write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
    array.resize(&[2], false).unwrap();
    assert_eq!(keys(&store), [".zgroup", "a/.zarray", "a/0"]);
    array.resize(&[6], false).unwrap();
    assert_eq!(read_all(&array), [1, 2, 0, 0, 0, 0]);
}

#[test]
fn shrinking_along_two_dimensions_keeps_what_is_inside() {
    for (format, sharded) in [(Format::V2, false), (Format::V3, false), (Format::V3, true)] {
        let store = memory();
        let mut s = spec_as(format, &[9, 10], &[4, 4]);
        if sharded {
            s.set_inner_chunks(&[2, 2]).unwrap();
        }
        let array = Array::create(&store, "a", &s, Create::New).unwrap();
        write_all(&array, &mut (1..=90).collect::<Vec<i32>>());
        array.resize(&[6, 7], false).unwrap();
        array.resize(&[9, 10], false).unwrap();
        let want: Vec<i32> = (0..90).map(|i| if i / 10 < 6 && i % 10 < 7 { i + 1 } else { 0 }).collect();
        assert_eq!(read_all(&array), want);
    }
}

#[test]
fn shrinking_a_huge_sparse_array_takes_the_time_of_what_is_stored() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[1 << 40, 1 << 20], &[2, 2]), Create::New).unwrap();
    put(&store, "a/c/5/5", "0123456789abcdef");
    put(&store, "a/c/0/0", "0123456789abcdef");
    put(&store, "a/c/400000000/1", "0123456789abcdef");
    array.resize(&[1, 1 << 19], false).unwrap();
    assert_eq!(keys(&store), ["a/c/0/0", "a/zarr.json", "zarr.json"]);
    assert_eq!(text(&store, "a/c/0/0").unwrap().as_bytes(), b"01234567\0\0\0\0\0\0\0\0");
}

#[test]
fn resizing_checks_the_shape_and_keeps_the_document() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[4], &[2]), Create::New).unwrap();
    assert_eq!(kind(array.resize(&[1, 2], false)), ErrorKind::Rank);
    assert_eq!(kind(array.resize(&[u64::MAX], false)), ErrorKind::Limit);
    put(&store, "b/.zarray", r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i4","_nczarr_array":{"n":1.50}}"#);
    let array = Array::open(&store, "b").unwrap();
    array.resize(&[0], false).unwrap();
    array.resize(&[7], false).unwrap();
    let stored = json::to_compact(&Value::Object(object(&store, "b/.zarray")));
    assert_eq!(stored, r#"{"zarr_format":2,"shape":[7],"chunks":[2],"dtype":"<i4","_nczarr_array":{"n":1.50}}"#);
}

#[test]
fn chunks_of_no_length_are_the_smallest_and_stored_so_when_the_array_grows() {
    let v2 = |chunks: &str, rows: u64| format!(r#"{{"zarr_format":2,"shape":[{rows},3],"chunks":{chunks},"dtype":"<i4"}}"#);
    let v3 = |chunks: &str, rows: u64, codecs: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[{rows},3],"data_type":"int32","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunks}}}}},
            "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{codecs}]}}"#
        )
    };
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let shards =
        format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2,3],"codecs":[{bytes}],"index_codecs":[{bytes}]}}}}"#);
    let cases = [
        ("a/.zarray", v2("[0,3]", 0), v2("[1,3]", 4)),
        ("a/zarr.json", v3("[0,3]", 0, bytes), v3("[1,3]", 4, bytes)),
        ("a/zarr.json", v3("[0,3]", 0, &shards), v3("[2,3]", 4, &shards)),
    ];
    for (key, written, grown) in cases {
        let store = memory();
        put(&store, key, &written);
        let array = Array::open(&store, "a").unwrap();
        let mut rows: Vec<i32> = (0..12).collect();
        own!(array.append(0, 4, &view(&mut rows, &[4, 3])).unwrap());
        assert_eq!(object(&store, key), json::parse_object(grown.as_bytes(), 1000).unwrap(), "{written}");
        assert_eq!(read_all(&Array::open(&store, "a").unwrap()), (0..12).collect::<Vec<i32>>(), "{written}");
    }
}

#[test]
fn appending_grows_and_writes() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let s = spec_as(format, &[0, 3], &[2, 2]);
        let array = Array::create(&store, "a", &s, Create::New).unwrap();
        let stale = Array::open(&store, "a").unwrap();
        for t in 0..5 {
            let mut row = [3 * t, 3 * t + 1, 3 * t + 2];
            let handle = if t % 2 == 0 { &array } else { &stale };
            own!(handle.append(0, 1, &view(&mut row, &[1, 3])).unwrap());
        }
        assert_eq!(array.shape().as_slice(), [5, 3]);
        assert_eq!(read_all(&array), (0..15).collect::<Vec<i32>>());
        // SAFETY: as above.
        unsafe {
            array.append(1, 2, &view(&mut [-1; 10], &[5, 2])).unwrap();
            assert_eq!(kind(array.append(2, 1, &view(&mut [0; 5], &[5, 1]))), ErrorKind::Bounds);
            assert_eq!(kind(array.append(0, u64::MAX, &view(&mut [0; 5], &[5, 1]))), ErrorKind::Limit);
            assert_eq!(kind(array.append(0, 1, &view(&mut [0; 4], &[1, 5]))), ErrorKind::BufferSize);
            array.append(0, 0, &view(&mut [], &[0, 5])).unwrap();
            // `stale` knows three columns, there are five.
            assert_eq!(kind(stale.append(0, 1, &view(&mut [0; 3], &[1, 3]))), ErrorKind::State);
            stale.append(0, 1, &view(&mut [9; 5], &[1, 5])).unwrap();
        }
        assert_eq!(stale.shape().as_slice(), [6, 5]);
        assert_eq!(&read_all(&stale)[20..], [12, 13, 14, -1, -1, 9, 9, 9, 9, 9]);
    }
}

#[test]
fn a_read_of_a_chunk_that_comes_back_short_is_gone_on_with() {
    use crate::store::fault;
    use crate::store::os::Call;
    let folder = TestFolder::new("short");
    let store = Store::open(&Context::with_threads(1), &folder.display().to_string(), Mode::ReadWrite, &[]).unwrap();
    for compressor in ["none", "zstd"] {
        let mut spec = spec(&[64], &[64]);
        spec.set_compressor(compressor, None).unwrap();
        let array = Array::create(&store, compressor, &spec, Create::New).unwrap();
        write_all(&array, &mut (1..=64).collect::<Vec<i32>>());
        for (data_type, size, most) in [(DataType::Int32, 4, 9), (DataType::Int64, 8, 1), (DataType::Int64, 8, 9), (DataType::Int64, 8, 40)]
        {
            let mut data = vec![0u8; 64 * size];
            let memory = Memory::of(&mut data, &[64], data_type);
            let short = fault::Fault { call: Call::Read, after: 0, times: 1, effect: fault::Effect::Short(most) };
            let (done, unused) = fault::with(&[short], || own!(array.read(&Selection::all(&[64]), &memory)));
            done.unwrap_or_else(|e| panic!("{compressor} {data_type:?} {most}: {e}"));
            let lowest: Vec<u8> = data.chunks(size).map(|element| element[0]).collect();
            assert_eq!((lowest, unused), ((1..=64).collect(), 0), "{compressor} {data_type:?} {most}");
        }
    }
}

#[test]
fn nodes_in_a_folder_behave_as_in_memory() {
    let folder = TestFolder::new("locate");
    let location = format!("{}/run.zarr/g//t", folder.display());
    let context = Context::with_threads(2);
    let (read, path) = Store::locate(&context, &location, Mode::Read).unwrap();
    assert_eq!(kind(Array::open(&read, &path)), ErrorKind::NotFound);
    let (store, path) = Store::locate(&context, &location, Mode::ReadWrite).unwrap();
    assert_eq!((path.as_str(), kind(store.erase_node(&path))), ("g/t", ErrorKind::NotFound));
    assert!(!folder.exists(), "looking for a node makes no folder");
    let array = Array::create(&store, &path, &spec(&[5], &[2]), Create::New).unwrap();
    write_all(&array, &mut [1, 2, 3, 4, 5]);
    array.resize(&[3], false).unwrap();
    array.resize(&[5], false).unwrap();
    assert_eq!(read_all(&array), [1, 2, 3, 0, 0]);
    array.attributes().set_i64("n", 1).unwrap();
    Group::open(&store, "").unwrap().consolidate().unwrap();
    assert_eq!(keys(&store), ["g/t/c/0", "g/t/c/1", "g/t/zarr.json", "g/zarr.json", "zarr.json"]);
    Array::create(&store, &path, &spec(&[5], &[2]), Create::Overwrite).unwrap();
    assert_eq!(keys(&store), ["g/t/zarr.json", "g/zarr.json", "zarr.json"]);
    let names: Vec<String> = Group::open(&store, "g").unwrap().children().unwrap().into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["t"]);
    store.erase_node("").unwrap();
    assert!(keys(&store).is_empty());
    let other = folder.join("plain").display().to_string();
    assert_eq!(kind(Store::open(&context, &other, Mode::Read, &[("speed", "9")])), ErrorKind::Argument);
    let plain = Store::open(&context, &other, Mode::ReadWrite, &[("file.sync", "none")]).unwrap();
    Array::create(&plain, "", &spec(&[5], &[2]), Create::New).unwrap();
    assert_eq!(keys(&plain), ["zarr.json"]);
}

#[test]
fn two_stores_on_one_folder_lose_no_attribute() {
    let folder = TestFolder::new("two");
    let location = folder.display().to_string();
    let open = || Store::open(&Context::default(), &location, Mode::ReadWrite, &[("file.sync", "none")]).unwrap();
    Group::create(&open(), "", None, Create::New).unwrap();
    std::thread::scope(|s| {
        for t in 0..3 {
            let open = &open;
            s.spawn(move || {
                let group = Group::open(&open(), "").unwrap();
                (0..20).for_each(|i| group.attributes().set_i64(&format!("t{t}i{i}"), i).unwrap());
            });
        }
    });
    assert_eq!(Group::open(&open(), "").unwrap().attributes().names().unwrap().len(), 60);
}

#[test]
fn of_many_creators_one_wins() {
    let store = memory();
    let create = || match Array::create(&store, "a/b", &spec(&[4], &[2]), Create::New) {
        Ok(_) => true,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::Exists, "{e}");
            false
        }
    };
    let won = std::thread::scope(|s| {
        let threads: Vec<_> = (0..4).map(|_| s.spawn(create)).collect();
        threads.into_iter().filter_map(|t| t.join().unwrap().then_some(())).count()
    });
    assert_eq!(won, 1);
}

#[test]
fn consolidated_metadata_that_cannot_be_read_is_left_alone() {
    let store = memory();
    let group = Group::create(&store, "g", Some(Format::V2), Create::New).unwrap();
    for odd in ["{", r#"{"zarr_consolidated_format":7,"metadata":{}}"#] {
        put(&store, ".zmetadata", odd);
        group.attributes().set_i64("n", 1).unwrap();
        assert_eq!(text(&store, ".zmetadata").unwrap(), odd);
    }
}

#[test]
fn shapes_of_too_many_elements_are_refused() {
    for shape in [&[1 << 62, 2][..], &[1 << 32, 1 << 31], &[i64::MAX as u64, 3]] {
        assert_eq!(kind(Spec::new(DataType::Int8, shape)), ErrorKind::Limit);
    }
    let store = memory();
    let array = Array::create(&store, "a", &Spec::new(DataType::Int8, &[0, i64::MAX as u64]).unwrap(), Create::New).unwrap();
    assert_eq!(kind(array.resize(&[2, i64::MAX as u64], false)), ErrorKind::Limit);
    let document = text(&store, "a/zarr.json").unwrap();
    let memory = view(&mut [], &[1, 1]);
    // SAFETY: nothing of the memory may be touched, as it has no bytes.
    assert_eq!(kind(unsafe { array.append(0, 2, &memory) }), ErrorKind::Limit);
    assert_eq!(text(&store, "a/zarr.json").unwrap(), document);
}

#[test]
fn a_region_checked_before_shrinking_is_refused_after() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[4], &[2]), Create::New).unwrap();
    let all = Selection::all(&[4]);
    array.resize(&[2], false).unwrap();
    let result = own!(array.write(&all, &view(&mut [1; 4], &[4])));
    assert_eq!(kind(result), ErrorKind::Bounds);
}

#[test]
fn fill_chunks_are_stored_on_request() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[4], &[2]), Create::New).unwrap();
    write_all(&array, &mut [0; 4]);
    assert!(text(&store, "a/c/0").is_none());
    array.set_write_fill_chunks(true);
    write_all(&array, &mut [0; 4]);
    assert!(text(&store, "a/c/1").is_some());
    array.resize(&[6], false).unwrap();
    write_all(&array, &mut [0; 6]);
    assert!(text(&store, "a/c/2").is_some());
}

#[test]
fn hostile_documents_are_errors() {
    let nested = format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let cases: &[(&str, &str, ErrorKind)] = &[
        ("zarr.json", "", ErrorKind::Metadata),
        ("zarr.json", "null", ErrorKind::Metadata),
        ("zarr.json", r#"{"zarr_format":3,"node_type":"group""#, ErrorKind::Metadata),
        ("zarr.json", r#"{"zarr_format":4,"node_type":"group"}"#, ErrorKind::Unsupported),
        ("zarr.json", r#"{"zarr_format":3,"node_type":"group","x":1}"#, ErrorKind::Extension),
        ("zarr.json", &nested, ErrorKind::Metadata),
        (".zgroup", r#"{"zarr_format":1}"#, ErrorKind::Metadata),
        (".zarray", "", ErrorKind::Metadata),
    ];
    for (key, document, want) in cases {
        let store = memory();
        put(&store, key, document);
        let e = Node::open(&store, "").err().unwrap();
        assert_eq!((e.kind(), e.key()), (*want, Some(*key)), "{document:.40}: {e}");
        assert_eq!(store.node_kind("").unwrap(), NodeKind::Unknown);
    }
}

#[test]
fn handles_may_cross_threads() {
    fn check<T: Send + Sync + Clone>() {}
    check::<Array>();
    check::<Group>();
    check::<Store>();
    check::<Context>();
    fn shared<T: Send + Sync>() {}
    shared::<Attributes>();
    shared::<Spec>();
}

#[test]
fn a_copy_has_the_same_keys_and_bytes() {
    let (from, to) = (memory(), memory());
    let mut s = spec(&[4], &[2]);
    s.set_attributes_json(r#"{"a": 1}"#).unwrap();
    write_all(&Array::create(&from, "g/x", &s, Create::New).unwrap(), &mut [1, 2, 3, 0]);
    let mut steps = Vec::new();
    let mut told = |done, all| {
        steps.push((done, all));
        Ok(())
    };
    from.copy_node("g", (&to, "deep/h"), Create::New, false, &mut told).unwrap();
    assert!(steps.is_sorted() && steps.last() == Some(&(4, 4)), "{steps:?}");
    assert_eq!(keys(&to), ["deep/h/x/c/0", "deep/h/x/c/1", "deep/h/x/zarr.json", "deep/h/zarr.json", "deep/zarr.json", "zarr.json"]);
    assert_eq!(text(&to, "deep/h/x/zarr.json"), text(&from, "g/x/zarr.json"));
    assert_eq!(Array::open(&to, "deep/h/x").unwrap().usage().unwrap(), Usage { chunks: 2, bytes: 16, possible_chunks: 2 });
    let again = |how| from.copy_node("g", (&to, "deep/h"), how, true, &mut |_, _| Ok(())).map_err(|e| e.kind());
    assert_eq!(again(Create::New), Err(ErrorKind::Exists));
    assert_eq!(again(Create::Overwrite), Ok(()));
    let within = |a: &str, b: &str| from.copy_node(a, (&from, b), Create::Overwrite, false, &mut |_, _| Ok(())).map_err(|e| e.kind());
    for (a, b) in [("g", "g"), ("g", "g/y"), ("g/x", "g"), ("", "y")] {
        assert_eq!(within(a, b), Err(ErrorKind::Argument), "{a:?} to {b:?}");
    }
    assert_eq!(within("g/x", "g/xy"), Ok(()));
    assert_eq!(within("nothing", "y"), Err(ErrorKind::NotFound));
}

#[test]
fn a_copy_is_added_to_consolidated_metadata() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let s = spec_as(format, &[4], &[2]);
        Array::create(&store, "x", &s, Create::New).unwrap();
        Group::open(&store, "").unwrap().consolidate().unwrap();
        store.copy_node("x", (&store, "y"), Create::New, false, &mut |_, _| Ok(())).unwrap();
        let (key, entry) = if format == Format::V2 { (".zmetadata", "y/.zarray") } else { ("zarr.json", "\"y\"") };
        assert!(text(&store, key).unwrap().contains(entry), "{format:?}");
    }
}

#[test]
fn v2_keys_can_be_asked_for_in_v3() {
    let store = memory();
    let mut s = spec(&[4], &[2]);
    s.set_key_encoding(KeyEncoding::V2(Separator::Dot)).unwrap();
    write_all(&Array::create(&store, "x", &s, Create::New).unwrap(), &mut [1, 2, 3, 4]);
    assert!(keys(&store).contains(&"x/1".to_string()));
}

/// Memory of C has them as 0 and 1, and so have files: other readers refuse other bytes.
#[test]
fn bools_are_0_or_1_in_memory_and_in_files() {
    let store = memory();
    let bools = |bytes: &mut [u8]| Memory::of(bytes, &[4], DataType::Bool);
    for compressor in ["none", "zstd"] {
        for inner in [None, Some(2)] {
            let name = format!("{compressor}{}", inner.is_some());
            let mut spec = Spec::new(DataType::Bool, &[4]).unwrap();
            spec.set_chunks(&[4]).unwrap();
            spec.set_compressor(compressor, None).unwrap();
            inner.iter().for_each(|inner| spec.set_inner_chunks(&[*inner]).unwrap());
            let array = Array::create(&store, &name, &spec, Create::New).unwrap();
            let all = Selection::all(&[4]);
            own!(array.write(&all, &bools(&mut [0, 1, 2, 255])).unwrap());
            let mut found = [7u8; 4];
            // SAFETY: as above; bytes.
            unsafe { array.read(&all, &Memory { data_type: DataType::UInt8, ..bools(&mut found) }).unwrap() };
            assert_eq!(found, [0, 1, 1, 1], "{name}");
            if compressor == "none" && inner.is_none() {
                let stored = get(&**store.shared(), &format!("{name}/c/0"), 10).unwrap().unwrap();
                assert_eq!(&stored[..], [0, 1, 1, 1]);
                store.shared().put(&format!("{name}/c/0"), &[&[0, 3, 255, 1]], Condition::None).unwrap();
            }
            let mut found = [7u8; 4];
            own!(Array::open(&store, &name).unwrap().read(&all, &bools(&mut found)).unwrap());
            assert_eq!(found, [0, 1, 1, 1], "{name}");
        }
    }
}

/// Known without a request.
#[cfg(feature = "cloud")]
#[test]
fn a_web_server_is_not_opened_for_writing() {
    for location in ["http://127.0.0.1:1/run.zarr", "http://127.0.0.1:1/run.zip", "s3://bucket/run.zip"] {
        for opened in [
            Store::open(&Context::default(), location, Mode::ReadWrite, &[]),
            Store::locate(&Context::default(), &format!("{location}/t"), Mode::ReadWrite).map(|(store, _)| store),
        ] {
            assert_eq!(opened.err().map(|e| e.kind()), Some(ErrorKind::ReadOnly), "{location}");
        }
    }
    Store::open(&Context::default(), "http://127.0.0.1:1/run.zarr", Mode::Read, &[]).unwrap();
}
