//! The place of a copy. What is overwritten stays until the copy is whole, where the store can replace a node; elsewhere the place is cleared first,
//! and marked until the copy is whole, so that the same call completes one that was cut short, and nothing of what was there shows in it. Where the mark
//! is gone when the copy's own document is to come, another process has erased or renamed what holds the place, with what was copied by then. From the
//! moment on at which nothing but that document is missing the mark says so: where it is there, too, the same call does what comes behind it, and no more.
//!
//! Where a store has no locks the call that left a mark may still be going on. The mark is that of one call alone, and whoever goes on puts its own in the
//! place of just that one: the other call finds it when all but the document is copied, and ends. Until then it may store what is in the source; and a call that
//! has lost the place so erases nothing that is in the source: that may be the copy of the one that has it by then, and of a renamed node the only one.

use super::document::DocumentLock;
use super::{Create, NodeKind, Store, document, groups_above, hierarchy, in_use, lookup, marker, overlap, path, upkeep};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{MAX_DOCUMENT, add, push, try_collect};
use crate::metadata::{Map, Value, json, v2, v3};
use crate::store::os::hash;
use crate::store::prefix::hidden;
use crate::store::{Condition, StorageExt, question};
use std::cell::Cell;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

/// The member of a marker that says what the source was like of which all was copied but the document.
pub(super) const WHOLE: &str = "whole";
/// The member of a marker that tells the call which has put it from the same call of another process.
pub(super) const BY: &str = "by";
/// The member of a marker that says that a node is overwritten, which may still be there.
const OVER: &str = "over";

/// What is said of an error behind a copy's own document.
pub(super) const IS_THERE: &str = " (the copy itself is there: the same call completes it)";

/// What the marker says of a copy of a node.
pub(super) fn source_of(store: &Store, path: &str) -> String {
    format!("{} {path}", store.shared().describe())
}

/// What the marker of a copy says that the source is like: a copy that was cut short is not completed where that is another one by then.
pub(super) fn state_of(document: &Map) -> Result<String> {
    let text = json::text_of_any(&Value::Object(document.clone()), 0)?;
    Ok(state_of_text(&text))
}

pub(super) fn state_of_text(text: &str) -> String {
    format!("{:016x}", hash(text.as_bytes()))
}

/// What tells one call from all others.
pub(super) fn new_call() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// What is copied.
#[derive(Clone, Copy)]
pub(super) struct Copied<'a> {
    /// What the marker says of it.
    pub source: &'a str,
    /// The node, if it is one.
    pub from: Option<(&'a Store, &'a str)>,
    /// The keys of the node that are read once the place is cleared.
    pub keys: &'a dyn Fn() -> Result<Vec<String>>,
    /// What it is like now.
    pub state: &'a str,
    pub kind: NodeKind,
    /// Whether the copying tells all keys of the copy.
    pub tells_keys: bool,
    /// Does for a copy that is there what comes behind its documents; `Exists` where the same call would make another one now.
    pub complete: &'a dyn Fn() -> Result<()>,
}

/// A copy that is at its place.
pub(super) struct Filled<T> {
    /// What the copying returned; `None`: a call that was interrupted had copied all.
    made: Option<T>,
    /// Whether a node was replaced.
    replaced: bool,
    /// Whether a marker says that the copy is not ended.
    is_marked: bool,
    _lock: DocumentLock,
}

impl<T> Filled<T> {
    /// Does what comes `behind` a copy, which is given what the copying returned and whether a node was replaced, and then says that the copy is whole,
    /// unless a caller that has more to do `keeps` the marker.
    pub fn end(self, (to, place): (&Store, &str), keeps: bool, behind: impl FnOnce(Option<T>, bool) -> Result<()>) -> Result<()> {
        let done = behind(self.made, self.replaced);
        done.map_err(|e| e.with_note(if self.is_marked { IS_THERE } else { " (the copy itself is there)" }))?;
        if self.is_marked && !keeps { end_mark((to, place), marker::COPY) } else { Ok(()) }
    }
}

/// Takes the marker away behind all else. Where that fails, but it is gone, its answer was lost.
pub(super) fn end_mark((to, place): (&Store, &str), name: &str) -> Result<()> {
    match marker::erase(to, place, name) {
        Err(_) if marker::read(to, place, name).is_ok_and(|said| said.is_none()) => Ok(()),
        erased => erased.map_err(|e| e.with_note(" (all else is done: the same call completes it, or says that it is there)")),
    }
}

/// What the copying calls ahead of the copy's own document, with the keys of the copy, behind those of the source, if it tells them ([`say_again`]).
pub(super) type Ours<'a> = dyn Fn(&[Vec<(String, String)>]) -> Result<()> + 'a;

/// Is told the store and the path where a copy is to be made.
pub(super) type Make<'a, T> = dyn FnMut(&Store, &str, &Ours<'_>) -> Result<T> + 'a;

/// Makes a copy of what `copied` names at `place` of `to` by `copy`, which is called again where what it made could not take the place. Errors:
/// `Again` where another process has erased or renamed what holds the place.
pub(super) fn fill<T>(copied: Copied<'_>, (to, place): (&Store, &str), how: Create, copy: &mut Make<'_, T>) -> Result<Filled<T>> {
    let mut lock = document::lock_place(to, place)?;
    if how == Create::Overwrite && lookup::is_in_the_way(to, place)? {
        in_use::refuse(to, place)?;
        if let Some(made) = hierarchy::replace(to, place, &mut lock, |store, path| copy(store, path, &|_| Ok(())))? {
            return Ok(Filled { made: Some(made), replaced: true, is_marked: false, _lock: lock });
        }
    }
    let is_marked = to.shared().capabilities().erasable;
    let by = &new_call();
    let Some(begun) = begin((copied, by), (to, place), how)? else {
        return Ok(Filled { made: None, replaced: false, is_marked, _lock: lock });
    };
    let (said, told) = (Cell::new(false), Cell::new(0));
    let made = copy(to, place, &|keys| {
        said.set(is_marked);
        told.set(keys.iter().map(Vec::len).sum());
        if begun.is_mixed {
            erase_others((to, place), by, keys)?;
        }
        // Nothing of the copy is missing but its own document.
        say_again((to, place), (marker::COPY, by), &[("from", copied.source), (WHOLE, copied.state)])
    });
    // What happened to the place is the error to tell. Again behind the document, for what came between.
    let ours = check_ours((to, place), (marker::COPY, copied.source, Some(by)), made.is_ok().then_some(told.get()));
    let ours = ours.or_else(|e| if made.is_err() && e.kind() != ErrorKind::Again { Ok(()) } else { Err(e) });
    let made = ours.and(made).map_err(|e| if said.get() { tell_whether_there((copied, by), (to, place), e) } else { e })?;
    Ok(Filled { made: Some(made), replaced: begun.replaced, is_marked, _lock: lock })
}

/// Says of an error whether the copy's own document is there by now.
fn tell_whether_there((copied, by): (Copied<'_>, &str), (to, place): (&Store, &str), e: Error) -> Error {
    match e.kind() {
        ErrorKind::Again => return e,
        // It is no copy. The error is the one to tell.
        ErrorKind::Checksum => drop(marker::put(to, place, marker::COPY, &[("from", copied.source.into()), (BY, by.into())])),
        _ => match lookup::is_there(to, place) {
            Ok(false) => {}
            Ok(true) => return e.with_note(IS_THERE),
            Err(_) => return e.with_note(" (the copy itself may be there: the same call completes it)"),
        },
    }
    e
}

/// Checks that a place is still as a call has marked it, and says something else there. Errors: `Again`.
pub(super) fn say_again((to, place): (&Store, &str), (name, by): (&str, &str), said: &[(&str, &str)]) -> Result<()> {
    if !to.shared().capabilities().erasable {
        return Ok(());
    }
    let (before, condition) = read(to, place, name)?;
    if !before.is_some_and(|before| is_by(&before, by)) {
        return Err(taken_from((to, place), name));
    }
    put_own((to, place), (name, by), said, condition)
}

/// The marker with a name, and the condition on which it is put anew.
pub(super) fn read(to: &Store, place: &str, name: &str) -> Result<(Option<Map>, Condition)> {
    let key = path::join(place, name);
    let (said, condition) = document::read(to, &key, MAX_DOCUMENT)?;
    let said = said.map(|said| json::parse_object(&said, MAX_DOCUMENT).map_err(|e| e.at_key(key))).transpose()?;
    Ok((said, condition))
}

/// Puts the marker of a call in place of the one that was read. Errors: `Again` if that is another one by now.
pub(super) fn put_own((to, place): (&Store, &str), (name, by): (&str, &str), said: &[(&str, &str)], condition: Condition) -> Result<()> {
    let members = said.iter().chain(&[(BY, by)]).map(|(name, value)| (name.to_string(), (*value).into())).collect();
    match document::publish(to, &path::join(place, name), &members, condition) {
        // The answer to an earlier try may have been lost.
        Err(e) if e.kind() == ErrorKind::Conflict => match marker::read(to, place, name)? {
            Some(said) if is_by(&said, by) => Ok(()),
            _ => Err(taken_from((to, place), name)),
        },
        put => put,
    }
}

fn is_by(marker: &Map, by: &str) -> bool {
    marker.get(BY).and_then(Value::as_str) == Some(by)
}

/// Erases what an interrupted call has left at a place that is none of the keys of the copy.
fn erase_others((to, place): (&Store, &str), by: &str, keys: &[Vec<(String, String)>]) -> Result<()> {
    let (own, mut kept, mut others) = (path::join(place, marker::COPY), HashSet::new(), Vec::new());
    for (_, key) in keys.iter().flatten() {
        add(&mut kept, key.as_str())?;
    }
    to.shared().list(&path::prefix(place), &mut |key| {
        if kept.contains(key) || key.starts_with(&own) { Ok(()) } else { push(&mut others, key.to_string()) }
    })?;
    // Else the node may have left its old place before its keys were listed there.
    if !marker::read(to, place, marker::COPY)?.is_some_and(|said| is_by(&said, by)) {
        return Err(taken_from((to, place), marker::COPY));
    }
    others.iter().try_for_each(|key| to.shared().erase(key).map(drop).map_err(|e| e.at_key(key)))
}

/// Whether a marker is that of a copy of this source.
fn is_of(marker: &Map, source: &str) -> bool {
    marker.get("from").and_then(Value::as_str) == Some(source)
}

/// What a copy's source was like, if the marker says at a place that all of it was copied but the document.
pub(super) fn says_whole(to: &Store, place: &str, source: &str) -> Result<Option<String>> {
    if !to.shared().capabilities().erasable {
        return Ok(None);
    }
    let said = marker::read(to, place, marker::COPY)?.filter(|said| is_of(said, source));
    Ok(said.and_then(|said| said.get(WHOLE)?.as_str().map(str::to_string)))
}

/// Whether a marker says at a place that a copy of this source was begun where nothing was, and not that all was copied.
pub(super) fn is_begun_by(to: &Store, place: &str, source: &str) -> Result<bool> {
    let said = if to.shared().capabilities().erasable { marker::read(to, place, marker::COPY)? } else { None };
    Ok(said.is_some_and(|said| is_of(&said, source) && !said.contains_key(WHOLE) && !said.contains_key(OVER)))
}

/// Whether a key is the marker of one call that has begun a copy, which may be over, beside the document of a node: where no lock tells.
pub(super) fn is_beside_node(store: &Store, key: &str) -> bool {
    let Some(place) = key.strip_suffix(marker::COPY).map(|prefix| prefix.trim_end_matches('/')) else { return false };
    let is_begun = |said: Map| said.contains_key(BY) && !said.contains_key(WHOLE);
    store.shared().files().is_none()
        && marker::read(store, place, marker::COPY).is_ok_and(|said| said.is_some_and(is_begun))
        && lookup::is_there(store, place).unwrap_or_default()
}

/// Whether a key is the marker of a copy that a call which is over has made whole, and not ended: not where no lock tells whether it is over.
pub(super) fn is_left_whole(store: &Store, key: &str) -> bool {
    let Some(place) = key.strip_suffix(marker::COPY).map(|prefix| prefix.trim_end_matches('/')) else { return false };
    let is_whole = || marker::read(store, place, marker::COPY).is_ok_and(|said| said.is_some_and(|said| said.contains_key(WHOLE)));
    let is_there = || lookup::is_there(store, place).unwrap_or_default();
    store.shared().files().is_some() && is_whole() && is_there() && !document::is_place_locked(store, place)
}

/// Erases that marker and what else the call has left.
pub(super) fn erase_left(store: &Store, key: &str) -> Result<()> {
    let prefix = key.strip_suffix(marker::COPY).unwrap_or_default();
    for key in [v3::DOCUMENT, v2::GROUP].map(|name| format!("{prefix}{}", hidden(name))).iter().map(String::as_str).chain([key]) {
        store.shared().erase(key).map_err(|e| e.at_key(key))?;
    }
    Ok(())
}

/// Checks that a place is still as a call has marked it: another process that erases or renames it, or a group above, takes what was made there by then
/// with it, and what comes later is made in a new folder. That stays, as it may be another's
/// by now, but for the document that the call `made`, with as many keys as it says if it knows them: chunks are missing. Errors: `Again`.
pub(super) fn check_ours((to, place): (&Store, &str), (name, source, by): (&str, &str, Option<&str>), made: Option<usize>) -> Result<()> {
    // What cannot be erased has no marker.
    if !to.shared().capabilities().erasable {
        return Ok(());
    }
    let marker = marker::read(to, place, name)?;
    if marker.as_ref().is_some_and(|marker| is_of(marker, source) && by.is_none_or(|by| is_by(marker, by))) {
        return Ok(());
    }
    if let Some(keys) = made
        && marker.is_none()
        && !is_ended((to, place), keys)?
    {
        for name in [v3::DOCUMENT, v2::ARRAY, v2::GROUP] {
            let key = path::join(place, name);
            to.shared().erase(&key).map_err(|e| e.at_key(&key))?;
            to.note_document(&key);
        }
    }
    Err(taken_from((to, place), name))
}

/// Whether another process has ended a copy at a place without a marker, where the store has no locks: else what it has of keys was erased. Whoever ends
/// one has the group above it; without that, all keys that are there are those that came behind the erasure of the group.
fn is_ended((to, place): (&Store, &str), keys: usize) -> Result<bool> {
    let capabilities = to.shared().capabilities();
    if !capabilities.swaps || !capabilities.listable {
        return Ok(false);
    }
    let (prefix, mut there, mut others) = (path::prefix(place), 0, 0);
    to.shared().list(&prefix, &mut |key| {
        there += 1;
        others += usize::from(!key.strip_prefix(&prefix).is_some_and(|name| document::DOCUMENTS.contains(&name)));
        Ok(())
    })?;
    let is_whole = if keys == 0 { others > 0 } else { there >= keys };
    Ok(is_whole && path::parent(place).map_or(Ok(true), |group| lookup::is_there(to, group))?)
}

/// Says that a place does not have the marker of a call any more.
fn taken_from((to, place): (&Store, &str), name: &str) -> Error {
    let e = if to.shared().capabilities().swaps {
        let what = "was erased or renamed, or a group above it, or made by another process, too, while it was made";
        err!(Again, "{} {what}: see whether it is whole; else erase what is left there, and make it again", path::display(place))
    } else {
        taken_away(place)
    };
    e.at_key(path::join(place, name))
}

/// Says that another process has taken a place away, in which a node was being made.
pub(super) fn taken_away(place: &str) -> Error {
    let what =
        "was erased or renamed, or a group above it, while it was made: erase what is left there, and make it again where it is to be";
    err!(Again, "{} {what}", path::display(place))
}

/// A copy that was begun.
struct Begun {
    /// Whether a node was replaced.
    replaced: bool,
    /// Whether what an interrupted call left is still there.
    is_mixed: bool,
}

/// Erases what is in the way as far as that was asked for, and what an interrupted copy left; refuses anything else. `None` where an interrupted call
/// has made the copy.
fn begin((copied, by): (Copied<'_>, &str), (to, place): (&Store, &str), how: Create) -> Result<Option<Begun>> {
    if how == Create::New
        && let Err(e) = hierarchy::refuse_existing(to, place)
    {
        if e.kind() == ErrorKind::Exists
            && let Some(state) = says_whole(to, place, copied.source)?
        {
            return complete(copied, (to, place), &state).map(|()| None);
        }
        // The error is the one to tell.
        drop(finish(copied, (to, place)));
        return Err(e);
    }
    let capabilities = to.shared().capabilities();
    let (said, condition) = if capabilities.erasable { read(to, place, marker::COPY)? } else { (None, Condition::None) };
    let interrupted = capabilities.erasable && was_interrupted((to, place), said.as_ref(), (copied.source, how))?;
    let replaced = lookup::is_in_the_way(to, place)?;
    if replaced && how == Create::New {
        // Another process has made it since.
        hierarchy::refuse_existing(to, place)?;
    }
    if !replaced && !interrupted && capabilities.listable {
        refuse_files((to, place), "copy")?;
    }
    if !capabilities.erasable {
        if replaced {
            to.check_erasable()?;
        }
        return Ok(Some(Begun { replaced, is_mixed: false }));
    }
    if replaced || interrupted {
        to.shared().check_erase(&path::prefix(place))?;
    }
    // Before anything is erased: what a kill leaves is completed by the same call.
    let members = [("from", copied.source), (OVER, "what was there")];
    put_own((to, place), (marker::COPY, by), &members[..if how == Create::Overwrite { 2 } else { 1 }], condition)?;
    // Where the store has no locks, a node may have come until then; from now on who makes one here sees the marker.
    if how == Create::New
        && capabilities.swaps
        && let Err(e) = hierarchy::refuse_existing(to, place)
    {
        return give_back((to, place), (marker::COPY, by), said).and(Err(e));
    }
    let is_mixed = interrupted && how == Create::New && capabilities.swaps && copied.tells_keys;
    if (replaced || interrupted) && !is_mixed {
        let refuse = |from: (&Store, &str)| {
            refuse_shown(from, (to, place), by).and_then(|()| overlap::refuse_ways(from.0, copied.keys, (to, place)))
        };
        if let Err(e) = copied.from.map_or(Ok(()), refuse) {
            return give_back((to, place), (marker::COPY, by), said).and(Err(e));
        }
        hierarchy::erase_around(to, place, marker::COPY)?;
    }
    Ok(Some(Begun { replaced, is_mixed }))
}

/// Refuses to erase a place whose marker, which a call has just put, shows where the node is that is to be copied, above it, or below it: two servers, mounts or stores
/// of a program may have the same keys by names that do not tell it.
fn refuse_shown((from, path): (&Store, &str), (to, place): (&Store, &str), by: &str) -> Result<()> {
    // What cannot be read there was not put there.
    let shows = |node: &str| marker::read(from, node, marker::COPY).is_ok_and(|said| said.is_some_and(|said| is_by(&said, by)));
    let refused = |what| Err(overlap::error(&from.place(path), what, &to.place(place)));
    for node in path::ancestors(path).into_iter().chain([path]) {
        if shows(node) {
            return refused(if node == path { "is the same as" } else { "holds" });
        }
    }
    // The names of what is below the source end as those of the place do.
    let named = to.place(place);
    let ends = std::iter::successors(Some(named.trim_end_matches('/')), |names| names.split_once('/').map(|(_, below)| below));
    if ends.filter(|below| !below.is_empty()).any(|below| shows(&path::join(path, below))) { refused("lies inside of") } else { Ok(()) }
}

/// Says at a place what was said there before a call took it, unless another one has taken it since.
pub(super) fn give_back((to, place): (&Store, &str), (name, by): (&str, &str), before: Option<Map>) -> Result<()> {
    let Some(before) = before else { return marker::erase(to, place, name) };
    let (said, condition) = read(to, place, name)?;
    if !said.is_some_and(|said| is_by(&said, by)) {
        return Ok(());
    }
    match document::publish(to, &path::join(place, name), &before, condition) {
        Err(e) if e.kind() == ErrorKind::Conflict => Ok(()),
        put => put,
    }
}

/// Says that a copy which an interrupted call has made is not what the same call would make now.
pub(super) fn differs((to, place): (&Store, &str)) -> Error {
    let (store, place) = (to.shared().describe(), path::display(place));
    err!(
        Exists,
        "{place} of {store} is a copy that an interrupted call has made, and its source or itself is another one by now, or may be; see that it is not wanted, then erase or overwrite it"
    )
}

/// Does for a copy that an interrupted call has made, of a source that was in this `state`, what that had still to do.
fn complete(copied: Copied<'_>, (to, place): (&Store, &str), state: &str) -> Result<()> {
    if state != copied.state || lookup::find_bare(to, place)?.is_none_or(|found| found.kind != copied.kind) {
        return Err(differs((to, place)));
    }
    let rest = || {
        (copied.complete)()?;
        if let Some(found) = lookup::find_bare(to, place)? {
            groups_above::restore(to, place, found.format, &mut Vec::new())?;
        }
        upkeep::add_missed(to, place)
    };
    rest().map_err(|e| if e.kind() == ErrorKind::Exists { e } else { e.with_note(IS_THERE) })
}

/// Refuses to make something, as `call` does, where there are files of whatever, but for a key by which a store was asked for what it can.
pub(super) fn refuse_files((to, place): (&Store, &str), call: &str) -> Result<()> {
    let listing = to.shared().list_dir(&path::prefix(place))?;
    if listing.keys.iter().any(|name| question::is_over(name).is_none()) || !listing.prefixes.is_empty() {
        let (store, path) = (to.shared().describe(), path::display(place));
        bail!(Exists, "{path} of {store} holds something already; {call} to where nothing is");
    }
    Ok(())
}

/// Does what is left of a copy whose marker does not say that all was copied: an earlier version of the library has made it, and a kill has ended it behind
/// its own document, or the marker of a call that was killed came when the same call had ended.
fn finish(copied: Copied<'_>, (to, place): (&Store, &str)) -> Result<()> {
    if is_begun_by(to, place, copied.source)? {
        (copied.complete)()?;
        marker::erase(to, place, marker::COPY)?;
    }
    upkeep::add_missed(to, place)
}

/// What to do about what an interrupted call left.
pub const COMPLETE_OR_OVERWRITE: &str = "complete it, or create with overwriting what it left";

/// Whether a copy of the same source was interrupted at `place`, where a marker has `said` so; where it is to be overwritten, any copy, of a node
/// above as well.
fn was_interrupted((to, place): (&Store, &str), said: Option<&Map>, (source, how): (&str, Create)) -> Result<bool> {
    if how != Create::Overwrite && said.is_some_and(|said| !is_of(said, source)) {
        return Err(err!(Exists, "another copy, or the erasing of a node, was interrupted here; {COMPLETE_OR_OVERWRITE}")
            .at_key(path::join(place, marker::COPY)));
    }
    let above = if how == Create::Overwrite { path::ancestors(place) } else { Vec::new() };
    let is_above = try_collect(above.into_iter().map(|group| marker::read(to, group, marker::COPY)))?;
    Ok(said.is_some() || is_above.iter().any(Option::is_some))
}
