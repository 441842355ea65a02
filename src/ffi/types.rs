//! Handles and numbers
//!
//! A handle refers to an open object. It is not an address: using one that was freed, or one of another
//! type, is an error (`OZARR_ERR_INVALID_HANDLE`) and never a crash. Release every handle with its own
//! `..._close` or `..._free`. `..._free` takes NULL; for a handle that was freed before it does nothing
//! but set `ozarr_last_error()`. The order does not matter: an array stays usable after its store's
//! handle is freed.

use super::handle::{Handle, HandleKind, Ref, handle_type, kind_of, refuse};
use super::status::{OZARR_ORDER_C, OZARR_ORDER_F, ozarr_order};
use crate::dtype::{DataType, Overflow};
use crate::error::{Result, bail, err};
use crate::fork::{ForkPreserved, ForkReset};
use crate::metadata::Format;
use crate::node;
use crate::threads::this_thread;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// An array: open for reading, or for reading and writing.
pub struct ozarr_array {
    _bits: [u8; 0],
}

/// A group: a directory of arrays and groups, with attributes.
pub struct ozarr_group {
    _bits: [u8; 0],
}

/// An array or a group, for what both have: attributes, path, metadata. It is the handle of the array or
/// group itself (`ozarr_array_node`, `ozarr_group_node`), and ends with it.
#[allow(non_camel_case_types)]
pub struct ozarr_node {
    _bits: [u8; 0],
}

/// What an array to be created is like: shape, type, chunks, codecs, names. Changed by setters, used any
/// number of times.
pub struct ozarr_spec {
    _bits: [u8; 0],
}

/// A store: what holds a hierarchy. A directory, a zip archive, an object store, or memory.
pub struct ozarr_store {
    _bits: [u8; 0],
}

/// A cursor over the children of a group.
pub struct ozarr_node_iter {
    _bits: [u8; 0],
}

/// Elements of variable length that were read.
pub struct ozarr_varlen {
    _bits: [u8; 0],
}

/// A cursor over the stored chunks of an array.
pub struct ozarr_chunk_iter {
    _bits: [u8; 0],
}

/// A shard that is being written, inner chunk by inner chunk.
pub struct ozarr_shard_writer {
    _bits: [u8; 0],
}

/// An appender: makes an array longer along one dimension, step by step.
pub struct ozarr_appender {
    _bits: [u8; 0],
}

/// The steps of a run: the variables of a dataset grow together along one dimension.
pub struct ozarr_series {
    _bits: [u8; 0],
}

/// A dataset: a group whose arrays share named dimensions.
pub struct ozarr_dataset {
    _bits: [u8; 0],
}

/// A non-blocking read or write, which goes on while the program does other things.
pub struct ozarr_request {
    _bits: [u8; 0],
}

/// Settings that stores are opened with, such as the number of threads.
pub struct ozarr_context {
    _bits: [u8; 0],
}

/// A data type: describes elements, also those for which `ozarr_type` has no number.
pub struct ozarr_dtype {
    _bits: [u8; 0],
}

/// What a function of a store of your own gives for a key.
pub struct ozarr_answer {
    _bits: [u8; 0],
}

/// Where a function of a store of your own lists keys.
pub struct ozarr_keys {
    _bits: [u8; 0],
}

/// The type of the elements in your memory, or of an array: one of the constants below. In your memory they
/// are always in this machine's byte order. Those of fewer than 8 bits have a byte each: the library writes
/// the sign (of `OZARR_INT2`, `OZARR_INT4`) or 0 into its upper bits, and ignores them when it reads.
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
/// -2 to 1, a byte with its sign
pub const OZARR_INT2: ozarr_type = 15;
/// -8 to 7, a byte with its sign
pub const OZARR_INT4: ozarr_type = 16;
/// 0 to 3, a byte
pub const OZARR_UINT2: ozarr_type = 17;
/// 0 to 15, a byte
pub const OZARR_UINT4: ozarr_type = 18;
/// The upper half of a `float`, two bytes
pub const OZARR_BFLOAT16: ozarr_type = 19;
/// 8 bits: 3 of exponent, 4 of mantissa
pub const OZARR_FLOAT8_E3M4: ozarr_type = 20;
/// 8 bits with infinities, as in IEEE 754; not `float8_e4m3fn`
pub const OZARR_FLOAT8_E4M3: ozarr_type = 21;
/// 8 bits, bias 11; no infinities, one NaN
pub const OZARR_FLOAT8_E4M3B11FNUZ: ozarr_type = 22;
/// 8 bits, bias 8; no infinities, one NaN
pub const OZARR_FLOAT8_E4M3FNUZ: ozarr_type = 23;
/// 8 bits without infinities, up to 448
pub const OZARR_FLOAT8_E4M3FN: ozarr_type = 24;
/// The upper half of a binary16
pub const OZARR_FLOAT8_E5M2: ozarr_type = 25;
/// 8 bits, bias 16; no infinities, one NaN
pub const OZARR_FLOAT8_E5M2FNUZ: ozarr_type = 26;
/// The powers of two from 2^-127 to 2^127, and NaN; no zero
pub const OZARR_FLOAT8_E8M0FNU: ozarr_type = 27;
/// 6 bits in a byte, -7.5 to 7.5; numbers only
pub const OZARR_FLOAT6_E2M3FN: ozarr_type = 28;
/// 6 bits in a byte, -28 to 28; numbers only
pub const OZARR_FLOAT6_E3M2FN: ozarr_type = 29;
/// 4 bits in a byte, -6 to 6; numbers only
pub const OZARR_FLOAT4_E2M1FN: ozarr_type = 30;
/// Another type: the answer for arrays of text, times and structs; in `ozarr_memory`, that of `dtype`
pub const OZARR_BY_DTYPE: ozarr_type = 100;
/// UTF-8 text of any length; written and read by the functions for variable length
pub const OZARR_STRING: ozarr_type = 101;
/// Bytes of any length; written and read by the functions for variable length
pub const OZARR_BYTES: ozarr_type = 102;
/// Any JSON value, as its text; format 2 only; written and read by the functions for variable length
pub const OZARR_JSON: ozarr_type = 103;
/// The answer for arrays of lists of numbers; written and read by the functions for variable length
pub const OZARR_LIST: ozarr_type = 104;

/// What to do with a number that does not fit into the type that it is converted to, in memory or in the
/// array. Converting NaN to an integer, to bool or to a type without NaN is always `OZARR_ERR_RANGE`,
/// whatever this setting.
pub type ozarr_overflow = i32;

/// `OZARR_ERR_RANGE`.
pub const OZARR_OVERFLOW_ERROR: ozarr_overflow = 0;
/// Integers modulo 2^n, also what is left of a real number without its fraction (an infinity is an error).
/// Real numbers become infinite, or NaN in a type without infinity, or its largest number where it has
/// neither. All but 0 is true.
pub const OZARR_OVERFLOW_WRAP: ozarr_overflow = 1;
/// The least or the largest number of the type. All but 0 is true.
pub const OZARR_OVERFLOW_SATURATE: ozarr_overflow = 2;

/// A store can be written.
pub const OZARR_STORE_CAN_WRITE: u32 = 1;
/// A store can list its keys.
pub const OZARR_STORE_CAN_LIST: u32 = 2;
/// A store can erase what it holds.
pub const OZARR_STORE_CAN_ERASE: u32 = 4;
/// A store is far away: reads are worth having in flight together.
pub const OZARR_STORE_IS_REMOTE: u32 = 8;

/// In the flags of a request, or of a table of functions: what they name may be called by any thread, also
/// by several at once.
pub const OZARR_CALLBACK_ANY_THREAD: u32 = 256;

/// What to do if a node already exists where one is to be created.
pub type ozarr_create_mode = i32;

/// `OZARR_ERR_EXISTS`.
pub const OZARR_CREATE_NEW: ozarr_create_mode = 0;
/// Replace it, with everything below it, by the new one. In a folder others find the old node or the new one, also after a kill: the new one
/// is made beside it, and both change their names at once (on file systems that cannot do that, such as NFS, there is no node between two
/// renames, nor after a kill there, which leaves the old one beside its place under a hidden name that ends in `.tmp.tmp`). Consolidated metadata of groups above name neither for that moment. In memory and in object stores the old
/// node is erased first; archives cannot overwrite. Chunks of the old node are never taken for the new one's: handles of this process on its arrays,
/// which were opened before, store nothing any more (`OZARR_ERR_STATE`), as after erasing and renaming; those of other processes are not told, and
/// are to be closed before. In a parallel program one process
/// creates, and the others open the node after a barrier: each one that creates replaces what those before it wrote. A node in which a series is
/// open, here or in another process, is `OZARR_ERR_AGAIN` where the store has locks (folders). Object stores cannot tell whether the writer
/// of a mark lives: the node is replaced there, and the writer that goes on is told (`OZARR_ERR_STATE`) when it stores its next steps. So is
/// an appender without a series in any store.
pub const OZARR_CREATE_OVERWRITE: ozarr_create_mode = 1;
/// Open it if it would be just so; else `OZARR_ERR_EXISTS`. Compared are the format, and of an array the shape (a length of 0, of an array
/// that is appended to, is like any other), chunks and their keys, type, fill value and codecs; where they are given also the names of its dimensions and the attributes `_FillValue`, `scale_factor`, `add_offset`, `units`
/// and `calendar`. Other attributes stay as they are.
pub const OZARR_CREATE_OPEN_IF_SAME: ozarr_create_mode = 2;

/// The kind of the node at a path.
pub type ozarr_node_kind = i32;

/// Nothing.
pub const OZARR_NODE_KIND_NONE: ozarr_node_kind = 0;
/// An array.
pub const OZARR_NODE_KIND_ARRAY: ozarr_node_kind = 1;
/// A group.
pub const OZARR_NODE_KIND_GROUP: ozarr_node_kind = 2;
/// A node whose metadata cannot be understood.
pub const OZARR_NODE_KIND_UNKNOWN: ozarr_node_kind = 3;

/// The kinds of JSON values, for attributes.
pub type ozarr_json_kind = i32;

/// `null`
pub const OZARR_JSON_KIND_NULL: ozarr_json_kind = 0;
/// `true` or `false`
pub const OZARR_JSON_KIND_BOOL: ozarr_json_kind = 1;
/// A number without fraction and exponent.
pub const OZARR_JSON_KIND_INTEGER: ozarr_json_kind = 2;
/// Any other number.
pub const OZARR_JSON_KIND_NUMBER: ozarr_json_kind = 3;
/// A text.
pub const OZARR_JSON_KIND_STRING: ozarr_json_kind = 4;
/// A list.
pub const OZARR_JSON_KIND_ARRAY: ozarr_json_kind = 5;
/// An object.
pub const OZARR_JSON_KIND_OBJECT: ozarr_json_kind = 6;

/// The settings behind an `ozarr_context`.
pub(crate) struct ContextObject {
    /// `"threads"`: the threads; `None` as the environment says.
    pub(super) pool: ForkPreserved<Option<node::Context>>,
    /// `"strict"`
    pub(super) strict: AtomicBool,
    /// `"huge_pages"`
    pub(super) huge_pages: AtomicBool,
    /// `"non_finite"`
    pub(super) non_finite: AtomicBool,
    /// `"file.sync"` and `"file.lock"`
    pub(super) files: ForkPreserved<node::FileOptions>,
    /// Receives the warnings and the deviations that are found.
    pub(super) log: ForkPreserved<Option<node::Log>>,
    /// `"chunk_cache"`
    pub(super) chunk_cache: ForkPreserved<Option<Arc<node::ChunkCache>>>,
    /// `"bytes_in_flight"` and `"when_full"`
    pub(super) budget: Arc<node::Budget>,
    /// What is done with it.
    pub(super) stats: Arc<node::Counters>,
}

/// The state behind an `ozarr_node_iter`: children, and the number of steps taken.
pub(crate) struct Cursor {
    pub(super) children: Vec<node::Child>,
    pub(super) steps: AtomicUsize,
}

/// The state behind an `ozarr_chunk_iter`.
pub(crate) struct ChunkCursor {
    pub(super) chunks: node::Chunks,
    pub(super) at: Option<(crate::limits::Dims, node::ChunkPlace)>,
}

/// State that one thread at a time uses, with I/O under way; a child of `fork` finds none. Beside it is the thread whose turn it is.
pub(crate) struct Turn<T>(ForkReset<(Mutex<Option<T>>, AtomicUsize)>);

impl<T> Turn<T> {
    pub(super) fn new(value: T) -> Turn<T> {
        let turn = Turn(ForkReset::new(Default::default));
        *turn.0.get().0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        turn
    }

    pub(super) fn with<R>(&self, f: impl FnOnce(&mut T) -> Result<R>) -> Result<R> {
        let ((value, thread), here) = (self.0.get(), this_thread());
        if thread.load(Relaxed) == here {
            bail!(State, "the call comes from a function that another call on the same handle has called");
        }
        let mut value = value.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(value) = &mut *value else { bail!(Forked, "the handle belongs to the process before fork") };
        let _turn = TurnOf(thread);
        thread.store(here, Relaxed);
        f(value)
    }
}

/// The turn of a thread, until dropped.
struct TurnOf<'a>(&'a AtomicUsize);

impl Drop for TurnOf<'_> {
    fn drop(&mut self) {
        self.0.store(0, Relaxed);
    }
}

/// The state behind an `ozarr_spec`: changed by one thread at a time, each time as a whole.
pub(crate) struct Specification {
    pub(super) turns: ForkReset<Mutex<()>>,
    pub(super) value: ForkPreserved<node::Spec>,
}

impl Specification {
    pub(super) fn new(value: node::Spec) -> Specification {
        Specification { turns: ForkReset::new(Mutex::default), value: ForkPreserved::new(value) }
    }
}

handle_type!(ozarr_context, Context, ContextObject);
handle_type!(ozarr_store, Store, node::Store);
handle_type!(ozarr_group, Group, node::Group);
handle_type!(ozarr_array, Array, node::Array);
handle_type!(ozarr_spec, Spec, Specification);
handle_type!(ozarr_node_iter, Iter, Cursor);
handle_type!(ozarr_varlen, Varlen, node::variable::Variable);
handle_type!(ozarr_chunk_iter, ChunkIter, Turn<ChunkCursor>);
handle_type!(ozarr_shard_writer, ShardWriter, Turn<node::ArrayShardWriter>);
handle_type!(ozarr_appender, Appender, Turn<node::Appender>);
handle_type!(ozarr_series, Series, Turn<node::Series>);
handle_type!(ozarr_dataset, Dataset, node::Dataset);
handle_type!(ozarr_keys, Keys, Turn<Vec<String>>);

/// The array or group of a handle; `argument` names the handle in errors.
pub(super) fn node_of(handle: *const ozarr_node, argument: &str) -> Result<node::Node> {
    match kind_of(handle.cast()) {
        Some(HandleKind::Array) => Ok(node::Node::Array(ozarr_array::get(handle.cast(), argument)?.clone())),
        Some(HandleKind::Group) => Ok(node::Node::Group(ozarr_group::get(handle.cast(), argument)?.clone())),
        _ => Err(refuse(handle.cast(), argument, "ozarr_array or ozarr_group")),
    }
}

/// The data type of a number from C; `OZARR_AS_STORED` is `stored`, where there is one.
pub(super) fn data_type(raw: ozarr_type, stored: Option<DataType>) -> Result<DataType> {
    let stored = stored.map(DataType::in_memory);
    match (raw, stored) {
        (_, Some(stored)) if stored.is_variable() => {
            bail!(Type, "the elements are {}, of variable length; use ozarr_array_read_varlen and ozarr_array_write_varlen", stored.name())
        }
        (OZARR_AS_STORED, Some(stored)) => Ok(stored),
        (OZARR_STRING, None) => Ok(DataType::VarText),
        (OZARR_BYTES, None) => Ok(DataType::VarBytes),
        (OZARR_JSON, None) => Ok(DataType::VarJson),
        (OZARR_LIST, None) => {
            bail!(
                Type,
                "the argument `type` is OZARR_LIST: lists need a document of format 2 with the filter \"vlen-array\" (ozarr_spec_from_json)"
            )
        }
        (OZARR_STRING..=OZARR_LIST, _) => bail!(Type, "the argument `type` is {raw}, of variable length, expected the type of a number"),
        // What `ozarr_array_type` answered may be asked for.
        (OZARR_BY_DTYPE, Some(stored)) if stored.code().is_none() => Ok(stored),
        (OZARR_BY_DTYPE, _) => bail!(Type, "the argument `type` is OZARR_BY_DTYPE, expected the type of a number"),
        (OZARR_AS_STORED, None) => bail!(Argument, "the argument `type` is OZARR_AS_STORED, expected a type of its own here"),
        _ => DataType::from_raw(raw).ok_or_else(|| err!(Argument, "the argument `type` is {raw}, expected an OZARR_... type")),
    }
}

/// The number of an array's type in C.
pub(super) fn type_code(data_type: DataType) -> ozarr_type {
    match data_type.in_memory() {
        DataType::VarText => OZARR_STRING,
        DataType::VarBytes => OZARR_BYTES,
        DataType::VarJson => OZARR_JSON,
        DataType::VarArray(_) => OZARR_LIST,
        other => other.code().unwrap_or(OZARR_BY_DTYPE),
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

/// The policy of a number from C.
pub(super) fn overflow(raw: ozarr_overflow) -> Result<Overflow> {
    match raw {
        OZARR_OVERFLOW_ERROR => Ok(Overflow::Error),
        OZARR_OVERFLOW_WRAP => Ok(Overflow::Wrap),
        OZARR_OVERFLOW_SATURATE => Ok(Overflow::Saturate),
        _ => bail!(Argument, "`overflow` is {raw}, expected OZARR_OVERFLOW_ERROR, OZARR_OVERFLOW_WRAP or OZARR_OVERFLOW_SATURATE"),
    }
}

/// How to create, of a number from C.
pub(super) fn create(raw: ozarr_create_mode) -> Result<node::Create> {
    match raw {
        OZARR_CREATE_NEW => Ok(node::Create::New),
        OZARR_CREATE_OVERWRITE => Ok(node::Create::Overwrite),
        OZARR_CREATE_OPEN_IF_SAME => Ok(node::Create::OpenIfSame),
        _ => {
            bail!(Argument, "the argument `mode` is {raw}, expected OZARR_CREATE_NEW, OZARR_CREATE_OVERWRITE or OZARR_CREATE_OPEN_IF_SAME")
        }
    }
}

/// The version that a number from C means.
pub(super) fn format_of(zarr_format: i32) -> Result<Format> {
    match zarr_format {
        2 => Ok(Format::V2),
        3 => Ok(Format::V3),
        _ => bail!(Argument, "the Zarr format is {zarr_format}, expected 2 or 3"),
    }
}

/// The array of a handle, for a call that writes to it and counts by its lengths.
pub(super) fn to_write(handle: *const ozarr_array, argument: &str) -> Result<Ref<node::Array>> {
    let array = ozarr_array::get(handle, argument)?;
    array.renew_listed()?;
    Ok(array)
}

/// A specification of that data type and rank.
///
/// # Safety
/// `shape` is NULL or has `rank` numbers.
pub(super) unsafe fn spec_of_type(data_type: DataType, rank: i32, shape: *const i64) -> Result<node::Spec> {
    let rank = super::strings::rank(rank)?;
    match shape.is_null() && rank > 0 {
        true => node::Spec::without_shape(data_type, rank),
        // SAFETY: the caller's promise.
        false => node::Spec::new(data_type, &unsafe { super::strings::lengths(shape, rank, "shape", 0) }?),
    }
}

/// The number of a node's kind.
pub(super) fn node_kind(kind: node::NodeKind) -> ozarr_node_kind {
    match kind {
        node::NodeKind::None => OZARR_NODE_KIND_NONE,
        node::NodeKind::Array => OZARR_NODE_KIND_ARRAY,
        node::NodeKind::Group => OZARR_NODE_KIND_GROUP,
        node::NodeKind::Unknown => OZARR_NODE_KIND_UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::Narrow as Format;
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
            (OZARR_INT2, Int2),
            (OZARR_INT4, Int4),
            (OZARR_UINT2, UInt2),
            (OZARR_UINT4, UInt4),
            (OZARR_BFLOAT16, Narrow(Format::BFloat16)),
            (OZARR_FLOAT8_E3M4, Narrow(Format::Float8E3M4)),
            (OZARR_FLOAT8_E4M3, Narrow(Format::Float8E4M3)),
            (OZARR_FLOAT8_E4M3B11FNUZ, Narrow(Format::Float8E4M3B11Fnuz)),
            (OZARR_FLOAT8_E4M3FNUZ, Narrow(Format::Float8E4M3Fnuz)),
            (OZARR_FLOAT8_E4M3FN, Narrow(Format::Float8E4M3Fn)),
            (OZARR_FLOAT8_E5M2, Narrow(Format::Float8E5M2)),
            (OZARR_FLOAT8_E5M2FNUZ, Narrow(Format::Float8E5M2Fnuz)),
            (OZARR_FLOAT8_E8M0FNU, Narrow(Format::Float8E8M0Fnu)),
            (OZARR_FLOAT6_E2M3FN, Narrow(Format::Float6E2M3Fn)),
            (OZARR_FLOAT6_E3M2FN, Narrow(Format::Float6E3M2Fn)),
            (OZARR_FLOAT4_E2M1FN, Narrow(Format::Float4E2M1Fn)),
        ];
        assert_eq!(table.len(), DataType::ALL.len());
        for (raw, want) in table {
            assert_eq!(data_type(raw, None).unwrap(), want);
        }
        assert_eq!(data_type(OZARR_AS_STORED, Some(Int8)).unwrap(), Int8);
        for raw in [OZARR_AS_STORED, -1, 31, i32::MAX] {
            assert_eq!(data_type(raw, None).unwrap_err().kind(), ErrorKind::Argument);
        }
    }
    #[test]
    fn a_function_that_a_call_on_a_handle_calls_does_not_wait_for_its_own_turn() {
        let turn = Turn::new(0);
        for _ in 0..2 {
            turn.with(|_| {
                assert_eq!(turn.with(|_| Ok(())).unwrap_err().kind(), ErrorKind::State);
                Ok(())
            })
            .unwrap();
        }
    }
}
