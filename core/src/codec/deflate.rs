//! The deflate streams of `gzip`, `zlib` and `blosc`, by libdeflate, with a compressor kept for each thread.

use super::config::{Config, Style};
use super::deflate_end::ends_early;
use super::stage::Dest;
use super::streams::{Attempt, decode_growing};
use crate::error::{ErrorKind, Result, bail, err};
pub(super) use crate::inflate::{Wrapper, inflate};
use crate::limits;
use crate::per_thread::{self, PerThread};
use libdeflater::CompressionLvl;
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// Reads `level`: -1 (6) to 9; 0 stores. The default is 1 in numcodecs and 5 in v3, where it may be missing in old documents.
pub(super) fn level(config: &Config<'_>) -> Result<CompressionLvl> {
    let default = if config.style == Style::V3 { 5 } else { 1 };
    let level = match config.int("level", -1, 9, default)? {
        -1 => 6,
        n => n,
    };
    CompressionLvl::new(level as i32).map_err(|_| config.error("level", format!("level {level} is not known")))
}

// The safe wrapper of libdeflate panics where there is no memory for a compressor.
unsafe extern "C" {
    fn libdeflate_alloc_compressor(level: c_int) -> *mut c_void;
    fn libdeflate_free_compressor(compressor: *mut c_void);
    fn libdeflate_gzip_compress_bound(compressor: *mut c_void, len: usize) -> usize;
    fn libdeflate_zlib_compress_bound(compressor: *mut c_void, len: usize) -> usize;
    fn libdeflate_deflate_compress_bound(compressor: *mut c_void, len: usize) -> usize;
    fn libdeflate_gzip_compress(compressor: *mut c_void, src: *const c_void, src_len: usize, dst: *mut c_void, dst_len: usize) -> usize;
    fn libdeflate_zlib_compress(compressor: *mut c_void, src: *const c_void, src_len: usize, dst: *mut c_void, dst_len: usize) -> usize;
    fn libdeflate_deflate_compress(compressor: *mut c_void, src: *const c_void, src_len: usize, dst: *mut c_void, dst_len: usize) -> usize;
}

/// Decodes streams as `attempt` does, where the decoded size is not known before. Errors: `Truncated` where the bytes end within a stream.
pub(super) fn decode(wrapper: Wrapper, src: &[u8], dst: Dest<'_>, hint: usize, attempt: Attempt<'_>) -> Result<()> {
    let most = dst.most();
    decode_growing(dst, hint, attempt).map_err(|e| match e.kind() {
        ErrorKind::Chunk if ends_early(wrapper, src, most) => {
            err!(Truncated, "the {} stream ends early ({} bytes)", wrapper.name(), src.len())
        }
        _ => e,
    })
}

/// A compressor and its level.
struct DeflateCompressor {
    context: NonNull<c_void>,
    level: CompressionLvl,
}

impl DeflateCompressor {
    /// Makes a compressor by `allocate`, which returns NULL where there is no memory.
    fn new(level: CompressionLvl, allocate: unsafe extern "C" fn(c_int) -> *mut c_void) -> Result<DeflateCompressor> {
        // SAFETY: every level of the wrapper's type is one of the library's.
        match NonNull::new(unsafe { allocate(i32::from(level)) }) {
            Some(context) => Ok(DeflateCompressor { context, level }),
            None => bail!(NoMemory, "no memory for a deflate compressor"),
        }
    }
}

impl Drop for DeflateCompressor {
    fn drop(&mut self) {
        // SAFETY: the pointer came from libdeflate_alloc_compressor and is freed once.
        unsafe { libdeflate_free_compressor(self.context.as_ptr()) }
    }
}

thread_local! {
    static COMPRESSOR: PerThread<Option<DeflateCompressor>> = const { PerThread::new(None) };
}

/// Encodes `src` into `dst` with this thread's compressor, which is kept for the next call of the same level.
pub(super) fn compress(wrapper: Wrapper, level: CompressionLvl, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    per_thread::with(&COMPRESSOR, |slot| {
        let context = match slot {
            Some(kept) if kept.level == level => kept.context,
            _ => slot.insert(DeflateCompressor::new(level, libdeflate_alloc_compressor)?).context,
        };
        // SAFETY: the context is this thread's alone.
        let room = unsafe {
            match wrapper {
                Wrapper::Gzip => libdeflate_gzip_compress_bound(context.as_ptr(), src.len()),
                Wrapper::Zlib => libdeflate_zlib_compress_bound(context.as_ptr(), src.len()),
                Wrapper::Bare => libdeflate_deflate_compress_bound(context.as_ptr(), src.len()),
            }
        };
        let out = limits::grow(dst, room)?;
        let function = match wrapper {
            Wrapper::Gzip => libdeflate_gzip_compress,
            Wrapper::Zlib => libdeflate_zlib_compress,
            Wrapper::Bare => libdeflate_deflate_compress,
        };
        // SAFETY: as above; pointers and lengths are of live slices.
        match unsafe { function(context.as_ptr(), src.as_ptr().cast(), src.len(), out.as_mut_ptr().cast(), out.len()) } {
            0 => bail!(Internal, "deflate needs more than its bound of {room} bytes"),
            made => {
                dst.truncate(made);
                Ok(())
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compressor_without_memory_is_an_error_of_its_own() {
        extern "C" fn none(_level: c_int) -> *mut c_void {
            std::ptr::null_mut()
        }
        let e = DeflateCompressor::new(CompressionLvl::default(), none).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::NoMemory, "{e}");
    }
}
