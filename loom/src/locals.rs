//! Variables of loom's threads, which all run on one of the system's: `thread_local!` as far as the library's files use it.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Mutex;

/// A variable of a thread, in the place of the standard library's.
pub struct Local<T: 'static> {
    values: Mutex<Option<HashMap<(u64, loom::thread::ThreadId), T>>>,
    make: fn() -> T,
}

impl<T: Copy> Local<Cell<T>> {
    pub const fn new(make: fn() -> Cell<T>) -> Local<Cell<T>> {
        Local { values: Mutex::new(None), make }
    }

    pub fn get(&self) -> T {
        self.replace_with(|_| None)
    }

    pub fn set(&self, value: T) {
        self.replace(value);
    }

    pub fn replace(&self, value: T) -> T {
        self.replace_with(|_| Some(value))
    }

    fn replace_with(&self, f: impl FnOnce(T) -> Option<T>) -> T {
        let (run, thread) = (crate::models::run_number(), loom::thread::current().id());
        let mut values = self.values.lock().unwrap();
        let values = values.get_or_insert_default();
        values.retain(|(of, _), _| *of == run);
        let cell = values.entry((run, thread)).or_insert_with(self.make);
        let before = cell.get();
        if let Some(now) = f(before) {
            cell.set(now);
        }
        before
    }
}

// SAFETY: loom runs one thread at a time, and the values are behind a lock.
unsafe impl<T> Sync for Local<T> {}

macro_rules! thread_local {
    ($(#[$about:meta])* static $name:ident: Cell<$type:ty> = const { $value:expr };) => {
        $(#[$about])*
        static $name: $crate::locals::Local<Cell<$type>> = $crate::locals::Local::<Cell<$type>>::new(|| $value);
    };
}
