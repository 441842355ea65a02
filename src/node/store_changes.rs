//! Counts changes of metadata by this process in stores of one name, which may be open several times, and its calls that took nodes away anywhere.

use super::departures::DEPARTURES;
use crate::fork::{ForkPreserved, Lazy};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

/// The counts of a moment before a document was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AsOf {
    /// Changes of metadata in stores of the name.
    changes: u64,
    /// Calls that have taken nodes away.
    pub departures: u64,
}

impl AsOf {
    /// That count of changes, now.
    pub fn now(changes: u64) -> AsOf {
        AsOf { changes, departures: DEPARTURES.count() }
    }

    /// Returns whether this process has changed metadata of the store since those counts.
    pub fn has_changed_since(self, before: AsOf) -> bool {
        self.changes != before.changes
    }

    /// Returns whether a call has taken a node away, wherever, since these counts.
    pub fn is_before_a_departure(self) -> bool {
        DEPARTURES.count() != self.departures
    }
}

/// How often this process has changed metadata of each store that is open, by the stores' names.
static CHANGES: Lazy<ForkPreserved<HashMap<String, Weak<AtomicU64>>>> = Lazy::new(ForkPreserved::default);

/// What counts the changes of stores of that name: one for all that are open.
pub(super) fn changes_of(name: String) -> Arc<AtomicU64> {
    CHANGES.get().write(|all| {
        if let Some(known) = all.get(&name).and_then(Weak::upgrade) {
            return known;
        }
        // Now and then, so that opening many stores takes no longer for each.
        if all.len().is_power_of_two() {
            all.retain(|_, changes| changes.strong_count() > 0);
        }
        let new = Arc::default();
        all.insert(name, Arc::downgrade(&new));
        new
    })
}
