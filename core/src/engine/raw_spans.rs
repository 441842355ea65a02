//! Which spans of an uncompressed chunk are read for a selection of it: few long ones or many short ones, by cost. Pure.

use super::chunk_picks::ChunkPicks;
use super::cost::Cost;
use super::item::Axis;
use super::leaf::{low_byte, reach};
use super::part::Part;
use crate::codec::Leaf;
use crate::error::Result;
use crate::limits;

/// Returns the spans of the leaf's buffer that hold the picks of a box, without gaps that cost more than a call, or `None` where reading
/// the whole box is cheaper.
pub(super) fn sparse_spans(picks: &ChunkPicks, leaf: &Leaf, axes: &[Axis], memory: i64, cost: Cost) -> Result<Option<Vec<(u64, u64)>>> {
    let (gap, item) = (cost.gap().max(1), leaf.layout.element.size() as u64);
    let low = low_byte(leaf, axes);
    let all = (0..axes.len()).map(|d| reach(leaf, axes, d)).sum::<u64>() + item;
    let (mut spans, mut pushed): (Vec<(u64, u64)>, _) = (Vec::new(), Ok(()));
    let sparse = picks.each(axes, memory, &leaf.layout.strides, &mut |p| {
        let start = low + p.buffer as u64;
        let end = start + (p.count - 1) * p.buffer_step as u64 + item;
        match spans.last_mut() {
            Some(last) if start >= last.0 && start <= last.1.saturating_add(gap) => last.1 = last.1.max(end),
            _ => pushed = limits::push(&mut spans, (start, end)),
        }
        pushed.is_ok() && spans.len() as u64 * gap <= all
    });
    pushed?;
    if !sparse || spans.len() < 2 {
        return Ok(None);
    }
    spans.sort_unstable();
    // Each is joined to the one before where they are near, in place.
    spans.dedup_by(|later, kept| {
        let near = later.0 <= kept.1.saturating_add(gap);
        if near {
            kept.1 = kept.1.max(later.1);
        }
        near
    });
    Ok(Some(spans))
}

/// Returns how many axes (in the order of falling strides) are stepped through, and the bytes of each span that is read for the others.
pub(super) fn cheapest_split(leaf: &Leaf, axes: &[Axis], order: &[usize], price: Cost) -> (usize, u64) {
    let item = leaf.layout.element.size() as u64;
    let all = order.iter().map(|&d| reach(leaf, axes, d)).sum::<u64>() + item;
    // Two calls at least for not less than what is selected cannot be cheaper than this one.
    let selected = axes.iter().map(|a| a.count).product::<u64>() * item;
    if (all - selected.min(all)) as f64 * price.byte <= price.call {
        return (0, all);
    }
    let mut best = (f64::INFINITY, 0, 0);
    let mut calls = 1.0;
    for outer in 0..=order.len() {
        let len = order[outer..].iter().map(|&d| reach(leaf, axes, d)).sum::<u64>() + item;
        let cost = calls * (price.call + len as f64 * price.byte);
        if cost < best.0 {
            best = (cost, outer, len);
        }
        if let Some(&d) = order.get(outer) {
            calls *= axes[d].count as f64;
        }
    }
    (best.1, best.2)
}

/// Returns whether no two spans of a split are near enough to be read as one.
pub(super) fn are_apart(leaf: &Leaf, axes: &[Axis], order: &[usize], (outer, len): (usize, u64), price: Cost) -> bool {
    let step = |d: usize| leaf.layout.strides[d] as u64 * axes[d].step.unsigned_abs();
    let inside = |k: usize| order[k + 1..outer].iter().map(|&d| reach(leaf, axes, d)).sum::<u64>() + len;
    (0..outer).filter(|&k| axes[order[k]].count > 1).all(|k| step(order[k]) > inside(k).saturating_add(price.gap()))
}

/// Cuts a part whose bytes reach over more than `most` along the dimension of the largest stride that has several elements: pieces of no more
/// bytes, or of one element of that dimension.
pub(super) fn cut_long(leaf: &Leaf, part: &Part, order: &[usize], most: u64) -> Result<Option<Vec<Part>>> {
    let all = order.iter().map(|&d| reach(leaf, &part.axes, d)).sum::<u64>() + leaf.layout.element.size() as u64;
    let Some(&d) = order.iter().find(|&&d| part.axes[d].count > 1).filter(|_| all > most) else { return Ok(None) };
    let axis = part.axes[d];
    let step = (leaf.layout.strides[d] as u64).saturating_mul(axis.step.unsigned_abs()).max(1);
    let count = (most / step).clamp(1, axis.count - 1);
    let piece = |first: u64| {
        let mut axes = part.axes.clone();
        axes[d].start = axis.start.wrapping_add_signed(axis.step.wrapping_mul(first as i64));
        axes[d].count = count.min(axis.count - first);
        Part { axes, memory: part.memory + axis.memory * first as i64, ..*part }
    };
    limits::collect((0..axis.count.div_ceil(count)).map(|i| piece(i * count))).map(Some)
}

/// Counts `at` up within `counts`, the last digit first; false after the last number.
pub(super) fn advance_counter(at: &mut [u64], counts: &[u64]) -> bool {
    for d in (0..at.len()).rev() {
        at[d] += 1;
        if at[d] < counts[d] {
            return true;
        }
        at[d] = 0;
    }
    false
}
