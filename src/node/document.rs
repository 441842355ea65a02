//! The documents of a node in its store: finding them, and changing them under their lock.

use super::path::{self, prefix};
use super::{NodeKind, Store, catalog, draft, gather};
use crate::engine::lock::KeyGuard;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, MAX_KEY};
use crate::metadata::draft as drafts;
use crate::metadata::json::splice::Object;
use crate::metadata::odd::{self, Note, Weight};
use crate::metadata::v3::{Document, NodeType};
use crate::metadata::{ArrayMeta, Dialect, Format, GroupMeta, Map, Value, json, v2, v3};
use crate::store::{Condition, ProcessLock, get};

/// A node's document as it is stored: JSON whose kind of node is known, and no more.
#[derive(Clone)]
pub(super) struct Stored {
    pub format: Format,
    /// `D0` if it is stored in the layout of that draft; a d2 document is found out when it is parsed.
    pub dialect: Dialect,
    pub kind: NodeKind,
    pub key: String,
    pub document: Map,
    /// The count of changes (see `catalog`) before it was read.
    pub as_of: u64,
    /// Whether it comes from consolidated metadata, which may be out of date.
    pub listed: bool,
    /// v2: the `.zattrs`, where they are known without reading it.
    pub attributes: Option<Map>,
    /// The oddities in its bytes, if the context asks for them.
    pub notes: Vec<Note>,
}

impl Stored {
    /// Reads the document into the model, as the store's options say.
    pub fn parse(self, store: &Store) -> Result<Document> {
        if store.options().ignore_unknown && self.format == Format::V3 && self.dialect == Dialect::Final {
            return self.parse_known();
        }
        let Stored { format, dialect, kind, key, document, .. } = self;
        let parsed = match (format, kind) {
            (_, NodeKind::Array) if dialect == Dialect::D0 => drafts::array_from(document).map(Box::new).map(Document::Array),
            _ if dialect == Dialect::D0 => drafts::group_from(document).map(Document::Group),
            (Format::V3, NodeKind::Array) => drafts::array_from_v3(document).map(Box::new).map(Document::Array),
            (Format::V3, _) => v3::group_from(document).map(Document::Group),
            (Format::V2, NodeKind::Array) => v2::array_from(document).map(Box::new).map(Document::Array),
            (Format::V2, _) => Ok(Document::Group(GroupMeta { format, dialect, document })),
        };
        parsed.map_err(|e| e.at_key(key))
    }

    /// Reads the document like [`Stored::parse`] in version 3, but ignores unknown members that must be understood; keeps it whole.
    fn parse_known(self) -> Result<Document> {
        let Stored { kind, key, document, .. } = self;
        let parsed = if kind == NodeKind::Array {
            let known = v3::without_unknown(NodeType::Array, &document);
            v3::array_from(known).map(|meta| Document::Array(Box::new(ArrayMeta { document, ..meta })))
        } else {
            let known = v3::without_unknown(NodeType::Group, &document);
            v3::group_from(known).map(|meta| Document::Group(GroupMeta { document, ..meta }))
        };
        parsed.map_err(|e| e.at_key(key))
    }

    /// Reports the oddities of the document to the context (see [`Context::report`](super::Context)).
    pub fn report(&self, store: &Store) -> Result<()> {
        let context = store.context();
        if !context.watches() {
            return Ok(());
        }
        let mut notes = self.notes.clone();
        let is_array = self.kind == NodeKind::Array;
        notes.extend(match self.dialect {
            Dialect::D0 => odd::in_draft(is_array, &self.document),
            Dialect::Final | Dialect::D2 => odd::in_document(self.format, is_array, &self.document),
        });
        notes.extend(self.attributes.iter().flat_map(odd::in_attributes));
        if self.format == Format::V3 && self.dialect != Dialect::D0 && !self.listed {
            let folder = self.key.strip_suffix(v3::DOCUMENT).unwrap_or_default();
            let beside = [v2::ARRAY, v2::GROUP].into_iter().find(|name| {
                // A warning is not worth an error.
                matches!(store.shared().open(&format!("{folder}{name}")), Ok(Some(_)))
            });
            notes.extend(beside.map(|name| Note::new(Weight::Warning, "V2-33", format!("{name} stands beside it and is ignored"))));
        }
        context.report(&self.key, &notes)
    }
}

/// Returns the oddities in the bytes of a document; empty unless the context asks for them.
fn oddities(store: &Store, bytes: &[u8]) -> Vec<Note> {
    if store.context().watches() { odd::in_text(bytes) } else { Vec::new() }
}

/// The document at a path: `zarr.json` before `.zarray` before `.zgroup`, unless the store's options want one version (V2-33),
/// before those of a draft of version 3. Malformed JSON is an error.
pub(super) fn find(store: &Store, path: &str) -> Result<Option<Stored>> {
    find_with(store, path, false)
}

/// Returns whether a node has a document at `path`, where [`find`] would read it; ignores hierarchies of the first draft.
pub(super) fn is_there(store: &Store, path: &str) -> Result<bool> {
    let names: &[&str] = match store.options().format {
        Some(Format::V3) => &[v3::DOCUMENT],
        Some(Format::V2) => &[v2::ARRAY, v2::GROUP],
        None => &[v3::DOCUMENT, v2::ARRAY, v2::GROUP],
    };
    for name in names {
        let key = path::join(path, name);
        if key.len() > MAX_KEY {
            return Err(err!(Limit, "the hierarchy is too deep: its path has more than {MAX_KEY} bytes"));
        }
        if store.shared().stamp(&key).map_err(|e| e.at_key(key))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finds a document like [`find`], but leaves out the metadata consolidated in a `zarr.json`, which is cheaper if they are large.
pub(super) fn find_bare(store: &Store, path: &str) -> Result<Option<Stored>> {
    find_with(store, path, true)
}

fn find_with(store: &Store, path: &str, bare: bool) -> Result<Option<Stored>> {
    if store.shared().capabilities().latency {
        // All of them at once: one round trip.
        let found = gather::find_many(store, &[path.to_string()], false, store.options().format);
        return found.into_iter().next().unwrap_or(Ok(None));
    }
    if store.options().format == Some(Format::V2) {
        return find_v2(store, path);
    }
    match find_v3_with(store, path, bare) {
        Ok(Some(found)) => {
            note_root(store, path);
            return Ok(Some(found));
        }
        Err(e) if path.is_empty() && e.kind() == ErrorKind::Unsupported && draft::entry(store)?.is_some() => {}
        Err(e) => return Err(e),
        Ok(None) => {}
    }
    if store.options().format.is_none()
        && let Some(found) = find_v2(store, path)?
    {
        note_root(store, path);
        return Ok(Some(found));
    }
    draft::find(store, path)
}

/// Notes, if `path` is the root, that its document is not of a draft, so that it is not looked at again.
pub(super) fn note_root(store: &Store, path: &str) {
    if path.is_empty() {
        store.set_no_draft();
    }
}

/// Reads the `zarr.json` at a path, or `None` if it is missing. A draft's entry point is an error of kind `Unsupported`.
pub(super) fn find_v3(store: &Store, path: &str) -> Result<Option<Stored>> {
    find_v3_with(store, path, false)
}

/// Reads the `zarr.json` at a path like [`find_v3`]; with `bare`, without the consolidated metadata in it.
fn find_v3_with(store: &Store, path: &str, bare: bool) -> Result<Option<Stored>> {
    let (key, as_of) = (path::join(path, v3::DOCUMENT), catalog::changes(store));
    let Some(bytes) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(None) };
    let text = if bare { Object::document(&bytes, &[]).map(|document| document.without(v3::CONSOLIDATED)) } else { None };
    stored_of(store, v3::DOCUMENT, key, text.as_deref().unwrap_or(&bytes), as_of).map(Some)
}

/// Reads the `.zarray` or `.zgroup` at a path, or `None` if there is neither.
pub(super) fn find_v2(store: &Store, path: &str) -> Result<Option<Stored>> {
    for name in [v2::ARRAY, v2::GROUP] {
        let (key, as_of) = (path::join(path, name), catalog::changes(store));
        if let Some(bytes) = get(&**store.shared(), &key, MAX_DOCUMENT)? {
            return stored_of(store, name, key, &bytes, as_of).map(Some);
        }
    }
    Ok(None)
}

/// The document of that name, with those bytes.
pub(super) fn stored_of(store: &Store, name: &str, key: String, bytes: &[u8], as_of: u64) -> Result<Stored> {
    let read = || match name {
        v3::DOCUMENT => read_v3(bytes),
        v2::ARRAY => Ok((json::parse_object(bytes, MAX_DOCUMENT)?, NodeKind::Array)),
        _ => Ok((v2::parse_group(bytes)?.document, NodeKind::Group)),
    };
    let (document, kind) = read().map_err(|e: Error| e.at_key(&key))?;
    let format = if name == v3::DOCUMENT { Format::V3 } else { Format::V2 };
    let (dialect, notes) = (Dialect::Final, oddities(store, bytes));
    Ok(Stored { format, dialect, kind, key, document, as_of, listed: false, attributes: None, notes })
}

fn read_v3(bytes: &[u8]) -> Result<(Map, NodeKind)> {
    let document = json::parse_object(bytes, MAX_CONSOLIDATED)?;
    if drafts::is_entry(&document) {
        drafts::Entry::from_document(&document)?;
        bail!(Unsupported, "the root of a hierarchy in a draft of Zarr v3 (d0); open the store there");
    }
    let kind = match v3::node_type(&document)? {
        NodeType::Array => NodeKind::Array,
        NodeType::Group => NodeKind::Group,
    };
    Ok((document, kind))
}

/// Whether an error says that a document is there but cannot be understood (rather than that it cannot be had).
pub(super) fn is_misunderstood(e: &Error) -> bool {
    use ErrorKind::*;
    matches!(e.kind(), Metadata | Unsupported | Extension | Limit | Rank)
}

/// Reads attributes like [`attributes_v2`], and reports their oddities to the context.
pub(super) fn reported_attributes_v2(store: &Store, path: &str) -> Result<Map> {
    let context = store.context();
    if !context.watches() {
        return attributes_v2(store, path);
    }
    let key = path::join(path, v2::ATTRIBUTES);
    let Some(bytes) = get(&**store.shared(), &key, MAX_DOCUMENT)? else { return Ok(Map::new()) };
    let attributes = v2::parse_attributes(&bytes).map_err(|e| e.at_key(&key))?;
    let mut notes = odd::in_text(&bytes);
    if bytes.is_empty() {
        notes.push(Note::new(Weight::Odd, "HD-19", "the document is empty and taken as {}"));
    }
    notes.extend(odd::in_attributes(&attributes));
    context.report(&key, &notes)?;
    Ok(attributes)
}

/// Reads the `.zattrs` of a node; none is an empty object.
pub(super) fn attributes_v2(store: &Store, path: &str) -> Result<Map> {
    let key = path::join(path, v2::ATTRIBUTES);
    match get(&**store.shared(), &key, MAX_DOCUMENT)? {
        Some(bytes) => v2::parse_attributes(&bytes).map_err(|e| e.at_key(key)),
        None => Ok(Map::new()),
    }
}

/// Keeps other changes of one document out, in this process and (where the store can) in others.
pub(super) struct DocumentLock {
    // Dropped in this order: other processes first, then other threads.
    _process: Option<ProcessLock>,
    _thread: KeyGuard,
}

/// Takes the lock of the document `name` of the node at `path`.
pub(super) fn lock(store: &Store, path: &str, name: &str) -> Result<DocumentLock> {
    let thread = lock_thread(store, path, name);
    lock_process(store, thread, path, &path::join(path, name))
}

/// Takes only the part of the lock that keeps this process's threads out.
pub(super) fn lock_thread(store: &Store, path: &str, name: &str) -> KeyGuard {
    let key = format!("{}\n{}", store.shared().describe(), path::join(path, name));
    store.context().document_locks.lock(&key)
}

/// Adds the other part of the lock of `key`, which is kept in the folder of the node at `folder`.
pub(super) fn lock_process(store: &Store, thread: KeyGuard, folder: &str, key: &str) -> Result<DocumentLock> {
    let process = store.shared().lock_key(&prefix(folder), key).map_err(|e| e.at_key(key))?;
    Ok(DocumentLock { _process: process, _thread: thread })
}

/// How deep a document may be nested so that it can be read again.
const MAX_DEPTH: usize = 127;

/// How deep a value is nested; 0 for a scalar.
pub(super) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Stores a document, atomically. One that could not be read again is refused.
pub(super) fn publish(store: &Store, key: &str, document: &Map, condition: Condition) -> Result<()> {
    let text = text_of(key, document)?;
    let holds_many = document.contains_key(v3::CONSOLIDATED) || key.ends_with(v2::CONSOLIDATED);
    publish_text(store, key, text.as_bytes(), if holds_many { MAX_CONSOLIDATED } else { MAX_DOCUMENT }, condition)
}

/// The text that a document is stored as. One that could not be read again is refused.
pub(super) fn text_of(key: &str, document: &Map) -> Result<String> {
    check_depth(1 + document.values().map(depth).max().unwrap_or(0), key)?;
    let mut text = json::to_text(&Value::Object(document.clone()));
    text.push('\n');
    Ok(text)
}

/// Stores the text of a document of at most `limit` bytes, atomically.
pub(super) fn publish_text(store: &Store, key: &str, text: &[u8], limit: usize, condition: Condition) -> Result<()> {
    if text.len() > limit {
        return Err(err!(Limit, "a document of {} bytes exceeds the limit of {limit} bytes", text.len()).at_key(key));
    }
    store.shared().put(key, &[text], condition).map_err(|e| e.at_key(key))?;
    store.note_document(key);
    Ok(())
}

/// Refuses a document that is nested so deep that it could not be read again.
pub(super) fn check_depth(depth: usize, key: &str) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(err!(Limit, "a document of {depth} nested levels exceeds the limit of {MAX_DEPTH}").at_key(key));
    }
    Ok(())
}

/// The error of a node that is not there: what was looked for, and what the nearest existing node above it holds.
pub(super) fn not_found(store: &Store, path: &str, what: &str) -> Error {
    let place = store.shared().describe();
    if let Some(key) = version_1(store, path) {
        return err!(Unsupported, "{} of {place} is an array of Zarr version 1, which is not supported", path::display(path)).at_key(key);
    }
    if path.is_empty() {
        return err!(NotFound, "no {what} in {place}: there is none of zarr.json, .zarray and .zgroup");
    }
    let nothing = |more: &str| err!(NotFound, "no {what} {path} in {place}{more}");
    for above in path::ancestors(path).into_iter().rev() {
        let Ok(Some(found)) = find(store, above) else { continue };
        let shown = if above.is_empty() { "it" } else { above };
        if found.kind == NodeKind::Array {
            return nothing(&format!("; {} is an array", path::display(above)));
        }
        let wanted = path::segments(path::relative(above, path)).next().unwrap_or_default();
        let Ok(names) = child_names(store, above) else { return nothing("") };
        if names.is_empty() {
            return nothing(&format!("; {shown} is empty"));
        }
        return nothing(&format!("; {shown} has {}", path::near(names.iter().map(String::as_str), wanted)));
    }
    nothing("; nor is there a group above it")
}

/// The key of the document of an array of version 1 at that path (SY-01).
fn version_1(store: &Store, path: &str) -> Option<String> {
    let key = path::join(path, "meta");
    let bytes = get(&**store.shared(), &key, MAX_DOCUMENT).ok()??;
    let format = json::parse_object(&bytes, MAX_DOCUMENT).ok()?.get("zarr_format")?.as_u64()?;
    (format == 1).then_some(key)
}

/// The names of sub-prefixes that hold a node's document, readable or not.
fn child_names(store: &Store, path: &str) -> Result<Vec<String>> {
    /// So many names are looked at, at most, for the sake of an error's message.
    const LOOKED_AT: usize = 1000;
    let mut names = draft::names_below(store, path)?;
    names.truncate(LOOKED_AT);
    names.retain(|name| !name.starts_with("__") && !matches!(find(store, &path::join(path, name)), Ok(None)));
    Ok(names)
}

/// Finds the node at `path`, or returns an error that says what is there instead.
pub(super) fn require(store: &Store, path: &str, wanted: NodeKind) -> Result<Stored> {
    let what = match wanted {
        NodeKind::Array => "array",
        NodeKind::Group => "group",
        NodeKind::None | NodeKind::Unknown => "node",
    };
    let found = find(store, path)?.ok_or_else(|| not_found(store, path, what))?;
    match (wanted, found.kind) {
        (NodeKind::Array, NodeKind::Group) => {
            bail!(NodeKind, "{} of {} is a group, not an array; open it as a group", path::display(path), store.shared().describe())
        }
        (NodeKind::Group, NodeKind::Array) => {
            bail!(NodeKind, "{} of {} is an array, not a group; open it as an array", path::display(path), store.shared().describe())
        }
        _ => Ok(found),
    }
}

/// Takes the lock under which a node is created or erased at `path`. It is kept in the enclosing folder, which outlives
/// the node.
pub(super) fn lock_place(store: &Store, path: &str) -> Result<DocumentLock> {
    let name = "node";
    let thread = lock_thread(store, path, name);
    lock_process(store, thread, path::parent(path).unwrap_or_default(), &path::join(path, name))
}
