//! Codecs of your own
//!
//! A codec is a table of functions, registered under its name in v3, its id in v2, or both. Elements
//! come to it in this machine's byte order, one after the other in the order of the buffer; it does not
//! receive the shape.

use super::entry;
use super::ext_misc::{Life, OZARR_REGISTER_REPLACE, Registered, c_text};
use super::ext_store::ozarr_destroy_fn;
use super::host::HostPointer;
use super::status::ozarr_status;
use super::strings::optional;
use super::structs::{growing, read_struct};
use super::types::{OZARR_CALLBACK_ANY_THREAD, ozarr_type, type_code};
use crate::dtype::DataType;
use crate::error::{Result, bail, err};
use crate::node::registered_codec::{self, Class, Codec, Opened, Size};
use std::ffi::{c_char, c_void};
use std::sync::Arc;

/// What a codec turns into what.
pub type ozarr_codec_kind = i32;

/// Bytes to bytes, as compressors and checksums.
pub const OZARR_CODEC_KIND_BYTES: ozarr_codec_kind = 1;
/// Elements to as many elements, perhaps of another type.
pub const OZARR_CODEC_KIND_ARRAY: ozarr_codec_kind = 2;
/// Elements to bytes.
pub const OZARR_CODEC_KIND_ARRAY_TO_BYTES: ozarr_codec_kind = 3;

/// In the flags of an `OZARR_CODEC_KIND_ARRAY`: what an element becomes does not depend on the others.
pub const OZARR_CODEC_IS_ELEMENTWISE: u32 = 2048;

/// Checks a configuration (a JSON object; in v2 the parameters beside the id) for elements of that type
/// (`OZARR_BY_DTYPE` where no number says it) and size in bytes; for bytes those are `OZARR_UINT8` or what
/// the bytes are, and can be ignored. `*state` may become what the other functions get. `*encoded` is
/// `type`: an `OZARR_CODEC_KIND_ARRAY` whose elements have another type afterwards sets it.
pub type ozarr_codec_open_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        configuration: *const c_char,
        zarr_format: i32,
        r#type: ozarr_type,
        item_size: usize,
        state: *mut *mut c_void,
        encoded: *mut ozarr_type,
    ) -> ozarr_status,
>;
/// Frees what `open` has put into `*state`. It is not called after an `open` that failed.
pub type ozarr_codec_close_fn = Option<unsafe extern "C" fn(user: *mut c_void, state: *mut c_void)>;
/// How many bytes `decoded` bytes are encoded to: at most, or, if it sets `*exact`, exactly.
pub type ozarr_codec_size_fn =
    Option<unsafe extern "C" fn(user: *mut c_void, state: *mut c_void, decoded: usize, size: *mut usize, exact: *mut bool) -> ozarr_status>;
/// Encodes or decodes `size` bytes into `dst`, which has `cap` bytes; `*len` becomes the number that was
/// written. A `dst` that is too small for what is decoded is `OZARR_ERR_BUFFER_SIZE`: where the decoded
/// size is not known, the function is called again with a larger one.
pub type ozarr_codec_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        state: *mut c_void,
        src: *const c_void,
        size: usize,
        dst: *mut c_void,
        cap: usize,
        len: *mut usize,
    ) -> ozarr_status,
>;

/// A codec as functions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_codec_table {
    /// `sizeof(ozarr_codec_table)`.
    pub struct_size: usize,
    /// A sum of `OZARR_REGISTER_REPLACE`, `OZARR_CALLBACK_ANY_THREAD` and `OZARR_CODEC_IS_ELEMENTWISE`, or
    /// 0.
    pub flags: u32,
    /// One of `OZARR_CODEC_KIND_...`: its position in a v3 list. In v2 codecs of all kinds can be at any
    /// position.
    pub kind: ozarr_codec_kind,
    /// The name in v3, or NULL. Copied.
    pub name: *const c_char,
    /// The id in v2, or NULL. Copied.
    pub id: *const c_char,
    /// Handed on to every function.
    pub user: *mut c_void,
    /// May be NULL.
    pub destroy: ozarr_destroy_fn,
    /// Called for each array that uses the codec. NULL takes every configuration and type.
    pub open: ozarr_codec_open_fn,
    /// May be NULL.
    pub close: ozarr_codec_close_fn,
    /// Not used by an `OZARR_CODEC_KIND_ARRAY`.
    pub encoded_size: ozarr_codec_size_fn,
    /// Encodes. `cap` is what `encoded_size` said.
    pub encode: ozarr_codec_fn,
    /// Decodes. What comes from a file can be anything.
    pub decode: ozarr_codec_fn,
}
growing!(ozarr_codec_table: 88);

/// Registers a codec. The table is copied. A chain or shard's own codecs (`"bytes"`, `"transpose"`,
/// `"sharding_indexed"`, `"vlen-utf8"` and their like) cannot be replaced.
///
/// Errors: `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NAME` for a name that cannot be;
/// `OZARR_ERR_ARGUMENT` for an empty one, and for an unknown flag or constant.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_register_codec(table: *const ozarr_codec_table) -> ozarr_status {
    entry!("ozarr_register_codec", {
        // SAFETY: NULL, or a struct with its size, by the function's contract.
        let table = unsafe { read_struct(table, "table") }?;
        // SAFETY: NULL or NUL-terminated texts, by the function's contract.
        let (name, id) = unsafe { (optional(table.name, "name")?, optional(table.id, "id")?) };
        let class = match (table.kind, table.flags & OZARR_CODEC_IS_ELEMENTWISE != 0) {
            (OZARR_CODEC_KIND_BYTES, false) => Class::Bytes,
            (OZARR_CODEC_KIND_ARRAY_TO_BYTES, false) => Class::Serial,
            (OZARR_CODEC_KIND_ARRAY, elementwise) => Class::Array { elementwise },
            (kind, true) => bail!(Argument, "OZARR_CODEC_IS_ELEMENTWISE means nothing for a codec of kind {kind}"),
            (kind, _) => bail!(Argument, "`table`->kind is {kind}, expected one of OZARR_CODEC_KIND_..."),
        };
        let needed = [
            ("encode", table.encode.is_some()),
            ("decode", table.decode.is_some()),
            ("encoded_size", table.encoded_size.is_some() || matches!(class, Class::Array { .. })),
        ];
        if let Some((missing, _)) = needed.iter().find(|(_, there)| !there) {
            bail!(Null, "`table`->{missing} is NULL");
        }
        let life = Life::new(table.flags, OZARR_CALLBACK_ANY_THREAD | OZARR_CODEC_IS_ELEMENTWISE, table.user, table.destroy)?;
        let what = format!("the codec {:?}", name.or(id).unwrap_or_default());
        let codec = UserCodec { host: Registered { table, what, life: life.clone() }, class };
        registered_codec::register(name, id, Arc::new(codec), table.flags & OZARR_REGISTER_REPLACE != 0)?;
        life.arm();
        Ok(())
    })
}

struct UserCodec {
    host: Registered<ozarr_codec_table>,
    class: Class,
}

impl Codec for UserCodec {
    fn class(&self) -> Class {
        self.class
    }

    fn open(&self, configuration: &str, v2: bool, input: DataType) -> Result<(Arc<dyn Opened>, DataType)> {
        let (mut state, mut encoded) = (std::ptr::null_mut(), type_code(input));
        let (before, configuration) = (encoded, c_text(configuration)?);
        if let Some(open) = self.host.table.open {
            let format = if v2 { 2 } else { 3 };
            self.host.call("open", |user| {
                // SAFETY: the host's function, by the contract of its type.
                unsafe { open(user, configuration.as_ptr(), format, before, input.size(), &mut state, &mut encoded) }
            })?;
        }
        let opened = OpenCodec { codec: self.host.clone(), state: HostPointer(state) };
        let output = if encoded == before { Some(input) } else { DataType::from_raw(encoded) };
        let output = output.ok_or_else(|| err!(Callback, "`open` of {} gave the type {encoded}, which is no number's", self.host.what))?;
        Ok((Arc::new(opened), output))
    }
}

/// What `open` of a codec gave; closed when dropped.
struct OpenCodec {
    codec: Registered<ozarr_codec_table>,
    state: HostPointer,
}

impl Drop for OpenCodec {
    fn drop(&mut self) {
        if let Some(close) = self.codec.table.close {
            // SAFETY: the host's function, called once, with the host's own state.
            self.codec.life.run(|user| unsafe { close(user, self.state.0) });
        }
    }
}

impl OpenCodec {
    fn run(&self, what: &str, function: ozarr_codec_fn, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let Some(run) = function else { bail!(Internal, "a codec without `{what}`") };
        let mut len = 0;
        self.codec.call(what, |user| {
            // SAFETY: the host's function, by the contract of its type; the buffers have the sizes that it is told.
            unsafe { run(user, self.state.0, src.as_ptr().cast(), src.len(), dst.as_mut_ptr().cast(), dst.len(), &mut len) }
        })?;
        Ok(len)
    }
}

impl Opened for OpenCodec {
    fn any_thread(&self) -> bool {
        self.codec.life.any_thread()
    }

    fn encoded_size(&self, decoded: usize) -> Result<Size> {
        let Some(ask) = self.codec.table.encoded_size else { bail!(Internal, "a codec without `encoded_size`") };
        let (mut size, mut exact) = (0, false);
        // SAFETY: the host's function, by the contract of its type.
        self.codec.call("encoded_size", |user| unsafe { ask(user, self.state.0, decoded, &mut size, &mut exact) })?;
        Ok(if exact { Size::Exact(size) } else { Size::AtMost(size) })
    }

    fn encode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.run("encode", self.codec.table.encode, src, dst)
    }

    fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.run("decode", self.codec.table.decode, src, dst)
    }
}
