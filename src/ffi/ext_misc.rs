//! Extensions
//!
//! What the specification leaves open a program can fill: storage transformers, codecs, data types, chunk
//! key encodings, and members of `zarr.json` that must be understood. They are registered under their names
//! for the whole process, as tables of functions like those of a store of your own, and then used by every
//! array whose metadata name them; new arrays name them through `ozarr_spec_set_member_json`.
//!
//! A name that is taken, by the library or by another registration, is `OZARR_ERR_EXISTS` unless
//! `OZARR_REGISTER_REPLACE` is among the flags. Arrays that are open keep what they were opened with. A
//! registration lives until it is unregistered or replaced and its last user is gone: then `destroy` is
//! called with its `user`. After an error of the registering call it is not called.
//!
//! Functions give `OZARR_OK` or a status, best through `ozarr_set_error`, and follow the rules of "Stores
//! of your own". Without `OZARR_CALLBACK_ANY_THREAD`, arrays that use them are read and written by the
//! calling thread alone.

use super::entry;
use super::ext_store::{ozarr_destroy_fn, ozarr_store_table};
use super::handle::Handle;
use super::host::HostPointer;
use super::status::ozarr_status;
use super::strings::text;
use super::structs::{Growing, growing, read_struct};
use super::types::{OZARR_CALLBACK_ANY_THREAD, ozarr_store};
use super::user_store::{InnerStore, as_flagged, status_of, table_of};
use crate::error::{ErrorKind, Result, bail, err};
use crate::node::registered::Calls;
use crate::node::{self, Member, Store};
use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

/// In the flags of a registration: a name that is taken is replaced.
pub const OZARR_REGISTER_REPLACE: u32 = 1024;

/// What `ozarr_unregister` removes.
pub type ozarr_extension = i32;

/// A storage transformer.
pub const OZARR_EXTENSION_TRANSFORMER: ozarr_extension = 1;
/// A member of `zarr.json`.
pub const OZARR_EXTENSION_MEMBER: ozarr_extension = 2;
/// A codec, by its name or id; both names go.
pub const OZARR_EXTENSION_CODEC: ozarr_extension = 3;
/// A data type, by its name in v3 or v2; both names go.
pub const OZARR_EXTENSION_DTYPE: ozarr_extension = 4;
/// A chunk key encoding.
pub const OZARR_EXTENSION_KEY_ENCODING: ozarr_extension = 5;

/// Fills `table`, which is empty but for its size, with a store over `inner`. `configuration` is a JSON
/// object (`"{}"` where the metadata have none). `inner` holds the chunks of the array, under their keys
/// (`"c/0/0"`) or whatever keys the transformer likes; it is valid until `table->destroy` has been
/// called, and must not be freed.
pub type ozarr_transformer_open_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        configuration: *const c_char,
        inner: *mut ozarr_store,
        table: *mut ozarr_store_table,
    ) -> ozarr_status,
>;
/// Whether a value, as JSON, is one that the program understands.
pub type ozarr_member_check_fn = Option<unsafe extern "C" fn(user: *mut c_void, value: *const c_char) -> ozarr_status>;

/// A storage transformer: it makes stores over the store that holds an array's chunks.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_transformer_table {
    /// `sizeof(ozarr_transformer_table)`.
    pub struct_size: usize,
    /// A sum of `OZARR_REGISTER_REPLACE` and `OZARR_CALLBACK_ANY_THREAD` (which concerns `open`; the
    /// store's functions have flags of their own), or 0.
    pub flags: u32,
    /// 0.
    pub reserved: i32,
    /// The name in `storage_transformers`. Copied.
    pub name: *const c_char,
    /// Handed on to `open`.
    pub user: *mut c_void,
    /// May be NULL.
    pub destroy: ozarr_destroy_fn,
    /// Called whenever an array with this transformer is opened, created or copied. The `flush` of what it
    /// makes is called with that of the array's store, and before its `destroy` if anything was put since.
    pub open: ozarr_transformer_open_fn,
}
growing!(ozarr_transformer_table: 48, reserved);

/// The end of the key of the chunk `index` (as many numbers as `rank`; NULL for 0), behind the array's
/// prefix: `buf` has `cap` bytes, and `*len` becomes the length without the NUL. Two chunks have two keys,
/// and none is `"zarr.json"`.
pub type ozarr_key_encode_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        configuration: *const c_char,
        rank: i32,
        index: *const i64,
        buf: *mut c_char,
        cap: usize,
        len: *mut usize,
    ) -> ozarr_status,
>;
/// The reverse, for listings: whether `key`, behind the array's prefix, is a chunk's, and then its index.
pub type ozarr_key_decode_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        configuration: *const c_char,
        rank: i32,
        key: *const c_char,
        index: *mut i64,
        is_chunk: *mut bool,
    ) -> ozarr_status,
>;

/// A chunk key encoding as functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_key_encoding_table {
    /// `sizeof(ozarr_key_encoding_table)`.
    pub struct_size: usize,
    /// A sum of `OZARR_REGISTER_REPLACE` and `OZARR_CALLBACK_ANY_THREAD`, or 0.
    pub flags: u32,
    /// 0.
    pub reserved: i32,
    /// The name in `chunk_key_encoding`. Copied.
    pub name: *const c_char,
    /// Handed on to every function.
    pub user: *mut c_void,
    /// May be NULL.
    pub destroy: ozarr_destroy_fn,
    /// Checks a configuration (a JSON object). NULL takes every one.
    pub check: ozarr_member_check_fn,
    /// From indices to keys.
    pub encode: ozarr_key_encode_fn,
    /// From keys to indices.
    pub decode: ozarr_key_decode_fn,
}
growing!(ozarr_key_encoding_table: 64, reserved);

/// Registers a chunk key encoding. The table is copied. `"default"` and `"v2"` cannot be replaced.
///
/// Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
/// `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_register_key_encoding(table: *const ozarr_key_encoding_table) -> ozarr_status {
    entry!("ozarr_register_key_encoding", {
        // SAFETY: NULL, or a struct with its size, by the function's contract.
        let (table, name) = unsafe {
            let table = read_struct(table, "table")?;
            (table, text(table.name, "name")?)
        };
        for (function, there) in [("encode", table.encode.is_some()), ("decode", table.decode.is_some())] {
            if !there {
                bail!(Null, "`table`->{function} is NULL");
            }
        }
        let life = Life::new(table.flags, OZARR_CALLBACK_ANY_THREAD, table.user, table.destroy)?;
        let keys = Registered { table, what: format!("the chunk key encoding {name:?}"), life: life.clone() };
        node::registered_keys::register(name, Arc::new(keys), table.flags & OZARR_REGISTER_REPLACE != 0)?;
        life.arm();
        Ok(())
    })
}

/// Registers a storage transformer. The table is copied.
///
/// Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
/// `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_register_transformer(table: *const ozarr_transformer_table) -> ozarr_status {
    entry!("ozarr_register_transformer", {
        // SAFETY: NULL, or a struct with its size, by the function's contract.
        let (table, name) = unsafe {
            let table = read_struct(table, "table")?;
            (table, text(table.name, "name")?)
        };
        if table.open.is_none() {
            bail!(Null, "`table`->open is NULL");
        }
        let life = Life::new(table.flags, OZARR_CALLBACK_ANY_THREAD, table.user, table.destroy)?;
        let replace = table.flags & OZARR_REGISTER_REPLACE != 0;
        let transformer = Registered { table, what: format!("the storage transformer {name:?}"), life: life.clone() };
        node::register_transformer(name, Box::new(move |configuration, inner| transformer.open(configuration, inner)), replace)?;
        life.arm();
        Ok(())
    })
}

/// Says that the program understands a member of `zarr.json` (of arrays or groups) of that name, whatever
/// its `"must_understand"`: nodes with it can be opened, and it is kept when they are changed. `check` is
/// called with its value when one is opened, and may refuse it; it may be NULL, as may `destroy`. `flags`
/// are `OZARR_REGISTER_REPLACE` and `OZARR_CALLBACK_ANY_THREAD`, or 0.
///
/// Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
/// `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
///
/// @param[in] check,destroy may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_register_member(
    name: *const c_char,
    flags: u32,
    check: ozarr_member_check_fn,
    user: *mut c_void,
    destroy: ozarr_destroy_fn,
) -> ozarr_status {
    entry!("ozarr_register_member", texts(name), {
        let life = Life::new(flags, OZARR_CALLBACK_ANY_THREAD, user, destroy)?;
        let member = UserMember { check, name: name.to_string(), life: life.clone() };
        node::register_member(name, Arc::new(member), flags & OZARR_REGISTER_REPLACE != 0)?;
        life.arm();
        Ok(())
    })
}

/// Removes a registration: `extension` is one of `OZARR_EXTENSION_...`. If the library has an extension
/// of its own under the name, that is used again. `OZARR_ERR_NOT_FOUND` if there is no such
/// registration.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `extension`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_unregister(extension: ozarr_extension, name: *const c_char) -> ozarr_status {
    entry!("ozarr_unregister", texts(name), {
        let was_there = match extension {
            OZARR_EXTENSION_TRANSFORMER => node::unregister_transformer(name),
            OZARR_EXTENSION_MEMBER => node::unregister_member(name),
            OZARR_EXTENSION_CODEC => node::registered_codec::unregister(name),
            OZARR_EXTENSION_KEY_ENCODING => node::registered_keys::unregister(name),
            OZARR_EXTENSION_DTYPE => node::type_registration::unregister(name),
            _ => bail!(Argument, "the argument `extension` is {extension}, expected one of OZARR_EXTENSION_..."),
        };
        if !was_there {
            bail!(NotFound, "nothing is registered as {name:?}");
        }
        Ok(())
    })
}

/// The `user` of a registration, given back when the last user is gone.
#[derive(Clone)]
pub(super) struct Life(Arc<UserData>);

pub(super) struct UserData {
    flags: u32,
    user: HostPointer,
    destroy: ozarr_destroy_fn,
    /// Whether the registration succeeded: before that, `user` is the host's.
    armed: std::sync::atomic::AtomicBool,
}

impl Life {
    /// Also checks the flags: `OZARR_REGISTER_REPLACE` and those that are allowed besides.
    pub(super) fn new(flags: u32, allowed: u32, user: *mut c_void, destroy: ozarr_destroy_fn) -> Result<Life> {
        let unknown = flags & !(OZARR_REGISTER_REPLACE | allowed);
        if unknown != 0 {
            bail!(Argument, "the flags have {unknown}, which mean nothing here");
        }
        Ok(Life(Arc::new(UserData { flags, user: HostPointer(user), destroy, armed: false.into() })))
    }

    /// `user` is the library's to give back from now on.
    pub(super) fn arm(&self) {
        self.0.armed.store(true, std::sync::atomic::Ordering::Release);
    }

    pub(super) fn any_thread(&self) -> bool {
        self.0.flags & OZARR_CALLBACK_ANY_THREAD != 0
    }

    /// Calls one of the host's functions. That another writer was faster is for a store to say: here it would have a change made again and again.
    pub(super) fn call(&self, what: &str, f: impl FnOnce(*mut c_void) -> ozarr_status) -> Result<()> {
        status_of(self.0.flags, what, || f(self.0.user.0)).map_err(|e| match e.kind() {
            ErrorKind::Conflict => err!(Callback, "{}, with OZARR_ERR_CONFLICT, which only a store gives", e.message()),
            _ => e,
        })
    }

    /// Calls one that cannot fail.
    pub(super) fn run<T>(&self, f: impl FnOnce(*mut c_void) -> T) -> T {
        as_flagged(self.0.flags, || f(self.0.user.0))
    }
}

impl Drop for UserData {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy.filter(|_| *self.armed.get_mut()) {
            // SAFETY: the host's function, called once, with its own `user`.
            as_flagged(self.flags, || unsafe { destroy(self.user.0) });
        }
    }
}

/// A text for C, of what comes from a document.
pub(super) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| err!(Metadata, "a text with a NUL: {text:?}"))
}

/// A table of functions that was registered.
#[derive(Clone)]
pub(super) struct Registered<T> {
    pub(super) table: T,
    /// What it is, with its name.
    pub(super) what: String,
    pub(super) life: Life,
}

// SAFETY: the functions are called, and pointers handed to them, on threads that the host's flags allow.
unsafe impl<T> Send for Registered<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Registered<T> {}

impl<T> Registered<T> {
    /// Calls the function of that name.
    pub(super) fn call(&self, name: &str, f: impl FnOnce(*mut c_void) -> ozarr_status) -> Result<()> {
        self.life.call(&format!("`{name}` of {}", self.what), f)
    }
}

impl Registered<ozarr_transformer_table> {
    fn open(&self, configuration: &str, inner: Store) -> Result<Arc<dyn Calls>> {
        let Some(open) = self.table.open else { bail!(Internal, "a transformer without `open`") };
        let (configuration, inner) = (c_text(configuration)?, InnerStore(ozarr_store::insert(inner)?));
        let mut table = ozarr_store_table::empty();
        // SAFETY: the host's function, by the contract of its type.
        self.call("open", |user| unsafe { open(user, configuration.as_ptr(), inner.0, &mut table) })?;
        // SAFETY: the struct is ours; the host vouches for what it has put into it.
        match unsafe { table_of(&table, "table") } {
            Ok(store) => Ok(Arc::new(store.standing_on(inner))),
            Err(e) => {
                if let Some(destroy) = table.destroy {
                    // SAFETY: the host's function, called once, with its own `user`.
                    as_flagged(table.flags, || unsafe { destroy(table.user) });
                }
                Err(e)
            }
        }
    }
}

impl node::registered_keys::KeyCalls for Registered<ozarr_key_encoding_table> {
    fn any_thread(&self) -> bool {
        self.life.any_thread()
    }

    fn check(&self, configuration: &str) -> Result<()> {
        let (Some(check), configuration) = (self.table.check, c_text(configuration)?) else { return Ok(()) };
        // SAFETY: the host's function, by the contract of its type.
        self.call("check", |user| unsafe { check(user, configuration.as_ptr()) })
    }

    fn encode(&self, configuration: &str, index: &[u64]) -> Result<String> {
        let (Some(encode), configuration) = (self.table.encode, c_text(configuration)?) else { bail!(Internal, "no `encode`") };
        let index: Vec<i64> = index.iter().map(|&i| i as i64).collect();
        let first = if index.is_empty() { std::ptr::null() } else { index.as_ptr() };
        let (mut buf, mut len) = (vec![0u8; crate::limits::MAX_KEY + 1], 0);
        let cap = buf.len();
        // SAFETY: the host's function, by the contract of its type; the buffer has the size that it is told.
        let call =
            |user| unsafe { encode(user, configuration.as_ptr(), index.len() as i32, first, buf.as_mut_ptr().cast(), cap, &mut len) };
        self.call("encode", call)?;
        if len >= cap {
            bail!(Callback, "`encode` of {} says that it wrote {len} bytes into {cap}", self.what);
        }
        buf.truncate(len);
        String::from_utf8(buf).map_err(|_| err!(Callback, "`encode` of {} gave no UTF-8", self.what))
    }

    fn decode(&self, configuration: &str, tail: &str, rank: usize) -> Result<Option<crate::limits::Dims>> {
        let (Some(decode), configuration) = (self.table.decode, c_text(configuration)?) else { bail!(Internal, "no `decode`") };
        let (tail, mut index, mut is_chunk) = (c_text(tail)?, vec![0i64; rank.max(1)], false);
        // SAFETY: the host's function, by the contract of its type; there is room for as many numbers as the rank.
        let call = |user| unsafe { decode(user, configuration.as_ptr(), rank as i32, tail.as_ptr(), index.as_mut_ptr(), &mut is_chunk) };
        self.call("decode", call)?;
        let index: Option<crate::limits::Dims> = index.iter().take(rank).map(|&i| u64::try_from(i).ok()).collect();
        Ok(index.filter(|_| is_chunk))
    }
}

struct UserMember {
    check: ozarr_member_check_fn,
    name: String,
    life: Life,
}

impl Member for UserMember {
    fn check(&self, value: &str) -> Result<()> {
        let Some(check) = self.check else { return Ok(()) };
        let value = c_text(value)?;
        // SAFETY: the host's function, by the contract of its type.
        self.life.call(&format!("the check of the member {:?}", self.name), |user| unsafe { check(user, value.as_ptr()) })
    }
}
