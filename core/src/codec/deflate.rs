//! The deflate streams of `gzip`, `zlib` and `blosc`, by libdeflate, with a compressor kept for each thread.
//!
//! libdeflate reads zeros behind the end of a stream, and does not say that it is cut off. zlib does, and is asked where decoding has failed.

use super::config::{Config, Style};
use super::stage::Dest;
use super::streams::{Attempt, decode_growing};
use crate::error::{ErrorKind, Result, bail};
pub(super) use crate::inflate::{Wrapper, inflate};
use crate::limits;
use crate::per_thread::{self, PerThread};
use libdeflater::CompressionLvl;
use libz_sys::{Z_BUF_ERROR, Z_MEM_ERROR, Z_OK, Z_STREAM_END, uInt, z_stream};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
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
    match decode_growing(dst, hint, attempt) {
        Err(e) if e.kind() == ErrorKind::Chunk && ends_early(wrapper, src, most)? => {
            bail!(Truncated, "the {} stream ends early ({} bytes)", wrapper.name(), src.len())
        }
        done => done,
    }
}

/// Returns whether `src` ends within a stream: no damage and not more than `most` decoded bytes come before its end.
fn ends_early(wrapper: Wrapper, src: &[u8], most: usize) -> Result<bool> {
    const WINDOW_BITS: c_int = 15;
    let bits = match wrapper {
        Wrapper::Gzip => WINDOW_BITS + 16,
        Wrapper::Zlib => WINDOW_BITS,
        Wrapper::Bare => -WINDOW_BITS,
    };
    // It stays in its place, because zlib's state points back at it.
    let mut stream = MaybeUninit::<z_stream>::zeroed();
    let stream = stream.as_mut_ptr();
    // SAFETY: zeros are a stream that is not begun, with the allocation of zlib; what has begun is ended once.
    unsafe {
        let ends = match libz_sys::inflateInit2_(stream, bits, libz_sys::zlibVersion(), size_of::<z_stream>() as c_int) {
            Z_OK => ends_within(stream, wrapper, src, most),
            _ => bail!(NoMemory, "no memory for a zlib stream"),
        };
        libz_sys::inflateEnd(stream);
        ends
    }
}

/// Decodes `src`, and drops what it makes, until zlib wants more bytes or none. `stream` is one that has begun.
unsafe fn ends_within(stream: *mut z_stream, wrapper: Wrapper, mut src: &[u8], mut most: usize) -> Result<bool> {
    let mut made = [0; 4096];
    loop {
        let len = uInt::try_from(src.len()).unwrap_or(uInt::MAX);
        // SAFETY: pointers and lengths are of live slices; zlib only reads the source, whatever the pointer's type says.
        let (status, left, room) = unsafe {
            ((*stream).next_in, (*stream).avail_in) = (src.as_ptr().cast_mut(), len);
            ((*stream).next_out, (*stream).avail_out) = (made.as_mut_ptr(), made.len() as uInt);
            (libz_sys::inflate(stream, libz_sys::Z_NO_FLUSH), (*stream).avail_in, (*stream).avail_out)
        };
        src = &src[(len - left) as usize..];
        let Some(rest) = most.checked_sub(made.len() - room as usize) else { return Ok(false) };
        most = rest;
        match status {
            Z_OK => {}
            // The next member of gzip.
            Z_STREAM_END if matches!(wrapper, Wrapper::Gzip) && src.starts_with(&[0x1f]) => {
                // SAFETY: as above.
                unsafe { libz_sys::inflateReset(stream) };
            }
            Z_BUF_ERROR => return Ok(true),
            Z_MEM_ERROR => bail!(NoMemory, "no memory for a zlib stream"),
            _ => return Ok(false),
        }
    }
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
    use crate::codec::testing::sample;
    use std::io::Write;

    #[test]
    fn a_compressor_without_memory_is_an_error_of_its_own() {
        extern "C" fn none(_level: c_int) -> *mut c_void {
            std::ptr::null_mut()
        }
        let e = DeflateCompressor::new(CompressionLvl::default(), none).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::NoMemory, "{e}");
    }

    /// Bytes of which some repeat from near and far, and some do not.
    fn mixed(n: usize) -> Vec<u8> {
        let mut state = 1u32;
        let noise = |i: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if (i / 500).is_multiple_of(3) { (state >> 24) as u8 } else { (i / 900) as u8 }
        };
        (0..n).map(noise).collect()
    }

    fn streams(data: &[u8], level: u32) -> [(Wrapper, Vec<u8>); 3] {
        let level = flate2::Compression::new(level);
        let mut gzip = flate2::GzBuilder::new().filename("name").comment("text").extra([1, 2, 3]).write(Vec::new(), level);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), level);
        let mut bare = flate2::write::DeflateEncoder::new(Vec::new(), level);
        gzip.write_all(data).unwrap();
        zlib.write_all(data).unwrap();
        bare.write_all(data).unwrap();
        [(Wrapper::Gzip, gzip.finish().unwrap()), (Wrapper::Zlib, zlib.finish().unwrap()), (Wrapper::Bare, bare.finish().unwrap())]
    }

    #[test]
    fn whole_streams_do_not_end_early_and_cut_ones_do() {
        for data in [vec![], vec![7], sample(7000), vec![0; 9000], mixed(80_000)] {
            for level in [0, 1, 9] {
                for (wrapper, bytes) in streams(&data, level) {
                    let name = wrapper.name();
                    assert!(!ends_early(wrapper, &bytes, data.len()).unwrap(), "{name} {level}");
                    let step = bytes.len() / 20 + 1;
                    for cut in (0..bytes.len()).step_by(step).chain(bytes.len().saturating_sub(20)..bytes.len()) {
                        let early = ends_early(wrapper, &bytes[..cut], data.len()).unwrap();
                        assert!(early, "{name}, level {level}, {cut} of {}", bytes.len());
                    }
                    if !data.is_empty() {
                        let cut = &bytes[..bytes.len() - 1];
                        let bare = matches!(wrapper, Wrapper::Bare);
                        assert!(bare || !ends_early(wrapper, cut, data.len() - 1).unwrap(), "more than expected: {name} {level}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_member_is_decoded_and_what_is_no_member_is_no_cut() {
        let member = |data: &[u8]| streams(data, 6)[0].1.clone();
        let mut bytes = member(&sample(300));
        let first = bytes.len();
        bytes.extend(member(&sample(200)));
        for cut in first + 1..bytes.len() {
            assert!(ends_early(Wrapper::Gzip, &bytes[..cut], 500).unwrap(), "{cut}");
            assert!(!ends_early(Wrapper::Gzip, &bytes[..cut], 299).unwrap(), "{cut}");
        }
        for behind in [&[][..], &[0; 9], &[0, 1], b"\x99"] {
            let bytes = [&bytes, behind].concat();
            assert!(!ends_early(Wrapper::Gzip, &bytes, 500).unwrap(), "{behind:?}");
        }
        let zlib = [&streams(&sample(300), 6)[1].1, &b"\x1f"[..]].concat();
        assert!(!ends_early(Wrapper::Zlib, &zlib, 500).unwrap());
    }

    #[test]
    fn damage_is_no_cut_where_it_can_be_told() {
        for (what, wrapper, bytes) in [
            ("another magic number", Wrapper::Gzip, &b"\x1f\x8c"[..]),
            ("another method", Wrapper::Zlib, b"\x79\x9c\x00"),
            ("a wrong check of the header", Wrapper::Zlib, b"\x78\x9d\x00"),
            ("a preset dictionary", Wrapper::Zlib, b"\x78\xbb\x00\x00\x00\x01"),
            ("a block of no type", Wrapper::Bare, b"\x07"),
            ("lengths that differ", Wrapper::Bare, b"\x01\x01\x00\x00\x00"),
            ("a distance before the start", Wrapper::Bare, b"\x03\x02\x00\x00"),
            ("a length repeated before the first", Wrapper::Bare, b"\x04\x00\x12\x00\x00\x00\x00\x00"),
        ] {
            assert!(!ends_early(wrapper, bytes, 1000).unwrap(), "{what}");
        }
    }
}
