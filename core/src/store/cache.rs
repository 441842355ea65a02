//! A read-through cache in memory around any store: what was read is kept, and given again while the key holds the same version.
//!
//! Every use of an entry asks the store for the key's version (no bytes: one small request of a server, one look at a file), so what
//! comes out is never older than that. What is larger than a quarter of the cache is not kept, nor what a later change need not give another
//! version. A child of `fork` begins with none.

use super::keys::check_key;
use super::snapshot::Snapshot;
use super::{
    ByteRange, Capabilities, Condition, Fetched, Keys, LocalFiles, Object, ReadDone, SharedStore, Started, Storage, StorageExt, Version,
    start_and_wait,
};
use crate::error::Result;
use crate::fork::ForkReset;
use crate::limits::{make_room, reserve};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Another store behind a cache of `limit` bytes.
pub struct CacheStore {
    inner: SharedStore,
    limit: usize,
    kept: Arc<ForkReset<Mutex<KeptObjects>>>,
}

/// What is kept. Where room is needed the oldest entry goes, unless it was used since it came or was last passed over.
#[derive(Default)]
struct KeptObjects {
    /// Sorted, so that forgetting those below a prefix takes no longer for the others.
    entries: BTreeMap<String, KeptObject>,
    /// The keys, hashes and numbers of the entries, the oldest first, and of some that are gone.
    order: VecDeque<(String, u64, u64)>,
    count: usize,
    next: u64,
    bytes: usize,
}

/// What is kept of a key: of one version only. Of ranges that have one hash, what the last ones gave.
struct KeptObject {
    version: Version,
    by_hash: HashMap<u64, CacheEntry>,
}

/// What some ranges of a key gave.
struct CacheEntry {
    number: u64,
    ranges: Vec<ByteRange>,
    parts: Arc<Vec<Vec<u8>>>,
    bytes: usize,
    used: bool,
}

impl CacheEntry {
    /// Whether these ranges are what was read, and none is longer than it may be.
    fn has(&self, ranges: &[ByteRange]) -> bool {
        #[cfg(test)]
        tests::COMPARED.set(tests::COMPARED.get() + 1);
        let same = |(i, range): (usize, &ByteRange)| match (self.ranges[i], *range) {
            (ByteRange::Whole { .. }, ByteRange::Whole { most, .. }) => self.parts[i].len() as u64 <= most,
            (kept, range) => kept == range,
        };
        self.ranges.len() == ranges.len() && ranges.iter().enumerate().all(same)
    }
}

/// About what an entry takes besides its bytes.
const OVERHEAD: usize = 256;

/// A number by which ranges are found, the same for whole objects however long they may be.
fn hash_of(ranges: &[ByteRange]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for range in ranges {
        match *range {
            ByteRange::Whole { .. } => (0, 0, 0),
            ByteRange::Span { offset, len } => (1, offset, len),
            ByteRange::Suffix { len } => (2, 0, len),
        }
        .hash(&mut hasher);
    }
    hasher.finish()
}

impl KeptObjects {
    fn find(&mut self, key: &str, ranges: &[ByteRange]) -> Option<(Version, Arc<Vec<Vec<u8>>>)> {
        let kept = self.entries.get_mut(key)?;
        let entry = kept.by_hash.get_mut(&hash_of(ranges)).filter(|entry| entry.has(ranges))?;
        entry.used = true;
        Some((kept.version, entry.parts.clone()))
    }

    fn keep(&mut self, key: &str, ranges: &[ByteRange], version: Version, parts: Arc<Vec<Vec<u8>>>, limit: usize) {
        let bytes = OVERHEAD + key.len() + parts.iter().map(Vec::len).sum::<usize>();
        let hash = hash_of(ranges);
        match self.entries.get(key) {
            Some(kept) if kept.version != version => self.forget(key),
            _ => self.remove(key, hash, |_| true),
        }
        if bytes > limit / 4 || !version.is_settled() {
            return;
        }
        let number = self.next;
        self.next += 1;
        // What finds no room is not kept.
        if self.order.try_reserve(1).is_err() {
            return;
        }
        let entry = CacheEntry { number, ranges: ranges.to_vec(), parts, bytes, used: false };
        let kept = self.entries.entry(key.to_string()).or_insert_with(|| KeptObject { version, by_hash: HashMap::new() });
        if kept.by_hash.try_reserve(1).is_err() {
            return self.forget(key);
        }
        kept.by_hash.insert(hash, entry);
        self.order.push_back((key.to_string(), hash, number));
        (self.count, self.bytes) = (self.count + 1, self.bytes + bytes);
        self.make_room(limit);
        if self.order.len() > 2 * self.count + 16 {
            let entries = &self.entries;
            self.order.retain(|(key, hash, number)| {
                let kept = entries.get(key).and_then(|kept| kept.by_hash.get(hash));
                kept.is_some_and(|entry| entry.number == *number)
            });
        }
    }

    fn make_room(&mut self, limit: usize) {
        while self.bytes > limit {
            let Some((key, hash, number)) = self.order.pop_front() else { break };
            let entry = self.entries.get_mut(&key).and_then(|kept| kept.by_hash.get_mut(&hash));
            match entry {
                Some(entry) if entry.number == number && entry.used => {
                    entry.used = false;
                    self.order.push_back((key, hash, number));
                }
                _ => self.remove(&key, hash, |entry| entry.number == number),
            }
        }
    }

    fn first_below(&self, prefix: &str) -> Option<&String> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        self.entries.range::<str, _>(from).next().map(|(key, _)| key).filter(|key| key.starts_with(prefix))
    }

    fn remove(&mut self, key: &str, hash: u64, goes: impl Fn(&CacheEntry) -> bool) {
        let Some(kept) = self.entries.get_mut(key) else { return };
        let Some(gone) = kept.by_hash.get(&hash).filter(|entry| goes(entry)) else { return };
        (self.count, self.bytes) = (self.count - 1, self.bytes - gone.bytes);
        kept.by_hash.remove(&hash);
        if kept.by_hash.is_empty() {
            self.entries.remove(key);
        }
    }

    fn forget(&mut self, key: &str) {
        let Some(gone) = self.entries.remove(key) else { return };
        let bytes: usize = gone.by_hash.values().map(|entry| entry.bytes).sum();
        (self.count, self.bytes) = (self.count - gone.by_hash.len(), self.bytes - bytes);
    }
}

fn lock(kept: &ForkReset<Mutex<KeptObjects>>) -> MutexGuard<'_, KeptObjects> {
    kept.get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies of parts of an object; an error instead of an abort when memory is short.
fn copied(parts: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let mut copies = Vec::new();
    make_room(&mut copies, parts.len())?;
    for part in parts {
        let mut copy = Vec::new();
        reserve(&mut copy, part.len())?;
        copy.extend_from_slice(part);
        copies.push(copy);
    }
    Ok(copies)
}

impl CacheStore {
    /// `inner` behind a cache of `limit` bytes.
    pub fn new(inner: SharedStore, limit: usize) -> CacheStore {
        CacheStore { inner, limit, kept: Arc::new(ForkReset::new(Mutex::default)) }
    }

    fn forget_below(&self, prefix: &str) {
        let mut kept = lock(&self.kept);
        while let Some(key) = kept.first_below(prefix).cloned() {
            kept.forget(&key);
        }
    }

    fn forget_key(&self, key: &str) {
        lock(&self.kept).forget(key);
    }

    /// Gives what is kept, if the key still holds that version, or reads and keeps.
    fn read(&self, key: &str, ranges: &[ByteRange], if_match: Option<Version>, done: ReadDone) {
        let Some((version, parts)) = lock(&self.kept).find(key, ranges) else { return self.fill(key, ranges, if_match, done) };
        let (this, name, asked) = (self.clone_of(), key.to_string(), ranges.to_vec());
        let check = move |now: Result<Option<Fetched>>| match now {
            Ok(Some(now)) if now.version == version && if_match.is_none_or(|wanted| wanted == version) => {
                done(copied(&parts).map(|parts| Some(Fetched { parts, version })));
            }
            Ok(Some(_)) => this.fill(&name, &asked, if_match, done),
            Ok(None) => {
                this.forget_key(&name);
                done(Ok(None));
            }
            Err(e) => done(Err(e)),
        };
        self.inner.start_read(key, &[], None, Box::new(check));
    }

    /// Reads and keeps.
    fn fill(&self, key: &str, ranges: &[ByteRange], if_match: Option<Version>, done: ReadDone) {
        let (this, name, asked, settled) = (self.clone_of(), key.to_string(), ranges.to_vec(), self.is_settled(key));
        let keep = move |result: Result<Option<Fetched>>| {
            if let Ok(Some(fetched)) = &result
                && let Ok(parts) = if settled { copied(&fetched.parts) } else { Ok(Vec::new()) }
            {
                let limit = if settled { this.limit } else { 0 };
                lock(&this.kept).keep(&name, &asked, fetched.version, Arc::new(parts), limit);
            }
            done(result);
        };
        self.inner.start_read(key, ranges, if_match, Box::new(keep));
    }

    /// False for a file that was changed just now: a second change in place may leave it the same times and length. It is to be asked before
    /// the file is read.
    fn is_settled(&self, key: &str) -> bool {
        self.inner.files().is_none_or(|files| files.stamp(key).is_ok_and(|stamp| stamp.is_none_or(|stamp| stamp.is_settled())))
    }

    fn clone_of(&self) -> CacheStore {
        CacheStore { inner: self.inner.clone(), limit: self.limit, kept: self.kept.clone() }
    }
}

impl Storage for CacheStore {
    super::forward!(inner: list_keys, flush, lock_key, stage);

    fn capabilities(&self) -> Capabilities {
        Capabilities { latency: true, ..self.inner.capabilities() }
    }

    /// A file is opened as the one that it is: a change of it goes by whether the key still holds that file.
    fn open(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        if self.inner.files().is_some() {
            return self.inner.open(key);
        }
        let found = start_and_wait(self, key, &[ByteRange::WHOLE], None)?;
        Ok(found.map(|fetched| {
            let bytes = fetched.parts.into_iter().next().unwrap_or_default();
            let (inner, key) = (self.inner.clone(), key.to_string());
            let now = move || Ok(start_and_wait(&*inner, &key, &[], None)?.map(|now| now.version));
            Object::Other(Box::new(Snapshot { bytes, version: fetched.version, now }))
        }))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        check_key(key)?;
        let found = start_and_wait(self, key, &[ByteRange::up_to(max)], None)?;
        Ok(found.and_then(|fetched| fetched.parts.into_iter().next()))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        let done = self.inner.put(key, parts, condition);
        self.forget_key(key);
        done
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let done = self.inner.erase_keys(keys);
        match keys {
            Keys::One(key) => self.forget_key(key),
            Keys::Below(prefix) => self.forget_below(prefix),
        }
        done
    }

    fn start(&self, key: &str, what: Started<'_>) {
        match what {
            Started::Read { ranges, if_match, done } if !ranges.is_empty() => self.read(key, ranges, if_match, done),
            Started::Read { .. } => self.inner.start(key, what),
            Started::Change(change, done) => {
                let (this, name) = (self.clone_of(), key.to_string());
                let forget = move |result| {
                    this.forget_key(&name);
                    done(result);
                };
                self.inner.start(key, Started::Change(change, Box::new(forget)));
            }
        }
    }

    /// Those of the store behind the cache: an entry that they change has another version from then on.
    fn files(&self) -> Option<&dyn LocalFiles> {
        self.inner.files()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::file_options::FileOptions;
    use crate::store::local::LocalStore;
    use crate::store::memory::MemoryStore;
    use crate::store::suite::TestFolder;

    thread_local! {
        /// How often the ranges of an entry were compared with those that are asked for.
        pub static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn many_ranges_of_one_object_are_not_compared_with_each_other() {
        let cache = CacheStore::new(Arc::new(MemoryStore::new()), 1 << 20);
        let object: Vec<u8> = (0..1000u32).flat_map(u32::to_le_bytes).collect();
        cache.put("k", &[&object], Condition::None).unwrap();
        let before = COMPARED.get();
        for _ in 0..2 {
            for i in 0..1000 {
                let range = ByteRange::Span { offset: 4 * i, len: 4 };
                let found = start_and_wait(&cache, "k", &[range], None).unwrap().unwrap();
                assert_eq!(found.parts, [(i as u32).to_le_bytes().to_vec()]);
            }
        }
        assert_eq!(lock(&cache.kept).count, 1000);
        let compared = COMPARED.get() - before;
        assert!(compared <= 2000, "{compared} comparisons for 2,000 reads");
    }

    #[test]
    fn behaves_as_a_store() {
        for limit in [0, 1 << 12, 1 << 20] {
            crate::store::suite::check(&CacheStore::new(Arc::new(MemoryStore::new()), limit));
        }
    }

    #[test]
    fn the_cache_stays_within_its_limit_and_sees_what_others_change() {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        let cache = CacheStore::new(inner.clone(), 8 << 10);
        let value = |key: &str| start_and_wait(&cache, key, &[ByteRange::WHOLE], None).unwrap().map(|f| f.parts[0].clone());
        for i in 0..100u8 {
            inner.put(&format!("k{i}"), &[&[i; 100]], Condition::None).unwrap();
            assert_eq!(value(&format!("k{i}")).unwrap(), [i; 100]);
            assert!(lock(&cache.kept).bytes <= 8 << 10);
        }
        assert!(lock(&cache.kept).bytes > 6 << 10);
        let limited = |most| crate::store::get(&cache, "k98", most).map(|bytes| bytes.unwrap().len()).map_err(|e| e.kind());
        assert_eq!((limited(100), limited(99)), (Ok(100), Err(ErrorKind::Limit)), "what is kept is not given to those who want less");
        inner.put("k99", &[b"new"], Condition::None).unwrap();
        assert_eq!(value("k99").unwrap(), b"new");
        inner.erase("k99").unwrap();
        assert!(value("k99").is_none());
        inner.put("large", &[&[0; 4000]], Condition::None).unwrap();
        let before = lock(&cache.kept).bytes;
        assert_eq!((value("large").unwrap().len(), lock(&cache.kept).bytes), (4000, before));
    }

    #[test]
    fn what_is_erased_below_a_prefix_is_forgotten_and_nothing_else() {
        let keys = ["a", "a-/x", "a/x", "a/y/z", "a0", "b/a/x"];
        for (prefix, gone) in [("a/", 2..4), ("a/y/", 3..4), ("c/", 0..0), ("", 0..6)] {
            let cache = CacheStore::new(Arc::new(MemoryStore::new()), 1 << 20);
            for key in keys {
                cache.put(key, &[b"value"], Condition::None).unwrap();
                assert!(crate::store::get(&cache, key, 9).unwrap().is_some());
            }
            cache.erase_prefix(prefix).unwrap();
            let kept = lock(&cache.kept);
            let left: Vec<&str> = kept.entries.keys().map(String::as_str).collect();
            let expected = keys.iter().zip(0..).filter(|(_, i)| !gone.contains(i)).map(|(key, _)| *key);
            assert_eq!(left, expected.collect::<Vec<_>>(), "{prefix}");
            assert_eq!(kept.count, left.len());
            assert_eq!(kept.bytes, left.iter().map(|key| OVERHEAD + key.len() + 5).sum::<usize>(), "{prefix}");
        }
    }

    /// A store whose versions are that time and a length.
    struct Untagged(MemoryStore, u64);

    impl Storage for Untagged {
        crate::store::forward!(0: capabilities, put, erase_keys, list_keys, describe);

        fn open(&self, key: &str) -> Result<Option<Object>> {
            let bytes = self.0.read_all(key, usize::MAX)?;
            Ok(bytes.map(|bytes| {
                let version = Version::untagged(self.1, bytes.len() as u64).seen_at(Some(1_700_000_000));
                Object::Other(Box::new(Snapshot { bytes, version, now: move || Ok(Some(version)) }))
            }))
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_second_change_may_leave_the_same_version_is_not_kept() {
        for (time, kept) in [(0, false), (1_000_000_000, true)] {
            let inner = Arc::new(Untagged(MemoryStore::new(), time));
            let cache = CacheStore::new(inner.clone(), 8 << 10);
            inner.put("k", &[b"old"], Condition::None).unwrap();
            assert_eq!(crate::store::get(&cache, "k", 9).unwrap().unwrap(), b"old");
            assert_eq!(lock(&cache.kept).bytes > 0, kept, "{time}");
            inner.put("k", &[b"new"], Condition::None).unwrap();
            // That its versions do not tell old ones apart is what a server without an ETag may do to those of just now only.
            assert_eq!(crate::store::get(&cache, "k", 9).unwrap().unwrap(), if kept { b"old" } else { b"new" }, "{time}");
        }
    }

    #[test]
    fn a_file_that_was_changed_just_now_is_not_kept() {
        let folder = TestFolder::new("cache");
        let inner: SharedStore = Arc::new(LocalStore::open(&folder, true, FileOptions::default()).unwrap());
        let cache = CacheStore::new(inner.clone(), 8 << 10);
        let settled = || inner.files().unwrap().stamp("k").unwrap().unwrap().is_settled();
        let read = || crate::store::get(&cache, "k", 9).unwrap().unwrap();
        loop {
            inner.put("k", &[b"old"], Condition::None).unwrap();
            assert_eq!(read(), b"old");
            // A slow machine may take longer than a step of the clock.
            if !settled() {
                break;
            }
        }
        assert_eq!(lock(&cache.kept).bytes, 0);
        while !settled() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(read(), b"old");
        assert!(lock(&cache.kept).bytes > 0);
    }

    #[test]
    fn what_was_used_stays_and_what_is_gone_takes_no_memory() {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        let cache = CacheStore::new(inner.clone(), 8 << 10);
        for i in 0..500 {
            let key = format!("k{}", i % 100);
            inner.put(&key, &[&[0; 100]], Condition::None).unwrap();
            assert!(crate::store::get(&cache, &key, 1000).unwrap().is_some() && crate::store::get(&cache, "k1", 1000).is_ok());
            let kept = lock(&cache.kept);
            assert!(i < 2 || kept.entries.contains_key("k1"), "{i}");
            assert_eq!(kept.count, kept.entries.values().map(|object| object.by_hash.len()).sum::<usize>());
            assert!(kept.order.len() <= 2 * kept.count + 16);
        }
    }
}
