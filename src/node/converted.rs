//! What the documents of version 2 said that a migration in place has converted: others may change them until they are erased, at its end.

use super::document::{self, DocumentLock};
use super::lookup::{self, find_v2};
use super::state::{ArrayState, Handling};
use super::stored::StoredDocument;
use super::stored_chunks::each_chunk;
use super::{NodeKind, Store, draft, path};
use crate::error::{ErrorKind, Result, err};
use crate::grid::key::KeyEncoding;
use crate::limits::{MAX_DOCUMENT, check_memory, collect_table, push, put};
use crate::metadata::v3::Document;
use crate::metadata::{Map, Value, v2, v3};
use crate::store::os::hash;
use crate::store::{StorageExt, get};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// What a node of version 2 says of itself.
const OLD: [&str; 3] = [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES];

/// What the migration's marker calls [`Converted::marked`].
pub(super) const MEMBER: &str = "documents";

/// Hashes of documents, by their keys.
pub(super) struct Converted<'a> {
    store: &'a Store,
    /// As the marker tells them: as an interrupted run has converted them, or found them before it began.
    before: HashMap<String, u64>,
    now: HashMap<String, u64>,
    /// Whether a run was interrupted.
    goes_on: bool,
}

impl<'a> Converted<'a> {
    /// Goes on where the run was interrupted that left this marker.
    pub(super) fn new(store: &'a Store, marker: Option<&Map>) -> Result<Converted<'a>> {
        let known = marker.and_then(|marker| marker.get(MEMBER)?.as_object());
        let mut before = HashMap::new();
        for (key, value) in known.into_iter().flatten() {
            if let Some(hash) = value.as_str().and_then(|text| u64::from_str_radix(text, 16).ok()) {
                put(&mut before, key.to_string(), hash)?;
            }
        }
        Ok(Converted { store, before, now: HashMap::new(), goes_on: marker.is_some() })
    }

    /// Whether an interrupted run may have left something.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Keeps what a node is converted from.
    pub(super) fn note(&mut self, node: &str) -> Result<()> {
        for key in OLD.map(|name| path::join(node, name)) {
            match self.hash_of(&key)? {
                Some(hash) => put(&mut self.now, key, hash)?,
                None => self.now.remove(&key),
            };
        }
        Ok(())
    }

    /// Whether others had changed the documents of a node, as they were noted, since an interrupted run converted them. Where one is gone the run had
    /// begun to erase them.
    pub(super) fn was_changed(&self, node: &str) -> bool {
        let mut changed = false;
        for key in OLD.map(|name| path::join(node, name)).into_iter().filter(|_| !self.before.is_empty()) {
            match (self.before.get(&key), self.now.get(&key)) {
                (Some(_), None) => return false,
                (before, now) => changed |= before != now,
            }
        }
        changed
    }

    /// Whether the marker tells of other documents than were converted by now.
    pub(super) fn is_to_be_marked(&self) -> bool {
        self.before != self.now
    }

    /// Gives what the marker keeps for the case that this run is interrupted; nothing of hierarchies for which that were too long.
    pub(super) fn marked(&mut self) -> Result<Value> {
        const OTHER_BYTES: usize = 32;
        self.before = collect_table(self.now.iter().map(|(key, hash)| (key.clone(), *hash)))?;
        let bytes: usize = self.now.keys().map(|key| key.len() + OTHER_BYTES).sum();
        let mut all = Map::new();
        for (key, hash) in self.now.iter().filter(|_| bytes <= MAX_DOCUMENT / 2) {
            check_memory().and_then(|()| all.make_room(1))?;
            all.insert(key.clone().into(), format!("{hash:x}").into());
        }
        Ok(Value::from(all))
    }

    /// Keeps others from changing the old documents of a node, which are erased next. Where one was changed since it was converted, the node is one
    /// of version 2 again, which the same call converts anew. Errors: `Again` then.
    pub(super) fn lock(&self, node: &str) -> Result<Vec<DocumentLock>> {
        let mut locks = Vec::new();
        for name in OLD {
            let key = path::join(node, name);
            let before = self.now.get(&key).copied();
            // Attributes may come where there were none.
            if before.is_some() || name == v2::ATTRIBUTES && !locks.is_empty() {
                locks.push(document::lock(self.store, node, name)?);
            }
            let now = self.hash_of(&key)?;
            // Where the document is gone that makes it a node, another migration has ended, or the node was erased: nothing is to be converted again.
            if now.is_none() && before.is_some() && name != v2::ATTRIBUTES {
                break;
            }
            if now != before {
                let new = path::join(node, v3::DOCUMENT);
                self.store.shared().erase(&new).map_err(|e| e.at_key(&new))?;
                self.store.note_document(&new);
                let e = err!(Again, "another program has changed it since it was converted: close what writes to it, and repeat the call");
                return Err(e.at_key(key));
            }
        }
        Ok(locks)
    }

    fn hash_of(&self, key: &str) -> Result<Option<u64>> {
        Ok(get(&**self.store.shared(), key, MAX_DOCUMENT)?.map(|text| hash(&text)))
    }
}

/// Erases the documents of version 2 of `nodes` after a migration in place, and the chunks that were encoded anew. Documents go after chunks, so that a
/// second run finds what is left.
pub(super) fn erase_old(store: &Store, nodes: &[String], converted: Option<&Converted<'_>>) -> Result<()> {
    let (mut changed, mut folders) = (None, HashSet::new());
    for node in nodes.iter().rev() {
        // By links a folder has several names: what was erased by one of them is not gone by others' doing.
        if folder_of(store, node).is_some_and(|folder| !folders.insert(folder)) {
            continue;
        }
        let _locks = match converted.map(|converted| converted.lock(node)).transpose() {
            Err(e) if e.kind() == ErrorKind::Again => {
                changed = Some(e);
                continue;
            }
            locks => locks?,
        };
        if let Ok(Some(old)) = find_v2(store, node) {
            erase_recoded(store, node, old)?;
        }
        // What has no attributes any more is no node of version 2 either: what others change there is not converted without them.
        [v2::CONSOLIDATED, v2::ARRAY, v2::GROUP, v2::ATTRIBUTES].into_iter().try_for_each(|name| erase(store, &path::join(node, name)))?;
    }
    changed.map_or(Ok(()), Err)
}

/// Erases what a hierarchy of the draft d0 has that was migrated in place.
pub(super) fn erase_draft(store: &Store) -> Result<()> {
    let shared = store.shared();
    for word in ["array", "group"] {
        let names = shared.list_dir("meta/")?.keys;
        names.iter().filter(|name| name.starts_with(&format!("root.{word}"))).try_for_each(|name| erase(store, &format!("meta/{name}")))?;
    }
    for prefix in [draft::DATA, draft::META] {
        let prefix = format!("{prefix}/");
        shared.erase_prefix(&prefix).map_err(|e| e.at_key(&prefix))?;
    }
    // The folders above them, if nothing else is in them.
    for folder in ["data/", "meta/"] {
        let listing = shared.list_dir(folder)?;
        if listing.keys.is_empty() && listing.prefixes.is_empty() {
            shared.erase_prefix(folder).map_err(|e| e.at_key(folder))?;
        }
    }
    Ok(())
}

fn erase(store: &Store, key: &str) -> Result<()> {
    store.shared().erase(key).map(drop).map_err(|e| e.at_key(key))
}

/// The folder of a node by the name that it has without links, in a store of files.
fn folder_of(store: &Store, node: &str) -> Option<PathBuf> {
    store.shared().files()?;
    Path::new(&store.shared().describe()).join(node).canonicalize().ok()
}

/// Erases the chunks of a v2 array that was encoded anew, whose new chunks have keys of another kind.
fn erase_recoded(store: &Store, node: &str, old: StoredDocument) -> Result<()> {
    let Some(new) = lookup::find_v3(store, node)?.filter(|n| n.kind == NodeKind::Array) else { return Ok(()) };
    let (Ok(Document::Array(new)), Ok(Document::Array(old))) = (new.parse(store), old.parse(store)) else { return Ok(()) };
    if matches!(new.keys, KeyEncoding::V2(_)) {
        return Ok(());
    }
    let mut keys = Vec::new();
    each_chunk(store.shared(), &ArrayState::new(store, node, *old, &Handling::default())?, &mut |key, _| push(&mut keys, key.to_string()))?;
    keys.iter().try_for_each(|key| erase(store, key))
}
