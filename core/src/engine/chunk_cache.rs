//! Decoded chunks that are kept in memory for reading, for programs that read element by element: inner chunks of shards, or whole
//! ones where there are no shards.
//!
//! An entry is used only while the store says of its object what it said when the chunk was read ([`Stamp`]): one look at a file, at
//! every use. A file that was changed so short a time before it was read that another change could leave no trace is not kept. A
//! child of `fork` begins with nothing.

use super::leaf::leaf_of;
use super::lock::lock;
use crate::codec::BoundChain;
use crate::error::{Result, bail};
use crate::fork::ForkReset;
use crate::store::Stamp;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// About what an entry takes besides its elements and its key.
const OVERHEAD: usize = 192;

/// Decoded chunks of some arrays, within a limit of bytes.
pub struct ChunkCache {
    limit: usize,
    hasher: RandomState,
    kept: ForkReset<Mutex<ChunkRing>>,
    next_owner: AtomicU64,
}

/// An array's use of a cache. Clones are the same array.
#[derive(Clone)]
pub struct ArrayCache {
    cache: Arc<ChunkCache>,
    /// Tells apart the arrays that share the cache.
    owner: u64,
}

/// Where a chunk's encoded bytes are in its object: offset and length; nothing for all of it.
pub(super) type ObjectSpan = Option<(u64, u64)>;

/// The entries in a ring. The hand goes round and takes those that were not used since it came by last.
#[derive(Default)]
struct ChunkRing {
    places: HashMap<u64, usize>,
    ring: Vec<RingEntry>,
    hand: usize,
    bytes: usize,
}

struct RingEntry {
    hash: u64,
    owner: u64,
    key: String,
    span: ObjectSpan,
    mark: Stamp,
    elements: Arc<Vec<u8>>,
    used: bool,
}

impl RingEntry {
    fn bytes(&self) -> usize {
        OVERHEAD + self.key.len() + self.elements.len()
    }

    fn is(&self, owner: u64, key: &str, span: ObjectSpan) -> bool {
        self.owner == owner && self.span == span && self.key == key
    }
}

impl ChunkRing {
    fn remove(&mut self, place: usize) {
        let gone = self.ring.swap_remove(place);
        self.places.remove(&gone.hash);
        self.bytes -= gone.bytes();
        if let Some(moved) = self.ring.get(place) {
            self.places.insert(moved.hash, place);
        }
    }

    /// Takes entries out until `bytes` more have room.
    fn make_room(&mut self, bytes: usize, limit: usize) {
        while self.bytes + bytes > limit && !self.ring.is_empty() {
            self.hand %= self.ring.len();
            match self.ring.get_mut(self.hand) {
                Some(entry) if entry.used => {
                    entry.used = false;
                    self.hand += 1;
                }
                _ => self.remove(self.hand),
            }
        }
    }
}

impl ChunkCache {
    /// Makes a cache of up to `limit` bytes.
    pub fn new(limit: usize) -> Arc<ChunkCache> {
        let (hasher, kept) = (RandomState::new(), ForkReset::new(Mutex::default));
        Arc::new(ChunkCache { limit, hasher, kept, next_owner: AtomicU64::new(0) })
    }

    /// Returns the use of the cache by one more array.
    pub fn for_array(self: &Arc<Self>) -> ArrayCache {
        ArrayCache { cache: self.clone(), owner: self.next_owner.fetch_add(1, Relaxed) }
    }

    /// Returns the most bytes that are kept.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Returns the bytes that are kept.
    pub fn bytes(&self) -> usize {
        lock(self.kept.get()).bytes
    }

    /// Returns an error where not even one chunk (inner chunk) of an array with that chain has room.
    pub fn check_room(&self, chain: &BoundChain) -> Result<()> {
        self.check_bytes(leaf_of(chain).layout.bytes)
    }

    fn check_bytes(&self, chunk: usize) -> Result<()> {
        if self.limit < chunk.saturating_add(OVERHEAD) {
            bail!(
                Limit,
                "a chunk cache of {} bytes has no room for one chunk, which has {chunk} bytes and {OVERHEAD} for its place",
                self.limit
            );
        }
        Ok(())
    }
}

impl ArrayCache {
    /// Returns the most bytes that the cache keeps, for all arrays that use it.
    pub fn limit(&self) -> usize {
        self.cache.limit()
    }

    /// Returns whether a chunk of `bytes` can be kept.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        bytes.saturating_add(OVERHEAD) <= self.cache.limit
    }

    fn hash(&self, key: &str, span: ObjectSpan) -> u64 {
        self.cache.hasher.hash_one((self.owner, key, span))
    }

    /// Returns the elements of a chunk, if they are those of the object that has that mark.
    pub(super) fn find(&self, key: &str, span: ObjectSpan, mark: &Stamp) -> Option<Arc<Vec<u8>>> {
        let hash = self.hash(key, span);
        let mut kept = lock(self.cache.kept.get());
        let place = *kept.places.get(&hash)?;
        let entry = kept.ring.get_mut(place).filter(|entry| entry.is(self.owner, key, span))?;
        if entry.mark != *mark {
            kept.remove(place);
            return None;
        }
        entry.used = true;
        Some(entry.elements.clone())
    }

    /// Keeps the elements of a chunk of the object that had that mark before it was read.
    pub(super) fn keep(&self, key: &str, span: ObjectSpan, mark: &Stamp, elements: Vec<u8>) {
        if !mark.current || !mark.is_settled() {
            return;
        }
        let hash = self.hash(key, span);
        let entry =
            RingEntry { hash, owner: self.owner, key: key.to_string(), span, mark: *mark, elements: Arc::new(elements), used: false };
        let mut kept = lock(self.cache.kept.get());
        if let Some(&place) = kept.places.get(&hash) {
            kept.remove(place);
        }
        let bytes = entry.bytes();
        kept.make_room(bytes, self.cache.limit);
        if kept.bytes + bytes > self.cache.limit || kept.ring.try_reserve(1).is_err() {
            return;
        }
        let place = kept.ring.len();
        kept.places.insert(hash, place);
        kept.bytes += bytes;
        kept.ring.push(entry);
    }

    /// Gives up what is kept of this array.
    pub fn forget_all(&self) {
        let mut kept = lock(self.cache.kept.get());
        for place in (0..kept.ring.len()).rev() {
            if kept.ring.get(place).is_some_and(|entry| entry.owner == self.owner) {
                kept.remove(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::store::suite::TestFolder;
    use crate::store::{Condition, Storage};

    fn marks() -> (Stamp, Stamp) {
        let store = MemoryStore::new();
        let next = || {
            store.put("k", &[b"1"], Condition::None).unwrap();
            (&store as &dyn Storage).stamp("k").unwrap().unwrap()
        };
        (next(), next())
    }

    #[test]
    fn an_entry_is_of_one_array_one_span_and_one_version() {
        let (old, new) = marks();
        assert_ne!(old, new);
        let cache = ChunkCache::new(1 << 20);
        let (a, b) = (cache.for_array(), cache.for_array());
        a.keep("k", Some((0, 5)), &old, vec![7; 100]);
        assert_eq!(a.find("k", Some((0, 5)), &old).unwrap().as_slice(), [7; 100]);
        assert!(b.find("k", Some((0, 5)), &old).is_none());
        assert!(a.find("k", None, &old).is_none() && a.find("j", Some((0, 5)), &old).is_none());
        assert!(a.find("k", Some((0, 5)), &new).is_none());
        assert_eq!(cache.bytes(), 0, "an entry of an older version goes");
        a.keep("k", None, &new, vec![1; 10]);
        b.keep("k", None, &new, vec![2; 10]);
        a.forget_all();
        assert!(a.find("k", None, &new).is_none() && b.find("k", None, &new).is_some());
    }

    #[test]
    fn a_file_that_was_changed_this_very_moment_is_not_kept() {
        let folder = TestFolder::new("unsettled");
        let store = crate::store::local::LocalStore::open(&folder, true, crate::store::local::SyncMode::None).unwrap();
        store.put("k", &[b"1"], Condition::None).unwrap();
        let mut mark = (&store as &dyn Storage).stamp("k").unwrap().unwrap();
        let cache = ChunkCache::new(1 << 20).for_array();
        // Looked at just behind the change, and kept when its step of the clock is over: what came between the two is not seen. A slow machine may
        // take longer for the look.
        while mark.is_settled() {
            store.put("k", &[b"1"], Condition::None).unwrap();
            mark = (&store as &dyn Storage).stamp("k").unwrap().unwrap();
        }
        while !(&store as &dyn Storage).stamp("k").unwrap().unwrap().is_settled() {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        cache.keep("k", None, &mark, vec![1]);
        assert!(cache.find("k", None, &mark).is_none());
        // Changed at a time that the clock has not passed: another change may leave no trace.
        mark.set_changed(u64::MAX - 1);
        cache.keep("k", None, &mark, vec![1]);
        assert!(cache.find("k", None, &mark).is_none());
        mark.set_changed(1);
        cache.keep("k", None, &mark, vec![1]);
        assert!(cache.find("k", None, &mark).is_some(), "what was changed long ago is kept");
    }

    #[test]
    fn what_was_used_stays_and_the_limit_holds() {
        let (mark, _) = marks();
        let limit = 10 * (OVERHEAD + 1000);
        let cache = ChunkCache::new(limit);
        assert!(cache.check_bytes(limit - OVERHEAD).is_ok());
        let e = cache.check_bytes(limit).unwrap_err();
        assert!(e.message().contains(&limit.to_string()), "{e}");
        let a = cache.for_array();
        for i in 0..1000 {
            a.keep(&format!("{i}"), None, &mark, vec![0; 990]);
            assert!(cache.bytes() <= limit);
            assert!(i < 1 || a.find("1", None, &mark).is_some(), "{i}");
        }
        assert!(a.find("0", None, &mark).is_none() && a.find("999", None, &mark).is_some());
        a.keep("1", None, &mark, vec![0; limit]);
        assert!(a.find("1", None, &mark).is_none() && cache.bytes() <= limit);
        let kept = lock(cache.kept.get());
        assert_eq!(kept.bytes, kept.ring.iter().map(RingEntry::bytes).sum::<usize>());
        assert!(kept.ring.iter().enumerate().all(|(i, entry)| kept.places[&entry.hash] == i) && kept.places.len() == kept.ring.len());
    }
}
