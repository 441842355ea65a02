//! Copying a node with all below it, key by key, into the same or another store.

use super::document::{self, require};
use super::{Create, NodeKind, Store, draft, hierarchy, path};
use crate::error::{Result, bail};
use crate::metadata::{v2, v3};
use crate::store::{Condition, get};

/// Documents that make a node be there: copied last, so that a copy that was cut short is no node.
const MAKES_A_NODE: &[&str] = &[v3::DOCUMENT, v2::ARRAY, v2::GROUP];

impl Store {
    /// Copies the node at `path` with all below it to `to_path` in `to`, keys and bytes as they are, and makes the groups above
    /// it that are missing there. The node's own document comes last. `how` is `New` or `Overwrite` (else `Argument`); a
    /// place inside of the other is an error of kind `Argument`. `progress` is told after each key how many are done of how many.
    pub fn copy_node(&self, path: &str, to: &Store, to_path: &str, how: Create, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        to.check_writable()?;
        [self, to].into_iter().try_for_each(draft::refuse)?;
        let (path, to_path) = (path::normalize(path)?, path::normalize(to_path)?);
        path::check_new(&to_path)?;
        hierarchy::need_listing(self)?;
        let found = require(self, &path, NodeKind::None)?;
        refuse_overlap((self, &path), (to, &to_path))?;
        if how == Create::OpenIfSame {
            bail!(Argument, "a copy is new or overwrites; there is nothing to open");
        }
        let mut changed = hierarchy::ensure_ancestors(to, &to_path, found.format)?;
        let replaced = {
            let _lock = document::lock_place(to, &to_path)?;
            if let (Create::New, Some(there)) = (how, hierarchy::found_on_create(to, &to_path)?) {
                return Err(hierarchy::exists(to, &to_path, there.kind, ""));
            }
            let replaced = hierarchy::clear(to, &to_path)?;
            changed.extend(self.copy_keys(&path, to, &to_path, progress)?);
            replaced
        };
        hierarchy::refresh(to, &changed, replaced.then_some(to_path.as_str()))
    }

    /// Copies all keys below `path`; returns the paths of the nodes that were made by it.
    fn copy_keys(&self, path: &str, to: &Store, to_path: &str, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<String>> {
        let (from_prefix, to_prefix) = (path::prefix(path), path::prefix(to_path));
        let mut tails = Vec::new();
        self.shared().list(&from_prefix, &mut |key| {
            tails.push(key.strip_prefix(&from_prefix).unwrap_or(key).to_string());
            Ok(())
        })?;
        tails.sort_by_key(|tail| MAKES_A_NODE.contains(&tail.as_str()));
        let mut nodes = Vec::new();
        for (done, tail) in tails.iter().enumerate() {
            let key = format!("{from_prefix}{tail}");
            // A key that another program erased meanwhile is not copied.
            if let Some(bytes) = get(&**self.shared(), &key, usize::MAX)? {
                let to_key = format!("{to_prefix}{tail}");
                to.shared().put(&to_key, &[&bytes], Condition::None).map_err(|e| e.at_key(&to_key))?;
                let (folder, name) = to_key.rsplit_once('/').unwrap_or(("", &to_key));
                if MAKES_A_NODE.contains(&name) {
                    nodes.push(folder.to_string());
                }
            }
            progress(done as u64 + 1, tails.len() as u64);
        }
        Ok(nodes)
    }
}

/// Refuses to copy a node into itself, or over a node that holds it.
pub(super) fn refuse_overlap(from: (&Store, &str), to: (&Store, &str)) -> Result<()> {
    let place = |(store, path): (&Store, &str)| format!("{}/{}", store.shared().describe().trim_end_matches('/'), path::prefix(path));
    let (a, b) = (place(from), place(to));
    // Two stores in memory are two places; two folders may lie in each other.
    if !std::sync::Arc::ptr_eq(from.0.shared(), to.0.shared()) && !a.starts_with('/') {
        return Ok(());
    }
    let what = match (b.starts_with(&a), a.starts_with(&b)) {
        (false, false) => return Ok(()),
        (true, true) => "is the same as",
        (true, false) => "lies inside of",
        (false, true) => "holds",
    };
    bail!(Argument, "{} {what} {}", b.trim_end_matches('/'), a.trim_end_matches('/'))
}
