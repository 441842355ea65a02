//! Arrays that are open while this process erases them, renames them, or puts another node in their place: what is stored later through the handles
//! of before would be left behind, or be taken for the new node's. Other processes are not told; a program that finds out calls its handles lost.

use super::departures::DEPARTURES;
use super::store_changes::AsOf;
use super::store_options::PlaceOf;
use super::{Store, lookup, path};
use crate::engine::Growths;
use crate::error::{Result, err};
use crate::fork::{ForkPreserved, ForkReset, Lazy};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The arrays that are open.
static OPEN: Lazy<ForkPreserved<OpenArrays>> = Lazy::new(ForkPreserved::default);

/// Arrays that are open, by the number of the store, the prefix of the keys and the address of each.
#[derive(Default)]
struct OpenArrays(BTreeMap<(usize, String, usize), Weak<OpenArray>>);

impl OpenArrays {
    fn add(&mut self, open: &Arc<OpenArray>) {
        let key = (open.store.number(), open.prefix.clone(), Arc::as_ptr(open) as usize);
        self.0.insert(key, Arc::downgrade(open));
    }

    /// Forgets an array whose last reference goes.
    fn remove(&mut self, open: &mut OpenArray) {
        let address = std::ptr::from_ref(open) as usize;
        self.0.remove(&(open.store.number(), std::mem::take(&mut open.prefix), address));
    }

    /// An array of each store, which is open with it.
    fn of_each_store(&self) -> Vec<Arc<OpenArray>> {
        let (mut found, mut from) = (Vec::new(), Some(0));
        while let Some(number) = from {
            let next = self.0.range((number, String::new(), 0)..).find_map(|((number, ..), open)| Some((number, open.upgrade()?)));
            from = next.as_ref().and_then(|(number, _)| number.checked_add(1));
            found.extend(next.map(|(_, open)| open));
        }
        found
    }

    /// The arrays of a store with one of those beginnings of their prefixes.
    fn of(&self, store: &Store, beginnings: [Option<&str>; 2]) -> Vec<Arc<OpenArray>> {
        let [first, second] = beginnings;
        let is_new = |prefix: &str| first.is_none_or(|first| !prefix.starts_with(first));
        let number = store.number();
        let of_first = first.into_iter().flat_map(|first| self.below(number, first)).map(|(_, open)| open);
        let of_second = second.into_iter().flat_map(|second| self.below(number, second));
        let of_second = of_second.filter(|(prefix, _)| is_new(prefix)).map(|(_, open)| open);
        of_first.chain(of_second).filter_map(Weak::upgrade).collect()
    }

    /// Those of the store of that number whose prefixes begin so.
    fn below(&self, number: usize, beginning: &str) -> impl Iterator<Item = (&str, &Weak<OpenArray>)> {
        let from = self.0.range((number, beginning.to_string(), 0)..);
        let below = from.take_while(move |((other, prefix, _), _)| *other == number && prefix.starts_with(beginning));
        below.map(|((_, prefix, _), open)| (prefix.as_str(), open))
    }
}

/// How often arrays that are open in this process were lost so far.
pub fn losses() -> u64 {
    Growths::losses()
}

/// What an array is found by as long as it is open.
pub(super) struct OpenArray {
    store: Store,
    /// Of its keys.
    prefix: String,
    growths: Growths,
}

impl OpenArray {
    /// Notes that the array at `path` is open until the result is dropped. While a call takes it away it begins as one that nothing is stored in;
    /// `is_made`: by a call that made it, perhaps behind what the other one took away.
    pub fn new(store: &Store, path: &str, growths: &Growths, is_made: bool) -> Arc<OpenArray> {
        let open = Arc::new(OpenArray { store: store.clone(), prefix: path::prefix(path), growths: growths.clone() });
        OPEN.get().write(|all| all.add(&open));
        // In this order: a call that begins to take nodes away behind this look finds the array.
        let leaving = leaving().clone();
        leaving.iter().filter(|departure| departure.takes(&open)).for_each(|departure| departure.tell(&open, is_made));
        open
    }

    /// Returns whether a call that took it away, or tried, has ended since the counts `as_of`.
    pub fn was_taken_since(&self, as_of: AsOf) -> bool {
        if !as_of.is_before_a_departure() {
            return false;
        }
        let (place, real) = (self.store.place(self.path()), self.store.real_place(self.path()));
        DEPARTURES.have_taken([Some(&place), real.as_deref()], as_of.departures)
    }

    fn path(&self) -> &str {
        self.prefix.strip_suffix('/').unwrap_or_default()
    }
}

impl Drop for OpenArray {
    fn drop(&mut self) {
        OPEN.get().write(|all| all.remove(self));
    }
}

/// Makes a change of a node for which nothing is noted, such as a group: no call of this process takes the node away meanwhile. `None` while one does.
pub(super) fn while_there<T>(store: &Store, path: &str, change: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    let growths = Growths::default();
    let _open = OpenArray::new(store, path, &growths, false);
    let mut change = Some(change);
    let made = growths.while_there(String::new, || change.take().map(|change| change()).transpose());
    if change.is_some() { Ok(None) } else { made }
}

/// Makes a change of a group like [`while_there`]. Errors: `NotFound` while a call takes it away.
pub(super) fn change_there<T>(store: &Store, path: &str, change: impl FnOnce() -> Result<T>) -> Result<T> {
    let taken = || err!(NotFound, "the group {} is erased, renamed or replaced by another thread at this moment", path::display(path));
    while_there(store, path, change)?.ok_or_else(taken)
}

/// The calls of this process that are taking nodes away. A child of `fork` has none: their threads are the parent's.
static LEAVING: Lazy<ForkReset<Mutex<Vec<Arc<Departure>>>>> = Lazy::new(|| ForkReset::new(Mutex::default));

fn leaving() -> MutexGuard<'static, Vec<Arc<Departure>>> {
    LEAVING.get().get().lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place that a call begins to take away.
struct Departure {
    of: PlaceOf,
    /// By the name of its store.
    place: String,
    /// By the folders that links lead to.
    real: Option<String>,
    /// The arrays that were told, and whether they were made meanwhile; `None` when it has ended.
    told: Mutex<Option<ToldOf>>,
}

type ToldOf = Vec<(Weak<OpenArray>, bool)>;

impl Departure {
    fn told(&self) -> MutexGuard<'_, Option<ToldOf>> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells an open array that it is being taken away, if it is not over.
    fn tell(&self, open: &Arc<OpenArray>, is_made: bool) {
        if let Some(told) = &mut *self.told() {
            open.growths.leave();
            // Now and then, so that what is opened and closed meanwhile takes no memory.
            if told.len().is_power_of_two() {
                told.retain(|(open, _)| open.strong_count() > 0);
            }
            told.push((Arc::downgrade(open), is_made));
        }
    }

    /// Whether an array is at the place or below it.
    fn takes(&self, open: &OpenArray) -> bool {
        let is_below = |beginnings: [Option<String>; 2]| beginnings.iter().flatten().any(|beginning| open.prefix.starts_with(beginning));
        open.store.place_of().is_one_with(&self.of) && is_below(self.beginnings(&open.store))
    }

    /// What the prefixes of the nodes of a store begin with that are at the place or below it: by its name, and by the folders that links lead to.
    fn beginnings(&self, other: &Store) -> [Option<String>; 2] {
        let real = other.real_place("").zip(self.real.as_ref());
        let by_links = real.and_then(|(root, place)| beginning_below(&root, place));
        [beginning_below(&other.place(""), &self.place), by_links]
    }

    /// The arrays that are open at the place and below it, by whichever links their stores or this one were opened.
    fn open_within(&self) -> Vec<Arc<OpenArray>> {
        let mut of_stores = OPEN.get().read(OpenArrays::of_each_store);
        of_stores.retain(|open| open.store.place_of().is_one_with(&self.of));
        let found = of_stores.iter().flat_map(|open| {
            let [by_name, by_links] = self.beginnings(&open.store);
            OPEN.get().read(|all| all.of(&open.store, [by_name.as_deref(), by_links.as_deref()]))
        });
        found.collect()
    }
}

/// The arrays at a node and below it, which a call of this process begins to take away: nothing is stored through their handles, nor through those that
/// are opened until this ends, so that writes under way end with the chunk that they are at, for which this waits. When it ends the arrays go on, but for
/// those that were lost.
pub(super) struct Leaving(Arc<Departure>);

impl Leaving {
    /// Begins before the change that takes the node away.
    pub fn new(store: &Store, path: &str) -> Leaving {
        let (of, place, real, told) = (store.place_of(), store.place(path), store.real_place(path), Mutex::new(Some(Vec::new())));
        let departure = Arc::new(Departure { of, place, real, told });
        leaving().push(departure.clone());
        let there = departure.open_within();
        there.iter().for_each(|open| departure.tell(open, false));
        there.iter().for_each(|open| open.growths.wait_for_changes());
        Leaving(departure)
    }

    /// Does `work`, which takes the node away.
    pub fn during(store: &Store, path: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let leaving = Leaving::new(store, path);
        let done = work();
        leaving.end(done.is_ok());
        done
    }

    /// Ends with a call that is done, or has failed: then arrays that are still there stay, as do those that were made behind what was taken away.
    pub fn end(mut self, is_done: bool) {
        // Where the store does not answer it is not asked again for each: an array that may be gone is lost.
        let answers = Cell::new(true);
        let is_there = |open: &OpenArray| {
            let found = answers.get().then(|| lookup::is_in_the_way(&open.store, open.path()));
            answers.set(matches!(found, Some(Ok(_))));
            matches!(found, Some(Ok(true)))
        };
        self.finish(|open, is_made| (is_done && !is_made) || !is_there(open));
    }

    fn finish(&mut self, is_lost: impl Fn(&OpenArray, bool) -> bool) {
        if self.0.told().is_none() {
            return;
        }
        // In this order: what is opened meanwhile is told, or finds that it has to look again.
        let mut all = leaving();
        all.retain(|departure| !Arc::ptr_eq(departure, &self.0));
        DEPARTURES.end(&self.0.place, self.0.real.as_deref());
        drop(all);
        let told = self.0.told().take().unwrap_or_default();
        let told: Vec<(Arc<OpenArray>, bool)> = told.iter().filter_map(|(open, is_made)| Some((open.upgrade()?, *is_made))).collect();
        told.iter().filter(|(open, is_made)| is_lost(open, *is_made)).for_each(|(open, _)| open.growths.lose());
        told.iter().for_each(|(open, _)| open.growths.stay());
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.finish(|_, _| false);
    }
}

/// What the prefixes of nodes of a store with that root begin with which are at a place or below it; `None` where there is no such node.
fn beginning_below(root: &str, place: &str) -> Option<String> {
    if root.starts_with(place) { Some(String::new()) } else { place.strip_prefix(root).map(str::to_string) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{keys, kind, memory, message, own, read_all, spec, spec_v2, text, view, write_all};
    use super::super::tests_growth::Folder;
    use super::super::tests_store::{Next, Told, anew, ending, on, told};
    use super::Leaving;
    use crate::dtype::DataType;
    use crate::engine::Selection;
    use crate::error::{ErrorKind, Result};
    use crate::metadata::Format;
    use crate::node::conventions::{Dataset, VariableSpec};
    use crate::node::{Appender, Array, Context, Create, Group, Mode, NodeKind, Series, Store};
    use crate::store::fault;
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::memory::MemoryStore;
    use crate::store::os::Call;
    use crate::store::{Condition, SharedStore, StorageExt};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, OnceLock};
    use std::time::Duration;

    /// Writes elements 2 and 3 of 8, half of a chunk of 4.
    fn write_part(array: &Array) -> Result<()> {
        let part = Selection::new(&[8], &[2], &[2], None).unwrap();
        // SAFETY: the memory lives as long as the call.
        unsafe { array.write(&part, &view(&mut [9, 9], &[2])) }
    }

    /// A change that takes the array `g/a` away from the handles on it.
    type Change = fn(&Store);

    const CHANGES: [(&str, Change); 6] = [
        ("erase", |store| store.erase_node("g/a").unwrap()),
        ("erase its group", |store| store.erase_node("g").unwrap()),
        ("overwrite", |store| drop(Array::create(store, "g/a", &spec(&[8], &[4]), Create::Overwrite).unwrap())),
        ("overwrite its group", |store| drop(Group::create(store, "g", None, Create::Overwrite).unwrap())),
        ("rename", |store| store.rename_node("g/a", "g/b").unwrap()),
        ("copy over it", |store| store.copy_node("other", (store, "g/a"), Create::Overwrite, false, &mut |_, _| Ok(())).unwrap()),
    ];

    #[test]
    fn nothing_is_stored_through_handles_of_an_array_that_was_erased_or_replaced() {
        let folder = Folder::new("lost");
        let again = Store::from_shared(
            &Context::with_threads(1),
            Arc::new(LocalStore::open(&folder.0, true, SyncMode::None).unwrap()),
            Mode::ReadWrite,
        );
        let in_memory = memory();
        let part = in_memory.below("", Mode::ReadWrite).unwrap();
        for (name, change) in CHANGES {
            for (mine, others) in [(&folder.1, &folder.1), (&folder.1, &again), (&in_memory, &in_memory), (&in_memory, &part)] {
                for made in [spec(&[8], &[4]), spec_v2(&[8], &[4])] {
                    mine.erase_node("").unwrap_or_default();
                    write_all(&Array::create(mine, "other", &made, Create::New).unwrap(), &mut [5; 8]);
                    let new = || Array::create(mine, "g/a", &made, Create::New).unwrap();
                    let (array, neighbour) = (new(), Array::create(mine, "g_/a", &made, Create::New).unwrap());
                    let (waiting, idle) = (Array::open(mine, "g/a").unwrap(), Array::open(mine, "g/a").unwrap());
                    [&waiting, &idle].iter().for_each(|array| array.set_write_back(1 << 20).unwrap());
                    write_part(&waiting).unwrap();
                    change(others);
                    let left = keys(mine);
                    let text = message(write_part(&array));
                    assert!(
                        text.contains("g/a was erased, renamed or replaced since this handle was opened: open it again"),
                        "{name}: {text}"
                    );
                    assert_eq!(
                        [kind(array.chunk_write(&[0], false, b"x")), kind(array.chunk_erase(&[0], false))],
                        [ErrorKind::State; 2],
                        "{name}"
                    );
                    // Nor is what is there now made longer or shorter, or named otherwise.
                    // SAFETY: the memory lives as long as the call.
                    let appended = unsafe { array.append(0, 2, &view(&mut [9, 9], &[2])) };
                    assert_eq!([kind(appended), kind(array.resize(&[1], false))], [ErrorKind::State; 2], "{name}");
                    if array.format() == Format::V3 {
                        assert_eq!(kind(array.set_dimension_names(&[Some("x".into())])), ErrorKind::State, "{name}");
                    }
                    // What waits is told of, and handles in which nothing waits can be closed.
                    assert_eq!([kind(waiting.flush()), kind(waiting.close()), kind(write_part(&idle))], [ErrorKind::State; 3], "{name}");
                    [&array, &idle].iter().for_each(|array| array.flush().and(array.close()).unwrap());
                    // It is not taken for what was put there, either.
                    if Array::open(mine, "g/a").is_ok() {
                        [&waiting, &array].iter().for_each(|array| array.refresh().unwrap());
                        assert_eq!(kind(write_part(&waiting)), ErrorKind::State, "{name}");
                        write_part(&waiting).and_then(|()| waiting.flush()).unwrap();
                        write_part(&array).unwrap();
                        array.chunk_erase(&[0], false).unwrap();
                    }
                    drop((waiting, idle, array));
                    if name != "copy over it" {
                        assert_eq!(keys(mine), left, "{name}");
                    }
                    write_part(&neighbour).unwrap();
                    Array::create(mine, "g/a", &made, Create::Overwrite).and_then(|array| write_part(&array)).unwrap();
                }
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn handles_by_links_to_the_folder_are_told() {
        let folder = Folder::new("lost-links");
        let link = folder.0.with_extension("link");
        drop(std::fs::remove_file(&link));
        std::os::unix::fs::symlink(&*folder.0, &link).unwrap();
        let open = |root: &std::path::Path| {
            Store::from_shared(&Context::with_threads(1), Arc::new(LocalStore::open(root, true, SyncMode::None).unwrap()), Mode::ReadWrite)
        };
        let new = |store: &Store, path: &str| Array::create(store, path, &spec(&[8], &[4]), Create::Overwrite).unwrap();
        for (root, path, of_others) in
            [(&link, "g/a", &*folder.0), (&link.join("g"), "a", &*folder.0), (&folder.0.to_path_buf(), "g/a", &*link)]
        {
            for (name, change) in CHANGES {
                let others = open(of_others);
                others.erase_node("g").unwrap_or_default();
                write_all(&new(&others, "other"), &mut [5; 8]);
                new(&others, "g/a");
                let array = Array::open(&open(root), path).unwrap();
                write_part(&array).unwrap();
                change(&others);
                assert_eq!(kind(write_part(&array)), ErrorKind::State, "{name} {root:?} {of_others:?}");
            }
        }
        std::fs::remove_file(&link).unwrap();
    }

    /// What fails behind the moment at which the array is not there any more.
    #[test]
    fn handles_are_told_where_erasing_or_renaming_fails_in_the_middle() {
        let folder = Folder::new("lost-renamed");
        let array = Array::create(&folder.1, "g/a", &spec(&[8], &[4]), Create::New).unwrap();
        Group::open(&folder.1, "").unwrap().consolidate().unwrap();
        folder.1.shared().put("g/b/zarr.json", &[b"{"], Condition::None).unwrap();
        folder.1.rename_node("g", "h").unwrap_err();
        assert_eq!((kind(write_part(&array)), folder.1.node_kind("g").unwrap()), (ErrorKind::State, NodeKind::None));
        for path in ["g", "g/a"] {
            let mut told = 0;
            for left in 0.. {
                let changes = Arc::new(AtomicUsize::new(usize::MAX));
                let store = ending(Arc::new(MemoryStore::new()), changes.clone());
                let array = Array::create(&store, "g/a", &spec(&[8], &[4]), Create::New).unwrap();
                write_part(&array).unwrap();
                changes.store(left, Ordering::Relaxed);
                let erased = store.erase_node(path);
                let is_there = store.node_kind("g/a").unwrap() == NodeKind::Array;
                changes.store(usize::MAX, Ordering::Relaxed);
                let written = write_part(&array).map_err(|e| e.kind());
                assert!(if is_there { written.is_ok() } else { written == Err(ErrorKind::State) }, "{path} {left}: {written:?}");
                told += usize::from(!is_there);
                if erased.is_ok() {
                    break;
                }
            }
            assert!(told > 1, "{path} {told}");
        }
    }

    #[test]
    fn an_array_that_could_not_be_replaced_stays_with_what_waits_and_with_its_appender() {
        let (folder, mut failures) = (Folder::new("stays"), 0);
        for after in 0.. {
            let array = Array::create(&folder.1, "a", &spec(&[8], &[4]), Create::Overwrite).unwrap();
            let (waiting, end) = (Array::open(&folder.1, "a").unwrap(), Array::open(&folder.1, "a").unwrap());
            waiting.set_write_back(1 << 20).unwrap();
            write_part(&waiting).unwrap();
            let mut appender = Appender::open(&end, 0, 0, 0).unwrap();
            own!(appender.append(1, &view(&mut [7], &[1]))).unwrap();
            let fails = fault::Fault { after, ..fault::fail(Call::RenameNew, 5) };
            let replace = || Array::create(&folder.1, "a", &spec(&[3], &[1]), Create::Overwrite);
            let (replaced, unused) = fault::with(&[fails], replace);
            if unused > 0 {
                break;
            }
            if replaced.is_err() {
                failures += 1;
                waiting.refresh().and_then(|()| waiting.flush()).and_then(|()| appender.flush()).unwrap();
                array.refresh().and_then(|()| write_part(&array)).unwrap();
                assert_eq!(read_all(&array), [0, 0, 9, 9, 0, 0, 0, 0, 7], "{after}");
            }
        }
        assert!(failures > 0);
    }

    #[test]
    fn a_folder_that_cannot_be_looked_at_while_an_array_is_made_in_it_was_not_taken_away() {
        let mut told = 0;
        for after in 0.. {
            let folder = Folder::new("unseen");
            Group::create(&folder.1, "g", None, Create::New).unwrap();
            let fails = fault::Fault { after, ..fault::fail(Call::Stat, libc::ESTALE) };
            let make = || own!(Array::create_from(&folder.1, "g/a", &spec(&[8], &[4]), &view(&mut [5; 8], &[8])));
            let (made, unused) = fault::with(&[fails], make);
            if unused > 0 {
                break;
            }
            if let Err(e) = made {
                assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::ESTALE), "{after}: {e}");
                told += 1;
            }
        }
        assert!(told > 0);
    }

    #[test]
    fn an_array_that_is_made_behind_the_one_that_is_being_removed_is_not_lost() {
        let store = memory();
        let array = Array::create(&store, "g/a", &spec(&[8], &[4]), Create::New).unwrap();
        let leaving = Leaving::new(&store, "g");
        store.shared().erase_prefix("g/a/").unwrap();
        let new = Array::create(&store, "g/a", &spec(&[8], &[4]), Create::New).unwrap();
        assert_eq!([&array, &new].map(write_part).map(kind), [ErrorKind::State; 2]);
        leaving.end(true);
        assert_eq!(kind(write_part(&array)), ErrorKind::State);
        write_part(&new).unwrap();
    }

    /// Does `event`, with the store, before the call that follows `after` others of the store that this gives, from when `begin` is set.
    fn with_event(inner: SharedStore, after: usize, event: impl FnOnce(&Store) + Send + 'static) -> (Store, Arc<AtomicBool>) {
        let (begun, own) = (Arc::new(AtomicBool::new(false)), Arc::new(OnceLock::<Store>::new()));
        let (left, event) = (AtomicUsize::new(after), Mutex::new(Some(event)));
        let (is_begun, given) = (begun.clone(), own.clone());
        let store = on(told(inner, move |_| {
            if is_begun.load(Ordering::SeqCst) && left.fetch_sub(1, Ordering::SeqCst) == 0 {
                let event = event.lock().unwrap().take();
                event.into_iter().for_each(|event| event(given.get().unwrap()));
            }
            Ok(())
        }));
        drop(own.set(store.clone()));
        (store, begun)
    }

    /// All keys below `g` but those of a whole array at `g/a` or `g/b`, of which no element was written.
    fn assert_nothing_is_left(store: &Store, text: &str) {
        for path in ["g/a", "g/b"] {
            let left: Vec<String> = keys(store).into_iter().filter(|key| key.starts_with(path)).collect();
            match Array::open(&anew(store), path) {
                Ok(array) => assert!(path == "g/b" || read_all(&array) == [0; 8] || read_all(&array) == [5; 8], "{text}: {left:?}"),
                Err(_) => assert!(left.is_empty(), "{text}: {left:?}"),
            }
        }
    }

    #[test]
    fn an_array_that_is_opened_while_it_is_taken_away_stores_nothing_in_what_comes_behind_it() {
        for (name, change) in CHANGES {
            for in_folder in [false, true] {
                let mut after = 0;
                loop {
                    let folder = Folder::new("lost-late");
                    let inner: SharedStore = if in_folder { folder.1.shared().clone() } else { Arc::new(MemoryStore::new()) };
                    let opened = Arc::new(Mutex::new(None));
                    let late = opened.clone();
                    let (store, begun) = with_event(inner, after, move |store| {
                        let array = Array::open(store, "g/a").ok();
                        let written = array.as_ref().map(|array| (read_all(array)[0], write_part(array)));
                        *late.lock().unwrap() = Some((array, written));
                    });
                    write_all(&Array::create(&store, "other", &spec(&[8], &[4]), Create::New).unwrap(), &mut [5; 8]);
                    write_all(&Array::create(&store, "g/a", &spec(&[8], &[4]), Create::New).unwrap(), &mut [7; 8]);
                    begun.store(true, Ordering::SeqCst);
                    change(&store);
                    begun.store(false, Ordering::SeqCst);
                    let Some((array, written)) = opened.lock().unwrap().take() else { break };
                    let text = format!("{name}, call {after}: {written:?}");
                    if let (Some(array), Some((7, _))) = (&array, &written) {
                        assert_eq!(kind(write_part(array)), ErrorKind::State, "{text}");
                    }
                    if written.is_some_and(|(before, _)| before == 7) {
                        assert_nothing_is_left(&store, &text);
                    }
                    after += 1;
                }
                assert!(after > 0);
            }
        }
    }

    /// A server takes its time, in which other threads erase other nodes.
    #[test]
    fn what_is_taken_away_elsewhere_is_nothing_to_an_array_that_is_opened() {
        let scratch = memory();
        for in_one_store in [false, true] {
            let scratch = scratch.clone();
            let (store, begun) = with_event(Arc::new(MemoryStore::new()), usize::MAX, |_| ());
            let opened = Arc::new(AtomicUsize::new(0));
            let (asked, store_of) = (opened.clone(), store.clone());
            let slow = on(told(store.shared().clone(), move |next| {
                if matches!(next, Next::Opened("a/zarr.json")) {
                    asked.fetch_add(1, Ordering::SeqCst);
                    let other = if in_one_store { &store_of } else { &scratch };
                    Array::create(other, "b", &spec(&[8], &[4]), Create::New).and_then(|_| other.erase_node("b")).unwrap();
                }
                Ok(())
            }));
            drop(begun);
            Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
            let array = Array::open(&slow, "a").unwrap();
            write_part(&array).unwrap();
            assert_eq!(opened.load(Ordering::SeqCst), 1, "{in_one_store}");
        }
    }

    #[test]
    fn of_arrays_that_overwrite_each_other_only_the_last_one_is_written_to() {
        let folder = Folder::new("lost-overwritten");
        for store in [memory(), folder.1.clone()] {
            for round in 0..60 {
                let made = std::sync::Barrier::new(4);
                std::thread::scope(|scope| {
                    for n in 1..=4u64 {
                        let (store, made) = (&store, &made);
                        scope.spawn(move || {
                            made.wait();
                            let array = Array::create(store, "a", &spec(&[8 * n], &[8 * n]), Create::Overwrite).unwrap();
                            let all = Selection::all(&[8 * n]);
                            let mut values = vec![n as i32; 8 * n as usize];
                            // SAFETY: the memory lives as long as the call.
                            let written = unsafe { array.write(&all, &view(&mut values, &[8 * n])) };
                            assert!(matches!(written.map_err(|e| e.kind()), Ok(()) | Err(ErrorKind::State)));
                        });
                    }
                });
                let last = Array::open(&store, "a").unwrap();
                let n = (last.shape()[0] / 8) as i32;
                assert!(read_all(&last).iter().all(|value| *value == n || *value == 0), "round {round}: {n}: {:?}", read_all(&last));
            }
        }
    }

    #[test]
    fn an_array_that_is_taken_away_while_it_is_opened_is_what_is_there_or_lost() {
        for (name, change) in CHANGES {
            for after in 0..6 {
                let (store, begun) = with_event(Arc::new(MemoryStore::new()), after, change);
                write_all(&Array::create(&store, "other", &spec(&[8], &[4]), Create::New).unwrap(), &mut [5; 8]);
                write_all(&Array::create(&store, "g/a", &spec(&[8], &[8]), Create::New).unwrap(), &mut [7; 8]);
                begun.store(true, Ordering::SeqCst);
                let opened = Array::open(&store, "g/a");
                begun.store(false, Ordering::SeqCst);
                let Ok(array) = opened else { continue };
                match Array::open(&store, "g/a") {
                    Ok(now) => {
                        assert_eq!(array.chunk_shape(), now.chunk_shape(), "{name} {after}");
                        write_part(&array).unwrap();
                        assert_eq!(read_all(&now)[2], 9, "{name} {after}");
                    }
                    Err(_) => assert_eq!(kind(write_part(&array)), ErrorKind::State, "{name} {after}"),
                }
            }
        }
    }

    /// Does `work` on a store in which another thread erases `g` at the call that follows `after` others, as far as it gets in a moment.
    fn beside_an_erasing(after: usize, work: impl FnOnce(&Store)) -> Option<Store> {
        let (done, erased) = std::sync::mpsc::channel();
        let (store, begun) = with_event(Arc::new(MemoryStore::new()), after, move |store| {
            let (store, (ended, end)) = (store.clone(), std::sync::mpsc::channel());
            let eraser = std::thread::spawn(move || {
                store.erase_node("g").unwrap();
                let _ = ended.send(());
            });
            let _ = end.recv_timeout(Duration::from_millis(30));
            done.send(eraser).unwrap();
        });
        Group::create(&store, "", None, Create::New).and_then(|root| root.consolidate()).unwrap();
        Group::create(&store, "g", None, Create::New).and_then(|group| group.consolidate()).unwrap();
        begun.store(true, Ordering::SeqCst);
        work(&store);
        begun.store(false, Ordering::SeqCst);
        erased.try_recv().ok()?.join().unwrap();
        Some(store)
    }

    #[test]
    fn a_group_that_is_erased_while_it_is_changed_does_not_come_again() {
        let works: [(&str, Change); 3] = [
            ("attribute", |store| {
                let set = Group::open(store, "g").and_then(|group| group.attributes().set("a", 1.into()));
                assert!(set.map_or_else(|e| e.kind() == ErrorKind::NotFound, |()| true));
            }),
            ("consolidate", |store| drop(Group::open(store, "g").and_then(|group| group.consolidate()))),
            ("array", |store| {
                if let Ok(array) = Array::create(store, "g/a", &spec(&[8], &[4]), Create::New) {
                    drop(write_part(&array));
                }
            }),
        ];
        for (name, work) in works {
            for after in 0.. {
                let Some(store) = beside_an_erasing(after, work) else { break };
                let left: Vec<String> = keys(&store).into_iter().filter(|key| key.starts_with("g/")).collect();
                // An array makes the groups above it, before the erasing has begun or behind it.
                let is_whole = name == "array" && left.contains(&"g/zarr.json".into()) && left.contains(&"g/a/zarr.json".into());
                assert!(left.is_empty() || is_whole, "{name}, call {after}: {left:?}");
            }
        }
    }

    /// A store of functions, or a server, takes its time: what is on its way there when the array goes must not be taken for the new one's.
    #[test]
    fn an_array_is_taken_away_behind_what_is_on_its_way_to_the_store() {
        for (name, change) in CHANGES {
            for (started, behind) in [(false, false), (false, true), (true, false)] {
                let (told, heard) = std::sync::mpsc::channel();
                let told = std::sync::Mutex::new(Some(told));
                let slow = move |next: Next<'_>| {
                    if matches!(next, Next::Change("g/a/c/0"))
                        && let Some(told) = told.lock().unwrap().take()
                    {
                        told.send(()).unwrap();
                        std::thread::sleep(std::time::Duration::from_millis(100));
                    }
                    Ok(())
                };
                let told = Told { inner: Arc::new(MemoryStore::new()), tell: slow, name: None };
                let store = Store::from_shared(&Context::with_threads(1), Arc::new(told), Mode::ReadWrite);
                write_all(&Array::create(&store, "other", &spec(&[8], &[4]), Create::New).unwrap(), &mut [5; 8]);
                let array = Array::create(&store, "g/a", &spec(&[8], &[4]), Create::New).unwrap();
                if behind {
                    array.set_write_back(1 << 20).unwrap();
                    write_part(&array).unwrap();
                }
                std::thread::scope(|scope| {
                    let written = scope.spawn(|| match started {
                        _ if behind => array.flush(),
                        true => array.chunk_write(&[0], false, &[7; 16]),
                        false => write_part(&array),
                    });
                    heard.recv().unwrap();
                    change(&store);
                    let left = keys(&store);
                    written.join().unwrap().unwrap();
                    assert_eq!(keys(&store), left, "{name}");
                });
                if store.node_kind("g/a").unwrap() == NodeKind::Array {
                    let found = read_all(&Array::open(&store, "g/a").unwrap());
                    assert!(found.iter().all(|&n| n == if name == "copy over it" { 5 } else { 0 }), "{name}: {found:?}");
                }
                if name == "rename" {
                    let found = read_all(&Array::open(&store, "g/b").unwrap());
                    assert!(found[2] != 0, "what was stored goes with the node: {found:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_is_stored_through_a_handle_that_the_program_calls_lost() {
        let folder = Folder::new("called-lost");
        let new = || Array::create(&folder.1, "g/a", &spec(&[8], &[4]), Create::New).unwrap();
        let (other, dropped, again) = (new(), Array::open(&folder.1, "g/a").unwrap(), Array::open(&folder.1, "g/a").unwrap());
        let left = keys(&folder.1);
        for waiting in [&dropped, &again] {
            waiting.set_write_back(1 << 20).unwrap();
            write_part(waiting).unwrap();
            assert!(!waiting.is_lost());
            waiting.lose();
            assert!(waiting.is_lost() && !other.is_lost());
            assert_eq!([kind(waiting.flush()), kind(write_part(waiting))], [ErrorKind::State; 2]);
        }
        drop(dropped);
        assert_eq!(read_all(&other), [0; 8], "what waits is not for another handle, either");
        assert_eq!(keys(&folder.1), left);
        again.refresh().unwrap();
        assert!(!again.is_lost());
        assert_eq!(kind(again.flush()), ErrorKind::State, "what waited before");
        write_part(&other).unwrap();
        assert_eq!(read_all(&other)[2..4], [9, 9]);
    }

    /// A call of another purpose that reads the document of the array `g/a`, which a dataset knows, too.
    type Reading = fn(&Array, &Dataset) -> Result<()>;

    fn variable(data_type: DataType) -> VariableSpec {
        VariableSpec { chunks: Some(vec![4]), ..VariableSpec::new(data_type, &["x"]) }
    }

    const READINGS: [(&str, Reading); 8] = [
        ("export", |array, _| array.export().map(drop)),
        ("steps of one", |array, _| Appender::open(array, 0, 0, 0).map(drop)),
        ("define the same", |_, ds| ds.define_variable("a", &variable(DataType::Int32), Create::OpenIfSame).map(drop)),
        ("define another", |_, ds| ds.define_variable("a", &variable(DataType::Int8), Create::OpenIfSame).map(drop)),
        ("settle", |_, ds| ds.dimensions().map(drop)),
        ("close", |_, ds| ds.close()),
        ("steps", |_, ds| Series::open(ds, "x", None, 0, 0).map(drop)),
        ("wait", |array, _| array.wait_growth(0, 0, std::time::Duration::ZERO).map(drop)),
    ];

    #[test]
    fn nothing_but_a_refresh_makes_a_handle_one_of_the_array_that_took_the_place_of_its_own() {
        for (name, read) in READINGS {
            for listed in [false, true] {
                let store = memory();
                let other = Dataset::create(&store, "g", None, Create::New).unwrap();
                other.define_dimension("x", 8).unwrap();
                other.define_variable("a", &variable(DataType::Int32), Create::New).unwrap();
                let mut root = Group::open(&store, "").unwrap();
                if listed {
                    root.consolidate().unwrap();
                    root = Group::open(&store, "").unwrap();
                }
                let known = root.open_array("g/a").unwrap();
                let ds = Dataset::open(root.open_group("g").unwrap()).unwrap();
                let of_dataset = ds.variable("a").unwrap();
                other.define_variable("a", &variable(DataType::Int32), Create::Overwrite).unwrap();
                assert!(known.is_lost() && of_dataset.is_lost());
                assert_eq!(read(&known, &ds).is_ok(), !["define another", "steps of one"].contains(&name), "{name}");
                for array in [&known, &of_dataset] {
                    assert_eq!([kind(write_part(array)), kind(array.attributes().set("b", 2.into()))], [ErrorKind::State; 2], "{name}");
                    assert!(array.is_lost(), "{name}");
                }
                // Nor is what the dataset knows then lost.
                ds.variable("a").and_then(|array| write_part(&array)).unwrap();
                for array in [&known, &of_dataset] {
                    array.refresh().and_then(|()| write_part(array)).and_then(|()| array.attributes().set("b", 2.into())).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_handle_keeps_its_number_of_dimensions() {
        for (store, is_listed) in [(&Folder::new("lost-rank").1, false), (&memory(), true)] {
            let root = Group::create(store, "", None, Create::New).unwrap();
            Array::create(store, "a", &spec(&[8], &[4]), Create::New).unwrap();
            if is_listed {
                root.consolidate().unwrap();
            }
            let array = Group::open(store, "").unwrap().open_array("a").unwrap();
            for other in [spec(&[4, 4, 4], &[4, 4, 4]), spec(&[], &[])] {
                Array::create(store, "a", &other, Create::Overwrite).unwrap();
                let growth = array.wait_growth(0, 0, std::time::Duration::ZERO).map(drop);
                let steps = Appender::open(&array, 0, 0, 0).map(drop);
                let found = [array.refresh(), steps, write_part(&array)].map(kind);
                assert_eq!((found, kind(growth)), ([ErrorKind::State; 3], ErrorKind::State));
                assert_eq!((array.rank(), array.shape().to_vec()), (1, vec![8]));
            }
            Array::create(store, "a", &spec(&[12], &[4]), Create::Overwrite).unwrap();
            array.refresh().and_then(|()| write_part(&array)).unwrap();
            assert_eq!(array.shape().to_vec(), [12]);
        }
    }

    #[test]
    fn a_handle_whose_array_another_process_replaced_by_something_else_stores_nothing_once_it_knows() {
        for (other, told) in [("array", ErrorKind::State), ("group", ErrorKind::NodeKind)] {
            let store = memory();
            let array = Array::create(&store, "a", &spec(&[8], &[4]), Create::New).unwrap();
            Array::create(&store, "array", &spec(&[4, 4], &[4, 4]), Create::New).unwrap();
            Group::create(&store, "group", None, Create::New).unwrap();
            let document = text(&store, &format!("{other}/zarr.json")).unwrap();
            store.shared().put("a/zarr.json", &[document.as_bytes()], Condition::None).unwrap();
            let before = keys(&store);
            assert_eq!([array.refresh(), write_part(&array)].map(kind), [told, ErrorKind::State], "{other}");
            assert_eq!(keys(&store), before, "{other}");
        }
    }

    #[test]
    fn documents_and_steps_of_another_array_are_left_alone_by_handles_of_the_one_before() {
        let (folder, names) = (Folder::new("lost-documents"), [Some("t".to_string())]);
        for (name, change) in CHANGES {
            for (store, made) in [(&folder.1, spec(&[8], &[4])), (&memory(), spec(&[8], &[4])), (&folder.1, spec_v2(&[8], &[4]))] {
                store.erase_node("").unwrap_or_default();
                Array::create(store, "other", &made, Create::New).unwrap();
                let array = Array::create(store, "g/a", &made, Create::New).unwrap();
                let mut appender = Appender::open(&Array::open(store, "g/a").unwrap(), 0, 0, 0).unwrap();
                own!(appender.append(1, &view(&mut [7], &[1]))).unwrap();
                let collecting = array.for_another_handle();
                Group::open(store, "").and_then(|root| root.consolidate()).unwrap();
                let listed = Group::open(store, "").unwrap().open_array("g/a").unwrap();
                assert!(listed.is_listed());
                collecting.attributes().begin().and_then(|()| collecting.attributes().set("b", 2.into())).unwrap();
                change(store);
                let documents = || ["zarr.json", ".zarray", ".zattrs"].map(|document| text(store, &format!("g/a/{document}")));
                let (left, stored) = (documents(), keys(store));
                let set = || array.attributes().set("a", 1.into());
                let refused = [array.set_dimension_names(&names), set(), collecting.attributes().commit()].map(kind);
                assert_eq!(refused, [ErrorKind::State; 3], "{name}");
                assert_eq!([write_part(&array), write_part(&listed)].map(kind), [ErrorKind::State; 2], "{name}");
                let opened = kind(Appender::open(&array, 0, 0, 0));
                let steps = own!([kind(appender.flush()), kind(appender.append(3, &view(&mut [7; 3], &[3])))]);
                assert_eq!((opened, steps), (ErrorKind::State, [ErrorKind::State; 2]), "{name}");
                // A handle that is told to take what is there does; an appender stays that of the array before.
                if Array::open(store, "g/a").is_ok() {
                    assert_eq!((documents(), keys(store)), (left, stored), "{name}");
                    array.refresh().unwrap();
                    array.set_dimension_names(&names).and_then(|()| set()).and_then(|()| collecting.attributes().commit()).unwrap();
                }
                assert_eq!(kind(appender.close()), ErrorKind::State, "{name}");
            }
        }
    }

    #[test]
    fn what_is_made_in_a_group_that_could_not_be_taken_away_is_told_of_when_the_store_is_flushed() {
        for format in [Format::V2, Format::V3] {
            let store = memory();
            let root = Group::create(&store, "", Some(format), Create::New).unwrap();
            let group = Group::create(&store, "g", Some(format), Create::New).unwrap();
            let new = || if format == Format::V2 { spec_v2(&[8], &[4]) } else { spec(&[8], &[4]) };
            Array::create(&store, "g/old/a", &new(), Create::New).unwrap();
            group.consolidate().and_then(|()| root.consolidate()).unwrap();
            let leaving = Leaving::new(&store, "g");
            Array::create(&store, "g/a", &new(), Create::New).unwrap();
            store.erase_node("g/old").unwrap();
            leaving.end(false);
            store.flush_all().unwrap();
            for path in ["", "g"] {
                assert_eq!(Group::open(&store, path).unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?} {path:?}");
            }
        }
    }

    #[test]
    fn stores_of_one_name_are_not_told_of_each_other() {
        let named = || {
            let told = Told { inner: Arc::new(MemoryStore::new()), tell: |_: Next<'_>| Ok(()), name: Some("s3://bucket/run.zarr") };
            Store::from_shared(&Context::with_threads(1), Arc::new(told), Mode::ReadWrite)
        };
        let stores = [named(), named()];
        let arrays = stores.each_ref().map(|store| Array::create(store, "a", &spec(&[8], &[4]), Create::New).unwrap());
        stores[0].erase_node("a").unwrap();
        assert_eq!(kind(write_part(&arrays[0])), ErrorKind::State);
        write_part(&arrays[1]).unwrap();
        assert_eq!(read_all(&arrays[1])[2], 9);
    }
}
