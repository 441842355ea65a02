//! Tests of copies and of consolidated metadata whose place, or the group above it, another process erases or renames meanwhile, at every moment.

use super::tests::{own, put, read_all, spec_as, view, write_all};
use super::tests_commit::{Event, Waiting, counted, on};
use super::tests_growth::Folder;
use super::tests_store::Next;
use super::tests_swap::Overtaken;
use super::*;
use crate::engine::Selection;
use crate::error::{ErrorKind, Result};
use crate::settings::apart;
use crate::store::SharedStore;
use crate::store::local::{LocalStore, SyncMode};
use crate::store::memory::MemoryStore;
use std::sync::Arc;

const VALUES: [i32; 8] = [1, 2, 3, 4, 5, 6, 7, 8];

/// Where two processes meet: a folder, with locks between them, or a store without.
struct Place(Folder, Option<SharedStore>);

impl Place {
    /// With a group `of`, in which there is an array `a`, and a group `g` with an array `b`.
    fn new(format: Format, is_folder: bool) -> Place {
        let memory = (!is_folder).then(|| Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false)) as SharedStore);
        let place = Place(Folder::new(&format!("places-{}", counted())), memory);
        let store = on(place.shared());
        Group::create(&store, "", Some(format), Create::New).unwrap();
        for path in ["of/a", "g/b"] {
            write_all(&Array::create(&store, path, &spec_as(format, &[8], &[2]), Create::New).unwrap(), &mut VALUES.clone());
        }
        ["of", "g", ""].iter().for_each(|group| Group::open(&store, group).and_then(|group| group.consolidate()).unwrap());
        // A node that they do not name, for a repair.
        for name in ["zarr.json", ".zarray"] {
            if let Some(text) = store.key_get(&format!("g/b/{name}")).unwrap() {
                put(&store, &format!("g/c/{name}"), &String::from_utf8(text).unwrap());
            }
        }
        place
    }

    /// What another process has of it.
    fn shared(&self) -> SharedStore {
        self.1.clone().unwrap_or_else(|| Arc::new(Waiting(Arc::new(LocalStore::open(&self.0.0, true, SyncMode::None).unwrap()))))
    }
}

type Deed = fn(&Store) -> Result<()>;

/// What another process does to the group `g`.
const OTHERS: [(&str, Deed); 2] = [("erase", |store| store.erase_node("g")), ("rename", |store| store.rename_node("g", "k"))];

fn nothing(_: u64, _: u64) -> Result<()> {
    Ok(())
}

/// What makes `g/y`, with the arrays in it, from `of`.
const COPIES: [(&str, &str, Deed); 6] = [
    ("an array", "", |store| store.copy_node("of/a", (store, "g/y"), Create::New, false, &mut nothing)),
    ("a group", "/a", |store| store.copy_node("of", (store, "g/y"), Create::New, true, &mut nothing)),
    ("rechunk", "/a", |store| {
        let change = &mut |_: &str, spec: &mut Spec| if spec.shape().is_empty() { Ok(()) } else { spec.set_chunks(&[4]) };
        store.rechunk_node("of", (store, "g/y"), RechunkOptions::default(), change, &mut nothing).map(drop)
    }),
    ("migrate", "/a", |store| store.migrate("of", Some((store, "g/y")), true, &mut nothing).map(drop)),
    ("put", "", |store| {
        let values = |array: &Array| own!(array.write(&Selection::all(&[8]), &view(&mut VALUES.clone(), &[8])));
        let spec = spec_as(Group::open(store, "of")?.format(), &[8], &[2]);
        Array::create_with_values(store, ("g/y", None), &spec, Create::New, Some(&values)).map(drop)
    }),
    ("build", "/a", |store| {
        store.build_group("g/y", (None, Create::New), ("a file", ""), &mut |group| {
            let spec = spec_as(group.format(), &[8], &[2]);
            let array = Array::create(group.store(), "a", &spec, Create::New)?;
            own!(array.write(&Selection::all(&[8]), &view(&mut VALUES.clone(), &[8])))
        })
    }),
];

#[test]
fn a_copy_is_whole_or_fails_whenever_another_process_erases_or_renames_the_group_above_it() {
    for (name, other) in OTHERS {
        for (copy, array, make) in COPIES {
            // What is put by itself has no marker, which tells elsewhere.
            for (format, is_folder) in [(Format::V3, true), (Format::V2, false)].into_iter().take(if copy == "put" { 1 } else { 2 }) {
                let mut came = [0, 0];
                for after in (0..).step_by(if copy == "put" { 1 } else { apart(if is_folder { 11 } else { 5 }) }) {
                    let case = format!("{copy} {name} {format:?} {is_folder} {after}");
                    let place = Place::new(format, is_folder);
                    let others = place.shared();
                    let event = Event::new(place.shared(), after, move || other(&on(others)));
                    let (made, Some(done)) = event.during(|| make(&event.store)) else { break };
                    let store = on(place.shared());
                    came[usize::from(made.is_ok())] += 1;
                    for there in ["g/y", "k/y"] {
                        if store.node_kind(there).unwrap() != NodeKind::None {
                            let array = Array::open(&store, &format!("{there}{array}")).unwrap_or_else(|e| panic!("{case}: {e}"));
                            assert_eq!(read_all(&array), VALUES, "{case}: {made:?} {:?}", store.key_list("").unwrap());
                        }
                    }
                    if let (Err(e), Ok(()), false) = (&made, done, event.was_of_both()) {
                        assert!(matches!(e.kind(), ErrorKind::Again | ErrorKind::NotFound), "{case}: {e}");
                        assert!(e.kind() == ErrorKind::NotFound || e.message().contains("erase what is left there"), "{case}: {e}");
                    }
                }
                assert!(came.iter().all(|&n| n > 0), "{copy} {name} {format:?} {is_folder}: {came:?}");
            }
        }
    }
}

/// What keeps consolidated metadata of `g`.
const UPKEEPS: [(&str, Deed); 4] = [
    ("consolidate", |store| Group::open(store, "g")?.consolidate()),
    ("attribute", |store| Array::open(store, "g/b")?.attributes().set("a", 1.into())),
    ("resize", |store| Array::open(store, "g/b")?.resize(&[10], false)),
    ("repair", |store| store.verify("", VerifyOptions { quick: true, repair: true }, &mut |_| Ok(()), &mut nothing).map(drop)),
];

#[test]
fn consolidated_metadata_make_no_group_again_that_another_process_erases_or_renames() {
    for (name, other) in OTHERS {
        for (upkeep, work) in UPKEEPS {
            for (format, is_folder) in [(Format::V3, true), (Format::V2, true)] {
                for after in (0..).step_by(apart(9)) {
                    let case = format!("{upkeep} {name} {format:?} {is_folder} {after}");
                    let place = Place::new(format, is_folder);
                    let others = place.shared();
                    // What happens between the look whether the group is there and the put is not seen.
                    let counts: fn(&Next<'_>) -> bool = |next| matches!(next, Next::Open | Next::List);
                    let event = Event::before(counts, place.shared(), after, move || other(&on(others)));
                    let (done, Some(gone)) = event.during(|| work(&event.store)) else { break };
                    gone.unwrap_or_else(|e| panic!("{case}: {e}"));
                    let left = on(place.shared()).key_list("g/").unwrap();
                    assert!(left.is_empty() || event.was_of_both(), "{case}: {done:?}, {left:?}");
                }
            }
        }
    }
}

#[test]
fn arrays_stay_that_two_migrations_in_place_convert_at_the_same_time() {
    for below in ["g", "g/b"] {
        for is_folder in [true, false] {
            for after in (0..).step_by(apart(if is_folder { 23 } else { 5 })) {
                let case = format!("{below} {is_folder} {after}");
                let place = Place::new(Format::V2, is_folder);
                let others = place.shared();
                let counts: fn(&Next<'_>) -> bool = |next| !matches!(next, Next::Opened(_));
                let event =
                    Event::before(counts, place.shared(), after, move || on(others).migrate(below, None, false, &mut nothing).map(drop));
                let (mut migrated, Some(_)) = event.during(|| event.store.migrate("", None, false, &mut nothing).map(drop)) else { break };
                let store = on(place.shared());
                for _ in 0..3 {
                    if let Err(e) = &migrated {
                        assert!(matches!(e.kind(), ErrorKind::Again | ErrorKind::NotFound), "{case}: {e}");
                        migrated = store.migrate("", None, false, &mut nothing).map(drop);
                    }
                }
                migrated.unwrap_or_else(|e| panic!("{case}: {e}"));
                let array = Array::open(&store, "g/b").unwrap_or_else(|e| panic!("{case}: {e}"));
                assert_eq!((array.format(), read_all(&array)), (Format::V3, VALUES.to_vec()), "{case}");
            }
        }
    }
}

#[test]
fn a_copy_is_of_one_array_whenever_another_process_replaces_it_by_one_with_the_same_document() {
    let tens = VALUES.map(|value| 10 * value);
    for (copy, array, make) in COPIES.into_iter().filter(|(copy, ..)| !["build", "put"].contains(copy)) {
        for after in (0..).step_by(apart(5)) {
            let place = Place::new(Format::V3, true);
            write_all(&Array::open(&on(place.shared()), "g/b").unwrap(), &mut tens.clone());
            let others = place.shared();
            let counts: fn(&Next<'_>) -> bool = |next| !matches!(next, Next::Opened(_));
            let event = Event::before(counts, place.shared(), after, move || {
                let store = on(others);
                store.copy_node("g/b", (&store, "of/a"), Create::Overwrite, false, &mut nothing)
            });
            let (made, Some(replaced)) = event.during(|| make(&event.store)) else { break };
            replaced.unwrap();
            let (case, store) = (format!("{copy} {after}"), on(place.shared()));
            match made {
                Ok(()) => {
                    let made = Array::open(&store, &format!("g/y{array}")).unwrap_or_else(|e| panic!("{case}: {e}"));
                    let found = read_all(&made);
                    assert!(found == VALUES || found == tens, "{case}: {found:?}");
                }
                Err(e) => assert!(matches!(e.kind(), ErrorKind::Again | ErrorKind::NotFound), "{case}: {e}"),
            }
        }
    }
}
