//! What verifying takes for what calls have left that were interrupted, or go on, by the keys that tell of them: all that belongs to no node at their places.

use super::fault::{Fault, FaultKind};
use super::{Store, document, hierarchy, lookup, marker, place};
use crate::error::Result;
use crate::limits::{add, put, readable};
use crate::store::local::remove_left;
use crate::store::prefix::hidden_by;
use crate::store::{StorageExt, get, question};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// What is said of a key of a call that was interrupted.
pub(super) const GOES_ON: &str = "left by a call that was interrupted; done again, it goes on";

/// The places that keys tell of.
#[derive(Default)]
pub(super) struct Left {
    /// Where a checkpoint was begun.
    checkpoints: HashSet<String>,
    /// Where a node is copied, migrated or erased: nothing there is another's.
    calls: HashSet<String>,
    /// Nodes that are migrated in place.
    in_place: HashSet<String>,
    /// Arrays that become shorter.
    cut: HashSet<String>,
    /// Whether groups are erased, as far as they were asked for.
    erased: HashMap<String, bool>,
}

impl Left {
    /// Notes the place that a key which is no node's tells of, if it tells of one.
    pub fn note(&mut self, store: &Store, key: &str) -> Result<()> {
        let (place, name) = key.rsplit_once('/').unwrap_or(("", key));
        let places = match name {
            marker::RESIZE => &mut self.cut,
            marker::MIGRATION if is_in_place(store, place) => &mut self.in_place,
            // What is beside a node that is there, or may be, may be anybody's.
            marker::COPY | marker::MIGRATION if readable(lookup::is_there(store, place))? == Some(false) => &mut self.calls,
            _ if is_begun(name) => &mut self.checkpoints,
            _ => return Ok(()),
        };
        add(places, place.to_string()).map(drop)
    }

    /// What is to be said of a key that belongs to no node, below an array or not, if a call has left it.
    pub fn tells_of(&mut self, store: &Store, key: &str, is_in_array: bool) -> Result<Option<&'static str>> {
        if is_below(&self.checkpoints, key) {
            return Ok(Some(begun_in(store)));
        }
        let is_left = is_below(&self.calls, key) || is_in_array && is_below(&self.in_place, key) || self.is_erased_above(store, key)?;
        Ok(is_left.then_some(GOES_ON))
    }

    /// Whether a chunk beyond its array's shape is there because a call that made the array shorter was interrupted.
    pub fn has_cut(&self, key: &str) -> bool {
        is_below(&self.cut, key)
    }

    /// Whether a group above a key is being erased.
    fn is_erased_above(&mut self, store: &Store, key: &str) -> Result<bool> {
        for place in places_above(key) {
            let is_erased = match self.erased.get(place) {
                Some(is_erased) => *is_erased,
                None => {
                    // What cannot be read is no document of a group that is being erased.
                    let is_erased = readable(hierarchy::emptied(store, place))?.flatten().is_some();
                    put(&mut self.erased, place.to_string(), is_erased)?;
                    is_erased
                }
            };
            if is_erased {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The folders that a key is in, the root first.
fn places_above(key: &str) -> impl Iterator<Item = &str> {
    std::iter::once("").chain(key.match_indices('/').map(|(end, _)| &key[..end]))
}

fn is_below(places: &HashSet<String>, key: &str) -> bool {
    !places.is_empty() && places_above(key).any(|place| places.contains(place))
}

fn is_in_place(store: &Store, place: &str) -> bool {
    let said = marker::read(store, place, marker::MIGRATION).ok().flatten();
    said.is_some_and(|said| said.get("from").and_then(crate::metadata::Value::as_str) == Some(marker::HERE))
}

/// The fault of a key that belongs to no node.
pub(super) fn of_no_node(store: &Store, key: &str) -> Fault {
    let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
    if place::is_beside_node(store, key) {
        let what = "left at a node by a call that was interrupted, or goes on; where none goes on and the node is whole, erase this key";
        return Fault::new(FaultKind::Temporary, key, what);
    }
    if marker::ALL.contains(&name) {
        return Fault::new(FaultKind::Temporary, key, GOES_ON);
    }
    if is_begun(name) {
        return Fault::new(FaultKind::Temporary, key, begun_in(store));
    }
    Fault::new(FaultKind::Foreign, key, "neither a document nor a chunk of a node")
}

/// What is said of each key of a checkpoint that was not committed, in a store that can erase it or not.
pub(super) fn begun_in(store: &Store) -> &'static str {
    match store.capabilities().archive {
        false => "of a checkpoint that was begun and is not committed; pruning removes it",
        true => "of a checkpoint that was begun and is not committed; it stays in this store, which erases nothing",
    }
}

/// Whether it is the name of a document of a checkpoint that was begun.
pub(super) fn is_begun(name: &str) -> bool {
    hidden_by(name).is_some_and(|name| document::DOCUMENTS.contains(&name))
}

/// A temporary file, or what is left of a folder, which is removed if that is wanted and certainly safe.
pub(super) fn temporary(key: &str, file: &Path, is_gone: bool, repair: bool) -> Result<Fault> {
    let whose = match is_gone {
        true => "whose process is gone",
        false => {
            "whose process may be alive, on another machine, or from before this one was started; where none writes any more, erase it"
        }
    };
    let what = if file.is_dir() { "the rest of what was erased or replaced by a writer" } else { "a temporary file of a writer" };
    let mut fault = Fault::new(FaultKind::Temporary, key, &format!("{what} {whose}"));
    fault.bytes = file.symlink_metadata().ok().filter(|file| file.is_file()).map(|file| file.len());
    if repair && is_gone {
        fault.mend(|| remove_left(file))?;
    }
    Ok(fault)
}

/// A key by which an object store was asked something, if its value says so; it is removed if that is wanted and certainly safe.
pub(super) fn asked(store: &Store, fault: &mut Fault, is_over: bool, repair: bool) -> Result<()> {
    let found = readable(get(&**store.shared(), &fault.key, question::VALUE.len()))?.flatten();
    if found.as_deref() != Some(question::VALUE) {
        return Ok(());
    }
    let whose = if is_over { "was killed" } else { "may be alive; where none has written for an hour, erase it" };
    let what = format!("a writer asked the server by it whether conditions of puts are kept, and {whose}");
    *fault = Fault::new(FaultKind::Temporary, &fault.key, &what);
    if repair && is_over {
        let key = fault.key.clone();
        fault.mend(|| store.shared().erase(&key).map(drop))?;
    }
    Ok(())
}
