//! Tests of odd files: what is read all the same, what is told of it, what strict mode and the options make of it.

use super::tests::*;
use super::*;
use crate::dtype::DataType;
use crate::engine::{Memory, Selection};
use crate::error::ErrorKind;
use crate::store::os::Call;
use crate::store::suite::TestFolder;
use crate::store::{StorageExt, fault};
use std::sync::{Arc, Mutex};

const ZARRAY: &str = r#"{"zarr_format":2,"shape":[2,3],"chunks":[2,2],"dtype":"<i4","compressor":null,"fill_value":7,"order":"C","filters":null,"dimension_separator":"."}"#;

/// A member of that document as another text, or without the member.
fn zarray(name: &str, value: Option<&str>) -> String {
    let mut document = json::parse_object(ZARRAY.as_bytes(), 1 << 20).unwrap();
    match value {
        Some(v) => drop(document.insert(name.into(), json::parse(v.as_bytes(), 1 << 20).unwrap())),
        None => drop(document.shift_remove(name)),
    }
    json::to_compact(&Value::Object(document))
}

/// The bytes of integers as a text, for `put`: none is above 127.
fn ints(values: &[i32]) -> String {
    values.iter().flat_map(|v| v.to_le_bytes()).map(char::from).collect()
}

/// A handle on the same store, with settings and options.
fn again(store: &Store, settings: Settings, options: Options) -> Store {
    Store::new(&Context::default().with_settings(settings), store.shared().clone(), Mode::ReadWrite, options)
}

fn with(store: &Store, options: Options) -> Store {
    again(store, Settings::default(), options)
}

fn strict(store: &Store) -> Store {
    again(store, Settings { strict: true, ..Settings::default() }, Options::default())
}

type Lines = Arc<Mutex<Vec<String>>>;

/// A handle that tells, and what it told.
fn logged(store: &Store, level: Level) -> (Store, Lines) {
    let lines = Lines::default();
    let told = lines.clone();
    let call = Arc::new(move |level: Level, text: &str| told.lock().unwrap().push(format!("{level:?} {text}")));
    let log = Some(Log { level, call });
    (again(store, Settings { log, ..Settings::default() }, Options::default()), lines)
}

fn read_part(array: &Array, start: &[u64], shape: &[u64]) -> crate::error::Result<Vec<i32>> {
    let mut values = vec![-7; shape.iter().product::<u64>() as usize];
    let memory = view(&mut values, shape);
    let signed = |list: &[u64]| list.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let selection = Selection::new(&array.shape(), &signed(start), &signed(shape), None).unwrap();
    own!(array.read(&selection, &memory)?);
    Ok(values)
}

#[test]
fn the_root_has_no_prefix_and_rank_zero_the_key_0() {
    let store = memory();
    let array = Array::create(&store, "", &spec_v2(&[3, 3], &[2, 2]), Create::New).unwrap();
    write_all(&array, &mut [1; 9]);
    assert_eq!(keys(&store), [".zarray", "0.0", "0.1", "1.0", "1.1"]);
    let store = memory();
    write_all(&Array::create(&store, "foo/s", &spec_v2(&[], &[]), Create::New).unwrap(), &mut [1]);
    assert_eq!(keys(&store), [".zgroup", "foo/.zgroup", "foo/s/.zarray", "foo/s/0"]);
}

#[test]
fn version_2_has_no_implicit_groups_but_what_is_named_opens() {
    let store = memory();
    put(&store, "a/b/.zarray", ZARRAY);
    assert_eq!(kind(Group::open(&store, "")), ErrorKind::NotFound);
    assert_eq!(kind(Group::open(&store, "a")), ErrorKind::NotFound);
    assert_eq!(store.node_kind("a").unwrap(), NodeKind::None);
    assert_eq!(read_all(&Array::open(&store, "a/b").unwrap()), [7; 6]);
}

#[test]
fn version_2_keeps_ancestors_and_refuses_nodes_below_arrays() {
    let store = memory();
    put(&store, ".zgroup", r#"{"zarr_format":2}"#);
    put(&store, ".zattrs", r#"{"n":1}"#);
    Array::create(&store, "foo/bar/baz", &spec_v2(&[2], &[2]), Create::New).unwrap();
    assert_eq!(keys(&store), [".zattrs", ".zgroup", "foo/.zgroup", "foo/bar/.zgroup", "foo/bar/baz/.zarray"]);
    assert_eq!(text(&store, ".zattrs").unwrap(), r#"{"n":1}"#);
    let before = keys(&store);
    assert_eq!(kind(Array::create(&store, "foo/bar/baz/x", &spec_v2(&[2], &[2]), Create::Overwrite)), ErrorKind::NodeKind);
    assert_eq!(kind(Group::create(&store, "foo/bar/baz/x/y", Some(Format::V2), Create::Overwrite)), ErrorKind::NodeKind);
    assert_eq!(kind(Array::create(&store, "foo", &spec_v2(&[2], &[2]), Create::New)), ErrorKind::Exists);
    assert_eq!(kind(Group::create(&store, "foo/bar/baz", Some(Format::V2), Create::New)), ErrorKind::Exists);
    assert_eq!(keys(&store), before);
}

#[test]
fn members_of_a_version_2_group_are_nodes_directly_below() {
    let store = memory();
    for (key, text) in [
        (".zgroup", r#"{"zarr_format":2}"#),
        ("foo/.zgroup", r#"{"zarr_format":2}"#),
        ("foo/bar/.zgroup", r#"{"zarr_format":2}"#),
        ("foo/bar/deep/.zgroup", r#"{"zarr_format":2}"#),
        ("foo/baz/.zarray", ZARRAY),
        ("foo/größe/.zarray", ZARRAY),
        ("foo/folder/readme", "x"),
        ("foo/.DS_Store", "x"),
        ("foo/.nczgroup", "{}"),
        ("foo/.zmetadata", "x"),
        ("foo/x.zgroup", r#"{"zarr_format":2}"#),
        ("foo/7", "x"),
    ] {
        put(&store, key, text);
    }
    let children = Group::open(&store, "foo").unwrap().children().unwrap();
    let found: Vec<_> = children.iter().map(|c| (c.name.as_str(), c.kind())).collect();
    assert_eq!(found, [("bar", NodeKind::Group), ("baz", NodeKind::Array), ("größe", NodeKind::Array)]);
    // The bug of one writer: no slash before the name.
    assert_eq!(store.node_kind("foo/x").unwrap(), NodeKind::None);
}

#[test]
fn other_versions_are_named() {
    let store = memory();
    put(&store, "old/meta", r#"{"zarr_format":1,"shape":[2],"chunks":[2],"dtype":"<i4"}"#);
    put(&store, "one/.zgroup", r#"{"zarr_format":1}"#);
    put(&store, "three/.zarray", &zarray("zarr_format", Some("3")));
    put(&store, "four/.zgroup", r#"{"zarr_format":4}"#);
    for (path, want, said) in [
        ("old", ErrorKind::Unsupported, "version 1"),
        ("one", ErrorKind::Metadata, "version 1"),
        ("three", ErrorKind::Metadata, "found 3"),
        ("four", ErrorKind::Unsupported, "found 4"),
    ] {
        let e = Node::open(&store, path).err().unwrap();
        assert!(e.kind() == want && e.to_string().contains(said), "{path}: {e:?}");
    }
}

#[test]
fn attributes_of_version_2_may_be_missing_or_empty() {
    for (attributes, odd) in [(None, false), (Some("{}"), false), (Some(""), true), (Some("null"), true)] {
        let store = memory();
        put(&store, "a/.zarray", ZARRAY);
        if let Some(text) = attributes {
            put(&store, "a/.zattrs", text);
        }
        assert!(Array::open(&store, "a").unwrap().attributes().names().unwrap().is_empty());
        assert_eq!(Array::open(&strict(&store), "a").unwrap().attributes().names().is_err(), odd, "{attributes:?}");
    }
    let store = memory();
    put(&store, "a/.zarray", "");
    assert_eq!(kind(Array::open(&store, "a")), ErrorKind::Metadata);
}

/// The text of the fill value of an array of bytes.
fn fill_of(array: &Array) -> Vec<u8> {
    array.state().meta.fill.element(array.data_type()).iter().copied().take_while(|b| *b != 0).collect()
}

#[test]
fn a_fill_value_of_bytes_that_may_be_text_is_text_by_netcdfs_keys_and_else_told() {
    let document = ZARRAY.replace("<i4", "|S8");
    let (netcdf, bare) = (r#"{"_nczarr_array":{"storage":"chunked"}}"#, r#"{"units":"K"}"#);
    for (fill, attributes, want, told, odd) in [
        ("\"none\"", netcdf, &b"none"[..], false, false),
        ("\"none\"", bare, b"\x9e\x89\xde", true, false),
        // As zarr-python writes it, beside netCDF's keys.
        ("\"QUI=\"", netcdf, b"AB", false, false),
        ("\"QUJD\"", bare, b"ABC", false, false),
        ("\"QUI=\"", bare, b"AB", false, false),
        ("\"\"", netcdf, b"", false, false),
        ("\"no-data\"", bare, b"no-data", true, true),
        ("\"no-data\"", netcdf, b"no-data", false, false),
    ] {
        let store = memory();
        put(&store, "a/.zarray", &document.replace(":7", &format!(":{fill}")));
        put(&store, "a/.zattrs", attributes);
        let (watched, lines) = logged(&store, Level::Warning);
        let array = Array::open(&watched, "a").unwrap();
        assert_eq!(fill_of(&array), want, "{fill} {attributes}");
        let is_told = lines.lock().unwrap().iter().any(|line| line.starts_with("Warning VM-55: a/.zarray: "));
        assert_eq!(is_told, told, "{fill} {attributes}");
        // What the specification or netCDF's convention allows is no error.
        assert_eq!(Array::open(&strict(&store), "a").is_err(), odd, "{fill} {attributes}");
        let as_text = with(&store, Options { text_fill: true, ..Options::default() });
        assert_eq!(fill_of(&Array::open(&as_text, "a").unwrap()), fill.trim_matches('"').as_bytes());
        // It is the same where the array is read to be changed, and in another version.
        array.resize(&[4, 3], false).unwrap();
        assert_eq!(fill_of(&array), want, "{fill} {attributes}");
        let to = memory();
        store.migrate("a", Some((&to, "a")), true, &mut |_, _| Ok(())).unwrap();
        assert_eq!(fill_of(&Array::open(&to, "a").unwrap()), want, "{fill} {attributes}");
    }
    // Attributes that cannot be read decide nothing silently.
    let store = memory();
    put(&store, "a/.zarray", &document.replace(":7", r#":"none""#));
    put(&store, "a/.zattrs", "{");
    assert!(Array::open(&store, "a").err().unwrap().to_string().contains("a/.zattrs"));
}

/// As zarr-python 3.0 writes the fill value of times.
#[test]
fn a_fill_value_that_is_a_date_is_told_and_stays_as_it_is_written() {
    let document = ZARRAY.replace("<i4", "<M8[D]").replace(":7", ":\"1970-01-03\"");
    let store = memory();
    put(&store, "a/.zarray", &document);
    let (watched, lines) = logged(&store, Level::Warning);
    let array = Array::open(&watched, "a").unwrap();
    assert_eq!(fill_of(&array), [2]);
    assert!(lines.lock().unwrap().iter().any(|line| line.starts_with("Warning VM-58: a/.zarray: ")));
    assert!(Array::open(&strict(&store), "a").is_err());
    array.resize(&[4, 3], false).unwrap();
    assert_eq!(json::parse_text(&Array::open(&store, "a").unwrap().metadata_json().unwrap()).unwrap()["fill_value"], "1970-01-03");
    let to = memory();
    store.migrate("a", Some((&to, "a")), true, &mut |_, _| Ok(())).unwrap();
    assert_eq!(fill_of(&Array::open(&to, "a").unwrap()), [2]);
}

/// zarr-python 2 has 0 as the fill value of texts by default, and reads the number 0 where a chunk is missing.
#[test]
fn chunks_of_empty_texts_are_stored_where_the_fill_value_is_the_number_0() {
    for (fill, is_stored) in [("0", true), ("null", true), ("\"\"", false)] {
        let document = ZARRAY.replace("<i4", "|O").replace("[2,3]", "[4]").replace("[2,2]", "[2]");
        let document = document.replace("\"filters\":null", "\"filters\":[{\"id\":\"vlen-utf8\"}]").replace(":7", &format!(":{fill}"));
        let store = memory();
        put(&store, "a/.zarray", &document);
        let array = Array::open(&store, "a").unwrap();
        let all = Selection::new(&array.shape(), &[0], &[4], None).unwrap();
        array.write_variable(&all, &[0, 0, 0, 1, 1], b"x").unwrap();
        let stored = ["a/0", "a/1"].map(|key| store.key_get(key).unwrap().is_some());
        assert_eq!(stored, [is_stored, true], "{fill}");
        array.resize(&[3], false).unwrap();
        let document = json::parse_text(&array.metadata_json().unwrap()).unwrap();
        assert_eq!(document["fill_value"].to_string(), fill);
        // A program that makes an array of texts, and says no fill value, opens it.
        let mut spec = Spec::new(DataType::VarText, &[3]).unwrap();
        spec.set_format(Format::V2).unwrap();
        spec.set_chunks(&[2]).unwrap();
        spec.set_compressor("none", None).unwrap();
        Array::create(&store, "a", &spec, Create::OpenIfSame).unwrap_or_else(|e| panic!("{fill}: {e}"));
    }
}

#[test]
fn missing_chunks_are_the_fill_value_or_zeros() {
    for (fill, want) in [("7", 7), ("null", 0)] {
        let store = memory();
        put(&store, "a/.zarray", &zarray("fill_value", Some(fill)));
        put(&store, "a/0.0", &ints(&[1, 2, 3, 4]));
        let array = Array::open(&store, "a").unwrap();
        assert_eq!(read_all(&array), [1, 2, want, 3, 4, want]);
        store.shared().erase("a/0.0").unwrap();
        assert_eq!(read_all(&array), [want; 6]);
    }
}

#[test]
fn bytes_beyond_the_edge_are_not_seen_and_written_as_the_fill_value() {
    let store = memory();
    put(&store, "a/.zarray", ZARRAY);
    put(&store, "a/0.1", &ints(&[1, 99, 2, 98]));
    let array = Array::open(&store, "a").unwrap();
    assert_eq!(read_all(&array), [7, 7, 1, 7, 7, 2]);
    write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
    assert_eq!(text(&store, "a/0.1").unwrap(), ints(&[3, 7, 6, 7]));
    assert_eq!(text(&store, "a/0.0").unwrap(), ints(&[1, 2, 4, 5]));
}

#[test]
fn chunks_have_exactly_their_length() {
    for (bytes, want) in [
        (vec![1, 2, 3, 4], None),
        (vec![1, 2, 3], Some(ErrorKind::Truncated)),
        (vec![1, 2, 3, 4, 5], Some(ErrorKind::Chunk)),
        (vec![], Some(ErrorKind::Truncated)),
    ] {
        let store = memory();
        put(&store, "a/.zarray", &zarray("shape", Some("[2,2]")));
        put(&store, "a/0.0", &ints(&bytes));
        let found = read_part(&Array::open(&store, "a").unwrap(), &[0, 0], &[2, 2]);
        assert_eq!(found.map_err(|e| (e.kind(), e.key().map(str::to_string))).err(), want.map(|k| (k, Some("a/0.0".into()))), "{bytes:?}");
    }
}

#[test]
fn an_unknown_codec_of_version_2_is_named_and_the_metadata_stay_readable() {
    let store = memory();
    for (path, member, value) in [("a", "compressor", r#"{"id":"sorcery"}"#), ("b", "filters", r#"[{"id":"sorcery","n":1}]"#)] {
        put(&store, &format!("{path}/.zarray"), &zarray(member, Some(value)));
        let array = Array::open(&store, path).unwrap();
        assert_eq!(array.shape().as_slice(), [2, 3]);
        let e = read_part(&array, &[0, 0], &[2, 3]).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("sorcery") && e.to_string().contains(member), "{e}");
        array.resize(&[9, 3], false).unwrap();
        assert!(text(&store, &format!("{path}/.zarray")).unwrap().contains("sorcery"));
    }
}

#[test]
fn the_specifications_example_opens() {
    let store = memory();
    put(
        &store,
        ".zarray",
        r#"{"chunks": [1000, 1000], "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}, "dtype": "<f8",
            "fill_value": "NaN", "filters": [{"id": "delta", "dtype": "<f8", "astype": "<f4"}], "order": "C", "shape": [10000, 10000],
            "zarr_format": 2}"#,
    );
    let array = Array::open(&store, "").unwrap();
    assert_eq!((array.shape().as_slice(), array.chunk_shape().as_slice()), (&[10000, 10000][..], &[1000, 1000][..]));
    assert!(array.state().bound("").is_ok());
    assert!(f64::from_ne_bytes(array.fill().element(DataType::Float64)[..].try_into().unwrap()).is_nan());
}

#[test]
fn what_is_odd_is_told_once_for_each_open() {
    let store = memory();
    put(&store, ".zgroup", "\u{feff}{\"zarr_format\":2,\"zarr_format\":2,\"_nczarr_group\":{}}\r\n\n");
    put(&store, "a/.zarray", &zarray("filters", Some("[]")).replace("\"fill_value\":7", "\"fill_value\":0.0"));
    put(&store, "a/.zattrs", r#"{"x":NaN}"#);
    put(&store, "b/.zarray", &zarray("extra", Some("1")));
    put(&store, "b/zarr.json", r#"{"zarr_format":3,"node_type":"group","attributes":null}"#);
    let (told, lines) = logged(&store, Level::Info);
    let took = || std::mem::take(&mut *lines.lock().unwrap());
    let group = Group::open(&told, "").unwrap();
    let first = [
        "Warning HD-01: .zgroup: a byte-order mark is in front of the document",
        "Warning HD-02: .zgroup: the member \"zarr_format\" is there more than once; the last one counts",
        "Warning HD-17: .zgroup: the group's document has the member \"_nczarr_group\"; expected only \"zarr_format\"",
    ];
    assert_eq!(took(), first);
    assert_eq!(group.children().unwrap().len(), 2);
    assert!(took().is_empty(), "listing tells nothing");
    let array = group.open_array("a").unwrap();
    assert_eq!(took().iter().map(|l| &l[..14]).collect::<Vec<_>>(), ["Warning HD-10:", "Warning HD-12:"]);
    assert!(array.attributes().get_f64("x").unwrap().is_nan());
    assert_eq!(took(), ["Warning HD-05: a/.zattrs: the attribute \"x\" holds a bare NaN or Infinity"]);
    assert!(array.attributes().get_f64("x").unwrap().is_nan());
    array.attributes().set_i64("y", 1).unwrap();
    assert!(took().is_empty());
    Group::open(&told, "b").unwrap();
    assert_eq!(took().iter().map(|l| &l[..14]).collect::<Vec<_>>(), ["Warning HD-31:", "Warning V2-33:"]);
    let only_2 = Store::new(told.context(), store.shared().clone(), Mode::Read, Options { format: Some(Format::V2), ..Options::default() });
    assert_eq!(Array::open(&only_2, "b").unwrap().format(), Format::V2);
    assert_eq!(took(), ["Info HD-17: b/.zarray: the unknown member \"extra\" is ignored"]);
    let (warned, lines) = logged(&store, Level::Warning);
    Array::open(&Store::new(warned.context(), store.shared().clone(), Mode::Read, only_2.options().clone()), "b").unwrap();
    assert!(lines.lock().unwrap().is_empty());
}

#[test]
fn a_log_may_call_the_library() {
    let store = memory();
    put(&store, "a/.zarray", &zarray("filters", Some("[]")));
    let inner = Store::from_shared(&Context::default(), store.shared().clone(), Mode::ReadWrite);
    let call = Arc::new(move |_: Level, _: &str| {
        Array::open(&inner, "a").unwrap().attributes().set_i64("told", 1).unwrap();
        inner.erase_node("").err().unwrap();
    });
    let told = again(&store, Settings { log: Some(Log { level: Level::Warning, call }), ..Settings::default() }, Options::default());
    let mut same = spec_v2(&[2, 3], &[2, 2]);
    same.set_fill(DataType::Int32, &7i32.to_ne_bytes()).unwrap();
    assert_eq!(Array::open(&told, "a").unwrap().attributes().get_i64("told").unwrap(), 1);
    Array::create(&told, "a", &same, Create::OpenIfSame).unwrap();
}

#[test]
fn strict_mode_refuses_what_the_specification_refuses() {
    let cases = [
        ("compressor", None, "HD-10"),
        ("filters", Some("[]"), "HD-10"),
        ("order", None, "VM-01"),
        ("fill_value", Some("\"7\""), "HD-12"),
        ("dtype", Some("\"|i4\""), "HD-23"),
        ("dimension_separator", Some("null"), "V2-18"),
        ("dimension_separator", Some("\"\""), "V2-18"),
        ("compressor", Some(r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1}"#), "HD-15"),
    ];
    for (name, value, id) in cases {
        let store = memory();
        put(&store, "a/.zarray", &zarray(name, value));
        Array::open(&store, "a").unwrap();
        let e = Array::open(&strict(&store), "a").err().unwrap();
        assert_eq!((e.kind(), e.key()), (ErrorKind::Metadata, Some("a/.zarray")));
        assert!(e.message().starts_with(id), "{e}");
    }
    let store = memory();
    put(&store, "a/.zarray", &zarray("extra", Some("1")));
    put(&store, "g/zarr.json", r#"{"zarr_format":3,"node_type":"group","consolidated_metadata":null}"#);
    Array::open(&strict(&store), "a").unwrap();
    Group::open(&store, "g").unwrap();
    assert!(message(Group::open(&strict(&store), "g")).contains("HD-30"));
}

#[test]
fn arrays_without_the_codec_that_makes_bytes_are_little_endian_and_stay_as_they_are_written() {
    // As GDAL 3.10 writes a band, with and without COMPRESS and CHUNK_MEMORY_LAYOUT, and zarrita.js 0.7 its default.
    let document = |codecs: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[2,3],"data_type":"int32","chunk_grid":{{"name":"regular","configuration":
            {{"chunk_shape":[2,2]}}}},"chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"fill_value":null,{codecs}
            "attributes":{{}},"dimension_names":["Y","X"]}}"#
        )
    };
    for (codecs, stored) in [
        ("", ints(&[1, 2, 3, 4])),
        (r#""codecs":[],"#, ints(&[1, 2, 3, 4])),
        (r#""codecs":[{"name":"transpose","configuration":{"order":[1,0]}}],"#, ints(&[1, 3, 2, 4])),
        (r#""codecs":[{"name":"gzip","configuration":{"level":6}}],"#, String::new()),
    ] {
        let store = memory();
        put(&store, "a/zarr.json", &document(codecs));
        if !stored.is_empty() {
            put(&store, "a/c/0/0", &stored);
        }
        let (told, lines) = logged(&store, Level::Warning);
        let array = Array::open(&told, "a").unwrap();
        assert!(lines.lock().unwrap().iter().any(|line| line.starts_with("Warning HD-35: a/zarr.json: ")), "{lines:?}");
        put(&store, "s/zarr.json", &document(codecs).replace("null", "0"));
        assert!(message(Array::open(&strict(&store), "s")).contains("HD-35"), "{codecs}");
        let (mut part, shape) = ([1, 2, 3, 4], [2, 2]);
        if stored.is_empty() {
            let selection = Selection::new(&[2, 3], &[0, 0], &[2, 2], None).unwrap();
            own!(array.write(&selection, &view(&mut part, &shape)).unwrap());
        }
        assert_eq!(read_all(&array), [1, 2, 0, 3, 4, 0], "{codecs}");
        part = [5, -6, 7, 8];
        let selection = Selection::new(&[2, 3], &[0, 0], &[2, 2], None).unwrap();
        own!(array.write(&selection, &view(&mut part, &shape)).unwrap());
        array.attributes().set("n", 1.into()).unwrap();
        array.resize(&[3, 3], false).unwrap();
        let now = Array::open(&store, "a").unwrap();
        assert_eq!(read_all(&now), [5, -6, 0, 7, 8, 0, 0, 0, 0], "{codecs}");
        let (text, listed) = (now.metadata_json().unwrap(), !codecs.is_empty());
        assert!(text.contains("\"codecs\"") == listed && !text.contains("\"bytes\"") && !text.contains("endian"), "{text}");
        // What is made of it says what was left out.
        store.migrate("a", Some((&store, "b")), false, &mut |_, _| Ok(())).unwrap();
        let migrated = Array::open(&strict(&store), "b").unwrap();
        assert_eq!(read_all(&migrated), read_all(&now), "{codecs}");
    }
}

#[test]
fn a_fill_value_of_null_in_version_3_reads_as_zero_and_stays_as_it_is_written() {
    // As GDAL 3.12 writes numbers of which none is told to be missing.
    let text = r#"{"zarr_format":3,"node_type":"array","shape":[2,3],"data_type":"int32","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[2,2]}},"chunk_key_encoding":"default","fill_value":null,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
    let store = memory();
    put(&store, "a/zarr.json", text);
    put(&store, "a/c/0/1", &ints(&[1, 0, 2, 0]));
    let (told, lines) = logged(&store, Level::Warning);
    let array = Array::open(&told, "a").unwrap();
    assert!(lines.lock().unwrap()[0].starts_with("Warning HD-40: a/zarr.json: "), "{lines:?}");
    assert_eq!(read_all(&array), [0, 0, 1, 0, 0, 2]);
    array.attributes().set("n", 1.into()).unwrap();
    array.resize(&[3, 3], false).unwrap();
    assert!(array.metadata_json().unwrap().contains("\"fill_value\": null"), "{}", array.metadata_json().unwrap());
    assert!(message(Array::open(&strict(&store), "a")).contains("HD-40"));
    put(&store, "t/zarr.json", &text.replace("\"int32\"", r#"{"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":1}}"#));
    assert!(message(Array::open(&store, "t")).contains("fill_value"), "a time may be 0 or NaT");
}

#[test]
fn fill_values_of_unsigned_types_with_a_sign_are_the_number_of_the_same_bits() {
    // As zarr-java leaves 255 when it changes the shape or the attributes.
    let v2 = zarray("fill_value", Some("-1")).replace("<i4", "|u1");
    let v3 = r#"{"zarr_format":3,"node_type":"array","shape":[2,3],"data_type":"uint8","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[2,2]}},"chunk_key_encoding":"default","fill_value":-1,"codecs":["bytes"]}"#;
    for (key, text, id) in [("a/.zarray", v2.as_str(), "HD-12"), ("a/zarr.json", v3, "HD-40")] {
        let store = memory();
        put(&store, key, text);
        let (told, lines) = logged(&store, Level::Warning);
        let array = Array::open(&told, "a").unwrap();
        assert!(lines.lock().unwrap()[0].starts_with(&format!("Warning {id}: {key}: ")), "{lines:?}");
        assert_eq!(read_all(&array), [255; 6]);
        assert!(message(Array::open(&strict(&store), "a")).contains(id));
        // It stays where it is, and is written as the number that it means.
        array.resize(&[3, 3], false).unwrap();
        assert!(array.metadata_json().unwrap().contains("\"fill_value\": -1"), "{}", array.metadata_json().unwrap());
        store.rechunk_node("a", (&store, "b"), Default::default(), &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap();
        assert!(Array::open(&strict(&store), "b").unwrap().metadata_json().unwrap().contains("\"fill_value\": 255"));
        put(&store, key, &text.replace("-1", "-129"));
        assert!(message(Array::open(&store, "a")).contains("-129"));
    }
}

#[test]
fn the_only_chunk_of_an_array_without_dimensions_is_found_as_zarr_jl_names_it() {
    for (separator, suffix) in [(Separator::Slash, ""), (Separator::Dot, ""), (Separator::Slash, ".tiff"), (Separator::Dot, ".tiff")] {
        let default = format!(r#"{{"name":"default","configuration":{{"separator":"{}"}}}}"#, separator.char());
        let suffixed = format!(r#"{{"name":"suffix","configuration":{{"suffix":"{suffix}","base_encoding":{default}}}}}"#);
        let keys_encoding = if suffix.is_empty() { default } else { suffixed };
        let text = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[],"data_type":"int32","chunk_grid":{{"name":"regular",
            "configuration":{{"chunk_shape":[]}}}},"chunk_key_encoding":{keys_encoding},
            "fill_value":7,"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}"#,
        );
        let odd = format!("a/c{}0{suffix}", separator.char());
        let folder = TestFolder::new(&format!("behind-c-{separator:?}{suffix}"));
        let local = Store::open(&Context::default(), &folder.display().to_string(), Mode::ReadWrite, &[]).unwrap();
        for store in [memory(), local] {
            put(&store, "a/zarr.json", &text);
            assert_eq!(read_all(&Array::open(&store, "a").unwrap()), [7]);
            // Where nothing is called "c", nothing is looked for in a folder of that name.
            let looks = fault::count(Call::Stat, || drop(Array::open(&store, "a")));
            assert!(separator == Separator::Dot || !suffix.is_empty() || looks <= 2, "{looks}");
            put(&store, &odd, &ints(&[42]));
            let (told, lines) = logged(&store, Level::Warning);
            let array = Array::open(&told, "a").unwrap();
            assert_eq!(read_all(&array), [42]);
            assert!(lines.lock().unwrap()[0].starts_with("Warning HD-53: a/zarr.json: "), "{lines:?}");
            assert!(message(Array::open(&strict(&store), "a")).contains("HD-53"));
            write_all(&array, &mut [43]);
            assert_eq!((keys(&store), array.usage().unwrap().chunks), (vec![odd.clone(), "a/zarr.json".into()], 1));
            store.rechunk_node("a", (&store, "b"), Default::default(), &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap();
            assert_eq!(store.key_get(&format!("b/c{suffix}")).unwrap().unwrap(), 43i32.to_le_bytes());
            // A new array does not take it for its own.
            store.shared().erase("a/zarr.json").unwrap();
            Array::create(&store, "a", &Spec::from_json(&text).unwrap(), Create::New).unwrap();
            assert!(store.key_get(&odd).unwrap().is_none());
            if separator == Separator::Dot || !suffix.is_empty() {
                put(&store, &odd, &ints(&[42]));
                put(&store, &format!("a/c{suffix}"), &ints(&[5]));
                assert_eq!(read_all(&Array::open(&strict(&store), "a").unwrap()), [5], "the right key");
            }
        }
    }
}

#[test]
fn nested_chunks_are_found_where_the_document_does_not_say() {
    let nested = memory();
    put(&nested, "a/.zarray", &zarray("dimension_separator", None));
    put(&nested, "a/0/1", &ints(&[1, 0, 2, 0]));
    let (told, lines) = logged(&nested, Level::Warning);
    let array = Array::open(&told, "a").unwrap();
    assert!(lines.lock().unwrap()[0].starts_with("Warning HD-11: a/.zarray: "), "{lines:?}");
    assert_eq!(read_all(&array), [7, 7, 1, 7, 7, 2]);
    write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
    assert_eq!(keys(&nested), ["a/.zarray", "a/0/0", "a/0/1"]);
    assert!(message(Array::open(&strict(&nested), "a")).contains("HD-11"));
    let dot = with(&nested, Options { separator: Some(Separator::Dot), ..Options::default() });
    assert_eq!(read_all(&Array::open(&dot, "a").unwrap()), [7; 6]);

    // A flat chunk, or a word in the document, decides.
    put(&nested, "a/0.1", &ints(&[9, 0, 9, 0]));
    assert_eq!(read_all(&Array::open(&nested, "a").unwrap()), [7, 7, 9, 7, 7, 9]);
    let slash = with(&nested, Options { separator: Some(Separator::Slash), ..Options::default() });
    assert_eq!(read_all(&Array::open(&slash, "a").unwrap()), [1, 2, 3, 4, 5, 6]);
    put(&nested, "a/.zarray", &zarray("dimension_separator", Some("\"\"")));
    assert_eq!(read_all(&Array::open(&slash, "a").unwrap()), [1, 2, 3, 4, 5, 6]);
    put(&nested, "a/.zarray", ZARRAY);
    assert_eq!(read_all(&Array::open(&slash, "a").unwrap()), [7, 7, 9, 7, 7, 9]);
}

#[test]
fn where_no_keys_are_listed_the_first_chunk_tells_whether_chunks_are_nested() {
    let store = memory();
    // Some servers refuse what is not there.
    let there = store.shared().clone();
    let refusing = super::tests_store::told(store.shared().clone(), move |next| match next {
        super::tests_store::Next::Opened(key) if there.open(key)?.is_none() => crate::error::bail!(Permission, "403"),
        _ => Ok(()),
    });
    let blind =
        |store, format| Store::new(&Context::default(), Arc::new(Blind(store)), Mode::Read, Options { format, ..Options::default() });
    let (blind, refusing) = (blind(store.shared().clone(), None), blind(refusing, Some(Format::V2)));
    let reads = |values: [i32; 6]| assert_eq!(read_all(&Array::open(&blind, "a").unwrap()), values);
    put(&store, "a/.zarray", &zarray("dimension_separator", None));
    reads([7; 6]);
    put(&store, "a/0/0", &ints(&[1, 2, 4, 5]));
    put(&store, "a/0/1", &ints(&[3, 0, 6, 0]));
    reads([1, 2, 3, 4, 5, 6]);
    put(&store, "a/.zattrs", "{}");
    assert_eq!(read_all(&Array::open(&refusing, "a").unwrap()), [1, 2, 3, 4, 5, 6]);
    put(&store, "a/0.0", &ints(&[9; 4]));
    reads([9, 9, 7, 9, 9, 7]);
}

#[test]
fn chunks_of_no_bytes_are_missing_on_request() {
    for compressor in ["null", r#"{"id":"zlib","level":1}"#] {
        let store = memory();
        put(&store, "a/.zarray", &zarray("compressor", Some(compressor)));
        put(&store, "a/0.0", "");
        assert!(read_part(&Array::open(&store, "a").unwrap(), &[0, 0], &[2, 3]).is_err());
        let lenient = with(&store, Options { empty_is_missing: true, ..Options::default() });
        let array = Array::open(&lenient, "a").unwrap();
        assert_eq!(read_all(&array), [7; 6]);
        assert_eq!(read_part(&array, &[1, 1], &[1, 2]).unwrap(), [7, 7]);
        let shape = [2, 3];
        let selection = Selection::new(&shape, &[0, 0], &[1, 1], None).unwrap();
        own!(array.write(&selection, &view(&mut [5], &[1, 1])).unwrap());
        assert_eq!(read_all(&array), [5, 7, 7, 7, 7, 7]);
    }
}

#[test]
fn clipped_chunks_at_the_edge_are_read_on_request() {
    let zlib = |values: &[i32]| {
        let stage = memory();
        let n = format!("[{}]", values.len());
        let document = zarray("compressor", Some(r#"{"id":"zlib","level":1}"#)).replace("[2,3]", &n).replace("[2,2]", &n);
        put(&stage, ".zarray", &document);
        write_all(&Array::open(&stage, "").unwrap(), &mut values.to_vec());
        crate::store::get(&**stage.shared(), "0", 1 << 20).unwrap().unwrap()
    };
    for raw in [true, false] {
        let store = memory();
        let compressor = if raw { "null" } else { r#"{"id":"zlib","level":1}"# };
        put(&store, "a/.zarray", &zarray("compressor", Some(compressor)).replace("[2,3]", "[3,3]"));
        let store_chunk = |key: &str, values: &[i32]| {
            let bytes = if raw { ints(values).into_bytes() } else { zlib(values) };
            store.shared().put(key, &[&bytes], crate::store::Condition::None).unwrap();
        };
        store_chunk("a/0.0", &[1, 2, 4, 5]);
        store_chunk("a/0.1", &[3, 6]);
        store_chunk("a/1.0", &[10, 11]);
        store_chunk("a/1.1", &[12]);
        let array = Array::open(&store, "a").unwrap();
        // By default each part of such a chunk is an error, not a wrong value.
        for (start, shape) in [([0, 2], [2, 1]), ([1, 2], [1, 1]), ([2, 0], [1, 1]), ([0, 0], [3, 3])] {
            assert!(read_part(&array, &start, &shape).is_err(), "{raw} {start:?}");
        }
        let lenient = Array::open(&with(&store, Options { clipped: true, ..Options::default() }), "a").unwrap();
        assert_eq!(read_all(&lenient), [1, 2, 3, 4, 5, 6, 10, 11, 12]);
        assert_eq!(read_part(&lenient, &[1, 1], &[2, 2]).unwrap(), [5, 6, 11, 12]);
        assert_eq!(read_part(&lenient, &[1, 2], &[1, 1]).unwrap(), [6]);
        // A change in part makes it a whole chunk, as it should be.
        let selection = Selection::new(&[3, 3], &[1, 2], &[1, 1], None).unwrap();
        own!(lenient.write(&selection, &view(&mut [60], &[1, 1])).unwrap());
        assert_eq!(read_part(&array, &[0, 2], &[2, 1]).unwrap(), [3, 60]);
        if raw {
            assert_eq!(text(&store, "a/0.1").unwrap(), ints(&[3, 7, 60, 7]));
        }
        // One that is neither whole nor clipped stays an error.
        store_chunk("a/1.1", &[12, 13, 14]);
        assert!(read_part(&lenient, &[2, 2], &[1, 1]).is_err());
        store_chunk("a/0.0", &[1, 2]);
        assert!(read_part(&lenient, &[0, 0], &[1, 1]).is_err() || raw);
    }
}

#[test]
fn clipped_and_empty_chunks_are_read_from_stores_with_latency_too() {
    let store = memory();
    put(&store, "a/.zarray", ZARRAY);
    put(&store, "a/0.0", "");
    put(&store, "a/0.1", &ints(&[3, 6]));
    let slow = Arc::new(crate::store::latency::LatencyStore::new(store.shared().clone(), std::time::Duration::from_millis(1)));
    let open = |options| Array::open(&Store::new(&Context::default(), slow.clone(), Mode::Read, options), "a").unwrap();
    assert!(read_part(&open(Options { empty_is_missing: true, ..Options::default() }), &[0, 0], &[2, 3]).is_err());
    assert_eq!(read_part(&open(Options { empty_is_missing: true, ..Options::default() }), &[0, 0], &[2, 2]).unwrap(), [7; 4]);
    let both = open(Options { empty_is_missing: true, clipped: true, ..Options::default() });
    assert_eq!(read_all(&both), [7, 7, 3, 7, 7, 6]);
}

#[test]
fn wrong_checksums_are_ignored_on_request() {
    let store = memory();
    for (path, edit) in [("a", false), ("s", true)] {
        let mut s = spec(&[4], &[4]);
        s.set_codecs_json(r#"[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]"#).unwrap();
        if edit {
            s = spec(&[4], &[4]);
            s.set_codecs_json(
                r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[2],"codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"],
                    "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]}}]"#,
            )
            .unwrap();
        }
        let array = Array::create(&store, path, &s, Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4]);
        let key = format!("{path}/c/0");
        let mut bytes = crate::store::get(&**store.shared(), &key, 1 << 20).unwrap().unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        bytes[if edit { 8 } else { last - 1 }] ^= 1;
        store.shared().put(&key, &[&bytes], crate::store::Condition::None).unwrap();
        assert_eq!(read_part(&array, &[0], &[4]).unwrap_err().kind(), ErrorKind::Checksum, "{path}");
        let lenient = with(&store, Options { verify: false, ..Options::default() });
        assert_eq!(read_all(&Array::open(&lenient, path).unwrap()), [1, 2, 3, 4], "{path}");
    }
}

#[test]
fn unknown_members_are_ignored_on_request_and_kept() {
    let store = memory();
    Array::create(&store, "a", &spec(&[2], &[2]), Create::New).unwrap();
    let document = text(&store, "a/zarr.json").unwrap().replacen('{', r#"{"novelty": {"n": 1},"#, 1);
    put(&store, "a/zarr.json", &document);
    put(&store, "zarr.json", r#"{"zarr_format":3,"node_type":"group","novelty":1}"#);
    assert_eq!(kind(Array::open(&store, "a")), ErrorKind::Extension);
    assert_eq!(kind(Group::open(&store, "")), ErrorKind::Extension);
    let lenient = with(&store, Options { ignore_unknown: true, ..Options::default() });
    Group::open(&lenient, "").unwrap().attributes().set_i64("n", 1).unwrap();
    let array = Array::open(&lenient, "a").unwrap();
    array.resize(&[5], false).unwrap();
    assert_eq!(read_all(&array), [0; 5]);
    for key in ["zarr.json", "a/zarr.json"] {
        assert!(text(&store, key).unwrap().contains("novelty"), "{key}");
    }
}

#[test]
fn bare_numbers_are_written_only_where_they_are_allowed() {
    let allowed = Settings { non_finite: true, ..Settings::default() };
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        let refused = [
            group.attributes().set_f64("x", f64::NAN),
            group.attributes().set("x", Value::from_iter([Value::Number(json::number(f64::INFINITY))])),
            group.attributes().set_json("x", "[1, -Infinity]"),
            group.attributes().replace_json(r#"{"x":NaN}"#),
        ];
        for (e, want) in refused.into_iter().zip([ErrorKind::Range; 4]) {
            let e = e.unwrap_err();
            assert!(e.kind() == want && e.to_string().contains("non_finite"), "{e}");
        }
        let mut s = spec_as(format, &[1], &[1]);
        for (e, what) in [
            (group.attributes().set_json("x", "[1, -1e999]"), "x: found -1e999"),
            (group.attributes().replace_json(r#"{"x":[1e999]}"#), "found 1e999"),
            (s.set_attributes_json(r#"{"x":1e999}"#), "attributes: found 1e999"),
        ] {
            let e = e.unwrap_err();
            assert!(e.kind() == ErrorKind::Range && e.to_string().contains(what), "{e}");
        }
        s.set_attributes_json(r#"{"x":NaN}"#).unwrap();
        let e = Array::create(&store, "a", &s, Create::New).err().unwrap();
        assert!(e.kind() == ErrorKind::Argument && e.to_string().contains("non_finite"), "{e}");
        assert_eq!(store.node_kind("a").unwrap(), NodeKind::None);

        let open = again(&store, allowed.clone(), Options::default());
        let group = Group::open(&open, "").unwrap();
        group.attributes().set_f64("x", f64::NAN).unwrap();
        group.attributes().set_json("y", "[1, -Infinity]").unwrap();
        Array::create(&open, "a", &s, Create::New).unwrap();
        let key = if format == Format::V3 { "zarr.json" } else { ".zattrs" };
        let written = text(&store, key).unwrap();
        assert!(written.contains("\"x\": NaN") && written.contains("-Infinity]"), "{written}");
        // They stay, whoever changes something else, in consolidated metadata as well.
        Group::open(&store, "").unwrap().consolidate().unwrap();
        Group::open(&store, "").unwrap().attributes().set_i64("n", 1).unwrap();
        assert!(Array::open(&store, "a").unwrap().attributes().get_f64("x").unwrap().is_nan());
        let all = text(&store, if format == Format::V3 { "zarr.json" } else { ".zmetadata" }).unwrap();
        assert_eq!(all.matches("NaN").count(), 2, "{all}");
        let (told, lines) = logged(&store, Level::Warning);
        let listed = Group::open(&told, "").unwrap().open_array("a").unwrap();
        assert!(listed.attributes().get_f64("x").unwrap().is_nan());
        let of_a = lines.lock().unwrap().iter().filter(|l| l.contains("HD-05: a/")).count();
        assert_eq!(of_a, 1, "{lines:?}");
    }
}

#[test]
fn bare_fill_values_are_read_and_survive() {
    let store = memory();
    let document = zarray("dtype", Some("\"<f4\"")).replace("\"fill_value\":7", "\"fill_value\":-Infinity");
    put(&store, "a/.zarray", &document);
    let array = Array::open(&store, "a").unwrap();
    assert_eq!(array.fill().element(DataType::Float32)[..], f32::NEG_INFINITY.to_ne_bytes());
    array.resize(&[4, 3], false).unwrap();
    assert!(text(&store, "a/.zarray").unwrap().contains("\"fill_value\": -Infinity"));
    let spec = {
        let mut s = Spec::new(DataType::Float32, &[2]).unwrap();
        s.set_format(Format::V2).unwrap();
        s.set_fill(DataType::Float32, &f32::NAN.to_ne_bytes()).unwrap();
        s
    };
    Array::create(&store, "b", &spec, Create::New).unwrap();
    assert!(text(&store, "b/.zarray").unwrap().contains("\"fill_value\": \"NaN\""));
}

#[test]
fn documents_of_other_writers_survive_a_rewrite_whatever_their_form() {
    let store = memory();
    put(&store, "a/.zarray", &format!("\u{feff}\r\n{}\r\n\n", zarray("_nczarr_array", Some(r#"{"big":18446744073709551616,"x":1.50}"#))));
    put(&store, "a/.zattrs", r#"{"n":9007199254740993,"u":18446744073709551615,"i":-9223372036854775808}"#);
    let array = Array::open(&store, "a").unwrap();
    assert_eq!((array.attributes().get_i64("n").unwrap(), array.attributes().get_i64("i").unwrap()), (9007199254740993, i64::MIN));
    array.attributes().set_i64("more", 1).unwrap();
    array.resize(&[1, 3], false).unwrap();
    let stored = json::to_compact(&Value::Object(object(&store, "a/.zattrs")));
    assert_eq!(stored, r#"{"n":9007199254740993,"u":18446744073709551615,"i":-9223372036854775808,"more":1}"#);
    let stored = json::to_compact(&Value::Object(object(&store, "a/.zarray")));
    assert!(stored.contains(r#""_nczarr_array":{"big":18446744073709551616,"x":1.50}"#) && stored.contains("[1,3]"), "{stored}");
    put(&store, "b/.zarray", &format!("{ZARRAY} x"));
    assert_eq!(kind(Array::open(&store, "b")), ErrorKind::Metadata);
}

/// A store that gives and takes, and cannot list.
struct Blind(crate::store::SharedStore);

impl crate::store::Storage for Blind {
    crate::store::forward!(0: open, put);

    fn capabilities(&self) -> crate::store::Capabilities {
        crate::store::Capabilities { listable: false, ..self.0.capabilities() }
    }
    fn erase_keys(&self, keys: crate::store::Keys<'_>) -> crate::error::Result<bool> {
        match keys {
            crate::store::Keys::One(_) => self.0.erase_keys(keys),
            crate::store::Keys::Below(_) => crate::error::bail!(Unsupported, "no listing"),
        }
    }
    fn list_keys(&self, _: &str, _: crate::store::ListInto<'_>) -> crate::error::Result<()> {
        crate::error::bail!(Unsupported, "no listing")
    }
    fn flush(&self) -> crate::error::Result<()> {
        Ok(())
    }
    fn describe(&self) -> String {
        "blind".into()
    }
}

/// Where no keys are listed: the nodes and chunks that verifying finds from `top` on, and the keys that it tells of.
fn verified(blind: &Store, top: &str) -> (u64, u64, Vec<String>) {
    let mut faults = Vec::new();
    let mut each = |fault: &Fault| {
        faults.push(fault.key.clone());
        Ok(())
    };
    let done = blind.verify(top, VerifyOptions::default(), &mut each, &mut |_, _| Ok(())).unwrap();
    (done.nodes, done.chunks, faults)
}

/// A hierarchy of `format` with those arrays, and the same where no keys are listed.
fn blind(format: Format, arrays: &[&str]) -> (Store, Store) {
    let store = memory();
    arrays.iter().for_each(|path| written(&store, path, format));
    let blind = Store::from_shared(&Context::default(), Arc::new(Blind(store.shared().clone())), Mode::Read);
    (store, blind)
}

/// Makes an array of two chunks.
fn written(store: &Store, path: &str, format: Format) {
    write_all(&Array::create(store, path, &spec_as(format, &[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
}

/// Cuts the second chunk of an array; returns its key.
fn cut_chunk(store: &Store, array: &str, format: Format) -> String {
    let key = format!("{array}/{}", if format == Format::V3 { "c/1" } else { "1" });
    store.key_put(&key, b"cut").unwrap();
    key
}

#[test]
fn where_no_keys_are_listed_consolidated_metadata_name_the_nodes_of_all_groups_below() {
    for format in [Format::V2, Format::V3] {
        let (store, blind) = blind(format, &["a", "g/b", "g/h/c"]);
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let key = cut_chunk(&store, "g/h/c", format);
        for (top, nodes, chunks) in [("", 6, 6), ("g", 4, 4), ("g/h", 2, 2), ("a", 1, 2)] {
            let faults = if top == "a" { vec![] } else { vec![key.clone()] };
            assert_eq!(verified(&blind, top), (nodes, chunks, faults), "{format:?} {top}");
        }
        let names = |path: &str| {
            let all = Group::open(&blind, path).unwrap().nodes(usize::MAX).unwrap();
            all.into_iter().map(|child| child.name).collect::<Vec<_>>()
        };
        assert_eq!((names("g"), names("g/h")), (vec!["b".to_string(), "h".into(), "h/c".into()], vec!["c".to_string()]));
    }
}

#[test]
fn where_no_keys_are_listed_consolidated_metadata_say_nothing_of_groups_that_they_do_not_name() {
    for format in [Format::V2, Format::V3] {
        let (store, blind) = blind(format, &["a"]);
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let stale = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let before = text(&store, stale).unwrap();
        written(&store, "g/b", format);
        // What they take for an array has no nodes below it that they could name.
        for (was, is) in [("a", "a"), ("\"a\"", "\"g\""), ("a/.zarray", "g/.zarray")] {
            put(&store, stale, &before.replace(was, is));
            let e = Group::open(&blind, "g").unwrap().nodes(usize::MAX).err().unwrap();
            assert!(e.kind() == ErrorKind::Unsupported && e.to_string().contains("cannot list"), "{format:?} {is}: {e}");
            assert_eq!(verified(&blind, "g").2.len(), 1, "{format:?} {is}");
        }
    }
}

#[test]
fn where_no_keys_are_listed_the_consolidated_metadata_of_each_group_name_nodes_once() {
    for format in [Format::V2, Format::V3] {
        let (store, blind) = blind(format, &["a", "g/b"]);
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let stale = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let before = text(&store, stale).unwrap();
        written(&store, "g/c", format);
        Group::open(&store, "g").unwrap().consolidate().unwrap();
        put(&store, stale, &before);
        let key = cut_chunk(&store, "g/c", format);
        assert_eq!(verified(&blind, ""), (5, 6, vec![key.clone()]), "{format:?}");
        assert_eq!(verified(&blind, "g"), (3, 4, vec![key]), "{format:?}");
        // What only damaged ones name is not looked at, which is told.
        let key = if format == Format::V3 { "g/zarr.json" } else { "g/.zmetadata" };
        put(&store, key, r#"{"zarr_format":3,"node_type":"group","consolidated_metadata":[]}"#);
        assert_eq!(verified(&blind, "g"), (2, 2, vec![key.to_string()]), "{format:?}");
    }
}

#[test]
fn consolidated_metadata_name_no_nodes_that_no_store_can_have() {
    for format in [Format::V2, Format::V3] {
        let (store, blind) = blind(format, &["a", "g/b"]);
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let key = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let before = text(&store, key).unwrap();
        let long = "n".repeat(990);
        let odd =
            ["", "/", "/a", "a/", ".", "..", "../a", "g/..", "g//c", "g/./c", "g/b/..", r"nul\u0000", r"x\\y", r"..\\y", r"\\", &long];
        for name in odd {
            let (was, is) = if format == Format::V3 { ("\"a\":", format!("\"{name}\":")) } else { ("\"a/", format!("\"{name}/")) };
            put(&store, key, &before.replace(was, &is));
            let names = |path: &str, depth| -> Vec<String> {
                Group::open(&blind, path).unwrap().nodes(depth).unwrap().into_iter().map(|child| child.name).collect()
            };
            assert_eq!(
                (names("", 1), names("", 9), names("g", 9)),
                (vec!["g".into()], vec!["g".into(), "g/b".into()], vec!["b".into()]),
                "{name:?}"
            );
            assert!(verified(&blind, "").2.is_empty(), "{format:?} {name:?}");
            assert_eq!(verified(&store, "").2, [key], "{format:?} {name:?}: where keys are listed it is told");
        }
    }
}

#[test]
fn a_known_array_needs_no_listing() {
    let store = memory();
    put(&store, "g/a/.zarray", &zarray("dimension_separator", None));
    put(&store, "g/a/0.0", &ints(&[1, 2, 3, 4]));
    put(&store, "g/.zgroup", r#"{"zarr_format":2}"#);
    let blind = Store::from_shared(&Context::default(), Arc::new(Blind(store.shared().clone())), Mode::ReadWrite);
    let array = Array::open(&blind, "g/a").unwrap();
    assert_eq!(read_all(&array), [1, 2, 7, 3, 4, 7]);
    write_all(&array, &mut [1; 6]);
    assert_eq!(kind(Group::open(&blind, "g").unwrap().children()), ErrorKind::Unsupported);
    // The node was named by its path: that is no advice.
    let to = memory();
    let copied = blind.copy_node("g/a", (&to, "a"), Create::New, false, &mut |_, _| Ok(()));
    let rechunked = blind.rechunk_node("g/a", (&to, "a"), RechunkOptions::default(), &mut |_, _| Ok(()), &mut |_, _| Ok(()));
    for e in [copied.unwrap_err(), rechunked.err().unwrap()] {
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("can be read, but not copied"), "{e}");
    }
}

#[test]
fn files_beside_a_version_3_document_are_ignored() {
    let store = memory();
    Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
    Array::create(&store, "a", &spec(&[2], &[2]), Create::New).unwrap();
    for key in ["._zarr.json", ".DS_Store", ".zmetadata", ".zattrs", "a/._zarr.json", "a/.DS_Store", "a/.zattrs"] {
        put(&store, key, "not JSON");
    }
    let root = Group::open(&store, "").unwrap();
    assert!(root.attributes().names().unwrap().is_empty());
    assert_eq!(root.children().unwrap().iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(root.open_array("a").unwrap().attributes().names().unwrap().is_empty());
}

#[test]
fn strings_that_are_no_unicode_stay_as_they_are_written() {
    let attributes = r#"{"x":"abc\udce9","l":["\ud83d",1],"t":"f8"}"#;
    for format in [Format::V2, Format::V3] {
        let store = memory();
        let key = if format == Format::V3 {
            let members = r#""node_type":"array","shape":[2],"data_type":"int8","fill_value":3,"chunk_key_encoding":{"name":"default"}"#;
            let grid = r#""chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"codecs":["bytes"]"#;
            put(&store, "a/zarr.json", &format!(r#"{{"zarr_format":3,{members},{grid},"attributes":{attributes}}}"#));
            put(&store, "zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#);
            "a/zarr.json"
        } else {
            put(&store, "a/.zarray", &zarray("fill_value", Some("3")));
            put(&store, "a/.zattrs", attributes);
            put(&store, ".zgroup", r#"{"zarr_format":2}"#);
            "a/.zattrs"
        };
        let (told, lines) = logged(&store, Level::Warning);
        let array = Array::open(&told, "a").unwrap();
        let found = array.attributes();
        assert_eq!(found.get_json("x").unwrap(), r#""abc\udce9""#);
        assert_eq!(lines.lock().unwrap().iter().filter(|l| l.contains("HD-07: a/")).count(), 2, "{lines:?}");
        for e in [found.get_string("x").unwrap_err(), found.get_f64("x").unwrap_err(), found.get_strings("l").unwrap_err()] {
            assert!(e.kind() == ErrorKind::Type && e.to_string().contains("a is"), "{e}");
        }
        // They stay, whoever changes something else, in consolidated metadata as well.
        found.set_i64("y", 1).unwrap();
        Group::open(&store, "").unwrap().consolidate().unwrap();
        Array::open(&store, "a").unwrap().attributes().set_i64("z", 1).unwrap();
        let all = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        for text in [text(&store, key).unwrap(), text(&store, all).unwrap()] {
            assert!(text.contains(r#""abc\udce9""#) && text.contains(r#"["\ud83d", 1]"#) && text.contains(r#""z": 1"#), "{text}");
        }
        assert!(found.set_json("w", r#""\udce9""#).is_err());
    }
}

#[test]
fn every_bit_of_a_float_survives_lossless_paths() {
    let values =
        [f32::from_bits(0x7fa1_2345), f32::from_bits(0xffc0_0001), -0.0, f32::from_bits(1), f32::MIN_POSITIVE / 3.0, f32::INFINITY];
    type Edit = fn(&mut Spec);
    let edits: &[Edit] = &[
        |s| s.set_format(Format::V2).unwrap(),
        |s| {
            s.set_format(Format::V2).unwrap();
            s.set_order(crate::metadata::Order::F).unwrap();
            s.set_byte_order(crate::dtype::ByteOrder::Big).unwrap();
            s.set_compressor("blosc", None).unwrap();
        },
        |s| s.set_compressor("zstd", None).unwrap(),
        |s| s.set_order(crate::metadata::Order::F).unwrap(),
        |s| s.set_inner_chunks(&[1, 1]).unwrap(),
    ];
    for (i, edit) in edits.iter().enumerate() {
        let store = memory();
        let mut s = Spec::new(DataType::Float32, &[2, 3]).unwrap();
        s.set_chunks(&[2, 2]).unwrap();
        edit(&mut s);
        let array = Array::create(&store, "a", &s, Create::New).unwrap();
        let memory = |data: &mut [f32]| Memory::of(data, &[2, 3], DataType::Float32);
        let mut found = [9.0f32; 6];
        // SAFETY: the memory lives as long as the calls.
        unsafe {
            array.write(&Selection::all(&[2, 3]), &memory(&mut values.clone())).unwrap();
            array.read(&Selection::all(&[2, 3]), &memory(&mut found)).unwrap();
        }
        assert_eq!(found.map(f32::to_bits), values.map(f32::to_bits), "{i}");
    }
}

#[test]
fn a_file_system_without_locks_is_told_once_to_the_log_unless_locks_are_required() {
    use crate::store::fault;
    use crate::store::os::Call;
    let root = TestFolder::new("no-locks");
    let location = root.to_str().unwrap();
    let change = |lock: &str| {
        let _ = std::fs::remove_dir_all(&root);
        let lines = Lines::default();
        let told = lines.clone();
        let call = Arc::new(move |_: Level, text: &str| told.lock().unwrap().push(text.to_string()));
        let context = Context::default().with_settings(Settings { log: Some(Log { level: Level::Warning, call }), ..Settings::default() });
        let no_locks = [fault::Fault { times: 1000, ..fault::fail(Call::Lock, libc::ENOLCK) }];
        let changed = fault::with(&no_locks, || {
            let store = Store::open(&context, location, Mode::ReadWrite, &[("file.lock", lock)])?;
            let group = Group::create(&store, "g", None, Create::New)?;
            group.attributes().set_i64("a", 1)?;
            group.attributes().set_i64("b", 2)?;
            store.close(None)
        });
        let lines = lines.lock().unwrap().clone();
        (changed.0, lines)
    };
    let (changed, lines) = change("try");
    changed.unwrap();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("file.lock: ") && lines[0].contains(location), "{lines:?}");
    let (changed, lines) = change("none");
    changed.unwrap();
    assert_eq!(lines, [""; 0]);
    let e = change("require").0.unwrap_err();
    assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::ENOLCK));
    assert!(e.key().is_some_and(|key| key.starts_with("g")) && e.message().contains("\"file.lock\""), "{e}");
    assert_eq!(change("often").0.unwrap_err().kind(), ErrorKind::Argument);
}
