//! The place of a copy. What is overwritten stays until the copy is whole, where the store can replace a node; elsewhere the place is cleared first,
//! and marked until the copy is whole, so that the same call completes one that was cut short, and nothing of what was there shows in it. Where the mark
//! is gone when the copy's own document is to come, another process has erased or renamed what holds the place, with what was copied by then.

use super::{Create, Store, document, hierarchy, in_use, lookup, marker, path, upkeep};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::metadata::{Value, v2, v3};
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

/// Is told the store and the path where a copy is to be made, and what it calls ahead of the copy's own document ([`check_ours`]).
pub(super) type Make<'a, T> = dyn FnMut(&Store, &str, &dyn Fn() -> Result<()>) -> Result<T> + 'a;

/// Makes a copy of what `copied` names at `place` of `to` by `copy`, which is called again where what it made could not take the place. Returns what
/// that returns, and whether a node was replaced. Errors: `Again` where another process has erased or renamed what holds the place.
pub(super) fn fill<T>(copied: Copied<'_>, (to, place): (&Store, &str), how: Create, copy: &mut Make<'_, T>) -> Result<(T, bool)> {
    let _lock = document::lock_place(to, place)?;
    if how == Create::Overwrite && lookup::is_in_the_way(to, place)? {
        in_use::refuse(to, place)?;
        if let Some(made) = hierarchy::replace(to, place, |store, path| copy(store, path, &|| Ok(())))? {
            return Ok((made, true));
        }
    }
    let replaced = begin(copied, (to, place), how)?;
    let ours = |made| check_ours((to, place), (marker::COPY, copied.source), made);
    let made = copy(to, place, &|| ours(false));
    // What happened to the place is the error to tell. Again behind the document, for what came between.
    ours(made.is_ok()).or_else(|e| if made.is_err() && e.kind() != ErrorKind::Again { Ok(()) } else { Err(e) })?;
    let made = made?;
    end(to, place)?;
    Ok((made, replaced))
}

/// Checks that a place is still as a call has marked it: another process that erases or renames it, or a group above, takes what was made there by then
/// with it, and what comes later is made in a new folder. That stays, as it may be another's
/// by now, but for the document that the call `made`: chunks are missing. Errors: `Again`.
pub(super) fn check_ours((to, place): (&Store, &str), (name, source): (&str, &str), made: bool) -> Result<()> {
    // What cannot be erased has no marker.
    if !to.shared().capabilities().erasable {
        return Ok(());
    }
    let marker = marker::read(to, place, name)?;
    if marker.as_ref().and_then(|marker| marker.get("from")).and_then(Value::as_str) == Some(source) {
        return Ok(());
    }
    if made && marker.is_none() {
        for name in [v3::DOCUMENT, v2::ARRAY, v2::GROUP] {
            let key = path::join(place, name);
            to.shared().erase(&key).map_err(|e| e.at_key(&key))?;
            to.note_document(&key);
        }
    }
    Err(taken_away(place).at_key(path::join(place, name)))
}

/// Says that another process has taken a place away, in which a node was being made.
pub(super) fn taken_away(place: &str) -> Error {
    let what =
        "was erased or renamed, or a group above it, while it was made: erase what is left there, and make it again where it is to be";
    err!(Again, "{} {what}", path::display(place))
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
        refuse_files((to, place), "copy")?;
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

/// Refuses to make something, as `call` does, where there are files of whatever.
pub(super) fn refuse_files((to, place): (&Store, &str), call: &str) -> Result<()> {
    let listing = to.shared().list_dir(&path::prefix(place))?;
    if !listing.keys.is_empty() || !listing.prefixes.is_empty() {
        let (store, path) = (to.shared().describe(), path::display(place));
        bail!(Exists, "{path} of {store} holds something already; {call} to where nothing is");
    }
    Ok(())
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
