//! Models of the tables of handles.

use super::handle::{Handle, handle_type};
use crate::models::Model;
use loom::cell::UnsafeCell;
use loom::thread::spawn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

pub const ALL: &[Model] = &[
    ("a handle that is closed while it is used drops its object once, after the last use", Some(4), closed_while_used),
    ("a handle that is guessed while it is made names nothing, or a whole object", None, guessed),
    ("a handle that two threads close is closed once", Some(4), closed_twice),
    ("handles that threads open at once differ, also in a first block and in slots used again", Some(4), opened_at_once),
];

/// An object that notes its uses and its end: loom fails where one is not after the other.
struct Object {
    alive: UnsafeCell<bool>,
    dropped: Arc<AtomicUsize>,
    name: usize,
}

// SAFETY: that is what loom is asked about.
unsafe impl Sync for Object {}

impl Object {
    fn named(name: usize, dropped: &Arc<AtomicUsize>) -> Object {
        let made = Object { alive: UnsafeCell::new(false), dropped: dropped.clone(), name };
        // SAFETY: as above.
        made.alive.with_mut(|alive| unsafe { *alive = true });
        made
    }

    fn used(&self) -> usize {
        // SAFETY: as above.
        assert!(self.alive.with(|alive| unsafe { *alive }));
        self.name
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: as above.
        self.alive.with_mut(|alive| unsafe { *alive = false });
        self.dropped.fetch_add(1, Relaxed);
    }
}

/// The type of the handles in C. Their table has no blocks yet where a run begins.
enum Thing {}
handle_type!(Thing, Array, Object);

/// What a program has of an open handle, which it gives to other threads.
#[derive(Clone, Copy, PartialEq)]
struct Given(*mut Thing);

// SAFETY: no more than bits.
unsafe impl Send for Given {}

impl Given {
    fn open(name: usize, dropped: &Arc<AtomicUsize>) -> Given {
        Given(Thing::insert(Object::named(name, dropped)).unwrap())
    }

    /// Uses the object; `None` if the handle is closed.
    fn used(self) -> Option<usize> {
        Thing::get(self.0, "x").ok().map(|object| object.used())
    }

    /// Closes the handle; false if it is closed already.
    fn close(self) -> bool {
        Thing::close(self.0, "x").is_ok_and(|object| object.used() > 0)
    }
}

fn closed_while_used() {
    let dropped: Arc<AtomicUsize> = Arc::default();
    let handle = Given::open(1, &dropped);
    let uses = move || assert!(matches!(handle.used(), None | Some(1)));
    let (one, two) = (spawn(uses), spawn(uses));
    assert!(handle.close());
    assert!(handle.used().is_none());
    one.join().unwrap();
    two.join().unwrap();
    assert_eq!(dropped.load(Relaxed), 1);
}

/// The second handle of a table, from its bits: nothing but its slot tells the other thread of the object.
fn guessed() {
    let dropped = Arc::default();
    let first = Given::open(1, &dropped);
    let guess = Given((first.0 as usize + 1) as *mut Thing);
    let other = spawn(move || matches!(guess.used(), None | Some(2)));
    assert!(Given::open(2, &dropped) == guess && other.join().unwrap());
}

fn closed_twice() {
    let dropped: Arc<AtomicUsize> = Arc::default();
    let handle = Given::open(1, &dropped);
    let other = spawn(move || handle.close());
    let here = handle.close();
    assert!(here != other.join().unwrap());
    assert_eq!(dropped.load(Relaxed), 1);
    let again = Given::open(2, &dropped);
    assert!(again != handle && handle.used().is_none() && again.used() == Some(2));
}

fn opened_at_once() {
    let dropped: Arc<AtomicUsize> = Arc::default();
    let opens = |name: usize, dropped: Arc<AtomicUsize>| {
        move || {
            let first = Given::open(name, &dropped);
            assert!(first.close());
            let handle = Given::open(name, &dropped);
            assert!(first.used().is_none());
            assert_eq!(handle.used(), Some(name));
            handle
        }
    };
    let other = spawn(opens(1, dropped.clone()));
    let here = opens(2, dropped.clone())();
    let there = other.join().unwrap();
    assert!(here != there);
    assert_eq!((there.used(), here.used()), (Some(1), Some(2)));
    assert_eq!(dropped.load(Relaxed), 2);
}
