//! What consolidated metadata say of the nodes below a group: their documents without a request for each.
//!
//! They are as they were when the group was opened, and are believed for finding, opening and reading. As soon as this process
//! changes a node of the same store they are not used any more, and whatever changes something reads the documents themselves.

use super::store_changes::AsOf;
use super::stored::StoredDocument;
use super::{NodeKind, Store, path};
use crate::error::{ErrorKind, Result};
use crate::limits::{MAX_CONSOLIDATED, collect};
use crate::metadata::v3::NodeType;
use crate::metadata::{Dialect, Format, Map, Value, consolidated, v2, v3};
use crate::store::get;
use std::sync::Arc;

/// The consolidated metadata of one group.
pub(super) struct Catalog {
    group: String,
    format: Format,
    /// The `zarr.json` of the group, or its `.zmetadata`.
    document: Arc<Map>,
    as_of: AsOf,
}

impl Catalog {
    /// That of a v3 group with that document; `None` if it has none.
    pub fn of_v3(group: &str, document: &Arc<Map>, as_of: AsOf) -> Option<Arc<Catalog>> {
        consolidated::entries_v3(document)?;
        Some(Arc::new(Catalog { group: group.to_string(), format: Format::V3, document: document.clone(), as_of }))
    }

    /// That of a group with that `zarr.json` or `.zmetadata`.
    pub fn of(group: &str, format: Format, document: Arc<Map>, as_of: AsOf) -> Catalog {
        Catalog { group: group.to_string(), format, document, as_of }
    }

    /// Reads the consolidated metadata of a v2 group, or `None` if they are missing or cannot be understood.
    pub fn read_v2(store: &Store, group: &str) -> Result<Option<Arc<Catalog>>> {
        let as_of = store.as_of();
        let key = path::join(group, v2::CONSOLIDATED);
        let Some(bytes) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(None) };
        let document = match consolidated::parse_v2(&bytes) {
            Err(e) if e.kind() == ErrorKind::NoMemory => return Err(e),
            Err(_) => return Ok(None),
            Ok(document) => document,
        };
        Ok(Some(Arc::new(Catalog { group: group.to_string(), format: Format::V2, document: Arc::new(document), as_of })))
    }

    /// Whether this process has changed nothing since.
    pub fn is_current(&self, store: &Store) -> bool {
        !store.as_of().has_changed_since(self.as_of)
    }

    /// The document of the node at a path below the group; `None` if it is not here.
    pub fn find(&self, path: &str) -> Option<StoredDocument> {
        let (entries, name) = (self.entries()?, path::relative(&self.group, path));
        let stored = |kind, document_name, document: &Value, attributes| {
            let document = document.as_object()?.clone();
            let key = path::join(path, document_name);
            let (format, dialect, as_of, mark, findings) = (self.format, Dialect::Final, self.as_of, Vec::new(), Vec::new());
            Some(StoredDocument { format, dialect, kind, key, document, as_of, listed: true, attributes, mark, findings })
        };
        match self.format {
            Format::V3 => {
                let entry = entries.get(name)?;
                let kind = match v3::node_type(entry.as_object()?).ok()? {
                    NodeType::Array => NodeKind::Array,
                    NodeType::Group => NodeKind::Group,
                };
                let mut found = stored(kind, v3::DOCUMENT, entry, None)?;
                // Some writers leave an empty one there.
                found.document.shift_remove(v3::CONSOLIDATED);
                Some(found)
            }
            Format::V2 => {
                let own = |document_name| entries.get(&path::join(name, document_name));
                // Without an entry nothing is listed; what is no object is not believed.
                let attributes = match own(v2::ATTRIBUTES) {
                    None => Map::new(),
                    Some(entry) => entry.as_object()?.clone(),
                };
                match (own(v2::ARRAY), own(v2::GROUP)) {
                    (Some(entry), _) => stored(NodeKind::Array, v2::ARRAY, entry, Some(attributes)),
                    (None, Some(entry)) => stored(NodeKind::Group, v2::GROUP, entry, Some(attributes)),
                    (None, None) => None,
                }
            }
        }
    }

    /// The names of the nodes directly below a path, sorted.
    pub fn names(&self, above: &str) -> Result<Vec<String>> {
        let prefix = path::prefix(path::relative(&self.group, above));
        let below = self.entries().into_iter().flat_map(Map::keys).filter_map(|key| key.strip_prefix(&prefix));
        let mut names: Vec<&str> = match self.format {
            Format::V3 => collect(below.filter(|name| !name.contains('/') && !name.is_empty()))?,
            Format::V2 => collect(
                below
                    .filter_map(|key| key.rsplit_once('/'))
                    .filter(|(name, document)| !name.contains('/') && matches!(*document, v2::ARRAY | v2::GROUP))
                    .map(|(name, _)| name),
            )?,
        };
        names.sort_unstable();
        names.dedup();
        collect(names.into_iter().map(str::to_string))
    }

    /// All entries, by their keys relative to the group.
    pub fn entries(&self) -> Option<&Map> {
        match self.format {
            Format::V3 => consolidated::entries_v3(&self.document),
            Format::V2 => self.document.get("metadata")?.as_object(),
        }
    }
}
