//! Counts changes of metadata by this process in stores of one name, which may be open several times.

use crate::fork::{ForkPreserved, Lazy};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Weak};

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
