//! The behaviour that every store shows: run [`check`] over a new one.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // A failed check is a panic.

use super::*;
use crate::error::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// Where the suite works; erased before and after.
const HOME: &str = "ozarr-suite/";

type Part = (&'static str, fn(&dyn Store));

const PARTS: &[Part] = &[
    ("values are put, replaced and erased", values),
    ("missing keys and prefixes are missing", missing),
    ("conditions are kept", conditions),
    ("ranges are read", ranges),
    ("objects are snapshots", snapshots),
    ("keys may be odd and deep", odd_keys),
    ("keys may be as long as they get", longest_key),
    ("keys are refused that are no keys", refused_keys),
    ("listings are sorted and complete", listings),
    ("prefixes are erased and no more", erased_prefixes),
    ("a started read ends once", started_reads),
    ("no change is lost under a lock", locked_changes),
    ("readers see whole values only", whole_values),
    ("of several writers of a new key one wins", one_winner),
    ("what is staged appears whole when it is published", staged_values),
];

/// Checks a writable store; panics with the name of what it does not do. Only keys below `ozarr-suite/` are touched,
/// unless the store is empty: then it is emptied as a whole at the end.
pub fn check(store: &dyn Store) {
    check_but(store, &[]);
}

/// Checks as [`check`] does, but without the parts named in `without`, which the server is known not to do.
pub fn check_but(store: &dyn Store, without: &[&str]) {
    assert!(without.iter().all(|name| PARTS.iter().any(|(part, _)| part == name)), "{without:?} are parts");
    let was_empty = keys(store, "").is_empty();
    for (name, part) in PARTS.iter().filter(|(name, _)| !without.contains(name)) {
        store.erase_prefix(HOME).unwrap();
        let told = Told(name);
        part(store);
        store.flush().unwrap();
        std::mem::forget(told);
    }
    store.erase_prefix(HOME).unwrap();
    assert_eq!(keys(store, HOME), [""; 0], "the suite leaves nothing behind");
    if was_empty {
        put(store, "a", b"1");
        store.put("top-level", &[b"1"], Condition::None).unwrap();
        let all = store.list_dir("").unwrap();
        assert_eq!((all.keys, all.prefixes), (vec!["top-level".to_string()], vec!["ozarr-suite".to_string()]), "the top");
        store.erase_prefix("").unwrap();
        assert_eq!(keys(store, ""), [""; 0], "the empty prefix erases all");
        put(store, "a", b"1");
        assert!(value(store, "a").is_some(), "an emptied store is usable");
        store.erase_prefix("").unwrap();
    }
}

/// Checks a writable store that cannot erase: each part over a new store that `make` gives. What is left in it is then shown to
/// `after`, flushed.
pub fn check_without_erasing(make: &mut dyn FnMut() -> SharedStore, after: &mut dyn FnMut(&dyn Store)) {
    for (name, part) in PARTS {
        let told = Told(name);
        let store = make();
        assert!(!store.capabilities().erasable, "the store says that it can erase");
        part(&*store);
        store.flush().unwrap();
        after(&*store);
        std::mem::forget(told);
    }
}

/// Names the part of the suite that panics.
struct Told(&'static str);

impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("store suite: not so: {}", self.0);
    }
}

fn at(key: &str) -> String {
    format!("{HOME}{key}")
}

fn put(store: &dyn Store, key: &str, value: &[u8]) {
    store.put(&at(key), &[value], Condition::None).unwrap_or_else(|e| panic!("put {key}: {e:?}"));
}

fn value(store: &dyn Store, key: &str) -> Option<Vec<u8>> {
    get(store, &at(key), 1 << 30).unwrap_or_else(|e| panic!("get {key}: {e:?}"))
}

fn object(store: &dyn Store, key: &str) -> Object {
    store.open(&at(key)).unwrap_or_else(|e| panic!("open {key}: {e:?}")).unwrap_or_else(|| panic!("{key} is missing"))
}

fn keys(store: &dyn Store, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut each = |key: &str| {
        found.push(key.to_string());
        Ok(())
    };
    store.list(prefix, &mut each).unwrap_or_else(|e| panic!("list {prefix}: {e:?}"));
    found
}

#[track_caller]
fn fails<T>(result: Result<T>, kind: ErrorKind, what: &str) {
    match result {
        Ok(_) => panic!("{what}: no error, {kind:?} expected"),
        Err(e) => assert_eq!(e.kind(), kind, "{what}: {e:?}"),
    }
}

fn values(store: &dyn Store) {
    let large: Vec<u8> = (0..3_000_001u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    for bytes in [&b"abc"[..], b"", b"a longer value than before", &large[..65_535], &large[..65_536], &large[..65_537], &large, b"x"] {
        put(store, "k", bytes);
        assert!(value(store, "k").unwrap() == bytes, "a value of {} bytes comes back", bytes.len());
        let o = object(store, "k");
        assert_eq!(o.len().unwrap(), bytes.len() as u64, "the length");
        let mut exact = vec![0; bytes.len()];
        o.read_exact_whole(&mut exact).unwrap();
        assert!(exact == bytes, "a value of {} bytes is read exactly", bytes.len());
        let mut long = vec![0; bytes.len() + 1];
        fails(o.read_exact_whole(&mut long), ErrorKind::Truncated, "a buffer that is too long");
        if let Some(short) = bytes.len().checked_sub(1) {
            fails(o.read_exact_whole(&mut exact[..short]), ErrorKind::Chunk, "a buffer that is too short");
            fails(o.read_whole(&mut Vec::new(), short), ErrorKind::Limit, "a value over the limit");
        }
        let mut buf = b"left over".to_vec();
        o.read_whole(&mut buf, bytes.len()).unwrap();
        assert!(buf == bytes, "a value at the limit replaces what the buffer held");
    }
    let many: Vec<&[u8]> = large.chunks(1000).collect();
    store.put(&at("parts"), &many, Condition::None).unwrap();
    assert!(value(store, "parts").unwrap() == large, "3001 parts are one value");
    store.put(&at("parts"), &[b"", b"a", b"", b"bc", b""], Condition::None).unwrap();
    assert_eq!(value(store, "parts").unwrap(), b"abc", "empty parts");
    store.put(&at("parts"), &[], Condition::None).unwrap();
    assert_eq!(value(store, "parts").unwrap(), b"", "no parts");
    if !store.capabilities().erasable {
        fails(store.erase(&at("k")), ErrorKind::Unsupported, "erasing what is there");
        assert_eq!(value(store, "k").unwrap(), b"x", "what cannot be erased stays");
        return;
    }
    assert!(store.erase(&at("k")).unwrap(), "erasing what is there");
    assert!(value(store, "k").is_none(), "an erased key is missing");
    assert!(!store.erase(&at("k")).unwrap(), "erasing what is not there");
    put(store, "k", b"again");
    assert_eq!(value(store, "k").unwrap(), b"again", "an erased key is put again");
}

fn staged_values(store: &dyn Store) {
    for key in ["new/deep/s", "old"] {
        let before = if key == "old" { Some(b"before".to_vec()) } else { None };
        if let Some(before) = &before {
            put(store, key, before);
        }
        let listed = keys(store, HOME);
        let mut gone = store.stage(&at(key)).unwrap();
        gone.append(b"never seen").unwrap();
        drop(gone);
        let mut staged = store.stage(&at(key)).unwrap();
        for piece in [&b"....index"[..], b"", b"abc", &[7; 100_000]] {
            staged.append(piece).unwrap();
        }
        staged.replace_head(b"head").unwrap();
        assert_eq!((value(store, key), keys(store, HOME)), (before, listed), "before it is published");
        store.publish(&at(key), staged).unwrap();
        assert_eq!(value(store, key).unwrap(), [&b"headindexabc"[..], &[7; 100_000]].concat());
    }
    assert_eq!(keys(store, HOME).len(), 2);
}

fn missing(store: &dyn Store) {
    assert!(store.open(&at("no")).unwrap().is_none(), "a missing key");
    assert!(store.open(&at("no/such/folder")).unwrap().is_none(), "a missing key below missing keys");
    assert!(!store.erase(&at("no/such/folder")).unwrap(), "erasing it");
    assert_eq!(keys(store, &at("no/")), [""; 0], "listing a missing prefix");
    assert_eq!(store.list_dir(&at("no/")).unwrap(), Listing::default(), "listing a missing prefix");
    store.erase_prefix(&at("no/")).unwrap();
    put(store, "file", b"1");
    assert_eq!(keys(store, &at("file/")), [""; 0], "listing below a key");
    store.erase_prefix(&at("file/")).unwrap();
    assert!(value(store, "file").is_some(), "erasing below a key leaves it");
}

fn conditions(store: &dyn Store) {
    let key = at("c/k");
    store.put(&key, &[b"1"], Condition::Absent).unwrap();
    fails(store.put(&key, &[b"2"], Condition::Absent), ErrorKind::Conflict, "absent, but there");
    assert_eq!(value(store, "c/k").unwrap(), b"1", "a conflict changes nothing");
    let first = object(store, "c/k").version().unwrap();
    assert_eq!(object(store, "c/k").version().unwrap(), first, "the version of one value is the same each time");
    store.put(&key, &[b"2"], Condition::Match(first)).unwrap();
    let second = object(store, "c/k").version().unwrap();
    assert_ne!(first, second, "another value has another version");
    fails(store.put(&key, &[b"3"], Condition::Match(first)), ErrorKind::Conflict, "an old version");
    assert_eq!(value(store, "c/k").unwrap(), b"2", "a conflict changes nothing");
    if store.capabilities().erasable {
        store.erase(&key).unwrap();
    } else {
        store.put(&key, &[b"other"], Condition::None).unwrap();
        fails(store.put(&key, &[b"3"], Condition::Match(second)), ErrorKind::Conflict, "the version of a replaced value");
        return;
    }
    fails(store.put(&key, &[b"3"], Condition::Match(second)), ErrorKind::Conflict, "the version of an erased value");
    assert!(value(store, "c/k").is_none(), "a conflict changes nothing");
    store.put(&key, &[b"4"], Condition::Absent).unwrap();
    assert_eq!(value(store, "c/k").unwrap(), b"4", "an erased key is absent");
    assert_eq!(keys(store, &at("c/")), [key], "conflicts leave nothing behind");
    // Same length, one after the other: no two may share a version.
    let mut seen = std::collections::HashSet::new();
    for i in 0..100u8 {
        put(store, "c/v", &[i]);
        assert!(seen.insert(object(store, "c/v").version().unwrap()), "versions are never used again");
    }
}

fn ranges(store: &dyn Store) {
    put(store, "r", b"0123456789");
    let read = |ranges: &[ByteRange]| read_now(store, &at("r"), ranges, None).map(|f| f.unwrap().parts);
    let span = |offset, len| ByteRange::Span { offset, len };
    let suffix = |len| ByteRange::Suffix { len };
    let cases: &[(&[ByteRange], &[&[u8]])] = &[
        (&[ByteRange::Whole], &[b"0123456789"]),
        (&[span(0, 10)], &[b"0123456789"]),
        (&[span(3, 4), suffix(2), span(3, 0), ByteRange::Whole], &[b"3456", b"89", b"", b"0123456789"]),
        (&[suffix(10), suffix(0), span(10, 0)], &[b"0123456789", b"", b""]),
        (&[], &[]),
    ];
    for (ranges, parts) in cases {
        assert_eq!(read(ranges).unwrap(), *parts, "{ranges:?}");
    }
    for range in [span(0, 11), span(10, 1), span(11, 0), span(u64::MAX, 2), span(1, u64::MAX), suffix(11), suffix(u64::MAX)] {
        fails(read(&[range]), ErrorKind::Truncated, &format!("{range:?}"));
    }
    let mut buf = [0; 4];
    let o = object(store, "r");
    o.read_exact_at(6, &mut buf).unwrap();
    assert_eq!(&buf, b"6789", "a range of an object");
    for offset in [7, 10, 1 << 40, u64::MAX - 1] {
        fails(o.read_exact_at(offset, &mut buf), ErrorKind::Truncated, &format!("4 bytes from {offset}"));
    }
    o.read_exact_at(10, &mut []).unwrap();
    assert!(read_now(store, &at("none"), &[ByteRange::Whole], None).unwrap().is_none(), "ranges of a missing key");
}

fn snapshots(store: &dyn Store) {
    put(store, "s", b"first");
    let first = object(store, "s");
    let version = first.version().unwrap();
    assert!(first.still_current().unwrap(), "current at first");
    put(store, "s", b"a second value");
    let second = object(store, "s");
    match store.capabilities().erasable {
        true => drop(store.erase(&at("s")).unwrap()),
        false => put(store, "s", b"a third"),
    }
    for (o, bytes) in [(&first, &b"first"[..]), (&second, b"a second value")] {
        let mut buf = Vec::new();
        match o.read_whole(&mut buf, 100) {
            Ok(()) => assert_eq!(buf, bytes, "an object keeps its bytes"),
            Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "an object says that its bytes are gone, and gives no others"),
        }
        match o.len() {
            Ok(len) => assert_eq!(len, bytes.len() as u64, "an object keeps its length"),
            Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "an object says that its length is not known any more"),
        }
        assert!(!o.still_current().unwrap(), "an object knows that it is old");
    }
    assert_eq!(first.version().unwrap(), version, "an object keeps its version");
}

fn odd_keys(store: &dyn Store) {
    let deep = vec!["d"; 60].join("/");
    let odd = [
        "with space",
        "ünïcode/鍵",
        "100%",
        "a%2Fb",
        "%",
        "c.0.1",
        "tab\there",
        "quote\"'",
        "back\\slash",
        "-",
        "~",
        "..a",
        ".zarray",
        &deep,
    ];
    // Object stores refuse some characters, which is better than another key.
    let refused =
        |key: &str| matches!(store.put(&at(key), &[key.as_bytes()], Condition::None), Err(e) if e.kind() == ErrorKind::Unsupported);
    let odd: Vec<&str> = odd.into_iter().filter(|key| !refused(key)).collect();
    assert!(odd.len() >= 12, "most odd keys are taken: {odd:?}");
    for &key in &odd {
        assert_eq!(value(store, key).unwrap(), key.as_bytes(), "{key}");
    }
    let mut all: Vec<String> = odd.iter().map(|key| at(key)).collect();
    all.sort();
    assert_eq!(keys(store, HOME), all, "odd keys are listed");
    if !store.capabilities().erasable {
        return;
    }
    for &key in &odd {
        assert!(store.erase(&at(key)).unwrap(), "{key} is erased");
    }
    assert_eq!(keys(store, HOME), [""; 0], "odd keys are gone");
}

fn longest_key(store: &dyn Store) {
    let longest = at(&format!("{}/e", vec!["x".repeat(90); 11].join("/")));
    let longest = format!("{longest}{}", "y".repeat(crate::limits::MAX_KEY - longest.len()));
    store.put(&longest, &[b"1"], Condition::None).unwrap();
    assert!(store.open(&longest).unwrap().is_some(), "the longest key");
    assert_eq!(keys(store, HOME), [longest], "the longest key is listed");
}

fn refused_keys(store: &dyn Store) {
    let long = "x/".repeat(crate::limits::MAX_KEY / 2) + "x";
    let name = ErrorKind::Name;
    for (key, kind) in [
        ("", name),
        ("/abs", name),
        ("a//b", name),
        ("a/", name),
        ("../up", name),
        ("a/../b", name),
        ("./a", name),
        ("a\0b", name),
        (&*long, ErrorKind::Limit),
    ] {
        fails(store.put(key, &[b"1"], Condition::None), kind, &format!("put {key:?}"));
        fails(store.open(key), kind, &format!("open {key:?}"));
        fails(store.erase(key), kind, &format!("erase {key:?}"));
    }
    fails(store.list_dir("no-slash"), ErrorKind::Argument, "list_dir without a slash");
    fails(store.list("no-slash", &mut |_| Ok(())), ErrorKind::Argument, "list without a slash");
    fails(store.erase_prefix("no-slash"), ErrorKind::Argument, "erase_prefix without a slash");
}

fn listings(store: &dyn Store) {
    for key in ["foo/b", "foo/a/x", "foo/a/y/z", "foo/a-b", "foo/a.b", "foo/a0", "foobar/c", "foo-bar", "zarr.json"] {
        put(store, key, b"1");
    }
    let below = |prefix: &str| -> Vec<String> {
        keys(store, &at(prefix)).iter().map(|k| k.strip_prefix(HOME).unwrap_or("outside").to_string()).collect()
    };
    let below_foo = ["foo/a-b", "foo/a.b", "foo/a/x", "foo/a/y/z", "foo/a0", "foo/b"];
    assert_eq!(below("foo/"), below_foo, "a prefix is listed in the order of keys");
    let all = ["foo-bar"].iter().chain(&below_foo).chain(&["foobar/c", "zarr.json"]).copied().collect::<Vec<_>>();
    assert_eq!(below(""), all, "all is listed in the order of keys");
    let dir = store.list_dir(&at("foo/")).unwrap();
    assert_eq!(dir.keys, ["a-b", "a.b", "a0", "b"], "keys of a folder");
    assert_eq!(dir.prefixes, ["a"], "prefixes of a folder");
    let dir = store.list_dir(HOME).unwrap();
    assert_eq!((dir.keys, dir.prefixes), (vec!["foo-bar".to_string(), "zarr.json".into()], vec!["foo".to_string(), "foobar".into()]));
    let mut count = 0;
    let stopped = store.list(HOME, &mut |_| {
        count += 1;
        if count == 3 { Err(crate::error::err!(Cancelled, "enough")) } else { Ok(()) }
    });
    fails(stopped, ErrorKind::Cancelled, "a listing that is stopped");
    assert_eq!(count, 3, "a stopped listing stops");
    if !store.capabilities().erasable {
        return;
    }
    let mut erased = 0;
    let erasing = &mut |key: &str| {
        erased += 1;
        store.erase(key).map(drop)
    };
    store.list(&at("foo/"), erasing).unwrap();
    assert_eq!((erased, below("foo/").len()), (below_foo.len(), 0), "what is listed may be erased meanwhile");
}

fn erased_prefixes(store: &dyn Store) {
    for key in ["foo/a", "foo/b/c/d", "foobar/a", "foo.txt", "fo"] {
        put(store, key, b"1");
    }
    if !store.capabilities().erasable {
        fails(store.erase_prefix(&at("foo/")), ErrorKind::Unsupported, "erasing a prefix");
        return;
    }
    store.erase_prefix(&at("foo/")).unwrap();
    assert_eq!(keys(store, HOME), [at("fo"), at("foo.txt"), at("foobar/a")], "only what begins with the prefix goes");
    assert_eq!(store.list_dir(HOME).unwrap().prefixes, ["foobar"], "the prefix itself goes");
    put(store, "foo/b", b"2");
    assert_eq!(value(store, "foo/b").unwrap(), b"2", "the prefix can be used again");
}

fn started_reads(store: &dyn Store) {
    put(store, "k", b"0123456789");
    let version = object(store, "k").version().unwrap();
    let (sender, receiver) = mpsc::channel();
    let start = |key: &str, ranges: &[ByteRange], if_match, tag: u32| {
        let sender = sender.clone();
        store.start_read(&at(key), ranges, if_match, Box::new(move |r| drop(sender.send((tag, r)))));
    };
    let other = Version([u64::MAX; 4]);
    start("k", &[ByteRange::Span { offset: 2, len: 3 }, ByteRange::Suffix { len: 1 }], Some(version), 0);
    start("none", &[ByteRange::Whole], None, 1);
    start("k", &[ByteRange::Whole], Some(other), 2);
    start("k", &[ByteRange::Span { offset: 8, len: 3 }], None, 3);
    start("k", &[ByteRange::Whole], None, 4);
    drop(sender);
    let mut results = std::collections::BTreeMap::new();
    while results.len() < 5 {
        let (tag, result) = receiver.recv_timeout(Duration::from_secs(60)).expect("a started read ends");
        assert!(results.insert(tag, result).is_none(), "read {tag} ends once");
    }
    let mut result = |tag| results.remove(&tag).unwrap();
    let fetched = result(0).unwrap().unwrap();
    assert_eq!(fetched.parts, [&b"234"[..], b"9"], "the parts of a started read");
    assert_eq!(fetched.version, version, "the version of a started read");
    assert!(result(1).unwrap().is_none(), "a started read of a missing key");
    fails(result(2), ErrorKind::Conflict, "a started read of another version");
    fails(result(3), ErrorKind::Truncated, "a started read past the end");
    assert_eq!(result(4).unwrap().unwrap().parts, [b"0123456789"], "a started read of all");
    assert!(receiver.recv_timeout(Duration::from_millis(1)).is_err(), "nothing ends twice");
}

/// Adds one to the number that a key holds.
fn add_one(store: &dyn Store, key: &str) {
    let old = value(store, key).map_or(0, |v| String::from_utf8(v).unwrap().parse::<u64>().unwrap());
    put(store, key, (old + 1).to_string().as_bytes());
}

fn locked_changes(store: &dyn Store) {
    const TIMES: usize = 50;
    // For stores that leave exclusion within the process to the engine.
    let here = Mutex::new(());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let held = store.lock_key(&at("n/"), &at("n/count")).unwrap();
                    let _here = held.is_none().then(|| here.lock().unwrap_or_else(PoisonError::into_inner));
                    add_one(store, "n/count");
                }
            });
        }
    });
    assert_eq!(value(store, "n/count").unwrap(), (4 * TIMES).to_string().as_bytes(), "no addition is lost");
    assert_eq!(keys(store, &at("n/")), [at("n/count")], "locks are not listed");
    let one = store.lock_key(&at("n/"), &at("n/a")).unwrap();
    let two = store.lock_key(&at("n/"), &at("n/b")).unwrap();
    put(store, "n/a", b"under its own lock");
    let version = object(store, "n/a").version().unwrap();
    store.put(&at("n/a"), &[b"a condition under the key's own lock"], Condition::Match(version)).unwrap();
    drop((one, two));
    // Changes again, kept apart by versions instead of locks.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut left = TIMES;
                while left > 0 {
                    let (condition, old) = match store.open(&at("n/by-version")).unwrap() {
                        None => (Condition::Absent, 0),
                        Some(o) => {
                            let mut bytes = Vec::new();
                            match o.read_whole(&mut bytes, 100) {
                                Ok(()) => {}
                                // Another was faster, and the store keeps no old bytes.
                                Err(e) if e.kind() == ErrorKind::Conflict => continue,
                                Err(e) => panic!("{e:?}"),
                            }
                            (Condition::Match(o.version().unwrap()), String::from_utf8(bytes).unwrap().parse::<u64>().unwrap())
                        }
                    };
                    match store.put(&at("n/by-version"), &[(old + 1).to_string().as_bytes()], condition) {
                        Ok(()) => left -= 1,
                        Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "{e:?}"),
                    }
                }
            });
        }
    });
    assert_eq!(value(store, "n/by-version").unwrap(), (4 * TIMES).to_string().as_bytes(), "no conditional put is lost");
}

fn whole_values(store: &dyn Store) {
    // A value is n copies of one byte, n told by the byte.
    let bytes = |tag: u8| vec![tag; 1 + usize::from(tag) * 700];
    put(store, "w", &bytes(0));
    let stop = AtomicBool::new(false);
    let reads = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut more = true;
                while more {
                    more = !stop.load(Ordering::Relaxed);
                    let found = value(store, "w").expect("a key that is replaced is never missing");
                    assert!(found == bytes(found[0]), "a reader sees a whole value");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let writers: Vec<_> = (0..2u8).map(|w| scope.spawn(move || (0..60u8).for_each(|i| put(store, "w", &bytes(i * 4 + w))))).collect();
        writers.into_iter().for_each(|w| w.join().unwrap());
        stop.store(true, Ordering::Relaxed);
    });
    assert!(reads.into_inner() >= 2, "readers ran");
}

fn one_winner(store: &dyn Store) {
    for round in 0..20 {
        let key = at(&format!("new/{round}/k"));
        let won = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for writer in 0..4u8 {
                let (key, won) = (&key, &won);
                scope.spawn(move || match store.put(key, &[&[writer]], Condition::Absent) {
                    Ok(()) => drop(won.fetch_add(1, Ordering::Relaxed)),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict, "{e:?}"),
                });
            }
        });
        assert_eq!(won.into_inner(), 1, "one writer wins");
    }
}
