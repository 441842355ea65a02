//! Reading: a plan's items, run through the state machine of `decode` by one of two drivers.
//!
//! The driver that reads at once serves files and memory: one open, then a read for each part (near ones together). The in-flight
//! driver serves stores with latency: reads are started, the item is parked, and whoever helps the request goes on with it
//! when the bytes have come. The machine is the same.

use super::buffer_guard::RevocableBuffer;
use super::coordinates::{CoordinateSelection, PickList, Repeats};
use super::decode::{Cost, Decoded, Machine, Part, Target};
use super::plan::{Item, Plan};
use super::pool::Pool;
use super::request::{self, INLINE_BYTES, Outcome, Request, Work};
use super::scratch::{self, ChainScratch, Scratch};
use super::shard_open::OpenShard;
use super::stats::{self, Field, Scope};
use super::write_back;
use super::{BoundArray, Memory, Selection, lenient};
use crate::codec::{BoundChain, Sharded};
use crate::dtype::coding::Coding;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{chunk_bytes, grow, reserve};
use crate::store::{ByteRange, Fetched, Folder, Object, Tuning, Version, check_exact};
use std::borrow::Borrow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Reads of one item that were overtaken by a writer are begun again so often.
const ATTEMPTS: usize = 5;

/// For so many chunks it pays to open their folder: two calls, and each finds its file with one name less to look up (measured: 70 ns).
const SHARE_FOLDER: u64 = 32;

/// Reads of at least this many bytes are checked against the object's length before memory is taken for them.
const CHECK_LENGTH: u64 = 1 << 20;

/// Reads `selection` into `memory`, which holds what the elements mean where a coding says so. What is one item is read without a
/// request, which would cost more than to place an element.
pub(super) fn run(array: &Arc<BoundArray>, selection: &Selection, memory: &Memory, coding: Option<&Coding>) -> Result<()> {
    let job = job(array, selection, memory, coding, None)?;
    match job.plan.items() {
        1 if !job.latency => {
            let _scope = Scope::new(&array.stats);
            job.read_now(&job.plan.region_item(0))
        }
        _ => request::run(work(job)),
    }
}

/// The work of one region.
pub(super) fn work(job: ReadJob) -> Box<dyn Work> {
    Box::new(Read(Arc::new(job)))
}

/// The job of one region, perhaps behind a gate. What waits to be written of it is stored first.
pub(super) fn job(
    array: &Arc<BoundArray>,
    selection: &Selection,
    memory: &Memory,
    coding: Option<&Coding>,
    revocable: Option<Arc<RevocableBuffer>>,
) -> Result<ReadJob> {
    if let Some(kept) = &array.write_back {
        write_back::flush(array, kept, Some(selection))?;
    }
    let mut plan = Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?;
    if let Some(shard) = plain_shard(&array.chain).filter(|_| !array.store.capabilities().latency) {
        let bytes = plan.bytes();
        share_out(&mut plan, bytes, shard, array.pool.threads() as u64)?;
    }
    job_of(array, plan, memory, coding, revocable)
}

/// The work of reading what a list picks.
pub(super) fn plan_picks(array: &Arc<BoundArray>, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<Box<dyn Work>> {
    if let Some(kept) = &array.write_back {
        write_back::flush(array, kept, None)?;
    }
    let list = PickList::new(array, picks, &memory.strides, Repeats::All)?;
    let mut plan = Plan::listed(list, array.shape.len(), memory.data_type.size())?;
    if let Some(shard) = plain_shard(&array.chain).filter(|_| !array.store.capabilities().latency) {
        // What is read for few elements are the inner chunks that they lie in.
        let inner = chunk_bytes(&shard.inner_shape, array.data_type.size())? as u64;
        let all = plan.items().saturating_mul(chunk_bytes(array.chain.shape(), array.data_type.size())? as u64);
        let bytes = (plan.bytes() / memory.data_type.size().max(1) as u64).saturating_mul(inner).min(all);
        share_out(&mut plan, bytes, shard, array.pool.threads() as u64)?;
    }
    Ok(work(job_of(array, plan, memory, None, None)?))
}

fn job_of(
    array: &Arc<BoundArray>,
    plan: Plan,
    memory: &Memory,
    coding: Option<&Coding>,
    revocable: Option<Arc<RevocableBuffer>>,
) -> Result<ReadJob> {
    // `Memory::check` found the offset inside, or there are no elements.
    let base = memory.data.wrapping_add(memory.offset);
    let in_memory = (memory.data_type, memory.overflow);
    let target = Target::new(&array.chain, array.data_type, &array.fill, in_memory, base, memory.arena.clone())?;
    let target = match coding {
        Some(coding) => target.decoding(&array.chain, array.data_type, &array.fill, in_memory, coding)?,
        None => target,
    };
    Ok(ReadJob {
        target: target.behind(revocable).for_bytes(plan.bytes()),
        plan,
        cost: Cost::of(&*array.store),
        // Clipped chunks are told by their length, which reads in flight do not ask for.
        latency: array.store.capabilities().latency && array.lenient.clipped.is_none(),
        array: array.clone(),
        folder: OnceLock::new(),
        entry: None,
        then: None,
    })
}

/// The shard that a chain is, unless further codecs make one piece of it.
pub(super) fn plain_shard(chain: &BoundChain) -> Option<&Sharded> {
    match chain {
        BoundChain::Sharded(shard) if shard.stages.is_empty() => Some(shard),
        _ => None,
    }
}

/// Where there are fewer shards than keep all threads busy to the end, each is read in several parts. `bytes` are worked on for all.
pub(super) fn share_out(plan: &mut Plan, bytes: u64, shard: &Sharded, threads: u64) -> Result<()> {
    let enough = threads * 4;
    if threads < 2 || plan.items() == 0 || plan.items() >= enough {
        return Ok(());
    }
    let pieces = enough.div_ceil(plan.items()).min(bytes / plan.items() / INLINE_BYTES);
    // Along the outermost dimension that has so many inner chunks: then each part's are neighbours in most shards.
    let dimension =
        (0..shard.grid.len()).find(|&j| shard.grid[j] >= pieces).or_else(|| (0..shard.grid.len()).max_by_key(|&j| shard.grid[j]));
    match dimension {
        Some(j) if pieces > 1 => plan.refine(shard.axes[j], shard.inner_shape[j], pieces),
        _ => Ok(()),
    }
}

struct Read(Arc<ReadJob>);

/// What is done with the elements of an item when they are all there.
pub(super) type Then = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// One region on its way to memory.
pub(super) struct ReadJob {
    pub array: Arc<BoundArray>,
    pub plan: Plan,
    pub target: Target,
    latency: bool,
    cost: Cost,
    /// The folder of all chunks, where there are many: opened when the first of them is read.
    folder: OnceLock<Folder>,
    /// Its place in a batch, for messages.
    entry: Option<usize>,
    pub then: Option<Then>,
}

impl Work for Read {
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
        false
    }

    fn tuning(&self) -> Tuning {
        self.0.array.store.tuning()
    }

    fn run(&self, request: &Arc<Request>, item: u64) -> Outcome {
        self.0.run(request, item)
    }
}

impl BoundArray {
    /// The key of a chunk.
    pub(super) fn chunk_key(&self, chunk: &[u64], key: &mut String) {
        key.clear();
        key.push_str(&self.prefix);
        self.keys.push(chunk.iter().copied(), key);
    }
}

impl ReadJob {
    /// Reads one item, or starts to.
    pub fn run(self: &Arc<Self>, request: &Arc<Request>, item: u64) -> Outcome {
        let Some(item) = self.plan.item(item) else { return Outcome::Done(Ok(())) };
        let _scope = Scope::new(&self.array.stats);
        if self.latency { Flight::begin(self, request, item, 0) } else { Outcome::Done(self.read_now(&item)) }
    }

    /// What is left to do with an item whose elements are there.
    fn settle(&self) -> Result<()> {
        self.then.as_ref().map_or(Ok(()), |then| then())
    }

    /// The same, as an entry of a batch.
    pub fn of_entry(self, entry: usize) -> ReadJob {
        ReadJob { entry: Some(entry), ..self }
    }

    /// An error in an item, with all names.
    fn annotate(&self, item: &Item, e: Error, key: &str) -> Error {
        request::of_entry(self.entry, self.plan.name_element(item, e).at_key(key))
    }

    fn read_now(&self, item: &Item) -> Result<()> {
        self.read_at_once(item)?;
        self.settle()
    }

    /// Where the item's elements go, if its chunk's are picked by a list; else that is the job's own target.
    fn picking(&self, item: &Item) -> Option<Target> {
        self.plan.list().map(|list| self.target.picking(list.picks_in(&item.chunk)))
    }

    fn read_at_once(&self, item: &Item) -> Result<()> {
        let picking = self.picking(item);
        let target = picking.as_ref().unwrap_or(&self.target);
        scratch::with(|s| {
            self.array.chunk_key(&item.chunk, &mut s.key);
            let read = self.array.chain_of(&item.chunk).and_then(|chain| {
                if let Some(shard) = plain_shard(&chain).filter(|_| !self.array.lenient.empty_is_missing) {
                    return self.read_shard(&chain, shard, target, item, s);
                }
                if self.read_kept(&chain, target, item, s)? {
                    return Ok(());
                }
                match self.open(&s.key)? {
                    None => target.fill(&item.axes, item.memory),
                    Some(object) => lenient::read_object(&self.array, &chain, &object, target, item, s),
                }
            });
            read.map_err(|e| self.annotate(item, e, &s.key))
        })
    }

    /// Opens what a chunk's key holds.
    fn open(&self, key: &str) -> Result<Option<Object>> {
        let store = &self.array.store;
        if self.plan.items() < SHARE_FOLDER {
            return store.open(key);
        }
        store.open_in(self.folder.get_or_init(|| self.open_folder()), key)
    }

    /// Opens the folder that all chunks of the plan are in.
    fn open_folder(&self) -> Folder {
        let key_of = |item: u64| {
            let mut key = String::new();
            self.array.chunk_key(&self.plan.item(item)?.chunk, &mut key);
            Some(key)
        };
        // A list need not have its chunks in order.
        let ends = || Some((key_of(0)?, key_of(self.plan.items() - 1)?));
        let Some((first, last)) = ends().filter(|_| self.plan.list().is_none()) else { return Folder::Unknown };
        match self.array.keys.common_folder(&first, &last) {
            0 => Folder::Unknown,
            len => self.array.store.folder(&first[..len]),
        }
    }

    /// Reads from a shard that is perhaps open already.
    fn read_shard(&self, chain: &BoundChain, shard: &Sharded, target: &Target, item: &Item, s: &mut Scratch) -> Result<()> {
        let Some(held) = self.array.open_shard(shard, &s.key, &mut s.chain)? else {
            return target.fill(&item.axes, item.memory);
        };
        let key = std::mem::take(&mut s.key);
        let decoded = self.array.cache.as_ref().map(|cache| Decoded { cache, key: &key, mark: &held.mark });
        let machine = Machine { root: chain, target, cost: Cost::LOCAL, kept: Some(held.shard()), decoded };
        s.parts.clear();
        let started = machine.start_inner(shard, held.index(), Some(held.len), item, &mut s.parts);
        let result = started.and_then(|()| read_parts(held.object()?, &machine, true, s));
        s.key = key;
        result
    }

    /// Reads a chunk that is kept decoded, or is to be; false if it is to be read in another way.
    fn read_kept(&self, chain: &BoundChain, target: &Target, item: &Item, s: &mut Scratch) -> Result<bool> {
        let (Some(cache), BoundChain::Leaf(leaf)) = (&self.array.cache, chain) else { return Ok(false) };
        let as_it_should_be = self.array.lenient.clipped.is_none() && !self.array.lenient.empty_is_missing;
        if leaf.variable.is_some() || !as_it_should_be || !cache.takes(leaf.layout.bytes) {
            return Ok(false);
        }
        let Some(mark) = self.array.store.mark(&s.key)? else { return target.fill(&item.axes, item.memory).map(|()| true) };
        let key = std::mem::take(&mut s.key);
        let machine = Machine { root: chain, target, cost: Cost::LOCAL, kept: None, decoded: None };
        let result = self.read_marked(machine, item, Decoded { cache, key: &key, mark: &mark }, s);
        s.key = key;
        result
    }

    fn read_marked(&self, machine: Machine<'_>, item: &Item, decoded: Decoded<'_>, s: &mut Scratch) -> Result<bool> {
        let machine = Machine { decoded: Some(decoded), ..machine };
        s.parts.clear();
        machine.start(item, &mut s.parts)?;
        match s.parts.as_slice() {
            [part] if machine.place_kept(part)? => return Ok(true),
            _ => {}
        }
        let Some(object) = self.array.store.open(decoded.key)? else { return machine.target.fill(&item.axes, item.memory).map(|()| true) };
        // Another object may have got the key since.
        let mark = object.mark()?;
        let machine = Machine { decoded: Some(Decoded { mark: &mark, ..decoded }), ..machine };
        read_object(&object, &machine, item, s).map(|()| true)
    }

    /// The parts to begin with, in a store with latency; of a shard whose index is known those of its inner chunks, and the version
    /// that they must have.
    fn first_parts(&self, item: &Item, target: &Target, key: &str, attempt: usize, version: &OnceLock<Version>) -> Result<Vec<Part>> {
        let (chain, mut parts) = (self.array.chain_of(&item.chunk)?, Vec::new());
        let machine = Machine { root: &chain, target, cost: self.cost, kept: None, decoded: None };
        if let Some(shard) = plain_shard(&chain) {
            if attempt > 0 {
                self.array.open_shards.forget(key);
            } else if let Some((known, kept)) = self.array.open_shards.version(key) {
                machine.start_inner(shard, &kept.index, None, item, &mut parts)?;
                // Without anything to read the version would not be looked at.
                if !parts.is_empty() {
                    let _ = version.set(known);
                    stats::count(Field::IndexHits, 1);
                    return Ok(parts);
                }
            }
        }
        machine.start(item, &mut parts)?;
        Ok(parts)
    }
}

/// Runs the machine over an opened object.
pub(super) fn read_object(object: &Object, machine: &Machine<'_>, item: &Item, s: &mut Scratch) -> Result<()> {
    s.parts.clear();
    machine.start(item, &mut s.parts)?;
    read_parts(object, machine, false, s)
}

/// Runs the machine until no parts are left. `inside`: that spans end inside the object is known.
pub(super) fn read_parts(object: &Object, machine: &Machine<'_>, inside: bool, s: &mut Scratch) -> Result<()> {
    while let Some(part) = s.parts.pop() {
        if !machine.skip(&part, &mut s.parts)? && !machine.place_kept(&part)? {
            read_part(object, machine, &part, inside, s)?;
        }
    }
    Ok(())
}

fn read_part(object: &Object, machine: &Machine<'_>, part: &Part, inside: bool, s: &mut Scratch) -> Result<()> {
    let range = machine.want(part).map_err(|e| part.annotate(e))?;
    if let Some((data, len)) = machine.direct(part) {
        // SAFETY: the machine gives memory of the caller that no other part touches.
        let dst = unsafe { std::slice::from_raw_parts_mut(data, len) };
        stats::read(len as u64);
        return match range {
            ByteRange::Span { offset, .. } => object.read_exact_at(offset, dst).map_err(|e| part.annotate(e)),
            _ => object.read_exact_whole(dst),
        };
    }
    match range {
        ByteRange::Whole => read_whole(object, machine, part, s),
        ByteRange::Span { offset, len } => read_spans(object, machine, part, (offset, len), inside, s),
        ByteRange::Suffix { len } => {
            let have = object.len()?;
            if have < len {
                bail!(ShardIndex, "found a shard of {have} bytes, expected an index of {len}");
            }
            object.read_exact_at(have - len, grow(&mut s.io, len as usize)?)?;
            stats::read(len);
            machine.advance(part, &s.io[..len as usize], &mut s.chain, &mut s.parts)
        }
    }
}

fn read_whole(object: &Object, machine: &Machine<'_>, part: &Part, s: &mut Scratch) -> Result<()> {
    // What the buffer holds is overwritten; some stores need not zero their room for it.
    let more = |io: &Vec<u8>, room: usize| room.saturating_sub(io.len());
    if let Some(exact) = machine.exact_bytes(part) {
        // Room for one byte more: then one short read tells that there are not more.
        let more = more(&s.io, exact + 1);
        reserve(&mut s.io, more)?;
        let too_long =
            |e: Error| if e.kind() == ErrorKind::Limit { err!(Chunk, "found more than {exact} bytes, expected {exact}") } else { e };
        object.read_whole(&mut s.io, exact).map_err(too_long)?;
        stats::read(s.io.len() as u64);
        check_exact(s.io.len() as u64, exact)?;
        return machine.advance(part, &s.io, &mut s.chain, &mut s.parts);
    }
    let most = machine.most_bytes(part);
    // Room for what our own encoders write: then one call reads it all.
    let more = more(&s.io, (most / 2).min(4 << 20));
    reserve(&mut s.io, more)?;
    object.read_whole(&mut s.io, most)?;
    stats::read(s.io.len() as u64);
    let result = machine.advance(part, &s.io, &mut s.chain, &mut s.parts);
    match result {
        // A read may come back short before the end; only then is more to be had.
        Err(_) if object.len()? > s.io.len() as u64 => {
            let len = object.len()?.min(most as u64) as usize;
            object.read_exact_at(0, grow(&mut s.io, len)?)?;
            stats::read(len as u64);
            machine.advance(part, &s.io[..len], &mut s.chain, &mut s.parts)
        }
        other => other,
    }
}

/// Reads a span, together with the parts behind it whose spans are near.
fn read_spans(object: &Object, machine: &Machine<'_>, part: &Part, (start, len): (u64, u64), inside: bool, s: &mut Scratch) -> Result<()> {
    let mut group = Group::new(part, start, len)?;
    group.take_near(machine, &mut s.parts, true)?;
    let len = group.end - start;
    if !inside && len > CHECK_LENGTH && group.end > object.len()? {
        return Err(group.annotate(err!(Truncated, "found {} bytes, expected at least {}", object.len()?, group.end)));
    }
    object.read_exact_at(start, grow(&mut s.io, len as usize)?).map_err(|e| group.annotate(e))?;
    stats::read(len);
    group.advance(machine, &s.io[..len as usize], &mut s.chain, &mut s.parts)
}

/// Parts whose bytes are read at once. The first is kept, or borrowed, as it comes.
pub(super) struct Group<P: Borrow<Part> = Part> {
    first: P,
    first_len: u64,
    others: Vec<(Part, u64, u64)>,
    start: u64,
    end: u64,
}

impl<P: Borrow<Part>> Group<P> {
    pub fn new(first: P, start: u64, len: u64) -> Result<Group<P>> {
        let end = start.checked_add(len).ok_or_else(|| err!(ShardIndex, "the range {start} + {len} overflows"))?;
        Ok(Group { first, first_len: len, others: Vec::new(), start, end })
    }

    /// Takes the next parts off `parts` as long as their spans begin near the group's end. Parts that are read straight into memory
    /// are left alone where `spare_direct` says so.
    pub fn take_near(&mut self, machine: &Machine<'_>, parts: &mut Vec<Part>, spare_direct: bool) -> Result<()> {
        while let Some(next) = parts.last() {
            let ByteRange::Span { offset, len } = machine.want(next)? else { return Ok(()) };
            let near = offset >= self.end && offset - self.end <= machine.cost.gap();
            let end = offset.saturating_add(len);
            if !near || end - self.start > machine.cost.merge {
                return Ok(());
            }
            if (spare_direct && machine.direct(next).is_some()) || machine.known_index(next).is_some() {
                return Ok(());
            }
            self.end = end;
            self.others.extend(parts.pop().map(|part| (part, offset, len)));
        }
        Ok(())
    }

    /// The bytes that are read.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// An error in reading the bytes, with the place of the inner chunk that reaches furthest.
    fn annotate(&self, e: Error) -> Error {
        self.others.last().map_or(self.first.borrow(), |(part, ..)| part).annotate(e)
    }

    /// Gives every part its piece of the bytes.
    fn advance(&self, machine: &Machine<'_>, bytes: &[u8], chain: &mut ChainScratch, parts: &mut Vec<Part>) -> Result<()> {
        machine.advance(self.first.borrow(), &bytes[..self.first_len as usize], chain, parts)?;
        for (part, offset, len) in &self.others {
            let at = (offset - self.start) as usize;
            machine.advance(part, &bytes[at..at + *len as usize], chain, parts)?;
        }
        Ok(())
    }
}

/// One item of a store with latency, from its first read to its last.
struct Flight {
    job: Arc<ReadJob>,
    item: Item,
    /// Where the elements go, if not where the job says.
    picking: Option<Target>,
    key: String,
    attempt: usize,
    version: OnceLock<Version>,
    outstanding: AtomicUsize,
    error: Mutex<Option<Error>>,
}

impl Flight {
    fn begin(job: &Arc<ReadJob>, request: &Arc<Request>, item: Item, attempt: usize) -> Outcome {
        let mut key = String::new();
        job.array.chunk_key(&item.chunk, &mut key);
        let (version, picking) = (OnceLock::new(), job.picking(&item));
        let target = picking.as_ref().unwrap_or(&job.target);
        let parts = match job.first_parts(&item, target, &key, attempt, &version) {
            Ok(parts) => parts,
            Err(e) => return Outcome::Done(Err(job.annotate(&item, e, &key))),
        };
        let (job, outstanding, error) = (job.clone(), AtomicUsize::new(1), Mutex::new(None));
        let flight = Arc::new(Flight { job, item, picking, key, attempt, version, outstanding, error });
        flight.launch(request, parts);
        flight.land(request, Ok(()));
        Outcome::Parked
    }

    fn target(&self) -> &Target {
        self.picking.as_ref().unwrap_or(&self.job.target)
    }

    fn machine<'a>(&'a self, root: &'a BoundChain, kept: Option<&'a OpenShard>) -> Machine<'a> {
        Machine { root, target: self.target(), cost: self.job.cost, kept, decoded: None }
    }

    /// Starts the reads of all parts.
    fn launch(self: &Arc<Self>, request: &Arc<Request>, mut parts: Vec<Part>) {
        while let Some(part) = parts.pop() {
            if let Err(e) = self.launch_group(request, part, &mut parts) {
                self.fail(e);
            }
        }
    }

    fn launch_group(self: &Arc<Self>, request: &Arc<Request>, part: Part, parts: &mut Vec<Part>) -> Result<()> {
        let chain = self.job.array.chain_of(&self.item.chunk)?;
        let kept = self.kept();
        let machine = self.machine(&chain, kept.as_deref());
        if machine.skip(&part, parts)? {
            return Ok(());
        }
        let mut range = machine.want(&part).map_err(|e| part.annotate(e))?;
        let mut group = match range {
            ByteRange::Span { offset, len } => Group::new(part, offset, len)?,
            ByteRange::Suffix { len } => Group { first: part, first_len: len, others: Vec::new(), start: 0, end: len },
            ByteRange::Whole => Group { first: part, first_len: u64::MAX, others: Vec::new(), start: 0, end: 0 },
        };
        if let ByteRange::Span { offset, .. } = range {
            group.take_near(&machine, parts, false)?;
            range = ByteRange::Span { offset, len: group.end - offset };
        }
        self.outstanding.fetch_add(1, Ordering::AcqRel);
        let bytes = match range {
            // What is compressed is perhaps half as long.
            ByteRange::Whole => machine.exact_bytes(&group.first).unwrap_or_else(|| machine.most_bytes(&group.first) / 2) as u64,
            ByteRange::Span { len, .. } | ByteRange::Suffix { len } => len,
        };
        request.flight_started(bytes);
        let (flight, request) = (self.clone(), request.clone());
        self.job.array.store.start_read(
            &self.key,
            &[range],
            self.version.get().copied(),
            Box::new(move |result| {
                request.flight_landed();
                let again = request.clone();
                again.resume(Box::new(move |request| {
                    let used = request.clone();
                    flight.arrived(request, group, result);
                    used.bytes_used(bytes);
                }));
            }),
        );
        Ok(())
    }

    /// What is kept of the shard that is read, of the version that all reads see.
    fn kept(&self) -> Option<Arc<OpenShard>> {
        let version = *self.version.get()?;
        self.job.array.open_shards.version(&self.key).filter(|(known, _)| *known == version).map(|(_, kept)| kept)
    }

    fn arrived(self: Arc<Self>, request: &Arc<Request>, group: Group, result: Result<Option<Fetched>>) {
        let _scope = Scope::new(&self.job.array.stats);
        if let Ok(Some(fetched)) = &result {
            stats::read(fetched.parts.iter().map(|part| part.len() as u64).sum());
        }
        let named = if request.is_stopped() { Err(err!(Cancelled, "the request ended")) } else { result.map_err(|e| group.annotate(e)) };
        let outcome = named.and_then(|fetched| match fetched {
            None if self.version.get().is_some() => bail!(Conflict, "the object was erased while it was read"),
            None => self.target().fill(&self.item.axes, self.item.memory),
            Some(fetched) => self.advance(request, group, fetched),
        });
        self.land(request, outcome);
    }

    fn advance(self: &Arc<Self>, request: &Arc<Request>, mut group: Group, fetched: Fetched) -> Result<()> {
        if *self.version.get_or_init(|| fetched.version) != fetched.version {
            bail!(Conflict, "the object was replaced while it was read");
        }
        let chain = self.job.array.chain_of(&self.item.chunk)?;
        let kept = self.kept();
        let machine = self.machine(&chain, kept.as_deref());
        let bytes = fetched.parts.first().map_or(&[][..], |p| p);
        if group.first_len == u64::MAX {
            if let Some(exact) = machine.exact_bytes(&group.first) {
                check_exact(bytes.len() as u64, exact)?;
            }
            group.first_len = bytes.len() as u64;
        }
        if bytes.len() as u64 != (group.end - group.start).max(group.first_len) {
            bail!(Truncated, "found {} bytes, expected {}", bytes.len(), (group.end - group.start).max(group.first_len));
        }
        let mut parts = Vec::new();
        scratch::with(|s| {
            group.advance(&machine, bytes, &mut s.chain, &mut parts)?;
            if group.first.is_first_index() {
                stats::count(Field::IndexReads, 1);
                self.job.array.open_shards.keep_version(&self.key, fetched.version, &s.chain.index);
            }
            Ok(())
        })?;
        self.launch(request, parts);
        Ok(())
    }

    fn fail(&self, e: Error) {
        super::lock::lock(&self.error).get_or_insert(e);
    }

    /// Counts a read (or the launching) as done; the last one completes the item, or begins it again after a conflict.
    fn land(self: &Arc<Self>, request: &Arc<Request>, outcome: Result<()>) {
        if let Err(e) = outcome {
            self.fail(e);
        }
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let error = super::lock::lock(&self.error).take();
        match error {
            None => request.finish(self.job.settle()),
            Some(e) if e.kind() == ErrorKind::Conflict && self.attempt + 1 < ATTEMPTS => {
                let item = Item { chunk: self.item.chunk.clone(), axes: self.item.axes.clone(), memory: self.item.memory };
                if let Outcome::Done(result) = Flight::begin(&self.job, request, item, self.attempt + 1) {
                    request.finish(result);
                }
            }
            // Read again, in one piece: this is rare.
            Some(e) if self.job.array.lenient.may_mend(&e) => {
                let item = Item { chunk: self.item.chunk.clone(), axes: self.item.axes.clone(), memory: self.item.memory };
                request.finish(self.job.read_now(&item));
            }
            Some(e) => request.finish(Err(self.job.annotate(&self.item, e, &self.key))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::shard_open::tests::{array, view};
    use crate::grid::key::{KeyEncoding, Separator};
    use crate::limits::Dims;
    use crate::store::os::{Call, fault};

    #[test]
    fn many_chunks_are_opened_in_their_folder_and_none_where_there_is_no_folder() {
        let root = std::env::temp_dir().join(format!("ozarr-read-folder-{}", std::process::id()));
        let small = array(&root, r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
        let keys = KeyEncoding::Default(Separator::Slash);
        let array = Arc::new(BoundArray { shape: Dims::from_slice(&[1024]), keys, ..(*small).clone() });
        let all = Selection::all(&[1024]);
        let read = || {
            let mut values = vec![9; 1024];
            // SAFETY: the memory lives as long as the call.
            let opened = fault::count(Call::Open, || unsafe { crate::engine::read(&array, &all, &view(&mut values)).unwrap() });
            (values, opened)
        };
        array.store.put("a/zarr.json", &[b"{}"], crate::store::Condition::None).unwrap();
        assert_eq!(read(), (vec![0; 1024], 1));
        let mut values: Vec<i32> = (1..1025).collect();
        // SAFETY: as above.
        unsafe { crate::engine::write(&array, &all, &view(&mut values)).unwrap() };
        assert_eq!(read(), (values.clone(), 65));
        array.store.erase("a/c/63").unwrap();
        values[63 * 16..].fill(0);
        assert_eq!(read(), (values, 65));
        // What is wrong with the folder is an error, as it is for each chunk.
        std::fs::remove_dir_all(root.join("a/c")).unwrap();
        std::fs::write(root.join("a/c"), b"").unwrap();
        // SAFETY: as above.
        let e = unsafe { crate::engine::read(&array, &all, &view(&mut vec![9; 1024])) }.unwrap_err();
        assert_eq!(e.os_errno(), libc::ENOTDIR);
        std::fs::remove_dir_all(&root).unwrap();
    }
}
