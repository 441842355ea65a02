//! The index of a shard: its size, and its way from and to the stored bytes.

use super::scratch::{ChainScratch, StageBuffers};
use super::stages::{append, decode_stages, encode_stages};
use super::stats::{self, Counter};
use crate::codec::{IndexLocation, Sharded, sharding};
use crate::error::{Result, bail};
use crate::limits::grow;
use crate::store::Object;

/// Returns the number of inner chunks of a shard.
pub(super) fn inner_count(shard: &Sharded) -> usize {
    shard.grid.iter().product::<u64>() as usize
}

/// Reads and decodes the index of a shard of `len` bytes.
pub(super) fn read_index(object: &Object, shard: &Sharded, len: u64, s: &mut ChainScratch) -> Result<Vec<u8>> {
    let size = index_bytes(shard);
    let Some(first) = len.checked_sub(size as u64) else {
        bail!(ShardIndex, "found a shard of {len} bytes, expected an index of {size}");
    };
    let offset = if shard.location == IndexLocation::Start { 0 } else { first };
    stats::read(size as u64);
    stats::count(Counter::IndexReads, 1);
    let encoded = grow(&mut s.encoded_index, size)?;
    object.read_exact_at(offset, encoded)?;
    let mut index = Vec::new();
    decode_index(shard, encoded, &mut index, &mut s.stages)?;
    Ok(index)
}

/// Returns how many bytes the stored index of a shard has.
pub(super) fn index_bytes(shard: &Sharded) -> usize {
    shard.index.sizes.last().map_or(0, |s| s.max())
}

/// Decodes a shard's index into the native form, in `index`.
pub(super) fn decode_index(shard: &Sharded, encoded: &[u8], index: &mut Vec<u8>, buffers: &mut StageBuffers) -> Result<()> {
    let leaf = &shard.index;
    index.clear();
    let dst = grow(index, leaf.layout.bytes)?;
    if leaf.stages.is_empty() {
        if encoded.len() != dst.len() {
            bail!(ShardIndex, "found an index of {} bytes, expected {}", encoded.len(), dst.len());
        }
        dst.copy_from_slice(encoded);
    } else {
        decode_stages(&leaf.stages, &leaf.sizes, encoded, dst, buffers).map_err(|e| e.at_field("index"))?;
    }
    sharding::index_to_native(leaf, index)
}

/// Encodes a shard's index and appends it to `out`.
pub(super) fn encode_index(shard: &Sharded, entries: &[Option<(u64, u64)>], out: &mut Vec<u8>, buffers: &mut StageBuffers) -> Result<()> {
    let mut index = Vec::new();
    sharding::encode_index(entries, &mut index)?;
    sharding::index_from_native(&shard.index, &mut index)?;
    if shard.index.stages.is_empty() {
        return append(out, &index);
    }
    encode_stages(&shard.index.stages, Some(&index), buffers)?;
    append(out, &buffers.a)
}
