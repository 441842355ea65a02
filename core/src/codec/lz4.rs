//! `lz4`: the decoded size (4 bytes little-endian), then one LZ4 block.
//!
//! Specification: numcodecs `LZ4` (v2 id `lz4`; v3 name `numcodecs.lz4`).
//! Example: `{"name": "numcodecs.lz4", "configuration": {"acceleration": 1}}`
//!
//! Both directions are those of the C library: its encoder knows `acceleration`, and its checking decoder is about three times as fast
//! as the one in safe Rust (lz4_flex).

use super::build::Built;
use super::config::Config;
use super::stage::{Dest, Stage};
use super::streams::decode_known;
use crate::dtype::ElementType;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits;
use std::ffi::{c_char, c_int};

/// Bytes of the size in front.
const HEADER: usize = 4;
/// What the length of a match counts from.
const LEAST_MATCH: usize = 4;
/// The most that LZ4 encodes at once.
const MAX_INPUT: usize = 0x7E00_0000;

struct Lz4 {
    acceleration: c_int,
}

/// Reads `acceleration`; less than 1 counts as 1.
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    let acceleration = config.int("acceleration", i32::MIN.into(), i32::MAX.into(), 1)?.max(1) as c_int;
    Ok(Built::bytes(Lz4 { acceleration }))
}

/// Decodes one LZ4 block to the front of `out`: the number of bytes.
pub(super) fn decode_block(block: &[u8], out: &mut [u8]) -> Result<usize> {
    let (Ok(from), Ok(to)) = (c_int::try_from(block.len()), c_int::try_from(out.len())) else {
        bail!(Limit, "found an lz4 block of {} bytes for {}, expected less than 2^31", block.len(), out.len());
    };
    // SAFETY: both buffers are live, apart, and of the stated sizes. This decoder, unlike the library's others, checks every length of
    // the block against both of them.
    let made = unsafe { lz4_sys::LZ4_decompress_safe(block.as_ptr().cast(), out.as_mut_ptr().cast(), from, to) };
    usize::try_from(made).map_err(|_| err!(Chunk, "the lz4 block is damaged, or decodes to more than {} bytes", out.len()))
}

/// Decodes the first bytes of a block that has more of them than `first` has room for.
fn decode_first(block: &[u8], first: &mut [u8]) -> Result<()> {
    unsafe extern "C" {
        fn LZ4_decompress_safe_partial(src: *const c_char, dst: *mut c_char, len: c_int, wanted: c_int, room: c_int) -> c_int;
    }
    let (Ok(from), Ok(wanted)) = (c_int::try_from(block.len()), c_int::try_from(first.len())) else {
        bail!(Limit, "found an lz4 block of {} bytes, expected less than 2^31", block.len());
    };
    // SAFETY: both buffers are live, apart, and of the stated sizes; every length of the block is checked against both of them.
    match unsafe { LZ4_decompress_safe_partial(block.as_ptr().cast(), first.as_mut_ptr().cast(), from, wanted, wanted) } {
        made if made == wanted => Ok(()),
        _ => Err(err!(Chunk, "the lz4 block is damaged, or has fewer bytes than its header says")),
    }
}

/// Whether a block ends before it has made `size` bytes, without damage to what is there.
#[cold]
fn ends_early(block: &[u8], size: usize) -> bool {
    let (mut bytes, mut made) = (block.iter(), 0usize);
    while let Some(token) = bytes.next() {
        let Some(literals) = length(token >> 4, &mut bytes) else { return true };
        made = made.saturating_add(literals);
        if made > size || bytes.len() < literals {
            return made <= size;
        }
        bytes = bytes.as_slice()[literals..].iter();
        if made == size {
            return false;
        }
        let (Some(low), Some(high)) = (bytes.next(), bytes.next()) else { return true };
        let Some(same) = length(token & 15, &mut bytes) else { return true };
        let back = usize::from(u16::from_le_bytes([*low, *high]));
        let is_right = (1..=made).contains(&back);
        made = made.saturating_add(same.saturating_add(LEAST_MATCH));
        if !is_right || made > size {
            return false;
        }
    }
    true
}

/// A length that begins in a token and goes on in the bytes behind it, unless these end.
fn length(first: u8, bytes: &mut std::slice::Iter<'_, u8>) -> Option<usize> {
    let mut all = usize::from(first);
    let mut last = if first == 15 { 255 } else { 0 };
    while last == 255 {
        last = *bytes.next()?;
        all = all.saturating_add(usize::from(last));
    }
    Some(all)
}

impl Stage for Lz4 {
    fn name(&self) -> &'static str {
        "lz4"
    }

    fn most(&self) -> usize {
        MAX_INPUT
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        if src.len() > MAX_INPUT {
            bail!(Limit, "found {} bytes, lz4 takes at most {MAX_INPUT}", src.len());
        }
        // SAFETY: no preconditions.
        let bound = unsafe { lz4_sys::LZ4_compressBound(src.len() as c_int) };
        let (head, room) = limits::grow(dst, HEADER + bound.max(0) as usize)?.split_at_mut(HEADER);
        head.copy_from_slice(&(src.len() as u32).to_le_bytes());
        let (from, to) = (src.as_ptr().cast(), room.as_mut_ptr().cast());
        // SAFETY: both buffers are live, apart, and of the stated sizes, which fit c_int.
        let made = unsafe { lz4_sys::LZ4_compress_fast(from, to, src.len() as c_int, bound, self.acceleration) };
        match usize::try_from(made) {
            Ok(n @ 1..) => {
                dst.truncate(HEADER + n);
                Ok(())
            }
            _ => Err(err!(Internal, "LZ4_compress_fast returned {made} for {} bytes", src.len())),
        }
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let Some((head, block)) = src.split_first_chunk::<HEADER>() else {
            bail!(Truncated, "found {} bytes, expected at least the {HEADER} of a size", src.len());
        };
        let size = u32::from_le_bytes(*head) as usize;
        if size > MAX_INPUT {
            bail!(Chunk, "the lz4 header says {size} bytes, expected at most {MAX_INPUT}");
        }
        // No byte of a block makes more than 255.
        if size / 255 > block.len() {
            bail!(Truncated, "the lz4 header says {size} bytes, expected at most {} of a block of {}", block.len() * 255, block.len());
        }
        let told = |e: Error| match e.kind() == ErrorKind::Chunk && ends_early(block, size) {
            true => err!(Truncated, "the lz4 block ends before it has made the {size} bytes that its header says"),
            false => e,
        };
        let dst = dst.check_first(size, |first| decode_first(block, first).map_err(told))?;
        decode_known(dst, size, &mut |out| match decode_block(block, out).map_err(told)? {
            n if n == size => Ok(()),
            n => Err(told(err!(Chunk, "the lz4 block has {n} bytes, its header says {size}"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    #[test]
    fn every_size_and_acceleration_round_trips() {
        round_trips(&*doc_stage(include_str!("lz4.rs")), SIZES);
        for acceleration in [-5, 0, 1, 10, 70_000] {
            let stage = stage_v2("lz4", &format!(r#"{{"acceleration": {acceleration}}}"#), DataType::UInt8);
            round_trips(&*stage, &[0, 1, 13, 4096, 100_000]);
        }
    }

    #[test]
    fn the_size_stands_in_front_little_endian() {
        let mut out = Vec::new();
        Lz4 { acceleration: 1 }.encode(&[7; 4000], &mut out).unwrap();
        assert_eq!(out[..4], [0xa0, 0x0f, 0, 0]);
    }

    #[test]
    fn damage_and_lying_sizes_are_errors() {
        let stage = Lz4 { acceleration: 1 };
        refuses_damage(&stage);
        tells_cuts(&stage);
        let mut bytes = Vec::new();
        stage.encode(&sample(100), &mut bytes).unwrap();
        let [damaged, cut] = [ErrorKind::Chunk, ErrorKind::Truncated];
        for (size, kind) in [(0u32, damaged), (99, damaged), (101, cut), (u32::MAX, damaged)] {
            bytes[..4].copy_from_slice(&size.to_le_bytes());
            let e = stage.decode(&bytes, Dest::AtMost(&mut Vec::new(), 200)).unwrap_err();
            assert_eq!(e.kind(), kind, "{size}: {e}");
        }
        // No room is made for what so short a block cannot become.
        bytes[..4].copy_from_slice(&(200u32 << 20).to_le_bytes());
        let mut out = Vec::new();
        let e = stage.decode(&bytes, Dest::AtMost(&mut out, 256 << 20)).unwrap_err();
        assert_eq!((e.kind(), out.capacity()), (cut, 0), "{e}");
    }
}
