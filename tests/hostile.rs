//! Documents that are made to hurt: time and memory stay bounded, and the answer is an error or an array that can be asked.

#[path = "support/watched_allocator.rs"]
mod watched_allocator;

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::error::{ErrorKind, Result};
use ozarr::node::{Array, Context, Group, Mode, Node, NodeKind, Store};
use ozarr::settings::apart;
use ozarr::store::memory::MemoryStore;
use ozarr::store::suite::TestFolder;
use ozarr::store::{Condition, SharedStore};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use watched_allocator::WatchedAllocator;

/// Bytes in use, and the most that ever were, of the whole process: who measures holds `ALONE`.
static USED: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ALONE: Mutex<()> = Mutex::new(());

fn add(size: usize) -> bool {
    PEAK.fetch_max(USED.fetch_add(size, Relaxed) + size, Relaxed);
    true
}

#[global_allocator]
static ALLOCATOR: WatchedAllocator = WatchedAllocator { may_be: add, given_back: |size| _ = USED.fetch_sub(size, Relaxed) };

fn v3(shape: &str, chunks: &str, more: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"int8","chunk_grid":{{"name":"regular","configuration":
        {{"chunk_shape":{chunks}}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":7,"codecs":[{{"name":"bytes"}}]{more}}}"#
    )
}

fn uneven(shape: &str, chunk_shapes: &str) -> String {
    let grid = format!(r#""rectilinear","configuration":{{"kind":"inline","chunk_shapes":{chunk_shapes}}}"#);
    v3(shape, "[]", "").replace("\"regular\",\"configuration\":\n        {\"chunk_shape\":[]}", &grid)
}

fn v2(shape: &str, chunks: &str) -> String {
    format!(
        r#"{{"zarr_format":2,"shape":{shape},"chunks":{chunks},"dtype":"|i1","compressor":null,"fill_value":7,"order":"C","filters":null}}"#
    )
}

fn list(n: usize, item: &str) -> String {
    format!("[{}{item}]", format!("{item},").repeat(n - 1))
}

fn group(attributes: &str) -> String {
    format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":{attributes}}}}}"#)
}

/// One element from the end of the array.
fn read_last(array: &Array) -> Result<i8> {
    let shape = array.shape();
    let (mut value, count) = (0i8, vec![1i64; shape.len()]);
    let start: Vec<i64> = shape.iter().map(|&n| n as i64 - 1).collect();
    let memory = Memory::dense((&raw mut value).cast(), 1, &vec![1; shape.len()], DataType::Int8);
    let selection = Selection::new(&shape, &start, &count, None)?;
    // SAFETY: the memory lives as long as the call.
    unsafe { array.read(&selection, &memory)? };
    Ok(value)
}

/// The key, the document, the error (or what reading gives; `None`: nothing to read, or too large a chunk), and the bytes of memory
/// for each byte of the document.
type Case = (&'static str, String, std::result::Result<Option<i8>, ErrorKind>, usize);

/// The time that this thread has had a processor: that of a busy machine does not count.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[test]
fn time_and_memory_are_bounded() {
    use ErrorKind::{Limit, Metadata};
    const MIB: usize = 1 << 20;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let huge = (1u64 << 62).to_string();
    let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    let objects = |n: usize| format!("{}1{}", r#"{"a":"#.repeat(n), "}".repeat(n));
    let names: String = (0..200_000).map(|i| format!(r#","m{i}":{{"must_understand":false}}"#)).collect();
    let wide: String = (0..300_000).map(|i| format!(r#""k{i}":{i},"#)).collect();
    let inner = |n: u64| format!(r#","x":{{"must_understand":false,"n":{n}}}"#);
    let cases: Vec<Case> = vec![
        ("zarr.json", v3(&format!("[{huge}]"), "[1]", &inner(1)), Ok(Some(7)), 1),
        ("zarr.json", v3(&format!("[{huge}]"), &format!("[{}]", 1u64 << 40), ""), Ok(None), 1),
        (".zarray", v2(&format!("[{huge}]"), &format!("[{}]", 1u64 << 40)), Ok(None), 1),
        ("zarr.json", v3(&format!("[{huge},{huge}]"), "[1,1]", ""), Ok(Some(7)), 1),
        (".zarray", v2(&format!("[{huge},{huge}]"), &format!("[{huge},{huge}]")), Ok(None), 1),
        ("zarr.json", v3(&list(1000, "1"), &list(1000, "1"), ""), Err(Limit), 1),
        (".zarray", v2(&list(1000, "1"), &list(1000, "1")), Err(Limit), 1),
        (".zarray", v2(&list(64, "1"), &list(64, "1")), Ok(Some(7)), 1),
        ("zarr.json", uneven(&format!("[{huge}]"), &format!("[[[1,{huge}]]]")), Ok(Some(7)), 1),
        ("zarr.json", uneven(&format!("[{huge}]"), &format!("[[{huge}]]")), Ok(None), 1),
        ("zarr.json", uneven("[1]", &format!("[[[{huge},{huge}]]]")), Err(Limit), 1),
        ("zarr.json", uneven("[900000]", &format!("[{}]", list(300_000, "1,[2,1]"))), Ok(Some(7)), 80),
        ("zarr.json", v3("[1]", "[1]", &names), Ok(Some(7)), 40),
        ("zarr.json", group(&deep(100_000)), Err(Metadata), 1),
        ("zarr.json", group(&objects(100_000)), Err(Metadata), 1),
        ("zarr.json", deep(64 * MIB), Err(Limit), 1),
        ("zarr.json", group(&list(32 * MIB, "0")), Err(Limit), 1),
        ("zarr.json", group(&format!("{{{wide}\"z\":0}}")), Ok(None), 40),
        ("zarr.json", group(&format!("\"{}\"", "x".repeat(64 * MIB))), Ok(None), 5),
        ("zarr.json", group(&format!("[{}", "x".repeat(64 * MIB))), Err(Metadata), 1),
        ("zarr.json", group(&format!("[NaN,{}", "\"".repeat(64 * MIB))), Err(Metadata), 5),
        (".zgroup", format!(r#"{{"zarr_format":2,"x":"{}"}}"#, "x".repeat(64 * MIB)), Err(Limit), 1),
    ];
    // Of the large documents some.
    let tried = cases.iter().enumerate().filter(|(i, case)| case.1.len() < MIB || i.is_multiple_of(apart(3)));
    for (i, (key, document, want, factor)) in tried {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        shared.put(key, &[document.as_bytes()], Condition::None).unwrap();
        let store = Store::from_shared(&Context::default(), shared, Mode::ReadWrite);
        let (start, before) = (cpu_time(), USED.load(Relaxed));
        PEAK.store(before, Relaxed);
        let what = format!("case {i}: {:.60}", document);
        match Node::open(&store, "") {
            Err(e) => assert_eq!((Err(e.kind()), e.key()), (*want, Some(*key)), "{what}: {e:.200}"),
            Ok(Node::Group(group)) => {
                assert_eq!(*want, Ok(None), "{what}");
                assert_eq!(group.attributes().names().unwrap(), ["a"]);
                assert!(group.children().unwrap().is_empty());
            }
            Ok(Node::Array(array)) => match (read_last(&array), want) {
                (Ok(value), Ok(Some(want))) => assert_eq!(value, *want, "{what}"),
                (Err(e), Ok(None)) => assert_eq!((e.kind(), e.key()), (Limit, Some(*key)), "{what}: {e:.200}"),
                (other, _) => panic!("{what}: {other:?}"),
            },
        }
        assert_eq!(store.node_kind("").unwrap() == NodeKind::Unknown, want.is_err(), "{what}");
        let (took, peak) = (cpu_time() - start, PEAK.load(Relaxed) - before);
        assert!(peak < factor * document.len() + 16 * MIB, "{what}: {} MiB for {} MiB", peak / MIB, document.len() / MIB);
        assert!(took < Duration::from_secs(30), "{what}: {took:?}");
    }
    consolidated_metadata_of_strange_entries();
}

/// Entries that are no documents, or lead elsewhere, are not taken.
fn consolidated_metadata_of_strange_entries() {
    let names = ["", "/", "..", "a/../b", "a//b", "/a", "a/", "x\\u0000", "zarr.json", "__x"];
    let entries: Vec<String> = names.iter().map(|n| format!(r#""{n}":{}"#, v3("[1]", "[1]", ""))).collect();
    let odd = r#","n":null,"l":[],"s":"x","o":{},"g":{"zarr_format":4,"node_type":"group"}"#;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":{{"kind":"inline","must_understand":false,"metadata":{{{}{odd}}}}}}}"#,
        entries.join(",")
    );
    let shared: SharedStore = Arc::new(MemoryStore::new());
    shared.put("zarr.json", &[document.as_bytes()], Condition::None).unwrap();
    let store = Store::from_shared(&Context::default(), shared, Mode::ReadWrite);
    let root = Group::open(&store, "").unwrap();
    for path in ["", "/", "..", "a/../b", "x\0"] {
        assert_eq!(root.open_array(path).err().map(|e| e.kind()), Some(ErrorKind::Name), "{path:?}");
    }
    for path in ["n", "l", "s", "o", "g", "none", "a/b"] {
        assert_eq!(root.open_array(path).err().map(|e| e.kind()), Some(ErrorKind::NotFound), "{path:?}");
    }
    root.children().unwrap();
    root.attributes().set_i64("n", 1).unwrap();
    root.consolidate().unwrap();
}

/// A few bytes of a chunk of text that are said to be very many are refused before there is memory for them.
#[test]
fn a_chunk_of_text_does_not_unpack_to_more_than_its_elements_say() {
    use std::io::Write;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let document = v3("[3]", "[3]", "")
        .replace("int8", "string")
        .replace("\"fill_value\":7", "\"fill_value\":\"\"")
        .replace(r#"[{"name":"bytes"}]"#, r#"[{"name":"vlen-utf8"},{"name":"gzip","configuration":{"level":1}}]"#);
    let three = [&[3, 0, 0, 0][..], &[1, 0, 0, 0, b'a', 1, 0, 0, 0, b'b', 1, 0, 0, 0, b'c']].concat();
    let plain = document.replace(r#",{"name":"gzip","configuration":{"level":1}}"#, "");
    let says = [(&[][..], "found 0 elements, expected 3"), (&three, "of which the 3 elements are the first 19")];
    let size = (64 << 20) / apart(4);
    // Without a compressor the bytes are read, and not copied.
    let (unpacked, read) = (8 << 20, size + (8 << 20));
    let cases = [(&document, unpacked), (&plain, read)].into_iter().flat_map(|case| says.map(|says| (case, says)));
    for ((document, most), (head, says)) in cases {
        let mut bytes = head.to_vec();
        bytes.resize(size, 0);
        if *document != plain {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gzip.write_all(&bytes).unwrap();
            bytes = gzip.finish().unwrap();
        }
        let shared: SharedStore = Arc::new(MemoryStore::new());
        shared.put("zarr.json", &[document.as_bytes()], Condition::None).unwrap();
        shared.put("c/0", &[&bytes], Condition::None).unwrap();
        drop(bytes);
        let store = Store::from_shared(&Context::default(), shared, Mode::ReadWrite);
        let array = Array::open(&store, "").unwrap();
        let selection = Selection::new(&[3], &[0], &[3], None).unwrap();
        let before = USED.load(Relaxed);
        PEAK.store(before, Relaxed);
        let e = array.read_variable(&selection).unwrap_err();
        let peak = PEAK.load(Relaxed).saturating_sub(before);
        assert!(e.kind() == ErrorKind::Chunk && e.message().contains(says), "{e}");
        assert!(peak < most, "{peak} bytes for {says:?}");
    }
}

/// The index of a shard tells of an inner chunk of a gigabyte, which a file without data has.
#[test]
fn an_inner_chunk_that_is_said_to_be_very_large_is_not_brought() {
    use std::io::{Seek, SeekFrom, Write};
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let root = TestFolder::new("hostile");
    std::fs::create_dir_all(root.join("c")).unwrap();
    let codecs = r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[4],"codecs":[{"name":"bytes"},{"name":"zstd",
        "configuration":{"level":1,"checksum":false}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#;
    std::fs::write(root.join("zarr.json"), v3("[8]", "[8]", "").replace(r#"[{"name":"bytes"}]"#, codecs)).unwrap();
    let mut file = std::fs::File::create(root.join("c/0")).unwrap();
    file.seek(SeekFrom::Start((1 << 30) - 32)).unwrap();
    for word in [0, (1 << 30) - 32, u64::MAX, u64::MAX] {
        file.write_all(&u64::to_le_bytes(word)).unwrap();
    }
    drop(file);
    let store = Store::open(&Context::default(), root.to_str().unwrap(), Mode::Read, &[]).unwrap();
    let array = Array::open(&store, "").unwrap();
    for count in [1, 8] {
        let mut values = [0i8; 8];
        let memory = Memory::of(&mut values, &[count], DataType::Int8);
        let before = USED.load(Relaxed);
        PEAK.store(before, Relaxed);
        // SAFETY: the memory lives as long as the call.
        let e = unsafe { array.read(&Selection::new(&[8], &[0], &[count as i64], None).unwrap(), &memory) }.unwrap_err();
        let peak = PEAK.load(Relaxed).saturating_sub(before);
        assert!(e.kind() == ErrorKind::Limit && e.to_string().contains("inner chunk 0"), "{e}");
        assert!(peak < 8 << 20, "{peak} bytes");
    }
}
