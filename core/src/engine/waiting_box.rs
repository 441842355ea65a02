//! Boxes of elements in a chunk, which wait in write-back.

use super::Selection;
use super::item::{Axes, Axis};
use crate::grid::Grid;
use crate::limits::Dims;

/// A box of elements in a chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub start: Dims,
    pub count: Dims,
}

impl Span {
    /// Returns the smallest box around selected elements.
    pub fn around(axes: &[Axis]) -> Span {
        let last = |a: &Axis| a.start.wrapping_add_signed(a.step.wrapping_mul(a.count as i64 - 1));
        let start: Dims = axes.iter().map(|a| a.start.min(last(a))).collect();
        let count = axes.iter().map(|a| a.start.abs_diff(last(a)) + 1).collect();
        Span { start, count }
    }

    /// Returns the smallest box around a selection of the array, which is not empty.
    pub fn of(selection: &Selection) -> Span {
        let (start, shape, step) = (selection.start(), selection.shape(), selection.step());
        let axis = |d: usize| Axis { start: start[d], count: shape[d], step: step[d], memory: 0 };
        Span::around(&(0..shape.len()).map(axis).collect::<Vec<_>>())
    }

    /// Returns the chunks that a box of the array meets, in order, where they are fewer than `limit`.
    pub fn chunks(&self, grid: &Grid, limit: u64) -> Option<impl Iterator<Item = Dims>> {
        let first: Dims = (0..self.start.len()).map(|d| grid.chunk_of(d, self.start[d])).collect();
        let counts: Dims = (0..first.len()).map(|d| grid.chunk_of(d, self.end(d) - 1) - first[d] + 1).collect();
        let all = counts.iter().try_fold(1, |all: u64, count| all.checked_mul(*count)).filter(|all| *all < limit)?;
        Some((0..all).map(move |mut n| {
            let mut chunk = first.clone();
            for d in (0..chunk.len()).rev() {
                chunk[d] += n % counts[d];
                n /= counts[d];
            }
            chunk
        }))
    }

    /// Returns the axes that select all of it.
    pub fn axes(&self) -> Axes {
        self.start.iter().zip(&self.count).map(|(&start, &count)| Axis { start, count, step: 1, memory: 0 }).collect()
    }

    /// Returns the number of its elements.
    pub fn volume(&self) -> u64 {
        self.count.iter().product()
    }

    /// Returns the smallest box around both.
    pub fn around_both(&self, other: &Span) -> Span {
        let start: Dims = self.start.iter().zip(&other.start).map(|(a, b)| *a.min(b)).collect();
        let count = (0..start.len()).map(|d| self.end(d).max(other.end(d)) - start[d]).collect();
        Span { start, count }
    }

    pub fn end(&self, d: usize) -> u64 {
        self.start[d] + self.count[d]
    }

    /// Ends it at `end` along one dimension, if it reaches there; returns whether anything of it is left.
    pub fn end_at(&mut self, d: usize, end: u64) -> bool {
        self.count[d] = self.count[d].min(end.saturating_sub(self.start[d]));
        self.count[d] > 0
    }

    pub fn holds(&self, other: &Span) -> bool {
        (0..self.start.len()).all(|d| self.start[d] <= other.start[d] && other.end(d) <= self.end(d))
    }

    pub fn meets(&self, other: &Span) -> bool {
        (0..self.start.len()).all(|d| self.start[d] < other.end(d) && other.start[d] < self.end(d))
    }

    /// Both together, if that is a box.
    pub fn joined(&self, other: &Span) -> Option<Span> {
        if self.holds(other) {
            return Some(self.clone());
        }
        if other.holds(self) {
            return Some(other.clone());
        }
        let mut differ = (0..self.start.len()).filter(|&d| (self.start[d], self.count[d]) != (other.start[d], other.count[d]));
        let (Some(d), None) = (differ.next(), differ.next()) else { return None };
        if self.start[d] > other.end(d) || other.start[d] > self.end(d) {
            return None;
        }
        let mut both = self.clone();
        both.start[d] = self.start[d].min(other.start[d]);
        both.count[d] = self.end(d).max(other.end(d)) - both.start[d];
        Some(both)
    }

    pub fn covers(&self, inside: &[u64]) -> bool {
        self.start.iter().all(|&s| s == 0) && self.count.iter().zip(inside).all(|(c, n)| c >= n)
    }
}
