//! The metadata of an open node as bytes, and a node of such bytes: one process reads, all others open what it tells them.
//!
//! The bytes are JSON: what is needed to open the node, and of a group all below it, as its consolidated metadata would have it. They are
//! the documents themselves: an array that is imported is written to without reading its document again, as by the handle that was exported.
//! Nodes below an imported group are believed as far as consolidated metadata: for reading.

use super::catalog::Catalog;
use super::stored::StoredDocument;
use super::{Array, Group, Node, NodeKind, Store, consolidate, path};
use crate::error::{Result, bail, err};
use crate::limits::MAX_CONSOLIDATED;
use crate::metadata::json::{self, member};
use crate::metadata::{Dialect, Format, Map, Value, v2, v3};
use std::sync::Arc;

/// The version of these bytes.
const VERSION: u64 = 1;

impl Array {
    /// The array's metadata as bytes for [`Node::import`], as this handle knows them. What it has from consolidated metadata, which may be
    /// out of date, it reads itself before.
    pub fn export(&self) -> Result<Vec<u8>> {
        if self.is_listed() {
            self.read_again()?;
        }
        let document = document_of(&self.metadata_json()?)?;
        export(self.path(), self.format(), self.dialect(), NodeKind::Array, document, self.attributes().stored()?, None)
    }
}

impl Group {
    /// The group's metadata and those of all below it, each document read once.
    pub fn export(&self) -> Result<Vec<u8>> {
        let (store, path) = (self.store(), self.path());
        store.check_listable()?;
        let entries = consolidate::collect(store, path, self.format())?;
        let mut document = document_of(&self.metadata_json()?)?;
        document.shift_remove(v3::CONSOLIDATED);
        export(path, self.format(), self.dialect(), NodeKind::Group, document, self.attributes().stored()?, Some(entries))
    }
}

fn document_of(text: &str) -> Result<Map> {
    json::parse_object(text.as_bytes(), MAX_CONSOLIDATED)
}

fn export(
    path: &str,
    format: Format,
    dialect: Dialect,
    kind: NodeKind,
    document: Map,
    attributes: Map,
    entries: Option<Map>,
) -> Result<Vec<u8>> {
    if dialect != Dialect::Final {
        bail!(Unsupported, "{} is in a draft of Zarr v3, of which nothing is exported; migrate it first", path::display(path));
    }
    let mut out = Map::new();
    out.insert("ozarr_export".into(), VERSION.into());
    out.insert("node_type".into(), if kind == NodeKind::Array { "array" } else { "group" }.into());
    out.insert("zarr_format".into(), format.number().into());
    out.insert("path".into(), path.into());
    out.insert("document".into(), Value::Object(document));
    if format == Format::V2 {
        out.insert("attributes".into(), Value::Object(attributes));
    }
    out.extend(entries.map(|entries| ("below".to_string(), Value::Object(entries))));
    json::compact_of_any(&Value::Object(out)).map(String::into_bytes)
}

/// What was exported of a node.
struct Exported {
    path: String,
    found: StoredDocument,
    /// Of a group: all below it.
    catalog: Option<Arc<Catalog>>,
}

impl Node {
    /// The node that was exported, in `store`, from which no metadata are read for it.
    pub fn import(store: &Store, bytes: &[u8]) -> Result<Node> {
        let Exported { path, found, catalog } = read(store, bytes)?;
        match found.kind {
            NodeKind::Array => Array::imported(store, path, found).map(Node::Array),
            _ => Group::imported(store, path, found, catalog).map(Node::Group),
        }
    }

    /// Makes this handle know what was exported of the same node, without reading anything: what [`Node::refresh`] would find.
    pub fn refresh_from(&self, bytes: &[u8]) -> Result<()> {
        let Exported { path, found, catalog } = read(self.store(), bytes)?;
        let kind = if matches!(self, Node::Array(_)) { NodeKind::Array } else { NodeKind::Group };
        if (path.as_str(), found.kind) != (self.path(), kind) {
            let name = |kind, at| format!("the {} {}", if kind == NodeKind::Array { "array" } else { "group" }, path::display(at));
            bail!(Argument, "found {}, expected {}", name(found.kind, &path), name(kind, self.path()));
        }
        match self {
            Node::Array(array) => array.refresh_from(found),
            Node::Group(group) => group.renew_from(found, catalog),
        }
    }
}

/// Reads exported bytes.
fn read(store: &Store, bytes: &[u8]) -> Result<Exported> {
    let mut all = json::parse_object(bytes, MAX_CONSOLIDATED)?;
    let version = member(&all, "ozarr_export")?;
    if !json::get_u64(version).is_ok_and(|n| n == VERSION) {
        return Err(err!(Metadata, "found the version {}, expected {VERSION}", json::brief(version)).at_field("ozarr_export"));
    }
    let path = path::normalize(text(&all, "path")?)?;
    let kind = match text(&all, "node_type")? {
        "array" => NodeKind::Array,
        "group" => NodeKind::Group,
        other => return Err(err!(Metadata, "found {other:?}, expected \"array\" or \"group\"").at_field("node_type")),
    };
    let number = member(&all, "zarr_format")?;
    let format = match json::get_u64(number) {
        Ok(2) => Format::V2,
        Ok(3) => Format::V3,
        _ => return Err(err!(Metadata, "found {}, expected 2 or 3", json::brief(number)).at_field("zarr_format")),
    };
    let mut document = take(&mut all, "document")?;
    let attributes = if format == Format::V2 { Some(take(&mut all, "attributes")?) } else { None };
    let below = if all.contains_key("below") { Some(take(&mut all, "below")?) } else { None };
    let as_of = store.as_of();
    let catalog = below.map(|entries| Arc::new(Catalog::of(&path, format, entries, as_of)));
    document.shift_remove(v3::CONSOLIDATED);
    let name = match (format, kind) {
        (Format::V3, _) => v3::DOCUMENT,
        (Format::V2, NodeKind::Array) => v2::ARRAY,
        (Format::V2, _) => v2::GROUP,
    };
    let key = path::join(&path, name);
    // An archive that is read looks whether it has grown where a document is opened: its directory is as old as that.
    if store.shared().capabilities().archive {
        store.shared().open(&key)?;
    }
    let (dialect, mark, findings) = (Dialect::Final, Vec::new(), Vec::new());
    let found = StoredDocument { format, dialect, kind, key, document, as_of, listed: true, attributes, mark, findings };
    Ok(Exported { path, found, catalog })
}

fn text<'a>(all: &'a Map, name: &str) -> Result<&'a str> {
    let value = member(all, name)?;
    value.as_str().ok_or_else(|| err!(Metadata, "found {}, expected a text", json::brief(value)).at_field(name))
}

fn take(all: &mut Map, name: &str) -> Result<Map> {
    match all.shift_remove(name) {
        Some(Value::Object(object)) => Ok(object),
        Some(other) => Err(err!(Metadata, "found {}, expected an object", json::brief(&other)).at_field(name)),
        None => Err(err!(Metadata, "the member is missing").at_field(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Context, Create};

    #[test]
    fn other_bytes_are_refused() {
        let store = Store::memory(&Context::default());
        Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
        let good = String::from_utf8(Group::open(&store, "").unwrap().export().unwrap()).unwrap();
        assert!(Node::import(&store, good.as_bytes()).is_ok());
        for (from, to, told) in [
            ("\"ozarr_export\":1", "\"ozarr_export\":2", "ozarr_export: found the version 2, expected 1"),
            ("\"path\":\"\"", "\"path\":\"../x\"", ""),
            ("\"path\":\"\"", "\"path\":7", "path: found 7"),
            ("\"node_type\":\"group\"", "\"node_type\":\"x\"", "node_type: found \"x\""),
            ("\"document\"", "\"else\"", "document: the member"),
            ("{", "[", ""),
            ("\"below\":{}", "\"below\":[]", "below: found"),
            ("\"zarr_format\":3", "\"zarr_format\":4", "zarr_format: found 4, expected 2 or 3"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good);
            let Err(e) = Node::import(&store, bad.as_bytes()) else { panic!("{bad}") };
            assert!(e.to_string().contains(told), "{told}: {e}");
        }
    }

    #[test]
    fn only_what_was_exported_of_the_same_node_refreshes_a_handle() {
        let store = Store::memory(&Context::default());
        let group = Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
        let other = Group::create(&store, "b", Some(Format::V3), Create::New).unwrap();
        let (bytes, node) = (other.export().unwrap(), Node::Group(group));
        let told = node.refresh_from(&bytes).unwrap_err();
        assert!(told.message().contains("found the group b, expected the group"), "{told}");
        assert!(Node::Group(other).refresh_from(&bytes).is_ok() && node.refresh_from(b"{}").is_err());
    }

    #[test]
    fn changes_that_are_not_stored_are_not_exported() {
        for format in [Format::V2, Format::V3] {
            let store = Store::memory(&Context::default());
            let group = Group::create(&store, "", Some(format), Create::New).unwrap();
            group.attributes().set_json("stored", "1").unwrap();
            let group = Group::open(&store, "").unwrap();
            group.attributes().begin().unwrap();
            group.attributes().set_json("collected", "2").unwrap();
            let Node::Group(told) = Node::import(&store, &group.export().unwrap()).unwrap() else { panic!("an array") };
            assert_eq!(told.attributes().names().unwrap(), ["stored"], "{format:?}");
        }
    }
}
