//! How an array is cut into boxes to be copied into other chunks. Pure: integers in, integers out.
//!
//! A box is made of whole chunks of the target, so that each of them is written once. A chunk of the source is decoded once for each box
//! that it reaches into; so boxes are chosen, as far as memory allows, for these to be few. Along one dimension their number for a box
//! of a given number of chunks does not depend on the other dimensions, and the whole number is the product of them.

use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::limits::{Dims, push};

/// The most chunks along a dimension that are tried, besides doublings and what fits the source's chunks.
const TRIED: u64 = 64;
/// The most boxes along a dimension that are counted; those behind them are taken to be alike.
const COUNTED: u64 = 1024;
/// The most combinations that are compared; of more, one dimension after the other is chosen.
const COMPARED: usize = 1 << 18;

/// The most boxes that hold anything. Each has a MiB or more, unless there are few.
const MAX_REACHED: u64 = 1 << 28;

/// The boxes of an array, in C order.
#[derive(Debug)]
pub(super) struct RechunkPlan {
    shape: Dims,
    grid: Grid,
    /// The chunks of the target in a box, along each dimension.
    cells: Dims,
    /// The boxes along each dimension.
    counts: Dims,
}

/// A choice of chunks along one dimension.
#[derive(Clone, Copy)]
struct Choice {
    cells: u64,
    /// The elements of a box.
    extent: u64,
    /// How often chunks of the source reach into boxes.
    reaches: u64,
}

impl RechunkPlan {
    /// Cuts an array of that shape and target grid into boxes whose elements, of `item` bytes each, fit into `memory` bytes, if one chunk
    /// does. They are no larger than they need to be for that few chunks of `source` are decoded, and for `least` bytes.
    pub fn new(shape: &[u64], source: &Grid, target: &Grid, item: u64, memory: u64, least: u64) -> RechunkPlan {
        let choices: Vec<Vec<Choice>> = (0..shape.len()).map(|d| choices(shape, d, source, target)).collect();
        let mut best: Dims = Dims::from_elem(1, shape.len());
        let chosen = best_of(&choices, memory / item.max(1));
        for (d, choice) in chosen.iter().enumerate() {
            best[d] = choice.cells;
        }
        let mut boxes = RechunkPlan { shape: shape.into(), grid: target.clone(), cells: best, counts: Dims::new() };
        boxes.grow(item, memory, least);
        boxes.counts = (0..shape.len()).map(|d| target.count(d, shape[d]).div_ceil(boxes.cells[d])).collect();
        boxes
    }

    /// Joins boxes, along the last dimensions first, until they have `least` bytes.
    fn grow(&mut self, item: u64, memory: u64, least: u64) {
        for d in (0..self.shape.len()).rev() {
            let count = self.grid.count(d, self.shape[d]);
            while self.cells[d] < count && self.most_bytes(item) < least {
                let before = std::mem::replace(&mut self.cells[d], 0);
                self.cells[d] = before.saturating_mul(2).min(count);
                if self.most_bytes(item) > memory {
                    self.cells[d] = before;
                    break;
                }
            }
        }
    }

    /// Returns the bytes of the largest box, if elements have `item` bytes.
    pub fn most_bytes(&self, item: u64) -> u64 {
        (0..self.shape.len()).fold(item, |n, d| n.saturating_mul(extent(&self.shape, d, &self.grid, self.cells[d])))
    }

    /// Returns the number of boxes.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(1, |n: u64, &c| n.saturating_mul(c))
    }

    /// Returns the first element and the shape of box `number`.
    pub fn at(&self, number: u64) -> (Dims, Dims) {
        let (first, last) = self.cells_of(number);
        let rank = self.shape.len();
        let start: Dims = (0..rank).map(|d| self.grid.origin(d, first[d])).collect();
        let end = |d: usize| (self.grid.origin(d, last[d]).saturating_add(self.grid.extent(d, last[d]))).min(self.shape[d]);
        let shape = (0..rank).map(|d| end(d) - start[d]).collect();
        (start, shape)
    }

    /// Returns the first and the last chunk of box `number`, along each dimension.
    pub fn cells_of(&self, mut number: u64) -> (Dims, Dims) {
        let rank = self.shape.len();
        let (mut first, mut last) = (Dims::from_elem(0, rank), Dims::from_elem(0, rank));
        for d in (0..rank).rev() {
            first[d] = number % self.counts[d] * self.cells[d];
            last[d] = (first[d] + self.cells[d]).min(self.grid.count(d, self.shape[d])) - 1;
            number /= self.counts[d];
        }
        (first, last)
    }

    /// Returns the number of chunks in box `number`.
    pub fn chunks_in(&self, number: u64) -> u64 {
        let (first, last) = self.cells_of(number);
        first.iter().zip(&last).fold(1, |n: u64, (a, b)| n.saturating_mul(b - a + 1))
    }

    /// Adds the numbers of the boxes that elements from `start` on, `shape` of them, reach into, at most `MAX_REACHED` of them.
    pub fn reached(&self, start: &[u64], shape: &[u64], out: &mut Vec<u64>) -> Result<()> {
        let box_of = |d: usize, i: u64| self.grid.chunk_of(d, i) / self.cells[d];
        let ranges: Vec<(u64, u64)> = (0..self.shape.len()).map(|d| (box_of(d, start[d]), box_of(d, start[d] + shape[d] - 1))).collect();
        check_reached(ranges.iter().fold(1, |n: u64, r| n.saturating_mul(r.1 - r.0 + 1)))?;
        let mut at: Dims = ranges.iter().map(|r| r.0).collect();
        loop {
            push(out, at.iter().zip(&self.counts).fold(0, |n, (&i, &count)| n * count + i))?;
            let Some(d) = (0..at.len()).rev().find(|&d| at[d] < ranges[d].1) else { return Ok(()) };
            at[d] += 1;
            at[d + 1..].iter_mut().zip(&ranges[d + 1..]).for_each(|(i, range)| *i = range.0);
        }
    }
}

/// An error where chunks of the source reach into more boxes than are kept in a list.
pub fn check_reached(boxes: u64) -> Result<()> {
    if boxes > MAX_REACHED {
        bail!(Limit, "the stored chunks reach into {boxes} boxes of the copy, the limit is {MAX_REACHED}: make its chunks larger");
    }
    Ok(())
}

/// Returns the length of the longest box of a given number of chunks along dimension `d`.
fn extent(shape: &[u64], d: usize, grid: &Grid, cells: u64) -> u64 {
    grid.largest(shape)[d].saturating_mul(cells).min(shape[d].max(1))
}

/// Returns how often chunks of the source reach into boxes of a given number of chunks along dimension `d`.
fn reaches(shape: &[u64], d: usize, source: &Grid, target: &Grid, cells: u64) -> u64 {
    let chunks = target.count(d, shape[d]);
    let boxes = chunks.div_ceil(cells);
    let counted = boxes.min(COUNTED);
    let mut sum = 0u64;
    for b in 0..counted {
        let last = ((b + 1) * cells).min(chunks) - 1;
        let end = target.origin(d, last).saturating_add(target.extent(d, last)).min(shape[d]);
        sum += source.chunk_of(d, end - 1) - source.chunk_of(d, target.origin(d, b * cells)) + 1;
    }
    u64::try_from(u128::from(sum) * u128::from(boxes) / u128::from(counted.max(1))).unwrap_or(u64::MAX)
}

/// Returns the choices along one dimension that are worth their memory: each next one is larger, and spares decoding.
fn choices(shape: &[u64], d: usize, source: &Grid, target: &Grid) -> Vec<Choice> {
    let chunks = target.count(d, shape[d]);
    if chunks <= 1 {
        return vec![Choice { cells: 1, extent: extent(shape, d, target, 1), reaches: source.count(d, shape[d]) }];
    }
    let (from, to) = (source.largest(shape)[d], target.largest(shape)[d]);
    let mut tried: Vec<u64> = (1..=TRIED.min(chunks)).collect();
    tried.extend((0..63).map(|bit| 1u64 << bit).take_while(|&n| n < chunks));
    // As many as make whole chunks of the source.
    let whole = from / gcd(from, to);
    tried.extend((1..=TRIED).filter_map(|n| whole.checked_mul(n)));
    tried.extend((1..=TRIED).filter_map(|n| from.div_ceil(to).checked_mul(n)));
    tried.push(chunks);
    tried.retain(|&n| n <= chunks);
    tried.sort_unstable();
    tried.dedup();
    let mut out: Vec<Choice> = Vec::new();
    for cells in tried {
        let reaches = reaches(shape, d, source, target, cells);
        if out.last().is_none_or(|last| reaches < last.reaches) {
            out.push(Choice { cells, extent: extent(shape, d, target, cells), reaches });
        }
    }
    out
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// Returns the combination, one choice of each dimension, within the limit of elements that decodes least; of equals the smallest.
fn best_of(choices: &[Vec<Choice>], elements: u64) -> Vec<Choice> {
    let combinations = choices.iter().try_fold(1usize, |n, c| n.checked_mul(c.len()).filter(|&n| n <= COMPARED));
    if combinations.is_none() {
        return step_by_step(choices, elements);
    }
    let mut best: Vec<Choice> = choices.iter().map(|c| c[0]).collect();
    let (mut least, mut at) = (cost(&best), vec![0; choices.len()]);
    loop {
        let one: Vec<Choice> = at.iter().zip(choices).map(|(&i, c)| c[i]).collect();
        let found = cost(&one);
        if found.1 <= u128::from(elements) && found < least {
            (best, least) = (one, found);
        }
        let Some(d) = (0..at.len()).rev().find(|&d| at[d] + 1 < choices[d].len()) else { return best };
        at[d] += 1;
        at[d + 1..].fill(0);
    }
}

/// Takes the next choice where it spares most for the memory that it needs, as long as there is any.
fn step_by_step(choices: &[Vec<Choice>], elements: u64) -> Vec<Choice> {
    let mut at = vec![0; choices.len()];
    let now = |at: &[usize]| -> Vec<Choice> { at.iter().zip(choices).map(|(&i, c)| c[i]).collect() };
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for d in 0..at.len() {
            for i in at[d] + 1..choices[d].len() {
                let (a, b) = (choices[d][at[d]], choices[d][i]);
                let mut next = at.clone();
                next[d] = i;
                if cost(&now(&next)).1 > u128::from(elements) {
                    break;
                }
                let gain = (a.reaches as f64 / b.reaches as f64).ln() / (b.extent as f64 / a.extent as f64).ln().max(1e-9);
                if best.is_none_or(|(most, ..)| gain > most) {
                    best = Some((gain, d, i));
                }
            }
        }
        match best {
            Some((_, d, i)) => at[d] = i,
            None => return now(&at),
        }
    }
}

/// Returns how many chunks are decoded, and how many elements a box has.
fn cost(choices: &[Choice]) -> (u128, u128) {
    choices.iter().fold((1, 1), |(r, e), c| (r.saturating_mul(u128::from(c.reaches)), e.saturating_mul(u128::from(c.extent))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::rectilinear::{Extents, Runs};

    fn regular(chunk: &[u64]) -> Grid {
        Grid::regular(chunk.iter().copied().collect()).unwrap()
    }

    /// Returns how many chunks of the source are decoded in all.
    fn decoded(boxes: &RechunkPlan, source: &Grid) -> u64 {
        let reach = |d: usize, a: u64, n: u64| source.chunk_of(d, a + n - 1) - source.chunk_of(d, a) + 1;
        (0..boxes.count())
            .map(|b| {
                let (start, shape) = boxes.at(b);
                (0..start.len()).map(|d| reach(d, start[d], shape[d])).product::<u64>()
            })
            .sum()
    }

    #[test]
    fn chunks_of_the_source_are_decoded_as_seldom_as_memory_allows() {
        // shape, source, target, elements of memory, chunks of the source, most that may be decoded, most elements of a box
        #[allow(clippy::type_complexity)]
        let cases: &[(&[u64], &[u64], &[u64], u64, u64, u64)] = &[
            // Equal grids, and targets that hold whole chunks: once each, chunk by chunk.
            (&[64, 64], &[8, 8], &[8, 8], 1 << 20, 64, 64),
            (&[64, 64], &[8, 8], &[16, 32], 1 << 20, 64, 512),
            // Targets inside of chunks: the chunk is the box.
            (&[64, 64], &[32, 32], &[8, 8], 1 << 20, 4, 1024),
            // Rows into columns: everything at once where that fits ...
            (&[64, 64], &[1, 64], &[64, 1], 4096, 64, 4096),
            // ... else as many columns as fit.
            (&[64, 64], &[1, 64], &[64, 1], 1024, 256, 1024),
            (&[64, 64], &[1, 64], &[64, 1], 64, 4096, 64),
            // Borders that seldom meet: at multiples of 15.
            (&[60], &[5], &[3], 1 << 20, 12, 15),
            (&[60], &[5], &[3], 14, 16, 12),
            // One chunk that is larger than memory is a box all the same.
            (&[64, 64], &[8, 8], &[64, 64], 10, 64, 4096),
            (&[], &[], &[], 1, 1, 1),
            // Up to nowhere.
            (&[1 << 40], &[1 << 20], &[3 << 20], 1 << 24, u64::MAX, 1 << 24),
        ];
        for (shape, source, target, elements, most, size) in cases {
            let (source, target) = (regular(source), regular(target));
            let boxes = RechunkPlan::new(shape, &source, &target, 8, elements * 8, 0);
            let case = format!("{shape:?} {source:?} {target:?} {elements}: {boxes:?}");
            assert!(boxes.most_bytes(8) <= size * 8, "{case}");
            if *most < u64::MAX {
                assert!(decoded(&boxes, &source) <= *most, "{} {case}", decoded(&boxes, &source));
            }
        }
    }

    #[test]
    fn boxes_cover_each_element_once_and_are_found_by_their_elements() {
        let listed = |extents: &[u64]| {
            let mut runs = Runs::new();
            extents.iter().for_each(|&e| runs.push(e, 1).unwrap());
            Extents::Listed(runs)
        };
        let uneven = Grid::rectilinear(vec![listed(&[3, 1, 4, 2]), Extents::Repeat(3)]).unwrap();
        let shape = [9u64, 7];
        for (source, target) in [(regular(&[2, 5]), regular(&[3, 2])), (uneven.clone(), regular(&[4, 4])), (regular(&[4, 4]), uneven)] {
            for elements in [1, 6, 20, 1000] {
                let boxes = RechunkPlan::new(&shape, &source, &target, 1, elements, 0);
                let mut seen = [[0; 7]; 9];
                let mut chunks = 0;
                for b in 0..boxes.count() {
                    let (start, extent) = boxes.at(b);
                    chunks += boxes.chunks_in(b);
                    for i in 0..extent[0] {
                        for j in 0..extent[1] {
                            let at = [start[0] + i, start[1] + j];
                            seen[at[0] as usize][at[1] as usize] += 1;
                            let mut found = Vec::new();
                            boxes.reached(&at, &[1, 1], &mut found).unwrap();
                            assert_eq!(found, [b]);
                        }
                    }
                    // Whole chunks of the target.
                    for d in 0..2 {
                        assert_eq!(target.origin(d, target.chunk_of(d, start[d])), start[d]);
                        let end = start[d] + extent[d];
                        assert!(end == shape[d] || target.origin(d, target.chunk_of(d, end)) == end);
                    }
                }
                assert!(seen.iter().flatten().all(|&n| n == 1), "{boxes:?}");
                assert_eq!(chunks, target.counts(&shape).iter().product::<u64>());
                let mut all = Vec::new();
                boxes.reached(&[0, 0], &shape, &mut all).unwrap();
                assert_eq!(all, (0..boxes.count()).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn small_chunks_are_joined_and_many_dimensions_are_no_matter() {
        let boxes = RechunkPlan::new(&[1000, 1000], &regular(&[1, 1]), &regular(&[1, 1]), 8, 1 << 20, 1 << 15);
        assert!((1 << 15..=1 << 16).contains(&boxes.most_bytes(8)), "{boxes:?}");
        let (shape, source, target) = ([6u64; 20], regular(&[2; 20]), regular(&[3; 20]));
        let boxes = RechunkPlan::new(&shape, &source, &target, 1, u64::MAX, 0);
        assert_eq!((boxes.count(), boxes.cells.as_slice()), (1, [2; 20].as_slice()));
        let boxes = RechunkPlan::new(&shape, &source, &target, 1, 3u64.pow(20) * 8, 0);
        assert_eq!(boxes.cells.iter().filter(|&&n| n == 2).count(), 3);
    }
}
