//! Specifications: what to create
//!
//! Every choice about a new array. A specification is checked as a whole when it is used
//! (`OZARR_ERR_METADATA` or `OZARR_ERR_UNSUPPORTED`, or `OZARR_ERR_ARGUMENT` where choices contradict
//! each other, such as inner chunks that do not divide the chunks; with the name of the member), and
//! stays usable afterwards:
//!
//! ```c
//! ozarr_spec *s = NULL;
//! int64_t shape[] = {0, 720, 1440}, chunks[] = {1, 720, 1440};
//! const char *names[] = {"time", "lat", "lon"};
//! if (ozarr_spec_new(OZARR_FLOAT32, 3, shape, &s)) goto fail;
//! if (ozarr_spec_set_chunks(s, chunks)) goto fail;
//! if (ozarr_spec_set_dimension_names(s, names)) goto fail;
//! if (ozarr_spec_set_compressor(s, "blosc:zstd", 5)) goto fail;
//! if (ozarr_spec_set_shuffle(s, OZARR_SHUFFLE_BIT)) goto fail;
//! if (ozarr_spec_set_keep_bits(s, 12)) goto fail;
//! if (ozarr_array_create_ex("run.zarr/rain", s, OZARR_CREATE_NEW, &a)) goto fail;
//! ozarr_spec_free(s);
//! ```

use super::context::default_context;
use super::entry;
use super::handle::Handle;
use super::status::{ozarr_order, ozarr_status};
use super::strings::{dimension, lengths, not_null, optional_texts, put_text};
use super::types::{Specification, create, data_type, format_of, is_order_f, ozarr_array, ozarr_create_mode, ozarr_spec, ozarr_type};
use crate::dtype::ByteOrder;
use crate::error::{Result, bail};
use crate::grid::key::Separator;
use crate::limits::MAX_JSON_VALUES;
use crate::metadata::Order;
use crate::node::{Array, Mode, Shuffle, Spec, Store, Zfp};
use std::ffi::{c_char, c_void};
use std::sync::PoisonError;

/// Makes a specification for an array of that type, rank (0 to 64) and shape: format 3, chunks of a
/// suggested shape, compressed with zstd, fill value 0. `shape` may be NULL: then `ozarr_spec_set_shape`
/// gives it later, or, for a variable of a dataset (`ozarr_variable`), the dataset's dimensions do.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length or an unknown type; `OZARR_ERR_RANK`;
/// `OZARR_ERR_TYPE`; those of documents.
///
/// @param[in] shape array(rank), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_new(r#type: ozarr_type, rank: i32, shape: *const i64, out: *mut *mut ozarr_spec) -> ozarr_status {
    entry!("ozarr_spec_new", new(out), {
        // SAFETY: `rank` numbers, by the function's contract.
        let spec = unsafe { new_spec(r#type, rank, shape) }?;
        Ok(Specification::new(spec))
    })
}

/// Changes the shape; the rank stays. One specification can so serve several arrays. Chunks that the
/// library chose are chosen anew for it.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length; those of documents.
///
/// @param[in] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_shape(spec: *mut ozarr_spec, shape: *const i64) -> ozarr_status {
    entry!("ozarr_spec_set_shape", {
        // SAFETY: one number for each dimension, by the function's contract.
        change(spec, &mut |s| s.set_shape(&unsafe { lengths(shape, s.rank(), "shape", 0) }?))
    })
}

/// Makes a specification from a metadata document: the text of a `zarr.json` or a `.zarray`, as of
/// `ozarr_node_metadata`. Malformed JSON is `OZARR_ERR_ARGUMENT`.
///
/// Errors: `OZARR_ERR_NODE_KIND` for the document of a group; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_from_json(document: *const c_char, out: *mut *mut ozarr_spec) -> ozarr_status {
    entry!("ozarr_spec_from_json", new(out), texts(document), { Spec::from_json(document).map(Specification::new) })
}

/// Creates an array as the specification says; `location` and `mode` as for `ozarr_array_create`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or choices that contradict each other;
/// `OZARR_ERR_STATE` for a specification without a shape; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
/// `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an
/// array; `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_create_ex(
    location: *const c_char,
    spec: *const ozarr_spec,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_array_create_ex", new(out), texts(location), {
        let (spec, mode) = (snapshot(spec)?, create(mode)?);
        let (store, path) = Store::locate(&default_context()?, location, Mode::ReadWrite)?;
        Array::create(&store, &path, &spec, mode)
    })
}

/// Sets the Zarr format: 3 (the default) or 2.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another number; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_zarr_format(spec: *mut ozarr_spec, format: i32) -> ozarr_status {
    entry!("ozarr_spec_set_zarr_format", { change(spec, &mut |s| s.set_format(format_of(format)?)) })
}

/// Sets the chunk's shape: one number for each dimension, at least 1. It replaces extents that were set
/// before.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an extent below 1; those of documents.
///
/// @param[in] chunks array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_chunks(spec: *mut ozarr_spec, chunks: *const i64) -> ozarr_status {
    entry!("ozarr_spec_set_chunks", {
        // SAFETY: one number for each dimension, by the function's contract.
        change(spec, &mut |s| s.set_chunks(&unsafe { lengths(chunks, s.rank(), "chunks", 1) }?))
    })
}

/// Sets chunks of uneven extents along dimension `dim` (from 0), such as the domains of a parallel (MPI)
/// program: `count` extents, each at least 1, whose sum is at least the array's length there. The other
/// dimensions keep the chunks that were set before, or suggested ones. Extents that differ make a
/// rectilinear grid (format 3), which few other libraries read by now; if all are equal along every
/// dimension the grid is the usual one.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an extent or a count below 1; `OZARR_ERR_BOUNDS` if there is no
/// dimension `dim`; those of documents.
///
/// @param[in] extents array(count)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_chunk_extents(spec: *mut ozarr_spec, dim: i32, extents: *const i64, count: i64) -> ozarr_status {
    entry!("ozarr_spec_set_chunk_extents", {
        let count = match usize::try_from(count) {
            Ok(n @ 1..=MAX_JSON_VALUES) => n,
            _ => bail!(Argument, "the argument `count` is {count}, expected 1 to {MAX_JSON_VALUES}"),
        };
        not_null(extents, "extents")?;
        change(spec, &mut |s| {
            let dim = dimension(s.rank(), dim)?;
            // SAFETY: `count` numbers, by the function's contract.
            s.set_chunk_extents(dim, &unsafe { lengths(extents, count, "extents", 1) }?)
        })
    })
}

/// Sets the shape of inner chunks, many of which are stored in one object (format 3): the chunks of
/// `ozarr_spec_set_chunks` become shards, and must be a multiple of `chunks` along each dimension. NULL
/// removes the inner chunks, so that chunks are not shards: a specification of an existing array
/// (`ozarr_array_copy_spec`) keeps the codecs of its inner chunks, for the chunks. An array of rank 64
/// cannot have inner chunks, whose index has a dimension more.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an extent below 1; `OZARR_ERR_UNSUPPORTED` for NULL where codecs are
/// behind the shards; those of documents.
///
/// @param[in] chunks array(rank), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_inner_chunks(spec: *mut ozarr_spec, chunks: *const i64) -> ozarr_status {
    entry!("ozarr_spec_set_inner_chunks", {
        change(spec, &mut |s| match chunks.is_null() && s.rank() > 0 {
            true => s.unset_inner_chunks(),
            // SAFETY: one number for each dimension, by the function's contract.
            false => s.set_inner_chunks(&unsafe { lengths(chunks, s.rank(), "chunks", 1) }?),
        })
    })
}

/// Changes the type of the elements. The fill value is converted; if it does not fit, it becomes the
/// default of the new type. In a specification that is like an array, codecs that are made for the old
/// type, and would make other values of the new one (`fixedscaleoffset`), are left out, unless they were
/// set since. A copy has the numbers that elements mean by the attribute `_Unsigned`, and goes without it.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown type, and for a second type of a copy, once attributes
/// have followed the first; `OZARR_ERR_TYPE`; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_type(spec: *mut ozarr_spec, r#type: ozarr_type) -> ozarr_status {
    entry!("ozarr_spec_set_type", { change(spec, &mut |s| s.set_data_type(data_type(r#type, None)?)) })
}

/// Sets the fill value: one element of `type` (`OZARR_AS_STORED`: the array's type) at `value`. That of
/// elements of variable length is set by `ozarr_spec_set_fill_dtype`, or as the member `"fill_value"`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown type; `OZARR_ERR_TYPE`; `OZARR_ERR_RANGE` for a value that
/// does not fit; those of documents.
///
/// @param[in] value
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_fill_value(spec: *mut ozarr_spec, r#type: ozarr_type, value: *const c_void) -> ozarr_status {
    entry!("ozarr_spec_set_fill_value", {
        not_null(value, "value")?;
        change(spec, &mut |s| {
            if s.data_type().is_variable() {
                bail!(Type, "the elements are {}, of variable length; use ozarr_spec_set_fill_dtype", s.data_type().name());
            }
            let data_type = data_type(r#type, Some(s.data_type()))?;
            // SAFETY: not NULL, one element of that type, by the function's contract.
            s.set_fill(data_type, unsafe { std::slice::from_raw_parts(value.cast(), data_type.size()) })
        })
    })
}

/// Sets a member of the metadata document as JSON: `"fill_value"`, as the document has it; `"attributes"`,
/// an object; `"codecs"` (format 3, the whole list), `"compressor"` and `"filters"` (format 2,
/// `{"id": "zstd", "level": 3}` and a list of such objects, or `null`), `"storage_transformers"` (format 3,
/// a list, the first one next to the array), `"chunk_key_encoding"`, a member that was registered
/// (`ozarr_register_member`), or one with `"must_understand": false`. Codecs that calculate
/// (`fixedscaleoffset`, `astype`, `delta`, `scale_offset`, `quantize`, ...) have to give the fill value back
/// as it was: an array with another one, such as NaN where integers are stored, is not created
/// (`OZARR_ERR_METADATA`).
///
/// Errors: `OZARR_ERR_ARGUMENT` for malformed JSON; `OZARR_ERR_TYPE` for attributes that are no object;
/// those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_member_json(spec: *mut ozarr_spec, name: *const c_char, json: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_member_json", texts(name, json), { change(spec, &mut |s| s.set_member_json(name, json)) })
}

/// Sets the dimensions' names, one string for each dimension; NULL is a dimension without a name. In
/// format 2 an array with names has no fill value (null; "not a time" of times) unless one is set: xarray
/// and netCDF take it for "missing" there, and 0 is data. What is not written reads as 0 all the same.
///
/// Errors: those of documents.
///
/// @param[in] names array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_dimension_names(spec: *mut ozarr_spec, names: *const *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_dimension_names", {
        change(spec, &mut |s| {
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

/// Sets the order of the elements in a stored chunk (format 2: `order`; format 3: a `transpose`). It
/// changes no index and no result, only which reads are quick.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another constant; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_order(spec: *mut ozarr_spec, order: ozarr_order) -> ozarr_status {
    entry!("ozarr_spec_set_order", {
        let order = if is_order_f(order)? { Order::F } else { Order::C };
        change(spec, &mut |s| s.set_order(order))
    })
}

/// Sets whether the elements are stored big-endian; the default is little-endian. Elements in memory are
/// always in this machine's byte order.
///
/// Errors: those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_big_endian(spec: *mut ozarr_spec, big: bool) -> ozarr_status {
    entry!("ozarr_spec_set_big_endian", {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        change(spec, &mut |s| s.set_byte_order(order))
    })
}

/// Sets the separator between the numbers in a chunk's key: `"/"` (a directory for each dimension) or
/// `"."`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another separator; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_separator(spec: *mut ozarr_spec, separator: *const c_char) -> ozarr_status {
    entry!("ozarr_spec_set_separator", texts(separator), {
        let separator = match separator {
            "." => Separator::Dot,
            "/" => Separator::Slash,
            other => bail!(Argument, "the argument `separator` is {other:?}, expected \".\" or \"/\""),
        };
        change(spec, &mut |s| s.set_separator(separator))
    })
}

/// Sets the compressor. `level` is the codec's own, -1 its default:
///
/// - `"none"`
/// - `"zstd"` -131072 to 22, default 1
/// - `"gzip"`, `"zlib"` 0 to 9, default 5
/// - `"bz2"` 1 to 9, default 5
/// - `"lzma"` 0 to 9, default 6
/// - `"lz4"` its acceleration, 1 to 65537, default 1
/// - `"blosc:lz4"`, `"blosc:lz4hc"`, `"blosc:blosclz"`, `"blosc:zlib"`, `"blosc:zstd"` 0 to 9, default 5:
///   Blosc, which shuffles (`ozarr_spec_set_shuffle`) and compresses; `"blosc"` is `"blosc:lz4"`
/// - `"pcodec"` 0 to 12, default 8: of numbers only
///
/// With inner chunks each of them is compressed. In format 3 zlib, bz2, lzma, lz4 and pcodec are the
/// codecs `numcodecs.…`, which zarr-python (with a warning that they are not in the specification; of
/// pcodec with the package `pcodec` only) and zarrs read. Replaces the choice of `ozarr_spec_set_zfp`.
///
/// Errors: `OZARR_ERR_UNSUPPORTED` for an unknown name; `OZARR_ERR_ARGUMENT` for a level that it does not
/// have; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_compressor(spec: *mut ozarr_spec, name: *const c_char, level: i32) -> ozarr_status {
    entry!("ozarr_spec_set_compressor", texts(name), { change(spec, &mut |s| s.set_compressor(name, (level != -1).then_some(level))) })
}

/// How the bytes of neighbouring elements are arranged before they are compressed.
pub type ozarr_shuffle = i32;

/// Blosc shuffles bytes (elements of one byte: bits), other compressors do not shuffle.
pub const OZARR_SHUFFLE_DEFAULT: ozarr_shuffle = 0;
/// No shuffle.
pub const OZARR_SHUFFLE_NONE: ozarr_shuffle = 1;
/// The first bytes of all elements, then the second bytes, and so on.
pub const OZARR_SHUFFLE_BYTE: ozarr_shuffle = 2;
/// The first bits of all elements, and so on; with Blosc only.
pub const OZARR_SHUFFLE_BIT: ozarr_shuffle = 3;

/// Sets the shuffle before compression. Blosc has its own; before other compressors bytes are shuffled
/// by numcodecs' codec `shuffle`, at which zarr-python warns in format 3.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another constant; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_shuffle(spec: *mut ozarr_spec, shuffle: ozarr_shuffle) -> ozarr_status {
    entry!("ozarr_spec_set_shuffle", {
        let shuffle = shuffle_of(shuffle, "shuffle")?;
        change(spec, &mut |s| s.set_shuffle(shuffle))
    })
}

/// Lossy compression: rounds floating-point numbers to `bits` bits of their mantissa when they are written
/// (12 bits of a float keep 4 decimal digits), so that they compress better. 0 keeps all bits, the default.
/// NaN stays as it is, and no number becomes infinite. The fill value must be a number that rounding leaves
/// as it is, such as 0, -8192 or NaN; an array with another one, such as 1e20, is not created
/// (`OZARR_ERR_METADATA`). In format 3 the codec is `numcodecs.bitround`, at which zarr-python warns when it
/// opens the array that other implementations may lack it.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative number, and for more bits than the mantissa has; those of
/// documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_keep_bits(spec: *mut ozarr_spec, bits: i32) -> ozarr_status {
    entry!("ozarr_spec_set_keep_bits", {
        let bits = bits_of(bits, "bits")?;
        change(spec, &mut |s| s.set_keep_bits(bits))
    })
}

/// What zfp keeps of numbers.
pub type ozarr_zfp = i32;

/// Every bit; `parameter` is 0.
pub const OZARR_ZFP_REVERSIBLE: ozarr_zfp = 0;
/// `parameter` is the largest error of a number, above 0, in blocks of like numbers (see `ozarr_spec_set_zfp`).
pub const OZARR_ZFP_ACCURACY: ozarr_zfp = 1;
/// `parameter` is the number of bit planes of each block that are kept, 1 to 64.
pub const OZARR_ZFP_PRECISION: ozarr_zfp = 2;
/// `parameter` is the average number of bits of a stored number, above 0.
pub const OZARR_ZFP_RATE: ozarr_zfp = 3;

/// Compresses numbers in chunks of up to four dimensions by zfp instead of a compressor. In format 3
/// this is `numcodecs.zfpy` for the types int32, int64, float32 and float64, and `zfp` for others.
///
/// All modes but `OZARR_ZFP_REVERSIBLE` round the numbers of a block (4 along each dimension of the chunk)
/// together, by the largest one. NaN and infinities become numbers there; an infinity, or a number that is
/// much larger than its neighbours, destroys these. So does the fill value, which stands in a stored chunk
/// for what is not written yet and for what lies beyond the array's edge, and reads as what zfp makes of
/// it: 0 where a block has nothing but NaN. Choose one like the data, such as 0; not NaN, which is that of
/// floating-point variables of a dataset, nor 1e20.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another mode or parameter; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_zfp(spec: *mut ozarr_spec, mode: ozarr_zfp, parameter: f64) -> ozarr_status {
    entry!("ozarr_spec_set_zfp", {
        let whole = || {
            let n = parameter as u32;
            if f64::from(n) == parameter { Ok(n) } else { bail!(Argument, "the argument `parameter` is {parameter}, expected 1 to 64") }
        };
        let zfp = match mode {
            OZARR_ZFP_REVERSIBLE if parameter == 0.0 => Zfp::Reversible,
            OZARR_ZFP_REVERSIBLE => bail!(Argument, "the argument `parameter` is {parameter}, expected 0"),
            OZARR_ZFP_ACCURACY => Zfp::Accuracy(parameter),
            OZARR_ZFP_PRECISION => Zfp::Precision(whole()?),
            OZARR_ZFP_RATE => Zfp::Rate(parameter),
            _ => bail!(Argument, "the argument `mode` is {mode}, expected one of OZARR_ZFP_..."),
        };
        change(spec, &mut |s| s.set_zfp(zfp))
    })
}

/// Sets whether a CRC-32C is stored after each chunk (each inner chunk), which readers verify.
///
/// Errors: those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_set_checksum(spec: *mut ozarr_spec, checksum: bool) -> ozarr_status {
    entry!("ozarr_spec_set_checksum", { change(spec, &mut |s| s.set_checksum(checksum)) })
}

/// Gets, as JSON, the metadata document that an array created now would have.
///
/// Errors: `OZARR_ERR_STATE` without a shape; `OZARR_ERR_ARGUMENT` for inner chunks that do not
/// divide the chunks; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_to_json(spec: *const ozarr_spec, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_spec_to_json", text(buf, cap, len), { snapshot(spec)?.to_json() })
}

/// Sets chunks of a suggested shape, and explains the choice in a short text. An array that grows (with
/// a length of 0) and would make more than 4,096 objects in 10,000 steps gets them as inner chunks of
/// shards, unless version 2 of the format was set.
///
/// Errors: `OZARR_ERR_STATE` without a shape; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_suggest(spec: *mut ozarr_spec, buf: *mut c_char, cap: usize, len: *mut usize) -> ozarr_status {
    entry!("ozarr_spec_suggest", {
        change(spec, &mut |s| {
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

/// A specification of that type and rank.
///
/// # Safety `shape` is NULL or has `rank` numbers.
pub(super) unsafe fn new_spec(r#type: ozarr_type, rank: i32, shape: *const i64) -> Result<Spec> {
    // SAFETY: the caller's promise.
    unsafe { super::types::spec_of_type(data_type(r#type, None)?, rank, shape) }
}

/// The shuffle of a number from C; `None` leaves it to the compressor.
pub(super) fn shuffle_of(raw: ozarr_shuffle, argument: &str) -> Result<Option<Shuffle>> {
    Ok(match raw {
        OZARR_SHUFFLE_DEFAULT => None,
        OZARR_SHUFFLE_NONE => Some(Shuffle::None),
        OZARR_SHUFFLE_BYTE => Some(Shuffle::Byte),
        OZARR_SHUFFLE_BIT => Some(Shuffle::Bit),
        _ => bail!(Argument, "the argument `{argument}` is {raw}, expected one of OZARR_SHUFFLE_..."),
    })
}

/// The number of bits to keep, of a number from C; `None` keeps all.
pub(super) fn bits_of(raw: i32, argument: &str) -> Result<Option<u32>> {
    match u32::try_from(raw) {
        Ok(bits) => Ok((bits > 0).then_some(bits)),
        Err(_) => bail!(Argument, "the argument `{argument}` is {raw}, expected 0 or more"),
    }
}

/// A copy of the specification as it is now.
pub(super) fn snapshot(spec: *const ozarr_spec) -> Result<Spec> {
    Ok(ozarr_spec::get(spec, "spec")?.value.read(Spec::clone))
}

/// Changes a specification; one change at a time, and none at all if it fails.
pub(super) fn change(spec: *mut ozarr_spec, how: &mut dyn FnMut(&mut Spec) -> Result<()>) -> Result<()> {
    let spec = ozarr_spec::get(spec, "spec")?;
    let _turn = spec.turns.get().lock().unwrap_or_else(PoisonError::into_inner);
    let mut changed = spec.value.read(Spec::clone);
    how(&mut changed)?;
    drop(spec.value.replace(changed));
    Ok(())
}
