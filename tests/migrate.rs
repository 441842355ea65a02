//! Migration of version 2 and of drafts: every element and key, interruptions, what is refused, what is linked.

#[path = "stores/watched.rs"]
mod watched;

use ozarr::dtype::DataType;
use ozarr::engine::{Memory, Selection};
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::json;
use ozarr::node::{Array, Context, Create, Format, Group, Migrated, Mode, Node, Spec, Store};
use ozarr::store::suite::TestFolder;
use ozarr::store::{Condition, Storage as _, StorageExt as _};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use watched::{Watched, handle, keys};

const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

/// A fresh store, and its number of changes that succeed.
fn mortal(keys: &BTreeMap<String, Vec<u8>>, left: i64) -> Arc<Watched> {
    let shared = Watched::new(left);
    for (key, bytes) in keys {
        shared.store.put(key, &[bytes], Condition::None).unwrap();
    }
    shared
}

fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_be_bytes).collect()
}

fn text(keys: &mut BTreeMap<String, Vec<u8>>, key: &str, text: &str) {
    keys.insert(key.into(), text.replace("CORE", CORE).into_bytes());
}

/// v2: `a`, [5] in chunks of 2, the second one missing; `g/f` with filters that v3 has no form for; consolidated.
fn v2_keys() -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    text(&mut all, ".zgroup", r#"{"zarr_format":2}"#);
    text(&mut all, ".zattrs", r#"{"title":"t"}"#);
    text(
        &mut all,
        "a/.zarray",
        r#"{"zarr_format":2,"shape":[5],"chunks":[2],"dtype":">i4","fill_value":7,"compressor":null,"filters":null,"order":"C"}"#,
    );
    text(&mut all, "a/.zattrs", r#"{"_ARRAY_DIMENSIONS":["x"],"u":1}"#);
    all.insert("a/0".into(), ints([1, 2]));
    all.insert("a/2".into(), ints([5, 0]));
    text(&mut all, "g/.zgroup", r#"{"zarr_format":2}"#);
    text(
        &mut all,
        "g/f/.zarray",
        r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":">i4","fill_value":0,"compressor":null,"filters":[{"id":"base64"}],"order":"C"}"#,
    );
    all.insert("g/f/0".into(), b"AAAAAQAAAAI=".to_vec());
    text(&mut all, ".zmetadata", r#"{"zarr_consolidated_format":1,"metadata":{}}"#);
    all
}

/// d0: `a` as above; `p/q` [2,2] in shards in an implicit group; a scalar; consolidated.
fn d0_keys() -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    text(&mut all, "zarr.json", r#"{"zarr_format":"CORE","metadata_encoding":"CORE","metadata_key_suffix":".json","extensions":[]}"#);
    let array = |shape: &str, chunk: &str, more: &str| {
        format!(
            r#"{{"shape":{shape},"data_type":">i4","chunk_grid":{{"type":"regular","chunk_shape":{chunk},"separator":"/"}},
            "chunk_memory_layout":"C","fill_value":7,"extensions":[],"attributes":{{"u":1}}{more}}}"#
        )
    };
    text(&mut all, "meta/root/a.array.json", &array("[5]", "[2]", ""));
    all.insert("data/root/a/c0".into(), ints([1, 2]));
    all.insert("data/root/a/c2".into(), ints([5, 0]));
    let sharding = r#","storage_transformers":[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2,1]}}]"#;
    text(&mut all, "meta/root/p/q.array.json", &array("[2,2]", "[1,2]", sharding));
    let index = [0u64, 8, u64::MAX, u64::MAX].iter().flat_map(|n| n.to_le_bytes());
    all.insert("data/root/p/q/c0/0".into(), ints([1, 2]).into_iter().chain(index).collect());
    text(&mut all, "meta/root/s.array.json", &array("[]", "[]", ""));
    all.insert("data/root/s/c0".into(), ints([9]));
    text(&mut all, "meta/root/g.group.json", r#"{"attributes":{"title":"t"}}"#);
    text(&mut all, "meta/root/consolidated.group.json", r#"{"attributes":{}}"#);
    text(&mut all, "meta/root/consolidated/.zmetadata", r#"{"zarr_consolidated_format":1,"metadata":{}}"#);
    all
}

fn read(store: &Store, path: &str) -> Vec<i32> {
    let Node::Array(array) = Node::open(store, path).unwrap_or_else(|e| panic!("{path}: {e}")) else { panic!("{path}") };
    let mut values = vec![-1; array.shape().iter().product::<u64>() as usize];
    let memory = Memory::of(&mut values, &array.shape(), array.data_type());
    // SAFETY: the memory lives as long as the call.
    unsafe { array.read(&Selection::all(&array.shape()), &memory).unwrap() };
    values
}

const V2: &[(&str, &[i32])] = &[("a", &[1, 2, 7, 7, 5]), ("g/f", &[1, 2])];
const D0: &[(&str, &[i32])] = &[("a", &[1, 2, 7, 7, 5]), ("p/q", &[1, 2, 7, 7]), ("s", &[9])];

fn check_values(store: &Store, expected: &[(&str, &[i32])], when: &str) {
    for (path, values) in expected {
        assert_eq!(read(store, path), *values, "{path} {when}");
    }
}

fn go(from: &Store, to: Option<&Store>) -> Result<Migrated> {
    from.migrate("", to.map(|s| (s, "")), false, &mut |_, _| Ok(()))
}

#[test]
fn v2_becomes_v3_and_keeps_its_chunks() {
    let (from, to) = (handle(&mortal(&v2_keys(), 0)), handle(&mortal(&BTreeMap::new(), 1000)));
    let done = go(&from, Some(&to)).unwrap();
    assert_eq!((done.nodes, done.linked, done.copied, done.recoded), (4, 0, 2, 1));
    assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
    assert!(done.notes[0].starts_with("g/f: encoded anew: the codec \"base64\""), "{:?}", done.notes);
    let all = keys(&to);
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(names, ["a/0", "a/2", "a/zarr.json", "g/f/c/0", "g/f/zarr.json", "g/zarr.json", "zarr.json"]);
    assert_eq!(all["a/0"], ints([1, 2]));
    check_values(&to, V2, "after the migration");
    let root = json::parse_object(&all["zarr.json"], 1 << 20).unwrap();
    assert_eq!(root["attributes"].to_string(), r#"{"title":"t"}"#);
    let entries = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(entries.keys().collect::<Vec<_>>(), ["a", "g", "g/f"]);
    assert_eq!(entries["a"]["dimension_names"].to_string(), r#"["x"]"#);
}

#[test]
fn d0_becomes_v3_with_its_implicit_groups() {
    let (from, to) = (handle(&mortal(&d0_keys(), 0)), handle(&mortal(&BTreeMap::new(), 1000)));
    let done = go(&from, Some(&to)).unwrap();
    assert_eq!((done.nodes, done.copied, done.recoded, done.notes.len()), (6, 4, 0, 0));
    let all = keys(&to);
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    let want =
        ["a/c/0", "a/c/2", "a/zarr.json", "g/zarr.json", "p/q/c/0/0", "p/q/zarr.json", "p/zarr.json", "s/c", "s/zarr.json", "zarr.json"];
    assert_eq!(names, want);
    check_values(&to, D0, "after the migration");
}

#[test]
fn after_a_kill_at_any_change_all_is_readable_and_a_second_run_completes_it() {
    for (before, values) in [(v2_keys(), V2), (d0_keys(), D0)] {
        for in_place in [false, true] {
            let run = |from: &Arc<Watched>, to: &Arc<Watched>| match in_place {
                true => go(&handle(to), None),
                false => go(&handle(from), Some(&handle(to))),
            };
            let start = || if in_place { before.clone() } else { BTreeMap::new() };
            let from = mortal(&before, 0);
            let whole = mortal(&start(), i64::MAX);
            run(&from, &whole).unwrap();
            let want = keys(&handle(&whole));
            assert!(!want.keys().any(|key| key.contains(".z") || key.starts_with("data/") || key.starts_with("meta/")), "{want:?}");
            let changes = i64::MAX - whole.left.load(Ordering::Relaxed);
            assert!(changes >= 10, "{changes}");
            for left in 0..changes {
                let killed = mortal(&start(), left);
                let e = run(&from, &killed).expect_err("a change fails");
                assert!(e.message().contains("killed"), "{e}");
                let when = format!("after {left} of {changes} changes, in place: {in_place}");
                if in_place {
                    check_values(&handle(&killed), values, &when);
                }
                killed.left.store(i64::MAX, Ordering::Relaxed);
                run(&from, &killed).unwrap_or_else(|e| panic!("{when}: {e}"));
                assert_eq!(keys(&handle(&killed)), want, "{when}");
            }
            let flushes = i64::MAX - whole.flushes.load(Ordering::Relaxed);
            assert!(flushes >= 2, "{flushes}");
            for good in 0..flushes {
                let when = format!("after {good} of {flushes} flushes, in place: {in_place}");
                let failed = mortal(&start(), i64::MAX);
                failed.flushes.store(good, Ordering::Relaxed);
                let e = run(&from, &failed).expect_err("a flush fails");
                assert!(e.message().contains("not durable"), "{when}: {e}");
                run(&from, &failed).unwrap_or_else(|e| panic!("{when}: {e}"));
                assert_eq!(keys(&handle(&failed)), want, "{when}");
            }
            assert_eq!(keys(&handle(&from)), before, "the source");
        }
    }
}

#[test]
fn a_second_run_to_another_place_has_what_the_source_is_by_then_or_is_refused_where_all_was_made() {
    let whole = mortal(&BTreeMap::new(), i64::MAX);
    go(&handle(&mortal(&v2_keys(), 0)), Some(&handle(&whole))).unwrap();
    let changes = i64::MAX - whole.left.load(Ordering::Relaxed);
    let mut now = v2_keys();
    now.insert("a/0".into(), ints([11, 12]));
    now.retain(|key, _| key != "a/2" && !key.starts_with("g/f/"));
    text(&mut now, ".zattrs", r#"{"title":"other"}"#);
    let want = mortal(&BTreeMap::new(), i64::MAX);
    go(&handle(&mortal(&now, 0)), Some(&handle(&want))).unwrap();
    let mut wholes = 0;
    for left in 0..changes {
        let (from, killed) = (mortal(&v2_keys(), 0), mortal(&BTreeMap::new(), left));
        go(&handle(&from), Some(&handle(&killed))).expect_err("a change fails");
        killed.left.store(i64::MAX, Ordering::Relaxed);
        // With the root's document all is there, which programs may have changed since.
        let is_whole = killed.store.open("zarr.json").unwrap().is_some();
        if !is_whole && left > 1 {
            let before = keys(&handle(&killed));
            from.store.put("a/.zarray", &[b"{}"], Condition::None).unwrap();
            go(&handle(&from), Some(&handle(&killed))).expect_err("the source has no form in version 3");
            assert_eq!(keys(&handle(&killed)), before, "after {left} of {changes} changes");
        }
        v2_keys().keys().filter(|key| !now.contains_key(*key)).for_each(|key| assert!(from.store.erase(key).unwrap()));
        now.iter().for_each(|(key, bytes)| from.store.put(key, &[bytes], Condition::None).unwrap());
        let before = keys(&handle(&killed));
        let again = go(&handle(&from), Some(&handle(&killed)));
        assert_eq!(again.as_ref().err().map(Error::kind), is_whole.then_some(ErrorKind::Exists), "after {left} of {changes}: {again:?}");
        let want = if is_whole { before } else { keys(&handle(&want)) };
        assert_eq!(keys(&handle(&killed)), want, "after {left} of {changes} changes");
        wholes += usize::from(is_whole);
    }
    assert!(wholes > 1, "{wholes}");
}

#[test]
fn what_programs_of_either_version_change_after_a_kill_is_kept_by_the_second_run() {
    let whole = mortal(&v2_keys(), i64::MAX);
    go(&handle(&whole), None).unwrap();
    let changes = i64::MAX - whole.left.load(Ordering::Relaxed);
    let cases = [
        ("a/.zarray", r#""shape":[5]"#, r#""shape":[6]"#, r#""shape":[6]"#),
        ("a/.zattrs", r#""u":1"#, r#""u":2"#, r#""u":2"#),
        ("a/zarr.json", r#""u":1"#, r#""u":3"#, r#""u":3"#),
        ("g/f/.zarray", r#""fill_value":0"#, r#""fill_value":4"#, r#""fill_value":4"#),
    ];
    for (key, from, to, want) in cases {
        let mut changed = 0;
        for left in 0..changes {
            let killed = mortal(&v2_keys(), left);
            go(&handle(&killed), None).expect_err("a change fails");
            let before = keys(&handle(&killed));
            // Without its document it is no node of version 2 any more, whose attributes programs change.
            let node = key.rsplit_once('/').unwrap().0;
            let is_node = key.ends_with("zarr.json") || before.contains_key(&format!("{node}/.zarray"));
            let Some(old) = before.get(key).filter(|_| is_node) else { continue };
            let old = String::from_utf8(old.clone()).unwrap().replace([' ', '\n'], "");
            assert!(old.contains(from), "{old}");
            killed.store.put(key, &[old.replace(from, to).as_bytes()], Condition::None).unwrap();
            killed.left.store(i64::MAX, Ordering::Relaxed);
            go(&handle(&killed), None).unwrap();
            let after = keys(&handle(&killed));
            let document = String::from_utf8(after[&format!("{node}/zarr.json")].clone()).unwrap().replace([' ', '\n'], "");
            let when = format!("{key} after {left} of {changes} changes: {document}");
            assert!(document.contains(want) && (node != "a" || document.contains(r#""dimension_names":["x"]"#)), "{when}");
            assert!(after.keys().all(|key| !key.contains(".z") && !key.contains("migration")), "{when}: {after:?}");
            assert_eq!(read(&handle(&killed), node)[..2], [1, 2], "{when}");
            changed += 1;
        }
        assert!(changed > 4, "{key}: {changed} of {changes}");
    }
}

#[test]
fn a_group_that_is_called_as_zarr_python_calls_its_own_is_kept_if_something_is_in_it() {
    let mut before = d0_keys();
    before.insert("meta/root/consolidated/a.array.json".into(), before["meta/root/a.array.json"].clone());
    before.insert("data/root/consolidated/a/c0".into(), ints([1, 2]));
    let store = handle(&mortal(&before, 1000));
    go(&store, None).unwrap();
    assert_eq!(read(&store, "consolidated/a"), [1, 2, 7, 7, 7]);
}

#[test]
fn the_progress_is_told_and_can_end_it() {
    let from = handle(&mortal(&d0_keys(), 0));
    let to = handle(&mortal(&BTreeMap::new(), 1000));
    let mut told = Vec::new();
    let e = from.migrate("", Some((&to, "")), false, &mut |done, total| {
        told.push((done, total));
        if done == 3 { Err(Error::new(ErrorKind::Cancelled, "enough")) } else { Ok(()) }
    });
    assert_eq!((e.unwrap_err().kind(), told.as_slice()), (ErrorKind::Cancelled, [(1, 10), (2, 10), (3, 10)].as_slice()));
    let mut last = (0, 0);
    let again = from.migrate("", Some((&to, "")), false, &mut |done, total| {
        last = (done, total);
        Ok(())
    });
    assert!(again.is_ok());
    check_values(&to, D0, "after the second run");
}

#[test]
fn a_part_goes_into_a_hierarchy_that_is_there() {
    let (from, to) = (handle(&mortal(&d0_keys(), 0)), handle(&mortal(&BTreeMap::new(), 1000)));
    let root = Group::create(&to, "", None, Create::New).unwrap();
    root.consolidate().unwrap();
    from.migrate("p", Some((&to, "old/p")), false, &mut |_, _| Ok(())).unwrap();
    assert_eq!(read(&to, "old/p/q"), [1, 2, 7, 7]);
    let all = keys(&to);
    assert!(String::from_utf8_lossy(&all["zarr.json"]).contains("\"old/p/q\""));
}

#[test]
fn what_cannot_be_migrated_stops_before_anything_is_written() {
    let mut v2 = v2_keys();
    text(
        &mut v2,
        "g/bad/.zarray",
        r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","fill_value":0,"compressor":{"id":"snake-oil"},"filters":null,"order":"C"}"#,
    );
    let mut reserved = v2_keys();
    text(&mut reserved, "__x/.zgroup", r#"{"zarr_format":2}"#);
    let mut in_the_way = d0_keys();
    text(&mut in_the_way, "meta/root/data.group.json", r#"{"attributes":{}}"#);
    for (before, in_place, kind, says) in [
        (&v2, false, ErrorKind::Unsupported, "g/bad"),
        (&v2, true, ErrorKind::Unsupported, "snake-oil"),
        (&reserved, true, ErrorKind::Name, "__x"),
        (&in_the_way, true, ErrorKind::Unsupported, "data"),
    ] {
        let (from, to) = (mortal(before, 0), mortal(&BTreeMap::new(), 0));
        let e = if in_place { go(&handle(&from), None) } else { go(&handle(&from), Some(&handle(&to))) }.unwrap_err();
        assert_eq!(e.kind(), kind, "{e}");
        assert!(e.to_string().contains(says), "{e}");
        assert!(keys(&handle(&to)).is_empty() && keys(&handle(&from)) == *before);
    }
}

#[test]
fn what_cannot_be_migrated_leaves_no_folder_where_it_was_to_go() {
    let mut v2 = v2_keys();
    text(&mut v2, "__x/.zgroup", r#"{"zarr_format":2}"#);
    let from = handle(&mortal(&v2, 0));
    let folder = TestFolder::new("refused");
    let refused = |name: &str, path: &str| {
        let to = Store::open(&Context::default(), folder.join(name).to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
        assert_eq!(from.migrate("", Some((&to, path)), false, &mut |_, _| Ok(())).unwrap_err().kind(), ErrorKind::Name);
    };
    refused("a/b", "");
    refused("a/b", "c/d");
    assert!(!folder.exists());
    // What was there stays.
    std::fs::create_dir_all(folder.join("empty")).unwrap();
    refused("empty", "");
    refused("empty", "c/d");
    assert_eq!(std::fs::read_dir(folder.join("empty")).unwrap().count(), 0);
}

#[test]
fn an_archive_is_migrated_to_and_refused_in_place() {
    let file = TestFolder::new("migrate.zip");
    let open = |mode| Store::open(&Context::default(), file.to_str().unwrap(), mode, &[]).unwrap();
    for (keys_of, expected) in [(v2_keys(), V2), (d0_keys(), D0)] {
        drop(std::fs::remove_file(&file));
        let to = open(Mode::ReadWrite);
        go(&handle(&mortal(&keys_of, 0)), Some(&to)).unwrap();
        to.close(None).unwrap();
        drop(to);
        let made = open(Mode::Read);
        assert!(!made.key_list("").unwrap().iter().any(|key| key.contains("migration")));
        check_values(&made, expected, "in an archive");
        drop(made);
        // Old documents could not be erased there.
        let again = open(Mode::ReadWrite);
        let before = again.key_list("").unwrap();
        assert_eq!(go(&again, None).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(again.key_list("").unwrap(), before);
    }
}

#[test]
fn a_place_that_holds_something_else_is_refused() {
    let from = handle(&mortal(&d0_keys(), 0));
    let full = handle(&mortal(&v2_keys(), 1000));
    assert_eq!(go(&from, Some(&full)).unwrap_err().kind(), ErrorKind::Exists);
    let draft = handle(&mortal(&d0_keys(), 1000));
    assert_eq!(go(&from, Some(&draft)).unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(from.migrate("p", None, false, &mut |_, _| Ok(())).unwrap_err().kind(), ErrorKind::Argument);
    let done = handle(&mortal(&BTreeMap::new(), 1000));
    go(&from, Some(&done)).unwrap();
    let e = go(&from, Some(&done)).unwrap_err();
    assert!(e.kind() == ErrorKind::Exists && e.to_string().contains("is whole"), "when it is complete: {e}");
    let e = go(&from, Some(&handle(&mortal(&BTreeMap::from([("mine.txt".into(), Vec::new())]), 1000)))).unwrap_err();
    assert!(e.kind() == ErrorKind::Exists && !e.to_string().contains("is whole"), "where another's file is: {e}");
    let mut other = BTreeMap::new();
    text(&mut other, "ozarr-migration.json", r#"{"from":"somewhere else"}"#);
    assert_eq!(go(&from, Some(&handle(&mortal(&other, 1000)))).unwrap_err().kind(), ErrorKind::Exists);
    // In place, v3 stays what it is.
    let before = keys(&done);
    go(&done, None).unwrap();
    assert_eq!(keys(&done), before);
}

#[test]
fn chunks_of_files_are_linked_and_a_copy_is_made_where_it_is_asked_for() {
    use std::os::unix::fs::MetadataExt;
    let folder = TestFolder::new("migrate");
    for (key, bytes) in d0_keys() {
        let file = folder.join("old").join(key);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
    let store = |name: &str| Store::open(&Context::default(), folder.join(name).to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let links = |name: &str| std::fs::metadata(folder.join(name)).unwrap().nlink();
    let done = go(&store("old"), Some(&store("new"))).unwrap();
    assert_eq!((done.linked, done.copied, links("new/a/c/0")), (4, 0, 2));
    let done = store("old").migrate("", Some((&store("copy"), "")), true, &mut |_, _| Ok(())).unwrap();
    assert_eq!((done.linked, done.copied, links("copy/a/c/0")), (0, 4, 1));
    // Writing to the new one leaves the old one alone.
    let Node::Array(array) = Node::open(&store("new"), "a").unwrap() else { panic!() };
    let mut value = [42i32];
    let memory = Memory::of(&mut value, &[1], array.data_type());
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&Selection::new(&[5], &[0], &[1], None).unwrap(), &memory).unwrap() };
    assert_eq!((read(&store("new"), "a")[0], read(&store("old"), "a")[0]), (42, 1));
    go(&store("old"), None).unwrap();
    check_values(&store("old"), D0, "in place");
    assert!(!folder.join("old/meta").exists() && !folder.join("old/data").exists());
}

#[test]
fn a_group_with_two_names_is_migrated_in_place_once() {
    let folder = TestFolder::new("names");
    for (key, bytes) in v2_keys() {
        let file = folder.join(key);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, bytes).unwrap();
    }
    std::os::unix::fs::symlink("g", folder.join("link")).unwrap();
    let store = || Store::open(&Context::default(), folder.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    for _ in 0..2 {
        go(&store(), None).unwrap();
        check_values(&store(), V2, "by its own name");
        check_values(&store(), &[("link/f", &[1, 2])], "by the link");
    }
    assert!(!store().key_list("").unwrap().iter().any(|key| key.ends_with(".zgroup") || key.ends_with(".zarray")));
}

#[test]
fn nothing_in_a_draft_is_written() {
    let shared = mortal(&d0_keys(), 0);
    let store = handle(&shared);
    let Node::Array(a) = Node::open(&store, "a").unwrap() else { panic!() };
    let g = Group::open(&store, "g").unwrap();
    assert_eq!((a.dialect().draft(), g.dialect().draft(), a.format()), (Some("d0"), Some("d0"), Format::V3));
    let spec = || Spec::new(DataType::Int8, &[1]).unwrap();
    let mut value = [1i32];
    let memory = Memory::of(&mut value, &[1], a.data_type());
    let first = Selection::new(&[5], &[0], &[1], None).unwrap();
    let elsewhere = handle(&mortal(&BTreeMap::new(), 0));
    let results = [
        // SAFETY: the memory lives as long as the calls.
        unsafe { a.write(&first, &memory) },
        // SAFETY: as above.
        unsafe { a.append(0, 1, &memory) },
        a.resize(&[9], false),
        a.chunk_write(&[0], false, b"x"),
        a.chunk_erase(&[0], false).map(drop),
        a.shard_writer(&[0]).map(drop),
        a.attributes().set("x", 1.into()),
        g.attributes().erase("title"),
        g.attributes().begin(),
        g.consolidate(),
        Array::create(&store, "g/new", &spec(), Create::New).map(drop),
        Array::create(&store, "", &spec(), Create::Overwrite).map(drop),
        Group::create(&store, "a", None, Create::OpenIfSame).map(drop),
        store.erase_node("a"),
        store.erase_node(""),
        store.copy_node("a", (&elsewhere, "a"), Create::New, false, &mut |_, _| Ok(())),
    ];
    for (i, result) in results.into_iter().enumerate() {
        let e = result.unwrap_err();
        assert_eq!(e.kind(), ErrorKind::ReadOnly, "{i}: {e}");
        assert!(e.message().contains("(d0)") && e.message().contains("ozarr migrate"), "{i}: {e}");
    }
    assert_eq!(keys(&handle(&shared)), d0_keys());
}
