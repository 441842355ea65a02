//! A shard that is put together from inner chunks of the old one, carried over as the bytes that they are, and from newly encoded ones.
//!
//! The new shard holds its inner chunks in C order, each once, without dead space.

use super::cost::Cost;
use super::scratch::{ChainScratch, StageBuffers};
use super::shard_index::{decode_index, encode_index, index_bytes, inner_count, read_index};
use super::stats;
use crate::codec::{IndexLocation, Sharded, sharding};
use crate::error::{Result, bail, err};
use crate::limits::{filled, grow, push, reserve_one, try_collect};
use crate::store::Object;
use std::collections::HashMap;
use std::ops::Range;

/// The largest shard that is read as a whole to change a part of it: in a larger one the bytes between its inner chunks may be most of it.
const MOST_AT_ONCE: u64 = 32 << 20;

/// An old shard, as far as it is needed.
#[derive(Default)]
pub(super) struct Old<'a> {
    /// Its index in the native form, or empty without an old shard.
    pub index: Vec<u8>,
    /// The length of the shard.
    len: u64,
    /// The bytes that its inner chunks may take.
    room: Range<u64>,
    bytes: &'a [u8],
    /// Which runs of the shard `bytes` holds, by offset: the offset, the length, and the place in `bytes`.
    runs: Vec<(u64, u64, usize)>,
}

impl<'a> Old<'a> {
    /// Takes an old shard whose bytes are all in memory.
    pub fn whole(shard: &Sharded, bytes: &'a [u8], buffers: &mut StageBuffers) -> Result<Old<'a>> {
        let (len, size) = (bytes.len(), index_bytes(shard));
        let Some(first) = len.checked_sub(size) else {
            bail!(ShardIndex, "found a shard of {len} bytes, expected an index of {size}");
        };
        let encoded = match shard.location {
            IndexLocation::Start => &bytes[..size],
            IndexLocation::End => &bytes[first..],
        };
        let mut index = Vec::new();
        decode_index(shard, encoded, &mut index, buffers)?;
        let (room, runs) = (sharding::room(shard.location, size, len as u64), vec![(0, len as u64, 0)]);
        Ok(Old { index, len: len as u64, room, bytes, runs })
    }

    /// Reads the index of a shard into memory, and those of its inner chunks that are not `replaced`, near ones together, into `buf`.
    /// `replaced_count` is how many are replaced.
    pub fn read(
        object: &Object,
        shard: &Sharded,
        replaced: &dyn Fn(usize) -> bool,
        replaced_count: u64,
        cost: Cost,
        buf: &'a mut Vec<u8>,
        s: &mut ChainScratch,
    ) -> Result<Old<'a>> {
        let (len, count) = (object.len()?, inner_count(shard));
        // What may be left out is not worth two calls more: all in one.
        let skipped = len as f64 * replaced_count as f64 / count as f64;
        if len <= MOST_AT_ONCE && skipped * cost.byte <= 2.0 * cost.call {
            let size = usize::try_from(len).map_err(|_| err!(NoMemory, "a shard of {len} bytes"))?;
            object.read_exact_at(0, grow(buf, size)?)?;
            stats::read(len);
            return Old::whole(shard, &buf[..size], &mut s.stages);
        }
        let (index, room) = (read_index(object, shard, len, s)?, sharding::room(shard.location, index_bytes(shard), len));
        let mut old = Old { index, len, room, ..Old::default() };
        old.runs = old.runs_of((0..count).filter(|&number| !replaced(number)), cost)?;
        let mut at = 0;
        for (offset, len, place) in &mut old.runs {
            *place = at;
            at += *len as usize;
            object.read_exact_at(*offset, &mut grow(buf, at)?[*place..])?;
            stats::read(*len);
        }
        old.bytes = buf;
        Ok(old)
    }

    /// Returns the runs of bytes that hold the inner chunks of those numbers, near ones together.
    fn runs_of(&self, numbers: impl Iterator<Item = usize>, cost: Cost) -> Result<Vec<(u64, u64, usize)>> {
        let mut wanted = Vec::new();
        for number in numbers {
            if let Some(entry) = self.entry(number)? {
                push(&mut wanted, entry)?;
            }
        }
        wanted.sort_unstable();
        let mut runs: Vec<(u64, u64, usize)> = Vec::new();
        for (offset, len) in wanted {
            match runs.last_mut() {
                Some((start, have, _)) if offset <= (*start + *have).saturating_add(cost.gap()) => {
                    *have = (*have).max(offset + len - *start);
                }
                _ => push(&mut runs, (offset, len, 0))?,
            }
        }
        Ok(runs)
    }

    /// Returns where an inner chunk is, or `None` if it is not stored; checked to be inside the shard.
    pub fn entry(&self, number: usize) -> Result<Option<(u64, u64)>> {
        if self.index.is_empty() {
            return Ok(None);
        }
        let entry = sharding::decode_entry(&self.index, number)?;
        if let Some(entry) = entry {
            sharding::check_entry(number, entry, &self.room)?;
        }
        Ok(entry)
    }

    pub fn get(&self, (offset, len): (u64, u64)) -> Result<&'a [u8]> {
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
pub(super) struct EncodedPiece {
    pub bytes: Vec<u8>,
    /// The number of each that is to be stored, its place, its length.
    pub entries: Vec<(usize, u64, u64)>,
}

/// A shard to be put: the index before or behind its inner chunks.
pub(super) struct Assembled<'a> {
    head: Vec<u8>,
    parts: Vec<&'a [u8]>,
    tail: Vec<u8>,
}

/// Puts a shard together, or returns `None` if no inner chunk is stored.
pub(super) fn assemble<'a>(
    shard: &Sharded,
    slots: &[InnerSlot],
    pieces: &'a [EncodedPiece],
    old: &Old<'a>,
    buffers: &mut StageBuffers,
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
            _ => push(&mut runs, (from, offset, offset + len))?,
        }
        entries.push(Some((at, len)));
        at = at.checked_add(len).ok_or_else(|| err!(Limit, "a shard of more than 2^64 bytes"))?;
    }
    if entries.iter().all(Option::is_none) {
        return Ok(None);
    }
    let parts = try_collect(runs.into_iter().map(|(from, start, end)| match from {
        None => old.get((start, end - start)),
        Some(piece) => {
            let bytes = pieces.get(piece as usize).and_then(|p| p.bytes.get(start as usize..end as usize));
            bytes.ok_or_else(|| err!(Internal, "no piece {piece} of a shard"))
        }
    }))?;
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let index = if shard.location == IndexLocation::Start { &mut head } else { &mut tail };
    encode_index(shard, &entries, index, buffers)?;
    Ok(Some(Assembled { head, parts, tail }))
}

/// Inner chunks of an old shard that share their bytes, and go on sharing them: for each range its new place.
struct SharedBytes(HashMap<(u64, u64), u64>);

impl SharedBytes {
    /// Returns `None` where nothing shares bytes, which the lengths tell. Entries that overlap otherwise are carried over one by one,
    /// unless that would make much more of them than there was.
    fn new(slots: &[InnerSlot], len: u64) -> Result<Option<SharedBytes>> {
        let carried = || slots.iter().filter_map(|slot| if let InnerSlot::Old(offset, len) = *slot { Some((offset, len)) } else { None });
        if carried().fold(0u64, |sum, entry| sum.saturating_add(entry.1)) <= len {
            return Ok(None);
        }
        let mut distinct: HashMap<(u64, u64), u64> = HashMap::new();
        for entry in carried() {
            reserve_one(&mut distinct)?;
            distinct.insert(entry, u64::MAX);
        }
        let sum = distinct.keys().fold(0u64, |sum, entry| sum.saturating_add(entry.1));
        if sum > len.saturating_mul(2) {
            bail!(ShardIndex, "the inner chunks overlap: they have {sum} bytes together, the shard has {len}");
        }
        Ok(Some(SharedBytes(distinct)))
    }

    /// Returns the place that the bytes of `entry` have got already; if they have none, they get `at`.
    fn place(&mut self, entry: (u64, u64), at: u64) -> Option<u64> {
        let known = self.0.get_mut(&entry)?;
        if *known == u64::MAX {
            *known = at;
            return None;
        }
        Some(*known)
    }
}

impl<'a> Assembled<'a> {
    pub fn all(&self) -> impl Iterator<Item = &[u8]> {
        let ends = |bytes: &'_ Vec<u8>| !bytes.is_empty();
        let head = Some(self.head.as_slice()).filter(|_| ends(&self.head));
        let tail = Some(self.tail.as_slice()).filter(|_| ends(&self.tail));
        head.into_iter().chain(self.parts.iter().copied()).chain(tail)
    }
}

/// Calls what it is given with the number of each inner chunk that is touched.
pub(super) type Touched<'a> = dyn FnMut(&mut dyn FnMut(usize)) -> Result<()> + 'a;

/// Returns the slots of a shard's inner chunks: empty for those that `touched` names, the others as they were.
pub(super) fn slots_of(shard: &Sharded, old: &Old<'_>, touched: &mut Touched<'_>) -> Result<Vec<InnerSlot>> {
    let count = inner_count(shard);
    let mut slots = filled(InnerSlot::Empty, count)?;
    if old.index.is_empty() {
        return Ok(slots);
    }
    let mut stays = filled(true, count)?;
    touched(&mut |number| stays[number] = false)?;
    for (number, slot) in slots.iter_mut().enumerate().filter(|(number, _)| stays[*number]) {
        if let Some((offset, len)) = old.entry(number)? {
            *slot = InnerSlot::Old(offset, len);
        }
    }
    Ok(slots)
}
