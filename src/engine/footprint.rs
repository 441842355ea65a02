//! The chunks that a request touches, by which requests in each other's way are found.

use crate::limits::Dims;

/// Names an array, by its store and its prefix there: arrays of the same place are the same array.
pub(super) type Place = (String, String);

/// Returns whether an array is at a place or below it, from whichever folder above both their stores begin.
pub(super) fn is_at_or_below(array: &Place, place: &Place) -> bool {
    let whole = |(store, prefix): &Place| format!("{}/{prefix}", store.trim_end_matches('/'));
    whole(array).starts_with(&whole(place))
}

/// The chunks of one array that a request touches: a box of them, between two corners.
pub(super) struct Footprint {
    pub place: Place,
    pub low: Dims,
    pub high: Dims,
    pub writes: bool,
}

impl Footprint {
    /// Returns whether two requests with these footprints must run one after the other.
    pub fn overlaps(&self, other: &Footprint) -> bool {
        let apart = |d: usize| self.high[d] < other.low[d] || other.high[d] < self.low[d];
        (self.writes || other.writes) && self.place == other.place && self.low.len() == other.low.len() && !(0..self.low.len()).any(apart)
    }
}
