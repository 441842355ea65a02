//! Locks between processes: open-file-description locks on one byte for each key of the hidden file `.ozarr.lock`.
//!
//! The file is removed when no process uses it, because other readers report it. A lock that ends tries to lock the whole file, which
//! works only where no other lock holds a part of it or waits for one ([`PRESENCE`]), and then unlinks it. A lock that begins compares the
//! open file with the one of that name, and is taken anew if they differ. A kill leaves at most the file, which the next lock there removes.
//!
//! While it is there it tells copies that a run was cut, by a few bytes ([`Locks::note_cut`]): a copy that watches the file keeps it, and leaves the removal to
//! the next lock.

use super::durable::Durability;
use super::path::{KeyPath, LOCK_NAME, Made, c_path, make_missing, remove_made, renamed_folder};
use super::temporary::{TRIES, Temp, TempNames};
use crate::error::{Result, bail};
use crate::fork::{ForkReset, OwnFile, forks};
use crate::platform::{AsFd, BorrowedFd, OwnedFd, is_shared, libc, share_writing};
use crate::store::file_options::LockMode;
use crate::store::os::{self, CWD, Errno, Os};
use crate::store::{CutMark, LockUse};
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::hash::{BuildHasher, RandomState};
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lock bytes of `lock_key` are below this, those of conditional puts above.
pub(super) const LOCK_SPACE: u64 = 1 << 62;
/// The byte on which every rare lock holds a shared lock, from before it waits until it ends: it keeps others from removing the file.
const PRESENCE: u64 = i64::MAX as u64 - 1;
/// The length that a removed lock file gets, for processes on network file systems that may still see it under its name. It is short: a process
/// whose files may not be long would be ended by a signal.
const REMOVED_LEN: u64 = 3;
/// The length of what a lock file says of cuts; it holds no more.
const CUT_LEN: u64 = 8;
/// How long to wait between tries after [`TRIES`] of them: others have the file removed all the time.
const PAUSE: Duration = Duration::from_millis(1);
/// How often to look again for the right to use a file that another user has just made.
const MOST_UNSHARED: usize = 512;

/// The locks of one store.
pub(super) struct Locks {
    mode: LockMode,
    /// The error with which the file system refused a lock, 0 if it never did.
    refused: AtomicI32,
    /// Whether it has granted one.
    granted: AtomicBool,
    /// Folders whose lock files stay until the store is closed. A child of `fork` leaves those of its parent alone.
    kept: ForkReset<Mutex<BTreeSet<String>>>,
}

/// Where a lock file is: in a folder below the root.
struct LockPlace<'a> {
    root: BorrowedFd<'a>,
    folder: &'a str,
    path: KeyPath,
}

/// A lock file that is open.
struct OpenLock {
    fd: OwnedFd,
    /// It was made by the same call.
    is_new: bool,
}

impl OpenLock {
    fn there(fd: OwnedFd) -> OpenLock {
        OpenLock { fd, is_new: false }
    }
}

impl Locks {
    pub(super) fn new(mode: LockMode) -> Locks {
        Locks { mode, refused: AtomicI32::new(0), granted: AtomicBool::new(false), kept: ForkReset::new(Mutex::default) }
    }

    /// Gives the error with which the file system refused a lock that the store went on without, or 0.
    pub(super) fn refused(&self) -> i32 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Locks one byte of the lock file in `folder`; `None` if there are to be no locks, or the file system has none and need not.
    pub(super) fn lock(
        &self,
        root: BorrowedFd<'_>,
        folder: &str,
        byte: u64,
        lock_use: LockUse,
        durability: &Durability,
    ) -> Result<Option<ByteLock>> {
        if self.mode == LockMode::None {
            return Ok(None);
        }
        let at = LockPlace { root, folder, path: KeyPath::join(folder, LOCK_NAME) };
        if lock_use == LockUse::Look {
            return look_for_holder(root, &at.path, byte).map(|()| None);
        }
        let mut made = Made::new();
        let mut locked = self.lock_in(&at, byte, lock_use, durability, &mut made);
        match locked.as_mut().ok().and_then(Option::as_mut).and_then(|held| held.removal.as_mut()) {
            Some(removal) => removal.made = made,
            None if made.is_empty() => {}
            None => remove_made(root, &lock_key(folder), &made),
        }
        locked
    }

    /// Locks a byte as [`Locks::lock`] does; `made` gets the folders that were missing.
    fn lock_in(
        &self,
        at: &LockPlace<'_>,
        byte: u64,
        lock_use: LockUse,
        durability: &Durability,
        made: &mut Made,
    ) -> Result<Option<ByteLock>> {
        let LockPlace { root, folder, ref path } = *at;
        for tries in 0..TRIES * TRIES {
            if tries >= TRIES {
                std::thread::sleep(PAUSE);
            }
            // One that is kept may have been removed by another process: then it is made as the first one was.
            let kept = if lock_use == LockUse::Often && self.keeps(folder) { open_known(root, path).ok() } else { None };
            let above = if kept.is_none() { Some(os::stat_at(root, KeyPath::of_folder(folder).as_c(), true)) } else { None };
            if lock_use == LockUse::Often && matches!(above, Some(Err(Errno(libc::ENOENT)))) {
                // The node was erased or renamed: its folder is not found.
                return Ok(None);
            }
            let above = above.and_then(Os::<libc::stat>::ok).filter(is_shared);
            let opened = match kept.map(OpenLock::there).or_else(|| open_shared(at, above.as_ref()?)) {
                None => open_lock_file(at, tries, self.granted.load(Ordering::Relaxed), durability, made)?,
                opened => opened,
            };
            let Some(OpenLock { fd, is_new }) = opened else { continue };
            let fd = OwnFile::new(fd);
            if let Some(above) = &above {
                share(root, folder, fd.as_fd(), above);
            }
            let removal = match lock_use {
                LockUse::Often => None,
                _ => root.try_clone_to_owned().ok().map(|root| Box::new(Removal { root, path: path.clone(), made: Made::new() })),
            };
            let held = ByteLock { fd, removal, forks: forks() };
            match held.take(at, byte, lock_use) {
                Ok(false) => {}
                Ok(true) => {
                    self.granted.store(true, Ordering::Relaxed);
                    if held.removal.is_none() {
                        self.keep(folder);
                    }
                    return Ok(Some(held));
                }
                Err(Errno(libc::EAGAIN)) if lock_use == LockUse::Alone => bail!(Again, "another one has the lock"),
                // EPERM: a filter of system calls does not let it through.
                Err(refusal @ Errno(libc::ENOLCK | libc::ENOTSUP | libc::ENOSYS | libc::EINVAL | libc::EPERM)) => {
                    // Where there are no locks at all the file is of no use to anybody. One that was there may be in use by those that are not refused.
                    if is_new && refusal != Errno(libc::ENOLCK) {
                        remove_unlocked(root, path.as_c(), held.fd.as_fd());
                    }
                    return self.refuse(refusal).map(|()| None);
                }
                Err(e) => return Err(e.error("lock")),
            }
        }
        let path = path.as_c().to_string_lossy();
        bail!(Io, "the lock file {path} vanishes again and again, or its file system counts no links (\"file.lock\" \"none\": no locks)")
    }

    fn kept(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.kept.get().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a folder's lock file stays to the end of the store.
    fn keeps(&self, folder: &str) -> bool {
        self.kept().contains(folder)
    }

    /// Leaves a folder's lock file to the end of the store.
    fn keep(&self, folder: &str) {
        let mut kept = self.kept();
        if !kept.contains(folder) {
            kept.insert(folder.to_string());
        }
    }

    /// Gives the folders of a prefix the names that they got by a rename.
    pub(super) fn rename_prefix(&self, from: &str, to: &str) {
        let mut kept = self.kept();
        *kept = std::mem::take(&mut *kept).into_iter().map(|folder| renamed_folder(&folder, from, to).unwrap_or(folder)).collect();
    }

    /// Says what becomes of a lock that the file system refused: an error if there must be locks.
    fn refuse(&self, refusal: Errno) -> Result<()> {
        if self.mode == LockMode::Require {
            return Err(refusal.error("the file system has no locks, which \"file.lock\" requires: lock"));
        }
        self.refused.store(refusal.0, Ordering::Relaxed);
        Ok(())
    }

    /// Says in the lock file of a folder, which is there while the caller holds a lock in it, that something was cut.
    pub(super) fn note_cut(&self, root: BorrowedFd<'_>, folder: &str) -> Result<()> {
        if self.mode == LockMode::None {
            return Ok(());
        }
        let fd = match open_known(root, &KeyPath::join(folder, LOCK_NAME)) {
            Ok(fd) => fd,
            // That does not say that nobody watches it.
            Err(e @ Errno(libc::EMFILE | libc::ENFILE)) => return Err(e.error("open the lock file")),
            Err(_) => return Ok(()),
        };
        let mark = RandomState::new().hash_one(std::process::id()) | 1;
        os::write_at_start(fd.as_fd(), &mark.to_ne_bytes()).map_err(|e| e.error("write to the lock file"))
    }

    /// Gives what the lock file of a folder says of cuts, and keeps the file where that is wanted, as far as this user may; `None` without one.
    /// Whoever watches the file never removes it: locks of other machines may not be seen here.
    pub(super) fn cut_mark(&self, root: BorrowedFd<'_>, folder: &str, keep: bool) -> Result<Option<CutMark>> {
        let path = KeyPath::join(folder, LOCK_NAME);
        if self.mode == LockMode::None {
            return Ok(None);
        }
        for _ in 0..if keep { TRIES } else { 0 } {
            let Ok(fd) = open_known(root, &path) else { break };
            let held = ByteLock { fd: OwnFile::new(fd), removal: None, forks: forks() };
            if os::share_byte(held.fd.as_fd(), PRESENCE as i64).is_err() {
                break;
            }
            if let Ok(Some(own)) = look_at_current(root, path.as_c(), held.fd.as_fd()) {
                return Ok(Some(CutMark { file: own.st_ino, cut: cut_in(held.fd.as_fd()), kept: Some(Box::new(held)) }));
            }
        }
        match os::open(root, path.as_c(), libc::O_RDONLY | libc::O_NOFOLLOW, 0) {
            Ok(fd) => Ok(Some(CutMark { file: 0, cut: cut_in(fd.as_fd()), kept: None })),
            // That does not say that the file is gone.
            Err(e @ Errno(libc::EMFILE | libc::ENFILE)) => Err(e.error("open the lock file")),
            Err(_) => Ok(None),
        }
    }

    /// Removes the lock files that stayed, where nobody uses them.
    pub(super) fn remove_kept(&self, root: BorrowedFd<'_>) {
        let kept = std::mem::take(&mut *self.kept());
        for folder in kept {
            let path = KeyPath::join(&folder, LOCK_NAME);
            if let Ok(fd) = open_known(root, &path).map(OwnFile::new) {
                remove_unused(root, path.as_c(), fd.as_fd());
            }
        }
    }
}

/// Errors: `Again` if somebody has the lock on a byte. Without a lock file nobody has; that of another user is asked by who may only read it.
fn look_for_holder(root: BorrowedFd<'_>, path: &KeyPath, byte: u64) -> Result<()> {
    match os::open(root, path.as_c(), libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK, 0) {
        Ok(fd) if os::is_byte_locked(fd.as_fd(), byte as i64) == Ok(true) => bail!(Again, "another one has the lock"),
        Ok(_) | Err(Errno(libc::ENOENT | libc::ENOTDIR | libc::ELOOP | libc::ESTALE)) => Ok(()),
        Err(e) => Err(e.error(&format!("open the lock file {}", path.as_c().to_string_lossy()))),
    }
}

/// What a lock file says of the last cut; 0: there was none since it was made.
fn cut_in(file: BorrowedFd<'_>) -> u64 {
    let mut bytes = [MaybeUninit::uninit(); 8];
    match os::pread(file, &mut bytes, 0) {
        // SAFETY: all bytes were read.
        Ok(8) => u64::from_ne_bytes(bytes.map(|byte| unsafe { byte.assume_init() })),
        _ => 0,
    }
}

/// The lock file of a folder below the root, as a key.
fn lock_key(folder: &str) -> String {
    format!("{folder}/{LOCK_NAME}")
}

/// Opens a lock file that is there.
fn open_known(root: BorrowedFd<'_>, path: &KeyPath) -> Os<OwnedFd> {
    os::open(root, path.as_c(), libc::O_RDWR | libc::O_NOFOLLOW, 0)
}

/// Opens the lock file of a folder, and makes both if they are not there. Where locks were `granted` before it is not told whether the file is new: it
/// is left to the next lock then. `None` if the folder was not there, or if another user, which has just made the file, has not shared it yet. `tries`
/// counts the calls, `made` gets the folders that were missing.
fn open_lock_file(at: &LockPlace<'_>, tries: usize, granted: bool, durability: &Durability, made: &mut Made) -> Result<Option<OpenLock>> {
    let LockPlace { root, folder, ref path } = *at;
    // To make it only where it is not there is a call more where it is.
    let how = if granted { libc::O_NOFOLLOW } else { libc::O_EXCL };
    match os::open(root, path.as_c(), libc::O_RDWR | libc::O_CREAT | how, 0o666) {
        Ok(fd) => Ok(Some(OpenLock { fd, is_new: !granted })),
        Err(Errno(libc::ENOENT)) if !folder.is_empty() => {
            let name = lock_key(folder);
            let parents = make_missing(root, &name, made);
            durability.folders_made(&name, made);
            parents?;
            durability.names_changed(root, &name, made)?;
            Ok(None)
        }
        Err(Errno(libc::ESTALE)) => Ok(None),
        // Where all may write, the system lets nobody make what is there already as another user's (`fs.protected_regular`), but open it.
        Err(e) => match open_known(root, path) {
            Ok(fd) => Ok(Some(OpenLock::there(fd))),
            // It was removed meanwhile.
            Err(Errno(libc::ENOENT | libc::ESTALE)) if e == Errno(libc::EEXIST) => Ok(None),
            Err(Errno(libc::EACCES))
                if tries < MOST_UNSHARED
                    && !matches!(os::may_change(root, KeyPath::of_folder(folder).as_c()), Err(Errno(libc::EACCES | libc::EROFS))) =>
            {
                std::thread::sleep(PAUSE);
                Ok(None)
            }
            Err(there) => {
                let e = if e == Errno(libc::EEXIST) { there } else { e };
                // The key of the error is that of what is to be changed, which the caller knows.
                Err(e.error(&format!("open the lock file {}", path.as_c().to_string_lossy())))
            }
        },
    }
}

/// Opens the lock file of a folder in which several users write as [`open_lock_file`] does, and gives a new one its name when they may use it: a kill
/// before that would keep them out for ever. `None` where the file cannot be made so, or others are faster.
fn open_shared(at: &LockPlace<'_>, above: &libc::stat) -> Option<OpenLock> {
    let LockPlace { root, folder, ref path } = *at;
    match open_known(root, path) {
        Err(Errno(libc::ENOENT)) => {}
        opened => return opened.ok().map(OpenLock::there),
    }
    let mut temp = Temp { root, path: TempNames::new().next(folder), there: true };
    let made = os::open(root, temp.path.as_c(), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 0o666);
    temp.there = made.is_ok();
    let fd = made.ok()?;
    share(root, folder, fd.as_fd(), above);
    let named = os::rename_new(root, temp.path.as_c(), path.as_c()).is_ok();
    temp.there = !named;
    named.then_some(OpenLock { fd, is_new: true })
}

/// Lets all users that may write in a folder, which is `above` it, use its lock file, whatever the mask of the process: they would be kept out by it.
fn share(root: BorrowedFd<'_>, folder: &str, file: BorrowedFd<'_>, above: &libc::stat) {
    let open = || os::open(root, KeyPath::of_folder(folder).as_c(), libc::O_RDONLY | libc::O_DIRECTORY, 0).ok();
    // What another user has linked or renamed to that name is none, and stays whose it is.
    if let Ok(own) = os::stat(file)
        && own.st_nlink == 1
        && own.st_size as u64 <= CUT_LEN
    {
        share_writing(file, &own, above, open);
    }
}

/// Gives what is known of an open lock file, or `None` if it was removed, by another lock's end or with its folder.
fn look_at(file: BorrowedFd<'_>) -> Os<Option<libc::stat>> {
    match os::stat(file) {
        // Some file systems of programs look a removed file up by its name.
        Err(Errno(libc::ESTALE | libc::ENOENT)) => Ok(None),
        own => own.map(|own| (own.st_nlink != 0 && own.st_size as u64 != REMOVED_LEN).then_some(own)),
    }
}

/// Gives what is known of an open lock file if it is the one that its path names: network file systems keep a removed file that is open under
/// another name.
fn look_at_current(root: BorrowedFd<'_>, path: &CStr, file: BorrowedFd<'_>) -> Os<Option<libc::stat>> {
    let Some(own) = look_at(file)? else { return Ok(None) };
    match os::stat_at(root, path, false) {
        Ok(named) => {
            #[cfg(any(test, feature = "faults"))]
            let [named, own] = [named, own].map(crate::store::fault::numbered);
            Ok(os::is_same(&named, &own).then_some(own))
        }
        Err(Errno(libc::ENOENT | libc::ENOTDIR | libc::ESTALE)) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Removes a lock file if nobody else holds a part of it or waits for one; `false` if somebody does.
fn remove_unused(root: BorrowedFd<'_>, path: &CStr, file: BorrowedFd<'_>) -> bool {
    if os::try_lock_all(file).is_err() {
        return false;
    }
    // Only the holder of a lock on all of the file of this name may remove it. One that has another name, in a copy that was made by links, stays:
    // nobody could use the copy's once it is marked, and without the mark nobody could tell that this one is gone. So does one of a file system that gives
    // files no numbers: of one that is made then nobody could tell that it is another one.
    if let Ok(Some(own)) = look_at_current(root, path, file)
        && own.st_nlink == 1
        && own.st_ino != 0
        && os::unlink(root, path).is_ok()
    {
        let _ = os::truncate(file, REMOVED_LEN);
    }
    true
}

/// Removes a lock file that was made for a lock which is refused, unless another process, which may have locks, has put its own in its place.
pub(super) fn remove_unlocked(root: BorrowedFd<'_>, path: &CStr, file: BorrowedFd<'_>) {
    if matches!(look_at_current(root, path, file), Ok(Some(_))) {
        let _ = os::unlink(root, path);
    }
}

/// Removes the lock file of a run that was killed. `false` where somebody holds a lock in it, or it stays for another reason.
pub fn remove_unheld(path: &Path) -> bool {
    let Ok(path) = c_path(path) else { return false };
    let Ok(file) = os::open(CWD, &path, libc::O_RDWR | libc::O_NOFOLLOW, 0).map(OwnFile::new) else { return false };
    remove_unused(CWD, &path, file.as_fd()) && os::stat_at(CWD, &path, false).is_err()
}

/// Whether a lock file that may not be opened keeps who may change its folder from that.
pub fn shuts_out(path: &Path) -> bool {
    let (Ok(file), Some(Ok(folder))) = (c_path(path), path.parent().map(c_path)) else { return false };
    let opened = os::open(CWD, &file, libc::O_RDWR | libc::O_NOFOLLOW, 0).map(OwnFile::new);
    matches!(opened, Err(Errno(libc::EACCES))) && os::may_change(CWD, &folder).is_ok()
}

/// A lock on one byte of a lock file.
pub(super) struct ByteLock {
    fd: OwnFile,
    /// How the file is removed when the lock is given back.
    removal: Option<Box<Removal>>,
    /// How often this process had been forked by then (see `fork`), which costs no system call.
    forks: u32,
}

struct Removal {
    root: OwnedFd,
    path: KeyPath,
    /// The folders that were made for the file. They go with it where nothing else has come into them.
    made: Made,
}

impl ByteLock {
    /// Takes the lock on a byte, and waits for it unless it is for the only one; `false` if the file was removed meanwhile.
    fn take(&self, at: &LockPlace<'_>, byte: u64, lock_use: LockUse) -> Os<bool> {
        if self.removal.is_some() {
            os::share_byte(self.fd.as_fd(), PRESENCE as i64)?;
            if look_at_current(at.root, at.path.as_c(), self.fd.as_fd())?.is_none() {
                return Ok(false);
            }
        }
        let lock = match lock_use {
            LockUse::Rare | LockUse::Often => os::lock_byte,
            LockUse::Alone | LockUse::Look => os::try_lock_byte,
        };
        lock(self.fd.as_fd(), byte as i64)?;
        Ok(look_at(self.fd.as_fd())?.is_some())
    }
}

impl Drop for ByteLock {
    fn drop(&mut self) {
        // A child must not give back the parent's, whose descriptor it has closed.
        if self.forks != forks() {
            return;
        }
        let file = self.fd.as_fd();
        if let Some(removal) = &self.removal
            && !remove_unused(removal.root.as_fd(), removal.path.as_c(), file)
        {
            // Others use the file. Of several that are done at the same time, one comes last and finds itself alone.
            let _ = os::unlock_all(file);
            remove_unused(removal.root.as_fd(), removal.path.as_c(), file);
        }
        let _ = os::unlock_all(file);
        if let Some(removal) = self.removal.as_ref().filter(|removal| !removal.made.is_empty()) {
            remove_made(removal.root.as_fd(), removal.path.as_c().to_str().unwrap_or_default(), &removal.made);
        }
    }
}
