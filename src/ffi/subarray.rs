//! Memory that is a part of a larger array: `sizes` and `starts` of `ozarr_memory`.

use super::strings::numbers;
use crate::counting;
use crate::error::{Result, bail, err};
use crate::limits::{Dims, Strides};

/// The strides of the array in memory (of shape `sizes`) of which a region of shape `shape` is the part that begins at `starts` (NULL: at
/// 0), and the distance of the part in bytes. `packed` gives the strides of a contiguous array.
///
/// # Safety
/// `sizes`, and `starts` unless it is NULL, have a number for each dimension of `shape`.
pub(super) unsafe fn subarray(
    sizes: *const i64,
    starts: *const i64,
    shape: &[u64],
    packed: impl Fn(&[u64]) -> Strides,
) -> Result<(Strides, usize)> {
    let rank = shape.len();
    // SAFETY: the caller's promise.
    let sizes = unsafe { numbers(sizes, rank, "memory->sizes") }?;
    // SAFETY: the caller's promise.
    let starts = if starts.is_null() { None } else { Some(unsafe { numbers(starts, rank, "memory->starts") }?) };
    let mut whole = Dims::new();
    for d in 0..rank {
        let (size, start) = (sizes[d], starts.map_or(0, |s| s[d]));
        if size < 0 || start < 0 || shape[d] > size as u64 || start as u64 > size as u64 - shape[d] {
            let (dim, start) = (counting::dimension(d, rank), counting::position(start));
            bail!(Bounds, "{dim}: {} elements from {start} on leave the array in memory, which has {size} (`memory->sizes`)", shape[d]);
        }
        whole.push(size as u64);
    }
    let strides = packed(&whole);
    let offset = (0..rank).try_fold(0usize, |offset, d| {
        let index = usize::try_from(starts.map_or(0, |s| s[d])).ok()?;
        offset.checked_add(index.checked_mul(usize::try_from(strides[d]).ok()?)?)
    });
    let offset = offset.ok_or_else(|| err!(Bounds, "`memory->starts` begins beyond what memory can hold"))?;
    Ok((strides, offset))
}
