//! The requests of this process that have left their callers, in the order in which they were submitted.
//!
//! A request begins when no earlier one in the queue touches a chunk that it touches, unless both read. So overlapping writes take effect
//! in the order of their submission, and a read sees the writes submitted before it; a blocking call waits in the same way for those before
//! it. Waiting goes only ever to earlier requests, so it ends. A request leaves the queue when all of its items have ended, wherever they
//! were.

use super::footprint::Footprint;
use super::inside_request::is_inside;
use super::lock::{end_below, has_put_off, holds_chunk, lock};
use super::pool;
use super::request::Request;
use crate::error::{Result, bail};
use crate::fork::{ForkReset, Lazy};
use crate::limits::make_room;
use crate::per_thread;
use crate::sync::atomic::{AtomicU64, AtomicUsize};
use crate::sync::{Condvar, Mutex};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// What the queue knows of a request.
pub(super) struct QueuePlace {
    pub footprints: Vec<Footprint>,
    /// The place in the order of submission.
    number: AtomicU64,
    /// How many earlier requests it waits for; changed under the queue's lock.
    blockers: AtomicUsize,
}

impl QueuePlace {
    /// A place that is not in the queue yet.
    pub fn new(footprints: Vec<Footprint>) -> QueuePlace {
        QueuePlace { footprints, number: AtomicU64::new(0), blockers: AtomicUsize::new(0) }
    }

    /// Returns how many earlier requests it waits for.
    pub fn blockers(&self) -> usize {
        self.blockers.load(Ordering::Relaxed)
    }

    /// Whether it touches an array at a place or below it.
    pub fn is_below(&self, place: &str) -> bool {
        self.footprints.iter().any(|footprint| footprint.place.starts_with(place))
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
    all: Vec<Queued>,
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
        some(self.all.iter().filter(|queued| queued.place.blockers() == 0).map(|queued| queued.request.clone()))
    }

    /// Returns the request that has to go on so that this one can: itself, or the first that it waits for.
    pub fn in_front(&self, queued: &Queued) -> Arc<Request> {
        let mut at = queued;
        while at.place.blockers() > 0 {
            let earlier = self.all.iter().take_while(|other| !Arc::ptr_eq(&other.place, &at.place));
            let Some(found) = earlier.into_iter().find(|other| other.place.overlaps(&at.place)) else { break };
            at = found;
        }
        at.request.clone()
    }
}

/// Returns the request that has to go on so that this one can.
pub(super) fn in_front(queued: &Queued) -> Arc<Request> {
    lock(&RequestQueue::of_process().list).in_front(queued)
}

/// Puts a request at the end of the queue, and calls for help where it waits for none before it.
pub(super) fn submit(queued: &Queued) -> Result<()> {
    let queue = RequestQueue::of_process();
    let before = {
        let mut list = lock(&queue.list);
        make_room(&mut list.all, 1)?;
        let before = list.all.iter().filter(|other| other.place.overlaps(&queued.place)).count();
        queued.place.number.store(list.next, Ordering::Relaxed);
        queued.place.blockers.store(before, Ordering::Relaxed);
        list.next += 1;
        list.all.push(queued.clone());
        queue.count.fetch_add(1, Ordering::AcqRel);
        before
    };
    if before == 0 {
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
    let at = list.all.iter().position(|other| std::ptr::eq(&*other.place, place))?;
    list.all.remove(at);
    let is_first = |later: &&Queued| later.place.overlaps(place) && later.place.blockers.fetch_sub(1, Ordering::Relaxed) == 1;
    let mut first = list.all[at..].iter().filter(is_first);
    let begin = some(first.by_ref().map(|later| later.request.clone()));
    // What is not listed is unblocked all the same.
    first.for_each(|_| {});
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

/// Waits until none of the requests that were submitted before now is as `wanted` says. Returns at once inside a request, or under a chunk's lock, as
/// a function does that the work calls: the request may be its own, or wait for the lock.
fn settle_those(wanted: impl Fn(&QueuePlace) -> bool) {
    let queue = RequestQueue::of_process();
    if queue.count.load(Ordering::Acquire) == 0 || is_inside() || holds_chunk() {
        return;
    }
    let end = lock(&queue.list).next;
    let is_one = |queued: &&Queued| queued.place.number.load(Ordering::Relaxed) < end && wanted(&queued.place);
    go_on(None, &mut |list| match list.all.iter().find(is_one) {
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
        settle_those(|place| place.overlaps_footprint(&footprint));
    }
}

/// Waits for all requests on arrays at a place and below it that were submitted before.
pub fn settle(place: impl FnOnce() -> String) {
    if RequestQueue::of_process().count.load(Ordering::Acquire) > 0 || has_put_off() {
        let place = place();
        settle_those(|queued| queued.is_below(&place));
        end_below(&place);
    }
}

/// Waits for all requests that were submitted before, ends the library's own threads, and gives back what this thread keeps. Later calls start them again.
pub fn shutdown() -> Result<()> {
    if is_inside() || pool::is_worker() {
        bail!(State, "the call comes from inside of a request's work: its own thread would have to end first");
    }
    settle_those(|_| true);
    end_below("");
    pool::join_all();
    // A request that another thread submitted meanwhile has found no thread to go on with it.
    let begun = lock(&RequestQueue::of_process().list).begun();
    begun.iter().for_each(Request::call_for_help);
    per_thread::give_back();
    Ok(())
}
