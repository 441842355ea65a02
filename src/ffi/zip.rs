//! Zip archives

use super::entry;
use super::status::ozarr_status;
use super::strings::put_optional;
use crate::node::repair_zip;
use std::ffi::c_char;

/// Repairs the zip archive `path` (a file) whose writer died before it flushed: its complete entries get
/// a new directory, and an incomplete one at the end is cut off. `*keys` (unless NULL) becomes the
/// number of keys that the archive has now, `*lost` (unless NULL) the number of entries that were begun
/// and are lost. A file that can be read is left as it is; so is one that is refused for another reason,
/// such as an entry's name, with the error of opening it.
///
/// Errors: `OZARR_ERR_LOCATION` for a folder; those of documents and stores.
///
/// @param[out] keys,lost may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_zip_repair(path: *const c_char, keys: *mut i64, lost: *mut i64) -> ozarr_status {
    entry!("ozarr_zip_repair", texts(path), {
        let done = repair_zip(path)?;
        // SAFETY: each points to room for a number, or is NULL.
        unsafe {
            put_optional(done.keys as i64, keys);
            put_optional(done.lost as i64, lost);
        }
        Ok(())
    })
}
