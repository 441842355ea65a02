//! Tasks that each do I/O of their own, side by side: the boxes of an array that is copied, the objects of a store.
//!
//! They are the items of one request. A task may itself read or write regions: these are requests whose items never wait for one another,
//! so that whoever waits for one of them waits for work that goes on.

use super::pool::Pool;
use super::request::{self, About, Outcome, Request, Work};
use crate::error::Result;
use crate::store::Tuning;
use std::sync::Arc;

/// What a task can ask while it runs.
pub struct Running<'a>(&'a Request);

impl Running<'_> {
    /// Returns whether what it does is of no use any more: another task failed, or an end is wanted.
    pub fn is_over(&self) -> bool {
        self.0.failed()
    }
}

/// A task: it gets its number.
pub type Task<'a> = dyn Fn(u64, &Running<'_>) -> Result<()> + Sync + 'a;

struct Tasks {
    count: u64,
    pool: Arc<Pool>,
    task: &'static Task<'static>,
}

impl Work for Tasks {
    fn about(&self) -> About {
        About { items: self.count, bytes: u64::MAX, finish_others: false, tuning: Tuning::default() }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn run(&self, request: &Arc<Request>, item: u64) -> Outcome {
        Outcome::Done((self.task)(item, &Running(request)))
    }
}

/// Calls `task` with each number below `count`, up to `width` at the same time (this thread's among them), and `told` in this thread with
/// the number of those that are done. The first error of either ends it; no task is begun after that, and all have returned.
pub fn run(pool: &Arc<Pool>, count: u64, width: usize, task: &Task<'_>, told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
    // SAFETY: the task is called for numbers below `count` only, and all these calls have returned before `run_and_tell` does.
    let task = unsafe { std::mem::transmute::<&Task<'_>, &'static Task<'static>>(task) };
    request::run_and_tell(Arc::new(Tasks { count, pool: pool.clone(), task }), width, told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, bail};
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

    #[test]
    fn every_task_runs_once_and_never_more_than_wanted_at_the_same_time() {
        for (threads, width) in [(1, 1), (4, 2), (4, 4), (2, 9)] {
            let (sum, now, most) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            let (caller, mut told) = (std::thread::current().id(), Vec::new());
            let task = |i: u64, _: &Running<'_>| {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::sleep(std::time::Duration::from_micros(200));
                sum.fetch_add(i, Ordering::SeqCst);
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            };
            run(&Pool::new(threads), 100, width, &task, &mut |done| {
                assert_eq!(std::thread::current().id(), caller);
                told.push(done);
                Ok(())
            })
            .unwrap();
            assert_eq!(sum.into_inner(), 4950);
            assert!(most.into_inner() <= width.min(threads), "{threads} {width}");
            assert!(told.is_sorted() && told.last() == Some(&100), "{told:?}");
        }
    }

    #[test]
    fn an_error_of_a_task_or_of_the_progress_callback_ends_it() {
        for threads in [1, 3] {
            let failing = |i: u64, _: &Running<'_>| if i == 7 { bail!(Chunk, "planted") } else { Ok(()) };
            let e = run(&Pool::new(threads), 1 << 60, threads, &failing, &mut |_| Ok(()));
            assert_eq!(e.unwrap_err().kind(), ErrorKind::Chunk);
        }
        let pool = Pool::new(3);
        let begun = AtomicU64::new(0);
        let counting = |_: u64, _: &Running<'_>| {
            begun.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let e = run(&pool, 1 << 60, 3, &counting, &mut |done| if done >= 5 { bail!(Cancelled, "enough") } else { Ok(()) });
        assert_eq!(e.unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn a_panic_in_the_progress_callback_is_an_error() {
        let pool = Pool::new(2);
        let e = run(&pool, 10, 2, &|_, _| Ok(()), &mut |_| std::panic::resume_unwind(Box::new("planted")));
        assert_eq!(e.unwrap_err().kind(), ErrorKind::Internal);
    }
}
