//! Consolidated metadata as they are read: fewer requests, and nothing that a reader or a writer would be deceived by.
//!
//! One test at a time: a change of any store of the same name in this process ends the use of consolidated metadata.

#[path = "support/int32.rs"]
mod int32;

use int32::{alone, line, memory, read_all, write_all};
use ozarr::dtype::DataType;
use ozarr::error::{ErrorKind, Result};
use ozarr::metadata::Format;
use ozarr::node::{Array, Context, Create, Group, Level, Log, Mode, Node, NodeKind, Options, Settings, Spec, Store};
use ozarr::store::latency::LatencyStore;
use ozarr::store::memory::MemoryStore;
use ozarr::store::{Condition, SharedStore, StorageExt, get};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn put(store: &SharedStore, key: &str, text: &str) {
    store.put(key, &[text.as_bytes()], Condition::None).unwrap();
}

fn text(store: &SharedStore, key: &str) -> String {
    String::from_utf8(get(&**store, key, 1 << 30).unwrap().unwrap_or_else(|| panic!("no {key}"))).unwrap()
}

fn spec(format: Format) -> Spec {
    let mut spec = Spec::new(DataType::Int32, &[4]).unwrap();
    spec.set_chunks(&[2]).unwrap();
    spec.set_format(format).unwrap();
    spec
}

fn append(array: &Array, values: &mut [i32]) -> Result<()> {
    // SAFETY: the memory lives as long as the call.
    unsafe { array.append(0, values.len() as u64, &line(values)) }
}

fn kind<T>(result: Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

/// Another handle on a store, whose requests are counted.
fn counted(shared: &SharedStore, consolidated: bool) -> (Store, Arc<LatencyStore>) {
    let slow = Arc::new(LatencyStore::new(shared.clone(), Duration::ZERO));
    (Store::new(&Context::default(), slow.clone(), Mode::ReadWrite, Options { consolidated, ..Options::default() }), slow)
}

#[test]
fn a_consolidated_group_is_listed_and_opened_in_a_few_requests() {
    let _alone = alone();
    // The first node's documents of both versions in one round trip, then the `.zmetadata`, then a listing.
    // The root is looked at once, too: it may say that the hierarchy is of a draft.
    for (format, most) in [(Format::V2, 6), (Format::V3, 5)] {
        let (plain, shared) = memory();
        Group::create(&plain, "run/sub", Some(format), Create::New).unwrap();
        for i in 0..100 {
            let mut s = spec(format);
            s.set_attributes_json(&format!(r#"{{"number":{i}}}"#)).unwrap();
            Array::create(&plain, &format!("run/sub/a{i:02}"), &s, Create::New).unwrap();
        }
        Group::open(&plain, "run").unwrap().consolidate().unwrap();
        for consolidated in [true, false] {
            let (store, slow) = counted(&shared, consolidated);
            let sub = Group::open(&store, "run").unwrap().open_group("sub").unwrap();
            let children = sub.children().unwrap();
            assert_eq!(children.len(), 100);
            for (i, child) in children.iter().enumerate() {
                assert_eq!(child.kind(), NodeKind::Array);
                let array = sub.open_array(&child.name).unwrap();
                assert_eq!((array.shape().as_slice(), array.attributes().get_i64("number").unwrap()), (&[4][..], i as i64));
            }
            let requests = slow.stats().requests;
            assert!(if consolidated { requests <= most } else { requests >= 200 }, "{format:?}, {consolidated}: {requests}");
        }
    }
}

#[test]
fn what_consolidated_metadata_lack_is_opened_from_its_own_document() {
    let _alone = alone();
    for (format, key) in [(Format::V2, ".zmetadata"), (Format::V3, "zarr.json")] {
        let (store, shared) = memory();
        let new = |path: &str| Array::create(&store, path, &spec(format), Create::New).unwrap();
        new("old");
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let consolidated = text(&shared, key);
        new("added");
        // As another program leaves it that knows nothing of consolidated metadata, or writes what cannot be understood.
        put(&shared, key, &consolidated.replace("int32", "int99").replace("<i4", "<i99"));
        put(&shared, "bad/zarr.json", "{");
        let group = Group::open(&store, "").unwrap();
        let children: Vec<(String, NodeKind)> = group
            .children()
            .unwrap()
            .into_iter()
            .map(|c| {
                let kind = c.kind();
                (c.name, kind)
            })
            .collect();
        let want = [("added", NodeKind::Array), ("bad", NodeKind::Unknown), ("old", NodeKind::Array)];
        assert_eq!(children.iter().map(|(n, k)| (n.as_str(), *k)).collect::<Vec<_>>(), want);
        assert_eq!(group.open_array("added").unwrap().shape().as_slice(), [4]);
        assert_eq!(group.open_array("old").unwrap().data_type(), DataType::Int32);
        assert_eq!(kind(group.open_array("none")), ErrorKind::NotFound);
        assert_eq!(kind(group.open_group("old")), ErrorKind::NodeKind);
        assert_eq!(kind(group.open_array("../old")), ErrorKind::Name);
    }
}

#[test]
fn entries_of_consolidated_metadata_that_are_no_objects_are_not_believed() {
    let _alone = alone();
    let v3 = r#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata":
        {"kind": "inline", "must_understand": false, "metadata": {"a": ENTRY}}}"#;
    let cases = [
        (Format::V2, ".zmetadata", r#"{"zarr_consolidated_format": 1, "metadata": {"a/.zarray": ARRAY, "a/.zattrs": ENTRY}}"#),
        (Format::V2, ".zmetadata", r#"{"zarr_consolidated_format": 1, "metadata": {"a/.zarray": ENTRY, "a/.zattrs": {"k": "w"}}}"#),
        (Format::V3, "zarr.json", v3),
    ];
    for (format, key, document) in cases {
        let (store, shared) = memory();
        let mut s = spec(format);
        s.set_attributes_json(r#"{"k": "v"}"#).unwrap();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        Array::create(&store, "a", &s, Create::New).unwrap();
        for entry in ["null", "\"x\"", "5", "[1]"] {
            let array = if document.contains("ARRAY") { text(&shared, "a/.zarray") } else { String::new() };
            put(&shared, key, &document.replace("ARRAY", &array).replace("ENTRY", entry));
            let opened = Group::open(&store, "").unwrap().open_array("a").unwrap();
            assert_eq!(opened.attributes().get_string("k").ok().as_deref(), Some("v"), "{entry} in {document}");
        }
    }
}

#[test]
fn consolidated_metadata_are_not_used_once_this_process_changed_something() {
    let _alone = alone();
    for format in [Format::V2, Format::V3] {
        let (store, _) = memory();
        let array = Array::create(&store, "g/a", &spec(format), Create::New).unwrap();
        let group = Group::open(&store, "g").unwrap();
        group.consolidate().unwrap();
        let reopened = Group::open(&store, "g").unwrap();
        for group in [&group, &reopened] {
            assert_eq!(group.open_array("a").unwrap().shape().as_slice(), array.shape().as_slice());
        }
        array.resize(&[7], false).unwrap();
        array.attributes().set_i64("n", 1).unwrap();
        Array::create(&store, "g/b", &spec(format), Create::New).unwrap();
        for group in [&group, &reopened] {
            let again = group.open_array("a").unwrap();
            assert_eq!((again.shape().as_slice(), again.attributes().get_i64("n").unwrap()), (&[7][..], 1));
            assert_eq!(group.children().unwrap().len(), 2);
        }
        store.erase_node("g/a").unwrap();
        assert_eq!(kind(reopened.open_array("a")), ErrorKind::NotFound);
    }
}

#[test]
fn an_array_from_stale_consolidated_metadata_is_looked_at_again_before_it_is_changed() {
    let _alone = alone();
    for (format, key) in [(Format::V2, "g/a/.zarray"), (Format::V3, "g/a/zarr.json")] {
        let (store, shared) = memory();
        // As another program does it.
        let edit = |from: &str, to: &str| put(&shared, key, &text(&shared, key).replace(from, to));
        Array::create(&store, "g/a", &spec(format), Create::New).unwrap();
        Group::open(&store, "g").unwrap().consolidate().unwrap();
        edit("[2]", "[4]");
        let open = || Group::open(&store, "g").unwrap().open_array("a").unwrap();
        let array = open();
        assert_eq!(array.chunk_shape().as_slice(), [2], "from the consolidated metadata");
        write_all(&array, &[1, 2, 3, 4]).unwrap();
        assert_eq!(array.chunk_shape().as_slice(), [4]);
        assert_eq!(read_all(&Array::open(&store, "g/a").unwrap()), [1, 2, 3, 4]);
        let array = open();
        edit("\"shape\": [4]", "\"shape\": [3]");
        append(&array, &mut [9]).unwrap();
        assert_eq!((array.shape().as_slice(), read_all(&array)), (&[4][..], vec![1, 2, 3, 9]));
        Group::open(&store, "g").unwrap().consolidate().unwrap();
        let (changed, gone) = (open(), open());
        edit("\"shape\": [4]", "\"shape\": [3]");
        assert_eq!(kind(write_all(&changed, &[1, 2, 3, 4])), ErrorKind::Bounds);
        // Whole chunks, too, are those of the document.
        let listed = || Group::open(&store, "g").unwrap().open_array("a").unwrap();
        let missing = |array: &Array| array.chunk_write(&[1], false, b"x");
        shared.erase(key).unwrap();
        assert_eq!(kind(missing(&listed())), ErrorKind::NotFound);
        assert_eq!(kind(listed().chunk_erase(&[0], false)), ErrorKind::NotFound);
        assert_eq!(kind(listed().shard_writer(&[0]).map(drop)), ErrorKind::NotFound);
        assert_eq!(kind(write_all(&gone, &[1, 2, 3, 4])), ErrorKind::NotFound);
    }
}

/// An array with a named dimension.
fn named(store: &Store, path: &str, format: Format) {
    let mut spec = Spec::new(DataType::Int16, &[3]).unwrap();
    spec.set_format(format).unwrap();
    spec.set_dimension_names(vec![Some("x".into())]).unwrap();
    Array::create(store, path, &spec, Create::New).unwrap();
}

/// Requests, and the time that they take when they wait for 20 ms each.
#[test]
fn a_tree_of_a_thousand_arrays_is_read_side_by_side() {
    let _alone = alone();
    for (format, consolidated) in [(Format::V3, false), (Format::V2, false), (Format::V3, true), (Format::V2, true)] {
        let inner = Arc::new(MemoryStore::new());
        let plain = Store::from_shared(&Context::default(), inner.clone(), Mode::ReadWrite);
        for i in 0..1000 {
            named(&plain, &format!("g{}/a{i}", i % 20), format);
        }
        if consolidated {
            Group::open(&plain, "").unwrap().consolidate().unwrap();
        }
        let slow = Arc::new(LatencyStore::new(inner, Duration::from_millis(20)));
        let store = Store::new(&Context::default(), slow.clone(), Mode::Read, Options::default());
        let group = Group::open(&store, "").unwrap();
        let tree = group.tree(usize::MAX).unwrap();
        let (requests, together) = (slow.stats().requests, slow.stats().most_in_flight);
        assert_eq!(tree.lines().count(), 1020);
        // One after the other they would take a minute.
        assert!(consolidated || together >= 8, "{format:?}: {together} requests at once");
        // Consolidated: the document and the listings. Else the node's documents, of version 2 after that of version 3, which is not there.
        let names = if format == Format::V3 { 1 } else { 3 };
        assert!(requests < if consolidated { 30 } else { names * 1021 + 100 }, "{format:?} {consolidated}: {requests}");
        let listed = slow.stats().requests;
        assert_eq!(group.open_group("g3").unwrap().arrays().unwrap().len(), 50);
        let more = slow.stats().requests - listed;
        // Without: the group's documents, its consolidated metadata that are not there, and its listing.
        assert!(more <= if consolidated { 1 } else { 3 + 1 + 1 + 4 * 50 }, "{format:?} {consolidated}: {more}");
    }
}

#[test]
fn consolidated_metadata_out_of_step_are_told() {
    let _alone = alone();
    for format in [Format::V2, Format::V3] {
        let shared = Arc::new(MemoryStore::new());
        let writer = Store::from_shared(&Context::default(), shared.clone(), Mode::ReadWrite);
        named(&writer, "a", format);
        named(&writer, "b", format);
        let group = Group::open(&writer, "").unwrap();
        assert_eq!(group.consolidated_differences().unwrap(), None);
        group.consolidate().unwrap();
        // As another program does it, that knows nothing of them.
        let document = if format == Format::V3 { "zarr.json" } else { ".zarray" };
        let bytes = writer.key_get(&format!("a/{document}")).unwrap().unwrap();
        writer.key_put(&format!("c/{document}"), &bytes).unwrap();
        writer
            .key_put(
                &format!("a/{document}"),
                &String::from_utf8(bytes).unwrap().replace('3', "4").replace(": 4,\n  \"node", ": 3,\n  \"node").into_bytes(),
            )
            .unwrap();
        for key in writer.key_list("b/").unwrap() {
            writer.key_erase(&key).unwrap();
        }
        let lines = group.consolidated_differences().unwrap().unwrap();
        let all = lines.join("; ");
        assert!(lines.len() >= 3 && all.contains("c is") | all.contains("c/.zarray is not listed") && all.contains("not there"), "{all}");
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = told.clone();
        let call: ozarr::node::context::Listener = Arc::new(move |_: Level, text: &str| sink.lock().unwrap().push(text.to_string()));
        let settings = Settings { log: Some(Log { level: Level::Warning, call }), ..Settings::default() };
        let reader = Store::from_shared(&Context::default().with_settings(settings), shared, Mode::Read);
        let children = Group::open(&reader, "").unwrap().children().unwrap();
        assert_eq!(children.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a", "c"]);
        let told = told.lock().unwrap().join("; ");
        assert!(told.contains("XR-16") && told.contains("\"b\"") && told.contains("\"c\""), "{told}");
    }
}

#[test]
fn what_was_exported_opens_without_a_request() {
    let _alone = alone();
    for format in [Format::V2, Format::V3] {
        let inner = Arc::new(MemoryStore::new());
        let store = Store::from_shared(&Context::default(), inner.clone(), Mode::ReadWrite);
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        root.attributes().set_json("big", "18446744073709551615").unwrap();
        let mut spec = Spec::new(DataType::Int32, &[4]).unwrap();
        spec.set_format(format).unwrap();
        spec.set_dimension_names(vec![Some("x".into())]).unwrap();
        spec.set_attributes_json("{\"units\":\"m\"}").unwrap();
        let array = Array::create(&store, "g/a", &spec, Create::New).unwrap();
        write_all(&array, &[1, 2, 3, 4]).unwrap();
        let (one, all) = (array.export().unwrap(), root.export().unwrap());

        let slow = Arc::new(LatencyStore::new(inner, Duration::ZERO));
        let store = Store::new(&Context::default(), slow.clone(), Mode::ReadWrite, Options::default());
        let Node::Array(a) = Node::import(&store, &one).unwrap() else { panic!("no array") };
        assert_eq!(
            (a.path(), a.dimension_names().unwrap(), a.attributes().get_string("units").unwrap()),
            ("g/a", vec![Some("x".into())], "m".into())
        );
        let Node::Group(g) = Node::import(&store, &all).unwrap() else { panic!("no group") };
        assert_eq!(g.attributes().get_json("big").unwrap(), "18446744073709551615");
        let b = g.open_group("g").unwrap().open_array("a").unwrap();
        assert_eq!(slow.stats().requests, 0, "{format:?}");
        assert_eq!((read_all(&b), slow.stats().requests), (vec![1, 2, 3, 4], 1));
        // An array that was exported itself is written to at once: a whole chunk is one request.
        write_all(&a, &[5, 6, 7, 8]).unwrap();
        assert_eq!((slow.stats().requests, read_all(&b)), (2, vec![5, 6, 7, 8]), "{format:?}");
        // What others changed it is told without a request.
        array.resize(&[6], false).unwrap();
        array.attributes().set_json("units", "\"km\"").unwrap();
        let (node, before) = (Node::Array(a), slow.stats().requests);
        node.refresh_from(&array.export().unwrap()).unwrap();
        let Node::Array(a) = node else { unreachable!() };
        assert_eq!((&a.shape()[..], a.attributes().get_string("units").unwrap()), (&[6][..], "km".into()));
        assert_eq!(slow.stats().requests, before, "{format:?}");
        // One that is known from the group's metadata looks at the document before it writes.
        array.resize(&[2], false).unwrap();
        assert!(write_all(&b, &[0; 4]).is_err());
    }
}
