//! The chunks of what to create: as they are set, or suggested.

use super::Spec;
use crate::counting;
use crate::error::{Result, bail};
use crate::grid::Grid;
use crate::grid::rectilinear::{Extents, Runs};
use crate::limits::Dims;
use crate::metadata::{Format, json, v3_grid};
use crate::node::Array;

/// The approximate number of bytes in a suggested chunk.
const SUGGESTED_BYTES: u128 = 1 << 20;
/// How many steps a run is taken to have of which nothing is known, and how many objects one array may make of them before shards are suggested.
const STEPS: u128 = 10_000;
const MOST_OBJECTS: u128 = 4096;
/// The largest suggested shard: a series has one across the array in memory.
const SHARD_BYTES: u128 = 1 << 26;

impl Spec {
    /// The shape of a chunk (of a shard, with inner chunks).
    pub fn set_chunks(&mut self, chunks: &[u64]) -> Result<()> {
        self.chunks = Some(self.check_chunks(chunks).map_err(|e| e.at_field("chunks"))?);
        self.extents.clear();
        Ok(())
    }

    /// The extents of the chunks along dimension `dim`, one after the other; in all at least the array's length there. Other
    /// dimensions keep theirs, of `set_chunks` (before this) or suggested. Equal ones along every dimension make a regular grid, others
    /// a rectilinear one, which v3 has.
    pub fn set_chunk_extents(&mut self, dim: usize, extents: &[u64]) -> Result<()> {
        let extents = self.check_extents(dim, extents).map_err(|e| e.at_field("chunks"))?;
        self.extents.retain(|(d, _)| *d != dim);
        self.extents.push((dim, extents));
        Ok(())
    }

    /// The chunks as `chunk_shapes` of a rectilinear grid has them: for each dimension an integer, or a list of extents and of pairs
    /// `[extent, count]`.
    pub fn set_chunks_json(&mut self, text: &str) -> Result<()> {
        let grid = json::parse_text(text).and_then(|v| v3_grid::rectilinear_grid(&v, &self.shape)).map_err(|e| e.at_field("chunks"))?;
        self.set_grid(&grid);
        Ok(())
    }

    pub(super) fn set_grid(&mut self, grid: &Grid) {
        self.chunks = Some(grid.largest(&self.shape));
        self.extents = match grid {
            Grid::Regular { .. } => Vec::new(),
            Grid::Rectilinear { extents } => extents.iter().cloned().enumerate().collect(),
        };
    }

    /// Sets suggested chunks, in shards where an array that grows would make too many objects, and says why these.
    pub fn suggest(&mut self) -> Result<String> {
        self.need_shape()?;
        let item = self.data_type.size();
        let chunks = suggested(&self.shape, item);
        let text = |shape: &[u64]| shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ");
        let bytes = product(&chunks).saturating_mul(item as u128);
        let count = self.shape.iter().zip(&chunks).map(|(&n, &c)| u128::from(n.div_ceil(c))).fold(1, u128::saturating_mul);
        let mut why = format!(
            "chunks of [{}] {}: {bytes} bytes each, {count} of them; the longest dimensions of [{}] were halved until a chunk has at most {SUGGESTED_BYTES} bytes",
            text(&chunks),
            self.data_type.name(),
            text(&self.shape),
        );
        let shards = self.shards_of(&chunks);
        if let Some(shards) = &shards {
            let (before, after) = (objects(&self.shape, &chunks), objects(&self.shape, shards));
            why += &format!("; in shards of [{}]: {STEPS} steps make {after} objects, and {before} without shards", text(shards));
        }
        self.set_shards(chunks, shards);
        Ok(why)
    }

    /// Sets chunks, and the shards that they are in.
    pub(in crate::node) fn set_shards(&mut self, chunks: Dims, shards: Option<Dims>) {
        self.extents.clear();
        self.inner_chunks = shards.is_some().then(|| chunks.clone());
        self.chunks = Some(shards.unwrap_or(chunks));
    }

    /// Sets the chunks of an array, and its shards; those of a rectilinear grid stay suggested.
    pub(in crate::node) fn take_chunks_of(&mut self, array: &Array) {
        if array.grid().regular_shape().is_none() {
            return;
        }
        let (stored, inner) = (array.chunk_shape(), array.inner_chunk_shape());
        // Codecs that are given have the inner chunks themselves.
        if stored == inner || self.codecs.is_some() { self.set_shards(stored, None) } else { self.set_shards(inner, Some(stored)) }
    }

    /// The shards for suggested chunks of an array that grows, where these would make too many objects and the format has shards.
    pub(in crate::node) fn shards_of(&self, chunks: &[u64]) -> Option<Dims> {
        let has_shards = self.format != Some(Format::V2) && self.codecs.is_none();
        let shards = has_shards.then(|| suggested_shards(&self.shape, chunks, self.data_type.size()))?;
        (shards.as_slice() != chunks).then_some(shards)
    }

    /// Whether the chunks are to be suggested.
    pub(in crate::node) fn leaves_chunks(&self) -> bool {
        !self.chunks_are_set() && self.inner_chunks.is_none()
    }

    pub(super) fn chunks_are_set(&self) -> bool {
        self.chunks.is_some() || !self.extents.is_empty()
    }

    pub(super) fn has_listed_extents(&self) -> bool {
        self.extents.iter().any(|(_, e)| matches!(e, Extents::Listed(_)))
    }

    pub(super) fn grid(&self) -> Result<Grid> {
        let chunks = self.chunks.clone().unwrap_or_else(|| self.suggested_beside());
        let mut all: Vec<Extents> = chunks.into_iter().map(Extents::Repeat).collect();
        for (d, extents) in &self.extents {
            all[*d] = extents.clone();
        }
        Grid::rectilinear(all)
    }

    /// Suggested chunks, where the extents along some dimensions are given.
    fn suggested_beside(&self) -> Dims {
        let (mut shape, mut item) = (self.shape.clone(), self.data_type.size());
        for (d, extents) in &self.extents {
            let largest = extents.within(self.shape[*d]).max().unwrap_or(1);
            shape[*d] = 1;
            item = usize::try_from(largest).map_or(usize::MAX, |n| item.saturating_mul(n));
        }
        suggested(&shape, item)
    }

    fn check_extents(&self, dim: usize, extents: &[u64]) -> Result<Extents> {
        let Some(&length) = self.shape.get(dim) else {
            bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, self.rank()), self.rank())
        };
        let mut list = Runs::new();
        for (i, &extent) in extents.iter().enumerate() {
            if extent == 0 {
                bail!(
                    Argument,
                    "extent {} along {} is 0, expected at least 1",
                    counting::position(i as i64),
                    counting::dimension(dim, self.rank())
                );
            }
            list.push(extent, 1)?;
        }
        if extents.is_empty() || self.shape_is_set && list.end() < length {
            bail!(
                Argument,
                "the extents along {} add up to {}, expected at least its length {length}",
                counting::dimension(dim, self.rank()),
                list.end()
            );
        }
        let mut runs = list.iter();
        match (runs.next(), runs.next()) {
            (Some((extent, _)), None) => Ok(Extents::Repeat(extent)),
            _ => {
                drop(runs);
                Ok(Extents::Listed(list))
            }
        }
    }

    pub(super) fn check_chunks(&self, chunks: &[u64]) -> Result<Dims> {
        if chunks.len() != self.rank() {
            bail!(Rank, "found {} extents, expected {}, one for each dimension", chunks.len(), self.rank());
        }
        match chunks.iter().position(|&c| c == 0 || c > i64::MAX as u64) {
            Some(d) => bail!(Argument, "{} is {}, expected 1 to 2^63 - 1", counting::dimension(d, chunks.len()), chunks[d]),
            None => Ok(Dims::from_slice(chunks)),
        }
    }
}

fn product(dims: &[u64]) -> u128 {
    dims.iter().map(|&n| u128::from(n)).fold(1, u128::saturating_mul)
}

/// The whole shape, its longest dimensions halved until a chunk has at most about 1 MiB. The first dimension of length 0, which is there to be
/// appended to, gets as many of what is beside it as fit into 1 MiB: a power of two; further ones get 1.
pub(in crate::node) fn suggested(shape: &[u64], item: usize) -> Dims {
    let mut chunk: Dims = shape.iter().map(|&n| n.max(1)).collect();
    while product(&chunk).saturating_mul(item as u128) > SUGGESTED_BYTES {
        // The first of equals: elements along the last dimension are adjacent in memory.
        let longest = chunk.iter().copied().max().unwrap_or(1);
        match chunk.iter_mut().find(|c| **c == longest) {
            Some(c) if *c > 1 => *c = c.div_ceil(2),
            _ => break,
        }
    }
    if let Some(grows) = shape.iter().position(|&n| n == 0) {
        let step = product(&chunk).saturating_mul(item.max(1) as u128);
        let fit = u64::try_from(SUGGESTED_BYTES / step).unwrap_or(1);
        chunk[grows] = fit.checked_ilog2().map_or(1, |n| 1 << n);
    }
    chunk
}

/// How many objects an array makes in a run of [`STEPS`] steps; of one that does not grow, none that could be fewer.
fn objects(shape: &[u64], chunk: &[u64]) -> u128 {
    let Some(grows) = shape.iter().position(|&n| n == 0) else { return 0 };
    let along = |d: usize| if d == grows { STEPS.div_ceil(u128::from(chunk[d])) } else { u128::from(shape[d].div_ceil(chunk[d]).max(1)) };
    (0..shape.len()).map(along).fold(1, u128::saturating_mul)
}

/// Whole numbers of chunks, first across the array and then along the dimension that grows, until a run makes few enough objects or a shard is
/// as large as it may be.
fn suggested_shards(shape: &[u64], chunk: &[u64], item: usize) -> Dims {
    let mut shard = Dims::from_slice(chunk);
    while objects(shape, &shard) > MOST_OBJECTS {
        let across = (0..shape.len()).rev().find(|&d| shard[d] < shape[d]);
        let Some(d) = across.or_else(|| shape.iter().position(|&n| n == 0)) else { break };
        let mut next = shard.clone();
        next[d] = next[d].saturating_mul(2);
        if product(&next).saturating_mul(item as u128) > SHARD_BYTES {
            break;
        }
        shard = next;
    }
    shard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_suggested_by_halving() {
        let cases: &[(&[u64], usize, &[u64])] = &[
            (&[], 8, &[]),
            (&[0, 64, 64], 8, &[32, 64, 64]),
            (&[64, 0, 96], 4, &[64, 32, 96]),
            (&[0, 0], 4, &[1 << 18, 1]),
            (&[0, 1 << 10, 1 << 10], 8, &[1, 256, 512]),
            (&[0], 8, &[1 << 17]),
            (&[100, 64, 64], 8, &[50, 32, 64]),
            (&[10], 8, &[10]),
            (&[1 << 40], 1, &[1 << 20]),
            (&[1024, 1024], 4, &[512, 512]),
        ];
        for (shape, item, want) in cases {
            assert_eq!(suggested(shape, *item).as_slice(), *want, "{shape:?}");
        }
        let shards: &[(&[u64], usize, &[u64])] = &[
            (&[0, 64, 64], 8, &[32, 64, 64]),
            (&[0, 1 << 10, 1 << 10], 8, &[4, 1 << 10, 1 << 10]),
            (&[1 << 10, 0, 1 << 9], 4, &[1 << 10, 4, 1 << 9]),
            (&[0, 1 << 9, 1 << 9, 1 << 9], 8, &[1, 32, 512, 512]),
            (&[1 << 20, 1 << 10, 1 << 10], 8, &[32, 64, 64]),
        ];
        for (shape, item, want) in shards {
            let chunks = suggested(shape, *item);
            let found = suggested_shards(shape, &chunks, *item);
            assert_eq!(found.as_slice(), *want, "{shape:?} in chunks of {chunks:?}");
        }
        let huge = suggested(&[i64::MAX as u64; 64], 16);
        assert!(product(&huge) * 16 <= SUGGESTED_BYTES && huge.iter().all(|&c| c >= 1));
    }
}
