//! Local stores under real conditions: several processes, kills, full quotas, open-file limits.
//!
//! Conditions that belong to a whole process are made in a child: this test binary again, told by an environment
//! variable what to do.

use ozarr::error::{ErrorKind, Result};
use ozarr::store::local::{LocalStore, SyncMode};
use ozarr::store::suite::{TestFolder, names_in};
use ozarr::store::zip::open_shared;
use ozarr::store::{Condition, LockUse, Storage, StorageExt, get};
use std::any::Any;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a child does.
const JOB: &str = "OZARR_TEST_STORE_JOB";
/// The folder that it does it in.
const ROOT: &str = "OZARR_TEST_STORE_ROOT";

/// A folder that is removed at the end of a test.
struct Folder(TestFolder);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = TestFolder::below(Path::new(env!("CARGO_TARGET_TMPDIR")), name);
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn store(&self) -> LocalStore {
        open(&self.0)
    }

    /// Starts this binary again to do a job in the folder.
    fn child(&self, job: &str) -> Child {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture", "--test-threads=1"]).env(JOB, job).env(ROOT, &*self.0).stdout(Stdio::null());
        command.spawn().unwrap()
    }

    fn run(&self, job: &str) {
        assert!(self.child(job).wait().unwrap().success(), "{job}");
    }

    fn names(&self) -> Vec<String> {
        names_in(&self.0)
    }
}

fn open(root: &Path) -> LocalStore {
    LocalStore::open(root, true, SyncMode::Batch).unwrap()
}

fn put(store: &dyn Storage, key: &str, value: &[u8]) -> Result<()> {
    store.put(key, &[value], Condition::None)
}

/// The jobs of children; as a test of its own it does nothing.
#[test]
fn child() {
    let (Ok(job), Some(root)) = (std::env::var(JOB), std::env::var_os(ROOT)) else { return };
    let store = open(Path::new(&root));
    match &*job {
        "count" => count(&store),
        "count in one of many" => count_in_one_of_many(&store),
        "replace for ever" => replace_for_ever(&store),
        "file size" => limited_file_size(&store),
        "open files" => limited_open_files(&store),
        "no standard files" => without_standard_files(&store),
        "hold" => {
            let _held = store.lock_key("n/", "n/k", LockUse::Rare).unwrap().unwrap();
            put(&store, "n/held", b"1").unwrap();
            std::thread::sleep(Duration::from_secs(3600));
        }
        other => panic!("no such job: {other}"),
    }
}

/// Each value is two numbers, one counted by every process; both are read and written under the lock.
fn count(store: &LocalStore) {
    for _ in 0..200 {
        let _held = store.lock_key("n/", "n/counters", LockUse::Rare).unwrap().expect("this file system has locks");
        let mut value = get(store, "n/counters", 100).unwrap().unwrap_or_else(|| vec![0; 16]);
        for counter in value.chunks_exact_mut(8) {
            let next = u64::from_le_bytes(counter.try_into().unwrap()) + 1;
            counter.copy_from_slice(&next.to_le_bytes());
        }
        put(store, "n/counters", &value).unwrap();
    }
}

#[test]
fn processes_that_count_under_a_lock_lose_nothing() {
    let folder = Folder::new("count");
    let children: Vec<Child> = (0..3).map(|_| folder.child("count")).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let value = get(&folder.store(), "n/counters", 100).unwrap().unwrap();
    let expected: Vec<u8> = [600u64, 600].iter().flat_map(|n| n.to_le_bytes()).collect();
    assert_eq!(value, expected);
    assert_eq!(folder.store().list_dir("n/").unwrap().keys, ["counters"]);
}

/// Counts in one key after the other. Locks of both kinds make the lock file of the folder come and go all the time.
fn count_in_one_of_many(store: &LocalStore) {
    let mut others = Some(store.lock_key("n/", "n/other", LockUse::Often).unwrap());
    for i in 0..400 {
        let key = format!("n/{}", i % 2);
        let often = if i % 7 == 0 { LockUse::Often } else { LockUse::Rare };
        let _held = store.lock_key("n/", &key, often).unwrap().expect("this file system has locks");
        let now = get(store, &key, 8).unwrap().map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()));
        put(store, &key, &(now + 1).to_le_bytes()).unwrap();
        others.take();
    }
}

#[test]
fn locks_hold_while_their_file_is_removed_and_made_anew() {
    let folder = Folder::new("lock-file");
    // What is locked again and again has its folder.
    put(&folder.store(), "n/zarr.json", b"{}").unwrap();
    let children: Vec<Child> = (0..6).map(|_| folder.child("count in one of many")).collect();
    let mut killed: Vec<Child> = Vec::new();
    for _ in 0..4 {
        killed.push(folder.child("hold"));
        std::thread::sleep(Duration::from_millis(30));
        killed.last_mut().unwrap().kill().unwrap();
    }
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    for child in &mut killed {
        child.wait().unwrap();
    }
    let store = folder.store();
    for key in ["n/0", "n/1"] {
        assert_eq!(get(&store, key, 8).unwrap().unwrap(), 1200u64.to_le_bytes(), "{key}: changes of all processes");
    }
    drop(store.lock_key("n/", "n/0", LockUse::Rare).unwrap());
    assert!(!folder.0.join("n/.ozarr.lock").exists(), "who comes last removes the file, also that of a killed process");
}

fn replace_for_ever(store: &LocalStore) {
    loop {
        for tag in 0..=255u8 {
            put(store, "k", &vec![tag; 100_000 + usize::from(tag)]).unwrap();
        }
    }
}

#[test]
fn a_killed_writer_leaves_the_old_or_the_new_value() {
    let folder = Folder::new("kill");
    let store = folder.store();
    put(&store, "k", &[1; 100_001]).unwrap();
    for round in 0..20 {
        let mut child = folder.child("replace for ever");
        std::thread::sleep(Duration::from_millis(20 + 3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        let value = get(&store, "k", 1 << 20).unwrap().unwrap();
        assert_eq!(value, vec![value[0]; 100_000 + usize::from(value[0])]);
        assert_eq!(store.list_dir("").unwrap().keys, ["k"], "what a kill leaves is not listed");
    }
    store.erase_prefix("").unwrap();
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn the_lock_of_a_killed_process_is_free() {
    let folder = Folder::new("killed-lock");
    let store = folder.store();
    let mut child = folder.child("hold");
    while get(&store, "n/held", 10).unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    drop(store.lock_key("n/", "n/another key", LockUse::Rare).unwrap().unwrap());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.lock_key("n/", "n/k", LockUse::Rare).unwrap().is_some());
        std::thread::sleep(Duration::from_millis(50));
        assert!(!waiting.is_finished(), "another process holds the lock");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn a_lock_is_given_back_though_a_forked_child_has_its_file_open() {
    let folder = Folder::new("fork");
    let store = folder.store();
    let held = store.lock_key("", "k", LockUse::Rare).unwrap().unwrap();
    // SAFETY: the child only waits and ends, without running anything of this process.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // SAFETY: both calls are allowed in a forked child.
        unsafe {
            libc::sleep(300);
            libc::_exit(0);
        }
    }
    assert!(pid > 0);
    drop(held);
    // Were the lock the child's, too, this would wait until it ends.
    assert!(store.lock_key("", "k", LockUse::Rare).unwrap().is_some());
    let mut status = 0;
    // SAFETY: the child of this test.
    unsafe {
        assert_eq!(libc::waitpid(pid, &mut status, libc::WNOHANG), 0, "the child is still there");
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, &mut status, 0);
    }
}

#[test]
fn a_lock_ends_with_its_process_though_a_forked_child_lives_on() {
    let folder = Folder::new("fork-ended");
    let file = || folder.store().lock_key("", "k", LockUse::Alone).map(|held| kept(held.unwrap()));
    // A new archive at first, and then one that is there.
    let archive = || {
        let store = open_shared(&folder.0.join("x.zip"), true, SyncMode::None)?;
        put(&*store, "k", b"1").and_then(|()| store.flush()).map(|()| kept(store))
    };
    survives_fork(&file);
    survives_fork(&archive);
    survives_fork(&archive);
}

fn kept(held: impl Any) -> Box<dyn Any> {
    Box::new(held)
}

/// Has a child take what only one can have, which forks and ends, and takes it while the grandchild lives.
fn survives_fork(take: &dyn Fn() -> Result<Box<dyn Any>>) {
    let mut ends = [0; 2];
    // SAFETY: the array holds two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    // SAFETY: the child uses a store of its own, forks, and ends without giving anything back, as after a kill.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let held = take();
        // SAFETY: the grandchild only waits, until the test closes its end of the pipe.
        unsafe {
            if libc::fork() == 0 {
                libc::close(ends[1]);
                libc::read(ends[0], [0u8; 1].as_mut_ptr().cast(), 1);
                libc::_exit(0);
            }
            libc::_exit(if held.is_ok() { 0 } else { 1 });
        }
    }
    let mut status = -1;
    // SAFETY: the child of this test, and its own descriptors.
    unsafe {
        assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
        libc::close(ends[0]);
    }
    assert_eq!(status, 0, "the child had the lock");
    // The grandchild has begun perhaps, and has not closed the file yet.
    let until = Instant::now() + Duration::from_secs(20);
    let held = loop {
        match take() {
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            held => break held.map(drop),
        }
    };
    // SAFETY: as above.
    unsafe { libc::close(ends[1]) };
    held.unwrap();
}

fn limit(resource: libc::__rlimit_resource_t, value: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is valid for both calls.
    unsafe {
        assert_eq!(libc::getrlimit(resource, &mut limit), 0);
        limit.rlim_cur = value;
        assert_eq!(libc::setrlimit(resource, &limit), 0);
    }
}

fn limited_file_size(store: &LocalStore) {
    put(store, "k", b"old").unwrap();
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    limit(libc::RLIMIT_FSIZE, 5000);
    let parts: [&[u8]; 3] = [&[1; 3000], &[2; 3000], &[3; 3000]];
    let e = store.put("k", &parts, Condition::None).unwrap_err();
    assert_eq!((e.kind(), e.os_errno()), (ErrorKind::NoSpace, libc::EFBIG));
    put(store, "small", &[1; 5000]).unwrap();
    store.flush().unwrap();
}

#[test]
fn a_write_that_finds_no_room_keeps_the_old_value() {
    let folder = Folder::new("size");
    folder.run("file size");
    assert_eq!(get(&folder.store(), "k", 10).unwrap().unwrap(), b"old");
    assert_eq!(folder.names(), ["k", "small"], "no temporary file is left");
}

/// Ends the process itself: whether it failed cannot be printed.
fn without_standard_files(store: &LocalStore) {
    put(store, "k", b"1").unwrap();
    // SAFETY: nothing else in this process uses the three descriptors.
    (0..3).for_each(|fd| assert_eq!(unsafe { libc::close(fd) }, 0));
    let object = store.open("k");
    // SAFETY: asking for a descriptor's flags changes nothing.
    let taken = (0..3).any(|fd| unsafe { libc::fcntl(fd, libc::F_GETFD) } != -1);
    let held = matches!(&object, Ok(Some(_))) && put(store, "k", b"2").is_ok();
    // SAFETY: the call ends the process.
    unsafe { libc::_exit(i32::from(taken || !held)) };
}

#[test]
fn no_file_takes_the_place_of_standard_output_in_a_program_without_one() {
    let folder = Folder::new("standard");
    folder.run("no standard files");
    assert_eq!(get(&folder.store(), "k", 10).unwrap().unwrap(), b"2");
}

fn limited_open_files(store: &LocalStore) {
    put(store, "k", b"1").unwrap();
    let objects: Vec<_> = {
        limit(libc::RLIMIT_NOFILE, 32);
        let mut objects = Vec::new();
        loop {
            match store.open("k") {
                Ok(object) => objects.push(object.unwrap()),
                Err(e) => {
                    assert_eq!((e.kind(), e.os_errno()), (ErrorKind::TooManyFiles, libc::EMFILE));
                    break;
                }
            }
        }
        objects
    };
    assert!(objects.len() > 8 && objects.len() < 32);
    let too_many = |e: ozarr::error::Error| assert_eq!(e.kind(), ErrorKind::TooManyFiles);
    too_many(store.open("none").err().unwrap());
    too_many(put(store, "k", b"2").unwrap_err());
    too_many(store.list_dir("").unwrap_err());
    too_many(store.lock_key("", "k", LockUse::Rare).err().unwrap());
    drop(objects);
    put(store, "k", b"3").unwrap();
    for _ in 0..1000 {
        assert_eq!(get(store, "k", 10).unwrap().unwrap(), b"3");
        assert!(put(store, "k/below", b"1").is_err());
        assert!(store.open("k/below").is_err());
        drop(store.lock_key("", "k", LockUse::Rare).unwrap());
    }
}

#[test]
fn too_many_open_files_are_an_error_and_none_leaks() {
    let folder = Folder::new("files");
    folder.run("open files");
    assert_eq!(folder.names(), ["k"], "a lock leaves no file");
}

#[test]
fn a_folder_in_the_place_of_a_value_is_an_error_and_so_is_a_value_in_the_place_of_a_folder() {
    let folder = Folder::new("places");
    let store = folder.store();
    put(&store, "a/b", b"1").unwrap();
    let e = get(&store, "a", 10).unwrap_err();
    assert_eq!((e.kind(), e.os_errno(), e.key()), (ErrorKind::Io, libc::EISDIR, Some("a")));
    let e = get(&store, "a/b/c", 10).unwrap_err();
    assert_eq!((e.kind(), e.os_errno(), e.key()), (ErrorKind::Location, libc::ENOTDIR, Some("a/b/c")));
    assert!(e.message().contains("/a/b is a file, expected a directory"), "{e}");
    assert!(get(&store, "a/c", 10).unwrap().is_none());
}

#[test]
fn signals_do_not_disturb() {
    extern "C" fn nothing(_: libc::c_int) {}
    let folder = Folder::new("signals");
    let store = folder.store();
    let bytes: Vec<u8> = (0..2_000_000u32).map(|i| (i >> 5) as u8).collect();
    // SAFETY: the handler does nothing; without SA_RESTART, calls that wait are interrupted.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    // SAFETY: always succeeds.
    let (process, thread) = unsafe { (libc::getpid(), libc::syscall(libc::SYS_gettid)) };
    let held = store.lock_key("", "k", LockUse::Rare).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut held = Some(held);
            for i in 0.. {
                // SAFETY: the thread runs until `stop` is set.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
                std::thread::sleep(Duration::from_millis(1));
                if i == 50 {
                    held.take();
                }
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
            }
        });
        drop(store.lock_key("", "k", LockUse::Rare).unwrap());
        for _ in 0..50 {
            put(&store, "k", &bytes).unwrap();
            assert!(get(&store, "k", 1 << 30).unwrap().unwrap() == bytes);
        }
        store.flush().unwrap();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
