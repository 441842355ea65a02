//! A folder of the local file system as a store: one file a key, replaced atomically, durable as the sync mode says.
//!
//! **Reading** costs three calls a chunk of known length: `openat` from the kept root descriptor, one `pread`, `close`; one more
//! `pread` finds the end where the length is not known. The path is built on the stack. Only "no such file" counts as missing.
//!
//! **Writing** never changes a file in place: temporary name in the same folder → write → (sync) → close, checked →
//! rename. Whatever fails, the old value stays and the temporary file goes. A kill leaves at most a temporary file,
//! which listings hide.
//!
//! **Locks** between processes are open-file-description locks on one byte for each key of a hidden file
//! `.ozarr.lock`; readers never lock.

use super::os::{self, CWD, EntryKind, Errno, OnceFd};
use super::{Capabilities, Condition, Folder, Listing, LocalFiles, Object, ProcessLock, Staged, Stamp, Store, Version, check_exact};
use crate::error::{Error, Result, bail, err};
use crate::fork::{ForkReset, forks};
use crate::limits::{MAX_KEY, reserve};
use smallvec::SmallVec;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The name of lock files; never listed.
pub(crate) const LOCK_NAME: &str = ".ozarr.lock";
/// How temporary names begin; never listed.
const TEMP_PREFIX: &str = ".ozarr-";
/// How temporary names end.
const TEMP_SUFFIX: &str = ".tmp";
/// How many new keys may be unsynced in mode `batch` before they are synced early.
const MAX_UNSYNCED: usize = 65_536;
/// The least room that a whole read offers at first.
const FIRST_READ: usize = 64 << 10;
/// How often a step is repeated that races with other processes (a folder erased in between, a name taken).
const TRIES: usize = 64;
/// How deep folders are followed when listing or erasing.
const MAX_DEPTH: usize = MAX_KEY / 2;
/// Lock bytes of `lock_key` are below this, those of conditional puts above.
const LOCK_SPACE: u64 = 1 << 62;

/// When what was put survives a power cut. Kills and crashes of the program never lose or tear anything in any mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// When the system gets to it.
    None,
    /// At [`Store::flush`]; and a key that existed at the last flush is synced before each replacement, so that no old
    /// value is ever lost.
    #[default]
    Batch,
    /// When `put` returns.
    Each,
}

impl SyncMode {
    /// The mode of that name (`none`, `batch`, `each`).
    pub fn parse(name: &str) -> Result<SyncMode> {
        match name {
            "none" => Ok(SyncMode::None),
            "batch" => Ok(SyncMode::Batch),
            "each" => Ok(SyncMode::Each),
            _ => bail!(Argument, "sync mode {name:?} is not one of none, batch, each"),
        }
    }

    /// The name of the mode.
    pub fn name(self) -> &'static str {
        match self {
            SyncMode::None => "none",
            SyncMode::Batch => "batch",
            SyncMode::Each => "each",
        }
    }
}

/// A folder as a store. Thread-safe; may be shared by processes.
pub struct LocalStore {
    root: PathBuf,
    root_fd: OnceFd,
    writable: bool,
    sync: SyncMode,
    /// Set once the file system has refused `RENAME_NOREPLACE`.
    no_rename_new: AtomicBool,
    next_temp: AtomicU64,
    /// The process that opened the store, for the names of temporary files.
    process: u32,
    /// A child of `fork` begins with nothing unsynced: what the parent put is the parent's to sync.
    shared: ForkReset<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Held through a flush, so that a second one returns only when all is durable.
    flushing: Mutex<()>,
    /// Held by conditional puts between looking and renaming.
    matching: Mutex<()>,
}

/// What the next flush has to do.
#[derive(Default)]
struct State {
    /// Keys that are new since the last flush, with the file that was put.
    unsynced: HashMap<String, FileId>,
    /// Folders whose names changed.
    folders: BTreeSet<String>,
    /// The first failed sync or close: something that was put may be lost.
    failure: Option<Error>,
}

/// Which file a key named when it was put: inode and time of writing (which a rename keeps).
type FileId = (u64, i64, i64);

fn file_id(st: &libc::stat) -> FileId {
    (st.st_ino, st.st_mtime, st.st_mtime_nsec)
}

/// What a file is like that looks so.
fn stamp_of(st: &libc::stat) -> Stamp {
    let nanos = |s: i64, ns: i64| (s as u64).wrapping_mul(1_000_000_000).wrapping_add(ns as u64);
    let (modified, changed) = (nanos(st.st_mtime, st.st_mtime_nsec), nanos(st.st_ctime, st.st_ctime_nsec));
    #[allow(clippy::unnecessary_cast)] // It has 32 bits elsewhere.
    let names = st.st_nlink as u64;
    Stamp { len: st.st_size.max(0) as u64, current: names != 0, state: [names, modified, st.st_ino, st.st_dev], changed }
}

/// An error of what is no file.
fn check_is_file(st: &libc::stat) -> Result<()> {
    match EntryKind::of(st) {
        EntryKind::File => Ok(()),
        EntryKind::Folder => Err(Errno(libc::EISDIR).error("read")),
        _ => bail!(Io, "the key names neither a file nor a folder"),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that a key is a relative path of at most [`MAX_KEY`] bytes without empty, `.` or `..` parts.
pub(crate) fn check_key(key: &str) -> Result<()> {
    if key.len() > MAX_KEY {
        bail!(Limit, "a key of {} bytes exceeds the limit of {MAX_KEY}", key.len());
    }
    if is_plain(key.as_bytes()) {
        return Ok(());
    }
    let mut start = 0;
    let bytes = key.as_bytes();
    for end in 0..=bytes.len() {
        match bytes.get(end) {
            None | Some(b'/') => {
                if matches!(&bytes[start..end], b"" | b"." | b"..") {
                    bail!(Name, "the key {key:?} has an empty, `.` or `..` part");
                }
                start = end + 1;
            }
            Some(0) => bail!(Name, "the key {key:?} contains a NUL"),
            Some(_) => {}
        }
    }
    Ok(())
}

/// Whether bytes surely are a good key, found in one pass without branches: keys of chunks are checked for every chunk. No part of such
/// a key begins with a dot.
fn is_plain(key: &[u8]) -> bool {
    let (Some((first, rest)), Some(last)) = (key.split_first(), key.last()) else { return false };
    let starts_part = |before: u8, b: u8| (before == b'/') & ((b == b'/') | (b == b'.'));
    let odd = key.iter().zip(rest).fold(false, |odd, (&before, &b)| odd | (b == 0) | starts_part(before, b));
    !(odd | (*first == 0) | starts_part(b'/', *first) | (*last == b'/'))
}

/// Checks that a prefix is empty or a key and a slash; gives that key.
pub(crate) fn check_prefix(prefix: &str) -> Result<&str> {
    if prefix.is_empty() {
        return Ok("");
    }
    let Some(folder) = prefix.strip_suffix('/') else { bail!(Argument, "the prefix {prefix:?} does not end in a slash") };
    check_key(folder)?;
    Ok(folder)
}

/// A NUL-terminated path below the root, on the stack.
struct KeyPath {
    /// Written as far as `len`, and a NUL there.
    bytes: [MaybeUninit<u8>; MAX_KEY + 128],
    len: usize,
}

impl KeyPath {
    /// The file of a key.
    fn of_key(key: &str) -> Result<KeyPath> {
        check_key(key)?;
        Ok(KeyPath::join("", key))
    }

    /// The folder `folder`, which was checked; `.` for the root.
    fn of_folder(folder: &str) -> KeyPath {
        KeyPath::join("", if folder.is_empty() { "." } else { folder })
    }

    /// A checked folder (or nothing) and a name in it.
    fn join(folder: &str, name: &str) -> KeyPath {
        let mut path = KeyPath { bytes: [MaybeUninit::uninit(); MAX_KEY + 128], len: 0 };
        path.push(folder);
        if !folder.is_empty() {
            path.push("/");
        }
        path.push(name);
        path
    }

    fn push(&mut self, text: &str) {
        let room = &mut self.bytes[self.len..][..text.len() + 1];
        // SAFETY: the room is longer than the text, which is somewhere else.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), room.as_mut_ptr().cast(), text.len()) };
        room[text.len()].write(0);
        self.len += text.len();
    }

    fn copy(&self) -> KeyPath {
        KeyPath { bytes: self.bytes, len: self.len }
    }

    fn as_c(&self) -> &CStr {
        // SAFETY: `push`, which every path was made by, wrote `len` bytes and a NUL behind them; checked keys and the library's own
        // names hold none.
        unsafe { CStr::from_bytes_with_nul_unchecked(std::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.len + 1)) }
    }
}

impl Write for KeyPath {
    fn write_str(&mut self, s: &str) -> std::fmt::Result {
        self.push(s);
        Ok(())
    }
}

/// The folder of a key, without a slash.
fn folder_of(key: &str) -> &str {
    key.rfind('/').map_or("", |at| &key[..at])
}

fn is_hidden(name: &[u8]) -> bool {
    name == LOCK_NAME.as_bytes() || (name.starts_with(TEMP_PREFIX.as_bytes()) && name.ends_with(TEMP_SUFFIX.as_bytes()))
}

impl LocalStore {
    /// The store of the folder `root`, which may not exist yet: the first `put` makes it and its parents; until then
    /// every key is missing. Nothing is read or written by this call. A relative path counts from the present folder.
    pub fn open(root: &Path, writable: bool, sync: SyncMode) -> Result<LocalStore> {
        if root.as_os_str().as_bytes().contains(&0) {
            bail!(Location, "the path {} contains a NUL", root.display());
        }
        let root = std::path::absolute(root).map_err(|e| err!(Location, "the path {:?}: {e}", root.display().to_string()))?;
        Ok(LocalStore {
            root,
            root_fd: OnceFd::new(),
            writable,
            sync,
            no_rename_new: AtomicBool::new(false),
            next_temp: AtomicU64::new(0),
            process: std::process::id(),
            shared: ForkReset::new(Shared::default),
        })
    }

    /// The root folder, or `None` if there is none yet.
    #[inline]
    fn root(&self) -> Result<Option<BorrowedFd<'_>>> {
        match self.root_fd.get() {
            Some(fd) => Ok(Some(fd)),
            None => self.open_root(),
        }
    }

    #[cold]
    fn open_root(&self) -> Result<Option<BorrowedFd<'_>>> {
        let path = c_path(&self.root)?;
        match os::open(CWD, &path, libc::O_PATH | libc::O_DIRECTORY, 0) {
            Ok(fd) => Ok(Some(self.root_fd.set(fd))),
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(e) => Err(e.error(&format!("open the folder {}", self.root.display()))),
        }
    }

    /// The root folder, made if there is none yet.
    fn root_to_write(&self) -> Result<BorrowedFd<'_>> {
        for _ in 0..TRIES {
            if let Some(fd) = self.root()? {
                return Ok(fd);
            }
            make_folder(&self.root, self.sync != SyncMode::None)?;
        }
        bail!(Io, "the folder {} vanishes again and again", self.root.display())
    }

    fn check_writable(&self) -> Result<()> {
        if !self.writable {
            bail!(ReadOnly, "the store is open for reading only");
        }
        Ok(())
    }

    /// A system call failed that decides whether something put is durable: the next flushes report it, too.
    fn lost(&self, errno: Errno, what: &str, key: &str) -> Error {
        let error = errno.error(what).at_key(key);
        lock(&self.shared.get().state).failure.get_or_insert_with(|| error.clone());
        error
    }

    /// A name that no other file has: process (as it was when the store was opened), count and 64 random bits (for forks of it
    /// and processes on other machines).
    fn temp_path(&self, folder: &str) -> KeyPath {
        use std::hash::{BuildHasher, RandomState};
        let mut path = KeyPath::join(folder, TEMP_PREFIX);
        let count = self.next_temp.fetch_add(1, Ordering::Relaxed);
        let random = RandomState::new().hash_one(count);
        // Writing to a KeyPath does not fail.
        let _ = write!(path, "{}-{count}-{random:x}{TEMP_SUFFIX}", self.process);
        path
    }

    /// A new file beside `key`. Folders that are missing are made; `made` gets the lengths of their paths in `key`.
    fn create_temp<'a>(&self, root: BorrowedFd<'a>, key: &str, made: &mut Made) -> Result<(Temp<'a>, OwnedFd)> {
        if is_hidden(key.rsplit('/').next().unwrap_or(key).as_bytes()) {
            bail!(Name, "the name is kept for the library's own files");
        }
        let folder = folder_of(key);
        for _ in 0..TRIES {
            let path = self.temp_path(folder);
            match os::open(root, path.as_c(), libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o666) {
                Ok(fd) => return Ok((Temp { root, path, there: true }, fd)),
                Err(Errno(libc::ENOENT)) if !folder.is_empty() => make_parents(root, key, made)?,
                Err(Errno(libc::EEXIST)) => {}
                Err(e) => return Err(e.error("create a temporary file")),
            }
        }
        bail!(Io, "the folder vanishes again and again")
    }

    /// Stores `parts` as `key`: the one way in which a value gets its name.
    fn replace(&self, key: &str, parts: &[&[u8]], absent: bool) -> Result<()> {
        let path = KeyPath::of_key(key)?;
        let root = self.root_to_write()?;
        let mut made = Made::new();
        let (temp, fd) = self.create_temp(root, key, &mut made)?;
        os::write_all(fd.as_fd(), parts).map_err(|e| e.error("write"))?;
        self.give_name(temp, fd, key, &path, absent, &made)
    }

    /// Makes a written temporary file the value of `key`.
    fn give_name(&self, mut temp: Temp<'_>, fd: OwnedFd, key: &str, path: &KeyPath, absent: bool, made: &Made) -> Result<()> {
        let root = temp.root;
        let id = match self.sync {
            SyncMode::Batch => file_id(&os::stat(fd.as_fd()).map_err(|e| e.error("stat"))?),
            _ => FileId::default(),
        };
        if self.sync == SyncMode::Each {
            os::fdatasync(fd.as_fd()).map_err(|e| self.lost(e, "sync", key))?;
        }
        match os::close(fd) {
            // The descriptor is gone, and whether all was written is not known: a sync by another one tells.
            Err(Errno(libc::EINTR)) => sync_file(root, &temp.path).map_err(|e| self.lost(e, "sync", key))?,
            closed => closed.map_err(|e| self.lost(e, "close", key))?,
        }
        if absent {
            if !self.rename_new(&mut temp, path)? {
                bail!(Conflict, "the key holds a value already");
            }
        } else if self.sync == SyncMode::Batch {
            self.replace_batched(&mut temp, path, key, id)?;
        } else {
            temp.rename(path)?;
        }
        if self.sync == SyncMode::Batch && absent {
            self.remember_new(key, id);
        }
        self.names_changed(root, key, made)?;
        self.sync_early()
    }

    /// Mode `batch`: a key that is new, or that this store put since the last flush, gets its value at once; any other
    /// holds a value that may be durable, so the new one is synced before it takes the name.
    fn replace_batched(&self, temp: &mut Temp<'_>, path: &KeyPath, key: &str, id: FileId) -> Result<()> {
        let ours = lock(&self.shared.get().state).unsynced.get(key).copied();
        // Another process may have replaced (and synced) the value meanwhile: then the file is not the one put here.
        let still_ours = ours.is_some() && os::stat_at(temp.root, path.as_c(), false).is_ok_and(|st| ours == Some(file_id(&st)));
        if still_ours {
            temp.rename(path)?;
        } else if !self.rename_new(temp, path)? {
            sync_file(temp.root, &temp.path).map_err(|e| self.lost(e, "sync", key))?;
            temp.rename(path)?;
            lock(&self.shared.get().state).unsynced.remove(key);
            return Ok(());
        }
        self.remember_new(key, id);
        Ok(())
    }

    fn remember_new(&self, key: &str, id: FileId) {
        let mut state = lock(&self.shared.get().state);
        match state.unsynced.get_mut(key) {
            Some(known) => *known = id,
            None => drop(state.unsynced.insert(key.to_string(), id)),
        }
    }

    /// Gives the temporary file its name if that names nothing; `false` if it does.
    fn rename_new(&self, temp: &mut Temp<'_>, path: &KeyPath) -> Result<bool> {
        if !self.no_rename_new.load(Ordering::Relaxed) {
            match os::rename_new(temp.root, temp.path.as_c(), path.as_c()) {
                Ok(()) => {
                    temp.there = false;
                    return Ok(true);
                }
                Err(Errno(libc::EEXIST)) => return Ok(false),
                Err(Errno(libc::EINVAL | libc::ENOSYS | libc::ENOTSUP)) => self.no_rename_new.store(true, Ordering::Relaxed),
                Err(e) => return Err(e.error("rename")),
            }
        }
        // A second name is given only if it is free; the first one goes when `temp` is dropped.
        match os::link(temp.root, temp.path.as_c(), path.as_c()) {
            Ok(()) => return Ok(true),
            Err(Errno(libc::EEXIST)) => return Ok(false),
            Err(Errno(libc::EPERM | libc::ENOTSUP | libc::ENOSYS | libc::EINVAL | libc::EMLINK)) => {}
            Err(e) => return Err(e.error("link")),
        }
        // Without links, too: look and rename, exclusive at least within this process.
        let _only = lock(&self.shared.get().matching);
        match os::stat_at(temp.root, path.as_c(), false) {
            Ok(_) => Ok(false),
            Err(Errno(libc::ENOENT)) => temp.rename(path).map(|()| true),
            Err(e) => Err(e.error("stat")),
        }
    }

    /// The folder of `key` has changed names in it, and so have the parents of the folders that were made.
    fn names_changed(&self, root: BorrowedFd<'_>, key: &str, made: &Made) -> Result<()> {
        let folders = std::iter::once(folder_of(key)).chain(made.iter().rev().map(|&len| folder_of(&key[..len])));
        match self.sync {
            SyncMode::None => {}
            SyncMode::Batch => {
                let mut state = lock(&self.shared.get().state);
                for folder in folders {
                    if !state.folders.contains(folder) {
                        state.folders.insert(folder.to_string());
                    }
                }
            }
            SyncMode::Each => {
                for folder in folders {
                    sync_folder(root, folder).map_err(|e| self.lost(e, "sync the folder", key))?;
                }
            }
        }
        Ok(())
    }

    fn sync_early(&self) -> Result<()> {
        let full = self.sync == SyncMode::Batch && lock(&self.shared.get().state).unsynced.len() >= MAX_UNSYNCED;
        if full { self.sync_all() } else { Ok(()) }
    }

    /// Syncs the new files, then the folders, deepest first. Every one is tried once; the first failure is kept.
    fn sync_all(&self) -> Result<()> {
        let _one = lock(&self.shared.get().flushing);
        let (files, folders) = {
            let mut state = lock(&self.shared.get().state);
            (std::mem::take(&mut state.unsynced), std::mem::take(&mut state.folders))
        };
        let mut folders: Vec<String> = folders.into_iter().collect();
        folders.sort_by_key(|f| std::cmp::Reverse(if f.is_empty() { 0 } else { 1 + f.matches('/').count() }));
        let mut first = Ok(());
        if let Some(root) = self.root()? {
            for key in files.keys() {
                let done = sync_file(root, &KeyPath::join("", key)).map_err(|e| self.lost(e, "sync", key));
                first = first.and(done);
            }
            for folder in &folders {
                let done = sync_folder(root, folder).map_err(|e| self.lost(e, "sync the folder", &format!("{folder}/")));
                first = first.and(done);
            }
        }
        first
    }

    /// Stores if the key still holds `version`; other conditional puts wait meanwhile, in other processes, too.
    fn replace_matching(&self, key: &str, parts: &[&[u8]], version: Version) -> Result<()> {
        let _here = lock(&self.shared.get().matching);
        let _elsewhere = self.lock_byte(folder_of(key), LOCK_SPACE + os::hash(key.as_bytes()) % LOCK_SPACE)?;
        let now = match self.open(key)? {
            Some(object) => Some(object.version()?),
            None => None,
        };
        if now != Some(version) {
            bail!(Conflict, "the key holds another value by now");
        }
        self.replace(key, parts, false)
    }

    /// Locks one byte of the lock file in `folder`; `None` where the file system has no locks.
    fn lock_byte(&self, folder: &str, byte: u64) -> Result<Option<ByteLock>> {
        self.check_writable()?;
        let root = self.root_to_write()?;
        let path = KeyPath::join(folder, LOCK_NAME);
        for _ in 0..TRIES {
            let fd = match os::open(root, path.as_c(), libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW, 0o666) {
                Ok(fd) => fd,
                Err(Errno(libc::ENOENT)) if !folder.is_empty() => {
                    let mut made = Made::new();
                    let name = format!("{folder}/{LOCK_NAME}");
                    make_parents(root, &name, &mut made)?;
                    self.names_changed(root, &name, &made)?;
                    continue;
                }
                Err(e) => return Err(e.error("open the lock file")),
            };
            match os::lock_byte(fd.as_fd(), byte as i64) {
                Ok(()) => {}
                Err(Errno(libc::ENOLCK | libc::ENOTSUP | libc::ENOSYS | libc::EINVAL)) => return Ok(None),
                Err(e) => return Err(e.error("lock")),
            }
            let held = ByteLock { fd, byte: byte as i64, forks: forks() };
            // Whoever erased the folder erased this file; the next ones lock another.
            if os::stat(held.fd.as_fd()).map_err(|e| e.error("stat"))?.st_nlink > 0 {
                return Ok(Some(held));
            }
        }
        bail!(Io, "the lock file vanishes again and again")
    }

    /// Opens the folder of a prefix to list it, or `None` if there is none.
    fn open_folder(&self, folder: &str, flags: i32) -> Result<Option<OwnedFd>> {
        let Some(root) = self.root()? else { return Ok(None) };
        match os::open(root, KeyPath::of_folder(folder).as_c(), libc::O_RDONLY | libc::O_DIRECTORY | flags, 0) {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
            Err(e) => Err(e.error("open the folder").at_key(folder)),
        }
    }
}

impl Store for LocalStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities::local(self.writable, self.writable)
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        let path = KeyPath::of_key(key)?;
        self.root()?.map_or(Ok(None), |root| open_file(root, &path))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.check_writable()?;
        match condition {
            Condition::None => self.replace(key, parts, false),
            Condition::Absent => self.replace(key, parts, true),
            Condition::Match(version) => self.replace_matching(key, parts, version),
        }
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.check_writable()?;
        KeyPath::of_key(key)?;
        let root = self.root_to_write()?;
        let mut made = Made::new();
        let (mut temp, fd) = self.create_temp(root, key, &mut made)?;
        let folder = root.try_clone_to_owned().map_err(|e| Errno(e.raw_os_error().unwrap_or(libc::EIO)).error("keep the folder open"))?;
        temp.there = false;
        Ok(Staged::File(Box::new(StagedFile { root: folder, path: temp.path.copy(), fd: Some(fd), made, process: std::process::id() })))
    }

    fn erase(&self, key: &str) -> Result<bool> {
        self.check_writable()?;
        let path = KeyPath::of_key(key)?;
        let Some(root) = self.root()? else { return Ok(false) };
        match os::unlink(root, path.as_c()) {
            Ok(()) => {
                lock(&self.shared.get().state).unsynced.remove(key);
                self.names_changed(root, key, &Made::new())?;
                Ok(true)
            }
            Err(Errno(libc::ENOENT)) => Ok(false),
            Err(e) => Err(e.error("erase")),
        }
    }

    fn erase_prefix(&self, prefix: &str) -> Result<()> {
        self.check_writable()?;
        let folder = check_prefix(prefix)?;
        let Some(root) = self.root()? else { return Ok(()) };
        let path = KeyPath::of_folder(folder);
        let Some(fd) = self.open_folder(folder, if folder.is_empty() { 0 } else { libc::O_NOFOLLOW })? else {
            // A link to a folder elsewhere: the link goes, the folder stays.
            let is_link = os::stat_at(root, path.as_c(), false).is_ok_and(|st| EntryKind::of(&st) == EntryKind::Link);
            let goes = is_link && os::stat_at(root, path.as_c(), true).is_ok_and(|st| EntryKind::of(&st) == EntryKind::Folder);
            if goes {
                os::unlink(root, path.as_c()).map_err(|e| e.error("erase").at_key(folder))?;
            }
            return Ok(());
        };
        empty_folder(fd.as_fd(), 0).map_err(|e| e.at_key(prefix))?;
        let changed = if folder.is_empty() { "." } else { folder };
        if !folder.is_empty() {
            remove_folder(root, path.as_c()).map_err(|e| e.at_key(prefix))?;
        }
        lock(&self.shared.get().state).unsynced.retain(|key, _| !key.starts_with(prefix));
        self.names_changed(root, changed, &Made::new())
    }

    fn list(&self, prefix: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let folder = check_prefix(prefix)?;
        let Some(fd) = self.open_folder(folder, 0)? else { return Ok(()) };
        let mut above = Vec::new();
        list_folder(fd.as_fd(), &mut prefix.to_string(), &mut above, each)
    }

    fn list_dir(&self, prefix: &str) -> Result<Listing> {
        let folder = check_prefix(prefix)?;
        let mut listing = Listing::default();
        let Some(fd) = self.open_folder(folder, 0)? else { return Ok(listing) };
        for (name, is_folder) in visible(fd.as_fd()).map_err(|e| e.at_key(prefix))? {
            if is_folder { listing.prefixes.push(name) } else { listing.keys.push(name) }
        }
        listing.prefixes.iter_mut().for_each(|name| name.truncate(name.len() - 1));
        listing.prefixes.sort_unstable();
        Ok(listing)
    }

    fn flush(&self) -> Result<()> {
        let now = if self.sync == SyncMode::Batch { self.sync_all() } else { Ok(()) };
        match &lock(&self.shared.get().state).failure {
            Some(failure) => Err(failure.clone()),
            None => now,
        }
    }

    fn lock_key(&self, prefix: &str, key: &str) -> Result<Option<ProcessLock>> {
        let folder = check_prefix(prefix)?;
        let held = self.lock_byte(folder, os::hash(key.as_bytes()) % LOCK_SPACE)?;
        Ok(held.map(|held| Box::new(held) as ProcessLock))
    }

    fn files(&self) -> Option<&dyn LocalFiles> {
        Some(self)
    }

    fn describe(&self) -> String {
        self.root.display().to_string()
    }
}

impl LocalFiles for LocalStore {
    fn folder(&self, prefix: &str) -> Folder {
        // Where it cannot be opened its keys say why.
        let (Ok(folder), Ok(root)) = (check_prefix(prefix), self.root()) else { return Folder::Unknown };
        let Some(root) = root else { return Folder::Absent };
        match os::open(root, KeyPath::of_folder(folder).as_c(), libc::O_PATH | libc::O_DIRECTORY, 0) {
            Ok(fd) => Folder::Open { fd, len: prefix.len() },
            Err(Errno(libc::ENOENT)) => Folder::Absent,
            Err(_) => Folder::Unknown,
        }
    }

    fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>> {
        match folder {
            Folder::Unknown => self.open(key),
            Folder::Absent => Ok(None),
            Folder::Open { fd, len } => open_file(fd.as_fd(), &KeyPath::of_key(key.get(*len..).unwrap_or_default())?),
        }
    }

    fn stamp(&self, key: &str) -> Result<Option<Stamp>> {
        let path = KeyPath::of_key(key)?;
        let Some(root) = self.root()? else { return Ok(None) };
        match os::stat_at(root, path.as_c(), true) {
            Ok(st) => check_is_file(&st).map(|()| Some(stamp_of(&st))),
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(e) => Err(e.error("stat")),
        }
    }

    fn publish(&self, key: &str, mut file: Box<StagedFile>) -> Result<()> {
        self.check_writable()?;
        file.check_process()?;
        let Some(fd) = file.fd.take() else { bail!(Internal, "the staged file was published before") };
        let temp = Temp { root: file.root.as_fd(), path: file.path.copy(), there: true };
        self.give_name(temp, fd, key, &KeyPath::of_key(key)?, false, &file.made)
    }

    fn rename_prefix(&self, from: &str, to: &str) -> Result<bool> {
        self.check_writable()?;
        let (old, new) = (check_prefix(from)?, check_prefix(to)?);
        if old.is_empty() || new.is_empty() {
            return Ok(false);
        }
        let (old_path, new_path) = (KeyPath::of_folder(old), KeyPath::of_folder(new));
        let root = self.root_to_write()?;
        let mut made = Made::new();
        // What was put there has its new name durable only with the folders above both.
        for _ in 0..TRIES {
            match os::rename_new(root, old_path.as_c(), new_path.as_c()) {
                Ok(()) => {
                    let moved = |key: &str| key.strip_prefix(from).map(|tail| format!("{to}{tail}"));
                    let mut state = lock(&self.shared.get().state);
                    let keys: Vec<String> = state.unsynced.keys().filter(|key| key.starts_with(from)).cloned().collect();
                    for key in keys {
                        if let (Some(id), Some(new)) = (state.unsynced.remove(&key), moved(&key)) {
                            state.unsynced.insert(new, id);
                        }
                    }
                    let folders = state.folders.iter().filter_map(|folder| moved(&format!("{folder}/")));
                    let folders: Vec<String> = folders.map(|folder| folder.trim_end_matches('/').to_string()).collect();
                    state.folders.extend(folders);
                    drop(state);
                    self.names_changed(root, old, &Made::new())?;
                    self.names_changed(root, new, &made)?;
                    return Ok(true);
                }
                Err(Errno(libc::ENOENT)) if os::stat_at(root, old_path.as_c(), false).is_ok() => make_parents(root, new, &mut made)?,
                // Something is there (an empty folder, say), or the file system cannot.
                Err(_) => return Ok(false),
            }
        }
        Ok(false)
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        // A link in the way would be linked itself, and lead elsewhere from there.
        check_key(key).ok().and_then(|()| self.root.join(key).canonicalize().ok())
    }

    fn link(&self, key: &str, file: &Path) -> Result<bool> {
        self.check_writable()?;
        let (path, from) = (KeyPath::of_key(key)?, c_path(file)?);
        if is_hidden(key.rsplit('/').next().unwrap_or(key).as_bytes()) {
            bail!(Name, "the name is kept for the library's own files");
        }
        let root = self.root_to_write()?;
        let mut made = Made::new();
        for _ in 0..TRIES {
            match os::link(root, &from, path.as_c()) {
                Ok(()) => {
                    let st = os::stat_at(root, path.as_c(), false).map_err(|e| e.error("stat"))?;
                    match self.sync {
                        SyncMode::None => {}
                        SyncMode::Batch => self.remember_new(key, file_id(&st)),
                        SyncMode::Each => sync_file(root, &path).map_err(|e| self.lost(e, "sync", key))?,
                    }
                    self.names_changed(root, key, &made)?;
                    return self.sync_early().map(|()| true);
                }
                Err(Errno(libc::EEXIST)) => {
                    let there = os::stat_at(root, path.as_c(), false).map(|st| file_id(&st));
                    if there.is_ok() && there == os::stat_at(CWD, &from, false).map(|st| file_id(&st)) {
                        return Ok(true);
                    }
                    match os::unlink(root, path.as_c()) {
                        Ok(()) | Err(Errno(libc::ENOENT)) => {}
                        Err(e) => return Err(e.error("replace")),
                    }
                }
                Err(Errno(libc::ENOENT)) if os::stat_at(CWD, &from, false).is_ok() => make_parents(root, key, &mut made)?,
                // The file is gone, or there are no links, or not from there to here.
                Err(_) => return Ok(false),
            }
        }
        bail!(Io, "the folder vanishes again and again")
    }
}

/// Lengths of the paths of folders that were made for a key, outermost first.
type Made = SmallVec<[usize; 8]>;

pub(super) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| err!(Location, "the path {} contains a NUL", path.display()))
}

/// Makes a folder outside of any store and its parents; syncs each parent if asked for.
pub(super) fn make_folder(path: &Path, sync: bool) -> Result<()> {
    let c = c_path(path)?;
    let what = || format!("make the folder {}", path.display());
    match os::mkdir(CWD, &c) {
        Ok(()) => {}
        Err(Errno(libc::EEXIST)) => return Ok(()),
        Err(e @ Errno(libc::ENOENT)) => {
            let parent = path.parent().ok_or_else(|| e.error(&what()))?;
            make_folder(parent, sync)?;
            match os::mkdir(CWD, &c) {
                Ok(()) | Err(Errno(libc::EEXIST)) => {}
                Err(e) => return Err(e.error(&what())),
            }
        }
        Err(e) => return Err(e.error(&what())),
    }
    if sync && let Some(parent) = path.parent() {
        let fd = os::open(CWD, &c_path(parent)?, libc::O_RDONLY | libc::O_DIRECTORY, 0);
        fd.and_then(|fd| os::fsync_folder(fd.as_fd())).map_err(|e| e.error("sync the folder"))?;
    }
    Ok(())
}

/// Makes the folders above `key`, trying the deepest first; `made` gets those that were not there.
fn make_parents(root: BorrowedFd<'_>, key: &str, made: &mut Made) -> Result<()> {
    let cuts: SmallVec<[usize; 16]> = key.match_indices('/').map(|(at, _)| at).collect();
    let make = |cut: usize| os::mkdir(root, KeyPath::join("", &key[..cut]).as_c());
    let mut next = cuts.len();
    while next > 0 {
        match make(cuts[next - 1]) {
            Ok(()) => {
                made.push(cuts[next - 1]);
                break;
            }
            Err(Errno(libc::EEXIST)) => break,
            Err(Errno(libc::ENOENT)) => next -= 1,
            Err(e) => return Err(e.error("make a folder")),
        }
    }
    for &cut in &cuts[next..] {
        match make(cut) {
            Ok(()) => made.push(cut),
            // ENOENT: somebody erased the folder above; the caller tries again.
            Err(Errno(libc::EEXIST | libc::ENOENT)) => {}
            Err(e) => return Err(e.error("make a folder")),
        }
    }
    Ok(())
}

/// Opens the file of a key to read it, or `None` if there is none.
fn open_file(dir: BorrowedFd<'_>, path: &KeyPath) -> Result<Option<Object>> {
    // A pipe must not block the program.
    let flags = libc::O_RDONLY | libc::O_NOCTTY;
    let fd = match os::open(dir, path.as_c(), flags | libc::O_NONBLOCK, 0) {
        // Somebody holds a lease on the file and has been asked to give it back: wait for that.
        Err(Errno(libc::EAGAIN)) => os::open(dir, path.as_c(), flags, 0),
        other => other,
    };
    match fd {
        Ok(fd) => Ok(Some(Object::File(FileObject::new(fd)))),
        Err(Errno(libc::ENOENT)) => Ok(None),
        Err(e) => Err(e.error("open")),
    }
}

/// Makes a closed file durable; one that was erased needs nothing.
fn sync_file(root: BorrowedFd<'_>, path: &KeyPath) -> os::Os<()> {
    let fd = match os::open(root, path.as_c(), libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK, 0) {
        Err(Errno(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
        other => other?,
    };
    os::fdatasync(fd.as_fd())
}

/// Makes the names in a folder durable; one that was erased needs nothing.
fn sync_folder(root: BorrowedFd<'_>, folder: &str) -> os::Os<()> {
    let fd = match os::open(root, KeyPath::of_folder(folder).as_c(), libc::O_RDONLY | libc::O_DIRECTORY, 0) {
        Err(Errno(libc::ENOENT | libc::ENOTDIR)) => return Ok(()),
        other => other?,
    };
    os::fsync_folder(fd.as_fd())
}

/// The visible names of a folder in the order of keys, and whether each is a folder (then it ends in a slash).
fn visible(fd: BorrowedFd<'_>) -> Result<Vec<(String, bool)>> {
    let entries = match os::entries(fd) {
        // Erased meanwhile.
        Err(Errno(libc::ENOENT)) => return Ok(Vec::new()),
        other => other.map_err(|e| e.error("list the folder"))?,
    };
    let mut names = Vec::with_capacity(entries.len());
    for (name, kind) in entries {
        let Ok(text) = name.to_str() else { continue };
        if is_hidden(name.to_bytes()) {
            continue;
        }
        let kind = match kind {
            EntryKind::Link | EntryKind::Unknown => match os::stat_at(fd, &name, true) {
                Ok(st) => EntryKind::of(&st),
                // A link to nothing, or to itself: no value.
                Err(Errno(libc::ENOENT | libc::ELOOP)) => continue,
                Err(e) => return Err(e.error("stat").at_key(text)),
            },
            kind => kind,
        };
        match kind {
            EntryKind::File => names.push((text.to_string(), false)),
            EntryKind::Folder => names.push((format!("{text}/"), true)),
            _ => {}
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Lists a folder and those below it; `path` is its prefix, `above` the folders on the way, so that a link to one of
/// them is not followed for ever.
fn list_folder(fd: BorrowedFd<'_>, path: &mut String, above: &mut Vec<(u64, u64)>, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
    let st = os::stat(fd).map_err(|e| e.error("stat").at_key(&*path))?;
    let here = (st.st_dev, st.st_ino);
    if above.contains(&here) {
        return Ok(());
    }
    if above.len() >= MAX_DEPTH {
        bail!(Limit, "folders are nested deeper than {MAX_DEPTH}");
    }
    above.push(here);
    let len = path.len();
    for (name, is_folder) in visible(fd).map_err(|e| e.at_key(&*path))? {
        path.push_str(&name);
        if !is_folder {
            each(path)?;
        } else {
            let c = CString::new(name).map_err(|_| err!(Internal, "a folder name with a NUL"))?;
            match os::open(fd, &c, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
                Ok(below) => list_folder(below.as_fd(), path, above, each)?,
                Err(Errno(libc::ENOENT | libc::ENOTDIR)) => {}
                Err(e) => return Err(e.error("open the folder").at_key(&*path)),
            }
        }
        path.truncate(len);
    }
    above.pop();
    Ok(())
}

/// Removes all that is in a folder, hidden files as well; links go, what they lead to stays.
fn empty_folder(fd: BorrowedFd<'_>, depth: usize) -> Result<()> {
    if depth >= MAX_DEPTH {
        bail!(Limit, "folders are nested deeper than {MAX_DEPTH}");
    }
    for (name, kind) in os::entries(fd).map_err(|e| e.error("list the folder"))? {
        if kind != EntryKind::Folder {
            match os::unlink(fd, &name) {
                Ok(()) | Err(Errno(libc::ENOENT)) => continue,
                // A folder whose kind the listing did not tell.
                Err(Errno(libc::EISDIR | libc::EPERM)) if kind == EntryKind::Unknown => {}
                Err(e) => return Err(e.error("erase")),
            }
        }
        match os::open(fd, &name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
            Ok(below) => empty_folder(below.as_fd(), depth + 1)?,
            Err(Errno(libc::ENOENT)) => continue,
            Err(e) => return Err(e.error("open the folder")),
        }
        remove_folder(fd, &name)?;
    }
    Ok(())
}

/// Removes a folder that was emptied; it stays if somebody puts something into it at the same time.
fn remove_folder(dir: BorrowedFd<'_>, path: &CStr) -> Result<()> {
    match os::rmdir(dir, path) {
        Ok(()) | Err(Errno(libc::ENOENT | libc::ENOTEMPTY | libc::EEXIST)) => Ok(()),
        Err(e) => Err(e.error("erase the folder")),
    }
}

/// A temporary file that is removed unless it got another name.
struct Temp<'a> {
    root: BorrowedFd<'a>,
    path: KeyPath,
    there: bool,
}

impl Temp<'_> {
    fn rename(&mut self, to: &KeyPath) -> Result<()> {
        os::rename(self.root, self.path.as_c(), to.as_c()).map_err(|e| e.error("rename"))?;
        self.there = false;
        Ok(())
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

/// A value that is written piece by piece into a temporary file, which goes unless it is published.
pub struct StagedFile {
    root: OwnedFd,
    path: KeyPath,
    /// Taken when it is published.
    fd: Option<OwnedFd>,
    made: Made,
    process: u32,
}

impl StagedFile {
    /// Adds bytes at the end.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        os::write_all(self.open()?, &[bytes]).map_err(|e| e.error("write"))
    }

    /// Replaces the first bytes.
    pub fn replace_head(&mut self, bytes: &[u8]) -> Result<()> {
        os::write_at_start(self.open()?, bytes).map_err(|e| e.error("write"))
    }

    fn open(&self) -> Result<BorrowedFd<'_>> {
        self.check_process()?;
        self.fd.as_ref().map(|fd| fd.as_fd()).ok_or_else(|| err!(Internal, "the staged file was published before"))
    }

    fn check_process(&self) -> Result<()> {
        if self.process != std::process::id() {
            bail!(Forked, "what is being written belongs to the process before fork");
        }
        Ok(())
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        // A child of fork must not remove what the parent still writes.
        if self.fd.is_some() && self.process == std::process::id() {
            let _ = os::unlink(self.root.as_fd(), self.path.as_c());
        }
    }
}

/// A lock on one byte of a lock file.
struct ByteLock {
    fd: OwnedFd,
    byte: i64,
    /// How often this process had been forked by then (see `fork`), which costs no system call.
    forks: u32,
}

impl Drop for ByteLock {
    fn drop(&mut self) {
        // Closing gives the lock back unless a forked child holds the descriptor, too; a child must not give back the
        // parent's.
        if self.forks == forks() {
            let _ = os::unlock_byte(self.fd.as_fd(), self.byte);
        }
    }
}

/// An open file: one value of a key, which later puts do not change (they make new files).
pub struct FileObject {
    fd: OwnedFd,
    version: OnceLock<Version>,
}

impl FileObject {
    /// An open file as one value.
    pub(super) fn new(fd: OwnedFd) -> FileObject {
        FileObject { fd, version: OnceLock::new() }
    }

    /// Says whether it is the file that `st` tells of.
    pub(super) fn is_file(&self, st: &libc::stat) -> Result<bool> {
        let own = os::stat(self.fd.as_fd()).map_err(|e| e.error("stat"))?;
        Ok((own.st_dev, own.st_ino) == (st.st_dev, st.st_ino))
    }

    /// Reads exactly `buf.len()` bytes from `offset`; an early end is `Truncated`.
    pub fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let expected = buf.len();
        let mut done = 0;
        while done < expected {
            // SAFETY: bytes that are initialised may be seen as maybe-initialised; the call only writes to them.
            let rest = unsafe { &mut *(&raw mut buf[done..] as *mut [std::mem::MaybeUninit<u8>]) };
            match os::pread(self.fd.as_fd(), rest, offset.saturating_add(done as u64)).map_err(|e| e.error("read"))? {
                0 => bail!(Truncated, "found {done} bytes at offset {offset}, expected {expected}"),
                n => done += n,
            }
        }
        Ok(())
    }

    /// Reads the whole file into `buf`, whose length becomes the file's; more than `max` bytes are `Limit`.
    /// Only a read of no bytes is the end: FUSE, NFS and Lustre may give less than was asked for.
    pub fn read_whole(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        self.read_until(buf, max, |n, _| n == 0)
    }

    /// Reads the whole file as [`read_whole`](Self::read_whole) does, but takes a read that gives less than was asked for as the end: a system
    /// call less for each chunk. For encoded bytes only, whose codecs find out when some are missing.
    pub fn read_encoded(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        self.read_until(buf, max, |n, room| n < room.min(os::MAX_RW))
    }

    /// Reads from the beginning until `is_end` says so of a read's bytes, given how many it got and how many it asked for.
    #[inline]
    fn read_until(&self, buf: &mut Vec<u8>, max: usize, is_end: impl Fn(usize, usize) -> bool) -> Result<()> {
        buf.clear();
        reserve(buf, FIRST_READ)?;
        loop {
            let len = buf.len();
            // One byte more than allowed is enough to know.
            let room = (buf.capacity() - len).min(max.saturating_sub(len).saturating_add(1));
            let n = os::pread(self.fd.as_fd(), &mut buf.spare_capacity_mut()[..room], len as u64).map_err(|e| e.error("read"))?;
            // SAFETY: the call filled `n` bytes of the spare capacity.
            unsafe { buf.set_len(len + n) };
            if buf.len() > max {
                buf.clear();
                bail!(Limit, "found {} bytes or more, the limit is {max}", max + 1);
            }
            if is_end(n, room) {
                return Ok(());
            }
            if buf.len() == buf.capacity() {
                self.reserve_rest(buf, max)?;
            }
        }
    }

    /// Room for what is left of a file that was larger than the buffer, and one byte; at least twice as much as before
    /// for files that do not tell their size.
    #[cold]
    fn reserve_rest(&self, buf: &mut Vec<u8>, max: usize) -> Result<()> {
        let size = self.stat()?.st_size.max(0) as u64;
        if size > max as u64 {
            buf.clear();
            bail!(Limit, "found {size} bytes, the limit is {max}");
        }
        let rest = (size as usize).saturating_sub(buf.len()).saturating_add(1);
        reserve(buf, rest)
    }

    /// Reads a file that must have exactly `buf.len()` bytes: shorter is `Truncated`, longer is `Chunk`.
    pub fn read_exact_whole(&self, buf: &mut [u8]) -> Result<()> {
        let expected = buf.len();
        let mut done = 0;
        loop {
            let n = os::pread_and_one(self.fd.as_fd(), &mut buf[done..], done as u64).map_err(|e| e.error("read"))?;
            done += n;
            if done > expected {
                return check_exact(self.len()?.max(done as u64), expected);
            }
            if n == 0 {
                return check_exact(done as u64, expected);
            }
            // All is there and one byte more was asked for: the end.
            if done == expected && n < os::MAX_RW {
                return Ok(());
            }
        }
    }

    /// The length in bytes.
    pub fn len(&self) -> Result<u64> {
        Ok(self.stat()?.st_size.max(0) as u64)
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The version that this object is: device, inode with its generation, size and times.
    pub fn version(&self) -> Result<Version> {
        if let Some(version) = self.version.get() {
            return Ok(*version);
        }
        let st = self.stat()?;
        let nanos = |s: i64, ns: i64| (s as u64).wrapping_mul(1_000_000_000).wrapping_add(ns as u64);
        let times = nanos(st.st_mtime, st.st_mtime_nsec).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ nanos(st.st_ctime, st.st_ctime_nsec);
        let device = st.st_dev.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ os::generation(self.fd.as_fd());
        Ok(*self.version.get_or_init(|| Version([device, st.st_ino, st.st_size as u64, times])))
    }

    /// What it is like now (one `fstat`).
    pub fn stamp(&self) -> Result<Stamp> {
        self.stat().map(|st| stamp_of(&st))
    }

    /// Whether the key still holds this file: it has a name (one `fstat`). Of a file with several names it is not known which one
    /// it lost: it counts as replaced.
    pub fn still_current(&self) -> Result<bool> {
        Ok(os::stat(self.fd.as_fd()).map_err(|e| e.error("stat"))?.st_nlink == 1)
    }

    /// What is known of the file, which must be one.
    fn stat(&self) -> Result<libc::stat> {
        let st = os::stat(self.fd.as_fd()).map_err(|e| e.error("stat"))?;
        check_is_file(&st).map(|()| st)
    }
}

#[cfg(test)]
mod tests {
    use super::os::Call;
    use super::os::fault::{self, Effect, Fault, fail};
    use super::*;
    use crate::error::ErrorKind;
    use crate::store::get;
    use std::os::unix::fs::{MetadataExt, symlink};

    const MODES: [SyncMode; 3] = [SyncMode::None, SyncMode::Batch, SyncMode::Each];

    /// A folder that is removed at the end of a test.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Folder {
            static NEXT: AtomicU64 = AtomicU64::new(0);
            let name = format!("ozarr-local-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
            let path = std::env::temp_dir().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn store(&self, sync: SyncMode) -> LocalStore {
            LocalStore::open(&self.0.join("s"), true, sync).unwrap()
        }

        fn file(&self, key: &str) -> PathBuf {
            self.0.join("s").join(key)
        }

        /// The names in the folder of the store, hidden ones as well.
        fn names(&self, below: &str) -> Vec<String> {
            let mut names: Vec<String> =
                std::fs::read_dir(self.file(below)).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn put(store: &LocalStore, key: &str, value: &[u8]) -> Result<()> {
        store.put(key, &[value], Condition::None)
    }

    fn value(store: &LocalStore, key: &str) -> Option<Vec<u8>> {
        get(store, key, 1 << 20).unwrap()
    }

    #[test]
    fn behaves_as_a_store_in_each_sync_mode() {
        for mode in MODES {
            let folder = Folder::new();
            crate::store::suite::check(&folder.store(mode));
        }
    }

    #[test]
    fn behaves_as_a_store_where_files_cannot_be_renamed_exclusively() {
        for mode in MODES {
            let folder = Folder::new();
            let store = folder.store(mode);
            store.no_rename_new.store(true, Ordering::Relaxed);
            crate::store::suite::check(&store);
        }
    }

    #[test]
    fn names_of_sync_modes() {
        for (name, mode) in [("none", SyncMode::None), ("batch", SyncMode::Batch), ("each", SyncMode::Each)] {
            assert_eq!(SyncMode::parse(name).unwrap(), mode);
        }
        assert_eq!(SyncMode::parse("Batch").unwrap_err().kind(), ErrorKind::Argument);
    }

    #[test]
    fn the_root_is_made_by_the_first_put() {
        let folder = Folder::new();
        let path = folder.0.join("a/b/c");
        let store = LocalStore::open(&path, true, SyncMode::Each).unwrap();
        assert!(store.open("k").unwrap().is_none());
        assert!(!store.erase("k").unwrap());
        store.flush().unwrap();
        assert!(!folder.0.join("a").exists());
        put(&store, "x/y/k", b"1").unwrap();
        assert_eq!(std::fs::read(path.join("x/y/k")).unwrap(), b"1");
        let file = LocalStore::open(&path.join("x/y/k"), true, SyncMode::None).unwrap();
        assert_eq!(file.open("k").err().unwrap().os_errno(), libc::ENOTDIR);
        assert_eq!(put(&file, "k", b"1").unwrap_err().os_errno(), libc::ENOTDIR);
    }

    #[test]
    fn a_relative_root_is_that_of_the_opening() {
        let store = LocalStore::open(Path::new("rel.zarr"), false, SyncMode::None).unwrap();
        assert_eq!(store.describe(), std::env::current_dir().unwrap().join("rel.zarr").to_str().unwrap());
    }

    #[test]
    fn a_store_for_reading_changes_nothing() {
        let folder = Folder::new();
        put(&folder.store(SyncMode::None), "k", b"1").unwrap();
        let store = LocalStore::open(&folder.file(""), false, SyncMode::Batch).unwrap();
        assert!(!store.capabilities().writable);
        let results = [
            put(&store, "k", b"2"),
            store.put("new", &[], Condition::Absent),
            store.erase("k").map(drop),
            store.erase_prefix(""),
            store.lock_key("", "k").map(drop),
        ];
        for result in results {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::ReadOnly);
        }
        store.flush().unwrap();
        assert_eq!(value(&store, "k").unwrap(), b"1");
        assert_eq!(folder.names(""), ["k"]);
    }

    /// A put over `before` (or over nothing) that is hit by a fault.
    struct Hit<'a> {
        mode: SyncMode,
        before: Option<&'a [u8]>,
        call: Call,
        errno: i32,
        kind: ErrorKind,
        /// Whether later flushes report it, too.
        sticky: bool,
    }

    #[test]
    fn a_failed_put_keeps_the_old_value_and_leaves_no_file() {
        use SyncMode::*;
        let old = Some(&b"old"[..]);
        let io = ErrorKind::Io;
        let case = |mode, before, (call, errno), kind, sticky| Hit { mode, before, call, errno, kind, sticky };
        let cases = [
            case(None, old, (Call::Open, libc::EMFILE), ErrorKind::TooManyFiles, false),
            case(None, old, (Call::Open, libc::EACCES), ErrorKind::Permission, false),
            case(None, old, (Call::Write, libc::ENOSPC), ErrorKind::NoSpace, false),
            case(None, old, (Call::Write, libc::EDQUOT), ErrorKind::NoSpace, false),
            case(None, old, (Call::Write, libc::EFBIG), ErrorKind::NoSpace, false),
            case(None, old, (Call::Write, libc::EIO), io, false),
            case(None, old, (Call::Close, libc::EIO), io, true),
            case(None, old, (Call::Rename, libc::EIO), io, false),
            case(Batch, old, (Call::Stat, libc::EIO), io, false),
            case(Batch, old, (Call::Close, libc::EDQUOT), ErrorKind::NoSpace, true),
            case(Batch, old, (Call::RenameNew, libc::EROFS), ErrorKind::ReadOnly, false),
            case(Batch, old, (Call::Sync, libc::EIO), io, true),
            case(Batch, old, (Call::Rename, libc::EIO), io, false),
            case(Batch, Option::None, (Call::RenameNew, libc::EIO), io, false),
            case(Batch, Option::None, (Call::Write, libc::ENOSPC), ErrorKind::NoSpace, false),
            case(Each, old, (Call::Sync, libc::EIO), io, true),
            case(Each, Option::None, (Call::Sync, libc::ENOSPC), ErrorKind::NoSpace, true),
            case(Each, old, (Call::Close, libc::EIO), io, true),
            case(Each, old, (Call::Rename, libc::EXDEV), io, false),
        ];
        for (i, Hit { mode, before, call, errno, kind, sticky }) in cases.into_iter().enumerate() {
            let folder = Folder::new();
            let store = folder.store(mode);
            put(&store, "d/other", b"1").unwrap();
            before.iter().for_each(|old| put(&store, "d/k", old).unwrap());
            store.flush().unwrap();
            let (result, unused) = fault::with(&[fail(call, errno)], || put(&store, "d/k", b"a longer new value"));
            assert_eq!(unused, 0, "case {i}: the fault is met");
            assert_eq!(result.unwrap_err().kind(), kind, "case {i}");
            assert_eq!(value(&store, "d/k").as_deref(), before, "case {i}");
            let names = if before.is_some() { vec!["k", "other"] } else { vec!["other"] };
            assert_eq!(folder.names("d"), names, "case {i}");
            for _ in 0..2 {
                assert_eq!(store.flush().err().map(|e| e.kind()), sticky.then_some(kind), "case {i}: flush");
            }
            put(&store, "d/k", b"next").unwrap();
            assert_eq!(value(&store, "d/k").unwrap(), b"next", "case {i}: the store stays usable");
            assert_eq!(store.flush().is_err(), sticky, "case {i}: a loss is not forgotten");
        }
    }

    #[test]
    fn interrupted_and_short_transfers_go_on() {
        let folder = Folder::new();
        let bytes: Vec<u8> = (0..100_000u32).map(|i| (i >> 3) as u8).collect();
        let interrupted = |call| Fault { call, after: 0, times: 3, effect: Effect::Fail(libc::EINTR) };
        let short = |call, n| Fault { call, after: 0, times: 20, effect: Effect::Short(n) };
        for mode in MODES {
            let store = folder.store(mode);
            let faults = [Call::Open, Call::Write, Call::Rename, Call::RenameNew, Call::Sync, Call::Stat].map(interrupted);
            fault::with(&faults, || put(&store, "k", b"x")).0.unwrap();
            fault::with(&faults, || put(&store, "k", b"y")).0.unwrap();
            fault::with(&faults, || store.flush()).0.unwrap();
            let parts: Vec<&[u8]> = bytes.chunks(7001).collect();
            let (result, unused) = fault::with(&[short(Call::Write, 999)], || store.put("k", &parts, Condition::None));
            result.unwrap();
            assert_eq!(unused, 0);
            assert!(std::fs::read(folder.file("k")).unwrap() == bytes);
        }
        let object = folder.store(SyncMode::None).open("k").unwrap().unwrap();
        let mut buf = vec![0; bytes.len()];
        let faults = [interrupted(Call::Read), short(Call::Read, 333)];
        let (result, unused) = fault::with(&faults, || object.read_exact_whole(&mut buf));
        result.unwrap();
        assert_eq!(unused, 0);
        assert!(buf == bytes);
        buf.fill(0);
        let (result, unused) = fault::with(&faults, || object.read_exact_at(1, &mut buf[1..]));
        result.unwrap();
        assert_eq!(unused, 0);
        assert!(buf[1..] == bytes[1..]);
        let mut whole = Vec::new();
        let (result, unused) = fault::with(&faults, || object.read_whole(&mut whole, usize::MAX));
        result.unwrap();
        assert_eq!(unused, 0);
        assert!(whole == bytes);
        let store = folder.store(SyncMode::None);
        let (result, unused) = fault::with(&[fail(Call::Close, libc::EINTR)], || store.put("k", &[b"closed"], Condition::None));
        result.unwrap();
        assert_eq!((unused, std::fs::read(folder.file("k")).unwrap().as_slice()), (0, &b"closed"[..]));
        store.flush().unwrap();
    }

    #[test]
    fn only_a_file_that_is_not_there_is_missing() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        put(&store, "a/k", b"1").unwrap();
        for (errno, kind) in [
            (libc::EACCES, ErrorKind::Permission),
            (libc::EMFILE, ErrorKind::TooManyFiles),
            (libc::ENFILE, ErrorKind::TooManyFiles),
            (libc::EIO, ErrorKind::Io),
            (libc::ESTALE, ErrorKind::Io),
            (libc::ELOOP, ErrorKind::Io),
            (libc::ENOTDIR, ErrorKind::Io),
            (libc::ENOMEM, ErrorKind::NoMemory),
        ] {
            let e = fault::with(&[fail(Call::Open, errno)], || store.open("none")).0.err().unwrap();
            assert_eq!((e.kind(), e.os_errno()), (kind, errno));
        }
        assert!(fault::with(&[fail(Call::Open, libc::EAGAIN)], || store.open("a/k")).0.unwrap().is_some(), "a lease is waited for");
        for (call, errno) in [(Call::Read, libc::EIO), (Call::Read, libc::ESTALE)] {
            let e = fault::with(&[fail(call, errno)], || get(&store, "a/k", 10)).0.unwrap_err();
            assert_eq!((e.kind(), e.os_errno(), e.key()), (ErrorKind::Io, errno, Some("a/k")));
        }
        let e = fault::with(&[fail(Call::List, libc::EIO)], || store.list_dir("a/")).0.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Io);
    }

    #[test]
    fn a_folder_or_pipe_in_the_place_of_a_value_is_an_error() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::Batch);
        put(&store, "k/c/0", b"1").unwrap();
        let object = store.open("k/c").unwrap().unwrap();
        let mut buf = vec![0; 4];
        let results = [
            object.read_whole(&mut Vec::new(), 100),
            object.read_exact_whole(&mut buf),
            object.read_exact_at(0, &mut buf),
            object.len().map(drop),
            object.version().map(drop),
            put(&store, "k/c", b"x"),
            store.erase("k/c").map(drop),
        ];
        for (i, result) in results.into_iter().enumerate() {
            let e = result.unwrap_err();
            assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::EISDIR), "{i}");
        }
        assert_eq!(store.open("k/c/0/deeper").err().unwrap().os_errno(), libc::ENOTDIR);
        assert_eq!(put(&store, "k/c/0/deeper", b"x").unwrap_err().os_errno(), libc::ENOTDIR);
        assert_eq!(store.erase("k/c/0/deeper").unwrap_err().os_errno(), libc::ENOTDIR);
        let pipe = c_path(&folder.file("pipe")).unwrap();
        // SAFETY: the path ends in NUL.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
        assert_eq!(get(&store, "pipe", 10).unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(store.list_dir("").unwrap().keys, [""; 0], "a pipe is no key");
        assert_eq!(value(&store, "k/c/0").unwrap(), b"1");
    }

    #[test]
    fn keys_of_an_opened_folder_are_those_that_it_had_then() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        let get_in = |dir: &super::Folder, key: &str| {
            let mut value = Vec::new();
            store.open_in(dir, key).unwrap().map(|object| object.read_whole(&mut value, 10).map(|()| value)).transpose().unwrap()
        };
        assert!(matches!(store.folder("d/e/"), super::Folder::Absent), "nor is there a root");
        put(&store, "d/k", b"1").unwrap();
        let absent = store.folder("d/e/");
        put(&store, "d/e/k", b"2").unwrap();
        put(&store, "d/e/f/k", b"3").unwrap();
        assert_eq!(get_in(&absent, "d/e/k"), None);
        let open = store.folder("d/e/");
        assert_eq!(
            [get_in(&open, "d/e/k"), get_in(&open, "d/e/f/k"), get_in(&open, "d/e/none")],
            [Some(b"2".into()), Some(b"3".into()), None]
        );
        assert_eq!(get_in(&store.folder(""), "d/k").unwrap(), b"1");
        for bad in ["d/e/../k", "d/e//k", "d/e/", "d"] {
            assert!(store.open_in(&open, bad).is_err(), "{bad}");
        }
        std::fs::rename(folder.file("d/e"), folder.file("d/old")).unwrap();
        assert_eq!(get_in(&open, "d/e/k").unwrap(), b"2");
        // What is no folder is as bad as ever.
        let file = store.folder("d/k/");
        assert!(matches!(file, super::Folder::Unknown) && store.open_in(&file, "d/k/x").is_err());
    }

    #[test]
    fn hidden_files_are_not_listed() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        put(&store, "d/k", b"1").unwrap();
        for name in ["d/.ozarr-12-3-abc.tmp", "d/.ozarr.lock", "d/.ozarr.locks", "d/.ozarr-x", "d/.zarray", "d/.tmp"] {
            std::fs::write(folder.file(name), b"").unwrap();
        }
        use std::os::unix::ffi::OsStringExt;
        std::fs::write(folder.file("d").join(std::ffi::OsString::from_vec(b"not-utf8-\xff".to_vec())), b"").unwrap();
        let shown = [".ozarr-x", ".ozarr.locks", ".tmp", ".zarray", "k"];
        assert_eq!(store.list_dir("d/").unwrap().keys, shown);
        let mut listed = Vec::new();
        let mut each = |key: &str| {
            listed.push(key.strip_prefix("d/").unwrap().to_string());
            Ok(())
        };
        store.list("", &mut each).unwrap();
        assert_eq!(listed, shown);
        for name in ["d/.ozarr.lock", ".ozarr-.tmp"] {
            assert_eq!(put(&store, name, b"1").unwrap_err().kind(), ErrorKind::Name);
        }
        store.erase_prefix("d/").unwrap();
        assert_eq!(folder.names(""), [""; 0], "all of a folder goes with it");
    }

    #[test]
    fn links_are_followed_to_read_and_list_but_not_to_erase() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        put(&store, "d/k", b"1").unwrap();
        let outside = folder.0.join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("precious"), b"p").unwrap();
        symlink(&outside, folder.file("d/link")).unwrap();
        symlink(&outside, folder.file("top")).unwrap();
        symlink("..", folder.file("d/up")).unwrap();
        symlink("nowhere", folder.file("d/dangling")).unwrap();
        symlink("self", folder.file("d/self")).unwrap();
        let mut listed = Vec::new();
        let mut each = |key: &str| {
            listed.push(key.to_string());
            Ok(())
        };
        store.list("", &mut each).unwrap();
        assert_eq!(listed, ["d/k", "d/link/precious", "top/precious"], "loops end");
        assert_eq!(value(&store, "d/link/precious").unwrap(), b"p");
        assert!(value(&store, "d/dangling").is_none());
        assert_eq!(store.open("d/self").err().unwrap().os_errno(), libc::ELOOP);
        store.erase_prefix("d/").unwrap();
        store.erase_prefix("top/").unwrap();
        assert_eq!(folder.names(""), [""; 0]);
        assert_eq!(std::fs::read(outside.join("precious")).unwrap(), b"p", "nothing outside goes");
    }

    /// How often `f` syncs.
    fn syncs(f: impl FnOnce()) -> usize {
        fault::count(Call::Sync, f)
    }

    #[test]
    fn each_mode_syncs_what_it_promises() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        assert_eq!(syncs(|| put(&store, "n/k", b"1").unwrap()), 0);
        assert_eq!(syncs(|| store.flush().unwrap()), 0);

        let store = folder.store(SyncMode::Each);
        assert_eq!(syncs(|| put(&store, "e/f/k", b"1").unwrap()), 4, "the file, its folder, and the parents of two new folders");
        assert_eq!(syncs(|| put(&store, "e/f/k", b"2").unwrap()), 2, "the file and its folder");
        assert_eq!(syncs(|| assert!(store.erase("e/f/k").unwrap())), 1, "the folder");
        assert_eq!(syncs(|| store.flush().unwrap()), 0);

        let store = folder.store(SyncMode::Batch);
        assert_eq!(syncs(|| put(&store, "b/f/k", b"1").unwrap()), 0, "a new key waits for the flush");
        assert_eq!(syncs(|| put(&store, "b/f/k", b"2").unwrap()), 0, "a key that is still new, too");
        assert_eq!(syncs(|| store.flush().unwrap()), 4, "the file, its folder, and the parents of two new folders");
        assert_eq!(syncs(|| store.flush().unwrap()), 0, "once");
        assert_eq!(syncs(|| put(&store, "b/f/k", b"3").unwrap()), 1, "an old value is replaced by what is durable");
        assert_eq!(syncs(|| put(&store, "b/f/k", b"4").unwrap()), 1, "every time");
        assert_eq!(syncs(|| store.flush().unwrap()), 1, "the folder");
        put(&store, "b/f/new", b"1").unwrap();
        put(&folder.store(SyncMode::Batch), "b/f/new", b"2").unwrap();
        assert_eq!(syncs(|| put(&store, "b/f/new", b"3").unwrap()), 1, "somebody else's value may be durable");
        store.flush().unwrap();
        put(&store, "b/f/gone", b"1").unwrap();
        assert!(store.erase("b/f/gone").unwrap());
        assert_eq!(syncs(|| store.flush().unwrap()), 1, "an erased key: the folder only");
    }

    #[test]
    fn new_keys_are_synced_early_when_there_are_too_many() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::Batch);
        put(&store, "a", b"1").unwrap();
        for i in 1..MAX_UNSYNCED - 1 {
            lock(&store.shared.get().state).unsynced.insert(format!("erased meanwhile/{i}"), FileId::default());
        }
        assert_eq!(syncs(|| put(&store, "a", b"2").unwrap()), 0, "one below the limit");
        assert_eq!(syncs(|| put(&store, "b", b"1").unwrap()), 3, "two files and the folder");
        assert!(lock(&store.shared.get().state).unsynced.is_empty());
    }

    #[test]
    fn a_failed_sync_is_reported_for_ever_and_not_tried_again() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::Batch);
        for key in ["a", "b", "c"] {
            put(&store, key, b"1").unwrap();
        }
        let e = fault::with(&[fail(Call::Sync, libc::EIO)], || store.flush()).0.unwrap_err();
        assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::EIO));
        assert!(e.key().is_some_and(|key| ["a", "b", "c"].contains(&key)));
        assert_eq!(syncs(|| assert!(store.flush().is_err())), 0);
        put(&store, "d", b"1").unwrap();
        assert_eq!(syncs(|| assert!(store.flush().is_err())), 2, "others are still synced");
    }

    #[test]
    fn folders_are_synced_after_files_and_the_deepest_first() {
        for (nth, key) in ["a/b/c/k", "a/b/c/", "a/b/", "a/", "/"].into_iter().enumerate() {
            let folder = Folder::new();
            let store = folder.store(SyncMode::Batch);
            put(&store, "a/b/c/k", b"1").unwrap();
            let e = fault::with(&[Fault { after: nth, ..fail(Call::Sync, libc::EIO) }], || store.flush()).0.unwrap_err();
            assert_eq!(e.key(), Some(key), "sync {nth}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_synced_counts_as_synced() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::Each);
        put(&store, "k", b"1").unwrap();
        let folder_fails = |errno| [Fault { after: 1, ..fail(Call::Sync, errno) }];
        assert_eq!(fault::with(&folder_fails(libc::EINVAL), || put(&store, "k", b"2").is_ok()), (true, 0));
        let (result, _) = fault::with(&folder_fails(libc::EIO), || put(&store, "k", b"3"));
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
        assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::Io);
    }

    #[test]
    fn without_exclusive_rename_a_link_or_a_look_takes_its_place() {
        for mode in MODES {
            for no_link in [false, true] {
                let folder = Folder::new();
                let store = folder.store(mode);
                let mut faults = vec![fail(Call::RenameNew, libc::EINVAL)];
                if no_link {
                    faults.push(fail(Call::Rename, libc::EPERM));
                }
                let (result, unused) = fault::with(&faults, || store.put("k", &[b"1"], Condition::Absent));
                result.unwrap();
                assert_eq!(unused, 0);
                let faults = if no_link { vec![fail(Call::Rename, libc::EPERM)] } else { vec![] };
                let e = fault::with(&faults, || store.put("k", &[b"2"], Condition::Absent)).0.unwrap_err();
                assert_eq!(e.kind(), ErrorKind::Conflict);
                assert_eq!(value(&store, "k").unwrap(), b"1");
                assert_eq!(folder.names(""), ["k"]);
                assert_eq!(std::fs::metadata(folder.file("k")).unwrap().nlink(), 1);
            }
        }
    }

    #[test]
    fn a_file_is_linked_to_a_key_and_stays_what_it_is() {
        for mode in MODES {
            let folder = Folder::new();
            let (from, to) = (folder.store(mode), LocalStore::open(&folder.0.join("other"), true, mode).unwrap());
            put(&from, "a/b", b"1").unwrap();
            let file = from.file("a/b").unwrap();
            assert!(to.link("x/y/k", &file).unwrap());
            assert_eq!(value(&to, "x/y/k").unwrap(), b"1");
            assert!(to.link("x/y/k", &file).unwrap(), "again");
            put(&to, "full", b"old").unwrap();
            assert!(to.link("full", &file).unwrap());
            assert_eq!(value(&to, "full").unwrap(), b"1");
            // What a reader has open counts as replaced: which of its names was it?
            let Some(Object::File(open)) = to.open("full").unwrap() else { panic!() };
            assert!(!open.still_current().unwrap());
            put(&to, "full", b"new").unwrap();
            to.flush().unwrap();
            assert_eq!(value(&from, "a/b").unwrap(), b"1");
            assert_eq!(from.file("none"), None);
            assert!(!to.link("k", &folder.0.join("none")).unwrap());
            assert!(!to.link("k", &folder.0).unwrap(), "a folder");
            assert_eq!(to.link(LOCK_NAME, &file).unwrap_err().kind(), ErrorKind::Name);
            let reader = LocalStore::open(&folder.0.join("other"), false, mode).unwrap();
            assert_eq!(reader.link("k", &file).unwrap_err().kind(), ErrorKind::ReadOnly);
        }
    }

    #[test]
    fn a_file_system_without_locks_gives_none() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        for errno in [libc::ENOLCK, libc::ENOTSUP, libc::ENOSYS] {
            assert!(fault::with(&[fail(Call::Lock, errno)], || store.lock_key("d/", "d/k")).0.unwrap().is_none());
        }
        let e = fault::with(&[fail(Call::Lock, libc::EIO)], || store.lock_key("d/", "d/k")).0.err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Io);
        assert!(fault::with(&[fail(Call::Lock, libc::EINTR)], || store.lock_key("d/", "d/k")).0.unwrap().is_some());
        store.put("d/k", &[b"1"], Condition::None).unwrap();
        let version = store.open("d/k").unwrap().unwrap().version().unwrap();
        let matching = || store.put("d/k", &[b"2"], Condition::Match(version));
        fault::with(&[fail(Call::Lock, libc::ENOLCK)], matching).0.unwrap();
    }

    #[test]
    fn a_lock_on_an_erased_lock_file_is_taken_again_on_the_new_one() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        let first = store.lock_key("", "k").unwrap().unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| store.lock_key("", "k").unwrap().is_some() && folder.file(LOCK_NAME).exists());
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(!second.is_finished(), "the lock is exclusive");
            std::fs::remove_file(folder.file(LOCK_NAME)).unwrap();
            drop(first);
            assert!(second.join().unwrap());
        });
    }

    #[test]
    fn values_of_every_size_around_the_buffer_are_read_whole() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        for len in [0, 1, FIRST_READ - 1, FIRST_READ, FIRST_READ + 1, 2 * FIRST_READ, 5 * FIRST_READ + 3] {
            let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            put(&store, "k", &bytes).unwrap();
            let object = store.open("k").unwrap().unwrap();
            for capacity in [0, len, len + 1, FIRST_READ, 7 * FIRST_READ] {
                let mut buf = Vec::with_capacity(capacity);
                object.read_whole(&mut buf, len).unwrap();
                assert!(buf == bytes, "{len} bytes into {capacity}");
                if len > 0 {
                    assert_eq!(object.read_whole(&mut buf, len - 1).unwrap_err().kind(), ErrorKind::Limit);
                }
            }
        }
    }

    #[test]
    fn a_value_that_fits_the_buffer_costs_no_stat_and_one_of_known_length_one_read() {
        let folder = Folder::new();
        let store = folder.store(SyncMode::None);
        put(&store, "k", &[7; 5000]).unwrap();
        let one_read = [
            Fault { after: 1, ..fail(Call::Read, libc::EIO) },
            fail(Call::Stat, libc::EIO),
            Fault { after: 1, ..fail(Call::Open, libc::EIO) },
        ];
        let mut buf = Vec::with_capacity(4096);
        let reads = fault::count(Call::Read, || store.open("k").unwrap().unwrap().read_whole(&mut buf, 1 << 20).unwrap());
        assert_eq!((buf.len(), reads), (5000, 2), "the second read finds the end");
        let stats = fault::count(Call::Stat, || store.open("k").unwrap().unwrap().read_whole(&mut buf, 1 << 20).unwrap());
        assert_eq!((buf.len(), stats), (5000, 0));
        let (result, unused) = fault::with(&one_read, || store.open("k").unwrap().unwrap().read_exact_whole(&mut [0; 5000]));
        result.unwrap();
        assert_eq!(unused, 3);
        assert_eq!(fault::with(&one_read[1..2], || store.open("none").unwrap().is_none()), (true, 1));
    }
}
