//! Locations of object stores and HTTP servers, and their options: what can be said of them without a network.
//!
//! | text | store |
//! |---|---|
//! | `s3://bucket/x.zarr` (`s3a:`) | Amazon S3, or what speaks its language (`cloud.endpoint`) |
//! | `gs://bucket/x.zarr` (`gcs:`) | Google Cloud Storage |
//! | `az://container/x.zarr` | Azure Blob Storage; the account is an option |
//! | `abfs://container@account.dfs.core.windows.net/x.zarr` (`abfss:`) | the same |
//! | `http://host/x.zarr`, `https://user:word@host/x.zarr?token` | any web server, for reading, by keys only |
//!
//! Keys of the first four are taken as they stand, as their own tools do; `http` URLs are percent-decoded. User, password and query
//! of a URL are credentials: they are sent, and never told.

pub use super::azure::Env;
use super::azure::{ENDPOINT_VARIABLES, usual_host};
use super::option_values::{auto_or_bool, seconds, whole};
use crate::error::{Result, bail, err};
use std::fmt;
use std::time::Duration;

/// A text that no message, log or debug output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one place that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The service behind a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Amazon S3 and compatible servers.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
    /// A web server without listing.
    Http,
}

impl Service {
    /// The variables of the environment that say where the service is, the first that is set.
    pub fn endpoint_variables(self) -> &'static [&'static str] {
        match self {
            Service::S3 => &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
            Service::Azure => ENDPOINT_VARIABLES,
            Service::Gcs => &["GOOGLE_BASE_URL", "STORAGE_EMULATOR_HOST"],
            Service::Http => &[],
        }
    }
}

/// A place in an object store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The service.
    pub service: Service,
    /// The bucket or container; of HTTP the scheme, host and port (`https://host:8080`), and the path up to the last `%2F` in it.
    pub base: String,
    /// The account, where an Azure URL names it.
    pub account: Option<String>,
    /// The host of blobs, where an Azure URL names one.
    pub host: Option<String>,
    /// The key that all keys stand below, without slashes at its ends; empty for the whole bucket.
    pub path: String,
    /// `user:word` as an HTTP URL has it.
    pub user: Option<Secret>,
    /// The query of an HTTP URL, which goes with every request.
    pub query: Option<Secret>,
    /// How URLs of the service begin.
    scheme: &'static str,
}

impl Remote {
    /// Understands `rest`, what follows the colon of `scheme`; `None` if the scheme is of another kind.
    pub fn parse(scheme: &str, rest: &str) -> Result<Option<Remote>> {
        let lower = scheme.to_ascii_lowercase();
        // Two names of one service are one place to locks and to what is noted of changes.
        let (service, known) = match lower.as_str() {
            "s3" | "s3a" => (Service::S3, "s3"),
            "gs" | "gcs" => (Service::Gcs, "gs"),
            "az" | "abfs" | "abfss" => (Service::Azure, "az"),
            "http" => (Service::Http, "http"),
            "https" => (Service::Http, "https"),
            _ => return Ok(None),
        };
        let Some(rest) = rest.strip_prefix("//") else { bail!(Location, "a URL of that scheme begins with {lower}://") };
        if rest.contains('\0') {
            bail!(Location, "the location contains a NUL");
        }
        let mut remote =
            Remote { service, base: String::new(), account: None, host: None, path: String::new(), user: None, query: None, scheme: known };
        if service == Service::Http {
            remote.take_http(rest)?
        } else {
            remote.take_bucket(rest)?
        }
        Ok(Some(remote))
    }

    fn take_bucket(&mut self, rest: &str) -> Result<()> {
        if is_signed(rest) {
            let way = match self.service {
                Service::Azure => "set it as \"cloud.sas_token\"",
                _ => "an https:// URL may have one",
            };
            bail!(Location, "a signature does not belong into a {}:// URL; {way}", self.scheme);
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let what = if self.service == Service::Azure { "container" } else { "bucket" };
        let mut name = authority;
        if let (Service::Azure, Some((container, host))) = (self.service, authority.split_once('@')) {
            name = container;
            self.take_account(host)?;
        } else if authority.contains('@') {
            bail!(Location, "credentials do not belong into a {}:// URL; set them as options or in the environment", self.scheme);
        }
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'$')) {
            bail!(Location, "{}:// names no {what}", self.scheme);
        }
        self.base = name.to_string();
        // How netCDF-C is told of a Zarr hierarchy.
        self.path = clean(path.split_once("#mode=").map_or(path, |(path, _)| path));
        self.check_parts()
    }

    /// Checks that no part of the path leads elsewhere.
    fn check_parts(&self) -> Result<()> {
        let Some(part) = self.path.split('/').find(|part| matches!(*part, "." | "..")) else { return Ok(()) };
        bail!(Location, "{}: found the name {part:?}, which no part of a key is", self.describe())
    }

    /// Takes what stands behind the container: an account, or a host of files (`dfs`) or blobs, whose first name is the account's.
    fn take_account(&mut self, host: &str) -> Result<()> {
        let host = host.to_ascii_lowercase();
        let (account, domain) = host.split_once('.').unwrap_or((&host, ""));
        let is_name = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if !host.split('.').all(is_name) {
            bail!(
                Location,
                "{}://: found the host {host:?}, expected an account or a host such as account.dfs.core.windows.net",
                self.scheme
            );
        }
        self.account = Some(account.to_string());
        self.host = (!domain.is_empty()).then(|| host.replacen(".dfs.", ".blob.", 1));
        Ok(())
    }

    fn take_http(&mut self, rest: &str) -> Result<()> {
        let whole = rest;
        let rest = rest.split('#').next().unwrap_or_default();
        let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
        // An empty port is the usual one. Where an `@` follows, a password may begin with a slash.
        let host = if whole[authority.len()..].contains('@') { host } else { host.strip_suffix(':').unwrap_or(host) };
        let bad = |b: u8| b.is_ascii_control() || matches!(b, b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}');
        if host.is_empty() || host.bytes().any(bad) {
            bail!(Location, "{}:// names no host", self.scheme);
        }
        if !has_port(host) {
            // It may be a part of a password, and is not told.
            bail!(Location, "{}://: what follows the host is no port (in a password, a slash is written as %2F)", self.scheme);
        }
        // A slash that is written so is part of a name, as the server has it.
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (fixed, parts) = parts.split_at(parts.iter().rposition(|part| part.to_ascii_lowercase().contains("%2f")).map_or(0, |i| i + 1));
        let fixed: String = fixed.iter().map(|part| format!("/{part}")).collect();
        let path = percent_decode(&parts.join("/")).and_then(|bytes| String::from_utf8(bytes).ok());
        let path = path.filter(|_| percent_decode(&fixed).is_some());
        let path =
            path.ok_or_else(|| err!(Location, "the path of the URL is not UTF-8, or a % is not followed by two hexadecimal digits"))?;
        if path.contains('\0') {
            bail!(Location, "the location contains a NUL");
        }
        self.base = format!("{}://{host}{fixed}", self.scheme);
        self.path = clean(&path);
        self.user = user.map(|text| Secret(text.to_string()));
        self.query = query.filter(|text| !text.is_empty()).map(|text| Secret(text.to_string()));
        self.check_parts()
    }

    /// The last name of what stays of a URL as it is written, because a slash is written as `%2F` in it.
    pub fn fixed_name(&self) -> Option<&str> {
        let (_, place) = self.base.split_once("://")?;
        place.rsplit_once('/').map(|(_, name)| name)
    }

    /// Gives this place with another path.
    pub fn at(&self, path: &str) -> Remote {
        Remote { path: clean(path), ..self.clone() }
    }

    /// The URL as it was given, with its credentials.
    pub fn location(&self) -> String {
        if self.service != Service::Http {
            return self.shown(self.host.as_deref());
        }
        let user = self.user.as_ref().map(|user| format!("{}@", user.expose())).unwrap_or_default();
        let query = self.query.as_ref().map(|query| format!("?{}", query.expose())).unwrap_or_default();
        let place = self.base.split_once("://").map_or("", |(_, place)| place);
        format!("{}://{user}{place}/{}{query}", self.scheme, percent_encode(self.path.as_bytes()))
    }

    /// The URL without credentials.
    pub fn describe(&self) -> String {
        // The place is one whether the host that is usual for the account is named or not.
        let is_usual = |host: &str| self.account.as_deref().is_some_and(|account| host == usual_host(account));
        self.shown(self.host.as_deref().filter(|host| !is_usual(host)))
    }

    /// The URL without credentials, with that host of blobs if there is one.
    fn shown(&self, host: Option<&str>) -> String {
        let base = match (&self.service, host.or(self.account.as_deref())) {
            (Service::Http, _) => self.base.clone(),
            (_, Some(account)) => format!("abfs://{}@{account}", self.base),
            (_, None) => format!("{}://{}", self.scheme, self.base),
        };
        if self.path.is_empty() { base } else { format!("{base}/{}", self.path) }
    }
}

/// Whether what follows a host, if anything does, is a port.
fn has_port(host: &str) -> bool {
    let rest = match host.split_once(']') {
        Some((_, rest)) if host.starts_with('[') => rest,
        _ => host.find(':').map_or("", |at| &host[at..]),
    };
    rest.is_empty() || rest.strip_prefix(':').is_some_and(|port| port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok())
}

/// Whether a query is signed, as services' tools write it for those who have no key. Names may have a `?` otherwise.
fn is_signed(rest: &str) -> bool {
    rest.split_once('?').is_some_and(|(_, query)| signatures(query).next().is_some())
}

/// The values of the parameters of a query that are signatures, as they stand there. The last name is of the older way of S3 and Google.
pub fn signatures(query: &str) -> impl Iterator<Item = &str> {
    const NAMES: [&str; 4] = ["sig", "X-Amz-Signature", "X-Goog-Signature", "Signature"];
    let pairs = query.split(['?', '&']).filter_map(|pair| pair.split_once('='));
    pairs.filter(|(name, _)| NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))).map(|(_, value)| value)
}

/// A path without empty parts.
fn clean(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

/// Whether a server keeps to the conditions of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conditional {
    /// Found out with the first conditional put, where it is not known.
    Auto,
    /// It does.
    Always,
    /// As `Auto`; where it does not, changes that need one are refused.
    Require,
    /// It does not: what is there is looked at before the put.
    Never,
}

/// How an object store is reached. Every option has the prefix `cloud.` in front of its name.
#[derive(Clone, Debug, PartialEq)]
pub struct RemoteOptions {
    /// Settings of the service such as `endpoint` and `region`, or any others that the crate `object_store` knows.
    pub named: Vec<(String, Secret)>,
    /// Whether requests go out unsigned; `None`: where no credentials are found.
    pub anonymous: Option<bool>,
    /// Whether the bucket is in the path of a URL (`true`) or in the host's name.
    pub path_style: Option<bool>,
    /// Whether plain HTTP is allowed; `None`: for `http:` locations, and on this machine.
    pub allow_http: Option<bool>,
    /// The section of the credentials file.
    pub profile: Option<String>,
    /// The credentials file.
    pub credentials_file: Option<String>,
    /// How long one operation may take with all its tries; bodies get a second more for each 64 KiB.
    pub deadline: Duration,
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a server may be silent.
    pub idle_timeout: Duration,
    /// How often an operation is tried again.
    pub retries: u32,
    /// Requests in flight.
    pub requests: usize,
    /// Bytes that are read in one request of the engine and not yet decoded.
    pub bytes: u64,
    /// Ranges of an object so near are read as one; `None`: the engine's choice.
    pub gap: Option<u64>,
    /// Values larger than this are put in parts of this many bytes.
    pub part: usize,
    /// Whether conditions of puts are kept.
    pub conditional: Conditional,
    /// Whether 403 on reading a key means that it is missing.
    pub forbidden_is_missing: bool,
    /// Whether credentials were left out, which are not for whom the location names.
    pub withheld: bool,
}

impl Default for RemoteOptions {
    fn default() -> RemoteOptions {
        RemoteOptions {
            named: Vec::new(),
            anonymous: None,
            path_style: None,
            allow_http: None,
            profile: None,
            credentials_file: None,
            deadline: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            retries: 10,
            requests: 64,
            bytes: 64 << 20,
            gap: None,
            part: 16 << 20,
            conditional: Conditional::Auto,
            forbidden_is_missing: false,
            withheld: false,
        }
    }
}

/// Options that are handed to the service as they are.
const NAMED: &[&str] = &[
    "endpoint",
    "region",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "account_name",
    "account_key",
    "sas_token",
    "bearer_token",
    "service_account",
    "ca_file",
    "proxy",
    "user_agent",
];

/// The names that the crate `object_store` has, too, for options that have one here.
const SPELLINGS: &[(Service, &str, &[&str])] = &[
    (Service::S3, "endpoint", &["aws_endpoint_url_s3", "aws_endpoint_url", "aws_endpoint", "endpoint_url"]),
    (Service::S3, "region", &["aws_region", "aws_default_region", "default_region"]),
    (Service::S3, "access_key_id", &["aws_access_key_id"]),
    (Service::S3, "secret_access_key", &["aws_secret_access_key"]),
    (Service::S3, "session_token", &["aws_session_token", "aws_token", "token"]),
    (Service::Gcs, "endpoint", &["google_base_url", "base_url"]),
    (Service::Gcs, "service_account", &["google_service_account", "google_service_account_path", "service_account_path"]),
    (Service::Gcs, "bearer_token", &["google_bearer_token"]),
    (Service::Azure, "endpoint", &["azure_storage_endpoint", "azure_endpoint"]),
    (Service::Azure, "account_name", &["azure_storage_account_name"]),
    (
        Service::Azure,
        "account_key",
        &["azure_storage_account_key", "azure_storage_access_key", "azure_storage_master_key", "master_key", "access_key"],
    ),
    (Service::Azure, "sas_token", &["azure_storage_sas_key", "azure_storage_sas_token", "sas_key"]),
    (Service::Azure, "bearer_token", &["azure_storage_token", "token"]),
];

/// The smallest part of an upload in parts that services allow.
const MIN_PART: u64 = 5 << 20;

impl RemoteOptions {
    /// Sets the option `cloud.{name}`; false if no option has that name. Values are never told in messages, as they may be credentials.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool> {
        match name {
            "anonymous" => self.anonymous = auto_or_bool(name, value)?,
            "path_style" => self.path_style = auto_or_bool(name, value)?,
            "allow_http" => self.allow_http = auto_or_bool(name, value)?,
            "profile" => self.profile = Some(value.to_string()),
            "credentials_file" => self.credentials_file = Some(value.to_string()),
            "deadline" => self.deadline = seconds(name, value)?,
            "connect_timeout" => self.connect_timeout = seconds(name, value)?,
            "idle_timeout" => self.idle_timeout = seconds(name, value)?,
            "retries" => self.retries = whole(name, value, 0, 1000)? as u32,
            "requests" => self.requests = whole(name, value, 1, 4096)? as usize,
            "bytes" => self.bytes = whole(name, value, 1 << 16, 1 << 40)?,
            "merge_gap" => self.gap = Some(whole(name, value, 0, 1 << 30)?),
            "part_size" => self.part = whole(name, value, MIN_PART, 1 << 30)? as usize,
            "conditional_put" => {
                self.conditional = match value {
                    "auto" => Conditional::Auto,
                    "always" => Conditional::Always,
                    "require" => Conditional::Require,
                    "never" => Conditional::Never,
                    other => {
                        bail!(Argument, "the option \"cloud.{name}\" is {other:?}, expected \"auto\", \"require\", \"always\" or \"never\"")
                    }
                }
            }
            "forbidden" => {
                self.forbidden_is_missing = match value {
                    "error" => false,
                    "missing" => true,
                    other => bail!(Argument, "the option \"cloud.{name}\" is {other:?}, expected \"error\" or \"missing\""),
                }
            }
            _ if NAMED.contains(&name) => self.set_named(name, value),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sets what only the service knows. The last value of a name counts.
    pub fn set_named(&mut self, name: &str, value: &str) {
        self.named.retain(|(other, _)| other != name);
        self.named.push((name.to_string(), Secret(value.to_string())));
    }

    /// As this location, with one name for each setting of the service.
    pub fn spelled(&self, service: Service) -> RemoteOptions {
        let mut spelled = RemoteOptions { named: Vec::new(), ..self.clone() };
        for (name, value) in &self.named {
            let known = SPELLINGS.iter().find(|(of, _, others)| *of == service && others.contains(&name.as_str()));
            spelled.set_named(known.map_or(name, |(_, ours, _)| ours), value.expose());
        }
        spelled
    }

    /// The value of such a setting.
    pub fn named(&self, name: &str) -> Option<&str> {
        self.named.iter().find(|(other, _)| other == name).map(|(_, value)| value.expose())
    }
}

/// Bytes of a path as a URL has them.
pub(super) fn percent_encode(path: &[u8]) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'-' | b'.' | b'_' | b'~');
    path.iter().map(|&b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// The bytes that a text with `%XX` means; `None` if two digits do not follow a `%`.
pub(super) fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let digit = |b: Option<u8>| char::from(b?).to_digit(16).map(|d| d as u8);
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        decoded.push(if b == b'%' { digit(bytes.next())? << 4 | digit(bytes.next())? } else { b });
    }
    Some(decoded)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::ErrorKind;

    pub fn parse(url: &str) -> Result<Remote> {
        let (scheme, rest) = url.split_once(':').unwrap();
        Remote::parse(scheme, rest).map(|found| found.unwrap())
    }

    #[test]
    fn urls_are_told_without_their_credentials() {
        let cases = [
            ("s3://b/x.zarr/", "s3://b/x.zarr", "b", "x.zarr"),
            ("S3A://b", "s3://b", "b", ""),
            ("gcs://b/x", "gs://b/x", "b", "x"),
            ("abfss://c@acc.dfs.core.windows.net/x", "abfs://c@acc/x", "c", "x"),
            ("abfs://c/x", "az://c/x", "c", "x"),
            ("gs://b//x%20y//", "gs://b/x%20y", "b", "x%20y"),
            ("az://c/x", "az://c/x", "c", "x"),
            ("abfs://c@acc.dfs.core.windows.net/x", "abfs://c@acc/x", "c", "x"),
            ("abfs://c@Acc.dfs.core.chinacloudapi.cn/x", "abfs://c@acc.blob.core.chinacloudapi.cn/x", "c", "x"),
            ("https://h:8080/a%20b/x.zarr", "https://h:8080/a b/x.zarr", "https://h:8080", "a b/x.zarr"),
            ("https://user:plant1@h/x?sig=plant2#f", "https://h/x", "https://h", "x"),
            ("http://h:/x", "http://h/x", "http://h", "x"),
            ("http://u:w@h:?q", "http://h", "http://h", ""),
            ("https://h//api/group%2Fname/raw%20x/y", "https://h/api/group%2Fname/raw x/y", "https://h/api/group%2Fname", "raw x/y"),
            ("s3://b/x.zarr#mode=nczarr,s3", "s3://b/x.zarr", "b", "x.zarr"),
            ("az://c/a?b&c=sig.zarr", "az://c/a?b&c=sig.zarr", "c", "a?b&c=sig.zarr"),
        ];
        for (url, shown, base, path) in cases {
            let remote = parse(url).unwrap();
            assert_eq!((remote.describe().as_str(), remote.base.as_str(), remote.path.as_str()), (shown, base, path), "{url}");
            assert!(!format!("{remote:?}").contains("plant"), "{url}");
        }
        assert_eq!(parse("https://user:w@h/x?sig=1").unwrap().query.unwrap().expose(), "sig=1");
        assert!(Remote::parse("ftp", "//h/x").unwrap().is_none());
        for url in ["http://h:8080/x", "http://[::1]/x", "http://[::1]:9/x", "https://u:w@[::1]:9/x", "http://[::1]:/x"] {
            assert!(parse(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn urls_that_name_nothing_are_refused() {
        for url in [
            "s3:b/x",
            "s3:///x",
            "s3://key:plant@b/x",
            "gs://",
            "az://",
            "s3://b/x/../y",
            "http://h/n/../a.zarr",
            "http://h/./a.zarr",
            "gs://b/./x",
            "abfs://c@/x",
            "abfs://c@a:9/x",
            "http://",
            "http:///x",
            "https://a b/x",
            "http://h/%zz",
            "http://h/%2f%zz",
            "s3://b/a\0b",
            "https://h/x?sig=\0",
            "https://h/a%00b",
            "https://user:plant/ed@h/x",
            "https://user:plant%zz/ed@h/x?y",
            "http://user:/plant@h/x",
            "http://user:/pl?plant#plant@h/x",
            "http://:/plant",
            "http://h::/plant",
            "http://h:65536/x",
            "http://h:9:9/x",
            "http://[::1]plant/x",
            "http://[::1]:plant/x",
            "az://c/x.zarr?sv=2026&sig=plant",
            "abfs://c@a/x.zarr?SIG=plant%2F&sv=2026",
            "s3://b/x.zarr?X-Amz-Algorithm=a&X-Amz-Signature=plant",
            "gs://b/x.zarr?X-Goog-Signature=plant",
            "s3://b/x.zarr?AWSAccessKeyId=a&Expires=1&Signature=plant%3D",
            "gs://b/x.zarr?GoogleAccessId=a@b&Expires=1&Signature=plant%3D",
        ] {
            let e = parse(url).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Location, "{url}");
            assert!(!e.message().contains("plant"), "{url}: {e}");
        }
    }

    #[test]
    fn options_are_checked_and_the_last_value_counts() {
        let mut options = RemoteOptions::default();
        for (name, value) in
            [("region", "a"), ("region", "b"), ("deadline", "0.5"), ("requests", "8"), ("anonymous", "true"), ("merge_gap", "0")]
        {
            assert!(options.set(name, value).unwrap(), "{name}");
        }
        assert_eq!((options.named("region"), options.named.len()), (Some("b"), 1));
        assert_eq!(
            (options.deadline, options.requests, options.anonymous, options.gap),
            (Duration::from_millis(500), 8, Some(true), Some(0))
        );
        assert!(!options.set("regoin", "a").unwrap());
        for (name, value) in
            [("deadline", "0"), ("deadline", "NaN"), ("requests", "0"), ("path_style", "yes"), ("part_size", "1"), ("forbidden", "no")]
        {
            assert_eq!(options.set(name, value).unwrap_err().kind(), ErrorKind::Argument, "{name} {value}");
        }
        options.set("secret_access_key", "plant").unwrap();
        assert!(!format!("{options:?}").contains("plant"));
    }
}
