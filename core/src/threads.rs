//! Threads of the library's own, started by the system's own call: the standard library's takes memory that it cannot do without.

use crate::platform::{ThreadHandle, name_thread, thread_name_begins};
use std::ffi::{CStr, c_void};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The stack of a thread, in bytes: as much as the standard library gives.
const STACK: usize = 2 << 20;

/// A thread that was started. Dropped, it goes on by itself.
pub struct Thread(ThreadHandle);

/// What a new thread is given.
struct Beginning {
    name: &'static CStr,
    work: Box<dyn FnOnce() + Send>,
}

/// Starts a thread with a name of at most 15 bytes, or returns the system's error number. All signals are blocked in it, so that the host's
/// handlers never run there.
pub fn start(name: &'static CStr, work: Box<dyn FnOnce() + Send>) -> Result<Thread, i32> {
    let beginning = Box::into_raw(Box::new(Beginning { name, work }));
    // SAFETY: `run` takes over the beginning, unless no thread was started.
    unsafe { ThreadHandle::start(STACK, run, beginning.cast()).map(Thread).inspect_err(|_| drop(Box::from_raw(beginning))) }
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
        self.0.join();
    }
}

thread_local! {
    static HERE: u8 = const { 0 };
}

/// A number by which the calling thread is told from all others that there are: an address in its own memory. [`std::thread::current`]
/// panics in destructors of the program that run behind those of this library's thread-local variables.
pub fn this_thread() -> usize {
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}

/// Keeps all signals away from the calling thread, which is one of the library's own.
pub use crate::platform::block_signals;

/// Returns whether the calling thread is one of the library's own, by its name.
pub fn is_own() -> bool {
    thread_name_begins(c"ozarr")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;
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
