//! The hierarchy of the groups that a store's own folder is below: what consolidated metadata there say of the store changes with it.

use super::store::Above;
use super::{Mode, NodeKind, Store, lookup, path};
use crate::store::local::{FileOptions, LocalStore};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

/// The hierarchy that the store's folder is part of, if the folder above it is a group. It is looked for once.
pub(super) fn of(store: &Store) -> Option<&Above> {
    store.above_or(|folder, files| find(store, folder, files))
}

fn find(of: &Store, folder: &Path, files: FileOptions) -> Option<Above> {
    let folder = std::path::absolute(folder).ok()?;
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
