//! Data types of your own
//!
//! A data type of your own, or another meaning of an existing one: its elements have a fixed size in the
//! file. In memory they are elements of a number type that the table names and converts from and to, and
//! are read and written as any other array of that type, in any other number type, too. Without
//! conversion they are, in memory, the bytes themselves: raw bits of that size, or, where their bytes
//! have an order, unsigned integers of 2, 4 or 8 bytes.
//!
//! An `ozarr_dtype` of it comes from `ozarr_dtype_parse`, by its name.

use super::entry;
use super::ext_misc::{Life, OZARR_REGISTER_REPLACE, Registered};
use super::ext_store::ozarr_destroy_fn;
use super::status::ozarr_status;
use super::strings::optional;
use super::structs::{growing, read_struct};
use super::types::{OZARR_AS_STORED, OZARR_CALLBACK_ANY_THREAD, ozarr_type};
use crate::dtype::DataType;
use crate::error::{ErrorKind, Result, bail, err};
use crate::node::registered_type::TypeCalls;
use crate::node::type_registration::{self, Description};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

/// In the flags of a data type: the bytes of an element have an order, which the codec `"bytes"` turns; the
/// functions see this machine's.
pub const OZARR_DTYPE_HAS_BYTE_ORDER: u32 = 4096;

/// Converts `count` elements from `src` to `dst`, which do not overlap. Elements may be unaligned. A
/// value that does not fit is `OZARR_ERR_RANGE`.
pub type ozarr_dtype_convert_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, src: *const c_void, dst: *mut c_void, count: i64) -> ozarr_status>;
/// Reads a fill value, as JSON, into one element in memory.
pub type ozarr_dtype_fill_fn = Option<unsafe extern "C" fn(user: *mut c_void, json: *const c_char, element: *mut c_void) -> ozarr_status>;
/// Writes the fill value of one element in memory as JSON: `buf` has `cap` bytes, and `*len` becomes the
/// length without the NUL. Too small a buffer is `OZARR_ERR_BUFFER_SIZE`, with `*len` what is needed.
pub type ozarr_dtype_json_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, element: *const c_void, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status>;

/// A data type as functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_dtype_table {
    /// `sizeof(ozarr_dtype_table)`.
    pub struct_size: usize,
    /// A sum of `OZARR_REGISTER_REPLACE`, `OZARR_CALLBACK_ANY_THREAD` and `OZARR_DTYPE_HAS_BYTE_ORDER`, or
    /// 0.
    pub flags: u32,
    /// The type in memory (`OZARR_INT8` ...), which `encode` and `decode` convert; `OZARR_AS_STORED` (0)
    /// without conversion.
    pub r#type: ozarr_type,
    /// Bytes of an element in the file.
    pub item_size: usize,
    /// The name in v3, or NULL. Copied.
    pub name: *const c_char,
    /// The name in v2, or NULL. Copied.
    pub name_v2: *const c_char,
    /// Handed on to every function.
    pub user: *mut c_void,
    /// May be NULL.
    pub destroy: ozarr_destroy_fn,
    /// From memory to the file.
    pub encode: ozarr_dtype_convert_fn,
    /// From the file to memory.
    pub decode: ozarr_dtype_convert_fn,
    /// NULL, with `fill_to_json`, for the JSON of the type in memory.
    pub fill_from_json: ozarr_dtype_fill_fn,
    /// See `fill_from_json`.
    pub fill_to_json: ozarr_dtype_json_fn,
}
growing!(ozarr_dtype_table: 88);

/// Registers a data type. The table is copied. Types cannot be the fields of structs.
///
/// Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
/// `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant; `OZARR_ERR_LIMIT` for
/// elements that are too large.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_register_dtype(table: *const ozarr_dtype_table) -> ozarr_status {
    entry!("ozarr_register_dtype", {
        // SAFETY: NULL, or a struct with its size, by the function's contract.
        let table = unsafe { read_struct(table, "table") }?;
        // SAFETY: each is NULL or a NUL-terminated text, by the function's contract.
        let (v3, v2) = unsafe { (optional(table.name, "name")?, optional(table.name_v2, "name_v2")?) };
        let memory = match table.r#type {
            OZARR_AS_STORED => None,
            code => match DataType::from_raw(code) {
                Some(number) => Some(number),
                None => bail!(Argument, "`table`->type is {code}, expected the type of a number, or 0"),
            },
        };
        let pairs = [
            ("encode", table.encode.is_some(), memory.is_some()),
            ("decode", table.decode.is_some(), memory.is_some()),
            ("fill_to_json", table.fill_to_json.is_some(), table.fill_from_json.is_some()),
        ];
        if let Some((name, there, _)) = pairs.iter().find(|(_, there, needed)| there != needed) {
            let what = if *there { "given, and nothing needs it" } else { "NULL, and something needs it" };
            bail!(Argument, "`table`->{name} is {what}");
        }
        let life = Life::new(table.flags, OZARR_CALLBACK_ANY_THREAD | OZARR_DTYPE_HAS_BYTE_ORDER, table.user, table.destroy)?;
        let what = Description {
            v3,
            v2,
            size: table.item_size,
            ordered: table.flags & OZARR_DTYPE_HAS_BYTE_ORDER != 0,
            memory,
            fills: table.fill_from_json.is_some(),
        };
        let item = (memory.map_or(table.item_size, DataType::size), table.item_size);
        let shown = format!("the data type {:?}", v3.or(v2).unwrap_or_default());
        let calls = UserType { host: Registered { table, what: shown, life: life.clone() }, item };
        type_registration::register(&what, Arc::new(calls), table.flags & OZARR_REGISTER_REPLACE != 0)?;
        life.arm();
        Ok(())
    })
}

struct UserType {
    host: Registered<ozarr_dtype_table>,
    /// Bytes of an element in memory and in the file.
    item: (usize, usize),
}

impl UserType {
    fn convert(&self, what: &str, function: ozarr_dtype_convert_fn, src: (&[u8], usize), dst: (&mut [u8], usize)) -> Result<()> {
        let Some(convert) = function else { bail!(Internal, "a data type without `{what}`") };
        let count = src.0.len() / src.1.max(1);
        if dst.0.len() / dst.1.max(1) != count {
            bail!(Chunk, "found {} bytes for {} elements", src.0.len(), dst.0.len() / dst.1.max(1));
        }
        // SAFETY: the host's function, by the contract of its type; both buffers have `count` elements.
        self.host.call(what, |user| unsafe { convert(user, src.0.as_ptr().cast(), dst.0.as_mut_ptr().cast(), count as i64) })
    }
}

impl TypeCalls for UserType {
    fn any_thread(&self) -> bool {
        self.host.life.any_thread()
    }

    fn encode(&self, memory: &[u8], file: &mut [u8]) -> Result<()> {
        self.convert("encode", self.host.table.encode, (memory, self.item.0), (file, self.item.1))
    }

    fn decode(&self, file: &[u8], memory: &mut [u8]) -> Result<()> {
        self.convert("decode", self.host.table.decode, (file, self.item.1), (memory, self.item.0))
    }

    fn fill_from_json(&self, json: &str, element: &mut [u8]) -> Result<()> {
        let Some(read) = self.host.table.fill_from_json else { bail!(Internal, "a data type without `fill_from_json`") };
        let json = super::ext_misc::c_text(json)?;
        // SAFETY: the host's function, by the contract of its type; the element has the type's size.
        self.host.call("fill_from_json", |user| unsafe { read(user, json.as_ptr(), element.as_mut_ptr().cast()) })
    }

    fn fill_to_json(&self, element: &[u8]) -> Result<String> {
        let Some(write) = self.host.table.fill_to_json else { bail!(Internal, "a data type without `fill_to_json`") };
        let mut buf = vec![0u8; 256];
        loop {
            let (mut len, cap) = (0, buf.len());
            // SAFETY: the host's function, by the contract of its type; the buffer has the size that it is told.
            let call = |user| unsafe { write(user, element.as_ptr().cast(), buf.as_mut_ptr().cast(), cap, &mut len) };
            match self.host.call("fill_to_json", call) {
                Ok(()) if len < cap => {
                    buf.truncate(len);
                    let text = CString::new(buf).ok().and_then(|text| text.into_string().ok());
                    return text.ok_or_else(|| err!(Callback, "`fill_to_json` of {} gave no UTF-8", self.host.what));
                }
                Ok(()) => bail!(Callback, "`fill_to_json` of {} says that it wrote {len} bytes into {cap}", self.host.what),
                Err(e) if e.kind() == ErrorKind::BufferSize && len >= cap && len < 1 << 20 => buf.resize(len + 1, 0),
                Err(e) => return Err(e),
            }
        }
    }
}
