//! Writing a zip archive: entries are appended, stored as they are, and the directory goes behind them when the store is flushed.
//!
//! No entry is ever written over. A directory that is there keeps its place when entries follow, and is dead once a newer one ends the
//! file; or they take its place, where else the dead ones would have more bytes than the entries, and these tell all that it tells. So from the
//! first put until the flush the file has no end record at its end; whoever opens it then is told so, and `repair` makes an archive of
//! what is whole. If flushing fails to the last, the file is cut back to what it was at the flush before, its directory put back. A header tells
//! size and checksum before the data come.

use super::directory::*;
use super::read::Slot;
use super::records::{Old, appended, central_record, end_records, is_told_by_entries, local_header, with_comment};
use super::value::EntryValue;
use super::written_file::{WrittenFile, sync_folder};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::fork::{self, ForkPreserved};
use crate::limits::reserve;
use crate::platform::{AsFd, BorrowedFd, libc};
use crate::store::file_object::{FileObject, stamp_of};
use crate::store::file_options::{FileOptions, LockMode, SyncMode};
use crate::store::local::path::c_path;
use crate::store::os::{self, CWD, Errno};
use crate::store::stamp::{Stamp, nanos_now};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// How much of a directory is written at once.
const PIECE: usize = 1 << 20;

/// The end of an archive's file. Used by the process that made it only: its locks are never touched in a child of `fork`.
pub(super) struct Writer {
    file: WrittenFile,
    path: PathBuf,
    /// The strictest that the handles on it ask for.
    files: Arc<ForkPreserved<FileOptions>>,
    /// The error with which the file system refused the lock, 0 if it did not.
    lock_refused: i32,
    process: u32,
    /// The records of the directory that the file had when it was opened, those that are no keys among them.
    old: Vec<u8>,
    /// The comment that the archive had.
    comment: Vec<u8>,
    /// Where the first entry of this writer begins.
    from: u64,
    end: Mutex<End>,
    /// Read side: a put from beginning to end. Write side: a flush.
    turns: RwLock<()>,
    dirty: AtomicBool,
}

struct End {
    /// Where the next bytes go.
    at: u64,
    /// Where the file ended when a directory ended it for the last time; 0 if none ever did.
    finished: u64,
    /// Where that directory begins.
    directory: u64,
    /// What it was, while entries have its place.
    replaced: Vec<u8>,
    /// Whether a repair makes the same one of what is before it.
    is_replaceable: bool,
    /// Something before the end would be taken by a repair for an entry, and may not be listed.
    keeps_directory: bool,
    /// The bytes of those before it that keep their places, and of what else is dead.
    dead: u64,
    /// There may be other bytes where it ended the file, or behind.
    overwritten: bool,
    /// How far this writer may have made the file.
    reach: u64,
    /// Another program has changed it.
    changed: bool,
    /// The first failed sync: something that was put may be lost.
    failure: Option<Error>,
}

impl End {
    /// Where what was flushed and is there still ends.
    fn kept(&self) -> u64 {
        if self.replaced.is_empty() { self.finished } else { self.directory }
    }
}

impl Writer {
    /// Whether the file is the one at `path`, and no other program has appended to it where that can be told.
    pub fn is_at_unchanged(&self, path: &Path) -> Result<bool> {
        // The writer that has the end writes.
        let Ok(mut end) = self.end.try_lock() else { return self.is_at(path) };
        let is_own = (!end.changed && end.overwritten) || self.is_unchanged(&mut end);
        Ok(is_own && self.is_at(path)?)
    }

    /// Whether the file still has its name.
    fn is_at(&self, path: &Path) -> Result<bool> {
        let Some(there) = look_at(path)? else { return Ok(false) };
        let own = os::stat(self.file.as_fd()).map_err(|e| e.error("stat"))?;
        Ok(os::is_same(&there, &own))
    }

    /// Opens the archive at `path` for appending, or makes it. `as_read` is the file that the directory was read from, and what it was like;
    /// `None` if there was none, or an empty one.
    pub fn open(path: &Path, files: Arc<ForkPreserved<FileOptions>>, as_read: Option<(&FileObject, &Old)>) -> Result<Writer> {
        let file = WrittenFile::open(path, as_read.is_none(), files.read(|files| files.sync))?;
        let lock_refused = file.lock(path)?;
        let now = os::stat(file.as_fd()).map_err(|e| e.error("stat"))?;
        let none = Old::default();
        let old = as_read.map_or(&none, |(_, old)| old);
        let at = old.len;
        let is_same = match as_read {
            Some((object, _)) => object.is_file(&now)?,
            None => true,
        };
        if !is_same || now.st_size != at as i64 {
            return Err(changed(path));
        }
        let mut kept = Vec::new();
        reserve(&mut kept, old.records.len())?;
        kept.extend_from_slice(&old.records);
        let end = Mutex::new(End {
            at,
            finished: at,
            directory: old.directory,
            replaced: Vec::new(),
            is_replaceable: old.comment.is_empty() && is_told_by_entries(&old.records),
            keeps_directory: false,
            dead: old.dead(),
            overwritten: false,
            reach: at,
            changed: false,
            failure: None,
        });
        let process = fork::forks();
        let (path, turns, dirty) = (path.to_path_buf(), RwLock::default(), AtomicBool::new(false));
        let writer = Writer {
            file,
            path,
            files,
            lock_refused,
            process,
            old: kept,
            comment: appended(&old.comment),
            from: old.directory,
            end,
            turns,
            dirty,
        };
        writer.refusal().map(|_| writer)
    }

    /// Gives the error with which the file system refused the lock, if that is to be told; fails where the lock is required.
    pub fn refusal(&self) -> Result<i32> {
        match self.files.read(|files| files.lock) {
            LockMode::Require if self.lock_refused != 0 => {
                Err(Errno(self.lock_refused).error("the file system has no locks, which \"file.lock\" requires: lock"))
            }
            LockMode::Require | LockMode::Try => Ok(self.lock_refused),
            LockMode::None => Ok(0),
        }
    }

    /// The error of a call on the file.
    fn failed(&self, what: &str, e: Errno) -> Error {
        e.error(&format!("{what} the zip archive {}", self.path.display()))
    }

    /// Makes durable that the file has its name.
    pub fn sync_folder(&self) -> Result<()> {
        sync_folder(&self.path)
    }

    /// The file, for reading what was put.
    pub fn reader(&self) -> Result<FileObject> {
        open_to_read(&self.path, self.file.as_fd())
    }

    fn sync_mode(&self) -> SyncMode {
        self.files.read(|files| files.sync)
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends an entry of that name and lets `publish` tell the readers of it and of where its data begin. If that fails, the
    /// bytes stay, are never listed, and are no entry to a repair.
    pub fn append(&self, name: &str, value: &EntryValue<'_>, publish: impl FnOnce(Entry, u64) -> Result<()>) -> Result<()> {
        let _turn = self.turns.read().unwrap_or_else(PoisonError::into_inner);
        let (header_at, header) = {
            let mut end = self.end();
            if end.overwritten {
                self.file.check_own(&self.path)?;
            } else {
                self.check_unchanged(&mut end)?;
                self.replace_directory(&mut end)?;
            }
            let mut entry = Entry {
                header: end.at,
                stored: value.size,
                size: value.size,
                crc: value.crc,
                method: STORED,
                flags: if name.is_ascii() { 0 } else { UTF8 },
                name_len: u16::try_from(name.len()).map_err(|_| err!(Limit, "the name of a zip entry has {} bytes", name.len()))?,
                is_link: false,
                limit: 0,
            };
            let header = local_header(&entry, name);
            let data = end.at + header.len() as u64;
            entry.limit = data.checked_add(value.size).ok_or_else(|| err!(Limit, "the zip archive would exceed 2^64 bytes"))?;
            // From here on the file has no end record at its end.
            (end.overwritten, end.reach) = (true, end.reach.max(entry.limit));
            os::pwrite_all(self.file.as_fd(), &[&header], end.at).map_err(|e| self.failed("write", e))?;
            end.at = entry.limit;
            (entry, data)
        };
        let written = value.write(self.file.as_fd(), header).map_err(|e| self.failed("write", e));
        let synced = written.and_then(|()| if self.sync_mode() == SyncMode::Each { self.sync(&mut self.end()) } else { Ok(()) });
        let published = synced.and_then(|()| publish(header_at, header));
        match published {
            Ok(()) => self.dirty.store(true, Ordering::Release),
            Err(_) => self.disown(&header_at),
        }
        published
    }

    /// Makes an entry that nobody is told of one that a repair drops: else it would stand there for an older value of its key.
    fn disown(&self, entry: &Entry) {
        let mut end = self.end();
        if !self.file.is_own() {
            return;
        }
        // Of its checksum, where it is in the header.
        let spoilt = os::pwrite_all(self.file.as_fd(), &[&(!entry.crc).to_le_bytes()], entry.header + 14);
        end.keeps_directory |= spoilt.is_err();
        if end.at == entry.limit {
            end.at = entry.header;
        }
    }

    /// Has the next entry take the place of the last directory, where that may not stay: those that do have no more bytes than the entries. It
    /// is kept in memory, to be put back if no newer one can be written.
    fn replace_directory(&self, end: &mut End) -> Result<()> {
        let size = end.finished - end.directory;
        if !end.is_replaceable || end.dead + size <= end.directory - end.dead {
            return Ok(());
        }
        let directory = self.read_directory(end.directory, size)?;
        os::truncate(self.file.as_fd(), end.directory).map_err(|e| self.failed("truncate", e))?;
        (end.at, end.replaced, end.overwritten) = (end.directory, directory, true);
        Ok(())
    }

    fn read_directory(&self, at: u64, size: u64) -> Result<Vec<u8>> {
        let size = usize::try_from(size).map_err(|_| err!(Limit, "the directory of the zip archive has {size} bytes"))?;
        let mut bytes = Vec::new();
        reserve(&mut bytes, size)?;
        while bytes.len() < size {
            let (done, room) = (bytes.len(), bytes.spare_capacity_mut());
            let rest = &mut room[..size - done];
            match os::pread(self.file.as_fd(), rest, at + done as u64).map_err(|e| self.failed("read the directory of", e))? {
                0 => return Err(changed(&self.path)),
                // SAFETY: the call filled `n` bytes of the spare capacity.
                n => unsafe { bytes.set_len(done + n) },
            }
        }
        Ok(bytes)
    }

    /// Writes the directory of all that was put, if anything was since the last time. `slots` gives the present entries.
    pub fn finish(&self, slots: impl FnOnce() -> Result<Vec<Arc<Slot>>>) -> Result<()> {
        if self.process != fork::forks() {
            return Ok(());
        }
        let _all = self.turns.write().unwrap_or_else(PoisonError::into_inner);
        let mut end = self.end();
        if self.dirty.load(Ordering::Acquire) {
            self.check_unchanged(&mut end)?;
            let mut slots = slots()?;
            slots.sort_unstable_by_key(|slot| slot.entry.header);
            let fd = self.file.as_fd();
            self.sync(&mut end)?;
            let mut out = ZipAppender { writer: self, at: end.at, piece: Vec::new() };
            let count = self.write_records(&slots, &mut out);
            end.reach = end.reach.max(out.reach());
            let (count, size) = (count?, out.reach() - end.at);
            out.piece.extend_from_slice(&with_comment(end_records(count, size, end.at)?, &self.comment));
            end.reach = end.reach.max(out.reach());
            out.write()?;
            let at = out.at;
            if end.overwritten {
                os::truncate(fd, at).map_err(|e| self.failed("truncate", e))?;
                end.overwritten = false;
            }
            if std::mem::take(&mut end.replaced).is_empty() {
                end.dead += end.finished - end.directory;
            }
            // A repair takes an entry of nothing for one that was begun, unless something follows it.
            let is_begun = slots.last().is_some_and(|slot| slot.entry.stored == 0);
            (end.directory, end.is_replaceable) = (end.at, !end.keeps_directory && !is_begun);
            (end.at, end.finished, end.reach) = (at, at, at);
            self.dirty.store(false, Ordering::Release);
            self.sync(&mut end)?;
            self.check_named(&mut end);
        }
        self.cut_back(&mut end)?;
        end.failure.clone().map_or(Ok(()), Err)
    }

    /// Cuts off what follows the last directory, or has its place, of puts that failed or that no directory could be written for.
    fn cut_back(&self, end: &mut End) -> Result<()> {
        if end.overwritten {
            self.check_unchanged(end)?;
            let kept = end.kept();
            os::truncate(self.file.as_fd(), kept).map_err(|e| self.failed("truncate", e))?;
            end.at = kept;
            if !end.replaced.is_empty() {
                os::pwrite_all(self.file.as_fd(), &[&end.replaced], kept).map_err(|e| self.failed("write the directory of", e))?;
                self.sync(end)?;
                end.replaced = Vec::new();
            }
            (end.at, end.reach, end.overwritten) = (end.finished, end.finished, false);
        }
        Ok(())
    }

    /// Refuses to write over what another program has appended since this writer's last directory, or behind what it has cut off, and keeps that as
    /// a failure.
    fn check_unchanged(&self, end: &mut End) -> Result<()> {
        if let Err(e) = self.file.check_own(&self.path) {
            return Err(end.failure.get_or_insert(e).clone());
        }
        if !self.is_unchanged(end) {
            end.failure.get_or_insert_with(|| changed(&self.path));
            return Err(changed(&self.path));
        }
        Ok(())
    }

    /// Whether the file has what this writer has written, and no more. If not the lock is given back: this writer writes nothing more. Where the file
    /// cannot be looked at nothing is known.
    fn is_unchanged(&self, end: &mut End) -> bool {
        let is_own = |own: libc::stat| (end.kept()..=end.reach).contains(&(own.st_size as u64));
        if !end.changed && !os::stat(self.file.as_fd()).map_or(true, is_own) {
            end.changed = true;
            self.file.unlock();
        }
        !end.changed
    }

    /// Notes as a failure that the file was removed: what was put is gone with the last descriptor of it. File systems that count no names seem to
    /// have removed all. Where it cannot be looked at nothing is known.
    fn check_named(&self, end: &mut End) {
        let seems_removed = os::stat(self.file.as_fd()).is_ok_and(|own| own.st_nlink == 0);
        if seems_removed && self.is_at(&self.path).is_ok_and(|is_there| !is_there) {
            end.failure.get_or_insert_with(|| err!(Io, "the archive {} was removed while it was open", self.path.display()));
        }
    }

    /// Makes durable what was written, unless the mode is `none`. A failure is kept for all later flushes.
    fn sync(&self, end: &mut End) -> Result<()> {
        if self.sync_mode() == SyncMode::None {
            return Ok(());
        }
        os::fdatasync(self.file.as_fd()).map_err(|e| {
            let error = self.failed("sync", e);
            end.failure.get_or_insert_with(|| error.clone());
            error
        })
    }

    /// The records of what is listed still: those of the old directory that nothing has replaced, and this writer's.
    fn write_records(&self, slots: &[Arc<Slot>], out: &mut ZipAppender<'_>) -> Result<u64> {
        let mut count = 0;
        for record in records(&self.old) {
            let record = record?;
            let is_key = key_of(record.name, record.entry.flags)?.is_some();
            if !is_key || slots.binary_search_by_key(&record.entry.header, |slot| slot.entry.header).is_ok() {
                out.push(record.whole)?;
                count += 1;
            }
        }
        for slot in slots.iter().filter(|slot| slot.entry.header >= self.from) {
            out.push(&central_record(&slot.entry, slot.name.as_bytes()))?;
            count += 1;
        }
        Ok(count)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A child must not give back the parent's.
        if self.process == fork::forks() {
            let mut end = self.end();
            // A new archive is kept for a repair: nothing older could be read in its place. Of one without a whole entry nothing is kept.
            if end.finished > 0 || end.at == 0 {
                let _ = self.cut_back(&mut end);
            }
            drop(end);
            self.file.unlock();
        }
    }
}

/// Bytes on their way to the end of the file, in large pieces.
struct ZipAppender<'a> {
    writer: &'a Writer,
    at: u64,
    piece: Vec<u8>,
}

impl ZipAppender<'_> {
    /// Where the file ends once all is written.
    fn reach(&self) -> u64 {
        self.at + self.piece.len() as u64
    }

    fn push(&mut self, bytes: &[u8]) -> Result<()> {
        reserve(&mut self.piece, bytes.len())?;
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<()> {
        os::pwrite_all(self.writer.file.as_fd(), &[&self.piece], self.at).map_err(|e| self.writer.failed("write the directory of", e))?;
        self.at += self.piece.len() as u64;
        self.piece.clear();
        Ok(())
    }
}

fn changed(path: &Path) -> Error {
    err!(Conflict, "{} was changed by another program since it was opened; open it again", path.display())
}

/// What is known of the file at a path, or `None` if nothing is there.
pub(super) fn look_at(path: &Path) -> Result<Option<libc::stat>> {
    match os::stat_at(CWD, &c_path(path)?, true) {
        Err(Errno(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
        there => there.map(Some).map_err(|e| e.error(&format!("look at {}", path.display()))),
    }
}

/// The error of an archive that could not be read: where its file is not what it was before, a writer may have put an entry in the place of its directory
/// meanwhile.
pub(super) fn while_written(e: Error, path: &Path, seen: &Stamp) -> Error {
    let moment = nanos_now();
    let is_same = || look_at(path).map_or(true, |there| there.is_some_and(|st| stamp_of(&st, moment) == *seen));
    if e.kind() == ErrorKind::NoMemory || e.os_errno() != 0 || is_same() {
        return e;
    }
    err!(Truncated, "the zip archive {} was changed while it was read: {UNFINISHED}", path.display())
}

/// Opens a file that is locked once more, for reading: a child of `fork` has what it reads by, and would keep the lock by a duplicate.
pub(super) fn open_to_read(path: &Path, locked: BorrowedFd<'_>) -> Result<FileObject> {
    let opened = os::open(CWD, &c_path(path)?, libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK, 0);
    let reader = FileObject::new(opened.map_err(|e| e.error(&format!("open {}", path.display())))?);
    if !reader.is_file(&os::stat(locked).map_err(|e| e.error("stat"))?)? {
        bail!(Conflict, "{} was replaced by another program just now", path.display());
    }
    Ok(reader)
}
