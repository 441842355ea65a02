//! A store that makes another one slow, as a network does: every request takes a set time, and all of them share what goes over a
//! line in a second.
//!
//! For tests and experiments: it shows how many requests an access needs, how many of them are in flight at once, and what becomes
//! of it where bandwidth is short, without a server. Requests that are started do not delay each other but by their [`Pace`].

use super::pace::Line;
pub use super::pace::Pace;
use super::{
    ByteRange, Capabilities, Condition, Fetched, Keys, ListInto, LockUse, Object, ProcessLock, ReadDone, ReadObject, SharedStore, Started,
    Storage, Tuning, Version, read_now,
};
use crate::error::{Result, err};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How many started reads may wait; further ones are carried out, delay and all, before `start` returns.
pub const MAX_WAITING: usize = 65_536;

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

/// Another store behind a slow line. Thread-safe. One thread of its own is started by the first read ([`Storage::start`]) and
/// ends when the store is dropped; reads that still wait then end with `Cancelled`.
pub struct LatencyStore {
    shared: Arc<Shared>,
    timer: OnceLock<Option<JoinHandle<()>>>,
}

struct Shared {
    inner: SharedStore,
    state: Mutex<LineState>,
    changed: Condvar,
}

struct LineState {
    stats: LatencyStats,
    line: Line,
    /// In the order of the times at which they go on.
    waiting: VecDeque<(Instant, Step)>,
    stop: bool,
}

/// What is to be done for a read that was started.
enum Step {
    /// To read.
    Read { key: String, ranges: Vec<ByteRange>, if_match: Option<Version>, done: ReadDone },
    /// To give what was read.
    Give { result: Result<Option<Fetched>>, done: ReadDone },
}

/// The bytes of an answer.
fn size(result: &Result<Option<Fetched>>) -> u64 {
    let parts = result.iter().flatten().flat_map(|fetched| &fetched.parts);
    parts.map(|part| part.len() as u64).sum()
}

/// An answer whose bytes are not counted.
fn nothing<T>(_: &T) -> u64 {
    0
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request, and says when it is carried out.
    fn begin(&self) -> Instant {
        let mut state = self.lock();
        let stats = &mut state.stats;
        stats.requests += 1;
        stats.in_flight += 1;
        stats.most_in_flight = stats.most_in_flight.max(stats.in_flight);
        state.line.request(Instant::now())
    }

    fn end(&self) {
        self.lock().stats.in_flight -= 1;
    }

    /// Waits while `bytes` bytes are on the line.
    fn carry(&self, bytes: u64) {
        let came = self.lock().line.carry(Instant::now(), bytes);
        std::thread::sleep(came.saturating_duration_since(Instant::now()));
    }

    /// One request in the calling thread, which sends `sent` bytes and gets those that `came` counts.
    fn slowly<T>(&self, sent: u64, request: impl FnOnce(&dyn Storage) -> T, came: impl FnOnce(&T) -> u64) -> T {
        let due = self.begin();
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        self.carry(sent);
        let result = request(&*self.inner);
        self.carry(came(&result));
        self.end();
        result
    }

    fn wait_until(&self, due: Instant, step: Step) {
        let mut state = self.lock();
        let at = state.waiting.partition_point(|(other, _)| *other <= due);
        state.waiting.insert(at, (due, step));
        self.changed.notify_one();
    }

    fn go_on(&self, step: Step, stopped: bool) {
        let (result, done) = match step {
            Step::Read { done, .. } | Step::Give { done, .. } if stopped => {
                (Err(err!(Cancelled, "the store was closed while the read waited")), done)
            }
            Step::Give { result, done } => (result, done),
            Step::Read { key, ranges, if_match, done } => {
                let result = read_now(&*self.inner, &key, &ranges, if_match);
                let now = Instant::now();
                let came = self.lock().line.carry(now, size(&result));
                if came > now {
                    return self.wait_until(came, Step::Give { result, done });
                }
                (result, done)
            }
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
                    if let Some((_, step)) = first {
                        self.go_on(step, stop);
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
        LatencyStore::paced(inner, Pace { delay, ..Pace::default() })
    }

    /// `inner` behind a line of that pace.
    pub fn paced(inner: SharedStore, pace: Pace) -> LatencyStore {
        let (stats, line) = (LatencyStats::default(), Line::new(pace));
        let state = Mutex::new(LineState { stats, line, waiting: VecDeque::new(), stop: false });
        LatencyStore { shared: Arc::new(Shared { inner, state, changed: Condvar::new() }), timer: OnceLock::new() }
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

    /// One request; reading the object that it gives takes the line's time for its bytes and no further requests.
    fn open(&self, key: &str) -> Result<Option<Object>> {
        let found = self.shared.slowly(0, |inner| inner.open(key), nothing)?;
        if !self.shared.lock().line.is_narrow() {
            return Ok(found);
        }
        Ok(found.map(|object| Object::Other(Box::new(NarrowObject { object, shared: self.shared.clone() }))))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        let bytes = |found: &Result<Option<Vec<u8>>>| found.iter().flatten().map(|bytes| bytes.len() as u64).sum();
        self.shared.slowly(0, |inner| inner.read_all(key, max), bytes)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        let sent = parts.iter().map(|part| part.len() as u64).sum();
        self.shared.slowly(sent, |inner| inner.put(key, parts, condition), nothing)
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        self.shared.slowly(0, |inner| inner.erase_keys(keys), nothing)
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        self.shared.slowly(0, |inner| inner.list_keys(prefix, into), nothing)
    }

    fn flush(&self) -> Result<()> {
        self.shared.slowly(0, |inner| inner.flush(), nothing)
    }

    /// Without a delay: the wait would keep others out.
    fn lock_key(&self, prefix: &str, key: &str, often: LockUse) -> Result<Option<ProcessLock>> {
        self.shared.inner.lock_key(prefix, key, often)
    }

    /// A read returns at once, and its `done` is called by the store's own thread when the bytes have come. A change takes its time here.
    fn start(&self, key: &str, what: Started<'_>) {
        let Started::Read { ranges, if_match, done } = what else { return what.run(self, key) };
        if !self.shared.inner.any_thread() || !self.has_timer() || self.shared.lock().waiting.len() >= MAX_WAITING {
            return done(self.shared.slowly(0, |inner| read_now(inner, key, ranges, if_match), size));
        }
        let due = self.shared.begin();
        self.shared.wait_until(due, Step::Read { key: key.to_string(), ranges: ranges.to_vec(), if_match, done });
    }

    fn describe(&self) -> String {
        self.shared.inner.describe()
    }
}

/// An opened object whose bytes come over the line.
struct NarrowObject {
    object: Object,
    shared: Arc<Shared>,
}

impl ReadObject for NarrowObject {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        self.object.read_exact_at(offset, buf)?;
        self.shared.carry(buf.len() as u64);
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        self.object.len()
    }

    fn version(&self) -> Result<Version> {
        self.object.version()
    }

    fn still_current(&self) -> Result<bool> {
        self.object.still_current()
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
        let store = slow(Duration::from_millis(50));
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
        let took = start.elapsed();
        assert!(took >= Duration::from_millis(50), "{took:?}");
        assert!(took < Duration::from_millis(40 * 50), "{took:?}");
        let stats = store.stats();
        assert_eq!((stats.requests, stats.in_flight), (41, 0));
        assert!(stats.most_in_flight > 10, "{stats:?}");
    }

    #[test]
    fn a_narrow_line_is_shared_by_all_that_goes_over_it() {
        // 100 bytes take a tenth of a second, whoever asks: less time would be a faster line; more is the machine's.
        let pace = Pace { bytes_per_second: 1000, ..Pace::default() };
        let store = LatencyStore::paced(Arc::new(MemoryStore::new()), pace);
        type Access = fn(&LatencyStore);
        let cases: [(&str, Access); 4] = [
            ("put", |store| store.put("k", &[&[7; 60], &[8; 40]], Condition::None).unwrap()),
            ("get", |store| assert_eq!(crate::store::get(store, "k", 1000).unwrap().unwrap().len(), 100)),
            ("ranges", |store| {
                let ranges = [ByteRange::Span { offset: 0, len: 70 }, ByteRange::Suffix { len: 30 }];
                assert_eq!(read_now(store, "k", &ranges, None).unwrap().unwrap().parts[1], [8; 30]);
            }),
            ("started", |store| {
                let (sender, receiver) = mpsc::channel();
                for _ in 0..10 {
                    let sender = sender.clone();
                    let give = move |r: Result<Option<Fetched>>| sender.send(r.unwrap().unwrap().parts.remove(0)).unwrap();
                    store.start_read("k", &[ByteRange::Span { offset: 55, len: 10 }], None, Box::new(give));
                }
                (0..10).for_each(|_| assert_eq!(receiver.recv().unwrap(), [7, 7, 7, 7, 7, 8, 8, 8, 8, 8]));
            }),
        ];
        for (name, access) in cases {
            let began = Instant::now();
            access(&store);
            assert!(began.elapsed() >= Duration::from_millis(100), "{name}: {:?}", began.elapsed());
        }
        let few = LatencyStore::paced(Arc::new(MemoryStore::new()), Pace { requests_per_second: 50, ..Pace::default() });
        let began = Instant::now();
        (0..6).for_each(|_| assert!(few.open("none").unwrap().is_none()));
        assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
    }

    #[test]
    fn a_narrow_store_behaves_as_a_store() {
        let pace = Pace { delay: Duration::from_micros(5), bytes_per_second: 1 << 30, requests_per_second: 1_000_000 };
        crate::store::suite::check(&LatencyStore::paced(Arc::new(MemoryStore::new()), pace));
    }

    #[test]
    fn bytes_that_are_on_their_way_when_the_store_goes_are_cancelled() {
        let memory = MemoryStore::new();
        memory.put("k", &[&[1; 1 << 20]], Condition::None).unwrap();
        let store = LatencyStore::paced(Arc::new(memory), Pace { bytes_per_second: 1, ..Pace::default() });
        let (sender, receiver) = mpsc::channel();
        let give = move |r: Result<Option<Fetched>>| sender.send(r.err().map(|e| e.kind())).unwrap();
        store.start_read("k", &[ByteRange::WHOLE], None, Box::new(give));
        drop(store);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(20)).unwrap(), Some(ErrorKind::Cancelled));
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
