//! The state behind the requests of the C ABI: their errors as texts, the ends of waits, and lists of them.

use super::handle::{Handle, Ref, handle_type};
use super::strings::{item_count, one_line, slice};
use super::types::ozarr_request;
use crate::error::{Error, Result, bail};
use crate::limits::make_room;
use crate::node::Pending;
use std::ffi::CString;
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
    CString::new(one_line(text)).unwrap_or_default()
}

impl Flight {
    pub(super) fn new(pending: Pending) -> Flight {
        Flight { pending, error: OnceLock::new() }
    }

    /// What became of it, if it is done.
    pub(super) fn outcome(&self) -> Result<()> {
        self.pending.outcome()?
    }
}

/// The moment `seconds` from now; `None`, never, for a negative number or one that no clock reaches.
pub(super) fn after(seconds: f64) -> Option<Instant> {
    Duration::try_from_secs_f64(seconds).ok().and_then(|d| Instant::now().checked_add(d))
}

/// The moment at which a wait of `seconds` ends, as [`after`] says.
pub(super) fn until(seconds: f64) -> Result<Option<Instant>> {
    if seconds.is_nan() {
        bail!(Argument, "the argument `seconds` is NaN");
    }
    Ok(after(seconds))
}

/// The requests of a list; `None` for a NULL one.
///
/// # Safety
/// `requests` points to `count` handles, or `count` is 0.
pub(super) unsafe fn all_of(requests: *const *mut ozarr_request, count: i64) -> Result<Vec<Option<Ref<Flight>>>> {
    // SAFETY: the caller's promise.
    let handles = unsafe { slice(requests, item_count(count)?, "requests") }?;
    let one = |(i, &handle): (usize, &*mut ozarr_request)| {
        if handle.is_null() { Ok(None) } else { ozarr_request::get(handle, &format!("requests[{i}]")).map(Some) }
    };
    let mut all = Vec::new();
    make_room(&mut all, handles.len())?;
    handles.iter().enumerate().try_for_each(|handle| one(handle).map(|one| all.push(one)))?;
    Ok(all)
}
