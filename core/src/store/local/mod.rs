//! A folder of the local file system as a store: one file a key, replaced atomically, durable as the sync mode says.
//!
//! **Reading** costs three calls a chunk of known length: `openat` from the kept root descriptor, one `pread`, `close`; one more
//! `pread` finds the end where the length is not known. The path is built on the stack. Only "no such file" counts as missing.
//!
//! **Writing** never changes a file in place: temporary name in the same folder → write → (sync) → close, checked →
//! rename. Whatever fails, the old value stays and the temporary file goes. A kill leaves at most a temporary file,
//! which listings hide, and which the next store that puts a value into that folder removes.
//!
//! **Locks** between processes are on one byte for each key of a hidden file `.ozarr.lock`; readers never lock (copies keep the file, to see cuts).

mod beside;
mod durable;
mod exchange;
mod hidden;
mod known_root;
#[cfg(target_os = "linux")]
mod listed_again;
mod listing;
mod lock;
pub(crate) mod nameless;
mod once_fd;
pub mod overlap;
mod owner;
pub mod path;
mod put;
mod root;
pub(crate) mod staged_file;
mod sweep;
mod temporary;
#[cfg(test)]
mod tests;

use self::durable::Durability;
use self::hidden::Hidden;
use self::known_root::KnownRoot;
use self::listing::{list_folder, names_in};
use self::lock::{LOCK_SPACE, Locks};
pub use self::lock::{remove_unheld, shuts_out};
use self::once_fd::OnceFd;
use self::path::{KeyPath, Made, absolute, c_path, check_name, check_prefix, file_instead_of, folder_of, not_absolute, remove_made};
use self::staged_file::StagedFile;
use self::sweep::Sweeper;
pub use self::sweep::{Unlisted, remove_left, unlisted};
use self::temporary::{Over, Temp, TempNames, is_marker};
use super::file_object::{FileObject, check_is_file, stamp_of};
pub use super::file_options::{FileOptions, LockMode, Publish, SyncMode};
use super::os::{self, EntryKind, Errno};
use super::stamp::nanos_now;
use super::{
    Capabilities, Check, Condition, CutMark, Folder, Keys, ListInto, ListedKey, LocalFiles, LockUse, Object, ProcessLock, SharedStore,
    Staged, Stamp, Storage,
};
use crate::error::{Result, bail};
use crate::fork::ForkReset;
use crate::limits::check_memory;
use crate::platform::{AsFd, BorrowedFd, O_PATH, OwnedFd, errno_of, libc};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// A folder as a store. Thread-safe; may be shared by processes.
pub struct LocalStore {
    root: PathBuf,
    root_fd: OnceFd,
    known: KnownRoot,
    /// Where the option `"file.publish"` asks for it.
    hidden: Option<Hidden>,
    writable: bool,
    durability: Durability,
    locks: Locks,
    /// Set once the file system has refused `RENAME_NOREPLACE`.
    no_rename_new: AtomicBool,
    temp_names: TempNames,
    /// Set once a file was made that not all may read.
    keeps_out: AtomicBool,
    sweeper: Sweeper,
    /// Held by conditional puts between looking and renaming.
    matching: ForkReset<Mutex<()>>,
}

impl LocalStore {
    /// The store of the folder `root`, which may not exist yet: the first `put` makes it and its parents; until then
    /// every key is missing. Nothing is read or written by this call. A relative path counts from the present folder.
    pub fn open(root: &Path, writable: bool, options: impl Into<FileOptions>) -> Result<LocalStore> {
        if root.as_os_str().as_encoded_bytes().contains(&0) {
            bail!(Location, "the path {} contains a NUL", root.display());
        }
        let options = options.into();
        let root = absolute(root).map_err(|e| not_absolute(root, &e))?;
        Ok(LocalStore {
            root,
            root_fd: OnceFd::new(),
            known: KnownRoot::default(),
            hidden: (options.publish == Publish::Flush).then(Hidden::due),
            writable,
            durability: Durability::new(options.sync),
            locks: Locks::new(options.lock),
            no_rename_new: AtomicBool::new(false),
            temp_names: TempNames::new(),
            keeps_out: AtomicBool::new(false),
            sweeper: Sweeper::new(),
            matching: ForkReset::new(Mutex::default),
        })
    }

    /// Whether an open file may look as if its key still held it after it was replaced or erased.
    fn keeps_removed(&self) -> bool {
        self.root().is_ok_and(|root| root.is_some_and(|root| self.known.keeps_removed(root)))
    }

    fn check_writable(&self) -> Result<()> {
        if !self.writable {
            bail!(ReadOnly, "the store is open for reading only");
        }
        check_memory()
    }

    /// Locks one byte of the lock file in `folder`; `None` where the file system has no locks.
    fn lock_byte(&self, folder: &str, byte: u64, lock_use: LockUse) -> Result<Option<lock::ByteLock>> {
        self.check_writable()?;
        self.in_present_root(|| self.locks.lock(self.root_to_write()?, folder, byte, lock_use, &self.durability), Result::is_err)
    }

    /// Opens the file of a key in the root that is open.
    #[inline]
    fn look_for(&self, key: &str) -> Result<Option<Object>> {
        let path = KeyPath::of_key(key)?;
        let Some(root) = self.root()? else { return Ok(None) };
        open_file(root, &path).map_err(|e| self.placed(file_instead_of(&self.root, &self.root.join(folder_of(key)), e)))
    }

    /// Opens the folder of a prefix to list it, or gives `None` if it does not exist.
    fn open_folder(&self, folder: &str, flags: i32) -> Result<Option<OwnedFd>> {
        self.root_was_replaced();
        let Some(root) = self.root()? else { return Ok(None) };
        let opened = os::open(root, KeyPath::of_folder(folder).as_c(), libc::O_RDONLY | libc::O_DIRECTORY | flags, 0);
        #[cfg(any(test, feature = "faults"))]
        let opened = opened.inspect(|fd| crate::store::fault::opened(fd.as_fd()));
        match opened {
            Ok(fd) => Ok(Some(fd)),
            Err(Errno(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
            // What systems say of a link that is not to be followed.
            Err(Errno(libc::ELOOP)) if flags & libc::O_NOFOLLOW != 0 => Ok(None),
            Err(e) => Err(e.error("open the folder").at_key(folder)),
        }
    }

    /// Removes a key; `false` if it held nothing.
    fn erase_one(&self, key: &str) -> Result<bool> {
        let path = KeyPath::of_key(key)?;
        let Some(root) = self.root()? else { return Ok(false) };
        self.durability.sync_retold(root)?;
        if is_marker(key) {
            self.durability.sync_taken(root)?;
        }
        // What another thread puts there from now on is new.
        let going = self.durability.erasing_key(key);
        let done = os::unlink(root, path.as_c());
        let was_new = going.is_some_and(|going| self.durability.gone(going, done.is_ok()));
        match done {
            Ok(()) => {
                self.known.note_put();
                if !was_new {
                    self.durability.sync_first(key);
                }
                self.durability.taken(key);
                self.durability.names_changed(root, key, &Made::new())?;
                Ok(true)
            }
            Err(Errno(libc::ENOENT)) => Ok(false),
            Err(e) => Err(e.error("erase")),
        }
    }

    /// Removes every key below a prefix.
    fn erase_below(&self, prefix: &str) -> Result<bool> {
        let folder = check_prefix(prefix)?;
        let Some(root) = self.root()? else { return Ok(false) };
        let path = KeyPath::of_folder(folder);
        let Some(fd) = self.open_folder(folder, if folder.is_empty() { 0 } else { libc::O_NOFOLLOW })? else {
            // A link to a folder elsewhere: the link goes, the folder stays.
            let is_link = os::stat_at(root, path.as_c(), false).is_ok_and(|st| EntryKind::of(&st) == EntryKind::Link);
            let goes = is_link && os::stat_at(root, path.as_c(), true).is_ok_and(|st| EntryKind::of(&st) == EntryKind::Folder);
            if goes {
                os::unlink(root, path.as_c()).map_err(|e| e.error("erase").at_key(folder))?;
                self.known.note_put();
                self.durability.sync_first(prefix);
                self.durability.names_changed(root, folder, &Made::new())?;
            }
            return Ok(goes);
        };
        self.durability.sync_retold(root)?;
        self.known.note_put();
        let going = self.durability.erasing(prefix);
        let erased = self.erase_folder(root, folder, fd.as_fd());
        // A flush by another thread may have begun while it was there.
        self.durability.sync_first(prefix);
        self.durability.taken(folder);
        self.durability.gone(going, erased.is_ok());
        let changed = if folder.is_empty() { "." } else { folder };
        self.durability.names_changed(root, changed, &Made::new()).and(erased.map_err(|e| e.at_key(prefix)))
    }
}

impl Drop for LocalStore {
    fn drop(&mut self) {
        self.discard_hidden();
        if self.writable
            && let Some(root) = self.root_fd.get()
        {
            self.sweeper.sweep(root);
            self.locks.remove_kept(root);
        }
    }
}

impl Storage for LocalStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            lock_refused: self.locks.refused(),
            swept: self.sweeper.removed(),
            ..Capabilities::local(self.writable, self.writable)
        }
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.look(|| self.look_for(key))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        // Documents are read so: they are looked for where the root is now, and none is in one that is gone.
        let Some(object) = self.in_present_root(|| self.look_for(key), |found| matches!(found, Ok(None)))? else { return Ok(None) };
        let mut bytes = Vec::new();
        object.read_whole(&mut bytes, max).map(|()| Some(bytes)).map_err(|e| self.placed(e))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.check_writable()?;
        let put = || match condition {
            Condition::None => self.replace(key, parts, Over::Any),
            Condition::Absent => self.replace(key, parts, Over::Nothing),
            Condition::Match(version) => self.replace_matching(key, parts, version),
        };
        self.in_present_root(put, Result::is_err).map_err(|e| self.placed(e))
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.check_writable()?;
        KeyPath::of_key(key)?;
        let open = || {
            let roots = self.known.roots.load(Ordering::Acquire);
            let (root, mut made) = (self.root_to_write()?, Made::new());
            let opened = self.temp_file(root, key, None, &mut made);
            opened.inspect_err(|_| remove_made(root, key, &made)).map(|(temp, fd)| (temp, fd, made, roots))
        };
        let (mut temp, fd, made, roots) = self.in_present_root(open, Result::is_err).map_err(|e| self.placed(e))?;
        let folder = temp.root.try_clone_to_owned().map_err(|e| Errno(errno_of(&e).unwrap_or(libc::EIO)).error("keep the folder open"))?;
        temp.there = false;
        let (path, process) = (temp.path.clone(), std::process::id());
        Ok(Staged::File(Box::new(StagedFile { root: folder, roots, path, fd: Some(fd), made, process })))
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        self.check_writable()?;
        let erased = match keys {
            // What misses may be in the root that has the name by now.
            Keys::One(key) => {
                self.in_present_root(|| self.erase_one(key), |erased| matches!(erased, Ok(false)) && self.root_may_be_replaced())
            }
            Keys::Below(prefix) => self.erase_below(prefix),
        };
        erased.map_err(|e| self.placed(e))
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        let (folder, moment) = (check_prefix(prefix)?, nanos_now());
        let Some(fd) = self.open_folder(folder, 0).map_err(|e| self.placed(e))? else { return Ok(()) };
        match into {
            ListInto::Each(each) => list_folder((fd.as_fd(), moment), &mut prefix.to_string(), &mut Vec::new(), each),
            ListInto::Told(each) => {
                let mut each = |key: &str| {
                    let told = Some(self.stamp(key)?.map_or(0, |stamp| stamp.told()));
                    each(key, ListedKey { told, len: None })
                };
                list_folder((fd.as_fd(), moment), &mut prefix.to_string(), &mut Vec::new(), &mut each)
            }
            ListInto::Folder(listing) => {
                let has_temporary = names_in(fd.as_fd(), moment, listing).map_err(|e| self.placed(e.at_key(prefix)))?;
                if has_temporary && self.writable {
                    // Where this store puts nothing, too.
                    self.sweeper.note(folder, false);
                }
                Ok(())
            }
        }
    }

    fn flush(&self) -> Result<()> {
        let root = self.root()?;
        if let Some(root) = root {
            self.sweeper.sweep(root);
        }
        self.durability.flush(root).map_err(|e| self.placed(e))?;
        self.check_root_was_kept()?;
        self.publish_hidden()
    }

    fn lock_key(&self, prefix: &str, key: &str, lock_use: LockUse) -> Result<Option<ProcessLock>> {
        let folder = check_prefix(prefix)?;
        let held = self.lock_byte(folder, byte_of(folder, key), lock_use).map_err(|e| self.placed(e))?;
        Ok(held.map(|held| Box::new(held) as ProcessLock))
    }

    fn files(&self) -> Option<&dyn LocalFiles> {
        Some(self)
    }

    fn describe(&self) -> String {
        let shown = path::shown(&self.root);
        // Places are compared by it, and followed by keys.
        if cfg!(windows) { shown.replace('\\', "/") } else { shown }
    }
}

impl LocalFiles for LocalStore {
    fn folder(&self, prefix: &str) -> Folder {
        let Ok(folder) = check_prefix(prefix) else { return Folder::Unknown };
        let open = || {
            let Some(root) = self.root()? else { return Ok(None) };
            match os::open(root, KeyPath::of_folder(folder).as_c(), O_PATH | libc::O_DIRECTORY, 0) {
                Err(Errno(libc::ENOENT)) => Ok(None),
                opened => opened.map(Some).map_err(|e| e.error("open the folder")),
            }
        };
        match self.look(open) {
            Ok(Some(fd)) => Folder::Open { fd, len: prefix.len() },
            Ok(None) => Folder::Absent,
            // Its keys say why.
            Err(_) => Folder::Unknown,
        }
    }

    fn is_there(&self, folder: &Folder, prefix: &str) -> bool {
        let (Folder::Open { fd, .. }, Ok(name)) = (folder, check_prefix(prefix)) else { return true };
        self.root_was_replaced();
        let root = self.root().ok().flatten();
        let named = root.and_then(|root| os::stat_at(root, KeyPath::of_folder(name).as_c(), true).ok());
        named.zip(os::stat(fd.as_fd()).ok()).is_some_and(|(named, open)| os::is_same(&named, &open))
    }

    fn folder_numbers(&self, prefix: &str) -> Result<Option<[u64; 2]>> {
        self.numbers_of(check_prefix(prefix)?)
    }

    fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>> {
        match folder {
            Folder::Unknown => self.open(key),
            Folder::Absent => Ok(None),
            Folder::Open { fd, len } => {
                open_file(fd.as_fd(), &KeyPath::of_key(key.get(*len..).unwrap_or_default())?).map_err(|e| self.placed(e))
            }
        }
    }

    fn stamp(&self, key: &str) -> Result<Option<Stamp>> {
        let (path, moment) = (KeyPath::of_key(key)?, nanos_now());
        let look = || {
            let Some(root) = self.root()? else { return Ok(None) };
            match os::stat_at(root, path.as_c(), true) {
                Err(Errno(libc::ENOENT)) => Ok(None),
                st => st.map(Some).map_err(|e| self.placed(e.error("stat"))),
            }
        };
        self.look(look)?.map(|st| check_is_file(&st).map(|()| stamp_of(&st, moment))).transpose()
    }

    fn holds(&self, key: &str, old: &Object) -> Result<bool> {
        let stamp = match old.stamp() {
            // Another machine has removed the file.
            Err(e) if e.os_errno() == libc::ESTALE => return Ok(false),
            stamp => stamp?,
        };
        // By another name the file seems to be there still: it is compared with what has the key's name.
        if !stamp.current || !self.keeps_removed() {
            return Ok(stamp.current);
        }
        let named = self.open(key)?.map(|named| named.stamp()).transpose()?;
        Ok(named.is_some_and(|named| named.is_of_same_file(&stamp)))
    }

    fn put_over(&self, key: &str, parts: &[&[u8]], check: Check<'_>) -> Result<()> {
        self.check_writable()?;
        self.in_present_root(|| self.replace(key, parts, Over::Checked(check)), Result::is_err).map_err(|e| self.placed(e))
    }

    fn note_cut(&self, prefix: &str) -> Result<()> {
        let folder = check_prefix(prefix)?;
        self.check_writable()?;
        self.locks.note_cut(self.root_to_write()?, folder).map_err(|e| self.placed(e))
    }

    fn sync_first(&self, key: &str) -> Result<()> {
        KeyPath::of_key(key).map(|_| self.durability.sync_first(key))
    }

    fn cut_mark(&self, prefix: &str, keep: bool) -> Result<Option<CutMark>> {
        let folder = check_prefix(prefix)?;
        self.root()?.map_or(Ok(None), |root| self.locks.cut_mark(root, folder, keep)).map_err(|e| self.placed(e))
    }

    fn publish(&self, key: &str, mut file: Box<StagedFile>) -> Result<()> {
        self.check_writable()?;
        file.check_process()?;
        self.known.note_put();
        // Another folder has the name of the root by now.
        if file.roots != self.known.roots.load(Ordering::Acquire) {
            return Err(self.lost());
        }
        let Some(fd) = file.fd.take() else { bail!(Internal, "the staged file was published before") };
        let temp = Temp { root: file.root.as_fd(), path: file.path.clone(), there: true };
        let named = self.give_name(temp, fd, key, &KeyPath::of_key(key)?, Over::Any, &file.made);
        named.inspect_err(|_| remove_made(file.root.as_fd(), key, &file.made)).map_err(|e| self.placed(e))
    }

    fn rename_prefix(&self, from: &str, to: &str) -> Result<bool> {
        self.check_writable()?;
        self.rename_folder((from, check_prefix(from)?), (to, check_prefix(to)?))
    }

    fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>, done: &mut dyn FnMut()) -> Result<bool> {
        self.check_writable()?;
        self.replace_folder(check_prefix(prefix)?, build, done)
    }

    fn check_erase(&self, prefix: &str) -> Result<()> {
        self.check_folder_goes(check_prefix(prefix)?).map_err(|e| self.placed(e.at_key(prefix)))
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        // What has the name of a root that is hidden is somebody else's.
        KeyPath::of_key(key).ok().filter(|_| self.stay_hidden().is_none())?;
        // A link in the way would be linked itself, and lead elsewhere from there.
        self.root.join(key).canonicalize().ok()
    }

    fn link(&self, key: &str, file: &Path, replaces: bool) -> Result<bool> {
        self.check_writable()?;
        let (path, from) = (KeyPath::of_key(key)?, c_path(file)?);
        check_name(key)?;
        let (root, mut made) = (self.root_to_write()?, Made::new());
        let linked = self.link_file(root, (key, &path), &from, replaces, &mut made);
        if !matches!(linked, Ok(true)) {
            remove_made(root, key, &made);
        }
        linked
    }
}

/// Gives the byte that a key is locked by in the lock file of `folder`: by its name from there on, which it has in each store, wherever above
/// that begins.
fn byte_of(folder: &str, key: &str) -> u64 {
    let name = key.strip_prefix(folder).map_or(key, |name| name.trim_start_matches('/'));
    os::hash(name.as_bytes()) % LOCK_SPACE
}

/// Opens the file of a key to read it, or gives `None` if it does not exist.
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
