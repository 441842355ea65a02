//! Folders that are mounted by two names: what is copied, renamed or read is not erased as what it takes the place of.

use super::tests::{keys, read_all, spec, write_all};
use super::tests_store::{Next, Told};
use super::*;
use crate::error::{ErrorKind, Result};
use crate::store::SharedStore;
use crate::store::fault::mounted;
use crate::store::memory::MemoryStore;
use crate::store::suite::TestFolder;
use std::path::Path;
use std::sync::Arc;

/// Where a folder is mounted for the second time: the table of mounts has blanks and backslashes in another way.
const MOUNTED: &str = "mount \\040 ed";

/// What takes a place of what is copied.
type Deed = fn(&Store, &str, (&Store, &str)) -> Result<()>;

const DEEDS: [(&str, Deed); 3] = [
    ("copy", |from, path, to| from.copy_node(path, to, Create::Overwrite, false, &mut |_, _| Ok(()))),
    ("rechunk", |from, path, to| {
        let overflow = crate::dtype::Overflow::Error;
        let options = RechunkOptions { format: None, memory: 0, link: false, how: Create::Overwrite, overflow };
        from.rechunk_node(path, to, options, &mut |_, _| Ok(()), &mut |_, _| Ok(())).map(drop)
    }),
    ("migrate", |from, path, to| from.migrate(path, Some(to), true, &mut |_, _| Ok(())).map(drop)),
];

fn open(location: &Path) -> Store {
    let location = location.to_str().unwrap();
    let location = if location.ends_with(".zip") { format!("zip:{location}") } else { location.to_string() };
    Store::open(&Context::with_threads(1), &location, Mode::ReadWrite, &[]).unwrap()
}

/// A folder with the store `a/run.zarr`, in which there is an array `g/t`, and something at which to mount.
fn folder() -> TestFolder {
    let folder = TestFolder::made("mounts");
    write_all(&Array::create(&open(&folder.join("a/run.zarr")), "g/t", &spec(&[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    std::fs::create_dir(folder.join(MOUNTED)).unwrap();
    folder
}

/// Checks that the array is whole.
fn check(folder: &Path) {
    assert_eq!(read_all(&Array::open(&open(&folder.join("a/run.zarr")), "g/t").unwrap()), [1, 2, 3, 4]);
}

#[test]
fn a_copy_over_its_own_source_by_another_mount_is_refused_and_leaves_it_whole() {
    // What is mounted; the source and the place, each as a store and a path in it.
    let cases = [
        ("a/run.zarr", ["a/run.zarr", ""], ["M", ""], "is the same as"),
        ("a/run.zarr", ["M", "g"], ["a/run.zarr", "g"], "is the same as"),
        ("a", ["a/run.zarr", ""], ["M/run.zarr", ""], "is the same as"),
        ("a", ["a/run.zarr", ""], ["M/run.zarr", "g/new"], "lies inside of"),
        ("a", ["M/run.zarr", "g"], ["a/run.zarr", ""], "holds"),
        ("a/run.zarr/g", ["a/run.zarr", ""], ["M", ""], "lies inside of"),
        ("a/run.zarr/g", ["M", ""], ["a/run.zarr", ""], "holds"),
        ("a/run.zarr/g", ["M", "t"], ["a/run.zarr", "g/t"], "is the same as"),
        (".", ["a/run.zarr", "g/t"], ["M/a/run.zarr/g", "t"], "is the same as"),
    ];
    for (mount, from, to, what) in cases {
        let folder = folder();
        let store = |name: &str| open(&folder.join(name.replace('M', MOUNTED)));
        let done = mounted(&folder.join(MOUNTED), Some(&folder.join(mount)), || {
            DEEDS.map(|(deed, make)| {
                let done = make(&store(from[0]), from[1], (&store(to[0]), to[1]));
                check(&folder);
                (deed, done)
            })
        });
        // Only root may mount.
        let Some(done) = done else { return };
        for (deed, done) in done {
            let e = done.expect_err(deed);
            assert!(e.kind() == ErrorKind::Argument && e.message().contains(what), "{deed} {mount} {from:?} {to:?}: {e}");
        }
    }
}

#[test]
fn a_copy_over_a_mount_to_which_a_link_in_its_source_leads_is_refused_and_leaves_both_whole() {
    // Where a link is in the source, where it leads, and what is refused: files that are in no node are copied, but not with other chunks.
    let cases = [
        ("l", "M", [true; 2]),
        ("g/l", "M/d", [true; 2]),
        ("l", "M/d/u", [true; 2]),
        ("g/t/c/1", "M/d/u/c/0", [true; 2]),
        ("l", "b", [true; 2]),
        ("l", ".", [true, false]),
        ("g/t/l", ".", [true, false]),
        ("l", "M/e/b/d/u", [true; 2]),
        ("g/t/c/1", "M/e/x", [true; 2]),
        ("g/t/zarr.json", "M/d/u/zarr.json", [true; 2]),
        ("l", "a/run.zarr/g", [false; 2]),
        ("l", "none", [false; 2]),
        ("g/t/c/1", "x", [false; 2]),
    ];
    for (link, target, is_refused) in cases {
        for ((deed, make), is_refused) in DEEDS.iter().zip(is_refused) {
            let folder = folder();
            write_all(&Array::create(&open(&folder.join("b")), "d/u", &spec(&[4], &[2]), Create::New).unwrap(), &mut [5, 6, 7, 8]);
            let path = |name: &str| folder.join(name.replace('M', MOUNTED));
            let chunk = |name: &str| std::fs::read(path(name)).unwrap();
            std::fs::copy(path("a/run.zarr/g/t/c/1"), path("x")).unwrap();
            std::os::unix::fs::symlink(&*folder, path("b/e")).unwrap();
            let done = mounted(&path("M"), Some(&path("b")), || {
                let link = path("a/run.zarr").join(link);
                let _ = std::fs::remove_file(&link);
                std::os::unix::fs::symlink(path(target), &link).unwrap();
                let done = make(&open(&path("a/run.zarr")), "", (&open(&path("M")), ""));
                (done, is_refused.then(|| (read_all(&Array::open(&open(&path("M")), "d/u").unwrap()), chunk("x"))))
            });
            let Some((done, kept)) = done else { return };
            assert_eq!(
                done.as_ref().map_err(|e| e.kind()),
                if is_refused { Err(ErrorKind::Argument) } else { Ok(&()) },
                "{deed} {link}: {done:?}"
            );
            if let Some((kept, _)) = kept {
                assert!(kept == [5, 6, 7, 8] && done.unwrap_err().message().contains(" leads to "), "{deed} {link}");
                let names: Vec<_> = std::fs::read_dir(path("b")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
                assert!(names.iter().all(|name| name != "ozarr-copy.json"), "{deed} {link}: {names:?}");
            }
        }
    }
}

#[test]
fn a_node_is_not_renamed_into_itself_by_a_mount_in_its_store() {
    let folder = folder();
    let store = || open(&folder.join("a/run.zarr"));
    std::fs::create_dir(folder.join("a/run.zarr/m")).unwrap();
    let done = mounted(&folder.join("a/run.zarr/m"), Some(&folder.join("a/run.zarr/g")), || store().rename_node("g", "m/x"));
    let Some(done) = done else { return };
    let e = done.unwrap_err();
    assert!(e.kind() == ErrorKind::Argument && e.message().contains("lies inside of"), "{e}");
    check(&folder);
}

#[test]
fn a_file_of_which_a_group_is_made_is_not_erased_by_another_mount_of_its_folder() {
    for (mount, place, group, source) in
        [("a", "M", "", "a/x.nc"), ("a", "M", "run.zarr/g", "a/run.zarr/g/t/x.nc"), ("a/run.zarr/g", "a", "", "M/x.nc")]
    {
        let folder = folder();
        let path = |name: &str| folder.join(name.replace('M', MOUNTED));
        let done = mounted(&path("M"), Some(&path(mount)), || {
            std::fs::write(path(source), "elements").unwrap();
            let (how, source) = ((None, Create::Overwrite), path(source));
            let done = open(&path(place)).build_group(group, how, (source.to_str().unwrap(), ""), &mut |_| Ok(()));
            assert_eq!(std::fs::read(source).unwrap(), b"elements");
            done
        });
        let Some(done) = done else { return };
        let e = done.unwrap_err();
        assert!(e.kind() == ErrorKind::Argument && e.message().contains(" holds "), "{e}");
        check(&folder);
    }
}

#[test]
fn an_archive_is_known_by_each_of_its_names() {
    let folder = folder();
    open(&folder.join("a/run.zarr")).copy_node("", (&open(&folder.join("x.zip")), ""), Create::New, false, &mut |_, _| Ok(())).unwrap();
    std::fs::hard_link(folder.join("x.zip"), folder.join("y.zip")).unwrap();
    let [x, y] = ["x.zip", "y.zip"]
        .map(|name| Store::open(&Context::with_threads(1), &format!("zip:{}", folder.join(name).display()), Mode::Read, &[]).unwrap());
    for (path, to_path, what) in [("g/t", "g/t", "is the same as"), ("", "g/u", "lies inside of"), ("g/t", "g", "holds")] {
        let e = overlap::refuse((&x, path), (&y, to_path)).unwrap_err();
        assert!(e.kind() == ErrorKind::Argument && e.message().contains(what), "{path} {to_path}: {e}");
    }
    overlap::refuse((&x, "g/t"), (&y, "g/u")).unwrap();
}

#[test]
fn a_copy_over_its_own_source_by_another_name_of_a_server_is_refused_and_leaves_it_whole() {
    let shared: SharedStore = Arc::new(MemoryStore::new());
    let named = |name| {
        Store::new(
            &Context::with_threads(1),
            Arc::new(Told { inner: shared.clone(), tell: |_: Next<'_>| Ok(()), name: Some(name) }),
            Mode::ReadWrite,
            Options::default(),
        )
    };
    let (one, other) = (named("s3://one"), named("http://other"));
    write_all(&Array::create(&one, "g/t", &spec(&[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
    let before = keys(&one);
    let inside = [("g", "g/t"), ("", "g/t"), ("", "g")].map(|(path, to_path)| (path, to_path, "lies inside of"));
    let around = [("g/t", "is the same as"), ("g", "holds"), ("", "holds")].map(|(to_path, what)| ("g/t", to_path, what));
    for (path, to_path, what) in around.into_iter().chain(inside) {
        for (deed, make) in &DEEDS[..2] {
            let e = make(&one, path, (&other, to_path)).expect_err(deed);
            assert!(e.kind() == ErrorKind::Argument && e.message().contains(what), "{deed} {to_path}: {e}");
            assert_eq!((keys(&one), read_all(&Array::open(&one, "g/t").unwrap())), (before.clone(), vec![1, 2, 3, 4]), "{deed} {to_path}");
        }
    }
}
