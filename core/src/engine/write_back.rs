//! Parts of chunks that wait in memory until their chunk is whole, so that each chunk is encoded once however many writes it takes.
//!
//! What waits of a chunk is a box of elements in a dense buffer of the chunk's shape. A write that makes the box a larger box, or
//! changes elements inside of it, is only a copy; with another one the box is stored first, as any part of a chunk is. A box that
//! covers its chunk is stored at once. What is not whole is stored by `flush`: before it is read, when memory is short, and when
//! the program wants it. What cannot be stored goes on waiting. The box of a chunk is touched by the holder of the chunk's lock only.
//!
//! A large box that covers its chunk may be stored by another thread (`engine/behind.rs`), and waits until it is.
//!
//! Nothing here stores anything. A child of `fork` begins with nothing: what the parent has not stored is the parent's to store.

mod choice;

use super::held_room::HeldRoom;
use super::huge_pages::Pages;
use super::item::Axis;
use super::lock::lock;
use super::waiting_box::Span;
use super::{Memory, Overflow, Selection};
use crate::dtype::DataType;
use crate::dtype::stream::LINE;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::fork::ForkReset;
use crate::grid::Grid;
use crate::limits::{Dims, c_strides, chunk_bytes};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, TryLockError};

/// The parts of chunks of one array that wait, within a limit of bytes.
pub struct WriteBack {
    limit: usize,
    /// The most bytes of whole chunks that other threads are to store; 0: none.
    most_behind: usize,
    state: ForkReset<Mutex<WaitingParts>>,
}

#[derive(Default)]
struct WaitingParts {
    parts: HashMap<Dims, Waiting>,
    /// Of the buffers of all parts.
    bytes: usize,
    clock: u64,
    /// Buffers that are used again: fresh memory costs more than to copy into it.
    spare: Vec<Buffer>,
    /// Where the next buffers come from, and how much of it is given away.
    block: Option<(Arc<Pages>, usize)>,
    /// Holds memory for storing what waits.
    room: Option<HeldRoom>,
    /// The bytes of whole chunks that other threads are to store.
    behind: usize,
    /// Another thread could not store a chunk, which waits on.
    failed: bool,
    /// Nothing more may wait while this is more than 0.
    closed: usize,
    /// Nothing that waits is stored any more.
    given_up: bool,
}

/// Bytes of a whole chunk that another thread is to store, until this is dropped, before the calls that come after it.
pub(super) struct BytesBehind {
    kept: Arc<WriteBack>,
    chunk: Dims,
    bytes: usize,
}

impl Drop for BytesBehind {
    fn drop(&mut self) {
        let mut state = lock(self.kept.state.get());
        // A child of `fork` begins with none.
        state.behind = state.behind.saturating_sub(self.bytes);
        // It could not be stored: the next ones are stored by the writes that make them whole, so that their errors are told at once.
        state.failed |= state.parts.contains_key(&self.chunk);
    }
}

/// The most bytes of whole chunks that other threads are to store, of one array: as much again may wait beside it.
const MOST_BEHIND: usize = 32 << 20;

/// The largest block that buffers are cut from. The first is one buffer, and each as large as all before it, so that many buffers are
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

/// The part of one chunk that waits.
pub(super) struct WaitingPart {
    /// The whole chunk in C order; only the box means something. `None` once the chunk is stored.
    buffer: Option<Buffer>,
    span: Span,
    /// The shape of the chunk and the type of the elements.
    shape: Dims,
    data_type: DataType,
    /// Its array was erased or replaced since.
    is_lost: bool,
}

impl WaitingPart {
    /// Returns the first byte of the buffer.
    fn first(&self) -> Result<*mut u8> {
        match &self.buffer {
            Some(buffer) => Ok(buffer.first),
            None => bail!(Internal, "a part of a chunk that was stored is used again"),
        }
    }

    /// Keeps what is beyond the extents `inside` along one dimension; `false` if nothing does.
    fn keep_beyond(&mut self, inside: &dyn Fn(usize) -> u64) -> bool {
        let span = &mut self.span;
        let mut beyond = (0..span.start.len()).filter(|&d| span.end(d) > inside(d));
        let (Some(d), None) = (beyond.next(), beyond.next()) else { return false };
        let (start, end) = (inside(d), span.end(d));
        (span.start[d], span.count[d]) = (start, end - start);
        true
    }

    /// The document may have been replaced by that of another array.
    fn check(&self, shape: &[u64], data_type: DataType) -> Result<()> {
        if !self.is_lost && (self.shape.as_slice(), self.data_type) != (shape, data_type) {
            return Err(replaced());
        }
        Ok(())
    }
}

/// The error of a part that waits for an array that is not there any more.
fn replaced() -> Error {
    err!(State, "the array was erased or replaced since a part of a chunk was written, which waits still")
}

/// Elements of a chunk that may wait.
pub(super) struct Arrival<'a> {
    /// The chunk's index.
    pub chunk: &'a Dims,
    /// The chunk's shape.
    pub shape: &'a Dims,
    /// The extents of the chunk inside the array.
    pub inside: &'a [u64],
    pub data_type: DataType,
    /// The selected elements.
    pub axes: &'a [Axis],
    /// Bytes of the elements are left alone.
    pub is_partial: bool,
    /// An element may not fit.
    pub may_fail: bool,
    /// Brings the elements into a buffer of the chunk with those strides.
    pub place: &'a dyn Fn(*mut u8, &[i64]) -> Result<()>,
    /// Refuses them where the array was cut before them.
    pub check: &'a dyn Fn() -> Result<()>,
}

impl Arrival<'_> {
    /// Whether the elements are all of a box, and whole.
    fn is_box(&self) -> bool {
        self.axes.iter().all(|axis| axis.count == 1 || axis.step.unsigned_abs() == 1) && !self.is_partial
    }
}

/// What becomes of elements that may wait.
pub(super) enum Admission {
    /// They wait.
    Waits,
    /// They made their chunk whole, which is to be stored.
    Whole,
    /// What waits of the chunk is to be stored first, and then this asked again.
    StoreFirst,
    /// They are to be written now. Nothing of their chunk waits.
    Through,
}

impl WaitingParts {
    /// Cuts a new buffer of `bytes`.
    fn cut(&mut self, bytes: usize, limit: usize) -> Result<Buffer> {
        let size = bytes.max(1).next_multiple_of(LINE);
        if self.block.as_ref().is_none_or(|(block, used)| block.size() - used < size) {
            // Those that were too small stand in the way of larger ones.
            self.spare.clear();
            self.block = None;
            let most = limit.saturating_sub(self.bytes).min(self.bytes.min(BLOCK)).max(size);
            let pages = Pages::new(most, false).or_else(|_| Pages::new(size, false))?;
            self.block = Some((Arc::new(pages), 0));
        }
        let Some((block, used)) = &mut self.block else { bail!(Internal, "no block to cut a buffer from") };
        let first = block.first().wrapping_add(*used);
        *used += size;
        Ok(Buffer { first, size: bytes, _block: block.clone() })
    }
}

impl WriteBack {
    /// Makes room for `limit` bytes of chunks, each of which is stored by the write that makes it whole.
    pub fn new(limit: usize) -> Arc<WriteBack> {
        Arc::new(WriteBack { limit, most_behind: 0, state: ForkReset::new(Mutex::default) })
    }

    /// Makes room for `limit` bytes of chunks, which other threads may store once they are whole.
    pub fn stored_behind(limit: usize) -> Arc<WriteBack> {
        Arc::new(WriteBack { limit, most_behind: MOST_BEHIND, state: ForkReset::new(Mutex::default) })
    }

    /// Counts a whole chunk that another thread is to store, of which there may be one, or some of few bytes; `None` if it may not.
    pub(super) fn behind(self: &Arc<Self>, chunk: &Dims, bytes: usize) -> Option<BytesBehind> {
        let mut state = lock(self.state.get());
        let has_room = state.behind.saturating_add(bytes) <= self.most_behind || (state.behind == 0 && self.most_behind > 0);
        if state.failed || !has_room {
            return None;
        }
        state.behind += bytes;
        Some(BytesBehind { kept: self.clone(), chunk: chunk.clone(), bytes })
    }

    /// All that waited is stored.
    pub(super) fn all_stored(&self) {
        lock(self.state.get()).failed = false;
    }

    /// Returns the most bytes that may wait.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Lets nothing more wait from now on.
    pub(super) fn close(&self) {
        lock(self.state.get()).closed += 1;
    }

    /// Takes one [`WriteBack::close`] back.
    pub(super) fn reopen(&self) {
        let mut state = lock(self.state.get());
        state.closed = state.closed.saturating_sub(1);
    }

    /// Returns the bytes of the chunks of which parts wait.
    pub fn bytes(&self) -> usize {
        lock(self.state.get()).bytes
    }

    fn find(&self, chunk: &[u64]) -> Option<Arc<Mutex<WaitingPart>>> {
        let state = &mut *lock(self.state.get());
        state.clock += 1;
        let waiting = if state.given_up { None } else { state.parts.get_mut(chunk) }?;
        waiting.used = state.clock;
        Some(waiting.part.clone())
    }

    /// A buffer for one more chunk; `None` where there is no room within `limit`, or no memory.
    fn buffer(&self, bytes: usize, limit: usize) -> Result<Option<Buffer>> {
        let mut state = lock(self.state.get());
        if state.closed > 0 || state.bytes.saturating_add(bytes) > limit {
            return Ok(None);
        }
        if !state.room.get_or_insert_with(HeldRoom::new).holds(bytes) {
            return Ok(None);
        }
        let spare = state.spare.iter().rposition(|spare| spare.size >= bytes);
        let buffer = match spare {
            Some(i) => state.spare.swap_remove(i),
            None => match state.cut(bytes, self.limit) {
                Err(e) if e.kind() == ErrorKind::NoMemory => return Ok(None),
                cut => cut?,
            },
        };
        state.bytes += buffer.size;
        Ok(Some(buffer))
    }

    fn give_back(&self, buffer: Buffer) {
        let mut state = lock(self.state.get());
        state.bytes -= buffer.size;
        let spare: usize = state.spare.iter().map(|spare| spare.size).sum();
        // Where there is no memory for the list it is freed.
        if state.bytes.saturating_add(spare).saturating_add(buffer.size) <= self.limit && state.spare.try_reserve(1).is_ok() {
            state.spare.push(buffer);
        }
    }

    /// Frees the buffers that nothing waits in.
    pub(super) fn free_spare(&self) {
        let mut state = lock(self.state.get());
        (state.spare, state.block) = (Vec::new(), None);
    }

    /// What waited of a chunk is stored as far as it is inside an array of the lengths `length`. What is beyond along one dimension waits on: an
    /// appender stores up to the steps that it publishes, and may have taken parts of the next one.
    pub(super) fn stored(&self, grid: &Grid, length: &[u64], chunk: &[u64]) {
        if let Some(part) = self.find(chunk)
            && lock(&part).keep_beyond(&|d| length[d].saturating_sub(grid.origin(d, chunk[d])))
        {
            return;
        }
        self.forget(chunk);
    }

    /// What waits by now is never stored: its array was erased or replaced.
    pub fn lose(&self) {
        self.retain(|_, part| {
            part.is_lost = true;
            true
        });
    }

    /// Drops what waits of chunks that `stays` refuses, without a list of all: it is called where memory has ended, too. Parts that other threads
    /// hold, which may want the table, come last.
    fn retain(&self, mut stays: impl FnMut(&[u64], &mut WaitingPart) -> bool) {
        let (mut held, mut table) = (Vec::new(), lock(self.state.get()));
        let state = &mut *table;
        state.parts.retain(|chunk, waiting| {
            let mut part = match waiting.part.try_lock() {
                Ok(part) => part,
                Err(TryLockError::Poisoned(part)) => part.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    held.push((chunk.clone(), waiting.part.clone()));
                    return true;
                }
            };
            let is_left = stays(chunk, &mut part);
            if !is_left {
                state.bytes -= part.buffer.take().map_or(0, |buffer| buffer.size);
            }
            is_left
        });
        drop(table);
        for (chunk, part) in held {
            let is_left = stays(&chunk, &mut lock(&part));
            if !is_left {
                self.forget(&chunk);
            }
        }
    }

    /// Stores nothing from now on of what waits, and tells of none of it: nobody has the array any more. What is being stored is, with its chunk locked.
    /// What is still written, by an appender of the array, waits no more.
    pub fn give_up(&self) {
        let state = &mut *lock(self.state.get());
        (state.given_up, state.closed) = (true, state.closed + 1);
    }

    /// Drops what waits at and behind the index `end` along dimension `dim`.
    pub fn drop_from(&self, grid: &Grid, dim: usize, end: u64) {
        self.retain(|chunk, part| part.span.end_at(dim, end.saturating_sub(grid.origin(dim, chunk[dim]))));
    }

    /// Returns the chunks of which something waits at or behind the lengths `shape`.
    pub(super) fn beyond(&self, grid: &Grid, shape: &[u64]) -> Result<Vec<Dims>> {
        self.chunks(|chunk, part| {
            let span = &lock(part).span;
            shape.iter().enumerate().any(|(d, &length)| grid.origin(d, chunk[d]).saturating_add(span.end(d)) > length)
        })
    }

    /// Drops what waits of a chunk, which is locked, at and behind the lengths `shape`.
    pub(super) fn drop_beyond(&self, grid: &Grid, shape: &[u64], chunk: &[u64]) {
        let Some(part) = self.find(chunk) else { return };
        let is_left = {
            let span = &mut lock(&part).span;
            shape.iter().enumerate().all(|(d, length)| span.end_at(d, length.saturating_sub(grid.origin(d, chunk[d]))))
        };
        if !is_left {
            self.forget(chunk);
        }
    }

    /// The chunk is stored: nothing of it waits any more.
    pub(super) fn forget(&self, chunk: &[u64]) {
        let gone = lock(self.state.get()).parts.remove(chunk);
        let buffer = gone.and_then(|waiting| lock(&waiting.part).buffer.take());
        buffer.into_iter().for_each(|buffer| self.give_back(buffer));
    }

    /// Returns an error where not even one chunk of `shape` has room.
    pub fn check_room(&self, shape: &[u64], data_type: DataType) -> Result<()> {
        let needed = chunk_bytes(shape, data_type.size())?;
        if self.limit < needed {
            bail!(Limit, "{} bytes for parts of chunks have no room for one chunk, which has {needed} bytes", self.limit);
        }
        Ok(())
    }

    /// Takes elements of a chunk, which is locked, into a copy of what waits of the chunk and cannot be stored; the copy takes its place once all
    /// fit, and may be beyond the limit until then. `None` where they do not make a larger box with it.
    pub(super) fn overwrite(&self, new: &Arrival<'_>) -> Result<Option<Admission>> {
        let span = Span::around(new.axes);
        let Some(part) = self.find(new.chunk) else { return Ok(None) };
        let mut part = lock(&part);
        part.check(new.shape, new.data_type)?;
        let is_taken = !part.is_lost && (new.is_box() || part.span.holds(&span));
        let Some(both) = part.span.joined(&span).filter(|_| is_taken) else { return Ok(None) };
        let bytes = chunk_bytes(new.shape, new.data_type.size())?;
        let (old, Some(copy)) = (part.first()?, self.buffer(bytes, usize::MAX)?) else { return Ok(None) };
        // SAFETY: two buffers of a chunk; nobody else uses that of a chunk that is locked.
        unsafe { std::ptr::copy_nonoverlapping(old, copy.first, bytes) };
        if let Err(e) = (new.place)(copy.first, &c_strides(new.shape, new.data_type.size())) {
            self.give_back(copy);
            return Err(e);
        }
        part.buffer.replace(copy).into_iter().for_each(|old| self.give_back(old));
        part.span = both;
        Ok(Some(if part.span.covers(new.inside) { Admission::Whole } else { Admission::Waits }))
    }

    /// Takes elements of a chunk, which is locked, into what waits of the chunk.
    pub(super) fn take(&self, new: &Arrival<'_>) -> Result<Admission> {
        let strides = c_strides(new.shape, new.data_type.size());
        let span = Span::around(new.axes);
        let is_box = new.is_box();
        if let Some(part) = self.find(new.chunk) {
            let mut part = lock(&part);
            part.check(new.shape, new.data_type)?;
            // What is lost is told of where it is to be stored.
            let both = if !part.is_lost && (is_box || part.span.holds(&span)) { part.span.joined(&span) } else { None };
            // Elements that wait must stay whole if one of the new ones does not fit.
            let Some(both) = both.filter(|_| !(new.may_fail && part.span.meets(&span))) else { return Ok(Admission::StoreFirst) };
            (new.place)(part.first()?, &strides)?;
            part.span = both;
            return Ok(if part.span.covers(new.inside) { Admission::Whole } else { Admission::Waits });
        }
        let bytes = chunk_bytes(new.shape, new.data_type.size())?;
        let Some(buffer) = (if is_box { self.buffer(bytes, self.limit)? } else { None }) else { return Ok(Admission::Through) };
        if let Err(e) = (new.place)(buffer.first, &strides) {
            self.give_back(buffer);
            return Err(e);
        }
        // A write that covers its chunk needs no other part to wait for, unless it leaves some bytes of each element as they are.
        let whole = span.covers(new.inside);
        let mut state = lock(self.state.get());
        // A cut looks for what waits once it is told of: it finds these elements, or they find it.
        let refused = (new.check)().err();
        if state.closed > 0 || refused.is_some() {
            drop(state);
            self.give_back(buffer);
            return refused.map_or(Ok(Admission::Through), Err);
        }
        if state.parts.try_reserve(1).is_err() {
            let count = state.parts.len();
            drop(state);
            self.give_back(buffer);
            bail!(NoMemory, "no memory for a table of more than {count} chunks that wait");
        }
        let part = WaitingPart { buffer: Some(buffer), span, shape: new.shape.clone(), data_type: new.data_type, is_lost: false };
        state.clock += 1;
        let used = state.clock;
        state.parts.insert(new.chunk.clone(), Waiting { part: Arc::new(Mutex::new(part)), used });
        Ok(if whole { Admission::Whole } else { Admission::Waits })
    }

    /// Returns which elements of a chunk, which is locked, wait to be stored, and where they are, as far as they are inside the array;
    /// `None` if nothing of the chunk waits. What was lost with its array is told of once, and waits no more. Errors: `State`.
    pub(super) fn region(&self, grid: &Grid, length: &[u64], data_type: DataType, chunk: &Dims) -> Result<Option<(Selection, Memory)>> {
        let Some(part) = self.find(chunk) else { return Ok(None) };
        let part = lock(&part);
        if part.is_lost {
            drop(part);
            self.forget(chunk);
            bail!(State, "the array was erased or replaced since a part of a chunk was written, which waits no more");
        }
        if chunk.len() != length.len() {
            return Err(replaced());
        }
        let shape = grid.shape_of(chunk);
        part.check(&shape, data_type)?;
        let (strides, mut offset) = (c_strides(&shape, data_type.size()), 0);
        let (mut start, mut count) = (Vec::with_capacity(shape.len()), Vec::with_capacity(shape.len()));
        for d in 0..shape.len() {
            let first = grid.origin(d, chunk[d]) + part.span.start[d];
            start.push(first.min(length[d]) as i64);
            count.push(part.span.count[d].min(length[d].saturating_sub(first)) as i64);
            offset += part.span.start[d] as usize * strides[d] as usize;
        }
        if count.contains(&0) {
            drop(part);
            self.forget(chunk);
            return Ok(None);
        }
        let selection = Selection::new(length, &start, &count, None)?;
        let (data, size) = (part.first()?, part.buffer.as_ref().map_or(0, |buffer| buffer.size));
        Ok(Some((selection, Memory { data, size, offset, strides, data_type, overflow: Overflow::Error, arena: None })))
    }
}
