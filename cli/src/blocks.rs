//! A region as boxes that many threads read: memory stays bounded whatever an array's size, and chunks are decoded once where that can be.

use crate::borders::Borders;
use crate::failure::{Failure, Outcome};
use crate::output::Progress;
use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Overflow, Selection};
use ozarr::node::{Array, Context, Grid};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// About so many bytes a block has, if chunks are no larger.
const BLOCK: u128 = 8 << 20;
/// So many it has at most; larger chunks are read in parts.
const LARGEST: u128 = 256 << 20;
/// Along dimensions of more chunks than this their borders are not listed.
const LISTED: u64 = 1 << 16;
/// So many bytes all threads hold together, about.
const TOGETHER: u128 = 1 << 30;

/// One block: where it begins in the selection, and its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    pub at: Vec<u64>,
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
}

/// How blocks are to be cut.
#[derive(Clone, Copy)]
pub enum Cut<'a> {
    /// At borders of chunks, several chunks in a block where they are small.
    Chunks,
    /// Every chunk by itself.
    EachChunk,
    /// At multiples of these lengths that are near borders of chunks.
    Multiples(&'a [u64]),
}

impl Blocks {
    /// Cuts a selection of an array whose elements take `item` bytes in memory.
    pub fn new(array: &Array, selection: Selection, item: usize, cut: Cut<'_>) -> Blocks {
        let (shape, grid) = (array.shape(), array.grid());
        let cuts = (0..shape.len()).map(|d| borders(&grid, &selection, d, cut)).collect();
        let mut blocks = Blocks { selection, array_shape: shape.to_vec(), cuts, item };
        if !matches!(cut, Cut::EachChunk) {
            let lengths = if let Cut::Multiples(lengths) = cut { lengths.to_vec() } else { vec![1; shape.len()] };
            blocks.fit(&lengths);
        }
        blocks
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

    /// Returns how many blocks there are.
    pub fn len(&self) -> u64 {
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

    /// The elements of a block, of the array.
    pub fn part(&self, block: &Block) -> Outcome<Selection> {
        let (from, step) = (self.selection.start(), self.selection.step());
        let start = |d: usize| (from[d] as i64).wrapping_add((block.at[d] as i64).wrapping_mul(step[d]));
        let start: Vec<i64> = (0..block.at.len()).map(start).collect();
        let count: Vec<i64> = block.shape.iter().map(|&n| n as i64).collect();
        Ok(Selection::new(&self.array_shape, &start, &count, Some(step))?)
    }

    /// How many threads work on it.
    fn threads(&self) -> u64 {
        let bytes = self.cuts.iter().fold(self.item as u128, |n, cuts| n.saturating_mul(u128::from(cuts.longest())));
        let most = u64::try_from(TOGETHER / bytes.max(1)).unwrap_or(u64::MAX).max(1);
        (Context::default().threads() as u64).min(most).min(self.len()).max(1)
    }

    /// Runs `work` on every block, on many threads, and gives its results to `take` in the order of the blocks. The first error ends it.
    pub fn each<T: Send>(
        &self,
        bar: Option<&Progress>,
        work: impl Fn(&Block, &mut Vec<u8>) -> Outcome<T> + Sync,
        take: impl FnMut(Block, T) -> Outcome + Send,
    ) -> Outcome {
        let (next, ended, all) = (AtomicU64::new(0), AtomicBool::new(false), self.len());
        let inbox = Mutex::new((std::collections::BTreeMap::new(), 0u64, take));
        let failed = Mutex::new(None);
        let run = || {
            let mut buffer = Vec::new();
            while !ended.load(Ordering::Relaxed) {
                let n = next.fetch_add(1, Ordering::Relaxed);
                if n >= all {
                    return;
                }
                let block = self.get(n);
                let done = work(&block, &mut buffer).and_then(|result| {
                    let bytes = block.shape.iter().product::<u64>().saturating_mul(self.item as u64);
                    let mut inbox = inbox.lock().unwrap_or_else(|e| e.into_inner());
                    let (waiting, due, take) = &mut *inbox;
                    waiting.insert(n, (block, result));
                    while let Some((block, result)) = waiting.remove(due) {
                        *due += 1;
                        take(block, result)?;
                    }
                    bar.into_iter().for_each(|bar| bar.inc(bytes));
                    Ok(())
                });
                if let Err(failure) = done {
                    ended.store(true, Ordering::Relaxed);
                    failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(failure);
                }
            }
        };
        std::thread::scope(|scope| {
            // A thread that cannot be started is done without.
            let helpers: Vec<_> = (1..self.threads()).filter_map(|_| std::thread::Builder::new().spawn_scoped(scope, run).ok()).collect();
            run();
            helpers.into_iter().for_each(|helper| drop(helper.join()));
        });
        match failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }
}

/// The borders of chunks along a dimension of a selection. Of very many only the rule is kept, if there is one.
fn borders(grid: &Grid, selection: &Selection, d: usize, cut: Cut<'_>) -> Borders {
    let (start, total, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
    if let (Some(each), 1, false) = (grid.repeated(d), step, matches!(cut, Cut::Multiples(_)))
        && total / each > LISTED
    {
        return Borders::Regular { first: each - start % each, each, total };
    }
    let mut segments = Vec::new();
    grid.segments(d, start, total, step, &mut segments);
    let mut borders: Vec<u64> = segments.iter().map(|s| s.position).collect();
    if let Cut::Multiples(lengths) = cut {
        borders.iter_mut().for_each(|b| *b = *b / lengths[d] * lengths[d]);
        borders.dedup();
    }
    borders.push(total);
    Borders::Listed(borders)
}

/// Reads elements of fixed size as `data_type` into `buffer`, in C order.
pub fn read(array: &Array, selection: &Selection, data_type: DataType, buffer: &mut Vec<u8>) -> Outcome {
    let mut strides = vec![0; selection.shape().len()];
    let mut size = data_type.size();
    for d in (0..strides.len()).rev() {
        strides[d] = size as i64;
        let longer = usize::try_from(selection.shape()[d]).ok().and_then(|n| size.checked_mul(n)).filter(|&n| n <= isize::MAX as usize);
        size = longer.ok_or_else(|| Failure::Error("the region is too large".into()))?;
    }
    buffer.try_reserve_exact(size.saturating_sub(buffer.len())).map_err(|_| Failure::Error(format!("no memory for {size} bytes")))?;
    buffer.resize(size, 0);
    let strides = strides.into();
    let memory = Memory { data: buffer.as_mut_ptr(), size, offset: 0, strides, data_type, overflow: Overflow::Error, arena: None };
    // SAFETY: the memory is all of `buffer`, which nobody else touches until the call returns.
    Ok(unsafe { array.read(selection, &memory) }?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ozarr::node::{Create, Spec, Store};

    fn blocks(shape: &[u64], chunks: &[u64], step: i64, item: usize, cut: Cut<'_>) -> Blocks {
        let store = Store::memory(&Context::default());
        let mut spec = Spec::new(DataType::Float64, shape).unwrap();
        spec.set_chunks(chunks).unwrap();
        let array = Array::create(&store, "", &spec, Create::New).unwrap();
        let count: Vec<i64> = shape.iter().map(|&n| n.div_ceil(step.unsigned_abs()) as i64).collect();
        let start: Vec<i64> = shape.iter().map(|&n| if step < 0 { n as i64 - 1 } else { 0 }).collect();
        let selection = Selection::new(shape, &start, &count, Some(&vec![step; shape.len()])).unwrap();
        Blocks::new(&array, selection, item, cut)
    }

    /// Shape, chunk shape, step, cut, and the first borders of each dimension.
    type Case<'a> = (&'a [u64], &'a [u64], i64, Cut<'a>, &'a [&'a [u64]]);

    #[test]
    fn blocks_end_with_chunks_and_cover_everything_once() {
        const M: u64 = 1 << 20;
        let lengths = [1, 256];
        let cases: &[Case<'_>] = &[
            (&[10 * M], &[M], 1, Cut::Chunks, &[&[0, M, 2 * M]]),
            (&[1000, 1000], &[100, 100], 1, Cut::Chunks, &[&[0, 1000], &[0, 1000]]),
            (&[5, 7], &[2, 3], 1, Cut::EachChunk, &[&[0, 2, 4], &[0, 3, 6]]),
            (&[5, 7], &[2, 3], -1, Cut::EachChunk, &[&[0, 1, 3], &[0, 1, 4]]),
            (&[5, 7], &[2, 3], 2, Cut::EachChunk, &[&[0, 1, 2], &[0, 2, 3]]),
            // A chunk of 512 MiB is read in two parts.
            (&[64, M], &[64, M], 1, Cut::Chunks, &[&[0, 32], &[0]]),
            // Borders of chunks that are no borders of runs.
            (&[300, 5000], &[300, 1000], 1, Cut::Multiples(&lengths), &[&[0], &[0, 2816, 5000]]),
        ];
        for (shape, chunks, step, cut, want) in cases {
            let blocks = blocks(shape, chunks, *step, 8, *cut);
            for (cuts, want) in blocks.cuts.iter().zip(*want) {
                let begin: Vec<u64> = (0..cuts.blocks()).map(|n| cuts.block(n)).flat_map(|(at, n)| [at, at + n]).collect();
                assert!(want.iter().all(|border| begin.contains(border)), "{shape:?} {chunks:?}: {cuts:?}");
                assert_eq!(begin.get(1), want.get(1).or(begin.get(1)), "{shape:?} {chunks:?}: {cuts:?}");
            }
            let all = (0..blocks.len()).map(|n| blocks.get(n).shape.iter().product::<u64>()).sum::<u64>();
            assert_eq!(all, blocks.selection.shape().iter().product::<u64>());
            assert!((0..blocks.len()).all(|n| blocks.part(&blocks.get(n)).is_ok()));
        }
        assert_eq!(blocks(&[], &[], 1, 8, Cut::Chunks).len(), 1);
        assert_eq!(blocks(&[0, 5], &[1, 1], 1, 8, Cut::Chunks).len(), 0);
    }

    #[test]
    fn of_very_many_chunks_only_the_rule_is_kept() {
        const N: u64 = 100_000_000;
        for (cut, step) in [(Cut::Chunks, 1), (Cut::EachChunk, 1)] {
            let blocks = blocks(&[N * 1000 + 7], &[1000], step, 8, cut);
            assert!(matches!(blocks.cuts[..], [Borders::Regular { .. }]));
            let (first, last) = (blocks.get(0), blocks.get(blocks.len() - 1));
            assert_eq!((first.at[0], last.at[0] + last.shape[0]), (0, N * 1000 + 7));
            assert!(first.shape[0].is_multiple_of(1000) && last.at[0].is_multiple_of(1000) && blocks.part(&last).is_ok());
            assert_eq!(blocks.len() > N, matches!(cut, Cut::EachChunk));
        }
    }

    #[test]
    fn results_come_in_order_and_the_first_error_ends_it() {
        let blocks = blocks(&[64, 1 << 20], &[1, 1 << 20], 1, 8, Cut::EachChunk);
        let mut seen = Vec::new();
        let work = |block: &Block, _: &mut Vec<u8>| Ok(block.at[0]);
        assert!(
            blocks
                .each(None, work, |_, at| {
                    seen.push(at);
                    Ok(())
                })
                .is_ok()
        );
        assert_eq!(seen, (0..64).collect::<Vec<_>>());
        let fail = |block: &Block, _: &mut Vec<u8>| if block.at[0] == 9 { Err(Failure::Error("nine".into())) } else { Ok(()) };
        assert!(matches!(blocks.each(None, fail, |_, ()| Ok(())), Err(Failure::Error(text)) if text == "nine"));
    }
}
