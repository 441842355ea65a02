//! Reading local chunks allocates nothing for each chunk: the count is the same for 100 chunks and for 1,000. Nor does it allocate memory for the
//! elements of the array, in whatever order they are in the caller's. Nor does what is open count where a node is erased.

#[path = "support/watched_allocator.rs"]
mod watched_allocator;

use ozarr::codec::chain::Chain;
use ozarr::dtype::DataType;
use ozarr::engine::{self, BoundArray, ByShape, Memory, Selection};
use ozarr::grid::Grid;
use ozarr::grid::rectilinear::{Extents, Runs};
use ozarr::metadata::Codecs;
use ozarr::metadata::v3::codec_list;
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::store::SharedStore;
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::suite::TestFolder;
use std::cell::Cell;
use std::sync::Arc;
use watched_allocator::WatchedAllocator;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn count(size: usize) -> bool {
    let _ = COUNT.try_with(|c| c.set(c.get() + 1));
    let _ = LARGEST.try_with(|c| c.set(c.get().max(size)));
    true
}

#[global_allocator]
static ALLOCATOR: WatchedAllocator = WatchedAllocator { may_be: count, given_back: |_| {} };

fn chain(codecs: &str) -> Chain {
    let codecs = Codecs::V3(codec_list(&ozarr::metadata::json::parse_text(codecs).unwrap()).unwrap());
    Chain::parse(&codecs, DataType::Float64, 2).unwrap()
}

fn array(root: &std::path::Path, codecs: &str, chunks: u64) -> Arc<BoundArray> {
    let store: SharedStore = Arc::new(LocalStore::open(root, true, SyncMode::None).unwrap());
    Arc::new(BoundArray::plain((store, &format!("a{chunks}/")), (&[16 * chunks, 8], &[16, 8]), DataType::Float64, &chain(codecs)))
}

/// The same in chunks of 16 and 15 rows by turns.
fn uneven(array: &BoundArray, codecs: &str, chunks: u64) -> Arc<BoundArray> {
    let mut rows = Runs::new();
    (0..chunks + chunks / 15).for_each(|i| rows.push(16 - i % 2, 1).unwrap());
    let grid = Grid::rectilinear(vec![Extents::Listed(rows), Extents::Repeat(8)]).unwrap();
    let by_shape = Some(ByShape::new(chain(codecs)));
    Arc::new(BoundArray { grid, by_shape, prefix: format!("uneven{chunks}/"), ..array.clone() })
}

/// Allocations of one read of all, after one to warm up, and the bytes of the largest. In memory are rows with a hole between them, so that nothing
/// is contiguous, or columns.
fn allocations(root: &std::path::Path, codecs: &str, chunks: u64, is_uneven: bool, in_columns: bool) -> (u64, usize) {
    let array = array(root, codecs, chunks);
    let array = if is_uneven { uneven(&array, codecs, chunks) } else { array };
    let mut data: Vec<f64> = (0..16 * chunks * 9).map(|i| i as f64).collect();
    let strides = if in_columns { [8, 16 * chunks as i64 * 8] } else { [72, 8] }.into_iter().collect();
    let memory = Memory { strides, ..Memory::of(&mut data, &[], DataType::Float64) };
    let all = Selection::all(&array.shape);
    // SAFETY: `data` outlives the calls.
    unsafe {
        engine::write(&array, &all, &memory).unwrap();
        engine::read(&array, &all, &memory).unwrap();
        let before = COUNT.get();
        LARGEST.set(0);
        engine::read(&array, &all, &memory).unwrap();
        (COUNT.get() - before, LARGEST.get())
    }
}

#[test]
fn reading_ten_times_the_chunks_allocates_as_often() {
    let dir = TestFolder::new("allocations");
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    for (name, codecs) in [
        ("raw", format!("[{bytes}]")),
        ("zstd", format!(r#"[{bytes},{{"name":"zstd","configuration":{{"level":1}}}}]"#)),
        ("gzip", format!(r#"[{bytes},{{"name":"gzip","configuration":{{"level":1}}}}]"#)),
        ("zstd crc32c", format!(r#"[{bytes},{{"name":"zstd","configuration":{{"level":1}}}},{{"name":"crc32c"}}]"#)),
    ] {
        let root = dir.join(name.replace(' ', "_"));
        for (uneven, columns) in [(false, false), (true, false), (false, true), (true, true)] {
            let what = format!("{name}, uneven {uneven}, columns {columns}");
            let ((few, _), (many, largest)) =
                (allocations(&root, &codecs, 100, uneven, columns), allocations(&root, &codecs, 1000, uneven, columns));
            assert_eq!(few, many, "{what}");
            assert!(few < 20, "{what}: {few} allocations for one read");
            assert!(largest < 16 * 1000 * 8 * 8 / 10, "{what}: {largest} bytes for one read of a million");
        }
    }
}

#[test]
fn erasing_a_node_allocates_as_often_however_many_arrays_are_open() {
    let dir = TestFolder::new("allocations-erased");
    let store = Store::open(&Context::with_threads(1), dir.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let create = |name: String| Array::create(&store, &name, &Spec::new(DataType::Float64, &[4]).unwrap(), Create::New).unwrap();
    let mut open = Vec::new();
    let mut erase = |count| {
        (open.len()..count).for_each(|i| open.push(create(format!("a{i}"))));
        drop(create("gone".to_string()));
        let before = COUNT.get();
        store.erase_node("gone").unwrap();
        COUNT.get() - before
    };
    erase(10);
    let (few, many) = (erase(20), erase(1000));
    assert!(many < few + 20, "{few} allocations with 20 open arrays, {many} with 1000");
}
