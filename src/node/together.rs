//! Work on several nodes at the same time, in stores where each request takes its time.

use super::Store;
use crate::engine::tasks::{self, Running};
use crate::error::Result;
use crate::limits::collect;
use std::sync::{Mutex, PoisonError};

/// Calls `work` for each item: several at the same time where each request takes its time, else one after the other. None is begun after the first error. Functions
/// of the program that the items use and that may not run anywhere (not `any_thread`) keep all of them in the calling thread.
pub(super) fn for_each<T: Send>(
    store: &Store,
    any_thread: bool,
    items: &mut [T],
    work: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    let shared = store.shared();
    if items.len() < 2 || !any_thread || !shared.capabilities().latency || !shared.any_thread() {
        return items.iter_mut().try_for_each(work);
    }
    let items: Vec<Mutex<&mut T>> = collect(items.iter_mut().map(Mutex::new))?;
    let task = |i: u64, _: &Running<'_>| work(&mut items[i as usize].lock().unwrap_or_else(PoisonError::into_inner));
    let (pool, width) = store.threads_with(store, true);
    tasks::run(&pool, items.len() as u64, width, &task, &mut |_| Ok(()))
}
