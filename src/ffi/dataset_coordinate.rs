//! Defines the coordinates of a dataset with values from memory.

use super::dense::contiguous_of;
use super::strings::{at_least_0, chunk_length};
use super::types::{data_type, ozarr_type};
use crate::engine::Selection;
use crate::error::{Result, bail};
use crate::node::{Array, Dataset};
use std::ffi::c_void;

/// Defines a coordinate of a name and units, a length and chunks, of the values in `size` bytes of memory, if there are any.
///
/// # Safety
/// `data` is NULL or has `size` bytes.
pub(super) unsafe fn define_coordinate(
    dataset: &Dataset,
    (name, units): (&str, Option<&str>),
    r#type: ozarr_type,
    (length, chunk): (i64, i64),
    (data, size): (*const c_void, usize),
) -> Result<Array> {
    let (number, length) = (data_type(r#type, None)?, at_least_0(length, "length")?);
    if data.is_null() && size > 0 {
        bail!(Null, "the argument `data` is NULL and `size` is {size}");
    }
    let contiguous = || contiguous_of(&[length], r#type, data.cast_mut(), size, "data");
    let memory = (!data.is_null()).then(contiguous).transpose()?;
    let write_values = memory.as_ref().map(|memory| {
        // SAFETY: the caller's promise.
        move |array: &Array| unsafe { array.write(&Selection::all(&[length]), memory) }
    });
    let write_values = write_values.as_ref().map(|write| write as &dyn Fn(&Array) -> Result<()>);
    let array = dataset.define_coordinate(name, length, chunk_length(chunk)?, number, units, write_values)?;
    if memory.is_some() {
        // SAFETY: the caller's promise; that these bytes hold the values was checked.
        let values = unsafe { std::slice::from_raw_parts(data.cast::<u8>(), length as usize * number.size()) };
        dataset.check_values(&array, values)?;
    }
    Ok(array)
}
