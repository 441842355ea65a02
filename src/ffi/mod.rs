//! The C ABI: checks arguments, looks up handles, calls the facade, turns errors into statuses. No logic.
//!
//! Safety, for all functions here at once: a pointer that is not a handle must be NULL or point to what the
//! function's text says; memory for elements must stay valid and unaliased during the call; handles may be
//! anything (`handle.rs` tells good ones from bad). Every exported function is one `entry!`, literally,
//! because cbindgen expands no macros; `tests/boundary.rs` finds any that is not. The documentation of the
//! files below is the text of the headers in `include/` (`tests/header.rs` writes them, and says which file goes where).

#![allow(rustdoc::broken_intra_doc_links)] // `@param[in]` is a tag of Doxygen's.
#![allow(non_camel_case_types)] // The types have the names that they have in C.
#![allow(clippy::missing_safety_doc)] // The chapter above is for all; doc comments here go into the C header.

pub mod analysis;
pub mod appender;
pub mod array;
pub mod attr;
pub mod batch;
pub mod buffer;
pub mod checkpoint;
pub mod chunk;
pub mod context;
pub mod copy;
pub mod dataset;
mod dense;
pub mod dtype;
pub mod dtype_info;
pub mod ext_answer;
pub mod ext_codec;
pub mod ext_dtype;
pub mod ext_misc;
pub mod ext_store;
pub mod group;
pub mod image;
pub mod inspect;
pub mod iter;
pub mod layout;
pub mod library;
pub mod migrate;
pub mod nczarr;
pub mod node;
pub mod packing;
pub mod parallel;
pub mod region;
pub mod request;
pub mod select;
pub mod series;
pub mod spec;
pub mod status;
pub mod store;
pub mod store_keys;
pub mod tree;
pub mod types;
pub mod varlen;
pub mod verify;
pub mod zip;

mod dataset_coordinate;
mod dataset_variable;
mod flight;
mod handle;
mod host;
mod settings;
mod strings;
mod structs;
mod subarray;
mod user_store;

use crate::error::{Result, err};
use crate::reserve;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The body of an exported function: a block that gives a `Result`.
///
/// `entry!("ozarr_x", { …; Ok(()) })` gives a status; `entry!("ozarr_x", else FALLBACK, { …; Ok(value) })` gives the value, or the fallback
/// after an error. In each case a panic stays inside, an error becomes the thread's last error, and the host's `errno` and floating-point
/// environment are as before.
///
/// Before the block may be, in this order, what becomes of the value that it gives, and the arguments that it uses, which are checked and
/// known in it by their own names:
///
/// | form | meaning |
/// |---|---|
/// | `new(out)` | the object of a new handle. The caller's variable is NULL before anything else, and refused if it is not there |
/// | `new_or_null(out)` | the same, where `out` may be NULL: the object is let go |
/// | `put(x)` | a value for `*x`; NULL is refused first |
/// | `text(buf, cap, len)` | a text for the caller's buffer |
/// | `fill(x)` | a struct for `*x`, which begins with its size |
/// | `cleared(a, b)` | nothing: the block puts new pointers there itself. They are NULL as with `new` |
/// | `handles(a, b)`, `nodes(a)` | the objects that handles name |
/// | `to_write(a)` | the array of a handle, for a call that writes to it and counts by its lengths |
/// | `texts(a, b)` | texts that are not NULL |
macro_rules! entry {
    ($name:literal, else $fallback:expr, $body:block) => {
        $crate::ffi::status::value_or($name, $fallback, || $body)
    };
    ($name:literal, cleared($($out:ident),+), $($rest:tt)+) => {
        $crate::ffi::entry!($name, {
            // SAFETY: NULL or room for a pointer, by the contract of every exported function. All, before one that is NULL is an error.
            unsafe { $crate::ffi::strings::empty(&[$(($out.cast(), stringify!($out))),+]) }?;
            $crate::ffi::arguments!($($rest)+)
        })
    };
    ($name:literal, new($out:ident), $($rest:tt)+) => {
        $crate::ffi::entry!($name, cleared($out), {
            let object: $crate::error::Result<_> = $crate::ffi::arguments!($($rest)+);
            // SAFETY: not NULL, and room for a handle, by the contract of every exported function.
            unsafe { $crate::ffi::strings::put($crate::ffi::handle::Handle::insert(object?)?, $out, stringify!($out)) }
        })
    };
    ($name:literal, new_or_null($out:ident), $($rest:tt)+) => {
        $crate::ffi::entry!($name, {
            // SAFETY: NULL or room for a handle, by the contract of every exported function.
            unsafe { $crate::ffi::strings::put_optional(std::ptr::null_mut(), $out) };
            let object: $crate::error::Result<_> = $crate::ffi::arguments!($($rest)+);
            let object = object?;
            if !$out.is_null() {
                // SAFETY: as above.
                unsafe { $out.write($crate::ffi::handle::Handle::insert(object)?) };
            }
            Ok(())
        })
    };
    ($name:literal, put($out:ident), $($rest:tt)+) => {
        $crate::ffi::entry!($name, {
            $crate::ffi::strings::not_null($out, stringify!($out))?;
            let value: $crate::error::Result<_> = $crate::ffi::arguments!($($rest)+);
            // SAFETY: not NULL, and room for the value, by the contract of every exported function.
            unsafe { $crate::ffi::strings::put(value?, $out, stringify!($out)) }
        })
    };
    ($name:literal, text($buf:ident, $cap:ident, $len:ident), $($rest:tt)+) => {
        $crate::ffi::entry!($name, {
            let text: $crate::error::Result<_> = $crate::ffi::arguments!($($rest)+);
            // SAFETY: room for as many bytes as is said, and for the length or NULL, by the contract of every exported function.
            unsafe { $crate::ffi::strings::put_text(AsRef::<str>::as_ref(&text?), $buf, $cap, $len) }
        })
    };
    ($name:literal, fill($out:ident), $($rest:tt)+) => {
        $crate::ffi::entry!($name, {
            // SAFETY: NULL or a struct that begins with its size, by the contract of every exported function.
            let room = unsafe { $crate::ffi::structs::Output::new($out, stringify!($out)) }?;
            let value: $crate::error::Result<_> = $crate::ffi::arguments!($($rest)+);
            room.fill(&value?);
            Ok(())
        })
    };
    ($name:literal, $body:block) => {
        $crate::ffi::status::of($crate::ffi::guard($name, &mut || $body))
    };
    ($name:literal, $($rest:tt)+) => {
        $crate::ffi::entry!($name, { $crate::ffi::arguments!($($rest)+) })
    };
}
pub(crate) use entry;

/// The arguments of an exported function, and its block: what [`entry!`] says.
macro_rules! arguments {
    ($body:block) => {
        $body
    };
    (handles($($handle:ident),+), $($rest:tt)+) => {{
        $(let $handle = $crate::ffi::handle::Handle::get($handle, stringify!($handle))?;)+
        $crate::ffi::arguments!($($rest)+)
    }};
    (nodes($node:ident), $($rest:tt)+) => {{
        let $node = $crate::ffi::types::node_of($node, stringify!($node))?;
        $crate::ffi::arguments!($($rest)+)
    }};
    (to_write($array:ident), $($rest:tt)+) => {{
        let $array = $crate::ffi::types::to_write($array, stringify!($array))?;
        $crate::ffi::arguments!($($rest)+)
    }};
    (texts($($text:ident),+), $($rest:tt)+) => {{
        // SAFETY: NULL or NUL-terminated, by the contract of every exported function.
        $(let $text = unsafe { $crate::ffi::strings::text($text, stringify!($text)) }?;)+
        $crate::ffi::arguments!($($rest)+)
    }};
}
pub(crate) use arguments;

/// Runs the body of the exported function `name` away from the host's world. It is no parameter of a type: this is compiled once, not for
/// each function.
fn guard(name: &str, body: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    let _host = host::Host::leave(name);
    begin_with_memory(name)?;
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => {
            #[cfg(all(debug_assertions, unix))]
            if let Err(error) = &result {
                record(name, error);
            }
            result
        }
        Err(panic) => {
            let (text, place) = (panic_text(&*panic).to_string(), host::panic_place());
            // A payload whose own drop panics must not come through either.
            if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
                std::mem::forget(second);
            }
            Err(err!(Internal, "a defect of ozarr showed itself in {name} at {place}: {text}; please report it"))
        }
    }
}

/// In builds for tests: adds the function and its error's status to the file that `OZARR_ERRORS_FILE` names. `tools/errors` holds them
/// against what the function's text says. It takes no lock and allocates nothing that a child of `fork` could miss.
#[cfg(all(debug_assertions, unix))]
fn record(name: &str, error: &crate::error::Error) {
    // SAFETY: a NUL-terminated name; the tests do not change their environment while they call.
    let file = unsafe { libc::getenv(c"OZARR_ERRORS_FILE".as_ptr()) };
    if file.is_null() {
        return;
    }
    let line = format!("{name} {:?}\n", error.kind());
    // SAFETY: a NUL-terminated path; the bytes of the line; the file that was just opened.
    unsafe {
        let fd = libc::open(file, libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_CLOEXEC, 0o644);
        if fd >= 0 {
            libc::write(fd, line.as_ptr().cast(), line.len());
            libc::close(fd);
        }
    }
}

/// Lets nothing new begin while the reserve is low. What was served from it before, to tell of another call's error too, ends none of this one.
fn begin_with_memory(name: &str) -> Result<()> {
    if reserve::is_low() && !goes_on(name) {
        return Err(err!(NoMemory, "the system has no more memory for this process, and what ozarr keeps for that is half used"));
    }
    let _ = reserve::take_ended();
    Ok(())
}

/// Whether a function is called without memory, too: it ends what was begun or frees it, tells of a failure or of the library, gives a value and no
/// status, reads or sets a setting of a handle (which looks itself whether that is `"lost"`), or says what became of work that uses the caller's memory.
fn goes_on(name: &str) -> bool {
    let name = name.strip_prefix("ozarr_").unwrap_or(name);
    let ends = ["_close", "_free", "_cancel"].iter().any(|end| name.ends_with(end));
    let is_of_work = ["request_", "requests_", "answer_"].iter().any(|begin| name.starts_with(begin));
    ends || is_of_work || ALWAYS.contains(&name)
}

/// Further functions that are called without memory, by their names behind `ozarr_`.
const ALWAYS: [&str; 15] = [
    "abi_version",
    "array_node",
    "checkpoint_abandon",
    "checkpoint_commit",
    "group_node",
    "has_feature",
    "last_error",
    "last_error_in",
    "last_error_info",
    "node_get",
    "node_set",
    "set_error",
    "shutdown",
    "status_name",
    "version",
];

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "a panic without a message"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn a_panic_becomes_an_internal_error_and_is_not_printed() {
        let status = entry!("ozarr_test", { if true { panic!("planted {}", 7) } else { Ok(()) } });
        assert_eq!(status, ErrorKind::Internal.status());
        // SAFETY: no preconditions; the text is NUL-terminated.
        let text = unsafe { std::ffi::CStr::from_ptr(status::ozarr_last_error()) }.to_str().unwrap();
        assert!(text.contains("ozarr_test at ") && text.contains("src/ffi/mod.rs:") && text.contains(": planted 7"), "{text}");
    }

    /// What each function is called for is seen in its source: those that end a handle, and those that give a value and have no status for an error.
    #[test]
    fn no_function_that_ends_a_handle_or_has_no_status_waits_for_memory() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ffi");
        let (mut ending, mut others) = (Vec::new(), Vec::new());
        for file in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
            for function in text.split("extern \"C\" fn ").skip(1).filter(|function| function.starts_with("ozarr_")) {
                let function = function.split("\n}\n").next().unwrap();
                let name = function.split('(').next().unwrap().to_string();
                let ends = ["::close(", "::free(", ", else "].iter().any(|sign| function.contains(sign));
                if ends { &mut ending } else { &mut others }.push(name);
            }
        }
        let refused: Vec<&String> = ending.iter().filter(|name| !goes_on(name)).collect();
        assert!(refused.is_empty() && ending.len() > 30, "{refused:?}");
        others.retain(|name| goes_on(name));
        others.sort();
        let beside = "answer_done answer_put answer_room answer_size answer_version last_error_info node_get node_set request_cancel request_error \
                      request_get_state request_test request_wait requests_wait_all requests_wait_any set_error shutdown";
        assert_eq!(others, beside.split(' ').filter(|name| !name.is_empty()).map(|name| format!("ozarr_{name}")).collect::<Vec<_>>());
    }

    /// As when the text of an error took memory that there was not.
    #[test]
    fn a_call_is_not_ended_by_memory_that_was_missing_before_it() {
        reserve::note_ended();
        assert_eq!(entry!("ozarr_test", { crate::limits::check_memory() }), status::OZARR_OK);
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_caught_too() {
        struct Evil;
        impl Drop for Evil {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        let value = entry!("ozarr_test", else 5, { if true { std::panic::panic_any(Evil) } else { Ok(6) } });
        assert_eq!(value, 5);
    }
}
