//! Ends of copies and migrations: what the same call completes, and what an error says.

use super::tests::{kind, read_all, spec_as, write_all};
use super::tests_growth::Folder;
use super::tests_store::{Next, anew, ending, on, told};
use super::*;
use crate::error::{ErrorKind, err};
use crate::store::memory::MemoryStore;
use crate::store::{SharedStore, StorageExt};
use std::sync::Arc;

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
