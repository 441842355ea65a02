//! The layer between the crate `object_store` and the network: it notes what the server says, which an error of that crate does not
//! tell, and mends answers that can be mended.

use super::bodies::{counted, cut, dated, is_all, measured, most_of, odd, read, tells_version, unread};
use super::client::{Own, client};
use super::date;
use super::error_text::{element, error_inside, is_error, key_not_asked_for, parts_of_batch};
use super::listing;
use super::sight::{SEEN, Sight, note, note_transport, purpose};
use super::within;
use object_store::HeaderValue;
use object_store::client::{ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The bytes that are read of an error's text.
const MOST_OF_ERROR: usize = 16 << 10;
/// The most bytes of an answer to what stores or erases: to a request for 1,000 keys it names each.
const MOST_OF_REPLY: usize = 16 << 20;

/// Makes clients that are watched.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    /// Counts the requests that go out.
    pub requests: Arc<AtomicU64>,
    pub own: Own,
    /// How many clients were made. The crate makes the store's own last, after those that get credentials for it.
    pub made: Arc<AtomicU64>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut options = options.clone();
        if self.own.tokens_near {
            options = options.with_allow_http(true);
        }
        let (usual, requests) = (Mutex::new(Arc::new(Clients::new(&options, &self.own)?)), self.requests.clone());
        let (anew, is_silent, own) = (OnceLock::new(), AtomicBool::new(false), self.own.clone());
        let (made, number) = (self.made.clone(), self.made.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(HttpClient::new(Watched { usual, is_silent, anew, options, own, requests, made, number }))
    }
}

#[derive(Debug)]
struct Clients {
    inner: HttpClient,
    /// Follows redirections within a host only.
    within: HttpClient,
}

impl Clients {
    fn new(options: &ClientOptions, own: &Own) -> object_store::Result<Clients> {
        let inner = client(options, own, reqwest::redirect::Policy::default())?;
        Ok(Clients { inner, within: within::client_within(options, own)? })
    }
}

/// How long a connection to a server that was silent once is kept for the next request.
const SHORT_IDLE: Duration = Duration::from_secs(1);

#[derive(Debug)]
struct Watched {
    usual: Mutex<Arc<Clients>>,
    /// The server was silent: connections are kept for [`SHORT_IDLE`] only.
    is_silent: AtomicBool,
    /// Those that keep no connections, once they are needed.
    anew: OnceLock<Arc<Clients>>,
    /// What clients are made of.
    options: ClientOptions,
    own: Own,
    requests: Arc<AtomicU64>,
    /// How many clients there are, and which one this is.
    made: Arc<AtomicU64>,
    number: u64,
}

impl Watched {
    /// What a request is for.
    fn asked(&self, request: &HttpRequest) -> Asked {
        let credentials = self.number != self.made.load(Ordering::Relaxed);
        Asked { credentials, web: self.own.is_web, ..Asked::of(request) }
    }

    /// The clients of this try. Where a connection broke, or was silent, others that are kept since then may be as dead: a try for each of
    /// them would be too many.
    fn clients(&self) -> Arc<Clients> {
        let usual = || self.usual.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !SEEN.try_with(|seen| seen.anew).unwrap_or(false) {
            return usual();
        }
        if self.anew.get().is_none()
            && let Ok(made) = Clients::new(&self.options.clone().with_pool_max_idle_per_host(0), &self.own)
        {
            let _ = self.anew.set(Arc::new(made));
        }
        self.anew.get().cloned().unwrap_or_else(usual)
    }

    /// Ends the connections that lie idle after a silence, and lets later ones lie for a short time only: a server of one thread hears no other
    /// connection while one is open.
    fn end_idle(&self, e: &HttpError) {
        if e.kind() != HttpErrorKind::Timeout || self.is_silent.swap(true, Ordering::Relaxed) {
            return;
        }
        if let Ok(made) = Clients::new(&self.options.clone().with_pool_idle_timeout(SHORT_IDLE), &self.own) {
            *self.usual.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(made);
        }
    }
}

/// The result of the trait's `async fn`.
type Answering<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'a>>;

impl HttpService for Watched {
    fn call<'a, 'b>(&'a self, mut request: HttpRequest) -> Answering<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            self.requests.fetch_add(1, Ordering::Relaxed);
            let (asked, clients) = (self.asked(&request), self.clients());
            if asked.get || asked.head {
                // Without this a server may choose any coding for what it sends.
                request.headers_mut().insert("accept-encoding", HeaderValue::from_static("identity"));
            }
            if asked.web && purpose().without_range {
                request.headers_mut().remove("range");
            }
            note(|seen| {
                // The credentials were had, however often they were asked for.
                if seen.credentials && !asked.credentials {
                    *seen = Sight::default();
                }
                (seen.host, seen.credentials) = (asked.host.clone(), asked.credentials);
            });
            let answer = match within::has_secret(&request) {
                true => within::execute(&clients.within, &clients.inner, request).await,
                false => clients.inner.execute(request).await,
            };
            match answer {
                Ok(mut response) => {
                    // What services tell is of the form that the crate knows.
                    if asked.web {
                        dated(&mut response);
                    }
                    watch(response, &asked).await
                }
                Err(e) => {
                    self.end_idle(&e);
                    note_transport(&e);
                    Err(e)
                }
            }
        })
    }
}

/// What a request wanted.
struct Asked {
    get: bool,
    head: bool,
    range: Option<String>,
    /// A page is what is asked for.
    page: bool,
    /// A listing of keys is asked for.
    list: bool,
    /// How many keys a batch of Azure's is to erase.
    batch: usize,
    /// The keys that S3 is to erase by one request, as its body names them.
    several: Option<String>,
    /// Host and port.
    host: String,
    /// Credentials are asked for, of a service that gives them out.
    credentials: bool,
    /// Of a web server, whose pages are answers.
    web: bool,
}

impl Asked {
    fn of(request: &HttpRequest) -> Asked {
        let range = request.headers().get("range").and_then(|value| value.to_str().ok()).map(str::to_string);
        let (uri, method) = (request.uri(), request.method().as_str());
        let (get, head) = (method == "GET", method == "HEAD");
        let port = uri.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let host = format!("{}{port}", uri.host().unwrap_or_default());
        let has = |wanted: &[&str]| uri.query().is_some_and(|query| query.split('&').any(|pair| wanted.contains(&pair)));
        let list = has(&["list-type=2", "comp=list"]);
        let parts = if has(&["comp=batch"]) { request.body().as_bytes() } else { None };
        let batch = parts.map_or(0, |parts| parts_of_batch(&String::from_utf8_lossy(parts)).count());
        let several = if method == "POST" && has(&["delete"]) { request.body().as_bytes() } else { None };
        let several = several.map(|body| String::from_utf8_lossy(body).into_owned());
        Asked { get, head, range, page: uri.path().ends_with(".html"), list, batch, several, host, credentials: false, web: false }
    }
}

async fn watch(response: HttpResponse, asked: &Asked) -> Result<HttpResponse, HttpError> {
    let status = response.status().as_u16();
    let text_of = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_string);
    let length = text_of("content-length").and_then(|value| value.parse::<u64>().ok());
    note(|seen| {
        // Of several requests in one try the one that failed counts, whether it was answered or not.
        if seen.has_failed() && status < 300 {
            return;
        }
        *seen = Sight { status, host: asked.host.clone(), credentials: asked.credentials, ..Sight::default() };
        seen.of_several = asked.several.is_some();
        seen.retry_after = text_of("retry-after").and_then(|value| date::wait(&value, text_of("date").as_deref()));
        seen.date = text_of("date").and_then(|value| date::seconds(&value));
        seen.region = text_of("x-amz-bucket-region");
        seen.code = text_of("x-ms-error-code").unwrap_or_default();
        seen.length = length;
        seen.ends_at = text_of("content-range").and_then(|range| range.trim().strip_prefix("bytes */")?.parse().ok());
    });
    if status >= 300 {
        return explained(response, asked).await;
    }
    if !asked.get || asked.credentials {
        let is_its_own = (length.is_some() || tells_version(&response)) && !(asked.web && coding_of(&response).is_some());
        note(|seen| seen.no_length = asked.head && !is_its_own);
        if asked.head && !is_its_own {
            return Err(odd("no length of the object"));
        }
        return match length {
            _ if !asked.head => replied(response, asked).await,
            Some(_) => Ok(response),
            None => Ok(unread(response, false)),
        };
    }
    if text_of("content-type").is_some_and(|kind| kind.starts_with("text/html")) && !asked.page {
        note(|seen| seen.html = true);
        return Err(odd("an HTML page"));
    }
    if asked.list {
        return listed(response).await;
    }
    if let Some(coding) = foreign_coding(&response, asked) {
        note(|seen| seen.coding = Some(coding));
        return Err(odd("a body with a coding"));
    }
    if asked.range.is_none() && status == 206 && !text_of("content-range").is_some_and(|range| is_all(&range, length)) {
        return Err(odd("a part of an object that was asked for as a whole"));
    }
    let response = measured(response, asked.range.as_deref());
    match (&asked.range, status, length) {
        (range, 200, None) if tells_version(&response) => Ok(unread(response, range.is_some())),
        (Some(range), 200, length) => cut(response, range, length).await,
        (range, _, None) => counted(response, range.as_deref().and_then(most_of)).await,
        _ => Ok(response),
    }
}

/// The coding that a body has by its headers, of those that make other bytes, behind the header's name. A header may come in several lines, as a proxy adds
/// its own; what is coded for the way is decoded by nobody.
fn coding_of(response: &HttpResponse) -> Option<String> {
    const KNOWN: [&str; 7] = ["gzip", "x-gzip", "deflate", "br", "zstd", "compress", "x-compress"];
    ["Content-Encoding", "Transfer-Encoding"].iter().find_map(|name| {
        let lines = response.headers().get_all(*name).iter().filter_map(|value| value.to_str().ok());
        let mut codings = lines.flat_map(|codings| codings.split(',')).map(str::trim);
        let found = codings.find(|coding| KNOWN.iter().any(|known| coding.eq_ignore_ascii_case(known)))?;
        Some(format!("{name} {found}"))
    })
}

/// The coding of a body whose bytes are not those of the object. In a service of objects one may be stored with a `Content-Encoding` of its own, as
/// uploads set it: then the answer has the lengths of the object. To readers of web servers what is meant are the bytes without it.
fn foreign_coding(response: &HttpResponse, asked: &Asked) -> Option<String> {
    let coding = coding_of(response)?;
    let text_of = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
    let Some(length) = text_of("content-length").and_then(|value| value.parse::<u64>().ok()) else { return Some(coding) };
    let told = || {
        let (first, last) = text_of("content-range")?.trim().strip_prefix("bytes ")?.split_once('/')?.0.split_once('-')?;
        last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
    };
    let is_foreign = match response.status().as_u16() {
        _ if asked.web => true,
        206 => told() != Some(length),
        _ => asked.range.is_some(),
    };
    is_foreign.then_some(coding)
}

/// A page of a listing.
async fn listed(response: HttpResponse) -> Result<HttpResponse, HttpError> {
    let (parts, body) = response.into_parts();
    let (mut bytes, all) = read(body, listing::MOST).await?;
    if let Some(wrong) = listing::fault(&bytes, all) {
        note(|seen| seen.no_list = Some(wrong));
        return Err(odd("no listing"));
    }
    listing::leave_out_unreadable(&mut bytes);
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}

/// An answer to what stores or erases, which is short. It begins before all is done, so that what went wrong may stand in it.
async fn replied(response: HttpResponse, asked: &Asked) -> Result<HttpResponse, HttpError> {
    let (parts, body) = response.into_parts();
    let (bytes, all) = read(body, MOST_OF_REPLY).await?;
    if !all {
        return Err(odd("found more than 16 MiB in an answer that should only say how it went"));
    }
    // Some servers give the type of a page to answers without a body.
    if is_page(&bytes) {
        note(|seen| seen.html = true);
        return Err(odd("an HTML page"));
    }
    let reply = String::from_utf8_lossy(&bytes);
    if let Some((status, code, text)) = error_inside(&reply) {
        note(|seen| {
            if !seen.has_failed() {
                (seen.inside, seen.code, seen.text) = (status, code, text);
            }
        });
        // The crate looks into no answer to a put.
        if is_error(&reply) {
            return Err(odd("an error"));
        }
    }
    // Of which the crate takes no key that it did not ask for.
    if let Some(key) = asked.several.as_ref().and_then(|request| key_not_asked_for(request, &reply)) {
        return Err(odd(format!("an error of the key {key:?}, which was not to be erased")));
    }
    if asked.batch > 0 {
        // The crate takes a key without an answer for erased, and one that it did not ask for for its own.
        let mut answered: Vec<_> = parts_of_batch(&reply).collect();
        answered.sort_unstable();
        if !answered.into_iter().eq((0..asked.batch).map(Some)) {
            return Err(odd("answers that are not those to the keys of the request, each once"));
        }
    }
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}

/// Whether the text of an error without a code is from something else than a service of objects. These send nothing, an XML document `Error`, or
/// as Google does a JSON object in `error`; a server that replaces one in tests sends the name of the status.
fn is_foreign(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let inside = if text.starts_with("<?xml") { text.split_once("?>").map_or("", |(_, rest)| rest.trim_start()) } else { text };
    let is_google = ["{", "\"error\"", ":", "{"].iter().try_fold(text, |rest, token| rest.trim_start().strip_prefix(token)).is_some();
    let is_status = ["not found", "forbidden"].iter().any(|status| text.eq_ignore_ascii_case(status));
    !(text.is_empty() || is_status || inside.starts_with("<Error") || is_google)
}

/// Whether an error's code names something that is not there.
fn names_missing(code: &str) -> bool {
    code.starts_with("NoSuch") || code.ends_with("NotFound")
}

/// Whether a text is a page for people.
fn is_page(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    ["<!doctype html", "<html"]
        .iter()
        .any(|begin| text.get(..begin.len()).is_some_and(|found| found.eq_ignore_ascii_case(begin.as_bytes())))
}

/// Notes what an error's body says.
async fn explained(response: HttpResponse, asked: &Asked) -> Result<HttpResponse, HttpError> {
    let (parts, body) = response.into_parts();
    // Until the whole text is there, before which the deadline may end the try, nobody knows whose it is.
    note(|seen| seen.foreign = !asked.web && !asked.credentials && matches!(seen.status, 403 | 404 | 410));
    // The status counts, whether or not the text can be had.
    let read = read(body, MOST_OF_ERROR).await;
    let is_broken = read.is_err();
    let bytes = read.map(|(bytes, _)| bytes).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    note(|seen| {
        if let Some(code) = element(&text, "Code") {
            seen.code = code;
        }
        seen.text = element(&text, "Message").unwrap_or_default();
        if seen.region.is_none() {
            seen.region = element(&text, "Region");
        }
        if seen.foreign {
            let is_text = parts.headers.get("content-type").is_some_and(|kind| kind.as_bytes().starts_with(b"text/"));
            let is_empty = parts.headers.get("content-length").is_some_and(|length| length.as_bytes() == b"0");
            seen.foreign = match seen.code.as_str() {
                "" => is_broken || is_foreign(text.trim()),
                code => seen.status != 403 && !names_missing(code),
            };
            seen.may_be_foreign = seen.code.is_empty() && asked.head && is_text && !is_empty;
        }
    });
    Ok(HttpResponse::from_parts(parts, bytes.into()))
}
