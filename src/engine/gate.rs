//! The gate before a caller's memory, where a request may end before its work does: copies pass it one by one, and when it is closed
//! those inside are waited for and none passes any more. What holds it open is a copy and nothing else: no codec, no store, no lock.

use super::lock::lock;
use crate::error::{Result, bail};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// See the module.
#[derive(Default)]
pub(super) struct Gate {
    state: Mutex<State>,
    empty: Condvar,
}

#[derive(Default)]
struct State {
    inside: usize,
    closed: bool,
}

/// A copy that is inside, until dropped.
pub(super) struct Inside<'a>(&'a Gate);

impl Gate {
    /// Lets a copy in; an error of kind `Cancelled` once the gate is closed.
    pub fn enter(&self) -> Result<Inside<'_>> {
        let mut state = lock(&self.state);
        if state.closed {
            bail!(Cancelled, "the request ended before all of it was done");
        }
        state.inside += 1;
        Ok(Inside(self))
    }

    /// Lets nobody in any more, and returns when nobody is inside.
    pub fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        while state.inside > 0 {
            state = self.empty.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.inside -= 1;
        if state.inside == 0 && state.closed {
            self.0.empty.notify_all();
        }
    }
}

/// Enters the gate, where there is one.
pub(super) fn enter(gate: &Option<Arc<Gate>>) -> Result<Option<Inside<'_>>> {
    gate.as_deref().map(Gate::enter).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
    use std::time::Duration;

    #[test]
    fn closing_waits_for_those_inside_and_nobody_enters_afterwards() {
        let (gate, left) = (Gate::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let inside = gate.enter().unwrap();
            scope.spawn(|| {
                gate.close();
                assert!(left.load(SeqCst), "the gate closed over a copy");
            });
            while !lock(&gate.state).closed {
                std::thread::yield_now();
            }
            assert_eq!(gate.enter().err().map(|e| e.kind()), Some(ErrorKind::Cancelled));
            std::thread::sleep(Duration::from_millis(20));
            left.store(true, SeqCst);
            drop(inside);
        });
        gate.close();
    }

    #[test]
    fn memory_is_free_as_soon_as_the_gate_is_closed() {
        for _ in 0..200 {
            let gate = Gate::default();
            let (memory, gate) = (Box::new(AtomicU64::new(0)), &gate);
            let address = &raw const *memory as usize;
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(move || {
                        while let Ok(_inside) = gate.enter() {
                            // SAFETY: the memory lives until the gate is closed.
                            unsafe { (*(address as *const AtomicU64)).fetch_add(1, SeqCst) };
                        }
                    });
                }
                std::thread::yield_now();
                gate.close();
                drop(memory);
            });
        }
    }
}
