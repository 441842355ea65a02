//! Whether one place lies inside another by whichever names: links, a folder that is mounted twice, letters in the other case.

use super::path::{c_path, followed};
use crate::platform::name_in_volume;
use crate::store::os::{self, CWD};
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

/// As much of a path as is there, its numbers, and the rest.
fn deepest(path: &Path) -> Option<(PathBuf, [u64; 2], PathBuf)> {
    path.ancestors().find_map(|above| Some((above.to_path_buf(), numbers_of(above)?, path.strip_prefix(above).ok()?.to_path_buf())))
}

/// The numbers of a file or folder; `None` where it has none of its own.
fn numbers_of(path: &Path) -> Option<[u64; 2]> {
    let numbers = os::numbers(&os::stat_at(CWD, &c_path(path).ok()?, true).ok()?);
    (numbers[1] != 0).then_some(numbers)
}
