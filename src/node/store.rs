//! A store with what a handle on it needs: the mode, the threads and the locks.

use super::begun::Mark;
use super::behind::Behind;
use super::checkpoint_mark::CheckpointMark;
use super::known_groups::KnownGroups;
use super::series_lengths::SeriesLengths;
use super::store_changes::{AsOf, changes_of};
use super::store_log::StoreLog;
use super::store_options::{CLOUD_OPTIONS, Consolidate, OPTIONS, Options, PlaceOf, REMOTE_OPTIONS, set_remote_json};
use super::transformed::Transformed;
use super::v2_changes::V2Changes;
use super::waiting::WaitingArrays;
use super::{Context, Mode, draft_root, path};
use crate::engine::stats::Counters;
use crate::error::{Result, bail};
use crate::fork::{ForkPreserved, Once};
use crate::metadata::v2;
use crate::store::cache::CacheStore;
use crate::store::local::FileOptions;
use crate::store::local::path::{followed, shown};
use crate::store::location::{self, Root};
use crate::store::memory::MemoryStore;
use crate::store::prefix::{Links, PrefixStore, Revealed};
use crate::store::registered::{CallbackStore, Calls};
use crate::store::remote::RemoteOptions;
use crate::store::withhold::withhold;
use crate::store::{Capabilities, SharedStore};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An open store, as seen from a checkpoint in it, if from any. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<StoreInner>, pub(super) Option<Arc<CheckpointMark>>);

struct StoreInner {
    shared: SharedStore,
    mode: Mode,
    context: Context,
    options: Options,
    /// How often this process has changed metadata of stores of its name.
    changes: Arc<AtomicU64>,
    /// The store inside of the parts and caches of stores that this one is made of.
    innermost: SharedStore,
    /// The root was looked at, and is not of a draft of version 3.
    no_draft: AtomicBool,
    /// The node that the store was opened for, by its location.
    opened_for: Option<String>,
    /// The program has closed or freed its handle of the store.
    let_go: AtomicBool,
    /// Where it is, if that has a name, and how files are stored there.
    root: Option<(Root, FileOptions)>,
    /// Its folder behind links, once that was asked for.
    real_root: Once<String>,
    /// The hierarchies that it is part of, once they were looked for.
    above: Once<Vec<Above>>,
    /// Nodes whose groups are to be consolidated when their programs close them ("": the root), and whether this process made them: of what was
    /// there a failure is no error.
    unconsolidated: ForkPreserved<BTreeMap<String, bool>>,
    behind: Behind,
    /// What is told of arrays that grow by series of this process.
    series_lengths: SeriesLengths,
    /// The stores that transformers made over it, of arrays that are open.
    transformed: Transformed,
    /// Its arrays in which parts of chunks may wait, with those of its parts and caches.
    waiting: Arc<WaitingArrays>,
    /// The checkpoint that it is, which is not there for others yet.
    checkpoint: Option<Unfinished>,
    v2_changed: ForkPreserved<V2Changes>,
    known_groups: KnownGroups,
    stats: Arc<Counters>,
    log: StoreLog,
}

/// The hierarchy of the groups that a store is below, and the path of the store's root in it.
#[derive(Clone)]
pub(super) struct Above {
    pub store: Store,
    pub path: String,
}

/// Where a checkpoint will be.
#[derive(Clone)]
pub(super) struct Unfinished {
    pub place: Above,
    /// Tells it from others that are begun at the same place.
    pub mark: Arc<Mark>,
    /// The process that began it. A child of `fork` has a copy of the handle.
    pub process: u32,
    /// Whether the document that makes it a node has its name.
    pub revealed: Revealed,
    /// Where values are linked from.
    pub links: Links,
}

impl Store {
    /// Opens the store at `location`, all of which is the root. `options` are pairs such as `("file.sync", "each")`.
    pub fn open(context: &Context, location: &str, mode: Mode, options: &[(&str, &str)]) -> Result<Store> {
        Ok(Store::open_root(context, &location::parse(location)?, mode, options, None)?.0)
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
        let path = path::normalize(path)?;
        self.wrapped(mode, |inner| Ok(Arc::new(PrefixStore::below(inner, &path::prefix(&path))?))).map(|part| part.within(self, path))
    }

    /// This store, made just now, as what is below `path` of another one: its nodes belong to the hierarchies of that.
    fn within(mut self, whole: &Store, path: String) -> Store {
        let is_whole = path.is_empty();
        let known = if is_whole { whole.0.above.known().cloned() } else { Some(vec![Above { store: whole.clone(), path }]) };
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.root = whole.0.root.clone().filter(|_| is_whole);
            known.map(|known| inner.above.get(|| known));
        }
        self
    }

    /// A store in which what takes the place of a node of this one is made.
    pub(super) fn beside(&self, shared: SharedStore) -> Store {
        Store::new(&self.0.context, shared, Mode::ReadWrite, Options { consolidate: Consolidate::Never, ..self.0.options.clone() })
    }

    /// Opens what is below `path` as a store in which a checkpoint is made: the documents that make its root a node are hidden from others.
    pub(super) fn unfinished(&self, path: &str, hides: &'static [&'static str]) -> Result<Store> {
        let (prefix, revealed, links) = (path::prefix(path), Revealed::default(), Links::default());
        let hiding = |inner| PrefixStore::hiding(inner, &prefix, hides, revealed.clone(), links.clone());
        let mut store = self.wrapped(Mode::ReadWrite, |inner| Ok(Arc::new(hiding(inner)?)))?;
        let mark = Arc::new(Mark::new());
        if let Some(inner) = Arc::get_mut(&mut store.0) {
            inner.no_draft = AtomicBool::new(true);
            let place = Above { store: self.clone(), path: path.to_string() };
            inner.checkpoint = Some(Unfinished { place, mark, process: std::process::id(), revealed, links });
        }
        Ok(store)
    }

    /// The checkpoint that is made in this store.
    pub(super) fn checkpoint(&self) -> Option<&Unfinished> {
        self.0.checkpoint.as_ref()
    }

    /// Opens this store with a cache of up to `bytes` bytes, which checks before each use that the store has nothing newer.
    pub fn cached(&self, bytes: usize, mode: Mode) -> Result<Store> {
        self.wrapped(mode, |inner| Ok(Arc::new(CacheStore::new(inner, bytes)))).map(|cached| cached.within(self, String::new()))
    }

    fn wrapped(&self, mode: Mode, wrap: impl FnOnce(SharedStore) -> Result<SharedStore>) -> Result<Store> {
        if mode == Mode::ReadWrite {
            self.check_writable()?;
        }
        let mut store = Store::new(&self.0.context, wrap(self.0.shared.clone())?, mode, self.0.options.clone());
        if let Some(inner) = Arc::get_mut(&mut store.0) {
            inner.innermost = self.0.innermost.clone();
            inner.waiting = self.0.waiting.clone();
        }
        Ok(store)
    }

    /// Wraps a store like [`Store::from_shared`], with options.
    pub fn new(context: &Context, shared: SharedStore, mode: Mode, options: Options) -> Store {
        Store::opened(context, shared, mode, options, None, None)
    }

    fn opened(
        context: &Context,
        shared: SharedStore,
        mode: Mode,
        options: Options,
        opened_for: Option<String>,
        root: Option<(Root, FileOptions)>,
    ) -> Store {
        let inner = StoreInner {
            checkpoint: None,
            changes: changes_of(shared.describe()),
            innermost: shared.clone(),
            shared,
            mode,
            context: context.clone(),
            options,
            no_draft: AtomicBool::new(false),
            opened_for,
            let_go: AtomicBool::new(false),
            root,
            real_root: Once::new(),
            above: Once::new(),
            unconsolidated: ForkPreserved::default(),
            behind: Behind::default(),
            series_lengths: SeriesLengths::default(),
            transformed: Transformed::default(),
            waiting: Arc::default(),
            v2_changed: ForkPreserved::default(),
            known_groups: KnownGroups::default(),
            stats: Counters::below(context.stats()),
            log: StoreLog::default(),
        };
        Store(Arc::new(inner), None)
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
    /// last component ends in `.zarr`, `.zip` or `.ozx`, else the whole location; a node of the first draft is found in its hierarchy.
    pub fn locate(context: &Context, location: &str, mode: Mode) -> Result<(Store, String)> {
        let (mut root, mut node) = location::split(location)?;
        if let (Mode::Read, Root::Folder(folder)) = (mode, &root)
            && let Some((above, below)) = draft_root::of(folder)
        {
            (root, node) = (Root::Folder(above), below);
        }
        Store::open_root(context, &root, mode, &[], Some(&path::normalize(&node)?))
    }

    /// Opens a store for the node at `node`, if for one, and gives the node's path in it.
    fn open_root(context: &Context, root: &Root, mode: Mode, options: &[(&str, &str)], node: Option<&str>) -> Result<(Store, String)> {
        let (mut files, mut chosen, mut remote) = (context.files(), Options::default(), RemoteOptions::default());
        if let Root::Remote(place, _) = root
            && let Ok(json) = std::env::var(REMOTE_OPTIONS)
        {
            set_remote_json(&mut remote, &json).map_err(|e| e.at_field(REMOTE_OPTIONS))?;
            remote.keep_for(place.service).map_err(|e| e.at_field(REMOTE_OPTIONS))?;
        }
        let (of_variable, mut given) = (remote.clone(), RemoteOptions::default());
        for (name, value) in options {
            if *name == "cloud.options" {
                [&mut remote, &mut given].into_iter().try_for_each(|to| set_remote_json(to, value)).map_err(|e| e.at_field(name))?;
            } else if let Some(short) = name.strip_prefix("cloud.") {
                if !(remote.set(short, value)? && given.set(short, value)?) {
                    bail!(Argument, "unknown option {name:?} of a store, expected one of {CLOUD_OPTIONS}");
                }
            } else if !files.set(name, value)? && !chosen.set(name, value)? {
                bail!(Argument, "unknown option {name:?} of a store, expected {OPTIONS}");
            }
        }
        chosen.check()?;
        if let Root::Remote(place, _) = root {
            withhold(&mut remote, (&of_variable, &given), place, &|name| std::env::var(name).ok());
        }
        chosen.server = root.server(&remote);
        let root = root.absolute()?;
        let (shared, path) = root.open(node.unwrap_or_default(), mode == Mode::ReadWrite, files, &remote)?;
        if mode == Mode::ReadWrite && !shared.capabilities().writable {
            bail!(ReadOnly, "{} cannot be written; {}", shared.describe(), super::OPEN_FOR_READING);
        }
        let opened_for = node.map(|_| path.clone());
        Ok((Store::opened(context, shared, mode, chosen, opened_for, Some((root, files))), path))
    }

    /// Where the store is, as a root: a checkpoint that was begun is below that of its group.
    pub fn root(&self) -> Option<Root> {
        match &self.0.checkpoint {
            Some(begun) => begun.place.store.root()?.below(&begun.place.path),
            None => self.0.root.as_ref().map(|(root, _)| root.clone()),
        }
    }

    /// The hierarchies that the store's own folder is part of, which `find` looks for once, where the folder is known.
    pub(super) fn above_or(&self, find: impl FnOnce(&Path, FileOptions) -> Vec<Above>) -> &[Above] {
        self.0.above.get(|| if let Some((Root::Folder(folder), files)) = &self.0.root { find(folder, *files) } else { Vec::new() })
    }

    /// What the store can do.
    pub fn capabilities(&self) -> Capabilities {
        let can = self.0.shared.capabilities();
        let writable = can.writable && self.0.mode == Mode::ReadWrite;
        Capabilities { writable, erasable: can.erasable && writable, ..can }
    }

    /// Names the place of the node at `path`, whichever folder above it is the store's root; the places of nodes below it begin with its own.
    pub(super) fn place(&self, path: &str) -> String {
        crate::engine::footprint::place(&self.0.shared.describe(), &super::path::prefix(path))
    }

    /// Gives the same by the folder that links lead to where this is asked first; `None` where the store is in no folder.
    pub(super) fn real_place(&self, path: &str) -> Option<String> {
        self.0.shared.files()?;
        let root = self.0.real_root.get(|| shown(&followed(&self.0.shared.describe())));
        Some(crate::engine::footprint::place(root, &super::path::prefix(path)))
    }

    /// The number of what was opened by one call, which handles on it share, until nobody knows it any more.
    pub(super) fn number(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Which stores have the same places.
    pub(super) fn place_of(&self) -> PlaceOf {
        let is_named = self.0.shared.files().is_some() || matches!(self.0.root, Some((Root::Remote(..), _)));
        let server = is_named.then(|| self.0.options.server.clone());
        PlaceOf { store: Arc::as_ptr(&self.0.innermost).cast::<()>() as usize, server }
    }

    /// Whether both are parts or caches of one store, or that store itself.
    pub(super) fn is_one_with(&self, other: &Store) -> bool {
        Arc::ptr_eq(&self.0.innermost, &other.0.innermost)
    }

    /// Waits for the requests on the arrays at `path` and below it that are under way, those among them that the library began itself: what erases
    /// or copies keys would leave theirs behind.
    pub(super) fn settle(&self, path: &str) {
        crate::engine::request_queue::settle(|| self.place(path));
    }

    /// Makes durable what was written, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        self.settle("");
        if self.is_for_reading() {
            return Ok(());
        }
        // What transformers keep goes into this store.
        let transformed = if self.capabilities().writable { self.0.transformed.flush() } else { Ok(()) };
        let above = self.0.above.known().map_or(Ok(()), |all| all.iter().try_for_each(|above| above.store.flush()));
        let flushed = transformed.and(self.0.shared.flush()).and(above);
        self.0.log.tell(&self.0.context, &*self.0.shared, &self.0.shared.capabilities());
        flushed
    }

    /// The stores that transformers made over this one, of arrays that are open.
    pub(super) fn transformed(&self) -> &Transformed {
        &self.0.transformed
    }

    /// Its arrays in which parts of chunks may wait, with those of its parts and caches.
    pub(super) fn waiting(&self) -> &WaitingArrays {
        &self.0.waiting
    }

    /// A document was changed.
    pub(super) fn note_document(&self, key: &str) {
        let (node, name) = key.rsplit_once('/').unwrap_or(("", key));
        if [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES].contains(&name) {
            self.note_node(node);
        }
    }

    /// A node of version 2 was changed, or may have been by a program that was killed.
    pub(super) fn note_node(&self, node: &str) {
        self.0.v2_changed.write(|changes| changes.note(node));
    }

    /// Whether changes of metadata reach consolidated ones at that moment.
    pub(super) fn consolidates(&self, when: Consolidate) -> bool {
        self.0.options.consolidate == when
    }

    /// The groups whose consolidated metadata are behind.
    pub(super) fn behind(&self) -> &Behind {
        &self.0.behind
    }

    /// What is told of arrays that grow by series of this process.
    pub(super) fn series_lengths(&self) -> &SeriesLengths {
        &self.0.series_lengths
    }

    /// The groups that were found when something was created in them.
    pub(super) fn known_groups(&self) -> &KnownGroups {
        &self.0.known_groups
    }

    /// The store itself.
    pub(super) fn shared(&self) -> &SharedStore {
        &self.0.shared
    }

    /// Whether groups use their consolidated metadata: not while these are behind, for they wait for a flush or could not be told.
    pub(super) fn uses_consolidated(&self) -> bool {
        self.0.options.consolidated && (self.is_for_reading() || self.0.behind.is_empty())
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

    /// The counts of this moment, to be asked before a document is read.
    pub(super) fn as_of(&self) -> AsOf {
        AsOf::now(self.0.changes.load(Ordering::Acquire))
    }

    /// Counts a change of metadata: what handles know from consolidated metadata is out of date.
    pub(super) fn note_change(&self) {
        self.0.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Threads and locks.
    pub(super) fn context(&self) -> &Context {
        &self.0.context
    }

    /// Whether the store was opened for reading only, so that nothing waits to be stored.
    pub(super) fn is_for_reading(&self) -> bool {
        self.0.mode == Mode::Read
    }

    /// An error of kind `ReadOnly` unless the store may be changed.
    pub fn check_writable(&self) -> Result<()> {
        if self.is_for_reading() {
            bail!(ReadOnly, "{} is open for reading only; open it with mode \"r+\"", self.0.shared.describe());
        }
        let can = self.0.shared.capabilities();
        self.0.log.tell(&self.0.context, &*self.0.shared, &can);
        if !can.writable {
            bail!(ReadOnly, "{} cannot be written", self.0.shared.describe());
        }
        Ok(())
    }

    /// An error of kind `Unsupported` unless the store can list its keys.
    pub(super) fn check_listable(&self) -> Result<()> {
        if self.0.shared.capabilities().listable {
            return Ok(());
        }
        bail!(Unsupported, "{} cannot list its keys; open nodes by their paths", self.0.shared.describe())
    }

    /// An error of kind `Unsupported` unless all keys below a node can be listed, which a copy needs.
    pub(super) fn check_copyable(&self) -> Result<()> {
        if self.0.shared.capabilities().listable {
            return Ok(());
        }
        let place = self.0.shared.describe();
        bail!(
            Unsupported,
            "{place} cannot list its keys: its nodes can be read, but not copied, unless they are in an archive (.zip) there"
        )
    }

    /// An error of kind `Unsupported` unless the store can erase.
    pub(super) fn check_erasable(&self) -> Result<()> {
        if self.0.shared.capabilities().erasable {
            return Ok(());
        }
        bail!(Unsupported, "{} cannot erase what it holds; copy what is to stay into a new store", self.0.shared.describe())
    }

    /// The node that the store was opened for, by its location.
    pub(super) fn opened_for(&self) -> Option<&str> {
        self.0.opened_for.as_deref()
    }

    /// The program closes or frees its handle of the store: what is changed by nodes that are open is told above when these are flushed or closed.
    pub fn let_go(&self) {
        self.0.let_go.store(true, Ordering::Release);
    }

    /// Whether the program has no handle of the store any more.
    pub(super) fn is_let_go(&self) -> bool {
        self.0.let_go.load(Ordering::Acquire)
    }

    /// The nodes whose groups are to be consolidated.
    pub(super) fn unconsolidated(&self) -> &ForkPreserved<BTreeMap<String, bool>> {
        &self.0.unconsolidated
    }

    /// What was changed of nodes of version 2.
    pub(super) fn v2_changed(&self) -> &ForkPreserved<V2Changes> {
        &self.0.v2_changed
    }
}
