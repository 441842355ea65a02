//! Checkpoints
//!
//! A checkpoint is a group that is there as a whole or not at all, whatever is killed when: on folders,
//! in memory, in archives and in object stores. It is begun under a name, filled with arrays, groups
//! and attributes like any group, and committed; a restart opens the newest one. See
//! docs/checkpoints.md.
//!
//! ```c
//! ozarr_group *g = NULL;
//! if (ozarr_checkpoint_begin("run-checkpoints.zarr", "step-100", &g)) goto fail;
//! if (ozarr_group_put(g, "u", OZARR_FLOAT64, 3, shape, u, sizeof u)) goto fail;
//! if (ozarr_attr_set_int64(ozarr_group_node(g), "step", 100)) goto fail;
//! if (ozarr_checkpoint_commit(g)) goto fail;
//! ...
//! if (ozarr_checkpoint_latest("run-checkpoints.zarr", &g)) goto fail;
//! if (ozarr_group_get(g, "u", OZARR_FLOAT64, u, sizeof u)) goto fail;
//! ```

use super::context::default_context;
use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{at_least_0, text};
use super::types::{Cursor, ozarr_group, ozarr_node_iter};
use crate::error::{ErrorKind, Result};
use crate::node::{Checkpoints, Mode, Store};
use std::ffi::c_char;
use std::sync::atomic::AtomicUsize;

/// Begins a checkpoint in the group at `location`, which is created if it is not there. `*out` is a
/// group to put arrays, groups and attributes into; readers do not find it before
/// `ozarr_checkpoint_commit`. Its nodes have paths relative to the checkpoint. Other processes may
/// write regions of its arrays, which they open at the `"location"` of the group's `ozarr_node_get`, `/`
/// and the array's path once it is created; they are to have closed them before the commit.
///
/// A committed checkpoint of the same name stays until this one is committed, which is then the node
/// `name` with a dot and a number. What a kill left of one of that name is removed. One process at a
/// time may begin and commit checkpoints of a group.
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` if a node of that name is no
/// checkpoint, or an array is at `location`; `OZARR_ERR_NODE_KIND` if one is above it;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_checkpoint_begin(location: *const c_char, name: *const c_char, out: *mut *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_checkpoint_begin", new(out), {
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (all, name) = unsafe { (at(location, Mode::ReadWrite)?, text(name, "name")?) };
        all.begin(name)
    })
}

/// Commits the checkpoint that was begun with `group`, and frees the handle, whatever the status says:
/// everything in it is made durable as far as the store's `"file.sync"` promises it, then the
/// checkpoint is there for everybody, at once. A checkpoint of the same name that was there before is
/// removed after that. Close its arrays and groups before.
///
/// After an error (a full disk) the checkpoint is not there, what was written of it is removed if that
/// is possible, and the one before is still the newest. What fails when the checkpoint is there (the
/// consolidated metadata above it, the removal of the one before) is no error: the log is told, and the
/// next checkpoint of that name, or pruning, does it. Where a server's last answer was lost, the
/// checkpoint may be there, or come later, whole and the newest: what was written stays then, until the
/// next checkpoint of that name, or pruning. So it may be where the system could not make it durable,
/// as the message says.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a group that is no begun checkpoint; `OZARR_ERR_FORKED` in a child of
/// `fork`, where nothing is done; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_checkpoint_commit(group: *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_checkpoint_commit", { ozarr_group::close(group, "group")?.commit() })
}

/// Gives up the checkpoint that was begun with `group`, removes what was written of it, and frees the
/// handle, whatever the status says.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a group that is no begun checkpoint, of which nothing is removed;
/// `OZARR_ERR_FORKED` in a child of `fork`, where nothing is done; `OZARR_ERR_UNSUPPORTED` in archives,
/// where nothing can be removed; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_checkpoint_abandon(group: *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_checkpoint_abandon", { ozarr_group::close(group, "group")?.abandon() })
}

/// Opens the newest committed checkpoint in the group at `location`, for reading. `ozarr_node_path` has
/// its name. `OZARR_ERR_NOT_FOUND` if no checkpoint was committed: a run then starts from the beginning.
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_checkpoint_latest(location: *const c_char, out: *mut *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_checkpoint_latest", new(out), {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let all = unsafe { at(location, Mode::Read) }?;
        all.latest()
    })
}

/// Lists the committed checkpoints in the group at `location`, the oldest first, under a cursor as that
/// of `ozarr_group_list_nodes`; none if the group is not there. `ozarr_group_open` opens one at
/// `location`, `/` and its name.
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_checkpoint_list(location: *const c_char, out: *mut *mut ozarr_node_iter) -> ozarr_status {
    entry!("ozarr_checkpoint_list", new(out), {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let children = match unsafe { at(location, Mode::Read) } {
            // An archive that is not there has none, as a folder has; a bucket that is not is an error.
            Err(e) if e.kind() == ErrorKind::NotFound && e.http_status() == 0 => Vec::new(),
            all => all?.list()?,
        };
        Ok(Cursor { children, steps: AtomicUsize::new(0) })
    })
}

/// Removes all committed checkpoints in the group at `location` but the newest `keep`, and what killed
/// ones have left, also in the group's consolidated metadata. A checkpoint that is being removed is gone
/// for readers first. Several processes may call it at once, but not while another one writes a
/// checkpoint: what that has begun is removed, too, and its commit is `OZARR_ERR_STATE`. What this
/// process has begun stays. `OZARR_ERR_UNSUPPORTED` in archives, where nothing can be removed. On a full
/// disk checkpoints are removed before consolidated metadata can be told, which are when there is room:
/// with `OZARR_ERR_NO_SPACE` some may be gone already, and the same call goes on.
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_ARGUMENT` for a negative `keep`;
/// `OZARR_ERR_NODE_KIND` if an array is at `location`; `OZARR_ERR_READ_ONLY`; those of documents and
/// stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_checkpoint_prune(location: *const c_char, keep: i64) -> ozarr_status {
    entry!("ozarr_checkpoint_prune", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        unsafe { at(location, Mode::ReadWrite) }?.prune(usize::try_from(at_least_0(keep, "keep")?).unwrap_or(usize::MAX))
    })
}

/// # Safety `location` is NULL or a NUL-terminated text.
unsafe fn at(location: *const c_char, mode: Mode) -> Result<Checkpoints> {
    // SAFETY: the caller's promise.
    let location = unsafe { text(location, "location") }?;
    let (store, path) = Store::locate(&default_context()?, location, mode)?;
    Checkpoints::new(&store, &path)
}
