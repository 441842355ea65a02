//! The operations on a service, each with its tries: what the store's methods are made of.

use super::build::{self, Client};
use super::threads::{Threads, threads};
use super::tries::{Fault, Patience, Tries};
use super::version::{strong_tag_of, version_of};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::reserve;
use crate::store::remote::{Remote, RemoteOptions, Service};
use crate::store::{ByteRange, Condition, Fetched, Listing, Version};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{Attribute, Attributes, GetOptions, GetRange, ObjectStore, PutMode, PutOptions, UpdateVersion};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{OnceCell, Semaphore, SemaphorePermit};

/// Where a conditional put leaves its mark, so that one whose answer was lost is known again.
const MARK: &str = "ozarrput";
/// Memory for a body is taken in steps, so that a false length costs nothing.
const FIRST_ROOM: u64 = 64 << 20;
/// What is added to a refusal that may stand for "missing".
const FORBIDDEN: &str =
    "; where listing is not permitted S3 says so of missing keys, too: the option \"cloud.forbidden\" \"missing\" takes them for missing";

/// A service that is reached now. A child of `fork` has another.
pub(super) struct Live {
    pub threads: Arc<Threads>,
    remote: Remote,
    options: RemoteOptions,
    client: Mutex<Arc<Client>>,
    requests: Arc<AtomicU64>,
    in_flight: Semaphore,
    conditional: OnceCell<bool>,
    /// The server does not serve the ends of objects.
    no_suffix: AtomicBool,
    /// The server has answered once.
    answered: Arc<AtomicBool>,
    /// Requests that were made again.
    pub(super) retries: AtomicU64,
}

/// Which bytes to get. A span may reach beyond the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    Nothing,
    Whole,
    Span(u64, u64),
    Suffix(u64),
}

/// What was got.
pub(super) struct Got {
    pub bytes: Vec<u8>,
    /// Of the object.
    pub size: u64,
    pub version: Version,
    /// The mark of the put that stored it.
    mark: Option<String>,
    /// As the service's own conditional put wants it.
    update: UpdateVersion,
}

impl Live {
    pub(super) fn start(remote: &Remote, options: &RemoteOptions, requests: &Arc<AtomicU64>) -> Result<Arc<Live>> {
        let threads = threads()?;
        let client = build::client(remote, options, None, requests)?;
        let conditional = client.conditional.map(|known| OnceCell::new_with(Some(known))).unwrap_or_default();
        Ok(Arc::new(Live {
            threads,
            remote: remote.clone(),
            options: options.clone(),
            client: Mutex::new(Arc::new(client)),
            requests: requests.clone(),
            in_flight: Semaphore::new(options.requests),
            conditional,
            no_suffix: AtomicBool::new(remote.service == Service::Azure),
            answered: Arc::default(),
            retries: AtomicU64::new(0),
        }))
    }

    fn client(&self) -> Arc<Client> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn store(&self) -> Arc<dyn ObjectStore> {
        self.client().store.clone()
    }

    pub(super) fn parts(&self) -> Option<Arc<dyn MultipartStore>> {
        self.client().parts.clone()
    }

    /// Waits until one more request may be in flight.
    pub(super) async fn permit(&self) -> Result<SemaphorePermit<'_>> {
        self.in_flight.acquire().await.map_err(|_| err!(Internal, "a closed semaphore"))
    }

    pub(super) fn tries(&self, reading: bool) -> Tries {
        let hint = if reading && self.remote.service == Service::S3 { FORBIDDEN } else { "" };
        let (deadline, retries) = (self.options.deadline, self.options.retries);
        let (secrets, answered) = (Arc::new(self.client().secrets.clone()), self.answered.clone());
        Tries::new(&Patience { deadline, retries, secrets, hint, answered })
    }

    /// Goes on with the next try, or says why not. A bucket in another region than was guessed is looked for there.
    pub(super) async fn again(&self, tries: &mut Tries, fault: Fault) -> Result<()> {
        let sight = tries.sight();
        if let (true, Some(region)) = (matches!(sight.status, 301 | 307 | 400), &sight.region) {
            let client = self.client();
            if client.region_is_guessed {
                let there = build::client(&self.remote, &self.options, Some(region), &self.requests)?;
                *self.client.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(there);
                return Ok(());
            }
            // Another operation has found it meanwhile.
            if self.options.named("region").is_none() && !client.region_is_guessed && tries.once() {
                return Ok(());
            }
        }
        tries.again(fault).await?;
        self.retries.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Gets bytes of an object, or `None` if there is none. If the connection breaks off in the body, the download goes on at the next byte, as long as the object
    /// stays the same.
    pub(super) async fn get(&self, path: &Path, want: Want, expected: Option<Version>) -> Result<Option<Got>> {
        let _permit = self.permit().await?;
        self.get_unlimited(path, want, expected).await
    }

    async fn get_unlimited(&self, path: &Path, want: Want, expected: Option<Version>) -> Result<Option<Got>> {
        let mut tries = self.tries(true);
        let mut body: Option<Body> = None;
        loop {
            let (range, if_match) = match &body {
                Some(body) => (Some(GetRange::Bounded(body.start + body.bytes.len() as u64..body.end)), strong_tag_of(body.version)),
                None => (range_of(want), expected.and_then(strong_tag_of)),
            };
            let options = GetOptions { range: range.clone(), if_match, head: want == Want::Nothing, ..GetOptions::default() };
            let store = self.store();
            let got = match tries.run(store.get_opts(path, options)).await {
                Ok(got) => got,
                Err(fault) => match self.missing(&mut tries, fault, &mut body).await? {
                    true => return Ok(None),
                    false => continue,
                },
            };
            let version = version_of(&got.meta);
            if expected.is_some_and(|expected| expected != version) {
                bail!(Conflict, "the object was replaced while it was read");
            }
            let (start, end) = (got.range.start, got.range.end);
            match &body {
                Some(known) if known.version == version && start == known.start + known.bytes.len() as u64 && end == known.end => {}
                Some(_) if tries.once() => {
                    body = None;
                    continue;
                }
                Some(_) => bail!(Conflict, "the object was replaced while it was read"),
                None => {
                    check_range(want, start, end, got.meta.size)?;
                    body = Some(Body { bytes: Vec::new(), start, end, version });
                }
            }
            let mark = got.attributes.get(&Attribute::Metadata(MARK.into())).map(|value| value.to_string());
            let update = UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() };
            let size = got.meta.size;
            let Some(reading) = &mut body else { bail!(Internal, "a body that is not read") };
            if want != Want::Nothing {
                let left = reading.end - reading.start - reading.bytes.len() as u64;
                tries.allow(left);
                if let Err(fault) = tries.run(collect(got, reading)).await {
                    // Without a version the pieces could be of two objects.
                    if strong_tag_of(version).is_none() {
                        body = None;
                    }
                    self.again(&mut tries, fault).await?;
                    continue;
                }
            }
            let bytes = std::mem::take(&mut reading.bytes);
            return Ok(Some(Got { bytes, size, version, mark, update }));
        }
    }

    /// Whether a failure says that there is no object; otherwise waits for the next try.
    async fn missing(&self, tries: &mut Tries, fault: Fault, body: &mut Option<Body>) -> Result<bool> {
        let sight = tries.sight();
        match (sight.status, sight.code.as_str()) {
            (404, "NoSuchBucket" | "ContainerNotFound" | "ResourceNotFound" | "AccountNotFound") => {
                bail!(NotFound, "there is no {}: the server answered 404 ({})", self.remote.at("").describe(), sight.code)
            }
            (404, _) => return Ok(true),
            (403, _) if self.options.forbidden_is_missing => return Ok(true),
            // What was replaced in the middle is begun anew.
            (412 | 416, _) if body.is_some() && tries.once() => {
                *body = None;
                return Ok(false);
            }
            (412, _) => bail!(Conflict, "the object was replaced while it was read"),
            _ => {}
        }
        self.again(tries, fault).await.map(|()| false)
    }

    /// Ranges of an object, all of one version.
    pub(super) async fn fetch(&self, path: &Path, ranges: &[ByteRange], if_match: Option<Version>) -> Result<Option<Fetched>> {
        let first = match ranges.first() {
            Some(range) => self.fetch_one(path, *range, if_match).await?,
            None => self.get(path, Want::Nothing, if_match).await?.map(|got| (Vec::new(), got.version)),
        };
        let Some((part, version)) = first else { return Ok(None) };
        let mut parts = Vec::with_capacity(ranges.len());
        if !ranges.is_empty() {
            parts.push(part);
        }
        let others = ranges.iter().skip(1).map(|range| self.fetch_one(path, *range, Some(version)));
        for other in futures_util::future::join_all(others).await {
            match other? {
                Some((part, _)) => parts.push(part),
                None => bail!(Conflict, "the object was erased while it was read"),
            }
        }
        Ok(Some(Fetched { parts, version }))
    }

    async fn fetch_one(&self, path: &Path, range: ByteRange, if_match: Option<Version>) -> Result<Option<(Vec<u8>, Version)>> {
        let (want, len) = match range {
            ByteRange::Whole => (Want::Whole, None),
            ByteRange::Span { offset, len: 0 } => (Want::Nothing, Some(offset)),
            ByteRange::Suffix { len: 0 } => (Want::Nothing, Some(0)),
            ByteRange::Span { offset, len } => {
                let Some(_) = offset.checked_add(len) else { bail!(Truncated, "expected at least {offset} + {len} bytes") };
                (Want::Span(offset, len), Some(len))
            }
            ByteRange::Suffix { len } => return self.suffix(path, len, if_match).await,
        };
        let Some(got) = self.get(path, want, if_match).await? else { return Ok(None) };
        match (want, len) {
            (Want::Nothing, Some(offset)) if got.size < offset => bail!(Truncated, "found {} bytes, expected at least {offset}", got.size),
            (Want::Span(offset, len), _) if (got.bytes.len() as u64) < len => {
                bail!(Truncated, "found {} bytes, expected at least {offset} + {len}", got.size)
            }
            _ => Ok(Some((got.bytes, got.version))),
        }
    }

    /// The end of an object; where servers do not know such ranges its length is asked for first.
    async fn suffix(&self, path: &Path, len: u64, if_match: Option<Version>) -> Result<Option<(Vec<u8>, Version)>> {
        if !self.no_suffix.load(Ordering::Relaxed) {
            match self.get(path, Want::Suffix(len), if_match).await {
                Ok(None) => return Ok(None),
                Ok(Some(got)) if got.bytes.len() as u64 == len => return Ok(Some((got.bytes, got.version))),
                Ok(Some(got)) if got.size < len => bail!(Truncated, "found {} bytes, expected at least {len}", got.size),
                Err(e) if !matches!(e.kind(), ErrorKind::Ranges | ErrorKind::Unsupported) => return Err(e),
                _ => self.no_suffix.store(true, Ordering::Relaxed),
            }
        }
        let Some(head) = self.get(path, Want::Nothing, if_match).await? else { return Ok(None) };
        if head.size < len {
            bail!(Truncated, "found {} bytes, expected at least {len}", head.size);
        }
        match self.get(path, Want::Span(head.size - len, len), Some(head.version)).await? {
            Some(got) if got.bytes.len() as u64 == len => Ok(Some((got.bytes, got.version))),
            Some(got) => bail!(Truncated, "found {} bytes, expected {len}", got.bytes.len()),
            None => bail!(Conflict, "the object was erased while it was read"),
        }
    }

    /// Stores a value.
    pub(super) async fn put(&self, path: &Path, bytes: Bytes, condition: Condition) -> Result<()> {
        let kept = condition == Condition::None || self.keeps_conditions(path).await?;
        let _permit = self.permit().await?;
        if !kept {
            return self.put_after_look(path, bytes, condition).await;
        }
        let mode = match condition {
            Condition::None => PutMode::Overwrite,
            Condition::Absent => PutMode::Create,
            Condition::Match(version) => PutMode::Update(self.update_of(path, version).await?),
        };
        self.put_as(path, bytes, mode).await
    }

    async fn put_as(&self, path: &Path, bytes: Bytes, mode: PutMode) -> Result<()> {
        let mut tries = self.tries(false);
        tries.allow(bytes.len() as u64);
        let mark = (mode != PutMode::Overwrite).then(random_mark);
        // An earlier try may have been carried out, its answer lost.
        let mut unsure = false;
        loop {
            let mut attributes = Attributes::new();
            if let Some(mark) = &mark {
                attributes.insert(Attribute::Metadata(MARK.into()), mark.clone().into());
            }
            let options = PutOptions { mode: mode.clone(), attributes, ..PutOptions::default() };
            let store = self.store();
            let Err(fault) = tries.run(store.put_opts(path, bytes.clone().into(), options)).await else { return Ok(()) };
            let sight = tries.sight();
            if self.is_conflict(&fault, &sight.code, sight.status) {
                let mine = match &mark {
                    Some(mark) if unsure => {
                        self.get_unlimited(path, Want::Nothing, None).await?.is_some_and(|got| got.mark.as_ref() == Some(mark))
                    }
                    _ => false,
                };
                if mine {
                    return Ok(());
                }
                bail!(Conflict, "the key holds another value by now");
            }
            unsure |= sight.status == 0 || sight.status >= 500;
            self.again(&mut tries, fault).await.map_err(|e| match e.kind() {
                ErrorKind::Network | ErrorKind::Timeout if unsure => {
                    Error::new(e.kind(), format!("{}; the value may have been stored or not", e.message()))
                        .with_http_status(i32::from(sight.status))
                }
                _ => e,
            })?;
        }
    }

    /// Whether a refused put says that its condition does not hold (rather than that two came at once).
    fn is_conflict(&self, fault: &Fault, code: &str, status: u16) -> bool {
        let refused = matches!(fault, Fault::Store(object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. }));
        refused && (status != 409 || matches!(code, "BlobAlreadyExists" | "UnmodifiedSinceNotMet"))
    }

    /// What a service's conditional put wants to know of a version.
    async fn update_of(&self, path: &Path, version: Version) -> Result<UpdateVersion> {
        if let (Some(tag), true) = (strong_tag_of(version), self.remote.service != Service::Gcs) {
            return Ok(UpdateVersion { e_tag: Some(tag), version: None });
        }
        match self.get_unlimited(path, Want::Nothing, None).await? {
            Some(got) if got.version == version => Ok(got.update),
            _ => bail!(Conflict, "the key holds another value by now"),
        }
    }

    /// For servers that do not keep conditions: two writers of a key at the same moment are not kept apart.
    async fn put_after_look(&self, path: &Path, bytes: Bytes, condition: Condition) -> Result<()> {
        let found = self.get_unlimited(path, Want::Nothing, None).await?.map(|got| got.version);
        match (condition, found) {
            (Condition::None, _) | (Condition::Absent, None) => {}
            (Condition::Match(version), Some(found)) if version == found => {}
            (Condition::Absent, Some(_)) => bail!(Conflict, "the key holds a value already"),
            (Condition::Match(_), _) => bail!(Conflict, "the key holds another value by now"),
        }
        self.put_as(path, bytes, PutMode::Overwrite).await
    }

    /// Whether the server keeps conditions of puts; found out once, with a key beside the one that is to be put.
    async fn keeps_conditions(&self, path: &Path) -> Result<bool> {
        self.conditional.get_or_try_init(|| self.probe(path)).await.copied()
    }

    async fn probe(&self, path: &Path) -> Result<bool> {
        let _permit = self.permit().await?;
        let probe = Path::parse(format!("{}.{}", path.as_ref(), random_mark())).map_err(|e| err!(Name, "{e}"))?;
        let value = || Bytes::from_static(b"ozarr asks whether conditions are kept");
        let keeps = async {
            self.put_as(&probe, value(), PutMode::Create).await?;
            let refused = |result: Result<()>| match result {
                Ok(()) => Ok(false),
                Err(e) if e.kind() == ErrorKind::Conflict => Ok(true),
                Err(e) => Err(e),
            };
            let other = UpdateVersion { e_tag: Some("\"00000000000000000000000000000000\"".to_string()), version: None };
            Ok(refused(self.put_as(&probe, value(), PutMode::Create).await)?
                && refused(self.put_as(&probe, value(), PutMode::Update(other)).await)?)
        };
        let kept: Result<bool> = keeps.await;
        let result = match kept {
            Err(e) if e.kind() == ErrorKind::Unsupported => Ok(false),
            other => other,
        };
        // A client without the right to erase may still have the right to put.
        let _ = self.erase(&probe).await;
        result
    }

    /// Erases a key.
    pub(super) async fn erase(&self, path: &Path) -> Result<()> {
        let mut tries = self.tries(false);
        loop {
            let store = self.store();
            let one = futures_util::stream::iter([Ok(path.clone())]).boxed();
            let erasing = async move { store.delete_stream(one).next().await.unwrap_or(Ok(Path::default())).map(drop) };
            let Err(fault) = tries.run(erasing).await else { return Ok(()) };
            if tries.sight().status == 404 {
                return Ok(());
            }
            self.again(&mut tries, fault).await?;
        }
    }

    /// Erases a key; false if it held nothing.
    pub(super) async fn erase_known(&self, path: &Path) -> Result<bool> {
        let _permit = self.permit().await?;
        if self.get_unlimited(path, Want::Nothing, None).await?.is_none() {
            return Ok(false);
        }
        self.erase(path).await.map(|()| true)
    }

    /// Erases all keys below a prefix.
    pub(super) async fn erase_below(&self, prefix: &Path) -> Result<()> {
        let _permit = self.permit().await?;
        let mut tries = self.tries(false);
        loop {
            let (store, root) = (self.store(), prefix.as_ref().to_string());
            tries.allow(1 << 26);
            let erasing = async move {
                let listed = store.list((!root.is_empty()).then_some(prefix)).map(|found| found.map(|meta| meta.location)).boxed();
                let mut erased = store.delete_stream(listed);
                let mut failed = None;
                while let Some(one) = erased.next().await {
                    match one {
                        Err(object_store::Error::NotFound { .. }) | Ok(_) => {}
                        // The others go all the same: then less is left for the next try.
                        Err(e) => failed = Some(e),
                    }
                }
                failed.map_or(Ok(()), Err)
            };
            let Err(fault) = tries.run(erasing).await else { return Ok(()) };
            self.again(&mut tries, fault).await?;
        }
    }

    /// All keys below a prefix, sorted.
    pub(super) async fn list(&self, prefix: &Path) -> Result<Vec<String>> {
        let _permit = self.permit().await?;
        let mut tries = self.tries(false);
        let mut keys: Vec<String> = Vec::new();
        loop {
            let root = (!prefix.as_ref().is_empty()).then_some(prefix);
            let store = self.store();
            let mut found = match keys.last() {
                None => store.list(root),
                Some(last) => store.list_with_offset(root, &Path::parse(last).map_err(|e| err!(Name, "{e}"))?),
            };
            let fault = loop {
                tries.allow(1 << 16);
                match tries.run(async { found.next().await.transpose() }).await {
                    Ok(Some(meta)) => keys.push(meta.location.to_string()),
                    Ok(None) => {
                        keys.sort_unstable();
                        keys.dedup();
                        return Ok(keys);
                    }
                    Err(fault) => break fault,
                }
            };
            self.no_container(&tries)?;
            self.again(&mut tries, fault).await?;
            // What comes next begins behind the last key only if keys came in order.
            if !keys.is_sorted() {
                keys.clear();
            }
        }
    }

    /// Lists what is directly below a prefix.
    pub(super) async fn list_dir(&self, prefix: &Path) -> Result<Listing> {
        let _permit = self.permit().await?;
        let mut tries = self.tries(false);
        loop {
            let root = (!prefix.as_ref().is_empty()).then_some(prefix);
            let store = self.store();
            match tries.run(store.list_with_delimiter(root)).await {
                Ok(found) => {
                    let name = |path: &Path| path.filename().unwrap_or_default().to_string();
                    let mut prefixes: Vec<String> = found.common_prefixes.iter().map(name).collect();
                    prefixes.sort_unstable();
                    prefixes.dedup();
                    // Empty objects with the name of a folder are how some tools mark one.
                    let is_mark = |size: u64, path: &Path| size == 0 && (path == prefix || prefixes.binary_search(&name(path)).is_ok());
                    let kept = found.objects.iter().filter(|meta| !is_mark(meta.size, &meta.location));
                    let mut keys: Vec<String> = kept.map(|meta| name(&meta.location)).collect();
                    keys.sort_unstable();
                    return Ok(Listing { keys, prefixes });
                }
                Err(fault) => {
                    self.no_container(&tries)?;
                    self.again(&mut tries, fault).await?;
                }
            }
        }
    }

    fn no_container(&self, tries: &Tries) -> Result<()> {
        let sight = tries.sight();
        if sight.status == 404 {
            let code = if sight.code.is_empty() { String::new() } else { format!(" ({})", sight.code) };
            bail!(NotFound, "there is no {}: the server answered 404{code}", self.remote.at("").describe());
        }
        Ok(())
    }
}

/// A body on its way.
struct Body {
    bytes: Vec<u8>,
    start: u64,
    end: u64,
    version: Version,
}

fn range_of(want: Want) -> Option<GetRange> {
    match want {
        Want::Nothing | Want::Whole => None,
        Want::Span(offset, len) => Some(GetRange::Bounded(offset..offset + len)),
        Want::Suffix(len) => Some(GetRange::Suffix(len)),
    }
}

/// That the server sends what was asked for. The crate has looked at it, too; wrong data would be the worst.
fn check_range(want: Want, start: u64, end: u64, size: u64) -> Result<()> {
    let expected = match want {
        Want::Nothing => return Ok(()),
        Want::Whole => (0, size),
        Want::Span(offset, len) => (offset, offset.saturating_add(len).min(size)),
        Want::Suffix(len) => (size.saturating_sub(len), size),
    };
    if (start, end) != expected {
        bail!(Ranges, "the server sent the bytes {start}..{end}, expected {}..{}", expected.0, expected.1);
    }
    Ok(())
}

/// Adds what comes to a body.
async fn collect(got: object_store::GetResult, body: &mut Body) -> std::result::Result<(), Fault> {
    let expected = body.end - body.start;
    let room = (expected - body.bytes.len() as u64).min(FIRST_ROOM);
    reserve(&mut body.bytes, room as usize).map_err(Fault::Own)?;
    let mut stream = got.into_stream();
    while let Some(piece) = stream.next().await {
        let found = body.bytes.len() as u64;
        let Ok(piece) = piece else { return Err(Fault::Short { found, expected }) };
        if found + piece.len() as u64 > expected {
            return Err(Fault::Long { expected });
        }
        reserve(&mut body.bytes, piece.len()).map_err(Fault::Own)?;
        body.bytes.extend_from_slice(&piece);
    }
    match body.bytes.len() as u64 {
        found if found < expected => Err(Fault::Short { found, expected }),
        _ => Ok(()),
    }
}

/// A text that no other put has.
fn random_mark() -> String {
    let random = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", random(), random())
}
