//! Making an archive of a file whose writer died: the last directory that is whole, and every whole entry behind it, also behind bytes that
//! cannot be read.

use super::ZipStore;
use super::directory::*;
use super::read::{ArchiveBytes, Slot};
use super::records::{appended, central_record, end_records, with_comment};
use super::write::open_to_read;
use super::written_file::LOCK_BYTE;
use crate::codec::Packing;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::fork::OwnFile;
use crate::limits::{check_memory, grow, push, reserve, reserve_one};
use crate::platform::{AsFd, BorrowedFd, libc};
use crate::store::Object;
use crate::store::file_options::SyncMode;
use crate::store::local::path::c_path;
use crate::store::os::{self, CWD, Errno};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// How the record behind the data of a streamed entry begins.
const MARK: &[u8; 4] = b"PK\x07\x08";
/// How much is looked through at once.
const PIECE: usize = 1 << 20;

/// What a repair has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// Keys that the archive has now.
    pub keys: u64,
    /// Entries that were begun and are not whole: damaged ones, and a torn one at the end.
    pub lost: u64,
    /// Bytes that were cut off the end; 0 also where nothing was to be repaired.
    pub cut: u64,
    /// Whether the file was changed: one that can be read is left as it is.
    pub changed: bool,
}

/// Rebuilds the directory of the archive at `path`, in place. Only the end of the file is written to, behind the last whole entry.
pub fn repair(path: &Path) -> Result<Repaired> {
    let file = os::open(CWD, &c_path(path)?, libc::O_RDWR | libc::O_NOCTTY, 0).map(OwnFile::new);
    let file = file.map_err(|e| match e {
        Errno(libc::EISDIR) => err!(Location, "{} is a folder, expected a zip archive", path.display()).with_errno(libc::EISDIR),
        e => e.error(&format!("open {}", path.display())),
    })?;
    match os::try_lock_byte(file.as_fd(), LOCK_BYTE) {
        Err(Errno(libc::EAGAIN)) => bail!(Conflict, "{} is being written by another program", path.display()),
        _ => repair_file(path, file.as_fd()),
    }
}

fn repair_file(path: &Path, file: BorrowedFd<'_>) -> Result<Repaired> {
    let keys = |store: &ZipStore| store.content.read(|content| content.map.len() as u64);
    match ZipStore::open(path, false, SyncMode::None) {
        Ok(store) => return Ok(Repaired { keys: keys(&store), lost: 0, cut: 0, changed: false }),
        // What a writer that died leaves: nothing, no end, or one that does not fit. An archive that is refused for another reason is whole.
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Truncated | ErrorKind::Metadata) && e.os_errno() == 0 => {}
        Err(e) => return Err(e),
    }
    let source = ArchiveBytes::Near(Object::File(open_to_read(path, file)?));
    let len = os::stat(file).map_err(|e| e.error("stat"))?.st_size as u64;
    let mut scan = Scan {
        source: &source,
        len,
        at: 0,
        listed: Vec::new(),
        comment: Vec::new(),
        entries: Vec::new(),
        lost: 0,
        directories: len,
        marks: len,
        without_end: (len, len),
    };
    scan.run()?;
    if scan.entries.is_empty() && scan.listed.is_empty() && !scan.is_begun()? {
        bail!(Metadata, "{} has no whole zip entry: there is nothing to repair", path.display());
    }
    let records = scan.directory()?;
    let count = super::directory::records(&records).count() as u64;
    let end = with_comment(end_records(count, records.len() as u64, scan.at)?, &appended(&scan.comment));
    let new_len = scan.at + (records.len() + end.len()) as u64;
    os::pwrite_all(file, &[&records, &end], scan.at).map_err(|e| e.error("write the directory of the zip archive"))?;
    os::truncate(file, new_len).map_err(|e| e.error("truncate"))?;
    os::fdatasync(file).map_err(|e| e.error("sync"))?;
    let store = ZipStore::open(path, false, SyncMode::None)?;
    Ok(Repaired { keys: keys(&store), lost: scan.lost, cut: len.saturating_sub(scan.at), changed: true })
}

/// Whether an error says nothing of the bytes: there was no memory, or the file could not be read.
fn is_of_system(e: &Error) -> bool {
    e.kind() == ErrorKind::NoMemory || e.os_errno() != 0
}

/// A walk from header to header.
struct Scan<'a> {
    source: &'a ArchiveBytes,
    len: u64,
    /// All before this is whole.
    at: u64,
    /// The records of the last whole directory.
    listed: Vec<u8>,
    /// The comment behind that.
    comment: Vec<u8>,
    /// What follows it: names as they are stored, and entries.
    entries: Vec<(Vec<u8>, Entry)>,
    lost: u64,
    /// No whole directory begins behind here.
    directories: u64,
    /// No mark behind a streamed entry is behind here.
    marks: u64,
    /// Between these is no end of an archive that begins behind the first byte.
    without_end: (u64, u64),
}

/// An entry with its name as it is stored, and where the next one begins.
type Found = (Vec<u8>, Entry, u64);

impl Scan<'_> {
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if at.checked_add(len as u64).is_none_or(|end| end > self.len) {
            bail!(Truncated, "found {} bytes, expected {len} at {at}", self.len);
        }
        self.source.read(at, grow(&mut bytes, len)?)?;
        Ok(bytes)
    }

    /// Reads what is at a place; `None` if the file ends before.
    fn read_there(&self, at: u64, len: usize) -> Result<Option<Vec<u8>>> {
        if at.checked_add(len as u64).is_none_or(|end| end > self.len) { Ok(None) } else { self.read(at, len).map(Some) }
    }

    /// Calls `each` with the places of `what` from `from` on, until it finds something there.
    fn seek<T>(&self, what: &[u8; 4], from: u64, each: &mut dyn FnMut(u64) -> Result<Option<T>>) -> Result<Option<T>> {
        let mut at = from;
        while at < self.len {
            let piece = self.read(at, (self.len - at).min(PIECE as u64 + 3) as usize)?;
            for (offset, _) in piece.windows(4).enumerate().filter(|(_, w)| w == what) {
                if let Some(found) = each(at + offset as u64)? {
                    return Ok(Some(found));
                }
            }
            at += PIECE as u64;
        }
        Ok(None)
    }

    fn run(&mut self) -> Result<()> {
        while self.at < self.len {
            let found = self.read(self.at, (self.len - self.at).min(4) as usize)?;
            let more = found == LOCAL && self.entry()?;
            if !more && !self.resume(&found)? {
                break;
            }
        }
        self.drop_damaged()
    }

    /// Whether the file ends within its first entry, or before it: it becomes an empty archive. Only a streamed one may end anywhere.
    fn is_begun(&self) -> Result<bool> {
        let is_first = self.at == 0 && LOCAL.starts_with(&self.read(0, self.len.min(LOCAL.len() as u64) as usize)?);
        Ok(is_first && self.local(0)?.is_none_or(|(_, entry)| entry.flags & STREAMED == 0 && entry.limit > self.len))
    }

    /// Returns what the local header at a place tells: the entry, whose limit is where its data end, those of a streamed one where they begin.
    fn local(&self, at: u64) -> Result<Option<(Vec<u8>, Entry)>> {
        let Some(header) = self.read_there(at, LOCAL_LEN as usize)? else { return Ok(None) };
        let (name_len, extra_len) = (u16_at(&header, 26), u16_at(&header, 28));
        let Some(rest) = self.read_there(at + LOCAL_LEN, usize::from(name_len) + usize::from(extra_len))? else { return Ok(None) };
        let (name, extra) = rest.split_at(usize::from(name_len));
        let mut entry = Entry {
            header: at,
            stored: u32_at(&header, 18).into(),
            size: u32_at(&header, 22).into(),
            crc: u32_at(&header, 14),
            method: u16_at(&header, 8),
            flags: u16_at(&header, 6),
            name_len,
            is_link: false,
            limit: 0,
        };
        let data = at + LOCAL_LEN + rest.len() as u64;
        entry.limit = match read_zip64(&mut entry, extra) {
            _ if entry.flags & STREAMED != 0 => data,
            Some(()) => data.saturating_add(entry.stored),
            None => u64::MAX,
        };
        Ok(Some((name.to_vec(), entry)))
    }

    /// Takes the entry at the present place; `false` if nobody knows where it ends.
    fn entry(&mut self) -> Result<bool> {
        let Some((name, entry)) = self.local(self.at)? else { return Ok(false) };
        let found = match entry.flags & STREAMED {
            // A directory knows best how long it is.
            STREAMED if self.directory_after(self.at)? => return Ok(true),
            STREAMED => self.streamed(name, entry)?,
            _ => (entry.limit <= self.len).then_some((name, entry, entry.limit)),
        };
        let Some((name, entry, end)) = found else { return Ok(false) };
        if self.entries.len() as u64 >= MAX_ENTRIES {
            bail!(Limit, "a zip archive of more than {MAX_ENTRIES} entries");
        }
        check_memory()?;
        push(&mut self.entries, (name, entry))?;
        self.at = end;
        Ok(true)
    }

    /// Finds the end of a streamed entry: the mark behind it tells its length and checksum. The file goes on behind that, at a header
    /// where the lengths are wide: else nobody knows whether the mark is whole.
    fn streamed(&mut self, name: Vec<u8>, entry: Entry) -> Result<Option<Found>> {
        let (data, mut last) = (entry.limit, entry.limit);
        if data > self.marks {
            return Ok(None);
        }
        let begins = |at| -> Result<bool> {
            Ok(self.read_there(at, 4)?.is_some_and(|found| [LOCAL, CENTRAL, END, END64].iter().any(|header| found == **header)))
        };
        let found = self.seek(MARK, data, &mut |at| {
            last = at;
            for is_wide in [true, false] {
                let Some(mark) = self.read_there(at, if is_wide { 24 } else { 16 })? else { continue };
                let long = |field: usize| if is_wide { u64_at(&mark, 8 + 8 * field) } else { u32_at(&mark, 8 + 4 * field).into() };
                let whole = Entry { crc: u32_at(&mark, 4), stored: long(0), size: long(1), limit: at, ..entry };
                let end = at + mark.len() as u64;
                if whole.stored == at - data && (if is_wide { begins(end)? } else { end < self.len }) && self.is_whole(&name, &whole)? {
                    return Ok(Some((whole, end)));
                }
            }
            Ok(None)
        })?;
        if found.is_none() {
            self.marks = last;
        }
        Ok(found.map(|(entry, end)| (name, entry, end)))
    }

    /// Goes on behind what cannot be read, which `found` begins: behind the next directory that is whole, or at the next entry that is; `false` if
    /// there is neither.
    fn resume(&mut self, found: &[u8]) -> Result<bool> {
        let is_header = [&LOCAL[..], CENTRAL, END, END64].contains(&found);
        // The length of the entry before may be damaged, and more of them may be in what it seems to have: in compressed ones that does no harm to
        // the value.
        let (from, is_wrong) = match self.entries.last().filter(|_| !is_header) {
            // Writers that do not stream tell of no bytes until they close what they write, which an older value may be there for.
            Some((_, entry)) if entry.flags & STREAMED == 0 && entry.stored == 0 => (entry.header, true),
            Some((name, entry)) if !self.is_whole(name, entry)? => (entry.header, true),
            Some((_, entry)) if entry.method != STORED => (entry.header, false),
            _ => (self.at, false),
        };
        if self.directory_after(from)? {
            return Ok(true);
        }
        let next = self.next_whole(from + 1)?;
        let is_wrong = is_wrong || next.is_some_and(|next| next < self.at);
        if is_wrong {
            (self.at, _) = (from, self.entries.pop());
        }
        self.lost += u64::from(is_wrong || found == LOCAL || (next.is_some() && !is_header));
        self.at = next.unwrap_or(self.at);
        Ok(next.is_some())
    }

    /// Returns where the next entry begins that is whole. The entries of an archive that is a value of this one are not its own.
    fn next_whole(&mut self, from: u64) -> Result<Option<u64>> {
        let mut at = from;
        while let Some(next) = self.seek(LOCAL, at, &mut |at| Ok(Some(at)))? {
            let found = match self.local(next)? {
                Some((name, entry)) if entry.flags & STREAMED != 0 => self.streamed(name, entry)?.is_some(),
                Some((name, entry)) => entry.limit <= self.len && self.is_whole(&name, &entry)?,
                None => false,
            };
            if !found {
                at = next + 1;
                continue;
            }
            match self.end_of_archive(next)? {
                Some(end) => at = end,
                None => return Ok(Some(next)),
            }
        }
        Ok(None)
    }

    /// Returns the end of the whole archive, behind the beginning of this one, that has the entry at a place.
    fn end_of_archive(&mut self, entry: u64) -> Result<Option<u64>> {
        let (known, to) = self.without_end;
        let (known, from) = if (known..to).contains(&entry) { (known, to) } else { (entry, entry) };
        let mut first = None;
        let found = self.seek(END, from, &mut |at| {
            let Some((found, end)) = self.directory_at(at)?.filter(|(found, _)| found.base > 0) else { return Ok(None) };
            first.get_or_insert(at);
            Ok((found.base <= entry).then_some(end))
        })?;
        self.without_end = (known, first.unwrap_or(self.len));
        Ok(found)
    }

    /// Returns the directory whose end record is at a place, and where that ends. Its names need not be keys.
    fn directory_at(&self, at: u64) -> Result<Option<(Directory, u64)>> {
        let Some(record) = self.read_there(at, END_LEN as usize)? else { return Ok(None) };
        let end = at + END_LEN + u64::from(u16_at(&record, 20));
        if end > self.len {
            return Ok(None);
        }
        let found = find(end, &|at, len| self.read(at, len)).and_then(|found| places(&found).map(|_| found));
        match found {
            Ok(found) => Ok(Some((found, end))),
            Err(e) if is_of_system(&e) => Err(e),
            Err(_) => Ok(None),
        }
    }

    /// Goes on behind the next directory that is whole; `false` if no more follows.
    fn directory_after(&mut self, from: u64) -> Result<bool> {
        if from >= self.directories {
            return Ok(false);
        }
        // A directory of an archive inside of an entry counts from there, and does not fit here.
        let found = self.seek(END, from, &mut |at| Ok(self.directory_at(at)?.filter(|(found, _)| found.base == 0)))?;
        let Some((found, end)) = found else {
            self.directories = from;
            return Ok(false);
        };
        (self.listed, self.comment, self.at) = (found.bytes, found.comment, end);
        self.entries.clear();
        Ok(true)
    }

    /// Takes away entries whose data are not those that their headers tell of.
    fn drop_damaged(&mut self) -> Result<()> {
        let before = self.entries.len();
        let mut kept = Vec::new();
        for (name, entry) in std::mem::take(&mut self.entries) {
            if self.is_whole(&name, &entry)? {
                push(&mut kept, (name, entry))?;
            }
        }
        self.lost += (before - kept.len()) as u64;
        self.entries = kept;
        Ok(())
    }

    fn is_whole(&self, name: &[u8], entry: &Entry) -> Result<bool> {
        let Ok(key) = key_of(name, entry.flags) else { return Ok(false) };
        let Some(key) = key else { return Ok(true) };
        let slot = Slot::new(key.into(), *entry, entry.limit - entry.stored);
        if slot.check_readable().is_err() {
            return Ok(true);
        }
        if entry.method != STORED {
            let mut value = Vec::new();
            let most = entry.packing().map_or(2000, Packing::most);
            if entry.size > entry.stored.saturating_mul(most) || slot.check_inflated_size().is_err() {
                return Ok(false);
            }
            return match slot.read_value(self.source, grow(&mut value, entry.size as usize)?) {
                Err(e) if is_of_system(&e) => Err(e),
                read => Ok(read.is_ok()),
            };
        }
        if entry.size != entry.stored {
            return Ok(false);
        }
        let mut crc = libdeflater::Crc::new();
        let mut at = entry.limit - entry.stored;
        while at < entry.limit {
            let piece = self.read(at, (entry.limit - at).min(PIECE as u64) as usize)?;
            crc.update(&piece);
            at += piece.len() as u64;
        }
        Ok(crc.sum() == entry.crc)
    }

    /// The records of what was found, the last of each name.
    fn directory(&self) -> Result<Vec<u8>> {
        let key = |name: &[u8], flags| key_of(name, flags).ok().flatten().map(Arc::<str>::from);
        let mut last: HashMap<Arc<str>, u64> = HashMap::new();
        for (name, entry) in &self.entries {
            check_memory()?;
            reserve_one(&mut last)?;
            key(name, entry.flags).map(|key| last.insert(key, entry.header));
        }
        let mut out = Vec::new();
        let mut add = |bytes: &[u8]| -> Result<()> {
            reserve(&mut out, bytes.len())?;
            out.extend_from_slice(bytes);
            Ok(())
        };
        for record in records(&self.listed) {
            let record = record?;
            if key(record.name, record.entry.flags).is_none_or(|key| !last.contains_key(&key)) {
                add(record.whole)?;
            }
        }
        for (name, entry) in &self.entries {
            if key(name, entry.flags).is_none_or(|key| last.get(&key) == Some(&entry.header)) {
                add(&central_record(entry, name))?;
            }
        }
        Ok(out)
    }
}
