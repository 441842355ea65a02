//! NCZarr: what netCDF-C adds
//!
//! netCDF-C writes keys of its own into hierarchies of format 2 (`_nczarr_group` and its like, in four
//! generations): dimensions that groups define, unlimited ones among them, and the types of attributes.
//! They are read here; dimensions' names of arrays come with `ozarr_array_dimension_name` as all others do.
//! The option `"nczarr"` of `ozarr_store_open_ex` says when they are written, so that netCDF-C opens
//! `file://PATH#mode=nczarr,file`. Without them it opens what has names of dimensions by `mode=zarr`.
//! Where netCDF-C lacks the plugin of a compressor, as Debian's 4.9.0 does, it gives the compressed bytes
//! as elements, without an error: write for it with the compressor `none`, or read with `ozarr-netcdf`.

use super::entry;
use super::status::ozarr_status;
use super::strings::{position, put_optional, put_text};
use super::types::{ozarr_array, ozarr_group, ozarr_node};
use crate::error::{bail, err};
use crate::node::NcType;
use std::ffi::c_char;

/// Gets the version in the superblock of a root that NCZarr wrote (`"2.0.0"`), or an empty string.
///
/// Errors: those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_nc_version(group: *const ozarr_group, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_group_nc_version", text(buf, cap, len), handles(group), { Ok(group.nc_version()?.unwrap_or_default()) })
}

/// Gets the number of dimensions that the group itself defines for netCDF: 0 if netCDF-C did not write
/// it.
///
/// Errors: those of documents and stores.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_nc_dimension_count(group: *const ozarr_group, count: *mut i64) -> ozarr_status {
    entry!("ozarr_group_nc_dimension_count", put(count), handles(group), { Ok(group.nc_dimensions()?.unwrap_or_default().len() as i64) })
}

/// Gets the name, the length (`*extent`) and whether it is unlimited (`*unlimited`) of dimension number
/// `index`, from 0. `extent` and `unlimited` may be NULL.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no dimension `index`; those of documents and stores.
///
/// @param[out] extent,unlimited may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_nc_dimension(
    group: *const ozarr_group,
    index: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    extent: *mut i64,
    unlimited: *mut bool,
) -> ozarr_status {
    entry!("ozarr_group_nc_dimension", handles(group), {
        let all = group.nc_dimensions()?.unwrap_or_default();
        let found = &all[position(index, all.len(), "index", "dimensions")?];
        let length = i64::try_from(found.length).map_err(|_| err!(Limit, "the dimension {:?} is {} long", found.name, found.length))?;
        // SAFETY: room as is said, by the function's contract.
        unsafe {
            put_text(&found.name, buf, cap, len)?;
            put_optional(length, extent);
            put_optional(found.is_unlimited, unlimited);
        }
        Ok(())
    })
}

/// Defines a dimension of the group for netCDF, of format 2, or changes one. An unlimited one may grow, and
/// is as long as the longest array along it when the store is closed.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length; `OZARR_ERR_UNSUPPORTED` in format 3;
/// `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_nc_define_dimension(
    group: *mut ozarr_group,
    name: *const c_char,
    length: i64,
    unlimited: bool,
) -> ozarr_status {
    entry!("ozarr_group_nc_define_dimension", handles(group), texts(name), {
        let Ok(length) = u64::try_from(length) else { bail!(Argument, "the argument `length` is {length}, expected 0 or more") };
        group.define_nc_dimension(name, length, unlimited)
    })
}

/// Gets whether netCDF sees a variable without dimensions, which it stores as an array of one element.
///
/// Errors: those of documents and stores.
///
/// @param[out] scalar
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_nc_is_scalar(array: *const ozarr_array, scalar: *mut bool) -> ozarr_status {
    entry!("ozarr_array_nc_is_scalar", put(scalar), handles(array), { array.is_nc_scalar() })
}

/// Gets the type that netCDF has for the array's elements: `"char"`, `"string"` or that of a number
/// (`"float32"`); an empty text for what netCDF does not have.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_nc_type(array: *const ozarr_array, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_array_nc_type", handles(array), {
        let found = array.nc_type()?;
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_type(found.as_ref(), buf, cap, len) }
    })
}

/// Gets the type that netCDF wrote for an attribute: `"char"`, `"string"`, `"json"` or that of a number;
/// an empty text where it is not said.
///
/// Errors: those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_nc_type(
    node: *const ozarr_node,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_attr_nc_type", nodes(node), texts(name), {
        let found = node.nc_attribute_type(name)?;
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_type(found.as_ref(), buf, cap, len) }
    })
}

/// # Safety
/// As `put_text`.
unsafe fn put_type(found: Option<&NcType>, buf: *mut c_char, cap: usize, len: *mut usize) -> crate::error::Result<()> {
    // SAFETY: forwarded from the caller.
    unsafe { put_text(&found.map(NcType::name).unwrap_or_default(), buf, cap, len) }
}
