//! What copies of nodes leave out: keys that are neither documents nor chunks, such as files that other programs keep beside the nodes.

use super::dead_links::DeadLinks;
use super::state::{ArrayState, Handling};
use super::stored::StoredDocument;
use super::stored_chunks::{ListedPlace, Places, each_place};
use super::transform::transforms;
use super::{Store, document, marker, path};
use crate::error::{Result, bail};
use crate::limits::push;
use crate::metadata::v3::Document;
use crate::metadata::{v2, v3};
use crate::store::prefix::{hidden, hidden_by};
use crate::store::{Listing, StorageExt, question, zip};

/// Counts such keys in the folders of nodes, and folders there that are neither nodes nor hold chunks, whatever is in them.
#[derive(Default)]
pub(super) struct LeftOut {
    count: u64,
    first: Option<String>,
    /// Links to nothing in the folders of groups: nodes, or anything else, may be where they lead to.
    links: DeadLinks,
}

impl LeftOut {
    fn add(&mut self, key: String) {
        self.count += 1;
        self.first.get_or_insert(key);
    }

    pub fn holds_any(&self) -> bool {
        self.count > 0 || self.links.holds_any()
    }

    /// Takes what another one has.
    pub fn add_all(&mut self, other: LeftOut) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
        self.links.add_all(other.links);
    }

    /// Takes what is listed in the folder of a group. Links to nothing in the place of documents are refused.
    pub fn see_group(&mut self, group: &str, listing: &Listing) {
        listing.keys.iter().for_each(|name| self.see_key(path::join(group, name)));
        let links = listing.dead_links.iter().filter(|name| !document::DOCUMENTS.contains(&name.as_str()));
        links.for_each(|name| self.links.add(path::join(group, name)));
    }

    fn see_key(&mut self, key: String) {
        let name = key.rsplit('/').next().unwrap_or_default();
        if !document::DOCUMENTS.contains(&name) && !is_own(name) && !zip::is_ignored(&key) {
            self.add(key);
        }
    }

    /// The array whose folder [`LeftOut::see_array`] looks into. What storage transformers keep there is theirs.
    pub fn array(store: &Store, node: &str, found: &StoredDocument) -> Result<Option<ArrayState>> {
        let Document::Array(meta) = found.parse(store)? else { return Ok(None) };
        if !store.shared().capabilities().listable || transforms(&meta)? {
            return Ok(None);
        }
        ArrayState::new(store, node, *meta, &Handling::default()).map(Some)
    }

    /// Takes what is in the folder of an array, which may be `listed` already, as [`each_place`] says.
    pub fn see_array(&mut self, store: &Store, array: &ArrayState, listed: Option<(String, Listing)>) -> Result<()> {
        let mut others = Vec::new();
        each_place(store.shared(), &Places::new(array), listed, &mut |place| match place {
            ListedPlace::Other(key) if others.last() != Some(&key) => push(&mut others, key),
            _ => Ok(()),
        })?;
        for key in others {
            match key.strip_suffix('/') {
                Some(folder) => self.see_folder(store, folder),
                None => self.see_key(key),
            }
        }
        Ok(())
    }

    /// Takes a folder that is no node, unless it holds nothing, or what a call has begun. One that cannot be listed is there all the same.
    pub fn see_folder(&mut self, store: &Store, folder: &str) {
        let (prefix, mut holds) = (path::prefix(folder), false);
        let listed = store.shared().list(&prefix, &mut |key| {
            holds |= !zip::is_ignored(key);
            if holds { bail!(Cancelled, "one key is enough") } else { Ok(()) }
        });
        if (holds || listed.is_err()) && !is_begun(store, folder) {
            self.add(prefix);
        }
    }

    /// The lines about them, if there are any.
    pub fn notes(self) -> impl Iterator<Item = String> {
        let others = self.first.map(|first| {
            let what = if self.count == 1 { "key or folder" } else { "keys and folders" };
            format!("left out: what is no part of Zarr: {} {what}, the first is {first}; `ozarr cp` takes it along", self.count)
        });
        others.into_iter().chain(self.links.note())
    }
}

impl Store {
    /// The first key below a group that is neither a document of it nor the library's own: another program's, or of a node in no group. What cannot be listed
    /// has none.
    pub fn key_beside_documents(&self, group: &str) -> Result<Option<String>> {
        if !self.shared().capabilities().listable {
            return Ok(None);
        }
        let (prefix, mut first) = (path::prefix(&path::normalize(group)?), None);
        let listed = self.shared().list(&prefix, &mut |key| {
            let is_of_group = |name: &str| document::DOCUMENTS.contains(&name) || is_own(name);
            if is_of_group(&key[prefix.len()..]) || zip::is_ignored(key) {
                return Ok(());
            }
            first = Some(key.to_string());
            bail!(Cancelled, "one key is enough")
        });
        if first.is_some() { Ok(first) } else { listed.map(|()| None) }
    }
}

/// Whether a checkpoint, a copy or a migration was begun in a folder.
fn is_begun(store: &Store, folder: &str) -> bool {
    let marks = [&hidden(v3::DOCUMENT), &hidden(v2::GROUP), marker::COPY, marker::MIGRATION];
    marks.iter().any(|name| matches!(store.shared().open(&path::join(folder, name)), Ok(Some(_))))
}

/// Whether a key with this name is the library's own: a mark, a document that is not committed, or a question to an object store.
fn is_own(name: &str) -> bool {
    marker::ALL.contains(&name)
        || hidden_by(name).is_some_and(|name| document::DOCUMENTS.contains(&name))
        || question::is_over(name).is_some()
}
