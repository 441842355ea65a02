//! Documents of changed nodes that groups above each other are told of: read once, not once for each group.

use super::lookup::find_many;
use super::stored::StoredDocument;
use super::{Store, document, path, together};
use crate::error::Result;
use crate::limits::{MAX_CONSOLIDATED, collect, put};
use crate::metadata::{Format, v3};
use crate::store::Condition;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A document that is to be changed, and the condition on which that is put.
type ToChange = (Option<Vec<u8>>, Condition);

/// The documents of the groups, and those of nodes that were read behind them all: whoever changes a node then tells the groups of it behind that, so that what
/// they are told here is put no more, and told anew by what is there. In stores without conditions, and where reading takes no time, it holds nothing.
#[derive(Default)]
pub(super) struct ReadOnce {
    groups: Mutex<HashMap<String, ToChange>>,
    nodes: Mutex<HashMap<String, StoredDocument>>,
}

/// The most nodes that are kept; more are read again.
const MOST: usize = 4096;

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ReadOnce {
    /// Reads the documents of groups of version 3. What cannot be read is read again, and told, by who wants it.
    pub fn of<'a>(store: &Store, groups: impl ExactSizeIterator<Item = &'a str>) -> Result<ReadOnce> {
        let (once, can) = (ReadOnce::default(), store.shared().capabilities());
        if groups.len() < 2 || !can.latency || !can.swaps || store.shared().files().is_some() {
            return Ok(once);
        }
        let mut keys: Vec<String> = collect(groups.map(|group| path::join(group, v3::DOCUMENT)))?;
        together::for_each(store, true, &mut keys, |key| {
            if let Ok(read) = document::read(store, key, MAX_CONSOLIDATED) {
                put(&mut lock(&once.groups), key.clone(), read)?;
            }
            Ok(())
        })?;
        Ok(once)
    }

    /// The document of a group, for the first try to change it.
    pub fn take(&self, key: &str) -> Option<ToChange> {
        lock(&self.groups).remove(key)
    }

    /// Finds the documents of version 3 at paths, at the same time.
    pub fn find(&self, store: &Store, paths: &[String]) -> Result<Vec<Result<Option<StoredDocument>>>> {
        let known: Vec<_> = collect(paths.iter().map(|path| lock(&self.nodes).get(path).cloned()))?;
        let unknown: Vec<String> = collect(paths.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(path, _)| path.clone()))?;
        let mut read = if unknown.is_empty() { Vec::new() } else { find_many(store, &unknown, false, Some(Format::V3), None)? }.into_iter();
        for (path, found) in unknown.iter().zip(read.as_slice()) {
            let mut nodes = lock(&self.nodes);
            if let Ok(Some(found)) = found
                && nodes.len() < MOST
            {
                put(&mut nodes, path.clone(), found.clone())?;
            }
        }
        collect(known.into_iter().map(|known| known.map_or_else(|| read.next().unwrap_or(Ok(None)), |known| Ok(Some(known)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::store_options::Consolidate;
    use crate::node::tests::spec;
    use crate::node::tests_store::{Next, told};
    use crate::node::tests_swap::Overtaken;
    use crate::node::{Array, Context, Create, Group, Mode, Options};
    use crate::store::SharedStore;
    use crate::store::memory::MemoryStore;
    use std::collections::HashSet;
    use std::sync::Arc;

    const GROUPS: [&str; 3] = ["", "a", "a/b"];

    /// Two arrays in groups that are all consolidated, in a store with latency that tells of what is next.
    fn hierarchy(memory: &SharedStore, tell: impl Fn(Next<'_>) -> Result<()> + Send + Sync + 'static) -> (Store, [Array; 2]) {
        let far = Arc::new(Overtaken::alone(told(memory.clone(), tell), true));
        let options = Options { consolidate: Consolidate::Flush, ..Options::default() };
        let store = Store::new(&Context::default(), far, Mode::ReadWrite, options);
        let arrays = ["a/b/x", "a/b/y"].map(|path| Array::create(&store, path, &spec(&[4], &[2]), Create::New).unwrap());
        store.flush_all().unwrap();
        GROUPS.iter().for_each(|group| Group::open(&store, group).unwrap().consolidate().unwrap());
        (store, arrays)
    }

    fn differences(memory: &SharedStore) -> Vec<Option<Vec<String>>> {
        let store = Store::from_shared(&Context::default(), memory.clone(), Mode::Read);
        GROUPS.iter().map(|group| Group::open(&store, group).unwrap().consolidated_differences().unwrap()).collect()
    }

    #[test]
    fn a_document_is_read_once_for_all_groups_above_it() {
        let (memory, opened) = (Arc::new(MemoryStore::new()) as SharedStore, Arc::new(Mutex::new(HashMap::new())));
        let count = opened.clone();
        let (store, arrays) = hierarchy(&memory, move |next| {
            if let Next::Opened(key) = next {
                *lock(&count).entry(key.to_string()).or_insert(0) += 1;
            }
            Ok(())
        });
        arrays.iter().for_each(|array| array.attributes().set("units", "K".into()).unwrap());
        lock(&opened).clear();
        store.flush_all().unwrap();
        let counts = ["a/b/x/zarr.json", "a/b/y/zarr.json", "a/zarr.json"].map(|key| lock(&opened).get(key).copied());
        assert_eq!(counts, [Some(1); 3]);
        assert_eq!(differences(&memory), vec![Some(Vec::new()); 3]);
    }

    #[test]
    fn what_another_process_tells_meanwhile_is_not_replaced_by_what_was_read_before() {
        let memory: SharedStore = Arc::new(MemoryStore::new());
        let due = Arc::new(Mutex::new(HashSet::new()));
        let (keys, others) = (due.clone(), memory.clone());
        let (store, arrays) = hierarchy(&memory, move |next| {
            if let Next::Change(key) = next
                && lock(&keys).remove(key)
            {
                let other = Arc::new(Overtaken::alone(others.clone(), false));
                let other = Store::from_shared(&Context::default(), other, Mode::ReadWrite);
                let array = Array::open(&other, "a/b/x").unwrap();
                array.attributes().set("units", format!("told before {key} was").into()).unwrap();
            }
            Ok(())
        });
        arrays.iter().for_each(|array| array.attributes().set("units", "K".into()).unwrap());
        lock(&due).extend(["zarr.json", "a/zarr.json", "a/b/zarr.json"].map(String::from));
        store.flush_all().unwrap();
        assert_eq!((lock(&due).len(), differences(&memory)), (0, vec![Some(Vec::new()); 3]));
    }
}
