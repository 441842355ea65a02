//! The type that planners take: an array that passed admission, so that its elements may be read or written now.

use super::array::BoundArray;
use std::sync::Arc;

/// See the module. Calls get it from `admit`.
#[derive(Clone)]
pub(super) struct Admitted {
    pub array: Arc<BoundArray>,
}

impl Admitted {
    /// Admits the storing of what waited in write-back, whose chunk is locked: nothing is in its way.
    pub fn from_write_back(array: &Arc<BoundArray>) -> Admitted {
        Admitted { array: array.without_write_back() }
    }

    /// Admits a part of what `array`, the array of an admitted job, was admitted for.
    pub fn part_of(array: &Arc<BoundArray>) -> Admitted {
        Admitted { array: array.clone() }
    }
}
