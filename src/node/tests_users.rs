//! Hierarchies in folders that several users share: what one of them may not do is refused with nothing changed, and keeps him from nothing else.

use super::tests_checkpoint::{fill, make, names, newest};
use super::*;
use crate::dtype::DataType;
use crate::error::{ErrorKind, Result};
use crate::store::fault::{as_another, masked};
use crate::store::suite::TestFolder;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// A folder of a test, in which all users may write.
struct Shared(TestFolder);

impl Shared {
    fn new(name: &str) -> Shared {
        let shared = Shared(TestFolder::made(name));
        shared.allow("", 0o777);
        shared
    }

    fn store(&self) -> Store {
        Store::open(&Context::with_threads(1), self.0.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap()
    }

    fn checkpoints(&self) -> Checkpoints {
        Checkpoints::new(&self.store(), "").unwrap()
    }

    /// Gives a folder, and those below it, a mode.
    fn allow(&self, name: &str, mode: u32) {
        fn each(folder: &Path, mode: u32) {
            std::fs::set_permissions(folder, PermissionsExt::from_mode(0o777)).unwrap();
            for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()) {
                each(&entry, mode);
            }
            std::fs::set_permissions(folder, PermissionsExt::from_mode(mode)).unwrap();
        }
        each(&self.0.join(name), mode);
    }

    /// Checks that the consolidated metadata say what is there.
    fn check_listed(&self) {
        assert_eq!(Group::open(&self.store(), "").unwrap().consolidated_differences().unwrap(), Some(vec![]));
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.0.exists() {
            self.allow("", 0o777);
        }
    }
}

fn is_refused<T>(done: Result<T>) -> bool {
    done.is_err_and(|e| e.kind() == ErrorKind::Permission)
}

#[test]
fn a_checkpoint_that_another_user_keeps_is_told_by_prune_stays_listed_and_keeps_no_other() {
    let shared = Shared::new("prune");
    (1..5).for_each(|n| make(&shared.checkpoints(), &n.to_string(), n).unwrap());
    shared.allow("", 0o777);
    shared.allow("2", 0o555);
    as_another(|| {
        assert!(is_refused(shared.checkpoints().prune(1)));
        assert_eq!(names(&shared.checkpoints()), ["2", "4"]);
        shared.check_listed();
        // The new one is there, and counts, beside the old one of its name.
        make(&shared.checkpoints(), "2", 5).unwrap();
        assert_eq!((newest(&shared.store(), ""), names(&shared.checkpoints())), (5, vec!["4".to_string(), "2.5".to_string()]));
        shared.check_listed();
    });
}

#[test]
fn a_checkpoint_of_another_user_who_was_killed_before_it_was_listed_is_listed_by_the_next() {
    for left in [false, true] {
        let (shared, listed) = (Shared::new("listed"), |shared: &Shared| shared.0.join("zarr.json"));
        make(&shared.checkpoints(), "1", 1).unwrap();
        let before = std::fs::read(listed(&shared)).unwrap();
        make(&shared.checkpoints(), "2", 2).unwrap();
        std::fs::write(listed(&shared), before).unwrap();
        if left {
            std::fs::create_dir(shared.0.join("left")).unwrap();
        }
        shared.allow("", 0o777);
        shared.allow("2", 0o555);
        if left {
            shared.allow("left", 0o000);
        }
        as_another(|| {
            make(&shared.checkpoints(), "3", 3).unwrap();
            assert_eq!((newest(&shared.store(), ""), names(&shared.checkpoints()).len()), (3, 3));
        });
        if !left {
            shared.check_listed();
        }
    }
}

#[test]
fn what_a_kill_has_left_of_another_users_checkpoint_keeps_nobody_from_his_own() {
    // What may not be removed, what may not even be looked into, and folders in which nothing is, or only a lock file.
    for (mode, begun) in [(0o555, "all"), (0o000, "all"), (0o555, "folder"), (0o555, "lock")] {
        let shared = Shared::new("begun");
        make(&shared.checkpoints(), "1", 1).unwrap();
        match begun {
            "all" => fill(&shared.checkpoints().begin("2").unwrap(), 7).unwrap(),
            _ => std::fs::create_dir(shared.0.join("2")).unwrap(),
        }
        if begun == "lock" {
            std::fs::write(shared.0.join("2/.ozarr.lock"), "").unwrap();
        }
        shared.allow("", 0o777);
        shared.allow("2", mode);
        as_another(|| {
            for n in 2..4 {
                assert_eq!(newest(&shared.store(), ""), n - 1);
                make(&shared.checkpoints(), "2", n).unwrap();
                assert_eq!((newest(&shared.store(), ""), names(&shared.checkpoints()).len()), (n, 2));
            }
            shared.checkpoints().prune(1).unwrap();
            assert_eq!((newest(&shared.store(), ""), names(&shared.checkpoints()).len()), (3, 1));
        });
    }
}

#[test]
fn a_checkpoint_is_not_begun_where_only_another_user_may_write() {
    let shared = Shared::new("readable");
    make(&shared.checkpoints(), "1", 1).unwrap();
    for lock in [false, true] {
        if lock {
            std::fs::write(shared.0.join(".ozarr.lock"), "").unwrap();
        }
        shared.allow("", 0o555);
        as_another(|| {
            assert!(is_refused(shared.checkpoints().begin("2")), "lock file: {lock}");
            assert_eq!(names(&shared.checkpoints()), ["1"]);
        });
        shared.allow("", 0o755);
    }
}

#[test]
fn a_checkpoint_that_is_only_another_users_to_read_counts() {
    let shared = Shared::new("unread");
    (1..3).for_each(|n| make(&shared.checkpoints(), &n.to_string(), n).unwrap());
    shared.allow("", 0o777);
    shared.allow("2", 0o000);
    as_another(|| {
        assert!(is_refused(shared.checkpoints().latest()), "an older one is not the newest");
        let group = shared.checkpoints().begin("3").unwrap();
        group.set_link_unchanged(true).unwrap();
        fill(&group, 3).unwrap();
        group.commit().unwrap();
        assert_eq!((newest(&shared.store(), ""), names(&shared.checkpoints())), (3, ["1", "2", "3"].map(String::from).to_vec()));
        assert!(is_refused(shared.checkpoints().prune(1)));
        assert_eq!(names(&shared.checkpoints()), ["2", "3"]);
    });
    assert_eq!(newest(&shared.store(), ""), 3);
}

#[test]
fn the_documents_that_another_user_replaces_or_adds_may_be_read_by_all_who_could_read_the_node() {
    let set = |node: &str, store: &Store| Array::open(store, node).unwrap().attributes().set_json("k", "1");
    type Change<'a> = &'a (dyn Fn(&Store, &Spec) -> Result<()> + Sync);
    let cases: [(&str, Format, Change<'_>); 5] = [
        ("overwritten", Format::V3, &|store, spec| Array::create(store, "a", spec, Create::Overwrite).map(drop)),
        ("migrated", Format::V2, &|store, _| store.migrate("", None, false, &mut |_, _| Ok(())).map(drop)),
        ("a migration that was killed", Format::V2, &|store, _| store.key_put("ozarr-migration.json", b"{}")),
        ("its attributes", Format::V2, &|store, _| set("a", store)),
        ("its metadata", Format::V2, &|store, _| Group::open(store, "").unwrap().consolidate()),
    ];
    for (what, format, change) in cases {
        let shared = Shared::new("masked");
        let mut spec = Spec::new(DataType::Int32, &[4]).unwrap();
        spec.set_format(format).unwrap();
        Array::create(&shared.store(), "a", &spec, Create::New).unwrap();
        shared.allow("", 0o777);
        as_another(|| masked(|| change(&shared.store(), &spec))).unwrap();
        let mut seen = 0;
        for file in ["zarr.json", ".zgroup", ".zmetadata", "a/zarr.json", "a/.zarray", "a/.zattrs", "ozarr-migration.json"] {
            if let Ok(found) = std::fs::metadata(shared.0.join(file)) {
                assert_eq!(found.permissions().mode() & 0o044, 0o044, "{what}: {file}");
                seen += 1;
            }
        }
        assert!(seen > 1, "{what}");
    }
}

#[test]
fn a_root_that_another_user_overwrites_where_it_is_may_be_read_by_all_who_may_write_there() {
    type Change<'a> = &'a (dyn Fn(&Store, &Spec) -> Result<()> + Sync);
    let cases: [(&str, Change<'_>); 2] = [
        ("created", &|store, spec| Array::create(store, "", spec, Create::Overwrite).map(drop)),
        ("copied", &|store, spec| {
            let from = Store::memory(&Context::with_threads(1));
            Array::create(&from, "b", spec, Create::New)?;
            from.copy_node("b", (store, ""), Create::Overwrite, false, &mut |_, _| Ok(()))
        }),
    ];
    for (what, change) in cases {
        let top = Shared::new("in-place");
        let (root, spec) = (top.0.join("s"), Spec::new(DataType::Int32, &[4]).unwrap());
        let open = || Store::open(&Context::with_threads(1), root.to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
        Array::create(&open(), "a", &spec, Create::New).unwrap();
        top.allow("", 0o777);
        // So that no other folder can take its name.
        std::fs::set_permissions(&*top.0, PermissionsExt::from_mode(0o755)).unwrap();
        as_another(|| masked(|| change(&open(), &spec))).unwrap();
        let mode = std::fs::metadata(root.join("zarr.json")).unwrap().permissions().mode();
        assert!(mode & 0o044 == 0o044 && !root.join("a").exists(), "{what}: {mode:o}");
    }
}

#[test]
fn a_node_that_another_user_keeps_stays_listed_and_whole_when_it_is_not_his_to_erase() {
    let shared = Shared::new("erase");
    let spec = Spec::new(DataType::Int32, &[4]).unwrap();
    ["g/kept", "g/more", "h/free"].iter().for_each(|path| drop(Array::create(&shared.store(), path, &spec, Create::New).unwrap()));
    Group::open(&shared.store(), "").unwrap().consolidate().unwrap();
    shared.allow("", 0o777);
    shared.allow("g/kept", 0o555);
    as_another(|| {
        let store = shared.store();
        assert!(is_refused(store.erase_node("g")) && is_refused(store.erase_node("g/kept")));
        assert!(is_refused(store.rename_node("g/kept", "kept")));
        assert!(is_refused(store.copy_node("h", (&store, "g"), Create::Overwrite, false, &mut |_, _| Ok(()))));
        shared.check_listed();
        let kinds = ["g/kept", "g/more", "kept"].map(|path| shared.store().node_kind(path).unwrap());
        assert_eq!(kinds, [NodeKind::Array, NodeKind::Array, NodeKind::None]);
    });
}

#[test]
fn a_group_that_may_not_be_listed_is_told_as_unreadable_beside_the_rest_unless_consolidated_metadata_name_what_is_in_it() {
    for is_consolidated in [false, true] {
        let shared = Shared::new("unlisted");
        let spec = Spec::new(DataType::Int32, &[4]).unwrap();
        ["a", "g/u", "z"].iter().for_each(|path| drop(Array::create(&shared.store(), path, &spec, Create::New).unwrap()));
        if is_consolidated {
            Group::open(&shared.store(), "").unwrap().consolidate().unwrap();
        }
        shared.allow("g", 0o311);
        let (tree, told, nodes) = as_another(|| {
            let (group, mut told) = (Group::open(&shared.store(), "").unwrap(), Vec::new());
            let tree = group.tree_telling(usize::MAX, &mut |path, e| told.push((path.to_string(), e.kind()))).unwrap();
            let described = group.describe_nodes(usize::MAX, &mut |_, node| node.map_err(|e| e.kind())).unwrap();
            assert!(described.len() == tree.lines().count() && described[1].1.is_err() != is_consolidated, "{is_consolidated}");
            let nodes = group.nodes(usize::MAX).map(|nodes| nodes.into_iter().map(|child| child.name).collect::<Vec<_>>());
            (tree, told, nodes.map_err(|e| e.kind()))
        });
        let lines = tree.lines().count();
        if is_consolidated {
            assert!((lines, told.len()) == (4, 0) && nodes == Ok(["a", "g", "g/u", "z"].map(String::from).to_vec()), "{tree}");
        } else {
            assert!((lines, told) == (3, vec![("g".to_string(), ErrorKind::Permission)]) && tree.contains("g  unreadable: "), "{tree}");
            // Who goes by what there is must not take the rest for all.
            assert_eq!(nodes, Err(ErrorKind::Permission));
        }
        shared.allow("g", 0o777);
    }
}

#[test]
fn each_folder_that_may_not_be_read_is_told_once_by_verifying() {
    let cases: [&[(&str, u32, &str)]; 5] = [
        &[("g", 0o000, "g/zarr.json")],
        &[("g", 0o311, "g")],
        &[("a/c", 0o000, "a/c")],
        // What comes behind the first is told, too.
        &[("a/c", 0o311, "a/c"), ("g/b/c", 0o000, "g/b/c"), ("z", 0o000, "z/zarr.json")],
        &[("", 0o311, "")],
    ];
    for folders in cases {
        let shared = Shared::new("unreadable");
        for path in ["a", "g/b", "z"] {
            let array = Array::create(&shared.store(), path, &tests::spec(&[4], &[2]), Create::New).unwrap();
            tests::write_all(&array, &mut [1, 2, 3, 4]);
        }
        shared.allow("", 0o777);
        folders.iter().for_each(|(folder, mode, _)| shared.allow(folder, *mode));
        let found = as_another(|| tests::faults(&shared.store(), VerifyOptions::default()));
        let mut keys: Vec<_> = found.iter().map(|fault| (fault.kind, fault.key.as_str())).collect();
        keys.sort_by_key(|(_, key)| *key);
        let told: Vec<_> = folders.iter().map(|(.., key)| (FaultKind::Unreadable, *key)).collect();
        assert_eq!(keys, told, "{found:?}");
    }
}

#[test]
fn a_lock_file_that_keeps_a_user_from_changing_what_he_may_is_told_by_verifying() {
    let shared = Shared::new("locked");
    Array::create(&shared.store(), "a", &tests::spec(&[4], &[2]), Create::New).unwrap();
    std::fs::write(shared.0.join("a/.ozarr.lock"), "").unwrap();
    std::fs::set_permissions(shared.0.join("a/.ozarr.lock"), PermissionsExt::from_mode(0o600)).unwrap();
    let told = |repair: bool| {
        let found = tests::faults(&shared.store(), VerifyOptions { quick: true, repair });
        found.into_iter().map(|fault| (fault.kind, fault.key, fault.repaired)).collect::<Vec<_>>()
    };
    for (mode, is_told) in [(0o777, true), (0o555, false)] {
        shared.allow("a", mode);
        let expected = if is_told { vec![(FaultKind::Unreadable, "a/.ozarr.lock".to_string(), false)] } else { vec![] };
        as_another(|| assert_eq!((told(false), told(true)), (expected.clone(), expected.clone()), "{mode:o}"));
        assert_eq!(told(false), []);
    }
}

#[test]
fn an_error_in_telling_a_group_of_another_user_says_that_the_change_is_stored() {
    for format in [Format::V3, Format::V2] {
        let shared = Shared::new("above");
        Array::create(&shared.store(), "g/t", &tests::spec_as(format, &[4], &[2]), Create::New).unwrap();
        Group::open(&shared.store(), "").unwrap().consolidate().unwrap();
        shared.allow("", 0o555);
        shared.allow("g", 0o777);
        as_another(|| {
            let open = || Array::open(&shared.store(), "g/t").unwrap();
            let names = [Some("x".to_string())];
            let calls: [&dyn Fn() -> Result<()>; 4] =
                [&|| open().attributes().set_json("k", "1"), &|| open().resize(&[9], false), &|| open().resize(&[2], false), &|| {
                    open().set_dimension_names(&names)
                }];
            for (call, told) in calls.iter().enumerate() {
                let e = told().unwrap_err();
                assert!(
                    e.kind() == ErrorKind::Permission && e.message().contains("(the change itself is stored: "),
                    "{format:?} {call}: {e}"
                );
            }
            assert_eq!((open().shape().as_slice(), open().attributes().get("k").unwrap()), ([2].as_slice(), Value::from(1)));
        });
    }
}
