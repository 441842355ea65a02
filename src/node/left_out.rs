//! What copies of nodes leave out: keys that are neither documents nor chunks, such as files that other programs keep beside the nodes.

use super::{Store, document, marker, path};
use crate::error::bail;
use crate::metadata::{v2, v3};
use crate::store::prefix::{hidden, hidden_by};
use crate::store::{StorageExt, question, zip};

/// Counts such keys in the folders of groups, and folders there that are no nodes, whatever is in them. Those of arrays are with the chunks.
#[derive(Default)]
pub(super) struct LeftOut {
    count: u64,
    first: Option<String>,
}

impl LeftOut {
    fn add(&mut self, key: String) {
        self.count += 1;
        self.first.get_or_insert(key);
    }

    /// Takes what is listed in the folder of a group.
    pub fn see_keys(&mut self, group: &str, names: &[String]) {
        for name in names.iter().filter(|name| !document::DOCUMENTS.contains(&name.as_str()) && !is_own(name)) {
            let key = path::join(group, name);
            if !zip::is_ignored(&key) {
                self.add(key);
            }
        }
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

    /// The line about them, if there are any.
    pub fn note(self) -> Option<String> {
        let (first, what) = (self.first?, if self.count == 1 { "key or folder" } else { "keys and folders" });
        Some(format!("left out: what is no part of Zarr: {} {what}, the first is {first}; `ozarr cp` takes it along", self.count))
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
