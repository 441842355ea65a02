//! The driver of the state machine that reads at once, for files and memory: one open, then a read for each part (near ones together).

use super::array::BoundArray;
use super::cost::Cost;
use super::decode::{Decoded, Machine};
use super::item::Item;
use super::leaf::plain_shard;
use super::lenient::reaches_out;
use super::part::Part;
use super::raw_spans::{are_apart, cheapest_split};
use super::read_job::ReadJob;
use super::read_pieces::{CHECK_LENGTH, Pieces, read_exactly};
use super::scratch::{self, ChainScratch};
use super::spans::PartGroup;
use super::stats;
use super::target::Target;
use crate::codec::{BoundChain, Sharded};
use crate::error::{Result, bail, err};
use crate::limits::{check_exact, grow, reserve};
use crate::store::{ByteRange, Folder, Object};
use std::sync::atomic::Ordering;

/// From how many chunks on it pays to open their folder: two calls more, and each chunk's file is found with one name less to look up
/// (measured: 70 ns).
const SHARE_FOLDER: u64 = 32;

/// The buffers of the driver, borrowed from the thread's scratch.
pub(super) struct ReadBuffers<'s> {
    /// Encoded bytes as read.
    pub io: &'s mut Vec<u8>,
    /// The parts that are still to be read.
    pub parts: &'s mut Vec<Part>,
    pub chain: &'s mut ChainScratch,
}

/// Reads one item, and returns when its elements are in their place.
pub(super) fn read_now(job: &ReadJob, item: &Item) -> Result<()> {
    read_item(job, item, false)?;
    job.settle()?;
    if job.ends_with_misses() { look_again(job) } else { Ok(()) }
}

/// Reads all items once more if the folder that some of their chunks were not in has been replaced or removed since it was opened.
#[cold]
fn look_again(job: &ReadJob) -> Result<()> {
    let (Some(folder), Some(prefix)) = (job.folder.get(), common_folder(job)) else { return Ok(()) };
    if job.array.store.is_there(folder, &prefix) {
        return Ok(());
    }
    (0..job.plan.items()).filter_map(|item| job.plan.item(item)).try_for_each(|item| read_item(job, &item, true))
}

/// Reads one item; `anew` without the folder that others were looked for in.
fn read_item(job: &ReadJob, item: &Item, anew: bool) -> Result<()> {
    let picking = job.picking(item);
    let target = picking.as_ref().unwrap_or(&job.target);
    scratch::with(|s| {
        job.array.chunk_key(&item.chunk, &mut s.key)?;
        let mut buffers = ReadBuffers { io: &mut s.io, parts: &mut s.parts, chain: &mut s.work.chain };
        let chain = job.array.chain_of(&item.chunk);
        let read = chain.and_then(|chain| ItemRead { job, item, chain: &chain, target, key: &s.key, anew }.run(&mut buffers));
        read.map_err(|e| job.annotate(item, e, &s.key))
    })
}

/// One item that is read.
struct ItemRead<'a> {
    job: &'a ReadJob,
    item: &'a Item,
    chain: &'a BoundChain,
    target: &'a Target,
    key: &'a str,
    anew: bool,
}

impl ItemRead<'_> {
    fn run(&self, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        let array = &self.job.array;
        if let Some(shard) = plain_shard(self.chain).filter(|_| !array.lenient.empty_is_missing) {
            return self.read_shard(shard, buffers);
        }
        if self.read_kept(buffers)? {
            return Ok(());
        }
        match self.open()? {
            None => self.fill(),
            Some(object) => read_object(array, self.chain, &object, self.target, self.item, buffers),
        }
    }

    fn fill(&self) -> Result<()> {
        self.target.fill(&self.item.axes, self.item.memory)
    }

    fn machine<'m>(&'m self) -> Machine<'m> {
        Machine { root: self.chain, target: self.target, cost: Cost::LOCAL, kept: None, decoded: None }
    }

    /// Opens the chunk's object, in the folder of all chunks where there are many.
    fn open(&self) -> Result<Option<Object>> {
        let store = &self.job.array.store;
        if self.job.plan.items() < SHARE_FOLDER || self.anew {
            return store.open(self.key);
        }
        let found = store.open_in(self.job.folder.get_or_init(|| open_folder(self.job)), self.key)?;
        if found.is_none() {
            self.job.has_missed.store(true, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// Reads from a shard that is perhaps open already.
    fn read_shard(&self, shard: &Sharded, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        let array = &self.job.array;
        let Some(held) = array.open_shards.open(&*array.store, shard, self.key, buffers.chain)? else { return self.fill() };
        let decoded = array.cache.as_ref().map(|cache| Decoded { cache, key: self.key, mark: &held.mark });
        let machine = Machine { kept: Some(held.shard()), decoded, ..self.machine() };
        buffers.parts.clear();
        machine.start_inner(shard, held.index(), Some(held.len), self.item, buffers.parts)?;
        LocalDriver { object: held.object()?, machine: &machine, inside: true }.run(buffers)
    }

    /// Reads a chunk that is kept decoded, or is to be. Returns false if the chunk is to be read in another way.
    fn read_kept(&self, buffers: &mut ReadBuffers<'_>) -> Result<bool> {
        let array = &self.job.array;
        let (Some(cache), BoundChain::Leaf(leaf)) = (&array.cache, self.chain) else { return Ok(false) };
        let as_it_should_be = array.lenient.clipped.is_none() && !array.lenient.empty_is_missing;
        if leaf.variable.is_some() || !as_it_should_be || !cache.takes(leaf.layout.bytes) {
            return Ok(false);
        }
        let Some(mark) = array.store.stamp(self.key)? else { return self.fill().map(|()| true) };
        let decoded = Decoded { cache, key: self.key, mark: &mark };
        let machine = Machine { decoded: Some(decoded), ..self.machine() };
        buffers.parts.clear();
        machine.start(self.item, buffers.parts)?;
        match buffers.parts.as_slice() {
            [part] if machine.place_kept(part)? => return Ok(true),
            _ => {}
        }
        let Some(object) = array.store.open(self.key)? else { return self.fill().map(|()| true) };
        // Another object may have got the key since.
        let mark = object.stamp()?;
        let machine = Machine { decoded: Some(Decoded { mark: &mark, ..decoded }), ..self.machine() };
        LocalDriver { object: &object, machine: &machine, inside: false }.read(self.item, buffers).map(|()| true)
    }
}

/// Opens the folder that all chunks of a job's plan are in.
fn open_folder(job: &ReadJob) -> Folder {
    common_folder(job).map_or(Folder::Unknown, |prefix| job.array.store.folder(&prefix))
}

/// Gives the prefix of the folder that all chunks of a job's plan are in, if there is one.
fn common_folder(job: &ReadJob) -> Option<String> {
    // A list need not have its chunks in order.
    if job.plan.list().is_some() {
        return None;
    }
    let key_of = |item: u64| job.array.key_of(&job.plan.item(item)?.chunk).ok();
    let (mut first, last) = (key_of(0)?, key_of(job.plan.items() - 1)?);
    first.truncate(job.array.keys.common_folder(&first, &last));
    (!first.is_empty()).then_some(first)
}

/// Reads an item from its chunk's object, as far as malformed chunks are tolerated.
pub(super) fn read_object(
    array: &BoundArray,
    chain: &BoundChain,
    object: &Object,
    target: &Target,
    item: &Item,
    buffers: &mut ReadBuffers<'_>,
) -> Result<()> {
    let machine = Machine { root: chain, target, cost: Cost::LOCAL, kept: None, decoded: None };
    if array.lenient.empty_is_missing && object.len()? == 0 {
        return target.fill(&item.axes, item.memory);
    }
    let read = read_whole_chunk(array, object, &machine, item, buffers);
    if !read.as_ref().is_err_and(|e| array.lenient.may_mend(e)) {
        return read;
    }
    match array.lenient.clipped(&array.grid, &array.shape, item) {
        Some((root, inside)) if target.fill(&item.axes, item.memory).is_ok() => {
            let clipped = Machine { root: &root, ..machine };
            LocalDriver { object, machine: &clipped, inside: false }.read(&inside, buffers).or(read)
        }
        _ => read,
    }
}

/// Reads an item of a chunk that is taken for well-formed.
fn read_whole_chunk(array: &BoundArray, object: &Object, machine: &Machine<'_>, item: &Item, buffers: &mut ReadBuffers<'_>) -> Result<()> {
    let driver = LocalDriver { object, machine, inside: false };
    let BoundChain::Leaf(leaf) = machine.root else { return driver.read(item, buffers) };
    let (order, check_length) = (&machine.target.order, || {
        if reaches_out(&array.grid, &array.shape, &item.chunk) { check_exact(object.len()?, leaf.layout.bytes) } else { Ok(()) }
    });
    if leaf.is_raw() && machine.target.picks.is_none() {
        let (outer, len) = cheapest_split(leaf, &item.axes, order, machine.cost);
        let pieces = Pieces { object, machine, leaf, item, outer, len };
        if are_apart(leaf, &item.axes, order, (outer, len), machine.cost) {
            if !pieces.are_whole() {
                check_length()?;
            }
            return pieces.read(buffers.io);
        }
    }
    buffers.parts.clear();
    machine.start(item, buffers.parts)?;
    if leaf.is_raw() && buffers.parts.iter().any(|part| !part.is_whole()) {
        check_length()?;
    }
    driver.run(buffers)
}

/// Runs the machine over one opened object.
struct LocalDriver<'a> {
    object: &'a Object,
    machine: &'a Machine<'a>,
    /// Spans are known to end inside the object.
    inside: bool,
}

impl LocalDriver<'_> {
    /// Reads an item from its beginning.
    fn read(&self, item: &Item, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        buffers.parts.clear();
        self.machine.start(item, buffers.parts)?;
        self.run(buffers)
    }

    /// Reads until no parts are left.
    fn run(&self, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        while let Some(part) = buffers.parts.pop() {
            if !self.machine.skip(&part, buffers.parts)? && !self.machine.place_kept(&part)? {
                self.read_part(&part, buffers)?;
            }
        }
        Ok(())
    }

    fn read_part(&self, part: &Part, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        let range = self.machine.want(part).map_err(|e| part.annotate(e))?;
        if let Some((data, len)) = self.machine.direct(part) {
            self.machine.target.expect_bytes(data, len);
            // SAFETY: the machine gives memory of the caller that no other part touches.
            let dst = unsafe { std::slice::from_raw_parts_mut(data, len) };
            stats::read(len as u64);
            return match range {
                ByteRange::Span { offset, .. } => self.object.read_exact_at(offset, dst).map_err(|e| part.annotate(e)),
                _ => self.object.read_exact_whole(dst),
            };
        }
        match range {
            ByteRange::Whole { .. } => self.read_whole(part, buffers),
            ByteRange::Span { offset, len } => self.read_spans(part, offset, len, buffers),
            ByteRange::Suffix { len } => {
                let have = self.object.len()?;
                if have < len {
                    bail!(ShardIndex, "found a shard of {have} bytes, expected an index of {len}");
                }
                self.object.read_exact_at(have - len, grow(buffers.io, len as usize)?)?;
                stats::read(len);
                self.machine.advance(part, &buffers.io[..len as usize], buffers.chain, buffers.parts)
            }
        }
    }

    fn read_whole(&self, part: &Part, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        let ReadBuffers { io, parts, chain } = buffers;
        let (object, machine) = (self.object, self.machine);
        if let Some(exact) = machine.exact_bytes(part) {
            read_exactly(object, io, exact)?;
            return machine.advance(part, io, chain, parts);
        }
        let most = machine.most_bytes(part);
        // Room for what our own encoders write: then one call reads it all. What the buffer holds is overwritten.
        let more = (most / 2).min(4 << 20).saturating_sub(io.len());
        reserve(io, more)?;
        object.read_encoded(io, most)?;
        stats::read(io.len() as u64);
        let result = machine.advance(part, io, chain, parts);
        match result {
            // A read may come back short before the end; only then is more to be had.
            Err(_) if object.len()? > io.len() as u64 => {
                let len = object.len()?.min(most as u64) as usize;
                object.read_exact_at(0, grow(io, len)?)?;
                stats::read(len as u64);
                machine.advance(part, &io[..len], chain, parts)
            }
            other => other,
        }
    }

    /// Reads a span, together with the parts behind it whose spans are near.
    fn read_spans(&self, part: &Part, start: u64, len: u64, buffers: &mut ReadBuffers<'_>) -> Result<()> {
        let (object, machine) = (self.object, self.machine);
        let mut group = PartGroup::new(part, start, len)?;
        group.take_near(machine, buffers.parts, true)?;
        let len = group.bytes();
        if !self.inside && len > CHECK_LENGTH && group.end > object.len()? {
            return Err(group.annotate(err!(Truncated, "found {} bytes, expected at least {}", object.len()?, group.end)));
        }
        object.read_exact_at(start, grow(buffers.io, len as usize)?).map_err(|e| group.annotate(e))?;
        stats::read(len);
        group.advance(machine, &buffers.io[..len as usize], buffers.chain, buffers.parts)
    }
}
