//! The documents of many nodes at once: over a store with latency, reads are in flight side by side.

use super::document::{self, Stored};
use super::{Store, catalog, draft, path};
use crate::error::{Result, err};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT};
use crate::metadata::{Format, v2, v3};
use crate::store::get_many;

/// Finds the document at each path, of `format` or of either version, like [`document::find`] for one path after the other. With
/// `attributes`, those of v2 nodes are read, too.
pub(super) fn find_many(store: &Store, paths: &[String], attributes: bool, format: Option<Format>) -> Vec<Result<Option<Stored>>> {
    if !store.shared().capabilities().latency {
        let find = |path: &String| match format {
            _ if format == store.options().format => document::find(store, path),
            Some(Format::V2) => document::find_v2(store, path),
            _ => document::find_v3(store, path),
        };
        return paths.iter().map(|path| with_attributes(store, path, find(path), attributes)).collect();
    }
    let as_of = catalog::changes(store);
    let names: &[&str] = match format {
        Some(Format::V3) => &[v3::DOCUMENT],
        Some(Format::V2) => &[v2::ARRAY, v2::GROUP, v2::ATTRIBUTES],
        None => &[v3::DOCUMENT, v2::ARRAY, v2::GROUP, v2::ATTRIBUTES],
    };
    // One round trip: whichever version it is, its documents are asked for.
    let names = if attributes { names } else { names.strip_suffix(&[v2::ATTRIBUTES]).unwrap_or(names) };
    let keys = paths.iter().flat_map(|path| names.iter().map(|name| path::join(path, name)));
    let keys: Vec<String> = keys.collect();
    let mut read = get_many(store.shared(), &keys, MAX_CONSOLIDATED).into_iter();
    let of_path = |path: &String| {
        let mut found = Vec::with_capacity(names.len());
        names.iter().for_each(|name| found.extend(read.next().map(|bytes| (*name, bytes))));
        choose(store, path, found, as_of)
    };
    let mut all: Vec<_> = paths.iter().map(of_path).collect();
    for (path, found) in paths.iter().zip(&mut all) {
        // Like `document::find`, looks for hierarchies of a draft, which the root tells.
        let unknown = match found {
            Ok(None) => format == store.options().format && format != Some(Format::V2) && !store.is_no_draft(),
            Err(e) => path.is_empty() && e.kind() == crate::error::ErrorKind::Unsupported,
            Ok(Some(_)) => false,
        };
        if unknown {
            *found = match draft::find(store, path) {
                Ok(None) => continue,
                other => other,
            };
        }
    }
    all
}

/// The node that documents make: `zarr.json` before `.zarray` before `.zgroup`.
fn choose(store: &Store, path: &str, found: Vec<(&str, Result<Option<Vec<u8>>>)>, as_of: u64) -> Result<Option<Stored>> {
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
            node = Some(document::stored_of(store, name, key, &bytes, as_of)?);
        }
    }
    let Some(mut node) = node else { return Ok(None) };
    document::note_root(store, path);
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

fn with_attributes(store: &Store, path: &str, found: Result<Option<Stored>>, wanted: bool) -> Result<Option<Stored>> {
    let mut found = found?;
    if let Some(stored) = &mut found
        && wanted
        && stored.format == Format::V2
        // The oddities in them are reported when they are first asked for.
        && !store.context().watches()
    {
        stored.attributes = Some(document::attributes_v2(store, path)?);
    }
    Ok(found)
}
