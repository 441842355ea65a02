//! Text and bytes of variable length
//!
//! Elements of `OZARR_STRING`, `OZARR_BYTES`, `OZARR_JSON` and `OZARR_LIST` have lengths of their own.
//! They, and text and bytes of a fixed length (without the NULs at their end), are read into an object of
//! the library, whose layout is that of Apache Arrow's variable-size arrays: element i is
//! `data[offsets[i]]` to `data[offsets[i + 1]]`, in C order of the region. There is no NUL between them.
//!
//! ```c
//! ozarr_varlen *names = NULL;
//! int64_t n = 0;
//! if (ozarr_array_read_varlen(a, NULL, &names)) goto fail;
//! if (ozarr_varlen_count(names, &n)) goto fail;
//! for (int64_t i = 0; i < n; i++) {
//!     const char *name = NULL;
//!     size_t len = 0;
//!     if (ozarr_varlen_get(names, i, &name, &len)) goto fail;
//!     printf("%.*s\n", (int)len, name);
//! }
//! ozarr_varlen_free(names);
//! ```

use super::entry;
use super::handle::Handle;
use super::region::{ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::{at_least_0, bytes, dimension, not_null, put, slice};
use super::types::{OZARR_BY_DTYPE, ozarr_array, ozarr_type, ozarr_varlen};
use crate::dtype::DataType;
use crate::error::{Result, bail, err};
use crate::limits::{element_count, text_of};
use std::ffi::{CStr, c_char, c_void};

/// Reads a region (NULL: the whole array) of elements of variable length.
///
/// Text is UTF-8. JSON values (`OZARR_JSON`) are their text. Lists (`OZARR_LIST`) are their numbers, of the
/// type that `ozarr_array_list_type` says, in this machine's byte order.
///
/// Errors: `OZARR_ERR_BOUNDS`; `OZARR_ERR_TYPE` for elements that are neither of variable length nor text
/// or bytes; those of chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_varlen(
    array: *const ozarr_array,
    region: *const ozarr_region,
    out: *mut *mut ozarr_varlen,
) -> ozarr_status {
    entry!("ozarr_array_read_varlen", new(out), handles(array), {
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        array.read_variable(&selection)
    })
}

/// Writes a region (NULL: the whole array) of elements of variable length, in C order of the region:
/// element i is `data[offsets[i]]` to `data[offsets[i + 1]]`. There is one offset more than elements;
/// `size` is that of `data` in bytes.
///
/// Bytes that are not what the type holds (text that is not UTF-8, or too long for a type of a fixed
/// length) are `OZARR_ERR_RANGE`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`, for offsets that fall or leave `data`, too;
/// `OZARR_ERR_TYPE` for elements that are neither of variable length nor text or bytes; those of chunks
/// and stores.
///
/// @param[in] region may be NULL
/// @param[in] offsets array(elements + 1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_varlen(
    array: *const ozarr_array,
    region: *const ozarr_region,
    offsets: *const i64,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_write_varlen", to_write(array), {
        not_null(offsets, "offsets")?;
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        // SAFETY: one offset more than elements, by the function's contract.
        let offsets = unsafe { slice(offsets, offset_count(selection.shape())?, "offsets") }?;
        // SAFETY: `size` bytes, by the function's contract.
        let data = unsafe { bytes(data, size, "data") }?;
        array.write_variable(&selection, offsets, data)
    })
}

/// Extends dimension `dim` (from 0) by `count` elements of variable length: the slab is as for
/// `ozarr_array_append`, its elements are `data` and `offsets` as for `ozarr_array_write_varlen`. What
/// several append at the same time is all kept. After an error the slab may be there, as for
/// `ozarr_array_append`: the message says so.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` if another process appends at this moment;
/// `OZARR_ERR_BOUNDS` if there is no dimension `dim`, and for offsets that fall or leave `data`;
/// `OZARR_ERR_ARGUMENT` for a negative `count`; `OZARR_ERR_LIMIT` for more elements or bytes than memory can
/// hold; `OZARR_ERR_RANGE`, `OZARR_ERR_TYPE` as for `ozarr_array_write_varlen`; those of documents, chunks
/// and stores.
///
/// @param[in] offsets array(elements + 1)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_append_varlen(
    array: *mut ozarr_array,
    dim: i32,
    count: i64,
    offsets: *const i64,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_append_varlen", handles(array), {
        not_null(offsets, "offsets")?;
        let (dim, count) = (dimension(array.rank(), dim)?, at_least_0(count, "count")?);
        let mut slab = array.shape();
        slab[dim] = count;
        // SAFETY: one offset more than elements, by the function's contract.
        let offsets = unsafe { slice(offsets, offset_count(&slab)?, "offsets") }?;
        // SAFETY: `size` bytes, by the function's contract.
        let data = unsafe { bytes(data, size, "data") }?;
        array.append_variable(dim, count, offsets, data)
    })
}

/// How many offsets the elements of a shape have.
fn offset_count(shape: &[u64]) -> Result<usize> {
    let count = usize::try_from(element_count(shape)?).ok().and_then(|n| n.checked_add(1));
    count.ok_or_else(|| err!(Limit, "the region has more elements than memory"))
}

/// Writes a region (NULL: the whole array) of text from one string for each element, in C order of the
/// region.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`; `OZARR_ERR_RANGE` for what the type does not hold;
/// `OZARR_ERR_TYPE` for elements that are no text; those of chunks and stores.
///
/// @param[in] region may be NULL
/// @param[in] strings array(elements)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_strings(
    array: *const ozarr_array,
    region: *const ozarr_region,
    strings: *const *const c_char,
) -> ozarr_status {
    entry!("ozarr_array_write_strings", to_write(array), {
        not_null(strings, "strings")?;
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        let count = usize::try_from(element_count(selection.shape())?).unwrap_or(usize::MAX);
        let piece = |i: usize| {
            // SAFETY: one pointer for each element, by the function's contract.
            let string = unsafe { strings.add(i).read() };
            if string.is_null() {
                bail!(Null, "the argument `strings[{i}]` is NULL");
            }
            // SAFETY: NUL-terminated, by the function's contract.
            Ok(unsafe { CStr::from_ptr(string) }.to_bytes())
        };
        array.write_pieces(&selection, (0..count).map(piece))
    })
}

/// Gets the type of the numbers in the lists of an array of `OZARR_LIST`.
///
/// Errors: `OZARR_ERR_TYPE` for other arrays.
///
/// @param[out] type
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_list_type(array: *const ozarr_array, r#type: *mut ozarr_type) -> ozarr_status {
    entry!("ozarr_array_list_type", handles(array), {
        not_null(r#type, "type")?;
        let DataType::VarArray(number) = array.data_type() else {
            bail!(Type, "the array's elements are {}, expected lists", array.data_type().name());
        };
        // SAFETY: `type` points to room for it.
        unsafe { put(number.code().unwrap_or(OZARR_BY_DTYPE), r#type, "type") }
    })
}

/// Gets the fill value of an array of variable length, as a string. (Bytes that are not UTF-8 are
/// `OZARR_ERR_TYPE`; `ozarr_node_metadata` shows them.)
///
/// Errors: `OZARR_ERR_TYPE` for elements of one size, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_fill_text(array: *const ozarr_array, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_array_fill_text", text(buf, cap, len), handles(array), {
        let data_type = array.data_type();
        if !data_type.is_variable() {
            bail!(Type, "the array's elements are {}, which have one size; use ozarr_array_fill_value", data_type.name());
        }
        let fill = array.fill().value;
        let text = std::str::from_utf8(&fill).map_err(|_| err!(Type, "the fill value has {} bytes that are no UTF-8", fill.len()))?;
        text_of(text)
    })
}

/// Gets the number of elements.
///
/// Errors: none of its own.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_varlen_count(varlen: *const ozarr_varlen, count: *mut i64) -> ozarr_status {
    entry!("ozarr_varlen_count", put(count), handles(varlen), {
        let elements = varlen;
        Ok(elements.len() as i64)
    })
}

/// Gets the bytes of element `index`, from 0. They are valid until `varlen` is freed, and are not
/// followed by NUL.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no element `index`.
///
/// @param[out] bytes,len
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_varlen_get(
    varlen: *const ozarr_varlen,
    index: i64,
    bytes: *mut *const c_char,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_varlen_get", handles(varlen), {
        not_null(bytes, "bytes")?;
        not_null(len, "len")?;
        let elements = varlen;
        let piece = usize::try_from(index).ok().and_then(|i| elements.get(i));
        let piece = piece.ok_or_else(|| err!(Bounds, "`index` is {index}, there are {} elements", elements.len()))?;
        // SAFETY: both point to room for them.
        unsafe { put(piece.as_ptr().cast(), bytes, "bytes").and_then(|()| put(piece.len(), len, "len")) }
    })
}

/// Gets all elements at once: `*offsets` has one number more than there are elements, `*data` has
/// `*size` bytes. They are valid until `varlen` is freed.
///
/// Errors: none of its own.
///
/// @param[out] offsets,data,size
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_varlen_all(
    varlen: *const ozarr_varlen,
    offsets: *mut *const i64,
    data: *mut *const c_char,
    size: *mut usize,
) -> ozarr_status {
    entry!("ozarr_varlen_all", handles(varlen), {
        for (pointer, name) in [(offsets.cast::<c_void>(), "offsets"), (data.cast(), "data"), (size.cast(), "size")] {
            not_null(pointer, name)?;
        }
        let elements = varlen;
        // SAFETY: all three point to room for them.
        unsafe {
            put(elements.offsets.as_ptr(), offsets, "offsets")
                .and_then(|()| put(elements.data.as_ptr().cast(), data, "data"))
                .and_then(|()| put(elements.data.len(), size, "size"))
        }
    })
}

/// Frees the elements; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_varlen_free(varlen: *mut ozarr_varlen) {
    entry!("ozarr_varlen_free", else (), { ozarr_varlen::free(varlen, "varlen") })
}
