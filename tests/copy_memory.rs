//! The memory that a copy uses is bounded: by what was asked for, not by the array.

#[path = "support/watched_allocator.rs"]
mod watched_allocator;

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::node::{Array, Context, Create, Mode, RechunkOptions, Spec, Store};
use ozarr::store::SharedStore;
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::suite::TestFolder;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use watched_allocator::WatchedAllocator;

/// Bytes that are allocated now, and the most there ever were.
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn add(size: usize) -> bool {
    MOST.fetch_max(NOW.fetch_add(size, Relaxed) + size, Relaxed);
    true
}

#[global_allocator]
static ALLOCATOR: WatchedAllocator = WatchedAllocator { may_be: add, given_back: |size| _ = NOW.fetch_sub(size, Relaxed) };

const SHAPE: [u64; 2] = [4096, 2048];
const ROWS: u64 = 64;

/// The rows from `row` on, as many as the buffer has; each element tells its place.
fn transfer(array: &Array, row: u64, buffer: &mut [f64], write: bool) {
    let count = [buffer.len() as i64 / SHAPE[1] as i64, SHAPE[1] as i64];
    let selection = Selection::new(&SHAPE, &[row as i64, 0], &count, None).unwrap();
    let memory = Memory::of(buffer, selection.shape(), DataType::Float64);
    // SAFETY: the memory lives as long as the calls.
    unsafe { if write { array.write(&selection, &memory) } else { array.read(&selection, &memory) } }.unwrap();
}

#[test]
fn the_peak_is_what_was_asked_for_whatever_becomes_of_the_chunks() {
    let folder = TestFolder::new("copy-memory");
    let shared: SharedStore = Arc::new(LocalStore::open(&folder, true, SyncMode::None).unwrap());
    let store = Store::from_shared(&Context::with_threads(4), shared, Mode::ReadWrite);
    let mut spec = Spec::new(DataType::Float64, &SHAPE).unwrap();
    spec.set_chunks(&[16, 2048]).unwrap();
    spec.set_compressor("none", None).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let mut buffer = vec![0f64; (ROWS * SHAPE[1]) as usize];
    for row in (0..SHAPE[0]).step_by(ROWS as usize) {
        buffer.iter_mut().enumerate().for_each(|(i, x)| *x = (row * SHAPE[1]) as f64 + i as f64);
        transfer(&array, row, &mut buffer, true);
    }
    drop(buffer);
    type Change = fn(&mut Spec) -> ozarr::error::Result<()>;
    let cases: &[(&str, u64, Change)] = &[
        // 64 MiB of rows into columns, and into a single shard that does not fit.
        ("columns", 16, |s| s.set_chunks(&[4096, 8])),
        ("blocks", 12, |s| {
            s.set_chunks(&[256, 256])?;
            s.set_compressor("zstd", None)
        }),
        ("one shard", 16, |s| {
            s.set_chunks(&[4096, 2048])?;
            s.set_inner_chunks(&[64, 64])
        }),
        ("the same", 12, |_| Ok(())),
    ];
    for (name, mib, change) in cases {
        let before = NOW.load(Relaxed);
        MOST.store(before, Relaxed);
        let options = RechunkOptions { memory: mib << 20, how: Create::Overwrite, ..RechunkOptions::default() };
        store.rechunk_node("a", (&store, "b"), options, &mut |_, spec| change(spec), &mut |_, _| Ok(())).unwrap();
        let used = MOST.load(Relaxed) - before;
        assert!(used <= (*mib as usize) << 20, "{name}: {used} bytes, {mib} MiB were asked for");
        let copy = Array::open(&store, "b").unwrap();
        let mut buffer = vec![0f64; (ROWS * SHAPE[1]) as usize];
        for row in (0..SHAPE[0]).step_by(ROWS as usize) {
            transfer(&copy, row, &mut buffer, false);
            let right = |(i, x): (usize, &f64)| *x == (row * SHAPE[1]) as f64 + i as f64;
            assert!(buffer.iter().enumerate().all(right), "{name}: a row from {row} on");
        }
    }
}
