//! The behaviour that every store shows: run [`check`] over a new one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A failed check is a panic.

mod folder;
mod names;
mod random;
mod threads;
mod tools;
mod values;

pub use self::folder::{TestFolder, names_in};
use self::names::*;
pub use self::random::Random;
use self::threads::*;
use self::tools::*;
use self::values::*;
use super::{Condition, SharedStore, Storage, StorageExt};

type Part = (&'static str, fn(&dyn Storage));

const PARTS: &[Part] = &[
    ("values are put, replaced and erased", values),
    ("missing keys and prefixes are missing", missing),
    ("conditions are kept", conditions),
    ("ranges are read", ranges),
    ("objects are snapshots", snapshots),
    ("keys may be odd and deep", odd_keys),
    ("keys may be as long as they get", longest_key),
    ("keys are refused that are no keys", refused_keys),
    ("listings are sorted and complete", listings),
    ("listings tell values apart, or not at all", told_values),
    ("prefixes are erased and no more", erased_prefixes),
    ("a started read ends once", started_reads),
    ("no change is lost under a lock", locked_changes),
    ("readers see whole values only", whole_values),
    ("of several writers of a new key one wins", one_winner),
    ("what is staged appears whole when it is published", staged_values),
];

/// Checks a writable store; panics with the name of what it does not do. Only keys below `ozarr-suite/` are touched,
/// unless the store is empty: then it is emptied as a whole at the end.
pub fn check(store: &dyn Storage) {
    check_but(store, &[]);
}

/// Checks as [`check`] does, but without the parts named in `without`, which the server is known not to do.
pub fn check_but(store: &dyn Storage, without: &[&str]) {
    assert!(without.iter().all(|name| PARTS.iter().any(|(part, _)| part == name)), "{without:?} are parts");
    let was_empty = keys(store, "").is_empty();
    for (name, part) in PARTS.iter().filter(|(name, _)| !without.contains(name)) {
        store.erase_prefix(HOME).unwrap();
        let told = Told(name);
        part(store);
        store.flush().unwrap();
        std::mem::forget(told);
    }
    store.erase_prefix(HOME).unwrap();
    assert_eq!(keys(store, HOME), [""; 0], "the suite leaves nothing behind");
    if was_empty {
        put(store, "a", b"1");
        store.put("top-level", &[b"1"], Condition::None).unwrap();
        let all = store.list_dir("").unwrap();
        assert_eq!((all.keys, all.prefixes), (vec!["top-level".to_string()], vec!["ozarr-suite".to_string()]), "the top");
        store.erase_prefix("").unwrap();
        assert_eq!(keys(store, ""), [""; 0], "the empty prefix erases all");
        put(store, "a", b"1");
        assert!(value(store, "a").is_some(), "an emptied store is usable");
        store.erase_prefix("").unwrap();
    }
}

/// Checks a writable store that cannot erase: each part over a new store that `make` gives. What is left in it is then shown to
/// `after`, flushed.
pub fn check_without_erasing(make: &mut dyn FnMut() -> SharedStore, after: &mut dyn FnMut(&dyn Storage)) {
    for (name, part) in PARTS {
        let told = Told(name);
        let store = make();
        assert!(!store.capabilities().erasable, "the store says that it can erase");
        part(&*store);
        store.flush().unwrap();
        after(&*store);
        std::mem::forget(told);
    }
}

/// Names the part of the suite that panics.
struct Told(&'static str);

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("store suite: not so: {}", self.0);
    }
}
