//! Finding the documents of nodes: of one, or of many at once, side by side over a store with latency; and what is there instead of one.

use super::catalog::Catalog;
use super::store_changes::AsOf;
use super::stored::StoredDocument;
use super::{NodeKind, Store, draft, path};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, MAX_KEY, certain, collect, try_collect};
use crate::metadata::json::splice::TextObject;
use crate::metadata::lint::{self, Finding, Severity};
use crate::metadata::{Dialect, Format, Map, json, v2, v3};
use crate::store::{Folder, StorageExt, get, get_many};
use std::fs;
use std::path::{Path, PathBuf};

/// The document at a path: `zarr.json` before `.zarray` before `.zgroup`, unless the store's options want one version (V2-33),
/// before those of a draft of version 3. Malformed JSON is an error.
pub(super) fn find(store: &Store, path: &str) -> Result<Option<StoredDocument>> {
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

/// Whether a node that is there has this very name in its folder, and the groups above it: file systems that do not tell upper case from lower, or compare
/// letters by what Unicode composes them of, find it by others, too. True where that cannot be told.
pub(super) fn has_name(store: &Store, path: &str) -> bool {
    let is_named = |path: &str| {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let listing = store.shared().list_dir(&path::prefix(above));
        listing.map_or(true, |listing| listing.prefixes.iter().any(|listed| listed == name))
    };
    store.shared().files().is_none() || path::ancestors(path).into_iter().chain([path]).filter(|path| !path.is_empty()).all(is_named)
}

/// Finds a document like [`find`], but leaves out the metadata consolidated in a `zarr.json`, which is cheaper if they are large.
pub(super) fn find_bare(store: &Store, path: &str) -> Result<Option<StoredDocument>> {
    find_with(store, path, true)
}

/// Finds the document at each path like [`find_bare`], at the same time where that is quicker.
pub(super) fn find_each_bare(store: &Store, paths: &[String]) -> Result<Vec<Result<Option<StoredDocument>>>> {
    match paths {
        [path] => collect(std::iter::once(certain(find_bare(store, path))?)),
        _ => find_many(store, paths, false, store.options().format, None),
    }
}

/// How many documents are looked for at the same time: one where a store has no latency, and not so many that they need much memory.
pub(super) fn at_once(store: &Store) -> usize {
    if store.shared().capabilities().latency { 64 } else { 1 }
}

/// In line: the functions around a system call take 20 to 40 ns each for 40 to 120 instructions, as if no processor knew where they return to.
#[inline(always)]
fn find_with(store: &Store, path: &str, bare: bool) -> Result<Option<StoredDocument>> {
    if store.shared().capabilities().latency {
        // All of them at once: one round trip.
        let found = find_many(store, &[path.to_string()], false, store.options().format, None)?;
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

/// Findings, if `path` is the root, that its document is not of a draft, so that it is not looked at again.
fn note_root(store: &Store, path: &str) {
    if path.is_empty() {
        store.set_no_draft();
    }
}

/// Reads the `zarr.json` at a path, or `None` if it is missing. A draft's entry point is an error of kind `Unsupported`.
pub(super) fn find_v3(store: &Store, path: &str) -> Result<Option<StoredDocument>> {
    find_v3_with(store, path, false)
}

/// Reads the `zarr.json` at a path like [`find_v3`]; with `bare`, without the consolidated metadata in it.
#[inline(always)]
fn find_v3_with(store: &Store, path: &str, bare: bool) -> Result<Option<StoredDocument>> {
    let (key, as_of) = (path::join(path, v3::DOCUMENT), store.as_of());
    let Some(bytes) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(None) };
    let text = if bare { TextObject::document(&bytes, &[]).map(|document| document.without(v3::CONSOLIDATED)).transpose()? } else { None };
    StoredDocument::from_bytes(store, v3::DOCUMENT, key, text.as_deref().unwrap_or(&bytes), as_of).map(Some)
}

/// Reads the `.zarray` or `.zgroup` at a path, or `None` if there is neither.
pub(super) fn find_v2(store: &Store, path: &str) -> Result<Option<StoredDocument>> {
    for name in [v2::ARRAY, v2::GROUP] {
        let (key, as_of) = (path::join(path, name), store.as_of());
        if let Some(bytes) = get(&**store.shared(), &key, MAX_DOCUMENT)? {
            return StoredDocument::from_bytes(store, name, key, &bytes, as_of).map(Some);
        }
    }
    Ok(None)
}

/// Of no more nodes the documents of both versions are looked for at the same time: a round trip takes longer than what is asked for in vain.
const FEW: usize = 64;

/// Finds the document at each path, of `format` or of either version, like [`find`] for one path after the other. With
/// `attributes`, those of v2 nodes are read, too. The nodes are listed in groups of the format `above`, if that is known: in those of version 3 they are
/// hardly ever of version 2.
pub(super) fn find_many(
    store: &Store,
    paths: &[String],
    attributes: bool,
    format: Option<Format>,
    above: Option<Format>,
) -> Result<Vec<Result<Option<StoredDocument>>>> {
    if !store.shared().capabilities().latency {
        let find = |path: &String| match format {
            _ if format == store.options().format => find(store, path),
            Some(Format::V2) => find_v2(store, path),
            _ => find_v3(store, path),
        };
        return try_collect(paths.iter().map(|path| certain(with_attributes(store, path, find(path), attributes))));
    }
    let mut all = match format {
        // A `zarr.json` tells that there is no need to ask for the documents of version 2. A node that became one of version 3 meanwhile has one by then.
        None if paths.len() > FEW || above == Some(Format::V3) => {
            let mut all = read_many(store, paths, false, Some(Format::V3))?;
            let lacks = |found: &Result<_>| matches!(found, Ok(None));
            // Where they are hardly ever of version 2 both at once: one round trip less for what is not there.
            let next: &[_] = match above {
                Some(Format::V3) => &[(attributes, None)],
                _ => &[(attributes, Some(Format::V2)), (false, Some(Format::V3))],
            };
            for &(attributes, format) in next {
                let others = collect(paths.iter().zip(&all).filter(|(_, found)| lacks(found)).map(|(path, _)| path.clone()))?;
                let places = all.iter_mut().filter(|found| lacks(found));
                places.zip(read_many(store, &others, attributes, format)?).for_each(|(place, found)| *place = found);
            }
            all
        }
        _ => read_many(store, paths, attributes, format)?,
    };
    for (path, found) in paths.iter().zip(&mut all) {
        // Like `find`, looks for hierarchies of a draft, which the root tells.
        let unknown = match found {
            Ok(None) => format == store.options().format && format != Some(Format::V2) && !store.is_no_draft(),
            Err(e) => path.is_empty() && e.kind() == ErrorKind::Unsupported,
            Ok(Some(_)) => false,
        };
        if unknown {
            *found = match draft::find(store, path) {
                Ok(None) => continue,
                other => certain(other)?,
            };
        }
    }
    Ok(all)
}

/// Reads the document at each path, of `format` or of either version, in one round trip.
fn read_many(store: &Store, paths: &[String], attributes: bool, format: Option<Format>) -> Result<Vec<Result<Option<StoredDocument>>>> {
    let as_of = store.as_of();
    let names: &[&str] = match format {
        Some(Format::V3) => &[v3::DOCUMENT],
        Some(Format::V2) => &[v2::ARRAY, v2::GROUP, v2::ATTRIBUTES],
        None => &[v3::DOCUMENT, v2::ARRAY, v2::GROUP, v2::ATTRIBUTES],
    };
    let names = if attributes { names } else { names.strip_suffix(&[v2::ATTRIBUTES]).unwrap_or(names) };
    let keys = collect(paths.iter().flat_map(|path| names.iter().map(|name| path::join(path, name))))?;
    let mut read = get_many(store.shared(), &keys, MAX_CONSOLIDATED)?.into_iter();
    let of_path = |path: &String| {
        let mut found = Vec::with_capacity(names.len());
        names.iter().for_each(|name| found.extend(read.next().map(|bytes| (*name, bytes))));
        certain(choose(store, path, found, as_of))
    };
    try_collect(paths.iter().map(of_path))
}

/// The node that documents make: `zarr.json` before `.zarray` before `.zgroup`.
fn choose(store: &Store, path: &str, found: Vec<(&str, Result<Option<Vec<u8>>>)>, as_of: AsOf) -> Result<Option<StoredDocument>> {
    let (mut node, mut attributes) = (None, None);
    for (name, bytes) in found {
        if name == v2::ATTRIBUTES {
            attributes = Some(bytes);
        } else if node.is_none()
            && let Some(bytes) = bytes?
        {
            let limit = if name == v3::DOCUMENT { MAX_CONSOLIDATED } else { MAX_DOCUMENT };
            let key = path::join(path, name);
            if bytes.len() > limit {
                return Err(err!(Limit, "found {} bytes, the limit is {limit}", bytes.len()).at_key(key));
            }
            node = Some(StoredDocument::from_bytes(store, name, key, &bytes, as_of)?);
        }
    }
    let Some(mut node) = node else { return Ok(None) };
    note_root(store, path);
    if node.format == Format::V2
        && let Some(bytes) = attributes
        && !store.context().watches()
    {
        let key = path::join(path, v2::ATTRIBUTES);
        node.attributes = Some(match bytes? {
            Some(bytes) => v2::parse_attributes(&bytes).map_err(|e| e.at_key(key))?,
            None => Default::default(),
        });
    }
    Ok(Some(node))
}

fn with_attributes(store: &Store, path: &str, found: Result<Option<StoredDocument>>, wanted: bool) -> Result<Option<StoredDocument>> {
    let mut found = found?;
    if let Some(stored) = &mut found
        && wanted
        && stored.format == Format::V2
        // The deviations in them are reported when they are first asked for.
        && !store.context().watches()
    {
        stored.attributes = Some(attributes_v2(store, path)?);
    }
    Ok(found)
}

/// Whether there is a node at `path`, be it one that cannot be understood.
pub(super) fn is_in_the_way(store: &Store, path: &str) -> Result<bool> {
    match find(store, path) {
        Ok(found) => Ok(found.is_some()),
        Err(e) if is_misunderstood(&e) => Ok(true),
        Err(e) => Err(e),
    }
}

/// Whether an error says that a document is there but cannot be understood (rather than that it cannot be had, as where the system refuses
/// its name as too long).
pub(super) fn is_misunderstood(e: &Error) -> bool {
    use ErrorKind::*;
    e.os_errno() == 0 && matches!(e.kind(), Metadata | Unsupported | Extension | Limit | Rank)
}

/// Checks that something has the name of a place in a group that cannot be looked into. Where nothing has, the look is made again, and its error is
/// given: a server that refuses to look for what is not there may refuse that for every name.
pub(super) fn check_listed(store: &Store, group: &str, name: &str) -> Result<()> {
    let names = store.shared().list_dir(&path::prefix(group))?;
    if names.prefixes.iter().chain(&names.keys).chain(&names.others).any(|there| there == name) {
        return Ok(());
    }
    let place = path::join(group, name);
    find_bare(store, &place)?;
    store.shared().list_dir(&path::prefix(&place)).map(drop)
}

/// Reads attributes like [`attributes_v2`], and reports their deviations to the context.
pub(super) fn reported_attributes_v2(store: &Store, path: &str) -> Result<Map> {
    let context = store.context();
    if !context.watches() {
        return attributes_v2(store, path);
    }
    let key = path::join(path, v2::ATTRIBUTES);
    let Some(bytes) = get(&**store.shared(), &key, MAX_DOCUMENT)? else { return Ok(Map::new()) };
    let attributes = v2::parse_attributes(&bytes).map_err(|e| e.at_key(&key))?;
    let mut findings = lint::in_text(&bytes);
    let nothing = if bytes.is_empty() { Some("empty") } else { v2::is_null(&bytes).then_some("null") };
    findings.extend(nothing.map(|what| Finding::new(Severity::Deviation, "HD-19", format!("the document is {what} and taken as {{}}"))));
    findings.extend(lint::in_attributes(&attributes));
    context.report(&key, &findings)?;
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

/// The error of a node that is not there: what was looked for, and what the nearest existing node above it holds.
pub(super) fn not_found(store: &Store, path: &str, what: &str) -> Error {
    let place = store.shared().describe();
    if let Some(key) = version_1(store, path) {
        return err!(Unsupported, "{} of {place} is an array of Zarr version 1, which is not supported", path::display(path)).at_key(key);
    }
    if path.is_empty() {
        let lacks = match store.shared().folder("") {
            Folder::Absent if Path::new(&place).is_symlink() => "a link to what is not there",
            Folder::Absent => "no such folder",
            _ => "none of zarr.json, .zarray and .zgroup",
        };
        return err!(NotFound, "no {what} in {place}: there is {lacks}");
    }
    let nothing = |more: &str| err!(NotFound, "no {what} {path} in {place}{more}");
    for above in path::ancestors(path).into_iter().rev() {
        let Ok(Some(found)) = find(store, above) else { continue };
        let shown = if above.is_empty() { "it" } else { above };
        if found.kind == NodeKind::Array {
            return nothing(&format!("; {} is an array", path::display(above)));
        }
        let wanted = path::segments(path::relative(above, path)).next().unwrap_or_default();
        if store.shared().capabilities().latency {
            let listed = listed_children(found, above, wanted);
            return nothing(&listed.map_or_else(String::new, |children| format!("; {shown} has {children}")));
        }
        return match told_children(store, &found, above, wanted) {
            Ok(Some(children)) => nothing(&format!("; {shown} has {children}")),
            Ok(None) => nothing(&format!("; {shown} is empty")),
            Err(_) => nothing(""),
        };
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

/// Says which nodes a group has by its consolidated metadata, if it has any: listing very many names of a store with latency takes many requests.
fn listed_children(group: StoredDocument, path: &str, wanted: &str) -> Option<String> {
    let mut names = Catalog::of_v3(path, &group.document, group.as_of)?.names(path).ok()?;
    names.retain(|name| name != wanted);
    (!names.is_empty()).then(|| path::near(names.iter().map(String::as_str), wanted))
}

/// Says which nodes a group has: those whose names are nearest to `wanted`, readable or not. No more than these are looked for, and of a folder
/// with very many names only some are read, as a program may try to open what it creates then.
fn told_children(store: &Store, group: &StoredDocument, path: &str, wanted: &str) -> Result<Option<String>> {
    /// The most names of a folder that are read for the sake of an error's message.
    const READ: usize = 1000;
    let folder = store.shared().files().and_then(|files| files.file(&group.key)).and_then(|file| file.parent().map(Path::to_path_buf));
    let entries = |folder: PathBuf| Some(fs::read_dir(folder).ok()?.flatten().take(READ + 1).map(|entry| entry.file_name()).collect());
    let some: Option<Vec<_>> = folder.filter(|_| group.dialect != Dialect::D0).and_then(entries);
    let (mut names, all) = match some.filter(|some| some.len() > READ) {
        Some(some) => (some.into_iter().filter_map(|name| name.into_string().ok()).filter(|name| !name.starts_with('.')).collect(), false),
        None => (draft::names_below(store, path)?, true),
    };
    let is_node = |name: &String| !matches!(find(store, &path::join(path, name)), Ok(None));
    if names.len() <= path::SHOWN {
        names.retain(is_node);
        return Ok((!names.is_empty()).then(|| names.join(", ")));
    }
    path::sort_by_nearness(&mut names, wanted);
    let mut shown: Vec<String> = Vec::new();
    let mut left = names.into_iter();
    shown.extend(left.by_ref().filter(is_node).take(path::SHOWN));
    shown.sort_unstable();
    let more = match left.len() {
        0 => String::new(),
        n if all => format!(" and up to {n} more"),
        _ => " and others".to_string(),
    };
    Ok((!shown.is_empty()).then(|| shown.join(", ") + &more))
}

/// Finds the node at `path`, or returns an error that says what is there instead.
pub(super) fn require(store: &Store, path: &str, wanted: NodeKind) -> Result<StoredDocument> {
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
