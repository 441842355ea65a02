//! Chunks that are not as they should be, where the store's options say what to make of them: objects of no bytes as missing
//! chunks (HD-20), chunks at the edge that were stored without what lies outside of the array (HD-21).

use super::BoundArray;
use super::decode::{Cost, Machine, Target};
use super::plan::Item;
use super::read;
use super::scratch::Scratch;
use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Dims;
use crate::store::{Object, check_exact};
use std::sync::Arc;

/// What is made of chunks that are not as they should be; by default they are errors.
#[derive(Clone, Default)]
pub struct Lenient {
    /// Objects of no bytes are missing chunks.
    pub empty_is_missing: bool,
    /// The codecs, where chunks at the edge may end where the array ends.
    pub clipped: Option<Arc<Chain>>,
}

impl Lenient {
    /// Whether what this error says may be mended by looking again.
    pub(super) fn may_mend(&self, e: &Error) -> bool {
        use ErrorKind::*;
        (self.empty_is_missing || self.clipped.is_some()) && matches!(e.kind(), Chunk | Truncated | ShardIndex | Checksum | Limit)
    }
}

/// Reads an item from its chunk's object, as the array's options say.
pub(super) fn read_object(
    array: &BoundArray,
    chain: &BoundChain,
    object: &Object,
    target: &Target,
    item: &Item,
    s: &mut Scratch,
) -> Result<()> {
    let machine = Machine { root: chain, target, cost: Cost::LOCAL, kept: None, decoded: None };
    if array.lenient.empty_is_missing && object.len()? == 0 {
        return target.fill(&item.axes, item.memory);
    }
    let read = |s: &mut Scratch| {
        s.parts.clear();
        machine.start(item, &mut s.parts)?;
        if s.parts.iter().any(|part| !part.is_whole()) {
            check_edge(array, chain, object, item)?;
        }
        read::read_parts(object, &machine, false, s)
    };
    let Some(codecs) = &array.lenient.clipped else { return read(s) };
    let again = Item { chunk: item.chunk.clone(), axes: item.axes.clone(), memory: item.memory };
    match read(s) {
        Err(e) if array.lenient.may_mend(&e) => match read_clipped(array, codecs, object, target, again, s) {
            Some(()) => Ok(()),
            None => Err(e),
        },
        other => other,
    }
}

/// Elements that are stored as they are may be read by spans, which are the wrong ones in a chunk that was clipped: at the edge of
/// the array the length is looked at first.
fn check_edge(array: &BoundArray, chain: &BoundChain, object: &Object, item: &Item) -> Result<()> {
    let BoundChain::Leaf(leaf) = chain else { return Ok(()) };
    if !leaf.is_raw() {
        return Ok(());
    }
    let reaches_out = |(d, &c): (usize, &u64)| array.shape[d].saturating_sub(array.grid.origin(d, c)) < array.grid.extent(d, c);
    if item.chunk.iter().enumerate().any(reaches_out) { check_exact(object.len()?, leaf.layout.bytes) } else { Ok(()) }
}

/// Reads a chunk at the edge of the array that ends where the array ends; `None` if this is none.
fn read_clipped(array: &BoundArray, codecs: &Chain, object: &Object, target: &Target, mut item: Item, s: &mut Scratch) -> Option<()> {
    let extent = |d: usize| array.grid.extent(d, item.chunk[d]);
    let inside = |d: usize| array.shape[d].saturating_sub(array.grid.origin(d, item.chunk[d])).min(extent(d));
    let shape: Dims = (0..array.shape.len()).map(inside).collect();
    if codecs.is_sharded() || (0..shape.len()).all(|d| shape[d] == extent(d)) {
        return None;
    }
    let root = codecs.bind(&shape).ok()?;
    // What lies outside of the array is asked for where the chunk is to be changed; such axes go upwards, one by one.
    target.fill(&item.axes, item.memory).ok()?;
    for (axis, &n) in item.axes.iter_mut().zip(&shape) {
        if axis.step == 1 {
            axis.count = axis.count.min(n.saturating_sub(axis.start));
        }
    }
    read::read_object(object, &Machine { root: &root, target, cost: Cost::LOCAL, kept: None, decoded: None }, &item, s).ok()
}
