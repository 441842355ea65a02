//! What an open array is at the moment: the state of its document, and how its handle treats chunks. Both change under one lock, and a state gets the
//! settings of the moment in which it becomes the array's: one that was made before another thread changed them brings none of before back.

use super::state::{ArrayState, Handling};
use crate::fork::ForkPreserved;
use std::sync::Arc;

/// See the module.
pub(super) struct Current(ForkPreserved<Now>);

struct Now {
    state: Arc<ArrayState>,
    handling: Handling,
}

impl Now {
    /// Uses that state, which nothing else refers to, with the settings of now. Gives what it is used as, and what is to be dropped: the state and the
    /// settings of before.
    fn replace(&mut self, mut state: Arc<ArrayState>) -> Replaced {
        let had = Arc::get_mut(&mut state).and_then(|state| state.take_settings(&self.handling));
        let before = std::mem::replace(&mut self.state, state.clone());
        Replaced { state, before, _had: had }
    }
}

/// A state that became the array's, and the one before.
pub(super) struct Replaced {
    pub state: Arc<ArrayState>,
    pub before: Arc<ArrayState>,
    /// The settings that it was made with.
    _had: Option<Handling>,
}

impl Current {
    /// A state with the settings that it was made with.
    pub fn new(state: ArrayState, handling: Handling) -> Current {
        Current(ForkPreserved::new(Now { state: Arc::new(state), handling }))
    }

    /// The state.
    pub fn state(&self) -> Arc<ArrayState> {
        self.0.read(|now| now.state.clone())
    }

    /// The state, and what is read of the settings at the same moment.
    pub fn state_and<R>(&self, read: impl FnOnce(&Handling) -> R) -> (Arc<ArrayState>, R) {
        self.0.read(|now| (now.state.clone(), read(&now.handling)))
    }

    /// The state, which nobody else uses any more.
    pub fn last_state(&mut self) -> &ArrayState {
        &self.0.get_mut().state
    }

    /// Reads the settings.
    pub fn handling<R>(&self, read: impl FnOnce(&Handling) -> R) -> R {
        self.0.read(|now| read(&now.handling))
    }

    /// Changes the settings, also those of the state.
    pub fn handle(&self, change: impl FnOnce(&mut Handling)) {
        drop(self.0.write(|now| {
            let before = now.handling.clone();
            now.handling.changed += 1;
            change(&mut now.handling);
            (before, now.replace(Arc::new(now.state.like(now.state.meta.clone(), now.state.bound.clone()))))
        }));
    }

    /// Uses another state from now on.
    pub fn replace(&self, state: ArrayState) -> Replaced {
        let state = Arc::new(state);
        self.0.write(|now| now.replace(state))
    }

    /// Uses another state from now on, if it is still `seen` that is used.
    pub fn replace_after(&self, seen: &Arc<ArrayState>, state: ArrayState) -> Option<Replaced> {
        // Dropped behind the lock if it is not used.
        let mut state = Some(Arc::new(state));
        self.0.write(|now| if Arc::ptr_eq(&now.state, seen) { state.take().map(|state| now.replace(state)) } else { None })
    }
}
