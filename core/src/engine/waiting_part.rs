//! The part of one chunk that waits in write-back: a box of elements, or those of them that bits say.

use super::huge_pages::Pages;
use super::item::Axis;
use super::waiting_box::Span;
use super::written_bits::WrittenBits;
use crate::dtype::DataType;
use crate::error::{Error, Result, bail, err};
use crate::limits::Dims;
use std::sync::Arc;

/// Room for a chunk, at the beginning of a line of the cache.
pub(super) struct Buffer {
    pub first: *mut u8,
    pub size: usize,
    /// Which of the elements in a box were written; `None`: all.
    pub bits: Option<WrittenBits>,
    /// What it is a piece of.
    pub _block: Arc<Pages>,
}

// SAFETY: the bytes are its owner's alone, like a vector's.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Returns the bytes of it and of its bits.
    pub fn bytes(&self) -> usize {
        self.size + self.bits.as_ref().map_or(0, WrittenBits::bytes)
    }
}

/// The part of one chunk that waits.
pub(super) struct WaitingPart {
    /// The whole chunk in C order; only what was written in the box means something. `None` once the chunk is stored.
    pub buffer: Option<Buffer>,
    /// A box around all that was written.
    pub span: Span,
    /// The shape of the chunk and the type of the elements.
    pub shape: Dims,
    pub data_type: DataType,
    /// Its array was erased or replaced since.
    pub is_lost: bool,
}

impl WaitingPart {
    /// Returns the buffer.
    pub fn buffer(&mut self) -> Result<&mut Buffer> {
        match &mut self.buffer {
            Some(buffer) => Ok(buffer),
            None => bail!(Internal, "a part of a chunk that was stored is used again"),
        }
    }

    /// Returns the bits of what was written, or `None` if that is all of the box.
    pub fn bits(&self) -> Option<&WrittenBits> {
        self.buffer.as_ref()?.bits.as_ref().filter(|bits| bits.count() < self.span.volume())
    }

    /// Returns the smallest box around what waits and new elements, and whether bits must say what of it was written; `None` where what waits is
    /// to be stored first.
    pub fn joined(&self, new: &Arrival<'_>) -> Option<(Span, bool)> {
        // What is lost is told of where it is to be stored.
        if self.is_lost {
            return None;
        }
        let span = Span::around(new.axes);
        let has_bits = self.buffer.as_ref().is_some_and(|buffer| buffer.bits.is_some());
        let is_taken = self.bits().is_none() && (new.is_box() || self.span.holds(&span));
        if let Some(both) = self.span.joined(&span).filter(|_| is_taken) {
            return Some((both, has_bits));
        }
        // Where bytes of an element stay as they are, those must be there.
        let is_there = || self.bits().is_some_and(|bits| bits.all(new.axes));
        (!new.is_partial || is_there()).then(|| (self.span.around_both(&span), true))
    }

    /// Returns whether any of the new elements waits already.
    pub fn meets(&self, new: &Arrival<'_>) -> bool {
        self.bits().map_or_else(|| self.span.meets(&Span::around(new.axes)), |bits| bits.any(new.axes))
    }

    /// Returns whether any element of a box of the array waits; `origin` is the chunk's first element.
    pub fn touches(&self, selected: &Span, origin: impl Fn(usize) -> u64) -> bool {
        let mut both = self.span.clone();
        (0..both.start.len()).for_each(|d| both.start[d] += origin(d));
        if !both.meets(selected) {
            return false;
        }
        let Some(bits) = self.bits() else { return true };
        for d in 0..both.start.len() {
            let (start, end) = (both.start[d].max(selected.start[d]), both.end(d).min(selected.end(d)));
            (both.start[d], both.count[d]) = (start - origin(d), end - start);
        }
        bits.any(&both.axes())
    }

    /// Adds elements, which are in the buffer; `both` is the box around all.
    pub fn add(&mut self, both: Span, axes: &[Axis]) {
        self.span = both;
        if let Some(bits) = self.buffer.as_mut().and_then(|buffer| buffer.bits.as_mut()) {
            bits.set(axes);
        }
    }

    /// Returns whether all elements of the chunk, whose extents inside of the array are `inside`, wait.
    pub fn covers(&self, inside: &[u64]) -> bool {
        self.span.covers(inside) && self.bits().is_none()
    }

    /// Ends it at `end` along one dimension, if it reaches there; returns whether anything of it is left.
    pub fn end_at(&mut self, d: usize, end: u64) -> bool {
        let before = self.span.count[d];
        self.span.end_at(d, end) && (self.span.count[d] == before || self.keep_in_box())
    }

    /// Keeps what is beyond the extents `inside` along one dimension; `false` if nothing does.
    pub fn keep_beyond(&mut self, inside: &dyn Fn(usize) -> u64) -> bool {
        let span = &mut self.span;
        let mut beyond = (0..span.start.len()).filter(|&d| span.end(d) > inside(d));
        let (Some(d), None) = (beyond.next(), beyond.next()) else { return false };
        let (start, end) = (inside(d).max(span.start[d]), span.end(d));
        (span.start[d], span.count[d]) = (start, end - start);
        self.keep_in_box()
    }

    /// Drops what is not in the box any more; returns whether anything is left.
    fn keep_in_box(&mut self) -> bool {
        let WaitingPart { buffer, span, .. } = self;
        let Some(bits) = buffer.as_mut().and_then(|buffer| buffer.bits.as_mut()) else { return true };
        bits.keep(span);
        bits.count() > 0
    }

    /// The document may have been replaced by that of another array.
    pub fn check(&self, shape: &[u64], data_type: DataType) -> Result<()> {
        if !self.is_lost && (self.shape.as_slice(), self.data_type) != (shape, data_type) {
            return Err(replaced());
        }
        Ok(())
    }
}

/// The error of a part that waits for an array that is not there any more.
pub(super) fn replaced() -> Error {
    err!(State, "the array was erased or replaced since a part of a chunk was written, which waits still")
}

/// Elements of a chunk that may wait.
pub(super) struct Arrival<'a> {
    /// The chunk's index.
    pub chunk: &'a Dims,
    /// The chunk's shape.
    pub shape: &'a Dims,
    /// The extents of the chunk inside the array.
    pub inside: &'a [u64],
    pub data_type: DataType,
    /// The selected elements.
    pub axes: &'a [Axis],
    /// Bytes of the elements are left alone.
    pub is_partial: bool,
    /// An element may not fit.
    pub may_fail: bool,
    /// Brings the elements into a buffer of the chunk with those strides.
    pub place: &'a dyn Fn(*mut u8, &[i64]) -> Result<()>,
    /// Refuses them where the array was cut before them.
    pub check: &'a dyn Fn() -> Result<()>,
}

impl Arrival<'_> {
    /// Whether the elements are all of a box, and whole.
    pub fn is_box(&self) -> bool {
        self.axes.iter().all(|axis| axis.count == 1 || axis.step.unsigned_abs() == 1) && !self.is_partial
    }
}
