//! Data types in detail
//!
//! What a data type is made of: class, byte order, unit, fields, and its values as JSON.

use super::dtype::{DtypeObject, Meaning, bytes_of, element_of, words_of};
use super::entry;
use super::status::ozarr_status;
use super::strings::{not_null, position, put, put_text};
use super::types::{OZARR_BY_DTYPE, ozarr_dtype, ozarr_type};
use crate::dtype::fill::Fill;
use crate::dtype::resolve::{self, Orders};
use crate::dtype::{ByteOrder, DataType, Element, ElementType, Field, Struct, check_v3, parse_v2, parse_v3};
use crate::error::{Result, bail, err};
use crate::node::{Value, json};
use std::ffi::{c_char, c_void};

/// The class of a data type.
pub type ozarr_dtype_kind = i32;

/// `bool`
pub const OZARR_DTYPE_KIND_BOOL: ozarr_dtype_kind = 1;
/// Signed integers.
pub const OZARR_DTYPE_KIND_INT: ozarr_dtype_kind = 2;
/// Unsigned integers.
pub const OZARR_DTYPE_KIND_UINT: ozarr_dtype_kind = 3;
/// Floating-point numbers.
pub const OZARR_DTYPE_KIND_FLOAT: ozarr_dtype_kind = 4;
/// Pairs of floating-point numbers.
pub const OZARR_DTYPE_KIND_COMPLEX: ozarr_dtype_kind = 5;
/// Text of a fixed number of bytes, padded with NUL.
pub const OZARR_DTYPE_KIND_BYTES: ozarr_dtype_kind = 6;
/// Text of a fixed number of code points of four bytes, padded with NUL.
pub const OZARR_DTYPE_KIND_TEXT: ozarr_dtype_kind = 7;
/// A fixed number of bytes without a meaning.
pub const OZARR_DTYPE_KIND_RAW: ozarr_dtype_kind = 8;
/// Points in time: a count of 64 bits of a unit since 1970; the least count is "not a time".
pub const OZARR_DTYPE_KIND_DATETIME: ozarr_dtype_kind = 9;
/// Spans of time: a count of 64 bits of a unit.
pub const OZARR_DTYPE_KIND_TIMEDELTA: ozarr_dtype_kind = 10;
/// Named fields.
pub const OZARR_DTYPE_KIND_STRUCT: ozarr_dtype_kind = 11;
/// Text of any length.
pub const OZARR_DTYPE_KIND_VAR_TEXT: ozarr_dtype_kind = 12;
/// Bytes of any length.
pub const OZARR_DTYPE_KIND_VAR_BYTES: ozarr_dtype_kind = 13;
/// JSON values.
pub const OZARR_DTYPE_KIND_VAR_JSON: ozarr_dtype_kind = 14;
/// Lists of numbers of any length.
pub const OZARR_DTYPE_KIND_VAR_LIST: ozarr_dtype_kind = 15;
/// In memory only: text of a fixed number of bytes, padded with blanks.
pub const OZARR_DTYPE_KIND_CHARS: ozarr_dtype_kind = 16;

/// The byte order of a data type.
pub type ozarr_byte_order = i32;

/// There is nothing to order.
pub const OZARR_BYTE_ORDER_NONE: ozarr_byte_order = 0;
/// The least significant byte first.
pub const OZARR_BYTE_ORDER_LITTLE: ozarr_byte_order = 1;
/// The most significant byte first.
pub const OZARR_BYTE_ORDER_BIG: ozarr_byte_order = 2;
/// Fields of a struct have different orders.
pub const OZARR_BYTE_ORDER_MIXED: ozarr_byte_order = 3;

/// Gets the class of the type.
///
/// Errors: none of its own.
///
/// @param[out] kind
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_get_kind(dtype: *const ozarr_dtype, kind: *mut ozarr_dtype_kind) -> ozarr_status {
    entry!("ozarr_dtype_get_kind", put(kind), handles(dtype), {
        Ok(match dtype.value.read(Meaning::clone) {
            Meaning::Growing(..) => OZARR_DTYPE_KIND_STRUCT,
            Meaning::Element(element) => kind_of(element.data_type),
        })
    })
}

/// Gets the number of the type; `OZARR_BY_DTYPE` if it has no number.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
///
/// @param[out] type
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_type(dtype: *const ozarr_dtype, r#type: *mut ozarr_type) -> ozarr_status {
    entry!("ozarr_dtype_type", {
        let element = element_of(dtype, "dtype")?;
        // SAFETY: `type` points to room for it.
        unsafe { put(element.data_type.code().unwrap_or(OZARR_BY_DTYPE), r#type, "type") }
    })
}

/// Gets the size of one element in bytes.
///
/// Errors: none of its own.
///
/// @param[out] bytes
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_item_size(dtype: *const ozarr_dtype, bytes: *mut usize) -> ozarr_status {
    entry!("ozarr_dtype_item_size", put(bytes), handles(dtype), {
        Ok(match dtype.value.read(Meaning::clone) {
            Meaning::Growing(_, size) => size,
            Meaning::Element(element) => element.size(),
        })
    })
}

/// Gets the byte order that the type has in a file.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
///
/// @param[out] order
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_byte_order(dtype: *const ozarr_dtype, order: *mut ozarr_byte_order) -> ozarr_status {
    entry!("ozarr_dtype_byte_order", put(order), {
        Ok(match resolve::order_of(element_of(dtype, "dtype")?) {
            Orders::Unordered => OZARR_BYTE_ORDER_NONE,
            Orders::All(ByteOrder::Little) => OZARR_BYTE_ORDER_LITTLE,
            Orders::All(ByteOrder::Big) => OZARR_BYTE_ORDER_BIG,
            Orders::Mixed => OZARR_BYTE_ORDER_MIXED,
        })
    })
}

/// Gets the unit of a time type: a count of 1 is `*scale` of the unit that `buf` receives: Y, M, W, D,
/// h, m, s, ms, us, ns, ps, fs, as or generic. `OZARR_ERR_TYPE` for other types.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
///
/// @param[out] scale
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_unit(
    dtype: *const ozarr_dtype,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    scale: *mut i64,
) -> ozarr_status {
    entry!("ozarr_dtype_unit", {
        let unit = match element_of(dtype, "dtype")?.data_type {
            DataType::DateTime(unit) | DataType::TimeDelta(unit) => unit,
            other => bail!(Type, "{} has no unit", other.name()),
        };
        not_null(scale, "scale")?;
        // SAFETY: room as is said, by the function's contract.
        unsafe {
            put_text(unit.name(), buf, cap, len)?;
            put(i64::from(unit.scale), scale, "scale")
        }
    })
}

/// Compares two types: `*equal` becomes whether size, meaning, byte order and all fields agree.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
///
/// @param[out] equal
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_equal(dtype: *const ozarr_dtype, other: *const ozarr_dtype, equal: *mut bool) -> ozarr_status {
    entry!("ozarr_dtype_equal", put(equal), { Ok(element_of(dtype, "dtype")? == element_of(other, "other")?) })
}

/// Gets the name of the type in format 3, without its parameters: `float64`, `fixed_length_utf32`,
/// `struct`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_name(dtype: *const ozarr_dtype, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_dtype_name", text(buf, cap, len), { Ok(element_of(dtype, "dtype")?.data_type.name()) })
}

/// Gets the type as JSON, as a metadata document of `format` 2 (`dtype`) or 3 (`data_type`) has it.
/// `OZARR_ERR_UNSUPPORTED` where that format has no form for it: format 3 for structs of mixed byte
/// orders or with shapes.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another format, or a struct without fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_to_json(
    dtype: *const ozarr_dtype,
    format: i32,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_dtype_to_json", text(buf, cap, len), {
        let (element, v3) = (element_of(dtype, "dtype")?, is_v3(format)?);
        if element.data_type.is_memory_only() {
            bail!(Unsupported, "{} exists in memory only", DataType::Chars(1).name());
        }
        let packed = ElementType { data_type: element.data_type.packed()?, ..element };
        let value = if v3 {
            check_v3(packed.data_type)?;
            parse_v3::to_json_as(packed.data_type, &words_of(dtype)?)
        } else {
            parse_v2::to_json(packed)
        };
        Ok(json::to_compact(&value))
    })
}

/// Gets the number of fields of a struct, without unnamed padding; 0 for other types.
///
/// Errors: none of its own.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_field_count(dtype: *const ozarr_dtype, count: *mut i64) -> ozarr_status {
    entry!("ozarr_dtype_field_count", put(count), handles(dtype), {
        let found = dtype.value.read(|meaning| match meaning {
            Meaning::Element(ElementType { data_type: DataType::Struct(s), .. }) => named(s).count(),
            Meaning::Growing(fields, _) => fields.len(),
            _ => 0,
        });
        Ok(found as i64)
    })
}

/// Gets the name of a field, by its number from 0.
///
/// Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
/// `OZARR_ERR_ARGUMENT` for a struct without fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_field_name(
    dtype: *const ozarr_dtype,
    index: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_dtype_field_name", text(buf, cap, len), { Ok(&field(dtype, index)?.name) })
}

/// Gets the offset of a field from the struct's beginning, in bytes.
///
/// Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
/// `OZARR_ERR_ARGUMENT` for a struct without fields.
///
/// @param[out] offset
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_field_offset(dtype: *const ozarr_dtype, index: i64, offset: *mut usize) -> ozarr_status {
    entry!("ozarr_dtype_field_offset", put(offset), { Ok(field(dtype, index)?.offset) })
}

/// Gets the data type of a field (of each of its values, where it has a shape), as a new handle.
///
/// Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
/// `OZARR_ERR_ARGUMENT` for a struct without fields.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_copy_field_dtype(dtype: *const ozarr_dtype, index: i64, out: *mut *mut ozarr_dtype) -> ozarr_status {
    entry!("ozarr_dtype_copy_field_dtype", new(out), {
        let found = field(dtype, index)?;
        let place = match element_of(dtype, "dtype")?.data_type {
            DataType::Struct(s) => s.fields().iter().position(|f| f.name == found.name),
            _ => None,
        };
        let words = words_of(dtype)?;
        Ok(DtypeObject::worded(found.element, place.map_or(Value::Null, |i| parse_v3::type_of_field(&words, i).clone())))
    })
}

/// Gets the rank of a field (0 for one value) and its shape: `shape` has a capacity of `cap` numbers,
/// and may be NULL with `cap` 0 to ask for the rank only.
///
/// Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
/// `OZARR_ERR_BUFFER_SIZE` for a capacity below the rank; `OZARR_ERR_ARGUMENT` for a struct without
/// fields.
///
/// @param[out] shape array(cap), may be NULL
/// @param[out] rank
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_field_shape(
    dtype: *const ozarr_dtype,
    index: i64,
    shape: *mut i64,
    cap: i64,
    rank: *mut i32,
) -> ozarr_status {
    entry!("ozarr_dtype_field_shape", put(rank), {
        let found = &field(dtype, index)?.shape;
        if cap > 0 || !shape.is_null() {
            if cap < found.len() as i64 {
                bail!(BufferSize, "`shape` has a capacity of {cap} numbers, expected {}", found.len());
            }
            // SAFETY: room for `cap` numbers, by the function's contract.
            unsafe { super::strings::put_numbers(found, shape, "shape") }?;
        }
        Ok(found.len() as i32)
    })
}

/// Converts one element at `value` (`size` bytes) to JSON, as a metadata document of `format` 2 or 3 has
/// it in `fill_value`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another format, or a struct without fields; `OZARR_ERR_BUFFER_SIZE`
/// for another size than the type's; `OZARR_ERR_UNSUPPORTED` for types that have no such form.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_scalar_to_json(
    dtype: *const ozarr_dtype,
    format: i32,
    value: *const c_void,
    size: usize,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_dtype_scalar_to_json", text(buf, cap, len), {
        let (element, v3) = (scalar_type(dtype)?, is_v3(format)?);
        let native = element.data_type.native();
        // SAFETY: `size` bytes at `value`, by the function's contract.
        let fill = Fill::of_any(unsafe { bytes_of(native, value, size) }?)?;
        fill.check_text(element.data_type, v3)?;
        let value = if v3 { fill.to_json_v3(native) } else { fill.to_json_v2(element) };
        json::compact_of_any(&value?)
    })
}

/// Converts JSON, as a metadata document of `format` 2 or 3 has it in `fill_value`, to one element at
/// `value` (`size` bytes). A value that the type does not have, such as a number out of range, is
/// `OZARR_ERR_METADATA`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another format, malformed JSON, or a struct without fields;
/// `OZARR_ERR_BUFFER_SIZE` for fewer bytes than an element has; `OZARR_ERR_UNSUPPORTED` for types that
/// have no such form; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_scalar_from_json(
    dtype: *const ozarr_dtype,
    format: i32,
    json: *const c_char,
    value: *mut c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_dtype_scalar_from_json", texts(json), {
        let (element, v3) = (scalar_type(dtype)?, is_v3(format)?);
        let given: Value = json::parse_given(json)?;
        let native = element.data_type.native();
        let fill = if v3 { Fill::from_json_v3(native, &given)? } else { Fill::from_json_v2(element, &given)? };
        // SAFETY: `size` bytes at `value`, by the function's contract.
        unsafe { put_element(&fill.try_element(native)?, value, size) }
    })
}

fn is_v3(format: i32) -> Result<bool> {
    match format {
        2 => Ok(false),
        3 => Ok(true),
        _ => bail!(Argument, "the argument `format` is {format}, expected 2 or 3"),
    }
}

/// The type whose values have a JSON form: structs as arrays store them.
fn scalar_type(dtype: *const ozarr_dtype) -> Result<ElementType> {
    let element = element_of(dtype, "dtype")?;
    if element.data_type.is_variable() || element.data_type.is_memory_only() {
        bail!(Unsupported, "values of {} have no bytes of their own in a document", element.data_type.name());
    }
    Ok(element)
}

/// # Safety
/// `value` is NULL or has room for `size` bytes.
unsafe fn put_element(element: &Element, value: *mut c_void, size: usize) -> Result<()> {
    not_null(value, "value")?;
    if size < element.len() {
        bail!(BufferSize, "`value` has {size} bytes, expected {}, one element", element.len());
    }
    // SAFETY: not NULL, with room.
    unsafe { std::ptr::copy_nonoverlapping(element.as_ptr(), value.cast(), element.len()) };
    Ok(())
}

fn kind_of(data_type: DataType) -> ozarr_dtype_kind {
    use crate::dtype::Kind;
    match (data_type.kind(), data_type) {
        (Kind::Bool, _) => OZARR_DTYPE_KIND_BOOL,
        (Kind::Int, _) => OZARR_DTYPE_KIND_INT,
        (Kind::UInt, _) => OZARR_DTYPE_KIND_UINT,
        (Kind::Float, _) => OZARR_DTYPE_KIND_FLOAT,
        (Kind::Complex, _) => OZARR_DTYPE_KIND_COMPLEX,
        (Kind::Struct, _) => OZARR_DTYPE_KIND_STRUCT,
        (_, DataType::Bytes(_)) => OZARR_DTYPE_KIND_BYTES,
        (_, DataType::Text(_)) => OZARR_DTYPE_KIND_TEXT,
        (_, DataType::Chars(_)) => OZARR_DTYPE_KIND_CHARS,
        (_, DataType::TimeDelta(_)) => OZARR_DTYPE_KIND_TIMEDELTA,
        (Kind::Time, _) => OZARR_DTYPE_KIND_DATETIME,
        (_, DataType::VarText) => OZARR_DTYPE_KIND_VAR_TEXT,
        (_, DataType::VarBytes) => OZARR_DTYPE_KIND_VAR_BYTES,
        (_, DataType::VarJson) => OZARR_DTYPE_KIND_VAR_JSON,
        (Kind::Variable, _) => OZARR_DTYPE_KIND_VAR_LIST,
        (Kind::Opaque, _) => OZARR_DTYPE_KIND_RAW,
    }
}

fn named(s: &'static Struct) -> impl Iterator<Item = &'static Field> {
    s.fields().iter().filter(|f| !f.name.is_empty())
}

fn field(dtype: *const ozarr_dtype, index: i64) -> Result<&'static Field> {
    match element_of(dtype, "dtype")?.data_type {
        DataType::Struct(s) => {
            let at = position(index, named(s).count(), "index", "fields")?;
            named(s).nth(at).ok_or_else(|| err!(Internal, "a field that is counted is not there"))
        }
        other => bail!(Type, "{} has no fields", other.name()),
    }
}
