//! Work on several nodes at the same time, in stores where each request takes its time.

use super::Store;
use crate::engine::lock::{holds_chunk, holds_document};
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
    // Another thread would wait for what this one holds, as where a store's function calls the library.
    let is_alone = holds_document() || holds_chunk();
    if items.len() < 2 || !any_thread || is_alone || !takes_many(stores) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Context, Mode, document, store_options::Options};
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use std::collections::HashSet;
    use std::sync::Arc;
    use std::thread::{ThreadId, current};
    use std::time::Duration;

    /// A worker would wait for ever for a document that the thread has which waits for the worker.
    #[test]
    fn a_thread_that_holds_a_document_works_alone() {
        let slow = Arc::new(LatencyStore::new(Arc::new(MemoryStore::new()), Duration::ZERO));
        let store = Store::new(&Context::default(), slow, Mode::ReadWrite, Options::default());
        let threads = || -> HashSet<ThreadId> {
            let mut all = [current().id(); 32];
            for_each(&store, true, &mut all, |thread| {
                std::thread::sleep(Duration::from_millis(5));
                *thread = current().id();
                Ok(())
            })
            .unwrap();
            all.into_iter().collect()
        };
        assert!(threads().len() > 1);
        let held = document::lock_thread(&store, "a", "zarr.json");
        assert_eq!(threads(), HashSet::from([current().id()]));
        drop(held);
    }
}
