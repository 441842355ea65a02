//! Groups: opening, creating, listing children, consolidating metadata.
//! Specification: v2, "Groups"; v3 core, "Group metadata".

use super::catalog::Catalog;
use super::store_changes::AsOf;
use super::stored::StoredDocument;
use super::{Array, Attributes, Create, NodeKind, Store, document, groups_above, hierarchy, lookup, path};
use crate::engine::Growths;
use crate::error::{Error, Result, bail, err};
use crate::fork::{ForkPreserved, Once};
use crate::metadata::v3::Document;
use crate::metadata::{Dialect, Format, GroupMeta, Map, Value, consolidated, v2, v3};
use crate::store::Condition;
use std::ops::ControlFlow;
use std::sync::Arc;

/// An open group. Clones share it, with what is being collected of its attributes; see [`Group::for_another_handle`].
#[derive(Clone)]
pub struct Group(Arc<GroupInner>, Arc<Attributes>);

struct GroupInner {
    store: Store,
    path: String,
    format: Format,
    dialect: Dialect,
    document: ForkPreserved<Arc<Map>>,
    /// Consolidated metadata: its own, or those that it was found in.
    catalog: ForkPreserved<CatalogState>,
    _open: Arc<()>,
}

/// The consolidated metadata of a group, as far as they were read.
#[derive(Clone)]
enum CatalogState {
    /// v2: nothing yet.
    NotYet,
    /// The catalog, or `None` if the group has no consolidated metadata.
    All(Option<Arc<Catalog>>),
}

/// A node below a group. What it is may be read only when it is asked for.
pub struct Child {
    /// Its name, or its path relative to the group.
    pub name: String,
    /// Where its document is.
    place: Option<UnreadChild>,
    seen: Once<Result<NodeKind>>,
}

struct UnreadChild {
    store: Store,
    path: String,
    catalog: Option<Arc<Catalog>>,
}

impl Child {
    /// Makes a child whose document was read.
    pub(super) fn seen(name: String, kind: Result<NodeKind>) -> Child {
        let seen = Once::new();
        seen.get(|| kind);
        Child { name, place: None, seen }
    }

    /// Makes a child that is known to have a document, or to be in consolidated metadata, and is not read yet.
    pub(super) fn unseen(name: String, store: &Store, path: String, catalog: &Option<Arc<Catalog>>) -> Child {
        Child { name, place: Some(UnreadChild { store: store.clone(), path, catalog: catalog.clone() }), seen: Once::new() }
    }

    fn look(&self) -> &Result<NodeKind> {
        self.seen.get(|| match &self.place {
            Some(place) => place.look(),
            None => Ok(NodeKind::Unknown),
        })
    }

    /// Its kind; `Unknown` where its document cannot be understood.
    pub fn kind(&self) -> NodeKind {
        *self.look().as_ref().unwrap_or(&NodeKind::Unknown)
    }

    /// Why it cannot be understood.
    pub fn error(&self) -> Option<&Error> {
        self.look().as_ref().err()
    }
}

impl UnreadChild {
    /// The kind of what is there, all of whose document can be understood.
    fn look(&self) -> Result<NodeKind> {
        let UnreadChild { store, path, catalog } = self;
        let readable = |found: StoredDocument| found.parse(store).map(|_| found.kind);
        let listed = catalog.as_ref().and_then(|catalog| catalog.find(path));
        if let Some(Ok(kind)) = listed.map(readable) {
            return Ok(kind);
        }
        match lookup::find(store, path)? {
            Some(found) => readable(found),
            None => Err(lookup::not_found(store, path, "node")),
        }
    }
}

impl Group {
    /// Opens the group at `path`.
    pub fn open(store: &Store, path: &str) -> Result<Group> {
        let path = path::normalize(path)?;
        let found = lookup::require(store, &path, NodeKind::Group)?;
        Group::from_stored(store, path, found)
    }

    /// Makes the group of a document that was found, and reports its deviations to the context.
    pub(super) fn from_stored(store: &Store, path: String, found: StoredDocument) -> Result<Group> {
        found.report(store)?;
        Group::quietly(store, path, found)
    }

    /// Makes the group of a document that was found, without a report to the context: a lock may be held.
    pub(super) fn quietly(store: &Store, path: String, found: StoredDocument) -> Result<Group> {
        match found.parse(store)? {
            Document::Group(meta) => Ok(Group::new(store, path, meta, found.as_of, found.attributes)),
            Document::Array(_) => Err(err!(NodeKind, "found an array, expected a group").at_key(found.key)),
        }
    }

    /// A group whose consolidated metadata are given.
    pub(super) fn imported(store: &Store, path: String, found: StoredDocument, catalog: Option<Arc<Catalog>>) -> Result<Group> {
        let group = Group::from_stored(store, path, found)?;
        drop(group.0.catalog.replace(CatalogState::All(catalog)));
        Ok(group)
    }

    fn new(store: &Store, path: String, meta: GroupMeta, as_of: AsOf, attributes: Option<Map>) -> Group {
        let GroupMeta { format, dialect, document } = meta;
        let document = Arc::new(document);
        let (known, catalog) = match format {
            Format::V2 => (attributes, CatalogState::NotYet),
            Format::V3 => {
                let known = v3::attributes(&document).cloned().unwrap_or_default();
                (Some(known), CatalogState::All(Catalog::of_v3(&path, &document, as_of)))
            }
        };
        let store = known.as_ref().map_or_else(|| store.clone(), |known| store.keeping(&path, format, known));
        let attributes = Attributes::new((&store, &path), (format, dialect), None, known, Growths::default());
        let (document, catalog) = (ForkPreserved::new(document), ForkPreserved::new(catalog));
        let _open = store.known_groups().open();
        Group(Arc::new(GroupInner { store, path, format, dialect, document, catalog, _open }), Arc::new(attributes))
    }

    /// Creates a group, and the groups above it that are missing. Without a format it has that of the enclosing group, else 3.
    pub fn create(store: &Store, path: &str, format: Option<Format>, how: Create) -> Result<Group> {
        Group::create_as(store, path, format, how, false, Map::new())
    }

    /// Creates a group like [`Group::create`], with those attributes from its first moment. One that is there keeps its own.
    pub fn create_with(store: &Store, path: &str, format: Option<Format>, how: Create, attributes: Map) -> Result<Group> {
        store.context().check_new_attributes(&attributes)?;
        Group::create_as(store, path, format, how, false, attributes)
    }

    /// Creates a group of no attributes like [`Group::create`], with consolidated metadata (of no nodes) from its first moment.
    pub(in crate::node) fn create_consolidated(store: &Store, path: &str, format: Option<Format>, how: Create) -> Result<Group> {
        Group::create_as(store, path, format, how, true, Map::new())
    }

    fn create_as(store: &Store, path: &str, format: Option<Format>, how: Create, is_consolidated: bool, attributes: Map) -> Result<Group> {
        let path = hierarchy::new_path(store, path)?;
        let chosen = || match format {
            Some(format) => Ok((format, None)),
            None => groups_above::enclosing(store, &path).map(|found| (found.map_or(Format::V3, |found| found.format), found)),
        };
        let publish = |store: &Store, path: &str, format| match format {
            Format::V2 => publish_v2(store, path, is_consolidated, &attributes).map(|document| (format, document)),
            Format::V3 => publish_v3(store, path, is_consolidated, attributes.clone()).map(|document| (format, document)),
        };
        let found = || Group::existing(store, &path, format, how);
        let (format, document) = match hierarchy::create(store, (&path, how), chosen, found, (publish, || ()))? {
            ControlFlow::Break(group) => return Ok(group),
            ControlFlow::Continue(made) => made,
        };
        store.note_named(&path, false);
        let meta = GroupMeta { format, dialect: Dialect::Final, document };
        Ok(Group::new(store, path, meta, store.as_of(), None))
    }

    /// Looks for a node at `path`: returns the group to use instead of a new one, or `None` if nothing is in the way, or an error.
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
        Group::quietly(store, path.to_string(), found).map(Some)
    }

    /// This group for another handle, which collects changes of the attributes for itself.
    pub fn for_another_handle(&self) -> Group {
        Group(self.0.clone(), Arc::new(self.1.for_another_handle()))
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

    /// Of which draft of version 3 the group is, if of any.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// The path in the store of `path`, which is relative to the group.
    pub fn child_path(&self, path: &str) -> Result<String> {
        let below = path::normalize(path)?;
        if below.is_empty() {
            bail!(Name, "the path below a group is empty");
        }
        path::check_length(path::join(&self.0.path, &below))
    }

    /// The document as JSON, with the attributes as this handle knows them.
    pub fn metadata_json(&self) -> Result<String> {
        self.1.document_json(self.0.format, (*self.0.document.read(Arc::clone)).clone())
    }

    /// Reads the documents again: the attributes and all else of this handle are what they say now.
    pub fn refresh(&self) -> Result<()> {
        let fresh = Group::open(&self.0.store, &self.0.path)?;
        self.store_below().check_kept()?;
        self.renew(&fresh)
    }

    /// What [`Group::refresh`] does, with documents that another process exported.
    pub(super) fn renew_from(&self, found: StoredDocument, catalog: Option<Arc<Catalog>>) -> Result<()> {
        self.renew(&Group::imported(&self.0.store, self.0.path.clone(), found, catalog)?)
    }

    /// Returns the group so that what is below it is read from its own documents, not from consolidated metadata, which may be older.
    pub fn by_documents(self) -> Group {
        self.0.catalog.replace(CatalogState::All(None));
        self
    }

    /// Takes all that another handle of this group knows.
    fn renew(&self, fresh: &Group) -> Result<()> {
        if fresh.0.format != self.0.format {
            bail!(State, "the group is of format {} by now, this handle knew {}", fresh.0.format.number(), self.0.format.number());
        }
        self.1.renew(fresh.1.published().map(|all| (*all).clone()))?;
        drop(self.0.document.replace(fresh.0.document.read(Arc::clone)));
        drop(self.0.catalog.replace(fresh.0.catalog.read(CatalogState::clone)));
        Ok(())
    }

    /// Opens an array below the group.
    pub fn open_array(&self, path: &str) -> Result<Array> {
        let path = self.child_path(path)?;
        let listed = self.catalog()?.and_then(|c| c.find(&path)).filter(|found| found.kind == NodeKind::Array);
        let store = self.store_below();
        match listed.map(|found| Array::from_stored(&store, path.clone(), found)) {
            Some(Ok(array)) => Ok(array),
            _ => Array::open_normal(&store, path).and_then(|array| store.check_kept().map(|()| array)),
        }
    }

    /// Opens a group below the group.
    pub fn open_group(&self, path: &str) -> Result<Group> {
        let path = self.child_path(path)?;
        let catalog = self.catalog()?;
        let listed = catalog.as_ref().and_then(|c| c.find(&path)).filter(|found| found.kind == NodeKind::Group);
        let store = self.store_below();
        match listed.map(|found| Group::from_stored(&store, path.clone(), found)) {
            Some(Ok(group)) => {
                group.0.catalog.replace(CatalogState::All(catalog));
                Ok(group)
            }
            _ => Group::open(&store, &path).and_then(|group| store.check_kept().map(|()| group)),
        }
    }

    /// The consolidated metadata that this handle may use; v2: read when first asked for.
    pub(super) fn catalog(&self) -> Result<Option<Arc<Catalog>>> {
        let store = &self.0.store;
        if !store.uses_consolidated() {
            return Ok(None);
        }
        let catalog = match self.0.catalog.read(CatalogState::clone) {
            CatalogState::All(catalog) => catalog,
            CatalogState::NotYet => {
                let catalog = Catalog::read_v2(store, &self.0.path)?;
                self.0.catalog.replace(CatalogState::All(catalog.clone()));
                catalog
            }
        };
        Ok(catalog.filter(|c| c.is_current(store)))
    }

    /// Forgets the consolidated metadata of a v2 group: they are read again when they are asked for.
    pub(super) fn forget_catalog(&self) {
        self.0.catalog.replace(CatalogState::NotYet);
    }

    /// Takes the `zarr.json` that was just stored, and the consolidated metadata in it.
    pub(super) fn set_document(&self, document: Map, as_of: AsOf) {
        let document = Arc::new(document);
        self.0.catalog.replace(CatalogState::All(Catalog::of_v3(&self.0.path, &document, as_of)));
        drop(self.0.document.replace(document));
    }

    /// The nodes directly below, sorted by name. One that cannot be understood is there with its error. A store that cannot list
    /// has those that the consolidated metadata name.
    pub fn children(&self) -> Result<Vec<Child>> {
        self.nodes(1)
    }

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.1
    }

    /// The program closes the group: groups that are to be consolidated are, and all is flushed.
    pub fn close(&self) -> Result<()> {
        self.0.store.close(None)
    }

    /// Stores what waits in arrays of the store, and makes durable what was written, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        self.0.store.flush_group()
    }
}

/// Stores the documents of a new group of version 2, and returns the one that makes it a group.
fn publish_v2(store: &Store, path: &str, is_consolidated: bool, attributes: &Map) -> Result<Map> {
    let document = v2::write_group();
    hierarchy::publish_attributes(store, path, true, attributes)?;
    if is_consolidated {
        let own: Map = [(v2::GROUP.to_string(), Value::Object(document.clone()))].into_iter().collect();
        let key = path::join(path, v2::CONSOLIDATED);
        document::publish(store, &key, &consolidated::write_v2(own), Condition::None)?;
    }
    hierarchy::publish_new(store, path, v2::GROUP, &document)?;
    Ok(document)
}

/// Stores the document of a new group of version 3, and returns it.
fn publish_v3(store: &Store, path: &str, is_consolidated: bool, attributes: Map) -> Result<Map> {
    let mut document = v3::write_group(attributes);
    if is_consolidated {
        document.insert(v3::CONSOLIDATED.into(), consolidated::write_v3(Map::new()));
    }
    hierarchy::publish_new(store, path, v3::DOCUMENT, &document)?;
    Ok(document)
}
