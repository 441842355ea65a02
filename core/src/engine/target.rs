//! Where decoded elements go: memory, the conversion on the way, and what fills missing chunks.

use super::buffer_guard::{self, RevocableBuffer};
use super::chunk_picks::ChunkPicks;
use super::fresh_pages::{Extent, FreshPages, HugeAdvice};
use super::item::Axis;
use super::leaf::{by_stride, contiguous_run, leaf_of};
use super::place::{self, PlaceAxis};
use super::stats::{self, Counter};
use crate::codec::{BoundChain, Leaf};
use crate::dtype::coding::Coding;
use crate::dtype::run::Run;
use crate::dtype::transfer::Transfer;
use crate::dtype::variable::Arena;
use crate::dtype::{DataType, ElementType, Overflow, SharedElement, zeros};
use crate::error::{Error, Result, err};
use crate::limits::Strides;
use smallvec::SmallVec;
use std::sync::Arc;

/// Destinations of at least this many bytes are written past the caches where elements are converted: about one core's share of the last cache.
const STREAM_BYTES: u64 = 16 << 20;

/// Destinations of at least this many bytes are asked whether their pages are fresh, which takes two system calls.
const FRESH_BYTES: u64 = 1 << 20;

/// The place of decoded elements, and the way there.
#[derive(Clone)]
pub(super) struct Target {
    /// The selection's first element.
    pub base: *mut u8,
    /// From the chain's element type to the memory's.
    pub transfer: Transfer,
    /// From the elements behind the leaf's fused stages to the memory's, or `None` without such stages.
    pub fused: Option<Transfer>,
    /// The fill value in the memory's type, or `None` if it does not fit.
    pub fill: Option<SharedElement>,
    /// Keeps the bytes of elements of variable length where the memory holds items. With `None` they live until they are placed.
    pub arena: Option<Arc<Arena>>,
    /// The fill value in the array's type and the way to the memory's, where bytes between its fields must stay.
    patch: Option<(SharedElement, Transfer)>,
    /// The leaf's dimensions in the order of falling strides.
    pub order: SmallVec<[usize; 6]>,
    /// The guard of the memory, where the request may end before its work.
    pub revocable: Option<Arc<RevocableBuffer>>,
    /// Which elements of a chunk's boxes go there, and where, or `None` for all, as the axes say.
    pub picks: Option<ChunkPicks>,
    /// What asks for the pages of the memory before they are written, where it is fresh.
    fresh: Option<Arc<FreshPages>>,
}

// SAFETY: threads place disjoint elements; the memory outlives the request (see `Memory`).
unsafe impl Send for Target {}

// SAFETY: as above.
unsafe impl Sync for Target {}

impl Target {
    /// Sends elements of the chunks of `root` to elements of `memory_type` from `base` on. `fill` is one element of `data_type`.
    pub fn new(
        root: &BoundChain,
        data_type: DataType,
        fill: &[u8],
        (memory_type, overflow): (DataType, Overflow),
        base: *mut u8,
        arena: Option<Arc<Arena>>,
    ) -> Result<Target> {
        let memory = ElementType::native(memory_type);
        let mut converted = zeros(memory.size())?;
        let convert_fill = Transfer::new(ElementType::native(data_type), memory)?.with_overflow(overflow);
        // SAFETY: both hold one element of their type.
        let fits = unsafe { convert_fill.run(Run::one(fill.as_ptr(), converted.as_mut_ptr())) }.is_ok();
        let leaf = leaf_of(root);
        let transfer = Transfer::new(leaf.layout.element, memory)?.with_overflow(overflow);
        let fused = leaf.fused.as_ref().map(|f| transfer.clone().behind(f.clone(), f.stored()));
        let patch = if convert_fill.is_partial() { Some((SharedElement::new(fill)?, convert_fill)) } else { None };
        Ok(Target {
            base,
            transfer,
            fused,
            fill: if fits { Some(SharedElement::new(&converted)?) } else { None },
            arena,
            patch,
            order: by_stride(leaf),
            revocable: None,
            picks: None,
            fresh: None,
        })
    }

    /// Makes every access to the memory pass `revocable`, if given: elements are then only ever copied there, never read or decoded
    /// straight into it.
    pub fn behind(self, revocable: Option<Arc<RevocableBuffer>>) -> Target {
        Target { revocable, ..self }
    }

    /// Returns the bytes of a leaf's selection that can become elements in memory without a copy, or `None` for any other selection.
    pub fn in_place(&self, leaf: &Leaf, axes: &[Axis]) -> Option<u64> {
        if self.revocable.is_some() || self.picks.is_some() { None } else { contiguous_run(leaf, axes, &self.transfer, &self.order) }
    }

    /// Returns the target of one chunk of which a list picks elements.
    pub fn picking(&self, picks: ChunkPicks) -> Target {
        Target { picks: Some(picks), fresh: None, ..self.clone() }
    }

    /// Chooses how a large region is written. Fresh memory: its pages are made in blocks, and its lines are in the caches when they are
    /// written, since the system has just put zeros there. Any other: past the caches, if they do not hold it.
    pub fn for_region(self, bytes: u64, axes: impl Iterator<Item = (u64, i64)>) -> Target {
        if bytes < FRESH_BYTES {
            return self;
        }
        let extent = Extent::new(self.base, self.transfer.to().size(), axes);
        if extent.is_untouched() {
            return Target { fresh: FreshPages::of(&extent).map(Arc::new), ..self };
        }
        if bytes < STREAM_BYTES {
            return self;
        }
        Target { transfer: self.transfer.streaming(), fused: self.fused.map(Transfer::streaming), ..self }
    }

    /// Asks for huge pages where large memory is fresh, until the result is dropped. They are written past the caches: the zeros of a whole page
    /// have left these before the last of its lines is written, if not all pages were made for the first chunk.
    pub fn ask_for_huge_pages(&mut self) -> Option<HugeAdvice> {
        let (fresh, advice) = self.fresh.as_ref()?.huge()?;
        self.fresh = Some(Arc::new(fresh));
        self.transfer = self.transfer.clone().streaming();
        self.fused = self.fused.take().map(Transfer::streaming);
        Some(advice)
    }

    /// Is told that a box of elements is written next.
    pub fn expect_box(&self, axes: &[Axis], memory: i64) {
        if let Some(fresh) = &self.fresh {
            fresh.expect_box(self.base.wrapping_offset(memory as isize), self.transfer.to().size(), axes);
        }
    }

    /// Notes that `n` bytes are written next.
    pub fn expect_bytes(&self, at: *const u8, bytes: usize) {
        if let Some(fresh) = &self.fresh {
            fresh.expect(at, bytes);
        }
    }

    /// Makes the memory hold what the elements mean by `coding`, not what is stored.
    pub fn decoding(
        self,
        root: &BoundChain,
        data_type: DataType,
        fill: &[u8],
        (memory_type, overflow): (DataType, Overflow),
        coding: &Coding,
    ) -> Result<Target> {
        let memory = ElementType::native(memory_type);
        let mut converted = zeros(memory.size())?;
        let convert_fill = Transfer::decoding(ElementType::native(data_type), memory, coding, overflow)?;
        // SAFETY: both hold one element of their type.
        let fits = unsafe { convert_fill.run(Run::one(fill.as_ptr(), converted.as_mut_ptr())) }.is_ok();
        let leaf = leaf_of(root);
        let transfer = Transfer::decoding(leaf.layout.element, memory, coding, overflow)?;
        let fused = leaf.fused.as_ref().map(|f| transfer.clone().behind(f.clone(), f.stored()));
        Ok(Target { transfer, fused, fill: if fits { Some(SharedElement::new(&converted)?) } else { None }, patch: None, ..self })
    }

    /// Fills the selected elements of a missing chunk.
    pub fn fill(&self, axes: &[Axis], memory: i64) -> Result<()> {
        stats::count(Counter::FillChunks, 1);
        let Some(fill) = &self.fill else { return Err(self.fill_misfit(axes, memory)) };
        let _inside = buffer_guard::enter(&self.revocable)?;
        self.expect_box(axes, memory);
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

    /// Returns the error of a fill value that does not fit into the type in memory, at the first element that would get it.
    fn fill_misfit(&self, axes: &[Axis], memory: i64) -> Error {
        let mut first = memory;
        if let Some(picks) = &self.picks {
            picks.each(axes, memory, &Strides::from_elem(0, axes.len()), &mut |p| {
                first = p.memory;
                false
            });
        }
        err!(Range, "an element is not stored, and the fill value does not fit into the type in memory").at_element(first)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::huge_pages::Pages;
    use crate::engine::shard_open::tests::array;
    use crate::platform::huge_pages_on_advice;
    use crate::store::suite::TestFolder;

    #[test]
    fn nothing_is_decoded_straight_into_memory_that_may_be_revoked() {
        let root = TestFolder::new("target");
        let array = array(&root, r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
        let (mut memory, axes) = ([0i32; 16], [Axis { start: 0, count: 16, step: 1, memory: 4 }]);
        let (base, kind) = (memory.as_mut_ptr().cast(), (DataType::Int32, Overflow::Error));
        let target = Target::new(&array.chain, DataType::Int32, &[0; 4], kind, base, None).unwrap();
        let leaf = leaf_of(&array.chain);
        assert_eq!(target.in_place(leaf, &axes), Some(64));
        assert_eq!(target.behind(Some(Arc::default())).in_place(leaf, &axes), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn huge_pages_are_written_past_the_caches_and_small_ones_through_them() {
        let root = TestFolder::new("target-huge");
        let array = array(&root, r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
        for (bytes, large) in [(16 << 20, false), (64 << 20, true)] {
            let pages = Pages::new(bytes, true).unwrap();
            let kind = (DataType::Int32, Overflow::Error);
            let target = Target::new(&array.chain, DataType::Int32, &[0; 4], kind, pages.first(), None).unwrap();
            let mut target = target.for_region(bytes as u64, std::iter::once((bytes as u64 / 4, 4)));
            let could = huge_pages_on_advice() && target.fresh.is_some(); // Not on a kernel before 5.14.
            let advice = target.ask_for_huge_pages();
            assert_eq!((advice.is_some(), target.transfer.streams()), (could && large, could && large), "{bytes}");
        }
    }
}
