//! A table of the host's functions as a store: calls them as the table's flags say, and checks what they give.

use super::ext_store::{
    OZARR_BYTE_RANGE_KIND_SPAN, OZARR_BYTE_RANGE_KIND_SUFFIX, OZARR_BYTE_RANGE_KIND_WHOLE, OZARR_STORE_HAS_VERSIONS, ozarr_byte_range,
    ozarr_list_fn, ozarr_store_table,
};
use super::handle::{Handle, handle_type};
use super::host::{call_back, call_back_in_turn};
use super::status::{self, OZARR_ERR_NOT_FOUND, ozarr_status};
use super::strings::{number, text};
use super::structs::read_struct;
use super::types::{OZARR_CALLBACK_ANY_THREAD, OZARR_STORE_IS_REMOTE, Turn, ozarr_answer, ozarr_keys, ozarr_store};
use crate::error::{ErrorKind, Result, bail, err};
use crate::node::registered::{Answer, AnswerDone, ByteRange, Calls, Can};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Ends a read that was started.
pub(super) fn finish(answer: *mut ozarr_answer, status: ozarr_status, what: &str, before: Option<u64>, done: AnswerDone) {
    let taken = ozarr_answer::close(answer, "answer").and_then(|answer| answer.with(|p| Ok(std::mem::take(&mut p.answer))));
    done(match status {
        OZARR_ERR_NOT_FOUND => Ok(None),
        _ => status::of_callback(status, what, before).and(taken.map(Some)),
    });
}

/// An answer while a function is at work on it.
#[derive(Default)]
pub(crate) struct AnswerState {
    pub(super) answer: Answer,
    /// The sizes that the parts must have; `None` for whole values.
    sizes: Option<Vec<Option<u64>>>,
    pub(super) done: Option<AnswerDone>,
}
handle_type!(ozarr_answer, Answer, Turn<AnswerState>);

impl AnswerState {
    pub(super) fn next_part(&mut self, size: usize) -> Result<&mut [u8]> {
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
    /// The store below a transformer; given back after the host's `user`.
    inner: Option<InnerStore>,
}

/// A handle that the library made for the functions of a table; it goes with the table.
pub(super) struct InnerStore(pub *mut ozarr_store);

// SAFETY: a handle's bits, which any thread may use.
unsafe impl Send for InnerStore {}
// SAFETY: as above.
unsafe impl Sync for InnerStore {}

impl Drop for InnerStore {
    fn drop(&mut self) {
        let _ = ozarr_store::free(self.0, "inner");
    }
}

// SAFETY: the functions are called from other threads only where the host's flags allow it; else the engine stays in the calling
// thread (`Store::any_thread`), and turns keep the calls apart.
unsafe impl Send for UserStore {}
// SAFETY: as above.
unsafe impl Sync for UserStore {}

/// What a store without a name is called. Locks know a store by its name: those of stores of different data must not be the same, as a function of one may
/// change the other while a lock of the one is held.
fn nameless(table: &ozarr_store_table) -> String {
    let get = table.get.map_or(0, |get| get as usize);
    format!("user:{:x}", if table.user.is_null() { get } else { table.user as usize })
}

/// Reads a table of a store.
///
/// # Safety `table` is NULL or points to a struct with its size, which the host vouches for.
pub(super) unsafe fn table_of(table: *const ozarr_store_table, argument: &str) -> Result<UserStore> {
    // SAFETY: NULL, which is refused, or the caller's promise.
    let (table, name) = unsafe {
        let table = read_struct(table, argument)?;
        let name = if table.name.is_null() { nameless(&table) } else { text(table.name, "name")?.to_string() };
        (table, name)
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
    let needs = [
        (table.put_if.is_some(), "put_if", table.put.is_some(), "put"),
        (table.erase_prefix.is_some(), "erase_prefix", table.erase.is_some(), "erase"),
        (table.list_dir.is_some(), "list_dir", table.list.is_some(), "list"),
        (table.start_get_ranges.is_some(), "start_get_ranges", table.get_ranges.is_some(), "get_ranges"),
    ];
    if let Some((_, what, _, other)) = needs.iter().find(|(has, _, has_other, _)| *has && !has_other) {
        bail!(Argument, "`{argument}`->{what} needs `{argument}`->{other}, which is NULL");
    }
    Ok(UserStore { table, name, armed: AtomicBool::new(true), inner: None })
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
    pub(super) fn standing_on(mut self, inner: InnerStore) -> UserStore {
        self.inner = Some(inner);
        self
    }

    /// Leaves `user` to the host.
    pub(super) fn disarm(&self) {
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
        status_of(self.table.flags, &format!("`{what}` of the store {:?}", self.name), f)
    }

    /// Runs a function that fills an answer.
    fn ask(&self, what: &str, ranges: Option<&[ByteRange]>, f: impl FnOnce(*mut ozarr_answer) -> ozarr_status) -> Result<Option<Answer>> {
        let answer = ozarr_answer::insert(Turn::new(AnswerState { sizes: ranges.map(sizes_of), ..AnswerState::default() }))?;
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
        found(status).map(|_| all)
    }

    fn missing<T>(&self, what: &str) -> Result<T> {
        bail!(Unsupported, "{} has no `{what}`", self.name)
    }
}

fn sizes_of(ranges: &[ByteRange]) -> Vec<Option<u64>> {
    let size = |range: &ByteRange| match *range {
        ByteRange::Whole { .. } => None,
        ByteRange::Span { len, .. } | ByteRange::Suffix { len } => Some(len),
    };
    ranges.iter().map(size).collect()
}

fn ranges_for_c(ranges: &[ByteRange]) -> Vec<ozarr_byte_range> {
    let range = |range: &ByteRange| match *range {
        ByteRange::Whole { .. } => ozarr_byte_range { kind: OZARR_BYTE_RANGE_KIND_WHOLE, reserved: 0, offset: 0, size: 0 },
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
            let pending = AnswerState { sizes: Some(sizes_of(ranges)), ..AnswerState::default() };
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
                finish(answer, status, &format!("`start_get_ranges` of the store {:?}", self.name), Some(before), done);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::status::OZARR_ERR_PERMISSION;
    use crate::ffi::structs::Growing;
    use std::ffi::{c_char, c_void};

    #[test]
    fn a_listing_of_keys_that_hold_nothing_is_empty() {
        unsafe extern "C" fn get(_: *mut c_void, _: *const c_char, _: *mut ozarr_answer) -> ozarr_status {
            OZARR_ERR_NOT_FOUND
        }
        unsafe extern "C" fn list(_: *mut c_void, prefix: *const c_char, _: *mut ozarr_keys) -> ozarr_status {
            // SAFETY: a text of the library's.
            if unsafe { *prefix } == 0 { OZARR_ERR_PERMISSION } else { OZARR_ERR_NOT_FOUND }
        }
        let mut table = ozarr_store_table::empty();
        table.get = Some(get);
        table.list = Some(list);
        table.list_dir = Some(list);
        // SAFETY: a table with its size.
        let store = unsafe { table_of(&table, "table") }.unwrap();
        assert_eq!([store.list("a/").unwrap(), store.list_dir("a/").unwrap()], [const { Vec::<String>::new() }; 2]);
        assert!([store.list(""), store.list_dir("")].iter().all(|all| all.as_ref().is_err_and(|e| e.kind() == ErrorKind::Permission)));
    }

    #[test]
    fn a_function_that_needs_another_one_is_refused_without_it() {
        unsafe extern "C" fn get(_: *mut c_void, _: *const c_char, _: *mut ozarr_answer) -> ozarr_status {
            OZARR_ERR_NOT_FOUND
        }
        unsafe extern "C" fn put_if(
            _: *mut c_void,
            _: *const c_char,
            _: *const c_void,
            _: usize,
            _: *const c_void,
            _: usize,
        ) -> ozarr_status {
            OZARR_ERR_NOT_FOUND
        }
        unsafe extern "C" fn erase(_: *mut c_void, _: *const c_char) -> ozarr_status {
            OZARR_ERR_NOT_FOUND
        }
        unsafe extern "C" fn list(_: *mut c_void, _: *const c_char, _: *mut ozarr_keys) -> ozarr_status {
            OZARR_ERR_NOT_FOUND
        }
        let with = |set: &dyn Fn(&mut ozarr_store_table)| {
            let mut table = ozarr_store_table::empty();
            table.get = Some(get);
            set(&mut table);
            // SAFETY: a table with its size.
            unsafe { table_of(&table, "table") }.err().map(|e| (e.kind(), e.message().to_string()))
        };
        assert!(with(&|_| {}).is_none());
        for (set, what) in [
            (&(|table: &mut ozarr_store_table| table.put_if = Some(put_if)) as &dyn Fn(&mut ozarr_store_table), "put_if"),
            (&|table| table.erase_prefix = Some(erase), "erase_prefix"),
            (&|table| table.list_dir = Some(list), "list_dir"),
        ] {
            let (kind, text) = with(set).unwrap();
            assert!(kind == ErrorKind::Argument && text.contains(&format!("->{what} needs")), "{what}: {text}");
        }
    }
}
