//! Nodes of either kind

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{not_null, put, text};
use super::types::{ozarr_array, ozarr_group};
use crate::node::{Context, Mode, Node, Store};
use std::ffi::c_char;
use std::ptr::null_mut;

/// Opens what stands at `location`, an array or a group; mode as for `ozarr_array_open`. One of `*array` and
/// `*group` becomes its handle, the other one NULL.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_node_open(
    location: *const c_char,
    mode: *const c_char,
    array: *mut *mut ozarr_array,
    group: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_node_open", {
        not_null(array, "array")?;
        not_null(group, "group")?;
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (location, mode) = unsafe { (text(location, "location")?, text(mode, "mode")?) };
        let (store, path) = Store::locate(&Context::default(), location, Mode::parse(mode)?)?;
        let (a, g) = match Node::open(&store, &path)? {
            Node::Array(a) => (ozarr_array::insert(a)?, null_mut()),
            Node::Group(g) => (null_mut(), ozarr_group::insert(g)?),
        };
        // SAFETY: both point to room for a handle.
        unsafe {
            put(a, array, "array")?;
            put(g, group, "group")
        }
    })
}

/// Erases what stands at `location`, with everything below it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_node_erase(location: *const c_char) -> ozarr_status {
    entry!("ozarr_node_erase", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let location = unsafe { text(location, "location") }?;
        let (store, path) = Store::locate(&Context::default(), location, Mode::ReadWrite)?;
        store.erase_node(&path)
    })
}
