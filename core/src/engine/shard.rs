//! Shards that are written: inner chunks that a selection touches are encoded, the others are carried over as the bytes that they
//! are, and an index is made of both. No more of the old shard is read than that needs. Large shards are encoded in pieces, by all
//! threads that have nothing else to do.
//! Specification: v3 core codecs, "sharding-indexed".

use super::array::BoundArray;
use super::chunk_sink::ChunkSink;
use super::cost::Cost;
use super::cut::{Cut, InnerBox};
use super::decode::Machine;
use super::encode::{ElementSource, InnerEncoder, encode_into};
use super::item::{Axes, all_of};
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
use crate::limits::{c_strides, chunk_bytes, collect, filled, grow, push, reserve, try_collect};
use crate::store::{LockUse, Object};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// How many pieces a shard is encoded in for each thread: few wait long for the last one.
const PIECES: u64 = 8;

/// A write into shards.
#[derive(Clone, Copy)]
pub(super) struct Edit<'a> {
    /// The array.
    pub array: &'a BoundArray,
    /// The request, if other threads may help.
    pub request: Option<&'a Arc<Request>>,
    /// Where the shard goes.
    pub sink: ChunkSink<'a>,
    /// Adds to an error in the elements of a member what it is about.
    pub name: &'a (dyn Fn(usize, Error) -> Error + Sync),
}

/// A box of elements to be written into a chunk: which ones, and from where.
#[derive(Clone, Copy)]
pub(super) struct Selected<'a> {
    /// The place among the members of the write.
    pub member: usize,
    /// The elements, on their way into inner chunks that are covered whole.
    pub source: &'a ElementSource,
    /// From the memory's type to the array's, for inner chunks that are changed in part.
    pub change: &'a Transfer,
    /// The selected elements.
    pub axes: &'a Axes,
    /// The distance of the first one in memory.
    pub memory: i64,
    /// The extents of the chunk inside the array.
    pub inside: &'a [u64],
}

impl<'a> Selected<'a> {
    fn covers(&self) -> bool {
        self.source.covers(self.axes, self.memory, self.inside)
    }

    fn repeats_fill(&self) -> bool {
        self.source.repeats_fill(self.axes, self.memory)
    }

    /// Returns what is selected of an inner chunk, whose extents inside the array are `inside`.
    fn part<'b>(&self, inner: &'b InnerBox, inside: &'b [u64]) -> Selected<'b>
    where
        'a: 'b,
    {
        Selected { axes: &inner.axes, memory: inner.memory, inside, ..*self }
    }
}

impl Edit<'_> {
    /// Writes selections, each over those before it, into the shard of a locked key, which is stored once. Unless one covers all, other
    /// processes are kept out. `old` is room for the old shard.
    pub fn write(&self, shard: &Sharded, key: &str, all: &[Selected<'_>], old: &mut Vec<u8>, s: &mut ChunkScratch) -> Result<()> {
        let (array, cuts) = (self.array, Cuts::new(shard, all)?);
        if all.iter().any(Selected::covers) {
            return self.put(&cuts, key, &Old::default(), s);
        }
        let process = array.store.lock_key(&array.prefix, key, LockUse::Often)?;
        let found = array.store.open(key)?;
        // Another process may not come in before the shard is stored.
        let sink = if process.is_some() { ChunkSink::now(array) } else { self.sink };
        let at_once = Edit { sink: sink.over(found.as_ref())?, ..*self };
        match found {
            None => at_once.put(&cuts, key, &Old::default(), s),
            Some(object) => {
                // The condition of the put stays that of the empty object.
                let is_missing = array.lenient.empty_is_missing && object.len()? == 0;
                let old = if is_missing { Old::default() } else { self.read_old(&object, &cuts, old, &mut s.chain)? };
                let file = object.watched();
                let sink = at_once.sink.instead_of(file.as_ref());
                Edit { sink, ..*self }.put(&cuts, key, &old, s)
            }
        }
    }

    fn put(&self, cuts: &Cuts<'_>, key: &str, old: &Old<'_>, s: &mut ChunkScratch) -> Result<()> {
        if old.index.is_empty() && cuts.all.iter().all(Selected::repeats_fill) {
            return remove_shard(self.sink, cuts.shard, key, &mut s.chain.stages);
        }
        let (slots, pieces) = self.encode(cuts, old, s)?;
        put_shard(self.sink, cuts.shard, key, &slots, &pieces, old, &mut s.chain.stages)?;
        if let Some(piece) = pieces.into_iter().next() {
            s.chain.shard = piece.bytes;
        }
        Ok(())
    }

    /// Reads of the old shard, into `buf`, what is needed: its index and the inner chunks that stay or are changed in part.
    fn read_old<'b>(&self, object: &Object, cuts: &Cuts<'_>, buf: &'b mut Vec<u8>, s: &mut ChainScratch) -> Result<Old<'b>> {
        let cost = Cost::of(&*self.array.store);
        let mut replaced = filled(false, inner_count(cuts.shard))?;
        let mut replaced_count = 0;
        cuts.each(0..cuts.len(), &mut |number, boxes| {
            replaced[number] = boxes.iter().any(Selected::covers);
            replaced_count += u64::from(replaced[number]);
            Ok(())
        })?;
        Old::read(object, cuts.shard, &|number| replaced[number], replaced_count, cost, buf, s)
    }

    /// Encodes the inner chunks that the selections touch, in pieces where threads are idle.
    fn encode(&self, cuts: &Cuts<'_>, old: &Old<'_>, s: &mut ChunkScratch) -> Result<(Vec<InnerSlot>, Vec<EncodedPiece>)> {
        let mut slots = slots_of(cuts.shard, old, &mut |touched| {
            cuts.each(0..cuts.len(), &mut |number, _| {
                touched(number);
                Ok(())
            })
        })?;
        let pieces = self.pieces(cuts, old, s)?;
        for (i, piece) in pieces.iter().enumerate() {
            for &(number, at, len) in &piece.entries {
                slots[number] = InnerSlot::New(i as u32, at, len);
            }
        }
        Ok((slots, pieces))
    }

    fn pieces(&self, cuts: &Cuts<'_>, old: &Old<'_>, s: &mut ChunkScratch) -> Result<Vec<EncodedPiece>> {
        let total = cuts.len();
        let elements = cuts.all.iter().map(|one| one.axes.iter().map(|a| a.count).product::<u64>()).fold(0, u64::saturating_add);
        let bytes = elements.saturating_mul(self.array.data_type.size() as u64);
        let helped = self.request.filter(|request| bytes > 2 * INLINE_BYTES && total > 1 && request.has_idle_threads());
        let Some(request) = helped else {
            let reused = std::mem::take(&mut s.chain.shard);
            return Ok(vec![self.piece(cuts, 0..total, old, reused, s)?]);
        };
        let count = (request.threads() as u64 * PIECES).min(total).min(bytes / (INLINE_BYTES / 4));
        let results: Vec<Mutex<Option<Result<EncodedPiece>>>> = (0..count).map(|_| Mutex::new(None)).collect();
        let from = |i: u64| (u128::from(total) * u128::from(i) / u128::from(count)) as u64;
        request.for_each_parallel(count as usize, &|i| {
            let range = from(i as u64)..from(i as u64 + 1);
            let _scope = Scope::new(&self.array.stats);
            let made = scratch::with(|s| self.piece(cuts, range, old, Vec::new(), &mut s.work));
            *lock::lock(&results[i]) = Some(made);
        });
        let unwrap = |m: Mutex<Option<Result<EncodedPiece>>>| m.into_inner().unwrap_or_else(|e| e.into_inner());
        results.into_iter().map(|m| unwrap(m).unwrap_or_else(|| Err(err!(Internal, "a piece of a shard was not encoded")))).collect()
    }

    fn piece(&self, cuts: &Cuts<'_>, range: Range<u64>, old: &Old<'_>, mut bytes: Vec<u8>, s: &mut ChunkScratch) -> Result<EncodedPiece> {
        bytes.clear();
        let mut piece = EncodedPiece { bytes, entries: Vec::new() };
        let mut encoder = InnerEncoder::new(&cuts.shard.inner);
        cuts.each(range, &mut |number, boxes| {
            let at = piece.bytes.len();
            if self.chunk(&mut encoder, number, boxes, old, &mut piece.bytes, s)? {
                push(&mut piece.entries, (number, at as u64, (piece.bytes.len() - at) as u64))?;
            }
            Ok(())
        })?;
        Ok(piece)
    }

    /// Appends the new bytes of one inner chunk to `out`, or returns false if it is not to be stored.
    fn chunk(
        &self,
        encoder: &mut InnerEncoder<'_>,
        number: usize,
        boxes: &[Selected<'_>],
        old: &Old<'_>,
        out: &mut Vec<u8>,
        s: &mut ChunkScratch,
    ) -> Result<bool> {
        let is_covered = boxes.iter().any(Selected::covers);
        if let ([one], true) = (boxes, is_covered) {
            return encoder.encode_into(one.source, one.axes, one.memory, &mut s.chain, out).map_err(|e| (self.name)(one.member, e));
        }
        let entry = if is_covered { None } else { old.entry(number)? };
        if entry.is_none() && boxes.iter().all(Selected::repeats_fill) {
            return Ok(false);
        }
        let name = |e: Error| if let Some((offset, _)) = entry { e.at_field(inner_name(number, offset)) } else { e };
        let bytes = entry.map(|entry| old.get(entry)).transpose()?;
        match encoder.chain {
            BoundChain::Sharded(shard) if shard.stages.is_empty() => self.nested(shard, bytes, boxes, out, s).map_err(name),
            chain => self.patch(chain, bytes, &name, boxes, out, s),
        }
    }

    /// Appends an inner shard that is changed in part.
    fn nested(
        &self,
        shard: &Sharded,
        bytes: Option<&[u8]>,
        boxes: &[Selected<'_>],
        out: &mut Vec<u8>,
        s: &mut ChunkScratch,
    ) -> Result<bool> {
        let old = match bytes {
            None => Old::default(),
            Some(bytes) => Old::whole(shard, bytes, &mut s.chain.stages)?,
        };
        let alone = Edit { request: None, ..*self };
        let (slots, pieces) = alone.encode(&Cuts::new(shard, boxes)?, &old, s)?;
        let Some(whole) = assemble(shard, &slots, &pieces, &old, &mut s.chain.stages)? else { return Ok(false) };
        for part in whole.all() {
            reserve(out, part.len())?;
            out.extend_from_slice(part);
        }
        Ok(true)
    }

    /// Appends an inner chunk without inner chunks of its own that is changed in part, by each box over those before it. Elements beyond
    /// the array's edge are stored again as it was found.
    fn patch(
        &self,
        chain: &BoundChain,
        bytes: Option<&[u8]>,
        name: &dyn Fn(Error) -> Error,
        boxes: &[Selected<'_>],
        out: &mut Vec<u8>,
        s: &mut ChunkScratch,
    ) -> Result<bool> {
        let array = self.array;
        let (shape, size) = (chain.shape(), array.data_type.size());
        let strides = c_strides(shape, size);
        let all = all_of(shape, &strides);
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
        for one in boxes {
            one.source.place(one.axes, one.memory, base, &strides, one.change).map_err(|e| (self.name)(one.member, e))?;
        }
        let mut source = ElementSource::new(chain, array.data_type, &array.fill, as_stored, base)?;
        source.store_fill = boxes.last().is_some_and(|last| last.source.store_fill);
        match (encode_into(chain, &source, &all, 0, buffers, out), boxes) {
            // Whose element does not fit is seen from each alone.
            (Err(e), [_, _, ..]) => {
                boxes.iter().try_for_each(|one| self.patch(chain, None, name, &[*one], &mut Vec::new(), s).map(drop))?;
                Err(e)
            }
            (Err(e), [one]) => Err((self.name)(one.member, e)),
            (encoded, _) => encoded,
        }
    }
}

/// Selections of one shard, cut at the borders of its inner chunks.
struct Cuts<'a> {
    shard: &'a Sharded,
    all: &'a [Selected<'a>],
    cuts: Vec<Cut<'a>>,
    /// Of several selections: the number of each inner chunk that one reaches into, that selection, and the place in its cut; sorted. One
    /// alone has them in this order.
    order: Vec<(usize, usize, u64)>,
}

impl<'a> Cuts<'a> {
    fn new(shard: &'a Sharded, all: &'a [Selected<'a>]) -> Result<Cuts<'a>> {
        let cuts = try_collect(all.iter().map(|one| Cut::new(shard, one.axes, one.source.picks.as_ref())))?;
        let mut made = Cuts { shard, all, cuts, order: Vec::new() };
        for (i, cut) in made.cuts.iter().enumerate().filter(|_| all.len() > 1) {
            for n in 0..cut.len() {
                cut.each(n..n + 1, shard, all[i].axes, all[i].memory, &mut |inner| push(&mut made.order, (inner.number, i, n)))?;
            }
        }
        made.order.sort_unstable();
        Ok(made)
    }

    fn len(&self) -> u64 {
        if let [one] = &self.cuts[..] { one.len() } else { self.order.len() as u64 }
    }

    /// Calls `each` with the number of each inner chunk that begins in `range`, in C order, and with what is selected of it.
    fn each(&self, range: Range<u64>, each: &mut dyn FnMut(usize, &[Selected<'_>]) -> Result<()>) -> Result<()> {
        let (shard, all) = (self.shard, self.all);
        if let ([cut], [one]) = (&self.cuts[..], all) {
            let mut alone = |inner: InnerBox| each(inner.number, &[one.part(&inner, &inner.inside(shard, one.inside))]);
            return cut.each(range, shard, one.axes, one.memory, &mut alone);
        }
        let border = |n: u64| self.order.get(n as usize).map_or(self.order.len(), |at| self.order.partition_point(|other| other.0 < at.0));
        for group in self.order[border(range.start)..border(range.end)].chunk_by(|a, b| a.0 == b.0) {
            let mut boxes = Vec::new();
            for &(_, i, n) in group {
                self.cuts[i].each(n..n + 1, shard, all[i].axes, all[i].memory, &mut |inner| push(&mut boxes, inner))?;
            }
            let inside = boxes[0].inside(shard, all[0].inside);
            let parts = collect(group.iter().zip(&boxes).map(|(&(_, i, _), inner)| all[i].part(inner, &inside)))?;
            each(group[0].0, &parts)?;
        }
        Ok(())
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
