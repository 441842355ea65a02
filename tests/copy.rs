//! Copies with other chunks, shards, codecs, types and formats: every element against the source, what is stored, how often anything is
//! read and written, interruptions.

#[path = "stores/watched.rs"]
mod watched;

use ozarr::dtype::resolve::{self, Grammar};
use ozarr::dtype::{DataType, Overflow};
use ozarr::engine::{Memory, Selection};
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::node::{Array, Context, Create, Format, Group, Mode, Node, NodeKind, Order, RechunkOptions, RechunkReport, Spec, Store, Zfp};
use ozarr::settings::apart;
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::suite::TestFolder;
use ozarr::store::{SharedStore, get};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use watched::{Watched, handle, keys};

fn memory() -> Store {
    Store::memory(&Context::with_threads(3))
}

fn spec(data_type: &str, shape: &[u64]) -> Spec {
    let element = resolve::parse(data_type, Grammar::Any).unwrap();
    Spec::new(element.data_type, shape).unwrap()
}

/// Pieces of bytes, one for each element in C order: the elements themselves, or text.
fn elements(array: &Array) -> Vec<Vec<u8>> {
    let all = Selection::all(&array.shape());
    if array.data_type().is_variable() {
        let found = array.read_variable(&all).unwrap();
        return (0..found.len()).map(|i| found.get(i).unwrap().to_vec()).collect();
    }
    read_as(array, array.data_type()).unwrap()
}

fn read_as(array: &Array, data_type: DataType) -> Result<Vec<Vec<u8>>> {
    let (shape, item) = (array.shape(), data_type.size());
    let mut bytes = vec![0xa5; shape.iter().product::<u64>() as usize * item];
    let memory = Memory::of(&mut bytes, &shape, data_type);
    // SAFETY: the memory lives as long as the call.
    unsafe { array.read(&Selection::all(&shape), &memory) }?;
    Ok(bytes.chunks(item).map(<[u8]>::to_vec).collect())
}

/// Fills a box of the array with elements that differ.
fn write(array: &Array, start: &[i64], count: &[i64]) {
    let selection = Selection::new(&array.shape(), start, count, None).unwrap();
    let n = count.iter().product::<i64>() as usize;
    if array.data_type().is_variable() {
        let texts: Vec<String> = (0..n).map(|i| "é".repeat(i % 7) + &i.to_string()).collect();
        return array.write_pieces(&selection, texts.iter().map(|t| Ok(t.as_bytes()))).unwrap();
    }
    let item = array.data_type().size();
    let one = |i: usize| match array.data_type() {
        DataType::Bool => vec![u8::from(i.is_multiple_of(3))],
        DataType::Float32 => (i as f32 * 0.5).to_ne_bytes().to_vec(),
        DataType::Float64 => (i as f64 * 0.25).to_ne_bytes().to_vec(),
        // Text in UTF-32.
        _ if item.is_multiple_of(4) => (0..item / 4).flat_map(|k| (1 + (i as u32 + k as u32) % 90).to_ne_bytes()).collect(),
        _ => (0..item).map(|k| (1 + (i + k) % 100) as u8).collect(),
    };
    let mut bytes: Vec<u8> = (0..n).flat_map(one).collect();
    let memory = Memory::of(&mut bytes, selection.shape(), array.data_type());
    // SAFETY: as above.
    unsafe { array.write(&selection, &memory) }.unwrap();
}

type Change = fn(&mut Spec) -> Result<()>;

fn copy(from: &Store, path: &str, to: (&Store, &str), options: RechunkOptions, change: Change) -> Result<RechunkReport> {
    from.rechunk_node(path, to, options, &mut |_, spec| change(spec), &mut |_, _| Ok(()))
}

fn open(store: &Store, path: &str) -> Array {
    match Node::open(store, path).unwrap_or_else(|e| panic!("{path}: {e}")) {
        Node::Array(array) => array,
        Node::Group(_) => panic!("{path} is a group"),
    }
}

fn to(format: u8, memory: u64) -> RechunkOptions {
    let format = match format {
        2 => Some(Format::V2),
        3 => Some(Format::V3),
        _ => None,
    };
    RechunkOptions { format, memory, ..RechunkOptions::default() }
}

/// The number of chunks that hold anything but the fill value.
fn chunks_of_values(array: &Array, elements: &[Vec<u8>]) -> u64 {
    let fill = if array.data_type().is_variable() { Vec::new() } else { array.fill().element(array.data_type()).to_vec() };
    let (shape, grid) = (array.shape(), array.grid());
    let values = elements.iter().enumerate().filter(|(_, element)| **element != fill);
    let chunks = values.map(|(i, _)| (grid.chunk_of(0, i as u64 / shape[1]), grid.chunk_of(1, i as u64 % shape[1])));
    chunks.collect::<std::collections::BTreeSet<_>>().len() as u64
}

/// What a source is stored like.
const SOURCES: &[(&str, Change)] = &[
    ("v3", |s| s.set_chunks(&[4, 3])),
    ("v3 gzip F big", |s| {
        s.set_chunks(&[5, 7])?;
        s.set_order(Order::F)?;
        s.set_byte_order(ozarr::dtype::ByteOrder::Big)?;
        s.set_compressor("gzip", None)
    }),
    ("v3 shards", |s| {
        s.set_chunks(&[6, 4])?;
        s.set_inner_chunks(&[3, 2])
    }),
    ("v3 uneven", |s| s.set_chunks_json("[[3,8,2],[4,3]]")),
    ("v2", |s| {
        s.set_format(Format::V2)?;
        s.set_chunks(&[4, 3])
    }),
    ("v2 F zlib", |s| {
        s.set_format(Format::V2)?;
        s.set_chunks(&[13, 2])?;
        s.set_order(Order::F)?;
        s.set_compressor("zlib", None)
    }),
];

/// What becomes of it: the format (0: the same), and what is changed.
const CHANGES: &[(&str, u8, Change)] = &[
    ("nothing", 0, |_| Ok(())),
    ("to v3", 3, |_| Ok(())),
    ("to v2", 2, |s| s.set_chunks(&[2, 5])),
    ("columns", 0, |s| {
        s.set_chunks(&[13, 1])?;
        s.unset_inner_chunks()
    }),
    ("shards", 3, |s| {
        s.set_chunks(&[8, 8])?;
        s.set_inner_chunks(&[2, 4])
    }),
    ("one shard", 3, |s| {
        s.set_chunks(&[16, 8])?;
        s.set_inner_chunks(&[2, 2])?;
        s.set_compressor("none", None)
    }),
    ("blosc in F", 3, |s| {
        s.set_compressor("blosc", None)?;
        s.set_order(Order::F)
    }),
    ("list", 3, |s| {
        s.unset_inner_chunks()?;
        s.set_codecs_json(if s.data_type() == DataType::VarText {
            r#"["vlen-utf8","crc32c"]"#
        } else {
            r#"[{"name":"bytes","configuration":{"endian":"big"}},"crc32c"]"#
        })
    }),
    ("uneven", 3, |s| {
        s.unset_inner_chunks()?;
        s.set_chunks_json("[[1,6,6],7]")
    }),
];

const TYPES: &[&str] =
    &["uint8", "<i2", "float64", "complex64", "bool", "<U3", "|S5", "<M8[s]", r#"[["x", "<f8"], ["id", "<i4"]]"#, "string"];

#[test]
fn every_copy_holds_the_elements_of_its_source_whatever_changes() {
    for (source, layout) in SOURCES {
        for (t, data_type) in TYPES.iter().enumerate() {
            let from = memory();
            let mut made = spec(data_type, &[13, 7]);
            layout(&mut made).unwrap();
            made.set_attributes_json(r#"{"units":"K","n":[1,null]}"#).unwrap();
            made.set_dimension_names(vec![Some("y".into()), Some("x".into())]).unwrap();
            if *data_type == "float64" {
                made.set_fill_json("\"NaN\"").unwrap();
            }
            let array = Array::create(&from, "g/a", &made, Create::New).unwrap();
            // Some chunks are missing, some hold the fill value in parts.
            write(&array, &[1, 0], &[3, 7]);
            write(&array, &[6, 4], &[4, 2]);
            let (want, before) = (elements(&array), keys(&from));
            for (n, (change, format, how)) in CHANGES.iter().enumerate() {
                for memory_size in [0, 1, 200].into_iter().skip((t + n) % apart(3)).step_by(apart(3)) {
                    let case = format!("{source}, {data_type}, {change}, {memory_size}");
                    let into = memory();
                    let done = copy(&from, "g/a", (&into, "b/c"), to(*format, memory_size), *how).unwrap_or_else(|e| panic!("{case}: {e}"));
                    let made = open(&into, "b/c");
                    assert_eq!(elements(&made), want, "{case}");
                    assert_eq!(made.dimension_names().unwrap(), [Some("y".into()), Some("x".into())], "{case}");
                    assert_eq!(made.attributes().get("units").unwrap(), "K", "{case}");
                    assert_eq!(made.fill().element(made.data_type()), array.fill().element(array.data_type()), "{case}");
                    if *format != 0 {
                        assert_eq!(made.format().number(), i32::from(*format), "{case}");
                    }
                    // Chunks of a fill value that is null are all stored: to other readers those that are not hold anything.
                    // What is copied as it is has those of its source.
                    let chunks = match (made.fill().defined, done.encoded) {
                        (true, _) => chunks_of_values(&made, &want),
                        (false, 0) => array.chunk_count(false).unwrap(),
                        (false, _) => made.grid_shape().iter().product(),
                    };
                    assert_eq!(made.chunk_count(false).unwrap(), chunks, "{case}");
                    assert!(!into.key_list("").unwrap().iter().any(|key| key.contains("ozarr-copy")), "{case}");
                    if *change == "nothing" {
                        assert_eq!((done.encoded, done.copied), (0, array.chunk_count(false).unwrap()), "{case}");
                    }
                }
            }
            assert_eq!(keys(&from), before, "{source} {data_type}: the source");
        }
    }
}

#[test]
fn ranks_without_and_with_many_dimensions_and_no_elements_are_copied() {
    for shape in [&[][..], &[0, 5], &[3, 2, 4, 1, 5]] {
        let from = memory();
        let array = Array::create(&from, "a", &spec("int32", shape), Create::New).unwrap();
        write(&array, &vec![0; shape.len()], &shape.iter().map(|&n| n as i64).collect::<Vec<_>>());
        for format in [2, 3] {
            let into = memory();
            let change = |s: &mut Spec| {
                let chunks: Vec<u64> = (0..s.rank() as u64).map(|d| 1 + d % 3).collect();
                s.set_chunks(&chunks)
            };
            copy(&from, "a", (&into, ""), to(format, 64), change).unwrap();
            assert_eq!(elements(&open(&into, "")), elements(&array), "{shape:?} {format}");
        }
    }
}

#[test]
fn chunks_whose_bytes_stay_the_same_are_copied_without_a_look_into_them() {
    let garbage = b"these bytes are no chunk".to_vec();
    let mut v2 = spec("<i4", &[8]);
    v2.set_format(Format::V2).unwrap();
    v2.set_chunks(&[4]).unwrap();
    let mut v3 = spec("<i4", &[8]);
    v3.set_chunks(&[4]).unwrap();
    for (made, format, key, to_key) in
        [(&v2, 3, "a/0", "b/c/0"), (&v3, 2, "a/c/0", "b/0"), (&v3, 3, "a/c/0", "b/c/0"), (&v2, 2, "a/0", "b/0")]
    {
        let (from, into) = (memory(), memory());
        Array::create(&from, "a", made, Create::New).unwrap();
        if made.format() != Some(Format::V2) {
            // The copy says a parameter that its source leaves out.
            let document = String::from_utf8(from.key_get("a/zarr.json").unwrap().unwrap()).unwrap();
            let without = document.replace(r#""checksum": false"#, r#""checksum": null"#);
            assert_ne!(without, document);
            from.key_put("a/zarr.json", without.as_bytes()).unwrap();
        }
        from.key_put(key, &garbage).unwrap();
        let done = copy(&from, "a", (&into, "b"), to(format, 0), |_| Ok(())).unwrap();
        assert_eq!((done.copied, done.encoded), (1, 0), "{key}");
        assert_eq!(into.key_get(to_key).unwrap(), Some(garbage.clone()));
        // Anything that changes bytes has to decode them.
        let e = copy(&from, "a", (&into, "c"), to(format, 0), |s| s.set_compressor("gzip", None)).unwrap_err();
        assert!(e.key().is_some_and(|k| k == key), "{e}");
        assert_eq!(into.node_kind("c").unwrap(), NodeKind::None);
    }
}

#[test]
fn what_zfp_has_rounded_is_not_rounded_again_where_only_the_format_changes_and_else_that_is_told() {
    let (from, into) = (memory(), memory());
    let mut made = spec("float32", &[9, 7]);
    made.set_chunks(&[4, 7]).unwrap();
    made.set_zfp(Zfp::Accuracy(0.3)).unwrap();
    let array = Array::create(&from, "a", &made, Create::New).unwrap();
    write(&array, &[0, 0], &[9, 7]);
    let v2 = copy(&from, "a", (&into, "v2"), to(2, 0), |_| Ok(())).unwrap();
    let v3 = copy(&into, "v2", (&into, "v3"), to(3, 0), |_| Ok(())).unwrap();
    for (path, done) in [("v2", v2), ("v3", v3)] {
        assert_eq!((done.copied, done.encoded, done.notes.len()), (3, 0, 0), "{path}");
        assert_eq!(elements(&open(&into, path)), elements(&array), "{path}");
    }
    let done = copy(&from, "a", (&into, "b"), to(3, 0), |s| s.set_chunks(&[3, 5])).unwrap();
    assert_eq!(
        (done.copied, done.notes.as_slice()),
        (0, ["a: zfp rounds the elements once more, as their chunks are encoded anew".into()].as_slice())
    );
}

#[test]
fn what_stands_for_missing_in_version_2_costs_chunks_only_where_some_were_not_stored() {
    let attributes = r#"{"_FillValue":-999}"#;
    // The number of elements, those that are written, attributes; the fill value in version 2, and the chunks that are copied, encoded and noted.
    for (elements, written, attributes, fill, counts) in [
        (8, 8, "{}", "null", (2, 0, 0)),
        (8, 4, "{}", "null", (0, 2, 0)),
        (8, 8, attributes, "-999", (2, 0, 0)),
        (8, 4, attributes, "-999", (0, 2, 0)),
        (1 << 60, 4, "{}", "0", (1, 0, 1)),
        (1 << 60, 4, attributes, "0", (1, 0, 1)),
    ] {
        let (from, into) = (memory(), memory());
        let mut made = spec("int32", &[elements]);
        made.set_chunks(&[4]).unwrap();
        made.set_dimension_names(vec![Some("x".into())]).unwrap();
        made.set_attributes_json(attributes).unwrap();
        let array = Array::create(&from, "a", &made, Create::New).unwrap();
        write(&array, &[0], &[written]);
        let done = copy(&from, "a", (&into, "a"), to(2, 0), |_| Ok(())).unwrap();
        let case = format!("{elements} {written} {attributes}");
        assert_eq!((done.copied, done.encoded, done.notes.len()), counts, "{case}");
        let copied = open(&into, "a");
        let document: serde_json::Value = serde_json::from_str(&copied.metadata_json().unwrap()).unwrap();
        assert_eq!(document["fill_value"].to_string(), fill, "{case}");
        assert_eq!(copied.chunk_count(false).unwrap(), counts.0 + counts.1, "{case}");
    }
}

/// How often every chunk of the source was opened, at most, and of the target put.
/// As GDAL writes arrays of numbers of which none is told to be missing (HD-40).
#[test]
fn a_fill_value_of_null_in_version_3_becomes_one_that_the_format_of_the_copy_has() {
    let text = r#"{"zarr_format":3,"node_type":"array","shape":[2,3],"data_type":"int16","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[2,2]}},"chunk_key_encoding":"default","fill_value":null,
        "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"dimension_names":["y","x"]}"#;
    let from = memory();
    from.key_put("a/zarr.json", text.as_bytes()).unwrap();
    write(&open(&from, "a"), &[0, 2], &[2, 1]);
    for (format, member) in [(3, "\"fill_value\": 0"), (2, "\"fill_value\": null")] {
        let other = memory();
        let report = copy(&from, "a", (&other, "b"), to(format, 1 << 20), |_| Ok(())).unwrap();
        assert!(open(&other, "b").metadata_json().unwrap().contains(member), "{}", open(&other, "b").metadata_json().unwrap());
        assert_eq!(elements(&open(&other, "b")), elements(&open(&from, "a")), "format {format}");
        assert_eq!(report.notes.iter().filter(|note| note.contains("null became 0")).count(), usize::from(format == 3));
    }
}

fn most(counts: &Mutex<BTreeMap<String, usize>>, prefix: &str) -> usize {
    counts.lock().unwrap().iter().filter(|(key, _)| key.starts_with(prefix)).map(|(_, n)| *n).max().unwrap_or(0)
}

#[test]
fn every_chunk_is_written_once_and_read_as_seldom_as_memory_allows() {
    let (shared, target) = (Watched::new(i64::MAX), Watched::new(i64::MAX));
    let (from, into) = (handle(&shared), handle(&target));
    let mut made = spec("float64", &[64, 64]);
    made.set_chunks(&[4, 64]).unwrap();
    let array = Array::create(&from, "a", &made, Create::New).unwrap();
    write(&array, &[0, 0], &[64, 64]);
    let columns: Change = |s| s.set_chunks(&[64, 4]);
    let shards: Change = |s| {
        s.set_chunks(&[64, 32])?;
        s.set_inner_chunks(&[8, 8])
    };
    let before = |n: usize| format!("b{n}/c/");
    // All at once; a quarter of the columns; less than one column of chunks.
    for (n, (memory, change, reads)) in
        [(0, columns, 1), (32 << 10, columns, 16), (0, shards, 1), (1, shards, 1000)].into_iter().enumerate()
    {
        shared.forget();
        target.forget();
        copy(&from, "a", (&into, &format!("b{n}")), to(0, memory), change).unwrap();
        assert_eq!(elements(&open(&into, &format!("b{n}"))), elements(&array));
        assert_eq!(most(&target.put, &before(n)), 1, "{n}");
        // Once more by `elements`.
        assert!(most(&shared.opened, "a/c/") <= reads + 1, "{n}: {}", most(&shared.opened, "a/c/"));
    }
}

#[test]
fn objects_that_differ_from_their_source_are_found_before_the_copy_is_a_node() {
    let from = memory();
    hierarchy(&from);
    for (key, verify) in [("x/a/c/0/0", true), ("x/g/deep/c/zarr.json", true), ("", true), ("x/a/c/0/0", false)] {
        let target = Watched::new(i64::MAX);
        *target.wrong.lock().unwrap() = key.into();
        let into = handle(&target);
        let result = from.copy_node("", (&into, "x"), Create::New, verify, &mut |_, _| Ok(()));
        if verify && !key.is_empty() {
            let e = result.unwrap_err();
            assert_eq!((e.kind(), e.key(), into.node_kind("x").unwrap()), (ErrorKind::Checksum, Some(key), NodeKind::None));
        } else {
            result.unwrap();
            assert_eq!(into.node_kind("x/g/deep").unwrap(), NodeKind::Group);
        }
    }
}

fn hierarchy(store: &Store) {
    let root = Group::create(store, "", None, Create::New).unwrap();
    root.attributes().set("title", "t".into()).unwrap();
    for (path, data_type) in [("a", "int16"), ("g/b", "string"), ("g/deep/c", "float32")] {
        let mut made = spec(data_type, &[6, 4]);
        made.set_chunks(&[2, 4]).unwrap();
        let array = Array::create(store, path, &made, Create::New).unwrap();
        write(&array, &[1, 0], &[3, 4]);
    }
    root.consolidate().unwrap();
}

#[test]
fn a_group_is_copied_with_all_below_it_and_stays_consolidated() {
    let from = memory();
    hierarchy(&from);
    for format in [2, 3] {
        let into = memory();
        let mut paths = Vec::new();
        let mut change = |path: &str, spec: &mut Spec| {
            paths.push(path.to_string());
            spec.set_chunks(&[3, 3])
        };
        let mut told = Vec::new();
        let done = from
            .rechunk_node("", (&into, ""), to(format, 0), &mut change, &mut |done, all| {
                told.push((done, all));
                Ok(())
            })
            .unwrap();
        assert_eq!((done.nodes, paths), (6, vec!["a".to_string(), "g/b".into(), "g/deep/c".into()]));
        assert!(told.is_sorted() && told.last().is_some_and(|(done, all)| done == all), "{told:?}");
        for path in ["a", "g/b", "g/deep/c"] {
            assert_eq!(elements(&open(&into, path)), elements(&open(&from, path)), "{path}");
            assert_eq!(open(&into, path).chunk_shape().as_slice(), [3, 3]);
        }
        let root = Group::open(&into, "").unwrap();
        assert_eq!(root.attributes().get("title").unwrap(), "t");
        let consolidated = if format == 2 { ".zmetadata" } else { "zarr.json" };
        assert!(String::from_utf8(into.key_get(consolidated).unwrap().unwrap()).unwrap().contains("g/deep/c"));
    }
}

#[test]
fn a_copy_that_was_cut_short_is_no_node_and_the_same_call_completes_it() {
    let source = Watched::new(i64::MAX);
    hierarchy(&handle(&source));
    let before = keys(&handle(&source));
    let change: Change = |s| s.set_chunks(&[3, 2]);
    for place in ["", "x/y"] {
        let whole = Watched::new(i64::MAX);
        copy(&handle(&source), "", (&handle(&whole), place), to(0, 0), change).unwrap();
        let (want, changes) = (keys(&handle(&whole)), i64::MAX - whole.left.load(Ordering::Relaxed));
        assert!(changes > 20, "{changes}");
        for left in 0..changes {
            let killed = Watched::new(left);
            let e = copy(&handle(&source), "", (&handle(&killed), place), to(0, 0), change).unwrap_err();
            assert!(e.message().contains("killed"), "{e}");
            killed.left.store(i64::MAX, Ordering::Relaxed);
            let is_done = get(&killed.store, if place.is_empty() { "zarr.json" } else { "x/y/zarr.json" }, 1 << 20).unwrap().is_some();
            if is_done {
                // Only what is said of it elsewhere is left to do.
                assert_eq!(elements(&open(&handle(&killed), &format!("{place}/a"))), elements(&open(&handle(&source), "a")));
                let again = RechunkOptions { how: Create::Overwrite, ..to(0, 0) };
                copy(&handle(&source), "", (&handle(&killed), place), again, change).unwrap();
            } else {
                assert_eq!(handle(&killed).node_kind(place).unwrap(), NodeKind::None);
                copy(&handle(&source), "", (&handle(&killed), place), to(0, 0), change).unwrap_or_else(|e| panic!("{left}: {e}"));
            }
            assert_eq!(keys(&handle(&killed)), want, "{place:?} after {left} changes");
        }
    }
    assert_eq!(keys(&handle(&source)), before, "the source");
}

/// Copies over another node that was cut short: the same call completes them, and nothing of the other node shows.
#[test]
fn a_copy_over_another_node_that_was_cut_short_is_completed_by_the_same_call() {
    let source = memory();
    hierarchy(&source);
    let verbatim = |to: &Store, place: &str| source.copy_node("", (to, place), Create::Overwrite, false, &mut |_, _| Ok(()));
    let changed = |into: &Store, place: &str| {
        let how = RechunkOptions { how: Create::Overwrite, ..to(0, 0) };
        copy(&source, "", (into, place), how, |s| s.set_chunks(&[3, 2])).map(drop)
    };
    type Copy<'a> = &'a dyn Fn(&Store, &str) -> Result<()>;
    for (way, run) in [("verbatim", &verbatim as Copy), ("changed", &changed)] {
        for place in ["", "x/y"] {
            // The old node has chunks where the new one has none.
            let before = |left: i64| {
                let store = Watched::new(i64::MAX);
                let mut made = spec("int16", &[6, 4]);
                made.set_chunks(&[1, 1]).unwrap();
                let old = Array::create(&handle(&store), &format!("{place}/a"), &made, Create::New).unwrap();
                write(&old, &[0, 0], &[6, 4]);
                store.left.store(left, Ordering::Relaxed);
                store
            };
            let whole = before(i64::MAX);
            run(&handle(&whole), place).unwrap();
            let (want, changes) = (keys(&handle(&whole)), i64::MAX - whole.left.load(Ordering::Relaxed));
            assert!(changes > 40, "{way}: {changes}");
            for left in 0..changes {
                let killed = before(left);
                assert!(run(&handle(&killed), place).is_err(), "{way} {left}");
                killed.left.store(i64::MAX, Ordering::Relaxed);
                run(&handle(&killed), place).unwrap_or_else(|e| panic!("{way}, {place:?} after {left} changes: {e}"));
                assert_eq!(keys(&handle(&killed)), want, "{way}, {place:?} after {left} changes");
            }
        }
    }
}

#[test]
fn progress_can_end_it_and_what_is_in_the_way_is_refused() {
    let (from, into) = (memory(), memory());
    hierarchy(&from);
    let end = &mut |done, _| if done >= 3 { Err(Error::new(ErrorKind::Cancelled, "enough")) } else { Ok(()) };
    let e = from.rechunk_node("g", (&into, "h"), RechunkOptions::default(), &mut |_, _| Ok(()), end).unwrap_err();
    assert_eq!((e.kind(), into.node_kind("h").unwrap()), (ErrorKind::Cancelled, NodeKind::None));
    let same: Change = |_| Ok(());
    // What is left there is of another copy.
    assert_eq!(copy(&from, "a", (&into, "h"), to(0, 0), same).unwrap_err().kind(), ErrorKind::Exists);
    copy(&from, "g", (&into, "h"), to(0, 0), same).unwrap();
    assert_eq!(copy(&from, "g", (&into, "h"), to(0, 0), same).unwrap_err().kind(), ErrorKind::Exists);
    let over = RechunkOptions { how: Create::Overwrite, ..to(0, 0) };
    copy(&from, "a", (&into, "h"), over, same).unwrap();
    assert_eq!(elements(&open(&into, "h")), elements(&open(&from, "a")));
    into.key_put("files/mine.txt", b"x").unwrap();
    assert_eq!(copy(&from, "a", (&into, "files"), to(0, 0), same).unwrap_err().kind(), ErrorKind::Exists);
    assert_eq!(into.key_get("files/mine.txt").unwrap().unwrap(), b"x");
    assert_eq!(copy(&from, "g", (&from, "g/h"), to(0, 0), same).unwrap_err().kind(), ErrorKind::Argument);
    // Everything is checked before anything is written.
    let (whole, empty) = (keys(&from), memory());
    for change in [(|s: &mut Spec| if s.data_type() == DataType::VarText { s.set_chunks(&[1]) } else { Ok(()) }) as Change, |s| {
        if s.rank() == 2 { s.set_inner_chunks(&[5, 5]) } else { Ok(()) }
    }] {
        assert!(copy(&from, "", (&empty, ""), to(0, 0), change).is_err());
        assert!(keys(&empty).is_empty());
    }
    assert_eq!(keys(&from), whole);
}

#[test]
fn elements_are_converted_and_those_that_do_not_fit_are_as_they_are_wanted() {
    let from = memory();
    let mut made = spec("float64", &[4, 4]);
    made.set_chunks(&[2, 4]).unwrap();
    made.set_fill_json("300").unwrap();
    let array = Array::create(&from, "a", &made, Create::New).unwrap();
    write(&array, &[0, 0], &[2, 4]);
    let into = memory();
    copy(&from, "a", (&into, "f"), to(2, 0), |s| s.set_data_type(DataType::Float32)).unwrap();
    let single = open(&into, "f");
    assert_eq!((single.data_type(), single.chunk_count(false).unwrap()), (DataType::Float32, 1));
    assert_eq!(read_as(&single, DataType::Float64).unwrap(), elements(&array));
    // 300 does not fit: neither the fill value nor the missing chunks.
    let small: Change = |s| s.set_data_type(DataType::UInt8);
    assert_eq!(copy(&from, "a", (&into, "u"), to(0, 0), small).unwrap_err().kind(), ErrorKind::Range);
    let saturating = RechunkOptions { overflow: Overflow::Saturate, ..to(0, 0) };
    copy(&from, "a", (&into, "s"), saturating, small).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(elements(&open(&into, "s"))[8..], vec![vec![255]; 8]);
    // Another fill value leaves the elements.
    copy(&from, "a", (&into, "filled"), to(0, 0), |s| s.set_fill_json("1")).unwrap();
    assert_eq!(elements(&open(&into, "filled")), elements(&array));
    write(&Array::create(&from, "t", &spec("complex64", &[3]), Create::New).unwrap(), &[0], &[2]);
    copy(&from, "t", (&into, "t"), to(3, 0), |s| s.set_data_type(DataType::Complex128)).unwrap();
    let before = keys(&into);
    let real = copy(&from, "t", (&into, "t2"), to(3, 0), |s| s.set_data_type(DataType::Float64));
    assert_eq!((real.unwrap_err().kind(), keys(&into)), (ErrorKind::Type, before));
    let shape = copy(&from, "t", (&into, "t2"), to(3, 0), |s| {
        *s = Spec::new(s.data_type(), &[9])?;
        Ok(())
    });
    assert_eq!(shape.unwrap_err().field(), Some("shape"));
}

fn on_disk(root: &Path) -> Store {
    let shared: SharedStore = Arc::new(LocalStore::open(root, true, SyncMode::None).unwrap());
    Store::from_shared(&Context::with_threads(2), shared, Mode::ReadWrite)
}

/// An archive cannot erase what says elsewhere that a copy is under way.
#[test]
fn a_copy_in_an_archive_has_what_its_source_has_and_nothing_else() {
    let file = TestFolder::new("copy.zip");
    let from = memory();
    hierarchy(&from);
    let to = Store::open(&Context::default(), file.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    from.copy_node("", (&to, ""), Create::New, false, &mut |_, _| Ok(())).unwrap();
    to.close(None).unwrap();
    let read = Store::open(&Context::default(), file.to_str().unwrap(), Mode::Read, &[]).unwrap();
    let sorted = |store: &Store| {
        let mut keys = store.key_list("").unwrap();
        keys.sort();
        keys
    };
    assert_eq!(sorted(&read), sorted(&from));
}

#[test]
fn chunks_of_files_are_linked_where_that_is_wanted_and_copied_in_pieces_where_they_are_large() {
    use std::os::unix::fs::MetadataExt;
    let folder = TestFolder::new("copy-pieces");
    let store = |name: &str| on_disk(&folder.join(name));
    let from = store("from.zarr");
    let mut made = spec("int64", &[3 << 20]);
    made.set_chunks(&[2 << 20]).unwrap();
    made.set_compressor("none", None).unwrap();
    let array = Array::create(&from, "a", &made, Create::New).unwrap();
    write(&array, &[0], &[3 << 20]);
    let link = RechunkOptions { link: true, ..to(0, 0) };
    let (linked, copied) = (store("linked.zarr"), store("copied.zarr"));
    assert_eq!(copy(&from, "a", (&linked, "a"), link, |_| Ok(())).unwrap().linked, 2);
    assert_eq!(copy(&from, "a", (&copied, "a"), to(0, 0), |_| Ok(())).unwrap().copied, 2);
    assert_eq!(std::fs::metadata(folder.join("linked.zarr/a/c/0")).unwrap().nlink(), 2);
    assert_eq!(std::fs::metadata(folder.join("copied.zarr/a/c/0")).unwrap().nlink(), 1);
    // The source is only ever replaced, and so is the copy.
    write(&open(&linked, "a"), &[0], &[7]);
    assert_eq!(elements(&open(&copied, "a")), elements(&array));
}

/// In folders a copy takes the place of another node when it is whole, and what a copy that ended early has made goes.
#[test]
fn what_a_copy_replaces_in_a_folder_stays_until_the_copy_is_whole() {
    let folder = TestFolder::new("copy-over");
    let from = on_disk(&folder.join("from.zarr"));
    hierarchy(&from);
    let over = RechunkOptions { how: Create::Overwrite, ..to(0, 0) };
    type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> Result<()>;
    type Copy<'a> = &'a dyn Fn(&Store, &str, Progress<'_>) -> Result<()>;
    let verbatim = |into: &Store, place: &str, told: Progress<'_>| from.copy_node("g", (into, place), Create::Overwrite, true, told);
    let changed = |into: &Store, place: &str, told: Progress<'_>| {
        from.rechunk_node("g", (into, place), over, &mut |_, s| s.set_chunks(&[2, 2]), told).map(drop)
    };
    for (way, run) in [("verbatim", &verbatim as Copy), ("changed", &changed)] {
        for place in ["", "x/y"] {
            let root = folder.join(format!("{way}{}.zarr", place.len()));
            let into = on_disk(&root);
            let old = Array::create(&into, &path_below(place, "a"), &spec("int16", &[6, 4]), Create::New).unwrap();
            write(&old, &[0, 0], &[6, 4]);
            let (whole, before) = (keys(&into), elements(&old));
            let mut last = 0;
            let mut count = |_, total| {
                last = total;
                Ok(())
            };
            run(&on_disk(&folder.join("counted.zarr")), place, &mut count).unwrap();
            std::fs::remove_dir_all(folder.join("counted.zarr")).unwrap();
            for left in 1..=last {
                let e =
                    run(&into, place, &mut |done, _| if done >= left { Err(Error::new(ErrorKind::Cancelled, "enough")) } else { Ok(()) });
                assert_eq!(e.unwrap_err().kind(), ErrorKind::Cancelled, "{way} {left}");
                assert!(keys(&into) == whole && elements(&old) == before, "{way}, {place:?} after {left}");
                assert_eq!(hidden_below(&folder), [""; 0], "{way} {left}");
            }
            run(&into, place, &mut |_, _| Ok(())).unwrap();
            assert_eq!(into.node_kind(&path_below(place, "a")).unwrap(), NodeKind::None, "{way}");
            assert_eq!(elements(&open(&into, &path_below(place, "deep/c"))), elements(&open(&from, "g/deep/c")), "{way}");
            assert_eq!(hidden_below(&folder), [""; 0], "{way}");
        }
    }
}

fn path_below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_string() } else { format!("{place}/{name}") }
}

/// The hidden names of what is made, in a folder and those below it.
fn hidden_below(folder: &Path) -> Vec<String> {
    let (mut found, mut todo) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name().into_string().unwrap();
            match name.starts_with(".ozarr-") {
                true => found.push(name),
                false => todo.extend(entry.path().is_dir().then(|| entry.path())),
            }
        }
    }
    found
}

#[test]
fn a_copy_over_its_own_source_by_a_link_is_refused_and_leaves_it_whole() {
    let folder = TestFolder::new("copy-link");
    let store = |name: &str| on_disk(&folder.join(name));
    let from = store("from.zarr");
    hierarchy(&from);
    std::os::unix::fs::symlink("from.zarr", folder.join("link.zarr")).unwrap();
    std::os::unix::fs::symlink("g", folder.join("from.zarr/h")).unwrap();
    let (link, whole) = (store("link.zarr"), keys(&from));
    let over = RechunkOptions { how: Create::Overwrite, ..to(0, 0) };
    for (from, path, into, to_path, what) in [
        (&link, "g", &from, "g", "is the same as"),
        (&from, "g", &link, "g", "is the same as"),
        (&from, "h", &from, "g", "is the same as"),
        (&link, "", &from, "new/copy", "lies inside of"),
        (&link, "g", &from, "", "holds"),
    ] {
        let e = copy(from, path, (into, to_path), over, |_| Ok(())).unwrap_err();
        assert!(e.kind() == ErrorKind::Argument && e.to_string().contains(what), "{path} to {to_path}: {e}");
        let e = from.copy_node(path, (into, to_path), Create::Overwrite, false, &mut |_, _| Ok(())).unwrap_err();
        assert!(e.kind() == ErrorKind::Argument && e.to_string().contains(what), "{path} to {to_path}: {e}");
    }
    assert_eq!(keys(&from), whole);
    copy(&link, "g", (&from, "other"), over, |_| Ok(())).unwrap();
}

#[test]
fn files_and_folders_in_each_others_place_among_the_chunks_are_no_missing_chunks() {
    let folder = TestFolder::new("copy-places");
    let store = |name: &str| on_disk(&folder.join(name));
    let mut number = 0;
    for (format, separator) in [(Format::V3, None), (Format::V2, Some(ozarr::node::Separator::Slash)), (Format::V2, None)] {
        let in_folders = separator.is_some() || format == Format::V3;
        let chunk = match (format, in_folders) {
            (Format::V3, _) => "c/0/1",
            (_, true) => "0/1",
            (_, false) => "0.1",
        };
        for outer in [false, true] {
            if outer && !in_folders {
                continue;
            }
            let _ = std::fs::remove_dir_all(&folder);
            let from = store("from.zarr");
            let mut made = spec("int8", &[4, 4]);
            made.set_format(format).unwrap();
            made.set_chunks(&[2, 2]).unwrap();
            separator.into_iter().for_each(|s| made.set_separator(s).unwrap());
            let array = Array::create(&from, "g/a", &made, Create::New).unwrap();
            write(&array, &[0, 0], &[4, 4]);
            // The folder of a row of chunks is a file; or a chunk's file is an empty folder.
            let place = folder.join("from.zarr/g/a").join(if outer { chunk.rsplit_once('/').unwrap().0 } else { chunk });
            if outer {
                std::fs::remove_dir_all(&place).unwrap();
                std::fs::write(&place, b"x").unwrap();
            } else {
                std::fs::remove_file(&place).unwrap();
                std::fs::create_dir(&place).unwrap();
            }
            let what = format!("{format:?} {chunk} {outer}");
            let told = |result: Result<()>| {
                let e = result.expect_err(&what);
                let errno = if outer { libc::ENOTDIR } else { libc::EISDIR };
                assert_eq!((e.os_errno(), e.key()), (errno, place.strip_prefix(folder.join("from.zarr")).unwrap().to_str()), "{what}: {e}");
            };
            number += 1;
            let into = store(&format!("into-{number}.zarr"));
            for (to_path, verify) in [("plain", false), ("verified", true)] {
                told(from.copy_node("", (&into, to_path), Create::New, verify, &mut |_, _| Ok(())));
                assert_eq!(into.node_kind(to_path).unwrap(), NodeKind::None, "{what}");
            }
            told(copy(&from, "g/a", (&into, "chunks"), to(0, 0), |spec| spec.set_chunks(&[4, 4])).map(drop));
            told(copy(&from, "g/a", (&into, "bytes"), to(0, 0), |_| Ok(())).map(drop));
            told(array.usage().map(drop));
            told(array.chunks(false).map(drop));
        }
    }
}
