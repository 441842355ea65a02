//! What the library calls of Windows, and how its paths and statuses are those of POSIX.

use super::codes;
pub use super::codes::errno_of_code;
use super::rights::LOOK;
use std::ffi::c_void;

/// A handle as a number.
pub type Handle = isize;

/// Stands for the current folder.
pub const HERE: Handle = -100;

/// A counted text of UTF-16.
#[repr(C)]
pub struct UnicodeString {
    pub bytes: u16,
    pub room: u16,
    pub text: *const u16,
}

/// What names a file: a path below an open folder, or a whole one.
#[repr(C)]
pub struct ObjectAttributes {
    pub size: u32,
    pub folder: Handle,
    pub name: *const UnicodeString,
    pub attributes: u32,
    pub security: *const c_void,
    pub quality: *const c_void,
}

/// What a call tells beside its status.
#[repr(C)]
#[derive(Default)]
pub struct IoStatus {
    pub status: isize,
    pub information: usize,
}

/// The place in a file that a call is about.
#[repr(C)]
#[derive(Default)]
pub struct Overlapped {
    pub internal: [usize; 2],
    pub offset: u64,
    pub event: Handle,
}

impl Overlapped {
    /// That of an offset.
    pub fn at(offset: u64) -> Overlapped {
        Overlapped { offset, ..Overlapped::default() }
    }
}

/// `BY_HANDLE_FILE_INFORMATION`.
#[repr(C)]
#[derive(Default)]
pub struct FileInformation {
    pub attributes: u32,
    pub times: [[u32; 2]; 3],
    pub volume: u32,
    pub size: [u32; 2],
    pub links: u32,
    pub index: [u32; 2],
}

/// `MEMORYSTATUSEX`.
#[repr(C)]
#[derive(Default)]
pub struct MemoryStatus {
    pub size: u32,
    pub load: u32,
    pub bytes: [u64; 7],
}

/// `MEMORY_BASIC_INFORMATION`.
#[repr(C)]
#[derive(Default)]
pub struct MemoryRegion {
    pub first: usize,
    pub allocated_at: usize,
    pub rest: [usize; 4],
}

pub const SHARE_ALL: u32 = 7;
pub const NORMAL: u32 = 0x80;
pub const IS_FOLDER: u32 = 0x10;
pub const IS_REPARSE_POINT: u32 = 0x400;
pub const OPEN: u32 = 1;
pub const CREATE: u32 = 2;
pub const OPEN_IF: u32 = 3;
pub const FOLDER: u32 = 1;
pub const SYNCHRONOUS: u32 = 0x20;
pub const NO_FOLDER: u32 = 0x40;
pub const FOR_BACKUP: u32 = 0x4000;
pub const THE_LINK: u32 = 0x0020_0000;
pub const DUPLICATE_SAME_ACCESS: u32 = 2;
pub const LOCK_AT_ONCE: u32 = 1;
pub const LOCK_ALONE: u32 = 2;

// Classes of NtSetInformationFile; those of POSIX semantics are of Windows 10 and file systems that can.
pub const RENAME: u32 = 10;
pub const LINK: u32 = 11;
pub const DISPOSITION: u32 = 13;
pub const DISPOSITION_POSIX: u32 = 64;
pub const RENAME_POSIX: u32 = 65;

// Classes of GetFileInformationByHandleEx and SetFileInformationByHandle.
pub const BASIC_INFO: u32 = 0;
pub const STANDARD_INFO: u32 = 1;
pub const TAG_INFO: u32 = 9;
pub const END_OF_FILE_INFO: u32 = 6;
pub const FOLDER_INFO: u32 = 10;

#[link(name = "ntdll")]
unsafe extern "system" {
    pub fn NtCreateFile(
        handle: *mut Handle,
        access: u32,
        object: *const ObjectAttributes,
        status: *mut IoStatus,
        allocated: *const i64,
        attributes: u32,
        share: u32,
        disposition: u32,
        options: u32,
        ea: *const c_void,
        ea_len: u32,
    ) -> i32;
    pub fn NtSetInformationFile(handle: Handle, status: *mut IoStatus, of: *const c_void, len: u32, class: u32) -> i32;
    pub fn RtlDllShutdownInProgress() -> u8;
    pub fn RtlNtStatusToDosError(status: i32) -> u32;
}

#[link(name = "kernel32")]
unsafe extern "system" {
    pub fn CloseHandle(handle: Handle) -> i32;
    pub fn CreateThread(
        security: *const c_void,
        stack: usize,
        run: unsafe extern "system" fn(*mut c_void) -> u32,
        with: *mut c_void,
        flags: u32,
        id: *mut u32,
    ) -> Handle;
    pub fn DuplicateHandle(from: Handle, handle: Handle, to: Handle, made: *mut Handle, access: u32, inherit: i32, options: u32) -> i32;
    pub fn FlushFileBuffers(handle: Handle) -> i32;
    pub fn GetFileInformationByHandle(handle: Handle, of: *mut FileInformation) -> i32;
    pub fn GetFileInformationByHandleEx(handle: Handle, class: u32, of: *mut c_void, len: u32) -> i32;
    pub fn GetModuleHandleExW(flags: u32, name: *const c_void, module: *mut Handle) -> i32;
    pub fn GlobalMemoryStatusEx(status: *mut MemoryStatus) -> i32;
    pub fn LockFileEx(handle: Handle, flags: u32, reserved: u32, low: u32, high: u32, at: *mut Overlapped) -> i32;
    pub fn ReadFile(handle: Handle, to: *mut c_void, len: u32, got: *mut u32, at: *mut Overlapped) -> i32;
    pub fn SetFileInformationByHandle(handle: Handle, class: u32, of: *const c_void, len: u32) -> i32;
    pub fn SetFilePointerEx(handle: Handle, distance: i64, position: *mut i64, from: u32) -> i32;
    pub fn UnlockFileEx(handle: Handle, reserved: u32, low: u32, high: u32, at: *mut Overlapped) -> i32;
    pub fn VirtualAlloc(first: *mut c_void, len: usize, kind: u32, access: u32) -> *mut c_void;
    pub fn VirtualFree(first: *mut c_void, len: usize, kind: u32) -> i32;
    pub fn VirtualQuery(first: *const c_void, region: *mut MemoryRegion, len: usize) -> usize;
    pub fn WaitForSingleObject(handle: Handle, milliseconds: u32) -> u32;
    pub fn WriteFile(handle: Handle, from: *const c_void, len: u32, put: *mut u32, at: *mut Overlapped) -> i32;
}

/// A path as the system's core takes it: UTF-16, backslashes, whole ones with their device in front.
pub struct NtPath {
    text: Vec<u16>,
    pub is_whole: bool,
}

impl NtPath {
    /// Reads a path of UTF-8, below a folder (`.`: the folder itself) or whole.
    pub fn of(path: &[u8]) -> Result<NtPath, i32> {
        let path = std::str::from_utf8(path).map_err(|_| libc::EILSEQ)?;
        Ok(NtPath::of_text(&path.replace('/', "\\")))
    }

    fn of_text(path: &str) -> NtPath {
        let (device, rest) = match path.strip_prefix("\\\\") {
            Some(rest) => match rest.strip_prefix("?\\").or(rest.strip_prefix(".\\")) {
                Some(rest) => ("\\??\\", rest),
                None => ("\\??\\UNC\\", rest),
            },
            None if path.as_bytes().get(1) == Some(&b':') => ("\\??\\", path),
            None => ("", if path == "." { "" } else { path }),
        };
        NtPath { text: device.encode_utf16().chain(rest.encode_utf16()).collect(), is_whole: !device.is_empty() }
    }

    /// The path, a whole one if it counts from the current folder.
    pub fn seen_from(self, folder: Handle) -> NtPath {
        if folder != HERE || self.is_whole {
            return self;
        }
        let path = std::path::absolute(String::from_utf16_lossy(&self.text)).unwrap_or_default();
        NtPath::of_text(&path.to_string_lossy())
    }

    /// The path without its last name; `None` where there is no more to take.
    fn above(&self) -> Option<NtPath> {
        let end = self.text.iter().rposition(|&c| c == u16::from(b'\\'))?;
        (!self.is_whole || end > 6).then(|| NtPath { text: self.text[..end].to_vec(), is_whole: self.is_whole })
    }

    /// Its characters.
    pub fn text(&self) -> &[u16] {
        &self.text
    }

    /// Opens what it names.
    pub fn open(&self, folder: Handle, access: u32, disposition: u32, options: u32) -> Result<Handle, i32> {
        let bytes = u16::try_from(self.text.len() * 2).map_err(|_| libc::ENAMETOOLONG)?;
        let name = UnicodeString { bytes, room: bytes, text: self.text.as_ptr() };
        let object = ObjectAttributes {
            size: size_of::<ObjectAttributes>() as u32,
            folder: if self.is_whole { 0 } else { folder },
            name: &name,
            attributes: 0x40, // OBJ_CASE_INSENSITIVE
            security: std::ptr::null(),
            quality: std::ptr::null(),
        };
        let (mut handle, mut status) = (0, IoStatus::default());
        // SAFETY: all that is pointed to lives through the call.
        let failed = unsafe {
            NtCreateFile(
                &mut handle,
                access,
                &object,
                &mut status,
                std::ptr::null(),
                NORMAL,
                SHARE_ALL,
                disposition,
                options | SYNCHRONOUS,
                std::ptr::null(),
                0,
            )
        };
        match failed {
            0.. => Ok(handle),
            PATH_NOT_FOUND if self.is_below_a_file(folder) => Err(libc::ENOTDIR),
            failed => Err(errno_of_status(failed)),
        }
    }

    /// Says whether something on the way is no folder, which the system does not tell from nothing.
    fn is_below_a_file(&self, folder: Handle) -> bool {
        let Some(above) = self.above() else { return false };
        match above.open(folder, LOOK, OPEN, FOR_BACKUP) {
            Ok(handle) => {
                let mut known = FileInformation::default();
                // SAFETY: the handle was opened above; `known` is writable.
                let told = unsafe { GetFileInformationByHandle(handle, &mut known) } != 0;
                // SAFETY: used by nobody any more.
                unsafe { CloseHandle(handle) };
                told && known.attributes & IS_FOLDER == 0
            }
            Err(errno) => errno == libc::ENOTDIR,
        }
    }
}

const PATH_NOT_FOUND: i32 = 0xc000_003a_u32 as i32;

/// The error number of a status of the system's core.
pub fn errno_of_status(status: i32) -> i32 {
    // SAFETY: a table is looked at.
    codes::errno_of_status(status as u32).unwrap_or_else(|| errno_of_code(unsafe { RtlNtStatusToDosError(status) } as i32))
}

/// The reason for which a call of Windows failed just now.
pub fn last() -> i32 {
    errno_of_code(std::io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

unsafe extern "C" {
    fn _errno() -> *mut i32;
}

/// Returns where the calling thread has the `errno` of the C runtime.
#[inline]
pub fn errno() -> *mut i32 {
    // SAFETY: the call has no preconditions.
    unsafe { _errno() }
}
