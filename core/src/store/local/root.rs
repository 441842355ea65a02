//! The root folder of a store: opened, made, or made under a hidden name that it keeps until the first flush (`"file.publish"`).
//!
//! Nobody can open what is below a hidden root, so a new file there has its own name from the beginning. Where another process makes the same
//! root ([`super::beside`]), and in a group, whose consolidated metadata speak of the nodes below by their names, the root is made as any other.

use super::beside::{Place, Purpose, claim, place_of};
use super::exchange::{remove_tree, sync_parent};
use super::hidden::{Hidden, State};
use super::path::{KeyPath, c_path, file_instead_of, make_folder};
use super::temporary::TRIES;
use super::{LocalStore, SyncMode};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::platform::{AsRawFd, BorrowedFd, O_PATH, OwnedFd, libc};
use crate::store::keys::MAKES_A_NODE;
use crate::store::os::{self, CWD, Errno};
use std::path::PathBuf;
use std::sync::RwLockReadGuard;
use std::sync::atomic::Ordering;

impl LocalStore {
    /// Gives the root folder, or `None` if it does not exist yet.
    #[inline]
    pub(super) fn root(&self) -> Result<Option<BorrowedFd<'_>>> {
        match self.root_fd.get() {
            Some(fd) => Ok(Some(fd)),
            None => self.open_root(),
        }
    }

    #[cold]
    fn open_root(&self) -> Result<Option<BorrowedFd<'_>>> {
        let path = c_path(&self.root)?;
        match os::open(CWD, &path, O_PATH | libc::O_DIRECTORY, 0) {
            Ok(fd) => Ok(Some(self.root_fd.set(fd))),
            Err(Errno(libc::ENOENT)) => Ok(None),
            Err(e) => Err(file_instead_of(&self.root, &self.root, e.error(&format!("open the folder {}", self.root.display())))),
        }
    }

    /// Says in the error of a system call which store it was made in, unless the message names that.
    #[cold]
    pub(super) fn placed(&self, e: Error) -> Error {
        if e.kind() == ErrorKind::Io && self.root_is_gone() {
            return match e.key() {
                Some(key) => self.gone().at_key(key),
                None => self.gone(),
            };
        }
        let root = self.root.display().to_string();
        if e.os_errno() == 0 || e.message().contains(&root) { e } else { e.with_note(&format!(" (in {root})")) }
    }

    /// Whether the folder that is open as the root was removed; another one may have its name.
    fn root_was_removed(&self) -> bool {
        self.root_fd.get().is_some_and(|fd| os::stat(fd).is_ok_and(|st| st.st_nlink == 0))
    }

    /// Whether the root may have lost its name since [`LocalStore::look`] looked: it was removed, or has another time of change, which it gets
    /// from a new name, and from what comes and goes in it.
    pub(super) fn root_may_be_replaced(&self) -> bool {
        let st = self.root_fd.get().and_then(|fd| os::stat(fd).ok());
        st.is_some_and(|st| st.st_nlink == 0 || changed_at(&st) != self.known.looked_at.load(Ordering::Relaxed))
    }

    /// Looks for something, and once more where another folder may have the root's name by now. What misses in a root that is gone is an error.
    #[inline]
    pub(super) fn look<T>(&self, look: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
        let roots = self.known.roots.load(Ordering::Acquire);
        let is_same = || self.known.roots.load(Ordering::Acquire) == roots;
        match look()? {
            None if !is_same() || self.root_may_be_replaced() => self.look_anew(is_same, look),
            found => Ok(found),
        }
    }

    /// Looks in the folder that has the root's name by now; `is_same` says whether another thread has not found out that it is another one.
    /// File systems that count no links seem to have removed all.
    #[cold]
    fn look_anew<T>(&self, is_same: impl Fn() -> bool, look: impl Fn() -> Result<Option<T>>) -> Result<Option<T>> {
        // The time is taken before the name is looked at.
        let before = self.root_fd.get().and_then(|fd| os::stat(fd).ok()).map(|st| changed_at(&st));
        if self.root_was_replaced() || !is_same() {
            return look();
        }
        self.known.looked_at.store(before.unwrap_or(0), Ordering::Relaxed);
        if self.root_is_gone() { Err(self.gone()) } else { Ok(None) }
    }

    /// Whether the root was removed and nothing has its name.
    fn root_is_gone(&self) -> bool {
        let no_name = || c_path(&self.root).is_ok_and(|path| os::stat_at(CWD, &path, true).is_err_and(|e| e == Errno(libc::ENOENT)));
        self.root_was_removed() && no_name()
    }

    /// The error of what is looked for in a root that is gone.
    #[cold]
    fn gone(&self) -> Error {
        err!(Io, "the folder {} was removed while it was open as a store", self.root.display())
    }

    /// Gives the root folder, and makes it if it does not exist.
    pub(super) fn root_to_write(&self) -> Result<BorrowedFd<'_>> {
        for _ in 0..TRIES {
            if let Some(fd) = self.root()? {
                return Ok(fd);
            }
            if self.make_hidden()? {
                continue;
            }
            make_folder(&self.root, self.durability.mode != SyncMode::None)?;
        }
        if let Ok(to) = self.root.read_link() {
            bail!(Location, "{} is a link to {}, which is not there", self.root.display(), to.display());
        }
        bail!(Io, "the folder {} vanishes again and again", self.root.display())
    }

    /// Keeps the root hidden while the guard is held; `None` where it has its name.
    pub(super) fn stay_hidden(&self) -> Option<RwLockReadGuard<'_, State>> {
        let state = self.hidden.as_ref()?.state();
        matches!(*state, State::At(_)).then_some(state)
    }

    /// Makes the root under its hidden name; `false` if it is to be made under its own.
    #[cold]
    fn make_hidden(&self) -> Result<bool> {
        let Some(hidden) = &self.hidden else { return Ok(false) };
        let mut state = hidden.change();
        if let State::Due = *state {
            *state = match self.hidden_folder()? {
                None => State::Named,
                Some((path, fd)) => {
                    let own = fd.as_raw_fd();
                    hidden.note(true);
                    if self.root_fd.set(fd).as_raw_fd() == own {
                        self.sweeper.note("", true);
                        State::At(path)
                    } else {
                        // Another thread has opened what somebody else made.
                        hidden.note(false);
                        remove_tree(&path).map(|()| State::Named)?
                    }
                }
            };
        }
        Ok(matches!(*state, State::At(_)))
    }

    /// Makes an empty folder of the hidden name and locks it, or gives `None` where the root is to have its own name at once.
    fn hidden_folder(&self) -> Result<Option<(PathBuf, OwnedFd)>> {
        let (Some(parent), Some(path)) = (self.root.parent(), place_of(&self.root, Purpose::New)?) else { return Ok(None) };
        if MAKES_A_NODE.iter().any(|name| parent.join(name).exists()) {
            return Ok(None);
        }
        match claim(path, || make_folder(parent, self.durability.mode != SyncMode::None))? {
            None => Ok(None),
            Some(Place { path, lock: Some(fd) }) => Ok(Some((path, fd))),
            // Nobody can lock it: then nobody uses it.
            Some(Place { path, lock: None }) => remove_tree(&path).map(|()| None),
        }
    }

    /// Gives a hidden root its name, which nobody else may have given to anything meanwhile but an empty folder, and makes the name durable. A child of
    /// `fork` cannot, and fails as long as its parent has not done it.
    pub(super) fn publish_hidden(&self) -> Result<()> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        if hidden.is_of_parent() && !self.has_name()? {
            let root = self.root.display();
            bail!(
                Forked,
                "{root} has no name yet (\"file.publish\"), which only the process that made it gives it, before fork: it flushes"
            );
        }
        let mut state = hidden.change();
        match &*state {
            State::Named | State::Due => return Ok(()),
            State::Unsynced => {}
            State::At(path) => os::rename(CWD, &c_path(path)?, &c_path(&self.root)?).map_err(|e| match e {
                Errno(libc::ENOTEMPTY | libc::EEXIST | libc::ENOTDIR) => {
                    err!(Exists, "{} was made meanwhile by somebody else", self.root.display())
                }
                e => e.error(&format!("name the new folder {}", self.root.display())),
            })?,
        }
        // Where this fails the next flush does it.
        *state = State::Unsynced;
        if self.durability.mode != SyncMode::None {
            sync_parent(&self.root)?;
        }
        *state = State::Named;
        hidden.note(false);
        Ok(())
    }

    /// Whether the root that is open has the store's name.
    fn has_name(&self) -> Result<bool> {
        let named = os::stat_at(CWD, &c_path(&self.root)?, true).ok();
        let own = self.root_fd.get().map(os::stat).transpose().map_err(|e| e.error("look at the folder"))?;
        Ok(named.zip(own).is_some_and(|(named, own)| os::is_same(&named, &own)))
    }

    /// Removes a root that never got its name.
    pub(super) fn discard_hidden(&self) {
        let Some(mut state) = self.hidden.as_ref().map(Hidden::change) else { return };
        if let State::At(path) = std::mem::take(&mut *state) {
            // What cannot be removed now is taken over by the next one of this name.
            let _ = remove_tree(&path);
        }
    }

    /// Uses the folder that has the root's name now.
    pub(super) fn reopen_root(&self) -> Result<()> {
        let path = c_path(&self.root)?;
        let fd = os::open(CWD, &path, O_PATH | libc::O_DIRECTORY, 0);
        let fd = fd.map_err(|e| e.error(&format!("open the folder {}", self.root.display())))?;
        self.known.kept.store(0, Ordering::Relaxed);
        self.root_fd.replace(fd).map_err(|e| e.error("use the new folder"))?;
        self.known.roots.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Does `act`, and again if it `missed` and the root is another folder by then. It may have been replaced more than once, and another thread
    /// may have found that out.
    pub(super) fn in_present_root<T>(&self, act: impl Fn() -> T, missed: impl Fn(&T) -> bool) -> T {
        for _ in 1..TRIES {
            let before = self.known.roots.load(Ordering::Acquire);
            let done = act();
            if !missed(&done) || !(self.root_was_replaced() || self.known.roots.load(Ordering::Acquire) != before) {
                return done;
            }
        }
        act()
    }

    /// Opens the root anew if another folder has its name by now; says whether it did.
    #[cold]
    pub(super) fn root_was_replaced(&self) -> bool {
        let Some(fd) = self.root_fd.get() else { return false };
        let (Some(named), Ok(own)) = (self.named_root(), os::stat(fd)) else { return false };
        if os::is_same(&own, &named) {
            return false;
        }
        let is_new = self.reopen_root().is_ok();
        // What another thread has put until then is in the old one. The next flush tells it.
        if is_new && own.st_nlink > 0 && self.known.has_put.load(Ordering::Relaxed) {
            self.known.lost.store(true, Ordering::Relaxed);
        }
        is_new
    }

    /// Gives what is known of the folder that has the root's name, if there is one.
    fn named_root(&self) -> Option<libc::stat> {
        // A folder of its name that somebody else made does not concern a hidden root.
        if self.stay_hidden().is_some() {
            return None;
        }
        os::stat_at(CWD, &c_path(&self.root).ok()?, true).ok()
    }

    /// Does what [`super::LocalFiles::folder_numbers`] says: the root is the one that has the name now, whichever one is open.
    pub(super) fn numbers_of(&self, folder: &str) -> Result<Option<[u64; 2]>> {
        #[cfg(any(test, feature = "faults"))]
        let folder = &*crate::store::fault::as_found(folder);
        let found = match self.stay_hidden() {
            Some(_) => self.root()?.map_or(Err(Errno(libc::ENOENT)), |root| os::stat_at(root, KeyPath::of_folder(folder).as_c(), true)),
            None => os::stat_at(CWD, &c_path(&self.root.join(folder))?, true),
        };
        match found {
            Ok(st) => Ok(Some(os::numbers(&st))),
            Err(Errno(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
            Err(e) => Err(e.error("look at the folder").at_key(folder)),
        }
    }

    /// Fails if values were put since the last flush into a folder that has lost its name to another one and is still there: the process
    /// that replaced it removes it, or was killed before. The new one is used from now on.
    pub(super) fn check_root_was_kept(&self) -> Result<()> {
        let has_put = self.known.has_put.swap(false, Ordering::Relaxed);
        if self.known.lost.swap(false, Ordering::Relaxed) {
            return Err(self.lost());
        }
        let (Some(fd), Some(named)) = (self.root_fd.get(), if has_put { self.named_root() } else { None }) else { return Ok(()) };
        // A program that closes all descriptors gives the number of this one to a folder of its own.
        let is_own = || os::numbers_known(fd).is_none_or(|own| own == os::numbers(&named));
        if number_of(&named) == self.known.kept.load(Ordering::Relaxed) && is_own() {
            return Ok(());
        }
        let own = os::stat(fd).map_err(|e| e.error("look at the folder"))?;
        if os::is_same(&own, &named) {
            self.known.kept.store(number_of(&own), Ordering::Relaxed);
        } else if self.reopen_root().is_ok() && own.st_nlink > 0 {
            return Err(self.lost());
        }
        Ok(())
    }

    #[cold]
    pub(super) fn lost(&self) -> Error {
        let root = self.root.display();
        err!(
            Io,
            "the folder {root} was replaced by another one while it was open as a store: what was changed since the last flush is lost"
        )
    }
}

/// A number that two folders that are there at the same time do not share.
fn number_of(st: &libc::stat) -> u64 {
    let [device, inode] = os::numbers(st);
    inode ^ device.rotate_left(40)
}

/// The time of a file's last change, in nanoseconds; of what other times there are only whether it is the same one counts.
fn changed_at(st: &libc::stat) -> u64 {
    (st.st_ctime as u64).wrapping_mul(1_000_000_000).wrapping_add(st.st_ctime_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fault::{self, fail};
    use crate::store::local::{FileOptions, Publish};
    use crate::store::os::Call;
    use crate::store::suite::{TestFolder, names_in};
    use crate::store::{Condition, Keys, LocalFiles, Staged, Storage, StorageExt, get};
    use std::path::Path;

    /// A folder that is removed at the end of a test.
    struct Top(TestFolder);

    impl Top {
        fn new(name: &str) -> Top {
            Top(TestFolder::made(name))
        }

        fn store(&self, sync: SyncMode) -> LocalStore {
            hidden(&self.0.join("s"), sync)
        }

        /// What is in it, in order; hidden names only as `.`.
        fn names(&self) -> Vec<String> {
            names_in(&self.0).into_iter().map(|name| if name.starts_with('.') { ".".to_string() } else { name }).collect()
        }
    }

    fn hidden(root: &Path, sync: SyncMode) -> LocalStore {
        LocalStore::open(root, true, FileOptions { sync, publish: Publish::Flush, ..FileOptions::default() }).unwrap()
    }

    fn put(store: &LocalStore, key: &str, value: &[u8]) {
        store.put(key, &[value], Condition::None).unwrap();
    }

    fn value(store: &LocalStore, key: &str) -> Option<Vec<u8>> {
        get(store, key, 99).unwrap()
    }

    #[test]
    fn a_root_that_is_a_link_to_nothing_is_named_in_the_error() {
        let top = Top::new("nowhere");
        std::os::unix::fs::symlink("nowhere", top.0.join("s")).unwrap();
        let store = LocalStore::open(&top.0.join("s"), true, SyncMode::None).unwrap();
        let e = store.put("k", &[b"1"], Condition::None).unwrap_err();
        assert!(e.kind() == ErrorKind::Location && e.to_string().contains("is a link to nowhere, which is not there"), "{e}");
    }

    #[test]
    fn what_is_looked_for_in_a_root_that_is_gone_is_an_error_and_found_in_one_that_is_made_anew() {
        let top = Top::new("gone");
        let (store, path) = (LocalStore::open(&top.0.join("s"), true, SyncMode::None).unwrap(), top.0.join("s"));
        put(&store, "c/0", b"1");
        let others = [(); 2].map(|()| LocalStore::open(&path, true, SyncMode::None).unwrap());
        assert!(others.iter().all(|other| value(other, "c/0").is_some()));
        std::fs::remove_dir_all(&path).unwrap();
        let gone = |e: Error| e.kind() == ErrorKind::Io && e.message().contains("/s was removed while it was open");
        assert!(store.open("c/0").is_err_and(gone) && store.put("c/0", &[b"1"], Condition::None).is_err_and(gone));
        assert!(store.lock_key("", "c/0", crate::store::LockUse::Rare).is_err_and(gone));
        assert!(store.stamp("c/0").is_err_and(gone) && store.open_in(&store.folder("c/"), "c/0").is_err_and(gone));
        assert!(value(&store, "zarr.json").is_none(), "a node that is gone is none");
        put(&LocalStore::open(&path, true, SyncMode::None).unwrap(), "c/0", b"2");
        for look in 0..3 {
            let (store, mut bytes) = (if look == 0 { &store } else { &others[look - 1] }, Vec::new());
            let found = match look {
                0 => store.open("c/0"),
                1 => store.open_in(&store.folder("c/"), "c/0"),
                _ => store.stamp("c/0").and_then(|stamp| stamp.map_or(Ok(None), |_| store.open("c/0"))),
            };
            found.unwrap().unwrap().read_whole(&mut bytes, 9).unwrap();
            assert_eq!(bytes, b"2");
        }
    }

    #[test]
    fn what_is_erased_goes_from_the_root_that_has_the_name_by_now() {
        let top = Top::new("erased");
        let open = || LocalStore::open(&top.0.join("s"), true, SyncMode::None).unwrap();
        let (store, other) = (open(), open());
        put(&store, "c/0", b"1");
        assert!(other.replace_folder("", &mut |new| new.put("c/0", &[b"2"], Condition::Absent), &mut || ()).unwrap());
        assert!(store.erase_keys(Keys::One("c/0")).unwrap());
        assert_eq!(value(&other, "c/0"), None);
        assert!(!store.erase_keys(Keys::One("c/0")).unwrap());
    }

    #[test]
    fn a_flush_tells_that_values_went_to_a_root_that_was_replaced_and_is_still_there() {
        let top = Top::new("still");
        let path = top.0.join("s");
        for mode in [SyncMode::None, SyncMode::Batch, SyncMode::Each] {
            let _ = std::fs::remove_dir_all(&path);
            let (writer, reader) = (LocalStore::open(&path, true, mode).unwrap(), LocalStore::open(&path, true, mode).unwrap());
            put(&writer, "c/0", b"1");
            writer.flush().unwrap();
            assert!(value(&reader, "c/0").is_some());
            // As a kill leaves it.
            std::fs::rename(&path, top.0.join(format!("old-{mode:?}"))).unwrap();
            std::fs::create_dir_all(path.join("c")).unwrap();
            put(&writer, "c/0", b"2");
            // Also where a call between the two has found the new one.
            assert_eq!(value(&writer, "c/1"), None);
            let e = writer.flush().unwrap_err();
            assert!(e.kind() == ErrorKind::Io && e.message().contains("/s was replaced by another one while it was open"), "{e}");
            put(&writer, "c/0", b"3");
            writer.flush().unwrap();
            assert_eq!(std::fs::read(path.join("c/0")).unwrap(), b"3", "the new one is used");
            reader.flush().unwrap();
        }
    }

    #[test]
    fn what_is_changed_in_a_root_that_was_replaced_and_is_still_there_is_told() {
        /// What is begun before the root is replaced, and then behind that; else what is done when it has lost its name and another one has not got it.
        type Row = (&'static str, fn(&LocalStore) -> Option<Staged>, fn(&LocalStore, Option<Staged>) -> Result<()>);
        let rows: [Row; 5] = [
            ("put in pieces", |s| Some(s.stage("c/k").unwrap()), |s, staged| (s as &dyn Storage).publish("c/k", staged.unwrap())),
            ("renamed", |_| None, |s, _| s.rename_prefix("c/", "d/").map(|done| assert!(done))),
            ("linked", |_| None, |s, _| s.link("d/k", &s.root.with_file_name("file"), true).map(|done| assert!(done))),
            ("erased", |_| None, |s, _| s.erase_keys(Keys::One("c/0")).map(|done| assert!(done))),
            ("erased by its prefix", |_| None, |s, _| s.erase_keys(Keys::Below("c/")).map(|done| assert!(done))),
        ];
        for (what, begin, change) in rows {
            for is_found in [false, true] {
                let top = Top::new("changed");
                std::fs::write(top.0.join("file"), b"1").unwrap();
                let (path, store) = (top.0.join("s"), LocalStore::open(&top.0.join("s"), true, SyncMode::None).unwrap());
                put(&store, "c/0", b"1");
                store.flush().unwrap();
                let begun = begin(&store);
                std::fs::rename(&path, top.0.join("old")).unwrap();
                let replace = || {
                    std::fs::create_dir_all(path.join("c")).unwrap();
                    // A call between the two has found the new one.
                    is_found.then(|| assert_eq!(value(&store, "c/1"), None));
                };
                let done = if begun.is_some() {
                    replace();
                    change(&store, begun)
                } else {
                    change(&store, None).unwrap();
                    replace();
                    Ok(())
                };
                assert_eq!(done.and_then(|()| store.flush()).map_err(|e| e.kind()), Err(ErrorKind::Io), "{what} {is_found}");
            }
        }
    }

    #[test]
    fn what_is_erased_in_the_root_that_took_the_place_of_another_is_not_lost() {
        for keys in [Keys::One("c/1"), Keys::Below("c/")] {
            let top = Top::new("in_the_new_one");
            let (path, store) = (top.0.join("s"), LocalStore::open(&top.0.join("s"), true, SyncMode::None).unwrap());
            put(&store, "c/0", b"1");
            store.flush().unwrap();
            std::fs::rename(&path, top.0.join("old")).unwrap();
            std::fs::create_dir_all(path.join("c")).unwrap();
            std::fs::write(path.join("c/1"), b"1").unwrap();
            assert!(store.erase_keys(keys).unwrap());
            store.flush().unwrap();
            assert!(!path.join("c/1").exists() && top.0.join("old/c/0").exists());
        }
    }

    #[test]
    fn a_flush_tells_of_what_was_put_while_another_thread_finds_that_the_root_was_replaced() {
        let top = Top::new("meanwhile");
        let path = top.0.join("s");
        let store = std::sync::Arc::new(LocalStore::open(&path, true, SyncMode::None).unwrap());
        put(&store, "c/0", b"1");
        store.flush().unwrap();
        std::fs::rename(&path, top.0.join("old")).unwrap();
        std::fs::create_dir_all(path.join("c")).unwrap();
        let other = store.clone();
        let found = || store.root_was_replaced();
        // The new one is opened behind the looks at both.
        assert_eq!(fault::before(Call::Open, 0, move || put(&other, "c/0", b"2"), found), (true, true));
        assert_eq!(store.flush().map_err(|e| e.kind()), Err(ErrorKind::Io));
        assert_eq!(std::fs::read(top.0.join("old/c/0")).unwrap(), b"2");
    }

    /// As where a program closes all descriptors (`closefrom`) and opens folders of its own, which get their numbers.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_flush_tells_that_values_went_to_a_folder_that_has_got_the_descriptor_s_number() {
        let top = Top::new("number");
        let store = top.store(SyncMode::None);
        put(&store, "k", b"1");
        store.flush().unwrap();
        put(&store, "k", b"2");
        store.flush().unwrap();
        std::fs::create_dir(top.0.join("own")).unwrap();
        let own = os::open(CWD, &c_path(&top.0.join("own")).unwrap(), O_PATH | libc::O_DIRECTORY, 0).unwrap();
        let number = store.root_fd.get().unwrap().as_raw_fd();
        // SAFETY: the store's descriptor becomes another one of the folder.
        assert_eq!(unsafe { libc::dup2(own.as_raw_fd(), number) }, number);
        put(&store, "k", b"3");
        assert!(store.flush().is_err());
        put(&store, "k", b"4");
        store.flush().unwrap();
        assert_eq!(std::fs::read(top.0.join("s/k")).unwrap(), b"4");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_of_the_program_s_that_has_got_the_descriptor_s_number_is_not_closed() {
        for is_flushed in [false, true] {
            let top = Top::new("closed");
            let store = top.store(SyncMode::None);
            put(&store, "k", b"1");
            std::fs::write(top.0.join("own"), b"mine").unwrap();
            let own = os::open(CWD, &c_path(&top.0.join("own")).unwrap(), libc::O_RDWR, 0).unwrap();
            let number = store.root_fd.get().unwrap().as_raw_fd();
            // SAFETY: the store's descriptor becomes another one of the file.
            assert_eq!(unsafe { libc::dup2(own.as_raw_fd(), number) }, number);
            if is_flushed {
                drop(store.flush());
            }
            drop(store);
            let mut byte = [0_u8];
            // SAFETY: reads and closes the program's descriptor, which is still open.
            assert_eq!(unsafe { (libc::pread(number, byte.as_mut_ptr().cast(), 1, 0), libc::close(number)) }, (1, 0), "{is_flushed}");
            assert_eq!(&byte, b"m");
        }
    }

    #[test]
    fn a_hidden_root_behaves_as_a_store_in_each_sync_mode() {
        for mode in [SyncMode::None, SyncMode::Batch, SyncMode::Each] {
            crate::store::suite::check(&Top::new("suite").store(mode));
        }
    }

    #[test]
    fn a_new_root_appears_whole_by_the_first_flush() {
        for mode in [SyncMode::None, SyncMode::Batch, SyncMode::Each] {
            let top = Top::new("appears");
            let (store, other) = (hidden(&top.0.join("a/b/s"), mode), hidden(&top.0.join("a/b/s"), mode));
            put(&store, "k", b"1");
            put(&store, "x/y/k", b"2");
            put(&store, "k", b"3");
            assert!(store.put("x/y/k", &[b"4"], Condition::Absent).is_err_and(|e| e.kind() == ErrorKind::Conflict));
            assert!(!top.0.join("a/b/s").exists() && value(&other, "k").is_none() && value(&store, "k").unwrap() == b"3");
            store.flush().unwrap();
            assert_eq!(std::fs::read_dir(top.0.join("a/b")).unwrap().count(), 1);
            assert_eq!((value(&other, "k").unwrap(), value(&other, "x/y/k").unwrap()), (b"3".to_vec(), b"2".to_vec()));
            put(&store, "x/y/l", b"5");
            let number = store.root_fd.get().unwrap().as_raw_fd();
            drop(store);
            assert!(!std::fs::read_link(format!("/proc/self/fd/{number}")).is_ok_and(|to| to == top.0.join("a/b/s")), "it is open");
            assert_eq!(value(&other, "x/y/l").unwrap(), b"5");
        }
    }

    #[test]
    fn a_child_of_fork_is_told_that_what_it_stored_has_no_name_until_its_parent_gives_it_one() {
        let top = Top::new("forked");
        let store = top.store(SyncMode::Batch);
        let unused = hidden(&top.0.join("t"), SyncMode::Batch);
        put(&store, "k", b"1");
        let stored = |store: &LocalStore, key: &str| store.put(key, &[b"2"], Condition::None).is_ok();
        let in_child = crate::fork::tests::in_child(|| {
            let forked = |e: Error| e.kind() == ErrorKind::Forked && e.to_string().contains("/s has no name yet");
            i32::from(!(stored(&store, "l") && store.flush().is_err_and(forked) && store.flush().is_err_and(forked)))
                + 2 * i32::from(!(stored(&unused, "k") && unused.flush().is_ok()))
        });
        assert_eq!((in_child, top.names()), (0, vec![".".to_string(), "t".to_string()]));
        // With its name it is as any other one.
        let (read, write) = std::io::pipe().unwrap();
        let in_child = std::thread::scope(|threads| {
            let child = threads.spawn(|| {
                crate::fork::tests::in_child(|| {
                    let _ = std::io::Read::read(&mut &read, &mut [0]);
                    i32::from(!(stored(&store, "m") && store.flush().is_ok()))
                })
            });
            std::thread::sleep(std::time::Duration::from_millis(50));
            store.flush().unwrap();
            std::io::Write::write_all(&mut &write, b"1").unwrap();
            child.join().unwrap()
        });
        assert_eq!(in_child, 0);
        assert_eq!(crate::fork::tests::in_child(|| i32::from(!(stored(&store, "n") && store.flush().is_ok()))), 0);
        assert!(["k", "l", "m", "n"].iter().all(|key| top.0.join("s").join(key).exists()));
    }

    #[test]
    fn what_made_a_root_and_was_not_synced_is_synced_by_the_call_that_succeeds() {
        let top = Top::new("unsynced");
        let store = top.store(SyncMode::Batch);
        put(&store, "k", b"1");
        // The file, its folder, and the one above.
        for (call, after) in [(Call::Sync, 2), (Call::Open, 0)] {
            let failing = [fault::Fault { after, ..fail(call, libc::EIO) }];
            assert_eq!(fault::with(&failing, || store.flush().unwrap_err().os_errno()), (libc::EIO, 0), "{call:?}");
            assert_eq!(top.names(), ["s"]);
        }
        assert_eq!(fault::count(Call::Sync, || store.flush().unwrap()), 1);
        assert_eq!(fault::count(Call::Sync, || store.flush().unwrap()), 0, "once");
        // The folder above a root that has its name at once, and the one above that.
        for (name, nth) in [("t", 0), ("a/t", 1)] {
            let store = LocalStore::open(&top.0.join(name), true, SyncMode::Batch).unwrap();
            for (call, after) in [(Call::Sync, nth), (Call::Open, 1)] {
                let failing = [fault::Fault { after, ..fail(call, libc::EIO) }];
                let refused = fault::with(&failing, || store.put("k", &[b"1"], Condition::None).unwrap_err().os_errno());
                assert_eq!(refused, (libc::EIO, 0), "{call:?} {name}");
            }
            assert_eq!(fault::count(Call::Sync, || put(&store, "k", b"1")), 1, "{name}");
        }
    }

    #[test]
    fn a_folder_that_somebody_else_has_made_meanwhile_stays_whatever_fails() {
        let top = Top::new("of-another");
        // As if it were made between the two tries.
        let failing = [fail(Call::Mkdir, libc::ENOENT), fail(Call::Open, libc::EMFILE)];
        let (made, unused) = fault::with(&failing, || make_folder(&top.0, true));
        assert!(made.is_ok() && unused == 1 && top.0.exists());
    }

    #[test]
    fn files_have_their_names_at_once_until_the_root_has_its_own() {
        let top = Top::new("named");
        let store = top.store(SyncMode::None);
        let renames = |key: &str| fault::count(Call::Rename, || put(&store, key, b"1"));
        assert_eq!((renames("k"), renames("a/k"), renames("k")), (0, 0, 1));
        let (full, unused) = fault::with(&[fail(Call::Write, libc::ENOSPC)], || store.put("a/l", &[b"1"], Condition::None));
        assert_eq!((full.unwrap_err().kind(), unused, value(&store, "a/l")), (ErrorKind::NoSpace, 0, None));
        store.flush().unwrap();
        assert_eq!((renames("a/m"), top.names()), (1, vec!["s".to_string()]));
    }

    #[test]
    fn a_root_that_is_never_flushed_goes_and_what_a_kill_has_left_is_taken_over() {
        let top = Top::new("left");
        put(&top.store(SyncMode::None), "k", b"1");
        assert!(top.names().is_empty());
        let left = place_of(&top.0.join("s"), Purpose::New).unwrap().unwrap();
        std::fs::create_dir_all(left.join("a/b")).unwrap();
        std::fs::write(left.join("a/zarr.json"), "half").unwrap();
        let store = top.store(SyncMode::None);
        put(&store, "k", b"1");
        assert_eq!((top.names(), value(&store, "a/zarr.json")), (vec![".".to_string()], None));
        store.flush().unwrap();
        assert_eq!((top.names(), value(&store, "k").unwrap()), (vec!["s".to_string()], b"1".to_vec()));
    }

    #[test]
    fn of_two_that_make_the_same_root_none_gets_the_files_of_the_other() {
        let top = Top::new("two");
        let (one, other) = (top.store(SyncMode::None), top.store(SyncMode::None));
        put(&one, "k", b"1");
        put(&other, "k", b"2");
        assert_eq!((top.names(), value(&other, "k").unwrap()), (vec![".".to_string(), "s".to_string()], b"2".to_vec()));
        assert!(one.flush().is_err_and(|e| e.kind() == ErrorKind::Exists && e.to_string().contains("was made meanwhile")));
        other.flush().unwrap();
        drop(one);
        assert_eq!((top.names(), value(&other, "k").unwrap()), (vec!["s".to_string()], b"2".to_vec()));
    }

    #[test]
    fn who_has_a_root_without_a_name_leaves_alone_what_somebody_else_has_made_by_that_name() {
        let top = Top::new("others");
        let (one, other) = (top.store(SyncMode::None), LocalStore::open(&top.0.join("s"), true, SyncMode::None).unwrap());
        put(&one, "a/k", b"1");
        put(&other, "a/k", b"2");
        let done = &mut || unreachable!("it is not the one of this store");
        assert!(!one.replace_folder("a", &mut |new| new.put("k", &[b"3"], Condition::Absent), done).unwrap());
        assert_eq!((one.file("a/k"), value(&one, "a/k").unwrap(), value(&other, "a/k").unwrap()), (None, b"1".to_vec(), b"2".to_vec()));
        assert_eq!(other.keys("").unwrap(), ["a/k"]);
    }

    #[test]
    fn a_root_is_named_at_once_in_a_group_and_where_folders_cannot_be_locked() {
        let top = Top::new("group");
        let (unlocked, unused) =
            fault::with(&[fail(Call::Lock, libc::ENOLCK)], || top.store(SyncMode::None).put("k", &[b"1"], Condition::None));
        assert_eq!((unlocked.is_ok(), unused, top.names()), (true, 0, vec!["s".to_string()]));
        std::fs::write(top.0.join("s/zarr.json"), "{}").unwrap();
        put(&hidden(&top.0.join("s/t"), SyncMode::None), "k", b"1");
        assert!(top.0.join("s/t/k").exists());
    }
}
