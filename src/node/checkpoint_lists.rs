//! What consolidated metadata above checkpoints list of them.

use super::catalog::Catalog;
use super::hidden::CHECKPOINT;
use super::store::Above;
use super::{Group, NodeKind, Store, above, lookup, path, upkeep};
use crate::error::Result;
use crate::limits::collect;
use crate::metadata::Value;

/// What is done for a group above the one at a path of a store: the names that it lists in that.
pub(super) type WithListed<'a> = dyn FnMut(&Store, &str, Vec<String>) -> Result<()> + 'a;

/// Does something for each group with consolidated metadata above the one at a path, also where the store is below one.
pub(super) fn each_above(store: &Store, path: &str, work: &mut WithListed<'_>) -> Result<()> {
    for group in path::ancestors(path) {
        // One that cannot be read is read by nobody.
        let Ok(Some(found)) = lookup::find(store, group) else { continue };
        if let Ok(Some(catalog)) = Group::quietly(store, group.to_string(), found).and_then(|group| group.catalog()) {
            work(store, path, checkpoints_in(&catalog, path)?)?;
        }
    }
    above::of(store).iter().try_for_each(|Above { store: outside, path: root }| {
        let place = if path.is_empty() { root.clone() } else { path::join(root, path) };
        each_above(outside, &place, work)
    })
}

/// The checkpoints that consolidated metadata list directly below a path, whose other nodes are left alone.
pub(super) fn checkpoints_in(catalog: &Catalog, path: &str) -> Result<Vec<String>> {
    let is_checkpoint = |name: &String| {
        let found = catalog.find(&path::join(path, name)).filter(|found| found.kind == NodeKind::Group);
        found.is_some_and(|found| match &found.attributes {
            Some(attributes) => attributes.contains_key(CHECKPOINT),
            None => found.document.get("attributes").and_then(Value::as_object).is_some_and(|all| all.contains_key(CHECKPOINT)),
        })
    };
    collect(catalog.names(path)?.into_iter().filter(is_checkpoint))
}

/// Tells consolidated metadata above a path of a store that those checkpoints that they list in it are gone which are not among the sorted `places`.
pub(super) fn forget(store: &Store, path: &str, listed: Vec<String>, places: &[String]) -> Result<()> {
    let gone = listed.iter().filter(|name| places.binary_search(name).is_err()).map(|name| path::join(path, name));
    collect(gone)?.iter().try_for_each(|place| upkeep::after_change(store, &[], Some(place)))
}
