//! Which groups are open, and which were found, as their files are: what is created in a group does not read its document each time, which may describe thousands of arrays.

use super::path;
use crate::fork::ForkPreserved;
use crate::metadata::v3;
use crate::store::{SharedStore, Stamp};
use std::collections::HashMap;
use std::sync::Arc;

/// The most groups that are known at a time.
const MOST: usize = 64;

/// The groups of a store.
#[derive(Default)]
pub(super) struct KnownGroups {
    /// The files of the `zarr.json` of groups, by the groups' paths.
    files: ForkPreserved<HashMap<String, Stamp>>,
    /// Each group that is open has one reference.
    open: Arc<()>,
}

impl KnownGroups {
    /// A group is open until the result is dropped.
    pub fn open(&self) -> Arc<()> {
        self.open.clone()
    }

    /// Whether any group is open.
    pub fn is_any_open(&self) -> bool {
        Arc::strong_count(&self.open) > 1
    }

    /// Says whether the group at `path` was found in a file that looks so.
    pub fn holds(&self, path: &str, file: Stamp) -> bool {
        self.files.read(|files| files.get(path) == Some(&file))
    }

    /// Notes that the group at `path` was found in a file that looked so before.
    pub fn note(&self, path: &str, file: Stamp) {
        let path = path.to_string();
        let _forgotten = self.files.write(|files| {
            let forgotten = if files.len() < MOST { HashMap::new() } else { std::mem::take(files) };
            files.insert(path, file);
            forgotten
        });
    }
}

/// What the file of the `zarr.json` at `path` looks like: `None` unless there is one of which every later change is seen so.
pub(super) fn file_of(shared: &SharedStore, path: &str) -> Option<Stamp> {
    // What is wrong there is told by the call that reads it.
    let file = shared.files()?.stamp(&path::join(path, v3::DOCUMENT)).ok()??;
    file.is_settled().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::metadata::Format;
    use crate::node::tests::spec;
    use crate::node::tests_growth::Folder;
    use crate::node::{Array, Create, Group};

    #[test]
    fn a_group_is_read_again_for_a_new_array_once_its_document_is_another() {
        let Folder(root, store) = &Folder::new("known-groups");
        let create = |name: &str| {
            // A change within the same step of the file system's clock does not show.
            std::thread::sleep(std::time::Duration::from_millis(30));
            Array::create(store, &format!("g/{name}"), &spec(&[1], &[1]), Create::New).map(drop)
        };
        let is_known = |path: &str| file_of(store.shared(), path).is_some_and(|file| store.known_groups().holds(path, file));
        let group = Group::create(store, "g", Some(Format::V3), Create::New).unwrap();
        assert!(!is_known("g"), "what was written just now may be written again at the same time");
        create("first").unwrap();
        assert!(is_known("") && is_known("g") && !is_known("g/first"));
        group.attributes().set("more", 1.into()).unwrap();
        assert!(!is_known("g"));
        create("second").unwrap();
        assert!(is_known("g"));
        std::fs::copy(root.join("g/first/zarr.json"), root.join("g/zarr.json")).unwrap();
        assert_eq!(create("third").unwrap_err().kind(), ErrorKind::NodeKind);
        std::fs::remove_file(root.join("g/zarr.json")).unwrap();
        create("third").unwrap();
        assert!(root.join("g/zarr.json").exists(), "a group that has gone is made");
        let file = file_of(store.shared(), "").unwrap();
        (0..MOST).for_each(|i| store.known_groups().note(&i.to_string(), file));
        assert!(!is_known("") && store.known_groups().holds("63", file), "as many as fit are kept");
    }
}
