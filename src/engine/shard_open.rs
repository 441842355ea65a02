//! Shards that are kept open with the array, with their indexes decoded: reading one more element of one costs one look at the
//! file (`fstat`) and one read.
//!
//! Files are kept open, so that index and data come from one file; one that was replaced, erased, linked or changed since is
//! opened again. Other stores are asked for the version. A child of `fork` goes on with what is there.

use super::BoundArray;
use super::scratch::ChainScratch;
use super::shard::read_index;
use crate::codec::Sharded;
use crate::error::Result;
use crate::fork::Kept;
use crate::store::{Mark, Object, Version, os};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// So many shards are kept for an array.
const MOST: usize = 16;
/// Their indexes have so many bytes together.
const MOST_BYTES: usize = 32 << 20;
/// So many files are kept open by all arrays of the process, and no more than a quarter of what it may have.
const MOST_FILES: usize = 256;

/// The number of files that are kept open now.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// The shards of one array that are kept open.
#[derive(Default)]
pub struct OpenShards {
    shards: Kept<Vec<Arc<OpenShard>>>,
    clock: AtomicU64,
}

/// One of them.
pub(super) struct OpenShard {
    key: String,
    /// Of a file.
    file: Option<KeptFile>,
    /// What it was like when it was opened; `None` where only the version is known.
    mark: Option<Mark>,
    version: Option<Version>,
    /// In the native form.
    pub index: Vec<u8>,
    used: AtomicU64,
}

/// A file that is counted.
struct KeptFile(Object);

impl KeptFile {
    /// Gives the object back where too many are kept.
    fn new(object: Object) -> std::result::Result<KeptFile, Object> {
        let known = most_files();
        match FILES.fetch_update(Relaxed, Relaxed, |n| (n < known).then_some(n + 1)) {
            Ok(_) => Ok(KeptFile(object)),
            Err(_) => Err(object),
        }
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        FILES.fetch_sub(1, Relaxed);
    }
}

fn most_files() -> usize {
    static MOST: AtomicUsize = AtomicUsize::new(usize::MAX);
    if MOST.load(Relaxed) == usize::MAX {
        MOST.store(MOST_FILES.min(os::most_files() / 4), Relaxed);
    }
    MOST.load(Relaxed)
}

/// An opened shard with its index.
pub(super) struct Held {
    shard: Arc<OpenShard>,
    /// Where the shard itself has no file.
    object: Option<Object>,
    /// The length of the object.
    pub len: u64,
}

impl Held {
    /// What to read from.
    pub fn object(&self) -> Result<&Object> {
        let kept = self.shard.file.as_ref().map(|file| &file.0);
        self.object.as_ref().or(kept).ok_or_else(|| crate::error::err!(Internal, "an open shard without an object"))
    }

    /// The index in the native form.
    pub fn index(&self) -> &[u8] {
        &self.shard.index
    }
}

impl OpenShards {
    /// What is kept of a key.
    pub(super) fn find(&self, key: &str) -> Option<Arc<OpenShard>> {
        let found = self.shards.read(|all| all.iter().find(|shard| shard.key == key).cloned())?;
        found.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        Some(found)
    }

    /// Keeps nothing of a key any more.
    pub(super) fn forget(&self, key: &str) {
        if self.shards.read(|all| all.iter().any(|shard| shard.key == key)) {
            let _gone = self.shards.write(|all| all.iter().position(|shard| shard.key == key).map(|i| all.swap_remove(i)));
        }
    }

    /// Keeps nothing any more.
    fn forget_all(&self) -> bool {
        !self.shards.replace(Vec::new()).is_empty()
    }

    fn keep(&self, shard: Arc<OpenShard>) {
        if shard.index.len() > MOST_BYTES {
            return;
        }
        shard.used.store(self.clock.fetch_add(1, Relaxed), Relaxed);
        // The files are closed after the lock.
        let mut gone: [Option<Arc<OpenShard>>; MOST + 1] = [const { None }; MOST + 1];
        self.shards.write(|all| {
            let mut out = gone.iter_mut();
            let mut remove = |all: &mut Vec<Arc<OpenShard>>, i: usize| {
                if let Some(slot) = out.next() {
                    *slot = Some(all.swap_remove(i));
                }
            };
            if let Some(i) = all.iter().position(|other| other.key == shard.key) {
                remove(all, i);
            }
            let mut bytes = shard.index.len() + all.iter().map(|s| s.index.len()).sum::<usize>();
            while all.len() >= MOST || bytes > MOST_BYTES {
                let Some(i) = (0..all.len()).min_by_key(|&i| all[i].used.load(Relaxed)) else { break };
                bytes -= all[i].index.len();
                remove(all, i);
            }
            all.push(shard);
        });
    }

    /// The version that is kept of a key and its index, for stores with latency.
    pub(super) fn version(&self, key: &str) -> Option<(Version, Arc<OpenShard>)> {
        let found = self.find(key)?;
        Some((found.version?, found))
    }

    /// Keeps an index that was read of that version.
    pub(super) fn keep_version(&self, key: &str, version: Version, index: &[u8]) {
        let mut copy = Vec::new();
        if index.len() > MOST_BYTES || crate::limits::reserve(&mut copy, index.len()).is_err() {
            return;
        }
        copy.extend_from_slice(index);
        let (key, version) = (key.to_string(), Some(version));
        self.keep(Arc::new(OpenShard { key, file: None, mark: None, version, index: copy, used: AtomicU64::new(0) }));
    }
}

impl BoundArray {
    /// Opens what a key holds; files that are kept open make room for it where the process has too many.
    fn open_object(&self, key: &str) -> Result<Option<Object>> {
        match self.store.open(key) {
            Err(e) if matches!(e.os_errno(), libc::EMFILE | libc::ENFILE) && self.open_shards.forget_all() => self.store.open(key),
            other => other,
        }
    }

    /// A shard with its index: the kept one if it is what the key holds still.
    pub(super) fn open_shard(&self, shard: &Sharded, key: &str, s: &mut ChainScratch) -> Result<Option<Held>> {
        let mut opened = None;
        if let Some(kept) = self.open_shards.find(key) {
            let held = match &kept.file {
                Some(file) => Some(&file.0),
                None => {
                    opened = self.open_object(key)?;
                    opened.as_ref()
                }
            };
            // A file that cannot be asked any more (on a server, say) is opened again.
            if let Some(mark) = held.and_then(|object| object.mark().ok()).filter(|mark| Some(*mark) == kept.mark) {
                return Ok(Some(Held { shard: kept, object: opened, len: mark.len }));
            }
            self.open_shards.forget(key);
        }
        let object = match opened {
            Some(object) => object,
            None => match self.open_object(key)? {
                Some(object) => object,
                None => return Ok(None),
            },
        };
        let mark = object.mark()?;
        let index = read_index(&object, shard, mark.len, s)?;
        let (file, rest) = match &object {
            Object::File(_) => match KeptFile::new(object) {
                Ok(file) => (Some(file), None),
                Err(object) => (None, Some(object)),
            },
            _ => (None, Some(object)),
        };
        // Of files beyond the limit nothing is kept.
        let keep = mark.current && !matches!(rest, Some(Object::File(_)));
        let open = OpenShard { key: key.to_string(), file, mark: Some(mark), version: None, index, used: AtomicU64::new(0) };
        let held = Held { shard: Arc::new(open), object: rest, len: mark.len };
        if keep {
            self.open_shards.keep(held.shard.clone());
        }
        Ok(Some(held))
    }
}
