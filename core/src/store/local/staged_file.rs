//! A value that is written piece by piece into a temporary file.

use super::path::{KeyPath, Made};
use crate::error::{Result, bail, err};
use crate::platform::{AsFd, BorrowedFd, OwnedFd};
use crate::store::os;

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

impl Drop for StagedFile {
    fn drop(&mut self) {
        // A child of fork must not remove what the parent still writes.
        if self.fd.is_some() && self.process == std::process::id() {
            let _ = os::unlink(self.root.as_fd(), self.path.as_c());
        }
    }
}
