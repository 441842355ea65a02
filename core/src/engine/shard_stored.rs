//! Chunks and inner chunks as they are stored: where their encoded bytes are, these bytes themselves, replaced or removed without
//! a codec.

use super::array::BoundArray;
use super::chunk_sink;
use super::leaf::plain_shard;
use super::scratch;
use super::shard::replace_inner;
use super::shard_index::index_bytes;
use super::shard_open::HeldShard;
use crate::codec::{BoundChain, Sharded, sharding};
use crate::error::{Result, bail};
use crate::store::Object;

/// Is called with the index in its shard, the offset and the length of an inner chunk.
pub type EachInner<'a> = dyn FnMut(&[u64], u64, u64) -> Result<()> + 'a;

/// The encoded bytes of an inner chunk.
pub struct Stored {
    held: HeldShard,
    /// The first byte in the shard.
    pub offset: u64,
    /// The number of bytes.
    pub len: u64,
}

impl Stored {
    /// Reads them; `buf` has as many bytes.
    pub fn read(&self, buf: &mut [u8]) -> Result<()> {
        self.object()?.read_exact_at(self.offset, buf)
    }

    fn object(&self) -> Result<&Object> {
        self.held.object()
    }
}

impl BoundArray {
    /// Returns where an inner chunk is stored; `place` is its index in the shard, in the order of dimensions that the array's user sees.
    pub fn stored_inner(&self, chunk: &[u64], place: &[u64]) -> Result<Option<Stored>> {
        let (key, chain) = (self.key_of(chunk)?, self.chain_of(chunk)?);
        let shard = shard_of(&chain)?;
        let number = number_of(shard, place)?;
        let found: Result<Option<Stored>> = scratch::with(|s| {
            let Some(held) = self.open_shards.open(&*self.store, shard, &key, &mut s.work.chain)? else { return Ok(None) };
            let Some((offset, len)) = sharding::decode_entry(held.index(), number)? else { return Ok(None) };
            sharding::check_entry(number, (offset, len), &sharding::room(shard.location, index_bytes(shard), held.len))?;
            Ok(Some(Stored { held, offset, len }))
        });
        found.map_err(|e| e.at_key(key))
    }

    /// Calls `each` for every stored inner chunk of a chunk, in C order of the index.
    pub fn each_stored_inner(&self, chunk: &[u64], each: &mut EachInner<'_>) -> Result<()> {
        let (key, chain) = (self.key_of(chunk)?, self.chain_of(chunk)?);
        let shard = shard_of(&chain)?;
        let Some(held) =
            scratch::with(|s| self.open_shards.open(&*self.store, shard, &key, &mut s.work.chain)).map_err(|e| e.at_key(&key))?
        else {
            return Ok(());
        };
        let mut at = vec![0; shard.grid.len()];
        for number in 0..held.index().len() / sharding::ENTRY {
            if let Some((offset, len)) = sharding::decode_entry(held.index(), number).map_err(|e| e.at_key(&key))? {
                place_of(shard, number, &mut at);
                each(&at, offset, len)?;
            }
        }
        Ok(())
    }

    /// Replaces the encoded bytes of an inner chunk, or removes it (`None`); the others stay as they are. Gives whether it was there.
    pub fn replace_stored_inner(&self, chunk: &[u64], place: &[u64], bytes: Option<&[u8]>) -> Result<bool> {
        let (key, chain) = (self.key_of(chunk)?, self.chain_of(chunk)?);
        let shard = shard_of(&chain)?;
        let number = number_of(shard, place)?;
        let _guard = self.locks.wait(self.lock_name(&key));
        let replace = || scratch::with(|s| replace_inner(self, shard, &key, number, bytes, &mut s.io, &mut s.work.chain));
        chunk_sink::make(self, replace).map_err(|e| e.at_key(key))
    }
}

/// Returns the shard that a chain is.
pub(super) fn shard_of(chain: &BoundChain) -> Result<&Sharded> {
    match (plain_shard(chain), chain) {
        (Some(shard), _) => Ok(shard),
        (None, BoundChain::Sharded(_)) => bail!(Unsupported, "the shards are compressed as a whole: their inner chunks have no place"),
        (None, BoundChain::Leaf(_)) => bail!(State, "the array is not sharded: it has no inner chunks"),
    }
}

/// Returns the number of an inner chunk, in C order of the index.
pub(super) fn number_of(shard: &Sharded, place: &[u64]) -> Result<usize> {
    let mut number = 0;
    for (j, &d) in shard.axes.iter().enumerate() {
        match place.get(d) {
            Some(&at) if at < shard.grid[j] => number = number * shard.grid[j] + at,
            _ => bail!(Bounds, "dimension {d}: the inner chunk {place:?} lies outside of the shard, which has {:?}", shard.grid.as_slice()),
        }
    }
    Ok(number as usize)
}

pub(super) fn place_of(shard: &Sharded, mut number: usize, place: &mut [u64]) {
    for (j, &d) in shard.axes.iter().enumerate().rev() {
        let n = shard.grid[j] as usize;
        place[d] = (number % n) as u64;
        number /= n;
    }
}
