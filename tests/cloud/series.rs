//! Processes that go on with one run in a bucket at the same time: what one of them publishes is whole, its own, and stays, however late the requests of
//! the others come.

use crate::int32::{read_all, view};
use crate::proxy::{Fault, Proxy};
use crate::suite::{open_in_bucket, var};
use ozarr::dtype::DataType;
use ozarr::error::{ErrorKind, Result};
use ozarr::node::{Create, Dataset, Format, Group, Series, Store, VariableSpec};
use ozarr::settings::apart;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

const PROCESSES: usize = 8;
const JOB: &str = "OZARR_TEST_SERIES_JOB";
const ENDPOINT: &str = "OZARR_TEST_SERIES_ENDPOINT";
/// How often each of them opens the run.
const TURNS: usize = 12;

fn open(place: &str, endpoint: &str) -> Result<Store> {
    open_in_bucket(&format!("series/{place}"), endpoint)
}

/// A run with two fields of two chunks each, of four steps and of three.
fn define(store: &Store) {
    let ds = Dataset::create(store, "", Some(Format::V3), Create::Overwrite).unwrap();
    ds.define_time("time", 0, Some(6), "seconds since 2026-01-01", "standard", Create::New).unwrap();
    ds.define_dimension("x", 4).unwrap();
    for (name, depth) in [("t", 4), ("p", 3)] {
        let variable = VariableSpec { chunks: Some(vec![depth, 2]), ..VariableSpec::new(DataType::Int32, &["time", "x"]) };
        ds.define_variable(name, &variable, Create::New).unwrap();
    }
    ds.close().unwrap();
}

fn series(store: &Store, every: u64) -> Result<Series> {
    Series::open(&Dataset::open(Group::open(store, "")?)?, "time", None, every, 0)
}

/// The next step, by which all elements have the number of the job.
fn step(series: &mut Series, job: i32) -> Result<()> {
    let mut values = [job; 4];
    for name in ["t", "p"] {
        // SAFETY: the memory lives as long as the call.
        unsafe { series.put(name, |_, shape| Ok(view(&mut values, shape)))? };
    }
    series.step(series.position().0 as f64)
}

/// The job of each step that readers see.
fn jobs(store: &Store) -> Vec<i32> {
    let group = Group::open(store, "").unwrap();
    let [time, t, p] = ["time", "t", "p"].map(|name| read_all(&group.open_array(name).unwrap()));
    let job = |step: usize| {
        let all = [&t[4 * step..4 * step + 4], &p[4 * step..4 * step + 4]].concat();
        assert!(all.iter().all(|value| *value == all[0] && *value != 0), "step {step}: {all:?}");
        all[0]
    };
    // Where one job cuts off what another one tells of, the lengths may differ for a moment.
    (0..time.len().min(t.len() / 4).min(p.len() / 4)).map(job).collect()
}

fn start(job: usize, endpoint: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "series::one_of_the_jobs", "--ignored", "--test-threads=1"]).env(JOB, job.to_string()).env(ENDPOINT, endpoint);
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// What each of the processes does: job 0 eight steps, which it is to lose; the others some steps at a time, until another one has taken over.
#[test]
#[ignore = "needs servers: tools/cloud"]
fn one_of_the_jobs() {
    let (Ok(job), Ok(endpoint)) = (std::env::var(JOB), std::env::var(ENDPOINT)) else { return };
    let job: i32 = job.parse().unwrap();
    if job == 0 {
        let mut series = series(&open("late", &endpoint).unwrap(), 4).unwrap();
        let ended = (0..4).try_for_each(|_| step(&mut series, 1));
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::State);
        assert_eq!(series.flush().unwrap_err().kind(), ErrorKind::State);
        return;
    }
    let is_lost = |e: &ozarr::error::Error| e.kind() == ErrorKind::State;
    for turn in 0..(TURNS / apart(4)) as i32 {
        let random = RandomState::new().hash_one(turn);
        let mut series = match series(&open("many", &endpoint).unwrap(), [1, 3, 4][(random % 3) as usize]) {
            Ok(series) => series,
            Err(e) if is_lost(&e) => continue,
            Err(e) => panic!("{e}"),
        };
        let steps = (0..1 + random / 3 % 9).try_for_each(|_| step(&mut series, 1000 * job + turn));
        let ended = steps.and_then(|()| if random % 7 < 4 { series.close() } else { Ok(()) });
        assert!(ended.as_ref().is_ok() || ended.as_ref().is_err_and(is_lost), "{ended:?}");
        if random % 7 == 6 {
            // As after a kill: nothing more is published.
            std::mem::forget(series);
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_put_of_a_job_that_has_lost_the_run_replaces_nothing_of_the_one_that_goes_on() {
    let endpoint = var("OZARR_TEST_S3");
    let store = open("late", &endpoint).unwrap();
    define(&store);
    let [began, goes_on] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let (begun, may_end) = (began.clone(), goes_on.clone());
    let wait = |flag: &AtomicBool| {
        while !flag.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    let proxy = Proxy::new(&endpoint, move |_, seen| {
        let (begun, may_end) = (begun.clone(), may_end.clone());
        match seen.method == "PUT" && seen.target.contains("/c/") {
            true => Fault::After(Arc::new(move || {
                begun.store(true, SeqCst);
                wait(&may_end);
            })),
            false => Fault::None,
        }
    });
    let mut late = start(0, &proxy.url());
    wait(&began);
    let mut second = series(&store, 4).unwrap();
    (0..6).try_for_each(|_| step(&mut second, 2)).and_then(|()| second.close()).unwrap();
    assert_eq!(jobs(&store), [2; 6]);
    goes_on.store(true, SeqCst);
    assert!(late.wait().unwrap().success());
    assert_eq!(jobs(&store), [2; 6]);
    let mut third = series(&store, 4).unwrap();
    step(&mut third, 3).and_then(|()| third.close()).unwrap();
    assert_eq!(jobs(&store), [2, 2, 2, 2, 2, 2, 3]);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn eight_jobs_that_take_a_run_from_each_other_lose_no_step_that_was_published() {
    let endpoint = var("OZARR_TEST_S3");
    let store = open("many", &endpoint).unwrap();
    define(&store);
    let slow = |share: u64| {
        let random = RandomState::new().hash_one(share);
        if random.is_multiple_of(share) { Fault::Late(Duration::from_millis(random / share % 200)) } else { Fault::None }
    };
    let proxy = Proxy::new(&endpoint, move |_, seen| slow(if seen.target.contains("/c/") { 3 } else { 9 }));
    let mut children: Vec<_> = (1..=PROCESSES).map(|job| start(job, &proxy.url())).collect();
    let mut published = Vec::new();
    let mut ended = 0;
    while ended < children.len() {
        std::thread::sleep(Duration::from_millis(20));
        ended = children.iter_mut().filter_map(|child| child.try_wait().unwrap()).inspect(|status| assert!(status.success())).count();
        let found = jobs(&store);
        assert!(found.starts_with(&published), "{found:?} was {published:?}");
        published = found;
    }
    let mut last = series(&store, 1).unwrap();
    step(&mut last, 9).and_then(|()| last.close()).unwrap();
    published.push(9);
    let found = jobs(&store);
    assert!(found.len() >= published.len() && found.starts_with(&published[..published.len() - 1]), "{found:?} was {published:?}");
}
