//! Resolves a chain of codecs: to a shard of plain inner chunks or to its last array, with the place of each element in that array's buffer. No I/O.

use super::item::Axis;
use crate::codec::{BoundChain, Leaf, Sharded};
use crate::dtype::transfer::Transfer;
use smallvec::SmallVec;

/// Returns the shard that a chain is, or `None` if it has none or further codecs encode the shard as a whole.
pub(super) fn plain_shard(chain: &BoundChain) -> Option<&Sharded> {
    match chain {
        BoundChain::Sharded(shard) if shard.stages.is_empty() => Some(shard),
        _ => None,
    }
}

/// Returns the leaf at the end of a chain, whose elements are the array's.
pub(super) fn leaf_of(chain: &BoundChain) -> &Leaf {
    match chain {
        BoundChain::Leaf(leaf) => leaf,
        BoundChain::Sharded(shard) => leaf_of(&shard.inner),
    }
}

/// Returns the dimensions in the order of falling strides.
pub(super) fn by_stride(leaf: &Leaf) -> SmallVec<[usize; 6]> {
    let mut order: SmallVec<[usize; 6]> = (0..leaf.shape.len()).collect();
    sort_falling(&mut order, &|d| leaf.layout.strides[d] as u64);
    order
}

/// Sorts a few dimensions by falling keys; those with equal ones stay in their order.
pub(super) fn sort_falling(dimensions: &mut [usize], key: &dyn Fn(usize) -> u64) {
    for end in 1..dimensions.len() {
        let before = dimensions[..end].partition_point(|&d| key(d) >= key(dimensions[end]));
        dimensions[before..=end].rotate_right(1);
    }
}

/// Returns the distance in bytes from the lowest to the highest selected element along dimension `d`.
pub(super) fn reach(leaf: &Leaf, axes: &[Axis], d: usize) -> u64 {
    (axes[d].count - 1) * axes[d].step.unsigned_abs() * leaf.layout.strides[d] as u64
}

/// Returns the offset of the first selected element in the leaf's buffer.
pub(super) fn first_byte(leaf: &Leaf, axes: &[Axis]) -> u64 {
    axes.iter().zip(&leaf.layout.strides).map(|(a, &s)| a.start * s as u64).sum()
}

/// Returns the offset of the lowest selected element in the leaf's buffer (negative steps go downwards from the first).
pub(super) fn low_byte(leaf: &Leaf, axes: &[Axis]) -> u64 {
    let down: u64 = (0..axes.len()).filter(|&d| axes[d].step < 0).map(|d| reach(leaf, axes, d)).sum();
    first_byte(leaf, axes) - down
}

/// Returns the bytes of a selection that is one run in the leaf's buffer and in memory and needs no conversion, or `None` for any other.
/// `order` has the dimensions in the order of falling strides.
pub(super) fn contiguous_run(leaf: &Leaf, axes: &[Axis], transfer: &Transfer, order: &[usize]) -> Option<u64> {
    let item = transfer.plain_copy()? as i64;
    let mut run = item;
    for &d in order.iter().rev() {
        let (axis, stride) = (axes[d], leaf.layout.strides[d]);
        if axis.count == 1 {
            continue;
        }
        if axis.step != 1 || stride != run || axis.memory != run {
            return None;
        }
        run *= axis.count as i64;
    }
    Some(run as u64)
}
