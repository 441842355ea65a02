//! Checkpoints in object stores: the put of one marker object commits, whoever is killed, and whoever else writes.

use crate::suite::{azure, s3};
use ozarr::error::ErrorKind;
use ozarr::node::{Array, Checkpoints, Context, Create, Format, Group, Mode, Spec, Store};
use ozarr::settings::apart;
use ozarr::store::SharedStore;
use std::sync::Arc;

/// A store as a process of its own has it.
fn process(shared: &SharedStore) -> Store {
    Store::from_shared(&Context::with_threads(2), shared.clone(), Mode::ReadWrite)
}

/// Writes a checkpoint's array and attribute.
fn fill(group: &Group, step: i64) {
    let mut spec = Spec::new(ozarr::dtype::DataType::Int32, &[4]).unwrap();
    spec.set_chunks(&[2]).unwrap();
    Array::create(group.store(), "u", &spec, Create::New).unwrap();
    group.attributes().set_json("step", &step.to_string()).unwrap();
}

fn newest(all: &Checkpoints) -> i64 {
    let group = all.latest().unwrap();
    assert_eq!(group.open_array("u").unwrap().shape().as_slice(), [4]);
    group.attributes().get_i64("step").unwrap()
}

fn names(all: &Checkpoints) -> Vec<String> {
    all.list().unwrap().into_iter().map(|child| child.name).collect()
}

/// What is done by two processes, one after the other, and what is there then.
type Case = (&'static str, fn(&Checkpoints, &Checkpoints), &'static [&'static str], i64);

/// A server, and what opens a store at a path of it.
type Server = (&'static str, fn(&str) -> SharedStore);

const CASES: &[Case] = &[
    (
        "a writer that is killed leaves the checkpoint before",
        |one, other| {
            fill(&one.begin("b").unwrap(), 2);
            assert_eq!(newest(other), 1);
        },
        &["a"],
        1,
    ),
    (
        "what a killed writer left goes with the next of its name",
        |one, other| {
            fill(&one.begin("b").unwrap(), 2);
            let again = other.begin("b").unwrap();
            fill(&again, 3);
            again.commit().unwrap();
        },
        &["a", "b"],
        3,
    ),
    (
        "of two writers of one name the one that began last commits",
        |one, other| {
            let first = one.begin("b").unwrap();
            let second = other.begin("b").unwrap();
            fill(&second, 5);
            assert_eq!(first.commit().unwrap_err().kind(), ErrorKind::State);
            second.commit().unwrap();
            assert_eq!(first.commit().unwrap_err().kind(), ErrorKind::State);
        },
        &["a", "b"],
        5,
    ),
    (
        "a name that is there stays until the new one is committed",
        |one, other| {
            let again = one.begin("a").unwrap();
            fill(&again, 6);
            assert_eq!(newest(other), 1);
            again.commit().unwrap();
        },
        &["a.2"],
        6,
    ),
    (
        "pruning keeps the newest and removes what was left",
        |one, other| {
            for (name, step) in [("b", 7), ("c", 8)] {
                let group = one.begin(name).unwrap();
                fill(&group, step);
                group.commit().unwrap();
            }
            other.prune(2).unwrap();
        },
        &["b", "c"],
        8,
    ),
    (
        "one that is given up is gone",
        |one, _| {
            let group = one.begin("b").unwrap();
            fill(&group, 9);
            group.abandon().unwrap();
        },
        &["a"],
        1,
    ),
];

#[test]
#[ignore = "needs servers: tools/cloud"]
fn checkpoints_are_whole_in_object_stores_whoever_is_killed_or_writes_too() {
    let servers: [Server; 3] = [
        ("s3", |path| Arc::new(s3(path, &[]))),
        ("s3, conditional", |path| Arc::new(s3(path, &[("conditional_put", "always")]))),
        ("azure", |path| Arc::new(azure(path))),
    ];
    for (n, (server, open)) in servers.into_iter().enumerate() {
        for (number, (case, run, want, step)) in CASES.iter().enumerate() {
            for format in [Format::V2, Format::V3].into_iter().skip((n + number) % apart(2)).step_by(apart(2)) {
                let at = format!("checkpoints/{}/{number}-{}", server.replace([',', ' '], "-"), format.number());
                let (one, other) = (open(&at), open(&at));
                Group::create(&process(&one), "", Some(format), Create::New).unwrap();
                let (one, other) = (Checkpoints::new(&process(&one), "").unwrap(), Checkpoints::new(&process(&other), "").unwrap());
                let first = one.begin("a").unwrap();
                fill(&first, 1);
                first.commit().unwrap();
                run(&one, &other);
                for all in [&one, &other] {
                    assert_eq!(
                        (names(all), newest(all)),
                        (want.iter().map(ToString::to_string).collect(), *step),
                        "{server}, {format:?}: {case}"
                    );
                }
            }
        }
    }
}
