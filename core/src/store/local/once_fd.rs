//! A descriptor that is opened when it is first needed, and kept.

use crate::platform::{AsFd, AsRawFd, AtomicFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use crate::store::os::{self, Os};
use std::sync::atomic::Ordering;

/// A descriptor of a folder (`O_DIRECTORY`) that is opened once and closed with its owner. Setting it takes no lock, which a fork might leave taken.
pub struct OnceFd(AtomicFd);

impl OnceFd {
    /// None yet.
    pub const fn new() -> OnceFd {
        OnceFd(AtomicFd::new(-1))
    }

    /// The descriptor, if there is one.
    #[inline]
    pub fn get(&self) -> Option<BorrowedFd<'_>> {
        match self.0.load(Ordering::Acquire) {
            -1 => None,
            // SAFETY: an open descriptor that is closed only when `self` is dropped.
            fd => Some(unsafe { BorrowedFd::borrow_raw(fd) }),
        }
    }

    /// Makes the descriptor that is kept one of what `fd` is of, at once for all threads. One that is the program's by now is left to it.
    pub fn replace(&self, fd: OwnedFd) -> Os<()> {
        match self.get() {
            None => drop(self.set(fd)),
            Some(old) if os::is_no_folder(old) => self.0.store(fd.into_raw_fd(), Ordering::Release),
            Some(_) => os::replace(fd.as_fd(), &self.0)?,
        }
        Ok(())
    }

    /// Keeps `fd`, or closes it and gives the one that another thread has set meanwhile.
    pub fn set(&self, fd: OwnedFd) -> BorrowedFd<'_> {
        let fd = match self.0.compare_exchange(-1, fd.as_raw_fd(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => fd.into_raw_fd(),
            Err(other) => other,
        };
        // SAFETY: an open descriptor that is closed only when `self` is dropped.
        unsafe { BorrowedFd::borrow_raw(fd) }
    }
}

impl Drop for OnceFd {
    fn drop(&mut self) {
        let fd = *self.0.get_mut();
        // SAFETY: it is open, or closed by the program, and then only looked at.
        if fd != -1 && !os::is_no_folder(unsafe { BorrowedFd::borrow_raw(fd) }) {
            // SAFETY: owned by `self`, used by nobody any more.
            drop(unsafe { OwnedFd::from_raw_fd(fd) });
        }
    }
}
