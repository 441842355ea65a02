//! Contexts
//!
//! A context holds settings for the stores that are opened with it. Without one, the library uses as many
//! threads as `OZARR_NUM_THREADS` says, or as the process may run on; it starts them when the first call
//! gains by it.

use super::entry;
use super::handle::Handle;
use super::settings::{bytes, truth};
use super::status::ozarr_status;
use super::strings::{not_null, put, text};
use super::types::{OZARR_LOG_INFO, OZARR_LOG_OFF, OZARR_LOG_WARNING, Settings, ozarr_context, ozarr_log_fn, ozarr_log_level};
use crate::error::{Result, bail};
use crate::node::{self, Context, Level, Log};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
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
/// - `"strict"`: `"1"` makes errors (`OZARR_ERR_METADATA`) of what is odd in a node's metadata and is read all
///   the same otherwise, `"0"` is the default. What these things are: docs/formats.md.
/// - `"chunk_cache"`: so many bytes of memory for decoded chunks that all arrays which are opened with the
///   context from now on share; `"0"`, the default, is none. As `ozarr_node_set` says, which sets it for one
///   array; arrays whose chunks have no room in it do without.
/// - `"non_finite"`: as `ozarr_context_set_non_finite`, `"1"` or `"0"`.
/// - `"bytes_in_flight"`: how many bytes of elements the requests that are not done may have, from 1 on; at
///   once, also for stores that are open.
/// - `"when_full"`: what the next request does then: `"wait"`, the default, or `"again"`, to be
///   `OZARR_ERR_AGAIN`; at once, also for stores that are open.
/// - `"measure_time"`: `"1"` measures the time in codecs for `ozarr_context_stats` and the like, in stores
///   that are open, too; `"0"` is the default.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_context_set(context: *mut ozarr_context, key: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_context_set", {
        let context = ozarr_context::get(context, "context")?;
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (key, value) = unsafe { (text(key, "key")?, text(value, "value")?) };
        match key {
            "threads" => match value.parse() {
                Ok(n @ 1..=MAX_THREADS) => context.threads.store(n, Relaxed),
                _ => bail!(Argument, "the setting \"threads\" is {value:?}, expected a number from 1 to {MAX_THREADS}"),
            },
            "strict" => context.strict.store(truth(key, value)?, Relaxed),
            "non_finite" => context.non_finite.store(truth(key, value)?, Relaxed),
            "chunk_cache" => {
                let bytes = bytes(key, value)?;
                drop(context.chunk_cache.replace((bytes > 0).then(|| node::ChunkCache::new(bytes))));
            }
            "bytes_in_flight" => match value.parse() {
                Ok(bytes @ 1..) => context.budget.set_limit(bytes),
                _ => bail!(Argument, "the setting \"bytes_in_flight\" is {value:?}, expected a number of bytes, 1 or more"),
            },
            "when_full" => match value {
                "wait" | "again" => context.budget.set_again(value == "again"),
                _ => bail!(Argument, "the setting \"when_full\" is {value:?}, expected \"wait\" or \"again\""),
            },
            "measure_time" => context.stats.0.measure_time(truth(key, value)?),
            _ => bail!(
                Argument,
                "found the setting {key:?}, expected one of: \"threads\", \"strict\", \"chunk_cache\", \"non_finite\", \"measure_time\", \"bytes_in_flight\", \"when_full\""
            ),
        }
        Ok(())
    })
}

/// Whether attributes may hold NaN and infinities, which are then stored as Python stores them, as bare
/// words that are no JSON: other programs may refuse to read the whole document. Without it (the default)
/// they are refused; those that other programs stored are read, and stay, in any case.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_context_set_non_finite(context: *mut ozarr_context, allowed: bool) -> ozarr_status {
    entry!("ozarr_context_set_non_finite", {
        ozarr_context::get(context, "context")?.non_finite.store(allowed, Relaxed);
        Ok(())
    })
}

/// Has `fn` told of what is odd in the nodes of stores that are opened with this context from now on, once
/// for each open, as `"HD-10: t/.zarray: ..."`; the ids are those of docs/formats.md. `level` is the last
/// level that is told. `fn` is called with `user`, which must stay valid as long as those stores and their
/// nodes are open. NULL ends it.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_context_set_log(
    context: *mut ozarr_context,
    level: ozarr_log_level,
    r#fn: ozarr_log_fn,
    user: *mut c_void,
) -> ozarr_status {
    entry!("ozarr_context_set_log", {
        let context = ozarr_context::get(context, "context")?;
        let last = match level {
            OZARR_LOG_OFF => None,
            OZARR_LOG_WARNING => Some(Level::Warning),
            OZARR_LOG_INFO => Some(Level::Info),
            _ => bail!(Argument, "the argument `level` is {level}, expected an OZARR_LOG_... level"),
        };
        let log = last.zip(r#fn).map(|(level, call)| {
            let user = User(user);
            Log { level, call: Arc::new(move |level, text| tell(call, &user, level, text)) }
        });
        drop(context.log.replace(log));
        Ok(())
    })
}

/// What the host wants back in its callback. Never looked at here.
struct User(*mut c_void);

// SAFETY: it is only handed through; that the host can use it in its own threads is up to the host.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

/// Calls the host's function, in the host's world.
fn tell(call: unsafe extern "C" fn(*mut c_void, ozarr_log_level, *const c_char), user: &User, level: Level, text: &str) {
    // Names come from files, and may hold anything.
    let text = CString::new(text.replace(|c: char| c.is_control(), " ")).unwrap_or_default();
    // SAFETY: the host's function, by the contract of `ozarr_context_set_log`; the text lives as long as the call.
    super::host::call_back(|| unsafe { call(user.0, level as i32, text.as_ptr()) });
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
    let settings = ozarr_context::get(context, "context")?;
    let context = match settings.threads.load(Relaxed) {
        0 => Context::default(),
        threads => Context::with_threads(threads),
    };
    let (strict, non_finite) = (settings.strict.load(Relaxed), settings.non_finite.load(Relaxed));
    let (log, budget) = (settings.log.read(Option::clone), settings.budget.clone());
    let chunk_cache = settings.chunk_cache.read(Option::clone);
    Ok(context.counting(settings.stats.0.clone()).with_settings(node::Settings { strict, non_finite, log, budget, chunk_cache }))
}
