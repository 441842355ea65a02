//! A whole chunk on its way to the store: encoded, and put or erased.

use super::chunk_sink::ChunkSink;
use super::encode::{ElementSource, encode_chunk, encode_into};
use super::item::{Axes, Item};
use super::scratch::ChainScratch;
use crate::codec::BoundChain;
use crate::error::{Result, bail};
use std::sync::OnceLock;

/// A whole chunk that is encoded and stored.
pub(super) struct ChunkPut<'a> {
    pub chain: &'a BoundChain,
    pub source: &'a ElementSource,
    pub sink: ChunkSink<'a>,
    pub key: &'a str,
}

impl ChunkPut<'_> {
    /// Stores the chunk, or removes it if it holds only the fill value.
    pub fn put(&self, axes: &Axes, memory: i64, buffers: &mut ChainScratch) -> Result<()> {
        match encode_chunk(self.chain, self.source, axes, memory, buffers)? {
            Some(bytes) => self.sink.put(self.key, &[bytes]),
            None if self.sink.can_erase() => self.sink.erase(self.key),
            None if self.sink.can_ask_later() => self.sink.leave_out(),
            None if self.sink.array().store.open(self.key)?.is_none() => Ok(()),
            // What cannot be removed is replaced, by a chunk that holds the fill value.
            None => match encode_chunk(self.chain, &self.source.storing_fill(), axes, memory, buffers)? {
                Some(bytes) => self.sink.put(self.key, &[bytes]),
                None => bail!(Internal, "a chunk that is to be stored was left out"),
            },
        }
    }

    /// Stores a chunk of one repeated element, which is encoded once for all chunks, in `made`; by several threads at the beginning.
    pub fn put_constant(&self, item: &Item, made: &OnceLock<Option<Vec<u8>>>, buffers: &mut ChainScratch) -> Result<()> {
        if made.get().is_none() {
            let mut bytes = Vec::new();
            let stored = encode_into(self.chain, self.source, &item.axes, item.memory, buffers, &mut bytes)?;
            let _ = made.set(stored.then_some(bytes));
        }
        match made.get() {
            Some(Some(bytes)) => self.sink.put(self.key, &[bytes]),
            Some(None) if self.sink.can_erase() => self.sink.erase(self.key),
            // What cannot be removed may have to be replaced.
            _ => self.put(&item.axes, item.memory, buffers),
        }
    }
}
