//! Which chunks a selection touches, which part of each, and where that is in memory. Pure: integers in, integers out.

use super::Selection;
use super::chunk_picks::ChunkPicks;
use super::item::{Axes, Axis, Item};
use super::leaf::sort_falling;
use super::pick_list::PickList;
use crate::error::{Error, Result, err};
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, Strides, element_count, make_room, push};
use smallvec::SmallVec;
use std::sync::Arc;

/// A selection cut at the borders of chunks: every combination of one segment for each dimension is an item.
pub(super) struct Plan {
    segments: Vec<Segment>,
    /// Where the segments of each dimension begin in `segments`; one more for the end.
    bounds: SmallVec<[usize; 7]>,
    step: Strides,
    memory: Strides,
    items: u64,
    bytes: u64,
    /// The selection is a list: items are boxes around what it picks.
    list: Option<Arc<PickList>>,
    /// See [`Selection::first_in_region`].
    first_in_region: Option<Box<[u64]>>,
}

impl Plan {
    /// Cuts `selection`; elements have `item` bytes in memory, `memory` is the byte stride for each dimension.
    pub fn new(grid: &Grid, selection: &Selection, memory: &[i64], item: usize) -> Result<Plan> {
        let rank = selection.shape().len();
        let mut plan = Plan {
            segments: Vec::new(),
            bounds: SmallVec::new(),
            step: selection.step().into(),
            memory: memory.into(),
            items: 1,
            bytes: element_count(selection.shape())?.saturating_mul(item as u64),
            list: None,
            first_in_region: selection.first_in_region().map(Into::into),
        };
        plan.bounds.push(0);
        if selection.shape().contains(&0) {
            // No element is touched: dimensions of many chunks must cost nothing.
            plan.bounds.resize(rank + 1, 0);
            plan.items = 0;
            return Ok(plan);
        }
        for d in 0..rank {
            plan.push_dimension(grid, d, selection)?;
            plan.bounds.push(plan.segments.len());
        }
        plan.count_items()?;
        Ok(plan)
    }

    /// Cuts what a list picks of an array of that rank; elements have `item` bytes in memory.
    pub fn listed(list: PickList, rank: usize, item: usize) -> Result<Plan> {
        let list = Arc::new(list);
        let mut plan = Plan {
            segments: Vec::new(),
            bounds: SmallVec::from_slice(&[0]),
            step: Strides::from_elem(1, rank),
            memory: Strides::from_elem(0, rank),
            items: list.chunks(),
            bytes: element_count(list.result().0)?.saturating_mul(item as u64),
            list: None,
            first_in_region: None,
        };
        if plan.bytes == 0 {
            // No element is touched: dimensions of many chunks must cost nothing.
            plan.bounds.resize(rank + 1, 0);
            (plan.items, plan.list) = (0, Some(list));
            return Ok(plan);
        }
        for d in 0..rank {
            let Some(segments) = list.segments(d)? else { break };
            make_room(&mut plan.segments, segments.len())?;
            plan.segments.extend(segments);
            plan.bounds.push(plan.segments.len());
        }
        plan.list = Some(list);
        if plan.is_product() {
            plan.count_items()?;
        }
        Ok(plan)
    }

    /// Returns whether items are combinations of segments; else they are the list's own.
    fn is_product(&self) -> bool {
        self.list.as_ref().is_none_or(|list| !list.is_points())
    }

    fn count_items(&mut self) -> Result<()> {
        self.items = 1;
        for d in 0..self.memory.len() {
            let n = self.dimension(d).len() as u64;
            self.items = self.items.checked_mul(n).ok_or_else(|| err!(Limit, "the region touches more than 2^64 chunks"))?;
        }
        Ok(())
    }

    fn push_dimension(&mut self, grid: &Grid, d: usize, selection: &Selection) -> Result<()> {
        let (start, count, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
        if count == 0 {
            return Ok(());
        }
        grid.reserve_segments(d, start, count, step, &mut self.segments)?;
        grid.segments(d, start, count, step, &mut self.segments);
        Ok(())
    }

    /// Cuts the segments of dimension `d` further, each into at most `pieces`, at multiples of `extent` from the chunk's origin.
    pub fn refine(&mut self, d: usize, extent: u64, pieces: u64) -> Result<()> {
        if !self.is_product() {
            if let Some(list) = self.list.as_mut().and_then(Arc::get_mut) {
                list.cut(d, extent, pieces);
                self.items = list.chunks();
            }
            return Ok(());
        }
        let inner = Grid::regular(Dims::from_elem(extent, 1))?;
        let (mut fine, mut cut) = (Vec::new(), Vec::new());
        for s in self.dimension(d) {
            cut.clear();
            inner.reserve_segments(0, s.start, s.count, self.step[d], &mut cut)?;
            inner.segments(0, s.start, s.count, self.step[d], &mut cut);
            let each = cut.len().div_ceil(pieces.max(1) as usize).max(1);
            for run in cut.chunks(each) {
                let Some(first) = run.first() else { continue };
                let start = s.start.wrapping_add_signed(self.step[d].wrapping_mul(first.position as i64));
                let (count, position) = (run.iter().map(|r| r.count).sum(), s.position + first.position);
                push(&mut fine, Segment { chunk: s.chunk, start, count, position })?;
            }
        }
        let (from, to) = (self.bounds[d], self.bounds[d + 1]);
        let more = fine.len() - (to - from);
        make_room(&mut self.segments, more)?;
        self.segments.splice(from..to, fine);
        self.bounds[d + 1..].iter_mut().for_each(|b| *b += more);
        self.count_items()
    }

    fn dimension(&self, d: usize) -> &[Segment] {
        &self.segments[self.bounds[d]..self.bounds[d + 1]]
    }

    /// Returns the number of items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Returns the bytes of all selected elements in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the count of elements in memory and their distance for each dimension.
    pub fn memory_axes(&self) -> impl Iterator<Item = (u64, i64)> + '_ {
        let listed = self.list.as_ref().map(|list| list.result());
        let axes = if listed.is_some() { 0 } else { self.memory.len() };
        let count = |d: usize| self.dimension(d).iter().map(|s| s.count).sum();
        let listed = listed.into_iter().flat_map(|(shape, strides)| shape.iter().copied().zip(strides.iter().copied()));
        listed.chain((0..axes).map(move |d| (count(d), self.memory[d])))
    }

    /// Returns the list, if the selection is one.
    pub fn list(&self) -> Option<&Arc<PickList>> {
        self.list.as_ref()
    }

    /// Item `n`, in C order of the chunks; `None` if nothing of it is picked.
    pub fn item(&self, n: u64) -> Option<Item> {
        match &self.list {
            None => Some(self.region_item(n)),
            Some(list) => ChunkPicks::narrowed(list, if list.is_points() { list.chunk(n) } else { self.region_item(n) }),
        }
    }

    /// Item `n` of a plan that is no list, in C order of the chunks.
    pub fn region_item(&self, mut n: u64) -> Item {
        let rank = self.memory.len();
        let none = Axis { start: 0, count: 0, step: 0, memory: 0 };
        let mut item = Item { chunk: Dims::from_elem(0, rank), axes: Axes::from_elem(none, rank), memory: 0 };
        let each = item.chunk.iter_mut().zip(&mut item.axes).zip(self.step.iter().zip(&self.memory)).zip(self.bounds.windows(2));
        for (((chunk, axis), (&step, &memory)), bounds) in each.rev() {
            let segments = &self.segments[bounds[0]..bounds[1]];
            let s = &segments[(n % segments.len() as u64) as usize];
            n /= segments.len() as u64;
            *chunk = s.chunk;
            *axis = Axis { start: s.start, count: s.count, step, memory };
            item.memory += s.position as i64 * memory;
        }
        item
    }
}

impl Plan {
    /// Puts the index in the region of the element that an error is about into its message.
    pub fn name_element(&self, item: &Item, e: Error) -> Error {
        let index_of = |memory| match &self.list {
            None => self.index_of(item, memory),
            Some(list) => {
                let (shape, strides) = list.result();
                index_at(memory, shape.iter().copied().zip(strides.iter().copied()))
            }
        };
        match e.element().and_then(index_of) {
            Some(index) => e.name_element(&index),
            None => e,
        }
    }

    /// Returns the index in the region of the item's element at that distance in memory. Where several share the place: the first, if the
    /// strides tell.
    fn index_of(&self, item: &Item, memory: i64) -> Option<Dims> {
        let axes = item.axes.iter().map(|a| (a.count, a.memory));
        let mut index = index_at(memory - item.memory, axes)?;
        for (d, i) in index.iter_mut().enumerate() {
            *i += self.dimension(d).iter().find(|s| s.chunk == item.chunk[d] && s.start == item.axes[d].start)?.position;
            *i += self.first_in_region.as_ref().map_or(0, |first| first[d]);
        }
        Some(index)
    }
}

/// Returns the index of the element at that distance in memory from the first one of a block, given the count and the stride for each
/// dimension.
fn index_at(memory: i64, axes: impl Iterator<Item = (u64, i64)>) -> Option<Dims> {
    let axes: SmallVec<[(u64, i64); 6]> = axes.collect();
    // Distances are counted upwards along every dimension.
    let lowest: i64 = axes.iter().map(|&(count, stride)| (stride * (count as i64 - 1)).min(0)).sum();
    let mut left = memory - lowest;
    let mut order: SmallVec<[usize; 6]> = (0..axes.len()).filter(|&d| axes[d].0 > 1 && axes[d].1 != 0).collect();
    sort_falling(&mut order, &|d| axes[d].1.unsigned_abs());
    let mut index = Dims::from_elem(0, axes.len());
    for d in order {
        let (stride, last) = (axes[d].1, axes[d].0 - 1);
        let steps = u64::try_from(left / stride.abs()).ok()?.min(last);
        left -= steps as i64 * stride.abs();
        index[d] = if stride < 0 { last - steps } else { steps };
    }
    (left == 0).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    #[test]
    fn items_cover_the_selection_once_and_in_place() {
        let grid = Grid::regular(smallvec![4, 3]).unwrap();
        let selection = Selection::new(&[10, 7], &[9, 1], &[4, 3], Some(&[-3, 2])).unwrap();
        let plan = Plan::new(&grid, &selection, &[24, 8], 8).unwrap();
        let mut seen = Vec::new();
        for n in 0..plan.items() {
            let item = plan.item(n).unwrap();
            for i in 0..item.axes[0].count as i64 {
                for j in 0..item.axes[1].count as i64 {
                    let index = |d: usize, k: i64| item.chunk[d] as i64 * [4, 3][d] + item.axes[d].start as i64 + k * item.axes[d].step;
                    seen.push((item.memory + i * 24 + j * 8, index(0, i), index(1, j)));
                }
            }
        }
        seen.sort_unstable();
        let want: Vec<_> = (0..12).map(|k| (k * 8, 9 - 3 * (k / 3), 1 + 2 * (k % 3))).collect();
        assert_eq!(seen, want);
    }

    #[test]
    fn elements_are_found_by_their_place_in_memory() {
        let grid = Grid::regular(smallvec![4, 3]).unwrap();
        let selection = Selection::new(&[10, 7], &[9, 1], &[4, 3], Some(&[-3, 2])).unwrap();
        for strides in [[24, 8], [8, 32], [-24, 8], [-8, -40], [0, 8]] {
            let mut plan = Plan::new(&grid, &selection, &strides, 8).unwrap();
            if strides[0] > 0 {
                // Several items of one chunk, each with elements of its own.
                plan.refine(1, 1, 3).unwrap();
            }
            for n in 0..plan.items() {
                let item = plan.item(n).unwrap();
                for i in 0..item.axes[0].count {
                    for j in 0..item.axes[1].count {
                        let memory = item.memory + i as i64 * strides[0] + j as i64 * strides[1];
                        let index = plan.index_of(&item, memory).unwrap();
                        let place: i64 = index.iter().zip(&strides).map(|(&i, s)| i as i64 * s).sum();
                        assert_eq!(place, memory, "{strides:?}");
                    }
                }
                assert!(plan.index_of(&item, item.memory + 1).is_none());
            }
        }
    }

    #[test]
    fn refined_items_cover_the_same() {
        let grid = Grid::regular(smallvec![12, 7]).unwrap();
        let selection = Selection::new(&[30, 7], &[29, 0], &[15, 7], Some(&[-2, 1])).unwrap();
        let elements = |plan: &Plan| {
            let mut seen = Vec::new();
            for item in (0..plan.items()).map(|n| plan.item(n).unwrap()) {
                for i in 0..item.axes[0].count as i64 {
                    let at = item.chunk[0] as i64 * 12 + item.axes[0].start as i64 + i * item.axes[0].step;
                    seen.push((item.memory + i * 56, at));
                }
            }
            seen.sort_unstable();
            seen
        };
        let mut plan = Plan::new(&grid, &selection, &[56, 8], 8).unwrap();
        let (coarse, before) = (plan.items(), elements(&plan));
        plan.refine(0, 3, 4).unwrap();
        assert_eq!(elements(&plan), before);
        assert!(plan.items() > 2 * coarse, "{}", plan.items());
        for item in (0..plan.items()).map(|n| plan.item(n).unwrap()) {
            let a = item.axes[0];
            let (high, low) = (a.start, a.start - 2 * (a.count - 1));
            assert!(high / 3 - low / 3 <= 1, "{a:?}");
        }
    }

    #[test]
    fn rank_zero_is_one_item_and_no_elements_are_none() {
        let grid = Grid::regular(smallvec![]).unwrap();
        assert_eq!(Plan::new(&grid, &Selection::all(&[]), &[], 8).unwrap().items(), 1);
        let grid = Grid::regular(smallvec![4, 4]).unwrap();
        assert_eq!(Plan::new(&grid, &Selection::all(&[0, 5]), &[8, 8], 8).unwrap().items(), 0);
    }

    #[test]
    fn a_region_without_elements_plans_nothing_along_its_other_dimensions() {
        let grid = Grid::regular(smallvec![4, 2, 1]).unwrap();
        for (empty, full) in [([0, 2, 1u64 << 40], [4, 2, 1 << 40]), ([4, 0, 1 << 62], [4, 2, 1 << 62]), ([1 << 62, 1, 0], [1 << 62, 2, 5])]
        {
            let selection = Selection::new(&full, &[0, 0, 0], &empty.map(|n| n as i64), None).unwrap();
            let plan = Plan::new(&grid, &selection, &[8, 8, 8], 8).unwrap();
            assert_eq!((plan.items(), plan.segments.capacity()), (0, 0), "{empty:?}");
        }
    }

    #[test]
    fn absurd_regions_of_one_repeated_element_are_refused_not_fatal() {
        let grid = Grid::regular(smallvec![1, 1]).unwrap();
        let huge = 1u64 << 61;
        let e = Plan::new(&grid, &Selection::all(&[huge, 1]), &[0, 0], 8).err().unwrap();
        assert_eq!(e.kind(), crate::error::ErrorKind::NoMemory);
    }
}
