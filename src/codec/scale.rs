//! `fixedscaleoffset`, `quantize`, `scale_offset`: filters that calculate with each number.
//!
//! Specification: numcodecs `FixedScaleOffset`, `Quantize` (v2 ids `fixedscaleoffset`, `quantize`; v3 names
//! `numcodecs.fixedscaleoffset`, `numcodecs.quantize`); zarr-extensions, "scale_offset" (v3 name `scale_offset`).
//! Example: `{"name": "numcodecs.fixedscaleoffset", "configuration": {"offset": 0, "scale": 10, "dtype": "<i4", "astype": "<i2"}}`
//! Example of quantize: `{"name": "numcodecs.quantize", "configuration": {"digits": 2, "dtype": "<f4"}}`
//! Example of scale_offset: `{"name": "scale_offset", "configuration": {"offset": 5, "scale": 2}}`
//!
//! The arithmetic of the first two is NumPy's (2 and newer): floating-point numbers keep their precision, the scalars become
//! it; integers with an integer scalar stay integers and wrap, with a floating-point scalar they become float64; division
//! makes float64 of integers. Casts are those of C. `scale_offset` calculates in the type of the array; what an integer
//! cannot hold is an error.

use super::filters::{self, Kernel, Wide, binary16, check_whole, converted, converted_size, element, output, required, truncate};
use super::registry::{Config, decode_known};
use super::wide::wide;
use super::{Dest, Size, Stage};
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, ElementType, Kind};
use crate::error::{Result, bail, err};
use crate::metadata::json::brief;
use std::sync::Arc;

/// Numbers that are calculated with at once: some KiB on the stack, so that the compiler makes vectors of the loops.
pub(super) const BLOCK: usize = 256;

/// How results are rounded after each operation. All is calculated in binary64, which rounds the four basic operations of
/// narrower numbers a second time without changing the result.
#[derive(Clone, Copy)]
enum Precision {
    Half,
    Single,
    Double,
}

impl Precision {
    /// In what NumPy divides numbers of that type, and calculates with floating-point scalars.
    fn of(t: DataType) -> Precision {
        match t {
            DataType::Float16 => Precision::Half,
            DataType::Float32 => Precision::Single,
            _ => Precision::Double,
        }
    }

    /// Whether the loops for binary32 are the right ones, or those for binary64; `None` where neither is.
    fn single(self) -> Option<bool> {
        match self {
            Precision::Half => None,
            Precision::Single => Some(true),
            Precision::Double => Some(false),
        }
    }

    fn round(self, x: f64) -> f64 {
        let mut block = [x];
        self.step(&mut block, |x| x);
        block[0]
    }

    /// One operation on each number of a block.
    #[inline(always)]
    fn step(self, block: &mut [f64], f: impl Fn(f64) -> f64) {
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
        match $e {
            DataType::Int8 => {
                type $t = i8;
                $body
            }
            DataType::Int16 => {
                type $t = i16;
                $body
            }
            DataType::Int32 => {
                type $t = i32;
                $body
            }
            DataType::Int64 => {
                type $t = i64;
                $body
            }
            DataType::UInt8 => {
                type $t = u8;
                $body
            }
            DataType::UInt16 => {
                type $t = u16;
                $body
            }
            DataType::UInt32 => {
                type $t = u32;
                $body
            }
            DataType::UInt64 => {
                type $t = u64;
                $body
            }
            DataType::Float16 => {
                type $t = half::f16;
                $body
            }
            DataType::Float32 => {
                type $t = f32;
                $body
            }
            // bool and complex numbers are refused before.
            _ => {
                type $t = f64;
                $body
            }
        }
    };
}

/// A number type: to binary64 and back as C casts.
trait Number: Copy {
    fn widen(self) -> f64;
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
    ($($t:ty)*) => { $(impl Number for $t {
        #[inline(always)]
        fn widen(self) -> f64 {
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

impl Number for half::f16 {
    fn widen(self) -> f64 {
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

impl Number for f32 {
    fn widen(self) -> f64 {
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

impl Number for f64 {
    fn widen(self) -> f64 {
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
trait Floating {
    type Bytes;
    fn slots(buffer: &mut [u8]) -> &mut [Self::Bytes];
    fn store(x: f64, slot: &mut Self::Bytes);
    fn store_number<T: Number>(x: T, slot: &mut Self::Bytes);
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
    fn store_number<T: Number>(x: T, slot: &mut [u8; 4]) {
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
    fn store_number<T: Number>(x: T, slot: &mut [u8; 8]) {
        *slot = x.widen().to_le_bytes();
    }
}

wide! {
    fn widen(e: ElementType, src: &[u8], block: &mut [f64]) {
        with_type!(e.data_type, T, {
            let items = src.as_chunks::<{ size_of::<T>() }>().0;
            if e.swapped() {
                block.iter_mut().zip(items).for_each(|(x, b)| *x = T::from_be_bytes(*b).widen());
            } else {
                block.iter_mut().zip(items).for_each(|(x, b)| *x = T::from_le_bytes(*b).widen());
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

    /// `(x - offset) * scale`, rounded to integers.
    fn scaled(block: &mut [f64], single: bool, offset: f64, scale: f64) {
        if single {
            let (offset, scale) = (offset as f32, scale as f32);
            block.iter_mut().for_each(|x| *x = (((*x as f32) - offset) * scale).round_ties_even().into());
        } else {
            block.iter_mut().for_each(|x| *x = ((*x - offset) * scale).round_ties_even());
        }
    }

    /// `(x - offset) * scale`.
    fn shifted(block: &mut [f64], single: bool, offset: f64, scale: f64) {
        if single {
            let (offset, scale) = (offset as f32, scale as f32);
            block.iter_mut().for_each(|x| *x = (((*x as f32) - offset) * scale).into());
        } else {
            block.iter_mut().for_each(|x| *x = (*x - offset) * scale);
        }
    }

    /// `x / scale + offset`.
    fn unscaled(block: &mut [f64], single: bool, offset: f64, scale: f64) {
        if single {
            let (offset, scale) = (offset as f32, scale as f32);
            block.iter_mut().for_each(|x| *x = ((*x as f32) / scale + offset).into());
        } else {
            block.iter_mut().for_each(|x| *x = *x / scale + offset);
        }
    }

    /// `round(x * scale) / scale`.
    fn quantized(block: &mut [f64], single: bool, scale: f64) {
        if single {
            let scale = scale as f32;
            block.iter_mut().for_each(|x| *x = ((scale * (*x as f32)).round_ties_even() / scale).into());
        } else {
            block.iter_mut().for_each(|x| *x = (scale * *x).round_ties_even() / scale);
        }
    }

    /// The same in one loop, of native numbers of that type.
    fn unscale_in_double<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
        with_type!(t, T, {
            let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s).widen());
            numbers.zip(D::slots(dst)).for_each(|(x, d)| D::store(x / scale + offset, d));
        })
    }

    fn unscale_singles(src: &[u8], dst: &mut [u8], offset: f32, scale: f32) {
        let items = src.as_chunks().0.iter().zip(dst.as_chunks_mut().0);
        items.for_each(|(s, d)| *d = (f32::from_le_bytes(*s) / scale + offset).to_le_bytes());
    }

    /// `x / scale + offset` in binary32, of integers of up to 16 bits. The quotient is the product with the reciprocal in binary64,
    /// rounded: no quotient of two binary32 lies as near to the middle between two others as that product may be wrong (2^-49 against
    /// 2^-52 of it), and none of these is so small that it has fewer bits.
    fn unscale_short(t: DataType, src: &[u8], dst: &mut [u8], offset: f32, scale: f32) {
        let reciprocal = 1.0 / f64::from(scale);
        with_type!(t, T, {
            let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s).widen());
            numbers.zip(<f32 as Floating>::slots(dst)).for_each(|(x, d)| *d = ((x * reciprocal) as f32 + offset).to_le_bytes());
        })
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

/// `x / scale + offset` in binary64, of native numbers.
fn quotients<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    #[cfg(target_arch = "x86_64")]
    if t.kind() != Kind::Float
        && t.size() <= 4
        && (1e-100..1e100).contains(&scale.abs())
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
    {
        if std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512vl") {
            // SAFETY: the processor has the instructions.
            return unsafe { quotients_of_512_bits::<D>(t, src, dst, offset, scale) };
        }
        // SAFETY: the processor has the instructions.
        return unsafe { quotients_of_256_bits::<D>(t, src, dst, offset, scale) };
    }
    unscale_in_double::<D>(t, src, dst, offset, scale);
}

/// The same without divisions, which take twice as long: the product with the reciprocal, corrected twice by what is left. After the
/// first correction the quotient is one of the two neighbours of the exact one; the remainder of such a quotient is exact, and with
/// it and the nearest number to the reciprocal the second gives the nearest one (Markstein's theorem). Nothing here is so small or
/// large that it leaves the normal numbers: integers have up to 32 bits.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn quotients_by_fma<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    let reciprocal = 1.0 / scale;
    with_type!(t, T, {
        let numbers = src.as_chunks::<{ size_of::<T>() }>().0.iter().map(|s| T::from_le_bytes(*s).widen());
        numbers.zip(D::slots(dst)).for_each(|(x, d)| {
            let near = x * reciprocal;
            let near = (-near).mul_add(scale, x).mul_add(reciprocal, near);
            let quotient = (-near).mul_add(scale, x).mul_add(reciprocal, near);
            D::store(quotient + offset, d);
        });
    })
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn quotients_of_256_bits<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    quotients_by_fma::<D>(t, src, dst, offset, scale);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx2,fma")]
fn quotients_of_512_bits<D: Floating>(t: DataType, src: &[u8], dst: &mut [u8], offset: f64, scale: f64) {
    quotients_by_fma::<D>(t, src, dst, offset, scale);
}

/// `x / scale + offset` of every element.
fn unscale(p: Precision, (from, src): (ElementType, &[u8]), (to, dst): (ElementType, &mut [u8]), offset: f64, scale: f64) {
    let native = !from.swapped() && !to.swapped();
    match (p, to.data_type) {
        (Precision::Double, DataType::Float32) if native => return quotients::<f32>(from.data_type, src, dst, offset, scale),
        (Precision::Double, DataType::Float64) if native => return quotients::<f64>(from.data_type, src, dst, offset, scale),
        (Precision::Single, DataType::Float32) if native => return unscale_singles(src, dst, offset as f32, scale as f32),
        _ => {}
    }
    match p.single() {
        Some(single) => blocks(from, src, to, dst, |block| unscaled(block, single, offset, scale)),
        None => blocks(from, src, to, dst, |block| {
            p.step(block, |x| x / scale);
            p.step(block, |x| x + offset);
        }),
    }
}

/// Casts numbers as C does. False where one of the types is no real number: nothing is done.
pub(super) fn convert(from: ElementType, src: &[u8], to: ElementType, dst: &mut [u8]) -> bool {
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
    } else {
        // Every other number is one of binary64.
        blocks(from, src, to, dst, |_| {});
    }
    true
}

/// A number in JSON. Whether it is an integer decides how NumPy calculates.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    Int(i128),
    Float(f64),
}

impl Scalar {
    fn read(config: &Config<'_>, name: &str) -> Result<Scalar> {
        let Some(value) = config.get(name) else {
            return Err(config.error(name, "the member is missing".into()));
        };
        let int = value.as_i64().map(i128::from).or(value.as_u64().map(i128::from));
        match int.map(Scalar::Int).or(value.as_f64().map(Scalar::Float)) {
            Some(scalar) => Ok(scalar),
            None => Err(config.error(name, format!("found {}, expected a number", brief(value)))),
        }
    }

    fn f64(self) -> f64 {
        match self {
            Scalar::Int(n) => n as f64,
            Scalar::Float(x) => x,
        }
    }
}

fn is_real(t: DataType) -> bool {
    matches!(t.kind(), Kind::Int | Kind::UInt | Kind::Float) && DataType::NUMPY.contains(&t)
}

/// `fixedscaleoffset`: `(x - offset) * scale`, rounded to integers and stored in `astype`.
pub(super) fn fixed_scale_offset(config: &Config<'_>, item: ElementType) -> Result<Kernel> {
    let dtype = required(config, "dtype", item)?;
    let astype = element(config, "astype")?.unwrap_or(dtype);
    for (name, t) in [("dtype", dtype.data_type), ("astype", astype.data_type)] {
        if !is_real(t) {
            return Err(err!(Unsupported, "fixedscaleoffset of {} is not supported", t.name()).at_field(config.path(name)));
        }
    }
    let (offset, scale) = (Scalar::read(config, "offset")?, Scalar::read(config, "scale")?);
    Ok(Kernel::new(dtype, astype, move |from, to| Arc::new(FixedScaleOffset { from, to, offset, scale })))
}

struct FixedScaleOffset {
    from: ElementType,
    to: ElementType,
    offset: Scalar,
    scale: Scalar,
}

impl FixedScaleOffset {
    /// Integers with an integer offset stay in their own type, where they wrap; so they do with an integer scale.
    fn encode_integers(&self, offset: u64, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let t = self.from.data_type;
        match self.scale {
            Scalar::Int(scale) => {
                let scale = as_word(scale, t)?;
                filters::map(src, self.from, dst, self.to, |x| truncate(t, x.bits().wrapping_sub(offset).wrapping_mul(scale)));
            }
            Scalar::Float(scale) => {
                let scaled = |x: Wide| (truncate(t, x.bits().wrapping_sub(offset)).f64() * scale).round_ties_even();
                filters::map(src, self.from, dst, self.to, |x| Wide::F(scaled(x)));
            }
        }
        Ok(())
    }
}

/// The bits of an integer scalar that an integer type must be able to hold, as NumPy demands.
fn as_word(n: i128, t: DataType) -> Result<u64> {
    let bits = t.size() as u32 * 8;
    let (low, high) = if t.kind() == Kind::Int { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if !(low..=high).contains(&n) {
        bail!(Unsupported, "fixedscaleoffset cannot write {} with the integer {n}, which does not fit", t.name());
    }
    Ok(n as u64)
}

impl Stage for FixedScaleOffset {
    fn name(&self) -> &'static str {
        "fixedscaleoffset"
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        Some((self.from, self.to))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        converted_size(decoded, self.from, self.to)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_whole("fixedscaleoffset", src.len(), self.from.size())?;
        let out = output(dst, converted(src.len(), self.from, self.to))?;
        let t = self.from.data_type;
        if let (Kind::Int | Kind::UInt, Scalar::Int(offset)) = (t.kind(), self.offset) {
            return self.encode_integers(as_word(offset, t)?, src, out);
        }
        let p = Precision::of(t);
        let (offset, scale) = (p.round(self.offset.f64()), p.round(self.scale.f64()));
        match p.single() {
            Some(single) => blocks(self.from, src, self.to, out, |block| scaled(block, single, offset, scale)),
            None => blocks(self.from, src, self.to, out, |block| {
                p.step(block, |x| x - offset);
                p.step(block, |x| x * scale);
                block.iter_mut().for_each(|x| *x = x.round_ties_even());
            }),
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("fixedscaleoffset", src.len(), self.to.size())?;
        let p = Precision::of(self.to.data_type);
        let (offset, scale) = (p.round(self.offset.f64()), p.round(self.scale.f64()));
        decode_known(dst, converted(src.len(), self.to, self.from), |out| {
            unscale(p, (self.to, src), (self.from, out), offset, scale);
            Ok(())
        })
    }
}

/// `quantize`: numbers rounded to so many decimal digits, by way of a power of two.
pub(super) fn quantize(config: &Config<'_>, item: ElementType) -> Result<Kernel> {
    let dtype = required(config, "dtype", item)?;
    let astype = element(config, "astype")?.unwrap_or(dtype);
    for (name, t) in [("dtype", dtype.data_type), ("astype", astype.data_type)] {
        if t.kind() != Kind::Float {
            return Err(config.error(name, format!("found {}, expected a floating-point type", t.name())));
        }
    }
    if config.get("digits").is_none() {
        return Err(config.error("digits", "the member is missing".into()));
    }
    let digits = config.int("digits", -300, 300, 0)?;
    let exponent = 10f64.powf(-digits as f64).log10();
    let exponent = if exponent < 0.0 { exponent.floor() } else { exponent.ceil() };
    let scale = 2f64.powf(10f64.powf(-exponent).log2().ceil());
    Ok(Kernel::new(dtype, astype, move |from, to| Arc::new(Quantize { from, to, scale })))
}

struct Quantize {
    from: ElementType,
    to: ElementType,
    scale: f64,
}

impl Stage for Quantize {
    fn name(&self) -> &'static str {
        "quantize"
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        Some((self.from, self.to))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        converted_size(decoded, self.from, self.to)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_whole("quantize", src.len(), self.from.size())?;
        let p = Precision::of(self.from.data_type);
        let scale = p.round(self.scale);
        let out = output(dst, converted(src.len(), self.from, self.to))?;
        match p.single() {
            Some(single) => blocks(self.from, src, self.to, out, |block| quantized(block, single, scale)),
            None => blocks(self.from, src, self.to, out, |block| {
                p.step(block, |x| scale * x);
                p.step(block, |x| x.round_ties_even() / scale);
            }),
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("quantize", src.len(), self.to.size())?;
        decode_known(dst, converted(src.len(), self.to, self.from), |out| {
            blocks(self.to, src, self.from, out, |_| {});
            Ok(())
        })
    }
}

/// v3's `scale_offset`: `(x - offset) * scale` in the type of the array.
pub(super) fn scale_offset(config: &Config<'_>, item: ElementType) -> Result<Kernel> {
    config.only(&["offset", "scale"])?;
    let t = item.data_type;
    if !is_real(t) {
        bail!(Unsupported, "scale_offset of {} is not supported", t.name());
    }
    let scalar = |name: &str, default: i64| match config.get(name) {
        None => Ok(if t.kind() == Kind::Float { Wide::F(default as f64) } else { Wide::I(default) }),
        Some(value) => match Fill::from_json_v3(t, value) {
            Ok(fill) => Ok(filters::load(ElementType::native(t), &fill.element(t))),
            Err(e) => Err(e.at_field(config.path(name))),
        },
    };
    let (offset, scale) = (scalar("offset", 0)?, scalar("scale", 1)?);
    if scale.f64() == 0.0 {
        return Err(config.error("scale", "found 0, expected another number".into()));
    }
    Ok(Kernel::new(item, item, move |from, to| Arc::new(ScaleOffset { from, to, offset, scale })))
}

struct ScaleOffset {
    from: ElementType,
    to: ElementType,
    offset: Wide,
    scale: Wide,
}

impl ScaleOffset {
    /// Integers, each exactly; an error where one has no result in its type.
    fn integers(&self, src: &[u8], dst: &mut [u8], decoding: bool) -> Result<()> {
        let (t, offset, scale) = (self.from.data_type, int(self.offset), int(self.scale));
        let (source, target) = if decoding { (self.to, self.from) } else { (self.from, self.to) };
        let mut failed = None;
        filters::map(src, source, dst, target, |x| {
            let x = int(x);
            // 128 bits hold the product of two numbers of 64.
            let result = match decoding {
                true if x % scale != 0 => None,
                true => Some(x / scale + offset),
                false => (x - offset).checked_mul(scale),
            };
            match result.filter(|n| int(truncate(t, *n as u64)) == *n) {
                Some(n) => truncate(t, n as u64),
                None => {
                    failed.get_or_insert(x);
                    Wide::U(0)
                }
            }
        });
        match failed {
            None => Ok(()),
            Some(x) if decoding => Err(err!(Chunk, "scale_offset cannot decode {x} to {}", t.name())),
            Some(x) => Err(err!(Range, "scale_offset cannot encode {x} in {}", t.name())),
        }
    }

    fn is_float(&self) -> bool {
        self.from.data_type.kind() == Kind::Float
    }
}

/// An integer of any type.
fn int(x: Wide) -> i128 {
    match x {
        Wide::U(n) => n.into(),
        Wide::I(n) => n.into(),
        Wide::F(x) | Wide::C(x, _) => x as i128,
    }
}

impl Stage for ScaleOffset {
    fn name(&self) -> &'static str {
        "scale_offset"
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        Some((self.from, self.to))
    }

    fn decode_widened(&self, integers: ElementType, src: &[u8], dst: &mut [u8]) -> bool {
        let single = ElementType::native(DataType::Float32);
        let is_short = matches!(integers.data_type, DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16);
        let simple = (self.from, self.to) == (single, single) && is_short && !integers.swapped();
        let short = simple && (1e-30..1e30).contains(&self.scale.f64().abs());
        if short {
            unscale_short(integers.data_type, src, dst, self.offset.f64() as f32, self.scale.f64() as f32);
        }
        short
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        decoded
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_whole("scale_offset", src.len(), self.from.size())?;
        let out = output(dst, src.len())?;
        if !self.is_float() {
            return self.integers(src, out, false);
        }
        let (p, offset, scale) = (Precision::of(self.from.data_type), self.offset.f64(), self.scale.f64());
        match p.single() {
            Some(single) => blocks(self.from, src, self.to, out, |block| shifted(block, single, offset, scale)),
            None => blocks(self.from, src, self.to, out, |block| {
                p.step(block, |x| x - offset);
                p.step(block, |x| x * scale);
            }),
        }
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        check_whole("scale_offset", src.len(), self.from.size())?;
        decode_known(dst, src.len(), |out| {
            if !self.is_float() {
                return self.integers(src, out, true);
            }
            unscale(Precision::of(self.from.data_type), (self.to, src), (self.from, out), self.offset.f64(), self.scale.f64());
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::StageRef;
    use crate::codec::registry::{self, tests::*};
    use crate::dtype::ByteOrder;
    use crate::error::ErrorKind;

    fn encoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
        let mut out = vec![1; 99];
        stage.encode(data, &mut out).unwrap();
        assert_eq!(stage.encoded_size(Size::Exact(data.len())), Size::Exact(out.len()));
        out
    }

    fn decoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        stage.decode(data, Dest::AtMost(&mut out, 1 << 20)).unwrap();
        out
    }

    #[test]
    fn products_with_reciprocals_are_the_quotients() {
        let words: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let longs: Vec<u8> = (0..=u16::MAX).flat_map(|i| ((u32::from(i) * 65537) ^ 0x5a5a_1234).to_le_bytes()).collect();
        let scales = [3.0, -7.0, 10.0, 0.1, 1e-3, 1.0 / 3.0, 1e99, 1e-99, 0.999_999_999_999_999_9, 1.000_000_000_000_000_2, 16777217.0];
        for scale in scales.into_iter().chain((1..200).map(|i| f64::from(i) * 0.37)) {
            for (t, src) in [(DataType::Int16, &words), (DataType::UInt16, &words), (DataType::Int32, &longs), (DataType::UInt32, &longs)] {
                for offset in [0.0, 273.15] {
                    let mut found = vec![0; src.len() / t.size() * 8];
                    let mut expected = found.clone();
                    quotients::<f64>(t, src, &mut found, offset, scale);
                    unscale_in_double::<f64>(t, src, &mut expected, offset, scale);
                    assert!(found == expected, "{} by {scale}", t.name());
                    // Where wider vectors are taken, the narrower ones, too.
                    #[cfg(target_arch = "x86_64")]
                    if std::arch::is_x86_feature_detected!("fma")
                        && std::arch::is_x86_feature_detected!("avx2")
                        && scale.abs() < 1e98
                        && scale.abs() > 1e-98
                    {
                        // SAFETY: the processor has the instructions.
                        unsafe { quotients_of_256_bits::<f64>(t, src, &mut found, offset, scale) };
                        assert!(found == expected, "{} by {scale}", t.name());
                    }
                }
            }
        }
    }

    #[test]
    fn integers_that_are_widened_on_their_way_decode_as_in_two_steps() {
        let words: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
        let scales =
            (1..300).map(|i| i as f32 * 0.37).chain([3.0, -7.0, 0.1, 1e-3, 1.0 / 3.0, 1e29, 1e-29, 16777215.0, 0.999_999_94, 1.000_000_1]);
        for (scale, offset) in scales.flat_map(|scale| [(scale, 0.0), (scale, 273.15f32)]) {
            for t in [DataType::Int16, DataType::UInt16, DataType::Int8, DataType::UInt8] {
                let single = ElementType::native(DataType::Float32);
                let stage = ScaleOffset { from: single, to: single, offset: Wide::F(offset.into()), scale: Wide::F(scale.into()) };
                let mut found = vec![0; words.len() / t.size() * 4];
                let (mut widened, mut expected) = (found.clone(), found.clone());
                assert!(stage.decode_widened(ElementType::native(t), &words, &mut found));
                assert!(convert(ElementType::native(t), &words, single, &mut widened));
                stage.decode(&widened, Dest::Exact(&mut expected)).unwrap();
                assert!(found == expected, "{} by {scale} and {offset}", t.name());
            }
        }
    }

    fn fso(json: &str) -> StageRef {
        stage_v2("fixedscaleoffset", json, DataType::UInt8)
    }

    macro_rules! le {
        ($t:ty, $($v:expr),*) => { { let v: Vec<u8> = [$($v as $t),*].iter().flat_map(|v| v.to_le_bytes()).collect(); v } };
    }

    #[test]
    fn floats_become_integers_and_back() {
        let s = fso(r#"{"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "|u1"}"#);
        let stored = encoded(&s, &le!(f64, 1000.0, 1000.11111, 1000.44444, 1000.55, 1001.0));
        assert_eq!(stored, [0, 1, 4, 5, 10]);
        assert_eq!(decoded(&s, &stored), le!(f64, 1000.0, 1000.1, 1000.4, 1000.5, 1001.0));
        let big = fso(r#"{"offset": 0.5, "scale": 10, "dtype": ">f8", "astype": ">i2"}"#);
        assert_eq!(encoded(&big, &(-2.5f64).to_be_bytes()), (-30i16).to_be_bytes());
        assert_eq!(decoded(&big, &(-30i16).to_be_bytes()), (-2.5f64).to_be_bytes());
        // Half to even, and the values below 0 of unsigned types wrap.
        let s = fso(r#"{"offset": 0, "scale": 1, "dtype": "<f4", "astype": "|u1"}"#);
        assert_eq!(encoded(&s, &le!(f32, 0.5, 1.5, 2.5, -1.0, 300.0)), [0, 2, 2, 255, 44]);
    }

    #[test]
    fn narrow_floats_keep_their_precision() {
        let s = fso(r#"{"offset": 0.1, "scale": 3, "dtype": "<f4"}"#);
        assert_eq!(decoded(&s, &7f32.to_le_bytes()), (7f32 / 3f32 + 0.1f32).to_le_bytes());
        let s = fso(r#"{"offset": 0.1, "scale": 3, "dtype": "<f4", "astype": "<i4"}"#);
        assert_eq!(decoded(&s, &7i32.to_le_bytes()), ((7f64 / 3f64 + 0.1f64) as f32).to_le_bytes());
        let s = fso(r#"{"offset": 0, "scale": 3, "dtype": "<f2"}"#);
        assert_eq!(decoded(&s, &half::f16::ONE.to_le_bytes()), half::f16::from_f64(1.0 / 3.0).to_le_bytes());
    }

    #[test]
    fn integers_wrap_with_integer_scalars_and_become_floats_with_others() {
        let s = fso(r#"{"offset": 100, "scale": 2, "dtype": "|i1"}"#);
        assert_eq!(encoded(&s, &[101, 0, 0x80]), [2, 56, 56]);
        let s = fso(r#"{"offset": 10, "scale": 0.5, "dtype": "|u1", "astype": "<i2"}"#);
        assert_eq!(encoded(&s, &[20, 5]), le!(i16, 5, 126));
        let s = fso(r#"{"offset": 10.0, "scale": 2, "dtype": "|u1", "astype": "<i2"}"#);
        assert_eq!(encoded(&s, &[20, 5]), le!(i16, 20, -10));
        assert_eq!(decoded(&s, &le!(i16, 20, -9)), [20, 5]);
        let e = fso(r#"{"offset": 1000, "scale": 1, "dtype": "|i1"}"#).encode(&[1], &mut Vec::new()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn long_buffers_are_cut_into_blocks() {
        let s = fso(r#"{"offset": 3, "scale": 1, "dtype": "<f8", "astype": "<i2"}"#);
        let data: Vec<u8> = (0..1000).flat_map(|i| f64::from(i).to_le_bytes()).collect();
        let stored: Vec<u8> = (-3i16..997).flat_map(|i| i.to_le_bytes()).collect();
        assert_eq!(encoded(&s, &data), stored);
        assert_eq!(decoded(&s, &stored), data);
    }

    #[test]
    fn quantize_rounds_to_a_power_of_two() {
        let q = |json| stage_v2("quantize", json, DataType::Float64);
        let data = le!(f64, 0.0, 0.11111111, 0.33333333, 0.55555556, 1.0);
        assert_eq!(encoded(&q(r#"{"digits": 1, "dtype": "<f8"}"#), &data), le!(f64, 0.0, 0.125, 0.3125, 0.5625, 1.0));
        assert_eq!(encoded(&q(r#"{"digits": 3, "dtype": "<f8", "astype": "<f4"}"#), &data[8..16]), 0.111328125f32.to_le_bytes());
        assert_eq!(decoded(&q(r#"{"digits": 3, "dtype": "<f8", "astype": "<f4"}"#), &1.5f32.to_le_bytes()), 1.5f64.to_le_bytes());
        assert_eq!(encoded(&q(r#"{"digits": -2, "dtype": "<f8"}"#), &1234f64.to_le_bytes()), 1216f64.to_le_bytes());
    }

    #[test]
    fn scale_offset_calculates_in_the_type_of_the_array() {
        let s = |json: &str, t| stage_v3("scale_offset", &config_of(json), ElementType::native(t)).unwrap();
        let ints = s(r#"{"offset": 5, "scale": 2}"#, DataType::Int8);
        assert_eq!(encoded(&ints, &[5, 6, 0]), [0, 2, 0xf6]);
        assert_eq!(decoded(&ints, &[0, 2, 0xf6]), [5, 6, 0]);
        assert_eq!(ints.encode(&[100], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Range);
        assert_eq!(ints.decode(&[3], Dest::Exact(&mut [0])).unwrap_err().kind(), ErrorKind::Chunk);
        let unsigned = s(r#"{"offset": 5}"#, DataType::UInt8);
        assert_eq!(unsigned.encode(&[4], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Range);
        let floats = s(r#"{"offset": -4.5, "scale": 10}"#, DataType::Float32);
        assert_eq!(encoded(&floats, &le!(f32, 0.1)), ((0.1f32 + 4.5) * 10.0).to_le_bytes());
        assert_eq!(decoded(&floats, &le!(f32, 46)), (46f32 / 10.0 - 4.5).to_le_bytes());
        assert_eq!(decoded(&s("{}", DataType::UInt64), &u64::MAX.to_le_bytes()), u64::MAX.to_le_bytes());
    }

    #[test]
    fn configurations_and_sizes_are_checked() {
        doc_stage(include_str!("scale.rs"));
        for text in ["//! Example of quantize: `", "//! Example of scale_offset: `"] {
            let line = include_str!("scale.rs").lines().find_map(|l| l.strip_prefix(text)).unwrap();
            let object = config_of(line.trim_end_matches('`'));
            let name = object["name"].as_str().unwrap();
            stage_v3(name, object["configuration"].as_object().unwrap(), ElementType::native(DataType::Float32)).unwrap();
        }
        for (id, json, field) in [
            ("fixedscaleoffset", r#"{"scale": 1, "dtype": "<f4"}"#, "offset"),
            ("fixedscaleoffset", r#"{"offset": "1", "scale": 1, "dtype": "<f4"}"#, "offset"),
            ("fixedscaleoffset", r#"{"offset": 1, "scale": 1}"#, "dtype"),
            ("fixedscaleoffset", r#"{"offset": 1, "scale": 1, "dtype": "<c8"}"#, "dtype"),
            ("fixedscaleoffset", r#"{"offset": 1, "scale": 1, "dtype": "<f4", "astype": "|b1"}"#, "astype"),
            ("quantize", r#"{"dtype": "<f4"}"#, "digits"),
            ("quantize", r#"{"digits": 1.5, "dtype": "<f4"}"#, "digits"),
            ("quantize", r#"{"digits": 1, "dtype": "<i4"}"#, "dtype"),
        ] {
            assert_eq!(registry::build_v2(id, &config_of(json), BYTES).err().unwrap().field(), Some(field), "{id} {json}");
        }
        for (json, field) in [
            (r#"{"scale": 0}"#, "configuration.scale"),
            (r#"{"factor": 1}"#, "configuration.factor"),
            (r#"{"offset": 300}"#, "configuration.offset"),
        ] {
            assert_eq!(stage_v3("scale_offset", &config_of(json), BYTES).err().unwrap().field(), Some(field), "{json}");
        }
        let s = fso(r#"{"offset": 0, "scale": 1, "dtype": "<f8", "astype": "<i4"}"#);
        assert!(s.decode(&[0; 7], Dest::Exact(&mut [0; 16])).is_err());
        assert!(s.decode(&[0; 8], Dest::Exact(&mut [0; 8])).is_err());
        assert!(s.decode(&[0; 8], Dest::AtMost(&mut Vec::new(), 15)).is_err());
    }

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
                    filters::map(&bytes, ElementType::native(DataType::UInt8), &mut small, from, |x| x);
                    if t.size() == 8 && t.kind() != Kind::Float {
                        small.extend([0xff; 8]);
                        small.extend([0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
                    }
                    let n = small.len() / t.size() * u.size();
                    let (mut one, mut two) = (vec![0; n], vec![1; n]);
                    filters::map(&small, from, &mut one, to, |x| x);
                    assert!(convert(from, &small, to, &mut two));
                    assert!(one == two, "{from:?} {to:?}");
                }
            }
        }
    }
}
