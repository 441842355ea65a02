//! A run of strided elements on either side of a conversion: where each one is, blocks of them, memory for a block between them.

use std::mem::MaybeUninit;

/// `n` elements to convert. Strides are in bytes and may be negative or, at the source, 0.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The first element of the source.
    pub src: *const u8,
    /// The distance between neighbours of the source.
    pub src_stride: isize,
    /// The first element of the destination.
    pub dst: *mut u8,
    /// The distance between neighbours of the destination.
    pub dst_stride: isize,
    /// The number of elements.
    pub n: usize,
}

impl Run {
    /// Makes a run of one element.
    #[inline(always)]
    pub fn one(src: *const u8, dst: *mut u8) -> Run {
        Run { src, src_stride: 0, dst, dst_stride: 0, n: 1 }
    }

    /// Computes the place of element `i` of the source; no more than arithmetic.
    #[inline(always)]
    pub(super) fn src_at(&self, i: usize) -> *const u8 {
        self.src.wrapping_offset(self.src_stride.wrapping_mul(i as isize))
    }

    /// Computes the place of element `i` of the destination; no more than arithmetic.
    #[inline(always)]
    pub(super) fn dst_at(&self, i: usize) -> *mut u8 {
        self.dst.wrapping_offset(self.dst_stride.wrapping_mul(i as isize))
    }

    /// Makes a run of the `n` elements from element `first` on.
    #[inline(always)]
    pub(super) fn part(&self, first: usize, n: usize) -> Run {
        Run { src: self.src_at(first), dst: self.dst_at(first), n, ..*self }
    }

    /// Makes a run to the contiguous elements of `size` bytes at `dst` instead.
    #[inline(always)]
    pub(super) fn gathered(&self, dst: *mut u8, size: usize) -> Run {
        Run { dst, dst_stride: size as isize, ..*self }
    }

    /// Makes a run from the contiguous elements of `size` bytes at `src` instead.
    #[inline(always)]
    pub(super) fn scattered(&self, src: *const u8, size: usize) -> Run {
        Run { src, src_stride: size as isize, ..*self }
    }

    /// Calls `each` with one block after another, of at most `most` elements. An element that `each` refuses, by its number in the
    /// block, ends the run; the error is its number among all.
    #[inline(always)]
    pub(super) fn blocks(&self, most: usize, mut each: impl FnMut(Run) -> Result<(), usize>) -> Result<(), usize> {
        let mut first = 0;
        while first < self.n {
            let count = most.min(self.n - first);
            each(self.part(first, count)).map_err(|i| first + i)?;
            first += count;
        }
        Ok(())
    }
}

/// Memory for one block.
#[repr(align(16))]
pub(super) struct Scratch<const BYTES: usize>(MaybeUninit<[u8; BYTES]>);

impl<const BYTES: usize> Scratch<BYTES> {
    pub fn new() -> Self {
        Scratch(MaybeUninit::uninit())
    }

    pub fn at(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}
