//! Values on their way into a zip archive: those that come in pieces wait in memory while they are small, and in a file without a name when they are not.

use super::ZipStore;
use super::written_file::WrittenFile;
use crate::error::{Result, bail, err};
use crate::fork::{self, OwnFile};
use crate::limits::reserve;
use crate::platform::{AsFd, BorrowedFd, libc};
use crate::store::os::{self, Errno, Os};
use crate::store::{Condition, StagedWrite};
use libdeflater::Crc;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

/// The most bytes of a value in pieces that wait in memory.
pub(super) const MOST_WAITING: usize = if cfg!(test) { 64 << 10 } else { 8 << 20 };
/// How much of a file is copied at once.
const PIECE: usize = MOST_WAITING / 8;

/// What an entry is to hold: the bytes of a file, and others behind them.
pub(super) struct Value<'a> {
    file: Option<&'a WaitingFile>,
    parts: &'a [&'a [u8]],
    pub size: u64,
    pub crc: u32,
}

impl<'a> Value<'a> {
    /// A value in memory.
    pub fn of(parts: &'a [&'a [u8]]) -> Value<'a> {
        let mut crc = Crc::new();
        parts.iter().for_each(|part| crc.update(part));
        Value::new(None, parts, crc.sum())
    }

    fn new(file: Option<&'a WaitingFile>, parts: &'a [&'a [u8]], crc: u32) -> Value<'a> {
        let size = file.map_or(0, |file| file.len) + parts.iter().map(|part| part.len() as u64).sum::<u64>();
        Value { file, parts, size, crc }
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
struct WaitingFile {
    file: WrittenFile,
    len: u64,
    /// Of the archive, for messages.
    path: PathBuf,
}

impl WaitingFile {
    fn write(&self, parts: &[&[u8]], at: u64) -> Result<()> {
        self.file.check_own(&self.path)?;
        let failed = |e: Errno| e.error(&format!("write what waits beside the zip archive {}", self.path.display()));
        os::pwrite_all(self.file.as_fd(), parts, at).map_err(failed)
    }

    /// Gives all bytes to `each`, one piece after the other.
    fn read(&self, each: &mut dyn FnMut(&[u8]) -> Os<()>) -> Os<()> {
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

/// A value that comes in pieces.
pub(super) struct StagedValue {
    /// It does not keep the archive open.
    store: Weak<ZipStore>,
    key: String,
    /// What came first, where it is much.
    file: Option<WaitingFile>,
    /// What came last.
    rest: Vec<u8>,
    /// No file could be made: all waits in memory.
    is_in_memory: bool,
    /// The checksum of all; `None` once the first bytes were replaced.
    crc: Option<Crc>,
    process: u32,
}

impl StagedValue {
    pub fn new(store: Weak<ZipStore>, key: &str) -> StagedValue {
        let (key, crc) = (key.to_string(), Some(Crc::new()));
        StagedValue { store, key, file: None, rest: Vec::new(), is_in_memory: false, crc, process: fork::forks() }
    }

    fn store(&self) -> Result<Arc<ZipStore>> {
        if self.process != fork::forks() {
            bail!(Forked, "what is being written belongs to the process before fork");
        }
        self.store.upgrade().ok_or_else(|| err!(State, "the zip archive was closed before the value was whole"))
    }

    /// Puts what waits in memory, and `bytes`, into the file, which is made where there is none; `false` where the archive's folder takes none.
    fn move_to_file(&mut self, bytes: &[u8]) -> Result<bool> {
        let store = self.store()?;
        if self.file.is_none() && !self.is_in_memory {
            match store.waiting_file() {
                Err(e) if [libc::EACCES, libc::EPERM, libc::EROFS].contains(&e.os_errno()) => self.is_in_memory = true,
                made => {
                    let (file, path) = made?;
                    self.file = Some(WaitingFile { file: WrittenFile::of(OwnFile::new(file)), len: 0, path });
                }
            }
        }
        let Some(file) = &mut self.file else { return Ok(false) };
        file.write(&[&self.rest, bytes], file.len)?;
        file.len += (self.rest.len() + bytes.len()) as u64;
        self.rest.clear();
        Ok(true)
    }

    /// The checksum of what is there now.
    fn sum(&self) -> Result<u32> {
        let mut crc = Crc::new();
        if let Some(file) = &self.file {
            let mut update = |piece: &[u8]| -> Os<()> {
                crc.update(piece);
                Ok(())
            };
            file.read(&mut update).map_err(|e| e.error("read what waits beside the zip archive"))?;
        }
        crc.update(&self.rest);
        Ok(crc.sum())
    }
}

impl StagedWrite for StagedValue {
    fn expect(&mut self, _len: u64) {}

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if self.rest.len().saturating_add(bytes.len()) <= MOST_WAITING || !self.move_to_file(bytes)? {
            reserve(&mut self.rest, bytes.len())?;
            self.rest.extend_from_slice(bytes);
        }
        self.crc.iter_mut().for_each(|crc| crc.update(bytes));
        Ok(())
    }

    fn replace_head(&mut self, bytes: &[u8]) -> Result<()> {
        self.store()?;
        let in_file = self.file.as_ref().map_or(0, |file| file.len.min(bytes.len() as u64)) as usize;
        let (first, last) = bytes.split_at(in_file);
        let Some(rest) = self.rest.get_mut(..last.len()) else { bail!(Internal, "a head of {} bytes of a shorter value", bytes.len()) };
        self.crc = None;
        rest.copy_from_slice(last);
        self.file.as_ref().map_or(Ok(()), |file| file.write(&[first], 0))
    }

    fn publish(self: Box<Self>) -> Result<()> {
        let store = self.store()?;
        let crc = self.crc.as_ref().map_or_else(|| self.sum(), |crc| Ok(crc.sum()))?;
        store.put_value(&self.key, &Value::new(self.file.as_ref(), &[&self.rest], crc), Condition::None)
    }
}
