//! Which malformed chunks are tolerated, by the store's options: objects of no bytes count as missing chunks (HD-20), and chunks at the
//! edge may have been stored without the elements outside the array (HD-21). No I/O: the local driver acts on the verdicts.

use super::item::Item;
use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::error::{Error, ErrorKind};
use crate::grid::Grid;
use crate::limits::Dims;
use std::sync::Arc;

/// Which malformed chunks are tolerated; by default none.
#[derive(Clone, Default)]
pub struct Lenient {
    /// Objects of no bytes are missing chunks.
    pub empty_is_missing: bool,
    /// The codecs, where chunks at the edge may end where the array ends.
    pub clipped: Option<Arc<Chain>>,
}

impl Lenient {
    /// Returns whether an error in a chunk may be mended by reading the chunk again in another way.
    pub(super) fn may_mend(&self, e: &Error) -> bool {
        use ErrorKind::*;
        (self.empty_is_missing || self.clipped.is_some()) && matches!(e.kind(), Chunk | Truncated | ShardIndex | Checksum | Limit)
    }

    /// Returns, for an item of a chunk at the edge of an array of `shape`, the chain of a chunk that ends where the array ends, and the
    /// item without the elements outside the array; `None` if chunks are not clipped or this one is not at the edge.
    pub(super) fn clipped(&self, grid: &Grid, shape: &[u64], item: &Item) -> Option<(BoundChain, Item)> {
        let codecs = self.clipped.as_ref()?;
        let extent = |d: usize| grid.extent(d, item.chunk[d]);
        let inside = |d: usize| shape[d].saturating_sub(grid.origin(d, item.chunk[d])).min(extent(d));
        let clipped: Dims = (0..shape.len()).map(inside).collect();
        if codecs.is_sharded() || (0..clipped.len()).all(|d| clipped[d] == extent(d)) {
            return None;
        }
        let chain = codecs.bind(&clipped).ok()?;
        let mut item = item.clone();
        // Elements outside the array are asked for where the chunk is to be changed; such axes go upwards, one by one.
        for (axis, &n) in item.axes.iter_mut().zip(&clipped).filter(|(axis, _)| axis.step == 1) {
            axis.count = axis.count.min(n.saturating_sub(axis.start));
        }
        Some((chain, item))
    }
}

/// Returns whether a chunk reaches over the edge of an array of `shape`. Elements that are stored as they are may be read by spans, which
/// are the wrong ones in a chunk that was clipped: of such chunks the length is looked at first.
pub(super) fn reaches_out(grid: &Grid, shape: &[u64], chunk: &[u64]) -> bool {
    chunk.iter().enumerate().any(|(d, &c)| shape[d].saturating_sub(grid.origin(d, c)) < grid.extent(d, c))
}
