//! What tests plan for the calls of their own thread: faults, another user, and the kind of system and file system. Of the feature `faults`, which only tests have.

#![allow(clippy::unwrap_used)]

use super::os::{self, Call, Entries};
use crate::platform::{AsFd, AsRawFd, BorrowedFd};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::CString;

/// What happens instead of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It fails with this error number.
    Fail(i32),
    /// It moves at most this number of bytes.
    Short(usize),
}

/// One planned fault.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The call.
    pub call: Call,
    /// How many calls of that kind go well before.
    pub after: usize,
    /// How many calls it then hits.
    pub times: usize,
    /// What happens.
    pub effect: Effect,
}

/// The first call of that kind fails.
pub fn fail(call: Call, errno: i32) -> Fault {
    Fault { call, after: 0, times: 1, effect: Effect::Fail(errno) }
}

type Event = Box<dyn FnOnce() + Send>;

thread_local! {
    static PLAN: RefCell<Vec<Fault>> = const { RefCell::new(Vec::new()) };
    /// What another process does before a call, and how many calls of that kind come first.
    static BEFORE: RefCell<Option<(Call, usize, Event)>> = const { RefCell::new(None) };
    static IS_LOCAL: Cell<Option<bool>> = const { Cell::new(None) };
    static CLOSES_FILES: Cell<bool> = const { Cell::new(false) };
    static FOLDS_CASE: Cell<bool> = const { Cell::new(false) };
    static NUMBER: Cell<Option<u64>> = const { Cell::new(None) };
    /// What was in each folder when it was opened, by its descriptor.
    static OPENED: RefCell<Option<HashMap<i32, HashSet<CString>>>> = const { RefCell::new(None) };
}

/// Runs `f` with faults planned for this thread; gives also how many were left unused.
pub fn with<T>(faults: &[Fault], f: impl FnOnce() -> T) -> (T, usize) {
    PLAN.with_borrow_mut(|p| *p = faults.to_vec());
    let result = f();
    let left = PLAN.with_borrow_mut(|p| std::mem::take(p).iter().filter(|f| f.times > 0).count());
    (result, left)
}

/// Runs `f`, in which the calls of that kind fail, from the one behind `after` others on.
pub fn failing<T>(call: Call, after: usize, errno: i32, f: impl FnOnce() -> T) -> T {
    with(&[Fault { after, times: usize::MAX, ..fail(call, errno) }], f).0
}

/// Runs `f`, in which `event` happens in another thread before a call of that kind that comes behind `after` others; gives also whether it did.
pub fn before<T>(call: Call, after: usize, event: impl FnOnce() + Send + 'static, f: impl FnOnce() -> T) -> (T, bool) {
    BEFORE.set(Some((call, after, Box::new(event))));
    let result = f();
    (result, BEFORE.take().is_none())
}

fn happen(call: Call) {
    let due = BEFORE.with_borrow_mut(|before| match before {
        Some((of, 0, _)) if *of == call => before.take(),
        Some((of, after, _)) if *of == call => {
            *after -= 1;
            None
        }
        _ => None,
    });
    if let Some((_, _, event)) = due {
        std::thread::spawn(event).join().unwrap();
    }
}

/// How many calls of that kind `f` makes in this thread.
pub fn count(call: Call, f: impl FnOnce()) -> usize {
    const MANY: usize = 1 << 40;
    PLAN.with_borrow_mut(|p| *p = vec![Fault { after: MANY, ..fail(call, libc::EIO) }]);
    f();
    PLAN.with_borrow_mut(|p| std::mem::take(p).iter().map(|f| MANY - f.after).sum())
}

fn take(call: Call, fits: impl Fn(Effect) -> bool) -> Option<Effect> {
    PLAN.with_borrow_mut(|plan| {
        let fault = plan.iter_mut().find(|f| f.call == call && f.times > 0 && fits(f.effect))?;
        if fault.after > 0 {
            fault.after -= 1;
            return None;
        }
        fault.times -= 1;
        Some(fault.effect)
    })
}

pub(super) fn errno(call: Call) -> Option<i32> {
    happen(call);
    match take(call, |e| matches!(e, Effect::Fail(_)))? {
        Effect::Fail(errno) => Some(errno),
        Effect::Short(_) => None,
    }
}

pub(super) fn short(call: Call) -> Option<usize> {
    match take(call, |e| matches!(e, Effect::Short(_)))? {
        Effect::Short(n) => Some(n),
        Effect::Fail(_) => None,
    }
}

/// Calls `f` as if all folders that this thread looks at were on file systems of this machine alone, or of a network.
pub fn on_file_systems<T>(local: bool, f: impl FnOnce() -> T) -> T {
    IS_LOCAL.set(Some(local));
    let result = f();
    IS_LOCAL.set(None);
    result
}

pub(super) fn is_local() -> Option<bool> {
    IS_LOCAL.get()
}

/// Calls `f` as on a system on which this thread may keep no file open that is to be replaced.
pub fn closing_files<T>(f: impl FnOnce() -> T) -> T {
    CLOSES_FILES.set(true);
    let result = f();
    CLOSES_FILES.set(false);
    result
}

pub(super) fn closes_files() -> bool {
    CLOSES_FILES.get()
}

/// Calls `f` as on a file system that does not tell upper case from lower.
pub fn folding_case<T>(f: impl FnOnce() -> T) -> T {
    FOLDS_CASE.set(true);
    let result = f();
    FOLDS_CASE.set(false);
    result
}

/// The name by which a folder is looked for.
pub(super) fn as_found(folder: &str) -> String {
    if folds_case() { folder.to_ascii_lowercase() } else { folder.to_string() }
}

pub(super) fn folds_case() -> bool {
    FOLDS_CASE.get()
}

/// Calls `f` as on a file system that gives all files one `number`.
pub fn numbering<T>(number: u64, f: impl FnOnce() -> T) -> T {
    NUMBER.set(Some(number));
    let result = f();
    NUMBER.set(None);
    result
}

pub(super) fn numbered(mut st: libc::stat) -> libc::stat {
    st.st_ino = NUMBER.get().unwrap_or(st.st_ino);
    st
}

/// Calls `f` as on a file system that lists no names that came behind the opening of a folder, as btrfs does.
pub fn listing_as_opened<T>(f: impl FnOnce() -> T) -> T {
    OPENED.set(Some(HashMap::new()));
    let result = f();
    OPENED.set(None);
    result
}

/// Is told which folder this thread has opened, by its path in a store. What is in it is found by another descriptor: listing moves a folder's place.
pub(super) fn opened(fd: BorrowedFd<'_>) {
    OPENED.with_borrow_mut(|opened| {
        let Some(opened) = opened else { return };
        let names = os::open(fd, c".", libc::O_RDONLY | libc::O_DIRECTORY, 0).and_then(|again| os::entries(again.as_fd()));
        opened.insert(fd.as_raw_fd(), names.unwrap().into_iter().map(|(name, _)| name).collect());
    });
}

/// Takes what a folder's listing would not tell there out of it.
pub(super) fn listed(fd: BorrowedFd<'_>, mut found: Entries) -> Entries {
    OPENED.with_borrow(|opened| {
        if let Some(names) = opened.as_ref().and_then(|opened| opened.get(&fd.as_raw_fd())) {
            found.retain(|(name, _)| names.contains(name));
        }
    });
    found
}

/// Calls `f` as another user than the folders' owner; a user other than root stays as it is, and the folders' modes hold for it as well.
#[cfg(target_os = "linux")]
pub fn as_another<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let become_another = || {
        // SAFETY: no memory is involved. The call by its number changes the user of this thread only.
        unsafe { libc::syscall(libc::SYS_setresuid, -1, 12345, -1) };
        f()
    };
    std::thread::scope(|scope| scope.spawn(become_another).join().unwrap())
}

/// Calls `f` in a thread that has a file system of its own at `folder`, or what is at `from`; `None` where the system lets nobody mount.
#[cfg(target_os = "linux")]
pub fn mounted<T: Send>(folder: &std::path::Path, from: Option<&std::path::Path>, f: impl FnOnce() -> T + Send) -> Option<T> {
    let mount = || {
        let text = |path: &std::path::Path| std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
        let (at, none) = (text(folder), std::ptr::null());
        let (from, kind, flags) = from.map_or((c"none".into(), c"tmpfs".as_ptr(), 0), |from| (text(from), none, libc::MS_BIND));
        // SAFETY: the texts end in NUL. From the first call on the thread has mounts of its own, which end with it and nobody else sees.
        let done = unsafe {
            libc::unshare(libc::CLONE_NEWNS) == 0
                && libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) == 0
                && libc::mount(from.as_ptr(), at.as_ptr(), kind, flags, none.cast()) == 0
        };
        done.then(f)
    };
    std::thread::scope(|scope| scope.spawn(mount).join().unwrap())
}

/// Calls `f` in a thread whose mask keeps all others from what it makes.
#[cfg(target_os = "linux")]
pub fn masked<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let mask = || {
        // SAFETY: no memory is involved. From the first call on the thread has a mask of its own.
        unsafe { (libc::unshare(libc::CLONE_FS), libc::umask(0o077)) };
        f()
    };
    std::thread::scope(|scope| scope.spawn(mask).join().unwrap())
}
