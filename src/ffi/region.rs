//! Any region, any memory
//!
//! A region takes every `step`-th element; memory has any distance between neighbours along each dimension.
//! Together they let a program read and write the middle of a field with halos, a column-major array, or a
//! mirrored one, without a copy of its own:
//!
//! ```c
//! // The interior of u[66][66], which has a halo of one element around it, to t[0][..][..].
//! int64_t start[] = {0, 0, 0}, shape[] = {1, 64, 64};
//! int64_t strides[] = {0, sizeof u[0], sizeof u[0][0]};
//! ozarr_region region = OZARR_REGION_INIT;
//! ozarr_memory memory = OZARR_MEMORY_INIT;
//! region.start = start;
//! region.shape = shape;
//! memory.data = u;
//! memory.size = sizeof u;
//! memory.offset = sizeof u[0] + sizeof u[0][0];
//! memory.strides = strides;
//! memory.type = OZARR_FLOAT64;
//! if (ozarr_array_write_ex(t, &region, &memory)) goto fail;
//! ```

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{not_null, numbers};
use super::types::{check_struct_size, data_type, is_order_f, ozarr_array, ozarr_order, ozarr_type};
use crate::engine::{Memory, Overflow, Selection};
use crate::error::{Result, bail};
use crate::limits::{Strides, c_strides, f_strides};
use crate::node::Array;
use std::ffi::c_void;

/// Which elements of an array: element i along dimension d is `start[d] + i * step[d]`. To be set to
/// `OZARR_REGION_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct ozarr_region {
    /// `sizeof(ozarr_region)`; set by `OZARR_REGION_INIT`.
    pub struct_size: usize,
    /// The first element, one number for each dimension of the array.
    pub start: *const i64,
    /// The number of elements along each dimension.
    pub shape: *const i64,
    /// The distance between neighbours along each dimension, not 0, negative for backwards. NULL: 1
    /// everywhere.
    pub step: *const i64,
}

/// Memory of the caller. No byte outside of `data` to `data + size` is touched. To be set to
/// `OZARR_MEMORY_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
#[allow(non_camel_case_types)]
pub struct ozarr_memory {
    /// `sizeof(ozarr_memory)`; set by `OZARR_MEMORY_INIT`.
    pub struct_size: usize,
    /// The first byte that may be touched. Writing to an array only reads from here.
    pub data: *mut c_void,
    /// The number of bytes that may be touched.
    pub size: usize,
    /// The distance in bytes from `data` to the region's first element.
    pub offset: usize,
    /// The distance in bytes between neighbours along each dimension; may be negative. 0 repeats an element
    /// along that dimension when writing; when reading, no two elements may overlap. One for each dimension of
    /// the array, of no meaning where the region is 1 long. NULL: the elements are contiguous, in `order`.
    pub strides: *const i64,
    /// `OZARR_ORDER_C` or `OZARR_ORDER_F`; counts where `strides` is NULL.
    pub order: ozarr_order,
    /// The type of the elements; `OZARR_AS_STORED` is the array's.
    pub r#type: ozarr_type,
}

/// Reads a region (NULL: the whole array) to memory.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_read_ex(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_read_ex", {
        let array = ozarr_array::get(array, "array")?;
        // SAFETY: structs that begin with their size, by the function's contract.
        let (selection, memory) = unsafe { both(&array, region, memory) }?;
        // SAFETY: the memory is as the struct says, by the function's contract.
        unsafe { array.read(&selection, &memory) }
    })
}

/// Writes a region (NULL: the whole array) from memory.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_write_ex(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_write_ex", {
        let array = ozarr_array::get(array, "array")?;
        // SAFETY: structs that begin with their size, by the function's contract.
        let (selection, memory) = unsafe { both(&array, region, memory) }?;
        // SAFETY: the memory is as the struct says, by the function's contract.
        unsafe { array.write(&selection, &memory) }
    })
}

/// # Safety
/// `region` and `memory` are NULL or point to structs that begin with their size.
unsafe fn both(array: &Array, region: *const ozarr_region, memory: *const ozarr_memory) -> Result<(Selection, Memory)> {
    // SAFETY: the caller's promise.
    let selection = unsafe { selection_of(array, region) }?;
    // SAFETY: the caller's promise.
    let memory = unsafe { memory_of(array, selection.shape(), memory) }?;
    Ok((selection, memory))
}

/// # Safety `region` is NULL or points to a struct that begins with its size and whose lists have a number for
/// each dimension.
pub(super) unsafe fn selection_of(array: &Array, region: *const ozarr_region) -> Result<Selection> {
    let length = array.shape();
    if region.is_null() {
        return Ok(Selection::all(&length));
    }
    // SAFETY: not NULL; the caller's promise.
    unsafe { check_struct_size(region, "region") }?;
    // SAFETY: it has at least the size of the struct.
    let region = unsafe { region.read() };
    // SAFETY: the caller's promise.
    let (start, shape) =
        unsafe { (numbers(region.start, length.len(), "region->start")?, numbers(region.shape, length.len(), "region->shape")?) };
    // SAFETY: the caller's promise.
    let step = if region.step.is_null() { None } else { Some(unsafe { numbers(region.step, length.len(), "region->step") }?) };
    Selection::new(&length, start, shape, step)
}

/// # Safety `memory` is NULL or points to a struct that begins with its size and whose strides, if any, are as
/// many as `shape` is long.
unsafe fn memory_of(array: &Array, shape: &[u64], memory: *const ozarr_memory) -> Result<Memory> {
    not_null(memory, "memory")?;
    // SAFETY: not NULL; the caller's promise.
    unsafe { check_struct_size(memory, "memory") }?;
    // SAFETY: it has at least the size of the struct.
    let memory = unsafe { memory.read() };
    let data_type = data_type(memory.r#type, Some(array.data_type()))?;
    let order_f = is_order_f(memory.order)?;
    if memory.data.is_null() && memory.size > 0 {
        bail!(Null, "`memory->data` is NULL and `memory->size` is {}", memory.size);
    }
    let strides = match (memory.strides.is_null(), order_f) {
        // SAFETY: the caller's promise.
        (false, _) => Strides::from_slice(unsafe { numbers(memory.strides, shape.len(), "memory->strides") }?),
        (true, false) => c_strides(shape, data_type.size()),
        (true, true) => f_strides(shape, data_type.size()),
    };
    Ok(Memory { data: memory.data.cast(), size: memory.size, offset: memory.offset, strides, data_type, overflow: Overflow::Error })
}
