//! Hierarchies: moving, copying and erasing nodes, and what is stored

use super::entry;
use super::status::ozarr_status;
use super::strings::{not_null, number, put, put_text};
use super::structs::{Growing, growing};
use super::types::{ozarr_array, ozarr_group};
use crate::limits::joined;
use std::ffi::c_char;

/// Moves the node at `path`, with everything below it, to `to_path`; both paths are relative to the
/// group. A node at `to_path` is `OZARR_ERR_EXISTS`. In a directory this is one rename; in other stores
/// the node is copied and erased: where that is interrupted, the same call goes on, and the node may be at
/// both paths until then. Where the two differ by then the error is `OZARR_ERR_EXISTS`, and both stay.
/// Consolidated metadata of groups above name neither path for a moment, and after a kill then until
/// the next call that changes them.
/// Close handles on the moved nodes before.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if there is no node at `path`; `OZARR_ERR_ARGUMENT`
/// for a path below itself; `OZARR_ERR_AGAIN` while a series is open in it (see
/// `OZARR_CREATE_OVERWRITE`), and where another process has renamed it meanwhile; `OZARR_ERR_READ_ONLY`;
/// those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_rename(group: *mut ozarr_group, path: *const c_char, to_path: *const c_char) -> ozarr_status {
    entry!("ozarr_group_rename", handles(group), texts(path, to_path), {
        group.store().rename_node(&group.child_path(path)?, &group.child_path(to_path)?)
    })
}

/// Erases the node at `path` below the group, with everything below it.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_AGAIN` while a
/// series is open in it (see `OZARR_CREATE_OVERWRITE`); `OZARR_ERR_READ_ONLY`; those of
/// documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_erase(group: *mut ozarr_group, path: *const c_char) -> ozarr_status {
    entry!("ozarr_group_erase", handles(group), texts(path), { group.store().erase_node(&group.child_path(path)?) })
}

/// Compares the group's consolidated metadata with the documents below it, all of which are read.
/// `*current` becomes whether they agree; the text (`buf` may be NULL with `cap` 0) has a line for each
/// difference. A group without consolidated metadata is not current.
///
/// Errors: those of documents and stores.
///
/// @param[out] current
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_consolidated_check(
    group: *const ozarr_group,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    current: *mut bool,
) -> ozarr_status {
    entry!("ozarr_group_consolidated_check", handles(group), {
        not_null(current, "current")?;
        let differences = group.consolidated_differences()?;
        let is_current = differences.as_ref().is_some_and(Vec::is_empty);
        let lines = differences.unwrap_or_else(|| vec!["there are no consolidated metadata".to_string()]);
        // SAFETY: room as is said, by the function's contract.
        unsafe {
            put_text(&joined(lines.iter().map(String::as_str), "\n")?, buf, cap, len)?;
            put(is_current, current, "current")
        }
    })
}

/// How much of an array is stored. Set it to `OZARR_INFO_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_info {
    /// `sizeof(ozarr_info)`; set by `OZARR_INFO_INIT`.
    pub struct_size: usize,
    /// The chunks (shards) that are stored.
    pub chunks: i64,
    /// The number of chunks in the array's shape, stored or not.
    pub possible_chunks: i64,
    /// The bytes of those that are stored.
    pub stored_bytes: i64,
    /// The bytes of all elements in memory; -1 where they are of variable length.
    pub element_bytes: i64,
    /// `element_bytes` divided by `stored_bytes`; 0 where it is not known.
    pub ratio: f64,
}
growing!(ozarr_info: 48);

/// Fills `info` with how much of the array is stored. This lists the array's keys.
///
/// Errors: those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_info(array: *const ozarr_array, info: *mut ozarr_info) -> ozarr_status {
    entry!("ozarr_array_info", fill(info), handles(array), {
        let usage = array.usage()?;
        let elements = array.element_bytes();
        Ok(ozarr_info {
            chunks: number(usage.chunks),
            possible_chunks: number(usage.possible_chunks),
            stored_bytes: number(usage.bytes),
            element_bytes: elements.map_or(-1, number),
            ratio: elements.filter(|_| usage.bytes > 0).map_or(0.0, |n| n as f64 / usage.bytes as f64),
            ..Growing::empty()
        })
    })
}
