//! What has to be synced so that it survives a power cut, and when: the sync modes of local stores.

use super::path::{KeyPath, Made, folder_of, renamed_folder};
use crate::error::{Error, Result};
use crate::fork::ForkReset;
use crate::limits::{make_room, make_table_room, reserve_one};
use crate::platform::{AsFd, BorrowedFd, O_TO_SYNC, OwnedFd, libc};
use crate::sort::set_of;
use crate::store::file_options::SyncMode;
use crate::store::os::{self, Errno};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many new keys may be unsynced in mode `batch` before they are synced early.
pub(super) const MAX_UNSYNCED: usize = 65_536;

/// The most keys that are renamed together where there is no memory for a longer list.
const FEW: usize = 64;

/// Which file a key named when it was put: inode and time of writing (which a rename keeps).
pub(super) type FileId = (u64, i64, i64);

pub(super) fn file_id(st: &libc::stat) -> FileId {
    (st.st_ino, st.st_mtime, st.st_mtime_nsec)
}

/// What a store has put and not synced. A child of `fork` begins with nothing: what the parent put is the parent's to sync.
pub(super) struct Durability {
    pub(super) mode: SyncMode,
    unsynced: ForkReset<Mutex<Unsynced>>,
    /// Held through a flush, so that a second one returns only when all is durable, and while keys get other names.
    flushing: ForkReset<Mutex<()>>,
}

/// What the next flush has to do.
#[derive(Default)]
struct Unsynced {
    /// Keys that are new since the last flush, with the file that was put.
    files: HashMap<String, FileId>,
    /// Of these, those that each call takes away that is under way, by its number. It may fail: a flush syncs them, too.
    going: HashMap<u64, HashMap<String, FileId>>,
    /// How many such calls there were.
    calls: u64,
    /// Folders whose names changed.
    folders: BTreeSet<String>,
    /// Of these, those in which a document took the place of another one.
    retold: BTreeSet<String>,
    /// Of these, those in which something else was taken away or replaced.
    taken: BTreeSet<String>,
    /// Some of these two kinds are being synced: what comes after them waits.
    settling: bool,
    /// Keys and prefixes (which end in a slash, or are empty) that were erased since the last flush, and may hold durable values as the disk has it.
    erased: BTreeSet<String>,
    /// Those that the flush which is under way makes durable.
    leaving: BTreeSet<String>,
    /// The first failed sync or close: something that was put may be lost.
    failure: Option<Error>,
}

impl Unsynced {
    /// Returns whether something below a prefix was erased, and that may not be durable.
    fn has_erased(&self, prefix: &str) -> bool {
        let is_above = |name: &str| (name.is_empty() || name.ends_with('/')) && prefix.starts_with(name);
        self.erased.iter().chain(&self.leaving).any(|name| name.starts_with(prefix) || is_above(name))
    }
}

/// Folders of one kind among those that are not synced.
type Folders = fn(&mut Unsynced) -> &mut BTreeSet<String>;

/// What a call has taken out that takes keys away.
pub(super) struct Going(u64);

/// Takes out what is new of what a call takes away.
fn take_out(unsynced: &mut Unsynced, goes: impl Fn(&str) -> bool) -> Going {
    let (count, mut taken) = (unsynced.files.keys().filter(|key| goes(key)).count(), HashMap::new());
    // Where there is no memory a flush finds out that they are gone.
    if make_table_room(&mut taken, count).is_ok() {
        taken.extend(unsynced.files.extract_if(|key, _| goes(key)));
    }
    keep_going(unsynced, taken)
}

fn keep_going(unsynced: &mut Unsynced, taken: HashMap<String, FileId>) -> Going {
    unsynced.calls += 1;
    if !taken.is_empty() {
        unsynced.going.insert(unsynced.calls, taken);
    }
    Going(unsynced.calls)
}

impl Durability {
    pub(super) fn new(mode: SyncMode) -> Durability {
        Durability { mode, unsynced: ForkReset::new(Mutex::default), flushing: ForkReset::new(Mutex::default) }
    }

    fn lock(&self) -> MutexGuard<'_, Unsynced> {
        self.unsynced.get().lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_flush(&self) -> MutexGuard<'_, ()> {
        self.flushing.get().lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the error of a system call that decides whether what has its name is durable: the next flushes report it, too.
    pub(super) fn lost(&self, errno: Errno, what: &str, key: &str) -> Error {
        let error = errno.error(what).at_key(key);
        self.lock().failure.get_or_insert_with(|| error.clone());
        error
    }

    /// Gives the file that was put under a key since the last flush.
    pub(super) fn new_file(&self, key: &str) -> Option<FileId> {
        self.lock().files.get(key).copied()
    }

    /// Keeps in mind that a key is new and has this file.
    pub(super) fn remember(&self, key: &str, id: FileId) {
        let mut unsynced = self.lock();
        match unsynced.files.get_mut(key) {
            Some(known) => *known = id,
            None => drop(unsynced.files.insert(key.to_string(), id)),
        }
    }

    /// Forgets a key that was synced, of which another value was replaced, and keeps its folder in mind.
    pub(super) fn replaced(&self, key: &str, is_document: bool) {
        let mut unsynced = self.lock();
        unsynced.files.remove(key);
        let folders = if is_document { &mut unsynced.retold } else { &mut unsynced.taken };
        folders.insert(folder_of(key).to_string());
    }

    /// Keeps the order of what the disk has: a document that takes the place of another one comes after what was taken away and replaced before it, as an
    /// array that grows would show what was cut off; and that before what follows it, as the older, longer shape would have the fill value there.
    pub(super) fn before_replacing(&self, root: BorrowedFd<'_>, is_document: bool) -> Result<()> {
        if is_document { self.sync_taken(root) } else { self.sync_retold(root) }
    }

    /// Makes the names of documents durable that took the place of others, before something goes or is replaced.
    pub(super) fn sync_retold(&self, root: BorrowedFd<'_>) -> Result<()> {
        self.sync_folders(root, |unsynced| &mut unsynced.retold)
    }

    /// Makes durable what was taken away or replaced, before a document takes the place of another one.
    pub(super) fn sync_taken(&self, root: BorrowedFd<'_>) -> Result<()> {
        self.sync_folders(root, |unsynced| &mut unsynced.taken)
    }

    /// Syncs the folders of a kind, or waits until another thread has.
    fn sync_folders(&self, root: BorrowedFd<'_>, of: Folders) -> Result<()> {
        let is_settled = |unsynced: &mut Unsynced| !unsynced.settling && of(unsynced).is_empty();
        if is_settled(&mut self.lock()) {
            return Ok(());
        }
        let _one = self.lock_flush();
        self.settle(root, &[of])
    }

    /// Syncs the folders of some kinds, while no flush is under way but the caller's.
    fn settle(&self, root: BorrowedFd<'_>, kinds: &[Folders]) -> Result<()> {
        let mut folders = BTreeSet::new();
        {
            let mut unsynced = self.lock();
            kinds.iter().for_each(|of| folders.append(of(&mut unsynced)));
            unsynced.settling = !folders.is_empty();
        }
        let synced = folders.iter().try_for_each(|folder| {
            self.lock().folders.remove(folder);
            self.sync_folder(root, folder, &format!("{folder}/"))
        });
        self.lock().settling = false;
        synced
    }

    /// Keeps in mind that a name is gone from the folder of `key`, or that of what says so came to be.
    pub(super) fn taken(&self, key: &str) {
        if self.mode == SyncMode::Batch {
            self.lock().taken.insert(folder_of(key).to_string());
        }
    }

    /// Takes out a key that is about to be erased, if it is new.
    pub(super) fn erasing_key(&self, key: &str) -> Option<Going> {
        let mut unsynced = self.lock();
        let taken = unsynced.files.remove_entry(key)?;
        Some(keep_going(&mut unsynced, HashMap::from([taken])))
    }

    /// Takes out what is new below a prefix that is about to be erased. What another thread puts there meanwhile is kept in mind, and synced first.
    pub(super) fn erasing(&self, prefix: &str) -> Going {
        let mut unsynced = self.lock();
        self.keep_erased(&mut unsynced, prefix);
        take_out(&mut unsynced, |key| key.starts_with(prefix))
    }

    /// Takes out what is new in a folder that is about to be replaced; empty: all.
    pub(super) fn replacing(&self, folder: &str) -> Going {
        let is_below = |key: &str| folder.is_empty() || key.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        take_out(&mut self.lock(), is_below)
    }

    /// Forgets what was taken out, and is gone; else puts it back. Returns whether it was all new to the end: no flush took any of it meanwhile.
    pub(super) fn gone(&self, going: Going, is_gone: bool) -> bool {
        let mut unsynced = self.lock();
        let taken = unsynced.going.remove(&going.0).unwrap_or_default();
        let was_new = !taken.is_empty();
        for (key, id) in taken.into_iter().filter(|_| !is_gone) {
            unsynced.files.entry(key).or_insert(id);
        }
        was_new
    }

    /// Has the next value of a key synced first, as if one had been erased.
    pub(super) fn sync_first(&self, key: &str) {
        self.keep_erased(&mut self.lock(), key);
    }

    fn keep_erased(&self, unsynced: &mut Unsynced, name: &str) {
        if self.mode != SyncMode::Batch {
            return;
        }
        if unsynced.erased.len() >= MAX_UNSYNCED {
            // Too many to be kept in mind: until the flush any key may be one of them.
            unsynced.erased = set_of([String::new()]);
        }
        if !unsynced.erased.contains("") {
            unsynced.erased.insert(name.to_string());
        }
    }

    /// Whether a value is synced before it gets the name of its key: always, or because the key was erased since the last flush, or that was asked for.
    /// Where the power is cut the disk may have the new name and not yet the bytes, in place of a value that was durable.
    pub(super) fn syncs_first(&self, key: &str) -> bool {
        if self.mode != SyncMode::Batch {
            return self.mode == SyncMode::Each;
        }
        let unsynced = self.lock();
        let was_erased = |erased: &BTreeSet<String>| {
            let by_prefix = || key.match_indices('/').any(|(at, _)| erased.contains(&key[..=at]));
            !erased.is_empty() && (erased.contains("") || erased.contains(key) || by_prefix())
        };
        was_erased(&unsynced.erased) || was_erased(&unsynced.leaving)
    }

    /// Makes room for the names that the keys of a prefix are about to get; where there is none, and where they take the place of erased values, what is new
    /// is synced. While what is returned is kept no flush is under way, which would not find the keys by their names.
    pub(super) fn prepare_rename(&self, root: BorrowedFd<'_>, from: &str, to: &str) -> Result<MutexGuard<'_, ()>> {
        let can_wait = |unsynced: &mut Unsynced| {
            let count = unsynced.files.keys().filter(|key| key.starts_with(from)).count();
            (count == 0 || !unsynced.has_erased(to)) && make_table_room(&mut unsynced.files, count).is_ok()
        };
        if !can_wait(&mut self.lock()) {
            self.sync_all(root)?;
        }
        Ok(self.lock_flush())
    }

    /// Gives the keys and folders of a prefix the names that they got by a rename. As the disk has it, what was erased below the old ones may come to have
    /// the new ones.
    pub(super) fn rename_prefix(&self, from: &str, to: &str) {
        let mut unsynced = self.lock();
        if unsynced.has_erased(from) {
            self.keep_erased(&mut unsynced, to);
        }
        let mut left = unsynced.files.keys().filter(|key| key.starts_with(from)).count();
        // Few at a time where there is no memory for more: they have their new names by now.
        let (mut keys, mut at_once) = (Vec::new(), left);
        while at_once > FEW && make_room(&mut keys, at_once).is_err() {
            at_once /= 2;
        }
        while left > 0 {
            keys.extend(unsynced.files.keys().filter(|key| key.starts_with(from)).take(at_once.min(left)).cloned());
            left -= keys.len();
            for key in keys.drain(..) {
                if let Some(id) = unsynced.files.remove(&key) {
                    unsynced.files.insert(format!("{to}{}", &key[from.len()..]), id);
                }
            }
        }
        let folders: Vec<String> = unsynced.folders.iter().filter_map(|folder| renamed_folder(folder, from, to)).collect();
        unsynced.folders.extend(folders);
    }

    /// Keeps in mind that folders were made on the way to `key`, whatever becomes of the call: the next one finds them.
    pub(super) fn folders_made(&self, key: &str, made: &Made) {
        if self.mode != SyncMode::None && !made.is_empty() {
            self.lock().folders.extend(made.iter().map(|&len| folder_of(&key[..len]).to_string()));
        }
    }

    /// Syncs the folder of `key`, whose names have changed, and the parents of the folders that were made, or leaves that to a flush.
    pub(super) fn names_changed(&self, root: BorrowedFd<'_>, key: &str, made: &Made) -> Result<()> {
        match self.mode {
            SyncMode::None => Ok(()),
            SyncMode::Batch => {
                let mut unsynced = self.lock();
                for folder in folders_of(key, made) {
                    if !unsynced.folders.contains(folder) {
                        unsynced.folders.insert(folder.to_string());
                    }
                }
                Ok(())
            }
            SyncMode::Each => {
                // What is due stays so until it is synced: another call counts on it.
                let sync = |folder: &str| {
                    self.sync_folder(root, folder, key)?;
                    self.lock().folders.remove(folder);
                    Ok(())
                };
                folders_of(key, made).try_for_each(sync)?;
                // Those of calls that failed are due as well; what still cannot be opened fails no other call than a flush.
                let due = self.lock().folders.clone();
                let lost = |e| if self.lock().failure.is_some() { Err(e) } else { Ok(()) };
                due.iter().rev().try_for_each(|folder| sync(folder).or_else(lost))
            }
        }
    }

    /// Syncs the folders of `old` and of `new`, its name by now, and those above the new one in which names have changed: documents say next where it is.
    pub(super) fn renamed(&self, root: BorrowedFd<'_>, old: &str, new: &str, made: &Made) -> Result<()> {
        self.names_changed(root, old, &Made::new())?;
        self.names_changed(root, new, made)?;
        if self.mode != SyncMode::Batch {
            return Ok(());
        }
        let above = std::iter::once("").chain(new.match_indices('/').map(|(at, _)| &new[..at]));
        let due = above.filter(|folder| self.lock().folders.contains(*folder));
        let other = Some(folder_of(old)).filter(|old| *old != folder_of(new));
        due.chain(other).try_for_each(|folder| self.sync_folder(root, folder, new))
    }

    /// Syncs what is new if it is too much to keep in mind.
    pub(super) fn sync_early(&self, root: BorrowedFd<'_>) -> Result<()> {
        let is_full = |unsynced: &mut Unsynced| unsynced.files.len() >= MAX_UNSYNCED || reserve_one(&mut unsynced.files).is_err();
        let full = self.mode == SyncMode::Batch && is_full(&mut self.lock());
        if full { self.sync_all(root) } else { Ok(()) }
    }

    /// Makes all that was put durable, as far as the mode promises it; `root` is the store's folder if there is one.
    pub(super) fn flush(&self, root: Option<BorrowedFd<'_>>) -> Result<()> {
        let now = root.filter(|_| self.mode != SyncMode::None).map_or(Ok(()), |root| self.sync_all(root));
        self.lock().failure.clone().map_or(now, Err)
    }

    /// Syncs the new files, then the folders, deepest first. Every one is tried once; the first failure is kept.
    fn sync_all(&self, root: BorrowedFd<'_>) -> Result<()> {
        let _one = self.lock_flush();
        // First, as others wait for these. What could not be synced stays due.
        let mut first = self.settle(root, &[|unsynced| &mut unsynced.retold, |unsynced| &mut unsynced.taken]);
        let (files, folders) = {
            let mut unsynced = self.lock();
            let Unsynced { files, going, .. } = &mut *unsynced;
            make_table_room(files, going.values().map(HashMap::len).sum())?;
            for (key, id) in going.values_mut().flat_map(HashMap::drain) {
                files.entry(key).or_insert(id);
            }
            let erased = std::mem::take(&mut unsynced.erased);
            unsynced.leaving.extend(erased);
            (std::mem::take(&mut unsynced.files), std::mem::take(&mut unsynced.folders))
        };
        let depth = |folder: &String| if folder.is_empty() { 0 } else { 1 + folder.matches('/').count() };
        for (key, id) in files {
            let synced = self.sync_file(root, &KeyPath::join("", &key), &key);
            let done = synced.unwrap_or_else(|error| {
                self.lock().files.entry(key).or_insert(id);
                Err(error)
            });
            first = first.and(done);
        }
        // A sorted list of them would take memory where it ends.
        for level in (0..=folders.iter().map(depth).max().unwrap_or(0)).rev() {
            for folder in folders.iter().filter(|folder| depth(folder) == level) {
                first = first.and(self.sync_folder(root, folder, &format!("{folder}/")));
            }
        }
        if first.is_ok() {
            self.lock().leaving.clear();
        }
        first
    }

    /// Makes the names in a folder durable; one that was erased needs nothing. One that cannot be opened is due for the next flush, and nothing is
    /// lost. `key` is for the error.
    fn sync_folder(&self, root: BorrowedFd<'_>, folder: &str, key: &str) -> Result<()> {
        match open_to_sync(root, &KeyPath::of_folder(folder), libc::O_DIRECTORY) {
            Ok(file) => file.map_or(Ok(()), |file| os::fsync_folder(file.as_fd())).map_err(|e| self.lost(e, "sync the folder", key)),
            Err(e) => {
                self.lock().folders.insert(folder.to_string());
                Err(e.error("open the folder to sync it").at_key(key))
            }
        }
    }

    /// Makes the closed file of a key durable; one that was erased needs nothing. The outer error is that it cannot be opened: then it may be
    /// synced later, and nothing is lost.
    fn sync_file(&self, root: BorrowedFd<'_>, path: &KeyPath, key: &str) -> Result<Result<()>> {
        Ok(sync_closed(root, path, key)?.map_err(|e| self.lost(e, "sync", key)))
    }

    /// Makes the closed file of a key durable at once.
    pub(super) fn sync_now(&self, root: BorrowedFd<'_>, key: &str) -> Result<()> {
        self.sync_file(root, &KeyPath::of_key(key)?, key)?
    }

    /// Says how many keys the next flush syncs.
    #[cfg(test)]
    pub(super) fn unsynced(&self) -> usize {
        self.lock().files.len()
    }
}

/// The folder of `key`, and the parents of the folders that were made on the way to it.
fn folders_of<'a>(key: &'a str, made: &'a Made) -> impl Iterator<Item = &'a str> {
    std::iter::once(folder_of(key)).chain(made.iter().rev().map(|&len| folder_of(&key[..len])))
}

/// Syncs a closed file; one that was erased needs nothing. The outer error is that it cannot be opened.
pub(super) fn sync_closed(root: BorrowedFd<'_>, path: &KeyPath, key: &str) -> Result<os::Os<()>> {
    let opened = open_to_sync(root, path, libc::O_NOCTTY | libc::O_NONBLOCK);
    let file = opened.map_err(|e| e.error("open the file to sync it").at_key(key))?;
    Ok(file.map_or(Ok(()), |file| os::fdatasync(file.as_fd())))
}

/// Opens what is to be synced, or gives `None` if it was erased.
fn open_to_sync(root: BorrowedFd<'_>, path: &KeyPath, flags: i32) -> os::Os<Option<OwnedFd>> {
    let access = if flags & libc::O_DIRECTORY != 0 { libc::O_RDONLY } else { O_TO_SYNC };
    match os::open(root, path.as_c(), access | flags, 0) {
        Err(Errno(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
        // On Windows it is on its way out; elsewhere that says nothing of a name.
        Err(Errno(libc::ESTALE)) if cfg!(windows) => Ok(None),
        other => other.map(Some),
    }
}
