//! Stores around other stores: each hands every method on to the store inside, but those that it answers in its own way.

use super::cache::CacheStore;
use super::latency::LatencyStore;
use super::local::staged_file::StagedFile;
use super::local::{LocalStore, SyncMode};
use super::prefix::PrefixStore;
use super::root_last::RootLast;
use super::zip::ZipStore;
use super::*;
use crate::error::Result;
use crate::store::suite::TestFolder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A store that counts the calls of its methods by name.
struct Counting {
    inner: LocalStore,
    calls: Mutex<BTreeMap<&'static str, usize>>,
}

impl Counting {
    fn new(root: &Path) -> Arc<Counting> {
        Arc::new(Counting { inner: LocalStore::open(root, true, SyncMode::None).unwrap(), calls: Mutex::default() })
    }

    fn came(&self, name: &'static str) -> &LocalStore {
        *self.calls.lock().unwrap_or_else(PoisonError::into_inner).entry(name).or_default() += 1;
        &self.inner
    }

    fn files(&self, name: &'static str) -> &dyn LocalFiles {
        Storage::files(self.came(name)).unwrap()
    }
}

impl Storage for Counting {
    fn capabilities(&self) -> Capabilities {
        Capabilities { retries: 7, ..self.came("capabilities").capabilities() }
    }
    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.came("open").open(key)
    }
    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        self.came("read_all").read_all(key, max)
    }
    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.came("put").put(key, parts, condition)
    }
    fn stage(&self, key: &str) -> Result<Staged> {
        self.came("stage").stage(key)
    }
    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        self.came("erase_keys").erase_keys(keys)
    }
    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        self.came("list_keys").list_keys(prefix, into)
    }
    fn flush(&self) -> Result<()> {
        self.came("flush").flush()
    }
    fn lock_key(&self, prefix: &str, key: &str, lock_use: LockUse) -> Result<Option<ProcessLock>> {
        self.came("lock_key").lock_key(prefix, key, lock_use)
    }
    fn start(&self, key: &str, what: Started<'_>) {
        self.came("start").start(key, what)
    }
    fn files(&self) -> Option<&dyn LocalFiles> {
        Some(self)
    }
    fn describe(&self) -> String {
        self.came("describe").describe()
    }
}

impl LocalFiles for Counting {
    fn folder(&self, prefix: &str) -> Folder {
        self.files("folder").folder(prefix)
    }
    fn is_there(&self, folder: &Folder, prefix: &str) -> bool {
        self.files("is_there").is_there(folder, prefix)
    }
    fn folder_numbers(&self, prefix: &str) -> Result<Option<[u64; 2]>> {
        self.files("folder_numbers").folder_numbers(prefix)
    }
    fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>> {
        self.files("open_in").open_in(folder, key)
    }
    fn stamp(&self, key: &str) -> Result<Option<Stamp>> {
        self.files("stamp").stamp(key)
    }
    fn holds(&self, key: &str, old: &Object) -> Result<bool> {
        self.files("holds").holds(key, old)
    }
    fn put_over(&self, key: &str, parts: &[&[u8]], check: Check<'_>) -> Result<()> {
        self.files("put_over").put_over(key, parts, check)
    }
    fn file(&self, key: &str) -> Option<PathBuf> {
        self.files("file").file(key)
    }
    fn link(&self, key: &str, file: &Path, replaces: bool) -> Result<bool> {
        self.files("link").link(key, file, replaces)
    }
    fn rename_prefix(&self, from: &str, to: &str) -> Result<bool> {
        self.files("rename_prefix").rename_prefix(from, to)
    }
    fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>, done: &mut dyn FnMut()) -> Result<bool> {
        self.files("replace_prefix").replace_prefix(prefix, build, done)
    }
    fn check_erase(&self, prefix: &str) -> Result<()> {
        self.files("check_erase").check_erase(prefix)
    }
    fn note_cut(&self, prefix: &str) -> Result<()> {
        self.files("note_cut").note_cut(prefix)
    }
    fn sync_first(&self, key: &str) -> Result<()> {
        self.files("sync_first").sync_first(key)
    }
    fn cut_mark(&self, prefix: &str, keep: bool) -> Result<Option<CutMark>> {
        self.files("cut_mark").cut_mark(prefix, keep)
    }
    fn publish(&self, key: &str, staged: Box<StagedFile>) -> Result<()> {
        self.files("publish").publish(key, staged)
    }
}

/// Calls a method of a store, with keys below `p/`.
type Use = fn(&dyn Storage);

/// Every method of [`Storage`] and [`LocalFiles`], and a use of it that must succeed.
const USES: &[(&str, Use)] = &[
    ("capabilities", |s| assert_eq!(s.retries(), 7)),
    ("put", |s| s.put("p/k", &[b"1"], Condition::None).unwrap()),
    ("open", |s| assert!(s.open("p/k").unwrap().is_some())),
    ("read_all", |s| assert_eq!(s.read_all("p/k", 9).unwrap().unwrap(), b"1")),
    ("folder", |s| assert!(matches!(s.folder("p/"), Folder::Open { .. } | Folder::Unknown))),
    ("is_there", |s| assert!(s.is_there(&s.folder("p/"), "p/"))),
    ("folder_numbers", |s| assert!(s.folder_numbers("p/").is_ok())),
    ("open_in", |s| assert!(s.open_in(&s.folder("p/"), "p/k").unwrap().is_some())),
    ("stamp", |s| assert_eq!(s.stamp("p/k").unwrap().unwrap().len, 1)),
    ("holds", |s| assert!(s.holds("p/k", &s.open("p/k").unwrap().unwrap()).unwrap())),
    ("put_over", |s| assert!(s.files().is_none_or(|files| files.put_over("p/k", &[b"1"], &|| Ok(())).is_ok()))),
    ("file", |s| drop(s.file("p/k"))),
    ("list_keys", |s| s.list("p/", &mut |_| Ok(())).unwrap()),
    ("list_keys", |s| assert_eq!(s.list_dir("p/").unwrap().keys, ["k"])),
    ("lock_key", |s| drop(s.lock_key("p/", "p/k", LockUse::Rare).unwrap())),
    ("note_cut", |s| s.note_cut("p/").unwrap()),
    ("sync_first", |s| s.sync_first("k").unwrap()),
    ("cut_mark", |s| assert!(s.cut_mark("p/", true).unwrap().is_none())),
    ("start", |s| s.start_read("p/k", &[ByteRange::WHOLE], None, Box::new(|read| assert!(read.is_ok())))),
    ("start", |s| s.start_change("p/k", Change::Put(vec![2], Condition::None), Box::new(|put| put.unwrap()))),
    ("stage", |s| drop(s.stage("p/k").unwrap())),
    ("publish", |s| s.publish("p/k", s.stage("p/k").unwrap()).unwrap()),
    ("link", |s| assert!(s.link("p/l", &s.file("p/k").unwrap_or_default(), true).is_ok())),
    ("flush", |s| s.flush().unwrap()),
    ("erase_keys", |s| assert!(s.erase("p/k").unwrap())),
    ("rename_prefix", |s| assert!(s.rename_prefix("p/", "q/").is_ok())),
    ("replace_prefix", |s| assert!(s.replace_prefix("q/", &mut |new| new.put("k", &[b"3"], Condition::None), &mut || ()).is_ok())),
    ("check_erase", |s| s.check_erase("q/").unwrap()),
    ("erase_keys", |s| s.erase_prefix("p/").unwrap()),
    ("describe", |s| assert!(!s.describe().is_empty())),
];

/// The names of the methods of a trait in `interface.rs`.
fn methods(of: &str) -> Vec<&'static str> {
    let text = include_str!("interface.rs");
    let body = &text[text.find(&format!("pub trait {of}")).unwrap()..];
    let body = &body[..body.find("\n}\n").unwrap()];
    body.lines().filter_map(|line| line.strip_prefix("    fn ")?.split('(').next()).collect()
}

#[test]
fn a_store_has_twelve_methods_and_each_has_a_use_here() {
    let of_all = methods("Storage");
    assert!(of_all.contains(&"open") && of_all.len() <= 12, "{of_all:?}");
    let used: Vec<_> = USES.iter().map(|(name, _)| *name).collect();
    for name in of_all.iter().chain(&methods("LocalFiles")).filter(|name| **name != "files") {
        assert!(used.contains(name), "{name} has no row in USES");
    }
}

/// Checks that a wrapper hands each method on to the same method of the store inside, but for those in `own`, and why these are not.
fn check_wrapper(name: &str, wrap: fn(SharedStore) -> Arc<dyn Storage>, own: &[(&str, &str)]) {
    let root = TestFolder::new(&format!("wrappers-{name}"));
    let inside = Counting::new(&root);
    let wrapper = wrap(inside.clone());
    let mut forgotten = Vec::new();
    for (method, call) in USES {
        inside.calls.lock().unwrap().clear();
        call(&*wrapper);
        let came = inside.calls.lock().unwrap().get(method).copied().unwrap_or(0) > 0;
        if came == own.iter().any(|(own, _)| own == method) {
            forgotten.push(*method);
        }
    }
    drop(wrapper);
    assert_eq!(forgotten, [""; 0], "{name}: these are not handed on, or are and are listed as if they were not");
}

#[test]
fn a_store_around_another_hands_on_every_method() {
    check_wrapper("below", |inner| Arc::new(PrefixStore::below(inner, "a/").unwrap()), &[]);
    check_wrapper("above", |inner| Arc::new(PrefixStore::above(inner, "").unwrap()), &[]);
    check_wrapper("root-last", |inner| Arc::new(RootLast::new(inner)), &[]);
    let own = [("read_all", "reads by `start`, to keep what it read")];
    check_wrapper("cache", |inner| Arc::new(CacheStore::new(inner, 1 << 20)), &own);
    let slow = "a network has no files, and its requests are made by the methods that take time";
    let own = [
        "folder",
        "is_there",
        "folder_numbers",
        "open_in",
        "stamp",
        "holds",
        "put_over",
        "file",
        "link",
        "rename_prefix",
        "replace_prefix",
        "check_erase",
        "note_cut",
        "sync_first",
        "cut_mark",
        "publish",
        "stage",
    ]
    .map(|method| (method, slow));
    let more = [("start", "reads and puts by its own methods, which take time")];
    check_wrapper("latency", |inner| Arc::new(LatencyStore::new(inner, Duration::ZERO)), &[&own[..], &more[..]].concat());
}

#[test]
fn a_part_of_a_folder_renames_at_once_and_a_cached_one_knows_its_files() {
    let root = TestFolder::new("wrapped-files");
    let local: SharedStore = Arc::new(LocalStore::open(&root, true, SyncMode::None).unwrap());
    local.put("part/old/k", &[b"1"], Condition::None).unwrap();
    let part: SharedStore = Arc::new(PrefixStore::below(local.clone(), "part/").unwrap());
    assert!(part.rename_prefix("old/", "new/").unwrap(), "the folder gets its new name without a copy");
    assert_eq!(get(&*local, "part/new/k", 9).unwrap().unwrap(), b"1");
    let cached: SharedStore = Arc::new(CacheStore::new(local.clone(), 1 << 20));
    assert_eq!(cached.file("part/new/k"), local.file("part/new/k"));
    assert!(cached.file("part/new/k").is_some());
}

#[test]
fn an_archive_on_a_server_tells_how_often_requests_were_made_again() {
    let root = TestFolder::new("wrapped-archive");
    std::fs::create_dir_all(&root).unwrap();
    ZipStore::open(&root.join("x.zip"), true, SyncMode::None).unwrap().put("k", &[b"1"], Condition::None).unwrap();
    let far: SharedStore = Arc::new(LatencyStore::new(Counting::new(&root), Duration::ZERO));
    let archive: SharedStore = Arc::new(ZipStore::over(far, "x.zip").unwrap());
    assert_eq!((archive.retries(), archive.capabilities().latency, archive.capabilities().writable), (7, true, false));
}
