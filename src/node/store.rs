//! A store with what a handle on it needs: the mode, the threads and the locks.

use super::{Context, Mode, NodeKind, catalog, conventions, document, draft, hierarchy, path};
use crate::engine::stats::Counters;
use crate::error::{Result, bail};
use crate::fork::ForkPreserved;
use crate::grid::key::Separator;
use crate::metadata::{Format, Value, json, v2};
use crate::store::cache::CacheStore;
use crate::store::latency::{LatencyStore, Pace};
use crate::store::local::SyncMode;
use crate::store::location::{self, Root};
use crate::store::memory::MemoryStore;
use crate::store::prefix::PrefixStore;
use crate::store::registered::{CallbackStore, Calls};
use crate::store::remote::RemoteOptions;
use crate::store::{Capabilities, Condition, SharedStore, get, zip};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    options: Options,
    slot: usize,
    /// The root was looked at, and is not of a draft of version 3.
    no_draft: AtomicBool,
    /// The node that the store was opened for, by its location.
    opened_for: Option<String>,
    /// Nodes whose groups are to be consolidated when their programs close them.
    unconsolidated: ForkPreserved<BTreeSet<String>>,
    /// Documents of version 2 were changed since NCZarr's keys were looked at.
    v2_changed: AtomicBool,
    stats: Arc<Counters>,
}

/// When consolidated metadata are written without being asked for. Those that are there are kept in step with every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consolidate {
    /// Never.
    Never,
    /// When the program closes the store or the group, where arrays with named dimensions were made: xarray warns without them.
    Named,
    /// When the program closes the store or the group, if it has made nodes.
    Close,
    /// With the first change on, and in step with every further one.
    Step,
}

/// Whether NCZarr's keys are written when the program closes the store or the group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nczarr {
    /// Never.
    Off,
    /// Where they are already: netCDF-C finds nodes by them.
    Keep,
    /// In every hierarchy of version 2.
    On,
}

/// How a store is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Whether groups use their consolidated metadata.
    pub consolidated: bool,
    /// When consolidated metadata are written without being asked for.
    pub consolidate: Consolidate,
    /// When NCZarr's keys are written.
    pub nczarr: Nczarr,
    /// Only nodes of this version are seen; `None`: version 3 before version 2 if both exist (V2-33).
    pub format: Option<Format>,
    /// The separator of v2 arrays whose documents do not say; `None`: as it is found (HD-11).
    pub separator: Option<Separator>,
    /// Whether chunks of no bytes are missing chunks (HD-20).
    pub empty_is_missing: bool,
    /// Whether chunks at the edge may be stored without the part that is outside of the array (HD-21).
    pub clipped: bool,
    /// Whether checksums are verified (HD-34).
    pub verify: bool,
    /// Whether members of a `zarr.json` that must be understood and are not are ignored (V3-27).
    pub ignore_unknown: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            consolidated: true,
            consolidate: Consolidate::Named,
            nczarr: Nczarr::Keep,
            format: None,
            separator: None,
            empty_is_missing: false,
            clipped: false,
            verify: true,
            ignore_unknown: false,
        }
    }
}

impl Options {
    /// Sets one option from its texts; returns false if no option has that name.
    fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        let one_of = |no: &str, yes: &str| match value {
            v if v == no => Ok(false),
            v if v == yes => Ok(true),
            other => bail!(Argument, "the option {name:?} is {other:?}, expected {no:?} or {yes:?}"),
        };
        match name {
            "consolidated" => self.consolidated = one_of("never", "auto")?,
            "empty_chunks" => self.empty_is_missing = one_of("error", "missing")?,
            "clipped_chunks" => self.clipped = one_of("error", "read")?,
            "checksums" => self.verify = one_of("ignore", "verify")?,
            "unknown_members" => self.ignore_unknown = one_of("error", "ignore")?,
            "consolidate" => {
                self.consolidate = match value {
                    "never" => Consolidate::Never,
                    "named" => Consolidate::Named,
                    "close" => Consolidate::Close,
                    "step" => Consolidate::Step,
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"never\", \"named\", \"close\" or \"step\""),
                }
            }
            "nczarr" => {
                self.nczarr = match value {
                    "off" => Nczarr::Off,
                    "keep" => Nczarr::Keep,
                    "on" => Nczarr::On,
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"off\", \"keep\" or \"on\""),
                }
            }
            "zarr_format" => {
                self.format = match value {
                    "auto" => None,
                    "2" => Some(Format::V2),
                    "3" => Some(Format::V3),
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"auto\", \"2\" or \"3\""),
                }
            }
            "dimension_separator" => {
                self.separator = match value {
                    "auto" => None,
                    "." => Some(Separator::Dot),
                    "/" => Some(Separator::Slash),
                    other => bail!(Argument, "the option {name:?} is {other:?}, expected \"auto\", \".\" or \"/\""),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// The names of all options, for messages.
const OPTIONS: &str = "one of \"cloud.…\", \"file.sync\", \"consolidated\", \"consolidate\", \"nczarr\", \"zarr_format\", \"dimension_separator\", \"empty_chunks\", \"clipped_chunks\", \"checksums\" or \"unknown_members\"";

/// The variable with options of object stores, for calls that take none.
const REMOTE_OPTIONS: &str = "OZARR_CLOUD_OPTIONS";

/// Sets options from a JSON object: those of `cloud.` without the prefix, and others that only the service's client knows.
fn set_remote_json(options: &mut RemoteOptions, text: &str) -> Result<()> {
    // The parser's own message could show a credential.
    let Ok(object) = json::parse_object(text.as_bytes(), MAX_OPTIONS) else { bail!(Argument, "expected a JSON object of texts") };
    for (name, value) in &object {
        let text = match value {
            Value::String(text) => text.to_string(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => bail!(Argument, "the member {name:?} is no text, number or bool"),
        };
        if !options.set(name, &text)? {
            options.set_named(name, &text);
        }
    }
    Ok(())
}

/// The maximum number of bytes of options as JSON.
const MAX_OPTIONS: usize = 1 << 20;

impl Store {
    /// Opens the store at `location`, all of which is the root. `options` are pairs such as `("file.sync", "each")`.
    pub fn open(context: &Context, location: &str, mode: Mode, options: &[(&str, &str)]) -> Result<Store> {
        Store::open_root(context, &location::parse(location)?, mode, options, None)
    }

    /// An empty store in memory.
    pub fn memory(context: &Context) -> Store {
        Store::from_shared(context, Arc::new(MemoryStore::new()), Mode::ReadWrite)
    }

    /// A handle on a store that was made elsewhere.
    pub fn from_shared(context: &Context, shared: SharedStore, mode: Mode) -> Store {
        Store::new(context, shared, mode, Options::default())
    }

    /// A handle on a store of functions.
    pub fn from_calls(context: &Context, calls: Arc<dyn Calls>, mode: Mode) -> Store {
        Store::from_shared(context, Arc::new(CallbackStore::new(calls)), mode)
    }

    /// Opens what is below `path` in this store as a store of its own; all of it if `path` is empty.
    pub fn below(&self, path: &str, mode: Mode) -> Result<Store> {
        let prefix = path::prefix(&path::normalize(path)?);
        self.wrapped(mode, |inner| Ok(Arc::new(PrefixStore::below(inner, &prefix)?)))
    }

    /// Opens this store with a cache of up to `bytes` bytes, which checks before each use that the store has nothing newer.
    pub fn cached(&self, bytes: usize, mode: Mode) -> Result<Store> {
        self.wrapped(mode, |inner| Ok(Arc::new(CacheStore::new(inner, bytes))))
    }

    /// Opens this store with `delay` added to each request, for tests.
    pub fn delayed(&self, delay: Duration, mode: Mode) -> Result<Store> {
        self.wrapped(mode, |inner| Ok(Arc::new(LatencyStore::new(inner, delay))))
    }

    /// Opens this store over a line of limited bytes and requests in a second, shared by all requests; 0 sets no limit.
    pub fn throttled(&self, bytes_per_second: u64, requests_per_second: u32, mode: Mode) -> Result<Store> {
        let pace = Pace { bytes_per_second, requests_per_second, ..Pace::default() };
        self.wrapped(mode, |inner| Ok(Arc::new(LatencyStore::paced(inner, pace))))
    }

    fn wrapped(&self, mode: Mode, wrap: impl FnOnce(SharedStore) -> Result<SharedStore>) -> Result<Store> {
        if mode == Mode::ReadWrite {
            self.check_writable()?;
        }
        Ok(Store::new(&self.0.context, wrap(self.0.shared.clone())?, mode, self.0.options.clone()))
    }

    /// Wraps a store like [`Store::from_shared`], with options.
    pub fn new(context: &Context, shared: SharedStore, mode: Mode, options: Options) -> Store {
        Store::opened(context, shared, mode, options, None)
    }

    fn opened(context: &Context, shared: SharedStore, mode: Mode, options: Options, opened_for: Option<String>) -> Store {
        let slot = catalog::slot(&shared.describe());
        let (no_draft, v2_changed) = (AtomicBool::new(false), AtomicBool::new(false));
        let (stats, context, unconsolidated) = (Counters::below(context.stats()), context.clone(), ForkPreserved::default());
        let inner = Inner { shared, mode, context, options, slot, no_draft, opened_for, unconsolidated, v2_changed, stats };
        Store(Arc::new(inner))
    }

    /// The counters of what is done with the chunks of its arrays.
    pub fn stats(&self) -> &Arc<Counters> {
        &self.0.stats
    }

    /// How often requests were made again after a failure, since the store was opened.
    pub fn retries(&self) -> u64 {
        self.0.shared.retries()
    }

    /// Opens the store that a node's location names, and returns the node's path in it. The root is the shortest prefix whose
    /// last component ends in `.zarr`, `.zip` or `.ozx`, else the whole location.
    pub fn locate(context: &Context, location: &str, mode: Mode) -> Result<(Store, String)> {
        let (root, node) = location::split(location)?;
        let path = path::normalize(&node)?;
        Ok((Store::open_root(context, &root, mode, &[], Some(path.clone()))?, path))
    }

    fn open_root(context: &Context, root: &Root, mode: Mode, options: &[(&str, &str)], opened_for: Option<String>) -> Result<Store> {
        let (mut sync, mut chosen, mut remote) = (context.sync(), Options::default(), RemoteOptions::default());
        if let (Root::Remote(..), Ok(json)) = (root, std::env::var(REMOTE_OPTIONS)) {
            set_remote_json(&mut remote, &json).map_err(|e| e.at_field(REMOTE_OPTIONS))?;
        }
        for (name, value) in options {
            if *name == "file.sync" {
                sync = SyncMode::parse(value)?;
            } else if *name == "cloud.options" {
                set_remote_json(&mut remote, value).map_err(|e| e.at_field(name))?;
            } else if let Some(short) = name.strip_prefix("cloud.") {
                if !remote.set(short, value)? {
                    bail!(Argument, "unknown option {name:?} of a store");
                }
            } else if !chosen.set(name, value)? {
                bail!(Argument, "unknown option {name:?} of a store, expected {OPTIONS}");
            }
        }
        let shared = root.open(mode == Mode::ReadWrite, sync, &remote)?;
        Ok(Store::opened(context, shared, mode, chosen, opened_for))
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

    /// Whether a key holds anything.
    pub fn key_exists(&self, key: &str) -> Result<bool> {
        Ok(self.0.shared.open(key).map_err(|e| e.at_key(key))?.is_some())
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
        crate::engine::request_queue::settle_store(|| self.0.shared.describe());
        if self.0.mode == Mode::Read { Ok(()) } else { self.0.shared.flush() }
    }

    /// The program closes a node that it opened: groups that are to be consolidated by then are, and all is flushed. A node that
    /// is below one that stays open waits for that.
    pub fn close(&self, node: Option<&str>) -> Result<()> {
        let consolidated = match node {
            Some(path) if self.0.opened_for.as_deref() != Some(path) => Ok(()),
            _ => self.write_nczarr().and_then(|()| self.consolidate_pending()),
        };
        consolidated.and(self.flush())
    }

    /// Returns the kind of the node at `path`.
    pub fn node_kind(&self, path: &str) -> Result<NodeKind> {
        match document::find(self, &path::normalize(path)?) {
            Ok(None) => Ok(NodeKind::None),
            Ok(Some(found)) => {
                let kind = found.kind;
                Ok(if found.parse(self).is_ok() { kind } else { NodeKind::Unknown })
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

    /// A node was made, or the dimensions of an array were named: its group and the root are consolidated when they are closed, if
    /// the options say so. Those that are consolidated already are kept in step anyway.
    pub(super) fn note_named(&self, path: &str, named: bool) {
        let wanted = match self.0.options.consolidate {
            Consolidate::Never => false,
            Consolidate::Named => named,
            Consolidate::Close | Consolidate::Step => true,
        };
        if wanted && !path.is_empty() {
            self.0.unconsolidated.write(|nodes| nodes.insert(path.to_string()));
        }
    }

    /// Consolidates the root and the groups of the nodes that wait for it. Where the store cannot list its keys nothing is done.
    pub(super) fn consolidate_pending(&self) -> Result<()> {
        let nodes = self.0.unconsolidated.write(std::mem::take);
        if nodes.is_empty() || !self.0.shared.capabilities().listable || self.check_writable().is_err() {
            return Ok(());
        }
        let groups: BTreeSet<&str> = nodes.iter().filter_map(|node| path::parent(node)).chain([""]).collect();
        for group in groups {
            if let Some(found) = document::find_bare(self, group)?
                && found.kind == NodeKind::Group
            {
                hierarchy::consolidate_unless(self, group, found, &nodes)?;
            }
        }
        Ok(())
    }

    /// A document was changed.
    pub(super) fn note_document(&self, key: &str) {
        if [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES].contains(&key.rsplit('/').next().unwrap_or(key)) {
            self.0.v2_changed.store(true, Ordering::Release);
        }
    }

    /// Brings NCZarr's keys up to date, where that is wanted and documents of version 2 were changed.
    fn write_nczarr(&self) -> Result<()> {
        let wanted = self.0.options.nczarr != Nczarr::Off && self.0.shared.capabilities().listable && self.check_writable().is_ok();
        if !self.0.v2_changed.swap(false, Ordering::AcqRel) || !wanted {
            return Ok(());
        }
        let written = conventions::nczarr::write(self, self.0.options.nczarr == Nczarr::Keep);
        // What was just written needs no second look; what could not be is tried again.
        self.0.v2_changed.store(written.is_err(), Ordering::Release);
        written
    }

    /// Whether consolidated metadata are written with each change.
    pub(super) fn consolidates_each_step(&self) -> bool {
        self.0.options.consolidate == Consolidate::Step
    }

    /// The store itself.
    pub(super) fn shared(&self) -> &SharedStore {
        &self.0.shared
    }

    /// Whether groups use their consolidated metadata.
    pub(super) fn uses_consolidated(&self) -> bool {
        self.0.options.consolidated
    }

    /// How the store is used.
    pub(super) fn options(&self) -> &Options {
        &self.0.options
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

    /// Whether the store may be changed.
    pub fn is_writable(&self) -> bool {
        self.check_writable().is_ok()
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
