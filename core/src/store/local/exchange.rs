//! Folders that are replaced, renamed or erased as a whole: a new one is made beside the old one, and the two change their names in one call; one
//! that is erased leaves its name first.

use super::beside::{Purpose, claim, lock_for_place, place_of};
use super::listing::{self, check_may_empty, empty_folder, entries, is_mounted_in, remove_emptied, visible};
use super::lock::{ByteLock, LOCK_SPACE};
use super::path::{KeyPath, Made, c_path, folder_of, make_missing, remove_made};
use super::sweep::Sweeper;
use super::temporary::{TRIES, keep_readers};
use super::{FileOptions, LocalStore, LockMode, SyncMode};
use crate::error::{Error, ErrorKind, Result};
use crate::platform::{AsFd, BorrowedFd, O_PATH, give_access, is_for_all, is_shared, libc, take_access};
use crate::store::keys::MAKES_A_NODE;
use crate::store::os::{self, CWD, EntryKind, Errno, Os};
use crate::store::{LockUse, SharedStore};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl LocalStore {
    /// Does what [`super::LocalFiles::replace_prefix`] says, for the folder of a prefix; empty: the store's own.
    pub(super) fn replace_folder(
        &self,
        folder: &str,
        build: &mut dyn FnMut(SharedStore) -> Result<()>,
        done: &mut dyn FnMut(),
    ) -> Result<bool> {
        // What is mounted keeps its name, and may have room that the file system above has not.
        let there = match self.real_folder(folder) {
            Ok(there) if is_mounted_at(&there) => return Ok(false),
            Ok(there) => there,
            Err(e) => return cannot(e),
        };
        let beside = match place_of(&there, Purpose::Replaced) {
            Ok(Some(beside)) => beside,
            Ok(None) => return Ok(false),
            Err(e) => return cannot(e),
        };
        let (old, new) = (c_path(&there)?, c_path(&beside)?);
        // Locks in the store go with its folder, so that others that replace it are kept out from beside it.
        let _alone = match folder.is_empty().then(|| self.lock_name(&there)).transpose() {
            Ok(lock) => lock,
            Err(e) => return cannot(e),
        };
        // An old one that could not be removed stays.
        check_may_empty(CWD, &old, &mut shown(folder)).map_err(|e| self.placed(e))?;
        // Its lock is held until the old one is gone.
        let place = match claim(beside, || Ok(())) {
            Ok(Some(place)) => place,
            Ok(None) => return Ok(false),
            Err(e) => return cannot(e),
        };
        let beside = &place.path;
        let made = self.build_beside(&there, beside, build);
        if let Ok(false) = made {
            return remove_tree(beside).map(|()| false);
        }
        // The old one gets the name of a place: a sweep of the places of killed writers leaves it alone while it is locked. One that had it locked would
        // sweep what is made next by that name.
        let Some(_locked) = (if cfg!(windows) { Some(None) } else { lock_for_place(&old) }) else {
            let _ = remove_tree(beside);
            return made.map(|_| false);
        };
        match made.map(|_| self.exchange_known(folder, &old, &new)) {
            Ok(Ok(())) => done(),
            Ok(Err(e)) => return remove_tree(beside).and_then(|()| cannot(e.error("replace the folder"))),
            Err(e) => {
                // The error is the one to tell; what cannot be removed now is removed by the next call.
                let _ = remove_tree(beside);
                return Err(e);
            }
        }
        if folder.is_empty() {
            self.reopen_root()?;
        }
        if self.durability.mode != SyncMode::None {
            sync_parent(&there)?;
        }
        remove_tree(beside).map(|()| true).map_err(|e| e.with_note(", what is left of the old one; the new one is in its place"))
    }

    /// Exchanges the folder and the new one. What is new in the old one is forgotten before others are let in, but for what they put into the new one.
    fn exchange_known(&self, folder: &str, old: &std::ffi::CStr, new: &std::ffi::CStr) -> os::Os<()> {
        let going = self.durability.replacing(folder);
        let exchanged = exchange(old, new);
        self.durability.gone(going, exchanged.is_ok());
        exchanged
    }

    /// The folder that is replaced. What leads to the store may be a link; what leads to a folder in it is replaced itself.
    fn real_folder(&self, folder: &str) -> Result<PathBuf> {
        // What has the name of a root that is hidden is somebody else's.
        if self.stay_hidden().is_some() {
            return Err(Errno(libc::ENOENT).error("find the folder that is replaced"));
        }
        if !folder.is_empty() {
            return Ok(self.root.join(folder));
        }
        self.root.canonicalize().map_err(|e| Error::os(e.raw_os_error().unwrap_or_default(), "find the folder that is replaced"))
    }

    /// Keeps others, of whichever user, from replacing a root until the lock is dropped; `None` where there are no locks.
    fn lock_name(&self, root: &Path) -> Result<Option<ByteLock>> {
        let above = root.parent().unwrap_or(Path::new("/"));
        let above = os::open(CWD, &c_path(above)?, O_PATH | libc::O_DIRECTORY, 0).map_err(|e| e.error("open the folder above"))?;
        // No store puts anything there: what a killed one has left of the lock file that it made would stay.
        if os::stat(above.as_fd()).is_ok_and(|st| is_shared(&st)) {
            let sweeper = Sweeper::new();
            sweeper.note("", false);
            sweeper.sweep(above.as_fd());
        }
        let byte = os::hash(root.as_os_str().as_encoded_bytes()) % LOCK_SPACE;
        self.locks.lock(above.as_fd(), "", byte, LockUse::Rare, &self.durability)
    }

    /// Fills the new folder, gives it to whom the old one is, and makes it durable; `false` if it cannot have the access of the old one.
    fn build_beside(&self, there: &Path, beside: &Path, build: &mut dyn FnMut(SharedStore) -> Result<()>) -> Result<bool> {
        let open = match os::open(CWD, &c_path(beside)?, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
            Ok(open) => open,
            Err(e) => return cannot(e.error("open the new folder")),
        };
        // What is not empty has got the name meanwhile.
        if !entries(open.as_fd())?.is_empty() {
            return Ok(false);
        }
        // What is made in it may get its group and access from it.
        if let Err(e) = with_old(there, |old| take_access(old, open.as_fd())) {
            return cannot(e);
        }
        let options = FileOptions { sync: self.durability.mode, lock: LockMode::None, ..FileOptions::default() };
        let store: SharedStore = Arc::new(LocalStore::open(beside, true, options)?);
        build(store.clone())?;
        // From here on others may put something into it.
        let given = with_old(there, |old| {
            share_documents(old, open.as_fd()).map_err(|e| e.0)?;
            give_access((there, old), (beside, open.as_fd()))
        });
        if let Err(e) = given {
            return cannot(e);
        }
        store.flush().map(|()| true)
    }

    /// Does what [`super::LocalFiles::check_erase`] says, for the folder of a prefix.
    pub(super) fn check_folder_goes(&self, folder: &str) -> Result<()> {
        match self.root()? {
            Some(root) => check_may_empty(root, KeyPath::of_folder(folder).as_c(), &mut shown(folder)),
            None => Ok(()),
        }
    }

    /// Does what [`super::LocalFiles::rename_prefix`] says, for two prefixes and their folders.
    pub(super) fn rename_folder(&self, (from, old): (&str, &str), (to, new): (&str, &str)) -> Result<bool> {
        if old.is_empty() || new.is_empty() {
            return Ok(false);
        }
        let (old_path, new_path) = (KeyPath::of_folder(old), KeyPath::of_folder(new));
        let root = self.root_to_write()?;
        self.durability.sync_retold(root)?;
        let _no_flush = self.durability.prepare_rename(root, from, to)?;
        self.known.note_put();
        let mut made = Made::new();
        // What was put there has its new name durable only with the folders above both.
        for _ in 0..TRIES {
            match os::rename_new(root, old_path.as_c(), new_path.as_c()) {
                Ok(()) => {
                    self.durability.rename_prefix(from, to);
                    self.locks.rename_prefix(from, to);
                    self.durability.renamed(root, old, new, &made)?;
                    return Ok(true);
                }
                Err(Errno(libc::ENOENT)) if os::stat_at(root, old_path.as_c(), false).is_ok() => {
                    let parents = make_missing(root, new, &mut made);
                    self.durability.folders_made(new, &made);
                    parents.inspect_err(|_| remove_made(root, new, &made))?;
                }
                // Something is there (an empty folder, say), or the file system cannot.
                Err(_) => {
                    remove_made(root, new, &made);
                    return Ok(false);
                }
            }
        }
        Ok(false)
    }

    /// Removes an open folder with all below it; of the root what is in it. It leaves its name first for one that listings hide: nothing below
    /// opens any more by its own path, however much can be removed. `false` if another process has taken it away.
    pub(super) fn erase_folder(&self, root: BorrowedFd<'_>, folder: &str, fd: BorrowedFd<'_>) -> Result<bool> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let told = |e: Error| {
            e.below(&prefix)
                .with_note("; what is left of it has no name in the hierarchy any more, and goes with a later flush by another process")
        };
        let (path, aside) = (KeyPath::of_folder(folder), self.temp_names.next(folder_of(folder)));
        // What could not be emptied keeps its name: it would be lost to readers, and stay.
        check_may_empty(root, path.as_c(), &mut shown(folder))?;
        let renamed = if folder.is_empty() { Err(Errno(libc::EBUSY)) } else { os::rename(root, path.as_c(), aside.as_c()) };
        match renamed {
            // What is open may be known by its former name there.
            Ok(()) if cfg!(windows) => return listing::remove_tree(root, aside.as_c()).map(|_| true).map_err(told),
            Ok(()) => return empty_folder(fd, 0).and_then(|_| remove_emptied(root, aside.as_c())).map(|_| true).map_err(told),
            // Another process removes it; what gets its name from now on is not what was to go.
            Err(Errno(libc::ENOENT)) => return Ok(false),
            Err(_) => {}
        }
        self.empty_in_place(&prefix, fd)?;
        match if folder.is_empty() { Ok(()) } else { os::rmdir(root, path.as_c()) } {
            // An empty folder is no node. It may not go, or is a mount point, or somebody puts something into it at the same time.
            Ok(()) | Err(Errno(libc::ENOENT | libc::ENOTEMPTY | libc::EEXIST | libc::EACCES | libc::EPERM | libc::EBUSY)) => Ok(true),
            Err(e) => Err(e.error("erase the folder")),
        }
    }

    /// Empties a folder that keeps its name, as the root does, or a mount point: what makes it a node goes first, then the folders in it leave
    /// their names. What cannot be renamed is emptied where it is.
    fn empty_in_place(&self, prefix: &str, fd: BorrowedFd<'_>) -> Result<()> {
        for name in MAKES_A_NODE {
            match os::unlink(fd, KeyPath::of_folder(name).as_c()) {
                Ok(()) | Err(Errno(libc::ENOENT | libc::EISDIR)) => {}
                Err(e) => return Err(e.error("erase").at_key(name).below(prefix)),
            }
        }
        for (name, _) in visible(fd)?.into_iter().filter(|(_, kind)| *kind == EntryKind::Folder) {
            let _ = os::rename(fd, KeyPath::of_folder(name.trim_end_matches('/')).as_c(), self.temp_names.next("").as_c());
        }
        // btrfs lists no names that came behind the opening of a folder.
        let fd = match os::open(fd, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0) {
            Err(Errno(libc::ENOENT)) => return Ok(()),
            opened => opened.map_err(|e| e.error("open the folder").below(prefix))?,
        };
        empty_folder(fd.as_fd(), 0).map(drop).map_err(|e| e.below(prefix))
    }
}

/// Gives the old folder, open, to a function that gives its access to the new one; one that is gone has none to give.
fn with_old(there: &Path, give: impl FnOnce(BorrowedFd<'_>) -> std::result::Result<(), i32>) -> Result<()> {
    let given = match os::open(CWD, &c_path(there)?, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
        Ok(old) => give(old.as_fd()).map_err(Errno),
        Err(Errno(libc::ENOENT)) => Ok(()),
        Err(e) => Err(e),
    };
    given.map_err(|e| e.error("give the new folder the access of the old one"))
}

/// Gives the documents of a new folder the rights to read of those of the old one.
fn share_documents(old: BorrowedFd<'_>, new: BorrowedFd<'_>) -> Os<()> {
    for name in MAKES_A_NODE.iter().chain(&[".zattrs"]) {
        let path = KeyPath::of_folder(name);
        if let Ok(document) = os::open(new, path.as_c(), libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0)
            && let Ok(own) = os::stat(document.as_fd())
            && !is_for_all(&own)
        {
            keep_readers((old, name), &path, (document.as_fd(), &own))?;
        }
    }
    Ok(())
}

/// Says that a folder cannot be replaced, unless that is only for now: then nothing is to be erased for what would fail, too.
fn cannot(e: Error) -> Result<bool> {
    const PASSES: [i32; 6] = [libc::ENOMEM, libc::ENOSPC, libc::EDQUOT, libc::EMFILE, libc::ENFILE, libc::EIO];
    if e.kind() == ErrorKind::NoMemory || PASSES.contains(&e.os_errno()) { Err(e) } else { Ok(false) }
}

/// Whether something is mounted at a path.
fn is_mounted_at(path: &Path) -> bool {
    let above = path.parent().and_then(|above| os::stat_at(CWD, &c_path(above).ok()?, true).ok());
    above.zip(c_path(path).ok()).is_some_and(|(above, path)| is_mounted_in(CWD, &path, above.st_dev))
}

/// What messages call a folder.
fn shown(folder: &str) -> String {
    if folder.is_empty() { ".".to_string() } else { folder.to_string() }
}

/// Gives each of two folders the other's name. Where the file system cannot do that at once, the old one leaves its name first: a kill behind that
/// leaves it aside, which nobody sweeps.
fn exchange(old: &std::ffi::CStr, new: &std::ffi::CStr) -> os::Os<()> {
    match os::exchange(old, new) {
        Err(Errno(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP)) => {}
        done => return done,
    }
    let aside = std::ffi::CString::new([new.to_bytes(), b".tmp"].concat()).map_err(|_| Errno(libc::EINVAL))?;
    if os::stat_at(CWD, old, false).is_ok() {
        // A kill came later, and what is aside was replaced. The rename tells what cannot be removed.
        let _ = listing::remove_tree(CWD, &aside);
    }
    os::rename(CWD, old, &aside)?;
    os::rename(CWD, new, old).or_else(|e| os::rename(CWD, &aside, old).and(Err(e)))?;
    os::rename(CWD, &aside, new)
}

/// Removes a folder, or a link, with all below it; one that is not there is no error.
pub(super) fn remove_tree(path: &Path) -> Result<()> {
    listing::remove_tree(CWD, &c_path(path)?).map(drop).map_err(|e| e.with_note(&format!(" (in {})", path.display())))
}

/// Makes the names in the folder above durable.
pub(super) fn sync_parent(path: &Path) -> Result<()> {
    let failed = |e: Errno| -> Error { e.error(&format!("sync the folder above {}", path.display())) };
    let Some(parent) = path.parent() else { return Ok(()) };
    let fd = os::open(CWD, &c_path(parent)?, libc::O_RDONLY | libc::O_DIRECTORY, 0).map_err(failed)?;
    os::fsync_folder(fd.as_fd()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fault::{self, fail};
    use crate::store::os::Call;
    use crate::store::suite::{TestFolder, names_in};
    use crate::store::{Condition, LocalFiles, Storage, get};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn local(root: &Path) -> LocalStore {
        LocalStore::open(root, true, SyncMode::Batch).unwrap()
    }

    fn value(store: &LocalStore, key: &str) -> Option<Vec<u8>> {
        get(store, key, 99).unwrap()
    }

    fn replace(store: &LocalStore, prefix: &str) -> Result<bool> {
        let folder = prefix.trim_end_matches('/');
        store.replace_folder(folder, &mut |new| new.put("new", &[b"2"], Condition::Absent), &mut || ())
    }

    #[test]
    fn a_folder_is_replaced_as_a_whole_and_handles_on_the_store_find_the_new_one() {
        let top = TestFolder::new("exchange-whole");
        for prefix in ["", "a/b/"] {
            let _ = std::fs::remove_dir_all(&top);
            std::fs::create_dir_all(top.join("real")).unwrap();
            symlink("real", top.join("link")).unwrap();
            let (one, other) = (local(&top.join("link")), local(&top.join("real")));
            one.put(&format!("{prefix}old/k"), &[b"1"], Condition::None).unwrap();
            assert!(value(&other, &format!("{prefix}old/k")).is_some());
            std::fs::set_permissions(top.join("real").join(prefix), PermissionsExt::from_mode(0o750)).unwrap();
            assert!(replace(&one, prefix).unwrap(), "{prefix}");
            for store in [&one, &other] {
                assert_eq!(value(store, &format!("{prefix}new")).unwrap(), b"2", "{prefix}");
                assert_eq!(value(store, &format!("{prefix}old/k")), None, "{prefix}");
            }
            other.put(&format!("{prefix}k"), &[b"3"], Condition::None).unwrap();
            assert_eq!(value(&one, &format!("{prefix}k")).unwrap(), b"3", "{prefix}");
            assert_eq!(std::fs::metadata(top.join("real").join(prefix)).unwrap().permissions().mode() & 0o777, 0o750);
            assert_eq!((names_in(&top), names_in(&top.join("real").join(prefix))), (names_of(&["link", "real"]), names_of(&["k", "new"])));
        }
    }

    #[test]
    fn a_new_folder_and_what_is_made_in_it_have_the_group_and_the_access_of_the_old_one() {
        let top = TestFolder::new("exchange-access");
        for (prefix, acl) in [("", false), ("a/b/", false), ("", true)] {
            let _ = std::fs::remove_dir_all(&top);
            let folder = top.join("s").join(prefix);
            std::fs::create_dir_all(&folder).unwrap();
            // Only a test that runs as root can choose; others have one group.
            let _ = std::os::unix::fs::chown(&folder, None, Some(12345));
            std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o2770)).unwrap();
            let given = acl && give_default_list(&folder);
            let store = local(&top.join("s"));
            store.put(&format!("{prefix}old"), &[b"1"], Condition::None).unwrap();
            let access = |name: &str| std::fs::metadata(folder.join(name)).map(|m| (m.gid(), m.mode())).unwrap();
            let (of_folder, of_file) = (access(""), access("old"));
            assert!(replace(&store, prefix).unwrap());
            assert_eq!((access(""), access("new")), (of_folder, of_file), "{prefix}");
            if given {
                // The list decides, and not the mask of the process.
                assert_eq!(of_file.1 & 0o777, 0o660);
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_that_is_mounted_is_not_made_a_second_time_beside_it() {
        for (prefix, is_bound) in [("", false), ("", true), ("a/", false), ("a/", true)] {
            let (top, other) = (TestFolder::made("exchange-mounted"), TestFolder::made("exchange-other"));
            let place = top.join("s").join(prefix);
            std::fs::create_dir_all(&place).unwrap();
            let replaced = fault::mounted(&place, is_bound.then_some(&*other), || {
                local(&top.join("s")).replace_prefix(prefix, &mut |_| panic!("made beside it"), &mut || ())
            });
            // Only root may mount.
            let Some(replaced) = replaced else { return };
            assert!(!replaced.unwrap(), "{prefix} {is_bound}");
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn give_default_list(_: &Path) -> bool {
        false
    }

    /// Gives a folder a list by which a group may change what is made in it; `false` where the file system has no lists.
    #[cfg(target_os = "linux")]
    fn give_default_list(folder: &Path) -> bool {
        let entries = [(1u16, 7u16, u32::MAX), (4, 7, u32::MAX), (8, 7, 23456), (16, 7, u32::MAX), (32, 0, u32::MAX)];
        let mut list = 2u32.to_le_bytes().to_vec();
        for (tag, rights, id) in entries {
            list.extend([&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat());
        }
        let (folder, name) = (c_path(folder).unwrap(), c"system.posix_acl_default");
        // SAFETY: the texts end in NUL, and the list has its length.
        unsafe { libc::setxattr(folder.as_ptr(), name.as_ptr(), list.as_ptr().cast(), list.len(), 0) == 0 }
    }

    fn names_of(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_writer_that_had_the_old_root_open_writes_into_the_new_one() {
        let top = TestFolder::new("exchange-root");
        let (one, other) = (local(&top.join("s")), local(&top.join("s")));
        one.put("k", &[b"1"], Condition::None).unwrap();
        other.put("l", &[b"1"], Condition::None).unwrap();
        assert!(replace(&one, "").unwrap());
        other.put("c/0", &[b"4"], Condition::None).unwrap();
        assert_eq!(value(&one, "c/0").unwrap(), b"4");
    }

    #[test]
    fn a_root_that_another_one_replaces_is_found_by_its_name_while_the_old_one_is_emptied() {
        let top = TestFolder::new("exchange-emptied");
        let (store, path) = (local(&top.join("s")), top.join("s"));
        store.put("k", &[b"1"], Condition::None).unwrap();
        let moved = |to: &str| std::fs::rename(&path, top.join(to)).unwrap();
        moved("old");
        assert_eq!(value(&store, "k").unwrap(), b"1", "a store that is moved stays open");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("k"), "2").unwrap();
        std::fs::remove_file(top.join("old/k")).unwrap();
        assert_eq!(value(&store, "k").unwrap(), b"2");
    }

    #[test]
    fn a_chunk_that_misses_is_looked_for_in_the_root_that_has_the_name_while_the_old_one_is_emptied() {
        let top = TestFolder::new("exchange-missing");
        let (store, path) = (local(&top.join("s")), top.join("s"));
        store.put("k", &[b"1"], Condition::None).unwrap();
        let is_there = |key: &str| store.open(key).unwrap().is_some();
        assert!(!is_there("c") && is_there("k"));
        // Times of files are told in steps of some milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(30));
        std::fs::rename(&path, top.join("old")).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("c"), "2").unwrap();
        assert!(is_there("c") && !is_there("k"));
        // A look at the name is not made again while nothing changes.
        assert_eq!((fault::count(Call::Stat, || assert!(!is_there("k"))), fault::count(Call::Stat, || assert!(!is_there("k")))), (1, 1));
    }

    #[test]
    fn two_that_replace_a_root_do_it_one_after_the_other() {
        let top = TestFolder::new("exchange-two");
        let (one, other) = (local(&top.join("s")), local(&top.join("s")));
        one.put("k", &[b"1"], Condition::None).unwrap();
        let (begun, begins) = std::sync::mpsc::channel();
        std::thread::scope(|threads| {
            let first = one.replace_folder(
                "",
                &mut |new| {
                    new.put("half", &[b"2"], Condition::Absent)?;
                    let (begun, other) = (begun.clone(), &other);
                    threads.spawn(move || {
                        let second = other.replace_folder(
                            "",
                            &mut |new| {
                                begun.send(()).unwrap();
                                new.put("k", &[b"3"], Condition::Absent)
                            },
                            &mut || (),
                        );
                        assert!(second.unwrap());
                    });
                    // The other one builds at the same place: it waits for as long as this one is there.
                    assert!(begins.recv_timeout(std::time::Duration::from_millis(300)).is_err());
                    new.put("k", &[b"2"], Condition::Absent)
                },
                &mut || (),
            );
            assert!(first.unwrap());
        });
        assert_eq!((names_in(&top), names_in(&top.join("s"))), (names_of(&["s"]), names_of(&["k"])));
        assert_eq!(value(&one, "k").unwrap(), b"3");
    }

    #[test]
    fn a_value_is_put_however_often_the_root_is_replaced_meanwhile() {
        let top = TestFolder::new("exchange-often");
        let (store, other) = (local(&top.join("s")), local(&top.join("s")));
        store.put("k", &[b"1"], Condition::None).unwrap();
        let ends = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                    // While somebody puts into the old folder it may stay, so that the next call says that it cannot replace the root.
                    replace(&other, "").unwrap();
                }
            });
            let put = (0..3000).try_for_each(|_| store.put("v/k", &[b"2"], Condition::None));
            ends.store(true, std::sync::atomic::Ordering::Relaxed);
            put.unwrap();
        });
    }

    #[test]
    fn a_folder_is_replaced_while_others_sweep_what_killed_writers_have_left() {
        let top = TestFolder::new("exchange-swept");
        let store = local(&top.join("s"));
        store.put("a/old", &[b"1"], Condition::None).unwrap();
        let ends = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let dir = os::open(CWD, &c_path(&top.join("s")).unwrap(), libc::O_RDONLY | libc::O_DIRECTORY, 0).unwrap();
                while !ends.load(std::sync::atomic::Ordering::Relaxed) {
                    for name in names_in(&top.join("s")).into_iter().filter(|name| name.starts_with(".ozarr-")) {
                        let name = std::ffi::CString::new(name).unwrap();
                        let run = super::super::beside::run_of(name.to_bytes()).unwrap();
                        if let Some(_lock) = super::super::beside::unused(dir.as_fd(), &name, run) {
                            let _ = listing::remove_tree(dir.as_fd(), &name);
                        }
                    }
                }
            });
            let failed: Vec<_> = (0..2000).map(|_| replace(&store, "a/")).filter(|done| !matches!(done, Ok(true))).collect();
            ends.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(failed.is_empty(), "{failed:?}");
        });
    }

    #[test]
    fn a_folder_is_replaced_once_a_sweep_has_let_go_of_the_old_one() {
        let top = TestFolder::new("exchange-held");
        let store = local(&top.join("s"));
        store.put("a/old", &[b"1"], Condition::None).unwrap();
        let open = |path: &Path| os::open(CWD, &c_path(path).unwrap(), libc::O_RDONLY | libc::O_DIRECTORY, 0).unwrap();
        let swept = open(&top.join("s/a"));
        os::lock_folder(swept.as_fd()).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                std::thread::sleep(std::time::Duration::from_millis(10));
                drop(swept);
            });
            let mut held = Vec::new();
            let put = &mut |new: SharedStore| new.put("new", &[b"2"], Condition::Absent);
            let replaced = store.replace_folder("a", put, &mut || {
                let places = names_in(&top.join("s")).into_iter().filter(|name| name.starts_with(".ozarr-"));
                held.extend(places.map(|name| os::lock_folder(open(&top.join("s").join(name)).as_fd())));
            });
            assert_eq!((replaced.unwrap(), held), (true, vec![Err(Errno(libc::EWOULDBLOCK))]));
        });
    }

    #[test]
    fn a_folder_is_never_erased_because_no_more_files_can_be_opened() {
        let top = TestFolder::new("exchange-files");
        let made = || {
            let _ = std::fs::remove_dir_all(&top);
            let store = local(&top.join("s"));
            store.put("a/old", &[b"1"], Condition::None).unwrap();
            store
        };
        let store = made();
        let calls = fault::count(Call::Open, || assert!(replace(&store, "a/").unwrap()));
        for (after, times) in (0..calls).flat_map(|after| [(after, 1), (after, usize::MAX)]) {
            let store = made();
            let fault = fault::Fault { after, times, ..fail(Call::Open, libc::EMFILE) };
            let done = fault::with(&[fault], || replace(&store, "a/")).0;
            // Behind the exchange there is the new one.
            let holds = |key| top.join("s/a").join(key).exists();
            assert!(holds("old") != holds("new"), "{after}, {times}: {done:?}");
            if holds("old") && times == 1 {
                assert_eq!(names_in(&top.join("s")), names_of(&["a"]), "{after}: {done:?}");
            }
            match done {
                Ok(done) => assert!(done, "{after}, {times}: the old one would be erased"),
                Err(e) => assert_eq!(e.os_errno(), libc::EMFILE, "{after}, {times}: {e}"),
            }
        }
    }

    #[test]
    fn a_failed_call_leaves_the_old_folder_as_it_was() {
        let top = TestFolder::new("exchange-faults");
        let store = local(&top.join("s"));
        store.put("a/old", &[b"1"], Condition::None).unwrap();
        store.flush().unwrap();
        let full = fault::with(&[fail(Call::Write, libc::ENOSPC)], || replace(&store, "a/")).0;
        assert_eq!(full.unwrap_err().kind(), ErrorKind::NoSpace);
        let few = fault::with(&[fail(Call::Mkdir, libc::EMFILE)], || replace(&store, "a/")).0;
        assert_eq!(few.unwrap_err().os_errno(), libc::EMFILE, "what passes is no reason to erase the old one");
        for refused in [fail(Call::Mkdir, libc::EACCES), fail(Call::RenameNew, libc::EPERM)] {
            // The value's own temporary file may take the name in another way.
            let after = usize::from(refused.call == Call::RenameNew);
            let (done, unused) = fault::with(&[fault::Fault { after, ..refused }], || replace(&store, "a/"));
            assert!(!done.unwrap() && unused == 0, "{:?}", refused.call);
        }
        assert_eq!((value(&store, "a/old").unwrap(), names_in(&top.join("s"))), (b"1".to_vec(), names_of(&["a"])));
        // A file system that cannot exchange folders renames one after the other.
        let cannot = fault::Fault { after: 1, ..fail(Call::RenameNew, libc::EINVAL) };
        assert!(fault::with(&[cannot], || replace(&store, "a/")).0.unwrap());
        assert_eq!((value(&store, "a/new").unwrap(), names_in(&top.join("s"))), (b"2".to_vec(), names_of(&["a"])));
    }
}
