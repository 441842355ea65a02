//! What a read or write will do, found without doing it: one item of each kind goes through the state machine as far as it goes without bytes.
//! Nothing is read, not even the index of a shard.

use super::alike;
use super::array::BoundArray;
use super::cost::Cost;
use super::cut;
use super::decode::Machine;
use super::item::{Axes, Axis, Item};
use super::leaf::{leaf_of, plain_shard};
use super::part::Part;
use super::pick_list::cells_of;
use super::plan::Plan;
use super::read::{ENOUGH, share_out};
use super::shard_index::index_bytes;
use super::spans::PartGroup;
use super::target::Target;
use super::{Memory, Selection, memory};
use crate::codec::{BoundChain, Leaf, Sharded};
use crate::error::Result;
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, element_count};
use crate::store::ByteRange;
use std::fmt::Write;
use std::sync::Arc;

/// An array of more objects than this is better stored in shards, of at most [`LARGEST_SHARD`] bytes: a shared file system counts files.
const MOST_OBJECTS: u64 = 4096;
const LARGEST_SHARD: u64 = 64 << 20;

/// The plan of a read or write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// It is a write.
    pub write: bool,
    /// The bytes of the selected elements in memory.
    pub bytes: u64,
    /// Chunks that the region touches: objects of the store, shards where the array has them.
    pub chunks: u64,
    /// Chunks that it covers, as far as they are inside the array.
    pub whole_chunks: u64,
    /// And those that it covers in part.
    pub partial_chunks: u64,
    /// Chunks that are read, changed and written again.
    pub changed_chunks: u64,
    /// Inner chunks of shards that the region touches (of the innermost level); 0 without shards.
    pub inner_chunks: u64,
    /// Those that it covers in part.
    pub partial_inner_chunks: u64,
    /// Reads of the store, if all chunks are stored and no shard's index is kept. Of inner chunks the most: near ones are read together.
    pub reads: u64,
    /// Reads of a whole object.
    pub whole_reads: u64,
    /// Bytes that they bring, where all of it is stored uncompressed; else `None`.
    pub read_bytes: Option<u64>,
    /// Values to be stored; of fill-value chunks none is.
    pub writes: u64,
    /// Bytes of decoded (or encoded) chunks, whole ones.
    pub decoded_bytes: u64,
    /// Chunks or inner chunks whose bytes go straight into the memory, or come straight from it.
    pub direct_chunks: u64,
    /// Threads that may work on it.
    pub threads: u64,
    /// Bytes that each of them needs, about, while chunks are compressed half.
    pub thread_bytes: u64,
    /// Objects that the whole array is, if all chunks are stored.
    pub objects: u64,
    /// And how many it would be in shards, where that is worth while; else 0.
    pub fewer_objects: u64,
    /// The shape of what is best read or written at a time.
    pub cell: Dims,
    /// What would be better, or empty.
    pub warning: String,
}

/// What is looked at.
struct Walk<'a> {
    array: &'a BoundArray,
    target: &'a Target,
    cost: Cost,
    seen: Explanation,
    /// Bytes of encoded data are not known.
    unknown: bool,
    /// The bytes of buffers for the largest chunk.
    buffers: u64,
}

/// Returns the plan of reading (or writing) `selection` to (or from) memory of that layout, which is not touched.
pub fn explain(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, write: bool) -> Result<Explanation> {
    let way = if write { memory::Use::Source } else { memory::Use::Destination };
    if !array.data_type.is_variable() {
        memory.check(selection.shape(), array.data_type, way)?;
    }
    // Distances in memory only are compared, so that a write is planned as the read of the same region.
    let in_memory = (memory.data_type, memory.overflow);
    let base = memory.data.wrapping_add(memory.offset);
    let target = Target::new(&array.chain, array.data_type, &array.fill, in_memory, base, memory.arena.clone());
    // What cannot be read back may be written all the same: then nothing goes straight.
    let target = match target {
        Err(_) if write => Target::new(&array.chain, array.data_type, &array.fill, (array.data_type, memory.overflow), base, None)?,
        other => other?,
    };
    let bytes = element_count(selection.shape())?.saturating_mul(memory.data_type.size() as u64);
    let seen = Explanation { write, bytes, cell: cell_of(&array.chain), ..Explanation::default() };
    let mut walk = Walk { array, target: &target, cost: Cost::of(&*array.store), seen, unknown: false, buffers: 0 };
    // Chunks with the same extents, of which the same is touched, cost the same.
    let kind = |d: usize, s: &Segment| {
        let extent = array.grid.extent(d, s.chunk);
        (s.start, s.count, extent, extent.min(array.shape[d] - array.grid.origin(d, s.chunk)))
    };
    walk.each(&alike::kinds(&array.grid, &axes_of(selection, &memory.strides), kind)?, &mut |walk, item| walk.chunk(item))?;
    let threads = array.pool.threads() as u64;
    let mut items = walk.seen.chunks;
    if let Some(shard) = plain_shard(&array.chain).filter(|_| !write && !array.store.capabilities().latency && items < threads * ENOUGH) {
        let mut plan = Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?;
        share_out(&mut plan, bytes, shard, threads)?;
        items = plan.items();
    }
    let mut seen = walk.seen;
    seen.threads = threads.min(items.max(1));
    seen.thread_bytes = walk.buffers;
    (seen.objects, seen.fewer_objects) = objects(array);
    seen.read_bytes = (!walk.unknown).then_some(seen.read_bytes.unwrap_or(0));
    seen.warning = warning(&seen, array, selection);
    Ok(seen)
}

/// A selection, and the distances in memory between its elements.
fn axes_of(selection: &Selection, memory: &[i64]) -> Axes {
    let each = selection.start().iter().zip(selection.shape()).zip(selection.step().iter().zip(memory));
    each.map(|((&start, &count), (&step, &memory))| Axis { start, count, step, memory }).collect()
}

impl Walk<'_> {
    /// Looks at one item of each kind, and counts what is found there as often as there are such items.
    fn each(&mut self, kinds: &[(Item, u64)], look_at: &mut dyn FnMut(&mut Self, &Item) -> Result<()>) -> Result<()> {
        for (item, times) in kinds {
            let none = Explanation { write: self.seen.write, ..Explanation::default() };
            let before = std::mem::replace(&mut self.seen, none);
            look_at(self, item)?;
            self.seen = before.plus(&self.seen, *times);
        }
        Ok(())
    }

    fn chunk(&mut self, item: &Item) -> Result<()> {
        let array = self.array;
        let chain = array.chain_of(&item.chunk)?;
        let inside = array.inside(&item.chunk);
        let whole = cut::covers(&item.axes, &inside);
        self.seen.chunks += 1;
        *(if whole { &mut self.seen.whole_chunks } else { &mut self.seen.partial_chunks }) += 1;
        if !self.seen.write {
            return match plain_shard(&chain) {
                Some(shard) => self.read_shard(shard, &item.axes),
                None => self.read_object(&chain, item),
            };
        }
        self.seen.writes += 1;
        let changed = !whole || self.target.transfer.is_partial();
        self.seen.changed_chunks += u64::from(changed);
        match plain_shard(&chain) {
            Some(shard) => {
                // The old shard's index, and what stays of it.
                self.seen.reads += 2 * u64::from(changed);
                self.unknown |= changed;
                self.inner(shard, &item.axes)?;
            }
            None => {
                self.seen.reads += u64::from(changed);
                self.seen.whole_reads += u64::from(changed);
                self.whole_object(&chain, changed);
                if let BoundChain::Leaf(leaf) = &*chain {
                    let direct = !changed && self.target.in_place(leaf, &item.axes) == Some(leaf.layout.bytes as u64);
                    self.leaf(leaf, direct);
                }
            }
        }
        Ok(())
    }

    /// A read of a whole object, if there is one.
    fn whole_object(&mut self, chain: &BoundChain, read: bool) {
        match chain {
            BoundChain::Leaf(leaf) if leaf.is_raw() => self.read_bytes(if read { leaf.layout.bytes as u64 } else { 0 }),
            _ => self.unknown |= read,
        }
    }

    fn read_bytes(&mut self, bytes: u64) {
        *self.seen.read_bytes.get_or_insert(0) += bytes;
    }

    /// A chunk that is decoded or encoded.
    fn leaf(&mut self, leaf: &Leaf, direct: bool) {
        let bytes = leaf.layout.bytes as u64;
        self.seen.decoded_bytes = self.seen.decoded_bytes.saturating_add(bytes);
        self.seen.direct_chunks += u64::from(direct);
        let encoded = if leaf.is_raw() { 0 } else { bytes / 2 };
        self.buffers = self.buffers.max(encoded + if direct { 0 } else { bytes });
    }

    /// A chunk without inner ones that are read by themselves.
    fn read_object(&mut self, chain: &BoundChain, item: &Item) -> Result<()> {
        let machine = Machine { root: chain, target: self.target, cost: self.cost, kept: None, decoded: None };
        let mut parts = Vec::new();
        machine.start(item, &mut parts)?;
        let (mut direct, mut bytes) = (true, 0);
        while let Some(part) = parts.pop() {
            direct &= machine.direct(&part).is_some();
            bytes += self.read_part(&machine, part, &mut parts)?;
        }
        match chain {
            BoundChain::Leaf(leaf) if leaf.is_raw() => {
                self.read_bytes(bytes);
                self.seen.direct_chunks += u64::from(direct);
                self.buffers = self.buffers.max(if direct { 0 } else { bytes.min(self.cost.merge.max(leaf.layout.bytes as u64)) });
            }
            BoundChain::Leaf(leaf) => {
                self.unknown = true;
                let straight = leaf.fused.is_none() && leaf.variable.is_none();
                self.leaf(leaf, straight && self.target.in_place(leaf, &item.axes) == Some(leaf.layout.bytes as u64));
            }
            BoundChain::Sharded(shard) => {
                self.unknown = true;
                self.inner(shard, &item.axes)?;
            }
        }
        Ok(())
    }

    /// One read, and how many bytes it brings.
    fn read_part(&mut self, machine: &Machine<'_>, part: Part, parts: &mut Vec<Part>) -> Result<u64> {
        self.seen.reads += 1;
        match machine.want(&part)? {
            ByteRange::Whole { .. } => {
                self.seen.whole_reads += 1;
                Ok(machine.exact_bytes(&part).unwrap_or(0) as u64)
            }
            ByteRange::Suffix { len } => Ok(len),
            ByteRange::Span { len, .. } if machine.direct(&part).is_some() => Ok(len),
            ByteRange::Span { offset, len } => {
                let mut group = PartGroup::new(part, offset, len)?;
                group.take_near(machine, parts, true)?;
                Ok(group.bytes())
            }
        }
    }

    /// The index, and the inner chunks that are touched.
    fn read_shard(&mut self, shard: &Sharded, axes: &Axes) -> Result<()> {
        let before = self.seen.inner_chunks;
        self.seen.reads += 1;
        self.read_bytes(index_bytes(shard) as u64);
        self.inner(shard, axes)?;
        self.seen.reads += self.seen.inner_chunks - before;
        Ok(())
    }

    fn inner(&mut self, shard: &Sharded, axes: &Axes) -> Result<()> {
        let grid = Grid::Regular { chunk: shard.inner_shape.clone() };
        let axes: Axes = shard.axes.iter().map(|&d| axes[d]).collect();
        let kinds = alike::kinds(&grid, &axes, |_, s| (s.start, s.count))?;
        self.each(&kinds, &mut |walk, inner| {
            let leaf = match &shard.inner {
                BoundChain::Sharded(nested) => return walk.inner(nested, &inner.axes),
                BoundChain::Leaf(leaf) => leaf,
            };
            let whole = cut::covers(&inner.axes, &leaf.shape);
            walk.seen.inner_chunks += 1;
            walk.seen.partial_inner_chunks += u64::from(!whole);
            let straight = leaf.fused.is_none() && leaf.variable.is_none();
            walk.leaf(leaf, straight && walk.target.in_place(leaf, &inner.axes) == Some(leaf.layout.bytes as u64));
            match leaf.is_raw() {
                true if !walk.seen.write => walk.read_bytes(leaf.layout.bytes as u64),
                raw => walk.unknown |= !raw && !walk.seen.write,
            }
            Ok(())
        })
    }
}

/// Returns the smallest piece that can be read by itself, in the array's order of dimensions.
fn cell_of(chain: &BoundChain) -> Dims {
    cells_of(chain).pop().unwrap_or_else(|| leaf_of(chain).shape.clone())
}

/// Returns a warning that says which region would be cheaper, or an empty text.
fn warning(seen: &Explanation, array: &BoundArray, selection: &Selection) -> String {
    let (chunk, cell) = (array.chain.shape().as_slice(), seen.cell.as_slice());
    let largest = if array.by_shape.is_some() { " at most" } else { "" };
    if seen.write && seen.changed_chunks > 0 {
        let aligned = selection.start().iter().zip(chunk).map(|(s, c)| s / c * c).collect::<Vec<_>>();
        return format!(
            "{} of {} chunks are covered in part: each is read, changed and written again; regions that begin and end where chunks of{largest} \
             {chunk:?} do (the first one touched begins at {aligned:?}) are written without being read",
            seen.changed_chunks, seen.chunks
        );
    }
    if !seen.write && seen.decoded_bytes > seen.bytes.saturating_mul(4) && seen.bytes > 0 {
        return format!(
            "{} bytes are decoded for {} bytes of elements: the region is thin across pieces of{largest} {cell:?}",
            seen.decoded_bytes, seen.bytes
        );
    }
    if seen.fewer_objects > 0 {
        return format!(
            "the array is up to {} objects of the store; in shards of several chunks it would be {}",
            seen.objects, seen.fewer_objects
        );
    }
    String::new()
}

/// How many objects the array is, and how many it would be in shards of at most [`LARGEST_SHARD`] bytes: whole numbers of chunks along the
/// dimension that has most of them, as time of a long run has. The second is 0 where that is no gain: there are few, shards are there already,
/// or the extents of chunks are listed.
fn objects(array: &BoundArray) -> (u64, u64) {
    let counts: Dims = (0..array.shape.len()).map(|d| array.grid.count(d, array.shape[d])).collect();
    let objects = counts.iter().fold(1u64, |all, &n| all.saturating_mul(n));
    let longest = (0..counts.len()).max_by_key(|&d| (counts[d], std::cmp::Reverse(d)));
    let (Some(longest), Some(chunk), BoundChain::Leaf(_)) = (longest, array.grid.regular_shape(), &*array.chain) else {
        return (objects, 0);
    };
    let bytes = chunk.iter().fold(array.data_type.size().max(1) as u64, |all, &c| all.saturating_mul(c));
    let together = (LARGEST_SHARD / bytes).min(objects.div_ceil(MOST_OBJECTS).next_power_of_two()).min(counts[longest]);
    if together < 2 { (objects, 0) } else { (objects, objects / counts[longest] * counts[longest].div_ceil(together)) }
}

impl Explanation {
    /// Adds what was counted of one chunk as often as there are such chunks.
    fn plus(mut self, one: &Explanation, times: u64) -> Explanation {
        let counts: [fn(&mut Explanation) -> &mut u64; 11] = [
            |e| &mut e.chunks,
            |e| &mut e.whole_chunks,
            |e| &mut e.partial_chunks,
            |e| &mut e.changed_chunks,
            |e| &mut e.inner_chunks,
            |e| &mut e.partial_inner_chunks,
            |e| &mut e.reads,
            |e| &mut e.whole_reads,
            |e| &mut e.writes,
            |e| &mut e.decoded_bytes,
            |e| &mut e.direct_chunks,
        ];
        let mut one = one.clone();
        for count in counts {
            *count(&mut self) = count(&mut self).saturating_add(count(&mut one).saturating_mul(times));
        }
        if let Some(bytes) = one.read_bytes {
            self.read_bytes = Some(self.read_bytes.unwrap_or(0).saturating_add(bytes.saturating_mul(times)));
        }
        self
    }

    /// A few lines of text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let what = if self.write { "write" } else { "read" };
        let _ = writeln!(text, "{what}: {} bytes in memory", self.bytes);
        let _ = writeln!(text, "chunks: {} ({} whole, {} in part)", self.chunks, self.whole_chunks, self.partial_chunks);
        if self.inner_chunks > 0 {
            let _ = writeln!(text, "inner chunks: {} ({} in part), of {:?}", self.inner_chunks, self.partial_inner_chunks, self.cell);
        }
        if self.write {
            let _ = writeln!(text, "read, changed and written again: {} chunks", self.changed_chunks);
            let _ = writeln!(text, "writes: {}", self.writes);
        }
        let bytes = self.read_bytes.map_or("compressed".to_string(), |n| format!("{n} bytes"));
        let _ = writeln!(text, "reads: {} ({} of whole objects; {bytes})", self.reads, self.whole_reads);
        let coded = if self.write { "encoded" } else { "decoded" };
        let _ = writeln!(text, "{coded}: {} bytes", self.decoded_bytes);
        let way = if self.write { "from" } else { "into" };
        let _ = writeln!(text, "straight {way} memory: {} chunks", self.direct_chunks);
        let _ = writeln!(text, "threads: {}, each with about {} bytes of buffers", self.threads, self.thread_bytes);
        let _ = writeln!(text, "the whole array: {} objects", self.objects);
        if !self.warning.is_empty() {
            let _ = writeln!(text, "warning: {}", self.warning);
        }
        text
    }
}
