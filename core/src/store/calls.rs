//! What every store does by the methods of [`Storage`] and of [`LocalFiles`](super::LocalFiles): short names for its calls, and reads of whole values.

use super::interface::{
    ByteRange, Change, ChangeDone, Condition, CutMark, Fetched, Folder, Keys, ListInto, Listing, ReadDone, SharedStore, Started, Storage,
};
use super::mailbox::mailbox;
use super::opened::Object;
use super::staged::Staged;
use super::stamp::{Stamp, Version};
use super::tuning::Tuning;
use crate::error::{Error, Result, bail, err};
use crate::limits::{collect, push};
use std::path::{Path, PathBuf};

/// The methods of [`Storage`] that take several things, one for each. No store has its own.
pub trait StorageExt: Storage {
    /// Removes a key; `false` if it held nothing.
    fn erase(&self, key: &str) -> Result<bool> {
        self.erase_keys(Keys::One(key))
    }

    /// Removes every key that starts with `prefix` (empty, or ending in `/`).
    fn erase_prefix(&self, prefix: &str) -> Result<()> {
        self.erase_keys(Keys::Below(prefix)).map(drop)
    }

    /// Calls `each` with every key that starts with `prefix`, sorted.
    fn list(&self, prefix: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.list_keys(prefix, ListInto::Each(each))
    }

    /// Gives every key that starts with `prefix`, sorted.
    fn keys(&self, prefix: &str) -> Result<Vec<String>> {
        let mut keys = Vec::new();
        let mut each = |key: &str| push(&mut keys, key.to_string());
        self.list(prefix, &mut each).map(|()| keys)
    }

    /// Lists the keys and sub-prefixes directly under `prefix`.
    fn list_dir(&self, prefix: &str) -> Result<Listing> {
        let mut listing = Listing::default();
        self.list_keys(prefix, ListInto::Folder(&mut listing)).map(|()| listing)
    }

    /// Starts to read ranges of a key and calls `done` once ([`Storage::start`]).
    fn start_read(&self, key: &str, ranges: &[ByteRange], if_match: Option<Version>, done: ReadDone) {
        self.start(key, Started::Read { ranges, if_match, done });
    }

    /// Starts to change a key and calls `done` once ([`Storage::start`]).
    fn start_change(&self, key: &str, change: Change, done: ChangeDone) {
        self.start(key, Started::Change(change, done));
    }
}

impl<S: Storage + ?Sized> StorageExt for S {}

/// What is asked of [`Storage::capabilities`] and [`Storage::files`].
impl dyn Storage + '_ {
    /// Counts the requests that were made again after a failure, since the store was opened.
    pub fn retries(&self) -> u64 {
        self.capabilities().retries
    }

    /// Says how the store is best used, where it has latency.
    pub fn tuning(&self) -> Tuning {
        self.capabilities().tuning
    }

    /// Says whether any thread may call the methods ([`super::Capabilities::any_thread`]).
    pub fn any_thread(&self) -> bool {
        self.capabilities().any_thread
    }

    /// Opens the folder of a prefix ([`LocalFiles::folder`](super::LocalFiles::folder)).
    pub fn folder(&self, prefix: &str) -> Folder {
        self.files().map_or(Folder::Unknown, |files| files.folder(prefix))
    }

    /// Says whether an opened folder still has its name ([`LocalFiles::is_there`](super::LocalFiles::is_there)).
    pub fn is_there(&self, folder: &Folder, prefix: &str) -> bool {
        self.files().is_none_or(|files| files.is_there(folder, prefix))
    }

    /// Gives the numbers of the folder of a prefix ([`LocalFiles::folder_numbers`](super::LocalFiles::folder_numbers)), where there are folders.
    pub fn folder_numbers(&self, prefix: &str) -> Result<Option<[u64; 2]>> {
        self.files().map_or(Ok(None), |files| files.folder_numbers(prefix))
    }

    /// Opens a key in an opened folder ([`LocalFiles::open_in`](super::LocalFiles::open_in)).
    pub fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>> {
        match (folder, self.files()) {
            (Folder::Unknown, _) | (_, None) => self.open(key),
            (_, Some(files)) => files.open_in(folder, key),
        }
    }

    /// Says what a key's object is like now, as [`Object::stamp`] does of the opened object, or `None` if the key holds nothing.
    pub fn stamp(&self, key: &str) -> Result<Option<Stamp>> {
        match self.files() {
            Some(files) => files.stamp(key),
            None => self.open(key)?.map(|object| object.stamp()).transpose(),
        }
    }

    /// Says what an object that was opened is like now, or what the key holds instead; `None` if it holds nothing. A file is looked at by its name: an open
    /// one does not tell that a folder above it was moved, and some file systems not even that it was removed.
    pub fn stamp_of(&self, key: &str, opened: &Object) -> Result<Option<Stamp>> {
        match self.files() {
            Some(files) => files.stamp(key),
            None => opened.stamp().map(Some),
        }
    }

    /// Says whether a key still holds an object that was opened ([`LocalFiles::holds`](super::LocalFiles::holds)).
    pub fn holds(&self, key: &str, old: &Object) -> Result<bool> {
        match self.files() {
            Some(files) => files.holds(key, old),
            None => Ok(old.stamp()?.current),
        }
    }

    /// Stores what was staged for `key`, as [`Storage::put`] does without a condition.
    pub fn publish(&self, key: &str, staged: Staged) -> Result<()> {
        match (staged, self.files()) {
            (Staged::Memory(bytes), _) => self.put(key, &[&bytes], Condition::None),
            (Staged::Other(other), _) => other.publish(),
            (Staged::File(file), Some(files)) => files.publish(key, file),
            (Staged::File(_), None) => bail!(Internal, "a staged file of another store"),
        }
    }

    /// Gives the path of a key's file ([`LocalFiles::file`](super::LocalFiles::file)).
    pub fn file(&self, key: &str) -> Option<PathBuf> {
        self.files()?.file(key)
    }

    /// Links a file to a key ([`LocalFiles::link`](super::LocalFiles::link)).
    pub fn link(&self, key: &str, file: &Path, replaces: bool) -> Result<bool> {
        self.files().map_or(Ok(false), |files| files.link(key, file, replaces))
    }

    /// Renames all keys of a prefix ([`LocalFiles::rename_prefix`](super::LocalFiles::rename_prefix)).
    pub fn rename_prefix(&self, from: &str, to: &str) -> Result<bool> {
        self.files().map_or(Ok(false), |files| files.rename_prefix(from, to))
    }

    /// Replaces all keys of a prefix ([`LocalFiles::replace_prefix`](super::LocalFiles::replace_prefix)).
    pub fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>, done: &mut dyn FnMut()) -> Result<bool> {
        self.files().map_or(Ok(false), |files| files.replace_prefix(prefix, build, done))
    }

    /// Says that something in the folder of a prefix was made shorter ([`LocalFiles::note_cut`](super::LocalFiles::note_cut)).
    pub fn note_cut(&self, prefix: &str) -> Result<()> {
        self.files().map_or(Ok(()), |files| files.note_cut(prefix))
    }

    /// Has the next value of a key synced before it gets that name ([`LocalFiles::sync_first`](super::LocalFiles::sync_first)).
    pub fn sync_first(&self, key: &str) -> Result<()> {
        self.files().map_or(Ok(()), |files| files.sync_first(key))
    }

    /// Gives what was said last of cuts in the folder of a prefix ([`LocalFiles::cut_mark`](super::LocalFiles::cut_mark)).
    pub fn cut_mark(&self, prefix: &str, keep: bool) -> Result<Option<CutMark>> {
        self.files().map_or(Ok(None), |files| files.cut_mark(prefix, keep))
    }

    /// Says before whether keys of a prefix may be erased ([`LocalFiles::check_erase`](super::LocalFiles::check_erase)).
    pub fn check_erase(&self, prefix: &str) -> Result<()> {
        self.files().map_or(Ok(()), |files| files.check_erase(prefix))
    }
}

/// Reads through [`Storage::start`], and waits for the result.
pub fn start_and_wait(store: &dyn Storage, key: &str, ranges: &[ByteRange], if_match: Option<Version>) -> Result<Option<Fetched>> {
    let (sender, receiver) = mailbox();
    store.start_read(key, ranges, if_match, Box::new(move |result| sender.send(result)));
    receiver.recv().unwrap_or_else(|| Err(err!(Internal, "a read that was started never ended")))
}

/// Reads all bytes of some keys, in a store with latency at the same time; what each holds, or `None`.
pub fn get_many(store: &SharedStore, keys: &[String], max: usize) -> Result<Vec<Result<Option<Vec<u8>>>>> {
    if !store.capabilities().latency || keys.len() < 2 {
        return collect(keys.iter().map(|key| get(&**store, key, max)));
    }
    let (sender, receiver) = mailbox();
    let mut all: Vec<_> = collect(keys.iter().map(|_| Err(err!(Internal, "a read ended without a result"))))?;
    let (mut started, mut done) = (0, 0);
    while done < keys.len() {
        while started < keys.len() && started - done < MANY {
            let (sender, number) = (sender.clone(), started);
            let give = Box::new(move |result| sender.send((number, result)));
            store.start_read(&keys[started], &[ByteRange::up_to(max)], None, give);
            started += 1;
        }
        let Some((i, result)) = receiver.recv() else { break };
        done += 1;
        let whole = result.map(|fetched: Option<Fetched>| fetched.and_then(|mut fetched| fetched.parts.pop()));
        all[i] = match whole.map_err(|e: Error| e.at_key(&keys[i])) {
            Ok(Some(bytes)) if bytes.len() > max => Err(err!(Limit, "found {} bytes, the limit is {max}", bytes.len()).at_key(&keys[i])),
            other => other,
        };
    }
    Ok(all)
}

/// The most reads of [`get_many`] that are in flight at once.
const MANY: usize = 512;

/// Reads all of a key's bytes (at most `max`), or `None` if it holds nothing.
pub fn get<S: Storage + ?Sized>(store: &S, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
    store.read_all(key, max).map_err(|e| e.at_key(key))
}
