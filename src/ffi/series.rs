//! Series: the steps of a run
//!
//! A series writes the steps of all variables of a dataset that have one dimension, such as time.
//! Readers see a step when all variables have it: the chunks are stored first, then the lengths of all
//! variables, that of the coordinate last, and the consolidated metadata, by which xarray and other
//! programs open the run, change at once. A run that was killed goes on behind the last step that all
//! variables have. A reader waits for steps by `ozarr_dataset_wait_growth`. See docs/timesteps.md.
//!
//! ```c
//! ozarr_series *steps = NULL;
//! if (ozarr_series_open(ds, "time", -1, 0, 0, &steps)) goto fail;
//! if (ozarr_series_position(steps, &step, NULL)) goto fail;
//! for (; step < STEPS; step++) {
//!     compute(t, p);
//!     if (ozarr_series_step(steps, 60.0 * step, 2, names, memories)) goto fail;
//! }
//! if (ozarr_series_close(steps)) goto fail;
//! ```

use super::appender::longest_wait;
use super::dense::contiguous;
use super::entry;
use super::handle::Handle;
use super::region::{memory_of, ozarr_memory};
use super::status::ozarr_status;
use super::strings::{at_least_0, item_count, put_optional, put_positions, texts};
use super::structs::structs;
use super::types::{Turn, ozarr_dataset, ozarr_series, ozarr_type};
use crate::node::Series;
use std::ffi::{c_char, c_void};

/// Opens the steps of a dataset along a dimension, behind the last step that is published: as many as the
/// coordinate has, else as the shortest variable that has any. What some variables have beyond that,
/// after a kill, is cut off. Variables are defined before, with a length of 0 in a new run; one that is
/// defined later, by `dataset`, or by another program and then put, has the fill value in the steps before.
/// One of another program that is not put stays as long as it was made until the series is closed, or one is
/// opened again, which gives it the fill value: xarray refuses to open the dataset meanwhile. Where
/// consolidated metadata tell more steps of others, no step is cut off for such a variable, nor for a
/// coordinate without values. The dataset may be closed after or before the series.
///
/// `keep`: how many steps stay, as the checkpoint of a restart tells; those beyond are cut off, for all
/// readers at once, and come again. Negative: all that are published. An archive, or a store of functions
/// without `erase`, erases nothing and keeps them outside of the variables: until a step is written again
/// it shows what it had where `ozarr_dataset_resize_dimension` or `ozarr_array_resize` makes a variable
/// longer.
///
/// `publish_every`: readers see the steps when their number passes a multiple of it. 0: of the depth of
/// the chunks, the largest of the variables that have further dimensions. Numbers that are not
/// multiples of a variable's depth store its chunks in part, which are read and encoded again later.
///
/// `memory`: the most bytes that waiting steps may take; 0: no limit. One chunk along the dimension
/// across each variable must fit: less is `OZARR_ERR_LIMIT`, whose message has both numbers.
///
/// A dimension has one series at a time, in this process or another one, where the store has locks: while
/// it is open another is `OZARR_ERR_AGAIN`, nothing is changed, and it can be opened when that one is
/// closed or its process has ended. What a program writes without a series is found before it is written
/// over (`OZARR_ERR_STATE`); close the series then, what is published stays.
/// An object store has no locks: a series that is opened there later goes on with the run from its first
/// step on, and this one is `OZARR_ERR_STATE` when it stores its next steps, or both are where this one
/// publishes at that moment. What was published until then stays. Where the server keeps conditions of puts
/// (`"cloud.conditional_put"`), a chunk of this one whose put comes late replaces none of the newer one; only
/// where that one leaves a chunk out, as it holds the fill value, may it be stored, with `OZARR_OK` there.
/// See docs/timesteps.md.
///
/// Errors: `OZARR_ERR_NOT_FOUND` without such a dimension, `OZARR_ERR_ARGUMENT` if no variable has it,
/// `OZARR_ERR_BOUNDS` for fewer than `keep` steps (nothing is changed), `OZARR_ERR_READ_ONLY`,
/// `OZARR_ERR_TYPE` for variables whose elements have no fixed size; `OZARR_ERR_UNSUPPORTED` for one that
/// has the dimension twice; `OZARR_ERR_AGAIN` while another series of the dimension is open; those of
/// documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_open(
    dataset: *mut ozarr_dataset,
    dimension: *const c_char,
    keep: i64,
    publish_every: i64,
    memory: usize,
    out: *mut *mut ozarr_series,
) -> ozarr_status {
    entry!("ozarr_series_open", new(out), handles(dataset), texts(dimension), {
        let every = at_least_0(publish_every, "publish_every")?;
        let series = Series::open(&dataset, dimension, u64::try_from(keep).ok(), every, memory)?;
        Ok(Turn::new(series))
    })
}

/// Gives variable `name` its values of the step that comes next, from `data`: contiguous, the last
/// index fastest, of the variable's shape without the series' dimension. They are copied: `data` may be
/// changed when this returns. A variable may be left out of steps: it has the fill value there. A
/// series moves stored numbers: those of a packed variable (`scale_factor`, `add_offset`) are packed by
/// the program, and NaN does not become the missing value.
///
/// After an error the variable does not have its values of this step; the call may be repeated, also
/// when a full disk has room again.
///
/// Errors: `OZARR_ERR_NOT_FOUND`; `OZARR_ERR_ARGUMENT` for a variable without the dimension;
/// `OZARR_ERR_STATE` if it has its values of this step already; for values of the coordinate
/// `OZARR_ERR_ARGUMENT` for one that goes back, is the last one again or NaN, and `OZARR_ERR_RANGE` for
/// another one that its type cannot tell from the last one; `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT` as for writing a region; those of chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_put(
    series: *mut ozarr_series,
    name: *const c_char,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_series_put", handles(series), texts(name), {
        series.with(|series| {
            // SAFETY: `data` has `size` bytes, by the function's contract.
            unsafe { series.put(name, |array, shape| contiguous(array, shape, r#type, data.cast_mut(), size)) }
        })
    })
}

/// Gives a variable its values from any memory: with a halo (ghost cells), of another type,
/// column-major. Else as `ozarr_series_put`. The memory is that of a region of the variable that has one
/// step: `sizes`, `starts` and `strides` have a number for each of its dimensions, for that of the steps,
/// too (1, 0 and any).
///
/// Errors: `OZARR_ERR_NOT_FOUND`, `OZARR_ERR_STATE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_RANGE` as for
/// `ozarr_series_put`; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_ARGUMENT` as for `ozarr_array_write_ex`; those of chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_put_ex(series: *mut ozarr_series, name: *const c_char, memory: *const ozarr_memory) -> ozarr_status {
    entry!("ozarr_series_put_ex", handles(series), texts(name), {
        series.with(|series| {
            // SAFETY: a struct that begins with its size, and memory as it says, by the function's contract.
            unsafe { series.put(name, |array, shape| memory_of(array, shape, memory)) }
        })
    })
}

/// Gives `count` variables their values of the step that comes next, as `ozarr_series_put_ex` does, and
/// ends the step: one call a step. `names` and `memories` may be NULL if `count` is 0: all was put before.
/// `value` is that of the coordinate, unless the coordinate was given its values as a variable (as
/// integers above 2^53 are) or the series has none. Variables that were left out have the fill value.
/// Publishes when it is time.
///
/// The values of the coordinate rise, or fall: one that goes back, as after a restart at the wrong
/// step, is `OZARR_ERR_ARGUMENT`, NaN too; a fraction in a coordinate of integers is `OZARR_ERR_RANGE`, and
/// so is a value that the coordinate's type cannot tell from the last one (one of float32 counts seconds
/// to 16,777,216, which are 194 days).
/// All arguments are checked first: after a wrong one nothing is taken. After a number that does not fit
/// or a failure of the store, the call may be repeated if `ozarr_series_position` says that the step was
/// not taken; variables that were taken keep their values. If it was taken, publishing failed (a full
/// disk): the next step, flush or close publishes it.
///
/// Errors: `OZARR_ERR_NOT_FOUND`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_BOUNDS` as for
/// `ozarr_series_put_ex`; `OZARR_ERR_STATE` if a variable has its values of this step already, or another
/// process has written; those of documents, chunks and stores.
///
/// @param[in] names,memories array(count), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_step(
    series: *mut ozarr_series,
    value: f64,
    count: i64,
    names: *const *const c_char,
    memories: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_series_step", handles(series), {
        let count = item_count(count)?;
        // SAFETY: `count` texts, by the function's contract.
        let names = unsafe { texts(names, count, "names") }?;
        // SAFETY: `count` structs that begin with their size, by the function's contract.
        let memories = unsafe { structs(memories, count, "memories") }?;
        series.with(|series| {
            // SAFETY: memory as the structs say, by the function's contract.
            unsafe { series.step_with(value, &names, |i, array, shape| memory_of(array, shape, memories[i])) }
        })
    })
}

/// Gets the number of steps that were taken (`*position`), which is also the index of the next one, and
/// the number that readers see (`*published`); either may be NULL. A restart asks for the position
/// after opening.
///
/// Errors: none of its own.
///
/// @param[out] position,published may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_position(series: *mut ozarr_series, position: *mut i64, published: *mut i64) -> ozarr_status {
    entry!("ozarr_series_position", handles(series), {
        let found = series.with(|series| Ok(series.position()))?;
        // SAFETY: each points to room for a number, or is NULL.
        unsafe { put_positions(found, position, published) }
    })
}

/// Stores and publishes all steps that were taken, and makes them durable as far as the store's
/// `"file.sync"` promises it. What could not be stored stays in memory; each further flush tries again.
///
/// Errors: `OZARR_ERR_STATE` if another process has written; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_flush(series: *mut ozarr_series) -> ozarr_status {
    entry!("ozarr_series_flush", handles(series), { series.with(Series::flush) })
}

/// Flushes and frees. The handle is gone, whatever the status says; steps that could not be stored are
/// lost, and so are values of a step that was not ended. Variables that another program has defined
/// meanwhile get the steps of the others, with the fill value; an error of one that no series can write is
/// told when all steps are published. Where the dataset was closed before, what its
/// closing brings up to date is once more (`"consolidate"`, `"nczarr"`). In a child of `fork` nothing is
/// flushed (`OZARR_ERR_FORKED`).
///
/// Errors: `OZARR_ERR_STATE` if another process has written; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_close(series: *mut ozarr_series) -> ozarr_status {
    entry!("ozarr_series_close", { ozarr_series::close(series, "series")?.with(Series::close) })
}

/// Frees the series; NULL is allowed. Steps that wait are stored and published, but errors are not
/// reported: use `ozarr_series_close` to see them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_free(series: *mut ozarr_series) {
    entry!("ozarr_series_free", else (), { ozarr_series::free(series, "series") })
}

/// Waits until all variables along a dimension are longer than `beyond`; `*length` (`length` may be NULL)
/// becomes the length that all have, which is that of the dataset and of the arrays opened from it from
/// then on. A series publishes it when all its steps are stored: what is read of them is whole.
/// `OZARR_ERR_TIMEOUT` after `seconds`: 0 looks once, a negative number sets no limit. A reader that is
/// faster than the writer waits here again and loses nothing. Steps that were cut off since they were
/// seen, by a run that began again at an earlier one, are waited for like new ones. A dimension that no
/// variable has yet is 0 long: the reader may come before the writer has defined it, and the dataset knows
/// the variables that were defined meanwhile when this returns the first steps.
///
/// The variables' metadata documents are checked one after the other after pauses of 1 ms that grow to
/// 64 ms (in a remote store 0.1 s to 1.6 s). Checking a file is one system call; it is read only if it has
/// changed.
///
/// Errors: `OZARR_ERR_NOT_FOUND` if a variable is gone; `OZARR_ERR_STATE` if one with another number of
/// dimensions is in its place; `OZARR_ERR_ARGUMENT` for a negative `beyond` or NaN; those of documents and
/// stores.
///
/// @param[out] length may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_wait_growth(
    dataset: *mut ozarr_dataset,
    dimension: *const c_char,
    beyond: i64,
    seconds: f64,
    length: *mut i64,
) -> ozarr_status {
    entry!("ozarr_dataset_wait_growth", handles(dataset), texts(dimension), {
        let found = dataset.wait_growth(dimension, at_least_0(beyond, "beyond")?, longest_wait(seconds)?)?;
        // SAFETY: `length` points to room for a number, or is NULL.
        unsafe { put_optional(found as i64, length) };
        Ok(())
    })
}
