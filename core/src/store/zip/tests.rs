//! Tests of zip archives: the behaviour of a store, archives of other writers, processes; damage and repair are in `tests_damage.rs`.

use super::directory::*;
use super::records::{central_record, end_records, local_header, with_comment};
use super::repair::{Repaired, repair};
use super::*;
use crate::codec::Packing;
use crate::error::{Error, ErrorKind};
use crate::store::fault;
use crate::store::file_options::{LockMode, SyncMode};
use crate::store::latency::LatencyStore;
use crate::store::memory::MemoryStore;
use crate::store::os::Call;
use crate::store::suite::{self, TestFolder};
use crate::store::{ByteRange, Listing, get};
use std::os::fd::AsFd;
use std::time::Duration;

/// A new folder, which goes with it.
pub(super) struct Folder(TestFolder);

impl Folder {
    pub fn new() -> Folder {
        Folder(TestFolder::made("zip"))
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file of those bytes.
    pub fn with(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.file(name), bytes).unwrap();
        self.file(name)
    }
}

pub(super) fn writer(path: &Path) -> ZipStore {
    ZipStore::open(path, true, SyncMode::None).unwrap()
}

/// The path of an archive, which is not there yet, in a folder of its own.
pub(super) fn named_archive() -> (Folder, PathBuf) {
    let folder = Folder::new();
    let path = folder.file("x.zip");
    (folder, path)
}

/// A new archive in a folder of its own.
pub(super) fn new_archive() -> (Folder, PathBuf, ZipStore) {
    let (folder, path) = named_archive();
    let store = writer(&path);
    (folder, path, store)
}

pub(super) fn reader(path: &Path) -> Result<ZipStore> {
    ZipStore::open(path, false, SyncMode::None)
}

pub(super) fn put(store: &dyn Storage, key: &str, bytes: &[u8]) {
    store.put(key, &[bytes], Condition::None).unwrap();
}

pub(super) fn keys(store: &dyn Storage) -> Vec<String> {
    store.keys("").unwrap()
}

/// All keys and values.
pub(super) fn content(store: &dyn Storage) -> Vec<(String, Vec<u8>)> {
    keys(store).into_iter().map(|key| (key.clone(), get(store, &key, 1 << 30).unwrap().unwrap())).collect()
}

/// An entry of an archive that is put together by hand.
#[derive(Clone)]
pub(super) struct Part {
    pub name: Vec<u8>,
    pub data: Vec<u8>,
    pub entry: Entry,
    /// Extra fields of the local header only.
    pub extra: Vec<u8>,
    pub streamed: bool,
}

pub(super) fn stored(name: &str, value: &[u8]) -> Part {
    part(name, value, value.to_vec(), STORED)
}

pub(super) fn deflated(name: &str, value: &[u8]) -> Part {
    let mut compressor = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
    let mut data = vec![0; compressor.deflate_compress_bound(value.len())];
    let n = compressor.deflate_compress(value, &mut data).unwrap();
    data.truncate(n);
    part(name, value, data, DEFLATED)
}

pub(super) fn part(name: &str, value: &[u8], data: Vec<u8>, method: u16) -> Part {
    let mut crc = libdeflater::Crc::new();
    crc.update(value);
    let (stored, size) = (data.len() as u64, value.len() as u64);
    let entry = Entry { header: 0, stored, size, crc: crc.sum(), method, flags: 0, name_len: name.len() as u16, is_link: false, limit: 0 };
    Part { name: name.into(), data, entry, extra: Vec::new(), streamed: false }
}

/// The entries one after the other, and their records.
pub(super) fn build(parts: &[Part]) -> (Vec<u8>, Vec<u8>) {
    let (mut bytes, mut records) = (Vec::new(), Vec::new());
    for part in parts {
        let mut entry = Entry { header: bytes.len() as u64, ..part.entry };
        let plain = "x".repeat(part.name.len());
        let mut header = local_header(&entry, &plain);
        let at = header.len() - part.name.len();
        header[at..].copy_from_slice(&part.name);
        header[28..30].copy_from_slice(&(part.extra.len() as u16).to_le_bytes());
        // The writer of local headers knows stored entries only.
        header[18..22].copy_from_slice(&(entry.stored as u32).to_le_bytes());
        if part.streamed {
            entry.flags |= STREAMED;
            header[6..8].copy_from_slice(&entry.flags.to_le_bytes());
            header[14..26].fill(0);
        }
        bytes.extend([&header, &part.extra, &part.data].into_iter().flatten());
        if part.streamed {
            bytes.extend(b"PK\x07\x08");
            bytes.extend([entry.crc, entry.stored as u32, entry.size as u32].into_iter().flat_map(u32::to_le_bytes));
        }
        records.extend(central_record(&entry, &part.name));
    }
    (bytes, records)
}

pub(super) fn finish(mut bytes: Vec<u8>, records: &[u8], count: u64) -> Vec<u8> {
    let at = bytes.len() as u64;
    bytes.extend(records);
    bytes.extend(end_records(count, records.len() as u64, at).unwrap());
    bytes
}

pub(super) fn archive(parts: &[Part]) -> Vec<u8> {
    let (bytes, records) = build(parts);
    finish(bytes, &records, parts.len() as u64)
}

pub(super) fn over_memory(bytes: &[u8]) -> Result<ZipStore> {
    let memory = Arc::new(MemoryStore::new());
    memory.put("x.zip", &[bytes], Condition::None).unwrap();
    ZipStore::over(memory, "x.zip")
}

pub(super) const GROUP: &[u8] = br#"{"zarr_format":3,"node_type":"group"}"#;

#[test]
fn behaves_as_a_store_as_far_as_it_can() {
    let folder = Folder::new();
    let mut count = 0;
    let mut make = || -> SharedStore {
        count += 1;
        let store = open_shared(&folder.file(&format!("{count}.zip")), true, SyncMode::Batch).unwrap();
        // Else the suite's folder, with a `.zarray` in it, would be the root for others.
        put(&*store, "top", b"1");
        store
    };
    let mut after = |store: &dyn Storage| {
        let path = PathBuf::from(store.describe());
        if path.exists() {
            let again = reader(&path).unwrap();
            assert_eq!(content(&again), content(store), "what was put is there for others");
            let far = LatencyStore::new(
                Arc::new(crate::store::local::LocalStore::open(path.parent().unwrap(), false, SyncMode::None).unwrap()),
                Duration::ZERO,
            );
            let far = ZipStore::over(Arc::new(far), path.file_name().unwrap().to_str().unwrap()).unwrap();
            assert_eq!(content(&far), content(store), "and from afar");
        }
    };
    suite::check_without_erasing(&mut make, &mut after);
}

#[test]
fn archives_of_others_are_read() {
    let value: Vec<u8> = (0..100_000u32).map(|i| (i / 7) as u8).collect();
    let mut streamed = deflated("s/streamed", &value);
    (streamed.streamed, streamed.extra) = (true, vec![9, 9, 3, 0, 1, 2, 3]);
    let mut far_extra = stored("s/extra", &value);
    far_extra.extra = [&[9u8, 9, 200, 0][..], &[7; 200]].concat();
    let parts = [
        stored("folder/", b""),
        stored("twice", b"first"),
        stored("./s/dotted", b"2"),
        deflated("s/deflated", &value),
        streamed,
        far_extra,
        stored("__MACOSX/._twice", b"mac"),
        stored("s/._x", b"mac"),
        stored(".DS_Store", b"mac"),
        deflated("s/nothing", b""),
        stored("twice", b"second"),
        part("p/bzip2", &value, Packing::Bzip2.pack(&value), 12),
        part("p/lzma", &value, Packing::Lzma { ends: true }.pack(&value), 14),
        part("p/xz", &value, Packing::Xz.pack(&value), 95),
        part("p/zstd", &value, Packing::Zstd.pack(&value), 93),
    ];
    let store = over_memory(&archive(&parts)).unwrap();
    let packed = ["p/bzip2", "p/lzma", "p/xz", "p/zstd"];
    assert_eq!(keys(&store), [&packed[..], &["s/deflated", "s/dotted", "s/extra", "s/nothing", "s/streamed", "twice"]].concat());
    assert!(packed.iter().all(|key| get(&store, key, 1 << 20).unwrap().unwrap() == value));
    let big = |key: &str| get(&store, key, 1 << 20).unwrap().unwrap() == value;
    assert!(big("s/deflated") && big("s/streamed") && big("s/extra"));
    assert_eq!(get(&store, "twice", 9).unwrap().unwrap(), b"second");
    assert_eq!(get(&store, "s/nothing", 9).unwrap().unwrap(), b"");
    assert_eq!(get(&store, "s/deflated", 99_999).unwrap_err().kind(), ErrorKind::Limit);
    for key in ["s/deflated", "s/extra", "s/streamed", "p/bzip2", "p/zstd"] {
        let object = store.open(key).unwrap().unwrap();
        let mut some = [0; 100];
        object.read_exact_at(99_900, &mut some).unwrap();
        assert_eq!(some, value[99_900..]);
        assert_eq!(object.read_exact_at(99_901, &mut some).unwrap_err().kind(), ErrorKind::Truncated);
    }
    assert_eq!(store.put("k", &[b"1"], Condition::None).unwrap_err().kind(), ErrorKind::ReadOnly);
}

#[test]
fn names_become_keys() {
    let cases: &[(&[u8], u16, Option<&str>)] = &[
        (b"a/b", 0, Some("a/b")),
        (b"a/b/", 0, None),
        (b"./", 0, None),
        (b"././a", 0, Some("a")),
        (b"a\\b", 0, Some("a/b")),
        (b"a\\", 0, None),
        (b"a/b\\c", 0, Some("a/b\\c")),
        (b"/", 0, None),
        (b"/abs", 0, Some("abs")),
        (b".//./\xc3\xbc", 0, Some("\u{fc}")),
        ("ü/1".as_bytes(), UTF8, Some("ü/1")),
        ("ü/1".as_bytes(), 0, Some("ü/1")),
        (b"\x81/1", 0, Some("ü/1")),
        (b"\xffa", 0, Some("\u{a0}a")),
        (b"__MACOSX/a", 0, None),
        (b"a/._b", 0, None),
        (b"a/..b", 0, Some("a/..b")),
    ];
    for (name, flags, key) in cases {
        assert_eq!(key_of(name, *flags).unwrap().as_deref(), *key, "{:?}", String::from_utf8_lossy(name));
    }
    for name in [&b"../a"[..], b"a/../../b", b"/../abs", b"a//b", b"a/.", b"", b"a\0b", b"../", b"..\\a"] {
        assert_eq!(key_of(name, 0).unwrap_err().kind(), ErrorKind::Name, "{:?}", String::from_utf8_lossy(name));
    }
    assert_eq!(key_of(b"\xff", UTF8).unwrap_err().kind(), ErrorKind::Name);
    assert_eq!(key_of("x".repeat(1025).as_bytes(), 0).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn a_single_folder_that_is_a_node_is_the_root() {
    let folder = Folder::new();
    let parts = [stored("run.zarr/", b""), stored("run.zarr/zarr.json", GROUP), stored("run.zarr/t/c/0", b"0"), stored("__MACOSX/x", b"")];
    let path = folder.with("x.zip", &archive(&parts));
    let store = writer(&path);
    assert_eq!(keys(&store), ["t/c/0", "zarr.json"]);
    assert!(get(&store, "run.zarr/t/c/0", 9).unwrap().is_none(), "each value has one key");
    let dir = store.list_dir("").unwrap();
    assert_eq!((dir.keys, dir.prefixes), (vec!["zarr.json".to_string()], vec!["t".to_string()]));
    assert_eq!(store.list_dir("run.zarr/t/").unwrap(), Listing::default());
    put(&store, "t/c/1", b"1");
    put(&store, "run.zarr/t/c/2", b"2");
    put(&store, "t/c/0", b"new");
    for (path, below) in [("", ""), ("run.zarr", ""), ("run.zarr/t", "t"), ("run.zarr2", "run.zarr2"), ("t", "t")] {
        assert_eq!(store.path_below(path), below);
    }
    put(&store, "run.zarr/t/zarr.json", GROUP);
    for (path, below) in [("run.zarr", ""), ("run.zarr/t", "run.zarr/t"), ("run.zarr/t/new", "run.zarr/t/new"), ("run.zarr/new", "new")] {
        assert_eq!(store.path_below(path), below, "with a node of that name below");
    }
    drop(store);
    assert_eq!(keys(&reader(&path).unwrap()), ["run.zarr/t/c/2", "run.zarr/t/zarr.json", "t/c/0", "t/c/1", "zarr.json"]);
    let listed =
        directory::find(std::fs::metadata(&path).unwrap().len(), &|at, len| read_slice(&std::fs::read(&path).unwrap(), at, len)).unwrap();
    assert_eq!(listed.count, 7, "what is no key stays listed, what was replaced does not");
    // An array in a folder that has the name of the first part of its chunks' keys.
    let path = folder.with("c.zip", &archive(&[stored("c/zarr.json", b"{}"), stored("c/c/0", b"0")]));
    let store = writer(&path);
    put(&store, "c/1", b"1");
    drop(store);
    assert_eq!(keys(&reader(&path).unwrap()), ["c/0", "c/1", "zarr.json"]);
    // Neither a folder that is no node, nor two folders, nor a root that is a node itself.
    for parts in [vec![stored("d/x", b"")], vec![stored("a/zarr.json", b""), stored("b", b"")], vec![stored("zarr.json", b"")]] {
        let expected: Vec<String> = parts.iter().map(|p| String::from_utf8(p.name.clone()).unwrap()).collect();
        assert_eq!(keys(&over_memory(&archive(&parts)).unwrap()), expected);
    }
}

#[test]
fn what_was_flushed_is_read_and_appended_to() {
    let folder = Folder::new();
    let path = folder.file("deep/er/x.zip");
    let store = writer(&path);
    assert!(!path.exists(), "nothing is made before the first put");
    store.flush().unwrap();
    put(&store, "zarr.json", GROUP);
    put(&store, "c/0", b"first");
    put(&store, "c/0", b"second");
    store.flush().unwrap();
    put(&store, "c/1", b"1");
    assert_eq!(keys(&store), ["c/0", "c/1", "zarr.json"], "the writer reads what it put");
    assert_eq!(reader(&path).unwrap_err().kind(), ErrorKind::Truncated, "between put and flush there is no end record");
    store.flush().unwrap();
    assert_eq!(keys(&reader(&path).unwrap()), ["c/0", "c/1", "zarr.json"]);
    let len = std::fs::metadata(&path).unwrap().len();
    store.flush().unwrap();
    drop(store);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), len, "a flush without a change writes nothing");
    let again = writer(&path);
    put(&again, "c/1", b"one");
    drop(again);
    assert_eq!(content(&reader(&path).unwrap())[1], ("c/1".to_string(), b"one".to_vec()), "dropping finishes, too");
    assert_eq!(std::fs::metadata(folder.with("empty.zip", b"")).unwrap().len(), 0);
    let none = reader(&folder.file("empty.zip")).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound, "made by a writer that stored nothing: {none}");
    let empty = writer(&folder.file("empty.zip"));
    put(&empty, "k", b"1");
    drop(empty);
    assert_eq!(keys(&reader(&folder.file("empty.zip")).unwrap()), ["k"], "an empty file is a new archive");
    assert_eq!(reader(&folder.file("none.zip")).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_reader_takes_what_others_have_flushed_when_it_reads_a_document_or_lists_or_misses_a_key() {
    let (folder, path, store) = new_archive();
    put(&store, "zarr.json", GROUP);
    put(&store, "c/0", b"first");
    put(&store, "last", b"");
    store.flush().unwrap();
    let early = reader(&path).unwrap();
    let value = |key: &str| get(&early, key, 99).unwrap();
    put(&store, "c/1", b"1");
    assert_eq!(keys(&early), ["c/0", "last", "zarr.json"], "until the flush it has what was there before");
    store.flush().unwrap();
    let first = early.open("c/0").unwrap().unwrap();
    assert_eq!(value("c/1").unwrap(), b"1", "who was told of it finds it");
    let same = early.open("c/0").unwrap().unwrap();
    assert_eq!(
        (first.version().unwrap(), first.still_current().unwrap()),
        (same.version().unwrap(), true),
        "what stayed is the same value"
    );
    put(&store, "c/0", b"second");
    assert_eq!(value("c/2"), None);
    store.flush().unwrap();
    assert_eq!(value("c/0").unwrap(), b"first", "as long as no document is read and nothing is missing it has what it knows");
    assert_eq!(value("zarr.json").unwrap(), GROUP);
    assert_eq!(keys(&early), ["c/0", "c/1", "last", "zarr.json"]);
    assert_eq!((value("c/0").unwrap(), first.still_current().unwrap()), (b"second".to_vec(), false));
    let mut old = [0; 5];
    first.read_exact_at(0, &mut old).unwrap();
    assert_eq!(&old, b"first", "an opened value stays what it was");
    // Another archive in its place.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(keys(&early).len(), 4, "of one that was removed a reader has all");
    put(&writer(&path), "zarr.json", b"another");
    assert_eq!(content(&early), [("zarr.json".to_string(), b"another".to_vec())]);
    folder.with("x.zip", &archive(&[stored("run.zarr/zarr.json", GROUP)]));
    assert_eq!(early.open("zarr.json").err().unwrap().kind(), ErrorKind::Conflict, "the root is another folder");
}

#[test]
fn an_archive_that_is_written_anew_in_its_file_is_read_anew_though_it_is_as_long_as_before() {
    let folder = Folder::new();
    let put = |name: &str, extra: usize| Part { extra: vec![0; extra], ..stored(name, name.as_bytes()) };
    let before = archive(&[put("a", 0), put("zarr.json", 0), put("b", 4)]);
    for after in [[put("b", 0), put("zarr.json", 0), put("a", 4)], [put("a", 4), put("zarr.json", 0), put("b", 0)]] {
        let path = folder.with("x.zip", &before);
        let store = reader(&path).unwrap();
        assert_eq!(content(&store).len(), 3);
        // A step of the clock of files.
        std::thread::sleep(Duration::from_millis(30));
        folder.with("x.zip", &archive(&after));
        assert!(store.open("zarr.json").unwrap().is_some());
        for (key, value) in content(&store) {
            assert_eq!(key.as_bytes(), value);
        }
    }
}

#[test]
fn an_archive_keeps_its_comment() {
    let folder = Folder::new();
    let of_ome = |first: &str| format!(r#"{{"ome":{{"version":"0.5","zipFile":{{"centralDirectory":{{"jsonFirst": {first}}}}}}}}}"#);
    let cases = [
        (String::new(), String::new()),
        ("by hand".into(), "by hand".into()),
        (of_ome("true"), of_ome("false")),
        (of_ome("1"), of_ome("1")),
    ];
    for (before, after) in cases {
        let whole = with_comment(archive(&[stored("zarr.json", GROUP)]), before.as_bytes());
        let path = folder.with("x.zip", &whole);
        let store = writer(&path);
        put(&store, "a", b"1");
        let torn = std::fs::read(&path).unwrap();
        drop(store);
        let repaired = folder.with("torn.zip", &torn);
        assert!(repair(&repaired).unwrap().changed);
        for path in [&path, &repaired] {
            let bytes = std::fs::read(path).unwrap();
            let found = directory::find(bytes.len() as u64, &|at, len| read_slice(&bytes, at, len)).unwrap();
            assert_eq!((String::from_utf8(found.comment).unwrap(), found.count), (after.clone(), 2), "{before}");
            assert_eq!(keys(&reader(path).unwrap()), ["a", "zarr.json"]);
        }
    }
}

#[test]
fn one_writer_has_the_file() {
    let (folder, path) = named_archive();
    let shared = |path: &Path, writable| open_shared(path, writable, SyncMode::None).unwrap();
    let a = shared(&path, true);
    let b = shared(&folder.file("./x.zip"), true);
    put(&*a, "k", b"1");
    put(&*b, "l", b"2");
    assert_eq!(keys(&*shared(&path, false)), ["k", "l"], "handles of one process share a store");
    a.flush().unwrap();
    let other = writer(&path);
    let e = other.put("m", &[b"3"], Condition::None).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Again, "another description of the file cannot lock it: {e}");
    let e = other.put("m", &[b"3"], Condition::Absent).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Again, "a key that holds nothing is no conflict: {e}");
    assert_eq!(repair(&path).unwrap_err().kind(), ErrorKind::Conflict);
    drop((a, b));
    // The length differs from the one that the directory was read at.
    let late = writer(&path);
    let soon = writer(&path);
    put(&soon, "m", b"3");
    drop(soon);
    assert!(late.put("n", &[b"4"], Condition::None).unwrap_err().to_string().contains("was changed by another program"));
    assert_eq!(keys(&reader(&path).unwrap()), ["k", "l", "m"]);
    assert_eq!(repair(&path).unwrap(), Repaired { keys: 3, lost: 0, cut: 0, changed: false });
}

#[test]
fn who_only_reads_keeps_no_one_from_writing_and_sees_what_others_flush_once_the_writer_is_gone() {
    let folder = Folder::new();
    for (name, begins) in [("new.zip", &[][..]), ("old.zip", &[stored("a/zarr.json", GROUP)][..])] {
        let path = folder.file(name);
        if !begins.is_empty() {
            folder.with(name, &archive(begins));
        }
        let shared = |writable| open_shared(&path, writable, SyncMode::None).unwrap();
        for puts in [true, false] {
            let before = shared(true);
            if puts {
                put(&*before, "zarr.json", GROUP);
            }
            let early = shared(false);
            let key = if puts { "k" } else { "l" };
            if puts {
                put(&*before, "first", b"1");
                assert_eq!(get(&*early, "first", 9).unwrap().unwrap(), b"1", "{name}: handles of one process read what is not flushed");
            }
            let value = early.open("zarr.json").unwrap().unwrap();
            drop(before);
            let other = writer(&path);
            put(&other, key, b"2");
            other.flush().unwrap();
            assert_eq!(get(&*early, key, 9).unwrap().unwrap(), b"2", "{name}");
            let same = early.open("zarr.json").unwrap().unwrap();
            assert_eq!(value.version().unwrap(), same.version().unwrap(), "{name}: what is there still is the same value");
        }
    }
}

#[cfg(unix)]
#[test]
fn an_archive_is_one_by_each_of_its_names_before_and_after_it_is_made() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("there")).unwrap();
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, folder.file(name)).unwrap();
    link("there", "link");
    link("there/../there/dangling.zip", "latest.zip");
    link("round.zip", "round.zip");
    for (name, other) in [
        ("link/../out/x.zip", "out/x.zip"),
        ("link/new/er/x.zip", "there/new/er/x.zip"),
        ("gone/../gone/./x.zip", "gone/x.zip"),
        ("latest.zip", "there/dangling.zip"),
    ] {
        let shared = |name: &str| open_shared(&folder.file(name), true, SyncMode::None).unwrap();
        let (first, before) = (shared(name), shared(other));
        put(&*first, "a", b"1");
        put(&*before, "b", b"2");
        for name in [name, other] {
            assert!(Arc::ptr_eq(&first, &shared(name)), "{name}");
        }
    }
    assert!(open_shared(&folder.file("round.zip"), true, SyncMode::None).is_err());
    let long = folder.file(&"a/".repeat(1 << 20));
    assert!(open_shared(&long, false, SyncMode::None).is_err());
}

#[test]
fn while_the_first_put_makes_the_file_who_opens_the_archive_keeps_no_one_else_from_the_gate() {
    let (_folder, path) = named_archive();
    let store = Arc::new(writer(&path));
    assert!(shared::open_already(&path, Some(&store)).unwrap().is_none());
    // What a first put has until the file is there, which it needs the gate for.
    let begun = store.lock_writer(store.append.as_ref().unwrap()).unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| open_shared(&path, true, SyncMode::None).unwrap().describe());
        // Time for the other thread to come to where it waits; however long that takes, nothing is told that is not so.
        std::thread::sleep(Duration::from_millis(50));
        let (sender, receiver) = std::sync::mpsc::channel();
        scope.spawn(move || {
            drop(fork::hold());
            sender.send(())
        });
        let free = receiver.recv_timeout(Duration::from_secs(20));
        drop(begun);
        assert!(free.is_ok(), "the gate is held by who waits for the put");
        assert_eq!(opened.join().unwrap(), store.describe());
    });
}

#[test]
fn threads_that_begin_with_one_archive_share_it() {
    for round in 0..20 {
        let (_folder, path) = named_archive();
        let begin = &|i: usize| {
            let store = open_shared(&path, true, SyncMode::Batch).unwrap();
            put(&*store, &i.to_string(), b"1");
            store
        };
        let all: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|i| scope.spawn(move || begin(i))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        all.iter().for_each(|store| assert_eq!(keys(&**store), ["0", "1", "2", "3"], "round {round}"));
    }
}

#[test]
fn a_thread_that_opens_an_archive_waits_until_the_last_handle_of_others_is_gone() {
    let (_folder, path) = named_archive();
    let shared = |writable| open_shared(&path, writable, SyncMode::None).unwrap();
    let store = shared(true);
    (0..2000).for_each(|i| put(&*store, &format!("f/{i}"), b"1"));
    drop(store);
    let put_and_free = &|name: &str| {
        for i in 0..60 {
            put(&*shared(true), &format!("{name}/{i}"), b"1");
        }
    };
    std::thread::scope(|scope| {
        for name in ["a", "b", "c"] {
            scope.spawn(move || put_and_free(name));
        }
        for _ in 0..60 {
            assert!(get(&*shared(false), "f/0", 9).unwrap().is_some());
        }
    });
    assert_eq!(keys(&*shared(false)).len(), 2180);
}

#[test]
fn an_archive_that_another_program_replaced_is_read_anew_while_a_handle_is_open() {
    let (folder, path) = named_archive();
    let shared = |writable| open_shared(&path, writable, SyncMode::None).unwrap();
    for first in [None, Some(b"1")] {
        let _ = std::fs::remove_file(&path);
        if let Some(value) = first {
            put(&writer(&path), "k", value);
        }
        let before = shared(true);
        let other = folder.file("other.zip");
        put(&writer(&other), "k", b"2");
        std::fs::rename(&other, &path).unwrap();
        assert_eq!(get(&*shared(false), "k", 9).unwrap().unwrap(), b"2");
        assert_eq!(before.put("l", &[b"3"], Condition::None).unwrap_err().kind(), ErrorKind::Conflict);
        let anew = shared(true);
        put(&*anew, "l", b"3");
        assert_eq!(keys(&*shared(true)), ["k", "l"], "what has it open now is shared");
    }
    let lengthened = shared(true);
    drop(writer(&path).put("m", &[b"4"], Condition::None));
    assert_eq!((keys(&*shared(true)), keys(&*lengthened)), (vec!["k".into(), "l".into(), "m".into()], vec!["k".into(), "l".into()]));
}

#[test]
fn what_another_program_appends_meanwhile_is_not_written_over() {
    let (folder, path) = named_archive();
    let shared = || open_shared(&path, true, SyncMode::None).unwrap();
    for (before, after) in [(false, true), (true, true), (true, false)] {
        let _ = std::fs::remove_file(&path);
        let store = shared();
        put(&*store, "k", b"1");
        store.flush().unwrap();
        std::fs::copy(&path, folder.file("y.zip")).unwrap();
        put(&writer(&folder.file("y.zip")), "theirs", &[b'2'; 200]);
        let theirs = std::fs::read(folder.file("y.zip")).unwrap();
        if before {
            put(&*store, "l", b"3");
        }
        folder.with("x.zip", &theirs);
        if after {
            let anew = shared();
            assert_eq!(Arc::ptr_eq(&anew, &store), before, "what is not flushed is read on");
            let found = get(&*anew, "theirs", 999).unwrap();
            assert_eq!(found.is_some(), !before);
            assert_eq!(store.flush().is_ok(), !before, "nothing waits of a handle that has flushed all");
        }
        if !before {
            assert_eq!(store.put("l", &[b"3"], Condition::None).unwrap_err().kind(), ErrorKind::Conflict);
        }
        let e = store.flush().unwrap_err();
        assert!(e.kind() == ErrorKind::Conflict && e.message().contains("by another program"), "{e}");
        assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::Conflict, "it stays so");
        drop(store);
        assert_eq!(std::fs::read(&path).unwrap(), theirs, "{before} {after}");
        let again = shared();
        assert_eq!(keys(&*again), ["k", "theirs"]);
        put(&*again, "l", b"4");
        again.flush().unwrap();
        // A program that opens it anew writes to it though the handle from before is there still.
        folder.with("x.zip", &theirs);
        let anew = shared();
        put(&*anew, "m", b"5");
        drop((again, anew));
        assert_eq!(keys(&*shared()), ["k", "m", "theirs"]);
    }
}

#[test]
fn what_was_put_into_an_archive_that_is_gone_by_then_is_not_said_to_be_stored() {
    let (folder, path, store) = new_archive();
    put(&store, "k", b"1");
    store.flush().unwrap();
    std::fs::rename(&path, folder.file("y.zip")).unwrap();
    put(&store, "l", b"2");
    store.flush().unwrap();
    std::fs::remove_file(folder.file("y.zip")).unwrap();
    store.flush().unwrap();
    put(&store, "m", b"3");
    let e = store.flush().unwrap_err();
    assert!(e.kind() == ErrorKind::Io && e.message().contains("x.zip was removed while it was open"), "{e}");
}

#[test]
fn where_the_file_cannot_be_looked_at_it_is_not_said_to_be_gone_and_its_store_is_shared_on() {
    let (_folder, path) = named_archive();
    let shared = || open_shared(&path, true, SyncMode::None);
    let blind = fault::Fault { times: 1000, ..fault::fail(Call::Stat, libc::EIO) };
    let store = shared().unwrap();
    // Before the first put makes a writer, and after it.
    for key in ["k", "l", "m"] {
        let (other, _) = fault::with(&[blind], shared);
        assert_eq!(other.as_ref().err().map(Error::os_errno), Some(libc::EIO), "{key}");
        let again = shared().unwrap();
        assert!(Arc::ptr_eq(&again, &store), "{key}");
        put(&*again, key, b"1");
        let (flushed, _) = fault::with(&[blind], || store.flush());
        flushed.unwrap();
        store.flush().unwrap();
    }
    assert_eq!(keys(&reader(&path).unwrap()), ["k", "l", "m"]);
}

#[test]
fn a_child_of_fork_reads_and_never_writes() {
    let (_folder, path) = named_archive();
    let store = open_shared(&path, true, SyncMode::None).unwrap();
    put(&*store, "k", b"1");
    let before = std::fs::read(&path).unwrap();
    // SAFETY: the child touches the store and the file only, and ends by `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let reads = get(&*store, "k", 9).is_ok_and(|found| found.as_deref() == Some(b"1"));
        let refused = store.put("l", &[b"2"], Condition::None).is_err_and(|e| e.kind() == ErrorKind::Forked);
        let flushed = store.flush().is_ok();
        let alone = open_shared(&path, true, SyncMode::None).is_err();
        drop(store);
        let same = std::fs::read(&path).is_ok_and(|now| now == before);
        let locked = repair(&path).is_err_and(|e| e.kind() == ErrorKind::Conflict);
        // SAFETY: ends the child.
        unsafe { libc::_exit(if reads && refused && flushed && alone && same && locked { 42 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is an int.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    assert_eq!(libc::WEXITSTATUS(status), 42);
    put(&*store, "l", b"2");
    drop(store);
    assert_eq!(keys(&reader(&path).unwrap()), ["k", "l"]);
}

#[test]
fn failed_writes_lose_nothing_that_was_there() {
    let (_folder, path, store) = new_archive();
    put(&store, "a", b"1");
    let full = fault::fail(Call::Write, libc::ENOSPC);
    let is_told = |e: Error| e.kind() == ErrorKind::NoSpace && e.message().contains(path.to_str().unwrap());
    for after in 0..2 {
        let (result, left) = fault::with(&[fault::Fault { after, ..full }], || store.put("b", &[b"22"], Condition::None));
        assert!(is_told(result.unwrap_err()) && left == 0, "{after}");
    }
    assert_eq!(keys(&store), ["a"]);
    let (result, _) = fault::with(&[full], || store.flush());
    assert!(is_told(result.unwrap_err()), "a directory that was not written is told");
    put(&store, "c", b"3");
    let (result, _) = fault::with(&[fault::Fault { effect: fault::Effect::Short(3), times: 1000, ..full }], || store.flush());
    result.unwrap();
    assert_eq!(keys(&reader(&path).unwrap()), ["a", "c"]);
    drop(store);
    let store = ZipStore::open(&path, true, SyncMode::Batch).unwrap();
    put(&store, "d", b"4");
    let (result, _) = fault::with(&[fault::fail(Call::Sync, libc::EIO)], || store.flush());
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::Io, "a failed sync is told again");
    assert_eq!(keys(&reader(&path).unwrap()), ["a", "c", "d"], "and what can be done is done");
}

fn len_of(path: &Path) -> usize {
    std::fs::metadata(path).unwrap().len() as usize
}

/// Puts small values one by one, each followed by a flush; what the archive has at most by then: its directory, and twice what the entries take.
fn put_and_flush(store: &ZipStore, numbers: std::ops::Range<usize>) -> usize {
    for i in numbers.clone() {
        put(store, &format!("{i:04}"), &[7; 20]);
        store.flush().unwrap();
    }
    numbers.end * (2 * (30 + 4 + 20) + 46 + 4) + 22
}

#[test]
fn directories_take_no_more_bytes_than_the_entries_however_often_an_archive_is_flushed() {
    let (folder, path, store) = new_archive();
    let most = put_and_flush(&store, 0..500);
    assert!(len_of(&path) <= most, "{} of {most}", len_of(&path));
    drop(store);
    for i in 500..700 {
        let most = put_and_flush(&writer(&path), i..i + 1);
        assert!(len_of(&path) <= most, "reopened for {i}: {} of {most}", len_of(&path));
    }
    assert_eq!(keys(&reader(&path).unwrap()).len(), 700);
    // Behind large values it keeps its place, and so does one that tells more than the entries.
    let large = stored("large", &[1; 1000]);
    let streamed = Part { streamed: true, ..deflated("small", b"") };
    let commented = with_comment(archive(&[stored("small", b"")]), b"by hand");
    for before in
        [archive(&[large]), archive(&[streamed]), archive(&[deflated("small", b"")]), commented, archive(&[stored("small/", b"")])]
    {
        let path = folder.with("other.zip", &before);
        let store = writer(&path);
        for _ in 0..9 {
            put(&store, "k", b"1");
            assert!(std::fs::read(&path).unwrap().starts_with(&before));
            store.flush().unwrap();
        }
    }
}

#[test]
fn what_was_flushed_is_saved_where_a_writer_dies_while_an_entry_takes_the_place_of_the_directory() {
    let (folder, path, store) = new_archive();
    for i in 0..30 {
        put_and_flush(&store, i..i + 1);
        let (flushed, before) = (std::fs::read(&path).unwrap(), content(&store));
        put(&store, "0000", &[b'0' + i as u8; 3]);
        let after = content(&store);
        let torn = std::fs::read(&path).unwrap();
        let entry = torn.len() - (30 + 4 + 3);
        assert!(torn[..entry] == flushed[..entry]);
        for cut in entry..=torn.len() {
            let file = folder.with("cut.zip", &torn[..cut]);
            assert_eq!(repair(&file).unwrap().keys as usize, before.len());
            let expected = if cut < torn.len() { &before } else { &after };
            assert!(content(&reader(&file).unwrap()) == *expected, "{i}: cut at {cut}");
            // The system lost the power and what it had cut off.
            if let Some(rest) = flushed.get(cut..) {
                let file = folder.with("cut.zip", &[&torn[..cut], rest].concat());
                repair(&file).unwrap();
                assert!(content(&reader(&file).unwrap()) == *expected, "{i}: {cut} bytes written");
            }
        }
        store.flush().unwrap();
    }
    assert!(len_of(&path) < 60 * 2 * 60 + 30 * 50);
}

#[test]
fn what_was_refused_when_it_was_written_already_is_no_entry_to_a_repair() {
    let (folder, path, store) = new_archive();
    for last in [b"x".as_slice(), b""] {
        put_and_flush(&store, 0..9);
        put(&store, "a", b"flushed");
        // Another writer of this process has put it meanwhile; then something comes behind it, so that its bytes stay.
        let refused = store.writer().unwrap().append("a", &EntryValue::of(&[b"refused"]), |_, _| {
            put(&store, "b", b"1");
            Err(err!(Conflict, "it was replaced"))
        });
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
        put(&store, "c", last);
        store.flush().unwrap();
        let flushed = content(&store);
        // The writer dies while an entry is put behind that, whether or not that takes the place of the directory.
        put(&store, "d", &[1; 50]);
        let torn = std::fs::read(&path).unwrap();
        for cut in 0..20 {
            let file = folder.with("cut.zip", &torn[..torn.len() - 50 - cut]);
            repair(&file).unwrap();
            assert!(content(&reader(&file).unwrap()) == flushed, "{cut}");
        }
    }
}

#[test]
fn a_directory_that_an_entry_took_the_place_of_is_put_back_where_no_newer_one_can_be_written() {
    let (_folder, path) = named_archive();
    let full = fault::fail(Call::Write, libc::ENOSPC);
    for opened_again in [false, true] {
        let mut store = writer(&path);
        put_and_flush(&store, 0..9);
        if opened_again {
            drop(store);
            store = writer(&path);
        }
        let (before, flushed) = (std::fs::read(&path).unwrap(), content(&store));
        // What fails: to take the place, the header, the value.
        for after in 0..3 {
            let (put, left) = fault::with(&[fault::Fault { after, ..full }], || store.put("k", &[b"1"], Condition::None));
            assert_eq!((put.unwrap_err().kind(), left), (ErrorKind::NoSpace, 0));
            let (flushed, _) = fault::with(&[full], || store.flush());
            assert_eq!(flushed.is_err(), after > 0, "nothing is there to be put back, or that fails");
            store.flush().unwrap();
            assert!(std::fs::read(&path).unwrap() == before, "{after}");
        }
        put(&store, "k", &[1; 1000]);
        assert!(!std::fs::read(&path).unwrap().starts_with(&before), "it has the place");
        let (flush, left) = fault::with(&[full], || store.flush());
        assert_eq!((flush.unwrap_err().kind(), left), (ErrorKind::NoSpace, 0));
        let ((), left) = fault::with(&[full], || drop(store));
        assert!(left == 0 && std::fs::read(&path).unwrap() == before);
        // Nor that.
        let store = writer(&path);
        put(&store, "k", b"1");
        fault::with(&[fault::Fault { times: 1000, ..full }], || drop(store));
        assert!(reader(&path).is_err() && repair(&path).unwrap().changed);
        let saved = content(&reader(&path).unwrap());
        assert!(saved.starts_with(&flushed) && saved.len() == 10);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn who_reads_while_entries_take_the_place_of_directories_finds_what_was_flushed_or_that_it_is_being_written() {
    let (_folder, path, store) = new_archive();
    put_and_flush(&store, 0..1);
    let early = reader(&path).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let read = || {
            let mut least = 1;
            while !is_over.load(Ordering::Acquire) {
                match reader(&path) {
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Truncated, "{e}"),
                    Ok(late) => {
                        let count = content(&late).len();
                        assert!(count >= least);
                        least = count;
                    }
                }
                assert!(!keys(&early).is_empty());
            }
        };
        let threads = [scope.spawn(read), scope.spawn(read)];
        put_and_flush(&store, 1..1500);
        is_over.store(true, Ordering::Release);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(keys(&early).len(), 1500);
    // What a directory is taken for of which only a part was there still.
    let late = reader(&path).unwrap();
    for (opened, kind) in [(&store, ErrorKind::Truncated), (&late, ErrorKind::Metadata)] {
        let seen = opened.content.read(|content| content.seen.unwrap());
        assert_eq!(super::write::while_written(err!(Metadata, "damaged"), &path, &seen).kind(), kind);
    }
}

#[test]
fn from_afar_each_value_is_one_request() {
    let value: Vec<u8> = (0..200_000u32).map(|i| (i / 3) as u8).collect();
    let mut odd = stored("odd", &value);
    odd.extra = [&[9u8, 9, 200, 0][..], &[7; 200]].concat();
    let memory = Arc::new(MemoryStore::new());
    // An entry that is said to be small, and is not.
    let bloated = part("bloated", &[0; 10], vec![1; 3 << 20], DEFLATED);
    memory.put("x.zip", &[&archive(&[stored("s", &value), deflated("d", &value), odd, bloated])], Condition::None).unwrap();
    let far = Arc::new(LatencyStore::new(memory.clone(), Duration::from_millis(1)));
    let store = ZipStore::over(far.clone(), "x.zip").unwrap();
    assert!(store.capabilities().latency && !store.capabilities().writable);
    assert_eq!(far.stats().requests, 2, "the length and the tail");
    let span = |offset, len| ByteRange::Span { offset, len };
    let cases: &[(&str, &[ByteRange], u64)] = &[
        ("s", &[ByteRange::Suffix { len: 16 }, span(5, 10)], 1),
        ("s", &[ByteRange::WHOLE], 1),
        ("d", &[span(5, 10), span(0, 0)], 1),
        ("d", &[ByteRange::WHOLE], 1),
        ("odd", &[span(5, 10)], 2),
        ("odd", &[ByteRange::WHOLE], 1),
        ("none", &[ByteRange::WHOLE], 0),
        ("s", &[span(199_999, 2)], 0),
        ("s", &[ByteRange::up_to(200_000)], 1),
        ("s", &[ByteRange::up_to(199_999)], 0),
        ("s", &[span(5, 10), ByteRange::up_to(199_999)], 0),
        ("d", &[ByteRange::up_to(199_999)], 0),
        ("bloated", &[ByteRange::up_to(10)], 0),
        ("bloated", &[span(5, 1)], 0),
    ];
    for (key, ranges, requests) in cases {
        let before = far.stats().requests;
        let (sender, receiver) = std::sync::mpsc::channel();
        store.start_read(key, ranges, None, Box::new(move |result| sender.send(result).unwrap()));
        let found = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        let expected = super::super::read_now(&over_memory(&get(&*memory, "x.zip", 1 << 30).unwrap().unwrap()).unwrap(), key, ranges, None);
        let parts = |r: Result<Option<crate::store::Fetched>>| r.map(|f| f.map(|f| f.parts)).map_err(|e: Error| e.kind());
        assert!(parts(found) == parts(expected), "{key} {ranges:?}");
        assert_eq!(far.stats().requests - before, *requests, "{key} {ranges:?}");
    }
    memory.put("x.zip", &[b"another"], Condition::None).unwrap();
    assert_eq!(get(&store, "s", 1 << 20).unwrap_err().kind(), ErrorKind::Conflict, "an archive that was replaced is not mixed up");
}

#[test]
fn the_lock_goes_with_the_writer() {
    let (_folder, path, store) = new_archive();
    put(&store, "k", b"1");
    drop(store);
    let fd = os::open(CWD, &c_path(&path).unwrap(), libc::O_RDWR, 0).unwrap();
    os::try_lock_byte(fd.as_fd(), super::written_file::LOCK_BYTE).unwrap();
}

/// As where a program closes all descriptors (`closefrom`) and opens files of its own, which get their numbers.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_written_to_a_file_of_the_program_s_that_has_got_the_descriptor_s_number() {
    for is_flushed in [false, true] {
        let (folder, path, store) = new_archive();
        put(&store, "k", b"1");
        if is_flushed {
            store.flush().unwrap();
        }
        // Its length tells nothing.
        let theirs = vec![7; std::fs::metadata(&path).unwrap().len() as usize];
        let own = os::open(CWD, &c_path(&folder.with("own", &theirs)).unwrap(), libc::O_RDWR, 0).unwrap();
        let mut numbers: Vec<i32> = Vec::new();
        for entry in std::fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path()) {
            if std::fs::read_link(&entry).is_ok_and(|to| to == path) {
                let number = entry.file_name().unwrap().to_str().unwrap().parse().unwrap();
                // SAFETY: the store's descriptors become others of the file.
                assert_eq!(unsafe { libc::dup2(std::os::fd::AsRawFd::as_raw_fd(&own), number) }, number);
                numbers.push(number);
            }
        }
        let is_told =
            |e: Error| e.kind() == ErrorKind::Io && e.os_errno() == libc::EBADF && e.message().contains("was closed by the program");
        assert!(store.put("l", &[b"2"], Condition::None).is_err_and(is_told), "{is_flushed}");
        assert!(store.flush().is_err_and(is_told), "{is_flushed}");
        drop(store);
        assert_eq!(std::fs::read(folder.file("own")).unwrap(), theirs, "{is_flushed}");
        assert!(!numbers.is_empty());
        for number in numbers {
            // SAFETY: the program's descriptors are still open.
            assert_eq!(unsafe { libc::close(number) }, 0, "{is_flushed}");
        }
    }
}

#[test]
fn without_locks_of_the_file_system_an_archive_is_written_or_not_as_the_mode_says() {
    /// The mode, the error of the lock, and what a put gives: the errno that is told then, or its error's kind.
    type Row = (LockMode, i32, std::result::Result<i32, ErrorKind>);
    let cases: [Row; 7] = [
        (LockMode::Require, libc::ENOLCK, Err(ErrorKind::Io)),
        (LockMode::Require, libc::ENOTSUP, Err(ErrorKind::Io)),
        (LockMode::Try, libc::ENOLCK, Ok(libc::ENOLCK)),
        (LockMode::Try, libc::EINVAL, Ok(libc::EINVAL)),
        (LockMode::Try, libc::EPERM, Ok(libc::EPERM)),
        (LockMode::None, libc::ENOSYS, Ok(0)),
        (LockMode::None, libc::EAGAIN, Err(ErrorKind::Again)),
    ];
    for (mode, errno, expected) in cases {
        let folder = Folder::new();
        let options = FileOptions { lock: mode, ..FileOptions::default() };
        let store = ZipStore::open(&folder.file("x.zip"), true, options).unwrap();
        assert_eq!(store.capabilities().lock_refused, 0);
        let (done, left) = fault::with(&[fault::fail(Call::Lock, errno)], || store.put("k", &[b"1"], Condition::None));
        assert_eq!(
            (done.as_ref().map_err(|e| e.kind()).map(|()| store.capabilities().lock_refused), left),
            (expected, 0),
            "{mode:?} {errno}"
        );
        assert!(done.is_ok() || expected != Err(ErrorKind::Io) || done.unwrap_err().os_errno() == errno);
    }
}

#[test]
fn the_strictest_options_of_its_handles_hold_for_an_archive() {
    let options = |sync, lock| FileOptions { sync, lock, ..FileOptions::default() };
    let syncs = |store: &dyn Storage| {
        fault::count(Call::Sync, || {
            put(store, "k", b"1");
            store.flush().unwrap();
        })
    };
    let (_folder, path) = named_archive();
    let first = open_shared(&path, true, options(SyncMode::None, LockMode::None)).unwrap();
    let (done, left) = fault::with(&[fault::fail(Call::Lock, libc::ENOLCK)], || first.put("k", &[b"0"], Condition::None));
    assert_eq!((done.is_ok(), left, syncs(&*first), first.capabilities().lock_refused), (true, 0, 0, 0));
    let e = open_shared(&path, true, options(SyncMode::Each, LockMode::Require)).unwrap_err();
    assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::ENOLCK), "{e}");
    assert_eq!(syncs(&*first), 0, "who could not have it changes nothing");
    let second = open_shared(&path, true, options(SyncMode::Batch, LockMode::Try)).unwrap();
    let batch = syncs(&*second);
    assert!(batch > 0 && second.capabilities().lock_refused == libc::ENOLCK);
    let third = open_shared(&path, true, options(SyncMode::Each, LockMode::None)).unwrap();
    assert_eq!(syncs(&*third), batch + 1);
    open_shared(&path, true, options(SyncMode::None, LockMode::None)).unwrap();
    assert_eq!(syncs(&*first), batch + 1, "no handle takes away what another one asked for");
}

#[test]
fn an_archive_whose_flush_failed_is_the_one_from_before() {
    let (_folder, path, store) = new_archive();
    put(&store, "a", b"1");
    drop(store);
    let before = std::fs::read(&path).unwrap();
    let full = fault::fail(Call::Write, libc::ENOSPC);
    for after in 0..6 {
        let store = writer(&path);
        // Nothing was put in the end: the header, or the value, has no room.
        let (result, left) = fault::with(&[fault::Fault { after: after % 2, ..full }], || store.put("b", &[b"22"], Condition::None));
        assert_eq!((result.is_err(), left), (true, 0));
        if after < 2 {
            store.flush().unwrap();
        } else {
            put(&store, "c", b"3");
            let (result, _) = fault::with(&[fault::Fault { times: 2, ..full }], || store.flush());
            assert_eq!(result.unwrap_err().kind(), ErrorKind::NoSpace);
            // Closing tries again; at last the disk has no room for that, either.
            let ((), left) = fault::with(&[full], || drop(store));
            assert_eq!(left, 0);
        }
        assert!(std::fs::read(&path).unwrap() == before, "after {after}");
        assert_eq!(keys(&reader(&path).unwrap()), ["a"]);
    }
}

#[test]
fn a_new_archive_whose_first_entry_failed_is_none() {
    let (_folder, path) = named_archive();
    let full = fault::fail(Call::Write, libc::ENOSPC);
    for after in 0..2 {
        let store = writer(&path);
        let (result, left) = fault::with(&[fault::Fault { after, ..full }], || store.put("a", &[b"1"], Condition::None));
        assert_eq!((result.unwrap_err().kind(), left), (ErrorKind::NoSpace, 0));
        drop(store);
        assert_eq!(reader(&path).unwrap_err().kind(), ErrorKind::NotFound, "after {after}");
    }
    let store = writer(&path);
    put(&store, "a", b"1");
    drop(store);
    assert_eq!(keys(&reader(&path).unwrap()), ["a"]);
}

#[test]
fn no_archive_becomes_too_large_to_be_opened_again() {
    // By the number of its entries, and by the bytes of their records.
    for most in [DirectorySize { count: 4, ..MOST }, DirectorySize { bytes: 4 * (CENTRAL_LEN as u64 + MOST_EXTRA + 2), ..MOST }] {
        let (_folder, path) = named_archive();
        let opened = || {
            let mut store = writer(&path);
            store.append.as_mut().unwrap().most = most;
            store
        };
        let store = opened();
        (0..3).for_each(|i| put(&store, &format!("k{i}"), b"1"));
        (0..9).for_each(|_| put(&store, "k0", b"2"));
        drop(store);
        let store = opened();
        put(&store, "k3", b"1");
        let e = store.put("k4", &[b"1"], Condition::None).unwrap_err();
        assert!(e.kind() == ErrorKind::Limit && e.message().contains("exceeds the limit"), "{e}");
        assert_eq!(store.put("k4", &[b"1"], Condition::Absent).unwrap_err().kind(), ErrorKind::Limit);
        put(&store, "k3", b"3");
        store.flush().unwrap();
        drop(store);
        let expected = [("k0", b"2"), ("k1", b"1"), ("k2", b"1"), ("k3", b"3")].map(|(key, value)| (key.to_string(), value.to_vec()));
        assert_eq!(content(&reader(&path).unwrap()), expected);
    }
}

#[test]
fn archives_of_65535_entries_and_more_are_counted_in_zip64() {
    let (_folder, path) = named_archive();
    let mut there = 0;
    for entries in [65_534, 65_535, 65_536] {
        let store = writer(&path);
        (there..entries).for_each(|i| put(&store, &format!("{i:05}"), b""));
        drop(store);
        there = entries;
        let bytes = std::fs::read(&path).unwrap();
        let end = &bytes[bytes.len() - END_LEN as usize..];
        assert_eq!(u64::from(u16_at(end, 10)), u64::from(u16::MAX).min(entries), "{entries}");
        let has_zip64 = bytes[..bytes.len() - END_LEN as usize].ends_with(&1u32.to_le_bytes())
            && bytes[bytes.len() - (END_LEN + LOCATOR64_LEN) as usize..].starts_with(LOCATOR64);
        assert_eq!(has_zip64, entries >= 65_535, "{entries}: 65,535 in 16 bits means that zip64 has the number");
        assert_eq!(keys(&reader(&path).unwrap()).len() as u64, entries);
    }
}
