//! Which checkpoint a handle is of: another one may have come in its place, where a name is used again.

use super::attrs::CHECKPOINT;
use super::growing::shape_of;
use super::store::Kept;
use super::{Group, NodeKind, Store, lookup, path};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::MAX_CONSOLIDATED;
use crate::metadata::{Format, Map, Value, v2, v3};
use crate::store::get;
use crate::store::prefix::hidden;
use std::sync::Arc;

impl Kept {
    /// The checkpoint that a group at `path` with these attributes is; `None` for any other group.
    fn of(path: &str, attributes: &Map) -> Option<Arc<Kept>> {
        Some(Arc::new(Kept(path.to_string(), attributes.get(CHECKPOINT)?.clone())))
    }

    /// Checks that the checkpoint is still there. Errors: `NotFound`.
    fn check(&self, store: &Store) -> Result<()> {
        let Kept(path, attribute) = self;
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
        Ok(())
    }
}

/// What says which checkpoint is being made at `path`, for those who have its group from its maker.
fn begun(store: &Store, path: &str) -> Result<Option<Value>> {
    let document = get(&**store.shared(), &path::join(path, &hidden(v3::DOCUMENT)), MAX_CONSOLIDATED)?;
    match document {
        Some(bytes) => Ok(v3::attributes(&v3::parse_group(&bytes)?.document).and_then(|all| all.get(CHECKPOINT).cloned())),
        None if get(&**store.shared(), &path::join(path, &hidden(v2::GROUP)), MAX_CONSOLIDATED)?.is_some() => {
            Ok(lookup::attributes_v2(store, path)?.get(CHECKPOINT).cloned())
        }
        None => Ok(None),
    }
}

/// Checks, behind the copy of what a node of the source holds and before the copy gets its document, that all of it was there: a checkpoint that is
/// removed, and an array that is removed or cut, lose their document, or get a shorter one, before their data, whose missing chunks would read as
/// the fill value in the copy. Errors: `Again`.
pub(super) fn check_copied(store: &Store, node: &str, then: CopiedNode<'_>) -> Result<()> {
    let changed = |what: &str| changed_meanwhile(node, what);
    match then {
        // What is being made is its maker's own.
        CopiedNode::Group(_) if store.checkpoint().is_some() => Ok(()),
        CopiedNode::Group(_) if lookup::find_bare(store, node)?.is_none() => Err(changed("removed")),
        CopiedNode::Group(attributes) => match Kept::of(node, attributes).map_or(Ok(()), |kept| kept.check(store)) {
            Err(e) if e.kind() == ErrorKind::NotFound => Err(changed("removed or replaced")),
            checked => checked,
        },
        CopiedNode::Array(format, shape) => {
            let Some(now) = lookup::find_bare(store, node)? else { return Err(changed("removed")) };
            let lengths = if now.kind == NodeKind::Array { shape_of(&now.document) } else { None };
            match lengths {
                _ if now.format != format => Ok(()),
                Some(now) if now.len() == shape.len() && now.iter().zip(shape).all(|(now, then)| now >= then) => Ok(()),
                Some(_) => Err(changed("made shorter")),
                None => Err(changed("replaced")),
            }
        }
    }
}

/// The error of a copy of a node that another program changed.
pub(super) fn changed_meanwhile(node: &str, what: &str) -> Error {
    err!(Again, "{} was {what} while it was copied: copy again what is there now", path::display(node))
}

/// What was read of a node before what it holds was copied.
pub(super) enum CopiedNode<'a> {
    /// Its attributes.
    Group(&'a Map),
    /// Its shape, as far as it is copied.
    Array(Format, &'a [u64]),
}

impl Store {
    /// This store for a group at `path` and what is opened below it, where the group is a checkpoint. One that is being made is its maker's own.
    pub(super) fn keeping(&self, path: &str, attributes: &Map) -> Store {
        let mut store = self.clone();
        if let Some(kept) = Kept::of(path, attributes).filter(|_| self.checkpoint().is_none()) {
            store.1 = Some(kept);
        }
        store
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
        self.attributes().published().map_or_else(|| self.store().clone(), |known| self.store().keeping(self.path(), &known))
    }
}
