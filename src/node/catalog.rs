//! What consolidated metadata say of the nodes below a group: their documents without a request for each.
//!
//! They are as they were when the group was opened, and are believed for finding, opening and reading. As soon as this process
//! changes a node of the same store they are not used any more, and whatever changes something reads the documents themselves.

use super::store_changes::AsOf;
use super::stored::StoredDocument;
use super::{NodeKind, Store, path};
use crate::error::Result;
use crate::fork::Once;
use crate::limits::{MAX_CONSOLIDATED, check_memory, collect, push, readable, try_collect, with_spare};
use crate::metadata::v3::NodeType;
use crate::metadata::{Dialect, Format, Map, consolidated, v2, v3};
use crate::sort::sort_by;
use crate::store::get_many;
use std::sync::Arc;

/// The consolidated metadata of one group.
pub(super) struct Catalog {
    group: String,
    format: Format,
    /// Those of the `zarr.json` of the group, or of its `.zmetadata`, by their keys relative to the group.
    entries: Map,
    as_of: AsOf,
    nodes: Once<Vec<(String, String)>>,
}

/// What an entry says a node is: the kind, the name of its document, the document, and of version 2 the attributes.
type Entry<'a> = (NodeKind, &'static str, &'a Map, Option<Map>);

impl Catalog {
    /// That of a v3 group with that document; `None` if it has none.
    pub fn of_v3(group: &str, document: &Map, as_of: AsOf) -> Option<Arc<Catalog>> {
        let entries = consolidated::entries_v3(document)?.clone();
        Some(Arc::new(Catalog::of(group, Format::V3, entries, as_of)))
    }

    /// That of a group with those entries.
    pub fn of(group: &str, format: Format, entries: Map, as_of: AsOf) -> Catalog {
        Catalog { group: group.to_string(), format, entries, as_of, nodes: Once::new() }
    }

    /// Reads the consolidated metadata of a v2 group, or `None` if they are missing or cannot be understood.
    pub fn read_v2(store: &Store, group: &str) -> Result<Option<Arc<Catalog>>> {
        Ok(Catalog::read_each_v2(store, &[group])?.pop().flatten())
    }

    /// Reads those of some v2 groups, in a store with latency at the same time.
    pub fn read_each_v2(store: &Store, groups: &[&str]) -> Result<Vec<Option<Arc<Catalog>>>> {
        let (as_of, keys) = (store.as_of(), collect(groups.iter().map(|group| path::join(group, v2::CONSOLIDATED)))?);
        let read = |(group, bytes): (&&str, Result<Option<Vec<u8>>>)| {
            let Some(bytes) = bytes? else { return Ok(None) };
            let entries = readable(consolidated::parse_v2(&bytes))?;
            Ok(entries.map(|entries| Arc::new(Catalog::of(group, Format::V2, entries, as_of))))
        };
        try_collect(groups.iter().zip(get_many(store.shared(), &keys, MAX_CONSOLIDATED)?).map(read))
    }

    /// Whether this process has changed nothing since.
    pub fn is_current(&self, store: &Store) -> bool {
        !store.as_of().has_changed_since(self.as_of)
    }

    /// Whether a node is here, so that [`Catalog::find`] gives its document.
    pub fn has(&self, path: &str) -> bool {
        self.entry(path).is_some()
    }

    /// The document of the node at a path below the group; `None` if it is not here.
    pub fn find(&self, path: &str) -> Option<StoredDocument> {
        let (kind, document_name, document, attributes) = self.entry(path)?;
        let (key, mut document) = (path::join(path, document_name), document.clone());
        if self.format == Format::V3 {
            // Some writers leave an empty one there.
            document.shift_remove(v3::CONSOLIDATED);
        }
        let (format, dialect, as_of, mark, findings) = (self.format, Dialect::Final, self.as_of, Vec::new(), Vec::new());
        Some(StoredDocument { format, dialect, kind, key, document, as_of, listed: true, attributes, mark, findings })
    }

    fn entry(&self, path: &str) -> Option<Entry<'_>> {
        let (entries, name) = (&self.entries, path::relative(&self.group, path));
        match self.format {
            Format::V3 => {
                let document = entries.get(name)?.as_object()?;
                let kind = match v3::node_type(document).ok()? {
                    NodeType::Array => NodeKind::Array,
                    NodeType::Group => NodeKind::Group,
                };
                Some((kind, v3::DOCUMENT, document, None))
            }
            Format::V2 => {
                let own = |document_name| entries.get(&path::join(name, document_name));
                // Without an entry nothing is listed; what is no object is not believed.
                let attributes = match own(v2::ATTRIBUTES) {
                    None => Map::new(),
                    Some(entry) => entry.as_object()?.clone(),
                };
                match (own(v2::ARRAY), own(v2::GROUP)) {
                    (Some(entry), _) => Some((NodeKind::Array, v2::ARRAY, entry.as_object()?, Some(attributes))),
                    (None, Some(entry)) => Some((NodeKind::Group, v2::GROUP, entry.as_object()?, Some(attributes))),
                    (None, None) => None,
                }
            }
        }
    }

    /// The names of the nodes directly below a path, sorted.
    pub fn names(&self, above: &str) -> Result<Vec<String>> {
        let (nodes, above) = (self.nodes()?, path::relative(&self.group, above));
        let first = nodes.partition_point(|(parent, _)| &**parent < above);
        collect(nodes[first..].iter().take_while(|(parent, _)| parent == above).map(|(_, name)| name.clone()))
    }

    /// All nodes, each as the path above it and its name, sorted: made when names are first asked for. What no path names is left out.
    fn nodes(&self) -> Result<&[(String, String)]> {
        if let Some(known) = self.nodes.known() {
            return Ok(known);
        }
        let mut nodes = Vec::new();
        for key in self.entries.keys() {
            let node = match self.format {
                Format::V3 => Some(&**key),
                Format::V2 => key.rsplit_once('/').filter(|(_, document)| matches!(*document, v2::ARRAY | v2::GROUP)).map(|(node, _)| node),
            };
            if let Some(node) = node.filter(|node| path::is_named_below(&self.group, node)) {
                let (above, name) = node.rsplit_once('/').unwrap_or(("", node));
                push(&mut nodes, (above.to_string(), name.to_string()))?;
            }
        }
        with_spare(nodes.len() * size_of::<usize>(), || sort_by(&mut nodes, Ord::cmp))?;
        nodes.dedup();
        check_memory()?;
        Ok(self.nodes.get(|| nodes))
    }

    /// All entries, by their keys relative to the group.
    pub fn entries(&self) -> &Map {
        &self.entries
    }
}
