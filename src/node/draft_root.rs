//! The folder of a hierarchy of the first draft of version 3 (d0), whose nodes have none of their own.

use crate::metadata::{draft, json, v3};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The most bytes of an entry point that are looked at.
const MAX_ENTRY: u64 = 1 << 16;

/// The folder of the hierarchy that `place`, which is no folder, names a node of, and the node's path in it.
pub(super) fn of(place: &Path) -> Option<(PathBuf, String)> {
    // A name that ends in `.zarr` is a root.
    if place.extension().is_some_and(|ending| ending == "zarr") || place.exists() {
        return None;
    }
    let (root, document) =
        place.ancestors().skip(1).map(|above| (above, above.join(v3::DOCUMENT))).find(|(_, document)| document.is_file())?;
    fs::metadata(&document).ok().filter(|file| file.len() <= MAX_ENTRY)?;
    let entry = json::parse_object(&fs::read(&document).ok()?, MAX_ENTRY as usize).ok()?;
    let node = place.strip_prefix(root).ok().filter(|node| draft::is_entry(&entry) && node.components().all(is_name))?.to_str()?;
    let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
    Some((root.to_path_buf(), node.to_string()))
}

/// Whether a part of a path is a name, and not `..`.
fn is_name(part: Component<'_>) -> bool {
    matches!(part, Component::Normal(_))
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorKind;
    use crate::node::{Context, Mode, Node, Store};
    use crate::store::suite::TestFolder;

    #[test]
    fn nodes_of_a_draft_are_found_by_the_folder_that_they_would_have() {
        const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
        let folder = TestFolder::made("draft-root");
        let array = r#"{"shape":[],"data_type":"u1","chunk_grid":{"type":"regular","chunk_shape":[]},"fill_value":3,"attributes":{}}"#;
        let entry = format!(r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#);
        let group = r#"{"zarr_format":3,"node_type":"group"}"#;
        for (file, text) in [("s/zarr.json", entry.as_str()), ("s/meta/root/g/a.array.json", array), ("t/zarr.json", group)] {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let open = |place: &str, mode| {
            let (store, node) = Store::locate(&Context::default(), folder.join(place).to_str().unwrap(), mode)?;
            Node::open(&store, &node).map(|node| node.path().to_string())
        };
        for (place, path) in [("s", ""), ("s/g", "g"), ("s/g/a", "g/a"), ("./s/./g", "g"), ("t/../s/g/a", "g/a")] {
            assert_eq!(open(place, Mode::Read).unwrap(), path, "{place}");
        }
        for (place, mode) in
            [("s/b", Mode::Read), ("s/g/../g", Mode::Read), ("t/a", Mode::Read), ("s/g.zarr", Mode::Read), ("s/g", Mode::ReadWrite)]
        {
            assert_eq!(open(place, mode).err().unwrap().kind(), ErrorKind::NotFound, "{place}");
        }
    }
}
