//! Tests of nodes that are made, changed, moved or erased while another process takes away them or the groups above them, at every moment.

use super::tests::{spec, spec_as, write_all};
use super::tests_commit::{Event, Place, on};
use super::tests_store::Next;
use super::*;
use crate::error::{ErrorKind, Result};
use crate::settings::apart;

type Deed = fn(&Store) -> Result<()>;

/// What takes the group `p` away, with the array `p/old` in it.
const TAKES_AWAY: [(&str, Deed); 2] = [("erase", |store| store.erase_node("p")), ("rename", |store| store.rename_node("p", "q"))];

/// What makes a node below `p`.
const MAKES: [(&str, &str, Deed); 6] = [
    ("group", "p/x", |store| Group::create(store, "p/x", None, Create::New).map(drop)),
    ("array", "p/x", |store| Array::create(store, "p/x", &spec(&[4], &[4]), Create::New).map(drop)),
    ("deep", "p/x/y/z", |store| Group::create(store, "p/x/y/z", None, Create::New).map(drop)),
    ("rename", "p/x", |store| store.rename_node("other", "p/x")),
    ("copy", "p/x", |store| store.copy_node("other", (store, "p/x"), Create::New, false, &mut |_, _| Ok(()))),
    ("rechunk", "p/x", |store| {
        let (mut change, mut progress) = (|_: &str, _: &mut Spec| Ok(()), |_, _| Ok(()));
        store.rechunk_node("other", (store, "p/x"), RechunkOptions::default(), &mut change, &mut progress).map(drop)
    }),
];

/// A hierarchy with consolidated metadata.
fn hierarchy(format: Format, has_locks: bool) -> Place {
    let place = Place::empty(has_locks);
    let store = on(place.shared());
    let root = Group::create(&store, "", Some(format), Create::New).unwrap();
    for array in ["p/old", "other"] {
        Array::create(&store, array, &spec_as(format, &[4], &[4]), Create::New).unwrap();
    }
    root.consolidate().unwrap();
    place
}

fn is_there(store: &Store, path: &str) -> bool {
    store.node_kind(path).unwrap() != NodeKind::None
}

fn is_done_or_finds_none(done: &Result<()>) -> bool {
    done.as_ref().map_or_else(|e| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::Again), |()| true)
}

/// Checks that each node is below a group, and that consolidated metadata name what is there, and no more. A node that came into the group `p`
/// while this was renamed to `q` may be missing there: neither process finds it by its new path (docs/reliability.md).
fn check(place: &Place, case: &str) {
    let store = on(place.shared());
    for key in store.key_list("").unwrap() {
        let is_document = ["zarr.json", ".zarray", ".zgroup"].iter().any(|name| key.ends_with(name));
        let node = key.rsplit_once('/').map_or("", |(node, _)| node);
        let orphan = path::ancestors(node).into_iter().find(|above| !is_there(&store, above));
        assert!(!is_document || orphan.is_none(), "{case}: {key} is below no group {orphan:?}");
    }
    let mut differences = Group::open(&store, "").unwrap().consolidated_differences().unwrap().unwrap();
    differences.retain(|difference| !(difference.starts_with("q/x") && difference.ends_with(" is not listed")));
    assert!(differences.is_empty(), "{case}: {differences:?}, {:?}", store.key_list(""));
}

/// Does `own` while another process does `other` before one call of it, each in turn, and gives what they said to `judge`.
fn at_every_moment((format, has_locks): (Format, bool), (own, other): (Deed, Deed), judge: impl Fn(&Place, usize, Result<()>, Result<()>)) {
    for after in (0..).step_by(apart(5)) {
        let place = hierarchy(format, has_locks);
        let others = place.shared();
        let event = Event::new(place.shared(), after, move || other(&on(others)));
        let (done, Some(others)) = event.during(|| own(&event.store)) else { break };
        judge(&place, after, done, others);
    }
}

/// Calls `test` for each way to take the group away and each node that is made in it, in each format and kind of store (those of conditions only `with_conditions`).
fn each_pair(with_conditions: bool, test: impl Fn((&str, Deed), (&str, &str, Deed), (Format, bool))) {
    for (taker, maker) in TAKES_AWAY.into_iter().flat_map(|taker| MAKES.map(|maker| (taker, maker))) {
        Place::each(with_conditions, |format, has_locks| {
            if format == Format::V3 || maker.0 == "array" {
                test(taker, maker, (format, has_locks));
            }
        });
    }
}

#[test]
fn a_node_that_is_made_while_another_process_takes_its_group_away_is_below_a_group() {
    each_pair(true, |(name, takes_away), (made, at, make), (format, has_locks)| {
        at_every_moment((format, has_locks), (make, takes_away), |place, after, done, taken| {
            let case = format!("{made} beside {name}, {format:?} {has_locks} {after}: {done:?} {taken:?}");
            assert!(taken.is_ok() && is_done_or_finds_none(&done), "{case}");
            check(place, &case);
            let (store, moved) = (on(place.shared()), at.replace('p', "q"));
            // A store without folders renames by copies.
            let is_kept = done.is_ok() && name == "rename" && has_locks;
            assert!(!is_kept || is_there(&store, at) || is_there(&store, &moved), "{case}");
        });
    });
}

#[test]
fn a_copy_whose_document_comes_behind_the_end_of_its_group_leaves_no_node_where_no_lock_tells() {
    let copies = MAKES.iter().filter(|(made, ..)| ["rename", "copy", "rechunk"].contains(made));
    for ((made, _, make), (name, takes_away)) in copies.flat_map(|copy| TAKES_AWAY.map(|away| (*copy, away))) {
        for (format, has_chunks) in [(Format::V3, false), (Format::V3, true), (Format::V2, false), (Format::V2, true)] {
            let place = hierarchy(format, false);
            if has_chunks {
                write_all(&Array::open(&on(place.shared()), "other").unwrap(), &mut [1, 2, 3, 4]);
            }
            let others = place.shared();
            let is_document: fn(&Next<'_>) -> bool = |next| matches!(next, Next::Change("p/x/zarr.json" | "p/x/.zarray"));
            let event = Event::before(is_document, place.shared(), 0, move || takes_away(&on(others)));
            let (done, taken) = event.during(|| make(&event.store));
            let case = format!("{made} behind {name}, {format:?} {has_chunks}: {done:?} {taken:?}");
            assert!(taken.is_some_and(|taken| taken.is_ok()) && done.is_err_and(|e| e.kind() == ErrorKind::Again), "{case}");
            check(&place, &case);
            let store = on(place.shared());
            assert!(!is_there(&store, "p/x") && is_there(&store, "other"), "{case}");
        }
    }
}

#[test]
fn a_group_is_taken_away_while_another_process_makes_a_node_in_it_without_leaving_that_below_no_group() {
    each_pair(false, |(name, takes_away), (made, _, make), (format, has_locks)| {
        at_every_moment((format, has_locks), (takes_away, make), |place, after, taken, done| {
            let case = format!("{made} before {name}, {format:?} {has_locks} {after}: {done:?} {taken:?}");
            assert!(taken.is_ok() && is_done_or_finds_none(&done), "{case}");
            check(place, &case);
        });
    });
}

#[test]
fn of_two_processes_that_take_a_node_away_one_finds_none() {
    let [(_, erase), (_, rename)] = TAKES_AWAY;
    for (name, own, other) in [("erase, erase", erase, erase), ("erase, rename", erase, rename), ("rename, erase", rename, erase)] {
        Place::each(false, |format, has_locks| {
            at_every_moment((format, has_locks), (own, other), |place, after, own, other| {
                let case = format!("{name} {format:?} {after}: {own:?} {other:?}");
                let lost = if own.is_ok() { other } else { own };
                let lost = lost.expect_err(&case);
                assert!(lost.kind() == ErrorKind::NotFound && lost.message().contains("no node p in"), "{case}");
                check(place, &case);
            });
        });
    }
}

#[test]
fn a_change_of_a_node_that_another_process_takes_away_meanwhile_finds_none() {
    let changes: [(&str, Deed); 2] = [
        ("attribute", |store| Array::open(store, "p/old")?.attributes().set("units", "m".into())),
        ("shape", |store| Array::open(store, "p/old")?.resize(&[8], false)),
    ];
    for ((name, takes_away), (changed, change)) in TAKES_AWAY.into_iter().flat_map(|away| changes.map(|change| (away, change))) {
        Place::each(false, |format, has_locks| {
            at_every_moment((format, has_locks), (change, takes_away), |_, after, done, taken| {
                assert!(is_done_or_finds_none(&done) && taken.is_ok(), "{changed} beside {name}, {format:?} {after}: {done:?} {taken:?}");
            });
        });
    }
}
