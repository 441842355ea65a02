//! The `Storage` trait: a map from keys to bytes, and all that the rest of the library may ask of it.

use super::local::staged_file::StagedFile;
use super::mailbox::mailbox;
use super::opened::Object;
use super::staged::Staged;
use super::stamp::{Stamp, Version};
use crate::error::{Error, Result, bail, err};
use crate::limits::{MAX_UNTOLD, grow};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// When a [`Storage::put`] may replace what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    None,
    /// Only if the key holds nothing; otherwise [`crate::error::ErrorKind::Conflict`].
    Absent,
    /// Only if the key still holds this version; otherwise [`crate::error::ErrorKind::Conflict`].
    Match(Version),
}

/// What a store can do and what it costs.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// Keys can be put.
    pub writable: bool,
    /// Keys can be listed.
    pub listable: bool,
    /// Keys can be erased. Where they cannot (zip archives), erasing one that holds a value is an error of kind `Unsupported`.
    pub erasable: bool,
    /// A read takes long enough (a network) that many should be in flight at once: the engine then uses
    /// [`Storage::start_read`] and the in-flight driver.
    pub latency: bool,
    /// The methods may be called by any thread. If not (functions of a program that did not say so), only threads that are inside of a
    /// call of the program's may.
    pub any_thread: bool,
    /// How a store with latency is best used.
    pub tuning: Tuning,
    /// How often requests were made again after a failure, since the store was opened.
    pub retries: u64,
    /// The system's error number with which a lock between processes was refused that the store went on without (`"file.lock"` is `try`), or 0.
    pub lock_refused: i32,
    /// There are no locks between processes, and puts have conditions: what is read, changed and put goes by them (`store/swap.rs`).
    pub swaps: bool,
    /// A put was made without its condition, which the server does not keep.
    pub unconditional: bool,
    /// How many temporary files of killed writers were removed, since the store was opened.
    pub swept: u64,
}

impl Capabilities {
    /// Those of a store without latency that all threads may use.
    pub const fn local(writable: bool, erasable: bool) -> Capabilities {
        Capabilities {
            writable,
            listable: true,
            erasable,
            latency: false,
            any_thread: true,
            tuning: Tuning::USUAL,
            retries: 0,
            lock_refused: 0,
            swaps: false,
            unconditional: false,
            swept: 0,
        }
    }
}

/// A change of a key that is started ([`Storage::start_change`]).
pub enum Change {
    /// The key gets this value.
    Put(Vec<u8>, Condition),
    /// The key holds nothing from then on.
    Erase,
}

/// Which bytes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// All bytes; an object that has more than `most` is an error of kind `Limit`.
    Whole {
        /// The most bytes that the caller has a use for.
        most: u64,
        /// The most bytes that a server may send that does not tell how long the object is.
        untold: u64,
    },
    /// `len` bytes from `offset`; an object that ends earlier is an error of kind `Truncated`.
    Span {
        /// The first byte.
        offset: u64,
        /// The number of bytes.
        len: u64,
    },
    /// The last `len` bytes; a shorter object is an error of kind `Truncated`.
    Suffix {
        /// The number of bytes.
        len: u64,
    },
}

impl ByteRange {
    /// All bytes, however many they are.
    pub const WHOLE: ByteRange = ByteRange::Whole { most: u64::MAX, untold: MAX_UNTOLD };

    /// All bytes of a document or another value of at most `most` bytes.
    pub fn up_to(most: usize) -> ByteRange {
        let most = most as u64;
        ByteRange::Whole { most, untold: most.min(MAX_UNTOLD) }
    }

    /// All bytes of a chunk of at most `most` bytes, for a result of `result` bytes in memory.
    pub fn chunk(most: u64, result: u64) -> ByteRange {
        ByteRange::Whole { most, untold: most.min(result.saturating_add(MAX_UNTOLD)) }
    }
}

/// The keys and the sub-prefixes directly under a prefix, each without the prefix and without a trailing slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Keys, sorted.
    pub keys: Vec<String>,
    /// Names of sub-prefixes that hold at least one key, sorted. (A local folder may list empty folders, too.)
    pub prefixes: Vec<String>,
    /// Names of pipes, sockets and devices in a local folder, which are no keys, sorted.
    pub others: Vec<String>,
}

/// A folder that keys are opened in during one call ([`LocalFiles::folder`]).
pub enum Folder {
    /// Nothing is known of it: its keys are opened as ever.
    Unknown,
    /// There was none: its keys held nothing.
    Absent,
    /// It is open.
    Open {
        /// The folder.
        fd: OwnedFd,
        /// The bytes of a key that lead to it.
        len: usize,
    },
}

/// What a read that was started gives: the bytes of each range in order, or `None` if the key holds nothing.
pub type ReadDone = Box<dyn FnOnce(Result<Option<Fetched>>) + Send>;

/// Takes what became of a change that was started.
pub type ChangeDone = Box<dyn FnOnce(Result<()>) + Send>;

/// How a store with latency is best used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Requests that one read or write has under way at the same time.
    pub requests: usize,
    /// Bytes that it waits for, or has not yet decoded or stored.
    pub bytes: u64,
    /// The most bytes between two ranges of an object that are read as one.
    pub gap: u64,
}

impl Tuning {
    /// What is used where nothing else is set.
    pub const USUAL: Tuning = Tuning { requests: 64, bytes: 64 << 20, gap: 1 << 20 };
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning::USUAL
    }
}

/// The result of [`Storage::start_read`].
pub struct Fetched {
    /// The bytes of each requested range, in order.
    pub parts: Vec<Vec<u8>>,
    /// The version that all parts come from.
    pub version: Version,
}

/// How often keys with one prefix are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockUse {
    /// Now and then, as documents are: nothing of the lock stays in the store.
    Rare,
    /// Again and again, as chunks are: what makes locks may stay there until the store is closed.
    Often,
    /// For as long as a writer is the only one: an error of kind `Again` if another one has the lock, in this process, too.
    Alone,
}

/// Held while a key is read, changed and put; dropped to let the next writer in. Other processes are kept out too
/// where the store can do so (local files: a lock on a byte of `.ozarr.lock` in the node's folder, as `"file.lock"` says).
pub type ProcessLock = Box<dyn Send>;

/// A map from keys to bytes. All methods may be called from any threads at once.
///
/// An error is never "missing": only a key that is certainly not there gives `None`. What a store can do in a better way only because its
/// values are local files is in [`LocalFiles`]. What every store can do by these methods is a method of `dyn Storage`, so that a store
/// around another one has nothing to forward but what is here (`tests_wrappers.rs` counts what each forwards).
pub trait Storage: Send + Sync {
    /// Says what the store can do.
    fn capabilities(&self) -> Capabilities;

    /// Opens what a key holds now, or `None` if it holds nothing.
    fn open(&self, key: &str) -> Result<Option<Object>>;

    /// Reads all bytes of a key, at most `max` (else `Limit`), or `None` if it holds nothing.
    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        let Some(object) = self.open(key)? else { return Ok(None) };
        let mut bytes = Vec::new();
        object.read_whole(&mut bytes, max)?;
        Ok(Some(bytes))
    }

    /// Stores the concatenation of `parts` under `key`, atomically: readers and a kill see the old bytes or the new.
    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()>;

    /// Begins a value for `key` that comes in pieces: bounded memory where the store can do so, else collected in memory.
    fn stage(&self, key: &str) -> Result<Staged> {
        let _ = key;
        Ok(Staged::Memory(Vec::new()))
    }

    /// Removes a key; `false` if it held nothing.
    fn erase(&self, key: &str) -> Result<bool>;

    /// Removes every key that starts with `prefix` (empty, or ending in `/`).
    fn erase_prefix(&self, prefix: &str) -> Result<()>;

    /// Calls `each` with every key that starts with `prefix`, sorted.
    fn list(&self, prefix: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()>;

    /// Lists the keys and sub-prefixes directly under `prefix`.
    fn list_dir(&self, prefix: &str) -> Result<Listing>;

    /// Makes all that was put durable, as far as the store's sync mode promises it.
    fn flush(&self) -> Result<()>;

    /// Keeps other processes from changing `key` (in the folder of the node `prefix`) until the lock is dropped, or gives `None` where the
    /// store has no such locks. In-process exclusion is the engine's ([`crate::engine`]).
    fn lock_key(&self, prefix: &str, key: &str, often: LockUse) -> Result<Option<ProcessLock>> {
        let _ = (prefix, key, often);
        Ok(None)
    }

    /// Starts to read ranges of a key and calls `done` once, from any thread, perhaps before this returns.
    /// With `if_match`, a key that holds another version by now gives `Conflict`. The default reads inline.
    fn start_read(&self, key: &str, ranges: &[ByteRange], if_match: Option<Version>, done: ReadDone) {
        done(read_now(self, key, ranges, if_match));
    }

    /// Starts to change a key and calls `done` once, from any thread, perhaps before this returns. The default changes it inline.
    fn start_change(&self, key: &str, change: Change, done: ChangeDone) {
        done(match change {
            Change::Put(bytes, condition) => self.put(key, &[&bytes], condition),
            Change::Erase => self.erase(key).map(drop),
        });
    }

    /// Gives what can be done because keys are local files, or `None` where they are not.
    fn files(&self) -> Option<&dyn LocalFiles> {
        None
    }

    /// Gives a text for messages: the path or URL, without credentials.
    fn describe(&self) -> String;
}

/// What can be done better, or at all, with keys that are local files.
pub trait LocalFiles {
    /// Opens the folder that all keys with this prefix (empty, or ending in `/`) are in, so that many of them are found with less to look
    /// up, or need not be looked for. It must not be held longer than a call: it does not notice that the folder was replaced.
    fn folder(&self, prefix: &str) -> Folder;

    /// Opens what `key` holds, as [`Storage::open`] does, in the folder that [`LocalFiles::folder`] opened.
    fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>>;

    /// Says what a key's file is like now by one `fstatat`, as [`Object::stamp`] would after opening it, or `None` if the key holds nothing.
    fn stamp(&self, key: &str) -> Result<Option<Stamp>>;

    /// Gives the path of the file that holds a key's bytes as they are, and nothing else, or `None` if no file does.
    fn file(&self, key: &str) -> Option<PathBuf>;

    /// Stores what `file` holds under `key` without a copy of it, by a hard link; what `key` held is replaced. `false` if that is not
    /// possible. The file must not be changed in place from then on, only be replaced.
    fn link(&self, key: &str, file: &Path) -> Result<bool>;

    /// Gives every key that starts with `from` the same name behind `to`, which must hold no key, all at once; `false`, and nothing done, if
    /// that is not possible (both end in `/`).
    fn rename_prefix(&self, from: &str, to: &str) -> Result<bool>;

    /// Makes the keys that `build` puts into an empty store all that there is below `prefix`, at once: readers and a kill see the keys from
    /// before or the new ones. `false`, and nothing done, if that is not possible. Where the file system cannot let folders change their
    /// names, there is nothing for a moment.
    fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>) -> Result<bool>;

    /// Makes a staged file the value of `key`.
    fn publish(&self, key: &str, staged: Box<StagedFile>) -> Result<()>;
}

/// What every store does by the methods of [`Storage`] and [`LocalFiles`].
impl dyn Storage + '_ {
    /// Counts the requests that were made again after a failure, since the store was opened.
    pub fn retries(&self) -> u64 {
        self.capabilities().retries
    }

    /// Says how the store is best used, where it has latency.
    pub fn tuning(&self) -> Tuning {
        self.capabilities().tuning
    }

    /// Says whether any thread may call the methods ([`Capabilities::any_thread`]).
    pub fn any_thread(&self) -> bool {
        self.capabilities().any_thread
    }

    /// Opens the folder of a prefix ([`LocalFiles::folder`]).
    pub fn folder(&self, prefix: &str) -> Folder {
        self.files().map_or(Folder::Unknown, |files| files.folder(prefix))
    }

    /// Opens a key in an opened folder ([`LocalFiles::open_in`]).
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

    /// Stores what was staged for `key`, as [`Storage::put`] does without a condition.
    pub fn publish(&self, key: &str, staged: Staged) -> Result<()> {
        match (staged, self.files()) {
            (Staged::Memory(bytes), _) => self.put(key, &[&bytes], Condition::None),
            (Staged::Other(other), _) => other.publish(),
            (Staged::File(file), Some(files)) => files.publish(key, file),
            (Staged::File(_), None) => bail!(Internal, "a staged file of another store"),
        }
    }

    /// Gives the path of a key's file ([`LocalFiles::file`]).
    pub fn file(&self, key: &str) -> Option<PathBuf> {
        self.files()?.file(key)
    }

    /// Links a file to a key ([`LocalFiles::link`]).
    pub fn link(&self, key: &str, file: &Path) -> Result<bool> {
        self.files().map_or(Ok(false), |files| files.link(key, file))
    }

    /// Renames all keys of a prefix ([`LocalFiles::rename_prefix`]).
    pub fn rename_prefix(&self, from: &str, to: &str) -> Result<bool> {
        self.files().map_or(Ok(false), |files| files.rename_prefix(from, to))
    }

    /// Replaces all keys of a prefix ([`LocalFiles::replace_prefix`]).
    pub fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>) -> Result<bool> {
        self.files().map_or(Ok(false), |files| files.replace_prefix(prefix, build))
    }

    /// Starts to store `bytes` under `key` ([`Storage::start_change`]).
    pub fn start_put(&self, key: &str, bytes: Vec<u8>, condition: Condition, done: ChangeDone) {
        self.start_change(key, Change::Put(bytes, condition), done);
    }

    /// Starts to erase a key ([`Storage::start_change`]).
    pub fn start_erase(&self, key: &str, done: ChangeDone) {
        self.start_change(key, Change::Erase, done);
    }
}

/// A store that is shared by the handles on it.
pub type SharedStore = Arc<dyn Storage>;

/// Reads ranges of a key in the calling thread: what [`Storage::start_read`] does by default.
pub fn read_now<S: Storage + ?Sized>(store: &S, key: &str, ranges: &[ByteRange], if_match: Option<Version>) -> Result<Option<Fetched>> {
    let Some(object) = store.open(key)? else { return Ok(None) };
    read_of(&object, ranges, if_match).map(Some)
}

/// Reads ranges of an object.
fn read_of(object: &Object, ranges: &[ByteRange], if_match: Option<Version>) -> Result<Fetched> {
    let version = object.version()?;
    if if_match.is_some_and(|v| v != version) {
        bail!(Conflict, "the object was replaced while it was read");
    }
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let mut part = Vec::new();
        match *range {
            ByteRange::Whole { most, .. } => object.read_whole(&mut part, usize::try_from(most).unwrap_or(usize::MAX))?,
            ByteRange::Span { offset, len } => {
                let end = offset.checked_add(len);
                let have = object.len()?;
                if end.is_none_or(|e| e > have) {
                    bail!(Truncated, "found {have} bytes, expected at least {offset} + {len}");
                }
                object.read_exact_at(offset, grow(&mut part, len as usize)?)?
            }
            ByteRange::Suffix { len } => {
                let have = object.len()?;
                if have < len {
                    bail!(Truncated, "found {have} bytes, expected at least {len}");
                }
                object.read_exact_at(have - len, grow(&mut part, len as usize)?)?
            }
        }
        parts.push(part);
    }
    Ok(Fetched { parts, version })
}

/// Reads through [`Storage::start_read`], and waits for the result.
pub fn start_and_wait(store: &dyn Storage, key: &str, ranges: &[ByteRange], if_match: Option<Version>) -> Result<Option<Fetched>> {
    let (sender, receiver) = mailbox();
    store.start_read(key, ranges, if_match, Box::new(move |result| sender.send(result)));
    receiver.recv().unwrap_or_else(|| Err(err!(Internal, "a read that was started never ended")))
}

/// Reads all bytes of some keys, in a store with latency at the same time; what each holds, or `None`.
pub fn get_many(store: &SharedStore, keys: &[String], max: usize) -> Vec<Result<Option<Vec<u8>>>> {
    if !store.capabilities().latency || keys.len() < 2 {
        return keys.iter().map(|key| get(&**store, key, max)).collect();
    }
    let (sender, receiver) = mailbox();
    let mut all: Vec<_> = keys.iter().map(|_| Err(err!(Internal, "a read ended without a result"))).collect();
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
    all
}

/// So many reads of [`get_many`] are in flight at once, at most.
const MANY: usize = 512;

/// Reads all of a key's bytes (at most `max`), or `None` if it holds nothing.
pub fn get<S: Storage + ?Sized>(store: &S, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
    store.read_all(key, max).map_err(|e| e.at_key(key))
}
