//! The keys of chunks that a handle changes, listed for a program that asks which process wrote what.

use super::lock::lock;
use crate::error::Result;
use crate::fork::ForkReset;
use crate::limits::joined;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The keys that a handle changed since it began to list them.
pub struct Changes(ForkReset<Mutex<BTreeSet<String>>>);

impl Changes {
    /// Lists no keys yet.
    pub fn new() -> Arc<Changes> {
        Arc::new(Changes(ForkReset::new(Mutex::default)))
    }

    /// Adds a key.
    pub(super) fn add(&self, key: &str) {
        lock(self.0.get()).insert(key.to_string());
    }

    /// Returns the keys, sorted, a line for each; an error instead of an abort when memory is short.
    pub fn lines(&self) -> Result<String> {
        joined(lock(self.0.get()).iter().flat_map(|key| [key.as_str(), "\n"]), "")
    }
}
