//! Migration

use super::context::default_context;
use super::entry;
use super::status::ozarr_status;
use super::strings::{not_null, text};
use crate::error::{Result, bail};
use crate::node::{Mode, Store};
use std::ffi::{c_char, c_void};

/// Called repeatedly by functions that take long: `done` of `total` objects are done. Anything but 0
/// ends the function, with OZARR_ERR_CANCELLED. `user` is what the caller gave.
pub type ozarr_progress_fn = Option<unsafe extern "C" fn(user: *mut c_void, done: u64, total: u64) -> i32>;

/// `ozarr_migrate`: converts the source itself; `dest` is NULL.
pub const OZARR_MIGRATE_IN_PLACE: u32 = 1;

/// `ozarr_migrate`: copy chunks, where a hard link would do.
pub const OZARR_MIGRATE_COPY: u32 = 2;

/// Converts the node at `source`, with everything below it, from Zarr v2 or a draft of v3 to Zarr v3.
/// `dest` is a location at which there is no node yet. Chunks are hard-linked or copied as they are, and
/// encoded anew only where v3 has no form for their codecs. If one node has no form in v3 nothing is
/// written at all. After an interruption, repeating the call completes the conversion. With
/// OZARR_MIGRATE_IN_PLACE the old documents are erased when all new ones are stored; without it the
/// source is not changed. `progress` may be NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_migrate(
    source: *const c_char,
    dest: *const c_char,
    flags: u32,
    progress: ozarr_progress_fn,
    user: *mut c_void,
) -> ozarr_status {
    entry!("ozarr_migrate", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let source = unsafe { text(source, "source") }?;
        if flags & !(OZARR_MIGRATE_IN_PLACE | OZARR_MIGRATE_COPY) != 0 {
            bail!(Argument, "`flags` is {flags}, expected a sum of OZARR_MIGRATE_IN_PLACE and OZARR_MIGRATE_COPY");
        }
        let (in_place, copy) = (flags & OZARR_MIGRATE_IN_PLACE != 0, flags & OZARR_MIGRATE_COPY != 0);
        let dest = if in_place {
            if !dest.is_null() {
                bail!(Argument, "found `dest` and OZARR_MIGRATE_IN_PLACE, expected one of them");
            }
            None
        } else {
            not_null(dest, "dest")?;
            // SAFETY: as above.
            Some(Store::locate(&default_context()?, unsafe { text(dest, "dest") }?, Mode::ReadWrite)?)
        };
        let mode = if in_place { Mode::ReadWrite } else { Mode::Read };
        let (from, path) = Store::locate(&default_context()?, source, mode)?;
        let to = dest.as_ref().map(|(store, path)| (store, path.as_str()));
        from.migrate(&path, to, copy, &mut |done, total| tell(progress, user, done, total)).map(drop)
    })
}

/// Calls the caller's function, if there is one.
pub(super) fn tell(progress: ozarr_progress_fn, user: *mut c_void, done: u64, total: u64) -> Result<()> {
    let Some(progress) = progress else { return Ok(()) };
    // SAFETY: the caller gave this function for such calls, and `user` with it.
    match super::host::call_back(|| unsafe { progress(user, done, total) }) {
        0 => Ok(()),
        status => bail!(Cancelled, "the progress function gave {status} after {done} of {total} objects, expected 0"),
    }
}
