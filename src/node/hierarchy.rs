//! The tree around a node: ancestor groups on creation, erasing, and consolidated metadata that stays right.
//! Specification: v2, "Groups"; v3 core, "Group metadata", "Operations", "Consolidated metadata".

use super::catalog;
use super::document::{self, Stored, find, find_bare, find_v2, find_v3};
use super::walk::{self, Found, Place, Wanted};
use super::{Group, NodeKind, Store, path};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_KEY};
use crate::metadata::consolidated::Listed;
use crate::metadata::{Dialect, Format, Map, Value, consolidated, json, v2, v3};
use crate::store::{Condition, get};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The format of the nearest group above `path`, if there is one.
pub(super) fn enclosing_format(store: &Store, path: &str) -> Result<Option<Format>> {
    for above in path::ancestors(path).into_iter().rev() {
        if let Some(found) = find_bare(store, above)? {
            return Ok(Some(found.format));
        }
    }
    Ok(None)
}

/// Creates the groups that are missing between the root and `path`, and returns their paths. Those that exist are left
/// untouched, in either format; an array among them is an error.
pub(super) fn ensure_ancestors(store: &Store, path: &str, format: Format) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for above in path::ancestors(path) {
        match find_bare(store, above)? {
            None => missing.push(above),
            Some(found) => refuse_array(store, above, &found)?,
        }
    }
    let (name, document) = match format {
        Format::V2 => (v2::GROUP, v2::write_group()),
        Format::V3 => (v3::DOCUMENT, v3::write_group(Map::new())),
    };
    for above in &missing {
        match document::publish(store, &path::join(above, name), &document, Condition::Absent) {
            // Another writer was faster; what it made must be a group, too.
            Err(e) if e.kind() == ErrorKind::Conflict => {
                if let Some(found) = find_bare(store, above)? {
                    refuse_array(store, above, &found)?;
                }
            }
            other => other?,
        }
    }
    Ok(missing.into_iter().map(str::to_string).collect())
}

fn refuse_array(store: &Store, above: &str, found: &Stored) -> Result<()> {
    if found.kind == NodeKind::Array {
        bail!(NodeKind, "{} of {} is an array; nodes stand below groups only", path::display(above), store.shared().describe());
    }
    Ok(())
}

/// Removes a node and all below it. What consolidated metadata say of it goes first, then the documents: from then on the node is
/// not there, whatever happens, and nothing says that it is.
pub(super) fn erase_all(store: &Store, path: &str) -> Result<()> {
    need_erasing(store)?;
    let prefix = path::prefix(path);
    refresh(store, &[], Some(path))?;
    for name in [v3::DOCUMENT, v2::ARRAY, v2::GROUP] {
        let key = format!("{prefix}{name}");
        store.shared().erase(&key).map_err(|e| e.at_key(&key))?;
        store.note_document(&key);
    }
    store.shared().erase_prefix(&prefix).map_err(|e| e.at_key(prefix))
}

/// Finds the node where one is to be created, or `None`. A document that cannot be understood is an error: it is in the way, too.
pub(super) fn found_on_create(store: &Store, path: &str) -> Result<Option<Stored>> {
    match find(store, path) {
        Err(e) if document::is_misunderstood(&e) => Err(exists(store, path, NodeKind::Unknown, &format!(": {e}"))),
        other => other,
    }
}

/// Returns the error for a node that is already where one is to be created.
pub(super) fn exists(store: &Store, path: &str, kind: NodeKind, difference: &str) -> Error {
    let what = match kind {
        NodeKind::Array => "an array",
        NodeKind::Group => "a group",
        NodeKind::None | NodeKind::Unknown => "a node that cannot be understood",
    };
    let (place, path) = (store.shared().describe(), path::display(path));
    err!(Exists, "{what}{difference} stands at {path} of {place}; open it, or create with overwriting")
}

/// Makes room for a new node: erases the node at `path` with all below it, and returns whether there was one. Without a node's document
/// nothing is erased: these may be a user's files.
pub(super) fn clear(store: &Store, path: &str) -> Result<bool> {
    let there = match find(store, path) {
        Ok(found) => found.is_some(),
        Err(e) if document::is_misunderstood(&e) => true,
        Err(e) => return Err(e),
    };
    if there {
        erase_all(store, path)?;
    }
    Ok(there)
}

/// Stores the document of a new node, last of all; a node that appeared meanwhile is an error of kind `Exists`.
pub(super) fn publish_new(store: &Store, path: &str, name: &str, document: &Map) -> Result<()> {
    match document::publish(store, &path::join(path, name), document, Condition::Absent) {
        Err(e) if e.kind() == ErrorKind::Conflict => {
            let kind = found_on_create(store, path)?.map_or(NodeKind::Unknown, |found| found.kind);
            Err(exists(store, path, kind, ""))
        }
        other => other,
    }
}

/// Brings the consolidated metadata above a node (and a v2 group's own) up to date after the documents at `paths` changed;
/// `erased` are paths of which everything went first.
pub(super) fn refresh(store: &Store, paths: &[String], erased: Option<&str>) -> Result<()> {
    let done = refresh_above(store, paths, erased);
    refreshed(store, paths, done)
}

/// Does what [`refresh`] does after the document of the array at `path` changed: an array has no consolidated metadata of its own, so it
/// looks for none there.
pub(super) fn refresh_array(store: &Store, path: &str) -> Result<()> {
    let paths = [path.to_string()];
    let done = path::ancestors(path).into_iter().try_for_each(|group| refresh_group(store, group, &[path], None));
    refreshed(store, &paths, done)
}

fn refreshed(store: &Store, paths: &[String], done: Result<()>) -> Result<()> {
    catalog::changed(store);
    done?;
    if store.consolidates_each_step() {
        paths.iter().for_each(|path| store.note_named(path, true));
        store.consolidate_pending()?;
    }
    Ok(())
}

/// Consolidates a group, whose document was just found. One that is consolidated already is kept in step with every change; only what
/// another process missed that did it at the same time is added, of the `nodes` that this one has made.
pub(super) fn consolidate_unless(store: &Store, path: &str, found: Stored, nodes: &BTreeSet<String>) -> Result<()> {
    if found.dialect != Dialect::Final || found.clone().parse(store).is_err() {
        return Ok(());
    }
    let key = path::join(path, if found.format == Format::V3 { v3::DOCUMENT } else { v2::CONSOLIDATED });
    let bytes = get(&**store.shared(), &key, MAX_CONSOLIDATED)?.unwrap_or_default();
    let Some(listed) = Listed::find(&bytes, found.format) else { return Group::quietly(store, path.to_string(), found)?.consolidate() };
    let names: HashSet<&str> = listed.names().collect();
    let is_listed = |node: &str| {
        let name = path::relative(path, node);
        match found.format {
            Format::V3 => names.contains(name),
            Format::V2 => [v2::ARRAY, v2::GROUP].iter().any(|document| names.contains(path::join(name, document).as_str())),
        }
    };
    let missed: Vec<String> =
        nodes.iter().filter(|node| *node != path && path::is_within(node, path) && !is_listed(node)).cloned().collect();
    if missed.is_empty() {
        return Ok(());
    }
    let done = refresh_above(store, &missed, None);
    catalog::changed(store);
    done
}

fn refresh_above(store: &Store, paths: &[String], erased: Option<&str>) -> Result<()> {
    let Some(deepest) = paths.iter().map(String::as_str).chain(erased).max_by_key(|p| p.len()) else { return Ok(()) };
    let groups: Vec<&str> = path::ancestors(deepest).into_iter().chain([deepest]).collect();
    for group in groups {
        let below = |p: &str| p == group || group.is_empty() || p.starts_with(&format!("{group}/"));
        let paths: Vec<&str> = paths.iter().map(String::as_str).filter(|p| below(p)).collect();
        let erased = erased.filter(|p| below(p) && *p != group);
        if !paths.is_empty() || erased.is_some() {
            refresh_group(store, group, &paths, erased)?;
        }
    }
    Ok(())
}

/// Brings what one group has consolidated up to date.
fn refresh_group(store: &Store, group: &str, paths: &[&str], erased: Option<&str>) -> Result<()> {
    refresh_v3(store, group, paths, erased)?;
    refresh_v2(store, group, paths, erased)
}

fn refresh_v3(store: &Store, group: &str, paths: &[&str], erased: Option<&str>) -> Result<()> {
    let paths: Vec<&str> = paths.iter().copied().filter(|p| *p != group).collect();
    if paths.is_empty() && erased.is_none() {
        return Ok(());
    }
    let key = path::join(group, v3::DOCUMENT);
    let thread = document::lock_thread(store, group, v3::DOCUMENT);
    let Some(before) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(()) };
    let Some(listed) = Listed::find(&before, Format::V3) else { return Ok(()) };
    let _lock = document::lock_process(store, thread, group, &key)?;
    let Some(now) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(()) };
    // Metadata that cannot be read here do no harm: no reader uses them.
    let Some(listed) = (if now == before { Some(listed) } else { Listed::find(&now, Format::V3) }) else { return Ok(()) };
    let mut changes = HashMap::new();
    for path in paths {
        let entry = find_v3(store, path)?.map(|found| consolidated::entry_v3(found.document));
        changes.insert(path::relative(group, path).to_string(), entry);
    }
    publish_changed(store, &key, &listed, &changes, erased.map(|erased| path::relative(group, erased)))
}

fn refresh_v2(store: &Store, group: &str, paths: &[&str], erased: Option<&str>) -> Result<()> {
    let key = path::join(group, v2::CONSOLIDATED);
    let thread = document::lock_thread(store, group, v2::CONSOLIDATED);
    if store.shared().open(&key).map_err(|e| e.at_key(&key))?.is_none() {
        return Ok(());
    }
    let _lock = document::lock_process(store, thread, group, &key)?;
    let Some(bytes) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(()) };
    let Some(listed) = Listed::find(&bytes, Format::V2) else { return Ok(()) };
    let mut changes = HashMap::new();
    for path in paths {
        let mut fresh = Map::new();
        if let Some(found) = find_v2(store, path)? {
            insert_v2(store, &mut fresh, group, path, found)?;
        }
        for name in [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES] {
            let entry = path::join(path::relative(group, path), name);
            let value = fresh.shift_remove(&entry);
            changes.insert(entry, value);
        }
    }
    publish_changed(store, &key, &listed, &changes, erased.map(|erased| path::relative(group, erased)))
}

/// Stores a document with other consolidated entries: without those of a node that was erased and of all below it, and with
/// `changes`.
fn publish_changed(
    store: &Store,
    key: &str,
    listed: &Listed<'_>,
    changes: &HashMap<String, Option<Value>>,
    erased: Option<&str>,
) -> Result<()> {
    let within = listed.depth() + 1;
    let mut texts = HashMap::new();
    for (name, value) in changes {
        if let Some(value) = value {
            document::check_depth(within + document::depth(value), key)?;
        }
        texts.insert(name.clone(), value.as_ref().map(|value| json::to_text_within(value, within)));
    }
    let text = listed.changed(&texts, |name| erased.is_some_and(|erased| path::is_within(name, erased)));
    document::publish_text(store, key, &text, MAX_CONSOLIDATED, Condition::None)
}

/// Adds the documents of one v2 node to consolidated entries.
fn insert_v2(store: &Store, entries: &mut Map, group: &str, path: &str, found: Stored) -> Result<()> {
    let name = path::relative(group, path);
    let own = if found.kind == NodeKind::Array { v2::ARRAY } else { v2::GROUP };
    entries.insert(path::join(name, own).into(), Value::Object(found.document));
    let attributes = found.attributes.map_or_else(|| document::attributes_v2(store, path), Ok)?;
    if !attributes.is_empty() {
        entries.insert(path::join(name, v2::ATTRIBUTES).into(), Value::Object(attributes));
    }
    Ok(())
}

/// What consolidated entries and the documents themselves do not agree on, a line for each node or document.
pub(super) fn differences(listed: &Map, fresh: &Map) -> Vec<String> {
    // Writers differ in what they leave out where it says nothing.
    let plain = |value: &Value| {
        let mut value = value.clone();
        if let Some(object) = value.as_object_mut() {
            object.shift_remove(v3::CONSOLIDATED);
            object.retain(|name, member| name != "attributes" || member.as_object().is_none_or(|all| !all.is_empty()));
        }
        value
    };
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let mut lines = Vec::new();
    for (key, value) in fresh {
        match listed.get(key) {
            None => lines.push(format!("{key} is not listed")),
            Some(old) if plain(old) != plain(value) => lines.push(format!("{key} is listed with other contents")),
            Some(_) => {}
        }
    }
    lines.extend(
        listed
            .iter()
            .filter(|(key, value)| !fresh.contains_key(key) && !is_empty(value))
            .map(|(k, _)| format!("{k} is listed and not there")),
    );
    lines
}

/// The consolidated entries of all nodes below a v3 group.
pub(super) fn collect_v3(store: &Store, group: &str) -> Result<Map> {
    let mut entries = Map::new();
    for found in walk_fresh(store, group, Format::V3)? {
        entries.insert(path::relative(group, &found.path).into(), consolidated::entry_v3(found.node?.document));
    }
    Ok(entries)
}

/// The consolidated entries of a v2 group and of all nodes below it.
pub(super) fn collect_v2(store: &Store, group: &str) -> Result<Map> {
    let mut entries = Map::new();
    if let Some(found) = find_v2(store, group)? {
        insert_v2(store, &mut entries, group, group, found)?;
    }
    for found in walk_fresh(store, group, Format::V2)? {
        insert_v2(store, &mut entries, group, &found.path, found.node?)?;
    }
    Ok(entries)
}

/// All nodes of one version below a group, from their own documents.
fn walk_fresh(store: &Store, group: &str, format: Format) -> Result<Vec<Found>> {
    let wanted = Wanted { depth: usize::MAX, attributes: format == Format::V2, format: Some(format) };
    let all = walk::walk(store, Place::new(group, format, None).fresh(), wanted)?;
    if let Some(deep) = all.iter().find(|found| found.path.len() > MAX_KEY) {
        bail!(Limit, "the hierarchy is too deep: {:?} has more than {MAX_KEY} bytes", deep.path);
    }
    Ok(all)
}

/// The error of a store that cannot list.
pub(super) fn need_listing(store: &Store) -> Result<()> {
    if store.shared().capabilities().listable {
        return Ok(());
    }
    bail!(Unsupported, "{} cannot list its keys; open nodes by their paths", store.shared().describe())
}

/// The error of a store that cannot erase.
pub(super) fn need_erasing(store: &Store) -> Result<()> {
    if store.shared().capabilities().erasable {
        return Ok(());
    }
    bail!(Unsupported, "{} cannot erase what it holds; copy what is to stay into a new store", store.shared().describe())
}
