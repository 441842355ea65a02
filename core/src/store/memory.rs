//! A store in memory: for tests, for scratch data, and for handing arrays from one part of a program to another.

use super::keys::{check_key, check_prefix};
use super::memory_object::{MemoryObject, StoredValue};
use super::{Capabilities, Condition, Keys, ListInto, ListedKey, Listing, Object, Storage, Version};
use crate::error::{Result, bail};
use crate::fork::ForkPreserved;
use crate::limits::{check_memory, push, reserve, try_collect};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts values over all memory stores of the process, so that no two ever share a version.
static NEXT_VERSION: AtomicU64 = AtomicU64::new(1);

static NEXT_STORE: AtomicU64 = AtomicU64::new(1);

/// A map in memory. Reading a key takes a short lock and no allocation; values are never copied but into the reader's
/// buffer. A child of `fork` has a copy of its own of what was stored at that moment.
pub struct MemoryStore {
    map: ForkPreserved<BTreeMap<String, Arc<StoredValue>>>,
    /// Tells it from the other memory stores of the process: what is known of a store is known by its name.
    number: u64,
}

impl Default for MemoryStore {
    fn default() -> MemoryStore {
        MemoryStore { map: ForkPreserved::default(), number: NEXT_STORE.fetch_add(1, Ordering::Relaxed) }
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> MemoryStore {
        MemoryStore::default()
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>> {
        self.map.read(|map| keys_of(map, prefix))
    }

    /// Removes a key; `false` if it held nothing.
    fn take(&self, key: &str) -> bool {
        let old = self.map.write(|map| map.remove(key));
        if let Some(old) = &old {
            old.current.store(false, Ordering::Release);
        }
        old.is_some()
    }
}

impl Storage for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::local(true, true)
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        check_key(key)?;
        let stored = self.map.read(|map| map.get(key).cloned());
        Ok(stored.map(|stored| Object::Memory(MemoryObject { stored })))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        check_key(key)?;
        let mut bytes = Vec::new();
        reserve(&mut bytes, parts.iter().map(|part| part.len()).sum())?;
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        let version = NEXT_VERSION.fetch_add(1, Ordering::Relaxed);
        let stored = Arc::new(StoredValue { bytes, version, current: AtomicBool::new(true) });
        let new_key = key.to_string();
        check_memory()?;
        // The old value is dropped, which may take long, after the lock.
        let _old = self.map.write(|map| {
            let old = map.get_mut(key);
            match (condition, &old) {
                (Condition::None, _) | (Condition::Absent, None) => {}
                (Condition::Match(Version { words: [v, 0, 0, 0], .. }), Some(old)) if old.version == v => {}
                (Condition::Absent, Some(_)) => bail!(Conflict, "the key holds a value already"),
                (Condition::Match(_), _) => bail!(Conflict, "the key holds another value by now"),
            }
            Ok(match old {
                Some(old) => {
                    old.current.store(false, Ordering::Release);
                    Some(std::mem::replace(old, stored))
                }
                None => map.insert(new_key, stored),
            })
        })?;
        Ok(())
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        match keys {
            Keys::One(key) => check_key(key).map(|()| self.take(key)),
            Keys::Below(prefix) => {
                check_prefix(prefix)?;
                Ok(self.keys(prefix)?.iter().filter(|key| self.take(key)).count() > 0)
            }
        }
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        check_prefix(prefix)?;
        match into {
            // `each` may use the store: no lock is held meanwhile.
            ListInto::Each(each) => return self.keys(prefix)?.iter().try_for_each(|key| each(key)),
            ListInto::Told(each) => {
                let version = |key: &String| self.map.read(|map| map.get(key).map(|stored| stored.version));
                return self.keys(prefix)?.iter().try_for_each(|key| each(key, ListedKey { told: version(key), len: None }));
            }
            ListInto::Folder(listing) => *listing = self.map.read(|map| listing_of(map, prefix))?,
        }
        Ok(())
    }

    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn describe(&self) -> String {
        format!("memory:{}", self.number)
    }
}

/// The keys of a map that start with `prefix`.
pub(super) fn keys_of<K: Borrow<str> + Ord, V>(map: &BTreeMap<K, V>, prefix: &str) -> Result<Vec<String>> {
    let from = map.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
    let keys = from.map(|(key, _)| key.borrow()).take_while(|key: &&str| key.starts_with(prefix));
    try_collect(keys.map(|key| check_memory().map(|()| key.to_string())))
}

/// The keys and sub-prefixes of a map directly under `prefix`, sorted.
pub(super) fn listing_of<K: Borrow<str> + Ord, V>(map: &BTreeMap<K, V>, prefix: &str) -> Result<Listing> {
    let mut listing = Listing::default();
    let mut from = prefix.to_string();
    let mut bound = Bound::Included(());
    while let Some((key, _)) = map.range::<str, _>((bound.map(|()| from.as_str()), Bound::Unbounded)).next() {
        let key: &str = key.borrow();
        let Some(rest) = key.strip_prefix(prefix) else { break };
        check_memory()?;
        match rest.split_once('/') {
            Some((name, _)) => {
                push(&mut listing.prefixes, name.to_string())?;
                // '0' follows '/': past all keys below the sub-prefix.
                (from, bound) = (format!("{prefix}{name}0"), Bound::Included(()));
            }
            None => {
                push(&mut listing.keys, rest.to_string())?;
                (from, bound) = (key.to_string(), Bound::Excluded(()));
            }
        }
    }
    // Keys are in another order: '-' is before '/'.
    listing.prefixes.sort_unstable();
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StorageExt;

    #[test]
    fn behaves_as_a_store() {
        crate::store::suite::check(&MemoryStore::new());
    }

    #[test]
    fn an_object_is_current_until_its_key_changes() {
        let store = MemoryStore::new();
        store.put("a", &[b"1"], Condition::None).unwrap();
        let first = store.open("a").unwrap().unwrap();
        assert!(first.still_current().unwrap());
        store.put("a", &[b"1"], Condition::None).unwrap();
        assert!(!first.still_current().unwrap());
        let second = store.open("a").unwrap().unwrap();
        assert_ne!(first.version().unwrap(), second.version().unwrap());
        store.erase("a").unwrap();
        assert!(!second.still_current().unwrap());
    }

    #[test]
    fn opening_shares_the_bytes() {
        let store = MemoryStore::new();
        store.put("a", &[b"12", b"3"], Condition::None).unwrap();
        let (Some(Object::Memory(a)), Some(Object::Memory(b))) = (store.open("a").unwrap(), store.open("a").unwrap()) else {
            panic!("objects in memory expected")
        };
        assert_eq!(a.bytes(), b"123");
        assert!(std::ptr::eq(a.bytes(), b.bytes()));
    }
}
