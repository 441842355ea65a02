//! Stores of your own
//!
//! A store can be a table of functions of your program: a database, an archive, another library. Arrays and
//! groups live in it as in any other. Fill an `ozarr_store_table` and give it to `ozarr_store_from_table`.
//!
//! Functions give `OZARR_OK`, or the status of what went wrong, best through `ozarr_set_error`; anything
//! but a status is `OZARR_ERR_CALLBACK`. `OZARR_ERR_NOT_FOUND` means that a key holds nothing, or that no
//! key has the prefix: no other error is ever taken for that. Keys are checked before they come to you
//! (`"run/t/c/0/0"`: UTF-8, no empty, `.` or `..` parts); a prefix is empty or ends in `/`. What the
//! functions give is checked, too.
//!
//! Unless the table says `OZARR_CALLBACK_ANY_THREAD`, the functions of all such tables are called one
//! at a time, and only by threads that are inside a call of yours: reads and writes of arrays there use
//! the calling thread alone. A function may call ozarr, on other stores; others have their turn until
//! that call returns, but not in those that only give an answer or an error (`ozarr_answer_put`,
//! `_room`, `_size`, `_version`, `ozarr_keys_add`, `ozarr_set_error`), which wait for nothing. It must
//! not touch the array or the document that it is called for, nor wait for another thread that erases,
//! renames or replaces that node, nor let a C++ exception or `longjmp` out. `errno` and the
//! floating-point environment are the host's own in it.
//!
//! Such functions and flags are also in the tables by which codecs, data types and more are registered
//! (see "Extensions").

use super::status::ozarr_status;
use super::structs::growing;
use super::types::{ozarr_answer, ozarr_keys};
use std::ffi::{c_char, c_void};

/// In the flags of a store's table: every answer has a version (`ozarr_answer_version`). Without it, whole
/// values are read and compared.
pub const OZARR_STORE_HAS_VERSIONS: u32 = 512;

/// Which bytes a range has.
pub type ozarr_byte_range_kind = i32;

/// All bytes. `offset` and `size` are 0.
pub const OZARR_BYTE_RANGE_KIND_WHOLE: ozarr_byte_range_kind = 0;
/// `size` bytes from `offset` on.
pub const OZARR_BYTE_RANGE_KIND_SPAN: ozarr_byte_range_kind = 1;
/// The last `size` bytes. `offset` is 0.
pub const OZARR_BYTE_RANGE_KIND_SUFFIX: ozarr_byte_range_kind = 2;

/// Which bytes of what a key holds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_byte_range {
    /// One of `OZARR_BYTE_RANGE_KIND_...`.
    pub kind: ozarr_byte_range_kind,
    /// 0.
    pub reserved: i32,
    /// The first byte of a span.
    pub offset: i64,
    /// The number of bytes of a span or suffix.
    pub size: i64,
}

/// Frees what belongs to `user`: called once, after the last use of a table. It returns nothing: no call is
/// left that could report a failure.
pub type ozarr_destroy_fn = Option<unsafe extern "C" fn(user: *mut c_void)>;
/// Puts all bytes of a key into `answer`, as one part.
pub type ozarr_get_fn = Option<unsafe extern "C" fn(user: *mut c_void, key: *const c_char, answer: *mut ozarr_answer) -> ozarr_status>;
/// Puts the bytes of each range into `answer`, in order. All are of one version. A range that reaches over
/// the end is `OZARR_ERR_TRUNCATED`. `count` may be 0: then only the version is wanted.
pub type ozarr_get_ranges_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        key: *const c_char,
        ranges: *const ozarr_byte_range,
        count: i64,
        answer: *mut ozarr_answer,
    ) -> ozarr_status,
>;
/// Stores `size` bytes under a key: readers see the old value or the new one, whole.
pub type ozarr_put_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, key: *const c_char, data: *const c_void, size: usize) -> ozarr_status>;
/// As `put`, if the key holds the value of that version still, or (`version` NULL) holds nothing; else
/// `OZARR_ERR_CONFLICT`.
pub type ozarr_put_if_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        key: *const c_char,
        data: *const c_void,
        size: usize,
        version: *const c_void,
        version_size: usize,
    ) -> ozarr_status,
>;
/// Removes a key (`erase`), or all keys with a prefix (`erase_prefix`).
pub type ozarr_erase_fn = Option<unsafe extern "C" fn(user: *mut c_void, key: *const c_char) -> ozarr_status>;
/// Adds keys to `keys`, in any order.
pub type ozarr_list_fn = Option<unsafe extern "C" fn(user: *mut c_void, prefix: *const c_char, keys: *mut ozarr_keys) -> ozarr_status>;
/// Makes durable what was put.
pub type ozarr_flush_fn = Option<unsafe extern "C" fn(user: *mut c_void) -> ozarr_status>;

/// A store as functions. `get` is required. Other functions may be NULL: then the store cannot do this,
/// or ozarr uses the others for it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_store_table {
    /// `sizeof(ozarr_store_table)`.
    pub struct_size: usize,
    /// A sum of `OZARR_CALLBACK_ANY_THREAD`, `OZARR_STORE_HAS_VERSIONS`, and `OZARR_STORE_IS_REMOTE` (reads
    /// are worth having in flight together, which is taken for granted of ranges with versions, and of no
    /// effect for values that are read whole), or 0.
    pub flags: u32,
    /// 0.
    pub reserved: i32,
    /// What the store is called in messages, such as `"sqlite:run.db"`. Stores of one name are one store
    /// to the locks that keep threads apart: give others other names. NULL is `"user:"` and the address of
    /// `user`. Copied.
    pub name: *const c_char,
    /// Handed on to every function.
    pub user: *mut c_void,
    /// Called when the last handle is gone and the last call has ended, which with functions that any
    /// thread may call, or that answer later, can be shortly after the call that frees the handle. May
    /// be NULL.
    pub destroy: ozarr_destroy_fn,
    /// All bytes of a key.
    pub get: ozarr_get_fn,
    /// Ranges of a key. Used with `OZARR_STORE_HAS_VERSIONS` only; else, and without it, whole values are
    /// read, each once for an access, and again to see whether it has changed.
    pub get_ranges: ozarr_get_ranges_fn,
    /// As `get_ranges`, without waiting: `OZARR_OK` says that the read was started, and that some thread
    /// will call `ozarr_answer_done` exactly once, perhaps before this returns. `ranges` goes when it
    /// returns. An error ends the read here.
    pub start_get_ranges: ozarr_get_ranges_fn,
    /// Stores a value. Without it the store is for reading only.
    pub put: ozarr_put_fn,
    /// Stores a value on a condition. Without it the condition is looked at before, and two programs may
    /// both think that they were first.
    pub put_if: ozarr_put_if_fn,
    /// Removes a key. Without it nothing can be erased.
    pub erase: ozarr_erase_fn,
    /// Removes all keys that begin with a prefix; may be NULL.
    pub erase_prefix: ozarr_erase_fn,
    /// All keys that begin with a prefix. Without it groups cannot be listed.
    pub list: ozarr_list_fn,
    /// The names directly below a prefix, without it; those of sub-prefixes end in `/`. May be NULL.
    pub list_dir: ozarr_list_fn,
    /// May be NULL.
    pub flush: ozarr_flush_fn,
}
growing!(ozarr_store_table: 120, reserved);
