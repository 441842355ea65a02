//! A shard that is written inner chunk by inner chunk, in any order, without being held in memory: the bytes go to a temporary
//! value of the store, which becomes the shard when its index is complete.

use super::Selection;
use super::array::BoundArray;
use super::chunk_sink::{self, ChunkSink};
use super::encode::{ElementSource, encode_into};
use super::item::{Axes, Axis};
use super::memory::{Memory, Use};
use super::scratch;
use super::shard::remove_shard;
use super::shard_index::{encode_index, index_bytes, inner_count};
use super::shard_stored::{number_of, place_of, shard_of};
use crate::codec::{IndexLocation, Sharded};
use crate::error::{Result, bail, err};
use crate::limits::{Dims, grow};
use crate::store::Staged;
use std::sync::Arc;

/// One shard that is being written. Nothing of it is seen before [`ShardWriter::finish`]; dropped before, it leaves nothing.
pub struct ShardWriter {
    array: Arc<BoundArray>,
    chunk: Dims,
    key: String,
    /// Taken at the end, and by a failure.
    staged: Option<Staged>,
    /// Offset and length of each inner chunk that is stored.
    entries: Vec<Option<(u64, u64)>>,
    /// Which inner chunks came.
    came: Vec<bool>,
    /// Where the next one goes.
    at: u64,
}

impl ShardWriter {
    /// Begins the shard of that index in the array's grid.
    pub fn new(array: &Arc<BoundArray>, chunk: &[u64]) -> Result<ShardWriter> {
        let (key, chain) = (array.key_of(chunk)?, array.chain_of(chunk)?);
        let shard = shard_of(&chain)?;
        let count = inner_count(shard);
        let (mut entries, mut came) = (Vec::new(), Vec::new());
        let failed = |_| err!(NoMemory, "no memory for an index of {count} inner chunks");
        entries.try_reserve_exact(count).map_err(failed)?;
        came.try_reserve_exact(count).map_err(failed)?;
        entries.resize(count, None);
        came.resize(count, false);
        let mut staged = array.stage(&key).map_err(|e| e.at_key(&key))?;
        let mut at = 0;
        if shard.location == IndexLocation::Start {
            let (mut room, size) = (Vec::new(), index_bytes(shard));
            staged.append(grow(&mut room, size)?).map_err(|e| e.at_key(&key))?;
            at = size as u64;
        }
        Ok(ShardWriter { array: array.clone(), chunk: chunk.into(), key, staged: Some(staged), entries, came, at })
    }

    /// Returns the extents of an inner chunk (its index in the shard) inside the array: the shape of what is put.
    pub fn inside(&self, place: &[u64]) -> Result<Dims> {
        let (array, chain) = (&self.array, self.array.chain_of(&self.chunk)?);
        let shard = shard_of(&chain)?;
        number_of(shard, place)?;
        let mut inside = Dims::from_elem(0, place.len());
        for (j, &d) in shard.axes.iter().enumerate() {
            let first = array.grid.origin(d, self.chunk[d]).saturating_add(place[d].saturating_mul(shard.inner_shape[j]));
            inside[d] = array.shape[d].saturating_sub(first).min(shard.inner_shape[j]);
            if inside[d] == 0 {
                bail!(Bounds, "dimension {d}: the inner chunk {place:?} of the shard lies outside of the array");
            }
        }
        Ok(inside)
    }

    /// Encodes an inner chunk (its index in the shard) and stores it. `memory` has the elements that [`ShardWriter::inside`] says.
    /// Each may come once; those that do not come are missing, as those of nothing but the fill value.
    ///
    /// # Safety
    /// `memory` must describe memory that stays valid and unchanged until this returns.
    pub unsafe fn put(&mut self, place: &[u64], memory: &Memory) -> Result<()> {
        let (inside, array) = (self.inside(place)?, self.array.clone());
        memory.check(Selection::all(&inside).shape(), array.data_type, Use::Source)?;
        let chain = array.chain_of(&self.chunk)?;
        let shard = shard_of(&chain)?;
        let number = self.awaited(number_of(shard, place)?, place)?;
        let base = memory.data.wrapping_add(memory.offset).cast_const();
        let mut source = ElementSource::new(&chain, array.data_type, &array.fill, (memory.data_type, memory.overflow), base)?;
        source.store_fill = array.store_fill_chunks;
        let axes: Axes = shard.axes.iter().map(|&d| Axis { start: 0, count: inside[d], step: 1, memory: memory.strides[d] }).collect();
        scratch::with(|s| {
            s.io.clear();
            let stored = encode_into(&shard.inner, &source, &axes, 0, &mut s.work.chain, &mut s.io).map_err(|e| e.at_key(&self.key))?;
            self.append(number, stored.then_some(&s.io))
        })
    }

    /// Stores the encoded bytes of an inner chunk (its index in the shard), of which each may come once.
    pub fn put_encoded(&mut self, place: &[u64], bytes: &[u8]) -> Result<()> {
        self.inside(place)?;
        let array = self.array.clone();
        let chain = array.chain_of(&self.chunk)?;
        let number = self.awaited(number_of(shard_of(&chain)?, place)?, place)?;
        self.append(number, Some(bytes))
    }

    /// The number of an inner chunk that did not come yet.
    fn awaited(&self, number: usize, place: &[u64]) -> Result<usize> {
        if self.came[number] {
            bail!(State, "the inner chunk {place:?} was put already");
        }
        if self.staged.is_none() {
            bail!(State, "the shard is finished, or could not be written");
        }
        Ok(number)
    }

    /// Stores the bytes of an inner chunk behind those that came before; `None`: it has nothing but the fill value. After an error the
    /// writer can only be dropped.
    fn append(&mut self, number: usize, bytes: Option<&[u8]>) -> Result<()> {
        if let Some(bytes) = bytes {
            let Some(mut staged) = self.staged.take() else { bail!(State, "the shard is finished, or could not be written") };
            staged.append(bytes).map_err(|e| e.at_key(&self.key))?;
            self.entries[number] = Some((self.at, bytes.len() as u64));
            self.at += bytes.len() as u64;
            self.staged = Some(staged);
        }
        self.came[number] = true;
        Ok(())
    }

    /// Refuses a shard that has an inner chunk that reaches behind the end that a cut has given the array since: it would show when the array
    /// grows again.
    fn check_uncut(&self, shard: &Sharded) -> Result<()> {
        let stored = self.entries.iter().enumerate().filter(|(_, entry)| entry.is_some());
        stored.map(|(number, _)| number).try_for_each(|number| {
            let mut place = Dims::from_elem(0, self.chunk.len());
            place_of(shard, number, &mut place);
            let inside = self.inside(&place)?;
            self.array.check_reached(&self.chunk, |d| {
                let inner = shard.axes.iter().position(|&axis| axis == d).map_or(1, |j| shard.inner_shape[j]);
                place[d].saturating_mul(inner).saturating_add(inside[d].saturating_sub(1))
            })
        })
    }

    /// Writes the index and makes the shard what its key holds. A shard without inner chunks is removed.
    pub fn finish(&mut self) -> Result<()> {
        let Some(mut staged) = self.staged.take() else { bail!(State, "the shard is finished, or could not be written") };
        let (array, key) = (self.array.clone(), self.key.clone());
        let chain = array.chain_of(&self.chunk)?;
        let shard = shard_of(&chain)?;
        let sink = ChunkSink::now(&array);
        let done = (|| {
            if self.entries.iter().all(Option::is_none) {
                drop(staged);
                let _guard = array.locks.wait(array.lock_name(&key));
                return chunk_sink::make(&array, || scratch::with(|s| remove_shard(sink, shard, &key, &mut s.work.chain.stages)));
            }
            let mut index = Vec::new();
            scratch::with(|s| encode_index(shard, &self.entries, &mut index, &mut s.work.chain.stages))?;
            match shard.location {
                IndexLocation::Start => staged.replace_head(&index)?,
                IndexLocation::End => staged.append(&index)?,
            }
            let _guard = array.locks.wait(array.lock_name(&key));
            self.check_uncut(shard)?;
            sink.publish(&key, staged)
        })();
        done.map_err(|e| e.at_key(key))
    }
}
