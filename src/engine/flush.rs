//! Stores what waits in write-back, in parallel: before it is read, when memory is short, and when the program wants it.

use super::Selection;
use super::array::BoundArray;
use super::lock::ChunkGuard;
use super::plan::Plan;
use super::pool::Pool;
use super::request::{self, About, Outcome, Request, Work};
use super::scratch::Scratch;
use super::under_lock::{self, ChunkTask};
use super::write::WriteJob;
use super::write_back::WriteBack;
use crate::error::Result;
use crate::limits::{Dims, Strides, chunk_bytes};
use std::sync::Arc;

/// Stores the chunks of which selected elements wait (all, without a selection). What cannot be stored goes on waiting, and is tried
/// again by the next call.
pub fn flush(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, selection: Option<&Selection>) -> Result<()> {
    store(array, kept, kept.touched(&array.grid, selection))
}

/// Makes room for the chunks that a write of `selection` touches: those that were not used for the longest time are stored.
pub(super) fn make_room(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, selection: &Selection) -> Result<()> {
    let each = chunk_bytes(array.chain.shape(), array.data_type.size())? as u64;
    let plan = Plan::new(&array.grid, selection, &Strides::from_elem(0, array.shape.len()), 1)?;
    if kept.has_room(plan.items(), each) {
        return Ok(());
    }
    store(array, kept, kept.oldest_for(&plan, each))
}

fn store(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, chunks: Vec<Dims>) -> Result<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    request::run(Box::new(Flush(Arc::new(ChunksToFlush { array: array.without_write_back(), kept: kept.clone(), chunks }))))
}

struct Flush(Arc<ChunksToFlush>);

/// Chunks of which what waits is to be stored.
struct ChunksToFlush {
    array: Arc<BoundArray>,
    kept: Arc<WriteBack>,
    chunks: Vec<Dims>,
}

impl Work for Flush {
    fn about(&self) -> About {
        About {
            items: self.0.chunks.len() as u64,
            bytes: self.0.kept.bytes() as u64,
            finish_others: true,
            tuning: self.0.array.store.tuning(),
        }
    }

    fn pool(&self) -> &Pool {
        &self.0.array.pool
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        under_lock::run(&FlushChunk { chunks: self.0.clone(), number }, request, None)
    }
}

/// One chunk of which what waits is stored.
#[derive(Clone)]
struct FlushChunk {
    chunks: Arc<ChunksToFlush>,
    number: u64,
}

impl ChunkTask for FlushChunk {
    type Item = Dims;

    fn item(&self) -> Option<(&Arc<BoundArray>, Dims)> {
        Some((&self.chunks.array, self.chunks.chunks.get(self.number as usize)?.clone()))
    }

    fn chunk(item: &Dims) -> &[u64] {
        item
    }

    fn run(&self, chunk: &Dims, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        match WriteJob::of_waiting(&self.chunks.array, &self.chunks.kept, chunk) {
            Ok(Some(job)) => {
                let item = job.plan.region_item(0);
                Arc::new(job).store_item(&item, request, guard, s)
            }
            Ok(None) => Outcome::Done(Ok(())),
            Err(e) => Outcome::Done(Err(e)),
        }
    }
}
