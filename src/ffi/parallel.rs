//! Parallel programs
//!
//! The processes of a parallel program (MPI ranks, say) open the same array and read and write regions of it
//! at the same time. `ozarr_array_partition` gives each process a part that ends at the borders of chunks, so
//! that no two processes write to one chunk.

use super::entry;
use super::handle::Handle;
use super::region::{ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::{not_null, put_numbers};
use super::types::ozarr_array;
use crate::error::bail;

/// `ozarr_array_partition`: cuts between the chunks inside of shards, too, for reading.
pub const OZARR_PARTITION_INNER: u32 = 1;

/// The part of a region (NULL: the whole array; without steps) for worker `index`, from 0, of `workers`: a
/// box at `start` of `shape` elements, one number for each dimension. The parts are disjoint, make up the
/// region, and end only where chunks (shards) end, so that workers write without waiting for each other.
/// Each has about as many chunks; along one dimension none has more than one chunk more than another. If
/// there are fewer chunks than workers, the last workers get boxes without elements.
///
/// The chunks are cut across one dimension into two, each for a part of the workers, and these again, where
/// the most and the least that one may get are nearest to each other; of such cuts in the middle, of these
/// across the first dimension. Of a rectilinear grid not chunks count but their elements. Every process
/// finds the same.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_partition(
    array: *const ozarr_array,
    region: *const ozarr_region,
    workers: i64,
    index: i64,
    flags: u32,
    start: *mut i64,
    shape: *mut i64,
) -> ozarr_status {
    entry!("ozarr_array_partition", {
        let array = ozarr_array::get(array, "array")?;
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
