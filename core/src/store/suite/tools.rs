//! What the parts of the suite have in common: keys below one prefix, and checks that name what is wrong.

use crate::error::{ErrorKind, Result};
use crate::store::{Condition, Object, Storage, StorageExt, get};

/// Where the suite works; erased before and after.
pub(super) const HOME: &str = "ozarr-suite/";

pub(super) fn at(key: &str) -> String {
    format!("{HOME}{key}")
}

pub(super) fn put(store: &dyn Storage, key: &str, value: &[u8]) {
    store.put(&at(key), &[value], Condition::None).unwrap_or_else(|e| panic!("put {key}: {e:?}"));
}

pub(super) fn value(store: &dyn Storage, key: &str) -> Option<Vec<u8>> {
    get(store, &at(key), 1 << 30).unwrap_or_else(|e| panic!("get {key}: {e:?}"))
}

pub(super) fn object(store: &dyn Storage, key: &str) -> Object {
    store.open(&at(key)).unwrap_or_else(|e| panic!("open {key}: {e:?}")).unwrap_or_else(|| panic!("{key} is missing"))
}

pub(super) fn keys(store: &dyn Storage, prefix: &str) -> Vec<String> {
    store.keys(prefix).unwrap_or_else(|e| panic!("list {prefix}: {e:?}"))
}

#[track_caller]
pub(super) fn fails<T>(result: Result<T>, kind: ErrorKind, what: &str) {
    match result {
        Ok(_) => panic!("{what}: no error, {kind:?} expected"),
        Err(e) => assert_eq!(e.kind(), kind, "{what}: {e:?}"),
    }
}
