//! What a call leaves that ends in the middle, and what is made in its place afterwards.

use super::tests::{read_all, spec, write_all};
use super::*;
use crate::error::{Error, ErrorKind, Result, err};
use crate::store::memory::MemoryStore;
use crate::store::{Capabilities, Condition, Keys, ListInto, Object, SharedStore, Storage, StorageExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A store that changes one key at a time, as a server does, and takes no change any more behind some of them, as after a kill.
struct Ending {
    inner: SharedStore,
    left: AtomicUsize,
}

impl Ending {
    fn change(&self) -> Result<()> {
        let counted = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        counted.map(drop).map_err(|_| -> Error { err!(Io, "ended") })
    }
}

impl Storage for Ending {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.inner.open(key)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.change()?;
        self.inner.put(key, parts, condition)
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let Keys::Below(prefix) = keys else {
            self.change()?;
            return self.inner.erase_keys(keys);
        };
        let mut found = Vec::new();
        self.inner.list(prefix, &mut |key| {
            found.push(key.to_string());
            Ok(())
        })?;
        found.iter().try_for_each(|key| self.change().and_then(|()| self.inner.erase(key).map(drop)))?;
        Ok(true)
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        self.inner.list_keys(prefix, into)
    }

    fn flush(&self) -> Result<()> {
        self.inner.flush()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

/// Ends a call behind each of its changes, then makes an array, which shows the fill value alone, at `place`, and looks for what else is there.
fn made_anew(format: Format, place: &str, call: fn(&Store) -> Result<()>) {
    let context = Context::with_threads(1);
    let wanted = |shape: &[u64]| {
        let mut spec = spec(shape, &[2]);
        spec.set_format(format).unwrap();
        spec
    };
    for (after, how) in (0..).flat_map(|after| [Create::New, Create::Overwrite].map(|how| (after, how))) {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let open = |shared: &SharedStore| Store::from_shared(&context, shared.clone(), Mode::ReadWrite);
        let store = open(&shared);
        for path in ["a", "g/b", "g/c"] {
            write_all(&Array::create(&store, path, &wanted(&[6]), Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
        }
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let ending = Ending { inner: shared.clone(), left: AtomicUsize::new(after) };
        let done = call(&Store::from_shared(&context, Arc::new(ending), Mode::ReadWrite));
        let text = format!("{format:?} {place} {how:?} behind {after}");
        match Array::create(&open(&shared), place, &wanted(&[6]), how) {
            Ok(array) => assert_eq!(read_all(&array), [0; 6], "{text}"),
            Err(e) => assert!(e.kind() == ErrorKind::Exists && how == Create::New, "{text}: {e}"),
        }
        let store = open(&shared);
        Array::create(&store, place, &wanted(&[6]), Create::Overwrite).unwrap();
        assert_eq!(read_all(&Array::open(&store, place).unwrap()), [0; 6], "{text}");
        if done.is_ok() && how == Create::Overwrite {
            assert!(after > 3);
            return;
        }
    }
}

#[test]
fn an_array_that_is_made_where_one_was_erased_in_part_has_the_fill_value() {
    for format in [Format::V2, Format::V3] {
        made_anew(format, "a", |store| store.erase_node("a"));
        made_anew(format, "g/b", |store| store.erase_node("g"));
        made_anew(format, "g", |store| store.erase_node("g"));
        made_anew(format, "a", |store| Group::create(store, "a", None, Create::Overwrite).map(drop));
    }
}

#[test]
fn an_array_that_is_made_where_a_copy_was_interrupted_has_the_fill_value() {
    for format in [Format::V2, Format::V3] {
        made_anew(format, "d", |store| store.copy_node("a", (store, "d"), Create::New, false, &mut |_, _| Ok(())));
        made_anew(format, "d/b", |store| store.copy_node("g", (store, "d"), Create::New, false, &mut |_, _| Ok(())));
    }
}

/// The call that is interrupted ends behind each of its changes. Another source is refused, unless what is there is to be overwritten.
#[test]
fn a_copy_to_where_another_one_was_interrupted_is_told_or_overwrites() {
    let context = Context::with_threads(1);
    let mut kinds = std::collections::BTreeSet::new();
    for after in 0.. {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let store = Store::from_shared(&context, shared.clone(), Mode::ReadWrite);
        for (path, first) in [("a", 1), ("b", 7)] {
            write_all(&Array::create(&store, path, &spec(&[2], &[1]), Create::New).unwrap(), &mut [first, first + 1]);
        }
        let copy = |store: &Store, from, how| store.copy_node(from, (store, "d"), how, false, &mut |_, _| Ok(()));
        let ending = Ending { inner: shared, left: AtomicUsize::new(after) };
        let done = copy(&Store::from_shared(&context, Arc::new(ending), Mode::ReadWrite), "a", Create::New);
        let faults = |store: &Store| {
            let mut found = Vec::new();
            let mut each = |fault: &fault::Fault| {
                found.push((fault.kind.name(), fault.key.clone()));
                Ok(())
            };
            store.verify("", Default::default(), &mut each, &mut |_, _| Ok(())).unwrap();
            found
        };
        let marker = ("temporary", "d/ozarr-copy.json".to_string());
        let is_marked = store.key_get(&marker.1).unwrap().is_some();
        assert_eq!(faults(&store).contains(&marker), is_marked, "behind {after}: {:?}", faults(&store));
        let new = copy(&store, "b", Create::New);
        kinds.extend(new.as_ref().err().map(Error::kind).map(|kind| kind == ErrorKind::Exists));
        if new.is_err() {
            copy(&store, "b", Create::Overwrite).unwrap();
        }
        assert_eq!(read_all(&Array::open(&store, "d").unwrap()), [7, 8], "behind {after}");
        assert_eq!(faults(&store), [], "behind {after}");
        if done.is_ok() {
            break;
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [true]);
}
