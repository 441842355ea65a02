//! Parts of chunks that wait in memory are stored in a process that has no memory left. Each case is a process of its own, with a limit.
#![cfg(target_os = "linux")]

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::limits;
use ozarr::node::{Array, Context, Create, Mode, Spec, Store};
use ozarr::reserve;
use ozarr::store::suite::{Random, TestFolder};
use std::process::Command;

#[global_allocator]
static ALLOCATOR: reserve::Allocator = reserve::Allocator;

const ROOT: &str = "OZARR_TEST_ROOT";

/// The lengths of a record, and how many there are: the last chunks along time have half of theirs.
const RECORD: [u64; 2] = [128, 256];
const RECORDS: u64 = 40;

/// What a process does: the shape of its chunks, how many bytes beyond those that it has it may take, and whether it takes them all itself
/// before what waits is stored.
type Case = (&'static str, [u64; 3], u64, bool);

const CASES: [Case; 3] = [
    ("short", [16, 64, 64], 4_500_000, false),
    ("small-chunks", [16, 64, 64], 60_000_000, true),
    ("large-chunks", [16, 128, 256], 60_000_000, true),
];

/// This program again, as a case.
fn run_case(name: &str) {
    let folder = TestFolder::new(&format!("write-back-memory-{name}"));
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(ROOT, &*folder)
        .env("OZARR_TEST_CASE", name)
        .output()
        .unwrap();
    assert!(done.status.success(), "{name}: {}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
}

#[test]
fn what_waits_is_stored_where_not_all_has_room() {
    run_case("short");
}

#[test]
fn what_waits_is_stored_where_the_program_has_taken_all_memory() {
    run_case("small-chunks");
    run_case("large-chunks");
}

/// Lets the process have so many bytes more than it has (`None`: any number).
fn limit(more: Option<u64>) {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let soft = more.map_or(libc::RLIM_INFINITY, |more| pages * 4096 + more);
    // SAFETY: the limit is read and set by one thread.
    unsafe { assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &libc::rlimit { rlim_cur: soft, rlim_max: libc::RLIM_INFINITY }), 0) };
}

/// Takes all memory that there is, for good.
fn take_all() {
    let mut size = 64 << 20;
    while size >= 16 {
        // SAFETY: a block that is never used.
        if unsafe { libc::malloc(size) }.is_null() {
            size /= 2;
        }
    }
}

/// Half of a record are numbers that cannot be compressed.
fn fill(values: &mut [f32], record: u64) {
    let mut random = Random(record);
    for (i, value) in values.iter_mut().enumerate() {
        *value = if i % 2 == 0 { random.below(1 << 24) as f32 } else { record as f32 };
    }
}

#[test]
fn child() {
    let Ok(name) = std::env::var("OZARR_TEST_CASE") else { return };
    let (_, chunks, more, takes_all) = CASES.into_iter().find(|case| case.0 == name).unwrap();
    let root = std::env::var(ROOT).unwrap();
    // Without memory the C library ends a process in which a thread uses a variable with a destructor for the first time; the shipped library does
    // without that function. So this thread works alone then, and has used all before.
    let store =
        Store::open(&Context::with_threads(if takes_all { 1 } else { 2 }), &root, Mode::ReadWrite, &[("file.sync", "none")]).unwrap();
    let mut spec = Spec::new(DataType::Float32, &[RECORDS, RECORD[0], RECORD[1]]).unwrap();
    spec.set_chunks(&chunks).unwrap();
    spec.set_compressor("zstd", Some(1)).unwrap();
    let array = Array::create(&store, "a", &spec, Create::New).unwrap();
    array.set_write_back(512 << 20).unwrap();
    let shape = [1, RECORD[0], RECORD[1]];
    let (mut values, mut want) = (vec![0f32; (RECORD[0] * RECORD[1]) as usize], vec![0f32; (RECORD[0] * RECORD[1]) as usize]);
    let region =
        |record: u64| Selection::new(&array.shape(), &[record as i64, 0, 0], &[1, RECORD[0] as i64, RECORD[1] as i64], None).unwrap();
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&region(0), &Memory::of(&mut values, &shape, DataType::Float32)) }.unwrap();
    array.flush().unwrap();
    limit(Some(more));
    for record in 0..RECORDS {
        fill(&mut values, record);
        // SAFETY: the memory lives as long as the call.
        unsafe { array.write(&region(record), &Memory::of(&mut values, &shape, DataType::Float32)) }
            .unwrap_or_else(|e| panic!("{record}: {e}"));
    }
    if takes_all {
        take_all();
    }
    array.flush().unwrap();
    limit(None);
    // As the boundary of the ABI does.
    let _ = limits::check_memory();
    for record in 0..RECORDS {
        fill(&mut want, record);
        // SAFETY: as above.
        unsafe { array.read(&region(record), &Memory::of(&mut values, &shape, DataType::Float32)) }.unwrap();
        assert!(values == want, "{record}");
    }
}
