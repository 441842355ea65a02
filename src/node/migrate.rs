//! Migration: a hierarchy of version 2 or of a draft of version 3 becomes one of version 3, chunks as they are.
//!
//! Documents are written anew (`metadata/upgrade.rs` says what), chunks get a second name or are copied; they are encoded anew only where
//! version 3 has no form for their codecs. A node's document comes after its chunks and after all below it, so that what is there is
//! whole; the root's is the last one. In place, old documents go after that, and a marker tells a second run what is left to do.

mod convert;
mod owned;
mod whole;

use super::conventions::ome::OtherImages;
use super::converted::{self, Converted};
use super::cut_watch::CutWatch;
use super::growing::Cuts;
use super::kept::CopiedNode;
use super::left_out::LeftOut;
use super::listed_lengths::{Lengths, shape_of};
use super::lookup::{self, require};
use super::state::{ArrayState, Handling};
use super::stored::StoredDocument;
use super::stored_chunks::{each_chunk, each_chunk_to_copy};
use super::transfer::{self, Elements, Moves, OnProgress, Way, at_node};
use super::{
    Group, NodeKind, Store, boundary, consolidate, create_array, cut, document, draft, groups_above, growing, hierarchy, in_use, kept,
    marker, overlap, path, place, spec, upkeep,
};
use crate::counting::{self, Counting};
use crate::dtype::Overflow;
use crate::error::{Error, Result};
use crate::limits::{Dims, collect, collect_table, push, put};
use crate::metadata::{ArrayMeta, Dialect, Format, Map, Value, number_list, v3};
use crate::store::{Condition, SharedStore, StorageExt};
use std::collections::HashMap;

/// The maximum number of notes that are kept.
const NOTES: usize = 1000;

/// What is said of a node where a migration is to be made: a call that was killed behind its last step does not know that it is done.
const IS_WHOLE: &str = " (a node is there that no interrupted migration has left: what an earlier call has made of this source is whole)";

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
    progress: &'a mut OnProgress<'a>,
    /// Elsewhere, the documents as they were read before anything was copied, with the lengths that are copied of arrays that grow.
    read: HashMap<String, StoredDocument>,
    /// Whether the run is cut since then.
    watch: Option<CutWatch>,
    /// The shapes that arrays of `read` have in the source, where they are cut.
    uncut: HashMap<String, Vec<u64>>,
    /// In place, the lengths that consolidated metadata are told of arrays that grow.
    cuts: Cuts,
    /// In place, the documents of version 2 as they were converted.
    converted: Option<Converted<'a>>,
    /// Elsewhere, what tells this call from the same one of another process.
    by: String,
    /// Elsewhere, what the marker says of the source.
    state: String,
}

/// What a node becomes.
enum New {
    Group(Map),
    Array(Box<NewArray>),
}

struct NewArray {
    old: ArrayState,
    new: ArrayMeta,
    /// Why the chunks are encoded anew, if they are.
    recode: Option<Error>,
}

impl Store {
    /// Makes version 3 of the node at `path` with all below it: in `to`, or in place where that is `None`. Nothing is written unless
    /// every node has a form in version 3; the error names the node that has none. `to` holds nothing at that path, or what an
    /// interrupted migration of the same node left there, in which the same call begins anew, unless all nodes were made. Those it completes if the
    /// source is still as it was, as far as that is seen (`migrate/whole.rs`). In place the same call completes it.
    ///
    /// Chunks are linked where the stores can (so that no program may change them in place), unless `copy`. `progress` is told after each
    /// object how many are done of how many; its error ends the migration. In place, what another program changes meanwhile is not lost: that is an
    /// error of kind `Again`, and the same call completes the migration; while a series is open nothing is done (`in_use.rs`). Elsewhere, arrays of a
    /// run that goes on may be cut to what all have (`growing.rs`), and what another program removes meanwhile is an error of kind `Again`. Errors:
    /// `Exists`, `Argument` (one place is in the other), `Unsupported`, `Metadata`, and those of reading and writing.
    pub fn migrate(&self, path: &str, to: Option<(&Store, &str)>, copy: bool, progress: &mut OnProgress<'_>) -> Result<Migrated> {
        let from_path = path::normalize(path)?;
        let (to, to_path, in_place) = match to {
            Some((to, path)) => (to, path::normalize(path)?, false),
            None => (self, from_path.clone(), true),
        };
        to.check_writable()?;
        self.check_copyable()?;
        to.check_listable()?;
        if in_place {
            self.check_erasable()?;
        }
        let found = require(self, &from_path, NodeKind::None)?;
        self.settle(&from_path);
        if !in_place {
            path::check_new(&to_path)?;
            overlap::refuse((self, &from_path), (to, &to_path))?;
            draft::refuse(to)?;
        }
        let (d0, done) = (found.dialect == Dialect::D0, 0);
        let (report, read, uncut, watch, cuts, converted) = (Migrated::default(), HashMap::new(), HashMap::new(), None, Cuts::new(), None);
        let (from, by, state) = (&self.keeping_above(&from_path)?, place::new_call(), String::new());
        let mut job = Job {
            from,
            from_path,
            to,
            to_path,
            in_place,
            d0,
            copy,
            done,
            total: 0,
            report,
            progress,
            read,
            watch,
            uncut,
            cuts,
            converted,
            by,
            state,
        };
        job.run()?;
        Ok(job.report)
    }
}

impl Job<'_> {
    fn run(&mut self) -> Result<()> {
        let mut nodes = None;
        if !self.in_place {
            // What is refused makes nothing, not even a folder for the lock.
            nodes = self.read_marker()?.0.is_none().then(|| self.check()).transpose()?;
            upkeep::after_change(self.to, &groups_above::ensure(self.to, &self.to_path, Format::V3)?, None)?;
        }
        let _lock = document::lock_place(self.to, &self.to_path)?;
        if self.in_place {
            in_use::refuse(self.to, &self.to_path)?;
        }
        let (marker, condition) = self.read_marker()?;
        let begun = !self.in_place && marker.is_some();
        // What an interrupted run in place began with may be replaced by now.
        self.d0 |= marker.as_ref().is_some_and(|marker| marker.get("draft").and_then(Value::as_str) == Dialect::D0.draft());
        self.converted = (self.in_place && !self.d0).then(|| Converted::new(self.from, marker.as_ref())).transpose()?;
        let nodes = nodes.map_or_else(|| self.check(), Ok)?;
        if let Some(said) = marker.as_ref().filter(|_| begun)
            && lookup::find_bare(self.to, &self.to_path)?.is_some()
        {
            return self.end_whole(said, &nodes);
        }
        // Without erasing, the marker could not be taken away; nor would a second run find anything to complete.
        let marked = self.to.shared().capabilities().erasable;
        if !self.in_place && (marked || begun) {
            self.take((marker, condition))?;
        } else if marker.is_none() && marked {
            self.write_marker()?;
        }
        let made = self.nodes(&nodes, marked);
        // What another process does to the place meanwhile is the error to tell.
        self.check_ours((made.is_ok() && !self.in_place).then(|| self.keys_made(&nodes))).and(made)?;
        if self.in_place {
            self.to.flush()?;
            // That may have taken hours.
            in_use::refuse(self.to, &self.to_path)?;
            converted::erase_old(self.from, &nodes, self.converted.as_ref())?;
            if self.d0 {
                converted::erase_draft(self.from)?;
            }
        }
        self.end(&nodes, marked)
    }

    /// Makes all nodes, children first.
    fn nodes(&mut self, nodes: &[String], marked: bool) -> Result<()> {
        let mut consolidated = Vec::new();
        nodes.iter().rev().try_for_each(|node| self.node(node, &mut consolidated))?;
        self.to.flush()?;
        if marked && self.converted.as_ref().is_some_and(Converted::is_to_be_marked) {
            self.write_marker()?;
        }
        self.to.note_change();
        consolidated.iter().try_for_each(|group| Group::open(self.to, group)?.consolidate_cut(&mut |_| Ok(self.cuts.clone()), false))
    }

    /// Ends the migration: all documents are there. The marker goes last: until then the same call does what is left.
    fn end(&self, nodes: &[String], marked: bool) -> Result<()> {
        let there = if marked { " (all nodes are there: the same call completes it)" } else { " (all nodes are there)" };
        self.finish(nodes).map_err(|e| e.with_note(there))?;
        if marked { place::end_mark((self.to, &self.to_path), marker::MIGRATION) } else { Ok(()) }
    }

    /// Finds the nodes, parents before their children. Elsewhere all documents are read now: what is copied is of one moment of a run that goes on.
    fn read_nodes(&mut self) -> Result<Vec<String>> {
        if self.in_place {
            // A run that was killed while it published further steps has as many as before for readers that go by consolidated metadata.
            self.cuts = growing::read_nodes(self.from, &self.from_path, None)?.cuts;
            return Ok(transfer::nodes_below(self.from, &self.from_path)?.nodes);
        }
        let mut left_out = LeftOut::default();
        let read = growing::read_nodes(self.from, &self.from_path, Some(&mut left_out))?;
        self.report.notes.extend(left_out.notes().chain(read.notes).take(NOTES));
        let paths = collect(read.nodes.iter().map(|(path, _)| path.clone()))?;
        self.watch = Some(read.watch);
        self.read = collect_table(read.nodes.into_iter())?;
        for (path, cuts) in read.cuts {
            if let Some(found) = self.read.get_mut(&path)
                && let Some(shape) = shape_of(&found.document)
            {
                found.document.insert("shape".into(), number_list(&growing::cut_shape(&shape, &cuts)));
                put(&mut self.uncut, path, shape)?;
            }
        }
        Ok(paths)
    }

    /// Brings consolidated metadata above up to date, and makes all durable.
    fn finish(&self, nodes: &[String]) -> Result<()> {
        if !self.to_path.is_empty() {
            let mut above = Vec::new();
            groups_above::restore(self.to, &self.to_path, Format::V3, &mut above)?;
            let made = nodes.iter().map(|node| (self.target(node), self.told(node)));
            let made: Vec<(String, Lengths)> = collect(above.into_iter().map(|group| (group, Lengths::ALL)).chain(made))?;
            let made: Vec<_> = collect(made.iter().map(|(node, told)| (node.as_str(), *told)))?;
            upkeep::after_changes(self.to, &made, None)?;
        }
        self.to.note_change();
        self.to.flush()
    }

    /// The lengths of a node that consolidated metadata are told; none where nothing was read to be copied (`end_whole`): a series may publish some.
    fn told(&self, node: &str) -> Lengths {
        if !self.in_place && self.read.is_empty() {
            return Lengths::NONE;
        }
        self.cuts.get(node).into_iter().flatten().fold(Lengths::ALL, |told, (dim, _)| told.without(*dim))
    }

    /// The path that a node gets.
    fn target(&self, node: &str) -> String {
        transfer::moved_path(node, &self.from_path, &self.to_path)
    }

    /// What an interrupted run left, and the condition on which that is replaced. A place that holds anything else is refused.
    fn read_marker(&self) -> Result<(Option<Map>, Condition)> {
        let (marker, condition) = place::read(self.to, &self.to_path, marker::MIGRATION)?;
        marker.as_ref().map_or(Ok(()), |marker| marker::check_from(marker, (&self.to_path, marker::MIGRATION), &self.source()))?;
        if marker.is_none()
            && !self.in_place
            && let Err(e) = place::refuse_files((self.to, &self.to_path), "migrate")
        {
            // An earlier version of the library may have been killed ahead of that. The error is the one to tell.
            drop(upkeep::add_missed(self.to, &self.to_path));
            let is_node = lookup::is_there(self.to, &self.to_path).unwrap_or_default();
            return Err(if is_node { e.with_note(IS_WHOLE) } else { e });
        }
        Ok((marker, condition))
    }

    /// Returns the source of the migration as the marker names it.
    fn source(&self) -> String {
        if self.in_place { marker::HERE.into() } else { format!("{} {}", self.from.shared().describe(), self.from_path) }
    }

    /// Checks that the place is still as it was marked.
    fn check_ours(&self, made: Option<usize>) -> Result<()> {
        let by = (!self.in_place).then_some(self.by.as_str());
        place::check_ours((self.to, &self.to_path), (marker::MIGRATION, &self.source(), by), made)
    }

    fn write_marker(&mut self) -> Result<()> {
        let mut members = vec![("from", self.source().into()), ("draft", self.draft().into())];
        if !self.in_place {
            members.extend([(place::WHOLE, self.state.as_str().into()), (place::BY, self.by.as_str().into())]);
        }
        if let Some(converted) = self.converted.as_mut() {
            members.push((converted::MEMBER, converted.marked()?));
        }
        marker::put(self.to, &self.to_path, marker::MIGRATION, &members)?;
        self.to.flush()
    }

    /// Finds the nodes, everything that can be wrong, before anything is written, and how many objects there are.
    fn check(&mut self) -> Result<Vec<String>> {
        let nodes = self.read_nodes()?;
        let (from, in_place, mut images) = (self.from, self.in_place, OtherImages::default());
        for node in &nodes {
            self.note_converted(node)?;
            let new = self.convert(node).map_err(|e| at_node(e, node))?;
            self.total += 1;
            match new {
                Some(New::Array(array)) => {
                    self.note(node, &array);
                    let mut total = 0;
                    let store = if array.recode.is_some() { &array.old.chunk_store } else { from.shared() };
                    self.each_chunk(store, &array, &mut |_, _| {
                        total += 1;
                        Ok(())
                    })?;
                    self.total += total;
                }
                Some(New::Group(document)) => images.see(node, Format::V3, &document),
                None => {}
            }
        }
        self.report.notes.splice(0..0, images.note());
        self.report.notes.truncate(NOTES);
        if !in_place {
            self.note_state(&nodes)?;
        } else if self.d0 {
            draft::check_place(&self.from_path, &nodes)?;
        }
        Ok(nodes)
    }

    fn note(&mut self, node: &str, array: &NewArray) {
        let mut notes = Vec::new();
        if !array.old.meta.fill.defined {
            notes.push(format!("{}: {}", path::display(node), spec::undefined_fill(&array.old.meta)));
        }
        if let Some(why) = &array.recode {
            let field = why.field().map(|f| format!(" ({f})")).unwrap_or_default();
            notes.push(format!("{}: encoded anew: {}{field}", path::display(node), counting::render(why.message(), Counting::C)));
        }
        let room = NOTES.saturating_sub(self.report.notes.len());
        self.report.notes.extend(notes.into_iter().take(room));
    }

    fn node(&mut self, node: &str, consolidated: &mut Vec<String>) -> Result<()> {
        let target = self.target(node);
        if consolidate::is_wanted(self.from, node, self.d0)? {
            push(consolidated, target.clone())?;
        }
        self.note_converted(node)?;
        let Some(new) = self.convert(node).map_err(|e| at_node(e, node))? else { return self.step() };
        let gone = match &new {
            New::Array(array) => self.chunks(node, &target, array).map_err(|e| at_node(e, node))?,
            New::Group(_) => Vec::new(),
        };
        self.check_copied(node, &new, &gone)?;
        let document = match new {
            New::Group(document) => document,
            New::Array(array) => array.new.document,
        };
        // What the document speaks of is durable before it is there.
        if target == self.to_path {
            self.watch.as_ref().map_or(Ok(()), CutWatch::check)?;
            self.to.flush()?;
            if self.in_place { self.check_ours(None)? } else { self.say_whole()? }
        }
        let key = path::join(&target, v3::DOCUMENT);
        if self.in_place {
            // Its name alone would hide the document that is there.
            self.to.shared().sync_first(&key)?;
        }
        // A folder that does not tell upper case from lower may have another node by that name by now.
        if !self.in_place && self.to.shared().files().is_some() {
            hierarchy::publish_new(self.to, &target, v3::DOCUMENT, &document)?;
        } else {
            document::publish(self.to, &key, &document, Condition::None)?;
        }
        self.report.nodes += 1;
        self.step()
    }

    /// Checks, elsewhere, that what was copied of a node was all there.
    fn check_copied(&self, node: &str, new: &New, gone: &[String]) -> Result<()> {
        if !self.read.contains_key(node) {
            return Ok(());
        }
        let nothing = Map::new();
        let then = match new {
            New::Group(document) => CopiedNode::Group(v3::attributes(document).unwrap_or(&nothing)),
            New::Array(array) => {
                let meta = &array.old.meta;
                let mark = self.read.get(node).map_or(&[][..], |found| &found.mark);
                CopiedNode::Array { text: &[], document: &meta.document, mark, shape: &meta.shape, gone }
            }
        };
        kept::check_copied(self.from, node, None, then)
    }

    /// Keeps what a node is converted from, where that is erased later.
    fn note_converted(&mut self, node: &str) -> Result<()> {
        self.converted.as_mut().map_or(Ok(()), |converted| converted.note(node))
    }

    fn step(&mut self) -> Result<()> {
        self.done += 1;
        (self.progress)(self.done, self.total.max(self.done))
    }

    /// Calls `each` with the chunks that an array has. In place, links to nothing stay where they are unless chunks get other keys or bytes.
    fn each_chunk(&self, store: &SharedStore, array: &NewArray, each: &mut dyn FnMut(&str, &Dims) -> Result<()>) -> Result<()> {
        let stay = self.in_place && !self.d0 && array.recode.is_none() && array.old.chunks.1 == array.new.keys;
        if stay { each_chunk(store, &array.old, each) } else { each_chunk_to_copy(store, &array.old, each) }
    }

    /// Brings the chunks of an array to their new keys. Gives keys of those that are copied as they are, and were gone by then.
    fn chunks(&mut self, node: &str, target: &str, array: &NewArray) -> Result<Vec<String>> {
        if array.recode.is_some() {
            return self.recode(node, target, array).map(|()| Vec::new());
        }
        if !self.in_place {
            cut::copy_marker((self.from, node), (self.to, target))?;
        }
        let (prefix, mut keys) = (path::prefix(target), Vec::new());
        let mut stay = 0;
        self.each_chunk(self.from.shared(), array, &mut |key, index| {
            let mut to_key = prefix.clone();
            array.new.keys.push(index.iter().copied(), &mut to_key)?;
            if !(self.in_place && key == to_key) {
                push(&mut keys, (key.to_string(), to_key))?;
            } else {
                stay += 1;
            }
            Ok(())
        })?;
        self.done += stay;
        let (before, total, moves) = (self.done, self.total, Moves::default());
        let (way, progress) = (Way { from: self.from, to: self.to, link: !self.copy }, &mut self.progress);
        way.move_all(&keys, &moves, &mut |done| progress(before + done, total.max(before + done)))?;
        let gone = moves.gone_below("")?;
        self.report.linked += moves.linked.into_inner();
        self.report.copied += moves.copied.into_inner();
        self.done += keys.len() as u64;
        if let Some(uncut) = self.uncut.get(node)
            && array.old.bound.is_ok()
        {
            // Chunks at the edge have steps behind it, which would show when the array grows.
            let cut = ArrayState::new(self.to, target, array.new.clone(), &Handling::default())?.bound(target)?;
            boundary::erase_outside(&cut, uncut, &mut || Ok(()), &mut |_, _| Ok(()))?;
        }
        Ok(gone)
    }

    /// Reads and writes the elements of each chunk.
    fn recode(&mut self, node: &str, target: &str, array: &NewArray) -> Result<()> {
        // Of chunks that hold nothing but the fill value by now, none takes the place of what an interrupted run encoded. Where that run made the new
        // document, it may have begun to erase the old chunks.
        let goes_on = array.old.meta.format == Format::V2 && self.converted.as_ref().is_some_and(Converted::goes_on);
        let document = path::join(target, v3::DOCUMENT);
        if goes_on && self.to.shared().open(&document).map_err(|e| e.at_key(&document))?.is_none() {
            for key in create_array::leftovers(self.to.shared(), target, &array.new, false)?.0 {
                self.to.shared().erase(&key).map_err(|e| e.at_key(key))?;
            }
        }
        let source = array.old.bound(node)?;
        let dest = ArrayState::new(self.to, target, array.new.clone(), &Handling::default())?.bound(target)?;
        let elements = Elements::new((&array.old, &source), &dest, true, (0, Overflow::Error))?;
        let (before, total, progress) = (self.done, self.total, &mut self.progress);
        elements.run(&mut |done| progress(before + done, total.max(before + done)))?;
        let chunks = elements.chunks();
        self.report.recoded += chunks;
        self.done += chunks;
        Ok(())
    }
}
