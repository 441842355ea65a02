//! Lists folders, empties them, and says before whether they can be emptied.

#[cfg(target_os = "linux")]
use super::listed_again::list_again;
use super::path::{is_hidden, is_kept_open, is_temporary};
use super::temporary::TRIES;
use crate::error::{Result, bail, err};
use crate::limits::{MAX_KEY, make_room, push};
use crate::platform::{AsFd, BorrowedFd, is_kept, is_mounted, is_sticky, keeps_names, libc};
use crate::store::Listing;
#[cfg(target_os = "linux")]
use crate::store::file_object::stamp_of;
use crate::store::os::{self, Entries, EntryKind, Errno, Os};
use crate::store::stamp::nanos_now;
use std::ffi::{CStr, CString};

/// How deep folders are followed when listing or erasing.
const MAX_DEPTH: usize = MAX_KEY / 2;

/// How often a folder that is not empty may list nothing: somebody may put something into it behind the listing.
const LISTS_NOTHING: usize = 3;

/// All names of an open folder; none where another process has removed it since it was opened.
pub(super) fn entries(fd: BorrowedFd<'_>) -> Result<Entries> {
    let listed = os::entries(fd);
    #[cfg(any(test, feature = "faults"))]
    let listed = listed.map(|found| crate::store::fault::listed(fd, found));
    or_none(listed)
}

fn or_none(listed: Os<Entries>) -> Result<Entries> {
    match listed {
        Err(Errno(libc::ENOENT)) => Ok(Vec::new()),
        other => other.map_err(|e| e.error("list the folder")),
    }
}

/// As [`entries`], without missing a name because others replace files meanwhile (a call that erases what is there may miss what comes), and what the folder is
/// like. It was opened after a `moment` ([`nanos_now`]).
fn entries_beside_writers(fd: BorrowedFd<'_>, moment: u64) -> Result<(Entries, libc::stat)> {
    let found = entries(fd)?;
    let st = os::stat(fd).map_err(|e| e.error("stat"))?;
    #[cfg(target_os = "linux")]
    let found = if stamp_of(&st, moment).is_settled() { found } else { or_none(list_again(fd, found))? };
    #[cfg(not(target_os = "linux"))]
    let _ = moment;
    Ok((found, st))
}

/// The visible names of a folder in the order of keys, and what each one is: a file, a folder (then it ends in a slash), a link to nothing, or none of these.
pub(super) fn visible(fd: BorrowedFd<'_>) -> Result<Vec<(String, EntryKind)>> {
    visible_of(entries(fd)?, fd)
}

fn visible_of(entries: Entries, fd: BorrowedFd<'_>) -> Result<Vec<(String, EntryKind)>> {
    let mut names = Vec::new();
    make_room(&mut names, entries.len())?;
    for (name, kind) in entries {
        let Ok(text) = name.to_str() else { continue };
        if is_hidden(name.to_bytes()) || is_kept_open(name.to_bytes()) {
            continue;
        }
        let kind = match kind {
            EntryKind::Link | EntryKind::Unknown => match os::stat_at(fd, &name, true) {
                Ok(st) => EntryKind::of(&st),
                Err(Errno(libc::ENOENT)) if is_link(fd, &name) => EntryKind::Link,
                Err(Errno(libc::ENOENT)) => continue,
                // A link in a circle, which cannot be read, either.
                Err(Errno(libc::ELOOP)) => EntryKind::Special,
                Err(e) => return Err(e.error("stat").at_key(text)),
            },
            kind => kind,
        };
        match kind {
            EntryKind::Folder => push(&mut names, ([text, "/"].concat(), kind))?,
            kind => push(&mut names, (text.to_string(), kind))?,
        }
    }
    names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    // Before Linux 6.5 btrfs told a name twice that was replaced meanwhile.
    names.dedup_by(|(a, _), (b, _)| a == b);
    Ok(names)
}

fn is_link(folder: BorrowedFd<'_>, name: &CStr) -> bool {
    os::stat_at(folder, name, false).is_ok_and(|st| EntryKind::of(&st) == EntryKind::Link)
}

/// Lists what is directly in a folder that was opened after a `moment`. Says whether it has temporary files, or what is left of folders.
pub(super) fn names_in(fd: BorrowedFd<'_>, moment: u64, listing: &mut Listing) -> Result<bool> {
    let (entries, _) = entries_beside_writers(fd, moment)?;
    let has_temporary = entries.iter().any(|(name, _)| is_temporary(name.to_bytes()));
    for (mut name, kind) in visible_of(entries, fd)? {
        match kind {
            EntryKind::File => push(&mut listing.keys, name)?,
            EntryKind::Folder => {
                name.pop();
                push(&mut listing.prefixes, name)?;
            }
            EntryKind::Link => push(&mut listing.dead_links, name)?,
            _ => push(&mut listing.others, name)?,
        }
    }
    // Without their slashes, folders are in another order.
    listing.prefixes.sort_unstable();
    Ok(has_temporary)
}

/// Lists a folder that was opened after a `moment`, and those below it; `path` is its prefix, `above` the folders on the way, so that a link to
/// one of them is not followed for ever.
pub(super) fn list_folder(
    (fd, moment): (BorrowedFd<'_>, u64),
    path: &mut String,
    above: &mut Vec<(libc::dev_t, u64)>,
    each: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<()> {
    let (entries, st) = entries_beside_writers(fd, moment).map_err(|e| e.at_key(&*path))?;
    let here = (st.st_dev, st.st_ino);
    if above.contains(&here) {
        return Ok(());
    }
    if above.len() >= MAX_DEPTH {
        bail!(Limit, "folders are nested deeper than {MAX_DEPTH}");
    }
    above.push(here);
    let len = path.len();
    for (name, kind) in visible_of(entries, fd).map_err(|e| e.at_key(&*path))? {
        path.push_str(&name);
        if kind == EntryKind::File {
            each(path)?;
        } else if kind == EntryKind::Folder {
            let c = CString::new(name).map_err(|_| err!(Internal, "a folder name with a NUL"))?;
            let moment = nanos_now();
            match os::open(fd, &c, libc::O_RDONLY | libc::O_DIRECTORY, 0) {
                Ok(below) => list_folder((below.as_fd(), moment), path, above, each)?,
                Err(Errno(libc::ENOENT)) => {}
                Err(e) => return Err(e.error("open the folder").at_key(&*path)),
            }
        }
        path.truncate(len);
    }
    above.pop();
    Ok(())
}

/// Fails where something in the folder `name` of `dir` may not be removed, in a folder of another user's say, or where another file system is mounted
/// below it, before anything is; `path` is what messages call it. Links and files that refuse for other reasons are found when they go.
pub(super) fn check_may_empty(dir: BorrowedFd<'_>, name: &CStr, path: &mut String) -> Result<()> {
    if cfg!(windows) { Ok(()) } else { check_below(dir, name, path, None, 0) }
}

/// Does the same for a folder at a depth, in one of the file system `device`.
fn check_below(dir: BorrowedFd<'_>, name: &CStr, path: &mut String, device: Option<libc::dev_t>, depth: usize) -> Result<()> {
    if depth >= MAX_DEPTH {
        bail!(Limit, "folders are nested deeper than {MAX_DEPTH}");
    }
    // What another process removes meanwhile, and links to folders, are no matter.
    let Ok(st) = os::stat_at(dir, name, false) else { return Ok(()) };
    let is_folder = EntryKind::of(&st) == EntryKind::Folder;
    let is_other = |dir, name| device.is_some_and(|device| is_mounted_in(dir, name, device));
    let mounted = |path: &str| Errno(libc::EBUSY).error(&format!("erase the folder {path}, on which something is mounted"));
    if is_folder && is_other(dir, name) {
        return Err(mounted(path));
    }
    let why = refuses_removal(dir, name);
    let refused = |path: &str| Errno(why.unwrap_or(libc::EACCES)).error(&format!("erase what is in the folder {path}"));
    // Its own link and its name: most file systems count one more for each folder in it. Some on networks tell 2 of all folders.
    let has_no_folder = || st.st_nlink == 2 && os::is_local(dir);
    if !is_folder || (why.is_none() && !is_sticky(&st) && has_no_folder()) {
        return Ok(());
    }
    let fd = match os::open(dir, name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
        Ok(fd) => fd,
        Err(Errno(libc::EACCES)) => return Err(refused(path)),
        Err(_) => return Ok(()),
    };
    // What an NFS server has mounted inside of what it exports is mounted here when it is opened first.
    if is_other(fd.as_fd(), c".") {
        return Err(mounted(path));
    }
    for (name, kind) in entries(fd.as_fd())? {
        if why.is_some() || (is_sticky(&st) && os::stat_at(fd.as_fd(), &name, false).is_ok_and(|entry| is_kept(&st, &entry))) {
            return Err(refused(path));
        }
        if matches!(kind, EntryKind::Folder | EntryKind::Unknown) {
            let len = path.len();
            path.push('/');
            path.push_str(&name.to_string_lossy());
            check_below(fd.as_fd(), &name, path, Some(st.st_dev), depth + 1)?;
            path.truncate(len);
        }
    }
    Ok(())
}

/// Why this process may not remove what is in a folder: it has no right to, that is read-only, or the folder is immutable or only appended to; `None` where it
/// may, or that cannot be told.
fn refuses_removal(dir: BorrowedFd<'_>, name: &CStr) -> Option<i32> {
    match os::may_change(dir, name) {
        Err(Errno(errno @ (libc::EACCES | libc::EROFS))) => Some(errno),
        _ => keeps_names(dir, name).then_some(libc::EPERM),
    }
}

/// Returns whether something is mounted at `name` in `dir`, below a folder of the file system `device`.
pub(super) fn is_mounted_in(dir: BorrowedFd<'_>, name: &CStr, device: libc::dev_t) -> bool {
    // A subvolume of btrfs has a device of its own, though nothing is mounted there.
    is_mounted(dir, name).unwrap_or_else(|| os::stat_at(dir, name, false).is_ok_and(|st| st.st_dev != device))
}

/// Removes all that is in a folder, hidden files as well; links go, what they lead to stays. Returns whether anything was removed but files that the file
/// system keeps for who has them open. An error has the key of what failed in the folder.
pub(super) fn empty_folder(fd: BorrowedFd<'_>, depth: usize) -> Result<bool> {
    remove_listed(fd, entries(fd)?, depth)
}

fn remove_listed(fd: BorrowedFd<'_>, listed: Entries, depth: usize) -> Result<bool> {
    if depth >= MAX_DEPTH {
        bail!(Limit, "folders are nested deeper than {MAX_DEPTH}");
    }
    let mut removed = false;
    for (name, kind) in listed {
        removed |= remove_entry(fd, &name, kind, depth).map_err(|e| {
            let below = if e.key().is_some() { "/" } else { "" };
            e.below(&format!("{}{below}", name.to_string_lossy()))
        })?;
    }
    Ok(removed)
}

/// Removes what a folder lists as [`empty_folder`] does.
fn remove_entry(fd: BorrowedFd<'_>, name: &CStr, kind: EntryKind, depth: usize) -> Result<bool> {
    if kind != EntryKind::Folder {
        match os::unlink(fd, name) {
            Ok(()) => return Ok(!is_kept_open(name.to_bytes())),
            Err(Errno(libc::ENOENT)) => return Ok(false),
            Err(Errno(libc::EBUSY)) if is_kept_open(name.to_bytes()) => return Ok(false),
            // A folder whose kind the listing did not tell.
            Err(Errno(libc::EISDIR | libc::EPERM)) if kind == EntryKind::Unknown => {}
            Err(e) => return Err(e.error("erase")),
        }
    }
    let removed = match os::open(fd, name, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
        Ok(below) => empty_folder(below.as_fd(), depth + 1)?,
        Err(Errno(libc::ENOENT)) => return Ok(false),
        Err(e) => return Err(e.error("open the folder")),
    };
    Ok(remove_folder(fd, name)? || removed)
}

/// Removes a folder, or a link or a file, with all below it; one that is not there is no error. Returns what [`remove_emptied`] does.
pub(super) fn remove_tree(dir: BorrowedFd<'_>, path: &CStr) -> Result<bool> {
    match os::open(dir, path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
        Ok(fd) => empty_folder(fd.as_fd(), 0).and_then(|_| remove_emptied(dir, path)),
        Err(Errno(libc::ENOENT)) => Ok(true),
        Err(Errno(libc::ENOTDIR | libc::ELOOP)) => os::unlink(dir, path).map(|()| true).map_err(|e| e.error("erase")),
        Err(e) => Err(e.error("open the folder")),
    }
}

/// Removes a folder that was emptied, and what is in it still: file systems that list by path show nothing in a folder that has got another name since it
/// was opened. `false` if it stays, because the file system keeps files in it that are open, or somebody puts something into it all the time. One that
/// lists nothing and does not go is an error.
pub(super) fn remove_emptied(dir: BorrowedFd<'_>, path: &CStr) -> Result<bool> {
    let mut listed = false;
    for tries in 0..TRIES {
        if remove_folder(dir, path)? {
            return Ok(true);
        }
        // Windows does not list what was removed and is open.
        if tries == LISTS_NOTHING && !listed && !cfg!(windows) {
            return Err(Errno(libc::ENOTEMPTY).error("erase the folder, which lists nothing"));
        }
        let fd = match os::open(dir, path, libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW, 0) {
            Err(Errno(libc::ENOENT)) => return Ok(true),
            opened => opened.map_err(|e| e.error("open the folder"))?,
        };
        let left = entries(fd.as_fd())?;
        listed |= !left.is_empty();
        if !remove_listed(fd.as_fd(), left, 0)? && listed {
            return remove_folder(dir, path);
        }
    }
    Ok(false)
}

/// Removes an empty folder; `false` if there is something in it.
fn remove_folder(dir: BorrowedFd<'_>, path: &CStr) -> Result<bool> {
    match os::rmdir(dir, path) {
        Ok(()) | Err(Errno(libc::ENOENT)) => Ok(true),
        Err(Errno(libc::ENOTEMPTY | libc::EEXIST)) => Ok(false),
        Err(e) => Err(e.error("erase the folder")),
    }
}
