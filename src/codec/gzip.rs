//! `gzip`: members of RFC 1952; and the deflate contexts that `zlib` shares.
//!
//! Specification: v3 core codecs, "gzip"; numcodecs `GZip` (v2 id `gzip`; v3 names `gzip`, `numcodecs.gzip`).
//! Example: `{"name": "gzip", "configuration": {"level": 5}}`
//!
//! All members are decoded, and zeros after the last one are accepted; anything else there is an error.

use super::build::Built;
use super::config::{Config, Style};
use super::stage::{Dest, Size, Stage};
use super::streams::{compressed_size, decode_growing};
use crate::dtype::ElementType;
use crate::error::{Result, bail, err};
use crate::limits;
use libdeflater::{CompressionLvl, Compressor};
use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

struct Gzip {
    level: CompressionLvl,
}

/// Reads `level`.
pub(super) fn build(config: &Config<'_>, _item: ElementType) -> Result<Built> {
    Ok(Built::bytes(Gzip { level: level(config)? }))
}

/// Reads `level`: -1 (6) to 9; 0 stores. The default is 1 in numcodecs and 5 in v3, where it may be missing in old documents.
pub(super) fn level(config: &Config<'_>) -> Result<CompressionLvl> {
    let default = if config.style == Style::V3 { 5 } else { 1 };
    let level = match config.int("level", -1, 9, default)? {
        -1 => 6,
        n => n,
    };
    CompressionLvl::new(level as i32).map_err(|_| config.error("level", format!("level {level} is not known")))
}

impl Stage for Gzip {
    fn name(&self) -> &'static str {
        "gzip"
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        compressed_size(decoded)
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        compress(self.level, dst, |c| c.gzip_compress_bound(src.len()), |c, out| c.gzip_compress(src, out).ok())
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let stated = src.last_chunk::<4>().map_or(0, |n| u32::from_le_bytes(*n) as usize);
        decode_growing(dst, stated.min(src.len().saturating_mul(MAX_RATIO)), |out| members(src, out))
    }
}

/// No byte of deflate makes more bytes than this.
const MAX_RATIO: usize = 1032;

/// Decodes every member; the number of decoded bytes, or `None` where the room is too small.
fn members(mut src: &[u8], out: &mut [u8]) -> Result<Option<usize>> {
    let mut filled = 0;
    loop {
        let Some((used, made)) = inflate(Wrapper::Gzip, src, out.get_mut(filled..).unwrap_or_default())? else {
            return Ok(None);
        };
        filled += made;
        src = src.get(used..).unwrap_or_default();
        if src.iter().all(|&b| b == 0) {
            return Ok(Some(filled));
        }
        if !src.starts_with(&[0x1f, 0x8b]) {
            bail!(Chunk, "found {} bytes after the last gzip member that begin no other", src.len());
        }
    }
}

/// The bytes around a deflate stream.
#[derive(Clone, Copy)]
pub(super) enum Wrapper {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Zlib,
}

// The `_ex` functions of libdeflate also say how many bytes they used; the safe wrapper of the library does not offer them.
unsafe extern "C" {
    fn libdeflate_alloc_decompressor() -> *mut c_void;
    fn libdeflate_free_decompressor(decompressor: *mut c_void);
    fn libdeflate_gzip_decompress_ex(
        decompressor: *mut c_void,
        src: *const c_void,
        src_len: usize,
        dst: *mut c_void,
        dst_len: usize,
        used: *mut usize,
        made: *mut usize,
    ) -> c_int;
    fn libdeflate_zlib_decompress_ex(
        decompressor: *mut c_void,
        src: *const c_void,
        src_len: usize,
        dst: *mut c_void,
        dst_len: usize,
        used: *mut usize,
        made: *mut usize,
    ) -> c_int;
}

/// `LIBDEFLATE_SUCCESS`.
const SUCCESS: c_int = 0;
/// `LIBDEFLATE_INSUFFICIENT_SPACE`.
const INSUFFICIENT_SPACE: c_int = 3;

struct Decompressor(NonNull<c_void>);

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: the pointer came from libdeflate_alloc_decompressor and is freed once.
        unsafe { libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
    static COMPRESSOR: RefCell<Option<(CompressionLvl, Compressor)>> = const { RefCell::new(None) };
}

/// Decodes one stream at the start of `src` to the front of `out`: the bytes used and made, or `None` where the room is too
/// small. Checksums are verified.
pub(super) fn inflate(wrapper: Wrapper, src: &[u8], out: &mut [u8]) -> Result<Option<(usize, usize)>> {
    let (name, function): (_, unsafe extern "C" fn(_, _, _, _, _, _, _) -> _) = match wrapper {
        Wrapper::Gzip => ("gzip", libdeflate_gzip_decompress_ex),
        Wrapper::Zlib => ("zlib", libdeflate_zlib_decompress_ex),
    };
    DECOMPRESSOR.with_borrow_mut(|slot| {
        let context = match slot {
            Some(context) => context.0,
            None => {
                // SAFETY: no preconditions; NULL means that there is no memory.
                let new = NonNull::new(unsafe { libdeflate_alloc_decompressor() });
                slot.insert(Decompressor(new.ok_or_else(|| err!(NoMemory, "no memory for a deflate decompressor"))?)).0
            }
        };
        let (mut used, mut made) = (0, 0);
        // SAFETY: the context is this thread's alone; pointers and lengths are of live slices; the results outlive the call.
        let code =
            unsafe { function(context.as_ptr(), src.as_ptr().cast(), src.len(), out.as_mut_ptr().cast(), out.len(), &mut used, &mut made) };
        match code {
            SUCCESS => Ok(Some((used, made))),
            INSUFFICIENT_SPACE => Ok(None),
            _ => bail!(Chunk, "the {name} stream is damaged or ends early ({} bytes)", src.len()),
        }
    })
}

/// Encodes with this thread's compressor of that level.
pub(super) fn compress(
    level: CompressionLvl,
    dst: &mut Vec<u8>,
    bound: impl FnOnce(&mut Compressor) -> usize,
    run: impl FnOnce(&mut Compressor, &mut [u8]) -> Option<usize>,
) -> Result<()> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let compressor = match slot {
            Some((kept, compressor)) if *kept == level => compressor,
            _ => &mut slot.insert((level, Compressor::new(level))).1,
        };
        let room = bound(compressor);
        let made =
            run(compressor, limits::grow(dst, room)?).ok_or_else(|| err!(Internal, "deflate needs more than its bound of {room} bytes"))?;
        dst.truncate(made);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;
    use std::io::Write;

    fn gzip() -> Gzip {
        Gzip { level: CompressionLvl::new(1).unwrap() }
    }

    fn encoded(data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        gzip().encode(data, &mut out).unwrap();
        out
    }

    #[test]
    fn every_size_and_level_round_trips() {
        round_trips(&*doc_stage(include_str!("gzip.rs")), SIZES);
        for level in -1..=9 {
            let map = config_of(&format!(r#"{{"level": {level}}}"#));
            round_trips(&*build(&Config::v3(&map), BYTES).unwrap().stage, &[0, 1, 4096]);
        }
        assert!(build(&Config::v3(&config_of(r#"{"level": 10}"#)), BYTES).is_err());
        assert!(build(&Config::v3(&config_of("{}")), BYTES).is_ok());
    }

    #[test]
    fn damage_is_an_error() {
        refuses_damage(&gzip());
    }

    #[test]
    fn members_are_concatenated_and_zeros_after_them_accepted() {
        let data = sample(1000);
        let mut bytes = encoded(&data[..300]);
        bytes.extend(encoded(&[]));
        bytes.extend(encoded(&data[300..]));
        bytes.extend([0; 50]);
        let mut out = vec![0; 1000];
        gzip().decode(&bytes, Dest::Exact(&mut out)).unwrap();
        assert_eq!(out, data);
        let mut out = Vec::new();
        gzip().decode(&bytes, Dest::AtMost(&mut out, 5000)).unwrap();
        assert_eq!(out, data);
        *bytes.last_mut().unwrap() = 1;
        assert!(gzip().decode(&bytes, Dest::Exact(&mut out)).is_err());
    }

    #[test]
    fn streams_of_another_library_are_read_and_ours_by_it() {
        let data = sample(100_000);
        let mut writer = flate2::GzBuilder::new().filename("name").mtime(7).write(Vec::new(), flate2::Compression::new(6));
        writer.write_all(&data).unwrap();
        let mut out = vec![0; data.len()];
        gzip().decode(&writer.finish().unwrap(), Dest::Exact(&mut out)).unwrap();
        assert!(out == data);
        let mut back = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&encoded(&data)[..]), &mut back).unwrap();
        assert!(back == data);
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bytes = encoded(&vec![0; 10 << 20]);
        let mut out = Vec::new();
        assert!(gzip().decode(&bytes, Dest::AtMost(&mut out, 10_000)).is_err());
        assert!(out.capacity() <= 16_384);
        assert!(gzip().decode(&bytes, Dest::Exact(&mut [0; 10_000])).is_err());
    }
}
