//! Processes that change the same attributes, shape, chunk and shard of a bucket at the same time: nothing is lost where the server keeps
//! conditions of puts, and where it does not it is told or refused.

use crate::int32::{line, read_all, write};
use crate::proxy::{Fault, Proxy};
use crate::suite::var;
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::error::{ErrorKind, Result};
use ozarr::node::{Appender, Array, Context, Create, Group, Level, Log, Mode, Settings, Spec, Store};
use ozarr::settings::apart;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

const PROCESSES: usize = 8;
const CHANGES: usize = 30;

/// How many of its changes each process makes: all of them in the long checks.
fn changes() -> usize {
    CHANGES / apart(3)
}
const JOB: &str = "OZARR_TEST_SWAP_JOB";

fn open(context: &Context, place: &str, conditional: &str) -> Result<Store> {
    open_at(context, &var("OZARR_TEST_S3"), place, conditional)
}

fn open_at(context: &Context, endpoint: &str, place: &str, conditional: &str) -> Result<Store> {
    let options = [
        ("cloud.endpoint", endpoint),
        ("cloud.access_key_id", "planted-id"),
        ("cloud.secret_access_key", "planted-secret"),
        ("cloud.region", "us-east-1"),
        ("cloud.conditional_put", conditional),
    ];
    Store::open(context, &format!("s3://bucket/swap/{place}.zarr"), Mode::ReadWrite, &options)
}

fn create(store: &Store, path: &str, length: u64, chunk: u64, inner: Option<u64>) {
    let mut spec = Spec::new(DataType::Int32, &[length]).unwrap();
    spec.set_chunks(&[chunk]).unwrap();
    inner.iter().for_each(|&inner| spec.set_inner_chunks(&[inner]).unwrap());
    Array::create(store, path, &spec, Create::New).unwrap();
}

/// What each of the processes does: in each turn one more attribute, one appended element, one element of a chunk, and one of a shard.
fn change(process: usize) -> Result<()> {
    let store = open(&Context::with_threads(2), "all", "auto")?;
    let [log, chunk, shard] = ["log", "chunk", "shard"].map(|path| Array::open(&store, path).unwrap());
    for turn in 0..changes() {
        let number = process * changes() + turn;
        log.attributes().set(&format!("n{number}"), (number as i64).into())?;
        // SAFETY: the memory lives as long as the call.
        unsafe { log.append(0, 1, &line(&mut [1 + number as i32]))? };
        write(&chunk, &[number as i64], &[1], &[1 + number as i32])?;
        write(&shard, &[number as i64], &[1], &[1 + number as i32])?;
    }
    store.flush()
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn one_of_the_processes() {
    if let Ok(process) = std::env::var(JOB) {
        change(process.parse().unwrap()).unwrap();
    }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn eight_processes_lose_no_change() {
    let store = open(&Context::with_threads(2), "all", "auto").unwrap();
    let count = PROCESSES * changes();
    let root = Group::create(&store, "", None, Create::Overwrite).unwrap();
    create(&store, "log", 0, 8, None);
    create(&store, "chunk", count as u64, count as u64, None);
    create(&store, "shard", count as u64, count as u64, Some(10));
    root.consolidate().unwrap();
    let start = |process: usize| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "swap::one_of_the_processes", "--ignored", "--test-threads=1"]).env(JOB, process.to_string());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let [log, chunk, shard] = ["log", "chunk", "shard"].map(|path| Array::open(&store, path).unwrap());
    let all: Vec<i32> = (1..=count as i32).collect();
    assert_eq!(log.attributes().names().unwrap().len(), count);
    let mut appended = read_all(&log);
    appended.sort_unstable();
    assert_eq!(appended, all);
    assert_eq!(read_all(&chunk), all);
    assert_eq!(read_all(&shard), all);
    assert_eq!(Group::open(&store, "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
}

fn append(appender: &mut Appender, values: &mut [i32]) -> Result<()> {
    // SAFETY: the memory lives as long as the call.
    unsafe { appender.append(values.len() as u64, &line(values)) }
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn of_two_appenders_that_begin_at_once_one_stores_nothing() {
    let store = || open(&Context::with_threads(2), "appenders", "auto").unwrap();
    Group::create(&store(), "", None, Create::Overwrite).unwrap();
    create(&store(), "a", 0, 4, None);
    let appender = || Appender::open(&Array::open(&store(), "a").unwrap(), 0, 100, 0).unwrap();
    let [mut first, mut second] = [appender(), appender()];
    append(&mut first, &mut [1, 2, 3, 4, 5]).unwrap();
    assert_eq!(append(&mut second, &mut [80, 81, 82, 83, 84]).unwrap_err().kind(), ErrorKind::State);
    drop(second);
    first.flush().unwrap();
    assert_eq!(read_all(&Array::open(&store(), "a").unwrap()), [1, 2, 3, 4, 5]);
    // One that is opened later goes on, as after a kill, and the one before it stores nothing more.
    let mut third = appender();
    append(&mut third, &mut [6, 7, 8]).unwrap();
    assert_eq!(append(&mut first, &mut [90, 91, 92, 93]).unwrap_err().kind(), ErrorKind::State);
    third.flush().unwrap();
    assert_eq!(read_all(&Array::open(&store(), "a").unwrap()), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
#[ignore = "needs servers: tools/cloud"]
fn a_server_without_conditions_is_told_of_once_or_refused() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let ear = told.clone();
    let call = Arc::new(move |_: Level, text: &str| ear.lock().unwrap().push(text.to_string()));
    let context =
        Context::with_threads(2).with_settings(Settings { log: Some(Log { level: Level::Warning, call }), ..Settings::default() });
    let proxy = Proxy::new(&var("OZARR_TEST_S3"), |_, _| Fault::Unconditional);
    let with = |conditional: &str| open_at(&context, &proxy.url(), "none", conditional).unwrap();
    let direct = open(&Context::with_threads(2), "none", "always").unwrap();
    Group::create(&direct, "", None, Create::Overwrite).unwrap();
    create(&direct, "a", 4, 4, None);
    let store = with("auto");
    let array = Array::open(&store, "a").unwrap();
    for value in 0..3 {
        array.attributes().set("n", value.into()).unwrap();
        write(&array, &[1], &[1], &[value]).unwrap();
    }
    store.flush().unwrap();
    let texts = told.lock().unwrap().clone();
    assert!(texts.len() == 1 && texts[0].contains("cloud.conditional_put"), "{texts:?}");
    let array = Array::open(&with("require"), "a").unwrap();
    let e = array.attributes().set("n", 9.into()).unwrap_err();
    assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("cloud.conditional_put"), "{e}");
    assert_eq!(write(&array, &[1], &[1], &[9]).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut appender = Appender::open(&array, 0, 0, 0).unwrap();
    assert_eq!(append(&mut appender, &mut [7; 8]).unwrap_err().kind(), ErrorKind::Unsupported);
    drop(appender);
    assert_eq!(store.key_list("a/").unwrap(), ["a/c/0", "a/zarr.json"]);
    // A whole chunk needs no condition.
    // SAFETY: the memory lives as long as the call.
    unsafe { array.write(&Selection::all(&[4]), &line(&mut [1, 2, 3, 4])).unwrap() };
    assert_eq!(read_all(&Array::open(&with("never"), "a").unwrap()), [1, 2, 3, 4]);
}
