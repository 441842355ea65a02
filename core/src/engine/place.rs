//! The one copy: strided elements from one place to another, converted on the way; and filling with one element.
//!
//! Axes are first brought into the simplest form: those of length 1 dropped, negative destinations turned around, sorted by the
//! destination's stride, merged where both sides are contiguous across them. What remains is rows (one call for each), or a
//! transpose, which goes in tiles so that both sides stay within a few cache lines.

pub use super::place_axes::{PlaceAxes, PlaceAxis};
use super::place_axes::{Simplified, each};
use super::stats::{self, Counter};
use super::transpose::{copy_row, transpose, transposed_axis};
use crate::dtype::run::Run;
use crate::dtype::stream;
use crate::dtype::transfer::Transfer;
use crate::error::Error;
use crate::per_thread::{self, PerThread};
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ops::{BitOr, BitXor};

/// Rows of a tile of a transpose with a conversion.
const TILE: u64 = 16;
/// The elements of each of them.
const STRIP: u64 = 64;
/// The bytes of a tile of the largest elements.
const TURNED: usize = TILE as usize * STRIP as usize * 16;

thread_local! {
    /// Room for a tile, beside the stack, of which a conversion takes a good part.
    static TILE_ROOM: PerThread<Vec<u8>> = const { PerThread::new(Vec::new()) };
}

/// Bytes of the row that a fill copies: many lines, and little of the first-level cache.
const FILL_ROW: usize = 1024;

/// Bytes of a row from which on it pays to write its lines past the caches.
const STREAM_ROW: usize = 256;

/// An element that does not fit its new type.
#[derive(Debug)]
pub struct Misfit {
    /// Where it was read.
    pub src: *const u8,
    /// Where it would have been stored.
    pub dst: *const u8,
    /// What it is, and why it does not fit.
    error: Error,
}

impl Misfit {
    /// Returns the error about the element, at that distance in bytes from the region's first one in memory.
    pub fn at(self, memory: isize) -> Error {
        self.error.at_element(memory as i64)
    }
}

/// Copies elements from `src` to `dst`; stops at one that does not fit its new type.
///
/// # Safety
/// Both pointers are those of the first element; every element that the axes reach is valid to read or write; the two sides
/// do not overlap.
pub unsafe fn place(
    src: *const u8,
    dst: *mut u8,
    axes: impl Iterator<Item = PlaceAxis>,
    transfer: &Transfer,
) -> std::result::Result<(), Misfit> {
    let Some(copy) = Simplified::new(axes) else { return Ok(()) };
    // SAFETY: turning axes around moves the first element to another element of the same copy.
    unsafe { copy.run(src.offset(copy.src), dst.offset(copy.dst), transfer) }
}

impl Simplified {
    /// # Safety
    /// As [`place`], from the first elements that the axes begin at.
    unsafe fn run(&self, src: *const u8, dst: *mut u8, transfer: &Transfer) -> std::result::Result<(), Misfit> {
        if let Some(size) = transfer.plain_copy() {
            stats::count(Counter::CopiedBytes, self.elements() * size as u64);
            // SAFETY: forwarded from the caller.
            unsafe { copy_plain(src, dst, &self.axes, size, transfer.streams()) };
            transfer.settle();
            return Ok(());
        }
        // SAFETY: forwarded from the caller.
        let result = unsafe { convert(src, dst, &self.axes, transfer) };
        transfer.settle();
        result.map_err(|(src, dst)| {
            // SAFETY: an element of the copy.
            let error = unsafe { transfer.range_error(src) };
            Misfit { src, dst, error }
        })
    }
}

/// [`place`] for elements along one axis, without [`Transfer::settle`]: for many short runs one after the other.
///
/// # Safety
/// As [`place`].
pub unsafe fn place_run(src: *const u8, dst: *mut u8, axis: PlaceAxis, transfer: &Transfer) -> std::result::Result<(), Misfit> {
    if let Some(size) = transfer.plain_copy() {
        // SAFETY: forwarded from the caller.
        unsafe { copy_plain(src, dst, if axis.count == 1 { &[] } else { std::slice::from_ref(&axis) }, size, false) };
        return Ok(());
    }
    // SAFETY: forwarded from the caller.
    unsafe { transfer.run(axis.run(src, dst)) }.map_err(|i| {
        let at = |p: *const u8, stride: i64| p.wrapping_offset(i as isize * stride as isize);
        let (src, dst) = (at(src, axis.src), at(dst, axis.dst));
        // SAFETY: an element of the run.
        let error = unsafe { transfer.range_error(src) };
        Misfit { src, dst, error }
    })
}

/// Stores `element` at every place that the axes' destination strides reach, past the caches where `streams`. That is a copy from a row
/// of such elements, over and over.
///
/// # Safety
/// `dst` is the first element; every element that the axes reach is valid to write.
pub unsafe fn fill(dst: *mut u8, axes: impl Iterator<Item = PlaceAxis>, element: &[u8], streams: bool) {
    let Some(copy) = Simplified::new(axes.map(|a| PlaceAxis { src: a.dst, ..a })) else { return };
    let (size, moved) = (element.len(), copy.dst);
    let (inner, mut axes) = copy.split_inner(size);
    axes.iter_mut().for_each(|a| a.src = 0);
    let mut row = MaybeUninit::<[u8; FILL_ROW]>::uninit();
    let row: *mut u8 = row.as_mut_ptr().cast();
    // SAFETY: as in `place`, for the destination. The row has `len` elements; an axis that is not dense reads its first one only.
    unsafe {
        let dst = dst.offset(moved);
        if inner.dst != size as i64 || 2 * size > FILL_ROW {
            axes.push(PlaceAxis { src: 0, ..inner });
            copy_plain(element.as_ptr(), dst, &axes, size, false);
        } else {
            let len = inner.count.min((FILL_ROW / size) as u64);
            repeat(element, row, len as usize);
            let (whole, rest) = (inner.count / len, inner.count % len);
            let dense = |count| PlaceAxis { count, src: size as i64, dst: size as i64 };
            let mut rows = axes.clone();
            rows.extend([PlaceAxis { count: whole, src: 0, dst: len as i64 * size as i64 }, dense(len)]);
            copy_plain(row, dst, &rows, size, streams);
            if rest > 0 {
                axes.push(dense(rest));
                copy_plain(row, dst.add((whole * len) as usize * size), &axes, size, streams);
            }
        }
    }
    if streams {
        stream::settle();
    }
}

/// Makes a row of `count` elements (at least one).
///
/// # Safety
/// There is room for `count` elements at `row`.
unsafe fn repeat(element: &[u8], row: *mut u8, count: usize) {
    let (mut made, bytes) = (element.len(), count * element.len());
    // SAFETY: within the row; the copied bytes come before their place.
    unsafe {
        std::ptr::copy_nonoverlapping(element.as_ptr(), row, made);
        while made < bytes {
            let more = made.min(bytes - made);
            std::ptr::copy_nonoverlapping(row, row.add(made), more);
            made += more;
        }
    }
}

/// Returns whether every element that the axes' source strides reach has the bits of `element`. Usually the first ones tell.
///
/// # Safety
/// `src` is the first element; every element that the axes reach is valid to read.
pub unsafe fn is_all(src: *const u8, axes: impl Iterator<Item = PlaceAxis>, element: &[u8]) -> bool {
    // What is repeated along an axis is looked at once.
    let count = |a: PlaceAxis| if a.src == 0 { a.count.min(1) } else { a.count };
    let Some(copy) = Simplified::new(axes.map(|a| PlaceAxis { count: count(a), src: a.src, dst: a.src })) else { return true };
    let moved = copy.src;
    let (inner, outer) = copy.split_inner(element.len());
    macro_rules! row {
        ($t:ty) => {{
            // SAFETY: `element` has the size of `$t`.
            let value = unsafe { element.as_ptr().cast::<$t>().read_unaligned() };
            // SAFETY: forwarded.
            unsafe { each(&outer, src.offset(moved), std::ptr::null_mut(), &mut |src, _| row_is_all(src, inner, value)) }
        }};
    }
    match element.len() {
        1 => row!(u8),
        2 => row!(u16),
        4 => row!(u32),
        8 => row!(u64),
        16 => row!(u128),
        // SAFETY: forwarded.
        size => unsafe {
            each(&outer, src.offset(moved), std::ptr::null_mut(), &mut |src, _| {
                (0..inner.count as isize).all(|i| std::slice::from_raw_parts(src.offset(i * inner.src as isize), size) == element)
            })
        },
    }
}

/// Returns whether all elements of a row have that value. In pieces of one length without a branch at each element, so that the compiler
/// compares vectors.
///
/// # Safety
/// The row is valid to read.
unsafe fn row_is_all<T>(src: *const u8, row: PlaceAxis, value: T) -> bool
where
    T: Copy + PartialEq + Default + BitXor<Output = T> + BitOr<Output = T>,
{
    const PIECE: usize = 64;
    let (count, stride) = (row.count as usize, row.src as isize);
    let dense = if stride == size_of::<T>() as isize { count / PIECE * PIECE } else { 0 };
    // SAFETY: element `i` of the row.
    let differs = |i: usize, stride: isize| unsafe { src.offset(i as isize * stride).cast::<T>().read_unaligned() ^ value };
    let piece = |at: usize| (at..at + PIECE).fold(T::default(), |any, i| any | differs(i, size_of::<T>() as isize)) == T::default();
    (0..dense).step_by(PIECE).all(piece) && (dense..count).all(|i| differs(i, stride) == T::default())
}

/// # Safety
/// As [`place`], both sides of `size` bytes an element.
unsafe fn copy_plain(src: *const u8, dst: *mut u8, axes: &[PlaceAxis], size: usize, streams: bool) {
    match size {
        // SAFETY: forwarded from the caller; reads and writes are unaligned ones.
        1 => unsafe { copy_as::<u8>(src, dst, axes, streams) },
        // SAFETY: as above.
        2 => unsafe { copy_as::<u16>(src, dst, axes, streams) },
        // SAFETY: as above.
        4 => unsafe { copy_as::<u32>(src, dst, axes, streams) },
        // SAFETY: as above.
        8 => unsafe { copy_as::<u64>(src, dst, axes, streams) },
        // SAFETY: as above.
        16 => unsafe { copy_as::<u128>(src, dst, axes, streams) },
        // SAFETY: as above.
        _ => unsafe { copy_blocks(src, dst, axes, size) },
    }
}

/// Elements of an odd size: rows where both sides are contiguous, else one by one.
///
/// # Safety
/// As [`copy_plain`].
unsafe fn copy_blocks(src: *const u8, dst: *mut u8, axes: &[PlaceAxis], size: usize) {
    let (outer, bytes) = match axes.split_last() {
        Some((inner, outer)) if inner.src == size as i64 && inner.dst == size as i64 => (outer, inner.count as usize * size),
        _ => (axes, size),
    };
    // SAFETY: forwarded from the caller.
    unsafe {
        each(outer, src, dst, &mut |src, dst| {
            std::ptr::copy_nonoverlapping(src, dst, bytes);
            true
        })
    };
}

/// # Safety
/// As [`copy_plain`], with `T` as wide as an element.
unsafe fn copy_as<T: Copy>(src: *const u8, dst: *mut u8, axes: &[PlaceAxis], streams: bool) {
    let size = size_of::<T>() as i64;
    let Some((&inner, outer)) = axes.split_last() else {
        // SAFETY: one element, valid on both sides.
        unsafe { dst.cast::<T>().write_unaligned(src.cast::<T>().read_unaligned()) };
        return;
    };
    if inner.src == size && inner.dst == size {
        let bytes = inner.count as usize * size as usize;
        // SAFETY: the row is contiguous on both sides.
        unsafe {
            if streams && bytes >= STREAM_ROW {
                let next = outer.last().map_or(0, |axis| axis.dst as isize);
                each(outer, src, dst, &mut |src, dst| {
                    stream::prepare(dst.wrapping_offset(next), bytes);
                    stream::copy(src, dst, bytes);
                    true
                })
            } else if bytes == 64 {
                copy_rows::<64>(outer, src, dst)
            } else if bytes == 32 {
                copy_rows::<32>(outer, src, dst)
            } else if bytes == 128 {
                copy_rows::<128>(outer, src, dst)
            } else {
                each(outer, src, dst, &mut |src, dst| {
                    std::ptr::copy_nonoverlapping(src, dst, bytes);
                    true
                })
            }
        };
    } else if let Some(t) = transposed_axis(outer, inner, size) {
        let across = outer[t];
        let rest: PlaceAxes = outer.iter().enumerate().filter(|(i, _)| *i != t).map(|(_, a)| *a).collect();
        // SAFETY: `rest`, `across` and `inner` together are the axes.
        unsafe {
            each(&rest, src, dst, &mut |src, dst| {
                transpose::<T>(src, dst, across, inner);
                true
            })
        };
    } else {
        // SAFETY: forwarded.
        unsafe {
            each(outer, src, dst, &mut |src, dst| {
                copy_row::<T>(src, dst, inner);
                true
            })
        };
    }
}

/// Copies rows of a fixed number of bytes, in line: calling `memcpy` for them costs more than the copy.
///
/// # Safety
/// As [`copy_plain`], for the axes outside of the rows.
unsafe fn copy_rows<const N: usize>(outer: &[PlaceAxis], src: *const u8, dst: *mut u8) -> bool {
    // SAFETY: forwarded; a row is contiguous on both sides.
    unsafe {
        each(outer, src, dst, &mut |src, dst| {
            dst.cast::<[u8; N]>().write_unaligned(src.cast::<[u8; N]>().read_unaligned());
            true
        })
    }
}

/// Rows of elements that are converted, and the first element that did not fit: where it was read, and where it would have been stored.
struct Rows<'a> {
    transfer: &'a Transfer,
    misfit: Cell<Option<(*const u8, *const u8)>>,
}

impl Rows<'_> {
    /// Converts a row from `src`, whose elements have been brought to `now` with the distance `stride`. Returns false if one does not fit.
    ///
    /// # Safety
    /// The row is one of the copy, and `now` has its elements.
    unsafe fn run(&self, src: *const u8, now: *const u8, stride: i64, dst: *mut u8, axis: PlaceAxis) -> bool {
        // SAFETY: forwarded.
        match unsafe { self.transfer.run(Run { src_stride: stride as isize, ..axis.run(now, dst) }) } {
            Ok(()) => true,
            Err(i) => {
                let at = |p: *const u8, stride: i64| p.wrapping_offset(i as isize * stride as isize);
                self.misfit.set(Some((at(src, axis.src), at(dst, axis.dst))));
                false
            }
        }
    }
}

/// Converts row by row, in tiles where the source is transposed.
///
/// # Safety
/// As [`place`].
unsafe fn convert(
    src: *const u8,
    dst: *mut u8,
    axes: &[PlaceAxis],
    transfer: &Transfer,
) -> std::result::Result<(), (*const u8, *const u8)> {
    let one = [PlaceAxis { count: 1, src: 0, dst: 0 }];
    let axes = if axes.is_empty() { &one } else { axes };
    let Some((&inner, outer)) = axes.split_last() else { return Ok(()) };
    let rows = Rows { transfer, misfit: Cell::new(None) };
    match transposed_axis(outer, inner, 16) {
        Some(t) => per_thread::with(&TILE_ROOM, |room| {
            room.reserve(TURNED);
            // SAFETY: forwarded; the room has as many bytes.
            unsafe { convert_in_tiles(src, dst, outer, t, inner, &rows, room.as_mut_ptr()) }
        }),
        None => {
            let size = transfer.to().size();
            let next = outer.last().filter(|_| transfer.streams() && inner.dst == size as i64).map(|axis| axis.dst as isize);
            let mut row = |src: *const u8, dst: *mut u8| {
                if let Some(next) = next {
                    stream::prepare(dst.wrapping_offset(next), inner.count as usize * size);
                }
                // SAFETY: a row of the copy.
                unsafe { rows.run(src, src, inner.src, dst, inner) }
            };
            // SAFETY: forwarded.
            unsafe { each(outer, src, dst, &mut row) };
        }
    }
    rows.misfit.get().map_or(Ok(()), Err)
}

/// Converts rows of which the source is denser along `outer[t]`: a tile is turned around in memory of its own, so that its rows are converted
/// as contiguous ones.
///
/// # Safety
/// As [`place`]; [`TURNED`] bytes are writable at `turned`.
unsafe fn convert_in_tiles(
    src: *const u8,
    dst: *mut u8,
    outer: &[PlaceAxis],
    t: usize,
    inner: PlaceAxis,
    rows: &Rows<'_>,
    turned: *mut u8,
) {
    let across = outer[t];
    let rest: PlaceAxes = outer.iter().enumerate().filter(|(i, _)| *i != t).map(|(_, a)| *a).collect();
    let size = rows.transfer.from().size();
    let turns = size.is_power_of_two() && size <= 16;
    let mut strip = |src: *const u8, dst: *mut u8| {
        (0..across.count).step_by(TILE as usize).all(|a| {
            (0..inner.count).step_by(STRIP as usize).all(|b| {
                let (an, bn) = (TILE.min(across.count - a), STRIP.min(inner.count - b));
                let from = src.wrapping_offset(a as isize * across.src as isize + b as isize * inner.src as isize);
                let to = dst.wrapping_offset(a as isize * across.dst as isize + b as isize * inner.dst as isize);
                if turns {
                    let there = [
                        PlaceAxis { count: an, src: across.src, dst: (STRIP as usize * size) as i64 },
                        PlaceAxis { count: bn, src: inner.src, dst: size as i64 },
                    ];
                    // SAFETY: a tile of the copy; the memory holds as many elements.
                    unsafe { copy_plain(from, turned, &there, size, false) };
                }
                (0..an as isize).all(|i| {
                    let (from, to) = (from.wrapping_offset(i * across.src as isize), to.wrapping_offset(i * across.dst as isize));
                    let row = PlaceAxis { count: bn, ..inner };
                    let line = turned.wrapping_add(i as usize * STRIP as usize * size);
                    let (now, stride) = if turns { (line.cast_const(), size as i64) } else { (from, inner.src) };
                    // SAFETY: a row of the copy.
                    unsafe { rows.run(from, now, stride, to, row) }
                })
            })
        })
    };
    // SAFETY: forwarded.
    unsafe { each(&rest, src, dst, &mut strip) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::{ByteOrder, DataType, ElementType};

    /// Every layout of a small block against the loop that says what it means.
    #[test]
    fn every_permutation_and_sign_of_strides_copies_every_element() {
        // More than a whole tile of elements of every size, and a rest.
        let counts = [2u64, 66, 70];
        let orders = [[0usize, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        let types = [DataType::UInt8, DataType::UInt16, DataType::Float32, DataType::Float64, DataType::Complex128];
        for case in (0..types.len() * 6 * 6 * 16 * 2).step_by(crate::settings::apart(23)) {
            let (order, rest) = ([ByteOrder::Little, ByteOrder::Big][case % 2], case / 2);
            let (flips, rest) = ((rest % 16) as u32, rest / 16);
            check(types[rest / 36], order, counts, orders[rest % 6], orders[rest / 6 % 6], flips);
        }
    }

    fn strides(counts: [u64; 3], order: [usize; 3], size: i64, gap: i64) -> [i64; 3] {
        let mut s = [0; 3];
        let mut step = size * gap;
        for d in order {
            s[d] = step;
            step *= counts[d] as i64;
        }
        s
    }

    fn check(data_type: DataType, order: ByteOrder, counts: [u64; 3], src_order: [usize; 3], dst_order: [usize; 3], flips: u32) {
        let size = data_type.size() as i64;
        let mut ss = strides(counts, src_order, size, 1 + (flips as i64 & 1));
        let mut ds = strides(counts, dst_order, size, 1);
        let total = counts.iter().product::<u64>() as usize * size as usize;
        let src: Vec<u8> = (0..total * 2).map(|i| (i * 7 + i / 251) as u8).collect();
        let mut dst = vec![0u8; total];
        let mut want = dst.clone();
        let (mut s0, mut d0) = (0i64, 0i64);
        for d in 0..3 {
            if flips & 2 << d != 0 && d < 2 {
                s0 += (counts[d] as i64 - 1) * ss[d];
                ss[d] = -ss[d];
            }
            if flips & 8 != 0 && d == 1 {
                d0 += (counts[d] as i64 - 1) * ds[d];
                ds[d] = -ds[d];
            }
        }
        let unit = if order == ByteOrder::Big { data_type.swap_unit() } else { 1 };
        for (i, j, k) in (0..counts[0]).flat_map(|i| (0..counts[1]).flat_map(move |j| (0..counts[2]).map(move |k| (i, j, k)))) {
            let at = |o: i64, s: [i64; 3]| (o + s[0] * i as i64 + s[1] * j as i64 + s[2] * k as i64) as usize;
            let (s, d) = (at(s0, ss), at(d0, ds));
            for b in 0..size as usize {
                want[d + b] = src[s + b / unit * unit + (unit - 1 - b % unit)];
            }
        }
        let axes: PlaceAxes = (0..3).map(|d| PlaceAxis { count: counts[d], src: ss[d], dst: ds[d] }).collect();
        let transfer = Transfer::new(ElementType::new(data_type, order), ElementType::native(data_type)).unwrap();
        // SAFETY: the strides were made for these buffers.
        unsafe { place(src.as_ptr().offset(s0 as isize), dst.as_mut_ptr().offset(d0 as isize), axes.iter().copied(), &transfer).unwrap() };
        assert!(dst == want, "{data_type:?} {order:?} {src_order:?} {dst_order:?} {flips}");
    }

    #[test]
    fn fill_reaches_every_element_and_no_other() {
        let few = [[80i64, 8], [4, 12], [-16, 4]].map(|strides| (strides, [3, 4]));
        // Rows that are longer than the row which is copied, with a rest, apart and as one.
        let many = [([3 * 1400, 4], [3, 1030]), ([4 * 1030, 4], [3, 1030]), ([4, 16], [3, 1000])];
        for ((strides, counts), streams) in few.into_iter().chain(many).flat_map(|case| [(case, false), (case, true)]) {
            for element in [vec![1u8, 2, 3, 4], vec![9; 4], vec![1, 2], vec![7], vec![1, 2, 3]] {
                let strides = strides.map(|s| s / 4 * element.len() as i64);
                let mut dst = vec![0xAAu8; 17_000];
                let mut want = dst.clone();
                let origin = if strides[0] < 0 { 64 } else { 0 };
                for (i, j) in (0..counts[0]).flat_map(|i| (0..counts[1]).map(move |j| (i, j))) {
                    let at = (origin + i * strides[0] + j * strides[1]) as usize;
                    want[at..at + element.len()].copy_from_slice(&element);
                }
                let axes = [0, 1].map(|d| PlaceAxis { count: counts[d] as u64, src: 0, dst: strides[d] });
                // SAFETY: the strides stay within the buffer.
                unsafe { fill(dst.as_mut_ptr().offset(origin as isize), axes.iter().copied(), &element, streams) };
                assert_eq!(dst, want, "{strides:?} {element:?}");
            }
        }
    }

    #[test]
    fn one_element_that_differs_is_seen_wherever_it_is() {
        for (strides, counts) in [
            ([80i64, 4], [3i64, 10]),
            ([4, 12], [3, 4]),
            ([-320, 4], [3, 70]),
            ([8, 80], [1, 10]),
            ([0, 4], [1 << 50, 5]),
            ([0, 0], [1 << 40, 5]),
        ] {
            for size in [1, 2, 3, 4, 8, 16] {
                let (strides, element) = (strides.map(|s| s / 4 * size as i64), vec![5u8; size]);
                let origin = if strides[0] < 0 { -2 * strides[0] } else { 0 };
                let axes = [0, 1].map(|d| PlaceAxis { count: counts[d] as u64, src: strides[d], dst: 0 });
                let mut src = vec![9u8; 8000];
                let places: Vec<usize> = (0..counts[0].min(3))
                    .flat_map(|i| (0..counts[1].min(70)).map(move |j| (origin + i * strides[0] + j * strides[1]) as usize))
                    .collect();
                places.iter().for_each(|&at| src[at..at + size].copy_from_slice(&element));
                // SAFETY: the strides stay within the buffer.
                let same = |src: &[u8]| unsafe { is_all(src.as_ptr().offset(origin as isize), axes.iter().copied(), &element) };
                assert!(same(&src));
                for at in places {
                    src[at + size - 1] = 6;
                    assert!(!same(&src), "{strides:?} {size} {at}");
                    src[at + size - 1] = 5;
                }
            }
        }
    }

    #[test]
    fn zeros_of_the_other_sign_are_not_the_fill_value() {
        fn all_are<const N: usize>(value: [u8; N], fill: [u8; N]) -> bool {
            let row = [value; 100];
            // SAFETY: the axis is the row.
            unsafe { is_all(row.as_ptr().cast(), [PlaceAxis { count: 100, src: N as i64, dst: 0 }].into_iter(), &fill) }
        }
        for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
            assert!(!all_are(f64::to_ne_bytes(a), f64::to_ne_bytes(b)) && all_are(f64::to_ne_bytes(a), f64::to_ne_bytes(a)));
            assert!(!all_are((a as f32).to_ne_bytes(), (b as f32).to_ne_bytes()));
        }
        assert!(all_are(f64::NAN.to_ne_bytes(), f64::NAN.to_ne_bytes()), "one NaN is the same as itself");
    }

    #[test]
    fn a_block_that_is_contiguous_on_both_sides_merges_to_one_row() {
        let axes =
            [PlaceAxis { count: 3, src: 96, dst: 96 }, PlaceAxis { count: 4, src: 24, dst: 24 }, PlaceAxis { count: 3, src: 8, dst: 8 }];
        let s = Simplified::new(axes.into_iter()).unwrap();
        assert_eq!(s.axes.as_slice(), &[PlaceAxis { count: 36, src: 8, dst: 8 }]);
    }
}
