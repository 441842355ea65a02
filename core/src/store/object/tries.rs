//! One operation and its tries: what a failure means, whether it is worth another try, and when; and the error after the last.
//!
//! Waits are random up to a bound that doubles (full jitter), at least what the server asks for, and never reach beyond the deadline.
//! A host that cannot be reached is a server that is started anew if it has answered before; if it has not, it is rather a wrong name
//! or port, and a few tries are enough.

use super::credentials::redacted;
use super::sight::{Purpose, SEEN, Seen, Sight, Trouble};
use crate::error::{Error, ErrorKind, Result};
use bytes::Bytes;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// How often a host that has never answered is tried again.
const FEW: u32 = 2;
/// The bytes of a body for which a request gets one second more.
pub(super) const SLOWEST: u64 = 64 << 10;

/// Why a try failed.
pub(super) enum Failure {
    /// As the crate or the server says.
    Store(object_store::Error),
    /// The body ended early, or in an error.
    Short { found: u64, expected: u64 },
    /// More came than was asked for: `found` bytes at least.
    Long { found: u64, expected: u64 },
    /// The deadline.
    Deadline,
    /// Nothing that another try could change.
    Own(Error),
}

impl From<object_store::Error> for Failure {
    fn from(e: object_store::Error) -> Failure {
        Failure::Store(e)
    }
}

/// How operations are tried.
#[derive(Clone)]
pub(super) struct Patience {
    /// The time for all tries.
    pub deadline: Duration,
    /// How often again.
    pub retries: u32,
    /// Texts that no message may hold.
    pub secrets: Arc<Vec<String>>,
    /// What is said of an access that is forbidden: why it may be, and what it may mean.
    pub hints: [&'static str; 2],
    /// Whether the server has ever answered.
    pub answered: Arc<AtomicBool>,
    /// What is said of a server that cannot be reached.
    pub proxy: Arc<str>,
}

/// See the module.
pub(super) struct Tries {
    patience: Patience,
    started: Instant,
    until: Instant,
    done: u32,
    seen: Arc<Seen>,
    purpose: Purpose,
    /// A connection broke: requests go out by new ones.
    anew: bool,
    /// Something was tried that is tried once.
    once: bool,
    /// How often credentials had been renewed before the last try.
    pub(super) renewals: u64,
}

/// What a failure means.
struct Verdict {
    kind: ErrorKind,
    text: String,
    again: bool,
    after: Option<Duration>,
}

impl Tries {
    pub(super) fn new(patience: &Patience) -> Tries {
        let started = Instant::now();
        let (patience, until, seen) = (patience.clone(), started + patience.deadline, Arc::new(Seen::new(Purpose::default(), false)));
        Tries { patience, started, until, done: 0, seen, purpose: Purpose::default(), anew: false, once: false, renewals: 0 }
    }

    /// Notes what answers are for.
    pub(super) fn with_purpose(mut self, purpose: Purpose) -> Tries {
        (self.purpose, self.seen) = (purpose, Arc::new(Seen::new(purpose, self.anew)));
        self
    }

    /// Asks for the whole object from now on where a range is wanted; false if that is done already.
    pub(super) fn leave_out_range(&mut self) -> bool {
        !std::mem::replace(&mut self.purpose.without_range, true)
    }

    /// The whole object, where it came for a range of it in the last try.
    pub(super) fn take_whole(&self) -> Option<Bytes> {
        self.seen.take_whole()
    }

    /// Gives time for a body of `bytes` bytes.
    pub(super) fn allow(&mut self, bytes: u64) {
        self.until += Duration::from_secs((bytes / SLOWEST).min(1 << 20));
    }

    /// Gives a part of the operation all of its time anew, as the one before it is done.
    pub(super) fn begin_part(&mut self) {
        self.until = self.until.max(Instant::now() + self.patience.deadline);
    }

    /// What the last answer was like.
    pub(super) fn sight(&self) -> Sight {
        self.seen.sight()
    }

    /// What is said of a container that Azure denies to who shows no credentials.
    pub(super) fn why_missing(&self, sight: &Sight) -> &'static str {
        if sight.code == "ResourceNotFound" { self.patience.hints[0] } else { "" }
    }

    /// Begins notes for another request, which those of the last one say nothing of.
    pub(super) fn note_anew(&mut self) {
        self.seen = Arc::new(Seen::new(self.purpose, self.anew));
    }

    /// True the first time that it is asked.
    pub(super) fn once(&mut self) -> bool {
        !std::mem::replace(&mut self.once, true)
    }

    /// Whether credentials were renewed since the last try; `secrets` is what no message may hold from then on.
    pub(super) fn is_renewed(&mut self, renewals: u64, secrets: &[String]) -> bool {
        let is_new = std::mem::replace(&mut self.renewals, renewals) != renewals;
        if is_new {
            self.patience.secrets = Arc::new(self.patience.secrets.iter().chain(secrets).cloned().collect());
        }
        is_new
    }

    /// A part of a try. What it sees adds to the notes of the try.
    pub(super) async fn run<T, E: Into<Failure>>(
        &mut self,
        work: impl Future<Output = std::result::Result<T, E>>,
    ) -> std::result::Result<T, Failure> {
        let until = tokio::time::Instant::from_std(self.until);
        let result = tokio::time::timeout_at(until, SEEN.scope(self.seen.clone(), work)).await;
        if self.seen.answered() {
            self.patience.answered.store(true, Ordering::Relaxed);
        }
        match result {
            Ok(result) => result.map_err(Into::into),
            Err(_) => Err(Failure::Deadline),
        }
    }

    /// Waits for the next try, or returns the error that says why no further try is made.
    pub(super) async fn again(&mut self, fault: Failure) -> Result<()> {
        let wait = self.wait_after(fault, Instant::now())?;
        tokio::time::sleep(wait).await;
        Ok(())
    }

    /// Returns the time until the next try after a failure at `now`, or the error that says why no further try is made.
    fn wait_after(&mut self, fault: Failure, now: Instant) -> Result<Duration> {
        let sight = self.sight();
        let verdict = match fault {
            Failure::Own(e) => return Err(e),
            other => judge(&other, &sight, self.patience.hints),
        };
        self.done += 1;
        let wait = jitter(self.done).max(verdict.after.unwrap_or_default());
        let is_unknown = sight.trouble == Trouble::Unreached && !self.patience.answered.load(Ordering::Relaxed);
        let most = if is_unknown { self.patience.retries.min(FEW) } else { self.patience.retries };
        if !verdict.again || self.done > most || now.checked_add(wait).is_none_or(|then| then >= self.until) {
            return Err(self.error(verdict, &sight));
        }
        self.anew |= sight.transport.is_some() && matches!(sight.trouble, Trouble::Other | Trouble::Silence);
        self.note_anew();
        Ok(wait)
    }

    fn error(&self, verdict: Verdict, sight: &Sight) -> Error {
        let mut text = verdict.text;
        if matches!(sight.trouble, Trouble::Unreached | Trouble::Socks) {
            text.push_str(&self.patience.proxy);
        }
        if self.done > 1 {
            text.push_str(&format!(" (tried {} times in {:.1} s)", self.done, self.started.elapsed().as_secs_f64()));
        }
        Error::new(verdict.kind, redacted(text, &self.patience.secrets)).with_http_status(i32::from(sight.status))
    }
}

/// A random time up to a bound that doubles with each try.
fn jitter(done: u32) -> Duration {
    let bound = FIRST_WAIT.saturating_mul(1 << done.saturating_sub(1).min(10)).min(LONGEST_WAIT);
    let random = RandomState::new().hash_one(done) >> 11;
    bound.mul_f64(random as f64 / (1u64 << 53) as f64)
}

fn judge(fault: &Failure, sight: &Sight, hints: [&str; 2]) -> Verdict {
    let verdict = |kind, text: String, again| Verdict { kind, text, again, after: sight.retry_after };
    match fault {
        Failure::Short { found, expected } => {
            let why = sight.transport.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            let kind = if sight.trouble == Trouble::Silence { ErrorKind::Timeout } else { ErrorKind::Network };
            return verdict(kind, format!("the answer ended after {found} of {expected} bytes{why}"), true);
        }
        Failure::Long { found, expected } => {
            let text = format!("the answer has more than the {expected} bytes that were asked for: {found} at least");
            return verdict(ErrorKind::Network, text, true);
        }
        Failure::Deadline => return verdict(ErrorKind::Timeout, "the server did not answer before the deadline".to_string(), false),
        Failure::Store(_) | Failure::Own(_) => {}
    }
    if sight.html {
        return verdict(ErrorKind::Network, "the server sent an HTML page instead of an answer (a login page?)".to_string(), false);
    }
    if let Some((kind, text)) = sight.no_list {
        return verdict(kind, text.to_string(), false);
    }
    if let Some(most) = sight.too_long {
        let text = format!("found more than {most} bytes in an answer that does not tell its length, expected at most {most}");
        return verdict(if sight.status == 206 { ErrorKind::Ranges } else { ErrorKind::Limit }, text, false);
    }
    if let Some(coding) = &sight.coding {
        let text = format!("the server sent it with {coding}, though it was asked for the bytes as they are");
        return verdict(ErrorKind::Network, text, false);
    }
    if let Some(most) = sight.no_ranges {
        let size = sight.length.map(|length| format!(" of {length} bytes")).unwrap_or_default();
        let text =
            format!("the server has no ranges, and the object{size} is larger than the {most} bytes that are read as a whole for one");
        return verdict(ErrorKind::Ranges, text, false);
    }
    if sight.foreign && sight.status != 403 {
        let text = format!("the server answered {}{FOREIGN}", sight.status);
        return verdict(ErrorKind::Network, text, true);
    }
    if sight.meant() >= 300 {
        return if sight.credentials { by_credentials(sight) } else { by_status(sight, hints) };
    }
    if let Some(text) = &sight.transport {
        return by_trouble(sight, text);
    }
    match (fault, sight.status) {
        // Such an answer came whole; its headers contradict the request or each other.
        (Failure::Store(e), 206) => {
            verdict(ErrorKind::Ranges, format!("the server sent another range than was asked for: {}", innermost(e)), false)
        }
        (Failure::Store(e), 0) => verdict(ErrorKind::Permission, format!("no request could be made: {}", innermost(e)), false),
        (Failure::Store(e), _) => verdict(ErrorKind::Network, format!("the server's answer cannot be understood: {}", innermost(e)), false),
        _ => verdict(ErrorKind::Internal, "a failure without a reason".to_string(), false),
    }
}

/// What it means that no answer came, or not all of one: `text` says why.
fn by_trouble(sight: &Sight, text: &str) -> Verdict {
    let verdict = |kind, text: String, again| Verdict { kind, text, again, after: sight.retry_after };
    let unreached = |more: &str| format!("the server {} cannot be reached: {text}{more}", sight.host);
    match sight.trouble {
        Trouble::Memory => verdict(ErrorKind::NoMemory, format!("no memory for what the server {} sends", sight.host), false),
        Trouble::Silence => verdict(ErrorKind::Timeout, format!("the server {} was silent for too long", sight.host), true),
        Trouble::Certificate(hint) => verdict(ErrorKind::Network, unreached(hint), false),
        Trouble::Encryption => verdict(ErrorKind::Network, unreached(" (does it speak TLS?)"), false),
        Trouble::Proxy => verdict(ErrorKind::Permission, unreached(" (by the proxy)"), false),
        Trouble::Socks => verdict(ErrorKind::Argument, unreached(", expected a proxy of http:// or https://"), false),
        Trouble::Redirection => {
            verdict(ErrorKind::Network, format!("a redirection to the server {} is not followed: {text}", sight.host), false)
        }
        Trouble::Answer => {
            verdict(ErrorKind::Network, format!("the answer of the server {} cannot be understood: {text}", sight.host), false)
        }
        Trouble::Unreached => verdict(ErrorKind::Network, unreached(""), true),
        Trouble::Other => {
            let what = match (sight.status, sight.broke_off, sight.length) {
                (0, ..) => format!("the server {} did not answer", sight.host),
                (_, Some(found), Some(length)) => format!("the answer ended after {found} of {length} bytes"),
                (_, Some(found), None) => format!("the answer ended after {found} bytes, before its end"),
                (_, None, _) => "the answer ended before its end".to_string(),
            };
            verdict(ErrorKind::Network, format!("{what}: {text}"), true)
        }
    }
}

/// What is said of an answer whose text is none of a service of objects.
const FOREIGN: &str = " with a text that is not the service's (of a proxy before it?)";

fn by_status(sight: &Sight, hints: [&str; 2]) -> Verdict {
    let status = sight.meant();
    let late = if sight.inside == 0 { "" } else { " and then an error" };
    let mut text = format!("the server answered {}{late}", sight.status);
    match (sight.code.as_str(), sight.text.as_str()) {
        ("", "") => {}
        (code, "") => text.push_str(&format!(" ({code})")),
        (code, why) => text.push_str(&format!(" ({code}: {why})")),
    }
    let (kind, again) = match (status, sight.code.as_str()) {
        (301 | 302 | 303 | 307 | 308, _) => {
            let region = sight.region.as_deref().map(|region| format!("; the bucket is in the region {region}")).unwrap_or_default();
            text.push_str(&format!(", a redirection that leads nowhere{region}"));
            (ErrorKind::Network, false)
        }
        (400, "RequestTimeout") => (ErrorKind::Timeout, true),
        (400, "ExpiredToken" | "ExpiredTokenException" | "InvalidToken" | "TokenRefreshRequired" | "AuthorizationHeaderMalformed") => {
            (ErrorKind::Permission, false)
        }
        (401 | 403 | 407, code) => {
            let may_be_missing = status == 403 && matches!(code, "" | "AccessDenied");
            let [why, missing] = if sight.foreign { [FOREIGN, ""] } else { hints };
            text.push_str(if may_be_missing || status != 407 && !sight.foreign { why } else { "" });
            text.push_str(if may_be_missing { missing } else { "" });
            (ErrorKind::Permission, false)
        }
        // Azure says so to who shows no credentials.
        (409, "PublicAccessNotPermitted") => {
            text.push_str(hints[0]);
            (ErrorKind::Permission, false)
        }
        (404 | 410, _) => (ErrorKind::NotFound, false),
        (409 | 412, code) if is_locked(code) => (ErrorKind::Permission, false),
        (409, "BlobAlreadyExists") | (412, _) => (ErrorKind::Conflict, false),
        (409, "" | "UnmodifiedSinceNotMet") => (ErrorKind::Conflict, true),
        (409, code) if ["Conflict", "Concurrent", "Exists", "Condition"].iter().any(|word| code.contains(word)) => {
            (ErrorKind::Conflict, true)
        }
        (409, "OperationAborted") => (ErrorKind::Throttled, true),
        (409, _) => (ErrorKind::Network, true),
        (416, _) => {
            if let Some(len) = sight.ends_at {
                text = format!("the object ends after {len} bytes, before what was asked for");
            }
            (ErrorKind::Truncated, false)
        }
        (429, _) | (503, _) => (ErrorKind::Throttled, true),
        (408, _) => (ErrorKind::Timeout, true),
        (501 | 505, _) => (ErrorKind::Unsupported, false),
        (500.., _) => (ErrorKind::Network, true),
        _ => (ErrorKind::Network, false),
    };
    Verdict { kind, text, again, after: sight.retry_after }
}

/// Whether a code says that the container is missing, not an object in it.
pub(super) fn is_of_container(code: &str) -> bool {
    matches!(code, "NoSuchBucket" | "ContainerNotFound" | "ResourceNotFound" | "AccountNotFound")
}

/// Whether a code says that an object is kept from changes, whatever a put's condition is.
pub(super) fn is_locked(code: &str) -> bool {
    code.starts_with("Lease") || code.starts_with("BlobImmutable")
}

/// What it means that a service of credentials refuses: it says nothing of what is stored. Azure's asks for another try with 404 and 410.
fn by_credentials(sight: &Sight) -> Verdict {
    let Verdict { kind, again, after, .. } = by_status(sight, ["", ""]);
    let (kind, again) = match (sight.status, kind) {
        (404 | 410, _) => (ErrorKind::Permission, true),
        (_, ErrorKind::Network | ErrorKind::Throttled | ErrorKind::Timeout) if again => (kind, true),
        _ => (ErrorKind::Permission, false),
    };
    let code = if sight.code.is_empty() { String::new() } else { format!(" ({})", sight.code) };
    Verdict {
        kind,
        text: format!("no credentials: the service that gives them out, {}, answered {}{code}", sight.host, sight.status),
        again,
        after,
    }
}

/// What the cause of all causes says.
fn innermost(e: &object_store::Error) -> String {
    let mut e: &dyn std::error::Error = e;
    while let Some(cause) = e.source() {
        e = cause;
    }
    e.to_string().chars().map(|c| if c.is_control() { ' ' } else { c }).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(status: u16, code: &str) -> (ErrorKind, bool) {
        let verdict = by_status(&Sight { status, code: code.to_string(), ..Sight::default() }, ["", ""]);
        (verdict.kind, verdict.again)
    }

    #[test]
    fn statuses_mean_what_they_say() {
        use ErrorKind::*;
        for (status, code, kind, again) in [
            (503, "SlowDown", Throttled, true),
            (500, "InternalError", Network, true),
            (429, "", Throttled, true),
            (403, "AccessDenied", Permission, false),
            (401, "", Permission, false),
            (404, "NoSuchBucket", NotFound, false),
            (409, "BlobAlreadyExists", Conflict, false),
            (409, "ConditionalRequestConflict", Conflict, true),
            (409, "", Conflict, true),
            (409, "OperationAborted", Throttled, true),
            (409, "InvalidBucketState", Network, true),
            (409, "BlobImmutableDueToPolicy", Permission, false),
            (409, "PublicAccessNotPermitted", Permission, false),
            (412, "LeaseIdMissing", Permission, false),
            (412, "", Conflict, false),
            (501, "NotImplemented", Unsupported, false),
            (301, "PermanentRedirect", Network, false),
            (400, "RequestTimeout", Timeout, true),
            (400, "InvalidArgument", Network, false),
        ] {
            assert_eq!(by(status, code), (kind, again), "{status} {code}");
        }
    }

    #[test]
    fn a_service_of_credentials_says_nothing_of_what_is_stored() {
        use ErrorKind::*;
        for (status, kind, again) in
            [(404, Permission, true), (410, Permission, true), (403, Permission, false), (400, Permission, false), (409, Permission, false)]
                .into_iter()
                .chain([(429, Throttled, true), (500, Network, true), (503, Throttled, true), (408, Timeout, true)])
        {
            let sight = Sight { status, credentials: true, host: "169.254.169.254".to_string(), ..Sight::default() };
            let fault = Failure::Store(object_store::Error::NotImplemented { operation: String::new(), implementer: String::new() });
            let verdict = judge(&fault, &sight, ["hint", ""]);
            assert_eq!((verdict.kind, verdict.again), (kind, again), "{status}");
            assert!(verdict.text.contains("169.254.169.254") && !verdict.text.contains("hint"), "{}", verdict.text);
            assert!(!sight.is_missing());
        }
    }

    #[test]
    fn tries_end_with_their_number_or_the_deadline_and_wait_as_long_as_the_server_asks() {
        /// Retries, the seconds that the server asks for, those that each try takes; the tries after the first, and the error's text.
        type Row = (u32, Option<u64>, u64, u32, &'static str);
        let cases: [Row; 7] = [
            (4, None, 0, 4, "tried 5 times"),
            (0, None, 0, 0, "the server answered 503"),
            (4, Some(2), 0, 4, "tried 5 times"),
            (4, Some(40), 0, 2, "tried 3 times"),
            (4, Some(900), 0, 0, "the server answered 503"),
            (4, Some(u64::MAX), 0, 0, "the server answered 503"),
            (9, None, 60, 1, "tried 2 times"),
        ];
        for (retries, after, takes, expected, text) in cases {
            let patience = Patience {
                deadline: Duration::from_secs(100),
                retries,
                secrets: Arc::default(),
                hints: ["", ""],
                answered: Arc::default(),
                proxy: "".into(),
            };
            let mut tries = Tries::new(&patience);
            let (mut now, mut again) = (tries.started, 0);
            let e = loop {
                now += Duration::from_secs(takes);
                tries.seen.note(|seen| (seen.status, seen.retry_after) = (503, after.map(Duration::from_secs)));
                match tries.wait_after(
                    Failure::Store(object_store::Error::NotImplemented { operation: String::new(), implementer: String::new() }),
                    now,
                ) {
                    Ok(wait) => {
                        assert!(wait >= Duration::from_secs(after.unwrap_or(0)), "{retries} {after:?}: {wait:?}");
                        now += wait;
                        again += 1;
                    }
                    Err(e) => break e,
                }
            };
            assert_eq!(again, expected, "{retries} {after:?} {takes}: {e}");
            assert!(e.message().contains(text), "{retries} {after:?} {takes}: {e}");
        }
    }

    #[test]
    fn waits_are_random_and_bounded() {
        for done in 1..40 {
            assert!(jitter(done) <= LONGEST_WAIT);
        }
        let some: Vec<_> = (0..50).map(|_| jitter(6)).collect();
        assert!(some.iter().any(|wait| *wait != some[0]));
    }
}
