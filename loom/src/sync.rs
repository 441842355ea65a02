//! Loom's primitives under the names of `core/src/sync.rs`.

pub use loom::sync::{Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Numbers and pointers that threads change at once. Loom's belong to one run of a model, and to the thread that made them; these may be in a
/// `static`, or in memory that is all zero, and have their first value for all threads.
pub mod atomic {
    use loom::sync::atomic::AtomicU64 as Cell;
    use std::cell::UnsafeCell;
    use std::sync::atomic::Ordering;

    /// How many a run may use.
    const MOST: usize = 128;

    /// Those of this run, which its first thread made before it did anything else, and how many are in use.
    static MADE: Made = Made(UnsafeCell::new((Vec::new(), 0)));

    struct Made(UnsafeCell<(Vec<Cell>, usize)>);

    // SAFETY: loom runs all threads on one of the system's.
    unsafe impl Sync for Made {}

    /// Makes those of a run.
    pub fn begin_run() {
        // SAFETY: nothing of the run before is used any more.
        unsafe { *MADE.0.get() = ((0..MOST).map(|_| Cell::new(0)).collect(), 0) };
    }

    /// Which of them one is, and in which run.
    struct Place(UnsafeCell<(u64, usize)>);

    impl Place {
        const fn none() -> Place {
            Place(UnsafeCell::new((0, 0)))
        }

        /// Loom's, given out when it is first used in a run.
        fn cell(&self) -> &Cell {
            let now = crate::models::run_number();
            // SAFETY: one thread at a time, and no other is let in before the end of this block. The list stays as it is until the run ends.
            unsafe {
                let ((made, used), (run, number)) = (&mut *MADE.0.get(), &mut *self.0.get());
                if *run != now {
                    assert!(*used < MOST, "the run uses more atomics than it has");
                    (*run, *number) = (now, *used);
                    *used += 1;
                }
                &made[*number]
            }
        }
    }

    macro_rules! atomic {
        ($name:ident $(<$t:ident>)?, $value:ty, $to:expr, $from:expr) => {
            /// Loom's holds the difference to the first value, and so begins as 0.
            pub struct $name $(<$t>)? {
                first: $value,
                place: Place,
            }

            // SAFETY: loom runs one thread at a time, and what is shared is loom's.
            unsafe impl $(<$t>)? Sync for $name $(<$t>)? {}
            // SAFETY: as above.
            unsafe impl $(<$t>)? Send for $name $(<$t>)? {}

            impl $(<$t>)? $name $(<$t>)? {
                pub const fn new(first: $value) -> Self {
                    $name { first, place: Place::none() }
                }

                fn shown(&self, kept: u64) -> $value {
                    $from(kept.wrapping_add($to(self.first)))
                }

                fn kept(&self, value: $value) -> u64 {
                    $to(value).wrapping_sub($to(self.first))
                }

                #[track_caller]
                pub fn load(&self, order: Ordering) -> $value {
                    self.shown(self.place.cell().load(order))
                }

                #[track_caller]
                pub fn store(&self, value: $value, order: Ordering) {
                    self.place.cell().store(self.kept(value), order);
                }

                #[track_caller]
                pub fn swap(&self, value: $value, order: Ordering) -> $value {
                    self.shown(self.place.cell().swap(self.kept(value), order))
                }

                #[track_caller]
                pub fn compare_exchange(&self, now: $value, then: $value, set: Ordering, fetch: Ordering) -> Result<$value, $value> {
                    let done = self.place.cell().compare_exchange(self.kept(now), self.kept(then), set, fetch);
                    done.map(|kept| self.shown(kept)).map_err(|kept| self.shown(kept))
                }

                #[track_caller]
                pub fn compare_exchange_weak(&self, now: $value, then: $value, set: Ordering, fetch: Ordering) -> Result<$value, $value> {
                    self.compare_exchange(now, then, set, fetch)
                }

                #[track_caller]
                pub fn fetch_update(&self, set: Ordering, fetch: Ordering, mut f: impl FnMut($value) -> Option<$value>) -> Result<$value, $value> {
                    let mut now = self.load(fetch);
                    while let Some(then) = f(now) {
                        match self.compare_exchange(now, then, set, fetch) {
                            Ok(before) => return Ok(before),
                            Err(other) => now = other,
                        }
                    }
                    Err(now)
                }

                /// The value, which nobody else has: it begins anew with it.
                pub fn get_mut(&mut self) -> &mut $value {
                    self.first = self.load(Ordering::SeqCst);
                    self.place = Place::none();
                    &mut self.first
                }
            }
        };
    }

    macro_rules! integer {
        ($name:ident, $value:ty) => {
            atomic!($name, $value, |v: $value| v as u64, |v: u64| v as $value);

            impl $name {
                #[track_caller]
                pub fn fetch_add(&self, value: $value, order: Ordering) -> $value {
                    self.shown(self.place.cell().fetch_add(value as u64, order))
                }

                #[track_caller]
                pub fn fetch_sub(&self, value: $value, order: Ordering) -> $value {
                    self.shown(self.place.cell().fetch_sub(value as u64, order))
                }
            }

            impl Default for $name {
                fn default() -> $name {
                    $name::new(0)
                }
            }
        };
    }

    integer!(AtomicU8, u8);
    integer!(AtomicU32, u32);
    integer!(AtomicU64, u64);
    integer!(AtomicUsize, usize);
    atomic!(AtomicBool, bool, |v: bool| v as u64, |v: u64| v != 0);
    atomic!(AtomicPtr<T>, *mut T, |v: *mut T| v.expose_provenance() as u64, |v: u64| std::ptr::with_exposed_provenance_mut(v as usize));
}
