//! Whether the root folder of a store has a hidden name for now (`"file.publish"`).

use crate::fork::{ForkReset, forks};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Whether a root has a hidden name. A child of `fork` leaves it to its parent, which alone gives the root its own name.
pub(super) struct Hidden {
    state: ForkReset<RwLock<State>>,
    /// One more than how often the process that has hidden the root had been forked; 0: it is not hidden.
    hidden_by: AtomicU32,
}

#[derive(Default)]
pub(super) enum State {
    /// It has its own name.
    #[default]
    Named,
    /// If it is made, it is hidden.
    Due,
    /// It has this name.
    At(PathBuf),
    /// It has its own name, which a power cut may take away.
    Unsynced,
}

impl Hidden {
    /// Says that a root is to be hidden if it is new.
    pub(super) fn due() -> Hidden {
        let hidden = Hidden { state: ForkReset::new(RwLock::default), hidden_by: AtomicU32::new(0) };
        *hidden.change() = State::Due;
        hidden
    }

    /// Keeps the state as it is while the guard is held.
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.get().read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.state.get().write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says whether the root that this process opens next, or has open, has a hidden name that this process gives it.
    pub(super) fn note(&self, is_hidden: bool) {
        self.hidden_by.store(if is_hidden { forks() + 1 } else { 0 }, Ordering::Relaxed);
    }

    /// Whether the process before a fork had hidden the root.
    pub(super) fn is_of_parent(&self) -> bool {
        ![0, forks() + 1].contains(&self.hidden_by.load(Ordering::Relaxed))
    }
}
