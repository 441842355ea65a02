//! Puts into a zip archive: what may be put, and how readers are told of it.

use super::read::{self, Slot};
use super::staged::StagedValue;
use super::value::{EntryValue, WaitingFile};
use super::{Content, ZipStore, directory};
use crate::error::{Result, bail};
use crate::limits::check_memory;
use crate::store::keys::check_key;
use crate::store::{Condition, Staged};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl ZipStore {
    /// The name in the archive of a key that may be put.
    fn name_to_put(&self, key: &str) -> Result<Arc<str>> {
        check_key(key)?;
        if directory::is_ignored(key) {
            bail!(Name, "the name is one of those that are ignored in zip archives, because macOS adds them");
        }
        let name: Arc<str> = self.name_of(key).into();
        check_key(&name)?;
        if name.contains('\\') && !name.contains('/') {
            bail!(Name, "the name has backslashes and no slash, which zip archives of Windows have between folders");
        }
        Ok(name)
    }

    /// Refuses a put that what the key holds does not allow, and a new key that would make the archive too large to be opened again.
    fn check_put(&self, content: &Content, name: &str, condition: Condition) -> Result<()> {
        let found = content.map.get(name);
        if let (None, Some(append)) = (found, &self.append) {
            let (with, most) = (content.listed.and(name), append.most);
            if with.count > most.count || with.bytes > most.bytes {
                bail!(
                    Limit,
                    "the zip archive has {} entries, described in about {} bytes; with one more it exceeds the limit of {} and {}",
                    content.listed.count,
                    content.listed.bytes,
                    most.count,
                    most.bytes
                );
            }
        }
        match condition {
            Condition::None => Ok(()),
            Condition::Absent if found.is_none() => Ok(()),
            Condition::Absent => bail!(Conflict, "the key holds a value already"),
            Condition::Match(version) if found.is_some_and(|s| read::version_of(content.token, &s.entry) == version) => Ok(()),
            Condition::Match(_) => bail!(Conflict, "the key holds another value by now"),
        }
    }

    /// Stores a value under a key.
    pub(super) fn put_value(&self, key: &str, value: &EntryValue<'_>, condition: Condition) -> Result<()> {
        let name = self.name_to_put(key)?;
        check_memory()?;
        let writer = self.writer()?;
        self.content.read(|content| self.check_put(content, &name, condition))?;
        writer.append(&name, value, |entry, data| {
            let slot = Arc::new(Slot::new(name.clone(), entry, data));
            let _old = self.content.write(|content| {
                self.check_put(content, &name, condition)?;
                // Another put of this key has the place behind: as if it came second, which a repair finds, too.
                if content.map.get(&*name).is_some_and(|now| now.entry.header > entry.header) {
                    return Ok(None);
                }
                let old = content.map.insert(name.clone(), slot);
                match &old {
                    Some(old) => old.current.store(false, Ordering::Release),
                    None => content.listed = content.listed.and(&name),
                }
                Ok(old)
            })?;
            Ok(())
        })
    }

    /// Begins a value for a key that comes in pieces.
    pub(super) fn stage_value(&self, key: &str) -> Result<Staged> {
        self.name_to_put(key)?;
        if self.append.is_none() {
            bail!(ReadOnly, "{} is open for reading only", self.shown);
        }
        Ok(Staged::Other(Box::new(StagedValue::new(self.written_by.clone(), key))))
    }

    /// A file for what waits to be put.
    pub(super) fn waiting_file(&self) -> Result<WaitingFile> {
        let Some(append) = &self.append else { bail!(ReadOnly, "{} is open for reading only", self.shown) };
        let folder = append.path.parent().unwrap_or(Path::new("/"));
        Ok(WaitingFile::new(append.waiting.make(folder)?, append.path.clone()))
    }
}
