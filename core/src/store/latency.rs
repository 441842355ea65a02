//! A store that makes another one slow, as a network does: every request takes a set time.
//!
//! For tests: it shows how many requests an access needs and how many of them are in flight at once, without a server. Requests that are
//! started do not delay each other.

use super::{
    ByteRange, Capabilities, Condition, Keys, ListInto, LockUse, Object, ProcessLock, ReadDone, SharedStore, Started, Storage, Tuning,
    Version, read_now,
};
use crate::error::{Result, err};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many started reads may wait; further ones are carried out, delay and all, before `start` returns.
const MAX_WAITING: usize = 65_536;

/// What a [`LatencyStore`] was asked so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyStats {
    /// Requests of all kinds. A started read is one, whatever its ranges.
    pub requests: u64,
    /// Requests that run now.
    pub in_flight: usize,
    /// The most requests that ever ran at the same time.
    pub most_in_flight: usize,
}

/// Another store whose requests take longer. Thread-safe. One thread of its own is started by the first read ([`Storage::start`]) and
/// ends when the store is dropped; reads that still wait then end with `Cancelled`.
pub struct LatencyStore {
    shared: Arc<Shared>,
    timer: OnceLock<Option<JoinHandle<()>>>,
}

struct Shared {
    inner: SharedStore,
    /// What every request takes.
    delay: Duration,
    state: Mutex<Delays>,
    changed: Condvar,
}

#[derive(Default)]
struct Delays {
    stats: LatencyStats,
    /// With the times at which they are carried out, in the order of these.
    waiting: VecDeque<(Instant, WaitingRead)>,
    stop: bool,
}

/// A read that was started.
struct WaitingRead {
    key: String,
    ranges: Vec<ByteRange>,
    if_match: Option<Version>,
    done: ReadDone,
}

impl Delays {
    /// Counts a request.
    fn begin(&mut self) {
        let stats = &mut self.stats;
        stats.requests += 1;
        stats.in_flight += 1;
        stats.most_in_flight = stats.most_in_flight.max(stats.in_flight);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Delays> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.lock().stats.in_flight -= 1;
    }

    /// Makes one request in the calling thread.
    fn slowly<T>(&self, request: impl FnOnce(&dyn Storage) -> T) -> T {
        self.lock().begin();
        std::thread::sleep(self.delay);
        let result = request(&*self.inner);
        self.end();
        result
    }

    /// Carries out a read that has waited, or cancels it.
    fn finish(&self, WaitingRead { key, ranges, if_match, done }: WaitingRead, stopped: bool) {
        let result = match stopped {
            true => Err(err!(Cancelled, "the store was closed while the read waited")),
            false => read_now(&*self.inner, &key, &ranges, if_match),
        };
        self.end();
        // A defect in the receiver must not keep the others waiting for ever.
        let _ = catch_unwind(AssertUnwindSafe(|| done(result)));
    }

    fn run_timer(&self) {
        crate::threads::block_signals();
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let stop = state.stop;
            match state.waiting.front().map(|(due, _)| *due) {
                None if stop => return,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(due) if due > now && !stop => {
                    state = self.changed.wait_timeout(state, due - now).unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => {
                    let first = state.waiting.pop_front();
                    drop(state);
                    if let Some((_, read)) = first {
                        self.finish(read, stop);
                    }
                    state = self.lock();
                }
            }
        }
    }
}

impl LatencyStore {
    /// `inner` behind a delay of `delay` for each request.
    pub fn new(inner: SharedStore, delay: Duration) -> LatencyStore {
        LatencyStore { shared: Arc::new(Shared { inner, delay, state: Mutex::default(), changed: Condvar::new() }), timer: OnceLock::new() }
    }

    /// What was asked so far.
    pub fn stats(&self) -> LatencyStats {
        self.shared.lock().stats
    }

    fn has_timer(&self) -> bool {
        let start = || {
            let shared = self.shared.clone();
            std::thread::Builder::new().name("ozarr-latency".to_string()).spawn(move || shared.run_timer()).ok()
        };
        self.timer.get_or_init(start).is_some()
    }
}

impl Drop for LatencyStore {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        // The last handle may be dropped by a receiver, in the timer's thread: that one ends by itself.
        if let Some(Some(timer)) = self.timer.take()
            && timer.thread().id() != std::thread::current().id()
        {
            let _ = timer.join();
        }
    }
}

impl Storage for LatencyStore {
    fn capabilities(&self) -> Capabilities {
        // A network is tuned as one, whatever is behind it.
        Capabilities { latency: true, tuning: Tuning::USUAL, ..self.shared.inner.capabilities() }
    }

    /// One request; reading the object that it gives takes no further ones.
    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.shared.slowly(|inner| inner.open(key))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        self.shared.slowly(|inner| inner.read_all(key, max))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.shared.slowly(|inner| inner.put(key, parts, condition))
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        self.shared.slowly(|inner| inner.erase_keys(keys))
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        self.shared.slowly(|inner| inner.list_keys(prefix, into))
    }

    fn flush(&self) -> Result<()> {
        self.shared.slowly(|inner| inner.flush())
    }

    /// Without a delay: the wait would keep others out.
    fn lock_key(&self, prefix: &str, key: &str, lock_use: LockUse) -> Result<Option<ProcessLock>> {
        self.shared.inner.lock_key(prefix, key, lock_use)
    }

    /// A read returns at once, and its `done` is called by the store's own thread when the bytes have come. A change takes its time here.
    fn start(&self, key: &str, what: Started<'_>) {
        let Started::Read { ranges, if_match, done } = what else { return what.run(self, key) };
        if !self.shared.inner.any_thread() || !self.has_timer() || self.shared.lock().waiting.len() >= MAX_WAITING {
            return done(self.shared.slowly(|inner| read_now(inner, key, ranges, if_match)));
        }
        let mut state = self.shared.lock();
        state.begin();
        let read = WaitingRead { key: key.to_string(), ranges: ranges.to_vec(), if_match, done };
        state.waiting.push_back((Instant::now() + self.shared.delay, read));
        self.shared.changed.notify_one();
    }

    fn describe(&self) -> String {
        self.shared.inner.describe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::StorageExt;
    use crate::store::memory::MemoryStore;
    use std::sync::mpsc;

    fn slow(delay: Duration) -> LatencyStore {
        LatencyStore::new(Arc::new(MemoryStore::new()), delay)
    }

    #[test]
    fn behaves_as_a_store() {
        crate::store::suite::check(&slow(Duration::from_micros(10)));
    }

    #[test]
    fn started_reads_run_side_by_side() {
        // Long enough for them all to be started meanwhile on a busy machine.
        let store = slow(Duration::from_millis(500));
        store.put("a", &[b"abc"], Condition::None).unwrap();
        let (sender, receiver) = mpsc::channel();
        let start = Instant::now();
        for _ in 0..40 {
            let sender = sender.clone();
            let range = ByteRange::Span { offset: 1, len: 2 };
            store.start_read("a", &[range], None, Box::new(move |r| sender.send(r.unwrap().unwrap().parts).unwrap()));
        }
        for _ in 0..40 {
            assert_eq!(receiver.recv_timeout(Duration::from_secs(20)).unwrap(), [b"bc"]);
        }
        assert!(start.elapsed() >= Duration::from_millis(500));
        let stats = store.stats();
        assert_eq!((stats.requests, stats.in_flight), (41, 0));
        assert!(stats.most_in_flight > 10, "{stats:?}");
    }

    #[test]
    fn reads_that_wait_when_the_store_goes_are_cancelled() {
        let store = slow(Duration::from_secs(3600));
        let (sender, receiver) = mpsc::channel();
        store.start_read("a", &[ByteRange::WHOLE], None, Box::new(move |r| sender.send(r.err().map(|e| e.kind())).unwrap()));
        drop(store);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)).unwrap(), Some(ErrorKind::Cancelled));
    }

    #[test]
    fn the_last_handle_may_go_inside_a_receiver() {
        let store = Arc::new(slow(Duration::from_millis(1)));
        let (sender, receiver) = mpsc::channel();
        let last = store.clone();
        let done = Box::new(move |_: Result<_>| {
            while Arc::strong_count(&last) > 1 {
                std::thread::yield_now();
            }
            drop(last);
            sender.send(()).unwrap();
        });
        store.start_read("a", &[ByteRange::WHOLE], None, done);
        drop(store);
        receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    }
}
