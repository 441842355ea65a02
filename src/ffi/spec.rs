//! Specifications: what to create
//!
//! Every choice about a new array. A specification is checked as a whole when it is used
//! (`OZARR_ERR_METADATA` or `OZARR_ERR_UNSUPPORTED`, with the name of the member), and stays usable
//! afterwards:
//!
//! ```c
//! ozarr_spec *s = NULL;
//! int64_t shape[] = {0, 720, 1440}, chunks[] = {1, 720, 1440};
//! const char *names[] = {"time", "lat", "lon"};
//! if (ozarr_spec_new(OZARR_FLOAT32, 3, shape, &s)) goto fail;
//! if (ozarr_spec_set_chunks(s, chunks)) goto fail;
//! if (ozarr_spec_set_dimension_names(s, names)) goto fail;
//! if (ozarr_spec_set_compressor(s, "blosc", 5)) goto fail;
//! if (ozarr_array_create_ex("run.zarr/rain", s, OZARR_NEW, &a)) goto fail;
//! ozarr_spec_free(s);
//! ```

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{dimension, lengths, not_null, optional_texts, put, put_text, rank, text};
use super::types::{Specification, create, data_type, is_order_f, ozarr_array, ozarr_create, ozarr_order, ozarr_spec, ozarr_type};
use crate::dtype::ByteOrder;
use crate::error::{Result, bail};
use crate::grid::key::Separator;
use crate::limits::MAX_JSON_VALUES;
use crate::metadata::Order;
use crate::node::{Array, Context, Mode, Spec, Store};
use std::ffi::{c_char, c_void};
use std::sync::PoisonError;

/// A specification for an array of that type, rank (0 to 64) and shape: format 3, chunks of a suggested
/// shape, compressed with zstd, fill value 0.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_new(r#type: ozarr_type, rank: i32, shape: *const i64, out: *mut *mut ozarr_spec) -> ozarr_status {
    entry!("ozarr_spec_new", {
        not_null(out, "out")?;
        let data_type = data_type(r#type, None)?;
        // SAFETY: `rank` numbers, by the function's contract.
        let shape = unsafe { lengths(shape, self::rank(rank)?, "shape", 0) }?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(ozarr_spec::insert(Specification::new(Spec::new(data_type, &shape)?))?, out, "out") }
    })
}

/// A specification from a metadata document: the text of a `zarr.json` or a `.zarray`, as of
/// `ozarr_node_metadata`. What is no JSON is `OZARR_ERR_ARGUMENT`, as for all texts of JSON.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_from_json(document: *const c_char, out: *mut *mut ozarr_spec) -> ozarr_status {
    entry!("ozarr_spec_from_json", {
        not_null(out, "out")?;
        // SAFETY: a NUL-terminated text, by the function's contract.
        let spec = Spec::from_json(unsafe { text(document, "document") }?)?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(ozarr_spec::insert(Specification::new(spec))?, out, "out") }
    })
}

/// Creates an array as the specification says; `location` and `flags` as for `ozarr_array_create`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_array_create_ex(
    location: *const c_char,
    spec: *const ozarr_spec,
    flags: ozarr_create,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_array_create_ex", {
        not_null(out, "out")?;
        // SAFETY: a NUL-terminated text, by the function's contract.
        let location = unsafe { text(location, "location") }?;
        let (spec, flags) = (snapshot(spec)?, create(flags)?);
        let (store, path) = Store::locate(&Context::default(), location, Mode::ReadWrite)?;
        // SAFETY: `out` points to room for a handle.
        unsafe { put(ozarr_array::insert(Array::create(&store, &path, &spec, flags)?)?, out, "out") }
    })
}

/// The Zarr format: 3 (the default) or 2.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_zarr_format(spec: *mut ozarr_spec, format: i32) -> ozarr_status {
    entry!("ozarr_spec_set_zarr_format", { change(spec, |s| s.set_format(super::store::format_of(format)?)) })
}

/// The chunk's shape, one number for each dimension, at least 1. It takes the place of extents that were set
/// before.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_chunks(spec: *mut ozarr_spec, chunks: *const i64) -> ozarr_status {
    entry!("ozarr_spec_set_chunks", {
        // SAFETY: one number for each dimension, by the function's contract.
        change(spec, |s| s.set_chunks(&unsafe { lengths(chunks, s.rank(), "chunks", 1) }?))
    })
}

/// Chunks of uneven extents along dimension `dim` (from 0), such as the pieces of an MPI program: `count`
/// of them, each at least 1, in all at least the array's length there. The other dimensions keep the chunks
/// that were set before, or suggested ones. Extents that differ make a rectilinear grid (format 3), which
/// few other libraries read by now; if all are equal along every dimension the grid is the usual one.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_chunk_extents(spec: *mut ozarr_spec, dim: i32, count: i64, extents: *const i64) -> ozarr_status {
    entry!("ozarr_spec_set_chunk_extents", {
        let count = match usize::try_from(count) {
            Ok(n @ 1..=MAX_JSON_VALUES) => n,
            _ => bail!(Argument, "the argument `count` is {count}, expected 1 to {MAX_JSON_VALUES}"),
        };
        not_null(extents, "extents")?;
        change(spec, |s| {
            let dim = dimension(s.rank(), dim)?;
            // SAFETY: `count` numbers, by the function's contract.
            s.set_chunk_extents(dim, &unsafe { lengths(extents, count, "extents", 1) }?)
        })
    })
}

/// Puts many small chunks of this shape into each stored object (format 3): the chunks of
/// `ozarr_spec_set_chunks` become shards, which must be a multiple of it along each dimension.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_inner_chunks(spec: *mut ozarr_spec, chunks: *const i64) -> ozarr_status {
    entry!("ozarr_spec_set_inner_chunks", {
        // SAFETY: one number for each dimension, by the function's contract.
        change(spec, |s| s.set_inner_chunks(&unsafe { lengths(chunks, s.rank(), "chunks", 1) }?))
    })
}

/// Chunks that are no shards: takes back `ozarr_spec_set_inner_chunks`, and of a copy (`ozarr_array_spec`) the
/// shards, whose inner chunks' codecs stay.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_unset_inner_chunks(spec: *mut ozarr_spec) -> ozarr_status {
    entry!("ozarr_spec_unset_inner_chunks", { change(spec, Spec::unset_inner_chunks) })
}

/// Another type of the elements. The fill value is converted; where it does not fit, it becomes the default of
/// the new type.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_type(spec: *mut ozarr_spec, r#type: ozarr_type) -> ozarr_status {
    entry!("ozarr_spec_set_type", { change(spec, |s| s.set_data_type(data_type(r#type, None)?)) })
}

/// The fill value: one element of type `type` (`OZARR_AS_STORED`: of the array's) at `value`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_fill_value(spec: *mut ozarr_spec, r#type: ozarr_type, value: *const c_void) -> ozarr_status {
    entry!("ozarr_spec_set_fill_value", {
        not_null(value, "value")?;
        change(spec, |s| {
            let data_type = data_type(r#type, Some(s.data_type()))?;
            // SAFETY: not NULL, one element of that type, by the function's contract.
            s.set_fill(data_type, unsafe { std::slice::from_raw_parts(value.cast(), data_type.size()) })
        })
    })
}

/// The fill value as it stands in a metadata document: `1.5`, `"NaN"`, `"0x7fc00001"`, `[0, 1]`, `null`
/// (format 2: undefined).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_fill_json(spec: *mut ozarr_spec, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_fill_json", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let json = unsafe { text(json, "json") }?;
        change(spec, |s| s.set_fill_json(json))
    })
}

/// Format 3: a member of the document that has no setter of its own, as JSON: `"storage_transformers"` (a
/// list, the first one next to the array), `"chunk_key_encoding"`, a member that was registered
/// (`ozarr_register_member`), or one with `"must_understand": false`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_member_json(spec: *mut ozarr_spec, name: *const c_char, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_member_json", {
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (name, json) = unsafe { (text(name, "name")?, text(json, "json")?) };
        change(spec, |s| s.set_member_json(name, json))
    })
}

/// The dimensions' names, as many as the rank; NULL among them is a dimension without a name.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_dimension_names(spec: *mut ozarr_spec, names: *const *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_dimension_names", {
        change(spec, |s| {
            let rank = s.rank();
            if rank > 0 {
                not_null(names, "names")?;
            }
            // SAFETY: a text or NULL for each dimension, by the function's contract.
            let all = unsafe { optional_texts(names, rank, "names") }?.unwrap_or_default();
            s.set_dimension_names(all)
        })
    })
}

/// The order of the elements in a stored chunk (format 2: `order`; format 3: a `transpose`). It changes no
/// index and no result, only which reads are quick.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_order(spec: *mut ozarr_spec, order: ozarr_order) -> ozarr_status {
    entry!("ozarr_spec_set_order", {
        let order = if is_order_f(order)? { Order::F } else { Order::C };
        change(spec, |s| s.set_order(order))
    })
}

/// Whether the elements are stored big-endian; the default is little-endian. Your memory is in this
/// machine's order always.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_big_endian(spec: *mut ozarr_spec, big: bool) -> ozarr_status {
    entry!("ozarr_spec_set_big_endian", {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        change(spec, |s| s.set_byte_order(order))
    })
}

/// What stands between the numbers in a chunk's key: `'/'` (a folder for each dimension) or `'.'`.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_separator(spec: *mut ozarr_spec, separator: c_char) -> ozarr_status {
    entry!("ozarr_spec_set_separator", {
        let separator = match separator as u8 {
            b'.' => Separator::Dot,
            b'/' => Separator::Slash,
            other => bail!(Argument, "the argument `separator` is {:?}, expected '.' or '/'", other as char),
        };
        change(spec, |s| s.set_separator(separator))
    })
}

/// How chunks are compressed: `"zstd"`, `"gzip"`, `"blosc"`, `"zlib"` (format 2 only), or `"none"`; `level`
/// is the codec's own, -1 its default.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_compressor(spec: *mut ozarr_spec, name: *const c_char, level: i32) -> ozarr_status {
    entry!("ozarr_spec_set_compressor", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let name = unsafe { text(name, "name") }?;
        change(spec, |s| s.set_compressor(name, (level != -1).then_some(level)))
    })
}

/// Format 3: the whole list of codecs, as the member `codecs` of the document.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_codecs_json(spec: *mut ozarr_spec, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_codecs_json", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let json = unsafe { text(json, "json") }?;
        change(spec, |s| s.set_codecs_json(json))
    })
}

/// Format 2: the compressor, as the member `compressor` of the document (`{"id": "zstd", "level": 3}`, or
/// `null`).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_compressor_json(spec: *mut ozarr_spec, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_compressor_json", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let json = unsafe { text(json, "json") }?;
        change(spec, |s| s.set_compressor_json(json))
    })
}

/// Format 2: the filters, as the member `filters` of the document (a list, or `null`).
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_filters_json(spec: *mut ozarr_spec, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_filters_json", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let json = unsafe { text(json, "json") }?;
        change(spec, |s| s.set_filters_json(json))
    })
}

/// The attributes that the array has from the beginning, as a JSON object.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_set_attributes_json(spec: *mut ozarr_spec, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_attributes_json", {
        // SAFETY: a NUL-terminated text, by the function's contract.
        let json = unsafe { text(json, "json") }?;
        change(spec, |s| s.set_attributes_json(json))
    })
}

/// The metadata document that an array created now would have, as JSON.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_to_json(spec: *const ozarr_spec, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_spec_to_json", {
        let json = snapshot(spec)?.to_json()?;
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_text(&json, buf, cap, len) }
    })
}

/// Sets chunks of a suggested shape, and explains the choice in a short text.
#[unsafe(no_mangle)]
#[must_use]
pub unsafe extern "C" fn ozarr_spec_suggest(spec: *mut ozarr_spec, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_spec_suggest", {
        change(spec, |s| {
            let text = s.suggest()?;
            // SAFETY: room as is said, by the function's contract.
            unsafe { put_text(&text, buf, cap, len) }
        })
    })
}

/// Frees the specification; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_free(spec: *mut ozarr_spec) {
    entry!("ozarr_spec_free", else (), { ozarr_spec::free(spec, "spec") })
}

/// A copy of the specification as it is now.
pub(super) fn snapshot(spec: *const ozarr_spec) -> Result<Spec> {
    Ok(ozarr_spec::get(spec, "spec")?.value.read(Spec::clone))
}

/// Changes a specification; one change at a time, and none at all if it fails.
pub(super) fn change(spec: *mut ozarr_spec, how: impl FnOnce(&mut Spec) -> Result<()>) -> Result<()> {
    let spec = ozarr_spec::get(spec, "spec")?;
    let _turn = spec.turns.get().lock().unwrap_or_else(PoisonError::into_inner);
    let mut changed = spec.value.read(Spec::clone);
    how(&mut changed)?;
    drop(spec.value.replace(changed));
    Ok(())
}
