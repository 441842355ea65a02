//! What a local store knows of its root folder: whether it may have been replaced since it was looked at.

use crate::platform::{BorrowedFd, keeps_removed};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What was found out of the root of a store.
#[derive(Default)]
pub(super) struct KnownRoot {
    /// When it had changed last as its name was looked at; 0: it was not yet.
    pub looked_at: AtomicU64,
    /// Counts the folders that it was so far.
    pub roots: AtomicU32,
    /// Whether values were put, or something was renamed or erased, since the last flush.
    pub has_put: AtomicBool,
    /// Whether some of them are in a folder that has lost its name and is still there.
    pub lost: AtomicBool,
    /// The number of the folder that had its name at the last flush; 0: not known.
    pub kept: AtomicU64,
    /// Whether removed files keep a name while they are open, one of the two below; 0: not known.
    keeps_removed: AtomicU8,
}

const KEEPS_NONE: u8 = 1;
const KEEPS_REMOVED: u8 = 2;

impl KnownRoot {
    /// Whether the file system of the root gives a file that is removed while it is open another name.
    pub fn keeps_removed(&self, root: BorrowedFd<'_>) -> bool {
        if self.keeps_removed.load(Ordering::Relaxed) == 0 {
            self.set_keeps_removed(keeps_removed(root));
        }
        self.keeps_removed.load(Ordering::Relaxed) == KEEPS_REMOVED
    }

    /// Says that it does, or does not.
    pub fn set_keeps_removed(&self, keeps: bool) {
        self.keeps_removed.store(if keeps { KEEPS_REMOVED } else { KEEPS_NONE }, Ordering::Relaxed);
    }

    /// Keeps in mind that a value was put, or something renamed or erased.
    pub fn note_put(&self) {
        if !self.has_put.load(Ordering::Relaxed) {
            self.has_put.store(true, Ordering::Relaxed);
        }
    }
}
