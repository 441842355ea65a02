//! Writing: a plan's items. A chunk that is wholly covered (as far as it lies inside the array) is encoded straight from memory
//! and put; another is read, changed and put. Either happens under the chunk's lock.

use super::decode::Target;
use super::encode::{Source, encode_chunk};
use super::lock::{self, ChunkGuard};
use super::outlet::{Change, Outlet};
use super::place::{self, PlaceAxes, PlaceAxis};
use super::plan::{Axes, Axis, Item, Plan};
use super::pool::Pool;
use super::read::plain_shard;
use super::request::{Outcome, Request, Work};
use super::scratch::{self, Scratch};
use super::shard::{self, Edit, Selected};
use super::write_back::{self, WriteBack};
use super::{BoundArray, Memory, Overflow, Selection, lenient};
use crate::codec::{BoundChain, Sharded};
use crate::dtype::ElementType;
use crate::dtype::coding::Coding;
use crate::dtype::convert::Transfer;
use crate::dtype::variable::Arena;
use crate::error::{Result, bail};
use crate::limits::{Dims, c_strides, chunk_bytes, grow};
use crate::store::Tuning;
use std::sync::{Arc, Mutex};

/// The work of writing `selection` from `memory`, which holds what the elements mean where a coding says so.
pub(super) fn plan(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, coding: Option<&Coding>) -> Result<Box<dyn Work>> {
    let job = Job::new(array, selection, memory, coding)?;
    if let Some(kept) = &array.write_back {
        kept.make_room(&job)?;
    }
    Ok(Box::new(Write(Arc::new(job))))
}

struct Write(Arc<Job>);

/// A selection on its way from memory to the chunks that it touches.
pub(super) struct Job {
    pub array: Arc<BoundArray>,
    pub plan: Plan,
    source: Source,
    /// From the memory's type to the array's, for chunks that are changed in part.
    pub change: Transfer,
    /// Puts are started, and waited for by nobody but the request.
    latency: bool,
    /// The memory is what waited of that chunk.
    settles: Option<(Arc<WriteBack>, Dims)>,
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
        let (job, item) = (self.0.clone(), self.0.plan.item(number));
        scratch::with(|s| {
            let chunk = item.chunk.clone();
            locked(&self.0.array, &chunk, request, s, move |request, guard, s| job.keep_or_write(&item, request, guard, s))
        })
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

impl Job {
    /// The job of writing `selection` from `memory`, as for [`plan`].
    pub fn new(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, coding: Option<&Coding>) -> Result<Job> {
        let base = memory.data.wrapping_add(memory.offset).cast_const();
        let mut source = Source::new(&array.chain, array.data_type, &array.fill, (memory.data_type, memory.overflow), base)?;
        source.store_fill = array.store_fill_chunks;
        let (native, from) = (ElementType::native(array.data_type), ElementType::native(memory.data_type));
        let mut change = Transfer::new(from, native)?.with_overflow(memory.overflow);
        if let Some(coding) = coding {
            source.transfer = Transfer::encoding(from, source.transfer.to(), coding, memory.overflow)?;
            change = Transfer::encoding(from, native, coding, memory.overflow)?;
        }
        Ok(Job {
            plan: Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?,
            source,
            change,
            latency: array.store.capabilities().latency,
            array: array.clone(),
            settles: None,
        })
    }

    /// The same, of what waited of that chunk.
    pub fn settling(self, kept: Arc<WriteBack>, chunk: Dims) -> Job {
        Job { settles: Some((kept, chunk)), ..self }
    }

    /// Lets an item wait for the rest of its chunk, where the array does so, or writes it. Its key is in `s` and locked.
    fn keep_or_write(self: &Arc<Self>, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        let whole = || shard::covers(&item.axes, &self.inside(item)) && !self.change.is_partial();
        let Some(kept) = self.array.write_back.as_ref().filter(|_| !self.array.data_type.is_variable() && !whole()) else {
            return self.begin(item, request, guard, s);
        };
        match kept.take(self, item, s) {
            Ok(write_back::Kept::Waits) => Outcome::Done(Ok(())),
            Ok(write_back::Kept::Through) => self.begin(item, request, guard, s),
            Ok(write_back::Kept::Whole(job)) => {
                let item = job.plan.item(0);
                job.begin(&item, request, guard, s)
            }
            Err(e) => Outcome::Done(Err(self.plan.name_element(item, e).at_key(&s.key))),
        }
    }

    /// Writes an item, whose key is in `s` and locked, or starts its put.
    pub fn begin(self: &Arc<Self>, item: &Item, request: &Arc<Request>, guard: ChunkGuard, s: &mut Scratch) -> Outcome {
        let later = self.latency.then(Mutex::default);
        let result = self.write(item, Some(request), Outlet::later(&self.array, later.as_ref()), s);
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
        self.write(item, None, Outlet::now(&self.array), s).inspect(|()| self.settle(&item.chunk))
    }

    /// The chunk was stored: what waited of it is, or is replaced.
    fn settle(&self, chunk: &[u64]) {
        match (&self.settles, &self.array.write_back) {
            (Some((kept, chunk)), _) => kept.forget(chunk),
            (None, Some(kept)) => kept.forget(chunk),
            (None, None) => {}
        }
    }

    /// Starts a put or an erasing. The lock is given back, and the item done, when it has ended.
    fn send(self: &Arc<Self>, change: Change, key: &str, (request, chunk): (&Arc<Request>, &Dims), guard: ChunkGuard) {
        let bytes = if let Change::Put(bytes) = &change { bytes.len() as u64 } else { 0 };
        request.flight_started(bytes);
        let (job, again, name, chunk) = (self.clone(), request.clone(), key.to_string(), chunk.clone());
        let done = Box::new(move |result: Result<()>| {
            again.flight_landed();
            again.bytes_used(bytes);
            let request = again.clone();
            request.resume(Box::new(move |request| {
                // Who read meanwhile may have kept the old one.
                job.array.open_shards.forget(&name);
                let result = result.inspect(|()| job.settle(&chunk));
                drop(guard);
                request.finish(result.map_err(|e| e.at_key(&name)));
            }));
        });
        match change {
            Change::Put(bytes) => self.array.store.start_put(key, bytes, done),
            Change::Erase => self.array.store.start_erase(key, done),
        }
    }

    /// Encodes an item and hands it to the outlet.
    fn write(&self, item: &Item, request: Option<&Arc<Request>>, outlet: Outlet<'_>, s: &mut Scratch) -> Result<()> {
        let result = self.array.chain_of(&item.chunk).and_then(|chain| {
            let inside = self.inside(item);
            if let Some(shard) = plain_shard(&chain) {
                self.write_shard(shard, item, (&inside, outlet), request, s)
            } else if !self.source.transfer.is_partial() && shard::covers(&item.axes, &inside) {
                self.put((&chain, outlet), &item.axes, item.memory, &self.source, s)
            } else {
                self.change(&chain, item, outlet, s)
            }
        });
        result.map_err(|e| self.plan.name_element(item, e).at_key(&s.key))
    }

    fn write_shard(
        &self,
        shard: &Sharded,
        item: &Item,
        (inside, outlet): (&[u64], Outlet<'_>),
        request: Option<&Arc<Request>>,
        s: &mut Scratch,
    ) -> Result<()> {
        let edit = Edit { array: &self.array, source: &self.source, change: &self.change, request, outlet };
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

    /// Encodes a whole chunk and stores it, or removes it if it holds only the fill value.
    fn put(&self, (chain, outlet): (&BoundChain, Outlet<'_>), axes: &Axes, memory: i64, source: &Source, s: &mut Scratch) -> Result<()> {
        match encode_chunk(chain, source, axes, memory, &mut s.chain)? {
            Some(bytes) => outlet.put(&s.key, &[bytes]),
            None if self.array.store.capabilities().erasable => outlet.erase(&s.key),
            None if self.array.store.open(&s.key)?.is_none() => Ok(()),
            // What cannot be removed is replaced, by a chunk that holds the fill value.
            None => match encode_chunk(chain, &source.storing_fill(), axes, memory, &mut s.chain)? {
                Some(bytes) => outlet.put(&s.key, &[bytes]),
                None => bail!(Internal, "a chunk that is to be stored was left out"),
            },
        }
    }

    /// Reads a chunk, changes the selected elements and stores it again, with other processes kept out.
    /// What lies beyond the array's edge is stored again as it was found.
    fn change(&self, chain: &BoundChain, item: &Item, outlet: Outlet<'_>, s: &mut Scratch) -> Result<()> {
        let shape = chain.shape();
        let size = self.array.data_type.size();
        let strides = c_strides(shape, size);
        let bytes = chunk_bytes(shape, size)?;
        let mut chunk = std::mem::take(&mut s.chunk);
        let result = grow(&mut chunk, bytes).map(|buf| buf.as_mut_ptr()).and_then(|base| {
            let process = self.array.store.lock_key(&self.array.prefix, &s.key)?;
            // Another process may not come in before the chunk is stored.
            let outlet = if process.is_some() { Outlet::now(&self.array) } else { outlet };
            // Keeps the bytes of old elements of variable length until the chunk is stored again.
            let arena = self.array.data_type.is_variable().then(Arc::<Arena>::default);
            self.read_chunk(chain, item, base, &strides, arena.clone(), s)?;
            self.place(item, base, &strides)?;
            let as_stored = (self.array.data_type, Overflow::Error);
            let mut source = Source::new(chain, self.array.data_type, &self.array.fill, as_stored, base)?;
            source.store_fill = self.source.store_fill;
            self.put((chain, outlet), &whole(shape, &strides), 0, &source, s)
        });
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

    /// The selected elements from the caller's memory into that buffer.
    pub fn place(&self, item: &Item, base: *mut u8, strides: &[i64]) -> Result<()> {
        let start: i64 = item.axes.iter().zip(strides).map(|(a, &s)| a.start as i64 * s).sum();
        let axes: PlaceAxes =
            item.axes.iter().zip(strides).map(|(a, &s)| PlaceAxis { count: a.count, src: a.memory, dst: s * a.step }).collect();
        // SAFETY: the plan stays within the checked memory, and the axes within the buffer of a whole chunk.
        let placed =
            unsafe { place::place(self.source.base.offset(item.memory as isize), base.offset(start as isize), &axes, &self.change) };
        placed.map_err(|m| {
            let memory = m.src as isize - self.source.base as isize;
            m.at(memory)
        })
    }
}

/// All elements of a chunk of that shape.
fn whole(shape: &[u64], strides: &[i64]) -> Axes {
    shape.iter().zip(strides).map(|(&count, &memory)| Axis { start: 0, count, step: 1, memory }).collect()
}
