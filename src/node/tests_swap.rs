//! Changes in stores without locks whose puts have conditions: another process that is faster loses nothing, and neither does this one.

use super::tests::{object, own, read_all, spec, spec_v2, view, write_all};
use super::tests_series::{check, dataset, define, run};
use super::tests_store::{Next, before_call, on, told};
use super::*;
use crate::engine::Selection;
use crate::error::{ErrorKind, Result, bail};
use crate::settings::apart;
use crate::store::latency::LatencyStore;
use crate::store::memory::MemoryStore;
use crate::store::{Capabilities, Change, Condition, Keys, Object, SharedStore, Started, StorageExt, get};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keys and what they hold.
type Values = Vec<(String, Vec<u8>)>;

/// A store of which another process changes `key` just before this one puts it.
pub(super) struct Overtaken {
    inner: SharedStore,
    latency: bool,
    key: &'static str,
    /// What the other process has in the store by then.
    theirs: Mutex<Option<Values>>,
    /// The keys that were opened, `put KEY` and `flush`, in order.
    calls: Mutex<Vec<String>>,
    /// How many keys can be erased before that begins to fail.
    erasures: AtomicUsize,
    /// Locks in a process are by it.
    name: &'static str,
}

impl Overtaken {
    /// A store that nobody else changes.
    pub(super) fn alone(inner: SharedStore, latency: bool) -> Overtaken {
        let (theirs, calls, erasures) = (Mutex::default(), Mutex::default(), AtomicUsize::new(usize::MAX));
        Overtaken { inner, latency, key: "", theirs, calls, erasures, name: "overtaken:" }
    }

    /// As it is, with the locks of that name.
    pub(super) fn named(self, name: &'static str) -> Overtaken {
        Overtaken { name, ..self }
    }
}

impl crate::store::Storage for Overtaken {
    crate::store::forward!(inner: list_keys);

    fn capabilities(&self) -> Capabilities {
        Capabilities { swaps: true, latency: self.latency, ..self.inner.capabilities() }
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.calls.lock().unwrap().push(key.to_string());
        self.inner.open(key)
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        if key == self.key && condition != Condition::None {
            let mut theirs = self.theirs.lock().unwrap();
            for (key, value) in theirs.take().into_iter().flatten() {
                self.inner.put(&key, &[&value], Condition::None).unwrap();
            }
        }
        self.calls.lock().unwrap().push(format!("put {key}"));
        self.inner.put(key, parts, condition)
    }

    fn erase_keys(&self, keys: Keys<'_>) -> Result<bool> {
        let Keys::Below(prefix) = keys else {
            let left = self.erasures.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            return if left.is_ok() { self.inner.erase_keys(keys) } else { bail!(Network, "the server is gone") };
        };
        self.inner.keys(prefix)?.iter().try_for_each(|key| self.erase(key).map(drop)).map(|()| true)
    }

    fn flush(&self) -> Result<()> {
        self.calls.lock().unwrap().push("flush".to_string());
        self.inner.flush()
    }

    /// Of a name of its own for each store inside: other tests lock, and tell of changes, by theirs at the same time.
    fn describe(&self) -> String {
        format!("{}{}", self.name, self.inner.describe())
    }
}

fn all(store: &SharedStore) -> Values {
    store.keys("").unwrap().into_iter().map(|key| (key.clone(), get(&**store, &key, 1 << 20).unwrap().unwrap())).collect()
}

/// A store that `make` filled, in which another process does `theirs` at the moment when this one puts `key` as it does `ours`.
fn overtake(latency: bool, key: &'static str, make: &dyn Fn(&Store), theirs: &dyn Fn(&Store), ours: &dyn Fn(&Store)) -> Store {
    let (inner, twin): (SharedStore, SharedStore) = (Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new()));
    make(&on(inner.clone()));
    all(&inner).iter().for_each(|(key, value)| twin.put(key, &[value], Condition::None).unwrap());
    theirs(&on(twin.clone()));
    let mut changed = all(&twin);
    let before = all(&inner);
    changed.retain(|entry| !before.contains(entry));
    assert!(changed.iter().any(|(changed, _)| changed == key), "the other process changes {key}");
    let overtaken = Arc::new(Overtaken { key, theirs: Mutex::new(Some(changed)), ..Overtaken::alone(inner.clone(), latency) });
    ours(&on(overtaken.clone()));
    assert!(overtaken.theirs.lock().unwrap().is_none(), "{key} was put on a condition");
    on(inner)
}

fn open(store: &Store) -> Array {
    Array::open(store, "a").unwrap()
}

fn write(array: &Array, at: i64, values: &mut [i32]) {
    let shape = [values.len() as u64];
    let region = Selection::new(&array.shape(), &[at], &[values.len() as i64], None).unwrap();
    own!(array.write(&region, &view(values, &shape)).unwrap());
}

fn append(array: &Array, values: &mut [i32]) {
    let shape = [values.len() as u64];
    own!(array.append(0, shape[0], &view(values, &shape)).unwrap());
}

/// An array of six elements in chunks of four: 1 to 6.
fn numbers(spec: Spec) -> impl Fn(&Store) {
    move |store| {
        let array = Array::create(store, "a", &spec, Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
    }
}

fn set(name: &'static str) -> impl Fn(&Store) {
    move |store| open(store).attributes().set(name, 1.into()).unwrap()
}

#[test]
fn changes_of_one_document_are_all_kept() {
    let v3 = || numbers(spec(&[6], &[4]));
    let v2 = || numbers(spec_v2(&[6], &[4]));
    let shape = |store: &Store| open(store).resize(&[9], false).unwrap();
    for latency in [false, true] {
        let names = |store: &Store| open(store).attributes().names().unwrap();
        let store = overtake(latency, "a/zarr.json", &v3(), &set("theirs"), &set("ours"));
        assert_eq!(names(&store), ["theirs", "ours"]);
        // The first attributes of version 2 are a new document.
        let store = overtake(latency, "a/.zattrs", &v2(), &set("theirs"), &set("ours"));
        assert_eq!(names(&store), ["theirs", "ours"]);
        let store = overtake(latency, "a/zarr.json", &v3(), &set("theirs"), &shape);
        assert_eq!((names(&store), open(&store).shape().to_vec()), (vec!["theirs".to_string()], vec![9]));
        let store = overtake(latency, "a/zarr.json", &v3(), &shape, &set("ours"));
        assert_eq!((names(&store), open(&store).shape().to_vec()), (vec!["ours".to_string()], vec![9]));
        let name = |store: &Store| open(store).set_dimension_names(&[Some("x".to_string())]).unwrap();
        let store = overtake(latency, "a/zarr.json", &v3(), &shape, &name);
        assert_eq!(object(&store, "a/zarr.json")["dimension_names"], crate::metadata::Value::Array(vec!["x".into()].into()));
        assert_eq!(open(&store).shape().to_vec(), [9]);
    }
}

#[test]
fn consolidated_metadata_have_the_changes_of_both() {
    for format in [Format::V3, Format::V2] {
        let key = if format == Format::V3 { "zarr.json" } else { ".zmetadata" };
        let make = |store: &Store| {
            let root = Group::create(store, "", Some(format), Create::New).unwrap();
            for name in ["x", "y"] {
                let spec = if format == Format::V3 { spec(&[1], &[1]) } else { spec_v2(&[1], &[1]) };
                Array::create(store, name, &spec, Create::New).unwrap();
            }
            root.consolidate().unwrap();
        };
        let longer = |path: &'static str| move |store: &Store| Array::open(store, path).unwrap().resize(&[7], false).unwrap();
        let consolidate = |store: &Store| Group::open(store, "").unwrap().consolidate().unwrap();
        for ours in [&longer("y") as &dyn Fn(&Store), &consolidate] {
            let store = overtake(false, key, &make, &longer("x"), ours);
            let root = Group::open(&store, "").unwrap();
            assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
            assert_eq!(Array::open(&store, "x").unwrap().shape().to_vec(), [7], "{format:?}");
        }
    }
}

#[test]
fn parts_of_one_chunk_or_shard_are_all_kept() {
    let plain = || spec(&[6], &[4]);
    let mut sharded = spec(&[6], &[4]);
    sharded.set_inner_chunks(&[2]).unwrap();
    let part = |at: i64, value: i32| move |store: &Store| write(&open(store), at, &mut [value]);
    for (latency, spec) in [(false, plain()), (true, plain()), (false, sharded.clone()), (true, sharded.clone())] {
        let make = numbers(spec);
        let store = overtake(latency, "a/c/0", &make, &part(0, 70), &part(1, 80));
        assert_eq!(read_all(&open(&store)), [70, 80, 3, 4, 5, 6]);
        let store = overtake(latency, "a/c/0", &make, &part(3, 70), &part(0, 80));
        assert_eq!(read_all(&open(&store)), [80, 2, 3, 70, 5, 6]);
        // A chunk that was not there.
        let empty = |store: &Store| {
            make(store);
            write_all(&open(store), &mut [0; 6]);
        };
        let store = overtake(latency, "a/c/0", &empty, &part(3, 70), &part(0, 80));
        assert_eq!(read_all(&open(&store)), [80, 0, 0, 70, 0, 0]);
        // A part that leaves nothing but the fill value of what was read.
        let one = |store: &Store| {
            empty(store);
            part(0, 9)(store);
        };
        let store = overtake(latency, "a/c/0", &one, &part(3, 70), &part(0, 0));
        assert_eq!(read_all(&open(&store)), [0, 0, 0, 70, 0, 0]);
        // Several regions of a batch in one chunk.
        let batch = |store: &Store| {
            let array = open(store);
            let (mut first, mut second) = ([80], [81]);
            let region = |at: i64| Selection::new(&[6], &[at], &[1], None).unwrap();
            let parts = vec![(&array, region(0), view(&mut first, &[1])), (&array, region(1), view(&mut second, &[1]))];
            own!(requests::write_many(parts).unwrap());
        };
        let store = overtake(latency, "a/c/0", &make, &part(3, 70), &batch);
        assert_eq!(read_all(&open(&store)), [80, 81, 3, 70, 5, 6]);
        // What was kept of the chunk is no longer what is stored.
        let cached = |store: &Store| {
            let array = open(&store.cached(1 << 20, Mode::ReadWrite).unwrap());
            assert_eq!(read_all(&array), [1, 2, 3, 4, 5, 6]);
            write(&array, 0, &mut [80]);
        };
        let store = overtake(latency, "a/c/0", &make, &part(3, 70), &cached);
        assert_eq!(read_all(&open(&store)), [80, 2, 3, 70, 5, 6]);
    }
    let inner = |store: &Store| open(store).chunk_write(&[0], true, &[9, 0, 0, 0, 8, 0, 0, 0]).unwrap();
    let store = overtake(false, "a/c/0", &numbers(sharded), &part(3, 70), &inner);
    assert_eq!(read_all(&open(&store)), [9, 8, 3, 70, 5, 6]);
}

#[test]
fn appends_get_a_place_of_their_own() {
    let ours = |store: &Store| append(&open(store), &mut [80, 81]);
    let theirs = |store: &Store| append(&open(store), &mut [70]);
    for latency in [false, true] {
        let store = overtake(latency, "a/zarr.json", &numbers(spec(&[6], &[4])), &theirs, &ours);
        assert_eq!(read_all(&open(&store)), [1, 2, 3, 4, 5, 6, 70, 80, 81]);
        // In a chunk that this process knows as its own alone, as the array ended in front of it.
        let store = overtake(latency, "a/c/1", &numbers(spec(&[6], &[4])), &theirs, &|store: &Store| {
            let array = open(store);
            array.resize(&[4], false).unwrap();
            append(&array, &mut [80]);
        });
        assert_eq!(read_all(&open(&store))[4..5], [80], "the first place is this process's");
        let appender = |store: &Store| {
            let mut appender = Appender::open(&open(store), 0, 0, 0).unwrap();
            own!(appender.put(2, &view(&mut [80, 81], &[2])).unwrap());
            appender.flush().unwrap();
        };
        let store = overtake(latency, "a/zarr.json", &numbers(spec(&[6], &[4])), &set("theirs"), &appender);
        assert_eq!(read_all(&open(&store)), [1, 2, 3, 4, 5, 6, 80, 81]);
        assert_eq!(open(&store).attributes().names().unwrap(), ["theirs"]);
    }
}

#[test]
fn an_append_that_fails_gives_its_place_back() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    numbers(spec(&[6], &[4]))(&on(inner.clone()));
    let overtaken = Overtaken::alone(inner.clone(), true);
    let array = open(&on(Arc::new(overtaken)));
    let mut large = [5i64, i64::MAX];
    let memory = crate::engine::Memory::of(&mut large, &[2], crate::dtype::DataType::Int64);
    assert_eq!(own!(array.append(0, 2, &memory)).unwrap_err().kind(), ErrorKind::Range);
    let store = on(inner);
    assert_eq!(read_all(&open(&store)), [1, 2, 3, 4, 5, 6]);
    open(&store).resize(&[8], false).unwrap();
    assert_eq!(read_all(&open(&store)), [1, 2, 3, 4, 5, 6, 0, 0]);
}

/// An appender of another process at the array, which publishes every 100 steps: its whole chunks are stored before.
fn appender_of(inner: &SharedStore, latency: bool) -> Appender {
    Appender::open(&open(&on(Arc::new(Overtaken::alone(inner.clone(), latency)))), 0, 100, 0).unwrap()
}

fn append_by(appender: &mut Appender, values: &mut [i32]) -> Result<()> {
    let shape = [values.len() as u64];
    own!(appender.append(shape[0], &view(values, &shape)))
}

#[test]
fn of_two_appenders_that_begin_at_once_one_stores_nothing() {
    for (latency, spec) in [(false, spec(&[4], &[4])), (true, spec(&[4], &[4])), (false, spec_v2(&[4], &[4]))] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        write_all(&Array::create(&on(inner.clone()), "a", &spec, Create::New).unwrap(), &mut [1, 2, 3, 4]);
        let [mut first, mut second] = [appender_of(&inner, latency), appender_of(&inner, latency)];
        append_by(&mut first, &mut [5, 6, 7, 8, 9]).unwrap();
        let before = all(&inner);
        assert!(before.iter().any(|(key, _)| key.ends_with('1')), "the first one has stored a chunk: {before:?}");
        let e = append_by(&mut second, &mut [80, 81, 82, 83, 84]).unwrap_err();
        assert!(e.kind() == ErrorKind::State && e.message().contains("another appender"), "{e}");
        assert_eq!(all(&inner), before, "the second one has stored nothing");
        drop(second);
        // What is changed of the array otherwise does not stop the first one.
        set("n")(&on(inner.clone()));
        append_by(&mut first, &mut [10]).unwrap();
        first.flush().unwrap();
        assert_eq!(read_all(&open(&on(inner.clone()))), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        assert_eq!(open(&on(inner)).attributes().names().unwrap(), ["n"]);
    }
}

#[test]
fn an_appender_that_is_opened_later_goes_on_and_the_one_before_it_stores_nothing_more() {
    for latency in [false, true] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        write_all(&Array::create(&on(inner.clone()), "a", &spec(&[4], &[4]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
        let mut first = appender_of(&inner, latency);
        append_by(&mut first, &mut [5, 6, 7, 8, 9]).unwrap();
        // As after a kill of the first one.
        let mut second = appender_of(&inner, latency);
        append_by(&mut second, &mut [80, 81, 82, 83]).unwrap();
        let before = all(&inner);
        assert_eq!(append_by(&mut first, &mut [10, 11, 12]).unwrap_err().kind(), ErrorKind::State);
        assert_eq!(first.flush().unwrap_err().kind(), ErrorKind::State);
        drop(first);
        assert_eq!(all(&inner), before);
        second.flush().unwrap();
        append_by(&mut second, &mut [84]).unwrap();
        second.flush().unwrap();
        drop(second);
        assert_eq!(read_all(&open(&on(inner.clone()))), [1, 2, 3, 4, 80, 81, 82, 83, 84]);
        // And nothing hinders the next one.
        let mut third = appender_of(&inner, latency);
        append_by(&mut third, &mut [85]).unwrap();
        third.flush().unwrap();
        assert_eq!(open(&on(inner)).shape().to_vec(), [10]);
    }
}

/// Of two jobs whose processes store the steps themselves the one goes on that claimed the run last.
#[test]
fn steps_that_others_stored_are_published_by_the_series_that_claimed_the_run_last() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    define(&on(inner.clone()), Format::V3);
    let open = |name| {
        let store = on(Arc::new(Overtaken { name, ..Overtaken::alone(inner.clone(), false) }));
        Series::open(&dataset(&store), "time", None, 4, 0).unwrap()
    };
    let mut first = open("one process:");
    first.declare(0).unwrap();
    first.declare(2).unwrap();
    let mut second = open("another process:");
    first.declare(2).unwrap();
    second.declare(2).unwrap();
    for end in [2, 3] {
        assert_eq!(first.declare(end).unwrap_err().kind(), ErrorKind::State, "{end}");
    }
    drop(first);
    second.declare(5).unwrap();
    drop(second);
    assert_eq!(open("a third process:").position(), (5, 5));
}

/// The second one is opened before each call of the first one in turn, and goes on when the first one has ended.
#[test]
fn of_two_series_of_a_run_one_goes_on_whatever_the_other_is_doing() {
    for after in 0.. {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&on(inner.clone()), Format::V3);
        let store = |shared| on(Arc::new(Overtaken { name: "another process:", ..Overtaken::alone(shared, false) }));
        let (second, left) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(usize::MAX)));
        let (begun, calls, other) = (second.clone(), left.clone(), inner.clone());
        let tell = move |next: Next<'_>| {
            if !matches!(next, Next::Opened(_)) && calls.fetch_sub(1, Relaxed) == 0 {
                *begun.lock().unwrap() = Some(Series::open(&dataset(&store(other.clone())), "time", None, 4, 0));
            }
            Ok(())
        };
        let told = told(Arc::new(Overtaken::alone(inner.clone(), false)), tell);
        let mut first = Series::open(&dataset(&on(told)), "time", None, 4, 0).unwrap();
        run(&mut first, 7).unwrap();
        left.store(after, Relaxed);
        let ended = run(&mut first, 11).and_then(|()| first.flush());
        drop(first);
        let second = second.lock().unwrap().take();
        let has_begun = second.is_some();
        let went_on = second.map(|second| second.and_then(|mut second| run(&mut second, 11).and_then(|()| second.flush())));
        for e in [ended.as_ref().err(), went_on.as_ref().and_then(|done| done.as_ref().err())].into_iter().flatten() {
            assert!(e.kind() == ErrorKind::State, "{after}: {e}");
        }
        assert!(ended.is_ok() || went_on.is_some_and(|done| done.is_ok()), "{after}: none goes on");
        assert_eq!(check(&on(inner)), 11, "{after}");
        if !has_begun {
            assert!(after > 30, "only {after} calls");
            return;
        }
    }
}

/// Both claim their variables at the same time.
#[test]
fn of_two_series_that_begin_at_the_same_time_one_goes_on_in_stores_with_latency() {
    for round in 0..30 {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        define(&on(inner.clone()), Format::V3);
        let store = |name| {
            let shared = Arc::new(Overtaken { name, ..Overtaken::alone(inner.clone(), false) });
            on(Arc::new(LatencyStore::new(shared, Duration::from_millis(1))))
        };
        let mut both = ["one process:", "another process:"].map(|name| Series::open(&dataset(&store(name)), "time", None, 1, 0).unwrap());
        let ended = std::thread::scope(|scope| {
            let begun = both.each_mut().map(|series| scope.spawn(|| run(series, 1)));
            begun.map(|thread| thread.join().unwrap())
        });
        assert_eq!(ended.iter().filter(|ended| ended.is_ok()).count(), 1, "{round}: {ended:?}");
        assert_eq!(check(&on(inner)), 1);
    }
}

/// The run of [`define`] on `inner`, opened by another job with `keep`; `meanwhile` is done before one of its calls, after as many as `after`.
fn opened_while(inner: &SharedStore, keep: Option<u64>, after: usize, meanwhile: impl FnOnce() + Send + 'static) -> Result<Series> {
    let store = on(before_call(Arc::new(Overtaken::alone(inner.clone(), false)), after, meanwhile));
    Series::open(&dataset(&store), "time", keep, 1, 0)
}

/// A store in which the run of [`define`] has ten steps.
fn ten_steps() -> SharedStore {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    define(&on(inner.clone()), Format::V3);
    run(&mut opened_while(&inner, None, usize::MAX, || ()).unwrap(), 10).unwrap();
    inner
}

#[test]
fn a_step_whose_publication_ends_while_the_run_is_opened_again_is_kept() {
    for after in (0..).step_by(apart(3)) {
        let inner = ten_steps();
        let mut first = Series::open(&dataset(&on(Arc::new(Overtaken::alone(inner.clone(), false)))), "time", None, 1, 0).unwrap();
        let before = all(&inner);
        run(&mut first, 11).unwrap();
        // As it is when all but these two are stored.
        let last = ["time/zarr.json", "zarr.json"].map(|key| {
            let now = get(&*inner, key, 1 << 20).unwrap().unwrap();
            let old = before.iter().find(|(there, _)| there == key).unwrap().1.clone();
            inner.put(key, &[&old], Condition::None).unwrap();
            (key, old, now)
        });
        let (other, published) = (inner.clone(), Arc::new(Mutex::new(None)));
        let done = published.clone();
        let second = opened_while(&inner, None, after, move || {
            let is_old = |(key, old, _): &(&str, Vec<u8>, Vec<u8>)| get(&*other, key, 1 << 20).unwrap().unwrap() == *old;
            let stored = last.iter().take_while(|entry| is_old(entry) && other.put(entry.0, &[&entry.2], Condition::None).is_ok());
            *done.lock().unwrap() = Some(stored.count());
        });
        drop(first);
        let published = *published.lock().unwrap();
        match second {
            Ok(mut second) => {
                let expected = if published.is_some_and(|count| count > 0) { 11 } else { 10 };
                assert_eq!(second.position().0, expected, "{after}: {published:?}");
                run(&mut second, 12).unwrap();
                drop(second);
                assert_eq!(check(&on(inner)), 12, "{after}");
            }
            Err(e) => panic!("{after}: {e}"),
        }
        if published.is_none() {
            assert!(after > 20, "only {after} calls");
            return;
        }
    }
}

/// The second one is opened, and has cut the run, before each call in which the first one is opened.
#[test]
fn of_two_series_that_keep_other_numbers_of_steps_none_shows_steps_that_were_cut() {
    for (ours, theirs) in [(8, 5), (5, 8)] {
        for after in (0..).step_by(apart(3)) {
            let (inner, begun) = (ten_steps(), Arc::new(Mutex::new(None)));
            let (other, done) = (inner.clone(), begun.clone());
            let first = opened_while(&inner, Some(ours), after, move || {
                let store = on(Arc::new(Overtaken { name: "another process:", ..Overtaken::alone(other.clone(), false) }));
                *done.lock().unwrap() = Some(Series::open(&dataset(&store), "time", Some(theirs), 1, 0));
            });
            let second = begun.lock().unwrap().take();
            let has_begun = second.is_some();
            let context = format!("{ours} {theirs} {after}");
            let opened = [Some(first), second].into_iter().flatten();
            let ends = opened.map(|series| series.and_then(|mut series| run(&mut series, 11))).collect::<Vec<_>>();
            for e in ends.iter().filter_map(|end| end.as_ref().err()) {
                assert!(matches!(e.kind(), ErrorKind::State | ErrorKind::Bounds), "{context}: {e}");
            }
            // Where the second one comes while the first one claims its variables, both may have to be opened again.
            let goes_on = ends.iter().any(Result::is_ok);
            assert!(check(&on(inner.clone())) == if goes_on { 11 } else { theirs }, "{context}");
            run(&mut opened_while(&inner, None, usize::MAX, || ()).unwrap(), 12).unwrap();
            assert_eq!(check(&on(inner)), 12, "{context}");
            if !has_begun {
                assert!(after > 20, "only {after} calls");
                break;
            }
        }
    }
}

/// Another process creates the same array, and writes it, before each call of this one in turn.
#[test]
fn of_two_that_create_an_array_the_slower_one_takes_nothing_from_the_faster_one() {
    for (format, how) in
        [(Format::V3, Create::New), (Format::V3, Create::OpenIfSame), (Format::V2, Create::New), (Format::V2, Create::OpenIfSame)]
    {
        for after in 0.. {
            let inner: SharedStore = Arc::new(MemoryStore::new());
            let made = |who: &str| {
                let mut spec = if format == Format::V3 { spec(&[6], &[4]) } else { spec_v2(&[6], &[4]) };
                spec.set_attributes_json(&format!("{{\"who\": \"{who}\"}}")).unwrap();
                spec
            };
            let theirs = Arc::new(Mutex::new(None));
            let (begun, other, their_spec) = (theirs.clone(), inner.clone(), made("they"));
            let told = before_call(Arc::new(Overtaken::alone(inner.clone(), false)), after, move || {
                let store = on(Arc::new(Overtaken { name: "another process:", ..Overtaken::alone(other, false) }));
                let array = Array::create(&store, "a", &their_spec, Create::New);
                *begun.lock().unwrap() = Some(array.map(|array| write_all(&array, &mut [1, 2, 3, 4, 5, 6])).map_err(|e| e.kind()));
            });
            let ours = Array::create(&on(told), "a", &made("we"), how);
            let Some(theirs) = theirs.lock().unwrap().take() else {
                assert!(ours.is_ok() && after > 5, "only {after} calls");
                break;
            };
            let context = format!("{format:?} {how:?} {after}");
            let array = open(&on(inner));
            let who = array.attributes().get_string("who").unwrap();
            match theirs {
                Ok(()) => assert_eq!((read_all(&array), who.as_str()), (vec![1, 2, 3, 4, 5, 6], "they"), "{context}"),
                Err(kind) => assert_eq!((kind, who.as_str()), (ErrorKind::Exists, "we"), "{context}"),
            }
            match ours {
                Ok(_) => assert!(theirs.is_err() || how == Create::OpenIfSame, "{context}"),
                Err(e) => assert_eq!((e.kind(), theirs.is_ok(), how), (ErrorKind::Exists, true, Create::New), "{context}: {e}"),
            }
        }
    }
}

#[test]
fn a_group_whose_erasing_fails_shows_nothing_half_and_is_erased_by_the_same_call() {
    for format in [Format::V3, Format::V2] {
        let make = |store: &Store| {
            Group::create(store, "", Some(format), Create::New).unwrap();
            for name in ["g/x", "g/h/y"] {
                let spec = if format == Format::V3 { spec(&[4], &[2]) } else { spec_v2(&[4], &[2]) };
                write_all(&Array::create(store, name, &spec, Create::New).unwrap(), &mut [1, 2, 3, 4]);
            }
            Group::open(store, "g").unwrap().consolidate().unwrap();
            Group::open(store, "").unwrap().consolidate().unwrap();
        };
        for erasures in 0.. {
            let inner: SharedStore = Arc::new(MemoryStore::new());
            make(&on(inner.clone()));
            let failing = Arc::new(Overtaken::alone(inner.clone(), false));
            failing.erasures.store(erasures, Relaxed);
            let done = on(failing.clone()).erase_node("g");
            let after = on(inner.clone());
            for name in ["g/x", "g/h/y"] {
                match Array::open(&after, name) {
                    Ok(array) => assert_eq!(read_all(&array), [1, 2, 3, 4], "{name} after {erasures}"),
                    Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound),
                }
            }
            let listed = Group::open(&after, "").unwrap().consolidated_differences().unwrap().unwrap();
            assert!(!listed.iter().any(|line| line.contains("not there")), "after {erasures}: {listed:?}");
            if let Ok(g) = Group::open(&after, "g") {
                let listed = g.consolidated_differences().unwrap().unwrap_or_default();
                assert!(!listed.iter().any(|line| line.contains("not there")), "after {erasures}: {listed:?}");
            }
            if done.is_ok() {
                assert!(all(&inner).iter().all(|(key, _)| !key.starts_with("g/")));
                assert!(erasures > 8, "{erasures} keys were erased");
                break;
            }
            failing.erasures.store(usize::MAX, Relaxed);
            match on(failing).erase_node("g") {
                Ok(()) => {}
                Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound, "after {erasures}"),
            }
            assert!(all(&inner).iter().all(|(key, _)| !key.starts_with("g/")), "after {erasures}");
        }
    }
}

/// Of each variable whose chunks are stored when a step is published, the document is read once to see that no other writer is at work, and once
/// for the consolidated metadata; one whose chunks were stored before is read no more often. Where a chunk is changed in part, it is read once more, to see
/// that what was read is the series' own.
#[test]
fn publishing_a_step_reads_each_document_twice() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    let counted = Arc::new(Overtaken::alone(inner, false));
    let store = on(counted.clone());
    let ds = Dataset::create(&store, "", Some(Format::V3), Create::New).unwrap();
    ds.define_time("time", 0, Some(8), "days since 2026-01-01", "standard", Create::New).unwrap();
    for name in ["t", "p"] {
        let variable = VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(crate::dtype::DataType::Int32, &["time"]) };
        ds.define_variable(name, &variable, Create::New).unwrap();
    }
    let mut series = Series::open(&ds, "time", None, 1, 0).unwrap();
    for step in 0..5 {
        let mut value = [step];
        for name in ["t", "p"] {
            own!(series.put(name, |_, shape| Ok(view(&mut value[..], shape)))).unwrap();
        }
        counted.calls.lock().unwrap().clear();
        series.step(f64::from(step)).unwrap();
        let opened = counted.calls.lock().unwrap().clone();
        // With the first step the arrays are claimed.
        let names: &[&str] = if step == 0 { &[] } else { &["t/zarr.json", "p/zarr.json", "time/zarr.json"] };
        for name in names {
            // Step 0 is the fill value, which is not stored, and step 4 begins a chunk.
            let looks = if step == 1 || step == 4 && *name != "time/zarr.json" { 2 } else { 3 };
            assert_eq!(opened.iter().filter(|key| key == name).count(), looks, "{name} in step {step}: {opened:?}");
        }
    }
    drop(series);
    assert_eq!(read_all(&Array::open(&store, "t").unwrap()), [0, 1, 2, 3, 4]);
}

/// Over a network each look at a document is a request.
#[test]
fn opening_a_series_reads_each_document_once() {
    let whole = |consolidate| Options { consolidate, ..Options::default() };
    for (format, latency, consolidate) in [
        (Format::V3, false, Consolidate::Named),
        (Format::V3, true, Consolidate::Named),
        (Format::V3, false, Consolidate::Never),
        (Format::V2, false, Consolidate::Named),
        (Format::V2, true, Consolidate::Named),
        (Format::V2, false, Consolidate::Never),
    ] {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        let opened_anew = |shared: SharedStore| {
            let store = Store::new(&Context::with_threads(1), shared, Mode::ReadWrite, whole(consolidate));
            Dataset::open(Group::open(&store, "").unwrap()).unwrap()
        };
        let store = Store::new(&Context::with_threads(1), inner.clone(), Mode::ReadWrite, whole(consolidate));
        let ds = Dataset::create(&store, "", Some(format), Create::New).unwrap();
        ds.define_time("time", 0, Some(8), "days since 2026-01-01", "standard", Create::New).unwrap();
        ds.define_variable("t", &VariableSpec::new(crate::dtype::DataType::Int32, &["time"]), Create::New).unwrap();
        Series::open(&ds, "time", None, 1, 0).unwrap().step(1.0).unwrap();

        let counted = Arc::new(Overtaken::alone(inner, latency));
        let ds = opened_anew(counted.clone());
        counted.calls.lock().unwrap().clear();
        let series = Series::open(&ds, "time", None, 1, 0).unwrap();
        let opened = counted.calls.lock().unwrap().clone();
        assert_eq!(series.position(), (1, 1));
        let read = |key: &str| opened.iter().filter(|opened| *opened == key).count();
        for name in ["t", "time"] {
            let of_array: &[&str] = if format == Format::V3 { &["zarr.json"] } else { &[".zarray", ".zattrs"] };
            of_array.iter().for_each(|document| {
                assert_eq!(
                    read(&format!("{name}/{document}")),
                    1,
                    "{document} of {name}, {format:?} {latency} {consolidate:?}: {opened:?}"
                );
            });
        }
        for key in ["zarr.json", ".zmetadata", ".zgroup", ".zattrs"] {
            assert!(read(key) <= 1, "{key}, {format:?} {latency} {consolidate:?}: {opened:?}");
        }
    }
}

/// A reader, and a restart after a power cut, must not find a length whose elements are not there.
#[test]
fn an_appender_makes_chunks_durable_before_it_publishes_the_length() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    numbers(spec(&[6], &[2]))(&on(inner.clone()));
    let watched = Arc::new(Overtaken::alone(inner, false));
    let mut appender = Appender::open(&open(&on(watched.clone())), 0, 0, 0).unwrap();
    for step in 0..3 {
        watched.calls.lock().unwrap().clear();
        own!(appender.put(3, &view(&mut [70, 71, 72], &[3])).unwrap());
        appender.flush().unwrap();
        let calls = watched.calls.lock().unwrap().clone();
        let last = |what: &str| calls.iter().rposition(|call| call.starts_with(what)).unwrap_or(0);
        // With the first step the array is claimed before.
        let between = calls.get(last("put a/c/")..last("put a/zarr.json")).unwrap_or_default();
        assert!(between.contains(&"flush".to_string()), "step {step}: {calls:?}");
    }
}

/// The other process and another thread of this one, for [`Interrupted`].
type Meanwhile = Box<dyn FnOnce() + Send>;

/// A store in which another process changes chunk 0 while a put of it is under way; and once the put has failed for that, another thread
/// has its turn, before the one that put goes on.
struct Interrupted {
    inner: SharedStore,
    others: Mutex<Option<(Meanwhile, Meanwhile)>>,
}

impl crate::store::Storage for Interrupted {
    crate::store::forward!(inner: open, put, erase_keys, list_keys, flush);

    fn capabilities(&self) -> Capabilities {
        Capabilities { swaps: true, latency: true, ..self.inner.capabilities() }
    }

    fn start(&self, key: &str, what: Started<'_>) {
        let is_put = key == "a/c/0" && matches!(&what, Started::Change(Change::Put(..), _));
        let others = if is_put { self.others.lock().unwrap().take() } else { None };
        let Some((process, thread)) = others else { return what.run(&*self.inner, key) };
        process();
        what.run(&*self.inner, key);
        std::thread::spawn(thread).join().unwrap();
    }

    fn describe(&self) -> String {
        "interrupted:".to_string()
    }
}

#[test]
fn what_another_thread_lets_wait_while_a_chunk_is_stored_again_is_kept() {
    let flushed: &dyn Fn(&Array) = &|array| {
        write(array, 0, &mut [10]);
        array.flush().unwrap();
    };
    // Elements that are apart do not wait where there is room for one chunk and no bits.
    let through: &dyn Fn(&Array) = &|array| {
        let apart = Selection::new(&[8], &[0], &[2], Some(&[2])).unwrap();
        own!(array.write(&apart, &view(&mut [10, 3], &[2])).unwrap());
    };
    // The other thread adds to what waits of the chunk; or it stores that, and the buffer gets another chunk.
    for (ours, stores) in [(flushed, false), (flushed, true), (through, false), (through, true)] {
        let [inner, twin]: [SharedStore; 2] = [Arc::new(MemoryStore::new()), Arc::new(MemoryStore::new())];
        for store in [&inner, &twin] {
            write_all(&Array::create(&on(store.clone()), "a", &spec(&[8], &[4]), Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 6, 7, 8]);
        }
        write(&open(&on(twin.clone())), 3, &mut [40]);
        let interrupted = Arc::new(Interrupted { inner: inner.clone(), others: Mutex::default() });
        let array = open(&on(interrupted.clone()));
        array.set_write_back(16).unwrap();
        let (theirs, mine) = (inner.clone(), array.clone());
        let process = move || theirs.put("a/c/0", &[&get(&*twin, "a/c/0", 1 << 10).unwrap().unwrap()], Condition::None).unwrap();
        let thread = move || {
            write(&mine, 1, &mut [20]);
            if stores {
                mine.flush().unwrap();
                write(&mine, 4, &mut [50]);
            }
        };
        *interrupted.others.lock().unwrap() = Some((Box::new(process), Box::new(thread)));
        ours(&array);
        assert!(interrupted.others.lock().unwrap().is_none(), "the put was interrupted");
        array.flush().unwrap();
        assert_eq!(read_all(&open(&on(inner))), [10, 20, 3, 40, if stores { 50 } else { 5 }, 6, 7, 8], "{stores}");
    }
}

/// What becomes of one put on a condition, which is given its bytes: its error.
type Fate = Box<dyn FnOnce(&[u8]) -> crate::error::Error + Send>;

/// A store in which the next conditional put of `key` meets its fate.
struct Fated {
    inner: SharedStore,
    swaps: bool,
    key: &'static str,
    fate: Mutex<Option<Fate>>,
}

impl crate::store::Storage for Fated {
    crate::store::forward!(inner: open, erase_keys, list_keys, flush);

    fn capabilities(&self) -> Capabilities {
        Capabilities { swaps: self.swaps, ..self.inner.capabilities() }
    }

    fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
        let fate = if key == self.key { self.fate.lock().unwrap().take() } else { None };
        fate.map_or_else(|| self.inner.put(key, parts, condition), |fate| Err(fate(&parts.concat())))
    }

    fn describe(&self) -> String {
        "fated:".to_string()
    }
}

/// The answer to a put is lost, another process makes `theirs` of what was put, and the next try finds that.
fn stored_and_replaced(inner: &SharedStore, key: &'static str, theirs: impl Fn(&Store) + Send + 'static) -> Fate {
    let inner = inner.clone();
    Box::new(move |bytes| {
        inner.put(key, &[bytes], Condition::None).unwrap();
        theirs(&on(Arc::new(Overtaken::alone(inner, false))));
        crate::error::err!(Conflict, "the key holds another value by now").unsure()
    })
}

#[test]
fn an_append_whose_answer_was_lost_and_that_others_went_on_from_is_not_made_twice() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    numbers(spec(&[6], &[4]))(&on(inner.clone()));
    let fate = stored_and_replaced(&inner, "a/zarr.json", |store| append(&open(store), &mut [70]));
    let fated = Fated { inner: inner.clone(), swaps: true, key: "a/zarr.json", fate: Mutex::new(Some(fate)) };
    let array = open(&on(Arc::new(fated)));
    let e = own!(array.append(0, 2, &view(&mut [80, 81], &[2]))).unwrap_err();
    assert!(e.is_unsure() && e.kind() == ErrorKind::Conflict, "{e}");
    assert!(e.message().contains("stored or not; if it was, the array is longer by what was to be appended, with the fill value"), "{e}");
    assert_eq!(read_all(&open(&on(inner))), [1, 2, 3, 4, 5, 6, 0, 0, 70], "it has one place, and nobody was told that it is there");
}

#[test]
fn what_is_the_same_when_it_is_made_twice_goes_on_behind_a_lost_answer() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    numbers(spec(&[6], &[4]))(&on(inner.clone()));
    let fated = Arc::new(Fated { inner: inner.clone(), swaps: true, key: "a/zarr.json", fate: Mutex::default() });
    let lose = |name| *fated.fate.lock().unwrap() = Some(stored_and_replaced(&inner, "a/zarr.json", set(name)));
    let array = open(&on(fated.clone()));
    lose("first");
    array.attributes().set("ours", 1.into()).unwrap();
    let mut appender = Appender::open(&array, 0, 0, 0).unwrap();
    append_by(&mut appender, &mut [70]).and_then(|()| appender.flush()).unwrap();
    // The length that was published is the appender's own, though another process has changed an attribute since.
    lose("second");
    append_by(&mut appender, &mut [71]).and_then(|()| appender.flush()).unwrap();
    assert!(fated.fate.lock().unwrap().is_none());
    append_by(&mut appender, &mut [72]).and_then(|()| appender.flush()).unwrap();
    let array = open(&on(inner));
    assert_eq!(read_all(&array), [1, 2, 3, 4, 5, 6, 70, 71, 72]);
    let mut names = array.attributes().names().unwrap();
    names.sort();
    assert_eq!(names, ["first", "ours", "second"]);
}

/// A put that fails, and is carried out later by what keeps the bytes.
fn late() -> (Fate, Arc<Mutex<Vec<u8>>>) {
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keeps = kept.clone();
    let fate = move |bytes: &[u8]| {
        *keeps.lock().unwrap() = bytes.to_vec();
        crate::error::err!(Timeout, "the server did not answer before the deadline").unsure()
    };
    (Box::new(fate), kept)
}

#[test]
fn a_document_that_comes_late_has_its_data() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    let fated = |swaps, key| {
        let (fate, kept) = late();
        let fated: SharedStore = Arc::new(Fated { inner: inner.clone(), swaps, key, fate: Mutex::new(Some(fate)) });
        let (inner, arrive) =
            (inner.clone(), move |inner: &SharedStore| inner.put(key, &[&kept.lock().unwrap()], Condition::None).unwrap());
        (on(fated), move || arrive(&inner))
    };
    let (store, arrive) = fated(true, "run/t/zarr.json");
    let all = Checkpoints::new(&store, "run").unwrap();
    let begun = all.begin("t").unwrap();
    super::tests_checkpoint::fill(&begun, 3).unwrap();
    assert_eq!(begun.commit().unwrap_err().kind(), ErrorKind::Timeout);
    assert_eq!(super::tests_checkpoint::newest(&store, "run"), 0, "it is not there yet");
    arrive();
    assert_eq!(super::tests_checkpoint::newest(&store, "run"), 3);
    // Of a document that was hidden nothing can come late.
    let hidden = Arc::new(Fated { inner: inner.clone(), swaps: true, key: "run/u/zarr.json.begun", fate: Mutex::default() });
    let store = on(hidden.clone());
    let begun = Checkpoints::new(&store, "run").unwrap().begin("u").unwrap();
    super::tests_checkpoint::fill(&begun, 4).unwrap();
    *hidden.fate.lock().unwrap() = Some(late().0);
    assert_eq!(begun.commit().unwrap_err().kind(), ErrorKind::Timeout);
    assert!(hidden.fate.lock().unwrap().is_none(), "it met its fate");
    inner.list("run/u/", &mut |key| bail!(Internal, "{key} is left")).unwrap();
    // A shape that is published behind its data.
    numbers(spec(&[6], &[4]))(&on(inner.clone()));
    let (store, arrive) = fated(false, "a/zarr.json");
    assert_eq!(own!(open(&store).append(0, 2, &view(&mut [80, 81], &[2]))).unwrap_err().kind(), ErrorKind::Timeout);
    arrive();
    assert_eq!(read_all(&open(&on(inner.clone()))), [1, 2, 3, 4, 5, 6, 80, 81]);
}

#[test]
fn a_node_whose_creation_lost_its_answer_is_opened_though_another_process_has_changed_an_attribute() {
    let array = |store: &Store, how| Array::create(store, "run/a", &spec(&[6], &[4]), how).map(drop);
    let group = |store: &Store, how| Group::create(store, "run/a", None, how).map(drop);
    let theirs = |store: &Store| match Node::open(store, "run/a").unwrap() {
        Node::Array(array) => array.attributes().set("theirs", 1.into()).unwrap(),
        Node::Group(group) => group.attributes().set("theirs", 1.into()).unwrap(),
    };
    type Make<'a> = &'a dyn Fn(&Store, Create) -> Result<()>;
    for (make, how) in [&array as Make<'_>, &group].into_iter().flat_map(|make| [(make, Create::OpenIfSame), (make, Create::New)]) {
        let inner: SharedStore = Arc::new(MemoryStore::new());
        Group::create(&on(inner.clone()), "", None, Create::New).unwrap().consolidate().unwrap();
        let fate = stored_and_replaced(&inner, "run/a/zarr.json", theirs);
        let fated = Fated { inner: inner.clone(), swaps: true, key: "run/a/zarr.json", fate: Mutex::new(Some(fate)) };
        let made = make(&on(Arc::new(fated)), how);
        match how {
            Create::New => assert!(made.is_err_and(|e| e.is_unsure() && e.kind() == ErrorKind::Conflict)),
            _ => made.unwrap(),
        }
        let found = Node::open(&on(inner.clone()), "run/a").unwrap();
        assert_eq!(found.attributes().names().unwrap(), ["theirs"]);
        if how != Create::New {
            assert_eq!(Group::open(&on(inner), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
        }
    }
}
