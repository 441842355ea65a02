//! A store for tests that tells of each call before it is done, and refuses those of which that fails.

use crate::error::Result;
use crate::store::{Capabilities, Condition, Keys, ListInto, Object, SharedStore, Storage, StorageExt};

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
