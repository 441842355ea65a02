//! Requests with a secret in a header of the service's own: no other host than the one that it is for is told it. The client beneath takes only
//! `Authorization` away where a redirection leads to another host.

use super::client::{Own, client};
use object_store::client::{ClientOptions, HttpClient, HttpError, HttpRequest, HttpRequestBody, HttpResponse};
use reqwest::{Url, redirect::Policy};

/// The header of S3 for the token.
const TOKEN: &str = "x-amz-security-token";
/// How many redirections are followed.
const MOST: usize = 10;

/// Makes a client that follows redirections within a host only.
pub(super) fn client_within(options: &ClientOptions, own: &Own) -> object_store::Result<HttpClient> {
    let within = Policy::custom(|attempt| {
        let stays = attempt.previous().last().is_some_and(|last| is_same_host(last, attempt.url()));
        if stays && attempt.previous().len() <= MOST { attempt.follow() } else { attempt.stop() }
    });
    client(options, own, within)
}

fn is_same_host(a: &Url, b: &Url) -> bool {
    (a.scheme(), a.host_str(), a.port_or_known_default()) == (b.scheme(), b.host_str(), b.port_or_known_default())
}

/// Whether a request has the token of a session, or a key that the service is to encrypt with.
pub(super) fn has_secret(request: &HttpRequest) -> bool {
    let is_secret = |name: &str| name == TOKEN || name.ends_with("-customer-key") || name.ends_with("-encryption-key");
    request.headers().keys().any(|name| is_secret(name.as_str()))
}

/// Makes a request with a secret by `within`, and follows a redirection of a read to another host by `others`, without credentials.
pub(super) async fn execute(within: &HttpClient, others: &HttpClient, request: HttpRequest) -> Result<HttpResponse, HttpError> {
    let (url, method) = (request.uri().to_string(), request.method().clone());
    let mut headers = request.headers().clone();
    let response = within.execute(request).await?;
    let place = response.headers().get("location").and_then(|value| value.to_str().ok());
    let place = place.filter(|_| response.status().is_redirection() && matches!(method.as_str(), "GET" | "HEAD"));
    let Some(Ok(uri)) = place.and_then(|place| Url::parse(&url).ok()?.join(place).ok()).map(|next| String::from(next).parse()) else {
        return Ok(response);
    };
    let signed: Vec<_> =
        headers.keys().filter(|name| ["x-amz-", "x-ms-"].iter().any(|start| name.as_str().starts_with(start))).cloned().collect();
    signed.iter().map(|name| name.as_str()).chain(["authorization", "host"]).for_each(|name| drop(headers.remove(name)));
    let mut next = HttpRequest::new(HttpRequestBody::empty());
    (*next.method_mut(), *next.uri_mut(), *next.headers_mut()) = (method, uri, headers);
    others.execute(next).await
}

#[cfg(test)]
mod tests {
    use crate::store::object::RemoteStore;
    use crate::store::object::tests::{Heads, serve, store_at};
    use crate::store::remote::tests::parse;
    use crate::store::remote::{RemoteOptions, Service};
    use crate::store::{Storage, get};

    #[test]
    fn no_other_host_is_told_the_token_of_a_session() {
        const YES: &str = "HTTP/1.1 206 Partial\r\nETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Range: bytes 0-2/3\r\n\
            Content-Length: 3\r\nConnection: close\r\n\r\nyes";
        let (there, told) = serve(|_| YES.to_string());
        let (port, asked) = serve(move |head| {
            let place = match head.split(' ').nth(1).unwrap_or_default() {
                "/bucket/away" => format!("http://127.0.0.1:{there}/object"),
                "/bucket/near" => "/bucket/here".to_string(),
                _ => return YES.to_string(),
            };
            format!("HTTP/1.1 307 There\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        });
        let store = store_at(port, &[("access_key_id", "an-id"), ("secret_access_key", "a-secret"), ("session_token", "a-token")]);
        for key in ["away", "near"] {
            assert_eq!(get(&store as &dyn Storage, key, 100).unwrap().unwrap(), b"yes", "{key}");
        }
        let has = |heads: &Heads, header: &str| heads.lock().unwrap().iter().filter(|head| head.contains(header)).count();
        assert_eq!((has(&asked, "a-token"), has(&asked, "authorization:")), (3, 3), "the host that it is for, when it is asked again, too");
        assert_eq!((has(&told, "http/1.1"), has(&told, "a-token"), has(&told, "x-amz-"), has(&told, "authorization:")), (1, 0, 0, 0));
        assert_eq!(has(&told, "range: bytes=0-"), 1, "what is asked for stays");
    }

    /// A location, its options, and a text in lower case that the server is told, but not the one that it leads to.
    #[test]
    fn no_other_host_is_told_a_secret() {
        const YES: &str = "HTTP/1.1 206 Partial\r\nETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Range: bytes 0-2/3\r\n\
            Content-Length: 3\r\nConnection: close\r\n\r\nyes";
        const KEY: &str = "UFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFA=";
        type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
        const CASES: [Case; 7] = [
            ("http://HOST/?token=planted", &[], "?token=planted"),
            ("http://us:planted@HOST/", &[], "authorization: basic"),
            ("http://HOST/", &[("bearer_token", "planted")], "bearer planted"),
            ("az://c", &[("account_name", "a"), ("sas_token", "sv=1&sig=planted")], "sig=planted"),
            ("az://c", &[("account_name", "a"), ("account_key", "a2V5"), ("azure_storage_encryption_key", KEY)], "x-ms-encryption-key:"),
            (
                "s3://b",
                &[
                    ("access_key_id", "i"),
                    ("secret_access_key", "s"),
                    ("aws_server_side_encryption", "sse-c"),
                    ("aws_sse_customer_key_base64", KEY),
                ],
                "customer-key:",
            ),
            ("gs://b", &[("bearer_token", "planted")], "bearer planted"),
        ];
        for (url, pairs, secret) in CASES {
            let (there, told) = serve(|_| YES.to_string());
            let (port, asked) = serve(move |_| {
                format!("HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:{there}/object\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            });
            let url = url.replace("HOST", &format!("127.0.0.1:{port}"));
            let remote = parse(&url).unwrap();
            let mut options = RemoteOptions::default();
            let endpoint = format!("http://127.0.0.1:{port}");
            let of_service: &[(&str, &str)] = if remote.service == Service::Http { &[] } else { &[("endpoint", endpoint.as_str())] };
            for (name, value) in of_service.iter().chain(pairs) {
                if !options.set(name, value).unwrap() {
                    options.set_named(name, value);
                }
            }
            let store = RemoteStore::open(&remote, &options).unwrap();
            assert_eq!(get(&store as &dyn Storage, "key", 100).unwrap().unwrap(), b"yes", "{url}");
            let heads = |heads: &Heads| heads.lock().unwrap().concat();
            assert!(heads(&asked).contains(secret), "{url}: {}", heads(&asked));
            for text in ["planted", secret, "referer", "authorization"] {
                assert!(!heads(&told).contains(text), "{url} {text}: {}", heads(&told));
            }
        }
    }
}
