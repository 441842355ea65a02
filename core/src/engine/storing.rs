//! Changes of what an array has stored that are under way, for which calls that take the array away wait.

use crate::fork::ForkReset;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{sleep, yield_now};
use std::time::Duration;

thread_local! {
    /// How many changes of any array the calling thread is in.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Counts the changes of an array that are under way. A child of `fork` has none: their threads are the parent's.
pub(super) struct Underway(ForkReset<Arc<AtomicUsize>>);

impl Default for Underway {
    fn default() -> Underway {
        Underway(ForkReset::new(Arc::default))
    }
}

impl Underway {
    /// Counts one that begins, before it looks whether the array is there.
    pub fn begin(&self) -> Storing {
        let count = self.0.get().clone();
        // Either this sees the mark of who takes the array away, or who waits sees this.
        count.fetch_add(1, Ordering::SeqCst);
        Storing(count)
    }

    /// Waits, after the array was marked as leaving, until all that began before have ended. Not inside of a change, as a function of the program's may be:
    /// it would wait for itself.
    pub fn wait(&self) {
        let (count, mut looks) = (self.0.get(), 0u32);
        while INSIDE.get() == 0 && count.load(Ordering::SeqCst) > 0 {
            match looks {
                0..100 => yield_now(),
                _ => sleep(Duration::from_micros(100)),
            }
            looks = looks.saturating_add(1);
        }
    }
}

/// A change that is under way until this is dropped, by any thread.
pub struct Storing(Arc<AtomicUsize>);

impl Drop for Storing {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Does `work`, in which the calling thread makes a change, or starts one.
pub fn inside<T>(work: impl FnOnce() -> T) -> T {
    struct Inside;
    impl Drop for Inside {
        fn drop(&mut self) {
            INSIDE.set(INSIDE.get() - 1);
        }
    }
    INSIDE.set(INSIDE.get() + 1);
    let _inside = Inside;
    work()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn whoever_waits_goes_on_behind_the_last_change_and_inside_of_one_at_once() {
        let (underway, ended) = (Underway::default(), AtomicBool::new(false));
        let storing = [underway.begin(), underway.begin()];
        inside(|| underway.wait());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for (i, one) in storing.into_iter().enumerate() {
                    sleep(Duration::from_millis(20));
                    ended.store(i == 1, Ordering::SeqCst);
                    drop(one);
                }
            });
            underway.wait();
            assert!(ended.load(Ordering::SeqCst));
        });
        underway.wait();
    }

    #[test]
    fn what_is_refused_keeps_nobody_waiting() {
        let growths = crate::engine::Growths::default();
        growths.leave();
        let (other, (ends, ended)) = (growths.clone(), std::sync::mpsc::channel());
        // Asked for the place, which the message of the refusal names.
        let begun = growths.while_there(
            || {
                std::thread::spawn(move || (other.wait_for_changes(), ends.send(())));
                ended.recv_timeout(Duration::from_secs(20)).unwrap();
                "a/".to_string()
            },
            || Ok(()),
        );
        assert!(begun.unwrap_err().message().contains("the array a was erased"));
    }

    /// What was under way in the parent is not in its child, and ends there for the parent alone.
    #[cfg(unix)]
    #[test]
    fn a_child_waits_for_no_change_of_its_parent() {
        let underway = Underway::default();
        let storing = underway.begin();
        // SAFETY: the child ends below without returning, and takes no lock of another thread.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: ends a child that waits.
            unsafe { libc::alarm(20) };
            underway.wait();
            let own = underway.begin();
            drop(storing);
            drop(own);
            underway.wait();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(0) };
        }
        let mut status = -1;
        // SAFETY: waits for the child.
        assert_eq!((unsafe { libc::waitpid(pid, &raw mut status, 0) }, status), (pid, 0));
        drop(storing);
        underway.wait();
    }
}
