//! The keys of a store and what they hold, whatever that means to nodes.

use super::Store;
use crate::error::Result;
use crate::limits::push;
use crate::store::{Condition, ListInto, ListedKey, StorageExt, get};

impl Store {
    /// The bytes that a key holds, or `None` if it holds nothing. Keys are those of the store, not paths of nodes.
    pub fn key_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        get(&**self.shared(), key, usize::MAX)
    }

    /// How many bytes a key holds, or `None` if it holds nothing.
    pub fn key_len(&self, key: &str) -> Result<Option<u64>> {
        let object = self.shared().open(key).map_err(|e| e.at_key(key))?;
        object.map(|object| object.len()).transpose().map_err(|e| e.at_key(key))
    }

    /// Stores bytes under a key, as they are. What they mean is the caller's concern.
    pub fn key_put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.check_writable()?;
        self.shared().put(key, &[bytes], Condition::None).map_err(|e| e.at_key(key))?;
        self.note_change();
        Ok(())
    }

    /// Removes a key; `false` if it held nothing.
    pub fn key_erase(&self, key: &str) -> Result<bool> {
        self.check_writable()?;
        let erased = self.shared().erase(key).map_err(|e| e.at_key(key))?;
        self.note_change();
        Ok(erased)
    }

    /// The keys that start with `prefix` (empty, or ending in a slash), sorted.
    pub fn key_list(&self, prefix: &str) -> Result<Vec<String>> {
        self.check_listable()?;
        let mut keys = self.shared().keys(prefix)?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// The same keys, each with how many bytes it holds where the listing of an object store tells that.
    pub fn key_list_sizes(&self, prefix: &str) -> Result<Vec<(String, Option<u64>)>> {
        if !self.shared().capabilities().latency {
            return Ok(self.key_list(prefix)?.into_iter().map(|key| (key, None)).collect());
        }
        self.check_listable()?;
        let mut keys = Vec::new();
        let each = &mut |key: &str, listed: ListedKey| push(&mut keys, (key.to_string(), listed.len));
        self.shared().list_keys(prefix, ListInto::Told(each))?;
        keys.sort_unstable();
        Ok(keys)
    }
}
