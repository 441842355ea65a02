//! Shards that are written: inner chunks that a selection touches are encoded, the others are carried over as the bytes that they
//! are, and an index is made of both. No more of the old shard is read than that needs.
//!
//! The new shard holds its inner chunks in C order, each once, without dead space. Large ones are encoded in pieces, by all
//! threads that have nothing else to do.
//! Specification: v3 core codecs, "sharding-indexed".

use super::chunk_sink::ChunkSink;
use super::coordinates::ChunkPicks;
use super::decode::{Cost, Machine, Target, decode_index, index_bytes, inner_name};
use super::encode::{Source, encode_index, encode_into};
use super::plan::{Axes, Axis};
use super::request::{INLINE_BYTES, Request};
use super::scratch::{self, ChainScratch, Scratch};
use super::stats::{self, Field, Scope};
use super::{BoundArray, Overflow, lock};
use crate::codec::{BoundChain, IndexLocation, Sharded, sharding};
use crate::dtype::convert::Transfer;
use crate::dtype::variable::Arena;
use crate::error::{Error, Result, bail, err};
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, c_strides, chunk_bytes, grow, reserve};
use crate::store::{Condition, Object};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A shard is encoded in so many pieces for each thread, so that none waits long for the last one.
const PIECES: u64 = 8;

/// A selection of a shard's elements, cut at the borders of its inner chunks.
pub(super) struct Cut<'a> {
    /// Which elements of the selection count.
    picks: Option<&'a ChunkPicks>,
    segments: Vec<Segment>,
    /// Where the segments of each dimension of the inner grid begin; one more for the end.
    bounds: SmallVec<[usize; 7]>,
}

/// The part of one inner chunk that is selected.
pub(super) struct Inner {
    /// Its number, in C order of the inner grid.
    pub number: usize,
    /// The selected elements, in the inner grid's order of dimensions.
    pub axes: Axes,
    /// The distance of the first one in memory.
    pub memory: i64,
    /// Its index in the inner grid.
    place: Dims,
}

impl<'a> Cut<'a> {
    /// Cuts the selection, or the box around what is picked here. Inner chunks come in C order, whatever the signs of the steps.
    pub fn new(shard: &Sharded, axes: &[Axis], picks: Option<&'a ChunkPicks>) -> Cut<'a> {
        let grid = Grid::Regular { chunk: shard.inner_shape.clone() };
        let mut cut = Cut { picks, segments: Vec::new(), bounds: SmallVec::from_slice(&[0]) };
        for (j, &d) in shard.axes.iter().enumerate() {
            let from = cut.segments.len();
            grid.segments(j, axes[d].start, axes[d].count, axes[d].step, &mut cut.segments);
            if axes[d].step < 0 {
                cut.segments[from..].reverse();
            }
            cut.bounds.push(cut.segments.len());
        }
        cut
    }

    fn dimension(&self, j: usize) -> &[Segment] {
        &self.segments[self.bounds[j]..self.bounds[j + 1]]
    }

    /// The number of inner chunks that the selection reaches into.
    pub fn len(&self) -> u64 {
        (0..self.bounds.len() - 1).map(|j| self.dimension(j).len() as u64).product()
    }

    /// Calls `each` with some of the inner chunks, in C order, but not with those of which nothing is picked.
    pub fn each(
        &self,
        range: Range<u64>,
        shard: &Sharded,
        axes: &[Axis],
        memory: i64,
        each: &mut dyn FnMut(Inner) -> Result<()>,
    ) -> Result<()> {
        let rank = self.bounds.len() - 1;
        let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, rank);
        let mut rest = range.start;
        for j in (0..rank).rev() {
            let n = self.dimension(j).len() as u64;
            at[j] = (rest % n.max(1)) as usize;
            rest /= n.max(1);
        }
        for _ in range {
            let mut inner = Inner { number: 0, axes: axes.into(), memory, place: Dims::from_elem(0, rank) };
            for (j, &d) in shard.axes.iter().enumerate() {
                let s = self.dimension(j)[at[j]];
                inner.number = inner.number * shard.grid[j] as usize + s.chunk as usize;
                inner.memory += s.position as i64 * axes[d].memory;
                inner.axes[j] = Axis { start: s.start, count: s.count, ..axes[d] };
                inner.place[j] = s.chunk;
            }
            if self.picks.is_none_or(|picks| picks.narrow(&mut inner.axes, &mut inner.memory)) {
                each(inner)?;
            }
            for j in (0..rank).rev() {
                at[j] += 1;
                if at[j] < self.dimension(j).len() {
                    break;
                }
                at[j] = 0;
            }
        }
        Ok(())
    }
}

impl Inner {
    /// How much of the inner chunk lies inside the array, given how much of the shard does.
    fn inside(&self, shard: &Sharded, inside: &[u64]) -> Dims {
        let each = shard.axes.iter().zip(&self.place).zip(&shard.inner_shape);
        each.map(|((&d, place), &extent)| inside[d].saturating_sub(place * extent).min(extent)).collect()
    }
}

/// Whether a selection has all elements of a chunk of which so much lies inside the array.
pub(super) fn covers(axes: &[Axis], inside: &[u64]) -> bool {
    axes.iter().zip(inside).all(|(axis, &n)| axis.count == n && (n == 1 || axis.step.unsigned_abs() == 1))
}

/// The number of inner chunks of a shard.
pub(super) fn inner_count(shard: &Sharded) -> usize {
    shard.grid.iter().product::<u64>() as usize
}

/// An old shard, as far as it is needed.
#[derive(Default)]
struct Old<'a> {
    /// Its index in the native form; empty if there is no old shard.
    index: Vec<u8>,
    /// The length of the shard.
    len: u64,
    /// Where its inner chunks may lie.
    room: Range<u64>,
    bytes: &'a [u8],
    /// Which parts of the shard `bytes` holds: offset, length, and where they are; by offset.
    runs: Vec<(u64, u64, usize)>,
}

impl<'a> Old<'a> {
    /// A shard whose bytes are all there.
    fn whole(shard: &Sharded, bytes: &'a [u8], s: &mut ChainScratch) -> Result<Old<'a>> {
        let (len, size) = (bytes.len(), index_bytes(shard));
        let Some(first) = len.checked_sub(size) else {
            bail!(ShardIndex, "found a shard of {len} bytes, expected an index of {size}");
        };
        let encoded = match shard.location {
            IndexLocation::Start => &bytes[..size],
            IndexLocation::End => &bytes[first..],
        };
        let mut index = Vec::new();
        decode_index(shard, encoded, &mut index, s)?;
        let (room, runs) = (sharding::room(shard.location, size, len as u64), vec![(0, len as u64, 0)]);
        Ok(Old { index, len: len as u64, room, bytes, runs })
    }

    /// Where an inner chunk is, if it is stored; checked to lie inside.
    fn entry(&self, number: usize) -> Result<Option<(u64, u64)>> {
        if self.index.is_empty() {
            return Ok(None);
        }
        let entry = sharding::decode_entry(&self.index, number)?;
        if let Some(entry) = entry {
            sharding::check_entry(number, entry, &self.room)?;
        }
        Ok(entry)
    }

    fn get(&self, (offset, len): (u64, u64)) -> Result<&'a [u8]> {
        let at = self.runs.partition_point(|run| run.0 <= offset).checked_sub(1);
        let found = at.and_then(|i| self.runs.get(i)).and_then(|&(start, have, at)| {
            let from = offset - start;
            if from.checked_add(len)? > have {
                return None;
            }
            let from = at + from as usize;
            self.bytes.get(from..from + len as usize)
        });
        found.ok_or_else(|| err!(Internal, "bytes {offset} + {len} of the old shard were not read"))
    }
}

/// What becomes of an inner chunk.
#[derive(Clone, Copy)]
pub(super) enum InnerSlot {
    /// It is not stored.
    Empty,
    /// Its bytes in the old shard are kept.
    Old(u64, u64),
    /// It was encoded: the piece, the place in it, the length.
    New(u32, u64, u64),
}

/// Inner chunks that were encoded one after the other.
#[derive(Default)]
struct Piece {
    bytes: Vec<u8>,
    /// The number of each that is to be stored, its place, its length.
    entries: Vec<(usize, u64, u64)>,
}

/// A shard to be put: the index before or behind its inner chunks.
struct Assembled<'a> {
    head: Vec<u8>,
    parts: Vec<&'a [u8]>,
    tail: Vec<u8>,
}

/// Puts a shard together; `None` if no inner chunk is stored.
fn assemble<'a>(
    shard: &Sharded,
    slots: &[InnerSlot],
    pieces: &'a [Piece],
    old: &Old<'a>,
    s: &mut ChainScratch,
) -> Result<Option<Assembled<'a>>> {
    let mut shared = SharedBytes::new(slots, old.len)?;
    let mut entries = Vec::new();
    entries.try_reserve_exact(slots.len()).map_err(|_| err!(NoMemory, "no memory for an index of {} inner chunks", slots.len()))?;
    let mut at = if shard.location == IndexLocation::Start { index_bytes(shard) as u64 } else { 0 };
    // Neighbours in the old shard, or in a piece, are one part.
    let mut runs: Vec<(Option<u32>, u64, u64)> = Vec::new();
    for &slot in slots {
        let (from, offset, len) = match slot {
            InnerSlot::Empty => {
                entries.push(None);
                continue;
            }
            InnerSlot::Old(offset, len) => (None, offset, len),
            InnerSlot::New(piece, offset, len) => (Some(piece), offset, len),
        };
        if from.is_none()
            && let Some(place) = shared.as_mut().and_then(|shared| shared.place((offset, len), at))
        {
            entries.push(Some((place, len)));
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.0 == from && run.2 == offset => run.2 += len,
            _ => runs.push((from, offset, offset + len)),
        }
        entries.push(Some((at, len)));
        at = at.checked_add(len).ok_or_else(|| err!(Limit, "a shard of more than 2^64 bytes"))?;
    }
    if entries.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut parts = Vec::with_capacity(runs.len());
    for (from, start, end) in runs {
        parts.push(match from {
            None => old.get((start, end - start))?,
            Some(piece) => {
                let bytes = pieces.get(piece as usize).and_then(|p| p.bytes.get(start as usize..end as usize));
                bytes.ok_or_else(|| err!(Internal, "no piece {piece} of a shard"))?
            }
        });
    }
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let index = if shard.location == IndexLocation::Start { &mut head } else { &mut tail };
    encode_index(shard, &entries, index, s)?;
    Ok(Some(Assembled { head, parts, tail }))
}

/// Inner chunks of an old shard that lie in the same bytes: they stay so.
struct SharedBytes(HashMap<(u64, u64), u64>);

impl SharedBytes {
    /// `None` where nothing shares bytes, which the lengths tell. Entries that overlap otherwise are carried over one by one,
    /// unless that would make much more of them than there was.
    fn new(slots: &[InnerSlot], len: u64) -> Result<Option<SharedBytes>> {
        let carried = || slots.iter().filter_map(|slot| if let InnerSlot::Old(offset, len) = *slot { Some((offset, len)) } else { None });
        if carried().fold(0u64, |sum, entry| sum.saturating_add(entry.1)) <= len {
            return Ok(None);
        }
        let distinct: HashMap<(u64, u64), u64> = carried().map(|entry| (entry, u64::MAX)).collect();
        let sum = distinct.keys().fold(0u64, |sum, entry| sum.saturating_add(entry.1));
        if sum > len.saturating_mul(2) {
            bail!(ShardIndex, "the inner chunks overlap: they have {sum} bytes together, the shard has {len}");
        }
        Ok(Some(SharedBytes(distinct)))
    }

    /// The place that those bytes got already; else they get `at`.
    fn place(&mut self, entry: (u64, u64), at: u64) -> Option<u64> {
        let known = self.0.get_mut(&entry)?;
        if *known == u64::MAX {
            *known = at;
            return None;
        }
        Some(*known)
    }
}

/// What is to be written into shards, and from where.
#[derive(Clone, Copy)]
pub(super) struct Edit<'a> {
    /// The array.
    pub array: &'a BoundArray,
    /// The elements, on their way into inner chunks that are covered whole.
    pub source: &'a Source,
    /// From the memory's type to the array's, for inner chunks that are changed in part.
    pub change: &'a Transfer,
    /// Who may help.
    pub request: Option<&'a Arc<Request>>,
    /// Where the shard goes.
    pub sink: ChunkSink<'a>,
}

/// A box of elements to be written into a chunk.
#[derive(Clone, Copy)]
pub(super) struct Selected<'a> {
    /// The selected elements.
    pub axes: &'a Axes,
    /// The distance of the first one in memory.
    pub memory: i64,
    /// How much of the chunk lies inside the array.
    pub inside: &'a [u64],
}

impl Edit<'_> {
    /// Writes a selection into the shard of that key, which is locked; with other processes kept out unless it covers all.
    pub fn write(&self, shard: &Sharded, key: &str, selected: Selected<'_>, s: &mut Scratch) -> Result<()> {
        let array = self.array;
        if self.source.covers(selected.axes, selected.memory, selected.inside) {
            return self.put(shard, key, selected, &Old::default(), s);
        }
        let process = array.store.lock_key(&array.prefix, key)?;
        // Another process may not come in before the shard is stored.
        let at_once = Edit { sink: if process.is_some() { ChunkSink::now(array) } else { self.sink }, ..*self };
        match array.store.open(key)? {
            None => at_once.put(shard, key, selected, &Old::default(), s),
            Some(object) => {
                let mut buf = std::mem::take(&mut s.io);
                let result = self.read_old(&object, shard, selected, &mut buf, s).and_then(|(index, len, runs)| {
                    drop(object);
                    let room = sharding::room(shard.location, index_bytes(shard), len);
                    let old = Old { index, len, room, bytes: &buf, runs };
                    at_once.put(shard, key, selected, &old, s)
                });
                s.io = buf;
                result
            }
        }
    }

    fn put(&self, shard: &Sharded, key: &str, selected: Selected<'_>, old: &Old<'_>, s: &mut Scratch) -> Result<()> {
        let (slots, pieces) = self.encode(shard, selected, old, s)?;
        put_shard(self.sink, shard, key, &slots, &pieces, old, &mut s.chain)?;
        if let Some(piece) = pieces.into_iter().next() {
            s.chain.shard = piece.bytes;
        }
        Ok(())
    }

    /// What is needed of the old shard: its index, length and the bytes of the inner chunks that stay or are changed in part.
    #[allow(clippy::type_complexity)]
    fn read_old(
        &self,
        object: &Object,
        shard: &Sharded,
        selected: Selected<'_>,
        buf: &mut Vec<u8>,
        s: &mut Scratch,
    ) -> Result<(Vec<u8>, u64, Vec<(u64, u64, usize)>)> {
        let cost = Cost::of(&*self.array.store);
        let count = inner_count(shard);
        let mut replaced = vec![false; count];
        let cut = Cut::new(shard, selected.axes, self.source.picks.as_ref());
        let mut replaced_count = 0;
        cut.each(0..cut.len(), shard, selected.axes, selected.memory, &mut |inner| {
            replaced[inner.number] = self.source.covers(&inner.axes, inner.memory, &inner.inside(shard, selected.inside));
            replaced_count += u64::from(replaced[inner.number]);
            Ok(())
        })?;
        read_kept(object, shard, &|number| replaced[number], replaced_count, cost, buf, &mut s.chain)
    }

    /// Encodes the inner chunks that the selection touches, alone or with the help of others.
    fn encode(&self, shard: &Sharded, selected: Selected<'_>, old: &Old<'_>, s: &mut Scratch) -> Result<(Vec<InnerSlot>, Vec<Piece>)> {
        let cut = Cut::new(shard, selected.axes, self.source.picks.as_ref());
        let mut slots = slots_of(shard, old, &mut |touched| {
            cut.each(0..cut.len(), shard, selected.axes, selected.memory, &mut |inner| {
                touched(inner.number);
                Ok(())
            })
        })?;
        let pieces = self.pieces(shard, &cut, selected, old, s)?;
        for (i, piece) in pieces.iter().enumerate() {
            for &(number, at, len) in &piece.entries {
                slots[number] = InnerSlot::New(i as u32, at, len);
            }
        }
        Ok((slots, pieces))
    }

    fn pieces(&self, shard: &Sharded, cut: &Cut<'_>, selected: Selected<'_>, old: &Old<'_>, s: &mut Scratch) -> Result<Vec<Piece>> {
        let total = cut.len();
        let elements: u64 = selected.axes.iter().map(|a| a.count).product();
        let bytes = elements.saturating_mul(self.array.data_type.size() as u64);
        let helped = self.request.filter(|request| bytes > 2 * INLINE_BYTES && total > 1 && request.has_idle_threads());
        let Some(request) = helped else {
            let reused = std::mem::take(&mut s.chain.shard);
            return Ok(vec![self.piece(shard, cut, 0..total, selected, old, reused, s)?]);
        };
        let count = (request.threads() as u64 * PIECES).min(total).min(bytes / (INLINE_BYTES / 4));
        let results: Vec<Mutex<Option<Result<Piece>>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let from = |i: u64| (u128::from(total) * u128::from(i) / u128::from(count)) as u64;
        request.for_each_parallel(count as usize, &|i| {
            let range = from(i as u64)..from(i as u64 + 1);
            let _scope = Scope::new(&self.array.stats);
            let made = scratch::with(|s| self.piece(shard, cut, range, selected, old, Vec::new(), s));
            *lock::lock(&results[i]) = Some(made);
        });
        let unwrap = |m: Mutex<Option<Result<Piece>>>| m.into_inner().unwrap_or_else(|e| e.into_inner());
        results.into_iter().map(|m| unwrap(m).unwrap_or_else(|| Err(err!(Internal, "a piece of a shard was not encoded")))).collect()
    }

    #[allow(clippy::too_many_arguments)]
    fn piece(
        &self,
        shard: &Sharded,
        cut: &Cut<'_>,
        range: Range<u64>,
        selected: Selected<'_>,
        old: &Old<'_>,
        mut bytes: Vec<u8>,
        s: &mut Scratch,
    ) -> Result<Piece> {
        bytes.clear();
        let mut piece = Piece { bytes, entries: Vec::new() };
        cut.each(range, shard, selected.axes, selected.memory, &mut |inner| {
            let at = piece.bytes.len();
            let inside = inner.inside(shard, selected.inside);
            let picks = Selected { axes: &inner.axes, memory: inner.memory, inside: &inside };
            if self.chunk(&shard.inner, inner.number, picks, old, &mut piece.bytes, s)? {
                piece.entries.push((inner.number, at as u64, (piece.bytes.len() - at) as u64));
            }
            Ok(())
        })?;
        Ok(piece)
    }

    /// Appends the new bytes of one inner chunk; false if it is not to be stored.
    fn chunk(
        &self,
        chain: &BoundChain,
        number: usize,
        selected: Selected<'_>,
        old: &Old<'_>,
        out: &mut Vec<u8>,
        s: &mut Scratch,
    ) -> Result<bool> {
        if self.source.covers(selected.axes, selected.memory, selected.inside) {
            return encode_into(chain, self.source, selected.axes, selected.memory, &mut s.chain, out);
        }
        let entry = old.entry(number)?;
        let name = |e: Error| if let Some((offset, _)) = entry { e.at_field(inner_name(number, offset)) } else { e };
        let bytes = entry.map(|entry| old.get(entry)).transpose()?;
        match chain {
            BoundChain::Sharded(shard) if shard.stages.is_empty() => self.nested(shard, bytes, selected, out, s).map_err(name),
            _ => self.patch(chain, bytes, &name, selected, out, s),
        }
    }

    /// Appends an inner shard that is changed in part.
    fn nested(&self, shard: &Sharded, bytes: Option<&[u8]>, selected: Selected<'_>, out: &mut Vec<u8>, s: &mut Scratch) -> Result<bool> {
        let old = match bytes {
            None => Old::default(),
            Some(bytes) => Old::whole(shard, bytes, &mut s.chain)?,
        };
        let alone = Edit { request: None, ..*self };
        let (slots, pieces) = alone.encode(shard, selected, &old, s)?;
        let Some(whole) = assemble(shard, &slots, &pieces, &old, &mut s.chain)? else { return Ok(false) };
        for part in whole.all() {
            reserve(out, part.len())?;
            out.extend_from_slice(part);
        }
        Ok(true)
    }

    /// Appends an inner chunk without inner chunks of its own that is changed in part. What lies beyond the array's edge is stored
    /// again as it was found.
    fn patch(
        &self,
        chain: &BoundChain,
        bytes: Option<&[u8]>,
        name: &dyn Fn(Error) -> Error,
        selected: Selected<'_>,
        out: &mut Vec<u8>,
        s: &mut Scratch,
    ) -> Result<bool> {
        let array = self.array;
        let (shape, size) = (chain.shape(), array.data_type.size());
        let strides = c_strides(shape, size);
        let all: Axes = shape.iter().zip(&strides).map(|(&count, &memory)| Axis { start: 0, count, step: 1, memory }).collect();
        let mut chunk = std::mem::take(&mut s.chunk);
        let result = chunk_bytes(shape, size).and_then(|n| grow(&mut chunk, n)).map(|buf| buf.as_mut_ptr()).and_then(|base| {
            // Keeps the bytes of old elements of variable length until the chunk is encoded again.
            let arena = array.data_type.is_variable().then(Arc::<Arena>::default);
            let as_stored = (array.data_type, Overflow::Error);
            let target = Target::new(chain, array.data_type, &array.fill, as_stored, base, arena)?;
            match bytes {
                None => target.fill(&all, 0)?,
                Some(bytes) => {
                    let machine = Machine { root: chain, target: &target, cost: Cost::LOCAL, kept: None, decoded: None };
                    machine.run_over(bytes, all.clone(), &mut s.chain).map_err(name)?;
                }
            }
            self.source.place(selected.axes, selected.memory, base, &strides, self.change)?;
            let mut source = Source::new(chain, array.data_type, &array.fill, as_stored, base)?;
            source.store_fill = self.source.store_fill;
            encode_into(chain, &source, &all, 0, &mut s.chain, out)
        });
        s.chunk = chunk;
        result
    }
}

impl<'a> Assembled<'a> {
    fn all(&self) -> impl Iterator<Item = &[u8]> {
        let ends = |bytes: &'_ Vec<u8>| !bytes.is_empty();
        let head = Some(self.head.as_slice()).filter(|_| ends(&self.head));
        let tail = Some(self.tail.as_slice()).filter(|_| ends(&self.tail));
        head.into_iter().chain(self.parts.iter().copied()).chain(tail)
    }
}

/// Calls what it is given with the number of each inner chunk that is touched.
type Touched<'a> = dyn FnMut(&mut dyn FnMut(usize)) -> Result<()> + 'a;

/// The slots of a shard's inner chunks: empty for those that `touched` names, the others as they were.
fn slots_of(shard: &Sharded, old: &Old<'_>, touched: &mut Touched<'_>) -> Result<Vec<InnerSlot>> {
    let count = inner_count(shard);
    let mut slots = Vec::new();
    slots.try_reserve_exact(count).map_err(|_| err!(NoMemory, "no memory for {count} inner chunks"))?;
    slots.resize(count, InnerSlot::Empty);
    if old.index.is_empty() {
        return Ok(slots);
    }
    let mut stays = vec![true; count];
    touched(&mut |number| stays[number] = false)?;
    for (number, slot) in slots.iter_mut().enumerate().filter(|(number, _)| stays[*number]) {
        if let Some((offset, len)) = old.entry(number)? {
            *slot = InnerSlot::Old(offset, len);
        }
    }
    Ok(slots)
}

/// Stores a shard, or removes it if it has no inner chunks.
fn put_shard(
    sink: ChunkSink<'_>,
    shard: &Sharded,
    key: &str,
    slots: &[InnerSlot],
    pieces: &[Piece],
    old: &Old<'_>,
    s: &mut ChainScratch,
) -> Result<()> {
    let array = sink.array();
    let done = match assemble(shard, slots, pieces, old, s)? {
        Some(whole) => sink.put(key, &whole.all().collect::<Vec<_>>()),
        None if array.store.capabilities().erasable => sink.erase(key),
        None => remove_shard(array, shard, key, s),
    };
    array.open_shards.forget(key);
    done
}

/// Removes a shard; where that cannot be, a shard without inner chunks takes its place.
pub(super) fn remove_shard(array: &BoundArray, shard: &Sharded, key: &str, s: &mut ChainScratch) -> Result<()> {
    if array.store.capabilities().erasable {
        return array.store.erase(key).map(drop);
    }
    if array.store.open(key)?.is_none() {
        return Ok(());
    }
    let mut index = Vec::new();
    encode_index(shard, &vec![None; inner_count(shard)], &mut index, s)?;
    array.store.put(key, &[&index], Condition::None)
}

/// Reads the index of a shard, and of its inner chunks those that are not replaced, near ones together: into `buf`. Gives the native
/// index, the length, and which bytes are where in `buf`.
#[allow(clippy::type_complexity)]
fn read_kept(
    object: &Object,
    shard: &Sharded,
    replaced: &dyn Fn(usize) -> bool,
    replaced_count: u64,
    cost: Cost,
    buf: &mut Vec<u8>,
    s: &mut ChainScratch,
) -> Result<(Vec<u8>, u64, Vec<(u64, u64, usize)>)> {
    let (len, count) = (object.len()?, inner_count(shard));
    // What may be left out is not worth two calls more: all in one.
    let skipped = len as f64 * replaced_count as f64 / count as f64;
    if skipped * cost.byte <= 2.0 * cost.call && len >= index_bytes(shard) as u64 {
        let size = usize::try_from(len).map_err(|_| err!(NoMemory, "a shard of {len} bytes"))?;
        object.read_exact_at(0, grow(buf, size)?)?;
        stats::read(len);
        buf.truncate(size);
        let old = Old::whole(shard, buf, s)?;
        return Ok((old.index, len, old.runs));
    }
    let index = read_index(object, shard, len, s)?;
    let old = Old { index, len, room: sharding::room(shard.location, index_bytes(shard), len), ..Old::default() };
    let mut wanted = Vec::new();
    for number in (0..count).filter(|&number| !replaced(number)) {
        wanted.extend(old.entry(number)?);
    }
    wanted.sort_unstable();
    let mut runs: Vec<(u64, u64, usize)> = Vec::new();
    for (offset, len) in wanted {
        match runs.last_mut() {
            Some((start, have, _)) if offset <= (*start + *have).saturating_add(cost.gap()) => *have = (*have).max(offset + len - *start),
            _ => runs.push((offset, len, 0)),
        }
    }
    let mut at = 0;
    for (offset, len, place) in &mut runs {
        *place = at;
        at += *len as usize;
        object.read_exact_at(*offset, &mut grow(buf, at)?[*place..])?;
        stats::read(*len);
    }
    Ok((old.index, len, runs))
}

/// Reads and decodes the index of a shard of that length.
pub(super) fn read_index(object: &Object, shard: &Sharded, len: u64, s: &mut ChainScratch) -> Result<Vec<u8>> {
    let size = index_bytes(shard);
    let Some(first) = len.checked_sub(size as u64) else {
        bail!(ShardIndex, "found a shard of {len} bytes, expected an index of {size}");
    };
    let offset = if shard.location == IndexLocation::Start { 0 } else { first };
    stats::read(size as u64);
    stats::count(Field::IndexReads, 1);
    let mut encoded = std::mem::take(&mut s.encoded_index);
    let mut index = Vec::new();
    let result = grow(&mut encoded, size)
        .and_then(|encoded| object.read_exact_at(offset, encoded).map(|()| &*encoded))
        .and_then(|encoded| decode_index(shard, encoded, &mut index, s));
    s.encoded_index = encoded;
    result.map(|()| index)
}

/// Replaces one inner chunk of a shard by bytes as they are, or removes it (`None`); the lock of the key is held. Gives whether it
/// was stored before.
pub(super) fn replace_inner(
    array: &BoundArray,
    shard: &Sharded,
    key: &str,
    number: usize,
    bytes: Option<&[u8]>,
    s: &mut Scratch,
) -> Result<bool> {
    let _process = array.store.lock_key(&array.prefix, key)?;
    let object = array.store.open(key)?;
    if object.is_none() && bytes.is_none() {
        return Ok(false);
    }
    let mut buf = std::mem::take(&mut s.io);
    let result = (|| {
        let cost = Cost::of(&*array.store);
        let old = match &object {
            None => Old::default(),
            Some(object) => {
                let (index, len, runs) = read_kept(object, shard, &|n| n == number, 1, cost, &mut buf, &mut s.chain)?;
                Old { index, len, room: sharding::room(shard.location, index_bytes(shard), len), bytes: &buf, runs }
            }
        };
        let there = !old.index.is_empty() && !matches!(sharding::decode_entry(&old.index, number), Ok(None));
        if !there && bytes.is_none() {
            return Ok(false);
        }
        let mut slots = slots_of(shard, &old, &mut |touched| {
            touched(number);
            Ok(())
        })?;
        let mut pieces = Vec::new();
        if let Some(bytes) = bytes {
            let mut piece = Piece::default();
            reserve(&mut piece.bytes, bytes.len())?;
            piece.bytes.extend_from_slice(bytes);
            slots[number] = InnerSlot::New(0, 0, bytes.len() as u64);
            pieces.push(piece);
        }
        put_shard(ChunkSink::now(array), shard, key, &slots, &pieces, &old, &mut s.chain)?;
        Ok(there)
    })();
    s.io = buf;
    result
}
