//! Tests of checkpoints that another process removes or begins while this one commits them, at every moment.

use super::begun::Mark;
use super::tests::{read_all, spec};
use super::tests_checkpoint::{fill, make, newest};
use super::tests_growth::Folder;
use super::tests_series::Meeting;
pub(super) use super::tests_store::on;
use super::tests_store::{Due, Next, Told, before_call, told};
use super::tests_swap::Overtaken;
use super::*;
use crate::dtype::DataType;
use crate::error::{ErrorKind, Result, err};
use crate::settings::apart;
use crate::store::latency::LatencyStore;
use crate::store::local::{LocalStore, SyncMode};
use crate::store::memory::MemoryStore;
use crate::store::{LockUse, ProcessLock, SharedStore, Storage};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// A number of its own: tests run at the same time.
pub(super) fn counted() -> usize {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    COUNT.fetch_add(1, Ordering::Relaxed)
}

/// Where two processes meet: a folder, with locks between them, or a store whose puts have conditions.
pub(super) struct Place {
    folder: Folder,
    shared: Option<SharedStore>,
}

impl Place {
    fn new(format: Format, has_locks: bool) -> Place {
        let place = Place::empty(has_locks);
        Group::create(&on(place.shared()), "", Some(format), Create::New).unwrap();
        make(&checkpoints(&on(place.shared())), "old", 1).unwrap();
        place
    }

    pub fn empty(has_locks: bool) -> Place {
        let shared = || Arc::new(Overtaken::alone(Arc::new(MemoryStore::new()), false)) as SharedStore;
        Place { folder: Folder::new(&format!("commit-{}", counted())), shared: (!has_locks).then(shared) }
    }

    /// What another process has of it.
    pub fn shared(&self) -> SharedStore {
        self.shared.clone().unwrap_or_else(|| Arc::new(Waiting(Arc::new(LocalStore::open(&self.folder.0, true, SyncMode::None).unwrap()))))
    }

    /// Checks all kinds of places.
    pub fn each(with_conditions: bool, check: impl Fn(Format, bool)) {
        for (format, has_locks) in [Format::V3, Format::V2].into_iter().flat_map(|format| [(format, true), (format, false)]) {
            if has_locks || with_conditions {
                check(format, has_locks);
            }
        }
    }
}

fn checkpoints(store: &Store) -> Checkpoints {
    Checkpoints::new(store, "").unwrap()
}

thread_local! {
    /// Told where the thread of another process is about to wait for a lock.
    static WAITS: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) };
}

/// A store with locks that tells [`WAITS`].
pub(super) struct Waiting(pub SharedStore);

impl Storage for Waiting {
    crate::store::forward!(0: capabilities, open, put, stage, erase_keys, list_keys, flush, files, describe);

    fn lock_key(&self, prefix: &str, key: &str, often: LockUse) -> Result<Option<ProcessLock>> {
        let is_taken = || self.0.lock_key(prefix, key, LockUse::Look).is_err_and(|e| e.kind() == ErrorKind::Again);
        WAITS.with_borrow(|waits| match waits {
            Some(waits) if matches!(often, LockUse::Rare | LockUse::Often) && is_taken() => waits.send(()).unwrap_or_default(),
            _ => {}
        });
        self.0.lock_key(prefix, key, often)
    }
}

/// How long a test waits for what comes in any case.
const LONG: Duration = Duration::from_secs(60);

/// What another process does before one of the calls of this one, which goes on when that is done, or waits for a lock.
pub(super) struct Event<T> {
    armed: Arc<AtomicBool>,
    began: Arc<AtomicBool>,
    /// The other one had to wait for this one, so that both went on at the same time.
    both: Arc<AtomicBool>,
    done: mpsc::Receiver<T>,
    pub store: Store,
}

impl<T: Send + 'static> Event<T> {
    pub fn new(inner: SharedStore, after: usize, event: impl FnOnce() -> T + Send + 'static) -> Event<T> {
        Event::before(|next| !matches!(next, Next::Opened(_)), inner, after, event)
    }

    /// Like `new`, before one of the calls that `counts` says.
    pub fn before(counts: fn(&Next<'_>) -> bool, inner: SharedStore, after: usize, event: impl FnOnce() -> T + Send + 'static) -> Event<T> {
        let (armed, left, event) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(after), Mutex::new(Some(event)));
        let (to, done) = mpsc::channel();
        let (began, both) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (is_armed, begins, waits, to) = (armed.clone(), began.clone(), both.clone(), Mutex::new(to));
        let tell = move |next: Next<'_>| {
            if is_armed.load(Ordering::Relaxed) && counts(&next) && left.fetch_sub(1, Ordering::Relaxed) == 0 {
                begins.store(true, Ordering::Relaxed);
                let (event, to, (end, ended)) = (event.lock().unwrap().take().unwrap(), to.lock().unwrap().clone(), mpsc::channel());
                std::thread::spawn(move || {
                    WAITS.set(Some(end));
                    to.send(event()).unwrap();
                    WAITS.take();
                });
                let end = ended.recv_timeout(LONG);
                assert_ne!(end, Err(mpsc::RecvTimeoutError::Timeout), "another process waits for something else than a lock");
                waits.store(end.is_ok(), Ordering::Relaxed);
            }
            Ok(())
        };
        // Of a name of its own: threads that wait for each other belong to one process.
        let name = format!("this {}:", counted()).leak();
        Event { armed, began, both, done, store: on(Arc::new(Told { inner, tell, name: Some(name) })) }
    }

    /// Whether both went on at the same time.
    pub(super) fn was_of_both(&self) -> bool {
        self.both.load(Ordering::Relaxed)
    }

    /// Does this process's part; gives what the other one's gave, if that came.
    pub fn during<R>(&self, work: impl FnOnce() -> R) -> (R, Option<T>) {
        self.armed.store(true, Ordering::Relaxed);
        let result = work();
        self.armed.store(false, Ordering::Relaxed);
        let came = self.began.load(Ordering::Relaxed);
        (result, came.then(|| self.done.recv_timeout(LONG).unwrap()))
    }
}

/// What is committed is there, whole; else the one before is, and the call says so.
fn check(place: &Place, committed: &Result<()>, case: &str) {
    match committed {
        Ok(()) => {
            let left = on(place.shared()).key_list("").unwrap();
            assert_eq!(newest(&on(place.shared()), ""), 7, "{case}: {left:?}");
        }
        Err(e) => assert_eq!((e.kind(), newest(&on(place.shared()), "")), (ErrorKind::State, 1), "{case}: {e}"),
    }
}

type Deed = fn(Store);

/// What another process does to the checkpoint `new`.
const OTHERS: [(&str, Deed); 2] = [
    ("prune", |store| checkpoints(&store).prune(3).unwrap()),
    ("begin", |store| checkpoints(&store).begin("new").and_then(|group| fill(&group, 9)).unwrap()),
];

#[test]
fn a_commit_says_whenever_another_process_has_removed_or_begun_its_checkpoint() {
    for (name, other) in OTHERS {
        Place::each(true, |format, has_locks| {
            let mut came = [0, 0];
            for after in (0..).step_by(apart(3)) {
                let case = format!("{name} {format:?} {has_locks} {after}");
                let place = Place::new(format, has_locks);
                let others = place.shared();
                let event = Event::new(place.shared(), after, move || other(on(others)));
                let group = checkpoints(&event.store).begin("new").unwrap();
                fill(&group, 7).unwrap();
                Mark::disown(group.store().checkpoint().unwrap().mark.text());
                let (committed, was_there) = event.during(|| group.commit());
                check(&place, &committed, &case);
                came[usize::from(committed.is_ok())] += 1;
                if was_there.is_none() {
                    break;
                }
            }
            // Where there are locks the other one waits.
            assert!(came[1] > 0 && (came[0] > 0 || has_locks), "{name} {format:?} {has_locks}: {came:?}");
        });
    }
}

#[test]
fn what_another_process_commits_stays_whenever_it_is_pruned_or_begun() {
    for (name, other) in OTHERS {
        Place::each(true, |format, has_locks| {
            let mut came = [0, 0];
            for after in (0..).step_by(apart(3)) {
                let case = format!("{name} {format:?} {has_locks} {after}");
                let place = Place::new(format, has_locks);
                let group = checkpoints(&on(place.shared())).begin("new").unwrap();
                fill(&group, 7).unwrap();
                Mark::disown(group.store().checkpoint().unwrap().mark.text());
                let event = Event::new(place.shared(), after, move || group.commit());
                let Some(committed) = event.during(|| other(event.store.clone())).1 else { break };
                check(&place, &committed, &case);
                came[usize::from(committed.is_ok())] += 1;
            }
            assert!(came.iter().all(|&n| n > 0), "{name} {format:?} {has_locks}: {came:?}");
        });
    }
}

#[test]
fn a_checkpoint_stays_that_comes_in_the_place_of_one_that_is_being_pruned() {
    Place::each(false, |format, has_locks| {
        for after in (0..).step_by(apart(3)) {
            let place = Place::new(format, has_locks);
            make(&checkpoints(&on(place.shared())), "new", 2).unwrap();
            let others = place.shared();
            let event = Event::new(place.shared(), after, move || {
                let all = checkpoints(&on(others));
                all.prune(1).and_then(|()| make(&all, "old", 7))
            });
            let (pruned, Some(committed)) = event.during(|| checkpoints(&event.store).prune(1)) else { break };
            pruned.unwrap();
            check(&place, &committed, &format!("{format:?} {after}"));
            assert!(committed.is_ok());
        }
    });
}

/// The keys that are opened while `work` is done with a store.
fn opened_by(inner: SharedStore, work: impl FnOnce(&Store, &dyn Fn())) -> Vec<String> {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let all = opened.clone();
    let tell = move |next: Next<'_>| {
        if let Next::Opened(key) = next {
            all.lock().unwrap().push(key.to_string());
        }
        Ok(())
    };
    work(&on(told(inner, tell)), &|| opened.lock().unwrap().clear());
    opened.lock().unwrap().clone()
}

#[test]
fn what_is_not_there_costs_a_checkpoint_few_requests() {
    for (format, document) in [(Format::V3, "zarr.json"), (Format::V2, ".zgroup")] {
        let places = [Place::new(format, false), Place::new(format, false)];
        let times = |opened: &[String], node: &str| opened.iter().filter(|key| **key == format!("{node}/{document}")).count();
        let begun = opened_by(places[0].shared(), |store, _| drop(checkpoints(store).begin("free").unwrap()));
        assert_eq!(times(&begun, "free"), 1, "{begun:#?}");
        let committed = opened_by(places[1].shared(), |store, from_here| {
            let group = checkpoints(store).begin("new").unwrap();
            fill(&group, 7).unwrap();
            from_here();
            group.commit().unwrap();
        });
        // They are listed for its number, and behind it.
        assert_eq!(times(&committed, "old"), 2, "{committed:#?}");
    }
}

#[test]
fn a_new_array_costs_few_requests() {
    let place = Place::empty(false);
    Group::create(&on(place.shared()), "g", Some(Format::V3), Create::New).unwrap();
    let opened = opened_by(place.shared(), |store, _| drop(Array::create(store, "g/a", &spec(&[4], &[4]), Create::New).unwrap()));
    let times = |key: &str| opened.iter().filter(|opened| *opened == key).count();
    assert_eq!(times("g/a/zarr.json"), 1, "{opened:#?}");
    // For its format, and for what it has consolidated.
    assert_eq!(times("g/zarr.json"), 2, "{opened:#?}");
    assert_eq!(["", "g/", "g/a/"].map(|group| times(&format!("{group}.zmetadata"))), [0; 3], "{opened:#?}");
}

#[test]
fn a_new_variable_costs_few_requests_and_is_below_a_group_whatever_happens_to_that() {
    let place = Place::empty(false);
    let slow = || -> SharedStore { Arc::new(LatencyStore::new(place.shared(), Duration::ZERO)) };
    Dataset::create(&on(slow()), "g", Some(Format::V3), Create::New).unwrap();
    let dataset = |store: &Store| Dataset::open(Group::open(store, "g").unwrap()).unwrap();
    let define = |ds: &Dataset, name: &str| drop(ds.define_variable(name, &VariableSpec::new(DataType::Int32, &[]), Create::New).unwrap());
    let opened = opened_by(slow(), |store, from_here| {
        let ds = dataset(store);
        // Before the first one consolidated metadata are compared with the documents.
        define(&ds, "first");
        from_here();
        define(&ds, "a");
    });
    let times = |key: &str| opened.iter().filter(|opened| *opened == key).count();
    // Before it is made, and what consolidated metadata are to say of it.
    assert_eq!((times("g/a/zarr.json"), times("g/zarr.json")), (2, 1), "{opened:#?}");
    let ds = dataset(&on(slow()));
    on(place.shared()).erase_node("g").unwrap();
    define(&ds, "b");
    assert_eq!(read_all(&Group::open(&on(place.shared()), "g").unwrap().open_array("b").unwrap()), [0]);
}

#[test]
fn a_variable_of_a_group_that_is_an_array_by_now_is_an_error() {
    let place = Place::empty(false);
    let slow = on(Arc::new(LatencyStore::new(place.shared(), Duration::ZERO)));
    let ds = Dataset::create(&slow, "g", Some(Format::V3), Create::New).unwrap();
    let define = |name: &str| ds.define_variable(name, &VariableSpec::new(DataType::Int32, &[]), Create::New);
    define("a").unwrap();
    Array::create(&on(place.shared()), "g", &spec(&[4], &[4]), Create::Overwrite).unwrap();
    let e = define("b").err().unwrap();
    assert_eq!(e.kind(), ErrorKind::NodeKind, "{e}");
}

#[test]
fn what_is_below_a_checkpoint_is_removed_at_the_same_time() {
    let near = on(Place::empty(false).shared());
    let all = |store: &Store| Checkpoints::new(store, "").unwrap();
    for n in 1..3 {
        let group = all(&near).begin(&format!("{n}")).unwrap();
        for name in ["u", "v", "w"] {
            Array::create(group.store(), name, &spec(&[4], &[4]), Create::New).unwrap();
        }
        group.commit().unwrap();
    }
    let (far, meeting) = Meeting::at(&near, |key| match key.strip_prefix("1/")?.split_once('/')? {
        (name, "zarr.json") => Some(("removed", name)),
        _ => None,
    });
    let asked = meeting.during(|| all(&far).prune(1).unwrap());
    let below = asked.iter().rposition(|key| key.ends_with("/zarr.json"));
    assert!(below < asked.iter().rposition(|key| key.starts_with("1/zarr.json")), "what tells of it goes last: {asked:?}");
    assert_eq!(near.key_list("1/").unwrap(), Vec::<String>::new());
    let asked = meeting.during(|| all(&far).prune(1).unwrap());
    assert_eq!(asked.iter().filter(|what| *what == "list").count(), 2, "{asked:?}");
}

#[test]
fn what_an_array_cannot_have_consolidated_is_not_asked_for_by_the_flush_that_tells_of_its_attributes() {
    let place = Place::empty(false);
    Array::create(&on(place.shared()), "g/a", &spec(&[4], &[4]), Create::New).unwrap();
    Group::open(&on(place.shared()), "").unwrap().consolidate().unwrap();
    let opened = opened_by(place.shared(), |store, _| {
        let options = Options { consolidate: Consolidate::Flush, ..Options::default() };
        let store = Store::new(store.context(), store.shared().clone(), Mode::ReadWrite, options);
        Array::open(&store, "g/a").unwrap().attributes().set_json("units", "\"K\"").unwrap();
        store.flush_all().unwrap();
    });
    assert_eq!(opened.iter().filter(|key| *key == "g/a/.zmetadata").count(), 0, "{opened:#?}");
    assert_eq!(Group::open(&on(place.shared()), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
}

#[test]
fn checkpoints_are_looked_for_at_the_same_time() {
    let memory = Arc::new(MemoryStore::new());
    (1..5).for_each(|n| make(&checkpoints(&on(memory.clone())), &format!("{n}"), n).unwrap());
    let slow = Arc::new(LatencyStore::new(memory, Duration::from_millis(200)));
    assert_eq!(checkpoints(&on(slow.clone())).list().unwrap().len(), 4);
    assert!(slow.stats().most_in_flight >= 12, "{:?}", slow.stats());
}

#[test]
fn what_a_killed_prune_leaves_of_a_checkpoint_goes_whenever_that_was_committed() {
    Place::each(false, |format, has_locks| {
        for after in 0.. {
            let place = Place::new(format, has_locks);
            // The kill comes when the checkpoint's own documents are gone.
            let is_below = |key: &str| key.strip_prefix("new/").is_some_and(|key| key.contains('/'));
            let tell = move |next: Next<'_>| match next {
                Next::Change(key) if is_below(key) => Err(err!(Io, "killed")),
                _ => Ok(()),
            };
            let killed = Told { inner: place.shared(), tell, name: None };
            let event = Event::new(place.shared(), after, move || drop(checkpoints(&on(Arc::new(killed))).prune(0)));
            let group = checkpoints(&event.store).begin("new").unwrap();
            fill(&group, 7).unwrap();
            Mark::disown(group.store().checkpoint().unwrap().mark.text());
            let was_there = event.during(|| drop(group.commit())).1;
            checkpoints(&on(place.shared())).prune(0).unwrap();
            assert_eq!(on(place.shared()).key_list("new/").unwrap(), Vec::<String>::new(), "{format:?} {after}");
            if was_there.is_none() {
                break;
            }
        }
    });
}

#[test]
fn a_commit_tells_the_error_of_the_store_while_its_checkpoint_is_there() {
    Place::each(true, |format, has_locks| {
        let place = Place::new(format, has_locks);
        let tell = |next: Next<'_>| if matches!(next, Next::Flush) { Err(err!(NotFound, "no such container")) } else { Ok(()) };
        let group = checkpoints(&on(Arc::new(Told { inner: place.shared(), tell, name: None }))).begin("new").unwrap();
        let e = group.commit().unwrap_err();
        assert_eq!((e.kind(), e.message()), (ErrorKind::NotFound, "no such container"), "{format:?} {has_locks}");
    });
}

#[test]
fn a_checkpoint_that_another_process_begins_at_the_same_moment_is_no_node_to_overwrite() {
    for format in [Format::V3, Format::V2] {
        let mut refused = 0;
        for after in 0.. {
            let place = Place::new(format, false);
            let (others, came) = (place.shared(), Arc::new(AtomicBool::new(false)));
            let comes = came.clone();
            let inner = before_call(place.shared(), after, move || {
                comes.store(true, Ordering::Relaxed);
                drop(checkpoints(&on(others)).begin("new").unwrap());
            });
            let begun = checkpoints(&on(Arc::new(Told { inner, tell: |_: Next<'_>| Ok(()), name: Some("this:") }))).begin("new");
            if let Err(e) = begun {
                assert_eq!(e.kind(), ErrorKind::Exists, "{format:?} {after}: {e}");
                assert!(e.message().starts_with("another writer has begun the checkpoint new at this moment"), "{e}");
                refused += 1;
            }
            if !came.load(Ordering::Relaxed) {
                break;
            }
        }
        assert!(refused > 0, "{format:?}");
    }
}

#[test]
fn what_another_writer_fills_stays_when_a_commit_that_it_has_overtaken_is_given_up() {
    for format in [Format::V3, Format::V2] {
        let place = Place::new(format, false);
        let due = Due::default();
        let group = checkpoints(&due.store(place.shared())).begin("new").unwrap();
        fill(&group, 1).unwrap();
        let (others, begun) = (place.shared(), Arc::new(Mutex::new(None)));
        let set = begun.clone();
        due.set_here(if format == Format::V3 { "new/zarr.json" } else { "new/.zgroup" }, move || {
            let other = checkpoints(&on(others)).begin("new")?;
            fill(&other, 2)?;
            *set.lock().unwrap() = Some(other);
            Ok(())
        });
        for end in [Group::commit, Group::abandon] {
            assert_eq!(end(&group).err().map(|e| e.kind()), Some(ErrorKind::State), "{format:?}");
        }
        begun.lock().unwrap().take().unwrap().commit().unwrap();
        assert_eq!(newest(&on(place.shared()), ""), 2, "{format:?}");
    }
}
