//! `fork` while other threads work: how often it happened, and locks that the child can take whatever the parent did.
//!
//! The child has one thread and a copy of all memory, locks that were taken by other threads included. Nobody there gives
//! these back. So what a lock protects is either made anew in the child ([`ForkReset`]), or changed only while no fork
//! can happen ([`ForkPreserved`]); and what is made once is made without a lock ([`Lazy`]).

use crate::platform::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use crate::sync::atomic::AtomicPtr;
use crate::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::{Cell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often this process is a fork of the one that loaded the library.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// Held while something changes that the child shall find whole.
static GATE: Mutex<()> = Mutex::new(());
/// The gate and the list of own files as `fork` itself holds them, from before until after.
static HELD: HeldLocks = HeldLocks(UnsafeCell::new(None));

struct HeldLocks(UnsafeCell<Option<(MutexGuard<'static, ()>, MutexGuard<'static, OwnFiles>)>>);

// SAFETY: the cell is used by the handlers below only, between taking the gate and giving it back: by one thread at a time.
unsafe impl Sync for HeldLocks {}

thread_local! {
    /// How many times the handlers of this fork began: threads that used the library first at the same moment registered them
    /// more than once.
    static BEGUN: Cell<u32> = const { Cell::new(0) };
}

extern "C" fn before_fork() {
    if BEGUN.replace(BEGUN.get() + 1) == 0 {
        let gate = GATE.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own_files();
        // SAFETY: this thread has the gate.
        unsafe { *HELD.0.get() = Some((gate, own)) };
    }
}

extern "C" fn after_fork() {
    BEGUN.set(BEGUN.get() - 1);
    if BEGUN.get() == 0 {
        // SAFETY: this thread, or in the child its image, has the gate.
        drop(unsafe { (*HELD.0.get()).take() });
    }
}

extern "C" fn after_fork_in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: this thread is the image of the one that has the gate.
    let held = unsafe { &mut *HELD.0.get() };
    while let Some(mut file) = held.as_mut().and_then(|(_, own)| own.pop()) {
        // SAFETY: the descriptor is taken from the list, and whose it was does not use it in a child.
        unsafe { ManuallyDrop::drop(&mut file) };
    }
    after_fork();
}

/// A number that differs between this process and those that it is a fork of.
#[inline]
pub fn forks() -> u32 {
    if !REGISTERED.load(Ordering::Acquire) {
        register();
    }
    FORKS.load(Ordering::Relaxed)
}

static REGISTERED: AtomicBool = AtomicBool::new(false);

/// Threads that come here at once each register, because none may wait for another, nor go on before it is done. They take a lock that is held for
/// short moments, and count.
#[cold]
#[inline(never)]
fn register() {
    crate::platform::at_fork(before_fork, after_fork, after_fork_in_child);
    REGISTERED.store(true, Ordering::Release);
}

/// No fork happens while this is held. For a few moments only; a thread that has it must not ask for it again.
pub fn hold() -> MutexGuard<'static, ()> {
    // Registering takes a lock of the system's that `fork` may hold while it waits for the gate.
    forks();
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The descriptors that a child closes at once.
static OWN_FILES: Mutex<OwnFiles> = Mutex::new(Vec::new());

type OwnFiles = Vec<ManuallyDrop<OwnedFd>>;

/// The list, which has a lock of its own, taken for short moments: files are closed by threads that hold the gate, too.
fn own_files() -> MutexGuard<'static, OwnFiles> {
    OWN_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An open file that a child of `fork` does not have: what is locked by its descriptor would stay locked as long as the child lives, though this
/// process has ended.
pub struct OwnFile {
    fd: ManuallyDrop<OwnedFd>,
    /// How often this process had been forked by then; `None` where no memory was left to know of the file: then a child has it, too.
    forks: Option<u32>,
    is_another: bool,
}

impl OwnFile {
    /// That file.
    pub fn new(fd: OwnedFd) -> OwnFile {
        // Registered before the list is locked, which `fork` waits for.
        let forks = forks();
        let mut own = own_files();
        let known = own.try_reserve(1).is_ok();
        if known {
            // SAFETY: only a child closes this one, where the other one is not used.
            own.push(ManuallyDrop::new(unsafe { OwnedFd::from_raw_fd(fd.as_raw_fd()) }));
        }
        OwnFile { fd: ManuallyDrop::new(fd), forks: known.then_some(forks), is_another: false }
    }
}

impl OwnFile {
    /// Leaves the descriptor open, here and in children: it is another file's by now, as the program has closed this one.
    pub fn forget(mut self) {
        own_files().retain(|file| file.as_raw_fd() != self.fd.as_raw_fd());
        self.is_another = true;
    }
}

impl AsFd for OwnFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if self.is_another {
            return;
        }
        if let Some(then) = self.forks {
            if then != forks() {
                // It is closed here.
                return;
            }
            own_files().retain(|file| file.as_raw_fd() != self.fd.as_raw_fd());
        }
        // SAFETY: the descriptor is used no more.
        unsafe { ManuallyDrop::drop(&mut self.fd) };
    }
}

/// State with locks or threads in it, made when it is first asked for, and anew in the child after a fork (the parent's may have been locked at
/// that moment; it is left alone there and never freed).
pub struct ForkReset<T> {
    /// The state, and the number of the process that made it.
    current: AtomicPtr<(u32, T)>,
    make: fn() -> T,
}

impl<T> ForkReset<T> {
    /// What `make` makes, here and again in each child.
    pub fn new(make: fn() -> T) -> ForkReset<T> {
        ForkReset { current: AtomicPtr::new(null_mut()), make }
    }

    /// This process's.
    #[inline]
    pub fn get(&self) -> &T {
        let (now, current) = (forks(), self.current.load(Ordering::Acquire));
        // SAFETY: null, or from `Box::into_raw` and freed only when `self` is dropped.
        match unsafe { current.as_ref() } {
            Some((made_in, state)) if *made_in == now => state,
            _ => self.make_again(now, current),
        }
    }

    #[cold]
    #[inline(never)]
    fn make_again(&self, now: u32, current: *mut (u32, T)) -> &T {
        let fresh = Box::into_raw(Box::new((now, (self.make)())));
        match self.current.compare_exchange(current, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above.
            Ok(_) => unsafe { &(*fresh).1 },
            Err(other) => {
                // SAFETY: `fresh` was not published; `other` was, by another thread of this process.
                unsafe {
                    drop(Box::from_raw(fresh));
                    &(*other).1
                }
            }
        }
    }
}

impl<T> Drop for ForkReset<T> {
    fn drop(&mut self) {
        let current = *self.current.get_mut();
        // SAFETY: nobody else holds the pointer any more. State from before a fork is left alone: its locks may be taken.
        unsafe {
            if !current.is_null() && (*current).0 == forks() {
                drop(Box::from_raw(current));
            }
        }
    }
}

/// A value behind a lock of many readers or one writer, which a child of `fork` finds whole and free.
///
/// What is done to it must be short, must not use another `ForkPreserved` or [`hold`], and must not wait: a fork waits for it.
pub struct ForkPreserved<T> {
    turns: ForkReset<RwLock<()>>,
    value: UnsafeCell<T>,
}

// SAFETY: the value is read under the lock's read side and changed under its write side.
unsafe impl<T: Send + Sync> Sync for ForkPreserved<T> {}

impl<T> ForkPreserved<T> {
    /// That value.
    pub fn new(value: T) -> ForkPreserved<T> {
        ForkPreserved { turns: ForkReset::new(RwLock::default), value: UnsafeCell::new(value) }
    }

    /// Reads the value.
    pub fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let _turn = read_turn(&self.turns);
        // SAFETY: nobody has the write side. In a child of `fork` the lock is new, and no writer was at work (see `write`).
        f(unsafe { &*self.value.get() })
    }

    /// Changes the value. What it held is best handed out and dropped by the caller.
    pub fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let _turn = write_turn(&self.turns);
        // SAFETY: nobody else has either side.
        f(unsafe { &mut *self.value.get() })
    }

    /// The value, which nobody else has.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Puts another value in the place of the one that was there, and gives that.
    pub fn replace(&self, value: T) -> T {
        self.write(|held| std::mem::replace(held, value))
    }
}

impl<T: Default> Default for ForkPreserved<T> {
    fn default() -> ForkPreserved<T> {
        ForkPreserved::new(T::default())
    }
}

/// The right to change what is preserved, which keeps forks away.
struct WriteTurn<'a> {
    _turn: RwLockWriteGuard<'a, ()>,
    _no_fork: MutexGuard<'static, ()>,
}

fn read_turn(turns: &ForkReset<RwLock<()>>) -> RwLockReadGuard<'_, ()> {
    turns.get().read().unwrap_or_else(PoisonError::into_inner)
}

fn write_turn(turns: &ForkReset<RwLock<()>>) -> WriteTurn<'_> {
    let turns = turns.get();
    let _no_fork = hold();
    WriteTurn { _turn: turns.write().unwrap_or_else(PoisonError::into_inner), _no_fork }
}

/// Room for a value that is made when it is first asked for. Threads that come at the same time may each make one; one of them is
/// used. No thread waits for another, as a child of `fork` would for ever.
pub struct Once<T>(AtomicPtr<T>);

impl<T> Once<T> {
    /// Without a value.
    pub const fn new() -> Once<T> {
        Once(AtomicPtr::new(null_mut()))
    }

    /// The value, if there is one.
    pub fn known(&self) -> Option<&T> {
        // SAFETY: null, or published below and freed only when `self` is dropped.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    /// The value, if there is one, to be changed.
    pub fn known_mut(&mut self) -> Option<&mut T> {
        // SAFETY: as above; nobody else has it.
        unsafe { self.0.get_mut().as_mut() }
    }

    /// Returns the value, made by `make` at the first call.
    pub fn get(&self, make: impl FnOnce() -> T) -> &T {
        if let Some(known) = self.known() {
            return known;
        }
        let fresh = Box::into_raw(Box::new(make()));
        match self.0.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as above.
            Ok(_) => unsafe { &*fresh },
            // SAFETY: `fresh` was not published; `other` was.
            Err(other) => unsafe {
                drop(Box::from_raw(fresh));
                &*other
            },
        }
    }
}

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once::new()
    }
}

impl<T> Drop for Once<T> {
    fn drop(&mut self) {
        let value = *self.0.get_mut();
        if !value.is_null() {
            // SAFETY: it comes from `Box::into_raw`, and nobody else holds it any more.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

// SAFETY: the value is shared with other threads, and made or dropped by any of them.
unsafe impl<T: Send + Sync> Sync for Once<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Once<T> {}

/// A value of the process that is made when it is first asked for, as [`Once`] makes it, and never freed.
pub struct Lazy<T: 'static> {
    value: Once<T>,
    make: fn() -> T,
}

impl<T: Send + Sync> Lazy<T> {
    /// What `make` makes.
    pub const fn new(make: fn() -> T) -> Lazy<T> {
        Lazy { value: Once::new(), make }
    }

    /// The value.
    pub fn get(&'static self) -> &'static T {
        self.value.get(self.make)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    /// Forks, runs `child` (which must not panic) and gives its exit status; 99 if it did not end in time.
    pub(crate) fn in_child(child: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child calls `child` and `_exit` only.
        match unsafe { libc::fork() } {
            // SAFETY: ends the child.
            0 => unsafe { libc::_exit(child()) },
            pid => {
                let until = Instant::now() + Duration::from_secs(20);
                let mut status = 0;
                loop {
                    // SAFETY: `status` is an int.
                    if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == pid {
                        return libc::WEXITSTATUS(status);
                    }
                    if Instant::now() > until {
                        // SAFETY: the child that was started above.
                        unsafe { (libc::kill(pid, libc::SIGKILL), libc::waitpid(pid, &mut status, 0)) };
                        return 99;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
    }

    #[test]
    fn a_child_finds_values_whole_and_locks_free() {
        let (pair, fresh) = (ForkPreserved::new((0u64, 0u64)), ForkReset::new(|| Mutex::new(AtomicU64::new(7))));
        let stop = AtomicBool::new(false);
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        pair.write(|p| {
                            p.0 += 1;
                            std::thread::sleep(Duration::from_micros(50));
                            p.1 += 1;
                        });
                        let locked = fresh.get().lock().unwrap();
                        pair.read(|p| locked.store(p.0, Ordering::Relaxed));
                        std::thread::sleep(Duration::from_micros(50));
                    }
                });
            }
            for round in 0..50 {
                let ended = in_child(|| {
                    if !pair.read(|p| p.0 == p.1) {
                        return 1;
                    }
                    let before = pair.replace((5, 6));
                    let again = fresh.get().lock().map_or(0, |l| l.load(Ordering::Relaxed));
                    if before.0 == before.1 && pair.read(|p| *p) == (5, 6) && again == 7 { 42 } else { 2 }
                });
                if ended != 42 {
                    stop.store(true, Ordering::Relaxed);
                    panic!("round {round}: {ended}");
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(pair.read(|p| p.0 == p.1 && p.0 > 0));
    }

    #[test]
    fn state_is_made_when_it_is_first_asked_for_and_once_in_each_process() {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let state = || ForkReset::new(|| MADE.fetch_add(1, Ordering::Relaxed));
        drop(state());
        assert_eq!(MADE.load(Ordering::Relaxed), 0);
        let state = state();
        let get = || (*state.get(), MADE.load(Ordering::Relaxed));
        assert_eq!(in_child(|| if get() == (0, 1) && get() == (0, 1) { 42 } else { 0 }), 42);
        assert_eq!([get(), get()], [(0, 1); 2]);
        assert_eq!(in_child(|| if get() == (1, 2) && get() == (1, 2) { 42 } else { 0 }), 42);
    }

    #[test]
    fn each_process_has_its_own_number() {
        let before = forks();
        assert_eq!(in_child(|| if forks() > before && in_child(|| i32::from(forks() > before + 1)) == 1 { 42 } else { 0 }), 42);
        assert_eq!(forks(), before);
    }

    #[test]
    fn a_lazy_value_is_one_for_all_threads() {
        static MADE: AtomicU64 = AtomicU64::new(0);
        static VALUE: Lazy<u64> = Lazy::new(|| MADE.fetch_add(1, Ordering::Relaxed));
        let seen: Vec<u64> = std::thread::scope(|s| {
            let threads: Vec<_> = (0..8).map(|_| s.spawn(|| *VALUE.get())).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(seen.iter().all(|v| v == VALUE.get()));
    }
}
