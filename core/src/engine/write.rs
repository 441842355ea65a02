//! Writing: plans regions and lists, and writes their items, each under its chunk's lock. A chunk that is covered (as far as it is inside
//! the array) is encoded straight from memory and put; any other is read, changed and put.

use super::admitted::{Admitted, JobMemory};
use super::array::BoundArray;
use super::behind::store_behind;
use super::chunk_picks::ChunkPicks;
use super::chunk_put::ChunkPut;
use super::chunk_sink::{self, ChunkSink, LaterChange};
use super::coordinates::CoordinateSelection;
use super::encode::ElementSource;
use super::fill_probe::FillProbe;
use super::item::{Item, all_of};
use super::leaf::plain_shard;
use super::lock::{self, ChunkGuard};
use super::pick_list::{PickList, Repeats};
use super::plan::Plan;
use super::pool::Pool;
use super::read_local::{ReadBuffers, read_object};
use super::request::{self, About, Outcome, Request, Work};
use super::scratch::{ChunkScratch, Scratch};
use super::shard::{Edit, Selected};
use super::target::Target;
use super::under_lock::{self, ChunkTask};
use super::write_back::{Admission, Arrival, WriteBack};
use super::{Memory, Overflow, Selection};
use crate::codec::BoundChain;
use crate::dtype::{ElementType, transfer::Transfer, variable::Arena};
use crate::error::{Error, Result};
use crate::limits::{self, Dims, c_strides, chunk_bytes, grow};
use crate::store::{LockUse, Object};
use std::sync::{Arc, Mutex, OnceLock};

/// Makes a job the work of a request.
pub(super) fn work(job: WriteJob) -> Arc<dyn Work> {
    Arc::new(Write(Arc::new(job)))
}

/// Plans the write of one region.
pub(super) fn job(admitted: &Admitted, selection: &Selection, of: JobMemory<'_>) -> Result<WriteJob> {
    let (array, memory) = (&admitted.array, of.memory);
    let plan = Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?;
    let probe = (plan.items() > 1 && !array.data_type.is_variable() && array.can_erase())
        .then(|| FillProbe::new(selection.shape(), &memory.strides));
    Ok(WriteJob { probe, ..job_of(admitted, plan, of)? })
}

/// Plans the write of what a list picks. Of elements that it picks several times the last one counts.
pub(super) fn plan_picks(admitted: &Admitted, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<Arc<dyn Work>> {
    let array = &admitted.array;
    let list = PickList::new(&array.grid, &array.chain, &array.shape, picks, &memory.strides, Repeats::Last)?;
    Ok(work(job_of(admitted, Plan::listed(list, array.shape.len(), memory.data_type.size())?, memory.into())?))
}

fn job_of(Admitted { array }: &Admitted, plan: Plan, of: JobMemory<'_>) -> Result<WriteJob> {
    let JobMemory { memory, coding, revocable } = of;
    let base = memory.data.wrapping_add(memory.offset).cast_const();
    let repeated = plan.list().is_none() && memory.strides.iter().all(|&s| s == 0) && !memory.strides.is_empty();
    let mut source = ElementSource::new(&array.chain, array.data_type, &array.fill, (memory.data_type, memory.overflow), base)?;
    (source.store_fill, source.revocable) = (array.store_fill_chunks, revocable);
    let (native, from) = (ElementType::native(array.data_type), ElementType::native(memory.data_type));
    let mut change = Transfer::new(from, native)?.with_overflow(memory.overflow);
    if let Some(coding) = coding {
        source.transfer = Transfer::encoding(from, source.transfer.to(), coding, memory.overflow)?;
        change = Transfer::encoding(from, native, coding, memory.overflow)?;
    }
    Ok(WriteJob {
        plan,
        source,
        change,
        latency: array.store.capabilities().latency,
        // Chunks of one shape, and not of one's own bytes alone.
        constant: (repeated && array.by_shape.is_none() && coding.is_none()).then(OnceLock::new),
        array: array.clone(),
        probe: None,
        settles: None,
        is_earlier: false,
        entry: None,
    })
}

struct Write(Arc<WriteJob>);

/// One region, or one list of elements, on its way from memory.
pub(super) struct WriteJob {
    pub array: Arc<BoundArray>,
    pub plan: Plan,
    pub source: ElementSource,
    /// From the memory's type to the array's, for chunks that are changed in part.
    pub change: Transfer,
    /// Puts are started, and only the request waits for them.
    latency: bool,
    /// All elements are one that is repeated: the bytes of a whole chunk of it, or that it is not stored, once they are known.
    constant: Option<OnceLock<Option<Vec<u8>>>>,
    /// The region, where it may be nothing but the fill value.
    probe: Option<FillProbe>,
    /// The memory is what waited of that chunk.
    settles: Option<(Arc<WriteBack>, Dims)>,
    /// Those elements are another call's.
    is_earlier: bool,
    /// Its place in a batch, for messages.
    entry: Option<usize>,
}

impl Work for Write {
    fn about(&self) -> About {
        About { items: self.0.plan.items(), bytes: self.0.plan.bytes(), finish_others: true, tuning: self.0.array.store.tuning() }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.0.array.pool
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        under_lock::run(&ChunkWrites::One(self.0.clone(), number), request, None)
    }
}

/// The writes to one chunk: an item, or several of a batch in their order.
#[derive(Clone)]
pub(super) enum ChunkWrites {
    One(Arc<WriteJob>, u64),
    Many(Batch),
}

/// Items of a batch in one chunk, in their order.
type Batch = Arc<[(Arc<WriteJob>, u64)]>;

impl ChunkWrites {
    fn first(&self) -> Option<(&Arc<WriteJob>, u64)> {
        match self {
            ChunkWrites::One(job, number) => Some((job, *number)),
            ChunkWrites::Many(all) => all.first().map(|(job, number)| (job, *number)),
        }
    }
}

impl ChunkTask for ChunkWrites {
    type Item = Item;

    fn item(&self) -> Option<(&Arc<BoundArray>, Item)> {
        let (job, number) = self.first()?;
        Some((&job.array, job.plan.item(number)?))
    }

    fn chunk(item: &Item) -> &[u64] {
        &item.chunk
    }

    fn run(&self, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        match (self, self.first()) {
            (ChunkWrites::Many(all), Some((job, _))) => job.store(item, Some(all), request, guard, s),
            (ChunkWrites::One(job, _), _) => job.keep_or_store(item, request, guard, s),
            (ChunkWrites::Many(_), None) => Outcome::Done(Ok(())),
        }
    }
}

impl WriteJob {
    /// Returns the job of storing what waits in `kept` of a chunk, which is locked, and its item, or `None` if nothing does of what is known here.
    pub fn of_waiting(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, chunk: &Dims) -> Result<Option<(WriteJob, Item)>> {
        let Some(array) = array.reaching(chunk) else { return Ok(None) };
        let Some(region) = kept.region(&array.grid, &array.shape, array.data_type, chunk)? else { return Ok(None) };
        array.check_there()?;
        let (plan, memory) = region.plan(&array.grid, &array.chain, &array.shape)?;
        let job = job_of(&Admitted::from_write_back(&array), plan, (&memory).into())?;
        let job = WriteJob { settles: Some((kept.clone(), chunk.clone())), is_earlier: true, ..job };
        Ok(job.plan.item(0).map(|item| (job, item)))
    }

    /// Gives it the number that an entry of a batch has in messages.
    pub fn of_entry(self, entry: Option<usize>) -> WriteJob {
        WriteJob { entry, ..self }
    }

    /// Lets an item wait for the rest of its chunk, where the array does so, or stores it. Its key is in `s` and locked.
    fn keep_or_store(self: &Arc<Self>, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        let Some(kept) = self.array.write_back.as_ref().filter(|_| !self.array.data_type.is_variable() && !self.is_whole(item)) else {
            return self.store(item, None, request, guard, s);
        };
        let failed = |e: Error, s: &Scratch| Outcome::Done(Err(self.annotate(item, e, &s.key)));
        match self.keep(kept, item, s) {
            Ok(Admission::Waits) => Outcome::Done(Ok(())),
            Ok(Admission::Through | Admission::StoreFirst) => self.store(item, None, request, guard, s),
            Ok(Admission::Whole) => self.store_whole(kept, item, request, guard, s).unwrap_or_else(|e| failed(e, s)),
            Err(e) => failed(e, s),
        }
    }

    /// Stores a chunk that waits and is whole, and is locked: behind the caller where that gains, or now.
    fn store_whole(
        &self,
        kept: &Arc<WriteBack>,
        item: &Item,
        request: &Arc<Request>,
        guard: ChunkGuard,
        s: &mut Scratch,
    ) -> Result<Outcome> {
        let task = || StoreWaiting { array: self.array.without_write_back(), kept: kept.clone(), chunk: item.chunk.clone() };
        if store_behind(&self.array, kept, &item.chunk, request, task) {
            drop(guard);
            return Ok(Outcome::Done(Ok(())));
        }
        // Of what is stored so this call made the chunk whole: its errors are this call's.
        let Some((job, item)) = WriteJob::of_waiting(&self.array, kept, &item.chunk)? else { return Ok(Outcome::Done(Ok(()))) };
        Ok(Arc::new(WriteJob { is_earlier: false, ..job }).store(&item, None, request, guard, s))
    }

    /// Stores what waits of a chunk that is locked, if something does.
    fn store_waiting(
        array: &Arc<BoundArray>,
        kept: &Arc<WriteBack>,
        chunk: &Dims,
        request: &Arc<Request>,
        guard: ChunkGuard,
        s: &mut Scratch,
    ) -> Result<Outcome> {
        let Some((job, item)) = WriteJob::of_waiting(array, kept, chunk)? else { return Ok(Outcome::Done(Ok(()))) };
        Ok(Arc::new(job).store(&item, None, request, guard, s))
    }

    /// Stores what waits of a chunk that is locked, if something does, and returns when that is done. `again`: see [`ChunkSink::again`].
    fn store_waiting_now(array: &Arc<BoundArray>, kept: &Arc<WriteBack>, chunk: &Dims, again: bool, s: &mut Scratch) -> Result<()> {
        WriteJob::of_waiting(array, kept, chunk)?.map_or(Ok(()), |(job, item)| job.write_now(&item, again, s))
    }

    /// Adds an item, whose chunk is locked, to the parts of that chunk that wait to be stored, if it may wait.
    fn keep(&self, kept: &Arc<WriteBack>, item: &Item, s: &mut Scratch) -> Result<Admission> {
        let (array, shape, inside) = (&self.array, self.array.grid.shape_of(&item.chunk), self.array.replaceable(&item.chunk));
        let arrival = Arrival {
            chunk: &item.chunk,
            shape: &shape,
            inside: &inside,
            data_type: array.data_type,
            axes: &item.axes,
            is_partial: self.change.is_partial(),
            may_fail: self.change.plain_copy().is_none(),
            place: &|buffer, strides| self.place(item, buffer, strides),
            check: &|| array.check_uncut(item, false),
        };
        match kept.take(&arrival)? {
            Admission::StoreFirst => match WriteJob::store_waiting_now(array, kept, &item.chunk, false, s) {
                Ok(()) => kept.take(&arrival),
                // What cannot be stored may be overwritten.
                Err(e) => kept.overwrite(&arrival)?.ok_or(e),
            },
            other => Ok(other),
        }
    }

    /// Stores an item, whose key is in `s` and locked, or `all` items of a batch that are in its chunk. In a store with latency the put is only started: the lock is given
    /// back when the put has ended, and a thread that helps the request finishes the item, or does it again if another process was faster.
    fn store(self: &Arc<Self>, item: &Item, all: Option<&Batch>, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        let later = self.latency.then(Mutex::default);
        let sink = ChunkSink::later(&self.array, later.as_ref());
        let result = chunk_sink::make(&self.array, || self.write(item, all, Some(request), sink, s));
        let change: Option<LaterChange> = later.and_then(|later| lock::lock(&later).take());
        let (Ok(()), Some(change)) = (&result, change) else {
            return Outcome::Done(result.inspect(|()| self.settle(&item.chunk)));
        };
        let bytes = change.bytes();
        request.flight_started(bytes);
        let (again, key) = (request.clone(), s.key.clone());
        let task = StoreAgain { job: self.clone(), item: item.clone(), all: all.cloned() };
        chunk_sink::start(change, &self.array, &s.key, move |result| {
            again.flight_landed();
            again.bytes_used(bytes);
            let overtaken = chunk_sink::is_overtaken(&task.job.array, &result);
            let result = result.inspect(|()| task.job.settle(&task.item.chunk));
            drop(guard);
            let request = again.clone();
            request.resume(Box::new(move |request| match overtaken {
                true => {
                    if let Outcome::Done(result) = under_lock::run(&task, request, None) {
                        request.finish(result);
                    }
                }
                false => request.finish(result.map_err(|e| request::of_entry(task.job.entry, e.at_key(&key)))),
            }));
        });
        Outcome::Parked
    }

    /// Stores an item, whose key is in `s` and locked, and returns when that is done. `again`: see [`ChunkSink::again`].
    fn write_now(&self, item: &Item, again: bool, s: &mut Scratch) -> Result<()> {
        chunk_sink::make(&self.array, || self.write(item, None, None, ChunkSink::now(&self.array).again(again), s))
            .inspect(|()| self.settle(&item.chunk))
    }

    /// Returns whether an item is all of its chunk.
    fn is_whole(&self, item: &Item) -> bool {
        self.source.covers(&item.axes, item.memory, &self.array.replaceable(&item.chunk))
    }

    /// Forgets what waited of a chunk, which is stored or replaced now.
    fn settle(&self, chunk: &[u64]) {
        match (&self.settles, &self.array.write_back) {
            (Some((kept, chunk)), _) if self.array.growths.is_endless() => kept.stored(&self.array.grid, &self.array.shape, chunk),
            (Some((kept, chunk)), _) => kept.forget(chunk),
            (None, Some(kept)) => kept.forget(chunk),
            (None, None) => {}
        }
    }

    /// Adds the element, the key and the entry to an error in an item, and that it is another call's.
    fn annotate(&self, item: &Item, e: Error, key: &str) -> Error {
        let e = request::of_entry(self.entry, self.plan.name_element(item, e).at_key(key));
        if self.is_earlier { of_earlier_write(e) } else { e }
    }

    /// Encodes the items of several regions in one chunk, each over those before it, and hands it to the sink.
    fn write_all(&self, all: &Batch, request: Option<&Arc<Request>>, sink: ChunkSink<'_>, s: &mut Scratch) -> Result<()> {
        let members: Vec<(&WriteJob, Item)> = limits::collect(all.iter().map(|(job, number)| (&**job, job.plan.region_item(*number))))?;
        let Some((_, first)) = members.first() else { return Ok(()) };
        if members.iter().any(|(job, _)| !job.array.is_same_as(&self.array)) {
            return WriteJob::write_in_turn(&members, s);
        }
        // The chunk is stored once, by the first handle, and changed by all.
        members.iter().for_each(|(job, _)| job.array.key_changed(&s.key));
        let chain = self.array.chain_of(&first.chunk).map_err(|e| self.annotate(first, e, &s.key))?;
        let inside = self.array.replaceable(&first.chunk);
        let Some(shard) = plain_shard(&chain) else {
            let changes = members.iter().map(|(job, item)| (*job, item));
            let is_covered = changes.clone().any(|(job, item)| job.source.covers(&item.axes, item.memory, &inside));
            return self.change(&chain, first, changes, is_covered, sink, s).map_err(|e| self.annotate(first, e, &s.key));
        };
        members.iter().try_for_each(|(job, item)| job.check_uncut(item).map_err(|e| job.annotate(item, e, &s.key)))?;
        let selected = limits::collect(members.iter().enumerate().map(|(i, (job, item))| job.selected(i, &job.source, item, &inside)))?;
        let Scratch { key, io, work, .. } = s;
        let name = |i: usize, e: Error| members[i].0.annotate(&members[i].1, e, key);
        let edit = Edit { array: &self.array, request, sink, name: &name };
        edit.write(shard, key, &selected, io, work).map_err(|e| self.annotate(first, e, key))
    }

    /// Stores items of handles whose stores, or documents, are not the same, in their order, each by its own.
    fn write_in_turn(members: &[(&WriteJob, Item)], s: &mut Scratch) -> Result<()> {
        let key = std::mem::take(&mut s.key);
        let stored = members.iter().try_for_each(|(job, item)| {
            job.array.chunk_key(&item.chunk, &mut s.key)?;
            job.write_now(item, false, s)
        });
        s.key = key;
        stored
    }

    /// Encodes an item, or `all` of a batch that are in its chunk, and hands it to the sink.
    fn write(&self, item: &Item, all: Option<&Batch>, request: Option<&Arc<Request>>, sink: ChunkSink<'_>, s: &mut Scratch) -> Result<()> {
        if let Some(all) = all {
            return self.write_all(all, request, sink, s);
        }
        let picking = self.picking(item);
        let source = picking.as_ref().unwrap_or(&self.source);
        let result = self.check_uncut(item).and_then(|()| self.array.chain_of(&item.chunk)).and_then(|chain| {
            let inside = self.array.replaceable(&item.chunk);
            let put = ChunkPut { chain: &chain, source, sink, key: &s.key };
            if let Some(made) = self.constant.as_ref().filter(|_| source.covers(&item.axes, 0, chain.shape())) {
                put.put_constant(item, made, &mut s.work.chain)
            } else if source.covers(&item.axes, item.memory, &inside) && self.probe.as_ref().is_some_and(|probe| probe.is_fill(source)) {
                sink.erase(&s.key)
            } else if let Some(shard) = plain_shard(&chain) {
                let edit = Edit { array: &self.array, request, sink, name: &|_, e| e };
                edit.write(shard, &s.key, &[self.selected(0, source, item, &inside)], &mut s.io, &mut s.work)
            } else if source.covers(&item.axes, item.memory, &inside) {
                put.put(&item.axes, item.memory, &mut s.work.chain)
            } else {
                self.change(&chain, item, std::iter::once((self, item)), false, sink, s)
            }
        });
        result.map_err(|e| self.annotate(item, e, &s.key))
    }

    /// Reads the chunk of `first`, unless one of `members` covers it (`is_covered`), changes the elements that they select, region by region, and stores it again,
    /// with other processes kept out. Elements beyond the array's edge are stored again as they were found.
    fn change<'m>(
        &self,
        chain: &BoundChain,
        first: &Item,
        members: impl Iterator<Item = (&'m WriteJob, &'m Item)>,
        is_covered: bool,
        sink: ChunkSink<'_>,
        s: &mut Scratch,
    ) -> Result<()> {
        let array = &*self.array;
        let (shape, size) = (chain.shape(), array.data_type.size());
        let (strides, as_stored) = (c_strides(shape, size), (array.data_type, Overflow::Error));
        let Scratch { key, io, parts, work: ChunkScratch { chunk, chain: buffers } } = s;
        let base = grow(chunk, chunk_bytes(shape, size)?)?.as_mut_ptr();
        let process = array.store.lock_key(&array.prefix, key, LockUse::Often)?;
        let found = array.store.open(key)?;
        // Another process may not come in before the chunk is stored.
        let sink = if process.is_some() { ChunkSink::now(array) } else { sink };
        let sink = sink.over(found.as_ref())?;
        // Keeps the bytes of old elements of variable length until the chunk is stored again.
        let arena = array.data_type.is_variable().then(Arc::<Arena>::default);
        let target = Target::new(chain, array.data_type, &array.fill, as_stored, base, arena)?;
        let all = Item { chunk: first.chunk.clone(), axes: all_of(shape, &strides), memory: 0 };
        match &found {
            Some(object) if !is_covered => {
                let mut reading = ReadBuffers { io, parts, chain: buffers };
                read_object(array, chain, object, &target, &all, &mut reading)?;
            }
            _ => target.fill(&all.axes, 0)?,
        }
        let old = found.and_then(Object::watched);
        let sink = sink.instead_of(old.as_ref());
        for (job, item) in members {
            job.place(item, base, &strides).map_err(|e| job.annotate(item, e, key))?;
        }
        let mut source = ElementSource::new(chain, array.data_type, &array.fill, as_stored, base)?;
        source.store_fill = self.source.store_fill;
        ChunkPut { chain, source: &source, sink, key }.put(&all.axes, 0, buffers)
    }

    /// Refuses an item that reaches behind where the array was cut meanwhile.
    fn check_uncut(&self, item: &Item) -> Result<()> {
        self.array.check_uncut(item, self.settles.is_some())
    }

    /// Returns the elements of an item as a member of a write into a shard, whose extents inside the array are `inside`.
    fn selected<'a>(&'a self, member: usize, source: &'a ElementSource, item: &'a Item, inside: &'a [u64]) -> Selected<'a> {
        Selected { member, source, change: &self.change, axes: &item.axes, memory: item.memory, inside }
    }

    /// Returns the item's own source if its elements are picked by a list, or `None` if they come from the job's.
    fn picking(&self, item: &Item) -> Option<ElementSource> {
        self.plan.list().map(|list| self.source.picking(ChunkPicks::new(list, &item.chunk)))
    }

    /// Brings the selected elements from the caller's memory into the buffer of a whole chunk.
    pub fn place(&self, item: &Item, base: *mut u8, strides: &[i64]) -> Result<()> {
        self.check_uncut(item)?;
        self.picking(item).as_ref().unwrap_or(&self.source).place(&item.axes, item.memory, base, strides, &self.change)
    }
}

/// What waits of a chunk, to be stored.
#[derive(Clone)]
pub(super) struct StoreWaiting {
    /// Without write-back.
    pub array: Arc<BoundArray>,
    pub kept: Arc<WriteBack>,
    pub chunk: Dims,
}

impl ChunkTask for StoreWaiting {
    type Item = Dims;

    fn item(&self) -> Option<(&Arc<BoundArray>, Dims)> {
        Some((&self.array, self.chunk.clone()))
    }

    fn chunk(item: &Dims) -> &[u64] {
        item
    }

    fn run(&self, chunk: &Dims, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        WriteJob::store_waiting(&self.array, &self.kept, chunk, request, guard, s).unwrap_or_else(|e| Outcome::Done(Err(e)))
    }
}

/// The item of a chunk, or all of a batch in it, that is stored again because another process was faster.
#[derive(Clone)]
struct StoreAgain {
    job: Arc<WriteJob>,
    item: Item,
    all: Option<Batch>,
}

impl ChunkTask for StoreAgain {
    type Item = Item;

    fn item(&self) -> Option<(&Arc<BoundArray>, Item)> {
        Some((&self.job.array, self.item.clone()))
    }

    fn chunk(item: &Item) -> &[u64] {
        &item.chunk
    }

    fn run(&self, item: &Item, request: &Arc<Request>, _guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        let (job, all, array) = (&self.job, self.all.as_ref(), &self.job.array);
        if let Some((kept, chunk)) = &job.settles {
            // Others may have added to what waited, or stored it, so that its buffer holds another chunk.
            return Outcome::Done(WriteJob::store_waiting_now(array, kept, chunk, true, s));
        }
        let stored = chunk_sink::make(array, || job.write(item, all, Some(request), ChunkSink::now(array).again(true), s));
        // Beside a part of the chunk what others let wait of it while its lock was free waits on.
        if stored.is_ok() && job.is_whole(item) {
            job.settle(&item.chunk);
        }
        Outcome::Done(stored)
    }
}

/// Adds to an error in storing what waits that it is of another call's elements.
fn of_earlier_write(e: Error) -> Error {
    const NOTE: &str = "; it waits from an earlier write";
    if e.message().ends_with(NOTE) { e } else { e.with_note(NOTE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shard_open::tests::{array, view};
    use crate::store::StorageExt;
    use crate::store::fault;
    use crate::store::os::Call;
    use crate::store::suite::TestFolder;

    #[test]
    fn a_value_that_waits_and_cannot_be_stored_blocks_no_overwrite_of_it() {
        use super::super::array::BoundArray;
        use crate::dtype::DataType;
        use crate::error::ErrorKind;
        let root = TestFolder::new("write-waits");
        let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}]"#;
        for (name, start, values, limit) in [
            ("all that waits", 0, &[5.0, 1.0][..], 1000),
            ("a part of it", 0, &[6.0], 1000),
            ("more", 0, &[5.0, 1.0, 2.0], 1000),
            ("all, with room for no second buffer", 0, &[5.0, 1.0], 64),
            ("more, with room for no second buffer", 0, &[5.0, 1.0, 2.0], 64),
        ] {
            let array = BoundArray { write_back: Some(WriteBack::new(limit)), ..(*array(&root, codecs)).clone() };
            let array = Arc::new(array);
            let write = |start: i64, memory: &Memory, n: usize| {
                let region = Selection::new(&[64], &[start], &[n as i64], None).unwrap();
                // SAFETY: the memory lives as long as the call.
                unsafe { crate::engine::write(&array, &region, memory) }
            };
            let doubles = |start: i64, values: &[f64]| {
                let mut values = values.to_vec();
                let n = values.len();
                write(start, &Memory::of(&mut values, &[n as u64], DataType::Float64), n)
            };
            let kept = array.write_back.clone().unwrap();
            let flush = || crate::engine::flush(&array, &kept, None);
            write(0, &view(&mut [300, 1]), 2).unwrap();
            let e = flush().unwrap_err();
            assert!(e.kind() == ErrorKind::Range && e.message().contains("earlier write"), "{e}");
            // One that does not fit itself changes nothing.
            let e = doubles(1, &[1e20]).unwrap_err();
            assert!(e.kind() == ErrorKind::Range && !e.message().contains("earlier write"), "{name}: {e}");
            doubles(start, values).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(kept.bytes() <= limit, "{name}");
            flush().unwrap();
            let mut found = [9; 4];
            let region = Selection::new(&[64], &[0], &[4], None).unwrap();
            // SAFETY: as above.
            unsafe { crate::engine::read(&array, &region, &view(&mut found)).unwrap() };
            let mut want = [300, 1, 0, 0];
            values.iter().enumerate().for_each(|(i, value)| want[i + start as usize] = *value as i32);
            assert_eq!(found, want, "{name}");
            array.store.erase_prefix("a/").unwrap();
        }
    }

    #[test]
    fn a_value_that_waits_and_cannot_be_stored_blocks_no_write_that_needs_its_room() {
        use super::super::array::BoundArray;
        use crate::error::ErrorKind;
        let root = TestFolder::new("write-room");
        let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}]"#;
        for limit in [64, 128] {
            let array = BoundArray { write_back: Some(WriteBack::new(limit)), ..(*array(&root, codecs)).clone() };
            let array = Arc::new(array);
            let kept = array.write_back.clone().unwrap();
            let write = |start: i64, values: &mut [i32]| {
                let region = Selection::new(&[64], &[start], &[values.len() as i64], None).unwrap();
                // SAFETY: the memory lives as long as the call.
                unsafe { crate::engine::write(&array, &region, &view(values)) }
            };
            write(1, &mut [300]).unwrap();
            for start in [17, 33, 49, 19, 35, 51] {
                write(start, &mut [start as i32]).unwrap();
            }
            assert!(kept.bytes() <= limit);
            for start in [17, 33, 49, 19, 35, 51] {
                let (mut found, region) = ([0], Selection::new(&[64], &[start], &[1], None).unwrap());
                // SAFETY: as above.
                unsafe { crate::engine::read(&array, &region, &view(&mut found)).unwrap() };
                assert_eq!(found, [start as i32]);
            }
            let e = crate::engine::flush(&array, &kept, None).unwrap_err();
            assert_eq!((e.kind(), e.key()), (ErrorKind::Range, Some("a/c.0")), "{e}");
            assert!(e.message().contains("it waits from an earlier write"), "{e}");
            write(1, &mut [3]).unwrap();
            crate::engine::flush(&array, &kept, None).unwrap();
            array.store.erase_prefix("a/").unwrap();
        }
    }

    #[test]
    fn what_waits_and_is_given_up_is_stored_by_no_flush_and_told_by_none() {
        use super::super::array::BoundArray;
        let root = TestFolder::new("write-given-up");
        let array = Arc::new(BoundArray {
            write_back: Some(WriteBack::new(1000)),
            ..(*array(&root, r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#)).clone()
        });
        let kept = array.write_back.clone().unwrap();
        let region = Selection::new(&[64], &[0], &[2], None).unwrap();
        // SAFETY: the memory lives as long as the call.
        unsafe { crate::engine::write(&array, &region, &view(&mut [1, 2])).unwrap() };
        kept.give_up();
        crate::engine::flush_not_lost(&array, &kept).unwrap();
        crate::engine::flush(&array, &kept, None).unwrap();
        assert!(array.store.list_dir("a/").unwrap().keys.is_empty());
    }

    #[test]
    fn only_errors_of_values_that_waited_speak_of_an_earlier_write() {
        use super::super::array::BoundArray;
        let root = TestFolder::new("write-whose");
        let codecs = r#"[{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}]"#;
        let array = Arc::new(BoundArray { write_back: Some(WriteBack::new(1000)), ..(*array(&root, codecs)).clone() });
        let write = |start: i64, values: &mut [i32]| {
            let region = Selection::new(&[64], &[start], &[values.len() as i64], None).unwrap();
            // SAFETY: the memory lives as long as the call.
            unsafe { crate::engine::write(&array, &region, &view(values)) }
        };
        write(0, &mut [1, 2]).unwrap();
        // This call makes the chunk of 16 whole.
        let e = write(2, &mut [300; 14]).unwrap_err();
        assert!(e.message().contains("300") && !e.message().contains("earlier write"), "{e}");
    }

    #[test]
    fn a_region_of_nothing_but_the_fill_value_leaves_no_chunk_and_one_other_element_is_stored() {
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let sharded =
            format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[4],"codecs":[{little}],"index_codecs":[{little}]}}}}"#);
        for codecs in [format!("[{little}]"), format!("[{sharded}]")] {
            let root = TestFolder::new("write-fill");
            let array = array(&root, &codecs);
            let write = |start: i64, values: &mut [i32]| {
                let region = Selection::new(&[64], &[start], &[values.len() as i64], None).unwrap();
                // SAFETY: the memory lives as long as the call.
                unsafe { crate::engine::write(&array, &region, &view(values)).unwrap() };
            };
            let stored = || {
                let mut values = [9; 64];
                // SAFETY: as above.
                unsafe { crate::engine::read(&array, &Selection::all(&[64]), &view(&mut values)).unwrap() };
                let keys = array.store.list_dir("a/").unwrap().keys;
                (values, keys.into_iter().map(|key| key[2..].parse::<usize>().unwrap()).collect::<Vec<_>>())
            };
            for at in [0, 15, 16, 40, 63] {
                write(0, &mut [7; 64]);
                assert_eq!(stored(), ([7; 64], vec![0, 1, 2, 3]));
                let mut values = [0; 64];
                values[at] = 1;
                write(0, &mut values);
                assert_eq!(stored(), (values, vec![at / 16]), "{at}");
                assert_eq!(fault::count(Call::Unlink, || write(0, &mut [0; 64])), 4);
                assert_eq!(stored(), ([0; 64], vec![]));
            }
            // Chunks at the ends are covered in part, and keep what else they have.
            write(0, &mut [7; 64]);
            write(8, &mut [0; 48]);
            let want = std::array::from_fn(|i| if (8..56).contains(&i) { 0 } else { 7 });
            assert_eq!(stored(), (want, vec![0, 3]));
        }
    }

    /// An array of one shard of `rows` rows of two inner chunks, the first of which is stored, and what a write of that element to a region
    /// of it encodes, copies and leaves: a stride of 0 repeats it, the others take it from memory of the region's size.
    fn fill_of_shard(rows: u64, start: [u64; 2], repeats: bool, element: f64, stored_fill: bool) -> ([u64; 2], Vec<u8>) {
        use crate::codec::chain::Chain;
        use crate::dtype::DataType;
        use crate::metadata::{Codecs, v3::codec_list};
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let codecs = format!(
            r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1,4],"codecs":[{little},{{"name":"crc32c"}}],
            "index_codecs":[{little}]}}}}]"#
        );
        let root = TestFolder::new("write-repeated");
        let codecs = Codecs::V3(codec_list(&crate::json::parse_text(&codecs).unwrap()).unwrap());
        let chain = Chain::parse(&codecs, DataType::Float64, 2).unwrap();
        let store = Arc::new(crate::store::local::LocalStore::open(&root, true, crate::store::local::SyncMode::None).unwrap());
        let array = BoundArray::plain((store, "a/"), (&[rows, 8], &[rows, 8]), DataType::Float64, &chain);
        let array = Arc::new(BoundArray { store_fill_chunks: stored_fill, ..array });
        let write = |start: [u64; 2], shape: [u64; 2], memory: &Memory| {
            let region = Selection::new(&[rows, 8], &start.map(|n| n as i64), &shape.map(|n| n as i64), None).unwrap();
            // SAFETY: the memory lives as long as the call.
            unsafe { crate::engine::write(&array, &region, memory).unwrap() };
        };
        write([0, 0], [1, 1], &Memory::of(&mut [3.0], &[1, 1], DataType::Float64));
        let shape = [rows - start[0], 8 - start[1]];
        let mut elements = vec![element; if repeats { 1 } else { (shape[0] * shape[1]) as usize }];
        let mut memory = Memory::of(&mut elements, &shape, DataType::Float64);
        if repeats {
            memory.strides.fill(0);
        }
        let before = array.stats.snapshot();
        write(start, shape, &memory);
        let after = array.stats.snapshot();
        let bytes = array.store.read_all("a/c.0.0", 1 << 20).unwrap().unwrap_or_default();
        ([after.encoded_chunks - before.encoded_chunks, after.copied_bytes - before.copied_bytes], bytes)
    }

    #[test]
    fn one_repeated_element_costs_as_much_in_a_shard_of_many_inner_chunks_as_of_few_and_stores_the_same() {
        for (name, start, element, stored_fill) in [
            ("the fill value, in rows of inner chunks", [1, 0], 0.0, false),
            ("the fill value, in parts of inner chunks too", [1, 2], 0.0, false),
            ("the fill value, in parts of the stored one too", [0, 2], 0.0, false),
            ("the fill value, in all", [0, 0], 0.0, false),
            ("another, in rows of inner chunks", [1, 0], 7.0, false),
            ("another, in all", [0, 0], 7.0, false),
            ("the fill value, stored", [1, 0], 0.0, true),
            ("the fill value, stored in all", [0, 0], 0.0, true),
        ] {
            let [few, many] = [3, 300].map(|rows| {
                let (cost, bytes) = fill_of_shard(rows, start, true, element, stored_fill);
                assert!(bytes == fill_of_shard(rows, start, false, element, stored_fill).1, "{name}, {rows} rows");
                cost
            });
            assert_eq!(few, many, "{name}: chunks encoded, bytes copied");
            assert!(many[0] <= 2, "{name}: {many:?}");
        }
    }
}
