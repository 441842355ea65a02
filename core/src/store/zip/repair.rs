//! Making an archive of a file whose writer died: the last directory that is whole, and every whole entry behind it.

use super::ZipStore;
use super::directory::*;
use super::read::{ArchiveBytes, Slot};
use super::write::{LOCK_BYTE, central_record, end_records};
use crate::codec::Packing;
use crate::error::{Result, bail, err};
use crate::limits::{grow, reserve};
use crate::platform::{AsFd, OwnedFd, libc};
use crate::store::Object;
use crate::store::file_object::FileObject;
use crate::store::file_options::SyncMode;
use crate::store::local::path::c_path;
use crate::store::os::{self, CWD, Errno};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

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
    let file = os::open(CWD, &c_path(path)?, libc::O_RDWR | libc::O_NOCTTY, 0).map_err(|e| e.error(&format!("open {}", path.display())))?;
    match os::try_lock_byte(file.as_fd(), LOCK_BYTE) {
        Err(Errno(libc::EAGAIN)) => bail!(Conflict, "{} is being written by another program", path.display()),
        _ => repair_file(path, &file),
    }
}

fn repair_file(path: &Path, file: &OwnedFd) -> Result<Repaired> {
    let keys = |store: &ZipStore| store.content.read(|content| content.map.len() as u64);
    match ZipStore::open(path, false, SyncMode::None) {
        Ok(store) => return Ok(Repaired { keys: keys(&store), lost: 0, cut: 0, changed: false }),
        Err(e) if e.os_errno() != 0 => return Err(e),
        Err(_) => {}
    }
    let reader = file.try_clone().map_err(|e| err!(Io, "duplicate the descriptor: {e}"))?;
    let source = ArchiveBytes::Near(Object::File(FileObject::new(reader)));
    let len = os::stat(file.as_fd()).map_err(|e| e.error("stat"))?.st_size as u64;
    let mut scan = Scan { source: &source, len, at: 0, listed: Vec::new(), entries: Vec::new(), lost: 0 };
    scan.run()?;
    // One whose writer died in its first entry, or before it, becomes an empty archive.
    let begun = scan.at == 0 && LOCAL.starts_with(&scan.read(0, len.min(LOCAL.len() as u64) as usize)?);
    if scan.entries.is_empty() && scan.listed.is_empty() && !begun {
        bail!(Metadata, "{} has no whole zip entry: there is nothing to repair", path.display());
    }
    let records = scan.directory()?;
    let count = super::directory::records(&records).count() as u64;
    let end = end_records(count, records.len() as u64, scan.at)?;
    let new_len = scan.at + (records.len() + end.len()) as u64;
    os::pwrite_all(file.as_fd(), &[&records, &end], scan.at).map_err(|e| e.error("write the directory of the zip archive"))?;
    os::truncate(file.as_fd(), new_len).map_err(|e| e.error("truncate"))?;
    os::fdatasync(file.as_fd()).map_err(|e| e.error("sync"))?;
    let store = ZipStore::open(path, false, SyncMode::None)?;
    Ok(Repaired { keys: keys(&store), lost: scan.lost, cut: len.saturating_sub(scan.at), changed: true })
}

/// A walk from header to header.
struct Scan<'a> {
    source: &'a ArchiveBytes,
    len: u64,
    /// All before this is whole.
    at: u64,
    /// The records of the last whole directory.
    listed: Vec<u8>,
    /// What follows it: names as they are stored, and entries.
    entries: Vec<(Vec<u8>, Entry)>,
    lost: u64,
}

impl Scan<'_> {
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if at.checked_add(len as u64).is_none_or(|end| end > self.len) {
            bail!(Truncated, "found {} bytes, expected {len} at {at}", self.len);
        }
        self.source.read(at, grow(&mut bytes, len)?)?;
        Ok(bytes)
    }

    fn run(&mut self) -> Result<()> {
        while self.len - self.at >= 4 {
            let found = self.read(self.at, 4)?;
            let more = match found.first_chunk() {
                Some(LOCAL) => self.entry()?,
                Some(CENTRAL | END | END64) => self.directory_after(self.at)?,
                _ => false,
            };
            if !more {
                break;
            }
        }
        self.drop_damaged()
    }

    /// Takes the entry at the present place; `false` if it is not whole.
    fn entry(&mut self) -> Result<bool> {
        let Ok(header) = self.read(self.at, LOCAL_LEN as usize) else { return Ok(self.torn()) };
        let (name_len, extra_len) = (u16_at(&header, 26), u16_at(&header, 28));
        let rest = usize::from(name_len) + usize::from(extra_len);
        let Ok(rest) = self.read(self.at + LOCAL_LEN, rest) else { return Ok(self.torn()) };
        let (name, extra) = rest.split_at(usize::from(name_len));
        let mut entry = Entry {
            header: self.at,
            stored: u32_at(&header, 18).into(),
            size: u32_at(&header, 22).into(),
            crc: u32_at(&header, 14),
            method: u16_at(&header, 8),
            flags: u16_at(&header, 6),
            name_len,
            is_link: false,
            limit: 0,
        };
        if entry.flags & STREAMED != 0 {
            // Only a directory knows how long it is.
            return self.directory_after(self.at);
        }
        let data = self.at + LOCAL_LEN + rest.len() as u64;
        let end = read_zip64(&mut entry, extra).and_then(|()| data.checked_add(entry.stored));
        let Some(end) = end.filter(|&end| end <= self.len) else { return Ok(self.torn()) };
        entry.limit = end;
        if self.entries.len() as u64 >= MAX_ENTRIES {
            bail!(Limit, "a zip archive of more than {MAX_ENTRIES} entries");
        }
        self.entries.push((name.to_vec(), entry));
        self.at = end;
        Ok(true)
    }

    fn torn(&mut self) -> bool {
        self.lost += 1;
        false
    }

    /// Goes on behind the next directory that is whole; `false` if no more follows.
    fn directory_after(&mut self, from: u64) -> Result<bool> {
        let mut at = from;
        while at < self.len {
            let take = (self.len - at).min(PIECE as u64 + 3) as usize;
            let piece = self.read(at, take)?;
            for (offset, _) in piece.windows(4).enumerate().filter(|(_, w)| w == END) {
                let here = at + offset as u64;
                let Ok(record) = self.read(here, END_LEN as usize) else { break };
                let end = here + END_LEN + u64::from(u16_at(&record, 20));
                if end > self.len {
                    continue;
                }
                let found = find(end, &|at, len| self.read(at, len));
                let Ok(found) = found.and_then(|found| entries(&found, &mut |_, _| {}).map(|()| found)) else { continue };
                // A directory of an archive inside of an entry counts from there, and does not fit here.
                if found.base != 0 {
                    continue;
                }
                (self.listed, self.at) = (found.bytes, end);
                self.entries.clear();
                return Ok(true);
            }
            at += PIECE as u64;
        }
        self.lost += u64::from(from == self.at && self.read(from, 4)? == LOCAL);
        Ok(false)
    }

    /// Takes away entries whose data are not those that their headers tell of.
    fn drop_damaged(&mut self) -> Result<()> {
        let before = self.entries.len();
        let mut kept = Vec::new();
        for (name, entry) in std::mem::take(&mut self.entries) {
            if self.is_whole(&name, &entry)? {
                kept.push((name, entry));
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
            return Ok(entry.size <= entry.stored.saturating_mul(most)
                && slot.check_inflated_size().is_ok()
                && slot.read_value(self.source, grow(&mut value, entry.size as usize)?).is_ok());
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
            key(name, entry.flags).map(|key| last.insert(key, entry.header));
        }
        let mut out = Vec::new();
        let mut push = |bytes: &[u8]| -> Result<()> {
            reserve(&mut out, bytes.len())?;
            out.extend_from_slice(bytes);
            Ok(())
        };
        for record in records(&self.listed) {
            let record = record?;
            if key(record.name, record.entry.flags).is_none_or(|key| !last.contains_key(&key)) {
                push(record.whole)?;
            }
        }
        for (name, entry) in &self.entries {
            if key(name, entry.flags).is_none_or(|key| last.get(&key) == Some(&entry.header)) {
                push(&central_record(entry, name))?;
            }
        }
        Ok(out)
    }
}
