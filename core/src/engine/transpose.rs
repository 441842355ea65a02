//! The copy of two axes of which the source is denser along the outer one: in tiles, so that both sides stay within a few cache lines.

use super::place_axes::PlaceAxis;
use std::mem::MaybeUninit;

/// Returns the outer axis along which the source is denser than along the inner one, if a transpose in tiles pays.
pub(super) fn transposed_axis(outer: &[PlaceAxis], inner: PlaceAxis, size: i64) -> Option<usize> {
    if inner.src.abs() <= size {
        return None;
    }
    let (t, axis) = outer.iter().enumerate().min_by_key(|(_, a)| a.src.abs())?;
    (axis.src.abs() < inner.src.abs() && axis.count > 1).then_some(t)
}

/// # Safety
/// As `place::copy_as`, for one row.
pub(super) unsafe fn copy_row<T: Copy>(src: *const u8, dst: *mut u8, axis: PlaceAxis) {
    for i in 0..axis.count as isize {
        // SAFETY: element `i` of the row, on either side.
        unsafe {
            let value = src.offset(i * axis.src as isize).cast::<T>().read_unaligned();
            dst.offset(i * axis.dst as isize).cast::<T>().write_unaligned(value);
        }
    }
}

/// # Safety
/// As `place::copy_as`, for the two axes.
pub(super) unsafe fn transpose<T: Copy>(src: *const u8, dst: *mut u8, across: PlaceAxis, inner: PlaceAxis) {
    let size = size_of::<T>() as i64;
    let dense = across.src == size && inner.dst == size;
    // SAFETY: forwarded; each tile is as wide as a cache line.
    unsafe {
        match size_of::<T>() {
            1 => transpose_in_tiles::<T, 64>(src, dst, across, inner, dense),
            2 => transpose_in_tiles::<T, 32>(src, dst, across, inner, dense),
            4 => transpose_in_tiles::<T, 16>(src, dst, across, inner, dense),
            8 => transpose_in_tiles::<T, 8>(src, dst, across, inner, dense),
            _ => transpose_in_tiles::<T, 4>(src, dst, across, inner, dense),
        }
    }
}

/// Copies tiles of N × N elements. Where both sides are `dense` along their fast axis, a tile goes through memory of its own: the
/// lines of a large power of two apart, as rows of arrays often are, drive each other out of the first-level cache, so each of
/// them is touched only once, whole.
///
/// # Safety
/// As `place::copy_as`, for the two axes; if `dense`, `across.src` and `inner.dst` are the size of an element.
unsafe fn transpose_in_tiles<T: Copy, const N: usize>(src: *const u8, dst: *mut u8, across: PlaceAxis, inner: PlaceAxis, dense: bool) {
    for a in (0..across.count).step_by(N) {
        let an = (N as u64).min(across.count - a);
        for b in (0..inner.count).step_by(N) {
            let bn = (N as u64).min(inner.count - b);
            // SAFETY: a tile of the two axes.
            unsafe {
                let from = src.offset(a as isize * across.src as isize + b as isize * inner.src as isize);
                let to = dst.offset(a as isize * across.dst as isize + b as isize * inner.dst as isize);
                if dense && (an, bn) == (N as u64, N as u64) {
                    transpose_tile::<T, N>(from, inner.src as isize, to, across.dst as isize);
                    continue;
                }
                for i in 0..an as isize {
                    let (from, to) = (from.offset(i * across.src as isize), to.offset(i * across.dst as isize));
                    copy_row::<T>(from, to, PlaceAxis { count: bn, ..inner });
                }
            }
        }
    }
}

/// Transposes one whole tile, whose lines are contiguous on both sides.
///
/// # Safety
/// N lines of N elements are valid to read from `src` on, `src_line` bytes apart, and to write from `dst` on.
#[inline(always)]
unsafe fn transpose_tile<T: Copy, const N: usize>(src: *const u8, src_line: isize, dst: *mut u8, dst_line: isize) {
    let mut lines = MaybeUninit::<[[T; N]; N]>::uninit();
    let lines: *mut [T; N] = lines.as_mut_ptr().cast();
    for j in 0..N {
        // SAFETY: the caller vouches for the line; there is room for N of them.
        unsafe { lines.add(j).write(src.offset(j as isize * src_line).cast::<[T; N]>().read_unaligned()) };
    }
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the lines are written by now, and as long as each of these wants; forwarded.
    unsafe {
        match (size_of::<T>(), N) {
            (4, 16) => return turn_words(lines.cast(), dst, dst_line),
            (8, 8) => return turn_doubles(lines.cast(), dst, dst_line),
            _ => {}
        }
    }
    for i in 0..N {
        // SAFETY: element i of line j, written by now.
        let line: [T; N] = std::array::from_fn(|j| unsafe { *lines.add(j).cast::<T>().add(i) });
        // SAFETY: as above.
        unsafe { dst.offset(i as isize * dst_line).cast::<[T; N]>().write_unaligned(line) };
    }
}

/// Stores 16 lines of 16 elements of four bytes turned around, 4 × 4 of them at a time, in vectors that every x86-64 processor has.
///
/// # Safety
/// The 256 elements at `lines` are valid to read; as [`transpose_tile`] for the other side.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn_words(lines: *const f32, dst: *mut u8, dst_line: isize) {
    use std::arch::x86_64::{_MM_TRANSPOSE4_PS, _mm_loadu_ps, _mm_storeu_ps};
    for (i, j) in (0..16).step_by(4).flat_map(|i| (0..16).step_by(4).map(move |j| (i, j))) {
        // SAFETY: rows j to j + 3 of the source's lines, from their element i on, become rows i to i + 3 from element j on.
        unsafe {
            let row = |r: usize| _mm_loadu_ps(lines.add((j + r) * 16 + i));
            let (mut a, mut b, mut c, mut d) = (row(0), row(1), row(2), row(3));
            _MM_TRANSPOSE4_PS(&mut a, &mut b, &mut c, &mut d);
            for (r, row) in [a, b, c, d].into_iter().enumerate() {
                _mm_storeu_ps(dst.offset((i + r) as isize * dst_line).cast::<f32>().add(j), row);
            }
        }
    }
}

/// [`turn_words`] for 8 lines of 8 elements of eight bytes, 2 × 2 of them at a time.
///
/// # Safety
/// The 64 elements at `lines` are valid to read; as [`transpose_tile`] for the other side.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turn_doubles(lines: *const f64, dst: *mut u8, dst_line: isize) {
    use std::arch::x86_64::{_mm_loadu_pd, _mm_storeu_pd, _mm_unpackhi_pd, _mm_unpacklo_pd};
    for (i, j) in (0..8).step_by(2).flat_map(|i| (0..8).step_by(2).map(move |j| (i, j))) {
        // SAFETY: as in `turn_words`.
        unsafe {
            let (a, b) = (_mm_loadu_pd(lines.add(j * 8 + i)), _mm_loadu_pd(lines.add((j + 1) * 8 + i)));
            _mm_storeu_pd(dst.offset(i as isize * dst_line).cast::<f64>().add(j), _mm_unpacklo_pd(a, b));
            _mm_storeu_pd(dst.offset((i + 1) as isize * dst_line).cast::<f64>().add(j), _mm_unpackhi_pd(a, b));
        }
    }
}
