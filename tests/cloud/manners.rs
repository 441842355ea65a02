//! Servers that speak as they may, but otherwise than most: in pieces, by HTTP/1.0, and with connections that end between requests or as one comes.

use crate::proxy::{Fault, Proxy, Seen};
use crate::suite::{AZURE_KEYS, KEYS, store, var};
use ozarr::error::ErrorKind;
use ozarr::store::object::RemoteStore;
use ozarr::store::{ByteRange, Condition, Storage, StorageExt, get};
use std::ops::RangeInclusive;
use std::sync::mpsc;
use std::time::Duration;

const BODY: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const LARGE: usize = 5 << 20;

type Manner = fn(usize, &Seen) -> Fault;

/// Name, what becomes of each request, whether requests come on connections that others came on before, and how many more requests there are
/// than to a server that breaks nothing off.
const MANNERS: [(&str, Manner, bool, RangeInclusive<usize>); 10] = [
    ("says that each connection ends", |_, _| Fault::None, false, 0..=0),
    ("keeps connections", |_, _| Fault::Kept, true, 0..=0),
    ("sends one byte at a time", |_, _| Fault::Pieces(1), false, 0..=0),
    ("sends a few bytes at a time", |_, _| Fault::Pieces(7), false, 0..=0),
    ("does not tell the length of an object with a part of it", |_, _| Fault::Unmeasured, false, 0..=0),
    ("speaks HTTP/1.0 without lengths", |_, _| Fault::Old { told: false }, false, 0..=0),
    ("speaks HTTP/1.0 with lengths", |_, _| Fault::Old { told: true }, false, 0..=0),
    // A request may meet an ended connection before its end is noticed, and then keys are listed once more.
    ("ends connections between requests", |_, _| Fault::Unsaid, false, 0..=20),
    ("ends a connection as the next request comes", |_, seen| if seen.again { Fault::Reset } else { Fault::Kept }, true, 1..=99),
    ("ends a connection instead of its second answer", |_, seen| if seen.again { Fault::Lost } else { Fault::Kept }, true, 1..=99),
];

/// Reads parts of keys, all beside each other.
fn read_together(store: &dyn Storage, keys: &[&str]) -> Vec<Vec<Vec<u8>>> {
    let ranges = [ByteRange::Span { offset: 3, len: 10 }, ByteRange::Suffix { len: 4 }, ByteRange::Span { offset: 30, len: 6 }];
    let (sender, receiver) = mpsc::channel();
    for (n, key) in keys.iter().enumerate() {
        let sender = sender.clone();
        store.start_read(key, &ranges, None, Box::new(move |result| sender.send((n, result)).unwrap()));
    }
    let mut parts = vec![Vec::new(); keys.len()];
    for _ in keys {
        let (n, result) = receiver.recv_timeout(Duration::from_secs(400)).expect("a read ends");
        parts[n] = result.unwrap().unwrap().parts.iter().map(|part| part.to_vec()).collect();
    }
    parts
}

/// Requests of all kinds, one after the other and beside each other.
fn ask_everything(store: &RemoteStore, name: &str) {
    store.put("a", &[BODY], Condition::None).unwrap();
    store.put("new", &[b"mine"], Condition::Absent).unwrap();
    assert_eq!(store.put("new", &[b"other"], Condition::Absent).unwrap_err().kind(), ErrorKind::Conflict, "{name}");
    let version = store.open("new").unwrap().unwrap().version().unwrap();
    store.put("new", &[b"changed"], Condition::Match(version)).unwrap();
    assert_eq!(store.put("new", &[b"other"], Condition::Match(version)).unwrap_err().kind(), ErrorKind::Conflict, "{name}");
    assert_eq!(get(store, "new", 100).unwrap().unwrap(), b"changed", "{name}");
    assert!(get(store, "none", 100).unwrap().is_none(), "{name}");
    let together = read_together(store, &["a"; 12]);
    assert!(together.iter().all(|parts| *parts == [&BODY[3..13], &BODY[32..], &BODY[30..]]), "{name}: {together:?}");
    std::thread::scope(|scope| {
        for i in 0..6 {
            scope.spawn(move || store.put(&format!("d/{i}"), &[BODY], Condition::None).unwrap());
        }
    });
    let mut staged = store.stage("large").unwrap();
    staged.append(&vec![7; LARGE]).unwrap();
    staged.append(BODY).unwrap();
    (store as &dyn Storage).publish("large", staged).unwrap();
    assert_eq!(store.keys("").unwrap(), ["a", "d/0", "d/1", "d/2", "d/3", "d/4", "d/5", "large", "new"], "{name}");
    assert_eq!(store.list_dir("d/").unwrap().keys, ["0", "1", "2", "3", "4", "5"], "{name}");
    store.erase("new").unwrap();
    store.erase_prefix("d/").unwrap();
}

/// Looks at what is stored, without the proxy; then nothing is.
fn check(direct: &RemoteStore, name: &str) {
    assert_eq!(get(direct, "a", 100).unwrap().unwrap(), BODY, "{name}");
    let large = get(direct, "large", 1 << 30).unwrap().unwrap();
    assert!(large.len() == LARGE + BODY.len() && large[..LARGE].iter().all(|&byte| byte == 7) && large[LARGE..] == *BODY, "{name}");
    let left = direct.list_dir("").unwrap();
    assert_eq!((left.keys, left.prefixes), (vec!["a".to_string(), "large".to_string()], Vec::new()), "{name}");
    direct.erase_prefix("").unwrap();
}

/// A store at a path of a server.
fn open(server: &str, endpoint: &str, path: &str) -> RemoteStore {
    // Longer than a busy machine takes.
    let usual = [("endpoint", endpoint), ("deadline", "300"), ("idle_timeout", "90"), ("part_size", "5242880"), ("retries", "2")];
    match server {
        "s3" => store(&format!("s3://bucket/{path}"), &[&usual, &KEYS[..]].concat()),
        _ => store(&format!("az://bucket/{path}"), &[&usual, &AZURE_KEYS[..]].concat()),
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn however_a_server_speaks_nothing_is_lost_and_nothing_is_asked_for_twice_without_need() {
    for (server, url) in [("s3", var("OZARR_TEST_S3")), ("azure", var("OZARR_TEST_AZURE"))] {
        let (host, folder) = url["http://".len()..].split_once('/').unwrap_or((&url["http://".len()..], ""));
        let mut usual = None;
        // Of the second one, with which nothing else differs, the first and each third.
        let apart = if server == "s3" { 1 } else { ozarr::settings::apart(3) };
        for (number, (name, rule, comes_again, more)) in MANNERS.into_iter().enumerate().step_by(apart) {
            let (name, path) = (format!("{server} {name}"), format!("manners/{number}"));
            let proxy = Proxy::new(host, rule);
            ask_everything(&open(server, &format!("{}/{folder}", proxy.url()), &path), &name);
            check(&open(server, &url, &path), &name);
            let seen = proxy.seen();
            assert_eq!(seen.iter().any(|seen| seen.again), comes_again, "{name}: connections that are used again");
            let usual = *usual.get_or_insert(seen.len());
            let others = seen.len().checked_sub(usual);
            assert!(others.is_some_and(|others| more.contains(&others)), "{name}: {} requests, {usual} of others", seen.len());
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn however_a_web_server_speaks_it_is_read() {
    let folder = std::path::PathBuf::from(var("OZARR_TEST_HTTP_ROOT")).join("manners");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a"), BODY).unwrap();
    for (name, rule, ..) in MANNERS {
        for path in ["manners", "norange/manners"] {
            let proxy = Proxy::new(&var("OZARR_TEST_HTTP"), rule);
            let store = store(&format!("{}/{path}", proxy.url()), &[("deadline", "300"), ("idle_timeout", "90")]);
            assert_eq!(get(&store, "a", 100).unwrap().unwrap(), BODY, "{name}");
            assert!(get(&store, "none", 100).unwrap().is_none(), "{name}");
            let together = read_together(&store, &["a"; 6]);
            assert!(together.iter().all(|parts| *parts == [&BODY[3..13], &BODY[32..], &BODY[30..]]), "{name}: {together:?}");
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_listing_whose_end_is_lost_by_a_server_that_tells_no_lengths_is_no_shorter_one() {
    let (url, path) = (var("OZARR_TEST_S3"), "manners/cut");
    let direct = open("s3", &url, path);
    for i in 0..5 {
        direct.put(&format!("d/{i}"), &[BODY], Condition::None).unwrap();
    }
    let whole = Proxy::new(&url, |_, _| Fault::None);
    assert_eq!(open("s3", &whole.url(), path).keys("").unwrap().len(), 5);
    for length in (0..1000).step_by(40) {
        let proxy = Proxy::new(&url, move |_, _| Fault::Short(length));
        let store = open("s3", &proxy.url(), path);
        for result in [store.list("", &mut |_| Ok(())), store.list_dir("d/").map(drop), store.erase_prefix("")] {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::Network, "{length} bytes of a listing");
        }
        assert_eq!(direct.list_dir("d/").unwrap().keys.len(), 5, "{length} bytes of a listing");
    }
}
