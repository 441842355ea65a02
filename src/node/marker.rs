//! Markers: keys at a node's place that say what a call has begun there. After a kill they tell the next call what to complete.

use super::{Store, document, path};
use crate::error::{Result, err};
use crate::limits::MAX_DOCUMENT;
use crate::metadata::{Map, Value, json};
use crate::store::{Condition, GOES_LAST, StorageExt, get};

/// A copy was begun, or the erasing of an array.
pub(super) const COPY: &str = GOES_LAST;
/// An array became shorter, and is to be rid of what is beyond its shape.
pub(super) const RESIZE: &str = "ozarr-resize.json";
/// From where a migration in place is.
pub(super) const HERE: &str = "here";
/// A migration was begun.
pub(super) const MIGRATION: &str = "ozarr-migration.json";

pub(super) const ALL: [&str; 3] = [COPY, RESIZE, MIGRATION];

/// Says something at a place, in place of what was said there.
pub(super) fn put(store: &Store, place: &str, name: &str, members: &[(&str, Value)]) -> Result<()> {
    let members = members.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    document::publish(store, &path::join(place, name), &members, Condition::None)
}

/// What is said at a place; `None`: nothing.
pub(super) fn read(store: &Store, place: &str, name: &str) -> Result<Option<Map>> {
    let key = path::join(place, name);
    let Some(bytes) = get(&**store.shared(), &key, MAX_DOCUMENT)? else { return Ok(None) };
    json::parse_object(&bytes, MAX_DOCUMENT).map(Some).map_err(|e| e.at_key(key))
}

/// Whether a copy or a migration to a place was begun and not ended, which makes all that is there.
pub(super) fn is_begun(store: &Store, place: &str) -> Result<bool> {
    if !store.shared().capabilities().erasable {
        return Ok(false);
    }
    let said = [read(store, place, COPY)?, read(store, place, MIGRATION)?];
    Ok(said.iter().flatten().any(|said| said.get("from").and_then(Value::as_str) != Some(HERE)))
}

/// Checks that what a migration has `said` at a place is that of one `from` there.
pub(super) fn check_from(said: &Map, (place, name): (&str, &str), from: &str) -> Result<()> {
    if said.get("from").and_then(Value::as_str) == Some(from) {
        return Ok(());
    }
    let e = err!(Exists, "a migration of something else was interrupted here; complete it, or erase what it left");
    Err(e.at_key(path::join(place, name)))
}

/// Says that all is done.
pub(super) fn erase(store: &Store, place: &str, name: &str) -> Result<()> {
    let key = path::join(place, name);
    store.shared().erase(&key).map(drop).map_err(|e| e.at_key(key))
}
