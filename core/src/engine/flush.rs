//! Stores what waits in write-back, in parallel: before it is read, when memory is short, and when the program wants it.

use super::Selection;
use super::array::BoundArray;
use super::plan::Plan;
use super::pool::Pool;
use super::request::{self, About, Outcome, Request, Work};
use super::under_lock;
use super::write::StoreWaiting;
use super::write_back::WriteBack;
use crate::error::{ErrorKind, Result};
use crate::limits::{self, Dims, Strides, chunk_bytes};
use std::sync::Arc;

/// Stores the chunks of which selected elements wait (all, without a selection). What cannot be stored goes on waiting, and is tried
/// again by the next call.
pub fn flush(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, selection: Option<&Selection>) -> Result<()> {
    store(array, kept, kept.touched(&array.grid, selection)?)?;
    if selection.is_none() {
        kept.all_stored();
    }
    Ok(())
}

/// Stores what waits but was not lost with an array that was there before: of that a flush of all tells.
pub fn flush_not_lost(array: &Arc<BoundArray>, kept: &Arc<WriteBack>) -> Result<()> {
    store(array, kept, kept.not_lost()?)?;
    kept.all_stored();
    Ok(())
}

/// Stores all that waits, and lets nothing more wait: another one takes the place of `kept`, which writes that are under way do not know of. What
/// waits already is found until it is stored, by the array as it is once nothing more waits. Where that fails `kept` goes on as before.
pub fn flush_and_close(array: impl FnOnce() -> Result<Arc<BoundArray>>, kept: &Arc<WriteBack>) -> Result<()> {
    kept.close();
    array().and_then(|array| flush(&array, kept, None)).inspect_err(|_| kept.reopen())
}

/// Drops what waits at and behind the end of an array that was cut, each chunk behind the work on it that is under way.
pub fn drop_beyond(array: &BoundArray, kept: &WriteBack) -> Result<()> {
    for chunk in kept.beyond(&array.grid, &array.shape)? {
        let _locked = array.locks.wait(array.lock_name(&array.key_of(&chunk)?));
        kept.drop_beyond(&array.grid, &array.shape, &chunk);
    }
    Ok(())
}

/// Makes room for the chunks that a write of `selection` touches: those that were not used for the longest time are stored. Of what cannot be
/// stored, and waits on, a flush tells: the write is stored itself where there is no room. What was lost with its array is told of here.
pub(super) fn make_room(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, selection: &Selection) -> Result<()> {
    let each = chunk_bytes(array.chain.shape(), array.data_type.size())? as u64;
    let plan = Plan::new(&array.grid, selection, &Strides::from_elem(0, array.shape.len()), 1)?;
    if kept.has_room(plan.items(), each) {
        return Ok(());
    }
    match store(array, kept, kept.oldest_for(&plan, each)?) {
        Err(e) if e.kind() != ErrorKind::State => Ok(()),
        stored => stored,
    }
}

fn store(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, chunks: Vec<Dims>) -> Result<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    let array = array.without_write_back();
    let store = |chunk| StoreWaiting { array: array.clone(), kept: kept.clone(), chunk };
    request::run(Box::new(Flush { chunks: limits::collect(chunks.into_iter().map(store))?, bytes: kept.bytes() as u64, array }))
}

/// Chunks of which what waits is to be stored.
struct Flush {
    array: Arc<BoundArray>,
    chunks: Vec<StoreWaiting>,
    bytes: u64,
}

impl Work for Flush {
    fn about(&self) -> About {
        About { items: self.chunks.len() as u64, bytes: self.bytes, finish_others: true, tuning: self.array.store.tuning() }
    }

    fn pool(&self) -> &Pool {
        &self.array.pool
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        match self.chunks.get(number as usize) {
            Some(chunk) => under_lock::run(chunk, request, None),
            None => Outcome::Done(Ok(())),
        }
    }
}
