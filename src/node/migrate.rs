//! Migration: a hierarchy of version 2 or of a draft of version 3 becomes one of version 3, chunks as they are.
//!
//! Documents are written anew (`metadata/upgrade.rs` says what), chunks get a second name or are copied; they are encoded anew only where
//! version 3 has no form for their codecs. A node's document comes after its chunks and after all below it, so that what is there is
//! whole; the root's is the last one. In place, old documents go after that, and a marker tells a second run what is left to do.

use super::array::{Handling, State};
use super::document::{self, Stored, find, find_v2, require};
use super::transfer::{self, Elements, Moves, Progress, Way, at_node, each_chunk};
use super::{Group, NodeKind, Store, catalog, copy, draft, hierarchy, path};
use crate::dtype::Overflow;
use crate::error::{Error, Result, bail, err};
use crate::grid::key::KeyEncoding;
use crate::limits;
use crate::metadata::v3::Document;
use crate::metadata::{ArrayMeta, Dialect, Format, Map, Value, json, upgrade, v2, v3};
use crate::store::{Condition, get};

/// Stands beside the root of what is being made, until it is whole.
const MARKER: &str = "ozarr-migration.json";
/// So many notes are kept, at most.
const NOTES: usize = 1000;

/// What a migration did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Migrated {
    /// Nodes that got a document; those of an earlier run that was interrupted do not count.
    pub nodes: u64,
    /// Chunks that got a second name.
    pub linked: u64,
    /// Chunks that were copied.
    pub copied: u64,
    /// Chunks that were encoded anew.
    pub recoded: u64,
    /// What changed besides the form, a line for each (a thousand at most).
    pub notes: Vec<String>,
}

/// Where to, and how.
struct Job<'a> {
    from: &'a Store,
    from_path: String,
    to: &'a Store,
    to_path: String,
    in_place: bool,
    /// The hierarchy is, or was before an interruption, of the draft d0.
    d0: bool,
    /// Copy chunks where they could be linked.
    copy: bool,
    done: u64,
    total: u64,
    report: Migrated,
    progress: &'a mut Progress<'a>,
}

/// What a node becomes.
enum New {
    Group(Map),
    Array(Box<NewArray>),
}

struct NewArray {
    old: State,
    new: ArrayMeta,
    /// Why the chunks are encoded anew, if they are.
    recode: Option<Error>,
}

impl Store {
    /// Makes version 3 of the node at `path` with all below it: in `to`, or in place where that is `None`. Nothing is written unless
    /// every node has a form in version 3; the error names the node that has none. `to` holds nothing at that path, or what an
    /// interrupted migration of the same node left there, which is then completed; in place, too, the same call completes it.
    ///
    /// Chunks are linked where the stores can (so that no program may change them in place), unless `copy`. `progress` is told after each
    /// object how many are done of how many; its error ends the migration. Errors: `Exists`, `Argument` (one place lies in the
    /// other), `Unsupported`, `Metadata`, and those of reading and writing.
    pub fn migrate(&self, path: &str, to: Option<(&Store, &str)>, copy: bool, progress: &mut Progress<'_>) -> Result<Migrated> {
        let from_path = path::normalize(path)?;
        let (to, to_path, in_place) = match to {
            Some((to, path)) => (to, path::normalize(path)?, false),
            None => (self, from_path.clone(), true),
        };
        to.check_writable()?;
        [self, to].into_iter().try_for_each(hierarchy::need_listing)?;
        let found = require(self, &from_path, NodeKind::None)?;
        if !in_place {
            path::check_new(&to_path)?;
            copy::refuse_overlap((self, &from_path), (to, &to_path))?;
            draft::refuse(to)?;
        }
        let (d0, done) = (found.dialect == Dialect::D0, 0);
        let mut job = Job { from: self, from_path, to, to_path, in_place, d0, copy, done, total: 0, report: Migrated::default(), progress };
        job.run()?;
        Ok(job.report)
    }
}

impl Job<'_> {
    fn run(&mut self) -> Result<()> {
        if !self.in_place {
            hierarchy::ensure_ancestors(self.to, &self.to_path, Format::V3)?;
        }
        let lock = document::lock_place(self.to, &self.to_path)?;
        let marker = self.read_marker()?;
        let nodes = transfer::nodes_below(self.from, &self.from_path)?;
        self.check(&nodes)?;
        // What an interrupted run in place began with may be replaced by now.
        self.d0 |= marker.as_ref().is_some_and(|marker| marker.get("draft").and_then(Value::as_str) == Dialect::D0.draft());
        if self.in_place && self.d0 {
            self.check_place(&nodes)?;
        }
        if marker.is_none() {
            self.write_marker()?;
        }
        let mut consolidated = Vec::new();
        // Children first.
        for node in nodes.iter().rev() {
            self.node(node, &mut consolidated)?;
        }
        self.to.flush()?;
        catalog::changed(self.to);
        for group in &consolidated {
            Group::open(self.to, group)?.consolidate()?;
        }
        if self.in_place {
            self.to.flush()?;
            self.erase_old(&nodes)?;
        }
        let marker = path::join(&self.to_path, MARKER);
        self.to.shared().erase(&marker).map_err(|e| e.at_key(marker))?;
        drop(lock);
        if !self.to_path.is_empty() {
            let made: Vec<String> = nodes.iter().map(|n| self.target(n)).collect();
            hierarchy::refresh(self.to, &made, None)?;
        }
        catalog::changed(self.to);
        self.to.flush()
    }

    /// The path that a node gets.
    fn target(&self, node: &str) -> String {
        transfer::moved_path(node, &self.from_path, &self.to_path)
    }

    /// What an interrupted run left. A place that holds anything else is refused.
    fn read_marker(&self) -> Result<Option<Map>> {
        let key = path::join(&self.to_path, MARKER);
        if let Some(bytes) = get(&**self.to.shared(), &key, limits::MAX_DOCUMENT)? {
            let marker = json::parse_object(&bytes, limits::MAX_DOCUMENT).map_err(|e| e.at_key(&key))?;
            if marker.get("from").and_then(Value::as_str) != Some(&self.source()) {
                let e = err!(Exists, "a migration of something else was interrupted here; complete it, or erase what it left");
                return Err(e.at_key(key));
            }
            return Ok(Some(marker));
        }
        let listing = self.to.shared().list_dir(&path::prefix(&self.to_path))?;
        let is_empty = listing.keys.is_empty() && listing.prefixes.is_empty();
        if !self.in_place && !is_empty {
            let (place, path) = (self.to.shared().describe(), path::display(&self.to_path));
            bail!(Exists, "{path} of {place} holds something already; migrate to where nothing is");
        }
        Ok(None)
    }

    /// What is migrated, as the marker has it.
    fn source(&self) -> String {
        if self.in_place { "here".into() } else { format!("{} {}", self.from.shared().describe(), self.from_path) }
    }

    fn write_marker(&self) -> Result<()> {
        let draft = Dialect::D0.draft().filter(|_| self.d0).unwrap_or_default();
        let members = [("from", self.source()), ("draft", draft.to_string())];
        let marker = members.into_iter().map(|(name, value)| (name.to_string(), Value::from(value))).collect();
        document::publish(self.to, &path::join(&self.to_path, MARKER), &marker, Condition::None)?;
        self.to.flush()
    }

    /// Everything that can be wrong, before anything is written; and how many objects there are.
    fn check(&mut self, nodes: &[String]) -> Result<()> {
        for node in nodes {
            let new = self.convert(node).map_err(|e| at_node(e, node))?;
            path::check_new(&self.target(node)).map_err(|e| at_node(e, node))?;
            self.total += 1;
            if let Some(New::Array(array)) = new {
                self.note(node, &array);
                let mut count = 0;
                each_chunk(self.from, &array.old, &mut |_, _| {
                    count += 1;
                    Ok(())
                })?;
                self.total += count;
            }
        }
        Ok(())
    }

    fn note(&mut self, node: &str, array: &NewArray) {
        let mut notes = Vec::new();
        if !array.old.meta.fill.defined {
            notes.push(format!("{}: the fill value null became 0", path::display(node)));
        }
        if let Some(why) = &array.recode {
            let field = why.field().map(|f| format!(" ({f})")).unwrap_or_default();
            notes.push(format!("{}: encoded anew: {}{field}", path::display(node), why.message()));
        }
        let room = NOTES.saturating_sub(self.report.notes.len());
        self.report.notes.extend(notes.into_iter().take(room));
    }

    /// In place, the nodes of a d0 hierarchy come to stand beside the folders that they lie in.
    fn check_place(&self, nodes: &[String]) -> Result<()> {
        if !self.from_path.is_empty() {
            bail!(Argument, "a hierarchy in a draft (d0) is migrated in place as a whole; name its root, or a place to migrate to");
        }
        match nodes.iter().find(|node| matches!(path::segments(node).next(), Some("meta" | "data"))) {
            Some(node) => bail!(Unsupported, "the node {node} would stand in the folder of the draft's own keys; migrate to another place"),
            None => Ok(()),
        }
    }

    /// What a node becomes; `None` where it is of version 3 already, and nothing moves.
    fn convert(&self, node: &str) -> Result<Option<New>> {
        let Some(found) = find(self.from, node)? else { return Ok(None) };
        let (format, dialect, document) = (found.format, found.dialect, found.document.clone());
        let attributes = || match format {
            Format::V2 => document::attributes_v2(self.from, node),
            Format::V3 => Ok(v3::attributes(&document).cloned().unwrap_or_default()),
        };
        match found.parse(self.from)? {
            Document::Group(_) if format == Format::V3 && dialect == Dialect::Final => {
                let mut document = document;
                document.shift_remove(v3::CONSOLIDATED);
                Ok((!self.in_place).then_some(New::Group(document)))
            }
            Document::Group(meta) => Ok(Some(New::Group(v3::write_group(upgrade::group_attributes(&meta.document, attributes()?))))),
            Document::Array(meta) if meta.format == Format::V3 && meta.dialect == Dialect::Final => {
                let old = State::new(self.from, node, (*meta).clone(), &Handling::default())?;
                Ok((!self.in_place).then(|| New::Array(Box::new(NewArray { old, new: *meta, recode: None }))))
            }
            Document::Array(meta) => self.array(node, *meta, attributes()?).map(|array| Some(New::Array(Box::new(array)))),
        }
    }

    fn array(&self, node: &str, meta: ArrayMeta, attributes: Map) -> Result<NewArray> {
        // What the state knows of the chunks' keys may be more than what the document says.
        let old = State::new(self.from, node, meta, &Handling::default())?;
        let meta = &old.meta;
        let (new, recode) = match upgrade::array(meta, attributes.clone()) {
            Ok(new) => (new, None),
            Err(e) if upgrade::may_recode(&e) && !meta.data_type.is_variable() => (upgrade::recoded(meta, attributes)?, Some(e)),
            Err(e) => return Err(e),
        };
        // A codec that cannot be used can be moved all the same; to be encoded anew it must be known.
        let known = old.bound.is_ok();
        if recode.is_some() {
            old.bound(node)?;
        }
        if known {
            State::new(self.to, &self.target(node), new.clone(), &Handling::default())?.bound(&self.target(node))?;
        }
        Ok(NewArray { old, new, recode })
    }

    fn node(&mut self, node: &str, consolidated: &mut Vec<String>) -> Result<()> {
        let target = self.target(node);
        if self.is_consolidated(node)? {
            consolidated.push(target.clone());
        }
        let there = document::find_v3(self.to, &target).ok().flatten();
        let new = match there {
            // Made by an earlier run. In place, a draft's document may stand there.
            Some(_) if !self.in_place => None,
            _ => self.convert(node).map_err(|e| at_node(e, node))?,
        };
        let Some(new) = new else { return self.step() };
        let document = match new {
            New::Group(document) => document,
            New::Array(array) => {
                self.chunks(node, &target, &array).map_err(|e| at_node(e, node))?;
                array.new.document
            }
        };
        // What the document speaks of is durable before it is there.
        if target == self.to_path {
            self.to.flush()?;
        }
        document::publish(self.to, &path::join(&target, v3::DOCUMENT), &document, Condition::None)?;
        self.report.nodes += 1;
        self.step()
    }

    fn step(&mut self) -> Result<()> {
        self.done += 1;
        (self.progress)(self.done, self.total.max(self.done))
    }

    /// Whether a node has consolidated metadata, which are then made anew.
    fn is_consolidated(&self, node: &str) -> Result<bool> {
        let key = path::join(node, v2::CONSOLIDATED);
        if self.from.shared().open(&key).map_err(|e| e.at_key(&key))?.is_some() {
            return Ok(true);
        }
        let Some(found) = find(self.from, node)? else { return Ok(false) };
        let kept = found.document.get(v3::CONSOLIDATED).is_some_and(|c| !c.is_null());
        Ok(found.kind == NodeKind::Group && (kept || (self.d0 && node.is_empty() && draft::is_consolidated(self.from)?)))
    }

    /// Brings the chunks of an array to their new keys.
    fn chunks(&mut self, node: &str, target: &str, array: &NewArray) -> Result<()> {
        if array.recode.is_some() {
            return self.recode(node, target, array);
        }
        let (prefix, mut keys) = (path::prefix(target), Vec::new());
        each_chunk(self.from, &array.old, &mut |key, index| {
            let mut to_key = prefix.clone();
            array.new.keys.push(index.iter().copied(), &mut to_key);
            if !(self.in_place && key == to_key) {
                keys.push((key.to_string(), to_key));
            } else {
                self.done += 1;
            }
            Ok(())
        })?;
        let (before, total, moves) = (self.done, self.total, Moves::default());
        let (way, progress) = (Way { from: self.from, to: self.to, link: !self.copy }, &mut self.progress);
        way.move_all(&keys, &moves, &mut |done| progress(before + done, total.max(before + done)))?;
        self.report.linked += moves.linked.into_inner();
        self.report.copied += moves.copied.into_inner();
        self.done += keys.len() as u64;
        Ok(())
    }

    /// Reads and writes the elements of each chunk.
    fn recode(&mut self, node: &str, target: &str, array: &NewArray) -> Result<()> {
        let source = array.old.bound(node)?;
        let dest = State::new(self.to, target, array.new.clone(), &Handling::default())?.bound(target)?;
        let elements = Elements::new((self.from, &array.old, &source), &dest, true, (0, Overflow::Error))?;
        let (before, total, progress) = (self.done, self.total, &mut self.progress);
        elements.run(&mut |done| progress(before + done, total.max(before + done)))?;
        let chunks = elements.chunks();
        self.report.recoded += chunks;
        self.done += chunks;
        Ok(())
    }

    /// In place: what nobody needs any more. Old documents go after old chunks, so that a second run finds what is left.
    fn erase_old(&self, nodes: &[String]) -> Result<()> {
        let shared = self.from.shared();
        let erase = |key: String| shared.erase(&key).map(drop).map_err(|e| e.at_key(&key));
        for node in nodes.iter().rev() {
            if let Ok(Some(old)) = find_v2(self.from, node) {
                self.erase_recoded(node, old)?;
            }
            for name in [v2::CONSOLIDATED, v2::ATTRIBUTES, v2::ARRAY, v2::GROUP] {
                erase(path::join(node, name))?;
            }
        }
        if self.d0 {
            for word in ["array", "group"] {
                let names = shared.list_dir("meta/")?.keys;
                for name in names.iter().filter(|name| name.starts_with(&format!("root.{word}"))) {
                    erase(format!("meta/{name}"))?;
                }
            }
            for prefix in [draft::DATA, draft::META] {
                let prefix = format!("{prefix}/");
                shared.erase_prefix(&prefix).map_err(|e| e.at_key(&prefix))?;
            }
            // The folders above them, if nothing else is in them.
            for folder in ["data/", "meta/"] {
                let listing = shared.list_dir(folder)?;
                if listing.keys.is_empty() && listing.prefixes.is_empty() {
                    shared.erase_prefix(folder).map_err(|e| e.at_key(folder))?;
                }
            }
        }
        Ok(())
    }

    /// The chunks of a v2 array that was encoded anew, whose new chunks have keys of another kind.
    fn erase_recoded(&self, node: &str, old: Stored) -> Result<()> {
        let Some(new) = document::find_v3(self.from, node)?.filter(|n| n.kind == NodeKind::Array) else { return Ok(()) };
        let (Ok(Document::Array(new)), Ok(Document::Array(old))) = (new.parse(self.from), old.parse(self.from)) else { return Ok(()) };
        if matches!(new.keys, KeyEncoding::V2(_)) {
            return Ok(());
        }
        let mut keys = Vec::new();
        each_chunk(self.from, &State::new(self.from, node, *old, &Handling::default())?, &mut |key, _| {
            keys.push(key.to_string());
            Ok(())
        })?;
        keys.into_iter().try_for_each(|key| self.from.shared().erase(&key).map(drop).map_err(|e| e.at_key(&key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Memory, Selection};
    use crate::error::ErrorKind;
    use crate::limits::c_strides;
    use crate::node::{Context, Create, Mode, Node, Spec};
    use crate::store::memory::MemoryStore;
    use crate::store::{Capabilities, Listing, Object, SharedStore};
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

    /// A store in memory that fails from some change on, as if the process were killed there.
    struct Mortal {
        store: MemoryStore,
        left: AtomicI64,
    }

    impl Mortal {
        fn change(&self) -> Result<()> {
            if self.left.fetch_sub(1, Ordering::Relaxed) > 0 { Ok(()) } else { bail!(Io, "killed") }
        }
    }

    impl crate::store::Store for Mortal {
        fn capabilities(&self) -> Capabilities {
            self.store.capabilities()
        }
        fn open(&self, key: &str) -> Result<Option<Object>> {
            self.store.open(key)
        }
        fn put(&self, key: &str, parts: &[&[u8]], condition: Condition) -> Result<()> {
            self.change().and_then(|()| self.store.put(key, parts, condition))
        }
        fn erase(&self, key: &str) -> Result<bool> {
            self.change().and_then(|()| self.store.erase(key))
        }
        // Key by key, because a kill can come between any two.
        fn erase_prefix(&self, prefix: &str) -> Result<()> {
            let mut keys = Vec::new();
            self.store.list(prefix, &mut |key| {
                keys.push(key.to_string());
                Ok(())
            })?;
            keys.iter().try_for_each(|key| self.erase(key).map(drop))
        }
        fn list(&self, prefix: &str, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
            self.store.list(prefix, each)
        }
        fn list_dir(&self, prefix: &str) -> Result<Listing> {
            self.store.list_dir(prefix)
        }
        fn flush(&self) -> Result<()> {
            Ok(())
        }
        fn describe(&self) -> String {
            "mortal".into()
        }
    }

    /// A fresh store, and its number of changes that succeed.
    fn mortal(keys: &BTreeMap<String, Vec<u8>>, left: i64) -> Arc<Mortal> {
        let store = MemoryStore::new();
        for (key, bytes) in keys {
            crate::store::Store::put(&store, key, &[bytes], Condition::None).unwrap();
        }
        Arc::new(Mortal { store, left: AtomicI64::new(left) })
    }

    fn open(shared: &Arc<Mortal>) -> Store {
        Store::from_shared(&Context::default(), shared.clone() as SharedStore, Mode::ReadWrite)
    }

    fn keys(store: &dyn crate::store::Store) -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        store
            .list("", &mut |key| {
                all.insert(key.to_string(), get(store, key, 1 << 30)?.unwrap());
                Ok(())
            })
            .unwrap();
        all
    }

    fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
        values.into_iter().flat_map(i32::to_be_bytes).collect()
    }

    fn text(keys: &mut BTreeMap<String, Vec<u8>>, key: &str, text: &str) {
        keys.insert(key.into(), text.replace("CORE", CORE).into_bytes());
    }

    /// v2: `a`, [5] in chunks of 2, the second one missing; `g/f` with filters that v3 has no form for; consolidated.
    fn v2_keys() -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        text(&mut all, ".zgroup", r#"{"zarr_format":2}"#);
        text(&mut all, ".zattrs", r#"{"title":"t"}"#);
        text(
            &mut all,
            "a/.zarray",
            r#"{"zarr_format":2,"shape":[5],"chunks":[2],"dtype":">i4","fill_value":7,"compressor":null,"filters":null,"order":"C"}"#,
        );
        text(&mut all, "a/.zattrs", r#"{"_ARRAY_DIMENSIONS":["x"],"u":1}"#);
        all.insert("a/0".into(), ints([1, 2]));
        all.insert("a/2".into(), ints([5, 0]));
        text(&mut all, "g/.zgroup", r#"{"zarr_format":2}"#);
        text(
            &mut all,
            "g/f/.zarray",
            r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":">i4","fill_value":0,"compressor":null,"filters":[{"id":"base64"}],"order":"C"}"#,
        );
        all.insert("g/f/0".into(), b"AAAAAQAAAAI=".to_vec());
        text(&mut all, ".zmetadata", r#"{"zarr_consolidated_format":1,"metadata":{}}"#);
        all
    }

    /// d0: `a` as above; `p/q` [2,2] in shards in an implicit group; a scalar; consolidated.
    fn d0_keys() -> BTreeMap<String, Vec<u8>> {
        let mut all = BTreeMap::new();
        text(&mut all, "zarr.json", r#"{"zarr_format":"CORE","metadata_encoding":"CORE","metadata_key_suffix":".json","extensions":[]}"#);
        let array = |shape: &str, chunk: &str, more: &str| {
            format!(
                r#"{{"shape":{shape},"data_type":">i4","chunk_grid":{{"type":"regular","chunk_shape":{chunk},"separator":"/"}},
                "chunk_memory_layout":"C","fill_value":7,"extensions":[],"attributes":{{"u":1}}{more}}}"#
            )
        };
        text(&mut all, "meta/root/a.array.json", &array("[5]", "[2]", ""));
        all.insert("data/root/a/c0".into(), ints([1, 2]));
        all.insert("data/root/a/c2".into(), ints([5, 0]));
        let sharding = r#","storage_transformers":[{"extension":"https://purl.org/zarr/spec/storage_transformers/sharding/1.0","type":"indexed","configuration":{"chunks_per_shard":[2,1]}}]"#;
        text(&mut all, "meta/root/p/q.array.json", &array("[2,2]", "[1,2]", sharding));
        let index = [0u64, 8, u64::MAX, u64::MAX].iter().flat_map(|n| n.to_le_bytes());
        all.insert("data/root/p/q/c0/0".into(), ints([1, 2]).into_iter().chain(index).collect());
        text(&mut all, "meta/root/s.array.json", &array("[]", "[]", ""));
        all.insert("data/root/s/c0".into(), ints([9]));
        text(&mut all, "meta/root/g.group.json", r#"{"attributes":{"title":"t"}}"#);
        text(&mut all, "meta/root/consolidated.group.json", r#"{"attributes":{}}"#);
        text(&mut all, "meta/root/consolidated/.zmetadata", r#"{"zarr_consolidated_format":1,"metadata":{}}"#);
        all
    }

    fn read(store: &Store, path: &str) -> Vec<i32> {
        let Node::Array(array) = Node::open(store, path).unwrap_or_else(|e| panic!("{path}: {e}")) else { panic!("{path}") };
        let mut values = vec![-1; array.shape().iter().product::<u64>() as usize];
        let (data, size) = (values.as_mut_ptr().cast(), size_of_val(values.as_slice()));
        let (strides, data_type) = (c_strides(&array.shape(), 4), array.data_type());
        let memory = Memory { data, size, offset: 0, strides, data_type, overflow: Overflow::Error, arena: None };
        // SAFETY: the memory lives as long as the call.
        unsafe { array.read(&Selection::all(&array.shape()), &memory).unwrap() };
        values
    }

    const V2: &[(&str, &[i32])] = &[("a", &[1, 2, 7, 7, 5]), ("g/f", &[1, 2])];
    const D0: &[(&str, &[i32])] = &[("a", &[1, 2, 7, 7, 5]), ("p/q", &[1, 2, 7, 7]), ("s", &[9])];

    fn check_values(store: &Store, expected: &[(&str, &[i32])], when: &str) {
        for (path, values) in expected {
            assert_eq!(read(store, path), *values, "{path} {when}");
        }
    }

    fn go(from: &Store, to: Option<&Store>) -> Result<Migrated> {
        from.migrate("", to.map(|s| (s, "")), false, &mut |_, _| Ok(()))
    }

    #[test]
    fn v2_becomes_v3_and_keeps_its_chunks() {
        let (from, to) = (open(&mortal(&v2_keys(), 0)), open(&mortal(&BTreeMap::new(), 1000)));
        let done = go(&from, Some(&to)).unwrap();
        assert_eq!((done.nodes, done.linked, done.copied, done.recoded), (4, 0, 2, 1));
        assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
        assert!(done.notes[0].starts_with("g/f: encoded anew: the codec \"base64\""), "{:?}", done.notes);
        let all = keys(&**to.shared());
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        assert_eq!(names, ["a/0", "a/2", "a/zarr.json", "g/f/c/0", "g/f/zarr.json", "g/zarr.json", "zarr.json"]);
        assert_eq!(all["a/0"], ints([1, 2]));
        check_values(&to, V2, "after the migration");
        let root = json::parse_object(&all["zarr.json"], 1 << 20).unwrap();
        assert_eq!(root["attributes"].to_string(), r#"{"title":"t"}"#);
        let entries = root["consolidated_metadata"]["metadata"].as_object().unwrap();
        assert_eq!(entries.keys().collect::<Vec<_>>(), ["a", "g", "g/f"]);
        assert_eq!(entries["a"]["dimension_names"].to_string(), r#"["x"]"#);
    }

    #[test]
    fn d0_becomes_v3_with_its_implicit_groups() {
        let (from, to) = (open(&mortal(&d0_keys(), 0)), open(&mortal(&BTreeMap::new(), 1000)));
        let done = go(&from, Some(&to)).unwrap();
        assert_eq!((done.nodes, done.copied, done.recoded, done.notes.len()), (6, 4, 0, 0));
        let all = keys(&**to.shared());
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        let want = [
            "a/c/0",
            "a/c/2",
            "a/zarr.json",
            "g/zarr.json",
            "p/q/c/0/0",
            "p/q/zarr.json",
            "p/zarr.json",
            "s/c",
            "s/zarr.json",
            "zarr.json",
        ];
        assert_eq!(names, want);
        check_values(&to, D0, "after the migration");
    }

    #[test]
    fn after_a_kill_at_any_change_all_is_readable_and_a_second_run_completes_it() {
        for (before, values) in [(v2_keys(), V2), (d0_keys(), D0)] {
            for in_place in [false, true] {
                let run = |from: &Arc<Mortal>, to: &Arc<Mortal>| match in_place {
                    true => go(&open(to), None),
                    false => go(&open(from), Some(&open(to))),
                };
                let start = || if in_place { before.clone() } else { BTreeMap::new() };
                let from = mortal(&before, 0);
                let whole = mortal(&start(), i64::MAX);
                run(&from, &whole).unwrap();
                let want = keys(&whole.store);
                assert!(!want.keys().any(|key| key.contains(".z") || key.starts_with("data/") || key.starts_with("meta/")), "{want:?}");
                let changes = i64::MAX - whole.left.load(Ordering::Relaxed);
                assert!(changes >= 10, "{changes}");
                for left in 0..changes {
                    let killed = mortal(&start(), left);
                    let e = run(&from, &killed).expect_err("a change fails");
                    assert!(e.message().contains("killed"), "{e}");
                    let when = format!("after {left} of {changes} changes, in place: {in_place}");
                    if in_place {
                        check_values(&open(&killed), values, &when);
                    }
                    killed.left.store(i64::MAX, Ordering::Relaxed);
                    run(&from, &killed).unwrap_or_else(|e| panic!("{when}: {e}"));
                    assert_eq!(keys(&killed.store), want, "{when}");
                }
                assert_eq!(keys(&from.store), before, "the source");
            }
        }
    }

    #[test]
    fn a_group_that_is_called_as_zarr_python_calls_its_own_is_kept_if_something_is_in_it() {
        let mut before = d0_keys();
        before.insert("meta/root/consolidated/a.array.json".into(), before["meta/root/a.array.json"].clone());
        before.insert("data/root/consolidated/a/c0".into(), ints([1, 2]));
        let store = open(&mortal(&before, 1000));
        go(&store, None).unwrap();
        assert_eq!(read(&store, "consolidated/a"), [1, 2, 7, 7, 7]);
    }

    #[test]
    fn the_progress_is_told_and_can_end_it() {
        let from = open(&mortal(&d0_keys(), 0));
        let to = open(&mortal(&BTreeMap::new(), 1000));
        let mut told = Vec::new();
        let e = from.migrate("", Some((&to, "")), false, &mut |done, total| {
            told.push((done, total));
            if done == 3 { bail!(Cancelled, "enough") } else { Ok(()) }
        });
        assert_eq!((e.unwrap_err().kind(), told.as_slice()), (ErrorKind::Cancelled, [(1, 10), (2, 10), (3, 10)].as_slice()));
        let mut last = (0, 0);
        let again = from.migrate("", Some((&to, "")), false, &mut |done, total| {
            last = (done, total);
            Ok(())
        });
        assert!(again.is_ok());
        check_values(&to, D0, "after the second run");
    }

    #[test]
    fn a_part_goes_into_a_hierarchy_that_is_there() {
        let (from, to) = (open(&mortal(&d0_keys(), 0)), open(&mortal(&BTreeMap::new(), 1000)));
        let root = Group::create(&to, "", None, Create::New).unwrap();
        root.consolidate().unwrap();
        from.migrate("p", Some((&to, "old/p")), false, &mut |_, _| Ok(())).unwrap();
        assert_eq!(read(&to, "old/p/q"), [1, 2, 7, 7]);
        let all = keys(&**to.shared());
        assert!(String::from_utf8_lossy(&all["zarr.json"]).contains("\"old/p/q\""));
    }

    #[test]
    fn what_cannot_be_migrated_stops_before_anything_is_written() {
        let mut v2 = v2_keys();
        text(
            &mut v2,
            "g/bad/.zarray",
            r#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"<i4","fill_value":0,"compressor":{"id":"snake-oil"},"filters":null,"order":"C"}"#,
        );
        let mut reserved = v2_keys();
        text(&mut reserved, "__x/.zgroup", r#"{"zarr_format":2}"#);
        let mut in_the_way = d0_keys();
        text(&mut in_the_way, "meta/root/data.group.json", r#"{"attributes":{}}"#);
        for (before, in_place, kind, says) in [
            (&v2, false, ErrorKind::Unsupported, "g/bad"),
            (&v2, true, ErrorKind::Unsupported, "snake-oil"),
            (&reserved, true, ErrorKind::Name, "__x"),
            (&in_the_way, true, ErrorKind::Unsupported, "data"),
        ] {
            let (from, to) = (mortal(before, 0), mortal(&BTreeMap::new(), 0));
            let e = if in_place { go(&open(&from), None) } else { go(&open(&from), Some(&open(&to))) }.unwrap_err();
            assert_eq!(e.kind(), kind, "{e}");
            assert!(e.to_string().contains(says), "{e}");
            assert!(keys(&to.store).is_empty() && keys(&from.store) == *before);
        }
    }

    #[test]
    fn a_place_that_holds_something_else_is_refused() {
        let from = open(&mortal(&d0_keys(), 0));
        let full = open(&mortal(&v2_keys(), 1000));
        assert_eq!(go(&from, Some(&full)).unwrap_err().kind(), ErrorKind::Exists);
        let draft = open(&mortal(&d0_keys(), 1000));
        assert_eq!(go(&from, Some(&draft)).unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(from.migrate("p", None, false, &mut |_, _| Ok(())).unwrap_err().kind(), ErrorKind::Argument);
        let done = open(&mortal(&BTreeMap::new(), 1000));
        go(&from, Some(&done)).unwrap();
        assert_eq!(go(&from, Some(&done)).unwrap_err().kind(), ErrorKind::Exists, "when it is complete");
        let mut other = BTreeMap::new();
        text(&mut other, MARKER, r#"{"from":"somewhere else"}"#);
        assert_eq!(go(&from, Some(&open(&mortal(&other, 1000)))).unwrap_err().kind(), ErrorKind::Exists);
        // In place, v3 stays what it is.
        let before = keys(&**done.shared());
        go(&done, None).unwrap();
        assert_eq!(keys(&**done.shared()), before);
    }

    #[test]
    fn chunks_of_files_are_linked_and_a_copy_is_made_where_it_is_asked_for() {
        use std::os::unix::fs::MetadataExt;
        let folder = std::env::temp_dir().join(format!("ozarr-migrate-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for (key, bytes) in d0_keys() {
            let file = folder.join("old").join(key);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        let store = |name: &str| Store::open(&Context::default(), folder.join(name).to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
        let links = |name: &str| std::fs::metadata(folder.join(name)).unwrap().nlink();
        let done = go(&store("old"), Some(&store("new"))).unwrap();
        assert_eq!((done.linked, done.copied, links("new/a/c/0")), (4, 0, 2));
        let done = store("old").migrate("", Some((&store("copy"), "")), true, &mut |_, _| Ok(())).unwrap();
        assert_eq!((done.linked, done.copied, links("copy/a/c/0")), (0, 4, 1));
        // Writing to the new one leaves the old one alone.
        let Node::Array(array) = Node::open(&store("new"), "a").unwrap() else { panic!() };
        let mut value = 42i32;
        let data = (&raw mut value).cast();
        let memory = Memory {
            data,
            size: 4,
            offset: 0,
            strides: c_strides(&[1], 4),
            data_type: array.data_type(),
            overflow: Overflow::Error,
            arena: None,
        };
        // SAFETY: the memory lives as long as the call.
        unsafe { array.write(&Selection::new(&[5], &[0], &[1], None).unwrap(), &memory).unwrap() };
        assert_eq!((read(&store("new"), "a")[0], read(&store("old"), "a")[0]), (42, 1));
        go(&store("old"), None).unwrap();
        check_values(&store("old"), D0, "in place");
        assert!(!folder.join("old/meta").exists() && !folder.join("old/data").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn nothing_in_a_draft_is_written() {
        let shared = mortal(&d0_keys(), 0);
        let store = open(&shared);
        let Node::Array(a) = Node::open(&store, "a").unwrap() else { panic!() };
        let g = Group::open(&store, "g").unwrap();
        assert_eq!((a.dialect().draft(), g.dialect().draft(), a.format()), (Some("d0"), Some("d0"), Format::V3));
        let spec = || Spec::new(crate::dtype::DataType::Int8, &[1]).unwrap();
        let mut value = 1i32;
        let data = (&raw mut value).cast();
        let memory = Memory {
            data,
            size: 4,
            offset: 0,
            strides: c_strides(&[1], 4),
            data_type: a.data_type(),
            overflow: Overflow::Error,
            arena: None,
        };
        let first = Selection::new(&[5], &[0], &[1], None).unwrap();
        let elsewhere = open(&mortal(&BTreeMap::new(), 0));
        let results = [
            // SAFETY: the memory lives as long as the calls.
            unsafe { a.write(&first, &memory) },
            // SAFETY: as above.
            unsafe { a.append(0, 1, &memory) },
            a.resize(&[9], false),
            a.attributes().set("x", 1.into()),
            g.attributes().erase("title"),
            g.attributes().begin(),
            g.consolidate(),
            crate::node::Array::create(&store, "g/new", &spec(), Create::New).map(drop),
            crate::node::Array::create(&store, "", &spec(), Create::Overwrite).map(drop),
            Group::create(&store, "a", None, Create::OpenIfSame).map(drop),
            store.erase_node("a"),
            store.erase_node(""),
            store.copy_node("a", (&elsewhere, "a"), Create::New, false, &mut |_, _| Ok(())),
        ];
        for (i, result) in results.into_iter().enumerate() {
            let e = result.unwrap_err();
            assert_eq!(e.kind(), ErrorKind::ReadOnly, "{i}: {e}");
            assert!(e.message().contains("(d0)") && e.message().contains("ozarr migrate"), "{i}: {e}");
        }
        assert_eq!(keys(&shared.store), d0_keys());
    }
}
