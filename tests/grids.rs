//! Grids of uneven chunks through the facade: creating, writing in part and whole, resizing, shards, and what other writers made.

#[path = "support/int32.rs"]
mod int32;

use int32::{memory, read_all, view};
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::error::{ErrorKind, Result};
use ozarr::metadata::{Format, Value, json};
use ozarr::node::{Array, Create, Spec, Store};
use ozarr::store::suite::Random;
use ozarr::store::{Condition, SharedStore, StorageExt, get};

/// An array of int32 with that grid, keys and further codecs.
fn document(shape: &str, grid: &str, keys: &str, codecs: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"int32","chunk_grid":{grid},"chunk_key_encoding":{keys},
        "fill_value":-1,"codecs":{codecs}}}"#
    )
}

const RAW: &str = r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#;
const KEYS: &str = r#"{"name":"default"}"#;

fn rectilinear(chunk_shapes: &str) -> String {
    format!(r#"{{"name":"rectilinear","configuration":{{"kind":"inline","chunk_shapes":{chunk_shapes}}}}}"#)
}

fn sharded(inner: &str) -> String {
    format!(
        r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{inner},"codecs":{RAW},"index_codecs":[
        {{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}]}}}}]"#
    )
}

fn put(store: &SharedStore, key: &str, bytes: &[u8]) {
    store.put(key, &[bytes], Condition::None).unwrap();
}

/// An array with that document.
fn stored(store: &(Store, SharedStore), document: &str) -> Result<Array> {
    put(&store.1, "a/zarr.json", document.as_bytes());
    Array::open(&store.0, "a")
}

fn sizes(store: &SharedStore) -> Vec<(String, usize)> {
    let mut keys = Vec::new();
    let mut collect = |key: &str| {
        keys.push(key.to_string());
        Ok(())
    };
    store.list("a/c/", &mut collect).unwrap();
    keys.iter().map(|key| (key[2..].to_string(), get(&**store, key, 1 << 30).unwrap().unwrap().len())).collect()
}

fn shapes_in_document(store: &SharedStore) -> String {
    let document = json::parse_object(&get(&**store, "a/zarr.json", 1 << 20).unwrap().unwrap(), 1 << 20).unwrap();
    let grid = &document["chunk_grid"];
    assert_eq!(grid["name"], Value::from("rectilinear"), "{grid}");
    grid["configuration"]["chunk_shapes"].to_string()
}

/// Writes a box; `value` gives each element by its index.
fn write(array: &Array, start: &[i64], count: &[i64], value: &dyn Fn(&[u64]) -> i32) {
    let selection = Selection::new(&array.shape(), start, count, None).unwrap();
    let mut data: Vec<i32> = indices(selection.shape()).map(|i| value(&shifted(&i, start))).collect();
    let memory = view(&mut data, selection.shape());
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&selection, &memory).unwrap() };
}

fn shifted(index: &[u64], start: &[i64]) -> Vec<u64> {
    index.iter().zip(start).map(|(i, s)| i + *s as u64).collect()
}

/// All indices of a box, in C order.
fn indices(shape: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
    let shape = shape.to_vec();
    (0..shape.iter().product::<u64>()).map(move |mut n| {
        let mut index = vec![0; shape.len()];
        for d in (0..shape.len()).rev() {
            index[d] = n % shape[d];
            n /= shape[d];
        }
        index
    })
}

fn value(index: &[u64]) -> i32 {
    index.iter().fold(1, |n, &i| n * 100 + i as i32)
}

/// Ranks of uneven domains write their pieces at the same time; each is one object, written without being read.
#[test]
fn uneven_domains_are_written_as_one_object_each() {
    let store = memory();
    let mut spec = Spec::new(DataType::Int32, &[10, 7]).unwrap();
    spec.set_compressor("none", None).unwrap();
    spec.set_chunk_extents(0, &[4, 3, 3]).unwrap();
    spec.set_chunk_extents(1, &[5, 2]).unwrap();
    let array = Array::create(&store.0, "a", &spec, Create::New).unwrap();
    assert_eq!((array.grid_shape().as_slice(), array.chunk_shape().as_slice()), (&[3, 2][..], &[4, 5][..]));
    std::thread::scope(|scope| {
        for (i, j) in (0..3).flat_map(|i| (0..2).map(move |j| (i, j))) {
            let array = &array;
            scope.spawn(move || {
                let ((top, rows), (left, columns)) = (array.chunk_extent(0, i).unwrap(), array.chunk_extent(1, j).unwrap());
                write(array, &[top as i64, left as i64], &[rows as i64, columns as i64], &value);
            });
        }
    });
    let want = [("c/0/0", 80), ("c/0/1", 32), ("c/1/0", 60), ("c/1/1", 24), ("c/2/0", 60), ("c/2/1", 24)];
    assert_eq!(sizes(&store.1), want.map(|(key, size)| (key.to_string(), size)));
    let again = Array::open(&store.0, "a").unwrap();
    assert_eq!(read_all(&again), indices(&[10, 7]).map(|i| value(&i)).collect::<Vec<_>>());
    assert_eq!(again.chunks_json().to_string(), "[[4,3,3],[5,2]]");
    assert_eq!(again.usage().unwrap().chunks, 6);
    assert_eq!(again.usage().unwrap().possible_chunks, 6);
    let e = again.chunk_extent(0, 3).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Bounds);
}

#[test]
fn a_document_of_the_same_extents_is_the_same_array() {
    let store = memory();
    let mut spec = Spec::new(DataType::Int32, &[10]).unwrap();
    spec.set_chunk_extents(0, &[4, 3, 3]).unwrap();
    Array::create(&store.0, "a", &spec, Create::New).unwrap();
    assert!(Array::create(&store.0, "a", &spec, Create::OpenIfSame).is_ok());
    let copy = Spec::from_json(&Array::open(&store.0, "a").unwrap().metadata_json().unwrap()).unwrap();
    assert!(Array::create(&store.0, "a", &copy, Create::OpenIfSame).is_ok());
    spec.set_chunk_extents(0, &[4, 4, 2]).unwrap();
    let e = Array::create(&store.0, "a", &spec, Create::OpenIfSame).err().unwrap();
    assert!(e.message().contains("[[4,3,3]] instead of [[4,4,2]]"), "{e}");
    spec.set_chunks(&[5]).unwrap();
    assert!(spec.to_json().unwrap().contains("\"regular\""), "set_chunks takes the place of extents");
}

#[test]
fn extents_are_checked_and_equal_ones_are_a_regular_grid() {
    let spec = || Spec::new(DataType::Int32, &[10, 6]).unwrap();
    let cases: &[(usize, &[u64], ErrorKind)] = &[
        (2, &[10], ErrorKind::Bounds),
        (0, &[], ErrorKind::Argument),
        (0, &[4, 5], ErrorKind::Argument),
        (0, &[10, 0], ErrorKind::Argument),
        (0, &[u64::MAX, 3], ErrorKind::Limit),
    ];
    for (dim, extents, kind) in cases {
        let e = spec().set_chunk_extents(*dim, extents).unwrap_err();
        assert_eq!((e.kind(), e.field()), (*kind, Some("chunks")), "{extents:?}");
    }
    let mut even = spec();
    even.set_chunk_extents(0, &[5, 5]).unwrap();
    even.set_format(Format::V2).unwrap();
    assert!(even.to_json().unwrap().contains("\"chunks\": [5, 6]"), "{}", even.to_json().unwrap());
    even.set_chunk_extents(0, &[6, 4]).unwrap();
    assert_eq!(even.to_json().unwrap_err().field(), Some("chunks"));
    let mut json = spec();
    json.set_chunks_json("[[[2,3],4],3]").unwrap();
    assert!(json.to_json().unwrap().contains("rectilinear"));
    assert_eq!(json.set_chunks_json("[[[2,3]],3]").unwrap_err().field(), Some("chunks[0]"));
}

/// Random boxes and shapes against a model that is an array without chunks.
#[test]
fn resizing_keeps_what_is_inside_and_moves_no_chunk() {
    let mut random = Random(7);
    for round in 0..30 {
        let store = memory();
        let codecs = if round % 3 == 0 { sharded("[2,1]") } else { RAW.to_string() };
        let text = document("[10,9]", &rectilinear("[[4,[2,3]],[4,1,[2,2]]]"), KEYS, &codecs);
        let array = stored(&store, &text).unwrap();
        let mut model = std::collections::HashMap::new();
        for step in 0..12 {
            if step % 3 == 2 {
                let shape = [random.below(14), random.below(13)];
                array.resize(&shape, false).unwrap();
                let now = array.shape();
                model.retain(|i: &Vec<u64>, _| i.iter().zip(&now).all(|(i, n)| i < n));
            } else {
                let shape = array.shape();
                if shape.contains(&0) {
                    continue;
                }
                let start: Vec<i64> = shape.iter().map(|&n| random.below(n) as i64).collect();
                let count: Vec<i64> = shape.iter().zip(&start).map(|(&n, &s)| 1 + random.below(n - s as u64) as i64).collect();
                let add = random.below(1000) as i32;
                write(&array, &start, &count, &|i| value(i) + add);
                let all = indices(&count.iter().map(|&n| n as u64).collect::<Vec<_>>());
                model.extend(all.map(|i| shifted(&i, &start)).map(|i| (i.clone(), value(&i) + add)));
            }
            let want: Vec<i32> = indices(&array.shape()).map(|i| model.get(&i).copied().unwrap_or(-1)).collect();
            assert_eq!(read_all(&array), want, "round {round}, step {step}");
            assert_eq!(read_all(&Array::open(&store.0, "a").unwrap()), want);
        }
    }
}

#[test]
fn growing_beyond_the_extents_adds_one_chunk_and_shrinking_changes_the_shape_only() {
    let store = memory();
    let array = stored(&store, &document("[10]", &rectilinear("[[4,3,3]]"), KEYS, RAW)).unwrap();
    write(&array, &[0], &[10], &value);
    array.resize(&[5], false).unwrap();
    assert_eq!(shapes_in_document(&store.1), "[[4,3,3]]");
    array.resize(&[10], false).unwrap();
    assert_eq!(shapes_in_document(&store.1), "[[4,3,3]]");
    assert_eq!(read_all(&array), [100, 101, 102, 103, 104, -1, -1, -1, -1, -1]);
    array.resize(&[12], false).unwrap();
    assert_eq!(shapes_in_document(&store.1), "[[4,3,3,2]]");
    let mut slab: Vec<i32> = (0..3).collect();
    // SAFETY: the memory lives as long as the call.
    unsafe { array.append(0, 3, &view(&mut slab, &[3])).unwrap() };
    assert_eq!(shapes_in_document(&store.1), "[[4,3,3,2,3]]");
    assert_eq!(sizes(&store.1), [("c/0".to_string(), 16), ("c/1".to_string(), 12), ("c/4".to_string(), 12)]);
    assert_eq!(read_all(&Array::open(&store.0, "a").unwrap())[12..], [0, 1, 2]);
}

#[test]
fn what_is_kept_outside_comes_back() {
    for (keep, want) in [(true, vec![100, 101, 102, 103, 104, 105, 106]), (false, vec![100, 101, 102, -1, -1, -1, -1])] {
        let array = stored(&memory(), &document("[7]", &rectilinear("[[2,3,1,1]]"), KEYS, RAW)).unwrap();
        write(&array, &[0], &[7], &value);
        array.resize(&[3], keep).unwrap();
        array.resize(&[7], keep).unwrap();
        assert_eq!(read_all(&array), want);
    }
}

#[test]
fn extents_beyond_the_end_are_grown_into() {
    let store = memory();
    let array = stored(&store, &document("[5]", &rectilinear("[[4,3,[2,100],1000000000000000]]"), KEYS, RAW)).unwrap();
    write(&array, &[0], &[5], &value);
    assert_eq!((array.grid_shape().as_slice(), array.chunk_shape().as_slice()), (&[2][..], &[4][..]));
    array.resize(&[9], false).unwrap();
    write(&array, &[6], &[3], &value);
    assert_eq!(read_all(&array), [100, 101, 102, 103, 104, -1, 106, 107, 108]);
    assert_eq!(shapes_in_document(&store.1), "[[4,3,[2,100],1000000000000000]]");
    // The next chunk is larger than any memory: refused before anything changes.
    let e = array.resize(&[208], false).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Limit);
    assert_eq!(Array::open(&store.0, "a").unwrap().shape().as_slice(), [9]);
    assert_eq!(read_all(&array).len(), 9);
}

#[test]
fn a_growth_that_would_be_one_huge_chunk_is_refused() {
    let store = memory();
    let array = stored(&store, &document("[4]", &rectilinear("[[3,1]]"), KEYS, RAW)).unwrap();
    let e = array.resize(&[1 << 50], false).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Limit);
    assert_eq!(Array::open(&store.0, "a").unwrap().shape().as_slice(), [4]);
}

#[test]
fn inner_chunks_divide_every_chunk_of_the_array() {
    let store = memory();
    let array = stored(&store, &document("[10,4]", &rectilinear("[[4,2,[4,2]],[[2,2]]]"), KEYS, &sharded("[2,2]"))).unwrap();
    write(&array, &[0, 0], &[10, 4], &value);
    assert_eq!(array.inner_chunk_shape().as_slice(), [2, 2]);
    assert_eq!(read_all(&array), indices(&[10, 4]).map(|i| value(&i)).collect::<Vec<_>>());
    write(&array, &[3, 1], &[5, 2], &|_| 5);
    let inside = |i: &[u64]| (3..8).contains(&i[0]) && (1..3).contains(&i[1]);
    let want: Vec<i32> = indices(&[10, 4]).map(|i| if inside(&i) { 5 } else { value(&i) }).collect();
    assert_eq!(read_all(&Array::open(&store.0, "a").unwrap()), want);
    // A chunk that is added can be cut, too.
    array.resize(&[17, 4], false).unwrap();
    assert_eq!(shapes_in_document(&store.1), "[[4,2,[4,3]],[2,2]]");
    for (shape, grid, inner) in [("[10]", "[[4,3,3]]", "[2]"), ("[10,4]", "[5,[4]]", "[5,3]"), ("[10,10]", "[[[5,2]],[4,4,2]]", "[5,4]")] {
        let e = stored(&store, &document(shape, &rectilinear(grid), KEYS, &sharded(inner))).err().unwrap();
        assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("codecs[0].configuration.chunk_shape")), "{grid} {inner}: {e}");
    }
    let mut spec = Spec::new(DataType::Int32, &[10]).unwrap();
    spec.set_chunk_extents(0, &[6, 4]).unwrap();
    spec.set_inner_chunks(&[2]).unwrap();
    assert!(spec.to_json().is_ok());
    spec.set_inner_chunks(&[3]).unwrap();
    assert_eq!(spec.to_json().unwrap_err().field(), Some("inner_chunks"));
    // Chunks behind the end count in a new array, which may grow into them; others' arrays are read.
    for (length, extents, divides) in [(0, &[4, 4, 3][..], false), (8, &[4, 4, 3], false), (0, &[4, 4, 2], true), (8, &[4, 6, 2], true)] {
        let mut spec = Spec::new(DataType::Int32, &[length]).unwrap();
        spec.set_chunk_extents(0, extents).unwrap();
        spec.set_inner_chunks(&[2]).unwrap();
        assert_eq!(spec.to_json().err().and_then(|e| e.field().map(str::to_string)), (!divides).then(|| "inner_chunks".into()));
        let text = document(&format!("[{length}]"), &rectilinear(&format!("[{extents:?}]")), KEYS, &sharded("[2]"));
        assert!(stored(&memory(), &text).is_ok());
        let copied = Spec::from_json(&text).unwrap().to_json().err();
        let field = copied.as_ref().and_then(|e| e.field());
        assert_eq!(field, (!divides).then_some("codecs[0].configuration.chunk_shape"), "{length} {extents:?}");
    }
}

#[test]
fn counts_of_two_to_the_40_cost_nothing() {
    let store = memory();
    let grid = rectilinear("[[[1,1099511627776]],[[[3,1099511627776]]]]");
    assert!(stored(&store, &document("[1099511627776,2]", &grid, KEYS, RAW)).is_err(), "a pair is not nested");
    let grid = rectilinear("[[[1,1099511627776]],[[3,1099511627776]]]");
    let array = stored(&store, &document("[1099511627776,7]", &grid, KEYS, RAW)).unwrap();
    let last = (1i64 << 40) - 1;
    write(&array, &[last, 2], &[1, 3], &|_| 9);
    assert_eq!(sizes(&store.1), [("c/1099511627775/0".to_string(), 12), ("c/1099511627775/1".to_string(), 12)]);
    let selection = Selection::new(&array.shape(), &[last, 6], &[2, 7], Some(&[-1, -1])).unwrap();
    let mut data = [0; 14];
    // SAFETY: the memory lives as long as the call.
    unsafe { array.read(&selection, &view(&mut data, &[2, 7])).unwrap() };
    assert_eq!(data, [-1, -1, 9, 9, 9, -1, -1, -1, -1, -1, -1, -1, -1, -1]);
    assert_eq!(array.grid_shape().as_slice(), [1 << 40, 3]);
    array.resize(&[3, 7], false).unwrap();
    assert_eq!(sizes(&store.1), []);
}

/// zarrs' own grid and keys are read and written; what changes the shape makes the grid a registered one.
#[test]
fn one_writers_own_grid_and_keys_work() {
    let store = memory();
    let grid = r#"{"name":"zarrs.regular_bounded","configuration":{"chunk_shape":[4]}}"#;
    let keys = r#"{"name":"zarrs.default_suffix","configuration":{"suffix":".bin"}}"#;
    let array = stored(&store, &document("[10]", grid, keys, RAW)).unwrap();
    write(&array, &[0], &[10], &value);
    let want = |ends: &[(&str, usize)]| ends.iter().map(|(key, size)| (key.to_string(), *size)).collect::<Vec<_>>();
    assert_eq!(sizes(&store.1), want(&[("c/0.bin", 16), ("c/1.bin", 16), ("c/2.bin", 8)]));
    assert_eq!(array.usage().unwrap().chunks, 3);
    array.resize(&[13], false).unwrap();
    assert_eq!(shapes_in_document(&store.1), "[[4,4,2,3]]");
    write(&array, &[12], &[1], &value);
    let array = Array::open(&store.0, "a").unwrap();
    assert_eq!(read_all(&array), [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, -1, -1, 112]);
    array.resize(&[4], false).unwrap();
    assert_eq!(sizes(&store.1), want(&[("c/0.bin", 16)]));
    let copy = Spec::from_json(&document("[10]", grid, keys, RAW)).unwrap().to_json().unwrap();
    assert!(copy.contains("\"rectilinear\"") && copy.contains("\"suffix\": \".bin\""), "{copy}");
    let e = stored(&store, &document("[10]", grid, KEYS, &sharded("[4]"))).err().unwrap();
    assert_eq!(e.field(), Some("codecs[0].configuration.chunk_shape"));
}
