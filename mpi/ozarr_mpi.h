/*
 * ozarr_mpi.h: collective Zarr for MPI programs, over ozarr.h.              SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every rank writes its block of a field, whatever the chunks are:
 *
 *     ozarr_mpi *m = NULL;
 *     ozarr_array *t = NULL;
 *     if (ozarr_mpi_new(MPI_COMM_WORLD, &m)) goto fail;
 *     if (ozarr_mpi_array_create(m, "run.zarr/t", OZARR_FLOAT64, 2, shape, NULL, OZARR_CREATE_OVERWRITE, &t)) goto fail;
 *     if (ozarr_mpi_array_write_all(m, t, start, count, OZARR_FLOAT64, u, sizeof u)) goto fail;
 *     if (ozarr_mpi_array_close(m, t)) goto fail;
 *     ozarr_mpi_close(m);
 *
 * The rules, for all functions:
 *
 * Collective.  Every rank of the communicator calls the functions in the same order with the same arguments, but for regions and memory,
 *              which are its own. The first exchange of a call compares the arguments: a rank that calls something else is
 *              OZARR_ERR_ARGUMENT on all. `ozarr_mpi_set`, `_rank`, `_series_position`, `_request_test` and `_request_free` are local,
 *              `ozarr_mpi_set` is to be called alike.
 * Statuses.    All ranks get the same status and the same ozarr_last_error_info: the message names the rank that failed, behind the key in
 *              the store. A rank that fails keeps taking part, so that no other waits for it for ever.
 * Handles.     Arrays and groups are those of ozarr.h: every function that reads, and independent reads and writes of regions, work on
 *              them as ever. Open and close them by the functions here. What one of them changes rank 0 stores; the handles of the other
 *              ranks know it, too, without touching the store. Of an array that rank 0 has erased or replaced by itself they know from the
 *              next call here on: storing by older handles is OZARR_ERR_STATE.
 *              The calls that end handles (`_close`, `_commit`, `_abandon`, `_wait`) end them whatever the status says, but where they are
 *              refused: as OZARR_ERR_ARGUMENT where a rank calls something else or the array, group or series was not opened by this
 *              `ozarr_mpi`, OZARR_ERR_STATE for the thread, and OZARR_ERR_NETWORK where MPI itself fails. Then the handle stays on all ranks,
 *              to be ended again. After an error any local function tells: of a handle that is gone it is OZARR_ERR_INVALID_HANDLE.
 * Metadata.    Rank 0 alone reads and writes documents.
 * Locations.   What all ranks see. A relative one is in the folder that is rank 0's current one when it is opened. With more than one rank,
 *              `memory:` is OZARR_ERR_UNSUPPORTED, and so is a zip archive that is to be written: write a folder, and copy it.
 * Threads.     All calls of MPI are made in the thread that calls, none in threads of ozarr: MPI_THREAD_SINGLE and FUNNELED are enough
 *              for calls by the main thread; those of another thread need MPI_THREAD_SERIALIZED. One call at a time for each `ozarr_mpi`.
 * Memory.      An aggregator has up to two rounds of chunks in memory (the setting "round_bytes"), as bytes and as they came.
 */
#ifndef OZARR_MPI_H
#define OZARR_MPI_H

#include <mpi.h>
#include <ozarr.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The ranks that work together: a communicator of the library's own, settings, and plans that are used again. */
typedef struct ozarr_mpi ozarr_mpi;

/** A collective write or read that goes on while the program computes. */
typedef struct ozarr_mpi_request ozarr_mpi_request;

/** The steps of a run, written by all ranks. */
typedef struct ozarr_mpi_series ozarr_mpi_series;

/* ========================================================================================================
 * Ranks
 * ======================================================================================================== */

/**
 * Duplicates the communicator `comm`, whose ranks then make the collective calls. Unless `OZARR_NUM_THREADS` is in the environment, the
 * default context gets as many threads as this rank has processors: those that the ranks of its node may run on, divided among them, but no
 * more than its own affinity mask has. A later communicator of fewer ranks does not raise the number, and none changes what the program has set
 * since.
 *
 * Errors: OZARR_ERR_STATE before `MPI_Init`, after `MPI_Finalize` and for the thread ("Threads", above); OZARR_ERR_ARGUMENT for
 * MPI_COMM_NULL and inter-communicators.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_new(MPI_Comm comm, ozarr_mpi **out);

/**
 * Changes a setting, alike on all ranks (else the next collective call is OZARR_ERR_ARGUMENT):
 *
 * - `"aggregators"`: how many ranks store the chunks that several ranks touch, from 1; `"auto"`, the default: all, or as many as there
 *   are chunks. They are spread over the nodes.
 * - `"round_bytes"`: about how many bytes of elements an aggregator moves at once; at least one chunk; 33554432.
 * - `"message_bytes"`: the most bytes of one message of MPI, 1 to 1073741824, the default; longer ones are divided.
 * - `"range_bytes"`: of chunks in files that are neither compressed nor sharded, pieces that are ranges of at least so many bytes are read by
 *   the ranks that ask for them, and not sent; 65536.
 * - `"overlap"`: `"refuse"`, the default, makes regions of a write with common elements an error; `"last"` stores those of the last rank.
 * - `"check_writes"`: `"1"` finds chunks that two ranks changed by independent writes, in arrays that are opened afterwards: the next collective
 *   read, write, refresh or close is OZARR_ERR_CONFLICT on all ranks, with the key and both ranks. For debugging; `"0"` is the default.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_set(ozarr_mpi *m, const char *key, const char *value);

/** Gets the number of this rank and the number of ranks; either may be NULL. */
OZARR_CHECKED ozarr_status ozarr_mpi_rank(const ozarr_mpi *m, int *rank, int *size);

/**
 * Frees the communicator and everything of `m`; arrays and groups that are open become handles of this rank alone.
 *
 * Errors, after which nothing is freed: OZARR_ERR_STATE while there are requests that were neither waited for nor let go of, or series that were
 * not closed;
 * OZARR_ERR_ARGUMENT where a rank calls something else.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_close(ozarr_mpi *m);

/** Runs on rank 0 what is to be done once; its status, and the message of `ozarr_last_error`, become those of all ranks. */
typedef ozarr_status (*ozarr_mpi_once_fn)(void *user);

/**
 * Calls `fn` with `user` on rank 0 only: to define datasets and their variables, to copy, to consolidate. A status that is not that of its last
 * failure has a message that says so.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_once(ozarr_mpi *m, ozarr_mpi_once_fn fn, void *user);

/**
 * Makes the status of calls that ranks made by themselves the same on all: that of the first rank that failed, with its message. A status that
 * is not that of the rank's last failure has a message that says so.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_agree(ozarr_mpi *m, ozarr_status status);

/* ========================================================================================================
 * Arrays and groups
 * ======================================================================================================== */

/** Creates an array, as `ozarr_array_create`. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_create(ozarr_mpi *m, const char *location, ozarr_type type, int32_t rank,
    const int64_t *shape, const int64_t *chunks, ozarr_create_mode mode, ozarr_array **out);

/** Creates an array as a specification says; that of rank 0 counts. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_create_ex(ozarr_mpi *m, const char *location, const ozarr_spec *spec,
    ozarr_create_mode mode, ozarr_array **out);

/** Opens an array; `mode` `"r"` or `"r+"`. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_open(ozarr_mpi *m, const char *location, const char *mode, ozarr_array **out);

/** Changes the shape, as `ozarr_array_resize`. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_resize(ozarr_mpi *m, ozarr_array *array, const int64_t *shape, uint32_t flags);

/**
 * Extends dimension `dim` by `length` elements and writes the new slab: each rank gives a region of it, `start` and `shape` counted in the
 * array with the slab, so that `start[dim]` is the old length or more; a region outside of the slab is OZARR_ERR_BOUNDS. The new shape is
 * stored first: a run that is killed meanwhile leaves a slab of which some chunks have the fill value (a series cuts such steps off, a
 * checkpoint has none). After an error the shape is the old one again, unless it cannot be stored either, as on a disk that stays full: then
 * the array keeps the new length, the message says so, and `ozarr_mpi_array_resize` gives it the old one, before the slab is appended again; and
 * unless another handle has appended behind the slab meanwhile, which then stays, as the message says: write its region. An array that another handle
 * made longer is OZARR_ERR_STATE: this one knows its length then.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_array_append(ozarr_mpi *m, ozarr_array *array, int32_t dim, int64_t length,
    const int64_t *start, const int64_t *shape, ozarr_type type, const void *data, size_t size);

/** Sets an attribute to a value that is given as JSON. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_set_attr(ozarr_mpi *m, ozarr_array *array, const char *name, const char *json);

/** Reads the metadata again, on rank 0; the other ranks get what it found. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_refresh(ozarr_mpi *m, ozarr_array *array);

/**
 * Flushes what each rank wrote, then closes, whatever the status says, unless the call is refused ("Handles", above; and OZARR_ERR_STATE while
 * requests of the array were neither waited for nor let go of).
 */
OZARR_CHECKED ozarr_status ozarr_mpi_array_close(ozarr_mpi *m, ozarr_array *array);

/** Creates a group. */
OZARR_CHECKED ozarr_status ozarr_mpi_group_create(ozarr_mpi *m, const char *location, ozarr_create_mode mode, ozarr_group **out);

/** Opens a group. Rank 0 reads what is below it, too, so that all ranks open its arrays without touching the store. */
OZARR_CHECKED ozarr_status ozarr_mpi_group_open(ozarr_mpi *m, const char *location, const char *mode, ozarr_group **out);

/**
 * Creates an array at `path` below a group that was opened here; the specification of rank 0 counts. With OZARR_CREATE_NEW an array that was made
 * is erased again after an error, or the message says that it could not be.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_group_create_array(ozarr_mpi *m, ozarr_group *group, const char *path,
    const ozarr_spec *spec, ozarr_create_mode mode, ozarr_array **out);

/** Opens the array at `path` below a group that was opened here, in the group's mode. */
OZARR_CHECKED ozarr_status ozarr_mpi_group_open_array(ozarr_mpi *m, const ozarr_group *group, const char *path, ozarr_array **out);

/** Sets an attribute to a value that is given as JSON. */
OZARR_CHECKED ozarr_status ozarr_mpi_group_set_attr(ozarr_mpi *m, ozarr_group *group, const char *name, const char *json);

/** Closes a group, whatever the status says, unless the call is refused ("Handles", above). */
OZARR_CHECKED ozarr_status ozarr_mpi_group_close(ozarr_mpi *m, ozarr_group *group);

/* ========================================================================================================
 * Regions
 * ========================================================================================================
 *
 * Each rank gives the box of `shape` elements that begins at `start`; a box without elements takes part with nothing, wherever it begins.
 * Ranks whose boxes touch chunks that no other rank touches read and write them without messages; all other chunks are encoded, decoded,
 * stored and fetched once, by their aggregator. Who does what is computed from the boxes of all ranks at the first call, and used again by calls with the same
 * boxes. In an array with shards a chunk is a shard. After an error each chunk is old or new; the message says how many are stored. */

/** Writes a box from `data`: contiguous, the last index fastest. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_write_all(ozarr_mpi *m, const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, const void *data, size_t size);

/** Reads a box to `data`: contiguous, the last index fastest. Boxes may overlap, as those with ghost cells do. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_read_all(ozarr_mpi *m, const ozarr_array *array, const int64_t *start,
    const int64_t *shape, ozarr_type type, void *data, size_t size);

/**
 * Writes `count` boxes (0: none) from any memory: `regions` and `memories` have one for each. The memories' types, overflow and `dtype` are
 * the same for all boxes and ranks. Regions have no steps and are not periodic, and memories no field: OZARR_ERR_UNSUPPORTED.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_array_write_all_ex(ozarr_mpi *m, const ozarr_array *array, int64_t count,
    const ozarr_region *regions, const ozarr_memory *memories);

/** Reads `count` boxes (0: none) to any memory; else as `ozarr_mpi_array_write_all_ex`. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_read_all_ex(ozarr_mpi *m, const ozarr_array *array, int64_t count,
    const ozarr_region *regions, const ozarr_memory *memories);

/**
 * Begins to write boxes, else as `ozarr_mpi_array_write_all_ex`: arguments and boxes are compared before it returns. The elements must not
 * change, nor `array` and a `dtype` be freed, before the wait. Bytes travel in `ozarr_mpi_request_test` and `_wait` only, and in
 * every call that waits; chunks are encoded and stored by threads of the library meanwhile. A read or write that may have chunks in common with
 * a write that was not waited for completes that one first, by whichever handle; creating, a resize, an append, the end of a checkpoint and
 * the opening of a series complete all writes. Of those of another `ozarr_mpi` they do not know.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_array_iwrite_all(ozarr_mpi *m, const ozarr_array *array, int64_t count,
    const ozarr_region *regions, const ozarr_memory *memories, ozarr_mpi_request **out);

/** Begins to read boxes, else as `ozarr_mpi_array_iwrite_all`. */
OZARR_CHECKED ozarr_status ozarr_mpi_array_iread_all(ozarr_mpi *m, const ozarr_array *array, int64_t count,
    const ozarr_region *regions, const ozarr_memory *memories, ozarr_mpi_request **out);

/**
 * Moves on without waiting, on this rank alone. `*done` becomes whether this rank has done its part; what failed is the status of the wait.
 *
 * Errors: OZARR_ERR_STATE where another rank has let go of the request while this one did not move it on, and nothing has moved for 10 seconds
 * since: it will not be done, let go of it, too; and for the thread ("Threads", above).
 */
OZARR_CHECKED ozarr_status ozarr_mpi_request_test(ozarr_mpi_request *request, bool *done);

/**
 * Completes the request and frees it, whatever its own error is, which may be any. Collective: requests are waited for in the same order on all
 * ranks.
 *
 * Errors: OZARR_ERR_ARGUMENT where a rank waits for another request, or calls something else (or the error of that call), and
 * OZARR_ERR_STATE as for all calls: the request stays then, to be waited for again. After an error `ozarr_mpi_request_test` tells: of a request
 * that is gone it is OZARR_ERR_INVALID_HANDLE.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_request_wait(ozarr_mpi_request *request);

/**
 * Lets go of a request that nobody will wait for, as after an error; NULL is taken. Local: moves on until this rank has done its part, and touches
 * its memory no more. The other ranks have to move on, too: let go of theirs, or be in any call that waits. The next `ozarr_mpi_array_close` or
 * `ozarr_mpi_close` completes what was let go of, and has its error, if there is one; all ranks have to have let go of the same requests by then.
 * The handle is gone afterwards, unless the thread may not call MPI.
 *
 * Errors: OZARR_ERR_STATE where nothing has moved for 10 seconds: nothing is written to the memory any more, but that of a write may still be read
 * by MPI, which takes no message back; what is stored of the boxes is not known, and all later collective calls are OZARR_ERR_STATE on all ranks.
 */
ozarr_status ozarr_mpi_request_free(ozarr_mpi_request *request);

/* ========================================================================================================
 * Checkpoints
 * ========================================================================================================
 *
 * As in ozarr.h: a group that is there as a whole or not at all. All ranks write its arrays. */

/** Begins a checkpoint. Arrays are made in it by `ozarr_mpi_group_create_array`, and closed before the commit. */
OZARR_CHECKED ozarr_status ozarr_mpi_checkpoint_begin(ozarr_mpi *m, const char *location, const char *name, ozarr_group **out);

/**
 * Creates an array in a checkpoint, or any group, of `rank` dimensions `shape`; writes each rank's box of it; closes it. After an error there
 * is no array: the call can be made again. Where it could not be erased either, as the message says, or a server's answer was lost, one without
 * values may be there, and the same call is `OZARR_ERR_EXISTS`: erase it (`ozarr_group_erase`, in `ozarr_mpi_once`) before the call is made again.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_group_put(ozarr_mpi *m, ozarr_group *group, const char *path, ozarr_type type, int32_t rank,
    const int64_t *shape, const int64_t *start, const int64_t *count, const void *data, size_t size);

/**
 * Reads each rank's box of an array below a group.
 *
 * Errors: OZARR_ERR_NOT_FOUND, also for a checkpoint that was removed meanwhile, be another one in its place or not (what `data` holds is not
 * to be used then); those of `ozarr_mpi_array_read_all`.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_group_get(ozarr_mpi *m, const ozarr_group *group, const char *path, ozarr_type type,
    const int64_t *start, const int64_t *count, void *data, size_t size);

/** Commits the checkpoint and closes the group, whatever the status says, unless the call is refused ("Handles", above). */
OZARR_CHECKED ozarr_status ozarr_mpi_checkpoint_commit(ozarr_mpi *m, ozarr_group *group);

/** Gives the checkpoint up and closes the group, as the commit does. */
OZARR_CHECKED ozarr_status ozarr_mpi_checkpoint_abandon(ozarr_mpi *m, ozarr_group *group);

/** Opens the newest committed checkpoint for reading; OZARR_ERR_NOT_FOUND on all ranks if there is none. */
OZARR_CHECKED ozarr_status ozarr_mpi_checkpoint_latest(ozarr_mpi *m, const char *location, ozarr_group **out);

/* ========================================================================================================
 * Series
 * ========================================================================================================
 *
 * The steps of a dataset's variables along one dimension. The variables of a step are stored first, its coordinate last: a step counts when
 * all variables have it (`ozarr_dataset_dimension_length`), and what a killed run has of further ones is cut off when the series is opened
 * again. Where another program has made a variable longer, or opened a series in a store without locks, calls that would store something are
 * OZARR_ERR_STATE, and what was published until then stays as it is. What ranks put goes by conditions there
 * as what `ozarr_series_open` puts does, where the server keeps them. Steps of a variable whose chunks are deeper than one step wait on each rank until the chunks are whole, so that each chunk is
 * encoded and stored once. */

/**
 * Opens the steps of the dataset at `location` along `dimension`, behind the last step that is published: as many as the coordinate has, else
 * as the shortest variable that has any, but for those that came late (see `ozarr_series_open`). What some variables have beyond it, after a kill,
 * is cut off; shorter ones have the fill value in the steps that they lack. Make the dataset in `ozarr_mpi_once`. `keep`, `publish_every` and OZARR_ERR_AGAIN, while another series of the
 * dimension is open, are as for `ozarr_series_open`. `memory`: the most bytes that steps may wait in on a rank, 0: no limit; where they would
 * be more, steps that were taken are published earlier. The series is freed by `ozarr_mpi_series_close`, without which `m` cannot be closed.
 *
 * Errors: those of `ozarr_series_open`; OZARR_ERR_NULL; OZARR_ERR_ARGUMENT for a negative `publish_every`.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_series_open(ozarr_mpi *m, const char *location, const char *dimension, int64_t keep,
    int64_t publish_every, size_t memory, ozarr_mpi_series **out);

/**
 * Gives a variable each rank's box of the step that comes next; `start` and `shape` have the variable's dimensions without that of the
 * series. Of a variable that has no other dimension the value of rank 0 counts. The elements are copied or stored when this returns. After an
 * error the variable does not have its values of this step.
 *
 * Errors: OZARR_ERR_NOT_FOUND; OZARR_ERR_ARGUMENT for a variable without the dimension, and for boxes of two ranks that overlap;
 * OZARR_ERR_STATE if it has its values of this step, or another program is at work; those of `ozarr_mpi_array_write_all`. A number that is put
 * into the coordinate goes on as the values of steps do: OZARR_ERR_ARGUMENT for NaN and one that goes back, OZARR_ERR_RANGE for one that the
 * coordinate cannot tell from the last one.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_series_put(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, const int64_t *start,
    const int64_t *shape, ozarr_type type, const void *data, size_t size);

/**
 * Gives a variable each rank's box from any memory; `region` and `memory` have the variable's dimensions without that of the series, of which
 * there are `rank`.
 *
 * Errors: OZARR_ERR_RANK for another number of dimensions; those of `ozarr_mpi_series_put` and `ozarr_mpi_array_write_all_ex`.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_series_put_ex(ozarr_mpi *m, ozarr_mpi_series *series, const char *name, int32_t rank,
    const ozarr_region *region, const ozarr_memory *memory);

/**
 * Ends the step: `value` is that of the coordinate, unless it was put or there is none. Variables that were left out have the fill value.
 * Publishes when it is time. After an error `ozarr_mpi_series_position` says whether the step was taken: then publishing failed (a full
 * disk), and the next step, flush or close publishes it.
 *
 * Errors: OZARR_ERR_ARGUMENT for NaN, and for a value that goes back, as after a restart at the wrong step; OZARR_ERR_RANGE for one that the
 * coordinate cannot hold, or cannot tell from the last one, and for a fraction in one of integers; OZARR_ERR_TYPE where it has no numbers but points in time, which are to be put;
 * OZARR_ERR_STATE where another program is at work; those of `ozarr_mpi_array_write_all`, documents and stores.
 */
OZARR_CHECKED ozarr_status ozarr_mpi_series_step(ozarr_mpi *m, ozarr_mpi_series *series, double value);

/** Stores and publishes all steps, and makes them durable, as before a checkpoint is committed. */
OZARR_CHECKED ozarr_status ozarr_mpi_series_flush(ozarr_mpi *m, ozarr_mpi_series *series);

/** Gets the number of steps that were taken, which is the index of the next one, and of those that readers see; either may be NULL. Local. */
OZARR_CHECKED ozarr_status ozarr_mpi_series_position(const ozarr_mpi_series *series, int64_t *position, int64_t *published);

/**
 * Publishes, and closes the series; a step that was not ended, or could not be published, is cut off, and its values do not show when the
 * variables become longer. The handle is gone, whatever the status says, unless the call is refused ("Handles", above).
 */
OZARR_CHECKED ozarr_status ozarr_mpi_series_close(ozarr_mpi *m, ozarr_mpi_series *series);

#ifdef __cplusplus
}
#endif

#endif
