//! Paths below the root of a folder, and the folders on the way to them.

use crate::error::{Error, Result, bail, err};
use crate::platform::{AsFd, BorrowedFd, can_name, errno_of, libc};
use crate::store::keys::{self, check_key};
use crate::store::os::{self, CWD, EntryKind, Errno};
use smallvec::SmallVec;
use std::ffi::{CStr, CString};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The name of lock files; never listed.
pub(crate) const LOCK_NAME: &str = ".ozarr.lock";

/// The name of the lock files of netCDF's programs (`netcdf/lock.c`), which any of them may use again.
pub(super) const NETCDF_LOCK_NAME: &str = ".ozarr-netcdf.tmp";

/// How temporary names begin; never listed.
pub(super) const TEMP_PREFIX: &str = ".ozarr-";

/// How temporary names end.
pub(super) const TEMP_SUFFIX: &str = ".tmp";

/// A NUL-terminated path below the root: most are short, and on the stack.
#[derive(Clone)]
pub(super) struct KeyPath(SmallVec<[u8; 160]>);

impl KeyPath {
    /// The file of a key.
    pub(super) fn of_key(key: &str) -> Result<KeyPath> {
        check_key(key)?;
        check_can_name(key)?;
        Ok(KeyPath::join("", key))
    }

    /// The folder `folder`, which was checked; `.` for the root.
    pub(super) fn of_folder(folder: &str) -> KeyPath {
        KeyPath::join("", if folder.is_empty() { "." } else { folder })
    }

    /// A checked folder (or nothing) and a name in it.
    pub(super) fn join(folder: &str, name: &str) -> KeyPath {
        KeyPath::of_parts(folder, &[name.as_bytes()])
    }

    /// A checked folder (or nothing) and a name in it, of which these are the parts.
    pub(super) fn of_parts(folder: &str, name: &[&[u8]]) -> KeyPath {
        let mut path = KeyPath(SmallVec::new());
        if !folder.is_empty() {
            path.0.extend_from_slice(folder.as_bytes());
            path.0.push(b'/');
        }
        for part in name {
            path.0.extend_from_slice(part);
        }
        path.0.push(0);
        #[cfg(any(test, feature = "faults"))]
        if crate::store::fault::folds_case() {
            path.0.make_ascii_lowercase();
        }
        path
    }

    pub(super) fn as_c(&self) -> &CStr {
        // SAFETY: every path ends with the one NUL in it; checked keys and the library's own names hold none.
        unsafe { CStr::from_bytes_with_nul_unchecked(&self.0) }
    }
}

/// Writes a path as a text. Bytes that are no text become numbers, so that names that differ in them differ, too.
pub fn shown(path: &Path) -> String {
    let mut shown = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(shown, "\u{FFFD}{byte:02x}");
        }
    }
    shown
}

/// Follows the symbolic links in a path as far as it exists.
pub fn followed(place: &str) -> PathBuf {
    let place = Path::new(place);
    let real = |above: &Path| Some(above.canonicalize().ok()?.join(place.strip_prefix(above).ok()?));
    place.ancestors().find_map(real).unwrap_or_else(|| place.to_path_buf())
}

fn check_can_name(key: &str) -> Result<()> {
    if !can_name(key) {
        bail!(Name, "no file of this system can have this name");
    }
    Ok(())
}

/// Checks a prefix, which is empty or ends in a slash, and gives its folder.
pub(super) fn check_prefix(prefix: &str) -> Result<&str> {
    let folder = keys::check_prefix(prefix)?;
    check_can_name(folder).map(|()| folder)
}

/// The folder of a key, without a slash.
pub(super) fn folder_of(key: &str) -> &str {
    split(key).0
}

/// The folder of a key, without a slash, and its name there. Byte by byte: most names are short, and each chunk that is written asks several times.
fn split(key: &str) -> (&str, &str) {
    key.bytes().rposition(|b| b == b'/').map_or(("", key), |at| (&key[..at], &key[at + 1..]))
}

/// The name of a folder after the prefix `from` was renamed to `to` (both end in `/`); `None` if it is neither that folder nor below it.
pub(super) fn renamed_folder(folder: &str, from: &str, to: &str) -> Option<String> {
    let tail = format!("{folder}/").strip_prefix(from)?.to_string();
    Some(format!("{to}{tail}").trim_end_matches('/').to_string())
}

/// Refuses a key that names one of the library's own files.
pub(super) fn check_name(key: &str) -> Result<()> {
    if is_hidden(split(key).1.as_bytes()) {
        bail!(Name, "the name is kept for the library's own files");
    }
    Ok(())
}

pub(super) fn is_hidden(name: &[u8]) -> bool {
    name == LOCK_NAME.as_bytes() || is_temporary(name)
}

/// Whether a name is that of a temporary file, or of what is left of a folder.
pub(super) fn is_temporary(name: &[u8]) -> bool {
    name.starts_with(TEMP_PREFIX.as_bytes()) && name.ends_with(TEMP_SUFFIX.as_bytes())
}

/// Whether a file system gave the name to a file that was replaced or removed while it was open: NFS, FUSE and SMB keep it until it is closed.
pub(super) fn is_kept_open(name: &[u8]) -> bool {
    let number = [&b".nfs"[..], b".fuse_hidden", b".__smb"].iter().find_map(|prefix| name.strip_prefix(*prefix));
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_hexdigit))
}

/// Lengths of the paths of folders that were made for a key, outermost first.
pub(super) type Made = SmallVec<[usize; 8]>;

/// Makes a path absolute, without `.` and repeated slashes.
pub(super) fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    let bytes = path.as_os_str().as_encoded_bytes();
    // Most are so already; the standard library would put them together again, name by name.
    let is_plain = bytes.starts_with(b"/") && !bytes.windows(2).any(|two| matches!(two, b"//" | b"/."));
    if cfg!(unix) && is_plain { Ok(path.to_path_buf()) } else { std::path::absolute(path) }
}

/// The error of a path that cannot be made absolute: of most there is no current folder that it could count from.
#[cold]
pub(crate) fn not_absolute(path: &Path, e: &std::io::Error) -> Error {
    let path = path.display().to_string();
    match errno_of(e) {
        Some(errno) => err!(Location, "the path {path:?} counts from the current folder, which cannot be found: {e}").with_errno(errno),
        None => err!(Location, "the path {path:?}: {e}"),
    }
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| err!(Location, "the path {} contains a NUL", path.display()))
}

/// Makes a folder outside of any store and its parents; syncs each parent if asked for. One whose name cannot be made durable goes again: whoever
/// finds it there takes it for durable.
pub(crate) fn make_folder(path: &Path, sync: bool) -> Result<()> {
    let c = c_path(path)?;
    let mut made = os::mkdir(CWD, &c);
    if let (Err(Errno(libc::ENOENT)), Some(parent)) = (made, path.parent()) {
        make_folder(parent, sync)?;
        made = os::mkdir(CWD, &c);
    }
    match made {
        Ok(()) => {}
        Err(Errno(libc::EEXIST)) => return Ok(()),
        Err(e) => return Err(e.error(&format!("make the folder {}", path.display()))),
    }
    if sync && let Some(parent) = path.parent() {
        let fd = os::open(CWD, &c_path(parent)?, libc::O_RDONLY | libc::O_DIRECTORY, 0);
        fd.and_then(|fd| os::fsync_folder(fd.as_fd())).map_err(|e| {
            let _ = os::rmdir(CWD, &c);
            e.error(&format!("sync the folder above {}", path.display()))
        })?;
    }
    Ok(())
}

/// Makes the folders above `key`, trying first the one with which `missing` are likely to be, 1 at least; `made` gets those that were not there.
pub(super) fn make_parents(root: BorrowedFd<'_>, key: &str, missing: usize, made: &mut Made) -> Result<()> {
    let cuts: SmallVec<[usize; 16]> = key.match_indices('/').map(|(at, _)| at).collect();
    let make = |cut: usize| os::mkdir(root, KeyPath::join("", &key[..cut]).as_c());
    let mut next = cuts.len().saturating_sub(missing - 1).max(cuts.len().min(1));
    while next > 0 {
        match make(cuts[next - 1]) {
            Ok(()) => {
                made.push(cuts[next - 1]);
                break;
            }
            Err(Errno(libc::EEXIST)) => break,
            Err(Errno(libc::ENOENT)) => next -= 1,
            Err(e) => return Err(e.error("make a folder").at_key(&key[..cuts[next - 1]])),
        }
    }
    for &cut in &cuts[next..] {
        match make(cut) {
            Ok(()) => made.push(cut),
            // ENOENT: somebody erased the folder above; the caller tries again.
            Err(Errno(libc::EEXIST | libc::ENOENT)) => {}
            Err(e) => return Err(e.error("make a folder").at_key(&key[..cut])),
        }
    }
    Ok(())
}

/// Makes the folders above `key`, of which one was not found just now. Where all have their names, one of these may be a link to nothing.
pub(super) fn make_missing(root: BorrowedFd<'_>, key: &str, made: &mut Made) -> Result<()> {
    let before = made.len();
    make_parents(root, key, 1, made)?;
    if made.len() > before {
        return Ok(());
    }
    key.match_indices('/').try_for_each(|(cut, _)| check_leads_on(root, &key[..cut]))
}

/// Refuses a name that is a link to nothing, in which whoever tries again would never find a folder, nor make one.
fn check_leads_on(root: BorrowedFd<'_>, folder: &str) -> Result<()> {
    let kind = |follow| os::stat_at(root, KeyPath::of_folder(folder).as_c(), follow).map(|st| EntryKind::of(&st));
    if kind(true) == Err(Errno(libc::ENOENT)) && kind(false) == Ok(EntryKind::Link) {
        return Err(err!(Location, "this is a link to what is not there, expected a folder").at_key(folder));
    }
    Ok(())
}

/// Removes the folders that were made for `key`, innermost first, but those in which there is something by now. A writer that finds one gone makes it
/// anew.
#[cold]
pub(super) fn remove_made(root: BorrowedFd<'_>, key: &str, made: &Made) {
    for &len in made.iter().rev() {
        let _ = os::rmdir(root, KeyPath::join("", key.get(..len).unwrap_or(key)).as_c());
    }
}

/// Says in an error that `folder` of the store in `root` cannot be there, because a file has its name or that of a folder above it.
#[cold]
pub(super) fn file_instead_of(root: &Path, folder: &Path, e: Error) -> Error {
    let found = folder.ancestors().find(|path| path.exists()).filter(|path| e.os_errno() == libc::ENOTDIR && !path.is_dir());
    let Some(file) = found else { return e };
    let place = file.display();
    let instead = match file {
        _ if is_of_netcdf(file) => "; `ozarr from` makes Zarr of a file of netCDF or HDF5".to_string(),
        _ if file.extension().is_some_and(|ending| ending == "json") => {
            " (a file of JSON is no store, nor are references of kerchunk)".to_string()
        }
        _ if file == root => format!(" (or a zip archive, as \"zip:{place}\")"),
        _ => String::new(),
    };
    err!(Location, "{place} is a file, expected a directory{instead}").with_errno(libc::ENOTDIR)
}

/// Whether a file begins as those of netCDF and HDF5 do.
fn is_of_netcdf(file: &Path) -> bool {
    let mut first = [0; 4];
    let mut read = || -> Option<usize> {
        let opened = os::open(CWD, &c_path(file).ok()?, libc::O_RDONLY | libc::O_NOCTTY, 0).ok()?;
        os::pread_and_one(opened.as_fd(), &mut first, 0).ok()
    };
    // Opening a pipe would wait for its writer.
    let is_read = file.is_file() && read().is_some_and(|n| n >= 4);
    is_read && matches!(&first, b"\x89HDF" | b"CDF\x01" | b"CDF\x02" | b"CDF\x05")
}
