//! Arrays: opening, creating, and reading and writing through the engine. Changes of the shape are in `resize`.
//! Specification: v2, "Arrays"; v3 core, "Array metadata".

use super::context::not_finite;
use super::document::{self, Stored};
use super::{Attributes, Create, Explanation, NodeKind, Spec, Store, draft, hierarchy, path, transform};
use crate::codec::BoundChain;
use crate::codec::chain::Chain;
use crate::counting;
use crate::dtype::fill::Fill;
use crate::dtype::foreign::Calls;
use crate::dtype::variable::Item;
use crate::dtype::{DataType, ElementType, parse_v3};
use crate::engine::pool::Pool;
use crate::engine::stats::Counters;
use crate::engine::{self, ArrayCache, BoundArray, ByShape, ChunkCache, CoordinateSelection, Lenient, Memory, Selection, WriteBack};
use crate::error::{ErrorKind, Result, bail, err};
use crate::fork::ForkPreserved;
use crate::grid::Grid;
use crate::grid::key::{KeyEncoding, Separator};
use crate::grid::own;
use crate::limits::Dims;
use crate::metadata::odd::{Note, Weight};
use crate::metadata::v3::Document;
use crate::metadata::{ArrayMeta, Codecs, Dialect, Format, Map, Value, json, number_list, v2, v3, v3_grid};
use crate::store::SharedStore;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// An open array. Clones share it.
#[derive(Clone)]
pub struct Array(Arc<Inner>);

struct Inner {
    store: Store,
    path: String,
    state: ForkPreserved<Arc<State>>,
    attributes: Attributes,
    handling: ForkPreserved<Handling>,
    /// The document comes from consolidated metadata: good enough for reading, to be looked at again before writing.
    listed: AtomicBool,
    stats: Arc<Counters>,
}

/// How this handle treats its chunks, whatever the document says.
#[derive(Clone, Default)]
pub(super) struct Handling {
    /// Chunks that hold only the fill value are stored all the same.
    write_fill_chunks: bool,
    /// Where decoded chunks are kept for reading.
    cache: Option<ArrayCache>,
    /// Where parts of chunks wait to be written.
    write_back: Option<Arc<WriteBack>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A thread of the pool may have the array a moment longer; the files are closed now.
        if let Ok(bound) = &self.state.read(Arc::clone).bound {
            // Errors are ignored in `drop`; close the array to see them.
            let _ = store_waiting(bound);
            bound.open_shards.forget_all();
            bound.cache.iter().for_each(ArrayCache::forget_all);
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

/// What is known of an array at one moment: its document, and what the engine needs.
pub(super) struct State {
    pub meta: ArrayMeta,
    /// An error where a codec is not supported: metadata and attributes are of use all the same.
    pub bound: Result<Arc<BoundArray>>,
    inner_chunk: Dims,
    /// In front of every chunk's key, and the keys behind that.
    pub chunks: (String, KeyEncoding),
    /// Where the chunks are: the store, or storage transformers over it.
    pub chunk_store: SharedStore,
    /// The document does not say how the chunks' keys are, and it was found that they are nested.
    guessed: bool,
    /// Keeps the functions of a registered data type and chunk key encoding for as long as the array is open.
    functions: Functions,
}

type Functions = (Option<Arc<dyn Calls>>, Option<Arc<dyn own::Calls>>);

impl Array {
    /// Opens the array at `path`.
    pub fn open(store: &Store, path: &str) -> Result<Array> {
        let path = path::normalize(path)?;
        let found = document::require(store, &path, NodeKind::Array)?;
        Array::from_stored(store, path, found)
    }

    /// Makes the array of a document that was found, and reports its oddities to the context.
    pub(super) fn from_stored(store: &Store, path: String, found: Stored) -> Result<Array> {
        found.report(store)?;
        let array = Array::quietly(store, path, found)?;
        if array.state().guessed {
            let text = "\"dimension_separator\" is missing and the chunks lie in folders; \"/\" is taken";
            store.context().report(&path::join(array.path(), v2::ARRAY), &[Note::new(Weight::Odd, "HD-11", text)])?;
        }
        if store.context().watches()
            && let Some(note) = array.odd_names()
        {
            store.context().report(&path::join(array.path(), v3::DOCUMENT), &[note])?;
        }
        Ok(array)
    }

    /// Makes the array of a document that was found, without a report to the context: a lock may be held.
    fn quietly(store: &Store, path: String, found: Stored) -> Result<Array> {
        let (key, listed, attributes) = (found.key.clone(), found.listed, found.attributes.clone());
        match found.parse(store)? {
            Document::Array(meta) => Array::new(store, path, *meta, attributes, listed).map_err(|e| e.at_key(key)),
            Document::Group(_) => Err(err!(NodeKind, "found a group, expected an array").at_key(key)),
        }
    }

    fn new(store: &Store, path: String, meta: ArrayMeta, attributes: Option<Map>, listed: bool) -> Result<Array> {
        let known = match meta.format {
            Format::V2 => attributes,
            Format::V3 => Some(v3::attributes(&meta.document).cloned().unwrap_or_default()),
        };
        let attributes = Attributes::new(store, &path, meta.format, NodeKind::Array, known).of(meta.dialect).of_elements(meta.data_type);
        let stats = Counters::below(store.stats());
        let handling = Handling { cache: store.context().chunk_cache().map(ChunkCache::for_array), ..Handling::default() };
        let state = ForkPreserved::new(Arc::new(State::new(store, &path, meta, &handling)?.counting(&stats)));
        let (handling, listed) = (ForkPreserved::new(handling), AtomicBool::new(listed));
        Ok(Array(Arc::new(Inner { store: store.clone(), path, state, attributes, handling, listed, stats })))
    }

    /// Creates an array, and the groups above it that are missing. Its document is written last.
    pub fn create(store: &Store, path: &str, spec: &Spec, how: Create) -> Result<Array> {
        store.check_writable()?;
        draft::refuse(store)?;
        let path = path::normalize(path)?;
        path::check_new(&path)?;
        let enclosing = if spec.needs_format() { hierarchy::enclosing_format(store, &path)? } else { None };
        let (meta, attributes) = spec.resolve(enclosing)?;
        if !store.context().allows_non_finite() && attributes.values().any(json::has_non_finite) {
            return Err(not_finite("an attribute", ErrorKind::Argument).at_field("attributes"));
        }
        if let Some(array) = existing(store, &path, &meta, how)? {
            return Ok(array);
        }
        let mut changed = hierarchy::ensure_ancestors(store, &path, meta.format)?;
        let replaced = {
            let _lock = document::lock_place(store, &path)?;
            if let Some(array) = existing(store, &path, &meta, how)? {
                return Ok(array);
            }
            let replaced = hierarchy::clear(store, &path)?;
            erase_leftovers(store, &path, &meta)?;
            write_documents(store, &path, &meta, &attributes)?;
            replaced
        };
        changed.push(path.clone());
        hierarchy::refresh(store, &changed, replaced.then_some(path.as_str()))?;
        let named = meta.dimension_names.iter().flatten().any(Option::is_some) || attributes.contains_key(v2::DIMENSIONS);
        store.note_named(&path, named);
        Array::new(store, path, meta, None, false)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.0.store
    }

    /// The path in the store; empty for the root.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The version of the document.
    pub fn format(&self) -> Format {
        self.state().meta.format
    }

    /// Of which draft of version 3 the array is, if of any.
    pub fn dialect(&self) -> Dialect {
        self.state().meta.dialect
    }

    /// The lengths of the dimensions.
    pub fn shape(&self) -> Dims {
        self.state().meta.shape.clone()
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.state().meta.shape.len()
    }

    /// The shape of a chunk: of what is stored under one key, a shard where the array is sharded. On a rectilinear grid that of the
    /// largest one.
    pub fn chunk_shape(&self) -> Dims {
        let state = self.state();
        state.meta.grid.largest(&state.meta.shape)
    }

    /// The chunks as the document has them: `[4, 3]` for chunks of one shape, `[[4, 4, 2], 3]` with extents that are listed.
    pub fn chunks_json(&self) -> Value {
        chunks_json(&self.state().meta)
    }

    /// The array in a few words: `float64 [100, 64, 64] in chunks of [50, 32, 64]`.
    pub fn describe(&self) -> String {
        super::walk::describe(&self.state().meta)
    }

    /// How the array is cut into chunks.
    pub fn grid(&self) -> Grid {
        self.state().meta.grid.clone()
    }

    /// The number of chunks along each dimension.
    pub fn grid_shape(&self) -> Dims {
        let state = self.state();
        state.meta.grid.counts(&state.meta.shape)
    }

    /// Returns the first element and the extent of chunk `index` along dimension `dim`; the chunk may extend beyond the array's end.
    /// Errors: `Bounds`.
    pub fn chunk_extent(&self, dim: usize, index: u64) -> Result<(u64, u64)> {
        let state = self.state();
        let Some(&length) = state.meta.shape.get(dim) else {
            bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, state.meta.shape.len()), state.meta.shape.len());
        };
        let count = state.meta.grid.count(dim, length);
        if index >= count {
            bail!(
                Bounds,
                "chunk {} along {}, where the array has {count}",
                counting::position(index as i64),
                counting::dimension(dim, state.meta.shape.len())
            );
        }
        Ok((state.meta.grid.origin(dim, index), state.meta.grid.extent(dim, index)))
    }

    /// The shape of the chunks inside a shard (of the outermost level); the chunk shape where the array is not sharded.
    pub fn inner_chunk_shape(&self) -> Dims {
        self.state().inner_chunk.clone()
    }

    /// The type of the elements.
    pub fn data_type(&self) -> DataType {
        self.state().meta.data_type
    }

    /// The type of the elements with the byte order that the document gives it; v3's gives none.
    pub fn stored_type(&self) -> ElementType {
        let state = self.state();
        match state.meta.codecs {
            Codecs::V2 { element, .. } => element,
            Codecs::V3(_) => state.meta.data_type.into(),
        }
    }

    /// What missing chunks hold.
    pub fn fill(&self) -> Fill {
        self.state().meta.fill.clone()
    }

    /// The document as JSON, with the attributes as this handle knows them.
    pub fn metadata_json(&self) -> String {
        let mut document = self.state().meta.document.clone();
        if let (Format::V3, Some(attributes)) = (self.format(), self.0.attributes.published()) {
            document.insert("attributes".into(), Value::Object((*attributes).clone()));
        }
        json::to_text(&Value::Object(document))
    }

    /// What a copy of the array is, in `format` (`None`: the array's, of a draft 3): the same shape, chunks, codecs, fill value,
    /// names of dimensions and attributes. Each setting of it can be changed on its own.
    pub fn spec(&self, format: Option<Format>) -> Result<Spec> {
        let attributes = self.0.attributes.view()?;
        Spec::like(&self.state().meta, (*attributes).clone(), format, &mut Vec::new())
    }

    /// Reads the selected elements into `memory`.
    ///
    /// # Safety
    /// As for [`engine::read`].
    pub unsafe fn read(&self, selection: &Selection, memory: &Memory) -> Result<()> {
        let bound = self.bound_for_reading(selection)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::read(&bound, selection, memory) }
    }

    /// Writes the selected elements from `memory`.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub unsafe fn write(&self, selection: &Selection, memory: &Memory) -> Result<()> {
        let bound = self.bound_for_writing(selection)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::write(&bound, selection, memory) }
    }

    /// Reads what a list picks into `memory`, which has the list's own shape.
    ///
    /// # Safety
    /// As for [`engine::read`].
    pub unsafe fn read_picks(&self, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<()> {
        let bound = self.bound_for_reading(box_of(picks).unwrap_or(&Selection::all(&self.shape())))?;
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::read_picks(&bound, picks, memory) }
    }

    /// Writes what a list picks from `memory`. Of an element that it picks several times the last value counts.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub unsafe fn write_picks(&self, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<()> {
        let bound = self.bound_for_writing(box_of(picks).unwrap_or(&Selection::all(&self.shape())))?;
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::write_picks(&bound, picks, memory) }
    }

    /// The plan of reading or writing a selection to or from memory like that; nothing is read for it.
    pub fn explain(&self, selection: &Selection, memory: &Memory, write: bool) -> Result<Explanation> {
        let bound = if write { self.bound_for_writing(selection) } else { self.bound_for_reading(selection) }?;
        engine::explain::explain(&bound, selection, memory, write)
    }

    /// Returns the box of the selection (steps of 1) that worker `index` of `workers` gets, cut where chunks end, or inner chunks with
    /// `inner`. The box is empty for some workers if there are fewer chunks than workers.
    pub fn partition(&self, selection: &Selection, workers: u64, index: u64, inner: bool) -> Result<(Dims, Dims)> {
        let state = self.state();
        check_inside(&state.meta.shape, selection)?;
        let sharded = matches!(&state.bound, Ok(bound) if matches!(*bound.chain, BoundChain::Sharded(_)));
        if inner && sharded {
            return engine::partition::partition(&Grid::regular(state.inner_chunk.clone())?, selection, workers, index);
        }
        engine::partition::partition(&state.meta.grid, selection, workers, index)
    }

    /// The counters of what is done by this handle.
    pub fn stats(&self) -> &Arc<Counters> {
        &self.0.stats
    }

    /// What the engine needs to read a selection, which was looked at again.
    pub(super) fn bound_for_reading(&self, selection: &Selection) -> Result<Arc<BoundArray>> {
        let bound = self.state().bound(&self.0.path)?;
        check_inside(&bound.shape, selection)?;
        Ok(bound)
    }

    /// What the engine needs to write to a selection.
    pub(super) fn bound_for_writing(&self, selection: &Selection) -> Result<Arc<BoundArray>> {
        self.0.store.check_writable()?;
        if self.0.listed.load(Ordering::Acquire) {
            self.set_state(self.read_fresh(self.format())?);
        }
        let state = self.state();
        state.meta.dialect.refuse()?;
        let bound = state.bound(&self.0.path)?;
        check_inside(&bound.shape, selection)?;
        Ok(bound)
    }

    /// Whether chunks that hold only the fill value are stored all the same. (Always where the fill value is null.)
    pub fn set_write_fill_chunks(&self, on: bool) {
        self.handle(|handling| handling.write_fill_chunks = on);
    }

    /// Caches decoded chunks (inner chunks of shards) that are read in part, in up to `bytes` bytes of memory; 0 turns this off. A cached
    /// chunk is used while its object is unchanged, which the store is asked for at each use. For stores with latency nothing is cached.
    /// Errors: `Limit` if `bytes` has no room for even one chunk.
    pub fn set_chunk_cache(&self, bytes: usize) -> Result<()> {
        let cache = ChunkCache::new(bytes);
        if bytes > 0 {
            cache.check_room(&self.state().bound(&self.0.path)?.chain)?;
        }
        self.handle(|handling| {
            handling.cache.iter().for_each(ArrayCache::forget_all);
            handling.cache = (bytes > 0).then(|| cache.for_array());
        });
        Ok(())
    }

    /// Lets writes to parts of chunks wait in up to `bytes` bytes of memory until the chunks are whole; 0 turns this off. Stores first what
    /// waited before. Errors: `Limit` if `bytes` has no room for even one chunk.
    pub fn set_write_back(&self, bytes: usize) -> Result<()> {
        self.store_waiting()?;
        let kept = WriteBack::new(bytes);
        if bytes > 0 {
            let array = self.state().bound(&self.0.path)?;
            kept.check_room(array.chain.shape(), array.data_type)?;
        }
        self.handle(|handling| handling.write_back = (bytes > 0).then(|| kept.clone()));
        Ok(())
    }

    /// Whether chunks that hold only the fill value are stored all the same.
    pub fn writes_fill_chunks(&self) -> bool {
        self.0.handling.read(|handling| handling.write_fill_chunks)
    }

    /// The most bytes of decoded chunks that are kept; 0: none are.
    pub fn chunk_cache(&self) -> usize {
        self.0.handling.read(|handling| handling.cache.as_ref().map_or(0, ArrayCache::limit))
    }

    /// The most bytes of parts of chunks that wait to be written; 0: nothing waits.
    pub fn write_back(&self) -> usize {
        self.0.handling.read(|handling| handling.write_back.as_ref().map_or(0, |kept| kept.limit()))
    }

    /// Stores what waits to be written. What cannot be stored goes on waiting.
    pub(super) fn store_waiting(&self) -> Result<()> {
        self.state().bound.as_ref().map_or(Ok(()), store_waiting)
    }

    /// Changes how this handle treats its chunks.
    fn handle(&self, change: impl FnOnce(&mut Handling)) {
        let handling = self.0.handling.write(|handling| {
            change(handling);
            handling.clone()
        });
        drop(self.0.state.write(|state| {
            let Ok(bound) = &state.bound else { return None };
            let store_fill_chunks = handling.write_fill_chunks || !state.meta.fill.defined;
            let Handling { cache, write_back, .. } = handling;
            let bound = Ok(Arc::new(BoundArray { store_fill_chunks, cache, write_back, ..(**bound).clone() }));
            let changed = state.like(state.meta.clone(), bound);
            Some(std::mem::replace(state, Arc::new(changed)))
        }));
    }

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.0.attributes
    }

    /// The program closes the array: if it was opened by its location, groups that are to be consolidated are; all is flushed.
    pub fn close(&self) -> Result<()> {
        self.settle();
        let stored = self.store_waiting();
        stored.and(self.0.store.close(Some(&self.0.path)))
    }

    /// Stores what waits to be written, and makes durable what was, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        self.settle();
        let stored = self.store_waiting();
        stored.and(self.flush_store())
    }

    /// Makes durable what was stored.
    pub(super) fn flush_store(&self) -> Result<()> {
        let chunks = self.state().chunk_store.clone();
        if !Arc::ptr_eq(&chunks, self.0.store.shared()) && self.0.store.capabilities().writable {
            chunks.flush()?;
        }
        self.0.store.flush()
    }

    /// Waits for the requests on the array that are under way.
    pub(super) fn settle(&self) {
        if let Ok(bound) = &self.state().bound {
            engine::request_queue::settle_array(bound);
        }
    }

    /// Returns the current state.
    pub(super) fn state(&self) -> Arc<State> {
        self.0.state.read(Arc::clone)
    }

    /// The state of a document that was just read or written.
    pub(super) fn state_of(&self, meta: ArrayMeta) -> Result<State> {
        let state = State::new(&self.0.store, &self.0.path, meta, &self.0.handling.read(Handling::clone))?;
        Ok(state.counting(&self.0.stats))
    }

    /// Uses that state, of the document itself, from now on, and gives it as what [`Array::state`] gives until it changes again; and the
    /// one before.
    pub(super) fn set_state(&self, state: State) -> (Arc<State>, Arc<State>) {
        if let Some(cache) = self.0.handling.read(|handling| handling.cache.clone()) {
            let alike = ArrayMeta { shape: state.meta.shape.clone(), ..self.state().meta.clone() };
            if difference(&alike, &state.meta).is_some() {
                cache.forget_all();
            }
        }
        let state = Arc::new(state);
        let before = self.0.state.replace(state.clone());
        self.0.listed.store(false, Ordering::Release);
        (state, before)
    }
}

impl State {
    pub fn new(store: &Store, path: &str, mut meta: ArrayMeta, handling: &Handling) -> Result<State> {
        let guessed = separator_is_open(&meta) && choose_separator(store, path, &mut meta)?;
        let chain = Chain::parse(&meta.codecs, meta.data_type, meta.shape.len());
        let fill_bytes: Arc<[u8]> = meta.fill.element(meta.data_type).as_slice().into();
        let fill = match meta.data_type.is_variable() {
            true => Item::new(&fill_bytes).to_element(),
            false => meta.fill.element(meta.data_type),
        };
        let inner_chunk = chain.as_ref().ok().and_then(Chain::inner_shape).unwrap_or_else(|| meta.grid.largest(&meta.shape));
        let chunks = match meta.dialect {
            Dialect::D0 => draft::chunks(store, path, &meta)?,
            Dialect::Final | Dialect::D2 => (path::prefix(path), meta.keys),
        };
        let chain = if store.options().verify { chain } else { chain.map(|chain| chain.unverified()) };
        // Functions of the program that may not run anywhere keep the whole work in the calling thread.
        let functions = (
            if let DataType::Foreign(registered) = meta.data_type { Some(registered.calls()?) } else { None },
            if let KeyEncoding::Own(registered) = meta.keys { Some(registered.calls()?) } else { None },
        );
        let chunk_store = transform::chunk_store(store, path, &meta)?;
        let any_thread = functions.1.as_ref().is_none_or(|keys| keys.any_thread())
            && chunk_store.any_thread()
            && chain.as_ref().map_or(true, |chain| chain.any_thread());
        let clipped = chain.as_ref().ok().filter(|_| store.options().clipped).map(|chain| Arc::new(chain.clone()));
        let bound = match chain.and_then(|chain| Ok((bind_largest(&chain, &meta.grid, &meta.shape)?, chain))) {
            Ok((bound, chain)) => Ok(Arc::new(BoundArray {
                store: chunk_store.clone(),
                prefix: chunks.0.clone(),
                shape: meta.shape.clone(),
                grid: meta.grid.clone(),
                keys: chunks.1,
                data_type: meta.data_type.in_memory(),
                chain: Arc::new(bound),
                fill,
                fill_bytes,
                by_shape: meta.grid.regular_shape().is_none().then(|| ByShape::new(chain)),
                store_fill_chunks: handling.write_fill_chunks || !meta.fill.defined,
                pool: if any_thread { store.context().pool.clone() } else { Pool::new(1) },
                locks: store.context().chunk_locks.clone(),
                open_shards: Arc::default(),
                lenient: Lenient { empty_is_missing: store.options().empty_is_missing, clipped },
                stats: store.stats().clone(),
                cache: handling.cache.clone(),
                write_back: handling.write_back.clone(),
            })),
            Err(e) if matches!(e.kind(), ErrorKind::Unsupported | ErrorKind::Extension | ErrorKind::Limit) => Err(e),
            Err(e) => return Err(e),
        };
        Ok(State { meta, bound, inner_chunk, chunks, chunk_store, guessed, functions })
    }

    /// Returns this state with its work counted in `stats`.
    fn counting(mut self, stats: &Arc<Counters>) -> State {
        if let Ok(bound) = &mut self.bound
            && let Some(bound) = Arc::get_mut(bound)
        {
            bound.stats = stats.clone();
        }
        self
    }

    /// Returns a state of this array with the lengths `shape`, on a regular grid: nothing else depends on them.
    pub fn with_shape(&self, shape: &[u64]) -> State {
        self.like(self.meta.clone(), self.bound.clone()).into_shape(shape)
    }

    /// Turns this state, which nothing else refers to, into one with the lengths `shape`.
    pub fn into_shape(mut self, shape: &[u64]) -> State {
        self.meta.shape = Dims::from_slice(shape);
        self.meta.document.insert("shape".into(), number_list(shape));
        if let Ok(bound) = &mut self.bound {
            Arc::make_mut(bound).shape = Dims::from_slice(shape);
        }
        self
    }

    /// Makes a state with another document and other settings, for chunks in the places of these.
    fn like(&self, meta: ArrayMeta, bound: Result<Arc<BoundArray>>) -> State {
        State {
            meta,
            bound,
            inner_chunk: self.inner_chunk.clone(),
            chunks: self.chunks.clone(),
            chunk_store: self.chunk_store.clone(),
            guessed: self.guessed,
            functions: self.functions.clone(),
        }
    }

    /// What the engine needs, or why it cannot be had.
    pub fn bound(&self, path: &str) -> Result<Arc<BoundArray>> {
        self.bound.clone().map_err(|e| match self.meta.dialect {
            Dialect::D0 => e.at_key(path::display(path)),
            Dialect::Final | Dialect::D2 => e.at_key(path::join(path, document_name(self.meta.format))),
        })
    }

    /// What the extents of chunks must be multiples of.
    pub fn multiple(&self) -> Dims {
        match &self.bound {
            Ok(bound) if matches!(*bound.chain, BoundChain::Sharded(_)) => self.inner_chunk.clone(),
            _ => Dims::from_elem(1, self.meta.shape.len()),
        }
    }
}

/// The chain, bound to the shape of the largest chunk, where every chunk of the array can be bound: an inner chunk must divide all of them.
pub(super) fn bind_largest(chain: &Chain, grid: &Grid, shape: &[u64]) -> Result<BoundChain> {
    let largest = grid.largest(shape);
    for (d, &inner) in chain.inner_shape().iter().flatten().enumerate() {
        if let Some(extent) = grid.odd_extent(d, shape[d], inner) {
            let mut odd = largest.clone();
            odd[d] = extent;
            chain.bind(&odd)?;
        }
    }
    chain.bind(&largest)
}

/// Whether a v2 document leaves open how the keys of its chunks are, and it makes a difference.
fn separator_is_open(meta: &ArrayMeta) -> bool {
    let said = meta.document.get("dimension_separator").is_some_and(|value| !value.is_null());
    meta.format == Format::V2 && meta.dialect == Dialect::Final && meta.shape.len() > 1 && !said
}

/// Uses the separator of the store's options; else "/" if chunks are in folders and no chunk is stored flat, as some early writers
/// left them without saying so (HD-11). Returns whether it was found this way.
fn choose_separator(store: &Store, path: &str, meta: &mut ArrayMeta) -> Result<bool> {
    if let Some(separator) = store.options().separator {
        meta.keys = KeyEncoding::V2(separator);
        return Ok(false);
    }
    let (shared, prefix) = (store.shared(), path::prefix(path));
    let mut first = prefix.clone();
    meta.keys.push(meta.shape.iter().map(|_| 0), &mut first);
    if !shared.capabilities().listable || shared.open(&first).map_err(|e| e.at_key(&first))?.is_some() {
        return Ok(false);
    }
    let listing = shared.list_dir(&prefix)?;
    let is_flat = |key: &String| super::resize::parse_key(meta.keys, key, meta.shape.len()).is_some();
    let is_folder = |name: &String| super::resize::parse_key(KeyEncoding::V2(Separator::Dot), name, 1).is_some();
    let nested = listing.prefixes.iter().any(is_folder) && !listing.keys.iter().any(is_flat);
    if nested {
        meta.keys = KeyEncoding::V2(Separator::Slash);
    }
    Ok(nested)
}

/// See [`Array::chunks_json`].
pub(super) fn chunks_json(meta: &ArrayMeta) -> Value {
    let said = meta.document.get("chunk_grid").and_then(|grid| grid.get("configuration"));
    let said = said.and_then(|c| c.get("chunk_shapes").or_else(|| c.get("chunk_shape")));
    said.cloned().unwrap_or_else(|| v3_grid::chunk_shapes(&meta.grid))
}

/// The name of an array's document.
pub(super) fn document_name(format: Format) -> &'static str {
    if format == Format::V3 { v3::DOCUMENT } else { v2::ARRAY }
}

/// A selection was checked against the shape of its time; another thread may have shrunk the array since.
fn check_inside(shape: &[u64], selection: &Selection) -> Result<()> {
    if selection.shape().len() != shape.len() {
        bail!(Rank, "the region has rank {}, the array's is {} by now", selection.shape().len(), shape.len());
    }
    if selection.shape().contains(&0) {
        return Ok(());
    }
    for (d, &length) in shape.iter().enumerate() {
        let (start, count, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
        let last = start.wrapping_add_signed(step.wrapping_mul(count as i64 - 1));
        if start.max(last) >= length {
            let reached = counting::position(start.max(last) as i64);
            bail!(
                Bounds,
                "{}: the region reaches to {reached}, the array's length is {length} by now",
                counting::dimension(d, shape.len())
            );
        }
    }
    Ok(())
}

/// The box that a mask is over.
fn box_of<'a>(picks: &CoordinateSelection<'a>) -> Option<&'a Selection> {
    if let CoordinateSelection::Mask { region, .. } = picks { Some(region) } else { None }
}

/// Looks for a node at `path`: returns the array to use instead of a new one, or `None` if nothing is in the way, or an error.
fn existing(store: &Store, path: &str, wanted: &ArrayMeta, how: Create) -> Result<Option<Array>> {
    if how == Create::Overwrite {
        return Ok(None);
    }
    let Some(found) = hierarchy::found_on_create(store, path)? else { return Ok(None) };
    let kind = found.kind;
    if how == Create::New || kind != NodeKind::Array {
        return Err(hierarchy::exists(store, path, kind, ""));
    }
    let array = Array::quietly(store, path.to_string(), found)?;
    match difference(&array.state().meta, wanted) {
        None => Ok(Some(array)),
        Some(text) => Err(hierarchy::exists(store, path, kind, &format!(" with {text}"))),
    }
}

/// The first difference between what is there and what is wanted, as words.
fn difference(found: &ArrayMeta, wanted: &ArrayMeta) -> Option<String> {
    let differ = |what: &str, a: String, b: String| (a != b).then(|| format!("{what} {a} instead of {b}"));
    // The form of v3 tells every bit.
    let fill = |m: &ArrayMeta| if m.fill.defined { m.fill.to_json_v3(m.data_type).to_string() } else { "null".into() };
    let codecs = |m: &ArrayMeta| {
        let names: &[&str] =
            if m.format == Format::V3 { &["codecs", "storage_transformers"] } else { &["dtype", "order", "filters", "compressor"] };
        let fresh = if m.format == Format::V3 { v3::write_array(m) } else { v2::write_array(m) };
        names.iter().map(|n| fresh.get(n).map(Value::to_string).unwrap_or_default()).collect::<Vec<_>>().join(", ")
    };
    differ("zarr_format", found.format.number().to_string(), wanted.format.number().to_string())
        .or_else(|| differ("shape", counting::shape(&found.shape).to_string(), counting::shape(&wanted.shape).to_string()))
        .or_else(|| differ("chunks", chunks_text(found), chunks_text(wanted)))
        .or_else(|| differ("data type", type_text(found), type_text(wanted)))
        .or_else(|| differ("fill value", fill(found), fill(wanted)))
        .or_else(|| differ("chunk keys", format!("{:?}", found.keys), format!("{:?}", wanted.keys)))
        .or_else(|| differ("codecs", codecs(found), codecs(wanted)))
}

fn type_text(meta: &ArrayMeta) -> String {
    match meta.data_type {
        DataType::Struct(_) => parse_v3::to_json(meta.data_type).to_string(),
        other => other.numpy(),
    }
}

fn chunks_text(meta: &ArrayMeta) -> String {
    match meta.grid.regular_shape() {
        Some(chunk) => counting::shape(chunk).to_string(),
        None => json::to_compact(&v3_grid::chunk_shapes(&meta.grid)),
    }
}

/// Erases chunks without a document at the keys of the new array, which a kill while erasing leaves behind: they would be taken for the new
/// array's. Touches nothing else.
fn erase_leftovers(store: &Store, path: &str, meta: &ArrayMeta) -> Result<()> {
    let (plain, chunks) = (store.shared(), transform::chunk_store(store, path, meta)?);
    erase_chunks(plain, path, meta)?;
    if Arc::ptr_eq(plain, &chunks) { Ok(()) } else { erase_chunks(&chunks, path, meta) }
}

fn erase_chunks(shared: &SharedStore, path: &str, meta: &ArrayMeta) -> Result<()> {
    let prefix = path::prefix(path);
    if !shared.capabilities().listable {
        return Ok(());
    }
    let is_chunk = |tail: &str| super::resize::parse_key(meta.keys, tail, meta.shape.len()).is_some();
    let listing = shared.list_dir(&prefix)?;
    let mut found: Vec<String> = listing.keys.iter().filter(|tail| is_chunk(tail)).map(|tail| format!("{prefix}{tail}")).collect();
    // Other folders cannot hold chunks, and may be large.
    for folder in listing.prefixes.iter().filter(|name| *name == "c" || name.bytes().all(|b| b.is_ascii_digit())) {
        shared.list(&format!("{prefix}{folder}/"), &mut |key| {
            if key.strip_prefix(&prefix).is_some_and(is_chunk) {
                found.push(key.to_string());
            }
            Ok(())
        })?;
    }
    for key in found {
        shared.erase(&key).map_err(|e| e.at_key(key))?;
    }
    Ok(())
}

/// Writes the documents of a new array, the one that makes it an array last.
pub(super) fn write_documents(store: &Store, path: &str, meta: &ArrayMeta, attributes: &Map) -> Result<()> {
    if meta.format == Format::V2 {
        let key = path::join(path, v2::ATTRIBUTES);
        if attributes.is_empty() {
            store.shared().erase(&key).map_err(|e| e.at_key(&key))?;
        } else {
            document::publish(store, &key, attributes, crate::store::Condition::None)?;
        }
    }
    hierarchy::publish_new(store, path, document_name(meta.format), &meta.document)
}
