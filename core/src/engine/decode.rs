//! Decoding as a state machine that does no I/O: a [`Part`] says which bytes it wants, is given them, and becomes elements in
//! memory or further parts (a shard's index becomes its inner chunks).
//!
//! Two drivers run it: `read_local`, which reads at once (files, memory), and `flight`, whose reads are started and waited for (stores with
//! latency). Neither knows of codecs; nothing here knows of stores.

use super::buffer_guard;
use super::chunk_cache::ArrayCache;
use super::chunk_picks::ChunkPicks;
use super::cost::Cost;
use super::cut::Cut;
use super::item::{Axes, Axis, Item};
use super::leaf::{first_byte, low_byte, reach};
use super::part::{Part, PartKind, inner_name, sort_for_popping};
use super::place::{self, PlaceAxis};
use super::raw_spans::{advance_counter, cheapest_split, cut_long, sparse_spans};
use super::scratch::{ChainScratch, StageBuffers};
use super::shard_index::{decode_index, index_bytes};
use super::shard_open::OpenShard;
use super::stages::{decode_bounded, decode_stages};
use super::stats::{self, Counter};
use super::target::Target;
use crate::codec::fused::Fused;
use crate::codec::{BoundChain, FIRST_BYTES, FIRST_ROOM, IndexLocation, Leaf, Sharded, VariableCodec, sharding};
use crate::dtype::transfer::Transfer;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{self, Dims, Strides, grow, max_chunk, reserve};
use crate::store::{ByteRange, Stamp};
use std::sync::Arc;

/// Returns the chain at a depth of nesting.
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
    pub mark: &'a Stamp,
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

    /// Returns whether a part is the index of an inner shard that is kept; its inner chunks are put onto `out` then, instead of reading it.
    pub fn skip(&self, part: &Part, out: &mut Vec<Part>) -> Result<bool> {
        let Some(index) = self.known_index(part) else { return Ok(false) };
        let BoundChain::Sharded(shard) = chain_at(self.root, part.depth) else { return Ok(false) };
        self.push_inner(shard, &index, part.span.map(|s| s.1), part, out).map_err(|e| part.annotate(e))?;
        Ok(true)
    }

    /// Returns the index that a part is to read, where it is kept.
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
        limits::push(out, part)
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
            && let Some(spans) = sparse_spans(picks, leaf, &part.axes, part.memory, self.cost)?
        {
            return spans.into_iter().try_for_each(|span| limits::push(out, self.sparse_part(leaf, &part, span)));
        }
        let order = &self.target.order;
        if self.target.picks.is_none()
            && let Some(pieces) = cut_long(leaf, &part, order, self.cost.longest)?
        {
            return pieces.into_iter().try_for_each(|piece| self.expand_raw(leaf, piece, out));
        }
        let (outer, len) = cheapest_split(leaf, &part.axes, order, self.cost);
        if outer == 0 && len == bytes {
            part.kind = PartKind::Raw { first: first_byte(leaf, &part.axes) as i64 };
            return limits::push(out, part);
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
            limits::push(out, Part { depth, kind: PartKind::Raw { first }, number, span, axes: piece, memory: place })?;
            if !advance_counter(&mut at, &counts) {
                return Ok(());
            }
        }
    }

    /// Returns the part of those bytes of the leaf's buffer: its box has what is picked there, and perhaps more.
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

    /// Returns the bytes that a part wants next.
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

    /// Returns the most bytes that an object read as a whole can need; more is an error.
    pub fn most_bytes(&self, part: &Part) -> usize {
        self.most_encoded(part.depth)
    }

    /// Returns the most bytes that an encoded chunk of that depth can have.
    fn most_encoded(&self, depth: u8) -> usize {
        match chain_at(self.root, depth) {
            BoundChain::Leaf(leaf) if leaf.variable.is_some() => usize::try_from(max_chunk()).unwrap_or(usize::MAX),
            // Other writers' encoders may be worse than the bound of ours.
            BoundChain::Leaf(leaf) => leaf.sizes.last().map_or(0, |s| s.max()).saturating_mul(2).saturating_add(1 << 20),
            BoundChain::Sharded(_) => usize::try_from(max_chunk()).unwrap_or(usize::MAX),
        }
    }

    /// Returns the number of bytes that an object read as a whole must have, where that is known.
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
        let steps = part.axes.iter().zip(&view.leaf.layout.strides).map(|(a, stride)| view.bytes(*stride).wrapping_mul(a.step));
        self.place_box(buf.as_ptr().wrapping_offset(first as isize), &part.axes, steps, part.memory, transfer)
    }

    /// Places the elements of `axes`, whose distances in the buffer are `steps`, from the first one on; that one is at `src`, and goes to `memory`.
    pub fn place_box(&self, src: *const u8, axes: &[Axis], steps: impl Iterator<Item = i64>, memory: i64, way: &Transfer) -> Result<()> {
        let _inside = buffer_guard::enter(&self.target.revocable)?;
        self.target.expect_box(axes, memory);
        let axes = axes.iter().zip(steps).map(|(a, src)| PlaceAxis { count: a.count, src, dst: a.memory });
        // SAFETY: the plan stays within the checked memory, and the axes within the leaf's buffer.
        let placed = unsafe { place::place(src, self.target.base.offset(memory as isize), axes, way) };
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
        stats::count(Counter::CopiedBytes, copied * transfer.to().size() as u64);
        placed.map_err(|m| {
            let memory = m.dst as isize - self.target.base as isize;
            m.at(memory)
        })
    }

    /// Returns whether the decoded chunk of a part is put into the cache: not where the part is the whole chunk, which nobody reads again soon,
    /// nor where it is a long run of an uncompressed one, which takes about as long to read again, and much less than to read the chunk.
    fn keeps(&self, leaf: &Leaf, part: &Part) -> bool {
        /// Many times what a look at the file takes.
        const LONG: u64 = 32 << 10;
        let in_part = || part.axes.iter().zip(&leaf.shape).any(|(axis, &n)| axis.count < n);
        let short = || !leaf.is_raw() || self.target.in_place(leaf, &part.axes).is_none_or(|run| run < LONG);
        leaf.variable.is_none() && self.decoded.is_some_and(|decoded| decoded.cache.takes(leaf.layout.bytes)) && in_part() && short()
    }

    /// Returns whether the part's chunk is kept; its elements are placed then, without reading anything.
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
        stats::count(Counter::ChunkHits, 1);
        let first = first_byte(leaf, &part.axes) as i64;
        self.place(&View::of(leaf), &elements, first, part, &self.target.transfer).map_err(|e| part.annotate(e)).map(|()| true)
    }

    /// Decodes a chunk whole, and keeps it.
    fn decode_and_keep(&self, leaf: &Leaf, decoded: Decoded<'_>, encoded: &[u8], part: &Part, scratch: &mut ChainScratch) -> Result<()> {
        let (mut elements, total) = (Vec::new(), leaf.layout.bytes);
        if leaf.stages.is_empty() {
            crate::limits::check_exact(encoded.len() as u64, total)?;
            reserve(&mut elements, total)?;
            elements.extend_from_slice(encoded);
        } else {
            decode_stages(&leaf.stages, &leaf.sizes, encoded, grow(&mut elements, total)?, &mut scratch.stages)?;
        }
        self.place(&View::of(leaf), &elements, first_byte(leaf, &part.axes) as i64, part, &self.target.transfer)?;
        decoded.cache.keep(decoded.key, part.span, decoded.mark, elements);
        Ok(())
    }

    fn decode_leaf(&self, leaf: &Leaf, encoded: &[u8], part: &Part, scratch: &mut ChainScratch) -> Result<()> {
        stats::count(Counter::DecodedChunks, 1);
        stats::count(Counter::DecodedBytes, leaf.layout.bytes as u64);
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
            self.target.expect_bytes(dst.as_ptr(), total);
            return decode_stages(&leaf.stages, &leaf.sizes, encoded, dst, &mut scratch.stages);
        }
        let way = match (&leaf.fused, &self.target.fused) {
            (Some(fused), Some(transfer)) => (&View::behind(leaf, fused), transfer),
            _ => (&View::of(leaf), &self.target.transfer),
        };
        self.decode_and_place(way, encoded, part, &mut scratch.gather, &mut scratch.stages)
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
        let count = leaf.layout.bytes / leaf.layout.element.size().max(1);
        if leaf.stages.is_empty() {
            if encoded.len() > FIRST_ROOM {
                codec.check_first(&encoded[..FIRST_BYTES], count).map_err(|e| e.at_field(codec.name()))?;
            }
            reserve(&mut bytes, encoded.len())?;
            bytes.extend_from_slice(encoded);
        } else {
            let most = usize::try_from(max_chunk()).unwrap_or(usize::MAX);
            let check = |first: &[u8]| codec.check_first(first, count).map_err(|e| e.at_field(codec.name()));
            decode_bounded(&leaf.stages, most, Some(&check), encoded, &mut bytes, &mut scratch.stages)?;
        }
        let items = grow(&mut scratch.gather, leaf.layout.bytes)?;
        let kept = codec.decode(bytes, items).map_err(|e| e.at_field(codec.name()))?;
        self.place(&View::of(leaf), items, first_byte(leaf, &part.axes) as i64, part, &self.target.transfer)?;
        if let Some(arena) = &self.target.arena {
            arena.keep(kept);
        }
        Ok(())
    }

    fn decode_and_place(
        &self,
        (view, transfer): (&View, &Transfer),
        encoded: &[u8],
        part: &Part,
        buf: &mut Vec<u8>,
        stages_room: &mut StageBuffers,
    ) -> Result<()> {
        let (leaf, at) = (view.leaf, |byte: u64| view.bytes(byte as i64) as usize);
        let (total, first, low) = (at(leaf.layout.bytes as u64), at(first_byte(leaf, &part.axes)), at(low_byte(leaf, &part.axes)));
        let stages = &leaf.stages[view.skip..];
        if stages.is_empty() {
            crate::limits::check_exact(encoded.len() as u64, total)?;
            return self.place(view, encoded, first as i64, part, transfer);
        }
        let span = at((0..leaf.shape.len()).map(|d| reach(leaf, &part.axes, d)).sum::<u64>()) + view.item;
        let dst = grow(buf, total)?;
        if let [stage] = stages
            && span < total
            && let Some(result) = stats::timed(Counter::DecodeNs, || stage.decode_range(encoded, total, low, &mut dst[..span]))
        {
            result?;
            return self.place(view, &dst[..span], (first - low) as i64, part, transfer);
        }
        decode_stages(stages, &leaf.sizes[view.skip..], encoded, dst, stages_room)?;
        self.place(view, dst, first as i64, part, transfer)
    }

    /// A decoded index becomes the inner chunks that the part's selection touches.
    fn open_shard(&self, shard: &Sharded, encoded: &[u8], part: &Part, scratch: &mut ChainScratch, out: &mut Vec<Part>) -> Result<()> {
        let ChainScratch { index, stages, .. } = scratch;
        decode_index(shard, encoded, index, stages)?;
        self.push_inner(shard, index, part.span.map(|s| s.1), part, out)?;
        if let (Some(kept), Some(span), 1..) = (self.kept, part.span, part.depth) {
            kept.keep_inner(span, index);
        }
        Ok(())
    }

    fn push_inner(&self, shard: &Sharded, index: &[u8], len: Option<u64>, part: &Part, out: &mut Vec<Part>) -> Result<()> {
        let cut = Cut::new(shard, &part.axes, self.target.picks.as_ref())?;
        let mark = out.len();
        let base = part.span.map_or(0, |s| s.0);
        let room = sharding::room(shard.location, index_bytes(shard), len.unwrap_or(u64::MAX));
        let most = self.most_encoded(part.depth + 1) as u64;
        let result =
            cut.each(0..cut.len(), shard, &part.axes, part.memory, &mut |inner| match sharding::decode_entry(index, inner.number)? {
                None => self.target.fill(&inner.axes, inner.memory),
                Some((offset, len)) => {
                    sharding::check_entry(inner.number, (offset, len), &room)?;
                    if len > most {
                        return Err(err!(Limit, "{} has {len} bytes, the limit is {most}", inner_name(inner.number, offset)));
                    }
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
        decode_bounded(&shard.stages, most, None, encoded, &mut whole, &mut scratch.stages)?;
        let span = Some((0, whole.len() as u64));
        let start = Part { depth: part.depth, kind: PartKind::Index, number: 0, span, axes: part.axes.clone(), memory: part.memory };
        self.walk(&whole, vec![start], scratch)
    }

    /// Carries out parts whose bytes are all in `whole`.
    fn walk(&self, whole: &[u8], mut parts: Vec<Part>, scratch: &mut ChainScratch) -> Result<()> {
        // Spans in the buffer are not spans of the object.
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

fn as_index_error(e: Error) -> Error {
    if e.kind() == ErrorKind::Truncated { err!(ShardIndex, "{}", e.message()) } else { e }
}

fn whole_or_span(span: Option<(u64, u64)>) -> ByteRange {
    span.map_or(ByteRange::WHOLE, |(offset, len)| ByteRange::Span { offset, len })
}
