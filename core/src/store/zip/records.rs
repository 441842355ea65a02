//! The records of a zip archive as they are written: headers of entries, the directory, and the end.

use super::directory::*;
use crate::error::{Result, err};

/// The date of every entry (1 January 1980), so that the same writes make the same file.
const DATE: u16 = 1 << 5 | 1;

/// A number in 32 bits, or all ones for one that is in the zip64 field instead.
fn short(n: u64) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes()
}

fn is_long(n: u64) -> bool {
    n >= u64::from(u32::MAX)
}

/// The local header of a stored entry.
pub(super) fn local_header(entry: &Entry, name: &str) -> Vec<u8> {
    let long = is_long(entry.size);
    let extra_len = if long { 20u16 } else { 0 };
    let mut out = Vec::with_capacity(LOCAL_LEN as usize + name.len() + usize::from(extra_len));
    out.extend_from_slice(LOCAL);
    for word in [if long { 45 } else { 20 }, entry.flags, entry.method, 0, DATE] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&entry.crc.to_le_bytes());
    // Both sizes stand in the zip64 field, or none.
    let size = if long { [0xff; 4] } else { short(entry.size) };
    out.extend_from_slice(&[size, size].concat());
    out.extend_from_slice(&entry.name_len.to_le_bytes());
    out.extend_from_slice(&extra_len.to_le_bytes());
    out.extend_from_slice(name.as_bytes());
    if long {
        out.extend_from_slice(&[1u16.to_le_bytes(), 16u16.to_le_bytes()].concat());
        out.extend_from_slice(&[entry.size.to_le_bytes(), entry.stored.to_le_bytes()].concat());
    }
    out
}

/// The directory's record of an entry.
pub(super) fn central_record(entry: &Entry, name: &[u8]) -> Vec<u8> {
    let long: Vec<u8> = [entry.size, entry.stored, entry.header].into_iter().filter(|&n| is_long(n)).flat_map(u64::to_le_bytes).collect();
    let mut out = Vec::with_capacity(CENTRAL_LEN + name.len() + 28);
    let extra_len = if long.is_empty() { 0 } else { 4 + long.len() as u16 };
    out.extend_from_slice(CENTRAL);
    // Made by version 4.5 on Unix, so that the mode below counts.
    for word in [3 << 8 | 45, if long.is_empty() { 20 } else { 45 }, entry.flags, entry.method, 0, DATE] {
        out.extend_from_slice(&u16::to_le_bytes(word));
    }
    out.extend_from_slice(&entry.crc.to_le_bytes());
    out.extend_from_slice(&[short(entry.stored), short(entry.size)].concat());
    // Lengths of name, extra fields and comment; the volume; attributes.
    for word in [entry.name_len, extra_len, 0, 0, 0] {
        out.extend_from_slice(&word.to_le_bytes());
    }
    out.extend_from_slice(&(0o100_644u32 << 16).to_le_bytes());
    out.extend_from_slice(&short(entry.header));
    out.extend_from_slice(name);
    if !long.is_empty() {
        out.extend_from_slice(&[1u16.to_le_bytes(), (long.len() as u16).to_le_bytes()].concat());
        out.extend_from_slice(&long);
    }
    out
}

/// An archive's file as it was read.
#[derive(Default)]
pub(super) struct Old {
    /// The records of its directory.
    pub records: Vec<u8>,
    pub comment: Vec<u8>,
    /// Where the directory begins.
    pub directory: u64,
    pub len: u64,
}

impl Old {
    /// The bytes before the directory that are of no entry in it.
    pub fn dead(&self) -> u64 {
        let entries = records(&self.records).map_while(Result::ok).map(|record| record.entry);
        entries.fold(self.directory, |rest, entry| rest.saturating_sub(LOCAL_LEN + u64::from(entry.name_len) + entry.stored))
    }
}

/// Whether the local headers of entries tell all that these records of a directory do: those that are written here, the same byte for byte.
/// A last entry of nothing tells nothing: a repair takes it for one that was begun.
pub(super) fn is_told_by_entries(directory: &[u8]) -> bool {
    let last = records(directory).map_while(Result::ok).map(|record| record.entry).max_by_key(|entry| entry.header);
    let is_whole = |record: Result<Record<'_>>| {
        record.is_ok_and(|Record { entry, name, whole }| {
            entry.method == STORED
                && entry.flags & !UTF8 == 0
                && key_of(name, entry.flags).is_ok_and(|key| key.is_some())
                && central_record(&entry, name) == whole
        })
    };
    last.is_none_or(|last| last.stored > 0) && records(directory).all(is_whole)
}

/// What an archive's comment says when entries have followed those that were there: documents do not come first any more, which that of
/// OME-Zarr (RFC 9) may have said.
pub(super) fn appended(comment: &[u8]) -> Vec<u8> {
    let said: &[u8] = b"\"jsonFirst\"";
    let Some(at) = comment.windows(said.len()).position(|w| w == said) else { return comment.to_vec() };
    let (before, after) = comment.split_at(at + said.len());
    let blank = after.iter().take_while(|&&b| b == b':' || b.is_ascii_whitespace()).count();
    match after[blank..].strip_prefix(b"true") {
        Some(rest) => [before, &after[..blank], b"false", rest].concat(),
        None => comment.to_vec(),
    }
}

/// End records with a comment; one that is too long is left out.
pub(super) fn with_comment(mut end: Vec<u8>, comment: &[u8]) -> Vec<u8> {
    if let (Ok(len), Some(room)) = (u16::try_from(comment.len()), end.last_chunk_mut()) {
        *room = len.to_le_bytes();
        end.extend_from_slice(comment);
    }
    end
}

/// The records that end an archive whose directory has `count` records in `size` bytes at `offset`.
pub(super) fn end_records(count: u64, size: u64, offset: u64) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    if count >= u64::from(u16::MAX) || is_long(size) || is_long(offset) {
        let at = offset.checked_add(size).ok_or_else(|| err!(Limit, "the zip archive would exceed 2^64 bytes"))?;
        out.extend_from_slice(END64);
        out.extend_from_slice(&(END64_LEN - 12).to_le_bytes());
        out.extend_from_slice(&[(3u16 << 8 | 45).to_le_bytes(), 45u16.to_le_bytes()].concat());
        out.extend_from_slice(&[0; 8]);
        for n in [count, count, size, offset] {
            out.extend_from_slice(&n.to_le_bytes());
        }
        out.extend_from_slice(LOCATOR64);
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&at.to_le_bytes());
        out.extend_from_slice(&1u32.to_le_bytes());
    }
    let count = u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes();
    out.extend_from_slice(END);
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&[count, count].concat());
    out.extend_from_slice(&[short(size), short(offset)].concat());
    out.extend_from_slice(&[0; 2]);
    Ok(out)
}
