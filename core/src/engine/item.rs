//! An item: one chunk's part of a selection, as the plan gives it to whatever reads or writes the chunk.

use crate::limits::Dims;
use smallvec::SmallVec;

/// The selected elements of a chunk along one dimension, and how far apart they are in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// The first selected element, counted from the chunk's origin.
    pub start: u64,
    /// The number of selected elements.
    pub count: u64,
    /// The step between them; not 0.
    pub step: i64,
    /// The distance in bytes between their places in memory.
    pub memory: i64,
}

/// One axis for each dimension of a chunk.
pub(super) type Axes = SmallVec<[Axis; 6]>;

/// One chunk's part of a selection.
#[derive(Clone)]
pub(super) struct Item {
    /// The chunk's index in the grid.
    pub chunk: Dims,
    /// The selected elements.
    pub axes: Axes,
    /// The distance in bytes of the first one from the selection's first element in memory.
    pub memory: i64,
}

/// Returns the axes of all elements of a chunk of `shape`, with those distances between them in memory.
pub(super) fn all_of(shape: &[u64], strides: &[i64]) -> Axes {
    shape.iter().zip(strides).map(|(&count, &memory)| Axis { start: 0, count, step: 1, memory }).collect()
}
