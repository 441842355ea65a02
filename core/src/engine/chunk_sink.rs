//! The one way of encoded chunks to the store. Each change made here ends the use of what the handle keeps of the old object: its open
//! shard with the index. (Decoded chunks are kept by the mark of their object, which every change alters.) Where the handle lists the keys
//! that it changes, the key is added.
//!
//! A change is made at once or, in a store with latency, left with its caller to be started later, so that many are under way at the same
//! time.

use super::array::BoundArray;
use super::fence::Fence;
use super::lock;
use super::stats::{self, Counter};
use super::storing;
use crate::error::{Error, ErrorKind, Result, bail};
use crate::limits::reserve;
use crate::store::{Change, ChangeDone, Condition, Object, Staged, Stamp, StorageExt, os, start_and_wait, swap};
use std::sync::{Arc, Mutex};

/// What is left with the caller of a sink, to be started later.
pub(super) enum LaterChange {
    Make(Change),
    /// A chunk of nothing but the fill value is left out if nothing is there, and a conflict if something is: it cannot be erased.
    LeaveOut,
}

impl LaterChange {
    /// Returns how many bytes are sent.
    pub fn bytes(&self) -> u64 {
        if let LaterChange::Make(change) = self { change.bytes() } else { 0 }
    }
}

/// Starts the change of `key`, while the array is there, behind a look at the document where what is replaced may be another writer's. Calls `done` with
/// its result, from any thread.
pub(super) fn start(change: LaterChange, array: &Arc<BoundArray>, key: &str, done: impl FnOnce(Result<()>) + Send + 'static) {
    let storing = match array.growths.begin_change(|| array.place()) {
        Ok(storing) => storing,
        Err(e) => return done(Err(e)),
    };
    let LaterChange::Make(change) = change else {
        let is_missing = |found: Option<_>| found.map_or(Ok(()), |_| bail!(Conflict, "a chunk is there that cannot be erased"));
        return array.store.start_read(
            key,
            &[],
            None,
            Box::new(move |found| {
                drop(storing);
                done(found.and_then(is_missing));
            }),
        );
    };
    let (owner, name) = (array.clone(), key.to_string());
    let is_looked_at = matches!(change, Change::Put(_, Condition::Match(_)));
    let start = move |looked: Result<()>| {
        let (array, key) = (owner.clone(), name.clone());
        let done: ChangeDone = Box::new(move |result| {
            // A reader may have kept the old index while the change was under way.
            array.key_changed(&key);
            drop(storing);
            done(result);
        });
        match looked {
            Ok(()) => storing::inside(|| owner.store.start_change(&name, change, done)),
            Err(e) => done(Err(told(&owner, e))),
        }
    };
    match array.fence().filter(|_| is_looked_at) {
        Some(fence) => fence.check_then(Box::new(start)),
        None => start(Ok(())),
    }
}

/// What fails because this process takes the array away meanwhile is told as that: an error of kind `State`.
fn told(array: &BoundArray, e: Error) -> Error {
    match e.kind() {
        ErrorKind::Io | ErrorKind::NotFound => array.check_there().err().unwrap_or(e),
        _ => e,
    }
}

/// Makes a change of a chunk, from reading to putting, until no other process is faster. What fails because this process takes the array away meanwhile
/// is an error of kind `State`.
pub(super) fn make<T>(array: &BoundArray, change: impl FnMut() -> Result<T>) -> Result<T> {
    make_again(array, change).map_err(|e| told(array, e))
}

fn make_again<T>(array: &BoundArray, mut change: impl FnMut() -> Result<T>) -> Result<T> {
    if array.store.files().is_none() {
        return swap::make(&*array.store, change);
    }
    for _ in 0..MOST {
        let result = change();
        if !matches!(&result, Err(e) if e.kind() == ErrorKind::Conflict) {
            return result;
        }
    }
    change()
}

/// Says whether a change of a chunk failed because another process was faster.
pub(super) fn is_overtaken(array: &BoundArray, result: &Result<()>) -> bool {
    swap::is_overtaken(&*array.store, result)
        || array.store.files().is_some() && matches!(result, Err(e) if e.kind() == ErrorKind::Conflict)
}

/// How often a change of a chunk in a folder is made again: each time another process has replaced the chunk as a whole.
const MOST: u32 = 200;

/// See the module.
#[derive(Clone, Copy)]
pub(super) struct ChunkSink<'a> {
    array: &'a BoundArray,
    later: Option<&'a Mutex<Option<LaterChange>>>,
    condition: Condition,
    /// A put on the condition that nothing is there has failed.
    again: bool,
    /// The file that was read to be changed.
    old: Option<&'a Object>,
    /// What that file was like, where it is not kept open.
    looked: Option<Stamp>,
}

impl<'a> ChunkSink<'a> {
    /// Makes every change at once.
    pub fn now(array: &'a BoundArray) -> ChunkSink<'a> {
        ChunkSink { array, later: None, condition: Condition::None, again: false, old: None, looked: None }
    }

    /// `again`: where another process was faster to store a chunk, or a killed one has left it, what is there is asked for first.
    pub fn again(self, again: bool) -> ChunkSink<'a> {
        ChunkSink { again, ..self }
    }

    /// Leaves the change in `later` if given; otherwise makes it at once.
    pub fn later(array: &'a BoundArray, later: Option<&'a Mutex<Option<LaterChange>>>) -> ChunkSink<'a> {
        ChunkSink { later, ..ChunkSink::now(array) }
    }

    /// Makes every change only where the key still holds what was found to be changed: a process that writes the whole chunk takes no lock.
    /// Of a file in a folder [`ChunkSink::instead_of`] sees to that.
    pub fn over(self, found: Option<&Object>) -> Result<ChunkSink<'a>> {
        let store = &*self.array.store;
        let condition = match (store.files(), found) {
            (None, _) => swap::condition_of(store, found)?,
            (Some(_), None) => Condition::Absent,
            (Some(_), Some(_)) => Condition::None,
        };
        let looked = match found {
            Some(Object::File(file)) if !os::keeps_files_open() => Some(file.stamp()?),
            _ => None,
        };
        // A file is looked at right before it is replaced, which a change that is started later is not.
        let later = self.later.filter(|_| store.files().is_none());
        Ok(ChunkSink { condition, looked, later, ..self })
    }

    /// Looks, right before the new file gets the name, whether the old one still has it: else it was replaced or erased.
    pub fn instead_of(self, old: Option<&'a Object>) -> ChunkSink<'a> {
        ChunkSink { old, ..self }
    }

    /// Looks whether the chunk is the one that was read.
    fn check(&self, key: &str) -> Result<()> {
        let is_there = match (self.old, self.looked) {
            (Some(old), _) => self.array.store.holds(key, old)?,
            (None, Some(looked)) => self.array.store.stamp(key)? == Some(looked),
            (None, None) => true,
        };
        if !is_there {
            bail!(Conflict, "another process has replaced the chunk meanwhile");
        }
        Ok(())
    }

    /// Returns whether keys can be erased, for which stores have no conditions.
    pub fn can_erase(&self) -> bool {
        self.condition == Condition::None && self.array.can_erase()
    }

    /// Returns whether it may be asked later if the chunk is there: what cannot be erased is replaced, where there is something.
    pub fn can_ask_later(&self) -> bool {
        self.condition == Condition::None && self.later.is_some() && self.array.fence().is_some()
    }

    /// Leaves the chunk out, if nothing is there.
    pub fn leave_out(&self) -> Result<()> {
        self.array.check_there()?;
        if let Some(later) = self.later {
            *lock::lock(later) = Some(LaterChange::LeaveOut);
        }
        Ok(())
    }

    /// Returns the array.
    pub fn array(&self) -> &'a BoundArray {
        self.array
    }

    /// Stores a value, given in parts.
    pub fn put(&self, key: &str, parts: &[&[u8]]) -> Result<()> {
        let count = || {
            stats::count(Counter::Writes, 1);
            stats::count(Counter::BytesWritten, parts.iter().map(|part| part.len() as u64).sum());
        };
        let Some(later) = self.later else {
            return self.array.while_there(|| {
                count();
                self.changed(key, self.put_now(key, parts))
            });
        };
        self.array.check_there().and_then(|()| self.check(key))?;
        count();
        let mut bytes = Vec::new();
        reserve(&mut bytes, parts.iter().map(|part| part.len()).sum())?;
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        *lock::lock(later) = Some(LaterChange::Make(Change::Put(bytes, self.first_condition())));
        Ok(())
    }

    fn put_now(&self, key: &str, parts: &[&[u8]]) -> Result<()> {
        let (store, mut condition) = (&*self.array.store, self.condition);
        if (self.old.is_some() || self.looked.is_some())
            && let Some(files) = store.files()
        {
            return files.put_over(key, parts, &|| self.check(key));
        }
        let Some(fence) = self.array.fence() else { return store.put(key, parts, condition) };
        if condition == Condition::None {
            if !self.again {
                let stored = store.put(key, parts, Condition::Absent);
                if !swap::is_overtaken(store, &stored) {
                    return stored;
                }
            }
            condition = start_and_wait(store, key, &[], None)?.map_or(Condition::Absent, |found| Condition::Match(found.version));
        }
        // In this order: what was found is nothing of another writer's if the array is the own one after that.
        if let Condition::Match(_) = condition {
            fence.check()?;
        }
        store.put(key, parts, condition)
    }

    /// The condition of the first try: of what nobody has looked at yet, that nothing is there, where another writer may take the array over.
    fn first_condition(&self) -> Condition {
        if self.condition == Condition::None && self.array.fence().is_some() { Condition::Absent } else { self.condition }
    }

    /// Erases a key, where that can be done.
    pub fn erase(&self, key: &str) -> Result<()> {
        let Some(later) = self.later else {
            return self.array.while_there(|| {
                self.check(key)?;
                stats::count(Counter::Erased, 1);
                self.changed(key, self.array.store.erase(key).map(drop))
            });
        };
        self.array.check_there().and_then(|()| self.check(key))?;
        stats::count(Counter::Erased, 1);
        *lock::lock(later) = Some(LaterChange::Make(Change::Erase));
        Ok(())
    }

    /// Makes what was staged the value of its key, at once.
    pub fn publish(&self, key: &str, staged: Staged) -> Result<()> {
        if let (Staged::Memory(bytes), Some(_)) = (&staged, self.array.fence()) {
            return self.put_again(key, bytes);
        }
        self.array.while_there(|| self.changed(key, self.array.store.publish(key, staged)))
    }

    /// Stores a value, again where another process was faster: nothing of what was there goes into it.
    fn put_again(&self, key: &str, bytes: &[u8]) -> Result<()> {
        make(self.array, || self.put(key, &[bytes]))
    }

    /// Tells the array of a key that was just changed, or that may have been in spite of an error.
    fn changed<T>(&self, key: &str, result: T) -> T {
        self.array.key_changed(key);
        result
    }
}

impl BoundArray {
    /// Replaces the encoded bytes of a chunk, whose key is locked, as every put of a whole chunk does.
    pub fn replace_stored(&self, key: &str, bytes: &[u8]) -> Result<()> {
        ChunkSink::now(self).put_again(key, bytes)
    }

    /// What a put goes by where another writer may take the array over, and the server keeps conditions.
    pub fn fence(&self) -> Option<&Arc<Fence>> {
        self.fence.as_ref().filter(|_| !self.store.capabilities().unconditional)
    }

    /// Begins a value for `key` that comes in pieces: in memory where it is put on a condition.
    pub(super) fn stage(&self, key: &str) -> Result<Staged> {
        if self.fence().is_some() { Ok(Staged::Memory(Vec::new())) } else { self.store.stage(key) }
    }

    /// Returns whether keys may be erased: not where another writer may take the array over, whose chunk it could be by then.
    pub(super) fn can_erase(&self) -> bool {
        self.store.capabilities().erasable && self.fence().is_none()
    }

    /// Keeps nothing open of a key any more, and lists it where changes are listed. For changes that are made by other means than the
    /// engine's, too.
    pub fn key_changed(&self, key: &str) {
        if self.is_sharded() {
            self.open_shards.forget(key);
        }
        if let Some(changes) = &self.changes {
            changes.add(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::chain::Chain;
    use crate::dtype::DataType;
    use crate::engine::Selection;
    use crate::engine::shard_open::tests::view;
    use crate::metadata::{Codecs, v3::codec_list};
    use crate::store::SharedStore;
    use crate::store::cache::CacheStore;
    use crate::store::fault;
    use crate::store::file_options::{FileOptions, LockMode};
    use crate::store::local::path::LOCK_NAME;
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::os::Call;
    use crate::store::suite::{TestFolder, names_in};

    const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

    /// How a test's array is stored and opened.
    #[derive(Clone, Copy, Debug)]
    struct How<'a> {
        codecs: &'a str,
        sync: SyncMode,
        lock: LockMode,
        /// What is stored before is synced.
        flushed: bool,
        /// The process that writes a part does so through a cache.
        cached: bool,
    }

    /// One chunk of 16 elements as one of several processes has it open.
    fn open(root: &std::path::Path, How { codecs, sync, lock, cached, .. }: How<'_>) -> Arc<BoundArray> {
        let codecs = Codecs::V3(codec_list(&crate::json::parse_text(codecs).unwrap()).unwrap());
        let chain = Chain::parse(&codecs, DataType::Int32, 1).unwrap();
        let local: SharedStore = Arc::new(LocalStore::open(root, true, FileOptions { sync, lock, ..FileOptions::default() }).unwrap());
        let store = if cached { Arc::new(CacheStore::new(local, 1 << 20)) } else { local };
        let mut array = BoundArray::plain((store, "a/"), (&[16], &[16]), DataType::Int32, &chain);
        array.lenient.empty_is_missing = true;
        Arc::new(array)
    }

    fn write(array: &Arc<BoundArray>, mut values: Vec<i32>) {
        let region = Selection::new(&[16], &[0], &[values.len() as i64], None).unwrap();
        // SAFETY: the memory lives as long as the call.
        unsafe { crate::engine::write(array, &region, &view(&mut values)).unwrap() };
    }

    fn stored(array: &Arc<BoundArray>) -> Vec<i32> {
        let mut values = vec![9; 16];
        // SAFETY: the memory lives as long as the call.
        unsafe { crate::engine::read(array, &Selection::all(&[16]), &view(&mut values)).unwrap() };
        values
    }

    /// What stands for an object of no bytes, which counts as missing.
    const EMPTY: i32 = -1;

    /// What a chunk held before, the two elements that one process writes, and what another one writes whole meanwhile.
    const CASES: [(Option<i32>, i32, i32); 6] =
        [(Some(3), 7, 5), (Some(3), 7, 0), (None, 7, 5), (Some(0), 0, 5), (Some(3), 0, 0), (Some(EMPTY), 7, 5)];

    /// Whether another process came as it writes before a call. Neither loses what it has written, but where both have.
    fn comes_beside(case: (Option<i32>, i32, i32), how: How<'_>, (call, after): (Call, usize)) -> bool {
        let ((before, part, whole), root) = (case, TestFolder::new("sink-beside"));
        let [own, other] = [how.cached, false].map(|cached| open(&root, How { cached, ..how }));
        // What a process has stored itself since its last flush is replaced without a sync.
        write(&own, vec![before.unwrap_or(1); 16]);
        match before {
            None => drop(own.store.erase("a/c.0").unwrap()),
            Some(EMPTY) => own.store.put("a/c.0", &[], Condition::None).unwrap(),
            // Only what the process writes then is not the fill value.
            Some(0) => write(&own, vec![3; 2]),
            Some(_) => {}
        }
        if how.flushed {
            own.store.flush().unwrap();
        }
        let writer = other.clone();
        let ((), came) = fault::before(call, after, move || write(&writer, vec![whole; 16]), || write(&own, vec![part; 2]));
        let found = stored(&other);
        let told = format!("{case:?}, before {call:?} {after}: {found:?}, {how:?}");
        assert!(!came || found[2..] == [whole; 14] && (found[..2] == [part; 2] || found[..2] == [whole; 2]), "{told}");
        assert!(names_in(&root.join("a")).iter().all(|name| [LOCK_NAME, "c.0"].contains(&&**name)), "{told}");
        came
    }

    #[test]
    fn a_chunk_that_another_process_writes_whole_beside_a_part_of_it_is_not_lost_whenever_it_comes() {
        let sharded = format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[4],"codecs":[{LITTLE}],"index_codecs":[{LITTLE}]}}}}]"#
        );
        let plain = format!("[{LITTLE}]");
        // Before the rename itself it would be lost: nothing is between the last look and that.
        let calls = [Call::Open, Call::Stat, Call::Close, Call::RenameNew, Call::Sync];
        let all = [
            (&*plain, SyncMode::Batch, true),
            (&*plain, SyncMode::Batch, false),
            (&*plain, SyncMode::Each, false),
            (&*plain, SyncMode::None, false),
            (&*sharded, SyncMode::Batch, true),
        ];
        let hows = all.map(|(codecs, sync, flushed)| {
            [false, true].map(|cached| [LockMode::Try, LockMode::None].map(|lock| How { codecs, sync, lock, flushed, cached }))
        });
        for how in hows.into_iter().flatten().flatten() {
            let points = CASES.iter().flat_map(|case| calls.map(|call| (*case, call)));
            let came: usize = points.map(|(case, call)| (0..).take_while(|after| comes_beside(case, how, (call, *after))).count()).sum();
            assert!(came > 30, "{came}");
        }
    }
}
