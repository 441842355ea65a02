//! Tests of checkpoints: there as a whole or not at all, whatever write fails.

use super::tests::{faults, own, read_all, spec, view, write_all};
use super::tests_growth::{Folder, write_box};
use super::tests_store::{Next, anew, before_call, on, told};
use super::*;
use crate::dtype::DataType;
use crate::engine::Selection;
use crate::error::{Error, ErrorKind, Result, err};
use crate::settings::apart;
use crate::store::fault::{self, Effect};
use crate::store::local::{LocalStore, SyncMode};
use crate::store::os::Call;
use crate::store::prefix::hidden;
use crate::store::suite::TestFolder;
use crate::store::{Capabilities, Object, SharedStore, Started, Storage, StorageExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// Puts two arrays, one of them in a group, and an attribute.
pub(super) fn fill(group: &Group, value: i32) -> Result<()> {
    for name in ["u", "more/v"] {
        let mut spec = Spec::new(DataType::Int32, &[4])?;
        spec.set_chunks(&[2])?;
        let array = Array::create(group.store(), name, &spec, Create::New)?;
        own!(array.write(&Selection::all(&[4]), &view(&mut [value; 4], &[4])))?;
    }
    group.attributes().set_json("step", &value.to_string())
}

pub(super) fn make(all: &Checkpoints, name: &str, value: i32) -> Result<()> {
    let group = all.begin(name)?;
    fill(&group, value)?;
    group.commit()
}

/// What the newest checkpoint holds, all of which agrees; 0 without one.
pub(super) fn newest(store: &Store, path: &str) -> i32 {
    let group = match Checkpoints::new(&anew(store), path).unwrap().latest() {
        Ok(group) => group,
        Err(e) => {
            assert_eq!(e.kind(), ErrorKind::NotFound);
            return 0;
        }
    };
    let step = group.attributes().get_json("step").unwrap().parse().unwrap();
    for name in ["u", "more/v"] {
        assert_eq!(read_all(&group.open_array(name).unwrap()), [step; 4], "{name}");
    }
    step
}

pub(super) fn names(all: &Checkpoints) -> Vec<String> {
    all.list().unwrap().into_iter().map(|child| child.name).collect()
}

#[test]
fn checkpoints_are_there_when_they_are_committed() {
    for (format, path) in [(Format::V3, ""), (Format::V3, "run/restart"), (Format::V2, "")] {
        let store = Store::memory(&Context::with_threads(1));
        let all = Checkpoints::new(&store, path).unwrap();
        assert_eq!((newest(&store, path), names(&all).len()), (0, 0));
        Group::create(&store, "", Some(format), Create::New).unwrap();
        for n in 1..5 {
            let group = all.begin(&format!("step-{n}")).unwrap();
            fill(&group, n).unwrap();
            assert_eq!((newest(&store, path), names(&all).len() as i32), (n - 1, n - 1), "{format:?}");
            assert_eq!(group.format(), format);
            group.commit().unwrap();
            assert_eq!(newest(&store, path), n);
        }
        let group = Group::open(&anew(&store), path).unwrap();
        assert_eq!(group.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        let given_up = all.begin("step-5").unwrap();
        fill(&given_up, 5).unwrap();
        given_up.abandon().unwrap();
        all.prune(2).unwrap();
        assert_eq!((names(&all), newest(&store, path)), (vec!["step-3".to_string(), "step-4".to_string()], 4));
        assert!(store.key_list("").unwrap().iter().all(|key| !key.contains(".begun") && !key.contains("step-1")));
        assert_eq!(Group::open(&anew(&store), path).unwrap().consolidated_differences().unwrap(), Some(vec![]));
    }
}

#[test]
fn a_checkpoint_takes_the_place_of_one_of_the_same_name_when_it_is_committed() {
    let store = Store::memory(&Context::with_threads(1));
    let all = Checkpoints::new(&store, "").unwrap();
    for n in 1..4 {
        let group = all.begin("restart").unwrap();
        fill(&group, n).unwrap();
        assert_eq!(newest(&store, ""), n - 1);
        group.commit().unwrap();
        assert_eq!((newest(&store, ""), names(&all).len()), (n, 1));
    }
    let e = Group::create(&store, "", None, Create::OpenIfSame).unwrap().commit().unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Argument);
    Group::create(&store, "other", None, Create::New).unwrap();
    assert_eq!(all.begin("other").err().unwrap().kind(), ErrorKind::Exists);
    for bad in ["", "a/b", "..", "__x"] {
        assert_eq!(all.begin(bad).err().unwrap().kind(), ErrorKind::Name, "{bad:?}");
    }
}

/// What other processes write to a checkpoint goes where it is made.
#[test]
fn a_checkpoint_tells_where_it_is_made() {
    let root = TestFolder::new("place.zarr");
    let text = root.to_str().unwrap();
    for location in [text.to_string(), format!("file://{text}#mode=zarr"), format!("{text}//states/")] {
        let (store, path) = Store::locate(&Context::with_threads(1), &location, Mode::ReadWrite).unwrap();
        let all = Checkpoints::new(&store, &path).unwrap();
        let above = if path.is_empty() { text.to_string() } else { format!("{text}/{path}") };
        for n in 1..4 {
            let group = all.begin("one").unwrap();
            fill(&group, n).unwrap();
            let place = group.store().root().unwrap().location().unwrap();
            let others = Store::open(&Context::with_threads(1), &place, Mode::ReadWrite, &[]).unwrap();
            let Node::Group(imported) = Node::import(&others, &group.export().unwrap()).unwrap() else { panic!("an array") };
            write_all(&imported.open_array("u").unwrap(), &mut [n + 1; 4]);
            group.commit().unwrap();
            assert_eq!(place, format!("{above}/{}", names(&all).pop().unwrap()), "{location}");
            assert_eq!(read_all(&all.latest().unwrap().open_array("u").unwrap()), [n + 1; 4], "{location}");
        }
        std::fs::remove_dir_all(&root).unwrap();
    }
}

/// The order is that of the commits, also where a name is the end of another one's.
#[test]
fn of_checkpoints_whose_names_end_alike_the_last_to_be_committed_is_the_newest() {
    let store = Store::memory(&Context::with_threads(1));
    let all = Checkpoints::new(&store, "states").unwrap();
    let (long, short) = (all.begin("1-5").unwrap(), all.begin("5").unwrap());
    fill(&long, 15).unwrap();
    fill(&short, 5).unwrap();
    short.commit().unwrap();
    long.commit().unwrap();
    assert_eq!((newest(&store, "states"), names(&all)), (15, vec!["5".to_string(), "1-5".to_string()]));
    all.prune(1).unwrap();
    assert_eq!((newest(&store, "states"), names(&all)), (15, vec!["1-5".to_string()]));
}

/// The write that fails is each one in turn, and so are all that follow, as in a full disk or after a kill.
#[test]
fn whatever_write_fails_the_old_checkpoint_is_there_or_the_new_one() {
    for (call, by) in [(Call::Rename, 1), (Call::RenameNew, 1), (Call::Unlink, 1), (Call::Open, 13)] {
        let mut came = std::collections::BTreeSet::new();
        for after in (0..).step_by(by * apart(3)) {
            let Folder(_root, store) = Folder::new("checkpoint");
            let all = Checkpoints::new(&store, "").unwrap();
            make(&all, "a", 1).unwrap();
            make(&all, "b", 2).unwrap();
            let done = fault::failing(call, after, libc::ENOSPC, || make(&all, "a", 3).and_then(|()| all.prune(1)));
            let found = newest(&store, "");
            assert!(found == 2 || found == 3, "{call:?} {after}: {found}");
            came.insert(found);
            let again = Checkpoints::new(&anew(&store), "").unwrap();
            make(&again, "a", 4).unwrap();
            again.prune(1).unwrap();
            assert_eq!((newest(&store, ""), names(&again).len()), (4, 1), "{call:?} {after}");
            let left = store.key_list("").unwrap();
            assert!(left.iter().all(|key| !key.ends_with(".begun") && !key.starts_with("b/")), "{call:?} {after}: {left:?}");
            let group = Group::open(&anew(&store), "").unwrap();
            assert_eq!(group.consolidated_differences().unwrap(), Some(vec![]), "{call:?} {after}");
            if done.is_ok() {
                break;
            }
        }
        assert!(came.contains(&3), "{call:?} {came:?}");
    }
}

/// The inode of each file of a checkpoint's chunks.
fn chunks(root: &std::path::Path, name: &str) -> Vec<u64> {
    use std::os::unix::fs::MetadataExt;
    let file = |key: &str| std::fs::metadata(root.join(name).join(key)).unwrap().ino();
    ["u/c/0", "u/c/1", "more/v/c/0", "more/v/c/1"].map(file).to_vec()
}

/// A new store in a folder, and the folder.
fn in_folder(sync: SyncMode) -> (TestFolder, Store) {
    let root = TestFolder::new("checkpoint");
    let local = Arc::new(LocalStore::open(&root, true, sync).unwrap());
    (root, on(local))
}

#[test]
fn unchanged_chunks_are_links_to_the_checkpoint_before_when_asked_for() {
    let (root, store) = in_folder(SyncMode::Batch);
    let all = Checkpoints::new(&store, "").unwrap();
    make(&all, "one", 1).unwrap();
    make(&all, "plain", 1).unwrap();
    assert!(chunks(&root, "one").iter().zip(chunks(&root, "plain")).all(|(a, b)| *a != b), "nothing is linked unless asked for");
    // One that was killed has links, which go with it.
    let killed = all.begin("two").unwrap();
    killed.set_link_unchanged(true).unwrap();
    fill(&killed, 1).unwrap();
    drop(killed);
    let group = all.begin("two").unwrap();
    group.set_link_unchanged(true).unwrap();
    assert!(group.links_unchanged());
    fill(&group, 1).unwrap();
    assert_eq!(chunks(&root, "two"), chunks(&root, "plain"));
    // What is written again is replaced here, and stays there.
    write_box(&group.open_array("u").unwrap(), &[0], &[1], 7).unwrap();
    group.commit().unwrap();
    let (two, plain) = (chunks(&root, "two"), chunks(&root, "plain"));
    assert!(two[0] != plain[0] && two[1..] == plain[1..]);
    let values = |name: &str| read_all(&Array::open(&store, &format!("{name}/u")).unwrap());
    assert_eq!((values("plain"), values("two")), (vec![1; 4], vec![7, 1, 1, 1]));
    all.prune(1).unwrap();
    assert_eq!((names(&all), values("two")), (vec!["two".to_string()], vec![7, 1, 1, 1]));
    assert_eq!(Group::open(&store, "").unwrap().set_link_unchanged(true).err().unwrap().kind(), ErrorKind::Argument);
}

/// Moves a checkpoint to a disk of its own and puts a link to it in its place; gives the disk.
fn move_to_a_disk(root: &std::path::Path, name: &str) -> std::path::PathBuf {
    let (place, disk) = (root.join(name), root.with_extension(format!("disk of {name}")));
    std::fs::rename(&place, &disk).unwrap();
    std::os::unix::fs::symlink(&disk, &place).unwrap();
    disk
}

#[test]
fn the_newest_checkpoint_behind_a_link_to_nothing_is_not_passed_over() {
    let (root, store) = in_folder(SyncMode::None);
    let all = Checkpoints::new(&store, "").unwrap();
    make(&all, "one", 1).unwrap();
    make(&all, "two", 2).unwrap();
    let newest = || Checkpoints::new(&anew(&store), "").unwrap().latest().map(|group| group.path().to_string());
    std::os::unix::fs::symlink("pruned", root.join("a link of the user's own")).unwrap();
    let disk = move_to_a_disk(&root, "two");
    let away = disk.with_extension("away");
    assert_eq!(newest().unwrap(), "two");
    std::fs::rename(&disk, &away).unwrap();
    let is_refused = || {
        let e = newest().unwrap_err();
        assert!(e.kind() == ErrorKind::Io && e.key() == Some("two") && e.message().contains("remove the links to go back"), "{e}");
    };
    is_refused();
    // It counts as one of those that are kept, and none behind it has its number.
    all.prune(2).unwrap();
    is_refused();
    assert_eq!(names(&all), ["one", "two"]);
    make(&all, "0 after two", 3).unwrap();
    assert_eq!(newest().unwrap(), "0 after two");
    std::fs::rename(&away, &disk).unwrap();
    assert_eq!((newest().unwrap(), names(&all)), ("0 after two".into(), ["one", "two", "0 after two"].map(String::from).to_vec()));
    std::fs::remove_dir_all(root.join("0 after two")).unwrap();
    assert_eq!(newest().unwrap(), "two");
    std::fs::remove_dir_all(&disk).unwrap();
    std::fs::remove_file(root.join("two")).unwrap();
    assert_eq!(newest().unwrap(), "one");
}

#[test]
fn an_older_checkpoint_behind_a_link_to_nothing_is_left_where_it_is() {
    let (root, store) = in_folder(SyncMode::None);
    let all = Checkpoints::new(&store, "").unwrap();
    make(&all, "one", 1).unwrap();
    make(&all, "two", 2).unwrap();
    let disk = move_to_a_disk(&root, "one");
    let away = disk.with_extension("away");
    std::fs::rename(&disk, &away).unwrap();
    assert_eq!(newest(&store, ""), 2);
    make(&all, "one", 3).unwrap();
    assert_eq!(newest(&store, ""), 3);
    all.prune(1).unwrap();
    assert_eq!((newest(&store, ""), std::fs::read_link(root.join("one")).unwrap()), (3, disk.clone()));
    std::fs::rename(&away, &disk).unwrap();
    all.prune(1).unwrap();
    assert_eq!((newest(&store, ""), names(&all).len()), (3, 1));
    std::fs::remove_dir_all(&disk).unwrap();
}

#[test]
fn unchanged_chunks_are_as_young_as_their_newest_checkpoint_to_what_removes_old_files() {
    let (root, store) = in_folder(SyncMode::Batch);
    let all = Checkpoints::new(&store, "").unwrap();
    make(&all, "one", 1).unwrap();
    let hours_ago = |hours: u64| SystemTime::now() - Duration::from_secs(60 * 60 * hours);
    let ages = [("u/c/0", 1, 1), ("u/c/1", 23, 23), ("more/v/c/0", 25, 0), ("more/v/c/1", 24 * 365, 0)];
    for (key, age, _) in ages {
        std::fs::File::open(root.join("one").join(key)).unwrap().set_modified(hours_ago(age)).unwrap();
    }
    let group = all.begin("two").unwrap();
    group.set_link_unchanged(true).unwrap();
    fill(&group, 1).unwrap();
    group.commit().unwrap();
    assert_eq!(chunks(&root, "two"), chunks(&root, "one"));
    for (key, age, then) in ages {
        let modified = std::fs::metadata(root.join("two").join(key)).unwrap().modified().unwrap();
        assert_eq!(hours_ago(0).duration_since(modified).unwrap().as_secs() / 3600, then, "{age} hours");
    }
}

#[test]
fn a_checkpoint_has_what_waits_in_its_arrays_that_are_open_when_it_is_committed() {
    let (_root, folder) = in_folder(SyncMode::None);
    for store in [folder, Store::memory(&Context::with_threads(1))] {
        for format in [Format::V2, Format::V3] {
            let all = Checkpoints::new(&store, &format!("{format:?}")).unwrap();
            Group::create(&store, &all.path, Some(format), Create::New).unwrap();
            let group = all.begin("one").unwrap();
            fill(&group, 7).unwrap();
            let waiting = group.open_array("more/v").unwrap();
            waiting.set_write_back(1 << 20).unwrap();
            write_box(&waiting, &[1], &[1], 9).unwrap();
            // What is no part of the checkpoint waits on.
            let other = Array::create(&store, &format!("other {format:?}"), &spec(&[4], &[4]), Create::New).unwrap();
            other.set_write_back(1 << 20).unwrap();
            write_box(&other, &[1], &[1], 9).unwrap();
            group.commit().unwrap();
            assert_eq!(read_all(&Array::open(&anew(&store), other.path()).unwrap()), [0; 4], "{format:?}");
            let found = || read_all(&Checkpoints::new(&anew(&store), &all.path).unwrap().latest().unwrap().open_array("more/v").unwrap());
            assert_eq!(found(), [7, 9, 7, 7], "{format:?}");
            drop(waiting);
            assert_eq!(found(), [7, 9, 7, 7], "{format:?}");
        }
    }
}

#[test]
fn a_chunk_of_which_a_part_is_written_is_a_link_where_it_is_what_it_was() {
    use std::os::unix::fs::MetadataExt;
    let (root, store) = in_folder(SyncMode::None);
    let all = Checkpoints::new(&store, "").unwrap();
    let files = ["one", "two"].map(|name| {
        let group = all.begin(name).unwrap();
        group.set_link_unchanged(true).unwrap();
        let mut spec = Spec::new(DataType::Int32, &[2]).unwrap();
        spec.set_chunks(&[2]).unwrap();
        write_box(&Array::create(group.store(), "u", &spec, Create::New).unwrap(), &[0], &[1], 7).unwrap();
        group.commit().unwrap();
        ["u/c/0", "u/zarr.json"].map(|key| std::fs::metadata(root.join(name).join(key)).unwrap().ino())
    });
    assert_eq!(files[0][0], files[1][0]);
    assert_ne!(files[0][1], files[1][1], "documents are files of their own");
}

#[test]
fn a_chunk_is_written_where_the_checkpoint_before_has_something_else_at_its_key() {
    let (_root, store) = in_folder(SyncMode::Batch);
    let all = Checkpoints::new(&store, "").unwrap();
    for (name, shape) in [("line", vec![2_u64]), ("plane", vec![2, 2]), ("line again", vec![2])] {
        let group = all.begin(name).unwrap();
        group.set_link_unchanged(true).unwrap();
        let mut spec = Spec::new(DataType::Int32, &shape).unwrap();
        spec.set_chunks(&shape).unwrap();
        let array = Array::create(group.store(), "u", &spec, Create::New).unwrap();
        write_box(&array, &vec![0; shape.len()], &vec![2; shape.len()], 7).unwrap();
        group.commit().unwrap();
        assert!(read_all(&Array::open(&store, &format!("{name}/u")).unwrap()).iter().all(|value| *value == 7), "{name}");
    }
}

/// As a file has no more names where it has 65,000 on ext4, is immutable, or is another user's.
#[test]
fn a_chunk_that_becomes_what_it_was_keeps_its_other_parts_where_it_cannot_be_a_link() {
    for errno in [libc::EMLINK, libc::EPERM] {
        let (root, store) = in_folder(SyncMode::Batch);
        let all = Checkpoints::new(&store, "").unwrap();
        make(&all, "one", 1).unwrap();
        let group = all.begin("two").unwrap();
        group.set_link_unchanged(true).unwrap();
        let mut spec = Spec::new(DataType::Int32, &[4]).unwrap();
        spec.set_chunks(&[2]).unwrap();
        let array = Array::create(group.store(), "u", &spec, Create::New).unwrap();
        write_box(&array, &[0], &[4], 7).unwrap();
        write_box(&array, &[0], &[1], 1).unwrap();
        let no_link = fault::Fault { after: 1, ..fault::fail(Call::Rename, errno) };
        let (written, unmet) = fault::with(&[no_link], || write_box(&array, &[1], &[1], 1));
        assert_eq!((written.is_ok(), unmet), (true, 0));
        group.commit().unwrap();
        assert_eq!(read_all(&Array::open(&store, "two/u").unwrap()), [1, 1, 7, 7]);
        assert!(std::fs::read_dir(root.join("two/u/c")).unwrap().count() == 2, "nothing else is left there");
    }
}

/// The write that fails while pruning is each one in turn, and so are all that follow: consolidated metadata name a checkpoint that is there.
#[test]
fn pruning_lists_a_checkpoint_that_a_kill_left_unlisted() {
    for after in 0.. {
        let Folder(_root, store) = Folder::new("checkpoint");
        let all = Checkpoints::new(&store, "").unwrap();
        make(&all, "a", 1).unwrap();
        // As a kill leaves it between the commit and the document above.
        let before = store.key_get("zarr.json").unwrap().unwrap();
        make(&all, "b", 2).unwrap();
        store.key_put("zarr.json", &before).unwrap();
        assert_ne!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
        let done = fault::failing(Call::Rename, after, libc::ENOSPC, || Checkpoints::new(&anew(&store), "").unwrap().prune(1));
        let group = Group::open(&anew(&store), "").unwrap();
        let listed = group.children().unwrap();
        assert!(listed.iter().any(|child| store.node_kind(&child.name).unwrap() == NodeKind::Group), "behind {after}");
        Checkpoints::new(&anew(&store), "").unwrap().prune(1).unwrap();
        assert_eq!(Group::open(&anew(&store), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
        assert_eq!(names(&all), ["b"]);
        if done.is_ok() {
            break;
        }
    }
}

#[test]
fn pruning_removes_what_a_kill_has_left_and_leaves_what_this_process_makes() {
    for (format, committed) in [(Format::V3, 0), (Format::V3, 2), (Format::V2, 0), (Format::V2, 2)] {
        let (store, all) = in_memory(format);
        (0..committed).for_each(|n| make(&all, &n.to_string(), n + 1).unwrap());
        fill(&all.begin("killed").unwrap(), 7).unwrap();
        let made = all.begin("made").unwrap();
        fill(&made, 8).unwrap();
        Checkpoints::new(&anew(&store), "").unwrap().prune(1).unwrap();
        let left = store.key_list("").unwrap();
        assert!(!left.iter().any(|key| key.starts_with("killed/")), "{format:?} {committed}: {left:?}");
        assert_eq!(newest(&store, ""), committed);
        made.commit().unwrap();
        assert_eq!((newest(&store, ""), names(&all).len() as i32), (8, 1 + committed.min(1)), "{format:?} {committed}");
    }
}

#[test]
fn what_several_prune_at_once_is_gone_for_each() {
    let root = TestFolder::new("checkpoint");
    // Of its own for each, as in processes of their own.
    let here = || on(Arc::new(LocalStore::open(&root, true, SyncMode::None).unwrap()));
    for round in 0..8 {
        let all = Checkpoints::new(&here(), "").unwrap();
        drop(all.begin("killed").unwrap());
        (0..4).for_each(|n| make(&all, &format!("{round}-{n}"), n + 1).unwrap());
        std::thread::scope(|s| {
            let prunes = [(); 3].map(|()| s.spawn(|| Checkpoints::new(&here(), "").unwrap().prune(1)));
            prunes.into_iter().for_each(|prune| prune.join().unwrap().unwrap());
        });
        all.prune(1).unwrap();
        assert_eq!((newest(&here(), ""), names(&all)), (4, vec![format!("{round}-3")]));
        let left = here().key_list("").unwrap();
        assert!(left.iter().all(|key| key.starts_with(&format!("{round}-3/")) || !key.contains('/')), "{left:?}");
    }
}

#[test]
fn checkpoints_in_an_archive_are_sound() {
    let file = TestFolder::new("checkpoint.zip");
    let store = Store::open(&Context::with_threads(1), file.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
    let all = Checkpoints::new(&store, "").unwrap();
    (1..3).for_each(|n| make(&all, &n.to_string(), n).unwrap());
    store.flush().unwrap();
    assert!(store.key_list("").unwrap().contains(&"1/zarr.json.begun".to_string()), "nothing is erased there");
    assert_eq!(faults(&store, VerifyOptions::default()), []);
    // Nothing erases what a killed one left there.
    fill(&all.begin("killed").unwrap(), 3).unwrap();
    let left = faults(&store, VerifyOptions::default());
    let stays = |fault: &Fault| fault.kind == FaultKind::Temporary && fault.message.contains("it stays in this store");
    assert!(!left.is_empty() && left.iter().all(stays), "{left:?}");
    assert_eq!(all.prune(1).unwrap_err().kind(), ErrorKind::Unsupported);
}

/// Between the document that makes a checkpoint known and the consolidated metadata above it.
#[test]
fn what_a_kill_just_behind_a_commit_leaves_goes_with_the_next_call() {
    for (format, document, above) in [(Format::V3, "old/zarr.json", "zarr.json"), (Format::V2, "old/.zgroup", ".zmetadata")] {
        for prunes in [true, false] {
            let store = Store::memory(&Context::with_threads(1));
            Group::create(&store, "", Some(format), Create::New).unwrap().consolidate().unwrap();
            let before = store.key_get(above).unwrap().unwrap();
            let all = Checkpoints::new(&store, "").unwrap();
            make(&all, "old", 1).unwrap();
            store.key_put(&hidden(document), &store.key_get(document).unwrap().unwrap()).unwrap();
            store.key_put(above, &before).unwrap();
            if prunes {
                all.prune(1).unwrap()
            } else {
                all.begin("new").unwrap().abandon().unwrap()
            }
            assert_eq!(store.key_get(&hidden(document)).unwrap(), None, "{format:?} {prunes}");
            assert_eq!(Group::open(&store, "").unwrap().consolidated_differences().unwrap(), Some(vec![]), "{format:?} {prunes}");
            assert_eq!(all.list().unwrap().len(), 1);
        }
    }
}

/// Whoever may change nothing learns of them, too, and that pruning removes them.
#[test]
fn what_a_killed_checkpoint_left_is_temporary() {
    for (format, document) in [(Format::V3, "old/zarr.json"), (Format::V2, "old/.zgroup")] {
        let store = Store::memory(&Context::with_threads(1));
        Group::create(&store, "", Some(format), Create::New).unwrap();
        let all = Checkpoints::new(&store, "").unwrap();
        make(&all, "old", 1).unwrap();
        // As after a kill between the two.
        store.key_put(&hidden(document), &store.key_get(document).unwrap().unwrap()).unwrap();
        let begun = all.begin("new").unwrap();
        fill(&begun, 2).unwrap();
        for mode in [Mode::Read, Mode::ReadWrite] {
            let store = Store::from_shared(&Context::with_threads(1), store.shared().clone(), mode);
            let faults = faults(&store, VerifyOptions::default());
            assert_eq!(faults.len(), 5, "{faults:?}");
            assert!(faults.iter().all(|fault| fault.kind.name() == "temporary" && fault.key.starts_with("new/")), "{faults:?}");
        }
    }
}

#[test]
fn of_two_writers_of_one_name_the_one_that_began_last_commits() {
    for path in ["", "run/restart"] {
        let store = Store::memory(&Context::with_threads(1));
        let (all, other) = (Checkpoints::new(&store, path).unwrap(), Checkpoints::new(&anew(&store), path).unwrap());
        let first = all.begin("a").unwrap();
        fill(&first, 1).unwrap();
        let second = other.begin("a").unwrap();
        for end in [Group::commit, Group::abandon] {
            let e = end(&first).err().unwrap();
            assert!(e.kind() == ErrorKind::State && e.message().contains("another writer"), "{e}");
        }
        fill(&second, 2).unwrap();
        second.commit().unwrap();
        assert_eq!(newest(&store, path), 2);
        assert_eq!(first.commit().err().unwrap().kind(), ErrorKind::State);
        assert_eq!(newest(&store, path), 2);
    }
}

/// What becomes of the checkpoint "x", of which a handle of an array is still open.
#[test]
fn a_checkpoint_has_nothing_of_another_one_that_was_in_its_place_before() {
    type End = fn(&Checkpoints, Group);
    let ends: [(&str, End); 4] = [
        ("it is begun again", |_, group| drop(group)),
        ("it is given up", |_, group| group.abandon().unwrap()),
        ("another one is committed", |all, group| group.commit().and_then(|()| make(all, "x", 2)).unwrap()),
        ("it is pruned", |all, group| group.commit().and_then(|()| make(all, "y", 2)).and_then(|()| all.prune(1)).unwrap()),
    ];
    for (name, end) in ends {
        for format in [Format::V3, Format::V2] {
            let (store, all) = in_memory(format);
            let group = all.begin("x").unwrap();
            fill(&group, 1).unwrap();
            let array = Array::open(group.store(), "u").unwrap();
            let write = || write_box(&array, &[1], &[2], 7);
            end(&all, group);
            if name != "it is begun again" {
                assert_eq!(write().err().map(|e| e.kind()), Some(ErrorKind::State), "{name} {format:?}");
            }
            let next = all.begin("x").unwrap();
            fill(&next, 3).unwrap();
            assert_eq!(write().err().map(|e| e.kind()), Some(ErrorKind::State), "{name} {format:?}");
            next.commit().unwrap();
            assert_eq!(write().err().map(|e| e.kind()), Some(ErrorKind::State), "{name} {format:?}");
            drop(array);
            assert_eq!(newest(&store, ""), 3, "{name} {format:?}");
            assert!(
                store.key_list("x/").unwrap().contains(&"x/u/c/0".to_string()) || format == Format::V2,
                "{name}: the place is used again"
            );
        }
    }
}

/// The next checkpoints take the place of the one before, at each moment of a reader: also the node of its name.
#[test]
fn a_reader_sees_a_checkpoint_whenever_another_process_replaces_it() {
    let nexts: [&[&str]; 4] = [&["a"], &["b"], &["a", "a"], &["b", "a"]];
    for (format, next, refreshes) in
        [Format::V3, Format::V2].into_iter().flat_map(|f| nexts.map(|n| [(f, n, true), (f, n, false)])).flatten()
    {
        let last = (0..).find(|&after| !read_while_replaced(format, next, refreshes, after));
        assert!(last > Some(4), "only {last:?} calls");
    }
}

/// Whether `next` were made before the `after`-th call of a reader.
fn read_while_replaced(format: Format, next: &'static [&str], refreshes: bool, after: usize) -> bool {
    let case = format!("{format:?} {next:?} {refreshes} {after}");
    let store = Store::memory(&Context::with_threads(1));
    Group::create(&store, "", Some(format), Create::New).unwrap();
    make(&Checkpoints::new(&store, "").unwrap(), "a", 1).unwrap();
    let other = anew(&store);
    let came = Arc::new(AtomicBool::new(false));
    let comes = came.clone();
    let event = move || {
        comes.store(true, Ordering::Relaxed);
        let all = Checkpoints::new(&other, "").unwrap();
        for (name, value) in next.iter().zip(2..) {
            make(&all, name, value).unwrap();
            all.prune(1).unwrap();
        }
    };
    let reader = Store::from_shared(&Context::with_threads(1), before_call(store.shared().clone(), after, event), Mode::Read);
    let group = Checkpoints::new(&reader, "").unwrap().latest().unwrap_or_else(|e| panic!("{case}: {e}"));
    let step = group.attributes().get_i64("step").unwrap() as i32;
    let mut found = [0; 4];
    let to_check = group.store_to_check().unwrap();
    let read = group.open_array("u").and_then(|array| {
        own!(array.read(&Selection::all(&[4]), &view(&mut found, &[4])))?;
        if refreshes { array.refresh() } else { to_check.check_kept() }
    });
    match read {
        Ok(()) => assert_eq!(found, [step; 4], "{case}"),
        Err(e) => assert_eq!(e.kind(), ErrorKind::NotFound, "{case}: {e}"),
    }
    let was_replaced = came.load(Ordering::Relaxed);
    let refreshed = group.refresh();
    assert_eq!(refreshed.is_err(), group.store().check_kept().is_err(), "{case}");
    was_replaced
}

/// Counts the documents of a checkpoint that are read, and what else is asked.
struct Counted {
    inner: SharedStore,
    latency: bool,
    read: AtomicUsize,
    asked: AtomicUsize,
}

impl Counted {
    fn note(&self, key: &str, is_read: bool) {
        if key == "a/zarr.json" {
            if is_read { &self.read } else { &self.asked }.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Storage for Counted {
    crate::store::forward!(inner: put, erase_keys, list_keys, flush, describe);

    fn capabilities(&self) -> Capabilities {
        Capabilities { latency: self.latency, ..self.inner.capabilities() }
    }

    fn open(&self, key: &str) -> Result<Option<Object>> {
        self.note(key, false);
        self.inner.open(key)
    }

    fn read_all(&self, key: &str, max: usize) -> Result<Option<Vec<u8>>> {
        self.note(key, true);
        self.inner.read_all(key, max)
    }

    fn start(&self, key: &str, what: Started<'_>) {
        self.note(key, matches!(what, Started::Read { ranges: [_, ..], .. }));
        self.inner.start(key, what);
    }
}

/// The document of a checkpoint has the metadata of all arrays: read for each of them it would cost the square of their number.
#[test]
fn the_document_of_a_checkpoint_is_read_once_however_many_arrays_are_read() {
    for latency in [false, true] {
        let (store, all) = in_memory(Format::V3);
        make(&all, "a", 1).unwrap();
        let (read, asked) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let counted = Arc::new(Counted { inner: store.shared().clone(), latency, read, asked });
        let group = Checkpoints::new(&on(counted.clone()), "").unwrap().latest().unwrap();
        let check = |rounds: usize| {
            let before = [&counted.read, &counted.asked].map(|count| count.load(Ordering::Relaxed));
            for _ in 0..rounds {
                let to_check = group.store_to_check().unwrap();
                assert_eq!(read_all(&group.open_array("u").unwrap()), [1; 4]);
                to_check.check_kept()?;
            }
            let after = [&counted.read, &counted.asked].map(|count| count.load(Ordering::Relaxed));
            Ok::<_, Error>([after[0] - before[0], after[1] - before[1]])
        };
        // Over a network the first check does not look before it reads.
        assert_eq!(check(10).unwrap(), if latency { [2, 9] } else { [1, 10] }, "{latency}");
        assert_eq!(check(10).unwrap(), [0, 10], "{latency}");
        let there = Group::open(&anew(&store), "a").unwrap();
        there.attributes().set_json("more", "2").unwrap();
        assert_eq!(check(10).unwrap()[0], 1, "its document was changed: {latency}");
        make(&Checkpoints::new(&anew(&store), "").unwrap(), "a", 2).unwrap();
        Checkpoints::new(&anew(&store), "").unwrap().prune(1).unwrap();
        make(&Checkpoints::new(&anew(&store), "").unwrap(), "a", 3).unwrap();
        let told = [1, 2].map(|_| group.store_to_check().unwrap().check_kept().err().map(|e| e.kind()));
        assert_eq!(told, [Some(ErrorKind::NotFound); 2], "{latency}");
    }
}

/// A copy that is cut short is no checkpoint, and one that is whole has only whole ones, at whichever moment another process removes them.
#[test]
fn a_copy_has_whole_checkpoints_whenever_another_process_prunes() {
    for (format, path, same_keys) in
        [Format::V3, Format::V2].into_iter().flat_map(|f| ["", "a", "a/u"].map(|path| [(f, path, true), (f, path, false)])).flatten()
    {
        let found: Vec<_> = (0..).step_by(apart(3)).map_while(|after| copied_while_pruned(format, (path, same_keys), after)).collect();
        assert!(found.len() * apart(3) > 4 && found.contains(&Some(ErrorKind::Again)), "{format:?} {path:?} {same_keys}: {found:?}");
    }
}

/// Copies while the checkpoint is replaced before the `after`-th call of the copy; `None` if there are no more calls.
fn copied_while_pruned(format: Format, (path, same_keys): (&str, bool), after: usize) -> Option<Option<ErrorKind>> {
    let case = format!("{format:?} {path:?} {same_keys} {after}");
    let (store, to) = (Store::memory(&Context::with_threads(1)), Store::memory(&Context::with_threads(1)));
    Group::create(&store, "", Some(format), Create::New).unwrap();
    make(&Checkpoints::new(&store, "").unwrap(), "a", 1).unwrap();
    let (other, came) = (anew(&store), Arc::new(AtomicBool::new(false)));
    let comes = came.clone();
    let told = before_call(store.shared().clone(), after, move || {
        comes.store(true, Ordering::Relaxed);
        let all = Checkpoints::new(&other, "").unwrap();
        make(&all, "b", 2).unwrap();
        all.prune(1).unwrap();
    });
    let from = Store::from_shared(&Context::with_threads(1), told, Mode::Read);
    let options = RechunkOptions::default();
    let done = match same_keys {
        true => from.copy_node(path, (&to, path), Create::New, false, &mut |_, _| Ok(())),
        false => from.rechunk_node(path, (&to, path), options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).map(drop),
    };
    if done.is_ok() && path == "a/u" {
        assert_eq!(read_all(&Array::open(&to, path).unwrap()), [1; 4], "{case}");
    } else if path != "a/u" {
        // All of what is found agrees.
        assert!(newest(&to, "") > 0 || path.is_empty() || done.is_err(), "{case}");
    }
    came.load(Ordering::Relaxed).then(|| done.err().map(|e| e.kind()))
}

/// A store in memory whose root is a group of a format, and its checkpoints.
fn in_memory(format: Format) -> (Store, Checkpoints) {
    let store = Store::memory(&Context::with_threads(1));
    Group::create(&store, "", Some(format), Create::New).unwrap();
    let all = Checkpoints::new(&store, "").unwrap();
    (store, all)
}

#[test]
fn a_checkpoint_stays_one_whatever_becomes_of_its_attributes() {
    for format in [Format::V3, Format::V2] {
        let (store, all) = in_memory(format);
        let group = all.begin("a").unwrap();
        fill(&group, 1).unwrap();
        group.attributes().replace_json(r#"{"step":1}"#).unwrap();
        assert_eq!(group.attributes().names().unwrap(), ["step"], "{format:?}");
        group.commit().unwrap();
        for raw in [false, true] {
            let group = Group::open(&store, "a").unwrap();
            group.attributes().set_raw(raw);
            group.attributes().replace_json(r#"{"step":1,"ozarr_checkpoint":{"name":"b"}}"#).unwrap();
            assert_eq!(group.attributes().erase("ozarr_checkpoint").unwrap_err().kind(), ErrorKind::Argument);
            assert_eq!((newest(&store, ""), names(&all)), (1, vec!["a".to_string()]), "{format:?} {raw}");
        }
    }
}

#[test]
fn a_checkpoint_whose_attributes_are_being_collected_becomes_the_newest() {
    let store = Store::memory(&Context::with_threads(1));
    let all = Checkpoints::new(&store, "").unwrap();
    let (slow, quick) = (all.begin("a").unwrap(), all.begin("b").unwrap());
    fill(&slow, 1).unwrap();
    fill(&quick, 2).unwrap();
    quick.commit().unwrap();
    slow.attributes().begin().unwrap();
    slow.commit().unwrap();
    assert_eq!((newest(&store, ""), names(&all)), (1, vec!["b".to_string(), "a".to_string()]));
}

/// A folder is removed in any order: a kill may come behind the document that was hidden, and before the attributes of version 2.
#[test]
fn what_is_left_of_a_removed_checkpoint_is_pruned_whatever_went_first() {
    for format in [Format::V3, Format::V2] {
        let (store, all) = in_memory(format);
        let document = if format == Format::V2 { ".zgroup" } else { "zarr.json" };
        fill(&all.begin("a").unwrap(), 1).unwrap();
        make(&all, "b", 2).unwrap();
        if format == Format::V2 {
            store.shared().erase(&format!("a/{}", hidden(document))).unwrap();
        }
        assert!(!store.key_list("a/").unwrap().is_empty());
        all.prune(1).unwrap();
        assert_eq!((store.key_list("a/").unwrap(), newest(&store, "")), (vec![], 2), "{format:?}");
    }
}

/// Another thread of this process prunes before each call of the one that begins, in turn.
#[test]
fn what_is_being_begun_stays_when_another_thread_prunes() {
    for format in [Format::V3, Format::V2] {
        for after in 0.. {
            let (store, _) = in_memory(format);
            let (other, came) = (anew(&store), Arc::new(AtomicBool::new(false)));
            let comes = came.clone();
            let writer = on(before_call(store.shared().clone(), after, move || {
                comes.store(true, Ordering::Relaxed);
                Checkpoints::new(&other, "").unwrap().prune(1).unwrap();
            }));
            let made = make(&Checkpoints::new(&writer, "").unwrap(), "a", 1);
            made.unwrap_or_else(|e| panic!("{format:?} before call {after}: {e}"));
            assert_eq!(newest(&store, ""), 1, "{format:?} before call {after}");
            if !came.load(Ordering::Relaxed) {
                assert!(after > 4);
                break;
            }
        }
    }
}

/// From the `after`-th call of one kind on all fail: the moment of the commit is before or behind that.
#[test]
fn a_commit_succeeds_when_the_checkpoint_is_there_whatever_fails_behind_it() {
    let calls = [Call::Rename, Call::RenameNew, Call::Write, Call::Unlink, Call::Open];
    for (call, format) in calls.into_iter().flat_map(|call| [(call, Format::V3), (call, Format::V2)]) {
        let mut came = std::collections::BTreeSet::new();
        let mut most = usize::MAX;
        for after in (0..).step_by(if call == Call::Open { 7 * apart(3) } else { 1 }) {
            if after >= most {
                break;
            }
            let case = format!("{call:?} {format:?} {after}");
            let (_root, store) = in_folder(SyncMode::None);
            Group::create(&store, "", Some(format), Create::New).unwrap().consolidate().unwrap();
            let all = Checkpoints::new(&store, "run/restart").unwrap();
            let begun = |value| {
                let begun = all.begin("a").unwrap();
                fill(&begun, value).unwrap();
                begun
            };
            begun(1).commit().unwrap();
            if after == 0 {
                most = fault::count(call, || begun(1).commit().unwrap());
            }
            let group = begun(2);
            let done = fault::failing(call, after, libc::ENOSPC, || group.commit());
            drop(group);
            assert_eq!(newest(&store, "run/restart"), 1 + i32::from(done.is_ok()), "{case}: {done:?}");
            came.insert(done.is_ok());
            // What was not done is done by the next call.
            let again = Checkpoints::new(&anew(&store), "run/restart").unwrap();
            if after % 2 == 0 {
                again.begin("b").and_then(|begun| begun.abandon()).unwrap()
            } else {
                again.prune(1).unwrap()
            }
            for path in ["", "run/restart"] {
                let differences = Group::open(&anew(&store), path).unwrap().consolidated_differences().unwrap();
                assert_eq!(differences, Some(vec![]), "{case} {path:?}");
            }
        }
        assert_eq!((came.contains(&true), came.contains(&false)), (true, call != Call::Unlink), "{call:?} {format:?}");
    }
}

#[test]
fn a_commit_whose_document_is_not_durable_says_that_the_checkpoint_is_there() {
    let mut told = 0;
    for after in 0.. {
        let (_root, store) = in_folder(SyncMode::Batch);
        let begun = Checkpoints::new(&store, "").unwrap().begin("a").unwrap();
        fill(&begun, 1).unwrap();
        let done = fault::failing(Call::Sync, after, libc::EIO, || begun.commit());
        let is_there = newest(&store, "") == 1;
        let Err(e) = done else { break };
        assert_eq!(e.message().contains("it is there"), is_there, "{after}: {e}");
        told += i32::from(is_there);
    }
    assert!(told > 0);
}

/// Some writes fail, then there is room again: what the calls themselves remove makes some.
#[test]
fn checkpoints_and_nodes_are_removed_from_a_full_disk() {
    for (format, path) in [(Format::V3, ""), (Format::V3, "run/restart"), (Format::V2, "run/restart")] {
        for (times, lists) in [1, 3, 1 << 40].into_iter().flat_map(|times| [(times, true), (times, false)]) {
            let case = format!("{format:?} {path:?} {times} {lists}");
            let (_root, store) = in_folder(SyncMode::None);
            Group::create(&store, "", Some(format), Create::New).unwrap().consolidate().unwrap();
            let all = Checkpoints::new(&store, path).unwrap();
            (1..5).for_each(|n| make(&all, &n.to_string(), n).unwrap());
            fill(&Checkpoints::new(&anew(&store), path).unwrap().begin("killed").unwrap(), 7).unwrap();
            if !lists {
                // As a kill leaves it just behind the last commit.
                let document = if format == Format::V2 { ".zmetadata" } else { "zarr.json" };
                let document = path::join(path, document);
                let before = store.key_get(&document).unwrap().unwrap();
                make(&all, "5", 5).unwrap();
                store.key_put(&document, &before).unwrap();
            }
            let last = if lists { 4 } else { 5 };
            let full = fault::Fault { call: Call::Write, after: 0, times, effect: Effect::Fail(libc::ENOSPC) };
            let of = anew(&store);
            let (done, _) = fault::with(&[full], || Checkpoints::new(&of, path).unwrap().prune(2));
            assert_eq!((names(&all), newest(&store, path)), (vec![(last - 1).to_string(), last.to_string()], last), "{case}");
            let left = store.key_list("").unwrap();
            assert!(!left.iter().any(|key| key.contains(".begun") || key.contains("killed")), "{case}: {left:?}");
            let differences = || ["", path].map(|path| Group::open(&anew(&store), path).unwrap().consolidated_differences().unwrap());
            match &done {
                Ok(()) => assert_eq!(differences(), [Some(vec![]), Some(vec![])], "{case}"),
                Err(e) => assert!(e.kind() == ErrorKind::NoSpace && times > 3, "{case}: {e}"),
            }
            assert!(done.is_err() || times < 9, "{case}");
            Checkpoints::new(&anew(&store), path).unwrap().prune(2).unwrap();
            assert_eq!(differences(), [Some(vec![]), Some(vec![])], "{case}");
            // A node, and all of them.
            for gone in [path::join(path, &last.to_string()), String::new()] {
                let of = anew(&store);
                let (done, _) = fault::with(&[full], || of.erase_node(&gone));
                assert_eq!(anew(&store).node_kind(&gone).unwrap(), NodeKind::None, "{case} {gone:?}");
                assert_eq!(store.key_list(&path::prefix(&gone)).unwrap(), [""; 0], "{case} {gone:?}");
                if let Err(e) = done {
                    assert!(e.kind() == ErrorKind::NoSpace && !gone.is_empty() && times > 1, "{case} {gone:?}: {e}");
                    assert_eq!(anew(&store).erase_node(&gone).unwrap_err().kind(), ErrorKind::NotFound);
                }
                if !gone.is_empty() {
                    assert_eq!(differences(), [Some(vec![]), Some(vec![])], "{case} {gone:?}");
                }
            }
        }
    }
}

/// The folders below one in which nothing is.
fn empty_folders(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let below: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let empty = if below.is_empty() { vec![folder.to_path_buf()] } else { Vec::new() };
    empty.into_iter().chain(below.iter().filter(|path| path.is_dir()).flat_map(|path| empty_folders(path))).collect()
}

#[test]
fn what_cannot_be_begun_or_made_on_a_full_disk_leaves_no_empty_folder() {
    type Row = (&'static str, fn(&Store) -> Result<()>);
    let rows: [Row; 4] = [
        ("checkpoint", |store| Checkpoints::new(store, "restart")?.begin("2").map(drop)),
        ("in place of what a kill left", |store| Checkpoints::new(store, "restart")?.begin("left").map(drop)),
        ("group", |store| Group::create(store, "g/h", None, Create::New).map(drop)),
        ("array", |store| Array::create(store, "g/a", &Spec::new(DataType::Int32, &[4])?, Create::New).map(drop)),
    ];
    let new = |format| {
        let (root, store) = in_folder(SyncMode::None);
        Group::create(&store, "", Some(format), Create::New).unwrap();
        make(&Checkpoints::new(&store, "restart").unwrap(), "1", 1).unwrap();
        std::fs::create_dir(root.join("restart/left")).unwrap();
        (root, anew(&store))
    };
    for (what, make_it) in rows {
        for (call, format) in [(Call::Write, Format::V3), (Call::Write, Format::V2), (Call::Open, Format::V3), (Call::Mkdir, Format::V3)] {
            let (_root, store) = new(format);
            let calls = fault::count(call, || make_it(&store).unwrap());
            let mut failed = 0;
            for after in 0..calls {
                let (root, store) = new(format);
                failed += usize::from(fault::failing(call, after, libc::ENOSPC, || make_it(&store)).is_err());
                drop(store);
                let empty = empty_folders(&root);
                let expected = usize::from(empty.iter().any(|path| path.ends_with("left")));
                assert_eq!(empty.len(), expected, "{what} {call:?} {after} of {calls}: {empty:?}");
            }
            assert!(failed > 0, "{what} {call:?}");
        }
    }
}

/// A server that lets list what is there and refuses to read it, or what is below one name or each.
#[test]
fn a_checkpoint_is_refused_where_a_server_refuses_every_name_that_it_may_get() {
    for (made, refused, expected) in [
        (1, "2", Err(ErrorKind::Permission)),
        (2, "2", Err(ErrorKind::Permission)),
        // What is there is another user's; another name is free.
        (2, "2/", Ok(())),
    ] {
        let (memory, looks) = (Store::memory(&Context::with_threads(1)), AtomicUsize::new(0));
        let all = Checkpoints::new(&memory, "restart").unwrap();
        (1..=made).for_each(|n| make(&all, &n.to_string(), n).unwrap());
        let below = format!("restart/{refused}");
        let refusing = told(memory.shared().clone(), move |next| match next {
            Next::Opened(key) if key.starts_with(&below) => match looks.fetch_add(1, Ordering::Relaxed) {
                0..1000 => Err(err!(Permission, "refused")),
                _ => Err(err!(Internal, "there is no end")),
            },
            _ => Ok(()),
        });
        let begun = Checkpoints::new(&on(refusing), "restart").unwrap().begin("2");
        assert_eq!(begun.map(drop).map_err(|e| e.kind()), expected, "{made} {refused}");
    }
}

#[test]
fn errors_in_a_checkpoint_that_was_begun_name_the_file() {
    let (root, store) = in_folder(SyncMode::None);
    let all = Checkpoints::new(&store, "restart").unwrap();
    let group = all.begin("s4").unwrap();
    fill(&group, 1).unwrap();
    let array = group.open_array("u").unwrap();
    let write = || write_box(&array, &[0], &[4], 2);
    let set = || group.attributes().set_json("step", "2");
    let calls: [(&dyn Fn() -> Result<()>, &str); 2] = [(&write, "restart/s4/u/c/0"), (&set, "restart/s4/zarr.json.begun")];
    for (call, file) in calls {
        let e = fault::failing(Call::Write, 0, libc::ENOSPC, call).unwrap_err();
        assert!(e.key() == Some(file) && root.join(file).is_file() && e.message().contains(root.to_str().unwrap()), "{e}");
    }
}
