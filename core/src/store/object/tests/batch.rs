//! Answers to batches of keys to erase. Azure's: each key has an answer of its own within one. S3's, from a server that has the bulk form: errors are
//! told of each key.

use super::{KEYS, said, serve};
use crate::error::ErrorKind;
use crate::store::StorageExt;
use crate::store::object::RemoteStore;
use crate::store::remote::{Remote, RemoteOptions};
use std::sync::{Arc, Mutex};

/// The store of `az://container` at that port.
fn store_at(port: u16) -> RemoteStore {
    let (remote, mut options) = (Remote::parse("az", "//container").unwrap().unwrap(), RemoteOptions::default());
    let endpoint = format!("http://127.0.0.1:{port}/account");
    for (name, value) in [("endpoint", &*endpoint), ("account_name", "account"), ("account_key", "a2V5"), ("retries", "0")] {
        options.set(name, value).unwrap();
    }
    RemoteStore::open(&remote, &options).unwrap()
}

/// An answer to a batch, of parts with an id and a status each.
fn parts(of: &[(&str, &str)]) -> String {
    let part = |(id, status): &(&str, &str)| {
        format!("--b\r\nContent-Type: application/http\r\nContent-ID: {id}\r\n\r\nHTTP/1.1 {status}\r\nx-ms-version: 2018-11-09\r\n\r\n")
    };
    let body = of.iter().map(part).collect::<String>() + "--b--\r\n";
    said("202 Accepted", "Content-Type: multipart/mixed; boundary=b\r\n", &body)
}

fn whole(code: &str) -> String {
    said("404 none", &format!("x-ms-error-code: {code}\r\n"), &format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>"))
}

#[test]
fn a_key_is_gone_only_where_its_own_answer_says_so() {
    let now = Arc::new(Mutex::new(String::new()));
    let told = now.clone();
    let (port, _) = serve(move |head| {
        let blob = "<Blob><Name>a/b</Name><Properties><Last-Modified>Sat, 21 Nov 2026 00:00:00 GMT</Last-Modified>\
            <Content-Length>1</Content-Length><Content-Type>a/b</Content-Type><Etag>1</Etag></Properties></Blob>";
        let page = format!("<?xml version=\"1.0\"?><EnumerationResults><Blobs>{blob}</Blobs><NextMarker /></EnumerationResults>");
        match head.split(' ').next().unwrap_or_default() {
            "post" => told.lock().unwrap().clone(),
            "get" => said("200 OK", "Content-Type: application/xml\r\n", &page),
            _ => said("200 OK", "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n", ""),
        }
    });
    let store = store_at(port);
    for (answer, expected) in [
        (parts(&[("0", "202 Accepted")]), Ok(())),
        (parts(&[("0", "404 none")]), Ok(())),
        (parts(&[("0", "403 no")]), Err(ErrorKind::Permission)),
        (whole("ResourceNotFound"), Err(ErrorKind::NotFound)),
        (whole("ContainerNotFound"), Err(ErrorKind::NotFound)),
        (whole("BlobNotFound"), Err(ErrorKind::NotFound)),
        (said("404 none", "", ""), Err(ErrorKind::NotFound)),
        // Of a key that was not asked for.
        (parts(&[("99", "202 Accepted")]), Err(ErrorKind::Network)),
        (parts(&[("99", "404 none")]), Err(ErrorKind::Network)),
        (parts(&[("99", "503 busy")]), Err(ErrorKind::Throttled)),
        (parts(&[("zero", "202 Accepted")]), Err(ErrorKind::Network)),
        (parts(&[("0", "202 Accepted"), ("0", "202 Accepted")]), Err(ErrorKind::Network)),
        (parts(&[("0", "202 Accepted"), ("1", "202 Accepted")]), Err(ErrorKind::Network)),
    ] {
        *now.lock().unwrap() = answer.clone();
        let found = [store.erase("a/b").map(drop), store.erase_prefix("a/")];
        assert_eq!(found.each_ref().map(|found| found.as_ref().map(drop).map_err(|e| e.kind())), [expected; 2], "{answer}: {found:?}");
    }
}

#[test]
fn a_key_of_s3_is_gone_only_where_no_error_is_told_of_it_or_of_all() {
    let now = Arc::new(Mutex::new(String::new()));
    let told = now.clone();
    let (port, _) = serve(move |head| {
        let key = "<Contents><Key>a/b&amp;</Key><Size>1</Size><LastModified>2026-11-21T00:00:00Z</LastModified></Contents>";
        match head.split(' ').next().unwrap_or_default() {
            "post" => told.lock().unwrap().clone(),
            "get" => said("200 OK", "", &format!("<ListBucketResult><IsTruncated>false</IsTruncated>{key}</ListBucketResult>")),
            _ => said("200 OK", "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n", ""),
        }
    });
    let store = super::store_at(port, &[KEYS, &[("disable_bulk_delete", "false"), ("retries", "0")]].concat());
    let of = |key: &str, code: &str| {
        let error = format!("<Error><Key>{key}</Key><Code>{code}</Code><Message>no</Message></Error>");
        said("200 OK", "", &format!("<DeleteResult>{error}</DeleteResult>"))
    };
    let whole = |code: &str| said("404 none", "", &format!("<Error><Code>{code}</Code></Error>"));
    for (answer, expected, says) in [
        (said("200 OK", "", "<DeleteResult><Deleted><Key>a/b&amp;</Key></Deleted></DeleteResult>"), Ok(()), ""),
        (of("a/b&amp;", "AccessDenied"), Err(ErrorKind::Permission), "AccessDenied"),
        (of("/a/b&#38;\n", "AccessDenied"), Err(ErrorKind::Permission), "AccessDenied"),
        (of("a/c&lt;", "AccessDenied"), Err(ErrorKind::Permission), "AccessDenied"),
        (of("a/c&lt;", "SomethingElse"), Err(ErrorKind::Network), "SomethingElse"),
        (whole("NoSuchBucket"), Err(ErrorKind::NotFound), "404 (NoSuchBucket)"),
        (said("404 none", "", ""), Err(ErrorKind::NotFound), "404"),
    ] {
        *now.lock().unwrap() = answer.clone();
        for found in [store.erase("a/b&").map(drop), store.erase_prefix("a/")] {
            assert_eq!(found.as_ref().map(drop).map_err(|e| e.kind()), expected, "{answer}: {found:?}");
            assert!(found.as_ref().map_or_else(|e| e.to_string().contains(says), |()| says.is_empty()), "{answer}: {found:?}");
        }
    }
}
