//! What a call leaves that ends in the middle, and what is made in its place afterwards.

use super::tests::{far_from, faults, memory, read_all, spec, spec_as, view, write_all};
use super::tests_growth::Folder;
use super::tests_series::Meeting;
use super::tests_store::{Next, anew, before_call, ended, on, told};
use super::tests_swap::Overtaken;
use super::*;
use crate::dtype::Overflow;
use crate::engine::Selection;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::platform::libc;
use crate::settings::apart;
use crate::store::SharedStore;
use crate::store::StorageExt;
use crate::store::fault;
use crate::store::memory::MemoryStore;
use crate::store::os::Call;
use crate::store::suite::TestFolder;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

fn ending(inner: &SharedStore, left: usize) -> Store {
    tests_store::ending(inner.clone(), Arc::new(left.into()))
}

/// Ends a call behind each of its changes, then makes an array, which shows the fill value alone, at `place`, and looks for what else is there.
fn made_anew(format: Format, place: &str, call: fn(&Store) -> Result<()>) {
    let wanted = |shape: &[u64]| spec_as(format, shape, &[2]);
    for (after, how) in (0..).flat_map(|after| [Create::New, Create::Overwrite].map(|how| (after, how))) {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let open = |shared: &SharedStore| on(shared.clone());
        let store = open(&shared);
        for path in ["a", "g/b", "g/c"] {
            write_all(&Array::create(&store, path, &wanted(&[6]), Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
        }
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let done = call(&ending(&shared, after));
        let text = format!("{format:?} {place} {how:?} behind {after}");
        match Array::create(&open(&shared), place, &wanted(&[6]), how) {
            Ok(array) => assert_eq!(read_all(&array), [0; 6], "{text}"),
            Err(e) => assert!(e.kind() == ErrorKind::Exists && how == Create::New, "{text}: {e}"),
        }
        let store = open(&shared);
        Array::create(&store, place, &wanted(&[6]), Create::Overwrite).unwrap();
        assert_eq!(read_all(&Array::open(&store, place).unwrap()), [0; 6], "{text}");
        if done.is_ok() && how == Create::Overwrite {
            assert!(after > 3);
            return;
        }
    }
}

#[test]
fn an_array_that_is_made_where_one_was_erased_in_part_has_the_fill_value() {
    for format in [Format::V2, Format::V3] {
        made_anew(format, "a", |store| store.erase_node("a"));
        made_anew(format, "g/b", |store| store.erase_node("g"));
        made_anew(format, "g", |store| store.erase_node("g"));
        made_anew(format, "a", |store| Group::create(store, "a", None, Create::Overwrite).map(drop));
    }
}

#[test]
fn a_group_of_version_2_that_is_made_where_a_node_was_erased_in_part_has_no_old_attributes() {
    for (place, is_array) in [("g", false), ("g/h", false), ("g/a", true)] {
        let mut made = 0;
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            let attributes = || Map::from_iter([("old", 1.into())]);
            for path in ["g", "g/h"] {
                Group::create_with(&store, path, Some(Format::V2), Create::New, attributes()).unwrap();
            }
            for path in ["g/a", "g/h/a"] {
                Array::create(&store, path, &spec_as(Format::V2, &[2], &[2]), Create::New)
                    .unwrap()
                    .attributes()
                    .set("old", 1.into())
                    .unwrap();
            }
            let done = ending(&shared, after).erase_node(if is_array { place } else { "g" });
            let store = on(shared.clone());
            if let Ok(group) = Group::create(&store, place, Some(Format::V2), Create::New) {
                made += 1;
                let attributes = group.attributes().all().unwrap();
                // One that has nodes still may have lost its document alone.
                let has_nodes = !group.children().unwrap().is_empty();
                assert!(attributes.is_empty() || has_nodes, "{place} behind {after}: {attributes:?}");
            }
            if done.is_ok() {
                break;
            }
        }
        // A group keeps its document to the last.
        assert!(made > usize::from(place != "g"), "{place}");
    }
}

#[test]
fn a_group_of_version_2_that_lost_only_its_document_has_its_attributes_once_it_is_made_again() {
    let store = memory();
    Group::create_with(&store, "g", Some(Format::V2), Create::New, Map::from_iter([("title", 1.into())])).unwrap();
    Array::create(&store, "g/a", &spec_as(Format::V2, &[2], &[2]), Create::New).unwrap();
    store.shared().erase("g/.zgroup").unwrap();
    Group::create(&store, "g", Some(Format::V2), Create::New).unwrap();
    assert_eq!(Group::open(&anew(&store), "g").unwrap().attributes().all().unwrap().len(), 1);
}

#[test]
fn an_array_that_is_made_where_a_copy_was_interrupted_has_the_fill_value() {
    for format in [Format::V2, Format::V3] {
        made_anew(format, "d", |store| store.copy_node("a", (store, "d"), Create::New, false, &mut |_, _| Ok(())));
        made_anew(format, "d/b", |store| store.copy_node("g", (store, "d"), Create::New, false, &mut |_, _| Ok(())));
    }
}

/// The call that is interrupted ends behind each of its changes. Another source is refused, unless what is there is to be overwritten.
#[test]
fn a_copy_to_where_another_one_was_interrupted_is_told_or_overwrites() {
    let mut kinds = std::collections::BTreeSet::new();
    for after in 0.. {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let store = on(shared.clone());
        for (path, first) in [("a", 1), ("b", 7)] {
            write_all(&Array::create(&store, path, &spec(&[2], &[1]), Create::New).unwrap(), &mut [first, first + 1]);
        }
        let copy = |store: &Store, from, how| store.copy_node(from, (store, "d"), how, false, &mut |_, _| Ok(()));
        let done = copy(&ending(&shared, after), "a", Create::New);
        let faults = |store: &Store| -> Vec<_> {
            faults(store, VerifyOptions::default()).into_iter().map(|fault| (fault.kind.name(), fault.key)).collect()
        };
        let marker = ("temporary", "d/ozarr-copy.json".to_string());
        let is_marked = store.key_get(&marker.1).unwrap().is_some();
        assert_eq!(faults(&store).contains(&marker), is_marked, "behind {after}: {:?}", faults(&store));
        let new = copy(&store, "b", Create::New);
        kinds.extend(new.as_ref().err().map(Error::kind).map(|kind| kind == ErrorKind::Exists));
        if new.is_err() {
            copy(&store, "b", Create::Overwrite).unwrap();
        }
        assert_eq!(read_all(&Array::open(&store, "d").unwrap()), [7, 8], "behind {after}");
        assert_eq!(faults(&store), [], "behind {after}");
        if done.is_ok() {
            break;
        }
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), [true]);
}

/// How [`Store::rechunk_node`] and [`Store::copy_node`] copy a group, and the progress that they are given.
type CopiesTo = fn(&Store, &Store, &mut transfer::OnProgress<'_>) -> Result<()>;

fn copies() -> [(&'static str, CopiesTo); 3] {
    [
        ("anew", |from, to, progress| {
            from.rechunk_node("g", (to, "d"), RechunkOptions::default(), &mut |_, _| Ok(()), &mut *progress).map(drop)
        }),
        ("as it is", |from, to, progress| from.copy_node("g", (to, "d"), Create::New, false, progress)),
        ("compared", |from, to, progress| from.copy_node("g", (to, "d"), Create::New, true, progress)),
    ]
}

/// A store with a group that has consolidated metadata.
fn with_consolidated(shared: &SharedStore) -> Store {
    let store = on(shared.clone());
    let group = Group::create(&store, "g", None, Create::New).unwrap();
    write_all(&Array::create(&store, "g/a", &spec(&[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
    group.consolidate().unwrap();
    store
}

#[test]
fn a_copy_that_its_progress_ends_where_all_is_done_is_no_node_and_is_made_by_the_same_call() {
    for (text, copy) in copies() {
        let store = with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore));
        let stopped = copy(&store, &store, &mut |done, total| if done == total { bail!(Callback, "enough") } else { Ok(()) });
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Callback, "{text}");
        assert_eq!(store.node_kind("d").unwrap(), NodeKind::None, "{text}");
        copy(&store, &store, &mut |_, _| Ok(())).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(store.key_get("d/ozarr-copy.json").unwrap(), None, "{text}");
    }
}

#[test]
fn consolidated_metadata_tell_of_the_groups_above_a_copy_that_ends_early() {
    let build: CopiesTo = |_, to, progress| to.build_group("new/deep/d", (None, Create::New), ("a source", ""), &mut |_| progress(1, 1));
    let migrate: CopiesTo = |from, to, progress| from.migrate("g", Some((to, "new/deep/d")), true, progress).map(drop);
    let anew: CopiesTo = |from, to, progress| {
        from.rechunk_node("g", (to, "new/deep/d"), RechunkOptions::default(), &mut |_, _| Ok(()), &mut *progress).map(drop)
    };
    let copy: CopiesTo = |from, to, progress| from.copy_node("g", (to, "new/deep/d"), Create::New, false, progress);
    let cases =
        [("build", Format::V3, build), ("migrate", Format::V2, migrate), ("anew", Format::V3, anew), ("as it is", Format::V3, copy)];
    for (text, format, call) in cases {
        let from = Store::memory(&Context::with_threads(1));
        Group::create(&from, "g", Some(format), Create::New).unwrap();
        Array::create(&from, "g/a", &spec(&[2], &[1]), Create::New).unwrap();
        for ends in [true, false] {
            let to: SharedStore = Arc::new(MemoryStore::new());
            let store = || on(to.clone());
            Group::create(&store(), "", Some(Format::V3), Create::New).unwrap().consolidate().unwrap();
            let done = call(&from, &store(), &mut |_, _| if ends { bail!(Callback, "enough") } else { Ok(()) });
            assert_eq!(done.is_err(), ends, "{text}: {done:?}");
            assert_eq!(store().node_kind("new/deep").unwrap(), NodeKind::Group, "{text}");
            let differences = Group::open(&store(), "").unwrap().consolidated_differences().unwrap();
            assert_eq!(differences, Some(vec![]), "{text} {ends}");
        }
    }
}

/// The copy ends behind each of its changes.
#[test]
fn the_same_call_does_what_a_copy_that_was_killed_at_its_end_had_still_to_do() {
    for (text, copy) in copies() {
        let mut whole = 0;
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = with_consolidated(&shared);
            let done = copy(&store, &ending(&shared, after), &mut |_, _| Ok(()));
            whole += usize::from(done.is_err() && store.node_kind("d").unwrap() == NodeKind::Group);
            let again = copy(&store, &store, &mut |_, _| Ok(())).map_err(|e| e.kind());
            assert_eq!(again, if done.is_ok() { Err(ErrorKind::Exists) } else { Ok(()) }, "{text}, behind {after}");
            assert_eq!(store.key_get("d/ozarr-copy.json").unwrap(), None, "{text}, behind {after}");
            let document = String::from_utf8(store.key_get("d/zarr.json").unwrap().unwrap()).unwrap();
            assert!(document.contains("consolidated_metadata"), "{text}, behind {after}: {document}");
            if done.is_ok() {
                break;
            }
        }
        assert!(whole > 0, "{text}");
    }
}

/// What stays of a copy whose marker could not be erased.
fn left_whole(from: &Store, copy: CopiesTo) -> Store {
    for after in 0.. {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let done = copy(from, &ending(&shared, after), &mut |_, _| Ok(()));
        assert!(done.is_err());
        if on(shared.clone()).node_kind("d").unwrap() == NodeKind::Group {
            return on(shared);
        }
    }
    unreachable!()
}

#[test]
fn a_copy_that_was_killed_at_its_end_is_not_completed_where_its_source_or_itself_is_another_one_since() {
    type Change = fn(&Store, &Store);
    let chunk: Change = |from, _| write_all(&Array::open(from, "g/a").unwrap(), &mut [9, 9]);
    let changes: [(&str, Change); 4] = [
        ("a chunk", chunk),
        ("an attribute below", |from, _| Array::open(from, "g/a").unwrap().attributes().set_json("x", "1").unwrap()),
        ("a node that is new", |from, _| drop(Array::create(from, "g/b", &spec(&[2], &[1]), Create::New).unwrap())),
        ("a node of the copy that is gone", |_, to| to.erase_node("d/a").unwrap()),
    ];
    for (text, copy) in copies() {
        for (what, change) in changes {
            let from = with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore));
            let to = left_whole(&from, copy);
            change(&from, &to);
            let e = copy(&from, &to, &mut |_, _| Ok(())).unwrap_err();
            assert!(e.kind() == ErrorKind::Exists && e.message().contains("overwrite"), "{text}, {what}: {e}");
            assert!(!e.message().contains("the same call completes it"), "{text}, {what}: {e}");
        }
        let from = with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore));
        copy(&from, &left_whole(&from, copy), &mut |_, _| Ok(())).unwrap();
    }
    let rechunked = |chunk: u64, overflow: Overflow| {
        move |from: &Store, to: &Store| {
            let options = RechunkOptions { overflow, ..RechunkOptions::default() };
            from.rechunk_node("g", (to, "d"), options, &mut |_, spec| spec.set_chunks(&[chunk]), &mut |_, _| Ok(())).map(drop)
        }
    };
    let from = with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore));
    let copy: CopiesTo = |from, to, progress| {
        let mut change = |_: &str, spec: &mut Spec| spec.set_chunks(&[2]);
        from.rechunk_node("g", (to, "d"), RechunkOptions::default(), &mut change, &mut *progress).map(drop)
    };
    for (chunk, overflow) in [(1, Overflow::Error), (2, Overflow::Wrap)] {
        let e = rechunked(chunk, overflow)(&from, &left_whole(&from, copy)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::Exists, "{chunk}: {e}");
    }
    rechunked(2, Overflow::Error)(&from, &left_whole(&from, copy)).unwrap();
}

#[test]
fn a_copy_of_what_another_program_consolidated_is_completed_wherever_it_ended() {
    for format in [Format::V2, Format::V3] {
        let from = memory();
        let group = Group::create(&from, "g", Some(format), Create::New).unwrap();
        let array = Array::create(&from, "g/a", &spec_as(format, &[2], &[1]), Create::New).unwrap();
        write_all(&array, &mut [1, 2]);
        group.consolidate().unwrap();
        let key = if format == Format::V2 { "g/.zmetadata" } else { "g/zarr.json" };
        // It tells of an older length, and is set out otherwise.
        let text = String::from_utf8(from.key_get(key).unwrap().unwrap()).unwrap();
        array.resize(&[3], true).unwrap();
        from.key_put(key, text.replace('\n', " ").as_bytes()).unwrap();
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let copy = |to: &Store| from.copy_node("g", (to, "d"), Create::New, false, &mut |_, _| Ok(()));
            let done = copy(&ending(&shared, after));
            if done.is_ok() {
                assert!(after > 3, "{format:?}");
                break;
            }
            copy(&on(shared.clone())).unwrap_or_else(|e| panic!("{format:?} behind {after}: {e}"));
            assert_eq!(on(shared).key_get("d/ozarr-copy.json").unwrap(), None, "{format:?} behind {after}");
        }
    }
}

#[test]
fn a_key_by_which_a_store_was_asked_what_it_can_holds_no_place() {
    let store = with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore));
    store.key_put("d/ozarr-copy.json.ozarr-asks-1700000000-0123456789abcdef0123456789abcdef", b"").unwrap();
    store.copy_node("g", (&store, "d"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    store.key_put("e/x", b"").unwrap();
    let e = store.copy_node("g", (&store, "e"), Create::New, false, &mut |_, _| Ok(())).unwrap_err();
    assert!(e.kind() == ErrorKind::Exists && e.message().contains("holds something already"), "{e}");
}

#[test]
fn a_document_that_ends_in_an_empty_line_is_not_that_of_a_group_which_is_erased() {
    let store = with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore));
    for path in ["g", "g/a"] {
        let key = format!("{path}/zarr.json");
        let mut text = store.key_get(&key).unwrap().unwrap();
        text.extend(b"\n\n");
        store.key_put(&key, &text).unwrap();
        assert_eq!(hierarchy::emptied(&store, path).unwrap(), None, "{path}");
    }
}

/// The renaming ends behind each of its changes.
#[test]
fn a_group_that_is_made_where_one_was_renamed_stays_when_the_renaming_is_repeated() {
    for format in [Format::V2, Format::V3] {
        let mut made = 0;
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            Group::create(&store, "a", Some(format), Create::New).unwrap();
            write_all(&Array::create(&store, "a/u", &spec_as(format, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
            let done = ending(&shared, after).rename_node("a", "b");
            if store.node_kind("a").unwrap() == NodeKind::None {
                Group::create(&store, "a", Some(format), Create::New).unwrap();
                made += 1;
                assert_eq!(store.rename_node("a", "b").unwrap_err().kind(), ErrorKind::Exists, "{format:?} behind {after}");
                assert_eq!(store.node_kind("a").unwrap(), NodeKind::Group, "{format:?} behind {after}");
            } else {
                store.rename_node("a", "b").unwrap();
            }
            assert_eq!(read_all(&Array::open(&store, "b/u").unwrap()), [1, 2], "{format:?} behind {after}");
            if done.is_ok() {
                break;
            }
        }
        assert!(made > 1, "{format:?}: {made}");
    }
}

/// In a store without folders. Readers of version 2 open what `.zmetadata` lists, whatever else is there.
#[test]
fn nothing_opens_that_was_erased_in_part_where_an_overwriting_copy_was_interrupted() {
    type Copies = fn(&Store, &Store) -> Result<()>;
    let copies: [Copies; 2] = [
        |from, to| from.copy_node("s", (to, "g"), Create::Overwrite, false, &mut |_, _| Ok(())),
        |from, to| {
            let options = RechunkOptions { how: Create::Overwrite, ..RechunkOptions::default() };
            from.rechunk_node("s", (to, "g"), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).map(drop)
        },
    ];
    for (format, copy) in [Format::V2, Format::V3].into_iter().flat_map(|format| copies.map(|copy| (format, copy))) {
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            for (path, value) in [("g/a", 1), ("g/b/c", 2), ("s/a", 3)] {
                let array = Array::create(&store, path, &spec_as(format, &[4], &[2]), Create::New).unwrap();
                array.attributes().set("n", value.into()).unwrap();
                write_all(&array, &mut [value; 4]);
            }
            Group::open(&store, "g").unwrap().consolidate().unwrap();
            let old: Vec<String> = tests::keys(&store).into_iter().filter(|key| key.starts_with("g/") && key.contains("/c")).collect();
            let done = copy(&on(shared.clone()), &ending(&shared, after));
            let store = on(shared);
            for array in ["g/a", "g/b/c"].iter().filter_map(|path| Array::open(&store, path).ok()) {
                let value = array.attributes().get_i64("n").unwrap() as i32;
                assert_eq!(read_all(&array), [value; 4], "{format:?} behind {after}: {}", array.path());
            }
            if done.is_ok() {
                assert!(after > 10);
                break;
            }
            if format == Format::V2 && store.key_get("g/.zmetadata").unwrap().is_some() {
                assert!(old.iter().all(|key| store.key_get(key).unwrap().is_some()), "behind {after}");
            }
        }
    }
}

/// As its marker says where another migration is to be made there.
#[test]
fn what_an_interrupted_migration_has_left_is_erased() {
    for in_folder in [false, true] {
        for after in 0.. {
            let folder = in_folder.then(|| Folder::new("left-migration"));
            let shared = folder.as_ref().map_or_else(|| Arc::new(MemoryStore::new()) as SharedStore, |folder| folder.1.shared().clone());
            let store = on(shared.clone());
            write_all(&Array::create(&store, "old/a", &spec_as(Format::V2, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
            let before = tests::keys(&store);
            let done = store.migrate("old", Some((&ending(&shared, after), "new")), true, &mut |_, _| Ok(()));
            let erased = anew(&store).erase_node("new");
            assert!(erased.is_ok() || tests::keys(&store) == before, "behind {after}: {erased:?}");
            assert_eq!(tests::keys(&store), before, "behind {after}");
            if done.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn a_copy_of_a_group_takes_no_markers_of_calls_along_and_nothing_of_what_they_did_not_end() {
    let (from, to) = (memory(), memory());
    Group::create(&from, "g/b", None, Create::New).unwrap();
    for name in ["ozarr-copy.json", "ozarr-copy.json.ozarr-asks-1795893826-bdee7b5825072885ada8959b36266219", "mine.json"] {
        from.key_put(&format!("g/b/{name}"), b"{}").unwrap();
    }
    for name in ["ozarr-copy.json", "c/0", "d/zarr.json"] {
        from.key_put(&format!("g/e/{name}"), br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
    }
    from.copy_node("g", (&to, ""), Create::New, true, &mut |_, _| Ok(())).unwrap();
    assert_eq!(to.key_list("").unwrap(), ["b/mine.json", "b/zarr.json", "zarr.json"]);
}

/// A store of which one request fails, or all from that one on; the second one says whether it was met.
fn failing(inner: &SharedStore, number: usize, once: bool) -> (Store, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    let store = on(tests_store::told(inner.clone(), move |next| match next {
        Next::Opened(_) => Ok(()),
        _ => match counted.fetch_add(1, Ordering::Relaxed) {
            n if n == number || n > number && !once => Err(err!(Permission, "refused")),
            _ => Ok(()),
        },
    }));
    (store, asked)
}

/// Where one request fails, or all from there on, the same call succeeds when they are answered again, unless the error said that all is done.
fn is_done_by_the_same_call(what: &str, made: impl Fn() -> Store, call: impl Fn(&Store) -> Result<()>, check: impl Fn(&Store, &str)) {
    for (number, once) in (0..).flat_map(|number| [true, false].map(|once| (number, once))) {
        let store = made();
        let (unsure, asked) = failing(store.shared(), number, once);
        let (done, text) = (call(&unsure), format!("{what}, request {number}, once: {once}"));
        if asked.load(Ordering::Relaxed) <= number {
            assert!(number > 20 && done.is_ok(), "{text}: {done:?}");
            return;
        }
        drop(unsure);
        if let Err(e) = &done
            && let Err(again) = call(&on(store.shared().clone()))
        {
            assert!(e.to_string().contains("not to be renamed again") && again.kind() == ErrorKind::NotFound, "{text}: {e}, {again}");
        }
        check(&on(store.shared().clone()), &format!("{text}: {done:?}"));
    }
}

/// In a store without folders.
#[test]
fn a_renaming_of_which_a_request_failed_is_completed_by_the_same_call() {
    for (format, from, listed) in [Format::V2, Format::V3]
        .into_iter()
        .flat_map(|format| ["a", "g"].map(|from| (format, from)))
        .flat_map(|(format, from)| [true, false].map(|listed| (format, from, listed)))
    {
        let made = || {
            let store = on(Arc::new(MemoryStore::new()));
            let root = Group::create(&store, "", Some(format), Create::New).unwrap();
            for path in ["a", "g/u", "g/h/v"] {
                write_all(&Array::create(&store, path, &spec_as(format, &[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
            }
            if listed {
                Group::open(&store, "g").unwrap().consolidate().unwrap();
                root.consolidate().unwrap();
            }
            store
        };
        is_done_by_the_same_call(
            &format!("{format:?} {from}, listed: {listed}"),
            made,
            |store| store.rename_node(from, "new/name"),
            |store, text| {
                let paths: &[&str] = if from == "a" { &["new/name"] } else { &["new/name/u", "new/name/h/v"] };
                for path in paths {
                    assert_eq!(read_all(&Array::open(store, path).unwrap_or_else(|e| panic!("{text}: {e}"))), [1, 2, 3, 4], "{text}");
                }
                assert_eq!(store.node_kind(from).unwrap(), NodeKind::None, "{text}");
                assert_eq!(store.key_list(&format!("{from}/")).unwrap(), [""; 0], "{text}");
                if listed {
                    let listed = Group::open(store, "").unwrap().consolidated_differences().unwrap();
                    assert_eq!(listed, Some(vec![]), "{text}");
                }
            },
        );
    }
}

/// The renaming ends behind each of its changes, and what it has not taken away yet, or what it has copied, is written to before it is repeated.
#[test]
fn nothing_that_was_stored_since_a_renaming_was_interrupted_is_lost() {
    for (format, written) in [Format::V2, Format::V3].into_iter().flat_map(|format| ["a", "b"].map(|written| (format, written))) {
        let mut refused = 0;
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            write_all(&Array::create(&store, "a", &spec_as(format, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
            let done = ending(&shared, after).rename_node("a", "b");
            let text = format!("{format:?} {written} behind {after}: {done:?}");
            let is_written = Array::open(&store, written).map(|array| write_all(&array, &mut [3, 4])).is_ok();
            let again = store.rename_node("a", "b");
            if let (Err(e), NodeKind::Array) = (&again, store.node_kind("a").unwrap()) {
                assert_eq!(e.kind(), ErrorKind::Exists, "{text}");
                assert!(is_written, "{text}");
                assert_eq!(read_all(&Array::open(&store, written).unwrap()), [3, 4], "{text}");
                refused += 1;
                store.erase_node("a").unwrap();
            } else {
                assert_eq!(read_all(&Array::open(&store, "b").unwrap()), if is_written { [3, 4] } else { [1, 2] }, "{text}");
            }
            if done.is_ok() {
                break;
            }
        }
        assert!(refused > 0, "{format:?} {written}");
    }
}

#[test]
fn a_copy_of_which_a_request_failed_is_completed_by_the_same_call() {
    let whole: CopiesTo = |_, to, _| {
        to.build_group("d", (None, Create::New), ("a source", ""), &mut |group| {
            let array = Array::create(group.store(), &path::join(group.path(), "a"), &spec(&[2], &[1]), Create::New)?;
            // SAFETY: the memory lives as long as the call.
            unsafe { array.write(&Selection::new(&[2], &[0], &[2], None)?, &view(&mut [1, 2], &[2])) }?;
            group.consolidate()
        })
    };
    for (text, copy) in copies().into_iter().chain([("whole", whole)]) {
        is_done_by_the_same_call(
            text,
            || with_consolidated(&(Arc::new(MemoryStore::new()) as SharedStore)),
            |store| copy(store, store, &mut |_, _| Ok(())),
            |store, text| {
                assert_eq!(read_all(&Array::open(store, "d/a").unwrap_or_else(|e| panic!("{text}: {e}"))), [1, 2], "{text}");
                assert_eq!(store.key_list("d/").unwrap(), ["d/a/c/0", "d/a/c/1", "d/a/zarr.json", "d/zarr.json"], "{text}");
            },
        );
    }
}

#[test]
fn what_a_copy_that_is_whole_has_left_goes_when_the_folder_is_verified() {
    let folder = Folder::new("left-whole");
    let store = &folder.1;
    Group::create(store, "g", None, Create::New).unwrap();
    let verify = |repair: bool| -> Vec<_> {
        let faults = faults(store, VerifyOptions { quick: true, repair });
        faults.into_iter().map(|fault| (fault.key, fault.repaired)).collect()
    };
    for (said, is_whole) in [(r#"{"from": "a"}"#, false), (r#"{"from": "a", "whole": ""}"#, true)] {
        store.key_put("g/ozarr-copy.json", said.as_bytes()).unwrap();
        store.key_put("g/zarr.json.begun", b"{}").unwrap();
        let lock = document::lock_place(store, "g").unwrap();
        assert_eq!(verify(true), [("g/ozarr-copy.json".to_string(), false)], "it may be made now");
        drop(lock);
        assert_eq!(verify(true), [("g/ozarr-copy.json".to_string(), is_whole)]);
        assert_eq!(store.key_list("g/").unwrap().contains(&"g/zarr.json.begun".to_string()), !is_whole);
    }
    assert_eq!(verify(false), []);
}

/// Its file is in the old root, which network file systems keep as long as the file is open: it goes first, and what it leaves goes with the folder.
#[test]
fn the_lock_of_a_root_that_is_replaced_is_given_back_before_the_old_one_is_removed() {
    let folder = Folder::new("root-lock");
    Group::create(&folder.1, "", None, Create::New).unwrap();
    let overwritten = |after| {
        let refused = fault::Fault { after, ..fault::fail(Call::Unlink, libc::EIO) };
        let (made, unused) = fault::with(&[refused], || Group::create(&folder.1, "", None, Create::Overwrite));
        (made.is_ok(), unused)
    };
    assert_eq!((overwritten(0), overwritten(1)), ((true, 0), (false, 0)));
}

/// The erasing of an array ends behind each of its changes: in a folder that is the array's own store, and on a server. What it left is overwritten by a
/// copy, or goes when it is erased again.
#[test]
fn what_an_interrupted_erasing_left_is_overwritten_by_a_copy_or_erased() {
    for (format, in_folder) in [(Format::V2, true), (Format::V3, true), (Format::V2, false), (Format::V3, false)] {
        let mut left = 0;
        for after in 0.. {
            let folder = Folder::new("erasing");
            let shared = if in_folder { folder.1.shared().clone() } else { Arc::new(MemoryStore::new()) };
            let store = on(shared.clone());
            let wanted = spec_as(format, &[6], &[2]);
            let text = format!("{format:?} in a folder: {in_folder}, behind {after}");
            let erase_in_part = || {
                write_all(&Array::create(&store, "", &wanted, Create::Overwrite).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
                let ending = ending(&shared, if in_folder { usize::MAX } else { after });
                let erase = || if in_folder { store.erase_node("") } else { ending.erase_node("") };
                if in_folder { fault::failing(Call::Unlink, after, libc::EIO, erase) } else { erase() }
            };
            let done = erase_in_part();
            left += usize::from(store.node_kind("").unwrap() == NodeKind::None && !store.key_list("").unwrap().is_empty());
            let other = Store::memory(&Context::with_threads(1));
            write_all(&Array::create(&other, "", &spec(&[2], &[1]), Create::New).unwrap(), &mut [7, 8]);
            other.copy_node("", (&store, ""), Create::Overwrite, false, &mut |_, _| Ok(())).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(read_all(&Array::open(&store, "").unwrap()), [7, 8], "{text}");
            assert_eq!(store.key_list("").unwrap().len(), 3, "{text}");
            if erase_in_part().is_err() {
                // Where the file system lists the library's own files last, those may be all that is left.
                let is_gone = store.key_list("").unwrap().is_empty();
                let again = store.erase_node("");
                assert_eq!(again.as_ref().err().map(Error::kind), is_gone.then_some(ErrorKind::NotFound), "{text}: {again:?}");
            }
            assert_eq!(store.key_list("").unwrap(), [""; 0], "{text}");
            if done.is_ok() {
                break;
            }
        }
        assert!(left > 1, "{format:?} {in_folder}: {left}");
    }
}

/// What is stored beyond the shape of an array whose shortening ended in the middle does not show in a copy of it that grows, whichever call made it.
#[test]
fn a_copy_of_an_array_whose_shortening_was_interrupted_grows_with_the_fill_value() {
    type Copies = fn(&Store, &Store) -> Result<()>;
    let copies: [(&str, Copies); 3] = [
        ("copy", |from, to| from.copy_node("a", (to, "a"), Create::New, false, &mut |_, _| Ok(()))),
        ("rechunk", |from, to| {
            from.rechunk_node("a", (to, "a"), RechunkOptions::default(), &mut |_, _| Ok(()), &mut |_, _| Ok(())).map(drop)
        }),
        ("migrate", |from, to| from.migrate("a", Some((to, "a")), true, &mut |_, _| Ok(())).map(drop)),
    ];
    for ((what, copy), format) in copies.into_iter().flat_map(|copy| [Format::V2, Format::V3].map(|format| (copy, format))) {
        let mut cut = 0;
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            let wanted = spec_as(format, &[6], &[2]);
            write_all(&Array::create(&store, "a", &wanted, Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
            let done = Array::open(&ending(&shared, after), "a").unwrap().resize(&[3], false);
            let to = Store::memory(&Context::with_threads(1));
            copy(&store, &to).unwrap();
            let array = Array::open(&to, "a").unwrap();
            if array.shape()[0] == 3 {
                cut += 1;
                array.resize(&[6], false).unwrap();
                assert_eq!(read_all(&array), [1, 2, 3, 0, 0, 0], "{what} {format:?} behind {after}");
            }
            if done.is_ok() {
                break;
            }
        }
        assert!(cut > 2, "{what} {format:?}");
    }
}

/// On a server the keys of a checkpoint go one by one, and the documents below it behind the chunks.
#[test]
fn a_copy_or_a_reading_of_a_node_in_a_checkpoint_is_whole_or_told_however_far_another_process_has_pruned() {
    for (format, same_keys) in [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, true), (format, false)]) {
        let mut kinds = std::collections::BTreeSet::new();
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            Group::create(&store, "", Some(format), Create::New).unwrap();
            for name in ["1", "2"] {
                let group = Checkpoints::new(&store, "").unwrap().begin(name).unwrap();
                let wanted = spec_as(format, &[6], &[2]);
                write_all(&Array::create(group.store(), "g/u", &wanted, Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
                group.commit().unwrap();
            }
            let group = Group::open(&store, "1").unwrap();
            let (to_check, array) = (group.store_to_check().unwrap(), group.open_array("g/u").unwrap());
            let mut pruned = None;
            let mut progress = |_, _| {
                pruned.get_or_insert_with(|| Checkpoints::new(&ending(&shared, after), "").unwrap().prune(1));
                Ok(())
            };
            let to = Store::memory(&Context::with_threads(1));
            let options = RechunkOptions { memory: 1, ..RechunkOptions::default() };
            let mut change = |_: &str, spec: &mut Spec| spec.set_chunks(&[3]);
            let done = match same_keys {
                true => store.copy_node("1/g", (&to, "g"), Create::New, false, &mut progress),
                false => store.rechunk_node("1/g", (&to, "g"), options, &mut change, &mut progress).map(drop),
            };
            match done {
                Ok(()) => {
                    assert_eq!(read_all(&Array::open(&to, "g/u").unwrap()), [1, 2, 3, 4, 5, 6], "{format:?} {same_keys} behind {after}")
                }
                Err(ref e) => assert_eq!(e.kind(), ErrorKind::Again, "{format:?} {same_keys} behind {after}: {e}"),
            }
            kinds.insert(done.is_ok());
            // Nor does a program that has it open take what is gone for the fill value.
            let found = read_all(&array);
            assert!(found == [1, 2, 3, 4, 5, 6] || to_check.check_kept().is_err(), "{format:?} behind {after}: {found:?}");
            if pruned.unwrap().is_ok() {
                break;
            }
        }
        assert_eq!(kinds.len(), 2, "{format:?} {same_keys}");
    }
}

/// A copy or a migration ends behind each of its changes, and somebody makes something else at its place.
#[test]
fn a_node_that_another_process_makes_before_a_copy_marks_its_place_stays_whole() {
    for after in 0.. {
        let from = Store::memory(&Context::with_threads(1));
        write_all(&Array::create(&from, "a", &spec(&[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
        let shared: SharedStore = Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false));
        Group::create(&on(shared.clone()), "", Some(Format::V3), Create::New).unwrap();
        let (other, made) = (on(shared.clone()), Arc::new(AtomicUsize::new(0)));
        let (told_made, is_marked) = (made.clone(), || shared_has(&shared, "d/ozarr-copy.json"));
        assert!(!is_marked());
        let looked = shared.clone();
        let copy_to = before_call(shared.clone(), after, move || {
            if !shared_has(&looked, "d/ozarr-copy.json") && Array::create(&other, "d", &spec(&[2], &[1]), Create::New).is_ok() {
                write_all(&Array::open(&other, "d").unwrap(), &mut [9, 9]);
                told_made.store(1, Ordering::Relaxed);
            }
        });
        let copied = from.copy_node("a", (&on(copy_to), "d"), Create::New, false, &mut |_, _| Ok(()));
        if made.load(Ordering::Relaxed) == 0 {
            assert!(copied.is_ok() && after > 3, "before call {after}: {copied:?}");
            break;
        }
        let found = read_all(&Array::open(&on(shared.clone()), "d").unwrap());
        assert!(copied.is_err_and(|e| e.kind() == ErrorKind::Exists) && found == [9, 9], "before call {after}: {found:?}");
        assert!(!is_marked(), "before call {after}");
    }
}

/// A put that was under way when its process was killed may come when the same call has long ended.
#[test]
fn a_marker_that_comes_late_to_a_node_that_is_whole_is_told_of_and_goes_with_the_same_call() {
    let shared: SharedStore = Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false));
    let (store, key) = (with_consolidated(&shared), "d/ozarr-copy.json");
    let from = shared.describe();
    let late = |what: &str| store.key_put(key, format!(r#"{{"from": "{from} g{what}", "by": "0123456789abcdef"}}"#).as_bytes()).unwrap();
    let is_there = || store.key_get(key).unwrap().is_some();
    Group::create(&store, "", None, Create::OpenIfSame).unwrap();
    for (text, copy) in copies() {
        copy(&store, &store, &mut |_, _| Ok(())).unwrap();
        late("");
        let found = faults(&store, VerifyOptions { quick: true, repair: true });
        assert!(found.iter().any(|fault| fault.key == key && fault.message.contains("erase this key")), "{text}: {found:?}");
        for (value, stays) in [(&mut [3, 2], text != "anew"), (&mut [1, 2], false)] {
            write_all(&Array::open(&store, "d/a").unwrap(), value);
            late("");
            assert_eq!(copy(&store, &store, &mut |_, _| Ok(())).unwrap_err().kind(), ErrorKind::Exists, "{text}");
            assert_eq!(is_there(), stays, "{text}");
        }
        store.erase_node("d").unwrap();
    }
    store.rename_node("g", "d").unwrap();
    late(", renamed");
    assert_eq!(store.rename_node("g", "d").unwrap_err().kind(), ErrorKind::NotFound);
    assert!(!is_there());
}

/// A copy that is refused takes nothing from the call that overwrites the node meanwhile.
#[test]
fn a_node_that_is_overwritten_while_the_same_copy_is_refused_is_whole_at_the_end() {
    let process = |shared: SharedStore| on(Arc::new(Overtaken::alone(shared, false)));
    let copy = |store: &Store, how| store.copy_node("g/a", (store, "d"), how, false, &mut |_, _| Ok(()));
    let mut refused = 0;
    for first in 0.. {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let store = process(shared.clone());
        write_all(&Array::create(&store, "g/a", &spec(&[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
        copy(&store, Create::New).unwrap();
        let (other, told) = (shared.clone(), Arc::new(Mutex::new(None)));
        let said = told.clone();
        let event = move || *said.lock().unwrap() = Some(copy(&process(other), Create::New));
        let copied = copy(&process(before_call(shared.clone(), first, event)), Create::Overwrite);
        let Some(other) = told.lock().unwrap().take() else { break };
        if other.is_err_and(|e| e.kind() == ErrorKind::Exists) {
            copied.unwrap_or_else(|e| panic!("before call {first}: {e}"));
            assert_eq!(read_all(&Array::open(&on(shared), "d").unwrap()), [1, 2], "before call {first}");
            refused += 1;
        }
    }
    assert!(refused > 5);
}

/// Who erases then what is at the new path loses the node.
#[test]
fn who_renames_what_another_process_has_renamed_meanwhile_is_not_told_to_erase_anything() {
    let process = |shared: SharedStore| on(Arc::new(Overtaken::alone(shared, false)));
    let (mut kinds, mut first) = (Vec::new(), 0);
    loop {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        write_all(&Array::create(&process(shared.clone()), "a/u", &spec(&[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
        let (other, is_met) = (shared.clone(), Arc::new(AtomicBool::new(false)));
        let met = is_met.clone();
        let renamed = process(before_call(shared.clone(), first, move || {
            met.store(true, Ordering::Relaxed);
            let _ = process(other).rename_node("a", "b");
        }))
        .rename_node("a", "b");
        let store = process(shared);
        if let (Err(e), NodeKind::None) = (&renamed, store.node_kind("a").unwrap()) {
            assert!(e.kind() != ErrorKind::Exists && !e.message().contains("erase it"), "before call {first}: {e}");
            kinds.push(e.kind());
        }
        if !is_met.load(Ordering::Relaxed) {
            break;
        }
        first += 1;
    }
    assert!(first > 50 && kinds.contains(&ErrorKind::Again), "{first}: {kinds:?}");
}

/// Before each request of the first one the second one begins, which ends behind one of its changes, or before one of whose requests a third one begins.
#[test]
fn a_node_that_several_processes_rename_at_once_is_whole_at_its_old_place_or_its_new_one() {
    let process = |shared: SharedStore| on(Arc::new(Overtaken::alone(shared, false)));
    let rename = move |shared: SharedStore| drop(process(shared).rename_node("a", "b"));
    for (format, ends) in [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, false), (format, true)]) {
        let mut most = 1;
        for first in 0.. {
            if first >= most {
                break;
            }
            for second in (first % apart(7)..most).step_by(apart(7)) {
                let shared: SharedStore = Arc::new(MemoryStore::new());
                let array = Array::create(&process(shared.clone()), "a/u", &spec_as(format, &[2], &[1]), Create::New).unwrap();
                write_all(&array, &mut [1, 2]);
                let (others, is_met) = (shared.clone(), Arc::new(AtomicBool::new(false)));
                let met = is_met.clone();
                let begin_others = move || {
                    met.store(true, Ordering::Relaxed);
                    let third = others.clone();
                    if ends {
                        rename(ended(others, Arc::new(second.into())));
                        rename(third);
                    } else {
                        rename(before_call(others, second, move || rename(third)));
                    }
                };
                rename(before_call(shared.clone(), first, begin_others));
                if is_met.load(Ordering::Relaxed) {
                    most = most.max(first + 2);
                }
                for again in [false, true] {
                    let found = ["a/u", "b/u"].map(|path| Array::open(&process(shared.clone()), path).ok().map(|array| read_all(&array)));
                    let is_whole = found.iter().any(Option::is_some) && found.iter().flatten().all(|found| *found == [1, 2]);
                    assert!(is_whole, "{format:?}, {first} {second}, ends: {ends}, again: {again}: {found:?}");
                    rename(shared.clone());
                }
            }
        }
        assert!(most > 50, "{format:?}: {most}");
    }
}

fn shared_has(shared: &SharedStore, key: &str) -> bool {
    crate::store::get(&**shared, key, 1 << 20).unwrap().is_some()
}

#[test]
fn what_is_made_where_a_copy_was_interrupted_is_not_taken_for_it() {
    let migrate: CopiesTo = |from, to, progress| from.migrate("g", Some((to, "d")), true, progress).map(drop);
    let array: CopiesTo = |from, to, progress| from.migrate("g/a", Some((to, "d")), true, progress).map(drop);
    for (text, copy) in copies().into_iter().chain([("migrated", migrate), ("an array", array)]) {
        for (after, is_array) in (0..).flat_map(|after| [(after, true), (after, false)]) {
            let from = Store::memory(&Context::with_threads(1));
            Group::create(&from, "g", Some(Format::V2), Create::New).unwrap();
            write_all(&Array::create(&from, "g/a", &spec_as(Format::V2, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
            let done = copy(&from, &ending(&shared, after), &mut |_, _| Ok(()));
            let case = format!("{text} behind {after}, {is_array}");
            if store.node_kind("d").unwrap() == NodeKind::None {
                match is_array {
                    true => write_all(&Array::create(&store, "d", &spec(&[2], &[1]), Create::New).unwrap(), &mut [9, 9]),
                    false => Group::create(&store, "d", Some(Format::V3), Create::New).map(drop).unwrap(),
                }
                let again = copy(&from, &store, &mut |_, _| Ok(()));
                let is_same = !is_array && text != "an array" && store.node_kind("d/a").unwrap() == NodeKind::Array;
                assert!(is_same || again.is_err_and(|e| e.kind() == ErrorKind::Exists), "{case}");
            }
            if is_array && Array::open(&store, "d").is_ok_and(|array| read_all(&array) == [9, 9]) {
                assert_eq!(store.key_list("d/").unwrap(), ["d/c/0", "d/c/1", "d/zarr.json"], "{case}");
            }
            if done.is_ok() && !is_array {
                break;
            }
        }
    }
}

/// The second one ends behind one of its changes, or with all of them, before a request of the first one.
#[test]
fn a_migration_that_two_processes_make_at_once_is_whole_where_one_says_so() {
    let from = Store::memory(&Context::with_threads(1));
    Group::create(&from, "", Some(Format::V2), Create::New).unwrap();
    for path in ["a", "g/b"] {
        write_all(&Array::create(&from, path, &spec_as(Format::V2, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
    }
    let process = |shared: &SharedStore| on(Arc::new(Overtaken::alone(shared.clone(), false)));
    let migrate = |from: &Store, to: &Store| from.migrate("", Some((to, "d")), true, &mut |_, _| Ok(())).map(drop);
    let is_whole = move |shared: &SharedStore| {
        let to = process(shared);
        let values = |path| Array::open(&to, path).map(|array| read_all(&array)).ok();
        Group::open(&to, "d").is_ok() && [values("d/a"), values("d/g/b")] == [Some(vec![1, 2]), Some(vec![1, 2])]
    };
    let (mut first_made, mut most) = (0, 1);
    for first in 0.. {
        if first >= most {
            break;
        }
        for second in (first % apart(7)..most).step_by(apart(7)).chain([usize::MAX]) {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let (others, other_from, other) = (shared.clone(), from.clone(), Arc::new(Mutex::new(None)));
            let told_other = other.clone();
            let begin = move || {
                let ended = ended(others.clone(), Arc::new(second.into()));
                let made = migrate(&other_from, &on(Arc::new(Overtaken::alone(ended, false)))).is_ok();
                assert!(!made || is_whole(&others), "{first} {second}: the second one says that it is whole");
                *told_other.lock().unwrap() = Some(made);
            };
            let done = migrate(&from, &on(before_call(Arc::new(Overtaken::alone(shared.clone(), false)), first, begin)));
            let other = other.lock().unwrap().take();
            if other.is_some() {
                most = most.max(first + 2);
            }
            first_made += usize::from(done.is_ok() && other.is_some());
            let made = done.is_ok() || other == Some(true);
            assert!(!made || is_whole(&shared), "{first} {second}: {done:?} {other:?} {:?}", shared.keys("").unwrap());
            let again = migrate(&from, &process(&shared));
            assert!(again.is_err() && !made || is_whole(&shared), "{first} {second}, again: {done:?} {other:?} {again:?}");
        }
    }
    assert!(first_made > 5 && most > 30, "{first_made} of {most}");
}

/// The calls end behind each of their changes.
#[test]
fn what_interrupted_calls_have_left_is_temporary_to_who_verifies_the_store_and_what_is_the_users_is_not() {
    type Call = fn(&Store) -> Result<()>;
    let calls: [(&str, Call); 6] = [
        ("copy", |store| store.copy_node("g", (store, "n/d"), Create::New, false, &mut |_, _| Ok(()))),
        ("copy anew", |store| {
            let options = RechunkOptions::default();
            store.rechunk_node("g", (store, "d"), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).map(drop)
        }),
        ("migrate", |store| store.migrate("old", Some((store, "d")), true, &mut |_, _| Ok(())).map(drop)),
        ("migrate in place", |store| store.migrate("old", None, true, &mut |_, _| Ok(())).map(drop)),
        ("erase", |store| store.erase_node("g")),
        ("make shorter", |store| Array::open(store, "g/a")?.resize(&[1], false)),
    ];
    for (text, call) in calls {
        let mut temporary = 0;
        for after in 0.. {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = on(shared.clone());
            Group::create(&store, "", None, Create::New).unwrap();
            drop(with_consolidated(&shared));
            Group::create(&store, "old", Some(Format::V2), Create::New).unwrap();
            write_all(&Array::create(&store, "old/a", &spec_as(Format::V2, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
            store.key_put("mine.csv", b"1,2").unwrap();
            let done = call(&ending(&shared, after));
            let mut foreign = Vec::new();
            for fault in faults(&on(shared), VerifyOptions { quick: true, repair: false }) {
                match fault.kind {
                    FaultKind::Temporary => temporary += 1,
                    FaultKind::Stale => {}
                    _ => foreign.push(fault.key),
                }
            }
            assert_eq!(foreign, ["mine.csv"], "{text} behind {after}");
            if done.is_ok() {
                break;
            }
        }
        assert!(temporary > 0, "{text}");
    }
}

/// The migration ends behind each of its changes; what changes then is one thing alone.
#[test]
fn a_migration_that_was_interrupted_is_completed_only_where_its_source_is_as_it_was() {
    let chunk = |root: &TestFolder, seconds| {
        std::fs::write(root.join("g/a/0"), i32::to_le_bytes(seconds)).unwrap();
        let file = std::fs::File::options().write(true).open(root.join("g/a/0")).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds as u64)).unwrap();
    };
    type Change<'a> = &'a dyn Fn(&TestFolder, &Store);
    let changes: [(&str, Change<'_>); 5] = [
        ("nothing", &|_, _| ()),
        ("a chunk", &|root, _| chunk(root, 2)),
        ("a chunk that is gone", &|_, from| assert!(from.shared().erase("g/a/1").unwrap())),
        ("an attribute", &|_, from| Array::open(from, "g/a").unwrap().attributes().set_json("v", "2").unwrap()),
        ("a node", &|_, from| drop(Group::create(from, "g/b", Some(Format::V2), Create::New).unwrap())),
    ];
    for (what, change) in changes {
        let mut kinds = std::collections::BTreeSet::new();
        for after in 0.. {
            let Folder(root, from) = Folder::new("state");
            Group::create(&from, "g", Some(Format::V2), Create::New).unwrap();
            let array = Array::create(&from, "g/a", &spec_as(Format::V2, &[2], &[1]), Create::New).unwrap();
            write_all(&array, &mut [1, 7]);
            chunk(&root, 1);
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let migrate = |to: &Store| from.migrate("g", Some((to, "d")), true, &mut |_, _| Ok(())).map(drop);
            let done = migrate(&ending(&shared, after));
            change(&root, &anew(&from));
            let to = on(shared.clone());
            let is_whole = to.node_kind("d").unwrap() == NodeKind::Group;
            let again = migrate(&to);
            if done.is_ok() {
                break;
            }
            let kind = again.as_ref().err().map(Error::kind);
            let wanted = (is_whole && what != "nothing").then_some(ErrorKind::Exists);
            assert!(
                kind == wanted || is_whole && what == "nothing" && !shared_has(&shared, "d/ozarr-migration.json"),
                "{what} {after}: {again:?}"
            );
            kinds.insert(is_whole);
        }
        assert_eq!(kinds.len(), 2, "{what}");
    }
}

/// Each key that is erased waits for one of another node: a document for a document, a chunk for a chunk.
#[test]
fn nodes_below_a_group_are_erased_at_the_same_time_in_stores_with_latency() {
    let near = memory();
    for path in ["g/a", "g/b"] {
        write_all(&Array::create(&near, path, &spec(&[2], &[2]), Create::New).unwrap(), &mut [1, 2]);
    }
    let (erased, is_alone) = (Arc::new((Mutex::new(Vec::<String>::new()), Condvar::new())), Arc::new(AtomicBool::new(false)));
    let (all, alone) = (erased.clone(), is_alone.clone());
    let of = |key: &str| (key.ends_with("zarr.json"), key.get(.."g/a".len()).map(str::to_string));
    let inner = told(near.shared().clone(), move |next| {
        let Next::Change(key @ ("g/a/zarr.json" | "g/b/zarr.json" | "g/a/c/0" | "g/b/c/0")) = next else { return Ok(()) };
        let (keys, came) = &*all;
        let mut keys = keys.lock().unwrap();
        keys.push(key.to_string());
        came.notify_all();
        let another = |other: &String| of(other).0 == of(key).0 && of(other).1 != of(key).1;
        let waited = came.wait_timeout_while(keys, Duration::from_secs(20), |keys| !keys.iter().any(another)).unwrap().1;
        alone.fetch_or(waited.timed_out(), Ordering::Relaxed);
        Ok(())
    });
    far_from(&on(inner), Duration::ZERO).erase_node("g").unwrap();
    let keys = erased.0.lock().unwrap().clone();
    assert!(!is_alone.load(Ordering::Relaxed), "{keys:?}");
    assert_eq!((keys.len(), keys.is_sorted_by_key(|key| !key.ends_with("zarr.json"))), (4, true), "{keys:?}");
    assert_eq!(near.key_list("").unwrap(), ["zarr.json"]);
}

/// An array without its attributes would hold other values, in other units.
#[test]
fn attributes_of_version_2_are_erased_behind_all_that_make_nodes() {
    let near = memory();
    for path in ["g/a", "g/b"] {
        let array = Array::create(&near, path, &spec_as(Format::V2, &[2], &[2]), Create::New).unwrap();
        array.attributes().set_json("scale_factor", "2").unwrap();
    }
    let (far, meeting) = Meeting::at(&near, |key| match key.split_once("/.z")? {
        (path, "array") if !key.starts_with("get ") => Some(("arrays", path)),
        _ => None,
    });
    let mut asked = meeting.during(|| far.erase_node("g").unwrap());
    asked.retain(|key| !key.starts_with("get ") && (key.starts_with("g/a/") || key.starts_with("g/b/")));
    assert_eq!((asked.len(), asked.is_sorted_by_key(|key| key.ends_with(".zattrs"))), (4, true), "{asked:?}");
}
