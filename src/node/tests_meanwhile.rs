//! Tests of what other threads do in the middle of a call: settings, replacing, registering, and what waits beside rows that are appended.

use super::store_options::Consolidate;
use super::tests::{kind, own, read_all, spec, spec_as, view, write_all};
use super::tests_checkpoint::fill;
use super::tests_growth::{Folder, write_box};
use super::tests_store::{Due, Next, anew, on, told};
use super::tests_swap::Overtaken;
use super::*;
use crate::codec::registered::{Class, Codec, Opened, Size};
use crate::dtype::registered::TypeCalls;
use crate::dtype::registration::{self, Description};
use crate::dtype::{DataType, parse_v3};
use crate::engine::{self, Selection};
use crate::error::{ErrorKind, Result, err};
use crate::grid::registered::KeyCalls;
use crate::limits::Dims;
use crate::metadata::Map;
use crate::store::latency::LatencyStore;
use crate::store::memory::MemoryStore;
use crate::store::{Condition, SharedStore, StorageExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// The elements, as another handle reads them.
pub(super) fn stored(array: &Array) -> Vec<i32> {
    read_all(&Array::open(array.store(), array.path()).unwrap())
}

#[test]
fn settings_that_come_while_another_call_changes_the_array_stay() {
    fn append(array: &Array) {
        own!(array.append(0, 1, &view(&mut [7], &[1])).unwrap());
    }
    fn step(appender: &mut Appender) {
        own!(appender.append(1, &view(&mut [7], &[1])).unwrap());
    }
    /// A call that publishes a document, and sets what is due before that.
    type Call = fn(&Array, &dyn Fn());
    let calls: [(&str, Call); 6] = [
        ("append", |array, set| {
            set();
            append(array);
        }),
        ("grow", |array, set| {
            set();
            array.resize(&[12], false).unwrap();
        }),
        ("shrink", |array, set| {
            set();
            array.resize(&[9], false).unwrap();
        }),
        ("name", |array, set| {
            set();
            array.set_dimension_names(&[Some("t".into())]).unwrap();
        }),
        ("an appender's first step", |array, set| {
            let mut appender = Appender::open(array, 0, 1, 0).unwrap();
            set();
            step(&mut appender);
        }),
        ("an appender's next step", |array, set| {
            let mut appender = Appender::open(array, 0, 1, 0).unwrap();
            step(&mut appender);
            set();
            step(&mut appender);
        }),
    ];
    for (name, call) in calls {
        let due = Due::default();
        let array = Array::create(&due.in_memory(), "a", &spec(&[10], &[4]), Create::New).unwrap();
        let set = || {
            let array = array.clone();
            due.set("a/zarr.json", move || {
                array.set_write_back(1 << 20).unwrap();
                array.set_chunk_cache(1 << 20).unwrap();
                array.set_list_changes(true);
                array.set_write_fill_chunks(true);
                write_box(&array, &[1], &[1], 5).unwrap();
            });
        };
        call(&array, &set);
        assert!(due.is_over(), "{name}");
        let bound = array.state().bound("a").unwrap();
        let has = (bound.write_back.is_some(), bound.cache.is_some(), bound.changes.is_some(), bound.store_fill_chunks);
        assert_eq!(has, (true, true, true, true), "{name}");
        assert_eq!((read_all(&array)[1], stored(&array)[1]), (5, 5), "{name}");
        assert_eq!(array.changes().unwrap().unwrap(), "a/c/0\n", "{name}");
        // What is taken back stays so.
        let again = array.clone();
        due.set("a/zarr.json", move || again.set_write_back(0).unwrap());
        append(&array);
        write_box(&array, &[1], &[1], 6).unwrap();
        assert_eq!((array.write_back(), stored(&array)[1]), (0, 6), "{name}");
    }
}

/// Begins `work` in another thread in the midst of a call, and lets the call go on once that thread has ended or waits for a lock; `fails`: the call fails then.
fn begin_within<T: Send + 'static>(
    store: &Store,
    (due, end, fails): (&Due, &'static str, bool),
    work: impl FnOnce() -> T + Send + 'static,
) -> impl FnOnce() -> T {
    let (begun, locks) = (Arc::new(Mutex::new(None)), store.context().document_locks.clone());
    let thread = begun.clone();
    due.set_here(end, move || {
        let worker = std::thread::spawn(work);
        while !worker.is_finished() && locks.waiting() == 0 {
            std::thread::yield_now();
        }
        *begun.lock().unwrap() = Some(worker);
        if fails { Err(err!(NoSpace, "full")) } else { Ok(()) }
    });
    move || thread.lock().unwrap().take().unwrap().join().unwrap()
}

#[test]
fn attributes_that_are_set_while_a_commit_stores_others_are_stored_or_collected_again() {
    for (format, fails) in [(Format::V2, false), (Format::V2, true), (Format::V3, false), (Format::V3, true)] {
        let due = Due::default();
        let array = Array::create(&due.in_memory(), "a", &spec_as(format, &[4], &[4]), Create::New).unwrap();
        let stored = || Array::open(array.store(), "a").unwrap().attributes().all().unwrap();
        let both = Map::from_iter([("a".to_string(), 2.into()), ("b".to_string(), 2.into())]);
        array.attributes().begin().and_then(|()| array.attributes().set_i64("a", 1)).unwrap();
        let (other, document) = (array.clone(), if format == Format::V2 { ".zattrs" } else { "zarr.json" });
        let set = begin_within(array.store(), (&due, document, fails), move || other.attributes().update_json(r#"{"a": 2, "b": 2}"#));
        assert_eq!(array.attributes().commit().is_err(), fails, "{format:?}");
        set().unwrap();
        if fails {
            assert_eq!((stored(), array.attributes().all().unwrap()), (Map::new(), both.clone()), "{format:?}");
            array.attributes().commit().unwrap();
        }
        assert_eq!(stored(), both, "{format:?}, {fails}");
        // Nothing is collected any more.
        assert_eq!(kind(array.attributes().commit()), ErrorKind::State, "{format:?}, {fails}");
    }
}

#[test]
fn what_is_set_or_made_while_a_checkpoint_is_committed_is_in_it() {
    type Change = fn(&Group) -> Result<()>;
    let changes: [(&str, Change); 4] = [
        ("an attribute", |group| group.attributes().set_i64("late", 1)),
        ("an array's attribute", |group| group.open_array("u")?.attributes().set_i64("late", 1)),
        ("an array", |group| Array::create(group.store(), "late", &spec(&[4], &[4]), Create::New).map(drop)),
        ("a group", |group| Group::create(group.store(), "late", None, Create::New).map(drop)),
    ];
    // While the checkpoint gets its name, and while it is told of above.
    for ((name, change), moment) in
        changes.into_iter().flat_map(|change| ["run/new/zarr.json", "run/zarr.json"].map(|moment| (change, moment)))
    {
        let due = Due::default();
        let store = due.in_memory();
        Group::create(&store, "run", None, Create::New).unwrap().consolidate().unwrap();
        let group = Checkpoints::new(&store, "run").unwrap().begin("new").unwrap();
        fill(&group, 7).unwrap();
        let other = group.for_another_handle();
        let changed = begin_within(&store, (&due, moment, false), move || change(&other));
        group.commit().unwrap();
        changed().unwrap();
        for path in ["run", "run/new"] {
            let found = Group::open(&store, path).unwrap().consolidated_differences().unwrap();
            assert_eq!(found, Some(Vec::new()), "{name}, {moment}, {path}");
        }
        let text = store.key_get("run/new/zarr.json").unwrap().unwrap();
        assert!(String::from_utf8(text).unwrap().contains("\"late\""), "{name}");
        assert_eq!(store.key_get("run/new/zarr.json.begun").unwrap(), None, "{name}");
    }
}

#[test]
fn a_flush_or_close_comes_back_when_that_of_another_thread_has_told_readers() {
    type End = fn(&Store) -> Result<()>;
    let ends: [(Consolidate, End); 3] = [
        (Consolidate::Flush, |store| store.flush_all()),
        (Consolidate::Close, |store| store.close(None)),
        (Consolidate::Flush, |store| Group::open(store, "")?.close()),
    ];
    for ((how, end), fails) in ends.into_iter().flat_map(|end| [(end, false), (end, true)]) {
        let due = Due::default();
        let options = Options { consolidate: how, ..Options::default() };
        let store = Store::new(&Context::with_threads(1), due.in_memory().shared().clone(), Mode::ReadWrite, options);
        let root = Group::create(&store, "", Some(Format::V3), Create::New).unwrap();
        let array = Array::create(&store, "a", &spec(&[4], &[4]), Create::New).unwrap();
        if how == Consolidate::Flush {
            root.consolidate().and_then(|()| store.flush_all()).unwrap();
        }
        array.attributes().set_i64("late", 1).unwrap();
        drop((root, array));
        let other = store.clone();
        let told = begin_within(&store, (&due, "zarr.json", fails), move || {
            end(&other).unwrap();
            Group::open(&anew(&other), "").unwrap().consolidated_differences().unwrap()
        });
        assert_eq!(end(&store).is_err(), fails, "{how:?}");
        assert_eq!(told(), Some(Vec::new()), "{how:?}, {fails}");
    }
}

#[test]
fn an_array_with_the_same_values_of_another_process_keeps_them_whenever_its_document_comes() {
    let create = |store: &Store| own!(Array::create_from(store, "a", &spec(&[8], &[4]), &view(&mut [7; 8], &[8])));
    let made = on(Arc::new(MemoryStore::new()));
    create(&made).unwrap();
    let theirs = |key: &str| made.key_get(key).unwrap().unwrap();
    for after in 0.. {
        let inner: SharedStore = Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false));
        // It has stored the values, and is about to store the document.
        ["zarr.json", "a/c/0", "a/c/1"].iter().for_each(|key| on(inner.clone()).key_put(key, &theirs(key)).unwrap());
        let (calls, document, their_store) = (Arc::new(AtomicUsize::new(0)), theirs("a/zarr.json"), inner.clone());
        let counted = calls.clone();
        let store = on(told(inner, move |_: Next<'_>| {
            let done = counted.fetch_add(1, Ordering::Relaxed);
            if done == after {
                // Unless this one was faster.
                let _ = their_store.put("a/zarr.json", &[&document], Condition::Absent);
            }
            if done >= after {
                assert_eq!(read_all(&Array::open(&on(their_store.clone()), "a").unwrap()), [7; 8], "{after}, {done}");
            }
            Ok(())
        }));
        let created = create(&store).map(drop);
        assert!(created.is_ok() || kind(created) == ErrorKind::Exists, "{after}");
        if calls.load(Ordering::Relaxed) <= after {
            break;
        }
    }
}

#[test]
fn a_flush_or_close_comes_back_when_another_call_of_another_thread_has_told_readers() {
    type Call = fn(&Store) -> Result<()>;
    let calls: [(Consolidate, (&str, &str), Call, Call); 3] = [
        (Consolidate::Flush, ("zarr.json", "late"), |store| store.rename_node("b", "c"), |store| store.flush_all()),
        (
            Consolidate::Flush,
            ("zarr.json", "late"),
            |store| store.copy_node("b", (store, "c"), Create::New, false, &mut |_, _| Ok(())),
            |store| store.flush_all(),
        ),
        (
            Consolidate::Step,
            (".zmetadata", "a/.zarray"),
            |store| Array::create(store, "c", &spec_as(Format::V2, &[4], &[4]), Create::New).map(drop),
            |store| store.close(None),
        ),
    ];
    for ((how, (key, told), first, end), fails) in calls.into_iter().flat_map(|call| [(call, false), (call, true)]) {
        let due = Due::default();
        let options = Options { consolidate: how, ..Options::default() };
        let store = Store::new(&Context::with_threads(1), due.in_memory().shared().clone(), Mode::ReadWrite, options);
        let format = if how == Consolidate::Step { Format::V2 } else { Format::V3 };
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        let make = |name: &str| Array::create(&store, name, &spec_as(format, &[4], &[4]), Create::New);
        if how == Consolidate::Step {
            // As where another thread has made it and is about to tell of it.
            Array::create(&anew(&store), "a", &spec_as(format, &[4], &[4]), Create::New).unwrap();
            store.note_named("a", true);
        } else {
            let array = make("a").unwrap();
            make("b").and_then(|_| root.consolidate()).and_then(|()| store.flush_all()).unwrap();
            array.attributes().set_i64("late", 1).unwrap();
        }
        let other = store.clone();
        let text = begin_within(&store, (&due, key, fails), move || {
            end(&other).unwrap();
            String::from_utf8(other.key_get(key).unwrap().unwrap_or_default()).unwrap()
        });
        assert_eq!(first(&store).is_err(), fails, "{how:?}");
        assert!(text().contains(told), "{how:?}, {fails}");
    }
}

#[test]
fn what_a_child_of_fork_sets_is_collected_whatever_the_parent_was_storing_then() {
    let due = Due::default();
    let array = Array::create(&due.in_memory(), "a", &spec(&[4], &[4]), Create::New).unwrap();
    array.attributes().begin().and_then(|()| array.attributes().set_i64("a", 1)).unwrap();
    let other = array.clone();
    due.set_here("zarr.json", move || {
        let is_last = || {
            other.attributes().set_i64("a", 2)?;
            other.attributes().commit()?;
            Ok(Array::open(other.store(), "a")?.attributes().get_i64("a")? == 2)
        };
        // SAFETY: the child changes what is in its memory, and ends without unwinding.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let is_last: Result<bool> = is_last();
            // SAFETY: ends the child.
            unsafe { libc::_exit(if matches!(is_last, Ok(true)) { 42 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: `status` is an int.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(libc::WEXITSTATUS(status), 42);
        Ok(())
    });
    array.attributes().commit().unwrap();
    assert!(due.is_over());
}

#[test]
fn what_waits_beside_a_row_that_is_appended_is_stored_by_other_threads() {
    // By the handle as it is, and by a call that has begun before the array was cut.
    for is_old in [false, true] {
        let due = Due::default();
        let array = Array::create(&due.in_memory(), "a", &spec(&[12, 8], &[4, 4]), Create::New).unwrap();
        array.set_write_back(1 << 20).unwrap();
        let old = array.state().bound("a").unwrap();
        array.resize(&[10, 8], false).unwrap();
        let bound = if is_old { old } else { array.state().bound("a").unwrap() };
        let found = Arc::new(Mutex::new(None));
        let (read, other, then) = (found.clone(), array.clone(), due.clone());
        due.set("a/zarr.json opened", move || {
            write_box(&other, &[9, 0], &[1, 8], 5).unwrap();
            // The new row waits with this one, and its first chunk is stored.
            then.set("a/c/2/0", move || {
                let mut values = [0; 4];
                let row = Selection::new(&bound.shape, &[9, 4], &[1, 4], None).unwrap();
                let done = own!(engine::read(&bound, &row, &view(&mut values, &[1, 4])));
                *read.lock().unwrap() = Some(done.map(|()| values));
            });
        });
        own!(array.append(0, 1, &view(&mut [7; 8], &[1, 8]))).unwrap();
        assert_eq!(found.lock().unwrap().take().unwrap().unwrap(), [5; 4], "{is_old}");
        assert_eq!(stored(&array)[64..], [[0; 8], [5; 8], [7; 8]].concat(), "{is_old}");
        // What is behind a cut comes back no more.
        write_box(&array, &[9, 0], &[2, 8], 5).unwrap();
        array.resize(&[9, 8], false).and_then(|()| array.flush()).and_then(|()| array.resize(&[11, 8], false)).unwrap();
        assert_eq!(stored(&array)[64..], [0; 24], "{is_old}");
    }
}

#[test]
fn a_write_ends_where_its_array_is_erased_or_replaced_meanwhile() {
    type Change = fn(&Store);
    type Write = fn(&Array) -> Result<()>;
    let changes: [(&str, Change); 4] = [
        ("overwrite", |store| drop(Array::create(store, "g/a", &spec(&[80], &[4]), Create::Overwrite).unwrap())),
        ("overwrite its group", |store| drop(Group::create(store, "g", None, Create::Overwrite).unwrap())),
        ("erase", |store| store.erase_node("g/a").unwrap()),
        ("rename", |store| store.rename_node("g/a", "g/b").unwrap()),
    ];
    let writes: [(&str, bool, Write); 3] = [
        ("whole chunks", false, |array| write_box(array, &[0], &[80], 7)),
        ("parts of chunks", false, |array| {
            let values = &mut [7; 40];
            own!(array.write(&Selection::new(&[80], &[0], &[40], Some(&[2]))?, &view(values, &[40])))
        }),
        ("shards", true, |array| write_box(array, &[0], &[80], 7)),
    ];
    for (change_name, change) in changes {
        for (name, sharded, write) in writes {
            let folder = Folder::new("meanwhile");
            let inners: [SharedStore; 2] = [Arc::new(MemoryStore::new()), folder.1.shared().clone()];
            for inner in inners {
                let due = Due::default();
                let store = due.store(inner);
                let mut spec = spec(&[80], &[4]);
                if sharded {
                    spec.set_inner_chunks(&[2]).unwrap();
                }
                let array = Array::create(&store, "g/a", &spec, Create::New).unwrap();
                write_all(&array, &mut [3; 80]);
                let other = store.clone();
                // The store is not told of a file that takes the place of one that was read.
                let is_over_file = name == "parts of chunks" && store.shared().files().is_some();
                due.set(if is_over_file { "c/3 opened" } else { "c/3" }, move || change(&other));
                assert_eq!(kind(write(&array)), ErrorKind::State, "{change_name}, {name}");
                assert!(due.is_over());
                let left = tests::keys(&store).iter().filter(|key| key.starts_with("g/a/c/")).count();
                // The one that was under way.
                assert!(left <= 1, "{change_name}, {name}: {left} chunks");
            }
        }
    }
}

#[test]
fn the_document_of_an_array_that_comes_while_that_of_the_one_before_is_changed_stays() {
    type Call = fn(&Array, &dyn Fn(&'static str)) -> Result<()>;
    const READ: &str = "a/zarr.json opened";
    const KINDS: [(bool, bool); 3] = [(false, false), (false, true), (true, false)];
    let calls: [(&str, Call); 6] = [
        ("steps", |array, set| {
            let mut appender = Appender::open(array, 0, 0, 0)?;
            set("flush");
            own!(appender.append(4, &view(&mut [7; 4], &[4])))
        }),
        ("more steps", |array, set| {
            let mut appender = Appender::open(array, 0, 0, 0)?;
            own!(appender.append(4, &view(&mut [7; 4], &[4])))?;
            set("flush");
            own!(appender.append(4, &view(&mut [7; 4], &[4])))
        }),
        ("append", |array, set| {
            set(READ);
            own!(array.append(0, 1, &view(&mut [7], &[1])))
        }),
        ("grow", |array, set| {
            set(READ);
            array.resize(&[12], false)
        }),
        ("names", |array, set| {
            set(READ);
            array.set_dimension_names(&[Some("t".into())])
        }),
        ("attribute", |array, set| {
            set(READ);
            array.attributes().set("b", 1.into())
        }),
    ];
    // In a store with locks, where the handle stays as it is, and where another thread makes it one of the new array; and in one whose puts have
    // conditions, one of which fails then.
    for ((name, call), (swaps, refreshes)) in calls.iter().flat_map(|call| KINDS.map(|kind| (*call, kind))) {
        let folder = Folder::new("document");
        let due = Due::default();
        let inner: SharedStore =
            if swaps { Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false)) } else { folder.1.shared().clone() };
        let store = due.store(inner);
        let array = Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
        let done = call(&array, &|end| {
            let (other, array) = (store.clone(), array.clone());
            due.set(if swaps && end == READ { "a/zarr.json" } else { end }, move || {
                Array::create(&other, "a", &spec(&[24], &[8]), Create::Overwrite).unwrap();
                if refreshes {
                    array.refresh().unwrap();
                }
            });
        });
        let name = format!("{name}, {swaps}, {refreshes}");
        assert!(due.is_over(), "{name}");
        assert_eq!(kind(done), ErrorKind::State, "{name}");
        let new = Array::open(&store, "a").unwrap();
        let is_named = new.dimension_names().unwrap().iter().any(Option::is_some);
        assert_eq!((&new.shape()[..], is_named, new.attributes().view().unwrap().len()), (&[24][..], false, 0), "{name}");
        assert!(refreshes || array.is_lost(), "{name}");
        assert_eq!(stored(&new), [0; 24], "{name}");
    }
}

#[test]
fn a_cut_says_nothing_at_the_place_of_an_array_that_has_come_meanwhile() {
    for keeps in [false, true] {
        let due = Due::default();
        let store = due.in_memory();
        let array = Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
        let other = store.clone();
        due.set("a/ozarr-resize.json opened", move || drop(Array::create(&other, "a", &spec(&[8], &[4]), Create::Overwrite).unwrap()));
        assert_eq!(kind(array.resize(&[2], keeps)), ErrorKind::State);
        assert!(due.is_over());
        assert_eq!(tests::keys(&store), ["a/zarr.json", "zarr.json"], "{keeps}");
    }
}

#[test]
fn an_appender_stores_nothing_in_the_array_that_takes_the_place_of_its_own_meanwhile() {
    let (due, folder) = (Due::default(), Folder::new("appender-meanwhile"));
    let store = due.store(folder.1.shared().clone());
    let array = Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
    let mut appender = Appender::open(&array, 0, 0, 0).unwrap();
    let other = store.clone();
    due.set("a/c/2", move || {
        let new = Array::create(&other, "a", &spec(&[16], &[4]), Create::Overwrite).unwrap();
        // But for the chunk that is locked.
        write_box(&new, &[0], &[8], 5).and_then(|()| write_box(&new, &[12], &[4], 5)).unwrap();
    });
    let appended = own!(appender.append(8, &view(&mut [7; 8], &[8])));
    assert!(due.is_over());
    assert_eq!(kind(appended.and_then(|()| appender.close())), ErrorKind::State);
    let found = stored(&array);
    assert_eq!((&found[..8], &found[12..]), (&[5; 8][..], &[5; 4][..]), "at most the chunk that is being stored slips");
}

#[test]
fn a_cut_ends_where_its_array_is_replaced_meanwhile() {
    let folder = Folder::new("cut-meanwhile");
    let inners: [SharedStore; 2] = [Arc::new(MemoryStore::new()), folder.1.shared().clone()];
    for inner in inners {
        let due = Due::default();
        let store = due.store(inner);
        let array = Array::create(&store, "a", &spec(&[80], &[4]), Create::Overwrite).unwrap();
        write_all(&array, &mut [3; 80]);
        let other = store.clone();
        due.set("a/c/13", move || {
            let new = Array::create(&other, "a", &spec(&[80], &[4]), Create::Overwrite).unwrap();
            // All but the chunk whose lock the call has.
            write_box(&new, &[0], &[52], 5).and_then(|()| write_box(&new, &[56], &[24], 5)).unwrap();
        });
        assert_eq!(kind(array.resize(&[8], false)), ErrorKind::State);
        assert!(due.is_over());
        let gone = stored(&array).iter().filter(|&&value| value != 5).count();
        assert!(gone <= 4, "{gone}");
    }
}

/// A codec, a data type and the keys of chunks: what they make depends on the number.
struct Kept(u8);

impl Kept {
    fn turn(&self, from: &[u8], to: &mut [u8]) {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = from ^ self.0);
    }
}

impl Codec for Kept {
    fn class(&self) -> Class {
        Class::Bytes
    }
    fn open(&self, _: &str, _: bool, input: DataType) -> Result<(Arc<dyn Opened>, DataType)> {
        Ok((Arc::new(Kept(self.0)), input))
    }
}

impl Opened for Kept {
    fn any_thread(&self) -> bool {
        true
    }
    fn encoded_size(&self, decoded: usize) -> Result<Size> {
        Ok(Size::Exact(decoded))
    }
    fn encode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.turn(src, dst);
        Ok(src.len())
    }
    fn decode(&self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.turn(src, dst);
        Ok(src.len())
    }
}

impl TypeCalls for Kept {
    fn any_thread(&self) -> bool {
        true
    }
    fn encode(&self, memory: &[u8], file: &mut [u8]) -> Result<()> {
        self.turn(memory, file);
        Ok(())
    }
    fn decode(&self, file: &[u8], memory: &mut [u8]) -> Result<()> {
        self.turn(file, memory);
        Ok(())
    }
    fn fill_from_json(&self, _: &str, element: &mut [u8]) -> Result<()> {
        element.fill(0);
        Ok(())
    }
    fn fill_to_json(&self, _: &[u8]) -> Result<String> {
        Ok("0".into())
    }
}

impl KeyCalls for Kept {
    fn any_thread(&self) -> bool {
        true
    }
    fn check(&self, _: &str) -> Result<()> {
        Ok(())
    }
    fn encode(&self, _: &str, index: &[u64]) -> Result<String> {
        Ok(format!("k{}.{}", self.0, index[0]))
    }
    fn decode(&self, _: &str, tail: &str, _: usize) -> Result<Option<Dims>> {
        let index = tail.strip_prefix(&format!("k{}.", self.0)).and_then(|index| index.parse().ok());
        Ok(index.map(|index| Dims::from_elem(index, 1)))
    }
}

/// Changes of a document, after each of which it is read again.
const CHANGES: [fn(&Array); 4] = [
    |array| array.refresh().unwrap(),
    |array| array.set_dimension_names(&[Some("t".into())]).unwrap(),
    |array| array.resize(&[9], false).unwrap(),
    |array| own!(array.append(0, 1, &view(&mut [8], &[1])).unwrap()),
];

#[test]
fn an_open_array_keeps_what_was_registered_when_it_was_opened() {
    let register = |number: u8, replace: bool| {
        crate::codec::registered::register(Some("test.kept"), None, Arc::new(Kept(number)), replace).unwrap();
        registered_keys::register("test.kept", Arc::new(Kept(number)), replace).unwrap();
        let description =
            Description { v3: Some("test.kept"), v2: None, size: 4, ordered: false, memory: Some(DataType::Int32), fills: true };
        registration::register(&description, Arc::new(Kept(number)), replace).unwrap();
    };
    for change in CHANGES {
        register(0x55, false);
        let mut specs: Vec<Spec> = (0..3).map(|_| spec(&[8], &[4])).collect();
        specs[0].set_codecs_json(r#"[{"name": "bytes", "configuration": {"endian": "little"}}, "test.kept"]"#).unwrap();
        let keys = registered_keys::find("test.kept", || "{}".into()).unwrap().unwrap();
        specs[1].set_key_encoding(KeyEncoding::Registered(keys)).unwrap();
        specs[2].set_data_type(parse_v3::parse(&Value::from("test.kept")).unwrap()).unwrap();
        let store = tests::memory();
        let arrays: Vec<Array> = (0..3).map(|i| Array::create(&store, &format!("a{i}"), &specs[i], Create::New).unwrap()).collect();
        for array in &arrays {
            write_all(array, &mut [7; 8]);
            array.set_write_back(1 << 20).unwrap();
            write_box(array, &[1], &[1], 6).unwrap();
        }
        register(0x33, true);
        for (i, array) in arrays.iter().enumerate() {
            change(array);
            write_box(array, &[6], &[1], 6).unwrap();
            array.flush().unwrap();
            assert_eq!(read_all(array)[..8], [7, 6, 7, 7, 7, 7, 6, 7], "{i}");
        }
        register(0x55, true);
        for array in &arrays {
            assert_eq!(stored(array), read_all(array), "{}", array.path());
        }
        // Without a registration.
        let array = &arrays[0];
        write_box(array, &[2], &[1], 6).unwrap();
        assert!(crate::codec::registered::unregister("test.kept"));
        change(array);
        array.flush().unwrap();
        assert_eq!(read_all(array)[..8], [7, 6, 6, 7, 7, 7, 6, 7]);
        assert!(registered_keys::unregister("test.kept") && registration::unregister("test.kept"));
    }
}

#[test]
fn a_codec_of_the_program_is_not_taken_in_format_2_for_the_one_of_its_name() {
    let sharded = r#"[{"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "codecs": ["bytes", "numcodecs.adler32"], "index_codecs": ["bytes"]}}]"#;
    crate::codec::registered::register(Some("numcodecs.adler32"), None, Arc::new(Kept(0x55)), true).unwrap();
    let (store, copies) = (tests::memory(), tests::memory());
    for (path, codecs) in [("plain", r#"["bytes", "numcodecs.adler32"]"#), ("shards", sharded)] {
        let mut spec = spec(&[8], &[4]);
        spec.set_codecs_json(&codecs.replace("\"bytes\"", r#"{"name": "bytes", "configuration": {"endian": "little"}}"#)).unwrap();
        write_all(&Array::create(&store, path, &spec, Create::New).unwrap(), &mut [7; 8]);
        let options = RechunkOptions { format: Some(Format::V2), ..RechunkOptions::default() };
        store.rechunk_node(path, (&copies, path), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).unwrap();
    }
    assert!(crate::codec::registered::unregister("numcodecs.adler32"));
    for path in ["plain", "shards"] {
        let copy = Array::open(&copies, path).unwrap();
        assert_eq!((copy.format(), read_all(&copy)), (Format::V2, vec![7; 8]), "{path}");
    }
}

#[test]
fn what_waits_is_told_of_where_the_document_names_other_codecs_by_now() {
    let store = tests::memory();
    let array = Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
    array.set_write_back(1 << 20).unwrap();
    write_box(&array, &[1], &[1], 6).unwrap();
    let text = tests::text(&store, "a/zarr.json").unwrap();
    tests::put(&store, "a/zarr.json", &text.replace("\"bytes\"", "\"test.none\""));
    array.refresh().unwrap();
    assert_eq!([kind(array.flush()), kind(array.close()), kind(array.resize(&[9], false))], [ErrorKind::Unsupported; 3]);
    assert_eq!([kind(store.flush_all()), kind(store.close(None))], [ErrorKind::Unsupported; 2]);
    tests::put(&store, "a/zarr.json", &text);
    array.refresh().and_then(|()| array.flush()).unwrap();
    assert_eq!(stored(&array)[1], 6);
}

#[test]
fn an_array_that_was_replaced_is_lost_to_handles_that_know_not_its_codecs() {
    let (store, other) = (tests::memory(), spec(&[8], &[4]));
    Array::create(&store, "a", &other, Create::New).unwrap();
    let text = tests::text(&store, "a/zarr.json").unwrap();
    tests::put(&store, "a/zarr.json", &text.replace("\"bytes\"", "\"test.none\""));
    let array = Array::open(&store, "a").unwrap();
    assert!(!array.is_lost());
    write_all(&Array::create(&store, "a", &other, Create::Overwrite).unwrap(), &mut [5; 8]);
    let changes = [
        array.set_dimension_names(&[Some("x".into())]),
        array.resize(&[4], false),
        array.chunk_write(&[0], false, &[0; 16]),
        array.chunk_erase(&[0], false).map(drop),
    ];
    assert_eq!(changes.map(kind), [ErrorKind::State; 4]);
    assert!(array.is_lost());
    assert_eq!((tests::text(&store, "a/zarr.json"), stored(&array)), (Some(text), vec![5; 8]));
    array.refresh().unwrap();
    assert!(!array.is_lost());
    array.resize(&[4], false).unwrap();
}

#[test]
fn what_waits_to_be_stored_by_codecs_that_are_not_known_is_lost_with_its_array() {
    let (store, made) = (tests::memory(), spec(&[8], &[4]));
    let array = Array::create(&store, "a", &made, Create::New).unwrap();
    array.set_write_back(1 << 20).unwrap();
    write_box(&array, &[1], &[1], 6).unwrap();
    let text = tests::text(&store, "a/zarr.json").unwrap();
    tests::put(&store, "a/zarr.json", &text.replace("\"bytes\"", "\"test.none\""));
    array.refresh().unwrap();
    Array::create(&store, "a", &made, Create::Overwrite).unwrap();
    array.refresh().unwrap();
    assert_eq!(kind(array.flush()), ErrorKind::State);
    assert_eq!(stored(&array), [0; 8]);
}

#[test]
fn a_handle_of_an_array_that_was_replaced_waits_for_growth_and_is_none_of_the_new_one() {
    let folder = Folder::new("lost-waits");
    for store in [&folder.1, &tests::memory()] {
        let array = Array::create(store, "a", &spec(&[8], &[4]), Create::New).unwrap();
        let new = Array::create(store, "a", &spec(&[12], &[4]), Create::Overwrite).unwrap();
        for length in [12, 16] {
            new.resize(&[length], false).unwrap();
            assert_eq!(array.wait_growth(0, 8, std::time::Duration::ZERO).unwrap(), length);
            assert_eq!(array.shape()[..], [length]);
            assert_eq!([write_box(&array, &[0], &[1], 6), array.resize(&[4], false)].map(kind), [ErrorKind::State; 2]);
            assert!(array.is_lost());
        }
        array.refresh().unwrap();
        write_box(&array, &[0], &[1], 6).and_then(|()| array.attributes().set("a", 1.into())).unwrap();
        assert_eq!(stored(&new)[0], 6);
    }
}

#[test]
fn nodes_that_become_of_version_3_while_their_documents_are_looked_for_are_found() {
    let memory: SharedStore = Arc::new(MemoryStore::new());
    for path in std::iter::once(String::new()).chain((0..100).map(|i| format!("g{i:02}"))) {
        Group::create(&on(memory.clone()), &path, Some(Format::V2), Create::New).unwrap();
    }
    let inner = memory.clone();
    let migrating = told(memory, move |next| match next {
        Next::Opened(key) if key.ends_with("/.zarray") => {
            let document = key.replace(".zarray", "zarr.json");
            inner.put(&document, &[br#"{"zarr_format":3,"node_type":"group"}"#], Condition::None)?;
            inner.erase(&key.replace(".zarray", ".zgroup")).map(drop)
        }
        _ => Ok(()),
    });
    let slow = on(Arc::new(LatencyStore::new(migrating, std::time::Duration::ZERO)));
    let children = Group::open(&slow, "").unwrap().children().unwrap();
    assert_eq!(children.iter().filter(|child| child.kind() == NodeKind::Group).count(), 100);
}

#[test]
fn a_node_that_comes_while_an_erasure_finds_none_stays_listed() {
    for format in [Format::V2, Format::V3] {
        let (inner, due): (SharedStore, _) = (Arc::new(MemoryStore::new()), Due::default());
        Group::create(&on(inner.clone()), "", Some(format), Create::New).and_then(|root| root.consolidate()).unwrap();
        let other = on(inner.clone());
        due.set("a/ozarr-copy.json opened", move || drop(Array::create(&other, "a", &spec_as(format, &[4], &[2]), Create::New).unwrap()));
        assert_eq!(kind(due.store(inner.clone()).erase_node("a")), ErrorKind::NotFound, "{format:?}");
        assert!(due.is_over());
        assert_eq!(Group::open(&on(inner), "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
    }
}
