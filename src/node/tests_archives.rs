//! Nodes in zip archives.

use super::tests::{faults, kind, memory, read_all, spec, write_all};
use super::tests_growth::Folder;
use super::tests_series::{dataset, define, run};
use super::*;
use crate::error::ErrorKind;

fn open(location: &str, mode: Mode) -> Store {
    Store::open(&Context::with_threads(1), location, mode, &[("file.sync", "none")]).unwrap()
}

/// Packs all of a store into a new archive below that folder, and gives the archive's location.
fn packed(to: &Folder, from: &Store, below: &str) -> String {
    std::fs::create_dir_all(&to.0).unwrap();
    let location = format!("{}/x.zip", to.0.display());
    let archive = open(&location, Mode::ReadWrite);
    for key in from.key_list("").unwrap() {
        archive.key_put(&format!("{below}/{key}"), &from.key_get(&key).unwrap().unwrap()).unwrap();
    }
    location
}

#[test]
fn in_an_archive_of_one_folder_each_node_has_one_path_whatever_the_folder_is_called() {
    let folder = Folder::new("archive-folder");
    let from = memory();
    Group::create(&from, "", None, Create::New).unwrap();
    for (path, values) in [("t", [1, 2, 3, 4]), ("data/t", [0, 0, 7, 8])] {
        write_all(&Array::create(&from, path, &spec(&[4], &[2]), Create::New).unwrap(), &mut values.clone());
    }
    let location = packed(&folder, &from, "data");
    let at = |path: &str| Store::locate(&Context::with_threads(1), &format!("{location}/{path}"), Mode::ReadWrite).unwrap();
    let array = |path: &str| {
        let (store, path) = at(path);
        Array::open(&store, &path).unwrap()
    };
    // What is not stored of one node is not taken from the other, and not put there.
    assert_eq!(read_all(&array("data/t")), [0, 0, 7, 8]);
    write_all(&array("data/t"), &mut [5, 6, 7, 8]);
    assert_eq!(read_all(&array("data/t")), [5, 6, 7, 8]);
    assert_eq!(read_all(&array("t")), [1, 2, 3, 4]);
    for (path, below) in [("data/data/t", "data/data/t"), ("data/u", "data/u"), ("data", "data"), ("u", "u"), ("", "")] {
        assert_eq!(at(path).1, below, "{path}");
    }
    let (store, path) = at("data/data/t");
    assert_eq!(kind(Array::open(&store, &path)), ErrorKind::NotFound);
}

#[test]
fn the_location_of_a_node_in_an_archive_may_name_the_folder_that_is_the_root() {
    let folder = Folder::new("archive-whole");
    let from = memory();
    write_all(&Array::create(&from, "g/t", &spec(&[2], &[2]), Create::New).unwrap(), &mut [1, 2]);
    let location = packed(&folder, &from, "run.zarr");
    for path in ["run.zarr/g/t", "g/t"] {
        let (store, path) = Store::locate(&Context::with_threads(1), &format!("{location}/{path}"), Mode::Read).unwrap();
        assert_eq!((path.as_str(), read_all(&Array::open(&store, &path).unwrap())), ("g/t", vec![1, 2]));
    }
}

/// Changes a byte of a value that is stored as it is.
fn damage(location: &str, value: i32) {
    let mut bytes = std::fs::read(location).unwrap();
    let at = bytes.windows(4).position(|w| w == value.to_le_bytes()).unwrap();
    bytes[at] ^= 1;
    std::fs::write(location, bytes).unwrap();
}

#[test]
fn a_damaged_entry_of_an_archive_is_not_copied_however_large_it_is() {
    let folder = Folder::new("archive-damage");
    std::fs::create_dir_all(&folder.0).unwrap();
    // A piece of a copy has 8 MiB.
    for elements in [1 << 10, (9 << 20) / 4] {
        let location = format!("{}/{elements}.zip", folder.0.display());
        let store = open(&location, Mode::ReadWrite);
        let mut values = vec![1; elements as usize];
        *values.last_mut().unwrap() = 0x1234_5678;
        write_all(&Array::create(&store, "a", &spec(&[elements], &[elements]), Create::New).unwrap(), &mut values);
        drop(store);
        damage(&location, 0x1234_5678);
        let damaged = open(&location, Mode::Read);
        for verify in [false, true] {
            let e = damaged.copy_node("a", (&memory(), "a"), Create::New, verify, &mut |_, _| Ok(())).unwrap_err();
            assert_eq!((e.kind(), e.key()), (ErrorKind::Checksum, Some("a/c/0")), "{elements} elements: {e}");
        }
    }
}

#[test]
fn verifying_finds_a_damaged_shard_in_an_archive_whose_parts_have_no_checksums() {
    let folder = Folder::new("archive-shard");
    std::fs::create_dir_all(&folder.0).unwrap();
    let location = format!("{}/x.zip", folder.0.display());
    let store = open(&location, Mode::ReadWrite);
    let mut sharded = spec(&[4], &[4]);
    sharded.set_inner_chunks(&[2]).unwrap();
    write_all(&Array::create(&store, "a", &sharded, Create::New).unwrap(), &mut [1, 2, 3, 0x1234_5678]);
    drop(store);
    damage(&location, 0x1234_5678);
    let found = faults(&open(&location, Mode::Read), VerifyOptions::default());
    assert!(found.len() == 1 && found[0].key == "a/c/0" && found[0].message.contains("CRC-32"), "{found:?}");
}

#[test]
fn copies_leave_behind_what_only_folders_and_archives_have_beside_the_nodes() {
    let folder = Folder::new("archive-beside");
    std::fs::create_dir_all(&folder.0).unwrap();
    let at = |name: &str| format!("{}/{name}", folder.0.display());
    let from = open(&at("run.zarr"), Mode::ReadWrite);
    write_all(&Array::create(&from, "a", &spec(&[2], &[2]), Create::New).unwrap(), &mut [1, 2]);
    let checkpoints = Checkpoints::new(&from, "steps").unwrap();
    checkpoints.begin("1").unwrap().commit().unwrap();
    let nodes = from.key_list("").unwrap();
    for key in [".DS_Store", "a/._zarr.json", "a/c/.DS_Store"] {
        from.key_put(key, b"mac").unwrap();
    }
    let archive = open(&at("x.zip"), Mode::ReadWrite);
    from.copy_node("", (&archive, ""), Create::New, true, &mut |_, _| Ok(())).unwrap();
    assert_eq!(archive.key_list("").unwrap(), nodes, "macOS's files are ignored in archives");
    let copied = open(&at("copy.zarr"), Mode::ReadWrite);
    from.copy_node("", (&copied, ""), Create::New, true, &mut |_, _| Ok(())).unwrap();
    assert_eq!(copied.key_list("").unwrap(), from.key_list("").unwrap());
    // Nothing is erased in an archive: a checkpoint's document from before it was committed stays there, and nowhere else.
    Checkpoints::new(&archive, "steps").unwrap().begin("2").unwrap().commit().unwrap();
    assert!(archive.key_list("steps/2/").unwrap().contains(&"steps/2/zarr.json.begun".to_string()));
    let back = open(&at("back.zarr"), Mode::ReadWrite);
    archive.copy_node("", (&back, ""), Create::New, true, &mut |_, _| Ok(())).unwrap();
    let mut nodes = archive.key_list("").unwrap();
    nodes.retain(|key| !key.ends_with(".begun"));
    assert_eq!(back.key_list("").unwrap(), nodes);
}

#[test]
fn who_reads_an_archive_sees_by_refreshing_and_waiting_what_another_writer_flushed() {
    let folder = Folder::new("archive-growth");
    std::fs::create_dir_all(&folder.0).unwrap();
    let location = format!("{}/x.zip", folder.0.display());
    drop(Array::create(&open(&location, Mode::ReadWrite), "a", &spec(&[1], &[2]), Create::New).unwrap());
    let reader = Array::open(&open(&location, Mode::Read), "a").unwrap();
    let store = open(&location, Mode::ReadWrite);
    let array = Array::open(&store, "a").unwrap();
    array.resize(&[2], false).unwrap();
    array.attributes().set_i64("n", 1).unwrap();
    write_all(&array, &mut [5, 6]);
    reader.refresh().unwrap();
    assert_eq!(reader.shape().to_vec(), [1], "not before the flush");
    store.flush().unwrap();
    reader.refresh().unwrap();
    assert_eq!((reader.shape().to_vec(), read_all(&reader)), (vec![2], vec![5, 6]));
    assert!(reader.attributes().get("n").is_ok());
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| reader.wait_growth(0, 2, std::time::Duration::from_secs(60)));
        array.resize(&[3], false).unwrap();
        store.flush().unwrap();
        assert_eq!(waits.join().unwrap().unwrap(), 3);
    });
}

#[test]
fn what_was_exported_of_a_newer_moment_of_an_archive_has_the_chunks_of_that_moment() {
    let folder = Folder::new("archive-export");
    std::fs::create_dir_all(&folder.0).unwrap();
    let location = format!("{}/x.zip", folder.0.display());
    drop(Array::create(&open(&location, Mode::ReadWrite), "a", &spec(&[2], &[2]), Create::New).unwrap());
    let readers = [(); 3].map(|()| open(&location, Mode::Read));
    let arrays: Vec<_> = readers.iter().map(|store| Array::open(store, "a").unwrap()).collect();
    let store = open(&location, Mode::ReadWrite);
    let array = Array::open(&store, "a").unwrap();
    write_all(&array, &mut [1, 2]);
    store.flush().unwrap();
    arrays.iter().for_each(|array| assert_eq!(read_all(array), [1, 2]));
    write_all(&array, &mut [5, 6]);
    array.resize(&[4], false).unwrap();
    store.flush().unwrap();
    let grown = array.export().unwrap();
    write_all(&array, &mut [5, 6, 7, 8]);
    store.flush().unwrap();
    // The overwritten chunk, and the new one.
    Node::Array(arrays[0].clone()).refresh_from(&grown).unwrap();
    let Node::Array(imported) = Node::import(&readers[1], &grown).unwrap() else { panic!("a group") };
    for array in [&arrays[0], &imported] {
        assert_eq!(read_all(array), [5, 6, 7, 8]);
    }
    // Told before the flush, read after it.
    array.resize(&[6], false).unwrap();
    let Node::Array(early) = Node::import(&readers[2], &array.export().unwrap()).unwrap() else { panic!("a group") };
    write_all(&array, &mut [5, 6, 7, 8, 9, 10]);
    store.flush().unwrap();
    assert_eq!(read_all(&early)[4..], [9, 10]);
}

#[test]
fn an_archive_grows_with_what_is_put_into_it_however_often_arrays_are_closed_and_steps_published() {
    let folder = Folder::new("archive-size");
    std::fs::create_dir_all(&folder.0).unwrap();
    let closed = |store: &Store, count: u64| {
        for i in 0..count {
            let array = Array::create(store, &format!("a{i}"), &spec(&[4], &[4]), Create::New).unwrap();
            write_all(&array, &mut [1, 2, 3, i as i32]);
            array.close().unwrap();
        }
    };
    let published = |store: &Store, count: u64| {
        define(store, Format::V3);
        run(&mut Series::open(&dataset(store), "time", None, 1, 0).unwrap(), count).unwrap();
    };
    for (name, fill) in [("closed", &closed as &dyn Fn(&Store, u64)), ("published", &published)] {
        let grown = [250, 500].map(|count| {
            let location = format!("{}/{name}{count}.zip", folder.0.display());
            fill(&open(&location, Mode::ReadWrite), count);
            std::fs::metadata(&location).unwrap().len()
        });
        assert!(grown[1] < 3 * grown[0], "{name}: {grown:?}");
    }
}

#[test]
fn an_archive_opens_with_all_arrays_that_were_closed_before_the_program_was_killed() {
    let folder = Folder::new("archive-closed");
    std::fs::create_dir_all(&folder.0).unwrap();
    let [location, killed] = ["x", "killed"].map(|name| format!("{}/{name}.zip", folder.0.display()));
    let store = open(&location, Mode::ReadWrite);
    for i in 0..20 {
        let array = Array::create(&store, &format!("a{i}"), &spec(&[4], &[4]), Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, i]);
        array.close().unwrap();
        std::fs::copy(&location, &killed).unwrap();
        let left = open(&killed, Mode::Read);
        (0..=i).for_each(|i| assert_eq!(read_all(&Array::open(&left, &format!("a{i}")).unwrap()), [1, 2, 3, i]));
    }
}

/// As the header says of `ozarr_series_open`.
#[test]
fn steps_that_a_series_cuts_off_in_an_archive_show_where_a_resize_makes_it_longer() {
    let folder = Folder::new("archive-cut");
    std::fs::create_dir_all(&folder.0).unwrap();
    let store = open(&format!("{}/x.zip", folder.0.display()), Mode::ReadWrite);
    define(&store, Format::V3);
    let ds = dataset(&store);
    run(&mut Series::open(&ds, "time", None, 1, 0).unwrap(), 3).unwrap();
    drop(Series::open(&ds, "time", Some(1), 1, 0).unwrap());
    let time = || read_all(&Array::open(&store, "time").unwrap());
    assert_eq!(time(), [0]);
    ds.resize_dimension("time", 3).unwrap();
    assert_eq!(time(), [0, 1, 2]);
}
