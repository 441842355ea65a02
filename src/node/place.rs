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

/// Makes a copy of what `source` names at `place` of `to` by `copy`, which is told the store and the path where it is to be made, and called again where what it made could not
/// take the place. Returns what that returns, and whether a node was replaced.
pub(super) fn fill<T>(
    source: &str,
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
    let replaced = begin(source, (to, place), how)?;
    let made = copy(to, place)?;
    end(to, place)?;
    Ok((made, replaced))
}

/// Erases what is in the way as far as that was asked for, and what an interrupted copy left; refuses anything else. Returns whether a node
/// was replaced.
fn begin(source: &str, (to, place): (&Store, &str), how: Create) -> Result<bool> {
    if how == Create::New {
        // After a kill behind the copy's end there is all of it. The error is the one to tell.
        hierarchy::refuse_existing(to, place).inspect_err(|_| drop(upkeep::add_missed(to, place)))?;
    }
    let capabilities = to.shared().capabilities();
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
