//! Has a thread of the library's own store a large chunk that became whole in write-back, while the program goes on.
//!
//! The chunk waits until it is stored, so that whoever needs it stored finds it by `flush` and waits for its lock; what fails is tried again
//! there. Blocking calls that touch the chunk, through whichever handle, come after the request.

use super::array::BoundArray;
use super::footprint::Footprint;
use super::pending::{self, Parts, RequestOptions};
use super::pool::Pool;
use super::request::{About, INLINE_BYTES, Outcome, Request, Work};
use super::under_lock::{self, ChunkTask};
use super::write_back::WriteBack;
use crate::limits::{Dims, chunk_bytes};
use crate::store::Tuning;
use std::sync::{Arc, Weak};

/// Has `task` run by a thread of the pool, which stores a chunk that the caller has not locked any more. Returns false where the caller is to
/// store it: the chunk is small, the threads have other work, or one before could not be stored, so that the caller is told at once.
pub(super) fn store_behind<T>(array: &BoundArray, kept: &Arc<WriteBack>, chunk: &Dims, request: &Request, task: impl FnOnce() -> T) -> bool
where
    T: ChunkTask + Sync,
{
    let Ok(bytes) = chunk_bytes(array.chain.shape(), array.data_type.size()) else { return false };
    if (bytes as u64) < INLINE_BYTES || !request.has_idle_threads() {
        return false;
    }
    let Some(room) = kept.behind(chunk, bytes) else { return false };
    let task = Arc::new(task());
    let footprint = Footprint { place: array.place(), low: chunk.clone(), high: chunk.clone(), writes: true };
    let work = Behind { pool: array.pool.clone(), task: Arc::downgrade(&task), tuning: array.store.tuning(), bytes: bytes as u64 };
    // The request lives a moment longer than its work; the array need not.
    let options = RequestOptions { keeps: Some(Box::new((task, room))), ..RequestOptions::default() };
    let parts = || Ok(Parts { work: Arc::new(work), footprints: vec![footprint], revocable: None, copied: Vec::new() });
    pending::submit(0, options, parts).is_ok()
}

/// The request of one chunk.
struct Behind<T> {
    pool: Arc<Pool>,
    task: Weak<T>,
    tuning: Tuning,
    bytes: u64,
}

impl<T: ChunkTask + Sync> Work for Behind<T> {
    fn about(&self) -> About {
        About { items: 1, bytes: self.bytes, finish_others: true, tuning: self.tuning }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn run(&self, request: &Arc<Request>, _: u64) -> Outcome {
        match self.task.upgrade() {
            Some(task) => under_lock::run(&*task, request, None),
            None => Outcome::Done(Ok(())),
        }
    }
}
