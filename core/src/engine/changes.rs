//! The keys of chunks that a handle changes, listed for a program that asks which process wrote what.

use super::lock::lock;
use crate::fork::ForkReset;
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

    /// Returns the keys, sorted, a line for each.
    pub fn lines(&self) -> String {
        lock(self.0.get()).iter().fold(String::new(), |text, key| text + key + "\n")
    }
}
