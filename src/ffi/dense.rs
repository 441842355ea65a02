//! Memory whose elements follow one another in C order, as functions without strides take it.

use super::strings::not_null;
use super::types::{data_type, ozarr_type};
use crate::counting;
use crate::dtype::DataType;
use crate::engine::Memory;
use crate::error::{Result, bail, err};
use crate::limits::element_count;
use crate::node::Array;
use std::ffi::c_void;

/// A dense block in C order at `data`, which must have enough bytes.
pub(super) fn contiguous(array: &Array, shape: &[u64], raw_type: ozarr_type, data: *mut c_void, size: usize) -> Result<Memory> {
    dense(shape, data_type(raw_type, Some(array.data_type()))?, data, size, "data")
}

/// A dense block of elements of `raw_type`, whatever the array's type is.
pub(super) fn contiguous_of(shape: &[u64], raw_type: ozarr_type, data: *mut c_void, size: usize, argument: &str) -> Result<Memory> {
    dense(shape, data_type(raw_type, None)?, data, size, argument)
}

fn dense(shape: &[u64], data_type: DataType, data: *mut c_void, size: usize, argument: &str) -> Result<Memory> {
    let needed = dense_bytes(shape, data_type)?;
    if needed > 0 {
        not_null(data, argument)?;
    }
    if size < needed {
        bail!(
            BufferSize,
            "`{argument}` has {size} bytes, expected {needed} for a block of shape {} and type {}",
            counting::shape(shape),
            data_type.name()
        );
    }
    Ok(Memory::dense(data.cast(), size, shape, data_type))
}

fn dense_bytes(shape: &[u64], data_type: DataType) -> Result<usize> {
    let bytes = element_count(shape)?.checked_mul(data_type.size() as u64).and_then(|n| usize::try_from(n).ok());
    bytes.ok_or_else(|| {
        err!(BufferSize, "a block of shape {} and type {} has more bytes than memory", counting::shape(shape), data_type.name())
    })
}
