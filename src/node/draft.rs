//! The hierarchy of the first draft of version 3 (d0): where its nodes' documents and chunks are. None is written.
//!
//! Array `a/b`: `meta/root/a/b.array.json`, its chunks `data/root/a/b/c0/0`. Group `a`: `meta/root/a.group.json`, or nothing but nodes
//! below it. The root: `meta/root.array.json` or `meta/root.group.json`. `zarr.json` is the entry point of all.

use super::stored::StoredDocument;
use super::{NodeKind, Store, path};
use crate::error::{Error, ErrorKind, Result, bail};
use crate::grid::key::KeyEncoding;
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, collect};
use crate::metadata::draft::{self, EntryPoint};
use crate::metadata::json::splice::TextObject;
use crate::metadata::{ArrayMeta, Dialect, Format, Map, json, v2, v3};
use crate::sort::set_of;
use crate::store::{StorageExt, get};

/// In front of the keys of all documents.
pub(super) const META: &str = "meta/root";
/// In front of the keys of all chunks.
pub(super) const DATA: &str = "data/root";

/// The key of a node's document, without `.array.json`.
fn base(path: &str) -> String {
    if path.is_empty() { META.to_string() } else { format!("{META}/{path}") }
}

/// The prefix of the documents below a node.
fn below(path: &str) -> String {
    format!("{}/", base(path))
}

/// The entry point of the store's hierarchy, if that is one of a draft. Other drafts than d0 are an error that names them.
pub(super) fn entry(store: &Store) -> Result<Option<EntryPoint>> {
    if store.is_no_draft() {
        return Ok(None);
    }
    let document = match get(&**store.shared(), v3::DOCUMENT, MAX_CONSOLIDATED)? {
        None => None,
        Some(bytes) if TextObject::document(&bytes, &[]).and_then(|d| d.value("zarr_format")).is_some_and(|format| format == b"3") => None,
        Some(bytes) => match json::parse_object(&bytes, MAX_CONSOLIDATED) {
            Ok(document) => Some(document).filter(draft::is_entry),
            Err(e) if e.kind() == ErrorKind::NoMemory => return Err(e),
            // It may be whole the next time.
            Err(_) => return Ok(None),
        },
    };
    match document {
        Some(document) => EntryPoint::from_document(&document).map(Some).map_err(|e| e.at_key(v3::DOCUMENT)),
        None => {
            store.set_no_draft();
            Ok(None)
        }
    }
}

/// Refuses to change anything in a hierarchy of a draft.
pub(super) fn refuse(store: &Store) -> Result<()> {
    match entry(store) {
        Ok(None) => Ok(()),
        Ok(Some(_)) => Dialect::D0.refuse().map_err(|e| e.at_key(v3::DOCUMENT)),
        Err(e) => Err(e),
    }
}

/// The node at a path, if the store is a hierarchy of the draft: an array before a group before an implicit group.
pub(super) fn find(store: &Store, path: &str) -> Result<Option<StoredDocument>> {
    match entry(store)? {
        Some(entry) => find_in(store, &entry, path),
        None => Ok(None),
    }
}

fn find_in(store: &Store, entry: &EntryPoint, path: &str) -> Result<Option<StoredDocument>> {
    let as_of = store.as_of();
    let stored = |kind, key, document| StoredDocument {
        format: Format::V3,
        dialect: Dialect::D0,
        kind,
        key,
        document,
        as_of,
        listed: false,
        attributes: None,
        mark: Vec::new(),
        findings: Vec::new(),
    };
    let key = |word: &str| format!("{}.{word}{}", base(path), entry.suffix);
    for (word, kind) in [("array", NodeKind::Array), ("group", NodeKind::Group)] {
        let key = key(word);
        if let Some(bytes) = get(&**store.shared(), &key, MAX_DOCUMENT)? {
            let document = json::parse_object(&bytes, MAX_DOCUMENT).map_err(|e: Error| e.at_key(&key))?;
            return Ok(Some(stored(kind, key, document)));
        }
    }
    if !path.is_empty() && !has_nodes_below(store, path)? {
        return Ok(None);
    }
    Ok(Some(stored(NodeKind::Group, key("group"), Map::new())))
}

fn has_nodes_below(store: &Store, path: &str) -> Result<bool> {
    if !store.shared().capabilities().listable {
        return Ok(false);
    }
    let listing = store.shared().list_dir(&below(path))?;
    Ok(!listing.keys.is_empty() || !listing.prefixes.is_empty())
}

/// The names of the nodes directly below one, sorted.
pub(super) fn child_names(store: &Store, path: &str) -> Result<Vec<String>> {
    let Some(EntryPoint { suffix }) = entry(store)? else { return Ok(Vec::new()) };
    let listing = store.shared().list_dir(&below(path))?;
    let name = |key: &String| {
        let rest = key.strip_suffix(&suffix)?;
        rest.strip_suffix(".array").or_else(|| rest.strip_suffix(".group")).map(str::to_string)
    };
    let names = set_of(listing.keys.iter().filter_map(name).chain(listing.prefixes).filter(|name| !name.is_empty()));
    collect(names.into_iter())
}

/// Refuses to migrate in place nodes of a d0 hierarchy whose new documents would be in the draft's own folders.
pub(super) fn check_place(root: &str, nodes: &[String]) -> Result<()> {
    if !root.is_empty() {
        bail!(Argument, "a hierarchy in a draft (d0) is migrated in place as a whole; name its root, or a place to migrate to");
    }
    match nodes.iter().find(|node| matches!(path::segments(node).next(), Some("meta" | "data"))) {
        Some(node) => bail!(Unsupported, "the node {node} would be in the folder of the draft's own keys; migrate to another place"),
        None => Ok(()),
    }
}

/// Returns the names, sorted, under which nodes may be directly below the group at `path`. In a hierarchy of the draft these are the nodes
/// of the draft and the folders that other programs may have put beside them.
pub(super) fn names_below(store: &Store, path: &str) -> Result<Vec<String>> {
    let folders = store.shared().list_dir(&path::prefix(path))?.prefixes;
    if entry(store)?.is_none() {
        return Ok(folders);
    }
    let names = set_of(child_names(store, path)?.into_iter().chain(folders));
    collect(names.into_iter())
}

/// The prefix of the chunks of an array of the draft, and their keys behind that. A scalar's chunk is `c`, or `c0` as zarr-python 2
/// names it.
pub(super) fn chunks(store: &Store, path: &str, meta: &ArrayMeta) -> Result<(String, KeyEncoding)> {
    let folder = format!("{DATA}/{}", path::prefix(path));
    let (KeyEncoding::V2(separator), 0) = (meta.keys, meta.shape.len()) else { return Ok((format!("{folder}c"), meta.keys)) };
    let key = format!("{folder}c0");
    if store.shared().open(&key).map_err(|e| e.at_key(&key))?.is_some() {
        return Ok((format!("{folder}c"), meta.keys));
    }
    Ok((folder, KeyEncoding::Default(separator)))
}

/// Returns whether the hierarchy has the consolidated metadata of zarr-python 2, which are not needed to read it.
pub(super) fn is_consolidated(store: &Store) -> Result<bool> {
    let key = consolidated();
    Ok(store.shared().open(&key).map_err(|e| e.at_key(&key))?.is_some())
}

/// Whether the group in which they are has nothing else in it: it is no node of anybody's.
pub(super) fn is_consolidated_only(store: &Store) -> Result<bool> {
    Ok(is_consolidated(store)? && child_names(store, CONSOLIDATED_GROUP)?.is_empty())
}

fn consolidated() -> String {
    format!("{META}/{CONSOLIDATED_GROUP}/{}", v2::CONSOLIDATED)
}

/// The group in which zarr-python 2 kept consolidated metadata.
pub(super) const CONSOLIDATED_GROUP: &str = "consolidated";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::node::tests::own;
    use crate::node::{Array, Context, Group, Node};
    use crate::store::Condition;

    const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

    /// A hierarchy with documents that end in `suffix`.
    fn store(suffix: &str, keys: &[(&str, &str)]) -> Store {
        let store = Store::memory(&Context::default());
        let put = |key: &str, text: &str| store.shared().put(key, &[text.as_bytes()], Condition::None).unwrap();
        let entry = format!(r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":"{suffix}","extensions":[]}}"#);
        put("zarr.json", &entry);
        for (key, text) in keys {
            let array =
                r#"{"shape":[],"data_type":"u1","chunk_grid":{"type":"regular","chunk_shape":[]},"fill_value":3,"attributes":{"n":1}}"#;
            put(&key.replace('$', suffix), if text.is_empty() { array } else { text });
        }
        store
    }

    fn names(store: &Store, path: &str) -> Vec<String> {
        Group::open(store, path).unwrap().children().unwrap().into_iter().map(|c| format!("{}:{:?}", c.name, c.kind())).collect()
    }

    #[test]
    fn nodes_are_found_with_every_suffix() {
        for suffix in [".json", ".v3", "", ".meta.json"] {
            let keys =
                [("meta/root/a.array$", ""), ("meta/root/g.group$", "{}"), ("meta/root/g/x.y.array$", ""), ("meta/root/i/j/k.array$", "")];
            let store = store(suffix, &keys);
            assert_eq!(names(&store, ""), ["a:Array", "g:Group", "i:Group"], "{suffix:?}");
            assert_eq!(names(&store, "g"), ["x.y:Array"], "{suffix:?}");
            assert_eq!(names(&store, "i"), ["j:Group"], "{suffix:?}");
            assert_eq!(Group::open(&store, "i/j").unwrap().attributes().all().unwrap().len(), 0);
            assert_eq!(Array::open(&store, "g/x.y").unwrap().attributes().get_i64("n").unwrap(), 1);
            for missing in ["b", "a/b", "i/jj", "g/x", "meta", "meta/root", "data"] {
                assert_eq!(Node::open(&store, missing).err().unwrap().kind(), ErrorKind::NotFound, "{suffix:?} {missing}");
            }
            assert_eq!(Array::open(&store, "i/j").err().unwrap().kind(), ErrorKind::NodeKind);
            let e = Array::open(&store, "g/z").err().unwrap();
            assert!(e.message().contains("x.y"), "{e}");
        }
    }

    #[test]
    fn chunks_are_told_by_the_keys_that_they_have() {
        let text = r#"{"shape":[4],"data_type":"u1","chunk_grid":{"type":"regular","chunk_shape":[2]},"fill_value":3,"attributes":{}}"#;
        let store = store(".json", &[("meta/root/g/a.array$", text)]);
        store.shared().put("data/root/g/a/c1", &[&[7, 8]], Condition::None).unwrap();
        let array = Array::open(&store, "g/a").unwrap();
        assert_eq!(array.chunk_key(&[1]).unwrap(), "data/root/g/a/c1");
        assert_eq!((array.chunk_place(&[0], false).unwrap().is_none(), array.chunk_place(&[1], false).unwrap().is_none()), (true, false));
        let mut chunks = array.chunks(false).unwrap();
        assert_eq!(chunks.step().unwrap().map(|(index, _)| index.to_vec()), Some(vec![1]));
        assert!(chunks.step().unwrap().is_none());
    }

    #[test]
    fn an_array_goes_before_a_group_and_the_root_is_always_there() {
        let both = store(".json", &[("meta/root/a.array.json", ""), ("meta/root/a.group.json", "{}")]);
        assert_eq!(names(&both, ""), ["a:Array"]);
        assert_eq!(names(&store(".json", &[]), ""), [""; 0]);
        let root = store(".json", &[("meta/root.array.json", "")]);
        assert!(matches!(Node::open(&root, "").unwrap(), Node::Array(_)));
        let group = store(".json", &[("meta/root.group.json", r#"{"attributes":{"r":1}}"#)]);
        assert_eq!(Group::open(&group, "").unwrap().attributes().get_i64("r").unwrap(), 1);
    }

    #[test]
    fn nodes_are_listed_beside_documents_of_other_versions() {
        let v3 = r#"{"zarr_format":3,"node_type":"group"}"#;
        let v2 = r#"{"zarr_format":2,"shape":[],"chunks":[],"dtype":"|u1","compressor":null,"fill_value":3,"order":"C","filters":null}"#;
        for (beside, document) in [("g/zarr.json", v3), ("g/.zgroup", r#"{"zarr_format":2}"#)] {
            let store = store(
                ".json",
                &[
                    ("meta/root/g/a.array.json", ""),
                    ("meta/root/h.group.json", "{}"),
                    (beside, document),
                    ("g/b/.zarray", v2),
                    ("h/c/.zarray", v2),
                ],
            );
            assert_eq!(names(&store, ""), ["g:Group", "h:Group"], "{beside}");
            assert_eq!(names(&store, "g"), ["a:Array", "b:Array"], "{beside}");
            assert_eq!(names(&store, "h"), ["c:Array"], "{beside}");
            let tree = Group::open(&store, "").unwrap().tree(usize::MAX).unwrap();
            assert_eq!(tree.matches("uint8 []").count(), 3, "{tree}");
            let to = Store::memory(&Context::default());
            store.migrate("", Some((&to, "")), true, &mut |_, _| Ok(())).unwrap();
            assert_eq!(names(&to, "g"), ["a:Array", "b:Array"], "{beside}");
            assert_eq!(names(&to, "h"), ["c:Array"], "{beside}");
        }
    }

    #[test]
    fn a_missing_layout_is_told_and_refused_when_strict() {
        use crate::node::{Mode, Options, Settings};
        let with =
            r#"{"shape":[],"data_type":"u1","chunk_grid":{"type":"regular","chunk_shape":[]},"chunk_memory_layout":"C","fill_value":3}"#;
        let lax = store(".json", &[("meta/root/a.array.json", ""), ("meta/root/b.array.json", with), ("meta/root/g.group.json", "{}")]);
        let context = Context::default().with_settings(Settings { strict: true, ..Settings::default() });
        let strict = Store::new(&context, lax.shared().clone(), Mode::Read, Options::default());
        assert!(Array::open(&lax, "a").is_ok() && Array::open(&strict, "b").is_ok() && Group::open(&strict, "g").is_ok());
        let e = Array::open(&strict, "a").err().unwrap();
        assert!(e.message().contains("D0-29") && e.message().contains("chunk_memory_layout"), "{e}");
        assert_eq!(e.key(), Some("meta/root/a.array.json"));
    }

    #[test]
    fn a_scalar_is_found_under_both_names() {
        for (key, want) in [("data/root/a/c", 7), ("data/root/a/c0", 7), ("data/root/a/c1", 3)] {
            let store = store(".json", &[("meta/root/a.array.json", ""), (key, "\u{7}")]);
            let array = Array::open(&store, "a").unwrap();
            let mut value = [0u8];
            let memory = crate::engine::Memory::of(&mut value, &[], array.data_type());
            own!(array.read(&crate::engine::Selection::all(&[]), &memory).unwrap());
            assert_eq!(value, [want], "{key}");
            assert_eq!(array.usage().unwrap().chunks, u64::from(want == 7), "{key}");
        }
    }

    #[test]
    fn a_child_that_cannot_be_understood_is_listed_with_its_error() {
        let store = store(".json", &[("meta/root/a.array.json", "{}"), ("meta/root/b.array.json", "{")]);
        assert_eq!(names(&store, ""), ["a:Unknown", "b:Unknown"]);
        assert_eq!(Node::open(&store, "a").err().unwrap().key(), Some("meta/root/a.array.json"));
    }

    #[test]
    fn an_entry_point_that_is_not_at_the_root_and_other_drafts_are_named() {
        let store = store(".json", &[]);
        let entry = get(&**store.shared(), "zarr.json", 1 << 20).unwrap().unwrap();
        store.shared().put("sub/zarr.json", &[&entry], Condition::None).unwrap();
        let e = Node::open(&store, "sub").err().unwrap();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("(d0)"), "{e}");
        let d1 = String::from_utf8(entry).unwrap().replace("protocol/core", "core");
        store.shared().put("zarr.json", &[d1.as_bytes()], Condition::None).unwrap();
        for path in ["", "a"] {
            let e = Node::open(&store, path).err().unwrap();
            assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("(d1)"), "{path}: {e}");
        }
    }
}
