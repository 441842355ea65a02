//! Several processes on one hierarchy: appending, resizing, overwriting, erasing, and being killed meanwhile.

#[path = "support/int32.rs"]
mod int32;

use int32::{read_all, view};
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::error::{ErrorKind, Result};
use ozarr::metadata::Format;
use ozarr::node::{Array, Context, Create, Group, Mode, Spec, Store};
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::suite::TestFolder;
use ozarr::store::{Condition, Storage};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const JOB: &str = "OZARR_TEST_JOB";
const ROOT: &str = "OZARR_TEST_ROOT";

/// This program again, doing a job in the folder.
fn start(folder: &TestFolder, job: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(JOB, job).env(ROOT, &**folder).stdout(Stdio::null());
    command.spawn().unwrap()
}

fn open(root: &Path) -> Store {
    Store::open(&Context::default(), root.to_str().unwrap(), Mode::ReadWrite, &[("file.sync", "none")]).unwrap()
}

fn write_all(array: &Array, value: i32) -> Result<()> {
    let shape = array.shape();
    let mut values = vec![value; shape.iter().product::<u64>() as usize];
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&Selection::all(&shape), &view(&mut values, &shape)) }
}

fn spec(shape: &[u64], chunks: &[u64], format: Format) -> Spec {
    let mut spec = Spec::new(DataType::Int32, shape).unwrap();
    spec.set_chunks(chunks).unwrap();
    spec.set_format(format).unwrap();
    spec
}

const SLABS: usize = 40;
const WIDE: u64 = 5;

/// Not a test of its own: what the processes do that the tests start.
#[test]
fn child() {
    let (Ok(job), Some(root)) = (std::env::var(JOB), std::env::var_os(ROOT)) else { return };
    let store = open(Path::new(&root));
    match job.split_once(' ') {
        Some(("append", value)) => append(&store, value.parse().unwrap()),
        Some(("grow", _)) => grow(&store),
        Some(("parts", value)) => write_parts(&store, value.parse().unwrap()),
        Some(("counter", _)) => count_up(Path::new(&root)),
        Some(("overwrite", format)) => overwrite_for_ever(&store, if format == "2" { Format::V2 } else { Format::V3 }),
        _ => panic!("unknown job {job}"),
    }
}

/// Appends slabs of 1 to 3 rows that hold `value` and the number of the slab.
fn append(store: &Store, value: i32) {
    let array = Array::open(store, "a").unwrap();
    for slab in 0..SLABS {
        let rows = 1 + slab as u64 % 3;
        let mut values = vec![value * 1000 + slab as i32; (rows * WIDE) as usize];
        // SAFETY: the memory lives as long as the call.
        unsafe { array.append(0, rows, &view(&mut values, &[rows, WIDE])).unwrap() };
    }
}

/// Changes attributes, and cuts nothing off, while others append.
fn grow(store: &Store) {
    let array = Array::open(store, "a").unwrap();
    for i in 0..SLABS as i64 {
        array.attributes().set_i64(&format!("n{i}"), i).unwrap();
        Group::open(store, "").unwrap().attributes().set_i64(&format!("n{i}"), i).unwrap();
    }
}

/// The rows that each process writes into one chunk, or one shard.
const ROWS: u64 = 60;

/// Writes the elements of one process, row by row: neighbours in the same inner chunks are the other's.
fn write_parts(store: &Store, process: u64) {
    for name in ["plain", "shard"] {
        let array = Array::open(store, name).unwrap();
        for row in 0..ROWS {
            let selection = Selection::new(&array.shape(), &[row as i64, process as i64], &[1, 1], None).unwrap();
            // SAFETY: the memory lives as long as the call.
            unsafe { array.write(&selection, &view(&mut [(1000 * process + row) as i32 + 1], &[1, 1])).unwrap() };
        }
    }
}

#[test]
fn processes_that_write_parts_of_one_chunk_or_shard_lose_none() {
    let folder = TestFolder::new("parts");
    let store = open(&folder);
    let mut sharded = spec(&[ROWS, 3], &[ROWS, 3], Format::V3);
    sharded.set_inner_chunks(&[2, 3]).unwrap();
    // As in a parallel program: one process replaces what an old run left, then the others open it.
    for (name, new) in [("plain", spec(&[ROWS, 3], &[ROWS, 3], Format::V3)), ("shard", sharded)] {
        write_all(&Array::create(&store, name, &spec(&[2 * ROWS, 3], &[7, 2], Format::V2), Create::New).unwrap(), -1).unwrap();
        Array::create(&store, name, &new, Create::Overwrite).unwrap();
    }
    for mut child in [0, 1, 2].map(|process| start(&folder, &format!("parts {process}"))) {
        assert!(child.wait().unwrap().success());
    }
    let expected: Vec<i32> = (0..ROWS as i32).flat_map(|row| (0..3).map(move |process| 1000 * process + row + 1)).collect();
    for name in ["plain", "shard"] {
        assert_eq!(read_all(&Array::open(&store, name).unwrap()), expected, "{name}");
    }
}

const COUNTS: usize = 60;

/// Adds 1 to the number that a key holds, on the condition that it is the one that was read.
fn count_up(root: &Path) {
    let shared = LocalStore::open(root, true, SyncMode::None).unwrap();
    for _ in 0..COUNTS {
        loop {
            let object = shared.open("counter").unwrap().unwrap();
            let (version, mut text) = (object.version().unwrap(), Vec::new());
            object.read_whole(&mut text, 100).unwrap();
            let next = std::str::from_utf8(&text).unwrap().parse::<u64>().unwrap() + 1;
            match shared.put("counter", &[next.to_string().as_bytes()], Condition::Match(version)) {
                Ok(()) => break,
                Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "{e}"),
            }
        }
    }
}

#[test]
fn conditional_puts_of_processes_take_turns() {
    let folder = TestFolder::new("counter");
    let store = open(&folder);
    store.key_put("counter", b"0").unwrap();
    for mut child in [0, 1, 2].map(|_| start(&folder, "counter -")) {
        assert!(child.wait().unwrap().success());
    }
    let found = LocalStore::open(&folder, false, SyncMode::None).unwrap().read_all("counter", 100).unwrap().unwrap();
    assert_eq!(String::from_utf8(found).unwrap(), (3 * COUNTS).to_string());
}

#[test]
fn processes_that_append_lose_no_slab_and_no_attribute() {
    for format in [Format::V2, Format::V3] {
        let folder = TestFolder::new("append");
        let store = open(&folder);
        // Chunks of four rows: slabs of different processes share them.
        let array = Array::create(&store, "a", &spec(&[0, WIDE], &[4, 3], format), Create::New).unwrap();
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let children = [start(&folder, "append 1"), start(&folder, "append 2"), start(&folder, "grow -")];
        for mut child in children {
            assert!(child.wait().unwrap().success());
        }
        drop(array);
        let array = Array::open(&store, "a").unwrap();
        let rows: u64 = (0..SLABS as u64).map(|slab| 1 + slab % 3).sum();
        assert_eq!(array.shape().as_slice(), [2 * rows, WIDE]);
        let values = read_all(&array);
        let mut next = [0usize; 3];
        let mut at = 0;
        while at < values.len() {
            let (value, slab) = ((values[at] / 1000) as usize, (values[at] % 1000) as usize);
            assert_eq!(next[value], slab, "row {}", at / WIDE as usize);
            let length = (1 + slab % 3) * WIDE as usize;
            assert!(values[at..at + length].iter().all(|v| *v == values[at]), "slab {slab} of {value} is torn");
            next[value] += 1;
            at += length;
        }
        assert_eq!(next, [0, SLABS, SLABS]);
        assert_eq!(array.attributes().names().unwrap().len(), SLABS);
        let root = Group::open(&store, "").unwrap();
        assert_eq!(root.attributes().names().unwrap().len(), SLABS);
        let listed = root.open_array("a").unwrap();
        assert_eq!((listed.shape(), listed.attributes().names().unwrap().len()), (array.shape(), SLABS), "consolidated");
    }
}

/// Each array says in its attributes what its chunks hold.
fn overwrite_for_ever(store: &Store, format: Format) {
    for n in 1.. {
        let mut spec = spec(&[24], &[1 + n as u64 % 3], format);
        spec.set_attributes_json(&format!(r#"{{"n":{n}}}"#)).unwrap();
        let array = Array::create(store, "g/a", &spec, Create::Overwrite).unwrap();
        write_all(&array, n).unwrap();
    }
}

#[test]
fn a_kill_while_overwriting_leaves_no_old_chunks_under_a_new_document() {
    for (format, name) in [(Format::V2, "overwrite 2"), (Format::V3, "overwrite 3")] {
        let folder = TestFolder::new(&name.replace(' ', ""));
        Group::create(&open(&folder), "g", Some(format), Create::New).unwrap();
        Group::open(&open(&folder), "").unwrap().consolidate().unwrap();
        let (mut whole, mut gone) = (0, 0);
        for round in 0..25u64 {
            let store = open(&folder);
            let mut child = start(&folder, name);
            while Array::open(&store, "g/a").is_err() {
                assert!(child.try_wait().unwrap().is_none(), "the child ended");
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_micros(711 * round));
            child.kill().unwrap();
            child.wait().unwrap();
            let root = Group::open(&store, "").unwrap();
            // By its own document and by the consolidated metadata: the same, or not there at all.
            match (Array::open(&store, "g/a"), root.open_array("g/a")) {
                (Ok(own), listed) => {
                    let n = own.attributes().get_i64("n").unwrap() as i32;
                    let values = read_all(&own);
                    assert!(values.iter().all(|v| *v == n || *v == 0), "array {n} holds {values:?}");
                    assert_eq!(listed.unwrap().attributes().get_i64("n").unwrap() as i32, n);
                    whole += 1;
                }
                (Err(own), listed) => {
                    assert_eq!((own.kind(), listed.err().map(|e| e.kind())), (ErrorKind::NotFound, Some(ErrorKind::NotFound)));
                    gone += 1;
                }
            }
            // Whatever was left behind is nobody's.
            let array = Array::create(&store, "g/a", &spec(&[24], &[1], format), Create::Overwrite).unwrap();
            assert_eq!(read_all(&array), [0; 24]);
            store.erase_node("g/a").unwrap();
        }
        assert_eq!(whole + gone, 25);
    }
}

#[test]
fn what_reads_while_a_node_is_erased_gets_its_values_or_none() {
    let folder = TestFolder::new("erase");
    let store = open(&folder);
    let create = || Array::create(&store, "g/a", &spec(&[64], &[4], Format::V3), Create::Overwrite).unwrap();
    let first = create();
    write_all(&first, 5).unwrap();
    let until = Instant::now() + Duration::from_secs(2);
    std::thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                while Instant::now() < until {
                    let values = read_all(&first);
                    assert!(values.iter().all(|v| matches!(v, 0 | 5)), "{values:?}");
                    match Array::open(&store, "g/a") {
                        Ok(array) => drop(read_all(&array)),
                        Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound, "{e}"),
                    }
                    Group::open(&store, "").unwrap().children().unwrap();
                }
            });
        }
        while Instant::now() < until {
            store.erase_node("g/a").unwrap();
            write_all(&create(), 5).unwrap();
        }
    });
}
