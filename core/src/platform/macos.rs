//! macOS 12 or later. Checked by the compiler (`cargo check`), and never linked or run by us.

use super::AtomicFd;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Opens a folder as a place for other calls only, which takes no right to list it.
pub const O_PATH: i32 = libc::O_SEARCH;

/// The state of a thread that cannot be cancelled (`PTHREAD_CANCEL_DISABLE`).
pub(super) const CANCEL_DISABLE: i32 = 0;

/// Returns where the calling thread has its `errno`.
#[inline]
pub fn errno() -> *mut i32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::__error() }
}

/// Gives the calling thread a name.
pub fn name_thread(name: &CStr) {
    // SAFETY: the name ends in NUL.
    unsafe { libc::pthread_setname_np(name.as_ptr()) };
}

/// Makes the descriptor `kept` one of the file that `fd` is of, at once for all threads; -1 is failure, as of all calls here.
pub fn replace(fd: BorrowedFd<'_>, kept: &AtomicFd) -> i32 {
    // SAFETY: both are open; `kept` stays open, and its owner's.
    unsafe {
        match libc::dup2(fd.as_raw_fd(), kept.load(Relaxed)) {
            -1 => -1,
            // A program that another thread executes just now has the folder, too: there is no call that does both.
            kept => libc::fcntl(kept, libc::F_SETFD, libc::FD_CLOEXEC),
        }
    }
}

/// Renames within `dir` if `to` names nothing.
pub fn rename_new(dir: BorrowedFd<'_>, from: &CStr, to: &CStr) -> i32 {
    let d = dir.as_raw_fd();
    // SAFETY: both paths end in NUL.
    unsafe { libc::renameatx_np(d, from.as_ptr(), d, to.as_ptr(), libc::RENAME_EXCL) }
}

/// Gives each of two folders the name of the other, at once.
pub fn exchange(one: &CStr, other: &CStr) -> i32 {
    // SAFETY: both paths end in NUL.
    unsafe { libc::renameatx_np(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_SWAP) }
}

/// Whether the file system of an open file gives one that is removed while this machine has it open another name, as NFS does.
pub fn keeps_removed(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: the name ends in NUL.
    file_system(fd).is_some_and(|of| unsafe { CStr::from_ptr(of.f_fstypename.as_ptr()) } == c"nfs")
}

/// Returns `None`: where something is mounted is known by the device alone.
pub fn is_mounted(_: BorrowedFd<'_>, _: &CStr) -> Option<bool> {
    None
}

/// Whether a folder lets nobody remove what is in it: it is immutable, or only appended to.
pub fn keeps_names(dir: BorrowedFd<'_>, name: &CStr) -> bool {
    let mut of = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: the name ends in NUL, and `of` is writable.
    let told = unsafe { libc::fstatat(dir.as_raw_fd(), name.as_ptr(), of.as_mut_ptr(), libc::AT_SYMLINK_NOFOLLOW) } == 0;
    // SAFETY: filled by the call, and all zero before.
    let flags = unsafe { of.assume_init() }.st_flags;
    told && flags & (libc::UF_IMMUTABLE | libc::UF_APPEND | libc::SF_IMMUTABLE | libc::SF_APPEND) != 0
}

/// Returns `None`: no folder is mounted by two names.
pub fn name_in_volume(_: &Path) -> Option<PathBuf> {
    None
}

/// Whether a lock on an open file tells all processes that reach it, because only this machine's kernel does.
pub fn is_local(fd: BorrowedFd<'_>) -> bool {
    file_system(fd).is_some_and(|of| of.f_flags & libc::MNT_LOCAL as u32 != 0)
}

/// What the system says of the file system that an open file is in.
fn file_system(fd: BorrowedFd<'_>) -> Option<libc::statfs> {
    let mut of = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `of` is writable.
    let told = unsafe { libc::fstatfs(fd.as_raw_fd(), of.as_mut_ptr()) } == 0;
    // SAFETY: filled by the call, and all zero before.
    told.then(|| unsafe { of.assume_init() })
}

/// Leaves access lists, which are of another kind here.
pub fn copy_access_list(_: BorrowedFd<'_>, _: BorrowedFd<'_>, _: bool, _: [Option<u32>; 2]) -> Option<Result<(), i32>> {
    None
}

/// Makes a file's bytes durable: on the medium, not only in the drive's cache, where the file system knows how.
pub fn fdatasync(fd: BorrowedFd<'_>) -> i32 {
    // SAFETY: no memory is involved.
    unsafe {
        match libc::fcntl(fd.as_raw_fd(), libc::F_FULLFSYNC) {
            -1 if matches!(*libc::__error(), libc::ENOTSUP | libc::ENOTTY | libc::EINVAL) => libc::fsync(fd.as_raw_fd()),
            done => done,
        }
    }
}

/// Makes a folder's names durable, as a file's bytes.
pub fn fsync_folder(fd: BorrowedFd<'_>) -> i32 {
    fdatasync(fd)
}

/// What the file system calls a file by, beside its inode number, as long as it is there.
pub struct FileHandle([u8; 4]);

impl FileHandle {
    /// That of an open file, its generation; `None` where the file system does not tell.
    pub fn of(fd: BorrowedFd<'_>) -> Option<FileHandle> {
        let mut st = MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: `st` is writable.
        let told = unsafe { libc::fstat(fd.as_raw_fd(), st.as_mut_ptr()) } == 0;
        // SAFETY: filled by the call, and all zero before.
        let generation = unsafe { st.assume_init() }.st_gen;
        (told && generation != 0).then_some(FileHandle(generation.to_ne_bytes()))
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The names of a folder, one at a time.
pub struct Names {
    folder: *mut libc::DIR,
    entry: *const libc::dirent,
}

impl Names {
    /// None yet.
    pub fn none() -> Names {
        Names { folder: std::ptr::null_mut(), entry: std::ptr::null() }
    }

    /// Asks for the name that comes next in an open folder: 0 if there are no more.
    pub fn next(&mut self, folder: BorrowedFd<'_>) -> i64 {
        // SAFETY: the descriptor is duplicated for `fdopendir`, which owns it from then on; the stream is open until `self` is dropped.
        unsafe {
            if self.folder.is_null() {
                let own = libc::fcntl(folder.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 0);
                if own == -1 {
                    return -1;
                }
                self.folder = libc::fdopendir(own);
                if self.folder.is_null() {
                    let why = *libc::__error();
                    libc::close(own);
                    *libc::__error() = why;
                    return -1;
                }
            }
            // Only `errno` tells the end from a failure.
            *libc::__error() = 0;
            self.entry = libc::readdir(self.folder);
            if !self.entry.is_null() { 1 } else { -i64::from(*libc::__error() != 0) }
        }
    }

    /// Calls `give` with it and its kind (`DT_…`); false if the system told no name.
    pub fn each(&self, mut give: impl FnMut(&CStr, u8)) -> bool {
        // SAFETY: the entry is valid until the next call of `readdir` for this stream, and its name ends in NUL.
        unsafe {
            if let Some(entry) = self.entry.as_ref() {
                give(CStr::from_ptr((&raw const entry.d_name).cast()), entry.d_type);
            }
        }
        true
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        if !self.folder.is_null() {
            // SAFETY: opened above, and closed only here.
            unsafe { libc::closedir(self.folder) };
        }
    }
}

/// Tells this run of the machine from all others; `None` where that cannot be told.
pub fn machine_run() -> Option<String> {
    let mut text = [0u8; 64];
    let mut len = text.len();
    // SAFETY: the name ends in NUL, and the text is writable for `len` bytes.
    let done =
        unsafe { libc::sysctlbyname(c"kern.bootsessionuuid".as_ptr(), text.as_mut_ptr().cast(), &raw mut len, std::ptr::null_mut(), 0) };
    let text = CStr::from_bytes_until_nul(&text).ok()?.to_str().ok()?;
    (done == 0 && !text.is_empty()).then(|| text.to_string())
}

/// When a process started, in microseconds; `None` if that cannot be seen.
pub fn start_of(process: u32) -> Option<u64> {
    let process = i32::try_from(process).ok()?;
    let size = size_of::<libc::proc_bsdinfo>() as i32;
    let mut info = MaybeUninit::<libc::proc_bsdinfo>::zeroed();
    // SAFETY: the struct is writable for its size.
    let told = unsafe { libc::proc_pidinfo(process, libc::PROC_PIDTBSDINFO, 0, info.as_mut_ptr().cast(), size) };
    // SAFETY: all zero is a valid value, which the call may have replaced.
    let info = unsafe { info.assume_init() };
    (told == size).then(|| info.pbi_start_tvsec.wrapping_mul(1_000_000).wrapping_add(info.pbi_start_tvusec))
}

/// Returns false: that a process has ended is known once its parent has asked how.
pub fn has_ended(_: u32) -> bool {
    false
}
