//! Arrays
//!
//! A location is a path to the node. The hierarchy's root is the first part of it that ends in `.zarr`, or
//! in `.zip` or `.ozx` for a zip archive: in `"data/run.zarr/fields/temperature"` the root is
//! `data/run.zarr` and the node's path in it `fields/temperature`. Without such a part the whole location
//! is the root. Creating a node creates the groups above it, up to the root.
//!
//! Element types in memory and in the file may differ: reading and writing convert, and a value that does
//! not fit is `OZARR_ERR_RANGE`. `size` is always the bytes that may be touched at `data`; fewer than
//! needed are `OZARR_ERR_BUFFER_SIZE`, and nothing is touched.

use super::context::default_context;
use super::dense::contiguous;
use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{dimension, lengths, not_null, numbers, optional_texts, put, put_numbers, put_optional, put_text, rank, text};
use super::types::{create, data_type, ozarr_array, ozarr_create_mode, ozarr_type, type_code};
use crate::engine::{Memory, Selection};
use crate::error::{Result, bail};
use crate::limits::Dims;
use crate::node::{Array, Mode, Spec, Store};
use std::ffi::{c_char, c_void};

/// Creates an array at `location`, with elements of `type`, `rank` dimensions (0 to 64) and the lengths
/// `shape`. `chunks` is the shape of a chunk; NULL lets the library choose. The array has Zarr format 3,
/// is compressed with zstd, and has the fill value 0 (a floating-point variable of a dataset has NaN);
/// `ozarr_array_create_ex` has every choice. `mode` says what to do if a node already exists there;
/// with `OZARR_CREATE_NEW` that is `OZARR_ERR_EXISTS`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length, an extent of 0, or an unknown type or mode;
/// `OZARR_ERR_RANK`; `OZARR_ERR_TYPE`; `OZARR_ERR_LIMIT`; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
/// `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an
/// array; `OZARR_ERR_READ_ONLY`; those of documents and stores.
///
/// @param[in] shape array(rank)
/// @param[in] chunks array(rank), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_create(
    location: *const c_char,
    r#type: ozarr_type,
    rank: i32,
    shape: *const i64,
    chunks: *const i64,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_array_create", new(out), {
        let mode = create(mode)?;
        // SAFETY: texts and numbers as is said, by the function's contract.
        let (location, spec) = unsafe { (text(location, "location")?, simple_spec(r#type, rank, shape, chunks)?) };
        let (store, path) = Store::locate(&default_context()?, location, Mode::ReadWrite)?;
        Array::create(&store, &path, &spec, mode)
    })
}

/// Opens the array at `location`. `mode` `"r"` is for reading only, `"r+"` for reading and writing.
/// `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if a group is.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
/// `OZARR_ERR_READ_ONLY` where the store cannot be written; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_open(location: *const c_char, mode: *const c_char, out: *mut *mut ozarr_array) -> ozarr_status {
    entry!("ozarr_array_open", new(out), texts(location, mode), {
        let (store, path) = Store::locate(&default_context()?, location, Mode::parse(mode)?)?;
        Array::open(&store, &path)
    })
}

/// Reads the whole array to `data`: contiguous, the last index fastest. Elements that were never written
/// have the fill value. Fewer bytes than needed are `OZARR_ERR_BUFFER_SIZE`; a value that does not fit
/// into `type` is `OZARR_ERR_RANGE`.
///
/// Errors: `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; those of chunks and
/// stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read(array: *const ozarr_array, r#type: ozarr_type, data: *mut c_void, size: usize) -> ozarr_status {
    entry!("ozarr_array_read", handles(array), {
        let selection = Selection::all(&array.shape());
        let memory = contiguous(&array, selection.shape(), r#type, data, size)?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { array.read(&selection, &memory) }
    })
}

/// Writes the whole array from `data`: contiguous, the last index fastest.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than needed; `OZARR_ERR_RANGE`
/// for a value that does not fit into the array's type; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a
/// `type` that does not fit; those of chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write(
    array: *const ozarr_array,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_write", to_write(array), {
        let selection = Selection::all(&array.shape());
        let memory = contiguous(&array, selection.shape(), r#type, data.cast_mut(), size)?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { array.write(&selection, &memory) }
    })
}

/// Reads a region (a hyperslab): the box of `shape` elements that begins at `start`, one number for each
/// dimension. The elements go to `data` as `type`: contiguous, the last index fastest. A box that leaves
/// the array is `OZARR_ERR_BOUNDS`.
///
/// Errors: `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the box has; `OZARR_ERR_RANGE` for a value that
/// does not fit into `type`; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit;
/// those of chunks and stores.
///
/// @param[in] start,shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_region(
    array: *const ozarr_array,
    start: *const i64,
    shape: *const i64,
    r#type: ozarr_type,
    data: *mut c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_read_region", handles(array), {
        // SAFETY: one number for each dimension, by the function's contract.
        let (selection, memory) = unsafe { box_in_memory(&array, start, shape, r#type, (data, size)) }?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { array.read(&selection, &memory) }
    })
}

/// Writes a region (a hyperslab): the box of `shape` elements that begins at `start`, one number for
/// each dimension. The elements come from `data` as `type`: contiguous, the last index fastest. A box
/// that leaves the array is `OZARR_ERR_BOUNDS`.
///
/// Threads and processes may write to one array at the same time, even to parts of the same chunk. A chunk
/// that the box covers whole is written without being read, and without a lock between processes: in a
/// folder it may be lost to another process that, in the same instant, stores a part of it that it has
/// changed. Keep such calls apart.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the box has;
/// `OZARR_ERR_RANGE` for a value that does not fit into the array's type; `OZARR_ERR_ARGUMENT` and
/// `OZARR_ERR_TYPE` for a `type` that does not fit; those of chunks and stores.
///
/// @param[in] start,shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_region(
    array: *const ozarr_array,
    start: *const i64,
    shape: *const i64,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_write_region", to_write(array), {
        // SAFETY: one number for each dimension, by the function's contract.
        let (selection, memory) = unsafe { box_in_memory(&array, start, shape, r#type, (data.cast_mut(), size)) }?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { array.write(&selection, &memory) }
    })
}

/// Stores what waits to be written, flushes the store and frees the handle, which is gone whatever the
/// status says. A checkpoint is complete when this returns `OZARR_OK`.
///
/// Errors: those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_close(array: *mut ozarr_array) -> ozarr_status {
    entry!("ozarr_array_close", { ozarr_array::close(array, "array")?.close() })
}

/// Frees the handle; NULL is allowed. Calls in progress in other threads complete normally. Writes that
/// wait (the setting `"write_back"` of `ozarr_node_set`) are stored after the last such call, and those of
/// an open dataset's variable when that is closed, but errors are not reported: use `ozarr_array_close` to
/// see them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_free(array: *mut ozarr_array) {
    entry!("ozarr_array_free", else (), { ozarr_array::free(array, "array") })
}

/// Gets the number of dimensions, 0 to 64.
///
/// Errors: none of its own.
///
/// @param[out] rank
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_rank(array: *const ozarr_array, rank: *mut i32) -> ozarr_status {
    entry!("ozarr_array_rank", put(rank), handles(array), { Ok(array.rank() as i32) })
}

/// Gets the lengths of the dimensions: `shape` has a capacity of one number for each dimension.
///
/// Errors: none of its own.
///
/// @param[out] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_shape(array: *const ozarr_array, shape: *mut i64) -> ozarr_status {
    entry!("ozarr_array_shape", handles(array), {
        // SAFETY: room for every dimension, by the function's contract.
        unsafe { put_numbers(&array.shape(), shape, "shape") }
    })
}

/// Gets the shape of a chunk, the piece that is stored as one object (of a shard, if the array has
/// shards). If chunks have uneven extents (a rectilinear grid) `shape` is the largest extent along each
/// dimension; `ozarr_array_chunk_extent` gives those of each chunk.
///
/// Errors: none of its own.
///
/// @param[out] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_shape(array: *const ozarr_array, shape: *mut i64) -> ozarr_status {
    entry!("ozarr_array_chunk_shape", handles(array), {
        // SAFETY: room for every dimension, by the function's contract.
        unsafe { put_numbers(&array.chunk_shape(), shape, "shape") }
    })
}

/// Gets the shape of the smallest piece that can be read on its own: of the inner chunks of a shard, or,
/// without shards, of a chunk.
///
/// Errors: none of its own.
///
/// @param[out] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_inner_chunk_shape(array: *const ozarr_array, shape: *mut i64) -> ozarr_status {
    entry!("ozarr_array_inner_chunk_shape", handles(array), {
        // SAFETY: room for every dimension, by the function's contract.
        unsafe { put_numbers(&array.inner_chunk_shape(), shape, "shape") }
    })
}

/// Gets the type of the elements. `OZARR_BY_DTYPE` means text, times or structs, which
/// `ozarr_array_copy_dtype` describes; reads and writes with `OZARR_BY_DTYPE` move such elements without
/// conversion, in this machine's byte order. Times (counts of 64 bits) also convert to and from
/// `OZARR_INT64`.
///
/// Errors: none of its own.
///
/// @param[out] type
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_type(array: *const ozarr_array, r#type: *mut ozarr_type) -> ozarr_status {
    entry!("ozarr_array_type", handles(array), {
        // SAFETY: `type` points to room for it.
        unsafe { put(type_code(array.data_type()), r#type, "type") }
    })
}

/// Gets the size of one element in bytes; 0 for elements of variable length.
///
/// Errors: none of its own.
///
/// @param[out] bytes
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_item_size(array: *const ozarr_array, bytes: *mut usize) -> ozarr_status {
    entry!("ozarr_array_item_size", put(bytes), handles(array), {
        Ok(if array.data_type().is_variable() { 0 } else { array.data_type().size() })
    })
}

/// Gets the name of dimension `dim`, from 0. A dimension without a name gives an empty string and
/// `*named` false (`named` may be NULL).
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no dimension `dim`; those of documents and stores, where the
/// attributes say the names (format 2) and cannot be read.
///
/// @param[out] named may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_dimension_name(
    array: *const ozarr_array,
    dim: i32,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    named: *mut bool,
) -> ozarr_status {
    entry!("ozarr_array_dimension_name", handles(array), {
        let dim = dimension(array.rank(), dim)?;
        let name = array.dimension_names()?.into_iter().nth(dim).flatten();
        // SAFETY: room as is said, by the function's contract.
        unsafe {
            put_text(name.as_deref().unwrap_or(""), buf, cap, len)?;
            put_optional(name.is_some(), named);
        }
        Ok(())
    })
}

/// Changes the names of the dimensions: `names` has one string for each dimension, or NULL for one
/// without a name. Format 2 has names for all dimensions or for none. `names` NULL removes all names.
///
/// Errors: `OZARR_ERR_READ_ONLY`; those of documents and stores.
///
/// @param[in] names array(rank), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_set_dimension_names(array: *mut ozarr_array, names: *const *const c_char) -> ozarr_status {
    entry!("ozarr_array_set_dimension_names", handles(array), {
        // SAFETY: NULL, or a text or NULL for each dimension, by the function's contract.
        let names = unsafe { optional_texts(names, array.rank(), "names") }?;
        array.set_dimension_names(&names.unwrap_or_else(|| vec![None; array.rank()]))
    })
}

/// Gets the fill value, the value of elements that were never written: one element of the array's type
/// to `value`, which has `size` bytes. An array of format 2 may leave it undefined: `*defined` becomes
/// false (`defined` may be NULL) and the value is 0.
///
/// Errors: `OZARR_ERR_TYPE` for elements of variable length; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than
/// an element has.
///
/// @param[out] defined may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_fill_value(
    array: *const ozarr_array,
    value: *mut c_void,
    size: usize,
    defined: *mut bool,
) -> ozarr_status {
    entry!("ozarr_array_fill_value", handles(array), {
        not_null(value, "value")?;
        if array.data_type().is_variable() {
            bail!(Type, "the elements are {}, of variable length; use ozarr_array_fill_text", array.data_type().name());
        }
        let item = array.data_type().size();
        if size < item {
            bail!(BufferSize, "`value` has {size} bytes, expected {item}, one element of type {}", array.data_type().name());
        }
        let fill = array.fill();
        let element = fill.try_element(array.data_type())?;
        // SAFETY: `value` has at least `item` bytes, the element's own size.
        unsafe {
            std::ptr::copy_nonoverlapping(element.as_ptr(), value.cast(), item);
            put_optional(fill.defined, defined);
        }
        Ok(())
    })
}

/// `ozarr_array_resize`: keeps chunks outside of the new shape, and values beyond its edge: this is
/// quicker, and they come back if the array grows again.
pub const OZARR_RESIZE_KEEP: u32 = 1;

/// Changes the array's shape to `shape`; the rank stays. With `flags` 0 elements beyond the new shape are
/// erased: if the array grows again, they have the fill value. With `OZARR_RESIZE_KEEP` they are kept,
/// until a write of all elements that the array has of a chunk replaces the chunk with those outside. A
/// rectilinear grid keeps its chunks; elements beyond the last one get one more chunk. What a killed program
/// appended (by an appender, a series or `ozarr_array_append`) and did not publish is outside of the shape,
/// and shows in the new part until that is written, as those functions do when they go on.
///
/// Object stores have no locks, and erase without a condition. A call that makes an array shorter there ends
/// erasing within 0.2 s once another process has made the array longer again, which waits for 0.4 s where it
/// finds that call under way. What is stored in the new part before that may be erased, and what two calls
/// cut off at the same time may come back: best let the array alone until the call has returned.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_ARGUMENT` for a negative length or another flag; those of
/// documents, chunks and stores.
///
/// @param[in] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_resize(array: *mut ozarr_array, shape: *const i64, flags: u32) -> ozarr_status {
    entry!("ozarr_array_resize", handles(array), {
        if flags & !OZARR_RESIZE_KEEP != 0 {
            bail!(Argument, "the argument `flags` is {flags}, expected 0 or OZARR_RESIZE_KEEP");
        }
        // SAFETY: one number for each dimension, by the function's contract.
        array.resize(&unsafe { lengths(shape, array.rank(), "shape", 0) }?, flags & OZARR_RESIZE_KEEP != 0)
    })
}

/// Extends dimension `dim` (from 0) by `count` elements and writes the new slab from `data`: contiguous,
/// the last index fastest, with the array's shape except that dimension `dim` has `count` elements. For
/// many steps an appender (`ozarr_appender_open`) is cheaper.
///
/// On object stores the array is made longer first, so that no other process takes the place. Where that
/// cannot be taken back after an error, it stays longer, with the fill value where nothing was written:
/// look at the shape (`ozarr_node_refresh`) before the slab is given again.
///
/// The next flush makes the slab durable: a power cut before it may leave the new length with a slab of
/// fill values, or of chunks without bytes (`OZARR_ERR_TRUNCATED`). A series publishes steps that are
/// durable.
///
/// In any store a slab stays, and is not to be given again, where it was stored and consolidated metadata
/// above the array could not be told of it, as on a full disk: the message says "what was given is
/// appended", and the next flush or close of the store tells them.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` if another process appends at this moment;
/// `OZARR_ERR_BOUNDS` if there is no dimension `dim`; `OZARR_ERR_ARGUMENT` for a negative `count`;
/// `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the slab has; `OZARR_ERR_RANGE`, `OZARR_ERR_TYPE` as for
/// writing a region; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_append(
    array: *mut ozarr_array,
    dim: i32,
    count: i64,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_append", handles(array), {
        let dim = dimension(array.rank(), dim)?;
        let Ok(count) = u64::try_from(count) else { bail!(Argument, "the argument `count` is {count}, expected at least 0") };
        let mut slab = array.shape();
        slab[dim] = count;
        let memory = contiguous(&array, &slab, r#type, data.cast_mut(), size)?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { array.append(dim, count, &memory) }
    })
}

/// A specification of type, shape and perhaps chunks.
///
/// # Safety
/// `shape` and `chunks` are NULL or have `rank` numbers.
pub(super) unsafe fn simple_spec(raw_type: ozarr_type, raw_rank: i32, shape: *const i64, chunks: *const i64) -> Result<Spec> {
    let (data_type, rank) = (data_type(raw_type, None)?, rank(raw_rank)?);
    // SAFETY: the caller's promise.
    let mut spec = Spec::new(data_type, &unsafe { lengths(shape, rank, "shape", 0) }?)?;
    if !chunks.is_null() {
        // SAFETY: the caller's promise.
        spec.set_chunks(&unsafe { lengths(chunks, rank, "chunks", 1) }?)?;
    }
    Ok(spec)
}

/// A box of the array.
///
/// # Safety
/// `start` and `shape` are NULL or have a number for each dimension.
pub(super) unsafe fn box_of(array: &Array, start: *const i64, shape: *const i64) -> Result<Selection> {
    let length: Dims = array.shape();
    // SAFETY: the caller's promise.
    let (start, shape) = unsafe { (numbers(start, length.len(), "start")?, numbers(shape, length.len(), "shape")?) };
    Selection::new(&length, start, shape, None)
}

/// The box of `shape` elements that begins at `start`, and memory of `data.1` bytes at `data.0` that has them in C order.
///
/// # Safety
/// `start` and `shape` are NULL or have one number for each dimension.
pub(super) unsafe fn box_in_memory(
    array: &Array,
    start: *const i64,
    shape: *const i64,
    raw_type: ozarr_type,
    (data, size): (*mut c_void, usize),
) -> Result<(Selection, Memory)> {
    // SAFETY: the caller's promise.
    let selection = unsafe { box_of(array, start, shape) }?;
    let memory = contiguous(array, selection.shape(), raw_type, data, size)?;
    Ok((selection, memory))
}
