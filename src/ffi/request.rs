//! Requests: reads and writes that go on while the program computes
//!
//! The names and rules are MPI's. A call with an i (`ozarr_array_iwrite_region`) begins a read or a write,
//! gives a request and returns; the request is tested or waited for, and freed:
//!
//! ```c
//! ozarr_request *r = NULL;
//! if (ozarr_array_iwrite_region(t, start, shape, OZARR_FLOAT64, u, sizeof u, 0, &r)) goto fail;
//! compute(v);                          // u is not touched meanwhile
//! if (ozarr_request_wait(r, -1)) goto fail; // the write's own status
//! ozarr_request_free(r);
//! ```
//!
//! Memory.    Until the request is done, the elements of a write must not change and those of a read
//!            mean nothing. With `OZARR_REQUEST_COPY` those of a write are copied before the call
//!            returns, and are yours again. The structs and lists of arguments are always used during
//!            the call only. The array may be freed.
//! Ending.    A request is done when its work is, or when it is cancelled, freed or too late for its
//!            deadline. From then on nothing touches its memory, which may be freed at once. Cancelling
//!            blocks only while elements are being copied, or another thread is in the request's `done`,
//!            never on I/O. A cancelled write has stored some of its chunks and not others; each is old
//!            or new. Freed requests whose elements were copied are not cancelled, but go on.
//! Order.     Requests on one array whose chunks overlap are carried out in the order in which they were
//!            submitted in this process, unless both read; a blocking read or write,
//!            `ozarr_array_append`, and a resize that erases, come behind those submitted before. So
//!            overlapping writes end as if each had been a blocking call, and a read sees the writes
//!            before it. Everything else has no order: other chunks, the raw chunks and shard writers,
//!            and the same files opened by another name. Nothing waits inside of a function that the
//!            work on a request or a chunk's write calls (of a store, a codec; `done` of any thread): what
//!            a blocking call, a flush or a close does there has no order with requests under way.
//! Flushing.  `ozarr_node_flush`, `ozarr_array_close`, `ozarr_store_flush` and `ozarr_store_close` wait
//!            for the requests on what they flush. Errors of these are reported by the requests only.
//! Threads.   A context of N threads has N - 1 threads of the library for all this. With N = 1 (and in
//!            stores and codecs of your own that must stay in your threads) requests go on only inside
//!            of test, wait and the calls that wait for them. A request may be used by several threads
//!            at once.
//! Bounds.    All requests of a context that are not done have `"bytes_in_flight"` bytes of elements at
//!            most (`ozarr_context_set`; by default half of the memory, at most 16 GiB). The next one
//!            waits until others are done, and helps along; or, with `"when_full"` as `"again"`, and inside
//!            of such a function, is `OZARR_ERR_AGAIN`. One that alone has more is `OZARR_ERR_LIMIT`.
//! Fork.      In a child, requests of the parent are `OZARR_ERR_FORKED`; there they can only be freed.

use super::array::box_in_memory;
use super::entry;
use super::flight::{Flight, Texts, after, all_of, c_text, until};
use super::handle::Handle;
use super::host::HostPointer;
use super::region::{Moved, moved, ozarr_memory, ozarr_region};
use super::status::{self, ozarr_error_info, ozarr_status};
use super::strings::{not_null, put};
use super::structs::{Growing, growing, read_struct};
use super::types::{OZARR_CALLBACK_ANY_THREAD, ozarr_array, ozarr_request, ozarr_type, to_write};
use super::user_store::as_flagged;
use crate::error::{Result, bail};
use crate::limits::collect;
use crate::node::{OnDone, Pending, Progress, RequestOptions, requests, wait_any};
use std::ffi::{CString, c_char, c_void};

/// In the flags of a write: the elements are copied before the call returns.
pub const OZARR_REQUEST_COPY: u32 = 1;

/// How far a request is.
pub type ozarr_request_state = i32;

/// It waits for earlier requests on the same chunks.
pub const OZARR_REQUEST_STATE_QUEUED: ozarr_request_state = 0;
/// It is under way.
pub const OZARR_REQUEST_STATE_RUNNING: ozarr_request_state = 1;
/// It is done, and went well.
pub const OZARR_REQUEST_STATE_DONE: ozarr_request_state = 2;
/// It is done, and has an error (`ozarr_request_error`).
pub const OZARR_REQUEST_STATE_FAILED: ozarr_request_state = 3;

/// Called once when a request has ended, with its status and the message of an error ("" without one),
/// which is valid during the call only. It may begin other requests, but not wait for one, nor flush or
/// read what others write (see Order). What it returns has no effect: the request has ended.
pub type ozarr_request_done_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, status: ozarr_status, message: *const c_char) -> ozarr_status>;

/// How a request is to be carried out. Set it to `OZARR_REQUEST_OPTIONS_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_request_options {
    /// `sizeof(ozarr_request_options)`; set by `OZARR_REQUEST_OPTIONS_INIT`.
    pub struct_size: usize,
    /// A sum of `OZARR_REQUEST_COPY` (writes only) and `OZARR_CALLBACK_ANY_THREAD`, or 0.
    pub flags: u32,
    /// 0.
    pub reserved: i32,
    /// The deadline, in seconds from now: a request that is not done by then ends with
    /// `OZARR_ERR_TIMEOUT`. The time is checked in each call on the request, and before each piece of
    /// its work. 0: no deadline.
    pub seconds: f64,
    /// Called with `user` when the request is done; may be NULL. Without `OZARR_CALLBACK_ANY_THREAD` it
    /// runs in the call that first finds the request done (test, wait, cancel), in that call's thread,
    /// and not at all if the request is freed before. With it, it runs in whichever thread ends the
    /// request, one of the library's perhaps, perhaps before the call that began it returns; where that
    /// is in a call that changes a document, at its end, with the lock given back, or before in one that
    /// looks at the request or flushes its array. The request is done when it has returned.
    pub done: ozarr_request_done_fn,
    /// Handed to `done`.
    pub user: *mut c_void,
}
growing!(ozarr_request_options: 40, reserved);

/// Begins to read a region (a hyperslab), the box of `shape` elements that begins at `start`, to `data`:
/// contiguous, the last index fastest. Errors in the arguments are returned at once, all others by the
/// request.
///
/// Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a
/// `type` that does not fit; `OZARR_ERR_AGAIN` and `OZARR_ERR_LIMIT` (see Bounds above).
///
/// @param[in] start,shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_iread_region(
    array: *const ozarr_array,
    start: *const i64,
    shape: *const i64,
    r#type: ozarr_type,
    data: *mut c_void,
    size: usize,
    out: *mut *mut ozarr_request,
) -> ozarr_status {
    entry!("ozarr_array_iread_region", new(out), handles(array), {
        // SAFETY: one number for each dimension, by the function's contract.
        let (selection, memory) = unsafe { box_in_memory(&array, start, shape, r#type, (data, size)) }?;
        // SAFETY: `data` has `size` bytes until the request is done, by the contract.
        unsafe { array.start_read(&selection, &memory, RequestOptions::default()) }.map(Flight::new)
    })
}

/// Begins to write a region (a hyperslab), the box of `shape` elements that begins at `start`, from
/// `data`: contiguous, the last index fastest. `flags`: `OZARR_REQUEST_COPY`, or 0.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` for an array that this program has erased or
/// replaced since; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` for another
/// flag, `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; `OZARR_ERR_AGAIN`
/// and `OZARR_ERR_LIMIT` (see Bounds above).
///
/// @param[in] start,shape array(rank)
#[allow(clippy::too_many_arguments)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_iwrite_region(
    array: *const ozarr_array,
    start: *const i64,
    shape: *const i64,
    r#type: ozarr_type,
    data: *const c_void,
    size: usize,
    flags: u32,
    out: *mut *mut ozarr_request,
) -> ozarr_status {
    entry!("ozarr_array_iwrite_region", new(out), to_write(array), {
        if flags & !OZARR_REQUEST_COPY != 0 {
            bail!(Argument, "the argument `flags` is {flags}, expected OZARR_REQUEST_COPY or 0");
        }
        // SAFETY: one number for each dimension, by the function's contract.
        let (selection, memory) = unsafe { box_in_memory(&array, start, shape, r#type, (data.cast_mut(), size)) }?;
        let launch = RequestOptions { copy: flags & OZARR_REQUEST_COPY != 0, ..RequestOptions::default() };
        // SAFETY: `data` has `size` bytes as long as they are used, by the contract.
        unsafe { array.start_write(&selection, &memory, launch) }.map(Flight::new)
    })
}

/// Begins to read a region (NULL: the whole array) to any memory. `options` may be NULL.
///
/// Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`, `OZARR_ERR_ARGUMENT`,
/// `OZARR_ERR_NOT_FOUND` as for `ozarr_array_read_ex`; `OZARR_ERR_AGAIN` and `OZARR_ERR_LIMIT` (see
/// Bounds above).
///
/// @param[in] region,options may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_iread_ex(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
    options: *const ozarr_request_options,
    out: *mut *mut ozarr_request,
) -> ozarr_status {
    entry!("ozarr_array_iread_ex", new(out), {
        // SAFETY: structs that begin with their size, and memory as they say until the request is done, by the function's contract.
        unsafe { begin(array, region, memory, options, false) }.map(Flight::new)
    })
}

/// Begins to write a region (NULL: the whole array) from any memory. `options` may be NULL.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_STATE` for an array that this program has erased or
/// replaced since; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_TYPE`,
/// `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_AGAIN` and
/// `OZARR_ERR_LIMIT` (see Bounds above).
///
/// @param[in] region,options may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_iwrite_ex(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
    options: *const ozarr_request_options,
    out: *mut *mut ozarr_request,
) -> ozarr_status {
    entry!("ozarr_array_iwrite_ex", new(out), {
        // SAFETY: structs that begin with their size, and memory as they say as long as it is used, by the function's contract.
        unsafe { begin(array, region, memory, options, true) }.map(Flight::new)
    })
}

/// Begins to read or to write (`writing`) what `region` and `memory` say.
///
/// # Safety
/// Each struct is NULL or begins with its size, and the memory is as they say as long as it is used.
unsafe fn begin(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
    options: *const ozarr_request_options,
    writing: bool,
) -> Result<Pending> {
    let array = if writing { to_write(array, "array") } else { ozarr_array::get(array, "array") }?;
    // SAFETY: the caller's promise.
    let (moved, launch) = unsafe { (moved(&array, region, memory, writing)?, launch_of(options)?) };
    if !writing {
        refuse_copy(&launch)?;
    }
    // SAFETY: the caller's promise.
    unsafe {
        match moved {
            Moved::Whole(selection, memory) if writing => array.start_write(&selection, &memory, launch),
            Moved::Whole(selection, memory) => array.start_read(&selection, &memory, launch),
            Moved::Parts(parts) if writing => requests::start_write_many(parts, launch),
            Moved::Parts(parts) => requests::start_read_many(parts, launch),
        }
    }
}

/// Checks whether the request is done (`*done`), and does a part of its work if no thread of the library
/// does. When it is done the status is the request's own, and `*done` is true whatever the status is.
///
/// Errors: those of the request: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`, `OZARR_ERR_TIMEOUT` after its
/// deadline; those of chunks and stores.
///
/// @param[out] done
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_request_test(request: *const ozarr_request, done: *mut bool) -> ozarr_status {
    entry!("ozarr_request_test", handles(request), {
        not_null(done, "done")?;
        let is_done = request.pending.test()?;
        // SAFETY: `done` points to room for it.
        unsafe { put(is_done, done, "done") }?;
        if is_done { request.outcome() } else { Ok(()) }
    })
}

/// Waits until the request is done, helping with the work, and returns its status; waiting again returns
/// it again. `seconds` is the longest wait, negative without a limit: `OZARR_ERR_TIMEOUT` if the request is
/// not done by then: it goes on, and may be waited for again. (One that missed its own deadline is done, and
/// `ozarr_request_get_state` says so.) With one thread, the time is looked at between two pieces of work.
///
/// Errors: `OZARR_ERR_ARGUMENT` for NaN; `OZARR_ERR_STATE` from inside of a function that a request
/// calls; those of the request: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`; those of chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_request_wait(request: *const ozarr_request, seconds: f64) -> ozarr_status {
    entry!("ozarr_request_wait", handles(request), {
        if !request.pending.wait(until(seconds)?)? {
            bail!(Timeout, "the request is not done after {seconds} seconds; it goes on");
        }
        request.outcome()
    })
}

/// Cancels the request, unless it is done: its status becomes `OZARR_ERR_CANCELLED`. When this returns,
/// its memory is no longer used. This blocks only while elements are being copied, or another thread is in
/// the request's `done`, never on I/O. Some chunks of a write may be stored, each as a whole.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_request_cancel(request: *const ozarr_request) -> ozarr_status {
    entry!("ozarr_request_cancel", handles(request), { request.pending.cancel() })
}

/// Frees the handle; NULL is allowed. A request that is not done is cancelled, or, if its elements were
/// copied, goes on. When this returns, its memory is not touched any more. This blocks as
/// `ozarr_request_cancel` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_request_free(request: *mut ozarr_request) {
    entry!("ozarr_request_free", else (), {
        if !request.is_null() {
            ozarr_request::close(request, "request")?.pending.let_go();
        }
        Ok(())
    })
}

/// Gets the state of the request, without working on it.
///
/// Errors: none of its own.
///
/// @param[out] state
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_request_get_state(request: *const ozarr_request, state: *mut ozarr_request_state) -> ozarr_status {
    entry!("ozarr_request_get_state", put(state), handles(request), {
        Ok(match request.pending.progress()? {
            Progress::Queued => OZARR_REQUEST_STATE_QUEUED,
            Progress::Running => OZARR_REQUEST_STATE_RUNNING,
            Progress::Done if request.outcome().is_ok() => OZARR_REQUEST_STATE_DONE,
            Progress::Done => OZARR_REQUEST_STATE_FAILED,
        })
    })
}

/// Fills `info`, whose `struct_size` the caller has set, with the request's own error; its status is
/// `OZARR_OK` without one. The texts live as long as the request. `OZARR_ERR_STATE` before it is done.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_request_error(request: *const ozarr_request, info: *mut ozarr_error_info) -> ozarr_status {
    entry!("ozarr_request_error", fill(info), handles(request), {
        let none = c"".as_ptr();
        let mut found = ozarr_error_info { message: none, key: none, field: none, ..Growing::empty() };
        if let Err(error) = request.pending.outcome()? {
            let texts = request.error.get_or_init(|| {
                let text = |part: Option<&str>| c_text(part.unwrap_or_default());
                Texts { message: c_text(&error.to_string()), key: text(error.key()), field: text(error.field()), error }
            });
            found.status = texts.error.kind().status();
            (found.os_errno, found.http_status) = (texts.error.os_errno(), texts.error.http_status());
            (found.message, found.key, found.field) = (texts.message.as_ptr(), texts.key.as_ptr(), texts.field.as_ptr());
        }
        Ok(found)
    })
}

/// Waits until all requests are done (NULL ones count as done), for at most `seconds` (negative: without
/// end): then `OZARR_ERR_TIMEOUT`, if one is not. Else the status is that of the first, in the order of
/// the list, that failed. `statuses`, unless it is NULL, gets the status of each, in any case
/// (`OZARR_ERR_STATE` of those that are not done; a request may have failed with it, too, of which
/// `ozarr_request_get_state` says that it is done).
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative `count` or NaN; `OZARR_ERR_STATE` from inside of a
/// function that a request calls; those of the requests: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`; those
/// of chunks and stores.
///
/// @param[in] requests array(count)
/// @param[out] statuses array(count), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_requests_wait_all(
    requests: *const *mut ozarr_request,
    count: i64,
    seconds: f64,
    statuses: *mut ozarr_status,
) -> ozarr_status {
    entry!("ozarr_requests_wait_all", {
        // SAFETY: `count` handles, by the function's contract.
        let all = unsafe { all_of(requests, count) }?;
        let until = until(seconds)?;
        let (mut first, mut late) = (Ok(()), None);
        let waited = all.iter().enumerate().try_for_each(|(i, request)| {
            let Some(request) = request else { return Ok(()) };
            if !request.pending.wait(until)? {
                late.get_or_insert(i);
            } else if first.is_ok() {
                first = request.outcome();
            }
            Ok(())
        });
        for (i, request) in all.iter().enumerate().filter(|_| !statuses.is_null()) {
            let status = request.as_ref().map_or(Ok(()), |r| r.outcome());
            // SAFETY: room for `count` statuses, by the function's contract.
            unsafe { statuses.add(i).write(status.map_or_else(|e| e.kind().status(), |()| status::OZARR_OK)) };
        }
        waited?;
        match late {
            Some(i) => bail!(Timeout, "requests[{i}] is not done after {seconds} seconds; it goes on"),
            None => first,
        }
    })
}

/// Waits until one of the requests is done, for at most `seconds` (negative: without end). `*index`
/// becomes its index in the list, from 0, whose entry is then best set to NULL; -1 if all are NULL. The
/// status is that request's own: `*index` is set whatever it is, except to `OZARR_ERR_TIMEOUT` when none
/// is done in time, which leaves it at -1.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative `count` or NaN; `OZARR_ERR_STATE` from inside of a
/// function that a request calls; those of the request: `OZARR_ERR_RANGE`, `OZARR_ERR_CANCELLED`; those
/// of chunks and stores.
///
/// @param[in] requests array(count)
/// @param[out] index
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_requests_wait_any(
    requests: *const *mut ozarr_request,
    count: i64,
    seconds: f64,
    index: *mut i64,
) -> ozarr_status {
    entry!("ozarr_requests_wait_any", {
        not_null(index, "index")?;
        // SAFETY: `count` handles, by the function's contract.
        let all = unsafe { all_of(requests, count) }?;
        let until = until(seconds)?;
        let there: Vec<(usize, &Flight)> = collect(all.iter().enumerate().filter_map(|(i, r)| Some((i, &**r.as_ref()?))))?;
        let pending: Vec<&Pending> = collect(there.iter().map(|(_, r)| &r.pending))?;
        let found = if pending.is_empty() { None } else { wait_any(&pending, until)? };
        // SAFETY: `index` points to room for it.
        unsafe { put(found.map_or(-1, |k| there[k].0 as i64), index, "index") }?;
        match found {
            Some(k) => there[k].1.outcome(),
            None if pending.is_empty() => Ok(()),
            None => bail!(Timeout, "none of {} requests is done after {seconds} seconds; they go on", pending.len()),
        }
    })
}

/// Waits for all requests of the process, those whose handles are freed among them, and ends the threads
/// of the library: call it before `MPI_Finalize`, `dlclose` or the end of `main`, if the program must
/// not have other threads then: a process whose `main` ends by `pthread_exit` would stay with them.
/// Later calls start threads again. Stores with threads of their own (object stores, web servers) keep
/// them until they are closed.
/// `OZARR_ERR_STATE` from inside of a function that the library calls in one of its threads.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_shutdown() -> ozarr_status {
    entry!("ozarr_shutdown", { crate::node::requests::shutdown() })
}

type Done = unsafe extern "C" fn(*mut c_void, ozarr_status, *const c_char) -> ozarr_status;

const FLAGS: u32 = OZARR_REQUEST_COPY | OZARR_CALLBACK_ANY_THREAD;

/// # Safety
/// `options` is NULL or points to a struct that begins with its size.
pub(super) unsafe fn launch_of(options: *const ozarr_request_options) -> Result<RequestOptions> {
    if options.is_null() {
        return Ok(RequestOptions::default());
    }
    // SAFETY: the caller's promise.
    let options = unsafe { read_struct(options, "options") }?;
    if options.flags & !FLAGS != 0 {
        bail!(Argument, "`options->flags` has {}, expected OZARR_REQUEST_COPY and OZARR_CALLBACK_ANY_THREAD only", options.flags & !FLAGS);
    }
    if options.seconds.is_nan() || options.seconds < 0.0 {
        bail!(Argument, "`options->seconds` is {}, expected 0 or more", options.seconds);
    }
    let (any_thread, user, flags) = (options.flags & OZARR_CALLBACK_ANY_THREAD != 0, HostPointer(options.user), options.flags);
    let on_done = options.done.map(|done| OnDone { any_thread, call: Box::new(move |result| tell(done, &user, flags, result)) });
    let deadline = if options.seconds > 0.0 { after(options.seconds) } else { None };
    Ok(RequestOptions { copy: options.flags & OZARR_REQUEST_COPY != 0, deadline, on_done, ..RequestOptions::default() })
}

/// Calls the host's function, in the host's world.
fn tell(done: Done, user: &HostPointer, flags: u32, result: &Result<()>) {
    let (status, text) = match result {
        Ok(()) => (status::OZARR_OK, CString::default()),
        Err(e) => (e.kind().status(), c_text(&e.to_string())),
    };
    // SAFETY: the host's function, by the contract of its type; the text lives as long as the call.
    as_flagged(flags, || unsafe { done(user.0, status, text.as_ptr()) });
}

/// A read has nothing to copy beforehand.
pub(super) fn refuse_copy(launch: &RequestOptions) -> Result<()> {
    if launch.copy {
        bail!(Argument, "`options->flags` has OZARR_REQUEST_COPY, which is for writes");
    }
    Ok(())
}
