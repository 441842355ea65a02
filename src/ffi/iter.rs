//! The nodes below a group
//!
//! Each group is listed once and each document read once (none, where they are consolidated); in remote
//! stores many at once. The list is what the store held at the time of the call. A link in a directory
//! that leads back to a group above is listed, and not followed.
//!
//! ```c
//! ozarr_node_iter *it = NULL;
//! bool more = false;
//! if (ozarr_group_list_nodes(g, NULL, 1, &it)) goto fail;
//! while (ozarr_node_iter_next(it, &more) == OZARR_OK && more) {
//!     char name[256];
//!     if (ozarr_node_iter_name(it, name, sizeof name, NULL)) goto fail;
//!     puts(name);
//! }
//! ozarr_node_iter_free(it);
//! ```

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{put, put_text, text};
use super::types::{Cursor, node_kind, ozarr_group, ozarr_node_iter, ozarr_node_kind};
use crate::error::{Result, err};
use crate::node::Child;
use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Lists the nodes below the group as they are now, down to `depth` levels (1: its children; negative:
/// all), each followed by those below it, sorted by name, under a cursor that is before the first. A node
/// that cannot be understood is among them (`OZARR_NODE_KIND_UNKNOWN`) and hides no other.
///
/// With a `pattern` (NULL: all) only nodes whose path relative to the group matches it: `*` matches any
/// characters except a slash, `?` one such character, and `**` any characters including slashes. Two
/// stars, a slash and a name match every node of that name, at any level, children included.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a malformed pattern; those of documents and stores.
///
/// @param[in] pattern may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_list_nodes(
    group: *const ozarr_group,
    pattern: *const c_char,
    depth: i32,
    out: *mut *mut ozarr_node_iter,
) -> ozarr_status {
    entry!("ozarr_group_list_nodes", new(out), handles(group), {
        let depth = usize::try_from(depth).unwrap_or(usize::MAX);
        let children = match pattern.is_null() {
            true => group.nodes(depth)?,
            // SAFETY: a NUL-terminated text, by the function's contract.
            false => group.find(unsafe { text(pattern, "pattern") }?, depth)?,
        };
        Ok(Cursor { children, steps: AtomicUsize::new(0) })
    })
}

/// Moves to the next node; `*more` becomes false at the end, and stays so.
///
/// Errors: none of its own.
///
/// @param[out] more
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_iter_next(iter: *mut ozarr_node_iter, more: *mut bool) -> ozarr_status {
    entry!("ozarr_node_iter_next", put(more), handles(iter), {
        let count = iter.children.len();
        let (Ok(before) | Err(before)) = iter.steps.fetch_update(Relaxed, Relaxed, |steps| (steps <= count).then_some(steps + 1));
        Ok(before < count)
    })
}

/// Gets the path of the node relative to the group: for a child its name.
///
/// Errors: `OZARR_ERR_STATE` before the first node and after the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_iter_name(iter: *const ozarr_node_iter, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_node_iter_name", {
        // SAFETY: room as is said, by the function's contract.
        at_child(iter, |child| unsafe { put_text(&child.name, buf, cap, len) })
    })
}

/// Gets the kind of the node. Where only children are listed, in a directory, the first call reads the
/// child's metadata.
///
/// Errors: `OZARR_ERR_STATE` before the first node and after the last.
///
/// @param[out] kind
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_iter_kind(iter: *const ozarr_node_iter, kind: *mut ozarr_node_kind) -> ozarr_status {
    entry!("ozarr_node_iter_kind", {
        // SAFETY: `kind` points to room for it.
        at_child(iter, |child| unsafe { put(node_kind(child.kind()), kind, "kind") })
    })
}

/// Gets the error message of a node that cannot be understood; an empty string if it can.
///
/// Errors: `OZARR_ERR_STATE` before the first node and after the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_iter_error(
    iter: *const ozarr_node_iter,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_node_iter_error", {
        at_child(iter, |child| {
            let message = child.error().map(|e| e.to_string()).unwrap_or_default();
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&message, buf, cap, len) }
        })
    })
}

/// Frees the cursor; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_iter_free(iter: *mut ozarr_node_iter) {
    entry!("ozarr_node_iter_free", else (), { ozarr_node_iter::free(iter, "iter") })
}

fn at_child(iter: *const ozarr_node_iter, each: impl FnOnce(&Child) -> Result<()>) -> Result<()> {
    let iter = ozarr_node_iter::get(iter, "iter")?;
    let child = iter.steps.load(Relaxed).checked_sub(1).and_then(|i| iter.children.get(i));
    each(child.ok_or_else(|| err!(State, "the cursor is at no node; call ozarr_node_iter_next until `more` is false"))?)
}
