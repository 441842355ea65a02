//! Moves elements of one type between any strides: as they are, with their bytes swapped, or with the unused upper bits set anew.

use super::run::Run;
use super::{DataType, Kind};

/// Whether a number's bytes have more bits than count.
pub(super) fn is_padded(data_type: DataType) -> bool {
    data_type.is_number() && data_type != DataType::Bool && data_type.bits() < data_type.swap_unit() as u32 * 8
}

/// Whether elements, or fields of them, are set anew even where their type stays: padded ones and bools, which are 0 or 1 in memory and
/// may be any byte in a file.
pub(super) fn is_set_anew(data_type: DataType) -> bool {
    match data_type {
        DataType::Bool => true,
        DataType::Struct(s) => s.fields().iter().any(|f| is_set_anew(f.element.data_type)),
        // The usual ones at once: this is asked for each call.
        DataType::Int32 | DataType::Int64 | DataType::Float32 | DataType::Float64 => false,
        other => is_padded(other),
    }
}

/// The byte of a padded type with its upper bits set anew.
#[inline(always)]
fn without_padding(unused: u32, signed: bool, byte: u8) -> u8 {
    if signed { ((byte << unused) as i8 >> unused) as u8 } else { byte << unused >> unused }
}

/// Sets the upper bits of n padded numbers anew.
///
/// # Safety
/// `n` bytes at `bytes` are readable and writable.
pub(super) unsafe fn clear_padding(data_type: DataType, bytes: *mut u8, n: usize) -> *const u8 {
    let (unused, signed) = (8 - data_type.bits(), data_type.kind() == Kind::Int);
    for i in 0..n {
        // SAFETY: i < n.
        unsafe { *bytes.add(i) = without_padding(unused, signed, *bytes.add(i)) };
    }
    bytes
}

/// Whether n bytes, integers of 8 bits, are numbers of a padded type.
///
/// # Safety
/// `n` bytes at `bytes` are readable.
pub(super) unsafe fn has_clear_padding(data_type: DataType, bytes: *const u8, n: usize) -> bool {
    let (unused, signed) = (8 - data_type.bits(), data_type.kind() == Kind::Int);
    (0..n).fold(true, |fits, i| {
        // SAFETY: i < n.
        let byte = unsafe { *bytes.add(i) };
        fits & (without_padding(unused, signed, byte) == byte)
    })
}

/// Moves elements of a padded type with the upper bits set anew, or bools as 0 or 1.
///
/// # Safety
/// As for [`relocate`].
pub(super) unsafe fn relocate_padded(data_type: DataType, run: Run) {
    let (unused, signed) = (8 - data_type.bits(), data_type.kind() == Kind::Int);
    let one = |byte| without_padding(unused, signed, byte);
    // SAFETY: the caller vouches for n elements on both sides, of one byte or two.
    unsafe {
        match data_type.size() {
            _ if data_type == DataType::Bool => strided::<u8>(run, |byte| u8::from(byte != 0)),
            1 => strided::<u8>(run, one),
            _ => strided::<[u8; 2]>(run, |pair| pair.map(one)),
        }
    }
}

/// Moves elements of one type between any strides, swapping their bytes on the way if `swap`.
///
/// # Safety
/// As for [`Transfer::run`](super::transfer::Transfer::run), with the same type on both sides.
pub(super) unsafe fn relocate(data_type: DataType, swap: bool, run: Run) {
    let size = data_type.size();
    let contiguous = run.src_stride == size as isize && run.dst_stride == run.src_stride;
    if !swap && contiguous {
        // SAFETY: the caller vouches for n elements on both sides.
        return unsafe { std::ptr::copy_nonoverlapping(run.src, run.dst, run.n * size) };
    }
    if matches!(data_type.kind(), Kind::Opaque | Kind::Struct) {
        let unit = if swap { data_type.swap_unit() } else { 1 };
        for i in 0..run.n {
            // SAFETY: the caller vouches for element i on both sides.
            unsafe { relocate_units(unit, run.src_at(i), run.dst_at(i), size) };
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if swap && run.n > 32 && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as for this function; the processor has the instructions.
        return unsafe { relocate_avx2(data_type, swap, run) };
    }
    // SAFETY: as for this function.
    unsafe { relocate_by_size(data_type, swap, run) }
}

/// Moves one element of `size` bytes, turning around the bytes of each unit.
///
/// # Safety
/// `size` bytes are readable at `src` and writable at `dst`, elsewhere.
unsafe fn relocate_units(unit: usize, src: *const u8, dst: *mut u8, size: usize) {
    // SAFETY: the caller vouches for both; the bytes are copied before a slice of them is made.
    let bytes = unsafe {
        std::ptr::copy_nonoverlapping(src, dst, size);
        std::slice::from_raw_parts_mut(dst, size)
    };
    if unit > 1 {
        bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
    }
}

/// [`relocate`] with shuffles of bytes, which the oldest processors of the architecture lack.
///
/// # Safety
/// As for [`relocate`], and the processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn relocate_avx2(data_type: DataType, swap: bool, run: Run) {
    // SAFETY: as for this function.
    unsafe { relocate_by_size(data_type, swap, run) }
}

/// [`relocate`] of numbers, by their size.
///
/// # Safety
/// As for [`relocate`].
#[inline(always)]
unsafe fn relocate_by_size(data_type: DataType, swap: bool, run: Run) {
    // SAFETY: the caller vouches for n elements of this size on both sides, which is what each arm moves.
    unsafe {
        match (data_type.size(), if swap { data_type.swap_unit() } else { 1 }) {
            (1, _) => strided::<u8>(run, |v| v),
            (2, 1) => strided::<u16>(run, |v| v),
            (2, _) => strided::<u16>(run, |v| v.swap_bytes()),
            (4, 1) => strided::<u32>(run, |v| v),
            (4, 2) => strided::<[u16; 2]>(run, |[re, im]| [re.swap_bytes(), im.swap_bytes()]),
            (4, _) => strided::<u32>(run, |v| v.swap_bytes()),
            (8, 1) => strided::<u64>(run, |v| v),
            (8, 4) => strided::<[u32; 2]>(run, |[re, im]| [re.swap_bytes(), im.swap_bytes()]),
            (8, _) => strided::<u64>(run, |v| v.swap_bytes()),
            (_, 1) => strided::<[u64; 2]>(run, |v| v),
            _ => strided::<[u64; 2]>(run, |[re, im]| [re.swap_bytes(), im.swap_bytes()]),
        }
    }
}

/// Moves n values through `f`; contiguous ones in a loop that the compiler vectorises.
///
/// # Safety
/// As for [`relocate`].
#[inline(always)]
unsafe fn strided<T: Copy>(run: Run, f: impl Fn(T) -> T) {
    let Run { src, src_stride, dst, dst_stride, n } = run;
    let size = size_of::<T>() as isize;
    if src_stride == size && dst_stride == size {
        for i in 0..n {
            // SAFETY: i < n; both sides are contiguous.
            unsafe { dst.cast::<T>().add(i).write_unaligned(f(src.cast::<T>().add(i).read_unaligned())) };
        }
    } else {
        let (mut s, mut d) = (src, dst);
        for _ in 0..n {
            // SAFETY: the caller vouches for these places.
            unsafe { d.cast::<T>().write_unaligned(f(s.cast::<T>().read_unaligned())) };
            (s, d) = (s.wrapping_offset(src_stride), d.wrapping_offset(dst_stride));
        }
    }
}
