//! Numbers of NumPy's types one by one: read from an element's bytes, and stored as C casts them.

use crate::dtype::narrow::odd_normal;
use crate::dtype::{DataType, ElementType};

/// An element as it is computed with: wide enough for every type of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scalar {
    /// Booleans and unsigned integers.
    U(u64),
    /// Signed integers.
    I(i64),
    /// Floating-point numbers.
    F(f64),
    /// Complex numbers.
    C(f64, f64),
}

impl Scalar {
    /// The integer of a C cast, wrapped to 64 bits.
    pub(super) fn bits(self) -> u64 {
        match self {
            Scalar::U(n) => n,
            Scalar::I(n) => n as u64,
            Scalar::F(x) | Scalar::C(x, _) if x < 0.0 => x as i64 as u64,
            Scalar::F(x) | Scalar::C(x, _) => x as u64,
        }
    }

    /// As binary64.
    pub(super) fn f64(self) -> f64 {
        match self {
            Scalar::U(n) => n as f64,
            Scalar::I(n) => n as f64,
            Scalar::F(x) | Scalar::C(x, _) => x,
        }
    }

    /// Rounded once, from whatever it is.
    fn f32(self) -> f32 {
        match self {
            Scalar::U(n) => n as f32,
            Scalar::I(n) => n as f32,
            Scalar::F(x) | Scalar::C(x, _) => x as f32,
        }
    }

    pub(super) fn imaginary(self) -> f64 {
        if let Scalar::C(_, y) = self { y } else { 0.0 }
    }

    pub(super) fn is_true(self) -> bool {
        match self {
            Scalar::U(n) => n != 0,
            Scalar::I(n) => n != 0,
            Scalar::F(x) => x != 0.0,
            Scalar::C(x, y) => x != 0.0 || y != 0.0,
        }
    }
}

/// Loads one element from its bytes.
#[inline(always)]
pub(super) fn load(e: ElementType, bytes: &[u8]) -> Scalar {
    let mut raw = [0u8; 16];
    for (slot, byte) in raw.iter_mut().zip(bytes) {
        *slot = *byte;
    }
    if e.swapped() {
        swap(e, &mut raw);
    }
    let word = u64::from_le_bytes(std::array::from_fn(|i| raw[i]));
    let second = u64::from_le_bytes(std::array::from_fn(|i| raw[i + 8]));
    use DataType::*;
    match e.data_type {
        Bool => Scalar::U(u64::from(word as u8 != 0)),
        UInt8 => Scalar::U(u64::from(word as u8)),
        UInt16 => Scalar::U(u64::from(word as u16)),
        UInt32 => Scalar::U(u64::from(word as u32)),
        UInt64 => Scalar::U(word),
        Int8 => Scalar::I(i64::from(word as i8)),
        Int16 => Scalar::I(i64::from(word as i16)),
        Int32 => Scalar::I(i64::from(word as i32)),
        Int64 | DateTime(_) | TimeDelta(_) => Scalar::I(word as i64),
        Float16 => Scalar::F(half::f16::from_bits(word as u16).to_f64()),
        Float32 => Scalar::F(f64::from(f32::from_bits(word as u32))),
        Float64 => Scalar::F(f64::from_bits(word)),
        Complex64 => Scalar::C(f64::from(f32::from_bits(word as u32)), f64::from(f32::from_bits((word >> 32) as u32))),
        Complex128 => Scalar::C(f64::from_bits(word), f64::from_bits(second)),
        // `Config::element` lets no other type in.
        _ => Scalar::U(0),
    }
}

/// Stores one element, cast as C does, to its bytes.
#[inline(always)]
fn store(e: ElementType, value: Scalar, bytes: &mut [u8]) {
    use DataType::*;
    let (word, second) = match e.data_type {
        Bool => (u64::from(value.is_true()), 0),
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 | DateTime(_) | TimeDelta(_) => (value.bits(), 0),
        Float16 => (u64::from(binary16(value.f64()).to_bits()), 0),
        Float32 => (u64::from(value.f32().to_bits()), 0),
        Float64 => (value.f64().to_bits(), 0),
        Complex64 => (u64::from(value.f32().to_bits()) | u64::from((value.imaginary() as f32).to_bits()) << 32, 0),
        Complex128 => (value.f64().to_bits(), value.imaginary().to_bits()),
        _ => (0, 0),
    };
    let mut raw = [0u8; 16];
    raw[..8].copy_from_slice(&word.to_le_bytes());
    raw[8..].copy_from_slice(&second.to_le_bytes());
    if e.swapped() {
        swap(e, &mut raw);
    }
    bytes.iter_mut().zip(raw).for_each(|(slot, byte)| *slot = byte);
}

/// Rounds to the nearest binary16, once.
pub(super) fn binary16(x: f64) -> half::f16 {
    half::f16::from_f32(odd_normal(x))
}

/// Reverses the bytes of each unit of one element.
fn swap(e: ElementType, raw: &mut [u8; 16]) {
    raw.chunks_exact_mut(e.data_type.swap_unit()).for_each(<[u8]>::reverse);
}

/// The value of those bits in an integer type.
pub(super) fn truncate(t: DataType, bits: u64) -> Scalar {
    load(ElementType::native(t), &bits.to_le_bytes())
}

/// The value after a cast to that type.
pub(super) fn cast(t: DataType, value: Scalar) -> Scalar {
    let mut raw = [0u8; 16];
    store(ElementType::native(t), value, &mut raw);
    load(ElementType::native(t), &raw)
}

/// Applies `f` to each element, in order.
pub(super) fn map(src: &[u8], from: ElementType, dst: &mut [u8], to: ElementType, mut f: impl FnMut(Scalar) -> Scalar) {
    for (s, d) in src.chunks_exact(from.size()).zip(dst.chunks_exact_mut(to.size())) {
        store(to, f(load(from, s)), d);
    }
}
