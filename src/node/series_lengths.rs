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
    /// The lengths that are told now, before the documents of which they are told are read.
    pub fn now(&self) -> LengthsNow {
        LengthsNow(
            self.0.read(|all| all.iter().map(|(key, ends)| (key.clone(), (ends.told.load(Ordering::Acquire), ends.clone()))).collect()),
        )
    }
}

/// The lengths that series told at one moment: all of what is published together gets the same, though a series goes on meanwhile.
pub(super) struct LengthsNow(BTreeMap<(String, usize), (u64, Arc<Ends>)>);

impl LengthsNow {
    /// Puts these lengths into an array's document that was read since, in place of those that were being published.
    pub fn limit(&self, path: &str, document: &mut Map) {
        if self.0.is_empty() {
            return;
        }
        let Some(mut shape) = shape_of(document) else { return };
        let mut limited = false;
        for (dim, length) in shape.iter_mut().enumerate() {
            let Some((told, ends)) = self.0.get(&(path.to_string(), dim)) else { continue };
            if *length > *told && *length <= ends.publishing.load(Ordering::Acquire) {
                (*length, limited) = (*told, true);
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
