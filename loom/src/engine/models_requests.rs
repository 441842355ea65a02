//! Models of requests: their items and the threads of a pool, what waits for them, what comes before them, and what is cancelled.

use super::buffer_guard::{self, RevocableBuffer};
use super::footprint::Footprint;
use super::lock::KeyLocks;
use super::models_locks::Guarded;
use super::pending::{OnDone, Parts, Pending, RequestOptions, submit};
use super::pool::Pool;
use super::request::{About, Outcome, Request, Work, run, run_and_tell};
use super::request_queue;
use crate::error::{ErrorKind, Result, err};
use crate::limits::Dims;
use crate::models::Model;
use crate::store::Tuning;
use crate::sync::Condvar;
use loom::thread::{JoinHandle, spawn};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

pub const ALL: &[Model] = &[
    ("a request that helps itself by a pool is done when it returns, and the pool's threads end", Some(3), helped),
    ("a request that tells how far it is tells of what is done", Some(3), telling),
    ("a request that fails in one item returns all the same", Some(3), failing),
    ("an item that was parked and comes back is gone on with", None, parked),
    ("reads that wait for room are started when there is some", Some(4), held),
    ("a request that is cancelled while it ends, ends once, and leaves its memory alone", Some(4), cancelled),
    ("a request that is dropped while a thread is at work leaves its memory alone", Some(3), dropped),
    ("a thread that waits for a request is woken by its end", Some(4), awaited),
    ("a function of any thread has returned when its request is done, also one that was put off", Some(3), told_of_the_end),
    ("two writers of one chunk take turns", Some(3), two_writers),
    ("a call that blocks comes after the requests before it, and sees what they did", Some(3), after_requests),
    ("a request that waits for room among the bytes in flight is let in", Some(3), budget),
    ("the room of a request that could not begin is given on", Some(3), room_given_back),
    ("a shutdown leaves no request and no thread behind", Some(2), shut_down),
    ("a request that comes while the threads are shut down, and that nobody waits for, is gone on with", Some(2), shut_down_meanwhile),
];

type Item = Box<dyn Fn(&Arc<Request>, u64) -> Outcome + Send + Sync>;

/// Work whose items do what the model says.
struct Steps {
    pool: Arc<Pool>,
    items: u64,
    finish_others: bool,
    tuning: Tuning,
    item: Item,
}

impl Work for Steps {
    fn about(&self) -> About {
        About { items: self.items, bytes: u64::MAX, finish_others: self.finish_others, tuning: self.tuning }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn run(&self, request: &Arc<Request>, item: u64) -> Outcome {
        (self.item)(request, item)
    }
}

fn steps(pool: &Arc<Pool>, items: u64, item: impl Fn(&Arc<Request>, u64) -> Outcome + Send + Sync + 'static) -> Steps {
    Steps { pool: pool.clone(), items, finish_others: true, tuning: Tuning::default(), item: Box::new(item) }
}

fn work(pool: &Arc<Pool>, items: u64, item: impl Fn(&Arc<Request>, u64) -> Outcome + Send + Sync + 'static) -> Arc<Steps> {
    Arc::new(steps(pool, items, item))
}

/// The one chunk of all models.
fn footprint() -> Footprint {
    Footprint { place: Default::default(), low: Dims::from_elem(0, 1), high: Dims::from_elem(0, 1), writes: true }
}

/// Submits work of one item on one chunk.
fn one_chunk(
    pool: &Arc<Pool>,
    options: RequestOptions,
    item: impl Fn(&Arc<Request>) -> Outcome + Send + Sync + 'static,
) -> (Pending, Arc<RevocableBuffer>) {
    let revocable = Arc::new(RevocableBuffer::default());
    let work = work(pool, 1, move |request, _| item(request));
    let parts = || Ok(Parts { work, footprints: vec![footprint()], revocable: Some(revocable.clone()), copied: Vec::new() });
    (submit(1, options, parts).unwrap(), revocable)
}

fn helped() {
    let (pool, done) = (Pool::new(2), Arc::new(<[Guarded; 2]>::default()));
    let items = done.clone();
    let result = run(work(&pool, 2, move |_, item| {
        items[item as usize].add();
        Outcome::Done(Ok(()))
    }));
    assert!(result.is_ok() && done.iter().all(|item| item.get() == 1));
}

fn telling() {
    let (pool, done) = (Pool::new(2), Arc::new(<[Guarded; 2]>::default()));
    let (items, mut last) = (done.clone(), 0);
    let work = work(&pool, 2, move |_, item| {
        items[item as usize].add();
        Outcome::Done(Ok(()))
    });
    let result = run_and_tell(work, 2, &mut |told| {
        assert!(told > last && (told < 2 || done.iter().all(|item| item.get() == 1)));
        last = told;
        Ok(())
    });
    assert!(result.is_ok() && last == 2);
}

fn failing() {
    let pool = Pool::new(2);
    let item = |_: &Arc<Request>, item| Outcome::Done(if item == 0 { Err(err!(Io, "planted")) } else { Ok(()) });
    let steps = Steps { finish_others: false, ..steps(&pool, 3, item) };
    assert_eq!(run(Arc::new(steps)).unwrap_err().kind(), ErrorKind::Io);
}

fn parked() {
    let (pool, done, stores): (_, _, Arc<Mutex<Vec<JoinHandle<()>>>>) = (Pool::new(1), Arc::new(Guarded::default()), Arc::default());
    let (all, seen) = (stores.clone(), done.clone());
    let result = run(work(&pool, 1, move |request, _| {
        let (request, seen) = (request.clone(), seen.clone());
        let store = spawn(move || {
            request.resume(Box::new(move |request| {
                seen.add();
                request.finish(Ok(()));
            }));
        });
        all.lock().unwrap().push(store);
        Outcome::Parked
    }));
    assert!(result.is_ok() && done.get() == 1);
    let stores = std::mem::take(&mut *stores.lock().unwrap());
    stores.into_iter().for_each(|store| store.join().unwrap());
}

fn held() {
    let (pool, started) = (Pool::new(1), Arc::new(AtomicUsize::new(0)));
    let tuning = Tuning { bytes: 1, ..Tuning::default() };
    let steps = Steps { tuning, ..steps(&pool, 2, |_, _| Outcome::Parked) };
    let request = Request::new(Arc::new(steps), false, None);
    let read = |request: Arc<Request>, started: Arc<AtomicUsize>| {
        move || {
            request.start_flight(
                1,
                Box::new(move |request| {
                    started.fetch_add(1, Relaxed);
                    request.flight_landed();
                    request.bytes_used(1);
                }),
            );
        }
    };
    let other = spawn(read(request.clone(), started.clone()));
    read(request.clone(), started.clone())();
    other.join().unwrap();
    assert_eq!(started.load(Relaxed), 2);
}

/// A request whose item is parked; the thread of its store copies into the memory and ends it.
fn in_a_store(pool: &Arc<Pool>, memory: &Arc<Guarded>) -> (Pending, JoinHandle<()>) {
    let request: Arc<Mutex<Option<Arc<Request>>>> = Arc::default();
    let kept = request.clone();
    let (pending, revocable) = one_chunk(pool, RequestOptions::default(), move |request| {
        *kept.lock().unwrap() = Some(request.clone());
        Outcome::Parked
    });
    assert!(!pending.test().unwrap());
    let (request, memory) = (request.lock().unwrap().take().unwrap(), memory.clone());
    let store = spawn(move || {
        if let Ok(_inside) = buffer_guard::enter(&Some(revocable)) {
            memory.get();
        }
        request.finish(Ok(()));
    });
    (pending, store)
}

fn cancelled() {
    let (pool, memory) = (Pool::new(1), Arc::new(Guarded::default()));
    let (pending, store) = in_a_store(&pool, &memory);
    pending.cancel().unwrap();
    memory.add();
    let ended = pending.outcome().unwrap().err().map(|e| e.kind());
    assert!(matches!(ended, None | Some(ErrorKind::Cancelled)));
    store.join().unwrap();
    assert_eq!(pending.outcome().unwrap().err().map(|e| e.kind()), ended);
}

fn dropped() {
    let (pool, memory) = (Pool::new(2), Arc::new(Guarded::default()));
    let (seen, place): (_, Arc<Mutex<Option<Arc<RevocableBuffer>>>>) = (memory.clone(), Arc::default());
    let known = place.clone();
    let (pending, revocable) = one_chunk(&pool, RequestOptions::default(), move |_| {
        let revocable = known.lock().unwrap().clone();
        if let Ok(Some(_inside)) = buffer_guard::enter(&revocable) {
            seen.get();
        }
        Outcome::Done(Ok(()))
    });
    *place.lock().unwrap() = Some(revocable);
    drop(pending);
    memory.add();
}

fn awaited() {
    let (pool, memory) = (Pool::new(1), Arc::new(Guarded::default()));
    let (pending, store) = in_a_store(&pool, &memory);
    assert!(pending.wait(None).unwrap() && pending.outcome().unwrap().is_ok());
    memory.add();
    store.join().unwrap();
}

/// One of two that wait for a request ends it, or its cancelling does; one of them holds a document's lock, which the function wants, too.
fn told_of_the_end() {
    let (pool, locks, document) = (Pool::new(1), KeyLocks::new(), Arc::new(Guarded::default()));
    let (wanted, changed) = (locks.clone(), document.clone());
    let call = Box::new(move |_: &Result<()>| {
        let _lock = wanted.lock("a");
        changed.add();
    });
    let options = RequestOptions { on_done: Some(OnDone { any_thread: true, call }), ..RequestOptions::default() };
    let (pending, _) = one_chunk(&pool, options, |_| Outcome::Done(Ok(())));
    let (other, changed) = (locks.clone(), document.clone());
    let waits = spawn(move || {
        let _lock = other.lock("a");
        request_queue::settle(String::default);
        changed.add();
    });
    assert!(pending.wait(None).unwrap());
    let _lock = locks.lock("a");
    assert!(document.get() > 0);
    drop(_lock);
    waits.join().unwrap();
    assert_eq!(document.get(), 2);
}

/// Submits a write of one chunk and waits for it.
fn write(pool: Arc<Pool>, chunk: Arc<Guarded>, options: RequestOptions) -> impl FnOnce() {
    move || {
        let (pending, _) = one_chunk(&pool, options, move |_| {
            chunk.add();
            Outcome::Done(Ok(()))
        });
        assert!(pending.wait(None).unwrap() && pending.outcome().unwrap().is_ok());
    }
}

fn two_writers() {
    let (pool, chunk) = (Pool::new(1), Arc::new(Guarded::default()));
    let other = spawn(write(pool.clone(), chunk.clone(), RequestOptions::default()));
    write(pool, chunk.clone(), RequestOptions::default())();
    other.join().unwrap();
    assert_eq!(chunk.get(), 2);
}

fn after_requests() {
    let (pool, chunk) = (Pool::new(2), Arc::new(Guarded::default()));
    let theirs = chunk.clone();
    let (pending, _) = one_chunk(&pool, RequestOptions::default(), move |_| {
        theirs.add();
        Outcome::Done(Ok(()))
    });
    request_queue::wait_for_conflicts(|| Some(footprint()));
    assert_eq!(chunk.get(), 1);
    drop(pending);
}

fn budget() {
    let (pool, chunk, first) = (Pool::new(1), Arc::new(Guarded::default()), RequestOptions::default());
    first.budget.set_limit(1);
    let second = RequestOptions { budget: first.budget.clone(), ..RequestOptions::default() };
    let other = spawn(write(pool.clone(), chunk.clone(), first));
    write(pool, chunk.clone(), second)();
    other.join().unwrap();
    assert_eq!(chunk.get(), 2);
}

fn room_given_back() {
    let (pool, chunk, first) = (Pool::new(1), Arc::new(Guarded::default()), RequestOptions::default());
    first.budget.set_limit(1);
    let second = RequestOptions { budget: first.budget.clone(), ..RequestOptions::default() };
    let other = spawn(write(pool, chunk.clone(), first));
    assert!(submit(1, second, || Err(err!(Io, "planted"))).is_err());
    other.join().unwrap();
    assert_eq!(chunk.get(), 1);
}

fn shut_down() {
    let (pool, chunk) = (Pool::new(2), Arc::new(Guarded::default()));
    let other = spawn(write(pool.clone(), chunk.clone(), RequestOptions::default()));
    request_queue::shutdown().unwrap();
    other.join().unwrap();
    assert_eq!(chunk.get(), 1);
}

fn shut_down_meanwhile() {
    let (pool, told) = (Pool::new(2), Arc::new((crate::sync::Mutex::new(false), Condvar::new())));
    let tells = told.clone();
    // The pool has a thread by now.
    run(work(&pool, 2, |_, _| Outcome::Done(Ok(())))).unwrap();
    let other = spawn(move || {
        one_chunk(&pool, RequestOptions::default(), move |_| {
            *tells.0.lock().unwrap() = true;
            tells.1.notify_all();
            Outcome::Done(Ok(()))
        })
    });
    request_queue::shutdown().unwrap();
    let pending = other.join().unwrap();
    let mut done = told.0.lock().unwrap();
    while !*done {
        done = told.1.wait(done).unwrap();
    }
    drop(done);
    drop(pending);
}
