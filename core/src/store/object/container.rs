//! Credentials of S3 that a service gives out to a container: the one beneath would send the end of a line of the token's file, and knows no token
//! that a variable has.

use object_store::aws::AwsCredential;
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody};
use object_store::{CredentialProvider, Error, HeaderValue, Result};
use serde_json::Value;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex;

/// How long before they expire credentials are got anew.
const BEFORE: Duration = Duration::from_secs(300);

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
    /// With when they expire; `None`: never.
    had: Mutex<Option<(Arc<AwsCredential>, Option<SystemTime>)>>,
}

impl std::fmt::Debug for Container {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Container").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Container {
    pub fn new(url: String, token: Option<Token>, client: HttpClient) -> Container {
        Container { url, token, client, had: Mutex::default() }
    }

    async fn get(&self) -> Result<Arc<AwsCredential>> {
        let mut had = self.had.lock().await;
        let is_good = |until: &SystemTime| until.duration_since(SystemTime::now()).is_ok_and(|left| left > BEFORE);
        if let Some((credential, until)) = had.as_ref()
            && until.as_ref().is_none_or(is_good)
        {
            return Ok(credential.clone());
        }
        let (credential, until) = self.ask().await?;
        let credential = Arc::new(credential);
        *had = Some((credential.clone(), until));
        Ok(credential)
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
        parse(&body).ok_or_else(|| failed("its answer has no keys"))
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

/// The keys of an answer, and when they expire.
fn parse(body: &[u8]) -> Option<(AwsCredential, Option<SystemTime>)> {
    let all: Value = serde_json::from_slice(body).ok()?;
    let text = |name: &str| all.get(name).and_then(Value::as_str).map(str::to_string);
    let until = match text("Expiration") {
        // Coordinated universal time may be written in two ways.
        Some(until) => Some(humantime::parse_rfc3339(&until.replace("+00:00", "Z")).ok()?),
        None => None,
    };
    Some((AwsCredential { key_id: text("AccessKeyId")?, secret_key: text("SecretAccessKey")?, token: text("Token") }, until))
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
        let text = |text: &str| Some(Token::Text(text.to_string()));
        for (token, answer, expected, asked) in [
            (text("planted"), keys(far), "i", 1),
            (None, keys(""), "i", 1),
            (text("planted"), keys(near), "i", 2),
            (text("planted\n"), keys(far), "AWS_CONTAINER_AUTHORIZATION_TOKEN has the end of a line", 0),
            (Some(Token::File("/nowhere/token".to_string())), keys(far), "/nowhere/token", 0),
            (None, keys(r#","Expiration":"soon""#), "no keys", 2),
            (None, "{}".to_string(), "no keys", 2),
        ] {
            let header = if token.is_some() { "\r\nauthorization: planted\r\n" } else { "" };
            let (port, heads) =
                serve(move |_| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{answer}", answer.len()));
            let http = client(&ClientOptions::new().with_allow_http(true), &Own::default(), reqwest::redirect::Policy::none()).unwrap();
            let container = Container::new(format!("http://127.0.0.1:{port}/c"), token, http);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            for _ in 0..2 {
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
}
