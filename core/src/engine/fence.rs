//! Arrays that another writer may take over at any moment, in stores without locks whose puts have conditions.
//!
//! Whoever takes one over says so in the array's document before it stores anything. A chunk that is not there is put on the condition that it is
//! not. One that is there is put on the condition that it still is what was found, and between the two the document is looked at: while the array is
//! the own one what was found is nothing of the other's. So a put that comes late, or is made by a writer that has lost the array, replaces no chunk
//! of the writer that has it, and nothing is erased, for which stores have no conditions.

use super::lock;
use crate::error::{Error, Result, err};
use crate::fork::ForkReset;
use crate::limits::MAX_CONSOLIDATED;
use crate::store::mailbox::mailbox;
use crate::store::{ByteRange, ChangeDone, SharedStore, StorageExt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

type Judge = dyn Fn(&[u8]) -> Result<()> + Send + Sync;

/// See the module.
pub struct Fence {
    store: SharedStore,
    /// The key of the document.
    key: String,
    /// Fails for a document by which another writer has taken the array over.
    judge: Box<Judge>,
    looks: ForkReset<Mutex<Looks>>,
}

#[derive(Default)]
struct Looks {
    /// One is under way.
    under_way: bool,
    /// Those who have asked since it began.
    asked: Vec<ChangeDone>,
}

impl Fence {
    /// A fence by the document `key`, for which `judge` fails where another writer has taken the array over.
    pub fn new(store: SharedStore, key: String, judge: impl Fn(&[u8]) -> Result<()> + Send + Sync + 'static) -> Arc<Fence> {
        Arc::new(Fence { store, key, judge: Box::new(judge), looks: ForkReset::new(Mutex::default) })
    }

    /// Looks whether the array is the own one, and waits for the answer.
    pub fn check(self: &Arc<Self>) -> Result<()> {
        let (sender, receiver) = mailbox();
        self.check_then(Box::new(move |looked| sender.send(looked)));
        receiver.recv().unwrap_or_else(|| Err(err!(Internal, "a look at a document never ended")))
    }

    /// Looks whether the array is the own one, and tells `done`, from any thread. All who ask while a look is under way share the next one.
    pub(super) fn check_then(self: &Arc<Self>, done: ChangeDone) {
        let is_first = {
            let mut looks = lock::lock(self.looks.get());
            looks.asked.push(done);
            !std::mem::replace(&mut looks.under_way, true)
        };
        if is_first {
            self.look();
        }
    }

    /// Looks for all who have asked, and again while others ask meanwhile.
    fn look(self: &Arc<Self>) {
        loop {
            let asked = {
                let mut looks = lock::lock(self.looks.get());
                looks.under_way = !looks.asked.is_empty();
                std::mem::take(&mut looks.asked)
            };
            if asked.is_empty() {
                return;
            }
            // The answer, and the end of the call that has asked for it: whichever comes last goes on.
            let (fence, came) = (self.clone(), Arc::new(AtomicBool::new(false)));
            let last = came.clone();
            self.store.start_read(
                &self.key,
                &[ByteRange::up_to(MAX_CONSOLIDATED)],
                None,
                Box::new(move |read| {
                    let found = read.and_then(|fetched| {
                        let text = fetched.and_then(|fetched| fetched.parts.into_iter().next());
                        text.map_or_else(|| Err(err!(NotFound, "the array was renamed or erased meanwhile")), |text| (fence.judge)(&text))
                    });
                    let found = found.map_err(|e: Error| e.at_key(&fence.key));
                    asked.into_iter().for_each(|done| done(found.clone()));
                    if last.swap(true, Ordering::SeqCst) {
                        fence.look();
                    }
                }),
            );
            if !came.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::bail;
    use crate::store::Condition;
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use std::sync::Barrier;
    use std::sync::atomic::AtomicU64;
    use std::time::Duration;

    #[test]
    fn those_that_ask_at_the_same_time_share_a_look_that_begins_after_that() {
        for slow in [false, true] {
            let memory: SharedStore = Arc::new(MemoryStore::new());
            memory.put("key", &[b"mine"], Condition::None).unwrap();
            let store = if slow { Arc::new(LatencyStore::new(memory.clone(), Duration::from_millis(20))) } else { memory.clone() };
            let looks = Arc::new(AtomicU64::new(0));
            let counted = looks.clone();
            let fence = Fence::new(store, "key".into(), move |text| {
                counted.fetch_add(1, Ordering::SeqCst);
                if text == b"mine" { Ok(()) } else { bail!(State, "another one has it") }
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
            assert!(!slow || looks.load(Ordering::SeqCst) < 8, "{looks:?} looks");
            // A look before counts for nobody who asks later.
            memory.put("key", &[b"theirs"], Condition::None).unwrap();
            assert!(fence.check().is_err() && fence.check().is_err());
        }
    }
}
