//! A selection of a shard, cut at the borders of inner chunks. Pure.

use super::chunk_picks::ChunkPicks;
use super::item::{Axes, Axis};
use crate::codec::Sharded;
use crate::error::Result;
use crate::grid::{Grid, Segment};
use crate::limits::Dims;
use smallvec::SmallVec;
use std::ops::Range;

/// A selection of a shard's elements, cut at the borders of its inner chunks.
pub(super) struct Cut<'a> {
    /// Which elements of the selection count, or `None` for all.
    picks: Option<&'a ChunkPicks>,
    segments: Vec<Segment>,
    /// Where the segments of each dimension of the inner grid begin; one more for the end.
    bounds: SmallVec<[usize; 7]>,
}

/// Lists of no more inner chunks along a dimension are short.
const MANY: u64 = 4096;

/// The part of one inner chunk that is selected.
pub(super) struct InnerBox {
    /// Its number, in C order of the inner grid.
    pub number: usize,
    /// The selected elements, in the inner grid's order of dimensions.
    pub axes: Axes,
    /// The distance of the first one in memory.
    pub memory: i64,
    /// Its index in the inner grid.
    place: Dims,
}

impl<'a> Cut<'a> {
    /// Cuts the selection, or the hull of `picks`. Inner chunks come in C order, whatever the signs of the steps.
    pub fn new(shard: &Sharded, axes: &[Axis], picks: Option<&'a ChunkPicks>) -> Result<Cut<'a>> {
        let grid = Grid::Regular { chunk: shard.inner_shape.clone() };
        let mut cut = Cut { picks, segments: Vec::new(), bounds: SmallVec::from_slice(&[0]) };
        for (j, &d) in shard.axes.iter().enumerate() {
            let from = cut.segments.len();
            if shard.grid[j] > MANY {
                grid.reserve_segments(j, axes[d].start, axes[d].count, axes[d].step, &mut cut.segments)?;
            }
            grid.segments(j, axes[d].start, axes[d].count, axes[d].step, &mut cut.segments);
            if axes[d].step < 0 {
                cut.segments[from..].reverse();
            }
            cut.bounds.push(cut.segments.len());
        }
        Ok(cut)
    }

    fn dimension(&self, j: usize) -> &[Segment] {
        &self.segments[self.bounds[j]..self.bounds[j + 1]]
    }

    /// Returns the number of inner chunks that the selection reaches into.
    pub fn len(&self) -> u64 {
        (0..self.bounds.len() - 1).map(|j| self.dimension(j).len() as u64).product()
    }

    /// Calls `each` with the inner chunks of `range`, in C order, but not with those of which nothing is picked.
    pub fn each(
        &self,
        range: Range<u64>,
        shard: &Sharded,
        axes: &[Axis],
        memory: i64,
        each: &mut dyn FnMut(InnerBox) -> Result<()>,
    ) -> Result<()> {
        let rank = self.bounds.len() - 1;
        let mut at: SmallVec<[usize; 6]> = SmallVec::from_elem(0, rank);
        let mut rest = range.start;
        for j in (0..rank).rev() {
            let n = self.dimension(j).len() as u64;
            at[j] = (rest % n.max(1)) as usize;
            rest /= n.max(1);
        }
        for _ in range {
            let mut inner = InnerBox { number: 0, axes: axes.into(), memory, place: Dims::from_elem(0, rank) };
            for (j, &d) in shard.axes.iter().enumerate() {
                let s = self.dimension(j)[at[j]];
                inner.number = inner.number * shard.grid[j] as usize + s.chunk as usize;
                inner.memory += s.position as i64 * axes[d].memory;
                inner.axes[j] = Axis { start: s.start, count: s.count, ..axes[d] };
                inner.place[j] = s.chunk;
            }
            if self.picks.is_none_or(|picks| picks.narrow(&mut inner.axes, &mut inner.memory)) {
                each(inner)?;
            }
            for j in (0..rank).rev() {
                at[j] += 1;
                if at[j] < self.dimension(j).len() {
                    break;
                }
                at[j] = 0;
            }
        }
        Ok(())
    }
}

impl InnerBox {
    /// Returns the extents of the inner chunk inside the array; `inside` are the extents of the shard inside it.
    pub fn inside(&self, shard: &Sharded, inside: &[u64]) -> Dims {
        let each = shard.axes.iter().zip(&self.place).zip(&shard.inner_shape);
        each.map(|((&d, place), &extent)| inside[d].saturating_sub(place * extent).min(extent)).collect()
    }
}

/// Returns whether a selection has all elements of a chunk whose extents inside the array are `inside`.
pub(super) fn covers(axes: &[Axis], inside: &[u64]) -> bool {
    axes.iter().zip(inside).all(|(axis, &n)| axis.count == n && (n == 1 || axis.step.unsigned_abs() == 1))
}
