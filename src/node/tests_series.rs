//! Tests of series: what readers see at each moment, whatever write fails.

use super::resize::Outside;
use super::tests::{far_from, new_dataset, own, read_all, view};
use super::tests_growth::Folder;
use super::tests_store::{Next, Plain, Told, anew, left_whole, on, told};
use super::tests_swap::Overtaken;
use super::tests_together::failing_once;
use super::*;
use crate::codec::registered;
use crate::dtype::{DataType, Element};
use crate::engine::{Memory, Selection};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::c_strides;
use crate::platform::libc;
use crate::settings::apart;
use crate::store::fault;
use crate::store::memory::MemoryStore;
use crate::store::os::Call;
use crate::store::suite::TestFolder;
use crate::store::{Condition, get};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

const STEPS: u64 = 11;

pub(super) fn dataset(store: &Store) -> Dataset {
    Dataset::open(Group::open(store, "").unwrap()).unwrap()
}

/// A run with a field in chunks of 4 steps, one whose time is the second dimension, in chunks of 3, and a series of numbers.
pub(super) fn define(store: &Store, format: Format) {
    try_define(store, format, Create::New).unwrap();
}

fn try_define(store: &Store, format: Format, how: Create) -> Result<()> {
    let ds = Dataset::create(store, "", Some(format), how)?;
    ds.define_time("time", 0, Some(5), "days since 2026-01-01", "standard", Create::New)?;
    ds.define_dimension("x", 3)?;
    let define = |name: &str, dimensions: &[&str], chunks: &[u64]| {
        let variable = VariableSpec { chunks: Some(chunks.to_vec()), ..VariableSpec::new(DataType::Int32, dimensions) };
        ds.define_variable(name, &variable, Create::New).map(drop)
    };
    define("t", &["time", "x"], &[4, 2])?;
    define("p", &["x", "time"], &[3, 3])?;
    define("mean", &["time"], &[5])?;
    ds.close()
}

fn value(step: u64, x: u64) -> i32 {
    (10 * step + x + 1) as i32
}

fn put(series: &mut Series, name: &str, values: &mut [i32]) -> Result<()> {
    own!(series.put(name, |array, shape| Ok(view(&mut values[..], shape)).inspect(|_| assert_eq!(array.rank(), shape.len()))))
}

fn defined(format: Format) -> Store {
    let store = Store::memory(&Context::with_threads(1));
    define(&store, format);
    store
}

/// A run, its dataset, and a series that publishes each step.
fn begun(format: Format) -> (Store, Dataset, Series) {
    let store = defined(format);
    let ds = dataset(&store);
    let series = Series::open(&ds, "time", None, 1, 0).unwrap();
    (store, ds, series)
}

/// Steps from where the series is; the numbers are left out of odd ones.
pub(super) fn run(series: &mut Series, to: u64) -> Result<()> {
    for step in series.position().0..to {
        put(series, "t", &mut [0, 1, 2].map(|x| value(step, x)))?;
        put(series, "p", &mut [0, 1, 2].map(|x| -value(step, x)))?;
        if step.is_multiple_of(2) {
            put(series, "mean", &mut [value(step, 9)])?;
        }
        series.step(step as f64)?;
    }
    Ok(())
}

/// What a reader that goes by consolidated metadata finds: all variables have the same steps, whole ones.
pub(super) fn check(store: &Store) -> u64 {
    // Tests beside this one change stores of the same name, which is that of all stores in memory: then one looks again.
    let mut opened = (0..99).map(|_| Group::open(&anew(store), "").unwrap());
    let group = opened.find(|group| group.catalog().unwrap().is_some()).unwrap();
    let of = |name: &str| read_all(&group.open_array(name).unwrap());
    let time = of("time");
    let steps = time.len() as u64;
    assert_eq!(time, (0..steps as i32).collect::<Vec<_>>());
    assert_eq!(of("t"), (0..steps).flat_map(|s| (0..3).map(move |x| value(s, x))).collect::<Vec<_>>());
    assert_eq!(of("p"), (0..3).flat_map(|x| (0..steps).map(move |s| -value(s, x))).collect::<Vec<_>>());
    assert_eq!(of("mean"), (0..steps).map(|s| if s.is_multiple_of(2) { value(s, 9) } else { 0 }).collect::<Vec<_>>());
    steps
}

#[test]
fn all_variables_of_a_step_are_published_at_once() {
    for format in [Format::V2, Format::V3] {
        for (every, published) in [(0, 8), (1, 11), (3, 9)] {
            let store = defined(format);
            let ds = dataset(&store);
            let mut series = Series::open(&ds, "time", None, every, 0).unwrap();
            run(&mut series, STEPS).unwrap();
            assert_eq!((series.position(), check(&store)), ((STEPS, published), published), "{format:?} {every}");
            assert_eq!(ds.dimension("time").unwrap().length, published);
            series.flush().unwrap();
            assert_eq!((series.position(), check(&store)), ((STEPS, STEPS), STEPS));
            drop(series);
            ds.close().unwrap();
            assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
        }
    }
}

/// What is asked of a store with latency that is to be asked at the same time for several variables.
pub(super) struct Meeting {
    /// What was asked since it began, in order.
    asked: Arc<(Mutex<Option<Vec<String>>>, Condvar)>,
    is_alone: Arc<AtomicBool>,
}

impl Meeting {
    /// A store with latency over `near` in which each change and each look of which `kind` tells a kind and a variable waits until one of the same kind has
    /// come of another variable.
    pub(super) fn at(near: &Store, kind: fn(&str) -> Option<(&'static str, &str)>) -> (Store, Meeting) {
        let meeting = Meeting { asked: Arc::default(), is_alone: Arc::default() };
        let (asked, is_alone) = (meeting.asked.clone(), meeting.is_alone.clone());
        let inner = told(near.shared().clone(), move |next| {
            let what = match next {
                Next::Change(key) => key.to_string(),
                Next::Opened(key) => format!("get {key}"),
                Next::List => "list".to_string(),
                _ => return Ok(()),
            };
            let (mut all, met) = (asked.0.lock().unwrap(), &asked.1);
            let Some(keys) = all.as_mut() else { return Ok(()) };
            keys.push(what.clone());
            met.notify_all();
            if let Some((wanted, of)) = kind(&what) {
                let other = |other: &String| kind(other).is_some_and(|(kind, other)| kind == wanted && other != of);
                let waited = met.wait_timeout_while(all, Duration::from_secs(20), |all| !all.iter().flatten().any(other)).unwrap().1;
                is_alone.fetch_or(waited.timed_out(), Ordering::Relaxed);
            }
            Ok(())
        });
        (far_from(&on(inner), Duration::ZERO), meeting)
    }

    /// What is asked during `work`, in which nothing waits in vain.
    pub(super) fn during(&self, work: impl FnOnce()) -> Vec<String> {
        *self.asked.0.lock().unwrap() = Some(Vec::new());
        work();
        let asked = self.asked.0.lock().unwrap().take().unwrap();
        assert!(!self.is_alone.load(Ordering::Relaxed), "{asked:?}");
        asked
    }
}

/// Where each request takes its time: the chunks of several variables, then their documents but the coordinate's, whose time comes last.
#[test]
fn variables_are_published_at_the_same_time_in_stores_with_latency() {
    let near = defined(Format::V3);
    let of = |key: &str| if key.contains("/c/") { "chunks" } else { "documents" };
    let (far, meeting) = Meeting::at(&near, |key| match key.split_once('/')? {
        ("time", _) => None,
        (name, _) if name.starts_with("get ") => None,
        (name, rest) => Some((if rest.starts_with("c/") { "chunks" } else { "documents" }, name)),
    });
    let ds = dataset(&far);
    let mut series = Series::open(&ds, "time", None, 0, 0).unwrap();
    run(&mut series, STEPS).unwrap();
    let asked = meeting.during(|| series.flush().unwrap());
    let keys: Vec<&str> = asked.iter().map(String::as_str).filter(|key| !key.starts_with("get ")).collect();
    assert!(!asked.iter().any(|key| key.ends_with(".zmetadata")), "no document of version 2 tells of them: {asked:?}");
    assert_eq!(keys[keys.len() - 2..], ["time/zarr.json", "zarr.json"], "{keys:?}");
    assert!(keys.is_sorted_by_key(|key| of(key) == "documents"), "{keys:?}");
    assert_eq!(check(&near), STEPS);
}

#[test]
fn a_series_looks_at_all_variables_at_the_same_time_and_claims_them_before_the_first_step() {
    let near = on(Arc::new(Overtaken::alone(defined(Format::V3).shared().clone(), false)));
    let (far, meeting) = Meeting::at(&near, |key| match key.split_once('/')? {
        (name, "ozarr-resize.json") => Some(("cuts", name)),
        // The first one is claimed before the others.
        (name, _) if name.starts_with("get ") || name == "mean" => None,
        (name, _) => Some(("claims", name)),
    });
    let (ds, mut series) = (dataset(&far), None);
    let asked = meeting.during(|| series = Some(Series::open(&ds, "time", None, 4, 0).unwrap()));
    assert!(asked.iter().filter(|key| key.ends_with("ozarr-resize.json")).count() == 4, "{asked:?}");
    let mut series = series.unwrap();
    let mut asked = meeting.during(|| run(&mut series, 1).unwrap());
    assert_eq!(asked[..2], ["get mean/zarr.json", "mean/zarr.json"]);
    asked.sort();
    let documents = ["mean", "p", "t", "time"].map(|name| format!("{name}/zarr.json"));
    let wanted: Vec<String> = documents.iter().map(|key| format!("get {key}")).chain(documents.iter().cloned()).collect();
    assert_eq!(asked, wanted, "each is read and put once");
    run(&mut series, STEPS).unwrap();
    series.flush().unwrap();
    assert_eq!(check(&near), STEPS);
}

#[test]
fn all_variables_of_a_run_are_cut_at_the_same_time_in_stores_with_latency() {
    let near = on(Arc::new(Overtaken::alone(defined(Format::V3).shared().clone(), false)));
    let mut series = Series::open(&dataset(&near), "time", None, 4, 0).unwrap();
    run(&mut series, STEPS).unwrap();
    series.close().unwrap();
    drop(series);
    let (far, meeting) = Meeting::at(&near, |key| match key.split_once('/')? {
        // The first one is claimed before the others.
        (name @ ("p" | "t"), "zarr.json") => Some(("claims", name)),
        (name @ ("mean" | "p" | "t"), "ozarr-resize.json") => Some(("cuts", name)),
        (name @ ("p" | "t"), _) => Some(("chunks", name)),
        _ => None,
    });
    let (ds, mut series) = (dataset(&far), None);
    meeting.during(|| series = Some(Series::open(&ds, "time", Some(4), 1, 0).unwrap()));
    assert_eq!(check(&near), 4);
    run(&mut series.unwrap(), STEPS).unwrap();
    assert_eq!(check(&near), STEPS);
}

#[test]
fn chunks_that_are_whole_with_a_step_are_stored_at_the_same_time_in_stores_with_latency() {
    let near = defined(Format::V3);
    let ds = dataset(&near);
    for name in ["a", "b"] {
        let variable = VariableSpec { chunks: Some(vec![1]), ..VariableSpec::new(DataType::Int32, &["time"]) };
        ds.define_variable(name, &variable, Create::New).unwrap();
    }
    let (far, meeting) = Meeting::at(&near, |key| match key.split_once('/')? {
        (name @ ("a" | "b"), "c/0") => Some(("chunks", name)),
        _ => None,
    });
    let mut series = Series::open(&dataset(&far), "time", None, 0, 0).unwrap();
    let mut values = [7, 8];
    meeting.during(|| {
        own!(series.step_with(0.0, &["a", "b"], |i, _, shape| Ok(view(&mut values[i..=i], shape)))).unwrap();
    });
    series.close().unwrap();
    assert_eq!(["a", "b"].map(|name| read_all(&Array::open(&near, name).unwrap())), [[7], [8]]);
}

/// Registers a codec that is to be called in this thread only; gives its calls in others.
fn staying_here(name: &str) -> Arc<Mutex<Vec<&'static str>>> {
    let (elsewhere, here) = (Arc::new(Mutex::new(Vec::new())), thread::current().id());
    let noted = elsewhere.clone();
    let note = move |what| {
        if thread::current().id() != here {
            noted.lock().unwrap().push(what);
        }
        if what == "encode" {
            // Meanwhile other threads take what is left.
            thread::sleep(Duration::from_millis(20));
        }
    };
    registered::register(Some(name), None, Arc::new(Plain(Arc::new(note))), false).unwrap();
    elsewhere
}

#[test]
fn codecs_that_stay_in_the_thread_of_the_call_do_where_variables_are_published_at_the_same_time() {
    let elsewhere = staying_here("test.here");
    let near = defined(Format::V3);
    let ds = dataset(&near);
    for name in ["a", "b", "c"] {
        let mut spec = Spec::without_shape(DataType::Int32, 1).unwrap();
        spec.set_codecs_json(r#"[{"name": "bytes", "configuration": {"endian": "little"}}, "test.here"]"#).unwrap();
        let variable = VariableSpec { spec: Some(spec), chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
        ds.define_variable(name, &variable, Create::New).unwrap();
    }
    ds.close().unwrap();
    let far = far_from(&near, Duration::from_millis(2));
    let ds = dataset(&far);
    let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
    for step in 0..3 {
        ["a", "b", "c"].iter().for_each(|name| put(&mut series, name, &mut [step]).unwrap());
        series.step(f64::from(step)).unwrap();
    }
    drop(series);
    assert_eq!(read_all(&Array::open(&near, "b").unwrap()), [0, 1, 2]);
    assert!(registered::unregister("test.here"));
    assert_eq!(*elsewhere.lock().unwrap(), [""; 0]);
}

#[test]
fn codecs_that_stay_in_the_thread_of_the_call_do_where_arrays_get_them_that_are_copied_at_the_same_time() {
    let elsewhere = staying_here("test.here.copied");
    let near = Store::memory(&Context::default());
    Group::create(&near, "g", None, Create::New).unwrap();
    for path in ["g/a", "g/b", "g/c"] {
        super::tests::write_all(&Array::create(&near, path, &super::tests::spec(&[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    }
    let far = far_from(&near, Duration::from_millis(2));
    let codecs = r#"[{"name": "bytes", "configuration": {"endian": "little"}}, "test.here.copied"]"#;
    let mut change = |_: &str, spec: &mut Spec| spec.set_codecs_json(codecs);
    far.rechunk_node("g", (&far, "copy"), RechunkOptions::default(), &mut change, &mut |_, _| Ok(())).unwrap();
    assert_eq!(read_all(&Array::open(&near, "copy/b").unwrap()), [1, 2, 3, 4]);
    assert!(registered::unregister("test.here.copied"));
    assert_eq!(*elsewhere.lock().unwrap(), [""; 0]);
}

#[test]
fn what_was_put_of_a_step_is_kept_when_the_steps_before_it_are_flushed() {
    for format in [Format::V2, Format::V3] {
        // Where a chunk begins, and in the midst of one.
        for steps in [1, 3, 4, 6, 8] {
            let store = defined(format);
            let ds = dataset(&store);
            let mut series = Series::open(&ds, "time", None, 100, 0).unwrap();
            run(&mut series, steps).unwrap();
            put(&mut series, "t", &mut [0, 1, 2].map(|x| value(steps, x))).unwrap();
            series.flush().unwrap();
            assert_eq!(check(&store), steps);
            put(&mut series, "p", &mut [0, 1, 2].map(|x| -value(steps, x))).unwrap();
            series.flush().unwrap();
            if steps.is_multiple_of(2) {
                put(&mut series, "mean", &mut [value(steps, 9)]).unwrap();
            }
            series.step(steps as f64).unwrap();
            run(&mut series, STEPS).unwrap();
            series.flush().unwrap();
            assert_eq!(check(&store), STEPS, "{format:?} {steps}");
        }
    }
}

/// The run goes on, and another array comes, behind each key of the copy in turn.
#[test]
fn a_copy_of_a_run_that_goes_on_has_all_of_the_steps_that_it_tells_of() {
    for (format, verify) in [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, false), (format, true)]) {
        for at in 1.. {
            let mut keys = 0;
            let (store, to) = (Store::memory(&Context::with_threads(1)), Store::memory(&Context::with_threads(1)));
            define(&store, format);
            let ds = dataset(&store);
            let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
            run(&mut series, 5).unwrap();
            let mut told = |done, all| {
                keys = all;
                if done != at {
                    return Ok(());
                }
                let mut spec = Spec::new(DataType::Int32, &[])?;
                spec.set_format(format)?;
                Array::create(&store, "late", &spec, Create::New)?;
                run(&mut series, STEPS)
            };
            store.copy_node("", (&to, ""), Create::New, verify, &mut told).unwrap_or_else(|e| panic!("{format:?} {verify} {at}: {e}"));
            assert_eq!((check(&store), check(&to)), (STEPS, 5), "{format:?} {verify} {at}");
            assert_eq!(to.node_kind("late").unwrap(), NodeKind::None);
            if at >= keys {
                break;
            }
        }
    }
}

/// The write that fails is each one in turn, and so are all that follow, as in a full disk or after a kill.
#[test]
fn whatever_write_fails_readers_see_whole_steps_and_the_run_goes_on() {
    for (call, every, by) in [(Call::Rename, 1, 3), (Call::Write, 2, 7), (Call::Open, 3, 23), (Call::Rename, 0, 1)] {
        let mut lengths = std::collections::BTreeSet::new();
        for after in (0..).step_by(by * apart(3)) {
            let Folder(_root, store) = Folder::new("fails");
            define(&store, Format::V3);
            let ds = dataset(&store);
            let mut series = Series::open(&ds, "time", None, every, 0).unwrap();
            let done = fault::failing(call, after, libc::ENOSPC, || {
                let done = run(&mut series, STEPS).and_then(|()| series.flush());
                if usize::is_multiple_of(after, 2) {
                    drop(series);
                    return done;
                }
                fault::with(&[], || {
                    // There is room again: what failed is done again by the same series.
                    if series.position().0 < STEPS {
                        for name in ["t", "p", "mean"] {
                            let step = series.position().0;
                            let n = if name == "t" { 1 } else { -1 };
                            let _ = match name {
                                "mean" if step.is_multiple_of(2) => put(&mut series, name, &mut [value(step, 9)]),
                                "mean" => Ok(()),
                                _ => put(&mut series, name, &mut [0, 1, 2].map(|x| n * value(step, x))),
                            };
                        }
                        let at = series.position().0 as f64;
                        series.step(at).unwrap();
                        run(&mut series, STEPS).unwrap();
                    }
                    series.flush().unwrap();
                });
                done
            });
            lengths.insert(check(&store));
            // The program begins again: it defines what is there, perhaps with one variable more, and closes the dataset, whose variables may differ
            // in length, or only opens it.
            let again = anew(&store);
            match after / by % 4 {
                0 => try_define(&again, Format::V3, Create::OpenIfSame),
                3 => try_define(&again, Format::V3, Create::OpenIfSame).and_then(|()| {
                    let ds = Dataset::create(&again, "", None, Create::OpenIfSame).unwrap();
                    ds.define_variable("added", &VariableSpec::new(DataType::Int32, &["time"]), Create::New)?;
                    ds.close()
                }),
                1 => dataset(&again).close(),
                _ => dataset(&again).variable("t").and_then(|_| dataset(&again).close()),
            }
            .unwrap_or_else(|e| panic!("{call:?} {after}: {e}"));
            let mut series = Series::open(&dataset(&again), "time", None, every, 0).unwrap();
            run(&mut series, STEPS).unwrap();
            series.flush().unwrap();
            assert_eq!(check(&store), STEPS, "{call:?} {after}");
            assert_eq!(Group::open(&again, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{call:?} {after}");
            if done.is_ok() {
                break;
            }
        }
        assert!(lengths.len() > 2, "{lengths:?}");
    }
}

/// The shape of an array as the consolidated metadata of the root say it.
fn listed(store: &Store, format: Format, path: &str) -> Vec<u64> {
    let (key, name) = if format == Format::V2 { (".zmetadata", format!("{path}/.zarray")) } else { ("zarr.json", path.to_string()) };
    let document = crate::metadata::json::parse_object(&store.key_get(key).unwrap().unwrap(), usize::MAX).unwrap();
    let all = if format == Format::V2 { &document } else { document["consolidated_metadata"].as_object().unwrap() };
    listed_lengths::shape_of(all["metadata"].as_object().unwrap()[name.as_str()].as_object().unwrap()).unwrap()
}

/// Makes the document of one array longer along a dimension, as a publication does that a kill ends.
fn lengthen(store: &Store, path: &str, d: usize, length: u64) {
    let array = Array::open(&anew(store), path).unwrap();
    let longer = |now: &[u64], _: &[u8]| Ok(now.iter().enumerate().map(|(i, &n)| if i == d { length } else { n }).collect());
    array.resize_document(longer, Outside::Erased).unwrap().settled.unwrap();
}

#[test]
fn a_change_of_attributes_tells_readers_no_length_that_is_not_published() {
    let options: [&[(&str, &str)]; 3] = [&[], &[("consolidate", "flush")], &[("consolidate", "step")]];
    for (format, options) in [Format::V2, Format::V3].into_iter().flat_map(|format| options.map(|options| (format, options))) {
        let root = TestFolder::new("attributes");
        let open = || {
            let options = [options, &[("file.sync", "none")]].concat();
            Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::ReadWrite, &options).unwrap()
        };
        let store = open();
        define(&store, format);
        let mut series = Series::open(&dataset(&store), "time", None, 1, 0).unwrap();
        run(&mut series, 8).unwrap();
        series.close().unwrap();
        drop(series);
        lengthen(&store, "t", 0, 10);
        let what = format!("{format:?} {options:?}");
        for (i, change) in ["set", "commit", "coordinate"].into_iter().enumerate() {
            let again = open();
            let t = Array::open(&again, "t").unwrap();
            match change {
                "set" => t.attributes().set("note", "n".into()).unwrap(),
                "commit" => {
                    t.attributes().begin().unwrap();
                    t.attributes().set("more", "n".into()).unwrap();
                    t.attributes().commit().unwrap();
                }
                _ => {
                    let ds = dataset(&again);
                    ds.set_coordinate("mean").unwrap();
                    ds.close().unwrap();
                }
            }
            again.flush_all().unwrap();
            assert_eq!(check(&store), 8, "{what} {change}");
            let t = Group::open(&open(), "").unwrap().open_array("t").unwrap();
            assert!(t.is_listed() && t.attributes().view().unwrap().len() > i, "{what} {change}");
        }
        let again = open();
        let mut series = Series::open(&dataset(&again), "time", None, 1, 0).unwrap();
        run(&mut series, STEPS).unwrap();
        series.close().unwrap();
        again.flush_all().unwrap();
        assert_eq!((check(&store), Group::open(&again, "").unwrap().consolidated_differences().unwrap()), (STEPS, Some(vec![])), "{what}");
    }
}

/// Killed between two documents, and moved or copied before it begins again: readers find the steps that were published. What waits for a flush is
/// there, too.
#[test]
fn a_run_that_is_renamed_or_copied_keeps_its_published_lengths() {
    for (kind, format, rename) in ["zarr", "memory"]
        .into_iter()
        .flat_map(|kind| [Format::V2, Format::V3].into_iter().flat_map(move |f| [(kind, f, true), (kind, f, false)]))
    {
        let (_root, store) = new_store(kind);
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        let ds = Dataset::create(&store, "run", Some(format), Create::New).unwrap();
        ds.define_time("time", 0, Some(5), "days since 2026-01-01", "standard", Create::New).unwrap();
        ds.define_variable("mean", &VariableSpec::new(DataType::Int32, &["time"]), Create::New).unwrap();
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        for step in 0..3 {
            put(&mut series, "mean", &mut [step]).unwrap();
            series.step(f64::from(step)).unwrap();
        }
        series.close().unwrap();
        drop((series, ds));
        lengthen(&Store::from_shared(&Context::with_threads(1), store.shared().clone(), Mode::ReadWrite), "run/mean", 0, 4);
        let told = |path: &str| Group::open(&anew(&store), path).unwrap().open_array("mean").unwrap().shape()[0];
        let before = told("run");
        group.consolidate().unwrap();
        group.attributes().set("note", "n".into()).unwrap();
        match rename {
            true => store.rename_node("run", "old").unwrap(),
            false => store.copy_node("run", (&store, "old"), Create::New, false, &mut |_, _| Ok(())).unwrap(),
        }
        // So do readers that go by a group above.
        let top = Group::open(&anew(&store), "").unwrap();
        let above = |path: &str| top.open_array(path).unwrap().shape()[0];
        assert_eq!([told("old"), above("old/mean"), above("old/time")], [before; 3], "{kind} {format:?} {rename}");
    }
}

/// Documents that a program stored which leaves consolidated metadata alone: lengths stay only where a run may publish them.
#[test]
fn a_change_of_attributes_lists_no_document_that_nobody_stored() {
    for (format, names, other, want) in [Format::V2, Format::V3].into_iter().flat_map(|format| {
        [(true, false, 8), (true, true, 5), (false, false, 5), (false, true, 5)].map(|(names, other, want)| (format, names, other, want))
    }) {
        let store = Store::memory(&Context::with_threads(1));
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        let create = |data_type, length: u64, how| {
            let mut spec = Spec::new(data_type, &[length]).unwrap();
            if names {
                spec.set_dimension_names(vec![Some("time".into())]).unwrap();
            }
            Array::create(&store, "t", &spec, how).unwrap()
        };
        create(DataType::Float64, 8, Create::New);
        group.consolidate().unwrap();
        let key = if format == Format::V2 { ".zmetadata" } else { "zarr.json" };
        let before = store.key_get(key).unwrap().unwrap();
        if other {
            create(DataType::Int32, 5, Create::Overwrite);
        } else {
            lengthen(&store, "t", 0, 5);
        }
        store.key_put(key, &before).unwrap();
        let again = anew(&store);
        Array::open(&again, "t").unwrap().attributes().set("note", "n".into()).unwrap();
        assert_eq!(listed(&again, format, "t"), [want], "{format:?} names {names} other {other}");
    }
}

#[test]
fn who_changes_one_length_tells_no_other() {
    let cases = [Format::V2, Format::V3].into_iter().flat_map(|format| ["append", "appender", "resize", "cut"].map(|how| (format, how)));
    for (format, how) in cases {
        let store = defined(format);
        let ds = dataset(&store);
        ds.define_dimension("obs", 5).unwrap();
        for (name, dimensions) in [("obs", &["obs"][..]), ("both", &["time", "obs"])] {
            ds.define_variable(name, &VariableSpec::new(DataType::Int32, dimensions), Create::New).unwrap();
        }
        ds.close().unwrap();
        lengthen(&store, "both", 1, 7);
        let again = anew(&store);
        let both = Array::open(&again, "both").unwrap();
        let step = &mut [1; 7];
        match how {
            "append" => own!(both.append(0, 1, &view(step, &[1, 7]))).unwrap(),
            "appender" => {
                let mut appender = Appender::open(&both, 0, 1, 0).unwrap();
                own!(appender.append(1, &view(step, &[1, 7]))).unwrap();
                appender.close().unwrap();
            }
            "resize" => both.resize(&[1, 7], false).unwrap(),
            _ => {
                both.begin_cut(&both.state(), cut::ERASED, &[3, 7]).unwrap();
                drop(Series::open(&dataset(&again), "time", None, 1, 0).unwrap());
            }
        }
        assert_eq!(listed(&again, format, "both"), [u64::from(how != "cut"), 5], "{format:?} {how}");
        both.resize(&[1, 7], false).unwrap();
        both.resize(&[1, 7], false).unwrap();
        assert_eq!(listed(&again, format, "both"), [1, 7], "{format:?} {how}");
    }
}

/// A program makes one variable longer, and finds another one longer along another dimension.
#[test]
fn a_difference_of_ones_own_is_an_error_whatever_others_left() {
    for opens in [false, true] {
        let store = defined(Format::V3);
        lengthen(&store, "mean", 0, 8);
        let ds = dataset(&anew(&store));
        ds.variable("p").unwrap().resize(&[5, 0], false).unwrap();
        if opens {
            ds.variable("mean").unwrap();
        }
        let e = ds.close().unwrap_err();
        assert!(e.kind() == ErrorKind::Metadata && e.message().contains("\"x\""), "{e}");
        dataset(&anew(&store)).close().unwrap();
    }
}

/// Another program publishes while this one compares what is listed with the documents, and tells of them.
#[test]
fn who_opens_a_dataset_beside_a_publication_tells_equal_lengths() {
    for format in [Format::V2, Format::V3] {
        let (store, _, mut series) = begun(format);
        run(&mut series, 8).unwrap();
        series.close().unwrap();
        lengthen(&store, "t", 0, 10);
        let ds = dataset(&anew(&store));
        let differing = ds.compare(None).unwrap().differing;
        lengthen(&store, "p", 1, 10);
        ds.consolidate_for_growth(differing).unwrap();
        let lengths = [("t", 0), ("p", 1), ("mean", 0), ("time", 0)].map(|(name, d)| listed(&store, format, name)[d]);
        assert_eq!(lengths, [8; 4], "{format:?}");
    }
}

/// One document of a publication is stored that failed, or goes on, when the program flushes the store or consolidates its group.
#[test]
fn what_waits_for_a_flush_tells_no_length_that_is_not_published() {
    let hows = ["flush", "failed", "consolidate", "dropped", "dropped flush"];
    for (format, how) in [Format::V2, Format::V3].into_iter().flat_map(|format| hows.map(|how| (format, how))) {
        let root = TestFolder::new("waiting");
        let options: &[(&str, &str)] = if how.ends_with("flush") { &[("consolidate", "flush")] } else { &[] };
        let options = [options, &[("file.sync", "none")]].concat();
        let store = Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::ReadWrite, &options).unwrap();
        define(&store, format);
        let ds = dataset(&store);
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        run(&mut series, 8).unwrap();
        let variables = [("t", 0), ("p", 1), ("mean", 0), ("time", 0)];
        if !how.ends_with("flush") {
            // As a publication leaves it that failed in the consolidated metadata.
            variables.iter().for_each(|(name, d)| store.behind().note("", name, listed_lengths::Lengths::along(*d)));
        }
        // Behind five chunks and the first document.
        let running = fault::failing(Call::Rename, 6, libc::ENOSPC, || {
            assert_eq!(run(&mut series, 9).unwrap_err().kind(), ErrorKind::NoSpace);
            Some(series).filter(|_| !how.starts_with("dropped"))
        });
        let stored = variables.map(|(name, d)| Array::open(&anew(&store), name).unwrap().shape()[d]);
        assert_eq!(stored, [8, 8, 9, 8], "{format:?} {how}");
        if how == "consolidate" {
            Group::open(&store, "").unwrap().consolidate().unwrap();
        }
        store.flush_all().unwrap();
        let told = variables.map(|(name, d)| listed(&store, format, name)[d]);
        // The store was not flushed before.
        assert_eq!(told, [if how == "dropped flush" { 0 } else { 8 }; 4], "{format:?} {how}");
        drop(running);
        let mut series = Series::open(&dataset(&store), "time", None, 1, 0).unwrap_or_else(|e| panic!("{how}: {e}"));
        run(&mut series, STEPS).unwrap();
        drop(series);
        store.flush_all().unwrap();
        assert_eq!((check(&store), Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap()), (STEPS, Some(vec![])));
    }
}

/// The next step publishes what a full disk kept back; behind the close nothing is kept back.
#[test]
fn a_close_that_fails_says_that_its_steps_are_lost() {
    let (_root, store) = new_store("zarr");
    define(&store, Format::V3);
    let mut series = Series::open(&dataset(&store), "time", None, 100, 0).unwrap();
    run(&mut series, 3).unwrap();
    let flushed = fault::failing(Call::Rename, 0, libc::ENOSPC, || series.flush()).unwrap_err();
    let closed = fault::failing(Call::Rename, 0, libc::ENOSPC, || series.close()).unwrap_err();
    assert!(flushed.message().ends_with("(readers see 0 steps, 3 more wait: the next step, flush or close publishes them)"), "{flushed}");
    assert!(closed.message().ends_with("(readers see 0 steps, 3 more are lost)"), "{closed}");
}

/// A store below the group that has consolidated metadata, whose changes wait for the flush.
#[test]
fn groups_above_a_store_are_told_all_that_a_flush_tells() {
    let cases = [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, "ocean", "t"), (format, "ocean/t", "")]);
    for (format, below, path) in cases {
        let root = TestFolder::new("above");
        let open = |folder: &Path, options: &[(&str, &str)]| {
            Store::open(&Context::with_threads(1), folder.to_str().unwrap(), Mode::ReadWrite, options).unwrap()
        };
        let store = open(&root, &[]);
        let group = Group::create(&store, "", Some(format), Create::New).unwrap();
        Group::create(&store, "ocean", Some(format), Create::New).unwrap();
        let spec = Spec::new(DataType::Int32, &[8]).unwrap();
        Array::create(&store, "ocean/t", &spec, Create::New).unwrap();
        group.consolidate().unwrap();
        let own = open(&root.join(below), &[("consolidate", "flush")]);
        let t = Array::open(&own, path).unwrap();
        t.resize(&[10], false).unwrap();
        if !path.is_empty() {
            t.attributes().set("note", "n".into()).unwrap();
        }
        own.flush_all().unwrap();
        let group = Group::open(&open(&root, &[]), "").unwrap();
        let differences = group.consolidated_differences().unwrap();
        assert_eq!((listed(&store, format, "ocean/t"), differences), (vec![10], Some(vec![])), "{format:?} {below}");
    }
}

/// Runs of two dimensions, and of a dataset below another: each is published by a program of its own, and one was killed between two documents.
#[test]
fn what_is_not_published_along_other_dimensions_stays_so() {
    for format in [Format::V2, Format::V3] {
        let store = defined(format);
        let ds = dataset(&store);
        ds.define_dimension("obs", 5).unwrap();
        for (name, dimensions) in [("obs", &["obs"][..]), ("both", &["time", "obs"]), ("w", &["obs"])] {
            ds.define_variable(name, &VariableSpec::new(DataType::Int32, dimensions), Create::New).unwrap();
        }
        ds.close().unwrap();
        for name in ["w", "both"] {
            lengthen(&store, name, (name == "both") as usize, 7);
        }
        let lengths = || ["w", "both", "obs"].map(|name| *listed(&store, format, name).last().unwrap());
        let again = anew(&store);
        try_define(&again, format, Create::OpenIfSame).unwrap();
        assert_eq!(lengths(), [5; 3], "{format:?}");
        let mut series = Series::open(&dataset(&again), "time", None, 1, 0).unwrap();
        assert_eq!(lengths(), [5; 3], "{format:?}");
        run(&mut series, STEPS).unwrap();
        series.close().unwrap();
        dataset(&again).close().unwrap();
        assert_eq!((check(&store), lengths(), listed(&store, format, "both")), (STEPS, [5; 3], vec![STEPS, 5]), "{format:?}");
        drop(Series::open(&dataset(&again), "obs", None, 1, 0).unwrap());
        assert_eq!(Group::open(&again, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");

        let below = Dataset::create(&store, "ocean", None, Create::New).unwrap();
        below.define_dimension("time", 4).unwrap();
        for name in ["time", "t"] {
            below.define_variable(name, &VariableSpec::new(DataType::Int32, &["time"]), Create::New).unwrap();
        }
        below.close().unwrap();
        lengthen(&store, "ocean/t", 0, 6);
        let again = anew(&store);
        try_define(&again, format, Create::OpenIfSame).unwrap();
        drop(Series::open(&dataset(&again), "time", None, 1, 0).unwrap());
        assert_eq!(["t", "time"].map(|name| listed(&store, format, &format!("ocean/{name}"))), [[4]; 2], "{format:?}");
    }
}

#[test]
fn what_a_variable_has_beyond_the_others_is_cut_off_and_written_again() {
    let (store, _, mut series) = begun(Format::V3);
    run(&mut series, 6).unwrap();
    drop(series);
    let t = Array::open(&store, "t").unwrap();
    own!(t.append(0, 2, &view(&mut [9; 6], &[2, 3]))).unwrap();
    let mut series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
    assert_eq!((series.position(), check(&store)), ((6, 6), 6));
    run(&mut series, STEPS).unwrap();
    assert_eq!(check(&store), STEPS);
}

/// A store of several processes in which nothing can be erased.
struct Lasting(crate::store::SharedStore);

impl crate::store::Storage for Lasting {
    crate::store::forward!(0: open, put, list_keys, flush, describe);

    fn capabilities(&self) -> crate::store::Capabilities {
        crate::store::Capabilities { swaps: true, erasable: false, ..self.0.capabilities() }
    }

    fn erase_keys(&self, _: crate::store::Keys<'_>) -> Result<bool> {
        crate::error::bail!(Unsupported, "nothing can be erased")
    }
}

#[test]
fn a_series_that_begins_again_where_nothing_can_be_erased_keeps_what_it_has_claimed() {
    for format in [Format::V2, Format::V3] {
        let store = on(Arc::new(Lasting(defined(format).shared().clone())));
        for (keep, to) in [(0, 7), (4, 9), (2, 5)] {
            let mut series = Series::open(&dataset(&store), "time", Some(keep), 1, 0).unwrap();
            run(&mut series, to).and_then(|()| series.close()).unwrap_or_else(|e| panic!("{format:?}, {to} steps behind {keep}: {e}"));
            assert_eq!(check(&anew(&store)), to);
        }
    }
}

/// A restart from a checkpoint: the steps beyond it go for all variables at once, whatever write fails, in the next restart as well, and come
/// again. A series that is opened without a number of steps goes on from whole ones.
#[test]
fn cutting_off_steps_shows_whole_steps_whatever_write_fails() {
    let cases = [(Format::V3, Call::Rename), (Format::V2, Call::Rename), (Format::V3, Call::Unlink)];
    let cases = cases.into_iter().map(|(format, call)| (format, call, 6, Some(6)));
    for (format, call, cut, keep) in cases.chain([(Format::V3, Call::Rename, 6, None), (Format::V3, Call::Rename, 0, None)]) {
        let mut lengths = std::collections::BTreeSet::new();
        let mut points = (0, 0);
        loop {
            let Folder(_root, store) = Folder::new("fails");
            define(&store, format);
            let mut series = Series::open(&dataset(&store), "time", None, 1, 0).unwrap();
            run(&mut series, STEPS).unwrap();
            drop(series);
            let what = format!("{format:?} {call:?} {points:?} {keep:?}");
            let fails = |after: usize, keep: Option<u64>| {
                let ds = dataset(&anew(&store));
                let done =
                    fault::failing(call, after, libc::EIO, || Series::open(&ds, "time", keep, 1, 0).map(|series| series.position().0));
                (done.is_ok(), check(&store))
            };
            let (whole, found) = fails(points.0, Some(cut));
            let (again, then) = fails(points.1, keep);
            lengths.extend([found, then]);
            let mut series = Series::open(&dataset(&anew(&store)), "time", keep, 1, 0).unwrap();
            assert_eq!((series.position().0, check(&store)), (keep.unwrap_or(check(&store)), series.position().1), "{what}");
            run(&mut series, STEPS).unwrap();
            assert_eq!(check(&store), STEPS, "{what}");
            drop(series);
            let left = store.key_list("").unwrap().into_iter().filter(|key| key.ends_with("-resize.json"));
            assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{what}");
            let next = points.0 + apart(3);
            points = if again { (next, next % 5) } else { (points.0, points.1 + 5 * apart(2)) };
            if whole && again {
                break;
            }
        }
        assert!(lengths.contains(&cut) && (lengths.contains(&STEPS) || call == Call::Unlink), "{lengths:?}");
    }
}

/// A new store in a folder of its own, an archive, or memory.
fn new_store(kind: &str) -> (TestFolder, Store) {
    let (root, context) = (TestFolder::new(&format!("series.{kind}")), Context::with_threads(1));
    let store = match kind {
        "memory" => Store::memory(&context),
        _ => Store::open(&context, root.to_str().unwrap(), Mode::ReadWrite, &[("file.sync", "none")]).unwrap(),
    };
    (root, store)
}

#[test]
fn a_dataset_is_consolidated_from_its_first_moment() {
    for (kind, format) in ["zarr", "zip", "memory"].into_iter().flat_map(|kind| [(kind, Format::V2), (kind, Format::V3)]) {
        let (_root, store) = new_store(kind);
        let told = || Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap();
        let ds = Dataset::create(&store, "", Some(format), Create::New).unwrap();
        assert_eq!(told(), Some(vec![]), "{kind} {format:?}, without variables");
        ds.define_time("time", 0, Some(5), "days since 2026-01-01", "standard", Create::New).unwrap();
        assert_eq!(told(), Some(vec![]), "{kind} {format:?}, with a time axis");
        ds.define_variable("mean", &VariableSpec::new(DataType::Int32, &["time"]), Create::New).unwrap();
        assert_eq!(told(), Some(vec![]), "{kind} {format:?}, with a variable");
    }
}

/// The write that fails is each one in turn, and so are all that follow, as after a kill.
#[test]
fn a_new_dataset_is_never_without_consolidated_metadata() {
    let cases = [(Format::V2, Create::New), (Format::V3, Create::New), (Format::V2, Create::Overwrite), (Format::V3, Create::Overwrite)];
    for ((format, how), call) in cases.into_iter().flat_map(|case| [(case, Call::Rename), (case, Call::RenameNew)]) {
        let mut seen = 0;
        for after in 0.. {
            let (_root, store) = new_store("zarr");
            if how == Create::Overwrite {
                Group::create(&store, "", Some(format), Create::New).unwrap().attributes().set("old", 1.into()).unwrap();
            }
            let done = fault::failing(call, after, libc::EIO, || Dataset::create(&store, "", Some(format), how).map(drop));
            if let Ok(group) = Group::open(&anew(&store), "")
                && !group.attributes().names().unwrap().contains(&"old".to_string())
            {
                seen += 1;
                assert!(group.catalog().unwrap().is_some(), "{format:?} {how:?} {call:?} after {after}");
            }
            if done.is_ok() {
                break;
            }
        }
        assert!(seen > 0);
    }
}

/// The write that fails is each one in turn, and so are all that follow, as after a kill. The next run takes `Exists` for done.
#[test]
fn an_array_that_is_made_with_its_values_has_them_when_it_is_there() {
    let all = Selection::all(&[5]);
    let values = |store: &Store| {
        let mut got = [9; 5];
        Array::open(store, "x").map(|array| own!(array.read(&all, &view(&mut got, &[5]))).unwrap()).map(|()| got)
    };
    let cases = ["zarr", "zip", "memory"].into_iter().flat_map(|kind| [(kind, Format::V2), (kind, Format::V3)]);
    let cases = cases.flat_map(|(kind, format)| [(kind, format, true), (kind, format, false)]);
    for ((kind, format, as_coordinate), call) in
        cases.flat_map(|case| [Call::Rename, Call::RenameNew, Call::Write].map(|call| (case, call)))
    {
        let mut absent = 0;
        for after in 0.. {
            let (_root, store) = new_store(kind);
            Dataset::create(&store, "", Some(format), Create::New).unwrap();
            // The last chunks hold the fill value.
            let mut given = [1, 2, 3, 0, 0];
            let memory = view(&mut given, &[5]);
            let write = |array: &Array| own!(array.write(&all, &memory));
            let mut spec = Spec::new(DataType::Int32, &[5]).unwrap();
            spec.set_chunks(&[2]).unwrap();
            let make = || match as_coordinate {
                true => dataset(&anew(&store)).define_coordinate("x", 5, Some(2), DataType::Int32, None, Some(&write)).map(drop),
                false => own!(Array::create_from(&anew(&store), "x", &spec, &memory)).map(drop),
            };
            let done = fault::failing(call, after, libc::EIO, make);
            let told = format!("{kind} {format:?} {call:?} after {after}, as a coordinate: {as_coordinate}");
            match values(&anew(&store)) {
                Ok(got) => assert_eq!(got, [1, 2, 3, 0, 0], "{told}"),
                Err(e) => assert!(done.is_err() && e.kind() == ErrorKind::NotFound, "{told}: {e}"),
            }
            absent += usize::from(done.is_err());
            match make() {
                Err(e) if e.kind() == ErrorKind::Exists => {}
                again => again.unwrap_or_else(|e| panic!("{told}: {e}")),
            }
            assert_eq!(values(&anew(&store)).unwrap(), [1, 2, 3, 0, 0], "{told}");
            if done.is_ok() {
                break;
            }
        }
        let hits = match kind {
            "zarr" => true,
            "zip" => call == Call::Write,
            _ => false,
        };
        assert_eq!(absent > 0, hits, "{kind} {format:?} {call:?}");
    }
}

#[test]
fn an_archive_that_was_removed_while_it_was_open_is_begun_anew() {
    let (root, store) = new_store("zip");
    Group::create(&store, "", None, Create::New).unwrap();
    std::fs::remove_file(&root).unwrap();
    let anew = Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    Group::create(&anew, "", None, Create::New).unwrap();
    anew.flush().unwrap();
    drop((store, anew));
    let again = Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::Read, &[]).unwrap();
    assert!(Group::open(&again, "").is_ok());
}

/// The write that fails is each one in turn, and so are all that follow, as after a kill; then the program begins again. Groups
/// above what it makes are made with it.
#[test]
fn consolidated_metadata_have_what_a_program_makes_that_begins_again() {
    let cases = [(Format::V2, Create::OpenIfSame), (Format::V3, Create::OpenIfSame), (Format::V2, Create::New), (Format::V3, Create::New)];
    for ((format, how), call) in cases.into_iter().flat_map(|case| [(case, Call::Rename), (case, Call::RenameNew)]) {
        for after in (0..).step_by(apart(2)) {
            let (_root, store) = new_store("zarr");
            Group::create(&store, "", Some(format), Create::New).unwrap().consolidate().unwrap();
            let mut spec = Spec::new(DataType::Int32, &[5]).unwrap();
            spec.set_format(format).unwrap();
            let make = |store: &Store| -> Result<()> {
                let is_done = |e: Error| if [ErrorKind::Exists, ErrorKind::NotFound].contains(&e.kind()) { Ok(()) } else { Err(e) };
                Group::create(store, "g", Some(format), how).map(drop).or_else(is_done)?;
                Array::create(store, "g/far/x", &spec, how).map(drop).or_else(is_done)?;
                let copy = |to: &str| store.copy_node("g", (store, to), Create::New, false, &mut |_, _| Ok(())).or_else(is_done);
                copy("far/other")?;
                if store.node_kind("away/moved")? == NodeKind::None {
                    copy("copy")?;
                }
                store.rename_node("copy", "away/moved").or_else(is_done)
            };
            let done = fault::failing(call, after, libc::EIO, || make(&anew(&store)));
            make(&anew(&store)).unwrap();
            let differences = Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap();
            assert_eq!(differences, Some(vec![]), "{format:?} {how:?} {call:?} after {after}");
            if done.is_ok() {
                break;
            }
        }
    }
}

/// A group with an attribute, an array with values, and a group with another.
fn build(root: &Group) -> Result<()> {
    root.attributes().set("a", 1.into())?;
    let mut spec = Spec::new(DataType::Int32, &[5])?;
    spec.set_chunks(&[2])?;
    spec.set_format(root.format())?;
    Group::create(root.store(), "g", Some(root.format()), Create::New)?;
    for path in ["x", "g/y"] {
        let array = Array::create(root.store(), path, &spec, Create::New)?;
        own!(array.write(&Selection::all(&[5]), &view(&mut [1, 2, 3, 4, 5], &[5])))?;
    }
    Ok(())
}

/// Whether there is a group at `place` of what [`build`] makes, which is all there then.
fn is_built(store: &Store, place: &str) -> bool {
    let group = match Group::open(&anew(store), place) {
        Ok(group) => group,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::NotFound, "{e}");
            return false;
        }
    };
    if group.attributes().names().unwrap() != ["a"] {
        return false;
    }
    assert_eq!(group.consolidated_differences().unwrap(), Some(vec![]));
    ["x", "g/y"].iter().for_each(|path| assert_eq!(read_all(&group.open_array(path).unwrap()), [1, 2, 3, 4, 5]));
    true
}

/// The write that fails is each one in turn, and so are all that follow, as after a kill; then the same call is made again.
#[test]
fn a_group_that_is_made_as_a_whole_is_there_with_all_of_it() {
    let cases = ["zarr", "memory"].into_iter().flat_map(|kind| [(kind, Format::V2), (kind, Format::V3)]);
    let cases = cases.flat_map(|(kind, format)| ["", "h/i"].map(|place| (kind, format, place)));
    let cases = cases.flat_map(|case| [Create::New, Create::Overwrite].map(|how| (case, how)));
    for (((kind, format, place), how), call) in cases.flat_map(|case| [Call::Rename, Call::RenameNew, Call::Write].map(|call| (case, call)))
    {
        for after in (0..).step_by(apart(3)) {
            let (_root, store) = new_store(kind);
            if how == Create::Overwrite {
                Group::create(&store, place, Some(format), Create::New).unwrap().attributes().set("old", 1.into()).unwrap();
            }
            let make = || store.build_group(place, (Some(format), how), ("a source", ""), &mut |root| build(root));
            let done = fault::failing(call, after, libc::EIO, make);
            let text = format!("{kind} {format:?} {place:?} {how:?} {call:?} after {after}");
            assert!(is_built(&store, place) || done.is_err(), "{text}");
            if !is_built(&store, place) {
                make().unwrap_or_else(|e| panic!("{text}: {e}"));
            }
            assert!(is_built(&store, place), "{text}");
            let left = store.key_list("").unwrap();
            assert!(left.iter().all(|key| !key.ends_with(".begun") && !key.ends_with("copy.json") || done.is_err()), "{text}: {left:?}");
            if done.is_ok() {
                break;
            }
        }
    }
    let store = Store::memory(&Context::with_threads(1));
    Group::create(&store, "g", None, Create::New).unwrap();
    for (how, kind) in [(Create::New, ErrorKind::Exists), (Create::OpenIfSame, ErrorKind::Argument)] {
        assert_eq!(store.build_group("g", (None, how), ("a source", ""), &mut |root| build(root)).unwrap_err().kind(), kind);
    }
}

#[test]
fn a_group_does_not_take_the_place_of_the_file_that_it_is_made_of() {
    let (root, store) = new_store("zarr");
    Group::create(&store, "g", None, Create::New).unwrap();
    let file = root.join("g/file.nc");
    std::fs::write(&file, "a file").unwrap();
    for place in ["g", ""] {
        for how in [Create::Overwrite, Create::New] {
            let e = store.build_group(place, (None, how), (file.to_str().unwrap(), ""), &mut |root| build(root)).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Argument, "{e}");
        }
    }
    assert_eq!(std::fs::read(&file).unwrap(), b"a file");
    store.build_group("g/new", (None, Create::New), (file.to_str().unwrap(), ""), &mut |root| build(root)).unwrap();
}

#[test]
fn entries_are_in_one_order_whether_they_are_added_or_written_anew() {
    for format in [Format::V2, Format::V3] {
        let store = defined(format);
        let key = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let added = store.key_get(key).unwrap();
        Group::open(&anew(&store), "").unwrap().consolidate().unwrap();
        assert_eq!(added, store.key_get(key).unwrap(), "{format:?}");
    }
}

#[test]
fn a_second_series_is_refused_before_it_changes_anything() {
    let (_root, store) = new_store("zarr");
    define(&store, Format::V3);
    let mut series = Series::open(&dataset(&store), "time", None, 1, 0).unwrap();
    run(&mut series, 3).unwrap();
    let e = Series::open(&dataset(&anew(&store)), "time", Some(1), 1, 0).err().unwrap();
    assert!(e.kind() == ErrorKind::Again && ["\"time\"", "closed", "nothing was changed"].iter().all(|w| e.message().contains(w)), "{e}");
    run(&mut series, 5).unwrap();
    drop(series);
    assert_eq!((Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap().position(), check(&store)), ((5, 5), 5));
}

/// Each of the calls that look for a series fails once.
#[test]
fn a_group_with_an_open_series_is_not_erased_where_a_document_cannot_be_read() {
    for format in [Format::V2, Format::V3] {
        for call in [Call::Open, Call::Read] {
            let (root, store) = new_store("zarr");
            let below = Store::open(&Context::with_threads(1), root.join("run").to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
            define(&below, format);
            let _series = Series::open(&dataset(&below), "time", None, 1, 0).unwrap();
            let mut failed = 0;
            for after in 0.. {
                let one = fault::Fault { after, times: 1, ..fault::fail(call, libc::EIO) };
                let (done, left) = fault::with(&[one], || anew(&store).erase_node("run"));
                let e = done.unwrap_err();
                failed += usize::from(e.kind() == ErrorKind::Io);
                assert_eq!(store.node_kind("run/t").unwrap(), NodeKind::Array, "{format:?} {call:?} {after}: {e}");
                if left > 0 {
                    break;
                }
            }
            assert!(failed > 0, "{format:?} {call:?}");
        }
    }
}

/// The series of a group below the root.
#[test]
fn what_a_series_is_open_in_is_not_replaced_erased_renamed_nor_migrated() {
    type Replace<'a> = &'a dyn Fn(&Store) -> Result<()>;
    let (root, store) = new_store("zarr");
    let other = Store::memory(&Context::with_threads(1));
    define(&other, Format::V3);
    Group::create(&store, "", None, Create::New).unwrap();
    let below = |name: &str| Store::open(&Context::with_threads(1), root.join(name).to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let one = Spec::new(DataType::Int32, &[1]).unwrap();
    for format in [Format::V2, Format::V3] {
        define(&below("run"), format);
        let mut series = Series::open(&dataset(&below("run")), "time", None, 1, 0).unwrap();
        run(&mut series, 3).unwrap();
        let array = |store: &Store, path: &str| Array::create(store, path, &one, Create::Overwrite).map(drop);
        let group = |store: &Store, path: &str| Group::create(store, path, None, Create::Overwrite).map(drop);
        let refused: [(&str, Replace); 11] = [
            ("series of", &|store| Dataset::create(store, "run", None, Create::Overwrite).map(drop)),
            ("", &|store| group(store, "")),
            ("series of", &|store| array(store, "run")),
            ("series of", &|store| array(store, "run/t")),
            ("series of", &|store| store.erase_node("run/time")),
            ("", &|store| store.erase_node("")),
            ("series of", &|store| other.copy_node("", (store, "run"), Create::Overwrite, false, &mut |_, _| Ok(()))),
            ("series of", &|store| store.rename_node("run", "new/run")),
            ("series of", &|store| store.rename_node("run/t", "t")),
            ("series of", &|store| store.migrate("run", None, false, &mut |_, _| Ok(())).map(drop)),
            ("", &|store| store.migrate("", None, false, &mut |_, _| Ok(())).map(drop)),
        ];
        for (i, (what, replace)) in refused.iter().enumerate() {
            let e = replace(&anew(&store)).err().unwrap_or_else(|| panic!("{format:?}: {i} replaced it"));
            assert!(e.kind() == ErrorKind::Again && e.message().contains("nothing was changed") && e.message().contains(what), "{i}: {e}");
        }
        assert_eq!(store.node_kind("new").unwrap(), NodeKind::None);
        // An array by a location of its own.
        for replace in [&|store: &Store| store.migrate("", None, false, &mut |_, _| Ok(())).map(drop), &|store: &Store| array(store, "")]
            as [Replace; 2]
        {
            let e = replace(&below("run/t")).unwrap_err();
            assert!(e.kind() == ErrorKind::Again && e.message().contains("series of"), "{format:?}: {e}");
        }
        // What the series has no part of is anybody's.
        array(&anew(&store), "run/constant").and_then(|()| array(&anew(&store), "run/constant")).unwrap();
        run(&mut series, 5).unwrap();
        drop(series);
        assert_eq!(check(&below("run")), 5, "{format:?}");
        array(&anew(&store), "run/t").and_then(|()| group(&anew(&store), "")).unwrap();
    }
}

/// Other programs leave out the documents of groups; a kill of a migration, which makes those of the leaves first, does, too.
#[cfg(unix)]
#[test]
fn what_a_series_is_open_in_stays_below_folders_without_documents() {
    type Replace<'a> = &'a dyn Fn(&Store) -> Result<()>;
    let (root, store) = new_store("zarr");
    Group::create(&store, "", None, Create::New).unwrap();
    let inner = Store::open(&Context::with_threads(1), root.join("m/x/run").to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    define(&inner, Format::V3);
    std::os::unix::fs::symlink("..", root.join("m/x/loop")).unwrap();
    let from = Store::memory(&Context::with_threads(1));
    ["m", "m/x"].iter().for_each(|path| drop(Group::create(&from, path, Some(Format::V2), Create::New).unwrap()));
    define(&from.below("m/x/run", Mode::ReadWrite).unwrap(), Format::V2);
    let mut series = Series::open(&dataset(&inner), "time", None, 1, 0).unwrap();
    run(&mut series, 3).unwrap();
    let migrate = |store: &Store| from.migrate("m", Some((store, "m")), true, &mut |_, _| Ok(())).map(drop);
    let group = br#"{"zarr_format":3,"node_type":"group"}"#.to_vec();
    let marker = left_whole(&from, "m");
    let cases: [(&str, &[u8], Replace); 5] = [
        ("m/zarr.json", &group, &|store| store.erase_node("m")),
        ("m/zarr.json", &group, &|store| store.rename_node("m", "n")),
        ("m/zarr.json", &group, &|store| Group::create(store, "m", None, Create::Overwrite).map(drop)),
        ("m/zarr.json", &group, &|store| store.erase_node("")),
        ("m/ozarr-migration.json", &marker, &migrate),
    ];
    for (i, (key, bytes, replace)) in cases.iter().enumerate() {
        store.key_put(key, bytes).unwrap();
        let e = replace(&anew(&store)).err().unwrap_or_else(|| panic!("{i} replaced it"));
        assert!(e.kind() == ErrorKind::Again && e.message().contains("series of"), "{i}: {e}");
        if i < 4 {
            store.key_erase(key).unwrap();
        }
    }
    run(&mut series, 5).unwrap();
    drop(series);
    assert_eq!(check(&inner), 5);
    migrate(&anew(&store)).unwrap();
    assert_eq!(check(&inner), 0);
}

/// One is killed, and the next one goes on behind an earlier step; or goes on where it ended.
#[test]
fn a_copy_of_a_run_that_is_cut_meanwhile_is_told() {
    let again = |store: &Store, keep| {
        let mut series = Series::open(&dataset(&anew(store)), "time", keep, 1, 0).unwrap();
        run(&mut series, 12).unwrap();
        series
    };
    let cases = [("goes on", false), ("begun again", false), ("cut", true), ("cut, and at its end", true)];
    for (format, (what, is_cut)) in [Format::V2, Format::V3].into_iter().flat_map(|format| cases.map(|case| (format, case))) {
        for how in ["keys", "chunks", "migrated"] {
            let ((root, store), to) = (new_store("zarr"), Store::memory(&Context::with_threads(1)));
            define(&store, format);
            let mut series = Some(Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap());
            run(series.as_mut().unwrap(), 10).unwrap();
            let mut calls = 0;
            let mut progress = |_, _| {
                calls += 1;
                match what {
                    _ if calls != 1 => {}
                    "goes on" => run(series.as_mut().unwrap(), 12).unwrap(),
                    _ => {
                        // Its lock ends with it, as with a process that is killed.
                        drop(series.take());
                        let next = again(&store, (what != "begun again").then_some(6));
                        series = Some(next).filter(|_| what != "cut, and at its end");
                    }
                }
                Ok(())
            };
            let mut change = |_: &str, spec: &mut Spec| spec.set_chunks(&vec![2; spec.shape().len()]);
            let reader = Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::Read, &[]).unwrap();
            let done = match how {
                "keys" => reader.copy_node("", (&to, "g"), Create::New, false, &mut progress),
                "migrated" => reader.migrate("", Some((&to, "g")), true, &mut progress).map(drop),
                _ => reader.rechunk_node("", (&to, "g"), RechunkOptions::default(), &mut change, &mut progress).map(drop),
            };
            assert_eq!(done.as_ref().err().map(Error::kind), is_cut.then_some(ErrorKind::Again), "{what} {how} {format:?}: {done:?}");
            assert!(!is_cut || done.unwrap_err().message().contains("earlier step"), "{what} {how}");
            // What reads never removes the file: the run does, or the next one.
            if what == "cut, and at its end" {
                assert!(root.join(".ozarr.lock").exists(), "{what} {how}");
                series = Some(again(&store, None));
            }
            assert!(root.join(".ozarr.lock").exists(), "{what} {how}");
            drop(series);
            assert!(!root.join(".ozarr.lock").exists(), "{what} {how}");
        }
    }
}

/// The write that fails is each one in turn, and so are all that follow, as after a kill; the program makes the same calls again.
#[test]
fn a_program_that_is_killed_while_it_defines_a_run_completes_it_and_keeps_its_steps() {
    for (format, call) in [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, Call::Rename), (format, Call::RenameNew)]) {
        for after in (0..).step_by(apart(3)) {
            let (root, store) = new_store("zarr");
            let killed = fault::failing(call, after, libc::EIO, || try_define(&store, format, Create::OpenIfSame));
            drop(store);
            let store = Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::ReadWrite, &[("file.sync", "none")]).unwrap();
            for steps in [3, 7] {
                try_define(&store, format, Create::OpenIfSame).unwrap_or_else(|e| panic!("{format:?} {call:?} {after}: {e}"));
                run(&mut Series::open(&dataset(&store), "time", None, 1, 0).unwrap(), steps).unwrap();
                assert_eq!(check(&store), steps, "{format:?} {call:?} {after}");
            }
            if killed.is_ok() {
                break;
            }
        }
    }
}

#[test]
fn a_dataset_that_is_opened_again_tells_what_is_defined_otherwise() {
    for format in [Format::V2, Format::V3] {
        let store = defined(format);
        run(&mut Series::open(&dataset(&store), "time", None, 1, 0).unwrap(), 3).unwrap();
        let again = || Dataset::create(&anew(&store), "", None, Create::OpenIfSame).unwrap();
        let time = |length, units| again().define_time("time", length, Some(5), units, "standard", Create::New).map(drop);
        let variable = |data_type, chunks: &[u64], dimensions: &[&str]| {
            let variable = VariableSpec { chunks: Some(chunks.to_vec()), ..VariableSpec::new(data_type, dimensions) };
            again().define_variable("t", &variable, Create::New).map(drop)
        };
        // A specification whose shape is that at the first start.
        let mut spec = Spec::new(DataType::Int32, &[0, 3]).unwrap();
        spec.set_chunks(&[4, 2]).unwrap();
        let variable_by = |spec: &Spec| {
            let variable = VariableSpec { spec: Some(spec.clone()), ..VariableSpec::new(DataType::Int32, &["time", "x"]) };
            again().define_variable("t", &variable, Create::New).map(drop)
        };
        variable_by(&spec).unwrap();
        spec.set_shape(&[0, 4]).unwrap();
        assert_eq!(variable_by(&spec).unwrap_err().kind(), ErrorKind::Argument);
        let same =
            [again().define_dimension("time", 0), time(3, "days since 2026-01-01"), variable(DataType::Int32, &[4, 2], &["time", "x"])];
        assert!(same.iter().all(Result::is_ok), "{same:?}");
        let others = [
            again().define_dimension("x", 4),
            again().define_dimension("time", 2),
            time(0, "hours since 2026-01-01"),
            time(2, "days since 2026-01-01"),
            variable(DataType::Int16, &[4, 2], &["time", "x"]),
            variable(DataType::Int32, &[4, 3], &["time", "x"]),
            variable(DataType::Int32, &[2, 4], &["x", "time"]),
            dataset(&store).define_dimension("time", 0),
        ];
        for (i, other) in others.into_iter().enumerate() {
            assert_eq!(other.unwrap_err().kind(), ErrorKind::Exists, "{format:?} {i}");
        }
        let define = |values: [f64; 2]| {
            let ds = again();
            let write = |array: &Array| own!(array.write(&Selection::all(&[2]), &Memory::of(&mut { values }, &[2], DataType::Float64)));
            let y = ds.define_coordinate("y", 2, None, DataType::Float64, Some("m"), Some(&write))?;
            ds.check_values(&y, &values.map(f64::to_ne_bytes).concat())
        };
        define([1.0, 2.0]).and_then(|()| define([1.0, 2.0])).unwrap();
        let e = define([1.0, 2.5]).unwrap_err();
        assert!(e.kind() == ErrorKind::Exists && e.to_string().contains("another value at 1"), "{e}");
        // Truth values are 0 and 1 in the store, whatever the attributes put in their place.
        let flags = |values: [u8; 2]| {
            let ds = again();
            let write = |array: &Array| own!(array.write(&Selection::all(&[2]), &Memory::of(&mut { values }, &[2], DataType::Bool)));
            let flag = ds.define_coordinate("flag", 2, None, DataType::Bool, None, Some(&write))?;
            ds.check_values(&flag, &values)
        };
        flags([7, 0]).and_then(|()| flags([1, 0])).unwrap();
        assert_eq!(flags([1, 2]).unwrap_err().kind(), ErrorKind::Exists);
    }
}

/// In a second version of a program, and while the series is open; by a specification of the shape of the first start, too.
#[test]
fn a_variable_that_comes_when_the_run_has_steps_has_the_chunks_of_one_that_was_there_before() {
    for format in [Format::V2, Format::V3] {
        let store = defined(format);
        let chunks = |ds: &Dataset, name: &str, spec: bool| {
            let spec = spec.then(|| Spec::new(DataType::Int32, &[0, 3]).unwrap());
            let variable = VariableSpec { spec, ..VariableSpec::new(DataType::Int32, &["time", "x"]) };
            let array = ds.define_variable(name, &variable, Create::New).unwrap();
            (array.chunk_shape().to_vec(), array.inner_chunk_shape().to_vec())
        };
        let expected = chunks(&dataset(&store), "first", false);
        let ds = dataset(&store);
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        run(&mut series, 3).unwrap();
        assert_eq!(chunks(&ds, "second", true), expected, "{format:?}, while the series is open");
        drop(series);
        let again = Dataset::create(&anew(&store), "", None, Create::OpenIfSame).unwrap();
        again.define_time("time", 0, Some(5), "days since 2026-01-01", "standard", Create::New).unwrap();
        assert_eq!((chunks(&again, "third", false), chunks(&again, "fourth", true)), (expected.clone(), expected), "{format:?}");
    }
}

/// An array of a length of 0 is one that grows.
#[test]
fn an_array_that_was_appended_to_is_the_same_as_it_was_made() {
    let store = Store::memory(&Context::with_threads(1));
    let create = |shape: &[u64]| Array::create(&store, "a", &Spec::new(DataType::Int32, shape).unwrap(), Create::OpenIfSame);
    let array = create(&[0, 2]).unwrap();
    array.resize(&[5, 2], false).unwrap();
    assert_eq!(create(&[0, 2]).unwrap().shape().to_vec(), [5, 2]);
    for shape in [&[0, 3][..], &[4, 2], &[0], &[0, 2, 0]] {
        assert_eq!(create(shape).err().unwrap().kind(), ErrorKind::Exists, "{shape:?}");
    }
}

/// Between two documents of a publication the variables differ, of which another program is not to be told that closes the dataset then, or that looked
/// at it then and closes it once the series is closed.
#[test]
fn a_dataset_is_closed_while_the_series_of_another_program_publishes() {
    let (_root, store) = new_store("zarr");
    define(&store, Format::V3);
    let mut series = Series::open(&dataset(&store), "time", None, 1, 0).unwrap();
    run(&mut series, 3).unwrap();
    let longer = Array::open(&anew(&store), "p").unwrap();
    longer.resize(&[3, 4], false).unwrap();
    dataset(&anew(&store)).close().unwrap();
    let early = dataset(&anew(&store));
    assert_eq!((early.dimension("time").unwrap().length, early.dimension("time").unwrap().longest), (3, 4));
    drop(series);
    // What differs in the store is no error of a program that only finds it.
    dataset(&anew(&store)).close().unwrap();
    let appending = dataset(&anew(&store));
    appending.variable("p").unwrap().resize(&[3, 5], false).unwrap();
    let e = appending.close().unwrap_err();
    assert!(e.kind() == ErrorKind::Metadata && e.message().contains("resize the dimension"), "{e}");
    for (name, shape) in [("t", &[4, 3][..]), ("p", &[3, 4]), ("mean", &[4]), ("time", &[4])] {
        Array::open(&anew(&store), name).unwrap().resize(shape, false).unwrap();
    }
    early.close().unwrap();
    assert_eq!((early.dimension("time").unwrap().length, early.dimension("time").unwrap().longest), (4, 4));
}

/// Many objects for each step are put into shards; a run of few has chunks only, and version 2 has no shards.
#[test]
fn variables_that_would_make_very_many_objects_have_shards() {
    let large = [("time", 0), ("y", 1024), ("x", 1024)];
    let small = [("time", 0), ("y", 64), ("x", 64)];
    for (format, dimensions, chunk, inner) in [
        (Format::V3, large, [4, 1024, 1024], [1, 512, 512]),
        (Format::V2, large, [1, 512, 512], [1, 512, 512]),
        (Format::V3, small, [64, 64, 64], [64, 64, 64]),
    ] {
        let (_, ds) = new_dataset(Some(format));
        dimensions.iter().for_each(|(name, length)| ds.define_dimension(name, *length).unwrap());
        let array = ds.define_variable("t", &VariableSpec::new(DataType::Float32, &["time", "y", "x"]), Create::New).unwrap();
        assert_eq!((array.chunk_shape().as_slice(), array.inner_chunk_shape().as_slice()), (&chunk[..], &inner[..]), "{format:?}");
        let mut spec = Spec::new(DataType::Float32, &dimensions.map(|(_, length)| length)).unwrap();
        spec.set_format(format).unwrap();
        let why = spec.suggest().unwrap();
        assert_eq!(
            why.contains("in shards of [4 x 1024 x 1024]: 10000 steps make 2500 objects, and 40000 without"),
            chunk != inner,
            "{why}"
        );
    }
}

#[test]
fn more_steps_to_keep_than_there_are_are_refused() {
    let store = defined(Format::V3);
    let ds = dataset(&store);
    let mut series = Series::open(&ds, "time", Some(0), 1, 0).unwrap();
    run(&mut series, 3).unwrap();
    drop(series);
    let e = Series::open(&ds, "time", Some(4), 1, 0).err().unwrap();
    assert!(
        e.kind() == ErrorKind::Bounds
            && e.message().contains("found 3 steps")
            && e.message().contains("4 to keep")
            && e.message().ends_with("of 3 steps or fewer"),
        "{e}"
    );
    assert_eq!((check(&store), Series::open(&ds, "time", Some(3), 1, 0).unwrap().position()), (3, (3, 3)));
}

#[test]
fn steps_out_of_order_and_second_writers_are_told() {
    let (store, ds, mut series) = begun(Format::V3);
    run(&mut series, 3).unwrap();
    let kind = |result: Result<()>| result.unwrap_err().kind();
    put(&mut series, "t", &mut [1, 2, 3]).unwrap();
    assert_eq!(kind(put(&mut series, "t", &mut [1, 2, 3])), ErrorKind::State);
    assert_eq!(kind(put(&mut series, "u", &mut [1])), ErrorKind::NotFound);
    for (value, wanted) in
        [(2.0, ErrorKind::Argument), (1.0, ErrorKind::Argument), (f64::NAN, ErrorKind::Argument), (3.5, ErrorKind::Range)]
    {
        assert_eq!((kind(series.step(value)), series.position().0), (wanted, 3));
    }
    let e = series.step(2.0).unwrap_err();
    assert!(["found 2", "step 3", "more than 2"].iter().all(|w| e.to_string().contains(w)), "{e}");
    series.step(3.0).unwrap();
    // A restart at the wrong step.
    let mut second = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
    assert_eq!(kind(second.step(2.0)), ErrorKind::Argument);
    second.step(4.0).unwrap();
    let e = series.step(4.0).unwrap_err();
    assert!(e.kind() == ErrorKind::State && e.message().contains("this series expected"), "{e}");
    assert!(e.key().is_some_and(|key| key.ends_with("/zarr.json")) && e.field() == Some("shape"), "{e}");
    let e = Series::open(&ds, "time", None, 0, 100).err().unwrap();
    assert!(e.kind() == ErrorKind::Limit && e.message().contains("100"), "{e}");
    assert_eq!(Series::open(&ds, "tim", None, 0, 0).err().unwrap().kind(), ErrorKind::NotFound);
    ds.define_dimension("empty", 0).unwrap();
    assert_eq!(Series::open(&ds, "empty", None, 0, 0).err().unwrap().kind(), ErrorKind::Argument);
}

/// netCDF-C goes by the keys that closing a dataset writes.
#[test]
fn keys_of_netcdf_have_the_steps_of_a_series_that_is_closed_after_its_dataset() {
    for dataset_first in [true, false] {
        let options = Options { nczarr: Nczarr::On, ..Options::default() };
        let shared = Store::memory(&Context::with_threads(1)).shared().clone();
        let store = Store::new(&Context::with_threads(1), shared, Mode::ReadWrite, options);
        define(&store, Format::V2);
        let ds = dataset(&store);
        let mut series = Series::open(&ds, "time", None, 100, 0).unwrap();
        run(&mut series, 4).unwrap();
        let close_dataset = |ds: Dataset| ds.close().unwrap();
        let length = || Group::open(&store, "").unwrap().nc_dimensions().unwrap().unwrap()[0].length;
        if dataset_first {
            close_dataset(ds);
            assert_eq!(length(), 0);
            series.close().unwrap();
        } else {
            series.close().unwrap();
            close_dataset(ds);
        }
        assert_eq!((length(), check(&store)), (4, 4), "{dataset_first}");
    }
}

/// A value that is rounded to the last one would be twice in the index of the readers.
#[test]
fn values_that_the_coordinate_cannot_tell_apart_are_refused() {
    for (data_type, last, same, next) in [
        (DataType::Float32, 16_777_216.0, 16_777_217.0, 16_777_218.0),
        (DataType::Float32, -16_777_216.0, -16_777_217.0, -16_777_218.0),
        (DataType::Float16, 2048.0, 2049.0, 2050.0),
        (DataType::Float64, 16_777_216.0, 16_777_216.0, 16_777_217.0),
    ] {
        let (_, ds) = new_dataset(None);
        ds.define_dimension("time", 0).unwrap();
        ds.define_variable("time", &VariableSpec::new(data_type, &["time"]), Create::New).unwrap();
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        series.step(0.0).unwrap();
        series.step(last).unwrap();
        for restart in [false, true] {
            if restart {
                drop(series);
                series = Series::open(&ds, "time", None, 1, 0).unwrap();
            }
            let e = series.step(same).unwrap_err();
            let expected = if same == last { ErrorKind::Argument } else { ErrorKind::Range };
            assert!(e.kind() == expected && e.message().contains(&format!("{same}")), "{data_type:?}: {e}");
        }
        series.step(next).unwrap();
        assert_eq!(series.position(), (3, 3));
    }
}

#[test]
fn a_variable_that_another_program_replaced_is_told_and_left_alone() {
    type Edit = fn(&mut VariableSpec);
    let edits: &[(Edit, &str)] = &[
        (|v| v.data_type = DataType::Int16, "data type"),
        (|v| v.chunks = Some(vec![4, 1]), "chunks"),
        (|v| v.missing = Some(Element::from_slice(&7i32.to_ne_bytes())), "fill value"),
    ];
    for format in [Format::V2, Format::V3] {
        for (edit, what) in edits {
            let (store, _, mut series) = begun(format);
            let mut other = VariableSpec { chunks: Some(vec![4, 2]), ..VariableSpec::new(DataType::Int32, &["time", "x"]) };
            edit(&mut other);
            // Of another name, as another program's store is another one to this process.
            let elsewhere = Told { inner: store.shared().clone(), tell: |_: Next<'_>| Ok(()), name: Some("elsewhere") };
            let elsewhere = on(Arc::new(elsewhere));
            let replaced = dataset(&elsewhere).define_variable("t", &other, Create::Overwrite).unwrap();
            let e = run(&mut series, 1).unwrap_err();
            assert!(e.kind() == ErrorKind::State && e.to_string().contains(what), "{e}");
            drop(series);
            replaced.each_stored(&mut |chunk| panic!("{format:?}: {what}: {chunk:?} was stored")).unwrap();
        }
    }
}

#[test]
fn a_variable_that_is_defined_while_the_run_goes_on_takes_part_from_then_on() {
    for format in [Format::V2, Format::V3] {
        let store = defined(format);
        let ds = dataset(&store);
        let late = |name: &str| {
            let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
            ds.define_variable(name, &variable, Create::New).unwrap()
        };
        let mut series = Series::open(&ds, "time", None, 3, 1000).unwrap();
        run(&mut series, 4).unwrap();
        let (given, never) = (late("given"), late("never"));
        put(&mut series, "given", &mut [7]).unwrap();
        run(&mut series, 5).unwrap();
        series.flush().unwrap();
        assert_eq!((read_all(&given), read_all(&never)), (vec![0, 0, 0, 0, 7], vec![0; 5]), "{format:?}");
        assert_eq!(check(&store), 5);
        let variable = VariableSpec { chunks: Some(vec![1000]), ..VariableSpec::new(DataType::Int32, &["time"]) };
        ds.define_variable("large", &variable, Create::New).unwrap();
        assert_eq!(run(&mut series, 6).unwrap_err().kind(), ErrorKind::Limit);
        drop(series);
        // Nothing of the others is cut off.
        let mut series = Series::open(&dataset(&anew(&store)), "time", None, 3, 0).unwrap();
        assert_eq!(series.position(), (5, 5));
        run(&mut series, STEPS).unwrap();
        drop(series);
        assert_eq!(check(&store), STEPS, "{format:?}");
    }
}

/// In the place of one that has not the dimension: defined over it or after it was erased, or renamed.
#[test]
fn a_variable_that_takes_the_place_of_another_one_takes_part_from_then_on() {
    let hows = ["overwrite", "erase", "names", "names before"];
    for (format, how) in [Format::V2, Format::V3].into_iter().flat_map(|format| hows.map(|how| (format, how))) {
        let store = defined(format);
        let ds = dataset(&store);
        ds.define_dimension("n", 0).unwrap();
        let define = |dimension: &str, create| {
            let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &[dimension]) };
            ds.define_variable("mask", &variable, create).unwrap()
        };
        let mask = define("n", Create::New);
        let rename = || mask.set_dimension_names(&[Some("time".to_string())]).unwrap();
        if how == "names before" {
            rename();
        }
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        run(&mut series, 4).unwrap();
        match how {
            "overwrite" => drop(define("time", Create::Overwrite)),
            "erase" => {
                store.erase_node("mask").unwrap();
                define("time", Create::New);
            }
            "names" => rename(),
            _ => {}
        }
        run(&mut series, 5).unwrap();
        assert_eq!(listed(&store, format, "mask"), [5], "{format:?} {how}");
        put(&mut series, "mask", &mut [7]).unwrap();
        run(&mut series, 6).unwrap();
        drop(series);
        assert_eq!(read_all(&Array::open(&anew(&store), "mask").unwrap()), [0, 0, 0, 0, 0, 7], "{format:?} {how}");
        assert_eq!((check(&store), ds.dimension("time").unwrap().longest), (6, 6), "{format:?} {how}");
        ds.close().unwrap();
    }
}

/// Steps that other processes stored are published at once, with those of a variable that another program has defined; whoever made a variable longer
/// meanwhile keeps what is there.
#[test]
fn steps_that_others_stored_are_published_unless_another_program_was_faster() {
    for format in [Format::V2, Format::V3] {
        let (store, ds, mut series) = begun(format);
        let kind = |result: Result<()>| result.unwrap_err().kind();
        series.declare(0).unwrap();
        let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
        dataset(&anew(&store)).define_variable("late", &variable, Create::New).unwrap();
        assert_eq!(kind(put(&mut series, "nothing", &mut [1])), ErrorKind::NotFound);
        ds.variable("late").unwrap();
        for (published, end) in [(0, 3), (3, 5)] {
            // Stored behind the end.
            let others = Array::open(&anew(&store), "late").unwrap();
            others.resize(&[end], true).unwrap();
            own!(others.write(&Selection::all(&[end]), &view(&mut vec![7; end as usize], &[end]))).unwrap();
            others.resize(&[published], true).unwrap();
            series.declare(end).unwrap();
            series.declare(end).unwrap();
            assert_eq!((series.position(), dataset(&anew(&store)).dimension("time").unwrap().length), ((end, end), end), "{format:?}");
            assert_eq!(read_all(&Array::open(&anew(&store), "late").unwrap()), vec![7; end as usize]);
            assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
        }
        assert_eq!(kind(series.declare(4)), ErrorKind::Argument);
        put(&mut series, "t", &mut [1, 2, 3]).unwrap();
        assert_eq!(kind(series.declare(6)), ErrorKind::State);
        series.step(5.0).unwrap();
        series.declare(6).unwrap();
        dataset(&anew(&store)).resize_dimension("time", 9).unwrap();
        for (end, expected) in [(6, ErrorKind::State), (7, ErrorKind::State), (12, ErrorKind::State), (i64::MAX as u64, ErrorKind::Limit)] {
            assert_eq!(kind(series.declare(end)), expected, "{end}");
        }
        drop(series);
        assert_eq!(dataset(&anew(&store)).dimension("time").unwrap().length, 9, "{format:?}");
    }
}

#[test]
fn a_variable_that_comes_late_and_is_longer_than_the_steps_of_others_is_another_programs() {
    for format in [Format::V2, Format::V3] {
        let (store, ds, mut series) = begun(format);
        series.declare(3).unwrap();
        let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
        dataset(&anew(&store)).define_variable("longer", &variable, Create::New).unwrap();
        Array::open(&anew(&store), "longer").unwrap().resize(&[8], true).unwrap();
        ds.variable("longer").unwrap();
        for end in [3, 7, 8, 9] {
            assert_eq!(series.declare(end).unwrap_err().kind(), ErrorKind::State, "{format:?} {end}");
        }
    }
}

/// A write that fails between the documents of two variables leaves no step that the series takes for one of its own: the same call publishes all, and so does
/// one with more steps.
#[test]
fn steps_that_others_stored_are_published_by_a_later_call_whatever_write_failed() {
    for (format, later) in [(Format::V2, 3), (Format::V2, 5), (Format::V3, 3), (Format::V3, 5)] {
        let mut uneven = 0;
        for failing in 0.. {
            let store = defined(format);
            let faulty = Store::from_shared(&Context::with_threads(1), failing_once(store.shared(), failing), Mode::ReadWrite);
            let Ok(mut series) = Series::open(&dataset(&faulty), "time", None, 1, 0) else { continue };
            if series.declare(3).is_ok() {
                break;
            }
            let found = dataset(&anew(&store)).dimension("time").unwrap();
            uneven += usize::from(found.longest > found.length);
            assert_eq!(series.position(), (0, 0), "{format:?} {failing}");
            for end in [0, later, later] {
                series.declare(end).unwrap_or_else(|e| panic!("{format:?} {failing} {end}: {e}"));
            }
            let found = dataset(&anew(&store)).dimension("time").unwrap();
            assert_eq!((series.position(), found.length, found.longest), ((later, later), later, later), "{format:?} {failing}");
            series.close().unwrap();
            assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?} {failing}");
        }
        assert!(uneven > 2, "{format:?} {uneven}");
    }
}

/// Variables of other programs, which the run has not seen: shorter than the steps that are published, or without any.
#[test]
fn a_reader_of_a_run_that_was_begun_again_waits_for_the_steps_that_were_cut() {
    let store = defined(Format::V3);
    run(&mut Series::open(&dataset(&store), "time", None, 1, 0).unwrap(), 10).unwrap();
    let reader = dataset(&anew(&store));
    assert_eq!(reader.wait_growth("time", 9, Duration::ZERO).unwrap(), 10);
    let mut again = Series::open(&dataset(&store), "time", Some(5), 1, 0).unwrap();
    let e = reader.wait_growth("time", 6, Duration::ZERO).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Timeout);
    run(&mut again, 7).unwrap();
    assert_eq!(reader.wait_growth("time", 6, Duration::ZERO).unwrap(), 7);
    assert!(reader.along("time").unwrap().iter().all(|(_, array, d)| array.shape()[*d] == 7));
}

/// Programs that are coupled begin in any order: a reader that opened the dataset between its creation and its definitions.
#[test]
fn a_reader_that_comes_before_the_definitions_waits_for_the_first_steps() {
    for format in [Format::V2, Format::V3] {
        let store = Store::memory(&Context::with_threads(1));
        let writer = Dataset::create(&store, "", Some(format), Create::New).unwrap();
        let (reader, other) = (dataset(&anew(&store)), dataset(&anew(&store)));
        let e = reader.wait_growth("time", 0, Duration::ZERO).unwrap_err();
        assert!(e.kind() == ErrorKind::Timeout && e.message().contains("no dimension \"time\""), "{e}");
        writer.define_time("time", 0, Some(5), "days since 2026-01-01", "standard", Create::New).unwrap();
        let early = dataset(&anew(&store));
        std::thread::scope(|threads| {
            let waits = [&reader, &other, &early].map(|ds| threads.spawn(|| ds.wait_growth("time", 0, Duration::from_secs(60)).unwrap()));
            std::thread::sleep(Duration::from_millis(20));
            try_define(&anew(&store), format, Create::OpenIfSame).unwrap();
            run(&mut Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap(), 1).unwrap();
            assert_eq!(waits.map(|wait| wait.join().unwrap()), [1; 3], "{format:?}");
        });
        for ds in [&reader, &other, &early] {
            assert_eq!(ds.variables(), ["mean", "p", "t", "time"], "{format:?}");
        }
    }
}

#[test]
fn steps_that_are_published_while_a_run_is_migrated_in_place_are_kept() {
    let mut again = 0;
    for at in 0.. {
        let (store, _, mut series) = begun(Format::V2);
        run(&mut series, 4).unwrap();
        let (other, mut calls, mut went_on) = (anew(&store), 0, None);
        let done = other.migrate("", None, false, &mut |_, _| {
            calls += 1;
            if calls == at + 1 {
                went_on = Some(run(&mut series, 8));
            }
            Ok(())
        });
        if let Err(e) = done {
            assert_eq!(e.kind(), ErrorKind::Again, "{at}: {e}");
            again += 1;
            other.migrate("", None, false, &mut |_, _| Ok(())).unwrap();
        }
        let Some(went_on) = went_on else { break };
        let position = series.position().1;
        assert!(check(&store) >= position, "{at}: {went_on:?} {position}");
        assert!(store.key_list("").unwrap().iter().all(|key| !key.contains(".z")), "{at}");
    }
    assert!(again > 0);
}

#[test]
fn a_variable_of_another_program_cuts_nothing_off() {
    for format in [Format::V2, Format::V3] {
        for (has_coordinate, at) in [(true, 0), (true, 4), (false, 0), (false, 4)] {
            let (store, _, mut series) = begun(format);
            run(&mut series, at).unwrap();
            let others = dataset(&anew(&store));
            let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
            let foreign = others.define_variable("foreign", &variable, Create::New).unwrap();
            assert_eq!(foreign.shape()[0], at);
            run(&mut series, 7).unwrap();
            drop((series, others));
            if !has_coordinate {
                store.erase_node("time").unwrap();
            }
            let mut series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
            assert_eq!(series.position(), (7, 7), "{format:?} {has_coordinate} {at}");
            if has_coordinate {
                run(&mut series, STEPS).unwrap();
                drop(series);
                assert_eq!(check(&store), STEPS, "{format:?} {at}");
                assert_eq!(read_all(&Array::open(&anew(&store), "foreign").unwrap()), vec![0; STEPS as usize]);
            }
        }
    }
}

#[test]
fn variables_of_another_program_are_resized_with_the_dimension_that_they_have() {
    for format in [Format::V2, Format::V3] {
        for by_series in [true, false] {
            let store = defined(format);
            let ds = dataset(&store);
            run(&mut Series::open(&ds, "time", None, 1, 0).unwrap(), 7).unwrap();
            let other = dataset(&anew(&store));
            for (name, length) in [("same", 7), ("short", 2), ("long", 9)] {
                let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
                other.define_variable(name, &variable, Create::New).unwrap().resize(&[length], false).unwrap();
            }
            other.define_dimension("y", 3).unwrap();
            other.define_variable("y", &VariableSpec::new(DataType::Int32, &["y"]), Create::New).unwrap();
            match by_series {
                true => drop(Series::open(&ds, "time", Some(5), 1, 0).unwrap()),
                false => ds.resize_dimension("time", 5).unwrap(),
            }
            for name in ["same", "short", "long", "t"] {
                assert_eq!(Array::open(&anew(&store), name).unwrap().shape()[0], 5, "{format:?} {by_series} {name}");
            }
            assert_eq!((check(&store), ds.dimension("y").unwrap().length), (5, 3));
        }
    }
}

/// Output and diagnostics of one run come at times of their own: each dimension has a series, whose steps do not wait for the other's.
#[test]
fn several_dimensions_of_a_dataset_grow_side_by_side() {
    for format in [Format::V2, Format::V3] {
        let store = defined(format);
        let ds = dataset(&store);
        ds.define_coordinate("event", 0, Some(2), DataType::Float64, None, None).unwrap();
        let variable = VariableSpec { chunks: Some(vec![3, 2]), ..VariableSpec::new(DataType::Int32, &["x", "event"]) };
        ds.define_variable("hit", &variable, Create::New).unwrap();
        let open = |ds: &Dataset| ["time", "event"].map(|name| Series::open(ds, name, None, 1, 0).unwrap());
        let [mut times, mut events] = open(&ds);
        for round in 0..3u64 {
            run(&mut times, 2 * round + 2).unwrap();
            for event in [3 * round, 3 * round + 1, 3 * round + 2] {
                put(&mut events, "hit", &mut [0, 1, 2].map(|x| value(event, x))).unwrap();
                events.step(event as f64 / 4.0).unwrap();
            }
            assert_eq!(check(&store), 2 * round + 2);
            let seen = dataset(&anew(&store));
            assert_eq!(["time", "event"].map(|name| seen.dimension(name).unwrap().length), [2 * round + 2, 3 * round + 3]);
            // The one that is opened again finds its own steps.
            drop((times, events));
            [times, events] = open(&dataset(&anew(&store)));
        }
        assert_eq!(
            read_all(&Array::open(&store, "hit").unwrap()),
            (0..3).flat_map(|x| (0..9).map(move |e| value(e, x))).collect::<Vec<_>>()
        );
        assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
    }
}

#[test]
fn a_coordinate_may_be_given_as_integers_and_may_fall() {
    let (store, _, mut series) = begun(Format::V3);
    for step in 0..3i64 {
        let mut big = [(1i64 << 60) - (step << 40)];
        let memory = Memory::of(&mut big, &[1], DataType::Int64);
        own!(series.put("time", |_, _| Ok(memory))).unwrap();
        series.step(0.0).unwrap();
    }
    assert_eq!(series.position(), (3, 3));
    let mut falling = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
    assert_eq!(falling.step(2e18).unwrap_err().kind(), ErrorKind::Argument);
    falling.step(7.0).unwrap();
}

#[test]
fn a_coordinate_that_cannot_be_read_is_told_when_the_series_is_opened_again() {
    for format in [Format::V2, Format::V3] {
        let (store, _, mut series) = begun(format);
        let big = |series: &mut Series, more: i64| {
            let mut value = [(1i64 << 60) + more];
            let memory = Memory::of(&mut value, &[1], DataType::Int64);
            own!(series.put("time", |_, _| Ok(memory))).and_then(|()| series.step(0.0))
        };
        // No number of floating point is the same.
        [1, 1001].into_iter().for_each(|more| big(&mut series, more).unwrap());
        drop(series);
        let key = if format == Format::V2 { "time/0" } else { "time/c/0" };
        let good = get(&**store.shared(), key, 1 << 20).unwrap().unwrap();
        store.shared().put(key, &[b"damaged"], Condition::None).unwrap();
        let open = || Series::open(&dataset(&anew(&store)), "time", None, 1, 0);
        let e = open().err().unwrap();
        assert!(e.key().is_some_and(|found| found.ends_with(key)), "{e}");
        store.shared().put(key, &[&good], Condition::None).unwrap();
        let mut series = open().unwrap();
        assert_eq!(big(&mut series, 7).unwrap_err().kind(), ErrorKind::Argument);
        big(&mut series, 2001).unwrap();
    }
    // What is no number has no order.
    let seconds = crate::dtype::Unit::new("s", 1).unwrap();
    for data_type in
        [DataType::Bool, DataType::Complex128, DataType::Bytes(4), DataType::Text(4), DataType::Raw(4), DataType::DateTime(seconds)]
    {
        let (_, ds) = new_dataset(None);
        ds.define_dimension("time", 2).unwrap();
        ds.define_variable("time", &VariableSpec::new(data_type, &["time"]), Create::New).unwrap();
        let series = Series::open(&ds, "time", None, 1, 0).unwrap_or_else(|e| panic!("{data_type:?}: {e}"));
        assert_eq!(series.position(), (2, 2));
    }
}

/// The fill value (NaN) of the steps before it was defined is not one of its values.
#[test]
fn a_coordinate_that_came_late_may_rise_or_fall_also_after_a_restart() {
    for (direction, restart) in [(1.0, false), (-1.0, false), (1.0, true), (-1.0, true)] {
        let (store, ds) = new_dataset(None);
        ds.define_dimension("time", 0).unwrap();
        ds.define_variable("u", &VariableSpec::new(DataType::Int32, &["time"]), Create::New).unwrap();
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        series.step(0.0).unwrap();
        ds.define_variable("time", &VariableSpec::new(DataType::Float64, &["time"]), Create::New).unwrap();
        series.step(10.0).unwrap();
        if restart {
            drop(series);
            series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
        }
        series.step(10.0 + direction).unwrap_or_else(|e| panic!("{direction} {restart}: {e}"));
        assert_eq!(series.step(10.0).map_err(|e| e.kind()), Err(ErrorKind::Argument), "{direction} {restart}");
    }
}

#[test]
fn values_that_are_put_into_the_coordinate_go_on_as_those_of_steps_do() {
    let put_time = |series: &mut Series, value: f64, with_step: bool| {
        let mut value = [value];
        let memory = Memory::of(&mut value, &[1], DataType::Float64);
        match with_step {
            true => own!(series.step_with(0.0, &["time"], |_, _, _| Ok(memory.clone()))),
            false => own!(series.put("time", |_, _| Ok(memory))).and_then(|()| series.step(0.0)),
        }
    };
    for with_step in [false, true] {
        for (direction, restart) in [(1.0, false), (-1.0, false), (1.0, true)] {
            let (store, _, mut series) = begun(Format::V3);
            [10.0, 20.0].into_iter().for_each(|value| series.step(direction * value).unwrap());
            let back = |done: Result<()>| assert_eq!(done.map_err(|e| e.kind()), Err(ErrorKind::Argument), "{direction} {with_step}");
            [15.0, 20.0].into_iter().for_each(|value| back(put_time(&mut series, direction * value, with_step)));
            put_time(&mut series, direction * 30.0, with_step).unwrap();
            if restart {
                drop(series);
                series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
            }
            back(series.step(direction * 25.0));
            back(put_time(&mut series, f64::NAN, with_step));
            series.step(direction * 40.0).unwrap();
            assert_eq!(series.position(), (4, 4));
        }
    }
}

#[test]
fn a_step_that_is_given_again_after_a_number_that_does_not_fit_has_the_values_that_were_taken() {
    let (store, _, mut series) = begun(Format::V3);
    for (turn, mean) in [(0, 1e12), (1, 7.0), (2, 8.0)] {
        let (mut t, mut mean) = ([1, 2, 3].map(|x| x + 10 * turn), [mean]);
        let given = |i: usize, _: &Array, shape: &[u64]| match i {
            0 => Ok(view(&mut t[..], shape)),
            _ => Ok(Memory::of(&mut mean, shape, DataType::Float64)),
        };
        let done = own!(series.step_with(f64::from(turn), &["t", "mean"], given));
        assert_eq!(done.map_err(|e| e.kind()), if turn == 0 { Err(ErrorKind::Range) } else { Ok(()) });
    }
    assert_eq!(series.position(), (2, 2));
    let found = |name: &str| read_all(&Group::open(&anew(&store), "").unwrap().open_array(name).unwrap());
    assert_eq!((found("t"), found("mean"), found("p")), (vec![1, 2, 3, 21, 22, 23], vec![7, 8], vec![0; 6]));
}

/// Variables come late by another program, which are found before the step takes anything, or by a thread of this one meanwhile.
#[test]
fn a_step_gives_each_variable_its_own_values_where_others_come_late() {
    let cases: [(bool, &[&str]); 4] =
        [(true, &["time", "b", "u"]), (true, &["u", "time", "b"]), (false, &["time", "u"]), (false, &["u", "time"])];
    for (by_another, names) in cases {
        let (store, ds) = new_dataset(None);
        ds.define_time("time", 0, None, "days since 2026-01-01", "standard", Create::New).unwrap();
        let variable = VariableSpec::new(DataType::Int32, &["time"]);
        ds.define_variable("u", &variable, Create::New).unwrap();
        let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
        if by_another {
            dataset(&anew(&store)).define_variable("b", &variable, Create::New).unwrap();
        }
        let value = |name: &str| if name == "time" { 1000 } else { i32::from(name.as_bytes()[0]) };
        let mut values: Vec<[i32; 1]> = names.iter().map(|name| [value(name)]).collect();
        let given = |i: usize, _: &Array, shape: &[u64]| {
            if i == 0 && !by_another {
                ds.define_variable("b", &variable, Create::New)?;
            }
            Ok(view(&mut values[i][..], shape))
        };
        own!(series.step_with(0.0, names, given)).unwrap();
        assert_eq!(series.position(), (1, 1));
        let found = |name: &str| read_all(&Array::open(&anew(&store), name).unwrap());
        assert_eq!([found("time"), found("u"), found("b")], [[1000], [117], [if by_another { 98 } else { 0 }]], "{by_another} {names:?}");
    }
}

/// Another thread defines the variable, too, and the series knows it before this one does.
#[test]
fn a_variable_that_two_threads_define_is_as_long_as_a_series_makes_it() {
    type Task = Box<dyn FnOnce() + Send>;
    for how in [Create::New, Create::OpenIfSame, Create::Overwrite] {
        let due: Arc<Mutex<Option<Task>>> = Arc::default();
        let task = due.clone();
        let store = on(told(Arc::new(MemoryStore::new()), move |next| {
            // The variable is stored, and the group is told of it.
            let now = if matches!(next, Next::Change("zarr.json")) { task.lock().unwrap().take() } else { None };
            now.into_iter().for_each(|task| task());
            Ok(())
        }));
        let ds = Dataset::create(&store, "", Some(Format::V3), Create::New).unwrap();
        ds.define_dimension("time", 0).unwrap();
        define_along_time(&ds, "u");
        ds.close().unwrap();
        let variable = VariableSpec::new(DataType::Int32, &["time"]);
        let series = Arc::new(Mutex::new(Series::open(&ds, "time", None, 1, 0).unwrap()));
        let (other, others, same) = (ds.clone(), series.clone(), variable.clone());
        *due.lock().unwrap() = Some(Box::new(move || {
            other.define_variable("late", &same, Create::OpenIfSame).unwrap();
            put(&mut others.lock().unwrap(), "u", &mut [1]).unwrap();
        }));
        let defined = ds.define_variable("late", &variable, how).unwrap();
        assert!(due.lock().unwrap().is_none(), "{how:?}");
        series.lock().unwrap().step(0.0).unwrap();
        let lengths = [defined.shape()[0], ds.variable("late").unwrap().shape()[0], ds.dimension("time").unwrap().longest];
        assert_eq!((lengths, ds.dimension("time").unwrap().length), ([1; 3], 1), "{how:?}");
    }
}

#[test]
fn values_that_a_variable_cannot_take_are_told_before_anything_is_taken() {
    let (_, ds) = new_dataset(None);
    ds.define_dimension("time", 0).unwrap();
    for (name, data_type) in [("time", DataType::Raw(8)), ("p", DataType::Int32)] {
        ds.define_variable(name, &VariableSpec::new(data_type, &["time"]), Create::New).unwrap();
    }
    let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
    // The coordinate gets the number, one of another type, and what it takes.
    let steps: [(&[&str], DataType, bool); 3] =
        [(&["p"], DataType::Raw(8), false), (&["p", "time"], DataType::Int64, false), (&["p", "time"], DataType::Raw(8), true)];
    for (turn, (names, data_type, taken)) in steps.into_iter().enumerate() {
        let (mut p, mut time) = ([turn as i32], [0; 2]);
        let given = |i: usize, _: &Array, shape: &[u64]| match i {
            0 => Ok(view(&mut p[..], shape)),
            _ => Ok(Memory { strides: c_strides(shape, 8), data_type, ..view(&mut time, &[2]) }),
        };
        let done = own!(series.step_with(0.0, names, given));
        let told = |e: Error| (e.kind(), e.message().contains("(the variable \"time\")"));
        assert_eq!(done.map_err(told), if taken { Ok(()) } else { Err((ErrorKind::Type, true)) }, "{turn}");
    }
    assert_eq!(read_all(&ds.variable("p").unwrap()), [2]);
}

/// Closing a dataset looks whether a series is open, and takes the lock for a moment.
#[test]
fn a_series_is_opened_while_another_program_looks_for_one() {
    let folder = super::tests_growth::Folder::new("looks");
    let mut held = Some(document::lock_alone(&folder.1, "", "time").unwrap());
    let take = |wait: &mut dyn FnMut()| document::lock_alone_waiting(&folder.1, "", "time", wait);
    assert_eq!(take(&mut || {}).err().unwrap().kind(), ErrorKind::Again);
    assert!(take(&mut || drop(held.take())).unwrap().is_some());
}

/// A run without a coordinate.
fn define_without_coordinate(store: &Store, format: Format) {
    let ds = Dataset::create(store, "", Some(format), Create::New).unwrap();
    ds.define_dimension("time", 0).unwrap();
    for name in ["u", "w"] {
        define_along_time(&ds, name);
    }
    ds.close().unwrap();
}

fn define_along_time(ds: &Dataset, name: &str) {
    let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(DataType::Int32, &["time"]) };
    ds.define_variable(name, &variable, Create::New).unwrap();
}

fn run_without_coordinate(series: &mut Series, to: u64) -> Result<()> {
    for step in series.position().0..to {
        ["u", "w"].iter().try_for_each(|name| put(series, name, &mut [value(step, 0)]))?;
        series.step(step as f64)?;
    }
    Ok(())
}

/// Another handle defines `late` variables behind three of five steps, which are never put; the series is closed, or killed.
fn run_with_late(store: &Store, format: Format, late: &[&str], closed: bool) {
    define_without_coordinate(store, format);
    let mut series = Series::open(&dataset(store), "time", None, 1, 0).unwrap();
    run_without_coordinate(&mut series, 3).unwrap();
    let other = dataset(&anew(store));
    for name in late {
        match *name {
            "time" => drop(other.define_time("time", 3, Some(5), "days since 2026-01-01", "standard", Create::New).unwrap()),
            name => define_along_time(&other, name),
        }
    }
    other.close().unwrap();
    run_without_coordinate(&mut series, 5).unwrap();
    if closed {
        series.close().unwrap();
    }
}

fn values_to(end: u64) -> Vec<i32> {
    (0..end).map(|step| value(step, 0)).collect()
}

fn read(store: &Store, name: &str) -> Vec<i32> {
    read_all(&Group::open(&anew(store), "").unwrap().open_array(name).unwrap())
}

#[test]
fn a_variable_that_is_defined_meanwhile_and_never_put_cuts_nothing_off() {
    let lates: [&[&str]; 3] = [&["b"], &["time"], &["b", "time"]];
    let cases = [Format::V2, Format::V3].into_iter().flat_map(|format| lates.map(|late| (format, late)));
    for (format, late, closed) in cases.flat_map(|(format, late)| [(format, late, false), (format, late, true)]) {
        let what = format!("{format:?} {late:?} {closed}");
        let store = Store::memory(&Context::with_threads(1));
        run_with_late(&store, format, late, closed);
        for name in late {
            let length = if closed { 5 } else { 3 };
            assert_eq!((read(&store, name).len(), listed(&store, format, name)), (length, vec![length as u64]), "{what}");
        }
        // The documents have a step that was not published when a kill came.
        for kill in [false, true] {
            if kill {
                lengthen(&store, "u", 0, 6);
            }
            let series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
            assert_eq!(series.position(), (5, 5), "{what}");
            assert_eq!((read(&store, "u"), read(&store, "w")), (values_to(5), values_to(5)), "{what}");
            late.iter().for_each(|name| assert_eq!(listed(&store, format, name), [5], "{what}"));
            drop(series);
        }
        let mut series = Series::open(&dataset(&anew(&store)), "time", Some(4), 1, 0).unwrap();
        run_without_coordinate(&mut series, 7).unwrap();
        series.close().unwrap();
        assert_eq!((read(&store, "u"), read(&store, "w")), (values_to(7), values_to(7)), "{what}");
        late.iter().for_each(|name| assert_eq!(read(&store, name).len(), 7, "{what}"));
        assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{what}");
    }
}

#[test]
fn closing_a_series_gives_variables_that_came_meanwhile_the_steps_of_the_others() {
    for format in [Format::V2, Format::V3] {
        let (store, _, mut series) = begun(format);
        run(&mut series, 3).unwrap();
        let other = dataset(&anew(&store));
        ["never", "open"].iter().for_each(|name| define_along_time(&other, name));
        other.close().unwrap();
        run(&mut series, 5).unwrap();
        // A value of a step that is not ended.
        put(&mut series, "open", &mut [7]).unwrap();
        series.close().unwrap();
        for name in ["never", "open"] {
            assert_eq!((read(&store, name), listed(&store, format, name)), (vec![0; 5], vec![5]), "{format:?} {name}");
        }
        assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        assert_eq!(check(&store), 5);
    }
}

/// A series that another one has taken over from makes nothing longer when it is closed.
#[test]
fn closing_a_series_that_another_one_took_over_from_leaves_variables_as_they_are() {
    let store = on(Arc::new(Overtaken::alone(defined(Format::V3).shared().clone(), false)));
    let mut first = Series::open(&dataset(&store), "time", None, 1, 0).unwrap();
    run(&mut first, 5).unwrap();
    let other = dataset(&anew(&store));
    define_along_time(&other, "late");
    other.close().unwrap();
    let mut second = Series::open(&dataset(&anew(&store)), "time", Some(2), 1, 0).unwrap();
    assert_eq!(first.close().unwrap_err().kind(), ErrorKind::State);
    drop(first);
    assert_eq!(check(&store), 2);
    run(&mut second, 4).unwrap();
    second.close().unwrap();
    assert_eq!((check(&store), read(&store, "late").len()), (4, 4));
}

/// A cut ends as a cut, and what is published stays, whatever write fails where a variable came late.
#[test]
fn a_variable_that_came_late_neither_ends_nor_begins_a_cut() {
    let mut lengths = std::collections::BTreeSet::new();
    for (late, keep) in [(&["b"][..], Some(4)), (&["time"], Some(4)), (&["b", "time"], None)] {
        for after in (0..).step_by(apart(2)) {
            let Folder(_root, store) = Folder::new("late");
            run_with_late(&store, Format::V3, late, false);
            let ds = dataset(&anew(&store));
            let done = fault::failing(Call::Rename, after, libc::EIO, || Series::open(&ds, "time", keep, 1, 0).map(drop));
            drop(ds);
            let mut series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
            let position = series.position().0;
            assert!(position == 5 || Some(position) == keep, "{late:?} {keep:?} {after}: {position}");
            assert_eq!((read(&store, "u"), read(&store, "w")), (values_to(position), values_to(position)), "{late:?} {keep:?} {after}");
            lengths.insert(position);
            run_without_coordinate(&mut series, 7).unwrap();
            series.close().unwrap();
            assert_eq!((read(&store, "u"), read(&store, "w")), (values_to(7), values_to(7)), "{late:?} {keep:?} {after}");
            if done.is_ok() {
                break;
            }
        }
    }
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [4, 5]);
}

/// Consolidated metadata that another program left out of date: where they say more than a document, its program has cut it, and where they say less, the
/// documents count.
#[test]
fn consolidated_metadata_that_are_out_of_date_add_no_steps_and_cut_none_off() {
    // The documents of u and w, what is listed of them, and the steps.
    for (documents, listed, steps) in [
        ([5, 5], [3, 3], 5),
        ([6, 5], [5, 5], 5),
        ([3, 5], [5, 5], 3),
        ([3, 3], [5, 5], 3),
        ([5, 3], [5, 5], 3),
        ([0, 4], [9, 4], 4),
        ([4, 6], [9, 6], 4),
        ([6, 4], [6, 4], 6),
        ([6, 4], [4, 4], 4),
    ] {
        let store = Store::memory(&Context::with_threads(1));
        define_without_coordinate(&store, Format::V3);
        for (lengths, tells) in [(listed, true), (documents, false)] {
            for (name, length) in ["u", "w"].into_iter().zip(lengths) {
                let key = format!("{name}/zarr.json");
                let mut document = crate::metadata::json::parse_object(&store.key_get(&key).unwrap().unwrap(), usize::MAX).unwrap();
                document.insert("shape".into(), crate::metadata::number_list(&[length]));
                super::tests::put(&store, &key, &crate::metadata::Value::Object(document).to_string());
            }
            if tells {
                Group::open(&anew(&store), "").unwrap().consolidate().unwrap();
            }
        }
        let series = Series::open(&dataset(&anew(&store)), "time", None, 1, 0).unwrap();
        assert_eq!(series.position().0, steps, "{documents:?} {listed:?}");
    }
}

#[test]
fn values_of_a_step_that_was_not_ended_do_not_show_when_the_run_gets_longer() {
    for (format, closes, ended) in [(Format::V3, true, 3), (Format::V2, true, 3), (Format::V3, false, 3), (Format::V3, true, 2)] {
        let (store, ds, mut series) = begun(format);
        for step in 0..=ended {
            put(&mut series, "t", &mut [value(step, 0), value(step, 1), value(step, 2)]).unwrap();
            put(&mut series, "mean", &mut [value(step, 0)]).unwrap();
            if step < ended {
                series.step(step as f64).unwrap();
            }
        }
        if closes {
            series.close().unwrap()
        } else {
            drop(series)
        }
        ds.resize_dimension("time", 6).unwrap();
        let found = ["t", "mean"].map(|name| read_all(&Array::open(&store, name).unwrap()));
        let expected = |x: u64| (0..6).flat_map(move |t| (0..x).map(move |x| if t < ended { value(t, x) } else { 0 })).collect::<Vec<_>>();
        assert_eq!(found, [expected(3), expected(1)], "{format:?} {closes} {ended}");
    }
}
