//! Encoding: the elements of one whole chunk, in strided memory, become the bytes to store. No I/O.

use super::buffer_guard::{self, RevocableBuffer};
use super::chunk_picks::ChunkPicks;
use super::cut::{self, Cut};
use super::item::{Axes, Axis};
use super::leaf::{by_stride, contiguous_run, leaf_of};
use super::place::{self, PlaceAxis};
use super::scratch::{ChainScratch, StageBuffers};
use super::shard_index::{encode_index, index_bytes, inner_count};
use super::stages::{append, encode_stages};
use super::stats::{self, Counter};
use crate::codec::{BoundChain, IndexLocation, Leaf, Sharded};
use crate::dtype::run::Run;
use crate::dtype::transfer::Transfer;
use crate::dtype::variable::{self, VarItem};
use crate::dtype::{DataType, ElementType, Overflow, SharedElement, zeros};
use crate::error::{Result, err};
use crate::limits::{grow, reserve};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Where elements come from: memory, the conversion on the way, and what pads chunks that reach over the array's edge.
#[derive(Clone)]
pub(super) struct ElementSource {
    /// The selection's first element.
    pub base: *const u8,
    /// From the memory's type to the chain's element type.
    pub transfer: Transfer,
    /// The fill value as the chain's first buffer holds it.
    pub fill: SharedElement,
    /// Whether chunks (and inner chunks) that hold only the fill value are stored.
    pub store_fill: bool,
    /// The leaf's dimensions in the order of falling strides.
    order: SmallVec<[usize; 6]>,
    /// Before the memory, where the request may end before its work: elements are then copied before anything is done with them.
    pub revocable: Option<Arc<RevocableBuffer>>,
    /// Which elements of a chunk's boxes come from there, and where they are; `None`: all, as the axes say.
    pub picks: Option<ChunkPicks>,
}

// SAFETY: the memory is only read, and outlives the request (see `Memory`).
unsafe impl Send for ElementSource {}
// SAFETY: as above.
unsafe impl Sync for ElementSource {}

impl ElementSource {
    /// Returns a copy of the source by which chunks that hold only the fill value are stored, too.
    pub fn storing_fill(&self) -> ElementSource {
        ElementSource { store_fill: true, ..self.clone() }
    }

    /// Elements of `memory_type` from `base` on become chunks of `root`; `fill` is one element of `data_type`.
    pub fn new(
        root: &BoundChain,
        data_type: DataType,
        fill: &[u8],
        (memory_type, overflow): (DataType, Overflow),
        base: *const u8,
    ) -> Result<ElementSource> {
        let element = leaf_of(root).layout.element;
        let mut stored = zeros(element.size())?;
        let to_stored = Transfer::new(ElementType::native(data_type), element)?;
        // SAFETY: both hold one element of their type.
        let fits = unsafe { to_stored.run(Run::one(fill.as_ptr(), stored.as_mut_ptr())) }.is_ok();
        if !fits {
            return Err(err!(Range, "the fill value does not fit into the stored type"));
        }
        let transfer = Transfer::new(ElementType::native(memory_type), element)?.with_overflow(overflow);
        Ok(ElementSource {
            base,
            transfer,
            fill: SharedElement::new(&stored)?,
            store_fill: false,
            order: by_stride(leaf_of(root)),
            revocable: None,
            picks: None,
        })
    }

    /// Returns the source of one chunk of which a list picks elements.
    pub fn picking(&self, picks: ChunkPicks) -> ElementSource {
        ElementSource { picks: Some(picks), ..self.clone() }
    }

    /// Returns whether a box gives all elements of a chunk whose extents inside the array are `inside`, and all of their fields.
    pub fn covers(&self, axes: &[Axis], memory: i64, inside: &[u64]) -> bool {
        let all = |picks: &ChunkPicks| picks.count(axes, memory) == axes.iter().map(|a| a.count).product::<u64>();
        !self.transfer.is_partial() && cut::covers(axes, inside) && self.picks.as_ref().is_none_or(all)
    }

    /// Returns whether memory says at once that all of a region, whose shape and strides these are, is the fill value, which is not to be
    /// stored: its elements are stored as they are.
    pub fn is_fill(&self, shape: &[u64], strides: &[i64]) -> bool {
        if self.store_fill || self.revocable.is_some() || self.transfer.plain_copy().is_none() {
            return false;
        }
        let axes = shape.iter().zip(strides).map(|(&count, &stride)| PlaceAxis { count, src: stride, dst: stride });
        // SAFETY: these are the elements of the checked memory.
        unsafe { place::is_all(self.base, axes, &self.fill) }
    }

    /// Returns whether a box is one element of the memory over and over.
    fn repeats(&self, axes: &[Axis]) -> bool {
        self.picks.is_none() && axes.iter().all(|a| a.memory == 0 || a.count <= 1)
    }

    /// Returns whether a box is seen from one element to be nothing but the fill value, which is not to be stored. Elements that are larger
    /// than numbers, or of variable length, are not looked at.
    pub fn repeats_fill(&self, axes: &[Axis], memory: i64) -> bool {
        let mut element = [0; 16];
        let Some(element) = element.get_mut(..self.fill.len()) else { return false };
        let is_left = self.store_fill || self.revocable.is_some() || self.transfer.is_partial();
        if is_left || self.transfer.to().data_type.is_variable() || !self.repeats(axes) {
            return false;
        }
        // SAFETY: the first element of the checked memory that the box reaches, and room for one of the type that it becomes.
        let fits = unsafe { self.transfer.run(Run::one(self.base.offset(memory as isize), element.as_mut_ptr())) }.is_ok();
        fits && *element == self.fill[..]
    }

    /// Brings the elements of a box of a chunk into a buffer of the chunk with those strides, by `transfer`.
    pub fn place(&self, axes: &[Axis], memory: i64, buffer: *mut u8, strides: &[i64], transfer: &Transfer) -> Result<()> {
        let start: i64 = axes.iter().zip(strides).map(|(a, &s)| a.start as i64 * s).sum();
        let first = buffer.wrapping_offset(start as isize);
        let _inside = buffer_guard::enter(&self.revocable)?;
        let placed = match &self.picks {
            None => {
                let axes = axes.iter().zip(strides).map(|(a, &s)| PlaceAxis { count: a.count, src: a.memory, dst: s * a.step });
                // SAFETY: the plan stays within the checked memory, and the axes within the buffer of a whole chunk.
                unsafe { place::place(self.base.offset(memory as isize), first, axes, transfer) }
            }
            Some(picks) => {
                let mut placed = Ok(());
                picks.each(axes, memory, strides, &mut |p| {
                    let axis = PlaceAxis { count: p.count, src: p.memory_step, dst: p.buffer_step };
                    // SAFETY: the picks stay within the checked memory, and the box within the buffer of a whole chunk.
                    placed =
                        unsafe { place::place_run(self.base.offset(p.memory as isize), first.offset(p.buffer as isize), axis, transfer) };
                    placed.is_ok()
                });
                transfer.settle();
                placed
            }
        };
        placed.map_err(|m| {
            let memory = m.src as isize - self.base as isize;
            m.at(memory)
        })
    }
}

/// Where the encoded bytes are.
enum Encoded {
    /// In the caller's memory, as they are.
    Memory(*const u8, usize),
    /// In `gather`, `a`, or `shard` of the scratch.
    Gather(usize),
    A,
    Shard,
}

/// Encodes one chunk: `axes` select all of its elements inside the array, `memory` is the distance of the first from the source's
/// base. `None`: the chunk holds only the fill value and need not be stored.
pub(super) fn encode_chunk<'s>(
    chain: &BoundChain,
    source: &ElementSource,
    axes: &Axes,
    memory: i64,
    scratch: &'s mut ChainScratch,
) -> Result<Option<&'s [u8]>> {
    Ok(match encode(chain, source, axes, memory, scratch)? {
        None => None,
        // SAFETY: the caller's memory is valid while the request runs; the run was checked to be inside.
        Some(Encoded::Memory(data, len)) => Some(unsafe { std::slice::from_raw_parts(data, len) }),
        Some(Encoded::Gather(len)) => Some(&scratch.gather[..len]),
        Some(Encoded::A) => Some(&scratch.stages.a),
        Some(Encoded::Shard) => Some(&scratch.shard),
    })
}

/// As [`encode_chunk`], at the end of `out`; false if the chunk holds only the fill value and need not be stored.
pub(super) fn encode_into(
    chain: &BoundChain,
    source: &ElementSource,
    axes: &Axes,
    memory: i64,
    scratch: &mut ChainScratch,
    out: &mut Vec<u8>,
) -> Result<bool> {
    match encode_chunk(chain, source, axes, memory, scratch)? {
        None => Ok(false),
        Some(bytes) => append(out, bytes).map(|()| true),
    }
}

/// Encodes inner chunks, one after the other. Whole ones of one repeated element are the same bytes, which are encoded once.
pub(super) struct InnerEncoder<'a> {
    pub chain: &'a BoundChain,
    /// The element that was repeated last, by its source and its place in memory.
    last: Option<(*const ElementSource, i64)>,
    /// Where the bytes of an inner chunk of it are, or `None` if that is not stored.
    bytes: Option<Range<usize>>,
}

impl<'a> InnerEncoder<'a> {
    pub fn new(chain: &'a BoundChain) -> InnerEncoder<'a> {
        InnerEncoder { chain, last: None, bytes: None }
    }

    /// As [`encode_into`], always at the end of the same `out`, from sources that stay where they are.
    pub fn encode_into(
        &mut self,
        source: &ElementSource,
        axes: &Axes,
        memory: i64,
        scratch: &mut ChainScratch,
        out: &mut Vec<u8>,
    ) -> Result<bool> {
        let (at, element) = (out.len(), (std::ptr::from_ref(source), memory));
        let repeats = source.repeats(axes) && cut::covers(axes, self.chain.shape());
        if repeats && self.last == Some(element) {
            let Some(bytes) = self.bytes.clone() else { return Ok(false) };
            reserve(out, bytes.len())?;
            out.extend_from_within(bytes);
            return Ok(true);
        }
        let stored = encode_into(self.chain, source, axes, memory, scratch, out)?;
        if repeats {
            (self.last, self.bytes) = (Some(element), stored.then_some(at..out.len()));
        }
        Ok(stored)
    }
}

fn encode(chain: &BoundChain, source: &ElementSource, axes: &Axes, memory: i64, scratch: &mut ChainScratch) -> Result<Option<Encoded>> {
    match chain {
        BoundChain::Leaf(leaf) => encode_leaf(leaf, source, axes, memory, scratch),
        BoundChain::Sharded(shard) => encode_shard(shard, source, axes, memory, scratch),
    }
}

fn encode_leaf(leaf: &Leaf, source: &ElementSource, axes: &Axes, memory: i64, scratch: &mut ChainScratch) -> Result<Option<Encoded>> {
    if source.repeats_fill(axes, memory) {
        return Ok(None);
    }
    let total = leaf.layout.bytes;
    let first = source.base.wrapping_offset(memory as isize);
    let in_place = source.revocable.is_none()
        && source.picks.is_none()
        && contiguous_run(leaf, axes, &source.transfer, &source.order) == Some(total as u64);
    let ChainScratch { gather, stages, .. } = scratch;
    let elements = if in_place {
        // SAFETY: the run covers exactly these bytes of the checked memory.
        unsafe { std::slice::from_raw_parts(first, total) }
    } else {
        gather_elements(leaf, source, axes, memory, grow(gather, total)?)?;
        &gather[..total]
    };
    if !source.store_fill && is_fill(elements, &source.fill, leaf.variable.is_some()) {
        return Ok(None);
    }
    if let Some(codec) = &leaf.variable {
        count_encoded(leaf);
        codec.encode(elements, &leaf.shape, &mut stages.a).map_err(|e| e.at_field(codec.name()))?;
        encode_stages(&leaf.stages, None, stages)?;
        return Ok(Some(Encoded::A));
    }
    if leaf.stages.is_empty() {
        return Ok(Some(if in_place { Encoded::Memory(first, total) } else { Encoded::Gather(total) }));
    }
    count_encoded(leaf);
    encode_stages(&leaf.stages, Some(elements), stages)?;
    Ok(Some(Encoded::A))
}

fn count_encoded(leaf: &Leaf) {
    stats::count(Counter::EncodedChunks, 1);
    stats::count(Counter::EncodedBytes, leaf.layout.bytes as u64);
}

/// Brings the elements into the leaf's buffer; elements beyond the array's edge become the fill value.
fn gather_elements(leaf: &Leaf, source: &ElementSource, axes: &Axes, memory: i64, dst: &mut [u8]) -> Result<()> {
    if axes.iter().zip(&leaf.shape).any(|(a, &n)| a.count < n) {
        let all = leaf.shape.iter().zip(&leaf.layout.strides).map(|(&count, &dst)| PlaceAxis { count, src: 0, dst });
        // SAFETY: the axes are the buffer's own.
        unsafe { place::fill(dst.as_mut_ptr(), all, &source.fill, false) };
    }
    source.place(axes, memory, dst.as_mut_ptr(), &leaf.layout.strides, &source.transfer)
}

/// Returns whether every element has the bits (those of variable length: the bytes) of `fill`. Usually the first element tells.
fn is_fill(elements: &[u8], fill: &[u8], variable: bool) -> bool {
    if variable {
        // SAFETY: both are buffers of items whose bytes are kept while the chunk is encoded.
        return unsafe {
            let fill = variable::items(fill).next().unwrap_or(VarItem::EMPTY).bytes();
            variable::items(elements).all(|item| item.bytes() == fill)
        };
    }
    let n = fill.len();
    elements.len() < n || (elements[..n] == *fill && elements[n..] == elements[..elements.len() - n])
}

fn encode_shard(shard: &Sharded, source: &ElementSource, axes: &Axes, memory: i64, scratch: &mut ChainScratch) -> Result<Option<Encoded>> {
    // A shard inside of this one needs the buffer, too.
    let mut out = std::mem::take(&mut scratch.shard);
    out.clear();
    let result = fill_shard(shard, source, axes, memory, &mut out, scratch);
    scratch.shard = out;
    if !result? {
        return Ok(None);
    }
    if shard.stages.is_empty() {
        return Ok(Some(Encoded::Shard));
    }
    encode_stages(&shard.stages, Some(&scratch.shard), &mut scratch.stages)?;
    Ok(Some(Encoded::A))
}

/// Appends the inner chunks and the index to `out`; or returns false if there is nothing to store.
fn fill_shard(
    shard: &Sharded,
    source: &ElementSource,
    axes: &Axes,
    memory: i64,
    out: &mut Vec<u8>,
    scratch: &mut ChainScratch,
) -> Result<bool> {
    let count = inner_count(shard);
    let mut entries = Vec::new();
    entries.try_reserve_exact(count).map_err(|_| err!(NoMemory, "no memory for an index of {count} inner chunks"))?;
    entries.resize(count, None);
    let head = if shard.location == IndexLocation::Start { index_bytes(shard) } else { 0 };
    grow(out, head)?;
    let mut any = false;
    let cut = Cut::new(shard, axes, source.picks.as_ref())?;
    let mut encoder = InnerEncoder::new(&shard.inner);
    cut.each(0..cut.len(), shard, axes, memory, &mut |inner| {
        let at = out.len();
        if encoder.encode_into(source, &inner.axes, inner.memory, scratch, out)? {
            any = true;
            entries[inner.number] = Some((at as u64, (out.len() - at) as u64));
        }
        Ok(())
    })?;
    if any {
        put_index(shard, &entries, out, &mut scratch.stages)?;
    }
    Ok(any)
}

fn put_index(shard: &Sharded, entries: &[Option<(u64, u64)>], out: &mut Vec<u8>, buffers: &mut StageBuffers) -> Result<()> {
    if shard.location == IndexLocation::End {
        return encode_index(shard, entries, out, buffers);
    }
    let mut index = Vec::new();
    encode_index(shard, entries, &mut index, buffers)?;
    out[..index.len()].copy_from_slice(&index);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chunks_of_nothing_but_the_fill_value_are_fill() {
        assert!(is_fill(&[0; 64], &[0; 8], false));
        assert!(is_fill(&[1, 2, 1, 2, 1, 2], &[1, 2], false));
        assert!(!is_fill(&[1, 2, 1, 2, 1, 3], &[1, 2], false));
        assert!(!is_fill(&[0, 0, 0, 0], &[0, 1], false));
        let minus_zero = (-0.0f64).to_ne_bytes();
        assert!(!is_fill(&minus_zero, &0.0f64.to_ne_bytes(), false));
    }
}
