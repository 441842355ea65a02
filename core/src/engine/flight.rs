//! The driver of the state machine for stores with latency: reads are started, the item is parked, and whoever helps the request goes on
//! with it when the bytes have come. All reads of an item must see one version of its object, else it begins again.

use super::decode::Machine;
use super::item::Item;
use super::leaf::plain_shard;
use super::lock::lock;
use super::part::Part;
use super::read_job::ReadJob;
use super::read_local::read_now;
use super::request::{Outcome, Request};
use super::scratch;
use super::shard_open::OpenShard;
use super::spans::PartGroup;
use super::stats::{self, Counter, Scope};
use super::target::Target;
use crate::codec::BoundChain;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{self, check_exact, chunk_bytes};
use crate::store::{ByteRange, Fetched, ReadDone, StorageExt, Version};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// How often an item is begun whose reads are overtaken by a writer.
const ATTEMPTS: usize = 5;

/// One item of a store with latency, from its first read to its last.
pub(super) struct ReadFlight {
    job: Arc<ReadJob>,
    item: Item,
    /// Where the elements go, or `None` if to the job's target.
    picking: Option<Target>,
    key: String,
    attempt: usize,
    /// That of the object which all reads must see; `None` where the first one has found none.
    version: OnceLock<Option<Version>>,
    outstanding: AtomicUsize,
    error: Mutex<Option<Error>>,
}

impl ReadFlight {
    /// Starts to read an item.
    pub fn begin(job: &Arc<ReadJob>, request: &Arc<Request>, item: Item, attempt: usize) -> Outcome {
        let mut key = String::new();
        if let Err(e) = job.array.chunk_key(&item.chunk, &mut key) {
            return Outcome::Done(Err(e));
        }
        let (version, picking) = (OnceLock::new(), job.picking(&item));
        let target = picking.as_ref().unwrap_or(&job.target);
        let parts = match first_parts(job, &item, target, &key, attempt, &version) {
            Ok(parts) => parts,
            Err(e) => return Outcome::Done(Err(job.annotate(&item, e, &key))),
        };
        let (job, outstanding, error) = (job.clone(), AtomicUsize::new(1), Mutex::new(None));
        let flight = Arc::new(ReadFlight { job, item, picking, key, attempt, version, outstanding, error });
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
            ByteRange::Span { offset, len } => PartGroup::new(part, offset, len)?,
            ByteRange::Suffix { len } => PartGroup { first: part, first_len: len, others: Vec::new(), start: 0, end: len },
            ByteRange::Whole { .. } => PartGroup { first: part, first_len: u64::MAX, others: Vec::new(), start: 0, end: 0 },
        };
        if let ByteRange::Span { offset, .. } = range {
            group.take_near(&machine, parts, false)?;
            range = ByteRange::Span { offset, len: group.end - offset };
        }
        let bytes = match range {
            // What is compressed is hardly longer than its elements.
            ByteRange::Whole { .. } => chunk_bytes(chain.shape(), self.job.array.data_type.size())? as u64,
            ByteRange::Span { len, .. } | ByteRange::Suffix { len } => len,
        };
        if let ByteRange::Whole { .. } = range {
            let most = machine.exact_bytes(&group.first).unwrap_or_else(|| machine.most_bytes(&group.first));
            range = ByteRange::chunk(most as u64, bytes);
        }
        self.outstanding.fetch_add(1, Ordering::AcqRel);
        let flight = self.clone();
        request.start_flight(bytes, Box::new(move |request| flight.start(request, group, range, bytes)));
        Ok(())
    }

    /// Starts one read; what it brings is taken by whoever helps the request.
    fn start(self: Arc<Self>, request: &Arc<Request>, group: PartGroup, range: ByteRange, bytes: u64) {
        let (store, stopped) = (self.job.array.store.clone(), request.is_stopped());
        let (key, version) = (self.key.clone(), self.version.get().copied().flatten());
        let request = request.clone();
        let done: ReadDone = Box::new(move |result| {
            request.flight_landed();
            let again = request.clone();
            again.resume(Box::new(move |request| {
                let _used = request.flight_bytes(bytes);
                self.arrived(request, group, result);
            }));
        });
        if stopped {
            return done(Err(err!(Cancelled, "the request ended")));
        }
        store.start_read(&key, &[range], version, done);
    }

    /// Returns what is kept of the shard that is read, of the version that all reads see.
    fn kept(&self) -> Option<Arc<OpenShard>> {
        let version = self.version.get().copied().flatten()?;
        self.job.array.open_shards.version(&self.key).filter(|(known, _)| *known == version).map(|(_, kept)| kept)
    }

    fn arrived(self: Arc<Self>, request: &Arc<Request>, group: PartGroup, result: Result<Option<Fetched>>) {
        let _scope = Scope::new(&self.job.array.stats);
        if let Ok(Some(fetched)) = &result {
            stats::read(fetched.parts.iter().map(|part| part.len() as u64).sum());
        }
        // The chunk has more bytes than it can have.
        let too_long = |e: Error| if e.kind() == ErrorKind::Limit { err!(Chunk, "{}", e.message()) } else { e };
        let annotated =
            if request.is_stopped() { Err(err!(Cancelled, "the request ended")) } else { result.map_err(|e| group.annotate(too_long(e))) };
        let outcome = annotated.and_then(|fetched| match fetched {
            None if self.version.set(None).is_ok() => self.target().fill(&self.item.axes, self.item.memory),
            None if self.version.get() == Some(&None) => Ok(()),
            None => bail!(Conflict, "the object was erased while it was read"),
            Some(fetched) => self.advance(request, group, fetched),
        });
        self.land(request, outcome);
    }

    fn advance(self: &Arc<Self>, request: &Arc<Request>, mut group: PartGroup, fetched: Fetched) -> Result<()> {
        if *self.version.get_or_init(|| Some(fetched.version)) != Some(fetched.version) {
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
            group.advance(&machine, bytes, &mut s.work.chain, &mut parts)?;
            if group.first.is_first_index() {
                stats::count(Counter::IndexReads, 1);
                self.job.array.open_shards.keep_version(&self.key, fetched.version, &s.work.chain.index);
            }
            Ok(())
        })?;
        self.launch(request, parts);
        Ok(())
    }

    fn fail(&self, e: Error) {
        lock(&self.error).get_or_insert(e);
    }

    /// Whether to begin again after that error. What the index promises and the shard does not have may be of a shorter shard that took its place,
    /// of which not every store tells before it cuts ranges: once, since it may be damage.
    fn is_overtaken(&self, e: &Error) -> bool {
        match e.kind() {
            ErrorKind::Conflict => self.attempt + 1 < ATTEMPTS,
            ErrorKind::ShardIndex => self.attempt == 0 && self.version.get().is_some(),
            _ => false,
        }
    }

    /// Counts a read (or the launching) as done; the last one completes the item, or begins it again after a conflict.
    fn land(self: &Arc<Self>, request: &Arc<Request>, outcome: Result<()>) {
        if let Err(e) = outcome {
            self.fail(e);
        }
        if self.outstanding.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let error = lock(&self.error).take();
        match error {
            None => request.finish(self.job.settle()),
            Some(e) if self.is_overtaken(&e) => {
                let item = self.item.clone();
                if let Outcome::Done(result) = ReadFlight::begin(&self.job, request, item, self.attempt + 1) {
                    request.finish(result);
                }
            }
            // Read again, in one piece: this is rare.
            Some(e) if self.job.array.lenient.may_mend(&e) => {
                request.finish(read_now(&self.job, &self.item));
            }
            Some(e) => request.finish(Err(self.job.annotate(&self.item, e, &self.key))),
        }
    }
}

/// Returns the parts to begin with. Of a shard whose index is known these are its inner chunks, and `version` gets the version that they
/// must have.
fn first_parts(
    job: &ReadJob,
    item: &Item,
    target: &Target,
    key: &str,
    attempt: usize,
    version: &OnceLock<Option<Version>>,
) -> Result<Vec<Part>> {
    let (chain, mut parts) = (job.array.chain_of(&item.chunk)?, Vec::new());
    let machine = Machine { root: &chain, target, cost: job.cost, kept: None, decoded: None };
    if let Some(shard) = plain_shard(&chain) {
        if attempt > 0 {
            job.array.open_shards.forget(key);
        } else if let Some((known, kept)) = job.array.open_shards.version(key) {
            let mut known_parts = Vec::new();
            let started = machine.start_inner(shard, &kept.index, None, item, &mut known_parts);
            let unread = started.and_then(|()| unread_parts(&Machine { kept: Some(&kept), ..machine }, known_parts));
            // Without anything to read the version would not be looked at; what is kept and damaged is read again.
            if let Some(unread) = unread.ok().filter(|unread| !unread.is_empty()) {
                let _ = version.set(Some(known));
                stats::count(Counter::IndexHits, 1);
                return Ok(unread);
            }
        }
    }
    machine.start(item, &mut parts)?;
    Ok(parts)
}

/// Returns what is to be read of parts of which some are indexes that are kept.
fn unread_parts(machine: &Machine<'_>, mut parts: Vec<Part>) -> Result<Vec<Part>> {
    let mut unread = Vec::new();
    while let Some(part) = parts.pop() {
        if !machine.skip(&part, &mut parts)? {
            limits::push(&mut unread, part)?;
        }
    }
    unread.reverse();
    Ok(unread)
}
