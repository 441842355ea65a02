//! Chunks as they are
//!
//! What is stored of an array, as the codecs made it: which chunks there are, their keys, offsets and
//! bytes. An index counts chunks along each dimension: element i is in chunk i / extent. With `inner`
//! true it counts the smaller chunks inside shards, from the array's first one on, not from the shard's;
//! an array without shards has chunks only, and `inner` changes nothing. Chunks that were never written
//! are not stored, nor are those that hold nothing but the fill value.
//!
//! ```c
//! // Copies every stored chunk of `a` to `b`, whose metadata are the same.
//! ozarr_chunk_iter *it = NULL;
//! bool more = false;
//! if (ozarr_array_list_chunks(a, false, &it)) goto fail;
//! while (ozarr_chunk_iter_next(it, &more) == OZARR_OK && more) {
//!     int64_t index[3], offset, size;
//!     size_t used;
//!     if (ozarr_chunk_iter_index(it, index) || ozarr_chunk_iter_place(it, &offset, &size)) goto fail;
//!     void *bytes = malloc((size_t)size);
//!     if (ozarr_array_chunk_read(a, index, false, bytes, (size_t)size, &used)) goto fail;
//!     if (ozarr_array_chunk_write(b, index, false, bytes, used)) goto fail;
//!     free(bytes);
//! }
//! ozarr_chunk_iter_free(it);
//! ```
//!
//! A shard that is larger than memory can be written inner chunk by inner chunk: `ozarr_shard_writer_new`;
//! not into memory and stores of your own, where it is collected in memory first. On its way into a zip
//! archive it is in a file beside that, so that the disk needs room for it twice.

use super::dense::contiguous;
use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{bytes, dimension, lengths, not_null, put, put_numbers, put_optional};
use super::types::{ChunkCursor, Turn, ozarr_array, ozarr_chunk_iter, ozarr_shard_writer, ozarr_type};
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::Dims;
use crate::node::{Array, ChunkPlace};
use std::ffi::{c_char, c_void};

/// Gets the number of chunks along each dimension: `shape` has a capacity of one number for each
/// dimension.
///
/// Errors: none of its own.
///
/// @param[out] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_grid_shape(array: *const ozarr_array, shape: *mut i64) -> ozarr_status {
    entry!("ozarr_array_grid_shape", handles(array), {
        // SAFETY: room for every dimension, by the function's contract.
        unsafe { put_numbers(&array.grid_shape(), shape, "shape") }
    })
}

/// Gets the range of elements that chunk `index` covers along dimension `dim` (both from 0): `*start`
/// becomes the first element, `*extent` (`extent` may be NULL) the number of elements, some of which may
/// be beyond the array's end. An `index` that is not below the number of chunks
/// (`ozarr_array_grid_shape`) is `OZARR_ERR_BOUNDS`.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no dimension `dim`, too.
///
/// @param[out] start
/// @param[out] extent may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_extent(
    array: *const ozarr_array,
    dim: i32,
    index: i64,
    start: *mut i64,
    extent: *mut i64,
) -> ozarr_status {
    entry!("ozarr_array_chunk_extent", handles(array), {
        let dim = dimension(array.rank(), dim)?;
        let Ok(index) = u64::try_from(index) else { bail!(Bounds, "the argument `index` is {index}, expected at least 0") };
        let found = array.chunk_extent(dim, index)?;
        // SAFETY: `start` points to room for a number, `extent` too unless it is NULL.
        unsafe {
            put(found.0 as i64, start, "start")?;
            put_optional(found.1 as i64, extent);
        }
        Ok(())
    })
}

/// Counts the chunks (or inner chunks) that are stored. This lists the store's keys, and reads the index
/// of every shard if `inner` is true.
///
/// Errors: those of chunks and stores.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_count(array: *const ozarr_array, inner: bool, count: *mut i64) -> ozarr_status {
    entry!("ozarr_array_chunk_count", put(count), handles(array), { Ok(array.chunk_count(inner)? as i64) })
}

/// Gets the key in the store under which a chunk (not an inner one) is stored, or would be.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such chunk; `OZARR_ERR_CALLBACK`, or its own status, where the
/// function of a registered key encoding fails; those of documents.
///
/// @param[in] index array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_key(
    array: *const ozarr_array,
    index: *const i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_chunk_key", text(buf, cap, len), handles(array), {
        // SAFETY: one number for each dimension, by the function's contract.
        array.chunk_key(&unsafe { index_of(&array, index) }?)
    })
}

/// Gets whether a chunk is stored (`*stored`), the number of its encoded bytes (`*size`), and the offset
/// of the first one in the stored object (`*offset`): of an inner chunk in its shard, else 0. Both are 0
/// if nothing is stored.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and stores.
///
/// @param[in] index array(rank)
/// @param[out] stored,offset,size
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_place(
    array: *const ozarr_array,
    index: *const i64,
    inner: bool,
    stored: *mut bool,
    offset: *mut i64,
    size: *mut i64,
) -> ozarr_status {
    entry!("ozarr_array_chunk_place", handles(array), {
        not_null(stored, "stored")?;
        not_null(offset, "offset")?;
        not_null(size, "size")?;
        // SAFETY: one number for each dimension, by the function's contract.
        let place = array.chunk_place(&unsafe { index_of(&array, index) }?, inner)?;
        let ChunkPlace { offset: first, size: bytes } = place.unwrap_or(ChunkPlace { offset: 0, size: 0 });
        // SAFETY: each points to room for it.
        unsafe {
            put(place.is_some(), stored, "stored")?;
            put(first as i64, offset, "offset")?;
            put(bytes as i64, size, "size")
        }
    })
}

/// Reads the encoded bytes of a chunk, as they are, to `buf`, which has a capacity of `cap` bytes. `*len`
/// (`len` may be NULL) becomes the number of bytes, also if it exceeds `cap` (`OZARR_ERR_BUFFER_SIZE`);
/// `buf` NULL with `cap` 0 only asks for it. `OZARR_ERR_MISSING` if the chunk is not stored.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and stores.
///
/// @param[in] index array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_read(
    array: *const ozarr_array,
    index: *const i64,
    inner: bool,
    buf: *mut c_void,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_chunk_read", handles(array), {
        if cap > 0 {
            not_null(buf, "buf")?;
        }
        // SAFETY: one number for each dimension, by the function's contract.
        let index = unsafe { index_of(&array, index) }?;
        // No memory has more bytes than that.
        let most = cap.min(isize::MAX as usize);
        // SAFETY: `buf` has room for `cap` bytes, by the function's contract.
        let room = if cap == 0 { &mut [][..] } else { unsafe { std::slice::from_raw_parts_mut(buf.cast::<u8>(), most) } };
        let mut found = u64::MAX;
        let done = array.chunk_read(&index, inner, room, &mut found);
        if found != u64::MAX {
            // SAFETY: `len` points to room for it, or is NULL.
            unsafe { put_optional(found as usize, len) };
        }
        match done {
            Err(e) if buf.is_null() && e.kind() == ErrorKind::BufferSize => Ok(()),
            done => done,
        }
    })
}

/// Stores the `size` bytes at `data` as the encoded bytes of a chunk, without checking that the codecs
/// can decode them. The other inner chunks of a shard stay as they are stored.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and
/// stores.
///
/// @param[in] index array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_write(
    array: *const ozarr_array,
    index: *const i64,
    inner: bool,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_chunk_write", handles(array), {
        // SAFETY: `data` has `size` bytes, by the function's contract.
        let bytes = unsafe { bytes(data, size, "data") }?;
        // SAFETY: one number for each dimension, by the function's contract.
        array.chunk_write(&unsafe { index_of(&array, index) }?, inner, bytes)
    })
}

/// Erases a stored chunk, whose elements then have the fill value. `*stored` becomes whether it was
/// stored. By a handle with a claim (`"claim"` of `ozarr_node_set`) the chunk stays, with the fill value in
/// it: `*stored` is true each time then.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and
/// stores.
///
/// @param[in] index array(rank)
/// @param[out] stored
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_chunk_erase(
    array: *const ozarr_array,
    index: *const i64,
    inner: bool,
    stored: *mut bool,
) -> ozarr_status {
    entry!("ozarr_array_chunk_erase", put(stored), handles(array), {
        // SAFETY: one number for each dimension, by the function's contract.
        array.chunk_erase(&unsafe { index_of(&array, index) }?, inner)
    })
}

/// Lists the stored chunks as they are now, in the order of their indices (inner chunks shard by shard),
/// under a cursor that begins before the first. The index of a shard is read when the cursor reaches it.
///
/// Errors: those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_list_chunks(array: *const ozarr_array, inner: bool, out: *mut *mut ozarr_chunk_iter) -> ozarr_status {
    entry!("ozarr_array_list_chunks", new(out), handles(array), {
        let chunks = array.chunks(inner)?;
        Ok(Turn::new(ChunkCursor { chunks, at: None }))
    })
}

/// Moves to the next chunk; `*more` becomes false at the end, and stays so.
///
/// Errors: those of chunks and stores.
///
/// @param[out] more
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_chunk_iter_next(chunk_iter: *mut ozarr_chunk_iter, more: *mut bool) -> ozarr_status {
    entry!("ozarr_chunk_iter_next", put(more), handles(chunk_iter), {
        chunk_iter.with(|cursor| {
            cursor.at = None;
            cursor.at = cursor.chunks.step()?;
            Ok(cursor.at.is_some())
        })
    })
}

/// Gets the index of the chunk: `index` has a capacity of one number for each dimension of the array.
///
/// Errors: `OZARR_ERR_STATE` before the first chunk and after the last.
///
/// @param[out] index array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_chunk_iter_index(chunk_iter: *const ozarr_chunk_iter, index: *mut i64) -> ozarr_status {
    entry!("ozarr_chunk_iter_index", {
        let (at, _) = chunk_of(chunk_iter)?;
        // SAFETY: room for every dimension, by the function's contract.
        unsafe { put_numbers(&at, index, "index") }
    })
}

/// Gets the number of the chunk's encoded bytes (`*size`), and the offset of the first one in the stored
/// object (`*offset`).
///
/// Errors: `OZARR_ERR_STATE` before the first chunk and after the last.
///
/// @param[out] offset,size
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_chunk_iter_place(chunk_iter: *const ozarr_chunk_iter, offset: *mut i64, size: *mut i64) -> ozarr_status {
    entry!("ozarr_chunk_iter_place", {
        let (_, place) = chunk_of(chunk_iter)?;
        not_null(offset, "offset")?;
        not_null(size, "size")?;
        // SAFETY: each points to room for it.
        unsafe {
            put(place.offset as i64, offset, "offset")?;
            put(place.size as i64, size, "size")
        }
    })
}

/// Frees the cursor; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_chunk_iter_free(chunk_iter: *mut ozarr_chunk_iter) {
    entry!("ozarr_chunk_iter_free", else (), { ozarr_chunk_iter::free(chunk_iter, "chunk_iter") })
}

/// Begins to write the shard `index` (an index of chunks, not of inner ones): inner chunks are put one
/// by one, in any order, and go to a temporary file. Readers see nothing of it before
/// `ozarr_shard_writer_finish`, which replaces the whole shard at once.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no such shard; `OZARR_ERR_STATE` for an
/// array without shards; those of chunks and stores.
///
/// @param[in] index array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_shard_writer_new(
    array: *const ozarr_array,
    index: *const i64,
    out: *mut *mut ozarr_shard_writer,
) -> ozarr_status {
    entry!("ozarr_shard_writer_new", new(out), handles(array), {
        // SAFETY: one number for each dimension, by the function's contract.
        let writer = array.shard_writer(&unsafe { index_of(&array, index) }?)?;
        Ok(Turn::new(writer))
    })
}

/// Encodes an inner chunk of the shard; `index` counts all inner chunks of the array. `data` has those
/// elements of it that are inside of the array, contiguous, the last index fastest. With `encoded` it has
/// the bytes of the chunk as they are stored (as of `ozarr_array_chunk_read`), and `type` is ignored: what
/// other threads or processes encoded is only stored. Putting one twice is `OZARR_ERR_STATE`; elements of
/// inner chunks that are not put have the fill value.
///
/// Errors: `OZARR_ERR_BOUNDS` for an inner chunk of another shard; `OZARR_ERR_BUFFER_SIZE`,
/// `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT` as for writing a region; those of chunks and
/// stores.
///
/// @param[in] index array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_shard_writer_put(
    shard_writer: *mut ozarr_shard_writer,
    index: *const i64,
    encoded: bool,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_shard_writer_put", handles(shard_writer), {
        shard_writer.with(|writer| {
            // SAFETY: one number for each dimension, by the function's contract.
            let index = unsafe { index_of(writer.array(), index) }?;
            if encoded {
                // SAFETY: `data` has `size` bytes, by the function's contract.
                return writer.put_encoded(&index, unsafe { bytes(data, size, "data") }?);
            }
            let memory = contiguous(writer.array(), &writer.inside(&index)?, r#type, data.cast_mut(), size)?;
            // SAFETY: `data` has `size` bytes, by the function's contract.
            unsafe { writer.put(&index, &memory) }
        })
    })
}

/// Writes the shard's index and replaces the stored shard. After this the writer can only be freed.
///
/// Errors: `OZARR_ERR_STATE` after another `ozarr_shard_writer_finish`; those of chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_shard_writer_finish(shard_writer: *mut ozarr_shard_writer) -> ozarr_status {
    entry!("ozarr_shard_writer_finish", handles(shard_writer), { shard_writer.with(|writer| writer.finish()) })
}

/// Frees the writer; what is not finished is discarded, and the shard stays as it was. NULL is
/// allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_shard_writer_free(shard_writer: *mut ozarr_shard_writer) {
    entry!("ozarr_shard_writer_free", else (), { ozarr_shard_writer::free(shard_writer, "shard_writer") })
}

/// # Safety
/// `index` is NULL or has a number for each dimension of the array.
unsafe fn index_of(array: &Array, index: *const i64) -> Result<Dims> {
    // SAFETY: the caller's promise.
    match unsafe { lengths(index, array.rank(), "index", 0) } {
        Err(e) if e.kind() == crate::error::ErrorKind::Argument => bail!(Bounds, "{}", e.message()),
        other => other,
    }
}

fn chunk_of(chunk_iter: *const ozarr_chunk_iter) -> Result<(Dims, ChunkPlace)> {
    let at = ozarr_chunk_iter::get(chunk_iter, "chunk_iter")?.with(|cursor| Ok(cursor.at.clone()))?;
    at.ok_or_else(|| err!(State, "the cursor is on no chunk; call ozarr_chunk_iter_next until `more` is false"))
}
