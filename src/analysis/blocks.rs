//! A region as boxes that many threads read: memory stays bounded whatever an array's size, and chunks are decoded once where that can be.

use super::borders::Borders;
use crate::dtype::DataType;
use crate::engine::pool::Pool;
use crate::engine::tasks::{self, Running};
use crate::engine::{Memory, Selection};
use crate::error::{Result, bail};
use crate::limits::{collect, element_count, push, reserve};
use crate::node::{Array, Grid};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of a block, about, if chunks are no larger: what was decoded is still in the caches near a core when it is counted.
const BLOCK: u128 = 1 << 20;
/// The most bytes of a block; larger chunks are read in parts.
const LARGEST: u128 = 256 << 20;
/// Along dimensions of more chunks than this their borders are not listed.
const LISTED: u64 = 1 << 16;
/// Borders that follow no rule are listed up to this number.
const MOST_LISTED: u64 = 1 << 24;
/// The bytes that all threads hold together, about.
const TOGETHER: u128 = 1 << 30;

/// One block: where it begins in the selection, and its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The index of its first element in the selection.
    pub at: Vec<u64>,
    /// Its number of elements along each dimension.
    pub shape: Vec<u64>,
}

/// A selection cut into blocks.
pub struct Blocks {
    selection: Selection,
    array_shape: Vec<u64>,
    /// Where blocks begin along each dimension.
    cuts: Vec<Borders>,
    /// The bytes of an element.
    item: usize,
    /// The numbers of those that are read, and how many elements the others have; `None` if all are.
    chosen: Option<(Vec<u64>, u64)>,
    pool: Arc<Pool>,
    /// How many threads the stores keep busy.
    width: usize,
}

/// Gets the bytes of each block that is done; its error ends the work.
pub type Told<'a> = &'a (dyn Fn(u64) -> Result<()> + Sync);

/// How blocks are to be cut.
#[derive(Clone, Copy)]
pub enum CutAt<'a> {
    /// At borders of chunks, several chunks in a block where they are small.
    Chunks,
    /// Every chunk by itself.
    EachChunk,
    /// At multiples of these lengths that are near borders of chunks.
    Multiples(&'a [u64]),
}

impl Blocks {
    /// Cuts a selection of an array whose elements take `item` bytes in memory.
    pub fn new(array: &Array, selection: Selection, item: usize, cut: CutAt<'_>) -> Result<Blocks> {
        let (shape, grid) = (array.shape(), array.grid());
        element_count(selection.shape())?;
        let cuts = (0..shape.len()).map(|d| borders(&grid, &selection, d, cut)).collect::<Result<_>>()?;
        let (pool, width) = array.store().threads_with(array.store(), array.any_thread());
        let mut blocks = Blocks { selection, array_shape: shape.to_vec(), cuts, item, chosen: None, pool, width };
        if !matches!(cut, CutAt::EachChunk) {
            let lengths = if let CutAt::Multiples(lengths) = cut { lengths.to_vec() } else { vec![1; shape.len()] };
            blocks.fit(&lengths);
        }
        Ok(blocks)
    }

    /// Plans the reads of blocks of which parts of `other` are read, too.
    pub fn beside(mut self, array: &Array, other: &Array) -> Blocks {
        (self.pool, self.width) = array.store().threads_with(other.store(), array.any_thread() && other.any_thread());
        self
    }

    /// The blocks of the same places in another selection of that shape, of an array of shape `array_shape`.
    pub fn of(&self, selection: Selection, array_shape: &[u64]) -> Blocks {
        let (cuts, pool) = (self.cuts.clone(), self.pool.clone());
        Blocks { selection, array_shape: array_shape.to_vec(), cuts, item: self.item, chosen: None, pool, width: self.width }
    }

    /// Only the blocks of these numbers, if there is a list.
    pub(super) fn only(mut self, numbers: Option<Vec<u64>>) -> Blocks {
        self.chosen = numbers.map(|numbers| {
            let kept: u64 = numbers.iter().map(|&n| self.get(n).shape.iter().product::<u64>()).sum();
            let all: u64 = self.selection.shape().iter().product();
            (numbers, all - kept)
        });
        self
    }

    /// The blocks that are chosen, one after the other.
    pub fn chosen(&self) -> impl Iterator<Item = Block> {
        let count = self.chosen.as_ref().map_or(self.count(), |(numbers, _)| numbers.len() as u64);
        (0..count).map(|n| self.nth_chosen(n))
    }

    fn nth_chosen(&self, n: u64) -> Block {
        self.get(self.chosen.as_ref().map_or(n, |(numbers, _)| numbers[n as usize]))
    }

    /// The number of elements of the blocks that are left out.
    pub fn left_out(&self) -> u64 {
        self.chosen.as_ref().map_or(0, |(_, elements)| *elements)
    }

    /// The number of the first block that is left out.
    pub fn first_left_out(&self) -> Option<u64> {
        let (numbers, _) = self.chosen.as_ref()?;
        let first = numbers.iter().zip(0..).position(|(&number, n)| number != n).unwrap_or(numbers.len()) as u64;
        (first < self.count()).then_some(first)
    }

    /// Joins neighbours while blocks are small, the last dimension first, and cuts those that are too large.
    fn fit(&mut self, lengths: &[u64]) {
        for d in (0..self.cuts.len()).rev() {
            let most = u64::try_from(BLOCK / self.bytes_but(d).max(1)).unwrap_or(u64::MAX);
            if most > self.cuts[d].longest() {
                self.cuts[d].join(most);
            }
        }
        for (d, &length) in lengths.iter().enumerate() {
            let most = u64::try_from(LARGEST / self.bytes_but(d).max(1)).unwrap_or(u64::MAX);
            let most = (most / length).max(1).saturating_mul(length);
            if self.cuts[d].longest() > most {
                self.cuts[d].divide(most);
            }
        }
    }

    fn bytes_but(&self, d: usize) -> u128 {
        let others = self.cuts.iter().enumerate().filter(|(e, _)| *e != d);
        others.fold(self.item as u128, |n, (_, cuts)| n.saturating_mul(u128::from(cuts.longest())))
    }

    /// The bytes of all elements that are read, in memory.
    pub fn bytes(&self) -> u64 {
        let all = self.selection.shape().iter().fold(1, |n: u64, &c| n.saturating_mul(c));
        (all - self.left_out()).saturating_mul(self.item as u64)
    }

    /// Returns how many blocks there are.
    pub fn count(&self) -> u64 {
        self.cuts.iter().fold(1u64, |n, cuts| n.saturating_mul(cuts.blocks())) * u64::from(!self.selection.shape().contains(&0))
    }

    /// Returns block `n`, in C order.
    pub fn get(&self, mut n: u64) -> Block {
        let mut block = Block { at: vec![0; self.cuts.len()], shape: vec![0; self.cuts.len()] };
        for (d, cuts) in self.cuts.iter().enumerate().rev() {
            (block.at[d], block.shape[d]) = cuts.block(n % cuts.blocks());
            n /= cuts.blocks();
        }
        block
    }

    /// Returns the number of a block.
    pub fn number(&self, block: &Block) -> u64 {
        self.cuts.iter().zip(&block.at).fold(0, |n, (cuts, &at)| n * cuts.blocks() + cuts.block_of(at))
    }

    /// How many chunks the selection has elements of; `u64::MAX` if there are more.
    pub fn chunks(&self, grid: &Grid) -> u64 {
        (0..self.cuts.len()).fold(1, |n: u64, d| n.saturating_mul(chunks_along(grid, &self.selection, d)))
    }

    /// Calls `each` with the numbers of the blocks that have elements of a chunk.
    pub fn of_chunk(&self, grid: &Grid, index: &[u64], each: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let mut runs = Vec::with_capacity(index.len());
        for (d, &i) in index.iter().enumerate() {
            let Some((first, last)) = positions(&self.selection, d, grid.origin(d, i), grid.extent(d, i)) else { return Ok(()) };
            let first = self.cuts[d].block_of(first);
            runs.push((first, self.cuts[d].block_of(last) - first + 1));
        }
        for mut n in 0..runs.iter().map(|(_, length)| length).product::<u64>() {
            let (mut number, mut stride) = (0, 1);
            for ((first, length), cuts) in runs.iter().zip(&self.cuts).rev() {
                number += (first + n % length) * stride;
                (n, stride) = (n / length, stride * cuts.blocks());
            }
            each(number)?;
        }
        Ok(())
    }

    /// The elements of a block, of the array.
    pub fn part(&self, block: &Block) -> Result<Selection> {
        part_of(&self.selection, &self.array_shape, block)
    }

    /// How many threads work on it.
    fn threads(&self) -> usize {
        let bytes = self.cuts.iter().fold(self.item as u128, |n, cuts| n.saturating_mul(u128::from(cuts.longest())));
        let most = usize::try_from(TOGETHER / bytes.max(1)).unwrap_or(usize::MAX);
        self.width.min(most).max(1)
    }

    /// Runs `work` on every block that is chosen, on many threads, and gives its results to `take` in the order of the blocks; `told` gets the bytes of
    /// each. The first error ends it.
    pub fn each<T: Send>(
        &self,
        told: Told<'_>,
        work: impl Fn(&Block, &mut Vec<u8>) -> Result<T> + Sync,
        take: impl FnMut(Block, T) -> Result<()> + Send,
    ) -> Result<()> {
        let (buffers, inbox) = (Mutex::new(Vec::new()), Mutex::new((BTreeMap::new(), 0u64, take)));
        let task = |n: u64, _: &Running<'_>| {
            let block = self.nth_chosen(n);
            let mut buffer = lock(&buffers).pop().unwrap_or_default();
            let result = work(&block, &mut buffer)?;
            lock(&buffers).push(buffer);
            let bytes = block.shape.iter().product::<u64>().saturating_mul(self.item as u64);
            let mut inbox = lock(&inbox);
            let (waiting, due, take) = &mut *inbox;
            waiting.insert(n, (block, result));
            while let Some((block, result)) = waiting.remove(due) {
                *due += 1;
                take(block, result)?;
            }
            told(bytes)
        };
        let count = self.chosen.as_ref().map_or(self.count(), |(numbers, _)| numbers.len() as u64);
        tasks::run(&self.pool, count, self.threads(), &task, &mut |_| Ok(()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The elements of a block of a selection of an array of that shape.
pub fn part_of(selection: &Selection, array_shape: &[u64], block: &Block) -> Result<Selection> {
    let (from, step) = (selection.start(), selection.step());
    let start = |d: usize| (from[d] as i64).wrapping_add((block.at[d] as i64).wrapping_mul(step[d]));
    let start: Vec<i64> = (0..block.at.len()).map(start).collect();
    let count: Vec<i64> = block.shape.iter().map(|&n| n as i64).collect();
    Selection::new(array_shape, &start, &count, Some(step))
}

/// How many chunks a selection has elements of along a dimension, or a few more where steps are long.
fn chunks_along(grid: &Grid, selection: &Selection, d: usize) -> u64 {
    let (start, total, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
    let last = start.wrapping_add_signed(step.wrapping_mul(total.saturating_sub(1) as i64));
    if total == 0 { 0 } else { grid.chunk_of(d, start).abs_diff(grid.chunk_of(d, last)).saturating_add(1).min(total) }
}

/// The first and the last position in a selection of elements from `origin` on, or `None` if the selection has no element there.
fn positions(selection: &Selection, d: usize, origin: u64, extent: u64) -> Option<(u64, u64)> {
    let wide = i128::from;
    let (start, total, step) = (wide(selection.start()[d]), wide(selection.shape()[d]), i128::from(selection.step()[d]));
    let (low, high) = (wide(origin) - start, wide(origin) + wide(extent) - 1 - start);
    let (from, to) = if step > 0 { (low, high) } else { (-high, -low) };
    let each = step.abs();
    let (first, last) = ((from + each - 1).div_euclid(each).max(0), to.div_euclid(each).min(total - 1));
    Some((u64::try_from(first).ok()?, u64::try_from(last).ok()?)).filter(|(first, last)| first <= last)
}

/// The borders of chunks along a dimension of a selection. Of very many only a rule is kept: the chunks' own, if there is one; else blocks
/// are as long as the chunks on average.
fn borders(grid: &Grid, selection: &Selection, d: usize, cut: CutAt<'_>) -> Result<Borders> {
    let (start, total, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
    let chunks = chunks_along(grid, selection, d);
    if chunks > LISTED {
        return match (grid.repeated(d), step, cut) {
            (Some(each), 1, CutAt::Chunks | CutAt::EachChunk) => Ok(Borders::Regular { first: each - start % each, each, total }),
            (_, _, CutAt::EachChunk) if chunks > MOST_LISTED => {
                bail!(
                    Limit,
                    "the region has {chunks} chunks along dimension {d}, more than {MOST_LISTED} that follow no rule are not listed"
                )
            }
            (_, _, CutAt::EachChunk) => listed(grid, selection, d, 1),
            (_, _, CutAt::Chunks) => Ok(Borders::Regular { first: total / chunks, each: total / chunks, total }),
            (_, _, CutAt::Multiples(lengths)) => {
                let each = (total / chunks / lengths[d]).max(1).saturating_mul(lengths[d]);
                Ok(Borders::Regular { first: each, each, total })
            }
        };
    }
    listed(grid, selection, d, if let CutAt::Multiples(lengths) = cut { lengths[d] } else { 1 })
}

/// The borders one by one, each moved down to a multiple of `length`.
fn listed(grid: &Grid, selection: &Selection, d: usize, length: u64) -> Result<Borders> {
    let (start, total, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
    let mut segments = Vec::new();
    grid.reserve_segments(d, start, total, step, &mut segments)?;
    grid.segments(d, start, total, step, &mut segments);
    let mut borders: Vec<u64> = collect(segments.iter().map(|s| s.position / length * length))?;
    borders.dedup();
    push(&mut borders, total)?;
    Ok(Borders::Listed(borders))
}

/// Reads elements of fixed size as `data_type` into `buffer`, in C order.
pub fn read(array: &Array, selection: &Selection, data_type: DataType, buffer: &mut Vec<u8>) -> Result<()> {
    let (shape, item) = (selection.shape(), data_type.size());
    let bytes = usize::try_from(element_count(shape)?).ok().and_then(|n| n.checked_mul(item)).filter(|&n| n <= isize::MAX as usize);
    let Some(size) = bytes else { bail!(Limit, "a block of shape {shape:?} and {item} bytes an element is more than memory can hold") };
    reserve(buffer, size.saturating_sub(buffer.len()))?;
    buffer.resize(size, 0);
    let memory = Memory::dense(buffer.as_mut_ptr(), size, shape, data_type);
    // SAFETY: the memory is all of `buffer`, which nobody else touches until the call returns.
    unsafe { array.read(selection, &memory) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorKind, err};
    use crate::node::{Context, Create, Spec, Store};

    fn blocks(shape: &[u64], chunks: &[u64], step: i64, item: usize, cut: CutAt<'_>) -> Blocks {
        let store = Store::memory(&Context::default());
        let mut spec = Spec::new(DataType::Float64, shape).unwrap();
        spec.set_chunks(chunks).unwrap();
        let array = Array::create(&store, "", &spec, Create::New).unwrap();
        let count: Vec<i64> = shape.iter().map(|&n| n.div_ceil(step.unsigned_abs()) as i64).collect();
        let start: Vec<i64> = shape.iter().map(|&n| if step < 0 { n as i64 - 1 } else { 0 }).collect();
        let selection = Selection::new(shape, &start, &count, Some(&vec![step; shape.len()])).unwrap();
        Blocks::new(&array, selection, item, cut).unwrap()
    }

    /// Shape, chunk shape, step, cut, and the first borders of each dimension.
    type Case<'a> = (&'a [u64], &'a [u64], i64, CutAt<'a>, &'a [&'a [u64]]);

    #[test]
    fn blocks_end_with_chunks_and_cover_everything_once() {
        const M: u64 = 1 << 20;
        let lengths = [1, 256];
        let cases: &[Case<'_>] = &[
            (&[10 * M], &[M], 1, CutAt::Chunks, &[&[0, M, 2 * M]]),
            (&[1000, 1000], &[100, 100], 1, CutAt::Chunks, &[&[0, 100], &[0, 1000]]),
            (&[300, 300], &[100, 100], 1, CutAt::Chunks, &[&[0, 300], &[0, 300]]),
            (&[5, 7], &[2, 3], 1, CutAt::EachChunk, &[&[0, 2, 4], &[0, 3, 6]]),
            (&[5, 7], &[2, 3], -1, CutAt::EachChunk, &[&[0, 1, 3], &[0, 1, 4]]),
            (&[5, 7], &[2, 3], 2, CutAt::EachChunk, &[&[0, 1, 2], &[0, 2, 3]]),
            // A chunk of 512 MiB is read in two parts.
            (&[64, M], &[64, M], 1, CutAt::Chunks, &[&[0, 32], &[0]]),
            // Borders of chunks that are no borders of runs.
            (&[300, 5000], &[300, 1000], 1, CutAt::Multiples(&lengths), &[&[0], &[0, 768, 2816, 5000]]),
        ];
        for (shape, chunks, step, cut, want) in cases {
            let blocks = blocks(shape, chunks, *step, 8, *cut);
            for (cuts, want) in blocks.cuts.iter().zip(*want) {
                let begin: Vec<u64> = (0..cuts.blocks()).map(|n| cuts.block(n)).flat_map(|(at, n)| [at, at + n]).collect();
                assert!(want.iter().all(|border| begin.contains(border)), "{shape:?} {chunks:?}: {cuts:?}");
                assert_eq!(begin.get(1), want.get(1).or(begin.get(1)), "{shape:?} {chunks:?}: {cuts:?}");
            }
            let all = (0..blocks.count()).map(|n| blocks.get(n).shape.iter().product::<u64>()).sum::<u64>();
            assert_eq!(all, blocks.selection.shape().iter().product::<u64>());
            assert!((0..blocks.count()).all(|n| blocks.part(&blocks.get(n)).is_ok()));
        }
        assert_eq!(blocks(&[], &[], 1, 8, CutAt::Chunks).count(), 1);
        assert_eq!(blocks(&[0, 5], &[1, 1], 1, 8, CutAt::Chunks).count(), 0);
    }

    #[test]
    fn the_blocks_of_a_chunk_are_those_that_have_its_elements() {
        const M: u64 = 1 << 20;
        // With chunks in several blocks, and blocks of several chunks.
        for (shape, chunks, step, item) in [
            (&[64, M][..], &[64, M][..], 1, 8),
            (&[64, M], &[40, M], -1, 8),
            (&[20 * M], &[3 * M], 2, 8),
            (&[5, 9 * M], &[2, 4 * M], -3, 8),
            (&[70_000_000], &[1000], 1, 8),
        ] {
            let blocks = blocks(shape, chunks, step, item, CutAt::Chunks);
            let grid = Grid::regular(chunks.iter().copied().collect()).unwrap();
            let mut want = vec![Vec::new(); grid.counts(shape).iter().product::<u64>() as usize];
            for n in 0..blocks.count() {
                let part = blocks.part(&blocks.get(n)).unwrap();
                let ends = |d: usize| {
                    let last = part.start()[d].wrapping_add_signed(part.step()[d] * (part.shape()[d] as i64 - 1));
                    let (a, b) = (grid.chunk_of(d, part.start()[d]), grid.chunk_of(d, last));
                    a.min(b)..=a.max(b)
                };
                let inner = if shape.len() == 2 { ends(1) } else { 0..=0 };
                for (i, j) in ends(0).flat_map(|i| inner.clone().map(move |j| (i, j))) {
                    let columns = if shape.len() == 2 { grid.count(1, shape[1]) } else { 1 };
                    want[(i * columns + j) as usize].push(n);
                }
            }
            let columns = if shape.len() == 2 { grid.count(1, shape[1]) } else { 1 };
            for (k, want) in want.iter().enumerate() {
                let (i, j) = (k as u64 / columns, k as u64 % columns);
                let mut found = Vec::new();
                let index = if shape.len() == 2 { vec![i, j] } else { vec![i] };
                blocks
                    .of_chunk(&grid, &index, &mut |n| {
                        found.push(n);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(&found, want, "{shape:?} {chunks:?} {step}: {index:?}");
            }
        }
    }

    #[test]
    fn of_very_many_chunks_only_the_rule_is_kept() {
        const N: u64 = 100_000_000;
        for (cut, step) in [(CutAt::Chunks, 1), (CutAt::EachChunk, 1)] {
            let blocks = blocks(&[N * 1000 + 7], &[1000], step, 8, cut);
            assert!(matches!(blocks.cuts[..], [Borders::Regular { .. }]));
            let (first, last) = (blocks.get(0), blocks.get(blocks.count() - 1));
            assert_eq!((first.at[0], last.at[0] + last.shape[0]), (0, N * 1000 + 7));
            assert!(first.shape[0].is_multiple_of(1000) && last.at[0].is_multiple_of(1000) && blocks.part(&last).is_ok());
            assert_eq!(blocks.count() > N, matches!(cut, CutAt::EachChunk));
        }
        // Nor is there a list where steps or runs do not fit the chunks.
        for (cut, step, multiple) in [(CutAt::Chunks, -3, 1), (CutAt::Multiples(&[256]), 1, 256), (CutAt::Multiples(&[256]), 2, 256)] {
            let blocks = blocks(&[N * 1000], &[1000], step, 8, cut);
            let Borders::Regular { first, each, .. } = blocks.cuts[0] else { panic!("{:?}", blocks.cuts) };
            assert!(first.is_multiple_of(multiple) && each.is_multiple_of(multiple) && blocks.count() < N, "{step} {first} {each}");
        }
    }

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let blocks = blocks(&[64, 1 << 20], &[1, 1 << 20], 1, 8, CutAt::EachChunk);
        let mut seen = Vec::new();
        let work = |block: &Block, _: &mut Vec<u8>| Ok(block.at[0]);
        assert!(
            blocks
                .each(&|_| Ok(()), work, |_, at| {
                    seen.push(at);
                    Ok(())
                })
                .is_ok()
        );
        assert_eq!(seen, (0..64).collect::<Vec<_>>());
        let fail = |block: &Block, _: &mut Vec<u8>| if block.at[0] == 9 { Err(err!(Chunk, "nine")) } else { Ok(()) };
        assert_eq!(blocks.each(&|_| Ok(()), fail, |_, ()| Ok(())).unwrap_err().kind(), ErrorKind::Chunk);
    }
}
