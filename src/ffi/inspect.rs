//! What a call will do, and what was done
//!
//! ```c
//! ozarr_explanation plan = OZARR_EXPLANATION_INIT;
//! if (ozarr_array_explain(t, &region, NULL, true, &plan)) goto fail;
//! if (plan.changed_chunks > 0) puts("not at the borders of chunks: they will be read first");
//!
//! ozarr_stats stats = OZARR_STATS_INIT;
//! if (ozarr_array_stats(t, &stats)) goto fail;
//! printf("%lld reads brought %lld bytes\n", (long long)stats.reads, (long long)stats.bytes_read);
//! ```
//!
//! Counting costs a few additions for a chunk and cannot be switched off. Times are measured only where the
//! setting `"measure_time"` of the array or the context is on, by two looks at the clock for each codec
//! and chunk.

use super::entry;
use super::handle::Handle;
use super::region::{memory_of, ozarr_memory, ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::number;
use super::structs::{Growing, counts, growing};
use super::types::{ozarr_array, ozarr_context, ozarr_store};
use crate::engine::Memory;
use crate::error::Result;
use crate::node::{Array, Counters, Explanation};

/// The plan of a read or write. Set it to `OZARR_EXPLANATION_INIT` first. Numbers that are not known are
/// -1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_explanation {
    /// `sizeof(ozarr_explanation)`; set by `OZARR_EXPLANATION_INIT`.
    pub struct_size: usize,
    /// The bytes of the region's elements in memory.
    pub bytes: i64,
    /// Chunks (stored objects, shards among them) that the region touches.
    pub chunks: i64,
    /// Chunks that the region covers completely (ignoring parts beyond the array's edge).
    pub whole_chunks: i64,
    /// Chunks that the region covers in part.
    pub partial_chunks: i64,
    /// Of a write: chunks that are read, changed and written again.
    pub changed_chunks: i64,
    /// Chunks inside of shards that the region touches; 0 without shards.
    pub inner_chunks: i64,
    /// Chunks inside of shards that the region covers in part.
    pub partial_inner_chunks: i64,
    /// Reads of the store, if every chunk is stored and no index of a shard is known yet; of inner chunks
    /// the most, as near ones are read together.
    pub reads: i64,
    /// Reads of whole objects; the other reads are of byte ranges.
    pub whole_reads: i64,
    /// Bytes of all reads; -1 where chunks are compressed, as their sizes are not looked up.
    pub read_bytes: i64,
    /// Of a write: values to be stored, if none holds only the fill value.
    pub writes: i64,
    /// The bytes of all chunks (in shards: inner chunks) that are decoded or encoded.
    pub decoded_bytes: i64,
    /// Chunks that are moved directly to or from the memory, without a copy or conversion.
    pub direct_chunks: i64,
    /// Threads that may work on it.
    pub threads: i64,
    /// Bytes of buffers that each of them needs, about, with chunks compressed to a half.
    pub thread_bytes: i64,
    /// Objects of the store that the whole array is, if all its chunks are stored.
    pub objects: i64,
    /// How many it would be in shards of several chunks along its longest dimension, as along time; 0 where
    /// shards are no gain or are there. `ozarr_spec_suggest` chooses such shards for an array that grows.
    pub fewer_objects: i64,
}
growing!(ozarr_explanation: 144);

/// Counters of what was done. Set it to `OZARR_STATS_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_stats {
    /// `sizeof(ozarr_stats)`; set by `OZARR_STATS_INIT`.
    pub struct_size: usize,
    /// Reads of chunks, or ranges of them, that the store was asked for.
    pub reads: i64,
    /// Bytes of these reads.
    pub bytes_read: i64,
    /// Chunks that were stored.
    pub writes: i64,
    /// Their bytes.
    pub bytes_written: i64,
    /// Chunks that were erased, stored before or not, because they hold only the fill value.
    pub erased: i64,
    /// Chunks (in shards: inner chunks) that were decoded.
    pub decoded_chunks: i64,
    /// The bytes of their elements.
    pub decoded_bytes: i64,
    /// Chunks (in shards: inner chunks) that were encoded.
    pub encoded_chunks: i64,
    /// The bytes of their elements.
    pub encoded_bytes: i64,
    /// Missing chunks that were read as the fill value.
    pub fill_chunks: i64,
    /// Bytes that were copied between buffers of the library and memory.
    pub copied_bytes: i64,
    /// Uses of a shard's index that was cached.
    pub index_hits: i64,
    /// Uses of a shard's index that had to be read.
    pub index_reads: i64,
    /// Parts of chunks that came from the decoded chunks that the setting `"chunk_cache"` keeps.
    pub chunk_hits: i64,
    /// Requests that an object store made again after a failure, since it was opened; of a context 0.
    pub retries: i64,
    /// Nanoseconds that decoding took, summed over all threads; 0 unless `"measure_time"` is on.
    pub decode_ns: i64,
    /// Nanoseconds that encoding took, summed over all threads; 0 unless `"measure_time"` is on.
    pub encode_ns: i64,
}
growing!(ozarr_stats: 144);

/// Fills `explanation` with what reading (`write` false) or writing a region (NULL: the whole array)
/// will do, without doing it: nothing is read for it, neither chunks nor indexes. `memory` is what would
/// be given to `ozarr_array_read_ex`, of which `data` and `size` do not count; NULL: contiguous, of the
/// array's own type. It takes time in proportion to the number of chunks.
///
/// Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_TYPE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
/// `ozarr_array_read_ex`; `OZARR_ERR_BUFFER_SIZE` for strides that no memory has; `OZARR_ERR_LIMIT`;
/// `OZARR_ERR_STATE` for writing to an array that this program has erased or replaced since.
///
/// @param[in] region,memory may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_explain(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
    write: bool,
    explanation: *mut ozarr_explanation,
) -> ozarr_status {
    entry!("ozarr_array_explain", fill(explanation), handles(array), {
        // SAFETY: structs that begin with their size, by the function's contract.
        let e = unsafe { explained(&array, region, memory, write) }?;
        Ok(counts!(ozarr_explanation {
            e: bytes, chunks, whole_chunks, partial_chunks, changed_chunks, inner_chunks, partial_inner_chunks, reads, whole_reads, writes,
               decoded_bytes, direct_chunks, threads, thread_bytes, objects, fewer_objects;
            ..ozarr_explanation { read_bytes: e.read_bytes.map_or(-1, number), ..Growing::empty() }
        }))
    })
}

/// Fills `stats` with the counters of this handle. The counters only grow: what a part of a program did
/// is the difference of two looks.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_stats(array: *const ozarr_array, stats: *mut ozarr_stats) -> ozarr_status {
    entry!("ozarr_array_stats", fill(stats), handles(array), { Ok(stats_of(array.stats(), array.store().retries())) })
}

/// Fills `stats` with the counters of all arrays that were opened from this store, closed ones included.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_stats(store: *const ozarr_store, stats: *mut ozarr_stats) -> ozarr_status {
    entry!("ozarr_store_stats", fill(stats), handles(store), { Ok(stats_of(store.stats(), store.retries())) })
}

/// Fills `stats` with the counters of all stores that were opened with this context; NULL: of all stores
/// of the process.
///
/// Errors: none of its own.
///
/// @param[in] context may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_stats(context: *const ozarr_context, stats: *mut ozarr_stats) -> ozarr_status {
    entry!("ozarr_context_stats", fill(stats), { Ok(stats_of(&*of_context(context)?, 0)) })
}

/// The counters of a context; NULL: those of the process.
fn of_context(context: *const ozarr_context) -> Result<std::sync::Arc<Counters>> {
    if context.is_null() {
        return Ok(Counters::process());
    }
    Ok(ozarr_context::get(context, "context")?.stats.clone())
}

/// # Safety
/// `region` and `memory` are NULL or point to structs that begin with their size.
unsafe fn explained(array: &Array, region: *const ozarr_region, memory: *const ozarr_memory, write: bool) -> Result<Explanation> {
    if write {
        array.renew_listed()?;
    }
    // SAFETY: the caller's promise.
    let selection = unsafe { selection_of(array, region) }?;
    let memory = if memory.is_null() {
        Memory::dense(std::ptr::null_mut(), 0, selection.shape(), array.data_type())
    } else {
        // SAFETY: the caller's promise.
        unsafe { memory_of(array, selection.shape(), memory) }?
    };
    array.explain(&selection, &Memory { size: isize::MAX as usize, ..memory }, write)
}

/// The counters for C.
fn stats_of(counters: &Counters, retries: u64) -> ozarr_stats {
    let s = counters.snapshot();
    counts!(ozarr_stats {
        s: reads, bytes_read, writes, bytes_written, erased, decoded_chunks, decoded_bytes, encoded_chunks, encoded_bytes, fill_chunks,
           copied_bytes, index_hits, index_reads, chunk_hits, decode_ns, encode_ns;
        ..ozarr_stats { retries: number(retries), ..Growing::empty() }
    })
}
