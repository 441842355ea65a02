//! The nodes of a copy: several at the same time, in stores where each request takes its time, children before the groups that they are in.

use super::super::create_array::write_documents;
use super::super::kept::{self, CopiedNode};
use super::super::state::{ArrayState, Handling};
use super::super::stored_chunks::each_chunk_to_copy;
use super::super::transfer::{Elements, Moves, Way, at_node, moved_path};
use super::super::{cut, hierarchy, path, together};
use super::{At, Copier, Job, Last, New, NewArray, RechunkReport, consolidate_as};
use crate::engine::rechunk::DEFAULT_MEMORY;
use crate::engine::tasks::{self, Running};
use crate::error::{Error, Result};
use crate::limits::{collect, push};
use crate::metadata::{Format, Map, v2, v3};
use crate::sort::sort_by;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most nodes that are begun at the same time, and the most objects that these have.
const NODES: usize = 1024;
const OBJECTS: u64 = 1 << 16;
/// The chunks that are written at the same time, about, and the least boxes, which have many.
const CHUNKS: u64 = 256;
const BOXES: u64 = 4;
/// The most arrays that share the memory.
const SHARES: u64 = 32;

/// A node that is being copied.
struct Begun<'a> {
    node: &'a str,
    new: &'a New,
    target: String,
    /// The chunks of an array that keep their bytes, and their new keys.
    keys: Vec<(String, String)>,
    /// The elements of another one.
    elements: Option<Elements>,
    /// Keys of chunks that were gone when they were to be copied.
    gone: Vec<String>,
}

impl New {
    /// Whether functions of the program that it uses may run anywhere.
    fn any_thread(&self) -> bool {
        match self {
            New::Group(..) => true,
            New::Array(array) => array.any_thread,
        }
    }
}

/// An error that names the node, if it names nothing yet.
fn naming(e: Error, node: &str) -> Error {
    if e.key().is_some() { e } else { at_node(e, node) }
}

impl Job<'_> {
    /// Makes all nodes at a place of a store, children first.
    pub(super) fn nodes(&mut self, nodes: &[(String, New)], last: Last<'_>, at: At<'_>) -> Result<()> {
        let notes = std::mem::take(&mut self.report.notes);
        (self.done, self.report) = (0, RechunkReport { notes, ..RechunkReport::default() });
        let mut order: Vec<&(String, New)> = collect(nodes.iter().rev())?;
        let depth = |(node, new): &(String, New)| (matches!(new, New::Group(..)), Reverse(path::segments(node).count()));
        if together::takes_many((self.copier.way.from, at.0)) {
            // All arrays, then the groups of each level: none of those that are made at the same time is in another one.
            sort_by(&mut order, |a, b| {
                let (a, b) = (depth(a), depth(b));
                if a.0 && b.0 { a.cmp(&b) } else { a.0.cmp(&b.0) }
            });
        }
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (some, others) = rest.split_at(self.copier.at_once(rest, at));
            self.some(some, last, at)?;
            rest = others;
        }
        at.0.flush()?;
        at.0.note_change();
        consolidate_as((self.copier.way.from, &self.copier.from_path), nodes, at)
    }

    /// Makes some nodes, none of which is in another one.
    fn some(&mut self, nodes: &[&(String, New)], (watch, ours): Last<'_>, at: At<'_>) -> Result<()> {
        let (copier, stores) = (&self.copier, (self.copier.way.from, at.0));
        let (any_thread, is_shared) = (nodes.iter().all(|(_, new)| new.any_thread()), nodes.len() > 1);
        let begun = |(node, new)| {
            let target = moved_path(node, &copier.from_path, at.1);
            Begun { node, new, target, keys: Vec::new(), elements: None, gone: Vec::new() }
        };
        let mut nodes: Vec<Begun<'_>> = collect(nodes.iter().map(|(node, new)| begun((node.as_str(), new))))?;
        together::for_each_in(stores, any_thread, &mut nodes, |n| n.begin(copier, is_shared, at).map_err(|e| naming(e, n.node)))?;
        self.move_chunks(&mut nodes, at)?;
        self.copy_elements(&mut nodes, at)?;
        let from = stores.0;
        together::for_each_in(stores, any_thread, &mut nodes, |n| n.check_copied(from).map_err(|e| naming(e, n.node)))?;
        // What the document speaks of is durable before it is there.
        let is_last = nodes.iter().any(|n| n.target == at.1);
        if is_last {
            watch.check()?;
            at.0.flush()?;
        }
        // Nothing ends the copy once its own document is there.
        for _ in &nodes {
            self.done += 1;
            (self.progress)(self.done, self.total.max(self.done))?;
        }
        if is_last {
            ours(&[])?;
        }
        let publish = |n: &mut Begun<'_>| n.publish(at).map_err(|e| naming(e, n.node));
        together::for_each_in(stores, any_thread, &mut nodes, publish)?;
        self.report.nodes += nodes.len() as u64;
        Ok(())
    }

    /// Brings the chunks that keep their bytes to their new keys.
    fn move_chunks(&mut self, nodes: &mut [Begun<'_>], at: At<'_>) -> Result<()> {
        let mut all = Vec::new();
        for node in nodes.iter_mut() {
            if all.is_empty() {
                all = std::mem::take(&mut node.keys);
            } else {
                std::mem::take(&mut node.keys).into_iter().try_for_each(|keys| push(&mut all, keys))?;
            }
        }
        if all.is_empty() {
            return Ok(());
        }
        let (before, total, moves, progress) = (self.done, self.total, Moves::default(), &mut self.progress);
        let way = Way { to: at.0, ..self.copier.way };
        way.move_all(&all, &moves, &mut |done| progress(before + done, total.max(before + done)))?;
        nodes.iter_mut().try_for_each(|node| moves.gone_below(node.node).map(|gone| node.gone = gone))?;
        self.report.linked += moves.linked.into_inner();
        self.report.copied += moves.copied.into_inner();
        self.done += all.len() as u64;
        Ok(())
    }

    /// Copies the elements of the other arrays: box by box, those of one array before those of the next, so that much is done when a part of the time
    /// has passed.
    fn copy_elements(&mut self, nodes: &mut [Begun<'_>], at: At<'_>) -> Result<()> {
        let (before, total, progress) = (self.done, self.total, &mut self.progress);
        let mut tell = |done: u64| progress(before + done, total.max(before + done));
        let mut all: Vec<(&str, Elements)> = Vec::new();
        for node in nodes {
            node.elements.take().map_or(Ok(()), |elements| push(&mut all, (node.node, elements)))?;
        }
        let chunks: u64 = all.iter().map(|(_, elements)| elements.chunks()).sum();
        if let [(node, elements)] = &all[..] {
            elements.run(&mut tell).map_err(|e| naming(e, node))?;
        } else {
            let mut boxes: Vec<(usize, u64)> = Vec::new();
            for (i, (_, elements)) in all.iter().enumerate() {
                (0..elements.boxes()).try_for_each(|number| push(&mut boxes, (i, number)))?;
            }
            let done = AtomicU64::new(0);
            let task = |i: u64, running: &Running<'_>| {
                let (array, number) = boxes[i as usize];
                let (node, elements) = &all[array];
                let copied = elements.copy(number, running).map_err(|e| naming(e, node))?;
                done.fetch_add(copied, Ordering::Relaxed);
                Ok(())
            };
            let (pool, most) = self.copier.way.from.threads_with(at.0, true);
            let each = chunks / (boxes.len() as u64).max(1);
            let width = most.min((CHUNKS / each.max(1)).max(BOXES) as usize).min(all.iter().map(|(_, elements)| elements.width()).sum());
            tasks::run(&pool, boxes.len() as u64, width, &task, &mut |_| tell(done.load(Ordering::Relaxed)))?;
        }
        self.report.encoded += chunks;
        self.done += chunks;
        Ok(())
    }
}

impl Copier<'_> {
    /// Counts what is copied: the nodes, and the objects of each array, with the memory that these take.
    pub(super) fn count(&self, nodes: &mut [(String, New)]) -> Result<u64> {
        for (node, new) in nodes.iter_mut() {
            if let New::Array(array) = new {
                array.any_thread = self.any_thread(node, array);
            }
        }
        let any_thread = nodes.iter().all(|(_, new)| new.any_thread());
        let count = |(node, new): &mut (String, New)| match new {
            New::Array(array) => self.count_array(node, array).map_err(|e| at_node(e, node)),
            New::Group(..) => Ok(()),
        };
        together::for_each_in((self.way.from, self.way.to), any_thread, nodes, count)?;
        let objects = |new: &New| if let New::Array(array) = new { array.objects } else { 0 };
        Ok(nodes.iter().fold(nodes.len() as u64, |total, (_, new)| total.saturating_add(objects(new))))
    }

    /// Whether functions of the program that an array or its copy uses may run anywhere.
    fn any_thread(&self, node: &str, array: &NewArray) -> bool {
        let may = |state: &ArrayState| state.bound.as_ref().is_ok_and(|bound| bound.any_thread);
        let target = moved_path(node, &self.from_path, &self.to_path);
        let copy = || ArrayState::new(self.way.to, &target, array.new.clone(), &Handling::default());
        may(&array.old) && (array.same_bytes || copy().is_ok_and(|copy| may(&copy)))
    }

    fn count_array(&self, node: &str, array: &mut NewArray) -> Result<()> {
        if !array.same_bytes {
            let elements = self.elements((node, array), self.options.memory, (self.way.to, &self.to_path))?;
            (array.objects, array.memory) = (elements.chunks(), elements.enough_memory());
            return Ok(());
        }
        let objects = &mut array.objects;
        each_chunk_to_copy(&array.old.chunk_store, &array.old, &mut |_, _| {
            *objects += 1;
            Ok(())
        })
    }

    fn elements(&self, (node, array): (&str, &NewArray), memory: u64, (to, place): At<'_>) -> Result<Elements> {
        let target = moved_path(node, &self.from_path, place);
        let source = array.old.bound(node)?;
        let dest = ArrayState::new(to, &target, array.new.clone(), &Handling::default())?.bound(&target)?;
        let elements = Elements::new((&array.old, &source), &dest, array.same_fill, (memory, self.options.overflow))?;
        Ok(elements.meaning(array.meant))
    }

    /// The memory that an array gets which is copied together with others.
    fn share(&self, array: &NewArray) -> u64 {
        if array.same_bytes { 0 } else { array.memory.max(self.memory() / SHARES) }
    }

    fn memory(&self) -> u64 {
        if self.options.memory == 0 { DEFAULT_MEMORY } else { self.options.memory }
    }

    /// How many of the next nodes are made at the same time: arrays that have room in the memory, or groups of one level.
    fn at_once(&self, nodes: &[&(String, New)], at: At<'_>) -> usize {
        if !together::takes_many((self.way.from, at.0)) {
            return 1;
        }
        let level = |(node, new): &(String, New)| if matches!(new, New::Group(..)) { Some(path::segments(node).count()) } else { None };
        let (first, mut memory, mut objects) = (level(nodes[0]), 0u64, 0u64);
        let fits = |node: &&&(String, New)| {
            if let New::Array(array) = &node.1 {
                memory = memory.saturating_add(self.share(array));
                objects = objects.saturating_add(array.objects);
            }
            level(node) == first && node.1.any_thread() && memory <= self.memory() && objects <= OBJECTS
        };
        nodes.iter().take(NODES).take_while(fits).count().max(1)
    }
}

impl Begun<'_> {
    /// Finds what is to be copied of an array, of which there are others at the same time if it `is_shared`.
    fn begin(&mut self, copier: &Copier<'_>, is_shared: bool, at: At<'_>) -> Result<()> {
        let New::Array(array) = self.new else { return Ok(()) };
        if !array.same_bytes {
            let memory = if is_shared { copier.share(array) } else { copier.options.memory };
            self.elements = Some(copier.elements((self.node, array), memory, at)?);
            return Ok(());
        }
        cut::copy_marker((copier.way.from, self.node), (at.0, &self.target))?;
        let (prefix, keys) = (path::prefix(&self.target), &mut self.keys);
        each_chunk_to_copy(&array.old.chunk_store, &array.old, &mut |key, index| {
            let mut to_key = prefix.clone();
            array.new.keys.push(index.iter().copied(), &mut to_key)?;
            push(keys, (key.to_string(), to_key))
        })
    }

    /// Checks that what was copied of the node was all there.
    fn check_copied(&self, from: &super::Store) -> Result<()> {
        let nothing = Map::new();
        let then = match self.new {
            New::Group(Format::V3, document) => CopiedNode::Group(v3::attributes(document).unwrap_or(&nothing)),
            New::Group(Format::V2, attributes) => CopiedNode::Group(attributes),
            New::Array(array) => {
                let meta = &array.old.meta;
                CopiedNode::Array { text: &[], document: &meta.document, mark: &array.mark, shape: &meta.shape, gone: &self.gone }
            }
        };
        kept::check_copied(from, self.node, None, then)
    }

    fn publish(&self, (to, _): At<'_>) -> Result<()> {
        match self.new {
            New::Array(array) => write_documents(to, &self.target, &array.new, &array.attributes),
            New::Group(Format::V3, document) => hierarchy::publish_new(to, &self.target, v3::DOCUMENT, document),
            New::Group(Format::V2, attributes) => {
                if !attributes.is_empty() {
                    hierarchy::publish_attributes(to, &self.target, false, attributes)?;
                }
                hierarchy::publish_new(to, &self.target, v2::GROUP, &v2::write_group())
            }
        }
    }
}
