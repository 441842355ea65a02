//! Regions against a model: random boxes with steps and strides are written and read, and an array in memory tells what must come.
//! The same table runs over every kind of chain and over stores with and without latency.

use ozarr::codec::chain::Chain;
use ozarr::dtype::{ByteOrder, DataType, ElementType};
use ozarr::engine::pool::Pool;
use ozarr::engine::{self, BoundArray, ByShape, Memory, Selection};
use ozarr::grid::Grid;
use ozarr::grid::key::{KeyEncoding, Separator};
use ozarr::grid::rectilinear::{Extents, Runs};
use ozarr::limits::Dims;
use ozarr::metadata::extension::Extension;
use ozarr::metadata::v3::codec_list;
use ozarr::metadata::{Codecs, Order};
use ozarr::store::latency::LatencyStore;
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::memory::MemoryStore;
use ozarr::store::suite::{Random, TestFolder};
use ozarr::store::{SharedStore, StorageExt};
use std::sync::Arc;
use std::time::Duration;

fn v3(json: &str) -> Codecs {
    Codecs::V3(codec_list(&ozarr::metadata::json::parse_text(json).unwrap()).unwrap())
}

fn v2(order: Order, byte_order: ByteOrder, filters: &str, compressor: &str) -> Codecs {
    let filters = ozarr::metadata::json::parse_text(filters).unwrap();
    let filters = filters.as_array().unwrap();
    let compressor = ozarr::metadata::json::parse_text(compressor).unwrap();
    Codecs::V2 {
        order,
        element: ElementType::new(DataType::Float64, byte_order),
        filters: filters.iter().map(|f| Extension::from_v2(f).unwrap()).collect(),
        compressor: (!compressor.is_null()).then(|| Extension::from_v2(&compressor).unwrap()),
    }
}

const SHARD_INDEX: &str = r#""index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]"#;

/// Chains for float64 chunks of shape (6, 8, 4).
fn chains() -> Vec<(&'static str, Codecs)> {
    let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let big = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    let shard = |inner: &str, chunk: &str, more: &str| {
        format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk},"codecs":[{inner}],{SHARD_INDEX}{more}}}}}"#)
    };
    let zstd = r#"{"name":"zstd","configuration":{"level":1}}"#;
    let scale = r#"{"name":"scale_offset","configuration":{"offset":4,"scale":2}}"#;
    let cast = r#"{"name":"cast_value","configuration":{"data_type":"int16"}}"#;
    vec![
        ("raw", v3(&format!("[{little}]"))),
        ("raw big-endian", v3(&format!("[{big}]"))),
        ("zstd", v3(&format!("[{little},{zstd}]"))),
        (
            "transposed zstd crc32c",
            v3(&format!(r#"[{{"name":"transpose","configuration":{{"order":[2,0,1]}}}},{big},{zstd},{{"name":"crc32c"}}]"#)),
        ),
        ("transposed raw", v3(&format!(r#"[{{"name":"transpose","configuration":{{"order":[2,1,0]}}}},{little}]"#))),
        (
            "blosc",
            v3(&format!(
                r#"[{little},{{"name":"blosc","configuration":{{"cname":"lz4","clevel":5,"shuffle":"shuffle","typesize":8,"blocksize":0}}}}]"#
            )),
        ),
        ("gzip", v3(&format!(r#"[{little},{{"name":"gzip","configuration":{{"level":1}}}}]"#))),
        ("shards of raw chunks", v3(&format!("[{}]", shard(little, "[3,4,2]", "")))),
        (
            "shards of zstd chunks, index first",
            v3(&format!("[{}]", shard(&format!("{little},{zstd}"), "[2,8,1]", r#","index_location":"start""#))),
        ),
        (
            "transposed shards",
            v3(&format!(
                r#"[{{"name":"transpose","configuration":{{"order":[1,2,0]}}}},{}]"#,
                shard(&format!("{big},{zstd}"), "[4,2,3]", "")
            )),
        ),
        ("shards in shards", v3(&format!("[{}]", shard(&shard(&format!("{little},{zstd}"), "[3,2,2]", ""), "[3,4,4]", "")))),
        (
            "transposed shards in shards, indexes first",
            v3(&format!(
                r#"[{{"name":"transpose","configuration":{{"order":[2,0,1]}}}},{}]"#,
                shard(
                    &format!(
                        r#"{{"name":"transpose","configuration":{{"order":[1,0,2]}}}},{}"#,
                        shard(&format!("{big},{zstd}"), "[3,2,4]", r#","index_location":"start""#)
                    ),
                    "[4,6,4]",
                    r#","index_location":"start""#
                )
            )),
        ),
        ("compressed shards in shards", v3(&format!("[{}]", shard(&format!("{},{zstd}", shard(little, "[3,2,2]", "")), "[3,4,4]", "")))),
        ("compressed shards", v3(&format!("[{},{zstd}]", shard(little, "[3,4,2]", "")))),
        ("v2 F", v2(Order::F, ByteOrder::Big, "[]", r#"{"id":"zlib","level":1}"#)),
        ("v2 raw", v2(Order::C, ByteOrder::Little, "[]", "null")),
        (
            "v2 astype + delta",
            v2(
                Order::C,
                ByteOrder::Little,
                r#"[{"id":"astype","encode_dtype":"<i4","decode_dtype":"<f8"},{"id":"delta","dtype":"<i4","astype":"<i2"}]"#,
                r#"{"id":"zstd","level":1}"#,
            ),
        ),
        // Chains whose values are decoded while they are placed.
        (
            "v2 F fixedscaleoffset",
            v2(
                Order::F,
                ByteOrder::Big,
                r#"[{"id":"fixedscaleoffset","offset":4,"scale":2,"dtype":">f8","astype":">i2"}]"#,
                r#"{"id":"zlib","level":1}"#,
            ),
        ),
        (
            "transposed scale_offset + cast_value",
            v3(&format!(r#"[{{"name":"transpose","configuration":{{"order":[2,0,1]}}}},{scale},{cast},{big},{zstd}]"#)),
        ),
        ("scale_offset + cast_value without a compressor", v3(&format!("[{scale},{cast},{little}]"))),
        ("shards of cast_value", v3(&format!("[{}]", shard(&format!("{cast},{little}"), "[3,4,2]", "")))),
        (
            "v2 astype + quantize behind blosc",
            v2(
                Order::C,
                ByteOrder::Little,
                r#"[{"id":"astype","encode_dtype":"<f4","decode_dtype":"<f8"},{"id":"quantize","digits":1,"dtype":"<f4"}]"#,
                r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0}"#,
            ),
        ),
    ]
}

fn array(store: SharedStore, codecs: &Codecs, shape: &[u64], threads: usize) -> Arc<BoundArray> {
    let chain = Chain::parse(codecs, DataType::Float64, 3).unwrap();
    Arc::new(BoundArray {
        keys: KeyEncoding::Default(Separator::Slash),
        fill: ozarr::dtype::SharedElement::of_few(&7.0f64.to_ne_bytes()),
        pool: Pool::new(threads),
        ..BoundArray::plain((store, "a/"), (shape, &[6, 8, 4]), DataType::Float64, &chain)
    })
}

/// The same on a grid of uneven chunks: extents that the inner chunks of the shards above divide, or any.
fn uneven(store: SharedStore, codecs: &Codecs, shape: &[u64], threads: usize) -> Arc<BoundArray> {
    let chain = Chain::parse(codecs, DataType::Float64, 3).unwrap();
    let lists: [&[u64]; 3] = if chain.is_sharded() { [&[6, 12, 6], &[16, 8], &[4, 8]] } else { [&[5, 1, 9], &[7, 3, 3, 5], &[2, 4, 3]] };
    let extents = lists.iter().map(|list| {
        let mut runs = Runs::new();
        list.iter().for_each(|&extent| runs.push(extent, 1).unwrap());
        Extents::Listed(runs)
    });
    let grid = Grid::rectilinear(extents.collect()).unwrap();
    let largest = Arc::new(chain.bind(&grid.largest(shape)).unwrap());
    let regular = array(store, codecs, shape, threads);
    Arc::new(BoundArray { grid, chain: largest, by_shape: Some(ByShape::new(chain)), ..(*regular).clone() })
}

/// One random region: a selection, and memory with strides of some order, signs and gaps.
struct Case {
    selection: Selection,
    indices: Vec<usize>,
    strides: Vec<i64>,
    offset: usize,
    elements: usize,
}

fn random_case(r: &mut Random, shape: &[u64]) -> Case {
    let (mut start, mut count, mut step) = (vec![], vec![], vec![]);
    for &n in shape {
        let s = [1i64, 1, 1, 2, 3, -1, -2][r.below(7) as usize];
        let first = r.below(n);
        let room = if s > 0 { (n - 1 - first) / s as u64 } else { first / s.unsigned_abs() };
        let whole = r.below(3) == 0;
        start.push(if whole { if s > 0 { 0 } else { n as i64 - 1 } } else { first as i64 });
        count.push(if whole { ((n - 1) / s.unsigned_abs() + 1) as i64 } else { r.below(room + 1) as i64 + 1 });
        step.push(s);
    }
    let selection = Selection::new(shape, &start, &count, Some(&step)).unwrap();
    let mut indices = Vec::new();
    for i in 0..count[0] {
        for j in 0..count[1] {
            for k in 0..count[2] {
                let at = |d: usize, i: i64| (start[d] + i * step[d]) as usize;
                indices.push((at(0, i) * shape[1] as usize + at(1, j)) * shape[2] as usize + at(2, k));
            }
        }
    }
    let mut order = [0usize, 1, 2];
    for i in 0..3 {
        order.swap(i, r.below(3) as usize);
    }
    if r.below(2) == 0 {
        order = [2, 1, 0];
    }
    let (mut strides, mut stride, mut offset) = (vec![0i64; 3], 1 + (r.below(4) == 0) as i64, 0i64);
    for d in order {
        strides[d] = stride;
        stride *= count[d];
    }
    for d in 0..3 {
        if r.below(5) == 0 {
            offset += (count[d] - 1) * strides[d];
            strides[d] = -strides[d];
        }
    }
    Case { selection, indices, strides, offset: offset as usize, elements: stride as usize * 2 }
}

impl Case {
    /// The place of the n-th selected element (in C order) in memory, in elements.
    fn place(&self, n: usize) -> usize {
        let shape = self.selection.shape();
        let k = (n as u64 % shape[2]) as i64;
        let j = (n as u64 / shape[2] % shape[1]) as i64;
        let i = (n as u64 / shape[2] / shape[1]) as i64;
        (self.offset as i64 + i * self.strides[0] + j * self.strides[1] + k * self.strides[2]) as usize
    }

    fn memory<T>(&self, data: &mut [T], data_type: DataType) -> Memory {
        let size = data_type.size();
        let strides = self.strides.iter().map(|s| s * size as i64).collect();
        Memory { offset: self.offset * size, strides, ..Memory::of(data, &[], data_type) }
    }
}

fn check_against_model(name: &str, array: &Arc<BoundArray>, rounds: u64) {
    let shape: Vec<u64> = array.shape.to_vec();
    let mut model = vec![7.0f64; shape.iter().product::<u64>() as usize];
    let mut r = Random(42);
    for round in 0..rounds {
        let case = random_case(&mut r, &shape);
        if r.below(2) == 0 {
            // Values near each other, so that the delta of the integer chain fits 16 bits.
            let mut data: Vec<f64> = (0..case.elements).map(|_| r.below(1000) as f64).collect();
            if r.below(6) == 0 {
                data.fill(7.0);
            }
            // SAFETY: `data` outlives the call.
            unsafe { engine::write(array, &case.selection, &case.memory(&mut data, DataType::Float64)).unwrap() };
            for (n, &at) in case.indices.iter().enumerate() {
                model[at] = data[case.place(n)];
            }
        } else if r.below(2) == 0 {
            let mut data = vec![-1.0f64; case.elements];
            // SAFETY: `data` outlives the call.
            unsafe { engine::read(array, &case.selection, &case.memory(&mut data, DataType::Float64)).unwrap() };
            let mut want = vec![-1.0f64; case.elements];
            case.indices.iter().enumerate().for_each(|(n, &at)| want[case.place(n)] = model[at]);
            assert!(data == want, "{name}, round {round}: {:?}", case.selection);
        } else {
            let mut data = vec![-1i16; case.elements];
            // SAFETY: `data` outlives the call.
            unsafe { engine::read(array, &case.selection, &case.memory(&mut data, DataType::Int16)).unwrap() };
            let mut want = vec![-1i16; case.elements];
            case.indices.iter().enumerate().for_each(|(n, &at)| want[case.place(n)] = model[at] as i16);
            assert!(data == want, "{name} as int16, round {round}: {:?}", case.selection);
        }
    }
}

#[test]
fn every_chain_reads_and_writes_random_regions_as_the_model_does() {
    for (name, codecs) in chains() {
        for shape in [[13, 17, 9], [5, 8, 4]] {
            check_against_model(name, &array(Arc::new(MemoryStore::new()), &codecs, &shape, 3), 120);
        }
    }
}

#[test]
fn every_chain_does_so_on_uneven_chunks() {
    for (name, codecs) in chains() {
        check_against_model(name, &uneven(Arc::new(MemoryStore::new()), &codecs, &[13, 17, 9], 3), 100);
        let slow = Arc::new(LatencyStore::new(Arc::new(MemoryStore::new()), Duration::from_micros(100)));
        check_against_model(name, &uneven(slow, &codecs, &[13, 17, 9], 2), 16);
    }
}

#[test]
fn the_latency_store_goes_through_the_in_flight_driver_with_the_same_results() {
    for (name, codecs) in chains() {
        let slow = Arc::new(LatencyStore::new(Arc::new(MemoryStore::new()), Duration::from_micros(300)));
        check_against_model(name, &array(slow, &codecs, &[13, 17, 9], 2), 16);
    }
}

#[test]
fn local_files_give_the_same_results() {
    let dir = TestFolder::new("regions");
    for (name, codecs) in chains() {
        let root = dir.join(name.replace(' ', "_"));
        let store = Arc::new(LocalStore::open(&root, true, SyncMode::None).unwrap());
        check_against_model(name, &array(store, &codecs, &[13, 17, 9], 2), 40);
    }
}

#[test]
fn large_regions_are_converted_past_the_caches_with_the_same_result() {
    let chunk: Dims = Dims::from_slice(&[6, 8, 4]);
    let shape = [600u64, 80, 44];
    let elements = shape.iter().product::<u64>() as usize;
    for (name, codecs) in chains().into_iter().filter(|(n, _)| ["raw big-endian", "zstd", "v2 F", "v2 F fixedscaleoffset"].contains(n)) {
        let whole: Dims = chunk.iter().map(|n| n * 10).collect();
        let small = array(Arc::new(MemoryStore::new()), &codecs, &shape, 2);
        let chain = Arc::new(Chain::parse(&codecs, DataType::Float64, 3).unwrap().bind(&whole).unwrap());
        let array = Arc::new(BoundArray { grid: Grid::regular(whole).unwrap(), chain, ..(*small).clone() });
        let mut data: Vec<f64> = (0..elements).map(|i| (i % 4099) as f64).collect();
        let memory =
            |data: *mut u8, offset: usize, t: DataType| Memory { offset, ..Memory::dense(data, offset + elements * t.size(), &shape, t) };
        let all = Selection::all(&shape);
        // SAFETY: `data` outlives the call.
        unsafe { engine::write(&array, &all, &memory(data.as_mut_ptr().cast(), 0, DataType::Float64)).unwrap() };
        for (t, offset) in [(DataType::Float64, 0), (DataType::Complex128, 24), (DataType::Int64, 5)] {
            let mut back = vec![1u8; offset + elements * t.size()];
            // SAFETY: `back` outlives the call.
            unsafe { engine::read(&array, &all, &memory(back.as_mut_ptr(), offset, t)).unwrap() };
            assert!(back[..offset].iter().all(|b| *b == 1));
            for (i, element) in back[offset..].chunks_exact(t.size()).enumerate() {
                let (head, tail) = element.split_first_chunk::<8>().unwrap();
                let value = if t == DataType::Int64 { i64::from_ne_bytes(*head) as f64 } else { f64::from_ne_bytes(*head) };
                assert!(value == data[i] && tail.iter().all(|b| *b == 0), "{name} as {}: element {i} is {value}", t.name());
            }
        }
    }
}

#[test]
fn many_reads_are_in_flight_at_once() {
    let memory: SharedStore = Arc::new(MemoryStore::new());
    let codecs = &chains()[2].1;
    let mut data: Vec<f64> = (0..60 * 80 * 4).map(|i| i as f64).collect();
    let case = |data: &mut Vec<f64>| Memory::of(data, &[60, 80, 4], DataType::Float64);
    let all = Selection::all(&[60, 80, 4]);
    // SAFETY: `data` outlives the calls.
    unsafe { engine::write(&array(memory.clone(), codecs, &[60, 80, 4], 1), &all, &case(&mut data)).unwrap() };
    let slow = Arc::new(LatencyStore::new(memory, Duration::from_millis(200)));
    let mut back = vec![0.0; data.len()];
    // SAFETY: `back` outlives the call.
    unsafe { engine::read(&array(slow.clone(), codecs, &[60, 80, 4], 1), &all, &case(&mut back)).unwrap() };
    assert!(back == data);
    assert!(slow.stats().most_in_flight >= 32, "{:?}", slow.stats());
}

#[test]
fn whole_chunks_are_decoded_straight_into_memory() {
    for (name, codecs) in chains().into_iter().filter(|(n, _)| ["raw", "zstd", "blosc", "gzip", "v2 raw"].contains(n)) {
        let array = array(Arc::new(MemoryStore::new()), &codecs, &[6, 8, 4], 1);
        let mut data: Vec<f64> = (0..192).map(|i| i as f64).collect();
        let memory = Memory::of(&mut data, &[6, 8, 4], DataType::Float64);
        // SAFETY: `data` outlives the calls.
        unsafe { engine::write(&array, &Selection::all(&[6, 8, 4]), &memory).unwrap() };
        let before = array.stats.snapshot().copied_bytes;
        // SAFETY: as above.
        unsafe { engine::read(&array, &Selection::all(&[6, 8, 4]), &memory).unwrap() };
        assert_eq!(array.stats.snapshot().copied_bytes, before, "{name}");
    }
}

#[test]
fn chunks_of_nothing_but_the_fill_value_are_not_stored() {
    let store = Arc::new(MemoryStore::new());
    let array = array(store.clone(), &chains()[0].1, &[13, 17, 9], 1);
    let keys = || {
        let mut n = 0;
        store
            .list("", &mut |_| {
                n += 1;
                Ok(())
            })
            .unwrap();
        n
    };
    let write = |value: f64| {
        let mut value = [value];
        let memory = Memory { strides: [0, 0, 0].into_iter().collect(), ..Memory::of(&mut value, &[], DataType::Float64) };
        // SAFETY: `value` outlives the call.
        unsafe { engine::write(&array, &Selection::all(&[13, 17, 9]), &memory).unwrap() };
    };
    write(1.0);
    assert_eq!(keys(), 27);
    write(7.0);
    assert_eq!(keys(), 0);
}

#[test]
fn threads_that_change_parts_of_one_chunk_lose_nothing() {
    for (name, codecs) in chains().into_iter().filter(|(n, _)| ["raw", "zstd", "shards of raw chunks"].contains(n)) {
        let array = array(Arc::new(MemoryStore::new()), &codecs, &[6, 8, 4], 3);
        std::thread::scope(|s| {
            for thread in 0..8i64 {
                let array = array.clone();
                s.spawn(move || {
                    for i in 0..24i64 {
                        let mut value = [(thread * 24 + i) as f64];
                        let at = [i / 4, thread, i % 4];
                        let selection = Selection::new(&[6, 8, 4], &at, &[1, 1, 1], None).unwrap();
                        let memory = Memory::of(&mut value, &[1, 1, 1], DataType::Float64);
                        // SAFETY: `value` outlives the call.
                        unsafe { engine::write(&array, &selection, &memory).unwrap() };
                    }
                });
            }
        });
        let mut data = [0.0f64; 192];
        let memory = Memory::of(&mut data, &[6, 8, 4], DataType::Float64);
        // SAFETY: `data` outlives the call.
        unsafe { engine::read(&array, &Selection::all(&[6, 8, 4]), &memory).unwrap() };
        for (n, value) in data.iter().enumerate() {
            let (i, j, k) = (n / 32, n / 4 % 8, n % 4);
            assert_eq!(*value, (j * 24 + i * 4 + k) as f64, "{name} at {i} {j} {k}");
        }
    }
}

#[test]
fn a_failed_write_stores_the_other_chunks_and_counts_the_lost_ones() {
    let dir = TestFolder::new("partial");
    let store = Arc::new(LocalStore::open(&dir, true, SyncMode::None).unwrap());
    // A folder stands where one chunk should be stored: that one cannot be replaced.
    std::fs::create_dir_all(dir.join("a/c/1/0/0/x")).unwrap();
    let array = array(store, &chains()[0].1, &[13, 8, 4], 2);
    let mut data: Vec<f64> = (0..13 * 8 * 4).map(|i| i as f64).collect();
    let memory = Memory::of(&mut data, &[13, 8, 4], DataType::Float64);
    // SAFETY: `data` outlives the call.
    let e = unsafe { engine::write(&array, &Selection::all(&[13, 8, 4]), &memory) }.unwrap_err();
    assert!(e.message().contains("1 of 3 chunks were not written"), "{e}");
    assert_eq!(e.key(), Some("a/c/1/0/0"));
    assert!(dir.join("a/c/0/0/0").is_file() && dir.join("a/c/2/0/0").is_file());
}
