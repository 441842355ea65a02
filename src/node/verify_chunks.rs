//! The chunks that verifying looks at, each of which is decoded whole.

use crate::dtype::variable::Arena;
use crate::engine::{self, BoundArray, Memory, Overflow, Selection};
use crate::error::Result;
use crate::limits::{self, Dims, c_strides, chunk_bytes};
use std::sync::Arc;

/// What is more than these bytes is decoded by inner chunks.
const LARGE: u64 = 256 << 20;

/// An array, and its chunks that are to be looked at.
pub(super) struct Work {
    pub array: Arc<BoundArray>,
    /// How many chunks it has along each dimension.
    counts: Dims,
    /// What is decoded at once: a chunk, or a shard's inner chunk.
    inner: Dims,
    pub chunks: Chosen,
}

/// The chunks of an array that are looked at.
pub(super) enum Chosen {
    Listed(Vec<Dims>),
    /// Every chunk of a store that cannot be listed.
    All(Dims),
}

impl Chosen {
    pub fn len(&self) -> u64 {
        match self {
            Chosen::Listed(list) => list.len() as u64,
            Chosen::All(counts) => counts.iter().fold(1, |n: u64, &c| n.saturating_mul(c)),
        }
    }

    pub fn get(&self, mut number: u64) -> Dims {
        match self {
            Chosen::Listed(list) => list[number as usize].clone(),
            Chosen::All(counts) => {
                let mut index = Dims::from_elem(0, counts.len());
                for d in (0..counts.len()).rev() {
                    (index[d], number) = (number % counts[d], number / counts[d]);
                }
                index
            }
        }
    }
}

impl Work {
    /// The array as if it ended with its last chunks, so that each of them is read whole.
    pub fn new(bound: Arc<BoundArray>, inner: Dims, chunks: Chosen) -> Work {
        let counts = bound.grid.counts(&bound.shape);
        let end = |(d, &count): (usize, &u64)| {
            count
                .checked_sub(1)
                .map_or(0, |last| bound.grid.origin(d, last).saturating_add(bound.grid.extent(d, last)).min(i64::MAX as u64))
        };
        let shape: Dims = counts.iter().enumerate().map(end).collect();
        let array = Arc::new(BoundArray { shape, cache: None, write_back: None, ..(*bound).clone() });
        Work { array, counts, inner, chunks }
    }

    /// How many bytes are stored under a key.
    pub fn stored_bytes(&self, key: &str) -> Option<u64> {
        self.array.store.open(key).ok().flatten()?.len().ok()
    }

    /// Reads a chunk whole and forgets its elements; leaves out one that the array has lost since it was listed.
    pub fn decode(&self, index: &[u64]) -> Result<()> {
        if index.iter().zip(&self.counts).any(|(i, n)| i >= n) {
            return Ok(());
        }
        let array = &self.array;
        if array.is_sharded() {
            self.check_shard(index)?;
        }
        let origin: Dims = index.iter().enumerate().map(|(d, &i)| array.grid.origin(d, i)).collect();
        let count: Dims = (0..index.len()).map(|d| array.grid.extent(d, index[d]).min(array.shape[d] - origin[d])).collect();
        self.decode_box(origin, count)
    }

    /// Checks a shard as it is stored where the store has a checksum of it: its parts are read without a look at that.
    fn check_shard(&self, index: &[u64]) -> Result<()> {
        match self.array.store.open(&self.array.key_of(index)?)?.filter(|object| object.crc32().is_some()) {
            Some(object) => object.read_in_pieces(&mut |_, _| Ok(())),
            None => Ok(()),
        }
    }

    /// Reads a box of elements, in two halves where it is large and more than one inner chunk.
    fn decode_box(&self, origin: Dims, count: Dims) -> Result<()> {
        let (array, data_type) = (&self.array, self.array.data_type);
        let bytes = count.iter().fold(data_type.size() as u64, |bytes, &n| bytes.saturating_mul(n));
        let parts = |d: usize| count[d].div_ceil(self.inner[d].max(1));
        if bytes > LARGE
            && let Some(d) = (0..count.len()).max_by_key(|&d| parts(d)).filter(|&d| parts(d) > 1)
        {
            let (mut first, mut rest, mut at) = (count.clone(), count.clone(), origin.clone());
            first[d] = parts(d) / 2 * self.inner[d];
            (rest[d], at[d]) = (count[d] - first[d], origin[d] + first[d]);
            return self.decode_box(origin, first).and_then(|()| self.decode_box(at, rest));
        }
        let signed = |list: &[u64]| list.iter().map(|&n| n as i64).collect::<Vec<_>>();
        let selection = Selection::new(&array.shape, &signed(&origin), &signed(&count), None)?;
        let bytes = chunk_bytes(&count, data_type.size())?;
        let mut buffer = Vec::new();
        let data = limits::grow(&mut buffer, bytes)?.as_mut_ptr();
        let arena = data_type.is_variable().then(Arc::<Arena>::default);
        let strides = c_strides(&count, data_type.size());
        let memory = Memory { data, size: bytes, offset: 0, strides, data_type, overflow: Overflow::Error, arena };
        // SAFETY: the buffer has room for every element, and nothing else uses it until the call ends.
        unsafe { engine::read(array, &selection, &memory) }
    }
}
