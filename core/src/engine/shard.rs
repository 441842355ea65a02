//! Shards that are written: inner chunks that a selection touches are encoded, the others are carried over as the bytes that they
//! are, and an index is made of both. No more of the old shard is read than that needs. Large shards are encoded in pieces, by all
//! threads that have nothing else to do.
//! Specification: v3 core codecs, "sharding-indexed".

use super::array::BoundArray;
use super::chunk_sink::ChunkSink;
use super::cost::Cost;
use super::cut::Cut;
use super::decode::Machine;
use super::encode::{ElementSource, encode_into};
use super::item::{Axes, Axis};
use super::lock;
use super::part::inner_name;
use super::request::{INLINE_BYTES, Request};
use super::scratch::{self, ChainScratch, ChunkScratch, StageBuffers};
use super::shard_assembly::{EncodedPiece, InnerSlot, Old, assemble, slots_of};
use super::shard_index::{encode_index, inner_count};
use super::stats::Scope;
use super::target::Target;
use crate::codec::{BoundChain, Sharded, sharding};
use crate::dtype::Overflow;
use crate::dtype::transfer::Transfer;
use crate::dtype::variable::Arena;
use crate::error::{Error, Result, err};
use crate::limits::{c_strides, chunk_bytes, collect, filled, grow, push, reserve};
use crate::store::{LockUse, Object};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// How many pieces a shard is encoded in for each thread: few wait long for the last one.
const PIECES: u64 = 8;

/// A write into shards: which elements, and from where.
#[derive(Clone, Copy)]
pub(super) struct Edit<'a> {
    /// The array.
    pub array: &'a BoundArray,
    /// The elements, on their way into inner chunks that are covered whole.
    pub source: &'a ElementSource,
    /// From the memory's type to the array's, for inner chunks that are changed in part.
    pub change: &'a Transfer,
    /// The request, if other threads may help.
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
    /// The extents of the chunk inside the array.
    pub inside: &'a [u64],
}

impl Edit<'_> {
    /// Writes a selection into the shard of a locked key. Unless it covers all, other processes are kept out. `old` is room for the old
    /// shard.
    pub fn write(&self, shard: &Sharded, key: &str, selected: Selected<'_>, old: &mut Vec<u8>, s: &mut ChunkScratch) -> Result<()> {
        let array = self.array;
        if self.source.covers(selected.axes, selected.memory, selected.inside) {
            return self.put(shard, key, selected, &Old::default(), s);
        }
        let process = array.store.lock_key(&array.prefix, key, LockUse::Often)?;
        let found = array.store.open(key)?;
        // Another process may not come in before the shard is stored.
        let sink = if process.is_some() { ChunkSink::now(array) } else { self.sink };
        let at_once = Edit { sink: sink.over(found.as_ref())?, ..*self };
        match found {
            None => at_once.put(shard, key, selected, &Old::default(), s),
            // The condition of the put stays that of the empty object.
            Some(object) if array.lenient.empty_is_missing && object.len()? == 0 => at_once.put(shard, key, selected, &Old::default(), s),
            Some(object) => {
                let old = self.read_old(&object, shard, selected, old, &mut s.chain)?;
                let file = object.watched();
                let sink = at_once.sink.instead_of(file.as_ref());
                Edit { sink, ..*self }.put(shard, key, selected, &old, s)
            }
        }
    }

    fn put(&self, shard: &Sharded, key: &str, selected: Selected<'_>, old: &Old<'_>, s: &mut ChunkScratch) -> Result<()> {
        let (slots, pieces) = self.encode(shard, selected, old, s)?;
        put_shard(self.sink, shard, key, &slots, &pieces, old, &mut s.chain.stages)?;
        if let Some(piece) = pieces.into_iter().next() {
            s.chain.shard = piece.bytes;
        }
        Ok(())
    }

    /// Reads of the old shard, into `buf`, what is needed: its index and the inner chunks that stay or are changed in part.
    fn read_old<'b>(
        &self,
        object: &Object,
        shard: &Sharded,
        selected: Selected<'_>,
        buf: &'b mut Vec<u8>,
        s: &mut ChainScratch,
    ) -> Result<Old<'b>> {
        let cost = Cost::of(&*self.array.store);
        let count = inner_count(shard);
        let mut replaced = filled(false, count)?;
        let cut = Cut::new(shard, selected.axes, self.source.picks.as_ref())?;
        let mut replaced_count = 0;
        cut.each(0..cut.len(), shard, selected.axes, selected.memory, &mut |inner| {
            replaced[inner.number] = self.source.covers(&inner.axes, inner.memory, &inner.inside(shard, selected.inside));
            replaced_count += u64::from(replaced[inner.number]);
            Ok(())
        })?;
        Old::read(object, shard, &|number| replaced[number], replaced_count, cost, buf, s)
    }

    /// Encodes the inner chunks that the selection touches, in pieces where threads are idle.
    fn encode(
        &self,
        shard: &Sharded,
        selected: Selected<'_>,
        old: &Old<'_>,
        s: &mut ChunkScratch,
    ) -> Result<(Vec<InnerSlot>, Vec<EncodedPiece>)> {
        let cut = Cut::new(shard, selected.axes, self.source.picks.as_ref())?;
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

    fn pieces(
        &self,
        shard: &Sharded,
        cut: &Cut<'_>,
        selected: Selected<'_>,
        old: &Old<'_>,
        s: &mut ChunkScratch,
    ) -> Result<Vec<EncodedPiece>> {
        let total = cut.len();
        let elements: u64 = selected.axes.iter().map(|a| a.count).product();
        let bytes = elements.saturating_mul(self.array.data_type.size() as u64);
        let helped = self.request.filter(|request| bytes > 2 * INLINE_BYTES && total > 1 && request.has_idle_threads());
        let Some(request) = helped else {
            let reused = std::mem::take(&mut s.chain.shard);
            return Ok(vec![self.piece(shard, cut, 0..total, selected, old, reused, s)?]);
        };
        let count = (request.threads() as u64 * PIECES).min(total).min(bytes / (INLINE_BYTES / 4));
        let results: Vec<Mutex<Option<Result<EncodedPiece>>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let from = |i: u64| (u128::from(total) * u128::from(i) / u128::from(count)) as u64;
        request.for_each_parallel(count as usize, &|i| {
            let range = from(i as u64)..from(i as u64 + 1);
            let _scope = Scope::new(&self.array.stats);
            let made = scratch::with(|s| self.piece(shard, cut, range, selected, old, Vec::new(), &mut s.work));
            *lock::lock(&results[i]) = Some(made);
        });
        let unwrap = |m: Mutex<Option<Result<EncodedPiece>>>| m.into_inner().unwrap_or_else(|e| e.into_inner());
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
        s: &mut ChunkScratch,
    ) -> Result<EncodedPiece> {
        bytes.clear();
        let mut piece = EncodedPiece { bytes, entries: Vec::new() };
        cut.each(range, shard, selected.axes, selected.memory, &mut |inner| {
            let at = piece.bytes.len();
            let inside = inner.inside(shard, selected.inside);
            let picks = Selected { axes: &inner.axes, memory: inner.memory, inside: &inside };
            if self.chunk(&shard.inner, inner.number, picks, old, &mut piece.bytes, s)? {
                push(&mut piece.entries, (inner.number, at as u64, (piece.bytes.len() - at) as u64))?;
            }
            Ok(())
        })?;
        Ok(piece)
    }

    /// Appends the new bytes of one inner chunk to `out`, or returns false if it is not to be stored.
    fn chunk(
        &self,
        chain: &BoundChain,
        number: usize,
        selected: Selected<'_>,
        old: &Old<'_>,
        out: &mut Vec<u8>,
        s: &mut ChunkScratch,
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
    fn nested(
        &self,
        shard: &Sharded,
        bytes: Option<&[u8]>,
        selected: Selected<'_>,
        out: &mut Vec<u8>,
        s: &mut ChunkScratch,
    ) -> Result<bool> {
        let old = match bytes {
            None => Old::default(),
            Some(bytes) => Old::whole(shard, bytes, &mut s.chain.stages)?,
        };
        let alone = Edit { request: None, ..*self };
        let (slots, pieces) = alone.encode(shard, selected, &old, s)?;
        let Some(whole) = assemble(shard, &slots, &pieces, &old, &mut s.chain.stages)? else { return Ok(false) };
        for part in whole.all() {
            reserve(out, part.len())?;
            out.extend_from_slice(part);
        }
        Ok(true)
    }

    /// Appends an inner chunk without inner chunks of its own that is changed in part. Elements beyond the array's edge are stored
    /// again as it was found.
    fn patch(
        &self,
        chain: &BoundChain,
        bytes: Option<&[u8]>,
        name: &dyn Fn(Error) -> Error,
        selected: Selected<'_>,
        out: &mut Vec<u8>,
        s: &mut ChunkScratch,
    ) -> Result<bool> {
        let array = self.array;
        let (shape, size) = (chain.shape(), array.data_type.size());
        let strides = c_strides(shape, size);
        let all: Axes = shape.iter().zip(&strides).map(|(&count, &memory)| Axis { start: 0, count, step: 1, memory }).collect();
        let ChunkScratch { chunk, chain: buffers } = s;
        let base = grow(chunk, chunk_bytes(shape, size)?)?.as_mut_ptr();
        // Keeps the bytes of old elements of variable length until the chunk is encoded again.
        let arena = array.data_type.is_variable().then(Arc::<Arena>::default);
        let as_stored = (array.data_type, Overflow::Error);
        let target = Target::new(chain, array.data_type, &array.fill, as_stored, base, arena)?;
        match bytes {
            None => target.fill(&all, 0)?,
            Some(bytes) => {
                let machine = Machine { root: chain, target: &target, cost: Cost::LOCAL, kept: None, decoded: None };
                machine.run_over(bytes, all.clone(), buffers).map_err(name)?;
            }
        }
        self.source.place(selected.axes, selected.memory, base, &strides, self.change)?;
        let mut source = ElementSource::new(chain, array.data_type, &array.fill, as_stored, base)?;
        source.store_fill = self.source.store_fill;
        encode_into(chain, &source, &all, 0, buffers, out)
    }
}

/// Stores a shard, or removes it if it has no inner chunks.
fn put_shard(
    sink: ChunkSink<'_>,
    shard: &Sharded,
    key: &str,
    slots: &[InnerSlot],
    pieces: &[EncodedPiece],
    old: &Old<'_>,
    buffers: &mut StageBuffers,
) -> Result<()> {
    match assemble(shard, slots, pieces, old, buffers)? {
        Some(whole) => sink.put(key, &collect(whole.all())?),
        None => remove_shard(sink, shard, key, buffers),
    }
}

/// Removes a shard; where the store cannot erase, a shard without inner chunks takes its place.
pub(super) fn remove_shard(sink: ChunkSink<'_>, shard: &Sharded, key: &str, buffers: &mut StageBuffers) -> Result<()> {
    let store = &sink.array().store;
    if sink.can_erase() {
        return sink.erase(key);
    }
    if store.open(key)?.is_none() {
        return Ok(());
    }
    let mut index = Vec::new();
    encode_index(shard, &filled(None, inner_count(shard))?, &mut index, buffers)?;
    sink.put(key, &[&index])
}

/// Replaces inner chunk `number` of a shard, whose key is locked, by `bytes` as they are, or removes it if they are `None`. Returns whether
/// it was stored before. `buf` is room for the old shard.
pub(super) fn replace_inner(
    array: &BoundArray,
    shard: &Sharded,
    key: &str,
    number: usize,
    bytes: Option<&[u8]>,
    buf: &mut Vec<u8>,
    s: &mut ChainScratch,
) -> Result<bool> {
    let _process = array.store.lock_key(&array.prefix, key, LockUse::Often)?;
    let object = array.store.open(key)?;
    let sink = ChunkSink::now(array).over(object.as_ref())?;
    if object.is_none() && bytes.is_none() {
        return Ok(false);
    }
    let old = match &object {
        None => Old::default(),
        Some(object) if array.lenient.empty_is_missing && object.len()? == 0 => Old::default(),
        Some(object) => Old::read(object, shard, &|n| n == number, 1, Cost::of(&*array.store), buf, s)?,
    };
    let file = object.and_then(Object::watched);
    let sink = sink.instead_of(file.as_ref());
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
        let mut piece = EncodedPiece::default();
        reserve(&mut piece.bytes, bytes.len())?;
        piece.bytes.extend_from_slice(bytes);
        slots[number] = InnerSlot::New(0, 0, bytes.len() as u64);
        pieces.push(piece);
    }
    put_shard(sink, shard, key, &slots, &pieces, &old, &mut s.stages)?;
    Ok(there)
}
