//! Locations on web servers and in object stores: what the program tells of them, and what it asks for.
#![cfg(feature = "cloud")]

mod program;

use program::Folder;
use std::io::{BufRead, BufReader, Read, Write};

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

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

/// Answers as S3 with the objects `x.zarr/` of those keys; tells the first line of each request.
fn bucket(objects: Vec<(String, String)>) -> (u16, std::sync::mpsc::Receiver<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, (tell, told)) = (listener.local_addr().unwrap().port(), std::sync::mpsc::channel());
    // What is below the prefix: each object, or, with a delimiter, each name.
    let list = |objects: &[(String, String)], first: &str| {
        let prefix = first.split("prefix=").nth(1).and_then(|rest| rest.split(['&', ' ']).next()).unwrap_or_default().replace("%2F", "/");
        let (mut entries, mut folders) = (String::new(), std::collections::BTreeSet::new());
        for (key, text) in objects {
            let Some(rest) = key.strip_prefix(prefix.trim_start_matches("x.zarr").trim_start_matches('/')) else { continue };
            match rest.split_once('/') {
                Some((name, _)) if first.contains("delimiter") => drop(folders.insert(name)),
                _ => {
                    let stamp = "<LastModified>2026-11-21T00:00:00.000Z</LastModified><ETag>\"1\"</ETag>";
                    entries += &format!("<Contents><Key>x.zarr/{key}</Key>{stamp}<Size>{}</Size></Contents>", text.len());
                }
            }
        }
        let folders = folders.iter().map(|name| format!("<CommonPrefixes><Prefix>{prefix}{name}/</Prefix></CommonPrefixes>"));
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{entries}{}</ListBucketResult>", folders.collect::<String>())
    };
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.take_while(|line| !line.is_empty()).next().unwrap_or_default();
            let key = first.split(' ').nth(1).and_then(|path| path.split_once("x.zarr/")).map_or("", |(_, key)| key);
            let found = objects.iter().find(|(known, _)| known == key);
            let (status, range, text) = match found {
                _ if first.contains("list-type") => ("200 OK", String::new(), list(&objects, &first)),
                Some((_, text)) => ("206 Partial", format!("Content-Range: bytes 0-{}/{}\r\n", text.len() - 1, text.len()), text.clone()),
                None => ("404 Not Found", String::new(), "<Error><Code>NoSuchKey</Code></Error>".into()),
            };
            let _ = tell.send(first);
            let headers = format!("{range}ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\nConnection: close");
            let _ = write!(stream, "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        }
    });
    (port, told)
}

/// A command that finds the bucket at a port.
fn at_bucket(folder: &Folder, line: &str, port: u16) -> std::process::Command {
    let mut command = folder.command(line);
    command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")).env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", "an-id").env("AWS_SECRET_ACCESS_KEY", "a-secret");
    command
}

#[test]
fn the_page_of_a_bucket_asks_once_for_each_array_that_it_lists() {
    let folder = Folder::new("page");
    let arrays = (0..20).map(|i| (format!("a{i}/zarr.json"), ARRAY.to_string()));
    let (port, told) = bucket(arrays.chain([("zarr.json".into(), GROUP.into())]).collect());
    let mut view = at_bucket(&folder, "view s3://bucket/x.zarr --no-browser", port).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut address = String::new();
    BufReader::new(view.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let (host, path) = address.trim().strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut page = std::net::TcpStream::connect(host).unwrap();
    write!(page, "GET /{path}api/tree?path=&from=0 HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    let read = page.read_to_string(&mut answer);
    view.kill().unwrap();
    view.wait().unwrap();
    read.unwrap();
    assert_eq!(answer.matches(r#""chunks":"[2]""#).count(), 20, "{answer}");
    let asked: Vec<String> = told.try_iter().collect();
    for i in 0..20 {
        let times = asked.iter().filter(|request| request.contains(&format!("/a{i}/zarr.json"))).count();
        assert_eq!(times, 1, "a{i}: {asked:?}");
    }
}

#[test]
fn sizes_of_objects_are_those_of_the_listing() {
    let folder = Folder::new("sizes");
    let chunks = (0..40).map(|i| (format!("c/{i}"), "7".repeat(200)));
    let (port, told) = bucket(chunks.chain([("zarr.json".into(), ARRAY.into())]).collect());
    let ran = at_bucket(&folder, "du s3://bucket/x.zarr", port).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(out.contains(&format!("{} ", 40 * 200 + ARRAY.len())) && out.contains(" 41 "), "{out}{err}");
    let asked: Vec<String> = told.try_iter().collect();
    assert!(!asked.iter().any(|request| request.contains("/c/")), "{asked:?}");
}
