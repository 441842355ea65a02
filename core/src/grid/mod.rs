//! Chunk grids and chunk keys: integers only.
//! Specification: v3 core, "Regular grids"; zarr-extensions, "Rectilinear chunk grid".

pub mod key;
pub mod rectilinear;
pub mod registered;

use crate::counting;
use crate::error::{Result, bail, err};
use crate::limits::Dims;
use crate::sort::set_of;
use rectilinear::{Cell, Extents};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How an array (or a shard) is cut into chunks. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grid {
    /// All chunks have one shape (`regular`).
    Regular {
        /// The chunk's shape; every extent is at least 1.
        chunk: Dims,
    },
    /// Along each dimension chunks have extents of their own (`rectilinear`), listed along one dimension at least.
    Rectilinear {
        /// The extents along each dimension.
        extents: Arc<[Extents]>,
    },
}

/// The part of a selection that falls into one chunk, along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The chunk's index along this dimension.
    pub chunk: u64,
    /// The first selected element, counted from the chunk's origin.
    pub start: u64,
    /// The number of selected elements.
    pub count: u64,
    /// The position of the first one in the selection.
    pub position: u64,
}

impl Grid {
    /// A regular grid; every extent must be at least 1.
    pub fn regular(chunk: Dims) -> Result<Grid> {
        if let Some(d) = chunk.iter().position(|&c| c == 0) {
            bail!(Metadata, "{} of the chunk shape is 0, expected at least 1", counting::dimension(d, chunk.len()));
        }
        Ok(Grid::Regular { chunk })
    }

    /// The grid of those extents: a regular one where none are listed.
    pub fn rectilinear(extents: Vec<Extents>) -> Result<Grid> {
        let one = |e: &Extents| if let Extents::Repeat(n) = e { Some(*n) } else { None };
        match extents.iter().map(one).collect::<Option<Dims>>() {
            Some(chunk) => Grid::regular(chunk),
            None => Ok(Grid::Rectilinear { extents: extents.into() }),
        }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        match self {
            Grid::Regular { chunk } => chunk.len(),
            Grid::Rectilinear { extents } => extents.len(),
        }
    }

    /// The one shape of all chunks of a regular grid.
    pub fn regular_shape(&self) -> Option<&Dims> {
        match self {
            Grid::Regular { chunk } => Some(chunk),
            Grid::Rectilinear { .. } => None,
        }
    }

    /// The one extent of all chunks along dimension `d`, however long it is.
    pub fn repeated(&self, d: usize) -> Option<u64> {
        match self {
            Grid::Regular { chunk } => chunk.get(d).copied(),
            Grid::Rectilinear { extents } => match extents.get(d) {
                Some(Extents::Repeat(extent)) => Some(*extent),
                _ => None,
            },
        }
    }

    /// Returns the extent of chunk `index` along dimension `d`, even if part of the chunk is outside of the array.
    pub fn extent(&self, d: usize, index: u64) -> u64 {
        match self {
            Grid::Regular { chunk } => chunk[d],
            Grid::Rectilinear { extents } => extents[d].at_chunk(index).extent,
        }
    }

    /// The first element of chunk `index` along dimension `d`.
    pub fn origin(&self, d: usize, index: u64) -> u64 {
        match self {
            Grid::Regular { chunk } => index * chunk[d],
            Grid::Rectilinear { extents } => extents[d].at_chunk(index).origin,
        }
    }

    /// The shape of the chunk of that index.
    pub fn shape_of(&self, chunk: &[u64]) -> Dims {
        chunk.iter().enumerate().map(|(d, &index)| self.extent(d, index)).collect()
    }

    /// The largest extent along each dimension among the chunks of an array of that shape: the shape of its largest chunk. Of an
    /// array without elements that of its first chunk.
    pub fn largest(&self, shape: &[u64]) -> Dims {
        match self {
            Grid::Regular { chunk } => chunk.clone(),
            Grid::Rectilinear { extents } => extents.iter().zip(shape).map(|(e, &n)| e.within(n).max().unwrap_or(1)).collect(),
        }
    }

    /// The different shapes that chunks of an array of that shape have, of very many the first `most`.
    pub fn shapes(&self, shape: &[u64], most: usize) -> Vec<Dims> {
        let mut all = vec![Dims::new()];
        for (d, &length) in shape.iter().enumerate() {
            let extents = match self {
                Grid::Regular { chunk } => set_of([chunk[d]]),
                Grid::Rectilinear { extents } => smallest(extents[d].within(length), most),
            };
            let longer = |front: &Dims, extent: &u64| -> Dims { front.iter().chain([extent]).copied().collect() };
            all = all.iter().flat_map(|front| extents.iter().map(move |extent| longer(front, extent))).take(most).collect();
        }
        all
    }

    /// The extent of the first chunk along dimension `d` of an array that is `length` long there that is no multiple of `divisor`.
    pub fn odd_extent(&self, d: usize, length: u64, divisor: u64) -> Option<u64> {
        let odd = |extent: &u64| divisor == 0 || !extent.is_multiple_of(divisor);
        match self {
            Grid::Regular { chunk } => Some(chunk[d]).filter(odd),
            Grid::Rectilinear { extents } => extents[d].within(length).find(odd),
        }
    }

    /// The number of chunks along dimension `d` of an array that is `length` long there.
    pub fn count(&self, d: usize, length: u64) -> u64 {
        match self {
            Grid::Regular { chunk } => length.div_ceil(chunk[d]),
            Grid::Rectilinear { extents } => length.checked_sub(1).map_or(0, |last| extents[d].at_element(last).chunk + 1),
        }
    }

    /// The number of chunks along each dimension of an array of that shape.
    pub fn counts(&self, shape: &[u64]) -> Dims {
        shape.iter().enumerate().map(|(d, &length)| self.count(d, length)).collect()
    }

    /// The chunk that holds element `i` of dimension `d`.
    pub fn chunk_of(&self, d: usize, i: u64) -> u64 {
        self.cell(d, i).chunk
    }

    /// The chunk that holds element `i` of dimension `d`, and where it is along that dimension.
    fn cell(&self, d: usize, i: u64) -> Cell {
        match self {
            Grid::Regular { chunk } => Cell { chunk: i / chunk[d], origin: i / chunk[d] * chunk[d], extent: chunk[d] },
            Grid::Rectilinear { extents } => extents[d].at_element(i),
        }
    }

    /// The grid of an array that got that shape: where listed extents end before, one chunk more that holds the rest, rounded up to a
    /// multiple of `multiple` (for each dimension). The chunks that there were stay as they are.
    pub fn grown(&self, shape: &[u64], multiple: &[u64]) -> Result<Grid> {
        match self {
            Grid::Regular { .. } => Ok(self.clone()),
            Grid::Rectilinear { extents } => {
                let each = extents.iter().zip(shape).zip(multiple).map(|((e, &n), &m)| e.grown(n, m));
                Ok(Grid::Rectilinear { extents: each.collect::<Result<Vec<_>>>()?.into() })
            }
        }
    }

    /// Makes room in `out` for what [`Grid::segments`] makes of these arguments.
    pub fn reserve_segments(&self, d: usize, start: u64, count: u64, step: i64, out: &mut Vec<Segment>) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let last = start.wrapping_add_signed(step.wrapping_mul(count as i64 - 1));
        let chunks = self.chunk_of(d, start.max(last)) - self.chunk_of(d, start.min(last)) + 1;
        let most = usize::try_from(chunks.min(count)).unwrap_or(usize::MAX);
        let failed = |_| err!(NoMemory, "the region touches {most} chunks along {}", counting::dimension(d, self.rank()));
        out.try_reserve(most).map_err(failed)
    }

    /// Cuts `start, start + step, …` (`count` of them) along dimension `d` at the borders of chunks.
    /// `step` is not 0; every selected index is within the array, so nothing overflows.
    pub fn segments(&self, d: usize, start: u64, count: u64, step: i64, out: &mut Vec<Segment>) {
        let mut position = 0;
        let mut i = start;
        while position < count {
            let Cell { chunk, origin, extent } = self.cell(d, i);
            let room = if step > 0 { origin + extent - 1 - i } else { i - origin };
            let n = (room / step.unsigned_abs() + 1).min(count - position);
            out.push(Segment { chunk, start: i - origin, count: n, position });
            position += n;
            i = i.wrapping_add_signed(step.wrapping_mul(n as i64));
        }
    }
}

/// The smallest `most` of some numbers.
fn smallest(numbers: impl Iterator<Item = u64>, most: usize) -> BTreeSet<u64> {
    let mut few = BTreeSet::new();
    for n in numbers {
        few.insert(n);
        if few.len() > most {
            few.pop_last();
        }
    }
    few
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn cut(chunk: u64, start: u64, count: u64, step: i64) -> Vec<(u64, u64, u64, u64)> {
        let mut out = Vec::new();
        Grid::regular(smallvec![chunk]).unwrap().segments(0, start, count, step, &mut out);
        out.iter().map(|s| (s.chunk, s.start, s.count, s.position)).collect()
    }

    #[test]
    fn segments_cut_at_the_borders_of_chunks() {
        assert_eq!(cut(4, 0, 10, 1), [(0, 0, 4, 0), (1, 0, 4, 4), (2, 0, 2, 8)]);
        assert_eq!(cut(4, 3, 2, 1), [(0, 3, 1, 0), (1, 0, 1, 1)]);
        assert_eq!(cut(4, 9, 4, -3), [(2, 1, 1, 0), (1, 2, 1, 1), (0, 3, 2, 2)]);
        assert_eq!(cut(4, 1, 3, 5), [(0, 1, 1, 0), (1, 2, 1, 1), (2, 3, 1, 2)]);
        assert_eq!(cut(100, 7, 1, 1), [(0, 7, 1, 0)]);
        assert_eq!(cut(4, 0, 0, 1), []);
    }

    #[test]
    fn listed_extents_cut_where_they_end() {
        use super::rectilinear::Runs;
        let mut runs = Runs::new();
        [(4, 1), (1, 2), (3, 1), (9, 1)].iter().for_each(|&(extent, count)| runs.push(extent, count).unwrap());
        let grid = Grid::rectilinear(vec![Extents::Repeat(5), Extents::Listed(runs)]).unwrap();
        let ends = [4u64, 5, 6, 9];
        let chunk = |i: u64| ends.iter().filter(|&&e| e <= i).count() as u64;
        for start in 0..9u64 {
            for step in [-4i64, -1, 1, 2, 3] {
                let room = if step > 0 { (8 - start) / step as u64 } else { start / step.unsigned_abs() };
                for count in 0..=room + 1 {
                    let mut out = Vec::new();
                    grid.segments(1, start, count, step, &mut out);
                    let got: Vec<_> = out
                        .iter()
                        .flat_map(|s| {
                            (0..s.count).map(|j| (s.chunk, grid.origin(1, s.chunk) + s.start.wrapping_add_signed(step * j as i64)))
                        })
                        .collect();
                    let want: Vec<_> = (0..count).map(|k| start.wrapping_add_signed(step * k as i64)).map(|i| (chunk(i), i)).collect();
                    assert_eq!(got, want, "{start} {count} {step}");
                }
            }
        }
        assert_eq!(grid.counts(&[11, 9]).as_slice(), [3, 4]);
        assert_eq!(grid.counts(&[0, 0]).as_slice(), [0, 0]);
        assert_eq!(grid.shape_of(&[2, 3]).as_slice(), [5, 3]);
        assert_eq!(grid.largest(&[11, 9]).as_slice(), [5, 4]);
        assert_eq!(grid.largest(&[11, 10]).as_slice(), [5, 9]);
        assert_eq!(grid.grown(&[99, 18], &[1, 1]).unwrap(), grid);
        assert_eq!(grid.grown(&[99, 20], &[1, 4]).unwrap().shape_of(&[0, 5]).as_slice(), [5, 4]);
        assert_eq!(Grid::rectilinear(vec![Extents::Repeat(5)]).unwrap(), Grid::regular(smallvec![5]).unwrap());
    }

    #[test]
    fn segments_equal_the_loop_over_elements() {
        for chunk in 1..6u64 {
            for start in 0..12u64 {
                for step in [-4i64, -3, -2, -1, 1, 2, 3, 4, 7] {
                    let room = if step > 0 { (12 - 1 - start) / step as u64 } else { start / step.unsigned_abs() };
                    for count in 0..=room + 1 {
                        let mut want = Vec::new();
                        for k in 0..count {
                            let i = (start as i64 + step * k as i64) as u64;
                            want.push((i / chunk, i % chunk, k));
                        }
                        let mut got = Vec::new();
                        for (c, s, n, p) in cut(chunk, start, count, step) {
                            for j in 0..n {
                                got.push((c, (s as i64 + step * j as i64) as u64, p + j));
                            }
                        }
                        assert_eq!(got, want);
                    }
                }
            }
        }
    }
}
