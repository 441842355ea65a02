//! Data types as values
//!
//! What an element is, where one of the numbers of `ozarr_type` does not say it: text of a length, times of
//! a unit, structs. `ozarr_array_copy_dtype()` gives an array's; `ozarr_memory.dtype` says what is in your
//! memory. A program describes its own struct from `offsetof`, and reads an array of them with one call;
//! the struct may have fewer fields than the array's, at other offsets and of other types. The
//! bytes between them stay as they are:
//!
//! ```c
//! struct particle { double x, v[3]; int32_t id; };
//! int64_t three[] = {3};
//! ozarr_dtype *f64 = NULL, *i32 = NULL, *p = NULL;
//! if (ozarr_dtype_of(OZARR_FLOAT64, &f64) || ozarr_dtype_of(OZARR_INT32, &i32)) goto fail;
//! if (ozarr_dtype_struct(sizeof(struct particle), &p)) goto fail;
//! if (ozarr_dtype_add_field(p, "x", offsetof(struct particle, x), f64, 0, NULL)) goto fail;
//! if (ozarr_dtype_add_field(p, "v", offsetof(struct particle, v), f64, 1, three)) goto fail;
//! if (ozarr_dtype_add_field(p, "id", offsetof(struct particle, id), i32, 0, NULL)) goto fail;
//! memory.type = OZARR_BY_DTYPE;
//! memory.dtype = p;
//! if (ozarr_array_read_ex(a, NULL, &memory)) goto fail;
//! ```
//!
//! In memory, elements and fields are always in this machine's byte order, whatever the type says.

use super::entry;
use super::handle::{Handle, handle_type};
use super::status::ozarr_status;
use super::strings::{lengths, not_null, rank, text};
use super::types::{Specification, data_type, ozarr_array, ozarr_dtype, ozarr_spec, ozarr_type};
use crate::dtype::resolve::{self, Grammar};
use crate::dtype::{ByteOrder, DataType, ElementType, Field, Struct, parse_v3};
use crate::error::{Result, bail, err};
use crate::fork::{ForkPreserved, ForkReset};
use crate::limits::readable;
use crate::node::{Value, json};
use std::ffi::{c_char, c_void};
use std::sync::{Mutex, PoisonError};

/// The state behind an `ozarr_dtype`: only structs change, while fields are added to them.
pub(crate) struct DtypeObject {
    turns: ForkReset<Mutex<()>>,
    pub(super) value: ForkPreserved<Meaning>,
    /// What a document of version 3 has for it, where it was parsed or copied: raw bytes may be `r*` there (J-12).
    words: ForkPreserved<Value>,
}
handle_type!(ozarr_dtype, Dtype, DtypeObject);

#[derive(Clone)]
pub(super) enum Meaning {
    Element(ElementType),
    /// A struct that fields are added to, and its size. It is made when it is used: what is made stays.
    Growing(Vec<Field>, usize),
}

impl DtypeObject {
    fn new(meaning: Meaning, words: Value) -> DtypeObject {
        DtypeObject { turns: ForkReset::new(Mutex::default), value: ForkPreserved::new(meaning), words: ForkPreserved::new(words) }
    }

    pub(super) fn of(element: ElementType) -> DtypeObject {
        DtypeObject::worded(element, Value::Null)
    }

    pub(super) fn worded(element: ElementType, words: Value) -> DtypeObject {
        DtypeObject::new(Meaning::Element(element), words)
    }

    /// The type; an error for a struct without fields.
    pub(super) fn element(&self) -> Result<ElementType> {
        match self.value.read(Meaning::clone) {
            Meaning::Element(element) => Ok(element),
            Meaning::Growing(fields, _) if fields.is_empty() => {
                bail!(Argument, "the struct has no field yet; ozarr_dtype_add_field adds them")
            }
            Meaning::Growing(fields, size) => Ok(DataType::Struct(Struct::new(fields, size)?).into()),
        }
    }
}

/// The type as an array has it.
pub(super) fn element_of(dtype: *const ozarr_dtype, argument: &str) -> Result<ElementType> {
    let element = ozarr_dtype::get(dtype, argument)?.element()?;
    Ok(ElementType { data_type: element.data_type.padded(), ..element })
}

/// What a document of version 3 has for the type; null where that is not known.
pub(super) fn words_of(dtype: *const ozarr_dtype) -> Result<Value> {
    Ok(ozarr_dtype::get(dtype, "dtype")?.words.read(Value::clone))
}

/// The type of the elements in memory.
pub(super) fn memory_type(dtype: *const ozarr_dtype, argument: &str) -> Result<DataType> {
    Ok(ozarr_dtype::get(dtype, argument)?.element()?.data_type.native().in_memory())
}

fn grammar(format: i32) -> Result<Grammar> {
    match format {
        0 => Ok(Grammar::Any),
        2 => Ok(Grammar::V2),
        3 => Ok(Grammar::V3),
        _ => bail!(Argument, "the argument `format` is {format}, expected 0, 2 or 3"),
    }
}

/// Parses the description of a data type. `format` 2: as in a `.zarray` (`<f8`, `|S20`, `>M8[10s]`,
/// `[["x", "<f8"], ["id", "<i4"]]`); 3: as in a `zarr.json` (`float64`, an object with a name and a
/// configuration); 0: either, or a name of C (`double`, `int32_t`). A text that fits several types is
/// `OZARR_ERR_ARGUMENT`, and the message names them.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another format, too; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_parse(text: *const c_char, format: i32, out: *mut *mut ozarr_dtype) -> ozarr_status {
    entry!("ozarr_dtype_parse", new(out), {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let text = unsafe { self::text(text, "text") }?;
        Ok(DtypeObject::worded(resolve::parse(text, grammar(format)?)?, readable(json::parse_text(text))?.unwrap_or_default()))
    })
}

/// Makes the data type of a number of `ozarr_type`: one of `OZARR_BOOL` ... .
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown type; `OZARR_ERR_TYPE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_of(r#type: ozarr_type, out: *mut *mut ozarr_dtype) -> ozarr_status {
    entry!("ozarr_dtype_of", new(out), { Ok(DtypeObject::of(data_type(r#type, None)?.into())) })
}

/// The character `' '`.
const BLANK: i32 = b' ' as i32;

/// Makes the type of text of `size` bytes in memory, padded with `pad`: `' '` as Fortran holds it,
/// 0 as C does. C's text ends at its first 0: bytes behind it are not stored (`"|S8"` of
/// `ozarr_dtype_parse` is bytes that may have 0 among them). It converts to and from every type of
/// text; an array cannot have blanks for padding.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `pad`, or a size of 0 or too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_chars(size: usize, pad: i32, out: *mut *mut ozarr_dtype) -> ozarr_status {
    entry!("ozarr_dtype_chars", new(out), {
        let most = crate::dtype::MAX_LENGTH;
        let size = u32::try_from(size).ok().filter(|n| (1..=most).contains(n));
        let size = size.ok_or_else(|| err!(Argument, "the argument `size` is not from 1 to {most}"))?;
        let data_type = match pad {
            0 => DataType::CText(size),
            BLANK => DataType::Chars(size),
            _ => bail!(Argument, "the argument `pad` is {pad}, expected 0 or {BLANK}, a blank"),
        };
        Ok(DtypeObject::of(data_type.into()))
    })
}

/// Makes a struct of `size` bytes without fields.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a size of 0 or too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_struct(size: usize, out: *mut *mut ozarr_dtype) -> ozarr_status {
    entry!("ozarr_dtype_struct", new(out), {
        if size == 0 || size > crate::dtype::MAX_LENGTH as usize {
            bail!(Argument, "the argument `size` is {size}, expected 1 to {}", crate::dtype::MAX_LENGTH);
        }
        Ok(DtypeObject::new(Meaning::Growing(Vec::new(), size), Value::Null))
    })
}

/// Adds a field to a struct: its name, its offset from the struct's beginning (`offsetof`), its type,
/// and the rank and shape of a field that is an array itself (0 and NULL for one value). Fields may
/// leave gaps; an array that is made with the type has none.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an empty name, a name that the struct has already, a field that
/// leaves the struct or overlaps another, and where `dtype` is no struct; `OZARR_ERR_RANK`.
///
/// @param[in] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_add_field(
    dtype: *mut ozarr_dtype,
    name: *const c_char,
    offset: usize,
    field: *const ozarr_dtype,
    rank: i32,
    shape: *const i64,
) -> ozarr_status {
    entry!("ozarr_dtype_add_field", handles(dtype, field), texts(name), {
        if name.is_empty() {
            bail!(Argument, "the argument `name` is empty");
        }
        let element = field.element()?;
        // SAFETY: `rank` numbers, by the function's contract.
        let shape = unsafe { lengths(shape, self::rank(rank)?, "shape", 1) }?.to_vec();
        let _turn = dtype.turns.get().lock().unwrap_or_else(PoisonError::into_inner);
        let (mut fields, size) = match dtype.value.read(Meaning::clone) {
            Meaning::Growing(fields, size) => (fields, size),
            Meaning::Element(ElementType { data_type: DataType::Struct(s), .. }) => (s.fields().to_vec(), s.size()),
            Meaning::Element(other) => bail!(Argument, "the argument `dtype` is {}, expected a struct", other.data_type.name()),
        };
        let words = parse_v3::with_field(&dtype.words.read(Value::clone), fields.len(), field.words.read(Value::clone));
        fields.push(Field { name: name.into(), offset, element, shape });
        Struct::check(&fields, size).map_err(|e| err!(Argument, "{}", e.message()))?;
        drop(dtype.words.replace(words));
        drop(dtype.value.replace(Meaning::Growing(fields, size)));
        Ok(())
    })
}

/// Frees the handle; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dtype_free(dtype: *mut ozarr_dtype) {
    entry!("ozarr_dtype_free", else (), { ozarr_dtype::free(dtype, "dtype") })
}

/// Gets the data type of an array, with the byte order in which format 2 stores it.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_copy_dtype(array: *const ozarr_array, out: *mut *mut ozarr_dtype) -> ozarr_status {
    entry!("ozarr_array_copy_dtype", new(out), handles(array), { Ok(DtypeObject::worded(array.stored_type(), array.type_words())) })
}

/// Makes a specification for an array of that data type, else as `ozarr_spec_new`. A struct is stored
/// without the gaps between its fields. A type that a program lacks (zarr-python 3.1: a struct in format 3,
/// one with a field that has a shape or is a struct in format 2, too, numbers of `ml_dtypes` in both) hides
/// all of a dataset from it, and from xarray over it: it reads the consolidated metadata, which have every
/// variable. xarray itself fails at a struct that has a fill value. Put such a variable into a group of its
/// own.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length or a struct without fields; `OZARR_ERR_RANK`;
/// `OZARR_ERR_TYPE` for a type that exists in memory only; those of documents.
///
/// @param[in] shape array(rank), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_new_dtype(
    dtype: *const ozarr_dtype,
    rank: i32,
    shape: *const i64,
    out: *mut *mut ozarr_spec,
) -> ozarr_status {
    entry!("ozarr_spec_new_dtype", new(out), {
        let element = element_of(dtype, "dtype")?;
        // SAFETY: `rank` numbers, by the function's contract.
        let mut spec = unsafe { super::types::spec_of_type(element.data_type, rank, shape) }?;
        if element.swapped() {
            spec.set_byte_order(ByteOrder::Big)?;
        }
        spec.set_type_words(words_of(dtype)?);
        Ok(Specification::new(spec))
    })
}

/// Sets the fill value: one element of type `dtype` at `value`, which has `size` bytes. Text and bytes of
/// variable length are given as they are, without a NUL at their end.
///
/// Errors: `OZARR_ERR_BUFFER_SIZE` for another size than the type's; `OZARR_ERR_ARGUMENT` for a struct
/// without fields; `OZARR_ERR_TYPE`, also for JSON and lists of variable length; `OZARR_ERR_RANGE` for a
/// value that does not fit; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_fill_dtype(
    spec: *mut ozarr_spec,
    dtype: *const ozarr_dtype,
    value: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_spec_set_fill_dtype", {
        super::spec::change(spec, &mut |s| {
            let data_type = memory_type(dtype, "dtype")?;
            // SAFETY: `size` bytes at `value`, by the function's contract.
            s.set_fill(data_type, unsafe { bytes_of(data_type, value, size) }?)
        })
    })
}

/// The bytes of one element; of variable length: of its text.
///
/// # Safety
/// `value` is NULL or has `size` bytes that live as long as the result.
pub(super) unsafe fn bytes_of<'a>(data_type: DataType, value: *const c_void, size: usize) -> Result<&'a [u8]> {
    not_null(value, "value")?;
    if size != data_type.size() && !data_type.is_variable() {
        bail!(BufferSize, "`value` has {size} bytes, expected {}, one element of type {}", data_type.size(), data_type.name());
    }
    // SAFETY: not NULL; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(value.cast(), size) })
}

#[cfg(test)]
mod tests {
    use super::super::dtype_info::ozarr_dtype_copy_field_dtype;
    use super::super::types::OZARR_INT8;
    use super::*;
    use crate::node::{Array, Context, Create, Spec, Store};
    use std::ffi::{CStr, CString};
    use std::ptr::{null, null_mut};

    const RAW: &str = r#"{"name":"raw_bytes","configuration":{"length_bytes":3}}"#;

    /// The handle that a function makes.
    fn made<T>(make: impl FnOnce(*mut *mut T) -> ozarr_status) -> *mut T {
        let mut out = null_mut();
        assert_eq!(make(&mut out), 0);
        out
    }

    fn structure(fields: &[(&CStr, usize, *const ozarr_dtype)]) -> *mut ozarr_dtype {
        // SAFETY: open handles, NUL-terminated texts, no shapes.
        unsafe {
            let whole = made(|out| ozarr_dtype_struct(8, out));
            for (name, offset, field) in fields {
                assert_eq!(ozarr_dtype_add_field(whole, name.as_ptr(), *offset, *field, 0, null()), 0);
            }
            whole
        }
    }

    fn spec_of(dtype: *const ozarr_dtype) -> Spec {
        // SAFETY: an open handle and one length.
        let spec = made(|out| unsafe { ozarr_spec_new_dtype(dtype, 1, [4].as_ptr(), out) });
        let value = ozarr_spec::get(spec, "spec").unwrap().value.read(Spec::clone);
        ozarr_spec::free(spec, "spec").unwrap();
        value
    }

    #[test]
    fn raw_bytes_keep_their_name_in_structs_and_in_what_is_copied() {
        let text = CString::new(RAW).unwrap();
        // SAFETY: a NUL-terminated text.
        let raw = made(|out| unsafe { ozarr_dtype_parse(text.as_ptr(), 3, out) });
        // SAFETY: a number.
        let number = made(|out| unsafe { ozarr_dtype_of(OZARR_INT8, out) });
        let whole = structure(&[(c"n", 0, number), (c"x", 4, raw)]);
        let array = Array::create(&Store::memory(&Context::default()), "a", &spec_of(whole), Create::New).unwrap();
        let array = ozarr_array::insert(array).unwrap();
        // SAFETY: an open handle.
        let copied = made(|out| unsafe { ozarr_array_copy_dtype(array, out) });
        // SAFETY: as above.
        let field = made(|out| unsafe { ozarr_dtype_copy_field_dtype(copied, 1, out) });
        let nested = structure(&[(c"s", 0, copied)]);

        let of_field = |name: &str, data_type: &str| format!(r#"{{"name":"{name}","data_type":{data_type}}}"#);
        let of_struct = |fields: &str| format!(r#"{{"name":"struct","configuration":{{"fields":[{fields}]}}}}"#);
        let two = of_struct(&[of_field("n", r#""int8""#), of_field("x", RAW)].join(","));
        let (two, three) = (two.as_str(), of_struct(&of_field("s", &two)));
        for (dtype, want) in [(raw, RAW), (whole, two), (copied, two), (field, RAW), (nested, three.as_str())] {
            let document = json::parse_text(&spec_of(dtype).to_json().unwrap()).unwrap();
            assert_eq!(document["data_type"].to_string(), want);
        }
        [raw, number, whole, copied, field, nested].into_iter().for_each(|dtype| ozarr_dtype::free(dtype, "dtype").unwrap());
        ozarr_array::free(array, "array").unwrap();
    }
}
