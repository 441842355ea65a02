//! Migration

use super::context::default_context;
use super::copy::{ozarr_progress_fn, tell};
use super::entry;
use super::status::ozarr_status;
use super::strings::{not_null, text};
use crate::error::bail;
use crate::node::{Mode, Store};
use std::ffi::{c_char, c_void};

/// `ozarr_migrate`: converts the source itself; `dest` is NULL.
pub const OZARR_MIGRATE_IN_PLACE: u32 = 1;
/// `ozarr_migrate`: chunks become hard links to those of the source, where possible. From then on no
/// program may change them in place; ozarr never does.
pub const OZARR_MIGRATE_LINK: u32 = 4;

/// Converts the node at `source`, with everything below it, from Zarr v2 or a draft of v3 to Zarr v3.
/// `dest` is a location at which there is no node yet. Chunks are copied (or linked) as they are, and
/// encoded anew only where v3 has no form for their codecs. If one node has no form in v3 nothing is
/// written at all. After an interruption, repeating the call completes the conversion in place, and
/// begins it anew elsewhere. Where all nodes were there already it completes that, too, or is
/// `OZARR_ERR_EXISTS` if the source has other documents or chunks since; that a chunk was written anew
/// is noticed in folders and object stores. With OZARR_MIGRATE_IN_PLACE the old
/// documents are erased when all new ones are stored; without it the source is not changed, and a
/// dataset whose series publishes steps meanwhile is converted as by `ozarr_copy`. Close what writes to
/// the source before it is converted in place: while a series is open in it (see
/// `OZARR_CREATE_OVERWRITE`), the error is `OZARR_ERR_AGAIN`, and nothing is changed; where a document
/// that was converted is changed meanwhile, it is that error, too, and repeating the call completes the
/// conversion. Files that other programs keep beside the nodes are left out as by `ozarr_copy`; in place
/// they stay. The log is told what could not be kept, as by `ozarr_copy`. `progress` may be NULL.
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if there is no source;
/// `OZARR_ERR_NODE_KIND`; `OZARR_ERR_EXISTS` if there is a node at `dest`; `OZARR_ERR_READ_ONLY`;
/// `OZARR_ERR_AGAIN` (see above);
/// `OZARR_ERR_ARGUMENT` for flags that contradict each other; `OZARR_ERR_CALLBACK` and whatever
/// `progress` returns; those of documents, chunks and stores.
///
/// @param[in] progress may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_migrate(
    source: *const c_char,
    dest: *const c_char,
    flags: u32,
    progress: ozarr_progress_fn,
    user: *mut c_void,
) -> ozarr_status {
    entry!("ozarr_migrate", texts(source), {
        if flags & !(OZARR_MIGRATE_IN_PLACE | OZARR_MIGRATE_LINK) != 0 {
            bail!(Argument, "`flags` is {flags}, expected a sum of OZARR_MIGRATE_IN_PLACE and OZARR_MIGRATE_LINK");
        }
        let (in_place, link) = (flags & OZARR_MIGRATE_IN_PLACE != 0, flags & OZARR_MIGRATE_LINK != 0);
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
        let done = from.migrate(&path, to, !link && !in_place, &mut |done, total| tell(progress, user, done, total))?;
        to.map_or(&from, |(store, _)| store).tell(&done.notes);
        Ok(())
    })
}
