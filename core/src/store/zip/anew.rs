//! Archives that are read while others append to them: the file is looked at again when documents are read and keys are listed.

use super::read::{ArchiveBytes, Slot, version_of};
use super::{Content, ZipStore};
use crate::error::{ErrorKind, Result, bail};
use crate::platform::libc;
use crate::store::Object;
use crate::store::file_object::FileObject;
use crate::store::file_options::SyncMode;
use crate::store::keys::MAKES_A_NODE;
use crate::store::local::path::c_path;
use crate::store::os::{self, CWD, Errno};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How often the file is looked at where it changes while it is looked at.
const TRIES: usize = 3;
/// The document of attributes in version 2.
const ATTRIBUTES: &str = ".zattrs";

/// The file that an archive is read from.
fn file_of(source: Option<&Arc<ArchiveBytes>>) -> Option<&FileObject> {
    match source.map(Arc::as_ref) {
        Some(ArchiveBytes::Near(Object::File(file))) => Some(file),
        _ => None,
    }
}

/// Whether the file at `path` is that one, as long as it was; also if there is no file any more.
fn is_unchanged(path: &Path, file: &FileObject, len: u64) -> Result<bool> {
    match os::stat_at(CWD, &c_path(path)?, true) {
        Ok(there) => Ok(there.st_size as u64 == len && file.is_file(&there)?),
        Err(Errno(libc::ENOENT)) => Ok(true),
        Err(e) => Err(e.error("stat")),
    }
}

impl ZipStore {
    /// Looks at the file again if a key is that of a document, which is read to learn what has changed.
    pub(super) fn look_again_for(&self, key: &str) -> Result<()> {
        let name = key.rsplit('/').next().unwrap_or(key);
        if name == ATTRIBUTES || MAKES_A_NODE.contains(&name) { self.look_again() } else { Ok(()) }
    }

    /// Looks at the file again, if it is only read: what was flushed into it since is read from now on. While a writer has not flushed, what was
    /// there before is.
    pub(super) fn look_again(&self) -> Result<()> {
        let Some(path) = &self.read_from else { return Ok(()) };
        for _ in 0..TRIES {
            let (before, len) = self.content.read(|content| (content.source.clone(), content.len));
            let Some(file) = file_of(before.as_ref()) else { return Ok(()) };
            if is_unchanged(path, file, len)? {
                return Ok(());
            }
            let new = match ZipStore::open(path, false, SyncMode::None) {
                Ok(new) => new,
                Err(e) if matches!(e.kind(), ErrorKind::Truncated | ErrorKind::NotFound) => return Ok(()),
                Err(e) => return Err(e),
            };
            if new.top != self.top {
                bail!(Conflict, "{} was replaced while it was open by an archive with another root; open it again", self.shown);
            }
            self.read_instead(new.content.replace(Content::default()), before.as_ref())?;
        }
        Ok(())
    }

    /// Reads `new` from now on, if no other thread has changed meanwhile what is read, which was from `before`.
    fn read_instead(&self, mut new: Content, before: Option<&Arc<ArchiveBytes>>) -> Result<()> {
        let is_same_file = match (file_of(before), file_of(new.source.as_ref())) {
            (Some(old), Some(file)) => old.is_one_with(file)?,
            _ => false,
        };
        if is_same_file {
            // Values that are still there stay what they are, and keep their versions.
            self.content.read(|content| {
                new.token = content.token;
                for (name, slot) in &mut new.map {
                    let version = |slot: &Slot| version_of(content.token, &slot.entry);
                    if let Some(old) = content.map.get(name).filter(|old| version(old) == version(slot)) {
                        *slot = old.clone();
                    }
                }
            });
        }
        let is_read = self.content.write(|content| {
            let is_first = content.source.as_ref().map(Arc::as_ptr) == before.map(Arc::as_ptr);
            if is_first {
                std::mem::swap(content, &mut new);
            }
            is_first
        });
        if is_read {
            let old = new.map;
            self.content.read(|content| {
                let is_there = |slot: &Arc<Slot>| content.map.get(&slot.name).is_some_and(|now| Arc::ptr_eq(now, slot));
                old.values().filter(|slot| !is_there(slot)).for_each(|slot| slot.current.store(false, Ordering::Release));
            });
        }
        Ok(())
    }
}
