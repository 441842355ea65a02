//! Locks between processes: open-file-description locks on one byte for each key of the hidden file `.ozarr.lock`.

use super::durable::Durability;
use super::path::{KeyPath, LOCK_NAME, Made, make_parents};
use super::temporary::TRIES;
use crate::error::{Result, bail};
use crate::fork::forks;
use crate::store::os::{self, Errno};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Lock bytes of `lock_key` are below this, those of conditional puts above.
pub(super) const LOCK_SPACE: u64 = 1 << 62;

/// Locks one byte of the lock file in `folder`; `None` where the file system has no locks.
pub(super) fn lock_byte(root: BorrowedFd<'_>, folder: &str, byte: u64, durability: &Durability) -> Result<Option<ByteLock>> {
    let path = KeyPath::join(folder, LOCK_NAME);
    for _ in 0..TRIES {
        let fd = match os::open(root, path.as_c(), libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW, 0o666) {
            Ok(fd) => fd,
            Err(Errno(libc::ENOENT)) if !folder.is_empty() => {
                let mut made = Made::new();
                let name = format!("{folder}/{LOCK_NAME}");
                make_parents(root, &name, &mut made)?;
                durability.names_changed(root, &name, &made)?;
                continue;
            }
            Err(e) => return Err(e.error("open the lock file")),
        };
        match os::lock_byte(fd.as_fd(), byte as i64) {
            Ok(()) => {}
            Err(Errno(libc::ENOLCK | libc::ENOTSUP | libc::ENOSYS | libc::EINVAL)) => return Ok(None),
            Err(e) => return Err(e.error("lock")),
        }
        let held = ByteLock { fd, byte: byte as i64, forks: forks() };
        // Whoever erased the folder erased this file; the next ones lock another.
        if os::stat(held.fd.as_fd()).map_err(|e| e.error("stat"))?.st_nlink > 0 {
            return Ok(Some(held));
        }
    }
    bail!(Io, "the lock file vanishes again and again")
}

/// A lock on one byte of a lock file.
pub(super) struct ByteLock {
    fd: OwnedFd,
    byte: i64,
    /// How often this process had been forked by then (see `fork`), which costs no system call.
    forks: u32,
}

impl Drop for ByteLock {
    fn drop(&mut self) {
        // Closing gives the lock back unless a forked child holds the descriptor, too; a child must not give back the
        // parent's.
        if self.forks == forks() {
            let _ = os::unlock_byte(self.fd.as_fd(), self.byte);
        }
    }
}
