//! `delta`, `astype`, `shuffle`: filters over typed elements. A kernel is one pass over a buffer with an element type on
//! each side; v2 puts it among the stages, v3's `numcodecs.…` array→array codecs wrap the same.
//!
//! Specification: numcodecs `Delta`, `AsType`, `Shuffle` (v2 ids `delta`, `astype`, `shuffle`; v3 names `numcodecs.delta`,
//! `numcodecs.astype`, `numcodecs.shuffle`).
//! Example: `{"name": "numcodecs.shuffle", "configuration": {"elementsize": 4}}`
//! Example of delta: `{"name": "numcodecs.delta", "configuration": {"dtype": "<i4", "astype": "<i2"}}`
//! Example of astype: `{"name": "numcodecs.astype", "configuration": {"encode_dtype": "<f4", "decode_dtype": "<f8"}}`

use super::registry::{Built, Config, Style, decode_known};
use super::wide::wide;
use super::{Dest, Size, Stage, StageRef, scale, shuffle};
use crate::dtype::{DataType, ElementType, Kind, parse_v2};
use crate::error::{Result, bail, err};
use crate::limits;
use crate::metadata::Value;
use std::sync::Arc;

/// A codec that changes values, before it is bound to byte orders.
pub(super) struct Kernel {
    /// The elements before it, in the order of encoding.
    pub from: ElementType,
    /// The elements after it.
    pub to: ElementType,
    /// Whether the result depends on the order of the elements in the buffer.
    pub depends_on_order: bool,
    /// Whether the fill value must come back from it as it was.
    pub keeps_fill: bool,
    /// The stage between `from` and `to`, in byte orders of the caller's choice.
    make: Box<dyn Fn(ElementType, ElementType) -> StageRef>,
}

impl Kernel {
    /// A kernel of elements one by one.
    pub fn new(from: ElementType, to: ElementType, make: impl Fn(ElementType, ElementType) -> StageRef + 'static) -> Kernel {
        Kernel { from, to, depends_on_order: false, keeps_fill: false, make: Box::new(make) }
    }

    /// The same where the result depends on the order of the elements.
    pub fn ordered(self) -> Kernel {
        Kernel { depends_on_order: true, ..self }
    }

    /// The same where an array's fill value must come back from it as it was.
    pub fn keeping_fill(self) -> Kernel {
        Kernel { keeps_fill: true, ..self }
    }

    /// The stage between elements `from` and `to` (the kernel's types in any byte order).
    pub fn stage(&self, from: ElementType, to: ElementType) -> StageRef {
        (self.make)(from, to)
    }

    /// The stage in the kernel's own byte orders, as in v2.
    pub fn built(&self) -> Built {
        Built { stage: self.stage(self.from, self.to), item: self.to }
    }
}

/// `delta`: differences in `dtype`, stored in `astype`.
pub(super) fn delta(config: &Config<'_>, item: ElementType) -> Result<Kernel> {
    let dtype = required(config, "dtype", item)?;
    let astype = element(config, "astype")?.unwrap_or(dtype);
    if dtype.data_type.kind() == Kind::Complex && astype.data_type.kind() != Kind::Complex {
        return Err(config.error("astype", format!("found {}, expected a complex type", astype.data_type.name())));
    }
    Ok(Kernel::new(dtype, astype, |from, to| Arc::new(Delta { from, to })).ordered())
}

/// `astype`: values of `decode_dtype`, stored in `encode_dtype`.
pub(super) fn astype(config: &Config<'_>, item: ElementType) -> Result<Kernel> {
    let Some(encoded) = element(config, "encode_dtype")? else {
        return Err(config.error("encode_dtype", "the member is missing".into()));
    };
    Ok(Kernel::new(required(config, "decode_dtype", item)?, encoded, |from, to| Arc::new(AsType { from, to })))
}

/// The member of that name: required in v2; in v3 the type of the array before the codec, where it is missing.
pub(super) fn required(config: &Config<'_>, name: &str, item: ElementType) -> Result<ElementType> {
    match element(config, name)? {
        Some(e) => Ok(e),
        None if config.style == Style::V2 => Err(config.error(name, "the member is missing".into())),
        None if !DataType::NUMPY.contains(&item.data_type) && item.data_type.kind() != Kind::Time => {
            Err(err!(Unsupported, "the elements are of {}, expected the type of a number of NumPy", item.data_type.name()))
        }
        None => Ok(item),
    }
}

/// `shuffle` with numcodecs' configuration: `elementsize`, 4 in v2 and the item's size in v3 where it is missing. 0, which
/// netCDF-C writes for "the size of the type" (and shuffles so), is the item's size.
pub(super) fn build_shuffle(config: &Config<'_>, item: ElementType) -> Result<Built> {
    let default = if config.style == Style::V2 { 4 } else { item.size() };
    let size = config.int("elementsize", 0, 1 << 30, default as i64)?;
    Ok(Built::bytes(Shuffle { element: if size == 0 { item.size() } else { size as usize } }))
}

/// A NumPy type string, with a byte order (`<i4`) or as a name (`int32`).
pub(super) fn element(config: &Config<'_>, name: &str) -> Result<Option<ElementType>> {
    let Some(value) = config.get(name) else { return Ok(None) };
    let named = |s: &str| DataType::NUMPY.iter().find(|t| t.name() == s).map(|t| ElementType::native(*t));
    let element = match value {
        Value::String(s) if named(s).is_some() => Ok(named(s)),
        other => parse_v2::parse(other).map(Some),
    };
    match element.map_err(|e| e.at_field(config.path(name)))? {
        Some(e) if !DataType::NUMPY.contains(&e.data_type) && e.data_type.kind() != Kind::Time => {
            Err(err!(Unsupported, "found {}, expected the type of a number of NumPy", e.data_type.name()).at_field(config.path(name)))
        }
        element => Ok(element),
    }
}

/// An element as it is computed with: wide enough for every type of its kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wide {
    /// Booleans and unsigned integers.
    U(u64),
    /// Signed integers.
    I(i64),
    /// Floating-point numbers.
    F(f64),
    /// Complex numbers.
    C(f64, f64),
}

impl Wide {
    /// The integer of a C cast, wrapped to 64 bits.
    pub(super) fn bits(self) -> u64 {
        match self {
            Wide::U(n) => n,
            Wide::I(n) => n as u64,
            Wide::F(x) | Wide::C(x, _) if x < 0.0 => x as i64 as u64,
            Wide::F(x) | Wide::C(x, _) => x as u64,
        }
    }

    /// As binary64.
    pub(super) fn f64(self) -> f64 {
        match self {
            Wide::U(n) => n as f64,
            Wide::I(n) => n as f64,
            Wide::F(x) | Wide::C(x, _) => x,
        }
    }

    /// Rounded once, from whatever it is.
    fn f32(self) -> f32 {
        match self {
            Wide::U(n) => n as f32,
            Wide::I(n) => n as f32,
            Wide::F(x) | Wide::C(x, _) => x as f32,
        }
    }

    fn imaginary(self) -> f64 {
        if let Wide::C(_, y) = self { y } else { 0.0 }
    }

    fn is_true(self) -> bool {
        match self {
            Wide::U(n) => n != 0,
            Wide::I(n) => n != 0,
            Wide::F(x) => x != 0.0,
            Wide::C(x, y) => x != 0.0 || y != 0.0,
        }
    }
}

/// Loads one element from its bytes.
#[inline(always)]
pub(super) fn load(e: ElementType, bytes: &[u8]) -> Wide {
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
        Bool => Wide::U(u64::from(word as u8 != 0)),
        UInt8 => Wide::U(u64::from(word as u8)),
        UInt16 => Wide::U(u64::from(word as u16)),
        UInt32 => Wide::U(u64::from(word as u32)),
        UInt64 => Wide::U(word),
        Int8 => Wide::I(i64::from(word as i8)),
        Int16 => Wide::I(i64::from(word as i16)),
        Int32 => Wide::I(i64::from(word as i32)),
        Int64 | DateTime(_) | TimeDelta(_) => Wide::I(word as i64),
        Float16 => Wide::F(half::f16::from_bits(word as u16).to_f64()),
        Float32 => Wide::F(f64::from(f32::from_bits(word as u32))),
        Float64 => Wide::F(f64::from_bits(word)),
        Complex64 => Wide::C(f64::from(f32::from_bits(word as u32)), f64::from(f32::from_bits((word >> 32) as u32))),
        Complex128 => Wide::C(f64::from_bits(word), f64::from_bits(second)),
        // `element` lets no other type in.
        _ => Wide::U(0),
    }
}

/// Stores one element, cast as C does, to its bytes.
#[inline(always)]
fn store(e: ElementType, value: Wide, bytes: &mut [u8]) {
    use DataType::*;
    let (word, second) = match e.data_type {
        Bool => (u64::from(value.is_true()), 0),
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => (value.bits(), 0),
        DateTime(_) | TimeDelta(_) => (value.bits(), 0),
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

/// The nearest binary16, rounded once: by way of a binary32 that is rounded to odd, which keeps every tie apart.
pub(super) fn binary16(x: f64) -> half::f16 {
    let near = x as f32;
    let (bits, back) = (near.to_bits(), f64::from(near));
    if x.is_nan() || back == x || bits & 1 == 1 {
        return half::f16::from_f32(near);
    }
    half::f16::from_f32(f32::from_bits(if back.abs() < x.abs() { bits + 1 } else { bits - 1 }))
}

/// Reverses the bytes of each unit of one element.
fn swap(e: ElementType, raw: &mut [u8; 16]) {
    raw.chunks_exact_mut(e.data_type.swap_unit()).for_each(<[u8]>::reverse);
}

/// `a + b` or `a - b` in that data type: integers wrap, floating-point numbers round to it.
fn add(t: DataType, a: Wide, b: Wide, subtract: bool) -> Wide {
    let sum = |x: f64, y: f64| if subtract { x - y } else { x + y };
    // The sum of two binary32 (or binary16) numbers in binary64, rounded once more, is the sum rounded once.
    let round = |x: f64| match t {
        DataType::Float16 => binary16(x).to_f64(),
        DataType::Float32 | DataType::Complex64 => f64::from(x as f32),
        _ => x,
    };
    match t.kind() {
        Kind::Bool => Wide::U(u64::from(a.is_true() != b.is_true())),
        Kind::Int | Kind::UInt | Kind::Time | Kind::Opaque | Kind::Struct | Kind::Variable => {
            let (a, b) = (a.bits(), b.bits());
            truncate(t, if subtract { a.wrapping_sub(b) } else { a.wrapping_add(b) })
        }
        Kind::Float => Wide::F(round(sum(a.f64(), b.f64()))),
        Kind::Complex => Wide::C(round(sum(a.f64(), b.f64())), round(sum(a.imaginary(), b.imaginary()))),
    }
}

/// The type in which NumPy accumulates elements of `stored` that become `t`: one that holds both where numbers are
/// floating-point, `t` itself (wrapping) otherwise.
fn sum_type(t: DataType, stored: DataType) -> DataType {
    let bits = |t: DataType| match (t.kind(), t.size()) {
        (Kind::Float, n) => n * 8,
        (Kind::Complex, n) => n * 4,
        (_, n) => (n * 16).min(64),
    };
    match (t.kind(), bits(t).max(bits(stored))) {
        (Kind::Float, 16) => DataType::Float16,
        (Kind::Float, 32) => DataType::Float32,
        (Kind::Float, _) => DataType::Float64,
        (Kind::Complex, 64) => DataType::Complex128,
        _ => t,
    }
}

/// The value of those bits in an integer type.
pub(super) fn truncate(t: DataType, bits: u64) -> Wide {
    load(ElementType::native(t), &bits.to_le_bytes())
}

/// The value after a cast to that type.
fn cast(t: DataType, value: Wide) -> Wide {
    let mut raw = [0u8; 16];
    store(ElementType::native(t), value, &mut raw);
    load(ElementType::native(t), &raw)
}

/// The size of a buffer of `n` bytes of `from` after its elements became `to`.
pub(super) fn converted(n: usize, from: ElementType, to: ElementType) -> usize {
    (n / from.size()).saturating_mul(to.size())
}

pub(super) fn converted_size(size: Size, from: ElementType, to: ElementType) -> Size {
    match size {
        Size::Exact(n) => Size::Exact(converted(n, from, to)),
        Size::AtMost(n) => Size::AtMost(converted(n, from, to)),
    }
}

pub(super) fn check_whole(name: &str, len: usize, item: usize) -> Result<()> {
    if !len.is_multiple_of(item) {
        bail!(Chunk, "{name} found {len} bytes, expected a multiple of {item}");
    }
    Ok(())
}

/// Applies `f` to each element, in order.
pub(super) fn map(src: &[u8], from: ElementType, dst: &mut [u8], to: ElementType, mut f: impl FnMut(Wide) -> Wide) {
    for (s, d) in src.chunks_exact(from.size()).zip(dst.chunks_exact_mut(to.size())) {
        store(to, f(load(from, s)), d);
    }
}

/// Room for an encoded buffer of `n` bytes.
pub(super) fn output(dst: &mut Vec<u8>, n: usize) -> Result<&mut [u8]> {
    dst.truncate(n);
    limits::grow(dst, n)
}

/// The loops of `delta` between equal types, for each type that is common.
macro_rules! delta_loops {
    ($($t:ty, $differences:ident, $sums:ident, $zero:expr, $add:expr, $subtract:expr;)*) => { $(
        wide! {
            fn $differences(src: &[u8], dst: &mut [u8], swapped: bool) {
                let (src, dst) = (src.as_chunks::<{ size_of::<$t>() }>().0, dst.as_chunks_mut().0);
                let (Some((first, rest)), Some((slot, slots))) = (src.split_first(), dst.split_first_mut()) else { return };
                *slot = *first;
                let terms = rest.iter().zip(src).zip(slots);
                if swapped {
                    terms.for_each(|((x, last), d)| *d = $subtract(<$t>::from_be_bytes(*x), <$t>::from_be_bytes(*last)).to_be_bytes());
                } else {
                    terms.for_each(|((x, last), d)| *d = $subtract(<$t>::from_le_bytes(*x), <$t>::from_le_bytes(*last)).to_le_bytes());
                }
            }

            fn $sums(src: &[u8], dst: &mut [u8], swapped: bool) {
                let terms = src.as_chunks::<{ size_of::<$t>() }>().0.iter().zip(dst.as_chunks_mut().0);
                let mut sum: $t = $zero;
                if swapped {
                    terms.for_each(|(x, d)| {
                        sum = $add(sum, <$t>::from_be_bytes(*x));
                        *d = sum.to_be_bytes();
                    });
                } else {
                    terms.for_each(|(x, d)| {
                        sum = $add(sum, <$t>::from_le_bytes(*x));
                        *d = sum.to_le_bytes();
                    });
                }
            }
        }
    )* };
}

// Adding to -0 changes no number, not even -0.
delta_loops!(
    u8, differences_u8, sums_u8, 0, u8::wrapping_add, u8::wrapping_sub;
    u16, differences_u16, sums_u16, 0, u16::wrapping_add, u16::wrapping_sub;
    u32, differences_u32, sums_u32, 0, u32::wrapping_add, u32::wrapping_sub;
    u64, differences_u64, sums_u64, 0, u64::wrapping_add, u64::wrapping_sub;
    f32, differences_f32, sums_f32, -0.0, std::ops::Add::add, std::ops::Sub::sub;
    f64, differences_f64, sums_f64, -0.0, std::ops::Add::add, std::ops::Sub::sub;
);

/// Differences or sums between equal types, for the types that are common. False where there is no loop.
fn delta_of_one_type(e: ElementType, src: &[u8], dst: &mut [u8], sums: bool) -> bool {
    let run = match (e.data_type.kind(), e.size(), sums) {
        (Kind::Int | Kind::UInt, 1, false) => differences_u8,
        (Kind::Int | Kind::UInt, 2, false) => differences_u16,
        (Kind::Int | Kind::UInt, 4, false) => differences_u32,
        (Kind::Int | Kind::UInt, 8, false) => differences_u64,
        (Kind::Float, 4, false) => differences_f32,
        (Kind::Float, 8, false) => differences_f64,
        (Kind::Int | Kind::UInt, 1, true) => sums_u8,
        (Kind::Int | Kind::UInt, 2, true) => sums_u16,
        (Kind::Int | Kind::UInt, 4, true) => sums_u32,
        (Kind::Int | Kind::UInt, 8, true) => sums_u64,
        (Kind::Float, 4, true) => sums_f32,
        (Kind::Float, 8, true) => sums_f64,
        _ => return false,
    };
    run(src, dst, e.swapped());
    true
}

struct Delta {
    from: ElementType,
    to: ElementType,
}

impl Stage for Delta {
    fn name(&self) -> &'static str {
        "delta"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        converted_size(decoded, self.from, self.to)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let t = self.from.data_type;
        if t == DataType::Bool {
            bail!(Unsupported, "delta of bool cannot be written: other readers cannot invert it");
        }
        check_whole("delta", src.len(), self.from.size())?;
        let mut last = cast(t, Wide::U(0));
        let out = output(dst, converted(src.len(), self.from, self.to))?;
        if self.from == self.to && delta_of_one_type(self.from, src, out, false) {
            return Ok(());
        }
        let mut first = true;
        map(src, self.from, out, self.to, |value| {
            let difference = if first { value } else { add(t, value, last, true) };
            (first, last) = (false, value);
            difference
        });
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("delta", src.len(), self.to.size())?;
        let t = self.from.data_type;
        decode_known(dst, converted(src.len(), self.to, self.from), |out| {
            if self.from == self.to && delta_of_one_type(self.from, src, out, true) {
                return Ok(());
            }
            let mut sum = None;
            let t = sum_type(t, self.to.data_type);
            map(src, self.to, out, self.from, |difference| {
                let difference = cast(t, difference);
                let value = sum.map_or(difference, |sum| add(t, sum, difference, false));
                sum = Some(value);
                value
            });
            Ok(())
        })
    }
}

struct AsType {
    from: ElementType,
    to: ElementType,
}

impl Stage for AsType {
    fn name(&self) -> &'static str {
        "astype"
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        Some((self.from, self.to))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        converted_size(decoded, self.from, self.to)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_whole("astype", src.len(), self.from.size())?;
        let out = output(dst, converted(src.len(), self.from, self.to))?;
        if !scale::convert(self.from, src, self.to, out) {
            map(src, self.from, out, self.to, |v| v);
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("astype", src.len(), self.to.size())?;
        decode_known(dst, converted(src.len(), self.to, self.from), |out| {
            if !scale::convert(self.to, src, self.from, out) {
                map(src, self.to, out, self.from, |v| v);
            }
            Ok(())
        })
    }
}

struct Shuffle {
    element: usize,
}

impl Shuffle {
    /// Byte `b` of element `i` moves between `i * element + b` and `b * count + i`.
    fn run(&self, src: &[u8], dst: &mut [u8], forward: bool) -> Result<()> {
        check_whole("shuffle", src.len(), self.element)?;
        if forward {
            shuffle::shuffle(self.element, src, dst)
        } else {
            shuffle::unshuffle(self.element, src, dst)
        }
        Ok(())
    }
}

impl Stage for Shuffle {
    fn name(&self) -> &'static str {
        "shuffle"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        self.run(src, output(dst, src.len())?, true)
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        decode_known(dst, src.len(), |out| self.run(src, out, false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::registry::{self, tests::*};
    use crate::dtype::ByteOrder;
    use crate::error::ErrorKind;

    fn stage(id: &str, json: &str) -> StageRef {
        registry::build_v2(id, &config_of(json), BYTES).unwrap().stage
    }

    fn encode(stage: &StageRef, src: &[u8]) -> Vec<u8> {
        let mut out = vec![1; 1000];
        stage.encode(src, &mut out).unwrap();
        out
    }

    fn decode(stage: &StageRef, src: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        stage.decode(src, Dest::AtMost(&mut out, 1 << 20)).unwrap();
        out
    }

    macro_rules! bytes {
        ($order:ident, $t:ty, $($v:expr),*) => { { let v: Vec<u8> = [$($v as $t),*].iter().flat_map(|v| v.$order()).collect(); v } };
    }

    #[test]
    fn delta_accumulates_in_its_own_type() {
        let d = stage("delta", r#"{"dtype": "<i8", "astype": "|i1"}"#);
        let data = bytes!(to_le_bytes, i64, 100, 200, 300, 290);
        assert_eq!(encode(&d, &data), bytes!(to_le_bytes, i8, 100, 100, 100, -10));
        assert_eq!(decode(&d, &encode(&d, &data)), data);
        assert_eq!(d.encoded_size(Size::Exact(32)), Size::Exact(4));
    }

    #[test]
    fn delta_wraps_integers_and_follows_both_byte_orders() {
        let d = stage("delta", r#"{"dtype": ">u2", "astype": "<u2"}"#);
        let data = bytes!(to_be_bytes, u16, 5, 3, 65535, 0);
        assert_eq!(encode(&d, &data), bytes!(to_le_bytes, u16, 5, 65534, 65532, 1));
        assert_eq!(decode(&d, &encode(&d, &data)), data);
    }

    #[test]
    fn delta_of_floats_rounds_to_its_type() {
        let d = stage("delta", r#"{"dtype": "<f4"}"#);
        let data = bytes!(to_le_bytes, f32, 1e8, 1.0, -0.0, 3.5);
        assert_eq!(encode(&d, &data), bytes!(to_le_bytes, f32, 1e8, 1.0f32 - 1e8f32, -1.0, 3.5));
        let halves: Vec<u8> = [1.0f32, 1.5, 2048.0, 2050.0].iter().flat_map(|&x| half::f16::from_f32(x).to_le_bytes()).collect();
        let d = stage("delta", r#"{"dtype": "<f2"}"#);
        assert_eq!(decode(&d, &encode(&d, &halves)), halves);
        let d = stage("delta", r#"{"dtype": "<c16", "astype": "<c8"}"#);
        let data = bytes!(to_le_bytes, f64, 1, 2, 4, -3);
        assert_eq!(encode(&d, &data), bytes!(to_le_bytes, f32, 1, 2, 3, -5));
        assert_eq!(decode(&d, &encode(&d, &data)), data);
    }

    #[test]
    fn the_tight_loops_agree_with_the_general_ones() {
        for &t in DataType::NUMPY.iter().filter(|t| t.kind() != Kind::Bool) {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let e = ElementType::new(t, order);
                // Small integers: exact in every type. Forced through the general loop by another byte order on one side.
                let mut native = Vec::new();
                AsType { from: ElementType::new(DataType::Int8, order), to: e }.encode(&[0, 3, 250, 7, 7, 100, 9, 2], &mut native).unwrap();
                let one: StageRef = Arc::new(Delta { from: e, to: e });
                let two: StageRef = Arc::new(Delta { from: e, to: ElementType::new(t, ByteOrder::Big) });
                let swap = AsType { from: ElementType::new(t, ByteOrder::Big), to: e };
                let mut general = Vec::new();
                swap.encode(&encode(&two, &native), &mut general).unwrap();
                assert_eq!(encode(&one, &native), general, "{e:?}");
                assert_eq!(decode(&one, &general), native, "{e:?}");
                assert_eq!(decode(&two, &encode(&two, &native)), native, "{e:?}");
            }
        }
        let d = stage("delta", r#"{"dtype": "<f8"}"#);
        let zeros = bytes!(to_le_bytes, f64, -0.0, -0.0);
        assert_eq!(encode(&d, &zeros), bytes!(to_le_bytes, f64, -0.0, 0.0));
        assert_eq!(decode(&d, &zeros), zeros);
    }

    #[test]
    fn sums_are_rounded_to_the_wider_type_only() {
        let d = stage("delta", r#"{"dtype": "<f4", "astype": "<f8"}"#);
        // In binary32, adding 1 to 2^24 twice changes nothing.
        assert_eq!(
            decode(&d, &bytes!(to_le_bytes, f64, 16_777_216.0, 1, 1)),
            bytes!(to_le_bytes, f32, 16_777_216.0, 16_777_216.0, 16_777_218.0)
        );
        assert_eq!(sum_type(DataType::Float16, DataType::Int16), DataType::Float32);
        assert_eq!(sum_type(DataType::Float16, DataType::UInt8), DataType::Float16);
        assert_eq!(sum_type(DataType::Int32, DataType::Float64), DataType::Int32);
        assert_eq!(sum_type(DataType::Complex64, DataType::Complex128), DataType::Complex128);
    }

    #[test]
    fn binary16_is_rounded_once() {
        // Halfway between 1 and its neighbour, and as little above or below as binary64 can tell.
        let half = 1.0 + 2f64.powi(-11);
        let up = 1.0 + 2f64.powi(-10);
        for (x, expected) in
            [(half, 1.0), (half.next_up(), up), (half.next_down(), 1.0), (-half.next_up(), -up), (up + 2f64.powi(-11), 1.0 + 2f64.powi(-9))]
        {
            assert_eq!(binary16(x).to_f64(), expected, "{x:e}");
        }
        assert_eq!(binary16(1e300).to_f64(), f64::INFINITY);
        assert_eq!(binary16(1e-300).to_bits(), 0);
        assert!(binary16(f64::NAN).is_nan());
        for bits in 0..=u16::MAX {
            let x = half::f16::from_bits(bits);
            assert!(x.is_nan() || binary16(x.to_f64()).to_bits() == bits);
        }
    }

    #[test]
    fn delta_of_bool_is_read_but_not_written() {
        let d = stage("delta", r#"{"dtype": "|b1"}"#);
        assert_eq!(decode(&d, &[1, 1, 0, 1]), [1, 0, 0, 1]);
        assert_eq!(d.encode(&[1, 0], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn astype_casts_as_c_does() {
        let a = stage("astype", r#"{"encode_dtype": "<f4", "decode_dtype": "<i2"}"#);
        assert_eq!(encode(&a, &bytes!(to_le_bytes, i16, -7, 300)), bytes!(to_le_bytes, f32, -7, 300));
        assert_eq!(decode(&a, &bytes!(to_le_bytes, f32, -7.9, 7.9, 65537.0)), bytes!(to_le_bytes, i16, -7, 7, 1));
        let a = stage("astype", r#"{"encode_dtype": ">i4", "decode_dtype": "|u1"}"#);
        assert_eq!(decode(&a, &bytes!(to_be_bytes, i32, -1, 258, 5)), [255, 2, 5]);
        let a = stage("astype", r#"{"encode_dtype": "<f8", "decode_dtype": "<u8"}"#);
        assert_eq!(decode(&a, &1e19f64.to_le_bytes()), 10_000_000_000_000_000_000u64.to_le_bytes());
        let a = stage("astype", r#"{"encode_dtype": "<c8", "decode_dtype": "<f8"}"#);
        assert_eq!(decode(&a, &bytes!(to_le_bytes, f32, 1.5, 9)), 1.5f64.to_le_bytes());
        let a = stage("astype", r#"{"encode_dtype": "<i8", "decode_dtype": "|b1"}"#);
        assert_eq!(decode(&a, &bytes!(to_le_bytes, i64, 256, 0)), [1, 0]);
    }

    #[test]
    fn every_type_survives_its_own_cast() {
        for &t in DataType::NUMPY {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                let (from, to) = (ElementType::new(t, order), ElementType::native(t));
                let a: StageRef = Arc::new(AsType { from, to });
                // Bytes of 0 and 1 are valid and not NaN in every type.
                let data: Vec<u8> = (0..t.size() * 5).map(|i| (i % 3 == 0) as u8).collect();
                assert_eq!(decode(&a, &encode(&a, &data)), data, "{t:?}");
            }
        }
    }

    #[test]
    fn integers_become_binary32_with_one_rounding() {
        let a = stage("astype", r#"{"encode_dtype": "<f4", "decode_dtype": "<i8"}"#);
        let n = (1i64 << 54) + (1 << 30) + 1;
        assert_eq!(encode(&a, &n.to_le_bytes()), (n as f32).to_le_bytes());
    }

    #[test]
    fn shuffle_gathers_the_bytes_of_equal_rank() {
        let s = stage("shuffle", "{}");
        assert_eq!(encode(&s, &[1, 2, 3, 4, 5, 6, 7, 8]), [1, 5, 2, 6, 3, 7, 4, 8]);
        assert_eq!(s.encode(&[1, 2, 3], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Chunk);
        for size in [0, 1, 2, 3, 8, 16] {
            let s = stage("shuffle", &format!(r#"{{"elementsize": {size}}}"#));
            round_trips(&*s, &[0, 48, 4800]);
        }
        round_trips(&*doc_stage(include_str!("filters.rs")), &[0, 4, 4096, 1 << 20]);
        let netcdf = stage_v2("shuffle", r#"{"elementsize": 0}"#, DataType::Int64);
        assert_eq!(encode(&netcdf, &sample(64)), encode(&stage("shuffle", r#"{"elementsize": 8}"#), &sample(64)));
        let v3 = stage_v3("numcodecs.shuffle", &config_of("{}"), ElementType::native(DataType::Float64)).unwrap();
        assert_eq!(encode(&v3, &sample(64)), encode(&stage("shuffle", r#"{"elementsize": 8}"#), &sample(64)));
    }

    #[test]
    fn partial_elements_and_wrong_sizes_are_errors() {
        for s in [
            stage("delta", r#"{"dtype": "<i4"}"#),
            stage("astype", r#"{"encode_dtype": "<i4", "decode_dtype": "<i8"}"#),
            stage("shuffle", "{}"),
        ] {
            assert_eq!(s.decode(&[0; 7], Dest::AtMost(&mut Vec::new(), 100)).unwrap_err().kind(), ErrorKind::Chunk);
            assert!(s.decode(&[0; 8], Dest::Exact(&mut [0; 12])).unwrap_err().message().contains("expected 12"));
            assert!(s.decode(&[0; 8], Dest::AtMost(&mut Vec::new(), 7)).is_err());
        }
    }

    #[test]
    fn configuration_errors_name_the_member() {
        let field = |id: &str, json: &str| registry::build_v2(id, &config_of(json), BYTES).err().unwrap().field().unwrap().to_string();
        assert_eq!(field("delta", "{}"), "dtype");
        assert_eq!(field("delta", r#"{"dtype": "<i4", "astype": 4}"#), "astype");
        assert_eq!(field("delta", r#"{"dtype": "<c8", "astype": "<f4"}"#), "astype");
        assert_eq!(field("astype", r#"{"encode_dtype": "<i4"}"#), "decode_dtype");
        assert_eq!(field("shuffle", r#"{"elementsize": -1}"#), "elementsize");
    }

    #[test]
    fn the_examples_of_the_kernels_are_read() {
        for (name, text) in [("numcodecs.delta", "//! Example of delta: `"), ("numcodecs.astype", "//! Example of astype: `")] {
            let line = include_str!("filters.rs").lines().find_map(|l| l.strip_prefix(text)).unwrap();
            let object = config_of(line.trim_end_matches('`'));
            assert_eq!(object["name"], name);
            assert!(registry::has(name));
            stage_v3(name, object["configuration"].as_object().unwrap(), BYTES).unwrap();
        }
    }
}
