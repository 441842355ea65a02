//! Threads of the library's own, started by the system's own call: the standard library's takes memory that it cannot do without.

use crate::platform::name_thread;
use std::ffi::{CStr, c_void};
use std::mem::{MaybeUninit, forget};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The stack of a thread, in bytes: as much as the standard library gives.
const STACK: usize = 2 << 20;

/// A thread that was started. Dropped, it goes on by itself.
pub struct Thread(libc::pthread_t);

/// What a new thread is given.
struct Beginning {
    name: &'static CStr,
    work: Box<dyn FnOnce() + Send>,
}

/// Starts a thread with a name of at most 15 bytes, or returns the system's error number. All signals are blocked in it, so that the host's
/// handlers never run there.
pub fn start(name: &'static CStr, work: Box<dyn FnOnce() + Send>) -> Result<Thread, i32> {
    let beginning = Box::into_raw(Box::new(Beginning { name, work }));
    // SAFETY: signal sets and attributes are initialised by the calls that take them first; `run` takes over the beginning, unless no
    // thread was started.
    unsafe {
        let (mut all, mut old) = (MaybeUninit::<libc::sigset_t>::zeroed(), MaybeUninit::<libc::sigset_t>::zeroed());
        let (mut attributes, mut thread) = (MaybeUninit::<libc::pthread_attr_t>::zeroed(), MaybeUninit::<libc::pthread_t>::zeroed());
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
        let failed = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, beginning.cast());
        libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if failed != 0 {
            drop(Box::from_raw(beginning));
            return Err(failed);
        }
        Ok(Thread(thread.assume_init()))
    }
}

/// A thread's first function.
extern "C" fn run(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: `start` gave it away to this thread, once.
    let Beginning { name, work } = *unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
    name_thread(name);
    // A panic may not leave this function.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        forget(panic);
    }
    std::ptr::null_mut()
}

impl Thread {
    /// Waits for its end.
    pub fn join(self) {
        // SAFETY: the thread was started joinable; this value is the only one that names it, and is not dropped.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
        forget(self);
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: the thread was started joinable; this value is the only one that names it.
        unsafe { libc::pthread_detach(self.0) };
    }
}

/// Keeps all signals away from the calling thread, which is one of the library's own.
pub fn block_signals() {
    // SAFETY: the set is filled before it is used; the call changes this thread only.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Returns whether the calling thread is one of the library's own, by its name.
pub fn is_own() -> bool {
    let mut name = [0u8; 16];
    // SAFETY: room for the longest name that a thread has.
    let failed = unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
    failed == 0 && name.starts_with(b"ozarr")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, mpsc};

    #[test]
    fn a_thread_has_its_name_takes_no_signal_and_keeps_its_panic() {
        let (sender, receiver) = mpsc::channel();
        let held = Arc::new(());
        let thread = start(c"ozarr-test", {
            let held = held.clone();
            Box::new(move || {
                let _held = held;
                let mut blocked = MaybeUninit::<libc::sigset_t>::zeroed();
                // SAFETY: the set is written before it is looked at.
                let blocked = unsafe {
                    libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), blocked.as_mut_ptr());
                    libc::sigismember(blocked.as_ptr(), libc::SIGUSR1)
                };
                sender.send((is_own(), blocked)).unwrap();
                std::panic::resume_unwind(Box::new("stays inside"));
            })
        });
        thread.unwrap().join();
        assert_eq!((receiver.recv(), Arc::strong_count(&held)), (Ok((true, 1)), 1));
        assert!(!is_own());
    }
}
