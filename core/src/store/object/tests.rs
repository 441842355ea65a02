//! What answers of a server mean, told by one on loopback that says what it is to say.

use super::RemoteStore;
use crate::error::ErrorKind;
use crate::store::cache::CacheStore;
use crate::store::local::FileOptions;
use crate::store::location;
use crate::store::remote::{Remote, RemoteOptions};
use crate::store::suite::TestFolder;
use crate::store::{Condition, SharedStore, Storage, StorageExt, get, start_and_wait};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

mod answers;
mod batch;
mod lies;
mod slow;
mod web;

pub(super) type Heads = Arc<Mutex<Vec<String>>>;

/// A server that gives each request what `answer` makes of its head, in lower case, and notes the heads of the requests; and its port.
pub(super) fn serve<T: Into<Vec<u8>>>(answer: impl Fn(&str) -> T + Send + 'static) -> (u16, Heads) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, heads) = (listener.local_addr().unwrap().port(), Heads::default());
    let noted = heads.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (head, length) = read_head(&mut stream);
            // A connection that is closed with bytes unread is a broken one.
            let _ = std::io::copy(&mut (&stream).take(length as u64), &mut std::io::sink());
            let answer = answer(&head).into();
            noted.lock().unwrap().push(head);
            let _ = stream.write_all(&answer);
        }
    });
    (port, heads)
}

/// Reads the head of a request: in lower case, and how long the body is.
fn read_head(stream: &mut TcpStream) -> (String, usize) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
        head.extend(byte);
    }
    let head = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let length = head.split_once("\r\ncontent-length: ").and_then(|(_, rest)| rest.split("\r\n").next()?.parse().ok());
    (head, length.unwrap_or(0))
}

/// An answer with a body.
pub(super) fn said(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// The whole of an object of three bytes, as a range.
fn yes() -> String {
    said("206 Partial", "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Range: bytes 0-2/3\r\n", "yes")
}

/// The store of `s3://bucket` at that port.
pub(super) fn store_at(port: u16, options: &[(&str, &str)]) -> RemoteStore {
    let remote = Remote::parse("s3", "//bucket").unwrap().unwrap();
    let mut all = RemoteOptions::default();
    let endpoint = format!("http://127.0.0.1:{port}");
    for (name, value) in [("endpoint", endpoint.as_str()), ("retries", "1")].iter().chain(options) {
        if !all.set(name, value).unwrap() {
            all.set_named(name, value);
        }
    }
    RemoteStore::open(&remote, &all).unwrap()
}

pub(super) const KEYS: &[(&str, &str)] = &[("access_key_id", "an-id"), ("secret_access_key", "a-secret")];

#[test]
fn a_list_that_fails_says_of_what_it_was_to_be() {
    let (port, _) = serve(|_| said("403 Forbidden", "", "<Error><Code>InvalidAccessKeyId</Code><Message>no</Message></Error>"));
    let store = store_at(port, KEYS);
    let wanted = "the server answered 403 (InvalidAccessKeyId: no); it was asked for the keys in s3://bucket";
    for (prefix, place) in [("", ""), ("run/states/", "/run/states")] {
        for e in [store.keys(prefix).unwrap_err(), store.list_dir(prefix).unwrap_err()] {
            assert_eq!((e.kind(), e.to_string()), (ErrorKind::Permission, format!("{wanted}{place}")));
        }
    }
}

#[test]
fn what_changed_just_now_by_the_clock_of_the_server_is_not_kept() {
    const WRITTEN: &str = "Sat, 21 Nov 2020 00:00:00 GMT";
    for (date, kept) in [("Date: Sat, 21 Nov 2020 00:00:01 GMT\r\n", false), ("", false), ("Date: Sat, 21 Nov 2020 01:00:00 GMT\r\n", true)]
    {
        for tag in ["", "ETag: \"5fb85c00-3\"\r\n"] {
            let gets = AtomicUsize::new(0);
            let (port, _) = serve(move |head| {
                let number = if head.starts_with("get") { gets.fetch_add(1, Relaxed) } else { 0 };
                let told = said("200 OK", &format!("Last-Modified: {WRITTEN}\r\n{date}{tag}"), &format!("no{number}"));
                if head.starts_with("head") { told[..told.len() - 3].to_string() } else { told }
            });
            let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
            let cached = CacheStore::new(Arc::new(RemoteStore::open(&remote, &RemoteOptions::default()).unwrap()), 1 << 20);
            let found = [(); 2].map(|()| String::from_utf8(get(&cached, "key", 9).unwrap().unwrap()).unwrap());
            assert_eq!(found, ["no0", if kept { "no0" } else { "no1" }], "{date}{tag}");
        }
    }
}

#[test]
fn what_no_other_try_changes_is_tried_once_and_names_the_host_that_failed() {
    // Nobody listens there; a port that was free a moment ago may be another test's by now.
    let closed = 1;
    let there = format!("http://127.0.0.1:{closed}/x");
    let lengths = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\nConnection: close\r\n\r\nyes";
    for (place, requests, text) in [
        ("/key", 11, "is not followed: too many redirects"),
        ("ftp://127.0.0.1/x", 1, "a redirection to the server 127.0.0.1 is not followed: URL scheme is not allowed"),
        (there.as_str(), 2, &format!("the server 127.0.0.1:{closed} cannot be reached")),
        ("", 1, "cannot be understood: invalid content-length parsed"),
    ] {
        let moved = said("302 there", &format!("Location: {place}\r\n"), "");
        let (port, asked) = serve(move |_| if moved.contains("Location: \r") { lengths.to_string() } else { moved.clone() });
        let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
        let mut options = RemoteOptions::default();
        options.set("retries", "1").unwrap();
        let e = get(&RemoteStore::open(&remote, &options).unwrap(), "key", 9).unwrap_err();
        assert_eq!((e.kind(), asked.lock().unwrap().len()), (ErrorKind::Network, requests), "{place}: {e}");
        assert!(e.message().contains(text), "{place}: {e}");
    }
}

/// A server that speaks no TLS, and says so to nobody.
#[test]
fn a_server_that_ends_each_handshake_and_has_never_answered_is_tried_a_few_times() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let store = store_at(1, &[KEYS, &[("endpoint", endpoint.as_str()), ("retries", "6")]].concat());
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            // Some of the connections end in order, some with bytes unread.
            let mut beginning = vec![0; [1, 1 << 16][counted.fetch_add(1, Relaxed) % 2]];
            let _ = stream.read(&mut beginning);
        }
    });
    let e = get(&store, "k", 10).unwrap_err();
    assert_eq!((e.kind(), count.load(Relaxed)), (ErrorKind::Network, 3), "{e}");
    assert!(e.to_string().contains("cannot be reached"), "{e}");
}

#[test]
fn a_service_of_credentials_on_this_machine_is_asked_without_tls() {
    let folder = crate::store::suite::TestFolder::new("web-identity");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("token");
    std::fs::write(&file, "t").unwrap();
    let (port, asked) = serve(|_| said("403 no", "", ""));
    let near = format!("http://127.0.0.1:{port}");
    let options = [("endpoint", "https://127.0.0.1:1"), ("web_identity_token_file", &*file.display().to_string()), ("role_arn", "r")];
    let e = get(&store_at(port, &[&options[..], &[("endpoint_url_sts", &near)]].concat()), "key", 100).unwrap_err();
    assert!(asked.lock().unwrap().iter().any(|head| head.contains("action=assumerolewithwebidentity")), "{e}");
    assert_eq!(e.kind(), ErrorKind::Permission, "{e}");
}

#[test]
fn a_service_of_credentials_does_not_say_that_an_object_is_missing() {
    for (status, kind, requests) in
        [("404 none", ErrorKind::Permission, 2), ("410 gone", ErrorKind::Permission, 2), ("403 no", ErrorKind::Permission, 1)]
    {
        for forbidden in ["error", "missing"] {
            let (port, asked) = serve(|_| yes());
            let (giver, given) = serve(move |_| said(status, "", ""));
            let metadata = format!("http://127.0.0.1:{giver}");
            let options =
                [("anonymous", "false"), ("forbidden", forbidden), ("metadata_endpoint", metadata.as_str()), ("imdsv1_fallback", "false")];
            let store = store_at(port, &options);
            let e = get(&store as &dyn Storage, "key", 100).unwrap_err();
            assert_eq!((e.kind(), given.lock().unwrap().len()), (kind, requests), "{status}: {e}");
            assert!(e.message().contains(&format!("127.0.0.1:{giver}")), "{e}");
            for erased in [store.erase("key").map(drop), store.erase_prefix("a/")] {
                assert_eq!(erased.unwrap_err().kind(), kind, "{status}");
            }
            assert!(asked.lock().unwrap().is_empty(), "nothing is asked without credentials");
        }
    }
}

#[test]
fn credentials_come_in_answers_without_a_length() {
    let (port, asked) = serve(|head| {
        if head.starts_with("head") { said("200 OK", "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n", "") } else { yes() }
    });
    let (giver, _) = serve(|head| {
        let text = match head.split(' ').nth(1).unwrap_or_default() {
            "/latest/api/token" => "token",
            "/latest/meta-data/iam/security-credentials/" => "role",
            _ => "{\"AccessKeyId\":\"an-id\",\"SecretAccessKey\":\"a-secret\",\"Token\":\"t\",\"Expiration\":\"2099-01-01T00:00:00Z\"}",
        };
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{text}\r\n0\r\n\r\n", text.len())
    });
    let metadata = format!("http://127.0.0.1:{giver}");
    let store = store_at(port, &[("anonymous", "false"), ("metadata_endpoint", &metadata)]);
    store.erase("key").unwrap();
    let all = asked.lock().unwrap();
    assert!(all.len() == 2 && all[0].starts_with("head") && all[1].starts_with("delete"), "{all:?}");
}

/// A file of the AWS tools with that key.
fn write_keys(file: &std::path::Path, id: &str) {
    std::fs::write(file, format!("[default]\naws_access_key_id={id}\naws_secret_access_key=secretsecret\naws_session_token=t{id}\n"))
        .unwrap();
}

#[test]
fn keys_that_were_renewed_in_their_file_are_taken_from_there() {
    const TAG: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";
    let folder = TestFolder::new("renewed");
    std::fs::create_dir_all(&folder).unwrap();
    for (status, code) in
        [("400 Bad", "ExpiredToken"), ("403 no", "ExpiredTokenException"), ("400 Bad", "InvalidToken"), ("403 no", "InvalidAccessKeyId")]
    {
        let good = Arc::new(Mutex::new("first".to_string()));
        let accepted = good.clone();
        let (port, asked) = serve(move |head| {
            if !head.contains(&format!("credential={}/", accepted.lock().unwrap())) {
                let body = if head.starts_with("head") { String::new() } else { format!("<Error><Code>{code}</Code></Error>") };
                return said(status, "", &body);
            }
            match head.split(' ').next().unwrap_or_default() {
                "get" => yes(),
                "post" => said("200 OK", "", "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"),
                _ => said("200 OK", TAG, ""),
            }
        });
        let file = folder.join("credentials");
        write_keys(&file, "first");
        let options = [
            ("credentials_file", file.to_str().unwrap()),
            ("region", "us-east-1"),
            ("conditional_put", "always"),
            ("part_size", "5242880"),
        ];
        let store = store_at(port, &options);
        let read = || get(&store as &dyn Storage, "key", 100).map(drop);
        read().unwrap();
        let calls: [(&str, &(dyn Fn() -> crate::error::Result<()> + Sync)); 4] = [
            ("read", &read),
            ("put", &|| store.put("key", &[b"yes"], Condition::None)),
            ("erase", &|| store.erase("key").map(drop)),
            ("upload", &|| store.stage("large")?.append(&vec![7; 11 << 20])),
        ];
        // Large bodies take long to sign.
        let most = if code == "ExpiredToken" { 4 } else { 3 };
        for (name, call) in calls.into_iter().take(most) {
            *good.lock().unwrap() = name.to_string();
            let before = asked.lock().unwrap().len();
            assert!(call().is_err(), "{code} {name}");
            assert_eq!(asked.lock().unwrap().len(), before + 1, "{code} {name}: the file has nothing new");
            std::fs::write(&file, "[default]\naws_access_key").unwrap();
            assert!(call().is_err(), "{code} {name}: the file is being written");
            write_keys(&file, name);
            // All that are under way find them.
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| call().unwrap_or_else(|e| panic!("{code} {name}: {e}")));
                }
            });
        }
    }
}

#[test]
fn only_a_refused_access_stands_for_a_missing_key() {
    let refusal = |code: &str| said("403 no", "", &format!("<Error><Code>{code}</Code></Error>"));
    for (code, missing) in
        [("AccessDenied", true), ("RequestTimeTooSkewed", false), ("InvalidObjectState", false), ("InvalidAccessKeyId", false)]
    {
        let answer = refusal(code);
        // An answer to a HEAD has no body.
        let (port, asked) = serve(move |head| if head.starts_with("get") { answer.clone() } else { said("403 no", "", "") });
        let store = store_at(port, &[KEYS, &[("forbidden", "missing")]].concat());
        let found = [
            get(&store as &dyn Storage, "key", 100).map(drop).map_err(|e| e.kind()),
            crate::store::start_and_wait(&store, "key", &[], None).map(drop).map_err(|e| e.kind()),
            store.erase("key").map(drop).map_err(|e| e.kind()),
        ];
        assert_eq!(found, [if missing { Ok(()) } else { Err(ErrorKind::Permission) }; 3], "{code}");
        let erased = asked.lock().unwrap().iter().filter(|head| head.starts_with("delete")).count();
        assert_eq!(erased, usize::from(missing), "{code}: who may not look may erase");
    }
}

#[test]
fn a_page_of_a_proxy_that_forbids_stands_for_no_missing_key() {
    let (port, _) =
        serve(|head| said("403 no", "Content-Type: text/html\r\n", if head.starts_with("get") { "<html>filtered</html>" } else { "" }));
    let store = store_at(port, &[KEYS, &[("forbidden", "missing")]].concat());
    let e = get(&store as &dyn Storage, "key", 100).map(drop).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Permission, "{e}");
    assert_eq!(store.erase("key").unwrap_err().kind(), ErrorKind::Permission);
}

#[test]
fn a_listing_has_the_keys_that_there_can_be() {
    const PAGE: &str = "<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>\
        <Contents><Key>a/</Key><Size>0</Size></Contents><Contents><Key>a//x</Key><Size>1</Size></Contents>\
        <Contents><Key>a/b</Key><Size>1</Size></Contents><Contents><Key>c</Key><Size>0</Size></Contents>\
        <Contents><Key>c!</Key><Size>0</Size></Contents><Contents><Key>c/d</Key><Size>1</Size></Contents>\
        <CommonPrefixes><Prefix>/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes></ListBucketResult>";
    let page = PAGE.replace("</Size>", "</Size><LastModified>2026-11-21T00:00:00.000Z</LastModified>");
    let (port, asked) = serve(move |head| said(if head.starts_with("delete") { "204 gone" } else { "200 OK" }, "", &page));
    let store = store_at(port, KEYS);
    assert_eq!(store.keys("").unwrap(), ["a/b", "c!", "c/d"]);
    assert_eq!(store.list_dir("").unwrap().prefixes, ["p"]);
    store.erase_prefix("").unwrap();
    let heads = asked.lock().unwrap();
    let mut erased: Vec<&str> = heads.iter().filter_map(|head| head.strip_prefix("delete /bucket/")?.split(' ').next()).collect();
    erased.sort_unstable();
    assert_eq!(erased, ["a/b", "c", "c%21", "c/d"]);
}

#[test]
fn a_server_that_does_not_say_how_to_go_on_with_a_list_is_refused() {
    for next in ["<NextMarker>a</NextMarker>", "<NextContinuationToken></NextContinuationToken>"] {
        let page = format!("<ListBucketResult><IsTruncated>true</IsTruncated>{next}</ListBucketResult>");
        let (port, _) = serve(move |_| said("200 OK", "", &page));
        let e = store_at(port, KEYS).list("", &mut |_| Ok(())).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Unsupported, "{next}: {e}");
    }
}

#[test]
fn a_web_server_is_asked_for_a_plus_sign_as_such_and_for_slashes_in_names() {
    let (port, asked) = serve(|_| yes());
    for (location, key, target) in [("a%2Bb", "c+d", "/a%2bb/c%2bd?s=1+2"), ("p/g%2Fn/a b+", "k", "/p/g%2fn/a%20b%2b/k?s=1+2")] {
        let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/{location}?s=1+2")).unwrap().unwrap();
        let store = RemoteStore::open(&remote, &RemoteOptions::default()).unwrap();
        assert_eq!(get(&store as &dyn Storage, key, 100).unwrap().unwrap(), b"yes");
        assert_eq!(asked.lock().unwrap().last().unwrap().split(' ').nth(1), Some(target));
    }
    let (root, node) = location::split(&format!("http://127.0.0.1:{port}/o/d%2Fx.zip/g/a?s=1")).unwrap();
    let e = root.open(&node, false, FileOptions::default(), &RemoteOptions::default()).err().unwrap();
    assert_eq!(
        (asked.lock().unwrap().last().unwrap().split(' ').nth(1), e.kind()),
        (Some("/o/d%2fx.zip?s=1"), ErrorKind::Truncated),
        "{e}"
    );
}

#[test]
fn a_download_that_breaks_off_is_begun_anew_where_the_server_knows_no_ranges() {
    const SIZE: usize = 40 << 20;
    let tries = AtomicUsize::new(0);
    let (port, asked) = serve(move |head| {
        let sent = if tries.fetch_add(1, Relaxed) == 0 { SIZE / 4 * 3 } else { SIZE };
        let sent = if head.contains("\r\nrange:") { 0 } else { sent };
        format!(
            "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nContent-Length: {SIZE}\r\nConnection: close\r\n\r\n{}",
            "x".repeat(sent)
        )
    });
    let store = store_at(port, &[KEYS, &[("retries", "3")]].concat());
    let whole = crate::store::start_and_wait(&store, "key", &[crate::store::ByteRange::WHOLE], None).unwrap().unwrap();
    assert!(whole.parts[0].len() == SIZE && whole.parts[0].iter().all(|b| *b == b'x'));
    let ranges: Vec<bool> = asked.lock().unwrap().iter().map(|head| head.contains("\r\nrange:")).collect();
    assert_eq!(ranges, [false, true, false]);
}

#[test]
fn a_body_that_was_compressed_on_the_way_is_told_and_one_that_is_stored_so_is_read() {
    let date = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";
    let ranges = "Content-Range: bytes 0-9/10\r\n";
    for (status, headers, body, expected) in [
        ("206 Partial", format!("{ranges}Content-Encoding: gzip\r\n"), "abc", None),
        ("206 Partial", format!("{ranges}Content-Encoding: aws-chunked, BR\r\n"), "abc", None),
        ("200 OK", "Content-Encoding: gzip\r\n".to_string(), "0123456789abc", None),
        ("200 OK", "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n".to_string(), "0123456789abc", None),
        ("200 OK", "Transfer-Encoding: gzip, chunked\r\n".to_string(), "a\r\n0123456789\r\n0\r\n\r\n", None),
        ("200 OK", "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n".to_string(), "a\r\n0123456789\r\n0\r\n\r\n", None),
        ("206 Partial", format!("{ranges}Content-Encoding: gzip\r\n"), "0123456789", Some("0123456789")),
        ("206 Partial", format!("{ranges}Content-Encoding: identity\r\n"), "0123456789", Some("0123456789")),
        ("200 OK", "Content-Encoding: aws-chunked\r\n".to_string(), "0123456789abc", Some("0123456789")),
    ] {
        let answer = said(status, &format!("{date}{headers}"), body);
        let (port, asked) = serve(move |_| answer.clone());
        let range = crate::store::ByteRange::Span { offset: 0, len: 10 };
        let read = start_and_wait(&store_at(port, KEYS), "key", &[range], None);
        let read = read.map(|found| String::from_utf8(found.unwrap().parts.remove(0)).unwrap());
        assert_eq!(read.as_deref().ok(), expected, "{status} {headers}");
        if let Err(e) = read {
            let header = if headers.contains("Transfer") { "Transfer" } else { "Content" };
            assert!(e.to_string().contains(&format!("it with {header}-Encoding ")), "{e}");
        }
        assert!(asked.lock().unwrap().iter().all(|head| head.contains("\r\naccept-encoding: identity\r\n")));
    }
}

#[test]
fn an_archive_on_a_server_is_opened_for_reading_only() {
    let (port, asked) = serve(|_| said("404 Not Found", "", ""));
    for (writable, kind, requests) in [(true, ErrorKind::ReadOnly, 0), (false, ErrorKind::NotFound, 1)] {
        let root = location::parse(&format!("http://127.0.0.1:{port}/x.zip")).unwrap();
        let e = root.open("", writable, FileOptions::default(), &RemoteOptions::default()).err().unwrap();
        assert_eq!((e.kind(), asked.lock().unwrap().len()), (kind, requests), "writable: {writable}");
    }
}

#[test]
fn a_document_that_is_replaced_while_it_is_read_is_read_again() {
    for (times, expected) in [(0, Ok(700_000)), (1, Ok(700_000)), (4, Ok(700_000)), (99, Err(ErrorKind::Conflict))] {
        let replaced = AtomicUsize::new(0);
        let (port, _) = serve(move |head| {
            if head.contains("\r\nif-match:") && replaced.load(Relaxed) < times {
                replaced.fetch_add(1, Relaxed);
                return said("412 no", "", "");
            }
            let range = head.split_once("\r\nrange: bytes=").and_then(|(_, rest)| rest.split("\r\n").next()?.split_once('-')).unwrap();
            let (first, last): (usize, usize) = (range.0.parse().unwrap(), range.1.parse().unwrap());
            let last = last.min(699_999);
            let (version, date) = (replaced.load(Relaxed), "Last-Modified: Sat, 21 Nov 2026 00:00:00 GMT");
            let headers = format!("ETag: \"v{version}\"\r\n{date}\r\nContent-Range: bytes {first}-{last}/700000\r\n");
            said("206 Partial", &headers, &version.to_string().repeat(last + 1 - first))
        });
        let read = get(&store_at(port, KEYS) as &dyn Storage, "key", 1 << 20).map(|found| found.unwrap());
        assert!(read.as_ref().map_or(true, |bytes| bytes.iter().all(|byte| *byte == b'0' + times as u8)), "{times}: of one object");
        assert_eq!(read.map(|bytes| bytes.len()).map_err(|e| e.kind()), expected, "{times}");
    }
}

#[test]
fn a_put_that_may_have_been_carried_out_is_found_by_its_mark_or_says_so() {
    /// What the first try and those after it are answered, and whose mark is there then; the error, if any, and whether the value may be stored.
    type Row = (&'static str, &'static str, &'static str, Option<ErrorKind>, bool);
    let cases: [Row; 15] = [
        ("412 no", "412 no", "", Some(ErrorKind::Conflict), false),
        // Whose it is was not told.
        ("412 no", "412 no", "refused", Some(ErrorKind::Conflict), true),
        ("412 no", "412 no", "another", Some(ErrorKind::Conflict), false),
        ("500 broken", "412 no", "another", Some(ErrorKind::Conflict), true),
        ("500 broken", "412 no", "", Some(ErrorKind::Conflict), true),
        ("500 broken", "412 no", "ours", None, false),
        ("503 busy", "503 busy", "", Some(ErrorKind::Throttled), true),
        ("403 no", "403 no", "", Some(ErrorKind::Permission), false),
        // A proxy sent it twice, or what was refused for now was done.
        ("412 no", "412 no", "ours", None, false),
        ("408 slow", "412 no", "ours", None, false),
        ("409 no", "412 no", "ours", None, false),
        ("429 many", "412 no", "ours", None, false),
        // An answer that nobody understands: it has no ETag.
        ("200 OK", "412 no", "ours", None, false),
        ("200 OK", "412 no", "another", Some(ErrorKind::Network), true),
        ("200 OK", "412 no", "", Some(ErrorKind::Network), true),
    ];
    for (first, then, mark, kind, unsure) in cases {
        let (puts, ours) = (AtomicUsize::new(0), Mutex::new(String::new()));
        let (port, asked) = serve(move |head| {
            if head.starts_with("put") {
                let found = head.split_once("\r\nx-amz-meta-ozarrput: ").and_then(|(_, rest)| rest.split("\r\n").next());
                *ours.lock().unwrap() = found.unwrap_or_default().to_string();
                return said(if puts.fetch_add(1, Relaxed) == 0 { first } else { then }, "", "");
            }
            if mark == "refused" {
                return said("403 no", "", "");
            }
            let mark = if mark == "ours" { ours.lock().unwrap().clone() } else { mark.to_string() };
            let mark = if mark.is_empty() { String::new() } else { format!("x-amz-meta-ozarrput: {mark}\r\n") };
            said("200 OK", &format!("ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n{mark}"), "")
        });
        let store = store_at(port, &[KEYS, &[("conditional_put", "always")]].concat());
        let put = store.put("key", &[], crate::store::Condition::Absent);
        let looks = asked.lock().unwrap().iter().filter(|head| head.starts_with("head")).count();
        assert!(looks <= 1, "{first} {then} {mark}: {looks} looks");
        assert_eq!(put.as_ref().err().map(|e| e.kind()), kind, "{first} {then} {mark}: {put:?}");
        let says = put.map_err(|e| (e.is_unsure(), e.message().contains("stored or not"))).err().unwrap_or_default();
        assert_eq!(says, (unsure, unsure), "{first} {then} {mark}");
    }
}

#[test]
fn a_page_for_people_or_an_error_is_no_good_answer_to_what_changes_something() {
    for (body, expected) in [
        ("\n<!DOCTYPE html><html>who are you</html>", Err(ErrorKind::Network)),
        ("<HTML>who are you</HTML>", Err(ErrorKind::Network)),
        // Nor are errors that come as good answers, as gateways make them.
        ("<Error><Code>InternalError</Code></Error>", Err(ErrorKind::Network)),
        ("<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code></Error>", Err(ErrorKind::Permission)),
        // As some servers answer.
        ("", Ok(())),
    ] {
        let (port, _) = serve(move |head| {
            let headers = "Content-Type: text/html\r\nETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";
            said("200 OK", headers, if head.starts_with("head") { "" } else { body })
        });
        let store = store_at(port, KEYS);
        let put = store.put("key", &[], crate::store::Condition::None).map_err(|e| e.kind());
        assert_eq!([store.erase("key").map(drop).map_err(|e| e.kind()), put], [expected; 2], "{body}");
    }
}

#[test]
fn keys_that_are_listed_again_and_again_are_not_erased_for_ever() {
    let page = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>same</NextContinuationToken>\
        <Contents><Key>a/b</Key><Size>1</Size><LastModified>2026-11-21T00:00:00.000Z</LastModified></Contents></ListBucketResult>";
    let (port, _) = serve(move |head| said(if head.starts_with("delete") { "204 gone" } else { "200 OK" }, "", page));
    let e = store_at(port, KEYS).erase_prefix("a/").unwrap_err();
    assert!(e.kind() == ErrorKind::Network && e.message().contains("again and again"), "{e}");
}

/// Else what is left of a node, without the key that says so, would be anything.
#[test]
fn a_key_that_tells_of_the_others_is_erased_behind_them_and_not_where_one_of_them_stays() {
    let refused = Arc::new(AtomicUsize::new(0));
    let is_refused = refused.clone();
    let (port, heads) = serve(move |head| match head.split(' ').nth(1) {
        Some("/bucket/b/s/2") if is_refused.load(Relaxed) > 0 => said("403 no", "", "<Error><Code>AccessDenied</Code></Error>"),
        Some(path) if path.contains('?') => {
            let key = |key: &&str| {
                format!("<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-11-21T00:00:00Z</LastModified></Contents>")
            };
            let keys: String = ["b/0.0", "b/ozarr-copy.json", "b/s/1", "b/s/2", "b/s/ozarr-copy.json"].iter().map(key).collect();
            said("200 OK", "", &format!("<ListBucketResult><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>"))
        }
        _ => said("204 gone", "", ""),
    });
    let store = store_at(port, KEYS);
    let erase = |refuse: usize| {
        refused.store(refuse, Relaxed);
        heads.lock().unwrap().clear();
        let erased = store.erase_prefix("b/").map_err(|e| (e.kind(), e.key().map(str::to_string)));
        let heads = heads.lock().unwrap();
        let mut keys: Vec<_> =
            heads.iter().filter_map(|head| head.strip_prefix("delete /bucket/b/")?.split(' ').next().map(str::to_string)).collect();
        let last = keys.pop();
        keys.sort();
        (erased, keys, last)
    };
    let (erased, keys, last) = erase(1);
    assert_eq!(
        (erased, keys.iter().chain(&last).any(|key| key == "ozarr-copy.json")),
        (Err((ErrorKind::Permission, Some("b/s/2".into()))), false),
        "{keys:?}"
    );
    let all = ["0.0", "s/1", "s/2", "s/ozarr-copy.json"].map(str::to_string);
    assert_eq!(erase(0), (Ok(()), all.to_vec(), Some("ozarr-copy.json".to_string())));
}

#[test]
fn azure_is_asked_for_a_key_as_it_is_signed() {
    let (port, asked) = serve(|_| yes());
    let remote = Remote::parse("az", "//container/run+1").unwrap().unwrap();
    let mut options = RemoteOptions::default();
    for (name, value) in [("endpoint", &*format!("http://127.0.0.1:{port}/account")), ("account_name", "account"), ("account_key", "a2V5")]
    {
        options.set(name, value).unwrap();
    }
    let store = RemoteStore::open(&remote, &options).unwrap();
    assert_eq!(get(&store as &dyn Storage, "u+v", 100).unwrap().unwrap(), b"yes");
    assert_eq!(asked.lock().unwrap()[0].split(' ').nth(1), Some("/account/container/run+1/u+v"));
}

#[test]
fn a_backslash_in_a_place_of_azure_is_refused_also_above_the_keys() {
    for (place, key, is_refused) in [("//c/a", "b/k", false), ("//c/a", "b\\k", true), ("//c/a\\b", "k", true)] {
        let (port, asked) = serve(|_| said("404 none", "", "<Error><Code>BlobNotFound</Code></Error>"));
        let (remote, mut options) = (Remote::parse("az", place).unwrap().unwrap(), RemoteOptions::default());
        for (name, value) in
            [("endpoint", &*format!("http://127.0.0.1:{port}/account")), ("account_name", "account"), ("account_key", "a2V5")]
        {
            options.set(name, value).unwrap();
        }
        let store = RemoteStore::open(&remote, &options).unwrap();
        let found = get(&store as &dyn Storage, key, 9).map(drop).map_err(|e| e.kind());
        assert_eq!(found, if is_refused { Err(ErrorKind::Unsupported) } else { Ok(()) }, "{place} {key}");
        assert_eq!(asked.lock().unwrap().is_empty(), is_refused, "{place} {key}");
    }
}

#[test]
fn an_anonymous_put_to_google_is_not_signed() {
    for pairs in [&[("anonymous", "true")][..], &[("skip_signature", "true"), ("bearer_token", "planted")]] {
        let (port, asked) = serve(|_| said("200 OK", "ETag: \"1\"\r\n", ""));
        let mut options = RemoteOptions::default();
        options.set("endpoint", &format!("http://127.0.0.1:{port}")).unwrap();
        for (name, value) in pairs {
            if !options.set(name, value).unwrap() {
                options.set_named(name, value);
            }
        }
        let store = RemoteStore::open(&Remote::parse("gs", "//bucket/run").unwrap().unwrap(), &options).unwrap();
        store.put("key", &[b"yes"], Condition::None).unwrap();
        let asked = asked.lock().unwrap();
        assert!(asked.len() == 1 && asked[0].starts_with("put ") && !asked[0].contains("authorization"), "{asked:?}");
    }
}

#[test]
fn a_web_server_that_knows_no_head_or_no_length_has_what_it_gives() {
    for head in ["404 none", "405 no", "501 no", "403 no", "410 gone", "400 bad", "200 OK"] {
        let (port, asked) = serve(move |request| {
            let tag = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";
            match (request.split(' ').next(), request.split(' ').nth(1), request.contains("\r\nrange: bytes=0-0")) {
                (Some("head"), ..) if head == "200 OK" => format!("HTTP/1.1 200 OK\r\n{tag}Connection: close\r\n\r\n"),
                (Some("head"), ..) => said(head, "", ""),
                (_, Some("/missing"), _) => said("404 none", "", ""),
                (_, Some("/empty"), true) => said("416 no", "Content-Range: bytes */0\r\n", ""),
                (_, Some("/empty"), false) => said("200 OK", tag, ""),
                (_, Some("/untold"), true) => said("206 Partial", &format!("{tag}Content-Range: bytes 0-0/*\r\n"), "y"),
                (_, Some("/untold"), false) if request.contains("\r\nrange: bytes=0-") => {
                    let most =
                        request.split("range: bytes=0-").nth(1).and_then(|rest| rest.split("\r").next()).unwrap().parse::<usize>().unwrap();
                    said("206 Partial", &format!("{tag}Content-Range: bytes 0-{most}/*\r\n"), &"u".repeat(most + 1))
                }
                (_, Some("/untold"), false) => said("200 OK", tag, &"u".repeat(100_000)),
                (.., true) => said("206 Partial", &format!("{tag}Content-Range: bytes 0-0/3\r\n"), "y"),
                (.., false) => said("200 OK", tag, "yes"),
            }
        });
        let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
        let store: SharedStore = Arc::new(RemoteStore::open(&remote, &RemoteOptions::default()).unwrap());
        let cached = CacheStore::new(store.clone(), 1 << 20);
        for _ in 0..3 {
            assert_eq!(get(&cached, "key", 9).unwrap().unwrap(), b"yes", "{head}");
            assert_eq!(get(&cached, "empty", 9).unwrap().unwrap(), b"", "{head}");
            assert_eq!(get(&cached, "untold", 200_000).unwrap().unwrap(), "u".repeat(100_000).as_bytes(), "{head}");
            assert_eq!(start_and_wait(&*store, "missing", &[], None).unwrap().map(|found| found.parts), None, "{head}");
        }
        let heads = asked.lock().unwrap().iter().filter(|request| request.starts_with("head")).count();
        assert_eq!(heads, 2, "{head}: it is not asked again once it is known");
    }
}
