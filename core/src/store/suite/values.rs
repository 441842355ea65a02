//! Values: put, read, replaced, staged, erased, and under conditions.

use super::tools::*;
use crate::error::ErrorKind;
use crate::store::{ByteRange, Condition, Listing, Storage, StorageExt, read_now};

pub(super) fn values(store: &dyn Storage) {
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

pub(super) fn staged_values(store: &dyn Storage) {
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

pub(super) fn missing(store: &dyn Storage) {
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

pub(super) fn conditions(store: &dyn Storage) {
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

pub(super) fn ranges(store: &dyn Storage) {
    put(store, "r", b"0123456789");
    let read = |ranges: &[ByteRange]| read_now(store, &at("r"), ranges, None).map(|f| f.unwrap().parts);
    let span = |offset, len| ByteRange::Span { offset, len };
    let suffix = |len| ByteRange::Suffix { len };
    let cases: &[(&[ByteRange], &[&[u8]])] = &[
        (&[ByteRange::WHOLE], &[b"0123456789"]),
        (&[span(0, 10)], &[b"0123456789"]),
        (&[span(3, 4), suffix(2), span(3, 0), ByteRange::WHOLE], &[b"3456", b"89", b"", b"0123456789"]),
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
    assert!(read_now(store, &at("none"), &[ByteRange::WHOLE], None).unwrap().is_none(), "ranges of a missing key");
}

pub(super) fn snapshots(store: &dyn Storage) {
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
