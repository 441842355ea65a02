//! Variables of a thread that own memory. [`std::thread_local`] asks the system for memory to note that such a variable is to be dropped when
//! the thread ends, and ends the process where it has none; these are noted in an array of fixed size.

use crate::platform::at_end_of_thread;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::thread::LocalKey;

/// What a thread keeps from call to call, in a `thread_local!`. It is taken when the thread ends.
pub struct PerThread<T> {
    value: RefCell<ManuallyDrop<T>>,
    is_noted: Cell<bool>,
}

/// How many variables a thread may note.
const MOST: usize = 16;

/// A variable of the thread, and the function that takes what it has.
type Note = (*const (), unsafe fn(*const ()));

thread_local! {
    static NOTES: [Cell<Option<Note>>; MOST] = const { [const { Cell::new(None) }; MOST] };
}

impl<T: Default> PerThread<T> {
    /// A variable with that value, which must own nothing yet.
    pub const fn new(value: T) -> PerThread<T> {
        PerThread { value: RefCell::new(ManuallyDrop::new(value)), is_noted: Cell::new(false) }
    }

    /// Notes that the value is to be taken when the thread ends. Where that fails, for want of memory, the next call tries again.
    fn note(&self) {
        let this = std::ptr::from_ref(self).cast::<()>();
        let free = |notes: &[Cell<Option<Note>>; MOST]| {
            let free = notes.iter().find(|note| note.get().is_none());
            free.map(|note| note.set(Some((this, take::<T>)))).is_some()
        };
        self.is_noted.set(NOTES.with(|notes| at_end_of_thread(end, notes) && free(notes)));
    }
}

/// Runs `f` with the thread's value of `variable`, or with one of its own in a call of `f` itself.
pub fn with<T: Default + 'static, R>(variable: &'static LocalKey<PerThread<T>>, f: impl FnOnce(&mut T) -> R) -> R {
    variable.with(|this| {
        if !this.is_noted.get() {
            this.note();
        }
        match this.value.try_borrow_mut() {
            Ok(mut value) => f(&mut value),
            Err(_) => f(&mut T::default()),
        }
    })
}

#[cfg(windows)]
impl<T> Drop for PerThread<T> {
    fn drop(&mut self) {
        // At the end of the process the other threads are gone already, and whatever locks they had are taken for ever.
        if !crate::platform::process_ends() {
            // SAFETY: only here, and the value is not used afterwards. Windows tells of a thread's end by this.
            unsafe { ManuallyDrop::drop(self.value.get_mut()) };
        }
    }
}

/// Drops what a variable has, and leaves it as new: a destructor of the program's may use the library once more.
///
/// # Safety
/// `this` points to a `PerThread<T>` of this thread.
unsafe fn take<T: Default>(this: *const ()) {
    // SAFETY: the caller's promise.
    let this = unsafe { &*this.cast::<PerThread<T>>() };
    this.is_noted.set(false);
    if let Ok(mut value) = this.value.try_borrow_mut() {
        drop(std::mem::take(&mut **value));
    }
}

/// Drops what this thread keeps, but what a call that is still running uses.
pub fn give_back() {
    // SAFETY: this thread's own, as at its end.
    unsafe { end(std::ptr::null_mut()) };
}

unsafe extern "C" fn end(_: *mut c_void) {
    NOTES.with(|notes| {
        for note in notes {
            if let Some((variable, take)) = note.take() {
                // SAFETY: noted by this thread, whose variables are there until its destructors have run.
                unsafe { take(variable) };
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Counted(Option<Arc<AtomicU32>>);

    impl Drop for Counted {
        fn drop(&mut self) {
            if let Some(count) = &self.0 {
                count.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    thread_local! {
        static ONE: PerThread<Counted> = const { PerThread::new(Counted(None)) };
        static TWO: PerThread<Vec<u8>> = const { PerThread::new(Vec::new()) };
    }

    #[test]
    fn what_a_thread_keeps_is_dropped_with_it() {
        let drops = Arc::new(AtomicU32::new(0));
        for threads in 1..=5 {
            let mine = drops.clone();
            let body = move || {
                with(&ONE, |one| one.0 = Some(mine));
                with(&TWO, |two| two.push(1));
                (with(&ONE, |one| one.0.is_some()), with(&TWO, |two| two.len()))
            };
            assert_eq!(std::thread::spawn(body).join().unwrap(), (true, 1));
            assert_eq!(drops.load(Ordering::SeqCst), threads);
        }
    }

    #[test]
    fn what_a_thread_keeps_is_given_back_but_what_is_in_use() {
        for _ in 0..3 {
            with(&TWO, |two| two.push(1));
            with(&ONE, |one| {
                one.0 = Some(Arc::default());
                give_back();
            });
            assert_eq!((with(&ONE, |one| one.0.take().is_some()), with(&TWO, |two| two.capacity())), (true, 0));
        }
    }

    #[test]
    fn a_call_within_a_call_has_a_value_of_its_own() {
        with(&TWO, |outer| {
            outer.push(1);
            assert_eq!(with(&TWO, |inner| inner.len()), 0);
        });
        assert_eq!(with(&TWO, |two| two.len()), 1);
    }
}
