//! Regions in pieces: memory stays bounded whatever an array's size, and each chunk is touched as seldom as that allows.

use crate::failure::{Failure, Outcome};
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::node::{Array, Grid};

/// The bytes of a slab, about.
const SLAB: u128 = 64 << 20;
/// The most bytes of a slab that ends where chunks end, or keeps chunks in few slabs.
const SLAB_OF_CHUNKS: u128 = 512 << 20;
/// What slabs are not made smaller than where memory ends.
const LEAST_SLAB: u128 = 64 << 10;

/// A piece of a selection: the elements that follow one another in a stream of bytes.
pub struct Slab {
    /// The elements, of the array.
    pub selection: Selection,
    /// The distance of neighbours in the stream, in bytes, for each dimension.
    strides: Vec<isize>,
    /// How many bytes.
    pub size: usize,
}

/// A selection cut into slabs, in the order of a stream whose last (or, `fortran`, first) dimension varies fastest.
pub struct Slabs<'a> {
    shape: &'a [u64],
    grid: &'a Grid,
    selection: &'a Selection,
    item: usize,
    /// The dimensions, the slowest first.
    order: Vec<usize>,
    /// The bytes of a slab, about, and the most where chunks ask for it.
    limits: (u128, u128),
    /// Which of `order` is cut in runs; those before go one by one, those behind are whole.
    cut: usize,
    /// How long a run is.
    run: u64,
    /// Where the next slab begins in the selection; `None` after the last.
    next: Option<Vec<u64>>,
}

impl<'a> Slabs<'a> {
    /// Of an array of that shape and grid.
    pub fn new(shape: &'a [u64], grid: &'a Grid, selection: &'a Selection, item: usize, fortran: bool) -> Slabs<'a> {
        let rank = shape.len();
        let order: Vec<usize> = if fortran { (0..rank).rev().collect() } else { (0..rank).collect() };
        let limits = (SLAB, SLAB_OF_CHUNKS);
        let mut all = Slabs { shape, grid, selection, item, order, limits, cut: 0, run: 1, next: Some(vec![0; rank]) };
        all.choose();
        all
    }

    /// Chooses where to cut, within the limits.
    fn choose(&mut self) {
        let (rank, (slab, most), order) = (self.shape.len(), self.limits, &self.order);
        if rank == 0 {
            return;
        }
        let (count, chunk) = (self.selection.shape(), self.grid.largest(self.shape));
        let bytes = |from: usize| order[from..].iter().fold(self.item as u128, |n, &d| n.saturating_mul(u128::from(count[d])));
        // As many elements as one chunk has in steps.
        let rows = |k: usize| u128::from(chunk[order[k]].div_ceil(self.selection.step()[order[k]].unsigned_abs()));
        let fits = |k: &usize| bytes(k + 1) <= slab || rows(*k).saturating_mul(bytes(k + 1)) <= most;
        let cut = (0..rank).find(fits).unwrap_or(rank - 1);
        let inner = bytes(cut + 1).max(1);
        let chunks = rows(cut).min(most / inner);
        (self.cut, self.run) = (cut, u64::try_from((slab / inner).max(chunks).max(1)).unwrap_or(u64::MAX));
    }

    /// Reads the next slab by `read`, which gets one that is smaller where memory ends, as are those that follow.
    pub fn read_next<T>(&mut self, mut read: impl FnMut(&Slab) -> Result<T>) -> Option<Outcome<T>> {
        let mut failed = usize::MAX;
        loop {
            let here = self.next.clone();
            let slab = match self.next()? {
                Ok(slab) => slab,
                Err(failure) => return Some(Err(failure)),
            };
            match read(&slab) {
                // One element, say, gets no smaller.
                Err(e) if e.kind() == ErrorKind::NoMemory && slab.size as u128 > LEAST_SLAB && slab.size < failed => {
                    failed = slab.size;
                    let limit = (slab.size as u128 / 2).max(LEAST_SLAB);
                    self.limits = (self.limits.0.min(limit), limit);
                    self.next = here;
                    self.choose();
                }
                done => return Some(done.map_err(Failure::from)),
            }
        }
    }

    /// How far a run that begins at `at` goes along dimension `d`: to a border of chunks, if there is one to end at.
    fn run_from(&self, d: usize, at: u64) -> u64 {
        let (left, step) = (self.selection.shape()[d] - at, self.selection.step()[d]);
        if self.run >= left {
            return left;
        }
        let Ok(step) = u64::try_from(step) else { return self.run };
        let start = self.selection.start()[d];
        let end = self.grid.origin(d, self.grid.chunk_of(d, start + (at + self.run) * step));
        let aligned = end.saturating_sub(start).div_ceil(step);
        if aligned > at { aligned - at } else { self.run }
    }

    fn slab(&self, at: &[u64], count: &[u64]) -> Outcome<Slab> {
        let all = self.selection;
        let signed = |n: u64| n as i64;
        let start: Vec<i64> =
            (0..at.len()).map(|d| signed(all.start()[d]).wrapping_add(signed(at[d]).wrapping_mul(all.step()[d]))).collect();
        let counts: Vec<i64> = count.iter().map(|&n| signed(n)).collect();
        let mut strides = vec![0; count.len()];
        let mut size = self.item;
        for &d in self.order.iter().rev() {
            strides[d] = size as isize;
            let longer = usize::try_from(count[d]).ok().and_then(|n| size.checked_mul(n)).filter(|&n| n <= isize::MAX as usize);
            size = longer.ok_or_else(|| Failure::Error("the region is too large".into()))?;
        }
        Ok(Slab { selection: Selection::new(self.shape, &start, &counts, Some(all.step()))?, strides, size })
    }
}

impl Iterator for Slabs<'_> {
    type Item = Outcome<Slab>;

    fn next(&mut self) -> Option<Outcome<Slab>> {
        let at = self.next.take()?;
        let mut count = self.selection.shape().to_vec();
        if count.contains(&0) {
            return Some(self.slab(&at, &count));
        }
        for (k, &d) in self.order.iter().enumerate() {
            match k.cmp(&self.cut) {
                std::cmp::Ordering::Less => count[d] = 1,
                std::cmp::Ordering::Equal => count[d] = self.run_from(d, at[d]),
                std::cmp::Ordering::Greater => {}
            }
        }
        let mut next = at.clone();
        for &d in self.order[..self.order.len().min(self.cut + 1)].iter().rev() {
            next[d] += count[d];
            if next[d] < self.selection.shape()[d] {
                self.next = Some(next);
                break;
            }
            next[d] = 0;
        }
        Some(self.slab(&at, &count))
    }
}

impl Slab {
    /// Makes `buffer` as long as the slab.
    pub fn fit(&self, buffer: &mut Vec<u8>) -> Result<()> {
        let more = self.size.saturating_sub(buffer.len());
        buffer.try_reserve_exact(more).map_err(|_| Error::new(ErrorKind::NoMemory, format!("no memory for {} bytes", self.size)))?;
        buffer.resize(self.size, 0);
        Ok(())
    }

    /// Reads the elements as `data_type`.
    pub fn read(&self, array: &Array, data_type: DataType, buffer: &mut Vec<u8>) -> Result<()> {
        self.fit(buffer)?;
        let memory = self.memory(buffer, data_type);
        // SAFETY: the memory is all of `buffer`, which nobody else touches until the call returns.
        unsafe { array.read(&self.selection, &memory) }
    }

    /// Writes the elements, which are of type `data_type`.
    pub fn write(&self, array: &Array, data_type: DataType, buffer: &mut [u8]) -> Outcome {
        let memory = self.memory(buffer, data_type);
        // SAFETY: as for reading.
        Ok(unsafe { array.write(&self.selection, &memory) }?)
    }

    fn memory(&self, buffer: &mut [u8], data_type: DataType) -> Memory {
        let strides = self.strides.iter().map(|&s| s as _).collect();
        Memory { strides, ..Memory::of(buffer, &[], data_type) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(shape: &[u64], chunk: &[u64], start: &[i64], count: &[i64], step: &[i64], fortran: bool) -> Vec<(Vec<u64>, Vec<u64>, usize)> {
        let selection = Selection::new(shape, start, count, Some(step)).unwrap_or_else(|e| panic!("{e}"));
        let grid = Grid::regular(chunk.iter().copied().collect()).unwrap_or_else(|e| panic!("{e}"));
        let slabs = Slabs::new(shape, &grid, &selection, 8, fortran).map(|s| s.unwrap_or_else(|_| panic!("a slab")));
        slabs.map(|s| (s.selection.start().to_vec(), s.selection.shape().to_vec(), s.size)).collect()
    }

    #[test]
    fn slabs_follow_one_another_and_end_with_chunks() {
        const M: u64 = 1 << 20;
        assert_eq!(cut(&[], &[], &[], &[], &[], false), [(vec![], vec![], 8)]);
        // No elements are one slab, so that the array is looked at all the same.
        assert_eq!(cut(&[4, 0], &[1, 1], &[0, 0], &[4, 0], &[1, 1], false), [(vec![0, 0], vec![4, 0], 0)]);
        let starts = |all: Vec<(Vec<u64>, Vec<u64>, usize)>| all.into_iter().map(|s| s.0[0]).collect::<Vec<_>>();
        // 8 M elements a slab, chunks of 3 M.
        assert_eq!(starts(cut(&[22 * M], &[3 * M], &[0], &[22 << 20], &[1], false)), [0, 6 * M, 12 * M, 18 * M]);
        assert_eq!(starts(cut(&[22 * M], &[3 * M], &[1], &[(22 << 20) - 1], &[1], false)), [1, 6 * M, 12 * M, 18 * M]);
        // One row is too long: rows one by one, in runs.
        let rows = cut(&[2, 80 * M], &[1, 3 * M], &[0, 0], &[2, 80 << 20], &[1, 1], false);
        let starts: Vec<(u64, u64)> = rows.iter().map(|s| (s.0[0], s.0[1] / M)).collect();
        assert_eq!((starts[1], starts[2], starts[12], starts[13]), ((0, 6), (0, 12), (0, 72), (1, 0)));
        // Chunks longer than a slab may be: as few slabs of each as memory allows, the next one begins with a chunk.
        let starts: Vec<u64> = cut(&[400 * M], &[100 * M], &[0], &[400 << 20], &[1], false).iter().map(|s| s.0[0] / M).collect();
        assert_eq!(starts, [0, 64, 100, 164, 200, 264, 300, 364]);
    }

    #[test]
    fn every_element_is_in_one_slab() {
        for fortran in [false, true] {
            for (shape, chunk, step) in [([3u64, 5 << 22, 2], [2, 1 << 20, 1], [1i64, 1, 1]), ([40, 1 << 19, 3], [7, 1000, 3], [1, -1, 2])]
            {
                let start: Vec<i64> = (0..3).map(|d| if step[d] < 0 { shape[d] as i64 - 1 } else { 0 }).collect();
                let count: Vec<i64> = (0..3).map(|d| (shape[d].div_ceil(step[d].unsigned_abs())) as i64).collect();
                let slabs = cut(&shape, &chunk, &start, &count, &step, fortran);
                let all: usize = slabs.iter().map(|s| s.2).sum();
                assert_eq!(all as i64, count.iter().product::<i64>() * 8);
                assert!(slabs.iter().all(|s| s.2 as u128 <= SLAB_OF_CHUNKS));
            }
        }
    }
}
