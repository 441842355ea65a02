//! The requests of this process that have left their callers, in the order in which they were submitted.
//!
//! A request begins when no earlier one in the queue touches a chunk that it touches, unless both read. So overlapping writes take effect
//! in the order of their submission, and a read sees the writes submitted before it; a blocking call waits in the same way for those before
//! it. Waiting goes only ever to earlier requests, so it ends. A request leaves the queue when all of its items have ended, wherever they
//! were.
//!
//! A few requests are compared with all others. Where there are more, those on few chunks stand in a line for each chunk instead (`turns`): how
//! long it takes to submit one does not depend on how many there are.
//!
//! A thread that waits for a request, or tests it, helps one that has to go on first. It goes from request to request to find that, and the queue remembers
//! the way for all threads (`Trail`): all in all they make about one step for each request in front of theirs, however often they wait or test. Where a request
//! is cancelled that waited for others, all ways are gone anew. Of several requests a thread helps first those that may go on themselves.

use super::footprint::Footprint;
use super::inside_request::is_inside;
use super::lock::{end_below, has_put_off, holds_chunk, holds_document, lock};
use super::pool;
use super::request::Request;
use super::turns::{Line, Turns};
use crate::error::{Result, bail};
use crate::fork::{ForkReset, Lazy};
use crate::limits::{make_room, put};
use crate::per_thread;
use crate::sync::atomic::{AtomicU64, AtomicUsize};
use crate::sync::{Condvar, Mutex};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// With fewer requests than these in the queue a new one is compared with all.
const FEW: usize = 16;

/// Requests on more chunks of an array than these are compared with all others.
const FEW_CHUNKS: u64 = 64;

#[cfg(test)]
thread_local! {
    /// How often this thread has looked for what is in the way of a request.
    pub(super) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

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
    trail: Trail,
}

/// Where threads have gone from requests that wait to those that have to go on first.
#[derive(Default)]
struct Trail {
    /// Numbers of requests of the queue, the first one first: each other one waits for the one before it.
    ways: HashMap<u64, VecDeque<u64>>,
    /// On which way a request is. It is on one at most.
    way_of: HashMap<u64, u64>,
}

impl Trail {
    /// Returns the first request on the way of another, which waits for it.
    fn first(&self, number: u64) -> Option<u64> {
        self.ways.get(self.way_of.get(&number)?)?.front().copied()
    }

    /// Notes that a request, the first on its way or on none, waits for another. Where that is the last on its way, the two ways become one: the shorter is
    /// added to the longer. `None` where there is no memory.
    fn note(&mut self, number: u64, next: u64) -> Option<()> {
        for new in [number, next] {
            if self.way_of.contains_key(&new) {
                continue;
            }
            let mut way = VecDeque::new();
            way.try_reserve(1).ok()?;
            way.push_back(new);
            put(&mut self.ways, new, way).ok()?;
            put(&mut self.way_of, new, new).ok()?;
        }
        let (own, other) = (*self.way_of.get(&number)?, *self.way_of.get(&next)?);
        if self.ways.get(&other)?.back() != Some(&next) {
            return Some(());
        }
        let is_longer = self.ways.get(&own)?.len() > self.ways.get(&other)?.len();
        let (added, to) = if is_longer { (other, own) } else { (own, other) };
        let added = self.ways.remove(&added)?;
        let way = self.ways.get_mut(&to)?;
        way.try_reserve(added.len()).ok()?;
        for number in &added {
            self.way_of.insert(*number, to);
        }
        if is_longer {
            added.into_iter().rev().for_each(|number| way.push_front(number))
        } else {
            way.extend(added)
        }
        Some(())
    }

    /// Forgets a request that waited for none.
    fn leave(&mut self, number: u64) {
        let Some(Entry::Occupied(mut way)) = self.way_of.remove(&number).map(|way| self.ways.entry(way)) else { return };
        way.get_mut().pop_front();
        if way.get().is_empty() {
            way.remove();
        }
    }
}

impl RequestQueue {
    fn of_process() -> &'static RequestQueue {
        static QUEUE: Lazy<ForkReset<RequestQueue>> = Lazy::new(|| ForkReset::new(RequestQueue::default));
        QUEUE.get().get()
    }
}

impl QueueState {
    /// Returns the first request from that number on that may go on, and its number.
    pub fn begun_from(&self, number: u64) -> Option<(u64, Arc<Request>)> {
        self.all.from(number).find(|(_, queued)| queued.place.blockers() == 0).map(|(n, queued)| (n, queued.request.clone()))
    }

    /// Returns the request that has to go on so that this one can: itself, or one that it waits for.
    pub fn front(&mut self, queued: &Queued) -> Arc<Request> {
        if queued.place.blockers() == 0 {
            return queued.request.clone();
        }
        let (mut trail, mut at) = (std::mem::take(&mut self.trail), queued);
        loop {
            at = trail.first(at.place.number()).and_then(|first| self.all.get(first)).unwrap_or(at);
            let next = if at.place.blockers() > 0 { self.conflict_of(at) } else { None };
            let Some(next) = next else { break };
            if trail.note(at.place.number(), next.place.number()).is_none() {
                trail = Trail::default();
            }
            at = next;
        }
        let front = at.request.clone();
        self.trail = trail;
        front
    }

    /// Returns one of those that have to go on before a request of the queue may begin.
    fn conflict_of(&self, queued: &Queued) -> Option<&Queued> {
        let number = queued.place.number();
        self.conflict(&queued.place.footprints, number, self.compared.binary_search(&number).is_ok())
    }

    /// Returns one of the requests with lower numbers that have to go on before one with these footprints may begin.
    fn conflict(&self, footprints: &[Footprint], number: u64, is_compared: bool) -> Option<&Queued> {
        #[cfg(test)]
        LOOKS.set(LOOKS.get() + 1);
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
        if place.blockers() > 0 || self.all.len() == 0 {
            self.trail = Trail::default();
        } else {
            self.trail.leave(number);
        }
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
            self.all.from(number).map(|(_, later)| later).filter(|later| later.place.overlaps(place)).for_each(unblock);
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

/// Returns the request that has to go on so that this one, which is tested, can.
pub(super) fn in_front(queued: &Queued) -> Arc<Request> {
    lock(&RequestQueue::of_process().list).front(queued)
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
    /// It goes on with this one. Where nothing of it can be begun, it asks for another.
    Help(Arc<Request>),
    /// It sleeps until something happens.
    Sleep,
}

impl Next {
    pub fn help(request: Option<Arc<Request>>) -> Next {
        request.map_or(Next::Sleep, Next::Help)
    }
}

/// Helps and sleeps until `next` says that it is over, or until that time: then returns false. The number that `next` is given is 0, and then what it
/// makes of it, until it is asked anew: when one could be helped, or something has happened.
pub(super) fn go_on(until: Option<Instant>, next: &mut dyn FnMut(&mut QueueState, &mut u64) -> Next) -> bool {
    let queue = RequestQueue::of_process();
    loop {
        let Some((ran, epoch)) = help_one(queue, next) else { return true };
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            // It may be over by now.
            return matches!(next(&mut lock(&queue.list), &mut 0), Next::Over);
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

/// Helps the first of those that `next` names that can be helped. Returns whether there is one, and the epoch before they were named; `None` where
/// it is over.
fn help_one(queue: &RequestQueue, next: &mut dyn FnMut(&mut QueueState, &mut u64) -> Next) -> Option<(bool, u64)> {
    let (mut at, mut epoch) = (0, None);
    loop {
        let (before, found) = {
            let mut list = lock(&queue.list);
            (*epoch.get_or_insert(list.epoch), next(&mut list, &mut at))
        };
        match found {
            Next::Over => return None,
            Next::Help(request) if request.help_once() => return Some((true, before)),
            Next::Help(_) => {}
            Next::Sleep => return Some((false, before)),
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
    go_on(None, &mut |list, at| match find(list, end).cloned() {
        None => Next::Over,
        Some(_) if *at > 0 => Next::Sleep,
        Some(queued) => {
            *at = 1;
            Next::Help(list.front(&queued))
        }
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
    let queue = RequestQueue::of_process();
    let (mut at, end) = (0, lock(&queue.list).next);
    while let Some((number, begun)) = { lock(&queue.list).begun_from(at).filter(|(number, _)| *number < end) } {
        begun.call_for_help();
        at = number + 1;
    }
    per_thread::give_back();
    Ok(())
}

/// Returns whether this thread may wait for another one that takes its time: it holds no lock that the other one may want, and does no work that the
/// other one may wait for.
pub fn may_wait() -> bool {
    !(holds_document() || holds_chunk() || is_inside() || pool::is_worker())
}

#[cfg(test)]
mod tests {
    use super::super::footprint::COMPARED;
    use super::super::pool::Pool;
    use super::super::request::Outcome;
    use super::super::request::tests::Doing;
    use super::*;
    use crate::limits::Dims;

    fn queued(footprints: Vec<Footprint>) -> Queued {
        let request = Request::new(
            Arc::new(Doing { pool: Pool::new(1), items: 1, bytes: 1, run: |_: &Arc<Request>, _| Outcome::Done(Ok(())) }),
            false,
            None,
        );
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

    /// Returns, of each request, the bits of itself and of those that it waits for, and of those that they wait for.
    fn awaited(queue: &[Queued]) -> Vec<u64> {
        let mut all: Vec<u64> = Vec::new();
        for (i, queued) in queue.iter().enumerate() {
            let earlier = (0..i).filter(|&j| queue[j].place.overlaps(&queued.place));
            all.push(earlier.fold(1 << i, |bits, j| bits | all[j]));
        }
        all
    }

    /// Checks that one is named for a request that it waits for, and that may go on.
    fn check_front(state: &mut QueueState, queue: &[Queued], i: usize, awaited: &[u64]) {
        let front = state.front(&queue[i]);
        let at = queue.iter().position(|other| Arc::ptr_eq(&other.request, &front)).unwrap();
        assert!(awaited[i] >> at & 1 == 1 && !waits(queue, at), "{at} before {i}");
    }

    fn check(state: &mut QueueState, queue: &[Queued], seed: &mut u64) {
        let (awaited, count) = (awaited(queue), queue.len());
        for (i, queued) in queue.iter().enumerate() {
            assert_eq!(queued.place.blockers() > 0, waits(queue, i), "{i}");
        }
        // With no way that is known; the same ones each time, from either end; the last one, and any others.
        let mut starts: Vec<usize> = (0..count).filter(|&i| !queue[i].place.number().is_multiple_of(3)).collect();
        match random(seed, 4) {
            0 => {
                state.trail = Trail::default();
                starts = (0..count).collect();
            }
            1 => starts.reverse(),
            _ => {}
        }
        starts.extend([1, 1 + random(seed, 64), 1 + random(seed, 64)].into_iter().filter_map(|back| count.checked_sub(back as usize)));
        starts.into_iter().for_each(|i| check_front(state, queue, i, &awaited));
        let writes = random(seed, 2) > 0;
        let (footprints, end) = (any_footprints(seed, writes), random(seed, 1 + queue.len() as u64) as usize);
        let end_number = queue.get(end).map_or(state.next, |queued| queued.place.number());
        let is_blocked = queue[..end].iter().any(|earlier| footprints.iter().any(|own| earlier.place.overlaps_footprint(own)));
        assert_eq!(state.conflict(&footprints, end_number, state.is_compared(&footprints)).is_some(), is_blocked);
    }

    #[test]
    fn each_request_waits_for_the_earlier_ones_in_its_way_and_for_no_other() {
        for seed in 1..if cfg!(miri) { 3 } else { 30 } {
            let cancels = seed % 2 > 0;
            let (mut state, mut queue, mut seed) = (QueueState::default(), Vec::new(), 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(seed));
            for _ in 0..250 {
                // In each second run also one leaves that has not begun: it was cancelled.
                if random(&mut seed, 50) >= queue.len() as u64 {
                    let writes = random(&mut seed, 2) > 0;
                    let new = queued(any_footprints(&mut seed, writes));
                    queue.push(new.clone());
                    assert_eq!(state.add(&new).unwrap(), !waits(&queue, queue.len() - 1));
                } else {
                    let any = random(&mut seed, queue.len() as u64) as usize;
                    let at = (0..=any).rev().find(|&i| cancels || !waits(&queue, i)).unwrap();
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
                check(&mut state, &queue, &mut seed);
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
            assert!(Arc::ptr_eq(&state.front(&all[MANY as usize - 1]), &all[MANY as usize - if writes { 10 } else { 1 }].request));
            let begun = all.iter().map(|queued| state.remove(&queued.place).unwrap().len()).sum::<usize>() as u64;
            assert_eq!(begun, if writes { MANY / 10 * 9 } else { 0 });
            assert!(COMPARED.get() <= 3 * FEW as u64 * MANY, "{} comparisons", COMPARED.get());
        }
    }

    #[test]
    fn one_that_is_tested_again_and_again_is_not_left_for_the_first_of_a_chain_each_time_anew() {
        const MANY: u64 = if cfg!(miri) { 60 } else { 1000 };
        let mut state = QueueState::default();
        let all: Vec<Queued> = (0..MANY).map(|i| queued(vec![footprint(0, &[i], &[i + 1], true)])).collect();
        for queued in &all {
            state.add(queued).unwrap();
        }
        LOOKS.set(0);
        for queued in &all {
            assert!(Arc::ptr_eq(&state.front(&all[MANY as usize - 1]), &queued.request));
            state.remove(&queued.place).unwrap();
        }
        assert!(LOOKS.get() <= 2 * MANY && state.trail.ways.capacity() == 0, "{} looks", LOOKS.get());
    }

    #[test]
    fn those_of_a_chain_that_are_tested_in_turn_do_not_each_go_all_of_the_way() {
        const MANY: usize = if cfg!(miri) { 60 } else { 1000 };
        let last_two = (0..MANY).map(|i| MANY - 1 - i % 2);
        for picks in [(0..MANY).collect::<Vec<_>>(), (0..MANY).rev().collect(), last_two.collect()] {
            let mut state = QueueState::default();
            let all: Vec<Queued> = (0..MANY as u64).map(|i| queued(vec![footprint(0, &[i], &[i + 1], true)])).collect();
            for queued in &all {
                state.add(queued).unwrap();
            }
            LOOKS.set(0);
            for &i in &picks {
                assert!(Arc::ptr_eq(&state.front(&all[i]), &all[0].request));
            }
            for (first, queued) in all.iter().enumerate() {
                for i in [MANY - 1, MANY - 2] {
                    assert!(i < first || Arc::ptr_eq(&state.front(&all[i]), &queued.request));
                }
                state.remove(&queued.place).unwrap();
            }
            assert!(LOOKS.get() <= 3 * MANY as u64, "{} looks", LOOKS.get());
        }
    }

    #[test]
    fn those_of_several_chains_that_are_tested_in_turn_do_not_go_their_ways_anew() {
        const MANY: usize = if cfg!(miri) { 60 } else { 900 };
        // Three chains; the first in front of all of them.
        let (mut state, all): (_, Vec<Queued>) = (
            QueueState::default(),
            (0..MANY as u64)
                .map(|i| queued(vec![footprint(0, &[i % 3, i / 3], &[if i == 0 { 2 } else { i % 3 }, i / 3 + 1], true)]))
                .collect(),
        );
        for queued in &all {
            state.add(queued).unwrap();
        }
        LOOKS.set(0);
        for first in 0..MANY {
            for last in [MANY - 3, MANY - 2, MANY - 1] {
                let front = state.front(&all[last]);
                assert!(last < first || (first..first + 3).any(|i| Arc::ptr_eq(&front, &all[i].request)), "{first} {last}");
            }
            state.remove(&all[first].place).unwrap();
        }
        assert!(LOOKS.get() <= 2 * MANY as u64, "{} looks", LOOKS.get());
    }
}
