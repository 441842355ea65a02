//! Arrays: opening, creating, and reading and writing through the engine. Changes of the shape are in `resize`.
//! Specification: v2, "Arrays"; v3 core, "Array metadata".

use super::current::{Current, Replaced};
use super::document::array_document;
use super::last_handle::{ArrayInner, ArrayUse};
use super::lost::OpenArray;
use super::state::{ArrayState, Handling};
use super::stored::StoredDocument;
use super::{Attributes, NodeKind, Store, lookup, path};
use crate::counting;
use crate::dtype::{DataType, fill::Fill};
use crate::engine::stats::Counters;
use crate::engine::{
    self, ArrayCache, BoundArray, Changes, ChunkCache, CoordinateSelection, Growing, Growths, Memory, Selection, WriteBack,
};
use crate::error::{Result, bail, err};
use crate::fork::Once;
use crate::grid::Grid;
use crate::limits::Dims;
use crate::metadata::lint::{self, Finding, Severity};
use crate::metadata::{ArrayMeta, Dialect, Format, Map, v2, v3};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often an array is looked for again while other threads take nodes away.
const LOOKS: usize = 8;

/// An open array. Clones share it, with what is being collected of its attributes; see [`Array::for_another_handle`].
#[derive(Clone)]
pub struct Array(pub(super) Arc<ArrayInner>, Arc<Attributes>, ArrayUse);

impl Array {
    /// Opens the array at `path`.
    pub fn open(store: &Store, path: &str) -> Result<Array> {
        Array::open_normal(store, path::normalize(path)?)
    }

    /// Opens the array at a normalised path.
    #[inline(always)]
    pub(super) fn open_normal(store: &Store, path: String) -> Result<Array> {
        let found = lookup::require(store, &path, NodeKind::Array)?;
        Array::from_stored(store, path, found)
    }

    /// Makes the array of a document that was found, and reports its deviations to the context.
    pub(super) fn from_stored(store: &Store, path: String, found: StoredDocument) -> Result<Array> {
        found.report(store)?;
        let array = Array::quietly(store, path, found)?;
        if store.context().watches() {
            let state = array.state();
            let guessed = state.guessed.map(|(id, text)| Finding::new(Severity::Deviation, id, text));
            let fill = lint::in_fill(&state.meta, || array.attributes().view().is_ok_and(|all| v2::has_nczarr_keys(&all)))
                .filter(|_| !store.options().text_fill);
            let notes: Vec<Finding> = guessed.into_iter().chain(array.names_finding()).chain(fill).collect();
            store.context().report(&path::join(array.path(), array_document(array.format())), &notes)?;
        }
        Ok(array)
    }

    /// Makes the array of a document that another process exported, which is as good as read.
    pub(super) fn imported(store: &Store, path: String, found: StoredDocument) -> Result<Array> {
        let array = Array::from_stored(store, path, found)?;
        array.0.listed.store(false, Ordering::Release);
        Ok(array)
    }

    /// Makes the array of a document that was found, without a report to the context: a lock may be held.
    pub(super) fn quietly(store: &Store, path: String, mut found: StoredDocument) -> Result<Array> {
        let mut array = Array::of_document(store, path, &mut found)?;
        // Where a call of this process has taken it away since the document was read, what is there now may be another array.
        for _ in 0..LOOKS {
            if found.listed || !array.0.open.was_taken_since(found.as_of) {
                return Ok(array);
            }
            let now = lookup::find_bare(store, array.path()).ok().flatten().filter(|now| now.kind == NodeKind::Array);
            let Some(now) = now else { break };
            found = now;
            array = Array::of_document(store, array.path().to_string(), &mut found)?;
        }
        array.lose();
        Ok(array)
    }

    fn of_document(store: &Store, path: String, found: &mut StoredDocument) -> Result<Array> {
        if found.kind != NodeKind::Array {
            return Err(err!(NodeKind, "found a group, expected an array").at_key(&found.key));
        }
        let (meta, growths) = (found.parse_array(store)?, Growths::default());
        let open = |path: &str| OpenArray::new(store, path, &growths, false);
        Array::with(store, path, meta, found.attributes.take(), found.listed, &growths, open).map_err(|e| e.at_key(&found.key))
    }

    /// Makes the array of a call that creates it, which has noted it as open with those `growths`.
    pub(super) fn made(store: &Store, path: &str, meta: ArrayMeta, growths: &Growths, open: Arc<OpenArray>) -> Result<Array> {
        let array = Array::with(store, path.to_string(), meta, None, false, growths, |_| open)?;
        // What was lost before its state was made.
        if growths.is_lost() {
            array.lose();
        }
        Ok(array)
    }

    fn with(
        store: &Store,
        path: String,
        meta: ArrayMeta,
        attributes: Option<Map>,
        listed: bool,
        growths: &Growths,
        open: impl FnOnce(&str) -> Arc<OpenArray>,
    ) -> Result<Array> {
        let known = match meta.format {
            Format::V2 => attributes,
            Format::V3 => Some(v3::attributes(&meta.document).cloned().unwrap_or_default()),
        };
        let (cache, growths) = (store.context().chunk_cache().map(ChunkCache::for_array), growths.clone());
        let handling = Handling { cache, growths: growths.clone(), ..Handling::default() };
        let (version, element) = ((meta.format, meta.dialect), Some(meta.data_type));
        let attributes = Attributes::new((store, &path), version, element, known, growths);
        let stats = Counters::below(store.stats());
        let state = ArrayState::counting(store, &path, meta, &handling, &stats)?;
        let (open, listed) = (open(&path), AtomicBool::new(listed));
        let (store, now) = (store.clone(), Current::new(state, handling));
        let array = Arc::new(ArrayInner { store, path, now, listed, stats, open, noted: Once::new() });
        let user = ArrayUse::first(&array);
        Ok(Array(array, Arc::new(attributes), user))
    }

    /// This array for another handle, which collects changes of the attributes for itself.
    pub fn for_another_handle(&self) -> Array {
        Array(self.0.clone(), Arc::new(self.1.for_another_handle()), self.2.clone())
    }

    /// This array for what works on it and is no handle: what waits is stored when the last handle ends, and does not wait for this.
    pub(super) fn for_work(&self) -> Array {
        Array(self.0.clone(), self.1.clone(), self.2.other())
    }

    /// Whether a handle is open.
    pub(super) fn has_handle(&self) -> bool {
        self.2.has_handle()
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

    /// Whether threads that are not inside of a call may read and write it, too.
    pub fn any_thread(&self) -> bool {
        self.state().bound.as_ref().is_ok_and(|bound| bound.any_thread)
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

    /// How the array is cut into chunks.
    pub fn grid(&self) -> Grid {
        self.state().meta.grid.clone()
    }

    /// The number of chunks along each dimension.
    pub fn grid_shape(&self) -> Dims {
        let state = self.state();
        state.meta.grid.counts(&state.meta.shape)
    }

    /// The shape of the chunks inside a shard (of the outermost level); the chunk shape where the array is not sharded.
    pub fn inner_chunk_shape(&self) -> Dims {
        self.state().inner_chunk.clone()
    }

    /// The type of the elements.
    pub fn data_type(&self) -> DataType {
        self.state().meta.data_type
    }

    /// What missing chunks hold.
    pub fn fill(&self) -> Fill {
        self.state().meta.fill.clone()
    }

    /// The document as JSON, with the attributes as this handle knows them.
    pub fn metadata_json(&self) -> Result<String> {
        self.1.document_json(self.format(), self.state().meta.document.clone())
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
        self.check_changeable()?;
        self.bound_for_reading(selection)
    }

    /// Whether the handle knows its document from consolidated metadata only.
    pub(super) fn is_listed(&self) -> bool {
        self.0.listed.load(Ordering::Acquire)
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
        self.0.noted.get(|| self.0.store.waiting().note(&self.0));
        self.store_waiting()?;
        let new = (bytes > 0).then(|| WriteBack::stored_behind(bytes));
        let fits = |new: &Arc<WriteBack>, array: &BoundArray| new.check_room(array.chain.shape(), array.data_type);
        new.iter().try_for_each(|new| fits(new, &*self.state().bound(&self.0.path)?))?;
        let mut is_set = false;
        while !is_set {
            let old = self.0.kept_parts();
            old.iter().try_for_each(|old| engine::flush_and_close(|| self.state().bound(&self.0.path), old))?;
            // Another thread may have set one meanwhile.
            let is_old = |now: &Option<Arc<WriteBack>>| now.as_ref().map(Arc::as_ptr) == old.as_ref().map(Arc::as_ptr);
            self.handle(|handling| {
                is_set = is_old(&handling.write_back);
                handling.write_back = if is_set { new.clone() } else { handling.write_back.take() };
            });
        }
        Ok(())
    }

    /// Lists the keys of chunks that this handle changes from now on; or no longer.
    pub fn set_list_changes(&self, on: bool) {
        self.handle(|handling| handling.changes = on.then(Changes::new));
    }

    /// The keys of chunks that this handle changed, a line for each; `None` where they are not listed.
    pub fn changes(&self) -> Result<Option<String>> {
        self.settle();
        self.0.now.handling(|handling| handling.changes.as_ref().map(|changes| changes.lines()).transpose())
    }

    /// Whether chunks that hold only the fill value are stored all the same.
    pub fn writes_fill_chunks(&self) -> bool {
        self.0.now.handling(|handling| handling.write_fill_chunks)
    }

    /// The most bytes of decoded chunks that are kept; 0: none are.
    pub fn chunk_cache(&self) -> usize {
        self.0.now.handling(|handling| handling.cache.as_ref().map_or(0, ArrayCache::limit))
    }

    /// The most bytes of parts of chunks that wait to be written; 0: nothing waits.
    pub fn write_back(&self) -> usize {
        self.0.kept_parts().map_or(0, |kept| kept.limit())
    }

    /// Stores what waits to be written. What cannot be stored goes on waiting.
    pub(super) fn store_waiting(&self) -> Result<()> {
        self.0.store_waiting(&self.state(), true)
    }

    /// Changes how this handle treats its chunks.
    pub(super) fn handle(&self, change: impl FnOnce(&mut Handling)) {
        self.0.now.handle(change);
    }

    /// The attributes.
    pub fn attributes(&self) -> &Attributes {
        &self.1
    }

    /// Stores what waits to be written, and makes durable what was, as far as the store's mode promises it.
    pub fn flush(&self) -> Result<()> {
        let stored = self.finish_writes();
        stored.and(self.0.store.flush_node())
    }

    /// Makes durable what was stored.
    pub(super) fn flush_store(&self) -> Result<()> {
        self.0.store.flush()
    }

    /// Waits for the requests on the array that are under way, and stores what waits: what looks at stored chunks, or changes them, comes after.
    pub(super) fn finish_writes(&self) -> Result<()> {
        self.settle();
        self.store_waiting()
    }

    /// Waits for the requests on the array that are under way.
    pub(super) fn settle(&self) {
        if let Ok(bound) = &self.state().bound {
            engine::request_queue::settle(|| bound.place());
        }
    }

    /// Returns the current state.
    pub(super) fn state(&self) -> Arc<ArrayState> {
        self.0.now.state()
    }

    /// Tells writes of this handle, until what is given is dropped, that the array gets longer: they keep what they find behind the end that they know.
    pub(super) fn begin_growth(&self) -> Growing {
        self.growths().begin()
    }

    /// The state of a document that was read or written while `seen` was the handle's: an array that was lost since stays so, whatever is there.
    pub(super) fn state_of(&self, mut meta: ArrayMeta, seen: &Arc<ArrayState>) -> Result<ArrayState> {
        meta.keep_registered(&seen.meta);
        let (found, rank) = (meta.shape.len(), seen.meta.shape.len());
        if found != rank {
            // What the program knows of its handle, and what it gives, has that many lengths. It writes by the document before, which is gone.
            self.lose();
            let e = err!(State, "the array was replaced by one of {found} dimensions, this handle has {rank}: open it again");
            return Err(e.at_key(path::display(self.path())));
        }
        let handling = Handling { before: Some(seen.clone()), ..self.0.now.handling(Handling::clone) };
        let state = ArrayState::counting(&self.0.store, &self.0.path, meta, &handling, &self.0.stats)?;
        Ok(state.at_home_of(seen))
    }

    /// The state in which an array, which is `fresh` by now, will be when it gets longer, which writes what is new.
    pub(super) fn grown_state_of(&self, meta: ArrayMeta, fresh: &ArrayState) -> Result<ArrayState> {
        Ok(self.state_of(meta, &self.state())?.knowing(self.growths().with_own()).lost_as(fresh))
    }

    /// That state of a document that was read since the losses were `as_of`, for a handle whose program asks for what is there.
    pub(super) fn found_again(&self, state: ArrayState, as_of: &Growths) -> ArrayState {
        if self.state().is_lost() {
            // What waits of an array that was replaced is not for the new one.
            self.0.kept_parts().iter().for_each(|kept| kept.lose());
        }
        state.found_again(as_of)
    }

    /// Uses that state, of the document itself, from now on, and gives it as what [`Array::state`] gives until it changes again; and the
    /// one before.
    pub(super) fn set_state(&self, state: ArrayState) -> (Arc<ArrayState>, Arc<ArrayState>) {
        self.before_state(&state);
        let Replaced { state, before, .. } = self.0.now.replace(state);
        self.after_state(&state.meta.shape);
        (state, before)
    }

    /// Uses a state of a document that was read while `seen` was the handle's, unless another thread has given it another one since, which
    /// may be newer; false then.
    pub(super) fn set_state_after(&self, seen: &Arc<ArrayState>, state: ArrayState) -> bool {
        self.before_state(&state);
        let replaced = self.0.now.replace_after(seen, state);
        replaced.iter().for_each(|replaced| self.after_state(&replaced.state.meta.shape));
        replaced.is_some()
    }

    /// Forgets what is kept for reading of an array whose chunks are others in the state that comes.
    fn before_state(&self, state: &ArrayState) {
        if let Some(cache) = self.0.now.handling(|handling| handling.cache.clone()) {
            let alike = ArrayMeta { shape: state.meta.shape.clone(), ..self.state().meta.clone() };
            if !matches!(alike.difference(&state.meta), Ok(None)) {
                cache.forget_all();
            }
        }
    }

    /// The handle has another state, whose lengths are `shape`.
    fn after_state(&self, shape: &[u64]) {
        self.0.listed.store(false, Ordering::Release);
        self.growths().follow(shape);
    }

    /// What counts how often the handle makes the array longer and shorter.
    pub(super) fn growths(&self) -> Growths {
        self.0.now.handling(|handling| handling.growths.clone())
    }
}

/// A selection was checked against the shape of its time; another thread may have shrunk the array since.
pub(super) fn check_inside(shape: &[u64], selection: &Selection) -> Result<()> {
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
