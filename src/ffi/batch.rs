//! Batches: many regions of many arrays in one call
//!
//! The entries are planned together and are one piece of work for all threads: a chunk that several of them
//! read is read and decoded once, one that several of them write is stored once. The call succeeds if all
//! entries do; an error names the first entry that it found to fail, as `entry 3: ...`, counted from 0.
//! Where entries that are written overlap, the last of them wins. Memory that is read to must not overlap.

use super::entry;
use super::flight::Flight;
use super::handle::{Handle, Ref};
use super::region::{both, ozarr_memory, ozarr_region};
use super::request::{launch_of, ozarr_request_options, refuse_copy};
use super::status::ozarr_status;
use super::strings::item_count;
use super::structs::{growing, read_struct, structs};
use super::types::{ozarr_array, ozarr_request, to_write};
use crate::engine::{Memory, Selection};
use crate::error::Result;
use crate::limits;
use crate::node::Array;
use crate::node::requests::{self, BatchPart};

/// One region of a batch. Set it to `OZARR_BATCH_ENTRY_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_batch_entry {
    /// `sizeof(ozarr_batch_entry)`; set by `OZARR_BATCH_ENTRY_INIT`. All entries of a batch have one size.
    pub struct_size: usize,
    /// The array.
    pub array: *const ozarr_array,
    /// Which of its elements; NULL: all.
    pub region: *const ozarr_region,
    /// Their memory.
    pub memory: *const ozarr_memory,
}
growing!(ozarr_batch_entry: 32);

type Checked = (Ref<Array>, Selection, Memory);

/// # Safety `entries` points to `count` structs that begin with their size and follow each other at the
/// first one's size, or `count` is 0.
unsafe fn checked(entries: *const ozarr_batch_entry, count: i64, writing: bool) -> Result<Vec<Checked>> {
    // SAFETY: the caller's promise.
    let entries = unsafe { structs(entries, item_count(count)?, "entries") }?;
    let one = |(i, pointer): (usize, *const ozarr_batch_entry)| {
        let name = format!("entries[{i}]");
        // SAFETY: one of the structs.
        let entry = unsafe { read_struct(pointer, &name) }?;
        let array = if writing { to_write(entry.array, "array") } else { ozarr_array::get(entry.array, "array") };
        let array = array.map_err(|e| requests::of_entry(i, e))?;
        // SAFETY: structs that begin with their size, by the caller's promise.
        let found = unsafe { both(&array, entry.region, entry.memory) };
        let (selection, memory) = found.map_err(|e| requests::of_entry(i, e))?;
        Ok((array, selection, memory))
    };
    limits::try_collect(entries.into_iter().enumerate().map(one))
}

fn parts(all: &[Checked]) -> Result<Vec<BatchPart<'_>>> {
    limits::collect(all.iter().map(|(array, selection, memory)| (&**array, selection.clone(), memory.clone())))
}

/// Reads `count` regions, each to its memory.
///
/// Errors: those of `ozarr_array_read_ex`: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND`; those of chunks and stores.
///
/// @param[in] entries array(count)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_read_many(entries: *const ozarr_batch_entry, count: i64) -> ozarr_status {
    entry!("ozarr_read_many", {
        // SAFETY: `count` entries, by the function's contract.
        let all = unsafe { checked(entries, count, false) }?;
        // SAFETY: the memories are as the structs say, and do not overlap.
        unsafe { requests::read_many(parts(&all)?) }
    })
}

/// Writes `count` regions, each from its memory. After an error, the other chunks are stored
/// nevertheless.
///
/// Errors: those of `ozarr_array_write_ex`: `OZARR_ERR_READ_ONLY`, `OZARR_ERR_BOUNDS`,
/// `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`,
/// `OZARR_ERR_NOT_FOUND`; those of chunks and stores.
///
/// @param[in] entries array(count)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_write_many(entries: *const ozarr_batch_entry, count: i64) -> ozarr_status {
    entry!("ozarr_write_many", {
        // SAFETY: `count` entries, by the function's contract.
        let all = unsafe { checked(entries, count, true) }?;
        // SAFETY: the memories are as the structs say.
        unsafe { requests::write_many(parts(&all)?) }
    })
}

/// Begins to read `count` regions, as one request. `options` may be NULL; the first array's context bounds
/// it.
///
/// Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_ARGUMENT`,
/// `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; `OZARR_ERR_AGAIN` and `OZARR_ERR_LIMIT` as for
/// every request.
///
/// @param[in] entries array(count)
/// @param[in] options may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_iread_many(
    entries: *const ozarr_batch_entry,
    count: i64,
    options: *const ozarr_request_options,
    out: *mut *mut ozarr_request,
) -> ozarr_status {
    entry!("ozarr_iread_many", new(out), {
        // SAFETY: `count` entries, and options that begin with their size, by the function's contract.
        let (all, launch) = unsafe { (checked(entries, count, false)?, launch_of(options)?) };
        refuse_copy(&launch)?;
        // SAFETY: the memories are as the structs say until the request is done.
        unsafe { requests::start_read_many(parts(&all)?, launch) }.map(Flight::new)
    })
}

/// Begins to write `count` regions, as one request. `options` may be NULL; the first array's context bounds
/// it.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` for an array that this program has erased or
/// replaced since; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_AGAIN` and
/// `OZARR_ERR_LIMIT` as for every request.
///
/// @param[in] entries array(count)
/// @param[in] options may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_iwrite_many(
    entries: *const ozarr_batch_entry,
    count: i64,
    options: *const ozarr_request_options,
    out: *mut *mut ozarr_request,
) -> ozarr_status {
    entry!("ozarr_iwrite_many", new(out), {
        // SAFETY: `count` entries, and options that begin with their size, by the function's contract.
        let (all, launch) = unsafe { (checked(entries, count, true)?, launch_of(options)?) };
        // SAFETY: the memories are as the structs say as long as they are used.
        unsafe { requests::start_write_many(parts(&all)?, launch) }.map(Flight::new)
    })
}
