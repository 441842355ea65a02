//! Changing an array's shape: growing, shrinking with the chunks that go, appending.
//! Specification: v3 core, "Resizing".

use super::cut::{self, Beyond, is_longer};
use super::document::{self, array_document};
use super::fill::write_fill;
use super::listed_lengths::Lengths;
use super::own_folder::OwnFolder;
use super::state::{ArrayState, store_waiting};
use super::transfer::OnProgress;
use super::{Array, claim, path, upkeep};
use crate::counting;
use crate::engine::{self, BoundArray, Memory, Selection};
use crate::error::{Error, Result, bail, err};
use crate::limits::{self, Dims};
use crate::metadata::{Format, number_list, v2, v3_grid};
use crate::store::{Condition, swap};
use std::sync::Arc;

/// What becomes of the elements that a shorter shape leaves outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outside {
    /// They are erased.
    Erased,
    /// They stay, and the mark of an appender goes, which learns of it so.
    Kept,
    /// They stay, and so does the mark: it is that of the series that resizes.
    KeptBySeries,
}

/// What is left to do of an array whose document has another shape.
pub(super) struct Reshaped {
    /// Elements are to be erased, by [`Array::erase_beyond`].
    pub is_cut: bool,
    /// How it went to store or to drop what waits beyond the shape.
    pub settled: Result<()>,
}

impl Array {
    /// Gives the array another shape. Growing publishes the shape. Shrinking publishes it, erases the chunks outside, and gives
    /// the elements of boundary chunks beyond the edge the fill value, so that growing again shows no old values; with
    /// `keep_outside` all of these stay. No element inside of both shapes changes. On a rectilinear grid no chunk that there was
    /// changes its place; the part beyond the listed extents becomes one chunk more.
    pub fn resize(&self, shape: &[u64], keep_outside: bool) -> Result<()> {
        self.resize_telling(shape, keep_outside, &mut |_, _| Ok(()))
    }

    /// Resizes like [`Array::resize`]. `progress` is told how many chunks outside are erased of how many; its error ends that: the shape is
    /// published by then. The chunks that are left are erased by the next call that does not keep them (`cut.rs`).
    pub fn resize_telling(&self, shape: &[u64], keep_outside: bool, progress: &mut OnProgress<'_>) -> Result<()> {
        let mut told = Lengths::ALL;
        let mut tell = |now: &[u64]| told = Lengths::of((0..now.len()).filter(|&d| shape.get(d) != Some(&now[d])));
        let to_shape = |now: &[u64], _: &[u8]| Ok(Dims::from_slice(shape)).inspect(|_| tell(now));
        let outside = if keep_outside { Outside::Kept } else { Outside::Erased };
        let Reshaped { is_cut, settled } = self.resize_document(to_shape, outside)?;
        if !is_cut {
            let told = upkeep::of_stored(self.refresh_above(told));
            return settled.and(told);
        }
        // Readers that go by consolidated metadata know of the shape before anything of theirs is erased.
        let told = upkeep::of_stored(upkeep::after_changes_now(self.store(), &[(self.path(), told)], None));
        settled.and(told)?;
        self.erase_beyond(&|_| Ok(()), progress)
    }

    /// The first part of [`Array::resize`], also for one of several arrays: changes the array's own document only, of whose shape and text `shape`
    /// makes another shape.
    pub(super) fn resize_document(&self, mut shape: impl FnMut(&[u64], &[u8]) -> Result<Dims>, outside: Outside) -> Result<Reshaped> {
        self.store().check_writable()?;
        self.dialect().refuse()?;
        self.store_waiting()?;
        let _locked = self.lock_to_reshape()?;
        // The array as it was, of which elements stay outside.
        let (mut whole, mut is_beside) = (None, false);
        let is_cut = swap::make(&**self.store().shared(), || {
            let (fresh, mut text, condition) = self.read_to_change()?;
            let (old, shape) = (fresh.meta.shape.clone(), shape(&fresh.meta.shape, &text)?);
            check_shape(&shape, old.len())?;
            let next = self.reshaped(&fresh, &shape)?;
            let (beyond, is_shorter) = (self.beyond(shape.len())?, is_longer(&old, &shape));
            // Another call may be erasing what the marker says is outside.
            is_beside |= beyond.interrupted.as_ref().is_some_and(|left| is_longer(left, &old)) && is_longer(&shape, &old);
            let gone = self.to_erase(&fresh, &text, &beyond, &shape, outside)?;
            if let Some(gone) = &gone {
                // Without its codecs the boundary cannot be rewritten: say so before anything changes.
                fresh.bound(self.path())?;
                self.store().check_erasable()?;
                // What is written later would come back when the array grows again.
                self.settle();
                self.begin_cut(&fresh, cut::ERASED, gone)?;
            }
            if outside != Outside::Erased && is_shorter {
                // Requests on what stays outside come before.
                self.settle();
                whole.get_or_insert_with(|| fresh.bound.clone());
                if outside == Outside::Kept && self.store().shared().capabilities().swaps {
                    // An earlier cut to the same shape may still be erasing.
                    claim::mark_resized(&mut text);
                }
            }
            self.publish_shape(&old, next, &text, condition, gone.is_some() || whole.is_some())?;
            // An array that only grows may have all that was kept outside by now.
            if gone.is_none() && !is_shorter && beyond.kept.is_some_and(|kept| !is_longer(&kept, &shape)) {
                self.end_cut(&fresh)?;
            }
            Ok(gone.is_some())
        })?;
        if is_beside {
            self.let_others_look();
        }
        let settled = match whole {
            Some(Ok(whole)) => self.store_outside(&whole),
            _ if is_cut => self.drop_beyond(),
            _ => Ok(()),
        };
        Ok(Reshaped { is_cut, settled })
    }

    /// The shape of which elements are to be erased when an array that is `fresh`, with the document `text` and elements `beyond` it, gets the shape
    /// `shape`; `None` if there are none. What an interrupted call left is among them, unless the array grows or what is outside stays: then it is
    /// erased at once, before it shows. Where elements stay outside the marker says so.
    fn to_erase(&self, fresh: &ArrayState, text: &[u8], beyond: &Beyond, shape: &[u64], outside: Outside) -> Result<Option<Dims>> {
        let now = &fresh.meta.shape;
        let mut all = now.clone();
        let longest = beyond.interrupted.as_ref().or(beyond.kept.as_ref()).into_iter().flatten();
        all.iter_mut().zip(longest).for_each(|(all, longest)| *all = (*all).max(*longest));
        if beyond.interrupted.is_some() {
            if outside == Outside::Erased && !is_longer(shape, now) && is_longer(&all, shape) {
                return Ok(Some(all));
            }
            self.erase_outside(fresh, text, &all, &mut |_, _| Ok(()))?;
            all = now.clone();
        }
        if !is_longer(now, shape) {
            return Ok(None);
        }
        if outside == Outside::Erased {
            return Ok(Some(all));
        }
        // Where nothing can be erased, no cut comes that would have to know of it.
        if self.store().shared().capabilities().erasable {
            self.begin_cut(fresh, cut::KEPT, &all)?;
        }
        Ok(None)
    }

    /// Makes dimension `dim` longer by `count` and writes the new slab from `memory`, whose strides are those of the array's shape with `count` in the
    /// place of `dim`. The shape is published after the data: readers see whole slabs only. An array that was lengthened elsewhere meanwhile is appended
    /// to where it ends now. In a store without locks the shape is published first, so that no other process takes the same place: readers may see the
    /// fill value there for a moment. A shape that may still come has its data.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub unsafe fn append(&self, dim: usize, count: u64, memory: &Memory) -> Result<()> {
        self.store().check_writable()?;
        self.dialect().refuse()?;
        self.store_waiting()?;
        let format = self.format();
        let known = self.shape();
        if dim >= known.len() {
            bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, known.len()), known.len());
        }
        {
            let _locked = self.lock_to_reshape()?;
            if self.store().shared().capabilities().swaps {
                // SAFETY: the caller vouches for the memory.
                unsafe { self.append_in_place_taken(dim, count, &known, memory)? };
            } else {
                let folder = OwnFolder::of(self);
                let (fresh, text, condition) = self.read_to_change()?;
                let (old, longer) = self.longer(fresh, &known, dim, count)?;
                let selection = slab(&longer.meta.shape, dim, old[dim], count)?;
                let bound = longer.bound(self.path())?;
                // SAFETY: the caller vouches for the memory.
                let written = unsafe { engine::write(&bound, &selection, memory) }.and_then(|()| store_waiting(&bound));
                written.map_err(|e| undo(&bound, &selection, e))?;
                folder.check(self)?;
                let published = self.publish_shape(&old, longer, &text, condition, false);
                published.map_err(|e| match self.read_fresh(format) {
                    Ok(now) if now.meta.shape == old && !e.is_unsure() => undo(&bound, &selection, e),
                    _ => e,
                })?;
                folder.check(self)?;
            }
        }
        let told = self.refresh_above(Lengths::along(dim));
        told.map_err(|e| e.with_note("; what was given is appended, and not to be given again: the next flush or close tells of it above"))
    }

    /// Makes the array longer, then writes the slab: other processes that append at the same time get other places.
    ///
    /// # Safety
    /// As for [`engine::write`].
    unsafe fn append_in_place_taken(&self, dim: usize, count: u64, known: &[u64], memory: &Memory) -> Result<()> {
        let (old, longer) = swap::make_once(&**self.store().shared(), || {
            let (fresh, text, condition) = self.read_to_change()?;
            let (old, longer) = self.longer(fresh, known, dim, count)?;
            longer.bound(self.path())?;
            let longer = self.publish_shape(&old, longer, &text, condition, false)?;
            Ok((old, longer))
        })
        .map_err(|e| match e.is_unsure() {
            true => e.with_note("; if it was, the array is longer by what was to be appended, with the fill value there"),
            false => e,
        })?;
        let bound = longer.bound(self.path())?;
        // The last chunk may hold slabs of others by now, although the array that is known here ends in it.
        let mut shape = bound.shape.clone();
        if let Some(last) = bound.grid.count(dim, shape[dim]).checked_sub(1) {
            shape[dim] = bound.grid.origin(dim, last).saturating_add(bound.grid.extent(dim, last)).clamp(shape[dim], i64::MAX as u64);
        }
        let selection = slab(&shape, dim, old[dim], count)?;
        let padded = Arc::new(BoundArray { shape, ..(*bound).clone() });
        // SAFETY: the caller vouches for the memory.
        let written = unsafe { engine::write(&padded, &selection, memory) }.and_then(|()| store_waiting(&padded));
        written.map_err(|e| self.give_back(&padded, &old, (dim, count), undo(&padded, &selection, e)))
    }

    /// Makes the array as long as it was before an append to `longer` that failed with `e`, if nobody has appended behind it. Returns `e`, with a
    /// note if the place stays.
    fn give_back(&self, longer: &BoundArray, old: &[u64], (dim, count): (usize, u64), e: Error) -> Error {
        let shortened = swap::make_once(&**self.store().shared(), || {
            let (fresh, text, condition) = self.read_to_change()?;
            longer.check_there()?;
            let now = fresh.meta.shape.clone();
            if (0..now.len()).any(|d| now[d] != old[d] + if d == dim { count } else { 0 }) {
                bail!(State, "another process has appended behind it");
            }
            let next = self.reshaped(&fresh, old)?;
            self.publish_shape(&now, next, &text, condition, false).map(drop)
        });
        match shortened {
            Ok(()) => e,
            Err(second) => {
                e.with_note(&format!("; the array stays longer by what was to be appended, with the fill value there: {second}"))
            }
        }
    }

    /// Gives the shape of the array as `fresh` has it, and the array with `count` more along `dim`.
    fn longer(&self, fresh: ArrayState, known: &[u64], dim: usize, count: u64) -> Result<(Dims, ArrayState)> {
        let old = fresh.meta.shape.clone();
        if old.len() != known.len() || (0..old.len()).any(|d| d != dim && old[d] != known[d]) {
            let (now, known) = (counting::shape(&old), counting::shape(known));
            let e = err!(State, "the array has shape {now} by now, this handle knew {known}; the slab no longer fits");
            self.set_state(self.telling_of(fresh));
            return Err(e);
        }
        let mut shape = old.clone();
        shape[dim] = old[dim].checked_add(count).filter(|&n| n <= i64::MAX as u64).ok_or_else(|| {
            err!(Limit, "{} of length {} cannot grow by {count}: the limit is 2^63 - 1", counting::dimension(dim, old.len()), old[dim])
        })?;
        limits::element_count(&shape)?;
        Ok((old, self.reshaped(&fresh, &shape)?))
    }

    /// The key of the document.
    pub(super) fn document_key(&self) -> String {
        path::join(self.path(), array_document(self.format()))
    }

    /// The array as it will be with that shape. An error where a chunk that a rectilinear grid grows into cannot be used.
    pub(super) fn reshaped(&self, fresh: &ArrayState, shape: &[u64]) -> Result<ArrayState> {
        let mut meta = fresh.meta.clone();
        meta.shape = Dims::from_slice(shape);
        meta.document.insert("shape".into(), number_list(shape));
        meta.grid = meta.grid.grown(shape, &fresh.multiple())?;
        if meta.format == Format::V3 {
            v3_grid::keep_grid(&mut meta.document, &meta.grid, shape)?;
        } else {
            v2::keep_chunks(&mut meta.document, &meta.grid);
        }
        let next = self.grown_state_of(meta, fresh)?;
        if fresh.bound.is_ok() {
            next.bound(self.path())?;
        }
        Ok(next)
    }

    /// Stores the document of `next` in place of the text `before` on a condition, unless the shape stays that of `old`, and uses it from now on.
    /// `is_cut`: elements of the array are gone. Errors: `State` if the array was lost since the reading that `next` was made of, whatever the handle
    /// is one of by now.
    fn publish_shape(&self, old: &[u64], next: ArrayState, before: &[u8], condition: Condition, is_cut: bool) -> Result<Arc<ArrayState>> {
        if next.meta.shape.as_slice() != old {
            let key = path::join(self.path(), array_document(next.meta.format));
            next.while_there(|| {
                document::check_there(self.store(), &key)?;
                document::publish_over(self.store(), &key, &next.meta.document, before, condition)
            })?;
        }
        Ok(self.set_reshaped(next, is_cut))
    }

    pub(super) fn refresh_above(&self, told: Lengths) -> Result<()> {
        upkeep::after_array_change(self.store(), self.path(), self.format(), told).map(drop)
    }
}

fn check_shape(shape: &[u64], rank: usize) -> Result<()> {
    if shape.len() != rank {
        bail!(Rank, "found a shape of rank {}, expected the array's rank {rank}", shape.len());
    }
    match shape.iter().position(|&n| n > i64::MAX as u64) {
        Some(d) => bail!(Limit, "{} is {}, the limit is 2^63 - 1", counting::dimension(d, rank), shape[d]),
        None => limits::element_count(shape).map(drop),
    }
}

/// `count` elements from `start` along `dim`, all along the others.
pub(super) fn slab(shape: &[u64], dim: usize, start: u64, count: u64) -> Result<Selection> {
    let mut starts = vec![0i64; shape.len()];
    let mut counts: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
    (starts[dim], counts[dim]) = (start as i64, count as i64);
    Selection::new(shape, &starts, &counts, None)
}

/// Takes back what a write of `selection`, behind the end of the array, stored before it failed with `e`: the array may grow there later,
/// and must then show the fill value. Returns `e`, or an error that says both if that fails, too.
pub(super) fn undo(array: &Arc<BoundArray>, selection: &Selection, e: Error) -> Error {
    match write_fill(array, selection).and_then(|()| store_waiting(array)) {
        Ok(()) => e,
        Err(second) => e.with_note(&format!("; what was written behind the end of the array could not be taken back: {second}")),
    }
}

/// The bytes of all chunks that are one chunk along `dim`.
pub(super) fn across(array: &BoundArray, dim: usize, depth: u64) -> Option<usize> {
    let padded = |d: usize| match array.grid.count(d, array.shape[d]).checked_sub(1) {
        Some(last) => array.grid.origin(d, last).checked_add(array.grid.extent(d, last)),
        None => Some(0),
    };
    let lengths = (0..array.shape.len()).map(|d| if d == dim { Some(depth) } else { padded(d) });
    let elements = lengths.into_iter().try_fold(1u64, |product, n| product.checked_mul(n?))?;
    usize::try_from(elements.checked_mul(array.data_type.size() as u64)?).ok()
}
