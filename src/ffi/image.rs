//! OME-Zarr: images in several resolutions
//!
//! A group with the metadata of OME-Zarr (0.4 in format 2, 0.5 in format 3) holds images, each as arrays of
//! falling resolution. These functions only read the metadata; the arrays are opened by their paths.

use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::{position, put_optional, put_text};
use super::types::ozarr_group;
use crate::error::{Result, bail};
use crate::node::{ImageAxis, ImageLevel, Multiscale};
use std::ffi::c_char;

/// Image number `image` of a group.
fn image_of(group: *const ozarr_group, image: i64) -> Result<Multiscale> {
    let mut all = ozarr_group::get(group, "group")?.multiscales()?;
    let at = position(image, all.len(), "image", "images")?;
    Ok(all.swap_remove(at))
}

fn level_of(image: &Multiscale, level: i64) -> Result<&ImageLevel> {
    Ok(&image.levels[position(level, image.levels.len(), "level", "levels")?])
}

/// A text of an axis, into the caller's buffer.
///
/// # Safety
/// As for the public functions: `buf` has room for `cap` bytes, `len` is NULL or points to a number.
unsafe fn put_axis_text(
    group: *const ozarr_group,
    (image, axis): (i64, i64),
    (buf, cap, len): (*mut c_char, usize, *mut usize),
    text: fn(&ImageAxis) -> &String,
) -> Result<()> {
    let found = image_of(group, image)?;
    let at = position(axis, found.axes.len(), "axis", "axes")?;
    // SAFETY: forwarded from the caller.
    unsafe { put_text(text(&found.axes[at]), buf, cap, len) }
}

/// Gets the number of images in the group: 0 for groups of other kinds. Members of a wrong form are
/// `OZARR_ERR_METADATA`, with the field. Not all rules of OME-Zarr are checked: what is missing is none (no
/// axes, no levels, no scale), and any version is taken.
///
/// Errors: those of documents and stores.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_image_count(group: *const ozarr_group, count: *mut i64) -> ozarr_status {
    entry!("ozarr_group_image_count", put(count), handles(group), { Ok(group.multiscales()?.len() as i64) })
}

/// Gets the numbers of levels and of axes of image number `image`, from 0; either may be NULL.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such image; those of documents and stores.
///
/// @param[out] levels,axes may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_image_size(group: *const ozarr_group, image: i64, levels: *mut i64, axes: *mut i64) -> ozarr_status {
    entry!("ozarr_group_image_size", {
        let found = image_of(group, image)?;
        // SAFETY: numbers, or NULL, by the function's contract.
        unsafe {
            put_optional(found.levels.len() as i64, levels);
            put_optional(found.axes.len() as i64, axes);
        }
        Ok(())
    })
}

/// Gets the path of a level's array below the group; level 0 has the highest resolution.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such image or level; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_image_level(
    group: *const ozarr_group,
    image: i64,
    level: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_image_level", text(buf, cap, len), {
        let found = image_of(group, image)?;
        Ok(level_of(&found, level)?.path.clone())
    })
}

/// Gets the distance between neighbours (`scale`) and the location of the first element (`translation`)
/// along each axis of a level. Each has a capacity of `cap` numbers, at least the number of axes.
/// Either may be NULL.
///
/// Where the metadata give no scale or no translation it is 1 or 0.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such image or level; `OZARR_ERR_BUFFER_SIZE` for a capacity
/// below the number of axes; `OZARR_ERR_UNSUPPORTED`, with the field, for other transformations than a scale,
/// a translation and the identity; those of documents and stores.
///
/// @param[out] scale,translation array(cap), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_image_scale(
    group: *const ozarr_group,
    image: i64,
    level: i64,
    scale: *mut f64,
    translation: *mut f64,
    cap: i64,
) -> ozarr_status {
    entry!("ozarr_group_image_scale", {
        let found = image_of(group, image)?;
        let level = level_of(&found, level)?;
        if let Some(e) = &level.unplaced {
            return Err(e.clone());
        }
        for (numbers, out) in [(&level.scale, scale), (&level.translation, translation)] {
            if out.is_null() {
                continue;
            }
            if (numbers.len() as i64) > cap {
                bail!(BufferSize, "found a capacity of {cap} numbers, expected {}", numbers.len());
            }
            // SAFETY: `out` has room for `cap` numbers, by the function's contract.
            numbers.iter().enumerate().for_each(|(i, x)| unsafe { out.add(i).write(*x) });
        }
        Ok(())
    })
}

/// Gets what is said of an axis (from 0, in the order of the arrays' dimensions), by the `member` of its
/// description: `"name"`, such as `y`; `"type"`: `space`, `time`, `channel` or another word; `"unit"`, such
/// as `micrometer`. An empty text where nothing is said.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no such image or axis; `OZARR_ERR_ARGUMENT` for another
/// `member`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_image_axis(
    group: *const ozarr_group,
    image: i64,
    axis: i64,
    member: *const c_char,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_group_image_axis", texts(member), {
        let pick: fn(&ImageAxis) -> &String = match member {
            "name" => |axis| &axis.name,
            "type" => |axis| &axis.kind,
            "unit" => |axis| &axis.unit,
            other => bail!(Argument, "the argument `member` is {other:?}, expected \"name\", \"type\" or \"unit\""),
        };
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_axis_text(group, (image, axis), (buf, cap, len), pick) }
    })
}
