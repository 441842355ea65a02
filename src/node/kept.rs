//! Which checkpoint a handle is of: another one may have come in its place, where a name is used again.

use super::checkpoint::ATTRIBUTE;
use super::store::Kept;
use super::{Group, Store, lookup, path};
use crate::error::{Result, bail};
use crate::limits::MAX_CONSOLIDATED;
use crate::metadata::{Format, Map, Value, v2, v3};
use crate::store::get;
use crate::store::prefix::hidden;
use std::sync::Arc;

impl Kept {
    /// The checkpoint that a group at `path` with these attributes is; `None` for any other group.
    fn of(path: &str, attributes: &Map) -> Option<Arc<Kept>> {
        Some(Arc::new(Kept(path.to_string(), attributes.get(ATTRIBUTE)?.clone())))
    }

    /// Checks that the checkpoint is still there. Errors: `NotFound`.
    fn check(&self, store: &Store) -> Result<()> {
        let Kept(path, attribute) = self;
        // Of version 2 the document is read before the attributes: those of a checkpoint that is begun are there before its document.
        let now = match lookup::find_bare(store, path)? {
            Some(found) if found.format == Format::V3 => v3::attributes(&found.document).and_then(|all| all.get(ATTRIBUTE).cloned()),
            Some(_) => lookup::attributes_v2(store, path)?.get(ATTRIBUTE).cloned(),
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
        Some(bytes) => Ok(v3::attributes(&v3::parse_group(&bytes)?.document).and_then(|all| all.get(ATTRIBUTE).cloned())),
        None if get(&**store.shared(), &path::join(path, &hidden(v2::GROUP)), MAX_CONSOLIDATED)?.is_some() => {
            Ok(lookup::attributes_v2(store, path)?.get(ATTRIBUTE).cloned())
        }
        None => Ok(None),
    }
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
