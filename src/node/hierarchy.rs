//! The tree around a node: creation, what is in the way there, and erasing.
//! Specification: v2, "Groups"; v3 core, "Group metadata", "Operations".

use super::document::DocumentLock;
use super::groups_above::Enclosing;
use super::listed_lengths::Lengths;
use super::lookup::{self, find, find_bare, is_in_the_way};
use super::lost::Leaving;
use super::stored::StoredDocument;
use super::{Create, NodeKind, Store, above, document, draft, groups_above, in_use, marker, path, together, transfer, upkeep};
use crate::error::{Error, ErrorKind, Result, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, push};
use crate::metadata::{Format, Map, v2, v3};
use crate::sort::sort_by;
use crate::store::{Condition, Keys, StorageExt, get};
use std::cell::RefCell;
use std::ops::ControlFlow;

/// What errors of [`ErrorKind::Exists`] say to callers of the library. The program names its options instead.
pub const OPEN_OR_OVERWRITE: &str = "open it, or create with overwriting";

/// What is said of an error behind the erasing of a node.
pub(super) const IS_GONE: &str = " (the node itself is gone: not to be erased again)";

impl Store {
    /// Returns the kind of the node at `path`.
    pub fn node_kind(&self, path: &str) -> Result<NodeKind> {
        match lookup::find(self, &path::normalize(path)?) {
            Ok(None) => Ok(NodeKind::None),
            Ok(Some(found)) => Ok(if found.parse(self).is_ok() { found.kind } else { NodeKind::Unknown }),
            Err(e) if lookup::is_misunderstood(&e) => Ok(NodeKind::Unknown),
            Err(e) => Err(e),
        }
    }

    /// Erases the node at `path` and all below it, or what an interrupted copy, migration or erasing of one left there. Errors: `NotFound` if nothing is
    /// there; `Again` while a series of it is open (`in_use.rs`).
    pub fn erase_node(&self, path: &str) -> Result<()> {
        self.check_writable()?;
        draft::refuse(self)?;
        let path = path::normalize(path)?;
        self.require_erasable(&path)?;
        let mut erased_below = Vec::new();
        {
            self.settle(&path);
            let lock = document::lock_place(self, &path).map(Some);
            // A lock is a file, too: without room for it nobody has it.
            let _lock = if is_full(self, &lock) { None } else { lock? };
            // Another process may have been faster.
            self.require_erasable(&path)?;
            in_use::refuse(self, &path)?;
            let erased = erase_all(self, &path);
            if is_full(self, &erased) {
                erased_below = transfer::at_and_below(self, &path);
                erase_folder(self, &path)?;
            } else if !erased? {
                return Err(lookup::not_found(self, &path, "node"));
            }
        }
        if path.is_empty() {
            above::remove_empty_folder(self);
        }
        // Again, for what was changed below it meanwhile, and on a full disk, where there may be room now.
        let told = upkeep::after_change(self, &[], Some(&path));
        // Another process may have made a node there since, and told of it.
        told.and_then(|()| upkeep::add_missed(self, &path)).map_err(|e| {
            upkeep::tell_later(self, &erased_below);
            e.with_note(IS_GONE)
        })
    }

    /// Errors: `NotFound` if there is neither a node nor what an interrupted call left of one.
    fn require_erasable(&self, path: &str) -> Result<()> {
        if self.node_kind(path)? != NodeKind::None || marker::is_begun(self, path)? {
            return Ok(());
        }
        // What tells of it after a kill goes, but not of a node that another process has made since. The error is the one to tell.
        drop(upkeep::after_change(self, &[], Some(path)).and_then(|()| upkeep::add_missed(self, path)));
        Err(lookup::not_found(self, path, "node"))
    }
}

/// Removes a node and all below it, so that whatever fails on the way nothing opens that is not whole. What consolidated metadata above say of
/// it goes first. A folder then leaves its name at once; that of the store itself keeps it, and the folders in it leave theirs. In a store without folders
/// the nodes below a group lose their documents before any chunk goes. Such a group, and the store's own, keeps its document to the last, without what
/// it said of the nodes below: the same call goes on with what is left, which an absent group would hide from it. An array loses its document first, and
/// a marker says that what is left of it is no file of a user. `false` if another process took a folder away first.
fn erase_all(store: &Store, path: &str) -> Result<bool> {
    let mut leaving = None;
    let erased = erase_keys(store, path, &mut leaving);
    if let Some(leaving) = leaving {
        leaving.end(erased.is_ok());
    }
    erased
}

/// Whether a call has found no room for files: what is removed makes some.
pub(super) fn is_full<T>(store: &Store, done: &Result<T>) -> bool {
    done.as_ref().is_err_and(|e| e.kind() == ErrorKind::NoSpace) && store.shared().files().is_some()
}

/// Removes a folder with all below it, which leaves its name at once: that needs no room on the disk.
pub(super) fn erase_folder(store: &Store, path: &str) -> Result<()> {
    note_documents(store, path);
    let prefix = path::prefix(path);
    Leaving::during(store, path, || store.shared().erase_prefix(&prefix).map_err(|e| e.at_key(prefix)))
}

/// `leaving` is set before the first change that takes something away.
fn erase_keys(store: &Store, path: &str, leaving: &mut Option<Leaving>) -> Result<bool> {
    store.check_erasable()?;
    let (shared, prefix) = (store.shared(), path::prefix(path));
    let has_names = shared.files().is_some();
    // What consolidated metadata say stays, too, where this is refused.
    shared.check_erase(&prefix)?;
    if has_names && !path.is_empty() {
        upkeep::after_change(store, &[], Some(path))?;
        note_documents(store, path);
        *leaving = Some(Leaving::new(store, path));
        return shared.erase_keys(Keys::Below(&prefix)).map_err(|e| e.at_key(prefix));
    }
    let mut below = documents_below(store, &prefix)?;
    if !below.is_empty() || (has_names && may_hold_nodes(store, path)?) {
        upkeep::after_change(store, &[], Some(path))?;
        *leaving = Some(Leaving::new(store, path));
        let own = empty_group(store, path)?;
        erase_nodes(store, &mut below)?;
        erase_below(store, &prefix, own)?;
        erase_documents(store, path)?;
    } else {
        marker::put(store, path, marker::COPY, &[("from", "".into())])?;
        *leaving = Some(Leaving::new(store, path));
        // One by one in a folder, whose order is any; elsewhere the marker goes when all other keys are gone.
        if has_names { erase_around(store, path, marker::COPY)? } else { erase_documents(store, path)? }
    }
    if below.is_empty() {
        shared.erase_prefix(&prefix).map_err(|e| e.at_key(prefix))?;
    } else {
        erase_late(store, &prefix)?;
    }
    Ok(true)
}

/// Whether there is anything but an array at `path`, or what cannot be understood.
fn may_hold_nodes(store: &Store, path: &str) -> Result<bool> {
    match find_bare(store, path) {
        Err(e) if !lookup::is_misunderstood(&e) => Err(e),
        found => Ok(!found.is_ok_and(|found| found.is_none_or(|found| found.kind == NodeKind::Array))),
    }
}

/// The keys of all documents of the nodes below a prefix, in a store without folders, which leave their names at once.
fn documents_below(store: &Store, prefix: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if store.shared().files().is_some() || !store.shared().capabilities().listable {
        return Ok(found);
    }
    store.shared().list(prefix, &mut |key| {
        let is_document =
            key.strip_prefix(prefix).and_then(|key| key.rsplit_once('/')).is_some_and(|(_, name)| document::DOCUMENTS.contains(&name));
        if is_document {
            push(&mut found, key.to_string())?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Erases the documents of nodes, which are none from then on. The attributes of version 2 go last: an array that is there without them would have
/// other values.
fn erase_nodes(store: &Store, documents: &mut [String]) -> Result<()> {
    let is_late = |key: &String| key.ends_with(v2::ATTRIBUTES);
    sort_by(documents, |a, b| is_late(a).cmp(&is_late(b)));
    let (nodes, attributes) = documents.split_at_mut(documents.iter().filter(|key| !is_late(key)).count());
    [nodes, attributes].into_iter().try_for_each(|keys| {
        together::for_each(store, true, keys, |key| {
            store.shared().erase(key).map_err(|e| e.at_key(&*key))?;
            store.note_document(key);
            Ok(())
        })
    })
}

/// The end of the document that a group keeps while it is erased, of which another group's is another one.
const EMPTIED: &str = "\n\n";

/// Takes from a group what it says of the nodes below it, and gives the name of the document that it keeps.
fn empty_group(store: &Store, path: &str) -> Result<&'static str> {
    let (shared, mut own) = (store.shared(), v2::GROUP);
    for (name, key, text) in emptied_documents(path)? {
        if shared.open(&key).map_err(|e| e.at_key(&key))?.is_none() {
            continue;
        }
        document::publish_text(store, &key, text.as_bytes(), MAX_DOCUMENT, Condition::None)?;
        own = name;
        break;
    }
    for name in [v2::CONSOLIDATED, v2::ATTRIBUTES] {
        let key = path::join(path, name);
        shared.erase(&key).map_err(|e| e.at_key(key))?;
    }
    Ok(own)
}

/// The key of the document that a group keeps while it is erased, if that is there.
pub(super) fn emptied(store: &Store, path: &str) -> Result<Option<String>> {
    for (_, key, text) in emptied_documents(path)? {
        if get(&**store.shared(), &key, MAX_CONSOLIDATED)?.is_some_and(|found| *found == *text.as_bytes()) {
            return Ok(Some(key));
        }
    }
    Ok(None)
}

/// The names, the keys and the texts of the documents that a group may have while it is erased.
fn emptied_documents(path: &str) -> Result<[(&'static str, String, String); 2]> {
    let written = |name, document: Map| {
        let key = path::join(path, name);
        document::text_of(&key, &document).map(|text| (name, key, [text.trim_end(), EMPTIED].concat()))
    };
    Ok([written(v3::DOCUMENT, v3::write_group(Map::new()))?, written(v2::GROUP, v2::write_group())?])
}

/// Removes a node and all below it, but for one key directly below: what that tells of the place is true whenever this ends. Nothing that is not whole opens
/// meanwhile, nor is listed in the group's own consolidated metadata of version 2, by which readers open it without its document.
pub(super) fn erase_around(store: &Store, path: &str, kept: &str) -> Result<()> {
    let (prefix, listed) = (path::prefix(path), path::join(path, v2::CONSOLIDATED));
    Leaving::during(store, path, || {
        // Below an array there are no nodes.
        let is_array = store.node_kind(path).is_ok_and(|kind| kind == NodeKind::Array);
        erase_documents(store, path)?;
        if !is_array {
            store.shared().erase(&listed).map_err(|e| e.at_key(listed))?;
            erase_nodes(store, &mut documents_below(store, &prefix)?)?;
        }
        erase_below(store, &prefix, kept)
    })
}

fn erase_below(store: &Store, prefix: &str, kept: &str) -> Result<()> {
    let shared = store.shared();
    let mut listing = shared.list_dir(prefix)?;
    together::for_each(store, true, &mut listing.prefixes, |name| {
        let below = format!("{prefix}{name}/");
        shared.erase_prefix(&below).map_err(|e| e.at_key(below))
    })?;
    for key in listing.keys.iter().filter(|name| *name != kept).map(|name| format!("{prefix}{name}")) {
        shared.erase(&key).map_err(|e| e.at_key(key))?;
    }
    Ok(())
}

/// Removes what another process has made below a group while that was erased, unless the group is there again: it would be below none.
fn erase_late(store: &Store, prefix: &str) -> Result<()> {
    let shared = store.shared();
    let keys = shared.keys(prefix)?;
    let is_there_again = [v3::DOCUMENT, v2::ARRAY, v2::GROUP].iter().any(|name| keys.contains(&format!("{prefix}{name}")));
    let mut late = keys.iter().filter(|_| !is_there_again);
    late.try_for_each(|key| shared.erase(key).map(drop).map_err(|e| e.at_key(key)))
}

fn erase_documents(store: &Store, path: &str) -> Result<()> {
    upkeep::after_change(store, &[], Some(path))?;
    let prefix = path::prefix(path);
    for name in [v3::DOCUMENT, v2::ARRAY, v2::GROUP] {
        let key = format!("{prefix}{name}");
        store.shared().erase(&key).map_err(|e| e.at_key(&key))?;
        store.note_document(&key);
    }
    Ok(())
}

/// Says that the documents at `path` are others, or gone.
pub(super) fn note_documents(store: &Store, path: &str) {
    [v3::DOCUMENT, v2::ARRAY, v2::GROUP].iter().for_each(|name| store.note_document(&path::join(path, name)));
}

/// Finds the node where one is to be created, or `None`. A document that cannot be understood is an error: it is in the way, too.
pub(super) fn found_on_create(store: &Store, path: &str) -> Result<Option<StoredDocument>> {
    match find(store, path) {
        Err(e) if lookup::is_misunderstood(&e) => Err(exists(store, path, NodeKind::Unknown, &format!(": {e}"))),
        // The file that is in the way of the path may be a chunk.
        Err(e) if e.kind() == ErrorKind::Location => Err(groups_above::refuse_arrays(store, path).err().unwrap_or(e)),
        other => other,
    }
}

/// Checks that a node may be created at `path` of `store`, and returns the path in its normal form.
pub(super) fn new_path(store: &Store, path: &str) -> Result<String> {
    let path = kept_path(store, path)?;
    path::check_new(&path)?;
    Ok(path)
}

/// Like [`new_path`], of a copy that keeps its names.
pub(super) fn kept_path(store: &Store, path: &str) -> Result<String> {
    store.check_writable()?;
    draft::refuse(store)?;
    let path = path::normalize(path)?;
    path::check_kept(&path)?;
    Ok(path)
}

/// Creates a node, and the groups above it that are missing, in the format that `format` gives with the node above that it found for that: `publish`
/// stores its documents at a path of a store once nothing is in the way, and its result is returned as `Continue`. What is overwritten stays until the
/// new node takes its place, where the store can do that; `behind` is called when it has it, under the lock of the place. If `existing`, which is asked
/// again under the lock, returns a node to use instead, that is returned as `Break`.
pub(super) fn create<'a, T, M>(
    store: &Store,
    (path, how): (&str, Create),
    format: impl FnOnce() -> Result<(Format, Option<Enclosing<'a>>)>,
    existing: impl Fn() -> Result<Option<T>>,
    (publish, behind): (impl Fn(&Store, &str, Format) -> Result<M>, impl FnOnce()),
) -> Result<ControlFlow<T, M>> {
    let found = existing().inspect_err(|e| {
        // A program that begins again goes on with what it made before it was killed. The error is the one to tell.
        if e.kind() == ErrorKind::Exists {
            let _ = upkeep::add_missed(store, path);
        }
    });
    if let Some(node) = found? {
        upkeep::add_missed(store, path)?;
        return Ok(ControlFlow::Break(node));
    }
    let (format, enclosing) = format()?;
    let mut above = groups_above::ensure_with(store, path, format, enclosing)?;
    let created = create_below(store, (path, how), (format, &mut above), existing, (publish, behind));
    if created.is_err() {
        // They are there: the next flush or close tells of them.
        upkeep::tell_later(store, &above);
    }
    created
}

/// Creates a node like [`create`] below groups of which those `above` were made for it.
fn create_below<T, M>(
    store: &Store,
    (path, how): (&str, Create),
    (format, above): (Format, &mut Vec<String>),
    existing: impl Fn() -> Result<Option<T>>,
    (publish, behind): (impl Fn(&Store, &str, Format) -> Result<M>, impl FnOnce()),
) -> Result<ControlFlow<T, M>> {
    store.settle(path);
    let mut lock = document::lock_place(store, path)?;
    // Where the store has no locks, what came since `existing` was asked makes the put of the document fail.
    let is_certain = format == Format::V3 && store.shared().capabilities().swaps;
    if !is_certain && let Some(node) = existing()? {
        return Ok(ControlFlow::Break(node));
    }
    // Else `existing` has found it.
    let in_the_way = how == Create::Overwrite && is_in_the_way(store, path)?;
    let made = if in_the_way {
        in_use::refuse(store, path)?;
        match replace(store, path, &mut lock, |store, path| publish(store, path, format))? {
            Some(made) => made,
            None => erase_all(store, path).and_then(|_| publish(store, path, format))?,
        }
    } else {
        match publish(store, path, format) {
            Err(e) if e.kind() == ErrorKind::Exists => return existing()?.map(ControlFlow::Break).ok_or(e),
            // The answer was lost, and another writer has changed what is there by now.
            Err(e) if e.kind() == ErrorKind::Conflict && e.is_unsure() => {
                let node = existing().ok().flatten().ok_or(e)?;
                upkeep::add_missed(store, path)?;
                return Ok(ControlFlow::Break(node));
            }
            made => made?,
        }
    };
    behind();
    tell_new(store, path, format, above, in_the_way).map_err(|e| if in_the_way { e } else { take_back(store, path, format, e) })?;
    Ok(ControlFlow::Continue(made))
}

/// Tells consolidated metadata of a new node, and of the groups that were made for it above it, again where another process has taken them away.
fn tell_new(store: &Store, path: &str, format: Format, above: &mut Vec<String>, replaced: bool) -> Result<()> {
    let is_alone = above.is_empty() && !replaced && !path.is_empty();
    if is_alone && format == Format::V3 && upkeep::after_new_node(store, path)? {
        return Ok(());
    }
    groups_above::restore(store, path, format, above)?;
    let changed: Vec<String> = above.iter().cloned().chain([path.to_string()]).collect();
    match (&changed[..], replaced) {
        ([_], false) => upkeep::after_node_change(store, path, format, Lengths::ALL),
        _ => upkeep::after_change(store, &changed, replaced.then_some(path)),
    }
}

/// Takes back a new node that consolidated metadata could not be told of, whose place is locked: the same call creates it when the cause is
/// gone. Gives the error, which says where the node stays.
fn take_back(store: &Store, path: &str, format: Format, e: Error) -> Error {
    let can = store.shared().capabilities();
    // Where the store has no locks it may be another process's by now.
    if can.erasable && !can.swaps && erase_documents(store, path).is_ok() {
        // The next node there would have them. The error is the one to tell.
        let beside: &[&str] = if format == Format::V2 { &[v2::CONSOLIDATED, v2::ATTRIBUTES] } else { &[] };
        beside.iter().for_each(|name| drop(store.shared().erase(&path::join(path, name))));
        return e;
    }
    e.with_note(&format!(" (the node itself is there: {OPEN_OR_OVERWRITE})"))
}

/// Returns an error of kind `Exists` if there is a node at `path`.
pub(super) fn refuse_existing(store: &Store, path: &str) -> Result<()> {
    match found_on_create(store, path)? {
        Some(there) => Err(exists(store, path, there.kind, "")),
        None => Ok(()),
    }
}

/// Stores the attributes of a new node of version 2 ahead of its document; where it has none, in place of those that one which was erased in part has left (a group
/// that has nodes lost its document alone: they stay). Where the store has no locks another process may have made the node by now, whose own they would replace.
pub(super) fn publish_attributes(store: &Store, path: &str, is_group: bool, attributes: &Map) -> Result<()> {
    let key = path::join(path, v2::ATTRIBUTES);
    let stay =
        || Ok(store.shared().open(&key).map_err(|e| e.at_key(&key))?.is_none() || is_group && transfer::has_node_below(store, path)?);
    if attributes.is_empty() && stay()? {
        return Ok(());
    }
    let mut condition = Condition::None;
    if store.shared().capabilities().swaps {
        condition = document::read(store, &key, MAX_DOCUMENT)?.1;
        refuse_existing(store, path)?;
    }
    or_exists(store, path, document::publish(store, &key, attributes, condition))
}

/// Returns the error for a node that is already where one is to be created.
pub(super) fn exists(store: &Store, path: &str, kind: NodeKind, difference: &str) -> Error {
    let what = match kind {
        NodeKind::Array => "an array",
        NodeKind::Group => "a group",
        NodeKind::None | NodeKind::Unknown => "a node that cannot be understood",
    };
    let (place, path) = (store.shared().describe(), path::display(path));
    err!(Exists, "{what}{difference} is already at {path} of {place}; {OPEN_OR_OVERWRITE}")
}

/// Tells a caller that creates nothing there what else to do about a node that is in the way.
pub(super) fn advise(e: Error, advice: &str) -> Error {
    let message = e.message().replace(OPEN_OR_OVERWRITE, advice);
    e.with_message(message)
}

/// Replaces the node at `path`, with all below it, by the one that `publish` makes at the root of another store: at once, or `None` where the
/// store cannot do that. Consolidated metadata above it say nothing of either meanwhile: the old ones would make the new data look like
/// the old. The `lock` is the place's: a root's is in the old folder, which network file systems keep as long as the lock's file is open.
pub(super) fn replace<M>(
    store: &Store,
    path: &str,
    lock: &mut DocumentLock,
    mut publish: impl FnMut(&Store, &str) -> Result<M>,
) -> Result<Option<M>> {
    let (mut made, leaving) = (None, RefCell::new(None));
    let mut build = |beside| {
        made = Some(publish(&store.beside(beside), "")?);
        // That may have taken hours.
        in_use::refuse(store, path)?;
        upkeep::after_change(store, &[], Some(path))?;
        // Writes that are under way would go on in the new one.
        leaving.replace(Some(Leaving::new(store, path)));
        Ok(())
    };
    let mut tell = || {
        leaving.take().into_iter().for_each(|leaving: Leaving| leaving.end(true));
        if path.is_empty() {
            lock.let_processes_in();
        }
    };
    let replaced = store.shared().replace_prefix(&path::prefix(path), &mut build, &mut tell);
    if let (Err(_), Some(leaving)) = (&replaced, leaving.take()) {
        leaving.end(false);
    }
    // What could not be replaced is told of again. The error is the one to tell.
    let replaced = replaced.inspect_err(|_| {
        if upkeep::add_missed(store, path).is_err() {
            upkeep::tell_later(store, &transfer::at_and_below(store, path));
        }
    });
    let replaced = replaced.map_err(|e| if e.key().is_some() { e } else { e.at_key(path) })?;
    note_documents(store, path);
    Ok(made.filter(|_| replaced))
}

/// Stores the document of a new node, last of all; a node that appeared meanwhile is an error of kind `Exists`.
pub(super) fn publish_new(store: &Store, path: &str, name: &str, document: &Map) -> Result<()> {
    or_exists(store, path, document::publish(store, &path::join(path, name), document, Condition::Absent))
}

/// The result of storing a document of a new node; where another one was there first the error says so.
fn or_exists(store: &Store, path: &str, published: Result<()>) -> Result<()> {
    match published {
        // What is there may be this node, which another writer has changed.
        Err(e) if e.kind() == ErrorKind::Conflict && !e.is_unsure() => {
            let kind = found_on_create(store, path)?.map_or(NodeKind::Unknown, |found| found.kind);
            Err(exists(store, path, kind, ""))
        }
        other => other,
    }
}
