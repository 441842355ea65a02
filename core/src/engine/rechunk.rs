//! Copying the elements of an array into other chunks, in bounded memory: box by box (`boxes` says which), each read and written by the
//! usual requests. Several boxes are under way where memory allows, so that one is read while another is written.
//!
//! A shard that does not fit into memory is read and written piece by piece (`shard_stream`).

use super::array::BoundArray;
use super::leaf::plain_shard;
use super::lock::lock;
use super::memory::{Use, check_types};
use super::pool::Pool;
use super::rechunk_plan::RechunkPlan;
pub use super::rechunk_plan::check_reached;
use super::shard_stream::ShardWriter;
use super::tasks::{self, Running};
use super::{Memory, Overflow, Selection};
use crate::codec::{BoundChain, Sharded};
use crate::dtype::DataType;
use crate::dtype::variable::{self, VarItem};
use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::limits::{self, Dims, c_strides, chunk_bytes};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The memory that a copy uses, about, if nothing else is asked for.
pub const DEFAULT_MEMORY: u64 = 512 << 20;
/// The least bytes of a box, so that small chunks are not copied one by one.
const LEAST: u64 = 1 << 20;
/// The least chunks of a box in a store with latency, which are then read at the same time.
const FLIGHT: u64 = 64;
/// The chunks there that are no small number: a box of more would take long, of which no progress is told.
const MANY: u64 = 4 * FLIGHT;
/// What a thread needs besides the buffers for its chunk: spans that are read together, contexts of codecs.
const THREAD: u64 = 6 << 20;

/// An array that is copied into another one of its shape.
pub struct Rechunk {
    source: Arc<BoundArray>,
    dest: Arc<BoundArray>,
    /// The type of the numbers that the source's elements mean.
    meant: DataType,
    boxes: RechunkPlan,
    /// Bytes of an element in memory, those that it points to among them.
    item: u64,
    /// What a box may have; larger ones go piece by piece where that is possible.
    room: u64,
    width: usize,
    /// What the whole array takes, with what one thread needs.
    enough: u64,
    overflow: Overflow,
    /// Buffers of boxes that are done.
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Rechunk {
    /// From `source` to `dest`, which has the same shape, with about `memory` bytes (0: [`DEFAULT_MEMORY`]). `beside` are the bytes that
    /// an element of variable length has on average, besides its place in memory. Values that do not fit are treated as `overflow` says.
    pub fn new(source: &Arc<BoundArray>, dest: &Arc<BoundArray>, memory: u64, beside: u64, overflow: Overflow) -> Result<Rechunk> {
        if source.shape != dest.shape {
            bail!(Argument, "a copy of shape {:?} of an array of shape {:?}", dest.shape.as_slice(), source.shape.as_slice());
        }
        check_types(source.data_type, dest.data_type, Use::Source)?;
        let memory = if memory == 0 { DEFAULT_MEMORY } else { memory };
        let item = source.data_type.size() as u64 + beside;
        let stored = (dest.data_type.size() as u64 + beside).max(item);
        let from = Grid::regular(unit(&source.chain).iter().map(|&n| n.max(1)).collect())?;
        let (read, write) = (bytes(&unit(&source.chain), item), bytes(&unit(&dest.chain), stored));
        // A thread has a chunk as it is read and decoded, one as it is encoded, and a shard that is put together.
        let shard = if dest.is_sharded() { bytes(dest.chain.shape(), stored) } else { 0 };
        let whole = shard.min(memory / 4);
        let each = THREAD + 2 * read.saturating_add(write).min(memory) + whole;
        let threads = usize::try_from(memory / 2 / each).unwrap_or(usize::MAX).clamp(1, source.pool.threads().min(dest.pool.threads()));
        let room = (memory.saturating_sub(each.saturating_mul(threads as u64))).max(memory / 4);
        let room = if threads > 1 { room / 2 } else { room };
        let latency = source.store.capabilities().latency || dest.store.capabilities().latency;
        let chunks = |n: u64| n.saturating_mul(read.max(write));
        let least = if latency { chunks(FLIGHT).max(LEAST.min(chunks(MANY))) } else { LEAST };
        let boxes = RechunkPlan::new(&dest.shape, &from, &dest.grid, item, room, least.min(room));
        let most = boxes.most_bytes(item).max(1);
        let width = if threads > 1 { usize::try_from(2 * room / most).unwrap_or(threads).clamp(1, threads) } else { 1 };
        let on = |array: &Arc<BoundArray>, pool: &Arc<Pool>| Arc::new(BoundArray { pool: pool.clone(), ..(**array).clone() });
        let pool = if threads < source.pool.threads() { Pool::new(threads) } else { source.pool.clone() };
        let (source, dest) = (on(source, &pool), on(dest, &pool));
        // Of a quarter, at least, half is the room of a box.
        let all = bytes(&dest.shape, stored).saturating_mul(8);
        let one = (read.saturating_add(write).saturating_mul(2)).saturating_add(shard).saturating_add(THREAD).saturating_mul(2);
        let enough = all.max(one);
        let meant = source.data_type;
        Ok(Rechunk { source, dest, meant, boxes, item, room, width, enough, overflow, spare: Mutex::default() })
    }

    /// The bits of the source's elements are those of numbers of this type, of the same size, which are converted.
    pub fn meaning(self, meant: DataType) -> Rechunk {
        Rechunk { meant, ..self }
    }

    /// Returns the bytes of memory with which the array is copied as with any more: all of it is one box.
    pub fn enough_memory(&self) -> u64 {
        self.enough
    }

    /// Returns the number of boxes.
    pub fn boxes(&self) -> u64 {
        self.boxes.count()
    }

    /// Returns the number of chunks of the target in a box.
    pub fn chunks_in(&self, number: u64) -> u64 {
        self.boxes.chunks_in(number)
    }

    /// Adds the numbers of the boxes that a chunk of the source, which is inside the array, reaches into. Errors: `Limit`, `NoMemory`.
    pub fn reached(&self, chunk: &[u64], out: &mut Vec<u64>) -> Result<()> {
        let (start, shape) = inside(&self.source, chunk);
        if shape.contains(&0) { Ok(()) } else { self.boxes.reached(&start, &shape, out) }
    }

    /// Copies the boxes of those numbers, or all; `told` is called with the number of chunks that are done.
    pub fn run(&self, numbers: Option<&[u64]>, told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let count = numbers.map_or(self.boxes(), |n| n.len() as u64);
        let done = AtomicU64::new(0);
        let task = |i: u64, running: &Running<'_>| {
            let chunks = self.copy(numbers.map_or(i, |n| n[i as usize]), running)?;
            done.fetch_add(chunks, Ordering::Relaxed);
            Ok(())
        };
        tasks::run(&self.source.pool, count, self.width, &task, &mut |_| told(done.load(Ordering::Relaxed)))
    }

    /// Returns how many boxes [`Rechunk::run`] copies at the same time.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Copies a box, of which nothing is written if an end is wanted when it is read; returns the number of chunks of the target in it.
    pub fn copy(&self, number: u64, running: &Running<'_>) -> Result<u64> {
        self.copy_box(number, running).map(|()| self.chunks_in(number))
    }

    fn copy_box(&self, number: u64, running: &Running<'_>) -> Result<()> {
        let (start, shape) = self.boxes.at(number);
        if bytes(&shape, self.item) > self.room
            && self.chunks_in(number) == 1
            && let chain = self.dest.chain_of(&self.boxes.cells_of(number).0)?
            && let Some(shard) = plain_shard(&chain)
        {
            return self.copy_shard(&self.boxes.cells_of(number).0, shard, (&start, &shape), running);
        }
        self.with_box(&start, &shape, |selection, memory| {
            if running.is_over() {
                return Ok(());
            }
            // SAFETY: the buffer lives, unaliased, until the call has returned.
            unsafe { super::write(&self.dest, selection, memory) }
        })
    }

    /// Reads a box, and gives it to `then`.
    fn with_box(&self, start: &[u64], shape: &[u64], then: impl FnOnce(&Selection, &Memory) -> Result<()>) -> Result<()> {
        let data_type = self.source.data_type;
        let size = chunk_bytes(shape, data_type.size())?;
        let mut buffer = lock(&self.spare).pop().unwrap_or_default();
        if buffer.capacity() < size {
            // Not to be copied while it grows.
            buffer = Vec::new();
        }
        let data = limits::grow(&mut buffer, size)?.as_mut_ptr();
        let arena = data_type.is_variable().then(Default::default);
        let strides = c_strides(shape, data_type.size());
        let memory = Memory { data, size, offset: 0, strides, data_type, overflow: self.overflow, arena };
        let signed = |dims: &[u64]| dims.iter().map(|&n| n as i64).collect::<Vec<_>>();
        let selection = Selection::new(&self.source.shape, &signed(start), &signed(shape), None)?;
        // SAFETY: the buffer lives, unaliased, until the call has returned.
        unsafe { super::read(&self.source, &selection, &memory) }?;
        let result = then(&selection, &Memory { data_type: self.meant, ..memory });
        lock(&self.spare).push(buffer);
        result
    }

    /// Copies the shard of that index, which has the box `(start, shape)`, by pieces of whole inner chunks.
    fn copy_shard(&self, chunk: &[u64], shard: &Sharded, (start, shape): (&[u64], &[u64]), running: &Running<'_>) -> Result<()> {
        let inner = unit_of(shard);
        let grid = |extents: &[u64]| Grid::regular(extents.iter().map(|&n| n.max(1)).collect());
        let pieces = RechunkPlan::new(shape, &grid(&unit(&self.source.chain))?, &grid(&inner)?, self.item, self.room, 0);
        let mut writer = ShardWriter::new(&self.dest, chunk)?;
        for piece in 0..pieces.count() {
            if running.is_over() {
                return Ok(());
            }
            let (at, extent) = pieces.at(piece);
            let first: Dims = start.iter().zip(&at).map(|(a, b)| a + b).collect();
            self.with_box(&first, &extent, |_, memory| {
                let (from, to) = pieces.cells_of(piece);
                each_between(&from, &to, &mut |place| {
                    let offset = (0..place.len()).map(|d| (place[d] - from[d]) * inner[d] * memory.strides[d] as u64).sum::<u64>();
                    let one = Memory { offset: offset as usize, ..memory.clone() };
                    // SAFETY: the inner chunk is inside the piece, whose buffer lives until the call has returned.
                    unsafe { writer.put(place, &one) }
                })
            })?;
        }
        writer.finish()
    }
}

/// Returns the average number of bytes that the elements of a chunk have, which are of variable length; of some of them, if there are many.
pub fn average_length(source: &Arc<BoundArray>, chunk: &[u64]) -> Result<u64> {
    const LOOKED_AT: u64 = 1 << 16;
    let (start, mut shape) = inside(source, chunk);
    while shape.iter().fold(1, |n: u64, &c| n.saturating_mul(c)) > LOOKED_AT {
        if let Some(longest) = shape.iter_mut().max_by_key(|n| **n) {
            *longest = longest.div_ceil(2);
        }
    }
    let size = chunk_bytes(&shape, size_of::<VarItem>())?;
    if size == 0 {
        return Ok(0);
    }
    let (mut buffer, data_type) = (Vec::new(), source.data_type);
    let data = limits::grow(&mut buffer, size)?.as_mut_ptr();
    let strides = c_strides(&shape, size_of::<VarItem>());
    let memory = Memory { data, size, offset: 0, strides, data_type, overflow: Overflow::Error, arena: Some(Arc::default()) };
    let signed = |dims: &[u64]| dims.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let selection = Selection::new(&source.shape, &signed(&start), &signed(&shape), None)?;
    // SAFETY: the buffer has room for the items, and is used here only.
    unsafe { super::read(source, &selection, &memory) }?;
    // SAFETY: reading filled every item.
    let total: u64 = unsafe { variable::items(&buffer) }.map(|item| item.len as u64).sum();
    Ok(total.div_ceil((size / size_of::<VarItem>()) as u64))
}

/// Returns the first element and the shape of a chunk, as far as it is inside the array.
fn inside(array: &BoundArray, chunk: &[u64]) -> (Dims, Dims) {
    let start: Dims = chunk.iter().enumerate().map(|(d, &i)| array.grid.origin(d, i)).collect();
    let extent = |d: usize| array.grid.extent(d, chunk[d]).min(array.shape[d].saturating_sub(start[d]));
    let shape = (0..chunk.len()).map(extent).collect();
    (start, shape)
}

/// Returns the shape of what is decoded at once: a chunk, or an inner chunk of the outermost shard.
fn unit(chain: &BoundChain) -> Dims {
    plain_shard(chain).map_or_else(|| chain.shape().clone(), unit_of)
}

fn unit_of(shard: &Sharded) -> Dims {
    let mut unit = shard.shape.clone();
    shard.axes.iter().zip(&shard.inner_shape).for_each(|(&d, &n)| unit[d] = n);
    unit
}

fn bytes(shape: &[u64], item: u64) -> u64 {
    shape.iter().fold(item, |n, &c| n.saturating_mul(c))
}

/// Calls `each` with every index from `from` to `to`, in C order.
fn each_between(from: &[u64], to: &[u64], each: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
    let mut at: Dims = from.into();
    loop {
        each(&at)?;
        let Some(d) = (0..at.len()).rev().find(|&d| at[d] < to[d]) else { return Ok(()) };
        at[d] += 1;
        at[d + 1..].copy_from_slice(&from[d + 1..]);
    }
}
