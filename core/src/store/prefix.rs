//! A part of a store as a store of its own, and the reverse: a prefix is put in front of every key, or taken off.

use super::keys::{MAKES_A_NODE, check_key, check_prefix};
use super::local::staged_file::StagedFile;
use super::{
    Check, Condition, CutMark, Folder, Keys, ListInto, LocalFiles, LockUse, Object, ProcessLock, SharedStore, Staged, Stamp, Started,
    Storage,
};
use crate::error::{Result, bail};
use crate::fork::ForkPreserved;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Another store under other keys.
pub struct PrefixStore {
    inner: SharedStore,
    prefix: String,
    /// Whether the prefix is put in front of keys on their way in; else it is taken off.
    adds: bool,
    /// Keys that are kept under other names ([`hidden`]) until they are revealed: other stores do not find them.
    hides: &'static [&'static str],
    revealed: Revealed,
    /// Where values are looked for that are linked to where the same bytes are put.
    links: Links,
}

/// The prefix in the store inside of what a part of it was before, which may be set later. Clones share it.
#[derive(Clone, Default)]
pub struct Links(Arc<ForkPreserved<Option<String>>>);

impl Links {
    /// Sets the prefix (empty, or ending in a slash), or none.
    pub fn set(&self, prefix: Option<String>) {
        drop(self.0.replace(prefix));
    }

    /// Whether there is one.
    pub fn is_set(&self) -> bool {
        self.0.read(Option::is_some)
    }
}

/// Whether a part of a store hides keys no more. Clones share it.
#[derive(Clone, Default)]
pub struct Revealed(Arc<AtomicBool>);

impl Revealed {
    /// From now on all keys are found by their names, or are hidden as before.
    pub fn set(&self, revealed: bool) {
        self.0.store(revealed, Ordering::Release);
    }

    /// Whether it does.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// What keys that a part of a store hides have at their end.
const HIDDEN: &str = ".begun";

/// The key under which a part of a store keeps one that it hides.
pub fn hidden(key: &str) -> String {
    format!("{key}{HIDDEN}")
}

/// The key that is hidden under this one, if one is.
pub fn hidden_by(key: &str) -> Option<&str> {
    key.strip_suffix(HIDDEN)
}

impl PrefixStore {
    /// Makes a store of the keys of `inner` below `prefix` (empty, or ending in a slash).
    pub fn below(inner: SharedStore, prefix: &str) -> Result<PrefixStore> {
        check_prefix(prefix)?;
        Ok(PrefixStore {
            inner,
            prefix: prefix.to_string(),
            adds: true,
            hides: &[],
            revealed: Revealed::default(),
            links: Links::default(),
        })
    }

    /// Makes a store of the keys of `inner` below `prefix`, of which those in `hides` are not found there by their names before they are revealed.
    pub fn hiding(
        inner: SharedStore,
        prefix: &str,
        hides: &'static [&'static str],
        revealed: Revealed,
        links: Links,
    ) -> Result<PrefixStore> {
        Ok(PrefixStore { hides, revealed, links, ..PrefixStore::below(inner, prefix)? })
    }

    /// All of `inner`, seen as if it lay below `prefix`; other keys are errors.
    pub fn above(inner: SharedStore, prefix: &str) -> Result<PrefixStore> {
        check_prefix(prefix)?;
        Ok(PrefixStore {
            inner,
            prefix: prefix.to_string(),
            adds: false,
            hides: &[],
            revealed: Revealed::default(),
            links: Links::default(),
        })
    }

    fn inside<'a>(&self, key: &'a str) -> Result<Cow<'a, str>> {
        if self.adds {
            return Ok(Cow::Owned(format!("{}{key}", self.prefix)));
        }
        match key.strip_prefix(&self.prefix) {
            Some(rest) => Ok(Cow::Borrowed(rest)),
            None => bail!(Internal, "the key {key:?} does not begin with {:?}", self.prefix),
        }
    }

    /// A key, checked as it came.
    fn key<'a>(&self, key: &'a str) -> Result<Cow<'a, str>> {
        check_key(key)?;
        match self.hides.contains(&key) && !self.revealed.is_set() {
            true => Ok(Cow::Owned(format!("{}{}", self.prefix, hidden(key)))),
            false => self.inside(key),
        }
    }

    /// Does something with a key. Its errors name the one of the store inside, which is what they tell the place of.
    fn with<T>(&self, key: &str, work: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        let inside = self.key(key)?;
        work(&inside).map_err(|e| if self.adds { e.at_key(&*inside) } else { e })
    }

    /// Makes `to`, a key of the store inside, a link to the value that `key` had before, if that is a file of the same bytes; else `false`. What `to` held is
    /// replaced if `check` is given and succeeds.
    fn link_same(&self, key: &str, to: &str, parts: &[&[u8]], check: Option<Check<'_>>) -> Result<bool> {
        let Some(before) = self.links.0.read(|prefix| prefix.as_ref().map(|prefix| format!("{prefix}{key}"))) else { return Ok(false) };
        // What cannot be read is not known to be the same: a file of another user's, or one where this key has a folder, of an array of fewer dimensions.
        if !self.holds_bytes(&before, parts).unwrap_or(false) {
            return Ok(false);
        }
        let Some(file) = self.inner.file(&before) else { return Ok(false) };
        check.map_or(Ok(()), |check| check())?;
        make_young(&file);
        self.inner.link(to, &file, check.is_some())
    }

    /// Whether a key of the store inside is a file of these bytes.
    fn holds_bytes(&self, key: &str, parts: &[&[u8]]) -> Result<bool> {
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        let (Some(_), Some(object)) = (self.inner.files(), self.inner.open(key)?) else { return Ok(false) };
        if object.len()? != len as u64 {
            return Ok(false);
        }
        let (mut bytes, mut at) = (Vec::new(), 0);
        object.read_whole(&mut bytes, len)?;
        let is_same = |part: &&[u8]| {
            at += part.len();
            bytes.get(at - part.len()..at) == Some(*part)
        };
        Ok(bytes.len() == len && parts.iter().all(is_same))
    }

    fn prefix_inside<'a>(&self, prefix: &'a str) -> Result<Cow<'a, str>> {
        check_prefix(prefix)?;
        self.inside(prefix)
    }
}

/// Gives a file the time of now, unless it is of the last day, where this user may: what scratch disks remove for its age is not to be what has just got a
/// name.
fn make_young(file: &Path) {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let now = SystemTime::now();
    let modified = std::fs::metadata(file).and_then(|known| known.modified());
    if modified.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > DAY)) {
        let _ = std::fs::File::open(file).and_then(|file| file.set_modified(now));
    }
}

impl Storage for PrefixStore {
    super::forward!(inner: capabilities, flush);

    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.with(key, |key| self.inner.open(key))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        self.with(key, |key| self.inner.read_all(key, max))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        let name = key.rsplit('/').next().unwrap_or(key);
        let is_document = MAKES_A_NODE.contains(&name) || name == ".zattrs";
        self.with(key, |to| {
            let linked = match condition {
                // Other programs change documents in place.
                _ if is_document => false,
                Condition::Match(_) => false,
                Condition::None => self.link_same(key, to, parts, Some(&|| Ok(())))?,
                Condition::Absent => self.link_same(key, to, parts, None)?,
            };
            if linked { Ok(()) } else { self.inner.put(to, parts, condition) }
        })
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.with(key, |key| self.inner.stage(key))
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        match keys {
            Keys::One(key) => self.with(key, |key| self.inner.erase_keys(Keys::One(key))),
            Keys::Below(prefix) => self.inner.erase_keys(Keys::Below(&self.prefix_inside(prefix)?)),
        }
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        let inside = self.prefix_inside(prefix)?;
        let renamed = |key: &str| match self.adds {
            true => key.strip_prefix(&self.prefix).unwrap_or(key).to_string(),
            false => format!("{}{key}", self.prefix),
        };
        match into {
            ListInto::Each(each) => self.inner.list_keys(&inside, ListInto::Each(&mut |key| each(&renamed(key)))),
            ListInto::Told(each) => self.inner.list_keys(&inside, ListInto::Told(&mut |key, told| each(&renamed(key), told))),
            ListInto::Folder(_) => self.inner.list_keys(&inside, into),
        }
    }

    fn lock_key(&self, prefix: &str, key: &str, lock_use: LockUse) -> Result<Option<ProcessLock>> {
        self.inner.lock_key(&self.prefix_inside(prefix)?, &self.key(key)?, lock_use)
    }

    fn start(&self, key: &str, what: Started<'_>) {
        match self.key(key) {
            Ok(key) => self.inner.start(&key, what),
            Err(e) => what.fail(e),
        }
    }

    fn files(&self) -> Option<&dyn LocalFiles> {
        self.inner.files().map(|_| self as &dyn LocalFiles)
    }

    fn describe(&self) -> String {
        let (inner, prefix) = (self.inner.describe(), self.prefix.trim_end_matches('/'));
        if self.adds && !prefix.is_empty() { format!("{}/{prefix}", inner.trim_end_matches('/')) } else { inner }
    }
}

/// Given out only where `inner` has files.
impl LocalFiles for PrefixStore {
    fn folder(&self, prefix: &str) -> Folder {
        self.inside(prefix).map_or(Folder::Unknown, |prefix| self.inner.folder(&prefix))
    }

    fn is_there(&self, folder: &Folder, prefix: &str) -> bool {
        self.inside(prefix).is_ok_and(|prefix| self.inner.is_there(folder, &prefix))
    }

    fn folder_numbers(&self, prefix: &str) -> Result<Option<[u64; 2]>> {
        self.inner.folder_numbers(&self.prefix_inside(prefix)?)
    }

    fn open_in(&self, folder: &Folder, key: &str) -> Result<Option<Object>> {
        self.inner.open_in(folder, &self.key(key)?)
    }

    fn stamp(&self, key: &str) -> Result<Option<Stamp>> {
        self.inner.stamp(&self.key(key)?)
    }

    fn holds(&self, key: &str, old: &Object) -> Result<bool> {
        self.inner.holds(&self.key(key)?, old)
    }

    fn put_over(&self, key: &str, parts: &[&[u8]], check: Check<'_>) -> Result<()> {
        let Some(files) = self.inner.files() else { bail!(Internal, "the store has no files") };
        self.with(key, |to| if self.link_same(key, to, parts, Some(check))? { Ok(()) } else { files.put_over(to, parts, check) })
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        self.inner.file(&self.key(key).ok()?)
    }

    fn link(&self, key: &str, file: &Path, replaces: bool) -> Result<bool> {
        self.inner.link(&self.key(key)?, file, replaces)
    }

    fn rename_prefix(&self, from: &str, to: &str) -> Result<bool> {
        self.inner.rename_prefix(&self.prefix_inside(from)?, &self.prefix_inside(to)?)
    }

    fn replace_prefix(&self, prefix: &str, build: &mut dyn FnMut(SharedStore) -> Result<()>, done: &mut dyn FnMut()) -> Result<bool> {
        // What is hidden would have its own name in the new one.
        let hides = prefix.is_empty() && !self.hides.is_empty();
        if hides { Ok(false) } else { self.inner.replace_prefix(&self.prefix_inside(prefix)?, build, done) }
    }

    fn check_erase(&self, prefix: &str) -> Result<()> {
        self.inner.check_erase(&self.prefix_inside(prefix)?)
    }

    fn note_cut(&self, prefix: &str) -> Result<()> {
        self.inner.note_cut(&self.prefix_inside(prefix)?)
    }

    fn sync_first(&self, key: &str) -> Result<()> {
        self.inner.sync_first(&self.key(key)?)
    }

    fn cut_mark(&self, prefix: &str, keep: bool) -> Result<Option<CutMark>> {
        self.inner.cut_mark(&self.prefix_inside(prefix)?, keep)
    }

    fn publish(&self, key: &str, staged: Box<StagedFile>) -> Result<()> {
        self.with(key, |key| self.inner.publish(key, Staged::File(staged)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StorageExt;
    use crate::store::memory::MemoryStore;

    #[test]
    fn a_part_of_a_store_behaves_as_a_store_and_leaves_the_rest_alone() {
        let all: SharedStore = Arc::new(MemoryStore::new());
        all.put("ab", &[b"beside"], Condition::None).unwrap();
        crate::store::suite::check(&PrefixStore::below(all.clone(), "").unwrap());
        let part = PrefixStore::below(all.clone(), "a/b/").unwrap();
        part.put("k", &[b"1"], Condition::None).unwrap();
        part.put("l/m", &[b"2"], Condition::None).unwrap();
        let dir = part.list_dir("").unwrap();
        assert_eq!((dir.keys, dir.prefixes), (vec!["k".to_string()], vec!["l".to_string()]));
        part.erase_prefix("").unwrap();
        assert!(part.open("k").unwrap().is_none() && all.open("ab").unwrap().is_some());
        assert!(part.open("../k").is_err());
        assert!(PrefixStore::below(all, "a").is_err());
    }

    #[test]
    fn a_key_that_is_hidden_is_found_in_the_part_only_before_it_is_revealed() {
        let (all, revealed): (SharedStore, _) = (Arc::new(MemoryStore::new()), Revealed::default());
        let part = PrefixStore::hiding(all.clone(), "a/", &["k"], revealed.clone(), Links::default()).unwrap();
        part.put("k", &[b"1"], Condition::Absent).unwrap();
        part.put("b/k", &[b"2"], Condition::Absent).unwrap();
        assert!(part.open("k").unwrap().is_some() && all.open("a/k").unwrap().is_none());
        assert!(all.open(&hidden("a/k")).unwrap().is_some() && all.open("a/b/k").unwrap().is_some());
        assert!(part.erase("k").unwrap() && part.open("k").unwrap().is_none());
        all.put("a/k", &[b"3"], Condition::Absent).unwrap();
        assert!(part.open("k").unwrap().is_none());
        revealed.set(true);
        assert!(part.open("k").unwrap().is_some());
        revealed.set(false);
        assert!(part.open("k").unwrap().is_none());
    }

    #[test]
    fn a_prefix_that_is_put_on_can_be_taken_off() {
        let all: SharedStore = Arc::new(MemoryStore::new());
        let part: SharedStore = Arc::new(PrefixStore::below(all.clone(), "g/a/").unwrap());
        let same = PrefixStore::above(part, "g/a/").unwrap();
        same.put("g/a/c/0", &[b"1"], Condition::Absent).unwrap();
        assert!(all.open("g/a/c/0").unwrap().is_some());
        assert_eq!(same.keys("g/a/").unwrap(), ["g/a/c/0"]);
        assert!(same.open("g/b").is_err());
        assert!(same.erase("g/a/c/0").unwrap());
    }
}
