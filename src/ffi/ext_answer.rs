//! Stores of your own: making one, and its answers
//!
//! A function that reads puts bytes, or keys, into the handle that it was given.

use super::context::context_of;
use super::entry;
use super::ext_store::ozarr_store_table;
use super::handle::Handle;
use super::status::{kind_of, ozarr_error_info, ozarr_status};
use super::strings::{bytes, put};
use super::structs::read_struct;
use super::types::{ozarr_answer, ozarr_context, ozarr_keys, ozarr_store};
use super::user_store::{finish, table_of};
use crate::error::{Error, ErrorKind, bail, err};
use crate::limits::push;
use crate::node::registered::MAX_TOKEN;
use crate::node::{Mode, Store};
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

/// Makes a store of functions. Mode `"r"` never calls those that change it; `"r+"` does. `context` has
/// settings, or is NULL. The table is copied. After an error `destroy` is not called, and `table->user`
/// stays yours.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`, an unknown flag, or functions that need others.
///
/// @param[in] context may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_from_table(
    context: *const ozarr_context,
    table: *const ozarr_store_table,
    mode: *const c_char,
    out: *mut *mut ozarr_store,
) -> ozarr_status {
    entry!("ozarr_store_from_table", cleared(out), texts(mode), {
        let mode = Mode::parse(mode)?;
        let context = context_of(context)?;
        // SAFETY: NULL, or a struct with its size, by the function's contract.
        let calls = Arc::new(unsafe { table_of(table, "table") }?);
        let handle = ozarr_store::insert(Store::from_calls(&context, calls.clone(), mode)).inspect_err(|_| calls.disarm())?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(handle, out, "out") }
    })
}

/// Makes `message` the calling thread's last error and returns `status`, for callbacks that fail:
/// `return ozarr_set_error(OZARR_ERR_IO, "the tape is torn", NULL);`. The call that ran the callback then
/// fails with that status, and its message has yours in it. `message` is one line of UTF-8; NULL is
/// allowed. A value that is not an error status becomes `OZARR_ERR_CALLBACK`.
///
/// `details` says more, for `ozarr_last_error_info`: its `os_errno`, `http_status`, `key` and `field`, of
/// which the last two are also put in front of the message. Its status and message do not count.
///
/// Errors: `status`, or `OZARR_ERR_CALLBACK`: it never returns OK.
///
/// @param[in] message may be NULL
/// @param[in] details may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_set_error(status: ozarr_status, message: *const c_char, details: *const ozarr_error_info) -> ozarr_status {
    entry!("ozarr_set_error", {
        let kind = kind_of(status).unwrap_or(ErrorKind::Callback);
        let text = match message.is_null() {
            true => "a callback failed".into(),
            // SAFETY: not NULL, hence a NUL-terminated text, by the function's contract.
            false => unsafe { CStr::from_ptr(message) }.to_string_lossy(),
        };
        let error = Error::new(kind, text);
        if details.is_null() {
            return Err(error);
        }
        // SAFETY: not NULL, hence a struct with its size, by the function's contract.
        let details = unsafe { read_struct(details, "details") }?;
        let mut error = error.with_errno(details.os_errno).with_http_status(details.http_status);
        // SAFETY: NULL or NUL-terminated texts, by the function's contract.
        let [key, field] = [details.key, details.field].map(|p| unsafe { (!p.is_null()).then(|| CStr::from_ptr(p).to_string_lossy()) });
        if let Some(field) = field.filter(|text| !text.is_empty()) {
            error = error.at_field(field);
        }
        if let Some(key) = key.filter(|text| !text.is_empty()) {
            error = error.at_key(key);
        }
        Err(error)
    })
}

/// Adds the next part of an answer: `size` bytes, which are copied. In an answer for ranges the parts
/// are those of the ranges, in order, and their sizes are checked.
///
/// Errors: `OZARR_ERR_ARGUMENT` for more parts than ranges, and for a part longer than its range;
/// `OZARR_ERR_TRUNCATED` for a shorter one; `OZARR_ERR_LIMIT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_answer_put(answer: *mut ozarr_answer, data: *const c_void, size: usize) -> ozarr_status {
    entry!("ozarr_answer_put", handles(answer), {
        // SAFETY: `size` bytes, by the function's contract.
        let bytes = unsafe { bytes(data, size, "data") }?;
        answer.with(|pending| {
            let part = pending.next_part(size)?;
            part.copy_from_slice(bytes);
            Ok(())
        })
    })
}

/// Allocates the next part of an answer: `*data` becomes a pointer to `size` bytes of 0, to be filled
/// before the function returns (of a read that was started: before `ozarr_answer_done`).
///
/// Errors: `OZARR_ERR_ARGUMENT` for more parts than ranges, and for a part longer than its range;
/// `OZARR_ERR_TRUNCATED` for a shorter one; `OZARR_ERR_LIMIT`.
///
/// @param[out] data
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_answer_room(answer: *mut ozarr_answer, size: usize, data: *mut *mut c_void) -> ozarr_status {
    entry!("ozarr_answer_room", put(data), handles(answer), {
        let room = answer.with(|pending| pending.next_part(size).map(|part| part.as_mut_ptr()))?;
        Ok(room.cast())
    })
}

/// Says which version of the key's value the answer is of: any bytes (an ETag, a counter), at most 1,024,
/// that never come back for another value of that key.
///
/// Errors: `OZARR_ERR_ARGUMENT` for more bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_answer_version(answer: *mut ozarr_answer, version: *const c_void, size: usize) -> ozarr_status {
    entry!("ozarr_answer_version", handles(answer), {
        if size > MAX_TOKEN {
            bail!(Argument, "the version has {size} bytes, the limit is {MAX_TOKEN}");
        }
        // SAFETY: `size` bytes, by the function's contract.
        let token = unsafe { bytes(version, size, "version") }?.to_vec();
        answer.with(|pending| {
            pending.answer.token = Some(token);
            Ok(())
        })
    })
}

/// Says how many bytes the whole value has that the answer is of: of use where ranges are asked for, or the
/// version only. Optional; without it a value is read whole where its length must be known.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative size.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_answer_size(answer: *mut ozarr_answer, size: i64) -> ozarr_status {
    entry!("ozarr_answer_size", {
        let size = u64::try_from(size).map_err(|_| err!(Argument, "the argument `size` is {size}, expected at least 0"))?;
        ozarr_answer::get(answer, "answer")?.with(|pending| {
            pending.answer.size = Some(size);
            Ok(())
        })
    })
}

/// Ends a read that `start_get_ranges` started, from any thread: with `OZARR_OK` once all parts are
/// given, or with what went wrong (`OZARR_ERR_NOT_FOUND`: the key holds nothing). The handle is gone
/// then. Hold no lock then that a function of a table takes: others may have their turn in it.
///
/// Errors: `OZARR_ERR_STATE` for an answer that is not one of `start_get_ranges`, or was ended before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_answer_done(answer: *mut ozarr_answer, status: ozarr_status) -> ozarr_status {
    entry!("ozarr_answer_done", {
        let done = ozarr_answer::get(answer, "answer")?.with(|pending| match pending.done.take() {
            Some(done) => Ok(done),
            None => bail!(State, "the answer is not one of `start_get_ranges`, or was ended before"),
        })?;
        finish(answer, status, "start_get_ranges", None, done);
        Ok(())
    })
}

/// Adds one key (or, for `list_dir`, one name) to a listing.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_keys_add(keys: *mut ozarr_keys, key: *const c_char) -> ozarr_status {
    entry!("ozarr_keys_add", handles(keys), texts(key), { keys.with(|all| push(all, key.to_string())) })
}
