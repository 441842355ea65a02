//! `zstd`: Zstandard frames (RFC 8878).
//!
//! Specification: zarr-extensions, codec "zstd"; numcodecs `Zstd` (v2 id `zstd`; v3 names `zstd`, `numcodecs.zstd`).
//! Example: `{"name": "zstd", "configuration": {"level": 3, "checksum": true}}`
//!
//! Frames may be several, may lack their content size, and carry a checksum or not, whatever the configuration says.

use super::build::Built;
use super::config::Config;
use super::stage::{Dest, Stage};
use super::streams::decode_growing;
use crate::dtype::ElementType;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits;
use crate::per_thread::{self, PerThread};
use std::mem::MaybeUninit;
use zstd_safe::{CCtx, CParameter, DCtx, DParameter, InBuffer, OutBuffer, ResetDirective, WriteBuf};

/// Decoded chunks up to this size are always decoded as a whole.
const SMALL: usize = 128 << 10;
/// Bytes that are decoded at once only to be skipped.
const SKIP: usize = 64 << 10;
/// Bytes that are made room for at once where a frame states them, however short it is.
const STATED: usize = 64 << 20;

pub(super) struct Zstd {
    level: i32,
    checksum: bool,
}

impl Zstd {
    /// Of one that only decodes the settings do not matter.
    pub const DECODER: Zstd = Zstd { level: 0, checksum: false };
}

/// Reads `level` (0, the default, is the library's; clamped to its limits) and `checksum`.
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    let level = config.int("level", i64::MIN, i64::MAX, 0)?;
    let (low, high) = (i64::from(zstd_safe::min_c_level()).max(-131_072), i64::from(zstd_safe::max_c_level()));
    Ok(Built::bytes(Zstd { level: level.clamp(low, high) as i32, checksum: config.flag("checksum", false)? }))
}

thread_local! {
    static COMPRESSOR: PerThread<Option<CCtx<'static>>> = const { PerThread::new(None) };
    static DECOMPRESSOR: PerThread<Option<DCtx<'static>>> = const { PerThread::new(None) };
    static SKIPPED: PerThread<Vec<u8>> = const { PerThread::new(Vec::new()) };
}

fn with_compressor<T>(f: impl FnOnce(&mut CCtx<'static>) -> Result<T>) -> Result<T> {
    per_thread::with(&COMPRESSOR, |slot| match slot {
        Some(context) => f(context),
        None => f(slot.insert(CCtx::try_create().ok_or_else(|| err!(NoMemory, "no memory for a zstd compressor"))?)),
    })
}

fn with_decompressor<T>(f: impl FnOnce(&mut DCtx<'static>) -> Result<T>) -> Result<T> {
    per_thread::with(&DECOMPRESSOR, |slot| match slot {
        Some(context) => f(context),
        None => {
            let context = slot.insert(DCtx::try_create().ok_or_else(|| err!(NoMemory, "no memory for a zstd decompressor"))?);
            context.set_parameter(DParameter::WindowLogMax(limits::MAX_ZSTD_WINDOW_LOG)).map_err(error)?;
            f(context)
        }
    })
}

/// Decodes all frames to the front of `out`: the number of bytes.
pub(super) fn decode_frames(src: &[u8], out: &mut [u8]) -> Result<usize> {
    with_decompressor(|context| context.decompress(out, src).map_err(error))
}

/// Encodes one frame, which knows its size and has no checksum, to the front of `room`: the number of bytes, 0 where it does not fit.
pub(super) fn encode_frame(src: &[u8], room: &mut [MaybeUninit<u8>], level: i32) -> Result<usize> {
    with_compressor(|context| match context.compress(&mut Room(room), src, level) {
        Ok(made) => Ok(made),
        Err(code) if number(code) == MEMORY => Err(error(code)),
        Err(_) => Ok(0),
    })
}

/// Room that nothing was written to yet.
struct Room<'a>(&'a mut [MaybeUninit<u8>]);

// SAFETY: pointer and capacity are the slice's own; nothing is said to be initialised.
unsafe impl WriteBuf for Room<'_> {
    fn as_slice(&self) -> &[u8] {
        &[]
    }

    fn capacity(&self) -> usize {
        self.0.len()
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    unsafe fn filled_until(&mut self, _: usize) {}
}

/// A buffer's whole capacity as output: nothing is zeroed before it is written.
struct Spare<'a>(&'a mut Vec<u8>);

// SAFETY: pointer and capacity are the vector's own, and `as_slice` is its initialised part.
unsafe impl WriteBuf for Spare<'_> {
    fn as_slice(&self) -> &[u8] {
        self.0
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr()
    }

    unsafe fn filled_until(&mut self, n: usize) {
        // SAFETY: the caller has written the first `n` bytes, which are inside the capacity.
        unsafe { self.0.set_len(n) }
    }
}

/// The numbers of zstd's public error codes that are told apart here.
const CHECKSUM_WRONG: usize = 22;
const WINDOW_TOO_LARGE: usize = 16;
const MEMORY: usize = 64;
const ROOM_TOO_SMALL: usize = 70;
const INPUT_ENDS: usize = 72;

/// The number of an error code: codes are negated numbers.
fn number(code: usize) -> usize {
    code.wrapping_neg()
}

#[cold]
fn error(code: usize) -> Error {
    let kind = match number(code) {
        CHECKSUM_WRONG => ErrorKind::Checksum,
        WINDOW_TOO_LARGE => ErrorKind::Limit,
        MEMORY => ErrorKind::NoMemory,
        INPUT_ENDS => ErrorKind::Truncated,
        _ => ErrorKind::Chunk,
    };
    Error::new(kind, format!("zstd: {}", zstd_safe::get_error_name(code)))
}

/// The error of frames of which the library gave this code. Of a frame that ends within its checksum it says that the checksum differs, of bytes behind
/// the last frame that they end early.
#[cold]
fn error_in(src: &[u8], code: usize) -> Error {
    let (is_long, mut rest) = (number(code) == INPUT_ENDS, src);
    if !is_long && number(code) != CHECKSUM_WRONG {
        return error(code);
    }
    while !rest.is_empty() {
        match zstd_safe::find_frame_compressed_size(rest) {
            Ok(size) => rest = rest.get(size..).unwrap_or_default(),
            Err(_) if is_long && rest.len() < src.len() && !begins_frame(rest) => {
                return err!(Chunk, "found {} bytes behind the last zstd frame", rest.len());
            }
            Err(found) if number(found) == INPUT_ENDS => return error(found),
            Err(_) => break,
        }
    }
    error(code)
}

/// Whether bytes begin as a frame does, or one to skip, as far as they go.
fn begins_frame(src: &[u8]) -> bool {
    let magic = [0x28, 0xb5, 0x2f, 0xfd];
    let first = &src[..src.len().min(magic.len())];
    magic.starts_with(first) || (first[0] & 0xf0 == 0x50 && [0x2a, 0x4d, 0x18].starts_with(&first[1..]))
}

impl Stage for Zstd {
    fn name(&self) -> &'static str {
        "zstd"
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        dst.clear();
        limits::reserve(dst, zstd_safe::compress_bound(src.len()))?;
        with_compressor(|context| {
            context.reset(ResetDirective::SessionOnly).map_err(error)?;
            context.set_parameter(CParameter::CompressionLevel(self.level)).map_err(error)?;
            context.set_parameter(CParameter::ChecksumFlag(self.checksum)).map_err(error)?;
            context.compress2(&mut Spare(dst), src).map_err(error)?;
            Ok(())
        })
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        // A frame that states its size saves the growing; how much a lying one costs is bounded here and by the destination's limit.
        let stated = zstd_safe::get_frame_content_size(src).ok().flatten().and_then(|n| usize::try_from(n).ok());
        let believed = src.len().saturating_mul(16).max(STATED);
        let hint = stated.map_or_else(|| src.len().saturating_mul(4), |n| n.min(believed));
        if src.is_empty() {
            bail!(Truncated, "found no bytes, expected a zstd frame");
        }
        decode_growing(dst, hint, &mut |out| {
            with_decompressor(|context| match context.decompress(out, src) {
                Ok(n) => Ok(Some(n)),
                Err(code) if number(code) == ROOM_TOO_SMALL => Ok(None),
                Err(code) => Err(error_in(src, code)),
            })
        })
    }

    /// Frames can only be decoded from their start: what is before the range is decoded and dropped, what is behind it
    /// is never touched (nor is a checksum at the end verified).
    fn decode_range(&self, src: &[u8], total: usize, offset: usize, dst: &mut [u8]) -> Option<Result<()>> {
        let end = offset.checked_add(dst.len())?;
        if total <= SMALL || end > total - total / 4 {
            return None;
        }
        Some(with_decompressor(|context| {
            context.reset(ResetDirective::SessionOnly).map_err(error)?;
            let done = stream_range(context, src, offset, dst);
            context.reset(ResetDirective::SessionOnly).map_err(error)?;
            done
        }))
    }
}

fn stream_range(context: &mut DCtx<'static>, src: &[u8], offset: usize, dst: &mut [u8]) -> Result<()> {
    let mut input = InBuffer::around(src);
    per_thread::with(&SKIPPED, |skipped| {
        let mut left = offset;
        while left > 0 {
            let part = left.min(SKIP);
            stream_exactly(context, &mut input, limits::grow(skipped, part)?)?;
            left -= part;
        }
        stream_exactly(context, &mut input, dst)
    })
}

fn stream_exactly(context: &mut DCtx<'static>, input: &mut InBuffer<'_>, dst: &mut [u8]) -> Result<()> {
    let wanted = dst.len();
    let mut output = OutBuffer::around(dst);
    while output.pos() < wanted {
        let before = (input.pos(), output.pos());
        context.decompress_stream(&mut output, input).map_err(error)?;
        if (input.pos(), output.pos()) == before {
            bail!(Truncated, "the zstd frames end early");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    fn zstd(level: i32, checksum: bool) -> Zstd {
        Zstd { level, checksum }
    }

    fn encoded(data: &[u8], checksum: bool) -> Vec<u8> {
        let mut out = Vec::new();
        zstd(1, checksum).encode(data, &mut out).unwrap();
        out
    }

    #[test]
    fn every_size_and_level_round_trips() {
        round_trips(&*doc_stage(include_str!("zstd.rs")), SIZES);
        for level in [-131_072, -5, 0, 1, 9, 22] {
            round_trips(&zstd(level, false), &[0, 1, 4096]);
        }
    }

    #[test]
    fn levels_are_clamped_and_members_may_be_missing() {
        for json in ["{}", r#"{"level": 100}"#, r#"{"level": -9999999, "checksum": null, "other": 1}"#] {
            round_trips(&*build(&Config::v3(&config_of(json)), BYTES).unwrap().stage, &[100]);
        }
        let e = build(&Config::v3(&config_of(r#"{"level": "high"}"#)), BYTES).err().unwrap();
        assert_eq!(e.field(), Some("configuration.level"));
    }

    #[test]
    fn damage_is_an_error() {
        refuses_damage(&zstd(3, true));
        refuses_damage(&zstd(3, false));
        tells_cuts(&zstd(3, true));
        tells_cuts(&zstd(3, false));
    }

    #[test]
    fn bytes_behind_the_frames_are_no_cut() {
        for checksum in [false, true] {
            let bytes = encoded(&sample(1000), checksum);
            let kind = |tail: &[u8]| zstd(0, false).decode(&[&bytes, tail].concat(), Dest::Exact(&mut [0; 1000])).unwrap_err().kind();
            for tail in [&[0][..], b"xyz", &[0; 4], &[0x28, 0], &[0; 100]] {
                assert_eq!(kind(tail), ErrorKind::Chunk, "{tail:?}");
            }
            for tail in [&[0x28][..], &[0x28, 0xb5, 0x2f], &[0x53, 0x2a], &[0x50, 0x2a, 0x4d, 0x18, 9, 0, 0, 0, 1]] {
                assert_eq!(kind(tail), ErrorKind::Truncated, "a frame that is cut: {tail:?}");
            }
        }
    }

    #[test]
    fn a_wrong_content_checksum_has_its_own_kind() {
        let data = sample(1000);
        let mut bytes = encoded(&data, true);
        assert_eq!(bytes.len(), encoded(&data, false).len() + 4);
        *bytes.last_mut().unwrap() ^= 1;
        let e = zstd(0, false).decode(&bytes, Dest::Exact(&mut [0; 1000])).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Checksum);
    }

    #[test]
    fn frames_are_concatenated_and_skippable_ones_skipped() {
        let data = sample(1000);
        let mut bytes = encoded(&data[..400], true);
        bytes.extend_from_slice(&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        bytes.extend_from_slice(&encoded(&data[400..], false));
        let mut out = vec![0; 1000];
        zstd(0, false).decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, data);
        let mut out = Vec::new();
        zstd(0, false).decode(&bytes, Dest::AtMost(&mut out, 1000)).unwrap();
        assert_eq!(out, data);
    }

    /// A frame without content size, as streaming writers make it.
    fn streamed(data: &[u8]) -> Vec<u8> {
        let mut context = CCtx::create();
        let mut out = vec![0; zstd_safe::compress_bound(data.len()) + 64];
        let mut buffer = OutBuffer::around(&mut out[..]);
        let mut input = InBuffer::around(data);
        while input.pos() < data.len() {
            context.compress_stream(&mut buffer, &mut input).unwrap();
        }
        while context.end_stream(&mut buffer).unwrap() > 0 {}
        let n = buffer.pos();
        out.truncate(n);
        out
    }

    #[test]
    fn frames_without_content_size_are_decoded() {
        let data = sample(300_000);
        let bytes = streamed(&data);
        assert_eq!(zstd_safe::get_frame_content_size(&bytes).unwrap(), None);
        let mut out = vec![0; data.len()];
        zstd(0, false).decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert!(out == data);
        let mut out = Vec::new();
        zstd(0, false).decode(&bytes, Dest::AtMost(&mut out, data.len())).unwrap();
        assert!(out == data);
        assert!(zstd(0, false).decode(&bytes, Dest::AtMost(&mut out, data.len() - 1)).is_err());
    }

    #[test]
    fn a_frame_that_lies_about_its_size_allocates_no_more_than_allowed() {
        // Magic number, a descriptor with an 8-byte content size, single segment.
        let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
        bytes.extend_from_slice(&(1u64 << 60).to_le_bytes());
        bytes.extend_from_slice(&[1, 0, 0]);
        let mut out = Vec::new();
        assert!(zstd(0, false).decode(&bytes, Dest::AtMost(&mut out, 5000)).is_err());
        assert!(out.capacity() <= 8192);
        let mut out = Vec::new();
        assert!(zstd(0, false).decode(&bytes, Dest::AtMost(&mut out, 256 << 20)).is_err());
        assert!(out.capacity() <= STATED);
        assert!(zstd(0, false).decode(&bytes, Dest::Exact(&mut [0; 10])).is_err());
    }

    #[test]
    fn parts_of_large_chunks_are_decoded_alone() {
        let n = 1 << 20;
        assert_eq!(ranges_agree(&zstd(1, false), n, &[(0, 8), (0, 1000), (5, 70_000), (n / 2, 4096), (100_000, 0)]), 5);
        assert_eq!(ranges_agree(&zstd(1, false), n, &[(n - 8, 8), (0, n)]), 0);
        assert_eq!(ranges_agree(&zstd(1, false), 1000, &[(0, 8)]), 0);
        round_trips(&zstd(1, false), &[1000]);
    }

    #[test]
    fn windows_beyond_the_limit_are_refused_where_they_need_memory() {
        // No content size, a window of 2^28 bytes, one raw block of one byte.
        let bytes = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90, 0x09, 0, 0, b'x'];
        let e = zstd(0, false).decode_range(&bytes, 1 << 20, 0, &mut [0; 1]).unwrap().unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Limit);
        let mut out = [0];
        zstd(0, false).decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, *b"x");
    }

    #[test]
    fn a_part_of_truncated_frames_is_an_error() {
        let bytes = encoded(&sample(1 << 20), false);
        let mut out = [0; 16];
        assert!(zstd(1, false).decode_range(&bytes[..bytes.len() / 3], 1 << 20, 700_000, &mut out).unwrap().is_err());
        assert!(zstd(1, false).decode_range(&[], 1 << 20, 0, &mut out).unwrap().is_err());
    }
}
