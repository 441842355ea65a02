//! Values on their way into a zip archive: in memory, and in a file without a name.

use super::written_file::WrittenFile;
use crate::error::Result;
use crate::fork::OwnFile;
use crate::limits::reserve;
use crate::platform::{AsFd, BorrowedFd, OwnedFd, libc};
use crate::store::os::{self, Errno, Os};
use libdeflater::Crc;
use std::path::PathBuf;

/// The most bytes of a value in pieces that wait in memory.
pub(super) const MOST_WAITING: usize = if cfg!(test) { 64 << 10 } else { 8 << 20 };
/// How much of a file is copied at once.
const PIECE: usize = MOST_WAITING / 8;

/// What an entry is to hold: the bytes of a file, and others behind them.
pub(super) struct EntryValue<'a> {
    file: Option<&'a WaitingFile>,
    parts: &'a [&'a [u8]],
    pub size: u64,
    pub crc: u32,
}

impl<'a> EntryValue<'a> {
    /// A value in memory.
    pub fn of(parts: &'a [&'a [u8]]) -> EntryValue<'a> {
        let mut crc = Crc::new();
        parts.iter().for_each(|part| crc.update(part));
        EntryValue::new(None, parts, crc.sum())
    }

    /// What waits in a file, and what follows that.
    pub fn new(file: Option<&'a WaitingFile>, parts: &'a [&'a [u8]], crc: u32) -> EntryValue<'a> {
        let size = file.map_or(0, |file| file.len) + parts.iter().map(|part| part.len() as u64).sum::<u64>();
        EntryValue { file, parts, size, crc }
    }

    /// Writes it into a file from an offset on.
    pub fn write(&self, to: BorrowedFd<'_>, mut at: u64) -> Os<()> {
        if let Some(from) = self.file {
            from.read(&mut |piece| {
                os::pwrite_all(to, &[piece], at)?;
                at += piece.len() as u64;
                Ok(())
            })?;
        }
        os::pwrite_all(to, self.parts, at)
    }
}

/// Bytes in a file that nobody else can open. It goes with this.
pub(super) struct WaitingFile {
    file: WrittenFile,
    pub len: u64,
    /// Of the archive, for messages.
    path: PathBuf,
}

impl WaitingFile {
    /// An empty file, for the archive at `path`.
    pub fn new(file: OwnedFd, path: PathBuf) -> WaitingFile {
        WaitingFile { file: WrittenFile::nameless(OwnFile::new(file)), len: 0, path }
    }

    /// Writes over what is there, or behind it.
    pub fn write(&self, parts: &[&[u8]], at: u64) -> Result<()> {
        self.file.check_own(&self.path)?;
        let failed = |e: Errno| e.error(&format!("write what waits beside the zip archive {}", self.path.display()));
        os::pwrite_all(self.file.as_fd(), parts, at).map_err(failed)
    }

    /// Gives all bytes to `each`, one piece after the other.
    pub fn read(&self, each: &mut dyn FnMut(&[u8]) -> Os<()>) -> Os<()> {
        if !self.file.is_own() {
            return Err(Errno(libc::EBADF));
        }
        let (mut at, mut piece) = (0, Vec::new());
        reserve(&mut piece, PIECE).map_err(|_| Errno(libc::ENOMEM))?;
        while at < self.len {
            let room = (self.len - at).min(PIECE as u64) as usize;
            match os::pread(self.file.as_fd(), &mut piece.spare_capacity_mut()[..room], at)? {
                0 => return Err(Errno(libc::EIO)),
                // SAFETY: the call filled `n` bytes of the spare capacity.
                n => unsafe { piece.set_len(n) },
            }
            each(&piece)?;
            at += piece.len() as u64;
            piece.clear();
        }
        Ok(())
    }
}
