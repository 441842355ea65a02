//! A request: the items of one read or write, claimed one by one by whoever helps, and what became of them.
//!
//! A blocking call is a request that its caller helps along until it is complete. One that leaves its caller is the same with what
//! `pending` keeps beside it. Items that wait for the network or for a busy key are parked: a continuation comes back through
//! `resume`, and any helper runs it.

use super::fork_join::ForkJoin;
use super::inside_request::InsideRequest;
use super::lock::{LazyCondvar, lock};
use super::pool::{Helpable, Pool};
use crate::counting;
use crate::error::{Error, ErrorKind, Result, err};
use crate::limits;
use crate::per_thread;
use crate::store::Tuning;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Work below this many bytes and items is done by the calling thread: waking another costs more (about 20 µs) than it gains.
pub(super) const INLINE_BYTES: u64 = 256 << 10;
const INLINE_ITEMS: u64 = 16;

/// What became of an item.
pub(super) enum Outcome {
    /// It is done.
    Done(Result<()>),
    /// It goes on later, and calls [`Request::finish`] then.
    Parked,
}

/// A plan that can be carried out item by item, from any threads.
pub(super) trait Work: Send + Sync {
    /// Returns its size, and how it is to be done.
    fn about(&self) -> About;
    /// Returns the threads to use.
    fn pool(&self) -> &Arc<Pool>;
    /// Carries out one item.
    fn run(&self, request: &Arc<Request>, item: u64) -> Outcome;
}

/// What is known of work before it begins.
pub(super) struct About {
    /// How many items there are.
    pub items: u64,
    /// How many bytes they move, about.
    pub bytes: u64,
    /// Whether the other items are carried out after one failed (writes: what can be stored is stored).
    pub finish_others: bool,
    /// What may be in flight, in a store with latency.
    pub tuning: Tuning,
}

/// What a request reports that has left its caller.
pub(super) trait After: Send + Sync {
    /// Is called before a piece of the request's work. The thread does the work until the result is dropped.
    fn enter(&self, request: &Arc<Request>) -> InsideRequest;
    /// Is called when a parked item can go on.
    fn resumed(&self);
    /// Is called when all items have ended, and nothing of the work is left.
    fn finished(&self, request: &Arc<Request>);
}

pub(super) type Task = Box<dyn FnOnce(&Arc<Request>) + Send>;

/// See the module.
pub struct Request {
    pub(super) about: About,
    pool: Arc<Pool>,
    /// Each item that is done wakes the thread that waits.
    reports_progress: bool,
    next: AtomicU64,
    finished: AtomicU64,
    failed: AtomicBool,
    /// What is not begun is not to be begun any more.
    stopped: AtomicBool,
    /// What hears of a request that has left its caller.
    after: Option<Arc<dyn After>>,
    pub(super) in_flight: AtomicUsize,
    /// Bytes that are waited for, or have come and are not used yet.
    pub(super) bytes: AtomicU64,
    /// How many reads wait for room.
    pub(super) held: AtomicUsize,
    ready: AtomicUsize,
    /// Whether a worker took it up when it was offered last; changed under the lock of `state`.
    has_worker: AtomicBool,
    pub(super) state: Mutex<Backlog>,
    wake: LazyCondvar,
}

#[derive(Default)]
pub(super) struct Backlog {
    /// Until all items have ended.
    work: Option<Arc<dyn Work>>,
    /// How many threads help and may hold what belongs to the work. The caller of one that blocks does not count.
    inside: usize,
    ready: VecDeque<Task>,
    error: Option<Error>,
    failures: u64,
    /// Reads that are started when there is room for their bytes.
    pub(super) held: VecDeque<(u64, Task)>,
}

/// Carries out `work`, with the help of its pool where that gains, and returns when all of it is done.
pub(super) fn run(work: Arc<dyn Work>) -> Result<()> {
    let request = Request::new(work.clone(), false, None);
    let About { items, bytes, .. } = request.about;
    if items == 0 {
        return Ok(());
    }
    if items > 1 && (bytes > INLINE_BYTES || items > INLINE_ITEMS) {
        request.pool.offer(&request, (items - 1).min(1024) as usize);
    }
    request.help(&*work);
    request.wait(&*work);
    request.let_go();
    request.result()
}

/// Carries out `work` with up to `width` threads, and calls `told` in this thread with the number of items that are done, whenever
/// it grew. An error of it ends the request before the next item.
pub(super) fn run_and_tell(work: Arc<dyn Work>, width: usize, told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
    let request = Request::new(work.clone(), true, None);
    let Some(others) = request.about.items.checked_sub(1) else { return Ok(()) };
    let helpers = usize::try_from(others).unwrap_or(usize::MAX).min(width.saturating_sub(1));
    request.pool.offer(&request, helpers);
    request.help_and_tell(&*work, told);
    request.let_go();
    request.result()
}

impl Helpable for Request {
    fn help_along(self: Arc<Self>) {
        self.inside(|work| self.help(work));
    }
}

impl Request {
    pub(super) fn new(work: Arc<dyn Work>, reports_progress: bool, after: Option<Arc<dyn After>>) -> Arc<Request> {
        Arc::new(Request {
            about: work.about(),
            pool: work.pool().clone(),
            reports_progress,
            after,
            stopped: AtomicBool::new(false),
            next: AtomicU64::new(0),
            finished: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            in_flight: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            ready: AtomicUsize::new(0),
            has_worker: AtomicBool::new(false),
            state: Mutex::new(Backlog { work: Some(work), ..Backlog::default() }),
            wake: LazyCondvar::default(),
        })
    }

    /// Helps until every item is done, and reports how many are. Returns in any case, so that what the items use may go
    /// afterwards.
    fn help_and_tell(self: &Arc<Self>, work: &dyn Work, told: &mut dyn FnMut(u64) -> Result<()>) {
        let (total, mut before) = (self.about.items, 0);
        loop {
            let done = self.finished.load(Ordering::Acquire);
            if done > before && !self.failed() {
                let result = catch_unwind(AssertUnwindSafe(|| told(done))).unwrap_or_else(|panic| Err(panicked(&*panic)));
                if let Err(e) = result {
                    self.fail(e);
                }
            }
            before = done;
            if done >= total {
                return;
            }
            if self.ready.load(Ordering::Acquire) > 0 && self.run_ready() {
                continue;
            }
            if self.next.load(Ordering::Relaxed) < total {
                let item = self.next.fetch_add(1, Ordering::Relaxed);
                if item < total {
                    self.run_item(work, item);
                    continue;
                }
            }
            let mut state = lock(&self.state);
            while state.ready.is_empty() && self.finished.load(Ordering::Acquire) == done {
                state = self.wake.wait(state);
            }
        }
    }

    /// Returns whether an item failed.
    pub(super) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Returns whether the request has left its caller, so that perhaps no thread is at hand to go on with it.
    pub(super) fn is_detached(&self) -> bool {
        self.after.is_some()
    }

    /// Returns whether the rest is not to be done any more.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Begins nothing any more. What is under way goes on.
    pub(super) fn stop(self: &Arc<Self>) {
        self.stopped.store(true, Ordering::Relaxed);
        self.skip_rest();
    }

    /// Has others help, as far as there are.
    pub(super) fn call_for_help(self: &Arc<Self>) {
        match self.about.items {
            0 => self.all_done(),
            items => self.offer(&lock(&self.state), items.min(1024) as usize),
        }
    }

    /// Offers it to the pool, and remembers whether there was a thread: one that is started for another request later knows nothing of this one.
    fn offer(self: &Arc<Self>, _locked: &Backlog, helpers: usize) {
        self.has_worker.store(self.pool.offer(self, helpers), Ordering::Release);
    }

    /// Counts the items that no thread has begun as done.
    fn skip_rest(self: &Arc<Self>) {
        let total = self.about.items;
        let begun = self.next.swap(total, Ordering::Relaxed);
        self.count(total.saturating_sub(begun));
    }

    /// Counts items that are done.
    fn count(self: &Arc<Self>, items: u64) {
        let total = self.about.items;
        let before = self.finished.fetch_add(items, Ordering::AcqRel);
        if before < total && before + items >= total {
            self.all_done();
        } else if self.reports_progress {
            self.notify();
        }
    }

    fn all_done(self: &Arc<Self>) {
        self.leave(0);
    }

    /// Has this thread help by `go_on`, unless all items have ended and the work is gone. What it holds of the work is gone as well before whoever
    /// waits is told of the end.
    fn inside<T>(self: &Arc<Self>, go_on: impl FnOnce(&dyn Work) -> T) -> Option<T> {
        let mut state = lock(&self.state);
        let work = state.work.clone()?;
        state.inside += 1;
        drop(state);
        let _inside = self.after.as_ref().map(|_| InsideRequest::new());
        let result = go_on(&*work);
        drop(work);
        self.leave(1);
        Some(result)
    }

    /// Counts threads that do not help any more. The last one ends a request that has left its caller, if all items have ended.
    fn leave(self: &Arc<Self>, threads: usize) {
        let mut state = lock(&self.state);
        state.inside -= threads;
        let is_over = state.inside == 0 && self.finished.load(Ordering::Acquire) >= self.about.items;
        let ended = self.after.as_ref().filter(|_| is_over).and_then(|after| Some((after, state.work.take()?)));
        // The lock orders this after the waiter's check and before its sleep.
        drop(state);
        self.wake.notify_all();
        if let Some((after, work)) = ended {
            drop(work);
            after.finished(self);
        }
    }

    /// Waits until no other thread holds anything of the work, all items of which have ended.
    fn let_go(&self) {
        let mut state = lock(&self.state);
        let _work = state.work.take();
        while state.inside > 0 {
            state = self.wake.wait(state);
        }
        drop(state);
    }

    fn notify(&self) {
        // The lock orders this after the waiter's check and before its sleep.
        drop(lock(&self.state));
        self.wake.notify_all();
    }

    fn fail(self: &Arc<Self>, e: Error) {
        let mut state = lock(&self.state);
        state.failures += 1;
        // That a part is lost is told once, and by this alone. Where memory ended less may be tried at a time.
        let rank = |e: &Error| [ErrorKind::NoMemory, ErrorKind::State].iter().position(|kind| *kind == e.kind());
        if state.error.as_ref().is_none_or(|first| rank(&e) > rank(first)) {
            state.error = Some(e);
        }
        self.failed.store(true, Ordering::Relaxed);
        drop(state);
        if !self.about.finish_others {
            self.skip_rest();
        }
    }

    /// Runs ready continuations and unclaimed items until all are taken.
    fn help(self: &Arc<Self>, work: &dyn Work) {
        while self.step(work) {}
    }

    /// Runs a ready continuation or an unclaimed item, or returns false if all are taken.
    pub(super) fn help_once(self: &Arc<Self>) -> bool {
        self.inside(|work| self.step(work)).unwrap_or(false)
    }

    fn step(self: &Arc<Self>, work: &dyn Work) -> bool {
        if self.ready.load(Ordering::Acquire) > 0 && self.run_ready() {
            return true;
        }
        let total = self.about.items;
        if !self.claimable(total) {
            return false;
        }
        let item = self.next.fetch_add(1, Ordering::Relaxed);
        if item >= total {
            return false;
        }
        self.run_item(work, item);
        true
    }

    fn run_item(self: &Arc<Self>, work: &dyn Work, item: u64) {
        let _inside = self.after.as_ref().map(|after| after.enter(self));
        if self.is_stopped() || (self.failed.load(Ordering::Relaxed) && !self.about.finish_others) {
            return self.finish(Ok(()));
        }
        if let Err(e) = limits::check_memory() {
            return self.finish(Err(e));
        }
        match catch_unwind(AssertUnwindSafe(|| work.run(self, item))) {
            Ok(Outcome::Done(result)) => self.finish(result),
            Ok(Outcome::Parked) => {}
            Err(panic) => self.finish(Err(panicked(&*panic))),
        }
    }

    fn run_ready(self: &Arc<Self>) -> bool {
        let mut state = lock(&self.state);
        let Some(task) = state.ready.pop_front() else { return false };
        self.ready.fetch_sub(1, Ordering::AcqRel);
        drop(state);
        let _inside = self.after.as_ref().map(|after| after.enter(self));
        // A continuation completes its item itself; one that panics leaves it to us.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            self.finish(Err(panicked(&*panic)));
        }
        true
    }

    /// Queues the rest of a parked item. A worker that is started for it is there before another thread can take it: with the last item the call
    /// ends, and no thread may come after that, when the program has perhaps ended all of them.
    pub(super) fn resume(self: &Arc<Self>, task: Task) {
        let mut state = lock(&self.state);
        state.ready.push_back(task);
        self.ready.fetch_add(1, Ordering::AcqRel);
        self.offer(&state, 1);
        drop(state);
        self.wake.notify_all();
        if let Some(after) = &self.after {
            after.resumed();
        }
    }

    /// Returns whether other threads surely go on with it.
    pub(super) fn has_workers(&self) -> bool {
        self.has_worker.load(Ordering::Acquire) && self.pool.has_workers()
    }

    /// Returns the threads that this request may use.
    pub(super) fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Returns whether fewer items are left to be begun than other threads could begin.
    pub(super) fn has_idle_threads(&self) -> bool {
        let left = self.about.items.saturating_sub(self.next.load(Ordering::Relaxed));
        left + 1 < self.threads() as u64
    }

    /// Calls `work` with each number below `count`, by this thread and by those that come to help, and returns when all calls have
    /// returned. A panic in one of them goes on here.
    pub(super) fn for_each_parallel(self: &Arc<Self>, count: usize, work: &(dyn Fn(usize) + Sync)) {
        // SAFETY: this function returns after `ForkJoin::wait`.
        let fork_join = Arc::new(unsafe { ForkJoin::new(count, work) });
        let helpers = (self.threads() - 1).min(count.saturating_sub(1));
        if helpers > 0 {
            let mut state = lock(&self.state);
            for _ in 0..helpers {
                // A helper that runs after completion finds a dead `Weak` and returns.
                let fork_join = Arc::downgrade(&fork_join);
                state.ready.push_back(Box::new(move |_| {
                    if let Some(fork_join) = fork_join.upgrade() {
                        fork_join.help();
                    }
                }));
            }
            self.ready.fetch_add(helpers, Ordering::AcqRel);
            drop(state);
            self.wake.notify_all();
            self.pool.offer(self, helpers);
        }
        fork_join.help();
        if let Some(panic) = fork_join.wait() {
            std::panic::resume_unwind(panic);
        }
    }

    /// Completes one item.
    pub(super) fn finish(self: &Arc<Self>, result: Result<()>) {
        if let Err(e) = result {
            if e.kind() == ErrorKind::NoMemory {
                per_thread::give_back();
            }
            self.fail(e);
        }
        self.count(1);
    }

    /// Helps until every item is done.
    fn wait(self: &Arc<Self>, work: &dyn Work) {
        let total = self.about.items;
        while self.finished.load(Ordering::Acquire) < total {
            let mut state = lock(&self.state);
            while state.ready.is_empty() && self.finished.load(Ordering::Acquire) < total && !self.claimable(total) {
                state = self.wake.wait(state);
            }
            drop(state);
            self.help(work);
        }
    }

    fn claimable(&self, total: u64) -> bool {
        self.held.load(Ordering::Relaxed) == 0
            && self.in_flight.load(Ordering::Relaxed) < self.about.tuning.requests
            && self.bytes.load(Ordering::Relaxed) < self.about.tuning.bytes
            && self.next.load(Ordering::Relaxed) < total
    }

    pub(super) fn result(&self) -> Result<()> {
        let mut state = lock(&self.state);
        let (failures, total) = (state.failures, self.about.items);
        let Some(e) = state.error.take() else { return Ok(()) };
        if !self.about.finish_others || total == 1 {
            return Err(e);
        }
        let message = match total - failures {
            0 => format!("{} (none of the {total} chunks was written)", e.message()),
            _ => format!("{} ({failures} of {total} chunks were not written, the others were)", e.message()),
        };
        Err(e.with_message(message))
    }
}

/// Puts the number of the entry in a batch, if given, before the message of an error, unless it names one.
pub fn of_entry(entry: Option<usize>, e: Error) -> Error {
    let is_named = e.message().strip_prefix("entry ").is_some_and(|rest| rest.starts_with(counting::OPEN));
    let Some(n) = entry.filter(|_| !is_named) else { return e };
    let message = format!("entry {}: {}", counting::position(n as i64), e.message());
    e.with_message(message)
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    err!(Internal, "a defect of the library: {}", text.unwrap_or("panic without a message"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// Work whose items are done by a function.
    pub struct Doing<F> {
        pub pool: Arc<Pool>,
        pub items: u64,
        pub bytes: u64,
        pub run: F,
    }

    impl<F: Fn(&Arc<Request>, u64) -> Outcome + Send + Sync> Work for Doing<F> {
        fn about(&self) -> About {
            About { items: self.items, bytes: self.bytes, finish_others: true, tuning: Tuning::default() }
        }

        fn pool(&self) -> &Arc<Pool> {
            &self.pool
        }

        fn run(&self, request: &Arc<Request>, item: u64) -> Outcome {
            (self.run)(request, item)
        }
    }

    #[test]
    fn no_worker_is_started_for_a_call_that_has_ended() {
        let (pool, ended) = (Pool::new(2), AtomicBool::new(false));
        let (sender, parked) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let parks = move |request: &Arc<Request>, _| {
                sender.send(request.clone()).unwrap();
                Outcome::Parked
            };
            let work = Arc::new(Doing { pool: pool.clone(), items: 1, bytes: 8, run: parks });
            scope.spawn(|| {
                run(work).unwrap();
                ended.store(true, Ordering::SeqCst);
            });
            let request = parked.recv().unwrap();
            pool.while_locked(|| {
                scope.spawn(move || request.resume(Box::new(|request| request.finish(Ok(())))));
                std::thread::sleep(std::time::Duration::from_millis(50));
                assert!(!ended.load(Ordering::SeqCst), "the call has ended before a worker was there");
            });
        });
        assert!(ended.load(Ordering::SeqCst));
    }

    #[test]
    fn every_piece_is_done_once_and_a_panic_in_one_is_an_error_of_the_item() {
        for threads in [1, 4] {
            for bad in [None, Some(20)] {
                let done = Arc::new(AtomicUsize::new(0));
                let all = done.clone();
                let pieces = move |request: &Arc<Request>, _| {
                    let local = AtomicUsize::new(0);
                    request.for_each_parallel(50, &|i| {
                        std::thread::sleep(std::time::Duration::from_micros(50));
                        if bad == Some(i) {
                            // Without the hook, which would print.
                            std::panic::resume_unwind(Box::new("planted"));
                        }
                        local.fetch_add(1, Ordering::Relaxed);
                    });
                    all.fetch_add(local.into_inner(), Ordering::Relaxed);
                    Outcome::Done(Ok(()))
                };
                let result = run(Arc::new(Doing { pool: Pool::new(threads), items: 3, bytes: 24, run: pieces }));
                match bad {
                    None => assert_eq!((result.is_ok(), done.load(Ordering::Relaxed)), (true, 150)),
                    Some(_) => {
                        let e = result.unwrap_err();
                        assert_eq!(e.kind(), ErrorKind::Internal);
                        assert!(e.message().contains("planted"), "{e}");
                        assert_eq!(done.load(Ordering::Relaxed), 0);
                    }
                }
            }
        }
    }

    #[test]
    fn an_error_says_how_many_chunks_were_written() {
        let expected = [
            "too large (1 of 3 chunks were not written, the others were)",
            "too large (2 of 3 chunks were not written, the others were)",
            "too large (none of the 3 chunks was written)",
        ];
        for (failing, expected) in (1..).zip(expected) {
            let fail = move |_: &Arc<Request>, item| Outcome::Done(if item < failing { Err(err!(Range, "too large")) } else { Ok(()) });
            let e = run(Arc::new(Doing { pool: Pool::new(1), items: 3, bytes: 24, run: fail })).unwrap_err();
            assert_eq!(e.message(), expected);
        }
    }

    #[test]
    fn of_failures_that_tells_of_a_lost_part_is_told_then_an_end_of_memory_and_else_the_first() {
        use ErrorKind::{Io, NoMemory, Range, State};
        for (kinds, told) in [
            (vec![Range, NoMemory, Io], "item 1 "),
            (vec![NoMemory, State, NoMemory], "item 1 "),
            (vec![Io, State, Range], "item 1 "),
            (vec![Io, Range], "item 0 "),
            (vec![State, Io], "item 0 "),
            (vec![Range, State, State], "item 1 "),
        ] {
            let items = kinds.len() as u64;
            let fail = move |_: &Arc<Request>, item| Outcome::Done(Err(Error::new(kinds[item as usize], format!("item {item}"))));
            let e = run(Arc::new(Doing { pool: Pool::new(1), items, bytes: 8, run: fail })).unwrap_err();
            assert!(e.message().starts_with(told), "{told}: {e}");
        }
    }
}
