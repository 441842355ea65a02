//! Copies, migrations, moves and cuts: what is as it was, what is refused, and what others find after an error.

use super::left_out::LeftOut;
use super::tests::{kind, memory, object, put, read_all, spec, spec_as, text, view, write_all};
use super::tests_growth::Folder;
use super::tests_store::{Next, Told, on, told};
use super::transfer::nodes_to_copy;
use super::*;
use crate::dtype::{DataType, Overflow};
use crate::engine::Selection;
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::metadata::json;
use crate::platform::libc;
use crate::store::SharedStore;
use crate::store::fault;
use crate::store::memory::MemoryStore;
use crate::store::os::Call;
use crate::store::registered::{Answer, AnswerDone, ByteRange, Calls, Can};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn copy(from: &Store, path: &str, to: (&Store, &str), options: RechunkOptions) -> Result<RechunkReport> {
    from.rechunk_node(path, to, options, &mut |_, _| Ok(()), &mut |_, _| Ok(()))
}

#[test]
fn a_node_that_could_not_be_moved_stays_in_consolidated_metadata() {
    let folder = Folder::new("unmoved");
    for (store, format) in [(&folder.1, Format::V3), (&memory(), Format::V3), (&memory(), Format::V2)] {
        let root = Group::create(store, "", Some(format), Create::New).unwrap();
        let array = spec_as(format, &[2], &[2]);
        Array::create(store, "g/x", &array, Create::New).unwrap();
        root.consolidate().unwrap();
        put(store, "g/y/README", "mine");
        put(store, "h/README", "mine");
        assert_eq!(kind(store.rename_node("g/x", "g/y")), ErrorKind::Exists);
        assert_eq!(kind(store.rename_node("g", "h")), ErrorKind::Exists);
        let root = Group::open(store, "").unwrap();
        assert_eq!(root.consolidated_differences().unwrap(), Some(vec![]), "{format:?}");
        assert!(root.open_array("g/x").is_ok(), "{format:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_to_a_group_above_what_is_copied_are_left_out() {
    for format in [Format::V2, Format::V3] {
        let folder = Folder::new("links-above");
        let store = &folder.1;
        let path = |name: &str| format!("deep/run/{name}");
        for name in ["g/x", "other/y"] {
            let array = Array::create(store, &path(name), &spec_as(format, &[2], &[2]), Create::New).unwrap();
            write_all(&array, &mut [3, 4]);
        }
        for (link, to) in [("g/up", ".."), ("g/top", "../../..")] {
            std::os::unix::fs::symlink(to, folder.0.join(path(link))).unwrap();
        }
        let told = ["top", "up"].map(|link| format!("deep/run/g/{link}: left out, for a link leads from there back to a group above"));
        let nodes = |group: &str| {
            let all = Group::open(store, group).unwrap().nodes(usize::MAX).unwrap();
            all.into_iter().map(|child| child.name).collect::<Vec<_>>()
        };
        assert_eq!(copy(store, "deep/run/g", (store, "copied"), RechunkOptions::default()).unwrap().notes, told, "{format:?}");
        assert_eq!(nodes("copied"), ["x"], "{format:?}");
        let report = store.migrate("deep/run/g", None, true, &mut |_, _| Ok(())).unwrap();
        let other = Array::open(store, "deep/run/other/y").unwrap();
        assert_eq!((report.nodes, other.format()), (if format == Format::V2 { 2 } else { 0 }, format), "{format:?}");
        assert_eq!((Group::open(store, "deep/run").unwrap().format(), read_all(&other)), (format, vec![3, 4]), "{format:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_back_to_a_group_above_are_left_out_of_copies() {
    for format in [Format::V2, Format::V3] {
        let folder = Folder::new("links-back");
        let store = &folder.1;
        Group::create(store, "run", Some(format), Create::New).unwrap();
        let array = Array::create(store, "run/g/x", &spec_as(format, &[2], &[2]), Create::New).unwrap();
        write_all(&array, &mut [3, 4]);
        for (link, to) in [("run/top", "."), ("run/g/up", ".."), ("run/other", "g")] {
            std::os::unix::fs::symlink(to, folder.0.join(link)).unwrap();
        }
        let nodes = |group: &str| {
            let all = Group::open(store, group).unwrap().nodes(usize::MAX).unwrap();
            all.into_iter().map(|child| child.name).collect::<Vec<_>>()
        };
        let kept = ["g", "g/x", "other", "other/x"];
        let told = ["run/g/up", "run/other/up", "run/top"]
            .map(|node| format!("{node}: left out, for a link leads from there back to a group above"));
        store.copy_node("run", (store, "keys"), Create::New, true, &mut |_, _| Ok(())).unwrap();
        assert_eq!(nodes("keys"), kept, "{format:?}");
        assert_eq!(copy(store, "run", (store, "copied"), RechunkOptions::default()).unwrap().notes, told, "{format:?}");
        assert_eq!(nodes("copied"), kept, "{format:?}");
        assert_eq!(store.migrate("run", Some((store, "migrated")), true, &mut |_, _| Ok(())).unwrap().notes, told, "{format:?}");
        assert_eq!(nodes("migrated"), kept, "{format:?}");
        // In place they are there as before.
        std::fs::remove_file(folder.0.join("run/other")).unwrap();
        let before = nodes("run");
        assert_eq!(store.migrate("run", None, true, &mut |_, _| Ok(())).unwrap().notes, [""; 0], "{format:?}");
        assert_eq!((nodes("run"), Group::open(store, "run/top").unwrap().format()), (before, Format::V3), "{format:?}");
        for path in ["run/top/g/x", "keys/other/x", "copied/other/x", "migrated/other/x"] {
            assert_eq!(read_all(&Array::open(store, path).unwrap()), [3, 4], "{path} {format:?}");
        }
    }
}

#[cfg(unix)]
#[test]
fn copies_refuse_links_to_nothing_and_in_a_circle_where_chunks_are() {
    let is_circle = |to: &str| to != "nothing";
    let v3: &[(&str, &str)] = &[("c/1", "nothing"), ("c/1", "1"), ("c", "nothing"), ("c", "c")];
    let v2: &[(&str, &str)] = &[("1", "nothing"), ("1", "1")];
    for (format, key, to) in [(Format::V3, v3), (Format::V2, v2)].iter().flat_map(|(f, rows)| rows.iter().map(|(k, t)| (*f, *k, *t))) {
        let folder = Folder::new("dead-links");
        let store = &folder.1;
        let array = Array::create(store, "g/x", &spec_as(format, &[6], &[2]), Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4, 5, 6]);
        let place = folder.0.join("g/x").join(key);
        if place.is_dir() { std::fs::remove_dir_all(&place) } else { std::fs::remove_file(&place) }.unwrap();
        std::os::unix::fs::symlink(to, &place).unwrap();
        if !is_circle(to) {
            let values = read_all(&array);
            assert_eq!(values, if key == "c" { [0; 6] } else { [1, 2, 0, 0, 5, 6] }, "it reads as before {key}");
        }
        let change = |what: &str, spec: &mut Spec| match what {
            "elements" => spec.set_data_type(DataType::Int64),
            "all elements" => spec.set_fill(DataType::Int32, &9_i32.to_ne_bytes()),
            _ => Ok(()),
        };
        for what in ["keys", "chunks", "elements", "all elements", "migration"] {
            let mut progress = |_: u64, _: u64| Ok(());
            let copied = match what {
                "keys" => store.copy_node("g", (store, what), Create::New, true, &mut progress),
                "migration" if format == Format::V3 => continue,
                "migration" => store.migrate("g", Some((store, what)), true, &mut progress).map(drop),
                _ => store
                    .rechunk_node("g", (store, what), RechunkOptions::default(), &mut |_, spec| change(what, spec), &mut progress)
                    .map(drop),
            };
            let e = copied.err().unwrap_or_else(|| panic!("{what} of {key} to {to} {format:?}: no error"));
            assert_eq!((e.kind(), e.key()), (ErrorKind::Io, Some(&*format!("g/x/{key}"))), "{what} {to} {format:?}: {e}");
            assert!(is_circle(to) || e.to_string().contains("a link to nothing"), "{what}: {e}");
            assert!(Group::open(store, what).is_err(), "{what} of {key} to {to}");
        }
        // In place the link stays, and what it leads to is a chunk as soon as it is there.
        if format == Format::V2 && !is_circle(to) {
            store.migrate("g", None, true, &mut |_, _| Ok(())).unwrap();
            std::fs::copy(folder.0.join("g/x/0"), folder.0.join("g/x/nothing")).unwrap();
            assert_eq!(read_all(&Array::open(store, "g/x").unwrap()), [1, 2, 1, 2, 5, 6]);
        }
    }
}

/// What is in a folder and below it: links by what they lead to, files by their bytes.
#[cfg(unix)]
fn entries(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut all = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let (path, kind) = (entry.path(), entry.file_type().unwrap());
        if kind.is_dir() {
            all.extend(entries(&path));
        }
        let link = || std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
        let held = if kind.is_symlink() {
            link()
        } else {
            Some(&path).filter(|_| kind.is_file()).map_or(Vec::new(), |file| std::fs::read(file).unwrap())
        };
        all.insert(path, held);
    }
    all
}

#[cfg(unix)]
#[test]
fn copies_and_migrations_refuse_links_to_nothing_and_what_is_no_file_where_documents_are() {
    let v3 = ["g/s/zarr.json", "g/s/x/zarr.json", "g/s/t/zarr.json"].map(|key| (Format::V3, key));
    let v2 = [".zattrs", "s/.zattrs", "s/x/.zattrs", "s/.zgroup", "s/x/.zarray", "s/t/.zgroup", ".zmetadata"];
    let rows = v3.into_iter().map(|(format, key)| (format, key.to_string())).chain(v2.map(|key| (Format::V2, format!("g/{key}"))));
    let kinds = ["a link to nothing", "a link in a circle", "a pipe", "a folder"];
    for ((format, key), found) in rows.flat_map(|row| kinds.map(|found| (row.clone(), found))) {
        let folder = Folder::new("dead-documents");
        let store = &folder.1;
        let array = Array::create(store, "g/s/x", &spec_as(format, &[4], &[2]), Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4]);
        array.attributes().set_i64("of", 1).unwrap();
        for group in ["g", "g/s"] {
            Group::open(store, group).unwrap().attributes().set_i64("of", 1).unwrap();
        }
        Group::create(store, "g/s/t", Some(format), Create::New).unwrap();
        write_all(&Array::create(store, "over/x", &spec_as(format, &[2], &[2]), Create::New).unwrap(), &mut [5, 6]);
        if key.ends_with(".zmetadata") {
            Group::open(store, "g").unwrap().consolidate().unwrap();
        }
        let place = folder.0.join(&key);
        let kept = std::fs::read(&place).unwrap();
        std::fs::remove_file(&place).unwrap();
        match found {
            "a folder" => std::fs::create_dir(&place).unwrap(),
            "a pipe" => assert!(std::process::Command::new("mkfifo").arg(&place).status().unwrap().success()),
            "a link in a circle" => std::os::unix::fs::symlink(place.file_name().unwrap(), &place).unwrap(),
            _ => std::os::unix::fs::symlink("nothing", &place).unwrap(),
        }
        let before = entries(&folder.0);
        let migrate = |to| store.migrate("g", to, true, &mut |_, _| Ok(())).map(drop);
        let other = if format == Format::V2 { Format::V3 } else { Format::V2 };
        let options = RechunkOptions { format: Some(other), ..RechunkOptions::default() };
        let over = RechunkOptions { how: Create::Overwrite, ..RechunkOptions::default() };
        let refused = [
            ("keys", store.copy_node("g", (store, "copy"), Create::New, true, &mut |_, _| Ok(()))),
            ("keys over", store.copy_node("g", (store, "over"), Create::Overwrite, true, &mut |_, _| Ok(()))),
            ("elements", copy(store, "g", (store, "copy"), RechunkOptions::default()).map(drop)),
            ("elements over", copy(store, "g", (store, "over"), over).map(drop)),
            ("another format", copy(store, "g", (store, "copy"), options).map(drop)),
            ("migration", migrate(Some((store, "copy")))),
            ("migration in place", migrate(None)),
        ];
        for (what, refused) in refused {
            let e = refused.err().unwrap_or_else(|| panic!("{what} of {key}, {found}: no error"));
            assert_eq!((e.kind(), e.key()), (ErrorKind::Io, Some(&*key)), "{what}: {e}");
            assert!(found != kinds[0] || e.to_string().contains(found), "{what}: {e}");
        }
        let after = entries(&folder.0);
        let changed = || after.keys().chain(before.keys()).filter(|path| after.get(*path) != before.get(*path)).collect::<Vec<_>>();
        assert!(after == before, "{key}, {found}: {:?}", changed());
        // As soon as it is fetched all is copied.
        std::fs::write(folder.0.join("fetched"), &kept).unwrap();
        if found == "a folder" { std::fs::remove_dir(&place) } else { std::fs::remove_file(&place) }.unwrap();
        std::os::unix::fs::symlink(folder.0.join("fetched"), &place).unwrap();
        copy(store, "g", (store, "copy"), RechunkOptions::default()).unwrap();
        assert_eq!(read_all(&Array::open(store, "copy/s/x").unwrap()), [1, 2, 3, 4], "{key}");
        for node in ["copy", "copy/s", "copy/s/x"] {
            assert_eq!(Node::open(store, node).unwrap().attributes().all().unwrap().len(), 1, "{key} {node}");
        }
    }
}

#[cfg(unix)]
#[test]
fn the_first_of_several_links_to_nothing_where_documents_are_is_named_and_all_are_counted() {
    let folder = Folder::new("dead-counted");
    let store = &folder.1;
    for node in ["g/x", "g/y", "g/z"] {
        Array::create(store, node, &spec_as(Format::V3, &[4], &[2]), Create::New).unwrap();
        std::fs::remove_file(folder.0.join(node).join("zarr.json")).unwrap();
        std::os::unix::fs::symlink("nothing", folder.0.join(node).join("zarr.json")).unwrap();
    }
    let copied = [
        store.copy_node("g", (store, "copy"), Create::New, true, &mut |_, _| Ok(())),
        copy(store, "g", (store, "copy"), RechunkOptions::default()).map(drop),
    ];
    for e in copied.map(|copied| copied.unwrap_err()) {
        assert_eq!(e.key(), Some("g/x/zarr.json"), "{e}");
        assert!(e.to_string().contains("found 3 links to nothing, of which this is the first, expected documents: fetch"), "{e}");
    }
}

#[cfg(unix)]
#[test]
fn copies_of_keys_are_refused_for_a_taken_place_ahead_of_links_to_nothing_which_are_found_in_any_folder() {
    let folder = Folder::new("dead-deep");
    let store = &folder.1;
    for node in ["g/x", "taken"] {
        Array::create(store, node, &spec_as(Format::V3, &[4], &[2]), Create::New).unwrap();
    }
    std::fs::create_dir_all(folder.0.join("g/i/j/k")).unwrap();
    std::os::unix::fs::symlink("nothing", folder.0.join("g/i/j/k/zarr.json")).unwrap();
    for (to, how, refused) in
        [("copy", Create::New, ErrorKind::Io), ("taken", Create::Overwrite, ErrorKind::Io), ("taken", Create::New, ErrorKind::Exists)]
    {
        let e = store.copy_node("g", (store, to), how, true, &mut |_, _| Ok(())).unwrap_err();
        assert_eq!(e.kind(), refused, "{to}: {e}");
    }
}

#[cfg(unix)]
#[test]
fn links_to_nothing_beside_nodes_are_told_and_those_beside_documents_of_version_3_are_no_documents() {
    let folder = Folder::new("dead-beside");
    let store = &folder.1;
    write_all(&Array::create(store, "g/x", &spec_as(Format::V3, &[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    for link in ["g/y", "g/z", "g/.zattrs", "g/x/.zattrs"] {
        std::os::unix::fs::symlink("nothing", folder.0.join(link)).unwrap();
    }
    let told = ["left out: 2 links to nothing in the folders of groups, the first is g/y"];
    assert_eq!(copy(store, "g", (store, "copy"), RechunkOptions::default()).unwrap().notes, told);
    assert_eq!(store.migrate("g", Some((store, "migrated")), true, &mut |_, _| Ok(())).unwrap().notes, told);
    store.copy_node("g", (store, "keys"), Create::New, true, &mut |_, _| Ok(())).unwrap();
    for node in ["copy/x", "migrated/x", "keys/x"] {
        assert_eq!(read_all(&Array::open(store, node).unwrap()), [1, 2, 3, 4], "{node}");
    }
}

/// A folder of version 2 may have very many chunks beside the documents.
#[test]
fn a_folder_of_version_2_is_listed_once_to_find_what_is_copied() {
    let folder = Folder::new("listed-once");
    write_all(&Array::create(&folder.1, "g/x", &spec_as(Format::V2, &[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    let lists = Arc::new(AtomicUsize::new(0));
    let counts = lists.clone();
    let store = on(told(folder.1.shared().clone(), move |next| {
        counts.fetch_add(usize::from(matches!(next, Next::List)), Ordering::Relaxed);
        Ok(())
    }));
    let found = nodes_to_copy(&store, "g", Some(&mut LeftOut::default())).unwrap();
    assert_eq!((found.nodes, lists.load(Ordering::Relaxed)), (vec!["g".to_string(), "g/x".to_string()], 2));
}

/// Between two steps, and while the chunk of one is stored.
#[test]
fn an_appender_whose_array_is_renamed_is_told_and_makes_none_in_its_place() {
    for (in_flight, by_this_process) in [(false, false), (true, false), (false, true), (true, true)] {
        let folder = Folder::new("renamed-under");
        let new = || Store::from_shared(&Context::with_threads(1), folder.1.shared().clone(), Mode::ReadWrite);
        Array::create(&folder.1, "run/u", &spec(&[0], &[2]), Create::New).unwrap();
        let (due, other, root) = (Arc::new(AtomicBool::new(false)), new(), folder.0.to_path_buf());
        let is_due = due.clone();
        let rename = move || match by_this_process {
            true => other.rename_node("run", "old").unwrap(),
            false => std::fs::rename(root.join("run"), root.join("old")).unwrap(),
        };
        let renames = rename.clone();
        let tell = move |next: Next<'_>| {
            if matches!(next, Next::Change(key) if key.contains("/c/")) && is_due.swap(false, Ordering::Relaxed) {
                renames();
            }
            Ok(())
        };
        let told = Arc::new(Told { inner: folder.1.shared().clone(), tell, name: None });
        let store = Store::from_shared(&Context::with_threads(1), told, Mode::ReadWrite);
        let mut appender = Appender::open(&Array::open(&store, "run/u").unwrap(), 0, 1, 0).unwrap();
        // SAFETY: the memory lives as long as the call.
        let mut append = |mut values: [i32; 2]| unsafe { appender.append(2, &view(&mut values, &[2])) };
        append([1, 2]).unwrap();
        due.store(in_flight, Ordering::Relaxed);
        if !in_flight {
            rename();
        }
        let told = if by_this_process { ErrorKind::State } else { ErrorKind::NotFound };
        assert_eq!(kind(append([3, 4])), told, "{in_flight}");
        assert_eq!(kind(append([3, 4])), told, "{in_flight}");
        drop((appender, store));
        assert_eq!(read_all(&Array::open(&new(), "old/u").unwrap()), [1, 2], "{in_flight}");
        let keys = folder.1.key_list("").unwrap();
        assert!(!keys.iter().any(|key| key.starts_with("run/") && key.ends_with("zarr.json")), "{keys:?}");
        assert_eq!(folder.0.join("run").exists(), in_flight, "{keys:?}");
    }
}

/// The call that fails is each one in turn, and so are all that follow.
#[test]
fn what_could_not_be_replaced_or_moved_in_a_folder_stays_in_consolidated_metadata() {
    for (call, moves) in [Call::Rename, Call::RenameNew].into_iter().flat_map(|call| [(call, false), (call, true)]) {
        for after in 0.. {
            let folder = Folder::new("unreplaced");
            let anew = || Store::from_shared(&Context::with_threads(1), folder.1.shared().clone(), Mode::ReadWrite);
            let root = Group::create(&folder.1, "", None, Create::New).unwrap();
            write_all(&Array::create(&folder.1, "a", &spec(&[2], &[2]), Create::New).unwrap(), &mut [1, 2]);
            root.consolidate().unwrap();
            let hit = fault::Fault { call, after, times: 1, effect: fault::Effect::Fail(libc::EIO) };
            let store = anew();
            let change = || match moves {
                true => store.rename_node("a", "b"),
                false => Array::create(&store, "a", &spec(&[3], &[3]), Create::Overwrite).map(drop),
            };
            let (done, _) = fault::with(&[hit], change);
            // What is there and could not be told of is told now.
            store.close(None).unwrap();
            let listed = Group::open(&anew(), "").unwrap().consolidated_differences().unwrap();
            assert_eq!(listed, Some(vec![]), "{call:?} after {after}, moves: {moves}: {done:?}");
            if done.is_ok() {
                break;
            }
        }
    }
}

/// The functions that stores of this file do not have.
macro_rules! cannot {
    () => {
        fn get_ranges(&self, _: &str, _: &[ByteRange]) -> Result<Option<Answer>> {
            bail!(Internal, "not among those it can")
        }
        fn start(&self, _: &str, _: &[ByteRange], done: AnswerDone) {
            done(Ok(None));
        }
        fn put_if(&self, _: &str, _: &[u8], _: Option<&[u8]>) -> Result<()> {
            bail!(Internal, "not among those it can")
        }
        fn erase_prefix(&self, _: &str) -> Result<()> {
            bail!(Internal, "not among those it can")
        }
        fn list_dir(&self, _: &str) -> Result<Vec<String>> {
            bail!(Internal, "not among those it can")
        }
    };
}

/// Keeps chunks under other keys than those of the chunks.
struct Behind(Store);

impl Behind {
    fn key(key: &str) -> String {
        format!("behind/{key}")
    }
}

impl Calls for Behind {
    cannot!();
    fn name(&self) -> &str {
        "behind"
    }
    fn can(&self) -> Can {
        Can { put: true, erase: true, list: true, any_thread: true, ..Can::default() }
    }
    fn get(&self, key: &str) -> Result<Option<Answer>> {
        Ok(self.0.key_get(&Behind::key(key))?.map(|bytes| Answer { parts: vec![bytes], ..Answer::default() }))
    }
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.0.key_put(&Behind::key(key), bytes)
    }
    fn erase(&self, key: &str) -> Result<bool> {
        self.0.key_erase(&Behind::key(key))
    }
    fn list(&self, prefix: &str) -> Result<Vec<String>> {
        let keys = self.0.key_list(&Behind::key(prefix))?;
        Ok(keys.iter().filter_map(|key| key.strip_prefix("behind/").map(String::from)).collect())
    }
    fn flush(&self) -> Result<()> {
        self.0.key_put("flushed", b"")
    }
}

fn behind(_: &str, inner: Store) -> Result<Arc<dyn Calls>> {
    Ok(Arc::new(Behind(inner)))
}

#[test]
fn chunks_that_transformers_keep_elsewhere_are_migrated() {
    register_transformer("behind", Box::new(behind), true).unwrap();
    let from = memory();
    Group::create(&from, "", None, Create::New).unwrap();
    let mut transformed = spec(&[4], &[2]);
    transformed.set_member_json("storage_transformers", r#"[{"name":"behind"}]"#).unwrap();
    write_all(&Array::create(&from, "a", &transformed, Create::New).unwrap(), &mut [1, 2, 3, 4]);
    assert!(text(&from, "a/behind/c/0").is_some());
    let to = memory();
    from.migrate("", Some((&to, "")), false, &mut |_, _| Ok(())).unwrap();
    assert_eq!(read_all(&Array::open(&to, "a").unwrap()), [1, 2, 3, 4]);
    assert!(unregister_transformer("behind"));
    assert!(from.migrate("", Some((&memory(), "")), false, &mut |_, _| Ok(())).is_err());
}

/// Whatever is closed or flushed.
#[test]
fn stores_of_transformers_are_flushed_with_the_store() {
    register_transformer("flushed-behind", Box::new(behind), true).unwrap();
    let mut transformed = spec(&[4], &[2]);
    transformed.set_member_json("storage_transformers", r#"[{"name":"flushed-behind"}]"#).unwrap();
    type End = fn(&Store, &Array) -> Result<()>;
    let ends: [(&str, End); 5] = [
        ("array, close", |_, array| array.close()),
        ("array, flush", |_, array| array.flush()),
        ("store, flush", |store, _| store.flush_all()),
        ("store, close", |store, _| store.close(None)),
        ("group, flush", |store, _| Group::open(store, "")?.flush()),
    ];
    for (name, end) in ends {
        let store = memory();
        Group::create(&store, "", None, Create::New).unwrap();
        let array = Array::create(&store, "a", &transformed, Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4]);
        // The chunks are behind another state of the handle from here on.
        array.resize(&[6], false).unwrap();
        end(&store, &array).unwrap();
        assert!(text(&store, "a/flushed").is_some(), "{name}");
        // A handle for reading flushes nothing.
        store.key_erase("a/flushed").unwrap();
        let reader = Store::from_shared(&Context::default(), store.shared().clone(), Mode::Read);
        Array::open(&reader, "a").unwrap().close().unwrap();
        assert!(text(&store, "a/flushed").is_none(), "{name}");
    }
    assert!(unregister_transformer("flushed-behind"));
}

/// Keeps what is put until it is flushed.
struct Keeps(Store, Mutex<HashMap<String, Vec<u8>>>);

impl Calls for Keeps {
    cannot!();
    fn name(&self) -> &str {
        "keeps"
    }
    fn can(&self) -> Can {
        Can { put: true, erase: true, any_thread: true, ..Can::default() }
    }
    fn get(&self, key: &str) -> Result<Option<Answer>> {
        let kept = self.1.lock().unwrap().get(key).cloned();
        let found = kept.map_or_else(|| self.0.key_get(key), |bytes| Ok(Some(bytes)))?;
        Ok(found.map(|bytes| Answer { parts: vec![bytes], ..Answer::default() }))
    }
    fn put(&self, key: &str, bytes: &[u8]) -> Result<()> {
        self.1.lock().unwrap().insert(key.to_string(), bytes.to_vec());
        Ok(())
    }
    fn erase(&self, key: &str) -> Result<bool> {
        Ok(self.1.lock().unwrap().remove(key).is_some() | self.0.key_erase(key)?)
    }
    fn list(&self, _: &str) -> Result<Vec<String>> {
        bail!(Internal, "not among those it can")
    }
    fn flush(&self) -> Result<()> {
        self.1.lock().unwrap().drain().try_for_each(|(key, bytes)| self.0.key_put(&key, &bytes))
    }
}

fn keeps(_: &str, inner: Store) -> Result<Arc<dyn Calls>> {
    Ok(Arc::new(Keeps(inner, Mutex::default())))
}

#[test]
fn what_a_transformer_keeps_is_flushed_when_no_state_of_an_array_uses_it_any_more() {
    register_transformer("keeps", Box::new(keeps), true).unwrap();
    let mut transformed = spec(&[4], &[2]);
    transformed.set_member_json("storage_transformers", r#"[{"name":"keeps"}]"#).unwrap();
    type Change = fn(&Store, &Array) -> Result<()>;
    let changes: [(&str, Change); 5] = [
        ("a", |_, array| array.resize(&[6], false)),
        ("a", |_, array| array.resize(&[3], false).and_then(|()| array.resize(&[4], false))),
        ("a", |_, array| array.refresh().map(drop)),
        ("a", |store, _| Array::open(store, "a").map(drop)),
        ("b", |store, array| array.flush().and_then(|()| copy(store, "a", (store, "b"), RechunkOptions::default()).map(drop))),
    ];
    for (i, (path, change)) in changes.into_iter().enumerate() {
        let store = memory();
        let array = Array::create(&store, "a", &transformed, Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4]);
        assert!(text(&store, "a/c/0").is_none(), "{i}");
        change(&store, &array).unwrap();
        drop(array);
        store.flush_all().unwrap();
        assert!(text(&store, &format!("{path}/c/0")).is_some(), "{i}");
        let last = if i == 1 { 0 } else { 4 };
        assert_eq!(read_all(&Array::open(&store, path).unwrap())[..4], [1, 2, 3, last], "{i}");
    }
    // What cannot be stored then is told by the next flush.
    let (memory, full) = (Arc::new(MemoryStore::new()), Arc::new(AtomicBool::new(false)));
    let is_full = full.clone();
    let tell = move |next: Next<'_>| match next {
        Next::Change("a/c/0") if is_full.load(Ordering::Relaxed) => Err(err!(NoSpace, "full")),
        _ => Ok(()),
    };
    let store = Store::from_shared(&Context::default(), Arc::new(Told { inner: memory, tell, name: None }), Mode::ReadWrite);
    write_all(&Array::create(&store, "a", &transformed, Create::New).unwrap(), &mut [1, 2, 3, 4]);
    assert!(store.flush_all().is_ok());
    full.store(true, Ordering::Relaxed);
    write_all(&Array::open(&store, "a").unwrap(), &mut [5, 6, 7, 8]);
    assert_eq!((kind(store.flush_all()), store.flush_all().is_ok()), (ErrorKind::NoSpace, true));
    assert!(unregister_transformer("keeps"));
}

/// Steps of which several share a chunk, which the next one finds where the one before it was put.
#[test]
fn an_array_that_gets_longer_goes_on_with_what_its_transformer_keeps() {
    register_transformer("goes on", Box::new(keeps), true).unwrap();
    for refreshes in [false, true] {
        let store = memory();
        let mut transformed = spec(&[0], &[4]);
        transformed.set_member_json("storage_transformers", r#"[{"name":"goes on"}]"#).unwrap();
        let array = Array::create(&store, "a", &transformed, Create::New).unwrap();
        for value in 1..=6 {
            // SAFETY: the memory lives as long as the call.
            unsafe { array.append(0, 1, &view(&mut [value], &[1])) }.unwrap();
            if refreshes {
                array.refresh().unwrap();
            }
            assert_eq!(read_all(&array), (1..=value).collect::<Vec<_>>(), "{refreshes}");
        }
        array.close().unwrap();
        assert_eq!(read_all(&Array::open(&store, "a").unwrap()), [1, 2, 3, 4, 5, 6], "{refreshes}");
    }
    assert!(unregister_transformer("goes on"));
}

#[test]
fn what_requests_write_through_transformers_is_waited_for_by_its_store() {
    register_transformer("behind requests", Box::new(behind), true).unwrap();
    let mut transformed = spec(&[4], &[4]);
    transformed.set_member_json("storage_transformers", r#"[{"name":"behind requests"}]"#).unwrap();
    type Waits = fn(&Store) -> Result<()>;
    let cases: [(Waits, Option<[i32; 4]>); 3] = [
        (|store| store.close(None), Some([7; 4])),
        (|store| Array::create(store, "g/a", &spec(&[4], &[4]), Create::Overwrite).map(drop), Some([0; 4])),
        (|store| store.erase_node("g"), None),
    ];
    for (i, (waits, left)) in cases.into_iter().enumerate() {
        // Without threads that begin before they are waited for.
        let store = Store::memory(&Context::with_threads(1));
        Group::create(&store, "g", None, Create::New).unwrap();
        let array = Array::create(&store, "g/a", &transformed, Create::New).unwrap();
        let options = RequestOptions { copy: true, ..RequestOptions::default() };
        // SAFETY: the elements are copied.
        drop(unsafe { array.start_write(&Selection::all(&[4]), &view(&mut [7; 4], &[4]), options).unwrap() });
        waits(&store).unwrap();
        for _ in 0..2 {
            assert_eq!(text(&store, "g/a/behind/c/0").is_some(), i == 0, "{i}");
            // What nobody has waited for comes now.
            array.settle();
        }
        assert_eq!(Array::open(&store, "g/a").ok().map(|a| read_all(&a)), left.map(Vec::from), "{i}");
    }
    assert!(unregister_transformer("behind requests"));
}

#[test]
fn nczarrs_members_of_version_2_stay_with_a_copy_in_version_2() {
    let from = memory();
    put(&from, ".zgroup", r#"{"zarr_format":2,"_NCZARR_SUPERBLOCK":{"version":"2.0.0"},"_NCZARR_GROUP":{"dims":{"x":2}}}"#);
    put(&from, ".zattrs", r#"{"title":"t","_NCZARR_GROUP":{"dims":{"x":3}}}"#);
    let array = r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","fill_value":0,"compressor":null,"filters":null,"order":"C","_NCZARR_ARRAY":{"dimrefs":["/x"]}}"#;
    put(&from, "v/.zarray", array);
    let to = memory();
    copy(&from, "", (&to, ""), RechunkOptions::default()).unwrap();
    let (group, array) = (object(&to, ".zattrs"), object(&to, "v/.zattrs"));
    assert_eq!(group["_NCZARR_SUPERBLOCK"]["version"].as_str(), Some("2.0.0"));
    assert_eq!(json::to_compact(&group["_NCZARR_GROUP"]), r#"{"dims":{"x":3}}"#);
    assert_eq!(json::to_compact(&array["_NCZARR_ARRAY"]), r#"{"dimrefs":["/x"]}"#);
}

#[test]
fn dimensions_that_nczarr_alone_names_have_their_names_in_copies_and_what_is_missing_stays() {
    let plain = r#""zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i2","fill_value":null,"compressor":null,"filters":null,"order":"C""#;
    let keys = r#"{"dimrefs":["/g/x"],"storage":"chunked"}"#;
    let scalar = plain.replace("[2]", "[1]");
    let (document, fill) = (format!("{{{plain}}}"), r#"{"_FillValue":-9}"#);
    let nameless = format!(r#"{{{plain},"_NCZARR_ARRAY":{{"dimrefs":["/_zdim_2"]}}}}"#);
    for (documents, name, fill_value) in [
        (&[(".zarray", format!(r#"{{{plain},"_NCZARR_ARRAY":{keys}}}"#)), (".zattrs", fill.into())][..], Some("x"), "-9"),
        (&[(".zarray", format!(r#"{{{plain},"_nczarr_array":{keys}}}"#).replace("null,\"comp", "-9,\"comp"))], Some("x"), "-9"),
        (&[(".zarray", document.clone()), (".zattrs", format!(r#"{{"_nczarr_array":{keys},"_FillValue":-9}}"#))], Some("x"), "-9"),
        // Objects of the oldest generation are not asked for, so that damaged ones harm no copy.
        (&[(".zarray", document.clone()), (".nczarray", keys.into()), (".zattrs", fill.into())], None, "-9"),
        (&[(".zarray", document), (".nczarray", "{".into()), (".zattrs", fill.into())], None, "-9"),
        // What netCDF-C 4.9.0 makes of a variable without dimensions.
        (
            &[
                (".zarray", format!(r#"{{{scalar},"_NCZARR_ARRAY":{{"dimrefs":[],"storage":"scalar"}}}}"#)),
                (".zattrs", r#"{"_ARRAY_DIMENSIONS":[]}"#.into()),
            ],
            Some("_scalar_"),
            "",
        ),
        (&[(".zarray", nameless), (".zattrs", fill.into())], None, "-9"),
    ] {
        let from = memory();
        put(&from, ".zgroup", r#"{"zarr_format":2}"#);
        put(&from, ".nczarr", r#"{"nczarr_version":"2.0.0"}"#);
        documents.iter().for_each(|(key, text)| put(&from, &format!("v/{key}"), text));
        let names: Value = name.map_or(Value::Null, |name| Value::Array(vec![name.into()].into()));
        let said = |attributes: &Map| attributes.get("_FillValue").map(Value::to_string).unwrap_or_default();
        let (new, old, moved) = (memory(), memory(), memory());
        copy(&from, "", (&new, ""), RechunkOptions { format: Some(Format::V3), ..RechunkOptions::default() }).unwrap();
        copy(&from, "", (&old, ""), RechunkOptions::default()).unwrap();
        from.migrate("", Some((&moved, "")), true, &mut |_, _| Ok(())).unwrap();
        for to in [&new, &moved] {
            let v = object(to, "v/zarr.json");
            assert_eq!(v.get("dimension_names").cloned().unwrap_or_default(), names, "{documents:?}");
            assert_eq!(said(v["attributes"].as_object().unwrap()), fill_value, "{documents:?}");
        }
        let attributes = object(&old, "v/.zattrs");
        assert_eq!(attributes.get("_ARRAY_DIMENSIONS").cloned().unwrap_or_default(), names, "{documents:?}");
        let made = memory();
        let spec = Array::open(&from, "v").unwrap().spec(Some(Format::V3)).unwrap();
        let named = Array::create(&made, "v", &spec, Create::New).unwrap().dimension_names().unwrap();
        assert_eq!(named, [name.map(String::from)], "{documents:?}");
    }
}

#[test]
fn what_is_no_part_of_the_hierarchy_is_told_once_by_copies_that_leave_it_out() {
    let folder = Folder::new("left-out");
    let others = [
        "run/points/part.parquet/0.bin",
        "run/points/part.parquet/1.bin",
        "run/points/readme.md",
        "run/x/c/.aux",
        "run/x/pam.aux.xml",
        "run/x/thumbs/0/1.png",
        "run/x/thumbs/2.png",
        "run/zoo/deep/er.txt",
    ];
    for (i, (store, format)) in
        [(&folder.1, Format::V2), (&folder.1, Format::V3), (&memory(), Format::V2), (&memory(), Format::V3)].into_iter().enumerate()
    {
        let top = format!("all-{i}");
        let at = |key: &str| format!("{top}/{key}");
        Group::create(store, &at("run/points"), Some(format), Create::New).unwrap();
        let array = Array::create(store, &at("run/x"), &spec_as(format, &[4], &[2]), Create::New).unwrap();
        write_all(&array, &mut [1, 2, 3, 4]);
        // What the library has begun is nobody's data, nor is what it keeps for itself, what is empty, or of no use elsewhere.
        Group::open(store, &at("run")).unwrap().consolidate().unwrap();
        let begun = ["begun/zarr.json.begun", "begun/u/c/0", "begun/u/zarr.json", "of-v2/.zgroup.begun", "erased/ozarr-copy.json"];
        for own in begun.into_iter().chain(["ozarr-migration.json"]) {
            put(store, &at(&format!("run/{own}")), "{}");
        }
        ["run/.DS_Store", "run/x/.DS_Store", "run/x/c/._0"].into_iter().for_each(|key| put(store, &at(key), ""));
        // Nor are chunks beyond the shape.
        let outside = if format == Format::V2 { "run/x/7" } else { "run/x/c/7" };
        put(store, &at(outside), "{}");
        if store.shared().files().is_some() {
            ["run/empty/folder", "run/x/empty"].iter().for_each(|empty| std::fs::create_dir_all(folder.0.join(at(empty))).unwrap());
        }
        let notes = |to: &str| {
            let copied = copy(store, &at("run"), (store, &at(&format!("{to}-copy"))), RechunkOptions::default()).unwrap().notes;
            let to = at(&format!("{to}-migrated"));
            assert_eq!(store.migrate(&at("run"), Some((store, &to)), true, &mut |_, _| Ok(())).unwrap().notes, copied, "{format:?}");
            copied
        };
        assert_eq!(notes("whole"), [""; 0], "{format:?}");
        put(store, &at(others[0]), "data");
        let first = at("run/points/part.parquet/");
        let told = |what: &str, first: &str| {
            [format!("left out: what is no part of Zarr: {what}, the first is {first}; `ozarr cp` takes it along")]
        };
        assert_eq!(notes("one"), told("1 key or folder", &first), "{format:?}");
        others.iter().for_each(|key| put(store, &at(key), "data"));
        assert_eq!(notes("six"), told("6 keys and folders", &at("run/points/readme.md")), "{format:?}");
        // They stay where they are.
        store.key_erase(&at("run/ozarr-migration.json")).unwrap();
        assert_eq!(store.migrate(&at("run"), None, true, &mut |_, _| Ok(())).unwrap().notes, [""; 0], "{format:?}");
        assert!(others.iter().all(|key| text(store, &at(key)).is_some()), "{format:?}");
    }
}

#[test]
fn the_record_of_netcdf_is_a_text_in_version_2() {
    let from = memory();
    put(
        &from,
        "zarr.json",
        r#"{"zarr_format":3,"node_type":"group","attributes":{"_nc_model":{"version":1,"dimensions":{}},"own":{"a":1}}}"#,
    );
    let to = memory();
    copy(&from, "", (&to, ""), RechunkOptions { format: Some(Format::V2), ..RechunkOptions::default() }).unwrap();
    let attributes = object(&to, ".zattrs");
    assert_eq!(attributes["_nc_model"].as_str(), Some(r#"{"version":1,"dimensions":{}}"#));
    assert_eq!(json::to_compact(&attributes["own"]), r#"{"a":1}"#);
}

#[test]
fn a_copy_whose_fill_value_changes_has_it_beyond_its_edge_and_in_new_chunks() {
    for (length, whole) in [(5u64, false), (8, true)] {
        let from = memory();
        let mut named = spec(&[length], &[4]);
        named.set_dimension_names(vec![Some("x".into())]).unwrap();
        named.set_attributes_json(r#"{"_FillValue":-999}"#).unwrap();
        let mut values: Vec<i32> = (1..=length as i32).collect();
        write_all(&Array::create(&from, "a", &named, Create::New).unwrap(), &mut values);
        let to = memory();
        let report = copy(&from, "a", (&to, "a"), RechunkOptions { format: Some(Format::V2), ..RechunkOptions::default() }).unwrap();
        assert_eq!((report.copied > 0, report.encoded > 0), (whole, !whole), "{length}");
        let array = Array::open(&to, "a").unwrap();
        array.resize(&[12], false).unwrap();
        values.resize(12, -999);
        assert_eq!(read_all(&array), values, "{length}");
    }
}

#[test]
fn what_means_missing_no_more_in_a_copy_is_told_of() {
    let mut of_v2 = spec_as(Format::V2, &[3], &[2]);
    of_v2.set_dimension_names(vec![Some("x".into())]).unwrap();
    of_v2.set_fill_json("-999").unwrap();
    let mut of_v3 = spec(&[3], &[2]);
    of_v3.set_dimension_names(vec![Some("x".into())]).unwrap();
    of_v3.set_attributes_json(r#"{"_FillValue":-999}"#).unwrap();
    type Changes = fn(&mut Spec) -> Result<()>;
    let cases: [(&str, Changes, usize); 5] = [
        ("nothing", |_| Ok(()), 0),
        ("a type that has it", |spec| spec.set_data_type(DataType::Float64), 0),
        ("a type that has it not", |spec| spec.set_data_type(DataType::UInt8), 1),
        ("another fill value", |spec| spec.set_fill_json("0"), 1),
        ("the same fill value", |spec| spec.set_fill_json("-999"), 0),
    ];
    let ways = [&of_v2, &of_v3].into_iter().flat_map(|made| [None, Some(Format::V2), Some(Format::V3)].map(|format| (made, format)));
    for (made, format) in ways {
        let from = memory();
        let old = Array::create(&from, "a", made, Create::New).unwrap();
        write_all(&old, &mut [1, -999, 3]);
        for (name, change, told) in cases {
            let (to, options) = (memory(), RechunkOptions { format, overflow: Overflow::Wrap, ..RechunkOptions::default() });
            let report = from.rechunk_node("a", (&to, "a"), options, &mut |_, spec| change(spec), &mut |_, _| Ok(())).unwrap();
            // In version 3 the fill value means nothing, and a copy of another version keeps no other one.
            let is_of_v2 = old.format() == Format::V2 && format.unwrap_or(Format::V2) == Format::V2;
            let told = if !is_of_v2 && name.ends_with("fill value") { 0 } else { told };
            let about = report.notes.iter().filter(|note| note.contains("what was missing is not any more")).count();
            assert_eq!((about, report.notes.len()), (told, told), "{name} {format:?} {:?}: {:?}", old.format(), report.notes);
        }
    }
}

#[test]
fn members_of_other_programs_that_version_2_has_no_place_for_are_told() {
    let (from, to) = (memory(), memory());
    let members = r#""note":{"must_understand":false,"n":1},"_nczarr_x":{"must_understand":false}"#;
    put(&from, "zarr.json", &format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{{"a":1}},{members}}}"#));
    Array::create(&from, "x", &spec(&[2], &[2]), Create::New).unwrap();
    let document = text(&from, "x/zarr.json").unwrap();
    let transformers = r#""storage_transformers":[{"name":"other","must_understand":false}]"#;
    put(&from, "x/zarr.json", &format!("{},{transformers},{members}}}", document.trim_end().strip_suffix('}').unwrap()));
    for (format, told) in [(Format::V3, &[][..]), (Format::V2, &[("the root", "note"), ("x", "storage_transformers"), ("x", "note")])] {
        let options = RechunkOptions { format: Some(format), ..RechunkOptions::default() };
        let told: Vec<String> =
            told.iter().map(|(node, name)| format!("{node}: the member {name:?} is left out: it has no form in zarr_format 2")).collect();
        assert_eq!(copy(&from, "", (&to, &format!("{format:?}")), options).unwrap().notes, told, "{format:?}");
    }
    assert_eq!(object(&to, "V2/.zattrs")["a"].as_i64(), Some(1));
    assert!(["V2/.zattrs", "V2/x/.zattrs"].iter().all(|key| object(&to, key).contains_key("_nczarr_x")));
}

#[test]
fn the_number_0_as_the_fill_value_of_text_stays_in_version_2_and_is_told_as_it_was() {
    for (fill, note) in [("0", "the fill value 0 became \"\""), ("null", "the fill value null became \"\"")] {
        let document = format!(
            r#"{{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|O","compressor":null,"fill_value":{fill},"order":"C","filters":[{{"id":"vlen-utf8"}}]}}"#
        );
        let store = memory();
        put(&store, "a/.zarray", &document);
        let report = copy(&store, "a", (&store, "b"), RechunkOptions::default()).unwrap();
        let found = object(&store, "b/.zarray")["fill_value"].to_string();
        assert_eq!((found.as_str(), report.notes), (fill, Vec::<String>::new()));
        let report = copy(&store, "a", (&store, "c"), RechunkOptions { format: Some(Format::V3), ..RechunkOptions::default() }).unwrap();
        assert_eq!(report.notes, [format!("a: {note}")]);
        let to = memory();
        let migrated = store.migrate("a", Some((&to, "a")), true, &mut |_, _| Ok(())).unwrap();
        assert_eq!(
            (migrated.notes, object(&to, "a/zarr.json")["fill_value"].to_string()),
            (vec![format!("a: {note}")], "\"\"".to_string())
        );
    }
}

#[test]
fn the_fill_value_stays_in_version_2_where_no_dimension_has_a_name() {
    let from = memory();
    let mut unnamed = spec(&[2, 2], &[2, 2]);
    unnamed.set_dimension_names(vec![None, None]).unwrap();
    unnamed.set_fill_json("-1").unwrap();
    Array::create(&from, "a", &unnamed, Create::New).unwrap();
    let to = memory();
    let report = copy(&from, "a", (&to, "a"), RechunkOptions { format: Some(Format::V2), ..RechunkOptions::default() }).unwrap();
    assert_eq!((report.notes.len(), report.encoded), (0, 0), "{:?}", report.notes);
    assert_eq!(object(&to, "a/.zarray")["fill_value"].as_i64(), Some(-1));
}

/// One step gives a length, and whether what is outside is kept; then come the elements at the end.
#[test]
fn what_was_kept_outside_goes_with_the_next_cut_and_comes_back_before_it() {
    #[allow(clippy::type_complexity)]
    let cases: &[(&[(u64, bool)], fn(i32) -> bool)] = &[
        (&[(5, true), (3, false), (10, false)], |n| n <= 3),
        (&[(7, true), (5, true), (3, false), (10, false)], |n| n <= 3),
        (&[(5, true), (10, false)], |_| true),
        (&[(5, true), (7, false), (6, false), (10, false)], |n| n <= 6),
        (&[(5, true), (10, true), (8, false), (10, false)], |n| n <= 8),
        (&[(8, false), (5, true), (10, false)], |n| n <= 8),
    ];
    for (format, chunk) in [(Format::V3, 1), (Format::V2, 1), (Format::V3, 4)] {
        for (steps, stays) in cases {
            let store = memory();
            let spec = spec_as(format, &[10], &[chunk]);
            let array = Array::create(&store, "a", &spec, Create::New).unwrap();
            write_all(&array, &mut (1..=10).collect::<Vec<_>>());
            steps.iter().for_each(|&(length, keep)| array.resize(&[length], keep).unwrap());
            let expected: Vec<i32> = (1..=10).map(|n| if stays(n) { n } else { 0 }).collect();
            assert_eq!(read_all(&array), expected, "{format:?} in chunks of {chunk}: {steps:?}");
            assert_eq!(store.key_list("").unwrap().iter().filter(|key| key.ends_with("-resize.json")).count(), 0, "{steps:?}");
        }
    }
}

#[test]
fn what_a_killed_cut_left_goes_before_elements_are_kept() {
    let store = memory();
    let array = Array::create(&store, "a", &spec(&[20], &[1]), Create::New).unwrap();
    write_all(&array, &mut (1..=20).collect::<Vec<_>>());
    // As it was killed: the shorter shape is published, and nothing is erased yet.
    array.resize(&[10], true).unwrap();
    put(&store, "a/ozarr-resize.json", r#"{"shape":[20]}"#);
    let array = Array::open(&store, "a").unwrap();
    array.resize(&[5], true).unwrap();
    array.resize(&[20], false).unwrap();
    assert_eq!(read_all(&array), (1..=20).map(|n| if n <= 10 { n } else { 0 }).collect::<Vec<_>>());
}

#[test]
fn a_chunk_that_reaches_into_too_many_boxes_of_a_copy_is_an_error() {
    let store = memory();
    let shards = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{all}],"data_type":"uint8","fill_value":0,"chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{all}]}}}},"chunk_key_encoding":{{"name":"default"}},"codecs":[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{inner}],"codecs":[{{"name":"bytes"}}],"index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"crc32c"}}]}}}}]}}"#,
        all = 1u64 << 54,
        inner = 1u64 << 30
    );
    put(&store, "a/zarr.json", &shards);
    put(&store, "a/c/0", "");
    let mut change = |_: &str, spec: &mut Spec| {
        spec.unset_inner_chunks()?;
        spec.set_chunks(&[1_000_000])
    };
    let to = memory();
    // Boxes of the size that a machine with much memory is given may be few enough.
    let options = RechunkOptions { memory: 1 << 20, ..RechunkOptions::default() };
    let refused = store.rechunk_node("a", (&to, "a"), options, &mut change, &mut |_, _| Ok(())).unwrap_err();
    assert!(refused.kind() == ErrorKind::Limit && refused.to_string().contains("boxes of the copy"), "{refused}");
    assert_eq!(to.key_list("").unwrap().len(), 0);
}

/// Copies `old`, an array of version 2, while something happens behind its first chunk: as keys, as chunks, and in version 3.
#[test]
fn a_copy_of_an_array_that_another_program_changes_is_told_unless_the_array_only_grew() {
    fn array(store: &Store, format: Format, chunk: u64) {
        let wanted = spec_as(format, &[6], &[chunk]);
        write_all(&Array::create(store, "g/old", &wanted, Create::Overwrite).unwrap(), &mut [1, 2, 3, 4, 5, 6]);
    }
    type Event = (&'static str, bool, fn(&Store));
    let events: [Event; 10] = [
        ("nothing", true, |_| ()),
        ("longer", true, |store| Array::open(store, "g/old").unwrap().resize(&[9], false).unwrap()),
        ("attribute", true, |store| Array::open(store, "g/old").unwrap().attributes().set("a", 1.into()).unwrap()),
        ("shorter", false, |store| Array::open(store, "g/old").unwrap().resize(&[3], false).unwrap()),
        // Its chunks are not there in the source either.
        ("taken back", true, |store| {
            let array = Array::open(store, "g/old").unwrap();
            array.resize(&[2], false).and_then(|()| array.resize(&[8], false)).unwrap();
        }),
        ("begun again", false, |store| {
            let array = Array::open(store, "g/old").unwrap();
            match array.shape()[0] {
                2 => array.resize(&[6], false).map(|()| write_all(&array, &mut [1, 2, 13, 14, 15, 16])).unwrap(),
                _ => array.resize(&[2], false).unwrap(),
            }
        }),
        ("other chunks", false, |store| array(store, Format::V2, 3)),
        ("other version", false, |store| array(store, Format::V3, 2)),
        ("erased", false, |store| store.erase_node("g/old").unwrap()),
        ("erased above", false, |store| store.erase_node("g").unwrap()),
    ];
    for ((what, whole, event), how) in events.into_iter().flat_map(|event| ["keys", "chunks", "migrated"].map(|how| (event, how))) {
        let (store, to) = (Store::memory(&Context::with_threads(1)), Store::memory(&Context::with_threads(1)));
        Group::create(&store, "", None, Create::New).unwrap();
        array(&store, Format::V2, 2);
        let mut calls = 0;
        let mut progress = |_, _| {
            calls += 1;
            if calls == 1 || calls == 2 && what == "begun again" {
                event(&store);
            }
            Ok(())
        };
        let done = match how {
            "keys" => store.copy_node("g", (&to, "g"), Create::New, false, &mut progress),
            "migrated" => store.migrate("g", Some((&to, "g")), true, &mut progress).map(drop),
            _ => store.rechunk_node("g", (&to, "g"), RechunkOptions::default(), &mut |_, _| Ok(()), &mut progress).map(drop),
        };
        assert_eq!(done.as_ref().err().map(Error::kind), (!whole).then_some(ErrorKind::Again), "{what} {how}: {done:?}");
        if whole {
            let expected = if what == "taken back" { [1, 2, 0, 0, 0, 0] } else { [1, 2, 3, 4, 5, 6] };
            assert_eq!(read_all(&Array::open(&to, "g/old").unwrap())[..6], expected, "{what} {how}");
        }
    }
}

/// Consolidated metadata are read before the arrays' own documents. What another program does between them, and behind the first key that is copied.
#[test]
fn a_copy_of_keys_lists_no_steps_that_were_cut_while_it_began() {
    type Cut = fn(&Store, &str);
    let cut: Cut = |store, _| Array::open(store, "g/a").unwrap().resize(&[3], false).unwrap();
    let cut_untold: Cut = |store, document| {
        let now = String::from_utf8(store.key_get(document).unwrap().unwrap()).unwrap();
        store.key_put(document, now.replacen('6', "3", 1).as_bytes()).unwrap();
    };
    let grow_untold: Cut = |store, document| {
        let now = String::from_utf8(store.key_get(document).unwrap().unwrap()).unwrap();
        let (before, shape) = now.split_at(now.find("shape").unwrap());
        store.key_put(document, format!("{before}{}", shape.replacen('3', "4", 1)).as_bytes()).unwrap();
    };
    let tell: Cut = |store, _| Group::open(store, "g").unwrap().consolidate().unwrap();
    let nothing: Cut = |_, _| {};
    for (format, listing, document) in [(Format::V2, "g/.zmetadata", "g/a/.zarray"), (Format::V3, "g/zarr.json", "g/a/zarr.json")] {
        for (what, meanwhile, behind, listed) in [
            ("cut", cut, nothing, Some(3)),
            ("so by itself", cut_untold, nothing, Some(6)),
            ("it grows", cut_untold, grow_untold, Some(6)),
            ("told late", cut_untold, tell, None),
        ] {
            let shared: SharedStore = Arc::new(MemoryStore::new());
            let store = Store::from_shared(&Context::with_threads(1), shared.clone(), Mode::ReadWrite);
            Group::create(&store, "g", Some(format), Create::New).unwrap();
            let mut wanted = spec(&[6], &[7]);
            wanted.set_format(format).unwrap();
            wanted.set_dimension_names(vec![Some("time".into())]).unwrap();
            write_all(&Array::create(&store, "g/a", &wanted, Create::New).unwrap(), &mut [1, 2, 3, 4, 5, 9]);
            Group::open(&store, "g").unwrap().consolidate().unwrap();
            // The node is looked for before its documents are read.
            let looks = AtomicUsize::new(usize::from(format == Format::V3));
            let other = Store::from_shared(&Context::with_threads(1), shared.clone(), Mode::ReadWrite);
            let tell = move |next: Next<'_>| {
                if matches!(next, Next::Opened(key) if key == listing) && looks.fetch_sub(1, Ordering::Relaxed) == 0 {
                    meanwhile(&other, document);
                }
                Ok(())
            };
            let told = Store::from_shared(&Context::with_threads(1), Arc::new(Told { inner: shared, tell, name: None }), Mode::Read);
            let (to, mut calls) = (memory(), 0);
            let mut progress = |_, _| {
                calls += 1;
                if calls == 1 {
                    behind(&store, document);
                }
                Ok(())
            };
            let done = told.copy_node("g", (&to, "g"), Create::New, false, &mut progress);
            let Some(length) = listed else {
                assert_eq!(kind(done), ErrorKind::Again, "{what} {format:?}");
                continue;
            };
            done.unwrap_or_else(|e| panic!("{what} {format:?}: {e}"));
            assert_eq!(Group::open(&to, "g").unwrap().open_array("a").unwrap().shape()[..], [length], "{what} {format:?}");
        }
    }
}

#[test]
fn a_copy_of_keys_passes_over_listed_names_that_no_key_has() {
    let (Folder(_root, store), to) = (Folder::new("names"), memory());
    let array = r#"{"zarr_format":2,"shape":[3],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":0,"order":"C","filters":null}"#;
    store.key_put("g/.zgroup", br#"{"zarr_format":2}"#).unwrap();
    for (i, name) in ["/u", "a//b", "../x", "", "u/", &"n".repeat(300), "gone"].iter().enumerate() {
        let listing = format!(r#"{{"zarr_consolidated_format":1,"metadata":{{"{name}/.zarray":{array}}}}}"#);
        store.key_put("g/.zmetadata", listing.as_bytes()).unwrap();
        let copy = format!("g{i}");
        store.copy_node("g", (&to, &copy), Create::New, false, &mut |_, _| Ok(())).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// A program that has the array open as one of version 2 goes on while it is converted: its codec has no form in version 3.
#[test]
fn what_is_written_or_set_while_an_array_is_migrated_in_place_is_kept() {
    const OLD: &[u8] = br#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<i4","compressor":null,"fill_value":0,"order":"C","filters":[{"id":"base64"}]}"#;
    let (context, shared): (_, SharedStore) = (Context::with_threads(1), Arc::new(MemoryStore::new()));
    let store = Store::from_shared(&context, shared.clone(), Mode::ReadWrite);
    let made = |path: &str| {
        store.key_put(&format!("{path}/.zarray"), OLD).unwrap();
        let array = Array::open(&store, path).unwrap();
        write_all(&array, &mut [1, 2, 3, 4]);
        array
    };
    // Behind the last step, before what is old is erased: one cuts what was encoded by then.
    let array = made("a");
    let mut go_on = |done, total| {
        if done == total {
            array.resize(&[2], false)?;
            write_all(&array, &mut [5, 6]);
            array.attributes().set("a", 1.into())?;
        }
        Ok(())
    };
    assert_eq!(kind(store.migrate("a", None, false, &mut go_on)), ErrorKind::Again);
    store.migrate("a", None, false, &mut |_, _| Ok(())).unwrap();
    let migrated = Array::open(&store, "a").unwrap();
    assert_eq!((migrated.format(), migrated.attributes().get_i64("a").unwrap()), (Format::V3, 1));
    assert_eq!(store.key_list("a/").unwrap(), ["a/c/0", "a/zarr.json"]);
    migrated.resize(&[4], false).unwrap();
    assert_eq!(read_all(&migrated), [5, 6, 0, 0]);
    // While what is old is erased: an attribute is refused or kept, where there was none.
    let array = Mutex::new(Some(made("b")));
    let setting = Arc::new(Mutex::new(None));
    let threads = setting.clone();
    let tell = move |next: Next<'_>| {
        if let Next::Change("b/.zmetadata") = next
            && let Some(array) = array.lock().unwrap().take()
        {
            let (done, waits) = std::sync::mpsc::channel();
            *threads.lock().unwrap() = Some(std::thread::spawn(move || {
                let set = array.attributes().set("b", 1.into());
                drop(done);
                set
            }));
            let _: std::result::Result<(), _> = waits.recv_timeout(std::time::Duration::from_millis(300));
        }
        Ok(())
    };
    let told = Store::from_shared(&context, Arc::new(Told { inner: shared, tell, name: None }), Mode::ReadWrite);
    told.migrate("b", None, false, &mut |_, _| Ok(())).unwrap();
    let set = setting.lock().unwrap().take().unwrap().join().unwrap();
    let migrated = Array::open(&store, "b").unwrap();
    assert!(set.is_err() || migrated.attributes().get_i64("b").is_ok_and(|b| b == 1), "{set:?}");
    assert_eq!(store.key_list("b/").unwrap(), ["b/c/0", "b/c/1", "b/zarr.json"]);
}

/// Keys and bytes are copied as they are, whichever version the store is opened for.
#[test]
fn nodes_that_the_options_of_the_store_do_not_find_are_copied_as_they_are() {
    for format in [None, Some(Format::V2), Some(Format::V3)] {
        let (shared, context): (SharedStore, _) = (Arc::new(MemoryStore::new()), Context::with_threads(1));
        let store = Store::from_shared(&context, shared.clone(), Mode::ReadWrite);
        for (path, version) in [("g/a", Format::V3), ("g/b", Format::V2), ("g/broken", Format::V2)] {
            let mut wanted = spec(&[4], &[2]);
            wanted.set_format(version).unwrap();
            write_all(&Array::create(&store, path, &wanted, Create::New).unwrap(), &mut [1, 2, 3, 4]);
        }
        for (key, text) in
            [("g/.zgroup", &b"{\"zarr_format\":2}"[..]), ("g/broken/zarr.json", b"{"), ("g/c/.zgroup", b"{\"zarr_format\":2}")]
        {
            store.key_put(key, text).unwrap();
        }
        let (from, to) = (Store::new(&context, shared, Mode::Read, Options { format, ..Options::default() }), memory());
        from.copy_node("g", (&to, "g"), Create::New, true, &mut |_, _| Ok(())).unwrap_or_else(|e| panic!("{format:?}: {e}"));
        assert_eq!(to.key_list("g/").unwrap(), store.key_list("g/").unwrap(), "{format:?}");
    }
}

/// Arrays that other programs made are copied though none like them is made any more: by their chunks, and by their elements.
#[test]
fn arrays_whose_codecs_are_taken_for_no_new_array_are_copied() {
    let array = |codecs: &str, data_type: &str| {
        let grid = r#"{"name": "regular", "configuration": {"chunk_shape": [2]}}"#;
        let head = format!(r#""zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "{data_type}", "chunk_grid": {grid}"#);
        format!(r#"{{{head}, "chunk_key_encoding": {{"name": "default"}}, "fill_value": 0, "codecs": [{codecs}]}}"#)
    };
    let little = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    for codecs in [
        format!(r#"{{"name": "numcodecs.bitround", "configuration": {{"keepbits": 20}}}}, {little}"#),
        format!(r#"{little}, {{"name": "numcodecs.lzma", "configuration": {{"format": 0}}}}"#),
    ] {
        let from = memory();
        let mut wanted = spec(&[4], &[2]);
        let xz = r#"{"name": "numcodecs.lzma", "configuration": {"format": 1}}"#;
        wanted.set_codecs_json(&if codecs.contains("lzma") { format!("[{little}, {xz}]") } else { format!("[{little}]") }).unwrap();
        write_all(&Array::create(&from, "a", &wanted, Create::New).unwrap(), &mut [1, 2, 3, 4]);
        from.key_put("a/zarr.json", array(&codecs, "int32").as_bytes()).unwrap();
        let to = memory();
        copy(&from, "a", (&to, "a"), RechunkOptions::default()).unwrap_or_else(|e| panic!("{codecs}: {e}"));
        assert_eq!(read_all(&Array::open(&to, "a").unwrap()), [1, 2, 3, 4], "{codecs}");
        assert_eq!(to.key_get("a/c/0").unwrap(), from.key_get("a/c/0").unwrap(), "{codecs}");
    }
}

/// A store of which another program replaces an object each time it was opened, as many times as `left`; no bytes of the one before are to be had.
struct Replaced {
    inner: SharedStore,
    left: AtomicUsize,
}

struct Old(u64);

impl crate::store::ReadObject for Old {
    fn read_exact_at(&self, _: u64, _: &mut [u8]) -> Result<()> {
        bail!(Conflict, "the object was replaced while it was read")
    }

    fn len(&self) -> Result<u64> {
        Ok(self.0)
    }

    fn version(&self) -> Result<crate::store::Version> {
        Ok(crate::store::Version::new([7; 4]))
    }

    fn still_current(&self) -> Result<bool> {
        Ok(false)
    }
}

impl crate::store::Storage for Replaced {
    crate::store::forward!(inner: capabilities, put, erase_keys, list_keys, flush, describe);

    fn open(&self, key: &str) -> Result<Option<crate::store::Object>> {
        let found = self.inner.open(key)?;
        let is_replaced =
            key == "a/c/1" && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        match found {
            Some(object) if is_replaced => Ok(Some(crate::store::Object::Other(Box::new(Old(object.len()?))))),
            found => Ok(found),
        }
    }
}

#[test]
fn a_chunk_that_a_run_stores_anew_while_it_is_copied_is_copied_as_it_is_then() {
    let inner: SharedStore = Arc::new(MemoryStore::new());
    let context = Context::with_threads(1);
    let array = Array::create(&Store::from_shared(&context, inner.clone(), Mode::ReadWrite), "a", &spec(&[4], &[2]), Create::New).unwrap();
    write_all(&array, &mut [1, 2, 3, 4]);
    for (left, verify, expected) in [
        (0, true, Ok(())),
        (1, false, Ok(())),
        (2, true, Ok(())),
        (4, false, Ok(())),
        (usize::MAX, false, Err(ErrorKind::Again)),
        (usize::MAX, true, Err(ErrorKind::Again)),
    ] {
        let from = Store::from_shared(&context, Arc::new(Replaced { inner: inner.clone(), left: AtomicUsize::new(left) }), Mode::Read);
        let to = memory();
        let copied = from.copy_node("a", (&to, "a"), Create::New, verify, &mut |_, _| Ok(()));
        assert_eq!(copied.map_err(|e| e.kind()), expected, "{left} {verify}");
        if expected.is_ok() {
            assert_eq!(read_all(&Array::open(&to, "a").unwrap()), [1, 2, 3, 4], "{left} {verify}");
        }
    }
}

/// A store that refuses a key, as one does where somebody has a lease of that.
struct Refusing {
    inner: SharedStore,
    puts: AtomicUsize,
}

impl crate::store::Storage for Refusing {
    crate::store::forward!(inner: capabilities, open, erase_keys, list_keys, flush, describe);

    fn put(&self, key: &str, parts: &[&[u8]], condition: crate::store::Condition) -> Result<()> {
        if key == "a/c/1" {
            self.puts.fetch_add(1, Ordering::Relaxed);
            bail!(Conflict, "the object is leased");
        }
        self.inner.put(key, parts, condition)
    }
}

#[test]
fn a_copy_that_the_other_place_refuses_is_not_tried_again() {
    let from = memory();
    write_all(&Array::create(&from, "a", &spec(&[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    let refusing = Arc::new(Refusing { inner: Arc::new(MemoryStore::new()), puts: AtomicUsize::new(0) });
    let to = Store::from_shared(from.context(), refusing.clone(), Mode::ReadWrite);
    let e = from.copy_node("a", (&to, "a"), Create::New, false, &mut |_, _| Ok(())).unwrap_err();
    assert_eq!((e.kind(), e.key(), refusing.puts.load(Ordering::Relaxed)), (ErrorKind::Conflict, Some("a/c/1"), 1), "{e}");
}
