//! Writing: a plan's items. A chunk that is wholly covered (as far as it lies inside the array) is encoded straight from memory
//! and put; another is read, changed and put. Either happens under the chunk's lock.

use super::decode::Target;
use super::encode::{Source, encode_chunk};
use super::lock::ChunkGuard;
use super::place::{self, PlaceAxes, PlaceAxis};
use super::plan::{Axes, Axis, Item, Plan};
use super::pool::Pool;
use super::request::{Outcome, Request, Work};
use super::scratch::{self, Scratch};
use super::{BoundArray, Memory, Selection, lenient};
use crate::dtype::ElementType;
use crate::dtype::convert::Transfer;
use crate::error::Result;
use crate::limits::{c_strides, chunk_bytes, grow};
use crate::store::Condition;
use std::sync::Arc;

/// The work of writing `selection` from `memory`.
pub(super) fn plan(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory) -> Result<Box<dyn Work>> {
    let base = memory.data.wrapping_add(memory.offset).cast_const();
    let mut source = Source::new(&array.chain, array.data_type, &array.fill, memory.data_type, base)?;
    source.store_fill = array.store_fill_chunks;
    let native = ElementType::native(array.data_type);
    let job = Job {
        plan: Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?,
        source,
        change: Transfer::new(ElementType::native(memory.data_type), native)?,
        array: array.clone(),
    };
    Ok(Box::new(Write(Arc::new(job))))
}

struct Write(Arc<Job>);

struct Job {
    array: Arc<BoundArray>,
    plan: Plan,
    source: Source,
    /// From the memory's type to the array's, for chunks that are changed in part.
    change: Transfer,
}

impl Work for Write {
    fn plan(&self) -> &Plan {
        &self.0.plan
    }

    fn pool(&self) -> &Pool {
        &self.0.array.pool
    }

    fn finish_others(&self) -> bool {
        true
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        let item = self.0.plan.item(number);
        scratch::with(|s| {
            self.0.array.chunk_key(&item.chunk, &mut s.key);
            let guard = self.0.array.locks.acquire(&s.key, || {
                let (job, request) = (self.0.clone(), request.clone());
                move |guard: ChunkGuard| {
                    let again = request.clone();
                    again.resume(Box::new(move |request| {
                        let result = job.write_later(number);
                        drop(guard);
                        request.finish(result);
                    }));
                }
            });
            match guard {
                None => Outcome::Parked,
                Some(_guard) => Outcome::Done(self.0.write(&item, s)),
            }
        })
    }
}

impl Job {
    /// An item whose lock was taken when it came to its turn.
    fn write_later(&self, number: u64) -> Result<()> {
        let item = self.plan.item(number);
        scratch::with(|s| {
            self.array.chunk_key(&item.chunk, &mut s.key);
            self.write(&item, s)
        })
    }

    /// Writes an item, whose key is in `s` and locked.
    fn write(&self, item: &Item, s: &mut Scratch) -> Result<()> {
        let result = if self.covers(item) { self.put(&item.axes, item.memory, &self.source, s) } else { self.change(item, s) };
        result.map_err(|e| e.at_key(&s.key))
    }

    /// Whether the item selects all elements of its chunk that lie inside the array.
    fn covers(&self, item: &Item) -> bool {
        item.axes.iter().enumerate().all(|(d, axis)| {
            let origin = self.array.grid.origin(d, item.chunk[d]);
            let inside = self.array.grid.extent(d, item.chunk[d]).min(self.array.shape[d] - origin);
            axis.count == inside && (axis.count == 1 || axis.step.unsigned_abs() == 1)
        })
    }

    /// Encodes a whole chunk and stores it, or removes it if it holds only the fill value.
    fn put(&self, axes: &Axes, memory: i64, source: &Source, s: &mut Scratch) -> Result<()> {
        match encode_chunk(&self.array.chain, source, axes, memory, &mut s.chain)? {
            Some(bytes) => self.array.store.put(&s.key, &[bytes], Condition::None),
            None => self.array.store.erase(&s.key).map(drop),
        }
    }

    /// Reads a chunk, changes the selected elements and stores it again, with other processes kept out.
    /// What lies beyond the array's edge is stored again as it was found.
    fn change(&self, item: &Item, s: &mut Scratch) -> Result<()> {
        let shape = self.array.chain.shape();
        let size = self.array.data_type.size();
        let strides = c_strides(shape, size);
        let bytes = chunk_bytes(shape, size)?;
        let mut chunk = std::mem::take(&mut s.chunk);
        let result = grow(&mut chunk, bytes).map(|buf| buf.as_mut_ptr()).and_then(|base| {
            let _process = self.array.store.lock_key(&self.array.prefix, &s.key)?;
            self.read_chunk(item, base, &strides, s)?;
            self.place(item, base, &strides)?;
            let mut source = Source::new(&self.array.chain, self.array.data_type, &self.array.fill, self.array.data_type, base)?;
            source.store_fill = self.source.store_fill;
            self.put(&whole(shape, &strides), 0, &source, s)
        });
        s.chunk = chunk;
        result
    }

    /// The whole chunk as it is stored, into a dense buffer in C order.
    fn read_chunk(&self, item: &Item, base: *mut u8, strides: &[i64], s: &mut Scratch) -> Result<()> {
        let shape = self.array.chain.shape();
        let axes = whole(shape, strides);
        let target = Target::new(&self.array.chain, self.array.data_type, &self.array.fill, self.array.data_type, base)?;
        match self.array.store.open(&s.key)? {
            None => target.fill(&axes, 0),
            Some(object) => {
                let item = Item { chunk: item.chunk.clone(), axes, memory: 0 };
                lenient::read_object(&self.array, &object, &target, item, s)
            }
        }
    }

    /// The selected elements from the caller's memory into that buffer.
    fn place(&self, item: &Item, base: *mut u8, strides: &[i64]) -> Result<()> {
        let start: i64 = item.axes.iter().zip(strides).map(|(a, &s)| a.start as i64 * s).sum();
        let axes: PlaceAxes =
            item.axes.iter().zip(strides).map(|(a, &s)| PlaceAxis { count: a.count, src: a.memory, dst: s * a.step }).collect();
        // SAFETY: the plan stays within the checked memory, and the axes within the buffer of a whole chunk.
        unsafe { place::place(self.source.base.offset(item.memory as isize), base.offset(start as isize), &axes, &self.change) }
    }
}

/// All elements of a chunk of that shape.
fn whole(shape: &[u64], strides: &[i64]) -> Axes {
    shape.iter().zip(strides).map(|(&count, &memory)| Axis { start: 0, count, step: 1, memory }).collect()
}
