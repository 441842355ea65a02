//! A value that is written piece by piece into a temporary file.

use super::path::{KeyPath, Made, remove_made};
use crate::error::{Result, bail, err};
use crate::platform::{AsFd, BorrowedFd, OwnedFd};
use crate::store::os;

/// A value that is written piece by piece into a temporary file, which goes unless it is published.
pub struct StagedFile {
    pub(super) root: OwnedFd,
    /// How many folders had been the root of the store before this one.
    pub(super) roots: u32,
    pub(super) path: KeyPath,
    /// Taken when it is published.
    pub(super) fd: Option<OwnedFd>,
    /// The folders that were made for the file. They go with it where nothing else has come into them.
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
        // Closed first: NFS keeps an open file under another name, and with it the folder. A child of fork must not remove what the parent still writes.
        let is_open = self.fd.take().is_some();
        if is_open && self.process == std::process::id() {
            let _ = os::unlink(self.root.as_fd(), self.path.as_c());
            remove_made(self.root.as_fd(), self.path.as_c().to_str().unwrap_or_default(), &self.made);
        }
    }
}
