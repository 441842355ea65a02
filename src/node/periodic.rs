//! Regions that go around the ends of periodic dimensions, cut into parts that do not.

use super::Array;
use super::requests::BatchPart;
use crate::counting;
use crate::engine::memory::Use;
use crate::engine::{Memory, Selection};
use crate::error::{Result, bail};
use crate::limits::{self, Dims};

/// The most parts of one region: more means that a dimension is far shorter than what is asked of it.
const MAX_PARTS: usize = 1 << 20;

/// Elements of a region that follow each other along one dimension without passing its end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stretch {
    /// The first one's index in the region.
    first: i64,
    /// Its index in the array.
    start: i64,
    count: i64,
}

/// Cuts a region into parts, each with its memory. Along the dimensions that `periodic` names indices count modulo the length;
/// along the others the region must be inside. `memory` is that of the whole region. A write may reach no element twice.
pub fn parts<'a>(array: &'a Array, region: [&[i64]; 3], periodic: &[bool], memory: &Memory, writing: bool) -> Result<Vec<BatchPart<'a>>> {
    let way = if writing { Use::Source } else { Use::Destination };
    let (length, [start, shape, step]) = (array.shape(), region);
    let inside = |values: &[i64]| -> Vec<i64> { values.iter().zip(periodic).map(|(&v, &p)| if p { 0 } else { v }).collect() };
    Selection::new(&length, &inside(start), &inside(shape), Some(step))?;
    let mut runs = Vec::with_capacity(length.len());
    for d in 0..length.len() {
        runs.push(match periodic[d] {
            true => runs_of(counting::dimension(d, length.len()), length[d], [start[d], shape[d], step[d]], way)?,
            false => vec![Stretch { first: 0, start: start[d], count: shape[d] }],
        });
    }
    let counts: Dims = shape.iter().map(|&n| n as u64).collect();
    memory.check(&counts, array.data_type(), way)?;
    if counts.contains(&0) {
        return Ok(Vec::new());
    }
    let total = runs.iter().try_fold(1usize, |n, r| n.checked_mul(r.len())).unwrap_or(usize::MAX);
    if total > MAX_PARTS {
        bail!(Limit, "the region passes the ends of periodic dimensions in {total} parts, expected at most {MAX_PARTS}");
    }
    limits::try_collect((0..total).map(|number| part(array, &length, &runs, step, number, memory)))
}

/// Part `number` of the product of the runs, the last dimension's first.
fn part<'a>(
    array: &'a Array,
    length: &[u64],
    runs: &[Vec<Stretch>],
    step: &[i64],
    number: usize,
    memory: &Memory,
) -> Result<BatchPart<'a>> {
    let (mut rest, mut offset) = (number, memory.offset as i128);
    let mut chosen = vec![Stretch { first: 0, start: 0, count: 0 }; runs.len()];
    for d in (0..runs.len()).rev() {
        chosen[d] = runs[d][rest % runs[d].len()];
        rest /= runs[d].len();
        offset += i128::from(chosen[d].first) * i128::from(memory.strides[d]);
    }
    let start: Vec<i64> = chosen.iter().map(|r| r.start).collect();
    let count: Vec<i64> = chosen.iter().map(|r| r.count).collect();
    // The whole region's layout was checked: each element of it is inside of the memory.
    let memory = Memory { offset: offset as usize, ..memory.clone() };
    let first: Dims = chosen.iter().map(|r| r.first as u64).collect();
    Ok((array, Selection::new(length, &start, &count, Some(step))?.part_of_region(&first), memory))
}

/// The runs of a region along one periodic dimension.
fn runs_of(dim: counting::Marked<'_>, length: u64, [start, count, step]: [i64; 3], way: Use) -> Result<Vec<Stretch>> {
    if step == 0 {
        bail!(Bounds, "{dim}: the step is 0");
    }
    if count < 0 {
        bail!(Bounds, "{dim}: the region's shape is {count}, expected at least 0");
    }
    if count == 0 {
        return Ok(vec![Stretch { first: 0, start: 0, count: 0 }]);
    }
    if length == 0 {
        bail!(Bounds, "{dim}: the region has {count} elements, but the periodic dimension has none");
    }
    let distinct = length / greatest_common_divisor(length, step.unsigned_abs());
    if way == Use::Source && count as u64 > distinct {
        bail!(Bounds, "{dim}: a write of {count} elements reaches some twice, expected at most the {distinct} of the periodic dimension");
    }
    let (mut runs, mut first) = (Vec::new(), 0);
    while first < count {
        let at = (i128::from(start) + i128::from(first) * i128::from(step)).rem_euclid(i128::from(length)) as u64;
        let room = if step > 0 { (length - 1 - at) / step.unsigned_abs() } else { at / step.unsigned_abs() };
        let run =
            Stretch { first, start: at as i64, count: (count - first).min(i64::try_from(room).unwrap_or(i64::MAX).saturating_add(1)) };
        first += run.count;
        limits::push(&mut runs, run)?;
        if runs.len() > MAX_PARTS {
            bail!(Limit, "{dim}: the region passes the end of the periodic dimension more than {MAX_PARTS} times");
        }
    }
    Ok(runs)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_the_ends_of_the_dimension() {
        type Case = (u64, [i64; 3], &'static [(i64, i64, i64)]);
        let cases: &[Case] = &[
            (10, [-1, 12, 1], &[(0, 9, 1), (1, 0, 10), (11, 0, 1)]),
            (10, [2, 3, 1], &[(0, 2, 3)]),
            (10, [8, 4, 1], &[(0, 8, 2), (2, 0, 2)]),
            (10, [1, 3, -1], &[(0, 1, 2), (2, 9, 1)]),
            (10, [0, 5, 3], &[(0, 0, 4), (4, 2, 1)]),
            (1, [5, 2, 1], &[(0, 0, 1), (1, 0, 1)]),
            (10, [i64::MIN, 1, 1], &[(0, 2, 1)]),
            (10, [7, 0, 1], &[(0, 0, 0)]),
        ];
        for &(length, region, expected) in cases {
            let runs = runs_of(counting::dimension(0, 1), length, region, Use::Destination).unwrap();
            let found: Vec<_> = runs.iter().map(|r| (r.first, r.start, r.count)).collect();
            assert_eq!(found, expected, "{length} {region:?}");
        }
    }

    #[test]
    fn writes_reach_no_element_twice() {
        for (length, region, fine) in
            [(10, [-3, 10, 1], true), (10, [0, 11, 1], false), (10, [0, 5, 4], true), (10, [0, 6, 4], false), (0, [0, 1, 1], false)]
        {
            assert_eq!(runs_of(counting::dimension(0, 1), length, region, Use::Source).is_ok(), fine, "{length} {region:?}");
        }
        for region in [[0, -1, 1], [0, 1, 0]] {
            assert!(runs_of(counting::dimension(0, 1), 4, region, Use::Destination).is_err(), "{region:?}");
        }
    }
}
