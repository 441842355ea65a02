//! What the handles on an open array share, and what ends with the last of them, whatever else uses the array or flushes its store meanwhile.

use super::Store;
use super::current::Current;
use super::lost::OpenArray;
use super::state::ArrayState;
use super::waiting::MayWait;
use crate::engine::stats::Counters;
use crate::engine::{self, ArrayCache, WriteBack};
use crate::error::Result;
use crate::fork::Once;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

pub(super) struct ArrayInner {
    pub store: Store,
    pub path: String,
    pub now: Current,
    /// The document comes from consolidated metadata: good enough for reading, to be looked at again before writing. One that was exported
    /// by another process is the document itself.
    pub listed: AtomicBool,
    pub stats: Arc<Counters>,
    pub open: Arc<OpenArray>,
    /// The store knows that parts of chunks may wait.
    pub noted: Once<()>,
}

impl MayWait for ArrayInner {
    fn is_below(&self, place: &str) -> bool {
        place.is_empty() || self.store.place(&self.path).starts_with(place)
    }

    fn store_if_there(&self) -> Result<()> {
        let state = self.now.state();
        if state.is_lost() { Ok(()) } else { self.store_waiting(&state, false) }
    }
}

impl ArrayInner {
    /// Where parts of chunks wait to be written, if they do.
    pub fn kept_parts(&self) -> Option<Arc<WriteBack>> {
        self.now.handling(|handling| handling.write_back.clone())
    }

    /// Stores what waits to be written; of what was lost with an array that was there before it tells if `lost_too`. What cannot be stored goes on
    /// waiting.
    pub fn store_waiting(&self, state: &ArrayState, lost_too: bool) -> Result<()> {
        let Some(kept) = self.kept_parts() else { return Ok(()) };
        match &state.bound {
            Ok(bound) if lost_too => engine::flush(bound, &kept, None),
            Ok(bound) => engine::flush_not_lost(bound, &kept),
            // The document may name codecs by now that are not known.
            Err(_) if (lost_too && kept.bytes() > 0) || !kept.not_lost()?.is_empty() => state.bound(&self.path).map(drop),
            Err(_) => Ok(()),
        }
    }
}

/// Closes files, and forgets what is kept for reading.
fn close_files(state: &ArrayState) {
    if let Ok(bound) = &state.bound {
        bound.open_shards.forget_all();
        bound.cache.iter().for_each(ArrayCache::forget_all);
    }
}

impl Drop for ArrayInner {
    fn drop(&mut self) {
        // A thread of the pool may have the array a moment longer; the files are closed now.
        close_files(self.now.last_state());
    }
}

/// The last handle: what waits is stored when this is dropped, or never.
pub(super) struct LastHandle(Arc<ArrayInner>);

impl Drop for LastHandle {
    fn drop(&mut self) {
        let (mut state, kept) = self.0.now.state_and(|handling| handling.write_back.clone());
        if let Some(kept) = kept {
            // Errors are ignored in `drop`; close the array to see them.
            let _ = self.0.store_waiting(&state, true);
            // A flush of the store that is under way would store the rest over what others write from now on.
            kept.give_up();
            state = self.0.now.state();
        }
        close_files(&state);
    }
}

/// A use of an array.
#[derive(Clone)]
pub(super) enum ArrayUse {
    /// A handle, or a variable of a dataset, with its clones.
    Handle { _last: Arc<LastHandle> },
    /// What works on the array and may do so for longer.
    Other(Weak<LastHandle>),
}

impl ArrayUse {
    /// The first handle.
    pub fn first(array: &Arc<ArrayInner>) -> ArrayUse {
        ArrayUse::Handle { _last: Arc::new(LastHandle(array.clone())) }
    }

    /// A user that is no handle.
    pub fn other(&self) -> ArrayUse {
        match self {
            ArrayUse::Handle { _last } => ArrayUse::Other(Arc::downgrade(_last)),
            ArrayUse::Other(last) => ArrayUse::Other(last.clone()),
        }
    }

    /// Whether there is a handle.
    pub fn has_handle(&self) -> bool {
        match self {
            ArrayUse::Handle { .. } => true,
            ArrayUse::Other(last) => last.strong_count() > 0,
        }
    }
}
