//! The directory of a zip archive: the end records, zip64, and the record of each entry, with nothing believed.
//!
//! Specification: PKWARE's APPNOTE 6.3.10, 4.3.12 to 4.3.16, 4.4 and 4.5.3. What is refused, because a reader that goes on would
//! show one of two contents, or read outside: more than one end record that fits, end records that contradict each other, a
//! directory that is not just before them, entries that overlap or reach into it, names that lead out of the archive.

use crate::codec::Packing;
use crate::error::{Error, Result, bail, err};
use crate::limits::grow;
use crate::store::keys::check_key;
use crate::store::os::hash;

/// How a local header begins.
pub(super) const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// How a record of the directory begins.
pub(super) const CENTRAL: &[u8; 4] = b"PK\x01\x02";
/// How the end record begins.
pub(super) const END: &[u8; 4] = b"PK\x05\x06";
/// How the end record of zip64 begins.
pub(super) const END64: &[u8; 4] = b"PK\x06\x06";
/// How the record that points to that begins.
pub(super) const LOCATOR64: &[u8; 4] = b"PK\x06\x07";

/// The fixed part of a local header.
pub(super) const LOCAL_LEN: u64 = 30;
/// The fixed part of a directory's record.
pub(super) const CENTRAL_LEN: usize = 46;
/// The end record without its comment.
pub(super) const END_LEN: u64 = 22;
/// The end record of zip64, without what may be added to it.
pub(super) const END64_LEN: u64 = 56;
/// The record that points to it.
pub(super) const LOCATOR64_LEN: u64 = 20;

/// The most entries of an archive.
pub(super) const MAX_ENTRIES: u64 = 10_000_000;
/// The most bytes of a directory.
pub(super) const MAX_DIRECTORY: u64 = 2 << 30;
/// What an archive without its end is.
pub(super) const UNFINISHED: &str = "it was cut, or its writer has not finished it; `ozarr zip-repair` saves what is whole";
/// No byte of deflate makes more bytes than this.
const MAX_RATIO: u64 = 1032;

/// Flags: the data are encrypted.
pub(super) const ENCRYPTED: u16 = 1;
/// Flags: checksum and sizes stand behind the data.
pub(super) const STREAMED: u16 = 1 << 3;
/// Flags: the name is UTF-8.
pub(super) const UTF8: u16 = 1 << 11;
/// Method: the bytes as they are.
pub(super) const STORED: u16 = 0;
/// Method: deflate.
pub(super) const DEFLATED: u16 = 8;
/// Flags, of LZMA: the data end with a mark.
const ENDS_WITH_MARK: u16 = 1 << 1;

/// Where an entry is and how it is stored, as the directory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The offset of the local header.
    pub header: u64,
    /// The bytes as they are stored.
    pub stored: u64,
    /// The bytes of the value.
    pub size: u64,
    /// CRC-32 of the value.
    pub crc: u32,
    pub method: u16,
    pub flags: u16,
    /// The bytes of the name in the archive.
    pub name_len: u16,
    /// A symbolic link, whose value is a path.
    pub is_link: bool,
    /// Where the next entry, or the directory, begins.
    pub limit: u64,
}

impl Entry {
    /// A number that is another one for another value under the same name.
    pub fn told(&self) -> u64 {
        hash(format!("{} {} {}", self.header, self.size, self.crc).as_bytes())
    }

    /// How it is compressed, if that is neither deflated nor unknown.
    pub fn packing(&self) -> Option<Packing> {
        match self.method {
            12 => Some(Packing::Bzip2),
            14 => Some(Packing::Lzma { ends: self.flags & ENDS_WITH_MARK != 0 }),
            93 => Some(Packing::Zstd),
            95 => Some(Packing::Xz),
            _ => None,
        }
    }
}

/// One record of the directory.
pub(super) struct Record<'a> {
    pub entry: Entry,
    /// The name as it is stored.
    pub name: &'a [u8],
    /// The record as it is stored.
    pub whole: &'a [u8],
}

/// A directory that was found.
pub(super) struct Directory {
    /// Where it begins.
    pub start: u64,
    /// Where the archive begins, from which its offsets count: behind other bytes, such as the program of one that extracts itself.
    pub base: u64,
    /// Its records.
    pub bytes: Vec<u8>,
    /// How many there are.
    pub count: u64,
    /// The archive's comment, which follows the end record.
    pub comment: Vec<u8>,
}

/// Reads bytes of an archive from an offset.
pub(super) type ReadAt<'a> = &'a dyn Fn(u64, usize) -> Result<Vec<u8>>;

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u16::from_le_bytes(*b))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u32::from_le_bytes(*b))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|b| b.first_chunk()).map_or(0, |b| u64::from_le_bytes(*b))
}

/// What an end record says.
#[derive(Clone, Copy, Debug)]
struct End {
    count: u64,
    size: u64,
    offset: u64,
    /// Where the first of the end records begins, which is where the directory must end.
    at: u64,
    zip64: bool,
}

/// Finds and reads the directory of an archive of `len` bytes: its tail, and what of the directory is before that. Bytes may be in front of
/// the archive if its first entry is just behind them.
pub(super) fn find(len: u64, read: ReadAt<'_>) -> Result<Directory> {
    if len < END_LEN {
        bail!(Truncated, "found {len} bytes, expected a zip archive, which has at least {END_LEN}");
    }
    let tail_len = len.min(END_LEN + LOCATOR64_LEN + END64_LEN + u64::from(u16::MAX));
    let tail_at = len - tail_len;
    let tail = read(tail_at, tail_len as usize)?;
    let at = find_end(&tail, || read(0, 4))?;
    let end = parse_end(&tail, at, tail_at, read)?;
    if end.count > MAX_ENTRIES || end.size > MAX_DIRECTORY {
        bail!(
            Limit,
            "a zip archive of {} entries, described in {} bytes, exceeds the limit of {MAX_ENTRIES} and {MAX_DIRECTORY}",
            end.count,
            end.size
        );
    }
    let disagree = || {
        let (size, offset) = (end.size, end.offset);
        err!(Metadata, "the zip directory is said to have {size} bytes at {offset}, and to end at {}: these do not agree", end.at)
    };
    let base = end.offset.checked_add(end.size).and_then(|said| end.at.checked_sub(said)).ok_or_else(disagree)?;
    let start = base + end.offset;
    if end.count * CENTRAL_LEN as u64 > end.size {
        bail!(Metadata, "the zip directory is said to have {} entries in {} bytes", end.count, end.size);
    }
    let bytes = match start.checked_sub(tail_at) {
        Some(from) => tail[from as usize..(from + end.size) as usize].to_vec(),
        None => read(start, end.size as usize)?,
    };
    let count = records(&bytes).try_fold(0u64, |n, record| record.map(|_| n + 1))?;
    // Writers that know no zip64 count only so far.
    if count != end.count && (end.zip64 || count % 0x1_0000 != end.count) {
        bail!(Metadata, "the zip directory is said to have {} entries, found {count}", end.count);
    }
    if count > MAX_ENTRIES {
        bail!(Limit, "a zip archive of {count} entries exceeds the limit of {MAX_ENTRIES}");
    }
    if base > 0 {
        let first = records(&bytes).map_while(Result::ok).map(|record| record.entry.header).min();
        if first != Some(0) || base + LOCAL_LEN > start || !read(base, LOCAL.len())?.starts_with(LOCAL) {
            return Err(disagree());
        }
    }
    let comment = tail[at + END_LEN as usize..].to_vec();
    Ok(Directory { start, base, bytes, count, comment })
}

/// Where the end record begins in the tail. Its comment must reach just to the end.
fn find_end(tail: &[u8], first: impl FnOnce() -> Result<Vec<u8>>) -> Result<usize> {
    let mut found = None;
    let mut other = false;
    for (at, _) in tail.windows(4).enumerate().rev().filter(|(_, w)| w == END) {
        if at + END_LEN as usize + usize::from(u16_at(tail, at + 20)) != tail.len() || at + END_LEN as usize > tail.len() {
            other = true;
        } else if found.replace(at).is_some() {
            bail!(Metadata, "found two end records in the zip archive that both fit: which of them is meant is not certain");
        }
    }
    if let Some(at) = found {
        return Ok(at);
    }
    if other {
        bail!(Truncated, "bytes follow the end record of the zip archive: {UNFINISHED}");
    }
    match first()?.first_chunk() {
        Some(LOCAL) => bail!(Truncated, "the zip archive has no end record: {UNFINISHED}"),
        _ => bail!(Metadata, "this is no zip archive: it has no end record, nor does it begin with an entry"),
    }
}

fn parse_end(tail: &[u8], at: usize, tail_at: u64, read: ReadAt<'_>) -> Result<End> {
    let record = &tail[at..];
    let (disk, count_here) = (u16_at(record, 4).max(u16_at(record, 6)), u16_at(record, 8));
    let count = u16_at(record, 10);
    let (size, offset) = (u32_at(record, 12), u32_at(record, 16));
    if (disk != 0 && disk != u16::MAX) || count_here != count {
        bail!(Unsupported, "the zip archive is one of several volumes, which are not supported");
    }
    let short = End { count: count.into(), size: size.into(), offset: offset.into(), at: tail_at + at as u64, zip64: false };
    let Some(locator_at) = at.checked_sub(LOCATOR64_LEN as usize).filter(|&l| tail[l..].starts_with(LOCATOR64)) else { return Ok(short) };
    let locator = &tail[locator_at..];
    if u32_at(locator, 4) != 0 || u32_at(locator, 16) > 1 {
        bail!(Unsupported, "the zip archive is one of several volumes, which are not supported");
    }
    let (said, locator_at) = (u64_at(locator, 8), tail_at + locator_at as u64);
    // With bytes in front of the archive the record is just before the locator.
    let is_there = match said.checked_sub(tail_at) {
        // Whether that is in the file at all was not checked yet.
        Some(from) => usize::try_from(from).ok().and_then(|from| tail.get(from..)).is_some_and(|rest| rest.starts_with(END64)),
        None => read(said, END64.len()).is_ok_and(|found| found == END64),
    };
    let moved =
        locator_at.checked_sub(END64_LEN).filter(|&at| at > said && !is_there && tail[(at - tail_at) as usize..].starts_with(END64));
    let long_at = moved.unwrap_or(said);
    if long_at.checked_add(END64_LEN).is_none_or(|end| end > locator_at) {
        bail!(Metadata, "the zip64 end record is said to begin at {long_at}, after its place before {locator_at}");
    }
    let long = match long_at.checked_sub(tail_at) {
        Some(from) => tail[from as usize..][..END64_LEN as usize].to_vec(),
        None => read(long_at, END64_LEN as usize)?,
    };
    if !long.starts_with(END64) || u64_at(&long, 4).checked_add(long_at + 12) != Some(locator_at) {
        bail!(Metadata, "found no zip64 end record at {long_at}, where one is said to be");
    }
    if u32_at(&long, 16) != 0 || u32_at(&long, 20) != 0 || u64_at(&long, 24) != u64_at(&long, 32) {
        bail!(Unsupported, "the zip archive is one of several volumes, which are not supported");
    }
    let long = End { count: u64_at(&long, 32), size: u64_at(&long, 40), offset: u64_at(&long, 48), at: long_at, zip64: true };
    let base = long.at.checked_sub(long.offset.saturating_add(long.size));
    if moved.is_some_and(|at| base != Some(at - said)) {
        bail!(Metadata, "found no zip64 end record at {said}, where one is said to be");
    }
    for (what, short, long, full) in [
        ("number of entries", short.count, long.count, u64::from(u16::MAX)),
        ("size of the directory", short.size, long.size, u64::from(u32::MAX)),
        ("offset of the directory", short.offset, long.offset, u64::from(u32::MAX)),
    ] {
        if short != full && short != long {
            bail!(Metadata, "the end records of the zip archive disagree: the {what} is {short} by one and {long} by the other");
        }
    }
    Ok(long)
}

/// The records of a directory, one after the other.
pub(super) fn records(bytes: &[u8]) -> impl Iterator<Item = Result<Record<'_>>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        match record(rest) {
            Ok(record) => {
                rest = &rest[record.whole.len()..];
                Some(Ok(record))
            }
            Err(e) => {
                rest = &[];
                Some(Err(e))
            }
        }
    })
}

fn record(rest: &[u8]) -> Result<Record<'_>> {
    let (name_len, extra_len, comment_len) = (u16_at(rest, 28), u16_at(rest, 30), u16_at(rest, 32));
    let extra_at = CENTRAL_LEN + usize::from(name_len);
    let whole_len = extra_at + usize::from(extra_len) + usize::from(comment_len);
    if !rest.starts_with(CENTRAL) || rest.len() < whole_len {
        bail!(Metadata, "the zip directory is damaged: found no whole record of an entry where one is expected");
    }
    let name = &rest[CENTRAL_LEN..extra_at];
    let is_unix = u16_at(rest, 4) >> 8 == 3;
    let mut entry = Entry {
        header: u32_at(rest, 42).into(),
        stored: u32_at(rest, 20).into(),
        size: u32_at(rest, 24).into(),
        crc: u32_at(rest, 16),
        method: u16_at(rest, 10),
        flags: u16_at(rest, 8),
        name_len,
        is_link: is_unix && u32_at(rest, 38) >> 28 == 0o12,
        limit: 0,
    };
    let extra = &rest[extra_at..extra_at + usize::from(extra_len)];
    let shown = || String::from_utf8_lossy(name).into_owned();
    read_zip64(&mut entry, extra).ok_or_else(|| err!(Metadata, "the zip entry {:?} lacks its zip64 sizes", shown()))?;
    let disk = u16_at(rest, 34);
    if disk != 0 && disk != u16::MAX {
        bail!(Unsupported, "the zip entry {:?} is said to lie on another volume, which is not supported", shown());
    }
    Ok(Record { entry, name, whole: &rest[..whole_len] })
}

/// Takes those of size, stored size and offset that do not fit into 32 bits from the extra field of zip64.
pub(super) fn read_zip64(entry: &mut Entry, extra: &[u8]) -> Option<()> {
    let full = u64::from(u32::MAX);
    if ![entry.size, entry.stored, entry.header].contains(&full) {
        return Some(());
    }
    let mut field = extra_field(extra, 1)?;
    for value in [&mut entry.size, &mut entry.stored, &mut entry.header] {
        if *value == full {
            let (first, rest) = field.split_first_chunk::<8>()?;
            (*value, field) = (u64::from_le_bytes(*first), rest);
        }
    }
    Some(())
}

/// The extra field of that number.
fn extra_field(mut extra: &[u8], id: u16) -> Option<&[u8]> {
    while extra.len() >= 4 {
        let field = extra.get(4..4 + usize::from(u16_at(extra, 2)))?;
        if u16_at(extra, 0) == id {
            return Some(field);
        }
        extra = &extra[4 + field.len()..];
    }
    None
}

/// Where entries begin and end at least, sorted: what records say of them is checked against each other and against the directory's place.
pub(super) fn places(directory: &Directory) -> Result<Vec<(u64, u64)>> {
    let mut places: Vec<(u64, u64)> = Vec::new();
    places.try_reserve_exact(directory.count as usize).map_err(|_| err!(NoMemory, "no memory for {} zip entries", directory.count))?;
    for record in records(&directory.bytes) {
        let Record { mut entry, name, .. } = record?;
        entry.header = entry.header.saturating_add(directory.base);
        let shown = || String::from_utf8_lossy(name).into_owned();
        let end = entry.stored.checked_add(LOCAL_LEN + u64::from(entry.name_len)).and_then(|n| n.checked_add(entry.header));
        let Some(end) = end.filter(|&end| end <= directory.start) else {
            let (stored, header, start) = (entry.stored, entry.header, directory.start);
            bail!(Metadata, "the zip entry {:?} of {stored} bytes at {header} reaches beyond the directory at {start}", shown());
        };
        let lies = match entry.method {
            STORED => entry.stored != entry.size && entry.flags & ENCRYPTED == 0,
            DEFLATED => entry.size > entry.stored.saturating_mul(MAX_RATIO),
            _ => entry.packing().is_some_and(|packing| entry.size > entry.stored.saturating_mul(packing.most())),
        };
        if lies {
            bail!(Metadata, "the zip entry {:?} is said to hold {} bytes in {}, which cannot be", shown(), entry.size, entry.stored);
        }
        places.push((entry.header, end));
    }
    places.sort_unstable();
    if let Some(two) = places.windows(2).find(|two| two[0].1 > two[1].0) {
        bail!(Metadata, "the zip entries at {} and {} overlap", two[0].0, two[1].0);
    }
    Ok(places)
}

/// Gives `each` the entries that are keys, after all are checked, until its first error. Of several of one name the last one counts.
pub(super) fn entries(directory: &Directory, each: &mut dyn FnMut(String, Entry) -> Result<()>) -> Result<()> {
    let places = places(directory)?;
    for record in records(&directory.bytes) {
        let mut record = record?;
        record.entry.header += directory.base;
        if let Some(key) = key_of(record.name, record.entry.flags)? {
            let next = places.partition_point(|p| p.0 <= record.entry.header);
            record.entry.limit = places.get(next).map_or(directory.start, |p| p.0);
            each(key, record.entry)?;
        }
    }
    Ok(())
}

/// The key that an entry's name means; `None` for a folder and for what macOS adds. A name that is no key is an error.
pub(super) fn key_of(name: &[u8], flags: u16) -> Result<Option<String>> {
    let mut text = match std::str::from_utf8(name) {
        Ok(text) => text.to_string(),
        Err(_) if flags & UTF8 != 0 => bail!(Name, "the zip entry {:?} has a name that is not UTF-8", String::from_utf8_lossy(name)),
        Err(_) => name.iter().map(|&b| code_page_437(b)).collect(),
    };
    if !text.contains('/') {
        text = text.replace('\\', "/");
    }
    let mut key = text.as_str();
    while let Some(rest) = key.strip_prefix('/').or_else(|| key.strip_prefix("./")) {
        key = rest;
    }
    let is_folder = text.ends_with('/');
    let key = key.strip_suffix('/').unwrap_or(key);
    if key.is_empty() && is_folder {
        return Ok(None);
    }
    check_key(key).map_err(|e| Error::new(e.kind(), format!("the zip entry {text:?} cannot be a key: {}", e.message())))?;
    Ok((!is_folder && !is_ignored(key)).then(|| key.to_string()))
}

/// Whether a key is one of those that macOS adds.
pub fn is_ignored(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    key.starts_with("__MACOSX/") || name.starts_with("._") || name == ".DS_Store"
}

/// The character of a byte in names that are not said to be UTF-8, and are not.
fn code_page_437(byte: u8) -> char {
    const UPPER: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
    match byte.checked_sub(128) {
        None => byte.into(),
        Some(n) => UPPER.chars().nth(n.into()).unwrap_or('?'),
    }
}

/// Reads from bytes in memory; for tests and fuzzing, and for the repair.
pub(super) fn read_slice(bytes: &[u8], at: u64, len: usize) -> Result<Vec<u8>> {
    let found = usize::try_from(at).ok().and_then(|at| bytes.get(at..)?.get(..len));
    let found = found.ok_or_else(|| err!(Truncated, "found {} bytes, expected {len} at {at}", bytes.len()))?;
    let mut copy = Vec::new();
    grow(&mut copy, len)?.copy_from_slice(found);
    Ok(copy)
}
