//! What numbers mean: packing, missing values, times
//!
//! By the attributes of the CF conventions a stored number may represent another: the stored number
//! times `scale_factor` plus `add_offset`, or a time as a count of hours since some day. `_FillValue`
//! (in format 2 the fill value) and `missing_value` mark missing values. The functions here read and
//! write the represented values, in the pass that converts the elements; all other functions move the
//! stored numbers.

use super::entry;
use super::region::{Moved, moved, ozarr_memory, ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::{not_null, text};
use super::types::{OZARR_INT64, ozarr_array};
use crate::error::{Result, bail};
use crate::node::conventions::time::parse_moment;
use crate::node::{Calendar, TimeUnits};
use std::ffi::{c_char, c_void};

/// Reads a region (NULL: the whole array) and unpacks its numbers: as doubles, rounded once to the type
/// in memory, a floating-point type. Missing values become NaN.
///
/// Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_ARGUMENT`, `OZARR_ERR_NOT_FOUND`
/// as for `ozarr_array_read_ex`; `OZARR_ERR_TYPE` for a type in memory that is not floating-point;
/// `OZARR_ERR_RANGE`; those of documents, chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_unpacked(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_read_unpacked", handles(array), {
        // SAFETY: structs that begin with their size, by the function's contract.
        match unsafe { moved(&array, region, memory, false) }? {
            // SAFETY: the memory is as the struct says, by the function's contract.
            Moved::Whole(selection, memory) => unsafe { array.read_unpacked(&selection, &memory) },
            // SAFETY: as above; its layout was checked as a whole.
            Moved::Parts(parts) => parts.iter().try_for_each(|(_, selection, memory)| unsafe { array.read_unpacked(selection, memory) }),
        }
    })
}

/// Packs the numbers in memory, of a floating-point type, and writes them to a region (NULL: the whole
/// array): rounded to the nearest integer in an array of integers; NaN as the missing value. A number
/// that does not fit, and NaN in an array of integers without a missing value, is `OZARR_ERR_RANGE`. (A
/// number that happens to be packed into the missing value reads as missing.)
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`, `OZARR_ERR_ARGUMENT`,
/// `OZARR_ERR_NOT_FOUND` as for `ozarr_array_write_ex`; `OZARR_ERR_TYPE` for a type in memory that is
/// not floating-point; those of documents, chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_packed(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_write_packed", to_write(array), {
        // SAFETY: structs that begin with their size, by the function's contract.
        match unsafe { moved(&array, region, memory, true) }? {
            // SAFETY: the memory is as the struct says, by the function's contract.
            Moved::Whole(selection, memory) => unsafe { array.write_packed(&selection, &memory) },
            // SAFETY: as above; its layout was checked as a whole.
            Moved::Parts(parts) => parts.iter().try_for_each(|(_, selection, memory)| unsafe { array.write_packed(selection, memory) }),
        }
    })
}

/// Reads the times of a region (NULL: the whole array) as counts of `units`, `"seconds since
/// 1970-01-01"`, to `counts`: contiguous, the last index fastest, `size` bytes. The date in `units` is
/// one of the array's own calendar. Counts are rounded down, those of real numbers to the nearest;
/// missing ones are `INT64_MIN`. The array has an attribute `units` such as `"days since 2000-01-01"`,
/// and perhaps `calendar`, `scale_factor` and `add_offset`; or its elements are points in time.
///
/// Errors: `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` for units that cannot be
/// understood; `OZARR_ERR_TYPE` for elements that are no numbers; `OZARR_ERR_METADATA` for an array
/// without units of time, or packed so that its numbers are no whole nanoseconds; `OZARR_ERR_RANGE` for a
/// time that has no count; those of documents, chunks and stores.
///
/// @param[in] region may be NULL
/// @param[out] counts array(elements)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_times(
    array: *const ozarr_array,
    region: *const ozarr_region,
    units: *const c_char,
    counts: *mut i64,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_read_times", handles(array), {
        // SAFETY: a NUL-terminated text, and a struct that begins with its size, by the function's contract.
        let (units, selection) = unsafe { (text(units, "units")?, selection_of(&array, region)?) };
        let memory = super::dense::contiguous_of(selection.shape(), OZARR_INT64, counts.cast(), size, "counts")?;
        // SAFETY: `counts` has `size` bytes, by the function's contract.
        unsafe { array.read_times(&selection, units, &memory) }
    })
}

/// Writes times to a region (NULL: the whole array), given as counts of `units` as for
/// `ozarr_array_read_times`; `INT64_MIN` is written as the missing value. Where the array names none,
/// floating-point arrays hold NaN, and `int64` in the calendars `standard` and `proleptic_gregorian` the
/// number as it is, which xarray reads as missing there; in others it is `OZARR_ERR_RANGE`. A time that is
/// not a whole count of the array's own unit, or whose count means "missing" in the array, is
/// `OZARR_ERR_RANGE`; floating-point arrays hold fractions of the unit, and a time that their digits would
/// change, counted in `units`, is `OZARR_ERR_RANGE` there.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS`, `OZARR_ERR_BUFFER_SIZE`; `OZARR_ERR_ARGUMENT` for
/// units that cannot be understood; `OZARR_ERR_TYPE` for elements that are no numbers;
/// `OZARR_ERR_METADATA` as for `ozarr_array_read_times`; those of documents, chunks and stores.
///
/// @param[in] region may be NULL
/// @param[in] counts array(elements)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_times(
    array: *const ozarr_array,
    region: *const ozarr_region,
    units: *const c_char,
    counts: *const i64,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_array_write_times", to_write(array), {
        // SAFETY: a NUL-terminated text, and a struct that begins with its size, by the function's contract.
        let (units, selection) = unsafe { (text(units, "units")?, selection_of(&array, region)?) };
        let memory = super::dense::contiguous_of(selection.shape(), OZARR_INT64, counts.cast_mut().cast(), size, "counts")?;
        // SAFETY: `counts` has `size` bytes, by the function's contract.
        unsafe { array.write_times(&selection, units, &memory) }
    })
}

/// Gets the stored value that means "missing": one element of the array's type to `value`, which has
/// `size` bytes. `*defined` becomes whether there is one; if not, `value` is left as it is.
///
/// Errors: `OZARR_ERR_BUFFER_SIZE` for fewer bytes than an element has; those of documents and stores.
///
/// @param[out] defined
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_missing_value(
    array: *const ozarr_array,
    value: *mut c_void,
    size: usize,
    defined: *mut bool,
) -> ozarr_status {
    entry!("ozarr_array_missing_value", put(defined), handles(array), {
        not_null(value, "value")?;
        let missing = array.missing_values()?.into_iter().next();
        if let Some(element) = &missing {
            if size < element.len() {
                bail!(BufferSize, "`value` has {size} bytes, expected {}, one element of type {}", element.len(), array.data_type().name());
            }
            // SAFETY: `value` has at least as many bytes.
            unsafe { std::ptr::copy_nonoverlapping(element.as_ptr(), value.cast(), element.len()) };
        }
        Ok(missing.is_some())
    })
}

/// Converts `count` of `units` to a date and time, such as `"2026-01-31 12:30:00"`: in UTC where `units` have
/// a time zone (`"hours since 2026-01-01 06:00 +01:00"`; `Z`, `UTC` and `GMT` are 0). `calendar` is one of
/// the CF conventions (`"standard"`, `"proleptic_gregorian"`, `"julian"`, `"noleap"`, `"all_leap"`,
/// `"360_day"`); NULL is `"standard"`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for units that cannot be understood; `OZARR_ERR_UNSUPPORTED` for an
/// unknown calendar, and for units that differ in length (months, years); `OZARR_ERR_RANGE` for a time
/// that is too far away.
///
/// @param[in] calendar may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_time_to_text(
    units: *const c_char,
    calendar: *const c_char,
    count: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_time_to_text", text(buf, cap, len), {
        // SAFETY: NUL-terminated texts, by the function's contract.
        let units = unsafe { units_of(units, calendar) }?;
        Ok(units.moment(count)?.to_string())
    })
}

/// Converts a date and time (`moment`), `"2026-01-31"` or `"2026-01-31 12:30:00.5"`, without a time zone, to a
/// count of `units`, rounded down.
///
/// Errors: `OZARR_ERR_ARGUMENT` for units or a moment that cannot be understood; `OZARR_ERR_UNSUPPORTED`
/// for an unknown calendar, and for units that differ in length (months, years); `OZARR_ERR_RANGE` for a
/// time that has no count.
///
/// @param[in] calendar may be NULL
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_time_from_text(
    units: *const c_char,
    calendar: *const c_char,
    moment: *const c_char,
    count: *mut i64,
) -> ozarr_status {
    entry!("ozarr_time_from_text", put(count), {
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (units, moment) = unsafe { (units_of(units, calendar)?, text(moment, "moment")?) };
        units.count(parse_moment(moment)?)
    })
}

/// # Safety NUL-terminated texts; `calendar` may be NULL.
unsafe fn units_of(units: *const c_char, calendar: *const c_char) -> Result<TimeUnits> {
    // SAFETY: the caller's promise.
    let units = unsafe { text(units, "units") }?;
    let calendar = match calendar.is_null() {
        true => Calendar::Standard,
        // SAFETY: the caller's promise.
        false => Calendar::parse(unsafe { text(calendar, "calendar") }?)?,
    };
    TimeUnits::parse(units, calendar)
}
