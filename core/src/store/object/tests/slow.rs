//! Servers that take their time: what is slow, what is silent, and what is waited for at the end.

use super::{KEYS, read_head, said, serve, store_at};
use crate::error::ErrorKind;
use crate::store::{ByteRange, Condition, Storage, start_and_wait};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const TAG: &str = "ETag: \"1\"\r\nLast-Modified: Sat, 21 Nov 2026 00:00:00 GMT\r\n";

/// A server that takes `rate` bytes of bodies in each hundredth of a second, and says that all is stored; and its port.
fn serve_slowly(rate: usize) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let (_, mut left) = read_head(&mut stream);
                let mut piece = vec![0; rate];
                while left > 0 {
                    let most = left.min(rate);
                    if stream.read_exact(&mut piece[..most]).is_err() {
                        return;
                    }
                    left -= most;
                    std::thread::sleep(Duration::from_millis(10));
                }
                let _ = stream.write_all(said("200 OK", TAG, "").as_bytes());
            });
        }
    });
    port
}

#[test]
fn a_value_that_the_server_takes_slowly_is_stored() {
    // What fits into the buffers on the way, and what does not.
    for len in [1 << 20, 12 << 20] {
        let store = store_at(serve_slowly(len / 50), &[KEYS, &[("idle_timeout", "0.3"), ("retries", "0")]].concat());
        let started = Instant::now();
        store.put("key", &[&vec![1; len]], Condition::None).unwrap();
        assert!(started.elapsed() > Duration::from_millis(450), "{len}: slower than the time of a silence");
    }
}

/// A server that says `answer` to each request and then nothing more; and its port.
fn serve_in_part(answer: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().map_while(Result::ok) {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
            kept.push(stream);
        }
    });
    port
}

#[test]
fn a_404_whose_text_does_not_come_before_the_deadline_says_nothing_of_a_key() {
    let port = serve_in_part("HTTP/1.1 404 none\r\nContent-Length: 100\r\n\r\n<".into());
    let store = store_at(port, &[KEYS, &[("idle_timeout", "30"), ("deadline", "0.5")]].concat());
    let found = start_and_wait(&store, "key", &[ByteRange::WHOLE], None).map(|found| found.is_none());
    assert_eq!(found.map_err(|e| e.kind()), Err(ErrorKind::Timeout));
}

#[test]
fn a_silent_server_is_told_before_its_answer_and_within_it() {
    for (is_put, begun, kind) in [(true, 0, ErrorKind::Timeout), (false, 0, ErrorKind::Timeout), (false, 10, ErrorKind::Network)] {
        let answer = match begun {
            0 => String::new(),
            begun => {
                format!("HTTP/1.1 206 Partial\r\n{TAG}Content-Range: bytes 0-35/36\r\nContent-Length: 36\r\n\r\n{}", "x".repeat(begun))
            }
        };
        let store = store_at(serve_in_part(answer), &[KEYS, &[("idle_timeout", "0.3"), ("retries", "0")]].concat());
        let started = Instant::now();
        let e = match is_put {
            true => store.put("key", &[b"value"], Condition::None).unwrap_err(),
            false => start_and_wait(&store, "key", &[ByteRange::Span { offset: 0, len: 36 }], None).map(drop).unwrap_err(),
        };
        assert_eq!(e.kind(), kind, "{is_put} {begun}: {e}");
        assert!(begun == 0 || e.message().contains("10 of 36 bytes"), "{e}");
        assert!(started.elapsed() < Duration::from_secs(20), "{is_put} {begun}: before the deadline");
    }
}

#[test]
fn an_upload_in_parts_that_fails_is_ended_when_its_error_is_told() {
    let (port, asked) = serve(|head| match head.split(' ').next().unwrap_or_default() {
        "post" if head.contains("?uploads") => {
            said("200 OK", "", "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
        }
        "post" => said("403 no", "", "<Error><Code>AccessDenied</Code></Error>"),
        "put" => said("200 OK", "ETag: \"p\"\r\n", ""),
        _ => {
            // Programs end right after an error.
            std::thread::sleep(Duration::from_millis(200));
            said("204 gone", "", "")
        }
    });
    let store = store_at(port, &[KEYS, &[("part_size", "5242880")]].concat());
    let mut staged = store.stage("key").unwrap();
    staged.append(&vec![1; 6 << 20]).unwrap();
    let e = (&store as &dyn Storage).publish("key", staged).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Permission, "{e}");
    let ended = asked.lock().unwrap().iter().filter(|head| head.starts_with("delete /bucket/key?uploadid=u")).count();
    assert_eq!(ended, 1);
}

#[test]
fn a_server_of_one_thread_is_heard_once_its_idle_connection_is_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            counted.fetch_add(1, Relaxed);
            while read_head(&mut stream).0.ends_with("\r\n\r\n") {
                let answer = format!("HTTP/1.1 206 Partial\r\n{TAG}Content-Range: bytes 0-2/3\r\nContent-Length: 3\r\n\r\nyes");
                if stream.write_all(answer.as_bytes()).is_err() {
                    break;
                }
            }
        }
    });
    let store = store_at(port, &[KEYS, &[("idle_timeout", "1"), ("retries", "2")]].concat());
    let read = |ranges: usize| {
        start_and_wait(&store, "key", &vec![ByteRange::Span { offset: 0, len: 3 }; ranges], None).unwrap().unwrap().parts.len()
    };
    for _ in 0..20 {
        assert_eq!(read(1), 1);
    }
    // A read may come before the thread of the last one has given its connection back.
    assert!(count.load(Relaxed) < 10, "connections are kept between reads");
    assert_eq!(read(5), 5);
    let started = Instant::now();
    assert_eq!(read(5), 5);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}
