//! The seam for operating-system calls: each one checked, retried after a signal, and open to injected faults in tests.
//!
//! Calls give an [`Errno`], so that an expected failure (no such file) costs no allocation; [`Errno::error`] makes the
//! library's error of it. Descriptors are always closed on `exec`. In the library's own tests a thread can plan faults
//! (`fault.rs`); elsewhere nothing of that is compiled in.

use crate::error::Error;
use crate::limits::push;
pub use crate::platform::most_files;
use crate::platform::{self, AsRawFd, AtomicFd, BorrowedFd, FileHandle, FromRawFd, IntoRawFd, Names, OwnedFd, libc};
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;

/// The largest number of bytes that Linux moves in one call.
pub const MAX_RW: usize = 0x7fff_f000;

/// The most buffers of one `writev`.
const MAX_IOV: usize = 1024;

/// The current folder, for calls with an absolute path.
// SAFETY: AT_FDCWD is not -1 and stays valid for ever; it only ever reaches `*at` calls.
pub const CWD: BorrowedFd<'static> = unsafe { BorrowedFd::borrow_raw(libc::AT_FDCWD) };

/// Why a system call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// The library's error; `what` says what was tried ("open", "rename").
    #[cold]
    pub fn error(self, what: &str) -> Error {
        Error::os(self.0, what)
    }

    /// The reason for the last failure in this thread.
    fn last() -> Errno {
        Errno(platform::last_errno())
    }
}

/// The result of a system call.
pub type Os<T> = std::result::Result<T, Errno>;

/// Which call is made; what a planned fault is aimed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `openat`
    Open,
    /// `pread` and `preadv`
    Read,
    /// `writev`, `pwritev` and `ftruncate`
    Write,
    /// `fstat` and `fstatat`
    Stat,
    /// `close` of a written file
    Close,
    /// `renameat` and `linkat`
    Rename,
    /// A rename that replaces nothing, or exchanges two names
    RenameNew,
    /// `unlinkat`
    Unlink,
    /// `mkdirat`
    Mkdir,
    /// `fsync` and `fdatasync`
    Sync,
    /// The names of a folder
    List,
    /// `fcntl` for locks
    Lock,
    /// `faccessat`
    Access,
}

/// What system calls return: -1 is failure.
trait Returned: Copy + PartialEq + From<i8> {}

impl<R: Copy + PartialEq + From<i8>> Returned for R {}

/// Makes a call until it is not interrupted by a signal.
#[inline]
fn retry<R: Returned>(call: Call, mut f: impl FnMut() -> R) -> Os<R> {
    loop {
        match once(call, &mut f) {
            Err(Errno(libc::EINTR)) => continue,
            other => return other,
        }
    }
}

#[inline]
fn once<R: Returned>(call: Call, f: &mut impl FnMut() -> R) -> Os<R> {
    #[cfg(any(test, feature = "faults"))]
    if let Some(errno) = super::fault::errno(call) {
        return Err(Errno(errno));
    }
    #[cfg(not(any(test, feature = "faults")))]
    let _ = call;
    let r = f();
    if r == R::from(-1) { Err(Errno::last()) } else { Ok(r) }
}

/// How many of `len` bytes a transfer may move: all that the system allows, less where a test plans a short one.
#[inline]
fn at_once(call: Call, len: usize) -> usize {
    #[cfg(any(test, feature = "faults"))]
    if let Some(n) = super::fault::short(call) {
        return len.min(n);
    }
    let _ = call;
    len.min(MAX_RW)
}

/// Opens `path` below `dir`.
pub fn open(dir: BorrowedFd<'_>, path: &CStr, flags: i32, mode: u32) -> Os<OwnedFd> {
    // SAFETY: `path` ends in NUL and outlives the call.
    let fd = retry(Call::Open, || unsafe {
        platform::off_standard(libc::openat(dir.as_raw_fd(), path.as_ptr(), flags | libc::O_CLOEXEC, mode))
    })?;
    // SAFETY: the call made a new descriptor that nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes the descriptor `kept` one of the file that `fd` is of, at once for all threads.
pub fn replace(fd: BorrowedFd<'_>, kept: &AtomicFd) -> Os<()> {
    retry(Call::Open, || platform::replace(fd, kept)).map(drop)
}

/// Reads into `buf` from `offset`; less than asked for may come, 0 is the end of the file.
#[inline]
pub fn pread(fd: BorrowedFd<'_>, buf: &mut [MaybeUninit<u8>], offset: u64) -> Os<usize> {
    let Ok(offset) = i64::try_from(offset) else { return Ok(0) };
    let want = at_once(Call::Read, buf.len());
    // SAFETY: `buf` is writable for `want` bytes.
    let n = retry(Call::Read, || unsafe { libc::pread(fd.as_raw_fd(), buf.as_mut_ptr().cast(), want, offset) })?;
    Ok(n as usize)
}

/// Reads into `buf` and, if that is full, one byte more; gives how many bytes came, at most `buf.len() + 1`.
#[inline]
pub fn pread_and_one(fd: BorrowedFd<'_>, buf: &mut [u8], offset: u64) -> Os<usize> {
    let Ok(offset) = i64::try_from(offset) else { return Ok(0) };
    let mut extra = 0u8;
    let want = at_once(Call::Read, buf.len());
    let more = (want == buf.len()) as usize;
    let parts = [
        libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: want },
        libc::iovec { iov_base: (&raw mut extra).cast(), iov_len: more },
    ];
    // SAFETY: both buffers are writable for their lengths.
    let n = retry(Call::Read, || unsafe { libc::preadv(fd.as_raw_fd(), parts.as_ptr(), 2, offset) })?;
    Ok(n as usize)
}

/// Writes all of `parts`, one after the other, at the file's position.
pub fn write_all(fd: BorrowedFd<'_>, parts: &[&[u8]]) -> Os<()> {
    // SAFETY: each buffer is readable for its length; writev does not write to them.
    write_by(parts, |batch, _| unsafe { libc::writev(fd.as_raw_fd(), batch.as_ptr(), batch.len() as i32) })
}

/// Writes all of `parts`, one after the other, from `offset` on.
pub fn pwrite_all(fd: BorrowedFd<'_>, parts: &[&[u8]], offset: u64) -> Os<()> {
    let len = parts.iter().map(|part| part.len() as u64).sum();
    if offset.checked_add(len).is_none_or(|end| end > i64::MAX as u64) {
        return Err(Errno(libc::EFBIG));
    }
    // SAFETY: each buffer is readable for its length; pwritev does not write to them.
    write_by(parts, |batch, done| unsafe { libc::pwritev(fd.as_raw_fd(), batch.as_ptr(), batch.len() as i32, (offset + done) as i64) })
}

/// Writes by calls that take buffers and are told how many bytes went before.
fn write_by(parts: &[&[u8]], mut call: impl FnMut(&[libc::iovec], u64) -> isize) -> Os<()> {
    let mut done = 0;
    let (mut index, mut skip) = (0, 0);
    while index < parts.len() {
        let mut batch = smallvec::SmallVec::<[libc::iovec; 8]>::new();
        let mut room = at_once(Call::Write, usize::MAX);
        for (i, part) in parts[index..].iter().take(MAX_IOV).enumerate() {
            let part = if i == 0 { &part[skip..] } else { part };
            let len = part.len().min(room);
            room -= len;
            batch.push(libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: len });
        }
        let asked: usize = batch.iter().map(|b| b.iov_len).sum();
        let n = retry(Call::Write, || call(&batch, done))? as usize;
        done += n as u64;
        if n == 0 && asked != 0 {
            return Err(Errno(libc::EIO));
        }
        skip += n;
        while index < parts.len() && skip >= parts[index].len() {
            skip -= parts[index].len();
            index += 1;
        }
    }
    Ok(())
}

/// Cuts a file to `len` bytes.
pub fn truncate(fd: BorrowedFd<'_>, len: u64) -> Os<()> {
    let Ok(len) = i64::try_from(len) else { return Err(Errno(libc::EFBIG)) };
    // SAFETY: no memory is involved.
    retry(Call::Write, || unsafe { libc::ftruncate(fd.as_raw_fd(), len) }).map(drop)
}

/// Writes `bytes` over the first ones of a file.
pub fn write_at_start(fd: BorrowedFd<'_>, bytes: &[u8]) -> Os<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
        let want = at_once(Call::Write, rest.len());
        // SAFETY: `rest` is readable for `want` bytes.
        match retry(Call::Write, || unsafe { libc::pwrite(fd.as_raw_fd(), rest.as_ptr().cast(), want, done as i64) })? as usize {
            0 => return Err(Errno(libc::EIO)),
            n => done += n,
        }
    }
    Ok(())
}

/// Says whether both are of one file or folder.
pub fn is_same(a: &libc::stat, b: &libc::stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}

/// The numbers of a device and of a file on it, which no other file has at the same time.
pub fn numbers(st: &libc::stat) -> [u64; 2] {
    #[allow(clippy::unnecessary_cast)] // The device has 32 bits elsewhere.
    [st.st_dev as u64, st.st_ino as u64]
}

/// What is known of an open file.
pub fn stat(fd: BorrowedFd<'_>) -> Os<libc::stat> {
    let mut st = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `st` is writable.
    retry(Call::Stat, || unsafe { libc::fstat(fd.as_raw_fd(), st.as_mut_ptr()) })?;
    // SAFETY: filled by the call, and all zero before.
    Ok(unsafe { st.assume_init() })
}

/// The [`numbers`] of an open file as they are known without asking a server; `None` where the system does not tell.
pub fn numbers_known(fd: BorrowedFd<'_>) -> Option<[u64; 2]> {
    #[cfg(target_os = "linux")]
    let known = platform::numbers_known(fd);
    #[cfg(not(target_os = "linux"))]
    let known = stat(fd).ok().map(|st| numbers(&st));
    known
}

/// Whether a descriptor that was opened for a folder (`O_DIRECTORY`) is another file's by now, as a program has closed it, and opened that by its number;
/// as far as the system tells.
pub fn is_no_folder(fd: BorrowedFd<'_>) -> bool {
    #[cfg(target_os = "linux")]
    let is_none = platform::is_no_folder(fd);
    #[cfg(not(target_os = "linux"))]
    let is_none = {
        let _ = fd;
        false
    };
    is_none
}

/// What is known of `path` below `dir`; of a link itself unless `follow`.
pub fn stat_at(dir: BorrowedFd<'_>, path: &CStr, follow: bool) -> Os<libc::stat> {
    let mut st = MaybeUninit::<libc::stat>::zeroed();
    let flags = if follow { 0 } else { libc::AT_SYMLINK_NOFOLLOW };
    // SAFETY: `path` ends in NUL and `st` is writable.
    retry(Call::Stat, || unsafe { libc::fstatat(dir.as_raw_fd(), path.as_ptr(), st.as_mut_ptr(), flags) })?;
    // SAFETY: filled by the call, and all zero before.
    Ok(unsafe { st.assume_init() })
}

/// A number that differs between files that had the same inode number one after the other (it holds the inode's
/// generation); 0 where the file system does not tell.
pub fn generation(fd: BorrowedFd<'_>) -> u64 {
    FileHandle::of(fd).map_or(0, |handle| hash(handle.as_bytes()))
}

/// FNV-1a, 64 bit: the same in every build, so that processes agree on the byte of a lock file.
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Closes a written file. Not repeated after a signal, as the descriptor is gone by then; that, too, is a failure,
/// because what was written may be lost.
pub fn close(fd: OwnedFd) -> Os<()> {
    let fd = fd.into_raw_fd();
    // SAFETY: the descriptor was owned and is given up here.
    let closed = unsafe { libc::close(fd) };
    once(Call::Close, &mut || closed).map(drop)
}

/// Renames within `dir`, replacing what `to` names.
pub fn rename(dir: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Os<()> {
    let d = dir.as_raw_fd();
    // SAFETY: both paths end in NUL.
    retry(Call::Rename, || unsafe { libc::renameat(d, from.as_ptr(), d, to.as_ptr()) }).map(drop)
}

/// Renames within `dir` if `to` names nothing, else `EEXIST`. `EINVAL` and `ENOSYS`: the file system cannot do it.
pub fn rename_new(dir: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Os<()> {
    retry(Call::RenameNew, || platform::rename_new(dir, from, to)).map(drop)
}

/// Gives each of two folders the name of the other, at once. `EINVAL`, `ENOSYS` and `ENOTSUP`: the file system cannot do it.
pub fn exchange(one: &CStr, other: &CStr) -> Os<()> {
    retry(Call::RenameNew, || platform::exchange(one, other)).map(drop)
}

/// Gives a file a second name if that names nothing, else `EEXIST`.
pub fn link(dir: BorrowedFd<'_>, from: &CStr, to: &CStr) -> Os<()> {
    let d = dir.as_raw_fd();
    // SAFETY: both paths end in NUL.
    retry(Call::Rename, || unsafe { libc::linkat(d, from.as_ptr(), d, to.as_ptr(), 0) }).map(drop)
}

/// Removes a file's name.
pub fn unlink(dir: BorrowedFd<'_>, path: &CStr) -> Os<()> {
    // SAFETY: `path` ends in NUL.
    retry(Call::Unlink, || unsafe { libc::unlinkat(dir.as_raw_fd(), path.as_ptr(), 0) }).map(drop)
}

/// Removes an empty folder.
pub fn rmdir(dir: BorrowedFd<'_>, path: &CStr) -> Os<()> {
    // SAFETY: `path` ends in NUL.
    retry(Call::Unlink, || unsafe { libc::unlinkat(dir.as_raw_fd(), path.as_ptr(), libc::AT_REMOVEDIR) }).map(drop)
}

/// Makes a folder.
pub fn mkdir(dir: BorrowedFd<'_>, path: &CStr) -> Os<()> {
    // SAFETY: `path` ends in NUL.
    retry(Call::Mkdir, || unsafe { libc::mkdirat(dir.as_raw_fd(), path.as_ptr(), 0o777) }).map(drop)
}

/// Locks an open folder against other programs that open and lock it, until it is closed; `EWOULDBLOCK` if another one has.
pub fn lock_folder(fd: BorrowedFd<'_>) -> Os<()> {
    retry(Call::Lock, || platform::lock_folder(fd)).map(drop)
}

/// Whether a lock on an open file tells all processes that reach it; `false` where others of other machines may.
pub fn is_local(fd: BorrowedFd<'_>) -> bool {
    #[cfg(any(test, feature = "faults"))]
    if let Some(planned) = super::fault::is_local() {
        return planned;
    }
    platform::is_local(fd)
}

/// Whether a file may be kept open that is to be replaced: on Windows it may be in the way of the new one.
pub fn keeps_files_open() -> bool {
    #[cfg(any(test, feature = "faults"))]
    if super::fault::closes_files() {
        return false;
    }
    cfg!(unix)
}

/// Makes a file's bytes durable.
pub fn fdatasync(fd: BorrowedFd<'_>) -> Os<()> {
    retry(Call::Sync, || platform::fdatasync(fd)).map(drop)
}

/// Makes a folder's names durable; a file system that has no such call for folders counts as done.
pub fn fsync_folder(fd: BorrowedFd<'_>) -> Os<()> {
    match retry(Call::Sync, || platform::fsync_folder(fd)) {
        Ok(_) | Err(Errno(libc::EINVAL | libc::ENOTSUP | libc::EPERM)) => Ok(()),
        Err(e) => Err(e),
    }
}

/// The kind of what a name in a folder names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a device or the like.
    Special,
    /// The file system does not say; ask with [`stat_at`].
    Unknown,
}

impl EntryKind {
    /// The kind that a `stat` tells.
    pub fn of(st: &libc::stat) -> EntryKind {
        match st.st_mode & libc::S_IFMT {
            libc::S_IFREG => EntryKind::File,
            libc::S_IFDIR => EntryKind::Folder,
            libc::S_IFLNK => EntryKind::Link,
            _ => EntryKind::Special,
        }
    }

    /// The kind that a folder tells of its entry.
    fn of_entry(kind: u8) -> EntryKind {
        match kind {
            libc::DT_REG => EntryKind::File,
            libc::DT_DIR => EntryKind::Folder,
            libc::DT_LNK => EntryKind::Link,
            libc::DT_UNKNOWN => EntryKind::Unknown,
            _ => EntryKind::Special,
        }
    }
}

/// Names in a folder, and what each one is.
pub type Entries = Vec<(CString, EntryKind)>;

/// All names of an open folder but `.` and `..`, each NUL-terminated, in the file system's order.
pub fn entries(fd: BorrowedFd<'_>) -> Os<Entries> {
    some_entries(fd, usize::MAX)
}

/// The names of an open folder, as [`entries`] gives them, until there are `enough`.
pub fn some_entries(fd: BorrowedFd<'_>, enough: usize) -> Os<Entries> {
    told(&mut Names::none(), fd, enough)
}

/// The names of an open folder, as [`entries`] gives them, from a place on: 0, or that of the last name of another call, which is given with them.
#[cfg(target_os = "linux")]
pub fn entries_from(fd: BorrowedFd<'_>, place: i64) -> Os<(Entries, i64)> {
    let mut names = Names::none();
    retry(Call::List, || names.go(fd, place))?;
    told(&mut names, fd, usize::MAX).map(|found| (found, names.last()))
}

fn told(names: &mut Names, fd: BorrowedFd<'_>, enough: usize) -> Os<Entries> {
    let (mut found, mut is_short) = (Vec::new(), false);
    while retry(Call::List, || names.next(fd))? != 0 && found.len() < enough {
        let is_sound = names.each(|name, kind| {
            if !is_short && !matches!(name.to_bytes(), b"." | b"..") {
                is_short = push(&mut found, (name.to_owned(), EntryKind::of_entry(kind))).is_err();
            }
        });
        if is_short || !is_sound {
            return Err(Errno(if is_short { libc::ENOMEM } else { libc::EIO }));
        }
    }
    Ok(found)
}

/// Asks for a lock (or its return) on `len` bytes of an open file, 0 for all that follow; it belongs to the open file, not to the process.
fn lock(fd: BorrowedFd<'_>, command: i32, kind: libc::c_short, part: (i64, i64)) -> Os<()> {
    let request = lock_request(kind, part);
    // SAFETY: `request` is readable for the call.
    retry(Call::Lock, || unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw const request) }).map(drop)
}

fn lock_request(kind: libc::c_short, (offset, len): (i64, i64)) -> libc::flock {
    // SAFETY: all zero is a valid `flock`; open-file-description locks demand l_pid = 0.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = kind;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    request.l_start = offset;
    request.l_len = len;
    request
}

/// Whether another open file has a lock on one byte of an open file. It is not taken to find that out: two that ask at the same time are told alike.
pub fn is_byte_locked(fd: BorrowedFd<'_>, offset: i64) -> Os<bool> {
    let mut request = lock_request(libc::F_WRLCK as libc::c_short, (offset, 1));
    // SAFETY: `request` is writable for the call.
    retry(Call::Lock, || unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_OFD_GETLK, &raw mut request) })?;
    Ok(request.l_type != libc::F_UNLCK as libc::c_short)
}

/// Waits for the write lock on one byte of an open file.
pub fn lock_byte(fd: BorrowedFd<'_>, offset: i64) -> Os<()> {
    lock(fd, libc::F_OFD_SETLKW, libc::F_WRLCK as libc::c_short, (offset, 1))
}

/// Fails where this process may not change what is in a folder, or a filter of system calls does not let that be asked: with EPERM.
pub fn may_change(dir: BorrowedFd<'_>, name: &CStr) -> Os<()> {
    once(Call::Access, &mut || platform::may_change(dir, name)).map(drop)
}

/// Waits for a read lock, which many may hold, on one byte of an open file.
pub fn share_byte(fd: BorrowedFd<'_>, offset: i64) -> Os<()> {
    lock(fd, libc::F_OFD_SETLKW, libc::F_RDLCK as libc::c_short, (offset, 1))
}

/// Takes the write lock on one byte of an open file, or fails with `EAGAIN` if somebody else has it.
pub fn try_lock_byte(fd: BorrowedFd<'_>, offset: i64) -> Os<()> {
    // Some systems say that access is denied, which is another error of the calls around this one.
    lock(fd, libc::F_OFD_SETLK, libc::F_WRLCK as libc::c_short, (offset, 1))
        .map_err(|e| if e == Errno(libc::EACCES) { Errno(libc::EAGAIN) } else { e })
}

/// Takes the write lock on all bytes of an open file, or fails if somebody else has one on any.
pub fn try_lock_all(fd: BorrowedFd<'_>) -> Os<()> {
    lock(fd, libc::F_OFD_SETLK, libc::F_WRLCK as libc::c_short, (0, 0))
}

/// Gives all locks of an open file back.
pub fn unlock_all(fd: BorrowedFd<'_>) -> Os<()> {
    lock(fd, libc::F_OFD_SETLK, libc::F_UNLCK as libc::c_short, (0, 0))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_write_that_moves_less_than_it_was_asked_goes_on_where_it_ended() {
        let parts: [&[u8]; 4] = [b"0123456", b"", b"789", b"abcdefghij"];
        for most in [1, 3, 8, 100] {
            let mut written = Vec::new();
            let write = |batch: &[libc::iovec], done: u64| {
                assert_eq!(done, written.len() as u64);
                for buffer in batch {
                    // SAFETY: the buffers are pieces of `parts`.
                    let bytes = unsafe { std::slice::from_raw_parts(buffer.iov_base.cast::<u8>(), buffer.iov_len) };
                    let room = most - (written.len() - done as usize);
                    written.extend_from_slice(&bytes[..bytes.len().min(room)]);
                }
                (written.len() - done as usize) as isize
            };
            super::write_by(&parts, write).unwrap();
            assert_eq!(written, b"0123456789abcdefghij", "{most} bytes at once");
        }
    }
}
