//! Rows of strided elements on either side of a conversion: where each one lies, blocks of them, memory for a block between them.

use std::mem::MaybeUninit;

/// The place of element i; no more than arithmetic.
#[inline(always)]
pub(super) fn at(base: *const u8, stride: isize, i: usize) -> *const u8 {
    base.wrapping_offset(stride.wrapping_mul(i as isize))
}

/// The places of element i on both sides.
#[inline(always)]
pub(super) fn places(src: *const u8, src_stride: isize, dst: *mut u8, dst_stride: isize, i: usize) -> (*const u8, *mut u8) {
    (at(src, src_stride, i), at(dst.cast_const(), dst_stride, i).cast_mut())
}

/// Calls `each` with the places and the length of one block after another, of at most `most` of the n elements. One that `each` refuses,
/// by its number in the block, ends it; the error is its number among all.
#[inline(always)]
pub(super) fn blocks(
    most: usize,
    (src, src_stride): (*const u8, isize),
    (dst, dst_stride): (*mut u8, isize),
    n: usize,
    mut each: impl FnMut(*const u8, *mut u8, usize) -> Result<(), usize>,
) -> Result<(), usize> {
    let mut first = 0;
    while first < n {
        let count = most.min(n - first);
        let (s, d) = places(src, src_stride, dst, dst_stride, first);
        each(s, d, count).map_err(|i| first + i)?;
        first += count;
    }
    Ok(())
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
