//! Stores what waits in write-back, in parallel: before it is read, when memory is short, and when the program wants it.

use super::Selection;
use super::admitted::Admitted;
use super::array::BoundArray;
use super::held_room;
use super::plan::Plan;
use super::pool::Pool;
use super::request::{self, About, Outcome, Request, Work};
use super::under_lock;
use super::write::StoreWaiting;
use super::write_back::WriteBack;
use super::written_bits::WrittenBits;
use crate::error::{ErrorKind, Result};
use crate::limits::{Dims, Strides, chunk_bytes};
use std::sync::Arc;

/// Stores the chunks of which selected elements wait (all, without a selection). What cannot be stored goes on waiting, and is tried
/// again by the next call.
pub fn flush(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, selection: Option<&Selection>) -> Result<()> {
    store(array, kept, &|| kept.touched(&array.grid, selection))?;
    if selection.is_none() {
        kept.all_stored();
    }
    Ok(())
}

/// Stores what waits but was not lost with an array that was there before: of that a flush of all tells.
pub fn flush_not_lost(array: &Arc<BoundArray>, kept: &Arc<WriteBack>) -> Result<()> {
    store(array, kept, &|| kept.not_lost())?;
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
    let bits = WrittenBits::bytes_of(each / array.data_type.size().max(1) as u64) as u64;
    if kept.has_room(plan.items(), each, bits) {
        return Ok(());
    }
    match store(array, kept, &|| kept.oldest_for(&plan, each, bits)) {
        Err(e) if e.kind() != ErrorKind::State => Ok(()),
        stored => stored,
    }
}

/// Stores chunks in parallel or, where that takes more memory than there is, one after the other in what was held for it.
fn store(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, chunks: &dyn Fn() -> Result<Vec<Dims>>) -> Result<()> {
    let run = |one_by_one| {
        let chunks = chunks()?;
        if chunks.is_empty() {
            return Ok(());
        }
        let array = if one_by_one { array.alone() } else { array.without_write_back() };
        request::run(Arc::new(Flush { array, kept: kept.clone(), chunks, one_by_one }))
    };
    match run(false) {
        Err(e) if e.kind() == ErrorKind::NoMemory => {
            let _room = held_room::let_go();
            kept.free_spare();
            let stored = run(true);
            kept.free_spare();
            stored
        }
        stored => stored,
    }
}

/// Writes a region by `run`. Where memory ends what waits is stored first, and then the region by one thread, so that nothing of it waits.
pub(super) fn write(admitted: &Admitted, run: impl Fn(&Admitted) -> Result<()>) -> Result<()> {
    let array = &admitted.array;
    match (run(admitted), &array.write_back) {
        (Err(e), Some(kept)) if e.kind() == ErrorKind::NoMemory => {
            flush(array, kept, None)?;
            let _room = held_room::let_go();
            kept.free_spare();
            run(&Admitted { array: array.alone() })
        }
        (done, _) => done,
    }
}

/// Chunks of which what waits is to be stored.
struct Flush {
    /// Without write-back.
    array: Arc<BoundArray>,
    kept: Arc<WriteBack>,
    chunks: Vec<Dims>,
    one_by_one: bool,
}

impl Work for Flush {
    fn about(&self) -> About {
        let mut tuning = self.array.store.tuning();
        if self.one_by_one {
            tuning.requests = 1;
        }
        About { items: self.chunks.len() as u64, bytes: self.kept.bytes() as u64, finish_others: true, tuning }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.array.pool
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        let Some(chunk) = self.chunks.get(number as usize) else { return Outcome::Done(Ok(())) };
        if self.one_by_one {
            // What the one before took is there for this one.
            self.kept.free_spare();
        }
        under_lock::run(&StoreWaiting { array: self.array.clone(), kept: self.kept.clone(), chunk: chunk.clone() }, request, None)
    }
}
