//! Which checkpoint a handle is of: another one may have come in its place, where a name is used again.

use super::checkpoint_mark::{CheckpointMark, DocumentLook};
use super::hidden::CHECKPOINT;
use super::listed_lengths::shape_of;
use super::{Group, NodeKind, Store, claim, lookup, path};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::fork::ForkPreserved;
use crate::limits::MAX_CONSOLIDATED;
use crate::metadata::{Format, Map, Value, json, v2, v3};
use crate::store::prefix::hidden;
use crate::store::{get, start_and_wait};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

impl DocumentLook {
    /// What the document of format 3 at `path` looks like; `None` if a later one may look the same.
    fn at(store: &Store, path: &str) -> Option<DocumentLook> {
        let (shared, key) = (store.shared(), path::join(path, v3::DOCUMENT));
        // What is wrong there is told by the call that reads it.
        if !shared.capabilities().latency {
            // It is opened: a file system of a network may tell of a name what it knew of it before.
            let stamp = shared.open(&key).ok()??.stamp().ok()?;
            return (stamp.current && stamp.is_settled()).then_some(DocumentLook::Stamp(stamp));
        }
        // A version of a file, behind a cache, does not tell whether it was changed just now.
        if shared.files().is_some() {
            return None;
        }
        let version = start_and_wait(&**shared, &key, &[], None).ok()??.version;
        version.is_settled().then_some(DocumentLook::Version(version))
    }
}

impl CheckpointMark {
    /// The checkpoint that a group at `path` with these attributes is; `None` for any other group.
    fn of(path: &str, format: Format, attributes: &Map) -> Option<Arc<CheckpointMark>> {
        let attribute = attributes.get(CHECKPOINT)?.clone();
        let (path, seen, is_checked) = (path.to_string(), ForkPreserved::default(), AtomicBool::new(false));
        Some(Arc::new(CheckpointMark { path, format, attribute, seen, is_checked }))
    }

    /// Checks that the checkpoint is still there. Errors: `NotFound`.
    fn check(&self, store: &Store) -> Result<()> {
        let CheckpointMark { path, attribute, seen, .. } = self;
        // A look is a request more over a network: the first check, which may be the only one, goes without. Documents of version 2 are small.
        let is_first = !self.is_checked.swap(true, Ordering::Relaxed);
        let looks = self.format == Format::V3 && !(is_first && store.shared().capabilities().latency);
        let look = if looks { DocumentLook::at(store, path) } else { None };
        if look.is_some() && seen.read(|seen| *seen == look) {
            return Ok(());
        }
        // Of version 2 the document is read before the attributes: those of a checkpoint that is begun are there before its document.
        let now = match lookup::find_bare(store, path)? {
            Some(found) if found.format == Format::V3 => v3::attributes(&found.document).and_then(|all| all.get(CHECKPOINT).cloned()),
            Some(_) => lookup::attributes_v2(store, path)?.get(CHECKPOINT).cloned(),
            None => begun(store, path)?,
        };
        if now.as_ref() != Some(attribute) {
            let what = if now.is_some() { "replaced by another one of its name" } else { "removed" };
            bail!(NotFound, "the checkpoint {} was {what} since it was opened; open the newest one", path::display(path));
        }
        seen.replace(look);
        Ok(())
    }
}

/// The attributes of the hidden document of a checkpoint that is being removed.
pub(super) fn retired() -> Map {
    Map::from_iter([(CHECKPOINT.to_string(), Value::Object(Map::from_iter([("removed".to_string(), true.into())])))])
}

/// What says which checkpoint is being made at `path`, for handles that have its group from its maker.
fn begun(store: &Store, path: &str) -> Result<Option<Value>> {
    let document = get(&**store.shared(), &path::join(path, &hidden(v3::DOCUMENT)), MAX_CONSOLIDATED)?;
    match document {
        Some(bytes) => {
            let about = v3::attributes(&v3::parse_group(&bytes)?.document).and_then(|all| all.get(CHECKPOINT).cloned());
            Ok(about.filter(|about| Some(about) != retired().get(CHECKPOINT)))
        }
        None if get(&**store.shared(), &path::join(path, &hidden(v2::GROUP)), MAX_CONSOLIDATED)?.is_some() => {
            Ok(lookup::attributes_v2(store, path)?.get(CHECKPOINT).cloned())
        }
        None => Ok(None),
    }
}

/// Checks, behind the copy of what a node of the source holds and before the copy gets its document, that all of it was there: a checkpoint that is
/// removed, and an array that is removed, replaced or cut, lose their document, or get another one, before their data, whose missing chunks would read
/// as the fill value in the copy. `key`: its document; `None`: the one that the store's options find. Errors: `Again`.
pub(super) fn check_copied(store: &Store, node: &str, key: Option<&str>, then: CopiedNode<'_>) -> Result<()> {
    let changed = |what: &str| Err(changed_meanwhile(node, what));
    match store.check_kept() {
        Err(e) if e.kind() == ErrorKind::NotFound => return changed("removed or replaced"),
        checked => checked?,
    }
    // What is being made is its maker's own.
    if matches!(then, CopiedNode::Group(_)) && store.checkpoint().is_some() {
        return Ok(());
    }
    // A chunk goes where it holds nothing but the fill value, or with the end of the array: one that is there again was missed.
    if let CopiedNode::Array { gone, .. } = &then {
        for key in *gone {
            if store.shared().open(key).map_err(|e| e.at_key(key))?.is_some() {
                return changed("changed");
            }
        }
    }
    let found = match key {
        None => lookup::find_bare(store, node)?.map(|found| (found.format, found.document, found.mark)),
        Some(key) => match get(&**store.shared(), key, MAX_CONSOLIDATED)? {
            Some(text) if then.is_text(&text) => return Ok(()),
            Some(text) => match json::parse_object(&text, MAX_CONSOLIDATED) {
                Ok(document) => {
                    let format = if key.ends_with(v3::DOCUMENT) { Format::V3 } else { Format::V2 };
                    Some((format, document, claim::mark_in(&text)))
                }
                Err(_) => return changed("replaced"),
            },
            None => None,
        },
    };
    let Some((format, now, now_mark)) = found else { return changed("removed") };
    match then {
        CopiedNode::Group(attributes) if attributes.get(CHECKPOINT).is_some() => {
            let of_v2 = if format == Format::V2 { lookup::attributes_v2(store, node)? } else { Map::new() };
            let now = if format == Format::V2 { Some(&of_v2) } else { v3::attributes(&now) };
            if now.and_then(|all| all.get(CHECKPOINT)) == attributes.get(CHECKPOINT) { Ok(()) } else { changed("removed or replaced") }
        }
        CopiedNode::Group(_) => Ok(()),
        CopiedNode::Array { mark, .. } if claim::was_cut(mark, &now_mark) => changed("cut back to an earlier step"),
        CopiedNode::Array { document, shape, .. } => match shape_of(&now) {
            Some(lengths) if lengths.len() == shape.len() && has_same_chunks(document, &now) => {
                if lengths.iter().zip(shape).all(|(now, then)| now >= then) { Ok(()) } else { changed("made shorter") }
            }
            _ => changed("replaced"),
        },
    }
}

/// Whether the documents of an array at two moments say the same of how its chunks are stored. Extents that are listed become more with its length.
pub(super) fn has_same_chunks(then: &Map, now: &Map) -> bool {
    const MEMBERS: [&str; 15] = [
        "zarr_format",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "codecs",
        "storage_transformers",
        "extensions",
        "fill_value",
        "dtype",
        "chunks",
        "compressor",
        "filters",
        "order",
        "dimension_separator",
        "chunk_memory_layout",
    ];
    let is_listed = |document: &Map| document.get("chunk_grid").is_some_and(|grid| grid.get("name").is_some_and(|name| *name != "regular"));
    let grows = is_listed(then) && is_listed(now);
    // Programs write what they have read in their own form: with lists that are empty, or numbers with a point.
    let given =
        |document: &Map, name: &str| document.get(name).filter(|value| value.as_array().is_none_or(|list| !list.is_empty())).cloned();
    let is_number = |a: &Option<Value>, b: &Option<Value>| {
        a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.as_f64().is_some() && a.as_f64() == b.as_f64())
    };
    MEMBERS.iter().all(|&name| {
        let (then, now) = (given(then, name), given(now, name));
        grows && name == "chunk_grid" || then == now || is_number(&then, &now)
    })
}

/// The error of a copy of a node that another program changed.
pub(super) fn changed_meanwhile(node: &str, what: &str) -> Error {
    err!(Again, "{} was {what} while it was copied: copy again what is there now", path::display(node))
}

/// What was read of a node before what it holds was copied.
pub(super) enum CopiedNode<'a> {
    /// Its attributes.
    Group(&'a Map),
    /// Its document, its text if that is known, and the mark of an appender behind it; its shape, as far as it is copied; and keys of chunks that were
    /// gone when they were to be copied.
    Array { text: &'a [u8], document: &'a Map, mark: &'a [u8], shape: &'a [u64], gone: &'a [String] },
}

impl CopiedNode<'_> {
    /// Whether that is the document of the array, all of which was copied.
    fn is_text(&self, now: &[u8]) -> bool {
        matches!(self, CopiedNode::Array { text, .. } if *text == now)
    }
}

impl Store {
    /// This store for a group at `path` and what is opened below it, where the group is a checkpoint. One that is being made is its maker's own.
    pub(super) fn keeping(&self, path: &str, format: Format, attributes: &Map) -> Store {
        let mut store = self.clone();
        if self.1.as_ref().is_some_and(|kept| kept.path == path && attributes.get(CHECKPOINT) == Some(&kept.attribute)) {
            return store;
        }
        if let Some(kept) = CheckpointMark::of(path, format, attributes).filter(|_| self.checkpoint().is_none()) {
            store.1 = Some(kept);
        }
        store
    }

    /// This store, which knows the checkpoint that the node at `path` is below, if below one.
    pub(super) fn keeping_above(&self, path: &str) -> Result<Store> {
        for above in path::ancestors(path).into_iter().rev() {
            if self.1.is_some() || self.checkpoint().is_some() {
                break;
            }
            let found = match lookup::find_bare(self, above) {
                Err(e) if lookup::is_misunderstood(&e) => continue,
                found => found?,
            };
            let (format, attributes) = match found {
                Some(found) if found.format == Format::V3 => (Format::V3, v3::attributes(&found.document).cloned()),
                Some(found) if found.kind == NodeKind::Group => (Format::V2, Some(lookup::attributes_v2(self, above)?)),
                _ => continue,
            };
            if let Some(attributes) = attributes.filter(|all| all.contains_key(CHECKPOINT)) {
                return Ok(self.keeping(above, format, &attributes));
            }
        }
        Ok(self.clone())
    }

    /// Checks, after something was read, that the checkpoint in which it was opened is still there: chunks that are gone read as the fill value, and
    /// those of another checkpoint may have come in their place. A checkpoint loses its document before its data. Errors: `NotFound`.
    pub fn check_kept(&self) -> Result<()> {
        self.1.as_ref().map_or(Ok(()), |kept| kept.check(self))
    }
}

impl Group {
    /// The store with which [`Store::check_kept`] looks at this group, to be asked for before anything is read: of version 2 the attributes are
    /// read for it.
    pub fn store_to_check(&self) -> Result<Store> {
        self.attributes().view()?;
        Ok(self.store_below())
    }

    /// The store for what is opened below this group, which knows the checkpoint as far as the group's attributes are known.
    pub(super) fn store_below(&self) -> Store {
        self.attributes().published().map_or_else(|| self.store().clone(), |known| self.store().keeping(self.path(), self.format(), &known))
    }
}
