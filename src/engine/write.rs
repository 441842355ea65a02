//! Writing: a plan's items. A chunk that is wholly covered (as far as it lies inside the array) is encoded straight from memory
//! and put; another is read, changed and put. Either happens under the chunk's lock.

use super::buffer_guard::RevocableBuffer;
use super::chunk_sink::{Change, ChunkSink};
use super::coordinates::{CoordinateSelection, PickList, Repeats};
use super::decode::Target;
use super::encode::{Source, encode_chunk, encode_into};
use super::lock::{self, ChunkGuard};
use super::plan::{Axes, Axis, Item, Plan};
use super::pool::Pool;
use super::read::plain_shard;
use super::request::{self, Outcome, Request, Work};
use super::scratch::{self, Scratch};
use super::shard::{Edit, Selected};
use super::stats::Scope;
use super::write_back::{self, WriteBack};
use super::{BoundArray, Memory, Overflow, Selection, lenient};
use crate::codec::{BoundChain, Sharded};
use crate::dtype::ElementType;
use crate::dtype::coding::Coding;
use crate::dtype::convert::Transfer;
use crate::dtype::variable::Arena;
use crate::error::{Error, Result, bail};
use crate::limits::{Dims, Strides, c_strides, chunk_bytes, grow};
use crate::store::Tuning;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};

/// The work of writing `selection` from `memory`, which holds what the elements mean where a coding says so.
pub(super) fn plan(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, coding: Option<&Coding>) -> Result<Box<dyn Work>> {
    let job = job(array, selection, memory, coding, None)?;
    if let Some(kept) = &array.write_back {
        kept.make_room(&job)?;
    }
    Ok(work(job))
}

/// The work of one region.
pub(super) fn work(job: WriteJob) -> Box<dyn Work> {
    Box::new(Write(Arc::new(job)))
}

/// The same, by itself, and behind a gate.
pub(super) fn job(
    array: &Arc<BoundArray>,
    selection: &Selection,
    memory: &Memory,
    coding: Option<&Coding>,
    revocable: Option<Arc<RevocableBuffer>>,
) -> Result<WriteJob> {
    let plan = Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?;
    let probe = (plan.items() > 1 && !array.data_type.is_variable() && array.store.capabilities().erasable).then(|| FillProbe {
        shape: selection.shape().into(),
        strides: memory.strides.clone(),
        seen: AtomicU8::new(FillProbe::UNSEEN),
    });
    Ok(WriteJob { probe, ..job_of(array, plan, memory, coding, revocable)? })
}

/// The work of writing what a list picks. Of elements that it has several times the last one counts.
pub(super) fn plan_picks(array: &Arc<BoundArray>, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<Box<dyn Work>> {
    let array = &write_back::written_through(array, None)?;
    let list = PickList::new(array, picks, &memory.strides, Repeats::Last)?;
    Ok(work(job_of(array, Plan::listed(list, array.shape.len(), memory.data_type.size())?, memory, None, None)?))
}

fn job_of(
    array: &Arc<BoundArray>,
    plan: Plan,
    memory: &Memory,
    coding: Option<&Coding>,
    revocable: Option<Arc<RevocableBuffer>>,
) -> Result<WriteJob> {
    let base = memory.data.wrapping_add(memory.offset).cast_const();
    let repeated = plan.list().is_none() && memory.strides.iter().all(|&s| s == 0) && !memory.strides.is_empty();
    let mut source = Source::new(&array.chain, array.data_type, &array.fill, (memory.data_type, memory.overflow), base)?;
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
        entry: None,
    })
}

struct Write(Arc<WriteJob>);

/// One region on its way from memory.
pub(super) struct WriteJob {
    pub array: Arc<BoundArray>,
    pub plan: Plan,
    pub source: Source,
    /// From the memory's type to the array's, for chunks that are changed in part.
    pub change: Transfer,
    /// Puts are started, and waited for by nobody but the request.
    latency: bool,
    /// All elements are one that is repeated: the bytes of a whole chunk of it, or that it is not stored, once they are known.
    constant: Option<OnceLock<Option<Vec<u8>>>>,
    /// The region, where it may be nothing but the fill value.
    probe: Option<FillProbe>,
    /// The memory is what waited of that chunk.
    settles: Option<(Arc<WriteBack>, Dims)>,
    /// Its place in a batch, for messages.
    entry: Option<usize>,
}

/// A region that may be nothing but the fill value. That is seen several times as fast in the order of the memory as chunk by chunk, so the
/// first item looks at all of it, and usually at its first elements only. Other threads do not wait for that.
struct FillProbe {
    shape: Dims,
    strides: Strides,
    seen: AtomicU8,
}

impl FillProbe {
    const UNSEEN: u8 = 0;
    const OTHER: u8 = 1;
    const FILL: u8 = 2;

    fn is_fill(&self, source: &Source) -> bool {
        if self.seen.compare_exchange(FillProbe::UNSEEN, FillProbe::OTHER, Relaxed, Relaxed).is_ok()
            && source.is_fill(&self.shape, &self.strides)
        {
            self.seen.store(FillProbe::FILL, Relaxed);
        }
        self.seen.load(Relaxed) == FillProbe::FILL
    }
}

impl Work for Write {
    fn items(&self) -> u64 {
        self.0.plan.items()
    }

    fn bytes(&self) -> u64 {
        self.0.plan.bytes()
    }

    fn pool(&self) -> &Pool {
        &self.0.array.pool
    }

    fn finish_others(&self) -> bool {
        true
    }

    fn tuning(&self) -> Tuning {
        self.0.array.store.tuning()
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        ChunkWrites::One(self.0.clone(), number).run(request)
    }
}

/// What is written to one chunk: an item, or several of a batch in their order.
#[derive(Clone)]
pub(super) enum ChunkWrites {
    One(Arc<WriteJob>, u64),
    Many(Arc<[(Arc<WriteJob>, u64)]>),
}

impl ChunkWrites {
    fn first(&self) -> Option<(&Arc<WriteJob>, u64)> {
        match self {
            ChunkWrites::One(job, number) => Some((job, *number)),
            ChunkWrites::Many(all) => all.first().map(|(job, number)| (job, *number)),
        }
    }

    /// Writes them, when the chunk's lock is free.
    pub fn run(&self, request: &Arc<Request>) -> Outcome {
        let Some((job, number)) = self.first().filter(|_| !request.is_stopped()) else { return Outcome::Done(Ok(())) };
        let Some(item) = job.plan.item(number) else { return Outcome::Done(Ok(())) };
        let _scope = Scope::new(&job.array.stats);
        scratch::with(|s| {
            job.array.chunk_key(&item.chunk, &mut s.key);
            let guard = job.array.locks.acquire(&s.key, || {
                let (writes, request) = (self.clone(), request.clone());
                move |guard: ChunkGuard| {
                    // Nobody may be at hand to go on with a request that has left its caller, so it does not keep others from the
                    // chunk meanwhile, and asks again then.
                    let guard = (!request.is_detached()).then_some(guard);
                    let again = request.clone();
                    again.resume(Box::new(move |request| {
                        let outcome = match guard {
                            Some(guard) => writes.run_locked(request, guard),
                            None => writes.run(request),
                        };
                        if let Outcome::Done(result) = outcome {
                            request.finish(result);
                        }
                    }));
                }
            });
            match guard {
                None => Outcome::Parked,
                Some(guard) => self.begin(job, &item, request, guard, s),
            }
        })
    }

    /// Writes them: the lock was taken when it came to their turn.
    fn run_locked(&self, request: &Arc<Request>, guard: ChunkGuard) -> Outcome {
        let Some((job, number)) = self.first() else { return Outcome::Done(Ok(())) };
        let Some(item) = job.plan.item(number) else { return Outcome::Done(Ok(())) };
        let _scope = Scope::new(&job.array.stats);
        scratch::with(|s| {
            job.array.chunk_key(&item.chunk, &mut s.key);
            self.begin(job, &item, request, guard, s)
        })
    }

    /// Writes them under the key in `s`, which is locked, or starts to put what they make of it. `job` and `item` are the first.
    fn begin(&self, job: &Arc<WriteJob>, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        match self {
            ChunkWrites::One(..) => job.keep_or_write(item, request, guard, s),
            ChunkWrites::Many(all) => job.begin_by(item, request, guard, s, |sink, s| job.write_all(all, request, sink, s)),
        }
    }
}

/// Puts the chunk's key into `s` and calls `go` under the chunk's lock: now, or as a continuation when its holder gives it back.
pub(super) fn locked<F>(array: &Arc<BoundArray>, chunk: &[u64], request: &Arc<Request>, s: &mut Scratch, go: F) -> Outcome
where
    F: FnOnce(&Arc<Request>, ChunkGuard, &mut Scratch) -> Outcome + Send + 'static,
{
    array.chunk_key(chunk, &mut s.key);
    let mut go = Some(go);
    let guard = array.locks.acquire(&s.key, || {
        let (key, request, go) = (s.key.clone(), request.clone(), go.take());
        move |guard: ChunkGuard| {
            let again = request.clone();
            again.resume(Box::new(move |request| {
                let outcome = scratch::with(|s| {
                    s.key = key;
                    go.map_or(Outcome::Parked, |go| go(request, guard, s))
                });
                if let Outcome::Done(result) = outcome {
                    request.finish(result);
                }
            }));
        }
    });
    match (guard, go) {
        (Some(guard), Some(go)) => go(request, guard, s),
        _ => Outcome::Parked,
    }
}

impl WriteJob {
    /// The same, of what waited of that chunk.
    pub fn settling(self, kept: Arc<WriteBack>, chunk: Dims) -> WriteJob {
        WriteJob { settles: Some((kept, chunk)), ..self }
    }

    /// Lets an item wait for the rest of its chunk, where the array does so, or writes it. Its key is in `s` and locked.
    fn keep_or_write(self: &Arc<Self>, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        let whole = || self.source.covers(&item.axes, item.memory, &self.inside(item));
        let Some(kept) = self.array.write_back.as_ref().filter(|_| !self.array.data_type.is_variable() && !whole()) else {
            return self.begin(item, request, guard, s);
        };
        match kept.take(self, item, s) {
            Ok(write_back::Admission::Waits) => Outcome::Done(Ok(())),
            Ok(write_back::Admission::Through) => self.begin(item, request, guard, s),
            Ok(write_back::Admission::Whole(job)) => {
                let item = job.plan.region_item(0);
                job.begin(&item, request, guard, s)
            }
            Err(e) => Outcome::Done(Err(self.annotate(item, e, &s.key))),
        }
    }

    /// Writes an item, whose key is in `s` and locked, or starts its put.
    pub fn begin(self: &Arc<Self>, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        self.begin_by(item, request, guard, s, |sink, s| self.write(item, Some(request), sink, s))
    }

    /// The same by another way of making what is put.
    fn begin_by(
        self: &Arc<Self>,
        item: &Item,
        request: &Arc<Request>,
        guard: ChunkGuard,
        s: &mut Scratch,
        write: impl FnOnce(ChunkSink<'_>, &mut Scratch) -> Result<()>,
    ) -> Outcome {
        let later = self.latency.then(Mutex::default);
        let result = write(ChunkSink::later(&self.array, later.as_ref()), s);
        let change = later.and_then(|later| lock::lock(&later).take());
        match (result, change) {
            (Ok(()), Some(change)) => {
                self.send(change, &s.key, (request, &item.chunk), guard);
                Outcome::Parked
            }
            (result, _) => Outcome::Done(result.inspect(|()| self.settle(&item.chunk))),
        }
    }

    /// Writes an item, whose key is in `s` and locked, and returns when that is done.
    pub fn write_now(&self, item: &Item, s: &mut Scratch) -> Result<()> {
        self.write(item, None, ChunkSink::now(&self.array), s).inspect(|()| self.settle(&item.chunk))
    }

    /// The chunk was stored: what waited of it is, or is replaced.
    fn settle(&self, chunk: &[u64]) {
        match (&self.settles, &self.array.write_back) {
            (Some((kept, chunk)), _) => kept.forget(chunk),
            (None, Some(kept)) => kept.forget(chunk),
            (None, None) => {}
        }
    }

    /// Starts a put or an erasing. The lock is given back when it has ended, whoever may then go on with the request.
    fn send(self: &Arc<Self>, change: Change, key: &str, (request, chunk): (&Arc<Request>, &Dims), guard: ChunkGuard) {
        let bytes = if let Change::Put(bytes) = &change { bytes.len() as u64 } else { 0 };
        request.flight_started(bytes);
        let (job, again, name, chunk) = (self.clone(), request.clone(), key.to_string(), chunk.clone());
        let done = Box::new(move |result: Result<()>| {
            again.flight_landed();
            again.bytes_used(bytes);
            // Who read meanwhile may have kept the old one.
            job.array.open_shards.forget(&name);
            let result = result.inspect(|()| job.settle(&chunk));
            drop(guard);
            let request = again.clone();
            request.resume(Box::new(move |request| {
                request.finish(result.map_err(|e| request::of_entry(job.entry, e.at_key(&name))));
            }));
        });
        match change {
            Change::Put(bytes) => self.array.store.start_put(key, bytes, done),
            Change::Erase => self.array.store.start_erase(key, done),
        }
    }

    /// The same, as an entry of a batch.
    pub fn of_entry(self, entry: usize) -> WriteJob {
        WriteJob { entry: Some(entry), ..self }
    }

    /// An error in an item, with all names.
    fn annotate(&self, item: &Item, e: Error, key: &str) -> Error {
        request::of_entry(self.entry, self.plan.name_element(item, e).at_key(key))
    }

    /// Encodes the items of several regions in one chunk, each over those before it, and hands it to the sink.
    fn write_all(&self, all: &[(Arc<WriteJob>, u64)], request: &Arc<Request>, sink: ChunkSink<'_>, s: &mut Scratch) -> Result<()> {
        let members: Vec<(&WriteJob, Item)> = all.iter().map(|(job, number)| (&**job, job.plan.region_item(*number))).collect();
        let Some((_, first)) = members.first() else { return Ok(()) };
        let chain = self.array.chain_of(&first.chunk).map_err(|e| self.annotate(first, e, &s.key))?;
        if plain_shard(&chain).is_none() {
            return self.change(&chain, &members, sink, s).map_err(|e| self.annotate(first, e, &s.key));
        }
        // A shard is never decoded as a whole: one after the other.
        let last = members.len() - 1;
        members
            .iter()
            .enumerate()
            .try_for_each(|(i, (job, item))| job.write(item, Some(request), if i == last { sink } else { ChunkSink::now(&self.array) }, s))
    }

    /// Encodes an item and hands it to the sink.
    fn write(&self, item: &Item, request: Option<&Arc<Request>>, sink: ChunkSink<'_>, s: &mut Scratch) -> Result<()> {
        let picking = self.picking(item);
        let source = picking.as_ref().unwrap_or(&self.source);
        let result = self.array.chain_of(&item.chunk).and_then(|chain| {
            let inside = self.inside(item);
            if let Some(made) = self.constant.as_ref().filter(|_| source.covers(&item.axes, 0, chain.shape())) {
                self.put_constant((&chain, sink), item, made, s)
            } else if source.covers(&item.axes, item.memory, &inside) && self.probe.as_ref().is_some_and(|w| w.is_fill(source)) {
                let done = sink.erase(&s.key);
                self.array.open_shards.forget(&s.key);
                done
            } else if let Some(shard) = plain_shard(&chain) {
                let edit = Edit { array: &self.array, source, change: &self.change, request, sink };
                self.write_shard(shard, item, &inside, edit, s)
            } else if source.covers(&item.axes, item.memory, &inside) {
                self.put((&chain, sink), &item.axes, item.memory, source, s)
            } else {
                let copy = Item { chunk: item.chunk.clone(), axes: item.axes.clone(), memory: item.memory };
                self.change(&chain, &[(self, copy)], sink, s)
            }
        });
        result.map_err(|e| self.annotate(item, e, &s.key))
    }

    fn write_shard(&self, shard: &Sharded, item: &Item, inside: &[u64], edit: Edit<'_>, s: &mut Scratch) -> Result<()> {
        let key = std::mem::take(&mut s.key);
        let result = edit.write(shard, &key, Selected { axes: &item.axes, memory: item.memory, inside }, s);
        s.key = key;
        result
    }

    /// How much of the item's chunk lies inside the array.
    pub fn inside(&self, item: &Item) -> Dims {
        let grid = &self.array.grid;
        let each = item.chunk.iter().zip(&self.array.shape).enumerate();
        each.map(|(d, (&chunk, &length))| grid.extent(d, chunk).min(length - grid.origin(d, chunk))).collect()
    }

    /// Stores a whole chunk of one repeated element, which is encoded once for all chunks; by several threads at the beginning.
    fn put_constant(
        &self,
        (chain, sink): (&BoundChain, ChunkSink<'_>),
        item: &Item,
        made: &OnceLock<Option<Vec<u8>>>,
        s: &mut Scratch,
    ) -> Result<()> {
        if made.get().is_none() {
            let mut bytes = Vec::new();
            let stored = encode_into(chain, &self.source, &item.axes, item.memory, &mut s.chain, &mut bytes)?;
            let _ = made.set(stored.then_some(bytes));
        }
        let done = match made.get() {
            Some(Some(bytes)) => sink.put(&s.key, &[bytes]),
            Some(None) if self.array.store.capabilities().erasable => sink.erase(&s.key),
            // What cannot be removed may have to be replaced.
            _ => self.put((chain, sink), &item.axes, item.memory, &self.source, s),
        };
        self.array.open_shards.forget(&s.key);
        done
    }

    /// Encodes a whole chunk and stores it, or removes it if it holds only the fill value.
    fn put(&self, (chain, sink): (&BoundChain, ChunkSink<'_>), axes: &Axes, memory: i64, source: &Source, s: &mut Scratch) -> Result<()> {
        match encode_chunk(chain, source, axes, memory, &mut s.chain)? {
            Some(bytes) => sink.put(&s.key, &[bytes]),
            None if self.array.store.capabilities().erasable => sink.erase(&s.key),
            None if self.array.store.open(&s.key)?.is_none() => Ok(()),
            // What cannot be removed is replaced, by a chunk that holds the fill value.
            None => match encode_chunk(chain, &source.storing_fill(), axes, memory, &mut s.chain)? {
                Some(bytes) => sink.put(&s.key, &[bytes]),
                None => bail!(Internal, "a chunk that is to be stored was left out"),
            },
        }
    }

    /// Reads a chunk, changes the selected elements, region by region, and stores it again, with other processes kept out.
    /// What lies beyond the array's edge is stored again as it was found.
    fn change(&self, chain: &BoundChain, members: &[(&WriteJob, Item)], sink: ChunkSink<'_>, s: &mut Scratch) -> Result<()> {
        let Some((_, first)) = members.first() else { return Ok(()) };
        let shape = chain.shape();
        let size = self.array.data_type.size();
        let strides = c_strides(shape, size);
        let mut chunk = std::mem::take(&mut s.chunk);
        let mut edit = || {
            let base = grow(&mut chunk, chunk_bytes(shape, size)?)?.as_mut_ptr();
            let process = self.array.store.lock_key(&self.array.prefix, &s.key)?;
            // Another process may not come in before the chunk is stored.
            let sink = if process.is_some() { ChunkSink::now(&self.array) } else { sink };
            // Keeps the bytes of old elements of variable length until the chunk is stored again.
            let arena = self.array.data_type.is_variable().then(Arc::<Arena>::default);
            self.read_chunk(chain, first, base, &strides, arena.clone(), s)?;
            for (job, item) in members {
                job.place(item, base, &strides).map_err(|e| job.annotate(item, e, &s.key))?;
            }
            let as_stored = (self.array.data_type, Overflow::Error);
            let mut source = Source::new(chain, self.array.data_type, &self.array.fill, as_stored, base)?;
            source.store_fill = self.source.store_fill;
            self.put((chain, sink), &whole(shape, &strides), 0, &source, s)
        };
        let result = edit();
        s.chunk = chunk;
        result
    }

    /// The whole chunk as it is stored, into a dense buffer in C order.
    fn read_chunk(
        &self,
        chain: &BoundChain,
        item: &Item,
        base: *mut u8,
        strides: &[i64],
        arena: Option<Arc<Arena>>,
        s: &mut Scratch,
    ) -> Result<()> {
        let axes = whole(chain.shape(), strides);
        let as_stored = (self.array.data_type, Overflow::Error);
        let target = Target::new(chain, self.array.data_type, &self.array.fill, as_stored, base, arena)?;
        match self.array.store.open(&s.key)? {
            None => target.fill(&axes, 0),
            Some(object) => {
                let item = Item { chunk: item.chunk.clone(), axes, memory: 0 };
                lenient::read_object(&self.array, chain, &object, &target, &item, s)
            }
        }
    }

    /// Where the item's elements come from, if its chunk's are picked by a list; else that is the job's own source.
    fn picking(&self, item: &Item) -> Option<Source> {
        self.plan.list().map(|list| self.source.picking(list.picks_in(&item.chunk)))
    }

    /// The selected elements from the caller's memory into the buffer of a whole chunk.
    pub fn place(&self, item: &Item, base: *mut u8, strides: &[i64]) -> Result<()> {
        let picking = self.picking(item);
        picking.as_ref().unwrap_or(&self.source).place(&item.axes, item.memory, base, strides, &self.change)
    }
}

/// All elements of a chunk of that shape.
fn whole(shape: &[u64], strides: &[i64]) -> Axes {
    shape.iter().zip(strides).map(|(&count, &memory)| Axis { start: 0, count, step: 1, memory }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shard_open::tests::{array, view};
    use crate::store::os::{Call, fault};

    #[test]
    fn a_region_of_nothing_but_the_fill_value_leaves_no_chunk_and_one_other_element_is_stored() {
        let root = std::env::temp_dir().join(format!("ozarr-write-fill-{}", std::process::id()));
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        let sharded =
            format!(r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[4],"codecs":[{little}],"index_codecs":[{little}]}}}}"#);
        for codecs in [format!("[{little}]"), format!("[{sharded}]")] {
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
            std::fs::remove_dir_all(&root).unwrap();
        }
    }
}
