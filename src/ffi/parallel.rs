//! Parallel programs
//!
//! The processes of a parallel program (the ranks of MPI) open the same array and read and write regions
//! of it at the same time. `ozarr_array_partition` gives each process a part that ends at the borders of
//! chunks, so that no two processes write to one chunk.

use super::context::default_context;
use super::entry;
use super::node::put_node;
use super::region::{ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::{bytes, not_null, put_bytes, put_numbers};
use super::types::{ozarr_array, ozarr_group, ozarr_node, ozarr_store};
use crate::error::{Result, bail};
use crate::node::{Mode, Node, Store};
use std::ffi::{c_char, c_void};

/// `ozarr_array_partition`: cuts between the chunks inside of shards, too, for reading.
pub const OZARR_PARTITION_INNER: u32 = 1;

/// Computes the part of a region (NULL: the whole array; without steps) for worker `index`, from 0, of
/// `workers`: a box at `start` of `shape` elements, one number for each dimension. The parts are
/// disjoint, make up the region, and end only where chunks (shards) end, so that workers write without
/// waiting for each other. All have about the same number of chunks; along one dimension the numbers
/// differ by at most 1. If there are fewer chunks than workers, the last workers get boxes without
/// elements.
///
/// The region is bisected recursively along chunk boundaries; each cut minimises the difference of the
/// loads. Ties prefer the cut nearest the middle, then the first dimension. The load is the number of
/// chunks; on a rectilinear grid, of elements. The result is deterministic: every process computes the same
/// parts.
///
/// Errors: `OZARR_ERR_BOUNDS` for a region that leaves the array, and for an `index` that is not below
/// `workers`; `OZARR_ERR_ARGUMENT` for a step, another flag, or a periodic region; `OZARR_ERR_RANK` for
/// an array without dimensions and more than one worker: its one element makes no box without elements.
///
/// @param[in] region may be NULL
/// @param[out] start,shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_partition(
    array: *const ozarr_array,
    region: *const ozarr_region,
    workers: i64,
    index: i64,
    flags: u32,
    start: *mut i64,
    shape: *mut i64,
) -> ozarr_status {
    entry!("ozarr_array_partition", handles(array), {
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        if flags & !OZARR_PARTITION_INNER != 0 {
            bail!(Argument, "the argument `flags` is {flags}, expected 0 or OZARR_PARTITION_INNER");
        }
        let (Ok(n), Ok(i)) = (u64::try_from(workers), u64::try_from(index)) else {
            bail!(Bounds, "worker {index} of {workers}: expected a number from 0 to one less than the number of workers");
        };
        let part = array.partition(&selection, n, i, flags & OZARR_PARTITION_INNER != 0)?;
        if array.rank() > 0 {
            not_null(start, "start")?;
            not_null(shape, "shape")?;
        }
        // SAFETY: room for every dimension, by the function's contract.
        unsafe {
            put_numbers(&part.0, start, "start")?;
            put_numbers(&part.1, shape, "shape")
        }
    })
}

/// Writes the node's metadata (a group's with those of everything below it) to `buf`, for
/// `ozarr_node_import` in other processes of a parallel program: one process reads the metadata and
/// sends it to the others. `*len` becomes the number of bytes, also where `cap` is too small
/// (`OZARR_ERR_BUFFER_SIZE`); NULL with `cap` 0 asks for it.
///
/// Errors: those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_export(node: *const ozarr_node, buf: *mut c_void, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_node_export", nodes(node), {
        let bytes = node.export()?;
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_bytes(&bytes, buf, cap, len) }
    })
}

/// Opens an exported node in the store at `location` (the root, as for `ozarr_store_open`). No metadata
/// are read from the store, neither for the node nor for nodes that are opened below a group; where other
/// writers have two keys for one chunk (the only one of an array of rank 0, those of v2 arrays without
/// `"dimension_separator"`), it is looked which of them is there. One of `*array` and `*group` becomes its
/// handle, the other one NULL. Mode as for `ozarr_array_open`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_LOCATION`; `OZARR_ERR_READ_ONLY` where
/// the store cannot be written; `OZARR_ERR_NOT_FOUND` for reading an archive that is not there; those
/// of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_import(
    location: *const c_char,
    mode: *const c_char,
    data: *const c_void,
    size: usize,
    array: *mut *mut ozarr_array,
    group: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_node_import", cleared(array, group), texts(location, mode), {
        let store = Store::open(&default_context()?, location, Mode::parse(mode)?, &[])?;
        // SAFETY: `size` bytes, and room for a handle at both, by the function's contract.
        unsafe { put_node(imported(&store, data, size)?, array, group) }
    })
}

/// Opens an exported node in an open store, as `ozarr_node_import` does.
///
/// Errors: those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_node_import_at(
    store: *const ozarr_store,
    data: *const c_void,
    size: usize,
    array: *mut *mut ozarr_array,
    group: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_node_import_at", cleared(array, group), handles(store), {
        // SAFETY: `size` bytes, and room for a handle at both, by the function's contract.
        unsafe { put_node(imported(&store, data, size)?, array, group) }
    })
}

/// # Safety `data` is NULL or has `size` bytes.
unsafe fn imported(store: &Store, data: *const c_void, size: usize) -> Result<Node> {
    not_null(data, "data")?;
    // SAFETY: the caller's promise.
    Node::import(store, unsafe { bytes(data, size, "data") }?)
}
