//! Nodes of either kind
//!
//! Functions for what arrays and groups have in common take nodes: `ozarr_node_path(ozarr_array_node(t),
//! ...)`.

use super::context::default_context;
use super::entry;
use super::handle::Handle;
use super::settings;
use super::status::ozarr_status;
use super::strings::{bytes, put};
use super::types::{ozarr_array, ozarr_group, ozarr_node};
use crate::error::Result;
use crate::node::{Mode, Node, Store};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

/// Gives the caller a handle of a node: one of two variables.
///
/// # Safety
/// Both point to room for a handle.
pub(super) unsafe fn put_node(node: Node, array: *mut *mut ozarr_array, group: *mut *mut ozarr_group) -> Result<()> {
    match node {
        // SAFETY: the caller's promise.
        Node::Array(a) => unsafe { put(ozarr_array::insert(a)?, array, "array") },
        // SAFETY: the caller's promise.
        Node::Group(g) => unsafe { put(ozarr_group::insert(g)?, group, "group") },
    }
}

/// Returns the array's own handle as a node, for functions that take arrays and groups. There is nothing
/// to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_node(array: *const ozarr_array) -> *mut ozarr_node {
    entry!("ozarr_array_node", else null_mut(), { Ok(array.cast_mut().cast()) })
}

/// Returns the group's own handle as a node, for functions that take arrays and groups. There is nothing
/// to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_node(group: *const ozarr_group) -> *mut ozarr_node {
    entry!("ozarr_group_node", else null_mut(), { Ok(group.cast_mut().cast()) })
}

/// Opens the node at `location`, an array or a group; mode as for `ozarr_array_open`. One of `*array`
/// and `*group` becomes its handle, the other one NULL.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
/// written; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; those of
/// documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_open(
    location: *const c_char,
    mode: *const c_char,
    array: *mut *mut ozarr_array,
    group: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_node_open", cleared(array, group), texts(location, mode), {
        let (store, path) = Store::locate(&default_context()?, location, Mode::parse(mode)?)?;
        // SAFETY: both point to room for a handle.
        unsafe { put_node(Node::open(&store, &path)?, array, group) }
    })
}

/// Erases the node at `location`, with everything below it; of a node in a group the folder, too. What an
/// interrupted copy, migration or erasing has left there goes as well. An error may come when the node is
/// gone already, which its message says then. Arrays that another process has open there read fill values
/// from then on; `ozarr_node_refresh` of one is `OZARR_ERR_NOT_FOUND`.
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there;
/// `OZARR_ERR_AGAIN` while a series is open in it (see `OZARR_CREATE_OVERWRITE`);
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_erase(location: *const c_char) -> ozarr_status {
    entry!("ozarr_node_erase", texts(location), {
        let (store, path) = Store::locate(&default_context()?, location, Mode::ReadWrite)?;
        store.erase_node(&path)
    })
}

/// Gets the node's path in its store, such as `"fields/temperature"`; empty for the root.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_path(node: *const ozarr_node, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_node_path", text(buf, cap, len), nodes(node), { Ok(node.path().to_string()) })
}

/// Gets the node's metadata document (`zarr.json`, `.zarray` or `.zgroup`) as JSON.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_metadata(node: *const ozarr_node, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_node_metadata", text(buf, cap, len), nodes(node), { node.metadata_json() })
}

/// Gets the Zarr format: 2 or 3.
///
/// Errors: none of its own.
///
/// @param[out] format
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_zarr_format(node: *const ozarr_node, format: *mut i32) -> ozarr_status {
    entry!("ozarr_node_zarr_format", put(format), nodes(node), { Ok(node.format().number()) })
}

/// Changes a rarely used setting of this handle. What is true or false is `"1"`, `"true"` or `"on"`, or
/// `"0"`, `"false"` or `"off"`.
///
/// - `"raw_attributes"`: `"1"` shows attributes that are for programs only, too, where attributes are
///   counted, listed, or replaced all at once: `_ARRAY_DIMENSIONS` of format 2 (the dimensions' names), and
///   those of netCDF-C (`_nczarr...`, `_NCProperties`) and of libozarr_netcdf (`_nc_model`). By its name each
///   is found in any case. `"0"` is the default.
///
/// - `"history"`: says where the data come from, in the attributes that netCDF users expect. The first line
///   of the value, `"ocean 2.1: ocean run.nml"`, is put with the time in front of the attribute `history`,
///   as NCO and CDO do; `source` becomes what is in front of `": "`, else the first word, and `Conventions`
///   `"CF-1.11"`, unless they are there; `ozarr_version` is this library's. Further lines (a namelist, say)
///   are kept in the attribute `run_parameters`. Each call adds a line to what is stored by then; this is
///   stored at once. In a list of texts, as netCDF-4 has it, the line becomes the first one.
///
/// - `"attributes"`: sets the attributes that are the members of a JSON object, in one write; all others
///   stay as they are stored by then. After an error none of them is set. What is asked for is
///   `ozarr_attrs_get`.
///
/// Of groups:
///
/// - `"link_unchanged"`: for a group of `ozarr_checkpoint_begin`, before arrays are written: `"1"` makes
///   chunks that are the same as in the newest checkpoint hard links to its files, which are compared
///   instead of written. No checkpoint changes another. In other stores than folders all is written.
///
/// Of arrays (handles that `ozarr_dataset_open_variable` gives of one variable share these):
///
/// - `"write_fill_chunks"`: `"1"` stores also chunks that hold nothing but the fill value; `"0"` (the
///   default) does not store them: their elements have the fill value in any case.
/// - `"chunk_cache"`: the bytes of memory for decoded chunks (inner chunks of shards) of which only
///   parts are read; `"0"`, the default, keeps none. Every use checks whether the stored chunk has
///   changed (one system call for a file), so that changes by others are seen, on file systems with
///   reliable times. It is for programs that read element by element, and of no use for remote stores
///   (`ozarr_store_cached` is for them). Less than one chunk is `OZARR_ERR_LIMIT`. Chunks of elements of
///   variable length are not kept: each read of a part decodes the chunk.
/// - `"write_back"`: the bytes of memory in which parts of chunks that are written, in any order, wait
///   until their chunks are whole, so that each is encoded once; `"0"`, the default: nothing waits. A
///   part takes the memory of its chunk, and a bit for each element where parts make no box. Where the
///   context has threads for it, one of them stores a chunk of 256 KiB and more that became whole while
///   the program goes on. Calls of this process that touch such a chunk wait for that, whatever handle
///   they use; other processes see it soon after, or after a flush. Reading by this handle stores what
///   it is about to read. What waits comes after what other handles write meanwhile: flush before one
///   of them writes the same elements. When the memory is used up, the chunks that have waited longest
///   are stored. Flushing and closing (the array, or the store or a group by which it was opened) report
///   errors of storing; chunks that could not be stored keep waiting, and the next flush tries again. Less
///   than one chunk is `OZARR_ERR_LIMIT`. Elements of variable length do not wait. After `fork` no writes
///   wait in the child.
/// - `"measure_time"`: `"1"` measures the time in codecs for `ozarr_array_stats`; `"0"` is the default.
/// - `"list_changes"`: `"1"` lists the keys of chunks that this handle stores or erases from now on, for
///   `"changes"` of `ozarr_node_get`: to find out which process wrote what. `"0"`, the default, lists none.
/// - `"lost"`: `"1"` where the program has found that another one has renamed, erased or replaced the array,
///   of which this process is not told: what waits by this handle (`"write_back"`) is never stored, and
///   calls that store chunks by it are `OZARR_ERR_STATE`, as after such a change by this process, until
///   `ozarr_node_refresh`. What waited until then is told of once, by the next call that would store it,
///   and is gone. `"0"` changes nothing.
/// - `"claim"`: what `ozarr_node_get` gave to the process that has a series, of the variable as its dataset
///   has it (`ozarr_dataset_open_variable`). What this handle stores of steps for it (`ozarr_series_declare`)
///   replaces no chunk of a newer series, in a store without locks where the server keeps conditions of
///   puts. Elsewhere it is empty, which changes nothing; `""` ends it.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown setting or value; `OZARR_ERR_TYPE` for `"history"` where
/// the attribute is neither a text nor a list of texts; `OZARR_ERR_NAME`, `OZARR_ERR_RANGE` and
/// `OZARR_ERR_TYPE` for `"attributes"` as `ozarr_attrs_set` says; `OZARR_ERR_READ_ONLY`; those of
/// documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_set(node: *mut ozarr_node, key: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_node_set", nodes(node), texts(key, value), { settings::set(&node, key, value) })
}

/// Gets a setting of `ozarr_node_set`, in the form in which it can be set again (`"1"` or `"0"`, or a
/// number of bytes). Others are read-only: `"mode"` is `"r+"` where the node may be changed, else
/// `"r"`; `"draft"` is the draft of Zarr v3 that the node is in, `"d0"` or `"d2"`, and empty where it is
/// in none (drafts are only read; `ozarr_migrate` makes Zarr v3 of them); `"location"` is that of the
/// node's store, by which other processes open it and import nodes, whatever their current folders are:
/// for a checkpoint that was begun, the place where it is made, and empty where there is none (memory,
/// functions of a program, a part of an archive); `"changes"` of an array has the keys that
/// `"list_changes"` listed, sorted, a line for each.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown setting; `OZARR_ERR_TYPE` for `"history"` as for
/// `ozarr_node_set`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_get(
    node: *const ozarr_node,
    key: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_node_get", text(buf, cap, len), nodes(node), texts(key), { settings::get(&node, key) })
}

/// Reads the node's metadata documents again (`data` NULL, `size` 0), because other handles and
/// processes may have changed its shape or attributes. Or takes what another process found out: the
/// `size` bytes of its `ozarr_node_export` of the same node; then nothing is read from the store.
/// Refresh an array that another handle may have made longer before writing its last chunk along that
/// dimension: the chunk is stored as a whole where a write covers what the handle knows of it.
///
/// Errors: `OZARR_ERR_NOT_FOUND` if the node is gone, or the checkpoint in whose group it was opened, be
/// another one in its place or not; `OZARR_ERR_NODE_KIND` if it became one of the other kind;
/// `OZARR_ERR_STATE` if it became an array of another number of dimensions, which is to be opened again;
/// `OZARR_ERR_ARGUMENT` for an export of another node; those of documents and stores.
///
/// @param[in] data may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_refresh(node: *mut ozarr_node, data: *const c_void, size: usize) -> ozarr_status {
    entry!("ozarr_node_refresh", nodes(node), {
        match size {
            0 if data.is_null() => node.refresh(),
            // SAFETY: `size` bytes, by the function's contract.
            _ => node.refresh_from(unsafe { bytes(data, size, "data") }?),
        }
    })
}

/// Stores writes that wait (the setting `"write_back"`), of a group those of all arrays of its store, and
/// makes durable what was written to the node's store, as far as its `"file.sync"` says: at the end of a
/// checkpoint, for example.
///
/// Errors: those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_flush(node: *mut ozarr_node) -> ozarr_status {
    entry!("ozarr_node_flush", nodes(node), { node.flush() })
}
