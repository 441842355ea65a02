//! The chunks that a request touches, by which requests in each other's way are found.

use crate::limits::Dims;

/// Names the place of a node by what its store says of itself and the node's prefix there: the same from whichever folder above the node the
/// store begins. The places of the nodes below a node begin with its own.
pub fn place(store: &str, prefix: &str) -> String {
    format!("{}/{prefix}", store.trim_end_matches('/'))
}

/// The chunks of one array that a request touches: a box of them, between two corners.
pub(super) struct Footprint {
    /// That of the array ([`place`]).
    pub place: String,
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
