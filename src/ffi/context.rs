//! Contexts
//!
//! A context holds settings for the stores that are opened with it. Functions that take a location and no
//! context use the default context, whose settings are changed by NULL in place of a context. Without a
//! setting the library uses as many threads as `OZARR_NUM_THREADS` says, from 1 to 4096 (of anything else
//! `OZARR_LOG` tells), or as the process may run on; it starts them when the first call gains by it.

use super::entry;
use super::flight::c_text;
use super::handle::Handle;
use super::host::HostPointer;
use super::settings::{bytes, text_of, truth};
use super::status::ozarr_status;
use super::types::{ContextObject, ozarr_context};
use crate::error::{Result, bail};
use crate::fork::{ForkPreserved, Lazy};
use crate::node::{self, Context, Counters, Level, Log};
use std::ffi::{c_char, c_void};
use std::ptr::null;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// How important a message of a log is.
pub type ozarr_log_level = i32;

/// No messages.
pub const OZARR_LOG_LEVEL_OFF: ozarr_log_level = 0;
/// Something in a file is unusual, and was read nevertheless.
pub const OZARR_LOG_LEVEL_WARNING: ozarr_log_level = 1;
/// Something may be of interest.
pub const OZARR_LOG_LEVEL_INFO: ozarr_log_level = 2;

/// Takes a message of one line, which is valid during the call only. It runs in the thread that is inside
/// of a call of the library (in several at once, if several use the context), and may call the library
/// itself. Its status has no effect: a message is no reason to stop.
pub type ozarr_log_fn = Option<unsafe extern "C" fn(user: *mut c_void, level: ozarr_log_level, message: *const c_char) -> ozarr_status>;

/// The most threads that can be asked for.
const MAX_THREADS: usize = Context::MAX_THREADS;

/// Creates a context with the default settings.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_new(out: *mut *mut ozarr_context) -> ozarr_status {
    entry!("ozarr_context_new", new(out), { Ok(ContextObject::new(Counters::below(&Counters::process()))) })
}

/// Changes a setting of a context; NULL is the default context, which functions that take a location and no
/// context use. Stores that are open already keep theirs. What is true or false is `"1"`, `"true"` or
/// `"on"`, or `"0"`, `"false"` or `"off"`.
///
/// - `"threads"`: how many threads a call may use, the calling one among them, from 1 to 4096. In
///   object stores, whose requests take their time, copying, erasing, and publishing the steps of a
///   series, use 32 at least, which mostly wait.
/// - `"strict"`: `"1"` makes deviations in a node's metadata errors (`OZARR_ERR_METADATA`) that are read
///   nevertheless with `"0"`, the default. docs/formats.md lists them.
/// - `"chunk_cache"`: the bytes of memory for decoded chunks that all arrays which are opened with the
///   context from now on share; `"0"`, the default, keeps none. `ozarr_node_set` explains it, and sets
///   it for one array; arrays whose chunks are too large for it do not use it.
/// - `"file.sync"`: `"none"`, `"batch"` (the default) or `"each"`, as the option of `ozarr_store_open_ex`
///   says, for stores that are opened without that option.
/// - `"file.lock"`: `"require"`, `"try"` (the default) or `"none"`, in the same way.
/// - `"non_finite"`: `"1"` lets attributes hold NaN and infinities, which are then stored as Python stores
///   them, as bare words that are no JSON: other programs may refuse to read the whole document. With `"0"`,
///   the default, new ones are refused; those that other programs stored are read, and stay, in any case.
///   It holds for stores and nodes that are opened after it was set.
/// - `"huge_pages"`: with `"1"`, the default, a read of 32 MiB or more that returns when it is done, into
///   memory that was never written before and is overwritten as a whole, asks the system to make it of
///   huge pages, where the system waits to be asked (Linux, transparent huge pages: madvise), and
///   withdraws that before it returns. It saves half of the time of an uncompressed read; the memory keeps
///   these pages until it is freed, and a mapping of the program's own is divided where the memory
///   begins and ends, which `mremap` minds. `"0"` leaves memory as the program made it, in stores that
///   are opened from now on. See `ozarr_buffer_alloc`, too.
/// - `"bytes_in_flight"`: how many bytes of elements the requests that are not done may have, from 1 on; at
///   once, also for stores that are open. A request of more than that is `OZARR_ERR_LIMIT`, also where it
///   waits for room.
/// - `"when_full"`: what the next request does then: `"wait"`, the default, or `"again"`, to be
///   `OZARR_ERR_AGAIN`; at once, also for stores that are open.
/// - `"measure_time"`: `"1"` measures the time in codecs for `ozarr_context_stats` and the like, in stores
///   that are open, too; `"0"` is the default.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown setting or value.
///
/// @param[in] context may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_set(context: *mut ozarr_context, key: *const c_char, value: *const c_char) -> ozarr_status {
    entry!("ozarr_context_set", texts(key, value), { with(context, |settings| set(settings, key, value)) })
}

/// Gets a setting of a context (NULL: the default one), in the form in which it can be set again. If
/// `"threads"` was never set it is the number that calls use. `"lost"` can only be asked for: how often
/// an open array of this process has become `"lost"` (`ozarr_node_set`) so far, whatever its context. While
/// it stays the same, no handle becomes so.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown setting.
///
/// @param[in] context may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_get(
    context: *const ozarr_context,
    key: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_context_get", text(buf, cap, len), texts(key), { with(context, |settings| get(settings, key)) })
}

/// The names of all settings, for messages.
const SETTINGS: &str = "\"threads\", \"strict\", \"chunk_cache\", \"file.sync\", \"file.lock\", \"non_finite\", \"huge_pages\", \"measure_time\", \"bytes_in_flight\", \"when_full\"; \"lost\" can only be asked for";

fn set(settings: &ContextObject, key: &str, value: &str) -> Result<()> {
    match key {
        "threads" => match value.parse() {
            Ok(n @ 1..=MAX_THREADS) => drop(settings.pool.replace(Some(Context::with_threads(n)))),
            _ => bail!(Argument, "the setting \"threads\" is {value:?}, expected a number from 1 to {MAX_THREADS}"),
        },
        "strict" => settings.strict.store(truth(key, value)?, Relaxed),
        "huge_pages" => settings.huge_pages.store(truth(key, value)?, Relaxed),
        "non_finite" => settings.non_finite.store(truth(key, value)?, Relaxed),
        "chunk_cache" => {
            let bytes = bytes(key, value)?;
            drop(settings.chunk_cache.replace((bytes > 0).then(|| node::ChunkCache::new(bytes))));
        }
        "file.sync" => {
            let sync = node::SyncMode::parse(value)?;
            settings.files.write(|files| files.sync = sync);
        }
        "file.lock" => {
            let lock = node::LockMode::parse(value)?;
            settings.files.write(|files| files.lock = lock);
        }
        "bytes_in_flight" => match value.parse() {
            Ok(bytes @ 1..) => settings.budget.set_limit(bytes),
            _ => bail!(Argument, "the setting \"bytes_in_flight\" is {value:?}, expected a number of bytes, 1 or more"),
        },
        "when_full" => match value {
            "wait" | "again" => settings.budget.set_again(value == "again"),
            _ => bail!(Argument, "the setting \"when_full\" is {value:?}, expected \"wait\" or \"again\""),
        },
        "measure_time" => settings.stats.measure_time(truth(key, value)?),
        _ => bail!(Argument, "found the setting {key:?}, expected one of: {SETTINGS}"),
    }
    Ok(())
}

fn get(settings: &ContextObject, key: &str) -> Result<String> {
    Ok(match key {
        "threads" => settings.pool.read(Option::clone).unwrap_or_default().threads().to_string(),
        "strict" => text_of(settings.strict.load(Relaxed)),
        "huge_pages" => text_of(settings.huge_pages.load(Relaxed)),
        "non_finite" => text_of(settings.non_finite.load(Relaxed)),
        "chunk_cache" => settings.chunk_cache.read(|cache| cache.as_ref().map_or(0, |cache| cache.limit())).to_string(),
        "file.sync" => settings.files.read(|files| files.sync.name()).into(),
        "file.lock" => settings.files.read(|files| files.lock.name()).into(),
        "bytes_in_flight" => settings.budget.limit().to_string(),
        "when_full" => if settings.budget.is_again() { "again" } else { "wait" }.into(),
        "measure_time" => text_of(settings.stats.measures_time()),
        "lost" => node::losses().to_string(),
        _ => bail!(Argument, "found the setting {key:?}, expected one of: {SETTINGS}"),
    })
}

impl ContextObject {
    /// The default settings. What is odd is told on standard error where the variable `OZARR_LOG` asks for
    /// it.
    fn new(stats: Arc<Counters>) -> ContextObject {
        ContextObject {
            pool: ForkPreserved::default(),
            strict: AtomicBool::default(),
            non_finite: AtomicBool::default(),
            huge_pages: AtomicBool::new(true),
            files: ForkPreserved::default(),
            log: ForkPreserved::new(Log::of_environment()),
            chunk_cache: ForkPreserved::default(),
            budget: Arc::default(),
            stats,
        }
    }
}

/// Calls `f` with the settings of a context; NULL is the default one.
fn with<R>(context: *const ozarr_context, f: impl FnOnce(&ContextObject) -> Result<R>) -> Result<R> {
    static DEFAULT: Lazy<ContextObject> = Lazy::new(|| {
        let settings = ContextObject::new(Counters::process());
        if let (Some(log), Some(odd)) = (settings.log.read(Option::clone), Context::odd_environment()) {
            (log.call)(Level::Warning, &odd);
        }
        settings
    });
    if context.is_null() { f(DEFAULT.get()) } else { f(&*ozarr_context::get(context, "context")?) }
}

/// Sets the function `fn` that is called for deviations in the nodes of stores that are opened with this
/// context (NULL: the default one) from now on, once for each open, with a message such as `"HD-10:
/// t/.zarray: ..."`; the ids are those of docs/formats.md. `level` is the last level that is reported.
/// `fn` is called with `user`, which must stay valid as long as those stores and their nodes are open.
/// NULL ends it, also what `OZARR_LOG` in the environment (`warning` or `info`) asks for: such messages
/// go to standard error unless a function takes them.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `level`.
///
/// @param[in] context may be NULL
/// @param[in] fn may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_set_log(
    context: *mut ozarr_context,
    level: ozarr_log_level,
    r#fn: ozarr_log_fn,
    user: *mut c_void,
) -> ozarr_status {
    entry!("ozarr_context_set_log", {
        let last = match level {
            OZARR_LOG_LEVEL_OFF => None,
            OZARR_LOG_LEVEL_WARNING => Some(Level::Warning),
            OZARR_LOG_LEVEL_INFO => Some(Level::Info),
            _ => bail!(Argument, "the argument `level` is {level}, expected an OZARR_LOG_LEVEL_..."),
        };
        let log = last.zip(r#fn).map(|(level, call)| {
            let user = HostPointer(user);
            Log { level, call: Arc::new(move |level, text| tell(call, &user, level, text)) }
        });
        with(context, |settings| {
            drop(settings.log.replace(log));
            Ok(())
        })
    })
}

/// Calls the host's function, in the host's world.
fn tell(
    call: unsafe extern "C" fn(*mut c_void, ozarr_log_level, *const c_char) -> ozarr_status,
    user: &HostPointer,
    level: Level,
    text: &str,
) {
    let text = c_text(text);
    // SAFETY: the host's function, by the contract of `ozarr_context_set_log`; the text lives as long as the call.
    super::host::call_back(|| unsafe { call(user.0, level as i32, text.as_ptr()) }); // Its status has no effect.
}

/// Frees a context; stores that were opened with it are not affected. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_context_free(context: *mut ozarr_context) {
    entry!("ozarr_context_free", else (), { ozarr_context::free(context, "context") })
}

/// The facade's context for a handle; NULL is the default one.
pub(super) fn context_of(context: *const ozarr_context) -> Result<Context> {
    with(context, |settings| {
        let context = settings.pool.read(Option::clone).unwrap_or_default();
        let (strict, non_finite) = (settings.strict.load(Relaxed), settings.non_finite.load(Relaxed));
        let (log, budget) = (settings.log.read(Option::clone), settings.budget.clone());
        let (chunk_cache, files) = (settings.chunk_cache.read(Option::clone), settings.files.read(|files| *files));
        let huge_pages = settings.huge_pages.load(Relaxed);
        let settings_of = node::Settings { strict, non_finite, huge_pages, log, budget, chunk_cache, files };
        Ok(context.counting(settings.stats.clone()).with_settings(settings_of))
    })
}

/// The context of functions that take a location and no context.
pub(super) fn default_context() -> Result<Context> {
    context_of(null())
}
