//! One dimension of a rectilinear grid: one extent for all chunks, or runs of chunks of equal extents, found by bisection.
//! Specification: zarr-extensions, "Rectilinear chunk grid".

use crate::error::{Result, bail, err};
use crate::limits::make_room;
use std::sync::Arc;

/// The extents of the chunks along one dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extents {
    /// All are that long, as many as the array needs; at least 1.
    Repeat(u64),
    /// As they are listed.
    Listed(Runs),
}

/// A list of extents: neighbours of equal extents are one entry, so that a million equal ones take the room of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Never empty in a grid; the extents of neighbours differ. Copies share them.
    runs: Arc<Vec<EqualChunks>>,
    chunks: u64,
    end: u64,
}

/// Chunks of equal extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EqualChunks {
    extent: u64,
    /// The index of the first chunk.
    chunk: u64,
    /// Its first element.
    origin: u64,
}

/// Where a chunk is along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The chunk's index.
    pub chunk: u64,
    /// Its first element.
    pub origin: u64,
    /// How many elements it has.
    pub extent: u64,
}

impl Runs {
    /// No extents yet.
    pub fn new() -> Runs {
        Runs::default()
    }

    /// Appends `count` chunks of that extent. Errors: `Metadata` where either is 0; `Limit` beyond 2^63 - 1 elements in all.
    pub fn push(&mut self, extent: u64, count: u64) -> Result<()> {
        if extent == 0 || count == 0 {
            bail!(Metadata, "found {count} chunks of extent {extent}, expected at least 1 of both");
        }
        let end = extent.checked_mul(count).and_then(|n| n.checked_add(self.end)).filter(|&n| n <= i64::MAX as u64);
        let end = end.ok_or_else(|| err!(Limit, "the sum of the extents exceeds 2^63 - 1"))?;
        if self.runs.last().is_none_or(|last| last.extent != extent) {
            let run = EqualChunks { extent, chunk: self.chunks, origin: self.end };
            let runs = self.own_runs()?;
            make_room(runs, 1)?;
            runs.push(run);
        }
        (self.chunks, self.end) = (self.chunks + count, end);
        Ok(())
    }

    /// The runs, which no copy has.
    fn own_runs(&mut self) -> Result<&mut Vec<EqualChunks>> {
        if Arc::get_mut(&mut self.runs).is_none() {
            let mut own = Vec::new();
            make_room(&mut own, self.runs.len() + 1)?;
            own.extend_from_slice(&self.runs);
            self.runs = Arc::new(own);
        }
        Arc::get_mut(&mut self.runs).ok_or_else(|| err!(Internal, "extents that were just copied are shared"))
    }

    /// The sum of the extents.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Each extent with the number of chunks that follow one another with it.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let next = self.runs.iter().skip(1).map(|run| run.chunk).chain([self.chunks]);
        self.runs.iter().zip(next).map(|(run, next)| (run.extent, next - run.chunk))
    }

    /// The run at which `before` turns false, less one.
    fn last_where(&self, before: impl Fn(&EqualChunks) -> bool) -> EqualChunks {
        let n = self.runs.partition_point(before);
        self.runs.get(n.saturating_sub(1)).copied().unwrap_or(EqualChunks { extent: 1, chunk: 0, origin: 0 })
    }
}

impl Extents {
    /// The chunk that holds element `i`, or the last one.
    pub fn at_element(&self, i: u64) -> Cell {
        match self {
            Extents::Repeat(extent) => Cell { chunk: i / extent, origin: i / extent * extent, extent: *extent },
            Extents::Listed(list) => {
                let i = i.min(list.end.saturating_sub(1));
                let run = list.last_where(|run| run.origin <= i);
                let n = (i - run.origin) / run.extent;
                Cell { chunk: run.chunk + n, origin: run.origin + n * run.extent, extent: run.extent }
            }
        }
    }

    /// Chunk `index`, or the last one.
    pub fn at_chunk(&self, index: u64) -> Cell {
        match self {
            Extents::Repeat(extent) => Cell { chunk: index, origin: index.saturating_mul(*extent), extent: *extent },
            Extents::Listed(list) => {
                let chunk = index.min(list.chunks.saturating_sub(1));
                let run = list.last_where(|run| run.chunk <= chunk);
                Cell { chunk, origin: run.origin + (chunk - run.chunk) * run.extent, extent: run.extent }
            }
        }
    }

    /// The different extents of the chunks that hold one of the first `length` elements, at least those of the first chunk;
    /// the same one may come again.
    pub fn within(&self, length: u64) -> impl Iterator<Item = u64> {
        let (one, runs) = match self {
            Extents::Repeat(extent) => (Some(*extent), &[][..]),
            Extents::Listed(list) => (None, &list.runs[..]),
        };
        one.into_iter().chain(runs.iter().take_while(move |run| run.origin < length.max(1)).map(|run| run.extent))
    }

    /// Extents for an array of that length: where the listed ones end before, one chunk more for the rest, its extent rounded up to
    /// a multiple of `multiple`.
    pub fn grown(&self, length: u64, multiple: u64) -> Result<Extents> {
        match self {
            Extents::Listed(list) if list.end < length => {
                let extent = (length - list.end).checked_next_multiple_of(multiple.max(1));
                let mut list = list.clone();
                list.push(extent.ok_or_else(|| err!(Limit, "the chunk's extent exceeds 2^64"))?, 1)?;
                Ok(Extents::Listed(list))
            }
            other => Ok(other.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn listed(list: &[(u64, u64)]) -> Extents {
        let mut runs = Runs::new();
        list.iter().for_each(|&(extent, count)| runs.push(extent, count).unwrap());
        Extents::Listed(runs)
    }

    #[test]
    fn elements_and_chunks_are_found_in_every_run() {
        // 1 1 1 3 4 4 2
        let extents = listed(&[(1, 3), (3, 1), (4, 1), (4, 1), (2, 1)]);
        let (mut origin, mut chunk) = (0, 0);
        for extent in [1, 1, 1, 3, 4, 4, 2] {
            let want = Cell { chunk, origin, extent };
            assert_eq!(extents.at_chunk(chunk), want);
            (origin..origin + extent).for_each(|i| assert_eq!(extents.at_element(i), want, "{i}"));
            (origin, chunk) = (origin + extent, chunk + 1);
        }
        assert_eq!(extents.at_element(99), extents.at_chunk(6), "beyond the end: the last one");
        let Extents::Listed(list) = extents else { panic!() };
        assert_eq!((list.end(), list.chunks), (16, 7));
        assert_eq!(list.iter().collect::<Vec<_>>(), [(1, 3), (3, 1), (4, 2), (2, 1)]);
    }

    #[test]
    fn a_trillion_equal_chunks_take_the_room_of_one() {
        let extents = listed(&[(7, 1 << 40), (5, 1)]);
        let Extents::Listed(list) = &extents else { panic!() };
        assert_eq!(list.runs.len(), 2);
        assert_eq!(extents.at_element(7 << 40), Cell { chunk: 1 << 40, origin: 7 << 40, extent: 5 });
        assert_eq!(extents.at_element((7 << 40) - 1), Cell { chunk: (1 << 40) - 1, origin: (7 << 40) - 7, extent: 7 });
    }

    #[test]
    fn zeros_and_absurd_sums_are_refused() {
        for (extent, count, kind) in [
            (0, 1, ErrorKind::Metadata),
            (1, 0, ErrorKind::Metadata),
            (1 << 62, 2, ErrorKind::Limit),
            (u64::MAX, 1, ErrorKind::Limit),
            (u64::MAX, u64::MAX, ErrorKind::Limit),
        ] {
            assert_eq!(Runs::new().push(extent, count).unwrap_err().kind(), kind, "{extent} x {count}");
        }
        let mut runs = Runs::new();
        runs.push(i64::MAX as u64, 1).unwrap();
        assert_eq!(runs.push(1, 1).unwrap_err().kind(), ErrorKind::Limit);
    }

    #[test]
    fn growing_adds_one_chunk_where_the_list_ends_before() {
        let extents = listed(&[(4, 1), (3, 1)]);
        assert_eq!(extents.grown(7, 1).unwrap(), extents);
        assert_eq!(extents.grown(2, 1).unwrap(), extents);
        assert_eq!(extents.grown(12, 1).unwrap(), listed(&[(4, 1), (3, 1), (5, 1)]));
        assert_eq!(extents.grown(12, 4).unwrap(), listed(&[(4, 1), (3, 1), (8, 1)]));
        assert_eq!(extents.grown(10, 1).unwrap(), listed(&[(4, 1), (3, 2)]));
        assert_eq!(Extents::Repeat(3).grown(100, 2).unwrap(), Extents::Repeat(3));
    }

    #[test]
    fn only_chunks_that_hold_elements_count() {
        let extents = listed(&[(4, 2), (9, 1), (100, 1)]);
        assert_eq!(extents.within(0).collect::<Vec<_>>(), [4]);
        assert_eq!(extents.within(8).collect::<Vec<_>>(), [4]);
        assert_eq!(extents.within(17).collect::<Vec<_>>(), [4, 9]);
        assert_eq!(extents.within(18).collect::<Vec<_>>(), [4, 9, 100]);
        assert_eq!(Extents::Repeat(5).within(0).collect::<Vec<_>>(), [5]);
    }
}
