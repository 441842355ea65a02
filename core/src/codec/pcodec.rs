//! `pcodec`: numbers as a standalone file of Pcodec (it begins with `pco!`).
//!
//! Specification: numcodecs `PCodec` (v2 id `pcodec`; v3 names `numcodecs.pcodec`, `pcodec`, array→bytes); the format is
//! that of the crate `pco`.
//! Example: `{"name": "numcodecs.pcodec", "configuration": {"level": 8, "mode_spec": "auto", "delta_spec": "auto"}}`
//!
//! Decoding needs no configuration. Single bytes are read but not written, since numcodecs knows none; complex numbers are
//! stored as their components, times as their counts. A file of signed integers in the place of floating-point numbers has their
//! bits: so numcodecs stores what its `bitround` hands on. Written are the numbers, which numcodecs reads, too.

use super::build::Built;
use super::config::{Config, Style, as_number};
use super::stage::{Dest, Size, Stage};
use super::streams::{check_input, decode_growing};
use crate::dtype::{DataType, ElementType, Kind};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits;
use crate::metadata::{Value, json::brief};
use half::f16;
use pco::data_types::{Number, NumberType};
use pco::errors::{ErrorKind as PcoKind, PcoError};
use pco::standalone::guarantee::chunk_size;
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

/// The window of numbers, as a power of two, that every chunk may ask for.
const MIN_WINDOW: usize = 8;
/// Numbers decoded at once; the library wants a multiple of 256.
const BLOCK: usize = 2048;

struct Pcodec {
    data_type: DataType,
    config: ChunkConfig,
    /// The most numbers of a page.
    page: usize,
    /// Whether it is numcodecs' in v3, where zarr-python does not make complex numbers of their components.
    of_numcodecs: bool,
}

/// Reads `level`, `mode_spec`, `delta_spec`, `paging_spec`, `delta_encoding_order` and `equal_pages_up_to`.
pub(super) fn build(config: &Config<'_>, item: ElementType) -> Result<Built> {
    let item = as_number(item);
    if matches!(item.data_type.kind(), Kind::Bool | Kind::Opaque | Kind::Struct | Kind::Variable) || item.swapped() {
        let order = if item.swapped() { "big-endian " } else { "" };
        bail!(Unsupported, "pcodec of {order}{} is not supported", item.data_type.name());
    }
    if let Some(other) = config.text("paging_spec")?.filter(|s| *s != "equal_pages_up_to") {
        return Err(config.error("paging_spec", format!("found {other:?}, expected \"equal_pages_up_to\"")));
    }
    let page = config.int("equal_pages_up_to", 1, 1 << 24, 1 << 18)? as usize;
    let chunk = ChunkConfig::default()
        .with_compression_level(config.int("level", 0, 12, 8)? as usize)
        .with_mode_spec(mode(config)?)
        .with_delta_spec(delta(config)?)
        .with_paging_spec(PagingSpec::EqualPagesUpTo(page));
    Ok(Built::bytes(Pcodec { data_type: item.data_type, config: chunk, page, of_numcodecs: config.style == Style::Numcodecs }))
}

/// numcodecs' names; and, as other writers of v3 have them, attempts with a parameter: `{"try_int_mult": 10}`.
fn mode(config: &Config<'_>) -> Result<ModeSpec> {
    let Some(value) = config.get("mode_spec") else { return Ok(ModeSpec::Auto) };
    let attempt = value.as_object().filter(|o| o.len() == 1).and_then(|o| o.iter().next());
    let parameter = match (value, attempt) {
        (Value::String(s), _) if s == "auto" => Some(ModeSpec::Auto),
        (Value::String(s), _) if s == "classic" => Some(ModeSpec::Classic),
        (_, Some((name, n))) => match name.as_str() {
            "try_float_mult" => n.as_f64().filter(|x| x.is_normal()).map(ModeSpec::TryFloatMult),
            "try_float_quant" => n.as_u64().filter(|n| (1..=52).contains(n)).map(|n| ModeSpec::TryFloatQuant(n as u32)),
            "try_int_mult" => n.as_u64().filter(|n| *n > 0).map(ModeSpec::TryIntMult),
            _ => None,
        },
        _ => None,
    };
    parameter.ok_or_else(|| config.error("mode_spec", format!("found {}, expected \"auto\" or \"classic\"", brief(value))))
}

/// numcodecs' names; newer releases say "no_op" for "none".
fn delta(config: &Config<'_>) -> Result<DeltaSpec> {
    let order = config.get("delta_encoding_order").map(|_| config.int("delta_encoding_order", 0, 7, 0)).transpose()?;
    match (config.text("delta_spec")?, order) {
        // An order alone is how older documents asked for it.
        (None | Some("auto" | "try_consecutive"), Some(order)) => Ok(DeltaSpec::TryConsecutive(order as usize)),
        (None | Some("auto"), None) => Ok(DeltaSpec::Auto),
        (Some("none" | "no_op"), None) => Ok(DeltaSpec::NoOp),
        (Some("try_lookback"), None) => Ok(DeltaSpec::TryLookback),
        (Some("try_consecutive"), None) => Err(config.error("delta_encoding_order", "the member is missing".into())),
        (Some("none" | "no_op" | "try_lookback"), Some(_)) => {
            Err(config.error("delta_encoding_order", "found an order, expected none with this delta_spec".into()))
        }
        (Some(other), _) => {
            let expected = "auto, none, try_consecutive or try_lookback";
            Err(config.error("delta_spec", format!("found {other:?}, expected {expected}")))
        }
    }
}

fn damaged(e: PcoError) -> Error {
    let kind = if matches!(e.kind, PcoKind::InsufficientData) { ErrorKind::Truncated } else { ErrorKind::Chunk };
    Error::new(kind, format!("the pcodec file is damaged ({})", e.message))
}

/// A number in the form that it has in a buffer.
trait Plain: Number + Copy {
    const ZERO: Self;
    fn write(self, bytes: &mut [u8]);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! plain {
    ($($t:ty, $zero:expr;)*) => { $(impl Plain for $t {
        const ZERO: Self = $zero;
        fn write(self, bytes: &mut [u8]) {
            bytes.copy_from_slice(&self.to_le_bytes());
        }
        fn read(bytes: &[u8]) -> Self {
            bytes.first_chunk().map_or($zero, |b| <$t>::from_le_bytes(*b))
        }
    })* };
}

plain!(i8, 0; i16, 0; i32, 0; i64, 0; u8, 0; u16, 0; u32, 0; u64, 0; f16, f16::ZERO; f32, 0.0; f64, 0.0;);

fn encode_as<T: Plain>(src: &[u8], config: &ChunkConfig) -> Result<Vec<u8>> {
    let mut numbers: Vec<T> = Vec::new();
    let count = src.len() / size_of::<T>();
    numbers.try_reserve_exact(count).map_err(|_| err!(NoMemory, "no memory for {count} numbers"))?;
    numbers.extend(src.chunks_exact(size_of::<T>()).map(T::read));
    simple_compress(&numbers, config).map_err(|e| err!(Unsupported, "pcodec cannot encode with this configuration ({})", e.message))
}

/// `n` bits from bit `at` on, the lowest first; `None` beyond the end.
fn bits(src: &[u8], at: usize, n: usize) -> Option<usize> {
    let (first, shift) = (at / 8, at % 8);
    let word = src.get(first..first + (shift + n).div_ceil(8))?.iter().rev().fold(0, |word, byte| word << 8 | usize::from(*byte));
    Some(word >> shift & ((1 << n) - 1))
}

/// Refuses a chunk whose dictionary or window is larger than its numbers, before the library makes room for them. `latent` is the
/// number of bits of a number.
///
/// A chunk begins with a byte for the type and the count of numbers, less one, in 24 bits. Then comes the mode in 4 bits: 1 and 2 have
/// a number behind it, 3 eight bits, 4 the entries of a dictionary in 25 bits and, from the next byte on, these. Then, from version 3 on,
/// the kind of deltas in 4 bits; 2 has the window's power of two, less one, behind it in 5 bits.
fn check_memory(chunk: &[u8], version: u8, latent: usize) -> Result<()> {
    let (Some(last), Some(mode)) = (bits(chunk, 8, 24), bits(chunk, 32, 4)) else { return Ok(()) };
    let numbers = last + 1;
    let deltas = match mode {
        1 | 2 => 36 + latent,
        3 => 44,
        4 => {
            let entries = bits(chunk, 36, 25).unwrap_or(0);
            if entries > numbers {
                bail!(Chunk, "the pcodec file has a dictionary of {entries} entries for {numbers} numbers");
            }
            64 + entries * latent
        }
        _ => 36,
    };
    if version >= 3 && bits(chunk, deltas, 4) == Some(2) {
        let window = bits(chunk, deltas + 4, 5).unwrap_or(0) + 1;
        if window > MIN_WINDOW.max(numbers.next_power_of_two().ilog2() as usize) {
            bail!(Chunk, "the pcodec file asks for a window of 2^{window} numbers, its chunk has {numbers}");
        }
    }
    Ok(())
}

/// Decodes every chunk of the file; the number of decoded bytes, or `None` where the room is too small.
fn decode_as<T: Plain>(src: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
    let (file, mut src) = FileDecompressor::new(src).map_err(damaged)?;
    let mut block = [T::ZERO; BLOCK];
    let mut filled = 0;
    loop {
        check_memory(src, file.format_version().major, size_of::<T>() * 8)?;
        let mut chunk = match file.chunk_decompressor::<T, _>(src).map_err(damaged)? {
            DecompressorItem::Chunk(chunk) => chunk,
            DecompressorItem::EndOfData([]) => return Ok(Some(filled)),
            DecompressorItem::EndOfData(rest) => bail!(Chunk, "found {} bytes after the end of the pcodec file", rest.len()),
        };
        let end = chunk.n().saturating_mul(size_of::<T>()).saturating_add(filled);
        let Some(target) = out.get_mut(filled..end) else { return Ok(None) };
        for slots in target.chunks_mut(BLOCK * size_of::<T>()) {
            let count = slots.len() / size_of::<T>();
            let made = chunk.read(&mut block).map_err(damaged)?.n_processed;
            if made != count {
                bail!(Truncated, "the pcodec file ends early: {made} of {count} numbers");
            }
            slots.chunks_exact_mut(size_of::<T>()).zip(&block).for_each(|(slot, n)| n.write(slot));
        }
        filled = end;
        src = chunk.into_src();
    }
}

impl Pcodec {
    /// The type to decode a file as: its own, where it has the bits of floating-point numbers.
    fn stored_type(&self, src: &[u8]) -> DataType {
        let found = FileDecompressor::new(src).and_then(|(file, chunks)| file.peek_number_type_or_termination(chunks));
        match (self.data_type, found) {
            (DataType::Float16, Ok(Some(NumberType::I16))) => DataType::Int16,
            (DataType::Float32, Ok(Some(NumberType::I32))) => DataType::Int32,
            (DataType::Float64, Ok(Some(NumberType::I64))) => DataType::Int64,
            (expected, _) => expected,
        }
    }
}

impl Stage for Pcodec {
    fn name(&self) -> &'static str {
        "pcodec"
    }

    /// Every page has a head of its own, which may be longer than its numbers.
    fn encoded_size(&self, decoded: Size) -> Size {
        let (n, numbers) = (decoded.max(), decoded.max() / self.data_type.swap_unit().max(1));
        let pages = numbers.div_ceil(self.page.max(1));
        let heads = pages.saturating_mul(chunk_size::<u64>(1));
        Size::AtMost(n.saturating_add(n / 4).saturating_add(heads).saturating_add(1 << 16))
    }

    fn unit(&self) -> usize {
        self.data_type.size()
    }

    fn check_writing(&self) -> Result<()> {
        use DataType::*;
        match self.data_type {
            Complex64 | Complex128 if self.of_numcodecs => {
                bail!(Unsupported, "numcodecs.pcodec of {} cannot be read by zarr-python, expected \"pcodec\"", self.data_type.name())
            }
            Int16 | Int32 | Int64 | UInt16 | UInt32 | UInt64 | Float16 | Float32 | Float64 | Complex64 | Complex128 => Ok(()),
            other => bail!(Unsupported, "pcodec of {} cannot be written: other readers know no such numbers", other.name()),
        }
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        use DataType::*;
        check_input("pcodec", src.len(), self.data_type.size())?;
        let made = match self.data_type {
            Int16 => encode_as::<i16>(src, &self.config)?,
            Int32 => encode_as::<i32>(src, &self.config)?,
            Int64 => encode_as::<i64>(src, &self.config)?,
            UInt16 => encode_as::<u16>(src, &self.config)?,
            UInt32 => encode_as::<u32>(src, &self.config)?,
            UInt64 => encode_as::<u64>(src, &self.config)?,
            Float16 => encode_as::<f16>(src, &self.config)?,
            Float32 | Complex64 => encode_as::<f32>(src, &self.config)?,
            Float64 | Complex128 => encode_as::<f64>(src, &self.config)?,
            _ => return self.check_writing(),
        };
        dst.clear();
        limits::reserve(dst, made.len())?;
        dst.extend_from_slice(&made);
        Ok(())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        use DataType::*;
        let decode = match self.stored_type(src) {
            Int8 => decode_as::<i8>,
            Int16 => decode_as::<i16>,
            Int32 => decode_as::<i32>,
            Int64 => decode_as::<i64>,
            Bool | UInt8 => decode_as::<u8>,
            UInt16 => decode_as::<u16>,
            UInt32 => decode_as::<u32>,
            UInt64 => decode_as::<u64>,
            Float16 => decode_as::<f16>,
            Float32 | Complex64 => decode_as::<f32>,
            Float64 | Complex128 => decode_as::<f64>,
            _ => bail!(Unsupported, "pcodec of {} is not supported", self.data_type.name()),
        };
        decode_growing(dst, src.len().saturating_mul(4), &mut |out| decode(src, out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use crate::dtype::Unit;

    fn stage(json: &str, t: DataType) -> StageRef {
        stage_v2("pcodec", json, t)
    }

    /// Numbers whose bits are all good.
    fn numbers(t: DataType, n: usize) -> Vec<u8> {
        (0..n * t.size()).map(|i| if i % t.size() < 2 { (i / t.size() % 31) as u8 } else { 0 }).collect()
    }

    #[test]
    fn every_type_round_trips() {
        for &t in DataType::NUMPY.iter().filter(|t| t.size() > 1) {
            for n in [0, 1, 255, 256, 2048, 2049, 20_000] {
                let (data, mut bytes) = (numbers(t, n), vec![1; 9]);
                let stage = stage(r#"{"level": 4, "equal_pages_up_to": 7000}"#, t);
                stage.encode(&data, &mut bytes).unwrap();
                assert!(bytes.starts_with(b"pco!") && Size::AtMost(bytes.len()).max() <= stage.encoded_size(Size::Exact(data.len())).max());
                let mut out = vec![3; data.len()];
                stage.decode(&bytes, Dest::Exact(&mut out)).unwrap();
                assert!(out == data, "{t:?} {n}");
                let mut out = Vec::new();
                stage.decode(&bytes, Dest::AtMost(&mut out, data.len() + 10)).unwrap();
                assert!(out == data, "{t:?} {n}");
            }
        }
        round_trips(&*doc_stage(include_str!("pcodec.rs")), &[0, 4, 4096]);
    }

    #[test]
    fn the_stated_size_is_enough_for_pages_of_few_numbers() {
        for (t, size) in [(DataType::Int16, 2), (DataType::Float32, 4), (DataType::Complex128, 16)] {
            for page in [1, 2, 7, 63] {
                let stage = stage(&format!(r#"{{"level": 8, "equal_pages_up_to": {page}}}"#), t);
                let data = sample(if page < 7 { 3000 } else { 12_000 } * size);
                assert!(decoded(&stage, &encoded(&stage, &data)) == data, "{t:?} {page}");
            }
        }
    }

    #[test]
    fn configurations_round_trip() {
        for json in [
            r#"{"level": 0, "mode_spec": "classic", "delta_spec": "none"}"#,
            r#"{"delta_spec": "no_op", "delta_encoding_order": null}"#,
            r#"{"delta_spec": "try_consecutive", "delta_encoding_order": 2}"#,
            r#"{"delta_encoding_order": 1, "delta_spec": "auto"}"#,
            r#"{"delta_spec": "try_lookback", "level": 12}"#,
            r#"{"mode_spec": {"try_int_mult": 3}, "paging_spec": "equal_pages_up_to"}"#,
        ] {
            round_trips(&*stage(json, DataType::Int32), &[0, 40, 40_000]);
        }
    }

    #[test]
    fn times_are_counts_of_64_bits_as_they_lie_in_the_buffer() {
        // What numcodecs 0.16.6 makes of -1, 0, 1782864000, NaT and 5 in either byte order.
        let little = "70636f21024201030404000000330000000000000000000080ffffffffffffff7f83006211a9010000000200ea00016200";
        let big = "70636f21024201030404000000330000000000801a11160080ffffffffffffff7f8800000000000000140200290a0140402000";
        let seconds = Unit::new("s", 1).unwrap();
        for t in [DataType::DateTime(seconds), DataType::TimeDelta(seconds)] {
            for (order, file, data) in [
                (ByteOrder::Little, little, le!(i64, -1, 0, 1_782_864_000, i64::MIN, 5)),
                (ByteOrder::Big, big, be!(i64, -1, 0, 1_782_864_000, i64::MIN, 5)),
            ] {
                let stage = build_v2("pcodec", &config_of("{}"), ElementType::new(t, order)).unwrap().stage;
                assert_eq!(decoded(&stage, &bytes_of_hex(file)), data, "{t:?} {order:?}");
                assert_eq!(decoded(&stage, &encoded(&stage, &data)), data, "{t:?} {order:?}");
            }
            for name in ["pcodec", "numcodecs.pcodec"] {
                let stage = stage_v3(name, &config_of("{}"), ElementType::native(t)).unwrap();
                assert_eq!(decoded(&stage, &bytes_of_hex(little)), le!(i64, -1, 0, 1_782_864_000, i64::MIN, 5), "{name} {t:?}");
            }
        }
    }

    #[test]
    fn integers_are_the_bits_of_floating_point_numbers() {
        // What numcodecs 0.16.6 makes of 0, -1.5, 3.14159, 1e4, -0.0, infinity, 1e-7 and 2.5: first `BitRound(5)`, then `PCodec()`.
        for (t, file, rounded) in [
            (
                DataType::Float16,
                "70636f21030003020401080700000010000000800080003e40c2e0f0000000fc008000c100",
                "000000be4042e0700080007c00000041",
            ),
            (
                DataType::Float32,
                "70636f2103000302040103070000001000000000000001000000800000c03f000048c000001cc600000000000080ff0000d8b3000020c000",
                "000000000000c0bf0000484000001c46000000800000807f0000d83300002040",
            ),
            (
                DataType::Float64,
                "70636f2103000302040104070000001000000000000000000000020000000000000080000000000000f83f00000000000009c0000000000080c3c0\
                 0000000000000000000000000000f0ff0000000000007bbe00000000000004c000",
                "0000000000000000000000000000f8bf0000000000000940000000000080c340\
                 0000000000000080000000000000f07f0000000000007b3e0000000000000440",
            ),
        ] {
            let stage = stage("{}", t);
            let (file, rounded) = (bytes_of_hex(file), bytes_of_hex(rounded));
            assert_eq!(decoded(&stage, &file), rounded, "{t:?}");
            assert_eq!(decoded(&stage, &encoded(&stage, &rounded)), rounded, "{t:?}");
            for other in [DataType::Float16, DataType::Float32, DataType::Float64, DataType::UInt32, DataType::Complex64] {
                let read = stage_v2("pcodec", "{}", other).decode(&file, Dest::AtMost(&mut Vec::new(), 1000));
                assert_eq!(read.map_err(|e| e.kind()), if other == t { Ok(()) } else { Err(ErrorKind::Chunk) }, "{t:?} as {other:?}");
            }
        }
        // Numbers are not the bits of integers.
        let file = encoded(&stage("{}", DataType::Float32), &sample(40));
        assert!(stage("{}", DataType::Int32).decode(&file, Dest::Exact(&mut [0; 40])).is_err());
    }

    #[test]
    fn damage_is_an_error() {
        refuses_damage(&*stage("{}", DataType::Int32));
        refuses_damage(&*stage("{}", DataType::Float64));
        let (stage, mut bytes) = (stage("{}", DataType::UInt16), Vec::new());
        stage.encode(&sample(600), &mut bytes).unwrap();
        bytes.push(0);
        let e = stage.decode(&bytes, Dest::Exact(&mut [0; 600])).unwrap_err();
        assert_eq!(e.message(), "found 1 bytes after the end of the pcodec file");
    }

    #[test]
    fn types_and_configurations_are_checked() {
        let big = ElementType::new(DataType::Int32, ByteOrder::Big);
        assert_eq!(build_v2("pcodec", &config_of("{}"), big).err().unwrap().kind(), ErrorKind::Unsupported);
        let e = stage("{}", DataType::UInt8).encode(&[1], &mut Vec::new()).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported);
        for (json, field) in [
            (r#"{"level": 13}"#, "level"),
            (r#"{"mode_spec": "try_hard"}"#, "mode_spec"),
            (r#"{"mode_spec": {"try_int_mult": 0}}"#, "mode_spec"),
            (r#"{"delta_spec": "some"}"#, "delta_spec"),
            (r#"{"delta_spec": "try_consecutive"}"#, "delta_encoding_order"),
            (r#"{"delta_spec": "none", "delta_encoding_order": 1}"#, "delta_encoding_order"),
            (r#"{"delta_spec": "no_op", "delta_encoding_order": 1}"#, "delta_encoding_order"),
            (r#"{"paging_spec": "exact"}"#, "paging_spec"),
            (r#"{"equal_pages_up_to": 0}"#, "equal_pages_up_to"),
        ] {
            let item = ElementType::native(DataType::Int32);
            assert_eq!(build_v2("pcodec", &config_of(json), item).err().unwrap().field(), Some(field), "{json}");
        }
    }

    #[test]
    fn memory_beyond_the_numbers_of_a_chunk_is_refused_before_it_is_taken() {
        let numbers: Vec<i64> = (0..3000).map(|i| [7, 900_000_000_001, -5][i * i % 7 % 3] + (i as i64 / 1000)).collect();
        let data: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
        let s = stage("{}", DataType::Int64);
        let mut refused = 0;
        for (mode, delta) in [
            (ModeSpec::TryDict, DeltaSpec::NoOp),
            (ModeSpec::Classic, DeltaSpec::TryLookback),
            (ModeSpec::TryIntMult(3), DeltaSpec::TryLookback),
            (ModeSpec::Auto, DeltaSpec::Auto),
        ] {
            let config = ChunkConfig::default().with_mode_spec(mode).with_delta_spec(delta);
            let good = simple_compress(&numbers, &config).unwrap();
            let mut out = vec![0; data.len()];
            s.decode(&good, Dest::Exact(&mut out)).unwrap();
            assert!(out == data);
            let (file, rest) = FileDecompressor::new(&good[..]).unwrap();
            let at = good.len() - rest.len();
            for bit in 32..120 {
                let mut bad = good.clone();
                bad[at + bit / 8] ^= 1 << (bit % 8);
                refused += usize::from(check_memory(&bad[at..], file.format_version().major, 64).is_err());
                let _ = s.decode(&bad, Dest::Exact(&mut out));
            }
        }
        assert!(refused > 5, "{refused}");
    }
}
