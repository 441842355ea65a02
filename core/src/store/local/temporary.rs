//! Temporary files beside the keys that they become the values of, and the names of what is on its way out.

use super::owner::with_name_here;
use super::path::{KeyPath, Made, TEMP_PREFIX, TEMP_SUFFIX, check_name, folder_of, make_missing, make_parents};
use crate::error::{Error, Result, bail, err};
use crate::platform::{AsFd, BorrowedFd, OwnedFd, is_of_another, is_sticky, libc, share_reading, share_writing};
use crate::store::Check;
use crate::store::keys::{GOES_LAST, MAKES_A_NODE};
use crate::store::os::{self, Errno, Os};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How often a step is repeated that races with other processes (a folder erased in between, a name taken).
pub(super) const TRIES: usize = 64;

/// Names the temporary files of one store.
pub(super) struct TempNames {
    next: AtomicU64,
    /// How many folders were made for the last file of a folder that was new to the store: the next one's are mostly missing, too.
    missing: AtomicUsize,
}

impl TempNames {
    pub(super) fn new() -> TempNames {
        TempNames { next: AtomicU64::new(0), missing: AtomicUsize::new(0) }
    }

    /// Gives a name that no other file has: process (so that others can tell when it is gone) and 64 random bits (for the files of one
    /// process, and for processes that cannot be told apart).
    pub(super) fn next(&self, folder: &str) -> KeyPath {
        let random = RandomState::new().hash_one(self.next.fetch_add(1, Ordering::Relaxed));
        // Not by the formatter of the standard library: each chunk that is written has such a name.
        let digits: [u8; 16] = std::array::from_fn(|i| b"0123456789abcdef"[(random >> (60 - 4 * i)) as usize % 16]);
        let (before, after) = (TEMP_PREFIX.as_bytes(), TEMP_SUFFIX.as_bytes());
        with_name_here(|owner| KeyPath::of_parts(folder, &[before, owner.as_bytes(), b"-", &digits, after]))
    }

    /// Makes a new file beside `key`, or under its `own` name if that names nothing. Folders that are missing are made; `made` gets the lengths of
    /// their paths in `key`. `is_known` says that a folder was there before.
    pub(super) fn create<'a>(
        &self,
        root: BorrowedFd<'a>,
        (key, own): (&str, Option<&KeyPath>),
        made: &mut Made,
        is_known: impl FnOnce(&str) -> bool,
    ) -> Result<(Temp<'a>, OwnedFd)> {
        check_name(key)?;
        let folder = folder_of(key);
        let mut path = own.map_or_else(|| self.next(folder), KeyPath::clone);
        let missing = self.missing.load(Ordering::Relaxed);
        if missing > 0 && !folder.is_empty() && !is_known(folder) {
            // Where the guess is wrong the file says so.
            let _ = make_parents(root, key, missing, made);
            self.missing.store(made.len(), Ordering::Relaxed);
        }
        for _ in 0..TRIES {
            match os::open(root, path.as_c(), libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o666) {
                Ok(fd) => return Ok((Temp { root, path, there: true }, fd)),
                Err(Errno(libc::ENOENT)) if !folder.is_empty() => {
                    make_missing(root, key, made)?;
                    self.missing.store(made.len(), Ordering::Relaxed);
                }
                Err(Errno(libc::EEXIST)) => path = self.next(folder),
                Err(e) => return Err(e.error("create a temporary file")),
            }
        }
        bail!(Io, "the folder vanishes again and again")
    }
}

/// Whether a key in a folder is one of those that make a node, of its attributes, or says that something is under way there.
pub(super) fn is_of_node(folder: &str, key: &str) -> bool {
    let name = key[folder.len()..].trim_start_matches('/');
    [".z", "zarr.json", "ozarr-"].iter().any(|of_node| name.starts_with(of_node))
}

/// Says whether a key tells of a change that is under way, as long as it is there.
pub(super) fn is_marker(key: &str) -> bool {
    key[folder_of(key).len()..].trim_start_matches('/').starts_with("ozarr-")
}

/// What a value may take the place of.
#[derive(Clone, Copy)]
pub(super) enum Over<'a> {
    Any,
    Nothing,
    /// Of what this finds there still, as it is asked right before the value gets the name.
    Checked(Check<'a>),
}

/// A temporary file that is removed unless it got another name.
pub(super) struct Temp<'a> {
    pub(super) root: BorrowedFd<'a>,
    pub(super) path: KeyPath,
    pub(super) there: bool,
}

/// Lets all users that may read the file whose place it takes read the written one, whatever the mask of the process: they would be kept out of the
/// whole store by a document that is replaced. One that is new takes the place of the others of its node, or joins them.
pub(super) fn keep_readers((dir, key): (BorrowedFd<'_>, &str), to: &KeyPath, (file, own): (BorrowedFd<'_>, &libc::stat)) -> Os<()> {
    let folder = folder_of(key);
    let is_of_node = is_of_node(folder, key);
    // What says that a node is copied may have taken the place of its document.
    let others = MAKES_A_NODE.iter().chain(&[GOES_LAST]).filter(|_| is_of_node);
    for from in std::iter::once(to.clone()).chain(others.map(|name| KeyPath::join(folder, name))) {
        match os::open(dir, from.as_c(), libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0) {
            Ok(old) => {
                if let Ok(st) = os::stat(old.as_fd()) {
                    share_reading((old.as_fd(), &st), (file, own));
                    return Ok(());
                }
            }
            // That does not say that there is none.
            Err(e @ Errno(libc::EMFILE | libc::ENFILE)) => return Err(e),
            Err(_) => {}
        }
    }
    // Of what is overwritten in place no document is left: in the folder of another user he would be kept out.
    let above = KeyPath::of_folder(folder);
    if is_of_node
        && let Ok(st) = os::stat_at(dir, above.as_c(), true)
        && is_of_another(&st)
        && !is_sticky(&st)
    {
        share_writing(file, own, &st, || os::open(dir, above.as_c(), libc::O_RDONLY | libc::O_DIRECTORY, 0).ok());
    }
    Ok(())
}

impl Temp<'_> {
    /// Makes the error of a call with the file. Where its name, which may be the key's own, is another file's by now, the other one keeps it.
    #[cold]
    pub(super) fn failed(&mut self, file: BorrowedFd<'_>, e: Errno) -> Errno {
        let named = os::stat_at(self.root, self.path.as_c(), false).ok();
        self.there = named.zip(os::stat(file).ok()).is_none_or(|(named, own)| os::is_same(&named, &own));
        e
    }

    /// Whether `to` is another name of the file. Some file systems give no numbers, or one to all files: so it has to have two names. NFS learns of the
    /// second one by the look at it.
    #[cold]
    fn has_name(&self, to: &KeyPath) -> bool {
        let [named, own] = [to, &self.path].map(|path| os::stat_at(self.root, path.as_c(), false).ok());
        #[cfg(any(test, feature = "faults"))]
        let [named, own] = [named, own].map(|st| st.map(crate::store::fault::numbered));
        named.zip(own).is_some_and(|(named, own)| own.st_ino != 0 && own.st_nlink > 1 && os::is_same(&own, &named))
    }

    /// The error of a call that was to give the file the name `to`: where the folder has no longer its name, that is what another process has done.
    #[cold]
    fn not_named(&self, to: &KeyPath, e: Error) -> Error {
        let folder = KeyPath::of_folder(to.as_c().to_str().map_or("", folder_of));
        let is_gone = || os::stat_at(self.root, folder.as_c(), true).is_err_and(|e| e == Errno(libc::ENOENT));
        if e.os_errno() == libc::ENOENT && is_gone() { err!(NotFound, "its folder was renamed or erased meanwhile") } else { e }
    }

    /// Gives the file the name `to`, whatever that names.
    pub(super) fn rename(&mut self, to: &KeyPath) -> Result<()> {
        os::rename(self.root, self.path.as_c(), to.as_c()).map_err(|e| self.not_named(to, e.error("rename")))?;
        self.there = false;
        Ok(())
    }

    /// Gives the file the name `to`, behind the last look at what has that.
    pub(super) fn rename_over(&mut self, to: &KeyPath, over: Over<'_>) -> Result<()> {
        if let Over::Checked(check) = over {
            check()?;
        }
        self.rename(to)
    }

    /// Gives the file the name `to` if that names nothing; `false` if it does. `unsupported` is set once the file system has refused
    /// `RENAME_NOREPLACE`; without hard links, too, `alone` keeps other threads out meanwhile.
    pub(super) fn rename_new(&mut self, to: &KeyPath, unsupported: &AtomicBool, alone: &Mutex<()>) -> Result<bool> {
        if !unsupported.load(Ordering::Relaxed) {
            match os::rename_new(self.root, self.path.as_c(), to.as_c()) {
                Ok(()) => {
                    self.there = false;
                    return Ok(true);
                }
                Err(Errno(libc::EEXIST)) => return Ok(false),
                // EPERM: a filter of system calls does not let it through.
                Err(Errno(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP | libc::EPERM)) => unsupported.store(true, Ordering::Relaxed),
                Err(e) => return Err(self.not_named(to, e.error("rename"))),
            }
        }
        // A second name is given only if it is free; the first one goes when `self` is dropped.
        match os::link(self.root, self.path.as_c(), to.as_c()) {
            Ok(()) => return Ok(true),
            // Of a call whose answer was lost NFS may say so, which has made it again.
            Err(Errno(libc::EEXIST)) => return Ok(self.has_name(to)),
            Err(e @ Errno(libc::ENOSPC | libc::EDQUOT)) => return Err(e.error("link")),
            // File systems of programs without links say so by errors of all kinds: the rename tells what is wrong else.
            Err(_) => {}
        }
        let _alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
        match os::stat_at(self.root, to.as_c(), false) {
            Ok(_) => Ok(self.has_name(to)),
            Err(Errno(libc::ENOENT)) => self.rename(to).map(|()| true),
            Err(e) => Err(e.error("stat")),
        }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if self.there {
            // Nothing can be done if this fails; listings hide the file.
            let _ = os::unlink(self.root, self.path.as_c());
        }
    }
}
