//! Consolidated metadata in step with the documents, where a kill came between the two.

use super::Dataset;
use crate::error::{ErrorKind, Result};
use crate::limits::{check_memory, collect, extend, push, put, readable};
use crate::metadata::{Format, Map, v2};
use crate::node::conventions::open_variable::{OpenVariable, changed_dimensions};
use crate::node::dimensions::Dimension;
use crate::node::listed_lengths::{Lengths, published, shape_of};
use crate::node::store_options::Consolidate;
use crate::node::stored::StoredDocument;
use crate::node::{consolidate, path, upkeep};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;

/// The documents of nodes as they are stored, by the paths of the nodes.
pub(in crate::node) type Documents = HashMap<String, StoredDocument>;

/// The nodes of which consolidated metadata say something else than the documents, with the lengths that may be told; where there are some, those
/// of which some lengths may not be told, too.
pub(in crate::node) type Differing = BTreeMap<String, Lengths>;

/// Where consolidated metadata differ from the documents, `None` without any or in a store that lists nothing; the documents, each of which was read
/// once for that; and the consolidated entries.
#[derive(Default)]
pub(in crate::node) struct Compared {
    pub differing: Option<Differing>,
    pub documents: Documents,
    listed: Map,
}

impl Compared {
    /// The shape that consolidated metadata say of a variable.
    pub fn listed_shape(&self, name: &str) -> Option<Vec<u64>> {
        let entry = self.listed.get(name).or_else(|| self.listed.get(path::join(name, v2::ARRAY).as_str()));
        shape_of(entry?.as_object()?)
    }
}

/// Whether all lengths may be told.
fn is_whole(differing: &Differing) -> bool {
    differing.values().all(|told| *told == Lengths::ALL)
}

fn group_of(path: &str) -> &str {
    path::parent(path).unwrap_or_default()
}

impl Dataset {
    /// Compares consolidated metadata with the documents, once, before the first answer or change that depends on them. Nothing but the
    /// documents tells whether a writer was killed, or another program has changed one of them, so all are read. Threads that come at the
    /// same time may all do it.
    pub(super) fn settle(&self) -> Result<()> {
        if self.0.unsettled.load(Ordering::Acquire) {
            self.mend()?;
            self.0.unsettled.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Lets closing make the consolidated metadata of the store's root where the root has no such metadata, once, by what goes on with a dataset:
    /// those of the group may be there before a kill, those of the root are made by the first close. What cannot be read now is left as it is.
    pub(super) fn note_root(&self) {
        let store = self.group().store();
        let of_root = self.group().path().is_empty();
        if !of_root && !self.0.goes_on.swap(true, Ordering::AcqRel) && consolidate::is_without(store, "").unwrap_or(false) {
            store.note_there("", true);
        }
    }

    /// Brings consolidated metadata in step with the documents where a kill came between the two; but lengths in which the documents themselves
    /// differ: of those readers go on seeing the state before. A dataset that has none gets them when it is closed. Those of a group above,
    /// which the arrays may be known from, are brought in step with the lengths.
    fn mend(&self) -> Result<()> {
        if self.group().format() == Format::V2 {
            // NCZarr's keys, which closing writes, are those from before the kill, too.
            self.group().store().note_node(self.group().path());
        }
        let variables = self.known_variables()?;
        let seen = collect(variables.iter().map(|v| v.array.state()))?;
        let Compared { differing, mut documents, .. } = self.compare(None)?;
        if differing.is_none() {
            variables.iter().for_each(|v| self.group().store().note_named(v.array.path(), true));
        }
        let differing = differing.filter(|differing| !differing.is_empty());
        let (mut changed, mut found, mut gone) = (Vec::new(), BTreeSet::new(), Vec::new());
        for (OpenVariable { name, array, dimensions, .. }, seen) in variables.iter().zip(seen) {
            let before = array.shape();
            let renewed =
                match documents.remove(array.path()) {
                    Some(found) if differing.is_some() || array.is_listed() && !found.has_shape(&before) => {
                        if array.renew_from(&seen, found)? { Ok(()) } else { array.read_again() }
                    }
                    None if differing.is_some() || array.is_listed() => array.read_again(),
                    _ => Ok(()),
                };
            match renewed {
                // It was listed, and another process has erased it.
                Err(e) if e.kind() == ErrorKind::NotFound => {
                    push(&mut gone, name.clone())?;
                    continue;
                }
                renewed => renewed?,
            }
            if array.shape() != before {
                push(&mut changed, array.path().to_string())?;
                found.extend(changed_dimensions(dimensions, &before, &array.shape()));
            }
        }
        if !gone.is_empty() {
            // They are dropped after the lock, which dropping an array takes, too.
            let _gone = self.0.state.write(|state| state.forget(&gone))?;
        }
        if !changed.is_empty() {
            self.note_found_differences(|name| found.contains(name))?;
        }
        let unequal = self.known_dimensions()?.differences().next().is_some();
        match differing {
            // The names of the dimensions are such as only netCDF has.
            Some(differing) if unequal && is_whole(&differing) => Ok(()),
            Some(differing) => self.tell(&differing),
            None if unequal => Ok(()),
            None => upkeep::after_change(self.group().store(), &changed, None),
        }
    }

    /// Remembers that variables differ in length along such dimensions in the store as they do now: what another program left is no error of this
    /// one's when it closes.
    pub(super) fn note_found_differences(&self, is_found: impl Fn(&str) -> bool) -> Result<()> {
        let differs = |dimension: &Dimension| dimension.length < dimension.longest && is_found(&dimension.name);
        let found = self.known_dimensions()?.all()?.into_iter().filter(differs);
        self.0.state.write(|state| extend(&mut state.found_differences, found))
    }

    /// Compares consolidated metadata with the documents. Lengths of the dimension `mine` may be told in any case.
    pub(in crate::node) fn compare(&self, mine: Option<&str>) -> Result<Compared> {
        let group = self.group();
        if !group.store().capabilities().listable {
            return Ok(Compared::default());
        }
        let (compared, below) = group.compare(false)?;
        let mut documents = Documents::new();
        for found in below {
            if let Some(node) = readable(found.node)? {
                put(&mut documents, found.path, node)?;
            }
        }
        let Some(consolidate::Compared { differences, listed }) = compared else {
            return Ok(Compared { documents, ..Compared::default() });
        };
        let differing = || -> Result<Differing> {
            let named = || collect(documents.iter().filter_map(|(path, found)| Some((path.as_str(), found.named_lengths()?))));
            let published =
                if differences.is_empty() { HashMap::new() } else { published(&named()?, mine.map(|mine| (group.path(), mine)))? };
            let node_of = |entry: &str| match (group.format(), group_of(entry)) {
                (Format::V3, _) => path::join(group.path(), entry),
                (Format::V2, "") => group.path().to_string(),
                (Format::V2, node) => path::join(group.path(), node),
            };
            let nodes = differences.iter().map(|(entry, _)| node_of(entry));
            // The others of unequal lengths may have become longer by the time when their documents are read to tell of them.
            let unequal = published.iter().map(|(node, told)| (node.to_string(), *told));
            let mut differing = Differing::new();
            for (node, told) in nodes.map(|node| (node, Lengths::ALL)).chain(unequal) {
                check_memory()?;
                differing.insert(node, told);
            }
            Ok(differing)
        };
        Ok(Compared { differing: Some(differing()?), documents, listed })
    }

    /// Makes consolidated metadata that are right where [`Dataset::compare`] found others, and where the store's options do not forbid it:
    /// readers then see the lengths of all variables change at once.
    pub(in crate::node) fn consolidate_for_growth(&self, differing: Option<Differing>) -> Result<()> {
        let store = self.group().store();
        match differing {
            Some(differing) if differing.is_empty() => {}
            Some(differing) => self.tell(&differing)?,
            None if !store.capabilities().listable || store.options().consolidate == Consolidate::Never => {}
            None => self.consolidate()?,
        }
        self.0.unsettled.store(false, Ordering::Release);
        self.note_root();
        Ok(())
    }

    /// Tells consolidated metadata what the documents say, but lengths that are not published.
    fn tell(&self, differing: &Differing) -> Result<()> {
        if is_whole(differing) {
            return self.consolidate();
        }
        let own = self.own_paths()?;
        let others = own.iter().filter(|path| !differing.contains_key(*path)).map(|path| (path.as_str(), Lengths::ALL));
        let changes = collect(others.chain(differing.iter().map(|(path, told)| (path.as_str(), *told))))?;
        upkeep::after_changes_now(self.group().store(), &changes, None)
    }

    /// Writes what the documents of all variables say into the consolidated metadata of the group and, where they have some, of those above.
    fn consolidate(&self) -> Result<()> {
        self.group().consolidate()?;
        upkeep::after_change(self.group().store(), &self.own_paths()?, None)
    }

    /// The paths of the variables.
    fn own_paths(&self) -> Result<Vec<String>> {
        self.0.state.read(|state| collect(state.variables.iter().map(|v| v.array.path().to_string())))
    }
}
