//! Object stores and HTTP servers, through the crate `object_store`: S3 and what speaks its language, Google Cloud Storage, Azure, and any
//! web server for reading. The only place with a runtime and `async`; callers wait on channels, so that they may be anywhere.
//!
//! What an answer means is decided in `tries.rs`: only 404 and 410 of an object are "missing", and not those with a text that a service does not
//! send; everything else is an error, perhaps after further tries within a deadline. All bytes that one read gives are of one version, told by ETag.

mod bodies;
mod build;
mod certificates;
mod client;
mod container;
mod credentials;
mod date;
mod error_text;
mod get;
mod hosts;
mod kept;
mod keys;
mod listing;
mod live;
mod made;
mod profile;
mod put;
#[cfg(all(unix, not(target_vendor = "apple")))]
mod roots;
mod sight;
mod silence;
#[cfg(test)]
mod tests;
mod threads;
mod tries;
mod upload;
mod version;
mod watch;
mod within;

use self::bodies::UNTOLD_SIZE;
pub use self::credentials::{is_credential, is_known};
use self::get::{Got, Want};
use self::live::Live;
use self::threads::caught;
use self::upload::Upload;
use super::keys::{check_key, check_prefix};
use super::remote::{Conditional, Remote, RemoteOptions, Service};
use super::{
    ByteRange, Capabilities, Change, Condition, Fetched, Keys, ListInto, Object, ReadObject, Staged, Started, Storage, Tuning, Version,
};
use crate::error::{ErrorKind, Result, bail, err};
use crate::fork::ForkReset;
use crate::limits::{check_memory, reserve};
use bytes::Bytes;
use object_store::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How often a value is read that others replace meanwhile.
const READINGS: usize = 5;

/// The endpoint and the region that the profile says which these options lead to.
pub(super) fn of_profile(options: &RemoteOptions, env: &dyn Fn(&str) -> Option<String>) -> (Option<String>, Option<String>) {
    profile::of(options, env).map_or((None, None), |profile| (profile.endpoint, profile.region))
}

/// A place in an object store. Thread-safe. A child of `fork` makes connections and threads of its own.
pub struct RemoteStore(Arc<Inner>);

struct Inner {
    remote: Remote,
    options: RemoteOptions,
    live: ForkReset<Mutex<Option<Arc<Live>>>>,
    requests: Arc<AtomicU64>,
}

impl RemoteStore {
    /// Makes a client; nothing is asked of the server yet.
    pub fn open(remote: &Remote, options: &RemoteOptions) -> Result<RemoteStore> {
        let (live, requests) = (ForkReset::new(Mutex::default), Arc::default());
        let store = RemoteStore(Arc::new(Inner { remote: remote.clone(), options: options.clone(), live, requests }));
        store.0.live()?;
        Ok(store)
    }

    /// Opens a key. `whole` is asked for where the server serves no ranges.
    fn open_as(&self, key: &str, whole: Want) -> Result<Option<Object>> {
        let (path, live) = (self.0.path(key)?, self.0.live()?);
        let asked = path.clone();
        let got = live.clone().threads.wait(async move {
            match live.get(&asked, Want::Opening, None).await {
                // An empty object has no range; a server without ranges has whole objects only.
                Err(e) if matches!(e.kind(), ErrorKind::Truncated | ErrorKind::Ranges) => live.get(&asked, whole, None).await,
                Ok(Some(got)) if got.size == UNTOLD_SIZE => {
                    match live.get(&asked, Want::Nothing, Some(got.version)).await? {
                        // Asked by a part, where the server knows no HEAD, it may tell no length either.
                        Some(told) if told.size == UNTOLD_SIZE => live.get(&asked, whole, None).await,
                        told => Ok(told.map(|told| Got { size: told.size, ..got })),
                    }
                }
                other => other,
            }
        })?;
        let store = self.0.clone();
        Ok(got.map(|got| {
            let head = got.whole.unwrap_or_else(|| got.bytes.into());
            Object::Other(Box::new(RemoteObject { store, path, head, len: got.size, version: got.version }))
        }))
    }

    /// How many requests went out so far.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Ordering::Relaxed)
    }
}

impl Inner {
    /// This process's connections.
    fn live(&self) -> Result<Arc<Live>> {
        let mut live = self.live.get().lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = &*live {
            return Ok(live.clone());
        }
        let started = Live::start(&self.remote, &self.options, &self.requests)?;
        *live = Some(started.clone());
        Ok(started)
    }

    /// The object of a key. No key at all is the object that the URL of a web server names by a `%2F`.
    fn path(&self, key: &str) -> Result<Path> {
        if key.is_empty() && self.remote.path.is_empty() && self.remote.fixed_name().is_some() {
            return Ok(Path::default());
        }
        check_key(key)?;
        self.join(key)
    }

    /// Gives the path that all keys with a prefix are below.
    fn below(&self, prefix: &str) -> Result<Path> {
        self.join(check_prefix(prefix)?)
    }

    fn join(&self, key: &str) -> Result<Path> {
        let whole = match (self.remote.path.as_str(), key) {
            (root, "") => root.to_string(),
            ("", key) => key.to_string(),
            (root, key) => format!("{root}/{key}"),
        };
        if self.remote.service == Service::Azure && whole.contains('\\') {
            bail!(Unsupported, "the key {whole:?} has a backslash, which Azure takes for a slash");
        }
        match Path::parse(&whole) {
            Ok(path) => Ok(path),
            Err(_) => bail!(Unsupported, "the key {key:?} has a control character, which keys of object stores must not have"),
        }
    }

    fn check_listable(&self) -> Result<()> {
        match self.remote.service {
            Service::Http => {
                bail!(Unsupported, "{} is a web server, which cannot list its keys; open nodes by their paths", self.remote.describe())
            }
            _ => Ok(()),
        }
    }

    fn check_writable(&self) -> Result<()> {
        match self.remote.service {
            Service::Http => bail!(ReadOnly, "{} is a web server, which is for reading only", self.remote.describe()),
            _ => check_memory(),
        }
    }
}

/// The key of an object below the root.
fn key_of<'a>(remote: &Remote, location: &'a str) -> Option<&'a str> {
    match remote.path.as_str() {
        "" => Some(location),
        root => location.strip_prefix(root)?.strip_prefix('/'),
    }
}

impl Storage for RemoteStore {
    fn capabilities(&self) -> Capabilities {
        let (whole, options) = (self.0.remote.service != Service::Http, &self.0.options);
        let live = self.0.live.get().lock().unwrap_or_else(PoisonError::into_inner);
        Capabilities {
            writable: whole,
            listable: whole,
            erasable: whole,
            latency: true,
            any_thread: true,
            tuning: Tuning { requests: options.requests, bytes: options.bytes, gap: options.gap.unwrap_or(Tuning::USUAL.gap) },
            lock_refused: 0,
            swaps: whole && options.conditional != Conditional::Never,
            unconditional: live.as_ref().is_some_and(|live| live.unconditional.load(Ordering::Relaxed)),
            swept: 0,
            archive: false,
            retries: live.as_ref().map_or(0, |live| live.retries.load(Ordering::Relaxed)),
        }
    }

    /// One request, which brings the bytes of small objects with it.
    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.open_as(key, Want::AllOrNone)
    }

    /// An object that is replaced while it is read is read again.
    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        let read = || {
            let Some(object) = self.open_as(key, Want::up_to(max))? else { return Ok(None) };
            let mut bytes = Vec::new();
            object.read_whole(&mut bytes, max).map(|()| Some(bytes))
        };
        let is_replaced = |read: &Result<_>| matches!(read, Err(e) if e.kind() == ErrorKind::Conflict);
        let mut again = (1..READINGS).map(|_| read()).skip_while(is_replaced);
        again.next().unwrap_or_else(read)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        self.0.check_writable()?;
        let path = self.0.path(key)?;
        let (live, len): (_, usize) = (self.0.live()?, parts.iter().map(|part| part.len()).sum());
        if len > self.0.options.part * 4 && condition == Condition::None && live.parts().is_some() {
            let mut upload = Box::new(Upload::new(live, path, self.0.options.part));
            super::StagedWrite::expect(&mut *upload, len as u64);
            parts.iter().try_for_each(|part| super::StagedWrite::append(&mut *upload, part))?;
            return super::StagedWrite::publish(upload);
        }
        let mut bytes = Vec::new();
        reserve(&mut bytes, len)?;
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        live.clone().threads.wait(async move { live.put(&path, bytes.into(), condition).await })
    }

    fn stage(&self, key: &str) -> Result<Staged> {
        self.0.check_writable()?;
        let (path, live) = (self.0.path(key)?, self.0.live()?);
        match live.parts() {
            Some(_) => Ok(Staged::Other(Box::new(Upload::new(live, path, self.0.options.part)))),
            None => Ok(Staged::Memory(Vec::new())),
        }
    }

    /// One request for a key that holds nothing, two for one that holds something.
    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        self.0.check_writable()?;
        let path = match keys {
            Keys::One(key) => self.0.path(key)?,
            Keys::Below(prefix) => self.0.below(prefix)?,
        };
        let (live, one) = (self.0.live()?, matches!(keys, Keys::One(_)));
        live.clone()
            .threads
            .wait(async move { if one { live.erase_known(&path).await } else { live.erase_below(&path).await.map(|()| true) } })
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        self.0.check_listable()?;
        let (path, live) = (self.0.below(prefix)?, self.0.live()?);
        match into {
            ListInto::Each(each) => self.list_keys(prefix, ListInto::Told(&mut |key, _| each(key))),
            ListInto::Told(each) => {
                let found = live.clone().threads.wait(async move { live.list(&path).await })?;
                let mut keys = found.iter().filter_map(|(location, listed)| Some((key_of(&self.0.remote, location)?, *listed)));
                // Marks of folders have the prefix itself as their key.
                keys.try_for_each(|(key, listed)| if key.starts_with(prefix) && !key.is_empty() { each(key, listed) } else { Ok(()) })
            }
            ListInto::Folder(listing) => {
                *listing = live.clone().threads.wait(async move { live.list_dir(&path).await })?;
                Ok(())
            }
        }
    }

    /// What was put is as durable as the service makes it.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    fn start(&self, key: &str, what: Started<'_>) {
        let is_change = matches!(what, Started::Change(..));
        let writable = if is_change { self.0.check_writable() } else { Ok(()) };
        let (path, live) = match writable.and_then(|()| Ok((self.0.path(key)?, self.0.live()?))) {
            Ok(prepared) => prepared,
            Err(e) => return what.fail(e),
        };
        let to = live.clone();
        match what {
            Started::Read { ranges, if_match, done } => {
                let (ranges, done) = (ranges.to_vec(), CalledOnce(Some(done)));
                to.threads.spawn(async move { done.call(caught(live.fetch(&path, &ranges, if_match)).await) });
            }
            Started::Change(change, done) => {
                let done = CalledOnce(Some(done));
                to.threads.spawn(async move {
                    done.call(match change {
                        Change::Put(bytes, condition) => caught(live.put(&path, Bytes::from(bytes), condition)).await,
                        Change::Erase => caught(live.erase_known(&path)).await.map(drop),
                    });
                });
            }
        }
    }

    fn describe(&self) -> String {
        self.0.remote.describe()
    }
}

/// Receives a result; it is called even if the task is dropped.
struct CalledOnce<T>(Option<Box<dyn FnOnce(Result<T>) + Send>>);

impl<T> CalledOnce<T> {
    fn call(mut self, result: Result<T>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for CalledOnce<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(err!(Cancelled, "the request was given up")));
        }
    }
}

/// An opened object: its beginning, and what its other bytes must be of.
struct RemoteObject {
    store: Arc<Inner>,
    path: Path,
    head: Bytes,
    len: u64,
    version: Version,
}

impl RemoteObject {
    fn fetch(&self, ranges: &[ByteRange]) -> Result<Fetched> {
        let (live, path, ranges, version) = (self.store.live()?, self.path.clone(), ranges.to_vec(), self.version);
        let fetched = live.clone().threads.wait(async move { live.fetch(&path, &ranges, Some(version)).await })?;
        fetched.ok_or_else(|| err!(Conflict, "the object was erased while it was read"))
    }
}

impl ReadObject for RemoteObject {
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let len = buf.len() as u64;
        let Some(end) = offset.checked_add(len).filter(|end| *end <= self.len) else {
            bail!(Truncated, "found {} bytes, expected at least {offset} + {len}", self.len);
        };
        let near = (end.min(self.head.len() as u64)).saturating_sub(offset) as usize;
        if near > 0 {
            buf[..near].copy_from_slice(&self.head[offset as usize..offset as usize + near]);
        }
        if near == buf.len() {
            return Ok(());
        }
        let (offset, len) = (offset + near as u64, len - near as u64);
        // All of an object can be had where there are no ranges, too.
        let range = if len == self.len { ByteRange::Whole { most: len, untold: len } } else { ByteRange::Span { offset, len } };
        let fetched = self.fetch(&[range])?;
        match fetched.parts.first() {
            Some(part) if part.len() == buf.len() - near => {
                buf[near..].copy_from_slice(part);
                Ok(())
            }
            found => bail!(Truncated, "found {} bytes, expected {len}", found.map_or(0, Vec::len)),
        }
    }

    fn len(&self) -> Result<u64> {
        Ok(self.len)
    }

    fn version(&self) -> Result<Version> {
        Ok(self.version)
    }

    fn is_at_hand(&self) -> bool {
        self.head.len() as u64 == self.len
    }

    fn still_current(&self) -> Result<bool> {
        let (live, path) = (self.store.live()?, self.path.clone());
        let version = Some(self.version);
        match live.clone().threads.wait(async move { live.get(&path, Want::Version, version).await }) {
            Err(e) if e.kind() == ErrorKind::Conflict => Ok(false),
            found => Ok(found?.is_some()),
        }
    }
}
