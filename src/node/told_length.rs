//! What a series tells of its arrays' lengths, in each hierarchy that they are part of.

use super::series_lengths::Ends;
use super::store::Above;
use super::{Array, Store, above, path};
use crate::error::Result;
use crate::limits::push;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The length that one series tells of its arrays, until it is dropped.
pub(super) struct ToldLength {
    ends: Arc<Ends>,
    /// In the store of the series, and in those of hierarchies that it is part of.
    places: Vec<(Store, (String, usize))>,
}

impl ToldLength {
    /// All arrays have that length.
    pub fn new(length: u64) -> ToldLength {
        let told = ToldLength { ends: Arc::default(), places: Vec::new() };
        told.begin(length);
        told.tell(length);
        told
    }

    /// Adds an array.
    pub fn add(&mut self, array: &Array, dim: usize) -> Result<()> {
        self.add_at(array.store(), array.path().to_string(), dim)
    }

    fn add_at(&mut self, store: &Store, path: String, dim: usize) -> Result<()> {
        for Above { store: outside, path: root } in above::of(store) {
            self.add_at(outside, if path.is_empty() { root.clone() } else { path::join(root, &path) }, dim)?;
        }
        let key = (path, dim);
        push(&mut self.places, (store.clone(), key.clone()))?;
        store.series_lengths().add(key, &self.ends);
        Ok(())
    }

    /// The documents get a length one after the other from now on.
    pub fn begin(&self, length: u64) {
        self.ends.publishing.fetch_max(length, Ordering::AcqRel);
    }

    /// No document gets a length beyond this one any more: publishing one has failed.
    pub fn end_at(&self, length: u64) {
        self.ends.publishing.store(length, Ordering::Release);
    }

    /// All documents have the length.
    pub fn tell(&self, length: u64) {
        self.ends.told.store(length, Ordering::Release);
    }
}

impl Drop for ToldLength {
    fn drop(&mut self) {
        self.places.iter().for_each(|(store, key)| store.series_lengths().remove(key, &self.ends));
    }
}
