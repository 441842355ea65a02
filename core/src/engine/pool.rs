//! The library's own threads: started when work first gains by them, never more than asked for, and none after `fork`.

use super::lock::lock;
use crate::fork::{ForkReset, Lazy};
use crate::limits::check_memory;
use crate::sync::atomic::AtomicBool;
use crate::sync::{Condvar, Mutex};
use crate::threads::{self, Thread};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, Weak};

/// Work that a worker can help with.
pub(super) trait Helpable: Send + Sync {
    /// Does pieces of the work until none is left to begin.
    fn help_along(self: Arc<Self>);
}

/// A bounded set of worker threads. A call uses the calling thread and up to `threads - 1` of them.
pub struct Pool {
    threads: usize,
    state: ForkReset<Arc<PoolState>>,
}

#[derive(Default)]
struct PoolState {
    queue: Mutex<Queue>,
    wake: Condvar,
}

#[derive(Default)]
struct Queue {
    requests: VecDeque<Arc<dyn Helpable>>,
    idle: usize,
    workers: usize,
    closed: bool,
    /// Workers end when they have nothing to do, and none is started.
    resting: bool,
}

/// The threads of all pools, and what to tell them by.
static STARTED: Lazy<ForkReset<Mutex<Vec<PoolThread>>>> = Lazy::new(|| ForkReset::new(Mutex::default));

/// Held while threads are joined.
static JOINING: Lazy<ForkReset<Mutex<()>>> = Lazy::new(|| ForkReset::new(Mutex::default));

/// A thread that was started.
struct PoolThread {
    thread: Thread,
    ended: Arc<AtomicBool>,
    pool: Weak<PoolState>,
}

thread_local! {
    /// Whether this is a thread of a pool.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether the calling thread is one of the library's.
pub(super) fn is_worker() -> bool {
    IS_WORKER.get()
}

/// Ends the threads of all pools, when they have done what they were asked to, and returns when they are gone. Later calls start new
/// ones. Not to be called by one of them.
pub(super) fn join_all() {
    // Another call may have taken the list, and is not done yet.
    let _joining = lock(JOINING.get().get());
    let mut all = std::mem::take(&mut *lock(STARTED.get().get()));
    let pools: Vec<Arc<PoolState>> = all.iter().filter_map(|started| started.pool.upgrade()).collect();
    for shared in &pools {
        lock(&shared.queue).resting = true;
        shared.wake.notify_all();
    }
    while !all.is_empty() {
        all.into_iter().for_each(|started| started.thread.join());
        // One that still worked may have had another one of its pool started before that rested.
        let is_of_them = |started: &mut PoolThread| pools.iter().any(|shared| started.pool.as_ptr() == Arc::as_ptr(shared));
        all = lock(STARTED.get().get()).extract_if(.., is_of_them).collect();
    }
    pools.iter().for_each(|shared| lock(&shared.queue).resting = false);
}

impl Pool {
    /// A pool for calls that use up to `threads` threads (at least 1, the caller's). Starts none.
    pub fn new(threads: usize) -> Arc<Pool> {
        Arc::new(Pool { threads: threads.max(1), state: ForkReset::new(Arc::default) })
    }

    /// Returns the pool of programs that do not ask for one: `OZARR_NUM_THREADS` threads, else as many as this process may run on.
    pub fn shared() -> Arc<Pool> {
        static SHARED: Lazy<Arc<Pool>> = Lazy::new(|| Pool::new(default_threads()));
        SHARED.get().clone()
    }

    /// Returns the number of threads of a call.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns whether there are threads that go on with what they are offered.
    pub(super) fn has_workers(&self) -> bool {
        self.threads > 1 && lock(&self.state.get().queue).workers > 0
    }

    /// Lets up to `helpers` workers help with a request, and says whether there is one. Threads that cannot be started are done without.
    pub(super) fn offer<H: Helpable + 'static>(&self, request: &Arc<H>, helpers: usize) -> bool {
        let helpers = helpers.min(self.threads - 1);
        if helpers == 0 {
            return false;
        }
        let shared = self.state.get();
        let mut queue = lock(&shared.queue);
        for _ in 0..helpers {
            queue.requests.push_back(request.clone());
            let more = queue.idle < queue.requests.len() && queue.workers < self.threads - 1 && !queue.resting;
            if more && start_worker(shared.clone()) {
                queue.workers += 1;
            }
        }
        let has_worker = queue.workers > 0;
        if !has_worker {
            queue.requests.clear();
        }
        drop(queue);
        shared.wake.notify_all();
        has_worker
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let shared = self.state.get();
        lock(&shared.queue).closed = true;
        shared.wake.notify_all();
    }
}

/// Starts a worker.
fn start_worker(shared: Arc<PoolState>) -> bool {
    let (pool, ended) = (Arc::downgrade(&shared), Arc::new(AtomicBool::new(false)));
    let at_end = Ended(ended.clone());
    let run = move || {
        let _at_end = at_end;
        work(&shared);
        drop(shared);
    };
    let Ok(thread) = threads::start(c"ozarr", Box::new(run)) else { return false };
    let mut all = lock(STARTED.get().get());
    let gone: Vec<PoolThread> = all.extract_if(.., |other| other.ended.load(Ordering::Acquire)).collect();
    all.push(PoolThread { thread, ended, pool });
    drop(all);
    gone.into_iter().for_each(|started| started.thread.join());
    true
}

/// Notes the end of a worker, however it ends.
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

fn work(shared: &PoolState) {
    IS_WORKER.set(true);
    let mut queue = lock(&shared.queue);
    loop {
        if let Some(request) = queue.requests.pop_front() {
            drop(queue);
            // That memory ended in the work before is no failure of this one.
            let _ = check_memory();
            request.help_along();
            queue = lock(&shared.queue);
        } else if queue.closed || queue.resting {
            queue.workers -= 1;
            return;
        } else {
            queue.idle += 1;
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

/// The most threads that can be asked for.
pub const MAX_THREADS: usize = 4096;

/// What `OZARR_NUM_THREADS` asks for; its text where that is no number from 1 to [`MAX_THREADS`].
pub fn asked_threads() -> Option<std::result::Result<usize, String>> {
    std::env::var_os("OZARR_NUM_THREADS").map(|text| threads_in(&text.to_string_lossy()))
}

fn threads_in(text: &str) -> std::result::Result<usize, String> {
    match text.trim().parse() {
        Ok(n @ 1..=MAX_THREADS) => Ok(n),
        _ => Err(text.into()),
    }
}

/// `OZARR_NUM_THREADS` if it is such a number, else the size of the affinity mask.
fn default_threads() -> usize {
    let asked = asked_threads().and_then(std::result::Result::ok);
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()).min(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Pool {
        /// Does something while nobody can offer work to the pool.
        pub(in crate::engine) fn while_locked(&self, work: impl FnOnce()) {
            let _queue = lock(&self.state.get().queue);
            work();
        }

        /// Does something while no thread can be started.
        pub(in crate::engine) fn while_resting<T>(&self, work: impl FnOnce() -> T) -> T {
            lock(&self.state.get().queue).resting = true;
            let result = work();
            lock(&self.state.get().queue).resting = false;
            result
        }
    }

    #[test]
    fn threads_are_asked_for_within_the_bound_of_the_setting() {
        for (text, found) in [("1", Some(1)), (" 8 ", Some(8)), ("2000", Some(2000)), ("4096", Some(4096))] {
            assert_eq!(threads_in(text).ok(), found, "{text}");
        }
        for text in ["", "0", "-1", "2.5", "abc", "4097"] {
            assert_eq!(threads_in(text), Err(text.to_string()));
        }
    }

    /// Work that takes until it is let go.
    #[derive(Default)]
    struct Busy {
        begun: AtomicBool,
        released: AtomicBool,
    }

    impl Helpable for Busy {
        fn help_along(self: Arc<Self>) {
            self.begun.store(true, Ordering::SeqCst);
            while !self.released.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn of_two_that_end_the_threads_both_wait_until_they_are_gone() {
        let (pool, busy) = (Pool::new(2), Arc::new(Busy::default()));
        pool.offer(&busy, 1);
        while !busy.begun.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        std::thread::scope(|scope| {
            scope.spawn(join_all);
            while !lock(&pool.state.get().queue).resting {
                std::thread::yield_now();
            }
            scope.spawn(|| {
                join_all();
                assert!(busy.released.load(Ordering::SeqCst), "a thread was still at work");
            });
            std::thread::sleep(std::time::Duration::from_millis(30));
            busy.released.store(true, Ordering::SeqCst);
        });
    }

    #[test]
    fn what_no_thread_can_be_started_for_is_not_kept() {
        let (pool, busy) = (Pool::new(2), Arc::new(Busy::default()));
        assert!(!pool.while_resting(|| pool.offer(&busy, 1)));
        assert_eq!(Arc::strong_count(&busy), 1);
    }
}
