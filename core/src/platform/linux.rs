//! Linux, with glibc or musl.

use super::AtomicFd;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

/// The number of overlayfs ([`file_system`]).
const OVERLAY: u32 = 0x794c_7630;

/// Opens a folder as a place for other calls only, which takes no right to list it.
pub const O_PATH: i32 = libc::O_PATH;

/// The state of a thread that cannot be cancelled (`PTHREAD_CANCEL_DISABLE`).
pub(super) const CANCEL_DISABLE: i32 = 1;

/// Returns where the calling thread has its `errno`.
#[inline]
pub fn errno() -> *mut i32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::__errno_location() }
}

/// Gives the calling thread a name of at most 15 bytes.
pub fn name_thread(name: &CStr) {
    // SAFETY: the name ends in NUL.
    unsafe { libc::pthread_setname_np(libc::pthread_self(), name.as_ptr()) };
}

/// Makes the descriptor `kept` one of the file that `fd` is of, at once for all threads; -1 is failure, as of all calls here.
pub fn replace(fd: BorrowedFd<'_>, kept: &AtomicFd) -> i32 {
    // SAFETY: both are open; `kept` stays open, and its owner's.
    unsafe { libc::dup3(fd.as_raw_fd(), kept.load(Relaxed), libc::O_CLOEXEC) }
}

/// Renames within `dir` if `to` names nothing.
pub fn rename_new(dir: BorrowedFd<'_>, from: &CStr, to: &CStr) -> i32 {
    let d = dir.as_raw_fd();
    // SAFETY: both paths end in NUL.
    unsafe { renameat2(d, from.as_ptr(), d, to.as_ptr(), libc::RENAME_NOREPLACE) }
}

/// Gives each of two folders the name of the other, at once.
pub fn exchange(one: &CStr, other: &CStr) -> i32 {
    // SAFETY: both paths end in NUL.
    unsafe { renameat2(libc::AT_FDCWD, one.as_ptr(), libc::AT_FDCWD, other.as_ptr(), libc::RENAME_EXCHANGE) }
}

/// Whether an open file that was removed may look as if it still had its name: some file systems give it another one, as NFS does, or tell of files
/// what they were like when they were opened, as overlayfs does of those that a lower layer holds.
pub fn keeps_removed(fd: BorrowedFd<'_>) -> bool {
    const NFS: u32 = 0x6969;
    const FUSE: u32 = 0x6573_5546;
    const PLAN_9: u32 = 0x0102_1997;
    const CIFS: u32 = 0xff53_4d42;
    const SMB2: u32 = 0xfe53_4d42;
    matches!(file_system(fd), Some(NFS | FUSE | PLAN_9 | CIFS | SMB2 | OVERLAY))
}

/// Whether a lock on an open file tells all processes that reach it, because only this machine's kernel does. What is not known may be a file
/// system on a network.
pub fn is_local(fd: BorrowedFd<'_>) -> bool {
    const EXT: u32 = 0xef53;
    const XFS: u32 = 0x5846_5342;
    const BTRFS: u32 = 0x9123_683e;
    const BCACHEFS: u32 = 0xca45_1a4e;
    const ZFS: u32 = 0x2fc1_2fc1;
    const F2FS: u32 = 0xf2f5_2010;
    const TMPFS: u32 = 0x0102_1994;
    const RAMFS: u32 = 0x8584_58f6;
    const FAT: u32 = 0x4d44;
    const EXFAT: u32 = 0x2011_bab0;
    const NTFS3: u32 = 0x7366_746e;
    matches!(file_system(fd), Some(EXT | XFS | BTRFS | BCACHEFS | ZFS | F2FS | TMPFS | RAMFS | OVERLAY | FAT | EXFAT | NTFS3))
}

/// Gives the number of the kind of file system that an open file is in.
fn file_system(fd: BorrowedFd<'_>) -> Option<u32> {
    let mut of = MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: `of` is writable.
    let told = unsafe { libc::fstatfs(fd.as_raw_fd(), of.as_mut_ptr()) } == 0;
    // SAFETY: filled by the call, and all zero before.
    let of = unsafe { of.assume_init() };
    // It has other types with musl and on machines of 32 bits, all of which hold these.
    told.then_some(of.f_type as u32)
}

/// Returns whether something is mounted at `name` in `dir`, be it a folder of the same file system; `None` where the system does not tell: Linux before
/// 5.8.
pub fn is_mounted(dir: BorrowedFd<'_>, name: &CStr) -> Option<bool> {
    /// `STATX_ATTR_MOUNT_ROOT`, which musl's C library may lack with the function.
    const MOUNT_ROOT: u64 = 0x2000;
    let [attributes, told] = attributes(dir, name)?;
    (told & MOUNT_ROOT != 0).then_some(attributes & MOUNT_ROOT != 0)
}

/// Whether a folder lets nobody remove what is in it: it is immutable, or only appended to.
pub fn keeps_names(dir: BorrowedFd<'_>, name: &CStr) -> bool {
    /// `STATX_ATTR_IMMUTABLE` and `STATX_ATTR_APPEND`.
    const KEEPS: u64 = 0x10 | 0x20;
    attributes(dir, name).is_some_and(|[attributes, told]| attributes & told & KEEPS != 0)
}

/// The attributes of a name in `dir`, and which of them are told.
fn attributes(dir: BorrowedFd<'_>, name: &CStr) -> Option<[u64; 2]> {
    let words = statx(dir, name, libc::AT_SYMLINK_NOFOLLOW | libc::AT_NO_AUTOMOUNT)?;
    Some([words[1], words[7]])
}

/// Gives the name that a file or folder has in its file system, wherever that is mounted: `path` has no links in it. `None` where the system does not tell; what
/// some file systems tell is another one's.
pub fn name_in_volume(path: &Path) -> Option<PathBuf> {
    /// `STATX_MNT_ID`, which the system tells unasked.
    const MOUNT_ID: u64 = 0x1000;
    const MOUNT: usize = 18;
    let name = CString::new(path.as_os_str().as_encoded_bytes()).ok()?;
    // SAFETY: stands for the current folder.
    let words = statx(unsafe { BorrowedFd::borrow_raw(libc::AT_FDCWD) }, &name, libc::AT_NO_AUTOMOUNT)?;
    let mount = (words[0] & MOUNT_ID != 0).then(|| words[MOUNT].to_string())?;
    let mounts = std::fs::read("/proc/thread-self/mountinfo").ok()?;
    let fields = mounts.split(|&b| b == b'\n').map(|line| line.split(|&b| b == b' ')).find_map(|mut fields| {
        let is_it = fields.next() == Some(mount.as_bytes());
        is_it.then_some(fields)
    });
    // Behind the numbers of the mount above and of the device: what of the file system is mounted, and where.
    let mut fields = fields?.skip(2).map(unescaped);
    let (root, at) = (fields.next()??, fields.next()??);
    path.strip_prefix(at).ok().map(|names| root.join(names))
}

/// A path as the table of mounts has it: blanks, ends of lines and backslashes are three octal digits behind a backslash.
fn unescaped(text: &[u8]) -> Option<PathBuf> {
    let (mut path, mut rest) = (Vec::new(), text);
    while let Some((&byte, behind)) = rest.split_first() {
        let number = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
        let escaped = (byte == b'\\').then(|| behind.get(..3)).flatten().and_then(number);
        path.push(escaped.unwrap_or(byte));
        rest = &behind[if escaped.is_some() { 3 } else { 0 }..];
    }
    super::path_of(path)
}

/// The numbers of the device and of the file that a descriptor is of, as they are known here: no server is asked, nor given first what was written. `None`
/// where the system does not tell.
pub fn numbers_known(fd: BorrowedFd<'_>) -> Option<[u64; 2]> {
    /// `AT_EMPTY_PATH` and `AT_STATX_DONT_SYNC`.
    const OF_FD_AS_KNOWN: i32 = 0x1000 | 0x4000;
    const INODE: usize = 4;
    const DEVICE: usize = 17;
    let words = statx(fd, c"", OF_FD_AS_KNOWN)?;
    let [a, b, c, d, rest @ ..] = words[DEVICE].to_ne_bytes();
    Some([libc::makedev(u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes(rest)), words[INODE]])
}

/// Whether a descriptor is none that was opened with `O_DIRECTORY`.
pub fn is_no_folder(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: asks for flags only.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    flags < 0 || flags & libc::O_DIRECTORY == 0
}

/// What `struct statx` has of a name in `dir`, in words of 8 bytes, where nothing is asked for but what is there anyway.
fn statx(dir: BorrowedFd<'_>, name: &CStr, flags: i32) -> Option<[u64; 32]> {
    let mut words = [0u64; 32];
    // SAFETY: the name ends in NUL, and `words` has the 256 bytes of the struct.
    let done = unsafe { libc::syscall(libc::SYS_statx, dir.as_raw_fd(), name.as_ptr(), flags, 0, words.as_mut_ptr()) };
    (done == 0).then_some(words)
}

/// Copies the access list of an open file or folder, or of a folder the one that what is made in it begins with; `None` without one, an error
/// number if it cannot be copied. The user and the group that are `left`, whose the copy is not, keep their rights by it.
pub fn copy_access_list(from: BorrowedFd<'_>, to: BorrowedFd<'_>, of_contents: bool, left: [Option<u32>; 2]) -> Option<Result<(), i32>> {
    const OF_OWN: [u16; 2] = [1, 4];
    const OF_NAMED: [u16; 2] = [2, 8];
    let name = if of_contents { c"system.posix_acl_default" } else { c"system.posix_acl_access" };
    let mut bytes = [0u8; 4096];
    // SAFETY: the text ends in NUL, and `bytes` is writable for its length.
    let len = unsafe { libc::fgetxattr(from.as_raw_fd(), name.as_ptr(), bytes.as_mut_ptr().cast(), bytes.len()) };
    // The file has no list, or its file system keeps none; one that is longer than any can be is not copied.
    let Ok(len) = usize::try_from(len) else { return Some(super::last_errno()).filter(|e| *e == libc::ERANGE).map(Err) };
    // Behind 4 bytes of a version each entry has 8: a tag, rights, and whose they are.
    let (head, entries) = bytes[..len].split_at_checked(4)?;
    let mut list = head.to_vec();
    let is_of = |entry: &[u8], tag: u16, whose: u32| entry[..2] == tag.to_ne_bytes() && entry[4..] == whose.to_ne_bytes();
    for entry in entries.chunks_exact(8) {
        let own = OF_OWN.iter().position(|tag| entry[..2] == tag.to_ne_bytes());
        let named = own.and_then(|own| Some((OF_NAMED[own], left[own]?)));
        let is_other_group = named.is_some() && own == Some(1);
        list.extend([&entry[..2], if is_other_group { &[0; 2] } else { &entry[2..4] }, &entry[4..]].concat());
        if let Some((tag, whose)) = named.filter(|(tag, whose)| !entries.chunks_exact(8).any(|entry| is_of(entry, *tag, *whose))) {
            list.extend([&tag.to_ne_bytes()[..], &entry[2..4], &whose.to_ne_bytes()].concat());
        }
    }
    // SAFETY: as above; `list` has its length.
    let set = unsafe { libc::fsetxattr(to.as_raw_fd(), name.as_ptr(), list.as_ptr().cast(), list.len(), 0) };
    Some(if set == 0 { Ok(()) } else { Err(super::last_errno()) })
}

#[cfg(not(target_env = "musl"))]
use libc::renameat2;

/// The system call itself: musl before 1.2.6 has no function for it.
#[cfg(target_env = "musl")]
unsafe fn renameat2(d: i32, from: *const libc::c_char, e: i32, to: *const libc::c_char, flags: u32) -> i32 {
    // SAFETY: the caller's promise: both paths end in NUL.
    unsafe { libc::syscall(libc::SYS_renameat2, d, from, e, to, flags) as i32 }
}

/// Makes a file's bytes durable.
pub fn fdatasync(fd: BorrowedFd<'_>) -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::fdatasync(fd.as_raw_fd()) }
}

/// Makes a folder's names durable.
pub fn fsync_folder(fd: BorrowedFd<'_>) -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::fsync(fd.as_raw_fd()) }
}

/// What the file system calls a file by, as long as it is there: another file with the inode number has another one.
#[repr(C, align(8))]
pub struct FileHandle {
    bytes: u32,
    kind: i32,
    data: [u8; 128],
}

impl FileHandle {
    /// That of an open file; `None` where the file system does not tell.
    pub fn of(fd: BorrowedFd<'_>) -> Option<FileHandle> {
        let mut handle = FileHandle { bytes: 128, kind: 0, data: [0; 128] };
        let mut mount = 0i32;
        // SAFETY: the struct has the layout of `struct file_handle` with room for `bytes` bytes; the path is empty.
        let r = unsafe {
            libc::syscall(libc::SYS_name_to_handle_at, fd.as_raw_fd(), c"".as_ptr(), &raw mut handle, &raw mut mount, libc::AT_EMPTY_PATH)
        };
        (r != -1).then_some(handle)
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.data[..(self.bytes as usize).min(128)]
    }
}

/// The names of a folder, some at a time.
pub struct Names {
    records: Vec<u64>,
    bytes: usize,
    /// The places of the name that was told last and of the one behind it.
    places: [i64; 2],
}

impl Names {
    /// None yet, with room for many.
    pub fn none() -> Names {
        Names { records: vec![0; 4096], bytes: 0, places: [0; 2] }
    }

    /// Goes to a place in an open folder that [`Names::last`] gave, or to 0, its beginning: what has come behind it since is told, too.
    pub fn go(&mut self, folder: BorrowedFd<'_>, place: i64) -> i64 {
        self.places = [place; 2];
        // SAFETY: no memory is involved.
        unsafe { libc::lseek(folder.as_raw_fd(), place, libc::SEEK_SET) }
    }

    /// Gives the place of the name that was told last.
    pub fn last(&self) -> i64 {
        self.places[0]
    }

    /// Asks for the names that come next in an open folder: 0 if there are no more.
    pub fn next(&mut self, folder: BorrowedFd<'_>) -> i64 {
        let room = self.records.len() * 8;
        // SAFETY: the records are writable for `room` bytes.
        let n = unsafe { libc::syscall(libc::SYS_getdents64, folder.as_raw_fd(), self.records.as_mut_ptr(), room) };
        self.bytes = usize::try_from(n).unwrap_or(0).min(room);
        n
    }

    /// Calls `give` with each of them and its kind (`DT_…`); false if the system told no names.
    pub fn each(&mut self, mut give: impl FnMut(&CStr, u8)) -> bool {
        const HEAD: usize = 19; // inode (8), offset (8), record length (2), type (1); then the name
        // SAFETY: the system filled `bytes` bytes of the records; u64 has no padding.
        let mut rest = unsafe { std::slice::from_raw_parts(self.records.as_ptr().cast::<u8>(), self.bytes) };
        while let Some(head) = rest.first_chunk::<HEAD>() {
            let record = usize::from(u16::from_ne_bytes([head[16], head[17]]));
            let next = std::array::from_fn(|i| head[8 + i]);
            let Some(name) = rest.get(HEAD..record) else { return false };
            let Ok(name) = CStr::from_bytes_until_nul(name) else { return false };
            give(name, head[18]);
            self.places = [self.places[1], i64::from_ne_bytes(next)];
            rest = &rest[record..];
        }
        true
    }
}

/// Tells this run of the machine, and the name spaces in which this process sees others, from all else; `None` where that cannot be told.
pub fn machine_run() -> Option<String> {
    let boot = std::fs::read("/proc/sys/kernel/random/boot_id").ok()?;
    let processes = std::fs::read_link("/proc/self/ns/pid").ok()?;
    // Kernels without name spaces of time have one time.
    let time = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    Some(format!("{} {} {}", String::from_utf8_lossy(&boot).trim(), processes.display(), time.display()))
}

/// When a process started, in ticks since the machine did; `None` if that cannot be seen.
pub fn start_of(process: u32) -> Option<u64> {
    stat_of(process, |fields| fields.nth(19)?.parse().ok())
}

/// Returns whether a process has ended, though its number is not free before its parent has asked how. A first thread that ended alone looks the
/// same but for the number of threads.
pub fn has_ended(process: u32) -> bool {
    let ended = |state: &str, threads: u32| matches!(state, "Z" | "X") && threads <= 1;
    stat_of(process, |fields| Some(ended(fields.next()?, fields.nth(16)?.parse().ok()?))) == Some(true)
}

/// Gives what `find` makes of the fields that the system tells of a process, from the third on, its state. They are read as those of its first
/// thread, which are the same: qemu's emulator of programs makes up the file of the process itself, with a start of its own for each thread.
fn stat_of<T>(process: u32, find: impl FnOnce(&mut std::str::SplitAsciiWhitespace<'_>) -> Option<T>) -> Option<T> {
    let text = std::fs::read(format!("/proc/{process}/task/{process}/stat")).ok()?;
    // The second field is the name in parentheses, which may hold anything.
    let end = text.iter().rposition(|&b| b == b')')?;
    find(&mut std::str::from_utf8(text.get(end + 1..)?).ok()?.split_ascii_whitespace())
}

/// Asks for huge pages in a mapping, which the kernel may leave.
pub fn want_huge_pages(start: usize, bytes: usize) {
    // SAFETY: advice, which changes nothing of what the pages hold.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(start), bytes, libc::MADV_HUGEPAGE) };
}

/// Withdraws what `want_huge_pages` asked for. Pages that were made stay as they are.
pub fn refuse_huge_pages(start: usize, bytes: usize) {
    // SAFETY: advice, as above.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(start), bytes, libc::MADV_NOHUGEPAGE) };
}

/// Returns whether the system makes huge pages where it is asked for them, and nowhere else.
pub fn huge_pages_on_advice() -> bool {
    // 0 until it is known. Threads that come at the same time each look: a child of `fork` would wait for one that is not there.
    static ON_ADVICE: AtomicU8 = AtomicU8::new(0);
    let known = ON_ADVICE.load(Relaxed);
    if known != 0 {
        return known == 2;
    }
    let modes = std::fs::read("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let on_advice = modes.windows(9).any(|mode| mode == b"[madvise]");
    ON_ADVICE.store(1 + u8::from(on_advice), Relaxed);
    on_advice
}

/// Returns whether nobody has touched that page of `size` bytes yet: as far as the system tells, without looking at the memory itself.
pub fn is_untouched(page: usize, size: usize) -> bool {
    let mut resident = 1u8;
    // SAFETY: the call looks at the table of pages only, and writes one byte for the one page.
    let known = unsafe { libc::mincore(std::ptr::without_provenance_mut(page), size, &mut resident) } == 0;
    known && resident & 1 == 0
}

/// Has the system make the pages of `bytes` bytes, both multiples of a page, as if each were written to; what they hold stays as it is. Returns
/// false if it does not: then each page is made when it is written.
pub fn populate(start: usize, bytes: usize) -> bool {
    // SAFETY: the pages keep what they hold; the call fails where nothing is mapped.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(start), bytes, libc::MADV_POPULATE_WRITE) == 0 }
}
