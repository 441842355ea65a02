//! Whether a run is cut back to an earlier step, and goes on from there, while it is copied. Its arrays may be as long as before by the end of the copy, with
//! other steps, some of which were copied and some not. So may a node that is replaced at once by another one with the same document: a folder tells.

use super::kept::changed_meanwhile;
use super::store::Above;
use super::{Store, above, path};
use crate::error::Result;
use crate::limits::push;
use crate::sort::set_of;
use crate::store::{CutMark, Folder};
use std::collections::BTreeSet;

/// The most lock files, and folders of nodes, that are kept open. What is cut in more groups is seen, too, unless the last lock there ends as well; what is
/// replaced of more nodes, unless that is done more than once.
const MOST_KEPT: usize = 32;

/// What folders of groups said of cuts at one moment. In stores without folders the marks of appenders say it (`claim.rs`).
pub(super) struct CutWatch {
    marks: Vec<(Store, String, Option<CutMark>)>,
    store: Store,
    folders: Vec<NodeFolder>,
}

/// The folder that a node has, as long as it is open no other one has its numbers.
pub(super) struct NodeFolder {
    node: String,
    numbers: [u64; 2],
    _open: Option<Folder>,
}

impl CutWatch {
    /// Watches the groups of nodes, before the documents of these are read.
    pub fn begin<'a>(store: &Store, nodes: impl Iterator<Item = &'a str>) -> Result<CutWatch> {
        let nodes = set_of(nodes);
        // Of the first ones alone: numbers of folders that are not kept open may be another's, and on some mounts change.
        let folders = nodes.iter().take(MOST_KEPT).filter_map(|node| NodeFolder::of(store, node)).collect();
        let (mut groups, mut watched, mut kept) = (BTreeSet::new(), Vec::new(), 0);
        let mut watch = |store: &Store, group: &str| {
            let mark = mark(store, group, kept < MOST_KEPT)?;
            kept += usize::from(mark.as_ref().is_some_and(CutMark::is_kept));
            push(&mut watched, (store.clone(), group.to_string(), mark))
        };
        for node in nodes {
            match path::parent(node) {
                Some(group) => drop(groups.insert(group)),
                // It may be an array, opened by a location of its own.
                None => above::of(store).iter().filter_map(in_group).try_for_each(|(store, group)| watch(store, group))?,
            }
        }
        groups.into_iter().try_for_each(|group| watch(store, group))?;
        Ok(CutWatch { marks: watched, store: store.clone(), folders })
    }

    /// Checks that nothing was cut since then, and no folder replaced. Errors: `Again`.
    pub fn check(&self) -> Result<()> {
        for folder in &self.folders {
            // One that is gone was there when it was copied (`kept.rs`), and may go since, as checkpoints do.
            if folder.now(&self.store).is_some_and(|is_the_same| !is_the_same) {
                return Err(changed_meanwhile(&folder.node, "replaced"));
            }
        }
        for (store, group, then) in &self.marks {
            let keep = then.as_ref().is_some_and(CutMark::is_kept);
            if CutMark::was_cut(then.as_ref(), mark(store, group, keep)?.as_ref()) {
                return Err(changed_meanwhile(group, "cut back to an earlier step"));
            }
        }
        Ok(())
    }
}

impl NodeFolder {
    /// Whether the node has that folder now; `None`: it has none, or it cannot be looked at, which is told of by what is done with it.
    pub fn now(&self, store: &Store) -> Option<bool> {
        store.shared().folder_numbers(&path::prefix(&self.node)).ok().flatten().map(|now| now == self.numbers)
    }

    /// Whether the node has that folder no more.
    pub fn is_away(&self, store: &Store) -> Result<bool> {
        Ok(store.shared().folder_numbers(&path::prefix(&self.node))? != Some(self.numbers))
    }

    /// That of a node now, where there are folders.
    pub fn of(store: &Store, node: &str) -> Option<NodeFolder> {
        let (shared, prefix) = (store.shared(), path::prefix(node));
        // On Windows no folder above one that is open can be renamed, and numbers are not used again.
        let _open = (!cfg!(windows) && shared.files().is_some()).then(|| shared.folder(&prefix));
        let numbers = shared.folder_numbers(&prefix).ok().flatten()?;
        Some(NodeFolder { node: node.to_string(), numbers, _open })
    }
}

/// The group that holds a store.
fn in_group(Above { store, path }: &Above) -> Option<(&Store, &str)> {
    path::parent(path).map(|group| (store, group))
}

fn mark(store: &Store, group: &str, keep: bool) -> Result<Option<CutMark>> {
    store.shared().cut_mark(&path::prefix(group), keep)
}

/// Says that the arrays of a group, in which the caller holds the lock of a series, are cut: before the first one is, and behind the last one.
pub(super) fn note(store: &Store, group: &str) -> Result<()> {
    store.shared().note_cut(&path::prefix(group))
}
