//! The one way of encoded chunks to the store. Each change made here ends the use of what the handle keeps of the old object: its open
//! shard with the index. (Decoded chunks are kept by the mark of their object, which every change alters.) Where the handle lists the keys
//! that it changes, the key is added.
//!
//! A change is made at once or, in a store with latency, left with its caller to be started later, so that many are under way at the same
//! time.

use super::array::BoundArray;
use super::lock;
use super::stats::{self, Counter};
use crate::error::Result;
use crate::limits::reserve;
use crate::store::{Change, Condition, Staged, StorageExt};
use std::sync::{Arc, Mutex};

/// Starts the change of `key`. Calls `done` with its result, from any thread.
pub(super) fn start(change: Change, array: &Arc<BoundArray>, key: &str, done: impl FnOnce(Result<()>) + Send + 'static) {
    let (owner, name) = (array.clone(), key.to_string());
    let done = Box::new(move |result| {
        // A reader may have kept the old index while the change was under way.
        owner.key_changed(&name);
        done(result);
    });
    array.store.start_change(key, change, done);
}

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct ChunkSink<'a> {
    array: &'a BoundArray,
    later: Option<&'a Mutex<Option<Change>>>,
    condition: Condition,
}

impl<'a> ChunkSink<'a> {
    /// Makes every change at once.
    pub fn now(array: &'a BoundArray) -> ChunkSink<'a> {
        ChunkSink { array, later: None, condition: Condition::None }
    }

    /// Leaves the change in `later` if given; otherwise makes it at once.
    pub fn later(array: &'a BoundArray, later: Option<&'a Mutex<Option<Change>>>) -> ChunkSink<'a> {
        ChunkSink { array, later, condition: Condition::None }
    }

    /// Makes every change on this condition.
    pub fn on(self, condition: Condition) -> ChunkSink<'a> {
        ChunkSink { condition, ..self }
    }

    /// Returns whether keys can be erased, for which stores have no conditions.
    pub fn can_erase(&self) -> bool {
        self.condition == Condition::None && self.array.store.capabilities().erasable
    }

    /// Returns the array.
    pub fn array(&self) -> &'a BoundArray {
        self.array
    }

    /// Stores a value, given in parts.
    pub fn put(&self, key: &str, parts: &[&[u8]]) -> Result<()> {
        stats::count(Counter::Writes, 1);
        stats::count(Counter::BytesWritten, parts.iter().map(|part| part.len() as u64).sum());
        let Some(later) = self.later else { return self.changed(key, self.array.store.put(key, parts, self.condition)) };
        let mut bytes = Vec::new();
        reserve(&mut bytes, parts.iter().map(|part| part.len()).sum())?;
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        *lock::lock(later) = Some(Change::Put(bytes, self.condition));
        Ok(())
    }

    /// Erases a key, where that can be done.
    pub fn erase(&self, key: &str) -> Result<()> {
        stats::count(Counter::Erased, 1);
        let Some(later) = self.later else { return self.changed(key, self.array.store.erase(key).map(drop)) };
        *lock::lock(later) = Some(Change::Erase);
        Ok(())
    }

    /// Makes what was staged the value of its key, at once.
    pub fn publish(&self, key: &str, staged: Staged) -> Result<()> {
        self.changed(key, self.array.store.publish(key, staged))
    }

    /// Tells the array of a key that was just changed, or that may have been in spite of an error.
    fn changed<T>(&self, key: &str, result: T) -> T {
        self.array.key_changed(key);
        result
    }
}

impl BoundArray {
    /// Keeps nothing open of a key any more, and lists it where changes are listed. For changes that are made by other means than the
    /// engine's, too.
    pub fn key_changed(&self, key: &str) {
        if self.is_sharded() {
            self.open_shards.forget(key);
        }
        if let Some(changes) = &self.changes {
            changes.add(key);
        }
    }
}
