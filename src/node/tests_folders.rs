//! Handles of one process whose stores begin in different folders: each has other keys for what both change.

use super::tests::{own, read_all, spec, spec_as, view};
use super::tests_growth::Folder;
use super::tests_store::{Next, on, told};
use super::*;
use crate::engine::Selection;
use crate::store::local::{LocalStore, SyncMode};
use crate::store::memory::MemoryStore;
use crate::store::suite::TestFolder;
use crate::store::{Condition, SharedStore, fault};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Does something, and says when it is done.
type Other = Box<dyn FnOnce() -> Receiver<()> + Send>;

/// A store in memory in which `other` begins in another thread once `key` was read, and gets the time to end if nothing keeps it from that.
fn watched(inner: &SharedStore, key: &'static str, other: &Arc<Mutex<Option<Other>>>) -> Store {
    let other = other.clone();
    let tell = move |next: Next<'_>| {
        let begins = matches!(next, Next::Opened(opened) if opened == key);
        if let Some(other) = begins.then(|| other.lock().unwrap().take()).flatten() {
            let _ = other().recv_timeout(Duration::from_millis(300));
        }
        Ok(())
    };
    on(told(inner.clone(), tell))
}

/// Has one thread change an array by its path `g/a` and, when `key` was read for that, another one by its path `a` in the store below `g`.
fn changed_by_both(key: &'static str, spec: &Spec, change: fn(&Array, usize)) -> Array {
    let (inner, other): (SharedStore, _) = (Arc::new(MemoryStore::new()), Arc::default());
    let store = watched(&inner, key, &other);
    Group::create(&store, "g", Some(Format::V3), Create::New).unwrap();
    let ours = Array::create(&store, "g/a", spec, Create::New).unwrap();
    let theirs = Array::open(&store.below("g", Mode::ReadWrite).unwrap(), "a").unwrap();
    let thread = Arc::new(Mutex::new(None));
    let begun = thread.clone();
    *other.lock().unwrap() = Some(Box::new(move || {
        let (done, ended) = channel();
        let run = move || {
            change(&theirs, 1);
            let _ = done.send(());
        };
        *begun.lock().unwrap() = Some(std::thread::spawn(run));
        ended
    }));
    change(&ours, 0);
    let other = thread.lock().unwrap().take().expect("the other thread has begun");
    other.join().unwrap();
    Array::open(&store, "g/a").unwrap()
}

#[test]
fn parts_of_one_chunk_and_attributes_of_one_array_are_all_kept() {
    let part = |array: &Array, i: usize| {
        let region = Selection::new(&[2], &[i as i64], &[1], None).unwrap();
        own!(array.write(&region, &view(&mut [7 + i as i32], &[1])).unwrap());
    };
    let mut sharded = spec(&[2], &[2]);
    sharded.set_inner_chunks(&[1]).unwrap();
    for spec in [spec(&[2], &[2]), sharded] {
        assert_eq!(read_all(&changed_by_both("g/a/c/0", &spec, part)), [7, 8]);
    }
    let attribute = |array: &Array, i: usize| array.attributes().set(["x", "y"][i], 1.into()).unwrap();
    let mut names = changed_by_both("g/a/zarr.json", &spec(&[2], &[2]), attribute).attributes().names().unwrap();
    names.sort();
    assert_eq!(names, ["x", "y"]);
}

#[test]
fn of_what_handles_of_several_stores_write_in_one_batch_the_last_wins() {
    let mut sharded = spec(&[4], &[4]);
    sharded.set_inner_chunks(&[2]).unwrap();
    for (detached, spec) in [(false, spec(&[4], &[4])), (true, spec(&[4], &[2])), (false, sharded)] {
        let store = Store::from_shared(&Context::with_threads(1), Arc::new(MemoryStore::new()), Mode::ReadWrite);
        Group::create(&store, "g", Some(Format::V3), Create::New).unwrap();
        let first = Array::create(&store, "g/a", &spec, Create::New).unwrap();
        let second = Array::open(&store.below("g", Mode::ReadWrite).unwrap(), "a").unwrap();
        let [mut all, mut over, mut one] = [vec![1, 2, 3, 4], vec![5, 6, 7], vec![8]];
        let region = |start: i64, count: i64| Selection::new(&[4], &[start], &[count], None).unwrap();
        let parts = vec![
            (&first, region(0, 4), view(&mut all, &[4])),
            (&second, region(1, 3), view(&mut over, &[3])),
            (&first, region(2, 1), view(&mut one, &[1])),
        ];
        if detached {
            // SAFETY: the memory lives until the request is done.
            let request = unsafe { requests::start_write_many(parts, RequestOptions::default()).unwrap() };
            assert!(request.wait(None).unwrap());
        } else {
            own!(requests::write_many(parts).unwrap());
        }
        assert_eq!(read_all(&second), [1, 5, 8, 7], "{detached}");
    }
}

#[test]
fn all_handles_of_a_batch_list_a_chunk_that_they_change_together() {
    let store = Store::from_shared(&Context::with_threads(1), Arc::new(MemoryStore::new()), Mode::ReadWrite);
    let mut sharded = spec(&[4], &[4]);
    sharded.set_inner_chunks(&[2]).unwrap();
    for (path, spec) in [("a", spec(&[4], &[4])), ("b", sharded)] {
        let first = Array::create(&store, path, &spec, Create::New).unwrap();
        let second = Array::open(&store, path).unwrap();
        [&first, &second].iter().for_each(|array| array.set_list_changes(true));
        let [mut low, mut high] = [[1, 2], [3, 4]];
        let region = |start: i64| Selection::new(&[4], &[start], &[2], None).unwrap();
        let parts = vec![(&first, region(0), view(&mut low, &[2])), (&second, region(2), view(&mut high, &[2]))];
        own!(requests::write_many(parts).unwrap());
        let key = format!("{path}/c/0\n");
        assert_eq!([first.changes().unwrap(), second.changes().unwrap()], [Some(key.clone()), Some(key)]);
    }
}

/// One handle has made the array longer, which the other does not know of: each reads and writes what is inside of its own array.
#[test]
fn handles_of_a_batch_that_know_other_lengths_of_an_array_share_no_chunk_of_it() {
    for compressed in [false, true] {
        let store = Store::from_shared(&Context::with_threads(1), Arc::new(MemoryStore::new()), Mode::ReadWrite);
        let mut spec = spec(&[10], &[8]);
        if compressed {
            spec.set_compressor("zstd", None).unwrap();
        }
        let first = Array::create(&store, "a", &spec, Create::New).unwrap();
        let second = Array::open(&store, "a").unwrap();
        second.resize(&[16], false).unwrap();
        let (mut low, mut high) = ([1, 2], [3, 4, 5, 6, 7, 8]);
        let region = |array: &Array, start: i64, count: i64| Selection::new(&array.shape(), &[start], &[count], None).unwrap();
        let parts = vec![(&first, region(&first, 8, 2), view(&mut low, &[2])), (&second, region(&second, 10, 6), view(&mut high, &[6]))];
        own!(requests::write_many(parts).unwrap());
        let (mut low, mut high) = ([0; 2], [0; 8]);
        let parts = vec![(&first, region(&first, 8, 2), view(&mut low, &[2])), (&second, region(&second, 8, 8), view(&mut high, &[8]))];
        own!(requests::read_many(parts).unwrap());
        assert_eq!((low, high), ([1, 2], [1, 2, 3, 4, 5, 6, 7, 8]), "{compressed}");
    }
}

/// Another process, which shares no lock in memory with this one, changes a node while all are read for consolidated metadata. It finds none to
/// keep right.
#[test]
fn what_others_change_while_a_group_is_consolidated_for_the_first_time_is_in_its_metadata() {
    for (format, key, name) in [(Format::V3, "a/zarr.json", "zarr.json"), (Format::V2, "a/.zarray", ".zarray")] {
        let of_length = |length: u64| {
            let store = Store::from_shared(&Context::with_threads(1), Arc::new(MemoryStore::new()), Mode::ReadWrite);
            let spec = spec_as(format, &[length], &[2]);
            Array::create(&store, "a", &spec, Create::New).unwrap();
            store.key_get(key).unwrap().unwrap()
        };
        let (before, after) = (of_length(4), of_length(7));
        let (inner, other): (SharedStore, _) = (Arc::new(MemoryStore::new()), Arc::default());
        let store = watched(&inner, key, &other);
        let root = Group::create(&store, "", Some(format), Create::New).unwrap();
        store.key_put(key, &before).unwrap();
        *other.lock().unwrap() = Some(Box::new(move || {
            inner.put(key, &[&after], Condition::None).unwrap();
            inner.put(&format!("b/{name}"), &[&after], Condition::None).unwrap();
            channel().1
        }));
        root.consolidate().unwrap();
        assert!(other.lock().unwrap().is_none(), "{key} was read");
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
    }
}

/// A part of a store, and a store with a cache, are no other hierarchy.
#[test]
fn consolidated_metadata_know_what_is_changed_in_parts_of_a_store() {
    let folder = TestFolder::new("parts");
    std::fs::create_dir_all(&folder).unwrap();
    let context = Context::with_threads(1);
    let local = |path: &str| Store::open(&context, folder.join(path).to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let memory = || Store::from_shared(&context, Arc::new(MemoryStore::new()), Mode::ReadWrite);
    for (format, whole) in
        [Format::V2, Format::V3].into_iter().flat_map(|format| [(format, memory()), (format, local(&format!("{format:?}")))])
    {
        let root = Group::create(&whole, "", Some(format), Create::New).unwrap();
        Group::create(&whole, "g/h", Some(format), Create::New).unwrap();
        root.consolidate().unwrap();
        let (below, cached) = (
            |store: &Store, path| store.below(path, Mode::ReadWrite).unwrap(),
            |store: &Store| store.cached(1 << 20, Mode::ReadWrite).unwrap(),
        );
        let of_group = || below(&whole, "g");
        let parts = [
            of_group(),
            below(&whole, ""),
            cached(&whole),
            below(&of_group(), "h"),
            below(&of_group(), ""),
            cached(&of_group()),
            below(&cached(&whole), "g"),
        ];
        for (i, part) in parts.iter().enumerate() {
            let array = Array::create(part, &format!("a{i}"), &spec_as(format, &[4], &[2]), Create::New).unwrap();
            array.resize(&[7], false).unwrap();
            assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?} {} {i}", whole.shared().describe());
        }
    }
    // The folder of a store is below another group.
    let top = Group::create(&local(""), "", Some(Format::V3), Create::New).unwrap();
    top.consolidate().unwrap();
    let run = local("V3");
    for (i, part) in [run.below("g", Mode::ReadWrite).unwrap(), run.cached(1 << 20, Mode::ReadWrite).unwrap()].iter().enumerate() {
        Array::create(part, &format!("b{i}"), &spec(&[4], &[2]), Create::New).unwrap();
        assert_eq!(top.consolidated_differences().unwrap(), Some(vec![]), "{i}");
    }
}

/// Handles of two contexts share no lock in memory, as those of two processes.
#[test]
fn a_chunk_that_another_process_replaces_or_erases_while_a_part_of_it_is_changed_is_changed_as_it_is_then() {
    change_what_another_replaces("replaced-meanwhile");
    fault::closing_files(|| change_what_another_replaces("replaced-meanwhile-closed"));
}

fn change_what_another_replaces(name: &str) {
    let folder = Folder::new(name);
    let write = |array: &Array, start: i64, values: &mut [i32]| {
        let region = Selection::new(&[4], &[start], &[values.len() as i64], None).unwrap();
        own!(array.write(&region, &view(values, &[values.len() as u64])).unwrap());
    };
    let mut sharded = spec(&[4], &[4]);
    sharded.set_inner_chunks(&[2]).unwrap();
    let replace: fn(&Array, i32) = |array, value| {
        own!(array.write(&Selection::all(&[4]), &view(&mut [value; 4], &[4])).unwrap());
    };
    let erase: fn(&Array, i32) = |array, _| assert!(array.chunk_erase(&[0], false).unwrap());
    for (i, (before, other, value)) in
        [(Some(1), replace, 5), (None, replace, 5), (Some(1), replace, 0), (Some(1), erase, 0), (Some(0), replace, 5)]
            .into_iter()
            .enumerate()
    {
        for (spec, ours) in [(spec(&[4], &[4]), 9), (spec(&[4], &[4]), 0), (sharded.clone(), 9), (sharded.clone(), 0)] {
            let theirs = Array::create(&folder.1, "a", &spec, Create::Overwrite).unwrap();
            before.into_iter().for_each(|value| write(&theirs, 0, &mut [value; 4]));
            let due = Arc::new(Mutex::new(None));
            let waiting = due.clone();
            let tell = move |next: Next<'_>| {
                let begins = matches!(next, Next::Opened(key) if key.contains("/c/"));
                let theirs: Option<Array> = if begins { waiting.lock().unwrap().take() } else { None };
                theirs.iter().for_each(|theirs| other(theirs, value));
                Ok(())
            };
            let inner = Arc::new(LocalStore::open(&folder.0, true, SyncMode::None).unwrap());
            let store = on(told(inner, tell));
            let array = Array::open(&store, "a").unwrap();
            *due.lock().unwrap() = Some(theirs);
            write(&array, 0, &mut [ours]);
            assert!(due.lock().unwrap().is_none());
            assert_eq!(read_all(&array), [ours, value, value, value], "{name} {i} {ours}");
        }
    }
}

/// A node of version 2 may have the name of an object of netCDF-C's oldest generation.
#[test]
fn a_node_named_as_an_object_of_netcdf_is_no_such_object() {
    let folder = Folder::new("nczarr-names");
    let mut made = spec(&[2], &[2]);
    made.set_format(Format::V2).unwrap();
    for name in [".nczarr", ".nczgroup", "g/.nczarray"] {
        Array::create(&folder.1, name, &made, Create::New).unwrap();
    }
    made.set_dimension_names(vec![Some("t".into())]).unwrap();
    let array = Array::create(&folder.1, "g/x", &made, Create::New).unwrap();
    assert_eq!(array.nczarr().unwrap(), None);
    folder.1.close(None).unwrap();
    let root = Group::open(&folder.1, "").unwrap();
    assert_eq!((root.nc_version().unwrap(), root.nc_dimensions().unwrap()), (None, None));
}

/// As the variables of the members of an ensemble, which are written in one batch.
#[cfg(unix)]
#[test]
fn arrays_of_one_name_have_locks_of_their_own_and_one_array_by_any_path_has_one() {
    let folder = Folder::new("lock-names");
    for path in ["m/t", "n/t"] {
        Array::create(&folder.1, path, &spec(&[4], &[4]), Create::New).unwrap();
    }
    for (to, link) in [("m", "l"), ("m/t", "k")] {
        std::os::unix::fs::symlink(to, folder.0.join(link)).unwrap();
    }
    let lock = |root: &str, path: &str| {
        let shared = Arc::new(LocalStore::open(&folder.0.join(root), true, SyncMode::None).unwrap());
        let array = Array::open(&Store::from_shared(&Context::with_threads(1), shared, Mode::ReadWrite), path).unwrap();
        let bound = array.state().bound(path).unwrap();
        let key = bound.key_of(&[0]).unwrap();
        let (name, tail) = bound.lock_name(&key);
        (name, tail.to_string())
    };
    let ours = lock("", "m/t");
    assert_ne!(ours, lock("", "n/t"));
    for (root, path) in [("m", "t"), ("n/../m", "t"), ("l", "t"), ("m/t", ""), ("k", ""), ("", "l/t"), ("", "k")] {
        assert_eq!(ours, lock(root, path), "{root:?} {path:?}");
    }
}

/// What a cache gives for a file has no times to be compared with the file's.
#[test]
fn parts_of_chunks_in_a_folder_are_changed_through_a_cache() {
    let folder = Folder::new("changed-through-a-cache");
    let mut sharded = spec(&[4], &[4]);
    sharded.set_inner_chunks(&[2]).unwrap();
    for spec in [spec(&[4], &[4]), sharded] {
        Array::create(&folder.1, "a", &spec, Create::Overwrite).unwrap();
        let array = Array::open(&folder.1.cached(1 << 20, Mode::ReadWrite).unwrap(), "a").unwrap();
        for (start, values) in [(0, &mut [1, 2, 3, 4][..]), (1, &mut [5])] {
            let region = Selection::new(&[4], &[start], &[values.len() as i64], None).unwrap();
            own!(array.write(&region, &view(values, &[values.len() as u64])).unwrap());
        }
        assert_eq!(read_all(&array), [1, 5, 3, 4]);
    }
}

#[test]
fn an_error_of_a_node_that_is_erased_or_renamed_says_so() {
    type Call = fn(&Store) -> crate::error::Result<()>;
    let calls: [(Call, &str); 2] =
        [(|store| store.rename_node("g/a", "h/b"), "has its new name"), (|store| store.erase_node("g/a"), "is gone")];
    for (call, words) in calls {
        let mut told = 0;
        for (after, times) in (0..5).flat_map(|after| [(after, 1), (after, 1 << 40)]) {
            let folder = Folder::new("done-and-told");
            Array::create(&folder.1, "g/a", &spec(&[4], &[4]), Create::New).unwrap();
            Group::open(&folder.1, "").unwrap().consolidate().unwrap();
            let full = fault::Fault { after, times, ..fault::fail(crate::store::os::Call::Write, libc::ENOSPC) };
            let (done, _) = fault::with(&[full], || call(&folder.1));
            let is_there = folder.1.node_kind("g/a").unwrap() != NodeKind::None;
            match done {
                Ok(()) => assert!(!is_there, "{words} {after} {times}"),
                Err(e) => {
                    assert_eq!(e.message().contains(words), !is_there, "{words} {after} {times}: {e}");
                    told += usize::from(!is_there);
                }
            }
        }
        assert!(told > 0, "{words}");
    }
}

/// The call fails behind what it changes, from its `after`-th call of the system on or there alone.
#[test]
fn what_a_failed_call_has_made_is_listed_when_the_store_is_closed() {
    use crate::store::os::Call;
    type Change = fn(&Store) -> crate::error::Result<()>;
    let changes: [(&str, Change); 4] = [
        ("rename", |store| store.rename_node("g/a", "h/i/b")),
        ("rename a group", |store| store.rename_node("g", "h/i")),
        ("overwrite", |store| Array::create(store, "g/a", &spec(&[8], &[4]), Create::Overwrite).map(drop)),
        ("create", |store| Group::create(store, "x/y/z", None, Create::New).map(drop)),
    ];
    for (name, change) in changes {
        for call in [Call::Open, Call::Write, Call::Rename, Call::RenameNew, Call::Unlink] {
            let mut most = usize::MAX;
            for (after, times) in (0..).flat_map(|after| [(after, 1), (after, 1 << 40)]) {
                let folder = Folder::new("made-and-listed");
                Array::create(&folder.1, "g/a", &spec(&[4], &[4]), Create::New).unwrap();
                Group::open(&folder.1, "").unwrap().consolidate().unwrap();
                if after == 0 && times == 1 {
                    most = fault::count(call, || change(&folder.1).unwrap());
                    continue;
                }
                if after >= most {
                    break;
                }
                if call == Call::Open && after % crate::settings::apart(4) != 0 {
                    continue;
                }
                // What is below a group that stays cannot be read then.
                if (name, call) == ("rename a group", Call::Open) && times > 1 {
                    continue;
                }
                let fails = fault::Fault { after, times, ..fault::fail(call, libc::ENOSPC) };
                let (done, _) = fault::with(&[fails], || change(&folder.1));
                folder.1.close(None).unwrap();
                let differences = Group::open(&folder.1, "").unwrap().consolidated_differences().unwrap();
                assert_eq!(differences, Some(vec![]), "{name} {call:?} {after} {times}: {done:?}");
            }
        }
    }
}
