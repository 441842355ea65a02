//! Requests that go on without their caller: in which order they may begin, how much of them there may be, how threads wait for
//! them, and how they end before their work does.
//!
//! All of the process stand in one list, in the order in which they were submitted. A request begins when no earlier one on the list
//! touches a chunk that it touches, unless both read. So overlapping writes take effect in the order of their submission, and a read
//! sees the writes submitted before it; a blocking call waits in the same way for those before it. Waiting goes only ever to earlier
//! requests, so it ends. A request leaves the list when all of its items have ended, wherever they were.
//!
//! What its user sees of it is `Progress`: it is done when its work is, or when it is abandoned (cancelled, freed, too late). Then
//! nothing is begun any more, the gate before the caller's memory is closed, and what is in the hands of a store ends by itself.

use super::Selection;
use super::array::BoundArray;
use super::buffer_guard::RevocableBuffer;
use super::lock::lock;
use super::pool;
use super::request::{Request, Work};
use crate::error::{Error, Result, bail, err};
use crate::fork::{ForkReset, Lazy, forks};
use crate::limits::{Dims, max_chunk};
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The chunks of one array that a request touches: a box of them, between two corners.
pub(super) struct Footprint {
    /// The store's name, and the array's prefix in it.
    place: (String, String),
    low: Dims,
    high: Dims,
    writes: bool,
}

impl Footprint {
    /// Of a selection; `None` if it is empty.
    pub fn new(array: &BoundArray, selection: &Selection, writes: bool) -> Option<Footprint> {
        if selection.shape().contains(&0) {
            return None;
        }
        let ends = |d: usize| {
            let (start, count, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
            let last = start.wrapping_add_signed(step.wrapping_mul(count as i64 - 1));
            (array.grid.chunk_of(d, start.min(last)), array.grid.chunk_of(d, start.max(last)))
        };
        let (low, high) = (0..selection.shape().len()).map(ends).unzip();
        Some(Footprint { place: place_of(array), low, high, writes })
    }

    fn overlaps(&self, other: &Footprint) -> bool {
        let apart = |d: usize| self.high[d] < other.low[d] || other.high[d] < self.low[d];
        (self.writes || other.writes) && self.place == other.place && self.low.len() == other.low.len() && !(0..self.low.len()).any(apart)
    }
}

/// Arrays of the same place are the same array.
fn place_of(array: &BoundArray) -> (String, String) {
    (array.store.describe(), array.prefix.clone())
}

/// How many bytes of elements may be in flight, and what becomes of requests that are too many.
pub struct Budget {
    limit: AtomicU64,
    again: AtomicBool,
    used: ForkReset<AtomicU64>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { limit: AtomicU64::new(0), again: AtomicBool::new(false), used: ForkReset::new(AtomicU64::default) }
    }
}

/// Bytes that are in flight until this is dropped.
struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
    forks: u32,
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.forks == forks() {
            self.budget.used.get().fetch_sub(self.bytes, Ordering::AcqRel);
            wake_waiters();
        }
    }
}

impl Budget {
    /// The most bytes in flight; by default as many as the largest chunk may have.
    pub fn limit(&self) -> u64 {
        match self.limit.load(Ordering::Relaxed) {
            0 => max_chunk(),
            limit => limit,
        }
    }

    /// Sets it; more than 0.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        wake_waiters();
    }

    /// Whether a request that is too much is an error of kind `Again`, instead of waiting until it is not.
    pub fn set_again(&self, again: bool) {
        self.again.store(again, Ordering::Relaxed);
    }

    fn try_add(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit());
        self.used.get().fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    /// Takes so many bytes, when there is room for them.
    fn take(self: &Arc<Self>, bytes: u64, until: Option<Instant>) -> Result<Charge> {
        if bytes > self.limit() {
            bail!(
                Limit,
                "the request has {bytes} bytes, more than may be in flight: the context's \"bytes_in_flight\" is {}",
                self.limit()
            );
        }
        let fits = |list: &QueueState| if self.try_add(bytes) { Next::Over } else { Next::Help(list.begun()) };
        if self.again.load(Ordering::Relaxed) || is_inside() {
            if !self.try_add(bytes) {
                let used = self.used.get().load(Ordering::Relaxed);
                bail!(
                    Again,
                    "{used} bytes are in flight and {bytes} more are too many: the context's \"bytes_in_flight\" is {}",
                    self.limit()
                );
            }
        } else if !go_on(until, fits) {
            bail!(Timeout, "the deadline passed before there was room for the request's {bytes} bytes");
        }
        Ok(Charge { budget: self.clone(), bytes, forks: forks() })
    }
}

/// Gets the result of a request.
pub type DoneCallback = Box<dyn FnOnce(&Result<()>) + Send>;

/// Is told once how a request ended.
pub struct OnDone {
    /// By whichever thread ends it, before it counts as done; else by the thread that first finds it done.
    pub any_thread: bool,
    /// Gets the result.
    pub call: DoneCallback,
}

/// How a request is to go on.
#[derive(Default)]
pub struct RequestOptions {
    /// Whether the elements of a write are copied before the call returns.
    pub copy: bool,
    /// When it is abandoned.
    pub deadline: Option<Instant>,
    /// What bounds it.
    pub budget: Arc<Budget>,
    /// Who is told.
    pub on_done: Option<OnDone>,
    /// What is to live as long as the work.
    pub keeps: Option<Box<dyn Any + Send + Sync>>,
}

const ACTIVE: u8 = 0;
/// Somebody is ending it.
const ENDING: u8 = 1;
const DONE: u8 = 2;

/// What is kept beside a request that has left its caller.
pub(super) struct Detached {
    footprints: Vec<Footprint>,
    revocable: Option<Arc<RevocableBuffer>>,
    /// The elements of a write that were copied; given back when nothing uses them any more.
    copied: Mutex<Vec<Vec<u8>>>,
    keeps: Mutex<Option<Box<dyn Any + Send + Sync>>>,
    charge: Mutex<Option<Charge>>,
    on_done: Mutex<Option<OnDone>>,
    deadline: Option<Instant>,
    forks: u32,
    /// Its place in the order of submission.
    number: AtomicU64,
    /// The earlier requests that it waits for; changed under the list's lock.
    blockers: AtomicUsize,
    state: AtomicU8,
    outcome: Mutex<Result<()>>,
}

impl Detached {
    fn overlaps(&self, footprint: &Footprint) -> bool {
        self.footprints.iter().any(|own| own.overlaps(footprint))
    }

    fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Whether it is the caller who ends it.
    fn claim(&self) -> bool {
        self.state.compare_exchange(ACTIVE, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Makes it done, which was claimed.
    fn complete(&self, result: Result<()>) {
        let on_done = take_if(&self.on_done, |on_done| on_done.any_thread);
        if let Some(on_done) = on_done {
            let _inside = InsideRequest::new();
            (on_done.call)(&result);
        }
        *lock(&self.outcome) = result;
        self.state.store(DONE, Ordering::Release);
        wake_waiters();
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

fn take_if<T>(place: &Mutex<Option<T>>, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
    let mut place = lock(place);
    if place.as_ref().is_some_and(wanted) { place.take() } else { None }
}

/// The requests of this process.
#[derive(Default)]
struct RequestQueue {
    list: Mutex<QueueState>,
    changed: Condvar,
    count: AtomicUsize,
}

#[derive(Default)]
struct QueueState {
    all: Vec<Arc<Request>>,
    next: u64,
    /// Counts what may be of interest to those who wait.
    epoch: u64,
}

impl RequestQueue {
    fn of_process() -> &'static RequestQueue {
        static QUEUE: Lazy<ForkReset<RequestQueue>> = Lazy::new(|| ForkReset::new(RequestQueue::default));
        QUEUE.get().get()
    }
}

impl QueueState {
    /// Those that may go on.
    fn begun(&self) -> Vec<Arc<Request>> {
        self.all.iter().filter(|r| blockers(r) == 0).cloned().collect()
    }

    /// The request that has to go on so that this one can: itself, or the first that it waits for.
    fn in_front(&self, request: &Arc<Request>) -> Arc<Request> {
        let mut at = request;
        while blockers(at) > 0 {
            let earlier = self.all.iter().take_while(|r| !Arc::ptr_eq(r, at)).find(|r| overlap(r, at));
            let Some(found) = earlier else { break };
            at = found;
        }
        at.clone()
    }
}

fn blockers(request: &Request) -> usize {
    request.detached().map_or(0, |d| d.blockers.load(Ordering::Relaxed))
}

fn overlap(a: &Request, b: &Request) -> bool {
    let (Some(a), Some(b)) = (a.detached(), b.detached()) else { return false };
    a.footprints.iter().any(|footprint| b.overlaps(footprint))
}

/// Something happened that those who wait may wait for.
pub(super) fn wake_waiters() {
    let queue = RequestQueue::of_process();
    lock(&queue.list).epoch += 1;
    queue.changed.notify_all();
}

thread_local! {
    /// In how many items of detached requests, or functions that are told of their end, this thread is.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// The thread is inside of a detached request until this is dropped.
pub(super) struct InsideRequest(());

impl InsideRequest {
    fn new() -> InsideRequest {
        INSIDE.set(INSIDE.get() + 1);
        InsideRequest(())
    }
}

impl Drop for InsideRequest {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// The thread does a piece of that request's work until the result is dropped. One that is late is abandoned.
pub(super) fn inside(request: &Arc<Request>) -> Option<InsideRequest> {
    let detached = request.detached()?;
    if detached.is_late() {
        abandon(request, too_late());
    }
    Some(InsideRequest::new())
}

/// Whether this thread is inside of a detached request: it must not wait for one, which may be its own.
fn is_inside() -> bool {
    INSIDE.get() > 0
}

/// What a thread that waits does next.
enum Next {
    /// What it waits for has happened.
    Over,
    /// It goes on with one of these, or sleeps until something happens.
    Help(Vec<Arc<Request>>),
}

/// Helps and sleeps until `next` says that it is over, or until that time: then false.
fn go_on(until: Option<Instant>, mut next: impl FnMut(&QueueState) -> Next) -> bool {
    let queue = RequestQueue::of_process();
    loop {
        let (epoch, helped) = {
            let list = lock(&queue.list);
            match next(&list) {
                Next::Over => return true,
                Next::Help(requests) => (list.epoch, requests),
            }
        };
        let ran = helped.iter().any(Request::help_once);
        drop(helped);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            // It may be over by now.
            return matches!(next(&lock(&queue.list)), Next::Over);
        }
        if ran {
            continue;
        }
        let list = lock(&queue.list);
        if list.epoch == epoch {
            match left {
                None => drop(queue.changed.wait(list).unwrap_or_else(PoisonError::into_inner)),
                Some(left) => drop(queue.changed.wait_timeout(list, left).unwrap_or_else(PoisonError::into_inner)),
            }
        }
    }
}

/// Waits until none of the requests that were submitted before now is as `wanted` says. Not from inside of one.
fn settle_those(wanted: impl Fn(&Detached) -> bool) {
    let queue = RequestQueue::of_process();
    if queue.count.load(Ordering::Acquire) == 0 || is_inside() {
        return;
    }
    let end = lock(&queue.list).next;
    let is_one = |r: &&Arc<Request>| r.detached().is_some_and(|d| d.number.load(Ordering::Relaxed) < end && wanted(d));
    go_on(None, |list| match list.all.iter().find(is_one) {
        None => Next::Over,
        Some(request) => Next::Help(vec![list.in_front(request)]),
    });
}

/// Waits for the requests submitted before that stand in the way of a blocking call.
pub(super) fn clear_way(array: &BoundArray, selection: &Selection, writes: bool) {
    if RequestQueue::of_process().count.load(Ordering::Acquire) == 0 {
        return;
    }
    if let Some(footprint) = Footprint::new(array, selection, writes) {
        settle_those(|d| d.overlaps(&footprint));
    }
}

/// Waits for all requests on an array that were submitted before.
pub fn settle_array(array: &BoundArray) {
    if RequestQueue::of_process().count.load(Ordering::Acquire) > 0 {
        let place = place_of(array);
        settle_those(|d| d.footprints.iter().any(|f| f.place == place));
    }
}

/// Waits for all requests on arrays of the store of that name that were submitted before.
pub fn settle_store(name: impl FnOnce() -> String) {
    if RequestQueue::of_process().count.load(Ordering::Acquire) > 0 {
        let name = name();
        settle_those(|d| d.footprints.iter().any(|f| f.place.0 == name));
    }
}

/// Waits for all requests that were submitted before, and ends the library's own threads. Later calls start them again.
pub fn shutdown() -> Result<()> {
    if is_inside() || pool::is_worker() {
        bail!(State, "the call comes from inside of a request's work: its own thread would have to end first");
    }
    settle_those(|_| true);
    pool::join_all();
    // What other threads submitted meanwhile found nobody to go on with it.
    let begun = lock(&RequestQueue::of_process().list).begun();
    begun.iter().for_each(Request::call_for_help);
    Ok(())
}

/// What a request is made of.
pub(super) struct Parts {
    pub work: Box<dyn Work>,
    pub footprints: Vec<Footprint>,
    pub revocable: Option<Arc<RevocableBuffer>>,
    pub copied: Vec<Vec<u8>>,
}

/// Submits what `prepare` makes, when there is room for its `bytes`.
pub(super) fn submit(bytes: u64, options: RequestOptions, prepare: impl FnOnce() -> Result<Parts>) -> Result<Pending> {
    let charge = options.budget.take(bytes, options.deadline)?;
    let Parts { work, footprints, revocable, copied } = prepare()?;
    let detached = Detached {
        footprints,
        revocable,
        copied: Mutex::new(copied),
        keeps: Mutex::new(options.keeps),
        charge: Mutex::new(Some(charge)),
        on_done: Mutex::new(options.on_done),
        deadline: options.deadline,
        forks: forks(),
        number: AtomicU64::new(0),
        blockers: AtomicUsize::new(0),
        state: AtomicU8::new(ACTIVE),
        outcome: Mutex::new(Ok(())),
    };
    let request = Request::new(work, false, Some(detached));
    let queue = RequestQueue::of_process();
    let waits = {
        let mut list = lock(&queue.list);
        let before = list.all.iter().filter(|r| overlap(r, &request)).count();
        if let Some(d) = request.detached() {
            d.number.store(list.next, Ordering::Relaxed);
            d.blockers.store(before, Ordering::Relaxed);
        }
        list.next += 1;
        list.all.push(request.clone());
        queue.count.fetch_add(1, Ordering::AcqRel);
        before > 0
    };
    if !waits {
        request.call_for_help();
    }
    Ok(Pending(request))
}

/// All items of a detached request have ended: those that waited for it may go on.
pub(super) fn completed(request: &Arc<Request>) {
    let Some(detached) = request.detached() else { return };
    let mine = detached.claim();
    lock(&detached.copied).clear();
    let kept = lock(&detached.keeps).take();
    drop(kept);
    drop(lock(&detached.charge).take());
    let queue = RequestQueue::of_process();
    let mut begin = Vec::new();
    {
        let mut list = lock(&queue.list);
        let Some(at) = list.all.iter().position(|r| Arc::ptr_eq(r, request)) else { return };
        list.all.remove(at);
        for later in &list.all[at..] {
            let Some(d) = later.detached().filter(|_| overlap(request, later)) else { continue };
            if d.blockers.fetch_sub(1, Ordering::Relaxed) == 1 {
                begin.push(later.clone());
            }
        }
        list.epoch += 1;
        queue.count.fetch_sub(1, Ordering::AcqRel);
        queue.changed.notify_all();
    }
    if mine {
        detached.complete(request.result());
    }
    begin.iter().for_each(Request::call_for_help);
}

/// Ends a request before its work does; false if it has ended already. When this returns, nobody touches the caller's memory.
fn abandon(request: &Arc<Request>, e: Error) -> bool {
    let Some(detached) = request.detached().filter(|d| d.claim()) else { return false };
    request.stop();
    if let Some(revocable) = &detached.revocable {
        revocable.close();
    }
    detached.complete(Err(e));
    true
}

fn too_late() -> Error {
    err!(Timeout, "the request's deadline passed before it was done")
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It waits for earlier requests on the same chunks.
    Queued,
    /// It is under way.
    Running,
    /// It is done: its result is there.
    Done,
}

/// A request that goes on by itself. Dropped before it is done, it is cancelled, unless its elements were copied.
pub struct Pending(Arc<Request>);

impl Drop for Pending {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Pending {
    fn detached(&self) -> Result<&Detached> {
        match self.0.detached() {
            Some(d) if d.forks == forks() => Ok(d),
            Some(_) => bail!(Forked, "the request belongs to the process before fork"),
            None => bail!(Internal, "a request without what is kept beside it"),
        }
    }

    /// How far it is.
    pub fn progress(&self) -> Result<Progress> {
        let d = self.detached()?;
        Ok(match (d.is_done(), blockers(&self.0)) {
            (true, _) => Progress::Done,
            (false, 0) => Progress::Running,
            (false, _) => Progress::Queued,
        })
    }

    /// Goes on with it a little where no thread does, and says whether it is done.
    pub fn test(&self) -> Result<bool> {
        let d = self.detached()?;
        if !d.is_done() && !is_inside() {
            if d.is_late() {
                abandon(&self.0, too_late());
            } else if !self.0.has_workers() {
                let in_front = lock(&RequestQueue::of_process().list).in_front(&self.0);
                in_front.help_once();
            }
        }
        Ok(self.found_done(d))
    }

    /// Waits until it is done, or until that time; says whether it is.
    pub fn wait(&self, until: Option<Instant>) -> Result<bool> {
        wait_any(&[self], until).map(|found| found.is_some())
    }

    /// Ends it, unless it is done. When this returns, nobody touches the caller's memory any more.
    pub fn cancel(&self) -> Result<()> {
        let d = self.detached()?;
        if !abandon(&self.0, err!(Cancelled, "the request was cancelled")) && !d.is_done() && !is_inside() {
            // Another thread is ending it at this moment.
            go_on(None, |_| if d.is_done() { Next::Over } else { Next::Help(Vec::new()) });
        }
        self.found_done(d);
        Ok(())
    }

    /// Its user has no more interest in it.
    pub fn let_go(&self) {
        let Ok(d) = self.detached() else { return };
        drop(take_if(&d.on_done, |on_done| !on_done.any_thread));
        if d.revocable.is_some() && !d.is_done() {
            let _ = self.cancel();
        }
    }

    /// How it ended. An error of kind `State` before that.
    pub fn outcome(&self) -> Result<Result<()>> {
        let d = self.detached()?;
        if !d.is_done() {
            bail!(State, "the request is not done yet");
        }
        Ok(lock(&d.outcome).clone())
    }

    /// Whether it is done; who is told by the thread that finds that is told now.
    fn found_done(&self, d: &Detached) -> bool {
        if !d.is_done() {
            return false;
        }
        let on_done = lock(&d.on_done).take();
        if let Some(on_done) = on_done {
            let result = lock(&d.outcome).clone();
            (on_done.call)(&result);
        }
        true
    }
}

/// Waits until one of the requests is done, and gives the number of the first that is; `None` if none is by that time.
pub fn wait_any(requests: &[&Pending], until: Option<Instant>) -> Result<Option<usize>> {
    let all = requests.iter().map(|r| r.detached()).collect::<Result<Vec<_>>>()?;
    let first_done = || all.iter().position(|d| d.is_done());
    // Where a thread of the library goes on with it, one that has little time does not take up a piece of work.
    let helps = |r: &Request| until.is_none() || !r.has_workers();
    while first_done().is_none() {
        if is_inside() {
            bail!(State, "a function that is called by a request's work waits for a request, which may be its own");
        }
        let late = requests.iter().zip(&all).filter(|(_, d)| !d.is_done() && d.is_late());
        late.for_each(|(r, _)| {
            abandon(&r.0, too_late());
        });
        let deadline = all.iter().filter(|d| d.state.load(Ordering::Acquire) == ACTIVE).filter_map(|d| d.deadline).min();
        let over = go_on(until.into_iter().chain(deadline).min(), |list| match first_done() {
            Some(_) => Next::Over,
            None => Next::Help(requests.iter().map(|r| list.in_front(&r.0)).filter(|r| helps(r)).collect()),
        });
        if !over && until.is_some_and(|until| Instant::now() >= until) {
            break;
        }
    }
    let found = first_done();
    if let Some(i) = found {
        requests[i].found_done(all[i]);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::pool::Pool;
    use super::super::request::Outcome;
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::Tuning;

    /// Work that notes when its items run; or one that waits for an answer that never comes.
    struct Steps {
        pool: Arc<Pool>,
        items: u64,
        name: u32,
        log: Arc<Mutex<Vec<u32>>>,
        parks: bool,
    }

    impl Work for Steps {
        fn items(&self) -> u64 {
            self.items
        }

        fn bytes(&self) -> u64 {
            u64::MAX
        }

        fn pool(&self) -> &Pool {
            &self.pool
        }

        fn finish_others(&self) -> bool {
            true
        }

        fn tuning(&self) -> Tuning {
            Tuning::default()
        }

        fn run(&self, _: &Arc<Request>, _: u64) -> Outcome {
            lock(&self.log).push(self.name);
            std::thread::yield_now();
            if self.parks { Outcome::Parked } else { Outcome::Done(Ok(())) }
        }
    }

    struct Bench {
        pool: Arc<Pool>,
        log: Arc<Mutex<Vec<u32>>>,
        /// Each test has an array of its own: the list is the process's.
        place: &'static str,
    }

    impl Bench {
        fn new(threads: usize, place: &'static str) -> Bench {
            Bench { pool: Pool::new(threads), log: Arc::default(), place }
        }

        /// Submits work on the chunks of one dimension from `low` to `high`.
        fn submit(&self, name: u32, (low, high): (u64, u64), writes: bool, items: u64, options: RequestOptions) -> Result<Pending> {
            let place = (self.place.to_string(), String::new());
            let (low, high) = (Dims::from_elem(low, 1), Dims::from_elem(high, 1));
            let work = Steps { pool: self.pool.clone(), items, name, log: self.log.clone(), parks: name >= 1000 };
            submit(10, options, || {
                let footprints = vec![Footprint { place, low, high, writes }];
                Ok(Parts { work: Box::new(work), footprints, revocable: Some(Arc::default()), copied: Vec::new() })
            })
        }
    }

    fn soon(milliseconds: u64) -> Option<Instant> {
        Instant::now().checked_add(Duration::from_millis(milliseconds))
    }

    #[test]
    fn overlapping_requests_run_in_the_order_of_their_submission() {
        for (threads, place) in [(1, "order 1"), (4, "order 4")] {
            let bench = Bench::new(threads, place);
            let all: Vec<Pending> =
                (0..20).map(|i| bench.submit(i, (i as u64 / 4, 3 + i as u64), true, 5, RequestOptions::default()).unwrap()).collect();
            assert!(all[19].wait(None).unwrap());
            all.iter().rev().for_each(|r| assert!(r.wait(None).unwrap() && r.outcome().unwrap().is_ok()));
            let log = lock(&bench.log).clone();
            assert!(log.is_sorted() && log.len() == 100, "{log:?}");
        }
    }

    #[test]
    fn what_does_not_overlap_or_only_reads_has_no_order() {
        let bench = Bench::new(1, "apart");
        let stuck = bench.submit(1000, (5, 6), false, 1, RequestOptions::default()).unwrap();
        assert!(!stuck.test().unwrap());
        for (range, writes) in [((5, 6), false), ((7, 9), true), ((0, 4), true)] {
            let other = bench.submit(1, range, writes, 1, RequestOptions::default()).unwrap();
            assert!(other.wait(None).unwrap());
        }
        let behind = bench.submit(2, (6, 7), true, 1, RequestOptions::default()).unwrap();
        assert_eq!(behind.progress().unwrap(), Progress::Queued);
        assert!(!behind.wait(soon(20)).unwrap());
        // What was ended is not gone: its answer may still come.
        stuck.cancel().unwrap();
        assert_eq!(stuck.outcome().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
        assert!(!behind.wait(soon(20)).unwrap());
        stuck.0.finish(Ok(()));
        assert!(behind.wait(None).unwrap());
        assert!(stuck.outcome().unwrap().is_err());
    }

    #[test]
    fn a_deadline_ends_what_never_answers_and_what_waits_behind_it() {
        for (threads, place) in [(1, "late 1"), (3, "late 3")] {
            let bench = Bench::new(threads, place);
            let options = || RequestOptions { deadline: soon(30), ..RequestOptions::default() };
            let stuck = bench.submit(1000, (0, 0), true, 3, options()).unwrap();
            let behind = bench.submit(1, (0, 0), true, 1, options()).unwrap();
            assert_eq!(wait_any(&[&behind, &stuck], None).unwrap().map(|i| i < 2), Some(true));
            for r in [&stuck, &behind] {
                assert!(r.wait(None).unwrap());
                assert_eq!(r.outcome().unwrap().unwrap_err().kind(), ErrorKind::Timeout);
            }
            (0..3).for_each(|_| stuck.0.finish(Ok(())));
            assert!(!lock(&bench.log).contains(&1));
        }
    }

    #[test]
    fn no_more_is_in_flight_than_the_budget_allows() {
        let bench = Bench::new(1, "budget");
        let budget = Arc::new(Budget::default());
        budget.set_limit(25);
        let options = || RequestOptions { budget: budget.clone(), ..RequestOptions::default() };
        let a = bench.submit(1000, (0, 0), true, 1, options()).unwrap();
        let _b = bench.submit(1, (1, 1), true, 1, options()).unwrap();
        // The second one is carried out to make room for the third.
        let _c = bench.submit(2, (2, 2), true, 1, options()).unwrap();
        assert!(lock(&bench.log).contains(&1));
        budget.set_again(true);
        assert_eq!(bench.submit(3, (3, 3), true, 1, options()).err().unwrap().kind(), ErrorKind::Again);
        budget.set_again(false);
        budget.set_limit(9);
        assert_eq!(bench.submit(3, (3, 3), true, 1, options()).err().unwrap().kind(), ErrorKind::Limit);
        budget.set_limit(15);
        let late = RequestOptions { deadline: soon(20), ..options() };
        assert!(a.test().is_ok());
        assert_eq!(bench.submit(1001, (3, 3), true, 1, late).err().map(|e| e.kind()), Some(ErrorKind::Timeout));
        a.cancel().unwrap();
        a.0.finish(Ok(()));
        assert!(bench.submit(4, (3, 3), true, 1, options()).unwrap().wait(None).unwrap());
    }

    #[test]
    fn nobody_waits_from_inside_of_a_request() {
        let bench = Bench::new(3, "inside");
        let other = Arc::new(bench.submit(1000, (9, 9), true, 1, RequestOptions::default()).unwrap());
        let seen = Arc::new(Mutex::new(None));
        let (waits, kind) = (other.clone(), seen.clone());
        let call = Box::new(move |_: &Result<()>| *lock(&kind) = waits.wait(None).err().map(|e| e.kind()));
        let options = RequestOptions { on_done: Some(OnDone { any_thread: true, call }), ..RequestOptions::default() };
        assert!(bench.submit(1, (0, 0), true, 1, options).unwrap().wait(None).unwrap());
        assert_eq!(*lock(&seen), Some(ErrorKind::State));
        other.cancel().unwrap();
        other.0.finish(Ok(()));
    }
}
