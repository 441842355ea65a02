//! Archives that are read while others append to them: the file is looked at again when documents are read, keys are listed, and a key is missing.

use super::read::{ArchiveBytes, Slot, SlotInBytes, version_of};
use super::write::look_at;
use super::{Content, ZipStore};
use crate::error::{ErrorKind, Result, bail};
use crate::fork;
use crate::store::file_object::stamp_of;
use crate::store::file_options::SyncMode;
use crate::store::keys::MAKES_A_NODE;
use crate::store::stamp::nanos_now;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// How often the file is looked at where it changes while it is looked at.
const TRIES: usize = 3;
/// The document of attributes in version 2.
const ATTRIBUTES: &str = ".zattrs";

impl ZipStore {
    /// What an opened key needs, after another look at the file where the key is that of a document, which is read to learn what has changed, or is
    /// missing among those that are known: what told of it may be newer than that.
    pub(super) fn slot_now(&self, key: &str) -> Result<Option<SlotInBytes>> {
        let name = key.rsplit('/').next().unwrap_or(key);
        let is_document = name == ATTRIBUTES || MAKES_A_NODE.contains(&name);
        if is_document {
            self.check_kept(key)?;
        }
        let known = if is_document { None } else { self.slot(key) };
        match known {
            None => self.look_again().map(|()| self.slot(key)),
            known => Ok(known),
        }
    }

    /// Fails where an archive that is read from memory was replaced since: its documents are read to learn what has changed. What is missing stays so: an
    /// archive that is replaced is found by what is read of it.
    fn check_kept(&self, key: &str) -> Result<()> {
        if !self.far.as_ref().is_some_and(|far| far.is_kept) || self.slot(key).is_none() {
            return Ok(());
        }
        match self.content.read(|content| content.source.clone()).as_deref() {
            Some(ArchiveBytes::Near(object)) if !object.still_current()? => {
                bail!(Conflict, "the zip archive was replaced while it was open; open it again")
            }
            _ => Ok(()),
        }
    }

    /// Looks at the file again, if it is only read: what was flushed into it since is read from now on. While a writer has not flushed, what was
    /// there before is.
    pub(super) fn look_again(&self) -> Result<()> {
        let Some(path) = &self.read_from else { return Ok(()) };
        if self.written_by.strong_count() > 0 && self.process == fork::forks() {
            return Ok(());
        }
        for _ in 0..TRIES {
            let (before, known) = self.content.read(|content| (content.source.clone(), [content.seen, content.unread]));
            let moment = nanos_now();
            let Some(there) = look_at(path)?.map(|st| stamp_of(&st, moment)) else { return Ok(()) };
            if known.contains(&Some(there)) {
                return Ok(());
            }
            let new = match ZipStore::open(path, false, SyncMode::None) {
                Ok(new) => new,
                Err(e) if matches!(e.kind(), ErrorKind::Truncated | ErrorKind::NotFound) => {
                    self.content.write(|content| content.unread = Some(there));
                    return Ok(());
                }
                Err(e) => return Err(e),
            };
            if new.top != self.top {
                bail!(Conflict, "{} was replaced while it was open by an archive with another root; open it again", self.shown);
            }
            self.read_instead(new.content.replace(Content::default()), before.as_ref());
        }
        Ok(())
    }

    /// Reads `new` from now on, if no other thread has changed meanwhile what is read, which was from `before`.
    fn read_instead(&self, mut new: Content, before: Option<&Arc<ArchiveBytes>>) {
        self.content.read(|content| {
            let is_same_file = matches!((&content.seen, &new.seen), (Some(old), Some(new)) if old.is_of_same_file(new));
            if !is_same_file {
                return;
            }
            // Values that are still there, and end before the same entry, stay what they are; all keep their versions.
            new.token = content.token;
            for (name, slot) in &mut new.map {
                let state = |slot: &Slot| (version_of(content.token, &slot.entry), slot.entry.limit);
                if let Some(old) = content.map.get(name).filter(|old| state(old) == state(slot)) {
                    old.forget_place();
                    *slot = old.clone();
                }
            }
        });
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
    }
}
