//! Lists of elements
//!
//! Besides boxes an array can be read and written by lists: an index list for each dimension (orthogonal),
//! points, or a mask. Each chunk (of a shard: each inner chunk) that a list touches is read and decoded
//! once, whatever the order of the list, and where elements are picked far apart in an uncompressed chunk
//! only they are read. Types are converted as for regions.
//!
//! ```c
//! // Rows 7, 3 and 3 again, all columns.
//! const int64_t rows[] = {7, 3, 3}, counts[] = {3, 0}, *lists[] = {rows, NULL};
//! ozarr_memory memory = OZARR_MEMORY_INIT;
//! memory.data = data, memory.size = sizeof data, memory.type = OZARR_FLOAT64;
//! if (ozarr_array_read_orthogonal(t, counts, lists, &memory)) goto fail;
//!
//! // The elements [5][0] and [2][9].
//! const int64_t points[] = {5, 0, 2, 9};
//! memory.data = pair, memory.size = sizeof pair;
//! if (ozarr_array_read_points(t, points, 2, &memory)) goto fail;
//! ```
//!
//! A list may have an index several times: a read returns the element each time; a write stores the last
//! of its values, as in numpy. An index outside of the array, or a negative one, is `OZARR_ERR_BOUNDS`,
//! the message names its position, and nothing is read or written.

use super::entry;
use super::handle::Ref;
use super::region::{memory_of, ozarr_memory, ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::{not_null, numbers, slice};
use super::types::{data_type, ozarr_array, ozarr_type};
use crate::counting;
use crate::engine::{CoordinateSelection, Memory, Overflow, Selection};
use crate::error::{Result, bail, err};
use crate::limits::{Strides, element_count};
use crate::node::Array;
use std::ffi::c_void;

/// Reads the product of index lists: element `[i][j]` of the memory is the array's element
/// `(indices[0][i], indices[1][j])`. Dimension d has `counts[d]` indices in `indices[d]`, in any order;
/// where `indices[d]` is NULL all of the dimension is read, and `counts[d]` does not count. The memory is
/// a block of the lists' lengths.
///
/// Errors: `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; those
/// of chunks and stores.
///
/// @param[in] counts,indices array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_orthogonal(
    array: *const ozarr_array,
    counts: *const i64,
    indices: *const *const i64,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_read_orthogonal", handles(array), {
        // SAFETY: `counts` has the length of each list, by the function's contract.
        let lists = unsafe { lists_of(&array, counts, indices) }?;
        // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
        unsafe { read_ex(&array, &CoordinateSelection::Orthogonal(&lists), memory) }
    })
}

/// Writes the product of index lists, from memory as for `ozarr_array_read_orthogonal`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`,
/// `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
/// `ozarr_array_write_ex`; those of chunks and stores.
///
/// @param[in] counts,indices array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_orthogonal(
    array: *const ozarr_array,
    counts: *const i64,
    indices: *const *const i64,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_write_orthogonal", to_write(array), {
        // SAFETY: `counts` has the length of each list, by the function's contract.
        let lists = unsafe { lists_of(&array, counts, indices) }?;
        // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
        unsafe { write_ex(&array, &CoordinateSelection::Orthogonal(&lists), memory) }
    })
}

/// Reads the `count` elements at `points` to memory of one dimension: `strides` has one number. `points`
/// has the indices of each point one after the other: one for each dimension of the array.
///
/// Errors: `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; those
/// of chunks and stores.
///
/// @param[in] points array(count * rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_points(
    array: *const ozarr_array,
    points: *const i64,
    count: i64,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_read_points", handles(array), {
        // SAFETY: as many numbers, by the function's contract.
        let picks = unsafe { points_of(&array, points, count) }?;
        // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
        unsafe { read_ex(&array, &picks, memory) }
    })
}

/// Writes `count` elements to `points`, from memory as for `ozarr_array_read_points`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`,
/// `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
/// `ozarr_array_write_ex`; those of chunks and stores.
///
/// @param[in] points array(count * rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_points(
    array: *const ozarr_array,
    points: *const i64,
    count: i64,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_write_points", to_write(array), {
        // SAFETY: as many numbers, by the function's contract.
        let picks = unsafe { points_of(&array, points, count) }?;
        // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
        unsafe { write_ex(&array, &picks, memory) }
    })
}

/// Reads those elements of a region (NULL: the whole array; without steps) whose byte in `mask` is not 0
/// to memory of one dimension: `strides` has one number. `mask` has a byte for each element of the
/// region, the last index fastest, and the elements come in that order.
///
/// Errors: `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; those
/// of chunks and stores.
///
/// @param[in] region may be NULL
/// @param[in] mask array(elements)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_mask(
    array: *const ozarr_array,
    region: *const ozarr_region,
    mask: *const u8,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_read_mask", handles(array), {
        // SAFETY: a struct that begins with its size, a byte for each element, by the function's contract.
        let (region, mask) = unsafe { mask_of(&array, region, mask) }?;
        // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
        unsafe { read_ex(&array, &CoordinateSelection::Mask { region: &region, mask }, memory) }
    })
}

/// Writes to the elements that `ozarr_array_read_mask` would read.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`,
/// `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
/// `ozarr_array_write_ex`; those of chunks and stores.
///
/// @param[in] region may be NULL
/// @param[in] mask array(elements)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_mask(
    array: *const ozarr_array,
    region: *const ozarr_region,
    mask: *const u8,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_write_mask", to_write(array), {
        // SAFETY: a struct that begins with its size, a byte for each element, by the function's contract.
        let (region, mask) = unsafe { mask_of(&array, region, mask) }?;
        // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
        unsafe { write_ex(&array, &CoordinateSelection::Mask { region: &region, mask }, memory) }
    })
}

/// Writes one value, of `type` at `value`, to all elements of a region (NULL: the whole array), without
/// memory of the region's size; whole chunks are encoded once for all. Whole chunks of nothing but the
/// array's fill value are erased instead of stored, as with every write; see `"write_fill_chunks"`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`; `OZARR_ERR_RANGE` for a value that does not fit
/// into the array's type; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; those
/// of chunks and stores.
///
/// @param[in] region may be NULL
/// @param[in] value
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_fill(
    array: *const ozarr_array,
    region: *const ozarr_region,
    r#type: ozarr_type,
    value: *const c_void,
) -> ozarr_status {
    entry!("ozarr_array_fill", to_write(array), {
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        not_null(value, "value")?;
        let data_type = data_type(r#type, Some(array.data_type()))?;
        if data_type.is_variable() {
            bail!(Type, "the elements are {}, of variable length; use ozarr_array_write_strings", array.data_type().name());
        }
        let strides = Strides::from_elem(0, selection.shape().len());
        let (data, size) = (value.cast_mut().cast(), data_type.size());
        let memory = Memory { data, size, offset: 0, strides, data_type, overflow: Overflow::Error, arena: None };
        // SAFETY: `value` is one element, by the function's contract; it is only read.
        unsafe { array.fill_with(&selection, &memory) }
    })
}

/// # Safety
/// `memory` is NULL or points to a struct that begins with its size and tells the truth.
unsafe fn read_ex(array: &Array, picks: &CoordinateSelection<'_>, memory: *const ozarr_memory) -> Result<()> {
    // SAFETY: the caller's promise.
    let memory = unsafe { memory_of(array, &picks.shape(&array.shape()), memory) }?;
    // SAFETY: the caller's promise.
    unsafe { array.read_picks(picks, &memory) }
}

/// # Safety
/// As for [`read_ex`].
unsafe fn write_ex(array: &Array, picks: &CoordinateSelection<'_>, memory: *const ozarr_memory) -> Result<()> {
    // SAFETY: the caller's promise.
    let memory = unsafe { memory_of(array, &picks.shape(&array.shape()), memory) }?;
    // SAFETY: the caller's promise.
    unsafe { array.write_picks(picks, &memory) }
}

/// # Safety `counts` is NULL or has a number for each dimension, `indices` is NULL or has a pointer for
/// each: NULL, or to as many numbers.
unsafe fn lists_of<'a>(array: &Ref<Array>, counts: *const i64, indices: *const *const i64) -> Result<Vec<Option<&'a [i64]>>> {
    let rank = array.rank();
    // SAFETY: the caller's promise.
    let counts = unsafe { numbers(counts, rank, "counts") }?;
    if rank > 0 {
        not_null(indices, "indices")?;
    }
    let list = |(d, &count): (usize, &i64)| {
        // SAFETY: the caller's promise.
        let list = unsafe { indices.add(d).read() };
        if list.is_null() {
            return Ok(None);
        }
        let count =
            usize::try_from(count).map_err(|_| err!(Argument, "`counts`{} is {count}, expected at least 0", counting::item(d, rank)))?;
        // SAFETY: the caller's promise.
        unsafe { slice(list, count, "indices") }.map(Some)
    };
    counts.iter().enumerate().map(list).collect()
}

/// # Safety
/// `points` is NULL or has `count` times the rank numbers.
unsafe fn points_of<'a>(array: &Array, points: *const i64, count: i64) -> Result<CoordinateSelection<'a>> {
    let Ok(count) = u64::try_from(count) else { bail!(Argument, "the argument `count` is {count}, expected at least 0") };
    let total = usize::try_from(count).ok().and_then(|n| n.checked_mul(array.rank())).unwrap_or(usize::MAX);
    // SAFETY: the caller's promise.
    Ok(CoordinateSelection::Points { count, coordinates: unsafe { slice(points, total, "points") }? })
}

/// # Safety `region` is NULL or points to a struct that begins with its size; `mask` is NULL or has a byte
/// for each of its elements.
unsafe fn mask_of<'a>(array: &Array, region: *const ozarr_region, mask: *const u8) -> Result<(Selection, &'a [u8])> {
    // SAFETY: the caller's promise.
    let region = unsafe { selection_of(array, region) }?;
    let count = usize::try_from(element_count(region.shape())?).unwrap_or(usize::MAX);
    // SAFETY: the caller's promise.
    Ok((region, unsafe { slice(mask, count, "mask") }?))
}
