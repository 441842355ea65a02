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
