//! How much of an array is stored: the number of its chunks and their bytes.

use super::Array;
use super::stored_chunks::each_chunk;
use crate::error::Result;

/// What an array takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Chunks (shards) that are stored.
    pub chunks: u64,
    /// Their bytes, as they are stored.
    pub bytes: u64,
    /// Chunks that the array's shape has room for; `u64::MAX` if there are more.
    pub possible_chunks: u64,
}

impl Array {
    /// Lists the array's keys and adds up the chunks; those outside of its shape do not count. What this handle lets wait is stored first.
    pub fn usage(&self) -> Result<Usage> {
        let state = self.state();
        let store = &state.chunk_store;
        self.finish_writes()?;
        self.store().check_listable()?;
        let counts = state.meta.grid.counts(&state.meta.shape);
        let possible_chunks = counts.iter().fold(1, |n: u64, &c| n.saturating_mul(c));
        let mut usage = Usage { chunks: 0, bytes: 0, possible_chunks };
        each_chunk(store, &state, &mut |key, _| {
            if let Some(object) = store.open(key).map_err(|e| e.at_key(key))? {
                usage.chunks += 1;
                usage.bytes = usage.bytes.saturating_add(object.len().map_err(|e| e.at_key(key))?);
            }
            Ok(())
        })?;
        Ok(usage)
    }
}
