//! Consolidated metadata of a group: written, and compared with the documents below it.
//! Specification: v3 core, "Consolidated metadata"; for v2 the convention of zarr-python 2.

use super::catalog::Catalog;
use super::dead_links::LinksInPlaceOfNodes;
use super::growing::{self, Cuts, cut_shape};
use super::listed_lengths::{plain, shape_of};
use super::stored::StoredDocument;
use super::walk::{self, Found, ListedGroup, Wanted};
use super::{Group, NodeKind, Store, document, draft, in_no_group, lookup, lost, path, upkeep};
use crate::error::{ErrorKind, Result, bail};
use crate::limits::{MAX_CONSOLIDATED, MAX_KEY, add, check_memory, collect as collect_list, collect_table, extend, push};
use crate::metadata::consolidated::Listed;
use crate::metadata::{Dialect, Format, Map, Value, consolidated, number_list, v2, v3};
use crate::store::{Condition, get};
use std::collections::{BTreeMap, HashSet};

/// Gives dimensions and the lengths that they are cut to, of nodes whose documents were read.
type CutsOf<'a> = dyn FnMut(&[Found]) -> Result<Cuts> + 'a;

impl Group {
    /// Writes consolidated metadata of all nodes below: into the group's `zarr.json`, or as `.zmetadata`. Later changes through
    /// this library keep it right.
    pub fn consolidate(&self) -> Result<()> {
        self.consolidate_cut(&mut |_| Ok(Cuts::new()), false)
    }

    /// Consolidates like [`Group::consolidate`], but with the lengths that `cuts` gives of the nodes below: of a run that was killed while it published
    /// further steps, or publishes them now, readers see what all of its arrays have until its series tells more. `keeps`: what is listed of nodes that cannot be
    /// understood, or that links to nothing stand for, stays; else the former are an error.
    pub(super) fn consolidate_cut(&self, cuts: &mut CutsOf<'_>, keeps: bool) -> Result<()> {
        let store = self.store();
        store.check_writable()?;
        self.dialect().refuse()?;
        store.check_listable()?;
        // Others that changed a node while all were read had nothing to keep right, if there was none: what they changed is read now.
        if !self.write_entries(false, cuts, keeps)? && store.checkpoint().is_none() {
            self.write_entries(true, cuts, keeps)?;
        }
        Ok(())
    }

    /// Writes consolidated metadata of all nodes below, `again` if they are other ones by now; says whether there were some before.
    fn write_entries(&self, again: bool, cuts: &mut CutsOf<'_>, keeps: bool) -> Result<bool> {
        let (store, path) = (self.store(), self.path());
        let as_of = store.as_of();
        match self.format() {
            Format::V2 => {
                self.forget_catalog();
                let key = path::join(path, v2::CONSOLIDATED);
                document::change(store, path, v2::CONSOLIDATED, || {
                    let (bytes, condition) = document::read(store, &key, MAX_CONSOLIDATED)?;
                    let listed = || bytes.as_deref().and_then(|bytes| consolidated::parse_v2(bytes).ok()).unwrap_or_default();
                    let document = consolidated::write_v2(self.entries_cut(cuts, keeps.then(listed))?);
                    let now = bytes.as_deref().filter(|_| again).unwrap_or_default();
                    // The group's own document where this one is new.
                    let there = if bytes.is_some() { key.clone() } else { path::join(path, v2::GROUP) };
                    publish_if_new(store, (&key, now, &there), &document, condition)?;
                    Ok(bytes.map_or(Ok(None), |bytes| Listed::find(&bytes, Format::V2).map(|listed| listed.map(drop)))?.is_some())
                })
            }
            Format::V3 => {
                let key = path::join(path, v3::DOCUMENT);
                let (document, was_there) = document::change(store, path, v3::DOCUMENT, || {
                    let (bytes, condition) = document::read(store, &key, MAX_CONSOLIDATED)?;
                    let bytes = bytes.unwrap_or_default();
                    let read = || StoredDocument::from_bytes(store, v3::DOCUMENT, key.clone(), &bytes, as_of);
                    let found = if bytes.is_empty() { None } else { Some(read()?).filter(|found| found.kind == NodeKind::Group) };
                    let mut document = found.ok_or_else(|| lookup::not_found(store, path, "group"))?.document;
                    let listed = || consolidated::entries_v3(&document).cloned().unwrap_or_default();
                    let entries = self.entries_cut(cuts, keeps.then(listed))?;
                    document.insert(v3::CONSOLIDATED.into(), consolidated::write_v3(entries));
                    publish_if_new(store, (&key, if again { &bytes } else { &[] }, &key), &document, condition)?;
                    Ok((document, Listed::find(&bytes, Format::V3)?.is_some()))
                })?;
                self.set_document(document, as_of);
                Ok(was_there)
            }
        }
    }

    /// The entries of all nodes below, with the lengths that `cuts` gives in place of the documents'; of those that cannot be understood, or that links to nothing
    /// stand for, the entries `kept`, if these are given.
    fn entries_cut(&self, cuts: &mut CutsOf<'_>, kept: Option<Map>) -> Result<Map> {
        let (store, path, format) = (self.store(), self.path(), self.format());
        let series = store.series_lengths().now()?;
        let mut below = walk_fresh(store, path, format)?;
        for Found { path, node, .. } in &mut below {
            node.iter_mut().for_each(|found| series.limit(path, &mut found.document));
        }
        let cuts = cuts(&below)?;
        if let Some(listed) = &kept {
            let apart = in_no_group::find(store, (path, format), listed.keys().map(|key| &**key), &below)?;
            extend(&mut below, apart)?;
            walk::sort(&mut below, |found| &found.path)?;
        }
        let mut entries = entries_of(store, path, format, below.len(), below.into_iter(), kept.as_ref())?;
        for (node, cuts) in cuts {
            let name = path::relative(path, &node);
            let key = if format == Format::V3 { name.to_string() } else { path::join(name, v2::ARRAY) };
            if let Some(Value::Object(document)) = entries.get_mut(key.as_str())
                && let Some(shape) = shape_of(document)
            {
                document.insert("shape".into(), number_list(&cut_shape(&shape, &cuts)));
            }
        }
        let (mut links, kept) = (LinksInPlaceOfNodes::default(), kept.unwrap_or_default());
        for (key, value) in kept {
            if !entries.contains_key(&key) && links.stand_for(store, &path::join(path, in_no_group::node_of(&key, format)))? {
                entries.make_room(1)?;
                entries.insert(key, value);
            }
        }
        Ok(entries)
    }

    /// Where the consolidated metadata of the group differ from the documents below it, a line for each node; `None` where there are
    /// none. All documents are read for it. Consolidated metadata that cannot be understood are an error of kind `Metadata`.
    pub fn consolidated_differences(&self) -> Result<Option<Vec<String>>> {
        self.check_consolidated()?;
        let (compared, _) = self.compare(false)?;
        compared.map(|all| collect_list(all.differences.into_iter().map(|(entry, what)| format!("{entry} {what}")))).transpose()
    }

    /// Checks that the group's consolidated metadata can be understood, if it has any.
    pub(super) fn check_consolidated(&self) -> Result<()> {
        let (store, path) = (self.store(), self.path());
        if self.dialect() != Dialect::Final {
            return Ok(());
        }
        match self.format() {
            Format::V2 => {
                let key = path::join(path, v2::CONSOLIDATED);
                let Some(bytes) = get(&**store.shared(), &key, MAX_CONSOLIDATED)? else { return Ok(()) };
                consolidated::parse_v2(&bytes).map(drop).map_err(|e| e.at_key(key))
            }
            Format::V3 => {
                let Some(found) = lookup::find_v3(store, path)? else { return Ok(()) };
                consolidated::inline_v3(&found.document).map(drop).map_err(|e| e.at_key(found.key))
            }
        }
    }

    /// Gives [`Group::consolidated_differences`], but `None` for metadata that cannot be understood, too, and the nodes below, whose documents were read for that.
    /// Documents that cannot be understood are an error, unless they are `left_out`.
    pub(in crate::node) fn compare(&self, left_out: bool) -> Result<(Option<Compared>, Vec<Found>)> {
        let (store, path, format) = (self.store(), self.path(), self.format());
        store.check_listable()?;
        let listed = match format {
            Format::V2 => Catalog::read_v2(store, path)?.map(|catalog| catalog.entries().clone()),
            Format::V3 => lookup::find_v3(store, path)?.and_then(|found| consolidated::entries_v3(&found.document).cloned()),
        };
        let Some(listed) = listed else { return Ok((None, Vec::new())) };
        let below = walk_fresh(store, path, format)?;
        let unread = if left_out { unread_in(path, &below)? } else { HashSet::new() };
        let fresh = entries_of(store, path, format, below.len(), below.iter().cloned(), left_out.then(Map::new).as_ref())?;
        let mut differences = differences(&listed, &fresh, &unread)?;
        let missing = differences.iter().filter(|(_, what)| *what == NOT_THERE).map(|(entry, _)| entry.as_str());
        let apart = in_no_group::find(store, (path, format), missing, &below)?;
        let apart = collect_table(apart.iter().map(|found| (path::relative(path, &found.path), ())))?;
        for (_, what) in differences.iter_mut().filter(|(entry, _)| apart.contains_key(in_no_group::node_of(entry, format))) {
            *what = IN_NO_GROUP;
        }
        let mut links = LinksInPlaceOfNodes::default();
        for (entry, what) in differences.iter_mut().filter(|(_, what)| *what == NOT_THERE) {
            if links.stand_for(store, &path::join(path, in_no_group::node_of(entry, format)))? {
                *what = LINK_TO_NOTHING;
            }
        }
        Ok((Some(Compared { differences, listed }), below))
    }
}

/// Whether a node that is copied or migrated, of the draft d0 or not, has consolidated metadata, which are then made anew.
pub(super) fn is_wanted(store: &Store, node: &str, d0: bool) -> Result<bool> {
    let key = path::join(node, v2::CONSOLIDATED);
    if store.shared().open(&key).map_err(|e| e.at_key(&key))?.is_some() {
        return Ok(true);
    }
    let Some(found) = lookup::find(store, node)? else { return Ok(false) };
    let kept = found.document.get(v3::CONSOLIDATED).is_some_and(|c| !c.is_null());
    Ok(found.kind == NodeKind::Group && (kept || (d0 && node.is_empty() && draft::is_consolidated(store)?)))
}

/// Whether there is a group at `path` that has no consolidated metadata.
pub(in crate::node) fn is_without(store: &Store, path: &str) -> Result<bool> {
    let Some(found) = lookup::find_bare(store, path)?.filter(|found| found.kind == NodeKind::Group) else { return Ok(false) };
    Ok(Listed::find(&consolidated_text(store, path, found.format)?, found.format)?.is_none())
}

/// The document that has the consolidated metadata of a group, if it has any.
fn consolidated_text(store: &Store, path: &str, format: Format) -> Result<Vec<u8>> {
    let key = path::join(path, if format == Format::V3 { v3::DOCUMENT } else { v2::CONSOLIDATED });
    Ok(get(&**store.shared(), &key, MAX_CONSOLIDATED)?.unwrap_or_default())
}

/// Consolidates a group, whose document was just found; with the lengths that groups below have told of a run that goes on. A group that is
/// consolidated already is changed with each change of its nodes; only those of `nodes`, which this process made, are added that another process
/// left out because it consolidated at the same time.
pub(super) fn consolidate_unless(group: &Group, nodes: &BTreeMap<String, bool>) -> Result<()> {
    let (store, path, format) = (group.store(), group.path(), group.format());
    let bytes = consolidated_text(store, path, format)?;
    let Some(listed) = Listed::find(&bytes, format)? else {
        return group.consolidate_cut(&mut |below| growing::cuts_below(group, below), false);
    };
    let names = collect_table(listed.names().map(|name| (name, ())))?;
    let is_listed = |node: &str| {
        let name = path::relative(path, node);
        match format {
            Format::V3 => names.contains_key(name),
            Format::V2 => [v2::ARRAY, v2::GROUP].iter().any(|document| names.contains_key(path::join(name, document).as_str())),
        }
    };
    let is_missed = |node: &&String| !node.is_empty() && node.as_str() != path && path::is_within(node, path) && !is_listed(node);
    let missed = collect_list(nodes.keys().filter(is_missed).cloned())?;
    if missed.is_empty() {
        return Ok(());
    }
    let done = upkeep::refresh_above(store, &upkeep::whole(&missed)?, None, None);
    store.note_change();
    done
}

/// Stores a document, unless its text is `now`, where that of the key `there` is: a group that went while all below it was read does not come again.
fn publish_if_new(store: &Store, (key, now, there): (&str, &[u8], &str), document: &Map, condition: Condition) -> Result<()> {
    if document::text_of(key, document)?.as_bytes() == now {
        return Ok(());
    }
    let group = path::parent(key).unwrap_or_default();
    let publish = || document::check_there(store, there).and_then(|()| document::publish(store, key, document, condition));
    lost::change_there(store, group, publish)
}

/// Consolidated entries, and in what they differ from the documents.
pub(in crate::node) struct Compared {
    pub differences: Vec<Difference>,
    pub listed: Map,
}

/// A consolidated entry, or one that should be there, and in what it differs from the document.
pub(in crate::node) type Difference = (String, &'static str);

const NOT_THERE: &str = "is listed and not there";
/// What is said of a node that opens by its path, and of the groups above it that are only listed: zarr-python opens nothing of a group whose consolidated
/// metadata name a node and not those above it.
pub(in crate::node) const IN_NO_GROUP: &str = "is listed, and in no group";

/// What is said of a node that links to nothing stand for, as for what was not fetched: its entry may be right, and is all that is known of it.
pub(in crate::node) const LINK_TO_NOTHING: &str = "is listed, and a link to nothing is in its place";

/// The nodes below a group that cannot be understood, by their paths relative to it.
fn unread_in(group: &str, below: &[Found]) -> Result<HashSet<String>> {
    let mut unread = HashSet::new();
    for found in below.iter().filter(|found| found.node.is_err()) {
        add(&mut unread, path::relative(group, &found.path).to_string())?;
    }
    Ok(unread)
}

/// What consolidated entries and the documents themselves do not agree on, for each node or document but those that are `unread`.
fn differences(listed: &Map, fresh: &Map, unread: &HashSet<String>) -> Result<Vec<Difference>> {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    let mut found = Vec::new();
    for (key, value) in fresh {
        match listed.get(key) {
            None => push(&mut found, (key.to_string(), "is not listed"))?,
            Some(old) if plain(key, old) != plain(key, value) => push(&mut found, (key.to_string(), "is listed with other contents"))?,
            Some(_) => {}
        }
    }
    for (key, _) in listed.iter().filter(|(key, value)| !fresh.contains_key(key) && !is_empty(value) && !path::is_within_any(key, unread)) {
        push(&mut found, (key.to_string(), NOT_THERE))?;
    }
    Ok(found)
}

/// The consolidated entries of all nodes below a group; in v2 of the group, too.
pub(super) fn collect(store: &Store, group: &str, format: Format) -> Result<Map> {
    let below = walk_fresh(store, group, format)?;
    entries_of(store, group, format, below.len(), below.into_iter(), None)
}

/// The entries of nodes below a group; of those that cannot be understood the ones `kept`, with all below them, in their places, and of those that are
/// not found these alone. Without these they are an error.
fn entries_of(
    store: &Store,
    group: &str,
    format: Format,
    count: usize,
    below: impl Iterator<Item = Found>,
    kept: Option<&Map>,
) -> Result<Map> {
    // In v2 a node has a document and its attributes.
    let mut entries = Map::with_room(if format == Format::V2 { 2 * count + 2 } else { count })?;
    if format == Format::V2
        && let Some(found) = lookup::find_v2(store, group)?
    {
        upkeep::insert_v2(store, &mut entries, group, group, found)?;
    }
    for Found { path, node, .. } in below {
        check_memory()?;
        let name = path::relative(group, &path);
        match (format, node, kept) {
            (_, Err(e), Some(kept)) => {
                let is_alone = e.kind() == ErrorKind::NotFound;
                let is_kept = |key: &str| if is_alone { in_no_group::node_of(key, format) == name } else { path::is_within(key, name) };
                for (key, value) in kept.iter().filter(|(key, _)| is_kept(key)) {
                    entries.make_room(1)?;
                    entries.insert(key.clone(), value.clone());
                }
            }
            (Format::V2, node, _) => upkeep::insert_v2(store, &mut entries, group, &path, node?)?,
            (Format::V3, node, _) => drop(entries.insert(name.into(), consolidated::entry_v3(node?.document))),
        }
    }
    Ok(entries)
}

/// All nodes of one version below a group, from their own documents.
fn walk_fresh(store: &Store, group: &str, format: Format) -> Result<Vec<Found>> {
    let wanted = Wanted { depth: usize::MAX, attributes: format == Format::V2, format: Some(format), checked: true, unlisted: false };
    let all = walk::walk(store, ListedGroup::new(group, format, None).fresh(), wanted)?;
    if let Some(deep) = all.iter().find(|found| found.path.len() > MAX_KEY) {
        bail!(Limit, "the hierarchy is too deep: {:?} has more than {MAX_KEY} bytes", deep.path);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::node::tests::spec_as;
    use crate::node::{Array, Context, Create};

    fn entry(key: &str, text: &str) -> Map {
        let Value::Object(document) = json::parse_text(text).unwrap() else { panic!("{text}") };
        Map::from_iter([(key.to_string(), Value::Object(document))])
    }

    /// zarr-python lists nothing of a group where the nodes below one group do not follow each other.
    #[test]
    fn what_is_kept_of_damaged_nodes_stays_among_the_nodes_of_their_group() {
        for (format, damaged) in
            [(Format::V2, "g/b/.zarray"), (Format::V3, "g/b/zarr.json"), (Format::V2, "g/.zgroup"), (Format::V3, "g/zarr.json")]
        {
            let store = Store::memory(&Context::default());
            Group::create(&store, "", Some(format), Create::New).unwrap();
            for node in ["g/a", "g/b", "g/c/d", "h/a"] {
                Array::create(&store, node, &spec_as(format, &[4], &[2]), Create::New).unwrap();
            }
            let root = || Group::open(&store, "").unwrap();
            root().consolidate().unwrap();
            let listed = || collect_list(root().catalog().unwrap().unwrap().entries().keys().map(|key| key.to_string())).unwrap();
            let before = listed();
            store.key_put(damaged, b"{").unwrap();
            root().consolidate_cut(&mut |_| Ok(Cuts::new()), true).unwrap();
            assert_eq!(listed(), before, "{damaged}");
        }
    }

    /// An array of v3 with these members besides those that it has to have.
    fn v3_array(chunk_keys: &str, codecs: &str, more: &str) -> Map {
        entry(
            "t",
            &format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"float32","fill_value":0,"codecs":{codecs},
                "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[2]}}}},"chunk_key_encoding":{chunk_keys}{more}}}"#
            ),
        )
    }

    #[test]
    fn entries_that_say_the_same_in_other_words_do_not_differ() {
        let (full, short) = (r#"{"name":"default","configuration":{"separator":"/"}}"#, r#"{"name":"default"}"#);
        let bytes = r#"[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}]"#;
        let named = r#"[{"name":"bytes","configuration":{"endian":"little"}},"crc32c"]"#;
        let document = v3_array(full, bytes, "");
        for (listed, same) in [
            (v3_array(full, bytes, r#","storage_transformers":[],"attributes":{}"#), true),
            (v3_array(short, named, ""), true),
            (v3_array(full, &bytes.replace(r#"{"name":"crc32c"}"#, r#""zstd""#), ""), false),
            (v3_array(full, bytes, r#","attributes":{"units":"K"}"#), false),
            (v3_array(full, bytes, r#","dimension_names":["x"]"#), false),
            (v3_array(r#"{"name":"v2"}"#, bytes, ""), false),
        ] {
            assert_eq!(differences(&listed, &document, &HashSet::new()).unwrap().is_empty(), same, "{listed:?}");
        }
        let v2 = |more: &str| {
            let text = r#""shape":[4],"chunks":[2],"dtype":"<f4","order":"C","compressor":null,"filters":null"#;
            entry("t/.zarray", &format!(r#"{{"zarr_format":2,"fill_value":0.0,{text}{more}}}"#))
        };
        assert!(differences(&v2(r#","dimension_separator":".""#), &v2(""), &HashSet::new()).unwrap().is_empty());
        assert!(!differences(&v2(r#","dimension_separator":"/""#), &v2(""), &HashSet::new()).unwrap().is_empty());
        // zarr-python 3.0.0 lists a parameter that it leaves out of the document.
        let zstd = |more: &str| v2(&format!(r#","compressor":{{"id":"zstd","level":0{more}}}"#));
        for (checksum, same) in [("false", true), ("true", false)] {
            assert_eq!(differences(&zstd(&format!(r#","checksum":{checksum}"#)), &zstd(""), &HashSet::new()).unwrap().is_empty(), same);
        }
    }
}
