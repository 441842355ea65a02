//! The state behind the requests of the C ABI, and how their options become those of the core.

use super::ext_store::OZARR_CALLBACK_ANY_THREAD;
use super::handle::{Handle, Ref, handle_type};
use super::request::{OZARR_REQUEST_COPY, ozarr_request_options};
use super::status::{self, ozarr_status};
use super::strings::{item_count, not_null};
use super::structs::read_struct;
use super::types::ozarr_request;
use super::user_store::as_flagged;
use crate::error::{Error, Result, bail};
use crate::node::{OnDone, Pending, RequestOptions};
use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The state behind an `ozarr_request`.
pub(crate) struct Flight {
    pub(super) pending: Pending,
    pub(super) error: OnceLock<Texts>,
}
handle_type!(ozarr_request, Request, Flight);

/// An error as C texts, which live as long as the request.
pub(super) struct Texts {
    pub(super) error: Error,
    pub(super) message: CString,
    pub(super) key: CString,
    pub(super) field: CString,
}

pub(super) fn c_text(text: &str) -> CString {
    CString::new(text.replace(|c: char| c.is_control(), " ")).unwrap_or_default()
}

impl Flight {
    pub(super) fn insert(pending: Pending) -> Result<*mut ozarr_request> {
        ozarr_request::insert(Flight { pending, error: OnceLock::new() })
    }

    /// What became of it, if it is done.
    pub(super) fn outcome(&self) -> Result<()> {
        self.pending.outcome()?
    }
}

/// What the host wants back. Never looked at here.
struct User(*mut c_void);

// SAFETY: it is only handed through; the flags say which threads the host is called in.
unsafe impl Send for User {}

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
    let (any_thread, user, flags) = (options.flags & OZARR_CALLBACK_ANY_THREAD != 0, User(options.user), options.flags);
    let on_done = options.done.map(|done| OnDone { any_thread, call: Box::new(move |result| tell(done, &user, flags, result)) });
    let deadline = if options.seconds > 0.0 { after(options.seconds) } else { None };
    Ok(RequestOptions { copy: options.flags & OZARR_REQUEST_COPY != 0, deadline, on_done, ..RequestOptions::default() })
}

/// Calls the host's function, in the host's world.
fn tell(
    done: unsafe extern "C" fn(*mut c_void, ozarr_status, *const c_char) -> ozarr_status,
    user: &User,
    flags: u32,
    result: &Result<()>,
) {
    let (status, text) = match result {
        Ok(()) => (status::OZARR_OK, CString::default()),
        Err(e) => (e.kind().status(), c_text(&e.to_string())),
    };
    // SAFETY: the host's function, by the contract of its type; the text lives as long as the call.
    as_flagged(flags, || unsafe { done(user.0, status, text.as_ptr()) });
}

/// The moment `seconds` from now; `None`, never, for a negative number or one that no clock reaches.
fn after(seconds: f64) -> Option<Instant> {
    Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d))
}

/// The moment at which a wait of `seconds` ends, as [`after`] says.
pub(super) fn until(seconds: f64) -> Result<Option<Instant>> {
    if seconds.is_nan() {
        bail!(Argument, "the argument `seconds` is NaN");
    }
    Ok(after(seconds))
}

/// A read has nothing to copy beforehand.
pub(super) fn refuse_copy(launch: &RequestOptions) -> Result<()> {
    if launch.copy {
        bail!(Argument, "`options->flags` has OZARR_REQUEST_COPY, which is for writes");
    }
    Ok(())
}

/// The requests of a list; `None` for a NULL one.
///
/// # Safety
/// `requests` points to `count` handles, or `count` is 0.
pub(super) unsafe fn all_of(requests: *const *mut ozarr_request, count: i64) -> Result<Vec<Option<Ref<Flight>>>> {
    let count = item_count(count)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    not_null(requests, "requests")?;
    // SAFETY: not NULL; the caller's promise.
    let handles = unsafe { std::slice::from_raw_parts(requests, count) };
    let one = |(i, &handle): (usize, &*mut ozarr_request)| {
        if handle.is_null() { Ok(None) } else { ozarr_request::get(handle, &format!("requests[{i}]")).map(Some) }
    };
    handles.iter().enumerate().map(one).collect()
}
