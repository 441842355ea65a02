//! The children of a group
//!
//! ```c
//! ozarr_iter *it = NULL;
//! bool more = false;
//! if (ozarr_group_children(g, &it)) goto fail;
//! while (ozarr_iter_next(it, &more) == OZARR_OK && more) {
//!     char name[256];
//!     if (ozarr_iter_name(it, name, sizeof name, NULL)) goto fail;
//!     puts(name);
//! }
//! ozarr_iter_free(it);
//! ```

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{not_null, put, put_text};
use super::types::{Cursor, node_kind, ozarr_group, ozarr_iter, ozarr_node_kind};
use crate::error::{Result, err};
use crate::node::Child;
use std::ffi::c_char;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Lists the group's children as they are now, sorted by name, under a cursor that stands before the first.
/// A child that cannot be understood is among them (`OZARR_NODE_UNKNOWN`) and hides no other.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_children(group: *const ozarr_group, out: *mut *mut ozarr_iter) -> ozarr_status {
    entry!("ozarr_group_children", {
        not_null(out, "out")?;
        let children = ozarr_group::get(group, "group")?.children()?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(ozarr_iter::insert(Cursor { children, steps: AtomicUsize::new(0) })?, out, "out") }
    })
}

/// Moves to the next child; `*more` becomes false at the end, and stays so.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_iter_next(iter: *mut ozarr_iter, more: *mut bool) -> ozarr_status {
    entry!("ozarr_iter_next", {
        not_null(more, "more")?;
        let iter = ozarr_iter::get(iter, "iter")?;
        let count = iter.children.len();
        let (Ok(before) | Err(before)) = iter.steps.fetch_update(Relaxed, Relaxed, |steps| (steps <= count).then_some(steps + 1));
        // SAFETY: `more` points to room for it.
        unsafe { put(before < count, more, "more") }
    })
}

/// The name of the child.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_iter_name(iter: *const ozarr_iter, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_iter_name", {
        // SAFETY: room as is said, by the function's contract.
        at_child(iter, |child| unsafe { put_text(&child.name, buf, cap, len) })
    })
}

/// What the child is. Of a group in a folder that is read from the child's document when it is first
/// asked.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_iter_kind(iter: *const ozarr_iter, kind: *mut ozarr_node_kind) -> ozarr_status {
    entry!("ozarr_iter_kind", {
        // SAFETY: `kind` points to room for it.
        at_child(iter, |child| unsafe { put(node_kind(child.kind()), kind, "kind") })
    })
}

/// Why the child cannot be understood, as a message; an empty text if it can.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_iter_error(iter: *const ozarr_iter, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_iter_error", {
        at_child(iter, |child| {
            let message = child.error().map(|e| e.to_string()).unwrap_or_default();
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&message, buf, cap, len) }
        })
    })
}

/// Frees the cursor; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_iter_free(iter: *mut ozarr_iter) {
    entry!("ozarr_iter_free", else (), { ozarr_iter::free(iter, "iter") })
}

fn at_child(iter: *const ozarr_iter, each: impl FnOnce(&Child) -> Result<()>) -> Result<()> {
    let iter = ozarr_iter::get(iter, "iter")?;
    let child = iter.steps.load(Relaxed).checked_sub(1).and_then(|i| iter.children.get(i));
    each(child.ok_or_else(|| err!(State, "the cursor stands on no child; call ozarr_iter_next until `more` is false"))?)
}
