//! What an array says while elements beyond its shape are erased: a kill in between leaves chunks that would show when it grows again. The next
//! change of the shape, and the next appender, erase them first. Elements that are kept on purpose are said, too: the next cut erases them.

use super::listed_lengths::{Lengths, shape_of};
use super::state::ArrayState;
use super::transfer::OnProgress;
use super::{Array, Store, boundary, claim, document, marker, upkeep};
use crate::engine::{self, BoundArray, Fence};
use crate::error::{Result, bail, err};
use crate::limits::{Dims, MAX_CONSOLIDATED};
use crate::metadata::{Value, json, number_list};
use crate::store::swap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The member of the shape whose elements are kept.
pub(super) const KEPT: &str = "kept";
/// That of elements that are to be erased.
pub(super) const ERASED: &str = "shape";

/// The shapes, longer than an array's own, of which there may be elements outside of it.
#[derive(Default)]
pub(super) struct Beyond {
    /// That of which a call that was interrupted, or is under way, has elements to erase.
    pub interrupted: Option<Dims>,
    /// That of which elements are kept on purpose.
    pub kept: Option<Dims>,
}

impl Array {
    /// Says, before a shorter shape than that of `fresh` is published, what becomes of elements of the shape `old`: they are to be `ERASED`, or stay outside
    /// of it (`KEPT`).
    pub(super) fn begin_cut(&self, fresh: &ArrayState, what: &str, old: &[u64]) -> Result<()> {
        fresh.while_there(|| marker::put(self.store(), self.path(), marker::RESIZE, &[(what, number_list(old))]))
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
        self.beyond(rank).map(|beyond| beyond.interrupted)
    }

    /// Reads what the marker says of elements outside of the array.
    pub(super) fn beyond(&self, rank: usize) -> Result<Beyond> {
        let Some(marker) = marker::read(self.store(), self.path(), marker::RESIZE)? else { return Ok(Beyond::default()) };
        let shape = |name: &str| {
            let lengths = marker.get(name).and_then(|shape| shape.as_array()).into_iter().flatten();
            let old: Dims = lengths.filter_map(|n| json::get_u64(n).ok()).collect();
            Some(old).filter(|old| old.len() == rank)
        };
        Ok(Beyond { interrupted: shape(ERASED), kept: shape(KEPT) })
    }

    /// Erases what a call that was interrupted left, or is still erasing, and says whether there was something. Consolidated metadata say the shape first, as their readers would find
    /// nothing in its place.
    pub(super) fn finish_cut(&self) -> Result<bool> {
        let Some(old) = self.interrupted_cut(self.rank())? else { return Ok(false) };
        let now = self.read_fresh(self.format())?.meta.shape;
        if self.store().shared().capabilities().swaps && !is_longer(&old, &now) {
            return Ok(false);
        }
        let told = Lengths::of((0..old.len()).filter(|&d| now.get(d).is_some_and(|&now| now < old[d])));
        upkeep::after_changes_now(self.store(), &[(self.path(), told)], None)?;
        self.erase_beyond(&|_| Ok(()), &mut |_, _| Ok(())).map(|()| true)
    }

    /// Erases what the marker says is beyond the array's shape. What others may have put or kept there since stays. `check` may refuse the text of the
    /// document.
    pub(super) fn erase_beyond(&self, check: &dyn Fn(&[u8]) -> Result<()>, progress: &mut OnProgress<'_>) -> Result<()> {
        let _lock = document::lock(self.store(), self.path(), document::array_document(self.format()))?;
        swap::make(&**self.store().shared(), || {
            let (fresh, text, _) = self.read_to_change()?;
            check(&text)?;
            self.store().check_kept()?;
            match self.interrupted_cut(fresh.meta.shape.len())? {
                Some(left) => self.erase_outside(&fresh, &text, &left, progress),
                None => Ok(()),
            }
        })
    }

    /// Erases what an array that is `fresh`, with the document `text`, does not have of the shape `old`, and says that it is erased. Erasing has no
    /// condition: where no locks keep others out it goes on while the document has that shape and that mark, after which others may store something there.
    ///
    /// Errors: `Conflict` if it has others.
    pub(super) fn erase_outside(&self, fresh: &ArrayState, text: &[u8], old: &[u64], progress: &mut OnProgress<'_>) -> Result<()> {
        if !self.store().shared().capabilities().swaps {
            let bound = fresh.bound(self.path())?;
            boundary::erase_outside(&bound, old, &mut || Ok(()), progress)?;
            return self.end_cut(fresh);
        }
        // A marker of what is still inside is that of a cut which is published next: its call needs it then.
        if !is_longer(old, &fresh.meta.shape) {
            return Ok(());
        }
        let bound = fresh.bound(self.path())?;
        let is_changed = Arc::new(AtomicBool::new(false));
        let fence = self.fence_by(&fresh.meta.shape, claim::mark_in(text), is_changed.clone());
        // What is changed in part is put on the condition that it is what was found before a look.
        let bound = BoundArray { fence: Some(fence.clone()), ..(*bound).clone() };
        let mut looked: Option<Instant> = None;
        let mut look = || {
            if looked.is_none_or(|looked| looked.elapsed() >= UNSEEN) {
                looked = Some(Instant::now());
                fence.check()?;
            }
            Ok(())
        };
        let erased = boundary::erase_outside(&bound, old, &mut look, progress).and_then(|()| fence.check());
        erased.map_err(|e| if is_changed.load(Ordering::Relaxed) { err!(Conflict, "{}", e.message()) } else { e })?;
        self.end_cut(fresh)
    }

    /// A fence by the shape and the mark that the document has now; it notes that they have changed.
    fn fence_by(&self, shape: &[u64], mark: Vec<u8>, is_changed: Arc<AtomicBool>) -> Arc<Fence> {
        let shape = shape.to_vec();
        Fence::new(self.store().shared().clone(), self.document_key(), move |text| {
            match shape_of(&json::parse_object(text, MAX_CONSOLIDATED)?) {
                Some(now) if now == shape && claim::mark_in(text) == mark => Ok(()),
                _ => {
                    is_changed.store(true, Ordering::Relaxed);
                    bail!(Again, "another program has changed the array meanwhile")
                }
            }
        })
    }

    /// Waits, where no locks keep others out, until those that erase what is outside of the array have looked at its document, which was changed just now.
    pub(super) fn let_others_look(&self) {
        if self.store().shared().capabilities().swaps {
            std::thread::sleep(2 * UNSEEN);
        }
    }
}

/// Whether a shape is longer than another one somewhere.
pub(super) fn is_longer(shape: &[u64], than: &[u64]) -> bool {
    shape.iter().zip(than).any(|(length, than)| length > than)
}

/// How long erasing goes on without a look at the document, where no locks keep others out.
pub(super) const UNSEEN: Duration = Duration::from_millis(if cfg!(test) { 4 } else { 200 });

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
    let shapes = [ERASED, KEPT].map(|name| marker.as_ref().and_then(|marker| Some((name, marker.get(name)?.clone()))));
    let shapes: Vec<(&str, Value)> = shapes.into_iter().flatten().collect();
    if shapes.is_empty() { Ok(()) } else { marker::put(to, to_node, marker::RESIZE, &shapes) }
}
