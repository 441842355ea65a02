//! Local stores: what they do when calls fail, which calls they make, and what files they leave.

use super::durable::{FileId, MAX_UNSYNCED};
use super::path::LOCK_NAME;
use super::*;
use crate::error::ErrorKind;
#[cfg(target_os = "linux")]
use crate::store::fault::as_another;
use crate::store::fault::{self, Effect, Fault, fail};
use crate::store::file_object::FIRST_READ;
use crate::store::os::Call;
use crate::store::suite::{TestFolder, names_in};
use crate::store::{Listing, StorageExt, get};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;
use std::time::Duration;

const MODES: [SyncMode; 3] = [SyncMode::None, SyncMode::Batch, SyncMode::Each];

/// A folder that is removed at the end of a test.
struct Folder(TestFolder);

impl Folder {
    fn new() -> Folder {
        Folder(TestFolder::made("local"))
    }

    fn store(&self, sync: SyncMode) -> LocalStore {
        LocalStore::open(&self.0.join("s"), true, sync).unwrap()
    }

    fn with_store(sync: SyncMode) -> (Folder, LocalStore) {
        let folder = Folder::new();
        let store = folder.store(sync);
        (folder, store)
    }

    fn file(&self, key: &str) -> PathBuf {
        self.0.join("s").join(key)
    }

    fn allow(&self, key: &str, mode: u32) {
        std::fs::set_permissions(self.file(key), PermissionsExt::from_mode(mode)).unwrap();
    }

    /// The names in the folder of the store, hidden ones as well.
    fn names(&self, below: &str) -> Vec<String> {
        names_in(&self.file(below))
    }
}

fn put(store: &LocalStore, key: &str, value: &[u8]) -> Result<()> {
    store.put(key, &[value], Condition::None)
}

fn stage_and_publish(store: &LocalStore, key: &str, value: &[u8]) -> Result<()> {
    let Staged::File(mut staged) = store.stage(key)? else { panic!() };
    staged.append(value)?;
    store.publish(key, staged)
}

fn value(store: &LocalStore, key: &str) -> Option<Vec<u8>> {
    get(store, key, 1 << 20).unwrap()
}

#[test]
fn a_root_has_the_path_that_the_standard_library_gives_it() {
    for text in ["/a/b", "/a//b", "/a/./b", "/a/b/", "/a/.", "/a/.b", "/a/../b", "/", "//", "//a", "///a", "a/b", "./a", ".", ".."] {
        let (own, wanted) = (absolute(Path::new(text)).unwrap(), std::path::absolute(text).unwrap());
        assert_eq!(own.as_os_str(), wanted.as_os_str(), "{text}");
    }
}

#[test]
fn behaves_as_a_store_in_each_sync_mode() {
    for mode in MODES {
        let folder = Folder::new();
        crate::store::suite::check(&folder.store(mode));
    }
}

#[test]
fn behaves_as_a_store_where_files_cannot_be_renamed_exclusively() {
    for mode in MODES {
        let (_folder, store) = Folder::with_store(mode);
        store.no_rename_new.store(true, Ordering::Relaxed);
        crate::store::suite::check(&store);
    }
}

#[test]
fn names_of_sync_modes() {
    for (name, mode) in [("none", SyncMode::None), ("batch", SyncMode::Batch), ("each", SyncMode::Each)] {
        assert_eq!(SyncMode::parse(name).unwrap(), mode);
    }
    assert_eq!(SyncMode::parse("Batch").unwrap_err().kind(), ErrorKind::Argument);
}

#[test]
fn the_root_is_made_by_the_first_put() {
    let folder = Folder::new();
    let path = folder.0.join("a/b/c");
    let store = LocalStore::open(&path, true, SyncMode::Each).unwrap();
    assert!(store.open("k").unwrap().is_none());
    assert!(!store.erase("k").unwrap());
    store.flush().unwrap();
    assert!(!folder.0.join("a").exists());
    put(&store, "x/y/k", b"1").unwrap();
    assert_eq!(std::fs::read(path.join("x/y/k")).unwrap(), b"1");
    let file = LocalStore::open(&path.join("x/y/k"), true, SyncMode::None).unwrap();
    assert_eq!(file.open("k").err().unwrap().os_errno(), libc::ENOTDIR);
    assert_eq!(put(&file, "k", b"1").unwrap_err().os_errno(), libc::ENOTDIR);
    put(&store, "x/refs.json", b"{}").unwrap();
    let references = LocalStore::open(&path.join("x/refs.json"), true, SyncMode::None).unwrap();
    assert!(references.open("k").err().unwrap().message().contains("nor are references of kerchunk"));
}

#[test]
fn a_relative_root_is_that_of_the_opening() {
    let store = LocalStore::open(Path::new("rel.zarr"), false, SyncMode::None).unwrap();
    assert_eq!(store.describe(), std::env::current_dir().unwrap().join("rel.zarr").to_str().unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn folders_whose_names_differ_in_bytes_that_are_no_text_are_different_places() {
    use std::os::unix::ffi::OsStrExt;
    let place = |name: &[u8]| LocalStore::open(Path::new(std::ffi::OsStr::from_bytes(name)), false, SyncMode::None).unwrap().describe();
    assert_eq!(place("/é/\u{FFFD}".as_bytes()), "/é/\u{FFFD}");
    assert_eq!([place(b"/a\xFF/\xC3"), place(b"/a\xFE/\xC3"), place(b"/a")], ["/a\u{FFFD}ff/\u{FFFD}c3", "/a\u{FFFD}fe/\u{FFFD}c3", "/a"]);
}

#[test]
fn a_link_to_nothing_is_no_value_and_gives_way_to_one() {
    for (mode, exclusive) in MODES.into_iter().flat_map(|mode| [(mode, true), (mode, false)]) {
        let (folder, store) = Folder::with_store(mode);
        store.no_rename_new.store(!exclusive, Ordering::Relaxed);
        put(&store, "a", b"1").unwrap();
        symlink("nothing", folder.file("k")).unwrap();
        assert!(store.open("k").unwrap().is_none());
        store.put("k", &[b"2"], Condition::Absent).unwrap();
        assert_eq!((value(&store, "k").unwrap(), folder.names("").len()), (b"2".to_vec(), 2));
        symlink("a", folder.file("l")).unwrap();
        assert_eq!(store.put("l", &[b"2"], Condition::Absent).unwrap_err().kind(), ErrorKind::Conflict);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_put_or_locked_below_a_link_to_nothing_says_so_at_once() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "k", b"1").unwrap();
    symlink("nowhere", folder.file("a")).unwrap();
    let calls: [(&str, &dyn Fn() -> Result<()>); 5] = [
        ("put", &|| put(&store, "a/k", b"1")),
        ("put below", &|| put(&store, "a/b/c/k", b"1")),
        ("put new", &|| store.put("a/k", &[b"1"], Condition::Absent)),
        ("lock", &|| store.lock_key("a/", "a/k", LockUse::Rare).map(drop)),
        ("lock below", &|| store.lock_key("a/b/", "a/b/k", LockUse::Rare).map(drop)),
    ];
    for (call, done) in calls {
        let looks = fault::count(Call::Mkdir, || {
            let e = done().unwrap_err();
            assert_eq!((e.kind(), e.key()), (ErrorKind::Location, Some("a")), "{call}: {e}");
            assert!(e.to_string().contains("a link to what is not there"), "{call}: {e}");
        });
        assert!(looks < 9, "{call}: {looks}");
    }
}

#[test]
fn a_lock_file_has_its_name_when_all_may_use_it_so_that_a_kill_keeps_nobody_out() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "k", b"1").unwrap();
    folder.allow("", 0o777);
    let done = std::sync::atomic::AtomicBool::new(false);
    let masked = || {
        (0..3000).for_each(|_| drop(folder.store(SyncMode::None).lock_key("", "k", LockUse::Rare).unwrap()));
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| fault::masked(masked));
        while !done.load(std::sync::atomic::Ordering::Relaxed) {
            if let Ok(seen) = std::fs::metadata(folder.file(".ozarr.lock")) {
                assert_eq!(seen.mode() & 0o066, 0o066);
            }
        }
    });
    assert_eq!(folder.names(""), ["k"]);
}

#[test]
fn who_may_write_in_a_folder_may_use_its_lock_file() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    let mode = |name: &str| std::fs::metadata(folder.file(name)).unwrap().mode() & 0o777;
    for (of_folder, often) in [(0o777, LockUse::Rare), (0o777, LockUse::Often), (0o775, LockUse::Rare), (0o755, LockUse::Rare)] {
        let name = format!("a{of_folder:o}{often:?}");
        put(&store, &format!("{name}/k"), b"1").unwrap();
        folder.allow(&name, of_folder);
        let _held = store.lock_key(&format!("{name}/"), "k", often).unwrap();
        // Users that may write there may read and write the lock file; the mask of the process gives the others no more.
        let shared = (of_folder & 0o022) * 3;
        assert_eq!(mode(&format!("{name}/.ozarr.lock")) & shared, shared, "{name}");
        assert!(of_folder != 0o755 || mode(&format!("{name}/.ozarr.lock")) == mode(&format!("{name}/k")));
    }
}

#[test]
fn a_lock_file_that_is_kept_and_was_removed_by_another_is_made_again_for_all_who_may_write_there() {
    let folder = Folder::new();
    let (store, other) = (folder.store(SyncMode::None), folder.store(SyncMode::None));
    put(&store, "d/k", b"1").unwrap();
    folder.allow("d", 0o777);
    let lock = |store: &LocalStore| store.lock_key("d/", "d/k", LockUse::Often).unwrap();
    drop(lock(&store));
    drop(lock(&other));
    drop(other);
    assert_eq!(folder.names("d"), ["k"], "the other one is closed while nobody holds a lock");
    let _held = lock(&store);
    assert_eq!(std::fs::metadata(folder.file("d/.ozarr.lock")).unwrap().mode() & 0o066, 0o066);
    // While it is there it is found by one call.
    let again = || drop(store.lock_key("d/", "d/l", LockUse::Often).unwrap());
    assert_eq!((fault::count(Call::Open, again), fault::count(Call::Stat, again)), (1, 1));
}

/// Whether this process is root, which may give files to others.
#[cfg(target_os = "linux")]
fn is_root() -> bool {
    crate::platform::user() == 0
}

#[cfg(target_os = "linux")]
#[test]
fn a_value_that_takes_the_place_of_another_may_be_read_by_all_who_could() {
    for sync in [SyncMode::None, SyncMode::Batch, SyncMode::Each] {
        let folder = Folder::new();
        let put_all = |keys: &[&str]| {
            let store = folder.store(sync);
            keys.iter().for_each(|key| put(&store, key, b"1").unwrap());
            let Staged::File(mut staged) = store.stage("staged").unwrap() else { panic!() };
            staged.append(b"1").unwrap();
            store.publish("staged", staged).unwrap();
        };
        put_all(&["a", "b", "c"]);
        let (modes, after) = ([("a", 0o644), ("b", 0o640), ("c", 0o600), ("staged", 0o644)], [0o644, 0o640, 0o600, 0o644, 0o600]);
        modes.iter().for_each(|(name, mode)| folder.allow(name, *mode));
        fault::masked(|| put_all(&["a", "b", "c", "new"]));
        let mode = |name| std::fs::metadata(folder.file(name)).unwrap().mode() & 0o777;
        assert_eq!(["a", "b", "c", "staged", "new"].map(mode), after, "{sync:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_document_keeps_its_readers_whatever_the_store_has_put_before_it() {
    let mask = |mask| {
        // SAFETY: no memory is involved; `masked` has given the thread a mask of its own.
        unsafe { libc::umask(mask) }
    };
    for sync in MODES {
        let folder = Folder::new();
        for key in ["a/zarr.json", "b/zarr.json", "c/c/0", "c/c/1"] {
            put(&folder.store(sync), key, b"1").unwrap();
            folder.allow(key, 0o644);
        }
        fault::masked(|| {
            mask(0o022);
            let store = folder.store(sync);
            put(&store, "a/zarr.json", b"2").unwrap();
            mask(0o077);
            for key in ["a/zarr.json", "b/zarr.json", "c/c/0", "c/c/1"] {
                put(&store, key, b"3").unwrap();
                assert_eq!(std::fs::metadata(folder.file(key)).unwrap().mode() & 0o777, 0o644, "{key}, {sync:?}");
            }
            // Whose readers are to be kept cannot be looked at: the new file was opened before.
            let few = fault::Fault { after: 1, ..fail(Call::Open, libc::EMFILE) };
            let e = fault::with(&[few], || put(&store, "a/zarr.json", b"4")).0.unwrap_err();
            assert_eq!((e.kind(), folder.names("a")), (ErrorKind::TooManyFiles, vec!["zarr.json".to_string()]), "{sync:?}");
        });
    }
}

#[test]
fn chunks_are_put_without_a_look_at_each_where_all_may_read_them() {
    for (sync, looks) in [(SyncMode::None, 0), (SyncMode::Each, 0), (SyncMode::Batch, 1)] {
        let (folder, store) = Folder::with_store(sync);
        put(&store, "c/0", b"1").unwrap();
        if std::fs::metadata(folder.file("c/0")).unwrap().mode() & 0o044 == 0o044 {
            assert_eq!(fault::count(Call::Stat, || put(&store, "c/1", b"1").unwrap()), looks, "{sync:?}");
        }
    }
}

/// Gives a folder a list by which the user 12345 may write in it.
#[cfg(target_os = "linux")]
fn give_list(folder: &Path) {
    let entries = [(1u16, 7u16, u32::MAX), (2, 7, 12345), (4, 5, u32::MAX), (16, 7, u32::MAX), (32, 5, u32::MAX)];
    let entries = entries.iter().flat_map(|(tag, may, id)| [&tag.to_le_bytes()[..], &may.to_le_bytes(), &id.to_le_bytes()].concat());
    let list: Vec<u8> = 2u32.to_le_bytes().into_iter().chain(entries).collect();
    let path = c_path(folder).unwrap();
    // SAFETY: the texts end in NUL, and `list` has its length.
    let set = unsafe { libc::setxattr(path.as_ptr(), c"system.posix_acl_access".as_ptr(), list.as_ptr().cast(), list.len(), 0) };
    assert!(set == 0 || crate::platform::last_errno() == libc::ENOTSUP);
}

/// The users whom the list of a file or folder names, with what they may; `None` where the file system has no lists.
#[cfg(target_os = "linux")]
fn listed_users(path: &Path) -> Option<Vec<(u32, u16)>> {
    let (path, mut list) = (c_path(path).unwrap(), [0u8; 512]);
    // SAFETY: the texts end in NUL, and `list` is writable for its length.
    let len = unsafe { libc::getxattr(path.as_ptr(), c"system.posix_acl_access".as_ptr(), list.as_mut_ptr().cast(), list.len()) };
    if len < 0 && crate::platform::last_errno() == libc::ENOTSUP {
        return None;
    }
    let word = |at: &[u8]| u16::from_le_bytes(at.try_into().unwrap());
    let entries = list[..usize::try_from(len).unwrap_or(0)].get(4..).unwrap_or_default().chunks_exact(8);
    Some(entries.filter(|e| word(&e[..2]) == 2).map(|e| (u32::from_le_bytes(e[4..].try_into().unwrap()), word(&e[2..4]))).collect())
}

#[cfg(target_os = "linux")]
#[test]
fn the_user_of_a_folder_keeps_it_when_one_of_its_list_locks_or_replaces_something_there() {
    for is_replaced in [false, true] {
        let folder = Folder::new();
        put(&folder.store(SyncMode::None), "d/k", b"1").unwrap();
        for name in ["..", "", "d"] {
            give_list(&folder.file(name));
        }
        if !is_root() || listed_users(&folder.file("d")).is_none() {
            return;
        }
        for times in 1..3 {
            let name = if is_replaced { "d" } else { "d/.ozarr.lock" };
            let users = as_another(|| {
                let (store, mut held) = (folder.store(SyncMode::None), None);
                if is_replaced {
                    assert!(store.replace_prefix("d/", &mut |new| new.put("k", &[b"2"], Condition::None), &mut || ()).unwrap());
                } else {
                    held = store.lock_key("d/", "d/k", LockUse::Rare).unwrap();
                }
                let users = listed_users(&folder.file(name)).unwrap();
                drop(held);
                users
            });
            let users: Vec<_> = users.into_iter().map(|(user, may)| (user, may & 6)).collect();
            assert_eq!(users, [(0, 6), (12345, 6)], "{name} {times}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_look_finds_the_holder_by_a_lock_file_that_may_only_be_read_and_fails_where_it_may_not() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "d/k", b"1").unwrap();
    for name in ["..", "", "d"] {
        folder.allow(name, 0o755);
    }
    let _held = store.lock_key("d/", "d/k", LockUse::Alone).unwrap();
    let look = |key: &str| as_another(|| folder.store(SyncMode::None).lock_key("d/", key, LockUse::Look).map(drop).map_err(|e| e.kind()));
    folder.allow("d/.ozarr.lock", 0o444);
    assert_eq!((look("d/k"), look("d/l")), (Err(ErrorKind::Again), Ok(())));
    folder.allow("d/.ozarr.lock", 0o000);
    assert_eq!((look("d/k"), look("d/l")), (Err(ErrorKind::Permission), Err(ErrorKind::Permission)));
    folder.allow("d/.ozarr.lock", 0o644);
    let few = fault::with(&[fail(Call::Open, libc::EMFILE)], || store.lock_key("d/", "d/k", LockUse::Look).map(drop)).0;
    assert_eq!(few.unwrap_err().kind(), ErrorKind::TooManyFiles);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_is_immutable_or_only_appended_to_keeps_its_name_and_what_is_in_it() {
    for [set, unset] in [["+i", "-i"], ["+a", "-a"]] {
        let folder = Folder::new();
        ["d/zarr.json", "d/c/0"].iter().for_each(|key| put(&folder.store(SyncMode::None), key, b"1").unwrap());
        let mark = |flags: &[&str], key: &str| {
            let done = std::process::Command::new("chattr").args(flags).arg(folder.file(key)).output();
            done.is_ok_and(|done| done.status.success())
        };
        // Only root may, where the file system can.
        if !mark(&[set], "d/c") {
            return;
        }
        let store = folder.store(SyncMode::None);
        let (erased, replaced) = (store.erase_prefix("d/"), store.replace_prefix("", &mut |_| Ok(()), &mut || ()));
        mark(&["-R", unset], "");
        let e = replaced.unwrap_err();
        assert!(e.kind() == ErrorKind::Permission && e.message().contains(folder.file("").to_str().unwrap().trim_end_matches('/')), "{e}");
        assert_eq!(erased.map_err(|e| e.kind()), Err(ErrorKind::Permission), "{set}");
        assert_eq!((folder.names("d"), folder.names("d/c")), (vec!["c".to_string(), "zarr.json".to_string()], vec!["0".to_string()]));
    }
}

#[test]
fn a_filter_of_system_calls_keeps_nothing_from_being_erased() {
    for (errno, goes) in [(libc::EPERM, true), (libc::ENOSYS, true), (libc::EACCES, false), (libc::EROFS, false)] {
        let (folder, store) = Folder::with_store(SyncMode::None);
        ["d/zarr.json", "d/c/0"].iter().for_each(|key| put(&store, key, b"1").unwrap());
        let erased = fault::failing(Call::Access, 0, errno, || store.erase_prefix("d/"));
        assert_eq!((erased.is_ok(), folder.file("d").exists()), (goes, !goes), "{errno}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn each_folder_decides_who_may_read_a_document_that_is_new_in_it() {
    for sync in [SyncMode::None, SyncMode::Batch, SyncMode::Each] {
        let (folder, store) = Folder::with_store(sync);
        ["x/zarr.json", "y/zarr.json"].iter().for_each(|key| put(&store, key, b"1").unwrap());
        let (path, name) = (c_path(&folder.file("y")).unwrap(), c"system.posix_acl_default");
        let entries = [(1u16, 6u16), (4, 0), (32, 0)].map(|(tag, may)| [&tag.to_le_bytes()[..], &may.to_le_bytes(), &[255; 4]].concat());
        let list = [&2u32.to_le_bytes()[..], &entries.concat()].concat();
        // SAFETY: the texts end in NUL, and the list has its length.
        unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), list.as_ptr().cast(), list.len(), 0) };
        ["x/zarr.json", "y/zarr.json"].iter().for_each(|key| put(&store, key, b"2").unwrap());
        let mode = |key| std::fs::metadata(folder.file(key)).unwrap().mode() & 0o777;
        assert_eq!(mode("y/zarr.json"), mode("x/zarr.json"), "{sync:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_root_makes_or_replaces_in_the_folder_of_another_user_is_his() {
    // The mode of the folder, and that of the lock file.
    for (mode, lock_mode) in [(0o700, 0o600), (0o755, 0o600), (0o775, 0o660)] {
        let folder = Folder::new();
        put(&folder.store(SyncMode::None), "k", b"1").unwrap();
        for name in ["", "k"] {
            std::os::unix::fs::chown(folder.file(name), Some(12345), Some(12345)).unwrap_or_default();
        }
        folder.allow("", mode);
        folder.allow("k", 0o600);
        let has = |name: &str| std::fs::metadata(folder.file(name)).map(|st| (st.uid(), st.mode() & 0o777)).unwrap();
        if has("").0 != 12345 {
            return;
        }
        fault::masked(|| {
            put(&folder.store(SyncMode::None), "k", b"2").unwrap();
            for often in [LockUse::Rare, LockUse::Often] {
                let store = folder.store(SyncMode::None);
                let _held = store.lock_key("", "k", often).unwrap();
                assert_eq!(has(".ozarr.lock"), (12345, lock_mode), "{mode:o}");
            }
        });
        assert_eq!(has("k"), (12345, 0o600));
    }
}

/// What the list of a file has: tags with what they may and whose they are.
#[cfg(target_os = "linux")]
fn list_of(path: &Path) -> Vec<(u16, u16, u32)> {
    let (path, mut list) = (c_path(path).unwrap(), [0u8; 512]);
    // SAFETY: the texts end in NUL, and `list` is writable for its length.
    let len = unsafe { libc::getxattr(path.as_ptr(), c"system.posix_acl_access".as_ptr(), list.as_mut_ptr().cast(), list.len()) };
    let word = |at: &[u8]| u16::from_le_bytes(at.try_into().unwrap());
    let entries = list[..usize::try_from(len).unwrap_or(0)].get(4..).unwrap_or_default().chunks_exact(8);
    entries.map(|e| (word(&e[..2]), word(&e[2..4]), u32::from_le_bytes(e[4..].try_into().unwrap()))).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_list_stays_with_a_value_that_one_of_it_replaces_whose_group_is_another_one() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "d/k", b"1").unwrap();
    for name in ["..", "", "d", "d/k"] {
        give_list(&folder.file(name));
        folder.allow(name, 0o770);
        std::os::unix::fs::chown(folder.file(name), None, Some(23456)).unwrap_or_default();
    }
    if !is_root() || listed_users(&folder.file("d")).is_none() {
        return;
    }
    let none = u32::MAX;
    let as_member = |mode: fn(&super::LocalStore)| as_another(|| fault::masked(|| mode(&folder.store(SyncMode::None))));
    as_member(|store| put(store, "d/k", b"2").unwrap());
    let kept = [(1, 6, none), (2, 7, 0), (2, 7, 12345), (4, 0, none), (8, 5, 23456), (16, 7, none), (32, 0, none)];
    let may_read = |list: Vec<(u16, u16, u32)>| list.into_iter().map(|(tag, may, whose)| (tag, may & 4 != 0, whose)).collect::<Vec<_>>();
    assert_eq!(may_read(list_of(&folder.file("d/k"))), may_read(kept.to_vec()));
    as_member(|store| assert!(store.replace_prefix("d/", &mut |new| new.put("k", &[b"3"], Condition::None), &mut || ()).unwrap()));
    assert_eq!(may_read(list_of(&folder.file("d"))), may_read(kept.to_vec()));
}

#[test]
fn what_a_killed_process_has_left_of_the_lock_file_beside_a_root_that_it_replaced_goes_where_all_may_write() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "zarr.json", b"1").unwrap();
    folder.allow("..", 0o777);
    let here = owner::here().to_string();
    let (process, start) = here.rsplit_once('-').unwrap();
    let left = folder.0.join(format!(".ozarr-{process}-{}-a1.tmp", start.parse::<u64>().unwrap() + 1));
    std::fs::write(&left, b"").unwrap();
    folder.store(SyncMode::None).replace_prefix("", &mut |new| new.put("zarr.json", &[b"2"], Condition::None), &mut || ()).unwrap();
    assert_eq!(names_in(&folder.0), ["s"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_another_user_without_its_group_replaces_stays_open_to_all() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "d/zarr.json", b"1").unwrap();
    for (name, mode) in [("..", 0o777), ("", 0o777), ("d", 0o777), ("d/zarr.json", 0o666)] {
        folder.allow(name, mode);
        std::os::unix::fs::chown(folder.file(name), None, Some(23456)).unwrap_or_default();
    }
    let replaced = as_another(|| {
        fault::masked(|| {
            folder.store(SyncMode::None).replace_prefix("d/", &mut |new| new.put("zarr.json", &[b"2"], Condition::None), &mut || ())
        })
    });
    let mode = |name| std::fs::metadata(folder.file(name)).unwrap().mode() & 0o777;
    assert_eq!((replaced.unwrap(), mode("d"), mode("d/zarr.json")), (true, 0o777, 0o666));
}

#[test]
fn what_others_have_named_as_a_document_in_a_new_folder_is_not_given_away() {
    for (kind, is_kept) in [("link", true), ("second name", true), ("folder", true), ("document", false)] {
        let (folder, store) = Folder::with_store(SyncMode::None);
        put(&store, "d/zarr.json", b"1").unwrap();
        std::fs::write(folder.file("secret"), "2").unwrap();
        folder.allow("d", 0o775);
        folder.allow("d/zarr.json", 0o666);
        folder.allow("secret", 0o600);
        let replaced = store.replace_prefix(
            "d/",
            &mut |_| {
                let new = folder.names("").into_iter().find(|name| name.starts_with(".ozarr-replaced")).unwrap();
                assert_eq!(
                    std::fs::metadata(folder.file(&new)).unwrap().mode() & 0o777,
                    0o775,
                    "who shares the folder can remove what a kill leaves"
                );
                let (secret, document) = (folder.file("secret"), folder.file(&new).join(".zarray"));
                match kind {
                    "link" => std::os::unix::fs::symlink(secret, document),
                    "second name" => std::fs::hard_link(secret, document),
                    "folder" => std::fs::DirBuilder::new().mode(0o700).create(document),
                    _ => std::fs::rename(secret, document),
                }
                .unwrap();
                Ok(())
            },
            &mut || (),
        );
        let named = ["secret", "d/.zarray"].map(|name| std::fs::metadata(folder.file(name)).map_or(0, |of| of.mode() & 0o077));
        assert!(replaced.unwrap() && (named == [0; 2]) == is_kept, "{kind}: {named:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_another_user_has_given_the_name_of_a_lock_file_stays_whose_it_is() {
    for is_link in [false, true] {
        let folder = Folder::new();
        let (store, other) = (folder.store(SyncMode::None), folder.file("d/other"));
        put(&store, "d/other", b"more than a lock file holds").unwrap();
        folder.allow("d", 0o777);
        if is_link {
            std::fs::write(&other, "").unwrap();
            std::fs::hard_link(&other, folder.file("d/.ozarr.lock")).unwrap();
        } else {
            std::fs::rename(&other, folder.file("d/.ozarr.lock")).unwrap();
        }
        folder.allow("d/.ozarr.lock", 0o600);
        let _held = store.lock_key("d/", "d/k", LockUse::Rare).unwrap();
        assert_eq!(std::fs::metadata(folder.file("d/.ozarr.lock")).unwrap().mode() & 0o777, 0o600, "{is_link}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_lock_file_that_another_user_is_about_to_share_is_waited_for() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "k", b"1").unwrap();
    folder.allow("..", 0o777);
    folder.allow("", 0o777);
    for _ in 0..20 {
        std::fs::write(folder.file(".ozarr.lock"), "").unwrap();
        folder.allow(".ozarr.lock", 0o600);
        let begin = std::sync::Barrier::new(2);
        let lock = || {
            begin.wait();
            as_another(|| folder.store(SyncMode::None).lock_key("", "k", LockUse::Rare).map(drop))
        };
        std::thread::scope(|scope| {
            let locked = scope.spawn(lock);
            begin.wait();
            // The other one looks for the file in between, mostly.
            (0..50).for_each(|_| std::thread::yield_now());
            std::thread::sleep(std::time::Duration::from_millis(2));
            folder.allow(".ozarr.lock", 0o666);
            locked.join().unwrap().unwrap();
        });
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_process_of_another_user_has_left_of_a_new_root_keeps_nobody_from_making_it() {
    let folder = Folder::new();
    let root = folder.file("s");
    let left = super::beside::place_of(&root, super::beside::Purpose::New).unwrap().unwrap();
    std::fs::create_dir_all(left.join("a")).unwrap();
    std::fs::write(left.join("a/zarr.json"), "half").unwrap();
    for (path, mode) in [("..", 0o755), ("", 0o1777)] {
        folder.allow(path, mode);
    }
    as_another(|| {
        let options = FileOptions { publish: Publish::Flush, ..FileOptions::default() };
        let store = LocalStore::open(&root, true, options).unwrap();
        put(&store, "k", b"1").unwrap();
        assert!(!root.exists());
        store.flush().unwrap();
    });
    assert_eq!((left.exists(), std::fs::read(root.join("k")).unwrap()), (is_root(), b"1".to_vec()));
}

/// In another space of user names a user may have the number of this one: the hidden place of a root then has the name that this one gives, but is not his.
#[cfg(target_os = "linux")]
#[test]
fn what_a_user_of_the_same_number_elsewhere_has_left_of_a_new_root_keeps_nobody_from_making_it() {
    for mode in [0o755, 0o700] {
        let folder = Folder::new();
        let root = folder.file("s");
        let left = as_another(|| super::beside::place_of(&root, super::beside::Purpose::New).unwrap().unwrap());
        std::fs::create_dir_all(left.join("a")).unwrap();
        for (path, mode) in [(folder.file(".."), 0o755), (folder.file(""), 0o1777), (left.clone(), mode)] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        }
        as_another(|| {
            let options = FileOptions { publish: Publish::Flush, ..FileOptions::default() };
            let store = LocalStore::open(&root, true, options).unwrap();
            put(&store, "k", b"1").unwrap();
            store.flush().unwrap();
        });
        assert_eq!((left.exists(), std::fs::read(root.join("k")).unwrap()), (is_root(), b"1".to_vec()), "{mode:o}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_may_not_be_emptied_keeps_its_name_and_all_that_is_in_it() {
    // SAFETY: no memory is involved.
    let is_root = unsafe { libc::geteuid() } == 0;
    // The modes of the folder `d`, of `d/c`, and of the full folder in it; the sticky bit keeps nothing from its own user.
    let cases = [[0o555, 0o777, 0o777], [0o777, 0o555, 0o777], [0o777, 0o777, 0o555], [0o777, 0o777, 0o600], [0o777, 0o1777, 0o777]];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_string()).collect::<Vec<_>>();
    let after = (names(&["s"]), names(&["d"]), names(&["a", "c", "z"]));
    for modes in cases.into_iter().filter(|modes| is_root || modes[1] != 0o1777) {
        for is_replaced in [false, true] {
            for prefix in ["d/", ""] {
                let folder = Folder::new();
                for key in ["d/a", "d/c/0/1", "d/c/2", "d/z"] {
                    put(&folder.store(SyncMode::None), key, b"1").unwrap();
                }
                let allow = |modes: [u32; 3]| {
                    let places = ["..", "", "d", "d/c", "d/c/0"].map(|name| folder.file(name));
                    for (place, mode) in places.iter().zip([0o777, 0o777].into_iter().chain(modes)) {
                        std::fs::set_permissions(place, PermissionsExt::from_mode(mode)).unwrap();
                    }
                };
                allow(modes);
                let mut build = |new: SharedStore| new.put("k", &[b"2"], Condition::None);
                let done = as_another(|| match is_replaced {
                    true => folder.store(SyncMode::None).replace_prefix(prefix, &mut build, &mut || ()).map(|_| ()),
                    false => folder.store(SyncMode::None).erase_prefix(prefix),
                });
                allow([0o777; 3]);
                let told = (modes, is_replaced, prefix);
                assert_eq!(done.unwrap_err().kind(), ErrorKind::Permission, "{told:?}");
                assert_eq!((folder.names(".."), folder.names(""), folder.names("d")), after, "{told:?}");
                assert_eq!(value(&folder.store(SyncMode::None), "d/c/0/1").unwrap(), b"1", "{told:?}");
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_below_which_something_is_mounted_stays_with_all_that_is_in_it() {
    let cases = [(false, "d/"), (false, ""), (true, "d/"), (true, "")].into_iter().flat_map(|case| [(case, false), (case, true)]);
    for ((is_replaced, prefix), is_bound) in cases {
        // What is mounted may be a folder of the same file system.
        let (folder, other) = (Folder::new(), Folder::new());
        for key in ["d/a", "d/c/2", "d/z"] {
            put(&folder.store(SyncMode::None), key, b"1").unwrap();
        }
        std::fs::create_dir_all(folder.file("d/c/m")).unwrap();
        std::fs::create_dir_all(other.file("")).unwrap();
        let tried = fault::mounted(&folder.file("d/c/m"), is_bound.then(|| other.file("")).as_deref(), || {
            let store = folder.store(SyncMode::None);
            put(&store, "d/c/m/k", b"1").unwrap();
            let mut build = |new: SharedStore| new.put("k", &[b"2"], Condition::None);
            let done = match is_replaced {
                true => store.replace_prefix(prefix, &mut build, &mut || ()).map(|_| ()),
                false => store.erase_prefix(prefix),
            };
            (done, value(&store, "d/c/m/k"), folder.names("d"))
        });
        // Only root may mount.
        let Some((done, inside, names)) = tried else { return };
        let e = done.unwrap_err();
        assert!((e.kind(), e.os_errno()) == (ErrorKind::Io, libc::EBUSY) && e.to_string().contains("d/c/m"), "{e}");
        assert_eq!((inside.unwrap(), names), (b"1".to_vec(), ["a", "c", "z"].map(str::to_string).to_vec()));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_name_may_not_go_is_emptied() {
    for lists_as_opened in [false, true] {
        let folder = Folder::new();
        put(&folder.store(SyncMode::None), "d/c/k", b"1").unwrap();
        folder.allow("", 0o555);
        folder.allow("d", 0o777);
        folder.allow("d/c", 0o777);
        let erase = || folder.store(SyncMode::None).erase_prefix("d/");
        let erased = as_another(|| if lists_as_opened { fault::listing_as_opened(erase) } else { erase() });
        folder.allow("", 0o755);
        erased.unwrap();
        assert!(folder.names("d").is_empty(), "{lists_as_opened}");
    }
}

#[test]
fn a_folder_that_another_process_removes_while_it_is_listed_is_erased_all_the_same() {
    let (_folder, store) = Folder::with_store(SyncMode::None);
    // Each of the listings in turn: the look before, and those that empty the folders.
    for after in 0..3 {
        put(&store, "a/b/k", b"1").unwrap();
        let fault = Fault { call: Call::List, after, times: 1, effect: Effect::Fail(libc::ENOENT) };
        fault::with(&[fault], || store.erase_prefix("a/")).0.unwrap();
        assert!(value(&store, "a/b/k").is_none());
    }
}

#[test]
fn errors_of_the_system_name_the_store_and_the_file() {
    let (folder, store) = Folder::with_store(SyncMode::Each);
    put(&store, "a/k", b"1").unwrap();
    let (other, fresh) = (folder.store(SyncMode::None), folder.store(SyncMode::None));
    let keys = |prefix: &str| store.list_keys(prefix, ListInto::Each(&mut |_| Ok(())));
    type Act<'a> = &'a dyn Fn() -> Result<()>;
    let acts: [(Call, &str, Act<'_>); 9] = [
        (Call::Open, "a: open the folder: ", &|| keys("a/")),
        (Call::Open, "open the folder: ", &|| keys("")),
        (Call::Open, "open: ", &|| store.open("a/k").map(drop)),
        (Call::Open, "create a temporary file: ", &|| put(&store, "a/k", b"2")),
        (Call::Open, "open the lock file a/.ozarr.lock: ", &|| store.lock_key("a/", "a/k", LockUse::Rare).map(drop)),
        (Call::Mkdir, "b: make a folder: ", &|| put(&fresh, "b/k", b"2")),
        (Call::Unlink, "erase: ", &|| store.erase("a/k").map(drop)),
        (Call::Stat, "stat: ", &|| store.stamp("a/k").map(drop)),
        (Call::Open, "open the folder ", &|| other.open("a/k").map(drop)),
    ];
    for (call, begins, act) in acts {
        let (refused, unused) = fault::with(&[fail(call, libc::EACCES)], act);
        let e = refused.unwrap_err();
        assert_eq!((e.kind(), unused), (ErrorKind::Permission, 0), "{begins}");
        assert!(e.to_string().starts_with(begins) && e.to_string().matches(&store.describe()).count() == 1, "{e}");
    }
}

#[test]
fn a_store_for_reading_changes_nothing() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "k", b"1").unwrap();
    let store = LocalStore::open(&folder.file(""), false, SyncMode::Batch).unwrap();
    assert!(!store.capabilities().writable);
    let results = [
        put(&store, "k", b"2"),
        store.put("new", &[], Condition::Absent),
        store.erase("k").map(drop),
        store.erase_prefix(""),
        store.lock_key("", "k", LockUse::Rare).map(drop),
    ];
    for result in results {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::ReadOnly);
    }
    store.flush().unwrap();
    assert_eq!(value(&store, "k").unwrap(), b"1");
    assert_eq!(folder.names(""), ["k"]);
}

/// A put over `before` (or over nothing) that is hit by a fault.
struct Hit<'a> {
    mode: SyncMode,
    before: Option<&'a [u8]>,
    call: Call,
    errno: i32,
    kind: ErrorKind,
}

#[test]
fn a_failed_put_keeps_the_old_value_and_leaves_no_file() {
    use SyncMode::*;
    let old = Some(&b"old"[..]);
    let io = ErrorKind::Io;
    let case = |mode, before, (call, errno), kind| Hit { mode, before, call, errno, kind };
    let cases = [
        case(None, old, (Call::Open, libc::EMFILE), ErrorKind::TooManyFiles),
        case(None, old, (Call::Open, libc::EACCES), ErrorKind::Permission),
        case(None, old, (Call::Write, libc::ENOSPC), ErrorKind::NoSpace),
        case(None, old, (Call::Write, libc::EDQUOT), ErrorKind::NoSpace),
        case(None, old, (Call::Write, libc::EFBIG), ErrorKind::NoSpace),
        case(None, old, (Call::Write, libc::EIO), io),
        case(None, old, (Call::Close, libc::EIO), io),
        case(None, old, (Call::Rename, libc::EIO), io),
        case(Batch, old, (Call::Stat, libc::EIO), io),
        case(Batch, old, (Call::Close, libc::EDQUOT), ErrorKind::NoSpace),
        case(Batch, old, (Call::RenameNew, libc::EROFS), ErrorKind::ReadOnly),
        case(Batch, old, (Call::Sync, libc::EIO), io),
        case(Batch, old, (Call::Rename, libc::EIO), io),
        case(Batch, Option::None, (Call::RenameNew, libc::EIO), io),
        case(Batch, Option::None, (Call::Write, libc::ENOSPC), ErrorKind::NoSpace),
        case(Each, old, (Call::Sync, libc::EIO), io),
        case(Each, Option::None, (Call::Sync, libc::ENOSPC), ErrorKind::NoSpace),
        case(Each, old, (Call::Close, libc::EIO), io),
        case(Each, old, (Call::Rename, libc::EXDEV), io),
    ];
    for (i, Hit { mode, before, call, errno, kind }) in cases.into_iter().enumerate() {
        let (folder, store) = Folder::with_store(mode);
        put(&store, "d/other", b"1").unwrap();
        before.iter().for_each(|old| put(&store, "d/k", old).unwrap());
        store.flush().unwrap();
        let (result, unused) = fault::with(&[fail(call, errno)], || put(&store, "d/k", b"a longer new value"));
        assert_eq!(unused, 0, "case {i}: the fault is met");
        assert_eq!(result.unwrap_err().kind(), kind, "case {i}");
        assert_eq!(value(&store, "d/k").as_deref(), before, "case {i}");
        let names = if before.is_some() { vec!["k", "other"] } else { vec!["other"] };
        assert_eq!(folder.names("d"), names, "case {i}");
        store.flush().unwrap_or_else(|e| panic!("case {i}: what failed has no name, and nothing of a flush: {e}"));
        put(&store, "d/k", b"next").unwrap();
        assert_eq!(value(&store, "d/k").unwrap(), b"next", "case {i}: the store stays usable");
        store.flush().unwrap();
    }
}

#[test]
fn a_failed_put_under_the_name_of_the_key_leaves_what_another_one_has_put_there() {
    let cases = [(SyncMode::None, Call::Write), (SyncMode::Batch, Call::Stat), (SyncMode::Each, Call::Sync)];
    for ((sync, call), is_replaced) in cases.into_iter().flat_map(|case| [(case, false), (case, true)]) {
        let folder = Folder::new();
        let options = FileOptions { publish: Publish::Flush, sync, ..FileOptions::default() };
        let store = LocalStore::open(&folder.file(""), true, options).unwrap();
        put(&store, "other", b"1").unwrap();
        let (root, path) = (store.root_to_write().unwrap(), KeyPath::of_key("k").unwrap());
        let (mut temp, fd) = store.temp_file(root, "k", Some(&path), &mut Made::new()).unwrap();
        if is_replaced {
            put(&store, "k", b"2").unwrap();
        }
        let finish = || {
            os::write_all(fd.as_fd(), &[b"1"]).map_err(|e| temp.failed(fd.as_fd(), e).error("write"))?;
            store.give_name(temp, fd, "k", &path, Over::Any, &Made::new())
        };
        let (done, left) = fault::with(&[fail(call, libc::EIO)], finish);
        assert_eq!((done.unwrap_err().os_errno(), left), (libc::EIO, 0), "{call:?}");
        assert_eq!(value(&store, "k"), is_replaced.then(|| b"2".to_vec()), "{call:?}");
    }
}

#[test]
fn interrupted_and_short_transfers_go_on() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..100_000u32).map(|i| (i >> 3) as u8).collect();
    let interrupted = |call| Fault { call, after: 0, times: 3, effect: Effect::Fail(libc::EINTR) };
    let short = |call, n| Fault { call, after: 0, times: 20, effect: Effect::Short(n) };
    for mode in MODES {
        let store = folder.store(mode);
        let faults = [Call::Open, Call::Write, Call::Rename, Call::RenameNew, Call::Sync, Call::Stat].map(interrupted);
        fault::with(&faults, || put(&store, "k", b"x")).0.unwrap();
        fault::with(&faults, || put(&store, "k", b"y")).0.unwrap();
        fault::with(&faults, || store.flush()).0.unwrap();
        let parts: Vec<&[u8]> = bytes.chunks(7001).collect();
        let (result, unused) = fault::with(&[short(Call::Write, 999)], || store.put("k", &parts, Condition::None));
        result.unwrap();
        assert_eq!(unused, 0);
        assert!(std::fs::read(folder.file("k")).unwrap() == bytes);
    }
    let object = folder.store(SyncMode::None).open("k").unwrap().unwrap();
    let mut buf = vec![0; bytes.len()];
    let faults = [interrupted(Call::Read), short(Call::Read, 333)];
    let (result, unused) = fault::with(&faults, || object.read_exact_whole(&mut buf));
    result.unwrap();
    assert_eq!(unused, 0);
    assert!(buf == bytes);
    buf.fill(0);
    let (result, unused) = fault::with(&faults, || object.read_exact_at(1, &mut buf[1..]));
    result.unwrap();
    assert_eq!(unused, 0);
    assert!(buf[1..] == bytes[1..]);
    let mut whole = Vec::new();
    let (result, unused) = fault::with(&faults, || object.read_whole(&mut whole, usize::MAX));
    result.unwrap();
    assert_eq!(unused, 0);
    assert!(whole == bytes);
    let store = folder.store(SyncMode::None);
    let (result, unused) = fault::with(&[fail(Call::Close, libc::EINTR)], || store.put("k", &[b"closed"], Condition::None));
    result.unwrap();
    assert_eq!((unused, std::fs::read(folder.file("k")).unwrap().as_slice()), (0, &b"closed"[..]));
    store.flush().unwrap();
}

#[test]
fn only_a_file_that_is_not_there_is_missing() {
    let (_folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "a/k", b"1").unwrap();
    for (errno, kind) in [
        (libc::EACCES, ErrorKind::Permission),
        (libc::EMFILE, ErrorKind::TooManyFiles),
        (libc::ENFILE, ErrorKind::TooManyFiles),
        (libc::EIO, ErrorKind::Io),
        (libc::ESTALE, ErrorKind::Io),
        (libc::ELOOP, ErrorKind::Io),
        (libc::ENOTDIR, ErrorKind::Io),
        (libc::ENOMEM, ErrorKind::NoMemory),
    ] {
        let e = fault::with(&[fail(Call::Open, errno)], || store.open("none")).0.err().unwrap();
        assert_eq!((e.kind(), e.os_errno()), (kind, errno));
    }
    assert!(fault::with(&[fail(Call::Open, libc::EAGAIN)], || store.open("a/k")).0.unwrap().is_some(), "a lease is waited for");
    for (call, errno) in [(Call::Read, libc::EIO), (Call::Read, libc::ESTALE)] {
        let e = fault::with(&[fail(call, errno)], || get(&store, "a/k", 10)).0.unwrap_err();
        assert_eq!((e.kind(), e.os_errno(), e.key()), (ErrorKind::Io, errno, Some("a/k")));
    }
    let e = fault::with(&[fail(Call::List, libc::EIO)], || store.list_dir("a/")).0.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Io);
}

#[test]
fn a_folder_or_pipe_in_the_place_of_a_value_is_an_error() {
    let (folder, store) = Folder::with_store(SyncMode::Batch);
    put(&store, "k/c/0", b"1").unwrap();
    let object = store.open("k/c").unwrap().unwrap();
    let mut buf = vec![0; 4];
    let results = [
        object.read_whole(&mut Vec::new(), 100),
        object.read_exact_whole(&mut buf),
        object.read_exact_at(0, &mut buf),
        object.len().map(drop),
        object.version().map(drop),
        put(&store, "k/c", b"x"),
        store.erase("k/c").map(drop),
    ];
    for (i, result) in results.into_iter().enumerate() {
        let e = result.unwrap_err();
        assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::EISDIR), "{i}");
    }
    assert_eq!(store.open("k/c/0/deeper").err().unwrap().os_errno(), libc::ENOTDIR);
    assert_eq!(put(&store, "k/c/0/deeper", b"x").unwrap_err().os_errno(), libc::ENOTDIR);
    assert_eq!(store.erase("k/c/0/deeper").unwrap_err().os_errno(), libc::ENOTDIR);
    let pipe = c_path(&folder.file("pipe")).unwrap();
    // SAFETY: the path ends in NUL.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o600) }, 0);
    assert_eq!(get(&store, "pipe", 10).unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(store.list_dir("").unwrap().keys, [""; 0], "a pipe is no key");
    assert_eq!(value(&store, "k/c/0").unwrap(), b"1");
}

#[test]
fn keys_of_an_opened_folder_are_those_that_it_had_then() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    let get_in = |dir: &super::Folder, key: &str| {
        let mut value = Vec::new();
        store.open_in(dir, key).unwrap().map(|object| object.read_whole(&mut value, 10).map(|()| value)).transpose().unwrap()
    };
    assert!(matches!(store.folder("d/e/"), super::Folder::Absent), "nor is there a root");
    put(&store, "d/k", b"1").unwrap();
    let absent = store.folder("d/e/");
    put(&store, "d/e/k", b"2").unwrap();
    put(&store, "d/e/f/k", b"3").unwrap();
    assert_eq!(get_in(&absent, "d/e/k"), None);
    let open = store.folder("d/e/");
    assert_eq!([get_in(&open, "d/e/k"), get_in(&open, "d/e/f/k"), get_in(&open, "d/e/none")], [Some(b"2".into()), Some(b"3".into()), None]);
    assert_eq!(get_in(&store.folder(""), "d/k").unwrap(), b"1");
    for bad in ["d/e/../k", "d/e//k", "d/e/", "d"] {
        assert!(store.open_in(&open, bad).is_err(), "{bad}");
    }
    std::fs::rename(folder.file("d/e"), folder.file("d/old")).unwrap();
    assert_eq!(get_in(&open, "d/e/k").unwrap(), b"2");
    // What is no folder is as bad as ever.
    let file = store.folder("d/k/");
    assert!(matches!(file, super::Folder::Unknown) && store.open_in(&file, "d/k/x").is_err());
}

#[test]
fn hidden_files_are_not_listed() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "d/k", b"1").unwrap();
    for name in ["d/.ozarr-12-3-abc.tmp", "d/.ozarr.lock", "d/.ozarr.locks", "d/.ozarr-x", "d/.zarray", "d/.tmp"] {
        std::fs::write(folder.file(name), b"").unwrap();
    }
    use std::os::unix::ffi::OsStringExt;
    std::fs::write(folder.file("d").join(std::ffi::OsString::from_vec(b"not-utf8-\xff".to_vec())), b"").unwrap();
    let shown = [".ozarr-x", ".ozarr.locks", ".tmp", ".zarray", "k"];
    assert_eq!(store.list_dir("d/").unwrap().keys, shown);
    assert_eq!(store.keys("").unwrap(), shown.map(|name| format!("d/{name}")));
    for name in ["d/.ozarr.lock", ".ozarr-.tmp"] {
        assert_eq!(put(&store, name, b"1").unwrap_err().kind(), ErrorKind::Name);
    }
    store.erase_prefix("d/").unwrap();
    assert_eq!(folder.names(""), [""; 0], "all of a folder goes with it");
}

#[test]
fn what_a_file_system_keeps_for_who_has_it_open_is_no_key() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    let kept = [".__smb0001", ".fuse_hidden0000000300000001", ".nfs000000000001a2b300000001"];
    let keys = [".fuse_hidden", ".nfs", ".nfs-mounts", "k"];
    put(&store, "d/k", b"1").unwrap();
    kept.iter().chain(&keys).for_each(|name| std::fs::write(folder.file("d").join(name), "1").unwrap());
    assert_eq!(store.list_dir("d/").unwrap().keys, keys);
    assert_eq!(store.keys("").unwrap(), keys.map(|name| format!("d/{name}")));
    assert_eq!(unlisted(&folder.file("d")).unwrap(), kept.map(|name| (folder.file("d").join(name), Unlisted::KeptOpen)));
    store.erase_prefix("d/").unwrap();
    assert_eq!(folder.names(""), [""; 0], "all of a folder goes with it");
}

/// The temporary files in a folder, and whether the process of each is gone.
fn temporary_files(folder: &Path) -> Vec<(PathBuf, bool)> {
    let found = unlisted(folder).unwrap().into_iter();
    found.filter(|(_, what)| *what <= Unlisted::OfProcess).map(|(file, what)| (file, what == Unlisted::OfProcessGone)).collect()
}

#[test]
fn what_killed_writers_have_left_beside_folders_goes_and_what_is_used_stays() {
    for (local, repair) in [(true, false), (true, true), (false, false), (false, true)] {
        fault::on_file_systems(local, || check_what_is_left_beside_folders(local, repair));
    }
}

fn check_what_is_left_beside_folders(local: bool, repair: bool) {
    use super::beside::{Purpose, claim, place_of};
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "d/k", b"1").unwrap();
    let used = claim(place_of(&folder.file("d/used"), Purpose::Replaced).unwrap().unwrap(), || Ok(())).unwrap().unwrap();
    let places = [place_of(&folder.file("d/a"), Purpose::Replaced), place_of(&folder.file("d/b"), Purpose::New)]
        .map(|place| place.unwrap().unwrap());
    // On a network file system other machines' processes lock the folder for themselves, which the machine whose file system it is does not see; on a
    // local one the lock tells of all, whichever container they are in, and that those of before a reboot are gone.
    let run = if local { 0 } else { owner::here().run() };
    let others = ["-77", if local { "-78" } else { "-0" }, ""].map(|run| format!("{run}.tmp"));
    let own = format!("-{run:x}.tmp");
    assert!(run != 0 || local);
    let elsewhere = others.map(|run| PathBuf::from(places[0].to_str().unwrap().replace(&own, &run)));
    places.iter().chain(&elsewhere).for_each(|place| std::fs::create_dir_all(place.join("c/0")).unwrap());
    // Any program of netCDF uses the lock again.
    std::fs::write(folder.file("d/.ozarr-netcdf.tmp"), "").unwrap();
    let kept = || elsewhere.iter().chain([&used.path]).map(|place| (place.clone(), false));
    let mut told: Vec<_> = places.iter().map(|place| (place.clone(), true)).chain(kept()).collect();
    told.sort();
    assert_eq!(temporary_files(&folder.file("")), told);
    if repair {
        for (place, _) in kept() {
            let e = remove_left(&place).unwrap_err();
            assert!(e.kind() == ErrorKind::Conflict && e.message().contains("is used"), "{e}");
        }
        places.iter().for_each(|place| remove_left(place).unwrap());
    } else {
        let store = folder.store(SyncMode::None);
        put(&store, "d/l", b"2").unwrap();
        store.flush().unwrap();
    }
    let mut told: Vec<_> = kept().collect();
    told.sort();
    assert_eq!(temporary_files(&folder.file("")), told);
    assert!(claim(places[0].clone(), || Ok(())).unwrap().is_some() && elsewhere.iter().all(|place| place.join("c/0").exists()));
    // The lock ends with its process, or with the folder.
    drop(used.lock);
    assert!(claim(used.path.clone(), || Ok(())).unwrap().is_some() && used.path.exists());
}

#[test]
fn a_folder_is_not_replaced_from_a_place_of_another_name_where_no_descriptor_is_left() {
    use super::beside::run_of;
    let (mut refused, mut after) = (0, 0);
    loop {
        let (folder, store) = Folder::with_store(SyncMode::None);
        put(&store, "d/k", b"1").unwrap();
        let few = fault::Fault { after, ..fail(Call::Open, libc::EMFILE) };
        let mut build = |new: SharedStore| {
            let runs: Vec<u64> = folder.names("").iter().filter_map(|name| run_of(name.as_bytes())).collect();
            assert_eq!(runs, [0], "behind {after} calls");
            new.put("k", &[b"2"], Condition::None)
        };
        let replace = || store.replace_prefix("d/", &mut build, &mut || ());
        let (done, left) = fault::on_file_systems(true, || fault::with(&[few], replace));
        refused += usize::from(done.is_err());
        if left == 1 {
            break;
        }
        after += 1;
    }
    assert!(refused > 0);
}

#[test]
fn names_of_places_say_whose_locks_tell_whether_they_are_used() {
    use super::beside::{Purpose, place_of, run_of};
    let folder = Folder::new();
    let run = |of: &Path| run_of(place_of(of, Purpose::New).unwrap().unwrap().file_name().unwrap().as_encoded_bytes()).unwrap();
    // The folders above may be missing, or named from the present one on.
    for of in [folder.file("s"), folder.file("not/yet/s"), PathBuf::from("s"), PathBuf::from("not/yet/s")] {
        assert_eq!(fault::on_file_systems(true, || run(&of)), 0, "a leftover of before a reboot, or of another container, is found again");
        assert_eq!(fault::on_file_systems(false, || run(&of)), owner::here().run());
        let few = fail(Call::Open, libc::EMFILE);
        let refused = fault::on_file_systems(true, || fault::with(&[few], || place_of(&of, Purpose::New)).0);
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::TooManyFiles);
    }
    // Of what this system has everywhere: one is known to be local, the other is not among those.
    #[cfg(target_os = "linux")]
    assert_eq!([run(Path::new("/dev/shm/s")) == 0, run(Path::new("/proc/s")) == 0], [true, false]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_nobody_has_waited_for_is_gone_and_one_whose_first_thread_has_ended_is_not() {
    use crate::platform::start_of;
    let cases: [(fn(), bool); 2] =
        [(|| {}, true), (|| drop(std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(300)))), false)];
    let here = owner::here();
    for (run, expected) in cases {
        // SAFETY: the child's first thread ends at once, and a second one only sleeps.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            run();
            // SAFETY: a name that ends in NUL; and the end of this thread alone.
            unsafe { (libc::prctl(libc::PR_SET_NAME, c") R 1 (".as_ptr()), libc::syscall(libc::SYS_exit, 0)) };
        }
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        while !stat().contains(") R 1 () Z ") {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let start = start_of(pid as u32).unwrap();
        let found = [start, start + 1].map(|start| owner::Owner::parse(&format!("{:x}-{pid}-{start}", here.run())).unwrap().is_gone(here));
        // SAFETY: the child of this test.
        unsafe { (libc::kill(pid, libc::SIGKILL), libc::waitpid(pid, &mut 0, 0)) };
        assert_eq!(found, [expected, true]);
    }
}

#[test]
fn temporary_files_of_killed_writers_go_and_those_of_living_writers_stay() {
    let folder = Folder::new();
    put(&folder.store(SyncMode::None), "d/k", b"1").unwrap();
    put(&folder.store(SyncMode::None), "other/k", b"1").unwrap();
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let here = owner::here().to_string();
    let [place, process, start] = here.split('-').collect::<Vec<_>>().try_into().unwrap();
    let start: u64 = start.parse().unwrap();
    assert!(place != "0" && start != 0, "{here}: this machine tells who is who");
    let name = |place: &str, process: &str, start: u64, tail: &str| format!(".ozarr-{place}-{process}-{start}-{tail}.tmp");
    let gone = [
        name(place, &ended.id().to_string(), start, "0-a1"),
        // The number was given to another process since.
        name(place, process, start + 1, "0-a2"),
    ];
    let kept = [
        name(place, process, start, "0-a3"),
        name(place, process, 0, "0-a4"),
        name("77", &ended.id().to_string(), start, "0-a5"),
        name("0", &ended.id().to_string(), start, "0-a6"),
        name("x", &ended.id().to_string(), start, "0-a7"),
        ".ozarr-.tmp".to_string(),
        "notes.tmp".to_string(),
    ];
    let leave = |below: &str| gone.iter().chain(&kept).for_each(|name| std::fs::write(folder.file(below).join(name), b"part").unwrap());
    leave("d");
    leave("other");
    // What is left of a folder that was erased.
    let erased = name(place, process, start + 2, "0-a8");
    std::fs::create_dir_all(folder.file("d").join(&erased).join("c")).unwrap();
    std::fs::write(folder.file("d").join(&erased).join("c/0"), b"chunk").unwrap();
    let mut found = temporary_files(&folder.0);
    assert_eq!(found.len(), 2 * (gone.len() + kept.len() - 1) + 1, "in both folders, without notes.tmp");
    found.retain(|(file, is_gone)| !(file.ends_with(&erased) && *is_gone));
    let is_one_of = |names: &[String], file: &Path| names.iter().any(|name| file.ends_with(name));
    assert!(found.iter().all(|(file, is_gone)| is_one_of(&gone, file) == *is_gone && is_one_of(&kept, file) != *is_gone), "{found:?}");
    let store = folder.store(SyncMode::Batch);
    put(&store, "d/k", b"2").unwrap();
    put(&store, "new/k", b"2").unwrap();
    store.flush().unwrap();
    assert_eq!(store.capabilities().swept, 3);
    let names = folder.names("d");
    assert!(gone.iter().all(|name| !names.contains(name)) && kept.iter().all(|name| names.contains(name)), "{names:?}");
    assert_eq!(names.len(), kept.len() + 1, "{names:?}");
    assert_eq!(folder.names("other").len(), gone.len() + kept.len() + 1, "nothing was put there");
    // A list that comes across them looks, too.
    assert_eq!(folder.store(SyncMode::None).list_dir("other/").unwrap().keys, ["k", "notes.tmp"]);
    assert_eq!(folder.names("other").len(), kept.len() + 1);
    // A folder is looked into once by each store, when it is flushed or closed.
    leave("d");
    assert_eq!(fault::count(Call::List, || put(&store, "d/k", b"3").and_then(|()| store.flush()).unwrap()), 0);
    let store = folder.store(SyncMode::Each);
    put(&store, "d/l", b"3").unwrap();
    drop(store);
    assert_eq!(folder.names("d").len(), kept.len() + 2);
}

#[test]
fn a_folder_whose_erasing_fails_shows_none_of_its_keys() {
    // A folder that cannot be renamed, as the root, keeps its name: then its document goes first, by the first of four names.
    for (prefix, keeps_its_name) in [("g/", false), ("g/", true), ("", true)] {
        let what = format!("{prefix:?} {keeps_its_name}");
        let (unlinks, lists, left) = if keeps_its_name { (4, 2, if prefix.is_empty() { 1 } else { 2 }) } else { (0, 0, 1) };
        // Folders with folders in them are listed by two calls each before anything goes.
        let looks = if prefix.is_empty() { 6 } else { 4 };
        for (call, after) in [(Call::Unlink, unlinks), (Call::List, looks + lists)] {
            let (folder, store) = Folder::with_store(SyncMode::Batch);
            for key in ["g/x/zarr.json", "g/x/c/0", "g/y/zarr.json", "g/zarr.json"] {
                put(&store, key, b"1").unwrap();
            }
            let look = fault::Fault { after: looks - 1, ..fault::fail(Call::List, libc::EIO) };
            assert_eq!(fault::with(&[look], || store.erase_prefix(prefix)).0.unwrap_err().os_errno(), libc::EIO, "{what}");
            assert_eq!(store.keys("").unwrap().len(), 4, "nothing is changed when looking fails: {what}");
            let refused =
                fault::Fault { times: usize::from(keeps_its_name && !prefix.is_empty()), ..fault::fail(Call::Rename, libc::EBUSY) };
            let faults = [refused, fault::Fault { after, ..fault::fail(call, libc::EIO) }];
            let (done, _) = fault::with(&faults, || store.erase_prefix(prefix));
            assert_eq!(done.unwrap_err().os_errno(), libc::EIO, "{call:?} {what}");
            assert_eq!(store.keys("").unwrap(), [""; 0], "{call:?} {what}");
            assert_eq!(temporary_files(&folder.0).len(), left, "what is left is found: {call:?} {what}");
            store.erase_prefix("").unwrap();
            assert_eq!(folder.names(""), [""; 0]);
        }
    }
}

#[test]
fn what_a_file_system_does_not_list_in_a_renamed_folder_is_removed_by_its_new_name_or_told() {
    // A listing that fails so has no names.
    let listing = |after, times| fault::Fault { after, times, ..fail(Call::List, libc::ENOENT) };
    for times in [1, usize::MAX] {
        let mut told = 0;
        for after in 0.. {
            let (folder, store) = Folder::with_store(SyncMode::Batch);
            ["g/x/c/0", "g/x/zarr.json", "g/zarr.json"].iter().for_each(|key| put(&store, key, b"1").unwrap());
            let (erased, unused) = fault::with(&[listing(after, times)], || store.erase_prefix("g/"));
            assert_eq!(store.keys("").unwrap(), [""; 0]);
            let left = temporary_files(&folder.0).len();
            match erased {
                Ok(_) => assert_eq!(left, 0, "behind {after}"),
                Err(e) => assert_eq!((e.os_errno(), left, times), (libc::ENOTEMPTY, 1, usize::MAX), "behind {after}: {e}"),
            }
            told += left;
            if unused > 0 && times == 1 || after > 20 {
                break;
            }
        }
        assert_eq!(told > 0, times > 1);
    }
}

#[test]
fn a_folder_that_another_process_removes_meanwhile_is_erased() {
    let (folder, store) = Folder::with_store(SyncMode::Batch);
    put(&store, "g/x/c/0", b"1").unwrap();
    let open = std::fs::File::open(folder.file("g/x")).unwrap();
    std::fs::remove_dir_all(folder.file("g/x")).unwrap();
    listing::empty_folder(open.as_fd(), 0).unwrap();
    // It left its name before this one could take it; the one that has its name now is of another writer.
    put(&store, "g/y/c/0", b"1").unwrap();
    fault::with(&[fail(Call::Rename, libc::ENOENT)], || store.erase_prefix("g/")).0.unwrap();
    assert_eq!(value(&store, "g/y/c/0").unwrap(), b"1");
}

#[test]
fn a_folder_whose_document_cannot_be_erased_keeps_all_that_is_in_it() {
    let (folder, store) = Folder::with_store(SyncMode::Batch);
    let keys = ["g/.zarray", "g/0", "g/1", "g/x/.zgroup"];
    keys.iter().for_each(|key| put(&store, key, b"1").unwrap());
    let faults = [fault::fail(Call::Rename, libc::EBUSY), fault::Fault { after: 1, ..fault::fail(Call::Unlink, libc::EIO) }];
    let e = fault::with(&faults, || store.erase_prefix("g/")).0.unwrap_err();
    assert_eq!((e.os_errno(), e.key()), (libc::EIO, Some("g/.zarray")));
    assert_eq!(store.keys("").unwrap(), keys);
    store.erase_prefix("g/").unwrap();
    assert_eq!(folder.names(""), [""; 0]);
    keys.iter().for_each(|key| put(&store, key, b"1").unwrap());
    // What is emptied elsewhere is named as it was.
    let e = fault::with(&[fault::Fault { after: 3, ..fault::fail(Call::Unlink, libc::EIO) }], || store.erase_prefix("g/")).0.unwrap_err();
    assert!(e.os_errno() == libc::EIO && keys.contains(&e.key().unwrap()), "{e:?}");
}

#[test]
fn links_are_followed_to_read_and_list_but_not_to_erase() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "d/k", b"1").unwrap();
    let outside = folder.0.join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("precious"), b"p").unwrap();
    symlink(&outside, folder.file("d/link")).unwrap();
    symlink(&outside, folder.file("top")).unwrap();
    symlink("..", folder.file("d/up")).unwrap();
    symlink("nowhere", folder.file("d/dangling")).unwrap();
    symlink("self", folder.file("d/self")).unwrap();
    assert_eq!(store.keys("").unwrap(), ["d/k", "d/link/precious", "top/precious"], "loops end");
    assert_eq!(value(&store, "d/link/precious").unwrap(), b"p");
    assert!(value(&store, "d/dangling").is_none());
    assert_eq!(store.open("d/self").err().unwrap().os_errno(), libc::ELOOP);
    store.erase_prefix("d/").unwrap();
    // As other systems than Linux say that a link is in the way.
    fault::with(&[fail(Call::Open, libc::ELOOP)], || store.erase_prefix("top/")).0.unwrap();
    assert_eq!(folder.names(""), [""; 0]);
    assert_eq!(std::fs::read(outside.join("precious")).unwrap(), b"p", "nothing outside goes");
}

#[test]
fn folders_that_are_missing_as_those_before_cost_no_call_that_fails() {
    // The key, the calls that make folders, and those that open files.
    let puts = [
        ("b/c/0/0/k", 4, 1),
        ("b/c/1/0/k", 4, 1),
        ("b/c/2/0/k", 2, 1),
        ("b/c/2/0/l", 0, 1),
        ("a/c/0/0/l", 0, 1),
        ("d/0/k", 2, 1),
        ("there/k", 1, 1),
        ("e/k", 1, 2),
        ("k", 0, 1),
        ("f/k", 1, 1),
    ];
    for call in [Call::Mkdir, Call::Open] {
        let (folder, store) = Folder::with_store(SyncMode::None);
        put(&store, "a/c/0/0/k", b"1").unwrap();
        std::fs::create_dir(folder.file("there")).unwrap();
        for (key, makes, opens) in puts {
            let calls = fault::count(call, || put(&store, key, b"1").unwrap());
            assert_eq!(calls, if call == Call::Mkdir { makes } else { opens }, "{key}");
            assert_eq!(value(&store, key).unwrap(), b"1");
        }
        // A folder that cannot be made is tried again, and one that was removed meanwhile is made.
        assert_eq!(fault::with(&[fail(Call::Mkdir, libc::EACCES)], || put(&store, "g/k", b"1").unwrap()).1, 0, "a fault was left");
        std::fs::remove_dir_all(folder.file("g")).unwrap();
        put(&store, "g/k", b"2").unwrap();
        assert_eq!(value(&store, "g/k").unwrap(), b"2");
        assert_eq!(folder.names("g"), ["k"]);
    }
}

/// How often `f` syncs.
fn syncs(f: impl FnOnce()) -> usize {
    fault::count(Call::Sync, f)
}

#[test]
fn each_mode_syncs_what_it_promises() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    assert_eq!(syncs(|| put(&store, "n/k", b"1").unwrap()), 0);
    assert_eq!(syncs(|| store.flush().unwrap()), 0);

    let store = folder.store(SyncMode::Each);
    assert_eq!(syncs(|| put(&store, "e/f/k", b"1").unwrap()), 4, "the file, its folder, and the parents of two new folders");
    assert_eq!(syncs(|| put(&store, "e/f/k", b"2").unwrap()), 2, "the file and its folder");
    assert_eq!(syncs(|| assert!(store.erase("e/f/k").unwrap())), 1, "the folder");
    assert_eq!(syncs(|| store.flush().unwrap()), 0);

    let store = folder.store(SyncMode::Batch);
    assert_eq!(syncs(|| put(&store, "b/f/k", b"1").unwrap()), 0, "a new key waits for the flush");
    assert_eq!(syncs(|| put(&store, "b/f/k", b"2").unwrap()), 0, "a key that is still new, too");
    assert_eq!(syncs(|| store.flush().unwrap()), 4, "the file, its folder, and the parents of two new folders");
    assert_eq!(syncs(|| store.flush().unwrap()), 0, "once");
    assert_eq!(syncs(|| put(&store, "b/f/k", b"3").unwrap()), 1, "an old value is replaced by what is durable");
    assert_eq!(syncs(|| put(&store, "b/f/k", b"4").unwrap()), 1, "every time");
    assert_eq!(syncs(|| store.flush().unwrap()), 1, "the folder");
    put(&store, "b/f/new", b"1").unwrap();
    put(&folder.store(SyncMode::Batch), "b/f/new", b"2").unwrap();
    assert_eq!(syncs(|| put(&store, "b/f/new", b"3").unwrap()), 1, "somebody else's value may be durable");
    store.flush().unwrap();
    put(&store, "b/f/gone", b"1").unwrap();
    assert!(store.erase("b/f/gone").unwrap());
    assert_eq!(syncs(|| store.flush().unwrap()), 1, "an erased key: the folder only");
}

#[test]
fn a_folder_that_cannot_be_opened_to_sync_it_is_synced_later() {
    type Act = fn(&LocalStore) -> Result<()>;
    let acts: [(&str, Act); 3] =
        [("put", |s| put(s, "a/k", b"2")), ("put in a new folder", |s| put(s, "a/b/k", b"2")), ("erase", |s| s.erase("a/k").map(drop))];
    for (name, act) in acts {
        let mut met = 0;
        for after in 0..6 {
            let (_folder, store) = Folder::with_store(SyncMode::Each);
            put(&store, "a/k", b"1").unwrap();
            let (done, unused) = fault::with(&[Fault { after, ..fail(Call::Open, libc::EMFILE) }], || act(&store));
            if unused > 0 {
                continue;
            }
            let e = done.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::TooManyFiles, "{name} {after}");
            let is_due = e.to_string().contains("to sync it");
            met += usize::from(is_due);
            let synced = syncs(|| store.flush().unwrap_or_else(|e| panic!("{name} {after}: {e}")));
            assert!(synced > 0 || !is_due, "{name} {after}: {synced}");
            act(&store).unwrap();
            assert_eq!(syncs(|| store.flush().unwrap()), 0, "{name} {after}");
        }
        assert!(met > 0, "{name}");
    }
}

#[test]
fn folders_that_a_call_made_in_vain_are_synced_by_the_one_that_succeeds() {
    /// How a call makes folders and fails, or cannot do what it is to do.
    type Row = (&'static str, fn(&LocalStore, &Path), [Fault; 1]);
    let second = |call, errno| [Fault { after: 1, ..fail(call, errno) }];
    let third = |call, errno| [Fault { after: 2, ..fail(call, errno) }];
    let cases: [Row; 8] = [
        ("no room", |s, _| assert!(put(s, "a/b/k", b"1").is_err()), [fail(Call::Write, libc::ENOSPC)]),
        ("no descriptor", |s, _| assert!(put(s, "a/b/k", b"1").is_err()), [fail(Call::Open, libc::EMFILE)]),
        ("staged in vain", |s, _| drop(s.stage("a/b/k").unwrap()), [Fault { times: 0, ..fail(Call::Open, 0) }]),
        ("not staged", |s, _| assert!(s.stage("a/b/k").is_err()), [fail(Call::Open, libc::EMFILE)]),
        ("not published", |s, _| assert!(stage_and_publish(s, "a/b/k", b"1").is_err()), [fail(Call::Close, libc::EIO)]),
        ("no links", |s, file| assert!(!s.link("a/b/k", file, true).unwrap()), second(Call::Rename, libc::EXDEV)),
        ("no renames", |s, _| assert!(!s.rename_prefix("x/", "a/b/").unwrap()), second(Call::RenameNew, libc::EINVAL)),
        ("no lock", |s, _| assert!(s.lock_key("a/b/", "k", LockUse::Rare).is_err()), third(Call::Mkdir, libc::ENOSPC)),
    ];
    for (why, act, faults) in cases {
        for mode in [SyncMode::Batch, SyncMode::Each] {
            let (folder, store) = Folder::with_store(mode);
            ["x/k", "k"].iter().for_each(|key| put(&store, key, b"1").unwrap());
            store.flush().unwrap();
            let (_, unused) = fault::with(&faults, || act(&store, &folder.file("k")));
            assert!(unused == 0 && !folder.file("a").exists(), "{why} {mode:?}");
            let done = syncs(|| put(&store, "a/b/k", b"1").and_then(|()| store.flush()).unwrap());
            assert_eq!(done, 4, "the file, its folder, and the parents of two: {why} {mode:?}");
            assert_eq!(syncs(|| store.flush().unwrap()), 0, "once: {why} {mode:?}");
        }
    }
}

#[test]
fn what_takes_the_place_of_an_erased_value_is_durable_before_it_has_the_name() {
    /// How a durable value is erased, and the key that is put then.
    type Row = (&'static str, fn(&LocalStore), &'static str);
    let cases: [Row; 5] = [
        ("by its key", |s| assert!(s.erase("a/b/k").unwrap()), "a/b/k"),
        ("by its prefix", |s| s.erase_prefix("a/b/").unwrap(), "a/b/k"),
        ("by a prefix above", |s| s.erase_prefix("a/").unwrap(), "a/b/k"),
        ("with all", |s| s.erase_prefix("").unwrap(), "a/b/k"),
        ("with all, at the top", |s| s.erase_prefix("").unwrap(), "k"),
    ];
    let staged = |store: &LocalStore, key: &str| stage_and_publish(store, key, b"2").unwrap();
    for (how, erase, key) in cases {
        for absent in [false, true] {
            let (_folder, store) = Folder::with_store(SyncMode::Batch);
            ["a/b/k", "a/b/l", "k", "other/k"].iter().for_each(|key| put(&store, key, b"1").unwrap());
            store.flush().unwrap();
            erase(&store);
            let condition = if absent { Condition::Absent } else { Condition::None };
            assert_eq!(syncs(|| store.put(key, &[b"2"], condition).unwrap()), 1, "{how}, {absent}");
            assert_eq!(syncs(|| put(&store, key, b"3").unwrap()), 1, "{how}, {absent}: every time");
            assert_eq!(syncs(|| assert!(store.erase(key).unwrap())), 0);
            assert_eq!(syncs(|| staged(&store, key)), 1, "{how}, {absent}: erased once more, and put in pieces");
            assert_eq!(syncs(|| put(&store, "new", b"1").unwrap()), usize::from(how.starts_with("with all")), "{how}: a key that is new");
            store.flush().unwrap();
            erase(&store);
            store.flush().unwrap();
            assert_eq!(syncs(|| put(&store, key, b"4").unwrap()), 0, "{how}, {absent}: what was flushed is erased");
            erase(&store);
            let is_key = how == "by its key";
            assert_eq!(syncs(|| put(&store, key, b"5").unwrap()), usize::from(!is_key), "{how}, {absent}: it was new");
        }
    }
}

#[test]
fn what_a_rename_puts_in_the_place_of_a_durable_value_is_durable_before_it_has_the_name() {
    let renamed = |s: &LocalStore, from: &str, to: &str| assert!(s.rename_prefix(from, to).unwrap());
    let values = |s: &LocalStore| ["a/b/k", "a/b/l", "other/k"].iter().for_each(|key| put(s, key, b"1").unwrap());
    /// What is done first to durable values, and the key that is put then.
    type Row<'a> = (&'static str, &'a dyn Fn(&LocalStore), &'static str);
    let cases: [Row; 3] = [
        ("erased by its key, then renamed", &|s| assert!(s.erase("a/b/k").unwrap()), "c/b/k"),
        ("erased by its prefix, then renamed", &|s| s.erase_prefix("a/b/").unwrap(), "c/b/k"),
        ("something else is erased", &|s| assert!(s.erase("other/k").unwrap()), "c/b/new"),
    ];
    for (how, first, key) in cases {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        values(&store);
        store.flush().unwrap();
        first(&store);
        assert_eq!(syncs(|| renamed(&store, "a/", "c/")), 1, "{how}: the folder of both names, which are durable by now");
        assert_eq!(syncs(|| put(&store, key, b"2").unwrap()), usize::from(!key.ends_with("new")), "{how}");
        store.flush().unwrap();
        assert_eq!(syncs(|| put(&store, "a/new", b"2").unwrap()), 0, "{how}: flushed");
    }
    // New values that get the names of erased ones, and of none.
    for erased in [Some("a/"), Some("a/b/"), None] {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        values(&store);
        store.flush().unwrap();
        erased.iter().for_each(|prefix| store.erase_prefix(prefix).unwrap());
        put(&store, "new/b/k", b"2").unwrap();
        let to = if erased == Some("a/") { "a/" } else { "a/b/x/" };
        assert_eq!(syncs(|| renamed(&store, "new/", to)) > 3, erased.is_some(), "{erased:?}");
    }
}

/// What a document says of a place is durable before something goes there: the shape of an array before what was cut off, a list before a node.
#[test]
fn a_document_that_took_the_place_of_another_has_its_name_durably_before_something_goes() {
    /// What is done, and whether something goes.
    type Row = (&'static str, fn(&LocalStore), bool);
    let cases: [Row; 4] = [
        ("a key is erased", |s| assert!(s.erase("a/c/1").unwrap()), true),
        ("a prefix is erased", |s| s.erase_prefix("b/").unwrap(), true),
        ("something new is put", |s| put(s, "a/c/2", b"1").unwrap(), false),
        ("nothing is there to be erased", |s| s.erase_prefix("none/").unwrap(), false),
    ];
    for document in ["a/zarr.json", ".zmetadata", "a/.zattrs", "a/c/0"] {
        for (name, change, goes) in cases {
            let (_folder, store) = Folder::with_store(SyncMode::Batch);
            [document, "a/c/0", "a/c/1", "b/c/0"].iter().for_each(|key| put(&store, key, b"1").unwrap());
            store.flush().unwrap();
            assert_eq!(syncs(|| put(&store, document, b"2").unwrap()), 1, "the value itself");
            let told = usize::from(goes && document != "a/c/0");
            assert_eq!(syncs(|| change(&store)), told, "{name} behind {document}");
            assert_eq!(syncs(|| assert!(store.erase("a/c/0").unwrap())), usize::from(!goes && document != "a/c/0"), "once: {name}");
            put(&store, document, b"3").unwrap();
            store.flush().unwrap();
            put(&store, "a/c/1", b"1").unwrap();
            store.flush().unwrap();
            assert_eq!(syncs(|| assert!(store.erase("a/c/1").unwrap())), 0, "all is durable");
        }
    }
}

/// What another thread erases behind a document that took the place of another one waits until that is durable, whoever makes it so.
#[test]
fn an_erasure_waits_until_another_thread_has_made_the_document_before_it_durable() {
    /// What syncs the document in the first thread.
    type Row = (&'static str, fn(&LocalStore));
    let cases: [Row; 2] = [("an erasure", |s| assert!(s.erase("a/c/0").unwrap())), ("a flush", |s| s.flush().unwrap())];
    for (name, first) in cases {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        let keys = ["a/zarr.json", "a/c/0", "a/c/1"];
        keys.iter().for_each(|key| put(&store, key, b"1").unwrap());
        store.flush().unwrap();
        put(&store, "a/zarr.json", b"2").unwrap();
        let store = Arc::new(store);
        let (other, looking, (tell, told)) = (store.clone(), store.clone(), channel());
        let meanwhile = move || {
            let erasing = std::thread::spawn(move || other.erase("a/c/1").unwrap());
            std::thread::sleep(std::time::Duration::from_millis(50));
            tell.send((erasing, looking.open("a/c/1").unwrap().is_some())).unwrap();
        };
        assert!(fault::before(Call::Sync, 0, meanwhile, || first(&store)).1, "{name}");
        let (erasing, waited) = told.recv().unwrap();
        assert!(waited && erasing.join().unwrap() && store.open("a/c/1").unwrap().is_none(), "{name}");
    }
}

#[test]
fn erased_keys_are_remembered_until_a_flush_has_gone_well() {
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    put(&store, "k", b"1").unwrap();
    store.flush().unwrap();
    assert!(store.erase("k").unwrap());
    assert!(fault::with(&[fail(Call::Open, libc::EMFILE)], || store.flush()).0.is_err());
    assert_eq!(syncs(|| put(&store, "k", b"2").unwrap()), 1);
    store.flush().unwrap();
    put(&store, "k", b"3").unwrap();
    // Of too many it is not known which they are.
    (0..=MAX_UNSYNCED).for_each(|i| store.durability.sync_first(&format!("{i}")));
    assert_eq!(syncs(|| put(&store, "new", b"1").unwrap()), 1);
    store.flush().unwrap();
    assert_eq!(syncs(|| put(&store, "new too", b"1").unwrap()), 0);
}

#[test]
fn what_gets_another_name_while_it_is_flushed_is_synced() {
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    let store = Arc::new(store);
    ["a/k", "a/l", "a/m"].iter().for_each(|key| put(&store, key, b"1").unwrap());
    let (renaming, (tell, told)) = (store.clone(), channel());
    let rename = move || {
        let ends = tell.clone();
        std::thread::spawn(move || ends.send(renaming.rename_prefix("a/", "b/").unwrap()));
        // It may have to wait for the flush.
        if let Ok(renamed) = told.recv_timeout(Duration::from_millis(200)) {
            tell.send(renamed).unwrap();
        }
        told
    };
    let (late, told) = channel();
    let mut synced = 0;
    let flush = || synced = syncs(|| store.flush().unwrap());
    assert!(fault::before(Call::Sync, 0, move || late.send(rename()).unwrap(), flush).1);
    assert!(told.recv().unwrap().recv().unwrap());
    synced += syncs(|| store.flush().unwrap());
    assert_eq!(synced, 3 + 2 + 1, "three files, the folder and the one above, and that behind the renaming");
}

#[test]
fn what_is_put_below_a_prefix_that_another_thread_erases_is_made_durable() {
    for flushes in [false, true] {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        let store = Arc::new(store);
        ["a/k", "a/l"].iter().for_each(|key| put(&store, key, b"1").unwrap());
        let (other, (tell, told)) = (store.clone(), channel());
        // The folder has left its name by then.
        let meanwhile = move || {
            let first = syncs(|| put(&other, "a/k", b"2").unwrap());
            if flushes {
                other.flush().unwrap();
            }
            tell.send(first + syncs(|| put(&other, "a/m", b"2").unwrap())).unwrap();
        };
        let erase = || store.erase_prefix("a/").unwrap();
        assert!(fault::before(Call::Unlink, 0, meanwhile, erase).1);
        assert_eq!(told.recv().unwrap() + store.durability.unsynced(), 2, "{flushes}");
    }
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    let store = Arc::new(store);
    put(&store, "a/k", b"1").unwrap();
    store.flush().unwrap();
    let other = store.clone();
    assert!(fault::before(Call::Rename, 0, move || other.flush().unwrap(), || store.erase_prefix("a/").unwrap()).1);
    assert_eq!(syncs(|| put(&store, "a/k", b"2").unwrap()), 1, "in place of a value that is durable");
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    put(&store, "a/k", b"1").unwrap();
    assert!(fault::with(&[fail(Call::Rename, libc::EBUSY), fail(Call::Unlink, libc::EIO)], || store.erase_prefix("a/")).0.is_err());
    assert!(value(&store, "a/k").is_some());
    assert_eq!(store.durability.unsynced(), 1, "what was not erased");
}

#[test]
fn what_a_flush_made_durable_while_it_was_erased_is_replaced_by_what_is_synced_first() {
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    let store = Arc::new(store);
    put(&store, "a/k", b"1").unwrap();
    let other = store.clone();
    let (erased, came) = fault::before(Call::Unlink, 0, move || other.flush().unwrap(), || store.erase("a/k"));
    assert!(came && erased.unwrap());
    assert_eq!(syncs(|| put(&store, "a/k", b"2").unwrap()), 1);
}

/// At whichever call it comes.
#[test]
fn what_another_thread_puts_while_a_key_is_erased_or_a_folder_replaced_stays_to_be_synced() {
    type Take = fn(&LocalStore) -> Result<bool>;
    let erase: Take = |store| store.erase("a/k");
    let replace: Take = |store| store.replace_prefix("a/", &mut |new| new.put("other", &[b"3"], Condition::None), &mut || ());
    // Where two names cannot be exchanged there are three renames.
    let renames = [fault::Fault { times: usize::MAX, ..fail(Call::RenameNew, libc::ENOSYS) }];
    for (take, call, fails, kept) in
        [(erase, Call::Unlink, &[][..], 0), (replace, Call::Rename, &renames[..], 1), (replace, Call::RenameNew, &[], 0)]
    {
        let mut stays = 0;
        for after in 0.. {
            let (_folder, store) = Folder::with_store(SyncMode::Batch);
            let store = Arc::new(store);
            put(&store, "a/k", b"1").unwrap();
            let (other, (tell, told)) = (store.clone(), channel());
            let event = move || tell.send(syncs(|| drop(put(&other, "a/k", b"2")))).unwrap();
            let (_, came) = fault::before(call, after, event, || fault::with(fails, || take(&store)));
            if !came {
                break;
            }
            let is_kept = told.recv().unwrap() + store.durability.unsynced() > 0;
            let is_there = value(&store, "a/k").is_some_and(|value| value == b"2");
            assert!(is_kept || !is_there, "{call:?} {after}");
            stays += usize::from(is_there);
        }
        assert!(stays >= kept, "{call:?}: {stays}");
    }
}

#[test]
fn a_flush_makes_durable_what_another_thread_fails_to_erase() {
    type Erase = fn(&LocalStore) -> Result<bool>;
    let cases: [(Erase, Call); 2] =
        [(|store| store.erase("a/k"), Call::Unlink), (|store| store.erase_prefix("a/").map(|()| true), Call::Rename)];
    for (erase, call) in cases {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        let store = Arc::new(store);
        put(&store, "a/k", b"1").unwrap();
        let (other, (tell, told)) = (store.clone(), channel());
        let flush = move || tell.send(syncs(|| other.flush().unwrap())).unwrap();
        let faults = [fail(Call::Rename, libc::EBUSY), fail(Call::Unlink, libc::EIO)];
        let ((erased, _), came) = fault::before(call, 0, flush, || fault::with(&faults, || erase(&store)));
        assert!(came && erased.is_err() && value(&store, "a/k").is_some());
        assert_eq!(told.recv().unwrap(), 3, "the file, its folder and the one above");
    }
}

#[test]
fn a_link_to_a_folder_that_is_erased_is_gone_behind_a_flush() {
    for (mode, expected) in [(SyncMode::None, [0, 0]), (SyncMode::Batch, [0, 1]), (SyncMode::Each, [1, 0])] {
        let (folder, store) = Folder::with_store(mode);
        put(&store, "k", b"1").unwrap();
        symlink(&folder.0, folder.file("link")).unwrap();
        store.flush().unwrap();
        let (erasing, flushing) = (syncs(|| store.erase_prefix("link/").unwrap()), syncs(|| store.flush().unwrap()));
        assert_eq!(([erasing, flushing], folder.file("link").exists()), (expected, false), "{mode:?}");
        symlink(&folder.0, folder.file("link")).unwrap();
        store.erase_prefix("link/").unwrap();
        let first = syncs(|| put(&store, "link/k", b"2").unwrap());
        assert!((first > 0) == (mode != SyncMode::None), "{mode:?}: in place of a value that is durable");
    }
}

#[test]
fn a_key_of_which_it_is_asked_has_its_value_synced_before_it_has_its_name() {
    for (mode, first) in [(SyncMode::None, 0), (SyncMode::Batch, 1), (SyncMode::Each, 2)] {
        let (_folder, store) = Folder::with_store(mode);
        put(&store, "other", b"1").unwrap();
        store.sync_first("k").unwrap();
        assert_eq!(syncs(|| store.put("k", &[b"1"], Condition::Absent).unwrap()), first, "{mode:?}");
        store.flush().unwrap();
        store.sync_first("late").unwrap();
        let failed = fault::failing(Call::Sync, 0, libc::EIO, || put(&store, "late", b"1").is_err());
        assert_eq!((failed, get(&store, "late", 9).unwrap().is_none()), (first > 0, first > 0), "{mode:?}");
    }
}

#[test]
fn new_keys_are_synced_early_when_there_are_too_many() {
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    put(&store, "a", b"1").unwrap();
    for i in 1..MAX_UNSYNCED - 1 {
        store.durability.remember(&format!("erased meanwhile/{i}"), FileId::default());
    }
    assert_eq!(syncs(|| put(&store, "a", b"2").unwrap()), 0, "one below the limit");
    assert_eq!(syncs(|| put(&store, "b", b"1").unwrap()), 3, "two files and the folder");
    assert_eq!(store.durability.unsynced(), 0);
}

#[test]
fn a_failed_sync_is_reported_for_ever_and_not_tried_again() {
    let (_folder, store) = Folder::with_store(SyncMode::Batch);
    for key in ["a", "b", "c"] {
        put(&store, key, b"1").unwrap();
    }
    let e = fault::with(&[fail(Call::Sync, libc::EIO)], || store.flush()).0.unwrap_err();
    assert_eq!((e.kind(), e.os_errno()), (ErrorKind::Io, libc::EIO));
    assert!(e.key().is_some_and(|key| ["a", "b", "c"].contains(&key)));
    assert_eq!(syncs(|| assert!(store.flush().is_err())), 0);
    put(&store, "d", b"1").unwrap();
    assert_eq!(syncs(|| assert!(store.flush().is_err())), 2, "others are still synced");
}

#[test]
fn what_cannot_be_opened_to_be_synced_is_synced_by_the_next_flush() {
    // The file, its folder, and the root.
    for after in 0..3 {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        put(&store, "a/k", b"1").unwrap();
        let e = fault::with(&[Fault { after, ..fail(Call::Open, libc::EMFILE) }], || store.flush()).0.unwrap_err();
        assert_eq!((e.kind(), e.key().is_some()), (ErrorKind::TooManyFiles, true), "open {after}");
        assert_eq!(syncs(|| store.flush().unwrap()), 1, "open {after}: what was not synced, once");
    }
}

#[test]
fn folders_are_synced_after_files_and_the_deepest_first() {
    for (nth, key) in ["a/b/c/k", "a/b/c/", "a/b/", "a/", "/"].into_iter().enumerate() {
        let (_folder, store) = Folder::with_store(SyncMode::Batch);
        put(&store, "a/b/c/k", b"1").unwrap();
        let e = fault::with(&[Fault { after: nth, ..fail(Call::Sync, libc::EIO) }], || store.flush()).0.unwrap_err();
        assert_eq!(e.key(), Some(key), "sync {nth}");
    }
}

#[test]
fn a_folder_that_cannot_be_synced_counts_as_synced() {
    let (_folder, store) = Folder::with_store(SyncMode::Each);
    put(&store, "k", b"1").unwrap();
    let folder_fails = |errno| [Fault { after: 1, ..fail(Call::Sync, errno) }];
    assert_eq!(fault::with(&folder_fails(libc::EINVAL), || put(&store, "k", b"2").is_ok()), (true, 0));
    let (result, _) = fault::with(&folder_fails(libc::EIO), || put(&store, "k", b"3"));
    assert_eq!(result.unwrap_err().kind(), ErrorKind::Io);
    assert_eq!(store.flush().unwrap_err().kind(), ErrorKind::Io);
}

#[test]
fn a_file_that_was_replaced_is_known_where_removed_files_keep_a_name_while_they_are_open() {
    for keeps in [false, true] {
        for is_erased in [false, true] {
            let (folder, store) = Folder::with_store(SyncMode::None);
            let open = || store.open("k").unwrap().unwrap();
            put(&store, "k", b"1").unwrap();
            let old = open();
            assert!(store.holds("k", &old).unwrap());
            let calls = [Call::Stat, Call::Open].map(|call| fault::count(call, || assert!(store.holds("k", &old).unwrap())));
            assert_eq!(calls, [1, 0], "the file system of this test tells it by the file");
            store.known.set_keeps_removed(keeps);
            assert!(store.holds("k", &old).unwrap());
            // What NFS does with a file that is open when another one gets its name.
            std::fs::rename(folder.file("k"), folder.file(".nfs01")).unwrap();
            if !is_erased {
                put(&store, "k", b"2").unwrap();
                assert!(store.holds("k", &open()).unwrap());
            }
            assert_eq!(store.holds("k", &old).unwrap(), !keeps, "{is_erased}");
            // Where another machine did it.
            let (gone, unused) = fault::with(&[fail(Call::Stat, libc::ESTALE)], || store.holds("k", &old).unwrap());
            assert_eq!((gone, unused), (false, 0));
            std::fs::remove_file(folder.file(".nfs01")).unwrap();
            assert!(!store.holds("k", &old).unwrap());
        }
    }
}

#[test]
fn without_exclusive_rename_a_link_or_a_look_takes_its_place() {
    for (mode, refusal) in MODES.into_iter().flat_map(|mode| [(mode, libc::EINVAL), (mode, libc::EPERM)]) {
        for no_link in [None, Some(libc::EPERM), Some(libc::EIO), Some(libc::ENOENT)] {
            let (folder, store) = Folder::with_store(mode);
            let mut faults = vec![fail(Call::RenameNew, refusal)];
            faults.extend(no_link.map(|errno| fail(Call::Rename, errno)));
            let (result, unused) = fault::with(&faults, || store.put("k", &[b"1"], Condition::Absent));
            result.unwrap_or_else(|e| panic!("{no_link:?}: {e}"));
            assert_eq!(unused, 0);
            let faults: Vec<_> = no_link.map(|errno| fail(Call::Rename, errno)).into_iter().collect();
            let e = fault::with(&faults, || store.put("k", &[b"2"], Condition::Absent)).0.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::Conflict);
            assert_eq!(value(&store, "k").unwrap(), b"1");
            assert_eq!(folder.names(""), ["k"]);
            assert_eq!(std::fs::metadata(folder.file("k")).unwrap().nlink(), 1);
        }
    }
}

#[test]
fn a_file_is_linked_to_a_key_and_stays_what_it_is() {
    for mode in MODES {
        let folder = Folder::new();
        let (from, to) = (folder.store(mode), LocalStore::open(&folder.0.join("other"), true, mode).unwrap());
        put(&from, "a/b", b"1").unwrap();
        let file = from.file("a/b").unwrap();
        assert!(to.link("x/y/k", &file, true).unwrap());
        assert_eq!(value(&to, "x/y/k").unwrap(), b"1");
        assert!(to.link("x/y/k", &file, true).unwrap(), "again");
        put(&to, "full", b"old").unwrap();
        assert!(!to.link("full", &file, false).unwrap());
        assert_eq!(value(&to, "full").unwrap(), b"old");
        assert!(to.link("free", &file, false).unwrap());
        let second = Fault { after: 1, ..fail(Call::Rename, libc::EMLINK) };
        assert!(!fault::with(&[second], || to.link("full", &file, true).unwrap()).0, "the value stays where there can be no link");
        assert_eq!(value(&to, "full").unwrap(), b"old");
        assert!(to.link("full", &file, true).unwrap());
        assert_eq!(value(&to, "full").unwrap(), b"1");
        assert_eq!(names_in(&folder.0.join("other")), ["free", "full", "x"]);
        // What a reader has open counts as replaced: which of its names was it?
        let Some(Object::File(open)) = to.open("full").unwrap() else { panic!() };
        assert!(!open.still_current().unwrap());
        put(&to, "full", b"new").unwrap();
        to.flush().unwrap();
        assert_eq!(value(&from, "a/b").unwrap(), b"1");
        assert_eq!(from.file("none"), None);
        assert!(!to.link("k", &folder.0.join("none"), true).unwrap());
        assert!(!to.link("k", &folder.0, true).unwrap(), "a folder");
        assert_eq!(to.link(LOCK_NAME, &file, true).unwrap_err().kind(), ErrorKind::Name);
        let reader = LocalStore::open(&folder.0.join("other"), false, mode).unwrap();
        assert_eq!(reader.link("k", &file, true).unwrap_err().kind(), ErrorKind::ReadOnly);
    }
}

/// A store in the folder that locks in this mode.
fn locking(folder: &Folder, lock: LockMode) -> LocalStore {
    LocalStore::open(&folder.0.join("s"), true, FileOptions { sync: SyncMode::None, lock, ..FileOptions::default() }).unwrap()
}

/// Every lock is refused.
fn refused(errno: i32) -> [Fault; 1] {
    [Fault { times: 100, ..fail(Call::Lock, errno) }]
}

#[test]
fn without_locks_of_the_file_system_a_lock_is_none_or_an_error_as_the_mode_says() {
    for use_of in [LockUse::Rare, LockUse::Often] {
        for errno in [libc::ENOLCK, libc::ENOTSUP, libc::ENOSYS, libc::EPERM] {
            let folder = Folder::new();
            // That of a node, which no lock makes that is taken often.
            std::fs::create_dir_all(folder.file("d")).unwrap();
            let store = locking(&folder, LockMode::Try);
            assert_eq!(store.capabilities().lock_refused, 0);
            assert!(fault::with(&refused(errno), || store.lock_key("d/", "d/k", use_of)).0.unwrap().is_none());
            assert_eq!(store.capabilities().lock_refused, errno, "the refusal can be told");
            let store = locking(&folder, LockMode::Require);
            let e = fault::with(&refused(errno), || store.lock_key("d/", "d/k", use_of)).0.err().unwrap();
            let kind = if errno == libc::EPERM { ErrorKind::Permission } else { ErrorKind::Io };
            assert_eq!((e.kind(), e.os_errno()), (kind, errno));
            assert!(e.message().contains("\"file.lock\""), "{e}");
            assert_eq!(errno == libc::ENOLCK, !folder.names("d").is_empty(), "where no file can be locked none stays");
        }
        let folder = Folder::new();
        let store = locking(&folder, LockMode::None);
        let locks = fault::count(Call::Lock, || assert!(store.lock_key("d/", "d/k", use_of).unwrap().is_none()));
        assert_eq!((locks, folder.file("d").exists()), (0, false));
    }
}

#[test]
fn a_process_that_is_refused_locks_leaves_the_lock_file_of_those_that_have_some() {
    for use_of in [LockUse::Rare, LockUse::Alone, LockUse::Often] {
        for errno in [libc::ENOLCK, libc::ENOTSUP, libc::ENOSYS, libc::EPERM, libc::EINVAL] {
            let folder = Folder::new();
            std::fs::create_dir_all(folder.file("d")).unwrap();
            let (holder, other, without) = (folder.store(SyncMode::None), folder.store(SyncMode::None), folder.store(SyncMode::None));
            let held = holder.lock_key("d/", "d/k", LockUse::Rare).unwrap();
            let watched = other.cut_mark("d/", true).unwrap();
            assert!(fault::with(&refused(errno), || without.lock_key("d/", "d/k", use_of)).0.unwrap().is_none());
            let now = other.cut_mark("d/", true).unwrap();
            assert!(!CutMark::was_cut(watched.as_ref(), now.as_ref()), "{use_of:?}, errno {errno}: nothing was cut");
            assert_eq!(other.lock_key("d/", "d/k", LockUse::Alone).err().unwrap().kind(), ErrorKind::Again, "{use_of:?}, errno {errno}");
            without.note_cut("d/").unwrap();
            assert!(
                CutMark::was_cut(watched.as_ref(), other.cut_mark("d/", true).unwrap().as_ref()),
                "who has no locks tells of cuts, too"
            );
            drop((watched, now, without));
            assert_eq!(folder.names("d"), [LOCK_NAME]);
            drop(held);
            assert_eq!(folder.names("d"), [""; 0]);
        }
    }
}

#[test]
fn a_lock_file_that_was_made_for_a_refused_lock_goes_unless_it_was_replaced() {
    type Change = fn(&Folder);
    let changes: [(Change, bool); 3] = [
        (|_| {}, false),
        // By one that is refused, too: nobody else would remove it.
        (|folder| std::fs::write(folder.file(LOCK_NAME), b"of a cut").unwrap(), false),
        (
            |folder| {
                std::fs::rename(folder.file(LOCK_NAME), folder.file("old")).unwrap();
                std::fs::write(folder.file(LOCK_NAME), b"").unwrap();
            },
            true,
        ),
    ];
    for (change, stays) in changes {
        let folder = Folder::new();
        std::fs::create_dir_all(folder.file("")).unwrap();
        let file = std::fs::File::create_new(folder.file(LOCK_NAME)).unwrap();
        change(&folder);
        let path = super::path::c_path(&folder.file(LOCK_NAME)).unwrap();
        super::lock::remove_unlocked(crate::store::os::CWD, &path, std::os::fd::AsFd::as_fd(&file));
        assert_eq!(folder.file(LOCK_NAME).exists(), stays);
    }
}

#[test]
fn failures_and_signals_while_locking_are_no_lack_of_locks() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    std::fs::create_dir_all(folder.file("d")).unwrap();
    let lock = |errno| fault::with(&[fail(Call::Lock, errno)], || store.lock_key("d/", "d/k", LockUse::Rare)).0;
    assert_eq!(lock(libc::EIO).err().unwrap().kind(), ErrorKind::Io);
    for (call, after, errno, expected) in [
        (Call::Lock, 1, libc::EACCES, ErrorKind::Again),
        (Call::Lock, 1, libc::EAGAIN, ErrorKind::Again),
        // The first two only ask with whom the file is to be shared.
        (Call::Stat, 2, libc::EACCES, ErrorKind::Permission),
        (Call::Stat, 3, libc::EACCES, ErrorKind::Permission),
    ] {
        let failing = [Fault { after, ..fail(call, errno) }];
        let e = fault::with(&failing, || store.lock_key("d/", "d/k", LockUse::Alone)).0.err().unwrap();
        assert_eq!(e.kind(), expected, "{call:?}, errno {errno} behind {after}: {e}");
    }
    assert!(lock(libc::EINTR).unwrap().is_some());
    assert_eq!(store.capabilities().lock_refused, 0);
    store.put("d/k", &[b"1"], Condition::None).unwrap();
    let version = store.open("d/k").unwrap().unwrap().version().unwrap();
    let matching = || store.put("d/k", &[b"2"], Condition::Match(version));
    fault::with(&refused(libc::ENOLCK), matching).0.unwrap();
}

#[test]
fn a_key_has_one_lock_whichever_folder_above_it_a_store_begins_in() {
    let folder = Folder::new();
    let (outer, inner) = (folder.store(SyncMode::None), LocalStore::open(&folder.file("a/b"), true, SyncMode::None).unwrap());
    put(&outer, "a/b/k", b"1").unwrap();
    for (below, key) in [("a/b/", "a/b/k"), ("a/b/", "a/b/c/0/0"), ("a/b/c/", "a/b/c/0/0")] {
        let (below_inner, key_inner) = (&below["a/b/".len()..], &key["a/b/".len()..]);
        let held = outer.lock_key(below, key, LockUse::Rare).unwrap();
        let refused = inner.lock_key(below_inner, key_inner, LockUse::Alone).err().unwrap();
        assert_eq!(refused.kind(), ErrorKind::Again, "{key}");
        drop(held);
        assert!(inner.lock_key(below_inner, key_inner, LockUse::Alone).unwrap().is_some(), "{key}");
    }
}

#[test]
fn a_lock_file_goes_with_the_last_lock_or_with_the_store() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    let lock = |store: &LocalStore, key: &str, often| store.lock_key("d/", key, often).unwrap().unwrap();
    let (one, two) = (lock(&store, "d/a", LockUse::Rare), lock(&store, "d/b", LockUse::Rare));
    assert_eq!(folder.names("d"), [LOCK_NAME]);
    drop(one);
    assert_eq!(folder.names("d"), [LOCK_NAME], "another one holds a lock");
    drop(two);
    assert_eq!(folder.names("d"), [""; 0]);
    drop(lock(&store, "d/a", LockUse::Often));
    assert_eq!(folder.names("d"), [LOCK_NAME], "chunks are locked again");
    let other = folder.store(SyncMode::None);
    let held = lock(&other, "d/b", LockUse::Often);
    drop(store);
    assert_eq!(folder.names("d"), [LOCK_NAME], "another store has it locked");
    drop(held);
    assert!(other.rename_prefix("d/", "e/").unwrap());
    assert_eq!(folder.names("e"), [LOCK_NAME]);
    drop(other);
    assert_eq!(folder.names("e"), [""; 0], "it goes from where it is by then");
    let store = folder.store(SyncMode::None);
    fault::numbering(0, || drop(lock(&store, "d/a", LockUse::Rare)));
    assert_eq!(folder.names("d"), [LOCK_NAME], "without numbers nobody could tell that another one was made");
}

#[test]
fn a_cut_is_told_to_all_who_watch_the_folder_and_the_file_goes_with_a_lock() {
    let folder = Folder::new();
    let (store, reader) = (folder.store(SyncMode::None), LocalStore::open(&folder.0.join("s"), false, SyncMode::None).unwrap());
    let mark = || reader.cut_mark("d/", true).unwrap();
    let hold = || store.lock_key("d/", "d/k", LockUse::Alone).unwrap();
    let was_cut = |then: &Option<CutMark>| CutMark::was_cut(then.as_ref(), mark().as_ref());
    let before = mark();
    assert!(before.is_none());
    let held = hold();
    let first = mark();
    assert!(first.is_some() && !was_cut(&before) && !was_cut(&first));
    store.note_cut("d/").unwrap();
    assert!(was_cut(&before) && was_cut(&first));
    let second = mark();
    drop(held);
    assert!(was_cut(&first) && !was_cut(&second));
    let held = hold();
    assert!(!was_cut(&second));
    store.note_cut("d/").unwrap();
    drop(held);
    assert!(was_cut(&second));
    // Another folder of this name.
    std::fs::rename(folder.file("d"), folder.file("e")).unwrap();
    assert!(was_cut(&second));
    std::fs::rename(folder.file("e"), folder.file("d")).unwrap();
    drop((first, second));
    assert_eq!(folder.names("d"), [LOCK_NAME], "locks of other machines may not be seen here");
    drop(hold());
    assert_eq!(folder.names("d"), [""; 0]);
    // Without a file that is open.
    let held = hold();
    let then = reader.cut_mark("d/", false).unwrap();
    store.note_cut("d/").unwrap();
    assert!(was_cut(&then));
    for keep in [false, true] {
        let e = fault::with(&[Fault { times: 2, ..fail(Call::Open, libc::EMFILE) }], || reader.cut_mark("d/", keep)).0.err().unwrap();
        assert_eq!(e.kind(), ErrorKind::TooManyFiles);
    }
    let e = fault::with(&[fail(Call::Open, libc::EMFILE)], || store.note_cut("d/")).0.unwrap_err();
    assert_eq!(e.kind(), ErrorKind::TooManyFiles, "those who watch were not told");
    drop(held);
    assert_eq!(folder.names("d"), [""; 0]);
}

#[test]
fn a_look_finds_whoever_holds_a_lock_and_leaves_nothing() {
    let folder = Folder::new();
    let (store, other) = (folder.store(SyncMode::None), folder.store(SyncMode::None));
    let look = |key: &str| other.lock_key("d/", key, LockUse::Look).map(|held| assert!(held.is_none())).map_err(|e| e.kind());
    assert_eq!((look("d/k"), folder.file("d").exists()), (Ok(()), false));
    // Nor is a folder made for what changes again and again in it: the node that it was of is gone.
    assert!(store.lock_key("d/", "d/k", LockUse::Often).unwrap().is_none() && !folder.file("d").exists());
    let held = store.lock_key("d/", "d/k", LockUse::Alone).unwrap();
    assert_eq!((look("d/k"), look("d/k"), look("d/l")), (Err(ErrorKind::Again), Err(ErrorKind::Again), Ok(())));
    // Looking keeps nobody from the lock, not even while the file is there.
    drop(held);
    let held = store.lock_key("d/", "d/l", LockUse::Alone).unwrap();
    assert_eq!(look("d/k"), Ok(()));
    assert!(store.lock_key("d/", "d/k", LockUse::Alone).unwrap().is_some());
    drop(held);
    drop((store, other));
    assert!(!folder.file("d").exists());
}

#[test]
fn a_lock_file_that_a_copy_by_links_has_too_stays_usable_in_both() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    ["d/k", "copy/k"].iter().for_each(|key| put(&store, key, b"1").unwrap());
    drop(store.lock_key("d/", "d/k", LockUse::Often).unwrap());
    std::fs::hard_link(folder.file("d").join(LOCK_NAME), folder.file("copy").join(LOCK_NAME)).unwrap();
    drop(store);
    let lock = |below: &str, often| folder.store(SyncMode::None).lock_key(below, "k", often).map(drop);
    for often in [LockUse::Rare, LockUse::Often] {
        assert!(lock("copy/", often).is_ok() && lock("d/", often).is_ok(), "{often:?}");
    }
    std::fs::remove_dir_all(folder.file("copy")).unwrap();
    lock("d/", LockUse::Rare).unwrap();
    assert_eq!(folder.names("d"), ["k"], "the last name goes");
}

#[test]
fn a_lock_on_an_erased_lock_file_is_taken_again_on_the_new_one() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    let first = store.lock_key("", "k", LockUse::Rare).unwrap().unwrap();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| {
            let held = store.lock_key("", "k", LockUse::Rare).unwrap();
            held.is_some() && folder.file(LOCK_NAME).exists()
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!second.is_finished(), "the lock is exclusive");
        std::fs::remove_file(folder.file(LOCK_NAME)).unwrap();
        drop(first);
        assert!(second.join().unwrap());
    });
}

#[test]
fn values_of_every_size_around_the_buffer_are_read_whole() {
    let (_folder, store) = Folder::with_store(SyncMode::None);
    for len in [0, 1, FIRST_READ - 1, FIRST_READ, FIRST_READ + 1, 2 * FIRST_READ, 5 * FIRST_READ + 3] {
        let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        put(&store, "k", &bytes).unwrap();
        let object = store.open("k").unwrap().unwrap();
        for capacity in [0, len, len + 1, FIRST_READ, 7 * FIRST_READ] {
            let mut buf = Vec::with_capacity(capacity);
            object.read_whole(&mut buf, len).unwrap();
            assert!(buf == bytes, "{len} bytes into {capacity}");
            if len > 0 {
                assert_eq!(object.read_whole(&mut buf, len - 1).unwrap_err().kind(), ErrorKind::Limit);
            }
        }
    }
}

#[test]
fn a_value_that_fits_the_buffer_costs_no_stat_and_one_of_known_length_one_read() {
    let (_folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "k", &[7; 5000]).unwrap();
    let one_read =
        [Fault { after: 1, ..fail(Call::Read, libc::EIO) }, fail(Call::Stat, libc::EIO), Fault { after: 1, ..fail(Call::Open, libc::EIO) }];
    let mut buf = Vec::with_capacity(4096);
    let reads = fault::count(Call::Read, || store.open("k").unwrap().unwrap().read_whole(&mut buf, 1 << 20).unwrap());
    assert_eq!((buf.len(), reads), (5000, 2), "the second read finds the end");
    let stats = fault::count(Call::Stat, || store.open("k").unwrap().unwrap().read_whole(&mut buf, 1 << 20).unwrap());
    assert_eq!((buf.len(), stats), (5000, 0));
    let (result, unused) = fault::with(&one_read, || store.open("k").unwrap().unwrap().read_exact_whole(&mut [0; 5000]));
    result.unwrap();
    assert_eq!(unused, 3);
    let look = || assert!(store.open("none").unwrap().is_none());
    assert_eq!((fault::count(Call::Open, look), fault::count(Call::Stat, look)), (1, 1), "whether the root was removed");
}

/// Files take each other's place in a folder of many names, on the file systems at hand.
#[test]
#[cfg(target_os = "linux")]
fn a_listing_has_each_name_that_is_there_all_the_time_while_others_replace_files() {
    const NAMES: usize = 4000;
    const LISTINGS: usize = 20;
    for top in [std::env::temp_dir(), "/dev/shm".into()].iter().filter(|top| top.is_dir()) {
        let folder = Folder(TestFolder::below(top, "local"));
        let store = folder.store(SyncMode::None);
        let name = |i: usize| format!("c/{i}");
        (0..NAMES).for_each(|i| put(&store, &name(i), b"1").unwrap());
        let ends = AtomicBool::new(false);
        let missed = std::thread::scope(|threads| {
            threads.spawn(|| {
                // Each one in its turn, and one again and again.
                let all = (0..NAMES).cycle().flat_map(|i| [i, 7]);
                all.take_while(|_| !ends.load(Ordering::Relaxed)).for_each(|i| put(&store, &name(i), b"2").unwrap());
            });
            let missed = |_: &usize| {
                let (mut each, mut names) = (0, Listing::default());
                let mut count = |_: &str| {
                    each += 1;
                    Ok(())
                };
                store.list_keys("c/", ListInto::Each(&mut count)).unwrap();
                store.list_keys("c/", ListInto::Folder(&mut names)).unwrap();
                [each, names.keys.len()] != [NAMES; 2]
            };
            let missed = (0..LISTINGS).filter(missed).count();
            ends.store(true, Ordering::Relaxed);
            missed
        });
        assert_eq!(missed, 0, "of {LISTINGS} listings in {}", top.display());
    }
}

#[test]
fn a_folder_that_nobody_changes_is_listed_once_and_looked_at_once() {
    let (_folder, store) = Folder::with_store(SyncMode::None);
    ["a/b/k", "a/k", "k"].iter().for_each(|key| put(&store, key, b"1").unwrap());
    std::thread::sleep(std::time::Duration::from_millis(40));
    let each = || store.list_keys("", ListInto::Each(&mut |_| Ok(()))).unwrap();
    let names = || store.list_keys("a/", ListInto::Folder(&mut Listing::default())).unwrap();
    let calls = |list: &dyn Fn()| [Call::Open, Call::Stat, Call::List].map(|call| fault::count(call, list));
    // Two looks are at the root; the last call for the names of a folder tells that there are no more.
    assert_eq!((calls(&each), calls(&names)), ([3, 2 + 3, 6], [1, 2 + 1, 2]));
}

#[test]
fn only_file_systems_of_this_machine_tell_by_the_links_of_a_folder_that_none_is_in_it() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "a/k", b"1").unwrap();
    let looks = |local| fault::on_file_systems(local, || fault::count(Call::Open, || store.check_erase("a/").unwrap()));
    let tells = std::fs::metadata(folder.file("a")).unwrap().nlink() == 2;
    assert_eq!([looks(true), looks(false)], [usize::from(!tells), 1]);
}

#[test]
fn a_link_that_was_made_though_the_call_says_that_the_name_is_taken_counts() {
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "taken", b"1").unwrap();
    let root = store.root().unwrap().unwrap();
    // Without numbers of files, or where all have the same one, none of two names is one of the other.
    for (to, number, expected) in [("k", None, true), ("taken", None, false), ("taken", Some(0), false), ("taken", Some(1), false)] {
        let (mut temp, _fd) = store.temp_file(root, to, None, &mut Made::new()).unwrap();
        let to = KeyPath::of_key(to).unwrap();
        // Of an answer that was lost NFS makes the call again.
        if expected {
            os::link(root, temp.path.as_c(), to.as_c()).unwrap();
        }
        let mut rename = || temp.rename_new(&to, &AtomicBool::new(true), &Mutex::default()).unwrap();
        let renamed = match number {
            Some(number) => fault::numbering(number, rename),
            None => rename(),
        };
        assert_eq!(renamed, expected, "{number:?}");
    }
    assert_eq!(folder.names(""), ["k", "taken"]);
    assert_eq!(value(&store, "taken").unwrap(), b"1");
}

/// A kill between the renames that replace a folder, where one cannot take the other's name at once, leaves the old one with no other name.
#[test]
fn a_folder_that_a_killed_writer_put_aside_is_kept_until_its_name_is_taken_and_replaced_again() {
    use super::beside::{Purpose, place_of};
    let (folder, store) = Folder::with_store(SyncMode::None);
    put(&store, "k", b"1").unwrap();
    let mut aside = place_of(&folder.file("a"), Purpose::Replaced).unwrap().unwrap().into_os_string();
    aside.push(".tmp");
    let aside = PathBuf::from(aside);
    std::fs::create_dir_all(&aside).unwrap();
    std::fs::write(aside.join("old"), "1").unwrap();
    let other = folder.store(SyncMode::None);
    put(&other, "l", b"1").unwrap();
    other.flush().unwrap();
    assert_eq!(std::fs::read(aside.join("old")).unwrap(), b"1");
    assert_eq!(unlisted(&folder.file("")).unwrap(), [(aside.clone(), Unlisted::OfProcess)]);
    put(&store, "a/k", b"1").unwrap();
    let cannot = Fault { after: 1, ..fail(Call::RenameNew, libc::EINVAL) };
    let mut build = |new: SharedStore| new.put("k", &[b"2"], Condition::Absent);
    let (done, unused) = fault::with(&[cannot], || store.replace_prefix("a/", &mut build, &mut || ()));
    assert_eq!((done.unwrap(), unused, value(&store, "a/k").unwrap()), (true, 0, b"2".to_vec()));
    assert_eq!(folder.names(""), ["a", "k", "l"]);
}
