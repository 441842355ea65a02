//! What copying and migrating share: the nodes of a hierarchy, the stored chunks of an array, and the way of both to another place, as
//! bytes or as elements.

use super::dead_links::DeadLinks;
use super::left_out::LeftOut;
use super::lookup;
use super::state::ArrayState;
use super::stored_chunks::each_chunk_to_copy;
use super::trail::Trail;
use super::{NodeKind, Store, draft, path, together};
use crate::dtype::{DataType, Overflow};
use crate::engine::pool::Pool;
use crate::engine::rechunk::{self, Rechunk};
use crate::engine::{BoundArray, tasks};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{self, Dims, collect, extend, push};
use crate::metadata::{Dialect, Format, v2, v3};
use crate::sort::sort_by;
use crate::store::{ByteRange, Condition, Object, StorageExt, start_and_wait};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Objects up to this size are read at once, larger ones piece by piece.
const PIECE: u64 = 8 << 20;
/// Objects up to this size are read by one request once another program has replaced them while they were read piece by piece.
const AT_ONCE: u64 = 256 << 20;
/// How often an object is read that another program replaces meanwhile.
pub(super) const READINGS: usize = 5;
/// Threads that wait for a store with latency, most of the time.
const WAITING: usize = 32;

/// Receives the progress of a long task: how many objects are done of how many. Its error ends the task.
pub(super) type OnProgress<'a> = dyn FnMut(u64, u64) -> Result<()> + 'a;

/// The paths of nodes, parents before their children.
pub(super) struct NodesBelow {
    pub nodes: Vec<String>,
    /// Those where a link leads back to a group above, which are not among the others.
    pub links_back: Vec<String>,
}

/// The node at `path` and those below it, as far as they are found.
pub(super) fn at_and_below(store: &Store, path: &str) -> Vec<String> {
    nodes_below(store, path).map_or_else(|_| vec![path.to_string()], |below| below.nodes)
}

/// Whether there is a document of a node below a place, which has none itself; there may be one where keys cannot be listed.
pub(super) fn has_node_below(store: &Store, path: &str) -> Result<bool> {
    if !store.shared().capabilities().listable {
        return Ok(true);
    }
    let (prefix, mut found) = (path::prefix(path), false);
    let listed = store.shared().list(&prefix, &mut |key| {
        found = key.rsplit_once('/').is_some_and(|(_, name)| [v3::DOCUMENT, v2::ARRAY, v2::GROUP].contains(&name));
        if found { bail!(Cancelled, "one is enough") } else { Ok(()) }
    });
    if found { Ok(true) } else { listed.map(|()| false) }
}

/// The node at `root` and all below it.
pub(super) fn nodes_below(store: &Store, root: &str) -> Result<NodesBelow> {
    nodes(store, root, None, false)
}

/// As [`nodes_below`] for copies: links to nothing in the place of documents are an error. What they lead to may be elsewhere, as files that git-annex
/// has not fetched; a copy would be without these nodes or attributes for good. `others` takes what else is in the folders of nodes, but in a hierarchy of
/// the first draft.
pub(super) fn nodes_to_copy(store: &Store, root: &str, others: Option<&mut LeftOut>) -> Result<NodesBelow> {
    nodes(store, root, others, store.shared().files().is_some())
}

fn nodes(store: &Store, root: &str, others: Option<&mut LeftOut>, with_links: bool) -> Result<NodesBelow> {
    let others = if others.is_some() && draft::entry(store)?.is_none() { others } else { None };
    let (mut nodes, mut links_back, mut left_out, mut dead) = (Vec::new(), Vec::new(), Vec::new(), DeadLinks::default());
    let mut todo = vec![(root.to_string(), Trail::default())];
    while !todo.is_empty() {
        let (paths, trails): (Vec<_>, Vec<_>) = todo.split_off(todo.len().saturating_sub(lookup::at_once(store))).into_iter().unzip();
        let (mut places, found) = (Vec::new(), lookup::find_many(store, &paths, false, store.options().format, None)?);
        for ((path, above), found) in paths.into_iter().zip(trails).zip(found) {
            let found = found?;
            let format = found.as_ref().map(|found| found.format);
            // Groups of the first draft have no folders of their own.
            let below = match found {
                Some(found) if found.kind == NodeKind::Group && found.dialect == Dialect::D0 => Below::Nodes(above, true),
                Some(found) if found.kind == NodeKind::Group => match above.to(store, &path, &found.key) {
                    Some(trail) => Below::Nodes(trail, false),
                    None => {
                        push(&mut links_back, path)?;
                        continue;
                    }
                },
                // What cannot be understood or listed is told by what copies the array.
                Some(found) if others.is_some() => Below::Chunks(LeftOut::array(store, &path, &found).unwrap_or_default().map(Box::new)),
                Some(_) => Below::Chunks(None),
                None => Below::Unknown,
            };
            push(
                &mut places,
                LookedAt { path, format, below, names: Vec::new(), left_out: LeftOut::default(), dead: DeadLinks::default() },
            )?;
        }
        let any_thread = places.iter().all(|place| !matches!(&place.below, Below::Chunks(Some(array)) if array.has_registered_keys()));
        together::for_each(store, any_thread, &mut places, |place| place.list(store, others.is_some(), with_links))?;
        for LookedAt { path, below, names, left_out: beside, dead: links, .. } in places {
            dead.add_all(links);
            if let Below::Nodes(trail, _) = &below {
                extend(&mut todo, names.iter().rev().map(|name| (path::join(&path, name), trail.clone())))?;
            }
            if beside.holds_any() {
                push(&mut left_out, (path.clone(), beside))?;
            }
            if !matches!(below, Below::Unknown) {
                push(&mut nodes, path)?;
            }
        }
    }
    dead.refuse_documents()?;
    // Each is followed by those below it.
    sort_by(&mut nodes, |a, b| a.split('/').cmp(b.split('/')));
    sort_by(&mut left_out, |a, b| a.0.split('/').cmp(b.0.split('/')));
    if let Some(others) = others {
        left_out.into_iter().for_each(|(_, beside)| others.add_all(beside));
    }
    Ok(NodesBelow { nodes, links_back })
}

/// What may be below a place.
enum Below {
    /// Nodes, by the way to there; whether they are of the first draft.
    Nodes(Trail, bool),
    /// Chunks of an array, which is there if what is beside them is asked for.
    Chunks(Option<Box<ArrayState>>),
    /// No node is there.
    Unknown,
}

/// A place of a hierarchy that is looked at.
struct LookedAt {
    path: String,
    /// That of the node.
    format: Option<Format>,
    below: Below,
    /// Under which nodes may be below it.
    names: Vec<String>,
    left_out: LeftOut,
    /// In the place of documents.
    dead: DeadLinks,
}

impl LookedAt {
    /// Lists what is there, `with_others` that are no part of Zarr, and `with_links` to nothing in the place of documents.
    fn list(&mut self, store: &Store, with_others: bool, with_links: bool) -> Result<()> {
        let (prefix, sees) = (path::prefix(&self.path), with_links && self.format != Some(Format::V3));
        let listed = if sees { Some(self.dead.see_documents(store, &self.path, self.format)?) } else { None };
        match &self.below {
            Below::Nodes(_, is_d0) => {
                if with_others {
                    let listing = listed.map_or_else(|| store.shared().list_dir(&prefix), Ok)?;
                    self.left_out.see_group(&self.path, &listing);
                    self.names = listing.prefixes;
                } else {
                    self.names = draft::names_below(store, &self.path)?;
                }
                if *is_d0 && self.path.is_empty() && draft::is_consolidated_only(store)? {
                    self.names.retain(|name| name != draft::CONSOLIDATED_GROUP);
                }
            }
            Below::Chunks(Some(array)) => drop(self.left_out.see_array(store, array, listed.map(|listing| (prefix, listing)))),
            Below::Unknown if with_others => self.left_out.see_folder(store, &self.path),
            Below::Chunks(None) | Below::Unknown => {}
        }
        Ok(())
    }
}

/// The path below `to_root` of the node that is at `node`, below `root`.
pub(super) fn moved_path(node: &str, root: &str, to_root: &str) -> String {
    let name = if node == root { "" } else { path::relative(root, node) };
    if name.is_empty() { to_root.to_string() } else { path::join(to_root, name) }
}

/// An error that names the node.
pub(super) fn at_node(e: Error, node: &str) -> Error {
    e.at_key(path::display(node))
}

/// What became of objects.
#[derive(Default)]
pub(super) struct Moves {
    /// Got a second name.
    pub linked: AtomicU64,
    /// Were copied.
    pub copied: AtomicU64,
    /// The keys whose objects were gone by then.
    gone: Mutex<Vec<String>>,
    /// Held while an object of up to `AT_ONCE` bytes is in memory.
    at_once: Mutex<()>,
}

/// The most keys of a node whose objects were gone that are looked at again.
const GONE: usize = 1000;

impl Moves {
    fn note_gone(&self, key: &str) -> Result<()> {
        push(&mut self.gone.lock().unwrap_or_else(PoisonError::into_inner), key.to_string())
    }

    /// How many objects were gone when they were to be copied.
    pub fn gone(&self) -> usize {
        self.gone.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Some of the keys below a node whose objects were listed, and were gone when they were to be copied.
    pub fn gone_below(&self, node: &str) -> Result<Vec<String>> {
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        collect(gone.iter().filter(|key| path::is_within(key, node)).take(GONE).cloned())
    }
}

/// From where to where objects go.
#[derive(Clone, Copy)]
pub(super) struct Way<'a> {
    pub from: &'a Store,
    pub to: &'a Store,
    /// By hard links, where that is possible.
    pub link: bool,
}

impl Store {
    /// As many threads as this store and another one keep busy; the caller's alone where only threads inside of a call of the program's
    /// may use them, or the arrays in them that are decoded: not `any_thread`.
    pub fn threads_with(&self, other: &Store, any_thread: bool) -> (Arc<Pool>, usize) {
        let (pool, stores) = (&self.context().pool, [self, other]);
        if !any_thread || stores.iter().any(|store| !store.shared().any_thread()) {
            return (Pool::new(1), 1);
        }
        let latency = stores.iter().any(|store| store.shared().capabilities().latency);
        if latency && pool.threads() < WAITING { (Pool::new(WAITING), WAITING) } else { (pool.clone(), pool.threads()) }
    }
}

/// The error of an object that another program replaced each time that it was read.
fn replaced_meanwhile(key: &str) -> Error {
    err!(Again, "the object was replaced {READINGS} times while it was copied: copy again what is there now").at_key(key)
}

impl Way<'_> {
    /// Brings objects to the keys beside theirs, several at a time. `told` gets the number of those that are done.
    pub fn move_all(&self, keys: &[(String, String)], moves: &Moves, told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let task = |i: u64, _: &tasks::Running<'_>| {
            let (key, to_key) = &keys[i as usize];
            self.move_object(key, to_key, moves)
        };
        let (pool, width) = self.threads();
        tasks::run(&pool, keys.len() as u64, width, &task, told)
    }

    /// The threads that its two stores keep busy.
    pub fn threads(&self) -> (Arc<Pool>, usize) {
        self.to.threads_with(self.from, true)
    }

    /// Brings one object to another key. One that another program erased meanwhile is missing in the new place, too, and noted.
    pub fn move_object(&self, key: &str, to_key: &str, moves: &Moves) -> Result<()> {
        let file = if self.link { self.from.shared().file(key) } else { None };
        if let Some(file) = file
            && self.to.shared().link(to_key, &file, true).map_err(|e| e.at_key(to_key))?
        {
            moves.linked.fetch_add(1, Ordering::Relaxed);
            return Ok(());
        }
        for reading in 0..READINGS {
            let Some(object) = self.from.shared().open(key).map_err(|e| e.at_key(key))? else {
                return moves.note_gone(key);
            };
            let copied = match reading > 0 && object.len().map_err(|e| e.at_key(key))? <= AT_ONCE {
                true => {
                    let _one = moves.at_once.lock().unwrap_or_else(PoisonError::into_inner);
                    self.copy_at_once(key, to_key)
                }
                false => self.copy_object(&object, key, to_key),
            };
            match copied {
                Err(e) if self.is_replaced(&e, &object) => {}
                copied => {
                    return copied.inspect(|()| {
                        moves.copied.fetch_add(1, Ordering::Relaxed);
                    });
                }
            }
        }
        Err(replaced_meanwhile(key))
    }

    /// Whether an object could not be read because another program has replaced it: a folder still has the one that was opened. The other
    /// place may refuse with an error of the same kind.
    fn is_replaced(&self, e: &Error, object: &Object) -> bool {
        let from = self.from.shared();
        let may_be = matches!(e.kind(), ErrorKind::Conflict | ErrorKind::Limit) && from.files().is_none() && !from.capabilities().archive;
        may_be && object.still_current().is_ok_and(|is_current| !is_current)
    }

    fn copy_at_once(&self, key: &str, to_key: &str) -> Result<()> {
        // An answer that does not tell its length may have been cut.
        let whole = ByteRange::Whole { most: AT_ONCE, untold: 0 };
        let read = start_and_wait(&**self.from.shared(), key, &[whole], None).map_err(|e| e.at_key(key))?;
        let Some(bytes) = read.and_then(|fetched| fetched.parts.into_iter().next()) else {
            return Err(err!(Conflict, "the object was erased while it was read").at_key(key));
        };
        self.to.shared().put(to_key, &[&bytes], Condition::None).map_err(|e| e.at_key(to_key))
    }

    fn copy_object(&self, object: &Object, key: &str, to_key: &str) -> Result<()> {
        let len = object.len().map_err(|e| e.at_key(key))?;
        if len <= PIECE {
            let mut buffer = Vec::new();
            let bytes = limits::grow(&mut buffer, len as usize)?;
            object.read_exact_whole(bytes).map_err(|e| e.at_key(key))?;
            return self.to.shared().put(to_key, &[bytes], Condition::None).map_err(|e| e.at_key(to_key));
        }
        let mut staged = self.to.shared().stage(to_key).map_err(|e| e.at_key(to_key))?;
        staged.expect(len);
        object.read_in_pieces(&mut |_, piece| staged.append(piece).map_err(|e| e.at_key(to_key))).map_err(|e| e.at_key(key))?;
        self.to.shared().publish(to_key, staged).map_err(|e| e.at_key(to_key))
    }

    /// An error where two keys do not hold the same bytes; of kind `Again` where another program has replaced the first one meanwhile.
    pub fn compare(&self, key: &str, to_key: &str) -> Result<()> {
        let open = |store: &Store, key: &str| store.shared().open(key).map_err(|e| e.at_key(key));
        let Some(source) = open(self.from, key)? else { return Ok(()) };
        let differs = |what: &str| Err(err!(Checksum, "the copy {what}, compared with {key}").at_key(to_key));
        let Some(copy) = open(self.to, to_key)? else { return differs("is missing") };
        let len = source.len().map_err(|e| e.at_key(key))?;
        if copy.len().map_err(|e| e.at_key(to_key))? != len {
            return differs("has another length");
        }
        let mut buffer = Vec::new();
        let mut same = |at: u64, piece: &[u8]| {
            let copied = limits::grow(&mut buffer, piece.len())?;
            copy.read_exact_at(at, copied).map_err(|e| e.at_key(to_key))?;
            if copied == piece { Ok(()) } else { differs("has other bytes") }
        };
        let compared = source.read_in_pieces(&mut same).map_err(|e| e.at_key(key));
        compared.map_err(|e| if self.is_replaced(&e, &source) { replaced_meanwhile(key) } else { e })
    }
}

/// The elements of an array on their way into other chunks.
pub(super) struct Elements {
    rechunk: Rechunk,
    /// The boxes that hold anything; `None`: all.
    boxes: Option<Vec<u64>>,
}

impl Elements {
    /// From `old` to `dest`. `same_fill`: where nothing is stored, nothing needs to be.
    pub fn new(
        (old, source): (&ArrayState, &Arc<BoundArray>),
        dest: &Arc<BoundArray>,
        same_fill: bool,
        (memory, overflow): (u64, Overflow),
    ) -> Result<Elements> {
        let beside = if source.data_type.is_variable() { sampled_length(old, source)? } else { 0 };
        let rechunk = Rechunk::new(source, dest, memory, beside, overflow)?;
        if !same_fill || dest.store_fill_chunks || !old.chunk_store.capabilities().listable {
            // All boxes are read, in which links to nothing would not be told.
            if old.chunk_store.files().is_some() {
                each_chunk_to_copy(&old.chunk_store, old, &mut |_, _| Ok(()))?;
            }
            return Ok(Elements { rechunk, boxes: None });
        }
        let (mut boxes, mut room) = (Vec::new(), 1 << 16);
        each_chunk_to_copy(&old.chunk_store, old, &mut |_, index| {
            rechunk.reached(index, &mut boxes)?;
            // Chunks come in any order; many share a box.
            if boxes.len() > room {
                boxes.sort_unstable();
                boxes.dedup();
                rechunk::check_reached(boxes.len() as u64)?;
                room = boxes.len().saturating_mul(2).max(1 << 16);
            }
            Ok(())
        })?;
        boxes.sort_unstable();
        boxes.dedup();
        Ok(Elements { rechunk, boxes: Some(boxes) })
    }

    /// The bits of the elements of `old` are those of numbers of this type, which are converted.
    pub fn meaning(self, meant: DataType) -> Elements {
        Elements { rechunk: self.rechunk.meaning(meant), ..self }
    }

    /// The number of chunks that are written.
    pub fn chunks(&self) -> u64 {
        let of = |number: u64| self.rechunk.chunks_in(number);
        match &self.boxes {
            Some(boxes) => boxes.iter().map(|&b| of(b)).fold(0, u64::saturating_add),
            None => (0..self.rechunk.boxes()).map(of).fold(0, u64::saturating_add),
        }
    }

    /// The bytes of memory with which they are copied as with any more.
    pub fn enough_memory(&self) -> u64 {
        self.rechunk.enough_memory()
    }

    /// Copies them; `told` gets the number of chunks that are done.
    pub fn run(&self, told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        self.rechunk.run(self.boxes.as_deref(), told)
    }

    /// The number of boxes in which they are copied.
    pub fn boxes(&self) -> u64 {
        self.boxes.as_ref().map_or_else(|| self.rechunk.boxes(), |boxes| boxes.len() as u64)
    }

    /// How many boxes are copied at the same time.
    pub fn width(&self) -> usize {
        self.rechunk.width()
    }

    /// Copies a box; returns the number of its chunks.
    pub fn copy(&self, i: u64, running: &tasks::Running<'_>) -> Result<u64> {
        self.rechunk.copy(self.boxes.as_ref().map_or(i, |boxes| boxes[i as usize]), running)
    }
}

/// The bytes that elements of variable length have, by a look at the first chunks.
fn sampled_length(old: &ArrayState, source: &Arc<BoundArray>) -> Result<u64> {
    const SAMPLES: usize = 3;
    let mut chunks: Vec<Dims> = Vec::new();
    each_chunk_to_copy(&old.chunk_store, old, &mut |_, index| {
        if chunks.len() < SAMPLES {
            chunks.push(index.clone());
        }
        Ok(())
    })?;
    chunks.iter().map(|chunk| rechunk::average_length(source, chunk)).try_fold(0, |most, n| Ok(most.max(n?)))
}
