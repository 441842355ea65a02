//! What is a key and what is a prefix: the rules that every store checks first.

use crate::error::{Result, bail};
use crate::limits::MAX_KEY;

/// The names of the documents that make a folder a node.
pub(crate) const MAKES_A_NODE: &[&str] = &["zarr.json", ".zarray", ".zgroup", ".zmetadata"];

/// The key directly below a prefix that goes last of all keys with it, and only when all others are gone: it says that they are to go.
pub const GOES_LAST: &str = "ozarr-copy.json";

/// Checks that a key is a relative path of at most [`MAX_KEY`] bytes without empty, `.` or `..` parts.
pub(crate) fn check_key(key: &str) -> Result<()> {
    if key.len() > MAX_KEY {
        bail!(Limit, "a key of {} bytes exceeds the limit of {MAX_KEY}", key.len());
    }
    if is_plain(key.as_bytes()) {
        return Ok(());
    }
    let mut start = 0;
    let bytes = key.as_bytes();
    for end in 0..=bytes.len() {
        match bytes.get(end) {
            None | Some(b'/') => {
                if matches!(&bytes[start..end], b"" | b"." | b"..") {
                    bail!(Name, "the key {key:?} has an empty, `.` or `..` part");
                }
                start = end + 1;
            }
            Some(0) => bail!(Name, "the key {key:?} contains a NUL"),
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether bytes surely are a good key, found in one pass without branches: keys of chunks are checked for every chunk. No part of such
/// a key begins with a dot.
fn is_plain(key: &[u8]) -> bool {
    let (Some((first, rest)), Some(last)) = (key.split_first(), key.last()) else { return false };
    let starts_part = |before: u8, b: u8| (before == b'/') & ((b == b'/') | (b == b'.'));
    let odd = key.iter().zip(rest).fold(false, |odd, (&before, &b)| odd | (b == 0) | starts_part(before, b));
    !(odd | (*first == 0) | starts_part(b'/', *first) | (*last == b'/'))
}

/// Checks that a prefix is empty or a key and a slash; gives that key.
pub(crate) fn check_prefix(prefix: &str) -> Result<&str> {
    if prefix.is_empty() {
        return Ok("");
    }
    let Some(folder) = prefix.strip_suffix('/') else { bail!(Argument, "the prefix {prefix:?} does not end in a slash") };
    check_key(folder)?;
    Ok(folder)
}
