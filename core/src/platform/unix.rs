//! What Linux and macOS have in common: the calls of POSIX.

use std::ffi::{CStr, c_void};
use std::mem::MaybeUninit;
use std::os::unix::fs::fchown;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

pub use libc;
pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
pub use std::sync::atomic::AtomicI32 as AtomicFd;

/// Moves a new descriptor away from the numbers of standard input, output and error, which are free in a program that was started
/// without them: what it prints would go into the file. -1 is failure, also of the call that made the descriptor.
///
/// # Safety
///
/// Nobody else owns `fd`, which is closed where it is moved.
#[inline]
pub unsafe fn off_standard(fd: i32) -> i32 {
    if !(0..3).contains(&fd) {
        return fd;
    }
    // SAFETY: the descriptor is open and the caller's; `errno` is the thread's own.
    unsafe {
        let moved = libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 3);
        let why = *super::errno();
        libc::close(fd);
        *super::errno() = why;
        moved
    }
}

/// Opens the null device as those of standard input, output and error that are free: the crates beneath the object stores open sockets that
/// cannot be moved, and what the program prints would go to a server.
pub fn hold_standard() {
    loop {
        // SAFETY: the path is a C string.
        let fd = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC) };
        if !(0..3).contains(&fd) {
            // SAFETY: the descriptor is this function's, or -1, which is no descriptor.
            unsafe { libc::close(fd) };
            return;
        }
    }
}

/// How a file is opened whose bytes are to be made durable.
pub const O_TO_SYNC: i32 = libc::O_RDONLY;

/// Returns why the last call of this thread failed.
pub fn last_errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Returns the error number of a failure that the standard library tells; `None` if it has another cause than the system.
pub fn errno_of(e: &std::io::Error) -> Option<i32> {
    e.raw_os_error()
}

/// Returns what says an error number in words.
pub fn text_of(errno: i32) -> impl std::fmt::Display {
    std::io::Error::from_raw_os_error(errno)
}

/// Makes a path of bytes; `None` if it can be none.
pub fn path_of(bytes: Vec<u8>) -> Option<std::path::PathBuf> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes)).map(|text: std::ffi::OsString| text.into())
}

/// Returns whether a file's name can be `name`: any can that a key has.
#[inline]
pub fn can_name(_: &str) -> bool {
    true
}

/// Returns how many files this process may have open.
pub fn most_files() -> usize {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: `limit` is writable.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) } != 0;
    // SAFETY: all zero is a valid value, which the call may have replaced.
    let limit = unsafe { limit.assume_init() }.rlim_cur;
    if failed { 256 } else { usize::try_from(limit).unwrap_or(usize::MAX) }
}

/// Says whether there is a process of that number, whoever's it is.
pub fn has_process(number: u32) -> bool {
    let Ok(number) = i32::try_from(number) else { return false };
    // SAFETY: no signal is sent, and no memory is involved.
    let sent = unsafe { libc::kill(number, 0) };
    sent == 0 || last_errno() != libc::ESRCH
}

/// Gives the open new folder `new` the group as far as this is allowed, and the access lists and permissions of the open folder `old`. Where root will give
/// it away by [`give_access`], all others are kept out until then: what they put there would be given away with what is made there. An error number if it
/// cannot have them.
pub fn take_access(old: BorrowedFd<'_>, new: BorrowedFd<'_>) -> Result<(), i32> {
    copy_access(old, new, false)
}

/// Gives the open new folder `new`, which is filled, the owner and the group of `old` as far as this is allowed, its access list and its permissions; an error
/// number if it cannot have them.
pub fn give_access((_, old): (&Path, BorrowedFd<'_>), (_, new): (&Path, BorrowedFd<'_>)) -> Result<(), i32> {
    copy_access(old, new, true)
}

fn copy_access(old: BorrowedFd<'_>, new: BorrowedFd<'_>, is_filled: bool) -> Result<(), i32> {
    let (from, to) = (stat(old)?, stat(new)?);
    // What is another user's is not this process's to give.
    let gives = |owner, group| to.st_uid == user() && fchown(new, owner, group).is_ok();
    let owner = (is_filled && from.st_uid != to.st_uid && !gives(Some(from.st_uid), None)).then_some(from.st_uid);
    let group = (from.st_gid != to.st_gid && !gives(None, Some(from.st_gid))).then_some(from.st_gid);
    let access = super::copy_access_list(old, new, false, [owner, group]).transpose()?;
    if !is_filled {
        super::copy_access_list(old, new, true, [None, group]).transpose()?;
    }
    // Without its group, the rights of that are another group's, which has those of all; where there is a list, the bits are no group's.
    let of_group = if group.is_some() && access.is_none() { (from.st_mode & 0o7) << 3 } else { from.st_mode & 0o070 };
    // Elsewhere who shares the folder can remove what a kill leaves.
    let mode = match is_filled {
        true => from.st_mode & !0o070 | of_group,
        false if user() == 0 && from.st_uid != to.st_uid => from.st_mode & !0o777 | 0o700,
        false => from.st_mode & !0o070 | of_group | 0o700,
    };
    // SAFETY: no memory is involved.
    if unsafe { libc::fchmod(new.as_raw_fd(), mode & 0o7777) } == 0 { Ok(()) } else { Err(last_errno()) }
}

/// What the system says of an open file.
fn stat(fd: BorrowedFd<'_>) -> Result<libc::stat, i32> {
    let mut st = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `st` is writable.
    let failed = unsafe { libc::fstat(fd.as_raw_fd(), st.as_mut_ptr()) } != 0;
    // SAFETY: all zero is a valid value, which the call may have replaced.
    if failed { Err(last_errno()) } else { Ok(unsafe { st.assume_init() }) }
}

/// The number of the user whom this process acts for.
pub fn user() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::geteuid() }
}

/// Whether a file or folder belongs to another user.
pub fn is_of_another(entry: &libc::stat) -> bool {
    entry.st_uid != user()
}

/// Whether the permissions of a file let all read it.
pub fn is_for_all(file: &libc::stat) -> bool {
    file.st_mode & 0o044 == 0o044
}

/// Gives an open file a group; the one that it could not be given.
fn give_group(fd: BorrowedFd<'_>, file: &libc::stat, group: libc::gid_t) -> Option<libc::gid_t> {
    // SAFETY: no memory is involved.
    (file.st_gid != group && unsafe { libc::fchown(fd.as_raw_fd(), u32::MAX, group) } != 0).then_some(group)
}

/// Gives an open file to a user, as root may; the user to whom it could not be given.
fn give_owner(fd: BorrowedFd<'_>, file: &libc::stat, owner: libc::uid_t) -> Option<libc::uid_t> {
    // SAFETY: no memory is involved.
    (file.st_uid != owner && unsafe { libc::fchown(fd.as_raw_fd(), owner, u32::MAX) } != 0).then_some(owner)
}

/// Gives `new` the owner, as far as this is allowed, and the rights to read and write of the open file `old`, whose place it takes. What is no file, is another
/// user's or has a second name was not made for that place, and stays as it is.
pub fn share_reading((old, from): (BorrowedFd<'_>, &libc::stat), (new, to): (BorrowedFd<'_>, &libc::stat)) {
    if is_of_another(to) || to.st_mode & libc::S_IFMT != libc::S_IFREG || to.st_nlink > 1 {
        return;
    }
    let group = give_group(new, to, from.st_gid);
    let owner = give_owner(new, to, from.st_uid);
    if super::copy_access_list(old, new, false, [owner, group]).is_some() {
        return;
    }
    // Without its group, the rights of that would be another group's, which has those of all.
    let wanted = to.st_mode | if group.is_none() { from.st_mode & 0o066 } else { (from.st_mode & 0o006) * 0o11 };
    if wanted != to.st_mode {
        // SAFETY: no memory is involved.
        let _ = unsafe { libc::fchmod(new.as_raw_fd(), wanted & 0o777) };
    }
}

/// Fails where this process has no right to change what is in a folder, or that is read-only.
pub fn may_change(dir: BorrowedFd<'_>, name: &CStr) -> i32 {
    // SAFETY: the path ends in NUL.
    unsafe { libc::faccessat(dir.as_raw_fd(), name.as_ptr(), libc::W_OK | libc::X_OK, libc::AT_EACCESS) }
}

/// Whether a folder keeps its entries from all but their owners and its own.
pub fn is_sticky(folder: &libc::stat) -> bool {
    folder.st_mode & libc::S_ISVTX != 0
}

/// Whether a sticky folder keeps an entry from removal by this process: neither of the two is its user's.
pub fn is_kept(folder: &libc::stat, entry: &libc::stat) -> bool {
    ![0, folder.st_uid, entry.st_uid].contains(&user())
}

/// Whether others than the user of this process may write in a folder.
pub fn is_shared(folder: &libc::stat) -> bool {
    folder.st_mode & 0o022 != 0 || folder.st_uid != user()
}

/// Lets every user that may write in the folder of an open file, which `open` opens, write the file, if it is this process's. What root makes in
/// another's folder becomes his.
pub fn share_writing(fd: BorrowedFd<'_>, file: &libc::stat, folder: &libc::stat, open: impl FnOnce() -> Option<OwnedFd>) {
    if !is_shared(folder) || file.st_uid != user() {
        return;
    }
    // The bits of writing, and those of reading beside them; where there is a list, those of a group say only that somebody may.
    let wanted = file.st_mode | ((folder.st_mode & 0o022) * 3);
    let group = if folder.st_mode & 0o020 != 0 { give_group(fd, file, folder.st_gid) } else { None };
    let owner = give_owner(fd, file, folder.st_uid);
    if wanted == file.st_mode && owner.is_none() {
        return;
    }
    let copied = open().and_then(|folder| super::copy_access_list(folder.as_fd(), fd, false, [owner, group]));
    if !matches!(copied, Some(Ok(()))) && wanted != file.st_mode {
        // SAFETY: no memory is involved.
        let _ = unsafe { libc::fchmod(fd.as_raw_fd(), wanted & 0o777) };
    }
}

/// Locks an open folder, without waiting.
pub fn lock_folder(fd: BorrowedFd<'_>) -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }
}

/// Returns the size of a page of memory.
pub fn page_size() -> usize {
    // SAFETY: sysconf has no preconditions.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// Returns the bytes of memory that the machine has; less than 2 where it does not tell.
pub fn machine_memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    (pages.max(0) as u64).saturating_mul(size.max(0) as u64)
}

/// Maps `len` bytes of new memory, whole pages, at a multiple of `align`, itself one of a page; an error number if the system has no room.
pub fn map(len: usize, align: usize) -> Result<*mut u8, i32> {
    let page = page_size();
    let mapped = if align > page { len.checked_add(align - page).ok_or(libc::ENOMEM)? } else { len };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping anywhere.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(last_errno());
    }
    let before = (start as usize).next_multiple_of(align) - start as usize;
    let first = start.wrapping_byte_add(before);
    // SAFETY: the ends of the new mapping, whole pages of it that are given to nothing yet.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        if mapped - len > before {
            libc::munmap(first.wrapping_byte_add(len), mapped - len - before);
        }
    }
    Ok(first.cast())
}

/// Gives back what [`map`] gave.
///
/// # Safety
/// The memory was mapped by [`map`] with that length, and nobody uses it any more.
pub unsafe fn unmap(first: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(first.cast(), len) };
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: i32, former: *mut i32) -> i32;
}

/// Lets no other thread cancel this one (`pthread_cancel`), which would unwind frames that cannot be; returns the former state.
#[inline]
pub fn hold_cancel() -> i32 {
    let mut former = 0;
    // SAFETY: `former` is writable.
    unsafe { pthread_setcancelstate(super::CANCEL_DISABLE, &mut former) };
    former
}

/// Sets the state that [`hold_cancel`] returned. What was asked for meanwhile happens at the thread's next call that may be cancelled.
#[inline]
pub fn set_cancel(state: i32) {
    let mut former = 0;
    // SAFETY: `former` is writable.
    unsafe { pthread_setcancelstate(state, &mut former) };
}

/// Has the system call these functions before each fork, after it, and in the child.
pub fn at_fork(before: extern "C" fn(), after: extern "C" fn(), in_child: extern "C" fn()) {
    // SAFETY: the functions are there as long as the process: the library is never unloaded.
    unsafe { libc::pthread_atfork(Some(before), Some(after), Some(in_child)) };
}

/// Has the system call `end` with `value` when this thread ends; false if it cannot. All calls name the same `end`.
pub fn at_end_of_thread(end: unsafe extern "C" fn(*mut c_void), value: &impl Sized) -> bool {
    // The key and 1; 0: none yet. No thread waits for another here: a child of `fork` would for ever.
    static KEY: AtomicU64 = AtomicU64::new(0);
    if KEY.load(Relaxed) == 0 {
        let mut key = 0;
        // SAFETY: the function is there as long as the process: the library is never unloaded.
        if unsafe { libc::pthread_key_create(&mut key, Some(end)) } != 0 {
            return false;
        }
        if KEY.compare_exchange(0, u64::from(key) + 1, Relaxed, Relaxed).is_err() {
            // SAFETY: made above, and used by nobody.
            unsafe { libc::pthread_key_delete(key) };
        }
    }
    let key = (KEY.load(Relaxed) - 1) as libc::pthread_key_t;
    // SAFETY: the key was made by one of the threads; the value is only looked at by `end`.
    unsafe { libc::pthread_setspecific(key, std::ptr::from_ref(value).cast()) == 0 }
}

/// A thread that was started.
pub struct ThreadHandle(libc::pthread_t);

impl ThreadHandle {
    /// Starts a thread with all signals blocked; an error number if there can be none, and then `beginning` is as it was.
    ///
    /// # Safety
    /// `run` may be called with `beginning`, once, in another thread.
    pub unsafe fn start(stack: usize, run: extern "C" fn(*mut c_void) -> *mut c_void, beginning: *mut c_void) -> Result<ThreadHandle, i32> {
        // SAFETY: signal sets and attributes are initialised by the calls that take them first.
        unsafe {
            let (mut all, mut old) = (MaybeUninit::<libc::sigset_t>::zeroed(), MaybeUninit::<libc::sigset_t>::zeroed());
            let (mut attributes, mut thread) = (MaybeUninit::<libc::pthread_attr_t>::zeroed(), MaybeUninit::<libc::pthread_t>::zeroed());
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), stack);
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), old.as_mut_ptr());
            let failed = libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), run, beginning);
            libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), std::ptr::null_mut());
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            if failed == 0 { Ok(ThreadHandle(thread.assume_init())) } else { Err(failed) }
        }
    }

    /// Waits for its end.
    pub fn join(self) {
        // SAFETY: the thread was started joinable; this value is the only one that names it, and is not dropped.
        unsafe { libc::pthread_join(self.0, std::ptr::null_mut()) };
        std::mem::forget(self);
    }
}

impl Drop for ThreadHandle {
    fn drop(&mut self) {
        // SAFETY: the thread was started joinable; this value is the only one that names it.
        unsafe { libc::pthread_detach(self.0) };
    }
}

/// Keeps all signals away from the calling thread.
pub fn block_signals() {
    // SAFETY: the set is filled before it is used; the call changes this thread only.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Returns whether the name of the calling thread begins so.
pub fn thread_name_begins(beginning: &CStr) -> bool {
    let mut name = [0u8; 16];
    // SAFETY: room for the longest name that a thread has.
    let failed = unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
    failed == 0 && name.starts_with(beginning.to_bytes())
}
