//! Whether the root folder of a store has a hidden name for now (`"file.publish"`).

use crate::fork::ForkReset;
use std::path::PathBuf;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Whether a root has a hidden name. A child of `fork` leaves it to its parent.
pub(super) struct Hidden(ForkReset<RwLock<State>>);

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
        let hidden = Hidden(ForkReset::new(RwLock::default));
        *hidden.change() = State::Due;
        hidden
    }

    /// Keeps the state as it is while the guard is held.
    pub(super) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.get().read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn change(&self) -> RwLockWriteGuard<'_, State> {
        self.0.get().write().unwrap_or_else(PoisonError::into_inner)
    }
}
