//! Statuses and errors
//!
//! Every function that can fail returns an `ozarr_status`: `OZARR_OK` (0), or a negative number that says
//! what kind of thing went wrong. The groups are: -1xx an argument, -2xx the state of things, -3xx
//! metadata, -4xx stored data, -5xx the store, -6xx the operating system, -7xx a limit, -9xx the library
//! itself. Numbers are never reused; new ones may come.
//!
//! The message of the last failure in this thread is `ozarr_last_error()`: one line that names the key and
//! the field, what was found and what was expected. Successful calls leave it as it is.

use super::entry;
use super::structs::{Growing, growing};
use crate::counting::{self, Counting};
use crate::error::{Error, ErrorKind, Result};
use crate::per_thread;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char};

/// `OZARR_OK`, or one of the negative numbers `OZARR_ERR_...`; never positive.
pub type ozarr_status = i32;

/// The call did what it says.
pub const OZARR_OK: ozarr_status = 0;
/// An argument has a value that is never allowed.
pub const OZARR_ERR_ARGUMENT: ozarr_status = -101;
/// A pointer argument is NULL that must not be.
pub const OZARR_ERR_NULL: ozarr_status = -102;
/// A region, index or axis is outside of the array.
pub const OZARR_ERR_BOUNDS: ozarr_status = -103;
/// A rank differs from the array's, or exceeds the limit.
pub const OZARR_ERR_RANK: ozarr_status = -104;
/// A buffer is smaller than needed; for a fixed-size value: of another size.
pub const OZARR_ERR_BUFFER_SIZE: ozarr_status = -105;
/// A type cannot be converted into the other.
pub const OZARR_ERR_TYPE: ozarr_status = -106;
/// A value does not fit into the type that it is converted to.
pub const OZARR_ERR_RANGE: ozarr_status = -107;
/// A node or attribute name is not allowed.
pub const OZARR_ERR_NAME: ozarr_status = -108;
/// A location (path or URL) cannot be understood, or a file is where a directory is expected.
pub const OZARR_ERR_LOCATION: ozarr_status = -109;
/// A handle is stale, freed, or of another kind.
pub const OZARR_ERR_INVALID_HANDLE: ozarr_status = -110;
/// The store, or the handle, is open for reading only.
pub const OZARR_ERR_READ_ONLY: ozarr_status = -201;
/// A node already exists where one should be created.
pub const OZARR_ERR_EXISTS: ozarr_status = -202;
/// The call does not fit the handle's present state.
pub const OZARR_ERR_STATE: ozarr_status = -203;
/// The work would have to wait; try again.
pub const OZARR_ERR_AGAIN: ozarr_status = -204;
/// The request was cancelled.
pub const OZARR_ERR_CANCELLED: ozarr_status = -205;
/// The handle or request belongs to the process before `fork`.
pub const OZARR_ERR_FORKED: ozarr_status = -206;
/// There is no node, attribute or key of that name.
pub const OZARR_ERR_NOT_FOUND: ozarr_status = -301;
/// The node is an array where a group is needed, or the reverse.
pub const OZARR_ERR_NODE_KIND: ozarr_status = -302;
/// A metadata document is malformed or contradicts itself.
pub const OZARR_ERR_METADATA: ozarr_status = -303;
/// Known by name only, or not at all: a codec, type or feature.
pub const OZARR_ERR_UNSUPPORTED: ozarr_status = -304;
/// An extension that must be understood is not.
pub const OZARR_ERR_EXTENSION: ozarr_status = -305;
/// The bytes of a chunk cannot be decoded.
pub const OZARR_ERR_CHUNK: ozarr_status = -401;
/// A checksum does not match.
pub const OZARR_ERR_CHECKSUM: ozarr_status = -402;
/// The index of a shard is damaged.
pub const OZARR_ERR_SHARD_INDEX: ozarr_status = -403;
/// A chunk is missing where that was asked to be an error.
pub const OZARR_ERR_MISSING: ozarr_status = -404;
/// Stored bytes end too early.
pub const OZARR_ERR_TRUNCATED: ozarr_status = -405;
/// The store refuses access.
pub const OZARR_ERR_PERMISSION: ozarr_status = -501;
/// Another writer changed the key in between.
pub const OZARR_ERR_CONFLICT: ozarr_status = -502;
/// The store did not answer in time.
pub const OZARR_ERR_TIMEOUT: ozarr_status = -503;
/// The network or the server failed.
pub const OZARR_ERR_NETWORK: ozarr_status = -504;
/// The server asks for fewer requests.
pub const OZARR_ERR_THROTTLED: ozarr_status = -505;
/// The server does not serve byte ranges.
pub const OZARR_ERR_RANGES: ozarr_status = -506;
/// A store of the program's own has stored a part of a write; ozarr never says so.
pub const OZARR_ERR_PARTIAL: ozarr_status = -507;
/// The operating system reports an input or output error.
pub const OZARR_ERR_IO: ozarr_status = -601;
/// The device or quota is full.
pub const OZARR_ERR_NO_SPACE: ozarr_status = -602;
/// Memory cannot be had.
pub const OZARR_ERR_NO_MEMORY: ozarr_status = -603;
/// The limit of open files is reached.
pub const OZARR_ERR_TOO_MANY_FILES: ozarr_status = -604;
/// A limit of the library is exceeded.
pub const OZARR_ERR_LIMIT: ozarr_status = -701;
/// A defect of the library (a caught panic).
pub const OZARR_ERR_INTERNAL: ozarr_status = -901;
/// A callback of the caller failed.
pub const OZARR_ERR_CALLBACK: ozarr_status = -902;

/// Each kind of error with its number and name in C.
const TABLE: &[(ErrorKind, ozarr_status, &CStr)] = &[
    (ErrorKind::Argument, OZARR_ERR_ARGUMENT, c"OZARR_ERR_ARGUMENT"),
    (ErrorKind::Null, OZARR_ERR_NULL, c"OZARR_ERR_NULL"),
    (ErrorKind::Bounds, OZARR_ERR_BOUNDS, c"OZARR_ERR_BOUNDS"),
    (ErrorKind::Rank, OZARR_ERR_RANK, c"OZARR_ERR_RANK"),
    (ErrorKind::BufferSize, OZARR_ERR_BUFFER_SIZE, c"OZARR_ERR_BUFFER_SIZE"),
    (ErrorKind::Type, OZARR_ERR_TYPE, c"OZARR_ERR_TYPE"),
    (ErrorKind::Range, OZARR_ERR_RANGE, c"OZARR_ERR_RANGE"),
    (ErrorKind::Name, OZARR_ERR_NAME, c"OZARR_ERR_NAME"),
    (ErrorKind::Location, OZARR_ERR_LOCATION, c"OZARR_ERR_LOCATION"),
    (ErrorKind::InvalidHandle, OZARR_ERR_INVALID_HANDLE, c"OZARR_ERR_INVALID_HANDLE"),
    (ErrorKind::ReadOnly, OZARR_ERR_READ_ONLY, c"OZARR_ERR_READ_ONLY"),
    (ErrorKind::Exists, OZARR_ERR_EXISTS, c"OZARR_ERR_EXISTS"),
    (ErrorKind::State, OZARR_ERR_STATE, c"OZARR_ERR_STATE"),
    (ErrorKind::Again, OZARR_ERR_AGAIN, c"OZARR_ERR_AGAIN"),
    (ErrorKind::Cancelled, OZARR_ERR_CANCELLED, c"OZARR_ERR_CANCELLED"),
    (ErrorKind::Forked, OZARR_ERR_FORKED, c"OZARR_ERR_FORKED"),
    (ErrorKind::NotFound, OZARR_ERR_NOT_FOUND, c"OZARR_ERR_NOT_FOUND"),
    (ErrorKind::NodeKind, OZARR_ERR_NODE_KIND, c"OZARR_ERR_NODE_KIND"),
    (ErrorKind::Metadata, OZARR_ERR_METADATA, c"OZARR_ERR_METADATA"),
    (ErrorKind::Unsupported, OZARR_ERR_UNSUPPORTED, c"OZARR_ERR_UNSUPPORTED"),
    (ErrorKind::Extension, OZARR_ERR_EXTENSION, c"OZARR_ERR_EXTENSION"),
    (ErrorKind::Chunk, OZARR_ERR_CHUNK, c"OZARR_ERR_CHUNK"),
    (ErrorKind::Checksum, OZARR_ERR_CHECKSUM, c"OZARR_ERR_CHECKSUM"),
    (ErrorKind::ShardIndex, OZARR_ERR_SHARD_INDEX, c"OZARR_ERR_SHARD_INDEX"),
    (ErrorKind::Missing, OZARR_ERR_MISSING, c"OZARR_ERR_MISSING"),
    (ErrorKind::Truncated, OZARR_ERR_TRUNCATED, c"OZARR_ERR_TRUNCATED"),
    (ErrorKind::Permission, OZARR_ERR_PERMISSION, c"OZARR_ERR_PERMISSION"),
    (ErrorKind::Conflict, OZARR_ERR_CONFLICT, c"OZARR_ERR_CONFLICT"),
    (ErrorKind::Timeout, OZARR_ERR_TIMEOUT, c"OZARR_ERR_TIMEOUT"),
    (ErrorKind::Network, OZARR_ERR_NETWORK, c"OZARR_ERR_NETWORK"),
    (ErrorKind::Throttled, OZARR_ERR_THROTTLED, c"OZARR_ERR_THROTTLED"),
    (ErrorKind::Ranges, OZARR_ERR_RANGES, c"OZARR_ERR_RANGES"),
    (ErrorKind::Partial, OZARR_ERR_PARTIAL, c"OZARR_ERR_PARTIAL"),
    (ErrorKind::Io, OZARR_ERR_IO, c"OZARR_ERR_IO"),
    (ErrorKind::NoSpace, OZARR_ERR_NO_SPACE, c"OZARR_ERR_NO_SPACE"),
    (ErrorKind::NoMemory, OZARR_ERR_NO_MEMORY, c"OZARR_ERR_NO_MEMORY"),
    (ErrorKind::TooManyFiles, OZARR_ERR_TOO_MANY_FILES, c"OZARR_ERR_TOO_MANY_FILES"),
    (ErrorKind::Limit, OZARR_ERR_LIMIT, c"OZARR_ERR_LIMIT"),
    (ErrorKind::Internal, OZARR_ERR_INTERNAL, c"OZARR_ERR_INTERNAL"),
    (ErrorKind::Callback, OZARR_ERR_CALLBACK, c"OZARR_ERR_CALLBACK"),
];

/// Returns the name of `status`, such as `"OZARR_ERR_BOUNDS"`; `"OZARR_ERR_UNKNOWN"` for a number that
/// this version does not define. The string is never NULL, and must not be freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_status_name(status: ozarr_status) -> *const c_char {
    entry!("ozarr_status_name", else c"OZARR_ERR_UNKNOWN".as_ptr(), {
        if status == OZARR_OK {
            return Ok(c"OZARR_OK".as_ptr());
        }
        let row = TABLE.iter().find(|row| row.1 == status);
        Ok(row.map_or(c"OZARR_ERR_UNKNOWN", |row| row.2).as_ptr())
    })
}

/// Returns the message of the calling thread's last failure; an empty string if there was none. It is
/// never NULL, and must not be freed.
///
/// The string is valid until the next call that fails in this thread: copy it to keep it longer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_last_error() -> *const c_char {
    entry!("ozarr_last_error", else c"".as_ptr(), { Ok(LAST.with(|last| last.with(|l| l.message.as_ptr()))) })
}

/// Which index runs fastest in memory.
pub type ozarr_order = i32;

/// The last index (row-major, as in C).
pub const OZARR_ORDER_C: ozarr_order = 0;
/// The first index (column-major, as in Fortran).
pub const OZARR_ORDER_F: ozarr_order = 1;

/// Returns the message of `ozarr_last_error` for a language with that order of dimensions: with
/// `OZARR_ORDER_F` the message has the dimensions of indices and shapes reversed, and counts dimensions
/// and indices from 1, as Fortran and Julia do.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_last_error_in(order: ozarr_order) -> *const c_char {
    entry!("ozarr_last_error_in", else c"".as_ptr(), {
        let told = |l: &mut LastError| if order == OZARR_ORDER_F && l.differs { l.reversed.as_ptr() } else { l.message.as_ptr() };
        Ok(LAST.with(|last| last.with(told)))
    })
}

/// The details of the calling thread's last failure. The strings are never NULL, and are valid as long
/// as that of `ozarr_last_error`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_error_info {
    /// `sizeof(ozarr_error_info)`, set by the caller before the call.
    pub struct_size: usize,
    /// The status that the call returned; `OZARR_OK` if nothing failed yet in this thread.
    pub status: ozarr_status,
    /// The operating system's `errno`, or 0.
    pub os_errno: i32,
    /// The HTTP status that a server gave, or 0.
    pub http_status: i32,
    /// 0.
    pub reserved: i32,
    /// The message, as of `ozarr_last_error`.
    pub message: *const c_char,
    /// The key in the store that the error is about (`"run/t/zarr.json"`), or an empty text.
    pub key: *const c_char,
    /// The member of a metadata document, or the codec (`"codecs[0].configuration.level"`), or an empty
    /// text.
    pub field: *const c_char,
}
growing!(ozarr_error_info: 48, reserved);

/// Fills `info` with the details of the calling thread's last failure. The caller sets
/// `info->struct_size` before (`OZARR_ERROR_INFO_INIT`).
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_last_error_info(info: *mut ozarr_error_info) -> ozarr_status {
    entry!("ozarr_last_error_info", fill(info), {
        Ok(LAST.with(|last| {
            last.with(|l| ozarr_error_info {
                status: l.status,
                os_errno: l.os_errno,
                http_status: l.http_status,
                message: l.message.as_ptr(),
                key: l.key.as_ptr(),
                field: l.field.as_ptr(),
                ..Growing::empty()
            })
        }))
    })
}

/// The kind of a number from C; `None` if it is no error.
pub(super) fn kind_of(status: ozarr_status) -> Option<ErrorKind> {
    TABLE.iter().find(|row| row.1 == status).map(|row| row.0)
}

/// How many errors there were in this thread, to tell later whether another came.
pub(super) fn error_count() -> u64 {
    LAST.with(|last| last.with(|l| l.count))
}

/// What the status of a callback means, called `what` in messages. `before` is [`error_count`] from before
/// the call: an error that came since, of the same status, tells the cause.
pub(super) fn of_callback(status: ozarr_status, what: &str, before: Option<u64>) -> Result<()> {
    if status == OZARR_OK {
        return Ok(());
    }
    let Some(kind) = kind_of(status) else {
        return Err(Error::new(ErrorKind::Callback, format!("{what} gave {status}, which is no status")));
    };
    let cause = LAST.with(|last| {
        last.with(|l| {
            let is_new = before.is_none_or(|before| l.count > before) && l.status == status;
            is_new.then(|| {
                let message = CStr::from_bytes_until_nul(&l.message.0).unwrap_or_default().to_string_lossy().into_owned();
                (message, l.os_errno, l.http_status)
            })
        })
    });
    Err(match cause {
        Some((message, errno, http)) => Error::new(kind, format!("{what}: {message}")).with_errno(errno).with_http_status(http),
        None => Error::new(kind, format!("{what} failed and did not say why")),
    })
}

/// A text in fixed memory, NUL-terminated.
struct FixedText<const N: usize>([u8; N]);

impl<const N: usize> FixedText<N> {
    const EMPTY: FixedText<N> = FixedText([0; N]);

    fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }

    /// Takes over `text`, cut at the border of a character; what would break a line or end the text becomes
    /// a space.
    fn set(&mut self, text: &str) {
        let mut end = text.len().min(N - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for (to, &from) in self.0.iter_mut().zip(&text.as_bytes()[..end]) {
            *to = if from < b' ' || from == 0x7f { b' ' } else { from };
        }
        self.0[end] = 0;
    }
}

struct LastError {
    status: ozarr_status,
    /// How many errors there were in this thread.
    count: u64,
    os_errno: i32,
    http_status: i32,
    message: FixedText<1024>,
    /// The message as Fortran and Julia count, where that differs.
    reversed: FixedText<1024>,
    differs: bool,
    key: FixedText<1025>,
    field: FixedText<256>,
}

/// The thread's own error. It needs no destructor, so that it can be read as long as the thread runs.
struct Last(UnsafeCell<LastError>);

impl Last {
    fn with<R>(&self, f: impl FnOnce(&mut LastError) -> R) -> R {
        // SAFETY: the cell belongs to this thread, and `f` (in this file only) calls nothing that comes back here.
        f(unsafe { &mut *self.0.get() })
    }
}

thread_local! {
    static LAST: Last = const {
        Last(UnsafeCell::new(LastError { status: OZARR_OK, count: 0, os_errno: 0, http_status: 0, message: FixedText::EMPTY, reversed: FixedText::EMPTY, differs: false, key: FixedText::EMPTY, field: FixedText::EMPTY }))
    };
}

/// Makes `error` the thread's last error and gives its status.
pub(super) fn fail(error: &Error) -> ozarr_status {
    if error.kind() == ErrorKind::NoMemory {
        // The program has use for it, and so has the next call.
        per_thread::give_back();
    }
    let text = error.to_string();
    LAST.with(|last| {
        last.with(|l| {
            l.status = error.kind().status();
            l.count += 1;
            l.os_errno = error.os_errno();
            l.http_status = error.http_status();
            l.message.set(&text);
            l.differs = error.counts();
            if l.differs {
                l.reversed.set(&error.told(Counting::Fortran));
            }
            l.key.set(error.key().unwrap_or(""));
            l.field.set(&counting::render(error.field().unwrap_or(""), Counting::C));
            l.status
        })
    })
}

/// Runs the body of an exported function that gives a value; a failure becomes the thread's last error
/// and leaves the fallback.
pub(super) fn value_or<T>(name: &str, fallback: T, mut body: impl FnMut() -> Result<T>) -> T {
    let mut value = fallback;
    let _ = of(super::guard(name, &mut || {
        value = body()?;
        Ok(())
    }));
    value
}

/// The status of a result; a failure becomes the thread's last error.
pub(super) fn of(result: Result<()>) -> ozarr_status {
    match result {
        Ok(()) => OZARR_OK,
        Err(e) => fail(&e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::err;

    fn text(p: *const c_char) -> String {
        // SAFETY: the functions under test give NUL-terminated texts.
        unsafe { CStr::from_ptr(p) }.to_str().unwrap().to_string()
    }

    #[test]
    fn every_kind_has_its_number_and_name() {
        assert_eq!(TABLE.len(), ErrorKind::ALL.len());
        for (&kind, row) in ErrorKind::ALL.iter().zip(TABLE) {
            assert_eq!((kind, kind.status()), (row.0, row.1));
            let name: String = row.2.to_str().unwrap().strip_prefix("OZARR_ERR_").unwrap().replace('_', "");
            assert_eq!(name, format!("{kind:?}").to_uppercase());
            // SAFETY: no preconditions.
            assert_eq!(text(unsafe { ozarr_status_name(kind.status()) }), row.2.to_str().unwrap());
        }
        // SAFETY: no preconditions.
        assert_eq!(text(unsafe { ozarr_status_name(7) }), "OZARR_ERR_UNKNOWN");
    }

    #[test]
    fn the_last_error_counts_in_either_order() {
        // SAFETY: no preconditions.
        let told = || [OZARR_ORDER_C, OZARR_ORDER_F, 7].map(|order| text(unsafe { ozarr_last_error_in(order) }));
        fail(&err!(Bounds, "{} is odd", counting::dimension(0, 3)).at_field(format!("chunks{}", counting::item(2, 3))));
        let c = "chunks[2]: dimension 0 is odd";
        assert_eq!(told(), [c, "chunks[1]: dimension 3 is odd", c]);
        fail(&err!(Bounds, "plain"));
        assert_eq!(told(), ["plain"; 3]);
    }

    #[test]
    fn a_thread_without_memory_keeps_no_buffers() {
        thread_local! {
            static KEPT: per_thread::PerThread<Vec<u8>> = const { per_thread::PerThread::new(Vec::new()) };
        }
        per_thread::with(&KEPT, |kept| kept.push(1));
        fail(&err!(Bounds, "another"));
        assert_eq!(per_thread::with(&KEPT, |kept| kept.len()), 1);
        fail(&err!(NoMemory, "no memory for a buffer of 7 bytes"));
        assert_eq!(per_thread::with(&KEPT, |kept| kept.capacity()), 0);
    }

    #[test]
    fn the_last_error_belongs_to_the_thread() {
        fail(&err!(Chunk, "found 3").at_field("codecs[0]").at_key("t/c/0"));
        std::thread::spawn(|| {
            // SAFETY: no preconditions.
            assert_eq!(text(unsafe { ozarr_last_error() }), "");
        })
        .join()
        .unwrap();
        let mut info = ozarr_error_info::empty();
        // SAFETY: `info` is a whole struct with its size.
        assert_eq!(unsafe { ozarr_last_error_info(&mut info) }, OZARR_OK);
        assert_eq!(info.status, OZARR_ERR_CHUNK);
        assert_eq!([info.message, info.key, info.field].map(text), ["t/c/0: codecs[0]: found 3", "t/c/0", "codecs[0]"]);
        info.struct_size = 8;
        // SAFETY: as above.
        assert_eq!(unsafe { ozarr_last_error_info(&mut info) }, OZARR_ERR_ARGUMENT);
    }

    #[test]
    fn long_and_odd_texts_are_cut_to_one_line() {
        let mut t = FixedText::<8>::EMPTY;
        t.set("ab\n\0cdé");
        assert_eq!(text(t.as_ptr()), "ab  cd");
        fail(&err!(Argument, "{}", "é".repeat(1000)));
        // SAFETY: no preconditions.
        assert_eq!(text(unsafe { ozarr_last_error() }).len(), 1022);
    }
}
