//! How a value gets the name of its key: written into a temporary file, or under that name at once in a hidden root, and synced as the mode says.

use super::durable::{FileId, file_id, sync_closed};
use super::lock::LOCK_SPACE;
use super::path::{KeyPath, Made, folder_of, make_missing, remove_made};
use super::temporary::{Over, TRIES, Temp, is_marker, is_of_node, keep_readers};
use super::{LocalStore, SyncMode, byte_of};
use crate::error::{Result, bail};
use crate::platform::{AsFd, BorrowedFd, OwnedFd, is_for_all, libc};
use crate::store::os::{self, CWD, EntryKind, Errno};
use crate::store::{LockUse, Storage, Version};
use std::ffi::CStr;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

impl LocalStore {
    /// Stores `parts` as `key`: the one way in which a value gets its name. Folders that were made in vain go again: on a full disk each takes room.
    pub(super) fn replace(&self, key: &str, parts: &[&[u8]], over: Over<'_>) -> Result<()> {
        let path = KeyPath::of_key(key)?;
        let root = self.root_to_write()?;
        let mut made = Made::new();
        let put = self.put_file(root, (key, &path), parts, over, &mut made);
        if put.is_err() {
            remove_made(root, key, &made);
        }
        put
    }

    /// Stores `parts` as `key`; `made` gets the folders that were missing.
    fn put_file(
        &self,
        root: BorrowedFd<'_>,
        (key, path): (&str, &KeyPath),
        parts: &[&[u8]],
        over: Over<'_>,
        made: &mut Made,
    ) -> Result<()> {
        // A check asks for it itself.
        let hidden = if matches!(over, Over::Checked(_)) { None } else { self.stay_hidden() };
        let own = hidden.as_ref().map(|_| path);
        let (mut temp, fd) = self.temp_file(root, key, own, made)?;
        os::write_all(fd.as_fd(), parts).map_err(|e| temp.failed(fd.as_fd(), e).error("write"))?;
        self.give_name(temp, fd, key, path, over, made)
    }

    /// Makes a new file beside `key`, or at once under the name `own`, as [`TempNames::create`] does.
    pub(super) fn temp_file<'a>(
        &self,
        root: BorrowedFd<'a>,
        key: &str,
        own: Option<&KeyPath>,
        made: &mut Made,
    ) -> Result<(Temp<'a>, OwnedFd)> {
        let created = self.temp_names.create(root, (key, own), made, |folder| self.sweeper.knows(folder));
        self.durability.folders_made(key, made);
        created
    }

    /// Makes a written file the value of `key`: by a rename, unless it has that name.
    pub(super) fn give_name(&self, mut temp: Temp<'_>, fd: OwnedFd, key: &str, path: &KeyPath, over: Over<'_>, made: &Made) -> Result<()> {
        let root = temp.root;
        let folder = folder_of(key);
        let is_first = self.sweeper.note(folder, made.contains(&folder.len()));
        self.known.note_put();
        let mut id = FileId::default();
        // Not each chunk is looked at: what a file's readers are is up to its folder, and to the mask of the process, which rarely changes.
        if self.durability.mode == SyncMode::Batch || is_first || self.keeps_out.load(Ordering::Relaxed) || is_of_node(folder, key) {
            let own = os::stat(fd.as_fd()).map_err(|e| temp.failed(fd.as_fd(), e).error("stat"))?;
            if !is_for_all(&own) {
                self.keeps_out.store(true, Ordering::Relaxed);
                keep_readers((root, key), path, (fd.as_fd(), &own))
                    .map_err(|e| temp.failed(fd.as_fd(), e).error("open what is replaced"))?;
            }
            id = file_id(&own);
        }
        let marks = self.durability.mode == SyncMode::Batch && is_marker(key);
        let synced = marks || self.durability.syncs_first(key);
        if synced {
            os::fdatasync(fd.as_fd()).map_err(|e| temp.failed(fd.as_fd(), e).error("sync").at_key(key))?;
        }
        match os::close(fd) {
            // The descriptor is gone, and whether all was written is not known: a sync by another one tells.
            Err(Errno(libc::EINTR)) => sync_temp(&temp, key)?,
            closed => closed.map_err(|e| e.error("close").at_key(key))?,
        }
        let (named, absent) = (temp.path.as_c() == path.as_c(), matches!(over, Over::Nothing));
        if named {
            temp.there = false;
        } else if absent {
            if !self.rename_new(&mut temp, path)? {
                if !is_dead_link(root, path) {
                    bail!(Conflict, "the key holds a value already");
                }
                temp.rename(path)?;
            }
        } else if self.durability.mode == SyncMode::Batch && !synced {
            self.replace_batched(&mut temp, path, key, id, over)?;
        } else {
            temp.rename_over(path, over)?;
        }
        if self.durability.mode == SyncMode::Batch && !synced && (absent || named) {
            self.durability.remember(key, id);
        }
        if marks {
            self.durability.taken(key);
        }
        self.durability.names_changed(root, key, made)?;
        self.durability.sync_early(root)
    }

    /// Mode `batch`: a key that is new, or that this store put since the last flush, gets its value at once; any other
    /// holds a value that may be durable, so the new one is synced before it takes the name.
    fn replace_batched(&self, temp: &mut Temp<'_>, path: &KeyPath, key: &str, id: FileId, over: Over<'_>) -> Result<()> {
        let ours = self.durability.new_file(key);
        // Another process may have replaced (and synced) the value meanwhile: then the file is not the one put here.
        let still_ours = ours.is_some() && os::stat_at(temp.root, path.as_c(), false).is_ok_and(|st| ours == Some(file_id(&st)));
        if still_ours {
            temp.rename_over(path, over)?;
        } else if matches!(over, Over::Checked(_)) || !self.rename_new(temp, path)? {
            let is_document = is_of_node(folder_of(key), key);
            self.durability.before_replacing(temp.root, is_document)?;
            sync_temp(temp, key)?;
            temp.rename_over(path, over)?;
            self.durability.replaced(key, is_document);
            return Ok(());
        }
        self.durability.remember(key, id);
        Ok(())
    }

    /// Gives the temporary file its name if that names nothing; `false` if it does.
    fn rename_new(&self, temp: &mut Temp<'_>, path: &KeyPath) -> Result<bool> {
        temp.rename_new(path, &self.no_rename_new, self.matching.get())
    }

    /// Stores if the key still holds `version`; other conditional puts wait meanwhile, in other processes, too.
    pub(super) fn replace_matching(&self, key: &str, parts: &[&[u8]], version: Version) -> Result<()> {
        let _here = self.matching.get().lock().unwrap_or_else(PoisonError::into_inner);
        let folder = folder_of(key);
        let _elsewhere = self.lock_byte(folder, LOCK_SPACE + byte_of(folder, key), LockUse::Rare)?;
        let now = match self.open(key)? {
            Some(object) => Some(object.version()?),
            None => None,
        };
        if now != Some(version) {
            bail!(Conflict, "the key holds another value by now");
        }
        self.replace(key, parts, Over::Any)
    }

    /// Gives a file the name of `key`, too, as [`crate::store::LocalFiles::link`] says; `made` gets the folders that were missing.
    pub(super) fn link_file(
        &self,
        root: BorrowedFd<'_>,
        (key, path): (&str, &KeyPath),
        from: &CStr,
        replaces: bool,
        made: &mut Made,
    ) -> Result<bool> {
        self.known.note_put();
        for _ in 0..TRIES {
            match os::link(root, from, path.as_c()) {
                Ok(()) => {}
                Err(Errno(libc::EEXIST)) if replaces => {
                    let there = os::stat_at(root, path.as_c(), false).map(|st| file_id(&st));
                    if there.is_ok() && there == os::stat_at(CWD, from, false).map(|st| file_id(&st)) {
                        return Ok(true);
                    }
                    if !self.link_over(root, (key, path), from)? {
                        return Ok(false);
                    }
                }
                Err(Errno(libc::ENOENT)) if os::stat_at(CWD, from, false).is_ok() => {
                    let parents = make_missing(root, key, made);
                    self.durability.folders_made(key, made);
                    parents?;
                    continue;
                }
                // The key is taken, the file is gone, or there are no links, or not from there to here.
                Err(_) => return Ok(false),
            }
            let st = os::stat_at(root, path.as_c(), false).map_err(|e| e.error("stat"))?;
            match self.durability.mode {
                SyncMode::None => {}
                SyncMode::Batch => self.durability.remember(key, file_id(&st)),
                SyncMode::Each => self.durability.sync_now(root, key)?,
            }
            self.durability.names_changed(root, key, made)?;
            return self.durability.sync_early(root).map(|()| true);
        }
        bail!(Io, "the folder vanishes again and again")
    }

    /// Gives a file the name of a key that holds a value, from another name beside it: where it gets none, as it has too many, or is another user's, the key
    /// keeps its value.
    fn link_over(&self, root: BorrowedFd<'_>, (key, path): (&str, &KeyPath), from: &CStr) -> Result<bool> {
        // NFS may refuse a link that it made, where its first answer was lost.
        let mut temp = Temp { root, path: self.temp_names.next(folder_of(key)), there: true };
        if os::link(root, from, temp.path.as_c()).is_err() {
            return Ok(false);
        }
        temp.rename(path)?;
        // Of two names of one file, as another process may have linked it meanwhile, a rename leaves both.
        temp.there = true;
        Ok(true)
    }
}

/// Makes a closed file durable that does not have its name yet. What fails is told once: the file goes, and the key keeps what it held.
fn sync_temp(temp: &Temp<'_>, key: &str) -> Result<()> {
    sync_closed(temp.root, &temp.path, key)?.map_err(|e| e.error("sync").at_key(key))
}

/// Whether a name is that of a link to nothing, which is no value.
#[cold]
fn is_dead_link(root: BorrowedFd<'_>, path: &KeyPath) -> bool {
    let is_link = os::stat_at(root, path.as_c(), false).is_ok_and(|st| EntryKind::of(&st) == EntryKind::Link);
    is_link && os::stat_at(root, path.as_c(), true).is_err_and(|e| e == Errno(libc::ENOENT))
}
