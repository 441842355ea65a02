//! The calls of POSIX that the library makes, by their names, as Windows does the same: descriptors are handles, and `errno` is the C runtime's.
//!
//! Files are opened for reading, writing and deleting by others, too. A file is replaced and removed while others have it open where the
//! system can do so (Windows 10 on NTFS) and they let it; else it waits for them, and fails with `EACCES` if they stay.

#![allow(non_camel_case_types, missing_docs, reason = "the names are those of POSIX")]
#![allow(clippy::missing_safety_doc, reason = "the promises are those of POSIX")]

use super::codes;
use super::locks;
use super::nt::{self, Handle, Handle as RawFd, IoStatus, NtPath, Overlapped};
use super::rights;
use std::ffi::CStr;
use std::time::Duration;

pub use super::codes::{EDQUOT, ESTALE};
pub use super::rights::{O_PATH, O_RDONLY, O_RDWR, O_WRONLY};
pub use ::libc::*;

pub const O_CREAT: i32 = 0x100;
pub const O_EXCL: i32 = 0x400;
pub const O_DIRECTORY: i32 = 0x1_0000;
pub const O_NOFOLLOW: i32 = 0x2_0000;
pub const O_CLOEXEC: i32 = 0; // never inherited
pub const O_NOCTTY: i32 = 0;
pub const O_NONBLOCK: i32 = 0;

pub const AT_FDCWD: RawFd = nt::HERE;
pub const AT_SYMLINK_NOFOLLOW: i32 = 1;
pub const AT_REMOVEDIR: i32 = 2;

pub const S_IFMT: u32 = 0o17_0000;
pub const S_IFREG: u32 = 0o10_0000;
pub const S_IFDIR: u32 = 0o4_0000;
pub const S_IFLNK: u32 = 0o12_0000;

pub const DT_UNKNOWN: u8 = 0;
pub const DT_DIR: u8 = 4;
pub const DT_REG: u8 = 8;
pub const DT_LNK: u8 = 10;

pub const SEEK_SET: i32 = 0;
pub const F_RDLCK: i32 = 0;
pub const F_WRLCK: i32 = 1;
pub const F_UNLCK: i32 = 2;
pub const F_OFD_GETLK: i32 = 36;
pub const F_OFD_SETLK: i32 = 37;
pub const F_OFD_SETLKW: i32 = 38;

pub type dev_t = u64;

/// What is known of a file. A folder or file that is being deleted has no links.
#[derive(Clone, Copy, Default)]
pub struct stat {
    pub st_dev: dev_t,
    pub st_ino: u64,
    pub st_mode: u32,
    pub st_nlink: u64,
    pub st_size: i64,
    pub st_mtime: i64,
    pub st_mtime_nsec: i64,
    pub st_ctime: i64,
    pub st_ctime_nsec: i64,
}

/// A buffer of several.
#[derive(Clone, Copy)]
pub struct iovec {
    pub iov_base: *mut c_void,
    pub iov_len: usize,
}

/// A request for a lock.
#[derive(Clone, Copy)]
pub struct flock {
    pub l_type: c_short,
    pub l_whence: c_short,
    pub l_start: i64,
    pub l_len: i64,
}

/// How often what another program's open file hinders is tried again, and how long it waits in between.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(10);

/// Sets `errno`, and returns what a call returns then.
fn fail<R: From<i8>>(errno: i32) -> R {
    // SAFETY: the address is valid in every thread.
    unsafe { *nt::errno() = errno };
    R::from(-1)
}

/// What a function returns for what was done.
fn returned(done: Result<(), i32>) -> i32 {
    done.map_or_else(fail, |()| 0)
}

/// Tries again what a file that another program has open hinders.
fn patiently<T>(mut call: impl FnMut() -> Result<T, i32>, hindered: impl Fn(i32) -> bool) -> Result<T, i32> {
    for _ in 0..TRIES {
        match call() {
            Err(errno) if hindered(errno) => std::thread::sleep(PAUSE),
            done => return done,
        }
    }
    call()
}

/// The error number of a change of a name that another program's open file has hindered to the end.
fn refused(errno: i32) -> i32 {
    if errno == EBUSY { EACCES } else { errno }
}

/// Reads a path of the library's.
unsafe fn path_of(path: *const c_char) -> Result<NtPath, i32> {
    // SAFETY: the caller's promise: it ends in NUL.
    NtPath::of(unsafe { CStr::from_ptr(path) }.to_bytes())
}

/// A handle that is closed.
struct Open(Handle);

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: opened by this file, used by nobody any more.
        unsafe { nt::CloseHandle(self.0) };
    }
}

pub unsafe fn openat(folder: RawFd, path: *const c_char, flags: i32, _: u32) -> RawFd {
    // SAFETY: the caller's promise.
    let opened = unsafe { path_of(path) }.and_then(|path| open_file(folder, &path.seen_from(folder), flags));
    opened.unwrap_or_else(|errno| fail::<i64>(errno) as RawFd)
}

fn open_file(folder: RawFd, path: &NtPath, flags: i32) -> Result<Handle, i32> {
    let disposition = match (flags & O_CREAT != 0, flags & O_EXCL != 0) {
        (true, true) => nt::CREATE,
        (true, false) => nt::OPEN_IF,
        _ => nt::OPEN,
    };
    let kind = if flags & O_DIRECTORY != 0 { nt::FOLDER | nt::FOR_BACKUP } else { nt::NO_FOLDER };
    let link = if flags & O_NOFOLLOW != 0 { nt::THE_LINK } else { 0 };
    let opened = Open(patiently(|| path.open(folder, rights::rights_of(flags), disposition, kind | link), |errno| errno == EBUSY)?);
    if link != 0 && is_link(opened.0, information(opened.0)?.attributes) {
        return Err(ELOOP);
    }
    let handle = opened.0;
    std::mem::forget(opened);
    Ok(handle)
}

pub unsafe fn close(fd: RawFd) -> i32 {
    locks::give_back(fd);
    // SAFETY: the caller's promise: it is open, and its own.
    if unsafe { nt::CloseHandle(fd) } == 0 { fail(nt::last()) } else { 0 }
}

/// Reads from a place, or gives 0 at the end.
unsafe fn read_at(fd: RawFd, to: *mut c_void, len: usize, offset: u64) -> Result<usize, i32> {
    let (mut at, mut got) = (Overlapped::at(offset), 0);
    // SAFETY: the caller's promise: `to` is writable for `len` bytes.
    if unsafe { nt::ReadFile(fd, to, len as u32, &mut got, &mut at) } != 0 {
        return Ok(got as usize);
    }
    match std::io::Error::last_os_error().raw_os_error() {
        Some(38) => Ok(0), // the end
        Some(code) => Err(nt::errno_of_code(code)),
        None => Err(EIO),
    }
}

pub unsafe fn pread(fd: RawFd, to: *mut c_void, len: usize, offset: i64) -> isize {
    // SAFETY: the caller's promise.
    unsafe { read_at(fd, to, len, offset as u64) }.map_or_else(|errno| fail::<i64>(errno) as isize, |n| n as isize)
}

pub unsafe fn preadv(fd: RawFd, parts: *const iovec, number: i32, offset: i64) -> isize {
    // SAFETY: the caller's promise, here and below.
    let parts = unsafe { std::slice::from_raw_parts(parts, number as usize) };
    let (mut done, mut wanted) = (0, 0);
    for part in parts.iter().filter(|part| part.iov_len > 0) {
        match unsafe { read_at(fd, part.iov_base, part.iov_len, offset as u64 + done as u64) } {
            Ok(n) => done += n,
            Err(errno) if done == 0 => return fail::<i64>(errno) as isize,
            Err(_) => break,
        }
        wanted += part.iov_len;
        if done < wanted {
            break;
        }
    }
    done as isize
}

/// Writes parts, at the file's position or at a place.
unsafe fn write_parts(fd: RawFd, parts: &[iovec], mut at: Option<u64>) -> isize {
    let mut done = 0;
    for part in parts {
        let (mut place, mut put) = (at.map(Overlapped::at), 0);
        let overlapped = place.as_mut().map_or(std::ptr::null_mut(), |place| &raw mut *place);
        // SAFETY: the caller's promise: each part is readable for its length.
        let failed = unsafe { nt::WriteFile(fd, part.iov_base, part.iov_len as u32, &mut put, overlapped) } == 0;
        if failed {
            return if done == 0 { fail::<i64>(nt::last()) as isize } else { done };
        }
        done += put as isize;
        at = at.map(|at| at + u64::from(put));
        if (put as usize) < part.iov_len {
            break;
        }
    }
    done
}

pub unsafe fn writev(fd: RawFd, parts: *const iovec, number: i32) -> isize {
    // SAFETY: the caller's promise.
    unsafe { write_parts(fd, std::slice::from_raw_parts(parts, number as usize), None) }
}

pub unsafe fn pwritev(fd: RawFd, parts: *const iovec, number: i32, offset: i64) -> isize {
    // SAFETY: the caller's promise.
    unsafe { write_parts(fd, std::slice::from_raw_parts(parts, number as usize), Some(offset as u64)) }
}

/// Writes to a place. The file's position, which Windows moves, stays where it was.
pub unsafe fn pwrite(fd: RawFd, from: *const c_void, len: usize, offset: i64) -> isize {
    let mut position = 0;
    // SAFETY: the caller's promise; the position is writable.
    unsafe {
        nt::SetFilePointerEx(fd, 0, &mut position, 1);
        let done = write_parts(fd, &[iovec { iov_base: from.cast_mut(), iov_len: len }], Some(offset as u64));
        nt::SetFilePointerEx(fd, position, std::ptr::null_mut(), 0);
        done
    }
}

pub unsafe fn ftruncate(fd: RawFd, len: i64) -> i32 {
    // SAFETY: the length is readable.
    let done = unsafe { nt::SetFileInformationByHandle(fd, nt::END_OF_FILE_INFO, (&raw const len).cast(), 8) };
    if done == 0 { fail(nt::last()) } else { 0 }
}

fn information(handle: Handle) -> Result<nt::FileInformation, i32> {
    let mut known = nt::FileInformation::default();
    // SAFETY: `known` is writable.
    if unsafe { nt::GetFileInformationByHandle(handle, &mut known) } == 0 { Err(nt::last()) } else { Ok(known) }
}

/// Whether an open file or folder with these attributes is a link. Where the system does not tell the kind of a reparse point it is taken for one.
fn is_link(handle: Handle, attributes: u32) -> bool {
    if attributes & nt::IS_REPARSE_POINT == 0 {
        return false;
    }
    // FILE_ATTRIBUTE_TAG_INFO: attributes, tag.
    let mut known = [0u32; 2];
    // SAFETY: `known` is writable for its size.
    unsafe { nt::GetFileInformationByHandleEx(handle, nt::TAG_INFO, known.as_mut_ptr().cast(), 8) };
    codes::is_tag_of_link(known[1])
}

fn stat_of(handle: Handle) -> Result<stat, i32> {
    let known = information(handle)?;
    // FILE_BASIC_INFO: made, read, written, changed, attributes. FILE_STANDARD_INFO: two sizes, links, and a byte that says whether it goes.
    let (mut basic, mut standard) = ([0i64; 5], [0u64; 3]);
    // SAFETY: both are writable for their sizes.
    let told = unsafe {
        nt::GetFileInformationByHandleEx(handle, nt::BASIC_INFO, basic.as_mut_ptr().cast(), 40) != 0
            && nt::GetFileInformationByHandleEx(handle, nt::STANDARD_INFO, standard.as_mut_ptr().cast(), 24) != 0
    };
    if !told {
        return Err(nt::last());
    }
    let whole = |[low, high]: [u32; 2]| u64::from(high) << 32 | u64::from(low);
    let goes = (standard[2] >> 32) & 0xff != 0;
    // FAT does not keep when a file was changed otherwise than by writing.
    let (written, changed) = (basic[2], if basic[3] == 0 { basic[2] } else { basic[3] });
    let ((st_mtime, st_mtime_nsec), (st_ctime, st_ctime_nsec)) = (codes::time_of(written), codes::time_of(changed));
    Ok(stat {
        st_dev: u64::from(known.volume),
        st_ino: u64::from(known.index[0]) << 32 | u64::from(known.index[1]),
        st_mode: match known.attributes {
            kind if is_link(handle, kind) => S_IFLNK,
            kind if kind & nt::IS_FOLDER != 0 => S_IFDIR,
            _ => S_IFREG,
        },
        st_nlink: if goes { 0 } else { u64::from(known.links) },
        st_size: i64::from_ne_bytes(whole([known.size[1], known.size[0]]).to_ne_bytes()),
        st_mtime,
        st_mtime_nsec,
        st_ctime,
        st_ctime_nsec,
    })
}

pub unsafe fn fstat(fd: RawFd, st: *mut stat) -> i32 {
    // SAFETY: the caller's promise: `st` is writable.
    returned(stat_of(fd).map(|known| unsafe { st.write(known) }))
}

pub unsafe fn fstatat(folder: RawFd, path: *const c_char, st: *mut stat, flags: i32) -> i32 {
    let link = if flags & AT_SYMLINK_NOFOLLOW != 0 { nt::THE_LINK } else { 0 };
    let look = |path: NtPath| {
        path.seen_from(folder).open(folder, rights::LOOK, nt::OPEN, nt::FOR_BACKUP | link).map(Open).and_then(|open| stat_of(open.0))
    };
    // SAFETY: the caller's promise: the path ends in NUL, and `st` is writable.
    returned(unsafe { path_of(path) }.and_then(look).map(|known| unsafe { st.write(known) }))
}

/// Asks for a change of an open file, by the one or the other class of requests.
fn set(open: &Open, request: &[u8], class: u32) -> Result<(), i32> {
    // The system wants numbers of 8 bytes where they belong.
    let mut aligned = vec![0u64; request.len().div_ceil(8)];
    // SAFETY: as many bytes as the request has are writable there; the system reads as many.
    let status = unsafe {
        aligned.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(request.as_ptr(), request.len());
        nt::NtSetInformationFile(open.0, &mut IoStatus::default(), aligned.as_ptr().cast(), request.len() as u32, class)
    };
    if status >= 0 { Ok(()) } else { Err(nt::errno_of_status(status)) }
}

/// A request for a name: flags, the folder, the name's length, the name.
fn name_request(flags: u32, folder: RawFd, to: &NtPath) -> Vec<u8> {
    let folder = if to.is_whole { 0 } else { folder };
    let mut request = [u64::from(flags).to_ne_bytes(), folder.to_ne_bytes()].concat();
    request.extend_from_slice(&(to.text().len() as u32 * 2).to_ne_bytes());
    request.extend(to.text().iter().flat_map(|c| c.to_ne_bytes()));
    request.resize(request.len().max(24) + 2, 0);
    request
}

/// Gives a file or a folder another name, in the place of a file if it `replaces`.
pub(super) fn rename_file(folder: RawFd, from: *const c_char, to: *const c_char, replaces: bool) -> Result<(), i32> {
    // SAFETY: the caller's promise: both end in NUL.
    let (from, to) = unsafe { (path_of(from)?.seen_from(folder), path_of(to)?.seen_from(folder)) };
    // Read-only files are replaced, too.
    let posix = name_request(if replaces { 0x43 } else { 0x2 }, folder, &to);
    let plain = name_request(u32::from(replaces), folder, &to);
    let call = || {
        let open = Open(from.open(folder, rights::REMOVE, nt::OPEN, nt::FOR_BACKUP | nt::THE_LINK)?);
        match set(&open, &posix, nt::RENAME_POSIX) {
            Err(ENOSYS) => set(&open, &plain, nt::RENAME),
            done => done,
        }
    };
    // A program that has the file itself open, as scanners have new ones for a moment, hinders the one as well as the other.
    patiently(call, |errno| errno == EBUSY || (errno == EACCES && replaces)).map_err(refused)
}

pub unsafe fn renameat(folder: RawFd, from: *const c_char, _: RawFd, to: *const c_char) -> i32 {
    returned(rename_file(folder, from, to, true))
}

pub unsafe fn linkat(folder: RawFd, from: *const c_char, _: RawFd, to: *const c_char, _: i32) -> i32 {
    let link = || {
        // SAFETY: the caller's promise: both end in NUL.
        let (from, to) = unsafe { (path_of(from)?.seen_from(folder), path_of(to)?.seen_from(folder)) };
        let open = Open(from.open(folder, rights::LINK, nt::OPEN, nt::NO_FOLDER | nt::THE_LINK)?);
        set(&open, &name_request(0, folder, &to), nt::LINK)
    };
    returned(patiently(link, |errno| errno == EBUSY).map_err(refused))
}

pub unsafe fn unlinkat(folder: RawFd, path: *const c_char, flags: i32) -> i32 {
    let kind = if flags & AT_REMOVEDIR != 0 { nt::FOLDER | nt::FOR_BACKUP } else { nt::NO_FOLDER };
    let remove = || {
        // SAFETY: the caller's promise: it ends in NUL.
        let path = unsafe { path_of(path)? }.seen_from(folder);
        let open = match path.open(folder, rights::REMOVE, nt::OPEN, kind | nt::THE_LINK) {
            // What leads to a folder is a folder to Windows.
            Err(EISDIR) => {
                let open = Open(path.open(folder, rights::REMOVE, nt::OPEN, nt::FOR_BACKUP | nt::THE_LINK)?);
                if !is_link(open.0, information(open.0)?.attributes) {
                    return Err(EISDIR);
                }
                open
            }
            // It goes already.
            Err(ESTALE) => return Err(ENOENT),
            open => Open(open?),
        };
        match set(&open, &0x13u32.to_ne_bytes(), nt::DISPOSITION_POSIX) {
            Err(ENOSYS) => set(&open, &[1], nt::DISPOSITION),
            done => done,
        }
    };
    returned(patiently(remove, |errno| errno == EBUSY).map_err(refused))
}

pub unsafe fn mkdirat(folder: RawFd, path: *const c_char, _: u32) -> i32 {
    // SAFETY: the caller's promise: it ends in NUL.
    let made = unsafe { path_of(path) }.and_then(|path| path.seen_from(folder).open(folder, rights::READ, nt::CREATE, nt::FOLDER));
    returned(made.map(|handle| drop(Open(handle))))
}

pub unsafe fn fcntl(fd: RawFd, command: i32, place: *const flock) -> i32 {
    // SAFETY: the caller's promise: it is readable.
    let mut request = unsafe { *place };
    let kind = i32::from(request.l_type);
    let (first, len) = (request.l_start as u64, if request.l_len == 0 { i64::MAX as u64 } else { request.l_len as u64 });
    if kind == F_UNLCK || request.l_len == 0 {
        locks::give_back(fd);
    }
    if command == F_OFD_GETLK {
        // The system has no question of that kind.
        let taken = locks::take(fd, (first, len), true, false).map(|()| locks::give_back(fd));
        if taken.is_ok() {
            request.l_type = F_UNLCK as _;
            // SAFETY: the caller's promise: with this command it is writable.
            unsafe { place.cast_mut().write(request) };
        }
        return returned(taken.or_else(|errno| if matches!(errno, EAGAIN | EACCES) { Ok(()) } else { Err(errno) }));
    }
    match kind {
        F_UNLCK => 0,
        kind => returned(locks::take(fd, (first, len), kind == F_WRLCK, command == F_OFD_SETLKW)),
    }
}
