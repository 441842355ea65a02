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

/// The first of these files that is reached by way of what is in the folder `place`: by a link that is or leads there, or a mount of it.
pub fn way_into(files: impl IntoIterator<Item = PathBuf>, place: &str) -> Result<Option<PathBuf>> {
    let (erased, mut seen, mut todo) = (folders(Path::new(place))?, HashSet::new(), Vec::new());
    for file in files {
        push(&mut todo, file.clone())?;
        while let Some(path) = todo.pop() {
            for above in path.ancestors() {
                // What is above a path that was seen was seen, too.
                if !add(&mut seen, above.to_path_buf())? {
                    break;
                }
                match above.read_link() {
                    Ok(target) => push(&mut todo, above.parent().unwrap_or(above).join(target))?,
                    // A file is erased by the names that are in the folders of the place, whichever other names it has.
                    Err(_) if numbers_of(above).is_some_and(|numbers| erased.contains(&numbers)) => return Ok(Some(file)),
                    Err(_) => {}
                }
            }
        }
    }
    Ok(None)
}

/// The numbers of a folder and of the folders in it.
fn folders(top: &Path) -> Result<HashSet<[u64; 2]>> {
    let failed = |e: std::io::Error, path: &Path| Error::os(errno_of(&e).unwrap_or(libc::EIO), format!("list {}", path.display()));
    let (mut all, mut todo) = (HashSet::new(), vec![top.to_path_buf()]);
    while let Some(folder) = todo.pop() {
        let entries = match folder.read_dir() {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries.map_err(|e| failed(e, &folder))?,
        };
        numbers_of(&folder).map_or(Ok(false), |numbers| add(&mut all, numbers))?;
        for entry in entries {
            let entry = entry.map_err(|e| failed(e, &folder))?;
            if entry.file_type().map_err(|e| failed(e, &folder))?.is_dir() {
                push(&mut todo, entry.path())?;
            }
        }
    }
    Ok(all)
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
