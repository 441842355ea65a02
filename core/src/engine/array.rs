//! An array as the engine knows it: no JSON, no version, no names.

use super::Selection;
use super::changes::Changes;
use super::chunk_cache::ArrayCache;
use super::fence::Fence;
use super::footprint::{self, Footprint};
use super::item::Item;
use super::lenient::Lenient;
use super::lock::ChunkLocks;
use super::pool::Pool;
use super::shapes::{ByShape, Chosen};
use super::shard_open::OpenShards;
use super::stats::Counters;
use super::storing::{self, Storing, Underway};
use super::write_back::WriteBack;
use crate::codec::BoundChain;
use crate::counting;
use crate::dtype::{DataType, SharedElement};
use crate::error::{Error, Result, bail, err};
use crate::fork::ForkPreserved;
use crate::grid::Grid;
use crate::grid::key::KeyEncoding;
use crate::limits::Dims;
use crate::store::SharedStore;
use crate::store::local::path::followed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All that the engine knows of an array: no JSON, no version, no names.
#[derive(Clone)]
pub struct BoundArray {
    /// Where the chunks are.
    pub store: SharedStore,
    /// In front of every chunk key: empty, or the node's path and `/`.
    pub prefix: String,
    /// Where the array is, for calls that come in each other's way.
    pub home: Home,
    /// The lengths of the dimensions.
    pub shape: Dims,
    /// Whether the handle has made the array longer or shorter since, or does so now.
    pub growths: Growths,
    /// The chunk grid.
    pub grid: Grid,
    /// The chunk keys.
    pub keys: KeyEncoding,
    /// The type of the elements, as the array's user sees them.
    pub data_type: DataType,
    /// The chain, bound to the chunk's shape; on a rectilinear grid to that of the largest chunk.
    pub chain: Arc<BoundChain>,
    /// The chains of chunks of other shapes, or `None` on a regular grid.
    pub by_shape: Option<Arc<ByShape>>,
    /// One element of the fill value in native byte order; zeros where the fill value is null. Of variable length: an item that
    /// points into `fill_bytes`.
    pub fill: SharedElement,
    /// The bytes of a fill value of variable length.
    pub fill_bytes: Arc<[u8]>,
    /// Whether chunks that hold only the fill value are stored all the same. (Always where the fill value is null.)
    pub store_fill_chunks: bool,
    /// The threads that a call may use.
    pub pool: Arc<Pool>,
    /// Whether threads that are not inside of a call may work on it, too: no function of the program's forbids it.
    pub any_thread: bool,
    /// The locks of chunks that are being written.
    pub locks: Arc<ChunkLocks>,
    /// The shards that are kept open.
    pub open_shards: Arc<OpenShards>,
    /// Which malformed chunks are tolerated.
    pub lenient: Lenient,
    /// The counters.
    pub stats: Arc<Counters>,
    /// Where decoded chunks are kept for reading, if anywhere.
    pub cache: Option<ArrayCache>,
    /// Where parts of chunks wait to be written, if they do.
    pub write_back: Option<Arc<WriteBack>>,
    /// Whether large reads ask for huge pages where their memory is fresh.
    pub huge_pages: bool,
    /// The keys that were changed, where they are listed.
    pub changes: Option<Arc<Changes>>,
    /// What keeps the chunks of another writer, where one may take the array over.
    pub fence: Option<Arc<Fence>>,
}

/// Makes the array of a test: its fill value is zeros, it has a thread, and its handle keeps nothing.
#[cfg(any(test, feature = "faults"))]
#[allow(clippy::unwrap_used)]
impl BoundArray {
    /// Makes one of that shape, and of chunks of one.
    pub fn plain(
        (store, prefix): (SharedStore, &str),
        (shape, chunk): (&[u64], &[u64]),
        data_type: DataType,
        chain: &crate::codec::chain::Chain,
    ) -> BoundArray {
        BoundArray {
            home: Home::new(store.clone()),
            store,
            prefix: prefix.into(),
            shape: shape.into(),
            growths: Default::default(),
            grid: Grid::regular(chunk.into()).unwrap(),
            keys: KeyEncoding::Default(crate::grid::key::Separator::Dot),
            data_type,
            chain: Arc::new(chain.bind(chunk).unwrap()),
            by_shape: None,
            fill: SharedElement::of_few(&vec![0; data_type.size()]),
            fill_bytes: Arc::default(),
            store_fill_chunks: false,
            pool: Pool::new(1),
            any_thread: true,
            locks: ChunkLocks::new(),
            open_shards: Arc::default(),
            lenient: Default::default(),
            stats: Counters::below(&Counters::process()),
            cache: None,
            write_back: None,
            huge_pages: false,
            changes: None,
            fence: None,
        }
    }
}

impl BoundArray {
    /// Returns where the array's keys begin: the address of the store, and the prefix.
    pub(super) fn keys_begin(&self) -> (usize, &str) {
        (Arc::as_ptr(&self.store).cast::<()>() as usize, &self.prefix)
    }

    /// Returns whether an item of one of them may be done by the other: not where handles of one array know different documents of it, or
    /// lengths, as one does whose array was made longer, or replaced, by another handle.
    pub(super) fn is_same_as(&self, other: &BoundArray) -> bool {
        Arc::ptr_eq(&self.chain, &other.chain)
            && self.keys_begin() == other.keys_begin()
            && self.shape == other.shape
            && self.grid == other.grid
    }

    /// Names the array among all that the process has open: by the store of its node, whatever its chunks go through on their way there.
    pub fn place(&self) -> String {
        footprint::place(&self.home.store.describe(), &self.prefix)
    }

    /// Names what the chunk of a key is locked by: the array, and the key behind the array's. Handles whose stores begin in different folders have
    /// different keys for it, and by links and `..` different folders: there the array is known by the folder that they lead to.
    pub fn lock_name<'a>(&self, key: &'a str) -> (u64, &'a str) {
        (self.home.known_by(|| self.place()), key.strip_prefix(&*self.prefix).unwrap_or(key))
    }

    /// Returns the chunks that a selection touches, or `None` if it is empty.
    pub(super) fn footprint(&self, selection: &Selection, writes: bool) -> Option<Footprint> {
        if selection.shape().contains(&0) {
            return None;
        }
        let ends = |d: usize| {
            let (start, count, step) = (selection.start()[d], selection.shape()[d], selection.step()[d]);
            let last = start.wrapping_add_signed(step.wrapping_mul(count as i64 - 1));
            (self.grid.chunk_of(d, start.min(last)), self.grid.chunk_of(d, start.max(last)))
        };
        let (low, high) = (0..selection.shape().len()).map(ends).unzip();
        Some(Footprint { place: self.place(), low, high, writes })
    }

    /// Puts the key of a chunk into `key`.
    pub fn chunk_key(&self, chunk: &[u64], key: &mut String) -> Result<()> {
        key.clear();
        key.push_str(&self.prefix);
        self.keys.push(chunk.iter().copied(), key)
    }

    /// Returns the key of a chunk.
    pub fn key_of(&self, chunk: &[u64]) -> Result<String> {
        let mut key = String::new();
        self.chunk_key(chunk, &mut key).map(|()| key)
    }

    /// Returns the chain, bound to the shape of a chunk.
    pub(super) fn chain_of(&self, chunk: &[u64]) -> Result<Chosen<'_>> {
        let Some(by_shape) = &self.by_shape else { return Ok(Chosen::Kept(&self.chain)) };
        let shape = self.grid.shape_of(chunk);
        if self.chain.shape() == &shape { Ok(Chosen::Kept(&self.chain)) } else { by_shape.get(&shape) }
    }

    /// Returns the extents of a chunk inside the array.
    pub(super) fn inside(&self, chunk: &[u64]) -> Dims {
        let each = chunk.iter().zip(&self.shape).enumerate();
        each.map(|(d, (&chunk, &length))| self.grid.extent(d, chunk).min(length - self.grid.origin(d, chunk))).collect()
    }

    /// Returns the extents of a chunk inside the array, for a write that may replace what is beyond: all of the chunk where another thread has
    /// made the array longer, and may have stored elements there.
    pub(super) fn replaceable(&self, chunk: &[u64]) -> Dims {
        if self.growths.is_longer_by_now() { self.grid.shape_of(chunk) } else { self.inside(chunk) }
    }

    /// Returns the array as far as what waits of a chunk, which is locked, may reach: to the chunk's end where another thread has made the array
    /// longer, or `None` where all of the chunk is behind the end that is known here: whoever knows it stores that.
    pub(super) fn reaching(self: &Arc<Self>, chunk: &[u64]) -> Option<Arc<BoundArray>> {
        if !self.growths.is_longer_by_now() || chunk.len() != self.shape.len() {
            return Some(self.clone());
        }
        let mut shape = self.shape.clone();
        for (d, length) in shape.iter_mut().enumerate() {
            if chunk[d] >= self.grid.count(d, *length) {
                return None;
            }
            *length = self.grid.origin(d, chunk[d]).saturating_add(self.grid.extent(d, chunk[d])).clamp(*length, i64::MAX as u64);
        }
        Some(Arc::new(BoundArray { shape, ..(**self).clone() }))
    }

    /// Refuses a write to a chunk, which is locked, that reaches behind the end that another thread has given the array since: what it stores
    /// would show when the array grows again. What `waited` may be of a growth under way, whose length is not known here; what a cut has left behind
    /// the end waits no more, or is erased after this, behind the chunk's lock.
    pub(super) fn check_uncut(&self, item: &Item, waited: bool) -> Result<()> {
        if waited && self.growths.is_under_way() {
            return Ok(());
        }
        self.check_reached(&item.chunk, |d| {
            let axis = &item.axes[d];
            axis.start.max(axis.start.wrapping_add_signed(axis.step.wrapping_mul(axis.count as i64 - 1)))
        })
    }

    /// Refuses what reaches to the element `last` of a chunk along each dimension, where the array was cut before that since it is known here.
    pub(super) fn check_reached(&self, chunk: &[u64], last: impl Fn(usize) -> u64) -> Result<()> {
        let Some(shape) = self.growths.shape_after_cut() else { return Ok(()) };
        for (d, &length) in shape.iter().enumerate() {
            let reached = self.grid.origin(d, chunk[d]).saturating_add(last(d));
            if reached >= length {
                let (dimension, reached) = (counting::dimension(d, shape.len()), counting::position(reached as i64));
                bail!(Bounds, "{dimension}: the region reaches to {reached}, the array's length is {length} by now");
            }
        }
        Ok(())
    }

    /// Refuses to store anything of an array that this process has erased or replaced since its document was read: it would be left without a
    /// document, or be taken for what is there now. Errors: `State`.
    pub fn check_there(&self) -> Result<()> {
        self.growths.check_there(|| self.place())
    }

    /// Makes a change of what is stored of the array, which is not taken away meanwhile. Errors: `State` if it was before.
    pub fn while_there<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        self.growths.while_there(|| self.place(), change)
    }

    /// Returns the array without a place where parts of chunks wait.
    pub(super) fn without_write_back(self: &Arc<Self>) -> Arc<BoundArray> {
        if self.write_back.is_none() { self.clone() } else { Arc::new(BoundArray { write_back: None, ..(**self).clone() }) }
    }

    /// Returns the array for the calling thread alone, without a place where parts of chunks wait.
    pub(super) fn alone(&self) -> Arc<BoundArray> {
        Arc::new(BoundArray { write_back: None, pool: Pool::new(1), ..self.clone() })
    }

    /// Returns whether chunks are shards, or shards under further codecs.
    pub fn is_sharded(&self) -> bool {
        matches!(*self.chain, BoundChain::Sharded(_))
    }
}

/// How often a handle has made its array longer, and shorter, and lost it, and what a state of the array knows of that.
#[derive(Clone, Default)]
pub struct Growths {
    by_now: Arc<GrowthCounts>,
    known: u64,
    known_cuts: u64,
    known_losses: u64,
    /// Of an array without an end: its lengths do not change.
    is_endless: bool,
}

/// How often arrays were lost, all of them together.
static LOSSES: AtomicU64 = AtomicU64::new(0);

#[derive(Default)]
struct GrowthCounts {
    begun: AtomicU64,
    ended: AtomicU64,
    cuts: AtomicU64,
    losses: AtomicU64,
    /// How many calls are taking the array away.
    leaving: AtomicU64,
    /// The changes of what it has stored that are under way.
    underway: Underway,
    /// The lengths of the dimensions, once the array was cut.
    shape: ForkPreserved<Dims>,
}

/// A growth that is under way, until this is dropped.
pub struct Growing(Arc<GrowthCounts>);

impl Drop for Growing {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

impl Growths {
    /// Notes that the array is made longer, before anything is stored behind its end: the chunks' locks bring it to those that come after. There
    /// is one growth at a time, under the document's lock, beside those of steps that are stored and could not be published yet.
    pub fn begin(&self) -> Growing {
        self.by_now.begun.fetch_add(1, Ordering::AcqRel);
        Growing(self.by_now.clone())
    }

    /// Notes that the array is made shorter, before anything is erased behind its new end.
    pub fn cut(&self, shape: &[u64]) {
        drop(self.by_now.shape.replace(Dims::from_slice(shape)));
        self.by_now.cuts.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes the lengths that the array has now.
    pub fn follow(&self, shape: &[u64]) {
        if self.by_now.cuts.load(Ordering::Acquire) > 0 {
            drop(self.by_now.shape.replace(Dims::from_slice(shape)));
        }
    }

    /// Notes that the array was erased, or another node put in its place. A state that is made from now on is of what is there then.
    pub fn lose(&self) {
        self.by_now.losses.fetch_add(1, Ordering::AcqRel);
        // Behind it: who finds the same number of all has not missed this one.
        LOSSES.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns how often arrays of this process were lost so far.
    pub fn losses() -> u64 {
        LOSSES.load(Ordering::Acquire)
    }

    /// Notes that a call begins to take the array away: nothing is stored until it has lost it, or has failed and stays.
    pub fn leave(&self) {
        self.by_now.leaving.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until the changes that began before a call noted that it takes the array away have ended.
    pub fn wait_for_changes(&self) {
        self.by_now.underway.wait();
    }

    /// Notes the end of a call that began to take the array away.
    pub fn stay(&self) {
        self.by_now.leaving.fetch_sub(1, Ordering::AcqRel);
    }

    /// Returns whether a call is taking the array away.
    pub fn is_leaving(&self) -> bool {
        self.by_now.leaving.load(Ordering::SeqCst) > 0
    }

    /// Returns whether the array was lost since its state was made.
    pub fn is_lost(&self) -> bool {
        self.by_now.losses.load(Ordering::Acquire) != self.known_losses
    }

    /// Refuses what would change an array, at `place`, that was lost since its state was made, or is being taken away. Errors: `State`.
    pub fn check_there(&self, place: impl FnOnce() -> String) -> Result<()> {
        if self.is_there() { Ok(()) } else { Err(not_there(&place())) }
    }

    fn is_there(&self) -> bool {
        // In this order: a call that takes it away notes the loss first.
        !self.is_leaving() && !self.is_lost()
    }

    /// Begins a change of what is stored of the array, at `place`: until the result is dropped nobody takes the array away. Errors: those of
    /// [`Growths::check_there`].
    pub(super) fn begin_change(&self, place: impl FnOnce() -> String) -> Result<Storing> {
        // What is refused is not counted: threads that try again and again would have who takes the array away wait for ever.
        while self.is_there() {
            let storing = self.by_now.underway.begin();
            if self.is_there() {
                return Ok(storing);
            }
        }
        Err(not_there(&place()))
    }

    /// Makes a change of what is stored of the array, at `place`, which is not taken away meanwhile. Errors: those of [`Growths::check_there`].
    pub fn while_there<T>(&self, place: impl FnOnce() -> String, change: impl FnOnce() -> Result<T>) -> Result<T> {
        let _storing = self.begin_change(place)?;
        storing::inside(change)
    }

    /// Those of a state that is made now. It does not know of a growth that is under way.
    pub fn as_of_now(&self) -> Growths {
        self.knowing(self.by_now.ended.load(Ordering::Acquire))
    }

    /// These, of a state to which is lost what is lost to one of `other`.
    pub fn with_losses_of(self, other: &Growths) -> Growths {
        Growths { known_losses: other.known_losses, ..self }
    }

    /// These, of an array that is taken as if it had no end: only losses count.
    pub fn endless(&self) -> Growths {
        Growths { is_endless: true, ..self.clone() }
    }

    /// Returns whether the array is taken as if it had no end.
    pub(super) fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// Those of the state that the growth under way makes. Beside another one the state knows of neither: what that stored is not in it.
    pub fn with_own(&self) -> Growths {
        // In this order: what begins in between counts as another one.
        let (ended, begun) = (self.by_now.ended.load(Ordering::Acquire), self.by_now.begun.load(Ordering::Acquire));
        self.knowing(if begun - ended > 1 { ended } else { begun })
    }

    /// Knows of a cut that was just counted: by the state that the cut makes.
    pub fn know_cut(&mut self) {
        self.known_cuts = self.by_now.cuts.load(Ordering::Acquire);
    }

    fn knowing(&self, known: u64) -> Growths {
        let (cuts, losses) = (self.by_now.cuts.load(Ordering::Acquire), self.by_now.losses.load(Ordering::Acquire));
        Growths { known, known_cuts: cuts, known_losses: losses, ..self.clone() }
    }

    /// Returns the lengths that the array has now, if it was cut since the state was made.
    fn shape_after_cut(&self) -> Option<Dims> {
        let is_cut = !self.is_endless && self.by_now.cuts.load(Ordering::Acquire) != self.known_cuts;
        is_cut.then(|| self.by_now.shape.read(Dims::clone))
    }

    /// Returns whether the array is made longer, or shorter, at this moment.
    fn is_under_way(&self) -> bool {
        !self.is_endless && self.by_now.begun.load(Ordering::Acquire) != self.by_now.ended.load(Ordering::Acquire)
    }

    fn is_longer_by_now(&self) -> bool {
        !self.is_endless && self.by_now.begun.load(Ordering::Acquire) != self.known
    }
}

fn not_there(place: &str) -> Error {
    let text = "was erased, renamed or replaced since this handle was opened: open it again, or the dataset that has it";
    err!(State, "the array {} {text}", place.trim_end_matches('/'))
}

/// The store of an array's node, and the hash of what the array is known by to locks, found when it is first asked for: 0 until then. A lock could be
/// held by another thread when the process forks.
pub struct Home {
    store: SharedStore,
    hash: AtomicU64,
}

impl Home {
    /// The home of an array whose node is in `store`.
    pub fn new(store: SharedStore) -> Home {
        Home { store, hash: AtomicU64::new(0) }
    }

    /// Gives the hash of a place, of folders without links and `..`.
    fn known_by(&self, place: impl Fn() -> String) -> u64 {
        let known = self.hash.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let place = place();
        let place = place.trim_end_matches('/');
        let followed = self.store.files().map(|_| followed(place));
        let name = followed.as_ref().map_or(place.as_bytes(), |path| path.as_os_str().as_encoded_bytes());
        // Only threads that ask at the same time compute it again.
        let hash = name.iter().fold(0xcbf2_9ce4_8422_2325, |h: u64, &byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)).max(1);
        self.hash.store(hash, Ordering::Relaxed);
        hash
    }
}

impl Clone for Home {
    fn clone(&self) -> Home {
        Home { store: self.store.clone(), hash: AtomicU64::new(self.hash.load(Ordering::Relaxed)) }
    }
}
