//! Chunk grids and chunk keys: integers only.

pub mod key;

use crate::error::{Result, bail};
use crate::limits::Dims;

/// How an array (or a shard) is cut into chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Grid {
    /// All chunks have one shape (`regular`).
    Regular {
        /// The chunk's shape; every extent is at least 1.
        chunk: Dims,
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
            bail!(Metadata, "dimension {d} of the chunk shape is 0, expected at least 1");
        }
        Ok(Grid::Regular { chunk })
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        match self {
            Grid::Regular { chunk } => chunk.len(),
        }
    }

    /// The extent of chunk `index` along dimension `d`.
    pub fn extent(&self, d: usize, index: u64) -> u64 {
        let _ = index;
        match self {
            Grid::Regular { chunk } => chunk[d],
        }
    }

    /// The first element of chunk `index` along dimension `d`.
    pub fn origin(&self, d: usize, index: u64) -> u64 {
        match self {
            Grid::Regular { chunk } => index * chunk[d],
        }
    }

    /// The number of chunks along dimension `d` of an array that is `length` long there.
    pub fn count(&self, d: usize, length: u64) -> u64 {
        match self {
            Grid::Regular { chunk } => length.div_ceil(chunk[d]),
        }
    }

    /// The chunk that holds element `i` of dimension `d`.
    pub fn chunk_of(&self, d: usize, i: u64) -> u64 {
        match self {
            Grid::Regular { chunk } => i / chunk[d],
        }
    }

    /// Cuts `start, start + step, …` (`count` of them) along dimension `d` at the borders of chunks.
    /// `step` is not 0; every selected index is within the array, so nothing overflows.
    pub fn segments(&self, d: usize, start: u64, count: u64, step: i64, out: &mut Vec<Segment>) {
        let mut position = 0;
        let mut i = start;
        while position < count {
            let chunk = self.chunk_of(d, i);
            let origin = self.origin(d, chunk);
            let room = if step > 0 { origin + self.extent(d, chunk) - 1 - i } else { i - origin };
            let n = (room / step.unsigned_abs() + 1).min(count - position);
            out.push(Segment { chunk, start: i - origin, count: n, position });
            position += n;
            i = i.wrapping_add_signed(step.wrapping_mul(n as i64));
        }
    }
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
