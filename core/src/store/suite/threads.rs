//! Many threads at once: reads that are started, changes under locks, whole values, one winner.

use super::tools::*;
use crate::error::ErrorKind;
use crate::store::{ByteRange, Condition, LockUse, Storage, StorageExt, Version};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

pub(super) fn started_reads(store: &dyn Storage) {
    put(store, "k", b"0123456789");
    let version = object(store, "k").version().unwrap();
    let (sender, receiver) = mpsc::channel();
    let start = |key: &str, ranges: &[ByteRange], if_match, tag: u32| {
        let sender = sender.clone();
        store.start_read(&at(key), ranges, if_match, Box::new(move |r| drop(sender.send((tag, r)))));
    };
    let other = Version::new([u64::MAX; 4]);
    start("k", &[ByteRange::Span { offset: 2, len: 3 }, ByteRange::Suffix { len: 1 }], Some(version), 0);
    start("none", &[ByteRange::WHOLE], None, 1);
    start("k", &[ByteRange::WHOLE], Some(other), 2);
    start("k", &[ByteRange::Span { offset: 8, len: 3 }], None, 3);
    start("k", &[ByteRange::WHOLE], None, 4);
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
pub(super) fn add_one(store: &dyn Storage, key: &str) {
    let old = value(store, key).map_or(0, |v| String::from_utf8(v).unwrap().parse::<u64>().unwrap());
    put(store, key, (old + 1).to_string().as_bytes());
}

pub(super) fn locked_changes(store: &dyn Storage) {
    const TIMES: usize = 50;
    // For stores that leave exclusion within the process to the engine.
    let here = Mutex::new(());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..TIMES {
                    let held = store.lock_key(&at("n/"), &at("n/count"), LockUse::Rare).unwrap();
                    let _here = held.is_none().then(|| here.lock().unwrap_or_else(PoisonError::into_inner));
                    add_one(store, "n/count");
                }
            });
        }
    });
    assert_eq!(value(store, "n/count").unwrap(), (4 * TIMES).to_string().as_bytes(), "no addition is lost");
    assert_eq!(keys(store, &at("n/")), [at("n/count")], "locks are not listed");
    let one = store.lock_key(&at("n/"), &at("n/a"), LockUse::Rare).unwrap();
    let two = store.lock_key(&at("n/"), &at("n/b"), LockUse::Rare).unwrap();
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

pub(super) fn whole_values(store: &dyn Storage) {
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

pub(super) fn one_winner(store: &dyn Storage) {
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
