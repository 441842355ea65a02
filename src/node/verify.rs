//! Looking through a hierarchy for what is damaged or does not belong there: every document is parsed, every stored chunk decoded whole.

use super::copied_documents::folder_of;
use super::fault::{Fault, FaultKind};
use super::lookup::{self, require};
use super::stored::StoredDocument;
use super::stored_chunks::{ListedPlace, Places, each_place};
use super::trail::Trail;
use super::transfer::OnProgress;
use super::verify_chunks::{Chosen, Work};
use super::verify_left::{self, GOES_ON, Left, of_no_node};
use super::verify_places::{KeyPlace, Known};
use super::walk::Found;
use super::{Array, Format, Group, NodeKind, Store, consolidate, cut, document, draft, growing, path, place};
use crate::engine::tasks;
use crate::error::{Error, Result};
use crate::limits::{Dims, add, collect_table, filled, make_text_room, push, with_spare};
use crate::metadata::{Map, v2, v3};
use crate::sort::sort_by;
use crate::store::local::{Unlisted, remove_unheld, shuts_out, unlisted};
use crate::store::{SharedStore, StorageExt, question};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The most arrays that are open at the same time.
const BATCH: usize = 1024;

/// What is looked at, and what is done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Chunks are listed, and not read.
    pub quick: bool,
    /// What is certainly safe is mended: temporary files of processes that are gone are removed, stale consolidated metadata written anew.
    pub repair: bool,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Nodes whose documents were read.
    pub nodes: u64,
    /// Chunks that were decoded, or, quickly, listed.
    pub chunks: u64,
    /// Faults that were found and not mended.
    pub faults: u64,
    /// Faults that were mended.
    pub repaired: u64,
}

impl Store {
    /// Looks through the node at `path` and all below it, and gives `each` the faults that it finds; the documents' first, then the
    /// chunks' in no certain order. `progress` is told how many chunks are done of how many. An error of either ends it. In a store that
    /// cannot be listed the nodes are those of consolidated metadata, and all chunks are looked for.
    pub fn verify(
        &self,
        path: &str,
        options: VerifyOptions,
        each: &mut dyn FnMut(&Fault) -> Result<()>,
        progress: &mut OnProgress<'_>,
    ) -> Result<Verified> {
        let path = path::normalize(path)?;
        require(self, &path, NodeKind::None)?;
        self.settle(&path);
        if options.repair {
            self.check_writable()?;
        }
        let (named, known, unlisted) = (HashSet::new(), Known::default(), HashSet::new());
        let mut run = Verification { store: self, top: &path, options, each, done: Verified::default(), named, known, unlisted };
        let mut arrays = Vec::new();
        run.documents(vec![(path.clone(), Some(Trail::default()))], &mut arrays)?;
        let mut keys = run.keys(&path, (&arrays, &numbers_of(&arrays)?))?;
        if run.strays(&mut keys, &mut arrays)? {
            keys = run.keys(&path, (&arrays, &numbers_of(&arrays)?))?;
        }
        let numbers = numbers_of(&arrays)?;
        let listed = run.told(keys, &numbers)?;
        run.unlisted(&path, (&arrays, &numbers))?;
        let chunks = run.listed(&arrays, listed)?;
        run.chunks(&arrays, chunks, progress)?;
        Ok(run.done)
    }
}

/// What is kept of each array that was found; it is opened again when its chunks are read.
struct FoundArray {
    node: String,
    places: Places,
    /// Where the chunks are.
    chunk_store: SharedStore,
    /// Its chunks can be decoded.
    is_supported: bool,
}

/// The arrays that were found, and their numbers by their paths.
type Arrays<'a> = (&'a [FoundArray], &'a HashMap<&'a str, usize>);

fn numbers_of(arrays: &[FoundArray]) -> Result<HashMap<&str, usize>> {
    collect_table(arrays.iter().enumerate().map(|(number, array)| (array.node.as_str(), number)))
}

/// The keys of the store, but the documents of nodes that were read.
#[derive(Default)]
struct OtherKeys {
    /// Those that belong to no node.
    faults: Vec<Fault>,
    /// What calls have left.
    left: Left,
    /// Nodes whose documents are in a folder that is in no group.
    strays: HashSet<String>,
    /// The chunks of each array, where the keys show all of them (not what is in their way in a folder).
    chunks: Option<Vec<Vec<Dims>>>,
}

struct Verification<'a> {
    store: &'a Store,
    /// The path of the node at which it begins.
    top: &'a str,
    options: VerifyOptions,
    each: &'a mut dyn FnMut(&Fault) -> Result<()>,
    done: Verified,
    /// Nodes that consolidated metadata name, where they alone do.
    named: HashSet<String>,
    /// What was read, and what could not be.
    known: Known,
    /// Folders that could not be read, and were told of.
    unlisted: HashSet<String>,
}

impl Verification<'_> {
    fn tell(&mut self, mut fault: Fault) -> Result<()> {
        *if fault.repaired { &mut self.done.repaired } else { &mut self.done.faults } += 1;
        fault.bytes = fault.bytes.or_else(|| self.store.key_len(&fault.key).ok().flatten());
        (self.each)(&fault)
    }

    /// Tells of an error that was met at `key`; gives one back that is about this process.
    fn tell_of(&mut self, e: Error, key: &str) -> Result<()> {
        self.tell(Fault::of(e, key)?)
    }

    /// Tells, once, of a folder that could not be listed, if its node's fault did not tell it.
    fn tell_unlisted(&mut self, e: Error, key: &str) -> Result<()> {
        let mut fault = Fault::of(e, key)?;
        fault.key.truncate(fault.key.trim_end_matches('/').len());
        if add(&mut self.unlisted, fault.key.clone())? { self.tell(fault) } else { Ok(()) }
    }

    /// Tells of an error that was met at `key`, by which a node is not read.
    fn tell_unread(&mut self, e: Error, key: &str, node: String) -> Result<()> {
        let fault = Fault::of(e, key)?;
        if fault.kind == FaultKind::Unreadable {
            add(&mut self.unlisted, node.clone())?;
        }
        add(&mut self.known.unread, node)?;
        self.tell(fault)
    }

    /// Reads the documents of nodes, and of all below those that have a trail; adds the arrays.
    fn documents(&mut self, mut todo: Vec<(String, Option<Trail>)>, arrays: &mut Vec<FoundArray>) -> Result<()> {
        let mut groups = Vec::new();
        while !todo.is_empty() {
            let (nodes, trails): (Vec<_>, Vec<_>) = todo.split_off(todo.len().saturating_sub(BATCH)).into_iter().unzip();
            let found = lookup::find_many(self.store, &nodes, true, self.store.options().format, None)?;
            for ((node, above), found) in nodes.into_iter().zip(trails).zip(found).rev() {
                match found {
                    Ok(None) => {}
                    Ok(Some(found)) if found.kind == NodeKind::Array => self.array(node, found, arrays)?,
                    Ok(Some(found)) => self.group(node, found, above, &mut groups, &mut todo)?,
                    Err(e) => self.tell_unread(e, &node.clone(), node)?,
                }
            }
        }
        groups.iter().try_for_each(|group| self.consolidated(group))
    }

    /// Looks at the document of an array.
    fn array(&mut self, node: String, found: StoredDocument, arrays: &mut Vec<FoundArray>) -> Result<()> {
        let (key, mut unsupported) = (found.key.clone(), None);
        let attributes = Array::quietly(self.store, node.clone(), found).and_then(|array| {
            let state = array.state();
            let (places, chunk_store) = (Places::new(&state), state.chunk_store.clone());
            unsupported = state.bound(&node).err();
            push(arrays, FoundArray { node: node.clone(), places, chunk_store, is_supported: unsupported.is_none() })?;
            array.attributes().all()
        });
        unsupported.map_or(Ok(()), |e| self.tell_of(e, &node))?;
        self.understood(node, &key, attributes)
    }

    /// Looks at the document of a group; the nodes below it are to do where it has a trail `above`, unless a link leads from it back to a group of that.
    fn group(
        &mut self,
        node: String,
        found: StoredDocument,
        above: Option<Trail>,
        groups: &mut Vec<Group>,
        todo: &mut Vec<(String, Option<Trail>)>,
    ) -> Result<()> {
        let (key, trail) = (found.key.clone(), above.as_ref().and_then(|above| above.to(self.store, &node, &found.key)));
        let is_circle = above.is_some() && trail.is_none();
        let attributes = Group::quietly(self.store, node.clone(), found).and_then(|group| {
            add(&mut self.known.groups, node.clone())?;
            if let Some(trail) = trail {
                let is_listable = self.store.capabilities().listable;
                // What cannot be listed is named by consolidated metadata, those of the top and of each group below that has some: each may lack nodes.
                let names_some = is_listable || node == self.top || group.catalog()?.is_some();
                let children = if names_some { group.nodes(if is_listable { 1 } else { usize::MAX })? } else { Vec::new() };
                for child in children.iter().rev() {
                    let path = path::join(&node, &child.name);
                    if is_listable || add(&mut self.named, path.clone())? {
                        push(todo, (path, Some(trail.clone())))?;
                    }
                }
            }
            if !is_circle {
                push(groups, group.clone())?;
            }
            group.attributes().all()
        });
        self.understood(node, &key, attributes)
    }

    /// Counts a node whose document was found; what of it is not understood is told.
    fn understood(&mut self, node: String, key: &str, attributes: Result<Map>) -> Result<()> {
        self.done.nodes += 1;
        attributes.map_or_else(|e| self.tell_unread(e, key, node), |_| Ok(()))
    }

    /// Compares the consolidated metadata of a group with the documents, but those that cannot be understood, which were told already.
    fn consolidated(&mut self, group: &Group) -> Result<()> {
        let key = path::join(group.path(), if group.format() == Format::V3 { v3::DOCUMENT } else { v2::CONSOLIDATED });
        let checked = group.check_consolidated();
        if !self.store.capabilities().listable {
            // There is nothing to compare them with.
            return checked.or_else(|e| self.tell(Fault::of(e, &key)?));
        }
        // Whether some entries stay as they are, and whether there is something to mend.
        let (mut stay, mut mends) = (false, true);
        let mut fault = match checked.map(|()| group.compare(true)) {
            Err(e) => Fault::of(e, &key)?,
            Ok(Ok((Some(consolidate::Compared { differences: found, .. }), _))) if !found.is_empty() => {
                let stays = |(_, what): &consolidate::Difference| [consolidate::IN_NO_GROUP, consolidate::LINK_TO_NOTHING].contains(what);
                (stay, mends) = (found.iter().any(stays), !found.iter().all(stays));
                let mut what = String::from("the consolidated metadata differ from the documents: ");
                for (number, (entry, differs)) in found.iter().enumerate() {
                    let line = format!("{}{entry} {differs}", if number == 0 { "" } else { "; " });
                    make_text_room(&mut what, line.len())?;
                    what.push_str(&line);
                }
                Fault::new(FaultKind::Stale, &key, &what)
            }
            Ok(Ok(_)) => return Ok(()),
            // A document that cannot be read was told already.
            Ok(Err(e)) => return Fault::of(e, group.path()).map(drop),
        };
        if self.options.repair && matches!(fault.kind, FaultKind::Stale | FaultKind::Damaged) && mends {
            // A run that was killed between two documents of a publication is opened as it was before by readers that go by consolidated metadata.
            let mut is_cut = false;
            let mut cuts = |below: &[Found]| growing::cuts_below(group, below).inspect(|cuts| is_cut = !cuts.is_empty());
            fault.mend(|| group.consolidate_cut(&mut cuts, true))?;
            if is_cut && fault.repaired {
                fault.repaired = false;
                fault.message += "; steps that a run was publishing are left to its series";
            }
            if stay && fault.repaired {
                fault.repaired = false;
                fault.message += "; what is in no group, or a link to nothing, stays listed";
            }
        }
        self.tell(fault)
    }

    /// Lists the keys.
    fn keys(&mut self, top: &str, (arrays, numbers): Arrays<'_>) -> Result<OtherKeys> {
        let mut keys = OtherKeys::default();
        // In the first draft documents and chunks are in places of their own.
        if !self.store.capabilities().listable || draft::entry(self.store)?.is_some() {
            return Ok(keys);
        }
        let OtherKeys { faults, left, strays, chunks } = &mut keys;
        if self.store.shared().files().is_none() {
            *chunks = Some(filled(Vec::new(), arrays.len())?);
        }
        let listed = self.store.shared().list(&path::prefix(top), &mut |key| {
            let place = self.known.place_of(key, numbers);
            if let (KeyPlace::Array(number) | KeyPlace::Unknown(Some(number)), Some(chunks)) = (&place, chunks.as_mut())
                && let Some(index) = arrays[*number].places.chunk(key)?
            {
                return push(&mut chunks[*number], index);
            }
            match place {
                KeyPlace::Document | KeyPlace::Unknown(_) => {}
                KeyPlace::Stray => drop(add(strays, folder_of(key).to_string())?),
                // What is in the way of chunks is told of with the chunks.
                KeyPlace::Array(number) if arrays[number].places.is_among_chunks(key)? => {}
                KeyPlace::Array(number) if arrays[number].places.is_outside(key)? => {
                    let what = "a chunk beyond the array's shape, which shows when the array grows";
                    push(faults, Fault::new(FaultKind::Outside, key, what))?;
                }
                _ if cut::says_kept(self.store, key)? => {}
                _ => {
                    left.note(self.store, key)?;
                    push(faults, of_no_node(self.store, key))?;
                }
            }
            Ok(())
        });
        if let Err(e) = listed {
            keys.chunks = None;
            self.tell_unlisted(e, top)?;
        }
        Ok(keys)
    }

    /// Reads the nodes that are in no group that was read, but those that a call has left. Returns whether there are any.
    fn strays(&mut self, keys: &mut OtherKeys, arrays: &mut Vec<FoundArray>) -> Result<bool> {
        let (mut todo, known) = (Vec::new(), self.done.nodes + self.known.unread.len() as u64);
        for node in std::mem::take(&mut keys.strays) {
            if keys.left.tells_of(self.store, &path::join(&node, ""), false)?.is_none() {
                push(&mut todo, (node, None))?;
            }
        }
        with_spare(todo.len() * size_of::<usize>(), || sort_by(&mut todo, |a, b| b.0.cmp(&a.0)))?;
        self.documents(todo, arrays)?;
        Ok(self.done.nodes + self.known.unread.len() as u64 > known)
    }

    /// Tells of keys that belong to no node; gives the chunks.
    fn told(&mut self, keys: OtherKeys, numbers: &HashMap<&str, usize>) -> Result<Option<Vec<Vec<Dims>>>> {
        let OtherKeys { mut faults, mut left, chunks, .. } = keys;
        faults.iter_mut().try_for_each(|fault| self.explain(fault, &mut left, numbers))?;
        if self.options.repair {
            for fault in faults.iter_mut().filter(|fault| place::is_left_whole(self.store, &fault.key)) {
                let key = fault.key.clone();
                fault.mend(|| place::erase_left(self.store, &key))?;
            }
        }
        faults.into_iter().try_for_each(|fault| self.tell(fault))?;
        Ok(chunks)
    }

    /// Says of a key that belongs to no node which call has left it, if one has.
    fn explain(&self, fault: &mut Fault, left: &mut Left, numbers: &HashMap<&str, usize>) -> Result<()> {
        let is_in_array = matches!(self.known.place_of(&fault.key, numbers), KeyPlace::Array(_));
        let what = match fault.kind {
            FaultKind::Foreign => left.tells_of(self.store, &fault.key, is_in_array)?,
            FaultKind::Outside if left.has_cut(&fault.key) => Some(GOES_ON),
            _ => return Ok(()),
        };
        match (what, question::is_over(&fault.key)) {
            (Some(what), _) => *fault = Fault::new(FaultKind::Temporary, &fault.key, what),
            (None, Some(is_over)) => verify_left::asked(self.store, fault, is_over, self.options.repair)?,
            (None, None) => {}
        }
        Ok(())
    }

    /// Tells of what listings leave out in folders: temporary files, and what can be no key.
    fn unlisted(&mut self, top: &str, (arrays, numbers): Arrays<'_>) -> Result<()> {
        let shared = self.store.shared();
        let document = document::DOCUMENTS.iter().find_map(|name| shared.file(&path::join(top, name)).filter(|file| file.is_file()));
        let Some(folder) = document.as_deref().and_then(Path::parent) else { return Ok(()) };
        for (file, what) in unlisted(folder)? {
            let key = path::join(top, &path::with_escapes(file.strip_prefix(folder).unwrap_or(&file)));
            let fault = match what {
                Unlisted::Unread(errno) => {
                    self.tell_unlisted(Error::os(errno, "open the folder"), &key)?;
                    continue;
                }
                Unlisted::OfProcessGone | Unlisted::OfProcess => {
                    verify_left::temporary(&key, &file, what == Unlisted::OfProcessGone, self.options.repair)?
                }
                Unlisted::Lock if shuts_out(&file) => {
                    let what = "a lock file that may not be opened, so that nothing is changed in its folder: its owner, or root, may remove it \
                        where no program of that user writes any more";
                    Fault::new(FaultKind::Unreadable, &key, what)
                }
                // One that stays may be a writer's that goes on.
                Unlisted::Lock if !(self.options.repair && remove_unheld(&file)) => continue,
                Unlisted::Lock => {
                    let what = "the lock file of a writer that was killed; no process holds a lock in it";
                    Fault { repaired: true, ..Fault::new(FaultKind::Temporary, &key, what) }
                }
                Unlisted::KeptOpen => Fault::new(FaultKind::Temporary, &key, "replaced or erased while it is open: goes when closed"),
                Unlisted::NoText => Fault::new(FaultKind::Foreign, &key, "its name is no UTF-8, so that it is no key"),
                Unlisted::DeadLink => Fault::new(FaultKind::Unreadable, &key, "a link to nothing: it reads as if it were not stored"),
                Unlisted::NoFile => match self.known.place_of(&key, numbers) {
                    // These were told, or are with the chunks.
                    KeyPlace::Document | KeyPlace::Stray => continue,
                    KeyPlace::Array(number) if arrays[number].places.is_among_chunks(&key)? => continue,
                    _ => Fault::new(FaultKind::Foreign, &key, "a pipe, a socket, a device or a link in a circle, which is no key"),
                },
            };
            self.tell(fault)?;
        }
        Ok(())
    }

    /// The chunks of all arrays that can be decoded, by the number of the array. Those that were listed are listed again only where they are
    /// not what is stored under the keys.
    fn listed(&mut self, arrays: &[FoundArray], listed: Option<Vec<Vec<Dims>>>) -> Result<Vec<(usize, Chosen)>> {
        let (is_listable, mut listed) = (self.store.capabilities().listable, listed.unwrap_or_default());
        let mut work = Vec::new();
        for (number, array) in arrays.iter().enumerate() {
            let known = listed.get_mut(number).filter(|_| Arc::ptr_eq(&array.chunk_store, self.store.shared())).map(std::mem::take);
            let (is_known, mut chunks) = (known.is_some(), known.unwrap_or_default());
            if is_listable && !is_known {
                let mut misplaced = Vec::new();
                let listed = each_place(&array.chunk_store, &array.places, None, &mut |place| {
                    match place {
                        ListedPlace::Chunk(_, index) => push(&mut chunks, index)?,
                        ListedPlace::Misplaced(e) => push(&mut misplaced, Fault::of(e, &array.node)?)?,
                        // These are told with what listings leave out.
                        ListedPlace::DeadLink(_) | ListedPlace::Other(_) => {}
                    }
                    Ok(())
                });
                listed.or_else(|e| self.tell_unlisted(e, &array.node))?;
                misplaced.into_iter().try_for_each(|fault| self.tell(fault))?;
            }
            match array.is_supported {
                true if is_listable => push(&mut work, (number, Chosen::Listed(chunks)))?,
                true if !self.options.quick => push(&mut work, (number, Chosen::All(array.places.counts.clone())))?,
                _ => {}
            }
        }
        work.retain(|(_, chunks)| chunks.len() > 0);
        Ok(work)
    }

    /// Decodes chunks; some arrays are open at a time.
    fn chunks(&mut self, arrays: &[FoundArray], mut chosen: Vec<(usize, Chosen)>, progress: &mut OnProgress<'_>) -> Result<()> {
        let total = chosen.iter().fold(0u64, |sum, (_, chunks)| sum.saturating_add(chunks.len()));
        self.done.chunks = total;
        let mut before = 0;
        while !self.options.quick && !chosen.is_empty() {
            let batch: Vec<_> = chosen.drain(..chosen.len().min(BATCH)).collect();
            let chunks = batch.iter().map(|(_, chunks)| chunks.len()).fold(0, u64::saturating_add);
            let work = self.open(arrays, batch)?;
            self.decode(&work, &mut |done| progress(before + done, total))?;
            before = before.saturating_add(chunks);
        }
        Ok(())
    }

    /// Opens arrays again. One that was removed meanwhile, or replaced by one of another rank, is left out.
    fn open(&mut self, arrays: &[FoundArray], batch: Vec<(usize, Chosen)>) -> Result<Vec<Work>> {
        let nodes: Vec<String> = batch.iter().map(|(number, _)| arrays[*number].node.clone()).collect();
        let found = lookup::find_many(self.store, &nodes, false, self.store.options().format, None)?;
        let mut work = Vec::new();
        for (((number, chunks), node), found) in batch.into_iter().zip(nodes).zip(found) {
            let array = found.and_then(|found| found.map(|found| Array::quietly(self.store, node.clone(), found)).transpose());
            match array.and_then(|array| array.map(|array| array.state()).map(|state| Ok((state.bound(&node)?, state))).transpose()) {
                Ok(Some((bound, state))) if bound.shape.len() == arrays[number].places.counts.len() => {
                    work.push(Work::new(bound, state.inner_chunk.clone(), chunks));
                }
                Ok(_) => {}
                Err(e) => self.tell_of(e, &node)?,
            }
        }
        Ok(work)
    }

    /// Decodes the chunks of some arrays, several at a time.
    fn decode(&mut self, work: &[Work], progress: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let mut ends = Vec::new();
        let total = work.iter().fold(0u64, |sum, array| {
            ends.push(sum.saturating_add(array.chunks.len()));
            sum.saturating_add(array.chunks.len())
        });
        let found = Mutex::new(Vec::new());
        let task = |number: u64, _: &tasks::Running<'_>| {
            let which = ends.partition_point(|&end| end <= number);
            let first = if which == 0 { 0 } else { ends[which - 1] };
            let index = work[which].chunks.get(number - first);
            if let Err(e) = work[which].decode(&index) {
                let key = work[which].array.key_of(&index)?;
                let mut fault = Fault::of(e, &key)?;
                fault.bytes = work[which].stored_bytes(&key);
                push(&mut found.lock().unwrap_or_else(PoisonError::into_inner), fault)?;
            }
            Ok(())
        };
        let (pool, width) = self.store.threads_with(self.store, work.iter().all(|work| work.array.any_thread));
        let mut told = 0;
        tasks::run(&pool, total, width, &task, &mut |done| {
            let faults = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
            for fault in faults {
                told += 1;
                (self.each)(&fault)?;
            }
            progress(done)
        })?;
        self.done.faults += told;
        let rest = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        rest.into_iter().try_for_each(|fault| self.tell(fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::tests::{faults, spec_as, write_all};
    use crate::node::tests_growth::Folder;
    use crate::node::tests_store::{Next, on, told};
    use crate::node::{Context, Create};
    use crate::store::LockUse;
    use crate::store::memory::MemoryStore;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn consolidated_metadata_that_are_not_understood_are_damaged_and_written_anew() {
        let v3 = |more: &str| format!(r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":{more}}}"#);
        let cut = r#"{"metadata":{".zgroup":{"zarr_fo"#.to_string();
        let cases = [
            (v2::CONSOLIDATED, cut, true),
            (v2::CONSOLIDATED, r#"{"metadata":[],"zarr_consolidated_format":1}"#.into(), true),
            (v2::CONSOLIDATED, r#"{"metadata":{},"zarr_consolidated_format":7}"#.into(), true),
            (v3::DOCUMENT, v3(r#"{"kind":"inline","must_understand":false,"metadata":[1]}"#), true),
            (v3::DOCUMENT, v3("[]"), true),
            (v3::DOCUMENT, v3(r#"{"kind":"inline"}"#), true),
            (v3::DOCUMENT, v3("null"), false),
            (v3::DOCUMENT, v3(r#"{"kind":"elsewhere","must_understand":false}"#), false),
        ];
        for (key, text, is_damaged) in cases {
            let store = Store::memory(&Context::default());
            if key == v2::CONSOLIDATED {
                store.key_put(v2::GROUP, br#"{"zarr_format":2}"#).unwrap();
            }
            store.key_put(key, text.as_bytes()).unwrap();
            let verify = |repair: bool| -> Vec<_> {
                let faults = faults(&store, VerifyOptions { quick: true, repair });
                faults.into_iter().map(|fault| (fault.kind, fault.key, fault.repaired)).collect()
            };
            let told = |repaired: bool| if is_damaged { vec![(FaultKind::Damaged, key.to_string(), repaired)] } else { Vec::new() };
            assert_eq!(verify(false), told(false), "{text}");
            assert_eq!(Group::open(&store, "").unwrap().consolidated_differences().is_err(), is_damaged, "{text}");
            assert_eq!(verify(true), told(true), "{text}");
            assert_eq!(verify(true), [], "{text}");
        }
    }

    /// As git-annex leaves what was not fetched, or another disk that is not mounted; one step mends all else.
    #[test]
    fn nodes_that_links_to_nothing_stand_for_stay_in_consolidated_metadata_and_the_others_are_mended() {
        let replaced = [(Format::V3, "g/a/zarr.json"), (Format::V2, "g/a/.zarray"), (Format::V2, "g/a/.zattrs")];
        let folders = ["g/a", "g"].into_iter().flat_map(|folder| [(Format::V3, folder), (Format::V2, folder)]);
        for (format, replaced) in replaced.into_iter().chain(folders) {
            let Folder(root, store) = Folder::new("unfetched");
            let key = |node: &str, v2: &str| path::join(node, if format == Format::V3 { v3::DOCUMENT } else { v2 });
            Group::create(&store, "", Some(format), crate::node::Create::New).unwrap();
            let array = |path: &str| Array::create(&store, path, &spec_as(format, &[4], &[2]), Create::New).unwrap();
            ["g/a", "b", "c"].iter().for_each(|path| array(path).attributes().set("n", 1.into()).unwrap());
            Group::open(&store, "").unwrap().consolidate().unwrap();
            let before = store.key_get(&key("", v2::CONSOLIDATED)).unwrap();
            let stale = || {
                let found = faults(&store, VerifyOptions { quick: true, repair: true }).into_iter();
                found.filter(|fault| fault.kind == FaultKind::Stale).map(|fault| fault.repaired).collect::<Vec<_>>()
            };
            let (file, elsewhere) = (root.join(replaced), root.join("c/elsewhere"));
            std::fs::rename(&file, &elsewhere).unwrap();
            std::os::unix::fs::symlink(root.join("c/nothing"), &file).unwrap();
            assert_eq!((stale(), store.key_get(&key("", v2::CONSOLIDATED)).unwrap()), (vec![false], before), "{replaced}");
            // Of what is gone nothing stays, and what is not listed comes in.
            store.shared().erase(&key("b", v2::ARRAY)).unwrap();
            let document = store.key_get(&key("c", v2::ARRAY)).unwrap().unwrap();
            store.key_put(&key("d", v2::ARRAY), &document).unwrap();
            assert_eq!((stale(), stale()), (vec![false], vec![false]), "{replaced}");
            std::fs::rename(&elsewhere, root.join("c/nothing")).unwrap();
            assert_eq!(stale(), [false; 0], "{replaced}");
            let root = Group::open(&store, "").unwrap();
            assert!(["g/a", "c", "d"].iter().all(|path| root.open_array(path).is_ok()) && root.open_array("b").is_err(), "{replaced}");
        }
    }

    #[test]
    fn keys_by_which_a_server_was_asked_are_temporary_and_go_when_they_are_old() {
        let mark = "0123456789abcdef0123456789abcdef";
        let (old, fresh, earlier) =
            (format!("zarr.json.ozarr-asks-1-{mark}"), format!("zarr.json.ozarr-asks-99999999999-{mark}"), format!("zarr.json.{mark}"));
        let (foreign, longer) = (format!("c.ozarr-asks-1-{mark}"), format!("d.ozarr-asks-1-{mark}"));
        let store = Store::memory(&Context::default());
        Group::create(&store, "", None, crate::node::Create::New).unwrap();
        for key in [&old, &fresh, &earlier] {
            store.key_put(key, question::VALUE).unwrap();
        }
        store.key_put(&foreign, b"mine").unwrap();
        store.key_put(&longer, &[question::VALUE, b"."].concat()).unwrap();
        let verify = |repair: bool| -> Vec<_> {
            let faults = faults(&store, VerifyOptions { quick: true, repair });
            faults.into_iter().map(|fault| (fault.key, fault.kind, fault.repaired)).collect()
        };
        for repair in [false, true] {
            let expected =
                [(&foreign, FaultKind::Foreign, false), (&longer, FaultKind::Foreign, false), (&earlier, FaultKind::Temporary, false)]
                    .into_iter()
                    .chain([(&old, FaultKind::Temporary, repair), (&fresh, FaultKind::Temporary, false)]);
            assert_eq!(verify(repair), expected.map(|(key, kind, repaired)| (key.clone(), kind, repaired)).collect::<Vec<_>>());
        }
        assert_eq!(verify(true).len(), 4, "the old one is gone");
    }

    #[test]
    fn a_lock_file_goes_when_nobody_holds_a_lock_in_it() {
        let Folder(root, store) = Folder::new("locks");
        Group::create(&store, "", None, crate::node::Create::New).unwrap();
        Group::create(&store, "a", None, crate::node::Create::New).unwrap();
        let verify = |repair: bool| -> Vec<_> {
            let faults = faults(&store, VerifyOptions { quick: true, repair });
            faults.into_iter().map(|fault| (fault.key, fault.kind, fault.repaired)).collect()
        };
        let file = root.join("a/.ozarr.lock");
        let held = store.shared().lock_key("a/", "a/zarr.json", LockUse::Alone).unwrap();
        assert!(verify(true).is_empty() && file.exists());
        drop(held);
        // As a kill leaves it.
        std::fs::write(&file, "").unwrap();
        assert!(verify(false).is_empty() && file.exists());
        assert_eq!(verify(true), [("a/.ozarr.lock".to_string(), FaultKind::Temporary, true)]);
        assert!(!file.exists() && verify(true).is_empty());
    }

    #[test]
    fn nodes_below_folders_without_a_document_are_looked_through() {
        let array = |format| spec_as(format, &[4], &[2]);
        for format in [Format::V2, Format::V3] {
            let Folder(_root, folder) = Folder::new("stray");
            for store in [folder, Store::memory(&Context::default())] {
                Group::create(&store, "", Some(format), Create::New).unwrap();
                for node in ["a/b/c", "a/d/e/f"] {
                    write_all(&Array::create(&store, node, &array(format), Create::New).unwrap(), &mut [1, 2, 3, 4]);
                }
                for folder in ["a", "a/b", "a/d"] {
                    for name in [v2::GROUP, v3::DOCUMENT] {
                        store.shared().erase(&format!("{folder}/{name}")).unwrap();
                    }
                }
                let options = VerifyOptions { repair: true, ..VerifyOptions::default() };
                assert_eq!(faults(&store, options), [], "{format:?}");
                let sep = if format == Format::V2 { "" } else { "c/" };
                let expected = [
                    ("a/b/n", FaultKind::Foreign),
                    (&format!("a/b/c/{sep}7"), FaultKind::Outside),
                    (&format!("a/d/e/f/{sep}1"), FaultKind::Damaged),
                ];
                for (key, _) in expected {
                    store.key_put(key, b"1").unwrap();
                }
                let mut found: Vec<_> = faults(&store, options).into_iter().map(|fault| (fault.key, fault.kind)).collect();
                found.sort_unstable_by_key(|(key, _)| key != "a/b/n");
                assert_eq!(found, expected.map(|(key, kind)| (key.to_string(), kind)), "{format:?}");
                let mut each = |_: &Fault| Ok(());
                let done = store.verify("", options, &mut each, &mut |_, _| Ok(())).unwrap();
                assert_eq!((done.nodes, done.chunks), (4, 4), "{format:?}");
            }
        }
    }

    #[test]
    fn documents_of_no_node_that_cannot_be_read_end_no_look_through_the_others() {
        let Folder(_root, store) = Folder::new("unread");
        Group::create(&store, "", None, crate::node::Create::New).unwrap();
        store.key_put("x/y/zarr.json/z", b"1").unwrap();
        store.key_put("x/y/ozarr-copy.json", b"{}").unwrap();
        store.key_put("z", b"1").unwrap();
        let found: Vec<_> = faults(&store, VerifyOptions::default()).into_iter().map(|fault| (fault.key, fault.kind)).collect();
        let expected = [("x/y/ozarr-copy.json", FaultKind::Temporary), ("x/y/zarr.json/z", FaultKind::Foreign), ("z", FaultKind::Foreign)];
        assert_eq!(found, expected.map(|(key, kind)| (key.to_string(), kind)));
    }

    #[test]
    fn keys_are_listed_once_for_all_arrays_and_their_chunks() {
        let listed = |count: usize| {
            let lists = Arc::new(AtomicUsize::new(0));
            let counted = lists.clone();
            let store = on(told(Arc::new(MemoryStore::new()), move |next| {
                counted.fetch_add(usize::from(matches!(next, Next::List)), Ordering::Relaxed);
                Ok(())
            }));
            Group::create(&store, "", Some(Format::V2), crate::node::Create::New).unwrap();
            for i in 0..count {
                let array = Array::create(&store, &format!("a{i}"), &spec_as(Format::V2, &[4], &[2]), crate::node::Create::New).unwrap();
                write_all(&array, &mut [1, 2, 3, 4]);
            }
            store.key_put("a0/1", b"damaged").unwrap();
            store.key_put("a1/2", b"outside").unwrap();
            store.key_put("a1/x", b"foreign").unwrap();
            lists.store(0, Ordering::Relaxed);
            let mut faults = Vec::new();
            let mut each = |fault: &Fault| push(&mut faults, (fault.key.clone(), fault.kind));
            let done = store.verify("", VerifyOptions::default(), &mut each, &mut |_, _| Ok(())).unwrap();
            assert_eq!(done.chunks, 2 * count as u64);
            faults.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let keys: Vec<_> = faults.iter().map(|(key, _)| key.as_str()).collect();
            assert_eq!(keys, ["a0/1", "a1/2", "a1/x"]);
            lists.load(Ordering::Relaxed)
        };
        assert_eq!(listed(20), listed(2));
    }
}
