//! The lengths that open series of this process tell. While a series publishes, and after a publication that failed, some of its arrays have
//! longer documents than others: whatever brings consolidated metadata up to date then says of them what all have.

use super::listed_lengths::shape_of;
use super::store::Above;
use super::{Array, Store, above, path};
use crate::fork::ForkPreserved;
use crate::metadata::{Map, number_list};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lengths that the documents of a series' arrays have.
#[derive(Default)]
struct Ends {
    /// All of them have this one, or more.
    told: AtomicU64,
    /// Some may have this one already. A longer one is somebody else's.
    publishing: AtomicU64,
}

/// What is known in a store of the series in it, by the path of an array and its dimension.
#[derive(Default)]
pub(super) struct SeriesLengths(ForkPreserved<BTreeMap<(String, usize), Arc<Ends>>>);

impl SeriesLengths {
    /// Puts lengths that are told into an array's document, in place of those that are being published.
    pub fn limit(&self, path: &str, document: &mut Map) {
        if self.0.read(BTreeMap::is_empty) {
            return;
        }
        let Some(mut shape) = shape_of(document) else { return };
        let mut limited = false;
        for (dim, length) in shape.iter_mut().enumerate() {
            let Some(ends) = self.0.read(|all| all.get(&(path.to_string(), dim)).cloned()) else { continue };
            let told = ends.told.load(Ordering::Acquire);
            if *length > told && *length <= ends.publishing.load(Ordering::Acquire) {
                (*length, limited) = (told, true);
            }
        }
        if limited {
            document.insert("shape".into(), number_list(&shape));
        }
    }
}

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
    pub fn add(&mut self, array: &Array, dim: usize) {
        self.add_at(array.store(), array.path().to_string(), dim);
    }

    fn add_at(&mut self, store: &Store, path: String, dim: usize) {
        for Above { store: outside, path: root } in above::of(store) {
            self.add_at(outside, if path.is_empty() { root.clone() } else { path::join(root, &path) }, dim);
        }
        let key = (path, dim);
        store.series_lengths().0.write(|all| all.insert(key.clone(), self.ends.clone()));
        self.places.push((store.clone(), key));
    }

    /// The documents get a length one after the other from now on.
    pub fn begin(&self, length: u64) {
        self.ends.publishing.fetch_max(length, Ordering::AcqRel);
    }

    /// All documents have the length.
    pub fn tell(&self, length: u64) {
        self.ends.told.store(length, Ordering::Release);
    }
}

impl Drop for ToldLength {
    fn drop(&mut self) {
        for (store, key) in &self.places {
            let is_own = |ends: &Arc<Ends>| Arc::ptr_eq(ends, &self.ends);
            let _gone = store.series_lengths().0.write(|all| if all.get(key).is_some_and(is_own) { all.remove(key) } else { None });
        }
    }
}
