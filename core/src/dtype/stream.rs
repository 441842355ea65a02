//! Stores past the caches, for memory that is too large for them: a line that is written whole need not be read before.

/// Bytes of a line of the cache.
pub const LINE: usize = 64;

/// Copies `bytes` bytes; whole lines of the destination go past the caches. Other threads see them after [`settle`].
///
/// # Safety
/// `bytes` bytes are readable at `src` and writable at `dst`, and the two do not overlap.
#[inline]
pub unsafe fn copy(src: *const u8, dst: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        let head = dst.align_offset(LINE).min(bytes);
        let lines = (bytes - head) / LINE * LINE;
        // SAFETY: the three pieces make up what the caller vouches for; the middle one begins at a line.
        unsafe {
            std::ptr::copy_nonoverlapping(src, dst, head);
            copy_lines(src.add(head), dst.add(head), lines);
            std::ptr::copy_nonoverlapping(src.add(head + lines), dst.add(head + lines), bytes - head - lines);
        }
    }
    // SAFETY: forwarded from the caller.
    #[cfg(not(target_arch = "x86_64"))]
    unsafe {
        std::ptr::copy_nonoverlapping(src, dst, bytes)
    };
}

/// In pieces of 16 bytes: what was just stored in such pieces could not be loaded in wider ones before it has left the store buffer
/// (measured: a third more time after a conversion).
///
/// # Safety
/// As [`copy`]; `dst` is a multiple of [`LINE`], and so is `bytes`.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_lines(src: *const u8, dst: *mut u8, bytes: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for line in (0..bytes).step_by(LINE) {
        let mut pieces = [const { std::mem::MaybeUninit::<__m128i>::uninit() }; LINE / 16];
        for (i, piece) in pieces.iter_mut().enumerate() {
            // SAFETY: 16 bytes of the line.
            piece.write(unsafe { _mm_loadu_si128(src.add(line + i * 16).cast()) });
        }
        for (i, piece) in pieces.iter().enumerate() {
            // SAFETY: as above, just loaded; the destination is aligned.
            unsafe { _mm_stream_si128(dst.add(line + i * 16).cast(), piece.assume_init()) };
        }
    }
}

/// Brings the lines to the cache that a copy of `bytes` bytes to `dst` writes only in part: those at its ends, which are read before. To
/// be called some time before the copy; that memory need not be valid.
#[inline]
pub fn prepare(dst: *const u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    for end in [dst, dst.wrapping_add(bytes)] {
        if !end.addr().is_multiple_of(LINE) {
            // SAFETY: a hint, which never fails.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_ET0 }>(end.cast()) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (dst, bytes);
}

/// Stores one line past the caches, which `fill` writes; what it returns.
///
/// # Safety
/// `dst` is a multiple of [`LINE`], and [`LINE`] bytes are writable there. `fill` writes every byte of the line that it is given.
#[inline(always)]
pub unsafe fn line<R>(dst: *mut u8, fill: impl FnOnce(*mut u8) -> R) -> R {
    #[repr(align(64))]
    struct Line(std::mem::MaybeUninit<[u8; LINE]>);
    let mut line = Line(std::mem::MaybeUninit::uninit());
    let done = fill(line.0.as_mut_ptr().cast());
    // SAFETY: the line was written as a whole, the destination has room for it and is aligned. The compiler keeps the line in registers.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        copy_lines(line.0.as_ptr().cast(), dst, LINE);
        #[cfg(not(target_arch = "x86_64"))]
        std::ptr::copy_nonoverlapping(line.0.as_ptr().cast(), dst, LINE);
    }
    done
}

/// Makes what went past the caches visible before anything that this thread stores from now on.
pub fn settle() {
    // SAFETY: a fence; every x86-64 processor has it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::x86_64::_mm_sfence()
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_length_and_alignment_is_copied_and_no_more() {
        let src: Vec<u8> = (0..700u32).map(|i| (i * 7 % 251 + 1) as u8).collect();
        for (offset, start) in (0..80).flat_map(|o| [(o, 0), (o, 3)]) {
            for bytes in [0, 1, 15, 16, 63, 64, 65, 127, 128, 200, 512] {
                let mut dst = vec![0u8; 700];
                // SAFETY: both vectors are long enough.
                unsafe { super::copy(src.as_ptr().add(start), dst.as_mut_ptr().add(offset), bytes) };
                super::settle();
                assert_eq!(dst[offset..offset + bytes], src[start..start + bytes]);
                assert!(dst[..offset].iter().chain(&dst[offset + bytes..]).all(|b| *b == 0));
            }
        }
    }
}
