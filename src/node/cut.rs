//! What an array says while elements beyond its shape are erased: a kill in between leaves chunks that would show when it grows again. The next
//! change of the shape, and the next appender, erase them first. Elements that are kept on purpose are said, too: the next cut erases them.

use super::listed_lengths::Lengths;
use super::state::ArrayState;
use super::{Array, Store, marker, upkeep};
use crate::engine::{self, BoundArray};
use crate::error::Result;
use crate::limits::Dims;
use crate::metadata::{Value, json, number_list};
use std::sync::Arc;

/// The member of the shape whose elements are kept.
const KEPT: &str = "kept";

impl Array {
    /// Says, before a shorter shape than that of `fresh` is published, what is to be erased: elements of the shape `old`.
    pub(super) fn begin_cut(&self, fresh: &ArrayState, old: &[u64]) -> Result<()> {
        fresh.while_there(|| marker::put(self.store(), self.path(), marker::RESIZE, &[("shape", number_list(old))]))
    }

    /// Says, before a shorter shape than that of `fresh` is published, that elements of the shape `old` stay outside of it.
    pub(super) fn note_kept(&self, fresh: &ArrayState, old: &[u64]) -> Result<()> {
        fresh.while_there(|| marker::put(self.store(), self.path(), marker::RESIZE, &[(KEPT, number_list(old))]))
    }

    /// Uses the state of an array that has another shape, and gives it. Where it `is_cut` writes that began before are kept from what is behind its
    /// new end.
    pub(super) fn set_reshaped(&self, next: ArrayState, is_cut: bool) -> Arc<ArrayState> {
        if !is_cut {
            return self.set_state(next).0;
        }
        self.growths().cut(&next.meta.shape);
        self.set_state(next.knowing_cut()).0
    }

    /// Drops what waits behind the end of the array, which was cut. Calls that store it meanwhile are let through: a growth is under way.
    pub(super) fn drop_beyond(&self) -> Result<()> {
        match &self.state().bound {
            Ok(bound) => bound.write_back.iter().try_for_each(|kept| engine::drop_beyond(bound, kept)),
            Err(_) => Ok(()),
        }
    }

    /// Stores what waits of an array that has a shorter shape now than `whole`, of which elements stay outside.
    pub(super) fn store_outside(&self, whole: &Arc<BoundArray>) -> Result<()> {
        match &self.state().bound {
            Ok(bound) => bound.write_back.iter().try_for_each(|kept| engine::flush(whole, kept, None)),
            Err(_) => Ok(()),
        }
    }

    /// Says that all of it is erased, or that nothing is outside any more, of an array that was `fresh`.
    pub(super) fn end_cut(&self, fresh: &ArrayState) -> Result<()> {
        fresh.while_there(|| marker::erase(self.store(), self.path(), marker::RESIZE))
    }

    /// The shape of which a call that was interrupted left elements.
    pub(super) fn interrupted_cut(&self, rank: usize) -> Result<Option<Dims>> {
        self.outside(rank).map(|(left, _)| left)
    }

    /// The shape of which a call that was interrupted left elements, and that of which some are kept.
    pub(super) fn outside(&self, rank: usize) -> Result<(Option<Dims>, Option<Dims>)> {
        let Some(marker) = marker::read(self.store(), self.path(), marker::RESIZE)? else { return Ok((None, None)) };
        let shape = |name: &str| {
            let lengths = marker.get(name).and_then(|shape| shape.as_array()).into_iter().flatten();
            let old: Dims = lengths.filter_map(|n| json::get_u64(n).ok()).collect();
            Some(old).filter(|old| old.len() == rank)
        };
        Ok((shape("shape"), shape(KEPT)))
    }

    /// Erases what a call that was interrupted left. Consolidated metadata say the shape first, as their readers would find nothing in its place.
    pub(super) fn finish_cut(&self) -> Result<()> {
        let Some(old) = self.interrupted_cut(self.rank())? else { return Ok(()) };
        let now = self.read_fresh(self.format())?.meta.shape;
        let told = Lengths::of((0..old.len()).filter(|&d| now.get(d).is_some_and(|&now| now < old[d])));
        upkeep::after_changes_now(self.store(), &[(self.path(), told)], None)?;
        self.erase_beyond(&mut |_, _| Ok(()))
    }
}

/// Whether a key only says that elements outside of an array are kept.
pub(super) fn says_kept(store: &Store, key: &str) -> Result<bool> {
    match key.strip_suffix(marker::RESIZE) {
        Some(folder) => {
            Ok(marker::read(store, folder.trim_end_matches('/'), marker::RESIZE)?.is_some_and(|marker| marker.contains_key(KEPT)))
        }
        None => Ok(false),
    }
}

/// Gives a copy what its array says of elements beyond its shape, before chunks that hold them are copied as they are.
pub(super) fn copy_marker((from, node): (&Store, &str), (to, to_node): (&Store, &str)) -> Result<()> {
    let marker = marker::read(from, node, marker::RESIZE)?;
    let shapes = ["shape", KEPT].map(|name| marker.as_ref().and_then(|marker| Some((name, marker.get(name)?.clone()))));
    let shapes: Vec<(&str, Value)> = shapes.into_iter().flatten().collect();
    if shapes.is_empty() { Ok(()) } else { marker::put(to, to_node, marker::RESIZE, &shapes) }
}
