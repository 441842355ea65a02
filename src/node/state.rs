//! What is known of an open array at one moment: its document, and what the engine needs to read and write its chunks.

use super::document::array_document;
use super::{Store, draft, path, transform};
use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::dtype::registered::TypeCalls;
use crate::dtype::variable::VarItem;
use crate::dtype::{DataType, SharedElement};
use crate::engine::pool::Pool;
use crate::engine::stats::Counters;
use crate::engine::{self, ArrayCache, BoundArray, ByShape, Changes, Fence, Growths, Home, Lenient, WriteBack, footprint};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Grid;
use crate::grid::key::{KeyEncoding, Separator};
use crate::grid::registered::KeyCalls;
use crate::limits::{Dims, with_spare};
use crate::metadata::{ArrayMeta, Dialect, Format, number_list, v2};
use crate::store::{SharedStore, StorageExt};
use std::sync::Arc;

/// How this handle treats its chunks, whatever the document says.
#[derive(Clone, Default)]
pub(super) struct Handling {
    /// How often it was changed.
    pub changed: u64,
    /// Chunks that hold only the fill value are stored all the same.
    pub write_fill_chunks: bool,
    /// Where decoded chunks are kept for reading.
    pub cache: Option<ArrayCache>,
    /// Where parts of chunks wait to be written.
    pub write_back: Option<Arc<WriteBack>>,
    /// The keys of chunks that were changed, where they are listed.
    pub changes: Option<Arc<Changes>>,
    /// What the puts of chunks go by, where another process has claimed the array for this one, too.
    pub fence: Option<Arc<Fence>>,
    /// The claim of a series of this dataset, for other processes.
    pub claim: String,
    /// Counts how often the array is made longer.
    pub growths: Growths,
    /// The state before, whose transformers and codecs are used on: transformers may keep what was put into them, and what is registered may be
    /// another codec by now. An array that was lost since that was made stays so ([`ArrayState::found_again`]).
    pub before: Option<Arc<ArrayState>>,
}

impl Handling {
    /// Those of a state that is made now: what is lost to the one before is lost to it.
    fn growths_of_new(&self) -> Growths {
        let now = self.growths.as_of_now();
        self.before.iter().fold(now, |now, before| now.with_losses_of(&before.growths))
    }
}

/// What is known of an array at one moment: its document, and what the engine needs.
pub(super) struct ArrayState {
    pub meta: ArrayMeta,
    /// An error where a codec is not supported: metadata and attributes are of use all the same.
    pub bound: Result<Arc<BoundArray>>,
    pub inner_chunk: Dims,
    /// In front of every chunk's key, and the keys behind that.
    pub chunks: (String, KeyEncoding),
    /// Where the chunks are: the store, or storage transformers over it.
    pub chunk_store: SharedStore,
    /// What was found of the chunks' keys that the document does not say: the id of its row in docs/formats.md, and the text for the log.
    pub guessed: Option<Guess>,
    /// The codecs for chunks of any shape, where all are known.
    chain: Option<Chain>,
    /// Which of its handle's settings it has: how often they had been changed.
    settings: u64,
    /// What tells that the array was erased or replaced since the document was read.
    growths: Growths,
    /// Keeps the functions of a registered data type and chunk key encoding for as long as the array is open.
    functions: Functions,
}

type Guess = (&'static str, &'static str);
type Functions = (Option<Arc<dyn TypeCalls>>, Option<Arc<dyn KeyCalls>>);

impl ArrayState {
    pub fn new(store: &Store, path: &str, meta: ArrayMeta, handling: &Handling) -> Result<ArrayState> {
        ArrayState::counting(store, path, meta, handling, store.stats())
    }

    /// A state whose work is counted in `stats`.
    pub fn counting(store: &Store, path: &str, mut meta: ArrayMeta, handling: &Handling, stats: &Arc<Counters>) -> Result<ArrayState> {
        let (chunks, guessed) = find_chunks(store, path, &mut meta)?;
        let known = handling.before.as_ref().and_then(|before| before.chain_of(&meta)).map(Ok);
        let chain = known.unwrap_or_else(|| Chain::parse(&meta.codecs, meta.data_type, meta.shape.len()));
        let mut fill = meta.fill.try_element(meta.data_type)?;
        let chain = chain.and_then(|chain| chain.check_missing(&fill).map(|()| chain));
        let mut fill_bytes: Arc<[u8]> = Arc::default();
        if meta.data_type.is_variable() {
            fill_bytes = with_spare(fill.len() + size_of::<[usize; 2]>(), || fill.as_slice().into())?;
            fill = VarItem::new(&fill_bytes).to_element();
        }
        let inner_chunk = chain.as_ref().ok().and_then(Chain::inner_shape).unwrap_or_else(|| meta.grid.largest(&meta.shape));
        let chain = if store.options().verify { chain } else { chain.map(|chain| chain.unverified()) };
        let functions = functions_of(&meta)?;
        let chunk_store = match &handling.before {
            Some(before) if transform::are_same(&before.meta, &meta)? => before.chunk_store.clone(),
            _ => transform::chunk_store(store, path, &meta)?,
        };
        // Functions of the program that may not run anywhere keep the whole work in the calling thread.
        let any_thread = functions.1.as_ref().is_none_or(|keys| keys.any_thread())
            && chunk_store.any_thread()
            && chain.as_ref().map_or(true, |chain| chain.any_thread());
        let growths = handling.growths_of_new();
        let known = chain.as_ref().map_err(Error::clone);
        let bound = match known.and_then(|chain| Ok((bind_largest(chain, &meta.grid, &meta.shape)?, chain))) {
            Ok((bound, chain)) => Ok(Arc::new(BoundArray {
                store: chunk_store.clone(),
                prefix: chunks.0.clone(),
                home: Home::new(store.shared().clone()),
                shape: meta.shape.clone(),
                growths: growths.clone(),
                grid: meta.grid.clone(),
                keys: chunks.1,
                data_type: meta.data_type.in_memory(),
                chain: Arc::new(bound),
                fill: SharedElement::new(&fill)?,
                fill_bytes,
                by_shape: meta.grid.regular_shape().is_none().then(|| ByShape::new(chain.clone())),
                store_fill_chunks: handling.write_fill_chunks || !meta.fill.defined,
                pool: if any_thread { store.context().pool.clone() } else { Pool::new(1) },
                any_thread,
                locks: store.context().chunk_locks.clone(),
                open_shards: Arc::default(),
                lenient: Lenient {
                    empty_is_missing: store.options().empty_is_missing,
                    clipped: store.options().clipped.then(|| Arc::new(chain.clone())),
                },
                stats: stats.clone(),
                cache: handling.cache.clone(),
                write_back: handling.write_back.clone(),
                huge_pages: store.context().huge_pages(),
                changes: handling.changes.clone(),
                fence: handling.fence.clone(),
            })),
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::Extension | ErrorKind::Limit) => Err(e),
            Err(e) => return Err(e),
        };
        let settings = handling.changed;
        Ok(ArrayState { meta, bound, inner_chunk, chunks, chunk_store, guessed, chain: chain.ok(), settings, growths, functions })
    }

    /// The codecs of this array where those of another document of it are the same: an array keeps what it was opened with.
    fn chain_of(&self, meta: &ArrayMeta) -> Option<Chain> {
        let is_same = self.meta.codecs == meta.codecs && self.meta.data_type == meta.data_type && self.meta.shape.len() == meta.shape.len();
        self.chain.clone().filter(|_| is_same)
    }

    /// Gives this state the settings of its handle, unless it has them, and returns those that it had, to be dropped where that may take time.
    pub fn take_settings(&mut self, handling: &Handling) -> Option<Handling> {
        if std::mem::replace(&mut self.settings, handling.changed) == handling.changed {
            return None;
        }
        let bound = Arc::make_mut(self.bound.as_mut().ok()?);
        bound.store_fill_chunks = handling.write_fill_chunks || !self.meta.fill.defined;
        let mut had = handling.clone();
        std::mem::swap(&mut bound.cache, &mut had.cache);
        std::mem::swap(&mut bound.write_back, &mut had.write_back);
        std::mem::swap(&mut bound.changes, &mut had.changes);
        std::mem::swap(&mut bound.fence, &mut had.fence);
        Some(had)
    }

    /// Returns this state of an array, whose place need not be found again.
    pub fn at_home_of(self, known: &ArrayState) -> ArrayState {
        match &known.bound {
            Ok(known) => self.with(|bound| bound.home = known.home.clone()),
            Err(_) => self,
        }
    }

    /// Returns this state, which knows of these growths; of losses those that it knew.
    pub fn knowing(self, growths: Growths) -> ArrayState {
        let losses = self.growths.clone();
        self.counted(growths.with_losses_of(&losses))
    }

    /// Returns this state for a handle to which the array is lost if it is lost to `known`, of which this one was made.
    pub fn lost_as(self, known: &ArrayState) -> ArrayState {
        let growths = self.growths.clone();
        self.counted(growths.with_losses_of(&known.growths))
    }

    /// Returns this state for a handle whose program asks for what is there, whatever was lost before: of a document that was read since the losses
    /// were `as_of`.
    pub fn found_again(self, as_of: &Growths) -> ArrayState {
        let growths = self.growths.clone();
        self.counted(growths.with_losses_of(as_of))
    }

    /// Returns this state, which knows of these growths and losses.
    fn counted(mut self, growths: Growths) -> ArrayState {
        self.growths = growths.clone();
        self.with(|bound| bound.growths = growths)
    }

    /// Returns this state, which is that of a cut that was just counted.
    pub fn knowing_cut(self) -> ArrayState {
        self.with(|bound| bound.growths.know_cut())
    }

    /// Returns this state, which nothing else refers to, with a change of what the engine needs.
    fn with(mut self, change: impl FnOnce(&mut BoundArray)) -> ArrayState {
        if let Ok(bound) = &mut self.bound
            && let Some(bound) = Arc::get_mut(bound)
        {
            change(bound);
        }
        self
    }

    /// Returns a state of this array with the lengths `shape`, on a regular grid: nothing else depends on them.
    pub fn with_shape(&self, shape: &[u64]) -> ArrayState {
        self.like(self.meta.clone(), self.bound.clone()).into_shape(shape)
    }

    /// Turns this state, which nothing else refers to, into one with the lengths `shape`.
    pub fn into_shape(mut self, shape: &[u64]) -> ArrayState {
        self.meta.shape = Dims::from_slice(shape);
        self.meta.document.insert("shape".into(), number_list(shape));
        if let Ok(bound) = &mut self.bound {
            Arc::make_mut(bound).shape = Dims::from_slice(shape);
        }
        self
    }

    /// Makes a state with another document and other settings, for chunks in the places of these.
    pub fn like(&self, meta: ArrayMeta, bound: Result<Arc<BoundArray>>) -> ArrayState {
        ArrayState {
            meta,
            bound,
            inner_chunk: self.inner_chunk.clone(),
            chunks: self.chunks.clone(),
            chunk_store: self.chunk_store.clone(),
            guessed: self.guessed,
            chain: self.chain.clone(),
            settings: self.settings,
            growths: self.growths.clone(),
            functions: self.functions.clone(),
        }
    }

    /// What the engine needs, or why it cannot be had.
    pub fn bound(&self, path: &str) -> Result<Arc<BoundArray>> {
        self.bound.clone().map_err(|e| match self.meta.dialect {
            Dialect::D0 => e.at_key(path::display(path)),
            Dialect::Final | Dialect::D2 => e.at_key(path::join(path, array_document(self.meta.format))),
        })
    }

    /// Whether the keys of chunks are told by functions of the program.
    pub fn has_registered_keys(&self) -> bool {
        matches!(self.chunks.1, KeyEncoding::Registered(_))
    }

    /// Whether the array was lost since the state was made.
    pub fn is_lost(&self) -> bool {
        self.growths.is_lost()
    }

    /// Refuses to change an array that this process has erased or replaced since its document was read. Errors: `State`.
    pub fn check_there(&self) -> Result<()> {
        self.growths.check_there(|| self.place())
    }

    /// Makes a change of what is stored of the array, which is not taken away meanwhile. Errors: `State` if it was before.
    pub fn while_there<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        self.growths.while_there(|| self.place(), change)
    }

    /// Where the array is, for messages.
    fn place(&self) -> String {
        match &self.bound {
            Ok(bound) => bound.place(),
            Err(_) => footprint::place(&self.chunk_store.describe(), &self.chunks.0),
        }
    }

    /// What the extents of chunks must be multiples of.
    pub fn multiple(&self) -> Dims {
        match &self.bound {
            Ok(bound) if matches!(*bound.chain, BoundChain::Sharded(_)) => self.inner_chunk.clone(),
            _ => Dims::from_elem(1, self.meta.shape.len()),
        }
    }
}

/// Stores what waits to be written.
pub(super) fn store_waiting(bound: &Arc<BoundArray>) -> Result<()> {
    match &bound.write_back {
        Some(kept) => engine::flush(bound, kept, None),
        None => Ok(()),
    }
}

/// The chain, bound to the shape of the largest chunk, where every chunk of the array can be bound: an inner chunk must divide all of them.
pub(super) fn bind_largest(chain: &Chain, grid: &Grid, shape: &[u64]) -> Result<BoundChain> {
    check_divided(chain, grid, shape)?;
    chain.bind(&grid.largest(shape))
}

/// Checks that an inner chunk divides every chunk of an array of that shape.
pub(super) fn check_divided(chain: &Chain, grid: &Grid, shape: &[u64]) -> Result<()> {
    for (d, &inner) in chain.inner_shape().iter().flatten().enumerate() {
        if let Some(extent) = grid.odd_extent(d, shape[d], inner) {
            let mut odd = grid.largest(shape);
            odd[d] = extent;
            chain.bind(&odd)?;
        }
    }
    Ok(())
}

/// The functions of the program that the type and the chunk keys of an array are made of.
fn functions_of(meta: &ArrayMeta) -> Result<Functions> {
    Ok((
        if let DataType::Registered(registered) = meta.data_type { Some(registered.calls()?) } else { None },
        if let KeyEncoding::Registered(registered) = meta.keys { Some(registered.calls()?) } else { None },
    ))
}

/// What is in front of every chunk's key, the keys behind that, and what was found of them that the document does not say.
fn find_chunks(store: &Store, path: &str, meta: &mut ArrayMeta) -> Result<((String, KeyEncoding), Option<Guess>)> {
    if meta.dialect == Dialect::D0 {
        return Ok((draft::chunks(store, path, meta)?, None));
    }
    if let Some(found) = only_chunk_behind_c(store, path, meta) {
        let text = "the only chunk's key goes on behind \"c\", expected \"c\" for an array without dimensions";
        return Ok((found, Some(("HD-53", text))));
    }
    let is_nested = separator_is_open(meta) && choose_separator(store, path, meta)?;
    let text = "\"dimension_separator\" is missing and the chunks are in folders; \"/\" is taken";
    Ok(((path::prefix(path), meta.keys), is_nested.then_some(("HD-11", text))))
}

/// The prefix of the only chunk of an array of rank 0, and its key behind that, where it is `c/0` or `c.0`, as Zarr.jl writes it, and not `c`,
/// each with the suffix that all keys have (HD-53). It is looked for when the array is opened: that is where deviations are told and refused, and
/// what lists, copies or erases chunks goes by their keys, too. Where every look costs a request it is not looked for.
fn only_chunk_behind_c(store: &Store, path: &str, meta: &ArrayMeta) -> Option<(String, KeyEncoding)> {
    let (separator, keys) = match meta.keys {
        KeyEncoding::Default(separator) => (separator, KeyEncoding::V2(separator)),
        KeyEncoding::Suffixed(separator, suffix) => (separator, KeyEncoding::SuffixedV2(separator, suffix)),
        _ => return None,
    };
    if !meta.shape.is_empty() || store.shared().capabilities().latency {
        return None;
    }
    let (shared, folder, suffix) = (store.shared(), format!("{}c", path::prefix(path)), meta.keys.suffix());
    let prefix = format!("{folder}{}", separator.char());
    match shared.stamp(&format!("{folder}{suffix}")) {
        Ok(Some(_)) => return None,
        // Nor is there a folder of that name.
        Ok(None) if suffix.is_empty() && separator == Separator::Slash && shared.files().is_some() => return None,
        // What is wrong with the files is told where the chunk is read.
        _ => {}
    }
    matches!(shared.stamp(&format!("{prefix}0{suffix}")), Ok(Some(_))).then_some((prefix, keys))
}

/// Whether a v2 document leaves open how the keys of its chunks are, and it makes a difference.
fn separator_is_open(meta: &ArrayMeta) -> bool {
    let is_open = meta.format == Format::V2 && meta.dialect == Dialect::Final && meta.shape.len() > 1;
    is_open && v2::said_separator(&meta.document).is_none()
}

/// Uses the separator of the store's options; else "/" if chunks are in folders and no chunk is stored flat, as some early writers
/// left them without saying so (HD-11). Where keys cannot be listed the first chunk tells, if nothing is written. Returns whether it was found this way.
fn choose_separator(store: &Store, path: &str, meta: &mut ArrayMeta) -> Result<bool> {
    if let Some(separator) = store.options().separator {
        meta.keys = KeyEncoding::V2(separator);
        return Ok(false);
    }
    let (shared, prefix) = (store.shared(), path::prefix(path));
    let has_first = |keys: KeyEncoding| {
        let mut first = prefix.clone();
        keys.push(meta.shape.iter().map(|_| 0), &mut first)?;
        shared.open(&first).map(|object| object.is_some()).map_err(|e| e.at_key(&first))
    };
    let slash = KeyEncoding::V2(Separator::Slash);
    if !shared.capabilities().listable {
        // What is written may be the first chunk, and tell something else to who comes next.
        if !store.is_for_reading() {
            return Ok(false);
        }
        // The usual flat chunks cost one request so. Some servers refuse what is not there.
        let is_there = |keys| match has_first(keys) {
            Err(e) if e.kind() == ErrorKind::Permission => Ok(false),
            found => found,
        };
        let nested = is_there(slash)? && !is_there(meta.keys)?;
        if nested {
            meta.keys = slash;
        }
        return Ok(nested);
    }
    if has_first(meta.keys)? {
        return Ok(false);
    }
    let listing = shared.list_dir(&prefix)?;
    // The keys of format 2 are built in.
    let is_key = |keys: KeyEncoding, key: &str, rank| keys.parse(key, rank).is_ok_and(|index| index.is_some());
    let is_flat = |key: &String| is_key(meta.keys, key, meta.shape.len());
    let is_folder = |name: &String| is_key(KeyEncoding::V2(Separator::Dot), name, 1);
    let nested = listing.prefixes.iter().any(is_folder) && !listing.keys.iter().any(is_flat);
    if nested {
        meta.keys = slash;
    }
    Ok(nested)
}
