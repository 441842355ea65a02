//! The chunks that a request touches, by which requests in each other's way are found.

use crate::limits::Dims;

/// Names the place of a node by what its store says of itself and the node's prefix there: the same from whichever folder above the node the
/// store begins. The places of the nodes below a node begin with its own.
pub fn place(store: &str, prefix: &str) -> String {
    format!("{}/{prefix}", store.trim_end_matches('/'))
}

#[cfg(test)]
thread_local! {
    /// How often this thread has compared two.
    pub(super) static COMPARED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
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
        #[cfg(test)]
        COMPARED.set(COMPARED.get() + 1);
        let apart = |d: usize| self.high[d] < other.low[d] || other.high[d] < self.low[d];
        (self.writes || other.writes) && self.place == other.place && self.low.len() == other.low.len() && !(0..self.low.len()).any(apart)
    }

    /// Returns how many chunks there are in the box.
    pub fn chunk_count(&self) -> u64 {
        self.low.iter().zip(&self.high).fold(1, |count: u64, (low, high)| count.saturating_mul((high - low).saturating_add(1)))
    }

    /// Returns the chunks of the box.
    pub fn chunks(&self) -> impl Iterator<Item = Dims> {
        std::iter::successors(Some(self.low.clone()), |chunk| {
            let along = (0..chunk.len()).rev().find(|&d| chunk[d] < self.high[d])?;
            let mut next = chunk.clone();
            next[along] += 1;
            next[along + 1..].copy_from_slice(&self.low[along + 1..]);
            Some(next)
        })
    }
}
