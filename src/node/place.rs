//! The place of a copy. What is overwritten stays until the copy is whole, where the store can replace a node; elsewhere the place is cleared first,
//! and marked until the copy is whole, so that the same call completes one that was cut short, and nothing of what was there shows in it.

use super::{Create, Store, document, hierarchy, in_use, lookup, marker, path, upkeep};
use crate::error::{Result, bail, err};
use crate::metadata::Value;
use crate::store::StorageExt;

/// What the marker says of a copy of a node.
pub(super) fn source_of(store: &Store, path: &str) -> String {
    format!("{} {path}", store.shared().describe())
}

/// What is copied.
#[derive(Clone, Copy)]
pub(super) struct Copied<'a> {
    /// What the marker says of it.
    pub source: &'a str,
    /// Does for a copy that is there what comes behind its documents.
    pub complete: &'a dyn Fn() -> Result<()>,
}

/// Makes a copy of what `copied` names at `place` of `to` by `copy`, which is told the store and the path where it is to be made, and called again where what it made could not
/// take the place. Returns what that returns, and whether a node was replaced.
pub(super) fn fill<T>(
    copied: Copied<'_>,
    (to, place): (&Store, &str),
    how: Create,
    copy: &mut dyn FnMut(&Store, &str) -> Result<T>,
) -> Result<(T, bool)> {
    let _lock = document::lock_place(to, place)?;
    if how == Create::Overwrite && lookup::is_in_the_way(to, place)? {
        in_use::refuse(to, place)?;
        if let Some(made) = hierarchy::replace(to, place, &mut *copy)? {
            return Ok((made, true));
        }
    }
    let replaced = begin(copied, (to, place), how)?;
    let made = copy(to, place)?;
    end(to, place)?;
    Ok((made, replaced))
}

/// Erases what is in the way as far as that was asked for, and what an interrupted copy left; refuses anything else. Returns whether a node
/// was replaced.
fn begin(copied: Copied<'_>, (to, place): (&Store, &str), how: Create) -> Result<bool> {
    if how == Create::New {
        // The error is the one to tell.
        hierarchy::refuse_existing(to, place).inspect_err(|_| drop(finish(copied, (to, place))))?;
    }
    let (capabilities, source) = (to.shared().capabilities(), copied.source);
    let interrupted = capabilities.erasable && was_interrupted(to, place, (source, how))?;
    let replaced = lookup::is_in_the_way(to, place)?;
    if !replaced && !interrupted && capabilities.listable {
        let listing = to.shared().list_dir(&path::prefix(place))?;
        if !listing.keys.is_empty() || !listing.prefixes.is_empty() {
            let store = to.shared().describe();
            bail!(Exists, "{} of {store} holds something already; copy to where nothing is", path::display(place));
        }
    }
    if !capabilities.erasable {
        return hierarchy::clear(to, place);
    }
    if replaced || interrupted {
        to.shared().check_erase(&path::prefix(place))?;
    }
    // Before anything is erased: what a kill leaves is completed by the same call.
    marker::put(to, place, marker::COPY, &[("from", source.into())])?;
    if replaced || interrupted {
        hierarchy::erase_around(to, place, marker::COPY)?;
    }
    Ok(replaced)
}

/// Does what is left of a copy that a kill has ended behind its own document: all is there that is copied.
fn finish(copied: Copied<'_>, (to, place): (&Store, &str)) -> Result<()> {
    let is_marked = to.shared().capabilities().erasable && was_interrupted(to, place, (copied.source, Create::New))?;
    if is_marked {
        (copied.complete)()?;
        end(to, place)?;
    }
    upkeep::add_missed(to, place)
}

/// Says that the copy is whole.
fn end(to: &Store, place: &str) -> Result<()> {
    if to.shared().capabilities().erasable {
        marker::erase(to, place, marker::COPY)?;
    }
    Ok(())
}

/// Whether a copy of the same source was interrupted at `place`; where it is to be overwritten, any copy, of a node above as well.
fn was_interrupted(to: &Store, place: &str, (source, how): (&str, Create)) -> Result<bool> {
    let above = if how == Create::Overwrite { path::ancestors(place) } else { Vec::new() };
    for place in above.into_iter().chain([place]) {
        let Some(marker) = marker::read(to, place, marker::COPY)? else { continue };
        if how != Create::Overwrite && marker.get("from").and_then(Value::as_str) != Some(source) {
            return Err(err!(
                Exists,
                "another copy, or the erasing of a node, was interrupted here; complete it, or overwrite what it left"
            )
            .at_key(path::join(place, marker::COPY)));
        }
        return Ok(true);
    }
    Ok(false)
}
