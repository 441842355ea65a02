//! Windows 10 or later. Run in Wine only.

mod codes;
mod fd;
pub mod libc;
mod locks;
mod nt;
mod rights;

pub use self::codes::can_name;
pub use self::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, hold_standard, off_standard};
pub use self::nt::errno;
pub use self::rights::{O_PATH, O_TO_SYNC};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_void};
use std::os::windows::ffi::OsStringExt;
use std::path::{Path, PathBuf};
pub use std::sync::atomic::AtomicIsize as AtomicFd;
use std::sync::atomic::Ordering::AcqRel;

thread_local! {
    /// The name of a thread of the library's own.
    static NAME: Cell<&'static CStr> = const { Cell::new(c"") };
}

/// Returns 0: no thread is cancelled here.
pub fn hold_cancel() -> i32 {
    0
}

/// Does nothing.
pub fn set_cancel(_: i32) {}

/// Returns why the last call of this thread failed.
pub fn last_errno() -> i32 {
    // SAFETY: the address is valid in every thread.
    unsafe { *errno() }
}

/// Returns the error number of a failure that the standard library tells; `None` if it has another cause than the system.
pub fn errno_of(e: &std::io::Error) -> Option<i32> {
    e.raw_os_error().map(nt::errno_of_code)
}

/// Returns what says an error number in words.
pub fn text_of(errno: i32) -> impl std::fmt::Display {
    let known = match errno {
        libc::EDQUOT => "Disk quota exceeded",
        libc::ELOOP => "A link in the way",
        libc::ENOTSUP => "Not supported",
        libc::ESTALE => "The file is being deleted",
        // SAFETY: the C runtime has a text of each thread's own for every number.
        _ => unsafe { CStr::from_ptr(libc::strerror(errno)) }.to_str().unwrap_or("Unknown error"),
    };
    format!("{known} (os error {errno})")
}

/// Makes a path of bytes; `None` if they are not UTF-8.
pub fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

/// Returns 0: no file is kept open, as older file systems of Windows could not replace it.
pub fn most_files() -> usize {
    0
}

/// Returns true: a process is never taken for gone.
pub fn has_process(_: u32) -> bool {
    true
}

/// Returns the size of a page of memory.
pub fn page_size() -> usize {
    4096
}

/// Returns the bytes of memory that the machine has; less than 2 where it does not tell.
pub fn machine_memory() -> u64 {
    let mut status = nt::MemoryStatus { size: size_of::<nt::MemoryStatus>() as u32, ..nt::MemoryStatus::default() };
    // SAFETY: `status` is writable, and says its size.
    let told = unsafe { nt::GlobalMemoryStatusEx(&mut status) } != 0;
    if told { status.bytes[0] } else { 0 }
}

/// Maps `len` bytes of new memory, whole pages, at a multiple of `align`, itself one of a page; `Err` has an error number.
pub fn map(len: usize, align: usize) -> Result<*mut u8, i32> {
    let room = len.checked_add(align).ok_or(libc::ENOMEM)?;
    // SAFETY: new memory anywhere: reserved and committed, to be read and written.
    let start = unsafe { nt::VirtualAlloc(std::ptr::null_mut(), room, 0x3000, 4) };
    if start.is_null() {
        return Err(libc::ENOMEM);
    }
    Ok(start.wrapping_byte_add(start.addr().next_multiple_of(align) - start.addr()).cast())
}

/// Gives back what [`map`] gave.
///
/// # Safety
/// The memory was mapped by [`map`], and nobody uses it any more.
pub unsafe fn unmap(first: *mut u8, _: usize) {
    let mut region = nt::MemoryRegion::default();
    // SAFETY: `region` is writable for its size; what is freed is the whole of what was allocated.
    unsafe {
        if nt::VirtualQuery(first.cast(), &mut region, size_of::<nt::MemoryRegion>()) != 0 {
            nt::VirtualFree(std::ptr::with_exposed_provenance_mut(region.allocated_at), 0, 0x8000);
        }
    }
}

/// Does nothing: there is no fork.
pub fn at_fork(_: extern "C" fn(), _: extern "C" fn(), _: extern "C" fn()) {}

/// Does nothing, with success: the variables of a thread end with it by themselves.
pub fn at_end_of_thread(_: unsafe extern "C" fn(*mut c_void), _: &impl Sized) -> bool {
    true
}

/// Returns whether the process ends, and has no other thread any more.
pub fn process_ends() -> bool {
    // SAFETY: the call has no preconditions.
    unsafe { nt::RtlDllShutdownInProgress() != 0 }
}

/// A thread that was started.
pub struct ThreadHandle(OwnedFd);

/// A thread's first function and what it is called with.
type First = (extern "C" fn(*mut c_void) -> *mut c_void, *mut c_void);

unsafe extern "system" fn first_of_thread(first: *mut c_void) -> u32 {
    // SAFETY: `ThreadHandle::start` gave it away to this thread, once.
    let (run, beginning) = *unsafe { Box::from_raw(first.cast::<First>()) };
    run(beginning);
    0
}

/// Keeps what this code is in loaded as long as the process: threads of the library's own would go on where nothing is any more.
fn keep_loaded() {
    const PIN_BY_ADDRESS: u32 = 1 | 4;
    let mut module = 0;
    // SAFETY: the address is one in the module that is looked for; `module` is writable.
    unsafe { nt::GetModuleHandleExW(PIN_BY_ADDRESS, first_of_thread as *const c_void, &mut module) };
}

impl ThreadHandle {
    /// Starts a thread; an error number if there can be none, and then `beginning` is as it was.
    ///
    /// # Safety
    /// `run` may be called with `beginning`, once, in another thread.
    pub unsafe fn start(stack: usize, run: extern "C" fn(*mut c_void) -> *mut c_void, beginning: *mut c_void) -> Result<ThreadHandle, i32> {
        const STACK_IS_RESERVED: u32 = 0x1_0000;
        keep_loaded();
        let first: *mut First = Box::into_raw(Box::new((run, beginning)));
        // SAFETY: the new thread takes over `first`, unless none was started.
        unsafe {
            let handle = nt::CreateThread(std::ptr::null(), stack, first_of_thread, first.cast(), STACK_IS_RESERVED, std::ptr::null_mut());
            if handle == 0 {
                drop(Box::from_raw(first));
                return Err(libc::EAGAIN);
            }
            Ok(ThreadHandle(OwnedFd::from_raw_fd(handle)))
        }
    }

    /// Waits for its end.
    pub fn join(self) {
        // SAFETY: the handle is open.
        unsafe { nt::WaitForSingleObject(self.0.as_raw_fd(), u32::MAX) };
    }
}

/// Notes that the calling thread is one of the library's own; there are no signals.
pub fn block_signals() {
    name_thread(c"ozarr");
}

/// Gives the calling thread a name, which only the library knows.
pub fn name_thread(name: &'static CStr) {
    NAME.set(name);
}

/// Returns whether the name of the calling thread begins so.
pub fn thread_name_begins(beginning: &CStr) -> bool {
    NAME.try_with(|name| name.get().to_bytes().starts_with(beginning.to_bytes())).unwrap_or(false)
}

/// Makes `kept` a handle of the file that `fd` is of. The former one stays open, because other threads may be using it.
pub fn replace(fd: BorrowedFd<'_>, kept: &AtomicFd) -> i32 {
    match fd.try_clone_to_owned() {
        Ok(own) => {
            kept.swap(own.into_raw_fd(), AcqRel);
            0
        }
        Err(e) => failed(errno_of(&e).unwrap_or(libc::EIO)),
    }
}

/// Sets `errno`, and returns what a failed call returns.
fn failed(errno_value: i32) -> i32 {
    // SAFETY: the address is valid in every thread.
    unsafe { *errno() = errno_value };
    -1
}

/// Renames within `dir` if `to` names nothing.
pub fn rename_new(dir: BorrowedFd<'_>, from: &CStr, to: &CStr) -> i32 {
    libc::rename_file(dir.as_raw_fd(), from.as_ptr(), to.as_ptr(), false).map_or_else(failed, |()| 0)
}

/// Returns false: files that are open are not compared with those of their names (see `Object::watched`).
pub fn keeps_removed(_: BorrowedFd<'_>) -> bool {
    false
}

/// Returns `None`: where something is mounted is known by the device alone.
pub fn is_mounted(_: BorrowedFd<'_>, _: &CStr) -> Option<bool> {
    None
}

/// Returns `None`: what another drive's letter stands for is known by its numbers alone.
pub fn name_in_volume(_: &Path) -> Option<PathBuf> {
    None
}

/// Returns true: no lock on a folder tells anything (see [`lock_folder`]), wherever it is.
pub fn is_local(_: BorrowedFd<'_>) -> bool {
    true
}

/// Leaves the access that a new folder gets from the one that it is in.
pub fn take_access(_: BorrowedFd<'_>, _: BorrowedFd<'_>) -> Result<(), i32> {
    Ok(())
}

/// Makes the new folder one for reading only where the old one is.
pub fn give_access((old, _): (&Path, BorrowedFd<'_>), (new, _): (&Path, BorrowedFd<'_>)) -> Result<(), i32> {
    if let Ok(known) = std::fs::metadata(old) {
        let _ = std::fs::set_permissions(new, known.permissions());
    }
    Ok(())
}

/// Leaves it to the call that changes something.
pub fn may_change(_: BorrowedFd<'_>, _: &CStr) -> i32 {
    0
}

/// Leaves it to the call that removes something.
pub fn keeps_names(_: BorrowedFd<'_>, _: &CStr) -> bool {
    false
}

/// There are no such folders.
pub fn is_sticky(_: &libc::stat) -> bool {
    false
}

/// Leaves it to the call that removes something.
pub fn is_kept(_: &libc::stat, _: &libc::stat) -> bool {
    false
}

/// Leaves the access that a new file gets from its folder.
pub fn share_writing(_: BorrowedFd<'_>, _: &libc::stat, _: &libc::stat, _: impl FnOnce() -> Option<OwnedFd>) {}

/// Leaves the rights to write in a folder to the system.
pub fn is_shared(_: &libc::stat) -> bool {
    false
}

/// Users have no numbers here.
pub fn user() -> u32 {
    0
}

/// Returns false: folders have access lists, which what is made in them gets.
pub fn is_of_another(_: &libc::stat) -> bool {
    false
}

/// Leaves the access that a new file gets from its folder.
pub fn is_for_all(_: &libc::stat) -> bool {
    true
}

/// Does nothing.
pub fn share_reading(_: (BorrowedFd<'_>, &libc::stat), _: (BorrowedFd<'_>, &libc::stat)) {}

/// Fails: an open folder cannot be renamed.
pub fn lock_folder(_: BorrowedFd<'_>) -> i32 {
    failed(libc::ENOSYS)
}

/// Fails: folders change their names one after the other.
pub fn exchange(_: &CStr, _: &CStr) -> i32 {
    failed(libc::ENOSYS)
}

/// Makes a file's bytes durable, which was opened for writing. One that is being deleted needs it no more.
pub fn fdatasync(fd: BorrowedFd<'_>) -> i32 {
    // SAFETY: the handle is open.
    if unsafe { nt::FlushFileBuffers(fd.as_raw_fd()) } != 0 {
        return 0;
    }
    let why = nt::last();
    let mut known = libc::stat::default();
    // SAFETY: `known` is writable.
    let told = unsafe { libc::fstat(fd.as_raw_fd(), &mut known) } == 0;
    if told && known.st_nlink == 0 { 0 } else { failed(why) }
}

/// Does nothing, with success: the file system keeps a journal of names.
pub fn fsync_folder(_: BorrowedFd<'_>) -> i32 {
    0
}

/// What the file system calls a file by, beside its number: nothing, because NTFS never gives a number again.
pub struct FileHandle;

impl FileHandle {
    /// Returns `None`.
    pub fn of(_: BorrowedFd<'_>) -> Option<FileHandle> {
        None
    }

    /// Returns no bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &[]
    }
}

/// The names of a folder, some at a time.
pub struct Names(Vec<u64>);

impl Names {
    /// None yet, with room for many.
    pub fn none() -> Names {
        Names(vec![0; 4096])
    }

    /// Asks for the names that come next in an open folder: 0 if there are no more.
    pub fn next(&mut self, folder: BorrowedFd<'_>) -> i64 {
        const NO_MORE_FILES: i32 = 18;
        let room = self.0.len() as u32 * 8;
        // SAFETY: the records are writable for `room` bytes.
        if unsafe { nt::GetFileInformationByHandleEx(folder.as_raw_fd(), nt::FOLDER_INFO, self.0.as_mut_ptr().cast(), room) } != 0 {
            return 1;
        }
        match std::io::Error::last_os_error() {
            e if e.raw_os_error() == Some(NO_MORE_FILES) => 0,
            e => failed(errno_of(&e).unwrap_or(libc::EIO)).into(),
        }
    }

    /// Calls `give` with each of them and its kind (`DT_…`); false if the system told no names.
    pub fn each(&self, mut give: impl FnMut(&CStr, u8)) -> bool {
        const HEAD: usize = 104; // of FILE_ID_BOTH_DIR_INFO, whose name follows
        // SAFETY: u64 has no padding.
        let mut rest = unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<u8>(), self.0.len() * 8) };
        loop {
            let number = |at: usize| rest.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes);
            let (Some(next), Some(attributes), Some(len)) = (number(0), number(56), number(60)) else { return false };
            // Of a reparse point the size of its attributes is its tag.
            let tag = number(64).unwrap_or_default();
            let Some(name) = rest.get(HEAD..).and_then(|rest| rest.get(..len as usize)) else { return false };
            let name: Vec<u16> = name.chunks_exact(2).map(|c| u16::from_ne_bytes([c[0], c[1]])).collect();
            let Ok(name) = CString::new(std::ffi::OsString::from_wide(&name).into_encoded_bytes()) else { return false };
            let kind = match attributes {
                _ if attributes & nt::IS_REPARSE_POINT != 0 && codes::is_tag_of_link(tag) => libc::DT_LNK,
                _ if attributes & nt::IS_FOLDER != 0 => libc::DT_DIR,
                _ => libc::DT_REG,
            };
            give(&name, kind);
            match rest.get(next as usize..) {
                Some(following) if next > 0 => rest = following,
                _ => return true,
            }
        }
    }
}

/// Returns `None`: what a killed process has left stays, hidden from listings.
pub fn machine_run() -> Option<String> {
    None
}

/// Returns `None`, as [`machine_run`] does.
pub fn start_of(_: u32) -> Option<u64> {
    None
}

/// Returns false, as [`has_process`] returns true.
pub fn has_ended(_: u32) -> bool {
    false
}
