//! Text and pointers at the boundary: in, checked by the argument's name; out, into the caller's buffer.

use crate::counting;
use crate::error::{Error, Result, bail, err};
use crate::limits::{MAX_RANK, text_of, try_collect};
use std::ffi::{CStr, c_char, c_void};

/// An error of kind `Null` that names the argument, if it is NULL.
pub(super) fn not_null<T>(pointer: *const T, argument: &str) -> Result<()> {
    if pointer.is_null() { Err(null(argument)) } else { Ok(()) }
}

#[cold]
fn null(argument: &str) -> Error {
    err!(Null, "the argument `{argument}` is NULL")
}

/// Makes the caller's variables for new pointers NULL, so that they are NULL after any failure: all of them, before one that is not
/// there is an error.
///
/// # Safety
/// Each is NULL, which is an error, or points to room for a pointer.
pub(super) unsafe fn empty(all: &[(*mut *mut c_void, &str)]) -> Result<()> {
    for (out, _) in all.iter().filter(|(out, _)| !out.is_null()) {
        // SAFETY: not NULL, with room.
        unsafe { out.write(std::ptr::null_mut()) };
    }
    all.iter().try_for_each(|&(out, argument)| not_null(out, argument))
}

/// A message without control characters: names come from files, and may hold anything.
pub(super) fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}

/// What languages whose texts have a length give in place of one with a NUL inside, which C would end there: no UTF-8, so never a text.
const NUL_INSIDE: &CStr = c"\xC0\x80";

/// A text that the caller gives.
///
/// # Safety
/// `text` is NULL or points to a NUL-terminated text that lives as long as the result is used.
pub(super) unsafe fn text<'a>(text: *const c_char, argument: &str) -> Result<&'a str> {
    not_null(text, argument)?;
    // SAFETY: not NULL; the rest is the caller's promise.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|e| match bytes == NUL_INSIDE {
        true => err!(Argument, "the argument `{argument}` has a NUL inside, expected none"),
        false => err!(Argument, "the argument `{argument}` is not UTF-8 at byte {}", e.valid_up_to()),
    })
}

/// `count` texts that the caller gives.
///
/// # Safety
/// `list` has as many texts as `count` says, which live as long as the result is used; it may be NULL without any.
pub(super) unsafe fn texts<'a>(list: *const *const c_char, count: usize, argument: &str) -> Result<Vec<&'a str>> {
    // SAFETY: the caller's promise.
    let list = unsafe { slice(list, count, argument) }?;
    // SAFETY: as above.
    try_collect(list.iter().enumerate().map(|(i, &one)| unsafe { text(one, &format!("{argument}[{i}]")) }))
}

/// `count` texts that the caller gives, of which each may be NULL; `None` if the list is NULL.
///
/// # Safety `list` is NULL or points to `count` pointers, each NULL or to a NUL-terminated text.
pub(super) unsafe fn optional_texts(list: *const *const c_char, count: usize, argument: &str) -> Result<Option<Vec<Option<String>>>> {
    if list.is_null() {
        return Ok(None);
    }
    let one = |i: usize| {
        // SAFETY: the caller's promise.
        let pointer = unsafe { list.add(i).read() };
        // SAFETY: as above.
        Ok(if pointer.is_null() { None } else { Some(text_of(unsafe { text(pointer, argument) }?)?) })
    };
    try_collect((0..count).map(one)).map(Some)
}

/// Reads a text that may be NULL.
///
/// # Safety
/// `value` is NULL or a NUL-terminated text.
pub(super) unsafe fn optional<'a>(value: *const c_char, argument: &str) -> Result<Option<&'a str>> {
    // SAFETY: the caller's promise.
    if value.is_null() { Ok(None) } else { unsafe { text(value, argument) }.map(Some) }
}

/// Reads the names of `count` dimensions.
///
/// # Safety
/// `list` is NULL or has as many texts as `count` says.
pub(super) unsafe fn names(count: i32, list: *const *const c_char, argument: &str) -> Result<Vec<String>> {
    let count = rank(count)?;
    if count > 0 {
        not_null(list, argument)?;
    }
    // SAFETY: the caller's promise.
    let names = unsafe { optional_texts(list, count, argument) }?.unwrap_or_default();
    let name = |(d, name): (usize, Option<String>)| {
        name.ok_or_else(|| err!(Null, "the argument `{argument}{}` is NULL", counting::item(d, count)))
    };
    names.into_iter().enumerate().map(name).collect()
}

/// Numbers that the caller gives, one for each dimension. NULL is allowed for rank 0.
///
/// # Safety
/// `values` is NULL or points to `rank` numbers that live as long as the result is used.
pub(super) unsafe fn numbers<'a>(values: *const i64, rank: usize, argument: &str) -> Result<&'a [i64]> {
    if rank == 0 {
        return Ok(&[]);
    }
    not_null(values, argument)?;
    // SAFETY: not NULL; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(values, rank) })
}

/// The `count` items of a list that the caller gives. NULL is allowed for none.
///
/// # Safety
/// `items` is NULL or points to `count` of them, which live as long as the result is used.
pub(super) unsafe fn slice<'a, T>(items: *const T, count: usize, argument: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    not_null(items, argument)?;
    if count > isize::MAX as usize / size_of::<T>() {
        bail!(Limit, "the argument `{argument}` has {count} items of {} bytes, more than memory can hold", size_of::<T>());
    }
    // SAFETY: not NULL, no larger than memory; the rest is the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(items, count) })
}

/// The `size` bytes that the caller gives. NULL is allowed for none.
///
/// # Safety
/// As for [`slice`].
pub(super) unsafe fn bytes<'a>(data: *const c_void, size: usize, argument: &str) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    unsafe { slice(data.cast(), size, argument) }
}

/// A rank that the caller gives: 0 to 64.
pub(super) fn rank(rank: i32) -> Result<usize> {
    match usize::try_from(rank) {
        Ok(n) if n <= MAX_RANK => Ok(n),
        _ => bail!(Rank, "found rank {rank}, expected 0 to {MAX_RANK}"),
    }
}

/// The number of a dimension that the caller gives, for that rank.
pub(super) fn dimension(rank: usize, dim: i32) -> Result<usize> {
    match usize::try_from(dim) {
        Ok(d) if d < rank => Ok(d),
        _ => bail!(Bounds, "the argument `dim` is {dim}, expected 0 or more and less than the array's rank {rank}"),
    }
}

/// The number of an item that the caller gives, from 0, of `count` that are called `items`.
pub(super) fn position(number: i64, count: usize, argument: &str, items: &str) -> Result<usize> {
    match usize::try_from(number) {
        Ok(n) if n < count => Ok(n),
        _ => bail!(Bounds, "the argument `{argument}` is {number}, expected 0 or more and less than {count}, the number of {items}"),
    }
}

/// A count for C.
pub(super) fn number(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// How many items there are in a list that the caller gives.
pub(super) fn item_count(count: i64) -> Result<usize> {
    usize::try_from(count).map_err(|_| err!(Argument, "the argument `count` is {count}, expected at least 0"))
}

/// Lengths or extents that the caller gives: none smaller than `least`.
///
/// # Safety
/// As for [`numbers`].
pub(super) unsafe fn lengths(values: *const i64, rank: usize, argument: &str, least: i64) -> Result<crate::limits::Dims> {
    // SAFETY: the caller's promise.
    let values = unsafe { numbers(values, rank, argument) }?;
    if let Some(d) = values.iter().position(|&v| v < least) {
        bail!(Argument, "`{argument}`{} is {}, expected at least {least}", counting::item(d, rank), values[d]);
    }
    Ok(values.iter().map(|&v| v as u64).collect())
}

/// Writes one number for each dimension. NULL is allowed for rank 0.
///
/// # Safety
/// `out` is NULL or has room for `values.len()` numbers.
pub(super) unsafe fn put_numbers(values: &[u64], out: *mut i64, argument: &str) -> Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    not_null(out, argument)?;
    for (d, &v) in values.iter().enumerate() {
        // SAFETY: not NULL, with room for every dimension.
        unsafe { out.add(d).write(v as i64) };
    }
    Ok(())
}

/// Writes one value.
///
/// # Safety
/// `out` is NULL or points to room for a `T`.
pub(super) unsafe fn put<T>(value: T, out: *mut T, argument: &str) -> Result<()> {
    not_null(out, argument)?;
    // SAFETY: not NULL, with room.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes one value, if there is room for it.
///
/// # Safety
/// `out` is NULL or points to room for a `T`.
pub(super) unsafe fn put_optional<T>(value: T, out: *mut T) {
    if !out.is_null() {
        // SAFETY: not NULL, with room.
        unsafe { out.write(value) };
    }
}

/// How far a writer of steps is: what it took, and what readers see of it.
///
/// # Safety
/// Each is NULL or points to room for a number.
pub(super) unsafe fn put_positions((taken, seen): (u64, u64), position: *mut i64, published: *mut i64) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        put_optional(taken as i64, position);
        put_optional(seen as i64, published);
    }
    Ok(())
}

/// Bytes for the caller's buffer of `cap` bytes. `*len` becomes their number, also if it is too small. NULL with `cap` 0 asks for that only.
///
/// # Safety `buf` is NULL or has room for `cap` bytes; `len` is NULL or points to a `size_t`.
pub(super) unsafe fn put_bytes(bytes: &[u8], buf: *mut c_void, cap: usize, len: *mut usize) -> Result<()> {
    if cap > 0 {
        not_null(buf, "buf")?;
    }
    // SAFETY: room for it, or NULL.
    unsafe { put_optional(bytes.len(), len) };
    if buf.is_null() {
        return Ok(());
    }
    if cap < bytes.len() {
        bail!(BufferSize, "`buf` has {cap} bytes, expected {}", bytes.len());
    }
    // SAFETY: not NULL, with room for all of them.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buf.cast(), bytes.len()) };
    Ok(())
}

/// A text for the caller's buffer: `cap` bytes at `buf`, of which the text and a NUL are written. `*len`
/// (unless `len` is NULL) becomes the text's length in bytes, also if the buffer is too small. NULL with `cap` 0 asks for the
/// length only.
///
/// # Safety `buf` is NULL or has room for `cap` bytes; `len` is NULL or points to a `size_t`.
pub(super) unsafe fn put_text(text: &str, buf: *mut c_char, cap: usize, len: *mut usize) -> Result<()> {
    if buf.is_null() && cap > 0 {
        bail!(Null, "the argument `buf` is NULL and `cap` is {cap}");
    }
    // SAFETY: room for it, or NULL.
    unsafe { put_optional(text.len(), len) };
    if buf.is_null() {
        return Ok(());
    }
    if cap <= text.len() {
        bail!(BufferSize, "`buf` has {cap} bytes, expected at least {}", text.len() + 1);
    }
    // SAFETY: room for `cap` bytes, which is more than the text has.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr(), buf.cast(), text.len());
        buf.add(text.len()).write(0);
    }
    Ok(())
}

/// A number that counts something.
pub(super) fn at_least_0(value: i64, argument: &str) -> Result<u64> {
    match u64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => bail!(Argument, "the argument `{argument}` is {value}, expected at least 0"),
    }
}

/// The length of a chunk; `None` to have it suggested.
pub(super) fn chunk_length(chunk: i64) -> Result<Option<u64>> {
    Ok(Some(at_least_0(chunk, "chunk")?).filter(|&n| n > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn text_out_fits_or_says_how_much_it_needs() {
        let mut buf = [0x55 as c_char; 8];
        let mut len = 99;
        // SAFETY: the buffer has as many bytes as is said.
        let mut put = |cap: usize, null: bool| unsafe {
            let p = if null { std::ptr::null_mut() } else { buf.as_mut_ptr() };
            (put_text("abc", p, cap, &mut len).err().map(|e| e.kind()), len, buf[0])
        };
        assert_eq!(put(0, true), (None, 3, 0x55));
        assert_eq!(put(3, false), (Some(ErrorKind::BufferSize), 3, 0x55));
        assert_eq!(put(9, true), (Some(ErrorKind::Null), 3, 0x55));
        assert_eq!(put(4, false), (None, 3, b'a' as c_char));
        assert_eq!(buf[3..5], [0, 0x55]);
    }

    #[test]
    fn text_in_is_utf_8_or_an_error_that_names_the_argument() {
        // SAFETY: NUL-terminated texts.
        unsafe {
            assert_eq!(text(c"é".as_ptr(), "path").unwrap(), "é");
            let e = text(c"a\xff".as_ptr(), "path").unwrap_err();
            assert_eq!((e.kind(), e.message()), (ErrorKind::Argument, "the argument `path` is not UTF-8 at byte 1"));
            let e = text(NUL_INSIDE.as_ptr(), "path").unwrap_err();
            assert_eq!((e.kind(), e.message()), (ErrorKind::Argument, "the argument `path` has a NUL inside, expected none"));
            assert_eq!(text(std::ptr::null(), "path").unwrap_err().kind(), ErrorKind::Null);
        }
    }
}
