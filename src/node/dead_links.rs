//! Links to nothing in the place of what is to be copied, as git-annex has for files that were not fetched: a copy would be without these for good.

use super::{Store, document, path};
use crate::error::{Result, err};
use crate::limits::{put, readable};
use crate::metadata::Format;
use crate::store::{Listing, StorageExt};
use std::collections::HashMap;

/// Counts such links.
#[derive(Default)]
pub(super) struct DeadLinks {
    count: u64,
    first: Option<String>,
}

impl DeadLinks {
    /// The one at a key.
    pub fn at(key: String) -> DeadLinks {
        DeadLinks { count: 1, first: Some(key) }
    }

    pub fn add(&mut self, key: String) {
        self.add_all(DeadLinks::at(key));
    }

    /// Takes what another one has.
    pub fn add_all(&mut self, other: DeadLinks) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }

    pub fn holds_any(&self) -> bool {
        self.count > 0
    }

    /// Takes those in the place of documents in a folder of a store of files. What else is no file there is an error, as it is when it is read. Gives what is
    /// in the folder. A folder that cannot be listed is taken for empty if no node with a `format` is known there. A node of
    /// version 3 has all in the document that it was found by: what is beside that is not read.
    pub fn see_documents(&mut self, store: &Store, node: &str, format: Option<Format>) -> Result<Listing> {
        let listing = match store.shared().list_dir(&path::prefix(node)) {
            Err(_) if format.is_none() => return Ok(Listing::default()),
            listed => listed?,
        };
        if format == Some(Format::V3) {
            return Ok(listing);
        }
        let keys = |names: &[String]| {
            let names = names.iter().filter(|name| document::DOCUMENTS.contains(&name.as_str()));
            names.map(|name| path::join(node, name)).collect::<Vec<_>>()
        };
        if let Some(key) = keys(&listing.others).into_iter().chain(keys(&listing.prefixes)).next() {
            let opened = store.shared().open(&key).err();
            return Err(opened.unwrap_or_else(|| err!(Io, "found what is no file, expected a document")).at_key(key));
        }
        keys(&listing.dead_links).into_iter().for_each(|key| self.add(key));
        Ok(listing)
    }

    /// The line about those that are left out, if there are any.
    pub fn note(self) -> Option<String> {
        let (first, what) = (self.first?, if self.count == 1 { "link" } else { "links" });
        Some(format!("left out: {} {what} to nothing in the folders of groups, the first is {first}", self.count))
    }

    /// Fails at the first one. `expected` is what was looked for, `instead` ends the sentence on removing the links.
    pub fn refuse(self, expected: &str, instead: &str) -> Result<()> {
        let (Some(first), count) = (self.first, self.count) else { return Ok(()) };
        let found =
            if count == 1 { "a link to nothing".to_string() } else { format!("{count} links to nothing, of which this is the first") };
        Err(err!(Io, "found {found}, expected {expected}: fetch what is missing, or remove the links {instead}").at_key(first))
    }

    /// Does so where documents were looked for.
    pub fn refuse_documents(self) -> Result<()> {
        self.refuse("documents", "to do without these documents")
    }
}

/// Finds nodes in whose place, or in that of their documents or of a folder above them, are links to nothing: what these lead to may be elsewhere.
#[derive(Default)]
pub(super) struct LinksInPlaceOfNodes {
    /// The links to nothing in each folder that was listed.
    listed: HashMap<String, Vec<String>>,
}

impl LinksInPlaceOfNodes {
    pub fn stand_for(&mut self, store: &Store, node: &str) -> Result<bool> {
        if store.shared().files().is_none() {
            return Ok(false);
        }
        for folder in path::ancestors(node) {
            let below = path::relative(folder, node);
            let name = below.split('/').next().unwrap_or(below);
            if self.in_folder(store, folder)?.iter().any(|link| link == name) {
                return Ok(true);
            }
        }
        Ok(self.in_folder(store, node)?.iter().any(|link| document::DOCUMENTS.contains(&link.as_str())))
    }

    fn in_folder(&mut self, store: &Store, folder: &str) -> Result<&[String]> {
        if !self.listed.contains_key(folder) {
            let listing = readable(store.shared().list_dir(&path::prefix(folder)))?.unwrap_or_default();
            put(&mut self.listed, folder.to_string(), listing.dead_links)?;
        }
        Ok(self.listed.get(folder).map_or(&[], Vec::as_slice))
    }
}
