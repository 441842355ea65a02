//! Whether one place lies inside another by whichever names: links, a folder that is mounted twice, letters in the other case.

use super::path::{c_path, followed};
use crate::error::{Error, Result};
use crate::limits::{add, push};
use crate::platform::{errno_of, libc, name_in_volume};
use crate::store::os::{self, CWD};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Whether `inner` is `outer` or lies in it, be it in an archive, or not there yet.
pub fn is_within(inner: &str, outer: &str) -> bool {
    // A slash behind a file's name would make it a folder.
    let [inner, outer] = [inner, outer].map(|place| followed(place).components().collect::<PathBuf>());
    inner.starts_with(&outer) || is_below(&inner, &outer) || is_mounted_from(&inner, &outer)
}

/// Whether a folder on the way to `inner` is `outer`, as the file system numbers them.
fn is_below(inner: &Path, outer: &Path) -> bool {
    let Some((_, numbers, rest)) = deepest(outer) else { return false };
    let leads_on = |above: &Path| inner.strip_prefix(above).is_ok_and(|names| names.starts_with(&rest));
    inner.ancestors().any(|above| leads_on(above) && numbers_of(above) == Some(numbers))
}

/// Whether what is mounted on the way to `inner` is mounted from inside of `outer`. Not all file systems tell truly from where: so what has its name there is
/// compared with it.
fn is_mounted_from(inner: &Path, outer: &Path) -> bool {
    let Some((there, numbers, _)) = deepest(inner) else { return false };
    let named = name_in_volume(&there).zip(name_in_volume(outer));
    let source = named.and_then(|(inner, outer)| inner.strip_prefix(outer).ok().map(Path::to_path_buf));
    source.is_some_and(|names| numbers_of(&outer.join(names)) == Some(numbers))
}

/// A link or a mount in the folder `source` that leads to what is in the folder `place`, or to a folder that holds that.
pub fn way_into(source: &str, place: &str) -> Result<Option<PathBuf>> {
    let (mut erased, mut seen, mut found) = (HashSet::new(), HashSet::new(), None);
    visit(Path::new(place), &mut |path, is_link| Ok(!is_link && add(&mut erased, numbers_of(path))?))?;
    erased.remove(&None);
    visit(Path::new(source), &mut |path, _| {
        let is_folder = path.is_dir();
        // A file is erased by the names that are in the folders of the place, whichever other names it has.
        let folder =
            if is_folder { Some(path.to_path_buf()) } else { path.canonicalize().ok().and_then(|file| Some(file.parent()?.to_path_buf())) };
        let numbers = folder.and_then(|folder| numbers_of(&folder));
        if found.is_none() && erased.contains(&numbers) {
            found = Some(path.to_path_buf());
        }
        Ok(found.is_none() && is_folder && add(&mut seen, numbers)?)
    })?;
    Ok(found)
}

/// Calls `each` with a folder, and then with the folders and links in it, and in those of which `each` says so; tells it which are links.
fn visit(top: &Path, each: &mut dyn FnMut(&Path, bool) -> Result<bool>) -> Result<()> {
    let failed = |e: std::io::Error, path: &Path| Error::os(errno_of(&e).unwrap_or(libc::EIO), format!("list {}", path.display()));
    let mut todo = if each(top, false)? { vec![top.to_path_buf()] } else { Vec::new() };
    while let Some(folder) = todo.pop() {
        let entries = match folder.read_dir() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries.map_err(|e| failed(e, &folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(|e| failed(e, &folder))?;
            let kind = entry.file_type().map_err(|e| failed(e, &folder))?;
            if !kind.is_file() && each(&entry.path(), kind.is_symlink())? {
                push(&mut todo, entry.path())?;
            }
        }
    }
    Ok(())
}

/// As much of a path as is there, its numbers, and the rest.
fn deepest(path: &Path) -> Option<(PathBuf, [u64; 2], PathBuf)> {
    path.ancestors().find_map(|above| Some((above.to_path_buf(), numbers_of(above)?, path.strip_prefix(above).ok()?.to_path_buf())))
}

/// The numbers of a file or folder; `None` where it has none of its own.
fn numbers_of(path: &Path) -> Option<[u64; 2]> {
    let numbers = os::numbers(&os::stat_at(CWD, &c_path(path).ok()?, true).ok()?);
    (numbers[1] != 0).then_some(numbers)
}
