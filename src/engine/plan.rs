//! Which chunks a selection touches, which part of each, and where that lies in memory. Pure: integers in, integers out.

use super::Selection;
use crate::error::{Error, Result, err};
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, Strides, element_count};
use smallvec::SmallVec;

/// The selected elements of a chunk along one dimension, and how far apart they are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// The first selected element, counted from the chunk's origin.
    pub start: u64,
    /// The number of selected elements.
    pub count: u64,
    /// The step between them; not 0.
    pub step: i64,
    /// The distance in bytes between their places in memory.
    pub memory: i64,
}

/// One axis for each dimension of a chunk.
pub(super) type Axes = SmallVec<[Axis; 6]>;

/// A selection cut at the borders of chunks: every combination of one segment for each dimension is an item.
pub(super) struct Plan {
    segments: Vec<Segment>,
    /// Where the segments of each dimension begin in `segments`; one more for the end.
    bounds: SmallVec<[usize; 7]>,
    step: Strides,
    memory: Strides,
    items: u64,
    bytes: u64,
}

/// One chunk's part of a selection.
pub(super) struct Item {
    /// The chunk's index in the grid.
    pub chunk: Dims,
    /// The selected elements.
    pub axes: Axes,
    /// The distance in bytes of the first one from the selection's first element in memory.
    pub memory: i64,
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
        };
        plan.bounds.push(0);
        for d in 0..rank {
            plan.push_dimension(grid, d, selection)?;
            plan.bounds.push(plan.segments.len());
        }
        for d in 0..rank {
            let n = plan.dimension(d).len() as u64;
            plan.items = plan.items.checked_mul(n).ok_or_else(|| err!(Limit, "the region touches more than 2^64 chunks"))?;
        }
        Ok(plan)
    }

    fn push_dimension(&mut self, grid: &Grid, d: usize, selection: &Selection) -> Result<()> {
        let (start, count, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
        if count == 0 {
            return Ok(());
        }
        let last = start.wrapping_add_signed(step.wrapping_mul(count as i64 - 1));
        let chunks = grid.chunk_of(d, start.max(last)) - grid.chunk_of(d, start.min(last)) + 1;
        let most = usize::try_from(chunks.min(count)).unwrap_or(usize::MAX);
        self.segments.try_reserve_exact(most).map_err(|_| err!(NoMemory, "the region touches {most} chunks along dimension {d}"))?;
        grid.segments(d, start, count, step, &mut self.segments);
        Ok(())
    }

    fn dimension(&self, d: usize) -> &[Segment] {
        &self.segments[self.bounds[d]..self.bounds[d + 1]]
    }

    /// The number of items.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The bytes of all selected elements in memory.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Item `n`, in C order of the chunks.
    pub fn item(&self, mut n: u64) -> Item {
        let rank = self.memory.len();
        let mut item = Item {
            chunk: Dims::from_elem(0, rank),
            axes: Axes::from_elem(Axis { start: 0, count: 0, step: 1, memory: 0 }, rank),
            memory: 0,
        };
        for d in (0..rank).rev() {
            let segments = self.dimension(d);
            let s = segments[(n % segments.len() as u64) as usize];
            n /= segments.len() as u64;
            item.chunk[d] = s.chunk;
            item.axes[d] = Axis { start: s.start, count: s.count, step: self.step[d], memory: self.memory[d] };
            item.memory += s.position as i64 * self.memory[d];
        }
        item
    }
}

impl Plan {
    /// Puts the index in the region of the element that an error is about into its message.
    pub fn name_element(&self, item: &Item, e: Error) -> Error {
        match e.element().and_then(|memory| self.index_of(item, memory)) {
            Some(index) => e.name_element(&index),
            None => e,
        }
    }

    /// The index in the region of the item's element at that distance in memory. Where several share the place: the first, if the
    /// strides tell.
    fn index_of(&self, item: &Item, memory: i64) -> Option<Dims> {
        let axes = &item.axes;
        // Distances are counted upwards along every dimension.
        let lowest: i64 = axes.iter().map(|a| (a.memory * (a.count as i64 - 1)).min(0)).sum();
        let mut left = memory - item.memory - lowest;
        let mut order: SmallVec<[usize; 6]> = (0..axes.len()).filter(|&d| axes[d].count > 1 && axes[d].memory != 0).collect();
        order.sort_by_key(|&d| std::cmp::Reverse(axes[d].memory.unsigned_abs()));
        let mut index = Dims::from_elem(0, axes.len());
        for d in order {
            let (stride, last) = (axes[d].memory, axes[d].count - 1);
            let steps = u64::try_from(left / stride.abs()).ok()?.min(last);
            left -= steps as i64 * stride.abs();
            index[d] = if stride < 0 { last - steps } else { steps };
        }
        for (d, i) in index.iter_mut().enumerate() {
            *i += self.dimension(d).iter().find(|s| s.chunk == item.chunk[d])?.position;
        }
        (left == 0).then_some(index)
    }
}

/// Calls `each` with every combination of one segment for each dimension, in C order: the segment of each dimension.
pub(super) fn odometer(bounds: &[usize], segments: &[Segment], each: &mut dyn FnMut(&[Segment]) -> Result<()>) -> Result<()> {
    let rank = bounds.len() - 1;
    if (0..rank).any(|d| bounds[d] == bounds[d + 1]) {
        return Ok(());
    }
    let mut at: SmallVec<[usize; 6]> = bounds[..rank].into();
    let mut now: SmallVec<[Segment; 6]> = at.iter().map(|&i| segments[i]).collect();
    loop {
        each(&now)?;
        let mut d = rank;
        loop {
            let Some(next) = d.checked_sub(1) else { return Ok(()) };
            d = next;
            at[d] += 1;
            if at[d] < bounds[d + 1] {
                now[d] = segments[at[d]];
                break;
            }
            at[d] = bounds[d];
            now[d] = segments[at[d]];
        }
    }
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
            let item = plan.item(n);
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
            let plan = Plan::new(&grid, &selection, &strides, 8).unwrap();
            for n in 0..plan.items() {
                let item = plan.item(n);
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
    fn rank_zero_is_one_item_and_no_elements_are_none() {
        let grid = Grid::regular(smallvec![]).unwrap();
        assert_eq!(Plan::new(&grid, &Selection::all(&[]), &[], 8).unwrap().items(), 1);
        let grid = Grid::regular(smallvec![4, 4]).unwrap();
        assert_eq!(Plan::new(&grid, &Selection::all(&[0, 5]), &[8, 8], 8).unwrap().items(), 0);
    }

    #[test]
    fn absurd_regions_of_one_repeated_element_are_refused_not_fatal() {
        let grid = Grid::regular(smallvec![1, 1]).unwrap();
        let huge = 1u64 << 61;
        let e = Plan::new(&grid, &Selection::all(&[huge, 1]), &[0, 0], 8).err().unwrap();
        assert_eq!(e.kind(), crate::error::ErrorKind::NoMemory);
    }
}
