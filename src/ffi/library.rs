//! The library

use super::{entry, strings};
use crate::node::has_codec;
use std::ffi::c_char;

/// What can be asked by name besides the codecs, which the registry knows.
const FEATURES: &[&str] = &["v2", "v3", "file", "memory", "zip", "sharding"];

/// What comes with the cargo feature `cloud`.
const CLOUD: &[&str] =
    if cfg!(feature = "cloud") { &["cloud", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "http", "https"] } else { &[] };

/// The version of this header: the major number.
pub const OZARR_VERSION_MAJOR: i32 = 0;
/// The minor number.
pub const OZARR_VERSION_MINOR: i32 = 2;
/// The number of the correction.
pub const OZARR_VERSION_PATCH: i32 = 0;
/// All three: 10000 * major + 100 * minor + patch, for `#if OZARR_VERSION_NUMBER >= 300`.
pub const OZARR_VERSION_NUMBER: i32 = 200;
/// The version of the binary interface, which is also that in the library's name (`libozarr.so.1`).
/// It changes only when a program that was compiled before can no longer run; a program runs on every
/// later library of the same number. docs/stability.md says what that promises.
pub const OZARR_ABI_VERSION: i32 = 1;

/// Returns the version of the library that runs, such as `"0.2.0"`. The string must not be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_version() -> *const c_char {
    entry!("ozarr_version", else c"".as_ptr(), { Ok(concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()) })
}

/// Returns the OZARR_ABI_VERSION of the library that runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_abi_version() -> i32 {
    entry!("ozarr_abi_version", else 0, { Ok(OZARR_ABI_VERSION) })
}

/// Returns whether this build has the codec, store or format `name`: `"zstd"`, `"blosc"`, `"lzma"`,
/// `"sharding"`, `"transpose"`, `"memory"`, `"zip"`, `"cloud"`, `"v2"`, ... Codecs have their names in
/// metadata, of v2 or v3, stores those of locations: `"file"`, `"s3"`, `"https"`. False for names that it
/// does not know, and for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_has_feature(name: *const c_char) -> bool {
    entry!("ozarr_has_feature", else false, {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let name = unsafe { strings::text(name, "name") }?;
        Ok(FEATURES.contains(&name) || CLOUD.contains(&name) || has_codec(name))
    })
}
