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
