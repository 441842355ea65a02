//! The chunks that a request touches, by which requests in each other's way are found.

use super::Selection;
use super::array::BoundArray;
use crate::limits::Dims;

/// The chunks of one array that a request touches: a box of them, between two corners.
pub(super) struct Footprint {
    /// The store's name, and the array's prefix in it.
    pub place: (String, String),
    pub low: Dims,
    pub high: Dims,
    pub writes: bool,
}

impl Footprint {
    /// Returns the footprint of a selection, or `None` if the selection is empty.
    pub fn new(array: &BoundArray, selection: &Selection, writes: bool) -> Option<Footprint> {
        if selection.shape().contains(&0) {
            return None;
        }
        let ends = |d: usize| {
            let (start, count, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
            let last = start.wrapping_add_signed(step.wrapping_mul(count as i64 - 1));
            (array.grid.chunk_of(d, start.min(last)), array.grid.chunk_of(d, start.max(last)))
        };
        let (low, high) = (0..selection.shape().len()).map(ends).unzip();
        Some(Footprint { place: place_of(array), low, high, writes })
    }

    /// Returns whether two requests with these footprints must run one after the other.
    pub fn overlaps(&self, other: &Footprint) -> bool {
        let apart = |d: usize| self.high[d] < other.low[d] || other.high[d] < self.low[d];
        (self.writes || other.writes) && self.place == other.place && self.low.len() == other.low.len() && !(0..self.low.len()).any(apart)
    }
}

/// Names an array: arrays of the same place are the same array.
pub(super) fn place_of(array: &BoundArray) -> (String, String) {
    (array.store.describe(), array.prefix.clone())
}
