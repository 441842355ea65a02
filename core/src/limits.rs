//! Limits and checked sizes: every number that comes from outside passes here before memory or arithmetic depends on it.

use crate::counting;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::reserve;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

/// Lengths, indices or extents, one for each dimension. Up to six dimensions live without allocation.
pub type Dims = SmallVec<[u64; 6]>;
/// Signed steps or byte strides, one for each dimension.
pub type Strides = SmallVec<[i64; 6]>;

/// The largest rank of an array.
pub const MAX_RANK: usize = 64;
/// The largest metadata document, in bytes.
pub const MAX_DOCUMENT: usize = 64 << 20;
/// The most bytes beyond the result of a read that are taken of a server which does not tell how long its answer is.
pub const MAX_UNTOLD: u64 = 64 << 20;
/// The largest consolidated metadata document, in bytes.
pub const MAX_CONSOLIDATED: usize = 512 << 20;
/// The most values in one document: each takes some 64 bytes of memory, in a text of two.
pub const MAX_JSON_VALUES: usize = 1 << 24;
/// The longest store key, in bytes.
pub const MAX_KEY: usize = 1024;
/// The longest name of a dimension, in bytes.
pub const MAX_DIMENSION_NAME: usize = 64 << 10;
/// The largest number of codecs in a chain.
pub const MAX_CODECS: usize = 16;
/// How deep shards may be nested.
pub const MAX_SHARD_NESTING: usize = 4;
/// The largest number of inner chunks in one shard.
pub const MAX_INNER_CHUNKS: u64 = 1 << 24;
/// The largest zstd window that is accepted when decoding (2^27 bytes).
pub const MAX_ZSTD_WINDOW_LOG: u32 = 27;
/// The largest decoded chunk that the library allocates a buffer for, whatever the memory of the machine.
pub const MAX_CHUNK: u64 = 16 << 30;

/// The largest decoded chunk on this machine: the smaller of [`MAX_CHUNK`] and half of the memory.
pub fn max_chunk() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    static LIMIT: AtomicU64 = AtomicU64::new(0);
    let known = LIMIT.load(Relaxed);
    if known != 0 {
        return known;
    }
    let memory = crate::platform::machine_memory();
    let limit = if memory < 2 { MAX_CHUNK } else { MAX_CHUNK.min(memory / 2) };
    LIMIT.store(limit, Relaxed);
    limit
}

/// Checks a rank against [`MAX_RANK`].
pub fn check_rank(rank: usize) -> Result<usize> {
    if rank > MAX_RANK {
        bail!(Limit, "rank {rank} exceeds the limit of {MAX_RANK}");
    }
    Ok(rank)
}

/// Checks the names of dimensions against [`MAX_DIMENSION_NAME`].
pub fn check_dimension_names<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Result<()> {
    let long = names.flatten().map(str::len).find(|n| *n > MAX_DIMENSION_NAME);
    long.map_or(Ok(()), |n| Err(err!(Limit, "a name of {n} bytes exceeds the limit of {MAX_DIMENSION_NAME} bytes")))
}

/// The number of elements of a shape, checked to be below 2^63.
pub fn element_count(shape: &[u64]) -> Result<u64> {
    if shape.contains(&0) {
        return Ok(0);
    }
    shape
        .iter()
        .try_fold(1u64, |n, &d| n.checked_mul(d).filter(|&n| n <= i64::MAX as u64))
        .ok_or_else(|| err!(Limit, "shape {} has 2^63 elements or more", counting::shape(shape)))
}

/// The bytes of a decoded chunk of that shape, checked against [`max_chunk`].
pub fn chunk_bytes(shape: &[u64], item: usize) -> Result<usize> {
    let bytes = element_count(shape)?.checked_mul(item as u64);
    match bytes {
        Some(n) if n <= max_chunk() => Ok(n as usize),
        _ => {
            let (shape, most) = (counting::shape(shape), max_chunk());
            bail!(Limit, "a chunk of shape {shape} and {item} bytes an element exceeds the limit of {most} bytes")
        }
    }
}

/// Checks that an object has the length that its reader expects.
pub fn check_exact(found: u64, expected: usize) -> Result<()> {
    match found.cmp(&(expected as u64)) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Less => bail!(Truncated, "found {found} bytes, expected {expected}"),
        std::cmp::Ordering::Greater => bail!(Chunk, "found {found} bytes, expected {expected}"),
    }
}

/// Row-major (C order) strides in bytes for a contiguous block of that shape.
pub fn c_strides(shape: &[u64], item: usize) -> Strides {
    let mut strides = Strides::from_elem(item as i64, shape.len());
    for d in (0..shape.len().saturating_sub(1)).rev() {
        strides[d] = strides[d + 1].saturating_mul(shape[d + 1].max(1).min(i64::MAX as u64) as i64);
    }
    strides
}

/// Column-major (Fortran order) strides in bytes for a contiguous block of that shape.
pub fn f_strides(shape: &[u64], item: usize) -> Strides {
    let mut strides = Strides::from_elem(item as i64, shape.len());
    for d in 1..shape.len() {
        strides[d] = strides[d - 1].saturating_mul(shape[d - 1].max(1).min(i64::MAX as u64) as i64);
    }
    strides
}

/// An error if this thread was served from the reserve since the last look: called before each thing that is done whole or not at all.
#[inline]
pub fn check_memory() -> Result<()> {
    if reserve::take_ended() { Err(no_memory()) } else { Ok(()) }
}

/// An error if half of the reserve is in use: called before what takes memory in other threads than its caller's.
pub fn check_reserve() -> Result<()> {
    if reserve::is_low() { Err(no_memory()) } else { Ok(()) }
}

/// Has the next [`check_memory`] of this thread fail: for what cannot say itself that no memory was left.
#[cold]
pub fn memory_ended() {
    reserve::note_ended();
}

#[cold]
fn no_memory() -> Error {
    Error::new(ErrorKind::NoMemory, "the system has no more memory for this process")
}

/// Makes another error of one; not of one that memory was short.
pub fn told(e: Error, kind: ErrorKind, text: impl FnOnce(&str) -> String) -> Error {
    if e.kind() == ErrorKind::NoMemory { e } else { Error::new(kind, text(e.message())) }
}

/// What came of a reading; an error where memory was short, so that nothing is known of it.
pub fn certain<T>(read: Result<T>) -> Result<Result<T>> {
    match read {
        Err(e) if e.kind() == ErrorKind::NoMemory => Err(e),
        read => Ok(read),
    }
}

/// What could be read, or `None`; an error where memory was short.
pub fn readable<T>(read: Result<T>) -> Result<Option<T>> {
    certain(read).map(Result::ok)
}

/// Grows `buf` to at least `len` bytes and returns exactly that many; an error instead of an abort when memory is short.
/// Bytes beyond the former length are zero; the others are left as they are.
pub fn grow(buf: &mut Vec<u8>, len: usize) -> Result<&mut [u8]> {
    if buf.len() < len {
        reserve(buf, len - buf.len())?;
        buf.resize(len, 0);
    }
    Ok(&mut buf[..len])
}

/// Blocks of fewer bytes are not refused.
const FEW: usize = 32 << 10;

/// Asks for room of `bytes` bytes: small ones are served as everything else is, larger ones are refused.
#[inline]
fn ask<T>(bytes: usize, reserve: impl FnOnce() -> T) -> T {
    if bytes < FEW { reserve() } else { reserve::refusable(reserve) }
}

/// Reserves room for `additional` more bytes; an error instead of an abort when memory is short.
pub fn reserve(buf: &mut Vec<u8>, additional: usize) -> Result<()> {
    let done = ask(additional, || buf.try_reserve(additional));
    done.map_err(|_| err!(NoMemory, "no memory for a buffer of {} bytes", buf.len().saturating_add(additional)))
}

/// Makes room for more entries of a list that may become long; an error instead of an abort when memory is short.
#[inline(never)]
pub fn make_room<T>(list: &mut Vec<T>, more: usize) -> Result<()> {
    let count = list.len().saturating_add(more);
    ask(count.saturating_mul(size_of::<T>()), || list.try_reserve(more)).map_err(|_| no_list(count))
}

#[cold]
fn no_list(entries: usize) -> Error {
    err!(NoMemory, "no memory for a list of {entries} entries")
}

#[cold]
fn no_table(entries: usize) -> Error {
    err!(NoMemory, "no memory for a table of {entries} entries")
}

/// Appends to a list that may become long; an error instead of an abort when memory is short, also for what the value holds.
#[inline]
pub fn push<T>(list: &mut Vec<T>, value: T) -> Result<()> {
    if list.len() == list.capacity() {
        make_room(list, 1)?;
    }
    if std::mem::needs_drop::<T>() {
        check_memory()?;
    }
    list.push(value);
    Ok(())
}

/// Appends all of `values` to a list that may become long; an error instead of an abort when memory is short.
pub fn extend<T>(list: &mut Vec<T>, values: impl IntoIterator<Item = T>) -> Result<()> {
    values.into_iter().try_for_each(|value| push(list, value))
}

/// Collects a list that may become long; an error instead of an abort when memory is short.
pub fn collect<T>(values: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let (mut list, least) = (Vec::new(), values.size_hint().0);
    make_room(&mut list, least)?;
    for value in values {
        push(&mut list, value)?;
    }
    Ok(list)
}

/// Collects like [`collect`], until the first error.
pub fn try_collect<T>(values: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    for value in values {
        push(&mut list, value?)?;
    }
    Ok(list)
}

/// Makes room for one more entry of a small list that may become long; an error instead of an abort when memory is short.
#[cold]
#[inline(never)]
pub fn make_room_small<A: smallvec::Array>(list: &mut SmallVec<A>, more: usize) -> Result<()> {
    let count = list.len().saturating_add(more);
    ask(count.saturating_mul(size_of::<A::Item>()), || list.try_reserve(more)).map_err(|_| no_list(count))
}

/// Makes room like [`make_room_small`], for that many more entries and no others.
#[cold]
#[inline(never)]
pub fn make_exact_room_small<A: smallvec::Array>(list: &mut SmallVec<A>, more: usize) -> Result<()> {
    let count = list.len().saturating_add(more);
    ask(count.saturating_mul(size_of::<A::Item>()), || list.try_reserve_exact(more)).map_err(|_| no_list(count))
}

/// Makes room for more bytes of a text that may become long; an error instead of an abort when memory is short.
#[inline]
pub fn make_text_room(text: &mut String, more: usize) -> Result<()> {
    ask(text.len().saturating_add(more), || text.try_reserve(more))
        .map_err(|_| err!(NoMemory, "no memory for a text of {} bytes", text.len().saturating_add(more)))
}

/// A copy of a text that may be long; an error instead of an abort when memory is short.
pub fn text_of(text: &str) -> Result<String> {
    joined([text], "")
}

/// Joins texts that may be long; an error instead of an abort when memory is short.
pub fn joined<'a>(texts: impl IntoIterator<Item = &'a str>, separator: &str) -> Result<String> {
    let mut out = String::new();
    for (i, text) in texts.into_iter().enumerate() {
        let between = if i > 0 { separator } else { "" };
        make_text_room(&mut out, between.len() + text.len())?;
        out.push_str(between);
        out.push_str(text);
    }
    Ok(out)
}

/// Calls `build`, which allocates at most `bytes` at once, without a form that could be refused; an error instead of an abort when memory is short.
pub fn with_spare<T>(bytes: usize, build: impl FnOnce() -> T) -> Result<T> {
    reserve::with_spare(bytes, build).ok_or_else(|| err!(NoMemory, "no memory for a list or text of {bytes} bytes"))
}

/// Shares a list; an error instead of an abort when memory is short.
pub fn shared<T>(list: Vec<T>) -> Result<Arc<[T]>> {
    with_spare(shared_bytes::<T>(list.len()), || list.into())
}

/// Returns the bytes of a shared list of `entries` entries, with its counters.
pub fn shared_bytes<T>(entries: usize) -> usize {
    size_of::<[usize; 2]>().saturating_add(entries.saturating_mul(size_of::<T>()))
}

/// Calls `build`, in which a list or text grows, by doubling, to at most `bytes`, without a form that could be refused; an error instead of an
/// abort when memory is short.
pub fn with_growing<T>(bytes: usize, build: impl FnOnce() -> T) -> Result<T> {
    reserve::with_growing(bytes, build).ok_or_else(|| err!(NoMemory, "no memory for a list or text of {bytes} bytes"))
}

/// Collects a table that may become large; an error instead of an abort when memory is short.
pub fn collect_table<K: Eq + Hash, T>(entries: impl Iterator<Item = (K, T)>) -> Result<HashMap<K, T>> {
    let mut table = HashMap::new();
    for (key, value) in entries {
        put(&mut table, key, value)?;
    }
    Ok(table)
}

/// Puts an entry into a table that may become large, and returns what it held; an error instead of an abort when memory is short.
#[inline]
pub fn put<K: Eq + Hash, T>(table: &mut HashMap<K, T>, key: K, value: T) -> Result<Option<T>> {
    reserve_one(table)?;
    check_memory()?;
    Ok(table.insert(key, value))
}

/// Adds to a set that may become large; an error instead of an abort when memory is short.
pub fn add<K: Eq + Hash>(set: &mut HashSet<K>, key: K) -> Result<bool> {
    if set.len() == set.capacity() {
        let count = set.len() + 1;
        ask(count.saturating_mul(size_of::<K>()), || set.try_reserve(1)).map_err(|_| no_table(count))?;
    }
    check_memory()?;
    Ok(set.insert(key))
}

/// A list of `count` times a value; an error instead of an abort when memory is short.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    ask(count.saturating_mul(size_of::<T>()), || list.try_reserve_exact(count)).map_err(|_| no_list(count))?;
    list.resize(count, value);
    Ok(list)
}

/// Makes room for one more entry in a table; an error instead of an abort when memory is short.
#[inline]
pub fn reserve_one<K: Eq + Hash, T>(table: &mut HashMap<K, T>) -> Result<()> {
    if table.len() < table.capacity() { Ok(()) } else { make_table_room(table, 1) }
}

/// Makes room for more entries in a table; an error instead of an abort when memory is short.
#[inline(never)]
pub fn make_table_room<K: Eq + Hash, T>(table: &mut HashMap<K, T>, more: usize) -> Result<()> {
    let count = table.len().saturating_add(more);
    ask(count.saturating_mul(size_of::<(K, T)>()), || table.try_reserve(more)).map_err(|_| no_table(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_is_limited_at_64() {
        assert!(check_rank(64).is_ok());
        assert!(check_rank(65).is_err());
    }

    #[test]
    fn element_count_refuses_overflow_but_not_zero() {
        assert_eq!(element_count(&[0, u64::MAX, u64::MAX]).unwrap(), 0);
        assert_eq!(element_count(&[]).unwrap(), 1);
        assert!(element_count(&[1 << 32, 1 << 32]).is_err());
        let e = element_count(&[1 << 62, 2]).unwrap_err();
        assert_eq!(counting::render(e.message(), counting::Counting::Fortran), "shape [2, 4611686018427387904] has 2^63 elements or more");
    }

    #[test]
    fn strides_of_both_orders() {
        assert_eq!(c_strides(&[2, 3, 4], 8).as_slice(), &[96, 32, 8]);
        assert_eq!(f_strides(&[2, 3, 4], 8).as_slice(), &[8, 16, 48]);
        assert!(c_strides(&[], 8).is_empty());
    }
}
