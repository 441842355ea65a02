//! Brings NCZarr's keys up to date after some nodes were changed, in the time that these take: a program that adds records to many variables
//! does not wait for the others.

use super::nczarr::{KeyPart, Scope, WaitingKeys};
use super::nczarr_group::{NcDimension, NcRecord, dimensions_of, dimensions_value};
use crate::error::Result;
use crate::limits::collect;
use crate::metadata::{Format, Map, Value};
use crate::node::{Array, Attributes, Group, Node, Store, lookup, path};
use std::collections::{BTreeMap, BTreeSet};

/// A group with keys: these, its dimensions, which arrays may lengthen, and its record.
struct KeyedGroup {
    group: Group,
    keys: Map,
    dimensions: Vec<NcDimension>,
    record: NcRecord,
}

/// Does what [`write`](super::nczarr::write) does, but looks only at the nodes of those paths and the groups above them. Returns false where that
/// will not do: a node is new or gone, or its keys are in an older form.
pub(in crate::node) fn update(store: &Store, tolerant: bool, nodes: &BTreeSet<String>) -> Result<bool> {
    WaitingKeys::of(store, |keys| update_all(store, tolerant, nodes, keys))
}

fn update_all(store: &Store, tolerant: bool, nodes: &BTreeSet<String>, keys: &mut WaitingKeys) -> Result<bool> {
    let (mut groups, mut nodes) = (BTreeMap::new(), nodes.iter());
    loop {
        let some: Vec<&String> = collect(nodes.by_ref().take(lookup::at_once(store)))?;
        if some.is_empty() {
            break;
        }
        let Some(arrays) = open(store, &some, &mut groups)? else { return Ok(false) };
        let Some(root) = groups.get("") else { return Ok(false) };
        if own_key(root.group.attributes(), KeyPart::Superblock)?.is_none() {
            return Ok(false);
        }
        for node in some {
            let (array, above) = (arrays.get(node), path::ancestors(node));
            let list = if array.is_some() { "arrays" } else { "groups" };
            if above.last().is_some_and(|parent| !lists(&groups[*parent].keys, list, node)) {
                return Ok(false);
            }
            if let Some(array) = array
                && !update_array(array, tolerant, (&above, &mut groups), keys)?
            {
                return Ok(false);
            }
        }
    }
    for KeyedGroup { group, keys: mut own, dimensions, record } in groups.into_values().rev() {
        own.insert("dimensions".into(), dimensions_value(&dimensions)?);
        keys.add(Node::Group(group), vec![(KeyPart::Group, Value::Object(own))], record.types(None))?;
    }
    Ok(true)
}

/// The key of a node in the form in which it is written.
fn own_key(attributes: &Attributes, part: KeyPart) -> Result<Option<Map>> {
    Ok(attributes.view()?.get(part.members()[0]).and_then(Value::as_object).cloned())
}

/// Opens nodes, and the groups above them, at the same time: gives the arrays, and adds the groups to those that are known. `None` where a node is gone,
/// or a group has no keys, or not those of all dimensions that are recorded.
fn open(store: &Store, nodes: &[&String], groups: &mut BTreeMap<String, KeyedGroup>) -> Result<Option<BTreeMap<String, Array>>> {
    let mut paths: BTreeSet<&str> = nodes.iter().flat_map(|node| path::ancestors(node)).collect();
    paths.extend(nodes.iter().map(|node| node.as_str()));
    let paths: Vec<String> = collect(paths.into_iter().filter(|path| !groups.contains_key(*path)).map(str::to_string))?;
    let mut arrays = BTreeMap::new();
    for (path, found) in paths.iter().zip(lookup::find_many(store, &paths, true, store.options().format, None)?) {
        let Ok(Some(found)) = found else { return Ok(None) };
        match Node::from_stored(store, path.clone(), found) {
            Ok(Node::Array(array)) => drop(arrays.insert(path.clone(), array)),
            Ok(Node::Group(group)) if group.format() == Format::V2 => {
                let Some(keys) = own_key(group.attributes(), KeyPart::Group)? else { return Ok(None) };
                let (mut dimensions, record) = (dimensions_of(&keys)?, NcRecord::of(&group)?);
                if !record.is_told(&mut dimensions) {
                    return Ok(None);
                }
                groups.insert(path.clone(), KeyedGroup { group, keys, dimensions, record });
            }
            _ => return Ok(None),
        }
    }
    Ok(Some(arrays))
}

/// Whether the keys of a group name a node in it.
fn lists(keys: &Map, list: &str, node: &str) -> bool {
    let name = node.rsplit('/').next().unwrap_or(node);
    keys.get(list).and_then(Value::as_array).is_some_and(|names| names.iter().any(|other| other == name))
}

/// Writes the keys of an array in the groups `above`, whose dimensions may become longer; not of one that is shorter than an unlimited dimension, which
/// may be that long no more.
fn update_array(
    array: &Array,
    tolerant: bool,
    (above, groups): (&[&str], &mut BTreeMap<String, KeyedGroup>),
    keys: &mut WaitingKeys,
) -> Result<bool> {
    if array.format() != Format::V2 || array.nc_type()?.is_none() || own_key(array.attributes(), KeyPart::Array)?.is_none() {
        return Ok(false);
    }
    let levels = above.iter().map(|path| (path.to_string(), groups[*path].dimensions.clone())).collect();
    let mut scope = Scope { groups: levels, tolerant, is_shorter: false, keys };
    let none = NcRecord::default();
    scope.write_array(array, above.last().map_or(&none, |parent| &groups[*parent].record))?;
    let Scope { groups: levels, is_shorter, .. } = scope;
    for (path, dimensions) in levels {
        groups.entry(path).and_modify(|known| known.dimensions = dimensions);
    }
    Ok(!is_shorter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::error::ErrorKind;
    use crate::node::{Consolidate, Context, Create, Mode, Nczarr, Options, Spec};
    use crate::store::SharedStore;
    use crate::store::latency::LatencyStore;
    use crate::store::memory::MemoryStore;
    use std::sync::Arc;
    use std::time::Duration;

    fn array(store: &Store, at: &str, shape: &[u64], names: &[&str]) -> Array {
        let mut spec = Spec::new(DataType::Float32, shape).unwrap();
        spec.set_format(Format::V2).unwrap();
        spec.set_dimension_names(names.iter().map(|n| Some(n.to_string())).collect()).unwrap();
        Array::create(store, at, &spec, Create::New).unwrap()
    }

    fn hierarchy() -> (Store, Vec<Array>) {
        hierarchy_in(Arc::new(MemoryStore::new()))
    }

    fn hierarchy_in(shared: SharedStore) -> (Store, Vec<Array>) {
        let options = Options { nczarr: Nczarr::On, consolidate: Consolidate::Flush, ..Options::default() };
        let store = Store::new(&Context::default(), shared, Mode::ReadWrite, options);
        let root = Group::create(&store, "", Some(Format::V2), Create::New).unwrap();
        root.define_nc_dimension("time", 0, true).unwrap();
        root.define_nc_dimension("n", 3, false).unwrap();
        let arrays = vec![
            array(&store, "t", &[3, 4], &["time", "x"]),
            array(&store, "g/h/u", &[3, 5], &["time", "y"]),
            array(&store, "s", &[3], &["n"]),
        ];
        store.flush_all().unwrap();
        (store, arrays)
    }

    fn documents(store: &Store) -> Vec<(String, Vec<u8>)> {
        store.key_list("").unwrap().into_iter().map(|key| (key.clone(), store.key_get(&key).unwrap().unwrap())).collect()
    }

    /// The nodes that a change touches are brought up to date, or (`expected` false) that will not do; a look at all finds nothing left.
    fn check(change: impl FnOnce(&Store, &[Array]), expected: bool) {
        let (store, arrays) = hierarchy();
        change(&store, &arrays);
        let nodes = store.v2_changed().write(|changes| changes.take_nodes());
        assert!(!nodes.is_empty());
        assert_eq!(update(&store, false, &nodes).unwrap(), expected, "{nodes:?}");
        if expected {
            let before = documents(&store);
            super::super::nczarr::write(&store, false).unwrap();
            assert_eq!(documents(&store), before, "{nodes:?}");
        }
    }

    #[test]
    fn changed_nodes_get_the_keys_that_a_look_at_all_would_give_them() {
        check(|_, arrays| arrays[..2].iter().for_each(|array| array.resize(&[9, array.shape()[1]], true).unwrap()), true);
        check(|_, arrays| arrays[1].resize(&[7, 5], true).unwrap(), true);
        check(|_, arrays| arrays[0].attributes().set("units", "K".into()).unwrap(), true);
        check(|store, _| Group::open(store, "g/h").unwrap().attributes().set("title", 1.into()).unwrap(), true);
        check(|store, _| Group::open(store, "").unwrap().attributes().set("title", "a".into()).unwrap(), true);
        let lengthen = |store: &Store, arrays: &[Array]| {
            arrays[2].resize(&[8], true).unwrap();
            Group::open(store, "").unwrap().define_nc_dimension("n", 8, false).unwrap();
        };
        check(lengthen, true);
    }

    #[test]
    fn dimensions_that_several_handles_define_are_all_there() {
        let (store, _) = hierarchy();
        let handles = ["a", "b", "a"].map(|name| (name, Group::open(&store, "").unwrap()));
        handles.iter().for_each(|(_, group)| drop(group.attributes().names().unwrap()));
        for (length, (name, group)) in (1..).zip(&handles) {
            group.define_nc_dimension(name, length, *name == "a").unwrap();
        }
        let found = Group::open(&store, "").unwrap().nc_dimensions().unwrap().unwrap();
        let mut found: Vec<_> = found.iter().map(|d| (d.name.as_str(), d.length, d.is_unlimited)).collect();
        found.sort_unstable();
        assert_eq!(found, [("a", 3, true), ("b", 2, false), ("n", 3, false), ("time", 3, true), ("x", 4, false)]);
        for name in ["", "a/b"] {
            assert_eq!(handles[0].1.define_nc_dimension(name, 1, false).unwrap_err().kind(), ErrorKind::Name, "{name:?}");
        }
    }

    #[test]
    fn new_nodes_and_those_that_are_gone_want_a_look_at_all() {
        check(|store, _| drop(array(store, "new", &[4], &["x"])), false);
        check(|store, _| drop(Group::create(store, "g/new", Some(Format::V2), Create::New).unwrap()), false);
        check(|store, _| store.erase_node("g/h/u").unwrap(), false);
        check(|store, _| Group::open(store, "").unwrap().attributes().erase("_nczarr_superblock").unwrap(), false);
        check(|_, arrays| arrays[0].attributes().erase("_nczarr_array").unwrap(), false);
    }

    #[test]
    fn documents_are_read_once_and_those_of_many_nodes_at_the_same_time() {
        let (store, _) = hierarchy();
        // Long enough for all requests to be sent before the first answer, on a busy machine, too.
        let slow = Arc::new(LatencyStore::new(store.shared().clone(), Duration::from_millis(200)));
        let options = Options { nczarr: Nczarr::On, ..Options::default() };
        let store = Store::new(&Context::default(), slow.clone(), Mode::ReadWrite, options);
        let nodes = ["t", "g/h/u", "s"].map(String::from).into();
        assert!(update(&store, false, &nodes).unwrap());
        // The documents of either version of the three arrays and of the groups above them, with the attributes.
        let stats = slow.stats();
        assert!(stats.requests == 6 * 4 && stats.most_in_flight > 4, "{stats:?}");
        super::super::nczarr::write(&store, false).unwrap();
        // The three groups are listed; the attributes of the root are read behind its document.
        assert_eq!(slow.stats().requests - stats.requests, 6 * 4 + 3, "{:?}", slow.stats());
    }

    /// Keys that other threads store for the one that looks at them are no changes whose keys are to be looked at.
    #[test]
    fn keys_that_are_stored_at_the_same_time_are_those_that_are_stored_one_by_one() {
        let slow = Arc::new(LatencyStore::new(Arc::new(MemoryStore::new()), Duration::from_millis(5)));
        let (store, _) = hierarchy_in(slow);
        store.close(None).unwrap();
        let (other, _) = hierarchy();
        other.close(None).unwrap();
        assert_eq!(documents(&store), documents(&other));
        assert_eq!(store.v2_changed().write(|changes| changes.take_nodes()), BTreeSet::new());
    }

    /// Another program has made it longer, and not told them yet.
    #[test]
    fn an_array_that_is_longer_than_consolidated_metadata_say_gets_its_keys() {
        let (store, _) = hierarchy();
        Group::open(&store, "").unwrap().consolidate().unwrap();
        let key = "s/.zarray";
        let text = String::from_utf8(store.key_get(key).unwrap().unwrap()).unwrap();
        let longer = text.replace("\"shape\": [3]", "\"shape\": [8]");
        assert_ne!(longer, text);
        store.key_put(key, longer.as_bytes()).unwrap();
        Group::open(&store, "").unwrap().define_nc_dimension("n", 8, false).unwrap();
        super::super::nczarr::write(&store, false).unwrap();
    }

    #[test]
    fn a_length_that_other_arrays_do_not_have_is_told_by_closing() {
        let (store, _) = hierarchy();
        Group::open(&store, "").unwrap().define_nc_dimension("n", 8, false).unwrap();
        store.flush_all().unwrap();
        let e = store.close(None).unwrap_err();
        assert!(e.kind() == ErrorKind::Metadata && e.message().contains("\"s\""), "{e}");
    }

    /// Functions of a codec that may not run anywhere, and that of the log.
    #[test]
    fn functions_of_the_program_run_in_the_thread_of_its_call() {
        use crate::codec::registered::register;
        use crate::node::tests_store::Plain;
        use std::collections::HashSet;
        use std::sync::Mutex;
        use std::thread::{ThreadId, current};
        let (opened, told) = <(Arc<Mutex<HashSet<ThreadId>>>, Arc<Mutex<HashSet<ThreadId>>>)>::default();
        let by = opened.clone();
        let note = move |_: &str| {
            by.lock().unwrap().insert(current().id());
        };
        register(None, Some("test.own"), Arc::new(Plain(Arc::new(note))), true).unwrap();
        let memory: SharedStore = Arc::new(MemoryStore::new());
        let (store, _) = hierarchy_in(memory.clone());
        for group in ["g", "a", "b", "c", "d"] {
            store.key_put(&format!("{group}/own/.zattrs"), br#"{"x":NaN}"#).unwrap();
            let text = r#"{"zarr_format":2,"shape":[3],"chunks":[3],"dtype":"|S1","order":"C","compressor":{"id":"test.own"},"filters":null,"fill_value":"AA=="}"#;
            store.key_put(&format!("{group}/own/.zarray"), text.as_bytes()).unwrap();
            store.key_put(&format!("{group}/.zgroup"), br#"{"zarr_format":2}"#).unwrap();
        }
        let slow = Arc::new(LatencyStore::new(memory, Duration::from_millis(20)));
        let options = Options { nczarr: Nczarr::On, consolidate: Consolidate::Flush, ..Options::default() };
        let log = told.clone();
        let call = move |_: crate::node::Level, _: &str| {
            log.lock().unwrap().insert(current().id());
        };
        let log = Some(crate::node::Log { level: crate::node::Level::Info, call: Arc::new(call) });
        let context = Context::default().with_settings(crate::node::Settings { log, ..Default::default() });
        let store = Store::new(&context, slow, Mode::ReadWrite, options);
        super::super::nczarr::write(&store, false).unwrap();
        let here = HashSet::from([current().id()]);
        assert_eq!((&*opened.lock().unwrap(), &*told.lock().unwrap()), (&here, &here));
    }
}
