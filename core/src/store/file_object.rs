//! One open file as an opened object: read whole or in part by as few calls as can be.

use super::os::{self, EntryKind, Errno};
use super::stamp::{Stamp, Version, is_settled_at, nanos_now};
use crate::error::{Result, bail};
use crate::limits::{check_exact, reserve};
use crate::platform::{AsFd, OwnedFd, libc};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::OnceLock;

/// The least room that a whole read offers at first.
pub(super) const FIRST_READ: usize = 64 << 10;

/// What a file is like that looks so, in a look that began at a `moment` ([`nanos_now`]).
pub(super) fn stamp_of(st: &libc::stat, moment: u64) -> Stamp {
    let nanos = |s: i64, ns: i64| (s as u64).wrapping_mul(1_000_000_000).wrapping_add(ns as u64);
    let (modified, changed) = (nanos(st.st_mtime, st.st_mtime_nsec), nanos(st.st_ctime, st.st_ctime_nsec));
    #[allow(clippy::unnecessary_cast)] // They have fewer bits elsewhere.
    let (names, device) = (st.st_nlink as u64, st.st_dev as u64);
    let (state, settled) = ([names, modified, st.st_ino, device], is_settled_at(moment, changed));
    Stamp { len: st.st_size.max(0) as u64, current: names != 0, state, changed, settled }
}

/// An error of what is no file.
pub(super) fn check_is_file(st: &libc::stat) -> Result<()> {
    match EntryKind::of(st) {
        EntryKind::File => Ok(()),
        EntryKind::Folder => Err(Errno(libc::EISDIR).error("read")),
        _ => bail!(Io, "the key names neither a file nor a folder"),
    }
}

impl Drop for FileObject {
    #[inline]
    fn drop(&mut self) {
        if !self.is_another {
            // SAFETY: the descriptor is used no more.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        }
    }
}

/// An open file: one value of a key, which later puts do not change (they make new files).
pub struct FileObject {
    fd: ManuallyDrop<OwnedFd>,
    version: OnceLock<Version>,
    /// The program has closed the descriptor, and opened another file by its number.
    is_another: bool,
}

#[allow(clippy::len_without_is_empty)] // emptiness is no question here
impl FileObject {
    /// An open file as one value.
    pub(super) fn new(fd: OwnedFd) -> FileObject {
        FileObject { fd: ManuallyDrop::new(fd), version: OnceLock::new(), is_another: false }
    }

    /// Leaves the descriptor open if it is another file's by now, as far as that can be told: that of one that is kept open long may be, in a program
    /// that closes all descriptors.
    pub(super) fn forget_another(&mut self) {
        let now = os::numbers_known(self.fd.as_fd());
        self.is_another = self.version.get().zip(now).is_some_and(|(version, [_, now])| version.words[1] != now);
    }

    /// Says whether it is the file that `st` tells of.
    pub(super) fn is_file(&self, st: &libc::stat) -> Result<bool> {
        let own = os::stat(self.fd.as_fd()).map_err(|e| e.error("stat"))?;
        Ok(os::is_same(&own, st))
    }

    /// Reads exactly `buf.len()` bytes from `offset`; an early end is `Truncated`.
    pub fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let expected = buf.len();
        let mut done = 0;
        while done < expected {
            // SAFETY: bytes that are initialised may be seen as maybe-initialised; the call only writes to them.
            let rest = unsafe { &mut *(&raw mut buf[done..] as *mut [MaybeUninit<u8>]) };
            match os::pread(self.fd.as_fd(), rest, offset.saturating_add(done as u64)).map_err(|e| e.error("read"))? {
                0 => bail!(Truncated, "found {done} bytes at offset {offset}, expected {expected}"),
                n => done += n,
            }
        }
        Ok(())
    }

    /// Reads the whole file into `buf`, whose length becomes the file's; more than `max` bytes are `Limit`.
    /// Only a read of no bytes is the end: FUSE, NFS and Lustre may give less than was asked for.
    #[inline]
    pub fn read_whole(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        self.read_until(buf, max, |n, _| n == 0)
    }

    /// Reads the whole file as [`read_whole`](Self::read_whole) does, but takes a read that gives less than was asked for as the end: a system
    /// call less for each chunk. For encoded bytes only, whose codecs find out when some are missing.
    pub fn read_encoded(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        self.read_until(buf, max, |n, room| n < room.min(os::MAX_RW))
    }

    /// Reads from the beginning until `is_end` says so of a read's bytes, given how many it got and how many it asked for.
    #[inline]
    fn read_until(&self, buf: &mut Vec<u8>, max: usize, is_end: impl Fn(usize, usize) -> bool) -> Result<()> {
        buf.clear();
        reserve(buf, FIRST_READ)?;
        loop {
            let len = buf.len();
            // One byte more than allowed is enough to know.
            let room = (buf.capacity() - len).min(max.saturating_sub(len).saturating_add(1));
            let n = os::pread(self.fd.as_fd(), &mut buf.spare_capacity_mut()[..room], len as u64).map_err(|e| e.error("read"))?;
            // SAFETY: the call filled `n` bytes of the spare capacity.
            unsafe { buf.set_len(len + n) };
            if buf.len() > max {
                buf.clear();
                bail!(Limit, "found {} bytes or more, the limit is {max}", max + 1);
            }
            if is_end(n, room) {
                return Ok(());
            }
            if buf.len() == buf.capacity() {
                self.reserve_rest(buf, max)?;
            }
        }
    }

    /// Room for what is left of a file that was larger than the buffer, and one byte; at least twice as much as before
    /// for files that do not tell their size.
    #[cold]
    fn reserve_rest(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        let size = self.stat()?.st_size.max(0) as u64;
        if size > max as u64 {
            buf.clear();
            bail!(Limit, "found {size} bytes, the limit is {max}");
        }
        let rest = (size as usize).saturating_sub(buf.len()).saturating_add(1);
        reserve(buf, rest)
    }

    /// Reads a file that must have exactly `buf.len()` bytes: shorter is `Truncated`, longer is `Chunk`.
    pub fn read_exact_whole(&self, buf: &mut [u8]) -> Result<()> {
        let expected = buf.len();
        let mut done = 0;
        loop {
            let n = os::pread_and_one(self.fd.as_fd(), &mut buf[done..], done as u64).map_err(|e| e.error("read"))?;
            done += n;
            if done > expected {
                return check_exact(self.len()?.max(done as u64), expected);
            }
            if n == 0 {
                return check_exact(done as u64, expected);
            }
            // All is there and one byte more was asked for: the end.
            if done == expected && n < os::MAX_RW {
                return Ok(());
            }
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> Result<u64> {
        Ok(self.stat()?.st_size.max(0) as u64)
    }

    /// The version that this object is: device, inode with its generation, size and times.
    pub fn version(&self) -> Result<Version> {
        if let Some(version) = self.version.get() {
            return Ok(*version);
        }
        let st = self.stat()?;
        let nanos = |s: i64, ns: i64| (s as u64).wrapping_mul(1_000_000_000).wrapping_add(ns as u64);
        let times = nanos(st.st_mtime, st.st_mtime_nsec).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ nanos(st.st_ctime, st.st_ctime_nsec);
        #[allow(clippy::unnecessary_cast)] // It has 32 bits elsewhere.
        let device = st.st_dev as u64;
        let file = device.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ os::generation(self.fd.as_fd());
        Ok(*self.version.get_or_init(|| Version::new([file, st.st_ino, st.st_size as u64, times])))
    }

    /// What it is like now (one `fstat`).
    pub fn stamp(&self) -> Result<Stamp> {
        let moment = nanos_now();
        self.stat().map(|st| stamp_of(&st, moment))
    }

    /// Whether the key still holds this file: it has a name (one `fstat`). Of a file with several names it is not known which one
    /// it lost: it counts as replaced.
    pub fn still_current(&self) -> Result<bool> {
        Ok(os::stat(self.fd.as_fd()).map_err(|e| e.error("stat"))?.st_nlink == 1)
    }

    /// What is known of the file, which must be one.
    fn stat(&self) -> Result<libc::stat> {
        let st = os::stat(self.fd.as_fd()).map_err(|e| e.error("stat"))?;
        check_is_file(&st).map(|()| st)
    }
}
