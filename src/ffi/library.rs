//! The library

use super::{entry, strings};
use std::ffi::c_char;

/// What can be asked by name; features that are not built, or not yet there, are absent.
const FEATURES: &[&str] =
    &["v2", "v3", "file", "memory", "bytes", "transpose", "sharding", "gzip", "zlib", "zstd", "blosc", "crc32c", "delta", "astype"];

/// The version of the library that runs, such as `"0.1.0"`. Never to be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_version() -> *const c_char {
    entry!("ozarr_version", else c"".as_ptr(), { Ok(concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()) })
}

/// The version of the binary interface, which is also that in the library's name (`libozarr.so.0`). Within one
/// version, functions and constants are only ever added.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_abi_version() -> i32 {
    entry!("ozarr_abi_version", else 0, { Ok(0) })
}

/// Whether this build has a codec, store or format of that name: `"zstd"`, `"blosc"`, `"gzip"`, `"zlib"`,
/// `"crc32c"`, `"sharding"`, `"transpose"`, `"memory"`, `"v2"`, ... False for names that it does not know, and
/// for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_has_feature(name: *const c_char) -> bool {
    entry!("ozarr_has_feature", else false, {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let name = unsafe { strings::text(name, "name") }?;
        Ok(FEATURES.contains(&name))
    })
}
