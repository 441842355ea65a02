//! The `Storage` trait: a map from keys to bytes, and all that the rest of the library may ask of it.

use super::local::staged_file::StagedFile;
use super::opened::Object;
use super::staged::Staged;
use super::stamp::{Stamp, Version};
use super::tuning::Tuning;
use crate::error::{Error, Result, bail};
use crate::limits::{MAX_UNTOLD, grow};
use crate::platform::OwnedFd;
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
    /// [`Storage::start`] and the in-flight driver.
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
    /// It is a zip archive: names of files that macOS adds are no keys ([`super::zip::is_ignored`]).
    pub archive: bool,
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
            archive: false,
        }
    }
}

/// A change of a key that is started ([`Storage::start`]).
pub enum Change {
    /// The key gets this value.
    Put(Vec<u8>, Condition),
    /// The key holds nothing from then on.
    Erase,
}

impl Change {
    /// Returns how many bytes are sent.
    pub fn bytes(&self) -> u64 {
        if let Change::Put(bytes, _) = self { bytes.len() as u64 } else { 0 }
    }
}

/// What [`Storage::start`] starts for a key, and what takes its result.
pub enum Started<'a> {
    /// Reads ranges of the value. With `if_match`, a key that holds another version by now gives `Conflict`.
    Read {
        /// The ranges; none asks for the version only.
        ranges: &'a [ByteRange],
        /// The version that the key must still hold.
        if_match: Option<Version>,
        /// Takes the bytes.
        done: ReadDone,
    },
    /// Changes the value.
    Change(Change, ChangeDone),
}

impl Started<'_> {
    /// Ends with an error what cannot be started.
    pub fn fail(self, error: Error) {
        match self {
            Started::Read { done, .. } => done(Err(error)),
            Started::Change(_, done) => done(Err(error)),
        }
    }

    /// Does it in the calling thread, before this returns.
    pub fn run<S: Storage + ?Sized>(self, store: &S, key: &str) {
        match self {
            Started::Read { ranges, if_match, done } => done(read_now(store, key, ranges, if_match)),
            Started::Change(Change::Put(bytes, condition), done) => done(store.put(key, &[&bytes], condition)),
            Started::Change(Change::Erase, done) => done(store.erase_keys(Keys::One(key)).map(drop)),
        }
    }
}

/// Which keys [`Storage::erase_keys`] removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys<'a> {
    /// This key.
    One(&'a str),
    /// Every key that starts with this prefix (empty, or ending in `/`).
    Below(&'a str),
}

/// What [`Storage::list_keys`] lists below a prefix, and where it is put.
pub enum ListInto<'a> {
    /// Every key that starts with the prefix, sorted, is given to this function.
    Each(&'a mut dyn FnMut(&str) -> Result<()>),
    /// Every key, too, with what a listing tells of it.
    Told(&'a mut dyn FnMut(&str, ListedKey) -> Result<()>),
    /// The keys and sub-prefixes directly under the prefix are put here.
    Folder(&'a mut Listing),
}

/// What a listing tells of a key: `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListedKey {
    /// Another number where the key holds another value than before.
    pub told: Option<u64>,
    /// How many bytes the key holds.
    pub len: Option<u64>,
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

    /// The offset and the number of these bytes in an object of `size` bytes.
    pub(super) fn within(self, size: u64) -> Result<(u64, u64)> {
        let (offset, len) = match self {
            ByteRange::Whole { most, .. } if size > most => bail!(Limit, "found {size} bytes, expected at most {most}"),
            ByteRange::Whole { .. } => (0, size),
            ByteRange::Span { offset, len } => (offset, len),
            ByteRange::Suffix { len } if len <= size => (size - len, len),
            ByteRange::Suffix { len } => bail!(Truncated, "found {size} bytes, expected at least {len}"),
        };
        if offset.checked_add(len).is_none_or(|end| end > size) {
            bail!(Truncated, "found {size} bytes, expected at least {offset} + {len}");
        }
        Ok((offset, len))
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
    /// Names of pipes, sockets, devices and links in a circle in a local folder, which are no keys, sorted.
    pub others: Vec<String>,
    /// Names of links to nothing in a local folder, which hold no value, sorted.
    pub dead_links: Vec<String>,
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

/// Takes what a read that was started gives: the bytes of each range in order, or `None` if the key holds nothing.
pub type ReadDone = Box<dyn FnOnce(Result<Option<Fetched>>) + Send>;

/// Takes what became of a change that was started.
pub type ChangeDone = Box<dyn FnOnce(Result<()>) + Send>;

/// The result of [`Storage::start`].
pub struct Fetched {
    /// The bytes of each requested range, in order.
    pub parts: Vec<Vec<u8>>,
    /// The version that all parts come from.
    pub version: Version,
}

/// How a key is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockUse {
    /// Now and then, as documents are: nothing of the lock stays in the store.
    Rare,
    /// Again and again, as chunks are: what makes locks may stay there until the store is closed.
    Often,
    /// For as long as a writer is the only one: an error of kind `Again` if another one has the lock, in this process, too.
    Alone,
    /// Not taken, and nothing is made for it: an error of kind `Again` if somebody has the lock, in this process, too.
    Look,
}

/// Held while a key is read, changed and put; dropped to let the next writer in. Other processes are kept out too
/// where the store can do so (local files: a lock on a byte of `.ozarr.lock` in the node's folder, as `"file.lock"` says).
pub type ProcessLock = Box<dyn Send>;

/// A map from keys to bytes. All methods may be called from any threads at once.
///
/// An error is never "missing": only a key that is certainly not there gives `None`. What a store can do in a better way only because its
/// values are local files is in [`LocalFiles`]. What every store can do by these methods is in [`super::StorageExt`] and a method of `dyn Storage`,
/// so that a store around another one has nothing to forward but what is here: twelve methods (`tests_wrappers.rs` counts what each forwards).
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

    /// Removes keys, of those below a prefix [`GOES_LAST`](super::GOES_LAST) behind all others; `false` if the one key held nothing, or the folder of a prefix was not there, or was taken away by another process first.
    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool>;

    /// Lists keys that start with `prefix` (empty, or ending in `/`).
    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()>;

    /// Makes all that was put durable, as far as the store's sync mode promises it.
    fn flush(&self) -> Result<()>;

    /// Keeps other processes from changing `key` (in the folder of the node `prefix`) until the lock is dropped, or gives `None` where the
    /// store has no such locks. In-process exclusion is the engine's ([`crate::engine`]).
    fn lock_key(&self, prefix: &str, key: &str, lock_use: LockUse) -> Result<Option<ProcessLock>> {
        let _ = (prefix, key, lock_use);
        Ok(None)
    }

    /// Starts to read or to change a key, and calls its `done` once, from any thread, perhaps before this returns. The default does it inline.
    fn start(&self, key: &str, what: Started<'_>) {
        what.run(self, key);
    }

    /// Gives what can be done because keys are local files, or `None` where they are not.
    fn files(&self) -> Option<&dyn LocalFiles> {
        None
    }

    /// Gives a text for messages: the path or URL, without credentials.
    fn describe(&self) -> String;
}

/// Fails where what a key holds is not to be replaced.
pub type Check<'a> = &'a dyn Fn() -> Result<()>;

/// What can be done better, or at all, with keys that are local files.
pub trait LocalFiles {
    /// Opens the folder that all keys with this prefix (empty, or ending in `/`) are in, so that many of them are found with less to look
    /// up, or need not be looked for. It must not be held longer than a call: it does not notice that the folder was replaced.
    fn folder(&self, prefix: &str) -> Folder;

    /// Says whether a folder that [`LocalFiles::folder`] gave for a prefix still has that name. What misses in one that has not may be stored.
    fn is_there(&self, folder: &Folder, prefix: &str) -> bool;

    /// Gives the numbers of the folder that has the name of a prefix now, by one `fstatat`, or `None` if no folder has it. While a folder is open no other
    /// one has its numbers.
    fn folder_numbers(&self, prefix: &str) -> Result<Option<[u64; 2]>>;

    /// Opens what `key` holds, as [`Storage::open`] does, in the folder that [`LocalFiles::folder`] opened.
    fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>>;

    /// Says what a key's file is like now by one `fstatat`, as [`Object::stamp`] would after opening it, or `None` if the key holds nothing.
    fn stamp(&self, key: &str) -> Result<Option<Stamp>>;

    /// Says whether `key` still holds an object that was opened, as far as that can be told: of a file that has other names, as checkpoints share
    /// files by links, it cannot.
    fn holds(&self, key: &str, old: &Object) -> Result<bool>;

    /// Stores a value in the place of one that was looked at, as [`Storage::put`] does. `check` is asked right before the key gets it, when all else
    /// is done: its error leaves the key as it is.
    fn put_over(&self, key: &str, parts: &[&[u8]], check: Check<'_>) -> Result<()>;

    /// Gives the path of the file that holds a key's bytes as they are, and nothing else, or `None` if no file does.
    fn file(&self, key: &str) -> Option<PathBuf>;

    /// Stores what `file` holds under `key` without a copy of it, by a hard link. What `key` held is replaced if `replaces`, and
    /// else in the way. `false` if that is not possible. The file must not be changed in place from then on, only be replaced.
    fn link(&self, key: &str, file: &Path, replaces: bool) -> Result<bool>;

    /// Gives every key that starts with `from` the same name behind `to`, which must hold no key, all at once; `false`, and nothing done, if
    /// that is not possible (both end in `/`).
    fn rename_prefix(&self, from: &str, to: &str) -> Result<bool>;

    /// Makes the keys that `build` puts into an empty store all that there is below `prefix`, at once: readers and a kill see the keys from
    /// before or the new ones. `false`, and nothing done, if that is not possible. Where the file system cannot let folders change their
    /// names, there is nothing for a moment. `done` is called at the moment of the change, before the old keys are removed, which may take long.
    fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>, done: &mut dyn FnMut()) -> Result<bool>;

    /// Fails where something below `prefix` may not be removed, which erasing it would find, too: what is told elsewhere of the keys there is
    /// changed before they go.
    fn check_erase(&self, prefix: &str) -> Result<()>;

    /// Says, in the folder of a prefix in which the caller holds a lock, that what is there was made shorter ([`CutMark`]).
    fn note_cut(&self, prefix: &str) -> Result<()>;

    /// Gives what was said last of the folder of a prefix by [`LocalFiles::note_cut`], or `None` where nobody has a lock in it, nor was killed with one.
    /// Each mark that is kept (`keep`) has a file open.
    fn cut_mark(&self, prefix: &str, keep: bool) -> Result<Option<CutMark>>;

    /// Has the next value of `key` synced before it gets that name, whatever was there, unless nothing is synced at all: where the power is cut
    /// behind that, its name is not left without its bytes.
    fn sync_first(&self, key: &str) -> Result<()>;

    /// Makes a staged file the value of `key`.
    fn publish(&self, key: &str, staged: Box<StagedFile>) -> Result<()>;
}

/// What the lock file of a folder says of cuts, at one moment. It is kept while this is, where that is wanted and the user may lock it.
pub struct CutMark {
    /// The file, where it is kept.
    pub(super) file: u64,
    /// A random number, another one with each cut; 0: there was none.
    pub(super) cut: u64,
    pub(super) kept: Option<Box<dyn Send + Sync>>,
}

impl CutMark {
    /// Returns whether the file is kept, and open.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Returns whether something was cut between two moments, or the folder was replaced. What ended with the last lock in it is not seen where
    /// `then` is missing or could not be kept.
    pub fn was_cut(then: Option<&CutMark>, now: Option<&CutMark>) -> bool {
        match (then, now) {
            (None, now) => now.is_some_and(|now| now.cut != 0),
            (Some(then), None) => then.kept.is_some(),
            (Some(then), Some(now)) => {
                now.cut != then.cut && now.cut != 0 || then.kept.is_some() && now.kept.is_some() && then.file != now.file
            }
        }
    }
}

/// A store that is shared by the handles on it.
pub type SharedStore = Arc<dyn Storage>;

/// Reads ranges of a key in the calling thread: what [`Storage::start`] does by default.
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
