//! Where an encoded chunk goes: to the store at once, or, in a store with latency, into the hands of who sends it later, so that many
//! are on their way at the same time.

use super::stats::{self, Field};
use super::{BoundArray, lock};
use crate::error::Result;
use crate::limits::reserve;
use crate::store::Condition;
use std::sync::Mutex;

/// What is left to be done with a key.
pub(super) enum Change {
    /// It gets this value.
    Put(Vec<u8>),
    /// It goes.
    Erase,
}

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct ChunkSink<'a> {
    array: &'a BoundArray,
    later: Option<&'a Mutex<Option<Change>>>,
}

impl<'a> ChunkSink<'a> {
    /// The store, at once.
    pub fn now(array: &'a BoundArray) -> ChunkSink<'a> {
        ChunkSink { array, later: None }
    }

    /// That place, if there is one.
    pub fn later(array: &'a BoundArray, later: Option<&'a Mutex<Option<Change>>>) -> ChunkSink<'a> {
        ChunkSink { array, later }
    }

    /// The array.
    pub fn array(&self) -> &'a BoundArray {
        self.array
    }

    /// Stores a value.
    pub fn put(&self, key: &str, parts: &[&[u8]]) -> Result<()> {
        stats::count(Field::Writes, 1);
        stats::count(Field::BytesWritten, parts.iter().map(|part| part.len() as u64).sum());
        let Some(later) = self.later else { return self.array.store.put(key, parts, Condition::None) };
        let mut bytes = Vec::new();
        reserve(&mut bytes, parts.iter().map(|part| part.len()).sum())?;
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        *lock::lock(later) = Some(Change::Put(bytes));
        Ok(())
    }

    /// Erases a key, which the store can do.
    pub fn erase(&self, key: &str) -> Result<()> {
        stats::count(Field::Erased, 1);
        let Some(later) = self.later else { return self.array.store.erase(key).map(drop) };
        *lock::lock(later) = Some(Change::Erase);
        Ok(())
    }
}
