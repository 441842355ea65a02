//! A new hierarchy in a store without folders: what makes its root a node is put last (`"file.publish"` is `flush`), so that nobody finds the root
//! before all that was made until then.

use super::memory::MemoryStore;
use super::{Condition, Keys, Object, SharedStore, Staged, Started, Storage};
use crate::error::{ErrorKind, Result, bail};
use crate::fork::ForkReset;
use crate::limits::MAX_CONSOLIDATED;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The keys that are put last.
const ROOT: [&str; 2] = ["zarr.json", ".zgroup"];

/// Another store, which gets the documents of a root that is new by the first flush. Until then they are in memory, and only who has this store finds
/// them.
pub struct RootLast {
    inner: SharedStore,
    held: MemoryStore,
    /// The root is there.
    is_put: AtomicBool,
    /// Held while documents that are held change, and while they are put: a change in between would be lost.
    turn: ForkReset<Mutex<()>>,
}

impl RootLast {
    /// The hierarchy in `inner`, where there may be none yet.
    pub fn new(inner: SharedStore) -> RootLast {
        RootLast { inner, held: MemoryStore::new(), is_put: AtomicBool::new(false), turn: ForkReset::new(Mutex::default) }
    }

    /// Waits until no other thread changes what is held, or puts it; `None` where nothing is held any more.
    fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        let is_put = || self.is_put.load(Ordering::Acquire);
        if is_put() {
            return None;
        }
        Some(self.turn.get().lock().unwrap_or_else(PoisonError::into_inner)).filter(|_| !is_put())
    }

    /// Whether a document is held.
    fn holds(&self, key: &str) -> Result<bool> {
        Ok(ROOT.contains(&key) && !self.is_put.load(Ordering::Acquire) && self.held.open(key)?.is_some())
    }

    /// Where a key is.
    fn place(&self, key: &str) -> Result<&dyn Storage> {
        Ok(if self.holds(key)? { &self.held } else { &*self.inner })
    }

    /// Where a key is put: with the first document of a root it is seen whether there is one already.
    fn place_to_put(&self, key: &str) -> Result<&dyn Storage> {
        if !ROOT.contains(&key) || self.is_put.load(Ordering::Acquire) {
            return Ok(&*self.inner);
        }
        for key in ROOT {
            if self.held.open(key)?.is_some() {
                return Ok(&self.held);
            }
            if self.inner.open(key)?.is_some() {
                self.is_put.store(true, Ordering::Release);
                return Ok(&*self.inner);
            }
        }
        Ok(&self.held)
    }

    /// Puts a document that is held, if it is, unless another program has made a root meanwhile.
    fn put_held(&self, key: &str) -> Result<()> {
        let Some(text) = self.held.read_all(key, MAX_CONSOLIDATED)? else { return Ok(()) };
        match self.inner.put(key, &[&text], Condition::Absent) {
            // The answer to an earlier try was lost.
            Err(e) if e.kind() == ErrorKind::Conflict && self.inner.read_all(key, MAX_CONSOLIDATED)?.is_some_and(|there| there == text) => {
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::Conflict => bail!(Exists, "another program has made {} meanwhile", self.describe()),
            put => put,
        }
    }
}

impl Storage for RootLast {
    // A store without folders has no files.
    super::forward!(inner: capabilities, list_keys, lock_key, files, describe);

    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.place(key)?.open(key)
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        self.place(key)?.read_all(key, max)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        let _turn = if ROOT.contains(&key) { self.turn() } else { None };
        self.place_to_put(key)?.put(key, parts, condition)
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.place_to_put(key)?.stage(key)
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let _turn = self.turn();
        let held = self.held.erase_keys(keys)?;
        Ok(self.inner.erase_keys(keys)? || held)
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()?;
        if let Some(_turn) = self.turn() {
            ROOT.iter().try_for_each(|key| self.put_held(key))?;
            self.is_put.store(true, Ordering::Release);
        }
        self.inner.flush()
    }

    fn start(&self, key: &str, what: Started<'_>) {
        if matches!(what, Started::Change(..)) && ROOT.contains(&key) && !self.is_put.load(Ordering::Acquire) {
            return what.run(self, key);
        }
        match self.place(key) {
            Ok(place) => place.start(key, what),
            Err(e) => what.fail(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StorageExt;
    use std::sync::mpsc::channel;
    use std::sync::{Arc, OnceLock, Weak};
    use std::thread::JoinHandle;
    use std::time::Duration;

    #[test]
    fn the_root_comes_by_the_first_flush_behind_all_else() {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        super::super::suite::check(&RootLast::new(inner.clone()));
        let new = RootLast::new(inner.clone());
        new.put("zarr.json", &[b"1"], Condition::Absent).unwrap();
        new.put("a/zarr.json", &[b"2"], Condition::Absent).unwrap();
        assert!(new.open("zarr.json").unwrap().is_some() && inner.open("zarr.json").unwrap().is_none());
        assert!(inner.open("a/zarr.json").unwrap().is_some());
        assert_eq!(new.put("zarr.json", &[b"3"], Condition::Absent).unwrap_err().kind(), ErrorKind::Conflict);
        new.flush().unwrap();
        assert_eq!(inner.read_all("zarr.json", 9).unwrap().unwrap(), b"1");
        new.put("zarr.json", &[b"4"], Condition::None).unwrap();
        assert_eq!(inner.read_all("zarr.json", 9).unwrap().unwrap(), b"4");
    }

    #[test]
    fn a_root_that_is_there_is_changed_at_once() {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        inner.put("zarr.json", &[b"1"], Condition::None).unwrap();
        let old = RootLast::new(inner.clone());
        assert_eq!(old.read_all("zarr.json", 9).unwrap().unwrap(), b"1");
        old.put("zarr.json", &[b"2"], Condition::None).unwrap();
        assert_eq!(inner.read_all("zarr.json", 9).unwrap().unwrap(), b"2");
        assert!(old.erase("zarr.json").unwrap() && inner.open("zarr.json").unwrap().is_none());
    }

    /// Has another thread change the root within the put that shows it.
    struct Changed {
        inner: MemoryStore,
        by: OnceLock<Weak<RootLast>>,
        thread: Mutex<Option<JoinHandle<Result<()>>>>,
    }

    impl Storage for Changed {
        crate::store::forward!(inner: capabilities, open, stage, erase_keys, list_keys, flush, describe);

        fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
            if condition == Condition::Absent {
                let (new, (tell, told)) = (self.by.get().unwrap().upgrade().unwrap(), channel());
                let change = move || {
                    let put = new.put("zarr.json", &[b"2"], Condition::None);
                    let _ = tell.send(());
                    put
                };
                *self.thread.lock().unwrap() = Some(std::thread::spawn(change));
                // It may have to wait for its turn.
                let _ = told.recv_timeout(Duration::from_millis(200));
            }
            self.inner.put(key, parts, condition)
        }
    }

    #[test]
    fn a_change_while_the_root_is_put_is_not_lost() {
        let inner = Arc::new(Changed { inner: MemoryStore::new(), by: OnceLock::new(), thread: Mutex::default() });
        let new = Arc::new(RootLast::new(inner.clone()));
        inner.by.set(Arc::downgrade(&new)).unwrap();
        new.put("zarr.json", &[b"1"], Condition::None).unwrap();
        new.flush().unwrap();
        inner.thread.lock().unwrap().take().unwrap().join().unwrap().unwrap();
        new.flush().unwrap();
        assert_eq!(inner.read_all("zarr.json", 9).unwrap().unwrap(), b"2");
    }

    #[test]
    fn a_root_that_another_program_has_made_meanwhile_stays() {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        let new = RootLast::new(inner.clone());
        new.put("zarr.json", &[b"1"], Condition::Absent).unwrap();
        inner.put("zarr.json", &[b"2"], Condition::None).unwrap();
        assert_eq!(new.flush().unwrap_err().kind(), ErrorKind::Exists);
        assert_eq!(inner.read_all("zarr.json", 9).unwrap().unwrap(), b"2");
        // Of a put whose answer was lost the same value is there.
        inner.put("zarr.json", &[b"1"], Condition::None).unwrap();
        new.flush().unwrap();
    }
}
