//! The loops that convert contiguous native numbers of one type to another, and note whether one of them does not fit.
//!
//! A bool comes as 0 or 1, a padded integer with its upper bits set, a floating-point number narrower than binary32 as binary32, a
//! complex number as its two parts. The functions at the end bring elements to these forms and back.

use super::narrow::{odd, odd_integer, odd_normal, odd_unsigned};
use super::relocate::is_padded;
use super::{DataType, ElementType, Kind, stream};
use half::f16;
use half::slice::HalfFloatSliceExt;

/// Converts n contiguous, native numbers (alignment is of no matter); true if one of them does not fit.
pub(super) type Loop = unsafe fn(*const u8, *mut u8, usize) -> bool;

/// The loops for the numbers of two types.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pub plain: Loop,
    /// Stores whole lines past the caches. For results of binary32 and binary64 only: those are what programs calculate with. Others go
    /// through a block in memory, so that there are fewer of these loops.
    pub past: Option<Loop>,
}

/// The stand-in for a binary16: a binary32 that is rounded to it by [`singles_to_halves`].
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Half(f32);

/// The stand-in for formats narrower than binary32: a binary32 that rounding to them does not round a second time.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct RoundedToOdd(f32);

/// A bool: 0 or 1.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

/// A number as another type, and whether it does not fit. Without branches, so that loops of it vectorise.
trait Convert<D>: Copy {
    fn convert(self) -> (D, bool);
}

macro_rules! int_to_int {
    ($($s:ty)*) => { $( int_to_int!(@ $s: i8 i16 i32 i64 u8 u16 u32 u64); )* };
    (@ $s:ty: $($d:ty)*) => { $(
        impl Convert<$d> for $s {
            #[inline(always)]
            fn convert(self) -> ($d, bool) {
                const LOW: $s = if (<$s>::MIN as i128) < (<$d>::MIN as i128) { <$d>::MIN as $s } else { <$s>::MIN };
                const HIGH: $s = if (<$s>::MAX as i128) > (<$d>::MAX as i128) { <$d>::MAX as $s } else { <$s>::MAX };
                #[allow(clippy::manual_range_contains)]
                (self as $d, (self < LOW) | (self > HIGH))
            }
        }
    )* };
}

int_to_int!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! int_and_float {
    ($($i:ty)*) => { $(
        impl Convert<f32> for $i {
            #[inline(always)]
            fn convert(self) -> (f32, bool) {
                (self as f32, false)
            }
        }
        impl Convert<f64> for $i {
            #[inline(always)]
            fn convert(self) -> (f64, bool) {
                (self as f64, false)
            }
        }
        // Integers that binary32 rounds are beyond binary16's range anyway.
        impl Convert<Half> for $i {
            #[inline(always)]
            fn convert(self) -> (Half, bool) {
                (Half(self as f32), false)
            }
        }
        int_and_float!(@ f32 $i);
        int_and_float!(@ f64 $i);
    )* };
    (@ $f:ident $i:ty) => {
        impl Convert<$i> for $f {
            #[inline(always)]
            fn convert(self) -> ($i, bool) {
                // The numbers strictly between these two have their whole part in range.
                const LOW: $f = if ((<$i>::MIN as i128 - 1) as $f) as i128 == <$i>::MIN as i128 - 1 {
                    (<$i>::MIN as i128 - 1) as $f
                } else {
                    (<$i>::MIN as $f).next_down()
                };
                const HIGH: $f = (<$i>::MAX as i128 + 1) as $f;
                let fits = (self > LOW) & (self < HIGH);
                let number = if fits { self } else { 0.0 };
                // SAFETY: the number is finite and its whole part is in range.
                (unsafe { number.to_int_unchecked::<$i>() }, !fits)
            }
        }
    };
}

int_and_float!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! to_odd {
    ($($s:ty: $wide:expr;)*) => { $(
        impl Convert<RoundedToOdd> for $s {
            #[inline(always)]
            fn convert(self) -> (RoundedToOdd, bool) {
                let wide: fn($s) -> f64 = $wide;
                let single = odd(wide(self));
                (RoundedToOdd(single), (single.abs() == f32::INFINITY) & (wide(self).abs() < f64::INFINITY))
            }
        }
    )* };
    (exact $($s:ty)*) => { $(
        impl Convert<RoundedToOdd> for $s {
            #[inline(always)]
            fn convert(self) -> (RoundedToOdd, bool) {
                (RoundedToOdd(f32::from(self)), false)
            }
        }
    )* };
}

to_odd!(exact i8 i16 u8 u16 f32);
to_odd! {
    i32: f64::from;
    u32: f64::from;
    i64: odd_integer;
    u64: odd_unsigned;
    f64: |x| x;
}

macro_rules! to_truth {
    ($($s:ty)*) => { $(
        impl Convert<Truth> for $s {
            #[inline(always)]
            fn convert(self) -> (Truth, bool) {
                let one = self == 1 as $s;
                (Truth(u8::from(one)), !(one | (self == 0 as $s)))
            }
        }
    )* };
}

to_truth!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

impl Convert<f32> for f32 {
    #[inline(always)]
    fn convert(self) -> (f32, bool) {
        (self, false)
    }
}

impl Convert<f64> for f32 {
    #[inline(always)]
    fn convert(self) -> (f64, bool) {
        (f64::from(self), false)
    }
}

impl Convert<Half> for f32 {
    #[inline(always)]
    fn convert(self) -> (Half, bool) {
        (Half(self), false)
    }
}

impl Convert<f32> for f64 {
    #[inline(always)]
    fn convert(self) -> (f32, bool) {
        let single = self as f32;
        (single, (single.abs() == f32::INFINITY) & (self.abs() < f64::INFINITY))
    }
}

impl Convert<f64> for f64 {
    #[inline(always)]
    fn convert(self) -> (f64, bool) {
        (self, false)
    }
}

impl Convert<Half> for f64 {
    #[inline(always)]
    fn convert(self) -> (Half, bool) {
        let single = odd_normal(self);
        (Half(single), (single.abs() == f32::INFINITY) & (self.abs() < f64::INFINITY))
    }
}

/// # Safety
/// See [`Loop`]: n readable S at `src`, room for n D at `dst`, without overlap.
#[inline(always)]
unsafe fn apply<S: Convert<D>, D>(src: *const u8, dst: *mut u8, n: usize) -> bool {
    let mut bad = false;
    for i in 0..n {
        // SAFETY: i < n.
        let (value, unfit) = unsafe { src.cast::<S>().add(i).read_unaligned() }.convert();
        // SAFETY: i < n.
        unsafe { dst.cast::<D>().add(i).write_unaligned(value) };
        bad |= unfit;
    }
    bad
}

/// # Safety
/// As for [`apply`].
unsafe fn apply_plain<S: Convert<D>, D>(src: *const u8, dst: *mut u8, n: usize) -> bool {
    // SAFETY: forwarded from the caller.
    unsafe { apply::<S, D>(src, dst, n) }
}

/// [`apply`], with whole lines that go from the registers past the caches.
///
/// # Safety
/// As for [`apply`].
unsafe fn apply_past<S: Convert<D>, D>(src: *const u8, dst: *mut u8, n: usize) -> bool {
    let (from, to) = (size_of::<S>(), size_of::<D>());
    let head = dst.align_offset(stream::LINE);
    if !head.is_multiple_of(to) {
        // SAFETY: forwarded from the caller.
        return unsafe { apply_plain::<S, D>(src, dst, n) };
    }
    let head = (head / to).min(n);
    let a_line = stream::LINE / to;
    // SAFETY: the first of the elements.
    let mut bad = unsafe { apply_plain::<S, D>(src, dst, head) };
    let mut first = head;
    while n - first >= a_line {
        // SAFETY: elements first..first + a_line; their places make up a line, which begins at `dst + first * to`.
        unsafe {
            bad |= stream::line(dst.add(first * to), |line| apply::<S, D>(src.add(first * from), line, a_line));
        }
        first += a_line;
    }
    // SAFETY: the last of the elements.
    bad | unsafe { apply_plain::<S, D>(src.add(first * from), dst.add(first * to), n - first) }
}

/// The loops from one number to another.
const fn pair<S: Convert<D>, D>() -> Kernel {
    Kernel { plain: apply_plain::<S, D>, past: None }
}

/// [`pair`] with a loop past the caches.
const fn pair_past<S: Convert<D>, D>() -> Kernel {
    Kernel { plain: apply_plain::<S, D>, past: Some(apply_past::<S, D>) }
}

/// The kernel for the numbers of two types.
pub(super) fn kernel(from: DataType, to: DataType) -> Kernel {
    use DataType::*;
    match from {
        Bool | UInt8 | UInt2 | UInt4 => kernel_from::<u8>(to),
        Int8 | Int2 | Int4 => kernel_from::<i8>(to),
        Int16 => kernel_from::<i16>(to),
        Int32 => kernel_from::<i32>(to),
        // Times are converted as their counts, bytes and text not at all: `Transfer::new` sees to it.
        Int64 | DateTime(_) | TimeDelta(_) => kernel_from::<i64>(to),
        UInt16 => kernel_from::<u16>(to),
        UInt32 => kernel_from::<u32>(to),
        UInt64 => kernel_from::<u64>(to),
        Float16 | Float32 | Complex64 | Narrow(_) | ComplexNarrow(_) => kernel_from::<f32>(to),
        Float64 | Complex128 => kernel_from::<f64>(to),
        // The others have no kernel: `Transfer::new` refuses them.
        _ => kernel_from::<u8>(to),
    }
}

fn kernel_from<S>(to: DataType) -> Kernel
where
    S: Convert<Truth> + Convert<i8> + Convert<i16> + Convert<i32> + Convert<i64> + Convert<u8> + Convert<u16> + Convert<u32> + Convert<u64>,
    S: Convert<Half> + Convert<RoundedToOdd> + Convert<f32> + Convert<f64>,
{
    use DataType::*;
    match to {
        Bool => pair::<S, Truth>(),
        Int8 | Int2 | Int4 => pair::<S, i8>(),
        Int16 => pair::<S, i16>(),
        Int32 => pair::<S, i32>(),
        Int64 | DateTime(_) | TimeDelta(_) => pair::<S, i64>(),
        UInt8 | UInt2 | UInt4 => pair::<S, u8>(),
        UInt16 => pair::<S, u16>(),
        UInt32 => pair::<S, u32>(),
        UInt64 => pair::<S, u64>(),
        Float16 => pair::<S, Half>(),
        Narrow(_) | ComplexNarrow(_) => pair::<S, RoundedToOdd>(),
        Float32 | Complex64 => pair_past::<S, f32>(),
        Float64 | Complex128 => pair_past::<S, f64>(),
        _ => pair::<S, u8>(),
    }
}

/// Makes every byte but 0 a 1.
///
/// # Safety
/// `n` bytes at `bytes` are readable and writable.
pub(super) unsafe fn truth(bytes: *mut u8, n: usize) -> *const u8 {
    for i in 0..n {
        // SAFETY: i < n.
        unsafe { *bytes.add(i) = u8::from(*bytes.add(i) != 0) };
    }
    bytes
}

/// binary16 to binary32.
///
/// # Safety
/// `n` aligned elements at `src` are initialised, and there is aligned room for as many at `dst`, elsewhere.
pub(super) unsafe fn halves_to_singles(src: *const f16, dst: *mut f32, n: usize) -> *const u8 {
    // SAFETY: the caller vouches for both; the room is initialised before a slice of it is made.
    let (halves, singles) = unsafe {
        dst.write_bytes(0, n);
        (std::slice::from_raw_parts(src, n), std::slice::from_raw_parts_mut(dst, n))
    };
    halves.convert_to_f32_slice(singles);
    dst.cast_const().cast()
}

/// binary32 to binary16; true if a finite number becomes infinite.
///
/// # Safety
/// `n` aligned elements at `src` are initialised, and there is aligned room for as many at `dst`, elsewhere.
pub(super) unsafe fn singles_to_halves(src: *const f32, dst: *mut f16, n: usize) -> bool {
    // SAFETY: the caller vouches for both; the room is initialised before a slice of it is made.
    let (singles, halves) = unsafe {
        dst.write_bytes(0, n);
        (std::slice::from_raw_parts(src, n), std::slice::from_raw_parts_mut(dst, n))
    };
    halves.convert_from_f32_slice(singles);
    const INFINITY: u16 = 0x7c00;
    singles.iter().zip(halves.iter()).fold(false, |bad, (s, h)| bad | ((h.to_bits() & 0x7fff == INFINITY) & (s.abs() < f32::INFINITY)))
}

/// Real parts to pairs with an imaginary part of 0.
///
/// # Safety
/// `n` elements at `src` are initialised, and there is room for as many pairs at `dst`, elsewhere; both are aligned.
pub(super) unsafe fn pairs<T: Copy + Default>(src: *const T, dst: *mut [T; 2], n: usize) -> *const u8 {
    for i in 0..n {
        // SAFETY: i < n.
        unsafe { dst.add(i).write([*src.add(i), T::default()]) };
    }
    dst.cast_const().cast()
}

/// What is known of a conversion beforehand, so that short rows of it cost little.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    pub(super) kernel: Kernel,
    /// The bytes of an element on either side.
    pub(super) from: usize,
    pub(super) to: usize,
    /// The numbers of an element.
    pub(super) parts: usize,
}

impl Rows {
    /// `None` where elements must be turned around, or pass through another form.
    pub(super) fn new(from: ElementType, to: ElementType, kernel: Kernel) -> Option<Rows> {
        let simple = |e: ElementType| {
            let narrow = matches!(e.data_type, DataType::Bool | DataType::Float16 | DataType::Narrow(_) | DataType::ComplexNarrow(_));
            !narrow && !is_padded(e.data_type) && !e.swapped()
        };
        let complex = |e: ElementType| e.data_type.kind() == Kind::Complex;
        let (size, parts) = (|e: ElementType| e.data_type.size(), if complex(from) { 2 } else { 1 });
        (simple(from) && simple(to) && complex(from) == complex(to)).then(|| Rows { kernel, from: size(from), to: size(to), parts })
    }
}
