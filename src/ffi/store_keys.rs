//! Stores and keys for tools
//!
//! Views of a store, and the bytes below the nodes. A key is the name under which a store holds bytes:
//! `"run/t/c/0/0"`.

use super::entry;
use super::host::call_back;
use super::status::{error_count, of_callback, ozarr_status};
use super::strings::{bytes, put_optional};
use super::types::{OZARR_STORE_CAN_ERASE, OZARR_STORE_CAN_LIST, OZARR_STORE_CAN_WRITE, OZARR_STORE_IS_REMOTE, ozarr_store};
use crate::error::{bail, err};
use crate::node::Mode;
use std::ffi::{CString, c_char, c_void};

/// Called by `ozarr_store_key_list` with `user` and a key, which is valid during the call only.
/// `OZARR_OK` continues; any other status stops the listing, which then fails with it.
pub type ozarr_key_fn = Option<unsafe extern "C" fn(user: *mut c_void, key: *const c_char) -> ozarr_status>;

/// Opens the part of a store below `path` as a store of its own. An empty path is the whole store: with
/// mode `"r"` this makes any store read-only. `mode` is `"r"` or `"r+"`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY` where the
/// store cannot be written; those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_below(
    store: *const ozarr_store,
    path: *const c_char,
    mode: *const c_char,
    out: *mut *mut ozarr_store,
) -> ozarr_status {
    entry!("ozarr_store_below", new(out), handles(store), texts(path, mode), { store.below(path, Mode::parse(mode)?) })
}

/// Opens a store through a cache of `bytes` bytes in memory. Values that were read are kept and reused
/// while the key's version in the store has not changed. Each use asks the store for the version only. A
/// single read of more than a quarter of `bytes` is not kept. `mode` is `"r"` or `"r+"`.
///
/// The version of a web server's file is its ETag. Where the server tells none, or one that is made of
/// time and length as nginx does, it is `Last-Modified` and the length: values are kept if the answer's
/// `Date` is more than 10 s later, and one that is replaced by another of the same length and with the
/// same time is not seen.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
/// written; those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_cached(
    store: *const ozarr_store,
    bytes: usize,
    mode: *const c_char,
    out: *mut *mut ozarr_store,
) -> ozarr_status {
    entry!("ozarr_store_cached", new(out), handles(store), texts(mode), { store.cached(bytes, Mode::parse(mode)?) })
}

/// Gets what a store can do, as a sum of `OZARR_STORE_CAN_...` and `OZARR_STORE_IS_...`: zip archives
/// cannot erase, for example.
///
/// Errors: none of its own.
///
/// @param[out] capabilities
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_capabilities(store: *const ozarr_store, capabilities: *mut u32) -> ozarr_status {
    entry!("ozarr_store_capabilities", put(capabilities), handles(store), {
        let can = store.capabilities();
        let flags = [
            (can.writable, OZARR_STORE_CAN_WRITE),
            (can.listable, OZARR_STORE_CAN_LIST),
            (can.erasable, OZARR_STORE_CAN_ERASE),
            (can.latency, OZARR_STORE_IS_REMOTE),
        ];
        Ok(flags.iter().filter(|(has, _)| *has).fold(0, |all, (_, flag)| all | flag))
    })
}

/// For tools: gets the bytes of a key (`"run/t/c/0/0"`) to `buf`, which has a capacity of `cap` bytes.
/// `*len` becomes the number of bytes, and is set also when the buffer is too small
/// (`OZARR_ERR_BUFFER_SIZE`). `buf` NULL with `cap` 0 asks for the number only; `len` may be NULL.
/// `OZARR_ERR_NOT_FOUND` if the key holds nothing; `NULL, 0, NULL` asks whether it does.
///
/// Errors: `OZARR_ERR_NAME` for a key that cannot be; those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_key_get(
    store: *const ozarr_store,
    key: *const c_char,
    buf: *mut c_void,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_store_key_get", handles(store), texts(key), {
        let missing = || err!(NotFound, "the key holds nothing").at_key(key);
        if buf.is_null() {
            if cap > 0 {
                bail!(Null, "the argument `buf` is NULL and `cap` is {cap}");
            }
            let found = store.key_len(key)?.ok_or_else(missing)?;
            // SAFETY: NULL, or room for it.
            unsafe { put_optional(found as usize, len) };
            return Ok(());
        }
        let bytes = store.key_get(key)?.ok_or_else(missing)?;
        // SAFETY: NULL or writable, by the function's contract.
        unsafe { put_optional(bytes.len(), len) };
        if cap < bytes.len() {
            bail!(BufferSize, "`buf` has {cap} bytes, expected at least {}", bytes.len());
        }
        // SAFETY: room for `cap` bytes, which are enough.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast(), bytes.len()) };
        Ok(())
    })
}

/// For tools: stores `size` bytes under a key, atomically. Nothing is checked but the key.
///
/// Errors: `OZARR_ERR_NAME` for a key that cannot be; `OZARR_ERR_READ_ONLY`; those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_key_put(
    store: *mut ozarr_store,
    key: *const c_char,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_store_key_put", handles(store), texts(key), {
        // SAFETY: `size` bytes, by the function's contract.
        store.key_put(key, unsafe { bytes(data, size, "data") }?)
    })
}

/// For tools: removes a key. `*erased` (unless NULL) becomes whether it existed; a missing key is not an
/// error. A store that cannot erase (a zip archive) gives `OZARR_ERR_UNSUPPORTED`.
///
/// Errors: `OZARR_ERR_NAME` for a key that cannot be; `OZARR_ERR_READ_ONLY`; those of stores.
///
/// @param[out] erased may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_key_erase(store: *mut ozarr_store, key: *const c_char, erased: *mut bool) -> ozarr_status {
    entry!("ozarr_store_key_erase", handles(store), texts(key), {
        let was_there = store.key_erase(key)?;
        // SAFETY: NULL, or room for it.
        unsafe { put_optional(was_there, erased) };
        Ok(())
    })
}

/// For tools: calls `each` with every key that starts with `prefix` (empty, or ending in `/`), sorted, in
/// the calling thread, until it returns another status than `OZARR_OK`, which is then the status of this
/// function. `user` is handed on to it. It may use the store; the text is valid during the call only.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a prefix that ends in something else; `OZARR_ERR_NAME` for one that
/// cannot be; `OZARR_ERR_CALLBACK` and whatever `each` returns; those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_key_list(
    store: *const ozarr_store,
    prefix: *const c_char,
    each: ozarr_key_fn,
    user: *mut c_void,
) -> ozarr_status {
    entry!("ozarr_store_key_list", handles(store), texts(prefix), {
        let Some(each) = each else { bail!(Null, "the argument `each` is NULL") };
        let keys = store.key_list(prefix)?;
        for key in keys {
            let key = CString::new(key).map_err(|_| err!(Internal, "a key with a NUL"))?;
            let before = error_count();
            // SAFETY: the caller's function, by the contract of its type.
            of_callback(call_back(|| unsafe { each(user, key.as_ptr()) }), "the function `each`", Some(before))?;
        }
        Ok(())
    })
}
