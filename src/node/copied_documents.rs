//! The documents of what is copied as it is, as they were when the copy began: chunks are listed and copied later, so that the copy has all that they
//! speak of, however far a run that another program writes goes on meanwhile.

use super::cut_watch::CutWatch;
use super::kept::{changed_meanwhile, has_same_chunks};
use super::listed_lengths::shape_of;
use super::{Store, document, path};
use crate::engine::pool::Pool;
use crate::engine::tasks;
use crate::error::{ErrorKind, Result};
use crate::limits::{MAX_CONSOLIDATED, MAX_DOCUMENT, collect_table, push, put, readable, try_collect};
use crate::metadata::consolidated::Listed;
use crate::metadata::{Format, json, v2, v3};
use crate::sort::sort_by;
use crate::store::{StorageExt, get};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Documents that make a node be there: they come after all other keys.
pub(super) const MAKES_A_NODE: &[&str] = &[v3::DOCUMENT, v2::ARRAY, v2::GROUP];

/// How often documents are read which say something else of an array at two places.
const READINGS: usize = 3;

/// Texts of documents by their keys; `None`: not read.
type Texts = HashMap<String, Option<Vec<u8>>>;

pub(super) struct CopiedDocuments {
    texts: Texts,
    beyond: Vec<ListedBeyond>,
    watch: CutWatch,
}

/// Entries of consolidated metadata that list something which the arrays' own documents have not: longer arrays, or ones with other chunks. A copy with them
/// reads as the fill value there. What is copied may be so, and the copy is as that; or an array was cut or replaced between the moments when the two were read.
struct ListedBeyond {
    /// The key of the document that has the entries.
    listing: String,
    /// The names of the entries, and the keys of the arrays' own documents.
    entries: Vec<(String, String)>,
}

/// Reads all documents below `path`, those of the groups first. Errors: `Again` where an array was cut or replaced meanwhile, each time they were read.
pub(super) fn read(store: &Store, path: &str, threads: (Arc<Pool>, usize)) -> Result<CopiedDocuments> {
    for _ in 1..READINGS {
        let documents = read_once(store, path, &threads)?;
        match documents.check(store) {
            Err(e) if e.kind() == ErrorKind::Again => {}
            checked => return checked.map(|()| documents),
        }
    }
    read_once(store, path, &threads)
}

fn read_once(store: &Store, path: &str, (pool, width): &(Arc<Pool>, usize)) -> Result<CopiedDocuments> {
    let mut keys = Vec::new();
    store.shared().list(&path::prefix(path), &mut |key| {
        if is_document(name_of(key)) {
            push(&mut keys, key.to_string())?;
        }
        Ok(())
    })?;
    let watch = CutWatch::begin(store, keys.iter().map(|key| folder_of(key)))?;
    let depth = |key: &String| key.matches('/').count();
    sort_by(&mut keys, |a, b| depth(a).cmp(&depth(b)));
    let texts = Mutex::new(Texts::new());
    for level in keys.chunk_by(|a, b| depth(a) == depth(b)) {
        let task = |i: u64, _: &tasks::Running<'_>| {
            let key = &level[i as usize];
            if let Some(text) = text_of(store, key)? {
                put(&mut texts.lock().unwrap_or_else(PoisonError::into_inner), key.clone(), text)?;
            }
            Ok(())
        };
        tasks::run(pool, level.len() as u64, *width, &task, &mut |_| Ok(()))?;
    }
    let texts = texts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let beyond = try_collect(texts.keys().filter_map(|key| listed_beyond(&texts, key).transpose()))?;
    Ok(CopiedDocuments { texts, beyond, watch })
}

/// The text of a document; `Some(None)` of one that is too large for a document, and copied as it is.
fn text_of(store: &Store, key: &str) -> Result<Option<Option<Vec<u8>>>> {
    match get(&**store.shared(), key, MAX_CONSOLIDATED) {
        Err(e) if e.kind() == ErrorKind::Limit => Ok(Some(None)),
        read => Ok(read?.map(Some)),
    }
}

impl CopiedDocuments {
    /// Whether there was a document.
    pub fn has(&self, key: &str) -> bool {
        self.texts.contains_key(key)
    }

    /// The text of a document that was read.
    pub fn text(&self, key: &str) -> Option<&Vec<u8>> {
        self.texts.get(key).and_then(Option::as_ref)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// Checks that no run was cut since they were read, and that consolidated metadata list something else than the arrays' own documents only where that
    /// is so in the store by itself. Errors: `Again`.
    pub fn check(&self, store: &Store) -> Result<()> {
        self.watch.check()?;
        for ListedBeyond { listing, entries } in &self.beyond {
            let now = text_of(store, listing)?.flatten().unwrap_or_default();
            let (then, now) = (entries_of(self.text(listing).map_or(&[], Vec::as_slice), listing)?, entries_of(&now, listing)?);
            for (entry, array) in entries {
                let own = text_of(store, array)?.flatten();
                let then = (then.get(entry.as_str()).copied(), self.text(array).map(Vec::as_slice));
                if !is_beyond_as_then(then, (now.get(entry.as_str()).copied(), own.as_deref()))? {
                    return Err(changed_meanwhile(folder_of(array), "cut or replaced"));
                }
            }
        }
        Ok(())
    }
}

/// The entries of arrays in the document with this key, if it has consolidated metadata, that list more than the arrays' own documents have.
fn listed_beyond(texts: &Texts, listing: &str) -> Result<Option<ListedBeyond>> {
    let Some(Some(text)) = texts.get(listing) else { return Ok(None) };
    let mut entries = Vec::new();
    for (entry, listed) in entries_of(text, listing)? {
        let array = match format_of(listing) {
            Format::V3 => path::join(&path::join(folder_of(listing), &entry), v3::DOCUMENT),
            Format::V2 if name_of(&entry) == v2::ARRAY => path::join(folder_of(listing), &entry),
            Format::V2 => continue,
        };
        let own = match texts.get(&array) {
            Some(Some(own)) => own.as_slice(),
            Some(None) => continue,
            None if !can_be_key(&array) => continue,
            None => &[],
        };
        if lists_more(listed, own)? {
            push(&mut entries, (entry, array))?;
        }
    }
    Ok((!entries.is_empty()).then(|| ListedBeyond { listing: listing.to_string(), entries }))
}

/// Whether the entry of an array lists elements, or chunks, that the array's own document has not.
fn lists_more(listed: &[u8], own: &[u8]) -> Result<bool> {
    // Mostly they say the same, indented for their places.
    let is_text = |byte: &&u8| !byte.is_ascii_whitespace();
    if listed.iter().filter(is_text).eq(own.iter().filter(is_text)) {
        return Ok(false);
    }
    let (listed, own) = (readable(json::parse_object(listed, MAX_DOCUMENT))?, readable(json::parse_object(own, MAX_DOCUMENT))?);
    let Some((listed, lengths)) = listed.and_then(|listed| shape_of(&listed).map(|lengths| (listed, lengths))) else { return Ok(false) };
    let Some((own, has)) = own.and_then(|own| shape_of(&own).map(|has| (own, has))) else { return Ok(true) };
    Ok(lengths.len() != has.len() || lengths.iter().zip(&has).any(|(listed, has)| listed > has) || !has_same_chunks(&listed, &own))
}

/// Whether the entry of an array, and the array's own document, which lists less, differ as they did then: an array that became longer meanwhile, or has
/// other attributes, was not cut.
fn is_beyond_as_then(then: (Option<&[u8]>, Option<&[u8]>), now: (Option<&[u8]>, Option<&[u8]>)) -> Result<bool> {
    if then == now {
        return Ok(true);
    }
    let parsed = |text: Option<&[u8]>| {
        let document = text.map_or(Ok(None), |text| readable(json::parse_object(text, MAX_DOCUMENT)))?;
        Ok(document.and_then(|document| Some((shape_of(&document)?, document))))
    };
    let (Some((listed_then, entry_then)), Some((listed, entry))) = (parsed(then.0)?, parsed(now.0)?) else { return Ok(false) };
    if !has_same_chunks(&entry_then, &entry) || listed_then.len() != listed.len() {
        return Ok(false);
    }
    let (Some((has_then, own_then)), Some((has, own))) = (parsed(then.1)?, parsed(now.1)?) else {
        return Ok(then.1 == now.1 && listed_then == listed);
    };
    if !has_same_chunks(&own_then, &own) || has_then.len() != has.len() || has_then.iter().zip(&has).any(|(then, now)| now < then) {
        return Ok(false);
    }
    if listed_then.len() != has_then.len() {
        return Ok(listed_then == listed);
    }
    let lengths = listed_then.iter().zip(&listed).zip(has_then.iter().zip(&has));
    Ok(lengths.into_iter().all(|((listed_then, listed), (then, now))| listed_then <= then || (listed == listed_then && now < listed)))
}

/// Whether a store can have a key that consolidated metadata speak of. Other programs pass over those that none can have.
fn can_be_key(key: &str) -> bool {
    const MAX_NAME: usize = 255;
    path::normalize(key).is_ok_and(|normal| normal == key) && path::segments(key).all(|name| name.len() <= MAX_NAME)
}

/// The texts of the entries of a document with this key; none if it has no consolidated metadata.
fn entries_of<'a>(text: &'a [u8], listing: &str) -> Result<HashMap<String, &'a [u8]>> {
    let listed = Listed::find(text, format_of(listing))?;
    collect_table(listed.iter().flat_map(Listed::texts).map(|(name, text)| (name.to_string(), text)))
}

/// The version of what a document lists.
fn format_of(listing: &str) -> Format {
    if name_of(listing) == v2::CONSOLIDATED { Format::V2 } else { Format::V3 }
}

/// Whether a key with this name behind its folder is a document.
pub(super) fn is_document(name: &str) -> bool {
    document::DOCUMENTS.contains(&name)
}

/// The name in a key, behind its folder.
pub(super) fn name_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

pub(super) fn folder_of(key: &str) -> &str {
    key.rsplit_once('/').map_or("", |(folder, _)| folder)
}
