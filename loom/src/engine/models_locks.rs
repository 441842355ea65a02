//! Models of locks, of a caller's memory that is revoked, and of work in pieces.

use super::buffer_guard::RevocableBuffer;
use super::fork_join::ForkJoin;
use super::lock::{ChunkLocks, KeyLocks, LazyCondvar, Waiter, lock};
use crate::fork::Once;
use crate::models::Model;
use crate::sync::Mutex;
use loom::cell::UnsafeCell;
use loom::thread::spawn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub const ALL: &[Model] = &[
    ("a value that is made once is one for all threads, and whole", None, made_once),
    ("a lazy condition variable wakes whoever waits", None, lazy_condvar),
    ("the lock of a document lets one thread in, and none sleeps for ever", Some(3), key_lock),
    ("the lock of a document is free after a thread that panicked", None, || lock_of_the_dead(KeyLocks::new(), |locks| locks.lock("a"))),
    ("the lock of a chunk goes from writer to writer", Some(3), chunk_lock),
    ("the lock of a chunk is free for whoever is told of it", Some(3), chunk_lock_told),
    ("the lock of a chunk is free after a thread that panicked", Some(4), || lock_of_the_dead(ChunkLocks::new(), |locks| locks.wait((0, "k")))),
    ("memory that is revoked has no copy inside", None, revoked),
    ("work in pieces is done when the wait ends", Some(3), fork_join),
];

/// What one thread at a time may touch: loom fails where two do, or where one does not see what the other did.
#[derive(Default)]
pub(super) struct Guarded(UnsafeCell<usize>);

// SAFETY: that is what loom is asked about.
unsafe impl Sync for Guarded {}

impl Guarded {
    pub(super) fn add(&self) {
        // SAFETY: as above.
        self.0.with_mut(|number| unsafe { *number += 1 });
    }

    pub(super) fn get(&self) -> usize {
        // SAFETY: as above.
        self.0.with(|number| unsafe { *number })
    }
}

fn made_once() {
    static VALUE: Once<Guarded> = Once::new();
    assert!(VALUE.known().is_none());
    let make = || {
        let made = Guarded::default();
        made.add();
        made
    };
    let ask = move || {
        let value = VALUE.get(make);
        assert_eq!(value.get(), 1);
        std::ptr::from_ref(value) as usize
    };
    let (one, two) = (spawn(ask), spawn(ask));
    if let Some(known) = VALUE.known() {
        assert_eq!(known.get(), 1);
    }
    let (one, two) = (one.join().unwrap(), two.join().unwrap());
    assert!(one == two && one == ask());
}

fn lazy_condvar() {
    let shared = Arc::new((Mutex::new(false), LazyCondvar::default()));
    let waiting = {
        let shared = shared.clone();
        spawn(move || {
            let mut done = lock(&shared.0);
            while !*done {
                done = shared.1.wait(done);
            }
        })
    };
    *lock(&shared.0) = true;
    shared.1.notify_all();
    waiting.join().unwrap();
}

fn key_lock() {
    let (locks, inside) = (KeyLocks::new(), Arc::new(Guarded::default()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (locks, inside) = (locks.clone(), inside.clone());
            spawn(move || {
                let _guard = locks.lock("a");
                inside.add();
            })
        })
        .collect();
    {
        let _guard = locks.lock("a");
        inside.add();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(inside.get(), 3);
}

/// Runs `f` in a thread that ends by a panic, which is caught at its end as `threads::start` does.
fn dying(f: impl FnOnce() + 'static) -> loom::thread::JoinHandle<()> {
    spawn(move || {
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let ends_with = f;
            ends_with();
        }));
        assert!(ended.is_err());
    })
}

/// A thread dies with the lock that `take` takes; another one gets it.
fn lock_of_the_dead<L: Clone + 'static, G: 'static>(locks: L, take: fn(&L) -> G) {
    let (theirs, inside) = (locks.clone(), Arc::new(Guarded::default()));
    let seen = inside.clone();
    let dead = dying(move || {
        let _guard = take(&theirs);
        seen.add();
        resume_unwind(Box::new("planted"));
    });
    {
        let _guard = take(&locks);
        inside.add();
    }
    dead.join().unwrap();
    assert_eq!(inside.get(), 2);
}

/// What a writer of [`beside_one_that_waits`] has: the locks, what they guard, and how many have written.
type Shared = (Arc<ChunkLocks>, Arc<Guarded>, Arc<AtomicUsize>);

/// Two threads that write, and one that waits for the lock.
fn beside_one_that_waits(write: fn(Shared)) {
    let (locks, inside, ran) = (ChunkLocks::new(), Arc::new(Guarded::default()), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let shared = (locks.clone(), inside.clone(), ran.clone());
            spawn(move || write(shared))
        })
        .collect();
    {
        let _guard = locks.wait((0, "k"));
        inside.add();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let _guard = locks.wait((0, "k"));
    assert_eq!((inside.get(), ran.load(Relaxed)), (3, 2));
}

/// Two writers that are queued on the lock, and one that waits for it.
fn chunk_lock() {
    beside_one_that_waits(|(locks, inside, ran)| {
        let (theirs, later) = (inside.clone(), ran.clone());
        let guard = locks.acquire((0, "k"), move || {
            Waiter::Handed(Box::new(move |_guard| {
                theirs.add();
                later.fetch_add(1, Relaxed);
            }))
        });
        if let Some(_guard) = guard {
            inside.add();
            ran.fetch_add(1, Relaxed);
        }
    });
}

/// Two writers that ask again when they are told that the lock is free, and one that waits for it.
fn chunk_lock_told() {
    fn write((locks, inside, ran): Shared) {
        let again = (locks.clone(), inside.clone(), ran.clone());
        let ask = locks.acquire((0, "k"), move || Waiter::Told(Box::new(move || write(again))));
        if let Some(_guard) = ask {
            inside.add();
            ran.fetch_add(1, Relaxed);
        }
    }
    beside_one_that_waits(write);
}

fn revoked() {
    let (buffer, memory) = (Arc::new(RevocableBuffer::default()), Arc::new(Guarded::default()));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (buffer, memory) = (buffer.clone(), memory.clone());
            spawn(move || {
                if let Ok(_inside) = buffer.enter() {
                    memory.get();
                }
            })
        })
        .collect();
    buffer.close();
    memory.add();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(buffer.enter().is_err());
}

fn fork_join() {
    let pieces: [Guarded; 3] = Default::default();
    let work = |piece: usize| {
        pieces[piece].add();
        if piece == 1 {
            resume_unwind(Box::new("planted"));
        }
    };
    // SAFETY: `wait` returns below, before `work` goes.
    let joined = Arc::new(unsafe { ForkJoin::new(3, &work) });
    let others: Vec<_> = (0..2)
        .map(|_| {
            let joined = joined.clone();
            spawn(move || joined.help())
        })
        .collect();
    joined.help();
    let panic = joined.wait();
    assert!(panic.is_some());
    assert!(pieces.iter().all(|piece| piece.get() == 1));
    others.into_iter().for_each(|thread| thread.join().unwrap());
}
