//! Ends of copies and migrations: what the same call completes, and how soon an error, or progress that asks to stop, ends a copy.

use super::tests::{kind, memory, read_all, spec, spec_as, write_all};
use super::tests_growth::Folder;
use super::tests_store::{Next, anew, ending, on, told};
use super::*;
use crate::dtype::{DataType, Overflow};
use crate::error::{ErrorKind, Result, bail, err};
use crate::store::latency::LatencyStore;
use crate::store::memory::MemoryStore;
use crate::store::{SharedStore, StorageExt};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store with a group that has consolidated metadata, another one of version 2, and a folder if it is one.
fn with_old_group(in_folder: bool) -> (Store, Option<Folder>) {
    let folder = in_folder.then(|| Folder::new("ends"));
    let store = on(folder.as_ref().map_or_else(|| Arc::new(MemoryStore::new()) as SharedStore, |folder| folder.1.shared().clone()));
    for path in ["", "host"] {
        Group::create(&store, path, Some(Format::V3), Create::New).unwrap();
    }
    for path in ["host/old", "old"] {
        Group::create(&store, path, Some(Format::V2), Create::New).unwrap();
        write_all(&Array::create(&store, &format!("{path}/a"), &spec_as(Format::V2, &[2], &[1]), Create::New).unwrap(), &mut [1, 2]);
    }
    Group::open(&store, "host").unwrap().consolidate().unwrap();
    (store, folder)
}

fn differences(store: &Store) -> Option<Vec<String>> {
    Group::open(store, "host").unwrap().consolidated_differences().unwrap().map(|all| all.iter().map(|one| format!("{one:?}")).collect())
}

/// The migration ends behind each of its changes.
#[test]
fn the_same_call_does_what_a_migration_that_was_killed_at_its_end_had_still_to_do() {
    for (in_folder, in_place) in [(false, false), (false, true), (true, false), (true, true)] {
        let migrate = |store: &Store| match in_place {
            true => store.migrate("host/old", None, true, &mut |_, _| Ok(())).map(drop),
            false => store.migrate("old", Some((store, "host/new")), true, &mut |_, _| Ok(())).map(drop),
        };
        let (place, mut whole) = (if in_place { "host/old" } else { "host/new" }, 0);
        for after in 0.. {
            let (store, _folder) = with_old_group(in_folder);
            let done = migrate(&ending(store.shared().clone(), Arc::new(after.into())));
            whole += usize::from(done.is_err() && anew(&store).node_kind(place).unwrap() == NodeKind::Group);
            let text = format!("in a folder: {in_folder}, in place: {in_place}, behind {after}: {done:?}");
            let again = migrate(&anew(&store)).map_err(|e| e.kind());
            assert_eq!(again, if done.is_ok() && !in_place { Err(ErrorKind::Exists) } else { Ok(()) }, "{text}");
            let store = anew(&store);
            assert_eq!(store.key_get(&format!("{place}/ozarr-migration.json")).unwrap(), None, "{text}");
            assert_eq!(differences(&store), Some(vec![]), "{text}");
            assert_eq!(read_all(&Array::open(&store, &format!("{place}/a")).unwrap()), [1, 2], "{text}");
            if done.is_ok() {
                break;
            }
        }
        assert!(whole > 1, "in a folder: {in_folder}, in place: {in_place}: {whole}");
    }
}

#[test]
fn a_migration_says_of_an_error_at_its_end_that_its_nodes_are_there() {
    let (mut there, mut before) = (0, 0);
    for after in 0.. {
        let (store, _) = with_old_group(false);
        let ending = ending(store.shared().clone(), Arc::new(after.into()));
        let Err(e) = store.migrate("old", Some((&ending, "host/new")), true, &mut |_, _| Ok(())) else { break };
        let is_there = store.node_kind("host/new").unwrap() != NodeKind::None;
        assert_eq!(e.to_string().contains("the same call completes it"), is_there, "behind {after}: {e}");
        *(if is_there { &mut there } else { &mut before }) += 1;
    }
    assert!(there > 1 && before > 1, "{there} {before}");
}

/// Earlier versions of the library erased their marker before they told the groups above.
#[test]
fn a_migration_to_where_one_ended_that_was_not_told_of_tells_the_groups_above() {
    for in_folder in [false, true] {
        let (store, _folder) = with_old_group(in_folder);
        let document = store.key_get("host/zarr.json").unwrap().unwrap();
        let migrate = |store: &Store| store.migrate("old", Some((store, "host/new")), true, &mut |_, _| Ok(()));
        migrate(&store).unwrap();
        store.key_put("host/zarr.json", &document).unwrap();
        assert_ne!(differences(&anew(&store)), Some(vec![]));
        assert_eq!(kind(migrate(&anew(&store))), ErrorKind::Exists);
        assert_eq!(differences(&anew(&store)), Some(vec![]));
    }
}

/// Erases the marker at `place` once the node is there, and fails as where the answer is lost.
fn losing_the_last_answer(shared: SharedStore, marker: &'static str, document: &'static str) -> Store {
    let inner = shared.clone();
    on(told(shared, move |next| match next {
        Next::Change(key) if key == marker && inner.open(document)?.is_some() => {
            inner.erase(key)?;
            Err(err!(Io, "the answer is lost"))
        }
        _ => Ok(()),
    }))
}

#[test]
fn a_call_of_which_the_last_answer_is_lost_has_done_all() {
    let (from, _) = with_old_group(false);
    let to = || Arc::new(MemoryStore::new()) as SharedStore;
    let at = |marker| losing_the_last_answer(to(), marker, "d/zarr.json");
    from.migrate("old", Some((&at("d/ozarr-migration.json"), "d")), true, &mut |_, _| Ok(())).unwrap();
    let options = RechunkOptions { format: Some(Format::V3), ..RechunkOptions::default() };
    from.rechunk_node("old", (&at("d/ozarr-copy.json"), "d"), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap();
    let lost = losing_the_last_answer(to(), "d/ozarr-copy.json", "d/.zgroup");
    from.copy_node("old", (&lost, "d"), Create::New, false, &mut |_, _| Ok(())).unwrap();
}

const ARRAYS: u64 = 16;
const CHUNKS: u64 = 128;

/// Arrays in a store with latency, of which the first element is larger than the others.
fn many() -> (Store, Arc<LatencyStore>) {
    let near = memory();
    Group::create(&near, "g", Some(Format::V3), Create::New).unwrap();
    let mut values: Vec<i32> = vec![1; CHUNKS as usize];
    values[0] = 1 << 20;
    for i in 0..ARRAYS {
        write_all(&Array::create(&near, &format!("g/{i:02}"), &spec(&[CHUNKS], &[1]), Create::New).unwrap(), &mut values);
    }
    let slow = Arc::new(LatencyStore::new(near.shared().clone(), Duration::from_millis(2)));
    (on(slow.clone()), slow)
}

/// Copies the arrays into other chunks; gives the chunks that were written to, with what the copy gave.
fn copied(from: &Store, data_type: DataType, progress: &mut transfer::OnProgress<'_>) -> (usize, Result<RechunkReport>) {
    let to: SharedStore = Arc::new(MemoryStore::new());
    let mut change = |_: &str, spec: &mut Spec| spec.set_data_type(data_type).and_then(|()| spec.set_chunks(&[2]));
    let options = RechunkOptions { overflow: Overflow::Error, ..RechunkOptions::default() };
    let done = from.rechunk_node("g", (&on(to.clone()), "d"), options, &mut change, progress);
    (to.keys("d/").unwrap().iter().filter(|key| key.contains("/c/")).count(), done)
}

#[test]
fn arrays_that_are_copied_at_the_same_time_tell_of_their_chunks_and_end_soon() {
    let (from, slow) = many();
    let (all, mut steps) = ((ARRAYS * CHUNKS / 2) as usize, Vec::new());
    let (written, done) = copied(&from, DataType::Int32, &mut |done, total| {
        assert_eq!(total, ARRAYS * CHUNKS / 2 + ARRAYS + 1);
        steps.push((done, slow.stats().requests));
        Ok(())
    });
    assert_eq!((written, done.unwrap().encoded as usize), (all, all));
    assert!(steps.is_sorted_by_key(|(done, _)| *done), "{steps:?}");
    // A quarter is told of before most is read.
    let read = steps.iter().find(|(done, _)| *done * 4 >= all as u64).unwrap().1;
    let last = steps.last().unwrap().1;
    assert!(read < last * 3 / 4, "{read} of {last}: {steps:?}");
    let (written, done) = copied(&from, DataType::Int32, &mut |_, _| bail!(Callback, "enough"));
    assert_eq!(kind(done), ErrorKind::Callback);
    assert!(written <= all / 2, "{written} of {all}");
    let before = slow.stats().requests;
    let (written, done) = copied(&from, DataType::Int16, &mut |_, _| Ok(()));
    let (e, requests) = (done.unwrap_err(), slow.stats().requests - before);
    assert_eq!(e.kind(), ErrorKind::Range, "{e}");
    assert!(written <= all / 2 && requests < last * 4 / 5, "{written} of {all}, {requests} of {last}");
}

#[test]
fn an_array_of_small_chunks_in_a_store_with_latency_is_not_copied_at_once() {
    let near = memory();
    write_all(&Array::create(&near, "g", &spec(&[2000], &[1]), Create::New).unwrap(), &mut [1; 2000]);
    let (from, mut steps) = (on(Arc::new(LatencyStore::new(near.shared().clone(), Duration::from_micros(1)))), Vec::new());
    let (_, done) = copied(&from, DataType::Int32, &mut |done, _| {
        steps.push(done);
        Ok(())
    });
    assert!(done.unwrap().encoded == 1000 && steps.len() > 3, "{steps:?}");
}

/// Of an array more chunks are gone than are looked at again; then another one is not whole.
#[test]
fn a_copy_from_which_chunks_of_many_arrays_go_misses_none_that_comes_back() {
    type Copies = fn(&Store, &Store, &mut transfer::OnProgress<'_>) -> Result<()>;
    let copies: [(&str, Copies); 2] = [
        ("as it is", |from, to, progress| from.copy_node("g", (to, "d"), Create::New, false, progress)),
        ("anew", |from, to, progress| from.rechunk_node("g", (to, "d"), RechunkOptions::default(), &mut |_, _| Ok(()), progress).map(drop)),
    ];
    for (text, copy) in copies {
        let near = memory();
        Group::create(&near, "g", Some(Format::V3), Create::New).unwrap();
        write_all(&Array::create(&near, "g/a", &spec(&[1200], &[1]), Create::New).unwrap(), &mut [1; 1200]);
        // One of these is copied last.
        let small = ["g/0", "g/b"];
        small.iter().for_each(|path| write_all(&Array::create(&near, path, &spec(&[1], &[1]), Create::New).unwrap(), &mut [5]));
        let small = small.map(|path| format!("{path}/c/0"));
        let chunk = near.key_get(&small[0]).unwrap().unwrap();
        let (others, is_gone) = (near.clone(), Mutex::new(false));
        let erasing = told(near.shared().clone(), move |next| {
            let Next::Opened(key) = next else { return Ok(()) };
            if !key.starts_with("g/a/c/") {
                return Ok(());
            }
            // The others wait.
            let mut is_gone = is_gone.lock().unwrap();
            if std::mem::replace(&mut *is_gone, true) {
                return Ok(());
            }
            let keys = others.key_list("g/")?;
            keys.iter().filter(|key| key.contains("/c/")).try_for_each(|key| others.key_erase(key).map(drop))
        });
        let from = on(Arc::new(LatencyStore::new(erasing, Duration::from_micros(1))));
        let done = copy(&from, &memory(), &mut |done, _| {
            if done < 1202 {
                return Ok(());
            }
            small.iter().try_for_each(|key| near.key_put(key, &chunk))
        });
        assert_eq!(done.map_err(|e| e.kind()), Err(ErrorKind::Again), "{text}");
    }
}
