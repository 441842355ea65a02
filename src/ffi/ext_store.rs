//! Stores of your own
//!
//! A store can be a table of functions of your program: a database, an archive, another library. Arrays and
//! groups live in it as in any other. Fill an `ozarr_store_table` and give it to `ozarr_store_from_table`.
//!
//! Functions give `OZARR_OK`, or the status of what went wrong, best through `ozarr_set_error`; anything
//! but a status is `OZARR_ERR_CALLBACK`. `OZARR_ERR_NOT_FOUND` means that a key holds nothing: no other
//! error is ever taken for that. Keys are checked before they come to you (`"run/t/c/0/0"`: UTF-8, no
//! empty, `.` or `..` parts); a prefix is empty or ends in `/`. What the functions give is checked, too.
//!
//! Unless the table says `OZARR_CALLBACK_ANY_THREAD`, the functions of all such tables are called one at a
//! time, and only by threads that are inside a call of yours: reads and writes of arrays there use the
//! calling thread alone. A function may call ozarr, on other stores; others have their turn until that call
//! returns. It must not touch the array or the document that it is called for, nor let a C++ exception or
//! `longjmp` out. `errno` and the floating-point environment are the host's own in it.
//!
//! Such functions and flags are also in the tables by which codecs, data types and more are registered
//! (see "Extensions").

use super::context::context_of;
use super::entry;
use super::handle::Handle;
use super::host::{call_back, call_back_in_turn};
use super::status::{self, OZARR_ERR_NOT_FOUND, ozarr_status};
use super::strings::{not_null, put, text};
use super::structs::read_struct;
use super::types::{OZARR_STORE_IS_REMOTE, Turn, ozarr_answer, ozarr_context, ozarr_keys, ozarr_store};
use crate::error::{ErrorKind, Result, bail, err};
use crate::node::registered::{Answer, AnswerDone, ByteRange, Calls, Can, MAX_TOKEN};
use crate::node::{Mode, Store};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// In the flags of a table: its functions may be called by any thread, also by several at once.
pub const OZARR_CALLBACK_ANY_THREAD: u32 = 256;
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

/// Frees what belongs to `user`: called once, after the last use of a table. It returns nothing, for nobody is
/// left who could be told of a failure.
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
    /// What the store is called in messages, such as `"sqlite:run.db"`; NULL is `"user:"`. Copied.
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

impl ozarr_store_table {
    /// Without any function.
    pub(super) fn empty() -> ozarr_store_table {
        ozarr_store_table {
            struct_size: size_of::<ozarr_store_table>(),
            flags: 0,
            reserved: 0,
            name: std::ptr::null(),
            user: std::ptr::null_mut(),
            destroy: None,
            get: None,
            get_ranges: None,
            start_get_ranges: None,
            put: None,
            put_if: None,
            erase: None,
            erase_prefix: None,
            list: None,
            list_dir: None,
            flush: None,
        }
    }
}

/// Makes a store of functions. Mode `"r"` never calls those that change it; `"r+"` does. `context` has
/// settings, or is NULL. The table is copied. After an error `destroy` is not called, and `table->user`
/// stays yours.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_store_from_table(
    context: *const ozarr_context,
    table: *const ozarr_store_table,
    mode: *const c_char,
    out: *mut *mut ozarr_store,
) -> ozarr_status {
    entry!("ozarr_store_from_table", {
        not_null(out, "out")?;
        // SAFETY: a NUL-terminated text, by the function's contract.
        let mode = Mode::parse(unsafe { text(mode, "mode") }?)?;
        let context = context_of(context)?;
        // SAFETY: NULL, or a struct with its size, by the function's contract.
        let calls = Arc::new(unsafe { table_of(table, "table") }?);
        let handle = ozarr_store::insert(Store::from_calls(&context, calls.clone(), mode)).inspect_err(|_| calls.disarm())?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(handle, out, "out") }
    })
}

/// Adds the next part of an answer: `size` bytes, which are copied. In an answer for ranges the parts
/// are those of the ranges, in order, and their sizes are checked.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_answer_put(answer: *mut ozarr_answer, data: *const c_void, size: usize) -> ozarr_status {
    entry!("ozarr_answer_put", {
        let answer = ozarr_answer::get(answer, "answer")?;
        // SAFETY: `size` bytes, by the function's contract.
        let bytes = unsafe { bytes_of(data, size, "data") }?;
        answer.with(|pending| {
            let part = pending.next_part(size)?;
            part.copy_from_slice(bytes);
            Ok(())
        })
    })
}

/// Allocates the next part of an answer: `*data` becomes a pointer to `size` bytes of 0, to be filled
/// before the function returns (of a read that was started: before `ozarr_answer_done`).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_answer_room(answer: *mut ozarr_answer, size: usize, data: *mut *mut c_void) -> ozarr_status {
    entry!("ozarr_answer_room", {
        not_null(data, "data")?;
        let room = ozarr_answer::get(answer, "answer")?.with(|pending| pending.next_part(size).map(|part| part.as_mut_ptr()))?;
        // SAFETY: `data` points to room for a pointer.
        unsafe { put(room.cast(), data, "data") }
    })
}

/// Says which version of the key's value the answer is of: any bytes (an ETag, a counter), at most 1,024,
/// that never come back for another value of that key.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_answer_version(answer: *mut ozarr_answer, version: *const c_void, size: usize) -> ozarr_status {
    entry!("ozarr_answer_version", {
        let answer = ozarr_answer::get(answer, "answer")?;
        if size > MAX_TOKEN {
            bail!(Argument, "the version has {size} bytes, the limit is {MAX_TOKEN}");
        }
        // SAFETY: `size` bytes, by the function's contract.
        let token = unsafe { bytes_of(version, size, "version") }?.to_vec();
        answer.with(|pending| {
            pending.answer.token = Some(token);
            Ok(())
        })
    })
}

/// Says how many bytes the whole value has that the answer is of: of use where ranges are asked for, or the
/// version only. Optional; without it a value is read whole where its length must be known.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_answer_size(answer: *mut ozarr_answer, size: i64) -> ozarr_status {
    entry!("ozarr_answer_size", {
        let size = u64::try_from(size).map_err(|_| err!(Argument, "the argument `size` is {size}, expected at least 0"))?;
        ozarr_answer::get(answer, "answer")?.with(|pending| {
            pending.answer.size = Some(size);
            Ok(())
        })
    })
}

/// Ends a read that `start_get_ranges` started, from any thread: with `OZARR_OK` once all parts are given,
/// or with what went wrong (`OZARR_ERR_NOT_FOUND`: the key holds nothing). The handle is gone then.
#[unsafe(no_mangle)]
#[must_use]
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
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_keys_add(keys: *mut ozarr_keys, key: *const c_char) -> ozarr_status {
    entry!("ozarr_keys_add", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let key = unsafe { text(key, "key") }?;
        ozarr_keys::get(keys, "keys")?.with(|all| {
            all.push(key.to_string());
            Ok(())
        })
    })
}

/// Ends a read that was started.
fn finish(answer: *mut ozarr_answer, status: ozarr_status, what: &str, before: Option<u64>, done: AnswerDone) {
    let taken = ozarr_answer::close(answer, "answer").and_then(|answer| answer.with(|p| Ok(std::mem::take(&mut p.answer))));
    done(match status {
        OZARR_ERR_NOT_FOUND => Ok(None),
        _ => status::of_callback(status, what, before).and(taken.map(Some)),
    });
}

/// Bytes that the caller gives.
///
/// # Safety `data` points to `size` bytes that live as long as the result is used; NULL is allowed for
/// none.
pub(super) unsafe fn bytes_of<'a>(data: *const c_void, size: usize, argument: &str) -> Result<&'a [u8]> {
    if size == 0 {
        return Ok(&[]);
    }
    not_null(data, argument)?;
    if size > isize::MAX as usize {
        bail!(Argument, "the size of `{argument}` is {size}, more than memory can hold");
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(data.cast(), size) })
}

/// An answer while a function is at work on it.
#[derive(Default)]
pub struct Pending {
    answer: Answer,
    /// The sizes that the parts must have; `None` for whole values.
    sizes: Option<Vec<Option<u64>>>,
    done: Option<AnswerDone>,
}

impl Pending {
    fn next_part(&mut self, size: usize) -> Result<&mut [u8]> {
        let number = self.answer.parts.len();
        let most = self.sizes.as_ref().map_or(1, Vec::len);
        if number >= most {
            bail!(Argument, "part {number} of an answer, expected {most} only");
        }
        match self.sizes.as_ref().and_then(|sizes| sizes.get(number)).copied().flatten() {
            Some(want) if want > size as u64 => bail!(Truncated, "found {size} bytes, expected {want} as in the range"),
            Some(want) if want != size as u64 => bail!(Argument, "part {number} has {size} bytes, expected {want} as in the range"),
            _ => {}
        }
        let limit = crate::limits::max_chunk().saturating_mul(2);
        if size as u64 > limit {
            bail!(Limit, "a value of {size} bytes exceeds the limit of {limit}");
        }
        let mut part = Vec::new();
        crate::limits::grow(&mut part, size)?;
        self.answer.parts.push(part);
        match self.answer.parts.last_mut() {
            Some(part) => Ok(part),
            None => bail!(Internal, "no part"),
        }
    }
}

/// A table of the host's, whose functions are called as its flags say.
pub(super) struct UserStore {
    table: ozarr_store_table,
    name: String,
    /// Whether the host's `user` is ours to give back.
    armed: AtomicBool,
    /// What a transformer stands on; given back after the host's `user`.
    inner: Option<Inner>,
}

/// A handle that the library made for the functions of a table; it goes with the table.
pub(super) struct Inner(pub *mut ozarr_store);

// SAFETY: a handle's bits, which any thread may use.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        let _ = ozarr_store::free(self.0, "inner");
    }
}

// SAFETY: the functions are called from other threads only where the host's flags allow it; else the engine stays in the calling
// thread (`Store::any_thread`), and turns keep the calls apart.
unsafe impl Send for UserStore {}
// SAFETY: as above.
unsafe impl Sync for UserStore {}

/// Reads a table of a store.
///
/// # Safety `table` is NULL or points to a struct with its size, which the host vouches for.
pub(super) unsafe fn table_of(table: *const ozarr_store_table, argument: &str) -> Result<UserStore> {
    // SAFETY: NULL, which is refused, or the caller's promise.
    let (table, name) = unsafe {
        let table = read_struct(table, argument)?;
        (table, if table.name.is_null() { "user:" } else { text(table.name, "name")? })
    };
    let unknown = table.flags & !(OZARR_CALLBACK_ANY_THREAD | OZARR_STORE_HAS_VERSIONS | OZARR_STORE_IS_REMOTE);
    if unknown != 0 {
        bail!(
            Argument,
            "`{argument}`->flags has {unknown}, expected OZARR_CALLBACK_ANY_THREAD, OZARR_STORE_HAS_VERSIONS and OZARR_STORE_IS_REMOTE only"
        );
    }
    if table.get.is_none() {
        bail!(Null, "`{argument}`->get is NULL");
    }
    Ok(UserStore { table, name: name.to_string(), armed: AtomicBool::new(true), inner: None })
}

impl Drop for UserStore {
    fn drop(&mut self) {
        if let Some(destroy) = self.table.destroy.filter(|_| *self.armed.get_mut()) {
            // SAFETY: the host's function, called once, with its own `user`.
            self.in_turn(|| unsafe { destroy(self.table.user) });
        }
    }
}

impl UserStore {
    /// Keeps a handle until the functions are not used any more.
    pub(super) fn standing_on(mut self, inner: Inner) -> UserStore {
        self.inner = Some(inner);
        self
    }

    /// Leaves `user` to the host.
    fn disarm(&self) {
        self.armed.store(false, Relaxed);
    }
}

/// Calls a function of the host as its flags say.
pub(super) fn as_flagged<T>(flags: u32, f: impl FnOnce() -> T) -> T {
    if flags & OZARR_CALLBACK_ANY_THREAD != 0 { call_back(f) } else { call_back_in_turn(f) }
}

/// Calls a function of the host that gives a status; `what` is its name in messages.
pub(super) fn status_of(flags: u32, what: &str, f: impl FnOnce() -> ozarr_status) -> Result<()> {
    let before = status::error_count();
    let status = as_flagged(flags, f);
    status::of_callback(status, what, Some(before))
}

/// A key as a text for C.
fn key_text(key: &str) -> Result<CString> {
    CString::new(key).map_err(|_| err!(Name, "the key {key:?} contains a NUL"))
}

/// A result whose error says that the key holds nothing.
fn found<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

impl UserStore {
    fn in_turn<T>(&self, f: impl FnOnce() -> T) -> T {
        as_flagged(self.table.flags, f)
    }

    fn call(&self, what: &str, f: impl FnOnce() -> ozarr_status) -> Result<()> {
        status_of(self.table.flags, &format!("`{what}` of the store {}", self.name), f)
    }

    /// Runs a function that fills an answer.
    fn ask(&self, what: &str, ranges: Option<&[ByteRange]>, f: impl FnOnce(*mut ozarr_answer) -> ozarr_status) -> Result<Option<Answer>> {
        let answer = ozarr_answer::insert(Turn::new(Pending { sizes: ranges.map(sizes_of), ..Pending::default() }))?;
        let status = self.call(what, || f(answer));
        let taken = ozarr_answer::close(answer, "answer")?.with(|pending| Ok(std::mem::take(&mut pending.answer)))?;
        found(status.map(|()| taken))
    }

    /// Runs a function that lists.
    fn names(&self, what: &str, prefix: &str, function: ozarr_list_fn) -> Result<Vec<String>> {
        let Some(list) = function else { bail!(Unsupported, "{} has no `{what}`", self.name) };
        let prefix = key_text(prefix)?;
        let keys = ozarr_keys::insert(Turn::new(Vec::new()))?;
        // SAFETY: the host's function, by the contract of its type.
        let status = self.call(what, || unsafe { list(self.table.user, prefix.as_ptr(), keys) });
        let all = ozarr_keys::close(keys, "keys")?.with(|all| Ok(std::mem::take(all)))?;
        status.map(|()| all)
    }

    fn missing<T>(&self, what: &str) -> Result<T> {
        bail!(Unsupported, "{} has no `{what}`", self.name)
    }
}

fn sizes_of(ranges: &[ByteRange]) -> Vec<Option<u64>> {
    let size = |range: &ByteRange| match *range {
        ByteRange::Whole => None,
        ByteRange::Span { len, .. } | ByteRange::Suffix { len } => Some(len),
    };
    ranges.iter().map(size).collect()
}

fn ranges_for_c(ranges: &[ByteRange]) -> Vec<ozarr_byte_range> {
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let range = |range: &ByteRange| match *range {
        ByteRange::Whole => ozarr_byte_range { kind: OZARR_BYTE_RANGE_KIND_WHOLE, reserved: 0, offset: 0, size: 0 },
        ByteRange::Span { offset, len } => {
            ozarr_byte_range { kind: OZARR_BYTE_RANGE_KIND_SPAN, reserved: 0, offset: number(offset), size: number(len) }
        }
        ByteRange::Suffix { len } => ozarr_byte_range { kind: OZARR_BYTE_RANGE_KIND_SUFFIX, reserved: 0, offset: 0, size: number(len) },
    };
    ranges.iter().map(range).collect()
}

impl Calls for UserStore {
    fn name(&self) -> &str {
        &self.name
    }

    fn can(&self) -> Can {
        let t = &self.table;
        Can {
            get_ranges: t.get_ranges.is_some(),
            start: t.start_get_ranges.is_some(),
            put: t.put.is_some(),
            put_if: t.put_if.is_some(),
            erase: t.erase.is_some(),
            erase_prefix: t.erase_prefix.is_some(),
            list: t.list.is_some(),
            list_dir: t.list_dir.is_some(),
            versions: t.flags & OZARR_STORE_HAS_VERSIONS != 0,
            remote: t.flags & OZARR_STORE_IS_REMOTE != 0,
            any_thread: t.flags & OZARR_CALLBACK_ANY_THREAD != 0,
        }
    }

    fn get(&self, key: &str) -> Result<Option<Answer>> {
        let (Some(get), key) = (self.table.get, key_text(key)?) else { return self.missing("get") };
        // SAFETY: the host's function, by the contract of its type; the texts live as long as the call.
        self.ask("get", None, |answer| unsafe { get(self.table.user, key.as_ptr(), answer) })
    }

    fn get_ranges(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Answer>> {
        let (Some(get), key, all) = (self.table.get_ranges, key_text(key)?, ranges_for_c(ranges)) else {
            return self.missing("get_ranges");
        };
        // SAFETY: as above.
        let call = |answer| unsafe { get(self.table.user, key.as_ptr(), all.as_ptr(), all.len() as i64, answer) };
        self.ask("get_ranges", Some(ranges), call)
    }

    fn start(&self, key: &str, ranges: &[ByteRange], done: AnswerDone) {
        let prepared = || -> Result<_> {
            let Some(start) = self.table.start_get_ranges else { return self.missing("start_get_ranges") };
            let pending = Pending { sizes: Some(sizes_of(ranges)), ..Pending::default() };
            Ok((start, key_text(key)?, ozarr_answer::insert(Turn::new(pending))?))
        };
        let (start, key, answer) = match prepared() {
            Ok(prepared) => prepared,
            Err(e) => return done(Err(e)),
        };
        let all = ranges_for_c(ranges);
        // The handle is in nobody else's hands yet.
        let armed = ozarr_answer::get(answer, "answer").and_then(|a| {
            a.with(|pending| {
                pending.done = Some(done);
                Ok(())
            })
        });
        if armed.is_err() {
            return;
        }
        let before = status::error_count();
        // SAFETY: as above.
        let status = self.in_turn(|| unsafe { start(self.table.user, key.as_ptr(), all.as_ptr(), all.len() as i64, answer) });
        if status != status::OZARR_OK {
            // Unless the host ended it all the same.
            let taken = ozarr_answer::get(answer, "answer").and_then(|a| a.with(|pending| Ok(pending.done.take())));
            if let Ok(Some(done)) = taken {
                finish(answer, status, &format!("`start_get_ranges` of the store {}", self.name), Some(before), done);
            }
        }
    }

    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        let (Some(put), key) = (self.table.put, key_text(key)?) else { return self.missing("put") };
        // SAFETY: as above.
        self.call("put", || unsafe { put(self.table.user, key.as_ptr(), bytes.as_ptr().cast(), bytes.len()) })
    }

    fn put_if(&self, key: &str, bytes: &[u8], token: Option<&[u8]>) -> Result<()> {
        let (Some(put_if), key) = (self.table.put_if, key_text(key)?) else { return self.missing("put_if") };
        let (version, size) = token.map_or((std::ptr::null(), 0), |t| (t.as_ptr(), t.len()));
        let (data, len) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: as above.
        self.call("put_if", || unsafe { put_if(self.table.user, key.as_ptr(), data, len, version.cast(), size) })
    }

    fn erase(&self, key: &str) -> Result<bool> {
        let (Some(erase), key) = (self.table.erase, key_text(key)?) else { return self.missing("erase") };
        // SAFETY: as above.
        Ok(found(self.call("erase", || unsafe { erase(self.table.user, key.as_ptr()) }))?.is_some())
    }

    fn erase_prefix(&self, prefix: &str) -> Result<()> {
        let (Some(erase), prefix) = (self.table.erase_prefix, key_text(prefix)?) else { return self.missing("erase_prefix") };
        // SAFETY: as above.
        found(self.call("erase_prefix", || unsafe { erase(self.table.user, prefix.as_ptr()) })).map(drop)
    }

    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.names("list", prefix, self.table.list)
    }

    fn list_dir(&self, prefix: &str) -> Result<Vec<String>> {
        self.names("list_dir", prefix, self.table.list_dir)
    }

    fn flush(&self) -> Result<()> {
        let Some(flush) = self.table.flush else { return Ok(()) };
        // SAFETY: as above.
        self.call("flush", || unsafe { flush(self.table.user) })
    }
}
