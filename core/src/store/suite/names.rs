//! Keys and prefixes: which are refused, how they are listed and erased.

use super::tools::*;
use crate::error::ErrorKind;
use crate::store::{Condition, ListInto, ListedKey, Storage, StorageExt};

pub(super) fn odd_keys(store: &dyn Storage) {
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
        "a+b",
        "a#b",
        "a?b&c=d",
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

pub(super) fn longest_key(store: &dyn Storage) {
    let longest = at(&format!("{}/e", vec!["x".repeat(90); 11].join("/")));
    let longest = format!("{longest}{}", "y".repeat(crate::limits::MAX_KEY - longest.len()));
    store.put(&longest, &[b"1"], Condition::None).unwrap();
    assert!(store.open(&longest).unwrap().is_some(), "the longest key");
    assert_eq!(keys(store, HOME), [longest], "the longest key is listed");
}

pub(super) fn refused_keys(store: &dyn Storage) {
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

pub(super) fn listings(store: &dyn Storage) {
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

pub(super) fn told_values(store: &dyn Storage) {
    let told = || {
        let mut told = Vec::new();
        let each = &mut |key: &str, value: ListedKey| {
            told.push((key.to_string(), value));
            Ok(())
        };
        store.list_keys(&at("foo/"), ListInto::Told(each)).unwrap();
        told
    };
    // No folder of a part before has these names, which a server may leave empty where keys are files.
    ["foo/1", "foo/2"].iter().for_each(|key| put(store, key, b"1"));
    let before = told();
    assert_eq!(before.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(), keys(store, &at("foo/")), "the keys are listed");
    assert_eq!(told(), before, "what stays is told as the same");
    put(store, "foo/2", b"2");
    let after = told();
    assert_eq!(after[0], before[0], "what stays is told as the same");
    assert!(after[1].1.told.is_none() || after[1] != before[1], "another value is told as another one");
}

pub(super) fn erased_prefixes(store: &dyn Storage) {
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
