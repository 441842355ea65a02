//! Shards that are kept open with the array, with their indexes decoded: reading one more element of one costs one look at the
//! file (`fstatat`) and one read.
//!
//! Files are kept open, so that index and data come from one file; one that was replaced, erased, linked or changed since is
//! opened again. Other stores are asked for the version. A child of `fork` goes on with what is there.

use super::scratch::ChainScratch;
use super::shard_index::read_index;
use super::stats::{self, Counter};
use crate::codec::Sharded;
use crate::error::Result;
use crate::fork::ForkPreserved;
use crate::platform::libc;
use crate::store::{Object, Stamp, Storage, Version, os};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// The most shards that are kept for an array.
const MOST: usize = 16;
/// The most bytes of their indexes together.
const MOST_BYTES: usize = 32 << 20;
/// The most files that all arrays of the process keep open; also no more than a quarter of what it may have.
const MOST_FILES: usize = 256;

/// The number of files that are kept open now.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// The shards of one array that are kept open.
#[derive(Default)]
pub struct OpenShards {
    shards: ForkPreserved<Vec<Arc<OpenShard>>>,
    clock: AtomicU64,
}

/// One of them.
pub(super) struct OpenShard {
    key: String,
    /// Of a file.
    file: Option<KeptFile>,
    /// What it was like when it was opened; `None` where only the version is known.
    mark: Option<Stamp>,
    version: Option<Version>,
    /// In the native form.
    pub index: Vec<u8>,
    /// The indexes of shards inside of it, by their places in the object.
    inner: ForkPreserved<Vec<(Span, Arc<Vec<u8>>)>>,
    used: AtomicU64,
}

/// Offset and length in an object.
type Span = (u64, u64);

impl OpenShard {
    /// Returns the index of the inner shard that is there, in the native form.
    pub(super) fn inner(&self, span: Span) -> Option<Arc<Vec<u8>>> {
        self.inner.read(|all| all.binary_search_by_key(&span, |(at, _)| *at).ok().map(|i| all[i].1.clone()))
    }

    /// Keeps the index of an inner shard, as far as a shard's part of [`MOST_BYTES`] goes; beyond it the others are forgotten.
    pub(super) fn keep_inner(&self, span: Span, index: &[u8]) {
        let room = (MOST_BYTES / MOST).saturating_sub(self.index.len());
        let mut copy = Vec::new();
        if index.len() > room || crate::limits::reserve(&mut copy, index.len()).is_err() {
            return;
        }
        copy.extend_from_slice(index);
        let _gone = self.inner.write(|all| {
            let known: usize = all.iter().map(|(_, index)| index.len()).sum();
            let gone = if known + copy.len() > room { std::mem::take(all) } else { Vec::new() };
            if let Err(i) = all.binary_search_by_key(&span, |(at, _)| *at)
                && all.try_reserve(1).is_ok()
            {
                all.insert(i, (span, Arc::new(copy)));
            }
            gone
        });
    }

    /// Returns the bytes that it may have in all.
    fn most_bytes(&self) -> usize {
        self.index.len().max(MOST_BYTES / MOST)
    }
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
pub(super) struct HeldShard {
    shard: Arc<OpenShard>,
    /// Where the shard itself has no file.
    object: Option<Object>,
    /// The length of the object.
    pub len: u64,
    /// What the object was like before anything was read of it now.
    pub mark: Stamp,
}

impl HeldShard {
    /// Returns what to read from.
    pub fn object(&self) -> Result<&Object> {
        let kept = self.shard.file.as_ref().map(|file| &file.0);
        self.object.as_ref().or(kept).ok_or_else(|| crate::error::err!(Internal, "an open shard without an object"))
    }

    /// Returns what is kept of the shard.
    pub fn shard(&self) -> &OpenShard {
        &self.shard
    }

    /// Returns the index in the native form.
    pub fn index(&self) -> &[u8] {
        &self.shard.index
    }
}

impl OpenShards {
    /// Returns what is kept of a key.
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

    /// Keeps nothing any more; false if nothing was.
    pub fn forget_all(&self) -> bool {
        // The lock of an array of which no shard was ever kept need not be made.
        self.clock.load(Relaxed) > 0 && !self.shards.replace(Vec::new()).is_empty()
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
            let mut bytes = shard.most_bytes() + all.iter().map(|s| s.most_bytes()).sum::<usize>();
            while all.len() >= MOST || bytes > MOST_BYTES {
                let Some(i) = (0..all.len()).min_by_key(|&i| all[i].used.load(Relaxed)) else { break };
                bytes -= all[i].most_bytes();
                remove(all, i);
            }
            all.push(shard);
        });
    }

    /// Returns the version that is kept of a key and its index, for stores with latency.
    pub(super) fn version(&self, key: &str) -> Option<(Version, Arc<OpenShard>)> {
        let found = self.find(key)?;
        Some((found.version?, found))
    }

    /// Keeps an index that was read of that version, if a later change gives another one.
    pub(super) fn keep_version(&self, key: &str, version: Version, index: &[u8]) {
        let mut copy = Vec::new();
        if !version.is_settled() {
            return self.forget(key);
        }
        // What is known of the shards inside of it stays so.
        if self.find(key).is_some_and(|kept| kept.version == Some(version) && kept.index == index) {
            return;
        }
        if index.len() > MOST_BYTES || crate::limits::reserve(&mut copy, index.len()).is_err() {
            return;
        }
        copy.extend_from_slice(index);
        let (key, version) = (key.to_string(), Some(version));
        self.keep(Arc::new(OpenShard {
            key,
            file: None,
            mark: None,
            version,
            index: copy,
            inner: ForkPreserved::new(Vec::new()),
            used: AtomicU64::new(0),
        }));
    }
}

impl OpenShards {
    /// Opens the object of a key. Where the process has too many files, those that are kept open make room.
    fn open_object(&self, store: &dyn Storage, key: &str) -> Result<Option<Object>> {
        match store.open(key) {
            Err(e) if matches!(e.os_errno(), libc::EMFILE | libc::ENFILE) && self.forget_all() => store.open(key),
            other => other,
        }
    }

    /// Opens a shard with its index: the kept one if it is still what the key holds. `None` if the key holds nothing.
    pub(super) fn open(&self, store: &dyn Storage, shard: &Sharded, key: &str, s: &mut ChainScratch) -> Result<Option<HeldShard>> {
        let mut opened = None;
        if let Some(kept) = self.find(key) {
            let held = match &kept.file {
                Some(file) => Some(&file.0),
                None => {
                    opened = self.open_object(store, key)?;
                    opened.as_ref()
                }
            };
            // A file that cannot be asked any more (on a server, say) is opened again.
            let mark = held.and_then(|object| store.stamp_of(key, object).ok().flatten());
            if let Some(mark) = mark.filter(|mark| Some(*mark) == kept.mark) {
                stats::count(Counter::IndexHits, 1);
                return Ok(Some(HeldShard { shard: kept, object: opened, len: mark.len, mark }));
            }
            self.forget(key);
        }
        let object = match opened {
            Some(object) => object,
            None => match self.open_object(store, key)? {
                Some(object) => object,
                None => return Ok(None),
            },
        };
        let mark = object.stamp()?;
        let index = read_index(&object, shard, mark.len, s)?;
        let (file, rest) = match &object {
            Object::File(_) => match KeptFile::new(object) {
                Ok(file) => (Some(file), None),
                Err(object) => (None, Some(object)),
            },
            _ => (None, Some(object)),
        };
        // Of files beyond the limit nothing is kept, nor where a change of the file may not show.
        let keep = mark.current && mark.is_settled() && !matches!(rest, Some(Object::File(_)));
        let open = OpenShard {
            key: key.to_string(),
            file,
            mark: Some(mark),
            version: None,
            index,
            inner: ForkPreserved::new(Vec::new()),
            used: AtomicU64::new(0),
        };
        let held = HeldShard { shard: Arc::new(open), object: rest, len: mark.len, mark };
        if keep {
            self.keep(held.shard.clone());
        }
        Ok(Some(held))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::codec::chain::Chain;
    use crate::dtype::DataType;
    use crate::engine::{BoundArray, Memory, Selection, read, write};
    use crate::metadata::{Codecs, v3::codec_list};
    use crate::store::SharedStore;
    use crate::store::fault;
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::os::Call;
    use crate::store::suite::TestFolder;

    pub fn array(root: &std::path::Path, codecs: &str) -> Arc<BoundArray> {
        let codecs = Codecs::V3(codec_list(&crate::json::parse_text(codecs).unwrap()).unwrap());
        let store: SharedStore = Arc::new(LocalStore::open(root, true, SyncMode::None).unwrap());
        let chain = Chain::parse(&codecs, DataType::Int32, 1).unwrap();
        Arc::new(BoundArray::plain((store, "a/"), (&[64], &[16]), DataType::Int32, &chain))
    }

    pub fn view(data: &mut [i32]) -> Memory {
        let shape = [data.len() as u64];
        Memory::of(data, &shape, DataType::Int32)
    }

    /// Writes the numbers from 1 on, and waits until what is read of them may be kept. Gives what reads one of them by its index, and checks it.
    fn counting(array: &Arc<BoundArray>) -> impl Fn(i64) {
        let mut values: Vec<i32> = (1..65).collect();
        // SAFETY: the memory lives as long as the call.
        unsafe { write(array, &Selection::all(&[64]), &view(&mut values)).unwrap() };
        std::thread::sleep(std::time::Duration::from_millis(40));
        |at| {
            let mut value = [0];
            let one = Selection::new(&[64], &[at], &[1], None).unwrap();
            // SAFETY: as above.
            unsafe { read(array, &one, &view(&mut value)).unwrap() };
            assert_eq!(value[0], at as i32 + 1);
        }
    }

    #[test]
    fn an_index_is_kept_by_a_version_that_tells_every_later_change() {
        let shards = OpenShards::default();
        for (version, kept) in
            [(Version::untagged(1, 9).seen_at(Some(60)), true), (Version::untagged(1, 9), false), (Version::new([1, 2, 3, 4]), true)]
        {
            shards.keep_version("a", version, b"index");
            assert_eq!(shards.version("a").map(|(found, _)| found), kept.then_some(version));
            // With what is known of the shards inside of it, as long as it is the same.
            let [before, same, other] = [b"index", b"index", b"other"].map(|index| {
                shards.keep_version("a", version, index);
                shards.version("a").map(|(_, shard)| Arc::as_ptr(&shard))
            });
            assert!(before == same && (!kept || same != other), "{kept}");
        }
    }

    #[test]
    fn a_cold_element_is_an_open_and_two_reads_and_a_warm_one_a_look_and_a_read() {
        let root = TestFolder::new("open");
        for (location, inner) in [("start", ""), ("end", r#",{"name":"zstd","configuration":{"level":1}}"#)] {
            let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
            let array = array(
                &root,
                &format!(
                    r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[4],"codecs":[{little}{inner}],"index_codecs":
                    [{little},{{"name":"crc32c"}}],"index_location":"{location}"}}}}]"#
                ),
            );
            let element = counting(&array);
            let calls = |at: i64, call: Call| {
                array.open_shards.forget_all();
                let cold = fault::count(call, || element(at));
                let warm = fault::count(call, || element(at + 5));
                (cold, warm)
            };
            for at in [0, 17, 49] {
                assert_eq!(calls(at, Call::Open), (1, 0));
                assert_eq!(calls(at, Call::Stat), (1, 1));
                assert_eq!(calls(at, Call::Read), (2, 1));
            }
        }
    }

    /// An array whose inner chunks and indexes have no codecs but the byte order.
    fn array_of_shards(root: &TestFolder) -> Arc<BoundArray> {
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let configuration = format!(r#"{{"chunk_shape":[4],"codecs":[{little}],"index_codecs":[{little}]}}"#);
        array(root, &format!(r#"[{{"name":"sharding_indexed","configuration":{configuration}}}]"#))
    }

    /// Another program may write the file where it is, twice within one step of the clock.
    #[test]
    fn a_shard_is_not_kept_while_another_change_could_leave_no_trace() {
        let root = TestFolder::new("open-unsettled");
        let array = array_of_shards(&root);
        let element = counting(&array);
        let keeps = || {
            element(1);
            array.open_shards.find("a/c.0").is_some()
        };
        assert!(keeps());
        let times = std::fs::FileTimes::new().set_modified(std::time::SystemTime::now());
        std::fs::File::options().append(true).open(root.join("a/c.0")).unwrap().set_times(times).unwrap();
        assert!(!keeps());
        std::thread::sleep(std::time::Duration::from_millis(40));
        assert!(keeps());
    }

    /// The open file keeps its name when a folder above it is moved, and another one put in its place.
    #[test]
    fn a_shard_is_opened_again_where_its_folder_was_moved() {
        let root = TestFolder::new("open-moved");
        let [own, other] = [&root; 2].map(array_of_shards);
        let _ = [&own, &other].map(counting);
        let second = || {
            let mut value = [0];
            // SAFETY: the memory lives as long as the call.
            unsafe { read(&own, &Selection::new(&[64], &[1], &[1], None).unwrap(), &view(&mut value)).unwrap() };
            value[0]
        };
        assert_eq!(second(), 2);
        assert!(own.open_shards.find("a/c.0").is_some());
        std::fs::rename(root.join("a"), root.join("b")).unwrap();
        assert_eq!(second(), 0, "the fill value");
        // SAFETY: as above.
        unsafe { write(&other, &Selection::all(&[64]), &view(&mut [7; 64])).unwrap() };
        assert_eq!(second(), 7);
        std::thread::sleep(std::time::Duration::from_millis(40));
        assert_eq!(second(), 7);
        assert_eq!([Call::Open, Call::Stat].map(|call| fault::count(call, || assert_eq!(second(), 7))), [0, 1]);
    }

    #[test]
    fn the_indexes_of_inner_shards_are_kept_too_within_the_same_limit() {
        let root = TestFolder::new("open-nested");
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let sharding = |inner: &str, shape: &str| {
            format!(
                r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{shape}],"codecs":[{inner}],"index_codecs":[{little},"crc32c"]}}}}"#
            )
        };
        let array = array(&root, &format!("[{}]", sharding(&sharding(little, "2"), "8")));
        let element = counting(&array);
        // Both indexes and the chunk; the chunk alone; the index of the other inner shard and a chunk; of both then chunks only.
        let reads = |at: i64| fault::count(Call::Read, || element(at));
        assert_eq!([0, 7, 8, 15, 1, 9].map(reads), [3, 1, 2, 1, 1, 1]);
        array.open_shards.forget_all();
        assert_eq!(reads(3), 3);
        let kept = array.open_shards.find("a/c.0").unwrap();
        let share = MOST_BYTES / MOST;
        kept.keep_inner((1, 1), &vec![7; share]);
        assert!(kept.inner((1, 1)).is_none());
        kept.keep_inner((1, 1), &vec![7; share - 100]);
        kept.keep_inner((2, 1), &[8; 90]);
        assert!(kept.inner((1, 1)).is_none() && kept.inner((2, 1)).is_some_and(|index| *index == [8; 90]));
    }

    #[test]
    fn a_child_of_fork_reads_from_the_shards_that_the_parent_has_open() {
        let root = TestFolder::new("open-fork");
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let array = array(
            &root,
            &format!(
                r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[4],"codecs":[{little}],"index_codecs":[{little}]}}}}]"#
            ),
        );
        let mut values: Vec<i32> = (1..65).collect();
        let all = Selection::all(&[64]);
        // SAFETY: the memory lives as long as the calls.
        unsafe { write(&array, &all, &view(&mut values)).unwrap() };
        let good = || {
            let mut back = vec![0; 64];
            // SAFETY: as above.
            unsafe { read(&array, &all, &view(&mut back)) }.is_ok() && back[63] == 64
        };
        assert!(good());
        // SAFETY: the child reads, and ends without unwinding.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let code = if good() { 42 } else { 1 };
            // SAFETY: ends the child.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: `status` is an int.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(libc::WEXITSTATUS(status), 42);
        assert!(good());
    }
}
