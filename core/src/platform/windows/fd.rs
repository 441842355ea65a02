//! Descriptors: handles of the system, under the names that other systems' have in the standard library.

use super::{locks, nt};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// A handle as a number; -1 where there is no handle.
pub type RawFd = nt::Handle;

/// Leaves a new handle as it is: a program without standard output has no number for it that could be given out.
///
/// # Safety
///
/// There is nothing to keep.
#[inline]
pub unsafe fn off_standard(fd: RawFd) -> RawFd {
    fd
}

/// Holds the standard handles; they are no numbers that another could take.
pub fn hold_standard() {}

/// An open handle, closed when it is dropped.
pub struct OwnedFd(RawFd);

/// A handle that somebody else keeps open.
#[derive(Clone, Copy)]
pub struct BorrowedFd<'a>(RawFd, PhantomData<&'a OwnedFd>);

/// What has an open handle.
pub trait AsFd {
    /// Lends it.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

/// What has the number of a handle.
pub trait AsRawFd {
    /// Tells it.
    fn as_raw_fd(&self) -> RawFd;
}

/// What is made of the number of a handle.
pub trait FromRawFd {
    /// Takes it over.
    ///
    /// # Safety
    /// It is open, and nobody else's.
    unsafe fn from_raw_fd(fd: RawFd) -> Self;
}

/// What gives its handle away.
pub trait IntoRawFd {
    /// Gives it away open.
    fn into_raw_fd(self) -> RawFd;
}

impl OwnedFd {
    /// Makes another handle of the same open file.
    pub fn try_clone(&self) -> std::io::Result<OwnedFd> {
        self.as_fd().try_clone_to_owned()
    }
}

impl BorrowedFd<'_> {
    /// Lends a handle.
    ///
    /// # Safety
    /// It stays open as long as this value is used.
    pub const unsafe fn borrow_raw(fd: RawFd) -> BorrowedFd<'static> {
        BorrowedFd(fd, PhantomData)
    }

    /// Makes another handle of the same open file.
    pub fn try_clone_to_owned(&self) -> std::io::Result<OwnedFd> {
        let mut made = -1;
        // SAFETY: -1 is the handle of this process; `made` is writable.
        let done = unsafe { nt::DuplicateHandle(-1, self.0, -1, &mut made, 0, 0, nt::DUPLICATE_SAME_ACCESS) };
        if done == 0 { Err(std::io::Error::last_os_error()) } else { Ok(OwnedFd(made)) }
    }
}

impl AsFd for OwnedFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        BorrowedFd(self.0, PhantomData)
    }
}

impl AsRawFd for OwnedFd {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl AsRawFd for BorrowedFd<'_> {
    fn as_raw_fd(&self) -> RawFd {
        self.0
    }
}

impl FromRawFd for OwnedFd {
    unsafe fn from_raw_fd(fd: RawFd) -> OwnedFd {
        OwnedFd(fd)
    }
}

impl IntoRawFd for OwnedFd {
    fn into_raw_fd(self) -> RawFd {
        ManuallyDrop::new(self).0
    }
}

impl Drop for OwnedFd {
    fn drop(&mut self) {
        locks::give_back(self.0);
        // SAFETY: owned by this value, used by nobody any more.
        unsafe { nt::CloseHandle(self.0) };
    }
}
