//! Notes of what servers say, and of what goes wrong on the way, in one try of an operation.

use crate::error::ErrorKind;
use crate::limits::MAX_UNTOLD;
use bytes::Bytes;
use object_store::client::{HttpError, HttpErrorKind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

tokio::task_local! {
    /// The notes of the try that is under way.
    pub(super) static SEEN: Arc<Seen>;
}

/// What an answer is for.
#[derive(Clone, Copy)]
pub(super) struct Purpose {
    /// The most bytes of an answer whose length nobody tells.
    pub untold: u64,
    /// What the headers say is all that is wanted.
    pub headers: bool,
    /// So is the object's version, for which its ETag is enough.
    pub version: bool,
    /// The server refuses ranges: they are cut out of the whole, which is asked for.
    pub without_range: bool,
}

impl Default for Purpose {
    fn default() -> Purpose {
        Purpose { untold: MAX_UNTOLD, headers: false, version: false, without_range: false }
    }
}

/// Notes of one try.
pub(super) struct Seen {
    sight: Mutex<Sight>,
    pub(super) purpose: Purpose,
    /// The whole object, where it came for a range of it.
    whole: Mutex<Option<Bytes>>,
    /// Requests go out by connections of their own.
    pub(super) anew: bool,
}

/// What the last answer of a try was like.
#[derive(Clone, Default)]
pub(super) struct Sight {
    /// The HTTP status, 0 without an answer.
    pub status: u16,
    /// The status that an error means which came in an answer that had begun as a good one, else 0.
    pub inside: u16,
    /// What time it was at the server, in seconds since 1970.
    pub date: Option<u64>,
    /// When to come again.
    pub retry_after: Option<Duration>,
    /// The error's code as the service names it.
    pub code: String,
    /// What the service says of it.
    pub text: String,
    /// The region that the bucket is in, where the server says so.
    pub region: Option<String>,
    /// What went wrong without an answer, or in the middle of one.
    pub transport: Option<String>,
    /// Of what kind that is.
    pub trouble: Trouble,
    /// The host and port that were asked, or those that the last redirection named.
    pub host: String,
    /// The status is that of a request for several keys, and no answer of any of them.
    pub of_several: bool,
    /// A service that gives out credentials was asked, not yet the store itself.
    pub credentials: bool,
    /// What says "missing" is a text that no service of objects sends, but a proxy before one does.
    pub foreign: bool,
    /// What says "missing" to a HEAD may be such a text: its headers announce one for people.
    pub may_be_foreign: bool,
    /// A HEAD was answered without the object's length, which a range of it may tell.
    pub no_length: bool,
    /// An HTML page came instead of an object.
    pub html: bool,
    /// A coding that the body has, and the object has not, behind the name of its header.
    pub coding: Option<String>,
    /// The length of the answer's body, as it says.
    pub length: Option<u64>,
    /// How many bytes of the body came where it broke off, as far as that is known.
    pub broke_off: Option<u64>,
    /// The length of the object, where a range of it begins behind its end.
    pub ends_at: Option<u64>,
    /// An object came instead of a range of it that has more bytes than these, which are read for a range.
    pub no_ranges: Option<u64>,
    /// What came is no listing, or none that can be gone on with.
    pub no_list: Option<(ErrorKind, &'static str)>,
    /// More than this number of bytes came in an answer whose length nobody told.
    pub too_long: Option<u64>,
}

impl Sight {
    /// The status that the answer means, whatever it began with.
    pub(super) fn meant(&self) -> u16 {
        if self.inside == 0 { self.status } else { self.inside }
    }

    /// Whether the store itself says that there is nothing of what was asked for.
    pub(super) fn is_missing(&self) -> bool {
        !self.credentials && !self.foreign && self.meant() == 404
    }

    /// Whether the store may mean that the credentials are no longer good. An answer to a HEAD has no code.
    pub(super) fn has_old_credentials(&self) -> bool {
        let is_such = match self.code.as_str() {
            "" => self.transport.is_none(),
            code => {
                matches!(code, "ExpiredToken" | "ExpiredTokenException" | "InvalidToken" | "TokenRefreshRequired" | "InvalidAccessKeyId")
            }
        };
        is_such && !self.credentials && matches!(self.meant(), 400 | 401 | 403)
    }

    /// Whether what was asked for may have been done though nobody says so, or nobody understands what says so.
    pub(super) fn is_lost(&self) -> bool {
        !self.credentials && !self.is_turned_away() && (self.transport.is_some() || matches!(self.meant(), 0 | 200..=299 | 500..))
    }

    /// Whether the server says that it has not begun with what was asked for. Other servers than Amazon's have the same code for what was
    /// done in part.
    fn is_turned_away(&self) -> bool {
        self.status == 503 && self.code == "SlowDown" && self.host.ends_with(".amazonaws.com")
    }

    pub(super) fn has_failed(&self) -> bool {
        self.transport.is_some() || self.meant() >= 300
    }
}

/// What went wrong on the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Trouble {
    /// The connection broke, say.
    #[default]
    Other,
    /// Silence for too long.
    Silence,
    /// No host of that name, nothing that listens there, or what ends each connection before it is one.
    Unreached,
    /// The server's certificate is not accepted. The text is what may help.
    Certificate(&'static str),
    /// What the server says is no TLS, or none that both speak.
    Encryption,
    /// A proxy refuses.
    Proxy,
    /// A proxy speaks SOCKS, which the library does not.
    Socks,
    /// A redirection that is not followed: one of too many, or to what is no web server.
    Redirection,
    /// The head of an answer contradicts itself.
    Answer,
    /// The system has no memory for what comes.
    Memory,
}

impl Seen {
    pub(super) fn new(purpose: Purpose, anew: bool) -> Seen {
        Seen { sight: Mutex::default(), purpose, whole: Mutex::default(), anew }
    }

    /// The whole object, where it came for a range of it.
    pub(super) fn take_whole(&self) -> Option<Bytes> {
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether the store's server answered.
    pub(super) fn answered(&self) -> bool {
        let sight = self.sight.lock().unwrap_or_else(PoisonError::into_inner);
        sight.status != 0 && !sight.credentials
    }

    pub(super) fn note(&self, f: impl FnOnce(&mut Sight)) {
        f(&mut self.sight.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// What was noted.
    pub(super) fn sight(&self) -> Sight {
        self.sight.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the answer is for that is under way.
pub(super) fn purpose() -> Purpose {
    SEEN.try_with(|seen| seen.purpose).unwrap_or_default()
}

/// Keeps the whole object that came for a range of it.
pub(super) fn keep_whole(whole: Bytes) {
    let _ = SEEN.try_with(|seen| *seen.whole.lock().unwrap_or_else(PoisonError::into_inner) = Some(whole));
}

pub(super) fn note(f: impl FnOnce(&mut Sight)) {
    let _ = SEEN.try_with(|seen| seen.note(f));
}

/// Notes that a request failed without an answer, or in the middle of one.
pub(super) fn note_transport(e: &HttpError) {
    let mut text = e.to_string();
    let mut trouble = if e.kind() == HttpErrorKind::Timeout { Trouble::Silence } else { Trouble::Other };
    let mut cause = std::error::Error::source(e);
    // The last cause is what the system said.
    while let Some(deeper) = cause {
        text = deeper.to_string();
        trouble = trouble_of(deeper, &text).unwrap_or(trouble);
        cause = deeper.source();
    }
    note(|seen| {
        seen.trouble = trouble;
        seen.transport = Some(text);
    });
}

/// What a cause of an error says of its kind.
fn trouble_of(cause: &(dyn std::error::Error + 'static), text: &str) -> Option<Trouble> {
    use std::io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable, OutOfMemory};
    // The connector's own errors are private types with these texts.
    match text {
        "tunnel error: proxy authorization required" => return Some(Trouble::Proxy),
        _ if text.starts_with("unsupported scheme socks") => return Some(Trouble::Socks),
        "too many redirects" | "URL scheme is not allowed" => return Some(Trouble::Redirection),
        "invalid content-length parsed" => return Some(Trouble::Answer),
        _ if text == "dns error" || text.starts_with("tunnel error") => return Some(Trouble::Unreached),
        _ => {}
    }
    if cause.downcast_ref::<reqwest::Error>().is_some_and(|e| e.is_connect() && (e.is_timeout() || is_cut(e))) {
        return Some(Trouble::Unreached);
    }
    let io = cause.downcast_ref::<std::io::Error>()?;
    if io.kind() == OutOfMemory {
        return Some(Trouble::Memory);
    }
    if matches!(io.kind(), ConnectionRefused | HostUnreachable | NetworkUnreachable) {
        return Some(Trouble::Unreached);
    }
    // Layers that hand it on put it into errors of their own.
    let mut inner = io.get_ref()?;
    while let Some(deeper) = inner.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref()) {
        inner = deeper;
    }
    match inner.downcast_ref::<rustls::Error>()? {
        // The general error is that there is nobody to trust.
        rustls::Error::InvalidCertificate(why) => Some(Trouble::Certificate(hint_of(why))),
        rustls::Error::NoCertificatesPresented | rustls::Error::General(_) => Some(Trouble::Certificate(UNKNOWN)),
        rustls::Error::InvalidMessage(_) | rustls::Error::PeerIncompatible(_) | rustls::Error::AlertReceived(_) => {
            Some(Trouble::Encryption)
        }
        _ => None,
    }
}

/// What is said of a certificate that nobody knows who is trusted.
const UNKNOWN: &str = " (the option \"cloud.ca_file\" or the variable SSL_CERT_FILE names the certificates of authorities to trust; one that a \
    server made for itself is none)";

/// What may help where a certificate is not accepted.
fn hint_of(why: &rustls::CertificateError) -> &'static str {
    use rustls::CertificateError::{
        Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext, Revoked,
    };
    match why {
        Expired | ExpiredContext { .. } => " (the certificate has expired, or the clock of this machine is wrong)",
        NotValidYet | NotValidYetContext { .. } => " (the certificate is not valid yet, or the clock of this machine is wrong)",
        NotValidForName | NotValidForNameContext { .. } => " (the certificate is for a server of another name)",
        Revoked => " (who made the certificate has revoked it)",
        _ => UNKNOWN,
    }
}

/// Whether the other side has ended the connection.
fn is_cut(e: &(dyn std::error::Error + 'static)) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
    match e.downcast_ref::<std::io::Error>() {
        Some(io) if matches!(io.kind(), BrokenPipe | ConnectionReset | UnexpectedEof) => true,
        // What such an error hands on is none of its causes.
        Some(io) => io.get_ref().is_some_and(|inner| is_cut(inner)),
        None => e.source().is_some_and(is_cut),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_help_against_a_certificate_is_told() {
        use rustls::CertificateError::{BadSignature, Expired, NotValidForName, NotValidYet, UnknownIssuer};
        for (why, told, is_of_authorities) in [
            (UnknownIssuer, "SSL_CERT_FILE", true),
            (BadSignature, "\"cloud.ca_file\"", true),
            (Expired, "has expired", false),
            (NotValidYet, "not valid yet", false),
            (NotValidForName, "another name", false),
        ] {
            let e = std::io::Error::other(rustls::Error::InvalidCertificate(why));
            let Some(Trouble::Certificate(hint)) = trouble_of(&e, "") else { panic!("{e}") };
            assert!(hint.contains(told) && hint.contains("ca_file") == is_of_authorities, "{e}: {hint}");
        }
    }

    #[test]
    fn what_may_have_been_done_is_told_by_all_that_was_seen() {
        let broken = Some("reset".to_string());
        for (status, inside, transport, expected) in [
            (0, 0, None, true),
            // Nobody asks this of an answer that was understood.
            (200, 0, None, true),
            (200, 0, broken.clone(), true),
            (200, 500, None, true),
            (200, 403, None, false),
            (403, 0, None, false),
            (503, 0, None, true),
        ] {
            let sight = Sight { status, inside, transport, ..Sight::default() };
            assert_eq!(sight.is_lost(), expected, "{status} {inside} {:?}", sight.transport);
            let unsent = Sight { credentials: true, ..sight };
            assert!(!unsent.is_lost(), "{status}: nothing was asked of the store without credentials");
        }
        for (host, code, expected) in [
            ("b.s3.eu-west-1.amazonaws.com", "SlowDown", false),
            ("b.s3.eu-west-1.amazonaws.com", "InternalError", true),
            ("minio:9000", "SlowDown", true),
        ] {
            let sight = Sight { status: 503, code: code.to_string(), host: host.to_string(), ..Sight::default() };
            assert_eq!(sight.is_lost(), expected, "{host} {code}");
        }
    }
}
