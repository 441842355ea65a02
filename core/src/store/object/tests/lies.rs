//! What is not believed: answers of proxies before a service, and of a service that did not do what it was asked for.

use super::{KEYS, said, serve, store_at};
use crate::error::ErrorKind;
use crate::store::object::RemoteStore;
use crate::store::remote::{Remote, RemoteOptions};
use crate::store::{ByteRange, Condition, Storage, StorageExt, get, start_and_wait};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TAG: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";

#[test]
fn an_upload_that_is_gone_is_done_only_where_its_object_is_there() {
    const GONE: (&str, &str) = ("404 none", "<Error><Code>NoSuchUpload</Code></Error>");
    /// What the end is answered first and then, whose object is there then, and the error.
    type Row = (&'static str, (&'static str, &'static str), &'static str, Option<ErrorKind>);
    let cases: [Row; 6] = [
        ("503 busy", GONE, "ours", None),
        ("503 busy", GONE, "", Some(ErrorKind::Network)),
        ("503 busy", GONE, "another", Some(ErrorKind::Network)),
        ("503 busy", ("404 none", "<html>no page</html>"), "ours", Some(ErrorKind::Network)),
        ("503 busy", ("200 OK", "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"), "", None),
        ("404 none", GONE, "ours", Some(ErrorKind::NotFound)),
    ];
    for (first, (then, body), there, kind) in cases {
        let (ends, mark) = (AtomicUsize::new(0), Mutex::new(String::new()));
        let (port, _) = serve(move |head| match head.split(' ').next().unwrap_or_default() {
            "post" if head.contains("?uploads") => {
                let found = head.split_once("\r\nx-amz-meta-ozarrput: ").and_then(|(_, rest)| rest.split("\r\n").next());
                *mark.lock().unwrap() = found.unwrap_or_default().to_string();
                said("200 OK", "", "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
            }
            "post" if ends.fetch_add(1, Relaxed) == 0 => said(first, "", if first == "404 none" { GONE.1 } else { "" }),
            "post" => said(then, "", body),
            "put" => said("200 OK", "ETag: \"p\"\r\n", ""),
            "head" if there.is_empty() => said("404 none", "", ""),
            "head" => {
                let mark = if there == "ours" { mark.lock().unwrap().clone() } else { there.to_string() };
                let length = format!("Content-Length: {}\r\n", 6 << 20);
                format!("HTTP/1.1 200 OK\r\n{TAG}x-amz-meta-ozarrput: {mark}\r\n{length}Connection: close\r\n\r\n")
            }
            _ => said("204 gone", "", ""),
        });
        let store = store_at(port, &[KEYS, &[("part_size", "5242880")]].concat());
        let mut staged = store.stage("key").unwrap();
        staged.append(&vec![1; 6 << 20]).unwrap();
        let done = (&store as &dyn Storage).publish("key", staged);
        assert_eq!(done.as_ref().err().map(|e| e.kind()), kind, "{first} {then} {there}: {done:?}");
        let is_unsure = done.is_err_and(|e| e.is_unsure());
        assert_eq!(is_unsure, kind == Some(ErrorKind::Network), "{first} {then} {there}: whether it may have been stored");
    }
}

/// Headers and texts of answers that say 404 or 410, and whether a service of objects says so.
const MISSING: [(&str, &str, bool); 22] = [
    ("", "", true),
    ("", "\n", true),
    ("Content-Type: text/html\r\n", "", true),
    ("Content-Type: application/xml\r\n", "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code></Error>", true),
    ("Content-Type: application/xml\r\n", "\u{feff}<?xml version=\"1.0\"?><Error><Code>BlobNotFound</Code></Error>", true),
    ("Content-Type: text/html\r\n", "<Error><Code>NoSuchKey</Code></Error>", true),
    ("", "<Error/>", true),
    ("Content-Type: application/json\r\n", "{\"error\": {\"code\": 404, \"reason\": \"notFound\"}}", true),
    ("x-ms-error-code: BlobNotFound\r\n", "none", true),
    ("Content-Type: text/html\r\n", "<html><h1>404 Not Found</h1></html>", false),
    ("", "\n<!DOCTYPE html><html>none</html>", false),
    ("Content-Type: text/html; charset=utf-8\r\n", "<h1>Not Found</h1>", false),
    ("Content-Type: text/plain\r\n", "404 page not found\n", false),
    ("Content-Type: text/plain; charset=utf-8\r\n", "Not Found\n", true),
    ("", "default backend - 404", false),
    ("Content-Type: application/json\r\n", "{\"message\":\"no Route matched with those values\"}", false),
    ("Content-Type: application/json\r\n", "{\"status\":404,\"error\":\"Not Found\",\"path\":\"/a\"}", false),
    ("Content-Type: text/html\r\n", "<?xml version=\"1.0\"?><!DOCTYPE html><html>404 Not Found</html>", false),
    ("Content-Type: application/xml\r\n", "<?xml version=\"1.0\"?><error>no upstream</error>", false),
    ("", "<!-- ours --><html>none</html>", false),
    ("Content-Type: application/xml\r\n", "<Error><Code>SlowDown</Code></Error>", false),
    ("Content-Type: application/xml\r\n", "<Error><Code>AccessDenied</Code></Error>", false),
];

#[test]
fn what_lies_before_a_service_does_not_say_that_a_key_is_missing() {
    for (status, (headers, body, missing)) in MISSING.into_iter().flat_map(|case| [("404 none", case), ("410 gone", case)]) {
        // An answer to a HEAD has the headers alone.
        let answer = move |head: &str| {
            let told = said(status, headers, body);
            if head.starts_with("head") { told[..told.len() - body.len()].to_string() } else { told }
        };
        let (port, asked) = serve(answer);
        let found = |store: &RemoteStore| {
            [
                get(store as &dyn Storage, "key", 100).map(|found| found.is_none()).map_err(|e| e.kind()),
                start_and_wait(store, "key", &[ByteRange::WHOLE], None).map(|found| found.is_none()).map_err(|e| e.kind()),
                start_and_wait(store, "key", &[], None).map(|found| found.is_none()).map_err(|e| e.kind()),
            ]
        };
        let store = store_at(port, KEYS);
        let expected = if missing { Ok(true) } else { Err(ErrorKind::Network) };
        let is_told = missing || headers.contains("text/");
        let all = found(&store);
        assert_eq!(all[..2], [expected; 2], "{status} {headers} {body}");
        if is_told {
            assert_eq!(all[2], expected, "{status} {headers} {body}: by HEAD");
        }
        let gets = asked.lock().unwrap().iter().filter(|head| head.starts_with("get")).count();
        assert!(missing || gets >= 4, "{status} {body}: tried again: {gets}");
        assert!(!body.is_empty() || gets == 2, "{status} {headers}: a HEAD is enough: {gets}");
        let web = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
        let web = RemoteStore::open(&web, &RemoteOptions::default()).unwrap();
        assert_eq!(found(&web), [Ok(true); 3], "{status} {headers} {body}: a web server has such pages");
        let (port, _) = serve(move |head| if head.starts_with("delete") { answer(head) } else { said("200 OK", TAG, "") });
        let erased = store_at(port, KEYS).erase("key").map_err(|e| e.kind());
        let listed = status.starts_with("404") || !missing;
        assert!(!listed || erased == expected, "{status} {headers} {body}: {erased:?}");
        if status.starts_with("404") && !missing {
            let below = store.erase_prefix("a/").map_err(|e| e.kind());
            assert_eq!(below, Err(ErrorKind::Network), "{headers} {body}");
        }
    }
    let (port, _) =
        serve(|_| "HTTP/1.1 404 none\r\nContent-Type: text/html\r\nContent-Length: 100\r\nConnection: close\r\n\r\n".to_string());
    let cut = get(&store_at(port, KEYS) as &dyn Storage, "key", 100).map_err(|e| e.kind());
    assert_eq!(cut, Err(ErrorKind::Network), "a page that breaks off");
}

#[test]
fn a_condition_that_holds_and_is_refused_is_no_other_writers_value() {
    /// What a put is answered, with which code, and what that is.
    type Row = (&'static str, &'static str, ErrorKind, bool);
    let cases: [Row; 11] = [
        ("409 no", "BlobImmutableDueToPolicy", ErrorKind::Permission, false),
        ("412 no", "LeaseIdMissing", ErrorKind::Permission, false),
        ("409 no", "OperationAborted", ErrorKind::Throttled, false),
        ("409 no", "InvalidBucketState", ErrorKind::Network, false),
        ("409 no", "ConditionalRequestConflict", ErrorKind::Network, false),
        ("409 no", "", ErrorKind::Network, false),
        ("412 no", "PreconditionFailed", ErrorKind::Network, false),
        ("404 none", "NoSuchBucket", ErrorKind::NotFound, false),
        // The key holds another value.
        ("412 no", "PreconditionFailed", ErrorKind::Conflict, true),
        // Of an answer that began as a good one the code tells.
        ("200 OK", "PreconditionFailed", ErrorKind::Network, false),
        ("200 OK", "PreconditionFailed", ErrorKind::Conflict, true),
    ];
    // Where it is not said whether the server keeps conditions, that is asked for first, by a key of which nobody knows.
    let known = cases.map(|row| (row, &[("conditional_put", "always")][..]));
    let asked_for = cases.iter().filter(|row| !row.3).map(|row| (*row, &[][..]));
    for ((status, code, kind, is_other), options) in known.into_iter().chain(asked_for) {
        let tag = AtomicUsize::new(1);
        let (port, asked) = serve(move |head| {
            if head.starts_with("put") {
                tag.fetch_add(usize::from(is_other), Relaxed);
                return said(status, "", &format!("<Error><Code>{code}</Code></Error>"));
            }
            let tag = format!("ETag: \"{}\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n", tag.load(Relaxed));
            let range = if head.starts_with("get") { "Content-Range: bytes 0-2/3\r\n" } else { "" };
            said(
                if range.is_empty() { "200 OK" } else { "206 Partial" },
                &format!("{tag}{range}"),
                if range.is_empty() { "" } else { "yes" },
            )
        });
        let store = store_at(port, &[KEYS, options].concat());
        let mut rounds = 0;
        let e = crate::store::swap::make(&store, || {
            rounds += 1;
            let read = start_and_wait(&store, "key", &[ByteRange::Span { offset: 0, len: 3 }], None)?.unwrap();
            match (is_other, rounds) {
                (true, 3) => crate::error::bail!(State, "enough"),
                _ => store.put("key", &[b"new"], Condition::Match(read.version)),
            }
        });
        let e = e.unwrap_err();
        let (expected, most) = if is_other { (ErrorKind::State, 3) } else { (kind, 1) };
        assert_eq!((e.kind(), rounds), (expected, most), "{status} {code}: {e}");
        let puts = asked.lock().unwrap().iter().filter(|head| head.starts_with("put")).count();
        assert!(puts <= 12, "{status} {code}: {puts} puts");
        assert!(!e.message().contains("others were faster"), "{e}");
        assert_eq!(e.message().contains("there is no s3://bucket:"), kind == ErrorKind::NotFound, "{e}");
    }
}

#[test]
fn a_put_without_a_condition_that_is_refused_for_one_is_not_made_for_ever() {
    for (status, code) in [("412 no", "PreconditionFailed"), ("409 no", "BlobAlreadyExists"), ("409 no", "ConditionalRequestConflict")] {
        let (port, asked) = serve(move |_| said(status, "", &format!("<Error><Code>{code}</Code></Error>")));
        let store = store_at(port, KEYS);
        let put = crate::store::swap::make(&store, || store.put("key", &[b"new"], Condition::None));
        let asked = asked.lock().unwrap().len();
        assert_eq!(put.map_err(|e| e.kind()), Err(ErrorKind::Network), "{status} {code}: {asked} requests");
        assert!(asked <= 2, "{status} {code}: {asked} requests");
    }
}

#[test]
fn a_range_that_came_whole_is_not_gone_on_with() {
    // The connection breaks where the length, though not the range, lets more be expected.
    let (port, asked) =
        serve(|_| format!("HTTP/1.1 206 Partial\r\n{TAG}Content-Range: bytes 0-2/9\r\nContent-Length: 53\r\nConnection: close\r\n\r\nyes"));
    let read = start_and_wait(&store_at(port, KEYS), "key", &[ByteRange::Span { offset: 0, len: 3 }], None);
    assert_eq!(read.map(|read| read.unwrap().parts).map_err(|e| e.to_string()), Ok(vec![b"yes".to_vec()]));
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// A page of what is in a folder.
fn page_of(next: &str, names: &[&str]) -> String {
    let next = match next {
        "" => "<IsTruncated>false</IsTruncated>".to_string(),
        next => format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{next}</NextContinuationToken>"),
    };
    let entry = |name: &&str| match name.strip_suffix('/') {
        Some(_) => format!("<CommonPrefixes><Prefix>a/{name}</Prefix></CommonPrefixes>"),
        None => format!("<Contents><Key>a/{name}</Key><Size>1</Size><LastModified>2026-11-21T00:00:00.000Z</LastModified></Contents>"),
    };
    said("200 OK", "", &format!("<ListBucketResult>{next}{}</ListBucketResult>", names.iter().map(entry).collect::<String>()))
}

#[test]
fn a_folder_that_is_listed_again_and_again_ends_in_an_error() {
    for around in [1, 3] {
        let count = AtomicUsize::new(0);
        let (port, asked) = serve(move |_| {
            let n = count.fetch_add(1, Relaxed) % around;
            page_of(&format!("t{n}"), &[&format!("k{n}"), "c/"])
        });
        let e = store_at(port, &[KEYS, &[("deadline", "5")]].concat()).list_dir("a/").unwrap_err();
        assert!(e.kind() == ErrorKind::Network && e.message().contains("again and again"), "{around}: {e}");
        assert!(asked.lock().unwrap().len() <= 4 * around, "{around}");
    }
}

#[test]
fn a_listing_of_a_folder_goes_on_with_the_page_that_failed() {
    let count = AtomicUsize::new(0);
    let (port, asked) = serve(move |head| {
        let is_busy = count.fetch_add(1, Relaxed).is_multiple_of(2);
        match head.split("continuation-token=").nth(1).and_then(|rest| rest.split(['&', ' ']).next()) {
            _ if is_busy => said("503 busy", "", ""),
            None => page_of("t1", &["k1", "c/"]),
            // Some servers say of a folder what is in each page of its keys.
            Some("t1") => page_of("t2", &["c/"]),
            Some("t2") => page_of("t3", &["c/"]),
            _ => page_of("", &["d/", "k2"]),
        }
    });
    let store = store_at(port, &[KEYS, &[("retries", "9")]].concat());
    let found = store.list_dir("a/").unwrap();
    assert_eq!((found.keys, found.prefixes), (vec!["k1".to_string(), "k2".into()], vec!["c".to_string(), "d".into()]));
    assert_eq!(asked.lock().unwrap().len(), 8, "each page fails once");
}

#[test]
fn a_listing_of_a_directory_bucket_which_has_no_order_is_begun_anew_where_a_page_fails() {
    let count = AtomicUsize::new(0);
    let (port, _) = serve(move |head| match head {
        _ if !head.contains("continuation-token=") => page_of("t1", &["b", "c"]),
        _ if count.fetch_add(1, Relaxed) == 0 => said("503 busy", "", ""),
        _ => page_of("", &["a", "d"]),
    });
    let (remote, mut options) = (Remote::parse("s3", "//b--az--x-s3").unwrap().unwrap(), RemoteOptions::default());
    let endpoint = format!("http://127.0.0.1:{port}");
    for (name, value) in [("endpoint", endpoint.as_str()), ("anonymous", "true"), ("s3_express", "true")] {
        if !options.set(name, value).unwrap() {
            options.set_named(name, value);
        }
    }
    let store = RemoteStore::open(&remote, &options).unwrap();
    assert_eq!(store.keys("a/").unwrap(), ["a/a", "a/b", "a/c", "a/d"]);
}

#[test]
fn a_process_asks_a_server_once_whether_it_keeps_conditions() {
    let there = Mutex::new(std::collections::HashSet::new());
    let (port, asked) = serve(move |head| {
        let key = head.split(' ').nth(1).unwrap_or_default().to_string();
        match head.split(' ').next().unwrap_or_default() {
            "delete" => said("204 gone", "", ""),
            "put" if head.contains("\r\nif-match: ") => said("412 no", "", ""),
            "put" if there.lock().unwrap().insert(key) => said("200 OK", "ETag: \"1\"\r\n", ""),
            "put" => said("412 no", "", ""),
            _ => said("404 none", "", ""),
        }
    });
    for (keys, requests) in [("an-id", 5), ("an-id", 1), ("another-id", 5), ("an-id", 1)] {
        let store = store_at(port, &[("access_key_id", keys), ("secret_access_key", "a-secret")]);
        let before = asked.lock().unwrap().len();
        store.put(&format!("k{before}"), &[b"1"], Condition::Absent).unwrap();
        let all = asked.lock().unwrap();
        assert_eq!(all.len() - before, requests, "{keys}: {:?}", &all[before..]);
    }
    let all = asked.lock().unwrap();
    let probe = all[0].split([' ', '/']).nth(3).unwrap();
    assert_eq!(crate::store::question::is_over(probe), Some(false), "{probe}");
}

#[test]
fn a_server_that_refuses_conditions_as_unknown_gets_puts_without() {
    for status in ["400 Bad", "405 no", "422 no", "501 no"] {
        let (port, asked) = serve(move |head| match head.split(' ').next().unwrap_or_default() {
            "put" if head.contains("\r\nif-") => {
                said(status, "", "<Error><Code>InvalidArgument</Code><Message>Unsupported header</Message></Error>")
            }
            "put" => said("200 OK", "ETag: \"1\"\r\n", ""),
            "delete" => said("204 gone", "", ""),
            _ => said("404 none", "", ""),
        });
        let store = store_at(port, KEYS);
        store.put("key", &[b"1"], Condition::Absent).unwrap_or_else(|e| panic!("{status}: {e}"));
        let last = asked.lock().unwrap().pop().unwrap();
        assert!(last.starts_with("put /bucket/key ") && !last.contains("\r\nif-"), "{status}: {last}");
        let require = store_at(port, &[KEYS, &[("conditional_put", "require")]].concat());
        assert_eq!(require.put("key", &[b"1"], Condition::Absent).unwrap_err().kind(), ErrorKind::Unsupported, "{status}");
    }
}

#[test]
fn a_request_that_was_refused_once_says_nothing_of_conditions() {
    for status in ["400 Bad", "405 no", "422 no"] {
        let (puts, there) = (AtomicUsize::new(0), Mutex::new(std::collections::HashSet::new()));
        let (port, asked) = serve(move |head| {
            let key = head.split(' ').nth(1).unwrap_or_default().to_string();
            match head.split(' ').next().unwrap_or_default() {
                "put" if puts.fetch_add(1, Relaxed) == 0 => said(status, "", "<Error><Code>IncompleteBody</Code></Error>"),
                "put" if head.contains("\r\nif-match: ") => said("412 no", "", ""),
                "put" if there.lock().unwrap().insert(key) || !head.contains("\r\nif-") => said("200 OK", "ETag: \"1\"\r\n", ""),
                "put" => said("412 no", "", ""),
                "delete" => said("204 gone", "", ""),
                _ => said("404 none", "", ""),
            }
        });
        let store = store_at(port, KEYS);
        store.put("key", &[b"1"], Condition::Absent).unwrap_or_else(|e| panic!("{status}: {e}"));
        let last = asked.lock().unwrap().pop().unwrap();
        assert!(last.starts_with("put /bucket/key ") && last.contains("\r\nif-none-match: *"), "{status}: {last}");
    }
}

#[test]
fn a_put_or_an_erasure_that_is_sent_elsewhere_by_303_is_no_success() {
    let (port, _) = serve(|head| match head.split(' ').nth(1) {
        Some("/login") => said("200 OK", "ETag: \"1\"\r\n", "welcome"),
        _ => said("303 See", "Location: /login\r\n", ""),
    });
    let store = store_at(port, KEYS);
    for (what, e) in [("put", store.put("key", &[b"1"], Condition::None).unwrap_err()), ("erase", store.erase("key").unwrap_err())] {
        assert!(e.kind() == ErrorKind::Network && e.message().contains("303"), "{what}: {e}");
    }
}

#[test]
fn a_post_that_is_sent_elsewhere_is_no_success() {
    for status in ["301 Moved", "302 Found", "303 See"] {
        let (port, asked) = serve(move |head| match head.split(' ').next().unwrap_or_default() {
            "post" if head.contains("?uploads") => {
                said("200 OK", "", "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
            }
            "post" => said(status, "Location: /elsewhere\r\n", ""),
            "put" => said("200 OK", "ETag: \"p\"\r\n", ""),
            "get" => said("200 OK", "", "<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"),
            _ => said("204 gone", "", ""),
        });
        let store = store_at(port, &[KEYS, &[("part_size", "5242880")]].concat());
        let mut staged = store.stage("key").unwrap();
        staged.append(&vec![1; 6 << 20]).unwrap();
        let e = (&store as &dyn Storage).publish("key", staged).expect_err(status);
        assert!(e.kind() == ErrorKind::Network && e.message().contains(&status[..3]), "{status}: {e}");
        assert!(!asked.lock().unwrap().iter().any(|head| head.contains("/elsewhere")), "{status}");
    }
}

#[test]
fn a_refused_request_that_nobody_signed_says_so() {
    for status in ["401 no", "403 no"] {
        let (port, _) = serve(move |_| said(status, "", ""));
        let text = |pairs: &[(&str, &str)]| {
            let store = store_at(port, pairs);
            [get(&store as &dyn Storage, "key", 100).unwrap_err(), store.put("key", &[b"1"], Condition::None).unwrap_err()]
                .map(|e| e.to_string())
        };
        for (pairs, told) in [(&[][..], true), (&[("anonymous", "true")], false), (KEYS, false)] {
            assert!(text(pairs).iter().all(|text| text.contains("not signed") == told), "{status} {pairs:?}: {:?}", text(pairs));
        }
    }
}

#[test]
fn a_server_that_names_the_time_to_come_again_is_asked_then() {
    let count = AtomicUsize::new(0);
    let (port, _) = serve(move |_| match count.fetch_add(1, Relaxed) {
        0 => said("503 busy", "Date: Sat, 28 Nov 2026 11:40:00 GMT\r\nRetry-After: Sat, 28 Nov 2026 11:40:02 GMT\r\n", ""),
        _ => super::yes(),
    });
    let started = std::time::Instant::now();
    assert_eq!(get(&store_at(port, KEYS) as &dyn Storage, "key", 100).unwrap().unwrap(), b"yes");
    assert!(started.elapsed() >= std::time::Duration::from_secs(2), "{:?}", started.elapsed());
}

#[test]
fn a_proxy_that_cannot_be_reached_is_named() {
    let (port, asked) = serve(|_| super::yes());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxy = format!("http://user:planted-word@{closed}/");
    let e = get(&store_at(port, &[KEYS, &[("proxy", &proxy)]].concat()) as &dyn Storage, "key", 100).unwrap_err();
    assert!(e.message().contains(&format!("by the proxy {closed}")) && !e.message().contains("planted"), "{e}");
    let socks = format!("socks5://{closed}");
    let e = get(&store_at(port, &[KEYS, &[("proxy", &socks), ("retries", "9")]].concat()) as &dyn Storage, "key", 100).unwrap_err();
    let text = e.message();
    assert!(
        text.contains(&format!("by the proxy {closed}")) && text.contains("expected a proxy of http") && !text.contains("tried"),
        "{e}"
    );
    assert!(asked.lock().unwrap().is_empty());
}
