//! A store that is made of functions of the program: what they give is checked here before anything believes it.
//!
//! Each function is one method of [`Calls`]; those that are missing ([`Can`]) are made of the others. What a range gives has the
//! range's length, every value has a version (the program's token, or a digest of the bytes), listings are sorted and hold keys of
//! the prefix only. Where the functions can give ranges of one version, opening a key asks for its version, and reading it for ranges
//! of that version; where they cannot, a key is read whole when it is opened, once, and an object is the bytes of that moment.

pub use super::ByteRange;
use super::keys::{GOES_LAST, check_key, check_prefix};
use super::snapshot::Snapshot;
use super::token::{digest_of, short_token, version_of_token};
use super::{Capabilities, Condition, Fetched, Keys, ListInto, ListedKey, Listing, Object, ReadObject, Started, Storage, Version};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::push;
use std::sync::{Arc, OnceLock};

/// Which functions there are, and what they can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Can {
    /// [`Calls::get_ranges`]; without it whole values are read.
    pub get_ranges: bool,
    /// [`Calls::start`].
    pub start: bool,
    /// [`Calls::put`]; without it the store is for reading only.
    pub put: bool,
    /// [`Calls::put_if`]; without it conditions are looked at before a put, and other programs may come in between.
    pub put_if: bool,
    /// [`Calls::erase`].
    pub erase: bool,
    /// [`Calls::erase_prefix`]; without it keys are listed and erased one by one.
    pub erase_prefix: bool,
    /// [`Calls::list`].
    pub list: bool,
    /// [`Calls::list_dir`]; without it all keys are listed.
    pub list_dir: bool,
    /// Answers bring a token. Without tokens versions are digests of whole values, and ranges are cut out of these.
    pub versions: bool,
    /// The functions may be called by any thread, also at the same time.
    pub any_thread: bool,
}

/// What a function gave for a key.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The bytes of each range, in order; of a whole value one part.
    pub parts: Vec<Vec<u8>>,
    /// What tells this value from others under the same key.
    pub token: Option<Vec<u8>>,
    /// The bytes of the whole value, where the functions say so.
    pub size: Option<u64>,
}

/// Takes what became of [`Calls::start`].
pub type AnswerDone = Box<dyn FnOnce(Result<Option<Answer>>) + Send>;

/// The most bytes of a token.
pub const MAX_TOKEN: usize = 1024;

/// The functions of a program's store. Nothing that they give is believed. `None` and `false`: the key holds nothing.
#[allow(missing_docs)] // Their meaning is that of the methods of `Storage`.
pub trait Calls: Send + Sync {
    fn name(&self) -> &str;
    fn can(&self) -> Can;
    fn get(&self, key: &str) -> Result<Option<Answer>>;
    fn get_ranges(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Answer>>;
    fn start(&self, key: &str, ranges: &[ByteRange], done: AnswerDone);
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()>;
    /// `token` is that of the value to be replaced, `None` for none.
    fn put_if(&self, key: &str, bytes: &[u8], token: Option<&[u8]>) -> Result<()>;
    fn erase(&self, key: &str) -> Result<bool>;
    fn erase_prefix(&self, prefix: &str) -> Result<()>;
    fn list(&self, prefix: &str) -> Result<Vec<String>>;
    /// Names below the prefix; those of sub-prefixes end in a slash.
    fn list_dir(&self, prefix: &str) -> Result<Vec<String>>;
    fn flush(&self) -> Result<()>;
}

/// A store of functions.
pub struct CallbackStore {
    calls: Arc<dyn Calls>,
    can: Can,
}

impl CallbackStore {
    /// The store that these functions make.
    pub fn new(calls: Arc<dyn Calls>) -> CallbackStore {
        let can = calls.can();
        CallbackStore { calls, can }
    }

    /// Makes a store of functions that use the store `inner`.
    pub fn over(calls: Arc<dyn Calls>, inner: &dyn Storage) -> CallbackStore {
        let mut store = CallbackStore::new(calls);
        store.can.any_thread &= inner.any_thread();
        store
    }

    fn lied(&self, what: &str, said: String) -> Error {
        err!(Callback, "the function `{what}` of the store {} {said}", self.calls.name())
    }

    fn whole(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>> {
        check_key(key)?;
        whole(&*self.calls, self.can, key)
    }

    fn ranges(&self, key: &str, ranges: &[ByteRange], wanted: Option<Version>) -> Result<Option<Fetched>> {
        check_key(key)?;
        if !self.cuts() || matches!(ranges, [ByteRange::Whole { .. }]) {
            let Some((bytes, version)) = self.whole(key)? else { return Ok(None) };
            check_same(version, wanted)?;
            if let [range @ ByteRange::Whole { .. }] = ranges {
                piece(&bytes, *range)?;
                return Ok(Some(Fetched { parts: vec![bytes], version }));
            }
            let parts = ranges.iter().map(|range| cut(&bytes, *range)).collect::<Result<_>>()?;
            return Ok(Some(Fetched { parts, version }));
        }
        ranges_of(&*self.calls, key, ranges, wanted)
    }

    /// Opens a key without reading it.
    fn look(&self, key: &str) -> Result<Option<Object>> {
        let Some(answer) = self.calls.get_ranges(key, &[])? else { return Ok(None) };
        let size = answer.size;
        let version = checked(self.calls.name(), "get_ranges", answer, &[])?.version;
        let (calls, key) = (self.calls.clone(), key.to_string());
        Ok(Some(Object::Other(Box::new(Ranged { calls, can: self.can, key, version, size, all: OnceLock::new() }))))
    }

    /// Whether the functions can give ranges of one version.
    fn cuts(&self) -> bool {
        self.can.get_ranges && self.can.versions
    }

    fn need(&self, has: bool, what: &str) -> Result<()> {
        if !has {
            bail!(Unsupported, "{} cannot {what}", self.describe());
        }
        Ok(())
    }

    /// Looks at a condition before a put, where the functions cannot.
    fn check(&self, key: &str, condition: Condition) -> Result<()> {
        match (condition, self.whole(key)?) {
            (Condition::None, _) | (Condition::Absent, None) => Ok(()),
            (Condition::Match(wanted), Some((_, version))) if wanted == version => Ok(()),
            (Condition::Absent, Some(_)) => bail!(Conflict, "the key holds a value already"),
            (Condition::Match(_), _) => bail!(Conflict, "the key holds another value by now"),
        }
    }

    fn put_if(&self, key: &str, bytes: &[u8], condition: Condition) -> Result<()> {
        let Condition::Match(version) = condition else { return self.calls.put_if(key, bytes, None) };
        if let Some(token) = short_token(&version) {
            return self.calls.put_if(key, bytes, Some(&token));
        }
        // Of a long token there is a digest only: the token itself is that of the value that has the digest now.
        let token = self.calls.get(key)?.and_then(|answer| answer.token).unwrap_or_default();
        if version_of_token(&token) != version {
            bail!(Conflict, "the key holds another value by now");
        }
        self.calls.put_if(key, bytes, Some(&token))
    }

    fn keys(&self, prefix: &str) -> Result<Vec<String>> {
        check_prefix(prefix)?;
        self.need(self.can.list, "list keys")?;
        let mut keys = self.calls.list(prefix)?;
        for key in &keys {
            if !key.starts_with(prefix) {
                return Err(self.lied("list", format!("gave the key {key:?}, which does not begin with {prefix:?}")));
            }
            check_key(key).map_err(|e| self.lied("list", format!("gave no key: {}", e.message())))?;
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }

    /// Lists what is directly under a prefix.
    fn list_folder(&self, prefix: &str, listing: &mut Listing) -> Result<()> {
        if self.can.list_dir {
            check_prefix(prefix)?;
            for name in self.calls.list_dir(prefix)? {
                let (name, names) = match name.strip_suffix('/') {
                    Some(folder) => (folder, &mut listing.prefixes),
                    None => (name.as_str(), &mut listing.keys),
                };
                if name.contains('/') || check_key(name).is_err() {
                    return Err(self.lied("list_dir", format!("gave {name:?}, expected a name, or one and a slash")));
                }
                push(names, name.to_string())?;
            }
        } else {
            for key in self.keys(prefix)? {
                let rest = key.get(prefix.len()..).unwrap_or_default();
                match rest.split_once('/') {
                    Some((folder, _)) => push(&mut listing.prefixes, folder.to_string())?,
                    None => push(&mut listing.keys, rest.to_string())?,
                }
            }
        }
        for names in [&mut listing.keys, &mut listing.prefixes] {
            names.sort_unstable();
            names.dedup();
        }
        Ok(())
    }
}

/// What a key holds, whole, and its version.
fn whole(calls: &dyn Calls, can: Can, key: &str) -> Result<Option<(Vec<u8>, Version)>> {
    let Some(mut answer) = calls.get(key)? else { return Ok(None) };
    if !can.versions {
        answer.token = None;
    }
    let version = match (&answer.token, answer.parts.first()) {
        (None, Some(bytes)) if !can.versions => digest_of(bytes),
        _ => Version::new([0; 4]),
    };
    let fetched = if can.versions {
        checked(calls.name(), "get", answer, &[ByteRange::WHOLE])?
    } else {
        Fetched { parts: part_count(calls.name(), "get", answer.parts, 1)?, version }
    };
    Ok(fetched.parts.into_iter().next().map(|bytes| (bytes, fetched.version)))
}

/// Reads ranges, of the version `wanted` if there is one. A value that is too short for them may be another one by now.
fn ranges_of(calls: &dyn Calls, key: &str, ranges: &[ByteRange], wanted: Option<Version>) -> Result<Option<Fetched>> {
    let ask = |ranges: &[ByteRange]| {
        let answer = calls.get_ranges(key, ranges)?;
        answer.map(|answer| checked(calls.name(), "get_ranges", answer, ranges)).transpose()
    };
    let found = ask(ranges).or_else(|e| match wanted.filter(|_| e.kind() == ErrorKind::Truncated).map(|_| ask(&[])) {
        Some(Ok(now)) if now.as_ref().map(|now| now.version) != wanted => Ok(now),
        _ => Err(e),
    })?;
    found.iter().try_for_each(|found| check_same(found.version, wanted))?;
    Ok(found)
}

fn check_same(version: Version, wanted: Option<Version>) -> Result<()> {
    if wanted.is_some_and(|wanted| wanted != version) {
        bail!(Conflict, "the object was replaced while it was read");
    }
    Ok(())
}

fn part_count(name: &str, what: &str, parts: Vec<Vec<u8>>, want: usize) -> Result<Vec<Vec<u8>>> {
    if parts.len() != want {
        bail!(Callback, "the function `{what}` of the store {name} gave {} parts, expected {want}", parts.len());
    }
    Ok(parts)
}

/// An answer whose parts are what was asked for.
fn checked(name: &str, what: &str, answer: Answer, ranges: &[ByteRange]) -> Result<Fetched> {
    let lied = |said: String| err!(Callback, "the function `{what}` of the store {name} {said}");
    let parts = part_count(name, what, answer.parts, ranges.len())?;
    for (part, range) in parts.iter().zip(ranges) {
        let found = part.len() as u64;
        let wrong = answer.size.filter(|size| match *range {
            ByteRange::Whole { .. } => found != *size,
            ByteRange::Span { offset, len } => len == found && offset.checked_add(len).is_none_or(|end| end > *size),
            ByteRange::Suffix { len } => len == found && len > *size,
        });
        if let Some(size) = wrong {
            return Err(lied(format!("gave {found} bytes for {range:?} of a value that it says has {size}")));
        }
        let (ByteRange::Span { len, .. } | ByteRange::Suffix { len }) = *range else {
            piece(part, *range)?;
            continue;
        };
        if (part.len() as u64) < len {
            bail!(Truncated, "found {} bytes, expected {len}", part.len());
        }
        if part.len() as u64 > len {
            return Err(lied(format!("gave {} bytes for a range of {len}", part.len())));
        }
    }
    let token = answer.token.ok_or_else(|| lied("gave no version, which the store's flags promise".into()))?;
    if token.len() > MAX_TOKEN {
        return Err(lied(format!("gave a version of {} bytes, the limit is {MAX_TOKEN}", token.len())));
    }
    Ok(Fetched { parts, version: version_of_token(&token) })
}

/// An opened key of functions that give ranges. What is read is of the version that was opened.
struct Ranged {
    calls: Arc<dyn Calls>,
    can: Can,
    key: String,
    version: Version,
    size: Option<u64>,
    /// The whole value, once its length had to be found out by reading it.
    all: OnceLock<Vec<u8>>,
}

impl Ranged {
    fn same(&self, version: Option<Version>) -> Result<()> {
        let Some(version) = version else { bail!(Conflict, "the object was erased while it was read") };
        check_same(version, Some(self.version))
    }

    fn all(&self) -> Result<&[u8]> {
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let found = whole(&*self.calls, self.can, &self.key)?;
        self.same(found.as_ref().map(|(_, version)| *version))?;
        Ok(self.all.get_or_init(|| found.map(|(bytes, _)| bytes).unwrap_or_default()))
    }
}

impl ReadObject for Ranged {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let range = ByteRange::Span { offset, len: buf.len() as u64 };
        if let Some(all) = self.all.get() {
            buf.copy_from_slice(piece(all, range)?);
        } else if !buf.is_empty() {
            let found = ranges_of(&*self.calls, &self.key, &[range], Some(self.version))?;
            self.same(found.as_ref().map(|found| found.version))?;
            found.iter().flat_map(|found| &found.parts).for_each(|part| buf.copy_from_slice(part));
        }
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        self.size.map_or_else(|| Ok(self.all()?.len() as u64), Ok)
    }

    fn version(&self) -> Result<Version> {
        Ok(self.version)
    }

    fn still_current(&self) -> Result<bool> {
        let Some(answer) = self.calls.get_ranges(&self.key, &[])? else { return Ok(false) };
        Ok(checked(self.calls.name(), "get_ranges", answer, &[])?.version == self.version)
    }
}

fn cut(bytes: &[u8], range: ByteRange) -> Result<Vec<u8>> {
    piece(bytes, range).map(<[u8]>::to_vec)
}

fn piece(bytes: &[u8], range: ByteRange) -> Result<&[u8]> {
    let have = bytes.len() as u64;
    let (start, len) = match range {
        ByteRange::Whole { most, .. } if have > most => bail!(Limit, "found {have} bytes, expected at most {most}"),
        ByteRange::Whole { .. } => (Some(0), have),
        ByteRange::Span { offset, len } => (Some(offset), len),
        ByteRange::Suffix { len } => (have.checked_sub(len), len),
    };
    let end = start.and_then(|start| start.checked_add(len));
    let piece = start.zip(end).and_then(|(start, end)| bytes.get(usize::try_from(start).ok()?..usize::try_from(end).ok()?));
    match piece {
        Some(piece) => Ok(piece),
        None => bail!(Truncated, "found {have} bytes, expected {range:?}"),
    }
}

impl Storage for CallbackStore {
    fn capabilities(&self) -> Capabilities {
        // Ranges of values that are only read whole would read each of them for every range.
        let latency = self.can.versions && (self.can.get_ranges || self.can.start);
        let (writable, listable, any_thread) = (self.can.put, self.can.list, self.can.any_thread);
        let swaps = self.can.versions && self.can.put_if;
        Capabilities { listable, latency, any_thread, swaps, ..Capabilities::local(writable, writable && self.can.erase) }
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        if self.cuts() {
            check_key(key)?;
            return self.look(key);
        }
        let found = self.whole(key)?;
        let (calls, key) = (self.calls.clone(), key.to_string());
        let now = move || Ok(whole(&*calls, calls.can(), &key)?.map(|(_, version)| version));
        Ok(found.map(|(bytes, version)| Object::Other(Box::new(Snapshot { bytes, version, now }))))
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        let Some((bytes, _)) = self.whole(key)? else { return Ok(None) };
        if bytes.len() > max {
            bail!(Limit, "found {} bytes, the limit is {max}", bytes.len());
        }
        Ok(Some(bytes))
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        check_key(key)?;
        crate::limits::check_memory()?;
        if !self.can.put {
            bail!(ReadOnly, "{} cannot be written", self.describe());
        }
        let mut joined = Vec::new();
        let bytes = match parts {
            [] => &[],
            [one] => *one,
            more => {
                crate::limits::reserve(&mut joined, more.iter().map(|part| part.len()).sum())?;
                more.iter().for_each(|part| joined.extend_from_slice(part));
                &joined
            }
        };
        match condition {
            Condition::None => self.calls.put(key, bytes),
            Condition::Match(_) if !self.can.versions => self.check(key, condition).and_then(|()| self.calls.put(key, bytes)),
            _ if self.can.put_if => self.put_if(key, bytes, condition),
            _ => self.check(key, condition).and_then(|()| self.calls.put(key, bytes)),
        }
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        match keys {
            Keys::One(key) => check_key(key)?,
            Keys::Below(prefix) => check_prefix(prefix).map(drop)?,
        }
        self.need(self.can.put && self.can.erase, "erase")?;
        match keys {
            Keys::One(key) => return self.calls.erase(key),
            Keys::Below(prefix) if self.can.erase_prefix => self.calls.erase_prefix(prefix)?,
            Keys::Below(prefix) => {
                let (last, others): (Vec<_>, Vec<_>) =
                    self.keys(prefix)?.into_iter().partition(|key| key.strip_prefix(prefix) == Some(GOES_LAST));
                others.iter().chain(&last).try_for_each(|key| self.calls.erase(key).map(drop))?;
            }
        }
        Ok(true)
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        match into {
            ListInto::Each(each) => self.keys(prefix)?.iter().try_for_each(|key| each(key)),
            ListInto::Told(each) => self.keys(prefix)?.iter().try_for_each(|key| each(key, ListedKey::default())),
            ListInto::Folder(listing) => self.list_folder(prefix, listing),
        }
    }

    fn flush(&self) -> Result<()> {
        self.calls.flush()
    }

    fn start(&self, key: &str, what: Started<'_>) {
        let Started::Read { ranges, if_match, done } = what else { return what.run(self, key) };
        if !self.can.start || !self.can.versions || ranges.is_empty() && self.can.get_ranges {
            return done(self.ranges(key, ranges, if_match));
        }
        if let Err(e) = check_key(key) {
            return done(Err(e));
        }
        let (name, asked) = (self.calls.name().to_string(), ranges.to_vec());
        let check = move |answer: Option<Answer>| {
            let found = answer.map(|answer| checked(&name, "start_get_ranges", answer, &asked)).transpose()?;
            found.iter().try_for_each(|found| check_same(found.version, if_match))?;
            Ok(found)
        };
        self.calls.start(key, ranges, Box::new(move |result| done(result.and_then(check))));
    }

    fn describe(&self) -> String {
        self.calls.name().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::MemoryStore;
    use crate::store::{StorageExt, read_now, suite};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// Functions over a store in memory. Tokens are as long as asked for.
    struct Honest {
        inner: MemoryStore,
        can: Can,
        token: usize,
        /// Whether answers tell the size of the whole value.
        sized: bool,
        calls: AtomicU64,
        bytes: AtomicU64,
        erased: Mutex<Vec<String>>,
    }

    impl Honest {
        fn answer(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Answer>> {
            self.calls.fetch_add(1, Relaxed);
            let found = read_now(&self.inner, key, ranges, None)?;
            self.bytes.fetch_add(found.iter().flat_map(|f| &f.parts).map(|part| part.len() as u64).sum(), Relaxed);
            let now = self.inner.open(key)?;
            if found.as_ref().map(|f| f.version) != now.as_ref().map(|now| now.version()).transpose()? {
                return self.answer(key, ranges); // the size is to be that of this value
            }
            let size = now.filter(|_| self.sized).map(|now| now.len()).transpose()?;
            Ok(found.map(|f| Answer { parts: f.parts, token: self.can.versions.then(|| self.token(f.version)), size }))
        }

        fn token(&self, version: Version) -> Vec<u8> {
            format!("{:0>width$}", version.words[0], width = self.token).into_bytes()
        }
    }

    impl Calls for Honest {
        fn name(&self) -> &str {
            "test:"
        }
        fn can(&self) -> Can {
            self.can
        }
        fn get(&self, key: &str) -> Result<Option<Answer>> {
            self.answer(key, &[ByteRange::WHOLE])
        }
        fn get_ranges(&self, key: &str, ranges: &[ByteRange]) -> Result<Option<Answer>> {
            self.answer(key, ranges)
        }
        fn start(&self, key: &str, ranges: &[ByteRange], done: AnswerDone) {
            let answer = self.answer(key, ranges);
            std::thread::spawn(move || done(answer));
        }
        fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
            self.inner.put(key, &[bytes], Condition::None)
        }
        fn put_if(&self, key: &str, bytes: &[u8], token: Option<&[u8]>) -> Result<()> {
            let condition = match token {
                None => Condition::Absent,
                Some(token) => Condition::Match(Version::new([String::from_utf8_lossy(token).parse().unwrap_or(0), 0, 0, 0])),
            };
            self.inner.put(key, &[bytes], condition)
        }
        fn erase(&self, key: &str) -> Result<bool> {
            self.erased.lock().unwrap().push(key.to_string());
            self.inner.erase(key)
        }
        fn erase_prefix(&self, prefix: &str) -> Result<()> {
            self.inner.erase_prefix(prefix)
        }
        fn list(&self, prefix: &str) -> Result<Vec<String>> {
            let mut keys = self.inner.keys(prefix)?;
            keys.reverse();
            Ok(keys)
        }
        fn list_dir(&self, prefix: &str) -> Result<Vec<String>> {
            let listing = self.inner.list_dir(prefix)?;
            Ok(listing.prefixes.into_iter().map(|p| p + "/").chain(listing.keys).collect())
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    const ALL: Can = Can {
        get_ranges: true,
        start: true,
        put: true,
        put_if: true,
        erase: true,
        erase_prefix: true,
        list: true,
        list_dir: true,
        versions: true,
        any_thread: true,
    };

    fn honest(can: Can, token: usize, sized: bool) -> Arc<Honest> {
        let (calls, bytes, erased) = (AtomicU64::new(0), AtomicU64::new(0), Mutex::default());
        Arc::new(Honest { inner: MemoryStore::new(), can, token, sized, calls, bytes, erased })
    }

    fn store(can: Can, token: usize) -> CallbackStore {
        CallbackStore::new(honest(can, token, false))
    }

    #[test]
    fn behaves_as_a_store_with_all_functions_and_with_few() {
        suite::check(&store(ALL, 1));
        suite::check(&store(Can { start: false, ..ALL }, 31));
        suite::check(&store(Can { start: false, erase_prefix: false, list_dir: false, ..ALL }, 40));
        suite::check(&CallbackStore::new(honest(ALL, 8, true)));
    }

    #[test]
    fn a_key_that_tells_of_the_others_is_erased_behind_them() {
        let honest = honest(Can { erase_prefix: false, ..ALL }, 1, false);
        let store = CallbackStore::new(honest.clone());
        for key in ["a/0", "a/ozarr-copy.json", "a/z/ozarr-copy.json"] {
            store.put(key, &[b""], Condition::None).unwrap();
        }
        store.erase_prefix("a/").unwrap();
        assert_eq!(*honest.erased.lock().unwrap(), ["a/0", "a/z/ozarr-copy.json", "a/ozarr-copy.json"]);
    }

    #[test]
    fn more_than_may_be_read_of_a_value_is_an_error_whichever_function_gives_it() {
        let whole = |most| [ByteRange::up_to(most)];
        for can in
            [ALL, Can { start: false, ..ALL }, Can { start: false, get_ranges: false, ..ALL }, Can { start: false, versions: false, ..ALL }]
        {
            let store = store(can, 1);
            store.put("k", &[&[7; 10]], Condition::None).unwrap();
            let read =
                |ranges: &[ByteRange]| crate::store::start_and_wait(&store, "k", ranges, None).map(|f| f.unwrap().parts.concat().len());
            assert_eq!(read(&whole(10)).unwrap(), 10);
            assert_eq!(read(&whole(9)).unwrap_err().kind(), ErrorKind::Limit);
            assert_eq!(read(&[whole(10), whole(9)].concat()).unwrap_err().kind(), ErrorKind::Limit);
            let cached = crate::store::cache::CacheStore::new(Arc::new(store), 1 << 20);
            assert_eq!(cached.read_all("k", 9).unwrap_err().kind(), ErrorKind::Limit);
            assert_eq!(cached.read_all("k", 10).unwrap().unwrap().len(), 10);
        }
        let answer = || Answer { parts: vec![vec![7; 10]], token: Some(vec![1]), size: None };
        assert_eq!(checked("test:", "get_ranges", answer(), &whole(9)).map(drop).unwrap_err().kind(), ErrorKind::Limit);
        assert!(checked("test:", "get_ranges", answer(), &whole(10)).is_ok());
    }

    #[test]
    fn no_more_is_read_of_a_value_than_is_needed_and_nothing_twice() {
        const RANGES: Can = Can { start: false, ..ALL };
        const WHOLE: Can = Can { get_ranges: false, ..RANGES };
        type Access = fn(&CallbackStore);
        type Row = (&'static str, Access, [(u64, u64); 3]);
        let object = |store: &CallbackStore| store.open("k").unwrap().unwrap();
        let few: Access = |store| {
            let parts = [ByteRange::Span { offset: 1, len: 2 }, ByteRange::Span { offset: 90, len: 3 }, ByteRange::Suffix { len: 1 }];
            let (sender, receiver) = std::sync::mpsc::channel();
            store.start_read("k", &parts, None, Box::new(move |r| sender.send(r.unwrap().unwrap().parts.concat()).unwrap()));
            assert_eq!(receiver.recv().unwrap(), [1, 2, 90, 91, 92, 99]);
        };
        let pieces: Access = |store| {
            let object = store.open("k").unwrap().unwrap();
            for at in [5, 50] {
                let mut bytes = [0; 4];
                object.read_exact_at(at, &mut bytes).unwrap();
                assert_eq!(bytes, [0, 1, 2, 3].map(|i| at as u8 + i));
            }
        };
        let there: Access = |store| assert!(store.open("k").unwrap().is_some() && store.open("none").unwrap().is_none());
        let all: Access = |store| assert_eq!(crate::store::get(store, "k", 100).unwrap().unwrap().len(), 100);
        let length: Access = |store| assert_eq!(store.open("k").unwrap().unwrap().len().unwrap(), 100);
        // The functions' calls and the bytes that they give: by ranges with sizes, by ranges, whole.
        let cases: [Row; 5] = [
            ("some ranges at once", few, [(1, 6), (1, 6), (1, 100)]),
            ("two pieces of an object", pieces, [(3, 8), (3, 8), (1, 100)]),
            ("whether keys hold anything", there, [(2, 0), (2, 0), (2, 100)]),
            ("all of it", all, [(1, 100), (1, 100), (1, 100)]),
            ("its length", length, [(1, 0), (2, 100), (1, 100)]),
        ];
        for (name, access, expected) in cases {
            for (functions, expected) in
                [honest(RANGES, 8, true), honest(RANGES, 8, false), honest(WHOLE, 8, false)].into_iter().zip(expected)
            {
                let store = CallbackStore::new(functions.clone());
                store.put("k", &[&(0..100).collect::<Vec<u8>>()], Condition::None).unwrap();
                access(&store);
                assert_eq!((functions.calls.load(Relaxed), functions.bytes.load(Relaxed)), expected, "{name}: {:?}", functions.can);
            }
        }
        // What is opened is one version, in each way.
        for can in [RANGES, WHOLE] {
            let store = store(can, 8);
            store.put("k", &[&[1; 100]], Condition::None).unwrap();
            let opened = object(&store);
            store.put("k", &[&[2; 100]], Condition::None).unwrap();
            let mut bytes = [0; 4];
            match opened.read_exact_at(0, &mut bytes) {
                Ok(()) => assert_eq!(bytes, [1; 4]),
                Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict),
            }
            assert!(!opened.still_current().unwrap() && object(&store).still_current().unwrap());
            assert!(!CallbackStore::new(honest(WHOLE, 8, false)).capabilities().latency);
        }
    }

    #[test]
    fn a_shorter_value_that_took_the_place_of_the_one_that_is_read_is_a_conflict() {
        const NO_START: Can = Can { start: false, ..ALL };
        for can in [NO_START, Can { get_ranges: false, ..NO_START }, Can { versions: false, put_if: false, ..NO_START }] {
            let store = store(can, 8);
            let range = [ByteRange::Span { offset: 90, len: 10 }];
            let read = |version| crate::store::start_and_wait(&store, "k", &range, version).map(|found| found.map(|f| f.parts.concat()));
            let kind = |version| read(Some(version)).unwrap_err().kind();
            store.put("k", &[&[1; 100]], Condition::None).unwrap();
            let opened = store.open("k").unwrap().unwrap();
            let first = opened.version().unwrap();
            assert_eq!(read(Some(first)).unwrap().unwrap(), [1; 10]);
            store.put("k", &[&[2; 50]], Condition::None).unwrap();
            assert_eq!(kind(first), ErrorKind::Conflict, "{can:?}");
            let second = store.open("k").unwrap().unwrap().version().unwrap();
            assert_eq!((kind(second), read(None).unwrap_err().kind()), (ErrorKind::Truncated, ErrorKind::Truncated));
            let mut bytes = [0; 10];
            match opened.read_exact_at(90, &mut bytes) {
                Ok(()) => assert_eq!(bytes, [1; 10]),
                Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "{can:?}"),
            }
        }
    }

    #[test]
    fn without_tokens_a_version_is_a_digest_of_the_bytes() {
        let store = store(Can { versions: false, put_if: false, ..ALL }, 1);
        store.put("k", &[b"12", b"3"], Condition::Absent).unwrap();
        let first = store.open("k").unwrap().unwrap();
        assert_eq!(store.put("k", &[b"x"], Condition::Absent).unwrap_err().kind(), ErrorKind::Conflict);
        store.put("k", &[b"124"], Condition::Match(first.version().unwrap())).unwrap();
        assert!(!first.still_current().unwrap());
        assert_eq!(store.put("k", &[b"x"], Condition::Match(first.version().unwrap())).unwrap_err().kind(), ErrorKind::Conflict);
        let parts = read_now(&store, "k", &[ByteRange::Suffix { len: 2 }], None).unwrap().unwrap().parts;
        assert_eq!(parts, [b"24"]);
        assert!(!CallbackStore { can: Can::default(), ..store }.capabilities().writable);
    }

    /// Functions that give what they like.
    struct Liar(Answer, Vec<String>);

    impl Calls for Liar {
        fn name(&self) -> &str {
            "liar:"
        }
        fn can(&self) -> Can {
            Can { start: false, erase_prefix: false, ..ALL }
        }
        fn get(&self, _: &str) -> Result<Option<Answer>> {
            Ok(Some(self.0.clone()))
        }
        fn get_ranges(&self, _: &str, _: &[ByteRange]) -> Result<Option<Answer>> {
            Ok(Some(self.0.clone()))
        }
        fn start(&self, _: &str, _: &[ByteRange], done: AnswerDone) {
            done(Ok(None))
        }
        fn put(&self, _: &str, _: &[u8]) -> Result<()> {
            Ok(())
        }
        fn put_if(&self, _: &str, _: &[u8], _: Option<&[u8]>) -> Result<()> {
            Ok(())
        }
        fn erase(&self, _: &str) -> Result<bool> {
            Ok(true)
        }
        fn erase_prefix(&self, _: &str) -> Result<()> {
            Ok(())
        }
        fn list(&self, _: &str) -> Result<Vec<String>> {
            Ok(self.1.clone())
        }
        fn list_dir(&self, _: &str) -> Result<Vec<String>> {
            Ok(self.1.clone())
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn functions_that_lie_are_found_out() {
        let token = || Some(b"1".to_vec());
        let span = [ByteRange::Span { offset: 1, len: 3 }];
        let cases = [
            (Answer { parts: vec![], token: token(), size: None }, ErrorKind::Callback, "0 parts, expected 1"),
            (Answer { parts: vec![vec![0; 3]; 2], token: token(), size: None }, ErrorKind::Callback, "2 parts, expected 1"),
            (Answer { parts: vec![vec![0; 3]], token: None, size: None }, ErrorKind::Callback, "no version"),
            (Answer { parts: vec![vec![0; 3]], token: Some(vec![0; MAX_TOKEN + 1]), size: None }, ErrorKind::Callback, "1025 bytes"),
            (Answer { parts: vec![vec![0; 2]], token: token(), size: None }, ErrorKind::Truncated, "found 2 bytes, expected 3"),
            (Answer { parts: vec![vec![0; 4]], token: token(), size: None }, ErrorKind::Callback, "4 bytes for a range of 3"),
            (Answer { parts: vec![vec![0; 3]], token: token(), size: Some(3) }, ErrorKind::Callback, "of a value that it says has 3"),
        ];
        for (answer, kind, text) in cases {
            let store = CallbackStore::new(Arc::new(Liar(answer, Vec::new())));
            let (sender, receiver) = std::sync::mpsc::channel();
            store.start_read("k", &span, None, Box::new(move |r| drop(sender.send(r.err()))));
            let e = receiver.recv().unwrap().unwrap();
            assert_eq!(e.kind(), kind, "{e}");
            assert!(e.message().contains(text), "{e}");
        }
        for bad in ["other/k", "a/../k", "a//k", "a/"] {
            let store = CallbackStore::new(Arc::new(Liar(Answer::default(), vec![bad.to_string()])));
            assert_eq!(store.list("a/", &mut |_| Ok(())).unwrap_err().kind(), ErrorKind::Callback, "{bad}");
        }
        for bad in ["a/b", "/", "", "..", "../"] {
            let store = CallbackStore::new(Arc::new(Liar(Answer::default(), vec![bad.to_string()])));
            assert_eq!(store.list_dir("a/").unwrap_err().kind(), ErrorKind::Callback, "{bad}");
        }
    }
}
