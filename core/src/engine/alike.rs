//! The chunks that a selection touches, of which those that are alike are told once, with how many there are: a sparse array has more of them than can
//! be looked at, or listed. Pure.

use super::item::{Axes, Axis, Item};
use crate::error::{Result, err};
use crate::grid::{Grid, Segment};
use crate::limits::{Dims, push};
use std::collections::BTreeMap;

/// One item of each kind of the chunks that `axes` touch, and how many there are of it. Two are of one kind where `kind` gives the same for their segments
/// along each dimension; of chunks with the same extents it may only tell the last one of the array from others.
pub(super) fn kinds<K: Ord>(grid: &Grid, axes: &[Axis], kind: impl Fn(usize, &Segment) -> K) -> Result<Vec<(Item, u64)>> {
    let mut kinds = vec![(Item { chunk: Dims::new(), axes: Axes::new(), memory: 0 }, 1u64)];
    if axes.iter().any(|axis| axis.count == 0) {
        return Ok(Vec::new());
    }
    for (d, axis) in axes.iter().enumerate() {
        let mut along = BTreeMap::new();
        for (segment, times) in segments(grid, d, axis)? {
            along.entry(kind(d, &segment)).or_insert((segment, 0)).1 += times;
        }
        let mut longer = Vec::new();
        for (item, n) in &kinds {
            for (segment, times) in along.values() {
                let mut item = item.clone();
                item.chunk.push(segment.chunk);
                item.axes.push(Axis { start: segment.start, count: segment.count, ..*axis });
                item.memory += segment.position as i64 * axis.memory;
                let all = n.checked_mul(*times).ok_or_else(|| err!(Limit, "the region touches more than 2^64 chunks"))?;
                push(&mut longer, (item, all))?;
            }
        }
        kinds = longer;
    }
    Ok(kinds)
}

/// The segments of an axis, and for how many each stands. Where all chunks have one extent they are the same again after some elements: then those in
/// between are left out.
fn segments(grid: &Grid, d: usize, axis: &Axis) -> Result<Vec<(Segment, u64)>> {
    let mut all = Vec::new();
    let mut list = |from: u64, count: u64, times: u64| {
        let (start, mut some) = (axis.start.wrapping_add_signed(axis.step.wrapping_mul(from as i64)), Vec::new());
        grid.reserve_segments(d, start, count, axis.step, &mut some)?;
        grid.segments(d, start, count, axis.step, &mut some);
        let here = |s: Segment| Segment { position: from + s.position, ..s };
        some.into_iter().try_for_each(|s| push(&mut all, (here(s), times)))
    };
    let period = grid.repeated(d).map(|extent| extent / common(extent, axis.step.unsigned_abs()));
    // The first chunk may be touched in part, and the last one may be cut off by the array's end.
    let first = first_count(grid, d, axis);
    let periods = period.map_or(0, |period| (axis.count - first) / period);
    match period {
        Some(period) if periods > 2 => {
            list(0, first, 1)?;
            list(first, period, periods - 1)?;
            let from = first + (periods - 1) * period;
            list(from, axis.count - from, 1)?;
        }
        _ => list(0, axis.count, 1)?,
    }
    Ok(all)
}

/// How many elements of an axis are in its first chunk.
fn first_count(grid: &Grid, d: usize, axis: &Axis) -> u64 {
    let chunk = grid.chunk_of(d, axis.start);
    let within = axis.start - grid.origin(d, chunk);
    let room = if axis.step > 0 { grid.extent(d, chunk) - 1 - within } else { within };
    (room / axis.step.unsigned_abs() + 1).min(axis.count)
}

/// The greatest common divisor.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::super::Selection;
    use super::super::plan::Plan;
    use super::*;
    use crate::error::ErrorKind;
    use crate::limits::element_count;
    use smallvec::smallvec;

    fn axes(start: &[u64], count: &[u64], step: &[i64]) -> Vec<Axis> {
        (0..start.len()).map(|d| Axis { start: start[d], count: count[d], step: step[d], memory: 8 }).collect()
    }

    #[test]
    fn kinds_count_all_items_and_are_few() {
        let grid = Grid::regular(smallvec![4, 3]).unwrap();
        for (shape, start, count, step) in [
            ([10, 7], [0, 0], [10, 7], [1, 1]),
            ([1000, 7], [3, 2], [990, 1], [1, 1]),
            ([1000, 700], [999, 1], [333, 349], [-3, 2]),
            ([1002, 700], [1001, 0], [1002, 100], [-1, 7]),
        ] {
            let selection = Selection::new(&shape, &start, &count, Some(&step)).unwrap();
            let plan = Plan::new(&grid, &selection, &[8 * count[1], 8], 8).unwrap();
            let length = |d: usize, chunk: u64| shape[d].min(chunk * [4, 3][d] + [4, 3][d]) - chunk * [4, 3][d];
            let axes = axes(selection.start(), selection.shape(), &step);
            let kinds = kinds(&grid, &axes, |d, s| (s.start, s.count, length(d, s.chunk))).unwrap();
            assert!(kinds.len() <= 25, "{}", kinds.len());
            let mut found = BTreeMap::new();
            let what = |item: &Item| (0..2).map(|d| (item.axes[d].start, item.axes[d].count, length(d, item.chunk[d]))).collect::<Vec<_>>();
            (0..plan.items()).for_each(|n| *found.entry(what(&plan.item(n).unwrap())).or_insert(0) += 1);
            assert_eq!(kinds.iter().map(|(item, times)| (what(item), *times)).collect::<BTreeMap<_, _>>(), found, "{shape:?} {step:?}");
        }
    }

    #[test]
    fn kinds_of_more_chunks_than_memory_holds_are_counted() {
        let grid = Grid::regular(smallvec![2, 2]).unwrap();
        let huge = 1u64 << 43;
        let whole = kinds(&grid, &axes(&[0, 1], &[huge, huge / 2], &[1, 2]), |_, s| (s.start, s.count));
        assert!(whole.is_err_and(|e| e.kind() == ErrorKind::Limit));
        for (start, count, step, items) in
            [(0, huge, 1, 1 << 42), (1, huge - 2, 1, (1 << 42)), (huge - 1, huge, -1, 1 << 42), (0, 1 << 41, 4, 1 << 41)]
        {
            let kinds = kinds(&grid, &axes(&[start, 0], &[count, 2], &[step, 1]), |_, s| (s.start, s.count)).unwrap();
            assert_eq!(kinds.iter().map(|(_, times)| times).sum::<u64>(), items, "{start} {step}");
            let elements = kinds.iter().map(|(item, times)| item.axes.iter().map(|a| a.count).product::<u64>() * times).sum::<u64>();
            assert_eq!(elements, element_count(&[count, 2]).unwrap());
        }
    }
}
