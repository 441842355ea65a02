//! The picks of a list in one chunk: which elements of a box of the chunk they are, and where each of these is in memory. Pure.

use super::item::{Axis, Item};
use super::mask_bits::MaskBits;
use super::pick_list::{PickKind, PickList, PickRun};
use super::points::{Point, cell_number, distances};
use crate::limits::{Dims, Strides};
use smallvec::SmallVec;
use std::sync::Arc;

/// Elements that follow one another along the array's last dimension, in a buffer of the chunk and in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// The distance of the first one from the box's first element in the buffer.
    pub buffer: i64,
    /// And between neighbours.
    pub buffer_step: i64,
    /// The distance of the first one from the result's first element in memory.
    pub memory: i64,
    /// And between neighbours.
    pub memory_step: i64,
    /// The number of elements.
    pub count: u64,
}

/// The picks in one chunk.
#[derive(Clone)]
pub(super) struct ChunkPicks {
    list: Arc<PickList>,
    /// The chunk's number in C order.
    number: u64,
    /// The chunk's first element.
    origin: Dims,
    extents: Dims,
    /// What the axes of the chunk's boxes have as distances.
    distances: Strides,
}

/// A box of the array.
struct Window {
    low: Dims,
    high: Dims,
    /// The axis that runs along each dimension, where there is one of more than one element.
    axis: SmallVec<[Option<usize>; 6]>,
}

impl ChunkPicks {
    /// Returns the picks of `list` in one chunk.
    pub fn new(list: &Arc<PickList>, chunk: &[u64]) -> ChunkPicks {
        let extents = list.grid.shape_of(chunk);
        ChunkPicks {
            origin: chunk.iter().enumerate().map(|(d, &c)| list.grid.origin(d, c)).collect(),
            number: chunk.iter().zip(&list.counts).fold(0, |n, (&c, &count)| n.wrapping_mul(count).wrapping_add(c)),
            distances: distances(&extents),
            extents,
            list: list.clone(),
        }
    }

    /// Shrinks an item, whose axes select a box of its chunk, to the hull of the picks of `list` in it, and makes its distances count the
    /// chunk's elements; `None` if nothing of it is picked.
    pub fn narrowed(list: &Arc<PickList>, mut item: Item) -> Option<Item> {
        let picks = ChunkPicks::new(list, &item.chunk);
        item.memory = 0;
        for (axis, &distance) in item.axes.iter_mut().zip(&picks.distances) {
            axis.memory = distance;
            item.memory += axis.start as i64 * distance;
        }
        picks.narrow(&mut item.axes, &mut item.memory).then_some(item)
    }

    fn window(&self, axes: &[Axis], memory: i64) -> Window {
        let rank = self.origin.len();
        let mut w = Window { low: self.origin.clone(), high: Dims::new(), axis: SmallVec::from_elem(None, rank) };
        let mut rest = memory;
        for d in 0..rank {
            if self.distances[d] != 0 {
                w.low[d] += (rest / self.distances[d]) as u64;
                rest %= self.distances[d];
            }
            w.high.push(w.low[d] + 1);
        }
        for (j, axis) in axes.iter().enumerate().filter(|(_, axis)| axis.memory != 0) {
            if let Some(d) = self.distances.iter().position(|&s| s == axis.memory) {
                w.high[d] = w.low[d] + axis.count;
                w.axis[d] = Some(j);
            }
        }
        w
    }

    /// Shrinks a box to the hull of its picks, or returns false if it has no picks.
    pub fn narrow(&self, axes: &mut [Axis], memory: &mut i64) -> bool {
        let mut w = self.window(axes, *memory);
        if !self.hull(&mut w) {
            return false;
        }
        let before = self.window(axes, *memory).low;
        for d in 0..w.low.len() {
            if let Some(j) = w.axis[d] {
                let down = w.low[d] - before[d];
                axes[j].start += down;
                axes[j].count = w.high[d] - w.low[d];
                *memory += down as i64 * axes[j].memory;
            }
        }
        true
    }

    fn hull(&self, w: &mut Window) -> bool {
        let (rank, mut any) = (w.low.len(), false);
        let (mut low, mut high) = (w.high.clone(), w.low.clone());
        match &self.list.kind {
            PickKind::Orthogonal(lists) => {
                for d in 0..rank {
                    let runs = within(&lists[d], w.low[d], w.high[d]);
                    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return false };
                    (low[d], high[d]) = (first.index.max(w.low[d]), (last.index + last.count).min(w.high[d]));
                }
                any = true;
            }
            PickKind::Points(points, _) => {
                let (low, high) = (&mut low[..], &mut high[..]);
                self.points(points, w, |_, at| {
                    any = true;
                    at.iter().enumerate().for_each(|(d, &i)| (low[d], high[d]) = (low[d].min(i), high[d].max(i + 1)));
                    true
                });
            }
            PickKind::Mask(bits) => rows(bits, w, &mut |row, at, n| {
                let first = bits.next(at, at + n, true);
                if first == at + n {
                    return;
                }
                any = true;
                let last = bits.last(first, at + n);
                for d in 0..rank {
                    let (from, to) = if d + 1 == rank { (row[d] + (first - at), row[d] + (last - at)) } else { (row[d], row[d]) };
                    (low[d], high[d]) = (low[d].min(from), high[d].max(to + 1));
                }
            }),
        }
        if any {
            (w.low, w.high) = (low, high);
        }
        any
    }

    /// Gives the points in a box to `each`, with their coordinates, until it returns false. False where `each` said so.
    fn points(&self, points: &[Point], w: &Window, mut each: impl FnMut(&Point, &[u64]) -> bool) -> bool {
        let key = |corner: &dyn Fn(usize) -> u64| {
            let inside: Dims = (0..self.origin.len()).map(|d| corner(d) - self.origin[d]).collect();
            let at: u64 = inside.iter().zip(&self.distances).map(|(&i, &s)| i * s as u64).sum();
            (self.number, cell_number(&self.list.cells, &inside, &self.extents), at)
        };
        let (first, last) = (key(&|d| w.low[d]), key(&|d| w.high[d] - 1));
        let from = points.partition_point(|p| (p.chunk, p.cell, p.at) < first);
        let to = points.partition_point(|p| (p.chunk, p.cell, p.at) <= last);
        let (mut at, distances) = (self.origin.clone(), &self.distances[..]);
        let (at, origin, low, high) = (&mut at[..], &self.origin[..], &w.low[..], &w.high[..]);
        points[from..to].iter().all(|p| {
            let (mut rest, mut inside) = (p.at, true);
            for (d, &distance) in distances.iter().enumerate() {
                let along = rest.checked_div(distance as u64).unwrap_or(0);
                rest -= along * distance as u64;
                at[d] = origin[d] + along;
                inside &= low[d] <= at[d] && at[d] < high[d];
            }
            !inside || each(p, at)
        })
    }

    /// Returns the number of picks in a box.
    pub fn count(&self, axes: &[Axis], memory: i64) -> u64 {
        let w = self.window(axes, memory);
        match &self.list.kind {
            PickKind::Orthogonal(lists) => {
                let along =
                    |d: usize| within(&lists[d], w.low[d], w.high[d]).iter().map(|r| clipped(r, w.low[d], w.high[d]).count).sum::<u64>();
                (0..w.low.len()).map(along).product()
            }
            PickKind::Points(points, _) => {
                let mut count = 0;
                self.points(points, &w, |_, _| {
                    count += 1;
                    true
                });
                count
            }
            PickKind::Mask(bits) => {
                let mut sum = 0;
                rows(bits, &w, &mut |_, at, n| sum += bits.rank(at + n) - bits.rank(at));
                sum
            }
        }
    }

    /// Gives the picks in a box to `each`, until it returns false. `buffer` are the strides of the buffer that the box is in, one for each
    /// axis. False where `each` said so.
    pub fn each(&self, axes: &[Axis], memory: i64, buffer: &[i64], each: &mut dyn FnMut(Piece) -> bool) -> bool {
        let w = self.window(axes, memory);
        let strides: Strides = w.axis.iter().map(|j| j.map_or(0, |j| buffer[j])).collect();
        let rank = w.low.len();
        let (low, by) = (&w.low[..], &strides[..]);
        let at = |index: &[u64]| -> i64 { index.iter().zip(low).zip(by).map(|((&i, &low), &s)| (i - low) as i64 * s).sum() };
        let step = strides.last().copied().unwrap_or(0);
        let result = &self.list.memory;
        match &self.list.kind {
            PickKind::Orthogonal(lists) => {
                let runs: SmallVec<[&[PickRun]; 6]> = (0..rank).map(|d| within(&lists[d], w.low[d], w.high[d])).collect();
                product(&runs, (&w, &strides, result), (0, 0), each)
            }
            PickKind::Points(points, _) => self.points(points, &w, |p, index| {
                let memory = p.position as i64 * result[0];
                each(Piece { buffer: at(index), buffer_step: step, memory, memory_step: result[0], count: 1 })
            }),
            PickKind::Mask(bits) if bits.is_in_place => {
                let (mut going, along) = (true, result.last().copied().unwrap_or(0));
                rows(bits, &w, &mut |row, from, n| {
                    let memory: i64 = row.iter().zip(&bits.start).zip(result).map(|((&i, &start), &s)| (i - start) as i64 * s).sum();
                    bits.runs(from, from + n, &mut |first, count| {
                        let far = (first - from) as i64;
                        let buffer = at(row) + far * step;
                        let piece = Piece { buffer, buffer_step: step, memory: memory + far * along, memory_step: along, count };
                        going = going && each(piece);
                        going
                    });
                });
                going
            }
            PickKind::Mask(bits) => {
                let mut going = true;
                rows(bits, &w, &mut |row, from, n| {
                    let (mut i, end, mut position) = (from, from + n, None);
                    while going {
                        let first = bits.next(i, end, true);
                        if first >= end {
                            break;
                        }
                        let after = bits.next(first, end, false);
                        let place = position.unwrap_or_else(|| bits.rank(first));
                        let buffer = at(row) + (first - from) as i64 * step;
                        let memory = place as i64 * result[0];
                        going = each(Piece { buffer, buffer_step: step, memory, memory_step: result[0], count: after - first });
                        position = Some(place + (after - first));
                        i = after;
                    }
                });
                going
            }
        }
    }
}

/// Returns the runs that reach into `low..high`. They are sorted by their first index and by their last one, too: where an index is
/// repeated, it ends a run.
fn within(runs: &[PickRun], low: u64, high: u64) -> &[PickRun] {
    let to = runs.partition_point(|r| r.index < high);
    &runs[runs.partition_point(|r| r.index + r.count <= low).min(to)..to]
}

fn clipped(run: &PickRun, low: u64, high: u64) -> PickRun {
    let (from, to) = (run.index.max(low), (run.index + run.count).min(high));
    PickRun { index: from, position: run.position + (from - run.index), count: to - from }
}

/// Every combination of one index inside of the box for each dimension, runs along the last one at once.
fn product(
    runs: &[&[PickRun]],
    (w, strides, result): (&Window, &[i64], &[i64]),
    (buffer, memory): (i64, i64),
    each: &mut dyn FnMut(Piece) -> bool,
) -> bool {
    let d = result.len() - runs.len();
    let Some((first, rest)) = runs.split_first() else {
        return each(Piece { buffer, buffer_step: 0, memory, memory_step: 0, count: 1 });
    };
    first.iter().map(|run| clipped(run, w.low[d], w.high[d])).all(|run| {
        let to = |k: u64| {
            let buffer = buffer + (run.index + k - w.low[d]) as i64 * strides[d];
            (buffer, memory + (run.position + k) as i64 * result[d])
        };
        if rest.is_empty() {
            let (buffer, memory) = to(0);
            return each(Piece { buffer, buffer_step: strides[d], memory, memory_step: result[d], count: run.count });
        }
        (0..run.count).all(|k| product(rest, (w, strides, result), to(k), each))
    })
}

/// Calls `row` with the first element of each row of a box, the number of its bit, and its length.
fn rows(bits: &MaskBits, w: &Window, row: &mut dyn FnMut(&[u64], u64, u64)) {
    let rank = w.low.len();
    let n = rank.checked_sub(1).map_or(1, |d| w.high[d] - w.low[d]);
    let mut at = w.low.clone();
    loop {
        let bit = (0..rank).fold(0, |bit, d| bit * bits.shape[d] + (at[d] - bits.start[d]));
        row(&at, bit, n);
        let mut d = rank.saturating_sub(1);
        loop {
            if d == 0 {
                return;
            }
            d -= 1;
            at[d] += 1;
            if at[d] < w.high[d] {
                break;
            }
            at[d] = w.low[d];
        }
    }
}
