//! The deflate streams of `gzip`, `zlib` and `blosc`, by libdeflate, with a compressor and a decompressor kept for each thread.

use super::config::{Config, Style};
use crate::error::{Result, bail, err};
use crate::limits;
use libdeflater::CompressionLvl;
use std::cell::RefCell;
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

/// The bytes around a deflate stream.
#[derive(Clone, Copy)]
pub(super) enum Wrapper {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Zlib,
}

// The `_ex` functions of libdeflate also say how many bytes they used, which the safe wrapper of the library does not offer; and the
// wrapper panics where there is no memory for a compressor.
unsafe extern "C" {
    fn libdeflate_alloc_decompressor() -> *mut c_void;
    fn libdeflate_alloc_compressor(level: c_int) -> *mut c_void;
    fn libdeflate_free_compressor(compressor: *mut c_void);
    fn libdeflate_gzip_compress_bound(compressor: *mut c_void, len: usize) -> usize;
    fn libdeflate_zlib_compress_bound(compressor: *mut c_void, len: usize) -> usize;
    fn libdeflate_gzip_compress(compressor: *mut c_void, src: *const c_void, src_len: usize, dst: *mut c_void, dst_len: usize) -> usize;
    fn libdeflate_zlib_compress(compressor: *mut c_void, src: *const c_void, src_len: usize, dst: *mut c_void, dst_len: usize) -> usize;
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

/// A compressor and its level.
struct Compressor {
    context: NonNull<c_void>,
    level: CompressionLvl,
}

impl Compressor {
    /// Makes a compressor by `allocate`, which returns NULL where there is no memory.
    fn new(level: CompressionLvl, allocate: unsafe extern "C" fn(c_int) -> *mut c_void) -> Result<Compressor> {
        // SAFETY: every level of the wrapper's type is one of the library's.
        match NonNull::new(unsafe { allocate(i32::from(level)) }) {
            Some(context) => Ok(Compressor { context, level }),
            None => bail!(NoMemory, "no memory for a deflate compressor"),
        }
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: the pointer came from libdeflate_alloc_compressor and is freed once.
        unsafe { libdeflate_free_compressor(self.context.as_ptr()) }
    }
}

thread_local! {
    static DECOMPRESSOR: RefCell<Option<Decompressor>> = const { RefCell::new(None) };
    static COMPRESSOR: RefCell<Option<Compressor>> = const { RefCell::new(None) };
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

/// Encodes `src` into `dst` with this thread's compressor, which is kept for the next call of the same level.
pub(super) fn compress(wrapper: Wrapper, level: CompressionLvl, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
    COMPRESSOR.with_borrow_mut(|slot| {
        let context = match slot {
            Some(kept) if kept.level == level => kept.context,
            _ => slot.insert(Compressor::new(level, libdeflate_alloc_compressor)?).context,
        };
        // SAFETY: the context is this thread's alone.
        let room = unsafe {
            match wrapper {
                Wrapper::Gzip => libdeflate_gzip_compress_bound(context.as_ptr(), src.len()),
                Wrapper::Zlib => libdeflate_zlib_compress_bound(context.as_ptr(), src.len()),
            }
        };
        let out = limits::grow(dst, room)?;
        let function = match wrapper {
            Wrapper::Gzip => libdeflate_gzip_compress,
            Wrapper::Zlib => libdeflate_zlib_compress,
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
    use crate::error::ErrorKind;

    #[test]
    fn a_compressor_without_memory_is_an_error_of_its_own() {
        extern "C" fn none(_level: c_int) -> *mut c_void {
            std::ptr::null_mut()
        }
        let e = Compressor::new(CompressionLvl::default(), none).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::NoMemory, "{e}");
    }
}
