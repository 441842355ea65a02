//! Handles and numbers
//!
//! A handle stands for something open. It is not an address: using one that was freed, or one of another type,
//! is an error (`OZARR_ERR_INVALID_HANDLE`) and never more. Every handle is given back to its own `..._free`,
//! where NULL is allowed, and a handle that is gone already changes nothing but `ozarr_last_error()`. The
//! order does not matter: an array stays usable after its store's handle is freed.

use super::handle::{Handle, Kind, Table};
use crate::dtype::DataType;
use crate::error::{Result, bail, err};
use crate::fork::{ForkSafe, Kept};
use crate::node;
use std::ffi::{c_char, c_void};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// An array: open for reading, or for reading and writing.
#[allow(non_camel_case_types)]
pub struct ozarr_array {
    _bits: [u8; 0],
}

/// A group: a folder of arrays and groups, with attributes.
#[allow(non_camel_case_types)]
pub struct ozarr_group {
    _bits: [u8; 0],
}

/// What an array to be created is like: shape, type, chunks, codecs, names. Changed by setters, used any
/// number of times.
#[allow(non_camel_case_types)]
pub struct ozarr_spec {
    _bits: [u8; 0],
}

/// A place that holds a hierarchy: a folder, or memory.
#[allow(non_camel_case_types)]
pub struct ozarr_store {
    _bits: [u8; 0],
}

/// A cursor over the children of a group.
#[allow(non_camel_case_types)]
pub struct ozarr_iter {
    _bits: [u8; 0],
}

/// Settings that stores are opened with, such as the number of threads.
#[allow(non_camel_case_types)]
pub struct ozarr_context {
    _bits: [u8; 0],
}

/// The type of the elements in your memory, or of an array: one of `OZARR_BOOL` ... `OZARR_COMPLEX128`. In
/// your memory they are always in this machine's byte order.
#[allow(non_camel_case_types)]
pub type ozarr_type = i32;

/// In calls that move elements: the array's own type.
pub const OZARR_AS_STORED: ozarr_type = 0;
/// One byte, 0 or 1 (C99 `bool`).
pub const OZARR_BOOL: ozarr_type = 1;
/// `int8_t`
pub const OZARR_INT8: ozarr_type = 2;
/// `int16_t`
pub const OZARR_INT16: ozarr_type = 3;
/// `int32_t`
pub const OZARR_INT32: ozarr_type = 4;
/// `int64_t`
pub const OZARR_INT64: ozarr_type = 5;
/// `uint8_t`
pub const OZARR_UINT8: ozarr_type = 6;
/// `uint16_t`
pub const OZARR_UINT16: ozarr_type = 7;
/// `uint32_t`
pub const OZARR_UINT32: ozarr_type = 8;
/// `uint64_t`
pub const OZARR_UINT64: ozarr_type = 9;
/// IEEE 754 binary16, two bytes
pub const OZARR_FLOAT16: ozarr_type = 10;
/// `float`
pub const OZARR_FLOAT32: ozarr_type = 11;
/// `double`
pub const OZARR_FLOAT64: ozarr_type = 12;
/// Two `float`: real and imaginary part (C99 `float complex`)
pub const OZARR_COMPLEX64: ozarr_type = 13;
/// Two `double`: real and imaginary part (C99 `double complex`)
pub const OZARR_COMPLEX128: ozarr_type = 14;
/// The answer for arrays of bytes, text and times: moved as they are stored, in this machine's byte order
pub const OZARR_BY_DTYPE: ozarr_type = 100;

/// Which index runs fastest in memory.
#[allow(non_camel_case_types)]
pub type ozarr_order = i32;

/// The last index (row-major, as in C).
pub const OZARR_ORDER_C: ozarr_order = 0;
/// The first index (column-major, as in Fortran).
pub const OZARR_ORDER_F: ozarr_order = 1;

/// What to do if something stands already where a node is to be created.
#[allow(non_camel_case_types)]
pub type ozarr_create = i32;

/// `OZARR_ERR_EXISTS`.
pub const OZARR_NEW: ozarr_create = 0;
/// Erase it, with everything below it, and create anew.
pub const OZARR_OVERWRITE: ozarr_create = 1;
/// Open it if it would be just so; else `OZARR_ERR_EXISTS`.
pub const OZARR_OPEN_IF_SAME: ozarr_create = 2;

/// What stands at a path.
#[allow(non_camel_case_types)]
pub type ozarr_node_kind = i32;

/// Nothing.
pub const OZARR_NODE_NONE: ozarr_node_kind = 0;
/// An array.
pub const OZARR_NODE_ARRAY: ozarr_node_kind = 1;
/// A group.
pub const OZARR_NODE_GROUP: ozarr_node_kind = 2;
/// A node whose metadata cannot be understood.
pub const OZARR_NODE_UNKNOWN: ozarr_node_kind = 3;

/// The kinds of JSON values, for attributes.
#[allow(non_camel_case_types)]
pub type ozarr_json_kind = i32;

/// `null`
pub const OZARR_JSON_NULL: ozarr_json_kind = 0;
/// `true` or `false`
pub const OZARR_JSON_BOOL: ozarr_json_kind = 1;
/// A number without fraction and exponent.
pub const OZARR_JSON_INTEGER: ozarr_json_kind = 2;
/// Any other number.
pub const OZARR_JSON_NUMBER: ozarr_json_kind = 3;
/// A text.
pub const OZARR_JSON_STRING: ozarr_json_kind = 4;
/// A list.
pub const OZARR_JSON_ARRAY: ozarr_json_kind = 5;
/// An object.
pub const OZARR_JSON_OBJECT: ozarr_json_kind = 6;

/// How important a message of a log is.
#[allow(non_camel_case_types)]
pub type ozarr_log_level = i32;

/// No messages.
pub const OZARR_LOG_OFF: ozarr_log_level = 0;
/// Something in a file is odd, and was read all the same.
pub const OZARR_LOG_WARNING: ozarr_log_level = 1;
/// Something may be of interest.
pub const OZARR_LOG_INFO: ozarr_log_level = 2;

/// Takes a message of one line, which is valid during the call only. It runs in the thread that is inside of a
/// call of the library (in several at once, if several use the context), and may call the library itself.
#[allow(non_camel_case_types)]
pub type ozarr_log_fn = Option<unsafe extern "C" fn(user: *mut c_void, level: ozarr_log_level, message: *const c_char)>;

/// The settings behind an `ozarr_context`.
#[derive(Default)]
pub(crate) struct Settings {
    /// `"threads"`; 0 as the environment says.
    pub(super) threads: AtomicUsize,
    /// `"strict"`
    pub(super) strict: AtomicBool,
    /// `"non_finite"`
    pub(super) non_finite: AtomicBool,
    /// Who is told.
    pub(super) log: Kept<Option<node::Log>>,
}

/// The state behind an `ozarr_iter`: children, and the number of steps taken.
pub(crate) struct Cursor {
    pub(super) children: Vec<node::Child>,
    pub(super) steps: AtomicUsize,
}

/// The state behind an `ozarr_spec`: changed by one thread at a time, each time as a whole.
pub(crate) struct Specification {
    pub(super) turns: ForkSafe<Mutex<()>>,
    pub(super) value: Kept<node::Spec>,
}

impl Specification {
    pub(super) fn new(value: node::Spec) -> Specification {
        Specification { turns: ForkSafe::new(Mutex::default), value: Kept::new(value) }
    }
}

macro_rules! handle {
    ($c:ident, $kind:ident, $object:ty) => {
        impl Handle for $c {
            type Object = $object;

            fn table() -> &'static Table<$object> {
                static TABLE: Table<$object> = Table::new(Kind::$kind);
                &TABLE
            }
        }
    };
}
handle!(ozarr_context, Context, Settings);
handle!(ozarr_store, Store, node::Store);
handle!(ozarr_group, Group, node::Group);
handle!(ozarr_array, Array, node::Array);
handle!(ozarr_spec, Spec, Specification);
handle!(ozarr_iter, Iter, Cursor);

/// The data type of a number from C; `OZARR_AS_STORED` is `stored`, where there is one.
pub(super) fn data_type(raw: ozarr_type, stored: Option<DataType>) -> Result<DataType> {
    match (raw, stored) {
        (OZARR_AS_STORED, Some(stored)) => Ok(stored),
        // What `ozarr_array_type` answered may be asked for.
        (OZARR_BY_DTYPE, Some(stored)) if stored.code().is_none() => Ok(stored),
        (OZARR_BY_DTYPE, _) => bail!(Type, "the argument `type` is OZARR_BY_DTYPE, expected the type of a number"),
        (OZARR_AS_STORED, None) => bail!(Argument, "the argument `type` is OZARR_AS_STORED, expected a type of its own here"),
        _ => DataType::from_raw(raw).ok_or_else(|| err!(Argument, "the argument `type` is {raw}, expected an OZARR_... type")),
    }
}

/// Whether a number from C is the order F.
pub(super) fn is_order_f(raw: ozarr_order) -> Result<bool> {
    match raw {
        OZARR_ORDER_C => Ok(false),
        OZARR_ORDER_F => Ok(true),
        _ => bail!(Argument, "`order` is {raw}, expected OZARR_ORDER_C or OZARR_ORDER_F"),
    }
}

/// How to create, of a number from C.
pub(super) fn create(raw: ozarr_create) -> Result<node::Create> {
    match raw {
        OZARR_NEW => Ok(node::Create::New),
        OZARR_OVERWRITE => Ok(node::Create::Overwrite),
        OZARR_OPEN_IF_SAME => Ok(node::Create::OpenIfSame),
        _ => bail!(Argument, "the argument `flags` is {raw}, expected OZARR_NEW, OZARR_OVERWRITE or OZARR_OPEN_IF_SAME"),
    }
}

/// The number of a node's kind.
pub(super) fn node_kind(kind: node::NodeKind) -> ozarr_node_kind {
    match kind {
        node::NodeKind::None => OZARR_NODE_NONE,
        node::NodeKind::Array => OZARR_NODE_ARRAY,
        node::NodeKind::Group => OZARR_NODE_GROUP,
        node::NodeKind::Unknown => OZARR_NODE_UNKNOWN,
    }
}

/// The largest `struct_size` that is believed.
const MAX_STRUCT: usize = 4096;

/// The `struct_size` of a struct that begins with it. Smaller than this version's struct (its first) is an
/// error that names it; larger comes from a newer header: what this version does not know must be zero.
///
/// # Safety
/// `pointer` points to a struct that begins with its size in bytes, and has as many.
pub(super) unsafe fn check_struct_size<T>(pointer: *const T, argument: &str) -> Result<usize> {
    // SAFETY: the struct begins with it.
    let size = unsafe { pointer.cast::<usize>().read_unaligned() };
    if size < size_of::<T>() || size > MAX_STRUCT {
        bail!(Argument, "`{argument}`->struct_size is {size}, expected {}: set it with the struct's ..._INIT or sizeof", size_of::<T>());
    }
    for i in size_of::<T>()..size {
        // SAFETY: within the size that the caller vouches for.
        if unsafe { pointer.cast::<u8>().add(i).read() } != 0 {
            bail!(Unsupported, "`{argument}` uses members that came after ozarr {}", env!("CARGO_PKG_VERSION"));
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn type_numbers_are_those_of_the_core() {
        use DataType::*;
        let table = [
            (OZARR_BOOL, Bool),
            (OZARR_INT8, Int8),
            (OZARR_INT16, Int16),
            (OZARR_INT32, Int32),
            (OZARR_INT64, Int64),
            (OZARR_UINT8, UInt8),
            (OZARR_UINT16, UInt16),
            (OZARR_UINT32, UInt32),
            (OZARR_UINT64, UInt64),
            (OZARR_FLOAT16, Float16),
            (OZARR_FLOAT32, Float32),
            (OZARR_FLOAT64, Float64),
            (OZARR_COMPLEX64, Complex64),
            (OZARR_COMPLEX128, Complex128),
        ];
        assert_eq!(table.len(), DataType::ALL.len());
        for (raw, want) in table {
            assert_eq!(data_type(raw, None).unwrap(), want);
        }
        assert_eq!(data_type(OZARR_AS_STORED, Some(Int8)).unwrap(), Int8);
        for raw in [OZARR_AS_STORED, -1, 15, i32::MAX] {
            assert_eq!(data_type(raw, None).unwrap_err().kind(), ErrorKind::Argument);
        }
    }

    #[test]
    fn struct_sizes_are_checked_both_ways() {
        #[repr(C)]
        struct Known {
            struct_size: usize,
            a: usize,
        }
        #[repr(C)]
        struct Newer {
            known: Known,
            b: usize,
        }
        let check = |struct_size, b| {
            let s = Newer { known: Known { struct_size, a: 1 }, b };
            // SAFETY: never more bytes than `Newer` has, except sizes that are refused first.
            unsafe { check_struct_size(&raw const s as *const Known, "s") }.map_err(|e| e.kind())
        };
        assert_eq!(check(16, 5), Ok(16));
        assert_eq!(check(24, 0), Ok(24));
        assert_eq!(check(24, 5), Err(ErrorKind::Unsupported));
        for wrong in [0, 8, usize::MAX] {
            assert_eq!(check(wrong, 0), Err(ErrorKind::Argument));
        }
    }
}
