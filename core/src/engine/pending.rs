//! Requests that go on without their caller: how they begin, and how they end before their work does.
//!
//! What the program sees of such a request is [`Progress`]: the request is done when its work is, or when it is abandoned (cancelled,
//! freed, too late). Then nothing is begun any more, the caller's memory is revoked, and what a store has in hand ends by itself.

use super::budget::{Budget, Charge};
use super::buffer_guard::RevocableBuffer;
use super::footprint::Footprint;
use super::inside_request::{InsideRequest, is_inside};
use super::lock::{PutOff, holds_document, lock, put_off};
use super::request::{After, Request, Work};
use super::request_queue::{self, Next, QueuePlace, Queued, go_on, in_front, wake_waiters};
use crate::error::{Error, Result, bail, err};
use crate::fork::forks;
use crate::limits::make_room;
use crate::sync::Mutex;
use crate::sync::atomic::AtomicU8;
use std::any::Any;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Instant;

/// Gets the result of a request.
pub type DoneCallback = Box<dyn FnOnce(&Result<()>) + Send>;

/// A function that is called once, with how a request ended.
pub struct OnDone {
    /// True: the thread that ends the request calls the function, before the request counts as done. False: the thread that first finds
    /// the request done calls it.
    pub any_thread: bool,
    /// Gets the result.
    pub call: DoneCallback,
}

/// How a request is to go on.
#[derive(Default)]
pub struct RequestOptions {
    /// Whether the elements of a write are copied before the call returns.
    pub copy: bool,
    /// When the request is abandoned.
    pub deadline: Option<Instant>,
    /// How many bytes may be in flight.
    pub budget: Arc<Budget>,
    /// What is called at the end.
    pub on_done: Option<OnDone>,
    /// Dropped when the last item has finished (the object that owns the buffer, say).
    pub keeps: Option<Box<dyn Any + Send + Sync>>,
}

const ACTIVE: u8 = 0;
/// A thread is ending the request.
const ENDING: u8 = 1;
/// All but the call of the function and what follows has happened, and is put off.
const PUT_OFF: u8 = 2;
const DONE: u8 = 3;

/// What is kept beside a request that has left its caller.
struct Detached {
    this: Weak<Detached>,
    place: Arc<QueuePlace>,
    revocable: Option<Arc<RevocableBuffer>>,
    /// The elements of a write that were copied; given back when nothing uses them any more.
    copied: Mutex<Vec<Vec<u8>>>,
    keeps: Mutex<Option<Box<dyn Any + Send + Sync>>>,
    charge: Mutex<Option<Charge>>,
    on_done: Mutex<Option<OnDone>>,
    deadline: Option<Instant>,
    forks: u32,
    state: AtomicU8,
    outcome: Mutex<Result<()>>,
}

impl Detached {
    fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// Whether a thread that waits for it has nothing to wait for.
    fn is_ready(&self) -> bool {
        self.state.load(Ordering::Acquire) >= PUT_OFF
    }

    /// Makes the calling thread the one that ends the request, which is in that state; false if another thread is.
    fn claim(&self, state: u8) -> bool {
        self.state.compare_exchange(state, ENDING, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Gives the request, which was claimed, its result, and makes it done; under a document's lock, which its function may want, later.
    fn complete(&self, result: Result<()>) {
        *lock(&self.outcome) = result;
        let has_function = lock(&self.on_done).as_ref().is_some_and(|on_done| on_done.any_thread);
        match self.this.upgrade() {
            Some(this) if has_function && holds_document() => {
                self.state.store(PUT_OFF, Ordering::Release);
                put_off(this);
                wake_waiters();
            }
            _ => self.make_done(),
        }
    }

    /// Makes the request done, which was claimed, when its function has returned.
    fn make_done(&self) {
        if let Some(on_done) = take_if(&self.on_done, |on_done| on_done.any_thread) {
            let (_inside, result) = (InsideRequest::new(), lock(&self.outcome).clone());
            (on_done.call)(&result);
        }
        self.state.store(DONE, Ordering::Release);
        wake_waiters();
    }

    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

impl PutOff for Detached {
    fn end(&self) {
        if self.claim(PUT_OFF) {
            self.make_done();
        }
    }

    fn is_below(&self, place: &str) -> bool {
        self.place.is_below(place)
    }
}

impl After for Detached {
    fn enter(&self, request: &Arc<Request>) -> InsideRequest {
        if self.is_late() {
            abandon(request, self, too_late());
        }
        InsideRequest::new()
    }

    fn resumed(&self) {
        wake_waiters();
    }

    fn finished(&self, request: &Arc<Request>) {
        let mine = self.claim(ACTIVE);
        lock(&self.copied).clear();
        let kept = lock(&self.keeps).take();
        drop(kept);
        drop(lock(&self.charge).take());
        let Some(begin) = request_queue::leave(&self.place) else { return };
        begin.iter().for_each(Request::call_for_help);
        if mine {
            self.complete(request.result());
        }
    }
}

fn take_if<T>(place: &Mutex<Option<T>>, wanted: impl FnOnce(&T) -> bool) -> Option<T> {
    let mut place = lock(place);
    if place.as_ref().is_some_and(wanted) { place.take() } else { None }
}

/// What a request is made of.
pub(super) struct Parts {
    pub work: Arc<dyn Work>,
    pub footprints: Vec<Footprint>,
    pub revocable: Option<Arc<RevocableBuffer>>,
    pub copied: Vec<Vec<u8>>,
}

/// Submits what `prepare` makes, when there is room for its `bytes`.
pub(super) fn submit(bytes: u64, options: RequestOptions, prepare: impl FnOnce() -> Result<Parts>) -> Result<Pending> {
    let charge = options.budget.take(bytes, options.deadline)?;
    let Parts { work, footprints, revocable, copied } = prepare()?;
    let place = Arc::new(QueuePlace::new(footprints));
    let detached = Arc::new_cyclic(|this| Detached {
        this: this.clone(),
        place: place.clone(),
        revocable,
        copied: Mutex::new(copied),
        keeps: Mutex::new(options.keeps),
        charge: Mutex::new(Some(charge)),
        on_done: Mutex::new(options.on_done),
        deadline: options.deadline,
        forks: forks(),
        state: AtomicU8::new(ACTIVE),
        outcome: Mutex::new(Ok(())),
    });
    let queued = Queued { request: Request::new(work, false, Some(detached.clone())), place };
    request_queue::submit(&queued)?;
    Ok(Pending { queued, detached })
}

/// Ends a request before its work does; false if it has ended already. When this returns, no thread touches the caller's memory.
fn abandon(request: &Arc<Request>, detached: &Detached, e: Error) -> bool {
    if !detached.claim(ACTIVE) {
        return false;
    }
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
pub struct Pending {
    queued: Queued,
    detached: Arc<Detached>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Pending {
    fn detached(&self) -> Result<&Detached> {
        if self.detached.forks != forks() {
            bail!(Forked, "the request belongs to the process before fork");
        }
        Ok(&self.detached)
    }

    /// Ends it if its deadline has passed, or if that was put off.
    fn look_at(&self, d: &Detached) {
        if !d.is_ready() && d.is_late() {
            abandon(&self.queued.request, d, too_late());
        }
        d.end();
    }

    /// Returns how far it is.
    pub fn progress(&self) -> Result<Progress> {
        let d = self.detached()?;
        self.look_at(d);
        Ok(match (d.is_done(), d.place.blockers()) {
            (true, _) => Progress::Done,
            (false, 0) => Progress::Running,
            (false, _) => Progress::Queued,
        })
    }

    /// Goes on with it a little where no thread does, and says whether it is done.
    pub fn test(&self) -> Result<bool> {
        let d = self.detached()?;
        self.look_at(d);
        if !d.is_done() && !is_inside() && !self.queued.request.has_workers() {
            in_front(&self.queued).help_once();
            d.end();
        }
        Ok(self.found_done(d))
    }

    /// Waits until it is done, or until that time; says whether it is.
    pub fn wait(&self, until: Option<Instant>) -> Result<bool> {
        wait_any(&[self], until).map(|found| found.is_some())
    }

    /// Ends the request, unless it is done. When this returns, no thread touches the caller's memory any more.
    pub fn cancel(&self) -> Result<()> {
        let d = self.detached()?;
        abandon(&self.queued.request, d, err!(Cancelled, "the request was cancelled"));
        d.end();
        while !d.is_done() {
            // Another thread is ending it at this moment, and may be in its function.
            if is_inside() {
                // This thread may be the one that is waited for, but is in no copy.
                d.revocable.iter().for_each(|revocable| revocable.close());
                break;
            }
            go_on(None, &mut |_, _| if d.is_ready() { Next::Over } else { Next::Sleep });
            d.end();
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
        self.look_at(d);
        if !d.is_done() {
            bail!(State, "the request is not done yet");
        }
        Ok(lock(&d.outcome).clone())
    }

    /// Returns whether the request is done. A callback that is for the thread that finds that is called now.
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
    let mut all = Vec::new();
    make_room(&mut all, requests.len())?;
    requests.iter().try_for_each(|r| r.detached().map(|d| all.push(d)))?;
    let first_done = || all.iter().position(|d| d.is_done());
    // Where a thread of the library goes on with it, one that has little time does not take up a piece of work.
    let helps = |r: &Request| until.is_none() || !r.has_workers();
    let mut named = None;
    while first_done().is_none() {
        if is_inside() {
            bail!(State, "a function that is called by a request's work waits for a request, which may be its own");
        }
        if let Some(d) = all.iter().find(|d| d.is_ready()) {
            d.end();
            continue;
        }
        let late = requests.iter().zip(&all).filter(|(_, d)| !d.is_ready() && d.is_late());
        late.for_each(|(r, d)| {
            abandon(&r.queued.request, d, too_late());
        });
        let deadline = all.iter().filter(|d| d.state.load(Ordering::Acquire) == ACTIVE).filter_map(|d| d.deadline).min();
        let over = go_on(until.into_iter().chain(deadline).min(), &mut |list, at| {
            if *at == 0 {
                named = None;
                if all.iter().any(|d| d.is_ready()) {
                    return Next::Over;
                }
            }
            // First those that may go on themselves, and then, each at its place in the list again, those that wait for others.
            let count = requests.len() as u64;
            Next::help((*at..2 * count).find_map(|place| {
                *at = place + 1;
                let queued = &requests[(place % count) as usize].queued;
                let is_its_turn = (queued.place.blockers() > 0) == (place >= count);
                let front = if is_its_turn { list.front(queued) } else { return None };
                // Several of a chain have the same one in front.
                let is_new = named.as_ref().is_none_or(|named| !Arc::ptr_eq(named, &front));
                named = Some(front.clone());
                Some(front).filter(|r| is_new && helps(r))
            }))
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
    use super::super::buffer_guard;
    use super::super::lock::{ChunkLocks, KeyLocks};
    use super::super::pool::{Pool, is_worker};
    use super::super::request::tests::Doing;
    use super::super::request::{self, Outcome};
    use super::super::request_queue::LOOKS;
    use super::*;
    use crate::error::ErrorKind;
    use crate::limits::Dims;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

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

        /// Submits work on the chunks of one dimension from `low` to `high`: it notes when its items run, or waits for an answer that never comes.
        fn submit(&self, name: u32, (low, high): (u64, u64), writes: bool, items: u64, options: RequestOptions) -> Result<Pending> {
            let place = self.place.to_string();
            let (low, high) = (Dims::from_elem(low, 1), Dims::from_elem(high, 1));
            let log = self.log.clone();
            let run = move |_: &Arc<Request>, _| {
                lock(&log).push(name);
                std::thread::yield_now();
                if name >= 1000 { Outcome::Parked } else { Outcome::Done(Ok(())) }
            };
            let work = Doing { pool: self.pool.clone(), items, bytes: u64::MAX, run };
            submit(10, options, || {
                let footprints = vec![Footprint { place, low, high, writes }];
                Ok(Parts { work: Arc::new(work), footprints, revocable: Some(Arc::default()), copied: Vec::new() })
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
    fn whoever_waits_for_a_chain_of_requests_does_not_go_along_it_again_and_again() {
        const MANY: u64 = if cfg!(miri) { 60 } else { 1000 };
        /// Until all are done.
        fn any(mut list: Vec<&Pending>) {
            while !list.is_empty() {
                let done = wait_any(&list, None).unwrap().unwrap();
                list.remove(done);
            }
        }
        let reads =
            || Some(Footprint { place: "chain 2".into(), low: Dims::from_elem(MANY, 1), high: Dims::from_elem(MANY, 1), writes: false });
        type Wait<'a> = &'a dyn Fn(&[Pending]);
        let waits: [Wait; 6] = [
            &|all| assert!(all[all.len() - 1].wait(None).unwrap()),
            &|all| request_queue::settle(|| all[0].queued.place.footprints[0].place.clone()),
            &|_| request_queue::wait_for_conflicts(reads),
            &|all| any(all.iter().collect()),
            &|all| any(all.iter().rev().collect()),
            &|all| any(all.iter().rev().take(3).collect()),
        ];
        let places = ["chain 0", "chain 1", "chain 2", "chain 3", "chain 4", "chain 5"];
        for (wait, place) in waits.iter().zip(places) {
            let bench = Bench::new(1, place);
            let all: Vec<Pending> = (0..MANY).map(|i| bench.submit(1, (i, i + 1), true, 1, RequestOptions::default()).unwrap()).collect();
            LOOKS.set(0);
            wait(&all);
            assert!(LOOKS.get() <= 4 * MANY, "{place}: {} looks", LOOKS.get());
            assert!(all.iter().all(|r| r.test().unwrap() && r.outcome().unwrap().is_ok()));
        }
    }

    #[test]
    fn whoever_waits_a_little_for_a_chain_of_requests_again_and_again_does_not_go_along_it_each_time() {
        const MANY: u64 = if cfg!(miri) { 60 } else { 1000 };
        let bench = Bench::new(1, "polled");
        let stuck = bench.submit(1000, (0, 0), true, 1, RequestOptions::default()).unwrap();
        let all: Vec<Pending> = (0..MANY).map(|i| bench.submit(1, (i, i + 1), true, 1, RequestOptions::default()).unwrap()).collect();
        assert!(!stuck.test().unwrap());
        let (last, three) = (&all[MANY as usize - 1], all.iter().rev().step_by(7).take(3).collect::<Vec<_>>());
        LOOKS.set(0);
        for _ in 0..MANY {
            assert!(!last.wait(soon(0)).unwrap());
            assert_eq!(wait_any(&three, soon(0)).unwrap(), None);
        }
        stuck.queued.request.finish(Ok(()));
        let waits = (0..2 * MANY).take_while(|_| !last.wait(soon(0)).unwrap()).count() as u64;
        assert!(waits <= MANY && LOOKS.get() <= 4 * MANY, "{waits} waits, {} looks", LOOKS.get());
    }

    #[test]
    fn whoever_waits_behind_what_never_ends_goes_on_when_one_between_is_cancelled() {
        let bench = Bench::new(1, "between");
        let stuck = bench.submit(1000, (0, 0), true, 1, RequestOptions::default()).unwrap();
        let between = bench.submit(1, (0, 1), true, 1, RequestOptions::default()).unwrap();
        let behind = bench.submit(2, (1, 2), true, 1, RequestOptions::default()).unwrap();
        let last = bench.submit(3, (2, 2), true, 1, RequestOptions::default()).unwrap();
        assert!(!stuck.test().unwrap());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| last.wait(soon(10_000)).unwrap());
            // It most likely sleeps by then.
            std::thread::sleep(Duration::from_millis(30));
            between.cancel().unwrap();
            assert!(waits.join().unwrap() && behind.test().unwrap());
        });
        stuck.cancel().unwrap();
        stuck.queued.request.finish(Ok(()));
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
        stuck.queued.request.finish(Ok(()));
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
            (0..3).for_each(|_| stuck.queued.request.finish(Ok(())));
            assert!(!lock(&bench.log).contains(&1));
        }
    }

    /// One thread comes to another request later, and knows nothing of it.
    #[test]
    fn a_request_that_found_no_thread_goes_on_by_the_looks_at_it() {
        let looks: [fn(&Pending) -> bool; 2] = [|r| r.test().unwrap(), |r| r.wait(soon(2000)).unwrap()];
        for (i, look) in looks.into_iter().enumerate() {
            for parks in [false, true] {
                let bench = Bench::new(2, "no thread");
                let name = if parks { 1000 } else { 1 };
                let first = bench.pool.while_resting(|| bench.submit(name, (0, 0), true, 1, RequestOptions::default()).unwrap());
                if parks {
                    assert!(!first.test().unwrap());
                    bench.pool.while_resting(|| first.queued.request.resume(Box::new(|request| request.finish(Ok(())))));
                }
                let second = bench.submit(2, (1, 1), true, 1, RequestOptions::default()).unwrap();
                assert!(second.wait(None).unwrap());
                assert!(look(&first), "look {i}, {parks}");
            }
        }
    }

    #[test]
    fn nothing_enters_the_memory_of_a_request_that_was_cancelled() {
        let bench = Bench::new(1, "cancelled");
        let stuck = bench.submit(1000, (0, 0), true, 1, RequestOptions::default()).unwrap();
        let revocable = stuck.detached.revocable.clone();
        assert!(buffer_guard::enter(&revocable).unwrap().is_some());
        stuck.cancel().unwrap();
        assert_eq!(buffer_guard::enter(&revocable).err().map(|e| e.kind()), Some(ErrorKind::Cancelled));
        assert_eq!(stuck.outcome().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn memory_that_another_thread_revokes_is_free_when_a_cancel_inside_of_a_callback_returns() {
        let bench = Bench::new(1, "revoked");
        let stuck = bench.submit(1000, (0, 0), true, 1, RequestOptions::default()).unwrap();
        let (revocable, left) = (stuck.detached.revocable.clone(), std::sync::atomic::AtomicBool::new(false));
        std::thread::scope(|scope| {
            let copy = buffer_guard::enter(&revocable).unwrap();
            scope.spawn(|| stuck.cancel().unwrap());
            while stuck.detached.state.load(Ordering::Acquire) == ACTIVE {
                std::thread::yield_now();
            }
            scope.spawn(|| {
                let _inside = InsideRequest::new();
                stuck.cancel().unwrap();
                assert!(left.load(Ordering::SeqCst), "a copy was still made");
            });
            std::thread::sleep(Duration::from_millis(30));
            left.store(true, Ordering::SeqCst);
            drop(copy);
        });
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
        a.queued.request.finish(Ok(()));
        assert!(bench.submit(4, (3, 3), true, 1, options()).unwrap().wait(None).unwrap());
    }

    #[test]
    fn a_request_that_waits_for_room_ends_where_it_will_never_have_it() {
        let bench = Bench::new(1, "room");
        let budget = Arc::new(Budget::default());
        budget.set_limit(25);
        let options = || RequestOptions { budget: budget.clone(), deadline: soon(10_000), ..RequestOptions::default() };
        // Nobody can carry this one out.
        let a = bench.submit(1000, (0, 0), true, 1, options()).unwrap();
        let _b = bench.submit(1000, (1, 1), true, 1, options()).unwrap();
        std::thread::scope(|scope| {
            let third = scope.spawn(|| bench.submit(1000, (2, 2), true, 1, options()).err().map(|e| e.kind()));
            // It is most likely waiting by then; if it is not, it ends in the same way.
            std::thread::sleep(Duration::from_millis(30));
            budget.set_limit(9);
            assert_eq!(third.join().unwrap(), Some(ErrorKind::Limit));
        });
        a.cancel().unwrap();
        a.queued.request.finish(Ok(()));
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
        other.queued.request.finish(Ok(()));
    }
    fn told(call: impl FnOnce() + Send + 'static) -> RequestOptions {
        let call = Box::new(move |_: &Result<()>| call());
        RequestOptions { on_done: Some(OnDone { any_thread: true, call }), ..RequestOptions::default() }
    }

    /// Notes that it was called.
    fn noting(called: &Arc<AtomicU8>) -> RequestOptions {
        let called = called.clone();
        told(move || {
            called.fetch_add(1, Ordering::SeqCst);
        })
    }

    #[test]
    fn a_function_is_called_when_its_thread_holds_no_documents_lock_or_when_a_thread_wants_the_end_of_its_request() {
        let bench = Bench::new(1, "put off");
        type Want = fn(&Pending);
        let wants: [Want; 7] = [
            |r| assert!(r.wait(None).unwrap()),
            |r| assert_eq!(wait_any(&[r], soon(0)).unwrap(), Some(0)),
            |r| assert!(r.test().unwrap()),
            |r| assert_eq!(r.progress().unwrap(), Progress::Done),
            |r| assert!(r.outcome().unwrap().is_ok()),
            |r| r.cancel().unwrap(),
            |r| r.let_go(),
        ];
        let mut cases: Vec<(bool, Want)> = vec![(false, |_| {}), (true, |_| request_queue::settle(|| "put off".into()))];
        cases.extend(wants.iter().flat_map(|want| [(false, *want), (true, *want)]));
        for (i, (elsewhere, want)) in cases.into_iter().enumerate() {
            let put_off = || {
                let called = Arc::new(AtomicU8::new(0));
                let request = bench.submit(1, (0, 0), true, 1, noting(&called)).unwrap();
                let document = KeyLocks::new().lock("a");
                request_queue::settle(|| "put off".into());
                (called.load(Ordering::SeqCst) == 0).then_some((called, request, document))
            };
            // A test beside this one may end a request before, in a thread without a lock, when it waits for all requests.
            let (called, request, document) = (0..100).find_map(|_| put_off()).unwrap();
            match elsewhere {
                false => want(&request),
                true => std::thread::scope(|scope| scope.spawn(|| want(&request)).join().unwrap()),
            }
            assert_eq!(called.load(Ordering::SeqCst), u8::from(i > 0), "case {i}");
            drop(document);
            assert_eq!((called.load(Ordering::SeqCst), request.progress().unwrap()), (1, Progress::Done), "case {i}");
        }
    }

    /// Also where the thread itself ends it, or its deadline does.
    #[test]
    fn a_thread_that_holds_a_documents_lock_finds_the_end_of_its_request_by_looking() {
        let bench = Bench::new(1, "looked at under a lock");
        let looks: [fn(&Pending) -> bool; 4] = [
            |r| r.test().unwrap(),
            |r| r.wait(soon(60_000)).unwrap(),
            |r| r.progress().unwrap() == Progress::Done,
            |r| r.outcome().is_ok(),
        ];
        for (i, is_late) in (0..looks.len()).flat_map(|i| [(i, false), (i, true)]) {
            let called = Arc::new(AtomicU8::new(0));
            let deadline = if is_late { soon(0) } else { None };
            let request = bench.submit(1, (0, 0), true, 1, RequestOptions { deadline, ..noting(&called) }).unwrap();
            let _document = KeyLocks::new().lock("a");
            // The others do not work at it, but a thread of another test may.
            let works = i < 2;
            let done = looks[i](&request);
            assert!(done || !(works || is_late), "look {i}");
            assert!(!done || called.load(Ordering::SeqCst) == 1, "look {i}");
            request.cancel().unwrap();
        }
    }

    #[test]
    fn a_function_does_not_wait_for_the_lock_of_a_nodes_place() {
        let (bench, called) = (Bench::new(1, "in a place"), Arc::new(AtomicU8::new(0)));
        let _request = bench.submit(1, (0, 0), true, 1, noting(&called)).unwrap();
        let _place = KeyLocks::new().lock_place("a");
        request_queue::settle(|| "in a place".into());
        assert_eq!(called.load(Ordering::SeqCst), 1);
    }

    /// A thread of the pool is still at an item whose end is told already, as by a thread of a store.
    #[test]
    fn nothing_of_a_requests_work_is_left_when_whoever_waits_for_it_goes_on() {
        for case in 0..3 {
            let left = Arc::new(AtomicBool::new(false));
            let (pool, items) = (Pool::new(2), if case == 2 { 1 } else { 2 });
            let (told, leaves) = (AtomicBool::new(false), left.clone());
            let lingers = move |request: &Arc<Request>, _| {
                if is_worker() && !told.swap(true, Ordering::SeqCst) {
                    request.finish(Ok(()));
                    std::thread::sleep(Duration::from_millis(30));
                    leaves.store(true, Ordering::SeqCst);
                    return Outcome::Parked;
                }
                while !told.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                Outcome::Done(Ok(()))
            };
            let work = Arc::new(Doing { pool: pool.clone(), items, bytes: u64::MAX, run: lingers });
            let kept = Arc::downgrade(&work);
            let _pending = match case {
                0 => request::run(work).map(|()| None).unwrap(),
                1 => request::run_and_tell(work, 2, &mut |_| Ok(())).map(|()| None).unwrap(),
                _ => {
                    let parts = Parts { work, footprints: Vec::new(), revocable: None, copied: Vec::new() };
                    let pending = submit(1, RequestOptions::default(), || Ok(parts)).unwrap();
                    assert!(pending.wait(soon(60_000)).unwrap());
                    Some(pending)
                }
            };
            assert!(left.load(Ordering::SeqCst), "case {case}: a thread was still at work");
            assert!(kept.upgrade().is_none(), "case {case}");
        }
    }

    #[test]
    fn what_waited_for_a_request_begins_before_the_requests_function_has_returned() {
        let bench = Bench::new(3, "behind a function");
        let (log, seen) = (bench.log.clone(), Arc::new(AtomicU8::new(0)));
        let noted = seen.clone();
        let options = told(move || {
            let until = soon(60_000);
            while !lock(&log).contains(&1) && Some(Instant::now()) < until {
                std::thread::yield_now();
            }
            noted.store(lock(&log).contains(&1).into(), Ordering::SeqCst);
        });
        let first = bench.submit(1000, (0, 0), true, 1, options).unwrap();
        let second = bench.submit(1, (0, 0), true, 1, RequestOptions::default()).unwrap();
        assert!(!first.wait(soon(20)).unwrap());
        first.queued.request.finish(Ok(()));
        assert_eq!(seen.load(Ordering::SeqCst), 1);
        assert!(first.wait(None).unwrap() && second.wait(None).unwrap());
    }

    #[test]
    fn work_under_a_chunks_lock_waits_for_no_request() {
        let bench = Bench::new(1, "under a lock");
        let budget = Arc::new(Budget::default());
        budget.set_limit(15);
        let options = || RequestOptions { budget: budget.clone(), ..RequestOptions::default() };
        let stuck = bench.submit(1000, (0, 0), true, 1, options()).unwrap();
        assert!(!stuck.test().unwrap());
        {
            let _lock = ChunkLocks::new().wait((0, "k"));
            request_queue::settle(|| "under a lock".into());
            assert_eq!(bench.submit(1, (1, 1), true, 1, options()).err().unwrap().kind(), ErrorKind::Again);
        }
        stuck.queued.request.finish(Ok(()));
        assert!(stuck.wait(None).unwrap());
    }

    #[test]
    fn every_look_at_a_request_looks_at_its_deadline() {
        let bench = Bench::new(1, "looked at");
        for look in [0, 1, 2] {
            let late = RequestOptions { deadline: soon(0), ..RequestOptions::default() };
            let request = bench.submit(1000, (look, look), true, 1, late).unwrap();
            match look {
                0 => assert_eq!(request.progress().unwrap(), Progress::Done),
                1 => assert!(request.test().unwrap()),
                _ => assert!(request.outcome().is_ok()),
            }
            assert_eq!(request.outcome().unwrap().unwrap_err().kind(), ErrorKind::Timeout);
        }
    }
}
