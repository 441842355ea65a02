//! What a local store knows of its root folder: whether it may have been replaced since it was looked at.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// What was found out of the root of a store.
#[derive(Default)]
pub(super) struct KnownRoot {
    /// When it had changed last as its name was looked at; 0: it was not yet.
    pub looked_at: AtomicU64,
    /// Counts the folders that it was so far.
    pub roots: AtomicU32,
    /// Whether values were put since the last flush.
    pub has_put: AtomicBool,
    /// The number of the folder that had its name at the last flush; 0: not known.
    pub kept: AtomicU64,
}

impl KnownRoot {
    /// Keeps in mind that a value was put.
    pub fn note_put(&self) {
        if !self.has_put.load(Ordering::Relaxed) {
            self.has_put.store(true, Ordering::Relaxed);
        }
    }
}
