//! Removes temporary files, and what is left of erased folders, of processes that were killed, from the folders in which a store has put values,
//! or has come across them.
//!
//! Only files of processes that are gone for certain go ([`super::owner`], [`super::beside`]); nobody can give them a name any more. A store looks
//! once into each folder that was there before it, when it is flushed or closed.

use super::beside::{run_of, unused};
use super::listing::remove_tree;
use super::owner::{Owner, here};
use super::path::{KeyPath, LOCK_NAME, NETCDF_LOCK_NAME, TEMP_PREFIX, TEMP_SUFFIX, c_path, is_hidden, is_kept_open};
use crate::error::{Error, Result, bail};
use crate::fork::ForkReset;
use crate::limits::{extend, push};
use crate::platform::{AsFd, BorrowedFd, OwnedFd, errno_of, libc};
use crate::sort::sort_by;
use crate::store::os::{self, CWD, EntryKind};
use std::collections::{BTreeSet, HashSet};
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The names that are looked at in one folder: more take longer than what might be found is worth.
const MOST_NAMES: usize = 65_536;

/// The folders of one store.
pub(super) struct Sweeper {
    /// A child of `fork` leaves those of its parent alone.
    folders: ForkReset<Mutex<Folders>>,
    /// The number of the folder that the last value was put into; the next value's is mostly the same.
    last: AtomicU64,
    removed: AtomicU64,
}

#[derive(Default)]
struct Folders {
    /// To be looked into.
    due: BTreeSet<String>,
    /// Numbers of those that need no look any more.
    done: HashSet<u64>,
}

impl Sweeper {
    pub(super) fn new() -> Sweeper {
        Sweeper { folders: ForkReset::new(Mutex::default), last: AtomicU64::new(0), removed: AtomicU64::new(0) }
    }

    /// Gives the number of files that were removed so far.
    pub(super) fn removed(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Folders> {
        self.folders.get().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps in mind that a value was put into a folder, or that there are temporary files in it; `is_new` says that the folder was made for the value.
    /// Whether the folder was there before, and the store has put nothing into it yet.
    pub(super) fn note(&self, folder: &str, is_new: bool) -> bool {
        let number = os::hash(folder.as_bytes());
        if self.last.swap(number, Ordering::Relaxed) == number {
            return false;
        }
        let mut folders = self.lock();
        let is_first = folders.done.insert(number) && !is_new;
        if is_first {
            folders.due.insert(folder.to_string());
        }
        is_first
    }

    /// Whether a value was put into a folder.
    pub(super) fn knows(&self, folder: &str) -> bool {
        let number = os::hash(folder.as_bytes());
        self.last.load(Ordering::Relaxed) == number || self.lock().done.contains(&number)
    }

    /// Looks into the folders that are due. What cannot be removed stays for the next store.
    pub(super) fn sweep(&self, root: BorrowedFd<'_>) {
        let due = std::mem::take(&mut self.lock().due);
        if due.is_empty() {
            return;
        }
        let here = here();
        for folder in due {
            let Ok(fd) = os::open(root, KeyPath::of_folder(&folder).as_c(), libc::O_RDONLY | libc::O_DIRECTORY, 0) else { continue };
            let Ok(names) = os::some_entries(fd.as_fd(), MOST_NAMES) else { continue };
            let is_left = |kind: EntryKind| matches!(kind, EntryKind::File | EntryKind::Folder | EntryKind::Unknown);
            for (name, _) in names.iter().filter(|(_, kind)| is_left(*kind)) {
                let left = left_behind(fd.as_fd(), name, here);
                let removed = left.is_some_and(|_held| remove_tree(fd.as_fd(), name).unwrap_or(false));
                self.removed.fetch_add(u64::from(removed), Ordering::Relaxed);
            }
        }
    }
}

/// What listings of keys leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unlisted {
    /// A temporary file, or what is left of an erased or replaced folder, of a process that is gone for certain.
    OfProcessGone,
    /// What [`Unlisted::OfProcessGone`] says, of a process that may be alive, or is on another machine.
    OfProcess,
    /// A file that was replaced or erased while it was open, as its file system keeps it.
    KeptOpen,
    /// A file or folder whose name is no UTF-8.
    NoText,
    /// A pipe, a socket, a device, or a link in a circle.
    NoFile,
    /// A link to nothing.
    DeadLink,
    /// A lock file.
    Lock,
    /// A folder that could not be listed, and the number of the system's error.
    Unread(i32),
}

/// What listings leave out in a folder and those below it, in order. Links are not followed.
pub fn unlisted(folder: &Path) -> Result<Vec<(PathBuf, Unlisted)>> {
    let failed = |path: &Path, e: std::io::Error| Error::os(errno_of(&e).unwrap_or(libc::EIO), format!("list {}", path.display()));
    let (here, mut found, mut todo) = (here(), Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = todo.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => {
                push(&mut found, (folder, Unlisted::Unread(errno_of(&e).unwrap_or(libc::EIO))))?;
                continue;
            }
        };
        for entry in entries {
            let entry = entry.map_err(|e| failed(&folder, e))?;
            let kind = entry.file_type().map_err(|e| failed(&entry.path(), e))?;
            let name = entry.file_name();
            let is_plain = kind.is_file() || kind.is_dir();
            let what = match entry.path() {
                _ if name == NETCDF_LOCK_NAME => continue,
                _ if name == LOCK_NAME => Unlisted::Lock,
                path if is_plain && c_path(&path).is_ok_and(|path| left_behind(CWD, &path, here).is_some()) => Unlisted::OfProcessGone,
                _ if is_plain && is_hidden(name.as_encoded_bytes()) => Unlisted::OfProcess,
                _ if kind.is_file() && is_kept_open(name.as_encoded_bytes()) => Unlisted::KeptOpen,
                _ if name.to_str().is_none() => Unlisted::NoText,
                path if kind.is_symlink() => match std::fs::metadata(path) {
                    Ok(_) => continue,
                    Err(e) if errno_of(&e) == Some(libc::ELOOP) => Unlisted::NoFile,
                    Err(_) => Unlisted::DeadLink,
                },
                _ if !is_plain => Unlisted::NoFile,
                _ => {
                    extend(&mut todo, kind.is_dir().then(|| entry.path()))?;
                    continue;
                }
            };
            push(&mut found, (entry.path(), what))?;
        }
    }
    sort_by(&mut found, Ord::cmp);
    Ok(found)
}

/// Removes what [`unlisted`] told to be of a process that is gone.
pub fn remove_left(path: &Path) -> Result<()> {
    let c = c_path(path)?;
    match left_behind(CWD, &c, here()) {
        Some(_held) if remove_tree(CWD, &c)? => Ok(()),
        Some(_held) => bail!(Conflict, "{} has files that a process has open", path.display()),
        None => bail!(Conflict, "{} is used again", path.display()),
    }
}

/// What keeps a process from using what one that is gone has left behind at a path; `None` where its process may be alive.
fn left_behind(dir: BorrowedFd<'_>, path: &CStr, here: Owner) -> Option<Option<OwnedFd>> {
    let name = path.to_bytes().rsplit(|byte| *byte == b'/').next()?;
    if let Some(run) = run_of(name) {
        return unused(dir, path, run).map(Some);
    }
    owner_of(name).is_some_and(|owner| owner.is_gone(here)).then_some(None)
}

/// The process that a temporary file's name names.
fn owner_of(name: &[u8]) -> Option<Owner> {
    let text = std::str::from_utf8(name).ok()?;
    Owner::parse(text.strip_prefix(TEMP_PREFIX)?.strip_suffix(TEMP_SUFFIX)?)
}

#[cfg(test)]
mod tests {
    use super::super::path::folder_of;
    use super::super::temporary::TempNames;
    use super::*;

    #[test]
    fn a_temporary_name_is_one_of_a_kind_and_tells_its_process() {
        let names = TempNames::new();
        for folder in ["", "c/ö/0"] {
            let [one, other] = [names.next(folder), names.next(folder)];
            assert_ne!(one.as_c(), other.as_c());
            let path = one.as_c().to_str().unwrap();
            assert_eq!(folder_of(path), folder);
            let name = path[folder.len()..].trim_start_matches('/');
            assert!(is_hidden(name.as_bytes()) && owner_of(name.as_bytes()) == Some(here()), "{name}");
        }
    }
}
