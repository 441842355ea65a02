//! Arrays that another writer may take over at any moment, in stores without locks whose puts have conditions.
//!
//! Whoever takes one over says so in the array's document before it stores anything. A chunk that is not there is put on the condition that it is
//! not. One that is there is put on the condition that it still is what was found, and between the two the document is looked at: while the array is
//! the own one what was found is nothing of the other's. So a put that comes late, or is made by a writer that has lost the array, replaces no chunk
//! of the writer that has it. Its chunks that become the fill value are put, too, as stores have no conditions for erasing; what is cut off is erased for
//! a short time after a look.

use super::lock;
use crate::error::{Error, Result, err};
use crate::fork::ForkReset;
use crate::limits::MAX_CONSOLIDATED;
use crate::store::mailbox::mailbox;
use crate::store::{ByteRange, ChangeDone, Fetched, SharedStore, StorageExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
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
            let came = Arc::new(AtomicBool::new(false));
            let found = Err(err!(Internal, "a look at a document was given up"));
            let mut look = Look { fence: self.clone(), asked, found, other_end: came.clone() };
            let take = move |read: Result<Option<Fetched>>| {
                if let Ok(judged) = catch_unwind(AssertUnwindSafe(|| look.fence.judged(read))) {
                    look.found = judged;
                }
            };
            let start = || self.store.start_read(&self.key, &[ByteRange::up_to(MAX_CONSOLIDATED)], None, Box::new(take));
            // What panics drops the look, which tells all who have asked.
            let _ = catch_unwind(AssertUnwindSafe(start));
            if !came.swap(true, Ordering::SeqCst) {
                return;
            }
        }
    }

    /// What the judge says of what was read.
    fn judged(&self, read: Result<Option<Fetched>>) -> Result<()> {
        let text = read.map(|fetched| fetched.and_then(|fetched| fetched.parts.into_iter().next()));
        let found = text.and_then(|text| match text {
            Some(text) => (self.judge)(&text),
            None => Err(err!(NotFound, "the array was renamed or erased meanwhile")),
        });
        found.map_err(|e: Error| e.at_key(&self.key))
    }
}

/// A look that is under way. However it ends, by a panic too, all who have asked for it are told, and others do not wait for it.
struct Look {
    fence: Arc<Fence>,
    asked: Vec<ChangeDone>,
    /// What they are told.
    found: Result<()>,
    /// The answer, or the call that has asked for it, has ended: whichever comes last goes on.
    other_end: Arc<AtomicBool>,
}

impl Drop for Look {
    fn drop(&mut self) {
        for done in std::mem::take(&mut self.asked) {
            // A defect in one of them keeps no others waiting.
            let _ = catch_unwind(AssertUnwindSafe(|| done(self.found.clone())));
        }
        if self.other_end.swap(true, Ordering::SeqCst) {
            self.fence.look();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, bail};
    use crate::store::Condition;
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use crate::store::{Object, Storage};
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

    fn planted<T>() -> T {
        std::panic::resume_unwind(Box::new("planted"))
    }

    #[test]
    fn a_look_that_panics_or_one_that_is_told_of_it_keeps_nobody_waiting() {
        for slow in [false, true] {
            let memory: SharedStore = Arc::new(MemoryStore::new());
            memory.put("key", &[b"mine"], Condition::None).unwrap();
            let store = if slow { Arc::new(LatencyStore::new(memory.clone(), Duration::from_millis(20))) } else { memory };
            let is_first = AtomicBool::new(true);
            let fence = Fence::new(store, "key".into(), move |_| if is_first.swap(false, Ordering::SeqCst) { planted() } else { Ok(()) });
            assert_eq!(fence.check().unwrap_err().kind(), ErrorKind::Internal);
            // Those that ask meanwhile share the next look.
            fence.check_then(Box::new(|_| ()));
            let (sender, receiver) = mailbox();
            for tells in [false, true, false, true] {
                let sender = sender.clone();
                let told = move |looked| if tells { sender.send(looked) } else { planted() };
                fence.check_then(Box::new(told));
            }
            assert!([(); 2].iter().all(|()| receiver.recv().unwrap().is_ok()));
            fence.check().unwrap();
        }
    }

    /// A store of which the first read panics before it is under way.
    struct Panics(MemoryStore, AtomicBool);

    impl Storage for Panics {
        crate::store::forward!(0: capabilities, put, erase_keys, list_keys, flush, describe);

        fn open(&self, key: &str) -> Result<Option<Object>> {
            if self.1.swap(false, Ordering::SeqCst) { planted() } else { self.0.open(key) }
        }
    }

    #[test]
    fn a_store_that_panics_as_a_look_begins_keeps_nobody_waiting() {
        let store: SharedStore = Arc::new(Panics(MemoryStore::new(), AtomicBool::new(true)));
        store.put("key", &[b"mine"], Condition::None).unwrap();
        let fence = Fence::new(store, "key".into(), |_| Ok(()));
        let told: Arc<Mutex<Vec<Option<ErrorKind>>>> = Arc::default();
        for _ in 0..2 {
            let told = told.clone();
            let done = move |looked: Result<()>| lock::lock(&told).push(looked.err().map(|e| e.kind()));
            fence.check_then(Box::new(done));
        }
        assert_eq!(*lock::lock(&told), [Some(ErrorKind::Internal), None]);
    }
}
