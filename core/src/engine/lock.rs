//! Locks between the threads of this process: of chunks that are written, and of metadata documents that are changed.
//!
//! A chunk's lock never blocks a thread: work that finds it taken is queued on it, in the order of submission, and goes on when
//! it is handed over. A document's lock blocks, because its holder does little and waits for no other lock.

use super::inside_request::is_inside;
use crate::error::{Result, err};
use crate::fork::{ForkReset, Lazy};
use crate::sync::atomic::AtomicUsize;
use crate::sync::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};
use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// A mutex that is taken even after a panic of its holder: every critical section here leaves consistent state.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A condition variable that costs nothing to notify where no thread waits.
#[derive(Default)]
pub(super) struct LazyCondvar {
    waiting: AtomicUsize,
    changed: Condvar,
}

impl LazyCondvar {
    /// Waits until it is changed, perhaps for nothing, with the mutex of what is waited for given back meanwhile.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        // Under the mutex: a later change sees it.
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Wakes all that wait. To be called after the mutex was held for the change that they wait for.
    pub fn notify_all(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.changed.notify_all();
        }
    }
}

/// What waits for a chunk's lock.
pub(super) enum Waiter {
    /// Is called with the lock once it is free.
    Handed(Box<dyn FnOnce(ChunkGuard) + Send>),
    /// Is called when the lock is free or another's, and asks for it again.
    Told(Box<dyn FnOnce() + Send>),
}

const SLOTS: usize = 1024;

/// The locks of chunks, in a fixed number of slots, so that locking allocates nothing. A task holds at most one. A thread may hold several: work that calls a
/// function of the program which writes other chunks. Keys that share a slot therefore do not wait for each other, and the lock of a key that the thread
/// holds already, as of an array of the same name in another store, is its own.
pub struct ChunkLocks {
    slots: ForkReset<Vec<Mutex<LockSlot>>>,
    hasher: RandomState,
}

#[derive(Default)]
struct LockSlot {
    /// The locks that are taken.
    taken: SmallVec<[Taken; 2]>,
    waiting: VecDeque<(u64, Waiter)>,
}

/// A lock that is taken: the digest of its name, and the array's number.
#[derive(Clone, Copy)]
struct Taken {
    digest: u64,
    array: u64,
}

impl LockSlot {
    /// Gives a lock back: takes off the first that is to get it, without which it is free, and those before that are to be told.
    fn give_back(&mut self, of: u64) -> Vec<Waiter> {
        let mut next = Vec::new();
        while let Some(at) = self.waiting.iter().position(|(digest, _)| *digest == of) {
            match self.waiting.remove(at) {
                Some((_, waiter @ Waiter::Handed(_))) => {
                    next.insert(0, waiter);
                    return next;
                }
                waiter => next.extend(waiter.map(|(_, waiter)| waiter)),
            }
        }
        self.taken.retain(|taken| taken.digest != of);
        next
    }
}

impl ChunkLocks {
    /// Locks of their own: arrays that share chunks must share this.
    pub fn new() -> Arc<ChunkLocks> {
        let slots = ForkReset::new(|| (0..SLOTS).map(|_| Mutex::default()).collect());
        Arc::new(ChunkLocks { slots, hasher: RandomState::new() })
    }

    /// Takes the lock of a chunk, whose name has its array's number first, or queues on it what `waiter` makes.
    pub(super) fn acquire(self: &Arc<Self>, name: (u64, impl Hash), waiter: impl FnOnce() -> Waiter) -> Option<ChunkGuard> {
        self.acquire_named(self.named(name), waiter)
    }

    fn named(&self, name: (u64, impl Hash)) -> Taken {
        Taken { array: name.0, digest: self.hasher.hash_one(name) }
    }

    fn acquire_named(self: &Arc<Self>, name: Taken, waiter: impl FnOnce() -> Waiter) -> Option<ChunkGuard> {
        let digest = name.digest;
        if HELD.get().has(digest) {
            return Some(ChunkGuard { locks: self.clone(), digest, is_lent: true });
        }
        let mut slot = self.slot(digest);
        if slot.taken.iter().any(|taken| taken.digest == digest) {
            slot.waiting.push_back((digest, waiter()));
            return None;
        }
        slot.taken.push(name);
        Some(ChunkGuard { locks: self.clone(), digest, is_lent: false })
    }

    fn slot(&self, digest: u64) -> MutexGuard<'_, LockSlot> {
        lock(&self.slots.get()[digest as usize % SLOTS])
    }

    /// Waits for the lock of a chunk. For calls that change one chunk; the thread must hold no other chunk's.
    pub fn wait(self: &Arc<Self>, name: (u64, impl Hash)) -> (HeldChunk, ChunkGuard) {
        let guard = self.wait_for(self.named(name));
        (HeldChunk::new(&guard), guard)
    }

    /// Waits until each lock of an array that is taken now was given back once. Those of other arrays may be held by functions of the program that
    /// wait for this call.
    pub fn wait_for_taken(self: &Arc<Self>, array: u64) -> Result<()> {
        let mut all = Vec::new();
        for slot in self.slots.get() {
            for taken in lock(slot).taken.iter().filter(|taken| taken.array == array) {
                all.try_reserve(1).map_err(|_| err!(NoMemory, "no memory for a list of {} locks", all.len()))?;
                all.push(*taken);
            }
        }
        all.into_iter().for_each(|taken| drop(self.wait_for(taken)));
        Ok(())
    }

    fn wait_for(self: &Arc<Self>, name: Taken) -> ChunkGuard {
        loop {
            let mine = Arc::new(HandOver::default());
            let theirs = Waiting(mine.clone());
            if let Some(guard) = self.acquire_named(name, || Waiter::Handed(Box::new(move |guard| theirs.end(Some(guard))))) {
                return guard;
            }
            if let Some(guard) = mine.wait() {
                return guard;
            }
        }
    }
}

/// A lock that one thread hands to another that waits. The channels of the standard library allocate what cannot be refused.
#[derive(Default)]
struct HandOver {
    guard: Mutex<Handed>,
    changed: Condvar,
}

#[derive(Default)]
enum Handed {
    #[default]
    NotYet,
    /// `None`: nobody is left to hand it over.
    Done(Option<ChunkGuard>),
}

impl HandOver {
    fn wait(&self) -> Option<ChunkGuard> {
        let mut handed = lock(&self.guard);
        loop {
            match std::mem::take(&mut *handed) {
                Handed::Done(guard) => return guard,
                Handed::NotYet => handed = self.changed.wait(handed).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// The end that is queued: it is called, or dropped with its queue.
struct Waiting(Arc<HandOver>);

impl Waiting {
    fn end(&self, guard: Option<ChunkGuard>) {
        *lock(&self.0.guard) = Handed::Done(guard);
        self.0.changed.notify_one();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if matches!(*lock(&self.0.guard), Handed::NotYet) {
            self.end(None);
        }
    }
}

/// A chunk's lock, until dropped.
pub struct ChunkGuard {
    locks: Arc<ChunkLocks>,
    digest: u64,
    /// It is that of work of this thread around this one, which gives it back.
    is_lent: bool,
}

impl Drop for ChunkGuard {
    fn drop(&mut self) {
        if self.is_lent {
            return;
        }
        let next = self.locks.slot(self.digest).give_back(self.digest);
        for waiter in next {
            match waiter {
                Waiter::Handed(go_on) => go_on(ChunkGuard { locks: self.locks.clone(), digest: self.digest, is_lent: false }),
                Waiter::Told(go_on) => go_on(),
            }
        }
    }
}

/// How many locks of one thread are known.
const NESTED: usize = 4;

/// The locks that work of a thread holds.
#[derive(Clone, Copy)]
struct Nested {
    digests: [u64; NESTED],
    count: usize,
}

impl Nested {
    fn has(&self, digest: u64) -> bool {
        self.digests.iter().take(self.count).any(|held| *held == digest)
    }
}

thread_local! {
    static HELD: Cell<Nested> = const { Cell::new(Nested { digests: [0; NESTED], count: 0 }) };
}

/// Says that work of this thread, which may call functions of the program, holds a lock, until dropped.
pub struct HeldChunk(PhantomData<*const ()>);

impl HeldChunk {
    pub(super) fn new(guard: &ChunkGuard) -> HeldChunk {
        let mut held = HELD.get();
        if let Some(digest) = held.digests.get_mut(held.count) {
            *digest = guard.digest;
        }
        held.count += 1;
        HELD.set(held);
        HeldChunk(PhantomData)
    }
}

/// Returns whether work of this thread holds a chunk's lock.
pub fn holds_chunk() -> bool {
    HELD.get().count > 0
}

impl Drop for HeldChunk {
    fn drop(&mut self) {
        let held = HELD.get();
        HELD.set(Nested { count: held.count - 1, ..held });
    }
}

thread_local! {
    static NUMBER: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread, which no other one of the process has.
fn this_thread() -> u64 {
    static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    if NUMBER.get() == 0 {
        NUMBER.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
    }
    NUMBER.get()
}

/// The thread that holds a key's lock, and how often.
struct Holder {
    thread: u64,
    times: usize,
}

thread_local! {
    /// How many locks of documents this thread holds, and whether it has put something off until it holds none.
    static DOCUMENTS: Cell<(usize, bool)> = const { Cell::new((0, false)) };
}

/// The end of a request that its thread puts off, because the function that is told of it may want the lock of any document.
pub(super) trait PutOff: Send + Sync {
    /// Ends the request, unless another thread does.
    fn end(&self);

    /// Whether it is on an array at a place or below it.
    fn is_below(&self, place: &str) -> bool;
}

/// What threads, by their numbers, have put off.
type EndsPutOff = Mutex<Vec<(u64, Arc<dyn PutOff>)>>;

static PUT_OFF: Lazy<ForkReset<EndsPutOff>> = Lazy::new(|| ForkReset::new(Mutex::default));

/// Returns whether this thread holds the lock of a document.
pub fn holds_document() -> bool {
    DOCUMENTS.get().0 > 0
}

/// Keeps the end of a request until this thread, which holds the lock of a document, holds none. Another one that wants it may be faster.
pub(super) fn put_off(end: Arc<dyn PutOff>) {
    lock(PUT_OFF.get().get()).push((this_thread(), end));
    DOCUMENTS.set((DOCUMENTS.get().0, true));
}

/// Returns whether any thread has put off the end of a request.
pub(super) fn has_put_off() -> bool {
    !lock(PUT_OFF.get().get()).is_empty()
}

/// Ends what other threads have put off at a place and below it, unless this one would put it off as well, or is in a function that a request calls.
pub(super) fn end_below(place: &str) {
    if holds_document() || holds_chunk() || is_inside() {
        return;
    }
    let list = lock(PUT_OFF.get().get());
    let found: Vec<_> = list.iter().filter(|(_, end)| end.is_below(place)).map(|(_, end)| end.clone()).collect();
    drop(list);
    found.iter().for_each(|end| end.end());
}

fn end_own() {
    while let (held, true) = DOCUMENTS.get() {
        DOCUMENTS.set((held, false));
        let own: Vec<_> = lock(PUT_OFF.get().get()).extract_if(.., |(thread, _)| *thread == this_thread()).collect();
        own.iter().for_each(|(_, end)| end.end());
    }
}

/// Blocking locks of keys, for metadata documents. The lock of a key that the thread holds already, as of a document of the same name in another
/// store which a function of the program changes, is its own.
pub struct KeyLocks {
    state: ForkReset<(Mutex<HashMap<String, Holder>>, LazyCondvar)>,
}

impl KeyLocks {
    /// Locks of their own.
    pub fn new() -> Arc<KeyLocks> {
        Arc::new(KeyLocks { state: ForkReset::new(Default::default) })
    }

    /// Waits for the lock of a document and takes it.
    pub fn lock(self: &Arc<Self>, key: &str) -> KeyGuard {
        let guard = self.take(key, true);
        let (held, put_off) = DOCUMENTS.get();
        DOCUMENTS.set((held + 1, put_off));
        guard
    }

    /// Waits for the lock of a place where a node is made or erased, which may take hours, and takes it.
    pub fn lock_place(self: &Arc<Self>, key: &str) -> KeyGuard {
        self.take(key, false)
    }

    /// How many threads wait for one of them.
    #[cfg(feature = "faults")]
    pub fn waiting(&self) -> usize {
        self.state.get().1.waiting.load(Ordering::Relaxed)
    }

    fn take(self: &Arc<Self>, key: &str, is_document: bool) -> KeyGuard {
        let (taken, free) = self.state.get();
        let (mut taken, thread) = (lock(taken), this_thread());
        while taken.get(key).is_some_and(|holder| holder.thread != thread) {
            taken = free.wait(taken);
        }
        taken.entry(key.to_string()).or_insert(Holder { thread, times: 0 }).times += 1;
        KeyGuard { locks: self.clone(), key: key.to_string(), is_document, _of_thread: PhantomData }
    }
}

/// A key's lock, until dropped.
pub struct KeyGuard {
    locks: Arc<KeyLocks>,
    key: String,
    is_document: bool,
    _of_thread: PhantomData<*const ()>,
}

impl KeyGuard {
    fn give_back(&self) {
        let (taken, free) = self.locks.state.get();
        {
            let mut taken = lock(taken);
            // A child of `fork` has none of them.
            let Some(holder) = taken.get_mut(&self.key) else { return };
            holder.times -= 1;
            if holder.times > 0 {
                return;
            }
            taken.remove(&self.key);
        }
        free.notify_all();
    }
}

impl Drop for KeyGuard {
    fn drop(&mut self) {
        self.give_back();
        if !self.is_document {
            return;
        }
        let (held, put_off) = DOCUMENTS.get();
        DOCUMENTS.set((held - 1, put_off));
        if held == 1 {
            end_own();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    #[test]
    fn a_taken_chunk_lock_queues_and_hands_over_in_order() {
        let locks = ChunkLocks::new();
        let log = Arc::new(Mutex::new(Vec::new()));
        let first = locks.acquire((0, "k"), || unreachable!()).unwrap();
        for i in 0..3 {
            let log = log.clone();
            let taken = locks.acquire((0, "k"), move || Waiter::Handed(Box::new(move |_guard| lock(&log).push(i))));
            assert!(taken.is_none());
        }
        assert!(lock(&log).is_empty());
        drop(first);
        assert_eq!(*lock(&log), [0, 1, 2]);
        assert!(locks.acquire((0, "k"), || unreachable!()).is_some());
    }

    #[test]
    fn the_lock_of_a_key_that_the_thread_holds_is_its_own() {
        let locks = ChunkLocks::new();
        let outer = locks.wait((0, "k"));
        for _ in 0..2 {
            drop(locks.wait((0, "k")));
            assert!(
                std::thread::scope(|s| s.spawn(|| locks.acquire((0, "k"), || Waiter::Told(Box::new(|| {}))).is_none()).join().unwrap()),
                "others wait"
            );
        }
        let deeper: Vec<_> = (0..2 * NESTED).map(|key| locks.wait((0, key))).collect();
        drop(deeper);
        drop(outer);
        assert!(
            std::thread::scope(|s| s.spawn(|| locks.acquire((0, "k"), || Waiter::Told(Box::new(|| {}))).is_some()).join().unwrap()),
            "given back"
        );
    }

    #[test]
    fn the_lock_of_a_document_that_the_thread_holds_is_its_own() {
        let (locks, log) = (KeyLocks::new(), Arc::new(Mutex::new(Vec::new())));
        let outer = locks.lock("k");
        let (other, noted) = (locks.clone(), log.clone());
        let waiting = std::thread::spawn(move || {
            let _guard = other.lock("k");
            lock(&noted).push("theirs");
        });
        let inner = locks.lock("k");
        drop(outer);
        std::thread::sleep(std::time::Duration::from_millis(20));
        lock(&log).push("ours");
        drop(inner);
        waiting.join().unwrap();
        assert_eq!(*lock(&log), ["ours", "theirs"], "others wait until all of it is given back");
    }

    #[test]
    fn any_number_that_are_told_of_a_lock_take_no_stack_and_find_it_free_or_handed_over() {
        const MANY: usize = if cfg!(miri) { 100 } else { 100_000 };
        for hands_over in [false, true] {
            let (locks, log) = (ChunkLocks::new(), Arc::new(Mutex::new(Vec::new())));
            let first = locks.acquire((0, "k"), || unreachable!()).unwrap();
            let wait = |waiter: Waiter| assert!(locks.acquire((0, "k"), || waiter).is_none());
            for i in 0..MANY {
                let (ours, theirs) = (locks.clone(), log.clone());
                wait(Waiter::Told(Box::new(move || {
                    let is_free = ours.acquire((0, "k"), || Waiter::Told(Box::new(|| {}))).is_some();
                    lock(&theirs).push((i, is_free));
                })));
            }
            let kept = Arc::new(Mutex::new(None));
            if hands_over {
                let kept = kept.clone();
                wait(Waiter::Handed(Box::new(move |guard| *lock(&kept) = Some(guard))));
            }
            let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(move || drop(first)).unwrap();
            thread.join().unwrap();
            assert_eq!(*lock(&log), (0..MANY).map(|i| (i, !hands_over)).collect::<Vec<_>>());
            let guard = lock(&kept).take();
            assert_eq!(guard.is_some(), hands_over);
            drop(guard);
            assert!(locks.acquire((0, "k"), || unreachable!()).is_some());
        }
    }

    /// There are more keys than slots. What was queued on one lock is not handed another.
    #[test]
    fn locks_of_different_keys_are_held_at_the_same_time_however_many() {
        let (locks, ran) = (ChunkLocks::new(), Arc::new(AtomicU64::new(0)));
        let mut held: Vec<Option<ChunkGuard>> = (0..2 * SLOTS).map(|key| locks.acquire((0, key), || unreachable!())).collect();
        assert!(held.iter().all(Option::is_some));
        for key in 0..2 * SLOTS {
            let ran = ran.clone();
            let next = move |_guard| assert_eq!(ran.fetch_add(1, SeqCst), key as u64);
            assert!(locks.acquire((0, key), || Waiter::Handed(Box::new(next))).is_none());
        }
        held.drain(..).for_each(drop);
        assert_eq!(ran.load(SeqCst), 2 * SLOTS as u64);
        assert!((0..2 * SLOTS).all(|key| locks.acquire((0, key), || unreachable!()).is_some()));
    }

    /// Under Miri the orders of few steps are tried, many times.
    const TURNS: u64 = if cfg!(miri) { 5 } else { 2000 };

    #[test]
    fn a_lazy_condvar_wakes_whoever_waits() {
        let (state, condvar) = (Mutex::new(0), LazyCondvar::default());
        std::thread::scope(|s| {
            for turn in 0..2 {
                let (state, condvar) = (&state, &condvar);
                s.spawn(move || {
                    for n in 0..TURNS {
                        let mut now = lock(state);
                        while *now != n * 2 + turn {
                            now = condvar.wait(now);
                        }
                        *now += 1;
                        drop(now);
                        condvar.notify_all();
                    }
                });
            }
        });
        assert_eq!(*lock(&state), 2 * TURNS);
    }

    #[test]
    fn key_locks_exclude_each_other() {
        let (locks, count) = (KeyLocks::new(), Arc::new(AtomicU64::new(0)));
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..TURNS {
                        let _guard = locks.lock("a");
                        let n = count.load(SeqCst);
                        std::thread::yield_now();
                        count.store(n + 1, SeqCst);
                    }
                });
            }
        });
        assert_eq!(count.load(SeqCst), 4 * TURNS);
    }
}
