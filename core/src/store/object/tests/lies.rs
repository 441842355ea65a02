//! What is not believed: answers of what lies before a service, and of a service that did not do what it was asked for.

use super::{KEYS, said, serve, store_at};
use crate::error::ErrorKind;
use crate::store::Storage;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const TAG: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";

#[test]
fn an_upload_that_is_gone_is_done_only_where_its_object_is_there() {
    const GONE: (&str, &str) = ("404 none", "<Error><Code>NoSuchUpload</Code></Error>");
    /// What the end is answered first and then, whose object is there then, and the error.
    type Row = (&'static str, (&'static str, &'static str), &'static str, Option<ErrorKind>);
    let cases: [Row; 5] = [
        ("503 busy", GONE, "ours", None),
        ("503 busy", GONE, "", Some(ErrorKind::Network)),
        ("503 busy", GONE, "another", Some(ErrorKind::Network)),
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
