//! A region shared out among workers, along the borders of chunks. Pure: integers in, integers out.
//!
//! The chunks that the region touches are a block of cells. A block for n workers is cut across one dimension into two, for n1 and n2 of
//! them, and so on until each block is for one. Of all dimensions, and of some cuts along each, that cut is taken after which the most and
//! the least that a worker may get are nearest to each other; of such cuts the one nearest to the middle, and then that across the first
//! dimension. Along one dimension no worker gets more than one cell more than another. On a regular grid cells are counted, on a
//! rectilinear one their elements are. Where there are fewer cells than workers, the last workers get none.

use super::Selection;
use crate::counting;
use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::limits::Dims;

/// Cuts that far from the middle, in cells, are tried along each dimension.
const NEAR: u64 = 8;

/// Returns the start and the shape of what worker `index` of `workers` gets of a region with steps of 1, on a grid.
pub fn partition(grid: &Grid, region: &Selection, workers: u64, index: u64) -> Result<(Dims, Dims)> {
    if workers == 0 || index >= workers {
        bail!(Bounds, "worker {index} of {workers}: expected a number from 0 to one less than the number of workers");
    }
    if let Some(d) = (0..region.step().len()).find(|&d| region.step()[d] != 1) {
        bail!(
            Argument,
            "{}: the step of a region to be shared out is {}, expected 1",
            counting::dimension(d, region.step().len()),
            region.step()[d]
        );
    }
    if region.shape().is_empty() && workers > 1 {
        bail!(Rank, "an array of rank 0 has one element: it cannot be shared out among {workers} workers");
    }
    let mut block = CellBlock::new(grid, region);
    if region.shape().contains(&0) || u128::from(index) >= block.cells() {
        return Ok((region.start().into(), Dims::from_elem(0, region.shape().len())));
    }
    let (mut n, mut i) = (u128::from(workers).min(block.cells()) as u64, index);
    while n > 1 {
        let Some(cut) = block.best_cut(n) else { break };
        let (low, high) = &mut block.ranges[cut.d];
        if i < cut.first {
            (*high, n) = (cut.at, cut.first);
        } else {
            (*low, n, i) = (cut.at, n - cut.first, i - cut.first);
        }
    }
    Ok(block.region())
}

/// A block of the cells that a region touches.
struct CellBlock<'a> {
    grid: &'a Grid,
    region: &'a Selection,
    /// The chunks along each dimension.
    ranges: Vec<(u64, u64)>,
}

/// A cut of a block before chunk `at` of dimension `d`; the first part is for `first` workers.
struct Split {
    d: usize,
    at: u64,
    first: u64,
}

impl<'a> CellBlock<'a> {
    fn new(grid: &'a Grid, region: &'a Selection) -> CellBlock<'a> {
        let range = |d: usize| {
            let (start, count) = (region.start()[d], region.shape()[d]);
            if count == 0 { (0, 0) } else { (grid.chunk_of(d, start), grid.chunk_of(d, start + count - 1) + 1) }
        };
        CellBlock { grid, region, ranges: (0..region.shape().len()).map(range).collect() }
    }

    fn cells(&self) -> u128 {
        self.ranges.iter().fold(1, |n: u128, &(low, high)| n.saturating_mul(u128::from(high - low)))
    }

    /// Returns where chunk `c` of dimension `d` begins, as far as it is in the region.
    fn border(&self, d: usize, c: u64) -> u64 {
        let (start, end) = (self.region.start()[d], self.region.start()[d] + self.region.shape()[d]);
        if c > self.grid.chunk_of(d, end - 1) { end } else { self.grid.origin(d, c).clamp(start, end) }
    }

    /// What chunks `low..high` of dimension `d` count.
    fn load(&self, d: usize, low: u64, high: u64) -> u64 {
        match self.grid.regular_shape() {
            Some(_) => high - low,
            None => self.border(d, high) - self.border(d, low),
        }
    }

    /// Returns the chunk of dimension `d` before which about `load` is from `low` on.
    fn after(&self, d: usize, low: u64, load: u64) -> u64 {
        match self.grid.regular_shape() {
            Some(_) => low + load,
            None => self.grid.chunk_of(d, self.border(d, low) + load),
        }
    }

    /// Returns the best cut for `n` workers, of at most as many as there are cells.
    fn best_cut(&self, n: u64) -> Option<Split> {
        let whole = (0..self.ranges.len()).map(|d| u128::from(self.load(d, self.ranges[d].0, self.ranges[d].1)));
        let whole = whole.fold(1, u128::saturating_mul);
        let mut best: Option<((u128, u128), Split)> = None;
        for d in 0..self.ranges.len() {
            let (low, high) = self.ranges[d];
            if high - low < 2 {
                continue;
            }
            let (all, layer) = (self.load(d, low, high), self.cells() / u128::from(high - low));
            let half = (u128::from(all) * u128::from(n / 2) / u128::from(n)) as u64;
            let (exact, middle) = (self.after(d, low, half), low + (high - low) / 2);
            let near = middle.saturating_sub(NEAR)..=middle + NEAR;
            for at in [exact, exact + 1].into_iter().chain(near).filter(|at| (low + 1..high).contains(at)) {
                let left = self.load(d, low, at);
                let (room, other) = (u128::from(at - low) * layer, u128::from(high - at) * layer);
                let fair = (u128::from(n) * u128::from(left) + u128::from(all) / 2) / u128::from(all);
                let first = fair.clamp(u128::from(n).saturating_sub(other).max(1), room.min(u128::from(n) - 1));
                let share = whole / u128::from(all) * u128::from(left);
                let rest = (whole - share, u128::from(n) - first);
                let most = share.div_ceil(first).max(rest.0.div_ceil(rest.1));
                let least = (share / first).min(rest.0 / rest.1);
                let score = (most - least, u128::from(2 * left).abs_diff(u128::from(all)) * whole / u128::from(all));
                if best.as_ref().is_none_or(|(known, _)| score < *known) {
                    best = Some((score, Split { d, at, first: first as u64 }));
                }
            }
        }
        best.map(|(_, cut)| cut)
    }

    fn region(&self) -> (Dims, Dims) {
        let ends: Vec<(u64, u64)> =
            self.ranges.iter().enumerate().map(|(d, &(low, high))| (self.border(d, low), self.border(d, high))).collect();
        (ends.iter().map(|e| e.0).collect(), ends.iter().map(|e| e.1 - e.0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::rectilinear::{Extents, Runs};
    use crate::store::suite::Random;

    fn elements(shape: &[u64]) -> u64 {
        shape.iter().product()
    }

    #[test]
    fn the_parts_are_disjoint_cover_the_region_and_end_where_chunks_end() {
        let mut random = Random(7);
        for _ in 0..400 {
            let rank = 1 + random.below(3) as usize;
            let shape: Vec<u64> = (0..rank).map(|_| 1 + random.below(12)).collect();
            let listed = random.below(3) == 0;
            let extents = |random: &mut Random, n: u64| {
                if !listed {
                    return Extents::Repeat(1 + random.below(5));
                }
                let mut runs = Runs::new();
                while runs.end() < n {
                    runs.push(1 + random.below(4), 1).unwrap();
                }
                Extents::Listed(runs)
            };
            let grid = Grid::rectilinear(shape.iter().map(|&n| extents(&mut random, n)).collect()).unwrap();
            let start: Vec<i64> = shape.iter().map(|&n| random.below(n) as i64).collect();
            let count: Vec<i64> = shape.iter().zip(&start).map(|(&n, &s)| random.below(n - s as u64 + 1) as i64).collect();
            let region = Selection::new(&shape, &start, &count, None).unwrap();
            let workers = 1 + random.below(20);
            let parts: Vec<_> = (0..workers).map(|i| partition(&grid, &region, workers, i).unwrap()).collect();
            assert_eq!(parts.iter().map(|p| elements(&p.1)).sum::<u64>(), elements(region.shape()), "they cover it");
            for (k, (a, n)) in parts.iter().enumerate().filter(|(_, p)| elements(&p.1) > 0) {
                for (b, m) in parts[..k].iter().filter(|p| elements(&p.1) > 0) {
                    assert!((0..rank).any(|d| a[d] + n[d] <= b[d] || b[d] + m[d] <= a[d]), "they are disjoint");
                }
                for d in 0..rank {
                    let at_border = |i: u64, end: u64| i == end || grid.origin(d, grid.chunk_of(d, i)) == i;
                    let end = region.start()[d] + region.shape()[d];
                    assert!(a[d] == region.start()[d] || at_border(a[d], end), "a part begins inside of a chunk");
                    assert!(at_border(a[d] + n[d], end), "a part ends inside of a chunk");
                }
            }
            let cells = CellBlock::new(&grid, &region).cells();
            let busy = parts.iter().filter(|p| elements(&p.1) > 0).count() as u128;
            assert_eq!(busy, if elements(region.shape()) == 0 { 0 } else { cells.min(u128::from(workers)) }, "none is idle without need");
        }
    }

    #[test]
    fn along_one_dimension_no_worker_has_more_than_one_chunk_more() {
        for cells in [1u64, 2, 3, 7, 10, 16, 31, 100, 1001] {
            let grid = Grid::regular(Dims::from_slice(&[4])).unwrap();
            let region = Selection::all(&[cells * 4]);
            for workers in 1..=cells.min(64) {
                let counts: Vec<u64> = (0..workers).map(|i| partition(&grid, &region, workers, i).unwrap().1[0] / 4).collect();
                let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
                assert!(most - least <= 1, "{cells} cells, {workers} workers: {counts:?}");
            }
        }
    }

    #[test]
    fn several_dimensions_are_shared_out_evenly() {
        for (cells, workers, most) in
            [([4u64, 4], 7u64, 3), ([3, 3], 9, 1), ([8, 8], 16, 4), ([2, 2], 3, 2), ([100, 100], 64, 175), ([5, 1], 4, 2)]
        {
            let grid = Grid::regular(Dims::from_slice(&[2, 2])).unwrap();
            let region = Selection::all(&[cells[0] * 2, cells[1] * 2]);
            let found = (0..workers).map(|i| elements(&partition(&grid, &region, workers, i).unwrap().1) / 4).max().unwrap();
            assert!(found <= most, "{cells:?} cells for {workers}: one has {found}");
        }
    }

    #[test]
    fn what_cannot_be_shared_out_is_named() {
        let grid = Grid::regular(Dims::from_slice(&[2])).unwrap();
        let region = Selection::all(&[9]);
        assert!(partition(&grid, &region, 0, 0).unwrap_err().message().contains("worker 0 of 0"));
        assert!(partition(&grid, &region, 3, 3).unwrap_err().message().contains("worker 3 of 3"));
        let stepped = Selection::new(&[9], &[0], &[3], Some(&[2])).unwrap();
        assert!(partition(&grid, &stepped, 2, 0).unwrap_err().message().contains("step"));
    }
}
