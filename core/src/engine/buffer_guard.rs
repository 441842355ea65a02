//! The guard of a caller's memory, where a request may end before its work does: copies enter one by one, and when the memory is revoked
//! those inside are waited for and no other enters. Only a copy is ever inside: no codec, no store, no lock.

use super::lock::lock;
use crate::error::{Result, bail};
use crate::sync::{Condvar, Mutex};
use std::sync::{Arc, PoisonError};

/// See the module.
#[derive(Default)]
pub(super) struct RevocableBuffer {
    state: Mutex<Occupancy>,
    empty: Condvar,
}

#[derive(Default)]
struct Occupancy {
    inside: usize,
    closed: bool,
}

/// A copy that is inside, until dropped.
pub(super) struct Access<'a>(&'a RevocableBuffer);

impl RevocableBuffer {
    /// Lets a copy in, or returns an error of kind `Cancelled` once the memory is revoked.
    pub fn enter(&self) -> Result<Access<'_>> {
        let mut state = lock(&self.state);
        if state.closed {
            bail!(Cancelled, "the request ended before all of it was done");
        }
        state.inside += 1;
        Ok(Access(self))
    }

    /// Revokes the memory: lets no copy in any more, and returns when none is inside.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        while state.inside > 0 {
            state = self.empty.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.inside -= 1;
        if state.inside == 0 && state.closed {
            self.0.empty.notify_all();
        }
    }
}

/// Enters `revocable`, if given.
pub(super) fn enter(revocable: &Option<Arc<RevocableBuffer>>) -> Result<Option<Access<'_>>> {
    revocable.as_deref().map(RevocableBuffer::enter).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
    use std::time::Duration;

    #[test]
    fn closing_waits_for_those_inside_and_nobody_enters_afterwards() {
        let (revocable, left) = (RevocableBuffer::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let inside = revocable.enter().unwrap();
            scope.spawn(|| {
                revocable.close();
                assert!(left.load(SeqCst), "the revocable closed over a copy");
            });
            while !lock(&revocable.state).closed {
                std::thread::yield_now();
            }
            assert_eq!(revocable.enter().err().map(|e| e.kind()), Some(ErrorKind::Cancelled));
            std::thread::sleep(Duration::from_millis(20));
            left.store(true, SeqCst);
            drop(inside);
        });
        revocable.close();
    }

    #[test]
    fn memory_is_free_as_soon_as_it_is_revoked() {
        for _ in 0..200 {
            let revocable = RevocableBuffer::default();
            let (memory, revocable) = (Box::new(AtomicU64::new(0)), &revocable);
            let address = &raw const *memory as usize;
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(move || {
                        while let Ok(_inside) = revocable.enter() {
                            // SAFETY: the memory lives until it is revoked.
                            unsafe { (*(address as *const AtomicU64)).fetch_add(1, SeqCst) };
                        }
                    });
                }
                std::thread::yield_now();
                revocable.close();
                drop(memory);
            });
        }
    }
}
