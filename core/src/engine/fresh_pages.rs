//! The pages of fresh memory that a read writes: asked of the system in blocks, right before they are written, instead of one by one as each
//! is written for the first time.

use super::huge_pages::HUGE;
use super::item::Axis;
use crate::fork::Lazy;
use crate::limits::Dims;
use crate::platform::{huge_pages_on_advice, is_untouched, populate, refuse_huge_pages, want_huge_pages};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that are asked for at once. They stay in a core's cache until they are written.
const BLOCK: usize = 128 << 10;

/// Memory of at least this many bytes is read into in huge pages. From there on `malloc` of glibc gives each allocation a mapping of its own,
/// so that nothing is left of the advice once the memory is freed.
const LARGE: usize = 32 << 20;

/// The elements of a region in memory, as far as its pages are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The address of the lowest byte.
    first: usize,
    /// The address behind the highest byte.
    end: usize,
    /// Between two elements that follow each other in memory there is never room for a whole page: so every page of the extent is written.
    is_dense: bool,
}

impl Extent {
    /// The extent of elements of `item` bytes, the first of them at `base`, with a count and a distance in bytes for each dimension.
    pub fn new(base: *const u8, item: usize, axes: impl Iterator<Item = (u64, i64)>) -> Extent {
        let (mut first, mut steps) = (base.addr(), SmallVec::<[(u64, u64); 6]>::new());
        for (count, stride) in axes.filter(|axis| axis.0 > 1) {
            if stride < 0 {
                first = first.wrapping_add_signed((count as isize - 1).wrapping_mul(stride as isize));
            }
            steps.push((stride.unsigned_abs(), count));
        }
        steps.sort_unstable();
        let (mut covered, mut is_dense) = (item as u64, true);
        for (stride, count) in steps {
            is_dense &= stride.saturating_sub(covered) < page_size() as u64;
            covered = covered.saturating_add((count - 1).saturating_mul(stride));
        }
        Extent { first, end: first.saturating_add(covered as usize), is_dense }
    }

    /// Returns the page in its middle, which is neither the first nor the last.
    fn middle(&self) -> Option<usize> {
        // The first of two pages of one large page, where there are larger ones.
        let middle = (self.first + (self.end - self.first) / 2) & !(2 * page_size() - 1);
        (middle >= self.first && middle + 2 * page_size() <= self.end).then_some(middle)
    }

    /// Returns whether nobody has touched the page in the middle yet, so that the system has still to fill it with zeros.
    pub fn is_untouched(&self) -> bool {
        self.middle().is_some_and(|page| is_untouched(page, page_size()))
    }
}

/// See the module.
pub struct FreshPages {
    /// All of the memory.
    extent: Extent,
    /// The first and the last whole page's ends.
    first: usize,
    end: usize,
    /// The bytes that are asked for at once, from a multiple of them on.
    block: usize,
    /// One bit for each block, set when a thread has asked for its pages.
    asked: Box<[AtomicU64]>,
    /// The system did not give pages.
    refused: AtomicBool,
}

impl FreshPages {
    /// Returns what asks for the pages of untouched memory, or `None` where that would not pay: where some pages would not be written, where
    /// pages are large, or where the system cannot be asked (Linux before 5.14) or refuses.
    pub fn of(extent: &Extent) -> Option<FreshPages> {
        let (page, middle) = (page_size(), extent.middle()?);
        if !extent.is_dense || !populate(middle, page) || !is_untouched(middle + page, page) {
            return None;
        }
        Some(FreshPages::in_blocks(extent, BLOCK))
    }

    fn in_blocks(extent: &Extent, block: usize) -> FreshPages {
        let (page, extent) = (page_size(), *extent);
        let (first, end) = (extent.first.next_multiple_of(page), extent.end / page * page);
        let blocks = end.div_ceil(block) - first / block;
        let asked = (0..blocks.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        FreshPages { extent, first, end, block, asked, refused: AtomicBool::new(false) }
    }

    /// Makes the pages huge ones until the advice is dropped, which is when all are written; `None` where the memory is small, or the system
    /// does not wait for advice.
    pub fn huge(&self) -> Option<(FreshPages, HugeAdvice)> {
        if self.extent.end - self.extent.first < LARGE || !huge_pages_on_advice() {
            return None;
        }
        // With the pages at its ends, of which others may have a part: so an allocation's own mapping is not divided.
        let (first, end) = (self.extent.first / page_size() * page_size(), self.extent.end.next_multiple_of(page_size()));
        Some((FreshPages::in_blocks(&self.extent, HUGE), HugeAdvice::new(first, end - first)))
    }

    /// Asks for the pages of `bytes` bytes, which are written next.
    pub fn expect(&self, at: *const u8, bytes: usize) {
        let (from, to) = (at.addr().max(self.first), at.addr().saturating_add(bytes).min(self.end));
        if from >= to || self.refused.load(Ordering::Relaxed) {
            return;
        }
        let origin = self.first / self.block;
        for block in from / self.block..to.div_ceil(self.block) {
            let (number, bit) = ((block - origin) / 64, 1 << ((block - origin) % 64));
            let Some(word) = self.asked.get(number) else { return };
            if word.load(Ordering::Relaxed) & bit != 0 || word.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
                continue;
            }
            let (start, stop) = ((block * self.block).max(self.first), ((block + 1) * self.block).min(self.end));
            if !populate(start, stop - start) {
                self.refused.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Asks for the pages of a box of elements of `item` bytes, the first of them at `at`, which are written next.
    pub fn expect_box(&self, at: *const u8, item: usize, axes: &[Axis]) {
        let is_outer = |axis: &Axis| axis.count > 1 && axis.memory.unsigned_abs() >= BLOCK as u64;
        let inner = Extent::new(at, item, axes.iter().filter(|a| !is_outer(a)).map(|a| (a.count, a.memory)));
        let outer: SmallVec<[&Axis; 6]> = axes.iter().filter(|a| is_outer(a)).collect();
        let counts: Dims = outer.iter().map(|a| a.count).collect();
        let mut index = Dims::from_elem(0, outer.len());
        loop {
            let distance: i64 = outer.iter().zip(&index).map(|(a, &i)| a.memory.wrapping_mul(i as i64)).sum();
            self.expect(std::ptr::without_provenance::<u8>(inner.first).wrapping_offset(distance as isize), inner.end - inner.first);
            if !super::raw_spans::advance_counter(&mut index, &counts) {
                return;
            }
        }
    }
}

/// The advice to make a mapping's pages huge ones; it is withdrawn when this is dropped, so that what the program does with the memory later
/// takes pages of the usual size.
pub struct HugeAdvice {
    first: usize,
    bytes: usize,
}

impl HugeAdvice {
    fn new(first: usize, bytes: usize) -> HugeAdvice {
        want_huge_pages(first, bytes);
        HugeAdvice { first, bytes }
    }
}

impl Drop for HugeAdvice {
    fn drop(&mut self) {
        refuse_huge_pages(self.first, self.bytes);
    }
}

fn page_size() -> usize {
    static SIZE: Lazy<usize> = Lazy::new(crate::platform::page_size);
    *SIZE.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::huge_pages::Pages;

    fn extent(base: *const u8, axes: &[(u64, i64)]) -> Extent {
        Extent::new(base, 4, axes.iter().copied())
    }

    #[test]
    fn an_extent_has_its_ends_and_knows_gaps_of_a_page() {
        let base = std::ptr::without_provenance::<u8>(1 << 20);
        let page = page_size() as i64;
        for (axes, first, bytes, is_dense) in [
            (&[(10, 40), (10, 4)][..], 0, 400, true),
            (&[(10, -40), (10, 4)], -360, 400, true),
            (&[(10, -40), (10, -4)], -396, 400, true),
            (&[(1, 1 << 40), (10, 4)], 0, 40, true),
            (&[(10, 39 + page), (10, 4)], 0, 9 * (39 + page) + 40, true),
            (&[(10, 40 + page), (10, 4)], 0, 9 * (40 + page) + 40, false),
            (&[(10, 4), (10, 40 + page)], 0, 9 * (40 + page) + 40, false),
        ] {
            let found = extent(base, axes);
            let first = (1usize << 20).wrapping_add_signed(first);
            assert_eq!(found, Extent { first, end: first + bytes as usize, is_dense }, "{axes:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn an_extent_is_untouched_until_its_middle_is_written() {
        let pages = Pages::new(64 << 10, true).unwrap();
        let all = extent(pages.first(), &[(16 << 10, 4)]);
        assert!(all.is_untouched());
        // SAFETY: within the block.
        unsafe { pages.first().add(all.middle().unwrap() - pages.first().addr()).write_volatile(1) };
        assert!(!all.is_untouched());
        assert!(!extent(pages.first(), &[(10, 4)]).is_untouched(), "less than two pages are not looked at");
        drop(pages);
        assert!(
            !extent(std::ptr::without_provenance(page_size()), &[(16 << 10, 4)]).is_untouched(),
            "of what is no memory nothing is known"
        );
    }

    /// Memory of some blocks that nobody has touched, from the beginning of a block on.
    #[cfg(target_os = "linux")]
    struct Blocks(Pages, usize);

    #[cfg(target_os = "linux")]
    impl Blocks {
        fn new(blocks: usize) -> Blocks {
            Blocks(Pages::new((blocks + 1) * BLOCK, true).unwrap(), blocks)
        }

        fn at(&self, block: usize) -> *mut u8 {
            let first = self.0.first();
            first.wrapping_add(first.align_offset(BLOCK) + block * BLOCK)
        }

        fn asks(&self) -> Option<FreshPages> {
            FreshPages::of(&extent(self.at(0), &[((self.1 * BLOCK / 4) as u64, 4)]))
        }

        fn protect(&self, blocks: std::ops::Range<usize>) {
            // SAFETY: the pages are the test's own.
            let done = unsafe { libc::mprotect(self.at(blocks.start).cast(), blocks.len() * BLOCK, libc::PROT_READ) };
            assert_eq!(done, 0);
        }

        /// The blocks of which all pages are there; one that has the middle page only counts as empty.
        fn resident(&self) -> Vec<usize> {
            let each = BLOCK / page_size();
            let mut found = vec![0u8; self.1 * each];
            // SAFETY: a byte for each page.
            assert_eq!(unsafe { libc::mincore(self.at(0).cast(), self.1 * BLOCK, found.as_mut_ptr()) }, 0);
            let pages = |block: usize| found[block * each..][..each].iter().filter(|&&page| page & 1 != 0).count();
            assert!((0..self.1).all(|block| pages(block) == each || pages(block) == usize::from(block == self.1 / 2)));
            (0..self.1).filter(|&block| pages(block) == each).collect()
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_blocks_of_a_box_are_asked_for_and_no_others() {
        let blocks = Blocks::new(32);
        let Some(fresh) = blocks.asks() else { return }; // A kernel before 5.14.
        assert!(blocks.resident().is_empty());
        let axis = |count, memory| Axis { start: 0, count, step: 1, memory };
        // Some elements of two rows that are two blocks apart, the upper row first.
        fresh.expect_box(blocks.at(6), 4, &[axis(2, -2 * BLOCK as i64), axis(100, 4)]);
        assert_eq!(blocks.resident(), [4, 6]);
        fresh.expect(blocks.at(2), 1);
        fresh.expect(blocks.at(9).wrapping_sub(1), 2);
        assert_eq!(blocks.resident(), [2, 4, 6, 8, 9]);
        fresh.expect(blocks.at(31), 5 * BLOCK);
        assert_eq!(blocks.resident(), [2, 4, 6, 8, 9, 31]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_the_system_refuses_is_not_asked_for_again() {
        let blocks = Blocks::new(16);
        let Some(fresh) = blocks.asks() else { return };
        blocks.protect(8..16);
        fresh.expect(blocks.at(9), BLOCK);
        fresh.expect(blocks.at(0), BLOCK);
        assert!(blocks.resident().is_empty());
        blocks.protect(0..16);
        assert!(blocks.asks().is_none());
    }
}
