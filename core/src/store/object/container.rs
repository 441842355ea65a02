//! Credentials of S3 that a service gives out to a container: the one beneath would send the end of a line of the token's file, and knows no token
//! that a variable has.

use object_store::aws::AwsCredential;
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use object_store::{CredentialProvider, Error, HeaderValue, Result};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::Mutex;

/// How long before they expire credentials are got anew.
const BEFORE: Duration = Duration::from_secs(300);
/// How long the service is not asked again for better ones than those that it gave.
const PAUSE: Duration = Duration::from_secs(1);
/// The same where those have expired, as this machine's clock has it.
const PAUSE_EXPIRED: Duration = Duration::from_millis(100);

/// What the service is shown.
#[derive(Debug)]
pub(super) enum Token {
    /// The path of a file, which is read each time.
    File(String),
    Text(String),
}

/// Such a service, and what it gave.
pub(super) struct Container {
    url: String,
    token: Option<Token>,
    client: HttpClient,
    given: Mutex<Option<Given>>,
}

struct Given {
    credential: Arc<AwsCredential>,
    /// When they expire; `None`: never.
    until: Option<SystemTime>,
    /// When the service was asked last.
    asked: Instant,
}

impl Given {
    /// How long they are good; `None`: they have expired.
    fn left(&self) -> Option<Duration> {
        self.until.map_or(Some(Duration::MAX), |until| until.duration_since(SystemTime::now()).ok())
    }

    fn is_good(&self) -> bool {
        match self.left() {
            Some(left) => left > BEFORE || self.asked.elapsed() < PAUSE,
            None => self.asked.elapsed() < PAUSE_EXPIRED,
        }
    }
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Container {
    pub fn new(url: String, token: Option<Token>, client: HttpClient) -> Container {
        Container { url, token, client, given: Mutex::default() }
    }

    async fn get(&self) -> Result<Arc<AwsCredential>> {
        let mut given = self.given.lock().await;
        if let Some(given) = given.as_ref().filter(|given| given.is_good()) {
            return Ok(given.credential.clone());
        }
        match self.ask().await {
            Ok((credential, until)) => {
                let credential = Arc::new(credential);
                *given = Some(Given { credential: credential.clone(), until, asked: Instant::now() });
                Ok(credential)
            }
            Err(e) => {
                let given = given.as_mut().filter(|given| given.left().is_some()).ok_or(e)?;
                given.asked = Instant::now();
                Ok(given.credential.clone())
            }
        }
    }

    async fn ask(&self) -> Result<(AwsCredential, Option<SystemTime>)> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        *request.uri_mut() = self.url.parse().map_err(|_| failed("its URL cannot be read"))?;
        request.headers_mut().insert("accept", HeaderValue::from_static("application/json"));
        if let Some(token) = self.token()? {
            request.headers_mut().insert("authorization", token);
        }
        let response = self.client.execute(request).await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(failed(format!("it answered {}", response.status())));
        }
        let body = response.into_body().bytes().await.map_err(failed)?;
        parse(&body).map_err(failed)
    }

    fn token(&self) -> Result<Option<HeaderValue>> {
        let (text, from) = match &self.token {
            None => return Ok(None),
            Some(Token::Text(text)) => (text.clone(), "AWS_CONTAINER_AUTHORIZATION_TOKEN".to_string()),
            Some(Token::File(file)) => {
                let read = std::fs::read_to_string(file);
                (read.map_err(|e| failed(format!("the file of its token, {file:?}: {e}")))?, format!("the file {file:?}"))
            }
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| failed(format!("its token in {from} has the end of a line or another character that no header of HTTP has")))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

impl CredentialProvider for Container {
    type Credential = AwsCredential;

    fn get_credential<'a, 'b>(&'a self) -> Pin<Box<dyn Future<Output = Result<Arc<AwsCredential>>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.get())
    }
}

/// The keys of an answer, and when they expire; else what is wrong.
fn parse(body: &[u8]) -> Result<(AwsCredential, Option<SystemTime>), &'static str> {
    const NO_KEYS: &str = "its answer has no keys";
    let all: Value = serde_json::from_slice(body).map_err(|_| NO_KEYS)?;
    let text = |name: &str| all.get(name).and_then(Value::as_str).map(str::to_string);
    let (Some(key_id), Some(secret_key)) = (text("AccessKeyId"), text("SecretAccessKey")) else { return Err(NO_KEYS) };
    let until = match text("Expiration") {
        Some(until) => Some(time_of(&until).ok_or("the \"Expiration\" of its answer is no time as RFC 3339 writes it")?),
        None => None,
    };
    Ok((AwsCredential { key_id, secret_key, token: text("Token") }, until))
}

/// The time that a text of RFC 3339 says; its zone may be any.
fn time_of(text: &str) -> Option<SystemTime> {
    let cut = text.len().checked_sub("+00:00".len()).and_then(|at| text.split_at_checked(at));
    let Some((local, zone)) = cut.filter(|(_, zone)| zone.starts_with(['+', '-'])) else {
        return humantime::parse_rfc3339(text).ok();
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.len() == 2);
    let offset = Duration::from_secs(60 * (60 * number(hours)? + number(minutes)?));
    let time = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    if zone.starts_with('-') { time.checked_add(offset) } else { time.checked_sub(offset) }
}

fn failed(why: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Generic { store: "the service of the container's credentials", source: why.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::object::client::{Own, client};
    use crate::store::object::tests::serve;
    use object_store::client::ClientOptions;

    /// The token, what the service answers, and the key that is found, or what is said instead.
    #[test]
    fn credentials_of_a_container_are_got_once_and_anew_before_they_expire() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let keys = |until: &str| format!(r#"{{"AccessKeyId":"i","SecretAccessKey":"s","Token":"t"{until}}}"#);
        let (far, near) = (r#","Expiration":"2096-01-01T00:00:00+00:00""#, r#","Expiration":"2026-01-01T00:00:00Z""#);
        let soon = SystemTime::now() + Duration::from_secs(120);
        let soon = format!(r#","Expiration":"{}""#, humantime::format_rfc3339_seconds(soon));
        let text = |text: &str| Some(Token::Text(text.to_string()));
        for (token, answer, expected, asked) in [
            (text("planted"), keys(far), "i", 1),
            (None, keys(""), "i", 1),
            (text("planted"), keys(near), "i", 2),
            (None, keys(&soon), "i", 1),
            (None, keys(r#","Expiration":"2096-01-01T00:00:00+02:00""#), "i", 1),
            (text("planted\n"), keys(far), "AWS_CONTAINER_AUTHORIZATION_TOKEN has the end of a line", 0),
            (Some(Token::File("/nowhere/token".to_string())), keys(far), "/nowhere/token", 0),
            (None, keys(r#","Expiration":"soon""#), "\"Expiration\" of its answer is no time", 2),
            (None, "{}".to_string(), "no keys", 2),
        ] {
            let header = if token.is_some() { "\r\nauthorization: planted\r\n" } else { "" };
            let (port, heads) =
                serve(move |_| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}", answer.len()));
            let http = client(&ClientOptions::new().with_allow_http(true), &Own::default(), reqwest::redirect::Policy::none()).unwrap();
            let container = Container::new(format!("http://127.0.0.1:{port}/c"), token, http);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            for i in 0..2 {
                std::thread::sleep(PAUSE_EXPIRED * i);
                match runtime.block_on(container.get_credential()) {
                    Ok(found) => assert_eq!((found.key_id.as_str(), found.token.as_deref()), (expected, Some("t"))),
                    Err(e) => {
                        let told = std::error::Error::source(&e).unwrap().to_string();
                        assert!(told.contains(expected) && !told.contains("planted"), "{told}");
                    }
                }
            }
            let heads = heads.lock().unwrap();
            assert_eq!(heads.len(), asked, "{expected}");
            assert!(heads.iter().all(|head| head.contains(header) && head.contains("authorization") != header.is_empty()), "{heads:?}");
        }
    }

    /// How long the credentials are good, when they were got, and whether they are used where the service gives none; how often it is asked for two.
    #[test]
    fn what_has_not_expired_is_used_while_the_service_gives_none() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let now = (SystemTime::now(), Instant::now());
        for (until, asked, is_used, requests) in
            [(now.0 + Duration::from_secs(120), now.1 - PAUSE, true, 1), (now.0 - Duration::from_secs(120), now.1 - PAUSE, false, 2)]
        {
            let (port, heads) = serve(|_| "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let http = client(&ClientOptions::new().with_allow_http(true), &Own::default(), reqwest::redirect::Policy::none()).unwrap();
            let container = Container::new(format!("http://127.0.0.1:{port}/c"), None, http);
            let credential = Arc::new(AwsCredential { key_id: "i".to_string(), secret_key: "s".to_string(), token: None });
            *container.given.try_lock().unwrap() = Some(Given { credential, until: Some(until), asked });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            for _ in 0..2 {
                assert_eq!(runtime.block_on(container.get_credential()).is_ok(), is_used);
            }
            assert_eq!(heads.lock().unwrap().len(), requests);
        }
    }

    #[test]
    fn times_of_any_zone_are_read() {
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        for (text, time) in [
            ("1970-01-02T00:00:00Z", at(86_400)),
            ("1970-01-02T00:00:00+00:00", at(86_400)),
            ("1970-01-02T02:30:00+02:30", at(86_400)),
            ("1970-01-01T16:00:00.5-08:00", at(86_400).map(|time| time + Duration::from_millis(500))),
            ("1970-01-02T00:00:00", None),
            ("1970-01-02T00:00:00+2:300", None),
            ("1970-01-02", None),
            ("soon", None),
        ] {
            assert_eq!(time_of(text), time, "{text}");
        }
    }
}
