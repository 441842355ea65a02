//! Links to nothing in the place of what is to be copied, as git-annex has for files that were not fetched: a copy would be without these for good.

use super::{Store, document, path};
use crate::error::{Result, err};
use crate::store::StorageExt;

/// Counts such links.
#[derive(Default)]
pub(super) struct DeadLinks {
    count: u64,
    first: Option<String>,
}

impl DeadLinks {
    pub fn add(&mut self, key: String) {
        self.add_all(DeadLinks { count: 1, first: Some(key) });
    }

    /// Takes what another one has.
    pub fn add_all(&mut self, other: DeadLinks) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }

    /// Takes those in the place of the documents of a node, in a store of files. What else is no file there is an error, as it is when it is read. Gives the
    /// names of the folders that are beside them. A folder that cannot be listed is taken for empty if it is no node by what is known.
    pub fn see_documents(&mut self, store: &Store, node: &str, is_node: bool) -> Result<Vec<String>> {
        let listing = match store.shared().list_dir(&path::prefix(node)) {
            Err(_) if !is_node => return Ok(Vec::new()),
            listed => listed?,
        };
        let keys = |names: Vec<String>| {
            names.into_iter().filter(|name| document::DOCUMENTS.contains(&name.as_str())).map(|name| path::join(node, &name))
        };
        if let Some(key) = keys(listing.others).next() {
            let opened = store.shared().open(&key).err();
            return Err(opened.unwrap_or_else(|| err!(Io, "found neither a file nor a folder, expected a document")).at_key(key));
        }
        keys(listing.dead_links).for_each(|key| self.add(key));
        Ok(listing.prefixes)
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
