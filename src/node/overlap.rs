//! Places that are the same, or one of which holds the other: what is copied there would be erased first.

use super::{Store, lookup, path};
use crate::error::{Error, Result, bail, err};
use crate::store::local::overlap::{is_within, way_into};
use std::path::Path;

/// Refuses to copy a node into itself, or over a node that holds it, by whichever links, mounts or handles it is named.
pub(super) fn refuse(from: (&Store, &str), to: (&Store, &str)) -> Result<()> {
    let (a, b) = (from.0.place(from.1), to.0.place(to.1));
    // Two stores in memory are two places; of two folders, one may be inside the other.
    let is_folder = a.starts_with('/') || cfg!(windows) && from.0.shared().files().is_some();
    let of_one_server = b.contains("://") && from.0.options().server == to.0.options().server;
    if !is_folder && !from.0.is_one_with(to.0) && !a.starts_with("memory:") && !of_one_server {
        return Ok(());
    }
    let is_in = |inner: &str, outer: &str| if is_folder { is_within(inner, outer) } else { Path::new(inner).starts_with(outer) };
    let what = match (is_in(&b, &a), is_in(&a, &b)) {
        (false, false) => return Ok(()),
        (true, true) => "is the same as",
        (true, false) => "lies inside of",
        (false, true) => "holds",
    };
    Err(error(&a, what, &b))
}

/// Refuses to move a node into itself, or to where it is, where its folder does not tell upper case from lower, and links and numbers of files do not show that it
/// is the same.
pub(super) fn refuse_case(store: &Store, path: &str, to_path: &str) -> Result<()> {
    let depth = path::segments(path).count();
    let above = path::segments(to_path).take(depth).fold(String::new(), |above, name| path::join(&above, name));
    if above != path && above.to_lowercase() == path.to_lowercase() && lookup::is_there(store, &above)? && !lookup::has_name(store, &above)
    {
        let is = if above == to_path { "is the same as" } else { "lies inside of" };
        return Err(error(&store.place(path), is, &store.place(to_path)));
    }
    Ok(())
}

/// Refuses to erase a place, before a node is copied there, by way of which one of the keys is read that are copied.
pub(super) fn refuse_ways(from: &Store, keys: &dyn Fn() -> Result<Vec<String>>, (to, to_path): (&Store, &str)) -> Result<()> {
    if from.shared().files().is_none() || to.shared().files().is_none() {
        return Ok(());
    }
    let (source, place) = (from.place(""), to.place(to_path));
    match way_into(keys()?.iter().map(|key| Path::new(&source).join(key)), &place)? {
        Some(way) => bail!(
            Argument,
            "{} leads to {}, which would be erased before it is copied; expected a place apart from what is copied",
            way.display(),
            place.trim_end_matches('/')
        ),
        None => Ok(()),
    }
}

/// Says that a place cannot be copied to another one, which `is` so to it.
pub(super) fn error(from: &str, is: &str, to: &str) -> Error {
    let (to, from) = (to.trim_end_matches('/'), from.trim_end_matches('/'));
    err!(Argument, "{to} {is} {from}; expected a place apart from what is copied")
}

/// Refuses to make a node of a file that is at its place: it would be erased with what is there.
pub(super) fn refuse_source(file: &str, (to, path): (&Store, &str)) -> Result<()> {
    let place = to.place(path);
    if Path::new(file).is_absolute() && to.shared().files().is_some() && is_within(file, &place) {
        bail!(Argument, "{} holds {file}", place.trim_end_matches('/'));
    }
    Ok(())
}
