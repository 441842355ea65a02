//! Attributes
//!
//! Small named values beside an array or a group: units, parameters, provenance. The functions take either
//! kind of node:
//!
//! ```c
//! ozarr_attr_set_string(ozarr_array_node(t), "units", "K");
//! ```
//!
//! Each setter stores its value at once, and with it a new document of all attributes: it takes the longer
//! the more there are, 10,000 one after the other some seconds. Between `ozarr_attrs_begin` and
//! `ozarr_attrs_commit` they are stored in one write, which takes milliseconds. A name has at least one
//! character (`OZARR_ERR_NAME`).

use super::entry;
use super::status::ozarr_status;
use super::strings::{self, not_null, put, put_optional, put_text, texts};
use super::types::{OZARR_AS_STORED, data_type, ozarr_json_kind, ozarr_node, ozarr_type};
use crate::dtype::DataType;
use crate::error::{ErrorKind, Result, bail};
use crate::limits::{MAX_JSON_VALUES, joined};
use crate::node::Node;
use std::ffi::{c_char, c_void};

/// Instead of a count, for `ozarr_attr_set_numbers`: one number that is not a list.
pub const OZARR_SINGLE: i64 = -1;

/// Gets the number of attributes.
///
/// Errors: those of documents and stores.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_count(node: *const ozarr_node, count: *mut i64) -> ozarr_status {
    entry!("ozarr_attr_count", put(count), nodes(node), { Ok(node.attributes().count()? as i64) })
}

/// Gets the name of attribute number `index`, from 0, in the order of the document.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no attribute `index`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_name(
    node: *const ozarr_node,
    index: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_attr_name", text(buf, cap, len), nodes(node), { node.attributes().name_at(index) })
}

/// Gets the kind of JSON value of an attribute. `OZARR_ERR_NOT_FOUND` if there is no attribute `name`.
///
/// Errors: those of documents and stores.
///
/// @param[out] kind
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_kind(node: *const ozarr_node, name: *const c_char, kind: *mut ozarr_json_kind) -> ozarr_status {
    entry!("ozarr_attr_kind", put(kind), nodes(node), texts(name), { Ok(node.attributes().kind(name)? as i32) })
}

/// Gets an attribute that is an integer. Another kind of value is `OZARR_ERR_TYPE`; an integer that does
/// not fit is `OZARR_ERR_RANGE`.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
///
/// @param[out] value
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_int64(node: *const ozarr_node, name: *const c_char, value: *mut i64) -> ozarr_status {
    entry!("ozarr_attr_get_int64", put(value), nodes(node), texts(name), { node.attributes().get_i64(name) })
}

/// Gets an attribute that is a number. Another kind of value is `OZARR_ERR_TYPE`.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
///
/// @param[out] value
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_double(node: *const ozarr_node, name: *const c_char, value: *mut f64) -> ozarr_status {
    entry!("ozarr_attr_get_double", put(value), nodes(node), texts(name), { node.attributes().get_f64(name) })
}

/// Gets an attribute that is `true` or `false`. Another kind of value is `OZARR_ERR_TYPE`.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
///
/// @param[out] value
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_bool(node: *const ozarr_node, name: *const c_char, value: *mut bool) -> ozarr_status {
    entry!("ozarr_attr_get_bool", put(value), nodes(node), texts(name), { node.attributes().get_bool(name) })
}

/// Gets an attribute that is a string. Another kind of value is `OZARR_ERR_TYPE`. A NUL inside of it, which
/// other programs may have stored, is no end: `*len` counts all of the string.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_string(
    node: *const ozarr_node,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_attr_get_string", text(buf, cap, len), nodes(node), texts(name), { node.attributes().get_string(name) })
}

/// Gets an attribute that is a list of strings, or one string. `*count` (`count` may be NULL) becomes
/// the number of strings. `buf` receives them one after the other, each with a NUL at its end; `*len` is
/// the number of bytes without the last NUL, so a list of one string is what `ozarr_attr_get_string`
/// gives. A string that contains a NUL is `OZARR_ERR_RANGE`.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; `OZARR_ERR_TYPE` for another kind of value; those of documents and
/// stores.
///
/// @param[out] count may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_strings(
    node: *const ozarr_node,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    count: *mut i64,
) -> ozarr_status {
    entry!("ozarr_attr_get_strings", nodes(node), texts(name), {
        let texts = node.attributes().get_strings(name)?;
        if let Some(i) = texts.iter().position(|text| text.contains('\0')) {
            bail!(Range, "attribute {name:?}: element {i} is {:?}, which has a NUL; ozarr_attr_get_json gives it", texts[i]);
        }
        // SAFETY: room as is said, by the function's contract.
        let done = unsafe { put_text(&joined(texts.iter().map(AsRef::as_ref), "\0")?, buf, cap, len) };
        if done.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::BufferSize) {
            // SAFETY: room for a number, or NULL.
            unsafe { put_optional(texts.len() as i64, count) };
        }
        done
    })
}

/// Gets an attribute that is a list of numbers, or one number, as elements of `type`: an integer or
/// floating-point type; `OZARR_AS_STORED` is the array's type. `values` has a capacity of `cap`
/// elements. `*count` becomes the number of elements, also if it exceeds `cap`
/// (`OZARR_ERR_BUFFER_SIZE`); `values` NULL with `cap` 0 asks for it. `OZARR_ERR_RANGE` names the first
/// element that does not fit into `type`, `OZARR_ERR_TYPE` the first that is not a number or, for an
/// integer type, not an integer.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; `OZARR_ERR_ARGUMENT` for an unknown type or a negative `cap`; those of
/// documents and stores.
///
/// @param[out] values array(cap)
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_numbers(
    node: *const ozarr_node,
    name: *const c_char,
    r#type: ozarr_type,
    values: *mut c_void,
    cap: i64,
    count: *mut i64,
) -> ozarr_status {
    entry!("ozarr_attr_get_numbers", nodes(node), texts(name), {
        let element = element_type(&node, r#type)?;
        let bytes = node.attributes().get_numbers(name, element)?;
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_elements(&bytes, element.size(), values, cap, count) }.map_err(|e| e.at_field(name))
    })
}

/// Gets an attribute of any kind, as JSON in its shortest form.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_get_json(
    node: *const ozarr_node,
    name: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_attr_get_json", text(buf, cap, len), nodes(node), texts(name), { node.attributes().get_json(name) })
}

/// Sets an attribute to an integer, whatever it was before.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_int64(node: *mut ozarr_node, name: *const c_char, value: i64) -> ozarr_status {
    entry!("ozarr_attr_set_int64", nodes(node), texts(name), { node.attributes().set_i64(name, value) })
}

/// Sets an attribute to a number. NaN and infinities have no form in JSON: `OZARR_ERR_RANGE`, unless the
/// context's setting `"non_finite"` allows them. `_FillValue` of a floating-point array of format 3 is
/// stored as xarray wants it there, as the base64 text of a `double`, NaN too; `ozarr_attr_get_double`
/// gives the number back.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_double(node: *mut ozarr_node, name: *const c_char, value: f64) -> ozarr_status {
    entry!("ozarr_attr_set_double", nodes(node), texts(name), { node.attributes().set_f64(name, value) })
}

/// Sets an attribute to `true` or `false`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_bool(node: *mut ozarr_node, name: *const c_char, value: bool) -> ozarr_status {
    entry!("ozarr_attr_set_bool", nodes(node), texts(name), { node.attributes().set_bool(name, value) })
}

/// Sets an attribute to a string.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_string(node: *mut ozarr_node, name: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_attr_set_string", nodes(node), texts(name), {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let value = unsafe { strings::text(value, "value") }.map_err(|e| e.at_field(name))?;
        node.attributes().set_string(name, value)
    })
}

/// Sets an attribute to a list of `count` strings.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_ARGUMENT` for a negative
/// `count`; those of documents and stores.
///
/// @param[in] values array(count)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_strings(
    node: *mut ozarr_node,
    name: *const c_char,
    values: *const *const c_char,
    count: i64,
) -> ozarr_status {
    entry!("ozarr_attr_set_strings", nodes(node), texts(name), {
        // SAFETY: `count` texts, by the function's contract.
        node.attributes().set_strings(name, &unsafe { texts(values, item_count(count)?, "values") }?)
    })
}

/// Sets an attribute to a list of `count` numbers of `type`, an integer or floating-point type;
/// `OZARR_AS_STORED` is that of the array, as the CF conventions want it for `valid_range` and the like.
/// A `count` of `OZARR_SINGLE` sets it to the one number at `values`, which then is not a list. Each
/// number reads back unchanged. NaN, infinities and `_FillValue` are as `ozarr_attr_set_double` has
/// them.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_ARGUMENT` for a negative
/// `count` or an unknown type; `OZARR_ERR_TYPE` for a type of no numbers; `OZARR_ERR_RANGE` for NaN and
/// infinities; those of documents and stores.
///
/// @param[in] values array(count)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_numbers(
    node: *mut ozarr_node,
    name: *const c_char,
    r#type: ozarr_type,
    values: *const c_void,
    count: i64,
) -> ozarr_status {
    entry!("ozarr_attr_set_numbers", nodes(node), texts(name), {
        let element = element_type(&node, r#type)?;
        // SAFETY: `count` elements, by the function's contract.
        node.attributes().set_numbers(name, element, unsafe { elements(values, count, element.size()) }?, count == OZARR_SINGLE)
    })
}

/// Sets an attribute to any value, given as JSON. Malformed JSON is `OZARR_ERR_ARGUMENT`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_RANGE` for NaN,
/// infinities and numbers that no double can hold; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_set_json(node: *mut ozarr_node, name: *const c_char, json: *const c_char) -> ozarr_status {
    entry!("ozarr_attr_set_json", nodes(node), texts(name, json), { node.attributes().set_json(name, json) })
}

/// Removes an attribute. `OZARR_ERR_NOT_FOUND` if there is no attribute `name`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_ARGUMENT` for the one that makes a group a checkpoint; those
/// of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attr_erase(node: *mut ozarr_node, name: *const c_char) -> ozarr_status {
    entry!("ozarr_attr_erase", nodes(node), texts(name), { node.attributes().erase(name) })
}

/// Gets all attributes, as one JSON object.
///
/// Errors: those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attrs_get(node: *const ozarr_node, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_attrs_get", text(buf, cap, len), nodes(node), { node.attributes().to_json() })
}

/// Replaces all attributes by those of a JSON object.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_NAME` for an empty name; `OZARR_ERR_ARGUMENT` for malformed
/// JSON; `OZARR_ERR_TYPE` for JSON that is no object; `OZARR_ERR_RANGE` for NaN, infinities and numbers
/// that no double can hold; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attrs_set(node: *mut ozarr_node, json: *const c_char) -> ozarr_status {
    entry!("ozarr_attrs_set", nodes(node), texts(json), { node.attributes().replace_json(json) })
}

/// Begins to collect what setters of this handle set, instead of storing each value at once. Getters of
/// this handle see the collected values.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` after another `ozarr_attrs_begin`; those of documents
/// and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attrs_begin(node: *mut ozarr_node) -> ozarr_status {
    entry!("ozarr_attrs_begin", nodes(node), { node.attributes().begin() })
}

/// Stores in one write what was set since `ozarr_attrs_begin`. Freeing the handle without this call
/// discards it.
///
/// Errors: `OZARR_ERR_STATE` without `ozarr_attrs_begin`, as where another thread has stored it just before;
/// those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_attrs_commit(node: *mut ozarr_node) -> ozarr_status {
    entry!("ozarr_attrs_commit", nodes(node), { node.attributes().commit() })
}

/// The type that a number from C names, for the attributes of `node`.
fn element_type(node: &Node, raw: ozarr_type) -> Result<DataType> {
    match node {
        Node::Array(array) if raw == OZARR_AS_STORED => Ok(array.data_type().in_memory()),
        _ => data_type(raw, None),
    }
}

/// The number of items that a count from C means.
fn item_count(count: i64) -> Result<usize> {
    match strings::item_count(count)? {
        n if n <= MAX_JSON_VALUES => Ok(n),
        n => bail!(Limit, "the argument `count` is {n}, the limit is {MAX_JSON_VALUES}"),
    }
}

/// # Safety `values` is NULL or has `count` elements of `size` bytes; one for `OZARR_SINGLE`.
unsafe fn elements<'a>(values: *const c_void, count: i64, size: usize) -> Result<&'a [u8]> {
    let count = if count == OZARR_SINGLE { 1 } else { item_count(count)? };
    if count == 0 {
        return Ok(&[]);
    }
    not_null(values, "values")?;
    // SAFETY: not NULL; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(values.cast(), count * size) })
}

/// Elements for the caller's list of `cap`; `*count` becomes their number, also if it exceeds `cap`.
///
/// # Safety `values` is NULL or has room for `cap` elements of `size` bytes; `count` is NULL or points to
/// an `int64_t`.
unsafe fn put_elements(bytes: &[u8], size: usize, values: *mut c_void, cap: i64, count: *mut i64) -> Result<()> {
    let found = (bytes.len() / size) as i64;
    if cap < 0 {
        bail!(Argument, "the argument `cap` is {cap}, expected at least 0");
    }
    if cap > 0 {
        not_null(values, "values")?;
    }
    // SAFETY: the caller's promise.
    unsafe { put(found, count, "count") }?;
    if values.is_null() {
        return Ok(());
    }
    if cap < found {
        bail!(BufferSize, "`values` has a capacity of {cap}, expected {found}");
    }
    // SAFETY: not NULL, with room for all of them.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), values.cast(), bytes.len()) };
    Ok(())
}
