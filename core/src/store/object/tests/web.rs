//! Web servers that know little of HTTP: no ranges, no HEAD, codings that nobody asked for, lengths that are not so.

use super::serve;
use crate::error::ErrorKind;
use crate::store::object::RemoteStore;
use crate::store::remote::{Remote, RemoteOptions};
use crate::store::{ByteRange, get, start_and_wait};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

const DATE: &str = "Last-Modified: Sat, 21 Nov 2020 00:00:00 GMT\r\n";

fn answer(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// The first and the last byte of the range that is asked for.
fn range_in(head: &str) -> Option<(usize, usize)> {
    let (first, last) = head.split_once("\r\nrange: bytes=")?.1.split("\r\n").next()?.split_once('-')?;
    Some((first.parse().ok()?, last.parse().ok()?))
}

fn store_at(port: u16, options: &[(&str, &str)]) -> RemoteStore {
    let remote = Remote::parse("http", &format!("//127.0.0.1:{port}/")).unwrap().unwrap();
    let mut all = RemoteOptions::default();
    options.iter().for_each(|(name, value)| assert!(all.set(name, value).unwrap()));
    RemoteStore::open(&remote, &all).unwrap()
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
