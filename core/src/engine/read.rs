//! Reading: plans regions and lists, and gives their items to one of two drivers: the local one (`read_local`) or, for stores with
//! latency, the one of reads in flight (`flight`). Both run the same state machine (`decode`).

use super::admitted::{Admitted, JobMemory};
use super::coordinates::CoordinateSelection;
use super::cost::Cost;
use super::flight::ReadFlight;
use super::leaf::plain_shard;
use super::pick_list::{PickList, Repeats};
use super::plan::Plan;
use super::pool::Pool;
use super::read_job::ReadJob;
use super::read_local::read_now;
use super::request::{self, About, INLINE_BYTES, Outcome, Request, Work};
use super::stats::Scope;
use super::target::Target;
use super::{Memory, Selection};
use crate::codec::Sharded;
use crate::error::Result;
use crate::limits::chunk_bytes;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, OnceLock};

/// Reads `selection`. A single item is read without a request, which would cost more than to place an element.
pub(super) fn run(admitted: &Admitted, selection: &Selection, of: JobMemory<'_>) -> Result<()> {
    let mut job = job(admitted, selection, of)?;
    // Until this function returns: of memory in a request nobody knows how long it is there.
    let _advice = if job.array.huge_pages { job.target.ask_for_huge_pages() } else { None };
    match job.plan.items() {
        1 if !job.latency => {
            let _scope = Scope::new(&job.array.stats);
            read_now(&job, &job.plan.region_item(0))
        }
        _ => request::run(work(job)),
    }
}

/// Makes a job the work of a request.
pub(super) fn work(job: ReadJob) -> Arc<dyn Work> {
    Arc::new(Read(Arc::new(job)))
}

/// Plans the read of one region.
pub(super) fn job(admitted: &Admitted, selection: &Selection, of: JobMemory<'_>) -> Result<ReadJob> {
    let (array, memory) = (&admitted.array, of.memory);
    let mut plan = Plan::new(&array.grid, selection, &memory.strides, memory.data_type.size())?;
    if let Some(shard) = plain_shard(&array.chain).filter(|_| !array.store.capabilities().latency) {
        let bytes = plan.bytes();
        share_out(&mut plan, bytes, shard, array.pool.threads() as u64)?;
    }
    job_of(admitted, plan, of)
}

/// Plans the read of what a list picks.
pub(super) fn plan_picks(admitted: &Admitted, picks: &CoordinateSelection<'_>, memory: &Memory) -> Result<Arc<dyn Work>> {
    let array = &admitted.array;
    let list = PickList::new(&array.grid, &array.chain, &array.shape, picks, &memory.strides, Repeats::All)?;
    let mut plan = Plan::listed(list, array.shape.len(), memory.data_type.size())?;
    if let Some(shard) = plain_shard(&array.chain).filter(|_| !array.store.capabilities().latency) {
        // What is read for few elements are their inner chunks.
        let inner = chunk_bytes(&shard.inner_shape, array.data_type.size())? as u64;
        // A shard is never in memory as a whole.
        let whole = array.chain.shape().iter().fold(array.data_type.size() as u64, |bytes, &n| bytes.saturating_mul(n));
        let all = plan.items().saturating_mul(whole);
        let bytes = (plan.bytes() / memory.data_type.size().max(1) as u64).saturating_mul(inner).min(all);
        share_out(&mut plan, bytes, shard, array.pool.threads() as u64)?;
    }
    Ok(work(job_of(admitted, plan, memory.into())?))
}

fn job_of(Admitted { array }: &Admitted, plan: Plan, of: JobMemory<'_>) -> Result<ReadJob> {
    let JobMemory { memory, coding, revocable } = of;
    // `Memory::check` found the offset inside, or there are no elements.
    let base = memory.data.wrapping_add(memory.offset);
    let in_memory = (memory.data_type, memory.overflow);
    let target = Target::new(&array.chain, array.data_type, &array.fill, in_memory, base, memory.arena.clone())?;
    let target = match coding {
        Some(coding) => target.decoding(&array.chain, array.data_type, &array.fill, in_memory, coding)?,
        None => target,
    };
    Ok(ReadJob {
        target: target.behind(revocable).for_region(plan.bytes(), plan.memory_axes()),
        cost: Cost::of(&*array.store),
        // Clipped chunks are told by their length, which reads in flight do not ask for.
        latency: array.store.capabilities().latency && array.lenient.clipped.is_none(),
        array: array.clone(),
        folder: OnceLock::new(),
        has_missed: AtomicBool::new(false),
        left: AtomicU64::new(plan.items()),
        entry: None,
        then: None,
        plan,
    })
}

/// As many items for each thread keep all of them busy to the end.
pub(super) const ENOUGH: u64 = 4;

/// Where there are fewer shards than keep all threads busy to the end, each is read in several parts. `bytes` are worked on for all.
pub(super) fn share_out(plan: &mut Plan, bytes: u64, shard: &Sharded, threads: u64) -> Result<()> {
    let enough = threads * ENOUGH;
    if threads < 2 || plan.items() == 0 || plan.items() >= enough {
        return Ok(());
    }
    let pieces = enough.div_ceil(plan.items()).min(bytes / plan.items() / INLINE_BYTES);
    // Along the outermost dimension that has enough inner chunks: then each part's are neighbours in most shards.
    let dimension =
        (0..shard.grid.len()).find(|&j| shard.grid[j] >= pieces).or_else(|| (0..shard.grid.len()).max_by_key(|&j| shard.grid[j]));
    match dimension {
        Some(j) if pieces > 1 => plan.refine(shard.axes[j], shard.inner_shape[j], pieces),
        _ => Ok(()),
    }
}

/// Reads one item of a job, or starts to.
pub(super) fn run_item(job: &Arc<ReadJob>, request: &Arc<Request>, item: u64) -> Outcome {
    let Some(item) = job.plan.item(item) else { return Outcome::Done(Ok(())) };
    let _scope = Scope::new(&job.array.stats);
    if job.latency { ReadFlight::begin(job, request, item, 0) } else { Outcome::Done(read_now(job, &item)) }
}

struct Read(Arc<ReadJob>);

impl Work for Read {
    fn about(&self) -> About {
        About { items: self.0.plan.items(), bytes: self.0.plan.bytes(), finish_others: false, tuning: self.0.array.store.tuning() }
    }

    fn pool(&self) -> &Arc<Pool> {
        &self.0.array.pool
    }

    fn run(&self, request: &Arc<Request>, item: u64) -> Outcome {
        run_item(&self.0, request, item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BoundArray;
    use crate::engine::shard_open::tests::{array, view};
    use crate::grid::key::{KeyEncoding, Separator};
    use crate::limits::Dims;
    use crate::store::StorageExt;
    use crate::store::fault;
    use crate::store::os::Call;
    use crate::store::suite::TestFolder;

    #[test]
    fn many_chunks_are_opened_in_their_folder_and_none_where_there_is_no_folder() {
        let root = TestFolder::new("read-folder");
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
    }

    #[test]
    fn chunks_that_go_while_many_are_read_are_looked_for_in_what_has_their_folders_name_by_then() {
        let keys = KeyEncoding::Default(Separator::Slash);
        let all = Selection::all(&[1024]);
        // What another process replaces, or removes, while chunks are read.
        for (replaced, is_removed) in [("a/c", false), ("a/c", true), ("a", false), ("", false), ("", true)] {
            let root = TestFolder::new("read-replaced");
            let small = array(&root, r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#);
            let open = || {
                let store = Arc::new(crate::store::local::LocalStore::open(&root, true, crate::store::local::SyncMode::None).unwrap());
                Arc::new(BoundArray { store, shape: Dims::from_slice(&[1024]), keys, ..(*small).clone() })
            };
            let write = |value: i32| {
                let mut values = vec![value; 1024];
                // SAFETY: the memory lives as long as the call.
                unsafe { crate::engine::write(&open(), &all, &view(&mut values)).unwrap() };
            };
            write(1);
            let (array, mut values) = (open(), vec![9; 1024]);
            let memory = view(&mut values);
            let job = job(&Admitted::part_of(&array), &all, (&memory).into()).unwrap();
            assert!(job.folder.set(array.store.folder("a/c/")).is_ok());
            let old = root.with_extension("old");
            std::fs::rename(root.join(replaced), &old).unwrap();
            if !is_removed {
                write(2);
            }
            std::fs::remove_dir_all(&old).unwrap();
            let done = request::run(work(job));
            // As a read of few chunks has it.
            match (replaced, is_removed) {
                ("", true) => assert!(done.unwrap_err().message().contains("was removed while it was open")),
                _ => done.unwrap(),
            }
            let expected = if is_removed { 0 } else { 2 };
            assert!(replaced.is_empty() && is_removed || values.iter().all(|&value| value == expected), "{replaced} {is_removed}");
        }
    }
}
