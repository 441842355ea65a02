//! What a read or a write of an array would do, and how workers divide it between them. Nothing is read for either.

use super::array::check_inside;
use super::{Array, Explanation};
use crate::codec::BoundChain;
use crate::engine::{self, Memory, Selection};
use crate::error::Result;
use crate::grid::Grid;
use crate::limits::Dims;

impl Array {
    /// The plan of reading or writing a selection to or from memory like that; nothing is read for it.
    pub fn explain(&self, selection: &Selection, memory: &Memory, write: bool) -> Result<Explanation> {
        let bound = if write { self.bound_for_writing(selection) } else { self.bound_for_reading(selection) }?;
        engine::explain::explain(&bound, selection, memory, write)
    }

    /// Returns the box of the selection (steps of 1) that worker `index` of `workers` gets, cut where chunks end, or inner chunks with
    /// `inner`. The box is empty for some workers if there are fewer chunks than workers.
    pub fn partition(&self, selection: &Selection, workers: u64, index: u64, inner: bool) -> Result<(Dims, Dims)> {
        let state = self.state();
        check_inside(&state.meta.shape, selection)?;
        let sharded = matches!(&state.bound, Ok(bound) if matches!(*bound.chain, BoundChain::Sharded(_)));
        if inner && sharded {
            return engine::partition::partition(&Grid::regular(state.inner_chunk.clone())?, selection, workers, index);
        }
        engine::partition::partition(&state.meta.grid, selection, workers, index)
    }
}
