//! A value that is written piece by piece into a temporary file.

use super::path::{KeyPath, Made};
use crate::error::{Result, bail, err};
use crate::platform::{AsFd, BorrowedFd, OwnedFd, errno_of, libc};
use crate::store::os::{self, Errno};
use std::mem::MaybeUninit;

/// A value that is written piece by piece into a temporary file, which goes unless it is published.
pub struct StagedFile {
    pub(super) root: OwnedFd,
    pub(super) path: KeyPath,
    /// Taken when it is published.
    pub(super) fd: Option<OwnedFd>,
    pub(super) made: Made,
    pub(super) process: u32,
}

impl StagedFile {
    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        os::write_all(self.open()?, &[bytes]).map_err(|e| e.error("write"))
    }

    /// Replaces the first bytes.
    pub fn replace_head(&mut self, bytes: &[u8]) -> Result<()> {
        os::write_at_start(self.open()?, bytes).map_err(|e| e.error("write"))
    }

    /// Opens what was written once more, to be read whatever becomes of the file.
    pub fn reader(&self) -> Result<StagedReader> {
        let again = self.open()?.try_clone_to_owned();
        Ok(StagedReader(again.map_err(|e| Errno(errno_of(&e).unwrap_or(libc::EIO)).error("keep the file open"))?))
    }

    fn open(&self) -> Result<BorrowedFd<'_>> {
        self.check_process()?;
        self.fd.as_ref().map(|fd| fd.as_fd()).ok_or_else(|| err!(Internal, "the staged file was published before"))
    }

    /// Refuses a file that another process began.
    pub(super) fn check_process(&self) -> Result<()> {
        if self.process != std::process::id() {
            bail!(Forked, "what is being written belongs to the process before fork");
        }
        Ok(())
    }
}

/// Reads a file that was staged, also once it was published or is gone.
pub struct StagedReader(OwnedFd);

impl StagedReader {
    /// Reads the first bytes.
    pub fn read(&self, into: &mut [u8]) -> Result<()> {
        let mut at = 0;
        while at < into.len() {
            // SAFETY: initialised bytes may be written as uninitialised ones, and `pread` only writes.
            let rest = unsafe { &mut *(&raw mut into[at..] as *mut [MaybeUninit<u8>]) };
            match os::pread(self.0.as_fd(), rest, at as u64).map_err(|e| e.error("read"))? {
                0 => bail!(Truncated, "the staged file has {at} bytes of {}", into.len()),
                read => at += read,
            }
        }
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // A child of fork must not remove what the parent still writes.
        if self.fd.is_some() && self.process == std::process::id() {
            let _ = os::unlink(self.root.as_fd(), self.path.as_c());
        }
    }
}
