//! Node paths: normalising what a caller gives, and the names that a new node may have.
//! Specification: v2, "Logical storage paths"; v3 core, "Node names".

use crate::error::{Result, bail};
use crate::limits::{MAX_KEY, check_memory};
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;
use std::path::Path;

/// The bytes of a key that are reserved for what follows a node's path: its documents and chunks.
const KEY_TAIL: usize = 64;
/// Names of documents, which no node may have.
const DOCUMENTS: &[&str] = &["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];

/// The normal form of a path: `\` is `/`, no slash at either end, no two in a row; the root is empty. Segments `.` and `..`,
/// NUL and overlong paths are errors of kind `Name`; anything else that exists can be opened.
pub fn normalize(path: &str) -> Result<String> {
    let mut out = String::with_capacity(path.len());
    for segment in path.split(['/', '\\']).filter(|s| !s.is_empty()) {
        if matches!(segment, "." | "..") {
            bail!(Name, "path {path:?} has the segment {segment:?}; a node path goes down from the root only");
        }
        if segment.contains('\0') {
            bail!(Name, "path {path:?} contains NUL");
        }
        if !out.is_empty() {
            out.push('/');
        }
        out.push_str(segment);
    }
    check_length(out)
}

/// Returns a normalised path, unless it is overlong.
pub(super) fn check_length(path: String) -> Result<String> {
    if path.len() > MAX_KEY - KEY_TAIL {
        bail!(Name, "a path of {} bytes exceeds the limit of {} bytes", path.len(), MAX_KEY - KEY_TAIL);
    }
    Ok(path)
}

/// Checks the names of a normalised path at which a node is to be created.
pub fn check_new(path: &str) -> Result<()> {
    match segments(path).find(|name| name.starts_with("__")) {
        Some(name) => bail!(Name, "name {name:?} starts with \"__\", which is reserved"),
        None => check_kept(path),
    }
}

/// Like [`check_new`], of a copy that keeps its version: other programs do give names that begin with `__`, as xarray does.
pub fn check_kept(path: &str) -> Result<()> {
    for name in segments(path) {
        if DOCUMENTS.contains(&name) {
            bail!(Name, "name {name:?} is that of a metadata document");
        }
        if name.starts_with(".ozarr") || name.starts_with("ozarr-") && name.ends_with(".json") {
            bail!(Name, "name {name:?} is reserved for the library's own files, as \".ozarr*\" and \"ozarr-*.json\" are");
        }
        if name.bytes().all(|b| b == b'.') {
            bail!(Name, "name {name:?} consists of periods only");
        }
        if let Some(c) = name.chars().find(|c| c.is_control()) {
            bail!(Name, "name {name:?} contains the control character U+{:04X}", c as u32);
        }
    }
    Ok(())
}

/// The names in a normalised path, from the root down.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|s| !s.is_empty())
}

/// The prefix of the keys of a node: empty for the root, else the path and `/`.
pub fn prefix(path: &str) -> String {
    if path.is_empty() { String::new() } else { [path, "/"].concat() }
}

/// `name` below `path`.
pub fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_string() } else { [path, "/", name].concat() }
}

/// The path of the enclosing node; `None` for the root.
pub fn parent(path: &str) -> Option<&str> {
    if path.is_empty() { None } else { Some(path.rsplit_once('/').map_or("", |(parent, _)| parent)) }
}

/// The paths above a node, from the root down.
pub fn ancestors(path: &str) -> Vec<&str> {
    let mut out: Vec<&str> = std::iter::successors(parent(path), |p| parent(p)).collect();
    out.reverse();
    out
}

/// The paths above nodes that are below `group`.
pub fn between<'a>(paths: impl Iterator<Item = &'a str>, group: &str) -> Result<BTreeSet<&'a str>> {
    let mut all = BTreeSet::new();
    for above in paths.flat_map(ancestors).filter(|above| above.len() > group.len()) {
        check_memory()?;
        all.insert(above);
    }
    Ok(all)
}

/// Returns `path` relative to `base`, a node above it or itself.
pub fn relative<'a>(base: &str, path: &'a str) -> &'a str {
    // The root is above everything: nothing to compare.
    let below = if base.is_empty() { path } else { path.strip_prefix(base).unwrap_or(path) };
    below.trim_start_matches('/')
}

/// Returns whether `path` is `base` or below it.
pub fn is_within(path: &str, base: &str) -> bool {
    path.strip_prefix(base).is_some_and(|rest| base.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether `path` is one of `bases` or below one: of many it takes no longer than of one.
pub fn is_within_any<T: Borrow<str> + Eq + Hash>(path: &str, bases: &HashSet<T>) -> bool {
    // A hostile key may have very many names; no node's path is longer.
    let known = |above: &str| above.len() <= MAX_KEY && bases.contains(above);
    !bases.is_empty() && (known(path) || ancestors(path).into_iter().any(known))
}

/// Whether a path relative to `group` names a node below it as it is.
pub fn is_named_below(group: &str, node: &str) -> bool {
    !node.is_empty() && normalize(&join(group, node)).is_ok_and(|whole| relative(group, &whole) == node)
}

/// How a path is named in a message.
pub fn display(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}

/// How many names an error of kind `NotFound` offers.
pub const SHOWN: usize = 8;

/// The most names among which an error's message looks for the nearest: a program may ask for each of very many names before it makes it.
const COMPARED: usize = 1000;

/// Up to eight of `names`, those nearest to `wanted` where there are more: what an error of kind `NotFound` offers.
pub fn near<'a>(names: impl ExactSizeIterator<Item = &'a str>, wanted: &str) -> String {
    let (mut nearest, count) = (Vec::<(usize, &str)>::new(), names.len());
    for name in names.take(COMPARED) {
        let far = distance(name, wanted);
        let place = nearest.partition_point(|(other, _)| *other <= far);
        if place < SHOWN {
            nearest.truncate(SHOWN - 1);
            nearest.insert(place, (far, name));
        }
    }
    nearest.sort_unstable_by_key(|(_, name)| *name);
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    let shown: Vec<String> = nearest.iter().map(|(_, name)| shortened(name)).collect();
    format!("{}{more}", shown.join(", "))
}

/// A name, of which a message shows the beginning where it is long.
fn shortened(name: &str) -> String {
    const MOST: usize = 256;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}

/// Sorts names, those that are nearest to `wanted` first.
pub fn sort_by_nearness<T: AsRef<str>>(names: &mut [T], wanted: &str) {
    names.sort_by_cached_key(|name| distance(name.as_ref(), wanted));
}

/// How many characters must be inserted, removed or replaced to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The text of a path below a folder, as a key has it, with escapes for bytes that are no UTF-8.
pub(super) fn with_escapes(path: &Path) -> String {
    let mut text = String::new();
    for name in path {
        text.push_str(if text.is_empty() { "" } else { "/" });
        for part in name.as_encoded_bytes().utf8_chunks() {
            text.push_str(part.valid());
            text.extend(part.invalid().iter().map(|b| format!("\\x{b:02x}")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn paths_have_one_normal_form() {
        for path in ["\\\\a\\b//c/", "/a/b/c", "a/b/c", "a\\b\\c//"] {
            assert_eq!(normalize(path).unwrap(), "a/b/c");
        }
        for root in ["", "/", "\\", "//"] {
            assert_eq!(normalize(root).unwrap(), "");
        }
        for legal in ["...", ".a", "a.", "a/__b", "größe", "zarr.json"] {
            assert_eq!(normalize(legal).unwrap(), legal);
        }
    }

    #[test]
    fn paths_that_climb_are_refused() {
        let long = "x".repeat(MAX_KEY - KEY_TAIL + 1);
        for path in [".", "..", "a/../b", "a\\..\\b", "./a", "a/.", "a\0b", &long] {
            assert_eq!(normalize(path).unwrap_err().kind(), ErrorKind::Name, "{path:?}");
        }
        assert!(normalize(&long[1..]).is_ok());
    }

    #[test]
    fn new_names_follow_the_rules() {
        for bad in ["...", "__x", "a/__b/c", "zarr.json", "a/.zarray", ".zgroup", ".zattrs", ".zmetadata", ".ozarr.lock", "a\nb"]
            .into_iter()
            .chain(["ozarr-copy.json", "a/ozarr-resize.json/b", "ozarr-migration.json"])
        {
            assert_eq!(check_new(bad).unwrap_err().kind(), ErrorKind::Name, "{bad:?}");
        }
        for good in ["", "a", "_x", "x__", "a b", "ü/0.0", ".hidden", "c", "ozarr-a", "ozarr.json"] {
            check_new(good).unwrap();
        }
    }

    #[test]
    fn ancestors_go_from_the_root_down() {
        assert_eq!(ancestors("a/b/c"), ["", "a", "a/b"]);
        assert_eq!(ancestors("a"), [""]);
        assert!(ancestors("").is_empty());
        assert_eq!((relative("", "a/b"), relative("a", "a/b/c"), relative("a", "a")), ("a/b", "b/c", ""));
    }

    #[test]
    fn what_lies_below_stops_at_the_name() {
        for (path, within) in [("foo", true), ("foo/a", true), ("foobar", false), ("b", false), ("", false)] {
            assert_eq!(is_within(path, "foo"), within, "{path}");
            assert!(is_within(path, ""), "{path}");
        }
    }

    #[test]
    fn of_many_nodes_any_may_be_above() {
        let paths = ["", "a", "a/b", "a/b/c", "a/b/zarr.json", "ab", "a-/b", "b/a", "x/y/z"];
        for bases in [&[][..], &[""], &["a"], &["a/b", "x"], &["a-", "b", "x/y/z/w"]] {
            let all = HashSet::from_iter(bases.iter().copied());
            for path in paths {
                assert_eq!(is_within_any(path, &all), bases.iter().any(|base| is_within(path, base)), "{path:?} {bases:?}");
            }
        }
    }

    #[test]
    fn no_more_names_are_looked_at_than_a_message_is_worth() {
        let (names, looked_at) = (vec!["step"; 100_000], std::cell::Cell::new(0));
        let told = near(names.iter().copied().inspect(|_| looked_at.set(looked_at.get() + 1)), "stop");
        assert!(told.ends_with("step and 99992 more") && looked_at.get() <= COMPARED, "{told} {looked_at:?}");
    }

    #[test]
    fn near_names_are_at_most_eight() {
        assert_eq!(near(["y", "temperature", "x"].into_iter(), "temprature"), "temperature, x, y");
        let names: Vec<String> = (0..20).map(|i| format!("v{i}")).chain(["temperature".to_string()]).collect();
        let text = near(names.iter().map(String::as_str), "temprature");
        assert!(text.contains("temperature") && text.ends_with(" and 13 more"), "{text}");
    }
}
