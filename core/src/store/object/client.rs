//! Makes the HTTP clients beneath the crate `object_store`. The one that it would make speaks HTTP/2, too, which is slower for objects and
//! half a megabyte of code.

#[cfg(all(unix, not(target_vendor = "apple")))]
use super::roots::trust;
use super::sight::{SEEN, note};
use super::silence::{Sent, heard};
use object_store::HeaderMap;
use object_store::client::{
    ClientConfigKey as Key, ClientOptions, HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Certificate, Method, NoProxy, Proxy, Request, Url, redirect::Policy};
use rustls::pki_types::{CertificateDer, pem::PemObject};
use std::error::Error;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a server may be silent where no option says so.
const IDLE: Duration = Duration::from_secs(30);

/// What the crate's options do not tell again.
#[derive(Clone, Debug, Default)]
pub(super) struct Own {
    pub certificates: Vec<CertificateDer<'static>>,
    /// Of every request.
    pub headers: HeaderMap,
    /// The server is a web server, to which a plus sign may mean a space. Services get paths as they were signed.
    pub is_web: bool,
    /// No request says who asks.
    pub is_unsigned: bool,
    /// The service that gives out credentials may speak plain HTTP: it is on this machine, or the user allows it.
    pub tokens_near: bool,
}

tokio::task_local! {
    /// The method of this task's request.
    static METHOD: Method;
}

/// Makes a client that follows redirections as `redirect` says, and tells nobody where they came from: the query of a URL may be a secret. One by 303 is followed by a GET, and that of a POST by 301 and 302, too. A GET
/// stores and erases nothing, and gets no token: for a request that should have, the redirection is the answer.
pub(super) fn client(options: &ClientOptions, own: &Own, redirect: Policy) -> object_store::Result<HttpClient> {
    let idle = duration(options, Key::ReadTimeout)?.unwrap_or(IDLE);
    let (client, direct) = (make(options, own, redirect, false)?, OnceLock::new());
    Ok(HttpClient::new(Plain { client, direct, idle, options: options.clone(), own: own.clone() }))
}

fn make(options: &ClientOptions, own: &Own, redirect: Policy, is_direct: bool) -> object_store::Result<reqwest::Client> {
    let accepts_all = flag(options, Key::AllowInvalidCertificates)?;
    let mut builder = reqwest::Client::builder()
        .redirect(reading(redirect))
        .referer(false)
        .default_headers(own.headers.clone())
        .tls_danger_accept_invalid_certs(accepts_all)
        .https_only(!flag(options, Key::AllowHttp)?);
    if flag(options, Key::Http2Only)? {
        return Err(refused("http2_only: servers are asked in HTTP/1.1".into()));
    }
    if flag(options, Key::RandomizeAddresses)? {
        builder = builder.dns_resolver(Arc::new(Shuffled));
    }
    if let Some(agent) = options.get_config_value(&Key::UserAgent) {
        builder = builder.user_agent(agent);
    }
    let mut certificates = own.certificates.clone();
    if is_direct {
        builder = builder.no_proxy();
    } else if let Some(url) = options.get_config_value(&Key::ProxyUrl) {
        let excluded = options.get_config_value(&Key::ProxyExcludes).and_then(|list| NoProxy::from_string(&list));
        builder = builder.proxy(Proxy::all(url).map_err(wrong)?.no_proxy(excluded));
        if let Some(pem) = options.get_config_value(&Key::ProxyCaCertificate) {
            certificates.push(CertificateDer::from_pem_slice(pem.as_bytes()).map_err(bad_certificate)?);
        }
    }
    builder = if accepts_all || flag(options, Key::NoSystemCertificates)? {
        builder.tls_certs_only(as_reqwest(&certificates).map_err(wrong)?)
    } else {
        trust(builder, certificates).map_err(bad_certificate)?
    };
    if let Some(most) = duration(options, Key::Timeout)? {
        builder = builder.timeout(most);
    }
    if let Some(most) = duration(options, Key::ConnectTimeout)? {
        builder = builder.connect_timeout(most);
    }
    if let Some(most) = duration(options, Key::PoolIdleTimeout)? {
        builder = builder.pool_idle_timeout(most);
    }
    if let Some(most) = options.get_config_value(&Key::PoolMaxIdlePerHost) {
        let most = most.parse().map_err(|_| refused(format!("pool_max_idle_per_host: found {most:?}, expected a number")))?;
        builder = builder.pool_max_idle_per_host(most);
    }
    builder.build().map_err(wrong)
}

/// Follows redirections as `redirect` says where the method stays.
fn reading(redirect: Policy) -> Policy {
    Policy::custom(move |attempt| {
        let status = attempt.status().as_u16();
        let becomes_get = |method: &Method| match *method {
            Method::GET | Method::HEAD => false,
            Method::POST => matches!(status, 301..=303),
            _ => status == 303,
        };
        let (host, port) = (attempt.url().host_str().unwrap_or_default(), attempt.url().port());
        let host = port.map_or_else(|| host.to_string(), |port| format!("{host}:{port}"));
        let is_lost = METHOD.try_with(becomes_get).unwrap_or(false);
        if is_lost {
            return attempt.stop();
        }
        // It is the one to name if the request fails.
        note(|seen| seen.host = host);
        redirect.redirect(attempt)
    })
}

/// What is said of a server that cannot be reached where a proxy may be asked for it.
pub(super) fn proxy_hint(option: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> String {
    const VARIABLES: [&str; 6] = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    // Users and passwords are not told.
    let host = |url: &str| {
        // A password may have a slash.
        let place = url.split_once("://").map_or(url, |(_, rest)| rest).rsplit('@').next().unwrap_or_default();
        place.split('/').next().unwrap_or_default().to_string()
    };
    match (option, VARIABLES.iter().find_map(|name| Some((name, env(name)?)))) {
        (Some(url), _) => format!(" (by the proxy {}, which the option \"cloud.proxy\" names)", host(url)),
        (None, Some((name, url))) => format!(" (maybe by a proxy: {name} names {})", host(&url)),
        (None, None) => String::new(),
    }
}

/// Whether a URL leads to this machine.
pub(super) fn is_loopback(url: &str) -> bool {
    let url = reqwest::Url::parse(url).ok();
    url.is_some_and(|url| matches!(url.host_str(), Some("127.0.0.1" | "localhost" | "[::1]")))
}

/// Whether a URL leads to this machine, or to an address of its link only, as what gives out a machine's credentials has one.
fn is_near(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    match host.trim_matches(['[', ']']).parse() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unicast_link_local() || ip.segments()[..2] == [0xfd00, 0xec2],
        Err(_) => matches!(host, "localhost" | "metadata.google.internal"),
    }
}

/// Whether credentials of a container may be asked for there: by TLS, on this machine, or of the services that AWS has for it.
pub(super) fn is_for_machines(uri: &str) -> bool {
    let Ok(url) = Url::parse(uri) else { return false };
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    url.scheme() == "https" || is_here || matches!(host, "169.254.170.2" | "169.254.170.23" | "fd00:ec2::23")
}

fn as_reqwest(certificates: &[CertificateDer<'static>]) -> reqwest::Result<Vec<Certificate>> {
    certificates.iter().map(|der| Certificate::from_der(der)).collect()
}

/// Lets a client trust those whom the system trusts, which judges each certificate itself, and those of the certificates besides.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
fn trust(builder: reqwest::ClientBuilder, others: Vec<CertificateDer<'static>>) -> reqwest::Result<reqwest::ClientBuilder> {
    Ok(builder.tls_certs_merge(as_reqwest(&others)?))
}

/// An option that is true or false, as the crate reads them.
fn flag(options: &ClientOptions, key: Key) -> object_store::Result<bool> {
    let text = options.get_config_value(&key).unwrap_or_default();
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "0" | "false" | "off" | "no" | "n" | "" => Ok(false),
        _ => Err(refused(format!("{}: found {text:?}, expected true or false", key.as_ref()))),
    }
}

/// An option that is a time, such as `30 s`.
fn duration(options: &ClientOptions, key: Key) -> object_store::Result<Option<Duration>> {
    let Some(text) = options.get_config_value(&key) else { return Ok(None) };
    let time = humantime::parse_duration(&text);
    time.map(Some).map_err(|_| refused(format!("{}: found {text:?}, expected a time such as \"30 s\"", key.as_ref())))
}

fn refused(text: String) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: text.into() }
}

/// A client that cannot be made. Its URL may have a password.
fn wrong(e: reqwest::Error) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: Box::new(e.without_url()) }
}

/// A certificate that no client can take.
fn bad_certificate(e: impl Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: Box::new(e) }
}

#[derive(Debug)]
struct Plain {
    client: reqwest::Client,
    /// One that asks no proxy, once it is needed.
    direct: OnceLock<reqwest::Client>,
    /// How long a server may be silent.
    idle: Duration,
    /// What the clients are made of.
    options: ClientOptions,
    own: Own,
}

impl Plain {
    /// The client for a URL. What gives out the credentials of a machine is asked without a proxy, which would get them, or would ask for its own.
    fn client_for(&self, url: &Url) -> object_store::Result<&reqwest::Client> {
        let is_of_machine = is_near(url) && SEEN.try_with(|seen| seen.sight().credentials).unwrap_or(false);
        if is_of_machine && self.direct.get().is_none() {
            let _ = self.direct.set(make(&self.options, &self.own, Policy::none(), true)?);
        }
        Ok(self.direct.get().filter(|_| is_of_machine).unwrap_or(&self.client))
    }
}

impl HttpService for Plain {
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let mut url: Url = parts.uri.to_string().parse().map_err(|e| HttpError::new(HttpErrorKind::Unknown, e))?;
            // S3 as a web server takes a plus sign for a space.
            if self.own.is_web && url.path().contains('+') {
                url.set_path(&url.path().replace('+', "%2B"));
            }
            let client = self.client_for(&url).map_err(|e| HttpError::new(HttpErrorKind::Unknown, e))?;
            let mut request = Request::new(parts.method.clone(), url);
            *request.headers_mut() = parts.headers;
            if self.own.is_unsigned {
                request.headers_mut().remove("authorization");
            }
            let (sent, body) = Sent::of(body, self.idle).await;
            *request.body_mut() = Some(body);
            let mut response = sent.wait_for(METHOD.scope(parts.method, client.execute(request))).await?.map_err(failed)?;
            let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
            let mut answer = HttpResponse::new(heard(response.into(), self.idle, failed));
            (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
            Ok(answer)
        })
    }
}

/// The error of a request or of an answer's body.
fn failed(e: reqwest::Error) -> HttpError {
    let (mut is_silent, mut cause) = (e.is_timeout(), e.source());
    while let Some(deeper) = cause {
        is_silent |= deeper.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::TimedOut);
        cause = deeper.source();
    }
    let kind = if e.is_connect() {
        HttpErrorKind::Connect
    } else if is_silent {
        HttpErrorKind::Timeout
    } else {
        HttpErrorKind::Unknown
    };
    HttpError::new(kind, e.without_url())
}

/// The addresses of a host in any order, so that all of its machines are asked.
struct Shuffled;

impl Resolve for Shuffled {
    fn resolve(&self, name: Name) -> Resolving {
        let addresses = move || -> std::io::Result<Vec<SocketAddr>> {
            let mut found: Vec<_> = (name.as_str(), 0).to_socket_addrs()?.collect();
            found.sort_by_cached_key(|address| RandomState::new().hash_one(address));
            Ok(found)
        };
        Box::pin(async move { Ok(Box::new(tokio::task::spawn_blocking(addresses).await??.into_iter()) as Addrs) })
    }
}

#[cfg(test)]
mod tests {
    use crate::store::object::tests::{serve, store_at};
    use crate::store::{Storage, get};

    #[test]
    fn no_proxy_is_asked_for_credentials_of_this_machine() {
        const KEYS: &str = r#"{"AccessKeyId":"i","SecretAccessKey":"s","Token":"t","Expiration":"2096-01-01T00:00:00Z"}"#;
        let (near, asked) = serve(|_| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{KEYS}", KEYS.len()));
        let (proxy, told) = serve(|_| {
            "HTTP/1.1 206 Partial\r\nETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Range: bytes 0-2/3\r\n\
             Content-Length: 3\r\nConnection: close\r\n\r\nyes"
                .to_string()
        });
        let folder = crate::store::suite::TestFolder::new("no-proxy");
        std::fs::create_dir_all(&*folder).unwrap();
        let file = folder.join("token");
        std::fs::write(&file, "planted").unwrap();
        let (uri, proxy) = (format!("http://127.0.0.1:{near}/creds"), format!("http://127.0.0.1:{proxy}"));
        let options = [
            ("proxy", proxy.as_str()),
            ("container_credentials_full_uri", uri.as_str()),
            ("container_authorization_token_file", file.to_str().unwrap()),
        ];
        let store = store_at(1, &options);
        assert_eq!(get(&store as &dyn Storage, "key", 100).unwrap().unwrap(), b"yes");
        assert!(asked.lock().unwrap().concat().contains("authorization: planted"));
        let told = told.lock().unwrap().concat();
        assert!(told.contains("/bucket/key") && told.contains("x-amz-security-token: t") && !told.contains("creds"), "{told}");
        // As AWS's own tools do, a token with the end of a line is refused.
        std::fs::write(&file, "planted\n").unwrap();
        let e = get(&store_at(1, &options) as &dyn Storage, "key", 100).unwrap_err();
        assert!(e.message().contains("end of a line") && !e.message().contains("planted"), "{e}");
    }
}
