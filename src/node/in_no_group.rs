//! Nodes that consolidated metadata name and that are in no group: above them is a folder without a document. They open by their paths, and no
//! listing has them.

use super::walk::Found;
use super::{Store, lookup, path, together};
use crate::error::{Result, err};
use crate::limits::{add, certain, check_memory, collect, push};
use crate::metadata::Format;
use crate::store::StorageExt;
use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

/// The node whose document a consolidated entry is, by its path relative to the group.
pub(super) fn node_of(entry: &str, format: Format) -> &str {
    if format == Format::V3 { entry } else { entry.rsplit_once('/').map_or("", |(node, _)| node) }
}

/// Finds those of the nodes of consolidated `entries` that are there, and in no group; and, as not found, the nodes of entries above these that are not there:
/// without those zarr-python opens nothing of the whole hierarchy. `below` are all nodes of the `format` that are below `group` in groups; where one of these
/// cannot be read nothing is known of what is below it.
pub(super) fn find<'a>(
    store: &Store,
    (group, format): (&str, Format),
    entries: impl Iterator<Item = &'a str>,
    below: &[Found],
) -> Result<Vec<Found>> {
    let walked = |node: &str| {
        let order = |found: &Found| path::relative(group, &found.path).split('/').cmp(node.split('/'));
        below.binary_search_by(order).ok().map(|i| &below[i].node)
    };
    let is_unread = |node: &str| path::ancestors(node).into_iter().any(|above| walked(above).is_some_and(Result::is_err));
    let mut nodes = BTreeSet::new();
    for node in entries.map(|entry| node_of(entry, format)).filter(|node| path::is_named_below(group, node)) {
        if walked(node).is_none() && !is_unread(node) {
            check_memory()?;
            nodes.insert(node);
        }
    }
    let found = |nodes: &[&str]| {
        let paths = collect(nodes.iter().map(|node| path::join(group, node)))?;
        lookup::find_many(store, &paths, format == Format::V2, Some(format), None)
    };
    let above = collect(path::between(nodes.iter().copied(), "")?.into_iter().filter(|above| walked(above).is_none()))?;
    let mut folders = HashSet::new();
    for (above, found) in above.iter().zip(found(&above)?) {
        if let Ok(None) = certain(found)? {
            add(&mut folders, *above)?;
        }
    }
    let mut outermost =
        collect(folders.iter().copied().filter(|folder| !path::ancestors(folder).iter().any(|above| folders.contains(above))))?;
    // One request, and none for each node of a group that was removed.
    let gone = Mutex::new(HashSet::new());
    together::for_each(store, true, &mut outermost, |folder| {
        let is_gone = certain(is_empty(store, &path::join(group, folder)))?.is_ok_and(|is_empty| is_empty);
        if is_gone { add(&mut gone.lock().unwrap_or_else(PoisonError::into_inner), *folder).map(drop) } else { Ok(()) }
    })?;
    let gone = gone.into_inner().unwrap_or_else(PoisonError::into_inner);
    let is_in = |node: &str, folders: &HashSet<&str>| path::ancestors(node).into_iter().any(|above| folders.contains(above));
    let is_apart = |node: &&str| is_in(node, &folders) && !is_in(node, &gone);
    let inside = collect(nodes.iter().copied().filter(is_apart))?;
    let (mut apart, mut there) = (Vec::new(), Vec::new());
    for (node, found) in inside.iter().zip(found(&inside)?) {
        if let Some(found) = certain(found)?.transpose() {
            push(&mut there, *node)?;
            push(&mut apart, Found { path: path::join(group, node), node: found, is_checked: false })?;
        }
    }
    let mut above = path::between(there.iter().copied(), "")?;
    above.retain(|node| nodes.contains(node) && there.binary_search(node).is_err());
    for node in above {
        let gone = err!(NotFound, "{node:?} is only in consolidated metadata");
        push(&mut apart, Found { path: path::join(group, node), node: Err(gone), is_checked: false })?;
    }
    Ok(apart)
}

/// Whether a folder holds nothing.
fn is_empty(store: &Store, folder: &str) -> Result<bool> {
    let listing = store.shared().list_dir(&path::prefix(folder))?;
    Ok(listing.keys.is_empty() && listing.prefixes.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::{Map, Value, v2, v3};
    use crate::node::tests::{faults, keys, memory, object, put, read_all, spec_as, text, write_all};
    use crate::node::tests_growth::Folder;
    use crate::node::tests_store::{Next, on, told};
    use crate::node::{Array, Context, Create, FaultKind, Group, Mode, VerifyOptions};
    use crate::store::latency::LatencyStore;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    const ARRAYS: [&str; 5] = ["a/b/y", "a/x", "g/h/i/z", "g/u", "t"];
    const FOLDERS: [&str; 4] = ["a", "a/b", "g/h", "g/h/i"];

    fn key_of(format: Format) -> &'static str {
        if format == Format::V2 { v2::CONSOLIDATED } else { v3::DOCUMENT }
    }

    /// Changes the consolidated entries of the root.
    fn change_entries(store: &Store, format: Format, change: impl FnOnce(&mut Map)) {
        let mut document = object(store, key_of(format));
        let place = if format == Format::V2 { &mut document } else { document.get_mut(v3::CONSOLIDATED).unwrap().as_object_mut().unwrap() };
        change(place.get_mut("metadata").unwrap().as_object_mut().unwrap());
        put(store, key_of(format), &Value::Object(document).to_string());
    }

    /// A store with arrays in groups and below folders, all of which the root's consolidated metadata name; the folders as groups if these are `named`, too.
    fn with_folders(format: Format, named: bool) -> Store {
        let store = memory();
        Group::create(&store, "", Some(format), Create::New).unwrap();
        for path in ARRAYS {
            write_all(&Array::create(&store, path, &spec_as(format, &[4], &[2]), Create::New).unwrap(), &mut [1, 2, 3, 4]);
        }
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let documents = FOLDERS.map(|folder| format!("{folder}/{}", if format == Format::V2 { v2::GROUP } else { v3::DOCUMENT }));
        documents.iter().for_each(|key| assert!(store.shared().erase(key).unwrap()));
        change_entries(&store, format, |entries| {
            entries.retain(|key, _| named || !documents.iter().any(|gone| **key == *gone) && !FOLDERS.contains(&&**key))
        });
        store
    }

    fn differences(store: &Store) -> Vec<String> {
        Group::open(store, "").unwrap().consolidated_differences().unwrap().unwrap()
    }

    fn verify(store: &Store, repair: bool) -> Vec<(FaultKind, bool)> {
        faults(store, VerifyOptions { repair, ..VerifyOptions::default() }).into_iter().map(|fault| (fault.kind, fault.repaired)).collect()
    }

    /// The differences of [`with_folders`].
    fn expected(format: Format, named: bool) -> Vec<String> {
        let (array, group) = if format == Format::V2 { ("/.zarray", "/.zgroup") } else { ("", "") };
        let nodes = [("a", group), ("a/b", group), ("a/b/y", array), ("a/x", array), ("g/h", group), ("g/h/i", group), ("g/h/i/z", array)];
        let nodes = nodes.into_iter().filter(|(node, _)| named || !FOLDERS.contains(node));
        nodes.map(|(node, document)| format!("{node}{document} is listed, and in no group")).collect()
    }

    /// Both formats, with the folders named as groups and not.
    fn cases() -> [(Format, bool); 4] {
        [(Format::V2, false), (Format::V3, false), (Format::V2, true), (Format::V3, true)]
    }

    #[test]
    fn what_is_in_no_group_is_there_in_every_store() {
        for (format, named) in cases() {
            let (Folder(root, folder), made) = (Folder::new("apart"), with_folders(format, named));
            let archive = Store::open(&Context::default(), &format!("{}.zip", root.display()), Mode::ReadWrite, &[]).unwrap();
            let far = on(Arc::new(LatencyStore::new(memory().shared().clone(), Duration::ZERO)));
            for (what, store) in [("folder", folder), ("archive", archive), ("far", far), ("memory", memory())] {
                keys(&made).iter().for_each(|key| store.key_put(key, &made.key_get(key).unwrap().unwrap()).unwrap());
                assert_eq!(differences(&store), expected(format, named), "{what} {format:?}");
                assert_eq!(verify(&store, false), [(FaultKind::Stale, false)], "{what} {format:?}");
                assert_eq!(verify(&store, true), [(FaultKind::Stale, false)], "{what} {format:?}");
                assert_eq!(text(&store, key_of(format)), text(&made, key_of(format)), "{what} {format:?}");
                assert_eq!(read_all(&Array::open(&store, "g/h/i/z").unwrap()), [1, 2, 3, 4], "{what} {format:?}");
            }
            std::fs::remove_file(root.with_extension("zip")).unwrap();
        }
    }

    #[test]
    fn a_repair_mends_the_other_entries_and_leaves_nodes_in_no_group_among_them() {
        for (format, is_named) in cases() {
            let store = with_folders(format, is_named);
            let (entry, attributes) = if format == Format::V2 { ("/.zarray", "/.zattrs") } else { ("", "/zarr.json") };
            let named = |store: &Store| {
                let mut names = Vec::new();
                change_entries(store, format, |entries| names.extend(entries.keys().map(|key| node_of(key, format).to_string())));
                names.retain(|name| !name.is_empty());
                names.dedup();
                names
            };
            let before = named(&store);
            // One of a node that is not there, in a group and in none, or of a group, and documents with other attributes.
            change_entries(&store, format, |entries| {
                let array = entries.get(&format!("t{entry}")).unwrap().clone();
                ["g/gone", "a/gone", "no/gone", "t/gone"]
                    .iter()
                    .for_each(|name| drop(entries.insert(format!("{name}{entry}").into(), array.clone())));
                let group = entries.get(if format == Format::V2 { "g/.zgroup" } else { "g" }).unwrap().clone();
                let documents = if format == Format::V2 { ["no/.zgroup", "a/b/no/.zgroup"] } else { ["no", "a/b/no"] };
                documents.iter().for_each(|key| drop(entries.insert((*key).into(), group.clone())));
            });
            for key in ["a/x", "t"].map(|node| format!("{node}{attributes}")) {
                let changed = Map::from_iter([("k", 1.into())]);
                let mut document = if format == Format::V2 { changed.clone() } else { object(&store, &key) };
                if format == Format::V3 {
                    document.insert("attributes".into(), Value::Object(changed));
                }
                let text = Value::Object(document).to_string();
                put(&store, &key, &text);
            }
            assert_eq!(verify(&store, true), [(FaultKind::Stale, false)], "{format:?}");
            assert_eq!(named(&store), before, "{format:?}");
            let told = differences(&store).into_iter().filter(|line| !line.contains(v2::ATTRIBUTES));
            assert_eq!(told.collect::<Vec<_>>(), expected(format, is_named), "{format:?}");
            assert_eq!(text(&store, key_of(format)).unwrap().matches("\"k\"").count(), 2, "{format:?}");
            // They are in groups, or not listed.
            let grouped = memory();
            keys(&store).iter().for_each(|key| grouped.key_put(key, &store.key_get(key).unwrap().unwrap()).unwrap());
            FOLDERS.iter().for_each(|folder| drop(Group::create(&grouped, folder, Some(format), Create::OpenIfSame)));
            Group::open(&store, "").unwrap().consolidate().unwrap();
            for (store, nodes) in [(&grouped, 10), (&store, 3)] {
                assert_eq!((differences(store), verify(store, true)), (vec![], vec![]), "{format:?}");
                assert_eq!(named(store).len(), nodes, "{format:?}: {:?}", named(store));
            }
        }
    }

    #[test]
    fn what_was_removed_with_its_group_is_not_looked_for_node_by_node() {
        let asked = |format, count: usize| {
            let (made, asked) = (memory(), Arc::new(AtomicUsize::new(0)));
            Group::create(&made, "", Some(format), Create::New).unwrap();
            for i in 0..count {
                Array::create(&made, &format!("g/h/a{i}"), &spec_as(format, &[4], &[2]), Create::New).unwrap();
            }
            Group::open(&made, "").unwrap().consolidate().unwrap();
            made.shared().erase_prefix("g/").unwrap();
            let counts = asked.clone();
            let store = on(told(made.shared().clone(), move |next| {
                counts.fetch_add(usize::from(!matches!(next, Next::Opened(_))), Ordering::Relaxed);
                Ok(())
            }));
            let found = differences(&store);
            assert!(found.len() == count + 2 && found.iter().all(|line| line.ends_with(" is listed and not there")), "{found:?}");
            asked.load(Ordering::Relaxed)
        };
        for format in [Format::V2, Format::V3] {
            assert_eq!(asked(format, 20), asked(format, 2), "{format:?}");
        }
    }

    /// The groups above a node may be found by another name, or by a link that the walk does not follow: then it is in them.
    #[test]
    fn what_the_walk_leaves_out_below_a_group_is_not_there() {
        for format in [Format::V2, Format::V3] {
            let Folder(root, store) = Folder::new("apart-link");
            Group::create(&store, "g", Some(format), Create::New).unwrap();
            Array::create(&store, "g/x", &spec_as(format, &[4], &[2]), Create::New).unwrap();
            Group::open(&store, "").unwrap().consolidate().unwrap();
            std::os::unix::fs::symlink(root.join("g"), root.join("g/back")).unwrap();
            let entry = if format == Format::V2 { "/.zarray" } else { "" };
            change_entries(&store, format, |entries| {
                let array = entries.get(&format!("g/x{entry}")).unwrap().clone();
                entries.insert(format!("g/back/x{entry}").into(), array.clone());
                entries.insert(format!("g/back/back/x{entry}").into(), array);
            });
            let not_there = ["back/x", "back/back/x"].map(|node| format!("g/{node}{entry} is listed and not there"));
            assert_eq!(differences(&store)[differences(&store).len() - 2..], not_there, "{format:?}");
        }
    }
}
