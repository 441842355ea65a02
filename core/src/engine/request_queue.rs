//! The requests of this process that have left their callers, in the order in which they were submitted.
//!
//! A request begins when no earlier one in the queue touches a chunk that it touches, unless both read. So overlapping writes take effect
//! in the order of their submission, and a read sees the writes submitted before it; a blocking call waits in the same way for those before
//! it. Waiting goes only ever to earlier requests, so it ends. A request leaves the queue when all of its items have ended, wherever they
//! were.
//!
//! A few requests are compared with all others. Where there are more, those on few chunks stand in a line for each chunk instead (`turns`): how
//! long it takes to submit one does not depend on how many there are.

use super::footprint::Footprint;
use super::inside_request::is_inside;
use super::lock::{end_below, has_put_off, holds_chunk, lock};
use super::pool;
use super::request::Request;
use super::turns::{Line, Turns};
use crate::error::{Result, bail};
use crate::fork::{ForkReset, Lazy};
use crate::limits::make_room;
use crate::per_thread;
use crate::sync::atomic::{AtomicU64, AtomicUsize};
use crate::sync::{Condvar, Mutex};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// With fewer requests than these in the queue a new one is compared with all.
const FEW: usize = 16;

/// Requests on more chunks of an array than these are compared with all others.
const FEW_CHUNKS: u64 = 64;

/// What the queue knows of a request.
pub(super) struct QueuePlace {
    pub footprints: Vec<Footprint>,
    /// The place in the order of submission.
    number: AtomicU64,
    /// How many earlier requests it waits for that it was compared with, and in how many lines for its turn; changed under the queue's lock.
    blockers: AtomicUsize,
}

impl QueuePlace {
    /// A place that is not in the queue yet.
    pub fn new(footprints: Vec<Footprint>) -> QueuePlace {
        QueuePlace { footprints, number: AtomicU64::new(0), blockers: AtomicUsize::new(0) }
    }

    /// Returns 0 where it waits for no earlier request.
    pub fn blockers(&self) -> usize {
        self.blockers.load(Ordering::Relaxed)
    }

    /// Whether it touches an array at a place or below it.
    pub fn is_below(&self, place: &str) -> bool {
        self.footprints.iter().any(|footprint| footprint.place.starts_with(place))
    }

    fn number(&self) -> u64 {
        self.number.load(Ordering::Relaxed)
    }

    fn overlaps(&self, other: &QueuePlace) -> bool {
        self.footprints.iter().any(|footprint| other.overlaps_footprint(footprint))
    }

    fn overlaps_footprint(&self, footprint: &Footprint) -> bool {
        self.footprints.iter().any(|own| own.overlaps(footprint))
    }
}

/// A request in the queue.
#[derive(Clone)]
pub(super) struct Queued {
    pub request: Arc<Request>,
    pub place: Arc<QueuePlace>,
}

/// The requests of this process.
#[derive(Default)]
struct RequestQueue {
    list: Mutex<QueueState>,
    changed: Condvar,
    count: AtomicUsize,
}

/// See [`RequestQueue`].
#[derive(Default)]
pub(super) struct QueueState {
    all: Line<Queued>,
    /// The numbers of those that are compared with all others.
    compared: Vec<u64>,
    /// All others.
    turns: Turns,
    next: u64,
    /// Counts the changes that waiting threads may wait for.
    epoch: u64,
}

impl RequestQueue {
    fn of_process() -> &'static RequestQueue {
        static QUEUE: Lazy<ForkReset<RequestQueue>> = Lazy::new(|| ForkReset::new(RequestQueue::default));
        QUEUE.get().get()
    }
}

impl QueueState {
    /// Returns the requests that may go on.
    pub fn begun(&self) -> Vec<Arc<Request>> {
        some(self.all.iter().map(|(_, queued)| queued).filter(|queued| queued.place.blockers() == 0).map(|queued| queued.request.clone()))
    }

    /// Returns the request that has to go on so that this one can: itself, or one that it waits for.
    pub fn in_front(&self, queued: &Queued) -> Arc<Request> {
        let mut at = queued;
        while at.place.blockers() > 0 {
            let number = at.place.number();
            let is_compared = self.compared.binary_search(&number).is_ok();
            let Some(found) = self.conflict(&at.place.footprints, number, is_compared) else { break };
            at = found;
        }
        at.request.clone()
    }

    /// Returns one of the requests with lower numbers that have to go on before one with these footprints may begin.
    fn conflict(&self, footprints: &[Footprint], number: u64, is_compared: bool) -> Option<&Queued> {
        let is_in_the_way = |other: &&Queued| footprints.iter().any(|footprint| other.place.overlaps_footprint(footprint));
        if is_compared {
            return self.all.before(number).map(|(_, other)| other).find(is_in_the_way);
        }
        let compared = self.compared.iter().take_while(|n| **n < number).filter_map(|n| self.all.get(*n));
        compared.into_iter().find(is_in_the_way).or_else(|| self.all.get(self.turns.in_front(footprints, number)?))
    }

    /// Returns whether a request is to be compared with all others.
    fn is_compared(&self, footprints: &[Footprint]) -> bool {
        self.all.len() < FEW || footprints.iter().any(|footprint| footprint.chunk_count() > FEW_CHUNKS)
    }

    /// Puts a request at the end, and says whether it may begin.
    fn add(&mut self, queued: &Queued) -> Result<bool> {
        let (place, number) = (&queued.place, self.next);
        self.next += 1;
        make_room(&mut self.compared, 1)?;
        self.all.push(number, queued.clone())?;
        place.number.store(number, Ordering::Relaxed);
        let overlaps = |other: &&Queued| other.place.overlaps(place);
        let blockers = if self.is_compared(&place.footprints) {
            self.compared.push(number);
            self.all.before(number).map(|(_, other)| other).filter(overlaps).count()
        } else {
            let compared = self.compared.iter().filter_map(|n| self.all.get(*n)).filter(overlaps).count();
            let waits = self.turns.add(&place.footprints, number).inspect_err(|_| drop(self.all.take(number)))?;
            compared + waits
        };
        place.blockers.store(blockers, Ordering::Relaxed);
        Ok(blockers == 0)
    }

    /// Takes a request off. Returns those that waited for it alone, or `None` if it was not in the queue.
    fn remove(&mut self, place: &QueuePlace) -> Option<Vec<Arc<Request>>> {
        let number = place.number();
        self.all.get(number).filter(|queued| std::ptr::eq(&*queued.place, place))?;
        self.all.take(number);
        let mut begin = Vec::new();
        let mut unblock = |later: &Queued| {
            // What is not listed is unblocked all the same.
            let is_free = later.place.blockers.fetch_sub(1, Ordering::Relaxed) == 1;
            if is_free && make_room(&mut begin, 1).is_ok() {
                begin.push(later.request.clone());
            }
        };
        if let Ok(at) = self.compared.binary_search(&number) {
            self.compared.remove(at);
            self.all.after(number).map(|(_, later)| later).filter(|later| later.place.overlaps(place)).for_each(unblock);
        } else {
            let compared = &self.compared[self.compared.partition_point(|n| *n < number)..];
            let compared = compared.iter().filter_map(|n| self.all.get(*n));
            compared.filter(|later| later.place.overlaps(place)).for_each(&mut unblock);
            let all = &self.all;
            self.turns.remove(&place.footprints, number, &mut |n| all.get(n).into_iter().for_each(&mut unblock));
        }
        Some(begin)
    }
}

/// Returns the request that has to go on so that this one can.
pub(super) fn in_front(queued: &Queued) -> Arc<Request> {
    lock(&RequestQueue::of_process().list).in_front(queued)
}

/// Puts a request at the end of the queue, and calls for help where it waits for none before it.
pub(super) fn submit(queued: &Queued) -> Result<()> {
    let queue = RequestQueue::of_process();
    let begins = {
        let mut list = lock(&queue.list);
        let begins = list.add(queued)?;
        queue.count.fetch_add(1, Ordering::AcqRel);
        begins
    };
    if begins {
        queued.request.call_for_help();
    }
    Ok(())
}

/// The requests of a list that may be long, or as many of the first as there is memory for: those that wait for others are helped sooner or later.
pub(super) fn some(requests: impl Iterator<Item = Arc<Request>>) -> Vec<Arc<Request>> {
    let mut list = Vec::new();
    for request in requests {
        if list.len() == list.capacity() && make_room(&mut list, 1).is_err() {
            break;
        }
        list.push(request);
    }
    list
}

/// Takes a request off the queue. Returns those that waited for it alone, or `None` if it was not in the queue.
pub(super) fn leave(place: &QueuePlace) -> Option<Vec<Arc<Request>>> {
    let queue = RequestQueue::of_process();
    let mut list = lock(&queue.list);
    let begin = list.remove(place)?;
    list.epoch += 1;
    queue.count.fetch_sub(1, Ordering::AcqRel);
    queue.changed.notify_all();
    Some(begin)
}

/// Wakes the threads that wait for a change.
pub(super) fn wake_waiters() {
    let queue = RequestQueue::of_process();
    lock(&queue.list).epoch += 1;
    queue.changed.notify_all();
}

/// What a thread that waits does next.
pub(super) enum Next {
    /// What it waits for has happened.
    Over,
    /// It goes on with one of these, or sleeps until something happens.
    Help(Vec<Arc<Request>>),
}

/// Helps and sleeps until `next` says that it is over, or until that time: then returns false.
pub(super) fn go_on(until: Option<Instant>, next: &mut dyn FnMut(&QueueState) -> Next) -> bool {
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

/// Waits until `find` finds none of the requests that were submitted before now: those with numbers below the one that it is given. Returns at once
/// inside a request, or under a chunk's lock, as a function does that the work calls: the request may be its own, or wait for the lock.
fn settle_those(find: impl Fn(&QueueState, u64) -> Option<&Queued>) {
    let queue = RequestQueue::of_process();
    if queue.count.load(Ordering::Acquire) == 0 || is_inside() || holds_chunk() {
        return;
    }
    let end = lock(&queue.list).next;
    go_on(None, &mut |list| match find(list, end) {
        None => Next::Over,
        Some(queued) => Next::Help(vec![list.in_front(queued)]),
    });
}

/// Waits for the requests submitted before that a blocking call with this footprint must come after.
pub(super) fn wait_for_conflicts(footprint: impl FnOnce() -> Option<Footprint>) {
    if RequestQueue::of_process().count.load(Ordering::Acquire) == 0 {
        return;
    }
    if let Some(footprint) = footprint() {
        let footprints = std::slice::from_ref(&footprint);
        settle_those(|list, end| list.conflict(footprints, end, list.is_compared(footprints)));
    }
}

/// Waits for all requests on arrays at a place and below it that were submitted before.
pub fn settle(place: impl FnOnce() -> String) {
    if RequestQueue::of_process().count.load(Ordering::Acquire) > 0 || has_put_off() {
        let place = place();
        settle_those(|list, end| list.all.before(end).map(|(_, queued)| queued).find(|queued| queued.place.is_below(&place)));
        end_below(&place);
    }
}

/// Waits for all requests that were submitted before, ends the library's own threads, and gives back what this thread keeps. Later calls start them again.
pub fn shutdown() -> Result<()> {
    if is_inside() || pool::is_worker() {
        bail!(State, "the call comes from inside of a request's work: its own thread would have to end first");
    }
    settle_those(|list, end| list.all.before(end).map(|(_, queued)| queued).next());
    end_below("");
    pool::join_all();
    // A request that another thread submitted meanwhile has found no thread to go on with it.
    let begun = lock(&RequestQueue::of_process().list).begun();
    begun.iter().for_each(Request::call_for_help);
    per_thread::give_back();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::footprint::COMPARED;
    use super::super::pool::Pool;
    use super::super::request::{About, Outcome, Work};
    use super::*;
    use crate::limits::Dims;
    use crate::store::Tuning;

    struct Nothing(Arc<Pool>);

    impl Work for Nothing {
        fn about(&self) -> About {
            About { items: 1, bytes: 1, finish_others: true, tuning: Tuning::default() }
        }

        fn pool(&self) -> &Arc<Pool> {
            &self.0
        }

        fn run(&self, _: &Arc<Request>, _: u64) -> Outcome {
            Outcome::Done(Ok(()))
        }
    }

    fn queued(footprints: Vec<Footprint>) -> Queued {
        let request = Request::new(Arc::new(Nothing(Pool::new(1))), false, None);
        Queued { request, place: Arc::new(QueuePlace::new(footprints)) }
    }

    fn footprint(place: u64, low: &[u64], high: &[u64], writes: bool) -> Footprint {
        Footprint { place: format!("/{place}"), low: Dims::from_slice(low), high: Dims::from_slice(high), writes }
    }

    /// Numbers below `bound`.
    fn random(seed: &mut u64, bound: u64) -> u64 {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        (*seed >> 11) % bound
    }

    /// On two arrays, one or two boxes, some of many chunks; now and then of another rank, as of an array that was replaced.
    fn any_footprints(seed: &mut u64, writes: bool) -> Vec<Footprint> {
        let boxes = 1 + random(seed, 8) / 7;
        let any = |seed: &mut u64| {
            let (rank, most) = (2 - random(seed, 8) / 7, [1, 3, 12][random(seed, 3) as usize]);
            let low: Vec<u64> = (0..rank).map(|_| random(seed, 6)).collect();
            let high: Vec<u64> = low.iter().map(|low| low + random(seed, most)).collect();
            footprint(random(seed, 2), &low, &high, writes)
        };
        (0..boxes).map(|_| any(seed)).collect()
    }

    fn waits(queue: &[Queued], at: usize) -> bool {
        queue[..at].iter().any(|earlier| earlier.place.overlaps(&queue[at].place))
    }

    fn check(state: &QueueState, queue: &[Queued], seed: &mut u64) {
        for (i, queued) in queue.iter().enumerate() {
            assert_eq!(queued.place.blockers() > 0, waits(queue, i), "{i}");
            let front = state.in_front(queued);
            let at = queue.iter().position(|other| Arc::ptr_eq(&other.request, &front)).unwrap();
            assert!(at <= i && (at < i) == waits(queue, i) && !waits(queue, at), "{at} before {i}");
        }
        let writes = random(seed, 2) > 0;
        let (footprints, end) = (any_footprints(seed, writes), random(seed, 1 + queue.len() as u64) as usize);
        let end_number = queue.get(end).map_or(state.next, |queued| queued.place.number());
        let is_blocked = queue[..end].iter().any(|earlier| footprints.iter().any(|own| earlier.place.overlaps_footprint(own)));
        assert_eq!(state.conflict(&footprints, end_number, state.is_compared(&footprints)).is_some(), is_blocked);
    }

    #[test]
    fn each_request_waits_for_the_earlier_ones_in_its_way_and_for_no_other() {
        for seed in 1..if cfg!(miri) { 2 } else { 30 } {
            let (mut state, mut queue, mut seed) = (QueueState::default(), Vec::new(), 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
            for _ in 0..250 {
                // Also one that has not begun leaves, where it is cancelled.
                if random(&mut seed, 50) >= queue.len() as u64 {
                    let writes = random(&mut seed, 2) > 0;
                    let new = queued(any_footprints(&mut seed, writes));
                    queue.push(new.clone());
                    assert_eq!(state.add(&new).unwrap(), !waits(&queue, queue.len() - 1));
                } else {
                    let at = random(&mut seed, queue.len() as u64) as usize;
                    let waited: Vec<bool> = (0..queue.len()).map(|i| waits(&queue, i)).collect();
                    let gone = queue.remove(at);
                    let begin = state.remove(&gone.place).unwrap();
                    let is_new = |(i, queued): &(usize, &Queued)| {
                        !waits(&queue, *i) && waited[i + usize::from(*i >= at)] && begin.iter().any(|b| Arc::ptr_eq(b, &queued.request))
                    };
                    let expected = (0..queue.len()).filter(|&i| !waits(&queue, i) && waited[i + usize::from(i >= at)]).count();
                    assert_eq!((queue.iter().enumerate().filter(is_new).count(), begin.len()), (expected, expected));
                    assert!(state.remove(&gone.place).is_none());
                }
                check(&state, &queue, &mut seed);
            }
            queue.drain(..).for_each(|queued| drop(state.remove(&queued.place).unwrap()));
            assert!(state.all.len() == 0 && state.compared.is_empty() && state.turns.is_empty());
        }
    }

    #[test]
    fn many_requests_on_few_chunks_are_not_compared_with_each_other() {
        const MANY: u64 = if cfg!(miri) { 200 } else { 4000 };
        for writes in [false, true] {
            let mut state = QueueState::default();
            let all: Vec<Queued> = (0..MANY).map(|i| queued(vec![footprint(0, &[i / 10], &[i / 10], writes)])).collect();
            COMPARED.set(0);
            for queued in &all {
                state.add(queued).unwrap();
            }
            assert!(Arc::ptr_eq(&state.in_front(&all[MANY as usize - 1]), &all[MANY as usize - if writes { 10 } else { 1 }].request));
            let begun = all.iter().map(|queued| state.remove(&queued.place).unwrap().len()).sum::<usize>() as u64;
            assert_eq!(begun, if writes { MANY / 10 * 9 } else { 0 });
            assert!(COMPARED.get() <= 3 * FEW as u64 * MANY, "{} comparisons", COMPARED.get());
        }
    }
}
