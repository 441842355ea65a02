//! A store in memory that counts what is opened and put, and fails from some change on, as if the process were killed there.
#![allow(dead_code)] // not every file of tests needs the counts

use ozarr::error::{Error, ErrorKind, Result};
use ozarr::node::{Context, Mode, Store};
use ozarr::store::memory::MemoryStore;
use ozarr::store::{Condition, Keys, Object, StorageExt};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

/// See the file.
pub struct Watched {
    pub store: MemoryStore,
    /// The changes that still succeed.
    pub left: AtomicI64,
    pub opened: Mutex<BTreeMap<String, usize>>,
    pub put: Mutex<BTreeMap<String, usize>>,
    /// The flushes that still succeed; the one after them fails, once.
    pub flushes: AtomicI64,
    /// The key of which another value is stored than is put.
    pub wrong: Mutex<String>,
}

impl Watched {
    pub fn new(left: i64) -> Arc<Watched> {
        Arc::new(Watched {
            store: MemoryStore::new(),
            left: left.into(),
            flushes: i64::MAX.into(),
            opened: Mutex::default(),
            put: Mutex::default(),
            wrong: Mutex::default(),
        })
    }

    fn change(&self) -> Result<()> {
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0 { Ok(()) } else { Err(Error::new(ErrorKind::Io, "killed")) }
    }

    pub fn forget(&self) {
        self.opened.lock().unwrap().clear();
        self.put.lock().unwrap().clear();
    }
}

impl ozarr::store::Storage for Watched {
    ozarr::store::forward!(store: capabilities, list_keys, describe);

    fn open(&self, key: &str) -> Result<Option<Object>> {
        *self.opened.lock().unwrap().entry(key.into()).or_default() += 1;
        self.store.open(key)
    }
    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.change()?;
        *self.put.lock().unwrap().entry(key.into()).or_default() += 1;
        let wrong = *self.wrong.lock().unwrap() == key;
        if wrong { self.store.put(key, &[&parts.concat()[1..], b"x"], condition) } else { self.store.put(key, parts, condition) }
    }
    // Key by key, because a kill can come between any two.
    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let Keys::Below(prefix) = keys else { return self.change().and_then(|()| self.store.erase_keys(keys)) };
        self.store.keys(prefix)?.iter().try_for_each(|key| self.erase(key).map(drop)).map(|()| true)
    }
    fn flush(&self) -> Result<()> {
        if self.flushes.fetch_sub(1, Ordering::Relaxed) == 0 {
            return Err(Error::new(ErrorKind::Io, "not durable"));
        }
        self.store.flush()
    }
}

pub fn handle(shared: &Arc<Watched>) -> Store {
    Store::from_shared(&Context::with_threads(3), shared.clone(), Mode::ReadWrite)
}

/// All keys and what they hold.
pub fn keys(store: &Store) -> BTreeMap<String, Vec<u8>> {
    store.key_list("").unwrap().into_iter().map(|key| (key.clone(), store.key_get(&key).unwrap().unwrap())).collect()
}
