//! Parts of chunks that wait in memory until their chunk is whole, so that each chunk is encoded once however many writes it takes.
//!
//! What waits of a chunk is a box of elements in a dense buffer of the chunk's shape. A write that makes the box a larger box, or
//! changes elements inside of it, is only a copy; with another one the box is stored first, as any part of a chunk is. A box that
//! covers its chunk is stored at once. What is not whole is stored by [`flush`]: before it is read, when memory is short, and when
//! the program wants it. What cannot be stored goes on waiting. The box of a chunk is touched by the holder of the chunk's lock only.
//!
//! A child of `fork` begins with nothing: what the parent has not stored is the parent's to store.

use super::array::BoundArray;
use super::huge_pages::Pages;
use super::item::{Axis, Item};
use super::lock::ChunkGuard;
use super::lock::lock;
use super::pool::Pool;
use super::request::{self, Outcome, Request, Work};
use super::scratch::Scratch;
use super::under_lock::{self, ChunkTask};
use super::write::WriteJob;
use super::{Memory, Overflow, Selection};
use crate::dtype::DataType;
use crate::dtype::stream::LINE;
use crate::error::{Result, bail};
use crate::fork::ForkReset;
use crate::limits::{Dims, c_strides, chunk_bytes};
use crate::store::Tuning;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex};

/// The parts of chunks of one array that wait, of so many bytes together.
pub struct WriteBack {
    limit: usize,
    state: ForkReset<Mutex<WaitingParts>>,
}

#[derive(Default)]
struct WaitingParts {
    parts: HashMap<Dims, Waiting, BuildHasherDefault<IndexHasher>>,
    /// Of the buffers of all parts.
    bytes: usize,
    clock: u64,
    /// Buffers that are used again: fresh memory costs more than to copy into it.
    spare: Vec<Buffer>,
    /// Where the next buffers come from, and how much of it is given away.
    block: Option<(Arc<Pages>, usize)>,
}

/// The largest block that buffers are cut from. The first is one buffer, and each as large as all before it, so that many buffers lie
/// in huge pages and few take little.
const BLOCK: usize = 16 << 20;

struct Waiting {
    part: Arc<Mutex<WaitingPart>>,
    used: u64,
}

/// Room for a chunk, at the beginning of a line of the cache.
struct Buffer {
    first: *mut u8,
    size: usize,
    /// What it is a piece of.
    _block: Arc<Pages>,
}

// SAFETY: the bytes are its owner's alone, like a vector's.
unsafe impl Send for Buffer {}

/// Mixes the numbers of a chunk: each step of an appender looks all chunks up, and the usual hash took a third of the time of that. Chunks
/// that meet in it only take longer.
#[derive(Default)]
struct IndexHasher(u64);

impl Hasher for IndexHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        words.by_ref().for_each(|word| self.write_u64(word.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))));
        words.remainder().iter().for_each(|&b| self.write_u64(b.into()));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(26) ^ n).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn finish(&self) -> u64 {
        // The table takes its places from the low bits and its marks from the high ones.
        self.0 ^ self.0 >> 32
    }
}

/// The part of one chunk that waits.
pub(super) struct WaitingPart {
    /// The whole chunk in C order; only the box means something. `None` once the chunk is stored.
    buffer: Option<Buffer>,
    span: Span,
    /// The shape of the chunk and the type of the elements.
    shape: Dims,
    data_type: DataType,
}

impl WaitingPart {
    /// The first byte of the buffer.
    fn first(&self) -> Result<*mut u8> {
        match &self.buffer {
            Some(buffer) => Ok(buffer.first),
            None => bail!(Internal, "a part of a chunk that was stored is used again"),
        }
    }

    /// The document may have been replaced by that of another array.
    fn check(&self, shape: &[u64], data_type: DataType) -> Result<()> {
        if (self.shape.as_slice(), self.data_type) != (shape, data_type) {
            bail!(State, "the array has other chunks or elements by now than when a part of a chunk was written, which waits still");
        }
        Ok(())
    }
}

/// A box of elements in a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Span {
    start: Dims,
    count: Dims,
}

impl Span {
    /// The smallest box around selected elements.
    fn around(axes: &[Axis]) -> Span {
        let last = |a: &Axis| a.start.wrapping_add_signed(a.step.wrapping_mul(a.count as i64 - 1));
        let start: Dims = axes.iter().map(|a| a.start.min(last(a))).collect();
        let count = axes.iter().map(|a| a.start.abs_diff(last(a)) + 1).collect();
        Span { start, count }
    }

    fn end(&self, d: usize) -> u64 {
        self.start[d] + self.count[d]
    }

    fn holds(&self, other: &Span) -> bool {
        (0..self.start.len()).all(|d| self.start[d] <= other.start[d] && other.end(d) <= self.end(d))
    }

    fn meets(&self, other: &Span) -> bool {
        (0..self.start.len()).all(|d| self.start[d] < other.end(d) && other.start[d] < self.end(d))
    }

    /// Both together, if that is a box.
    fn joined(&self, other: &Span) -> Option<Span> {
        if self.holds(other) {
            return Some(self.clone());
        }
        if other.holds(self) {
            return Some(other.clone());
        }
        let mut differ = (0..self.start.len()).filter(|&d| (self.start[d], self.count[d]) != (other.start[d], other.count[d]));
        let (Some(d), None) = (differ.next(), differ.next()) else { return None };
        if self.start[d] > other.end(d) || other.start[d] > self.end(d) {
            return None;
        }
        let mut both = self.clone();
        both.start[d] = self.start[d].min(other.start[d]);
        both.count[d] = self.end(d).max(other.end(d)) - both.start[d];
        Some(both)
    }

    fn covers(&self, inside: &[u64]) -> bool {
        self.start.iter().all(|&s| s == 0) && self.count.iter().zip(inside).all(|(c, n)| c >= n)
    }
}

/// What becomes of an item that may wait.
pub(super) enum Admission {
    /// It waits.
    Waits,
    /// It made its chunk whole: the job of storing that.
    Whole(Arc<WriteJob>),
    /// It is to be written now. Nothing of its chunk waits any more.
    Through,
}

impl WaitingParts {
    /// A buffer of so many bytes that was none before.
    fn cut(&mut self, bytes: usize, limit: usize) -> Result<Buffer> {
        let size = bytes.max(1).next_multiple_of(LINE);
        if self.block.as_ref().is_none_or(|(block, used)| block.size() - used < size) {
            // Those that were too small stand in the way of larger ones.
            self.spare.clear();
            let room = limit.saturating_sub(self.bytes).min(self.bytes.min(BLOCK)).max(size);
            self.block = Some((Arc::new(Pages::new(room, false)?), 0));
        }
        let Some((block, used)) = &mut self.block else { bail!(Internal, "no block to cut a buffer from") };
        let first = block.first().wrapping_add(*used);
        *used += size;
        Ok(Buffer { first, size: bytes, _block: block.clone() })
    }
}

impl WriteBack {
    /// Room for so many bytes of chunks.
    pub fn new(limit: usize) -> Arc<WriteBack> {
        Arc::new(WriteBack { limit, state: ForkReset::new(Mutex::default) })
    }

    /// An error where not even one chunk of the array has room.
    pub fn check_room(&self, array: &BoundArray) -> Result<()> {
        let needed = chunk_bytes(array.chain.shape(), array.data_type.size())?;
        if self.limit < needed {
            bail!(Limit, "{} bytes for parts of chunks have no room for one chunk, which has {needed} bytes", self.limit);
        }
        Ok(())
    }

    /// The most bytes that may wait.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes of the chunks of which parts wait.
    pub fn bytes(&self) -> usize {
        lock(self.state.get()).bytes
    }

    fn find(&self, chunk: &[u64]) -> Option<Arc<Mutex<WaitingPart>>> {
        let mut state = lock(self.state.get());
        state.clock += 1;
        let now = state.clock;
        let waiting = state.parts.get_mut(chunk)?;
        waiting.used = now;
        Some(waiting.part.clone())
    }

    /// A buffer for one more chunk; `None` where there is no room.
    fn buffer(&self, bytes: usize) -> Result<Option<Buffer>> {
        let mut state = lock(self.state.get());
        if state.bytes.saturating_add(bytes) > self.limit {
            return Ok(None);
        }
        let spare = state.spare.iter().rposition(|spare| spare.size >= bytes);
        let buffer = match spare {
            Some(i) => state.spare.swap_remove(i),
            None => state.cut(bytes, self.limit)?,
        };
        state.bytes += buffer.size;
        Ok(Some(buffer))
    }

    fn give_back(&self, buffer: Buffer) {
        let mut state = lock(self.state.get());
        state.bytes -= buffer.size;
        let spare: usize = state.spare.iter().map(|spare| spare.size).sum();
        if state.bytes.saturating_add(spare).saturating_add(buffer.size) <= self.limit {
            state.spare.push(buffer);
        }
    }

    /// The chunk is stored: nothing of it waits any more.
    pub(super) fn forget(&self, chunk: &[u64]) {
        let gone = lock(self.state.get()).parts.remove(chunk);
        let buffer = gone.and_then(|waiting| lock(&waiting.part).buffer.take());
        buffer.into_iter().for_each(|buffer| self.give_back(buffer));
    }

    /// Takes an item of a job, whose chunk is locked, into what waits of the chunk.
    pub(super) fn take(self: &Arc<Self>, job: &WriteJob, item: &Item, s: &mut Scratch) -> Result<Admission> {
        let array = &job.array;
        let chunk = array.grid.shape_of(&item.chunk);
        let strides = c_strides(&chunk, array.data_type.size());
        let new = Span::around(&item.axes);
        let is_box = item.axes.iter().all(|axis| axis.count == 1 || axis.step.unsigned_abs() == 1) && !job.change.is_partial();
        // Elements that wait must stay whole if one of the new ones does not fit.
        let may_fail = job.change.plain_copy().is_none();
        if let Some(part) = self.find(&item.chunk) {
            let mut part = lock(&part);
            part.check(&chunk, array.data_type)?;
            let both = if is_box || part.span.holds(&new) { part.span.joined(&new) } else { None };
            match both.filter(|_| !(may_fail && part.span.meets(&new))) {
                Some(both) => {
                    job.place(item, part.first()?, &strides)?;
                    let whole = both.covers(&array.inside(&item.chunk));
                    part.span = both;
                    drop(part);
                    return if whole { self.whole(job, item) } else { Ok(Admission::Waits) };
                }
                None => {
                    drop(part);
                    self.store_now(job, item, s)?;
                }
            }
        }
        let bytes = chunk_bytes(&chunk, array.data_type.size())?;
        let Some(buffer) = (if is_box { self.buffer(bytes)? } else { None }) else { return Ok(Admission::Through) };
        if let Err(e) = job.place(item, buffer.first, &strides) {
            self.give_back(buffer);
            return Err(e);
        }
        // One that covers its chunk needs not wait, but for a change that leaves bytes of elements alone.
        let whole = new.covers(&array.inside(&item.chunk));
        let part = Arc::new(Mutex::new(WaitingPart { buffer: Some(buffer), span: new, shape: chunk, data_type: array.data_type }));
        let mut state = lock(self.state.get());
        state.clock += 1;
        let used = state.clock;
        state.parts.insert(item.chunk.clone(), Waiting { part, used });
        drop(state);
        if whole { self.whole(job, item) } else { Ok(Admission::Waits) }
    }

    /// What waits of an item's chunk covers it.
    fn whole(self: &Arc<Self>, job: &WriteJob, item: &Item) -> Result<Admission> {
        Ok(self.job(&through(&job.array), &item.chunk)?.map_or(Admission::Waits, |job| Admission::Whole(Arc::new(job))))
    }

    /// Stores what waits of an item's chunk, which is locked, before anything else is done to the chunk.
    fn store_now(self: &Arc<Self>, job: &WriteJob, item: &Item, s: &mut Scratch) -> Result<()> {
        match self.job(&through(&job.array), &item.chunk)? {
            Some(old) => old.write_now(&old.plan.region_item(0), s),
            None => Ok(()),
        }
    }

    /// The job of storing what waits of a chunk, which is locked, as far as it lies inside of the array.
    fn job(self: &Arc<Self>, array: &Arc<BoundArray>, chunk: &Dims) -> Result<Option<WriteJob>> {
        let Some(part) = self.find(chunk) else { return Ok(None) };
        let part = lock(&part);
        let (size, shape) = (array.data_type.size(), array.grid.shape_of(chunk));
        part.check(&shape, array.data_type)?;
        let (strides, mut offset) = (c_strides(&shape, size), 0);
        let (mut start, mut count) = (Vec::with_capacity(shape.len()), Vec::with_capacity(shape.len()));
        for d in 0..shape.len() {
            let first = array.grid.origin(d, chunk[d]) + part.span.start[d];
            start.push(first.min(array.shape[d]) as i64);
            count.push(part.span.count[d].min(array.shape[d].saturating_sub(first)) as i64);
            offset += part.span.start[d] as usize * strides[d] as usize;
        }
        if count.contains(&0) {
            drop(part);
            self.forget(chunk);
            return Ok(None);
        }
        let selection = Selection::new(&array.shape, &start, &count, None)?;
        let (data, size) = (part.first()?, part.buffer.as_ref().map_or(0, |buffer| buffer.size));
        let memory = Memory { data, size, offset, strides, data_type: array.data_type, overflow: Overflow::Error, arena: None };
        let job = super::write::job(array, &selection, &memory, None, None)?;
        Ok(Some(job.settling(self.clone(), chunk.clone())))
    }

    /// The chunks of which elements wait that are among the selected ones, or of which any wait.
    fn touched(&self, array: &BoundArray, selection: Option<&Selection>) -> Vec<Dims> {
        let parts: Vec<(Dims, Arc<Mutex<WaitingPart>>)> =
            lock(self.state.get()).parts.iter().map(|(chunk, waiting)| (chunk.clone(), waiting.part.clone())).collect();
        let mut chunks: Vec<Dims> = parts
            .into_iter()
            .filter(|(chunk, part)| {
                let Some(selection) = selection else { return true };
                if selection.shape().contains(&0) {
                    return false;
                }
                let axes = (0..chunk.len()).map(|d| Axis {
                    start: selection.start()[d],
                    count: selection.shape()[d],
                    step: selection.step()[d],
                    memory: 0,
                });
                let mut part = lock(part).span.clone();
                (0..chunk.len()).for_each(|d| part.start[d] += array.grid.origin(d, chunk[d]));
                part.meets(&Span::around(&axes.collect::<Vec<_>>()))
            })
            .map(|(chunk, _)| chunk)
            .collect();
        chunks.sort_unstable();
        chunks
    }

    /// Makes room for a job's chunks that are written in part: those that were not used for the longest time are stored.
    pub(super) fn make_room(self: &Arc<Self>, job: &WriteJob) -> Result<()> {
        let array = &job.array;
        let each = chunk_bytes(array.chain.shape(), array.data_type.size())? as u64;
        if (self.bytes() as u64).saturating_add(job.plan.items().saturating_mul(each)) <= self.limit as u64 {
            return Ok(());
        }
        // In more chunks than have room at all, none of the others need wait.
        let most = (self.limit as u64 / each.max(1)).min(job.plan.items());
        let oldest = {
            let state = lock(self.state.get());
            let new = |n: &u64| !state.parts.contains_key(&job.plan.region_item(*n).chunk);
            let needed = (0..most).filter(new).count() * each as usize;
            let surplus = state.bytes.saturating_add(needed).saturating_sub(self.limit);
            if surplus == 0 {
                return Ok(());
            }
            let items: HashSet<Dims> = (0..most).map(|n| job.plan.region_item(n).chunk).collect();
            let mut others: Vec<(u64, &Dims)> =
                state.parts.iter().filter(|(chunk, _)| !items.contains(*chunk)).map(|(chunk, waiting)| (waiting.used, chunk)).collect();
            others.sort_unstable();
            others.into_iter().take(surplus.div_ceil(each.max(1) as usize)).map(|(_, chunk)| chunk.clone()).collect::<Vec<_>>()
        };
        store(array, self, oldest)
    }
}

/// The array without a place to wait.
fn through(array: &Arc<BoundArray>) -> Arc<BoundArray> {
    if array.write_back.is_none() { array.clone() } else { Arc::new(BoundArray { write_back: None, ..(**array).clone() }) }
}

/// The array for writes that do not wait, after what does among the selected elements (or at all) was stored.
pub(super) fn written_through(array: &Arc<BoundArray>, selection: Option<&Selection>) -> Result<Arc<BoundArray>> {
    if let Some(kept) = &array.write_back {
        flush(array, kept, selection)?;
    }
    Ok(through(array))
}

/// Stores what waits of the chunks of which selected elements wait (all, without a selection), in parallel. What cannot be stored
/// goes on waiting, and is tried again by the next call.
pub fn flush(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, selection: Option<&Selection>) -> Result<()> {
    store(array, kept, kept.touched(array, selection))
}

fn store(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, chunks: Vec<Dims>) -> Result<()> {
    if chunks.is_empty() {
        return Ok(());
    }
    request::run(Box::new(Flush(Arc::new(Chunks { array: through(array), kept: kept.clone(), chunks }))))
}

struct Flush(Arc<Chunks>);

/// Chunks of which what waits is to be stored.
struct Chunks {
    array: Arc<BoundArray>,
    kept: Arc<WriteBack>,
    chunks: Vec<Dims>,
}

impl Work for Flush {
    fn items(&self) -> u64 {
        self.0.chunks.len() as u64
    }

    fn bytes(&self) -> u64 {
        self.0.kept.bytes() as u64
    }

    fn pool(&self) -> &Pool {
        &self.0.array.pool
    }

    fn finish_others(&self) -> bool {
        true
    }

    fn tuning(&self) -> Tuning {
        self.0.array.store.tuning()
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        under_lock::run(&FlushChunk { chunks: self.0.clone(), number }, request, None)
    }
}

/// One chunk of which what waits is stored.
#[derive(Clone)]
struct FlushChunk {
    chunks: Arc<Chunks>,
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
        match self.chunks.kept.job(&self.chunks.array, chunk) {
            Ok(Some(job)) => {
                let item = job.plan.region_item(0);
                Arc::new(job).store_item(&item, request, guard, s)
            }
            Ok(None) => Outcome::Done(Ok(())),
            Err(e) => Outcome::Done(Err(e)),
        }
    }
}
