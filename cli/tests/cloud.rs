//! Locations on web servers and in object stores: what the program tells of them, and what it asks for.
#![cfg(feature = "cloud")]

mod program;

use program::Folder;
use std::io::{BufRead, BufReader, Write};

const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"int32",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":0,
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}}],"attributes":{},"dimension_names":["x"]}"#;

/// A web server that has one array, `x.zarr`, without chunks; its port.
fn server() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let first = head.first().cloned().unwrap_or_default();
            let (status, text) = if first.contains("/x.zarr/zarr.json") { ("200 OK", ARRAY) } else { ("404 Not Found", "") };
            let body = if first.starts_with("HEAD") { "" } else { text };
            let headers = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nConnection: close";
            let _ = write!(stream, "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {}\r\n\r\n{body}", text.len());
        }
    });
    port
}

#[test]
fn no_command_prints_the_credentials_of_a_location() {
    let folder = Folder::new("secrets");
    folder.ok("create own.zarr t --type uint8 --shape 3");
    let port = server();
    let place = format!("http://us:planted@127.0.0.1:{port}/x.zarr?sig=planted&se=1");
    let other = format!("HTTP://planted@127.0.0.1:{port}/x.zarr");
    for line in [
        "info",
        "ls",
        "ls --json",
        "tree",
        "tree --json",
        "verify",
        "verify --json",
        "du",
        "stats",
        "digest",
        "explain",
        "tune",
        "dump",
        "rm",
        "create",
        "write --raw",
        "attrs set a=1",
        "zip-repair",
        "from PLACE a.zarr",
        "cp PLACE b.zarr",
        "cp --json PLACE c.zarr",
        "cp own.zarr",
        "copy own.zarr/t PLACE/",
        "migrate PLACE d.zarr",
        "diff own.zarr/t",
        "diff PLACE own.zarr/t",
        "diff --json PLACE own.zarr",
        "info https://us:planted/word@h.example.org/x.zarr",
        "info --bogus",
        "bogus",
    ] {
        for place in [&place, &other] {
            let line =
                if line.contains("PLACE") || line.contains("://") { line.replace("PLACE", place) } else { format!("{line} {place}") };
            let mut command = folder.command(&line);
            command.env("OZARR_CLOUD_OPTIONS", r#"{"retries":0,"deadline":5}"#).env("OZARR_LOG", "info").stdin(std::process::Stdio::null());
            let ran = command.output().unwrap();
            let told = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
            assert!(!told.contains("planted"), "{line}: {told}");
        }
    }
    assert!(folder.ok(&format!("tree {place}")).contains(&format!("http://127.0.0.1:{port}/x.zarr")), "the rest is told");
}

/// Answers as S3 with an array of 40 chunks of 200 bytes; tells the first line of each request.
fn bucket() -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, (tell, told)) = (listener.local_addr().unwrap().port(), std::sync::mpsc::channel());
    let entry = |key: &str, size: usize| {
        let stamp = "<LastModified>2026-11-21T00:00:00.000Z</LastModified><ETag>\"1\"</ETag>";
        format!("<Contents><Key>x.zarr/{key}</Key>{stamp}<Size>{size}</Size></Contents>")
    };
    let chunks: String = (0..40).map(|i| entry(&format!("c/{i}"), 200)).collect();
    let page = format!("<ListBucketResult><IsTruncated>false</IsTruncated>{chunks}{}</ListBucketResult>", entry("zarr.json", ARRAY.len()));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.take_while(|line| !line.is_empty()).next().unwrap_or_default();
            let (status, range, text) = if first.contains("list-type") {
                ("200 OK", String::new(), page.as_str())
            } else if first.contains("zarr.json") {
                ("206 Partial", format!("Content-Range: bytes 0-{}/{}\r\n", ARRAY.len() - 1, ARRAY.len()), ARRAY)
            } else {
                ("404 Not Found", String::new(), "<Error><Code>NoSuchKey</Code></Error>")
            };
            let _ = tell.send(first);
            let headers = format!("{range}ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nConnection: close");
            let _ = write!(stream, "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        }
    });
    (port, told)
}

#[test]
fn sizes_of_objects_are_those_of_the_listing() {
    let folder = Folder::new("sizes");
    let (port, told) = bucket();
    let mut command = folder.command("du s3://bucket/x.zarr");
    command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "an-id").env("AWS_SECRET_ACCESS_KEY", "a-secret");
    let ran = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains(&format!("{} ", 40 * 200 + ARRAY.len())) && out.contains(" 41 "), "{out}{err}");
    let asked: Vec<String> = told.try_iter().collect();
    assert!(!asked.iter().any(|request| request.contains("/c/")), "{asked:?}");
}
