//! Nodes that must not be erased, replaced, renamed or migrated in place as a whole: a series, of this process or another one, is open in them. Local files have the locks that
//! tell; the mark in an object store (`claim.rs`) does not say whether its process lives.

use super::store::Above;
use super::trail::Trail;
use super::{Array, NodeKind, Store, above, document, draft, lookup, path};
use crate::error::{Error, ErrorKind, Result, err};
use crate::platform::libc;
use crate::sort::set_of;
use crate::store::LockUse;
use std::collections::BTreeSet;

/// Refuses such a change of the node at `path` while a series of it or of a node below it is open, or the series of its group that makes it
/// longer. Errors: `Again`.
pub(super) fn refuse(store: &Store, path: &str) -> Result<()> {
    if store.shared().files().is_none() {
        return Ok(());
    }
    let refused = refuse_below(store, path);
    refused.map_err(|e| match e.kind() {
        ErrorKind::Again => e.with_note(&format!(
            " is open, here or in another process: nothing was changed; do this to {} of {} when that is closed or its process has ended",
            path::display(path),
            store.shared().describe()
        )),
        _ => e,
    })
}

/// Folders that may have nodes below them, with those above them.
type Groups = Vec<(String, Trail)>;

fn refuse_below(store: &Store, path: &str) -> Result<()> {
    let mut groups = Groups::new();
    let mut dimensions = look_at(store, path, &Trail::default(), &mut groups)?;
    if groups.is_empty() {
        let look_above = |store, path| path::parent(path).map_or(Ok(()), |group| look_at_series(store, group, &dimensions));
        look_above(store, path)?;
        // An array may be opened by a location of its own, as a store.
        let outside = if path.is_empty() { above::of(store) } else { &[] };
        return outside.iter().try_for_each(|Above { store, path }| look_above(store, path));
    }
    while let Some((group, trail)) = groups.pop() {
        dimensions.clear();
        for name in draft::names_below(store, &group)? {
            dimensions.extend(look_at(store, &path::join(&group, &name), &trail, &mut groups)?);
        }
        look_at_series(store, &group, &dimensions)?;
    }
    Ok(())
}

/// Looks whether the node at `path` is an array, and gives its dimensions. All else is added to `groups`, whose folders are below those of `trail`: also below
/// a folder without a document, or with one that cannot be understood, there may be groups.
fn look_at(store: &Store, path: &str, trail: &Trail, groups: &mut Groups) -> Result<BTreeSet<String>> {
    let key = match lookup::find_bare(store, path) {
        Ok(Some(found)) if found.kind == NodeKind::Array => {
            let array = Array::quietly(store, path.to_string(), found);
            let names = array.and_then(|array| array.dimension_names());
            return match names {
                Err(e) if is_unread(&e) => Err(cannot_tell(e, path)),
                names => Ok(names.map_or_else(|_| BTreeSet::new(), |names| set_of(names.into_iter().flatten()))),
            };
        }
        Ok(Some(found)) => found.key,
        Err(e) if is_unread(&e) => return Err(cannot_tell(e, path)),
        Err(e) if !lookup::is_misunderstood(&e) => return Ok(BTreeSet::new()),
        _ => path.to_string(),
    };
    groups.extend(trail.to(store, path, &key).map(|trail| (path.to_string(), trail)));
    Ok(BTreeSet::new())
}

/// Whether an error leaves open what a document says. What is no file has none, and what may not be read could never be erased.
fn is_unread(e: &Error) -> bool {
    let is_no_file = matches!(e.os_errno(), 0 | libc::ENOENT | libc::ENOTDIR | libc::EISDIR | libc::ELOOP | libc::ENAMETOOLONG);
    let may_not_be_read = matches!(e.os_errno(), libc::EACCES | libc::EPERM);
    !(is_no_file || may_not_be_read) || e.kind() == ErrorKind::NoMemory
}

fn cannot_tell(e: Error, node: &str) -> Error {
    e.with_note(&format!(": whether a series of {} is open cannot be told, and nothing was changed", path::display(node)))
}

fn look_at_series(store: &Store, group: &str, dimensions: &BTreeSet<String>) -> Result<()> {
    let series = |name: &String| format!("a series of {name:?} in {}", path::display(group));
    dimensions.iter().try_for_each(|name| look(store, group, &document::series_key(group, name), || series(name)))
}

/// Errors: `Again` with `what` if somebody holds the lock of a key, which is kept in the folder of a node.
fn look(store: &Store, node: &str, key: &str, what: impl Fn() -> String) -> Result<()> {
    let looked = store.shared().lock_key(&path::prefix(node), key, LockUse::Look).map(drop);
    looked.map_err(|e| match e.kind() {
        ErrorKind::Again => err!(Again, "{}", what()),
        _ => e.at_key(key).with_note(&format!(": whether {} is open cannot be told, and nothing was changed", what())),
    })
}
