//! Groups: opening, creating, listing children, consolidating metadata.
//! Specification: v2, "Groups"; v3 core, "Group metadata".

use super::document::{self, Stored, find};
use super::{Attributes, Create, NodeKind, Store, hierarchy, path};
use crate::error::{Error, Result, bail, err};
use crate::metadata::v3::Document;
use crate::metadata::{Format, Map, Value, consolidated, json, v2, v3};
use crate::store::Condition;
use std::sync::{Arc, PoisonError, RwLock};

/// An open group. Clones share it.
#[derive(Clone)]
pub struct Group(Arc<Inner>);

struct Inner {
    store: Store,
    path: String,
    format: Format,
    document: RwLock<Map<String, Value>>,
    attributes: Attributes,
}

/// A node directly below a group.
pub struct Child {
    /// Its name.
    pub name: String,
    /// Its kind; `Unknown` with an error where its document cannot be understood.
    pub kind: NodeKind,
    /// Why it cannot be understood.
    pub error: Option<Error>,
}

impl Group {
    /// Opens the group at `path`.
    pub fn open(store: &Store, path: &str) -> Result<Group> {
        let path = path::normalize(path)?;
        let found = document::require(store, &path, NodeKind::Group)?;
        Group::from_stored(store, path, found)
    }

    pub(super) fn from_stored(store: &Store, path: String, found: Stored) -> Result<Group> {
        let key = found.key.clone();
        match found.parse()? {
            Document::Group(meta) => Ok(Group::new(store, path, meta.format, meta.document)),
            Document::Array(_) => Err(err!(NodeKind, "found an array, expected a group").at_key(key)),
        }
    }

    fn new(store: &Store, path: String, format: Format, document: Map<String, Value>) -> Group {
        let known = (format == Format::V3).then(|| v3::attributes(&document).cloned().unwrap_or_default());
        let attributes = Attributes::new(store, &path, format, NodeKind::Group, known);
        Group(Arc::new(Inner { store: store.clone(), path, format, document: RwLock::new(document), attributes }))
    }

    /// Creates a group, and the groups above it that are missing. Without a format it has that of the enclosing group, else 3.
    pub fn create(store: &Store, path: &str, format: Option<Format>, how: Create) -> Result<Group> {
        store.check_writable()?;
        let path = path::normalize(path)?;
        path::check_new(&path)?;
        if let Some(group) = Group::existing(store, &path, format, how)? {
            return Ok(group);
        }
        let format = match format {
            Some(format) => format,
            None => hierarchy::enclosing_format(store, &path)?.unwrap_or(Format::V3),
        };
        let (name, document) = match format {
            Format::V2 => (v2::GROUP, v2::write_group()),
            Format::V3 => (v3::DOCUMENT, v3::write_group(Map::new())),
        };
        let mut changed = hierarchy::ensure_ancestors(store, &path, format)?;
        let replaced = {
            let _lock = document::lock_place(store, &path)?;
            if let Some(group) = Group::existing(store, &path, Some(format), how)? {
                return Ok(group);
            }
            let replaced = hierarchy::clear(store, &path)?;
            hierarchy::publish_new(store, &path, name, &document)?;
            replaced
        };
        changed.push(path.clone());
        hierarchy::refresh(store, &changed, replaced.then_some(path.as_str()))?;
        Ok(Group::new(store, path, format, document))
    }

    /// What stands at the path already: the group to be used in the place of a new one, or an error, or nothing that is in the way.
    fn existing(store: &Store, path: &str, format: Option<Format>, how: Create) -> Result<Option<Group>> {
        if how == Create::Overwrite {
            return Ok(None);
        }
        let Some(found) = hierarchy::found_on_create(store, path)? else { return Ok(None) };
        if how == Create::New || found.kind != NodeKind::Group {
            return Err(hierarchy::exists(store, path, found.kind, ""));
        }
        if format.is_some_and(|f| f != found.format) {
            let difference = format!(" with zarr_format {}", found.format.number());
            return Err(hierarchy::exists(store, path, found.kind, &difference));
        }
        Group::from_stored(store, path.to_string(), found).map(Some)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The path in the store; empty for the root.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The version of the document.
    pub fn format(&self) -> Format {
        self.0.format
    }

    /// The path in the store of `path`, which is relative to the group.
    pub fn child_path(&self, path: &str) -> Result<String> {
        let below = path::normalize(path)?;
        if below.is_empty() {
            bail!(Name, "the path below a group is empty");
        }
        path::normalize(&path::join(&self.0.path, &below))
    }

    /// The document as JSON, with the attributes as this handle knows them.
    pub fn metadata_json(&self) -> String {
        let mut document = self.0.document.read().unwrap_or_else(PoisonError::into_inner).clone();
        if let (Format::V3, Some(attributes)) = (self.0.format, self.0.attributes.published()) {
            document.insert("attributes".into(), Value::Object((*attributes).clone()));
        }
        json::to_text(&Value::Object(document))
    }

    /// The nodes directly below, sorted by name. One that cannot be understood is there with its error.
    pub fn children(&self) -> Result<Vec<Child>> {
        let store = &self.0.store;
        hierarchy::need_listing(store)?;
        let names = store.shared().list_dir(&path::prefix(&self.0.path))?.prefixes;
        let mut children = Vec::with_capacity(names.len());
        for name in names {
            // V3-05; in v2 such names are legal.
            if self.0.format == Format::V3 && name.starts_with("__") {
                continue;
            }
            let found = match find(store, &path::join(&self.0.path, &name)) {
                Ok(None) => continue,
                Ok(Some(found)) => {
                    let kind = found.kind;
                    found.parse().map(|_| kind)
                }
                Err(e) => Err(e),
            };
            children.push(match found {
                Ok(kind) => Child { name, kind, error: None },
                Err(e) => Child { name, kind: NodeKind::Unknown, error: Some(e) },
            });
        }
        Ok(children)
    }

    /// Writes consolidated metadata of all nodes below: into the group's `zarr.json`, or as `.zmetadata`. Later changes through
    /// this library keep it right.
    pub fn consolidate(&self) -> Result<()> {
        let (store, path) = (&self.0.store, &self.0.path);
        store.check_writable()?;
        hierarchy::need_listing(store)?;
        match self.0.format {
            Format::V2 => {
                let _lock = document::lock(store, path, v2::CONSOLIDATED)?;
                let entries = hierarchy::collect_v2(store, path)?;
                document::publish(store, &path::join(path, v2::CONSOLIDATED), &consolidated::write_v2(entries), Condition::None)
            }
            Format::V3 => {
                let _lock = document::lock(store, path, v3::DOCUMENT)?;
                let entries = hierarchy::collect_v3(store, path)?;
                let found = document::find_v3(store, path)?.filter(|f| f.kind == NodeKind::Group);
                let Stored { key, mut document, .. } = found.ok_or_else(|| document::not_found(store, path, "group"))?;
                document.insert(v3::CONSOLIDATED.into(), consolidated::write_v3(entries));
                document::publish(store, &key, &document, Condition::None)?;
                *self.0.document.write().unwrap_or_else(PoisonError::into_inner) = document;
                Ok(())
            }
        }
    }

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.0.attributes
    }

    /// Makes durable what was written, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        self.0.store.flush()
    }
}
