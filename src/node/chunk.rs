//! Chunks as they are: which ones are stored, their keys, places and encoded bytes; whether a region is made of whole ones; and
//! shards that are written piece by piece.

use super::Array;
use super::fill::write_fill;
use super::state::ArrayState;
use super::stored_chunks::each_chunk;
use crate::counting;
use crate::engine::{BoundArray, Memory, Selection, ShardWriter};
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::{self, Dims};
use crate::sort::sort_by;
use crate::store::{Condition, StorageExt};
use std::sync::Arc;

/// Where encoded bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPlace {
    /// The first byte in the object of the key: 0 for a chunk, for an inner chunk its place in the shard.
    pub offset: u64,
    /// The number of bytes.
    pub size: u64,
}

/// The chunks of an array that are stored, one after the other in C order of their indices; inner chunks shard by shard.
pub struct Chunks {
    array: Array,
    inner: bool,
    /// The chunks that are still to come, the next one last.
    chunks: Vec<Dims>,
    /// Inner chunks of the last shard that are still to come, the next one last.
    inner_chunks: Vec<(Dims, ChunkPlace)>,
}

/// The shape of an array, and how it is cut, at one moment.
struct Cutting {
    state: Arc<ArrayState>,
    /// The extents of inner chunks; `None` where whole chunks are meant.
    inner: Option<Dims>,
}

impl Cutting {
    fn new(array: &Array, inner: bool) -> Result<Cutting> {
        let state = array.state();
        let inner = (inner && array.is_sharded()?).then(|| array.inner_chunk_shape());
        Ok(Cutting { state, inner })
    }

    fn counts(&self) -> Dims {
        let meta = &self.state.meta;
        let each = meta.shape.iter().enumerate();
        match &self.inner {
            None => each.map(|(d, &n)| meta.grid.count(d, n)).collect(),
            Some(inner) => each.map(|(d, &n)| n.div_ceil(inner[d].max(1))).collect(),
        }
    }

    /// The index of the chunk, and that of the inner chunk in it.
    fn split(&self, index: &[u64]) -> Result<(Dims, Option<Dims>)> {
        let (meta, counts) = (&self.state.meta, self.counts());
        if index.len() != counts.len() {
            bail!(Rank, "found an index of rank {}, expected the array's rank {}", index.len(), counts.len());
        }
        if let Some(d) = (0..counts.len()).find(|&d| index[d] >= counts[d]) {
            bail!(
                Bounds,
                "{}: there is no chunk {}, the array has {} along it",
                counting::dimension(d, counts.len()),
                counting::position(index[d] as i64),
                counts[d]
            );
        }
        let Some(inner) = &self.inner else { return Ok((index.into(), None)) };
        let first = |d: usize| index[d] * inner[d];
        let chunk: Dims = (0..index.len()).map(|d| meta.grid.chunk_of(d, first(d))).collect();
        let place = (0..index.len()).map(|d| (first(d) - meta.grid.origin(d, chunk[d])) / inner[d]).collect();
        Ok((chunk, Some(place)))
    }
}

impl Array {
    /// Whether chunks are shards whose inner chunks can be told apart.
    fn is_sharded(&self) -> Result<bool> {
        Ok(self.inner_chunk_shape() != self.chunk_shape() || self.state().bound(self.path())?.is_sharded())
    }

    fn bound_now(&self) -> Result<Arc<BoundArray>> {
        self.state().bound(self.path())
    }

    fn key_of(&self, chunk: &[u64]) -> Result<String> {
        let state = self.state();
        let (mut key, keys) = state.chunks.clone();
        keys.push(chunk.iter().copied(), &mut key).map(|()| key)
    }

    /// Returns the first element and the extent of chunk `index` along dimension `dim`; the chunk may extend beyond the array's end.
    /// Errors: `Bounds`.
    pub fn chunk_extent(&self, dim: usize, index: u64) -> Result<(u64, u64)> {
        let state = self.state();
        let Some(&length) = state.meta.shape.get(dim) else {
            bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, state.meta.shape.len()), state.meta.shape.len());
        };
        let count = state.meta.grid.count(dim, length);
        if index >= count {
            bail!(
                Bounds,
                "chunk {} along {}, where the array has {count}",
                counting::position(index as i64),
                counting::dimension(dim, state.meta.shape.len())
            );
        }
        Ok((state.meta.grid.origin(dim, index), state.meta.grid.extent(dim, index)))
    }

    /// The key of a chunk in the store.
    pub fn chunk_key(&self, index: &[u64]) -> Result<String> {
        self.key_of(&Cutting::new(self, false)?.split(index)?.0)
    }

    /// Where the bytes of a chunk or an inner chunk are; `None` if it is not stored.
    pub fn chunk_place(&self, index: &[u64], inner: bool) -> Result<Option<ChunkPlace>> {
        self.finish_writes()?;
        match Cutting::new(self, inner)?.split(index)? {
            (chunk, Some(place)) => {
                let stored = self.bound_now()?.stored_inner(&chunk, &place)?;
                Ok(stored.map(|s| ChunkPlace { offset: s.offset, size: s.len }))
            }
            (chunk, None) => {
                let key = self.key_of(&chunk)?;
                let place = |object: crate::store::Object| object.len().map(|size| ChunkPlace { offset: 0, size });
                self.state().chunk_store.open(&key).and_then(|found| found.map(place).transpose()).map_err(|e| e.at_key(key))
            }
        }
    }

    /// Reads the encoded bytes of a chunk or an inner chunk to the beginning of `buf`, and gives their number. One that is not
    /// stored is an error of kind `Missing`, a buffer that is too small one of kind `BufferSize`; `size` is told in any case.
    pub fn chunk_read(&self, index: &[u64], inner: bool, buf: &mut [u8], size: &mut u64) -> Result<()> {
        self.finish_writes()?;
        let (chunk, place) = Cutting::new(self, inner)?.split(index)?;
        let key = self.key_of(&chunk)?;
        let mut fit = |len: u64, have: usize| {
            *size = len;
            match usize::try_from(len) {
                Ok(n) if n <= have => Ok(n),
                _ => Err(err!(BufferSize, "`data` has {have} bytes, expected {len} for the encoded chunk")),
            }
        };
        let missing = || err!(Missing, "the chunk {} is not stored", counting::index(index)).at_key(&key);
        match place {
            Some(place) => {
                let stored = self.bound_now()?.stored_inner(&chunk, &place)?.ok_or_else(missing)?;
                let n = fit(stored.len, buf.len())?;
                stored.read(&mut buf[..n]).map_err(|e| e.at_key(&key))
            }
            None => {
                let object = self.state().chunk_store.open(&key).map_err(|e| e.at_key(&key))?.ok_or_else(missing)?;
                let n = fit(object.len().map_err(|e| e.at_key(&key))?, buf.len())?;
                object.read_exact_at(0, &mut buf[..n]).map_err(|e| e.at_key(&key))
            }
        }
    }

    /// Replaces the encoded bytes of a chunk or an inner chunk by `bytes`, which are not checked.
    pub fn chunk_write(&self, index: &[u64], inner: bool, bytes: &[u8]) -> Result<()> {
        self.check_changeable()?;
        self.finish_writes()?;
        match Cutting::new(self, inner)?.split(index)? {
            (chunk, Some(place)) => self.bound_now()?.replace_stored_inner(&chunk, &place, Some(bytes)).map(drop),
            (chunk, None) => self.change_chunk(&chunk, |state, key| match &state.bound {
                Ok(bound) => bound.replace_stored(key, bytes),
                Err(_) => state.while_there(|| state.chunk_store.put(key, &[bytes], Condition::None)),
            }),
        }
    }

    /// Removes what is stored of a chunk or an inner chunk: it reads as the fill value from then on. False if nothing was.
    pub fn chunk_erase(&self, index: &[u64], inner: bool) -> Result<bool> {
        self.check_changeable()?;
        self.finish_writes()?;
        match Cutting::new(self, inner)?.split(index)? {
            (chunk, Some(place)) => self.bound_now()?.replace_stored_inner(&chunk, &place, None),
            (chunk, None) => self.erase_whole(&chunk),
        }
    }

    /// Where another writer may take the array over the fill value is stored in place of a chunk, as erasing has no conditions.
    fn erase_whole(&self, chunk: &[u64]) -> Result<bool> {
        match self.bound_now() {
            Ok(bound) if bound.fence().is_some() => {
                let is_stored = self.chunk_place(chunk, false)?.is_some();
                if is_stored {
                    let along = |(d, &index): (usize, &u64)| {
                        let (first, extent) = self.chunk_extent(d, index)?;
                        Ok((first as i64, extent.min(bound.shape[d].saturating_sub(first)) as i64))
                    };
                    let (start, shape): (Vec<i64>, Vec<i64>) = chunk.iter().enumerate().map(along).collect::<Result<_>>()?;
                    write_fill(&bound, &Selection::new(&bound.shape, &start, &shape, None)?)?;
                }
                Ok(is_stored)
            }
            _ => self.change_chunk(chunk, |state, key| state.while_there(|| state.chunk_store.erase(key))),
        }
    }

    fn change_chunk<T>(&self, chunk: &[u64], change: impl FnOnce(&ArrayState, &str) -> Result<T>) -> Result<T> {
        let (key, state) = (self.key_of(chunk)?, self.state());
        let bound = state.bound.as_ref().ok();
        // Without its codecs an array has nobody else here that changes chunks.
        let _guard = bound.map(|bound| bound.locks.wait(bound.lock_name(&key)));
        let done = change(&state, &key);
        if let Some(bound) = bound {
            bound.key_changed(&key);
        }
        done.map_err(|e| e.at_key(key))
    }

    /// Lists the chunks, or the inner chunks, that are stored; those outside of the array's shape are not among them.
    pub fn chunks(&self, inner: bool) -> Result<Chunks> {
        self.finish_writes()?;
        let cutting = Cutting::new(self, inner)?;
        self.store().check_listable()?;
        let mut chunks = Vec::new();
        each_chunk(&cutting.state.chunk_store, &cutting.state, &mut |_, index| limits::push(&mut chunks, index.clone()))?;
        chunks.sort_unstable();
        chunks.reverse();
        Ok(Chunks { array: self.for_work(), inner: cutting.inner.is_some(), chunks, inner_chunks: Vec::new() })
    }

    /// Calls `each` with the index of every chunk that is stored, inside of the array's shape, in no certain order; its error ends that.
    /// What this program writes now, or lets wait, is stored first.
    pub fn each_stored(&self, each: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        self.finish_writes()?;
        self.store().check_listable()?;
        let state = self.state();
        each_chunk(&state.chunk_store, &state, &mut |_, index| each(index))
    }

    /// The number of chunks, or inner chunks, that are stored.
    pub fn chunk_count(&self, inner: bool) -> Result<u64> {
        let mut chunks = self.chunks(inner)?;
        if !chunks.inner {
            return Ok(chunks.chunks.len() as u64);
        }
        let mut count = 0;
        while chunks.step()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Begins to write the shard of that index.
    pub fn shard_writer(&self, index: &[u64]) -> Result<ArrayShardWriter> {
        self.check_changeable()?;
        self.finish_writes()?;
        let (chunk, _) = Cutting::new(self, false)?.split(index)?;
        Ok(ArrayShardWriter { array: self.for_work(), writer: ShardWriter::new(&self.bound_now()?, &chunk)?, chunk })
    }
}

impl Chunks {
    /// The next one: its index in the grid of chunks or inner chunks.
    pub fn step(&mut self) -> Result<Option<(Dims, ChunkPlace)>> {
        loop {
            if let Some(next) = self.inner_chunks.pop() {
                return Ok(Some(next));
            }
            let Some(chunk) = self.chunks.pop() else { return Ok(None) };
            if self.inner {
                self.load(&chunk)?;
                continue;
            }
            match self.array.chunk_place(&chunk, false) {
                // The array was made shorter since they were listed.
                Err(e) if e.kind() == ErrorKind::Bounds => {}
                place => {
                    if let Some(place) = place? {
                        return Ok(Some((chunk, place)));
                    }
                }
            }
        }
    }

    fn load(&mut self, chunk: &[u64]) -> Result<()> {
        let cutting = Cutting::new(&self.array, true)?;
        let (grid, counts) = (&cutting.state.meta.grid, cutting.counts());
        let Some(inner) = &cutting.inner else { bail!(State, "the array is not sharded any more") };
        let first: Dims = (0..chunk.len()).map(|d| grid.origin(d, chunk[d]) / inner[d].max(1)).collect();
        let found = &mut self.inner_chunks;
        self.array.bound_now()?.each_stored_inner(chunk, &mut |place, offset, size| {
            let index: Dims = first.iter().zip(place).map(|(a, b)| a + b).collect();
            if index.iter().zip(&counts).all(|(i, n)| i < n) {
                limits::push(found, (index, ChunkPlace { offset, size }))?;
            }
            Ok(())
        })?;
        sort_by(found, |a, b| b.0.cmp(&a.0));
        Ok(())
    }
}

/// A shard of an array that is being written: see [`ShardWriter`].
pub struct ArrayShardWriter {
    array: Array,
    writer: ShardWriter,
    chunk: Dims,
}

impl ArrayShardWriter {
    /// The array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The index in the shard of an inner chunk of the array.
    fn place(&self, index: &[u64]) -> Result<Dims> {
        match Cutting::new(&self.array, true)?.split(index)? {
            (chunk, Some(place)) if chunk == self.chunk => Ok(place),
            (chunk, _) => bail!(Bounds, "the inner chunk {index:?} is in the shard {chunk:?}, this is {:?}", self.chunk),
        }
    }

    /// Returns the shape of an inner chunk (its index in the array's grid of inner chunks), cut at the array's edge.
    pub fn inside(&self, index: &[u64]) -> Result<Dims> {
        self.writer.inside(&self.place(index)?)
    }

    /// Encodes and stores an inner chunk.
    ///
    /// # Safety
    /// As for [`ShardWriter::put`].
    pub unsafe fn put(&mut self, index: &[u64], memory: &Memory) -> Result<()> {
        let place = self.place(index)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { self.writer.put(&place, memory) }
    }

    /// Stores the encoded bytes of an inner chunk.
    pub fn put_encoded(&mut self, index: &[u64], bytes: &[u8]) -> Result<()> {
        let place = self.place(index)?;
        self.writer.put_encoded(&place, bytes)
    }

    /// Completes the shard and makes it visible.
    pub fn finish(&mut self) -> Result<()> {
        self.array.check_changeable()?;
        // What was written since the shard was begun would be stored over it later.
        self.array.finish_writes()?;
        self.writer.finish()
    }
}
