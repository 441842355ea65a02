//! Arrays that another writer may take over at any moment, in stores without locks whose puts have conditions.
//!
//! Whoever takes one over says so before it stores anything. A chunk that is not there is put on the condition that it is not. One that is
//! there is put on the condition that it still is what was found, and between the two the array is looked at: while it is the own one what was
//! found is nothing of the other's. So a put that comes late, or is made by a writer that has lost the array, replaces no chunk of the writer that
//! has it, and nothing is erased, for which stores have no conditions.

use super::lock;
use crate::error::Result;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// See the module.
pub struct Fence {
    look: Box<dyn Fn() -> Result<()> + Send + Sync>,
    /// How many looks have begun.
    begun: AtomicU64,
    /// The last look that has ended, and what it found.
    ended: Mutex<(u64, Result<()>)>,
}

impl Fence {
    /// A fence by `look`, which fails where another writer has taken the array over.
    pub fn new(look: impl Fn() -> Result<()> + Send + Sync + 'static) -> Arc<Fence> {
        Arc::new(Fence { look: Box::new(look), begun: AtomicU64::new(0), ended: Mutex::new((0, Ok(()))) })
    }

    /// Looks whether the array is the own one. Threads that ask at the same time share one look, which begins after all of them have asked.
    pub(super) fn check(&self) -> Result<()> {
        let asked = self.begun.load(Ordering::SeqCst);
        let mut ended = lock::lock(&self.ended);
        if ended.0 <= asked {
            *ended = (self.begun.fetch_add(1, Ordering::SeqCst) + 1, (self.look)());
        }
        ended.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::bail;
    use std::sync::Barrier;

    #[test]
    fn those_that_ask_at_the_same_time_share_a_look_that_begins_after_that() {
        let (looks, lost) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(u64::MAX)));
        let (counted, last) = (looks.clone(), lost.clone());
        let fence = Fence::new(move || {
            let look = counted.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(20));
            if look >= last.load(Ordering::SeqCst) { bail!(State, "another one has it") } else { Ok(()) }
        });
        let barrier = Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    fence.check().unwrap();
                });
            }
        });
        assert!(looks.load(Ordering::SeqCst) < 8, "{looks:?} looks");
        // A look before counts for nobody who asks later.
        lost.store(looks.load(Ordering::SeqCst), Ordering::SeqCst);
        assert!(fence.check().is_err() && fence.check().is_err());
    }
}
