//! Many regions of many arrays in one request: planned together, so that a chunk that several of them read is decoded once, and one
//! that several of them write is read, changed and stored once, in the order of the entries.
//!
//! An array of one entry only shares nothing, and its items are what they would be alone. Of any other a chunk (of a
//! shard: an inner chunk) that more than one entry reads is read into a buffer of its own, and placed from there into each memory.

use super::admit::CheckedCall;
use super::admitted::{Admitted, JobMemory};
use super::array::BoundArray;
use super::buffer_guard::{self, RevocableBuffer};
use super::cut::Cut;
use super::footprint::Footprint;
use super::item::Axes;
use super::leaf::{leaf_of, plain_shard};
use super::memory::Use;
use super::pending::{self, Parts, Pending, RequestOptions};
use super::place::{self, PlaceAxis};
use super::plan::Plan;
use super::pool::Pool;
use super::read;
use super::read_job::ReadJob;
use super::request::{self, About, Outcome, Request, Work, of_entry};
use super::under_lock;
use super::write::{self, ChunkWrites};
use super::{Memory, Overflow, Selection};
use crate::codec::Sharded;
use crate::dtype::ElementType;
use crate::dtype::transfer::Transfer;
use crate::error::{Error, Result, bail};
use crate::limits::{self, Dims, Strides, c_strides, chunk_bytes, grow};
use crate::store::{Folder, Tuning};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// One region of a batch.
pub struct BatchEntry {
    /// The array.
    pub array: Arc<BoundArray>,
    /// Which of its elements.
    pub selection: Selection,
    /// Where they go to or come from.
    pub memory: Memory,
}

impl BatchEntry {
    /// Adds the number of the entry to an error. Nothing is added where the entries are parts of one region, which the caller does not know of.
    fn name(&self, number: usize, e: Error) -> Error {
        of_entry(self.number(number), e)
    }

    fn number(&self, number: usize) -> Option<usize> {
        self.selection.first_in_region().is_none().then_some(number)
    }
}

/// Reads many regions, each into its memory.
///
/// # Safety
/// As for [`super::read()`], for each entry; the memories must not overlap.
pub unsafe fn read_many(entries: &[BatchEntry]) -> Result<()> {
    let calls = check(entries, Use::Destination, CheckedCall::entry)?;
    request::run(Arc::new(plan_read(entries, &admit(entries, &calls)?, &None)?))
}

/// Writes many regions, each from its memory; where they overlap, the last entry wins.
///
/// # Safety
/// As for [`super::write()`], for each entry.
pub unsafe fn write_many(entries: &[BatchEntry]) -> Result<()> {
    let calls = check(entries, Use::Source, CheckedCall::entry)?;
    request::run(Arc::new(plan_write(entries, &admit(entries, &calls)?, &None)?))
}

/// Starts to read many regions.
///
/// # Safety
/// As for [`super::start_read`], for each entry; the memories must not overlap.
pub unsafe fn start_read_many(entries: &[BatchEntry], options: RequestOptions) -> Result<Pending> {
    let calls = check(entries, Use::Destination, CheckedCall::detached)?;
    pending::submit(bytes(entries)?, options, || {
        let revocable = Some(Arc::default());
        let work = Arc::new(plan_read(entries, &admit(entries, &calls)?, &revocable)?);
        Ok(Parts { work, footprints: footprints(entries, false)?, revocable, copied: Vec::new() })
    })
}

/// Starts to write many regions.
///
/// # Safety
/// As for [`super::start_write`], for each entry.
pub unsafe fn start_write_many(entries: &[BatchEntry], options: RequestOptions) -> Result<Pending> {
    let calls = check(entries, Use::Source, CheckedCall::detached)?;
    let copy = options.copy;
    pending::submit(bytes(entries)?, options, || {
        let (admitted, footprints) = (admit(entries, &calls)?, footprints(entries, true)?);
        if !copy {
            let revocable = Some(Arc::default());
            return Ok(Parts { work: Arc::new(plan_write(entries, &admitted, &revocable)?), footprints, revocable, copied: Vec::new() });
        }
        let (mut copied, mut own) = (Vec::new(), Vec::new());
        for (i, e) in entries.iter().enumerate() {
            let mut bytes = Vec::new();
            // SAFETY: the memory was checked, and is valid now, by the caller's promise.
            let memory = unsafe { e.memory.copy(e.selection.shape(), &mut bytes) }.map_err(|error| e.name(i, error))?;
            limits::push(&mut own, BatchEntry { array: e.array.clone(), selection: e.selection.clone(), memory })?;
            limits::push(&mut copied, bytes)?;
        }
        Ok(Parts { work: Arc::new(plan_write(&own, &admitted, &None)?), footprints, revocable: None, copied })
    })
}

/// Makes a call of an entry.
type MakeCall<'a> = fn(&'a Arc<BoundArray>, &'a Selection, &Memory, Use) -> Result<CheckedCall<'a>>;

/// Checks all entries.
fn check<'a>(entries: &'a [BatchEntry], way: Use, make: MakeCall<'a>) -> Result<Vec<CheckedCall<'a>>> {
    let checked = entries.iter().map(|e| make(&e.array, &e.selection, &e.memory, way));
    limits::try_collect(checked.enumerate().map(|(i, call)| call.map_err(|e| entries[i].name(i, e))))
}

/// Admits all entries.
fn admit(entries: &[BatchEntry], calls: &[CheckedCall<'_>]) -> Result<Vec<Admitted>> {
    limits::try_collect(calls.iter().enumerate().map(|(i, call)| call.admit().map_err(|e| entries[i].name(i, e))))
}

fn bytes(entries: &[BatchEntry]) -> Result<u64> {
    entries.iter().try_fold(0u64, |sum, e| Ok(sum.saturating_add(e.memory.bytes(e.selection.shape())?)))
}

fn footprints(entries: &[BatchEntry], writes: bool) -> Result<Vec<Footprint>> {
    limits::collect(entries.iter().filter_map(|e| e.array.footprint(&e.selection, writes)))
}

/// Items that belong together, numbered one after the other.
enum BatchUnit {
    /// Some of one entry's items.
    Read(Arc<ReadJob>, u64, u64),
    /// A box of elements that is read once.
    ReadShared(Arc<SharedBox>),
    Write(Arc<write::WriteJob>, u64, u64),
    /// The items of one chunk, in the order of their entries.
    WriteShared(ChunkWrites),
}

struct Batch {
    units: Vec<BatchUnit>,
    /// The number of the first item behind each unit.
    ends: Vec<u64>,
    bytes: u64,
    pool: Arc<Pool>,
    tuning: Tuning,
    writes: bool,
}

impl Batch {
    fn new(entries: &[BatchEntry], writes: bool) -> Result<Batch> {
        // Where one of the arrays must stay in the calling thread, all do.
        let pool = entries.iter().map(|e| &e.array.pool).min_by_key(|pool| pool.threads()).cloned().unwrap_or_else(|| Pool::new(1));
        let tunings = entries.iter().map(|e| e.array.store.tuning());
        let tuning = tunings.reduce(|a, b| Tuning { requests: a.requests.min(b.requests), bytes: a.bytes.min(b.bytes), ..a });
        let (units, ends) = (Vec::new(), Vec::new());
        Ok(Batch { units, ends, bytes: bytes(entries)?, pool, tuning: tuning.unwrap_or_default(), writes })
    }

    fn push(&mut self, unit: BatchUnit) -> Result<()> {
        let items = match &unit {
            BatchUnit::Read(_, _, count) | BatchUnit::Write(_, _, count) => *count,
            BatchUnit::ReadShared(_) | BatchUnit::WriteShared(_) => 1,
        };
        if items > 0 {
            let end = self.ends.last().copied().unwrap_or(0) + items;
            limits::push(&mut self.ends, end)?;
            limits::push(&mut self.units, unit)?;
        }
        Ok(())
    }
}

impl Work for Batch {
    fn about(&self) -> About {
        About { items: self.ends.last().copied().unwrap_or(0), bytes: self.bytes, finish_others: self.writes, tuning: self.tuning }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    fn run(&self, request: &Arc<Request>, number: u64) -> Outcome {
        let at = self.ends.partition_point(|&end| end <= number);
        let offset = number - at.checked_sub(1).map_or(0, |before| self.ends[before]);
        match &self.units[at] {
            BatchUnit::Read(job, first, _) => read::run_item(job, request, first + offset),
            BatchUnit::Write(job, first, _) => under_lock::run(&ChunkWrites::One(job.clone(), first + offset), request, None),
            BatchUnit::WriteShared(writes) => under_lock::run(writes, request, None),
            BatchUnit::ReadShared(shared) => match shared.job() {
                Ok(job) => read::run_item(&Arc::new(job), request, 0),
                Err(e) => Outcome::Done(Err(of_entry(shared.members.first().and_then(|m| m.entry), e))),
            },
        }
    }
}

/// Returns the entries of each array, which `name` tells apart.
fn by_array<'e, N: Eq + Hash>(entries: &'e [BatchEntry], name: impl Fn(&'e BoundArray) -> N) -> Result<Vec<Vec<usize>>> {
    let (mut groups, mut known): (Vec<Vec<usize>>, HashMap<N, usize>) = (Vec::new(), HashMap::new());
    for (i, e) in entries.iter().enumerate() {
        limits::reserve_one(&mut known)?;
        let group = *known.entry(name(&e.array)).or_insert(groups.len());
        if group == groups.len() {
            limits::push(&mut groups, Vec::new())?;
        }
        limits::push(&mut groups[group], i)?;
    }
    Ok(groups)
}

/// Returns the items of several plans in each chunk that they touch, in the order of the plans; and how often each chunk is touched.
fn by_chunk<'a>(plans: impl Iterator<Item = &'a Plan>) -> Result<HashMap<Dims, Vec<(usize, u64)>>> {
    let mut chunks: HashMap<Dims, Vec<(usize, u64)>> = HashMap::new();
    for (i, plan) in plans.enumerate() {
        for n in 0..plan.items() {
            limits::reserve_one(&mut chunks)?;
            limits::push(chunks.entry(plan.region_item(n).chunk).or_default(), (i, n))?;
        }
    }
    Ok(chunks)
}

/// Pushes the runs of items that are not `taken`.
fn push_rest(batch: &mut Batch, items: u64, taken: &dyn Fn(u64) -> bool, unit: &dyn Fn(u64, u64) -> BatchUnit) -> Result<()> {
    let mut first = 0;
    for n in 0..=items {
        if n == items || taken(n) {
            batch.push(unit(first, n - first))?;
            first = n + 1;
        }
    }
    Ok(())
}

fn plan_write(entries: &[BatchEntry], admitted: &[Admitted], revocable: &Option<Arc<RevocableBuffer>>) -> Result<Batch> {
    let job = |i: usize| {
        let e = &entries[i];
        let job = write::job(&admitted[i], &e.selection, JobMemory::behind(&e.memory, revocable));
        job.map(|job| Arc::new(job.of_entry(e.number(i)))).map_err(|error| e.name(i, error))
    };
    let mut batch = Batch::new(entries, true)?;
    // What handles of several stores write to one place has an order, too.
    let one_store = entries.windows(2).all(|pair| Arc::ptr_eq(&pair[0].array.store, &pair[1].array.store));
    for group in if one_store { by_array(entries, BoundArray::keys_begin) } else { by_array(entries, BoundArray::place) }? {
        let jobs = limits::try_collect(group.iter().map(|&i| job(i)))?;
        if let [job] = &jobs[..] {
            batch.push(BatchUnit::Write(job.clone(), 0, job.plan.items()))?;
            continue;
        }
        let chunks = by_chunk(jobs.iter().map(|job| &job.plan))?;
        for (k, job) in jobs.iter().enumerate() {
            let shared = |n: u64| chunks.get(&job.plan.region_item(n).chunk).is_some_and(|all| all.len() > 1);
            push_rest(&mut batch, job.plan.items(), &shared, &|first, count| BatchUnit::Write(job.clone(), first, count))?;
            for n in (0..job.plan.items()).filter(|&n| shared(n)) {
                // The first of its items has them all.
                if let Some(all) = chunks.get(&job.plan.region_item(n).chunk).filter(|all| all.first() == Some(&(k, n))) {
                    let writes = limits::collect(all.iter().map(|&(k, n)| (jobs[k].clone(), n)))?;
                    batch.push(BatchUnit::WriteShared(ChunkWrites::Many(limits::shared(writes)?)))?;
                }
            }
        }
    }
    Ok(batch)
}

fn plan_read(entries: &[BatchEntry], admitted: &[Admitted], revocable: &Option<Arc<RevocableBuffer>>) -> Result<Batch> {
    let job = |i: usize| {
        let e = &entries[i];
        let job = read::job(&admitted[i], &e.selection, JobMemory::behind(&e.memory, revocable));
        job.map(|job| Arc::new(job.of_entry(e.number(i)))).map_err(|error| e.name(i, error))
    };
    let mut batch = Batch::new(entries, false)?;
    for group in by_array(entries, BoundArray::keys_begin)? {
        let jobs = limits::try_collect(group.iter().map(|&i| job(i)))?;
        // Nothing is decoded twice where nothing is decoded.
        let raw = |job: &ReadJob| leaf_of(&job.array.chain).is_raw() && plain_shard(&job.array.chain).is_none();
        // Nor is a box of one handle's array for handles that know another document of it, or another length.
        let alike = jobs.iter().all(|job| job.array.is_same_as(&jobs[0].array));
        if jobs.len() < 2 || !alike || raw(&jobs[0]) {
            jobs.iter().try_for_each(|job| batch.push(BatchUnit::Read(job.clone(), 0, job.plan.items())))?;
            continue;
        }
        plan_shared(&mut batch, entries, &group, &jobs, revocable)?;
    }
    Ok(batch)
}

/// Plans the reads of several entries in one array.
fn plan_shared(
    batch: &mut Batch,
    entries: &[BatchEntry],
    group: &[usize],
    jobs: &[Arc<ReadJob>],
    revocable: &Option<Arc<RevocableBuffer>>,
) -> Result<()> {
    let mut chunks = by_chunk(jobs.iter().map(|job| &job.plan))?;
    chunks.retain(|_, all| all.len() > 1);
    let mut pieces: HashMap<Dims, Vec<SharedBox>> = HashMap::new();
    for (chunk, all) in chunks {
        let boxes = SharedBoxes { jobs, all: &all, entries, group, revocable };
        let shared = boxes.cut(&chunk)?;
        // Several entries may touch one shard without having an inner chunk in common: then nothing is shared.
        if shared.iter().any(|s| s.members.len() > 1) {
            limits::reserve_one(&mut pieces)?;
            pieces.insert(chunk, shared);
        }
    }
    for job in jobs {
        let has_shared = Cell::new(false);
        let shared = |n: u64| {
            let is_shared = pieces.contains_key(&job.plan.region_item(n).chunk);
            has_shared.set(has_shared.get() || is_shared);
            is_shared
        };
        push_rest(batch, job.plan.items(), &shared, &|first, count| BatchUnit::Read(job.clone(), first, count))?;
        if has_shared.get() {
            // Not all of its items are read for it, so that none is the last one, after which the folder would be looked at again.
            let _ = job.folder.set(Folder::Unknown);
        }
    }
    pieces.into_values().flatten().try_for_each(|shared| batch.push(BatchUnit::ReadShared(Arc::new(shared))))
}

/// What several entries read of one chunk.
struct SharedBoxes<'a> {
    jobs: &'a [Arc<ReadJob>],
    /// Job and item.
    all: &'a [(usize, u64)],
    entries: &'a [BatchEntry],
    group: &'a [usize],
    revocable: &'a Option<Arc<RevocableBuffer>>,
}

impl SharedBoxes<'_> {
    /// Returns the boxes to be read once, each with the entries that want elements of it: the whole chunk, or of a shard its inner chunks.
    fn cut(&self, chunk: &Dims) -> Result<Vec<SharedBox>> {
        let array = &self.jobs[0].array;
        let chain = array.chain_of(chunk)?;
        let origin: Dims = (0..chunk.len()).map(|d| array.grid.origin(d, chunk[d])).collect();
        let Some(shard) = plain_shard(&chain) else {
            let mut whole = SharedBox::new(array, &origin, &array.grid.shape_of(chunk));
            for &(k, n) in self.all {
                let item = self.jobs[k].plan.region_item(n);
                limits::push(&mut whole.members, self.member(k, n, item.axes, item.memory)?)?;
            }
            return Ok(vec![whole]);
        };
        let mut found: HashMap<usize, SharedBox> = HashMap::new();
        for &(k, n) in self.all {
            let item = self.jobs[k].plan.region_item(n);
            let cut = Cut::new(shard, &item.axes, None)?;
            cut.each(0..cut.len(), shard, &item.axes, item.memory, &mut |inner| {
                let (at, extent) = inner_box(shard, inner.number, chunk.len());
                let mut axes = item.axes.clone();
                for (j, &d) in shard.axes.iter().enumerate() {
                    axes[d] = inner.axes[j];
                }
                let low: Dims = origin.iter().zip(&at).map(|(o, a)| o + a).collect();
                let member = self.member(k, n, axes, inner.memory)?;
                limits::reserve_one(&mut found)?;
                limits::push(&mut found.entry(inner.number).or_insert_with(|| SharedBox::new(array, &low, &extent)).members, member)
            })?;
        }
        limits::collect(found.into_values())
    }

    /// Makes the member of a box for one entry; `axes` count from the first element of the box.
    fn member(&self, k: usize, number: u64, axes: Axes, at: i64) -> Result<BoxMember> {
        let entry = &self.entries[self.group[k]];
        let memory = &entry.memory;
        let (from, to) = (ElementType::native(self.jobs[k].array.data_type), ElementType::native(memory.data_type));
        let transfer = Transfer::new(from, to)?.with_overflow(memory.overflow);
        Ok(BoxMember {
            job: self.jobs[k].clone(),
            number,
            axes,
            memory: at,
            transfer,
            entry: entry.number(self.group[k]),
            revocable: self.revocable.clone(),
        })
    }
}

/// Returns the first element of an inner chunk in its shard, and its extents.
fn inner_box(shard: &Sharded, number: usize, rank: usize) -> (Dims, Dims) {
    let (mut at, mut extent, mut rest) = (Dims::from_elem(0, rank), Dims::from_elem(1, rank), number as u64);
    for (j, &d) in shard.axes.iter().enumerate().rev() {
        (at[d], extent[d]) = (rest % shard.grid[j] * shard.inner_shape[j], shard.inner_shape[j]);
        rest /= shard.grid[j];
    }
    (at, extent)
}

/// A box of one chunk that is read once, for several.
struct SharedBox {
    array: Arc<BoundArray>,
    low: Dims,
    shape: Dims,
    members: Vec<BoxMember>,
}

/// An entry that wants elements of a box.
struct BoxMember {
    job: Arc<ReadJob>,
    number: u64,
    /// The elements, counted from the box's first.
    axes: Axes,
    /// The distance of the first one in memory.
    memory: i64,
    transfer: Transfer,
    /// Its number, for messages.
    entry: Option<usize>,
    revocable: Option<Arc<RevocableBuffer>>,
}

impl SharedBox {
    /// Takes the box as far as it is inside the array.
    fn new(array: &Arc<BoundArray>, low: &Dims, extent: &Dims) -> SharedBox {
        let inside = |d: usize| extent[d].min(array.shape[d].saturating_sub(low[d]));
        SharedBox { array: array.clone(), low: low.clone(), shape: (0..low.len()).map(inside).collect(), members: Vec::new() }
    }

    /// Returns the job that reads the box into a buffer, and then places the elements from there.
    fn job(self: &Arc<Self>) -> Result<ReadJob> {
        let array = &self.array;
        let mut buffer = Vec::new();
        let (size, strides) = (array.data_type.size(), c_strides(&self.shape, array.data_type.size()));
        let bytes = chunk_bytes(&self.shape, size)?;
        let data = grow(&mut buffer, bytes)?.as_mut_ptr();
        let signed = |dims: &Dims| dims.iter().map(|&n| n as i64).collect::<Strides>();
        let selection = Selection::new(&array.shape, &signed(&self.low), &signed(&self.shape), None)?;
        let (data_type, overflow) = (array.data_type, Overflow::Error);
        let memory = Memory { data, size: bytes, offset: 0, strides: strides.clone(), data_type, overflow, arena: None };
        let mut job = read::job(&Admitted::part_of(array), &selection, (&memory).into())?;
        if job.plan.items() != 1 {
            bail!(Internal, "a part of a chunk became {} items", job.plan.items());
        }
        let shared = self.clone();
        if let Some(first) = self.members.first() {
            job = job.of_entry(first.entry);
        }
        job.then = Some(Box::new(move || shared.members.iter().try_for_each(|m| m.place(&buffer, &strides))));
        Ok(job)
    }
}

impl BoxMember {
    fn place(&self, buffer: &[u8], strides: &[i64]) -> Result<()> {
        let start: i64 = self.axes.iter().zip(strides).map(|(a, &s)| a.start as i64 * s).sum();
        let axes = self.axes.iter().zip(strides).map(|(a, &s)| PlaceAxis { count: a.count, src: s * a.step, dst: a.memory });
        let base = self.job.target.base;
        let _inside = buffer_guard::enter(&self.revocable)?;
        // SAFETY: the axes stay within the box, which the buffer holds, and the plan within the checked memory.
        let placed =
            unsafe { place::place(buffer.as_ptr().offset(start as isize), base.offset(self.memory as isize), axes, &self.transfer) };
        placed.map_err(|m| {
            let memory = m.dst as isize - base as isize;
            self.annotate(m.at(memory))
        })
    }

    fn annotate(&self, e: Error) -> Error {
        let item = self.job.plan.region_item(self.number);
        of_entry(self.entry, self.job.plan.name_element(&item, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::engine::Home;
    use crate::engine::shard_open::tests::{array, view};
    use crate::error::ErrorKind;
    use crate::store::StorageExt;
    use crate::store::memory::MemoryStore;
    use crate::store::suite::TestFolder;

    const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

    fn sharded(inner: u64, codecs: &str, more: &str) -> String {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{inner}],"codecs":[{codecs}],"index_codecs":[{LITTLE}]{more}}}}}"#
        )
    }

    /// Makes an array in memory, of chunks of 16.
    fn array_of(codecs: &str, length: u64, store_fill_chunks: bool) -> Arc<BoundArray> {
        let (root, store) = (TestFolder::new("batch"), Arc::new(MemoryStore::new()));
        let made = (*array(&root, &format!("[{codecs}]"))).clone();
        let (home, shape) = (Home::new(store.clone()), Dims::from_slice(&[length]));
        Arc::new(BoundArray { store, home, shape, store_fill_chunks, ..made })
    }

    /// An entry of the table: its first element, how many there are, the step, and the first value; the next ones are larger by one. `0` stays 0.
    type Entry = (i64, usize, i64, i32);

    /// Writes the entries at once, or each by a call of its own.
    fn write(array: &Arc<BoundArray>, entries: &[Entry], at_once: bool) -> Result<()> {
        let mut values: Vec<Vec<i32>> =
            entries.iter().map(|&(_, n, _, first)| (0..n as i32).map(|i| if first == 0 { 0 } else { first + i }).collect()).collect();
        let batch: Vec<BatchEntry> = (entries.iter().zip(&mut values))
            .map(|(&(start, n, step, _), values)| BatchEntry {
                array: array.clone(),
                selection: Selection::new(&array.shape, &[start], &[n as i64], Some(&[step])).unwrap(),
                memory: view(values),
            })
            .collect();
        // SAFETY: the memory lives as long as the calls.
        unsafe { if at_once { write_many(&batch) } else { batch.chunks(1).try_for_each(|one| write_many(one)) } }
    }

    /// The bytes of all chunks, by key.
    fn stored(array: &BoundArray) -> Vec<(String, Vec<u8>)> {
        let mut keys = array.store.list_dir("a/").unwrap().keys;
        keys.sort();
        keys.into_iter().map(|key| (key.clone(), array.store.read_all(&format!("a/{key}"), 1 << 20).unwrap().unwrap())).collect()
    }

    #[test]
    fn entries_in_one_shard_store_it_once_and_as_one_after_the_other() {
        let checked = sharded(4, &format!(r#"{LITTLE},{{"name":"crc32c"}}"#), r#","index_location":"start""#);
        let nested = sharded(8, &sharded(2, LITTLE, ""), "");
        let layouts = [LITTLE.to_string(), sharded(4, LITTLE, ""), checked, nested, sharded(16, LITTLE, "")];
        let cases: &[(&str, &[Entry])] = &[
            ("whole inner chunks", &[(0, 4, 1, 1), (8, 4, 1, 50)]),
            ("parts of one inner chunk", &[(0, 1, 1, 1), (2, 1, 1, 50)]),
            ("one element twice", &[(5, 1, 1, 1), (5, 1, 1, 50)]),
            ("overlapping boxes", &[(0, 8, 1, 1), (4, 8, 1, 50), (5, 1, 1, 90)]),
            ("a part, then all of it", &[(1, 2, 1, 1), (0, 4, 1, 50)]),
            ("all of it, then a part", &[(0, 4, 1, 1), (1, 2, 1, 50)]),
            ("the whole shard, then a part", &[(0, 16, 1, 1), (3, 2, 1, 50)]),
            ("a part, then the whole shard", &[(3, 2, 1, 50), (0, 16, 1, 1)]),
            ("the whole shard together", &[(0, 10, 1, 1), (10, 6, 1, 50)]),
            ("steps", &[(0, 8, 2, 1), (1, 5, 3, 50)]),
            ("steps downwards", &[(15, 8, -2, 1), (7, 8, -1, 50)]),
            ("several shards", &[(0, 40, 1, 1), (10, 35, 1, 50), (57, 1, 1, 90)]),
            ("the end of the array", &[(50, 8, 1, 1), (57, 1, 1, 50)]),
            ("a chunk at the end", &[(56, 2, 1, 1), (48, 3, 1, 50)]),
            ("the fill value", &[(0, 4, 1, 0), (4, 4, 1, 0)]),
            ("the fill value everywhere", &[(0, 9, 1, 0), (9, 7, 1, 0)]),
            ("the fill value over others", &[(0, 3, 1, 1), (0, 3, 1, 0), (9, 1, 1, 50), (9, 1, 1, 0)]),
            ("others over the fill value", &[(0, 16, 1, 0), (9, 1, 1, 50)]),
        ];
        let olds: &[(&str, &[Entry])] = &[
            ("no shard", &[]),
            ("all", &[(0, 58, 1, 100)]),
            ("one inner chunk", &[(4, 4, 1, 100)]),
            ("two parts", &[(1, 1, 1, 7), (14, 40, 1, 9)]),
        ];
        for (codecs, store_fill) in layouts.iter().flat_map(|codecs| [(codecs, false), (codecs, true)]) {
            for ((old, before), (case, entries)) in olds.iter().flat_map(|old| cases.iter().map(move |case| (old, case))) {
                let name = format!("{codecs}, {store_fill}, {old}, {case}");
                let made = |at_once: bool| {
                    let array = array_of(codecs, 58, store_fill);
                    write(&array, before, false).unwrap();
                    let changes = || array.stats.snapshot().writes + array.stats.snapshot().erased;
                    let earlier = changes();
                    write(&array, entries, at_once).unwrap_or_else(|e| panic!("{name}: {e}"));
                    (stored(&array), changes() - earlier)
                };
                let ((turns, _), (once, changes)) = (made(false), made(true));
                assert!(once == turns, "{name}: {once:?}, and one after the other {turns:?}");
                let mut chunks: Vec<i64> =
                    (entries.iter()).flat_map(|&(start, n, step, _)| (0..n as i64).map(move |i| (start + i * step) / 16)).collect();
                chunks.sort();
                chunks.dedup();
                assert!(changes <= chunks.len() as u64, "{name}: {changes} changes of {} chunks", chunks.len());
            }
        }
    }

    #[test]
    fn an_entry_that_fails_is_named_and_leaves_the_chunk_as_it_was() {
        let cast = r#"{"name":"cast_value","configuration":{"data_type":"uint8"}},{"name":"bytes"}"#;
        let nested = |codecs| sharded(8, &sharded(4, codecs, ""), "");
        for (codecs, entries, want) in [
            (LITTLE.into(), &[(0, 2, 1.0), (1, 2, 1e20), (3, 1, 1.0)][..], ": entry 1: element [0] is 1e20"),
            (sharded(4, LITTLE, ""), &[(0, 2, 1.0), (1, 2, 1e20), (3, 1, 1.0)], ": entry 1: element [0] is 1e20"),
            (sharded(4, LITTLE, ""), &[(0, 4, 1.0), (4, 4, 1e20)], ": entry 1: element [0] is 1e20"),
            (nested(LITTLE), &[(0, 1, 1.0), (9, 1, 1.0), (7, 2, 1e20)], ": entry 2: element [0] is 1e20"),
            (sharded(4, cast, ""), &[(0, 4, 1.0), (4, 4, 300.0)], ": entry 1: cast_value cannot"),
            (sharded(4, cast, ""), &[(0, 2, 1.0), (1, 2, 300.0), (3, 1, 1.0)], ": entry 1: cast_value cannot"),
            (sharded(4, cast, ""), &[(8, 1, 1.0), (0, 2, 1.0), (1, 2, 300.0)], ": entry 2: cast_value cannot"),
            (nested(cast), &[(0, 2, 1.0), (1, 2, 300.0), (9, 3, 1.0)], ": entry 1: cast_value cannot"),
            (nested(cast), &[(0, 2, 300.0), (1, 2, 1.0)], ": entry 0: cast_value cannot"),
        ] {
            let array = array_of(&codecs, 64, false);
            write(&array, &[(0, 64, 1, 9)], true).unwrap();
            let before = stored(&array);
            let mut values: Vec<Vec<f64>> = entries.iter().map(|&(_, n, value)| vec![value; n]).collect();
            let parts = entries.iter().zip(&mut values).map(|(&(start, n, _), values)| BatchEntry {
                array: array.clone(),
                selection: Selection::new(&array.shape, &[start], &[n as i64], None).unwrap(),
                memory: Memory::of(values, &[n as u64], DataType::Float64),
            });
            // SAFETY: the memory lives as long as the call.
            let e = unsafe { write_many(&parts.collect::<Vec<_>>()).unwrap_err() };
            let named = e.to_string().matches("entry ").count();
            assert!(e.kind() == ErrorKind::Range && named == 1 && e.to_string().contains(want), "{codecs} {entries:?}: {e}");
            assert!(stored(&array) == before, "{codecs} {entries:?}");
        }
    }
}
