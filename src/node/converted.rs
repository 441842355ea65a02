//! What the documents of version 2 said that a migration in place has converted: others may change them until they are erased.

use super::document::{self, DocumentLock};
use super::{Store, path};
use crate::error::{Result, err};
use crate::limits::MAX_DOCUMENT;
use crate::metadata::{Map, Value, v2, v3};
use crate::store::os::hash;
use crate::store::{StorageExt, get};
use std::collections::HashMap;

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
    pub(super) fn new(store: &'a Store, marker: Option<&Map>) -> Converted<'a> {
        let known = marker.and_then(|marker| marker.get(MEMBER)?.as_object());
        let mut before = HashMap::new();
        for (key, value) in known.into_iter().flatten() {
            if let Some(hash) = value.as_str().and_then(|text| u64::from_str_radix(text, 16).ok()) {
                before.insert(key.to_string(), hash);
            }
        }
        Converted { store, before, now: HashMap::new(), goes_on: marker.is_some() }
    }

    /// Whether an interrupted run may have left something.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Keeps what a node is converted from.
    pub(super) fn note(&mut self, node: &str) -> Result<()> {
        for key in OLD.map(|name| path::join(node, name)) {
            match self.hash_of(&key)? {
                Some(hash) => self.now.insert(key, hash),
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
    pub(super) fn marked(&mut self) -> Value {
        const OTHER_BYTES: usize = 32;
        self.before = self.now.clone();
        let bytes: usize = self.now.keys().map(|key| key.len() + OTHER_BYTES).sum();
        let all = self.now.iter().filter(|_| bytes <= MAX_DOCUMENT / 2);
        Value::from(all.map(|(key, hash)| (key.clone(), format!("{hash:x}").into())).collect::<Map>())
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
            if self.hash_of(&key)? != before {
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
