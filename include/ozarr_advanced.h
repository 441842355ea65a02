/*
 * ozarr_advanced.h: what few simulations need: the steps of one array, searching hierarchies, lists of
 * elements, batches, plans and counts, elements of variable length, raw chunks, copies, verifying, keys of
 * stores. As stable as ozarr.h.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

/* Generated from the sources by cbindgen: a change here is lost. */

#ifndef OZARR_ADVANCED_H
#define OZARR_ADVANCED_H

#include "ozarr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ========================================================================================================
 * The steps of one array
 * ========================================================================================================
 *
 * An appender makes an array longer along one dimension, step by step. Steps wait in memory until their
 * chunks are whole, so that each chunk is encoded once, however deep it is; the array's shape is
 * published after the data, so that readers see whole steps only, also in other processes and after a
 * kill; a restart continues after the last published step. A reader waits for more with
 * `ozarr_array_wait_growth`. See docs/timesteps.md. Calls on one appender take turns; from inside of a
 * function that one of them calls (the log's) another one is `OZARR_ERR_STATE`.
 *
 *     ozarr_appender *out;
 *     if (ozarr_appender_open(temperature, 0, 0, 0, &out)) goto fail;
 *     for (int step = 0; step < steps; step++) {
 *         compute(t);
 *         if (ozarr_appender_append(out, 1, OZARR_FLOAT64, t, sizeof t)) goto fail;
 *     }
 *     if (ozarr_appender_close(out)) goto fail; */

/**
 * Begins to append behind the last step of dimension `dim` (from 0) of an array that is open for writing.
 *
 * `publish_every`: readers see the new length when it passes a multiple of `publish_every` steps. 0:
 * whenever chunks are whole along the dimension, which costs nothing but the document (and what the
 * store's `"file.sync"` asks for). If the number is not a multiple of the chunk depth, partly filled
 * chunks are stored and later read and encoded again; with 1 and depth D, each chunk is encoded D
 * times.
 *
 * `memory`: the most bytes that waiting steps may take; 0: no limit. One chunk along the dimension,
 * across the whole array, must fit: less is `OZARR_ERR_LIMIT`, whose message has both numbers.
 *
 * One appender at a time may be at work on an array: publishing finds a length that another one has
 * changed (`OZARR_ERR_STATE`). Not for elements of variable length (`OZARR_ERR_TYPE`), nor for dimensions
 * with listed extents of chunks (`OZARR_ERR_UNSUPPORTED`): these have `ozarr_array_append`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no dimension `dim`; `OZARR_ERR_ARGUMENT`
 * for a negative `publish_every`; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_appender_open(ozarr_array *array, int32_t dim, int64_t publish_every,
    size_t memory, ozarr_appender **out);

/**
 * Appends `count` steps from `data`: contiguous, the last index fastest, of the array's shape except
 * that the dimension has `count` elements. They are copied: `data` may be changed when this returns.
 *
 * After an error in copying or storing the steps the position is unchanged, and they can be appended
 * again. After an error in publishing the position includes them; the next call, a flush or the close
 * publishes again.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a negative `count`; `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE` as for writing a region; `OZARR_ERR_STATE` if another one has published; those of
 * documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_appender_append(ozarr_appender *appender, int64_t count, ozarr_type type,
    const void *data, size_t size);

/**
 * Appends `count` steps from any memory: with a halo (ghost cells), of another type, column-major. Else
 * as `ozarr_appender_append`.
 *
 * Errors: `OZARR_ERR_ARGUMENT`, `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_STATE` if
 * another one has published; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_appender_append_ex(ozarr_appender *appender, int64_t count,
    const ozarr_memory *memory);

/**
 * Gets the length of the dimension with all appended steps (`*position`), and the length that readers
 * see (`*published`); either may be NULL.
 *
 * Errors: none of its own.
 *
 * @param[out] position,published may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_appender_position(const ozarr_appender *appender, int64_t *position,
    int64_t *published);

/**
 * Stores and publishes all appended steps, and makes them durable as far as the store's `"file.sync"`
 * promises it. Steps that could not be stored stay in memory; each further flush tries again and
 * returns the error until it succeeds. Flush where a restart must find every step, as at a checkpoint.
 *
 * Errors: `OZARR_ERR_STATE` if another one has published; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_appender_flush(ozarr_appender *appender);

/**
 * Flushes and frees. The handle is gone, whatever the status says; steps that could not be stored are
 * lost. In a child of `fork` nothing is flushed (`OZARR_ERR_FORKED`): the steps are the parent's.
 *
 * Errors: `OZARR_ERR_STATE` if another one has published; those of documents, chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_appender_close(ozarr_appender *appender);

/**
 * Frees the appender; NULL is allowed. Steps that wait are stored and published, but errors are not
 * reported: use `ozarr_appender_close` to see them.
 */
void ozarr_appender_free(ozarr_appender *appender);

/**
 * Waits until dimension `dim` is longer than `beyond`; `*length` (`length` may be NULL) becomes its
 * length, and the shape of this handle is brought up to date. `OZARR_ERR_TIMEOUT` after `seconds`: 0
 * looks once, a negative number sets no limit.
 *
 * The array's metadata document is checked after pauses of 1 ms that grow to 64 ms (in a remote store
 * 0.1 s to 1.6 s). Checking a file is one system call; it is read only if it has changed.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no dimension `dim`; `OZARR_ERR_ARGUMENT` for a negative
 * `beyond` or NaN; `OZARR_ERR_NOT_FOUND` if the array is gone; `OZARR_ERR_STATE` if one with another
 * number of dimensions is in its place; those of documents and stores.
 *
 * @param[out] length may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_wait_growth(ozarr_array *array, int32_t dim, int64_t beyond,
    double seconds, int64_t *length);

/**
 * Publishes the steps before `position` of a series, which other processes have stored in the variables'
 * chunks and made durable: one process has the series, all write. The series itself takes none of them.
 * What this publishes is durable after `ozarr_node_flush` of the dataset's group.
 * Call it with the number of published steps before anything is stored, too: it finds out whether
 * another program has made a variable longer, and where the store has no locks it claims the variables,
 * so that a series that was opened before this is refused, and one that is opened later is found by the next
 * call. Chunks whose puts are under way by then may be stored over its steps, but by handles that have its
 * `"claim"` (`ozarr_node_set`).
 *
 * Errors: `OZARR_ERR_STATE` if another program has published steps, claimed or replaced a variable
 * (nothing is published, and nothing is to be stored), or if the series has steps of its own that wait;
 * `OZARR_ERR_ARGUMENT` for fewer steps than are published, `OZARR_ERR_LIMIT` for more than an array can
 * have; those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_series_declare(ozarr_series *series, int64_t position);

/* ========================================================================================================
 * Hierarchies: moving, copying and erasing nodes, and what is stored
 * ======================================================================================================== */

/**
 * Moves the node at `path`, with everything below it, to `to_path`; both paths are relative to the
 * group. A node at `to_path` is `OZARR_ERR_EXISTS`. In a directory this is one rename; in other stores
 * the node is copied and erased: where that is interrupted, the same call goes on, and the node may be at
 * both paths until then. Where the two differ by then the error is `OZARR_ERR_EXISTS`, and both stay.
 * Consolidated metadata of groups above name neither path for a moment, and after a kill then until
 * the next call that changes them.
 * Close handles on the moved nodes before.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if there is no node at `path`; `OZARR_ERR_ARGUMENT`
 * for a path below itself; `OZARR_ERR_AGAIN` while a series is open in it (see
 * `OZARR_CREATE_OVERWRITE`), and where another process has renamed it meanwhile; `OZARR_ERR_READ_ONLY`;
 * those of documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_rename(ozarr_group *group, const char *path, const char *to_path);

/**
 * Erases the node at `path` below the group, with everything below it.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_AGAIN` while a
 * series is open in it (see `OZARR_CREATE_OVERWRITE`); `OZARR_ERR_READ_ONLY`; those of
 * documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_group_erase(ozarr_group *group, const char *path);

/**
 * Compares the group's consolidated metadata with the documents below it, all of which are read.
 * `*current` becomes whether they agree; the text (`buf` may be NULL with `cap` 0) has a line for each
 * difference. A group without consolidated metadata is not current.
 *
 * Errors: those of documents and stores.
 *
 * @param[out] current
 */
OZARR_CHECKED ozarr_status ozarr_group_consolidated_check(const ozarr_group *group, char *buf, size_t cap,
    size_t *len, bool *current);

/** How much of an array is stored. Set it to `OZARR_INFO_INIT` first. */
typedef struct ozarr_info {
    /** `sizeof(ozarr_info)`; set by `OZARR_INFO_INIT`. */
    size_t struct_size;
    /** The chunks (shards) that are stored. */
    int64_t chunks;
    /** The number of chunks in the array's shape, stored or not. */
    int64_t possible_chunks;
    /** The bytes of those that are stored. */
    int64_t stored_bytes;
    /** The bytes of all elements in memory; -1 where they are of variable length. */
    int64_t element_bytes;
    /** `element_bytes` divided by `stored_bytes`; 0 where it is not known. */
    double ratio;
} ozarr_info;

/** The first value of an `ozarr_info`: {0} with its size. */
#define OZARR_INFO_INIT \
    {sizeof(ozarr_info), 0, 0, 0, 0, 0}

/** Gives `*info` the value OZARR_INFO_INIT. */
static inline void ozarr_info_init(ozarr_info *info) {
    const ozarr_info init = OZARR_INFO_INIT;
    *info = init;
}

/**
 * Fills `info` with how much of the array is stored. This lists the array's keys.
 *
 * Errors: those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_info(const ozarr_array *array, ozarr_info *info);

/* ========================================================================================================
 * Lists of elements
 * ========================================================================================================
 *
 * Besides boxes an array can be read and written by lists: an index list for each dimension (orthogonal),
 * points, or a mask. Each chunk (of a shard: each inner chunk) that a list touches is read and decoded
 * once, whatever the order of the list, and where elements are picked far apart in an uncompressed chunk
 * only they are read. Types are converted as for regions.
 *
 *     // Rows 7, 3 and 3 again, all columns.
 *     const int64_t rows[] = {7, 3, 3}, counts[] = {3, 0}, *lists[] = {rows, NULL};
 *     ozarr_memory memory = OZARR_MEMORY_INIT;
 *     memory.data = data, memory.size = sizeof data, memory.type = OZARR_FLOAT64;
 *     if (ozarr_array_read_orthogonal(t, counts, lists, &memory)) goto fail;
 *
 *     // The elements [5][0] and [2][9].
 *     const int64_t points[] = {5, 0, 2, 9};
 *     memory.data = pair, memory.size = sizeof pair;
 *     if (ozarr_array_read_points(t, points, 2, &memory)) goto fail;
 *
 * A list may have an index several times: a read returns the element each time; a write stores the last
 * of its values, as in numpy. An index outside of the array, or a negative one, is `OZARR_ERR_BOUNDS`,
 * the message names its position, and nothing is read or written. */

/**
 * Reads the product of index lists: element `[i][j]` of the memory is the array's element
 * `(indices[0][i], indices[1][j])`. Dimension d has `counts[d]` indices in `indices[d]`, in any order;
 * where `indices[d]` is NULL all of the dimension is read, and `counts[d]` does not count. The memory is
 * a block of the lists' lengths.
 *
 * Errors: `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; those
 * of chunks and stores.
 *
 * @param[in] counts,indices array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_read_orthogonal(const ozarr_array *array, const int64_t *counts,
    const int64_t *const *indices, const ozarr_memory *memory);

/**
 * Writes the product of index lists, from memory as for `ozarr_array_read_orthogonal`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`,
 * `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
 * `ozarr_array_write_ex`; those of chunks and stores.
 *
 * @param[in] counts,indices array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_orthogonal(const ozarr_array *array, const int64_t *counts,
    const int64_t *const *indices, const ozarr_memory *memory);

/**
 * Reads the `count` elements at `points` to memory of one dimension: `strides` has one number. `points`
 * has the indices of each point one after the other: one for each dimension of the array.
 *
 * Errors: `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; those
 * of chunks and stores.
 *
 * @param[in] points array(count * rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_read_points(const ozarr_array *array, const int64_t *points,
    int64_t count, const ozarr_memory *memory);

/**
 * Writes `count` elements to `points`, from memory as for `ozarr_array_read_points`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`,
 * `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
 * `ozarr_array_write_ex`; those of chunks and stores.
 *
 * @param[in] points array(count * rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_points(const ozarr_array *array, const int64_t *points,
    int64_t count, const ozarr_memory *memory);

/**
 * Reads those elements of a region (NULL: the whole array; without steps) whose byte in `mask` is not 0
 * to memory of one dimension: `strides` has one number. `mask` has a byte for each element of the
 * region, the last index fastest, and the elements come in that order.
 *
 * Errors: `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; those
 * of chunks and stores.
 *
 * @param[in] region may be NULL
 * @param[in] mask array(elements)
 */
OZARR_CHECKED ozarr_status ozarr_array_read_mask(const ozarr_array *array, const ozarr_region *region,
    const uint8_t *mask, const ozarr_memory *memory);

/**
 * Writes to the elements that `ozarr_array_read_mask` would read.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` (see above); `OZARR_ERR_BUFFER_SIZE`,
 * `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
 * `ozarr_array_write_ex`; those of chunks and stores.
 *
 * @param[in] region may be NULL
 * @param[in] mask array(elements)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_mask(const ozarr_array *array, const ozarr_region *region,
    const uint8_t *mask, const ozarr_memory *memory);

/**
 * Writes one value, of `type` at `value`, to all elements of a region (NULL: the whole array), without
 * memory of the region's size; whole chunks are encoded once for all. Whole chunks of nothing but the
 * array's fill value are erased instead of stored, as with every write; see `"write_fill_chunks"`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`; `OZARR_ERR_RANGE` for a value that does not fit
 * into the array's type; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; those
 * of chunks and stores.
 *
 * @param[in] region may be NULL
 * @param[in] value
 */
OZARR_CHECKED ozarr_status ozarr_array_fill(const ozarr_array *array, const ozarr_region *region,
    ozarr_type type, const void *value);

/* ========================================================================================================
 * Batches: many regions of many arrays in one call
 * ========================================================================================================
 *
 * The entries are planned together and are one piece of work for all threads: a chunk that several of them
 * read is read and decoded once, one that several of them write is stored once. The call succeeds if all
 * entries do; an error names the first entry that it found to fail, as `entry 3: ...`, counted from 0.
 * Where entries that are written overlap, the last of them wins. Memory that is read to must not overlap. */

/** One region of a batch. Set it to `OZARR_BATCH_ENTRY_INIT` first. */
typedef struct ozarr_batch_entry {
    /** `sizeof(ozarr_batch_entry)`; set by `OZARR_BATCH_ENTRY_INIT`. All entries of a batch have one size. */
    size_t struct_size;
    /** The array. */
    const struct ozarr_array *array;
    /** Which of its elements; NULL: all. */
    const struct ozarr_region *region;
    /** Their memory. */
    const struct ozarr_memory *memory;
} ozarr_batch_entry;

/** The first value of an `ozarr_batch_entry`: {0} with its size. */
#define OZARR_BATCH_ENTRY_INIT \
    {sizeof(ozarr_batch_entry), NULL, NULL, NULL}

/** Gives `*batch_entry` the value OZARR_BATCH_ENTRY_INIT. */
static inline void ozarr_batch_entry_init(ozarr_batch_entry *batch_entry) {
    const ozarr_batch_entry init = OZARR_BATCH_ENTRY_INIT;
    *batch_entry = init;
}

/**
 * Reads `count` regions, each to its memory.
 *
 * Errors: those of `ozarr_array_read_ex`: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND`; those of chunks and stores.
 *
 * @param[in] entries array(count)
 */
OZARR_CHECKED ozarr_status ozarr_read_many(const ozarr_batch_entry *entries, int64_t count);

/**
 * Writes `count` regions, each from its memory. After an error, the other chunks are stored
 * nevertheless.
 *
 * Errors: those of `ozarr_array_write_ex`: `OZARR_ERR_READ_ONLY`, `OZARR_ERR_BOUNDS`,
 * `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT`,
 * `OZARR_ERR_NOT_FOUND`; those of chunks and stores.
 *
 * @param[in] entries array(count)
 */
OZARR_CHECKED ozarr_status ozarr_write_many(const ozarr_batch_entry *entries, int64_t count);

/**
 * Begins to read `count` regions, as one request. `options` may be NULL; the first array's context bounds
 * it.
 *
 * Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_ARGUMENT`,
 * `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; `OZARR_ERR_AGAIN` and `OZARR_ERR_LIMIT` as for
 * every request.
 *
 * @param[in] entries array(count)
 * @param[in] options may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_iread_many(const ozarr_batch_entry *entries, int64_t count,
    const ozarr_request_options *options, ozarr_request **out);

/**
 * Begins to write `count` regions, as one request. `options` may be NULL; the first array's context bounds
 * it.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` for an array that this program has erased or
 * replaced since; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
 * `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_AGAIN` and
 * `OZARR_ERR_LIMIT` as for every request.
 *
 * @param[in] entries array(count)
 * @param[in] options may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_iwrite_many(const ozarr_batch_entry *entries, int64_t count,
    const ozarr_request_options *options, ozarr_request **out);

/* ========================================================================================================
 * What a call will do, and what was done
 * ========================================================================================================
 *
 *     ozarr_explanation plan = OZARR_EXPLANATION_INIT;
 *     if (ozarr_array_explain(t, &region, NULL, true, &plan)) goto fail;
 *     if (plan.changed_chunks > 0) puts("not at the borders of chunks: they will be read first");
 *
 *     ozarr_stats stats = OZARR_STATS_INIT;
 *     if (ozarr_array_stats(t, &stats)) goto fail;
 *     printf("%lld reads brought %lld bytes\n", (long long)stats.reads, (long long)stats.bytes_read);
 *
 * Counting costs a few additions for a chunk and cannot be switched off. Times are measured only where the
 * setting `"measure_time"` of the array or the context is on, by two looks at the clock for each codec
 * and chunk. */

/**
 * The plan of a read or write. Set it to `OZARR_EXPLANATION_INIT` first. Numbers that are not known are
 * -1.
 */
typedef struct ozarr_explanation {
    /** `sizeof(ozarr_explanation)`; set by `OZARR_EXPLANATION_INIT`. */
    size_t struct_size;
    /** The bytes of the region's elements in memory. */
    int64_t bytes;
    /** Chunks (stored objects, shards among them) that the region touches. */
    int64_t chunks;
    /** Chunks that the region covers completely (ignoring parts beyond the array's edge). */
    int64_t whole_chunks;
    /** Chunks that the region covers in part. */
    int64_t partial_chunks;
    /** Of a write: chunks that are read, changed and written again. */
    int64_t changed_chunks;
    /** Chunks inside of shards that the region touches; 0 without shards. */
    int64_t inner_chunks;
    /** Chunks inside of shards that the region covers in part. */
    int64_t partial_inner_chunks;
    /**
     * Reads of the store, if every chunk is stored and no index of a shard is known yet; of inner chunks
     * the most, as near ones are read together.
     */
    int64_t reads;
    /** Reads of whole objects; the other reads are of byte ranges. */
    int64_t whole_reads;
    /** Bytes of all reads; -1 where chunks are compressed, as their sizes are not looked up. */
    int64_t read_bytes;
    /** Of a write: values to be stored, if none holds only the fill value. */
    int64_t writes;
    /** The bytes of all chunks (in shards: inner chunks) that are decoded or encoded. */
    int64_t decoded_bytes;
    /** Chunks that are moved directly to or from the memory, without a copy or conversion. */
    int64_t direct_chunks;
    /** Threads that may work on it. */
    int64_t threads;
    /** Bytes of buffers that each of them needs, about, with chunks compressed to a half. */
    int64_t thread_bytes;
    /** Objects of the store that the whole array is, if all its chunks are stored. */
    int64_t objects;
    /**
     * How many it would be in shards of several chunks along its longest dimension, as along time; 0 where
     * shards are no gain or are there. `ozarr_spec_suggest` chooses such shards for an array that grows.
     */
    int64_t fewer_objects;
} ozarr_explanation;

/** The first value of an `ozarr_explanation`: {0} with its size. */
#define OZARR_EXPLANATION_INIT \
    {sizeof(ozarr_explanation), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** Gives `*explanation` the value OZARR_EXPLANATION_INIT. */
static inline void ozarr_explanation_init(ozarr_explanation *explanation) {
    const ozarr_explanation init = OZARR_EXPLANATION_INIT;
    *explanation = init;
}

/** Counters of what was done. Set it to `OZARR_STATS_INIT` first. */
typedef struct ozarr_stats {
    /** `sizeof(ozarr_stats)`; set by `OZARR_STATS_INIT`. */
    size_t struct_size;
    /** Reads of chunks, or ranges of them, that the store was asked for. */
    int64_t reads;
    /** Bytes of these reads. */
    int64_t bytes_read;
    /** Chunks that were stored. */
    int64_t writes;
    /** Their bytes. */
    int64_t bytes_written;
    /** Chunks that were erased, stored before or not, because they hold only the fill value. */
    int64_t erased;
    /** Chunks (in shards: inner chunks) that were decoded. */
    int64_t decoded_chunks;
    /** The bytes of their elements. */
    int64_t decoded_bytes;
    /** Chunks (in shards: inner chunks) that were encoded. */
    int64_t encoded_chunks;
    /** The bytes of their elements. */
    int64_t encoded_bytes;
    /** Missing chunks that were read as the fill value. */
    int64_t fill_chunks;
    /** Bytes that were copied between buffers of the library and memory. */
    int64_t copied_bytes;
    /** Uses of a shard's index that was cached. */
    int64_t index_hits;
    /** Uses of a shard's index that had to be read. */
    int64_t index_reads;
    /** Parts of chunks that came from the decoded chunks that the setting `"chunk_cache"` keeps. */
    int64_t chunk_hits;
    /** Requests that an object store made again after a failure, since it was opened; of a context 0. */
    int64_t retries;
    /** Nanoseconds that decoding took, summed over all threads; 0 unless `"measure_time"` is on. */
    int64_t decode_ns;
    /** Nanoseconds that encoding took, summed over all threads; 0 unless `"measure_time"` is on. */
    int64_t encode_ns;
} ozarr_stats;

/** The first value of an `ozarr_stats`: {0} with its size. */
#define OZARR_STATS_INIT \
    {sizeof(ozarr_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** Gives `*stats` the value OZARR_STATS_INIT. */
static inline void ozarr_stats_init(ozarr_stats *stats) {
    const ozarr_stats init = OZARR_STATS_INIT;
    *stats = init;
}

/**
 * Fills `explanation` with what reading (`write` false) or writing a region (NULL: the whole array)
 * will do, without doing it: nothing is read for it, neither chunks nor indexes. `memory` is what would
 * be given to `ozarr_array_read_ex`, of which `data` and `size` do not count; NULL: contiguous, of the
 * array's own type. It takes time in proportion to the number of chunks.
 *
 * Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_TYPE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for
 * `ozarr_array_read_ex`; `OZARR_ERR_BUFFER_SIZE` for strides that no memory has; `OZARR_ERR_LIMIT`;
 * `OZARR_ERR_STATE` for writing to an array that this program has erased or replaced since.
 *
 * @param[in] region,memory may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_explain(const ozarr_array *array, const ozarr_region *region,
    const ozarr_memory *memory, bool write, ozarr_explanation *explanation);

/**
 * Fills `stats` with the counters of this handle. The counters only grow: what a part of a program did
 * is the difference of two looks.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_array_stats(const ozarr_array *array, ozarr_stats *stats);

/**
 * Fills `stats` with the counters of all arrays that were opened from this store, closed ones included.
 *
 * Errors: none of its own.
 */
OZARR_CHECKED ozarr_status ozarr_store_stats(const ozarr_store *store, ozarr_stats *stats);

/**
 * Fills `stats` with the counters of all stores that were opened with this context; NULL: of all stores
 * of the process.
 *
 * Errors: none of its own.
 *
 * @param[in] context may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_context_stats(const ozarr_context *context, ozarr_stats *stats);

/* ========================================================================================================
 * Statistics, digests and differences
 * ========================================================================================================
 *
 * What `ozarr stats`, `ozarr digest` and `ozarr diff` compute, of any region of an array:
 *
 *     ozarr_summary summary = OZARR_SUMMARY_INIT;
 *     if (ozarr_array_summarize(t, NULL, &summary)) goto fail;
 *     if (summary.nan > 0) printf("%lld values are NaN\n", (long long)summary.nan);
 *
 *     ozarr_comparison found = OZARR_COMPARISON_INIT;
 *     if (ozarr_array_compare(t, NULL, reference, NULL, 0.0, 1e-6, &found, NULL)) goto fail;
 *     if (found.differing > 0) printf("the largest difference is %g\n", found.largest_absolute);
 *
 * The region is read in blocks near the borders of chunks, which the threads of the context read and
 * compute. Each thread holds one block: about 8 MiB, or a chunk where that is larger, 256 MiB at most
 * (of a comparison twice that); all threads together hold about 1 GiB at most. Elements of variable
 * length need more, by their lengths. */

/** The statistics of a region. Set it to `OZARR_SUMMARY_INIT` first. */
typedef struct ozarr_summary {
    /** `sizeof(ozarr_summary)`; set by `OZARR_SUMMARY_INIT`. */
    size_t struct_size;
    /** The number of elements. */
    int64_t elements;
    /**
     * Those that mean "missing": equal to what the attributes `_FillValue` and `missing_value` say
     * or, in Zarr 2, to the fill value; times that are "not a time".
     */
    int64_t missing;
    /** Those that are NaN, but for missing ones. */
    int64_t nan;
    /** Those that are infinite, but for missing ones. */
    int64_t infinite;
    /**
     * The values that are left: the members below are of these. If it is 0, `min`, `max`, `mean` and
     * `std` are NaN.
     */
    int64_t count;
    /** The least value; of an integer beyond 2^53 the nearest double (`min_integer` has all digits). */
    double min;
    /** The greatest value, like `min`. */
    double max;
    /** The mean value, of integers the exact one, rounded once. */
    double mean;
    /** The standard deviation from the mean: of these values, not of a sample of more. */
    double std;
    /**
     * The least value of integers, truth values and times, exactly; that of `uint64` is to be cast to
     * `uint64_t`. 0 for floats, and if `count` is 0.
     */
    int64_t min_integer;
    /** The greatest value, like `min_integer`. */
    int64_t max_integer;
} ozarr_summary;

/** The first value of an `ozarr_summary`: {0} with its size. */
#define OZARR_SUMMARY_INIT \
    {sizeof(ozarr_summary), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

/** Gives `*summary` the value OZARR_SUMMARY_INIT. */
static inline void ozarr_summary_init(ozarr_summary *summary) {
    const ozarr_summary init = OZARR_SUMMARY_INIT;
    *summary = init;
}

/** What differs between two regions. Set it to `OZARR_COMPARISON_INIT` first. */
typedef struct ozarr_comparison {
    /** `sizeof(ozarr_comparison)`; set by `OZARR_COMPARISON_INIT`. */
    size_t struct_size;
    /** The number of elements of each region. */
    int64_t elements;
    /** How many of them differ. */
    int64_t differing;
    /**
     * The largest distance of two numbers that differ: infinite where only one is NaN, or one is
     * infinite; 0 where no numbers differ.
     */
    double largest_absolute;
    /** The largest of these distances divided by the larger one of both numbers. */
    double largest_relative;
} ozarr_comparison;

/** The first value of an `ozarr_comparison`: {0} with its size. */
#define OZARR_COMPARISON_INIT \
    {sizeof(ozarr_comparison), 0, 0, 0, 0}

/** Gives `*comparison` the value OZARR_COMPARISON_INIT. */
static inline void ozarr_comparison_init(ozarr_comparison *comparison) {
    const ozarr_comparison init = OZARR_COMPARISON_INIT;
    *comparison = init;
}

/**
 * Fills `summary` with the statistics of a region (NULL: the whole array) of real numbers, truth
 * values (0 and 1) or times (their counts). Values count as they are stored, without scale factors
 * and offsets of attributes. Of a region of many chunks, most of which are not stored, those count by
 * their fill value without being read, where the store can list its keys.
 *
 * Errors: `OZARR_ERR_TYPE` for elements of other types; `OZARR_ERR_BOUNDS`; `OZARR_ERR_ARGUMENT` for
 * a periodic region; `OZARR_ERR_METADATA` for attributes that do not say what is missing; those of
 * chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_summarize(const ozarr_array *array, const ozarr_region *region,
    ozarr_summary *summary);

/**
 * Gets a checksum of a region's elements (NULL: the whole array) of any type to `buf`, which has a
 * capacity of `cap` bytes: 32 hexadecimal digits. `*len` becomes 32; `buf` NULL with `cap` 0 asks for
 * it only, and reads nothing. The digest depends on the type, the region's shape and the elements,
 * and on nothing else: not on chunks, codecs, shards, byte order or the version of Zarr. That of a
 * region is that of an array which holds nothing but its elements. docs/digest.md defines it; it
 * finds damage, not forgery.
 *
 * Errors: `OZARR_ERR_BOUNDS`; `OZARR_ERR_ARGUMENT` for a periodic region; `OZARR_ERR_BUFFER_SIZE`;
 * those of chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_digest(const ozarr_array *array, const ozarr_region *region, char *buf,
    size_t cap, size_t *len);

/**
 * Fills `comparison` with what differs between a region of `a` (`region_a` NULL: all of it) and one
 * of `b`, which have one shape. Numbers of all real types are compared with one another by value, as
 * exactly as integers are, and those of all complex types part by part as doubles; other elements with
 * those of the same type, byte by byte. Numbers, or parts, that differ by no more than `absolute` plus
 * `relative` times the larger one are equal. NaN is equal to NaN, and no tolerance makes it, or an
 * infinity, equal to another value. What is missing is a value like any other.
 *
 * `first` becomes the index of the first element that differs, in the region (from 0), one number for
 * each dimension; it is left alone where none does.
 *
 * Errors: `OZARR_ERR_TYPE` for types that cannot be compared; `OZARR_ERR_BOUNDS` for regions of two
 * shapes, too; `OZARR_ERR_ARGUMENT` for a periodic region, and for a tolerance that is negative or
 * NaN; those of chunks and stores, with the name of the array (`a` or `b`) in the message.
 *
 * @param[in] region_a,region_b may be NULL
 * @param[out] first array(rank), may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_compare(const ozarr_array *a, const ozarr_region *region_a,
    const ozarr_array *b, const ozarr_region *region_b, double absolute, double relative,
    ozarr_comparison *comparison, int64_t *first);

/* ========================================================================================================
 * Text and bytes of variable length
 * ========================================================================================================
 *
 * Elements of `OZARR_STRING`, `OZARR_BYTES`, `OZARR_JSON` and `OZARR_LIST` have lengths of their own.
 * They, and text and bytes of a fixed length (without the NULs at their end), are read into an object of
 * the library, whose layout is that of Apache Arrow's variable-size arrays: element i is
 * `data[offsets[i]]` to `data[offsets[i + 1]]`, in C order of the region. There is no NUL between them.
 *
 *     ozarr_varlen *names = NULL;
 *     int64_t n = 0;
 *     if (ozarr_array_read_varlen(a, NULL, &names)) goto fail;
 *     if (ozarr_varlen_count(names, &n)) goto fail;
 *     for (int64_t i = 0; i < n; i++) {
 *         const char *name = NULL;
 *         size_t len = 0;
 *         if (ozarr_varlen_get(names, i, &name, &len)) goto fail;
 *         printf("%.*s\n", (int)len, name);
 *     }
 *     ozarr_varlen_free(names); */

/**
 * Reads a region (NULL: the whole array) of elements of variable length.
 *
 * Text is UTF-8. JSON values (`OZARR_JSON`) are their text. Lists (`OZARR_LIST`) are their numbers, of the
 * type that `ozarr_array_list_type` says, in this machine's byte order.
 *
 * Errors: `OZARR_ERR_BOUNDS`; `OZARR_ERR_TYPE` for elements that are neither of variable length nor text
 * or bytes; those of chunks and stores.
 *
 * @param[in] region may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_read_varlen(const ozarr_array *array, const ozarr_region *region,
    ozarr_varlen **out);

/**
 * Writes a region (NULL: the whole array) of elements of variable length, in C order of the region:
 * element i is `data[offsets[i]]` to `data[offsets[i + 1]]`. There is one offset more than elements;
 * `size` is that of `data` in bytes.
 *
 * Bytes that are not what the type holds (text that is not UTF-8, or too long for a type of a fixed
 * length) are `OZARR_ERR_RANGE`.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`, for offsets that fall or leave `data`, too;
 * `OZARR_ERR_TYPE` for elements that are neither of variable length nor text or bytes; those of chunks
 * and stores.
 *
 * @param[in] region may be NULL
 * @param[in] offsets array(elements + 1)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_varlen(const ozarr_array *array, const ozarr_region *region,
    const int64_t *offsets, const void *data, size_t size);

/**
 * Extends dimension `dim` (from 0) by `count` elements of variable length: the slab is as for
 * `ozarr_array_append`, its elements are `data` and `offsets` as for `ozarr_array_write_varlen`. What
 * several append at the same time is all kept. After an error the slab may be there, as for
 * `ozarr_array_append`: the message says so.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` if another process appends at this moment;
 * `OZARR_ERR_BOUNDS` if there is no dimension `dim`, and for offsets that fall or leave `data`;
 * `OZARR_ERR_ARGUMENT` for a negative `count`; `OZARR_ERR_LIMIT` for more elements or bytes than memory can
 * hold; `OZARR_ERR_RANGE`, `OZARR_ERR_TYPE` as for `ozarr_array_write_varlen`; those of documents, chunks
 * and stores.
 *
 * @param[in] offsets array(elements + 1)
 */
OZARR_CHECKED ozarr_status ozarr_array_append_varlen(ozarr_array *array, int32_t dim, int64_t count,
    const int64_t *offsets, const void *data, size_t size);

/**
 * Writes a region (NULL: the whole array) of text from one string for each element, in C order of the
 * region.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`; `OZARR_ERR_RANGE` for what the type does not hold;
 * `OZARR_ERR_TYPE` for elements that are no text; those of chunks and stores.
 *
 * @param[in] region may be NULL
 * @param[in] strings array(elements)
 */
OZARR_CHECKED ozarr_status ozarr_array_write_strings(const ozarr_array *array, const ozarr_region *region,
    const char *const *strings);

/**
 * Gets the type of the numbers in the lists of an array of `OZARR_LIST`.
 *
 * Errors: `OZARR_ERR_TYPE` for other arrays.
 *
 * @param[out] type
 */
OZARR_CHECKED ozarr_status ozarr_array_list_type(const ozarr_array *array, ozarr_type *type);

/**
 * Gets the fill value of an array of variable length, as a string. (Bytes that are not UTF-8 are
 * `OZARR_ERR_TYPE`; `ozarr_node_metadata` shows them.)
 *
 * Errors: `OZARR_ERR_TYPE` for elements of one size, too.
 */
OZARR_CHECKED ozarr_status ozarr_array_fill_text(const ozarr_array *array, char *buf, size_t cap,
    size_t *len);

/**
 * Gets the number of elements.
 *
 * Errors: none of its own.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_varlen_count(const ozarr_varlen *varlen, int64_t *count);

/**
 * Gets the bytes of element `index`, from 0. They are valid until `varlen` is freed, and are not
 * followed by NUL.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no element `index`.
 *
 * @param[out] bytes,len
 */
OZARR_CHECKED ozarr_status ozarr_varlen_get(const ozarr_varlen *varlen, int64_t index, const char **bytes,
    size_t *len);

/**
 * Gets all elements at once: `*offsets` has one number more than there are elements, `*data` has
 * `*size` bytes. They are valid until `varlen` is freed.
 *
 * Errors: none of its own.
 *
 * @param[out] offsets,data,size
 */
OZARR_CHECKED ozarr_status ozarr_varlen_all(const ozarr_varlen *varlen, const int64_t **offsets,
    const char **data, size_t *size);

/** Frees the elements; NULL is allowed. */
void ozarr_varlen_free(ozarr_varlen *varlen);

/* ========================================================================================================
 * Data types in detail
 * ========================================================================================================
 *
 * What a data type is made of: class, byte order, unit, fields, and its values as JSON. */

/** The class of a data type. */
typedef int32_t ozarr_dtype_kind;

enum {
    OZARR_DTYPE_KIND_BOOL = 1,           /**< `bool` */
    OZARR_DTYPE_KIND_INT = 2,            /**< Signed integers. */
    OZARR_DTYPE_KIND_UINT = 3,           /**< Unsigned integers. */
    OZARR_DTYPE_KIND_FLOAT = 4,          /**< Floating-point numbers. */
    OZARR_DTYPE_KIND_COMPLEX = 5,        /**< Pairs of floating-point numbers. */
    OZARR_DTYPE_KIND_BYTES = 6,          /**< Text of a fixed number of bytes, padded with NUL. */
    /** Text of a fixed number of code points of four bytes, padded with NUL. */
    OZARR_DTYPE_KIND_TEXT = 7,
    OZARR_DTYPE_KIND_RAW = 8,            /**< A fixed number of bytes without a meaning. */
    /** Points in time: a count of 64 bits of a unit since 1970; the least count is "not a time". */
    OZARR_DTYPE_KIND_DATETIME = 9,
    OZARR_DTYPE_KIND_TIMEDELTA = 10,     /**< Spans of time: a count of 64 bits of a unit. */
    OZARR_DTYPE_KIND_STRUCT = 11,        /**< Named fields. */
    OZARR_DTYPE_KIND_VAR_TEXT = 12,      /**< Text of any length. */
    OZARR_DTYPE_KIND_VAR_BYTES = 13,     /**< Bytes of any length. */
    OZARR_DTYPE_KIND_VAR_JSON = 14,      /**< JSON values. */
    OZARR_DTYPE_KIND_VAR_LIST = 15,      /**< Lists of numbers of any length. */
    /** In memory only: text of a fixed number of bytes, padded with blanks. */
    OZARR_DTYPE_KIND_CHARS = 16
};

/** The byte order of a data type. */
typedef int32_t ozarr_byte_order;

enum {
    OZARR_BYTE_ORDER_NONE = 0,           /**< There is nothing to order. */
    OZARR_BYTE_ORDER_LITTLE = 1,         /**< The least significant byte first. */
    OZARR_BYTE_ORDER_BIG = 2,            /**< The most significant byte first. */
    OZARR_BYTE_ORDER_MIXED = 3           /**< Fields of a struct have different orders. */
};

/**
 * Gets the class of the type.
 *
 * Errors: none of its own.
 *
 * @param[out] kind
 */
OZARR_CHECKED ozarr_status ozarr_dtype_get_kind(const ozarr_dtype *dtype, ozarr_dtype_kind *kind);

/**
 * Gets the number of the type; `OZARR_BY_DTYPE` if it has no number.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
 *
 * @param[out] type
 */
OZARR_CHECKED ozarr_status ozarr_dtype_type(const ozarr_dtype *dtype, ozarr_type *type);

/**
 * Gets the size of one element in bytes.
 *
 * Errors: none of its own.
 *
 * @param[out] bytes
 */
OZARR_CHECKED ozarr_status ozarr_dtype_item_size(const ozarr_dtype *dtype, size_t *bytes);

/**
 * Gets the byte order that the type has in a file.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
 *
 * @param[out] order
 */
OZARR_CHECKED ozarr_status ozarr_dtype_byte_order(const ozarr_dtype *dtype, ozarr_byte_order *order);

/**
 * Gets the unit of a time type: a count of 1 is `*scale` of the unit that `buf` receives: Y, M, W, D,
 * h, m, s, ms, us, ns, ps, fs, as or generic. `OZARR_ERR_TYPE` for other types.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
 *
 * @param[out] scale
 */
OZARR_CHECKED ozarr_status ozarr_dtype_unit(const ozarr_dtype *dtype, char *buf, size_t cap, size_t *len,
    int64_t *scale);

/**
 * Compares two types: `*equal` becomes whether size, meaning, byte order and all fields agree.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
 *
 * @param[out] equal
 */
OZARR_CHECKED ozarr_status ozarr_dtype_equal(const ozarr_dtype *dtype, const ozarr_dtype *other, bool *equal);

/**
 * Gets the name of the type in format 3, without its parameters: `float64`, `fixed_length_utf32`,
 * `struct`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a struct without fields.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_name(const ozarr_dtype *dtype, char *buf, size_t cap, size_t *len);

/**
 * Gets the type as JSON, as a metadata document of `format` 2 (`dtype`) or 3 (`data_type`) has it.
 * `OZARR_ERR_UNSUPPORTED` where that format has no form for it: format 3 for structs of mixed byte
 * orders or with shapes.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another format, or a struct without fields.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_to_json(const ozarr_dtype *dtype, int32_t format, char *buf,
    size_t cap, size_t *len);

/**
 * Gets the number of fields of a struct, without unnamed padding; 0 for other types.
 *
 * Errors: none of its own.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_dtype_field_count(const ozarr_dtype *dtype, int64_t *count);

/**
 * Gets the name of a field, by its number from 0.
 *
 * Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
 * `OZARR_ERR_ARGUMENT` for a struct without fields.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_field_name(const ozarr_dtype *dtype, int64_t index, char *buf,
    size_t cap, size_t *len);

/**
 * Gets the offset of a field from the struct's beginning, in bytes.
 *
 * Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
 * `OZARR_ERR_ARGUMENT` for a struct without fields.
 *
 * @param[out] offset
 */
OZARR_CHECKED ozarr_status ozarr_dtype_field_offset(const ozarr_dtype *dtype, int64_t index, size_t *offset);

/**
 * Gets the data type of a field (of each of its values, where it has a shape), as a new handle.
 *
 * Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
 * `OZARR_ERR_ARGUMENT` for a struct without fields.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_copy_field_dtype(const ozarr_dtype *dtype, int64_t index,
    ozarr_dtype **out);

/**
 * Gets the rank of a field (0 for one value) and its shape: `shape` has a capacity of `cap` numbers,
 * and may be NULL with `cap` 0 to ask for the rank only.
 *
 * Errors: `OZARR_ERR_TYPE` for a type without fields; `OZARR_ERR_BOUNDS` if there is no field `index`;
 * `OZARR_ERR_BUFFER_SIZE` for a capacity below the rank; `OZARR_ERR_ARGUMENT` for a struct without
 * fields.
 *
 * @param[out] shape array(cap), may be NULL
 * @param[out] rank
 */
OZARR_CHECKED ozarr_status ozarr_dtype_field_shape(const ozarr_dtype *dtype, int64_t index, int64_t *shape,
    int64_t cap, int32_t *rank);

/**
 * Converts one element at `value` (`size` bytes) to JSON, as a metadata document of `format` 2 or 3 has
 * it in `fill_value`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another format, or a struct without fields; `OZARR_ERR_BUFFER_SIZE`
 * for another size than the type's; `OZARR_ERR_UNSUPPORTED` for types that have no such form.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_scalar_to_json(const ozarr_dtype *dtype, int32_t format,
    const void *value, size_t size, char *buf, size_t cap, size_t *len);

/**
 * Converts JSON, as a metadata document of `format` 2 or 3 has it in `fill_value`, to one element at
 * `value` (`size` bytes). A value that the type does not have, such as a number out of range, is
 * `OZARR_ERR_METADATA`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another format, malformed JSON, or a struct without fields;
 * `OZARR_ERR_BUFFER_SIZE` for fewer bytes than an element has; `OZARR_ERR_UNSUPPORTED` for types that
 * have no such form; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_dtype_scalar_from_json(const ozarr_dtype *dtype, int32_t format,
    const char *json, void *value, size_t size);

/* ========================================================================================================
 * Chunks as they are
 * ========================================================================================================
 *
 * What is stored of an array, as the codecs made it: which chunks there are, their keys, offsets and
 * bytes. An index counts chunks along each dimension: element i is in chunk i / extent. With `inner`
 * true it counts the smaller chunks inside shards, from the array's first one on, not from the shard's;
 * an array without shards has chunks only, and `inner` changes nothing. Chunks that were never written
 * are not stored, nor are those that hold nothing but the fill value.
 *
 *     // Copies every stored chunk of `a` to `b`, whose metadata are the same.
 *     ozarr_chunk_iter *it = NULL;
 *     bool more = false;
 *     if (ozarr_array_list_chunks(a, false, &it)) goto fail;
 *     while (ozarr_chunk_iter_next(it, &more) == OZARR_OK && more) {
 *         int64_t index[3], offset, size;
 *         size_t used;
 *         if (ozarr_chunk_iter_index(it, index) || ozarr_chunk_iter_place(it, &offset, &size)) goto fail;
 *         void *bytes = malloc((size_t)size);
 *         if (ozarr_array_chunk_read(a, index, false, bytes, (size_t)size, &used)) goto fail;
 *         if (ozarr_array_chunk_write(b, index, false, bytes, used)) goto fail;
 *         free(bytes);
 *     }
 *     ozarr_chunk_iter_free(it);
 *
 * A shard that is larger than memory can be written inner chunk by inner chunk: `ozarr_shard_writer_new`;
 * not into memory and stores of your own, where it is collected in memory first. On its way into a zip
 * archive it is in a file beside that, so that the disk needs room for it twice. */

/**
 * Gets the number of chunks along each dimension: `shape` has a capacity of one number for each
 * dimension.
 *
 * Errors: none of its own.
 *
 * @param[out] shape array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_grid_shape(const ozarr_array *array, int64_t *shape);

/**
 * Gets the range of elements that chunk `index` covers along dimension `dim` (both from 0): `*start`
 * becomes the first element, `*extent` (`extent` may be NULL) the number of elements, some of which may
 * be beyond the array's end. An `index` that is not below the number of chunks
 * (`ozarr_array_grid_shape`) is `OZARR_ERR_BOUNDS`.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no dimension `dim`, too.
 *
 * @param[out] start
 * @param[out] extent may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_extent(const ozarr_array *array, int32_t dim, int64_t index,
    int64_t *start, int64_t *extent);

/**
 * Counts the chunks (or inner chunks) that are stored. This lists the store's keys, and reads the index
 * of every shard if `inner` is true.
 *
 * Errors: those of chunks and stores.
 *
 * @param[out] count
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_count(const ozarr_array *array, bool inner, int64_t *count);

/**
 * Gets the key in the store under which a chunk (not an inner one) is stored, or would be.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such chunk; `OZARR_ERR_CALLBACK`, or its own status, where the
 * function of a registered key encoding fails; those of documents.
 *
 * @param[in] index array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_key(const ozarr_array *array, const int64_t *index, char *buf,
    size_t cap, size_t *len);

/**
 * Gets whether a chunk is stored (`*stored`), the number of its encoded bytes (`*size`), and the offset
 * of the first one in the stored object (`*offset`): of an inner chunk in its shard, else 0. Both are 0
 * if nothing is stored.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and stores.
 *
 * @param[in] index array(rank)
 * @param[out] stored,offset,size
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_place(const ozarr_array *array, const int64_t *index, bool inner,
    bool *stored, int64_t *offset, int64_t *size);

/**
 * Reads the encoded bytes of a chunk, as they are, to `buf`, which has a capacity of `cap` bytes. `*len`
 * (`len` may be NULL) becomes the number of bytes, also if it exceeds `cap` (`OZARR_ERR_BUFFER_SIZE`);
 * `buf` NULL with `cap` 0 only asks for it. `OZARR_ERR_MISSING` if the chunk is not stored.
 *
 * Errors: `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and stores.
 *
 * @param[in] index array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_read(const ozarr_array *array, const int64_t *index, bool inner,
    void *buf, size_t cap, size_t *len);

/**
 * Stores the `size` bytes at `data` as the encoded bytes of a chunk, without checking that the codecs
 * can decode them. The other inner chunks of a shard stay as they are stored.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and
 * stores.
 *
 * @param[in] index array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_write(const ozarr_array *array, const int64_t *index, bool inner,
    const void *data, size_t size);

/**
 * Erases a stored chunk, whose elements then have the fill value. `*stored` becomes whether it was
 * stored. By a handle with a claim (`"claim"` of `ozarr_node_set`) the chunk stays, with the fill value in
 * it: `*stored` is true each time then.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no such chunk; those of chunks and
 * stores.
 *
 * @param[in] index array(rank)
 * @param[out] stored
 */
OZARR_CHECKED ozarr_status ozarr_array_chunk_erase(const ozarr_array *array, const int64_t *index, bool inner,
    bool *stored);

/**
 * Lists the stored chunks as they are now, in the order of their indices (inner chunks shard by shard),
 * under a cursor that begins before the first. The index of a shard is read when the cursor reaches it.
 *
 * Errors: those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_array_list_chunks(const ozarr_array *array, bool inner,
    ozarr_chunk_iter **out);

/**
 * Moves to the next chunk; `*more` becomes false at the end, and stays so.
 *
 * Errors: those of chunks and stores.
 *
 * @param[out] more
 */
OZARR_CHECKED ozarr_status ozarr_chunk_iter_next(ozarr_chunk_iter *chunk_iter, bool *more);

/**
 * Gets the index of the chunk: `index` has a capacity of one number for each dimension of the array.
 *
 * Errors: `OZARR_ERR_STATE` before the first chunk and after the last.
 *
 * @param[out] index array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_chunk_iter_index(const ozarr_chunk_iter *chunk_iter, int64_t *index);

/**
 * Gets the number of the chunk's encoded bytes (`*size`), and the offset of the first one in the stored
 * object (`*offset`).
 *
 * Errors: `OZARR_ERR_STATE` before the first chunk and after the last.
 *
 * @param[out] offset,size
 */
OZARR_CHECKED ozarr_status ozarr_chunk_iter_place(const ozarr_chunk_iter *chunk_iter, int64_t *offset,
    int64_t *size);

/** Frees the cursor; NULL is allowed. */
void ozarr_chunk_iter_free(ozarr_chunk_iter *chunk_iter);

/**
 * Begins to write the shard `index` (an index of chunks, not of inner ones): inner chunks are put one
 * by one, in any order, and go to a temporary file. Readers see nothing of it before
 * `ozarr_shard_writer_finish`, which replaces the whole shard at once.
 *
 * Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no such shard; `OZARR_ERR_STATE` for an
 * array without shards; those of chunks and stores.
 *
 * @param[in] index array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_shard_writer_new(const ozarr_array *array, const int64_t *index,
    ozarr_shard_writer **out);

/**
 * Encodes an inner chunk of the shard; `index` counts all inner chunks of the array. `data` has those
 * elements of it that are inside of the array, contiguous, the last index fastest. With `encoded` it has
 * the bytes of the chunk as they are stored (as of `ozarr_array_chunk_read`), and `type` is ignored: what
 * other threads or processes encoded is only stored. Putting one twice is `OZARR_ERR_STATE`; elements of
 * inner chunks that are not put have the fill value.
 *
 * Errors: `OZARR_ERR_BOUNDS` for an inner chunk of another shard; `OZARR_ERR_BUFFER_SIZE`,
 * `OZARR_ERR_TYPE`, `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT` as for writing a region; those of chunks and
 * stores.
 *
 * @param[in] index array(rank)
 */
OZARR_CHECKED ozarr_status ozarr_shard_writer_put(ozarr_shard_writer *shard_writer, const int64_t *index,
    bool encoded, ozarr_type type, const void *data, size_t size);

/**
 * Writes the shard's index and replaces the stored shard. After this the writer can only be freed.
 *
 * Errors: `OZARR_ERR_STATE` after another `ozarr_shard_writer_finish`; those of chunks and stores.
 */
OZARR_CHECKED ozarr_status ozarr_shard_writer_finish(ozarr_shard_writer *shard_writer);

/**
 * Frees the writer; what is not finished is discarded, and the shard stays as it was. NULL is
 * allowed.
 */
void ozarr_shard_writer_free(ozarr_shard_writer *shard_writer);

/* ========================================================================================================
 * Copying
 * ========================================================================================================
 *
 * A copy may have other chunks and shards, other codecs, another type or format. What is not said stays as
 * it is. With `OZARR_COPY_RAW` what is stored is copied as it is, key by key.
 *
 *     static ozarr_status change(void *user, const char *path, ozarr_spec *spec) {
 *         const int64_t chunks[] = {512, 512, 512}, inner[] = {64, 64, 64};
 *         ozarr_status status = ozarr_spec_set_chunks(spec, chunks);
 *         return status ? status : ozarr_spec_set_inner_chunks(spec, inner);
 *     }
 *
 *     ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
 *     options.change = change;
 *     if (ozarr_copy("run.zarr/temperature", "archive.zarr/temperature", &options)) goto fail; */

enum {
    /**
     * Copies every stored object as it is, several at a time; nothing else may be asked for but
     * `OZARR_COPY_VERIFY`.
     */
    OZARR_COPY_RAW = 1,
    /**
     * With `OZARR_COPY_RAW`: reads everything again, and compares it with the source before the document of
     * the copy is written. An object that differs, as one that another program has changed meanwhile, is
     * copied once more; if it differs then, too, the error is `OZARR_ERR_CHECKSUM`.
     */
    OZARR_COPY_VERIFY = 2,
    /**
     * Chunks whose bytes do not change become hard links to those of the source, where possible. From then on
     * no program may change them in place; ozarr never does.
     */
    OZARR_COPY_LINK = 4
};

/**
 * Called repeatedly by functions that take long: `done` of `total` objects are done. `OZARR_OK`
 * continues; any other status ends the function, which then fails with it.
 */
typedef ozarr_status (*ozarr_progress_fn)(void *user, int64_t done, int64_t total);

/**
 * Called for each array that is copied, with its `path` in the source's store and the specification
 * `spec` of its copy, which it may change. `spec` is freed afterwards. `OZARR_OK` continues; any other
 * status ends the copy, which then fails with it. `user` is that of the options.
 */
typedef ozarr_status (*ozarr_copy_change_fn)(void *user, const char *path, ozarr_spec *spec);

/** How a copy is made; begin with `OZARR_COPY_OPTIONS_INIT`. */
typedef struct ozarr_copy_options {
    /** Its size in bytes. */
    size_t struct_size;
    /**
     * The format of all nodes: 2, 3, or 0 for the one that they have (drafts: 3). Arrays with names of
     * dimensions keep what means "missing" to xarray: in format 2 it is the fill value, which becomes that
     * of the attribute `_FillValue` or null, in format 3 `_FillValue`, which is added.
     */
    int32_t zarr_format;
    /**
     * What to do if a node already exists: OZARR_CREATE_NEW or OZARR_CREATE_OVERWRITE. In folders what is
     * overwritten stays until the copy is whole, so both need room; elsewhere it is erased first. Archives
     * cannot erase: `OZARR_ERR_UNSUPPORTED`.
     */
    ozarr_create_mode mode;
    /** What to do with values that do not fit into another type. */
    ozarr_overflow overflow;
    /** A sum of `OZARR_COPY_...`, or 0. */
    uint32_t flags;
    /**
     * The memory to use, about, in bytes; 0 is 512 MiB. Twice the source's and the target's chunk (inner
     * chunk) for a thread are needed in any case, and one whole chunk of a target without shards.
     */
    size_t memory;
    /** Of a single array: what the copy is, as of `ozarr_array_copy_spec`. NULL: as the source is. */
    const struct ozarr_spec *spec;
    /** Changes what the copy of each array is; NULL: they are as the source is. */
    ozarr_copy_change_fn change;
    /** Called with the progress (chunks and nodes), in the calling thread; may be NULL. */
    ozarr_progress_fn progress;
    /** Given to both. */
    void *user;
} ozarr_copy_options;

/** The first value of an `ozarr_copy_options`: {0} with its size. */
#define OZARR_COPY_OPTIONS_INIT \
    {sizeof(ozarr_copy_options), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL}

/** Gives `*copy_options` the value OZARR_COPY_OPTIONS_INIT. */
static inline void ozarr_copy_options_init(ozarr_copy_options *copy_options) {
    const ozarr_copy_options init = OZARR_COPY_OPTIONS_INIT;
    *copy_options = init;
}

/**
 * Creates a specification that describes this array in the given format (2, 3; 0: the array's own): its
 * shape, chunks, codecs, fill value (but see `ozarr_copy_options.zarr_format`), names of dimensions and
 * attributes. Each can be changed on its own; a compressor, for example, replaces the compressor in the
 * list of codecs.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another format; those of documents.
 */
OZARR_CHECKED ozarr_status ozarr_array_copy_spec(const ozarr_array *array, int32_t zarr_format,
    ozarr_spec **out);

/**
 * Copies the array at `source`, or the group with all below it, to `dest`, where there is no node yet
 * (or see `mode`). `options` may be NULL. Shapes stay; of a dataset whose series publishes steps
 * meanwhile all variables get the steps that the shortest one has, by its consolidated metadata:
 * without them (`"consolidate"` `"never"`) the lengths may differ. Consolidated metadata are copied;
 * where the source has none, `ozarr_group_consolidate` makes those of the copy (xarray warns without).
 * Where another program removes a checkpoint, or an array or its last elements, that is being copied,
 * the error is `OZARR_ERR_AGAIN`; also where a run is begun again behind an earlier step, as
 * `ozarr_series_open` does, and comes as far as before: the copy would have steps of both. That is
 * noticed in object stores with conditional puts, and in folders with locks, unless the run had been
 * closed before the copy began (or the caller may not write there) and is closed again when it ends.
 * Programs that cut arrays without a series, and make them as long again, are not noticed. Chunks of
 * nothing but the fill value are not stored. They are in format 2 where the array has names of
 * dimensions and its fill value is not NaN: it has no fill value there, which xarray would take for
 * missing. Each chunk or shard of the target is written once, whole; chunks whose bytes do not change are
 * copied as they are. Nothing is written unless every node can be copied. A metadata document is written
 * after the data that it describes, that of `dest` last: an interrupted copy is not a node, and repeating
 * the call starts it anew. Where it was interrupted behind that document, as the message of an error
 * says, the same call completes it, unless that would make another copy of `source` by now. An archive
 * keeps what was put into it: remove the file before the call is repeated, after a kill, too. Files that
 * other programs keep beside the nodes, such as tables, are no part of Zarr: they are left out, unless by
 * `OZARR_COPY_RAW`. The log is told of them, and of all else that could not be kept, such as a missing
 * value that the type of the copy does not have (`ozarr_context_set_log`).
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NOT_FOUND`
 * if there is no source; `OZARR_ERR_AGAIN` (see above); `OZARR_ERR_NODE_KIND`; `OZARR_ERR_READ_ONLY`;
 * `OZARR_ERR_RANGE` for a value that does not fit; `OZARR_ERR_TYPE`; `OZARR_ERR_CHECKSUM` (see
 * OZARR_COPY_VERIFY); `OZARR_ERR_ARGUMENT` for options that contradict each other; `OZARR_ERR_UNSUPPORTED`
 * for a source on a web server that is no archive: its keys cannot be listed; `OZARR_ERR_CALLBACK`
 * and whatever a function of `options` returns; those of documents, chunks and stores.
 *
 * @param[in] options may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_copy(const char *source, const char *dest,
    const ozarr_copy_options *options);

/**
 * Copies as `ozarr_copy` does, from `path` in one open store to `dest_path` in another, or in the same
 * store.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NOT_FOUND` if there is no
 * source; `OZARR_ERR_AGAIN` (see above); `OZARR_ERR_NODE_KIND`; `OZARR_ERR_READ_ONLY`;
 * `OZARR_ERR_RANGE` for a value that does not fit; `OZARR_ERR_TYPE`; `OZARR_ERR_CHECKSUM` (see
 * OZARR_COPY_VERIFY); `OZARR_ERR_ARGUMENT` for options that contradict each other;
 * `OZARR_ERR_CALLBACK` and whatever a function of `options` returns; those of documents, chunks and
 * stores.
 *
 * @param[in] options may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_copy_at(const ozarr_store *store, const char *path, ozarr_store *dest_store,
    const char *dest_path, const ozarr_copy_options *options);

/* ========================================================================================================
 * Migration
 * ======================================================================================================== */

enum {
    OZARR_MIGRATE_IN_PLACE = 1,          /**< `ozarr_migrate`: converts the source itself; `dest` is NULL. */
    /**
     * `ozarr_migrate`: chunks become hard links to those of the source, where possible. From then on no
     * program may change them in place; ozarr never does.
     */
    OZARR_MIGRATE_LINK = 4
};

/**
 * Converts the node at `source`, with everything below it, from Zarr v2 or a draft of v3 to Zarr v3.
 * `dest` is a location at which there is no node yet. Chunks are copied (or linked) as they are, and
 * encoded anew only where v3 has no form for their codecs. If one node has no form in v3 nothing is
 * written at all. After an interruption, repeating the call completes the conversion in place, and
 * begins it anew elsewhere. Where all nodes were there already it completes that, too, or is
 * `OZARR_ERR_EXISTS` if the source has other documents or chunks since; that a chunk was written anew
 * is noticed in folders and object stores. With OZARR_MIGRATE_IN_PLACE the old
 * documents are erased when all new ones are stored; without it the source is not changed, and a
 * dataset whose series publishes steps meanwhile is converted as by `ozarr_copy`. Close what writes to
 * the source before it is converted in place: while a series is open in it (see
 * `OZARR_CREATE_OVERWRITE`), the error is `OZARR_ERR_AGAIN`, and nothing is changed; where a document
 * that was converted is changed meanwhile, it is that error, too, and repeating the call completes the
 * conversion. Files that other programs keep beside the nodes are left out as by `ozarr_copy`; in place
 * they stay. The log is told what could not be kept, as by `ozarr_copy`. `progress` may be NULL.
 *
 * Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if there is no source;
 * `OZARR_ERR_NODE_KIND`; `OZARR_ERR_EXISTS` if there is a node at `dest`; `OZARR_ERR_READ_ONLY`;
 * `OZARR_ERR_AGAIN` (see above);
 * `OZARR_ERR_ARGUMENT` for flags that contradict each other; `OZARR_ERR_CALLBACK` and whatever
 * `progress` returns; those of documents, chunks and stores.
 *
 * @param[in] progress may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_migrate(const char *source, const char *dest, uint32_t flags,
    ozarr_progress_fn progress, void *user);

/* ========================================================================================================
 * Verifying
 * ========================================================================================================
 *
 * Looks for what is damaged in a hierarchy, and for what does not belong there: what the program
 * `ozarr verify` does.
 *
 *     static ozarr_status report(void *user, ozarr_fault_kind kind, const char *key, const char *message,
 *                                int64_t bytes, bool repaired) {
 *         fprintf(stderr, "%s: %s\n", key, message);
 *         return OZARR_OK;
 *     }
 *
 *     ozarr_verified found = OZARR_VERIFIED_INIT;
 *     if (ozarr_store_verify(store, "", 0, report, NULL, NULL, &found)) goto fail;
 *     if (found.faults > 0) puts("not whole"); */

enum {
    OZARR_VERIFY_QUICK = 1,              /**< `ozarr_store_verify`: lists the chunks, and reads none. */
    /**
     * `ozarr_store_verify`: mends what is certainly safe to mend, and nothing else: temporary files of
     * processes that are gone are removed, stale consolidated metadata are written anew.
     */
    OZARR_VERIFY_REPAIR = 2
};

/** What a fault is; later versions may add kinds. */
typedef int32_t ozarr_fault_kind;

enum {
    /** A document or a chunk that is cut, has a wrong length or checksum, or cannot be decoded. */
    OZARR_FAULT_KIND_DAMAGED = 1,
    /** The system or the server does not give an object, or a file and a folder are in each other's place. */
    OZARR_FAULT_KIND_UNREADABLE = 2,
    /** A codec, data type or extension that this library lacks: nothing is known of these chunks. */
    OZARR_FAULT_KIND_UNSUPPORTED = 3,
    /** A chunk beyond the array's shape, which shows when the array grows. */
    OZARR_FAULT_KIND_OUTSIDE = 4,
    OZARR_FAULT_KIND_FOREIGN = 5,        /**< A key that is neither a document nor a chunk of a node. */
    /**
     * A temporary file that a writer has left, or has yet to rename; what a call that was interrupted has
     * left to go on with; a file that was replaced or erased while it was open, as NFS, FUSE and SMB keep it.
     */
    OZARR_FAULT_KIND_TEMPORARY = 6,
    /** Consolidated metadata that say something else than the documents. */
    OZARR_FAULT_KIND_STALE = 7
};

/**
 * Called for each fault: what it is; the key, or the path of the node; what was found there; how many
 * bytes are stored there, -1 where that is not known; whether it was mended. The texts are valid during
 * the call only. `OZARR_OK` continues; any other status ends the function, which then fails with it.
 */
typedef ozarr_status (*ozarr_fault_fn)(void *user, ozarr_fault_kind kind, const char *key,
    const char *message, int64_t bytes, bool repaired);

/** What was looked at. Set it to `OZARR_VERIFIED_INIT` first. */
typedef struct ozarr_verified {
    /** `sizeof(ozarr_verified)`; set by `OZARR_VERIFIED_INIT`. */
    size_t struct_size;
    /** Nodes whose documents were read. */
    int64_t nodes;
    /** Chunks that were decoded; with `OZARR_VERIFY_QUICK`: listed. */
    int64_t chunks;
    /** Faults that were found and not mended. */
    int64_t faults;
    /** Faults that were mended. */
    int64_t repaired;
} ozarr_verified;

/** The first value of an `ozarr_verified`: {0} with its size. */
#define OZARR_VERIFIED_INIT \
    {sizeof(ozarr_verified), 0, 0, 0, 0}

/** Gives `*verified` the value OZARR_VERIFIED_INIT. */
static inline void ozarr_verified_init(ozarr_verified *verified) {
    const ozarr_verified init = OZARR_VERIFIED_INIT;
    *verified = init;
}

/**
 * Looks through the node at `path` and all below it, and calls `each` with every fault: each document is
 * parsed, each stored chunk decoded whole, several at a time by the threads of the store's context. What
 * is stored counts: flush first what this process has written. A fault is no error: the status is
 * `OZARR_OK`, and `verified` counts. `flags` is a sum of `OZARR_VERIFY_...`, or 0. Where keys cannot be
 * listed, the nodes are those of consolidated metadata, and all chunks are looked for. `each`, and
 * `progress` with the chunks that are done of how many, are called in the calling thread, and may call
 * the library; both may be NULL. What is mended is durable with the next flush, as any change.
 *
 * Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if there is no node at `path`; `OZARR_ERR_READ_ONLY`
 * for `OZARR_VERIFY_REPAIR` in a store that cannot be written; `OZARR_ERR_ARGUMENT` for unknown flags;
 * `OZARR_ERR_CALLBACK` and whatever `each` or `progress` returns; those of documents and stores.
 *
 * @param[in] each,progress may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_store_verify(ozarr_store *store, const char *path, uint32_t flags,
    ozarr_fault_fn each, ozarr_progress_fn progress, void *user, ozarr_verified *verified);

/* ========================================================================================================
 * Stores and keys for tools
 * ========================================================================================================
 *
 * Views of a store, and the bytes below the nodes. A key is the name under which a store holds bytes:
 * `"run/t/c/0/0"`. */

/**
 * Called by `ozarr_store_key_list` with `user` and a key, which is valid during the call only.
 * `OZARR_OK` continues; any other status stops the listing, which then fails with it.
 */
typedef ozarr_status (*ozarr_key_fn)(void *user, const char *key);

/**
 * Opens the part of a store below `path` as a store of its own. An empty path is the whole store: with
 * mode `"r"` this makes any store read-only. `mode` is `"r"` or `"r+"`.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY` where the
 * store cannot be written; those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_below(const ozarr_store *store, const char *path, const char *mode,
    ozarr_store **out);

/**
 * Opens a store through a cache of `bytes` bytes in memory. Values that were read are kept and reused
 * while the key's version in the store has not changed. Each use asks the store for the version only. A
 * single read of more than a quarter of `bytes` is not kept. `mode` is `"r"` or `"r+"`.
 *
 * The version of a web server's file is its ETag. Where the server tells none, or one that is made of
 * time and length as nginx does, it is `Last-Modified` and the length: values are kept if the answer's
 * `Date` is more than 10 s later, and one that is replaced by another of the same length and with the
 * same time is not seen.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
 * written; those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_cached(const ozarr_store *store, size_t bytes, const char *mode,
    ozarr_store **out);

/**
 * Gets what a store can do, as a sum of `OZARR_STORE_CAN_...` and `OZARR_STORE_IS_...`: zip archives
 * cannot erase, for example.
 *
 * Errors: none of its own.
 *
 * @param[out] capabilities
 */
OZARR_CHECKED ozarr_status ozarr_store_capabilities(const ozarr_store *store, uint32_t *capabilities);

/**
 * For tools: gets the bytes of a key (`"run/t/c/0/0"`) to `buf`, which has a capacity of `cap` bytes.
 * `*len` becomes the number of bytes, and is set also when the buffer is too small
 * (`OZARR_ERR_BUFFER_SIZE`). `buf` NULL with `cap` 0 asks for the number only; `len` may be NULL.
 * `OZARR_ERR_NOT_FOUND` if the key holds nothing; `NULL, 0, NULL` asks whether it does.
 *
 * Errors: `OZARR_ERR_NAME` for a key that cannot be; those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_key_get(const ozarr_store *store, const char *key, void *buf,
    size_t cap, size_t *len);

/**
 * For tools: stores `size` bytes under a key, atomically. Nothing is checked but the key.
 *
 * Errors: `OZARR_ERR_NAME` for a key that cannot be; `OZARR_ERR_READ_ONLY`; those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_key_put(ozarr_store *store, const char *key, const void *data,
    size_t size);

/**
 * For tools: removes a key. `*erased` (unless NULL) becomes whether it existed; a missing key is not an
 * error. A store that cannot erase (a zip archive) gives `OZARR_ERR_UNSUPPORTED`.
 *
 * Errors: `OZARR_ERR_NAME` for a key that cannot be; `OZARR_ERR_READ_ONLY`; those of stores.
 *
 * @param[out] erased may be NULL
 */
OZARR_CHECKED ozarr_status ozarr_store_key_erase(ozarr_store *store, const char *key, bool *erased);

/**
 * For tools: calls `each` with every key that starts with `prefix` (empty, or ending in `/`), sorted, in
 * the calling thread, until it returns another status than `OZARR_OK`, which is then the status of this
 * function. `user` is handed on to it. It may use the store; the text is valid during the call only.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for a prefix that ends in something else; `OZARR_ERR_NAME` for one that
 * cannot be; `OZARR_ERR_CALLBACK` and whatever `each` returns; those of stores.
 */
OZARR_CHECKED ozarr_status ozarr_store_key_list(const ozarr_store *store, const char *prefix,
    ozarr_key_fn each, void *user);

/* ========================================================================================================
 * Memory for large regions
 * ========================================================================================================
 *
 * Fresh memory comes page by page: of an uncompressed read into memory that was just allocated most of the
 * time is the system's, for one fault every 4 KiB. A buffer of ozarr of 2 MiB or more begins at a multiple
 * of 2 MiB and asks for huge pages, which makes that 512 times fewer; the threads that read take them,
 * each where it reads to. docs/performance-memory.md has the gain. Any other memory works everywhere, too. */

enum {
    /** `ozarr_buffer_alloc`: ordinary pages, however large the buffer is. */
    OZARR_BUFFER_SMALL_PAGES = 1
};

/**
 * Allocates at least `bytes` bytes, all 0, at the beginning of a page. `flags`: 0 or
 * `OZARR_BUFFER_SMALL_PAGES`. Free it by `ozarr_buffer_free` only. `OZARR_ERR_NO_MEMORY` if there is
 * not enough memory.
 *
 * Errors: `OZARR_ERR_ARGUMENT` for another flag.
 *
 * @param[out] out
 */
OZARR_CHECKED ozarr_status ozarr_buffer_alloc(size_t bytes, uint32_t flags, void **out);

/**
 * Frees a buffer that no call is using. NULL is allowed. A pointer that is not a buffer of ozarr, or
 * was freed before, is left alone, and the thread's last error is `OZARR_ERR_INVALID_HANDLE`.
 *
 * @param[in] buffer may be NULL
 */
void ozarr_buffer_free(void *buffer);

#ifdef __cplusplus
}
#endif

#endif /* OZARR_ADVANCED_H */
