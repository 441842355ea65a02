//! Layouts: chunks and compression in one struct
//!
//! The usual choices about how an array is stored, for a specification that is made in one call:
//!
//! ```c
//! ozarr_layout layout = OZARR_LAYOUT_INIT;
//! int64_t shard[] = {100, 512, 512}, chunk[] = {1, 128, 128};
//! layout.chunks = shard, layout.inner_chunks = chunk;
//! layout.compressor = "blosc:zstd", layout.level = 5, layout.shuffle = OZARR_SHUFFLE_BIT;
//! layout.keep_bits = 12;
//! if (ozarr_spec_new_ex(OZARR_FLOAT32, 3, shape, &layout, &s)) goto fail;
//! if (ozarr_array_create_ex("run.zarr/rain", s, OZARR_CREATE_NEW, &a)) goto fail;
//! ozarr_spec_free(s);
//! ```

use super::entry;
use super::spec::{bits_of, new_spec, ozarr_shuffle, shuffle_of};
use super::status::ozarr_status;
use super::strings::{lengths, optional_texts, text};
use super::structs::{growing, read_struct};
use super::types::{Specification, ozarr_spec, ozarr_type};
use crate::error::{Result, bail};
use crate::node::Spec;
use std::ffi::c_char;

/// How an array is stored. Set it to `OZARR_LAYOUT_INIT` first; a member that is NULL or 0 is left to the
/// library, as `ozarr_spec_new` does it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_layout {
    /// `sizeof(ozarr_layout)`; set by `OZARR_LAYOUT_INIT`.
    pub struct_size: usize,
    /// The shape of a chunk; of a shard, where there are inner chunks.
    pub chunks: *const i64,
    /// The shape of a chunk within a shard (`ozarr_spec_set_inner_chunks`).
    pub inner_chunks: *const i64,
    /// The dimensions' names (`ozarr_spec_set_dimension_names`).
    pub dimension_names: *const *const c_char,
    /// The compressor, as for `ozarr_spec_set_compressor`; NULL: zstd.
    pub compressor: *const c_char,
    /// The compressor's level; 0 is its default.
    pub level: i32,
    /// One of `OZARR_SHUFFLE_...`.
    pub shuffle: ozarr_shuffle,
    /// The bits of the mantissa that are kept (`ozarr_spec_set_keep_bits`); 0: all.
    pub keep_bits: i32,
    /// 1: a checksum after each chunk (`ozarr_spec_set_checksum`).
    pub checksum: i32,
}
growing!(ozarr_layout: 56);

/// As `ozarr_spec_new`, with a layout; NULL is one that leaves everything to the library.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length or an unknown type; `OZARR_ERR_RANK`;
/// `OZARR_ERR_TYPE`; those of documents.
///
/// @param[in] shape array(rank), may be NULL
/// @param[in] layout may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_spec_new_ex(
    r#type: ozarr_type,
    rank: i32,
    shape: *const i64,
    layout: *const ozarr_layout,
    out: *mut *mut ozarr_spec,
) -> ozarr_status {
    entry!("ozarr_spec_new_ex", new(out), {
        // SAFETY: `rank` numbers, by the function's contract.
        let mut spec = unsafe { new_spec(r#type, rank, shape) }?;
        if !layout.is_null() {
            // SAFETY: a struct of the size that it says, with members as it says, by the function's contract.
            unsafe { apply(&read_struct(layout, "layout")?, &mut spec) }?;
        }
        Ok(Specification::new(spec))
    })
}

/// # Safety The members are as the struct says.
unsafe fn apply(layout: &ozarr_layout, spec: &mut Spec) -> Result<()> {
    let rank = spec.rank();
    if !layout.chunks.is_null() {
        // SAFETY: the caller's promise.
        spec.set_chunks(&unsafe { lengths(layout.chunks, rank, "layout->chunks", 1) }?)?;
    }
    if !layout.inner_chunks.is_null() {
        // SAFETY: the caller's promise.
        spec.set_inner_chunks(&unsafe { lengths(layout.inner_chunks, rank, "layout->inner_chunks", 1) }?)?;
    }
    // SAFETY: the caller's promise.
    if let Some(names) = unsafe { optional_texts(layout.dimension_names, rank, "layout->dimension_names") }? {
        spec.set_dimension_names(names)?;
    }
    if !layout.compressor.is_null() {
        // SAFETY: the caller's promise.
        let name = unsafe { text(layout.compressor, "layout->compressor") }?;
        spec.set_compressor(name, (layout.level != 0).then_some(layout.level))?;
    } else if layout.level != 0 {
        bail!(Argument, "`layout->level` is {} and `layout->compressor` is NULL", layout.level);
    }
    spec.set_shuffle(shuffle_of(layout.shuffle, "layout->shuffle")?)?;
    spec.set_keep_bits(bits_of(layout.keep_bits, "layout->keep_bits")?)?;
    spec.set_checksum(match layout.checksum {
        0 => false,
        1 => true,
        other => bail!(Argument, "`layout->checksum` is {other}, expected 0 or 1"),
    })
}
