//! A store with what a handle on it needs: the mode, the threads and the locks.

use super::{Context, Mode, NodeKind, catalog, document, draft, hierarchy, path};
use crate::error::{Result, bail};
use crate::store::local::SyncMode;
use crate::store::location::{self, Root};
use crate::store::memory::MemoryStore;
use crate::store::{Capabilities, Condition, SharedStore, get, zip};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

pub use crate::store::zip::Repaired;

/// Makes an archive of what is whole in a zip file whose writer died; one that can be read is left as it is.
pub fn repair_zip(path: &str) -> Result<Repaired> {
    zip::repair(Path::new(path))
}

/// An open store. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    shared: SharedStore,
    mode: Mode,
    context: Context,
    /// Whether groups use their consolidated metadata.
    consolidated: bool,
    slot: usize,
    /// The root was looked at, and is not of a draft of version 3.
    no_draft: AtomicBool,
}

impl Store {
    /// Opens the store at `location`, all of which is the root. `options` are pairs such as `("file.sync", "each")`.
    pub fn open(context: &Context, location: &str, mode: Mode, options: &[(&str, &str)]) -> Result<Store> {
        Store::open_root(context, &location::parse(location)?, mode, options)
    }

    /// An empty store in memory.
    pub fn memory(context: &Context) -> Store {
        Store::from_shared(context, Arc::new(MemoryStore::new()), Mode::ReadWrite)
    }

    /// A handle on a store that was made elsewhere.
    pub fn from_shared(context: &Context, shared: SharedStore, mode: Mode) -> Store {
        Store::new(context, shared, mode, true)
    }

    /// As [`Store::from_shared`]; `consolidated` says whether groups use their consolidated metadata.
    pub fn new(context: &Context, shared: SharedStore, mode: Mode, consolidated: bool) -> Store {
        let slot = catalog::slot(&shared.describe());
        Store(Arc::new(Inner { shared, mode, context: context.clone(), consolidated, slot, no_draft: AtomicBool::new(false) }))
    }

    /// Opens the store that a node's location names, and returns the node's path in it. The root is the shortest prefix whose
    /// last component ends in `.zarr`, `.zip` or `.ozx`, else the whole location.
    pub fn locate(context: &Context, location: &str, mode: Mode) -> Result<(Store, String)> {
        let (root, node) = location::split(location)?;
        Ok((Store::open_root(context, &root, mode, &[])?, path::normalize(&node)?))
    }

    fn open_root(context: &Context, root: &Root, mode: Mode, options: &[(&str, &str)]) -> Result<Store> {
        let (mut sync, mut consolidated) = (SyncMode::default(), true);
        for (name, value) in options {
            match *name {
                "file.sync" => sync = SyncMode::parse(value)?,
                "consolidated" => match *value {
                    "auto" => consolidated = true,
                    "never" => consolidated = false,
                    other => bail!(Argument, "the option \"consolidated\" is {other:?}, expected \"auto\" or \"never\""),
                },
                other => bail!(Argument, "unknown option {other:?} of a store, expected \"file.sync\" or \"consolidated\""),
            }
        }
        let shared = root.open(mode == Mode::ReadWrite, sync)?;
        Ok(Store::new(context, shared, mode, consolidated))
    }

    /// What the store can do.
    pub fn capabilities(&self) -> Capabilities {
        let can = self.0.shared.capabilities();
        let writable = can.writable && self.0.mode == Mode::ReadWrite;
        Capabilities { writable, erasable: can.erasable && writable, ..can }
    }

    /// The bytes that a key holds, or `None` if it holds nothing. Keys are those of the store, not paths of nodes.
    pub fn key_get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        get(&*self.0.shared, key, usize::MAX)
    }

    /// How many bytes a key holds, or `None` if it holds nothing.
    pub fn key_len(&self, key: &str) -> Result<Option<u64>> {
        let object = self.0.shared.open(key).map_err(|e| e.at_key(key))?;
        object.map(|object| object.len()).transpose().map_err(|e| e.at_key(key))
    }

    /// Stores bytes under a key, as they are. What they mean is the caller's concern.
    pub fn key_put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.check_writable()?;
        self.0.shared.put(key, &[bytes], Condition::None).map_err(|e| e.at_key(key))?;
        catalog::changed(self);
        Ok(())
    }

    /// Removes a key; `false` if it held nothing.
    pub fn key_erase(&self, key: &str) -> Result<bool> {
        self.check_writable()?;
        let erased = self.0.shared.erase(key).map_err(|e| e.at_key(key))?;
        catalog::changed(self);
        Ok(erased)
    }

    /// The keys that start with `prefix` (empty, or ending in a slash), sorted.
    pub fn key_list(&self, prefix: &str) -> Result<Vec<String>> {
        hierarchy::need_listing(self)?;
        let mut keys = Vec::new();
        self.0.shared.list(prefix, &mut |key| {
            keys.push(key.to_string());
            Ok(())
        })?;
        keys.sort_unstable();
        Ok(keys)
    }

    /// Makes durable what was written, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        if self.0.mode == Mode::Read { Ok(()) } else { self.0.shared.flush() }
    }

    /// What stands at `path`.
    pub fn node_kind(&self, path: &str) -> Result<NodeKind> {
        match document::find(self, &path::normalize(path)?) {
            Ok(None) => Ok(NodeKind::None),
            Ok(Some(found)) => {
                let kind = found.kind;
                Ok(if found.parse().is_ok() { kind } else { NodeKind::Unknown })
            }
            Err(e) if document::is_misunderstood(&e) => Ok(NodeKind::Unknown),
            Err(e) => Err(e),
        }
    }

    /// Erases the node at `path` and all below it; nothing there is an error of kind `NotFound`.
    pub fn erase_node(&self, path: &str) -> Result<()> {
        self.check_writable()?;
        draft::refuse(self)?;
        let path = path::normalize(path)?;
        if self.node_kind(&path)? == NodeKind::None {
            return Err(document::not_found(self, &path, "node"));
        }
        {
            let _lock = document::lock_place(self, &path)?;
            hierarchy::erase_all(self, &path)?;
        }
        // Again, for what was changed below it meanwhile.
        hierarchy::refresh(self, &[], Some(&path))
    }

    /// The store itself.
    pub(super) fn shared(&self) -> &SharedStore {
        &self.0.shared
    }

    /// Whether groups use their consolidated metadata.
    pub(super) fn uses_consolidated(&self) -> bool {
        self.0.consolidated
    }

    /// Whether the root was found not to be of a draft of version 3. What other programs make of it later is not seen.
    pub(super) fn is_no_draft(&self) -> bool {
        self.0.no_draft.load(Ordering::Acquire)
    }

    /// The root is not of a draft of version 3.
    pub(super) fn set_no_draft(&self) {
        self.0.no_draft.store(true, Ordering::Release);
    }

    /// Where changes of the metadata are counted.
    pub(super) fn slot(&self) -> usize {
        self.0.slot
    }

    /// Threads and locks.
    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    /// An error of kind `ReadOnly` unless the store may be changed.
    pub(super) fn check_writable(&self) -> Result<()> {
        if self.0.mode == Mode::Read {
            bail!(ReadOnly, "{} is open for reading only; open it with mode \"r+\"", self.0.shared.describe());
        }
        if !self.0.shared.capabilities().writable {
            bail!(ReadOnly, "{} cannot be written", self.0.shared.describe());
        }
        Ok(())
    }
}
