//! The chunks that an array loses when it is made shorter, and those whose elements beyond the edge go.

use super::fill::write_fill;
use super::transfer::OnProgress;
use crate::engine::{BoundArray, Selection};
use crate::error::Result;
use crate::grid::Grid;
use crate::limits::{Dims, push};
use crate::store::{LockUse, StorageExt};
use std::sync::Arc;

/// Up to this many chunks are looked for one by one; above, the keys are listed, which takes time for stored chunks only.
const ONE_BY_ONE: u128 = 1024;

/// After shrinking from `old`: erases the chunks outside of `array.shape`, and writes the fill value beyond the edge; each behind a `look`, whose error
/// ends that.
pub(super) fn erase_outside(
    array: &BoundArray,
    old: &[u64],
    look: &mut dyn FnMut() -> Result<()>,
    progress: &mut OnProgress<'_>,
) -> Result<()> {
    let boundary = Boundary::new(array, old);
    let mut edge = Vec::new();
    let candidates = boundary.outside_count().saturating_add(boundary.edge_count());
    let (mut key, mut done) = (String::new(), 0);
    if candidates > ONE_BY_ONE && array.store.capabilities().listable {
        let mut gone = Vec::new();
        // Writes that began before the cut may be storing chunks that no list has yet.
        array.locks.wait_for_taken(array.lock_name("").0)?;
        array.store.list(&array.prefix, &mut |key| {
            let tail = key.strip_prefix(&array.prefix).unwrap_or_default();
            if let Some(index) = array.keys.parse(tail, old.len()).map_err(|e| e.at_key(key))? {
                if boundary.is_outside(&index) {
                    push(&mut gone, key.to_string())?;
                } else if boundary.is_edge(&index) {
                    push(&mut edge, index)?;
                }
            }
            Ok(())
        })?;
        let all = (gone.len() + edge.len()) as u64;
        for key in gone {
            erase_chunk(array, &key, look)?;
            done += 1;
            progress(done, all)?;
        }
    } else {
        boundary.each_outside(&mut |index| {
            array.chunk_key(index, &mut key)?;
            erase_chunk(array, &key, look)?;
            done += 1;
            progress(done, u64::try_from(candidates).unwrap_or(u64::MAX))
        })?;
        boundary.each_edge(&mut |index| {
            array.chunk_key(index, &mut key)?;
            // A write that began before the cut may be storing it.
            let _thread = array.locks.wait(array.lock_name(&key));
            if array.store.open(&key).map_err(|e| e.at_key(&key))?.is_some() {
                edge.push(Dims::from_slice(index));
            }
            Ok(())
        })?;
    }
    let padded = Arc::new(BoundArray { shape: boundary.padded.clone(), write_back: None, ..array.clone() });
    let all = done + edge.len() as u64;
    edge.iter().try_for_each(|index| {
        look()?;
        boundary.fill_beyond(&padded, index)?;
        done += 1;
        progress(done, all)
    })
}

/// Erases a chunk outside of the array: behind the writes to it that are under way, here and in other processes, and behind a look that comes after
/// the wait for them.
fn erase_chunk(array: &BoundArray, key: &str, look: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let _thread = array.locks.wait(array.lock_name(key));
    let locked = array.store.lock_key(&array.prefix, key, LockUse::Often);
    let erased = locked.and_then(|_process| array.while_there(|| look().and_then(|()| array.store.erase(key))));
    if *erased.as_ref().unwrap_or(&true) {
        array.key_changed(key);
    }
    erased.map(drop).map_err(|e| e.at_key(key))
}

/// The chunks that shrinking concerns.
struct Boundary {
    grid: Grid,
    /// The new lengths, and these rounded up to whole chunks.
    new: Dims,
    padded: Dims,
    /// The numbers of chunks along each dimension, before and after.
    old_count: Dims,
    new_count: Dims,
    /// Whether a dimension now ends inside a chunk that held more of it.
    cut: Vec<bool>,
}

impl Boundary {
    fn new(array: &BoundArray, old: &[u64]) -> Boundary {
        let (grid, new) = (&array.grid, &array.shape);
        let (old_count, new_count) = (grid.counts(old), grid.counts(new));
        let end = |d: usize, last: u64| grid.origin(d, last).saturating_add(grid.extent(d, last)).min(i64::MAX as u64);
        let padded: Dims = (0..new.len()).map(|d| new_count[d].checked_sub(1).map_or(0, |last| end(d, last))).collect();
        let cut = (0..old.len()).map(|d| new[d] < old[d] && new[d] != padded[d]).collect();
        Boundary { grid: grid.clone(), new: new.clone(), padded, old_count, new_count, cut }
    }

    fn rank(&self) -> usize {
        self.new.len()
    }

    fn is_outside(&self, index: &[u64]) -> bool {
        index.iter().zip(&self.new_count).any(|(i, n)| i >= n)
    }

    /// Whether a chunk, which is not outside, holds elements beyond the edge that were inside before.
    fn is_edge(&self, index: &[u64]) -> bool {
        (0..self.rank()).any(|d| self.cut_at(index, d))
    }

    fn cut_at(&self, index: &[u64], d: usize) -> bool {
        self.cut[d] && index[d] + 1 == self.new_count[d]
    }

    /// How many chunks of the old grid are not in the new one.
    fn outside_count(&self) -> u128 {
        let kept: u128 = self.old_count.iter().zip(&self.new_count).map(|(&a, &b)| u128::from(a.min(b))).fold(1, u128::saturating_mul);
        self.old_count.iter().map(|&n| u128::from(n)).fold(1, u128::saturating_mul).saturating_sub(kept)
    }

    fn edge_count(&self) -> u128 {
        let all: u128 = self.new_count.iter().map(|&n| u128::from(n)).fold(1, u128::saturating_mul);
        let inner = (0..self.rank()).map(|d| u128::from(self.new_count[d] - u64::from(self.cut[d]))).fold(1, u128::saturating_mul);
        all.saturating_sub(inner)
    }

    /// Each chunk of the old grid outside of the new one, once: for each dimension those that are outside along it and inside
    /// along the dimensions before.
    fn each_outside(&self, visit: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        for d in 0..self.rank() {
            let ranges = (0..self.rank()).map(|e| match e.cmp(&d) {
                std::cmp::Ordering::Less => (0, self.old_count[e].min(self.new_count[e])),
                std::cmp::Ordering::Equal => (self.new_count[e], self.old_count[e]),
                std::cmp::Ordering::Greater => (0, self.old_count[e]),
            });
            each_in(&ranges.collect::<Vec<_>>(), visit)?;
        }
        Ok(())
    }

    /// Each chunk for which [`Boundary::is_edge`] holds, once.
    fn each_edge(&self, visit: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        for d in (0..self.rank()).filter(|&d| self.cut[d]) {
            let ranges = (0..self.rank()).map(|e| match e.cmp(&d) {
                std::cmp::Ordering::Less => (0, self.new_count[e] - u64::from(self.cut[e])),
                std::cmp::Ordering::Equal => (self.new_count[e] - 1, self.new_count[e]),
                std::cmp::Ordering::Greater => (0, self.new_count[e]),
            });
            each_in(&ranges.collect::<Vec<_>>(), visit)?;
        }
        Ok(())
    }

    /// Writes the fill value into a chunk, beyond the edge along each dimension that was cut there. `padded` is the array as if
    /// it ended with the chunk.
    fn fill_beyond(&self, padded: &Arc<BoundArray>, index: &[u64]) -> Result<()> {
        for d in (0..self.rank()).filter(|&d| self.cut_at(index, d)) {
            let origin = |e: usize| self.grid.origin(e, index[e]);
            let mut start: Vec<i64> = (0..self.rank()).map(|e| origin(e) as i64).collect();
            let end = |e: usize| (origin(e).saturating_add(self.grid.extent(e, index[e]))).min(self.padded[e]) as i64;
            start[d] = self.new[d] as i64;
            let count: Vec<i64> = (0..self.rank()).map(|e| end(e) - start[e]).collect();
            write_fill(padded, &Selection::new(&padded.shape, &start, &count, None)?)?;
        }
        Ok(())
    }
}

/// Calls `visit` with each index in a box of half-open ranges.
fn each_in(ranges: &[(u64, u64)], visit: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
    if ranges.iter().any(|(low, high)| low >= high) {
        return Ok(());
    }
    let mut index: Vec<u64> = ranges.iter().map(|r| r.0).collect();
    loop {
        visit(&index)?;
        let Some(d) = (0..ranges.len()).rev().find(|&d| index[d] + 1 < ranges[d].1) else { return Ok(()) };
        index[d] += 1;
        (d + 1..ranges.len()).for_each(|e| index[e] = ranges[e].0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The visited chunks and the counts agree with a look at every chunk.
    #[test]
    fn each_concerned_chunk_is_visited_once() {
        for (old, new) in
            [([9, 9], [4, 9]), ([9, 9], [4, 5]), ([9, 9], [3, 7]), ([9, 9], [0, 5]), ([9, 4], [5, 9]), ([3, 3], [1, 1]), ([9, 9], [9, 9])]
        {
            let chunk = 3u64;
            let count = |s: [u64; 2]| -> Dims { s.iter().map(|n| n.div_ceil(chunk)).collect() };
            let cut = (0..2).map(|d| new[d] < old[d] && new[d] % chunk != 0).collect();
            let new_dims = Dims::from_slice(&new);
            let (old_count, new_count) = (count(old), count(new));
            let padded = new_count.iter().map(|n| n * chunk).collect();
            let b = Boundary { grid: Grid::Regular { chunk: Dims::from_elem(chunk, 2) }, new: new_dims, padded, old_count, new_count, cut };
            let (mut outside, mut edge) = (Vec::new(), Vec::new());
            let mut collect = |i: &[u64]| {
                outside.push(i.to_vec());
                Ok(())
            };
            b.each_outside(&mut collect).unwrap();
            let mut collect = |i: &[u64]| {
                edge.push(i.to_vec());
                Ok(())
            };
            b.each_edge(&mut collect).unwrap();
            assert_eq!((outside.len() as u128, edge.len() as u128), (b.outside_count(), b.edge_count()), "{old:?} {new:?}");
            outside.sort();
            edge.sort();
            let mut want = (Vec::new(), Vec::new());
            for i in 0..b.old_count[0].max(b.new_count[0]) {
                for j in 0..b.old_count[1].max(b.new_count[1]) {
                    let index = vec![i, j];
                    if b.is_outside(&index) {
                        if i < b.old_count[0] && j < b.old_count[1] {
                            want.0.push(index);
                        }
                    } else if b.is_edge(&index) {
                        want.1.push(index);
                    }
                }
            }
            assert_eq!((outside, edge), want, "{old:?} {new:?}");
        }
    }
}
