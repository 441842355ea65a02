//! Answers that are not what was asked for, or say of themselves what is not so.

use super::{KEYS, said, serve, store_at};
use crate::error::ErrorKind;
use crate::store::{ByteRange, start_and_wait};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const DATE: &str = "Last-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";

#[test]
fn an_object_stays_the_same_where_its_etag_becomes_weak_or_strong() {
    let long = format!("\"{}\"", "t".repeat(60));
    let md5 = "\"0123456789abcdef0123456789abcdef\"";
    for tag in ["\"60000000-3\"", "\"1\"", md5, "\"29-characters-and-the-quotes\"", &long] {
        for first_is_weak in [0, 1] {
            let (asked, sent) = (AtomicUsize::new(first_is_weak), tag.to_string());
            let (port, heads) = serve(move |_| {
                let weak = if asked.fetch_add(1, Relaxed) % 2 == 1 { "W/" } else { "" };
                said("206 Partial", &format!("ETag: {weak}{sent}\r\n{DATE}Content-Range: bytes 0-2/3\r\n"), "yes")
            });
            let store = store_at(port, KEYS);
            let read = |version| start_and_wait(&store, "key", &[ByteRange::Span { offset: 0, len: 3 }], version);
            let first = read(None).unwrap().unwrap().version;
            for _ in 0..3 {
                assert_eq!(read(Some(first)).unwrap().unwrap().parts, [b"yes"], "{tag} {first_is_weak}");
            }
            assert!(heads.lock().unwrap().iter().all(|head| !head.contains("\r\nif-match: w/")));
        }
    }
    for (first, then) in [("W/\"1\"", "\"2\""), ("\"1\"", "W/\"2\""), ("W/\"60000000-3\"", "\"60000000-4\"")] {
        let asked = AtomicUsize::new(0);
        let (port, _) = serve(move |_| {
            let tag = if asked.fetch_add(1, Relaxed) == 0 { first } else { then };
            said("206 Partial", &format!("ETag: {tag}\r\n{DATE}Content-Range: bytes 0-2/3\r\n"), "yes")
        });
        let store = store_at(port, KEYS);
        let read = |version| start_and_wait(&store, "key", &[ByteRange::Span { offset: 0, len: 3 }], version);
        let version = read(None).unwrap().unwrap().version;
        assert_eq!(read(Some(version)).err().unwrap().kind(), ErrorKind::Conflict, "{first} {then}");
    }
}

#[test]
fn a_part_that_nobody_asked_for_is_no_whole_object() {
    for (range, expected) in [
        ("Content-Range: bytes 0-2/3\r\n", Some("yes")),
        ("Content-Range: bytes 0-2/570\r\n", None),
        ("Content-Range: bytes 3-5/6\r\n", None),
        ("Content-Range: bytes 0-2/*\r\n", None),
        ("", None),
    ] {
        let (port, _) = serve(move |_| said("206 Partial", &format!("ETag: \"1\"\r\n{DATE}{range}"), "yes"));
        match start_and_wait(&store_at(port, KEYS), "key", &[ByteRange::WHOLE], None) {
            Ok(found) => assert_eq!(
                Some(found.unwrap().parts.as_slice()),
                expected.map(|text| [text.as_bytes().to_vec()]).as_ref().map(|v| &v[..]),
                "{range}"
            ),
            Err(e) => assert_eq!((e.kind(), expected), (ErrorKind::Ranges, None), "{range}: {e}"),
        }
    }
}

#[test]
fn a_server_that_refuses_ranges_from_the_end_is_asked_for_others() {
    for status in ["416 no", "400 bad", "501 no"] {
        let (port, heads) = serve(move |head| {
            let tag = format!("ETag: \"1\"\r\n{DATE}");
            match head.split_once("\r\nrange: bytes=").map(|(_, range)| range.starts_with('-')) {
                Some(true) => said(status, "", ""),
                Some(false) => said("206 Partial", &format!("{tag}Content-Range: bytes 1-2/3\r\n"), "es"),
                None => format!("HTTP/1.1 200 OK\r\n{tag}Content-Length: 3\r\nConnection: close\r\n\r\n"),
            }
        });
        let store = store_at(port, KEYS);
        for _ in 0..2 {
            let read = start_and_wait(&store, "key", &[ByteRange::Suffix { len: 2 }], None);
            assert_eq!(read.unwrap().unwrap().parts, [b"es"], "{status}");
        }
        let refused = heads.lock().unwrap().iter().filter(|head| head.contains("\r\nrange: bytes=-")).count();
        assert_eq!(refused, 1, "{status}: it is not asked again once it is known");
    }
    let (port, _) = serve(|_| said("400 bad", "", "<Error><Code>Odd</Code><Message>no</Message></Error>"));
    let e = start_and_wait(&store_at(port, KEYS), "key", &[ByteRange::Suffix { len: 2 }], None).err().unwrap();
    assert!(e.to_string().contains("400 (Odd: no)"), "the first answer says why: {e}");
}
