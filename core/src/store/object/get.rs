//! Gets of objects and of ranges of them, each of one version: a download that breaks off goes on where it ended.

use super::bodies::{MOST_TO_CUT, UNTOLD_SIZE};
use super::live::Live;
use super::sight::{Purpose, Sight, Trouble};
use super::tries::{Failure, Tries, is_of_container};
use super::version::{are_of_one, strong_tag_of, version_of};
use crate::error::{Error, ErrorKind, Result, bail};
use crate::limits::{MAX_UNTOLD, grow, reserve};
use crate::store::remote::Service;
use crate::store::{ByteRange, Fetched, Version};
use bytes::Bytes;
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{Attribute, GetOptions, GetRange, GetResult, UpdateVersion};
use std::sync::atomic::Ordering;

/// Where a conditional put leaves its mark, so that one whose answer was lost is known again.
pub(super) const MARK: &str = "ozarrput";
/// So much of an object comes with its opening: about what a network carries in the time of one more request.
const HEAD: u64 = 256 << 10;
/// Memory for a body is taken in steps, so that a false length costs nothing.
const FIRST_ROOM: u64 = 64 << 20;

/// Which bytes to get. A span may reach beyond the end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Want {
    /// Its length and version.
    Nothing,
    /// Its version alone.
    Version,
    /// An object of at most `most` bytes, or `untold` where the server does not tell its length.
    Whole {
        most: u64,
        untold: u64,
    },
    Span(u64, u64),
    Suffix(u64),
    /// The first bytes of an object, or all where the server sends them.
    Opening,
    /// All bytes of an object that the server sends as a whole only, none of one with more than [`MOST_TO_CUT`].
    AllOrNone,
}

impl Want {
    /// All bytes of an object of at most `most` bytes.
    pub(super) fn up_to(most: usize) -> Want {
        Want::Whole { most: most as u64, untold: MAX_UNTOLD.min(most as u64) }
    }

    fn purpose(self) -> Purpose {
        let untold = match self {
            Want::Nothing | Want::Version | Want::AllOrNone => MAX_UNTOLD,
            Want::Whole { untold, .. } => untold,
            Want::Span(_, len) | Want::Suffix(len) => len,
            Want::Opening => HEAD,
        };
        Purpose { untold, headers: self.is_of_headers(), version: self == Want::Version, without_range: false }
    }

    /// Whether the headers of an answer say all that is wanted.
    fn is_of_headers(self) -> bool {
        matches!(self, Want::Nothing | Want::Version)
    }

    /// Whether the bytes of an object of that size are read.
    fn reads(self, size: u64) -> bool {
        match self {
            Want::Nothing | Want::Version => false,
            Want::AllOrNone => size <= MOST_TO_CUT,
            _ => true,
        }
    }
}

/// What was got.
pub(super) struct Got {
    pub bytes: Vec<u8>,
    /// The whole object, where it came for a range of it.
    pub whole: Option<Bytes>,
    /// Of the object.
    pub size: u64,
    pub version: Version,
    /// The mark of the put that stored it.
    pub(super) mark: Option<String>,
    /// As the service's own conditional put wants it.
    pub(super) update: UpdateVersion,
}

impl Live {
    /// Gets bytes of an object, or `None` if the key holds nothing. If the connection breaks off in the body, the download goes on at the next byte, as long as the object
    /// stays the same.
    pub(super) async fn get(&self, path: &Path, want: Want, expected: Option<Version>) -> Result<Option<Got>> {
        let _permit = self.permit().await?;
        self.get_unlimited(path, want, expected).await
    }

    pub(super) async fn get_unlimited(&self, path: &Path, want: Want, expected: Option<Version>) -> Result<Option<Got>> {
        let mut tries = self.tries(true).with_purpose(want.purpose());
        let (mut body, mut ask) = (None::<Body>, self.first_ask(want));
        loop {
            let (range, if_match) = match &body {
                Some(body) => (Some(GetRange::Bounded(body.start + body.bytes.len() as u64..body.end)), strong_tag_of(body.version)),
                None => (ask.range(), expected.and_then(strong_tag_of)),
            };
            let (store, head) = (self.store(), matches!(ask, Ask::Head));
            let got = match tries.run(store.get_opts(path, GetOptions { range, if_match, head, ..GetOptions::default() })).await {
                Ok(got) => got,
                Err(_) if body.is_none() && self.ask_otherwise(want, &mut ask, &mut tries) => continue,
                Err(fault) => match self.missing(&mut tries, fault, &mut body).await? {
                    true => return Ok(None),
                    false => continue,
                },
            };
            let version = version_of(&got.meta).seen_at(tries.sight().date);
            if expected.is_some_and(|expected| !are_of_one(expected, version)) {
                // A GET may tell what a HEAD does not.
                if head && self.is_web() {
                    ask = Ask::Range(range_of(want));
                    tries.note_anew();
                    continue;
                }
                bail!(Conflict, "the object was replaced while it was read");
            }
            self.no_head.fetch_or(want.is_of_headers() && !head && self.is_web(), Ordering::Relaxed);
            let (start, end) = (got.range.start, got.range.end);
            match &body {
                Some(known) if known.version == version && start == known.start + known.bytes.len() as u64 && end == known.end => {}
                Some(_) if tries.once() => {
                    body = None;
                    continue;
                }
                Some(_) => bail!(Conflict, "the object was replaced while it was read"),
                None => {
                    check_length(want, got.meta.size)?;
                    check_range(want, start, end, got.meta.size)?;
                    body = Some(Body { bytes: Vec::new(), start, end, version });
                }
            }
            let (size, (mark, update)) = (got.meta.size, of_put(&got));
            let Some(reading) = &mut body else { bail!(Internal, "a body that is not read") };
            if want.reads(size) {
                let left = reading.end - reading.start - reading.bytes.len() as u64;
                tries.allow(left);
                if let Err(fault) = tries.run(collect(got, reading)).await {
                    // Without a version the pieces could be of two objects; nor is a body gone on with that has too much.
                    if strong_tag_of(version).is_none() || matches!(fault, Failure::Long { .. }) {
                        body = None;
                    }
                    self.again(&mut tries, fault).await?;
                    continue;
                }
            }
            let bytes = std::mem::take(&mut reading.bytes);
            return Ok(Some(Got { bytes, whole: tries.take_whole(), size, version, mark, update }));
        }
    }

    fn is_web(&self) -> bool {
        self.remote.service == Service::Http
    }

    fn first_ask(&self, want: Want) -> Ask {
        let head = want.is_of_headers() && !self.no_head.load(Ordering::Relaxed);
        if head { Ask::Head } else { Ask::Range(range_of(want)) }
    }

    /// Whether the object is to be asked for in another way, as `ask` and `tries` say from then on.
    fn ask_otherwise(&self, want: Want, ask: &mut Ask, tries: &mut Tries) -> bool {
        let sight = tries.sight();
        match (&ask, want) {
            (Ask::Head, _) if self.may_get_all_the_same(&sight) => *ask = Ask::Range(range_of(want)),
            // An empty object has no range.
            (Ask::Range(Some(_)), Want::Nothing | Want::Version) if sight.no_ranges.is_some() || self.refuses_range(&sight) => {
                *ask = Ask::Range(None)
            }
            // What begins behind the end has no bytes, however it is asked for.
            (Ask::Range(Some(GetRange::Bounded(range))), Want::Span(..) | Want::Opening)
                if self.is_web() && self.refuses_range(&sight) && sight.ends_at.is_none_or(|end| range.start < end) =>
            {
                if !tries.leave_out_range() {
                    return false;
                }
            }
            _ => return false,
        }
        tries.note_anew();
        true
    }

    /// Whether an answer may be that of a server which does not know ranges.
    fn refuses_range(&self, sight: &Sight) -> bool {
        match sight.status {
            _ if sight.credentials || sight.transport.is_some() => false,
            416 => true,
            400 | 501 => self.is_web(),
            // Another range than was asked for.
            206 => self.is_web() && !sight.html && sight.coding.is_none() && sight.too_long.is_none(),
            _ => false,
        }
    }

    /// Whether a GET may find what a HEAD did not. Web servers, and proxies before them, may know no HEAD, and answer anything or nothing.
    /// Its answer has no code, which says whether the key may be missing, and no text, which tells a service from a proxy before it.
    fn may_get_all_the_same(&self, sight: &Sight) -> bool {
        match sight.status {
            _ if sight.credentials => false,
            _ if sight.may_be_foreign || sight.no_length => true,
            0 => self.is_web() && sight.transport.is_some() && matches!(sight.trouble, Trouble::Other | Trouble::Silence),
            // It says when to come again.
            429 | 503 if sight.retry_after.is_some() => false,
            403 => self.is_web() || self.options.forbidden_is_missing,
            300.. => self.is_web(),
            _ => false,
        }
    }

    /// Whether a failure says that there is no object; otherwise waits for the next try.
    async fn missing(&self, tries: &mut Tries, fault: Failure, body: &mut Option<Body>) -> Result<bool> {
        let sight = tries.sight();
        if self.refuses_the_rest(&sight)
            && let Some(begun) = body.take()
        {
            return self.begin_anew(tries, &sight, &begun).await.map(|()| false);
        }
        match (sight.status, sight.code.as_str()) {
            _ if sight.credentials => {}
            (404, code) if is_of_container(code) => self.no_container(tries)?,
            (404 | 410, _) if !sight.foreign => return Ok(true),
            // Other codes are of clocks, keys, encryption and archived objects.
            (403, "" | "AccessDenied") if self.options.forbidden_is_missing && !sight.foreign => return Ok(true),
            (412, _) => bail!(Conflict, "the object was replaced while it was read"),
            _ => {}
        }
        self.again(tries, fault).await.map(|()| false)
    }

    /// Whether a server says that a download cannot go on where it broke off.
    fn refuses_the_rest(&self, sight: &Sight) -> bool {
        let is_such = match sight.status {
            412 | 416 => true,
            400 | 501 => self.is_web(),
            _ => false,
        };
        !sight.credentials && (is_such || sight.no_ranges.is_some())
    }

    /// Lets a download that broke off begin anew: at once the first time, when the object may have been replaced. After that it was cut again.
    async fn begin_anew(&self, tries: &mut Tries, sight: &Sight, begun: &Body) -> Result<()> {
        tries.note_anew();
        match (tries.once(), sight.status) {
            (true, _) => Ok(()),
            (false, 412) => bail!(Conflict, "the object was replaced while it was read"),
            (false, _) => {
                let (found, expected) = (begun.bytes.len() as u64, begun.end - begun.start);
                self.again(tries, Failure::Short { found, expected }).await
            }
        }
    }

    /// Ranges of an object, all of one version.
    pub(super) async fn fetch(&self, path: &Path, ranges: &[ByteRange], if_match: Option<Version>) -> Result<Option<Fetched>> {
        let Some((first, others)) = ranges.split_first() else {
            // A server may say of any key that it is there, but not with the ETag that was known.
            let want = if if_match.is_some() { Want::Version } else { Want::Nothing };
            let got = self.get(path, want, if_match).await?;
            return Ok(got.map(|got| Fetched { parts: Vec::new(), version: got.version }));
        };
        let Some((part, version, whole)) = self.fetch_one(path, *first, if_match).await? else { return Ok(None) };
        let mut parts = Vec::with_capacity(ranges.len());
        parts.push(part);
        if let Some(whole) = whole {
            // Each of the others would come as a whole, too.
            for range in others {
                let (offset, len) = range.within(whole.len() as u64)?;
                let mut part = Vec::new();
                grow(&mut part, len as usize)?.copy_from_slice(&whole[offset as usize..][..len as usize]);
                parts.push(part);
            }
            return Ok(Some(Fetched { parts, version }));
        }
        let others = others.iter().map(|range| self.fetch_one(path, *range, Some(version)));
        for other in futures_util::future::join_all(others).await {
            match other? {
                Some((part, ..)) => parts.push(part),
                None => bail!(Conflict, "the object was erased while it was read"),
            }
        }
        Ok(Some(Fetched { parts, version }))
    }

    async fn fetch_one(&self, path: &Path, range: ByteRange, if_match: Option<Version>) -> Result<Option<Part>> {
        let (want, len) = match range {
            ByteRange::Whole { most, untold } => (Want::Whole { most, untold }, None),
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
            _ => Ok(Some((got.bytes, got.version, got.whole))),
        }
    }

    /// The end of an object; where servers do not know such ranges its length is asked for first.
    async fn suffix(&self, path: &Path, len: u64, if_match: Option<Version>) -> Result<Option<Part>> {
        let mut refusal = None;
        if !self.no_suffix.load(Ordering::Relaxed) {
            match self.get(path, Want::Suffix(len), if_match).await {
                Ok(None) => return Ok(None),
                Ok(Some(got)) if got.bytes.len() as u64 == len => return Ok(Some((got.bytes, got.version, got.whole))),
                Ok(Some(got)) if got.size < len => bail!(Truncated, "found {} bytes, expected at least {len}", got.size),
                // An empty object has no such range either.
                Err(e) if refuses_ranges(&e) => refusal = Some(e),
                Err(e) if !matches!(e.kind(), ErrorKind::Ranges | ErrorKind::Unsupported) => return Err(e),
                _ => self.no_suffix.store(true, Ordering::Relaxed),
            }
        }
        let head = self.get(path, Want::Nothing, if_match).await;
        let was_refused = refusal.is_some();
        let Some(head) = head.map_err(|e| refusal.unwrap_or(e))? else { return Ok(None) };
        let mut size = head.size;
        // A HEAD may tell the length of something else.
        for _ in 0..2 {
            if size < len {
                bail!(Truncated, "found {size} bytes, expected at least {len}");
            }
            match self.get(path, Want::Span(size - len, len), Some(head.version)).await? {
                Some(got) if got.size != size && got.size != UNTOLD_SIZE => size = got.size,
                Some(got) if got.bytes.len() as u64 == len => {
                    self.no_suffix.fetch_or(was_refused, Ordering::Relaxed);
                    return Ok(Some((got.bytes, got.version, got.whole)));
                }
                Some(got) => bail!(Truncated, "found {} bytes, expected {len}", got.bytes.len()),
                None => bail!(Conflict, "the object was erased while it was read"),
            }
        }
        bail!(Conflict, "the object had another length at each look")
    }
}

/// Whether an error may say that a server does not know ranges of the form that was asked for.
fn refuses_ranges(e: &Error) -> bool {
    matches!((e.http_status(), e.kind()), (416, _) | (400, ErrorKind::Network))
}

/// The bytes of a range, what they are of, and the whole object where it came.
type Part = (Vec<u8>, Version, Option<Bytes>);

/// How an object is asked for first.
enum Ask {
    Head,
    /// By a GET, of all or of a range.
    Range(Option<GetRange>),
}

impl Ask {
    fn range(&self) -> Option<GetRange> {
        if let Ask::Range(range) = self { range.clone() } else { None }
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
        Want::Nothing | Want::Version => Some(GetRange::Bounded(0..1)),
        Want::Whole { .. } | Want::AllOrNone => None,
        Want::Span(offset, len) => Some(GetRange::Bounded(offset..offset + len)),
        Want::Suffix(len) => Some(GetRange::Suffix(len)),
        Want::Opening => Some(GetRange::Bounded(0..HEAD)),
    }
}

/// What an object keeps of the put that stored it: its mark, and what the service's own conditions want.
fn of_put(got: &GetResult) -> (Option<String>, UpdateVersion) {
    let mark = got.attributes.get(&Attribute::Metadata(MARK.into())).map(|value| value.to_string());
    (mark, UpdateVersion { e_tag: got.meta.e_tag.clone(), version: got.meta.version.clone() })
}

/// That a whole object is no longer than it may be.
fn check_length(want: Want, size: u64) -> Result<()> {
    match want {
        Want::Whole { most, .. } if size > most => bail!(Limit, "found {size} bytes, expected at most {most}"),
        _ => Ok(()),
    }
}

/// That the server sends what was asked for. The crate has looked at it, too; wrong data would be the worst.
fn check_range(want: Want, start: u64, end: u64, size: u64) -> Result<()> {
    let expected = match want {
        Want::Nothing | Want::Version => return Ok(()),
        Want::Whole { .. } | Want::AllOrNone => (0, size),
        Want::Opening => (0, HEAD.min(size)),
        Want::Span(offset, len) => (offset, offset.saturating_add(len).min(size)),
        Want::Suffix(len) => (size.saturating_sub(len), size),
    };
    if (start, end) != expected {
        bail!(Ranges, "the server sent the bytes {start}..{end}, expected {}..{}", expected.0, expected.1);
    }
    Ok(())
}

/// Adds what comes to a body.
async fn collect(got: GetResult, body: &mut Body) -> std::result::Result<(), Failure> {
    let expected = body.end - body.start;
    let room = (expected - body.bytes.len() as u64).min(FIRST_ROOM);
    reserve(&mut body.bytes, room as usize).map_err(Failure::Own)?;
    let mut stream = got.into_stream();
    while let Some(piece) = stream.next().await {
        let found = body.bytes.len() as u64;
        let piece = match piece {
            Ok(piece) => piece,
            // Only the length that was announced let more be expected.
            Err(_) if found == expected => return Ok(()),
            Err(_) => return Err(Failure::Short { found, expected }),
        };
        if found + piece.len() as u64 > expected {
            return Err(Failure::Long { found: found + piece.len() as u64, expected });
        }
        reserve(&mut body.bytes, piece.len()).map_err(Failure::Own)?;
        body.bytes.extend_from_slice(&piece);
    }
    match body.bytes.len() as u64 {
        found if found < expected => Err(Failure::Short { found, expected }),
        _ => Ok(()),
    }
}
