//! Calls of several features at one hierarchy: what one has made, kept or noted, another finds, replaces or tells.

use super::tests::{kind, memory, object, own, put, read_all, spec, spec_as, spec_v2, view, write_all};
use super::tests_checkpoint::{fill, make, names, newest};
use super::tests_growth::Folder;
use super::tests_series::Meeting;
use super::tests_store::{Next, Told, told};
use super::*;
use crate::dtype::DataType;
use crate::engine::Memory;
use crate::error::{ErrorKind, err};
use crate::limits::c_strides;
use crate::metadata::{Value, json};
use crate::store::SharedStore;
use crate::store::memory::MemoryStore;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn open(shared: SharedStore, options: Options) -> Store {
    Store::new(&Context::with_threads(1), shared, Mode::ReadWrite, options)
}

#[test]
fn a_checkpoint_is_begun_where_nothing_of_others_is() {
    for format in [Format::V2, Format::V3] {
        let store = memory();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        let all = Checkpoints::new(&store, "").unwrap();
        make(&all, "t", 1).unwrap();
        make(&all, "t.3", 2).unwrap();
        // Its place would be that of the second one.
        let begun = all.begin("t").unwrap();
        assert_eq!((newest(&store, ""), names(&all)), (2, ["t", "t.3"].map(String::from).to_vec()), "{format:?}");
        fill(&begun, 3).unwrap();
        begun.commit().unwrap();
        assert_eq!(newest(&store, ""), 3);
        // So are an array and a group, and files that are of no node.
        let array = spec_as(format, &[2], &[2]);
        write_all(&Array::create(&store, "t.5", &array, Create::New).unwrap(), &mut [7, 8]);
        Group::create(&store, "t.6", None, Create::New).unwrap();
        put(&store, "output/table.csv", "1,2");
        for name in ["t", "output", "output"] {
            make(&all, name, 4).unwrap();
        }
        assert_eq!(read_all(&Array::open(&store, "t.5").unwrap()), [7, 8]);
        assert_eq!((store.node_kind("t.6").unwrap(), store.key_get("output/table.csv").unwrap()), (NodeKind::Group, Some(b"1,2".to_vec())));
        assert_eq!(newest(&store, ""), 4);
    }
}

#[test]
fn a_copy_over_its_own_source_is_refused_whichever_handles_name_it() {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    let memory: SharedStore = Arc::new(Told { inner: shared.clone(), tell: |_: Next<'_>| Ok(()), name: None });
    let server = |host: &str| {
        let named: SharedStore = Arc::new(Told { inner: shared.clone(), tell: |_: Next<'_>| Ok(()), name: Some("s3://bucket/run.zarr") });
        open(named, Options { server: vec![host.to_string()], ..Options::default() })
    };
    let user = |inner: &SharedStore| {
        open(Arc::new(Told { inner: inner.clone(), tell: |_: Next<'_>| Ok(()), name: Some("sqlite") }), Options::default())
    };
    let mine = user(&shared);
    let (part, cached) = (mine.below("", Mode::ReadWrite).unwrap(), mine.cached(1 << 20, Mode::ReadWrite).unwrap());
    let pairs = [
        (open(shared.clone(), Options::default()), open(memory, Options::default())),
        (server("a"), server("a")),
        (mine.clone(), part.clone()),
        (cached.clone(), mine.clone()),
        (part, cached.below("", Mode::ReadWrite).unwrap()),
    ];
    write_all(&Array::create(&pairs[0].0, "g/a", &spec(&[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    let options = RechunkOptions { format: None, memory: 0, link: false, how: Create::Overwrite, overflow: crate::dtype::Overflow::Error };
    for (from, to) in &pairs {
        for (path, to_path, what) in [("g/a", "g/a", "is the same as"), ("g/a", "g", "holds"), ("g", "g/a/b", "lies inside of")] {
            let raw = from.copy_node(path, (to, to_path), Create::Overwrite, false, &mut |_, _| Ok(()));
            let other = from.rechunk_node(path, (to, to_path), options, &mut |_, _| Ok(()), &mut |_, _| Ok(()));
            for e in [raw.unwrap_err(), other.map(drop).unwrap_err()] {
                assert!(e.kind() == ErrorKind::Argument && e.message().contains(what), "{path} to {to_path}: {e}");
            }
        }
        assert_eq!(read_all(&Array::open(from, "g/a").unwrap()), [1, 2, 3, 4]);
    }
    // Buckets of two servers may have one name.
    server("a").copy_node("g/a", (&server("b"), "g/b"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    // So may two stores of a program, and a part of a store has other paths.
    let other: SharedStore = Arc::new(MemoryStore::new());
    mine.copy_node("g/a", (&user(&other), "g/a"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    let group = mine.below("g", Mode::ReadWrite).unwrap();
    let over = mine.copy_node("g/a", (&group, "a"), Create::Overwrite, false, &mut |_, _| Ok(()));
    assert_eq!(kind(over), ErrorKind::Argument);
    mine.copy_node("g/a", (&group, "g/a"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    assert_eq!(read_all(&Array::open(&mine, "g/g/a").unwrap()), [1, 2, 3, 4]);
}

#[test]
fn what_is_renamed_or_copied_is_told_of_in_the_keys_of_nczarr() {
    let (folder, options) = (Folder::new("nczarr"), Options { nczarr: Nczarr::On, ..Options::default() });
    let local = || open(folder.1.shared().clone(), options.clone());
    let store = local();
    Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
    for path in ["t", "g/u"] {
        Array::create(&store, path, &spec_v2(&[4], &[2]), Create::New).unwrap();
    }
    store.close(None).unwrap();
    let arrays = |group: &str| {
        let attributes = object(&local(), &path::join(group, ".zattrs"));
        let key = attributes.get("_nczarr_group").or_else(|| attributes.get("_NCZARR_GROUP")).unwrap().as_object().unwrap().clone();
        let mut names: Vec<String> = key["arrays"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_string()).collect();
        names.sort();
        names
    };
    assert_eq!((arrays(""), arrays("g")), (vec!["t".to_string()], vec!["u".to_string()]));
    let keep = || open(folder.1.shared().clone(), Options::default());
    let store = keep();
    store.rename_node("t", "v").unwrap();
    store.rename_node("g/u", "g/w").unwrap();
    store.close(None).unwrap();
    assert_eq!((arrays(""), arrays("g")), (vec!["v".to_string()], vec!["w".to_string()]));
    let store = keep();
    store.copy_node("v", (&store, "g/x"), Create::New, false, &mut |_, _| Ok(())).unwrap();
    store.close(None).unwrap();
    assert_eq!(arrays("g"), ["w", "x"]);
}

/// netCDF-C goes by keys that closing writes: a run that was killed before that may find nothing to do when it begins again.
#[test]
fn the_keys_of_nczarr_follow_a_run_that_was_killed_before_it_was_closed() {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    let begin = |nczarr| {
        let store = open(shared.clone(), Options { nczarr, ..Options::default() });
        let ds = Dataset::create(&store, "", Some(Format::V2), Create::OpenIfSame).unwrap();
        ds.define_time("time", 0, None, "days since 2026-01-01", "standard", Create::New).unwrap();
        ds
    };
    begin(Nczarr::On).close().unwrap();
    let go_on = || {
        let ds = begin(Nczarr::Keep);
        ds.define_variable("mean", &VariableSpec::new(DataType::Int32, &["time"]), Create::New).unwrap();
        let series = Series::open(&ds, "time", None, 1, 0).unwrap();
        (ds, series)
    };
    let keys = || {
        let store = open(shared.clone(), Options::default());
        let length = Group::open(&store, "").unwrap().nc_dimensions().unwrap().unwrap()[0].length;
        (length, store.key_get("mean/.zattrs").unwrap().is_some_and(|text| String::from_utf8(text).unwrap().contains("_nczarr_array")))
    };
    let (ds, mut series) = go_on();
    (0..3).for_each(|day| series.step(f64::from(day)).unwrap());
    drop((series, ds));
    assert_eq!(keys(), (0, false));
    let (ds, mut series) = go_on();
    series.close().unwrap();
    ds.close().unwrap();
    assert_eq!(keys(), (3, true));
}

#[test]
fn a_node_that_is_made_while_the_keys_of_nczarr_are_written_gets_its_own_by_the_next_call() {
    let (shared, due): (SharedStore, Arc<Mutex<Option<Store>>>) = (Arc::new(MemoryStore::new()), Arc::default());
    let (next, begun) = (due.clone(), Arc::new(Mutex::new(None)));
    let thread = begun.clone();
    let tell = move |_: Next<'_>| {
        let Some(store) = next.lock().unwrap().take() else { return Ok(()) };
        let (done, ended) = std::sync::mpsc::channel();
        let create = move || {
            Array::create(&store, "b", &spec_v2(&[4], &[2]), Create::New).unwrap();
            let _ = done.send(());
        };
        *thread.lock().unwrap() = Some(std::thread::spawn(create));
        let _ = ended.recv_timeout(std::time::Duration::from_millis(300));
        Ok(())
    };
    let tell_of_changes = move |next: Next<'_>| if let Next::Change(".zattrs") = next { tell(next) } else { Ok(()) };
    let options = Options { nczarr: Nczarr::On, ..Options::default() };
    let store = open(told(shared.clone(), tell_of_changes), options);
    Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
    Array::create(&store, "a", &spec_v2(&[4], &[2]), Create::New).unwrap();
    *due.lock().unwrap() = Some(store.clone());
    store.close(None).unwrap();
    begun.lock().unwrap().take().expect("the keys were written").join().unwrap();
    store.close(None).unwrap();
    assert!(object(&store, "b/.zattrs").keys().any(|key| key.to_lowercase() == "_nczarr_array"));
    let root = json::to_text(&Value::Object(object(&store, ".zattrs")));
    assert!(root.contains("\"b\""), "{root}");
}

#[test]
fn consolidated_metadata_that_could_not_be_written_are_written_by_the_next_call() {
    for consolidate in [Consolidate::Flush, Consolidate::Close, Consolidate::Named] {
        let (shared, fails): (SharedStore, _) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)));
        let failing = fails.clone();
        let tell = move |next: Next<'_>| match next {
            Next::Change(_) if failing.load(Ordering::Relaxed) => Err(err!(NoSpace, "the store is full")),
            _ => Ok(()),
        };
        let store = open(told(shared.clone(), tell), Options { consolidate, ..Options::default() });
        let mut named = spec(&[2], &[2]);
        named.set_dimension_names(vec![Some("x".into())]).unwrap();
        Group::create(&store, "", None, Create::New).unwrap();
        Array::create(&store, "g/a", &named, Create::New).unwrap();
        let end = || if consolidate == Consolidate::Flush { store.flush_all() } else { store.close(None) };
        fails.store(true, Ordering::Relaxed);
        assert_eq!(end().unwrap_err().kind(), ErrorKind::NoSpace);
        fails.store(false, Ordering::Relaxed);
        end().unwrap();
        let root = Group::open(&open(shared, Options::default()), "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{consolidate:?}");
    }
}

/// Readers that go by consolidated metadata would find the fill value in the place of what is erased.
#[test]
fn consolidated_metadata_say_a_shorter_shape_before_chunks_are_erased() {
    for format in [Format::V2, Format::V3] {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let flushing = || open(shared.clone(), Options { consolidate: Consolidate::Flush, ..Options::default() });
        let spec = spec_as(format, &[8], &[2]);
        let store = flushing();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        let array = Array::create(&store, "g/a", &spec, Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4, 5, 6, 7, 8]);
        store.flush_all().unwrap();
        array.resize(&[4], false).unwrap();
        let root = Group::open(&open(shared.clone(), Options::default()), "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        assert_eq!(root.open_array("g/a").unwrap().shape().as_slice(), [4]);
    }
}

#[test]
fn a_replacement_of_all_attributes_keeps_what_another_handle_has_hidden_among_them() {
    let store = memory();
    Array::create(&store, "t", &spec_v2(&[4], &[2]), Create::New).unwrap();
    let (one, other) = (Array::open(&store, "t").unwrap(), Array::open(&store, "t").unwrap());
    assert_eq!(one.attributes().names().unwrap().len(), 0);
    other.set_dimension_names(&[Some("x".to_string())]).unwrap();
    one.attributes().replace_json(r#"{"units":"K"}"#).unwrap();
    let attributes = object(&store, "t/.zattrs");
    assert_eq!((attributes.contains_key("_ARRAY_DIMENSIONS"), attributes.contains_key("units")), (true, true));
}

#[test]
fn keys_of_nczarr_leave_attributes_that_consolidated_metadata_do_not_tell_of() {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    let on = || open(shared.clone(), Options { nczarr: Nczarr::On, ..Options::default() });
    let store = on();
    let root = Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
    Array::create(&store, "t", &spec_v2(&[4], &[2]), Create::New).unwrap().attributes().set_json("long_name", "\"t\"").unwrap();
    root.consolidate().unwrap();
    // Another writer, which does not consolidate anew.
    put(&store, "t/.zattrs", r#"{"long_name":"t","units":"K"}"#);
    let store = on();
    Group::open(&store, "").unwrap();
    Array::create(&store, "u", &spec_v2(&[4], &[2]), Create::New).unwrap();
    store.close(None).unwrap();
    let attributes = object(&store, "t/.zattrs");
    assert!(attributes.contains_key("units") && attributes.contains_key("_nczarr_array"), "{attributes:?}");
}

/// A store whose `failing`-th change fails, once.
pub(super) fn failing_once(shared: &SharedStore, failing: usize) -> SharedStore {
    let left = AtomicUsize::new(failing);
    let tell = move |next: Next<'_>| match next {
        Next::Change(_) if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.wrapping_sub(1))) == Ok(0) => {
            Err(err!(NoSpace, "the store is full"))
        }
        _ => Ok(()),
    };
    told(shared.clone(), tell)
}

/// Does `work`, in which one change after the other fails, on a hierarchy with consolidated metadata, and looks whether these are right in the end.
fn whichever_change_fails(format: Format, least: usize, work: &dyn Fn(&Store) -> bool) {
    for failing in 0.. {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let store = open(shared.clone(), Options::default());
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        let spec = spec_as(format, &[2], &[2]);
        write_all(&Array::create(&store, "g/a", &spec, Create::New).unwrap(), &mut [1, 2]);
        Array::open(&store, "g/a").unwrap().attributes().set_json("a", "1").unwrap();
        root.consolidate().unwrap();
        let has_failed = work(&open(failing_once(&shared, failing), Options::default()));
        let root = Group::open(&open(shared, Options::default()), "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}, change {failing}");
        if !has_failed {
            assert!(failing >= least, "only {failing} changes");
            return;
        }
    }
}

#[test]
fn an_appender_tells_consolidated_metadata_of_its_steps_whatever_failed_before() {
    for format in [Format::V2, Format::V3] {
        whichever_change_fails(format, 6, &|store| {
            let mut appender = Appender::open(&Array::open(store, "g/a").unwrap(), 0, 1, 0).unwrap();
            let mut has_failed = false;
            for value in 3..6 {
                while appender.position().0 < value as u64 {
                    has_failed |= own!(appender.append(1, &view(&mut [value], &[1]))).is_err();
                }
            }
            has_failed |= appender.flush().is_err();
            appender.flush().unwrap();
            drop(appender);
            assert_eq!(read_all(&Array::open(store, "g/a").unwrap()), [1, 2, 3, 4, 5]);
            has_failed
        });
    }
}

#[test]
fn an_append_is_there_or_not_and_consolidated_metadata_follow_whatever_failed() {
    for format in [Format::V2, Format::V3] {
        whichever_change_fails(format, 3, &|store| {
            let array = Array::open(store, "g/a").unwrap();
            let append = || own!(array.append(0, 2, &view(&mut [3, 4], &[2])));
            let failed = append().err();
            let is_there = array.shape()[0] == 4;
            assert!(failed.as_ref().is_none_or(|e| e.message().contains("is appended") == is_there), "{failed:?}");
            if !is_there {
                // What failed shows nowhere.
                array.resize(&[4], false).unwrap();
                assert_eq!(read_all(&array), [1, 2, 0, 0]);
                array.resize(&[2], false).unwrap();
                append().unwrap();
            }
            store.close(None).unwrap();
            assert_eq!(read_all(&array), [1, 2, 3, 4]);
            failed.is_some()
        });
    }
}

/// Of a new node that consolidated metadata could not be told of nothing stays that the same call finds in its way.
#[test]
fn a_node_is_created_by_the_same_call_whatever_failed() {
    for format in [Format::V2, Format::V3] {
        whichever_change_fails(format, 2, &|store| {
            let mut spec = spec_as(format, &[2], &[2]);
            spec.set_attributes_json(r#"{"units": "m"}"#).unwrap();
            let array = || Array::create(store, "g/new/b", &spec, Create::New).map(drop);
            let attributes = Map::from_iter([("units".to_string(), "m".into())]);
            let group = || Group::create_with(store, "g/new/c", None, Create::New, attributes.clone()).map(drop);
            let make: [(&str, &dyn Fn() -> crate::error::Result<()>); 2] = [("g/new/b", &array), ("g/new/c", &group)];
            let mut has_failed = false;
            for (place, make) in make {
                if let Err(e) = make() {
                    has_failed = true;
                    assert_eq!(e.kind(), ErrorKind::NoSpace, "{e}");
                    // Of one that was there and was taken back nothing is left for the next node there.
                    if !e.key().is_some_and(|key| key.starts_with(place)) {
                        assert_eq!(store.key_list(&format!("{place}/")).unwrap(), [""; 0], "{e}");
                    }
                    make().unwrap_or_else(|again| panic!("{e}; then {again}"));
                }
            }
            store.close(None).unwrap();
            has_failed
        });
    }
}

#[test]
fn collected_attributes_are_committed_by_the_same_call_whatever_failed() {
    for format in [Format::V2, Format::V3] {
        whichever_change_fails(format, 2, &|store| {
            let array = Array::open(store, "g/a").unwrap();
            let attributes = array.attributes();
            attributes.begin().unwrap();
            attributes.erase("a").unwrap();
            attributes.set_json("b", "2").unwrap();
            let has_failed = attributes.commit().is_err();
            if has_failed {
                attributes.commit().unwrap();
            }
            assert_eq!(kind(attributes.commit()), ErrorKind::State);
            assert_eq!(Array::open(store, "g/a").unwrap().attributes().names().unwrap(), ["b"]);
            has_failed
        });
    }
}

#[test]
fn steps_that_wait_are_not_stored_over_those_that_another_appender_has_published() {
    // A step that does not fit, and one that makes others leave the memory.
    for (length, every, makes_room) in [(0, 100, false), (4, 1000, true)] {
        let shared: SharedStore = Arc::new(MemoryStore::new());
        let store = || open(shared.clone(), Options::default());
        Array::create(&store(), "t", &spec(&[length, 64], &[32, 1]), Create::New).unwrap();
        let appender = |every| Appender::open(&Array::open(&store(), "t").unwrap(), 0, every, 0).unwrap();
        let step = |appender: &mut Appender, value: i32| own!(appender.append(1, &view(&mut [value; 64], &[1, 64])));
        let (mut ours, mut theirs) = (appender(every), appender(1));
        (length..32 - if makes_room { 0 } else { 22 }).for_each(|_| step(&mut ours, 7).unwrap());
        (0..60).for_each(|_| step(&mut theirs, 8).unwrap());
        theirs.flush().unwrap();
        if makes_room {
            assert_eq!(kind(step(&mut ours, 7)), ErrorKind::State);
        } else {
            let mut numbers = [1e99f64; 64];
            let (data, strides) = (numbers.as_mut_ptr().cast(), c_strides(&[1, 64], 8));
            let narrow = Memory { data, size: 512, data_type: DataType::Float64, strides, ..view(&mut [], &[1, 64]) };
            assert_eq!(kind(own!(ours.append(1, &narrow))), ErrorKind::Range);
        }
        assert_eq!(kind(ours.flush()), ErrorKind::State);
        drop(ours);
        let found = read_all(&Array::open(&store(), "t").unwrap());
        assert_eq!((found.len(), found.iter().filter(|&&v| v == 8).count()), ((length as usize + 60) * 64, 60 * 64), "{makes_room}");
    }
}

#[test]
fn a_series_that_cannot_be_opened_cuts_nothing_off() {
    let store = memory();
    tests_series::define(&store, Format::V3);
    let ds = tests_series::dataset(&store);
    let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
    tests_series::run(&mut series, 5).unwrap();
    drop(series);
    let ds = tests_series::dataset(&store);
    assert_eq!(kind(Series::open(&ds, "time", Some(2), 1, 8)), ErrorKind::Limit);
    assert_eq!(tests_series::check(&store), 5);
}

#[test]
fn checkpoints_are_in_the_order_of_their_commits() {
    let store = memory();
    let all = Checkpoints::new(&store, "").unwrap();
    let begun: Vec<Group> = ["step-900", "step-1000", "a"].iter().map(|name| all.begin(name).unwrap()).collect();
    for (value, group) in (1..).zip(&begun) {
        fill(group, value).unwrap();
    }
    for at in [1, 2, 0] {
        begun[at].commit().unwrap();
        assert_eq!(newest(&store, ""), at as i32 + 1);
    }
    assert_eq!(names(&all), ["step-1000", "a", "step-900"]);
    all.prune(1).unwrap();
    assert_eq!((names(&all), newest(&store, "")), (vec!["step-900".to_string()], 1));
}

/// The arrays of a group that is copied, and then its document.
#[test]
fn arrays_of_a_group_are_copied_at_the_same_time_in_stores_with_latency() {
    for (chunks, memory) in [(2, 0), (4, 0), (4, 1)] {
        let near = self::memory();
        Group::create(&near, "g", None, Create::New).unwrap();
        for (path, value) in [("g/a", 1), ("g/b", 3)] {
            write_all(&Array::create(&near, path, &spec(&[4], &[2]), Create::New).unwrap(), &mut [value, 2, 3, value]);
        }
        // What would not have enough memory beside others is copied alone.
        let far_and_meeting = if memory == 0 {
            Meeting::at(&near, |key| match key.strip_prefix("copy/")?.split_once('/')? {
                (path, "c/0") => Some(("chunks", path)),
                (path, "zarr.json") => Some(("documents", path)),
                _ => None,
            })
        } else {
            Meeting::at(&near, |_| None)
        };
        let (far, meeting) = far_and_meeting;
        let (caller, mut told) = (std::thread::current().id(), Vec::new());
        let mut asked = meeting.during(|| {
            let options = RechunkOptions { memory, ..RechunkOptions::default() };
            let mut progress = |done, total| {
                assert_eq!(std::thread::current().id(), caller);
                told.push((done, total));
                Ok(())
            };
            let mut change = |_: &str, spec: &mut Spec| spec.set_chunks(&[chunks]);
            far.rechunk_node("g", (&far, "copy"), options, &mut change, &mut progress).unwrap();
        });
        let total = if chunks == 2 { 7 } else { 5 };
        assert!(told.is_sorted() && told.last() == Some(&(total, total)) && told.iter().all(|told| told.1 == total), "{told:?}");
        assert_eq!(read_all(&Array::open(&near, "copy/a").unwrap()), [1, 2, 3, 1]);
        assert_eq!(read_all(&Array::open(&near, "copy/b").unwrap()), [3, 2, 3, 3]);
        asked.retain(|key| key.starts_with("copy/") && !key.contains("ozarr"));
        let documents = asked.iter().position(|key| key.ends_with("zarr.json") && key.starts_with("copy/")).unwrap();
        let is_document = |key: &String| key.ends_with("zarr.json");
        assert!(asked[documents..].iter().all(is_document) || memory > 0, "{asked:?}");
        assert_eq!(asked.last().map(String::as_str), Some("copy/zarr.json"), "{asked:?}");
    }
}
