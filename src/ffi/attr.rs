//! Attributes
//!
//! Small named values beside an array or a group: units, parameters, provenance. The same functions exist
//! for both kinds of node. Each setter stores its value at once, unless it stands between `..._attrs_begin`
//! and `..._attrs_commit`.

use super::entry;
use super::handle::{Handle, Ref};
use super::status::ozarr_status;
use super::strings::{not_null, put, put_text, text};
use super::types::{ozarr_array, ozarr_group, ozarr_json_kind};
use crate::error::{Result, bail, err};
use crate::limits::MAX_JSON_VALUES;
use crate::node::{Array, Attributes, Group};
use std::ffi::c_char;

/// What has attributes.
trait Attributed: Send + Sync + 'static {
    fn attributes(&self) -> &Attributes;
}

impl Attributed for Array {
    fn attributes(&self) -> &Attributes {
        Array::attributes(self)
    }
}

impl Attributed for Group {
    fn attributes(&self) -> &Attributes {
        Group::attributes(self)
    }
}

/// Calls `each` with the attributes of the node that a handle stands for.
fn of<H>(handle: *const H, argument: &str, each: impl FnOnce(&Attributes) -> Result<()>) -> Result<()>
where
    H: Handle,
    H::Object: Attributed,
{
    let node: Ref<H::Object> = H::get(handle, argument)?;
    each(node.attributes())
}

/// Numbers for the caller's list of `cap`; `*count` becomes how many there are, in any case.
///
/// # Safety `values` is NULL or has room for `cap` numbers; `count` is NULL or points to a `size_t`.
unsafe fn put_values<T: Copy>(all: &[T], values: *mut T, cap: usize, count: *mut usize) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { put(all.len(), count, "count") }?;
    if values.is_null() && cap == 0 {
        return Ok(());
    }
    not_null(values, "values")?;
    if cap < all.len() {
        bail!(BufferSize, "`values` has room for {cap} numbers, expected {}", all.len());
    }
    // SAFETY: not NULL, with room for all of them.
    unsafe { std::ptr::copy_nonoverlapping(all.as_ptr(), values, all.len()) };
    Ok(())
}

/// # Safety `values` is NULL or has `count` numbers.
unsafe fn values_of<'a, T>(values: *const T, count: usize) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    not_null(values, "values")?;
    if count > MAX_JSON_VALUES {
        bail!(Limit, "found {count} numbers, the limit is {MAX_JSON_VALUES}");
    }
    // SAFETY: not NULL; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(values, count) })
}

fn name_at(attrs: &Attributes, index: usize) -> Result<String> {
    let names = attrs.names()?;
    let count = names.len();
    names
        .into_iter()
        .nth(index)
        .ok_or_else(|| err!(Bounds, "found the index {index}, expected less than {count}, the number of attributes"))
}

/// The number of attributes.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_count(array: *const ozarr_array, count: *mut usize) -> ozarr_status {
    entry!("ozarr_array_attr_count", {
        of(array, "array", |attrs| {
            // SAFETY: `count` points to room for it.
            unsafe { put(attrs.names()?.len(), count, "count") }
        })
    })
}

/// The name of attribute number `index`, from 0; in the order of the document.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_name(
    array: *const ozarr_array,
    index: usize,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_name", {
        of(array, "array", |attrs| {
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&name_at(attrs, index)?, buf, cap, len) }
        })
    })
}

/// What kind of JSON value an attribute is. `OZARR_ERR_NOT_FOUND` if there is none of that name.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_kind(array: *const ozarr_array, name: *const c_char, kind: *mut ozarr_json_kind) -> ozarr_status {
    entry!("ozarr_array_attr_kind", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text and room for the kind, by the function's contract.
            unsafe { put(attrs.kind(text(name, "name")?)? as i32, kind, "kind") }
        })
    })
}

/// The value of an attribute that is an integer. Another kind is `OZARR_ERR_TYPE`; one that does not fit is
/// `OZARR_ERR_RANGE`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_int64(array: *const ozarr_array, name: *const c_char, value: *mut i64) -> ozarr_status {
    entry!("ozarr_array_attr_get_int64", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text and room for the value, by the function's contract.
            unsafe { put(attrs.get_i64(text(name, "name")?)?, value, "value") }
        })
    })
}

/// The value of an attribute that is a number. Another kind is `OZARR_ERR_TYPE`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_double(array: *const ozarr_array, name: *const c_char, value: *mut f64) -> ozarr_status {
    entry!("ozarr_array_attr_get_double", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text and room for the value, by the function's contract.
            unsafe { put(attrs.get_f64(text(name, "name")?)?, value, "value") }
        })
    })
}

/// The value of an attribute that is a text. Another kind is `OZARR_ERR_TYPE`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_string(
    array: *const ozarr_array,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_get_string", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_text(&attrs.get_string(text(name, "name")?)?, buf, cap, len) }
        })
    })
}

/// The value of an attribute of any kind, as JSON in its shortest form.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_json(
    array: *const ozarr_array,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_get_json", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_text(&attrs.get_json(text(name, "name")?)?, buf, cap, len) }
        })
    })
}

/// Sets an attribute to an integer, whatever it was before.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_int64(array: *mut ozarr_array, name: *const c_char, value: i64) -> ozarr_status {
    entry!("ozarr_array_attr_set_int64", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.set_i64(unsafe { text(name, "name") }?, value)
        })
    })
}

/// Sets an attribute to a number. NaN and infinities have no place in JSON: `OZARR_ERR_RANGE`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_double(array: *mut ozarr_array, name: *const c_char, value: f64) -> ozarr_status {
    entry!("ozarr_array_attr_set_double", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.set_f64(unsafe { text(name, "name") }?, value)
        })
    })
}

/// Sets an attribute to a text.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_string(array: *mut ozarr_array, name: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_array_attr_set_string", {
        of(array, "array", |attrs| {
            // SAFETY: NUL-terminated texts, by the function's contract.
            unsafe { attrs.set_string(text(name, "name")?, text(value, "value")?) }
        })
    })
}

/// Sets an attribute to any value, given as JSON. What is no JSON is `OZARR_ERR_ARGUMENT`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_json(array: *mut ozarr_array, name: *const c_char, json: *const c_char) -> ozarr_status {
    entry!("ozarr_array_attr_set_json", {
        of(array, "array", |attrs| {
            // SAFETY: NUL-terminated texts, by the function's contract.
            unsafe { attrs.set_json(text(name, "name")?, text(json, "json")?) }
        })
    })
}

/// The value of an attribute that is an integer from 0 to 2^64 - 1.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_uint64(array: *const ozarr_array, name: *const c_char, value: *mut u64) -> ozarr_status {
    entry!("ozarr_array_attr_get_uint64", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text and room for the value, by the function's contract.
            unsafe { put(attrs.get_u64(text(name, "name")?)?, value, "value") }
        })
    })
}

/// The values of an attribute that is a list of integers, or one of them: `cap` numbers have room at `values`,
/// `*count` becomes how many there are, also where that is more; NULL with `cap` 0 asks for it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_int64s(
    array: *const ozarr_array,
    name: *const c_char,
    values: *mut i64,
    cap: usize,
    count: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_get_int64s", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_values(&attrs.get_i64s(text(name, "name")?)?, values, cap, count) }
        })
    })
}

/// Sets an attribute to a list of `count` integers.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_int64s(
    array: *mut ozarr_array,
    name: *const c_char,
    values: *const i64,
    count: usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_set_int64s", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, and `count` numbers, by the function's contract.
            unsafe { attrs.set_i64s(text(name, "name")?, values_of(values, count)?) }
        })
    })
}

/// The values of an attribute that is a list of numbers, or one of them: `cap` numbers have room at `values`,
/// `*count` becomes how many there are, also where that is more; NULL with `cap` 0 asks for it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_get_doubles(
    array: *const ozarr_array,
    name: *const c_char,
    values: *mut f64,
    cap: usize,
    count: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_get_doubles", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_values(&attrs.get_f64s(text(name, "name")?)?, values, cap, count) }
        })
    })
}

/// Sets an attribute to a list of `count` numbers. NaN and infinities are `OZARR_ERR_RANGE`, as of
/// `ozarr_array_attr_set_double`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_doubles(
    array: *mut ozarr_array,
    name: *const c_char,
    values: *const f64,
    count: usize,
) -> ozarr_status {
    entry!("ozarr_array_attr_set_doubles", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, and `count` numbers, by the function's contract.
            unsafe { attrs.set_f64s(text(name, "name")?, values_of(values, count)?) }
        })
    })
}

/// Sets an attribute to an integer from 0 to 2^64 - 1.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_set_uint64(array: *mut ozarr_array, name: *const c_char, value: u64) -> ozarr_status {
    entry!("ozarr_array_attr_set_uint64", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.set_u64(unsafe { text(name, "name") }?, value)
        })
    })
}

/// Removes an attribute. `OZARR_ERR_NOT_FOUND` if there is none of that name.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attr_erase(array: *mut ozarr_array, name: *const c_char) -> ozarr_status {
    entry!("ozarr_array_attr_erase", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.erase(unsafe { text(name, "name") }?)
        })
    })
}

/// All attributes, as one JSON object.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attrs_get(array: *const ozarr_array, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_array_attrs_get", {
        of(array, "array", |attrs| {
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&attrs.to_json()?, buf, cap, len) }
        })
    })
}

/// Replaces all attributes by those of a JSON object.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attrs_set(array: *mut ozarr_array, json: *const c_char) -> ozarr_status {
    entry!("ozarr_array_attrs_set", {
        of(array, "array", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.replace_json(unsafe { text(json, "json") }?)
        })
    })
}

/// From here on setters are collected instead of stored one by one; getters of this handle see what was
/// set.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attrs_begin(array: *mut ozarr_array) -> ozarr_status {
    entry!("ozarr_array_attrs_begin", { of(array, "array", |attrs| attrs.begin()) })
}

/// Stores in one write what was set since `..._attrs_begin`. Freeing the handle without it discards that.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_attrs_commit(array: *mut ozarr_array) -> ozarr_status {
    entry!("ozarr_array_attrs_commit", { of(array, "array", |attrs| attrs.commit()) })
}

/// As `ozarr_array_attr_count`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_count(group: *const ozarr_group, count: *mut usize) -> ozarr_status {
    entry!("ozarr_group_attr_count", {
        of(group, "group", |attrs| {
            // SAFETY: `count` points to room for it.
            unsafe { put(attrs.names()?.len(), count, "count") }
        })
    })
}

/// As `ozarr_array_attr_name`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_name(
    group: *const ozarr_group,
    index: usize,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_name", {
        of(group, "group", |attrs| {
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&name_at(attrs, index)?, buf, cap, len) }
        })
    })
}

/// As `ozarr_array_attr_kind`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_kind(group: *const ozarr_group, name: *const c_char, kind: *mut ozarr_json_kind) -> ozarr_status {
    entry!("ozarr_group_attr_kind", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text and room for the kind, by the function's contract.
            unsafe { put(attrs.kind(text(name, "name")?)? as i32, kind, "kind") }
        })
    })
}

/// As `ozarr_array_attr_get_int64`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_int64(group: *const ozarr_group, name: *const c_char, value: *mut i64) -> ozarr_status {
    entry!("ozarr_group_attr_get_int64", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text and room for the value, by the function's contract.
            unsafe { put(attrs.get_i64(text(name, "name")?)?, value, "value") }
        })
    })
}

/// As `ozarr_array_attr_get_double`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_double(group: *const ozarr_group, name: *const c_char, value: *mut f64) -> ozarr_status {
    entry!("ozarr_group_attr_get_double", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text and room for the value, by the function's contract.
            unsafe { put(attrs.get_f64(text(name, "name")?)?, value, "value") }
        })
    })
}

/// As `ozarr_array_attr_get_string`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_string(
    group: *const ozarr_group,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_get_string", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_text(&attrs.get_string(text(name, "name")?)?, buf, cap, len) }
        })
    })
}

/// As `ozarr_array_attr_get_json`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_json(
    group: *const ozarr_group,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_get_json", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_text(&attrs.get_json(text(name, "name")?)?, buf, cap, len) }
        })
    })
}

/// As `ozarr_array_attr_set_int64`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_int64(group: *mut ozarr_group, name: *const c_char, value: i64) -> ozarr_status {
    entry!("ozarr_group_attr_set_int64", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.set_i64(unsafe { text(name, "name") }?, value)
        })
    })
}

/// As `ozarr_array_attr_set_double`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_double(group: *mut ozarr_group, name: *const c_char, value: f64) -> ozarr_status {
    entry!("ozarr_group_attr_set_double", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.set_f64(unsafe { text(name, "name") }?, value)
        })
    })
}

/// As `ozarr_array_attr_set_string`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_string(group: *mut ozarr_group, name: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_group_attr_set_string", {
        of(group, "group", |attrs| {
            // SAFETY: NUL-terminated texts, by the function's contract.
            unsafe { attrs.set_string(text(name, "name")?, text(value, "value")?) }
        })
    })
}

/// As `ozarr_array_attr_set_json`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_json(group: *mut ozarr_group, name: *const c_char, json: *const c_char) -> ozarr_status {
    entry!("ozarr_group_attr_set_json", {
        of(group, "group", |attrs| {
            // SAFETY: NUL-terminated texts, by the function's contract.
            unsafe { attrs.set_json(text(name, "name")?, text(json, "json")?) }
        })
    })
}

/// As `ozarr_array_attr_get_uint64`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_uint64(group: *const ozarr_group, name: *const c_char, value: *mut u64) -> ozarr_status {
    entry!("ozarr_group_attr_get_uint64", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text and room for the value, by the function's contract.
            unsafe { put(attrs.get_u64(text(name, "name")?)?, value, "value") }
        })
    })
}

/// As `ozarr_array_attr_get_int64s`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_int64s(
    group: *const ozarr_group,
    name: *const c_char,
    values: *mut i64,
    cap: usize,
    count: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_get_int64s", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_values(&attrs.get_i64s(text(name, "name")?)?, values, cap, count) }
        })
    })
}

/// As `ozarr_array_attr_set_int64s`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_int64s(
    group: *mut ozarr_group,
    name: *const c_char,
    values: *const i64,
    count: usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_set_int64s", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, and `count` numbers, by the function's contract.
            unsafe { attrs.set_i64s(text(name, "name")?, values_of(values, count)?) }
        })
    })
}

/// As `ozarr_array_attr_get_doubles`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_get_doubles(
    group: *const ozarr_group,
    name: *const c_char,
    values: *mut f64,
    cap: usize,
    count: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_get_doubles", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, and room as is said, by the function's contract.
            unsafe { put_values(&attrs.get_f64s(text(name, "name")?)?, values, cap, count) }
        })
    })
}

/// As `ozarr_array_attr_set_doubles`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_doubles(
    group: *mut ozarr_group,
    name: *const c_char,
    values: *const f64,
    count: usize,
) -> ozarr_status {
    entry!("ozarr_group_attr_set_doubles", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, and `count` numbers, by the function's contract.
            unsafe { attrs.set_f64s(text(name, "name")?, values_of(values, count)?) }
        })
    })
}

/// As `ozarr_array_attr_set_uint64`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_set_uint64(group: *mut ozarr_group, name: *const c_char, value: u64) -> ozarr_status {
    entry!("ozarr_group_attr_set_uint64", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.set_u64(unsafe { text(name, "name") }?, value)
        })
    })
}

/// As `ozarr_array_attr_erase`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attr_erase(group: *mut ozarr_group, name: *const c_char) -> ozarr_status {
    entry!("ozarr_group_attr_erase", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.erase(unsafe { text(name, "name") }?)
        })
    })
}

/// As `ozarr_array_attrs_get`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attrs_get(group: *const ozarr_group, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_group_attrs_get", {
        of(group, "group", |attrs| {
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&attrs.to_json()?, buf, cap, len) }
        })
    })
}

/// As `ozarr_array_attrs_set`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attrs_set(group: *mut ozarr_group, json: *const c_char) -> ozarr_status {
    entry!("ozarr_group_attrs_set", {
        of(group, "group", |attrs| {
            // SAFETY: a NUL-terminated text, by the function's contract.
            attrs.replace_json(unsafe { text(json, "json") }?)
        })
    })
}

/// As `ozarr_array_attrs_begin`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attrs_begin(group: *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_attrs_begin", { of(group, "group", |attrs| attrs.begin()) })
}

/// As `ozarr_array_attrs_commit`, for a group.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_group_attrs_commit(group: *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_attrs_commit", { of(group, "group", |attrs| attrs.commit()) })
}
