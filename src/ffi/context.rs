//! Contexts
//!
//! A context holds settings for the stores that are opened with it. Without one, the library uses as many
//! threads as `OZARR_NUM_THREADS` says, or as the process may run on; it starts them when the first call
//! gains by it.

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{not_null, put, text};
use super::types::{Settings, ozarr_context};
use crate::error::{Result, bail};
use crate::node::Context;
use std::ffi::c_char;
use std::sync::atomic::Ordering::Relaxed;

/// The most threads that can be asked for.
const MAX_THREADS: usize = 4096;

/// Makes a context with the default settings.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_context_new(out: *mut *mut ozarr_context) -> ozarr_status {
    entry!("ozarr_context_new", {
        not_null(out, "out")?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(ozarr_context::insert(Settings::default())?, out, "out") }
    })
}

/// Changes a setting; stores that are open already keep theirs.
///
/// - `"threads"`: how many threads a call may use, the calling one among them, from 1 to 4096.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_context_set(context: *mut ozarr_context, key: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_context_set", {
        let context = ozarr_context::get(context, "context")?;
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (key, value) = unsafe { (text(key, "key")?, text(value, "value")?) };
        if key != "threads" {
            bail!(Argument, "found the setting {key:?}, expected one of: \"threads\"");
        }
        let threads = match value.parse() {
            Ok(n @ 1..=MAX_THREADS) => n,
            _ => bail!(Argument, "the setting \"threads\" is {value:?}, expected a number from 1 to {MAX_THREADS}"),
        };
        context.threads.store(threads, Relaxed);
        Ok(())
    })
}

/// Frees a context; stores that were opened with it are not affected. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_free(context: *mut ozarr_context) {
    entry!("ozarr_context_free", else (), { ozarr_context::free(context, "context") })
}

/// The facade's context for a handle; NULL is the default one.
pub(super) fn context_of(context: *const ozarr_context) -> Result<Context> {
    if context.is_null() {
        return Ok(Context::default());
    }
    Ok(match ozarr_context::get(context, "context")?.threads.load(Relaxed) {
        0 => Context::default(),
        threads => Context::with_threads(threads),
    })
}
