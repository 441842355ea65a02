//! Parts of chunks that wait in memory until their chunk is whole, so that each chunk is encoded once however many writes it takes.
//!
//! What waits of a chunk are elements in a dense buffer of the chunk's shape: those of a box or, once others come than make it a larger
//! box, those that bits say. Where these have no room what waits is stored first, as any part of a chunk is. A chunk of which all
//! elements wait is stored at once. What is not whole is stored by `flush`: before it is read, when memory is short, and when
//! the program wants it. What cannot be stored goes on waiting. The box of a chunk is touched by the holder of the chunk's lock only.
//!
//! A large box that covers its chunk may be stored by another thread (`engine/behind.rs`), and waits until it is.
//!
//! Nothing here stores anything. A child of `fork` begins with nothing: what the parent has not stored is the parent's to store.

mod choice;

pub(super) use super::waiting_part::Arrival;

use super::held_room::HeldRoom;
use super::huge_pages::Pages;
use super::lock::lock;
use super::mask_bits::MaskBits;
use super::pick_list::PickList;
use super::plan::Plan;
use super::waiting_box::Span;
use super::waiting_part::{Buffer, WaitingPart, replaced};
use super::written_bits::WrittenBits;
use super::{Memory, Overflow, Selection};
use crate::codec::BoundChain;
use crate::dtype::DataType;
use crate::dtype::stream::LINE;
use crate::error::{ErrorKind, Result, bail};
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
    /// Something that waits, or should have, is not all of a box.
    has_bits: bool,
    clock: u64,
    /// Buffers that are used again: fresh memory costs more than to copy into it.
    spare: Vec<Buffer>,
    /// The bytes of these buffers: there may be one for each chunk that waited.
    spare_bytes: usize,
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
    /// Its buffer has bits.
    has_bits: bool,
}

/// What waits of a chunk.
pub(super) struct WaitingRegion {
    /// The box around it.
    selection: Selection,
    /// Which elements of the box it is; `None`: all.
    mask: Option<MaskBits>,
    /// Where the box is.
    memory: Memory,
}

impl WaitingRegion {
    /// Plans to store it in an array of the lengths `length`, whose chunks have `chain`.
    pub(super) fn plan(self, grid: &Grid, chain: &BoundChain, length: &[u64]) -> Result<(Plan, Memory)> {
        let WaitingRegion { selection, mask, memory } = self;
        let (strides, size) = (&memory.strides, memory.data_type.size());
        let plan = match mask {
            None => Plan::new(grid, &selection, strides, size)?,
            Some(mask) => Plan::listed(PickList::in_place(grid, chain, length, mask, strides), length.len(), size)?,
        };
        Ok((plan, memory))
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
            (self.spare, self.spare_bytes, self.block) = (Vec::new(), 0, None);
            let most = limit.saturating_sub(self.bytes).min(self.bytes.min(BLOCK)).max(size);
            let pages = Pages::new(most, false).or_else(|_| Pages::new(size, false))?;
            self.block = Some((Arc::new(pages), 0));
        }
        let Some((block, used)) = &mut self.block else { bail!(Internal, "no block to cut a buffer from") };
        let first = block.first().wrapping_add(*used);
        *used += size;
        Ok(Buffer { first, size: bytes, bits: None, _block: block.clone() })
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
        let spare = state.spare.iter().rposition(|spare| spare.size >= bytes).map(|i| state.spare.swap_remove(i));
        state.spare_bytes -= spare.as_ref().map_or(0, |spare| spare.size);
        let buffer = match spare {
            Some(spare) => spare,
            None => match state.cut(bytes, self.limit) {
                Err(e) if e.kind() == ErrorKind::NoMemory => return Ok(None),
                cut => cut?,
            },
        };
        state.bytes += buffer.size;
        Ok(Some(buffer))
    }

    /// Gives a buffer of a chunk bits, in which a box is set; `false` where there is no room within `limit`, or no memory.
    fn give_bits(&self, buffer: &mut Buffer, (chunk, shape): (&Dims, &Dims), written: Option<&Span>, limit: usize) -> bool {
        if buffer.bits.is_some() {
            return true;
        }
        let mut state = lock(self.state.get());
        state.has_bits = true;
        let bytes = WrittenBits::bytes_of(shape.iter().product());
        // Storing what is not all of a box takes a mask of it, too.
        let room = buffer.size.saturating_add(bytes);
        if state.closed > 0 || state.bytes.saturating_add(bytes) > limit || !state.room.get_or_insert_with(HeldRoom::new).holds(room) {
            return false;
        }
        let Some(mut bits) = WrittenBits::new(shape) else { return false };
        written.into_iter().for_each(|span| bits.set(&span.axes()));
        state.bytes += bits.bytes();
        state.parts.get_mut(chunk).into_iter().for_each(|waiting| waiting.has_bits = true);
        buffer.bits = Some(bits);
        true
    }

    fn give_back(&self, mut buffer: Buffer) {
        let mut state = lock(self.state.get());
        state.bytes -= buffer.bytes();
        buffer.bits = None;
        // Where there is no memory for the list it is freed.
        if state.bytes.saturating_add(state.spare_bytes).saturating_add(buffer.size) <= self.limit && state.spare.try_reserve(1).is_ok() {
            state.spare_bytes += buffer.size;
            state.spare.push(buffer);
        }
    }

    /// Frees the buffers that nothing waits in.
    pub(super) fn free_spare(&self) {
        let mut state = lock(self.state.get());
        (state.spare, state.spare_bytes, state.block) = (Vec::new(), 0, None);
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
                state.bytes -= part.buffer.take().map_or(0, |buffer| buffer.bytes());
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
        self.retain(|chunk, part| part.end_at(dim, end.saturating_sub(grid.origin(dim, chunk[dim]))));
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
            let part = &mut *lock(&part);
            shape.iter().enumerate().all(|(d, length)| part.end_at(d, length.saturating_sub(grid.origin(d, chunk[d]))))
        };
        if !is_left {
            self.forget(chunk);
        }
    }

    /// The chunk is stored: nothing of it waits any more.
    pub(super) fn forget(&self, chunk: &[u64]) {
        let mut state = lock(self.state.get());
        let gone = state.parts.remove(chunk);
        // What comes next may be boxes alone, which need no room for bits.
        state.has_bits &= !state.parts.is_empty();
        drop(state);
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
    /// fit, and may be beyond the limit until then. `None` where they may not wait with it.
    pub(super) fn overwrite(&self, new: &Arrival<'_>) -> Result<Option<Admission>> {
        let Some(part) = self.find(new.chunk) else { return Ok(None) };
        let part = &mut *lock(&part);
        part.check(new.shape, new.data_type)?;
        let Some((both, has_bits)) = part.joined(new) else { return Ok(None) };
        let bytes = chunk_bytes(new.shape, new.data_type.size())?;
        let Some(mut copy) = self.buffer(bytes, usize::MAX)? else { return Ok(None) };
        let WaitingPart { buffer: Some(old), span, .. } = &*part else {
            bail!(Internal, "a part of a chunk that was stored is used again")
        };
        // SAFETY: two buffers of a chunk; nobody else uses that of a chunk that is locked.
        unsafe { std::ptr::copy_nonoverlapping(old.first, copy.first, bytes) };
        if has_bits && !self.give_bits(&mut copy, (new.chunk, new.shape), old.bits.is_none().then_some(span), usize::MAX) {
            self.give_back(copy);
            return Ok(None);
        }
        if let (Some(to), Some(from)) = (&mut copy.bits, &old.bits) {
            to.copy_from(from);
        }
        if let Err(e) = (new.place)(copy.first, &c_strides(new.shape, new.data_type.size())) {
            self.give_back(copy);
            return Err(e);
        }
        part.buffer.replace(copy).into_iter().for_each(|old| self.give_back(old));
        part.add(both, new.axes);
        Ok(Some(if part.covers(new.inside) { Admission::Whole } else { Admission::Waits }))
    }

    /// Takes elements of a chunk, which is locked, into what waits of the chunk.
    pub(super) fn take(&self, new: &Arrival<'_>) -> Result<Admission> {
        let strides = c_strides(new.shape, new.data_type.size());
        if let Some(part) = self.find(new.chunk) {
            let part = &mut *lock(&part);
            part.check(new.shape, new.data_type)?;
            // Elements that wait must stay whole if one of the new ones does not fit.
            let both = part.joined(new).filter(|_| !(new.may_fail && part.meets(new)));
            let Some((both, has_bits)) = both else { return Ok(Admission::StoreFirst) };
            let WaitingPart { buffer: Some(buffer), span, .. } = part else {
                bail!(Internal, "a part of a chunk that was stored is used again")
            };
            if has_bits && !self.give_bits(buffer, (new.chunk, new.shape), Some(span), self.limit) {
                return Ok(Admission::StoreFirst);
            }
            (new.place)(buffer.first, &strides)?;
            part.add(both, new.axes);
            return Ok(if part.covers(new.inside) { Admission::Whole } else { Admission::Waits });
        }
        let bytes = chunk_bytes(new.shape, new.data_type.size())?;
        let Some(mut buffer) = (if new.is_partial { None } else { self.buffer(bytes, self.limit)? }) else { return Ok(Admission::Through) };
        let span = Span::around(new.axes);
        if !new.is_box() && !self.give_bits(&mut buffer, (new.chunk, new.shape), None, self.limit) {
            self.give_back(buffer);
            return Ok(Admission::Through);
        }
        if let Some(bits) = &mut buffer.bits {
            bits.set(new.axes);
        }
        if let Err(e) = (new.place)(buffer.first, &strides) {
            self.give_back(buffer);
            return Err(e);
        }
        // A write that covers its chunk needs no other part to wait for, unless it leaves some bytes of each element as they are.
        let part = WaitingPart { buffer: Some(buffer), span, shape: new.shape.clone(), data_type: new.data_type, is_lost: false };
        let whole = part.covers(new.inside);
        let mut state = lock(self.state.get());
        // A cut looks for what waits once it is told of: it finds these elements, or they find it.
        let refused = (new.check)().err();
        if state.closed > 0 || refused.is_some() {
            drop(state);
            part.buffer.into_iter().for_each(|buffer| self.give_back(buffer));
            return refused.map_or(Ok(Admission::Through), Err);
        }
        if state.parts.try_reserve(1).is_err() {
            let count = state.parts.len();
            drop(state);
            part.buffer.into_iter().for_each(|buffer| self.give_back(buffer));
            bail!(NoMemory, "no memory for a table of more than {count} chunks that wait");
        }
        state.clock += 1;
        let (used, has_bits) = (state.clock, !new.is_box());
        state.parts.insert(new.chunk.clone(), Waiting { part: Arc::new(Mutex::new(part)), used, has_bits });
        Ok(if whole { Admission::Whole } else { Admission::Waits })
    }

    /// Returns which elements of a chunk, which is locked, wait to be stored, and where they are, as far as they are inside the array;
    /// `None` if nothing of the chunk waits. What was lost with its array is told of once, and waits no more. Errors: `State`.
    pub(super) fn region(&self, grid: &Grid, length: &[u64], data_type: DataType, chunk: &Dims) -> Result<Option<WaitingRegion>> {
        let Some(part) = self.find(chunk) else { return Ok(None) };
        let mut part = lock(&part);
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
        let (mut start, mut inside) = (Dims::new(), part.span.clone());
        for d in 0..shape.len() {
            let first = grid.origin(d, chunk[d]) + inside.start[d];
            start.push(first.min(length[d]));
            inside.count[d] = inside.count[d].min(length[d].saturating_sub(first));
            offset += inside.start[d] as usize * strides[d] as usize;
        }
        let mut is_empty = inside.count.contains(&0);
        let mask = match part.bits() {
            Some(bits) if !is_empty => {
                let mask = bits.mask(&inside, &start)?;
                is_empty = mask.is_none();
                mask
            }
            _ => None,
        };
        if is_empty {
            drop(part);
            self.forget(chunk);
            return Ok(None);
        }
        let signed = |dims: &Dims| dims.iter().map(|&n| n as i64).collect::<Vec<_>>();
        let selection = Selection::new(length, &signed(&start), &signed(&inside.count), None)?;
        let Buffer { first: data, size, .. } = *part.buffer()?;
        let memory = Memory { data, size, offset, strides, data_type, overflow: Overflow::Error, arena: None };
        Ok(Some(WaitingRegion { selection, mask, memory }))
    }
}

#[cfg(test)]
mod tests {
    use super::WriteBack;
    use crate::codec::chain::Chain;
    use crate::dtype::DataType;
    use crate::engine::{BoundArray, Memory, Selection, flush, read, write};
    use crate::metadata::{Codecs, v3::codec_list};
    use crate::store::fault;
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::os::Call;
    use crate::store::suite::{Random, TestFolder};
    use std::sync::Arc;

    const SHAPE: [u64; 2] = [20, 26];
    const ELEMENTS: usize = 20 * 26;
    const CODECS: [&str; 3] = [
        r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#,
        r#"[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}},{"name":"crc32c"}]"#,
        r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[4,5],"codecs":[{"name":"bytes","configuration":{"endian":"little"}}],
        "index_codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}}]"#,
    ];

    /// Returns an array of 20 x 26, and a handle on it by which up to `limit` bytes of parts of chunks wait.
    fn open(root: &TestFolder, codecs: &str, chunk: [u64; 2], limit: usize) -> (Arc<BoundArray>, Arc<BoundArray>) {
        let codecs = Codecs::V3(codec_list(&crate::json::parse_text(codecs).unwrap()).unwrap());
        let chain = Chain::parse(&codecs, DataType::Int32, 2).unwrap();
        let handle = || {
            let store = Arc::new(LocalStore::open(root, true, SyncMode::None).unwrap());
            BoundArray::plain((store, "a/"), (&SHAPE, &chunk), DataType::Int32, &chain)
        };
        (Arc::new(handle()), Arc::new(BoundArray { write_back: Some(WriteBack::new(limit)), ..handle() }))
    }

    /// A region: where it begins, and the count and the step along each dimension.
    type Region = [(i64, i64, i64); 2];

    fn selection(of: &Region) -> Selection {
        Selection::new(&SHAPE, &of.map(|(start, ..)| start), &of.map(|(_, count, _)| count), Some(&of.map(|(.., step)| step))).unwrap()
    }

    /// Returns the numbers of the elements of a region.
    fn elements(of: &Region) -> Vec<usize> {
        let [rows, columns] = of.map(|(start, count, step)| (0..count).map(move |k| start + k * step));
        rows.flat_map(|i| columns.clone().map(move |j| (i * 26 + j) as usize)).collect()
    }

    fn put(array: &Arc<BoundArray>, of: &Region, value: impl Fn(usize) -> i32, converts: bool) {
        let mut values: Vec<i32> = elements(of).into_iter().map(value).collect();
        let mut wide: Vec<i64> = values.iter().map(|&value| value.into()).collect();
        let shape = of.map(|(_, count, _)| count as u64);
        let memory =
            if converts { Memory::of(&mut wide, &shape, DataType::Int64) } else { Memory::of(&mut values, &shape, DataType::Int32) };
        // SAFETY: the memory lives as long as the call.
        unsafe { write(array, &selection(of), &memory).unwrap() };
    }

    fn get(array: &Arc<BoundArray>, of: &Region) -> Vec<i32> {
        let mut values = vec![-1; elements(of).len()];
        let memory = Memory::of(&mut values, &of.map(|(_, count, _)| count as u64), DataType::Int32);
        // SAFETY: as above.
        unsafe { read(array, &selection(of), &memory).unwrap() };
        values
    }

    const ALL: Region = [(0, 20, 1), (0, 26, 1)];

    /// Returns a point, rows, or a box, with any steps.
    fn any_region(random: &mut Random) -> Region {
        let mut next = |n: i64| random.below(n as u64) as i64;
        let kind = next(4);
        let mut along = |length: i64, is_whole: bool| match kind {
            0 => (next(length), 1, 1),
            1 if is_whole => (0, length, 1),
            _ => {
                let (a, b, step) = (next(length), next(length), next(3) + 1);
                let step = if kind == 3 { step } else { 1 };
                let count = (a - b).abs() / step + 1;
                if kind == 3 && next(2) == 0 { (a.min(b) + (count - 1) * step, count, -step) } else { (a.min(b), count, step) }
            }
        };
        [along(20, false), along(26, true)]
    }

    #[test]
    fn parts_in_any_order_are_as_a_model_has_them_and_keep_what_others_write() {
        for (number, codecs) in CODECS.iter().enumerate() {
            // Room for one chunk, for one with its bits, for few, and for all.
            for limit in [320, 340, 1000, 1 << 20] {
                let root = TestFolder::new("write-back-model");
                let (other, array) = open(&root, codecs, [8, 10], limit);
                let (kept, mut random) = (array.write_back.clone().unwrap(), Random((number + limit) as u64));
                let (mut model, mut is_ours) = ([0; ELEMENTS], [false; ELEMENTS]);
                for turn in 1..250 {
                    let region = any_region(&mut random);
                    let value = |i: usize| turn * 1000 + i as i32;
                    match random.below(12) {
                        0 => {
                            let want = elements(&region).into_iter().map(|i| model[i]).collect::<Vec<_>>();
                            assert_eq!(get(&array, &region), want, "{number} {limit} {turn}: {region:?}");
                        }
                        1 => {
                            flush(&array, &kept, None).unwrap();
                            is_ours = [false; ELEMENTS];
                            assert_eq!((get(&other, &ALL), kept.bytes()), (model.to_vec(), 0), "{number} {limit} {turn}");
                        }
                        2 | 3 if elements(&region).iter().all(|&i| !is_ours[i]) => {
                            put(&other, &region, value, false);
                            elements(&region).into_iter().for_each(|i| model[i] = value(i));
                        }
                        n => {
                            put(&array, &region, value, n == 4);
                            elements(&region).into_iter().for_each(|i| (model[i], is_ours[i]) = (value(i), true));
                            assert!(kept.bytes() <= limit, "{number} {limit} {turn}");
                        }
                    }
                }
                flush(&array, &kept, None).unwrap();
                assert_eq!(get(&other, &ALL), model, "{number} {limit}");
            }
        }
    }

    #[test]
    fn a_chunk_is_stored_once_in_whatever_order_its_parts_are_written() {
        let mut random = Random(3);
        let mut points: Vec<Region> = (0..ELEMENTS as i64).map(|i| [(i / 26, 1, 1), (i % 26, 1, 1)]).collect();
        (0..points.len()).for_each(|i| points.swap(i, random.below(ELEMENTS as u64) as usize));
        let row = |i: i64| [(i, 1, 1), (0, 26, 1)];
        let tiles = (0..20).map(|n| [(n / 4 * 4, 4, 1), (n % 4 * 7, if n % 4 == 3 { 5 } else { 7 }, 1)]);
        let orders: [(&str, Vec<Region>); 6] = [
            ("points", points),
            ("even rows, then odd ones", (0..20).step_by(2).chain((1..20).step_by(2)).map(row).collect()),
            ("two halves", (0..10).flat_map(|i| [row(i), row(19 - i)]).collect()),
            ("tiles", tiles.collect()),
            ("every third column", (0..3).map(|j| [(0, 20, 1), (j, (28 - j) / 3, 3)]).collect()),
            ("points twice, then rows", (0..40).map(|i| [(i % 20, 1, 1), (i * 7 % 26, 1, 1)]).chain((0..20).map(row)).collect()),
        ];
        for codecs in CODECS {
            for (name, parts) in &orders {
                for converts in [false, true] {
                    if converts && *name == "points twice, then rows" {
                        continue; // What may not fit is not put over what waits.
                    }
                    let root = TestFolder::new("write-back-orders");
                    let (other, array) = open(&root, codecs, [20, 30], 1 << 20);
                    let kept = array.write_back.clone().unwrap();
                    let last = |i: usize| parts.iter().rposition(|part| elements(part).contains(&i)).unwrap() as i32 + 1;
                    let stored = fault::count(Call::Rename, || {
                        parts.iter().enumerate().for_each(|(n, part)| put(&array, part, |_| n as i32 + 1, converts));
                        flush(&array, &kept, None).unwrap();
                    });
                    assert_eq!((stored, kept.bytes()), (1, 0), "{name}");
                    assert_eq!(get(&other, &ALL), (0..ELEMENTS).map(last).collect::<Vec<_>>(), "{name}");
                }
            }
        }
    }

    #[test]
    fn what_waits_and_is_no_box_is_stored_once_by_a_flush_and_dropped_by_a_cut() {
        for codecs in CODECS {
            let root = TestFolder::new("write-back-points");
            let (other, array) = open(&root, codecs, [20, 30], 1 << 20);
            let kept = array.write_back.clone().unwrap();
            put(&other, &ALL, |_| 7, false);
            let mut want = [7; ELEMENTS];
            let at = |n: usize| n * 37 % ELEMENTS;
            let stored = fault::count(Call::Rename, || {
                (0..50).for_each(|n| put(&array, &[((at(n) / 26) as i64, 1, 1), ((at(n) % 26) as i64, 1, 1)], |_| 9, false));
            });
            assert_eq!((stored, kept.bytes()), (0, 20 * 30 * 4 + 600usize.div_ceil(64) * 8));
            // Reading what does not wait stores nothing, and another one's changes are kept.
            let free = (0..ELEMENTS as i64).find(|&i| (0..50).all(|n| at(n) != i as usize)).unwrap();
            let one = [(free / 26, 1, 1), (free % 26, 1, 1)];
            assert_eq!(fault::count(Call::Rename, || assert_eq!(get(&array, &one), [7])), 0);
            put(&other, &one, |_| 8, false);
            kept.drop_from(&array.grid, 0, 15);
            (0..50).map(at).filter(|i| i / 26 < 15).for_each(|i| want[i] = 9);
            want[free as usize] = 8;
            assert_eq!(fault::count(Call::Rename, || flush(&array, &kept, None).unwrap()), 1);
            assert_eq!((get(&other, &ALL), kept.bytes()), (want.to_vec(), 0));
        }
    }
}
