//! Runs work on a chunk under the chunk's lock: at once, or queued on the lock as a continuation of the work's request.

use super::array::BoundArray;
use super::lock::{ChunkGuard, HeldChunk, Waiter};
use super::request::{Outcome, Request};
use super::scratch::{self, Scratch};
use super::stats::Scope;
use std::sync::Arc;

/// Work on one chunk that needs the chunk's lock.
pub(super) trait ChunkTask: Clone + Send + 'static {
    /// What the task finds out before the lock is taken.
    type Item;

    /// Returns the array and the item, or `None` if there is nothing to do.
    fn item(&self) -> Option<(&Arc<BoundArray>, Self::Item)>;

    /// Returns the index of the chunk.
    fn chunk(item: &Self::Item) -> &[u64];

    /// Does the work, with the chunk's key in `s`.
    fn run(&self, item: &Self::Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome;
}

/// Runs `task` as an item of `request`: now if the chunk's lock is free (or is `guard`), or when its holder gives it back.
pub(super) fn run<T: ChunkTask>(task: &T, request: &Arc<Request>, guard: Option<ChunkGuard>) -> Outcome {
    let Some((array, item)) = task.item().filter(|_| !request.is_stopped()) else { return Outcome::Done(Ok(())) };
    let _scope = Scope::new(&array.stats);
    scratch::with(|s| {
        if let Err(e) = array.chunk_key(T::chunk(&item), &mut s.key) {
            return Outcome::Done(Err(e));
        }
        match guard.or_else(|| array.locks.acquire(array.lock_name(&s.key), || waiter(task, request))) {
            None => Outcome::Parked,
            Some(guard) => {
                let _held = HeldChunk::new(&guard);
                task.run(&item, request, guard, s)
            }
        }
    })
}

/// Returns what goes on with `task` when the lock is given back.
fn waiter<T: ChunkTask>(task: &T, request: &Arc<Request>) -> Waiter {
    let (task, request, is_detached) = (task.clone(), request.clone(), request.is_detached());
    let go_on = move |guard: Option<ChunkGuard>| {
        let again = request.clone();
        again.resume(Box::new(move |request| {
            if let Outcome::Done(result) = run(&task, request, guard) {
                request.finish(result);
            }
        }));
    };
    // A request that has left its caller may have no thread at hand: it does not keep others from the chunk meanwhile, and asks for the lock
    // again then.
    match is_detached {
        true => Waiter::Told(Box::new(move || go_on(None))),
        false => Waiter::Handed(Box::new(move |guard| go_on(Some(guard)))),
    }
}
