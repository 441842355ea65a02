//! Archives whose last handle is gone: how others know when all is written.

use crate::fork;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// How far a store is that nobody has a handle on any more: until its directory is written, and its lock given back, the file is not to be read.
pub(super) struct Closing {
    is_over: Mutex<bool>,
    over: Condvar,
    /// The process that does it.
    process: u32,
}

/// Dropped last of what a store has.
pub(super) struct ClosesLast(Arc<Closing>);

impl ClosesLast {
    pub fn closing(&self) -> Arc<Closing> {
        self.0.clone()
    }
}

impl Default for ClosesLast {
    fn default() -> ClosesLast {
        ClosesLast(Arc::new(Closing { is_over: Mutex::default(), over: Condvar::new(), process: fork::forks() }))
    }
}

impl Drop for ClosesLast {
    fn drop(&mut self) {
        // A child of `fork` may find it locked, and nobody there waits.
        if self.0.process == fork::forks() {
            *self.0.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.0.over.notify_all();
        }
    }
}

impl Closing {
    /// Whether the file may be read.
    pub fn is_over(&self) -> bool {
        self.process != fork::forks() || *self.is_over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it may.
    pub fn wait(&self) {
        if self.process == fork::forks() {
            let is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.over.wait_while(is_over, |is_over| !*is_over));
        }
    }
}
