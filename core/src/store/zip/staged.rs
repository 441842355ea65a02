//! Values that come in pieces: they wait in memory while they are small, and in a file without a name when they are not.

use super::ZipStore;
use super::value::{EntryValue, MOST_WAITING, WaitingFile};
use crate::error::{Result, bail, err};
use crate::fork;
use crate::limits::reserve;
use crate::platform::libc;
use crate::store::os::Os;
use crate::store::{Condition, StagedWrite};
use libdeflater::Crc;
use std::sync::{Arc, Weak};

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
                Err(e) if [libc::EACCES, libc::EPERM, libc::EROFS, libc::EDQUOT, libc::ENOSPC].contains(&e.os_errno()) => {
                    self.is_in_memory = true
                }
                made => self.file = Some(made?),
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
        store.put_value(&self.key, &EntryValue::new(self.file.as_ref(), &[&self.rest], crc), Condition::None)
    }
}
