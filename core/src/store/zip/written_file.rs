//! The file of an archive that is open for writing: how it is opened and locked, and whether its descriptor is still of it.

use crate::error::{Result, bail, err};
use crate::fork::OwnFile;
use crate::platform::{AsFd, BorrowedFd, libc};
use crate::store::file_options::SyncMode;
use crate::store::local::path::{c_path, make_folder};
use crate::store::os::{self, CWD, Errno};
use std::mem::ManuallyDrop;
use std::path::Path;

/// The byte of the file that a writer locks against others.
pub(super) const LOCK_BYTE: i64 = 1 << 62;

/// An archive's file. A program that closes all descriptors gives the number of this one to a file of its own: nothing is written to that.
pub(super) struct WrittenFile {
    file: ManuallyDrop<OwnFile>,
    /// Those of its device and its own, where the system tells them.
    numbers: Option<[u64; 2]>,
    /// No name leads to it: the next file that is made may get its numbers once it is closed.
    is_nameless: bool,
}

impl AsFd for WrittenFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl WrittenFile {
    /// Opens the file at `path`, or makes it with the folders above.
    pub fn open(path: &Path, make: bool, sync: SyncMode) -> Result<WrittenFile> {
        let c = c_path(path)?;
        let open = || os::open(CWD, &c, libc::O_RDWR | if make { libc::O_CREAT } else { 0 }, 0o666);
        let file = match open() {
            Err(Errno(libc::ENOENT)) if make => {
                make_folder(path.parent().unwrap_or(Path::new("/")), sync != SyncMode::None)?;
                open()
            }
            other => other,
        };
        let file = file.map(OwnFile::new).map_err(|e| e.error(&format!("open {}", path.display())))?;
        if make && sync != SyncMode::None {
            sync_folder(path)?;
        }
        Ok(WrittenFile::of(file))
    }

    /// A file that was opened just now.
    pub fn of(file: OwnFile) -> WrittenFile {
        WrittenFile { numbers: os::numbers_known(file.as_fd()), is_nameless: false, file: ManuallyDrop::new(file) }
    }

    /// A file of which the name was removed just now.
    pub fn nameless(file: OwnFile) -> WrittenFile {
        // NFS keeps a name until the file is closed.
        let is_nameless = has_no_name(file.as_fd());
        let mut own = WrittenFile::of(file);
        own.is_nameless = is_nameless;
        own
    }

    /// Keeps other writers of the archive out as long as the file is open. Gives the error with which the file system refused that, or 0.
    pub fn lock(&self, path: &Path) -> Result<i32> {
        match os::try_lock_byte(self.as_fd(), LOCK_BYTE) {
            Ok(()) => Ok(0),
            Err(Errno(libc::EAGAIN)) => {
                bail!(Again, "{} is open for writing already, in another program or under another name", path.display())
            }
            // EPERM: a filter of system calls does not let it through.
            Err(Errno(refusal @ (libc::ENOLCK | libc::ENOTSUP | libc::ENOSYS | libc::EINVAL | libc::EPERM))) => Ok(refusal),
            Err(e) => Err(e.error("lock")),
        }
    }

    /// Gives all locks back.
    pub fn unlock(&self) {
        if self.is_own() {
            // They end with the descriptor anyway.
            let _ = os::unlock_all(self.as_fd());
        }
    }

    /// Refuses to use a descriptor that is another file's by now.
    pub fn check_own(&self, path: &Path) -> Result<()> {
        if self.is_own() {
            return Ok(());
        }
        let what = "was closed by the program, which has another file open by its number";
        Err(err!(Io, "the descriptor by which {} was open for writing {what}", path.display()).with_errno(libc::EBADF))
    }

    /// Whether the descriptor is of the file that was opened, as far as that can be told.
    pub fn is_own(&self) -> bool {
        let now = self.numbers.and_then(|_| os::numbers_known(self.as_fd()));
        now.is_none() || now == self.numbers && (!self.is_nameless || has_no_name(self.as_fd()))
    }
}

fn has_no_name(file: BorrowedFd<'_>) -> bool {
    os::stat(file).is_ok_and(|own| own.st_nlink == 0)
}

impl Drop for WrittenFile {
    fn drop(&mut self) {
        let is_own = self.is_own();
        // SAFETY: it is used no more.
        let file = unsafe { ManuallyDrop::take(&mut self.file) };
        if is_own { drop(file) } else { file.forget() }
    }
}

/// Makes durable that an archive's file has its name.
pub(super) fn sync_folder(path: &Path) -> Result<()> {
    let folder = os::open(CWD, &c_path(path.parent().unwrap_or(Path::new("/")))?, libc::O_RDONLY | libc::O_DIRECTORY, 0);
    folder.and_then(|folder| os::fsync_folder(folder.as_fd())).map_err(|e| e.error("sync the folder"))
}
