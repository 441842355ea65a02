//! Keeping consolidated metadata right: what is done after each change of a node's documents.

use super::gone::Gone;
use super::listed_lengths::{Lengths, ListedLengths, published};
use super::read_once::ReadOnce;
use super::store::Above;
use super::store_options::Consolidate;
use super::stored::StoredDocument;
use super::{NodeKind, Store, above, document, lookup, lost, path, together, transfer};
use crate::error::{ErrorKind, Result};
use crate::limits::{
    MAX_CONSOLIDATED, check_memory, collect, collect_table, extend, make_table_room, memory_ended, push, put, readable, with_spare,
};
use crate::metadata::consolidated::Listed;
use crate::metadata::json::splice::TextObject;
use crate::metadata::{Format, Map, Value, consolidated, json, v2, v3};
use crate::sort::sort_by;
use crate::store::{Condition, get, get_many, swap};
use std::collections::{BTreeMap, HashMap};

/// A changed node, and which lengths of an array are told.
pub(super) type Change<'a> = (&'a str, Lengths);

/// Brings the consolidated metadata above a node (and a v2 group's own) up to date after the documents at `paths` changed;
/// `erased` are paths of which everything went first.
pub(super) fn after_change(store: &Store, paths: &[String], erased: Option<&str>) -> Result<()> {
    let changes = whole(paths)?;
    if erased.is_some() { after_changes_now(store, &changes, erased) } else { after_changes(store, &changes, None) }
}

/// Does what [`after_change`] does after nodes came with what groups among them have consolidated, which says the lengths of a run as they were
/// published: the arrays' own documents may be of another moment.
pub(super) fn after_copy(store: &Store, paths: &[String], erased: Option<&str>) -> Result<()> {
    let changes: Vec<Change<'_>> = collect(paths.iter().map(|path| (path.as_str(), Lengths::NONE)))?;
    if erased.is_some() { after_changes_now(store, &changes, erased) } else { after_changes(store, &changes, None) }
}

/// Does what [`after_change`] does after changes of which some lengths are told, of nodes of `format`, or of both versions: of those of version 3 none but
/// documents of version 3 tell.
pub(super) fn after_changes(store: &Store, changes: &[Change<'_>], format: Option<Format>) -> Result<()> {
    if store.consolidates(Consolidate::Flush) {
        let noted = note_behind(store, changes.iter().copied(), true);
        return refreshed(store, changes, Ok(())).and(noted);
    }
    let done = refresh_above(store, changes, None, format).and_then(|()| refresh_outside(store, changes, None));
    refreshed(store, changes, done)
}

/// Does what [`after_changes`] does after a change of one node: one of version 3 has no consolidated metadata but in its own document.
pub(super) fn after_node_change(store: &Store, path: &str, format: Format, told: Lengths) -> Result<()> {
    let change = (path, told);
    match (format, store.consolidates(Consolidate::Flush)) {
        (Format::V2, _) => after_changes(store, &[change], None),
        (Format::V3, false) => after_array_change(store, path, format, told).map(drop),
        (Format::V3, true) => {
            let noted = note_behind(store, std::iter::once(change), false);
            refreshed(store, &[change], Ok(())).and(noted)
        }
    }
}

/// Does what [`after_node_change`] does after a new node of version 3 came, if the group above it has a document of that version, which is read for that:
/// says whether it has. With another one, or without, only some of it is done.
pub(super) fn after_new_node(store: &Store, path: &str) -> Result<bool> {
    Ok(!store.consolidates(Consolidate::Flush) && after_array_change(store, path, Format::V3, Lengths::ALL)?)
}

/// Changes that are told with all lengths.
pub(super) fn whole(paths: &[String]) -> Result<Vec<Change<'_>>> {
    collect(paths.iter().map(|path| (path.as_str(), Lengths::ALL)))
}

/// Leaves it to the next flush or close to tell of nodes that a call which failed has made, with the lengths as [`after_copy`] tells them, or of those
/// that it has taken away.
pub(super) fn tell_later(store: &Store, paths: &[String]) {
    tell_changes_later(store, paths.iter().map(|path| (path.as_str(), Lengths::NONE)));
}

/// Leaves it to the next flush or close to tell of changes of a call that failed. The call's error is the one to tell.
pub(super) fn tell_changes_later<'a>(store: &Store, changes: impl Iterator<Item = Change<'a>>) {
    let _ = note_behind(store, changes, true);
}

/// Tells of groups that a call which fails has made above its node, now or, if that fails, later. The call's error is the one to tell.
pub(super) fn tell_made(store: &Store, made: &[String]) {
    if !made.is_empty() {
        tell_later(store, made);
        let _ = catch_up(store);
    }
}

/// Says that consolidated metadata above nodes, and where they may have some (`own`) those of a v2 group, are behind. Errors: `NoMemory`, with which the
/// last ones are not noted.
fn note_behind<'a>(store: &Store, changes: impl Iterator<Item = Change<'a>>, own: bool) -> Result<()> {
    for (path, lengths) in changes {
        if let Err(e) = check_memory() {
            if !store.behind().has_room_without_memory(path) {
                return Err(e);
            }
            memory_ended();
        }
        // The root has groups above it where the store is below some.
        let own = (own || path.is_empty()).then_some(path);
        path::ancestors(path).into_iter().chain(own).for_each(|group| store.behind().note(group, path, lengths));
    }
    Ok(())
}

/// Does what [`after_changes`] does, and waits for no flush: something that consolidated metadata speak of is about to be erased.
pub(super) fn after_changes_now(store: &Store, changes: &[Change<'_>], erased: Option<&str>) -> Result<()> {
    let done = refresh_above(store, changes, erased, None).and_then(|()| refresh_outside(store, changes, erased));
    refreshed(store, changes, done)
}

/// Does it for the groups that the store is below: a node may be opened by a location of its own, as a store.
fn refresh_outside(store: &Store, changes: &[Change<'_>], erased: Option<&str>) -> Result<()> {
    above::of(store).iter().try_for_each(|Above { store: outside, path: root }| {
        let place = |path: &str| if path.is_empty() { root.clone() } else { path::join(root, path) };
        let placed: Vec<(String, Lengths)> = collect(changes.iter().map(|(path, lengths)| (place(path), *lengths)))?;
        let placed: Vec<Change<'_>> = collect(placed.iter().map(|(path, lengths)| (path.as_str(), *lengths)))?;
        let erased = erased.map(place);
        let done = refresh_above(outside, &placed, erased.as_deref(), None);
        outside.note_change();
        done.and_then(|()| refresh_outside(outside, &placed, erased.as_deref()))
    })
}

/// Does what [`after_change`] does after the lengths `told` of the array at `path` changed: an array has no consolidated metadata of its own, so it
/// looks for none there. Says whether it has found the document of the group above it, if it has looked for that of version 3.
pub(super) fn after_array_change(store: &Store, path: &str, format: Format, told: Lengths) -> Result<bool> {
    let changes = [(path, told)];
    if store.consolidates(Consolidate::Flush) {
        // The root has groups above it where the store is below some.
        let groups = path::ancestors(path).into_iter().chain(path.is_empty().then_some(""));
        groups.for_each(|group| store.behind().note(group, path, told));
        return refreshed(store, &changes, Ok(())).map(|()| false);
    }
    let mut is_below = false;
    let done = path::ancestors(path).into_iter().try_for_each(|group| {
        is_below = refresh_group(store, group, (&changes, None), Some(format), None)?;
        Ok(())
    });
    let done = done.and_then(|()| refresh_outside(store, &changes, None));
    refreshed(store, &changes, done).map(|()| is_below)
}

/// Brings the changes that waited for a flush into consolidated metadata, all of a group at once. After an error they wait on.
pub(super) fn catch_up(store: &Store) -> Result<()> {
    let _alone = document::lock_flush(store);
    catch_up_alone(store)
}

/// Does what [`catch_up`] does for a thread that has its lock.
pub(super) fn catch_up_alone(store: &Store) -> Result<()> {
    if store.behind().is_empty() {
        return Ok(());
    }
    let mut telling = store.behind().take();
    let behind = &telling.taken;
    // Each group has its own lengths of a node: those above the store are told all of them.
    let mut every: BTreeMap<&str, Lengths> = BTreeMap::new();
    for (path, lengths) in behind.values().flatten() {
        let told = every.entry(path).or_insert(*lengths);
        *told = told.and(*lengths);
    }
    // A group is told of nodes before those below it are: of a new node it asks these for lengths.
    let refresh_all = || {
        let once = ReadOnce::of(store, behind.keys().map(String::as_str))?;
        let refresh = |(_, group, paths): &mut (usize, &String, &BTreeMap<String, Lengths>)| {
            let changes: Vec<Change<'_>> = collect(paths.iter().map(|(path, lengths)| (path.as_str(), *lengths)))?;
            refresh_group(store, group, (&changes, None), None, Some(&once)).map(drop)
        };
        let mut groups: Vec<_> = collect(behind.iter().map(|(group, paths)| (path::segments(group).count(), group, paths)))?;
        with_spare(groups.len() * size_of::<usize>(), || sort_by(&mut groups, |(a, ..), (b, ..)| a.cmp(b)))?;
        groups.chunk_by_mut(|(a, ..), (b, ..)| a == b).try_for_each(|level| together::for_each(store, true, level, refresh))
    };
    let outside = || if every.is_empty() { Ok(()) } else { refresh_outside(store, &collect(every.into_iter())?, None) };
    let done = refresh_all().and_then(|()| outside());
    if !behind.is_empty() {
        // What a handle has read of consolidated metadata since the changes is from before they were told.
        store.note_change();
    }
    if done.is_err() {
        store.behind().put_back(std::mem::take(&mut telling.taken));
    }
    done
}

/// Adds a node that was found, with all below it, to consolidated metadata above it that do not name it: a kill came between the node and those.
pub(super) fn add_missed(store: &Store, path: &str) -> Result<()> {
    for group in path::ancestors(path) {
        if misses(store, group, path)? {
            let listable = store.capabilities().listable;
            let mut nodes = vec![path.to_string()];
            if listable {
                let below = transfer::nodes_below(store, path)?;
                nodes = below.nodes;
                extend(&mut nodes, below.links_back)?;
            }
            return after_copy(store, &nodes, None);
        }
    }
    above::of(store).iter().try_for_each(|Above { store: outside, path: root }| {
        add_missed(outside, &if path.is_empty() { root.clone() } else { path::join(root, path) })
    })
}

/// Whether a group has consolidated metadata that do not name a node of its version.
fn misses(store: &Store, group: &str, path: &str) -> Result<bool> {
    let text = |name: &str| get(&**store.shared(), &path::join(group, name), MAX_CONSOLIDATED);
    let (bytes, format) = match text(v3::DOCUMENT)? {
        Some(bytes) => (bytes, Format::V3),
        None => (text(v2::CONSOLIDATED)?.unwrap_or_default(), Format::V2),
    };
    let Some(listed) = Listed::find(&bytes, format)? else { return Ok(false) };
    let find = if format == Format::V3 { lookup::find_v3 } else { lookup::find_v2 };
    Ok(!listed.has_node(path::relative(group, path), format) && find(store, path)?.is_some() && lookup::has_name(store, path))
}

/// Says of an error in telling of a change of a node that was there that the change is stored.
pub(super) fn of_stored(told: Result<()>) -> Result<()> {
    told.map_err(|e| e.with_note(" (the change itself is stored: the next flush or close that may tells of it above)"))
}

fn refreshed(store: &Store, changes: &[Change<'_>], done: Result<()>) -> Result<()> {
    store.note_change();
    if done.is_err() {
        // The documents are stored: the next flush or close tells of them.
        tell_changes_later(store, changes.iter().copied());
    }
    done?;
    // A node that is about to go is there still, and would be told of again.
    if store.consolidates(Consolidate::Step) && !changes.is_empty() {
        changes.iter().for_each(|(path, _)| store.note_named(path, true));
        store.consolidate_pending()?;
    }
    Ok(())
}

/// Brings the consolidated metadata of the groups above nodes of `format`, or of both versions, up to date.
pub(super) fn refresh_above(store: &Store, changes: &[Change<'_>], erased: Option<&str>, format: Option<Format>) -> Result<()> {
    let Some(deepest) = changes.iter().map(|(path, _)| *path).chain(erased).max_by_key(|p| p.len()) else { return Ok(()) };
    for group in path::ancestors(deepest).into_iter().chain([deepest]) {
        let below = |p: &str| p == group || group.is_empty() || p.starts_with(&format!("{group}/"));
        let changes: Vec<Change<'_>> = collect(changes.iter().copied().filter(|(path, _)| below(path)))?;
        let erased = erased.filter(|p| below(p) && *p != group);
        if !changes.is_empty() || erased.is_some() {
            refresh_group(store, group, (&changes, erased), format, None)?;
        }
    }
    Ok(())
}

/// Brings what one group has consolidated up to date after changes of nodes of `format`, or of both versions. Says whether there is a document of version 3.
fn refresh_group(
    store: &Store,
    group: &str,
    changed: (&[Change<'_>], Option<&str>),
    format: Option<Format>,
    once: Option<&ReadOnce>,
) -> Result<bool> {
    let is_there = refresh_v3(store, group, changed, once)?;
    // A `.zmetadata` lists no documents of version 3.
    if format != Some(Format::V3) {
        refresh_v2(store, group, changed)?;
    }
    Ok(is_there)
}

/// Says whether it has found the group's document.
fn refresh_v3(store: &Store, group: &str, (changed, erased): (&[Change<'_>], Option<&str>), once: Option<&ReadOnce>) -> Result<bool> {
    let changed: Vec<Change<'_>> = collect(changed.iter().copied().filter(|(path, _)| *path != group))?;
    if changed.is_empty() && erased.is_none() {
        return Ok(false);
    }
    let key = path::join(group, v3::DOCUMENT);
    let _thread = document::lock_thread(store, group, v3::DOCUMENT);
    swap::make(&**store.shared(), || {
        let (once, (before, condition)) = match once.and_then(|once| once.take(&key)) {
            Some(read) => (once, read),
            None => (None, document::read(store, &key, MAX_CONSOLIDATED)?),
        };
        let Some(before) = before else { return Ok(false) };
        // Metadata that cannot be read here do no harm: no reader uses them.
        let Some(listed) = Listed::find(&before, Format::V3)? else { return Ok(!is_of_array(&before)) };
        let process = document::lock_others(store, group, &key)?;
        // What was read before the lock may be out of date.
        let now = process.as_ref().map(|_| get(&**store.shared(), &key, MAX_CONSOLIDATED)).transpose()?;
        let listed = match &now {
            Some(None) => return Ok(false),
            Some(Some(now)) if *now != before => Listed::find(now, Format::V3)?,
            _ => Some(listed),
        };
        let Some(listed) = listed else { return Ok(true) };
        let text = now.as_ref().and_then(Option::as_ref).unwrap_or(&before);
        let series = store.series_lengths().now()?;
        let (mut changes, (kept, told)) = (HashMap::new(), listed_lengths(store, group, &listed, &changed, Format::V3)?);
        let mut gone = Gone::default();
        each_found(store, &with_unnamed(&listed, group, &changed, Format::V3)?, (Format::V3, once), |(path, lengths), found| {
            let name = path::relative(group, path);
            let found = gone.or_find(path, || listed.has_node(name, Format::V3), found)?;
            let entry = found.map(|mut found| -> Result<_> {
                let lengths = told.get(path).copied().unwrap_or(lengths);
                series.keep(&kept, (path, name), &mut found.document, None, lengths)?;
                Ok(consolidated::entry_v3(found.document))
            });
            put(&mut changes, name.to_string(), entry_text(&listed, entry.transpose()?, &key)?).map(drop)
        })?;
        publish_changed(store, (&key, text), &listed, &changes, (group, &changed, erased), condition)?;
        Ok(true)
    })
}

/// Whether a document of version 3 is that of an array, which may have come in the place of a group.
fn is_of_array(text: &[u8]) -> bool {
    TextObject::document(text, &[]).is_some_and(|document| document.value("node_type") == Some(br#""array""#))
}

fn refresh_v2(store: &Store, group: &str, (changed, erased): (&[Change<'_>], Option<&str>)) -> Result<()> {
    let key = path::join(group, v2::CONSOLIDATED);
    let thread = document::lock_thread(store, group, v2::CONSOLIDATED);
    if store.shared().open(&key).map_err(|e| e.at_key(&key))?.is_none() {
        return Ok(());
    }
    let _lock = document::lock_process(store, thread, group, &key)?;
    swap::make(&**store.shared(), || {
        let (bytes, condition) = document::read(store, &key, MAX_CONSOLIDATED)?;
        let Some(bytes) = bytes else { return Ok(()) };
        let Some(listed) = Listed::find(&bytes, Format::V2)? else { return Ok(()) };
        let series = store.series_lengths().now()?;
        let (mut changes, (kept, told)) = (HashMap::new(), listed_lengths(store, group, &listed, changed, Format::V2)?);
        let mut gone = Gone::default();
        each_found(store, &with_unnamed(&listed, group, changed, Format::V2)?, (Format::V2, None), |(path, lengths), found| {
            let (mut fresh, name) = (Map::new(), path::relative(group, path));
            let found = gone.or_find(path, || listed.has_node(name, Format::V2), found)?;
            if let Some(mut found) = found {
                found.attributes = Some(found.attributes.map_or_else(|| lookup::attributes_v2(store, path), Ok)?);
                let (name, lengths) = (path::join(name, v2::ARRAY), told.get(path).copied().unwrap_or(lengths));
                series.keep(&kept, (path, &name), &mut found.document, found.attributes.as_ref(), lengths)?;
                insert_v2(store, &mut fresh, group, path, found)?;
            }
            for document in [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES] {
                let entry = path::join(name, document);
                let text = entry_text(&listed, fresh.shift_remove(&entry), &key)?;
                put(&mut changes, entry, text)?;
            }
            Ok(())
        })?;
        publish_changed(store, (&key, &bytes), &listed, &changes, (group, changed, erased), condition)
    })
}

/// The listed lengths that changes leave as they are. Of nodes that are not listed yet they are those that groups which came with them list, but only
/// along dimensions in which the documents differ: these are of a run that was killed while it published, or publishes now. What is told of those
/// nodes comes second.
fn listed_lengths<'a, 'c>(
    store: &Store,
    group: &str,
    listed: &'a Listed<'_>,
    changes: &[Change<'c>],
    format: Format,
) -> Result<(ListedLengths<'a>, HashMap<&'c str, Lengths>)> {
    let mut kept = ListedLengths::of(listed, changes)?;
    let unlisted = changes.iter().filter(|(path, told)| *told != Lengths::ALL && !kept.has(path::relative(group, path)));
    let unlisted: Vec<&str> = collect(unlisted.map(|(path, _)| *path))?;
    let inner: Vec<&str> = collect(path::between(unlisted.iter().copied(), group)?.into_iter())?;
    let document = if format == Format::V3 { v3::DOCUMENT } else { v2::CONSOLIDATED };
    let mut found = false;
    // The nearest one comes last, and counts.
    for inner in inner.chunks(lookup::at_once(store)) {
        let keys: Vec<String> = collect(inner.iter().map(|inner| path::join(inner, document)))?;
        for (inner, read) in inner.iter().zip(get_many(store.shared(), &keys, MAX_CONSOLIDATED)?) {
            // What cannot be read here is read by nobody.
            let Some(bytes) = readable(read)?.flatten() else { continue };
            if let Some(listed) = Listed::find(&bytes, format)? {
                kept.add_below(path::relative(group, inner), &listed)?;
                found = true;
            }
        }
    }
    let mut told: HashMap<&str, Lengths> = collect_table(unlisted.iter().map(|path| (*path, Lengths::ALL)))?;
    if found {
        let mut named = Vec::new();
        for &path in &unlisted {
            let found = if format == Format::V3 { lookup::find_v3(store, path) } else { lookup::find_v2(store, path) };
            let Some(mut found) = readable(found)?.flatten() else { continue };
            if format == Format::V2 && found.attributes.is_none() {
                found.attributes = readable(lookup::attributes_v2(store, path))?;
            }
            if let Some(lengths) = found.named_lengths() {
                push(&mut named, (path, lengths))?;
            }
        }
        make_table_room(&mut told, named.len())?;
        told.extend(published(&named, None)?);
    }
    Ok((kept, told))
}

/// The nodes that changed, and the groups between them and `group` that it does not name: they were made by a program that failed or was killed before
/// it told of them, and readers find nothing below a group that is not named.
fn with_unnamed<'a>(listed: &Listed<'_>, group: &str, changes: &[Change<'a>], format: Format) -> Result<BTreeMap<&'a str, Lengths>> {
    let mut unnamed = path::between(changes.iter().map(|(path, _)| *path), group)?;
    unnamed.retain(|above| !listed.has_node(path::relative(group, above), format));
    let mut all = BTreeMap::new();
    for (path, lengths) in unnamed.into_iter().map(|path| (path, Lengths::ALL)).chain(changes.iter().copied()) {
        check_memory()?;
        all.insert(path, lengths);
    }
    Ok(all)
}

/// Calls `work` with each changed node, and with what finds its document. In a store with latency many documents are read before, at the same time, in version 2
/// with the attributes.
fn each_found<'a>(
    store: &Store,
    changes: &BTreeMap<&'a str, Lengths>,
    (format, once): (Format, Option<&ReadOnce>),
    mut work: impl FnMut(Change<'a>, &mut dyn FnMut() -> Result<Option<StoredDocument>>) -> Result<()>,
) -> Result<()> {
    let find = if format == Format::V3 { lookup::find_v3 } else { lookup::find_v2 };
    let mut changes = changes.iter().map(|(path, lengths)| (*path, *lengths));
    let most = lookup::at_once(store);
    loop {
        let some: Vec<Change<'a>> = collect(changes.by_ref().take(most))?;
        match some[..] {
            [] => return Ok(()),
            [change] if once.is_none() => work(change, &mut || find(store, change.0))?,
            _ => {
                let paths: Vec<String> = collect(some.iter().map(|(path, _)| path.to_string()))?;
                let read = || lookup::find_many(store, &paths, format == Format::V2, Some(format), None);
                let found = once.map_or_else(read, |once| once.find(store, &paths))?;
                let mut both = some.iter().zip(found);
                both.try_for_each(|(change, mut found)| work(*change, &mut || std::mem::replace(&mut found, Ok(None))))?;
            }
        }
    }
}

/// Writes the value of a changed entry, so that of many nodes only their texts are held.
fn entry_text(listed: &Listed<'_>, value: Option<Value>, key: &str) -> Result<Option<String>> {
    let Some(value) = value else { return Ok(None) };
    let within = listed.depth() + 1;
    document::check_depth(within + document::depth(&value), key)?;
    json::text_of_any(&value, within).map(Some)
}

/// Stores a document, `now` as it was read, with other consolidated entries: without those of a node that was erased and of all below it, and
/// with `changes`. It is not stored where nothing changes, nor while a call takes the group away, which may fail: the next flush or close tells of them then.
fn publish_changed(
    store: &Store,
    (key, now): (&str, &[u8]),
    listed: &Listed<'_>,
    changes: &HashMap<String, Option<String>>,
    (group, changed, erased): (&str, &[Change<'_>], Option<&str>),
    condition: Condition,
) -> Result<()> {
    let is_gone = |name: &str| erased.is_some_and(|erased| path::is_within(name, path::relative(group, erased)));
    let text = listed.changed(changes, is_gone)?;
    if text == now {
        return Ok(());
    }
    let publish = || match document::check_there(store, key) {
        // A group that is gone by now has nothing to be told, and does not come again.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        there => there.and_then(|()| document::publish_text(store, key, &text, MAX_CONSOLIDATED, condition)),
    };
    let told = lost::while_there(store, group, publish)?;
    told.unwrap_or_else(|| store.behind().note_untold(group, changed, listed.names().filter(|name| is_gone(name))));
    Ok(())
}

/// Adds the documents of one v2 node to consolidated entries.
pub(super) fn insert_v2(store: &Store, entries: &mut Map, group: &str, path: &str, found: StoredDocument) -> Result<()> {
    let name = path::relative(group, path);
    let own = if found.kind == NodeKind::Array { v2::ARRAY } else { v2::GROUP };
    check_memory().and_then(|()| entries.make_room(2))?;
    entries.insert(path::join(name, own).into(), consolidated::entry_v2(found.document));
    let attributes = found.attributes.map_or_else(|| lookup::attributes_v2(store, path), Ok)?;
    if !attributes.is_empty() {
        entries.insert(path::join(name, v2::ATTRIBUTES).into(), Value::Object(attributes));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::behind::MOST_NOTES;
    use crate::node::{Context, Mode, Options};
    use crate::store::memory::MemoryStore;
    use std::sync::Arc;

    #[test]
    fn what_is_not_noted_where_memory_has_ended_is_an_error() {
        let options = || Options { consolidate: Consolidate::Flush, ..Options::default() };
        let new = || Store::new(&Context::default(), Arc::new(MemoryStore::new()), Mode::ReadWrite, options());
        let paths: Vec<String> = (0..100).map(|i| format!("v{i}")).collect();
        let changes = whole(&paths).unwrap();
        let noted = |store: &Store| store.behind().take().taken.get("").map_or(0, BTreeMap::len);
        let store = new();
        memory_ended();
        assert_eq!(after_changes(&store, &changes[..MOST_NOTES], None).map_err(|e| e.kind()), Ok(()));
        assert_eq!(after_changes(&store, &changes, None).map_err(|e| e.kind()), Err(ErrorKind::NoMemory));
        memory_ended();
        assert_eq!(after_changes(&store, &changes[..1], None).map_err(|e| e.kind()), Ok(()), "that is noted already");
        assert_eq!(noted(&store), MOST_NOTES);
        let _ = check_memory();
        after_changes(&store, &changes, None).unwrap();
        assert_eq!(noted(&store), paths.len());
        memory_ended();
        tell_later(&store, &paths);
        assert_eq!(noted(&store), MOST_NOTES);
        let _ = check_memory();
    }
}
