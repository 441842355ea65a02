//! Writers in stores without locks whose puts come late: by then another one has taken the array over, and published what it stored in their place.

use super::tests::{own, read_all, spec, view, write_all};
use super::tests_store::{Next, on, told};
use super::tests_swap::Overtaken;
use super::*;
use crate::dtype::DataType;
use crate::error::{ErrorKind, Result, bail};
use crate::settings::apart;
use crate::store::SharedStore;
use crate::store::latency::LatencyStore;
use crate::store::memory::MemoryStore;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An array of four elements in chunks of four, or in shards of four with inner chunks of two.
fn numbers(sharded: bool) -> SharedStore {
    let (inner, mut spec): (SharedStore, _) = (Arc::new(MemoryStore::new()), spec(&[4], &[4]));
    if sharded {
        spec.set_inner_chunks(&[2]).unwrap();
    }
    write_all(&Array::create(&on(inner.clone()), "a", &spec, Create::New).unwrap(), &mut [1, 2, 3, 4]);
    inner
}

fn array(shared: SharedStore) -> Array {
    Array::open(&on(shared), "a").unwrap()
}

/// The store as another process has it.
fn other(inner: &SharedStore) -> SharedStore {
    process(inner, false, "another process:", |_| Ok(()))
}

fn process(
    inner: &SharedStore,
    latency: bool,
    name: &'static str,
    tell: impl Fn(Next<'_>) -> Result<()> + Send + Sync + 'static,
) -> SharedStore {
    told(Arc::new(Overtaken::alone(inner.clone(), latency).named(name)), tell)
}

/// An appender that publishes every hundred steps, or when it is flushed.
fn appender(array: &Array) -> Appender {
    Appender::open(array, 0, 100, 0).unwrap()
}

fn append(appender: &mut Appender, values: &[i32]) -> Result<()> {
    let mut values = values.to_vec();
    let shape = [values.len() as u64];
    own!(appender.append(shape[0], &view(&mut values, &shape)))
}

/// What the next appender stores and publishes while a call of the one before it is under way; what that one has published by then stays.
#[test]
fn a_put_of_an_appender_that_another_one_has_taken_over_from_replaces_nothing_of_it() {
    // What the first one has published before, what it stores then, and what the other one stores and publishes at one of its calls.
    let cases: [(&[i32], &[i32], &[i32]); 5] = [
        (&[], &[5, 6, 7, 8], &[50, 60, 70, 80]),
        // Chunks that are read, and changed in part.
        (&[5], &[6, 7], &[60, 70]),
        (&[5], &[6, 7, 8, 9], &[60, 70, 80]),
        // The fill value, which is not stored.
        (&[], &[0, 0, 0, 0], &[50, 60, 70, 80]),
        (&[5], &[0, 0, 0, 0, 0, 0, 0], &[60, 70, 80, 90, 91, 92, 93]),
    ];
    for (latency, sharded) in [(false, false), (true, false), (false, true), (true, true)] {
        for (before, ours, theirs) in cases {
            for after in 0.. {
                let (inner, left) = (numbers(sharded), Arc::new(AtomicUsize::new(usize::MAX)));
                let (store, calls, published) = (inner.clone(), left.clone(), Arc::new(Mutex::new(None)));
                let done = published.clone();
                let tell = move |next: Next<'_>| {
                    if !matches!(next, Next::Opened(_)) && calls.fetch_sub(1, Relaxed) == 0 {
                        let mut second = appender(&array(other(&store)));
                        append(&mut second, theirs).and_then(|()| second.close()).unwrap();
                        *done.lock().unwrap() = Some(read_all(&array(store.clone())));
                    }
                    Ok(())
                };
                let mut first = appender(&array(told(Arc::new(Overtaken::alone(inner.clone(), latency)), tell)));
                append(&mut first, before).and_then(|()| first.flush()).unwrap();
                left.store(after, Relaxed);
                let ended = append(&mut first, ours).and_then(|()| first.flush());
                drop(first);
                let case = format!("{latency} {sharded} {before:?} {ours:?} {theirs:?} after {after}");
                let Some(published) = published.lock().unwrap().take() else {
                    assert!(ended.is_ok() && after > 3, "{case}: {ended:?}");
                    break;
                };
                let found = read_all(&array(inner));
                assert_eq!(found, published, "{case}: {ended:?}");
                assert!(ended.is_ok() || ended.as_ref().is_err_and(|e| e.kind() == ErrorKind::State), "{case}: {ended:?}");
                let own = [&[1, 2, 3, 4], before].concat();
                let after_all = if ended.is_ok() { [&own, ours, theirs].concat() } else { [&own, theirs].concat() };
                assert_eq!(found, after_all, "{case}: {ended:?}");
            }
        }
    }
}

/// A run with a field in chunks of four steps, one in shards, and one whose steps are the second dimension.
fn define(inner: &SharedStore) {
    let ds = Dataset::create(&on(inner.clone()), "", Some(Format::V3), Create::New).unwrap();
    ds.define_time("time", 0, Some(5), "days since 2026-01-01", "standard", Create::New).unwrap();
    ds.define_dimension("x", 3).unwrap();
    for (name, dimensions, chunks) in [("t", ["time", "x"], vec![4, 2]), ("p", ["x", "time"], vec![3, 3])] {
        let variable = VariableSpec { chunks: Some(chunks), ..VariableSpec::new(DataType::Int32, &dimensions) };
        ds.define_variable(name, &variable, Create::New).unwrap();
    }
    let mut sharded = spec(&[0, 3], &[4, 3]);
    sharded.set_inner_chunks(&[2, 3]).unwrap();
    let variable = VariableSpec { spec: Some(sharded), ..VariableSpec::new(DataType::Int32, &["time", "x"]) };
    ds.define_variable("s", &variable, Create::New).unwrap();
    ds.close().unwrap();
}

fn series(shared: SharedStore, every: u64) -> Result<Series> {
    Series::open(&Dataset::open(Group::open(&on(shared), "")?)?, "time", None, every, 0)
}

/// Steps of a job from where its series is.
fn steps(series: &mut Series, job: i32, to: u64) -> Result<()> {
    for step in series.position().0..to {
        for name in ["t", "p", "s"] {
            let mut values = [100 * job + step as i32; 3];
            own!(series.put(name, |_, shape| Ok(view(&mut values[..], shape))))?;
        }
        series.step(step as f64)?;
    }
    Ok(())
}

/// The job of each step that readers see; each is whole, and of one job. All variables have as many steps.
fn jobs(inner: &SharedStore) -> Vec<i32> {
    let (lengths, jobs) = jobs_by_lengths(inner);
    assert!(lengths.iter().all(|length| *length == jobs.len()), "{lengths:?} and {} steps", jobs.len());
    jobs
}

/// The lengths of the variables, and the job of each step that all of them have.
fn jobs_by_lengths(inner: &SharedStore) -> ([usize; 4], Vec<i32>) {
    let group = Group::open(&on(inner.clone()), "").unwrap();
    let of = |name: &str| read_all(&group.open_array(name).unwrap());
    let (time, t, p, s) = (of("time"), of("t"), of("p"), of("s"));
    let lengths = [time.len(), t.len() / 3, p.len() / 3, s.len() / 3];
    let job = |step: usize| {
        let of_p = (0..3).map(|x| p[x * lengths[2] + step]);
        let all: Vec<i32> = [&t, &s].into_iter().flat_map(|all| all[3 * step..3 * step + 3].to_vec()).chain(of_p).collect();
        assert!(all.iter().all(|value| *value == all[0] && value % 100 == step as i32), "step {step}: {all:?}");
        all[0] / 100
    };
    (lengths, (0..lengths.into_iter().min().unwrap()).map(job).collect())
}

/// The second one comes at each call of the first one in turn, and publishes what it stores before that call is done.
#[test]
fn each_step_of_two_series_of_a_run_is_whole_and_of_one_of_them_however_late_a_put_comes() {
    for (latency, every) in [(false, 4), (true, 4), (false, 1)] {
        for after in (0..).step_by(apart(2)) {
            let (inner, left): (SharedStore, _) = (Arc::new(MemoryStore::new()), Arc::new(AtomicUsize::new(usize::MAX)));
            define(&inner);
            let (store, calls, second) = (inner.clone(), left.clone(), Arc::new(Mutex::new(None)));
            let done = second.clone();
            let tell = move |next: Next<'_>| {
                if !matches!(next, Next::Opened(_)) && calls.fetch_sub(1, Relaxed) == 0 {
                    let went_on = series(other(&store), 2).and_then(|mut second| steps(&mut second, 2, 10).and_then(|()| second.close()));
                    *done.lock().unwrap() = Some((went_on, jobs(&store)));
                }
                Ok(())
            };
            let mut first = series(told(Arc::new(Overtaken::alone(inner.clone(), latency)), tell), every).unwrap();
            steps(&mut first, 1, 2).and_then(|()| first.flush()).unwrap();
            left.store(after, Relaxed);
            let ended = steps(&mut first, 1, 10).and_then(|()| first.flush());
            drop(first);
            let case = format!("{latency} {every} after {after}: {ended:?}");
            let (found, second) = (jobs(&inner), second.lock().unwrap().take());
            let Some((went_on, published)) = second else {
                assert!(ended.is_ok() && after > 20, "{case}");
                break;
            };
            assert!(found.starts_with(&published), "{case}: {found:?} was {published:?}, {went_on:?}");
            // Both may have lost it; whoever comes then goes on.
            assert!(
                [ended.as_ref().err(), went_on.as_ref().err()].into_iter().flatten().all(|e| e.kind() == ErrorKind::State),
                "{case}, {went_on:?}"
            );
            series(other(&inner), 2).and_then(|mut third| steps(&mut third, 3, 12).and_then(|()| third.close())).unwrap();
            assert!(jobs(&inner).starts_with(&found), "{case}");
        }
    }
}

/// Each is opened again when it has lost the run, or is given up as if it was killed. Some of its requests are late.
#[test]
fn eight_jobs_that_take_a_run_from_each_other_lose_no_step_that_was_published() {
    let names = ["1:", "2:", "3:", "4:", "5:", "6:", "7:", "8:"];
    for latency in [false, true] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&inner);
        let all = 24 / apart(2) as u64;
        let work = &|name: &'static str| {
            for turn in 0.. {
                let late = move |next: Next<'_>| {
                    let random = RandomState::new().hash_one(turn);
                    let most = if matches!(next, Next::Change(_)) && random.is_multiple_of(4) { 8000 } else { 300 };
                    std::thread::sleep(Duration::from_micros(random / 4 % most));
                    Ok(())
                };
                let (shared, random) = (process(&inner, latency, name, late), RandomState::new().hash_one(turn));
                let began = series(shared, 1 + random % 4);
                let ended = began.and_then(|mut series| {
                    let (to, job) = ((series.position().0 + 1 + random / 4 % 6).min(all), 100 * name.as_bytes()[0] as i32 + turn);
                    let done = steps(&mut series, job, to);
                    if random.is_multiple_of(3) {
                        std::mem::forget(series);
                        return done.map(|()| false);
                    }
                    done.and_then(|()| series.close()).map(|()| to == all)
                });
                match ended {
                    Ok(true) => return,
                    Ok(false) => {}
                    Err(e) => assert!(e.kind() == ErrorKind::State, "{e}"),
                }
                std::thread::sleep(Duration::from_millis(random % 100));
            }
        };
        let published = std::thread::scope(|scope| {
            let workers = names.map(|name| scope.spawn(move || work(name)));
            let mut published = Vec::new();
            while workers.iter().any(|worker| !worker.is_finished()) {
                // Where one cuts off what another one tells of, the lengths may differ for a moment.
                let (_, found) = jobs_by_lengths(&inner);
                assert!(found.starts_with(&published), "{found:?} was {published:?}");
                published = found;
                std::thread::sleep(Duration::from_millis(10));
            }
            published
        });
        let mut found = jobs(&inner);
        assert!(found.starts_with(&published) && found.len() as u64 == all, "{found:?} was {published:?}");
        found.dedup();
        assert!(found.len() > 2, "{found:?}");
    }
}

/// What a program appends without a series, between the opening of one and its first step.
#[test]
fn a_series_takes_back_no_step_that_another_program_has_appended_to_one_of_its_arrays() {
    for name in ["t", "p", "s"] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&inner);
        let mut first = series(other(&inner), 1).unwrap();
        steps(&mut first, 1, 2).unwrap();
        first.close().unwrap();
        let mut second = series(other(&inner), 1).unwrap();
        let array = Group::open(&on(process(&inner, false, "a third process:", |_| Ok(()))), "").unwrap().open_array(name).unwrap();
        let dim = usize::from(name == "p");
        let (mut values, mut shape) = ([7; 3], array.shape().to_vec());
        shape[dim] = 1;
        own!(array.append(dim, 1, &view(&mut values, &shape)).unwrap());
        let stored = read_all(&array);
        let e = steps(&mut second, 2, 4).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::State, "{name}: {e}");
        drop(second);
        assert_eq!(read_all(&Group::open(&on(inner), "").unwrap().open_array(name).unwrap()), stored, "{name}");
    }
}

/// Tells of each document that is read, which takes a moment, and of each chunk that is put.
fn counted(inner: &SharedStore) -> (SharedStore, [Arc<AtomicUsize>; 2]) {
    let counts: [Arc<AtomicUsize>; 2] = Default::default();
    let [reads, puts] = counts.clone();
    let tell = move |next: Next<'_>| {
        match next {
            Next::Opened(key) if key.ends_with("zarr.json") => {
                reads.fetch_add(1, Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
            Next::Change(key) if key.contains("/c/") => drop(puts.fetch_add(1, Relaxed)),
            _ => {}
        }
        Ok(())
    };
    (told(Arc::new(Overtaken::alone(inner.clone(), true)), tell), counts)
}

#[test]
fn chunks_that_are_changed_in_part_at_the_same_time_share_looks_at_the_document() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    Array::create(&on(inner.clone()), "a", &spec(&[0, 64], &[4, 2]), Create::New).unwrap();
    let (store, [reads, puts]) = counted(&inner);
    // Reads are started.
    let mut appender = appender(&array(Arc::new(LatencyStore::new(store, Duration::ZERO))));
    let mut step = |number: i32| own!(appender.append(1, &view(&mut [number; 64], &[1, 64]))).and_then(|()| appender.flush()).unwrap();
    step(1);
    let before = reads.load(Relaxed);
    step(2);
    let looks = reads.load(Relaxed) - before;
    assert!(looks <= 12 && puts.load(Relaxed) == 64, "{looks} looks for {} puts", puts.load(Relaxed));
    assert_eq!(read_all(&array(inner)), [[1; 64], [2; 64]].concat());
}

#[test]
fn a_whole_chunk_that_a_killed_appender_left_is_put_once_more_only() {
    for values in [&[50, 60, 70, 80][..], &[50, 60, 70, 80, 90]] {
        let inner = numbers(false);
        let mut killed = appender(&array(other(&inner)));
        append(&mut killed, &[5, 6, 7, 8]).unwrap();
        std::mem::forget(killed);
        let (store, [_, puts]) = counted(&inner);
        let mut second = appender(&array(store));
        append(&mut second, &values[..4]).unwrap();
        assert_eq!(puts.load(Relaxed), 2);
        append(&mut second, &values[4..]).and_then(|()| second.close()).unwrap();
        assert_eq!(read_all(&array(inner)), [&[1, 2, 3, 4], values].concat());
    }
}

/// Erasing has no condition: it ends when somebody else has the run.
#[test]
fn a_series_that_is_cutting_erases_no_more_once_another_one_has_claimed_the_run() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    let ds = Dataset::create(&on(inner.clone()), "", Some(Format::V3), Create::New).unwrap();
    ds.define_dimension("time", 0).unwrap();
    let variable = VariableSpec { chunks: Some(vec![1]), ..VariableSpec::new(DataType::Int32, &["time"]) };
    ds.define_variable("t", &variable, Create::New).unwrap();
    ds.close().unwrap();
    let open = |shared, keep| Series::open(&Dataset::open(Group::open(&on(shared), "").unwrap()).unwrap(), "time", keep, 1, 0);
    let work = move |shared: SharedStore, job: i32, to: u64| {
        let mut series = open(shared, None)?;
        for step in series.position().0..to {
            let mut value = [job];
            own!(series.put("t", |_, shape| Ok(view(&mut value, shape))))?;
            series.step(step as f64)?;
        }
        series.close()
    };
    work(other(&inner), 1, 12).unwrap();
    let (store, changes, after) = (inner.clone(), AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let late = after.clone();
    let tell = move |next: Next<'_>| {
        if matches!(next, Next::Change(key) if key.starts_with("t/c/")) {
            match changes.fetch_add(1, Relaxed) {
                0 | 1 => {}
                2 => {
                    work(other(&store), 2, 10).unwrap();
                    std::thread::sleep(Duration::from_millis(250));
                }
                _ => drop(late.fetch_add(1, Relaxed)),
            }
        }
        Ok(())
    };
    let opened = open(told(Arc::new(Overtaken::alone(inner.clone(), false)), tell), Some(2));
    assert_eq!((opened.err().map(|e| e.kind()), after.load(Relaxed)), (Some(ErrorKind::State), 0));
    let found = read_all(&Group::open(&on(inner), "").unwrap().open_array("t").unwrap());
    // What was being erased at that moment has no condition.
    assert_eq!(found, [1, 1, 2, 2, 0, 2, 2, 2, 2, 2]);
}

/// The one that goes on has published some of its documents, and was killed there, while the one before it tells of its own step.
#[test]
fn a_series_tells_no_lengths_that_only_some_arrays_have_of_the_one_that_goes_on() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    define(&inner);
    let (store, documents) = (inner.clone(), AtomicUsize::new(0));
    let tell = move |next: Next<'_>| {
        match next {
            // For the claim, and for two steps.
            Next::Change("time/zarr.json") => drop(documents.fetch_add(1, Relaxed)),
            Next::Opened("t/zarr.json") if documents.load(Relaxed) == 3 => {
                documents.store(4, Relaxed);
                let puts = AtomicUsize::new(0);
                let killed = process(&store, false, "another process:", move |next| match next {
                    Next::Change("time/zarr.json") if puts.fetch_add(1, Relaxed) == 1 => bail!(Network, "the process is killed"),
                    _ => Ok(()),
                });
                let mut second = series(killed, 1).unwrap();
                assert_eq!(steps(&mut second, 2, 3).unwrap_err().kind(), ErrorKind::Network);
                std::mem::forget(second);
            }
            _ => {}
        }
        Ok(())
    };
    let mut first = series(told(Arc::new(Overtaken::alone(inner.clone(), false)), tell), 1).unwrap();
    steps(&mut first, 1, 2).unwrap();
    assert_eq!(jobs(&inner), [1, 1]);
    let documents = ["t", "p", "s", "time"].map(|name| Array::open(&on(inner.clone()), name).unwrap().shape()[usize::from(name == "p")]);
    assert_eq!(documents, [3, 3, 3, 2]);
}

/// As ranks of a program write: rank 0 has the series, and gives the others the claim.
#[test]
fn a_handle_with_the_claim_of_a_series_replaces_nothing_of_the_series_after_it() {
    for fenced in [true, false] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&inner);
        let ds = Dataset::open(Group::open(&on(other(&inner)), "").unwrap()).unwrap();
        let mut first = Series::open(&ds, "time", None, 1, 0).unwrap();
        let rank = array_of(&process(&inner, true, "a rank:", |_| Ok(())), "t");
        assert!(rank.set_claim("no claim").is_err());
        let claim = ds.variable("t").unwrap().claim();
        rank.set_claim(if fenced { &claim } else { "" }).unwrap();
        let longer = array_of(&inner, "t");
        first.declare(0).unwrap();
        let mut second = series(process(&inner, false, "another process:", |_| Ok(())), 1).unwrap();
        steps(&mut second, 2, 4).unwrap();
        let published = jobs(&inner);
        // The rank has the steps inside of its array by now.
        rank.refresh().unwrap();
        let region = crate::engine::Selection::new(&rank.shape(), &[0, 0], &[4, 2], None).unwrap();
        let mut values = [9; 8];
        let written = own!(rank.write(&region, &view(&mut values, &[4, 2])));
        assert_eq!(written.err().map(|e| e.kind()), fenced.then_some(ErrorKind::State));
        assert!(longer.claim().is_empty() && published == [2; 4]);
        if fenced {
            assert_eq!(jobs(&inner), published);
        }
    }
}

type ChunkChange = (&'static str, fn(&Array) -> Result<()>);

/// What is stored by the chunk, of which nothing need be read.
const BY_CHUNK: [ChunkChange; 4] = [
    ("a chunk", |rank| rank.chunk_write(&[0, 0], false, &[7; 32])),
    ("a chunk that is erased", |rank| rank.chunk_erase(&[0, 0], false).map(|found| assert!(found))),
    ("a shard", |rank| {
        let mut writer = rank.shard_writer(&[0, 0])?;
        own!(writer.put(&[0, 0], &view(&mut [7; 6], &[2, 3])))?;
        writer.finish()
    }),
    ("a shard of nothing", |rank| rank.shard_writer(&[0, 0])?.finish()),
];

#[test]
fn what_a_handle_with_the_claim_of_a_series_stores_by_the_chunk_replaces_nothing_of_the_series_after_it() {
    let cases = [("t", &BY_CHUNK[..2]), ("s", &BY_CHUNK[..])].map(|(name, all)| all.iter().map(move |each| (name, each)));
    for ((name, (what, change)), is_late) in cases.into_iter().flatten().flat_map(|each| [(each, true), (each, false)]) {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&inner);
        let ds = Dataset::open(Group::open(&on(other(&inner)), "").unwrap()).unwrap();
        let mut first = Series::open(&ds, "time", None, 1, 0).unwrap();
        steps(&mut first, 1, 4).unwrap();
        let (key, puts, beside) = (format!("{name}/c/0/0"), AtomicUsize::new(0), inner.clone());
        // Another writer is faster once, where this one may store.
        let tell = move |next: Next<'_>| match next {
            Next::Change(changed) if changed == key && !is_late && puts.fetch_add(1, Relaxed) == 1 => {
                let same = crate::store::get(&*beside, &key, 999)?.unwrap();
                beside.put(&key, &[&same], crate::store::Condition::None)
            }
            _ => Ok(()),
        };
        let rank = array_of(&process(&inner, true, "a rank:", tell), name);
        rank.set_claim(&ds.variable(name).unwrap().claim()).unwrap();
        if is_late {
            first.close().unwrap();
            let mut second = series(process(&inner, false, "another process:", |_| Ok(())), 1).unwrap();
            steps(&mut second, 2, 5).unwrap();
        }
        let stored = || {
            let (mut bytes, mut size) = (vec![0; 999], 0);
            array_of(&inner, name).chunk_read(&[0, 0], false, &mut bytes, &mut size).unwrap();
            bytes[..size as usize].to_vec()
        };
        let before = stored();
        assert_eq!(change(&rank).map_err(|e| e.kind()), if is_late { Err(ErrorKind::State) } else { Ok(()) }, "{what} of {name}");
        assert_eq!(stored() == before, is_late, "{what} of {name}");
        rank.set_claim("").unwrap();
        assert!(rank.chunk_erase(&[0, 0], false).unwrap() && !rank.chunk_erase(&[0, 0], false).unwrap(), "{what} of {name}");
    }
}

/// The chunk is there: its put is refused first, and made once more.
#[test]
fn a_whole_chunk_by_a_handle_with_a_claim_replaces_what_waits_of_it() {
    for latency in [false, true] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&inner);
        let ds = Dataset::open(Group::open(&on(other(&inner)), "").unwrap()).unwrap();
        let mut first = Series::open(&ds, "time", None, 1, 0).unwrap();
        steps(&mut first, 1, 4).unwrap();
        for name in ["t", "s"] {
            let rank = array_of(&process(&inner, latency, "a rank:", |_| Ok(())), name);
            rank.set_claim(&ds.variable(name).unwrap().claim()).unwrap();
            rank.set_write_back(1 << 16).unwrap();
            for (steps, value) in [(2, 8), (4, 9)] {
                let columns = rank.chunk_shape()[1];
                let region = crate::engine::Selection::new(&rank.shape(), &[0, 0], &[steps, columns as i64], None).unwrap();
                let mut values = [value; 12];
                own!(rank.write(&region, &view(&mut values, &[steps as u64, columns])).unwrap());
            }
            rank.close().unwrap();
            let found = read_all(&array_of(&inner, name));
            assert!((0..4).all(|step| found[3 * step..3 * step + 2] == [9; 2]), "{name}, latency {latency}: {found:?}");
        }
    }
}

fn array_of(shared: &SharedStore, name: &str) -> Array {
    Group::open(&on(shared.clone()), "").unwrap().open_array(name).unwrap()
}

/// The dataset that defines the variable knows the length that the series gave the others.
#[test]
fn a_variable_that_comes_when_another_program_has_made_the_run_longer_is_no_success_of_the_series() {
    let calls: [fn(&mut Series) -> Result<()>; 3] = [Series::flush, Series::close, |series| steps(series, 1, 4)];
    for (i, call) in calls.into_iter().enumerate() {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&inner);
        let ds = Dataset::open(Group::open(&on(other(&inner)), "").unwrap()).unwrap();
        let mut first = Series::open(&ds, "time", None, 1, 0).unwrap();
        steps(&mut first, 1, 3).and_then(|()| first.flush()).unwrap();
        let group = Group::open(&on(process(&inner, false, "a third process:", |_| Ok(()))), "").unwrap();
        for name in ["t", "p", "s", "time"] {
            let array = group.open_array(name).unwrap();
            let shape: Vec<u64> = array.shape().iter().enumerate().map(|(d, &n)| n + 2 * u64::from((d == 1) == (name == "p"))).collect();
            array.resize(&shape, false).unwrap();
        }
        ds.define_variable("w", &VariableSpec::new(DataType::Int32, &["time"]), Create::New).unwrap();
        let e = call(&mut first).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::State, "call {i}: {e}");
        assert!(first.close().is_err_and(|e| e.kind() == ErrorKind::State), "call {i}");
        drop(first);
        let mut next = series(other(&inner), 1).unwrap();
        assert_eq!(next.position().0, 5, "call {i}");
        next.close().unwrap();
        let long = Group::open(&on(inner), "").unwrap().open_array("w").unwrap();
        assert_eq!(read_all(&long), [0; 5], "call {i}");
    }
}
