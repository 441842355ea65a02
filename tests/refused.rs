//! Large pieces of memory are refusable: where the system has none, the call ends with `NoMemory`, and the process lives.

#[path = "support/watched_allocator.rs"]
mod watched_allocator;

use ozarr::analysis::digest::digest;
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::error::{ErrorKind, Result};
use ozarr::node::requests::{read_many, write_many};
use ozarr::node::{Array, Context, Create, Spec, Store};
use std::cell::Cell;
use watched_allocator::WatchedAllocator;

thread_local! {
    /// The most bytes that this thread gets at once.
    static MOST: Cell<usize> = const { Cell::new(usize::MAX) };
}

fn may_be(size: usize) -> bool {
    !MOST.try_with(Cell::get).is_ok_and(|most| size > most)
}

#[global_allocator]
static ALLOCATOR: WatchedAllocator = WatchedAllocator { may_be, given_back: |_| {} };

/// What the reserve serves, `docs/design/memory-end.md`: what has more must be refusable.
const SERVED: usize = 2 << 20;

/// Does something where more than `most` bytes at once are refused.
fn with_at_most<T>(most: usize, work: impl FnOnce() -> T) -> T {
    MOST.set(most);
    let done = work();
    MOST.set(usize::MAX);
    done
}

fn expect_no_memory<T>(what: &str, work: impl FnOnce() -> Result<T>) {
    assert_eq!(with_at_most(SERVED, work).map(drop).map_err(|e| e.kind()), Err(ErrorKind::NoMemory), "{what}");
}

/// An array in chunks of `chunk` elements, in a store of its own; the calling thread works alone.
fn array(data_type: DataType, length: u64, chunk: u64, compressor: &str) -> Array {
    let store = Store::memory(&Context::with_threads(1));
    let mut spec = Spec::new(data_type, &[length]).unwrap();
    spec.set_chunks(&[chunk]).unwrap();
    spec.set_compressor(compressor, None).unwrap();
    Array::create(&store, "a", &spec, Create::New).unwrap()
}

fn memory(bytes: &mut [u8], data_type: DataType) -> Memory {
    Memory::of(bytes, &[1], data_type)
}

#[test]
fn batches_of_very_many_chunks() {
    const CHUNKS: usize = 20_000;
    let array = array(DataType::UInt8, CHUNKS as u64, 1, "gzip");
    let (mut first, mut second) = (vec![7; CHUNKS], vec![8; CHUNKS]);
    let all = Selection::all(&array.shape());
    let mut parts = || [&mut first, &mut second].map(|bytes| (&array, all.clone(), memory(bytes, DataType::UInt8))).into();
    // SAFETY: the memory outlives the calls.
    unsafe {
        expect_no_memory("write", || write_many(parts()));
        expect_no_memory("read", || read_many(parts()));
        read_many(parts()).unwrap();
    }
    assert!(first.iter().chain(&second).all(|&element| element == 0));
}

#[test]
fn very_many_chunks_that_wait() {
    const CHUNKS: usize = 40_000;
    let array = array(DataType::UInt8, 2 * CHUNKS as u64, 2, "none");
    array.set_write_back(64 << 20).unwrap();
    let mut bytes = vec![7; CHUNKS];
    let half = Selection::new(&array.shape(), &[0], &[CHUNKS as i64], Some(&[2])).unwrap();
    // SAFETY: the memory outlives the calls.
    unsafe {
        // What there is no memory for to wait is stored at once.
        with_at_most(SERVED, || array.write(&half, &memory(&mut bytes, DataType::UInt8))).unwrap();
        array.write(&half, &memory(&mut bytes, DataType::UInt8)).unwrap();
        expect_no_memory("flush", || array.flush());
        array.flush().unwrap();
        bytes.fill(0);
        array.read(&half, &memory(&mut bytes, DataType::UInt8)).unwrap();
    }
    assert!(bytes.iter().all(|&element| element == 7));
}

#[test]
fn shards_of_very_many_inner_chunks() {
    const INNER: usize = 8_000;
    let store = Store::memory(&Context::with_threads(1));
    let mut spec = Spec::new(DataType::UInt8, &[INNER as u64]).unwrap();
    spec.set_chunks(&[INNER as u64]).unwrap();
    spec.set_inner_chunks(&[1]).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    let (mut bytes, all) = (vec![7; INNER], Selection::all(&array.shape()));
    let mut refused = 0;
    // SAFETY: the memory outlives the calls.
    unsafe {
        array.write(&all, &memory(&mut bytes, DataType::UInt8)).unwrap();
        // Each of the lists becomes the one that there is no memory for.
        for most in (SERVED..2 * SERVED).step_by(64 << 10) {
            bytes.fill(0);
            let read = with_at_most(most, || array.read(&all, &memory(&mut bytes, DataType::UInt8)));
            refused += usize::from(read.is_err());
            match read {
                Ok(()) => assert!(bytes.iter().all(|&element| element == 7)),
                Err(e) => assert_eq!(e.kind(), ErrorKind::NoMemory),
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn very_long_elements() {
    let small = array(DataType::Raw(1 << 20), 3, 1, "none");
    let digits = with_at_most(16 << 20, || digest(&small, Selection::all(&[3]), &|_| Ok(())));
    assert_eq!(digits.unwrap().len(), 32);
    let large = array(DataType::Raw(8 << 20), 1, 1, "none");
    expect_no_memory("open", || Array::open(large.store(), "a"));
    expect_no_memory("fill value", || large.fill_as(DataType::Raw(8 << 20), false));
    expect_no_memory("digest", || digest(&large, Selection::all(&[1]), &|_| Ok(())));
}
