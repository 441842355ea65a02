//! `zfp`: blocks of 4^d numbers, transformed and cut to a rate, a precision or an accuracy; `zfpy` is the same behind a header.
//!
//! Specification: zarr-extensions, "zfp" (v3 name `zfp`: the bare stream); numcodecs `ZFPY` (v2 id `zfpy`, v3 name
//! `numcodecs.zfpy`: the stream behind zfp's full header of magic, type, sizes and mode).
//! Example: `{"name": "zfp", "configuration": {"mode": "fixed_accuracy", "tolerance": 0.05}}`
//! Example of zfpy: `{"name": "numcodecs.zfpy", "configuration": {"mode": 4, "tolerance": 0.05}}`
//!
//! Decoding `zfpy` follows its header, whose type and number of values must be those of the chunk; signed integers in the place of
//! floating-point numbers are their bits, which numcodecs' `bitround` hands on. Streams end at a word of 64
//! bits; libraries that were built for words of 8 bits end them at a byte, which is read, too.
//! In v3 integers of 8 and 16 bits are moved to the top of 32 bits, as zfp's own promotion does. Unsigned ones of 32 and 64 bits are
//! what the signed type of their size can hold. Times are their counts, integers of 64 bits.

use super::build::Built;
use super::config::{Config, Style, as_number};
use super::stage::{Dest, Size, Stage, StageRef};
use super::streams::{check_input, check_whole, decode_known};
use crate::dtype::{DataType, ElementType};
use crate::error::{Error, Result, bail, err};
use crate::limits;
use crate::metadata::json::brief;
use std::sync::Arc;
use zfp_rs::{
    ZfpBitStream, ZfpConfig, ZfpDecompressionError, ZfpDimensionality, ZfpField, ZfpFieldMut, ZfpHeaderMask, ZfpScalar, ZfpScalarType,
    ZfpStreamAlignment,
};

/// Bytes of a word of the stream.
const WORD: usize = 8;
/// Bytes that the longest header takes.
const HEADER: usize = 24;
/// The longest side of a field: more could be no chunk, and sums of sides stay far from overflow.
const MAX_SIDE: u64 = 1 << 40;

/// What is kept of the numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ZfpMode {
    Reversible,
    Expert(ZfpConfig),
    Accuracy(f64),
    Rate(f64),
    Precision(u32),
    /// A mode of `zfpy` that is only read: the header says what it is.
    Unknown(i64),
}

#[derive(Clone)]
struct ZfpStage {
    data_type: DataType,
    mode: ZfpMode,
    /// Whether zfp's header comes first.
    header: bool,
    /// The chunk's sides, the fastest first, unused ones 0; all 0 before the shape is known.
    sides: [usize; 4],
}

/// v3's `zfp`: reads `mode` and its parameters.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<Built> {
    use DataType::*;
    let t = as_number(item).data_type;
    if !matches!(t, Int8 | UInt8 | Int16 | UInt16 | Int32 | UInt32 | Int64 | UInt64 | Float32 | Float64) {
        bail!(Unsupported, "zfp of {} is not supported", t.name());
    }
    let whole = |name: &str, low, high| match config.get(name) {
        None => Err(config.error(name, "the member is missing".into())),
        Some(_) => config.int(name, low, high, 0),
    };
    let mode = match config.text("mode")? {
        Some("reversible") => ZfpMode::Reversible,
        Some("fixed_accuracy") => ZfpMode::Accuracy(number(config, "tolerance")?),
        Some("fixed_rate") => ZfpMode::Rate(number(config, "rate")?),
        Some("fixed_precision") => ZfpMode::Precision(whole("precision", 0, 64)? as u32),
        Some("expert") => {
            let (least, most) = (whole("minbits", 0, 1 << 15)? as u32, whole("maxbits", 0, 1 << 15)? as u32);
            let (precision, exponent) = (whole("maxprec", 0, 64)? as u32, whole("minexp", -1 << 15, 1 << 15)? as i32);
            ZfpMode::Expert(ZfpConfig::expert(least, most, precision, exponent).map_err(|e| config.error("maxbits", e.to_string()))?)
        }
        Some(other) => {
            let expected = "reversible, expert, fixed_accuracy, fixed_rate or fixed_precision";
            return Err(config.error("mode", format!("found {other:?}, expected {expected}")));
        }
        None => return Err(config.error("mode", "the member is missing".into())),
    };
    Ok(Built::bytes(ZfpStage { data_type: t, mode, header: false, sides: [0; 4] }))
}

/// `zfpy`: reads `mode`, `tolerance`, `rate` and `precision`; parameters below 0, as numcodecs writes them, mean reversible.
pub(super) fn build_zfpy(config: &Config<'_>, item: ElementType) -> Result<Built> {
    use DataType::*;
    let item = as_number(item);
    if !matches!(item.data_type, Int32 | Int64 | Float32 | Float64) || item.swapped() {
        let order = if item.swapped() { "big-endian " } else { "" };
        bail!(Unsupported, "zfpy of {order}{} is not supported, expected int32, int64, float32, float64 or times", item.data_type.name());
    }
    let parameter = |name: &str| config.get(name).map_or(Ok(-1.0), |_| number(config, name));
    let (tolerance, rate) = (parameter("tolerance")?, parameter("rate")?);
    let precision = config.int("precision", i64::MIN, 64, -1)?;
    let mode = match config.int("mode", i64::MIN, i64::MAX, 4)? {
        2 if rate >= 0.0 => ZfpMode::Rate(rate),
        3 if precision >= 0 => ZfpMode::Precision(precision as u32),
        4 if tolerance >= 0.0 => ZfpMode::Accuracy(tolerance),
        2..=5 => ZfpMode::Reversible,
        other => ZfpMode::Unknown(other),
    };
    Ok(Built::bytes(ZfpStage { data_type: item.data_type, mode, header: true, sides: [0; 4] }))
}

fn number(config: &Config<'_>, name: &str) -> Result<f64> {
    match config.get(name) {
        None => Err(config.error(name, "the member is missing".into())),
        Some(v) => match v.as_f64().filter(|x| x.is_finite() && (config.style != Style::V3 || *x >= 0.0)) {
            Some(x) => Ok(x),
            None => Err(config.error(name, format!("found {}, expected a number of 0 or more", brief(v)))),
        },
    }
}

/// The number of values of a field; `None` where it overflows.
fn count(sides: [usize; 4]) -> Option<usize> {
    sides.iter().filter(|n| **n > 0).try_fold(1usize, |n, &side| n.checked_mul(side)).filter(|_| sides[0] > 0)
}

fn dimensionality(sides: [usize; 4]) -> ZfpDimensionality {
    match sides {
        [_, 0, ..] => ZfpDimensionality::D1,
        [_, _, 0, _] => ZfpDimensionality::D2,
        [_, _, _, 0] => ZfpDimensionality::D3,
        _ => ZfpDimensionality::D4,
    }
}

fn damaged(e: impl std::fmt::Display) -> Error {
    err!(Chunk, "the zfp stream is damaged ({e})")
}

/// Bytes as numbers where they are aligned, and a copy of them where they are not.
enum ZfpNumbers<'a, T> {
    There(&'a [T]),
    Copied(Vec<T>),
}

impl<T: ZfpScalar> ZfpNumbers<'_, T> {
    fn of(src: &[u8]) -> Result<ZfpNumbers<'_, T>> {
        // SAFETY: every pattern of bits is a number of the types that zfp knows (two integers, two of IEEE 754).
        if let ([], numbers, []) = unsafe { src.align_to::<T>() } {
            return Ok(ZfpNumbers::There(numbers));
        }
        let mut copy = zeros::<T>(src.len() / size_of::<T>())?;
        bytes_of(&mut copy).copy_from_slice(src);
        Ok(ZfpNumbers::Copied(copy))
    }

    fn slice(&self) -> &[T] {
        match self {
            ZfpNumbers::There(numbers) => numbers,
            ZfpNumbers::Copied(numbers) => numbers,
        }
    }
}

fn zeros<T: ZfpScalar>(n: usize) -> Result<Vec<T>> {
    let mut numbers = Vec::new();
    numbers.try_reserve_exact(n).map_err(|_| err!(NoMemory, "no memory for {n} numbers"))?;
    numbers.resize(n, T::default());
    Ok(numbers)
}

fn bytes_of<T: ZfpScalar>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: numbers of zfp's types have no padding, and any bytes make some number; bytes need no alignment.
    unsafe { numbers.align_to_mut::<u8>().1 }
}

/// Integers of 8 and 16 bits at the top of 32, and unsigned ones of 32 and 64 in the signed type of their size.
fn promote(t: DataType, src: &[u8]) -> Result<ZfpNumbers<'_, i32>> {
    let mut wide = zeros::<i32>(src.len() / t.size())?;
    let small = src.as_chunks::<2>().0.iter().copied();
    match t {
        DataType::Int8 => wide.iter_mut().zip(src).for_each(|(w, b)| *w = i32::from(*b as i8) << 23),
        DataType::UInt8 => wide.iter_mut().zip(src).for_each(|(w, b)| *w = (i32::from(*b) - 0x80) << 23),
        DataType::Int16 => wide.iter_mut().zip(small).for_each(|(w, b)| *w = i32::from(i16::from_le_bytes(b)) << 15),
        _ => wide.iter_mut().zip(small).for_each(|(w, b)| *w = (i32::from(u16::from_le_bytes(b)) - 0x8000) << 15),
    }
    Ok(ZfpNumbers::Copied(wide))
}

fn demote(t: DataType, wide: &[i32], dst: &mut [u8]) {
    match t {
        DataType::Int8 => dst.iter_mut().zip(wide).for_each(|(d, w)| *d = (w >> 23).clamp(-0x80, 0x7f) as u8),
        DataType::UInt8 => dst.iter_mut().zip(wide).for_each(|(d, w)| *d = ((w >> 23) + 0x80).clamp(0, 0xff) as u8),
        DataType::Int16 => {
            let slots = dst.as_chunks_mut::<2>().0.iter_mut();
            slots.zip(wide).for_each(|(d, w)| *d = ((w >> 15).clamp(-0x8000, 0x7fff) as i16).to_le_bytes());
        }
        _ => {
            let slots = dst.as_chunks_mut::<2>().0.iter_mut();
            slots.zip(wide).for_each(|(d, w)| *d = (((w >> 15) + 0x8000).clamp(0, 0xffff) as u16).to_le_bytes());
        }
    }
}

impl ZfpStage {
    fn is_small(&self) -> bool {
        self.data_type.size() < 4
    }

    fn is_unsigned(&self) -> bool {
        matches!(self.data_type, DataType::UInt32 | DataType::UInt64)
    }

    fn scalar(&self) -> ZfpScalarType {
        match self.data_type {
            DataType::Float32 => ZfpScalarType::F32,
            DataType::Float64 => ZfpScalarType::F64,
            DataType::Int64 | DataType::UInt64 => ZfpScalarType::I64,
            _ => ZfpScalarType::I32,
        }
    }

    fn config(&self, sides: [usize; 4]) -> Result<ZfpConfig> {
        Ok(match self.mode {
            ZfpMode::Reversible => ZfpConfig::reversible(),
            ZfpMode::Expert(config) => config,
            ZfpMode::Accuracy(tolerance) => ZfpConfig::fixed_accuracy(tolerance),
            ZfpMode::Precision(precision) => ZfpConfig::fixed_precision(precision),
            ZfpMode::Rate(rate) => self.rate(rate, dimensionality(sides))?,
            ZfpMode::Unknown(mode) => bail!(Unsupported, "zfpy with mode {mode} is read, but not written"),
        })
    }

    fn rate(&self, rate: f64, dims: ZfpDimensionality) -> Result<ZfpConfig> {
        ZfpConfig::fixed_rate(rate, self.scalar(), dims, ZfpStreamAlignment::Unaligned)
            .map_err(|_| err!(Unsupported, "zfp with {rate} bits a value of {} is not supported", self.data_type.name()))
    }

    /// What a writer meant whose bare streams of a fixed rate have blocks of other sizes: the crate zarrs gives each block the bits of
    /// one of three dimensions, whatever the chunk's rank is. The length of the stream tells.
    fn rate_of_three_dimensions(&self, sides: [usize; 4], length: Option<usize>) -> Option<ZfpConfig> {
        let ZfpMode::Rate(rate) = self.mode else { return None };
        let exactly = |config: &ZfpConfig| {
            let blocks = sides.iter().filter(|n| **n > 0).try_fold(1usize, |n, side| n.checked_mul(side.div_ceil(4)))?;
            Some(blocks.checked_mul(config.max_bits() as usize)?.div_ceil(8 * WORD) * WORD)
        };
        let (usual, other) = (self.rate(rate, dimensionality(sides)).ok()?, self.rate(rate, ZfpDimensionality::D3).ok()?);
        let told = length.is_none_or(|n| exactly(&usual) != Some(n) && exactly(&other) == Some(n));
        told.then_some(other)
    }

    /// The sides of a block of that number of values: those of the chunk, or as many in one dimension where they are not known; `None` where the chunk has others.
    fn sides_of(&self, values: usize) -> Option<[usize; 4]> {
        match count(self.sides) {
            Some(all) => (all == values).then_some(self.sides),
            None => Some([values, 0, 0, 0]),
        }
    }

    /// The most bytes of a stream of such a field.
    fn most(&self, config: &ZfpConfig, sides: [usize; 4]) -> Result<usize> {
        let most = config.maximum_size(self.scalar(), sides).filter(|n| (*n as u64) < limits::max_chunk().saturating_mul(4));
        most.ok_or_else(|| err!(Limit, "a zfp field of {sides:?} values is too large"))
    }

    fn compress<T: ZfpScalar>(&self, numbers: &[T], dst: &mut Vec<u8>) -> Result<()> {
        let values = numbers.len();
        let sides = self.sides_of(values);
        let sides = sides.ok_or_else(|| err!(Unsupported, "zfp cannot encode {values} values of a chunk of {:?}", self.sides))?;
        let config = self.config(sides)?;
        let most = self.most(&config, sides)?;
        let mut stream = ZfpBitStream::new(most).map_err(|_| err!(NoMemory, "no memory for {most} bytes of zfp"))?;
        let field = ZfpField::new(numbers, sides).map_err(|e| err!(Internal, "a zfp field of {sides:?} values: {e}"))?;
        if self.header {
            stream
                .write_header(&config, &field.metadata(), ZfpHeaderMask::FULL)
                .map_err(|e| err!(Unsupported, "zfp cannot write the header of a field of {sides:?} values ({e})"))?;
        }
        stream.compress(&config, &field).map_err(|e| err!(Internal, "zfp: {e}"))?;
        let made = stream.as_bytes();
        dst.clear();
        limits::reserve(dst, made.len())?;
        dst.extend_from_slice(made);
        Ok(())
    }

    /// The sides and the configuration that the header says, checked; without one, those of the chunk.
    fn read_header(&self, stream: &mut ZfpBitStream, expected: ZfpScalarType, n: usize) -> Result<([usize; 4], ZfpConfig)> {
        if !self.header {
            let values = n / self.data_type.size();
            let sides = self.sides_of(values).ok_or_else(|| err!(Chunk, "zfp found {values} values of a chunk of {:?}", self.sides))?;
            let length = stream.capacity();
            return match self.rate_of_three_dimensions(sides, Some(length)) {
                Some(config) => Ok((sides, config)),
                None => Ok((sides, self.config(sides)?)),
            };
        }
        let header = stream.read_header(ZfpHeaderMask::FULL).map_err(damaged)?;
        let (Some(meta), Some(config)) = (header.metadata, header.config) else {
            bail!(Chunk, "the zfp header is not complete");
        };
        if meta.scalar_type != expected {
            bail!(Chunk, "the zfp header says {:?}, expected {expected:?}", meta.scalar_type);
        }
        match count(meta.dims).and_then(|values| values.checked_mul(self.data_type.size())) {
            Some(bytes) if bytes == n => Ok((meta.dims, config)),
            _ => bail!(Chunk, "the zfp header says values of {:?}, expected {} of them", meta.dims, n / self.data_type.size()),
        }
    }

    /// How many bytes the header says that there are, and of which type; without one, those of the chunk.
    fn decoded_size(&self, src: &[u8], dst: &Dest<'_>) -> Result<(usize, ZfpScalarType)> {
        let expected = match dst {
            Dest::Exact(d) => d.len(),
            Dest::AtMost(_, max) | Dest::Checked(_, max, _) => *max,
        };
        if !self.header {
            let n = count(self.sides).map_or(expected, |values| values.saturating_mul(self.data_type.size()));
            return Ok((n, self.scalar()));
        }
        let mut stream = ZfpBitStream::from_bytes(src.get(..HEADER.min(src.len())).unwrap_or_default())
            .map_err(|_| err!(NoMemory, "no memory for a zfp header"))?;
        let meta = stream.read_header(ZfpHeaderMask::FULL).map_err(damaged)?.metadata;
        // numcodecs stores what its `bitround` hands on as integers: the bits of floating-point numbers.
        let scalar = match (self.scalar(), meta.map(|m| m.scalar_type)) {
            (ZfpScalarType::F32, Some(ZfpScalarType::I32)) => ZfpScalarType::I32,
            (ZfpScalarType::F64, Some(ZfpScalarType::I64)) => ZfpScalarType::I64,
            (expected, _) => expected,
        };
        let bytes = meta.and_then(|m| count(m.dims)).and_then(|values| values.checked_mul(self.data_type.size()));
        Ok((bytes.ok_or_else(|| err!(Chunk, "the zfp header says more values than there can be"))?, scalar))
    }

    /// Decodes to `numbers`; `fill` replaces the bytes that a last word lacks.
    fn decompress_once<T: ZfpScalar>(&self, src: &[u8], numbers: &mut [T], fill: u8) -> Result<()> {
        let n = numbers.len() * self.data_type.size();
        let missing = src.len().next_multiple_of(WORD) - src.len();
        let mut words = Vec::new();
        words.try_reserve_exact(src.len().div_ceil(WORD)).map_err(|_| err!(NoMemory, "no memory for {} bytes of zfp", src.len()))?;
        let (whole, rest) = src.as_chunks::<WORD>();
        words.extend(whole.iter().map(|w| u64::from_le_bytes(*w)));
        if missing > 0 {
            let mut last = [fill; WORD];
            last.iter_mut().zip(rest).for_each(|(slot, byte)| *slot = *byte);
            words.push(u64::from_le_bytes(last));
        }
        let mut stream = ZfpBitStream::from_words(words);
        let (sides, config) = self.read_header(&mut stream, T::SCALAR_TYPE, n)?;
        let mut field = ZfpFieldMut::new(numbers, sides).map_err(damaged)?;
        let used = stream.decompress(&config, &mut field).map_err(|e| match e {
            ZfpDecompressionError::Truncated { required, .. } => {
                err!(Truncated, "the zfp stream ends early: {} of {required} bytes", src.len())
            }
            other => damaged(other),
        })?;
        match src.len() + missing {
            all if all < used => bail!(Truncated, "the zfp stream ends early: {} of {used} bytes", src.len()),
            all if all > used => bail!(Chunk, "found {} bytes after the end of the zfp stream", src.len() - used),
            _ => Ok(()),
        }
    }

    fn decompress<T: ZfpScalar>(&self, src: &[u8], numbers: &mut [T]) -> Result<()> {
        // More than the chunk's values could take is not worth a copy.
        if src.len() > self.encoded_size(Size::Exact(numbers.len() * self.data_type.size())).max() {
            bail!(Chunk, "found {} bytes of zfp, more than {} values take", src.len(), numbers.len());
        }
        self.decompress_once(src, numbers, 0)?;
        if !src.len().is_multiple_of(WORD) {
            // A stream that ends inside of a word is whole if it does not matter what follows.
            let mut again = zeros::<T>(numbers.len())?;
            self.decompress_once(src, &mut again, 0xff)?;
            if bytes_of(&mut again) != bytes_of(numbers) {
                bail!(Truncated, "the zfp stream ends early ({} bytes)", src.len());
            }
        }
        Ok(())
    }

    fn decode_as<T: ZfpScalar>(&self, src: &[u8], out: &mut [u8]) -> Result<()> {
        // SAFETY: as in `ZfpNumbers::of`.
        if let ([], numbers, []) = unsafe { out.align_to_mut::<T>() } {
            return self.decompress(src, numbers);
        }
        let mut numbers = zeros::<T>(out.len() / size_of::<T>())?;
        self.decompress(src, &mut numbers)?;
        out.copy_from_slice(bytes_of(&mut numbers));
        Ok(())
    }

    fn encode_as<T: ZfpScalar>(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        self.compress(ZfpNumbers::<T>::of(src)?.slice(), dst)
    }

    /// Values of an unsigned type that the signed one of its size has not.
    fn check_unsigned(&self, src: &[u8]) -> Result<()> {
        let size = self.data_type.size();
        if self.is_unsigned() && src.iter().skip(size - 1).step_by(size).any(|top| top & 0x80 != 0) {
            bail!(Unsupported, "zfp cannot write {} of 2^{} and more", self.data_type.name(), size * 8 - 1);
        }
        Ok(())
    }

    /// What is below 0 in the signed type is 0.
    fn clamp_unsigned(&self, out: &mut [u8]) {
        for number in out.chunks_exact_mut(self.data_type.size()) {
            if number.last().is_some_and(|top| top & 0x80 != 0) {
                number.fill(0);
            }
        }
    }
}

impl Stage for ZfpStage {
    fn name(&self) -> &'static str {
        if self.header { "zfpy" } else { "zfp" }
    }

    fn for_shape(&self, shape: &[u64]) -> Result<Option<StageRef>> {
        if shape.len() > 4 || shape.iter().any(|n| *n > MAX_SIDE) {
            bail!(Unsupported, "{} of chunks of shape {shape:?} is not supported, expected up to four dimensions", self.name());
        }
        let mut sides = [0; 4];
        sides.iter_mut().zip(shape.iter().rev()).for_each(|(side, n)| *side = *n as usize);
        if shape.is_empty() {
            sides[0] = 1;
        }
        Ok(Some(Arc::new(ZfpStage { sides, ..self.clone() })))
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        // Some modes may write more than they read: a block at its longest has a header and some bits for each plane, and a block that
        // is not full is as long as a full one.
        let values = decoded.max() / self.data_type.size();
        let sides = self.sides_of(values).unwrap_or([values, 0, 0, 0]);
        let config = self.config(sides).unwrap_or(ZfpConfig::reversible());
        let size = |config: ZfpConfig| config.maximum_size(self.scalar(), sides).unwrap_or(decoded.max());
        let expected = size(config).max(self.rate_of_three_dimensions(sides, None).map_or(0, size));
        Size::AtMost(expected.max(decoded.max().saturating_add(decoded.max() / 4)).saturating_add(1 << 16))
    }

    fn unit(&self) -> usize {
        self.data_type.size()
    }

    fn check_writing(&self) -> Result<()> {
        match self.mode {
            ZfpMode::Unknown(_) => self.config(self.sides).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        check_input("zfp", src.len(), self.data_type.size())?;
        if src.is_empty() {
            bail!(Unsupported, "zfp cannot write a chunk without values");
        }
        self.check_unsigned(src)?;
        if self.is_small() {
            return self.compress(promote(self.data_type, src)?.slice(), dst);
        }
        match self.scalar() {
            ZfpScalarType::I32 => self.encode_as::<i32>(src, dst),
            ZfpScalarType::I64 => self.encode_as::<i64>(src, dst),
            ZfpScalarType::F32 => self.encode_as::<f32>(src, dst),
            ZfpScalarType::F64 => self.encode_as::<f64>(src, dst),
        }
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let (n, scalar) = self.decoded_size(src, &dst)?;
        decode_known(dst, n, &mut |out| {
            check_whole("zfp", n, self.data_type.size())?;
            if self.is_small() {
                let mut wide = zeros::<i32>(out.len() / self.data_type.size())?;
                self.decompress(src, &mut wide)?;
                demote(self.data_type, &wide, out);
                return Ok(());
            }
            match scalar {
                ZfpScalarType::I32 => self.decode_as::<i32>(src, out)?,
                ZfpScalarType::I64 => self.decode_as::<i64>(src, out)?,
                ZfpScalarType::F32 => self.decode_as::<f32>(src, out)?,
                ZfpScalarType::F64 => self.decode_as::<f64>(src, out)?,
            }
            if self.is_unsigned() {
                self.clamp_unsigned(out);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use crate::dtype::Unit;

    fn bound(name: &str, json: &str, t: DataType, shape: &[u64]) -> StageRef {
        stage_v3(name, &config_of(json), ElementType::native(t)).unwrap().for_shape(shape).unwrap().unwrap()
    }

    fn encoded(stage: &StageRef, data: &[u8]) -> Vec<u8> {
        let mut out = vec![3; 9];
        stage.encode(data, &mut out).unwrap();
        assert!(out.len() <= stage.encoded_size(Size::Exact(data.len())).max());
        out
    }

    fn decoded(stage: &StageRef, src: &[u8], n: usize) -> Result<Vec<u8>> {
        // One byte behind an aligned place.
        let mut room = vec![0; n + 1];
        stage.decode(src, Dest::Exact(&mut room[1..]))?;
        let mut grown = Vec::new();
        stage.decode(src, Dest::AtMost(&mut grown, n + 50))?;
        assert!(grown == room[1..]);
        Ok(grown)
    }

    fn floats(n: usize) -> Vec<f64> {
        (0..n).map(|i| (i as f64 / 9.0).sin() * 100.0 + (i % 3) as f64).collect()
    }

    #[test]
    fn every_mode_type_and_rank_round_trips_within_its_bounds() {
        let shapes: &[&[u64]] = &[&[], &[1], &[37], &[5, 9], &[3, 6, 4], &[2, 3, 5, 7]];
        for name in ["zfp", "numcodecs.zfpy"] {
            for (t, exact) in [(DataType::Int32, true), (DataType::Int64, true), (DataType::Float32, false), (DataType::Float64, false)] {
                for shape in shapes {
                    let n = shape.iter().product::<u64>() as usize;
                    let data: Vec<u8> = match t {
                        DataType::Int32 => floats(n).iter().flat_map(|x| (*x as i32).to_le_bytes()).collect(),
                        DataType::Int64 => floats(n).iter().flat_map(|x| (*x as i64).to_le_bytes()).collect(),
                        DataType::Float32 => floats(n).iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
                        _ => floats(n).iter().flat_map(|x| x.to_le_bytes()).collect(),
                    };
                    let modes: &[(&str, f64)] = if name == "zfp" {
                        &[
                            (r#"{"mode": "reversible"}"#, 0.0),
                            (r#"{"mode": "fixed_accuracy", "tolerance": 0.05}"#, 0.05),
                            (r#"{"mode": "fixed_rate", "rate": 28}"#, 3.0),
                            (r#"{"mode": "fixed_precision", "precision": 24}"#, 3.0),
                            (r#"{"mode": "expert", "minbits": 1, "maxbits": 16658, "maxprec": 64, "minexp": -20}"#, 0.05),
                        ]
                    } else {
                        &[
                            (r#"{"mode": 4, "tolerance": -1, "rate": -1, "precision": -1}"#, 0.0),
                            (r#"{"mode": 5}"#, 0.0),
                            (r#"{"mode": 4, "tolerance": 0.05}"#, 0.05),
                            (r#"{"mode": 2, "rate": 28}"#, 3.0),
                            (r#"{"mode": 3, "precision": 24}"#, 3.0),
                        ]
                    };
                    for (json, bound_of_error) in modes {
                        let s = bound(name, json, t, shape);
                        let stored = encoded(&s, &data);
                        let back = decoded(&s, &stored, data.len()).unwrap();
                        if *bound_of_error == 0.0 {
                            assert!(back == data, "{name} {json} {t:?} {shape:?}");
                        } else if !exact {
                            let values = |bytes: &[u8]| -> Vec<f64> {
                                match t {
                                    DataType::Float32 => bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into()).collect(),
                                    _ => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
                                }
                            };
                            for (a, b) in values(&back).iter().zip(values(&data)) {
                                assert!((a - b).abs() <= *bound_of_error, "{name} {json} {t:?} {shape:?}: {a} {b}");
                            }
                        }
                        assert_eq!(name == "zfp", !stored.starts_with(b"zfp\x05"));
                    }
                }
            }
        }
    }

    /// What the header of the C ABI warns of: the numbers of a block are coded together.
    #[test]
    fn rounding_loses_nan_and_infinity_and_what_lies_beside_much_larger_numbers() {
        let back = |json: &str, data: [f32; 8]| {
            let bytes: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
            let s = bound("numcodecs.zfpy", json, DataType::Float32, &[8]);
            let back = decoded(&s, &encoded(&s, &bytes), 32).unwrap();
            back.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect::<Vec<_>>()
        };
        for odd in [f32::NAN, f32::INFINITY, 9.969_21e36] {
            let data = [odd, 3.0, 3.0, 3.0, odd, odd, odd, odd];
            let bits = |data: &[f32]| data.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&back(r#"{"mode": 4}"#, data)), bits(&data));
            for json in [r#"{"mode": 4, "tolerance": 0.01}"#, r#"{"mode": 3, "precision": 24}"#, r#"{"mode": 2, "rate": 16}"#] {
                let found = back(json, data);
                assert!(found.iter().all(|x| x.is_finite()), "{odd} {json}: {found:?}");
                assert!(odd.is_nan() || (found[1] - 3.0).abs() > 1.0, "{odd} {json}: {found:?}");
            }
        }
    }

    #[test]
    fn small_and_unsigned_integers_are_moved_into_signed_ones() {
        for t in [DataType::Int8, DataType::UInt8, DataType::Int16, DataType::UInt16] {
            let s = bound("zfp", r#"{"mode": "reversible"}"#, t, &[64]);
            let data: Vec<u8> = (0..64 * t.size()).map(|i| (i * 37) as u8).collect();
            assert!(decoded(&s, &encoded(&s, &data), data.len()).unwrap() == data, "{t:?}");
        }
        let s = bound("zfp", r#"{"mode": "reversible"}"#, DataType::UInt32, &[4]);
        let signed = bound("zfp", r#"{"mode": "reversible"}"#, DataType::Int32, &[4]);
        let data: Vec<u8> = [0u32, 7, 1 << 30, i32::MAX as u32].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(encoded(&s, &data), encoded(&signed, &data));
        let negative: Vec<u8> = [-1i32, 5, -9, 8].iter().flat_map(|n| n.to_le_bytes()).collect();
        let clamped: Vec<u8> = [0i32, 5, 0, 8].iter().flat_map(|n| n.to_le_bytes()).collect();
        assert_eq!(decoded(&s, &encoded(&signed, &negative), 16).unwrap(), clamped);
        assert_eq!(s.encode(&negative, &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn times_are_counts_of_64_bits_as_they_lie_in_the_buffer() {
        // What numcodecs 0.16.6 makes of -1, 0, 1782864000, NaT and 5 in either byte order.
        let little = "7a66700541000000000000887f00000000000000000000000000000032231111213022303201010332030040fd0f00000000000000460000";
        let big = "7a66700541000000000000887f06000064020206446044606446226206000000000000000000000040040080fa038c00";
        let (forth, back) = (le!(i64, -1, 0, 1_782_864_000, i64::MIN, 5), be!(i64, -1, 0, 1_782_864_000, i64::MIN, 5));
        let seconds = Unit::new("s", 1).unwrap();
        for t in [DataType::DateTime(seconds), DataType::TimeDelta(seconds)] {
            for (order, stream, data) in [(ByteOrder::Little, little, &forth), (ByteOrder::Big, big, &back)] {
                let stage = build_v2("zfpy", &config_of(r#"{"mode": 4}"#), ElementType::new(t, order)).unwrap().stage;
                let stage = stage.for_shape(&[5]).unwrap().unwrap();
                assert_eq!(decoded(&stage, &bytes_of_hex(stream), 40).unwrap(), *data, "{t:?} {order:?}");
                assert_eq!(encoded(&stage, data), bytes_of_hex(stream), "{t:?} {order:?}");
            }
            let stage = bound("numcodecs.zfpy", r#"{"mode": 4}"#, t, &[5]);
            assert_eq!(decoded(&stage, &bytes_of_hex(little), 40).unwrap(), forth, "{t:?}");
            let (stage, counts) = [t, DataType::Int64].map(|t| bound("zfp", r#"{"mode": "reversible"}"#, t, &[5])).into();
            assert_eq!(encoded(&stage, &forth), encoded(&counts, &forth), "{t:?}");
            assert_eq!(decoded(&stage, &encoded(&counts, &forth), 40).unwrap(), forth, "{t:?}");
        }
    }

    #[test]
    fn integers_are_the_bits_of_floating_point_numbers() {
        // What numcodecs 0.16.6 makes of 0, -1.5, 3.14159, 1e4, -0.0, infinity, 1e-7 and 2.5, first `BitRound(5)`, then `ZFPY`, and of
        // that again: reversible, with a tolerance of 1000, a precision of 20, a rate of 16.
        let singles = "000000000000c0bf0000484000001c46000000800000807f0000d83300002040";
        let doubles = "0000000000000000000000000000f8bf0000000000000940000000000080c340\
                       0000000000000080000000000000f07f0000000000007b3e0000000000000440";
        for (t, stream, back) in [
            (DataType::Float32, "7a6670057000000000000088ad7700406037204276331330b220030300000000", singles),
            (
                DataType::Float32,
                "7a667005700000000000c0cbf48573dc005b64af02000000000000d034f01ade6d0db055000000000000000000000000",
                singles,
            ),
            (DataType::Float32, "7a6670057000000000003081f48573dc005b64af02d034f01ade6d0db0550000", singles),
            (
                DataType::Float32,
                "7a667005700000000000f003f48573dc005b64af4d03afe1ddd6005b00000000",
                "00a0ffff00e0bfbf0020484000601c460000018000007f7f0000d93300001f40",
            ),
            (DataType::Float64, "7a667005710000000000008850ef000080488406c0f8dc040048cce442cc0c00", doubles),
            (
                DataType::Float64,
                "7a6670057100000000003081f4850260170daa4171d8345000b0eff0dbb00b05",
                "00000000000c0000000000000004f8bf0000000000fc0840000000000074c340\
                 0000000000000080000000000000f07f0000000000007b3e0000000000000440",
            ),
        ] {
            let (stage, back, stream) = (bound("numcodecs.zfpy", r#"{"mode": 4}"#, t, &[8]), bytes_of_hex(back), bytes_of_hex(stream));
            assert_eq!(decoded(&stage, &stream, back.len()).unwrap(), back, "{t:?}");
            assert_eq!(decoded(&stage, &encoded(&stage, &back), back.len()).unwrap(), back, "{t:?}");
        }
    }

    #[test]
    fn headers_must_be_those_of_the_chunk() {
        let json = r#"{"mode": 4, "tolerance": 0.01}"#;
        let s = bound("numcodecs.zfpy", json, DataType::Float32, &[8, 8]);
        let data: Vec<u8> = floats(64).iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        let good = encoded(&s, &data);
        // Another shape of as many values is read as it says.
        assert!(decoded(&bound("numcodecs.zfpy", json, DataType::Float32, &[64]), &good, 256).is_ok());
        for (other, shape) in [(DataType::Float64, &[8u64, 4][..]), (DataType::Int32, &[8, 8]), (DataType::Float32, &[8, 7])] {
            let e = decoded(&bound("numcodecs.zfpy", json, other, shape), &good, shape.iter().product::<u64>() as usize * other.size());
            assert_eq!(e.unwrap_err().kind(), ErrorKind::Chunk, "{other:?} {shape:?}");
        }
        for (at, byte) in [(0, b'Z'), (3, 4), (4, 0xff), (9, 0xff)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(decoded(&s, &bad, 256).unwrap_err().kind(), ErrorKind::Chunk, "byte {at}");
        }
    }

    #[test]
    fn streams_that_end_at_a_byte_are_read_and_shorter_ones_are_not() {
        let mut at_a_byte = 0;
        for n in 1..60 {
            let s = bound("zfp", r#"{"mode": "reversible"}"#, DataType::Float32, &[n]);
            let data: Vec<u8> = floats(n as usize).iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
            let good = encoded(&s, &data);
            // Of the last word, padding may be missing, and bits of values that only fill up a block.
            for cut in 0..good.len() {
                match decoded(&s, &good[..cut], data.len()) {
                    Ok(back) => {
                        assert!(cut + 8 > good.len() && back == data, "{n} cut at {cut}");
                        at_a_byte += 1;
                    }
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Truncated, "{n} cut at {cut}: {e}"),
                }
            }
            assert!(decoded(&s, &[&good[..], &[0; 8]].concat(), data.len()).is_err());
        }
        assert!(at_a_byte > 30);
    }

    #[test]
    fn rates_counted_in_three_dimensions_are_read() {
        let data: Vec<u8> = floats(30).iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        let s = bound("zfp", r#"{"mode": "fixed_rate", "rate": 12}"#, DataType::Float32, &[6, 5]);
        // 12 bits for 64 values are 48 bits for each of 16.
        let other = bound("zfp", r#"{"mode": "fixed_rate", "rate": 48}"#, DataType::Float32, &[6, 5]);
        let (usual, large) = (encoded(&s, &data), encoded(&other, &data));
        assert_eq!((usual.len(), large.len()), (96, 384));
        assert_eq!(decoded(&s, &large, 120).unwrap(), decoded(&other, &large, 120).unwrap());
        assert_ne!(decoded(&s, &usual, 120).unwrap(), decoded(&s, &large, 120).unwrap());
    }

    #[test]
    fn configurations_that_cannot_be_are_errors() {
        for (json, field) in [
            ("{}", "configuration.mode"),
            (r#"{"mode": "best"}"#, "configuration.mode"),
            (r#"{"mode": "fixed_rate"}"#, "configuration.rate"),
            (r#"{"mode": "fixed_accuracy", "tolerance": -1}"#, "configuration.tolerance"),
            (r#"{"mode": "fixed_precision", "precision": 1.5}"#, "configuration.precision"),
            (r#"{"mode": "expert", "minbits": 9, "maxbits": 3, "maxprec": 64, "minexp": 0}"#, "configuration.maxbits"),
        ] {
            let e = stage_v3("zfp", &config_of(json), ElementType::native(DataType::Float32)).err().unwrap();
            assert_eq!(e.field(), Some(field), "{json}");
        }
        let float = ElementType::native(DataType::Float32);
        let s = stage_v3("zfp", &config_of(r#"{"mode": "reversible"}"#), float).unwrap();
        assert_eq!(s.for_shape(&[1, 2, 3, 4, 5]).err().unwrap().kind(), ErrorKind::Unsupported);
        assert!(stage_v3("zfp", &config_of(r#"{"mode": "reversible"}"#), ElementType::native(DataType::Complex64)).is_err());
        assert!(build_v2("zfpy", &config_of("{}"), ElementType::native(DataType::UInt32)).is_err());
        let expert = bound("numcodecs.zfpy", r#"{"mode": 1}"#, DataType::Float32, &[4]);
        assert_eq!(expert.encode(&[0; 16], &mut Vec::new()).unwrap_err().kind(), ErrorKind::Unsupported);
    }

    #[test]
    fn the_examples_are_read() {
        for start in ["//! Example: `", "//! Example of zfpy: `"] {
            let line = include_str!("zfp.rs").lines().find_map(|l| l.strip_prefix(start)).unwrap();
            let object = config_of(line.trim_end_matches('`'));
            let configuration = object["configuration"].as_object().unwrap();
            stage_v3(object["name"].as_str().unwrap(), configuration, ElementType::native(DataType::Float64)).unwrap();
        }
    }
}
