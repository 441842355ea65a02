//! Points of an array: each one's chunk, inner chunk and place, sorted by these. Pure.

use crate::counting;
use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::limits::{self, Dims, Strides, element_count};
use smallvec::SmallVec;

/// A point: its chunk's number, the inner chunk's number in it, its place in the chunk (C order), its place in the list. Sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Point {
    pub chunk: u64,
    pub cell: u64,
    pub at: u64,
    pub position: u64,
}

/// Reserves room for `count` things of a list.
pub(super) fn room_for<T>(count: u64) -> Result<Vec<T>> {
    let mut room = Vec::new();
    match usize::try_from(count).is_ok_and(|n| room.try_reserve_exact(n).is_ok()) {
        true => Ok(room),
        false => bail!(NoMemory, "no memory for {count} points"),
    }
}

/// Finds the chunks and inner chunks of points.
struct Places<'a> {
    grid: &'a Grid,
    /// The number of chunks along each dimension.
    counts: &'a [u64],
    /// The shapes of inner chunks by level.
    cells: &'a [Dims],
    /// Each dimension of a regular grid with at most one level of inner chunks.
    along: Option<SmallVec<[Along; 6]>>,
    /// The most inner chunks and elements of a chunk, where the numbers of all chunks, inner chunks and elements fit in one.
    span: Option<(u64, u64)>,
}

/// The extents of chunks and inner chunks along one dimension, how many there are of them, and a chunk's distance between neighbours.
struct Along {
    extent: u64,
    count: u64,
    distance: u64,
    inner: u64,
    inners: u64,
}

impl Places<'_> {
    fn new<'a>(grid: &'a Grid, counts: &'a [u64], levels: &'a [Dims], shape: &[u64]) -> Places<'a> {
        let chunk = grid.largest(shape);
        let (mut cells, mut outer) = (Some(1u64), &chunk);
        for inner in levels {
            let more = outer.iter().zip(inner).map(|(n, m)| n.div_ceil(*m));
            cells = more.fold(cells, |product, n| product?.checked_mul(n));
            outer = inner;
        }
        let product = |dims: &[u64]| dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n));
        let span = cells.zip(product(&chunk));
        let span = span.filter(|&(cells, volume)| {
            product(counts).and_then(|n| n.checked_mul(cells)).and_then(|n| n.checked_mul(volume)).is_some_and(|n| n > 0)
        });
        let inner = levels.first().unwrap_or(&chunk);
        let along = |d: usize| Along {
            extent: chunk[d],
            count: counts[d],
            distance: distances(&chunk)[d] as u64,
            inner: inner[d],
            inners: chunk[d].div_ceil(inner[d]),
        };
        let simple = grid.regular_shape().is_some() && levels.len() < 2;
        Places { grid, counts, cells: levels, along: simple.then(|| (0..chunk.len()).map(along).collect()), span }
    }

    /// Returns the numbers of a point's chunk, of the inner chunk in it, and of the element in the chunk. The point is inside the array.
    fn locate(&self, point: &[i64]) -> (u64, u64, u64) {
        let (mut number, mut cell, mut at) = (0, 0, 0);
        if let Some(along) = &self.along {
            for (&i, a) in point.iter().zip(along) {
                let chunk = i as u64 / a.extent;
                let inside = i as u64 - chunk * a.extent;
                number = number * a.count + chunk;
                at += inside * a.distance;
                if a.inners > 1 {
                    cell = cell * a.inners + inside / a.inner;
                }
            }
            return (number, cell, at);
        }
        let (mut inside, mut extents) = (Dims::new(), Dims::new());
        for (d, &i) in point.iter().enumerate() {
            let chunk = self.grid.chunk_of(d, i as u64);
            inside.push(i as u64 - self.grid.origin(d, chunk));
            extents.push(self.grid.extent(d, chunk));
            number = number * self.counts[d] + chunk;
        }
        at = inside.iter().zip(&distances(&extents)).map(|(&i, &s)| i * s as u64).sum();
        (number, cell_number(self.cells, &inside, &extents), at)
    }
}

/// A point's chunk, inner chunk and place in one number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Keyed {
    key: u64,
    position: u64,
}

/// Bits of a digit, and how many keys are sorted by comparing them.
const DIGIT: u32 = 11;

const FEW: usize = 1 << 10;

/// Sorts by key, those of one key by position, as which they come: digit by digit from the last one on. Of a million points that takes a
/// tenth of what comparing takes.
fn sort(keys: &mut Vec<Keyed>) -> Result<()> {
    if keys.len() <= FEW {
        keys.sort_unstable();
        return Ok(());
    }
    let most = keys.iter().fold(0, |bits, k| bits | k.key);
    let mut other = room_for(keys.len() as u64)?;
    other.resize(keys.len(), Keyed::default());
    for shift in (0..u64::BITS - most.leading_zeros()).step_by(DIGIT as usize) {
        let digit = |k: &Keyed| (k.key >> shift) as usize & ((1 << DIGIT) - 1);
        let mut next = [0usize; 1 << DIGIT];
        keys.iter().for_each(|k| next[digit(k)] += 1);
        let mut sum = 0;
        next.iter_mut().for_each(|n| sum += std::mem::replace(n, sum));
        for k in keys.iter() {
            let place = &mut next[digit(k)];
            other[*place] = *k;
            *place += 1;
        }
        std::mem::swap(keys, &mut other);
    }
    Ok(())
}

/// Returns the distances in a chunk, in elements; 0 along dimensions of one.
pub(super) fn distances(extents: &[u64]) -> Strides {
    let mut distances = crate::limits::c_strides(extents, 1);
    distances.iter_mut().zip(extents).filter(|(_, n)| **n == 1).for_each(|(s, _)| *s = 0);
    distances
}

/// Returns the number of the innermost chunk that holds the element at `inside` of a chunk of `extents`; `cells` are the shapes of inner
/// chunks by level. The number never falls as a coordinate grows, and the numbers within one inner chunk of any level are consecutive.
pub(super) fn cell_number(cells: &[Dims], inside: &[u64], extents: &[u64]) -> u64 {
    let (mut number, mut rest, mut outer): (u64, Dims, &[u64]) = (0, inside.into(), extents);
    for inner in cells {
        for d in 0..rest.len() {
            number = number.wrapping_mul(outer[d].div_ceil(inner[d])).wrapping_add(rest[d] / inner[d]);
            rest[d] %= inner[d];
        }
        outer = inner;
    }
    number
}

/// Sorts points by chunk, innermost chunk and place in the chunk. Returns them and where each chunk's begin, with one more for the end.
/// With `last_only`, of the points at one place only the last of the list is left.
pub(super) fn sorted_points(
    (grid, counts, cells): (&Grid, &[u64], &[Dims]),
    shape: &[u64],
    count: u64,
    coordinates: &[i64],
    last_only: bool,
) -> Result<(Vec<Point>, Vec<usize>)> {
    let rank = shape.len();
    if element_count(counts).is_err() {
        bail!(Limit, "the array has more than 2^63 chunks, too many for points");
    }
    let places = Places::new(grid, counts, cells, shape);
    let place = |position: u64| {
        let point = coordinates.get(position as usize * rank..).unwrap_or_default();
        if let Some(d) = (0..rank).find(|&d| point[d] < 0 || point[d] as u64 >= shape[d]) {
            let (point_number, dim, index) =
                (counting::position(position as i64), counting::dimension(d, shape.len()), counting::position(point[d]));
            bail!(Bounds, "point {point_number}, {dim}: the index {index} lies outside of the array's length {}", shape[d]);
        }
        Ok(places.locate(&point[..rank]))
    };
    let mut points: Vec<Point> = room_for(count)?;
    match places.span {
        Some((cells, volume)) => {
            let mut keys = room_for(count)?;
            for position in 0..count {
                let (chunk, cell, at) = place(position)?;
                keys.push(Keyed { key: (chunk * cells + cell) * volume + at, position });
            }
            sort(&mut keys)?;
            points.extend(keys.iter().map(|&Keyed { key, position }| {
                let (number, at) = (key / volume, key % volume);
                Point { chunk: number / cells, cell: number % cells, at, position }
            }));
        }
        None => {
            for position in 0..count {
                let (chunk, cell, at) = place(position)?;
                points.push(Point { chunk, cell, at, position });
            }
            points.sort_unstable();
        }
    }
    if last_only {
        // `dedup_by` keeps the first of its run: it gets the position of the last.
        points.dedup_by(|later, kept| {
            let same = (later.chunk, later.at) == (kept.chunk, kept.at);
            if same {
                kept.position = later.position;
            }
            same
        });
    }
    let begins = |&i: &usize| i == 0 || points[i].chunk != points[i - 1].chunk;
    let starts = limits::collect((0..points.len()).filter(begins).chain([points.len()]))?;
    Ok((points, starts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite::Random;

    #[test]
    fn keys_are_sorted_and_those_of_one_key_stay_in_order() {
        let mut random = Random(7);
        for (count, most) in [(0, 1), (FEW, 50), (FEW + 1, 1), (5000, 300), (5000, 1 << 30), (5000, u64::MAX)] {
            let mut keys: Vec<Keyed> = (0..count as u64).map(|position| Keyed { key: random.below(most), position }).collect();
            let mut wanted = keys.clone();
            wanted.sort();
            sort(&mut keys).unwrap();
            assert!(keys == wanted, "{count} keys below {most}");
        }
    }
}
