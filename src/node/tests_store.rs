//! A store for tests that tells of each call before it is done, and refuses those of which that fails.

use super::{Context, Mode, Store, path};
use crate::codec::registered::{Class, Codec, Opened, Size};
use crate::dtype::DataType;
use crate::error::{Result, err};
use crate::store::memory::MemoryStore;
use crate::store::{Capabilities, Condition, Keys, ListInto, Object, SharedStore, Storage, StorageExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What is done next.
pub(super) enum Next<'a> {
    Open,
    /// What was opened is given back.
    Opened(&'a str),
    /// The object of a key is stored or erased.
    Change(&'a str),
    List,
    Flush,
}

pub(super) struct Told<F> {
    pub inner: SharedStore,
    pub tell: F,
    /// What it says of itself in place of what `inner` does.
    pub name: Option<&'static str>,
}

impl<F: Fn(Next<'_>) -> Result<()> + Send + Sync> Storage for Told<F> {
    crate::store::forward!(inner: lock_key, files);

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        (self.tell)(Next::Open)?;
        let found = self.inner.open(key)?;
        (self.tell)(Next::Opened(key)).map(|()| found)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        (self.tell)(Next::Change(key))?;
        self.inner.put(key, parts, condition)
    }

    /// Erases one key at a time, as a server does, where there are no folders.
    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let prefix = match keys {
            Keys::Below(prefix) if self.inner.files().is_some() => {
                (self.tell)(Next::Change(prefix))?;
                return self.inner.erase_keys(keys);
            }
            Keys::Below(prefix) => prefix,
            Keys::One(key) => {
                (self.tell)(Next::Change(key))?;
                return self.inner.erase_keys(keys);
            }
        };
        self.inner
            .keys(prefix)?
            .iter()
            .try_for_each(|key| (self.tell)(Next::Change(key)).and_then(|()| self.inner.erase(key).map(drop)))?;
        Ok(true)
    }

    fn list_keys(&self, prefix: &str, into: ListInto<'_>) -> Result<()> {
        (self.tell)(Next::List)?;
        self.inner.list_keys(prefix, into)
    }

    fn flush(&self) -> Result<()> {
        (self.tell)(Next::Flush)?;
        self.inner.flush()
    }

    fn describe(&self) -> String {
        self.name.map_or_else(|| self.inner.describe(), str::to_string)
    }
}

pub(super) fn on(shared: SharedStore) -> Store {
    Store::from_shared(&Context::with_threads(1), shared, Mode::ReadWrite)
}

/// What another process would find: a store without what this one remembers.
pub(super) fn anew(store: &Store) -> Store {
    on(store.shared().clone())
}

pub(super) fn told(inner: SharedStore, tell: impl Fn(Next<'_>) -> Result<()> + Send + Sync + 'static) -> SharedStore {
    Arc::new(Told { inner, tell, name: None })
}

/// Does `event` once, before the call that follows `after` others.
pub(super) fn before_call(inner: SharedStore, after: usize, event: impl FnOnce() + Send + 'static) -> SharedStore {
    let (left, event) = (AtomicUsize::new(after), Mutex::new(Some(event)));
    told(inner, move |next| {
        if !matches!(next, Next::Opened(_)) && left.fetch_sub(1, Ordering::Relaxed) == 0 {
            let event = event.lock().unwrap().take();
            event.into_iter().for_each(|event| event());
        }
        Ok(())
    })
}

/// Takes `left` changes, and no more, as after a kill.
pub(super) fn ending(inner: SharedStore, left: Arc<AtomicUsize>) -> Store {
    on(ended(inner, left))
}

pub(super) fn ended(inner: SharedStore, left: Arc<AtomicUsize>) -> SharedStore {
    told(inner, move |next| match next {
        Next::Change(_) => {
            let counted = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            counted.map(drop).map_err(|_| err!(Io, "ended"))
        }
        _ => Ok(()),
    })
}

/// The marker of a migration of the node at `path` to there that ended behind its last document.
pub(super) fn left_whole(from: &Store, path: &str) -> Vec<u8> {
    let left_after = |left: usize| {
        let to: SharedStore = Arc::new(MemoryStore::new());
        let _ = from.migrate(path, Some((&ending(to.clone(), Arc::new(left.into())), path)), true, &mut |_, _| Ok(()));
        let key = |name: &str| on(to.clone()).key_get(&path::join(path, name)).unwrap();
        key("ozarr-migration.json").filter(|_| key("zarr.json").is_some())
    };
    (0..1000).find_map(left_after).unwrap()
}

type Task = (&'static str, Box<dyn FnOnce() -> Result<()> + Send>);

/// What is done before a change of a key that has this end, or, of a text that ends in `opened`, once the key is opened; `flush`: before the store is
/// flushed. The call fails with it.
#[derive(Clone, Default)]
pub(super) struct Due(Arc<Mutex<Option<Task>>>);

impl Due {
    /// Lets another thread do it, for which the call waits: so that thread does not wait for the change that the call may be in.
    pub fn set(&self, end: &'static str, task: impl FnOnce() + Send + 'static) {
        let task = || crate::engine::inside_change(task);
        self.set_here(end, || std::thread::spawn(task).join().map_err(|_| err!(Internal, "failed")));
    }

    pub fn set_here(&self, end: &'static str, task: impl FnOnce() -> Result<()> + Send + 'static) {
        *self.0.lock().unwrap() = Some((end, Box::new(task)));
    }

    pub fn fail(&self, end: &'static str) {
        self.set_here(end, || Err(err!(NoSpace, "full")));
    }

    pub fn store(&self, inner: SharedStore) -> Store {
        let due = self.0.clone();
        on(told(inner, move |next| {
            let key = match next {
                Next::Change(key) => key.to_string(),
                Next::Opened(key) => format!("{key} opened"),
                Next::Flush => "flush".to_string(),
                _ => return Ok(()),
            };
            let now = due.lock().unwrap().take_if(|(end, _)| key.ends_with(*end));
            now.map_or(Ok(()), |(_, task)| task())
        }))
    }

    pub fn in_memory(&self) -> Store {
        self.store(Arc::new(MemoryStore::new()))
    }

    /// Whether it was done, or nothing was to be; nothing is from now on.
    pub fn is_over(&self) -> bool {
        self.0.lock().unwrap().take().is_none()
    }
}

/// A codec of a program that leaves bytes as they are, has itself called in the thread of the call only, and notes its opening and its use.
#[derive(Clone)]
pub(super) struct Plain(pub Arc<dyn Fn(&'static str) + Send + Sync>);

impl Codec for Plain {
    fn class(&self) -> Class {
        Class::Bytes
    }
    fn open(&self, _: &str, _: bool, input: DataType) -> Result<(Arc<dyn Opened>, DataType)> {
        (self.0)("open");
        Ok((Arc::new(self.clone()), input))
    }
}

impl Opened for Plain {
    fn any_thread(&self) -> bool {
        false
    }
    fn encoded_size(&self, decoded: usize) -> Result<Size> {
        Ok(Size::Exact(decoded))
    }
    fn encode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        (self.0)("encode");
        dst[..src.len()].copy_from_slice(src);
        Ok(src.len())
    }
    fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.encode(src, dst)
    }
}
