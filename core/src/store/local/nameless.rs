//! Files without names, for bytes that wait on the disk until they have their place.

use super::path::c_path;
use super::sweep::Sweeper;
use super::temporary::TempNames;
use crate::error::{Error, Result, bail};
use crate::platform::{AsFd, BorrowedFd, O_PATH, OwnedFd, libc};
use crate::store::os::{self, CWD, Errno};
use std::path::Path;

/// Makes files without names in one folder.
pub(crate) struct NamelessFiles {
    names: TempNames,
    sweeper: Sweeper,
}

impl NamelessFiles {
    /// Makes a file in `folder`, or in the next one above where that is not there yet, which goes when it is closed, however the process ends. One that is
    /// killed while it makes the file leaves it empty, with the name of a temporary file: the next that makes one in the folder removes that.
    pub fn make(&self, folder: &Path) -> Result<OwnedFd> {
        for above in folder.ancestors() {
            match os::open(CWD, &c_path(above)?, O_PATH | libc::O_DIRECTORY, 0) {
                Err(Errno(libc::ENOENT)) => {}
                opened => {
                    let failed = |e: Errno| -> Error { e.error(&format!("make a temporary file in {}", above.display())) };
                    return opened.and_then(|dir| self.make_in(dir.as_fd())).map_err(failed);
                }
            }
        }
        bail!(NotFound, "there is no folder {}", folder.display())
    }

    fn make_in(&self, dir: BorrowedFd<'_>) -> os::Os<OwnedFd> {
        self.sweeper.note("", false);
        self.sweeper.sweep(dir);
        let path = self.names.next("");
        let file = os::open(dir, path.as_c(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o600)?;
        os::unlink(dir, path.as_c()).map(|()| file)
    }

    /// Gives the number of files of killed processes that were removed so far.
    pub fn swept(&self) -> u64 {
        self.sweeper.removed()
    }
}

impl Default for NamelessFiles {
    fn default() -> NamelessFiles {
        NamelessFiles { names: TempNames::new(), sweeper: Sweeper::new() }
    }
}
