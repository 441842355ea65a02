//! Work in numbered pieces that one item of a request shares with the threads that come to help.

use super::lock::lock;
use crate::sync::atomic::AtomicUsize;
use crate::sync::{Condvar, Mutex};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// One item's work in pieces.
pub(super) struct ForkJoin {
    work: &'static (dyn Fn(usize) + Sync),
    count: usize,
    next: AtomicUsize,
    left: AtomicUsize,
    panic: Mutex<Option<Box<dyn std::any::Any + Send>>>,
    wake: Condvar,
}

impl ForkJoin {
    /// # Safety `work` lives until `wait` has returned.
    pub(super) unsafe fn new(count: usize, work: &(dyn Fn(usize) + Sync)) -> ForkJoin {
        // SAFETY: `help` uses it for numbers below `count` only, and all calls with those have returned before `wait` does.
        let work = unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), &'static (dyn Fn(usize) + Sync)>(work) };
        ForkJoin { work, count, next: AtomicUsize::new(0), left: AtomicUsize::new(count), panic: Mutex::default(), wake: Condvar::new() }
    }

    /// Does pieces until none is left.
    pub(super) fn help(&self) {
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= self.count {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(|| (self.work)(piece)));
            let mut panic = lock(&self.panic);
            if let Err(e) = done {
                panic.get_or_insert(e);
            }
            if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                self.wake.notify_all();
            }
        }
    }

    /// Waits for the pieces that other threads have begun; none is begun any more. What one of them panicked with, if one did.
    pub(super) fn wait(&self) -> Option<Box<dyn std::any::Any + Send>> {
        let mut panic = lock(&self.panic);
        while self.left.load(Ordering::Acquire) > 0 {
            panic = self.wake.wait(panic).unwrap_or_else(PoisonError::into_inner);
        }
        panic.take()
    }
}
