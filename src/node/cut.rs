//! What an array says while elements beyond its shape are erased: a kill in between leaves chunks that would show when it grows again. The next
//! change of the shape that does not keep them, and the next appender, erase them first.

use super::document::{self, array_document};
use super::{Array, path};
use crate::error::Result;
use crate::limits::{Dims, MAX_DOCUMENT};
use crate::metadata::{json, number_list};
use crate::store::{Condition, StorageExt, get};

/// The key that holds, beside the array's document, the shape before.
pub(super) const MARKER: &str = "ozarr-resize.json";

impl Array {
    /// Says, before a shorter shape is published, what is to be erased: elements of the shape `old`.
    pub(super) fn begin_cut(&self, old: &[u64]) -> Result<()> {
        let marker = [("shape".to_string(), number_list(old))].into_iter().collect();
        document::publish(self.store(), &path::join(self.path(), MARKER), &marker, Condition::None)
    }

    /// Says that all of it is erased.
    pub(super) fn end_cut(&self) -> Result<()> {
        let key = path::join(self.path(), MARKER);
        self.store().shared().erase(&key).map(drop).map_err(|e| e.at_key(key))
    }

    /// The shape of which a call that was interrupted left elements.
    pub(super) fn interrupted_cut(&self, rank: usize) -> Result<Option<Dims>> {
        let key = path::join(self.path(), MARKER);
        let Some(bytes) = get(&**self.store().shared(), &key, MAX_DOCUMENT)? else { return Ok(None) };
        let marker = json::parse_object(&bytes, MAX_DOCUMENT).map_err(|e| e.at_key(&key))?;
        let lengths = marker.get("shape").and_then(|shape| shape.as_array()).into_iter().flatten();
        let old: Dims = lengths.filter_map(|n| json::get_u64(n).ok()).collect();
        Ok(Some(old).filter(|old| old.len() == rank))
    }

    /// Erases what a call that was interrupted left. Another appender may have done so meanwhile and have put chunks beyond the shape: they stay.
    /// Consolidated metadata say the shape first, as their readers would find nothing in its place.
    pub(super) fn finish_cut(&self) -> Result<()> {
        if self.interrupted_cut(self.rank())?.is_none() {
            return Ok(());
        }
        self.refresh_above()?;
        let _lock = document::lock(self.store(), self.path(), array_document(self.format()))?;
        self.interrupted_cut(self.rank())?.map_or(Ok(()), |old| self.erase_beyond_locked(&old, &mut |_, _| Ok(())))
    }
}
