//! The lengths that open series of this process tell. While a series publishes, and after a publication that failed, some of its arrays have
//! longer documents than others: whatever brings consolidated metadata up to date then says of them what all have.

use super::listed_lengths::{Lengths, ListedLengths, shape_of};
use crate::error::Result;
use crate::fork::ForkPreserved;
use crate::limits::collect_table;
use crate::metadata::{Map, number_list};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lengths that the documents of a series' arrays have.
#[derive(Default)]
pub(super) struct Ends {
    /// All of them have this one, or more.
    pub told: AtomicU64,
    /// Some may have this one already. A longer one is somebody else's.
    pub publishing: AtomicU64,
}

/// What is known in a store of the series in it, by the path of an array and its dimension.
#[derive(Default)]
pub(super) struct SeriesLengths(ForkPreserved<BTreeMap<(String, usize), Arc<Ends>>>);

impl SeriesLengths {
    /// Notes the lengths of an array that takes part in a series.
    pub fn add(&self, key: (String, usize), ends: &Arc<Ends>) {
        let _before = self.0.write(|all| all.insert(key, ends.clone()));
    }

    /// Forgets them, unless another series has taken the place.
    pub fn remove(&self, key: &(String, usize), ends: &Arc<Ends>) {
        let is_own = |there: &Arc<Ends>| Arc::ptr_eq(there, ends);
        let _gone = self.0.write(|all| if all.get(key).is_some_and(is_own) { all.remove(key) } else { None });
    }

    /// The lengths that are told now, before the documents of which they are told are read.
    pub fn now(&self) -> Result<LengthsNow> {
        let told = |(key, ends): (&(String, usize), &Arc<Ends>)| (key.clone(), (ends.told.load(Ordering::Acquire), ends.clone()));
        self.0.read(|all| collect_table(all.iter().map(told))).map(LengthsNow)
    }
}

/// The lengths that series told at one moment: all of what is published together gets the same, though a series goes on meanwhile.
pub(super) struct LengthsNow(HashMap<(String, usize), (u64, Arc<Ends>)>);

impl LengthsNow {
    /// Puts the lengths that are listed of the entry `name` into the document of the array `path`, which was read since, as [`ListedLengths::keep`]
    /// does, and these lengths in place of those that were being published. Where its series tells them, those that are somebody else's, who goes on
    /// with the run, are not told: some documents may have them by now, and others not.
    pub fn keep(
        &self,
        listed: &ListedLengths<'_>,
        (path, name): (&str, &str),
        document: &mut Map,
        attributes: Option<&Map>,
        told: Lengths,
    ) -> Result<()> {
        let others = if told.is_by_series() { self.of_others(path, document) } else { Vec::new() };
        listed.keep(name, document, attributes, others.iter().fold(told, |told, (dim, _)| told.without(*dim)))?;
        self.limit(path, document);
        if let Some(mut shape) = shape_of(document).filter(|_| !others.is_empty()) {
            others.iter().for_each(|(dim, told)| shape[*dim] = shape[*dim].max(*told));
            document.insert("shape".into(), number_list(&shape));
        }
        Ok(())
    }

    /// The dimensions in which a document has a length of somebody else, with what is told of them.
    fn of_others(&self, path: &str, document: &Map) -> Vec<(usize, u64)> {
        let shape = if self.0.is_empty() { None } else { shape_of(document) };
        let told = |(dim, length)| {
            let (told, ends) = self.0.get(&(path.to_string(), dim))?;
            (length > ends.publishing.load(Ordering::Acquire).max(*told)).then_some((dim, *told))
        };
        shape.into_iter().flatten().enumerate().filter_map(told).collect()
    }

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
