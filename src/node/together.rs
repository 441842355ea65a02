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
    for_each_in((store, store), any_thread, items, work)
}

/// Does the same with items that use two stores.
pub(super) fn for_each_in<T: Send>(
    stores: (&Store, &Store),
    any_thread: bool,
    items: &mut [T],
    work: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    if items.len() < 2 || !any_thread || !takes_many(stores) {
        return items.iter_mut().try_for_each(work);
    }
    let items: Vec<Mutex<&mut T>> = collect(items.iter_mut().map(Mutex::new))?;
    let task = |i: u64, _: &Running<'_>| work(&mut items[i as usize].lock().unwrap_or_else(PoisonError::into_inner));
    let (pool, width) = stores.0.threads_with(stores.1, true);
    tasks::run(&pool, items.len() as u64, width, &task, &mut |_| Ok(()))
}

/// Whether work on several nodes of two stores is done at the same time.
pub(super) fn takes_many((a, b): (&Store, &Store)) -> bool {
    [a, b].iter().any(|store| store.shared().capabilities().latency) && [a, b].iter().all(|store| store.shared().any_thread())
}
