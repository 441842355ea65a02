//! Loops over buffers of real numbers, in blocks of binary64 that the compiler makes vectors of.
//!
//! Casts are those of C. Arithmetic is NumPy's (2 and newer): results are rounded to a precision after each operation.

use super::scalar::{self, binary16};
use crate::dtype::{DataType, ElementType, Kind};
use crate::multiversion::multiversion;

/// Numbers that are calculated with at once: some KiB on the stack, so that the compiler makes vectors of the loops.
pub(super) const BLOCK: usize = 256;

/// How results are rounded after each operation. All is calculated in binary64, which rounds the four basic operations of
/// narrower numbers a second time without changing the result.
#[derive(Clone, Copy)]
pub(super) enum Precision {
    Half,
    Single,
    Double,
}

impl Precision {
    /// In what NumPy divides numbers of that type, and calculates with floating-point scalars.
    pub(super) fn of(t: DataType) -> Precision {
        match t {
            DataType::Float16 => Precision::Half,
            DataType::Float32 => Precision::Single,
            _ => Precision::Double,
        }
    }

    /// Whether the loops for binary32 are the right ones, or those for binary64; `None` where neither is.
    pub(super) fn single(self) -> Option<bool> {
        match self {
            Precision::Half => None,
            Precision::Single => Some(true),
            Precision::Double => Some(false),
        }
    }

    pub(super) fn round(self, x: f64) -> f64 {
        let mut block = [x];
        self.step(&mut block, |x| x);
        block[0]
    }

    /// One operation on each number of a block.
    #[inline(always)]
    pub(super) fn step(self, block: &mut [f64], f: impl Fn(f64) -> f64) {
        block.iter_mut().for_each(|x| *x = f(*x));
        match self {
            Precision::Half => block.iter_mut().for_each(|x| *x = binary16(*x).to_f64()),
            Precision::Single => block.iter_mut().for_each(|x| *x = f64::from(*x as f32)),
            Precision::Double => {}
        }
    }
}

/// Runs `$body` with `$t` being the type of a number.
macro_rules! with_type {
    ($e:expr, $t:ident, $body:expr) => {
        with_type!(@ $e, $t, $body, Int8 i8, Int16 i16, Int32 i32, Int64 i64, UInt8 u8, UInt16 u16, UInt32 u32, UInt64 u64,
            Float16 half::f16, Float32 f32)
    };
    (@ $e:expr, $t:ident, $body:expr, $($name:ident $type:ty),*) => {
        match $e {
            $(DataType::$name => {
                type $t = $type;
                $body
            })*
            // bool and complex numbers are refused before.
            _ => {
                type $t = f64;
                $body
            }
        }
    };
}
pub(super) use with_type;

/// A number type: to binary64 and back as C casts.
pub(super) trait Widen: Copy {
    /// As binary64, rounded once. Not `widen`, which the standard library is about to give integers.
    fn double(self) -> f64;
    /// As binary32, rounded once.
    fn single(self) -> f32;
    fn narrow(x: f64) -> Self;
    fn of_signed(n: i64) -> Self;
    fn of_unsigned(n: u64) -> Self;
}

/// `x as i32`, in a form that the compiler makes vectors of.
#[inline(always)]
fn whole(x: f64) -> i32 {
    let (low, high) = (f64::from(i32::MIN), f64::from(i32::MAX));
    let fits = if x > low { x } else { low };
    let fits = if fits < high { fits } else { high };
    // SAFETY: between the least and the greatest i32, and no NaN, which is not greater than anything.
    let n = unsafe { fits.to_int_unchecked::<i32>() };
    if x.is_nan() { 0 } else { n }
}

macro_rules! integers {
    ($($t:ty)*) => { $(impl Widen for $t {
        #[inline(always)]
        fn double(self) -> f64 {
            self as f64
        }
        #[inline(always)]
        fn single(self) -> f32 {
            self as f32
        }
        fn narrow(x: f64) -> Self {
            // By way of the register that C compilers use: what does not fit in a short type wraps.
            match (size_of::<$t>(), <$t>::MIN == 0) {
                (1 | 2, _) | (4, false) => whole(x) as $t,
                (8, true) if x >= 0.0 => x as u64 as $t,
                _ => x as i64 as $t,
            }
        }
        fn of_signed(n: i64) -> Self {
            n as $t
        }
        fn of_unsigned(n: u64) -> Self {
            n as $t
        }
    })* };
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);

impl Widen for half::f16 {
    fn double(self) -> f64 {
        self.to_f64()
    }
    fn single(self) -> f32 {
        self.to_f32()
    }
    fn narrow(x: f64) -> Self {
        binary16(x)
    }
    // What binary64 rounds is far beyond binary16.
    fn of_signed(n: i64) -> Self {
        binary16(n as f64)
    }
    fn of_unsigned(n: u64) -> Self {
        binary16(n as f64)
    }
}

impl Widen for f32 {
    fn double(self) -> f64 {
        self.into()
    }
    fn single(self) -> f32 {
        self
    }
    fn narrow(x: f64) -> Self {
        x as f32
    }
    fn of_signed(n: i64) -> Self {
        n as f32
    }
    fn of_unsigned(n: u64) -> Self {
        n as f32
    }
}

impl Widen for f64 {
    fn double(self) -> f64 {
        self
    }
    fn single(self) -> f32 {
        self as f32
    }
    fn narrow(x: f64) -> Self {
        x
    }
    fn of_signed(n: i64) -> Self {
        n as f64
    }
    fn of_unsigned(n: u64) -> Self {
        n as f64
    }
}

/// binary32 or binary64, native, in a buffer.
pub(super) trait Floating {
    type Bytes;
    fn slots(buffer: &mut [u8]) -> &mut [Self::Bytes];
    fn store(x: f64, slot: &mut Self::Bytes);
    fn store_number<T: Widen>(x: T, slot: &mut Self::Bytes);
}

impl Floating for f32 {
    type Bytes = [u8; 4];
    #[inline(always)]
    fn slots(buffer: &mut [u8]) -> &mut [[u8; 4]] {
        buffer.as_chunks_mut().0
    }
    #[inline(always)]
    fn store(x: f64, slot: &mut [u8; 4]) {
        *slot = (x as f32).to_le_bytes();
    }
    #[inline(always)]
    fn store_number<T: Widen>(x: T, slot: &mut [u8; 4]) {
        *slot = x.single().to_le_bytes();
    }
}

impl Floating for f64 {
    type Bytes = [u8; 8];
    #[inline(always)]
    fn slots(buffer: &mut [u8]) -> &mut [[u8; 8]] {
        buffer.as_chunks_mut().0
    }
    #[inline(always)]
    fn store(x: f64, slot: &mut [u8; 8]) {
        *slot = x.to_le_bytes();
    }
    #[inline(always)]
    fn store_number<T: Widen>(x: T, slot: &mut [u8; 8]) {
        *slot = x.double().to_le_bytes();
    }
}

multiversion! {
    fn widen(e: ElementType, src: &[u8], block: &mut [f64]) {
        with_type!(e.data_type, T, {
            let items = src.as_chunks::<{ size_of::<T>() }>().0;
            if e.swapped() {
                block.iter_mut().zip(items).for_each(|(x, b)| *x = T::from_be_bytes(*b).double());
            } else {
                block.iter_mut().zip(items).for_each(|(x, b)| *x = T::from_le_bytes(*b).double());
            }
        })
    }

    fn narrow(e: ElementType, block: &[f64], dst: &mut [u8]) {
        with_type!(e.data_type, T, {
            let items = dst.as_chunks_mut::<{ size_of::<T>() }>().0;
            if e.swapped() {
                block.iter().zip(items).for_each(|(x, b)| *b = T::narrow(*x).to_be_bytes());
            } else {
                block.iter().zip(items).for_each(|(x, b)| *b = T::narrow(*x).to_le_bytes());
            }
        })
    }

    /// Calculates with every element of `src`, block by block, into `dst`.
    pub(super) fn blocks<F: FnMut(&mut [f64])>(from: ElementType, src: &[u8], to: ElementType, dst: &mut [u8], f: F) {
        let (mut f, mut room) = (f, [0f64; BLOCK]);
        for (s, d) in src.chunks(BLOCK * from.size()).zip(dst.chunks_mut(BLOCK * to.size())) {
            let block = &mut room[..s.len() / from.size()];
            widen(from, s, block);
            f(block);
            narrow(to, block, d);
        }
    }

    /// Native numbers of that type, as C casts them.
    fn to_floating<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8]) {
        with_type!(t, T, {
            let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s));
            numbers.zip(D::slots(dst)).for_each(|(x, d)| D::store_number(x, d));
        })
    }

    fn single_to_int(src: &[u8], dst: &mut [u8]) {
        let items = src.as_chunks().0.iter().zip(dst.as_chunks_mut().0);
        items.for_each(|(s, d)| *d = whole(f32::from_le_bytes(*s).into()).to_le_bytes());
    }

    /// Integers of 64 bits to any number.
    fn convert_words(from: ElementType, src: &[u8], to: ElementType, dst: &mut [u8]) {
        let signed = from.data_type.kind() == Kind::Int;
        let word = |b: &[u8; 8]| if from.swapped() { u64::from_be_bytes(*b) } else { u64::from_le_bytes(*b) };
        with_type!(to.data_type, T, {
            let items = src.as_chunks().0.iter().zip(dst.as_chunks_mut::<{ size_of::<T>() }>().0);
            let of = |n: u64| if signed { T::of_signed(n as i64) } else { T::of_unsigned(n) };
            if to.swapped() {
                items.for_each(|(s, d)| *d = of(word(s)).to_be_bytes());
            } else {
                items.for_each(|(s, d)| *d = of(word(s)).to_le_bytes());
            }
        })
    }
}

/// Casts numbers as C does. False where one of the types is no real number: nothing is done.
pub(super) fn convert(from: ElementType, src: &[u8], to: ElementType, dst: &mut [u8]) -> bool {
    use DataType::*;
    if !is_real(from.data_type) || !is_real(to.data_type) {
        return false;
    }
    let native = !from.swapped() && !to.swapped();
    if native && (from.data_type, to.data_type) == (DataType::Float32, DataType::Int32) {
        single_to_int(src, dst);
    } else if native && to.data_type == DataType::Float32 {
        to_floating::<f32>(from.data_type, src, dst);
    } else if native && to.data_type == DataType::Float64 {
        to_floating::<f64>(from.data_type, src, dst);
    } else if from.data_type.kind() != Kind::Float && from.size() == 8 {
        convert_words(from, src, to, dst);
    } else if from.data_type == UInt32 && matches!(to.data_type, Int8 | Int16 | Int32 | UInt8 | UInt16) {
        // They wrap, also those that the register of `narrow` does not hold.
        scalar::map(src, from, dst, to, |number| number);
    } else {
        // Every other number is one of binary64.
        blocks(from, src, to, dst, |_| {});
    }
    true
}

/// Whether arithmetic is defined for the type: NumPy's integers and floating-point numbers.
pub(super) fn is_real(t: DataType) -> bool {
    matches!(t.kind(), Kind::Int | Kind::UInt | Kind::Float) && DataType::NUMPY.contains(&t)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::ByteOrder;

    #[test]
    fn integers_are_cut_as_the_language_does() {
        for x in [
            0.0,
            -0.0,
            1.9,
            -1.9,
            2147483646.5,
            2147483647.0,
            2147483647.5,
            2147483648.0,
            -2147483648.9,
            -1e300,
            1e300,
            f64::NAN,
            f64::INFINITY,
        ] {
            assert_eq!(whole(x), x as i32, "{x}");
        }
    }

    #[test]
    fn casts_of_whole_buffers_are_those_of_single_numbers() {
        let types: Vec<DataType> = DataType::ALL.iter().copied().filter(|t| is_real(*t)).collect();
        for &t in &types {
            for &u in &types {
                for (order, other) in
                    [(ByteOrder::Little, ByteOrder::Little), (ByteOrder::Big, ByteOrder::Little), (ByteOrder::Little, ByteOrder::Big)]
                {
                    let (from, to) = (ElementType::new(t, order), ElementType::new(u, other));
                    // Numbers that every type has; 64-bit integers also as large as they are.
                    let mut small = Vec::new();
                    let bytes: Vec<u8> = (0..600).map(|i| (i % 100) as u8).collect();
                    small.resize(600 * t.size(), 0);
                    scalar::map(&bytes, ElementType::native(DataType::UInt8), &mut small, from, |x| x);
                    if t.size() == 8 && t.kind() != Kind::Float {
                        small.extend([0xff; 8]);
                        small.extend([0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
                    }
                    let n = small.len() / t.size() * u.size();
                    let (mut one, mut two) = (vec![0; n], vec![1; n]);
                    scalar::map(&small, from, &mut one, to, |x| x);
                    assert!(convert(from, &small, to, &mut two));
                    assert!(one == two, "{from:?} {to:?}");
                }
            }
        }
    }
}
