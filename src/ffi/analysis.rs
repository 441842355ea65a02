//! Statistics, digests and differences
//!
//! What `ozarr stats`, `ozarr digest` and `ozarr diff` compute, of any region of an array:
//!
//! ```c
//! ozarr_summary summary = OZARR_SUMMARY_INIT;
//! if (ozarr_array_summarize(t, NULL, &summary)) goto fail;
//! if (summary.nan > 0) printf("%lld values are NaN\n", (long long)summary.nan);
//!
//! ozarr_comparison found = OZARR_COMPARISON_INIT;
//! if (ozarr_array_compare(t, NULL, reference, NULL, 0.0, 1e-6, &found, NULL)) goto fail;
//! if (found.differing > 0) printf("the largest difference is %g\n", found.largest_absolute);
//! ```
//!
//! The region is read in blocks near the borders of chunks, which the threads of the context read and
//! compute. Each thread holds one block: about 8 MiB, or a chunk where that is larger, 256 MiB at most
//! (of a comparison twice that); all threads together hold about 1 GiB at most. Elements of variable
//! length need more, by their lengths.

use super::entry;
use super::handle::Handle;
use super::region::{ozarr_region, selection_of};
use super::status::ozarr_status;
use super::strings::{number, put_numbers};
use super::structs::{Growing, counts, growing};
use super::types::ozarr_array;
use crate::analysis::Exact;
use crate::analysis::difference::{Tolerance, compare};
use crate::analysis::digest::{DIGITS, digest};
use crate::analysis::statistics::Numbers;
use crate::error::{Error, Result, bail};
use crate::limits::element_count;
use std::ffi::c_char;

/// The statistics of a region. Set it to `OZARR_SUMMARY_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_summary {
    /// `sizeof(ozarr_summary)`; set by `OZARR_SUMMARY_INIT`.
    pub struct_size: usize,
    /// The number of elements.
    pub elements: i64,
    /// Those that mean "missing": equal to what the attributes `_FillValue` and `missing_value` say
    /// or, in Zarr 2, to the fill value; times that are "not a time".
    pub missing: i64,
    /// Those that are NaN, but for missing ones.
    pub nan: i64,
    /// Those that are infinite, but for missing ones.
    pub infinite: i64,
    /// The values that are left: the members below are of these. If it is 0, `min`, `max`, `mean` and
    /// `std` are NaN.
    pub count: i64,
    /// The least value; of an integer beyond 2^53 the nearest double (`min_integer` has all digits).
    pub min: f64,
    /// The greatest value, like `min`.
    pub max: f64,
    /// The mean value, of integers the exact one, rounded once.
    pub mean: f64,
    /// The standard deviation from the mean: of these values, not of a sample of more.
    pub std: f64,
    /// The least value of integers, truth values and times, exactly; that of `uint64` is to be cast to
    /// `uint64_t`. 0 for floats, and if `count` is 0.
    pub min_integer: i64,
    /// The greatest value, like `min_integer`.
    pub max_integer: i64,
}
growing!(ozarr_summary: 96);

/// What differs between two regions. Set it to `OZARR_COMPARISON_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_comparison {
    /// `sizeof(ozarr_comparison)`; set by `OZARR_COMPARISON_INIT`.
    pub struct_size: usize,
    /// The number of elements of each region.
    pub elements: i64,
    /// How many of them differ.
    pub differing: i64,
    /// The largest distance of two numbers that differ: infinite where only one is NaN, or one is
    /// infinite; 0 where no numbers differ.
    pub largest_absolute: f64,
    /// The largest of these distances divided by the larger one of both numbers.
    pub largest_relative: f64,
}
growing!(ozarr_comparison: 40);

/// Fills `summary` with the statistics of a region (NULL: the whole array) of real numbers, truth
/// values (0 and 1) or times (their counts). Values count as they are stored, without scale factors
/// and offsets of attributes. Of a region of many chunks, most of which are not stored, those count by
/// their fill value without being read, where the store can list its keys.
///
/// Errors: `OZARR_ERR_TYPE` for elements of other types; `OZARR_ERR_BOUNDS`; `OZARR_ERR_ARGUMENT` for
/// a periodic region; `OZARR_ERR_METADATA` for attributes that do not say what is missing; those of
/// chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_summarize(
    array: *const ozarr_array,
    region: *const ozarr_region,
    summary: *mut ozarr_summary,
) -> ozarr_status {
    entry!("ozarr_array_summarize", fill(summary), handles(array), {
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        let found = Numbers::new(&array, selection, false)?.moments(&|_| Ok(()), |_, _| Ok(()))?;
        let (min, max) = found.range().unwrap_or((f64::NAN, f64::NAN));
        let (mean, std) = (found.mean().unwrap_or(f64::NAN), found.deviation().unwrap_or(f64::NAN));
        let (min_integer, max_integer) = (integer(found.least), integer(found.greatest));
        let rest = ozarr_summary { min, max, mean, std, min_integer, max_integer, ..Growing::empty() };
        Ok(counts!(ozarr_summary { found: elements, missing, nan, infinite, count; ..rest }))
    })
}

/// Gets a checksum of a region's elements (NULL: the whole array) of any type to `buf`, which has a
/// capacity of `cap` bytes: 32 hexadecimal digits. `*len` becomes 32; `buf` NULL with `cap` 0 asks for
/// it only, and reads nothing. The digest depends on the type, the region's shape and the elements,
/// and on nothing else: not on chunks, codecs, shards, byte order or the version of Zarr. That of a
/// region is that of an array which holds nothing but its elements. docs/digest.md defines it; it
/// finds damage, not forgery.
///
/// Errors: `OZARR_ERR_BOUNDS`; `OZARR_ERR_ARGUMENT` for a periodic region; `OZARR_ERR_BUFFER_SIZE`;
/// those of chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_digest(
    array: *const ozarr_array,
    region: *const ozarr_region,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
) -> ozarr_status {
    entry!("ozarr_array_digest", text(buf, cap, len), handles(array), {
        // SAFETY: a struct that begins with its size, by the function's contract.
        let selection = unsafe { selection_of(&array, region) }?;
        Ok(if buf.is_null() || cap <= DIGITS { "0".repeat(DIGITS) } else { digest(&array, selection, &|_| Ok(()))? })
    })
}

/// Fills `comparison` with what differs between a region of `a` (`region_a` NULL: all of it) and one
/// of `b`, which have one shape. Numbers of all real types are compared with one another by value, as
/// exactly as integers are, and those of all complex types part by part as doubles; other elements with
/// those of the same type, byte by byte. Numbers, or parts, that differ by no more than `absolute` plus
/// `relative` times the larger one are equal. NaN is equal to NaN, and no tolerance makes it, or an
/// infinity, equal to another value. What is missing is a value like any other.
///
/// `first` becomes the index of the first element that differs, in the region (from 0), one number for
/// each dimension; it is left alone where none does.
///
/// Errors: `OZARR_ERR_TYPE` for types that cannot be compared; `OZARR_ERR_BOUNDS` for regions of two
/// shapes, too; `OZARR_ERR_ARGUMENT` for a periodic region, and for a tolerance that is negative or
/// NaN; those of chunks and stores, with the name of the array (`a` or `b`) in the message.
///
/// @param[in] region_a,region_b may be NULL
/// @param[out] first array(rank), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_compare(
    a: *const ozarr_array,
    region_a: *const ozarr_region,
    b: *const ozarr_array,
    region_b: *const ozarr_region,
    absolute: f64,
    relative: f64,
    comparison: *mut ozarr_comparison,
    first: *mut i64,
) -> ozarr_status {
    entry!("ozarr_array_compare", fill(comparison), {
        let (a, b) = (ozarr_array::get(a, "a")?, ozarr_array::get(b, "b")?);
        // SAFETY: structs that begin with their size, by the function's contract.
        let (of_a, of_b) = unsafe { (selection_of(&a, region_a)?, selection_of(&b, region_b)?) };
        check_tolerance(absolute, "absolute")?;
        check_tolerance(relative, "relative")?;
        let blame = |e: Error, which: usize| e.with_note([" (reading `a`)", " (reading `b`)"][which]);
        let found = compare((&a, &of_a), (&b, &of_b), Tolerance { absolute, relative }, &blame, &|_| Ok(()))?;
        if let (Some(pair), false) = (&found.first, first.is_null()) {
            // SAFETY: room for a number for each dimension, by the function's contract.
            unsafe { put_numbers(&pair.at, first, "first") }?;
        }
        Ok(ozarr_comparison {
            elements: number(element_count(of_a.shape())?),
            differing: number(found.differing),
            largest_absolute: found.absolute.value,
            largest_relative: found.relative.value,
            ..Growing::empty()
        })
    })
}

fn check_tolerance(tolerance: f64, argument: &str) -> Result<()> {
    if tolerance >= 0.0 {
        return Ok(());
    }
    bail!(Argument, "the argument `{argument}` is {tolerance}, expected a number that is not negative")
}

/// The low 64 bits of an integer, which are all of it in its own type; 0 for others.
fn integer(value: Option<Exact>) -> i64 {
    if let Some(Exact::Integer(n)) = value { n as i64 } else { 0 }
}
