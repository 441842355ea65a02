//! A zip archive as a store: read by ranges from a file or from an object of any store, written to a file.
//!
//! **Reading** fetches the tail, the directory, and then of each entry its local header and the bytes that are asked for: shards
//! are read by ranges inside the archive. Compressed entries are decoded as a whole. The CRC-32 is checked when a value is read as a
//! whole. Names are the keys; if all stand below one folder that is a node, that folder is the root.
//!
//! **Writing** appends ([`write`]): a key that is put again becomes a second entry, of which the directory lists the last. A zip
//! archive cannot erase; that is an error of kind `Unsupported`. The directory is written by `flush`. A value that comes in pieces is put when it is whole
//! (`staged.rs`).
//!
//! One process writes an archive at a time (an open-file lock); all handles of that process that write to it share one store (`shared`), and those
//! that only read share its content, so that they read what was put before it is flushed. Others see what was flushed (`anew`). A child of `fork` reads on, and never writes to its parent's
//! archive.

mod anew;
mod closing;
mod directory;
mod far;
mod put;
mod read;
mod records;
pub mod repair;
mod shared;
mod staged;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_damage;
#[cfg(test)]
mod tests_pieces;
mod value;
mod write;
mod written_file;

pub use directory::is_ignored;
pub use shared::open_shared;

use super::file_object::FileObject;
use super::file_options::FileOptions;
use super::keys::{MAKES_A_NODE, check_key, check_prefix};
use super::local::nameless::NamelessFiles;
use super::local::path::{c_path, not_absolute, shown};
use super::memory::{keys_of, listing_of};
use super::os::{self, CWD, Errno};
use super::stamp::Stamp;
use super::{Capabilities, Condition, Keys, ListInto, ListedKey, Object, SharedStore, Staged, Started, Storage, StorageExt};
use crate::error::{Result, bail, err};
use crate::fork::{self, ForkPreserved};
use crate::limits::{check_memory, collect, grow, make_room};
use crate::platform::libc;
use closing::ClosesLast;
use directory::Directory;
use far::Far;
use read::{ArchiveBytes, EntryRead, Slot, SlotInBytes, ZipObject};
use records::Old;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use value::EntryValue;
use write::Writer;

/// A zip archive. Thread-safe.
pub struct ZipStore {
    shown: String,
    /// The store with latency that it is in.
    far: Option<Far>,
    /// The folder that is the root, with a slash; empty if it is the archive's own.
    top: String,
    content: Arc<ForkPreserved<Content>>,
    /// The file that is read, and looked at again; `None` if it is written to, or no file.
    read_from: Option<PathBuf>,
    /// The writer to that file in this process, which this may be, and which has the same content: it is what its puts made of it, as long as that is open.
    written_by: Weak<ZipStore>,
    /// How an archive that is open for writing is written.
    append: Option<Append>,
    /// The process that opened it.
    process: u32,
}

/// What can be read.
#[derive(Default)]
struct Content {
    map: BTreeMap<Arc<str>, Arc<Slot>>,
    source: Option<Arc<ArchiveBytes>>,
    /// What the file was like before it was read.
    seen: Option<Stamp>,
    /// What it was like when it could not be read last, because a writer has not flushed.
    unread: Option<Stamp>,
    token: u64,
    /// What a directory of all that was put has at most.
    listed: DirectorySize,
}

/// How large a directory is: its records, and their bytes.
#[derive(Clone, Copy, Default)]
struct DirectorySize {
    count: u64,
    bytes: u64,
}

/// What the first put needs to open the file.
struct Append {
    path: PathBuf,
    /// The strictest that the handles on it ask for.
    files: Arc<ForkPreserved<FileOptions>>,
    /// The most that whoever opens the archive takes.
    most: DirectorySize,
    /// The file that was there; `None` if it is new.
    old: Option<Old>,
    writer: Mutex<Option<Arc<Writer>>>,
    /// The error with which the file system refused the writer's lock, 0 if it did not.
    lock_refused: AtomicI32,
    /// Beside the file, for values that come in pieces.
    waiting: NamelessFiles,
    closes_last: ClosesLast,
}

impl Append {
    fn new(old: Option<Old>) -> Append {
        Append {
            path: PathBuf::new(),
            files: Arc::default(),
            most: MOST,
            old,
            writer: Mutex::default(),
            lock_refused: AtomicI32::new(0),
            waiting: NamelessFiles::default(),
            closes_last: ClosesLast::default(),
        }
    }
}

/// The most that [`directory::find`] takes.
const MOST: DirectorySize = DirectorySize { count: directory::MAX_ENTRIES, bytes: directory::MAX_DIRECTORY };
/// The most bytes of a record's field of zip64.
const MOST_EXTRA: u64 = 28;

impl DirectorySize {
    /// With one more key.
    fn and(self, name: &str) -> DirectorySize {
        DirectorySize { count: self.count + 1, bytes: self.bytes + directory::CENTRAL_LEN as u64 + MOST_EXTRA + name.len() as u64 }
    }
}

impl std::fmt::Debug for ZipStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ZipStore").field("shown", &self.shown).finish_non_exhaustive()
    }
}

impl ZipStore {
    /// The archive in the file at `path`. Reading needs the file; for writing it is made by the first put.
    pub fn open(path: &Path, writable: bool, files: impl Into<FileOptions>) -> Result<ZipStore> {
        let files = files.into();
        let path = std::path::absolute(path).map_err(|e| not_absolute(path, &e))?;
        let shown = shown(&path);
        let mut store = match os::open(CWD, &c_path(&path)?, libc::O_RDONLY | libc::O_NOCTTY | libc::O_NONBLOCK, 0) {
            Ok(fd) => {
                let object = FileObject::new(fd);
                let seen = object.stamp()?;
                match seen.len {
                    0 if writable => ZipStore::empty(shown),
                    0 => bail!(NotFound, "there is no zip archive in {shown}: the file is empty"),
                    len => {
                        let source = ArchiveBytes::Near(Object::File(object));
                        ZipStore::read(shown, source, len, Some(seen), writable).map_err(|e| write::while_written(e, &path, &seen))?
                    }
                }
            }
            Err(Errno(libc::ENOENT)) if writable => ZipStore::empty(shown),
            Err(Errno(libc::ENOENT)) => bail!(NotFound, "there is no zip archive {shown}"),
            Err(e) => return Err(e.error(&format!("open {shown}"))),
        };
        let kept = Arc::new(ForkPreserved::new(files));
        if let Some(append) = &mut store.append {
            (append.path, append.files) = (path, kept);
        } else if writable {
            store.append = Some(Append { path, files: kept, ..Append::new(None) });
        } else {
            store.read_from = Some(path);
        }
        Ok(store)
    }

    /// The archive in an object of another store, for reading only.
    pub fn over(store: SharedStore, key: &str) -> Result<ZipStore> {
        let shown = format!("{}/{key}", store.describe().trim_end_matches('/')).trim_end_matches('/').to_string();
        let Some(object) = store.open(key).map_err(|e| e.at_key(key))? else { bail!(NotFound, "there is no zip archive {shown}") };
        let len = object.len()?;
        let (source, far) = Far::source(store, key, object)?;
        let mut archive = ZipStore::read(shown, source, len, None, false)?;
        archive.far = far;
        Ok(archive)
    }

    fn empty(shown: String) -> ZipStore {
        ZipStore {
            shown,
            far: None,
            top: String::new(),
            content: Arc::default(),
            read_from: None,
            written_by: Weak::new(),
            append: None,
            process: fork::forks(),
        }
    }

    fn read(shown: String, source: ArchiveBytes, len: u64, seen: Option<Stamp>, writable: bool) -> Result<ZipStore> {
        let read = |at, len| {
            let mut bytes = Vec::new();
            source.read(at, grow(&mut bytes, len)?)?;
            Ok(bytes)
        };
        let found = directory::find(len, &read).and_then(|directory| {
            // What is in front is an archive itself, and this one the last value that was put into it.
            if directory.base > 0 && read(0, directory::LOCAL.len())?.starts_with(directory::LOCAL) {
                bail!(Truncated, "the end record of the zip archive is that of another one, which lies in it: {}", directory::UNFINISHED);
            }
            if writable && directory.base > 0 {
                bail!(Unsupported, "{} bytes are in front of the zip archive, which can be read, but not written to", directory.base);
            }
            // A record that is written anew may have a longer field of zip64.
            let listed = DirectorySize { count: directory.count, bytes: directory.bytes.len() as u64 + MOST_EXTRA * directory.count };
            Ok((map_of(&directory)?, listed, Old { records: directory.bytes, comment: directory.comment, directory: directory.start, len }))
        });
        let (map, listed, old) = found.map_err(|e| e.at_key(&shown))?;
        let top = top_of(&map);
        let token = source.token()?;
        let append = writable.then(|| Append::new(Some(old)));
        let content = Arc::new(ForkPreserved::new(Content { map, source: Some(Arc::new(source)), seen, unread: None, token, listed }));
        Ok(ZipStore { shown, far: None, top, content, read_from: None, written_by: Weak::new(), append, process: fork::forks() })
    }

    /// What an opened key needs.
    fn slot(&self, key: &str) -> Option<SlotInBytes> {
        self.content.read(|content| {
            let slot = content.map.get(&*self.name_of(key));
            Some((slot?.clone(), content.source.clone()?, content.token))
        })
    }

    /// The name in the archive of a key or prefix.
    fn name_of<'a>(&self, key: &'a str) -> Cow<'a, str> {
        if self.top.is_empty() { Cow::Borrowed(key) } else { Cow::Owned(format!("{}{key}", self.top)) }
    }

    /// The path of a node that a location gives, which may name the folder that is the root, too: without that, unless there is a node of that
    /// name. Keys never name it, so that each value has one key.
    pub fn path_below(&self, path: &str) -> String {
        let whole = format!("{path}/");
        let Some(below) = whole.strip_prefix(&self.top).filter(|_| !self.top.is_empty()) else { return path.to_string() };
        for (end, _) in whole.match_indices('/') {
            for document in MAKES_A_NODE {
                if self.slot(&format!("{}/{document}", &path[..end])).is_some() {
                    return path.to_string();
                }
            }
        }
        below.trim_end_matches('/').to_string()
    }

    fn open_slot(&self, key: &str) -> Result<Option<ZipObject>> {
        check_key(key)?;
        let Some((slot, source, token)) = self.slot_now(key)? else { return Ok(None) };
        slot.check_readable()?;
        Ok(Some(ZipObject { source, slot, token, inflated: OnceLock::new() }))
    }

    fn lock_writer<'a>(&self, append: &'a Append) -> Result<MutexGuard<'a, Option<Arc<Writer>>>> {
        if self.process != fork::forks() {
            bail!(Forked, "{} was opened for writing before a fork; only the process that opened it writes to it", self.shown);
        }
        Ok(append.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The writer, which the first put makes.
    fn writer(&self) -> Result<Arc<Writer>> {
        let Some(append) = &self.append else { bail!(ReadOnly, "{} is open for reading only", self.shown) };
        let mut writer = self.lock_writer(append)?;
        if let Some(writer) = &*writer {
            return Ok(writer.clone());
        }
        let source = self.content.read(|content| content.source.clone());
        let as_read = match (&source, &append.old) {
            (Some(source), Some(old)) => match &**source {
                ArchiveBytes::Near(Object::File(file)) => Some((file, old)),
                _ => bail!(Internal, "an archive that is no file was opened for writing"),
            },
            _ => None,
        };
        let new = Arc::new(Writer::open(&append.path, append.files.clone(), as_read)?);
        append.lock_refused.store(new.refusal()?, Ordering::Relaxed);
        if source.is_none() {
            let reader = new.reader()?;
            let (seen, source) = (Some(reader.stamp()?), ArchiveBytes::Near(Object::File(reader)));
            let token = source.token()?;
            let source = Some(Arc::new(source));
            self.content.write(|content| (content.source, content.seen, content.token) = (source, seen, token));
        }
        *writer = Some(new.clone());
        Ok(new)
    }

    fn refuse_erasing(&self, key: &str) -> Result<bool> {
        let shown = &self.shown;
        bail!(Unsupported, "{shown} is a zip archive, which cannot erase {key:?}; copy what is to stay into a new one")
    }
}

fn map_of(directory: &Directory) -> Result<BTreeMap<Arc<str>, Arc<Slot>>> {
    let mut map = BTreeMap::new();
    directory::entries(directory, &mut |key, entry| {
        check_memory()?;
        let name: Arc<str> = key.into();
        map.insert(name.clone(), Arc::new(Slot::new(name, entry, 0)));
        Ok(())
    })?;
    Ok(map)
}

/// The one folder that everything is in, with a slash, if it is a node and the archive's own root is not.
fn top_of(map: &BTreeMap<Arc<str>, Arc<Slot>>) -> String {
    let Some((first, _)) = map.first_key_value().and_then(|(key, _)| key.split_once('/')) else { return String::new() };
    let top = format!("{first}/");
    let is_node = MAKES_A_NODE.iter().any(|name| map.contains_key(&*format!("{top}{name}")));
    if is_node && map.keys().all(|key| key.starts_with(&top)) { top } else { String::new() }
}

impl Storage for ZipStore {
    fn capabilities(&self) -> Capabilities {
        let local = Capabilities {
            archive: true,
            lock_refused: self.append.as_ref().map_or(0, |append| append.lock_refused.load(Ordering::Relaxed)),
            swept: self.append.as_ref().map_or(0, |append| append.waiting.swept()),
            ..Capabilities::local(self.append.is_some(), false)
        };
        self.far.as_ref().map_or(local, |far| far.capabilities(local))
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        Ok(self.open_slot(key)?.map(|object| Object::Other(Box::new(object))))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.put_value(key, &EntryValue::of(parts), condition)
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.stage_value(key)
    }

    /// An error of kind `Unsupported` if there is any such key.
    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let prefix = match keys {
            Keys::One(key) => {
                check_key(key)?;
                return if self.slot(key).is_some() { self.refuse_erasing(key) } else { Ok(false) };
            }
            Keys::Below(prefix) => prefix,
        };
        let mut first = None;
        let listed = self.list(prefix, &mut |key| {
            first = Some(key.to_string());
            bail!(Cancelled, "one is enough")
        });
        match first {
            Some(key) => self.refuse_erasing(&key),
            None => listed.map(|()| false),
        }
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        check_prefix(prefix)?;
        self.look_again()?;
        let here = self.name_of(prefix);
        match into {
            ListInto::Each(each) => {
                // `each` may use the store: no lock is held meanwhile.
                let keys = self.content.read(|content| keys_of(&content.map, &here))?;
                keys.iter().try_for_each(|key| each(&key[self.top.len()..]))
            }
            ListInto::Told(each) => {
                let told = |content: &Content| -> Result<Vec<(String, Option<u64>)>> {
                    let keys = keys_of(&content.map, &here)?.into_iter();
                    collect(keys.map(|key| {
                        let told = content.map.get(key.as_str()).map(|slot| slot.entry.told());
                        (key, told)
                    }))
                };
                self.content
                    .read(told)?
                    .iter()
                    .try_for_each(|(key, told)| each(&key[self.top.len()..], ListedKey { told: *told, len: None }))
            }
            ListInto::Folder(listing) => {
                *listing = self.content.read(|content| listing_of(&content.map, &here))?;
                Ok(())
            }
        }
    }

    fn flush(&self) -> Result<()> {
        let Some(append) = &self.append else { return Ok(()) };
        if self.process != fork::forks() {
            return Ok(());
        }
        let Some(writer) = self.lock_writer(append)?.clone() else { return Ok(()) };
        // They are shared: copying them takes no memory but the list's. An archive is finished also where memory ended before.
        let entries = |content: &Content| {
            let mut entries = Vec::new();
            make_room(&mut entries, content.map.len())?;
            entries.extend(content.map.values().cloned());
            Ok(entries)
        };
        writer.finish(|| self.content.read(entries))
    }

    fn start(&self, key: &str, what: Started<'_>) {
        let Started::Read { ranges, if_match, done } = what else { return what.run(self, key) };
        if self.far.as_ref().is_none_or(|far| far.is_kept) {
            return done(super::read_now(self, key, ranges, if_match));
        }
        let object = match self.open_slot(key) {
            Ok(Some(object)) => object,
            Ok(None) => return done(Ok(None)),
            Err(e) => return done(Err(e)),
        };
        let version = read::version_of(object.token, &object.slot.entry);
        if if_match.is_some_and(|v| v != version) {
            return done(Err(err!(Conflict, "the object was replaced while it was read")));
        }
        match ranges.iter().map(|range| range.within(object.slot.entry.size)).collect() {
            Ok(wanted) => EntryRead { source: object.source, slot: object.slot, version, wanted, done }.start(),
            Err(e) => done(Err(e)),
        }
    }

    fn describe(&self) -> String {
        self.shown.clone()
    }
}

impl Drop for ZipStore {
    /// What nobody flushed is finished as well as may be; whoever wants to know whether that worked flushes.
    fn drop(&mut self) {
        if self.flush().is_err()
            && let Some(append) = &self.append
        {
            // Cuts back what no directory could be written for; a reader that goes on looks at the headers of entries again.
            drop(self.lock_writer(append).ok().and_then(|mut writer| writer.take()));
            self.content.read(|content| content.map.values().for_each(|slot| slot.forget_place()));
        }
    }
}
