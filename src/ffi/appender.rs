//! The steps of one array
//!
//! An appender makes an array longer along one dimension, step by step. Steps wait in memory until their
//! chunks are whole, so that each chunk is encoded once, however deep it is; the array's shape is
//! published after the data, so that readers see whole steps only, also in other processes and after a
//! kill; a restart continues after the last published step. A reader waits for more with
//! `ozarr_array_wait_growth`. See docs/timesteps.md. Calls on one appender take turns; from inside of a
//! function that one of them calls (the log's) another one is `OZARR_ERR_STATE`.
//!
//! ```c
//! ozarr_appender *out;
//! if (ozarr_appender_open(temperature, 0, 0, 0, &out)) goto fail;
//! for (int step = 0; step < steps; step++) {
//!     compute(t);
//!     if (ozarr_appender_append(out, 1, OZARR_FLOAT64, t, sizeof t)) goto fail;
//! }
//! if (ozarr_appender_close(out)) goto fail;
//! ```

use super::dense::contiguous;
use super::entry;
use super::handle::Handle;
use super::region::{memory_of, ozarr_memory};
use super::status::ozarr_status;
use super::strings::{at_least_0, dimension, put_optional, put_positions};
use super::types::{Turn, ozarr_appender, ozarr_array, ozarr_series, ozarr_type};
use crate::error::{Result, bail};
use crate::node::Appender;
use std::ffi::c_void;
use std::time::Duration;

/// Begins to append behind the last step of dimension `dim` (from 0) of an array that is open for writing.
///
/// `publish_every`: readers see the new length when it passes a multiple of `publish_every` steps. 0:
/// whenever chunks are whole along the dimension, which costs nothing but the document (and what the
/// store's `"file.sync"` asks for). If the number is not a multiple of the chunk depth, partly filled
/// chunks are stored and later read and encoded again; with 1 and depth D, each chunk is encoded D
/// times.
///
/// `memory`: the most bytes that waiting steps may take; 0: no limit. One chunk along the dimension,
/// across the whole array, must fit: less is `OZARR_ERR_LIMIT`, whose message has both numbers.
///
/// One appender at a time may be at work on an array: publishing finds a length that another one has
/// changed (`OZARR_ERR_STATE`). Not for elements of variable length (`OZARR_ERR_TYPE`), nor for dimensions
/// with listed extents of chunks (`OZARR_ERR_UNSUPPORTED`): these have `ozarr_array_append`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` if there is no dimension `dim`; `OZARR_ERR_ARGUMENT`
/// for a negative `publish_every`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_open(
    array: *mut ozarr_array,
    dim: i32,
    publish_every: i64,
    memory: usize,
    out: *mut *mut ozarr_appender,
) -> ozarr_status {
    entry!("ozarr_appender_open", new(out), handles(array), {
        let dim = dimension(array.rank(), dim)?;
        let appender = Appender::open(&array, dim, at_least_0(publish_every, "publish_every")?, memory)?;
        Ok(Turn::new(appender))
    })
}

/// Appends `count` steps from `data`: contiguous, the last index fastest, of the array's shape except
/// that the dimension has `count` elements. They are copied: `data` may be changed when this returns.
///
/// After an error in copying or storing the steps the position is unchanged, and they can be appended
/// again. After an error in publishing the position includes them; the next call, a flush or the close
/// publishes again.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative `count`; `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE` as for writing a region; `OZARR_ERR_STATE` if another one has published; those of
/// documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_append(
    appender: *mut ozarr_appender,
    count: i64,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_appender_append", handles(appender), {
        let count = at_least_0(count, "count")?;
        appender.with(|appender| {
            let memory = contiguous(appender.array(), &appender.shape_of(count), r#type, data.cast_mut(), size)?;
            // SAFETY: `data` has `size` bytes, by the function's contract.
            unsafe { appender.append(count, &memory) }
        })
    })
}

/// Appends `count` steps from any memory: with a halo (ghost cells), of another type, column-major. Else
/// as `ozarr_appender_append`.
///
/// Errors: `OZARR_ERR_ARGUMENT`, `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_RANGE`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_STATE` if
/// another one has published; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_append_ex(appender: *mut ozarr_appender, count: i64, memory: *const ozarr_memory) -> ozarr_status {
    entry!("ozarr_appender_append_ex", handles(appender), {
        let count = at_least_0(count, "count")?;
        appender.with(|appender| {
            // SAFETY: a struct that begins with its size, by the function's contract.
            let memory = unsafe { memory_of(appender.array(), &appender.shape_of(count), memory) }?;
            // SAFETY: the memory is as the struct says, by the function's contract.
            unsafe { appender.append(count, &memory) }
        })
    })
}

/// Gets the length of the dimension with all appended steps (`*position`), and the length that readers
/// see (`*published`); either may be NULL.
///
/// Errors: none of its own.
///
/// @param[out] position,published may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_position(appender: *const ozarr_appender, position: *mut i64, published: *mut i64) -> ozarr_status {
    entry!("ozarr_appender_position", handles(appender), {
        let found = appender.with(|appender| Ok(appender.position()))?;
        // SAFETY: each points to room for a number, or is NULL.
        unsafe { put_positions(found, position, published) }
    })
}

/// Stores and publishes all appended steps, and makes them durable as far as the store's `"file.sync"`
/// promises it. Steps that could not be stored stay in memory; each further flush tries again and
/// returns the error until it succeeds. Flush where a restart must find every step, as at a checkpoint.
///
/// Errors: `OZARR_ERR_STATE` if another one has published; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_flush(appender: *mut ozarr_appender) -> ozarr_status {
    entry!("ozarr_appender_flush", handles(appender), { appender.with(Appender::flush) })
}

/// Flushes and frees. The handle is gone, whatever the status says; steps that could not be stored are
/// lost. In a child of `fork` nothing is flushed (`OZARR_ERR_FORKED`): the steps are the parent's.
///
/// Errors: `OZARR_ERR_STATE` if another one has published; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_close(appender: *mut ozarr_appender) -> ozarr_status {
    entry!("ozarr_appender_close", { ozarr_appender::close(appender, "appender")?.with(Appender::close) })
}

/// Frees the appender; NULL is allowed. Steps that wait are stored and published, but errors are not
/// reported: use `ozarr_appender_close` to see them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_appender_free(appender: *mut ozarr_appender) {
    entry!("ozarr_appender_free", else (), { ozarr_appender::free(appender, "appender") })
}

/// Waits until dimension `dim` is longer than `beyond`; `*length` (`length` may be NULL) becomes its
/// length, and the shape of this handle is brought up to date. `OZARR_ERR_TIMEOUT` after `seconds`: 0
/// looks once, a negative number sets no limit.
///
/// The array's metadata document is checked after pauses of 1 ms that grow to 64 ms (in a remote store
/// 0.1 s to 1.6 s). Checking a file is one system call; it is read only if it has changed.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no dimension `dim`; `OZARR_ERR_ARGUMENT` for a negative
/// `beyond` or NaN; `OZARR_ERR_NOT_FOUND` if the array is gone; `OZARR_ERR_STATE` if one with another
/// number of dimensions is in its place; those of documents and stores.
///
/// @param[out] length may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_wait_growth(
    array: *mut ozarr_array,
    dim: i32,
    beyond: i64,
    seconds: f64,
    length: *mut i64,
) -> ozarr_status {
    entry!("ozarr_array_wait_growth", handles(array), {
        let dim = dimension(array.rank(), dim)?;
        let found = array.wait_growth(dim, at_least_0(beyond, "beyond")?, longest_wait(seconds)?)?;
        // SAFETY: `length` points to room for a number, or is NULL.
        unsafe { put_optional(found as i64, length) };
        Ok(())
    })
}

/// Publishes the steps before `position` of a series, which other processes have stored in the variables'
/// chunks and made durable: one process has the series, all write. The series itself takes none of them.
/// What this publishes is durable after `ozarr_node_flush` of the dataset's group.
/// Call it with the number of published steps before anything is stored, too: it finds out whether
/// another program has made a variable longer, and where the store has no locks it claims the variables,
/// so that a series that was opened before this is refused, and one that is opened later is found by the next
/// call. Chunks whose puts are under way by then may be stored over its steps, but by handles that have its
/// `"claim"` (`ozarr_node_set`).
///
/// Errors: `OZARR_ERR_STATE` if another program has published steps, claimed or replaced a variable
/// (nothing is published, and nothing is to be stored), or if the series has steps of its own that wait;
/// `OZARR_ERR_ARGUMENT` for fewer steps than are published, `OZARR_ERR_LIMIT` for more than an array can
/// have; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_series_declare(series: *mut ozarr_series, position: i64) -> ozarr_status {
    entry!("ozarr_series_declare", handles(series), {
        let position = at_least_0(position, "position")?;
        series.with(|series| series.declare(position))
    })
}

/// The longest wait for `seconds` from C: a negative number sets no limit.
pub(super) fn longest_wait(seconds: f64) -> Result<Duration> {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 86400);
    if seconds.is_nan() {
        bail!(Argument, "the argument `seconds` is NaN");
    }
    Ok(Duration::try_from_secs_f64(seconds).map_or(CENTURY, |wait| wait.min(CENTURY)))
}
