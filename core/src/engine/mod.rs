//! Region I/O: a selection of an array to and from strided memory, chunk by chunk, in parallel.
//!
//! A read: [`selection`] (checked) → `admit` (waits for requests in the way, stores what waits in write-back) → `plan` (pure: which chunks,
//! which part of each, where in memory) → a [`request`] whose items are claimed by the calling thread and the [`pool`] → for each item the
//! state machine of `decode`, which does no I/O and is run by one of two drivers (`read_local`, `flight`) → [`place`]. A write: `admit`,
//! `plan` → `under_lock` → `write` → `encode` → `chunk_sink`.

mod admit;
mod admitted;
mod alike;
mod array;
mod batch;
mod behind;
mod budget;
mod buffer_guard;
mod changes;
mod chunk_cache;
mod chunk_picks;
mod chunk_put;
mod chunk_sink;
mod coordinates;
mod cost;
mod cut;
mod decode;
mod encode;
pub mod explain;
mod fence;
mod fill_probe;
mod flight;
mod flight_room;
mod flush;
pub mod footprint;
mod fork_join;
mod fresh_pages;
mod held_room;
pub mod huge_pages;
mod inside_request;
mod item;
mod leaf;
mod lenient;
pub mod lock;
mod mask_bits;
pub mod memory;
mod part;
pub mod partition;
pub mod pending;
mod pick_list;
pub mod place;
mod place_axes;
mod plan;
mod points;
pub mod pool;
mod raw_spans;
mod read;
mod read_job;
mod read_local;
mod read_pieces;
pub mod rechunk;
mod rechunk_plan;
pub mod request;
pub mod request_queue;
mod scratch;
pub mod selection;
pub mod shapes;
mod shard;
mod shard_assembly;
mod shard_index;
mod shard_open;
mod shard_stored;
mod shard_stream;
mod spans;
mod stages;
pub mod stats;
mod storing;
mod target;
pub mod tasks;
mod transpose;
mod turns;
mod under_lock;
mod waiting_box;
mod waiting_part;
mod write;
mod write_back;
mod written_bits;

pub use array::{BoundArray, Growing, Growths, Home};
pub use batch::{BatchEntry, read_many, start_read_many, start_write_many, write_many};
pub use budget::Budget;
pub use changes::Changes;
pub use chunk_cache::{ArrayCache, ChunkCache};
pub use coordinates::CoordinateSelection;
pub use fence::Fence;
pub use flush::{drop_beyond, flush, flush_and_close, flush_not_lost};
pub use lenient::Lenient;
pub use memory::{Memory, Overflow};
pub use pending::{OnDone, Pending, Progress, RequestOptions};
pub use selection::Selection;
pub use shapes::ByShape;
pub use shard_open::OpenShards;
pub use shard_stored::Stored;
pub use shard_stream::ShardWriter;
/// For tests in which a change waits for another thread.
#[cfg(feature = "faults")]
pub use storing::inside as inside_change;
pub use write_back::WriteBack;

use crate::dtype::coding::Coding;
use crate::error::Result;
use admit::CheckedCall;
use admitted::JobMemory;
use memory::Use;
use pending::Parts;
use std::sync::Arc;

/// Reads the selected elements into `memory`.
///
/// # Safety
/// `memory` must describe memory that stays valid and unaliased until this returns.
pub unsafe fn read(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory) -> Result<()> {
    let admitted = CheckedCall::region(array, selection, memory, Use::Destination)?.admit()?;
    read::run(&admitted, selection, memory.into())
}

/// Reads what the selected elements mean by `coding` into `memory`.
///
/// # Safety
/// As for [`read()`].
pub unsafe fn read_decoded(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, coding: &Coding) -> Result<()> {
    let admitted = CheckedCall::region(array, selection, memory, Use::Destination)?.admit()?;
    read::run(&admitted, selection, JobMemory::coded(memory, coding))
}

/// Writes the selected elements from `memory`.
///
/// # Safety
/// `memory` must describe memory that stays valid and unchanged until this returns.
pub unsafe fn write(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory) -> Result<()> {
    let admitted = CheckedCall::region(array, selection, memory, Use::Source)?.admit()?;
    flush::write(&admitted, |admitted| request::run(write::work(write::job(admitted, selection, memory.into())?)))
}

/// Writes elements that mean by `coding` what `memory` holds.
///
/// # Safety
/// As for [`write()`].
pub unsafe fn write_encoded(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, coding: &Coding) -> Result<()> {
    let admitted = CheckedCall::region(array, selection, memory, Use::Source)?.admit()?;
    flush::write(&admitted, |admitted| request::run(write::work(write::job(admitted, selection, JobMemory::coded(memory, coding))?)))
}

/// Reads what a list picks into `memory`, which has the list's own shape ([`CoordinateSelection::shape`]).
///
/// # Safety
/// As for [`read()`].
pub unsafe fn read_picks(array: &Arc<BoundArray>, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<()> {
    if let Some(selection) = picks.as_region(&array.shape)? {
        // SAFETY: forwarded.
        return unsafe { read(array, &selection, memory) };
    }
    let admitted = CheckedCall::list(array, &picks.shape(&array.shape), memory, Use::Destination)?.admit()?;
    request::run(read::plan_picks(&admitted, picks, memory)?)
}

/// Writes what a list picks from `memory`. Of an element that it picks several times the last value counts.
///
/// # Safety
/// As for [`write()`].
pub unsafe fn write_picks(array: &Arc<BoundArray>, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<()> {
    if let Some(selection) = picks.as_region(&array.shape)? {
        // SAFETY: forwarded.
        return unsafe { write(array, &selection, memory) };
    }
    let admitted = CheckedCall::list(array, &picks.shape(&array.shape), memory, Use::Source)?.admit()?;
    request::run(write::plan_picks(&admitted, picks, memory)?)
}

/// Starts to read the selected elements into `memory`.
///
/// # Safety
/// `memory` must describe memory that stays valid and unaliased until the request is done.
pub unsafe fn start_read(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, options: RequestOptions) -> Result<Pending> {
    let call = CheckedCall::detached(array, selection, memory, Use::Destination)?;
    pending::submit(memory.bytes(selection.shape())?, options, || {
        let revocable = Some(Arc::default());
        let job = read::job(&call.admit()?, selection, JobMemory::behind(memory, &revocable))?;
        let footprints = array.footprint(selection, false).into_iter().collect();
        Ok(Parts { work: read::work(job), footprints, revocable, copied: Vec::new() })
    })
}

/// Starts to write the selected elements from `memory`.
///
/// # Safety
/// `memory` must describe memory that stays valid and unchanged until the request is done, or, where it is copied, until this returns.
pub unsafe fn start_write(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, options: RequestOptions) -> Result<Pending> {
    let call = CheckedCall::detached(array, selection, memory, Use::Source)?;
    let copy = options.copy;
    pending::submit(memory.bytes(selection.shape())?, options, || {
        let mut copied = Vec::new();
        // SAFETY: the memory was checked, and is valid now, by the caller's promise.
        let own = if copy { Some(unsafe { memory.copy(selection.shape(), &mut copied) }?) } else { None };
        let revocable = if copy { None } else { Some(Arc::default()) };
        let job = write::job(&call.admit()?, selection, JobMemory::behind(own.as_ref().unwrap_or(memory), &revocable))?;
        let footprints = array.footprint(selection, true).into_iter().collect();
        Ok(Parts { work: write::work(job), footprints, revocable, copied: vec![copied] })
    })
}
