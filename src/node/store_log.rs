//! What the log is told of a store that keeps less than was asked for, once for each open store.

use super::Context;
use crate::store::{Capabilities, Storage};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const MAY_BE_LOST: &str = "what processes change at the same time in one chunk, or in one node's metadata, may be lost";

/// What the log was told of.
#[derive(Default)]
pub(super) struct StoreLog {
    locks: AtomicBool,
    conditions: AtomicBool,
    /// How many files of killed writers.
    swept: AtomicU64,
}

impl StoreLog {
    /// Tells the log of a file system without locks, of a server without conditions of puts, and of files of killed writers that were removed.
    /// No lock may be held: the program's function for the log may call the library.
    pub fn tell(&self, context: &Context, store: &dyn Storage, can: &Capabilities) {
        if can.lock_refused != 0 && !self.locks.swap(true, Ordering::Relaxed) {
            let (place, why) = (store.describe(), crate::platform::text_of(can.lock_refused));
            context.warn(&format!("file.lock: {place}: the file system has no locks ({why}): {MAY_BE_LOST}"));
        }
        if can.unconditional && !self.conditions.swap(true, Ordering::Relaxed) {
            let place = store.describe();
            context.warn(&format!("cloud.conditional_put: {place}: the server keeps no conditions of puts: {MAY_BE_LOST}"));
        }
        let told = self.swept.fetch_max(can.swept, Ordering::Relaxed);
        if can.swept > told {
            let (place, count) = (store.describe(), can.swept - told);
            context.inform(&format!("file.swept: {place}: removed {count} temporary files of writers that were killed"));
        }
    }
}
