//! Decoding as a kind machine that does no I/O: a [`Part`] says which bytes it wants, is given them, and becomes elements in
//! memory or further parts (a shard's index becomes its inner chunks).
//!
//! Two drivers in `read.rs` run it: the one that reads at once (files, memory), and the queue of reads in flight (stores with
//! latency). Neither knows of codecs; nothing here knows of stores.

use super::buffer_guard::{self, RevocableBuffer};
use super::chunk_cache::ArrayCache;
use super::coordinates::ChunkPicks;
use super::huge_pages::is_untouched;
use super::place::{self, PlaceAxis};
use super::plan::{Axes, Axis, Item};
use super::scratch::ChainScratch;
use super::shard::Cut;
use super::shard_open::OpenShard;
use super::stats::{self, Field};
use crate::codec::fused::Fused;
use crate::codec::{BoundChain, Dest, IndexLocation, Leaf, Sharded, Size, StageRef, VariableCodec, sharding};
use crate::dtype::coding::Coding;
use crate::dtype::convert::Transfer;
use crate::dtype::variable::Arena;
use crate::dtype::{DataType, Element, ElementType, Overflow};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{Dims, Strides, grow, max_chunk, reserve};
use crate::store::{ByteRange, Mark, Store};
use smallvec::SmallVec;
use std::sync::Arc;

/// From so many bytes on, memory is written past the caches where elements are converted: about what a core's share of them is.
const STREAM_BYTES: u64 = 16 << 20;

/// Where elements go: memory, the conversion on the way, and what stands for missing chunks.
#[derive(Clone)]
pub(super) struct Target {
    /// The selection's first element.
    pub base: *mut u8,
    /// From the chain's element type to the memory's.
    pub transfer: Transfer,
    /// From the elements behind the leaf's fused stages to the memory's, where there are such.
    fused: Option<Transfer>,
    /// The fill value in the memory's type; `None` if it does not fit.
    pub fill: Option<Element>,
    /// What keeps the bytes of elements of variable length, where the memory holds items; else they live until they are placed.
    arena: Option<Arc<Arena>>,
    /// The fill value in the array's type and the way to the memory's, where bytes between its fields must stay.
    patch: Option<(Element, Transfer)>,
    /// The leaf's dimensions in the order of falling strides.
    order: SmallVec<[usize; 6]>,
    /// Before the memory, where the request may end before its work.
    revocable: Option<Arc<RevocableBuffer>>,
    /// Which elements of a chunk's boxes go there, and where; `None`: all, as the axes say.
    picks: Option<ChunkPicks>,
}

// SAFETY: threads place disjoint elements; the memory outlives the request (see `Memory`).
unsafe impl Send for Target {}
// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    /// Elements of `root`'s chunks go to `memory_type` elements from `base` on; `fill` is one element of `data_type`.
    pub fn new(
        root: &BoundChain,
        data_type: DataType,
        fill: &[u8],
        (memory_type, overflow): (DataType, Overflow),
        base: *mut u8,
        arena: Option<Arc<Arena>>,
    ) -> Result<Target> {
        let memory = ElementType::native(memory_type);
        let mut converted = Element::from_elem(0, memory.size());
        let convert_fill = Transfer::new(ElementType::native(data_type), memory)?.with_overflow(overflow);
        // SAFETY: both hold one element of their type.
        let fits = unsafe { convert_fill.run(fill.as_ptr(), 0, converted.as_mut_ptr(), 0, 1) }.is_ok();
        let leaf = leaf_of(root);
        let transfer = Transfer::new(leaf.layout.element, memory)?.with_overflow(overflow);
        let fused = leaf.fused.as_ref().map(|f| transfer.clone().behind(f.clone(), f.stored()));
        let patch = convert_fill.is_partial().then(|| (Element::from_slice(fill), convert_fill));
        Ok(Target {
            base,
            transfer,
            fused,
            fill: fits.then_some(converted),
            arena,
            patch,
            order: by_stride(leaf),
            revocable: None,
            picks: None,
        })
    }

    /// The same, behind a gate: elements are then only ever copied to the memory, never read or decoded straight into it.
    pub fn behind(self, revocable: Option<Arc<RevocableBuffer>>) -> Target {
        Target { revocable, ..self }
    }

    /// The bytes of a leaf's selection, if they can become elements in memory without a copy.
    pub fn in_place(&self, leaf: &Leaf, axes: &[Axis]) -> Option<u64> {
        if self.revocable.is_some() || self.picks.is_some() { None } else { contiguous_run(leaf, axes, &self.transfer, &self.order) }
    }

    /// The same for one chunk of which a list picks elements.
    pub fn picking(&self, picks: ChunkPicks) -> Target {
        Target { picks: Some(picks), ..self.clone() }
    }

    /// The same for so many bytes of memory in all.
    pub fn for_bytes(self, bytes: u64) -> Target {
        // The system has just brought the pages of fresh memory into the cache when they are written to; looked at where the middle is if there
        // are no gaps.
        if bytes < STREAM_BYTES || is_untouched(self.base.wrapping_add(bytes as usize / 2)) {
            return self;
        }
        Target { transfer: self.transfer.streaming(), fused: self.fused.map(Transfer::streaming), ..self }
    }

    /// The same, where memory of `memory_type` holds what the elements mean, not what is stored.
    pub fn decoding(
        self,
        root: &BoundChain,
        data_type: DataType,
        fill: &[u8],
        (memory_type, overflow): (DataType, Overflow),
        coding: &Coding,
    ) -> Result<Target> {
        let memory = ElementType::native(memory_type);
        let mut converted = Element::from_elem(0, memory.size());
        let convert_fill = Transfer::decoding(ElementType::native(data_type), memory, coding, overflow)?;
        // SAFETY: both hold one element of their type.
        let fits = unsafe { convert_fill.run(fill.as_ptr(), 0, converted.as_mut_ptr(), 0, 1) }.is_ok();
        let leaf = leaf_of(root);
        let transfer = Transfer::decoding(leaf.layout.element, memory, coding, overflow)?;
        let fused = leaf.fused.as_ref().map(|f| transfer.clone().behind(f.clone(), f.stored()));
        Ok(Target { transfer, fused, fill: fits.then_some(converted), patch: None, ..self })
    }

    /// Fills the selected elements of a missing chunk.
    pub fn fill(&self, axes: &[Axis], memory: i64) -> Result<()> {
        stats::count(Field::FillChunks, 1);
        let fill = self.fill.as_ref().ok_or_else(|| err!(Range, "the fill value does not fit into the type in memory"))?;
        let _inside = buffer_guard::enter(&self.revocable)?;
        let Some(picks) = &self.picks else {
            return self.fill_box(fill, axes.iter().map(|a| PlaceAxis { count: a.count, src: 0, dst: a.memory }), memory);
        };
        let mut result = Ok(());
        picks.each(axes, memory, &Strides::from_elem(0, axes.len()), &mut |p| {
            result = self.fill_box(fill, std::iter::once(PlaceAxis { count: p.count, src: 0, dst: p.memory_step }), p.memory);
            result.is_ok()
        });
        result
    }

    fn fill_box(&self, fill: &[u8], axes: impl Iterator<Item = PlaceAxis>, memory: i64) -> Result<()> {
        if let Some((element, transfer)) = &self.patch {
            // SAFETY: the plan stays within the checked memory; the source is one element, repeated.
            let placed = unsafe { place::place(element.as_ptr(), self.base.offset(memory as isize), axes, transfer) };
            return placed.map_err(|m| {
                let memory = m.dst as isize - self.base as isize;
                m.at(memory)
            });
        }
        // SAFETY: the plan stays within the checked memory.
        unsafe { place::fill(self.base.offset(memory as isize), axes, fill, self.picks.is_none() && self.transfer.streams()) };
        Ok(())
    }
}

/// The leaf at the end of a chain: its elements are the array's.
pub(super) fn leaf_of(chain: &BoundChain) -> &Leaf {
    match chain {
        BoundChain::Leaf(leaf) => leaf,
        BoundChain::Sharded(shard) => leaf_of(&shard.inner),
    }
}

/// What a read costs, to choose between one long and many short ones.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// A call, in nanoseconds.
    pub call: f64,
    /// A byte, in nanoseconds.
    pub byte: f64,
    /// The longest read that is put together from near ranges.
    pub merge: u64,
}

impl Cost {
    /// Files and memory (measured: 0.6 µs a call, 9.5 GB/s).
    pub const LOCAL: Cost = Cost { call: 600.0, byte: 1.0 / 9.5, merge: 4 << 20 };
    /// A network of 100 MB/s on which a gap of so many bytes costs as much as a request (1 MB: 10 ms).
    pub fn latency(gap: u64) -> Cost {
        Cost { call: gap.max(1) as f64 * 10.0, byte: 10.0, merge: 8 << 20 }
    }

    /// What reading from that store costs.
    pub fn of(store: &dyn Store) -> Cost {
        if store.capabilities().latency { Cost::latency(store.tuning().gap) } else { Cost::LOCAL }
    }

    /// The gap that is cheaper to read than to skip.
    pub fn gap(self) -> u64 {
        (self.call / self.byte) as u64
    }
}

/// What a part does with the bytes that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartKind {
    /// The index of a shard.
    Index,
    /// An encoded chunk, or a shard under further codecs: all of its bytes.
    Encoded,
    /// Elements as they are; the first selected one is that far from the start of the span.
    Raw { first: i64 },
}

/// A piece of a chunk on its way from the object to memory.
pub(super) struct Part {
    depth: u8,
    kind: PartKind,
    /// The number of the inner chunk (of the innermost level), for messages.
    number: u64,
    /// Where the bytes are in the object; `None`: all of it.
    span: Option<(u64, u64)>,
    axes: Axes,
    memory: i64,
}

/// The chain at a depth of nesting.
fn chain_at(root: &BoundChain, depth: u8) -> &BoundChain {
    match (depth, root) {
        (1.., BoundChain::Sharded(shard)) => chain_at(&shard.inner, depth - 1),
        _ => root,
    }
}

/// A leaf's buffer behind its first stages: the same layout, of the elements that are there.
struct View<'a> {
    leaf: &'a Leaf,
    skip: usize,
    /// The size of an element.
    item: usize,
}

impl<'a> View<'a> {
    /// Before all stages.
    fn of(leaf: &'a Leaf) -> View<'a> {
        View { leaf, skip: 0, item: leaf.layout.element.size() }
    }

    fn behind(leaf: &'a Leaf, fused: &Fused) -> View<'a> {
        View { leaf, skip: fused.stages(), item: fused.stored().size() }
    }

    /// A distance in the leaf's own buffer, in this one.
    fn bytes(&self, of_leaf: i64) -> i64 {
        if self.skip == 0 { of_leaf } else { of_leaf / self.leaf.layout.element.size() as i64 * self.item as i64 }
    }
}

/// What all steps of one chunk share.
pub(super) struct Machine<'a> {
    /// The array's chain.
    pub root: &'a BoundChain,
    /// Where the elements go.
    pub target: &'a Target,
    /// What reading costs.
    pub cost: Cost,
    /// The open shard that the spans of parts are in: it keeps the indexes of shards inside of it.
    pub kept: Option<&'a OpenShard>,
    /// Where decoded chunks of the object are kept.
    pub decoded: Option<Decoded<'a>>,
}

/// The decoded chunks of one object that are kept.
#[derive(Clone, Copy)]
pub(super) struct Decoded<'a> {
    pub cache: &'a ArrayCache,
    /// The object's key.
    pub key: &'a str,
    /// What the object was like before it was read.
    pub mark: &'a Mark,
}

impl Machine<'_> {
    /// The first parts of a stored chunk, the one to read first at the end of `out`.
    pub fn start(&self, item: &Item, out: &mut Vec<Part>) -> Result<()> {
        let mark = out.len();
        let axes = Axes::from_slice(&item.axes);
        self.expand(Part { depth: 0, kind: PartKind::Encoded, number: 0, span: None, axes, memory: item.memory }, out)?;
        sort_for_popping(&mut out[mark..]);
        Ok(())
    }

    /// Whether a part is the index of an inner shard that is kept; its inner chunks are put onto `out` then, instead of reading it.
    pub fn skip(&self, part: &Part, out: &mut Vec<Part>) -> Result<bool> {
        let Some(index) = self.known_index(part) else { return Ok(false) };
        let BoundChain::Sharded(shard) = chain_at(self.root, part.depth) else { return Ok(false) };
        self.push_inner(shard, &index, part.span.map(|s| s.1), part, out).map_err(|e| part.annotate(e))?;
        Ok(true)
    }

    /// The index that a part is to read, where it is kept.
    #[inline]
    pub fn known_index(&self, part: &Part) -> Option<Arc<Vec<u8>>> {
        if part.kind == PartKind::Index && part.depth > 0 { self.kept?.inner(part.span?) } else { None }
    }

    fn expand(&self, mut part: Part, out: &mut Vec<Part>) -> Result<()> {
        part.kind = match chain_at(self.root, part.depth) {
            BoundChain::Leaf(leaf) if leaf.is_raw() && !self.keeps(leaf, &part) => return self.expand_raw(leaf, part, out),
            BoundChain::Sharded(shard) if shard.stages.is_empty() => PartKind::Index,
            _ => PartKind::Encoded,
        };
        out.push(part);
        Ok(())
    }

    /// Elements that are stored as they are can be read piecewise: the outer axes are stepped through, the inner ones are
    /// read as one span each; how many are outer is chosen by cost.
    fn expand_raw(&self, leaf: &Leaf, mut part: Part, out: &mut Vec<Part>) -> Result<()> {
        let bytes = leaf.layout.bytes as u64;
        if let Some((_, len)) = part.span
            && len != bytes
        {
            return Err(part.annotate(err!(Chunk, "found an inner chunk of {len} bytes, expected {bytes}")));
        }
        if let Some(picks) = &self.target.picks
            && let Some(spans) = self.sparse_spans(picks, leaf, &part)
        {
            for span in spans {
                out.push(self.sparse_part(leaf, &part, span));
            }
            return Ok(());
        }
        let order = &self.target.order;
        let (outer, len) = self.cheapest_split(leaf, &part.axes, order);
        if outer == 0 && len == bytes {
            part.kind = PartKind::Raw { first: first_byte(leaf, &part.axes) as i64 };
            out.push(part);
            return Ok(());
        }
        let Part { depth, number, span, axes, memory, .. } = part;
        let base = span.map_or(0, |s| s.0);
        let counts: Dims = order[..outer].iter().map(|&d| axes[d].count).collect();
        let mut at = Dims::from_elem(0, outer);
        loop {
            let (mut piece, mut place) = (Axes::from_slice(&axes), memory);
            for (k, &d) in order[..outer].iter().enumerate() {
                piece[d].start = piece[d].start.wrapping_add_signed(piece[d].step.wrapping_mul(at[k] as i64));
                piece[d].count = 1;
                place += axes[d].memory * at[k] as i64;
            }
            let low = low_byte(leaf, &piece);
            let first = (first_byte(leaf, &piece) - low) as i64;
            let span = Some((base + low, len));
            out.push(Part { depth, kind: PartKind::Raw { first }, number, span, axes: piece, memory: place });
            if !advance_counter(&mut at, &counts) {
                return Ok(());
            }
        }
    }

    /// Where elements of a box that are picked here and there are worth reading by themselves: the spans of the leaf's buffer that hold
    /// them, without gaps that cost more than a call.
    fn sparse_spans(&self, picks: &ChunkPicks, leaf: &Leaf, part: &Part) -> Option<Vec<(u64, u64)>> {
        let (gap, item) = (self.cost.gap().max(1), leaf.layout.element.size() as u64);
        let low = low_byte(leaf, &part.axes);
        let all = (0..part.axes.len()).map(|d| reach(leaf, &part.axes, d)).sum::<u64>() + item;
        let mut spans: Vec<(u64, u64)> = Vec::new();
        let sparse = picks.each(&part.axes, part.memory, &leaf.layout.strides, &mut |p| {
            let start = low + p.buffer as u64;
            let end = start + (p.count - 1) * p.buffer_step as u64 + item;
            match spans.last_mut() {
                Some(last) if start >= last.0 && start <= last.1.saturating_add(gap) => last.1 = last.1.max(end),
                _ => spans.push((start, end)),
            }
            spans.len() as u64 * gap <= all
        });
        if !sparse || spans.len() < 2 {
            return None;
        }
        spans.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
        for (start, end) in spans {
            match merged.last_mut() {
                Some(last) if start <= last.1.saturating_add(gap) => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Some(merged)
    }

    /// The part of those bytes of the leaf's buffer: its box has what is picked there, and perhaps more.
    fn sparse_part(&self, leaf: &Leaf, part: &Part, (from, to): (u64, u64)) -> Part {
        let (mut axes, mut memory) = (part.axes.clone(), part.memory);
        let low = low_byte(leaf, &axes);
        let (mut first, mut last) = (from - low, to - leaf.layout.element.size() as u64 - low);
        for &d in self.target.order.iter().filter(|&&d| part.axes[d].count > 1) {
            let stride = leaf.layout.strides[d] as u64;
            let (a, b) = (first / stride, last / stride);
            memory += a as i64 * axes[d].memory;
            (axes[d].start, axes[d].count) = (axes[d].start + a, b - a + 1);
            if a != b {
                break;
            }
            (first, last) = (first % stride, last % stride);
        }
        let kind = PartKind::Raw { first: first_byte(leaf, &axes) as i64 - from as i64 };
        let span = Some((part.span.map_or(0, |s| s.0) + from, to - from));
        Part { depth: part.depth, kind, number: part.number, span, axes, memory }
    }

    /// The number of outer axes (in the order of falling strides) and the bytes of each span.
    fn cheapest_split(&self, leaf: &Leaf, axes: &[Axis], order: &[usize]) -> (usize, u64) {
        let item = leaf.layout.element.size() as u64;
        let all = order.iter().map(|&d| reach(leaf, axes, d)).sum::<u64>() + item;
        // Two calls at least for not less than what is selected cannot be cheaper than this one.
        let selected = axes.iter().map(|a| a.count).product::<u64>() * item;
        if (all - selected.min(all)) as f64 * self.cost.byte <= self.cost.call {
            return (0, all);
        }
        let mut best = (f64::INFINITY, 0, 0);
        let mut calls = 1.0;
        for outer in 0..=order.len() {
            let len = order[outer..].iter().map(|&d| reach(leaf, axes, d)).sum::<u64>() + item;
            let cost = calls * (self.cost.call + len as f64 * self.cost.byte);
            if cost < best.0 {
                best = (cost, outer, len);
            }
            if let Some(&d) = order.get(outer) {
                calls *= axes[d].count as f64;
            }
        }
        (best.1, best.2)
    }

    /// The bytes that a part wants next.
    pub fn want(&self, part: &Part) -> Result<ByteRange> {
        let BoundChain::Sharded(shard) = chain_at(self.root, part.depth) else { return Ok(whole_or_span(part.span)) };
        if part.kind != PartKind::Index {
            return Ok(whole_or_span(part.span));
        }
        let len = index_bytes(shard) as u64;
        match (part.span, shard.location) {
            (None, IndexLocation::End) => Ok(ByteRange::Suffix { len }),
            (None, IndexLocation::Start) => Ok(ByteRange::Span { offset: 0, len }),
            (Some((_, have)), _) if have < len => bail!(ShardIndex, "found a shard of {have} bytes, expected an index of {len}"),
            (Some((offset, _)), IndexLocation::Start) => Ok(ByteRange::Span { offset, len }),
            (Some((offset, have)), IndexLocation::End) => Ok(ByteRange::Span { offset: offset + have - len, len }),
        }
    }

    /// The most bytes that an object read as a whole can need; more is an error.
    pub fn most_bytes(&self, part: &Part) -> usize {
        match chain_at(self.root, part.depth) {
            // Other writers' encoders may be worse than the bound of ours.
            BoundChain::Leaf(leaf) => leaf.sizes.last().map_or(0, |s| s.max()).saturating_mul(2).saturating_add(1 << 20),
            BoundChain::Sharded(_) => usize::try_from(max_chunk()).unwrap_or(usize::MAX),
        }
    }

    /// The number of bytes that an object read as a whole must have, where that is known.
    pub fn exact_bytes(&self, part: &Part) -> Option<usize> {
        match (chain_at(self.root, part.depth), part.kind) {
            (BoundChain::Leaf(leaf), _) if leaf.is_raw() => Some(leaf.layout.bytes),
            _ => None,
        }
    }

    /// Memory that the wanted bytes can be read into as they are: then the part is done.
    pub fn direct(&self, part: &Part) -> Option<(*mut u8, usize)> {
        let (BoundChain::Leaf(leaf), PartKind::Raw { .. }) = (chain_at(self.root, part.depth), part.kind) else { return None };
        let bytes = self.target.in_place(leaf, &part.axes)?;
        let wanted = part.span.map_or(leaf.layout.bytes as u64, |s| s.1);
        // SAFETY: the plan stays within the checked memory.
        (bytes == wanted).then(|| (unsafe { self.target.base.offset(part.memory as isize) }, bytes as usize))
    }

    /// Gives a part its bytes. Elements are placed; further parts are put onto `out`, the next one last.
    pub fn advance(&self, part: &Part, bytes: &[u8], scratch: &mut ChainScratch, out: &mut Vec<Part>) -> Result<()> {
        match (chain_at(self.root, part.depth), part.kind) {
            (BoundChain::Leaf(leaf), PartKind::Raw { first }) => self.place(&View::of(leaf), bytes, first, part, &self.target.transfer),
            (BoundChain::Leaf(leaf), _) => self.decode_leaf(leaf, bytes, part, scratch),
            (BoundChain::Sharded(shard), PartKind::Index) => self.open_shard(shard, bytes, part, scratch, out),
            (BoundChain::Sharded(shard), _) => self.decode_shard(shard, bytes, part, scratch),
        }
        .map_err(|e| part.annotate(e))
    }

    /// Runs the machine over a chunk whose stored bytes are all in memory.
    pub fn run_over(&self, bytes: &[u8], axes: Axes, scratch: &mut ChainScratch) -> Result<()> {
        let mut parts = Vec::new();
        let span = Some((0, bytes.len() as u64));
        self.expand(Part { depth: 0, kind: PartKind::Encoded, number: 0, span, axes, memory: 0 }, &mut parts)?;
        self.walk(bytes, parts, scratch)
    }

    /// The parts of the inner chunks that a selection touches in a shard whose index is known; `len` is the shard's, if that is.
    pub fn start_inner(&self, shard: &Sharded, index: &[u8], len: Option<u64>, item: &Item, out: &mut Vec<Part>) -> Result<()> {
        let part = Part { depth: 0, kind: PartKind::Index, number: 0, span: None, axes: item.axes.clone(), memory: item.memory };
        self.push_inner(shard, index, len, &part, out)
    }

    /// Places the part's elements; the first of its box is that far from the start of the buffer.
    fn place(&self, view: &View, buf: &[u8], first: i64, part: &Part, transfer: &Transfer) -> Result<()> {
        if let Some(picks) = &self.target.picks {
            return self.place_picks(picks, view, buf, first, part, transfer);
        }
        let strides = &view.leaf.layout.strides;
        let axes = part.axes.iter().zip(strides).map(|(a, stride)| PlaceAxis {
            count: a.count,
            src: view.bytes(*stride).wrapping_mul(a.step),
            dst: a.memory,
        });
        let _inside = buffer_guard::enter(&self.target.revocable)?;
        // SAFETY: the plan stays within the checked memory, and the axes within the leaf's buffer.
        let placed =
            unsafe { place::place(buf.as_ptr().offset(first as isize), self.target.base.offset(part.memory as isize), axes, transfer) };
        placed.map_err(|m| {
            let memory = m.dst as isize - self.target.base as isize;
            m.at(memory)
        })
    }

    fn place_picks(&self, picks: &ChunkPicks, view: &View, buf: &[u8], first: i64, part: &Part, transfer: &Transfer) -> Result<()> {
        let strides: Strides = view.leaf.layout.strides.iter().map(|&s| view.bytes(s)).collect();
        let (mut placed, mut copied) = (Ok(()), 0);
        picks.each(&part.axes, part.memory, &strides, &mut |p| {
            let at = first + p.buffer;
            // What is outside of this span is in another one.
            if at >= 0 && (at as usize) < buf.len() {
                let axis = PlaceAxis { count: p.count, src: p.buffer_step, dst: p.memory_step };
                copied += p.count;
                // SAFETY: the picks stay within the checked memory, and the box within the leaf's buffer.
                placed =
                    unsafe { place::place_run(buf.as_ptr().add(at as usize), self.target.base.offset(p.memory as isize), axis, transfer) };
            }
            placed.is_ok()
        });
        transfer.settle();
        stats::count(Field::CopiedBytes, copied * transfer.to().size() as u64);
        placed.map_err(|m| {
            let memory = m.dst as isize - self.target.base as isize;
            m.at(memory)
        })
    }

    /// Whether the chunk of a part is one to be kept: of one that is read whole there is nothing left to be read.
    fn keeps(&self, leaf: &Leaf, part: &Part) -> bool {
        let in_part = || part.axes.iter().zip(&leaf.shape).any(|(axis, &n)| axis.count < n);
        leaf.variable.is_none() && self.decoded.is_some_and(|decoded| decoded.cache.takes(leaf.layout.bytes)) && in_part()
    }

    /// Whether the part's chunk is kept; its elements are placed then, without reading anything.
    #[inline]
    pub fn place_kept(&self, part: &Part) -> Result<bool> {
        self.decoded.map_or(Ok(false), |decoded| self.place_decoded(decoded, part))
    }

    fn place_decoded(&self, decoded: Decoded<'_>, part: &Part) -> Result<bool> {
        let (BoundChain::Leaf(leaf), PartKind::Encoded) = (chain_at(self.root, part.depth), part.kind) else { return Ok(false) };
        if leaf.variable.is_some() {
            return Ok(false);
        }
        let found = decoded.cache.find(decoded.key, part.span, decoded.mark);
        let Some(elements) = found.filter(|elements| elements.len() == leaf.layout.bytes) else { return Ok(false) };
        stats::count(Field::ChunkHits, 1);
        let first = first_byte(leaf, &part.axes) as i64;
        self.place(&View::of(leaf), &elements, first, part, &self.target.transfer).map_err(|e| part.annotate(e)).map(|()| true)
    }

    /// Decodes a chunk whole, and keeps it.
    fn decode_and_keep(&self, leaf: &Leaf, decoded: Decoded<'_>, encoded: &[u8], part: &Part, scratch: &mut ChainScratch) -> Result<()> {
        let mut elements = Vec::new();
        let dst = grow(&mut elements, leaf.layout.bytes)?;
        if leaf.stages.is_empty() {
            crate::store::check_exact(encoded.len() as u64, dst.len())?;
            dst.copy_from_slice(encoded);
        } else {
            decode_stages(&leaf.stages, &leaf.sizes, encoded, dst, scratch)?;
        }
        self.place(&View::of(leaf), dst, first_byte(leaf, &part.axes) as i64, part, &self.target.transfer)?;
        decoded.cache.keep(decoded.key, part.span, decoded.mark, elements);
        Ok(())
    }

    fn decode_leaf(&self, leaf: &Leaf, encoded: &[u8], part: &Part, scratch: &mut ChainScratch) -> Result<()> {
        stats::count(Field::DecodedChunks, 1);
        stats::count(Field::DecodedBytes, leaf.layout.bytes as u64);
        if let Some(decoded) = self.decoded.filter(|_| self.keeps(leaf, part)) {
            return self.decode_and_keep(leaf, decoded, encoded, part, scratch);
        }
        if let Some(codec) = &leaf.variable {
            return self.decode_variable(leaf, codec.as_ref(), encoded, part, scratch);
        }
        let total = leaf.layout.bytes;
        let whole = leaf.fused.is_none() && self.target.in_place(leaf, &part.axes) == Some(total as u64);
        if whole {
            // SAFETY: the run covers exactly these bytes of the checked memory.
            let dst = unsafe { std::slice::from_raw_parts_mut(self.target.base.offset(part.memory as isize), total) };
            return decode_stages(&leaf.stages, &leaf.sizes, encoded, dst, scratch);
        }
        let way = match (&leaf.fused, &self.target.fused) {
            (Some(fused), Some(transfer)) => (&View::behind(leaf, fused), transfer),
            _ => (&View::of(leaf), &self.target.transfer),
        };
        let mut buf = std::mem::take(&mut scratch.gather);
        let result = self.decode_and_place(way, encoded, part, &mut buf, scratch);
        scratch.gather = buf;
        result
    }

    /// Elements of variable length: views of the decoded bytes, which are kept for as long as the views are used.
    fn decode_variable(
        &self,
        leaf: &Leaf,
        codec: &dyn VariableCodec,
        encoded: &[u8],
        part: &Part,
        scratch: &mut ChainScratch,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        if leaf.stages.is_empty() {
            reserve(&mut bytes, encoded.len())?;
            bytes.extend_from_slice(encoded);
        } else {
            let most = usize::try_from(max_chunk()).unwrap_or(usize::MAX);
            decode_bounded(&leaf.stages, most, encoded, &mut bytes, scratch)?;
        }
        let mut items = std::mem::take(&mut scratch.gather);
        let result = grow(&mut items, leaf.layout.bytes).and_then(|dst| {
            let kept = codec.decode(bytes, dst).map_err(|e| e.at_field(codec.name()))?;
            self.place(&View::of(leaf), dst, first_byte(leaf, &part.axes) as i64, part, &self.target.transfer)?;
            if let Some(arena) = &self.target.arena {
                arena.keep(kept);
            }
            Ok(())
        });
        scratch.gather = items;
        result
    }

    fn decode_and_place(
        &self,
        (view, transfer): (&View, &Transfer),
        encoded: &[u8],
        part: &Part,
        buf: &mut Vec<u8>,
        scratch: &mut ChainScratch,
    ) -> Result<()> {
        let (leaf, at) = (view.leaf, |byte: u64| view.bytes(byte as i64) as usize);
        let (total, first, low) = (at(leaf.layout.bytes as u64), at(first_byte(leaf, &part.axes)), at(low_byte(leaf, &part.axes)));
        let stages = &leaf.stages[view.skip..];
        if stages.is_empty() {
            crate::store::check_exact(encoded.len() as u64, total)?;
            return self.place(view, encoded, first as i64, part, transfer);
        }
        let span = at((0..leaf.shape.len()).map(|d| reach(leaf, &part.axes, d)).sum::<u64>()) + view.item;
        let dst = grow(buf, total)?;
        if let [stage] = stages
            && span < total
            && let Some(result) = stats::timed(Field::DecodeNs, || stage.decode_range(encoded, total, low, &mut dst[..span]))
        {
            result?;
            return self.place(view, &dst[..span], (first - low) as i64, part, transfer);
        }
        decode_stages(stages, &leaf.sizes[view.skip..], encoded, dst, scratch)?;
        self.place(view, dst, first as i64, part, transfer)
    }

    /// A decoded index becomes the inner chunks that the part's selection touches.
    fn open_shard(&self, shard: &Sharded, encoded: &[u8], part: &Part, scratch: &mut ChainScratch, out: &mut Vec<Part>) -> Result<()> {
        let mut index = std::mem::take(&mut scratch.index);
        let decoded = decode_index(shard, encoded, &mut index, scratch);
        let result = decoded.and_then(|()| self.push_inner(shard, &index, part.span.map(|s| s.1), part, out));
        if let (Ok(()), Some(kept), Some(span), 1..) = (&result, self.kept, part.span, part.depth) {
            kept.keep_inner(span, &index);
        }
        scratch.index = index;
        result
    }

    fn push_inner(&self, shard: &Sharded, index: &[u8], len: Option<u64>, part: &Part, out: &mut Vec<Part>) -> Result<()> {
        let cut = Cut::new(shard, &part.axes, self.target.picks.as_ref());
        let mark = out.len();
        let base = part.span.map_or(0, |s| s.0);
        let room = sharding::room(shard.location, index_bytes(shard), len.unwrap_or(u64::MAX));
        let result =
            cut.each(0..cut.len(), shard, &part.axes, part.memory, &mut |inner| match sharding::decode_entry(index, inner.number)? {
                None => self.target.fill(&inner.axes, inner.memory),
                Some((offset, len)) => {
                    sharding::check_entry(inner.number, (offset, len), &room)?;
                    let start = base.checked_add(offset).ok_or_else(|| err!(ShardIndex, "the offset {offset} overflows"))?;
                    let (depth, number, span) = (part.depth + 1, inner.number as u64, Some((start, len)));
                    self.expand(Part { depth, kind: PartKind::Encoded, number, span, axes: inner.axes, memory: inner.memory }, out)
                }
            });
        sort_for_popping(&mut out[mark..]);
        result.map_err(as_index_error)
    }

    /// A shard under further bytes→bytes codecs: decoded as a whole, then read from the buffer.
    fn decode_shard(&self, shard: &Sharded, encoded: &[u8], part: &Part, scratch: &mut ChainScratch) -> Result<()> {
        let mut whole = Vec::new();
        let most = usize::try_from(max_chunk()).unwrap_or(usize::MAX);
        decode_bounded(&shard.stages, most, encoded, &mut whole, scratch)?;
        let span = Some((0, whole.len() as u64));
        let start = Part { depth: part.depth, kind: PartKind::Index, number: 0, span, axes: part.axes.clone(), memory: part.memory };
        self.walk(&whole, vec![start], scratch)
    }

    /// Carries out parts whose bytes are all in `whole`.
    fn walk(&self, whole: &[u8], mut parts: Vec<Part>, scratch: &mut ChainScratch) -> Result<()> {
        // Spans in the buffer are none of the object.
        let machine = Machine { root: self.root, target: self.target, cost: self.cost, kept: None, decoded: None };
        while let Some(part) = parts.pop() {
            let ByteRange::Span { offset, len } = machine.want(&part)? else { bail!(Internal, "a part of a buffer without a span") };
            let bytes = offset.checked_add(len).and_then(|end| whole.get(offset as usize..end as usize));
            let bytes =
                bytes.ok_or_else(|| err!(ShardIndex, "an inner chunk ends at {offset} + {len}, the shard has {} bytes", whole.len()))?;
            machine.advance(&part, bytes, scratch, &mut parts)?;
        }
        Ok(())
    }
}

impl Part {
    /// An error in the part's bytes, with the place of its inner chunk.
    pub fn annotate(&self, e: Error) -> Error {
        match self.span {
            Some((offset, _)) if self.depth > 0 => {
                // Bytes that the index promises and the object does not have.
                let e = match e.kind() {
                    ErrorKind::Truncated if e.field().is_none() => {
                        err!(ShardIndex, "the index points beyond the end of the shard: {}", e.message())
                    }
                    _ => e,
                };
                e.at_field(inner_name(self.number as usize, offset))
            }
            _ => e,
        }
    }

    /// Whether it wants all bytes of the object.
    pub fn is_whole(&self) -> bool {
        self.span.is_none()
    }

    /// Whether the part wants the index of the outermost shard.
    pub fn is_first_index(&self) -> bool {
        self.depth == 0 && self.kind == PartKind::Index
    }
}

/// How messages name an inner chunk.
pub(super) fn inner_name(number: usize, offset: u64) -> String {
    format!("inner chunk {number} at byte {offset}")
}

fn as_index_error(e: Error) -> Error {
    if e.kind() == ErrorKind::Truncated { err!(ShardIndex, "{}", e.message()) } else { e }
}

fn whole_or_span(span: Option<(u64, u64)>) -> ByteRange {
    span.map_or(ByteRange::Whole, |(offset, len)| ByteRange::Span { offset, len })
}

/// Parts are popped from the end: the lowest offset goes last. Mostly they come in rising order; parts are large, and moving them is dear.
fn sort_for_popping(parts: &mut [Part]) {
    let falling = |part: &Part| std::cmp::Reverse(part.span.map_or(0, |s| s.0));
    parts.reverse();
    if !parts.is_sorted_by_key(falling) {
        parts.sort_unstable_by_key(falling);
    }
}

/// The stored bytes of a shard's index.
pub(super) fn index_bytes(shard: &Sharded) -> usize {
    shard.index.sizes.last().map_or(0, |s| s.max())
}

/// Decodes a shard's index into the native form.
pub(super) fn decode_index(shard: &Sharded, encoded: &[u8], index: &mut Vec<u8>, scratch: &mut ChainScratch) -> Result<()> {
    let leaf = &shard.index;
    index.clear();
    let dst = grow(index, leaf.layout.bytes)?;
    if leaf.stages.is_empty() {
        if encoded.len() != dst.len() {
            bail!(ShardIndex, "found an index of {} bytes, expected {}", encoded.len(), dst.len());
        }
        dst.copy_from_slice(encoded);
    } else {
        decode_stages(&leaf.stages, &leaf.sizes, encoded, dst, scratch).map_err(|e| e.at_field("index"))?;
    }
    sharding::index_to_native(leaf, index)
}

/// Runs the stages backwards, the last result into exactly `dst`. There is at least one stage.
pub(super) fn decode_stages(stages: &[StageRef], sizes: &[Size], encoded: &[u8], dst: &mut [u8], scratch: &mut ChainScratch) -> Result<()> {
    let Some((first, rest)) = stages.split_first() else { bail!(Internal, "a chain without stages has nothing to decode") };
    let mut in_a = false;
    for (i, stage) in rest.iter().enumerate().rev() {
        let src = if in_a { &scratch.a[..] } else { encoded };
        decode_to(stage, sizes[i + 1], src, &mut scratch.b)?;
        std::mem::swap(&mut scratch.a, &mut scratch.b);
        in_a = true;
    }
    let src = if in_a { &scratch.a[..] } else { encoded };
    stats::timed(Field::DecodeNs, || first.decode(src, Dest::Exact(dst))).map_err(|e| e.at_field(first.name()))
}

fn decode_to(stage: &StageRef, size: Size, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    if let Size::Exact(n) = size {
        grow(dst, n)?;
        dst.truncate(n);
    }
    stats::timed(Field::DecodeNs, || match size {
        Size::Exact(_) => stage.decode(src, Dest::Exact(dst)),
        // Other writers' encoders may be worse than the bound of ours.
        Size::AtMost(n) => stage.decode(src, Dest::AtMost(dst, n.saturating_mul(2).saturating_add(1 << 16))),
    })
    .map_err(|e| e.at_field(stage.name()))
}

/// Runs the stages backwards into a buffer whose size is not known before.
fn decode_bounded(stages: &[StageRef], most: usize, encoded: &[u8], dst: &mut Vec<u8>, scratch: &mut ChainScratch) -> Result<()> {
    let mut first = true;
    for stage in stages.iter().rev() {
        let src = if first { encoded } else { &scratch.a[..] };
        stats::timed(Field::DecodeNs, || stage.decode(src, Dest::AtMost(&mut scratch.b, most))).map_err(|e| e.at_field(stage.name()))?;
        std::mem::swap(&mut scratch.a, &mut scratch.b);
        first = false;
    }
    std::mem::swap(dst, &mut scratch.a);
    Ok(())
}

/// The dimensions in the order of falling strides.
pub(super) fn by_stride(leaf: &Leaf) -> SmallVec<[usize; 6]> {
    let mut order: SmallVec<[usize; 6]> = (0..leaf.shape.len()).collect();
    order.sort_by_key(|&d| std::cmp::Reverse(leaf.layout.strides[d]));
    order
}

/// The distance in bytes from the lowest to the highest selected element along dimension `d`.
fn reach(leaf: &Leaf, axes: &[Axis], d: usize) -> u64 {
    (axes[d].count - 1) * axes[d].step.unsigned_abs() * leaf.layout.strides[d] as u64
}

/// The place of the first selected element in the leaf's buffer.
fn first_byte(leaf: &Leaf, axes: &[Axis]) -> u64 {
    axes.iter().zip(&leaf.layout.strides).map(|(a, &s)| a.start * s as u64).sum()
}

/// The place of the lowest selected element in the leaf's buffer (negative steps go downwards from the first).
fn low_byte(leaf: &Leaf, axes: &[Axis]) -> u64 {
    let down: u64 = (0..axes.len()).filter(|&d| axes[d].step < 0).map(|d| reach(leaf, axes, d)).sum();
    first_byte(leaf, axes) - down
}

/// The bytes of the selection, if they are one run in the leaf's buffer and in memory and need no conversion. `order` has the
/// dimensions in the order of falling strides.
pub(super) fn contiguous_run(leaf: &Leaf, axes: &[Axis], transfer: &Transfer, order: &[usize]) -> Option<u64> {
    let item = transfer.plain_copy()? as i64;
    let mut run = item;
    for &d in order.iter().rev() {
        let (axis, stride) = (axes[d], leaf.layout.strides[d]);
        if axis.count == 1 {
            continue;
        }
        if axis.step != 1 || stride != run || axis.memory != run {
            return None;
        }
        run *= axis.count as i64;
    }
    Some(run as u64)
}

/// Counts `at` up within `counts`, the last digit first; false after the last number.
pub(super) fn advance_counter(at: &mut [u64], counts: &[u64]) -> bool {
    for d in (0..at.len()).rev() {
        at[d] += 1;
        if at[d] < counts[d] {
            return true;
        }
        at[d] = 0;
    }
    false
}
