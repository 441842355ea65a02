//! The hierarchies of the groups that a store's own folder is below: what consolidated metadata there say of the store changes with it.

use super::store::Above;
use super::{Mode, NodeKind, Store, lookup, path};
use crate::store::local::{FileOptions, LocalStore};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// The hierarchies that the store's folder is part of, if the folder above it is a group. They are looked for once. A checkpoint is in that which it was
/// begun in.
pub(super) fn of(store: &Store) -> &[Above] {
    if let Some(begun) = store.checkpoint() {
        // No group has it before it is committed.
        return if begun.revealed.is_set() { std::slice::from_ref(&begun.place) } else { &[] };
    }
    store.above_or(|folder, files| find_all(store, folder, files))
}

/// Removes the store's own folder if it is empty and the one above it is a group: a listing of that group would come across a folder that is no node.
pub(super) fn remove_empty_folder(store: &Store) {
    if store.shared().files().is_some() && !of(store).is_empty() {
        // Somebody may have put something into it meanwhile, or it is a mount point, or a link.
        let _ = std::fs::remove_dir(store.shared().describe());
    }
}

/// Finds those by the folder's name and by the one that it has without links and `..`, which may lead into another hierarchy.
fn find_all(of: &Store, folder: &Path, files: FileOptions) -> Vec<Above> {
    let Ok(named) = std::path::absolute(folder) else { return Vec::new() };
    let real = named.canonicalize().ok().filter(|real| *real != named);
    let (by_name, by_real) = (find(of, &named, files), real.and_then(|real| find(of, &real, files)));
    let root = |above: &Above| Path::new(&above.store.shared().describe()).canonicalize().ok();
    let is_same = by_name.as_ref().zip(by_real.as_ref()).is_some_and(|(a, b)| a.path == b.path && root(a) == root(b));
    by_name.into_iter().chain(by_real.filter(|_| !is_same)).collect()
}

fn find(of: &Store, folder: &Path, files: FileOptions) -> Option<Above> {
    let (mut found, mut names): (Option<Store>, Vec<&str>) = (None, Vec::new());
    for (folder, name) in folder.ancestors().skip(1).zip(folder.ancestors().map(Path::file_name)) {
        // A folder that cannot be looked into, or has an odd name, ends the hierarchy.
        let (Some(name), Ok(shared)) = (name.and_then(OsStr::to_str), LocalStore::open(folder, true, files)) else { break };
        let store = Store::new(of.context(), Arc::new(shared), Mode::ReadWrite, of.options().clone());
        match lookup::find_bare(&store, "") {
            Ok(Some(group)) if group.kind == NodeKind::Group => {
                names.insert(0, name);
                found = Some(store);
            }
            _ => break,
        }
    }
    let path = path::normalize(&names.join("/")).ok()?;
    Some(Above { store: found?, path })
}
