//! Web servers that know little of HTTP: no ranges, no HEAD, codings that nobody asked for, lengths that are not so.

use super::{Heads, serve};
use crate::error::ErrorKind;
use crate::store::cache::CacheStore;
use crate::store::local::{FileOptions, SyncMode};
use crate::store::object::RemoteStore;
use crate::store::remote::{Remote, RemoteOptions};
use crate::store::suite::TestFolder;
use crate::store::zip::ZipStore;
use crate::store::{ByteRange, Condition, SharedStore, Storage, get, location, start_and_wait};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

const DATE: &str = "Last-Modified: Sat, 21 Nov 2020 00:00:00 GMT\r\n";

/// What is to be served, and its number, which its ETag has.
type Served = Arc<Mutex<(usize, Vec<u8>)>>;

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The first and the last byte of the range that is asked for.
fn range_in(head: &str) -> Option<(usize, usize)> {
    let (first, last) = head.split_once("\r\nrange: bytes=")?.1.split("\r\n").next()?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

/// A server of one object, which answers requests for ranges by `refusal`, or serves them if that is "206", and HEADs by `head`.
fn web(served: &Served, refusal: &'static str, head: &'static str) -> (u16, Heads) {
    let served = served.clone();
    serve(move |asked| {
        let (number, bytes) = &*served.lock().unwrap();
        let told = format!("ETag: \"v{number}\"\r\n{DATE}");
        match (asked.split(' ').next(), range_in(asked), refusal) {
            (Some("head"), ..) if head == "closed" => Vec::new(),
            (Some("head"), ..) if head == "200 OK" => {
                format!("HTTP/1.1 200 OK\r\n{told}Content-Length: {}\r\nConnection: close\r\n\r\n", bytes.len()).into_bytes()
            }
            (Some("head"), ..) => answer(head, "", b""),
            (_, Some((first, last)), "206") if first < bytes.len() => {
                let last = last.min(bytes.len() - 1);
                answer("206 Partial", &format!("{told}Content-Range: bytes {first}-{last}/{}\r\n", bytes.len()), &bytes[first..=last])
            }
            // All bytes, as a range.
            (_, Some(_), "206 all") => {
                let range = format!("{told}Content-Range: bytes 0-{}/{}\r\n", bytes.len() - 1, bytes.len());
                answer("206 Partial", &range, bytes)
            }
            (_, None, _) if asked.contains("\r\nrange:") && refusal != "200 OK" => answer("416 no", "", b""),
            (_, None, _) | (_, _, "200 OK") => answer("200 OK", &told, bytes),
            (_, Some(_), refusal) => answer(refusal, "", b""),
        }
    })
}

/// A server of one object, which serves no ranges and tells no length, and answers HEADs by `head`.
fn untold(served: &Served, head: &'static str) -> (u16, Heads) {
    let served = served.clone();
    serve(move |asked| {
        let (number, bytes) = &*served.lock().unwrap();
        let told = format!("HTTP/1.1 200 OK\r\nETag: \"v{number}\"\r\n{DATE}Connection: close\r\n\r\n").into_bytes();
        match asked.starts_with("head") {
            true if head == "200 OK" => told,
            true => answer(head, "", b""),
            false => [&told[..], bytes].concat(),
        }
    })
}

fn store_at(port: u16, options: &[(&str, &str)]) -> RemoteStore {
    let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
    let mut all = RemoteOptions::default();
    options.iter().for_each(|(name, value)| assert!(all.set(name, value).unwrap()));
    RemoteStore::open(&remote, &all).unwrap()
}

fn archive_at(port: u16) -> crate::error::Result<SharedStore> {
    let root = location::parse(&format!("http://127.0.0.1:{port}/x.zip")).unwrap();
    root.open("", false, FileOptions::default(), &RemoteOptions::default()).map(|opened| opened.0)
}

/// An archive of three chunks of `len` bytes and a document.
fn archive_of(fill: u8, len: usize) -> Vec<u8> {
    let folder = TestFolder::new("web-archive");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.zip");
    let store = ZipStore::open(&path, true, SyncMode::None).unwrap();
    for (i, key) in ["c/0", "c/1", "c/2"].into_iter().enumerate() {
        store.put(key, &[&vec![fill + i as u8; len]], Condition::None).unwrap();
    }
    store.put("zarr.json", &[b"{}"], Condition::None).unwrap();
    store.flush().unwrap();
    std::fs::read(path).unwrap()
}

/// How many GETs had answers with all bytes.
fn downloads(heads: &Heads, refusal: &str) -> usize {
    let all = heads.lock().unwrap();
    all.iter().filter(|head| head.starts_with("get") && (refusal == "200 OK" || !head.contains("\r\nrange:"))).count()
}

#[test]
fn an_archive_on_a_server_without_ranges_is_one_download() {
    for refusal in ["200 OK", "416 no", "400 bad", "501 no", "206 all"] {
        let served: Served = Arc::new(Mutex::new((0, archive_of(1, 200_000))));
        let (port, heads) = web(&served, refusal, "200 OK");
        let store = archive_at(port).unwrap_or_else(|e| panic!("{refusal}: {e}"));
        for i in [0, 1, 2, 0] {
            let key = format!("c/{i}");
            assert!(get(&*store, &key, 1 << 20).unwrap().unwrap() == vec![1 + i; 200_000], "{refusal}");
            let part = start_and_wait(&*store, &key, &[ByteRange::Span { offset: 5, len: 9 }], None).unwrap().unwrap();
            assert_eq!(part.parts, [vec![1 + i; 9]], "{refusal}");
            assert_eq!(get(&*store, "zarr.json", 9).unwrap().unwrap(), b"{}", "{refusal}");
        }
        assert_eq!(downloads(&heads, refusal), 1, "{refusal}: {:?}", heads.lock().unwrap());
        let count = heads.lock().unwrap().len();
        assert!(count <= 8, "{refusal}: {count} requests");
        *served.lock().unwrap() = (1, archive_of(7, 200_000));
        assert!(get(&*store, "c/1", 1 << 20).unwrap().unwrap() == vec![2; 200_000], "{refusal}: of the version that was opened");
        assert_eq!(get(&*store, "zarr.json", 9).unwrap_err().kind(), ErrorKind::Conflict, "{refusal}: it is told that there is another");
        let before = downloads(&heads, refusal);
        let anew = archive_at(port).unwrap();
        assert!(get(&*anew, "c/1", 1 << 20).unwrap().unwrap() == vec![8; 200_000], "{refusal}");
        assert_eq!(downloads(&heads, refusal), before + 1, "{refusal}");
    }
}

#[test]
fn an_archive_of_a_server_that_tells_no_length_is_not_sent_again_for_its_documents() {
    for head in ["200 OK", "405 no"] {
        let served: Served = Arc::new(Mutex::new((0, archive_of(1, 2 << 20))));
        let (port, heads) = untold(&served, head);
        let sent = |heads: &Heads| heads.lock().unwrap().iter().filter(|head| head.starts_with("get")).count();
        let store = archive_at(port).unwrap_or_else(|e| panic!("{head}: {e}"));
        let opened = sent(&heads);
        for _ in 0..3 {
            assert_eq!(get(&*store, "zarr.json", 9).unwrap().unwrap(), b"{}", "{head}");
        }
        let later = sent(&heads) - opened;
        assert_eq!(later, if head == "200 OK" { 0 } else { 3 }, "{head}: {:?}", heads.lock().unwrap());
        *served.lock().unwrap() = (1, archive_of(7, 2 << 20));
        assert_eq!(get(&*store, "zarr.json", 9).unwrap_err().kind(), ErrorKind::Conflict, "{head}: it is told that there is another");
    }
}

#[test]
fn an_archive_that_is_too_large_for_a_server_without_ranges_is_refused_with_the_reason() {
    for refusal in ["200 OK", "416 no", "400 bad"] {
        let served: Served = Arc::new(Mutex::new((0, archive_of(1, 6 << 20))));
        let (port, heads) = web(&served, refusal, "200 OK");
        let e = archive_at(port).err().unwrap();
        assert_eq!(e.kind(), ErrorKind::Ranges, "{refusal}: {e}");
        let size = served.lock().unwrap().1.len();
        assert!(e.message().contains("has no ranges") && e.message().contains(&format!("{size} bytes")), "{refusal}: {e}");
        let count = heads.lock().unwrap().len();
        assert!(count <= 6, "{refusal}: {count} requests");
    }
}

#[test]
fn parts_of_an_object_on_a_server_without_ranges_are_cut_out_of_the_whole() {
    let bytes: Vec<u8> = (0..400_000u32).map(|i| (i / 7) as u8).collect();
    for refusal in ["200 OK", "416 no", "400 bad", "501 no", "206 all"] {
        let served: Served = Arc::new(Mutex::new((0, bytes.clone())));
        for head in ["200 OK", "405 no"] {
            let (port, heads) = web(&served, refusal, head);
            let store = store_at(port, &[]);
            let spans = [(10, 20), (300_000, 70_000), (5, 1), (399_990, 10)].map(|(offset, len)| ByteRange::Span { offset, len });
            let found = start_and_wait(&store, "key", &spans, None).unwrap_or_else(|e| panic!("{refusal} {head}: {e}")).unwrap();
            let expected = [&bytes[10..30], &bytes[300_000..370_000], &bytes[5..6], &bytes[399_990..]];
            assert!(found.parts.iter().zip(expected).all(|(part, expected)| part == expected), "{refusal} {head}");
            assert_eq!(downloads(&heads, refusal), 1, "{refusal} {head}: {:?}", heads.lock().unwrap());
            let end =
                start_and_wait(&store, "key", &[ByteRange::Suffix { len: 100 }], None).unwrap_or_else(|e| panic!("{refusal} {head}: {e}"));
            assert!(end.unwrap().parts[0] == bytes[399_900..], "{refusal} {head}");
            assert!(get(&store, "key", 1 << 20).unwrap().unwrap() == bytes, "{refusal} {head}");
            let short = start_and_wait(&store, "key", &[ByteRange::Span { offset: 399_990, len: 11 }], None).map(drop).unwrap_err();
            assert_eq!(short.kind(), ErrorKind::Truncated, "{refusal} {head}: {short}");
            let behind = start_and_wait(&store, "key", &[ByteRange::Span { offset: 400_001, len: 1 }], None).map(drop).unwrap_err();
            assert_eq!(behind.kind(), ErrorKind::Truncated, "{refusal} {head}: {behind}");
            let count = heads.lock().unwrap().len();
            assert!(count <= 16, "{refusal} {head}: {count} requests");
        }
    }
}

#[test]
fn a_coding_of_a_web_server_is_named_and_its_bytes_are_taken_for_nothing_else() {
    let range = "Content-Range: bytes 0-9/10\r\n";
    for (coding, is_refused) in [("gzip", true), ("br", true), ("X-GZIP", true), ("zstd", true), ("identity", false), ("", false)] {
        for status in ["200 OK", "206 Partial"] {
            let (port, heads) = serve(move |asked| {
                let is_part = asked.contains("\r\nrange:") && status.starts_with("206");
                let headers = format!("ETag: \"1\"\r\n{DATE}Content-Encoding: {coding}\r\n{}", if is_part { range } else { "" });
                let whole = answer(if is_part { status } else { "200 OK" }, &headers, b"0123456789");
                if asked.starts_with("head") { whole[..whole.len() - 10].to_vec() } else { whole }
            });
            let store = store_at(port, &[("retries", "3")]);
            let read = |ranges: &[ByteRange]| {
                start_and_wait(&store, "key", ranges, None).map(|found| found.unwrap().parts.first().cloned().unwrap_or_default())
            };
            let all = [
                get(&store, "key", 100).map(|found| found.unwrap()),
                read(&[ByteRange::WHOLE]),
                read(&[ByteRange::Span { offset: 0, len: 10 }]),
                read(&[ByteRange::Suffix { len: 10 }]),
            ];
            for found in all {
                match found {
                    Ok(found) => assert!(!is_refused && found == b"0123456789", "{coding} {status}"),
                    Err(e) => {
                        let text = format!("Content-Encoding {coding}");
                        assert!(is_refused && e.kind() == ErrorKind::Network && e.message().contains(&text), "{coding} {status}: {e}");
                    }
                }
            }
            let heads = heads.lock().unwrap();
            assert!(heads.iter().all(|head| head.contains("\r\naccept-encoding: identity\r\n")), "{heads:?}");
            assert!(heads.len() <= 10, "{coding} {status}: {} requests", heads.len());
        }
    }
}

#[test]
fn the_end_of_an_object_is_not_looked_for_by_a_length_that_is_not_its_own() {
    let bytes: Vec<u8> = (0..100).collect();
    let sent = bytes.clone();
    let (port, _) = serve(move |asked| {
        let told = format!("ETag: W/\"1\"\r\n{DATE}");
        match range_in(asked) {
            // That of what it would send in some coding.
            None if asked.starts_with("head") => format!("HTTP/1.1 200 OK\r\n{told}Content-Length: 50\r\nConnection: close\r\n\r\n").into(),
            None => answer("416 no", "", b""),
            Some((first, last)) => {
                let last = last.min(99);
                answer("206 Partial", &format!("{told}Content-Range: bytes {first}-{last}/100\r\n"), &sent[first..=last])
            }
        }
    });
    let found = start_and_wait(&store_at(port, &[]), "key", &[ByteRange::Suffix { len: 10 }], None);
    assert_eq!(found.map(|found| found.unwrap().parts).map_err(|e| e.to_string()), Ok(vec![bytes[90..].to_vec()]));
}

#[test]
fn a_body_that_ends_early_or_late_is_a_broken_transfer_and_tried_again() {
    const TAG: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2020 00:00:00 GMT\r\n";
    let half = "x".repeat(500);
    let short =
        format!("HTTP/1.1 206 Partial\r\n{TAG}Content-Range: bytes 0-999/1000\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n{half}");
    let whole = format!("HTTP/1.1 200 OK\r\n{TAG}Content-Length: 1000\r\nConnection: close\r\n\r\n{half}");
    let untagged = format!("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n{half}");
    let long = format!(
        "HTTP/1.1 206 Partial\r\n{TAG}Content-Range: bytes 0-999/1000\r\nContent-Length: 1500\r\nConnection: close\r\n\r\n{}",
        half.repeat(3)
    );
    for (wrong, text) in [
        (&short, "500 of 1000 bytes"),
        (&whole, "500 of 1000 bytes"),
        (&untagged, "500 of 1000 bytes"),
        (&long, "more than the 1000 bytes that were asked for: "),
    ] {
        for (heals, later) in [(usize::MAX, "416 no"), (usize::MAX, "400 bad"), (1, "416 no"), (2, "416 no"), (2, "400 bad")] {
            let (count, wrong) = (Arc::new(AtomicUsize::new(0)), wrong.clone());
            let counted = count.clone();
            let (port, heads) = serve(move |asked| {
                let number = counted.fetch_add(1, Relaxed);
                match range_in(asked) {
                    // There are no more bytes.
                    Some((first, _)) if first > 0 => answer(later, "", b"").to_vec(),
                    _ if number < heals => wrong.clone().into(),
                    Some(_) => answer("206 Partial", &format!("{TAG}Content-Range: bytes 0-999/1000\r\n"), &[b'y'; 1000]),
                    None => answer("200 OK", TAG, &[b'y'; 1000]),
                }
            });
            let store = store_at(port, &[("retries", "4")]);
            for range in [ByteRange::Span { offset: 0, len: 1000 }, ByteRange::WHOLE] {
                let before = heads.lock().unwrap().len();
                count.store(0, Relaxed);
                let found = start_and_wait(&store, "key", &[range], None);
                // What contradicts itself is not asked for again.
                if range == ByteRange::WHOLE && text.starts_with("more") {
                    assert_eq!(found.map(drop).map_err(|e| e.kind()), Err(ErrorKind::Ranges), "{heals}");
                    break;
                }
                let requests = heads.lock().unwrap().len() - before;
                match found {
                    Ok(found) => assert!(heals < usize::MAX && found.unwrap().parts[0] == [b'y'; 1000], "{text} {heals} {later}"),
                    Err(e) => {
                        assert!(
                            heals == usize::MAX && e.kind() == ErrorKind::Network && e.message().contains(text),
                            "{text} {heals} {later}: {e}"
                        );
                        assert!(e.message().contains("tried"), "{text} {later}: {e}");
                    }
                }
                assert!(requests <= 10, "{text} {heals} {later}: {requests} requests");
            }
        }
    }
}

#[test]
fn what_is_kept_is_given_again_whatever_a_head_is_answered() {
    for refusal in ["206", "200 OK", "416 no"] {
        for head in ["200 OK", "500 broken", "405 no", "501 no", "304 same", "404 none", "503 busy", "302 there", "closed"] {
            let served: Served = Arc::new(Mutex::new((0, vec![7; 300_000])));
            let (port, heads) = web(&served, refusal, head);
            let cached = CacheStore::new(Arc::new(store_at(port, &[("retries", "2")])), 4 << 20);
            for _ in 0..3 {
                let found = get(&cached, "key", 1 << 20).unwrap_or_else(|e| panic!("{refusal} {head}: {e}"));
                assert!(found.unwrap() == vec![7; 300_000], "{refusal} {head}");
            }
            *served.lock().unwrap() = (1, vec![8; 300_000]);
            assert!(get(&cached, "key", 1 << 20).unwrap().unwrap() == vec![8; 300_000], "{refusal} {head}");
            let count = heads.lock().unwrap().len();
            assert!(count <= 14, "{refusal} {head}: {count} requests");
        }
    }
}

/// What the call and the variable say, and whether a refusal says that the variable's token was not sent.
#[test]
fn a_refusal_says_that_the_token_of_the_variable_was_not_sent() {
    for (own, of_variable, is_told) in [(None, Some("plant-v"), true), (Some("plant-c"), Some("plant-v"), false), (None, None, false)] {
        let (port, heads) = serve(|_| answer("401 no", "", b""));
        let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
        let mut options = RemoteOptions::default();
        of_variable.iter().for_each(|token| options.set_named("bearer_token", token));
        options.keep_for(remote.service).unwrap();
        own.iter().for_each(|token| options.set_named("bearer_token", token));
        let text = get(&RemoteStore::open(&remote, &options).unwrap(), "k", 9).unwrap_err().to_string();
        assert_eq!((text.contains("OZARR_CLOUD_OPTIONS"), text.contains("plant")), (is_told, false), "{own:?} {of_variable:?}: {text}");
        assert_eq!(heads.lock().unwrap()[0].contains("authorization: bearer plant-c"), own.is_some());
    }
}

#[test]
fn a_server_whose_dates_nobody_understands_is_read_and_no_moment_is_taken_from_them() {
    for (changed, kept) in [
        ("Sat, 21 Nov 2020 00:00:00 GMT", true),
        ("Sat, 21 Nov 2020 01:00:00 +0100", true),
        ("Saturday, 21-Nov-20 00:00:00 GMT", false),
        ("Sat Nov 21 00:00:00 2020", false),
        ("Sat, 21 Nov 2020 00:00:00 UTC", false),
        ("2020-11-21T00:00:00Z", false),
        ("1605916800", false),
        ("0", false),
        ("", false),
    ] {
        for (tag, kept) in [("", kept), ("ETag: \"v1\"\r\n", true)] {
            let gets = AtomicUsize::new(0);
            let (port, _) = serve(move |head| {
                let number = if head.starts_with("get") { gets.fetch_add(1, Relaxed) } else { 0 };
                let told = format!("Last-Modified: {changed}\r\nDate: Sat, 21 Nov 2026 00:00:00 GMT\r\n{tag}");
                let told = String::from_utf8(answer("200 OK", &told, format!("no{number}").as_bytes())).unwrap();
                if head.starts_with("head") { told[..told.len() - 3].to_string() } else { told }
            });
            let cached = CacheStore::new(Arc::new(store_at(port, &[])), 1 << 20);
            let found = [(); 2].map(|()| String::from_utf8(get(&cached, "key", 9).unwrap().unwrap()).unwrap());
            assert_eq!(found, ["no0", if kept { "no0" } else { "no1" }], "{changed:?} {tag}");
        }
    }
}
