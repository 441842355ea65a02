//! The hidden places beside folders in which what is to take their names is made.
//!
//! A place has the same name for all processes of a user: what a killed one of another user has left may be nobody else's to take over. Its user
//! locks it, and the lock ends with the process: what a killed one has left is taken over by the next one of this name, and removed by others
//! that come across it. Network file systems let each machine lock a folder for itself alone: names there have the run of the machine, too, and
//! places of other runs are left alone.

use super::listing::remove_tree;
use super::owner::here;
use super::path::{TEMP_PREFIX, TEMP_SUFFIX, c_path};
use crate::error::{Error, ErrorKind, Result};
use crate::fork::Lazy;
use crate::platform::{AsFd, BorrowedFd, O_PATH, OwnedFd, libc, user};
use crate::store::os::{self, CWD, Errno};
use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

/// How often a folder is looked for that others have, a millisecond apart.
const LOOKS: usize = 64;

/// What is made beside a folder.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    /// A root that has no name yet.
    New,
    /// What replaces a folder.
    Replaced,
}

impl Purpose {
    fn name(self) -> &'static str {
        match self {
            Purpose::New => "new",
            Purpose::Replaced => "replaced",
        }
    }
}

/// Names the place beside a folder, which listings hide; `None` for what has no name or nothing above.
pub(super) fn place_of(folder: &Path, purpose: Purpose) -> Result<Option<PathBuf>> {
    let Some((name, above)) = folder.file_name().zip(folder.parent()) else { return Ok(None) };
    let (name, run) = (os::hash(name.as_encoded_bytes()), run_above(above)?);
    Ok(Some(above.join(format!("{TEMP_PREFIX}{}{}-{name:016x}-{run:x}{TEMP_SUFFIX}", purpose.name(), user()))))
}

/// Gives what [`run_in`] does for the folder `above`, which may not have been made yet.
fn run_above(above: &Path) -> Result<u64> {
    for above in above.ancestors() {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match os::open(CWD, &c_path(above)?, O_PATH | libc::O_DIRECTORY, 0) {
            Err(Errno(libc::ENOENT | libc::ENOTDIR)) => {}
            // By another name what is left there would be found by nobody.
            opened => return Ok(run_in(opened.map_err(|e| e.error(&format!("open {}", above.display())))?.as_fd())),
        }
    }
    Ok(run_here())
}

/// Gives what the names of places in a file system say of the processes that a lock tells: 0 where it tells all that reach them, else the run of the
/// machine.
fn run_in(dir: BorrowedFd<'_>) -> u64 {
    if os::is_local(dir) { 0 } else { run_here() }
}

/// Gives a number for this run of the machine; where that cannot be told, one that only this process has.
fn run_here() -> u64 {
    static OWN: Lazy<u64> = Lazy::new(|| RandomState::new().hash_one(std::process::id()) | 1);
    match here().run() {
        0 => *OWN.get(),
        run => run,
    }
}

/// A new, empty folder at a place that this process uses.
pub(super) struct Place {
    pub path: PathBuf,
    /// Keeps others from it; `None` where folders cannot be locked.
    pub lock: Option<OwnedFd>,
}

/// Makes the folder of a place, and removes what is left there first; `None` where another process uses it, or it is somebody else's. `missing` is
/// called where the folder above is not there.
pub(super) fn claim(path: PathBuf, missing: impl Fn() -> Result<()>) -> Result<Option<Place>> {
    let failed = |e: Errno| -> Error { e.error(&format!("make the folder {}", path.display())) };
    let c = c_path(&path)?;
    for look in 0..LOOKS {
        let made = match os::mkdir(CWD, &c) {
            Err(Errno(libc::ENOENT)) => missing().map(|()| os::mkdir(CWD, &c))?,
            made => made,
        };
        let is_left = matches!(made, Err(Errno(libc::EEXIST)));
        if !is_left {
            made.map_err(failed)?;
        }
        let locked = lock(&c);
        // In another space of user names a user may have this one's number.
        if is_left && matches!(locked, Err(Errno(libc::EACCES | libc::EPERM))) {
            return Ok(None);
        }
        if !is_left && locked.is_err() {
            let _ = os::rmdir(CWD, &c);
        }
        let Some(lock) = locked.map_err(failed)? else {
            // A sweep of what killed writers have left has it for a moment, and may have taken it for that before it was locked.
            wait(look);
            continue;
        };
        if !is_left {
            return Ok(Some(Place { path, lock }));
        }
        match remove_tree(CWD, &c) {
            Err(e) if e.kind() == ErrorKind::Permission => return Ok(None),
            Ok(false) => return Ok(None),
            removed => drop(removed.map_err(|e| e.with_note(&format!(" (in {})", path.display())))?),
        }
    }
    Ok(None)
}

/// Locks a folder that is to get the name of a place, once a sweep has let go of it that looked at it when it had one; `None` where another process uses it.
/// What is locked is `None` where folders cannot be locked.
pub(super) fn lock_for_place(path: &CStr) -> Option<Option<OwnedFd>> {
    let Ok(fd) = os::open(CWD, path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) else { return Some(None) };
    for look in 0..LOOKS {
        match os::lock_folder(fd.as_fd()) {
            Err(Errno(libc::EWOULDBLOCK)) => wait(look),
            locked => return Some(locked.is_ok().then_some(fd)),
        }
    }
    None
}

/// Waits before the next look, about a second over all: on a busy machine a sweep may be at rest for long.
fn wait(look: usize) {
    std::thread::sleep(std::time::Duration::from_millis(1 + look as u64 / 2));
}

/// Locks the folder of a place; `None` where another process uses it, or it has got its own name meanwhile. What is locked is `None` where folders
/// cannot be locked.
fn lock(path: &CStr) -> os::Os<Option<Option<OwnedFd>>> {
    let fd = match os::open(CWD, path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
        Err(Errno(libc::ENOENT)) => return Ok(None),
        opened => opened?,
    };
    let locked = os::lock_folder(fd.as_fd());
    if locked == Err(Errno(libc::EWOULDBLOCK)) {
        return Ok(None);
    }
    let is_same = match os::stat_at(CWD, path, false) {
        Err(Errno(libc::ENOENT)) => false,
        named => os::is_same(&named?, &os::stat(fd.as_fd())?),
    };
    Ok(is_same.then(|| locked.is_ok().then_some(fd)))
}

/// Gives the run of the place of a name, as [`run_in`] does; `None` if it names no place, or what [`super::exchange`] has put aside there: a kill may
/// have left that with no other name.
pub(super) fn run_of(name: &[u8]) -> Option<u64> {
    let own = std::str::from_utf8(name).ok()?.strip_prefix(TEMP_PREFIX)?.strip_suffix(TEMP_SUFFIX)?;
    let (of_user, run) = own.rsplit_once('-')?;
    let is_place = of_user.contains('-') && [Purpose::New, Purpose::Replaced].iter().any(|purpose| of_user.starts_with(purpose.name()));
    u64::from_str_radix(run, 16).ok().filter(|_| is_place)
}

/// Keeps others from a place that nobody uses, in the folder `dir`, until what is returned is dropped; `None` where somebody may use it, as a lock
/// does not tell of places of another run in a network file system.
pub(super) fn unused(dir: BorrowedFd<'_>, name: &CStr, run: u64) -> Option<OwnedFd> {
    let fd = os::open(dir, name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0).ok()?;
    // A name with a run on a file system of this machine is of another one that has it over a network, or of an older version.
    if run != run_in(fd.as_fd()) {
        return None;
    }
    os::lock_folder(fd.as_fd()).ok()?;
    // Another folder may have got the name before this one was locked.
    let named = os::stat_at(dir, name, false).ok()?;
    os::stat(fd.as_fd()).is_ok_and(|own| os::is_same(&named, &own)).then_some(fd)
}
