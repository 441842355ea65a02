//! What an array says while elements beyond its shape are erased: a kill in between leaves chunks that would show when it grows again. The next
//! change of the shape that does not keep them, and the next appender, erase them first.

use super::document::{self, array_document};
use super::{Array, Store, marker, upkeep};
use crate::error::Result;
use crate::limits::Dims;
use crate::metadata::{Value, json, number_list};

impl Array {
    /// Says, before a shorter shape is published, what is to be erased: elements of the shape `old`.
    pub(super) fn begin_cut(&self, old: &[u64]) -> Result<()> {
        marker::put(self.store(), self.path(), marker::RESIZE, &[("shape", number_list(old))])
    }

    /// Says that all of it is erased.
    pub(super) fn end_cut(&self) -> Result<()> {
        marker::erase(self.store(), self.path(), marker::RESIZE)
    }

    /// The shape of which a call that was interrupted left elements.
    pub(super) fn interrupted_cut(&self, rank: usize) -> Result<Option<Dims>> {
        let Some(marker) = marker::read(self.store(), self.path(), marker::RESIZE)? else { return Ok(None) };
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
        upkeep::after_change_now(self.store(), &[self.path().to_string()], None)?;
        let _lock = document::lock(self.store(), self.path(), array_document(self.format()))?;
        self.interrupted_cut(self.rank())?.map_or(Ok(()), |old| self.erase_beyond_locked(&old, &mut |_, _| Ok(())))
    }
}

/// Gives a copy what its array says of elements beyond its shape, before chunks that hold them are copied as they are.
pub(super) fn copy_marker((from, node): (&Store, &str), (to, to_node): (&Store, &str)) -> Result<()> {
    let marker = marker::read(from, node, marker::RESIZE)?;
    let shape = marker.as_ref().and_then(|marker| marker.get("shape"));
    shape.map_or(Ok(()), |shape: &Value| marker::put(to, to_node, marker::RESIZE, &[("shape", shape.clone())]))
}
