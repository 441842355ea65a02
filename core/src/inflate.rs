//! Decoding of deflate streams by libdeflate, with a decompressor kept for each thread.

use crate::error::{Result, bail, err};
use crate::per_thread::{self, PerThread};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// The bytes around a deflate stream.
#[derive(Clone, Copy)]
pub enum Wrapper {
    /// RFC 1952.
    Gzip,
    /// RFC 1950.
    Zlib,
    /// RFC 1951 alone, as in zip archives.
    Bare,
}

impl Wrapper {
    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Wrapper::Gzip => "gzip",
            Wrapper::Zlib => "zlib",
            Wrapper::Bare => "deflate",
        }
    }
}

type Decode = unsafe extern "C" fn(*mut c_void, *const c_void, usize, *mut c_void, usize, *mut usize, *mut usize) -> c_int;

unsafe extern "C" {
    fn libdeflate_alloc_decompressor() -> *mut c_void;
    fn libdeflate_free_decompressor(decompressor: *mut c_void);
}

/// Declares functions of libdeflate that decode a stream. The `_ex` ones also say how many bytes they used, which the safe wrapper of the
/// library does not offer; and the wrapper panics where there is no memory for a decompressor.
macro_rules! decoders {
    ($($name:ident)*) => { unsafe extern "C" { $(
        fn $name(d: *mut c_void, src: *const c_void, n: usize, dst: *mut c_void, room: usize, used: *mut usize, made: *mut usize) -> c_int;
    )* } };
}
decoders!(libdeflate_gzip_decompress_ex libdeflate_zlib_decompress_ex libdeflate_deflate_decompress_ex);

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
    static DECOMPRESSOR: PerThread<Option<Decompressor>> = const { PerThread::new(None) };
}

/// Decodes one stream at the start of `src` to the front of `out`: the bytes used and made, or `None` where the room is too
/// small. Checksums of the wrapper are verified.
pub fn inflate(wrapper: Wrapper, src: &[u8], out: &mut [u8]) -> Result<Option<(usize, usize)>> {
    let function: Decode = match wrapper {
        Wrapper::Gzip => libdeflate_gzip_decompress_ex,
        Wrapper::Zlib => libdeflate_zlib_decompress_ex,
        Wrapper::Bare => libdeflate_deflate_decompress_ex,
    };
    per_thread::with(&DECOMPRESSOR, |slot| {
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
            _ => bail!(Chunk, "the {} stream is damaged or ends early ({} bytes)", wrapper.name(), src.len()),
        }
    })
}
