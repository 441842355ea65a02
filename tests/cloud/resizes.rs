//! Two processes that change the shape of one array in a bucket at the same time: what is cut off does not come back, and nothing that is stored in the
//! new part is erased, however late requests come.

use crate::int32::{read_all, write};
use crate::proxy::{Fault, Proxy};
use crate::suite::{open_in_bucket, var};
use ozarr::dtype::DataType;
use ozarr::error::Result;
use ozarr::node::{Array, Create, Spec, Store};
use ozarr::settings::apart;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const JOB: &str = "OZARR_TEST_RESIZE_JOB";
const ENDPOINT: &str = "OZARR_TEST_RESIZE_ENDPOINT";
/// How often each pair of jobs changes an array.
const ROUNDS: usize = 100;
/// The length of the array before, what one job cuts it to, and how long the other one makes it.
const LONG: u64 = 20;
const SHORT: u64 = 5;
const LONGER: u64 = 26;

fn open(place: &str, endpoint: &str) -> Result<Store> {
    open_in_bucket(&format!("resizes/{place}"), endpoint)
}

/// What a process does once it is told to.
fn work(job: &str, array: &Array) -> Result<()> {
    match job {
        "cut" => array.resize(&[SHORT], false),
        "grow" => array.resize(&[LONGER], false),
        _ => {
            array.resize(&[LONGER], false)?;
            let new: Vec<i32> = (SHORT..LONGER).map(|i| 100 + i as i32).collect();
            write(array, &[SHORT as i64], &[(LONGER - SHORT) as i64], &new)
        }
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn one_of_the_jobs() {
    let (Ok(job), Ok(endpoint)) = (std::env::var(JOB), std::env::var(ENDPOINT)) else { return };
    let (job, place) = job.split_once('@').unwrap();
    let array = Array::open(&open(place, &endpoint).unwrap(), "a").unwrap();
    std::io::stdin().read_exact(&mut [0]).unwrap();
    std::thread::sleep(Duration::from_micros(RandomState::new().hash_one(job) % 60_000));
    work(job, &array).unwrap();
}

fn start(job: &str, place: &str, endpoint: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "resizes::one_of_the_jobs", "--ignored", "--test-threads=1"]);
    command.env(JOB, format!("{job}@{place}")).env(ENDPOINT, endpoint).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn of_a_resize_beside_one_that_makes_the_array_longer_nothing_comes_back_and_nothing_new_is_lost() {
    let endpoint = var("OZARR_TEST_S3");
    let random = |share: u64| RandomState::new().hash_one(share) % share;
    let proxy = Proxy::new(&endpoint, move |_, _| match random(3) {
        0 => Fault::Late(Duration::from_millis(random(60))),
        _ => Fault::None,
    });
    let mut orders = [0; 2];
    for (other, slow) in ["grow", "grow and write"].into_iter().flat_map(|other| [false, true].map(|slow| (other, slow))) {
        let place = format!("{}_{slow}", other.replace(' ', "_"));
        let store = open(&place, &endpoint).unwrap();
        for round in 0..ROUNDS / apart(20) {
            let mut spec = Spec::new(DataType::Int32, &[LONG]).unwrap();
            spec.set_chunks(&[2]).unwrap();
            let array = Array::create(&store, "a", &spec, Create::Overwrite).unwrap();
            write(&array, &[0], &[LONG as i64], &(1..=LONG as i32).collect::<Vec<_>>()).unwrap();
            let endpoint = if slow { proxy.url() } else { endpoint.clone() };
            let mut jobs = ["cut", other].map(|job| start(job, &place, &endpoint));
            jobs.iter_mut().for_each(|job| job.stdin.take().unwrap().write_all(&[0]).unwrap());
            assert!(jobs.iter_mut().all(|job| job.wait().unwrap().success()), "{place}, {round}");
            array.refresh().unwrap();
            let (length, is_written) = (array.shape()[0], other == "grow and write");
            orders[usize::from(length == LONGER)] += 1;
            // What a handle writes that knows nothing of the cut is outside of the array.
            if is_written && length != LONGER {
                continue;
            }
            array.resize(&[LONGER], false).unwrap();
            let cut = |i| if i < SHORT as i32 { i + 1 } else { 0 };
            let want: Vec<i32> = (0..LONGER as i32).map(|i| if is_written && i >= SHORT as i32 { 100 + i } else { cut(i) }).collect();
            assert_eq!(read_all(&array), want, "{place}, {round}, {length}");
        }
    }
    println!("{orders:?}");
}
