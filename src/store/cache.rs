//! A read-through cache in memory around any store: what was read is kept, and given again while the key holds the same version.
//!
//! Every use of an entry asks the store for the key's version (no bytes: one small request of a server, one look at a file), so what
//! comes out is never older than that. What is larger than a quarter of the cache is not kept. A child of `fork` begins with none.

use super::keys::check_key;
use super::snapshot::Snapshot;
use super::{
    ByteRange, Capabilities, Change, ChangeDone, Condition, Fetched, Listing, LocalFiles, LockUse, Object, ProcessLock, ReadDone,
    SharedStore, Staged, Storage, Version,
};
use crate::error::{Result, err};
use crate::fork::ForkReset;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

/// Another store behind a cache of `limit` bytes.
pub struct CacheStore {
    inner: SharedStore,
    limit: usize,
    kept: Arc<ForkReset<Mutex<Kept>>>,
}

/// What is kept, and in which order it was used last.
#[derive(Default)]
struct Kept {
    entries: HashMap<String, Vec<Entry>>,
    used: BTreeMap<u64, String>,
    clock: u64,
    bytes: usize,
}

/// What some ranges of a key gave.
struct Entry {
    ranges: Vec<ByteRange>,
    version: Version,
    parts: Arc<Vec<Vec<u8>>>,
    bytes: usize,
    used: u64,
}

impl Entry {
    /// Whether these ranges are what was read, and none is longer than it may be.
    fn has(&self, ranges: &[ByteRange]) -> bool {
        let same = |(i, range): (usize, &ByteRange)| match (self.ranges[i], *range) {
            (ByteRange::Whole { .. }, ByteRange::Whole { most, .. }) => self.parts[i].len() as u64 <= most,
            (kept, range) => kept == range,
        };
        self.ranges.len() == ranges.len() && ranges.iter().enumerate().all(same)
    }
}

/// About what an entry takes besides its bytes.
const OVERHEAD: usize = 256;

impl Kept {
    fn find(&mut self, key: &str, ranges: &[ByteRange]) -> Option<(Version, Arc<Vec<Vec<u8>>>)> {
        let entry = self.entries.get_mut(key)?.iter_mut().find(|entry| entry.has(ranges))?;
        self.clock += 1;
        let name = self.used.remove(&entry.used)?;
        entry.used = self.clock;
        self.used.insert(self.clock, name);
        Some((entry.version, entry.parts.clone()))
    }

    fn keep(&mut self, key: &str, ranges: &[ByteRange], version: Version, parts: Arc<Vec<Vec<u8>>>, limit: usize) {
        let bytes = OVERHEAD + key.len() + parts.iter().map(Vec::len).sum::<usize>();
        self.remove(key, |entry| entry.has(ranges) || entry.version != version);
        if bytes > limit / 4 {
            return;
        }
        self.clock += 1;
        let used = self.clock;
        self.used.insert(used, key.to_string());
        self.bytes += bytes;
        let entry = Entry { ranges: ranges.to_vec(), version, parts, bytes, used };
        self.entries.entry(key.to_string()).or_default().push(entry);
        while self.bytes > limit {
            let Some((oldest, key)) = self.used.pop_first() else { break };
            self.remove(&key, |entry| entry.used == oldest);
        }
    }

    fn remove(&mut self, key: &str, goes: impl Fn(&Entry) -> bool) {
        let Some(list) = self.entries.get_mut(key) else { return };
        let (used, bytes) = (&mut self.used, &mut self.bytes);
        list.retain(|entry| {
            let gone = goes(entry);
            if gone {
                used.remove(&entry.used);
                *bytes -= entry.bytes;
            }
            !gone
        });
        if list.is_empty() {
            self.entries.remove(key);
        }
    }
}

fn lock(kept: &ForkReset<Mutex<Kept>>) -> MutexGuard<'_, Kept> {
    kept.get().lock().unwrap_or_else(PoisonError::into_inner)
}

impl CacheStore {
    /// `inner` behind a cache of `limit` bytes.
    pub fn new(inner: SharedStore, limit: usize) -> CacheStore {
        CacheStore { inner, limit, kept: Arc::new(ForkReset::new(Mutex::default)) }
    }

    /// The bytes that are kept.
    pub fn bytes(&self) -> usize {
        lock(&self.kept).bytes
    }

    fn forget(&self, goes: impl Fn(&str) -> bool) {
        let mut kept = lock(&self.kept);
        let keys: Vec<String> = kept.entries.keys().filter(|key| goes(key)).cloned().collect();
        keys.iter().for_each(|key| kept.remove(key, |_| true));
    }

    fn forget_key(&self, key: &str) {
        lock(&self.kept).remove(key, |_| true);
    }

    /// Reads and keeps.
    fn fill(&self, key: &str, ranges: &[ByteRange], if_match: Option<Version>, done: ReadDone) {
        let (kept, limit, name, asked) = (self.kept.clone(), self.limit, key.to_string(), ranges.to_vec());
        let keep = move |result: Result<Option<Fetched>>| {
            if let Ok(Some(fetched)) = &result {
                lock(&kept).keep(&name, &asked, fetched.version, Arc::new(fetched.parts.clone()), limit);
            }
            done(result);
        };
        self.inner.start_read(key, ranges, if_match, Box::new(keep));
    }

    fn clone_of(&self) -> CacheStore {
        CacheStore { inner: self.inner.clone(), limit: self.limit, kept: self.kept.clone() }
    }
}

/// Reads through [`Storage::start_read`], and waits.
fn read(store: &dyn Storage, key: &str, ranges: &[ByteRange]) -> Result<Option<Fetched>> {
    let (sender, receiver) = mpsc::channel();
    store.start_read(key, ranges, None, Box::new(move |result| drop(sender.send(result))));
    receiver.recv().unwrap_or_else(|_| Err(err!(Internal, "a read that was started never ended")))
}

impl Storage for CacheStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities { latency: true, ..self.inner.capabilities() }
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        let found = read(self, key, &[ByteRange::WHOLE])?;
        Ok(found.map(|fetched| {
            let bytes = fetched.parts.into_iter().next().unwrap_or_default();
            let (inner, key) = (self.inner.clone(), key.to_string());
            let now = move || Ok(read(&*inner, &key, &[])?.map(|now| now.version));
            Object::Other(Box::new(Snapshot { bytes, version: fetched.version, now }))
        }))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        check_key(key)?;
        let found = read(self, key, &[ByteRange::up_to(max)])?;
        Ok(found.and_then(|fetched| fetched.parts.into_iter().next()))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        let done = self.inner.put(key, parts, condition);
        self.forget_key(key);
        done
    }

    fn erase(&self, key: &str) -> Result<bool> {
        let done = self.inner.erase(key);
        self.forget_key(key);
        done
    }

    fn erase_prefix(&self, prefix: &str) -> Result<()> {
        let done = self.inner.erase_prefix(prefix);
        self.forget(|key| key.starts_with(prefix));
        done
    }

    fn list(&self, prefix: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.inner.list(prefix, each)
    }

    fn list_dir(&self, prefix: &str) -> Result<Listing> {
        self.inner.list_dir(prefix)
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    fn lock_key(&self, prefix: &str, key: &str, often: LockUse) -> Result<Option<ProcessLock>> {
        self.inner.lock_key(prefix, key, often)
    }

    fn start_read(&self, key: &str, ranges: &[ByteRange], if_match: Option<Version>, done: ReadDone) {
        if ranges.is_empty() {
            return self.inner.start_read(key, ranges, if_match, done);
        }
        let Some((version, parts)) = lock(&self.kept).find(key, ranges) else { return self.fill(key, ranges, if_match, done) };
        let (this, name, asked) = (self.clone_of(), key.to_string(), ranges.to_vec());
        let check = move |now: Result<Option<Fetched>>| match now {
            Ok(Some(now)) if now.version == version && if_match.is_none_or(|wanted| wanted == version) => {
                done(Ok(Some(Fetched { parts: (*parts).clone(), version })));
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

    fn start_change(&self, key: &str, change: Change, done: ChangeDone) {
        let (this, name) = (self.clone_of(), key.to_string());
        let forget = move |result| {
            this.forget_key(&name);
            done(result);
        };
        self.inner.start_change(key, change, Box::new(forget));
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.inner.stage(key)
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
    use crate::store::memory::MemoryStore;

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
        let value = |key: &str| read(&cache, key, &[ByteRange::WHOLE]).unwrap().map(|f| f.parts[0].clone());
        for i in 0..100u8 {
            inner.put(&format!("k{i}"), &[&[i; 100]], Condition::None).unwrap();
            assert_eq!(value(&format!("k{i}")).unwrap(), [i; 100]);
            assert!(cache.bytes() <= 8 << 10);
        }
        assert!(cache.bytes() > 6 << 10);
        let limited = |most| crate::store::get(&cache, "k98", most).map(|bytes| bytes.unwrap().len()).map_err(|e| e.kind());
        assert_eq!((limited(100), limited(99)), (Ok(100), Err(ErrorKind::Limit)), "what is kept is not given to those who want less");
        inner.put("k99", &[b"new"], Condition::None).unwrap();
        assert_eq!(value("k99").unwrap(), b"new");
        inner.erase("k99").unwrap();
        assert!(value("k99").is_none());
        inner.put("large", &[&[0; 4000]], Condition::None).unwrap();
        let before = cache.bytes();
        assert_eq!((value("large").unwrap().len(), cache.bytes()), (4000, before));
    }
}
