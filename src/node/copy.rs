//! Copying a node with all below it, key by key, into the same or another store: several objects at a time, compared afterwards if that is
//! asked for. A copy that was cut short is no node, and the same call completes it ([`super::place`]).

use super::copied_documents::{self, CopiedDocuments, MAKES_A_NODE, folder_of, is_document, name_of};
use super::dead_links::DeadLinks;
use super::kept::{self, CopiedNode};
use super::listed_lengths::shape_of;
use super::lookup::{find, is_in_the_way, require};
use super::stored::StoredDocument;
use super::trail::Trail;
use super::transfer::{Moves, OnProgress, READINGS, Way, moved_path};
use super::{Array, Create, NodeKind, Store, draft, groups_above, hierarchy, marker, overlap, path, place, stored_chunks, upkeep};
use crate::engine::tasks;
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::{self, MAX_CONSOLIDATED, collect, extend, push, readable};
use crate::metadata::json::{self, splice::TextObject};
use crate::metadata::{Format, Map, v2, v3};
use crate::store::prefix::hidden_by;
use crate::store::{Condition, StorageExt, get, question, zip};
use std::collections::{HashMap, HashSet};

/// How a node is copied.
pub(super) struct CopyMode<'a> {
    /// What the copy's marker says of the node.
    pub source: &'a str,
    pub how: Create,
    /// Every object is read again and compared with its source.
    pub verify: bool,
    /// The marker stays: the caller has more to do.
    pub keeps_marker: bool,
}

impl Store {
    /// Copies the node at `path` with all below it to `to_path` in `to`, keys and bytes as they are, and makes the groups above
    /// it that are missing there. The documents of nodes come after all else, the node's own last. `how` is `New` or `Overwrite` (else
    /// `Argument`); what is overwritten stays until the copy is whole where folders can be replaced. A place inside of the other is an error of kind `Argument`. With `verify` every object is read again and compared with
    /// its source, before the node's own document is there; a difference is an error of kind `Checksum`. Where another program removes a checkpoint, or an
    /// array or its end, that is being copied, the copy is an error of kind `Again`. `progress` is told after
    /// each key how many are done of how many (twice as many with `verify`); its error ends the copy.
    pub fn copy_node(
        &self,
        path: &str,
        (to, to_path): (&Store, &str),
        how: Create,
        verify: bool,
        progress: &mut OnProgress<'_>,
    ) -> Result<()> {
        let path = path::normalize(path)?;
        let mode = CopyMode { source: &place::source_of(self, &path), how, verify, keeps_marker: false };
        self.copy_marked(&path, (to, to_path), mode, progress)
    }

    /// Copies a node like [`Store::copy_node`].
    pub(super) fn copy_marked(
        &self,
        path: &str,
        (to, to_path): (&Store, &str),
        CopyMode { source, how, verify, keeps_marker }: CopyMode<'_>,
        progress: &mut OnProgress<'_>,
    ) -> Result<()> {
        let to_path = hierarchy::new_path(to, to_path)?;
        draft::refuse(self)?;
        self.check_copyable()?;
        let found = require(self, path, NodeKind::None)?;
        overlap::refuse((self, path), (to, &to_path))?;
        if how == Create::OpenIfSame {
            bail!(Argument, "a copy is new or overwrites; there is nothing to open");
        }
        [(self, path), (to, &to_path)].into_iter().for_each(|(store, path)| store.settle(path));
        // What is refused for its place is not walked ahead of that; what is in no folder is not walked at all.
        let is_taken = how == Create::New && self.shared().files().is_some() && matches!(is_in_the_way(to, &to_path), Ok(true));
        if !is_taken {
            self.check_links_and_places(path)?;
        }
        // What groups have consolidated is copied, too.
        upkeep::catch_up(self)?;
        let mut changed = groups_above::ensure(to, &to_path, found.format)?;
        let check = || match self.keeping_above(path)?.is_copied_to(path, (to, &to_path))? {
            true => Ok(()),
            false => Err(place::differs((to, &to_path))),
        };
        let copied = place::Copied {
            source,
            from: Some((self, path)),
            keys: &|| collect(self.copying(path, to)?.steps(path, &to_path)?.into_iter().flatten().map(|(key, _)| key)),
            state: &place::state_of(&found.document)?,
            kind: found.kind,
            tells_keys: true,
            complete: &check,
        };
        let filled = place::fill(copied, (to, &to_path), how, &mut |store, place, ours| {
            // It was erased meanwhile.
            if is_taken {
                self.check_links_and_places(path)?;
            }
            let made = self.keeping_above(path)?.copy_keys(path, (store, place, ours), verify, progress)?;
            collect(made.iter().map(|node| moved_path(node, place, &to_path)))
        });
        filled.inspect_err(|_| upkeep::tell_made(to, &changed))?.end((to, &to_path), keeps_marker, |made, replaced| {
            changed.extend(made.into_iter().flatten());
            groups_above::restore(to, &to_path, found.format, &mut changed)?;
            if found.format == Format::V2 {
                changed.iter().for_each(|node| hierarchy::note_documents(to, node));
            }
            upkeep::after_copy(to, &changed, replaced.then_some(to_path.as_str()))?;
            if keeps_marker { Ok(()) } else { to.flush() }
        })
    }

    /// Whether at `to_path` is what a copy of the node at `path` has; of a group that is being erased, what is left of it.
    pub(super) fn is_copied_to(&self, path: &str, (to, to_path): (&Store, &str)) -> Result<bool> {
        let copying = self.copying(path, to)?;
        let mut keys: Vec<(String, String)> = Vec::new();
        for step in copying.steps(path, to_path)? {
            extend(&mut keys, step)?;
        }
        if let Some(own) = hierarchy::emptied(self, path)? {
            keys.retain(|(key, _)| *key != own);
        } else {
            let mut there = 0;
            to.shared().list(&path::prefix(to_path), &mut |key| {
                there += usize::from(!is_of_a_call(name_of(key)));
                Ok(())
            })?;
            if there != keys.len() {
                return Ok(false);
            }
        }
        let way = copying.way;
        let task = |i: u64, _: &tasks::Running<'_>| {
            let (key, to_key) = &keys[i as usize];
            if differs_in_consolidated_metadata((self, key), (to, to_key))? { Ok(()) } else { way.compare(key, to_key) }
        };
        let (pool, width) = way.threads();
        match tasks::run(&pool, keys.len() as u64, width, &task, &mut |_| Ok(())) {
            Err(e) if e.kind() == ErrorKind::Checksum => Ok(false),
            compared => compared.map(|()| true),
        }
    }

    /// Reads what is to be copied.
    fn copying<'a>(&'a self, path: &str, to: &'a Store) -> Result<Copying<'a>> {
        let documents = copied_documents::read(self, path, to.threads_with(self, true))?;
        Ok(Copying { way: Way { from: self, to, link: false }, documents, moves: Moves::default() })
    }

    /// Refuses links to nothing in the place of documents, and what each node below `path` refuses to copy of its chunks: a listing of keys shows neither, and
    /// the copy would be without them.
    fn check_links_and_places(&self, path: &str) -> Result<()> {
        if self.shared().files().is_none() {
            return Ok(());
        }
        let (mut todo, mut dead) = (vec![(path.to_string(), Trail::default())], DeadLinks::default());
        while let Some((folder, above)) = todo.pop() {
            let found = find(self, &folder);
            let format = found.as_ref().ok().and_then(Option::as_ref).map(|found| found.format);
            let names = dead.see_documents(self, &folder, format)?.prefixes;
            match found {
                Ok(Some(found)) if found.kind == NodeKind::Array => self.check_chunk_places(&folder, found)?,
                _ => {
                    let Some(trail) = above.to(self, &folder, &path::join(&folder, v3::DOCUMENT)) else { continue };
                    extend(&mut todo, names.iter().rev().map(|name| (path::join(&folder, name), trail.clone())))?;
                }
            }
        }
        dead.refuse_documents()
    }

    /// Refuses files and folders in each other's place among the chunks of an array, and links to nothing: a listing of keys shows no empty folder, and
    /// the chunk would be missing in the copy. Arrays that cannot be understood are copied as they are.
    fn check_chunk_places(&self, node: &str, found: StoredDocument) -> Result<()> {
        match Array::quietly(self, node.to_string(), found) {
            Ok(array) => stored_chunks::each_chunk_to_copy(self.shared(), &array.state(), &mut |_, _| Ok(())),
            Err(_) => Ok(()),
        }
    }

    /// Copies all keys below `path`, the node's own document when `ours` says that the place is still ours; returns the paths of the nodes that were
    /// made by it.
    fn copy_keys(
        &self,
        path: &str,
        (to, to_path, ours): (&Store, &str, &place::Ours<'_>),
        verify: bool,
        progress: &mut OnProgress<'_>,
    ) -> Result<Vec<String>> {
        let copying = self.copying(path, to)?;
        if !copying.has_node(path) {
            return Err(kept::changed_meanwhile(path, "removed"));
        }
        let steps = copying.steps(path, to_path)?;
        if steps[2].is_empty() {
            return Err(kept::changed_meanwhile(path, "replaced"));
        }
        let total = steps.iter().map(|keys| keys.len() as u64).sum::<u64>() * if verify { 2 } else { 1 };
        let mut done = 0;
        for keys in &steps[..2] {
            copying.each(keys, &|key, to_key| copying.bring(key, to_key), &mut |n| progress(done + n, total))?;
            done += keys.len() as u64;
            if std::ptr::eq(keys, &steps[0]) {
                copying.check_all_copied()?;
            }
            if !std::ptr::eq(keys, &steps[1]) {
                continue;
            }
            copying.check_apart(&steps[..2], to_path)?;
            // The node's own document comes when all else is compared.
            if verify {
                for keys in &steps[..2] {
                    copying.each(keys, &|key, to_key| copying.compare(key, to_key), &mut |n| progress(done + n, total))?;
                    done += keys.len() as u64;
                }
                copying.check_all_copied()?;
            }
        }
        // Nothing ends the copy once its own document is there: all is told ahead of that.
        (done + 1..=total).try_for_each(|n| progress(n, total)).and_then(|()| ours(&steps))?;
        copying.each(&steps[2], &|key, to_key| copying.bring(key, to_key), &mut |_| Ok(()))?;
        if verify {
            copying.each(&steps[2], &|key, to_key| copying.compare(key, to_key), &mut |_| Ok(()))?;
        }
        copying.understood(&steps[1..])
    }
}

/// Whether a key with this name tells of a call that makes or erases something there, or has asked the server something: it is none of a copy.
fn is_of_a_call(name: &str) -> bool {
    name == marker::COPY || question::is_over(name).is_some()
}

/// A copy that is under way.
struct Copying<'a> {
    way: Way<'a>,
    documents: CopiedDocuments,
    moves: Moves,
}

impl Copying<'_> {
    /// The keys below `path` and those of their copies: what holds the data, the documents of the nodes below, and those of the node itself. What
    /// came since the documents were read is left out, with all below it where that is a node, or where a call was interrupted; so are files that
    /// macOS adds on the way into an archive, which ignores them.
    fn steps(&self, path: &str, to_path: &str) -> Result<[Vec<(String, String)>; 3]> {
        let (from_prefix, to_prefix) = (path::prefix(path), path::prefix(to_path));
        let (mut steps, mut late): ([Vec<(String, String)>; 3], HashSet<String>) = Default::default();
        let into_archive = self.way.to.shared().capabilities().archive;
        self.way.from.shared().list(&from_prefix, &mut |key| {
            let tail = key.strip_prefix(&from_prefix).unwrap_or(key);
            let name = name_of(tail);
            if is_document(name) && !self.documents.has(key) {
                if MAKES_A_NODE.contains(&name) && !self.has_node(folder_of(key)) {
                    limits::add(&mut late, folder_of(key).to_string())?;
                }
                return Ok(());
            }
            // What an interrupted call has made there is no node, and would not be known for what it is without the marker.
            if name == marker::COPY && name != tail && !self.has_node(folder_of(key)) {
                return limits::add(&mut late, folder_of(key).to_string()).map(drop);
            }
            let to_key = format!("{to_prefix}{tail}");
            let is_of_macos = into_archive && zip::is_ignored(&to_key);
            // It was a checkpoint's document before that was committed, and could not be erased.
            let is_committed = hidden_by(key).is_some_and(|document| self.documents.has(document));
            if !is_of_macos && !is_committed && !is_of_a_call(name) {
                let step = if MAKES_A_NODE.contains(&tail) { 2 } else { usize::from(MAKES_A_NODE.contains(&name)) };
                push(&mut steps[step], (key.to_string(), to_key))?;
            }
            Ok(())
        })?;
        steps.iter_mut().for_each(|keys| keys.retain(|(key, _)| !path::is_within_any(key, &late)));
        Ok(steps)
    }

    /// Whether there was a node in this folder.
    fn has_node(&self, folder: &str) -> bool {
        MAKES_A_NODE.iter().any(|name| self.documents.has(&path::join(folder, name)))
    }

    /// Does `work` with each key and that of its copy, several at a time.
    fn each(
        &self,
        keys: &[(String, String)],
        work: &(dyn Fn(&str, &str) -> Result<()> + Sync),
        told: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let (pool, width) = self.way.threads();
        let task = |i: u64, _: &tasks::Running<'_>| work(&keys[i as usize].0, &keys[i as usize].1);
        tasks::run(&pool, keys.len() as u64, width, &task, told)
    }

    fn bring(&self, key: &str, to_key: &str) -> Result<()> {
        match self.documents.text(key) {
            Some(text) => self.way.to.shared().put(to_key, &[text], Condition::None).map_err(|e| e.at_key(to_key)),
            None => self.way.move_object(key, to_key, &self.moves),
        }
    }

    /// Checks that a folder has a file for each key that was put there: file systems that do not tell upper case from lower, or compare letters by what Unicode
    /// composes them of, have one for two. Which names are one follows rules of their own, so that they are counted.
    fn check_apart(&self, steps: &[Vec<(String, String)>], to_path: &str) -> Result<()> {
        let (to, prefix) = (self.way.to.shared(), path::prefix(to_path));
        if to.files().is_none() {
            return Ok(());
        }
        let (put, mut there) = (steps.iter().map(Vec::len).sum::<usize>() - self.moves.gone(), 0);
        to.list(&prefix, &mut |key| {
            there += usize::from(!is_of_a_call(name_of(key)));
            Ok(())
        })?;
        if there >= put {
            return Ok(());
        }
        let (listed, mut folded) = (to.keys(&prefix)?, HashMap::new());
        let keys = || steps.iter().flatten().map(|(_, key)| key);
        for key in keys() {
            if let Some(other) = limits::put(&mut folded, key.to_lowercase(), key)? {
                return Err(err!(Exists, "{other} and {key} are one and the same in {}: copy to where they are two", to.describe()));
            }
        }
        let missing = keys().find(|key| listed.binary_search(key).is_err()).map_or("", String::as_str);
        Err(err!(
            Exists,
            "{there} of {put} keys are in {}, which takes different names for one and the same; {missing} is not listed",
            to.describe()
        ))
    }

    /// Checks that all was there that was copied of the nodes.
    fn check_all_copied(&self) -> Result<()> {
        let nodes: Vec<&str> = collect(self.documents.keys().filter(|key| MAKES_A_NODE.contains(&name_of(key))))?;
        let (pool, width) = self.way.threads();
        let task = |i: u64, _: &tasks::Running<'_>| self.check_copied(nodes[i as usize]);
        tasks::run(&pool, nodes.len() as u64, width, &task, &mut |_| Ok(()))?;
        self.documents.check(self.way.from)
    }

    /// Checks that what was copied of the node with this document was all there. One that cannot be understood is copied as it is.
    fn check_copied(&self, key: &str) -> Result<()> {
        let (node, from, nothing) = (folder_of(key), self.way.from, Map::new());
        let Some(text) = self.documents.text(key) else { return Ok(()) };
        let bare = TextObject::document(text, &[]).map(|document| document.without(v3::CONSOLIDATED)).transpose()?;
        let text = bare.as_deref().unwrap_or(text);
        let Ok(then) = StoredDocument::from_bytes(from, name_of(key), key.to_string(), text, from.as_of()) else { return Ok(()) };
        let beside =
            self.documents.text(&path::join(node, v2::ATTRIBUTES)).map(|text| readable(v2::parse_attributes(text))).transpose()?.flatten();
        let attributes = if then.format == Format::V3 { v3::attributes(&then.document) } else { beside.as_ref() };
        match then.kind {
            NodeKind::Array => match shape_of(&then.document) {
                Some(shape) => {
                    let gone = &self.moves.gone_below(node)?;
                    let array = CopiedNode::Array { text, document: &then.document, mark: &then.mark, shape: &shape, gone };
                    kept::check_copied(from, node, Some(key), array)
                }
                None => Ok(()),
            },
            _ => kept::check_copied(from, node, Some(key), CopiedNode::Group(attributes.unwrap_or(&nothing))),
        }
    }

    /// Whether the document of a node, and in version 2 its attributes, can be understood.
    fn is_understood(&self, key: &str) -> Result<bool> {
        let Some(text) = self.documents.text(key) else { return Ok(false) };
        let from = self.way.from;
        let Some(found) = readable(StoredDocument::from_bytes(from, name_of(key), key.to_string(), text, from.as_of()))? else {
            return Ok(false);
        };
        match self.documents.text(&path::join(folder_of(key), v2::ATTRIBUTES)) {
            Some(text) if found.format == Format::V2 => Ok(readable(v2::parse_attributes(text))?.is_some()),
            _ => Ok(true),
        }
    }

    /// The nodes that were made of documents with these keys. Of those that cannot be understood, and all below them, consolidated metadata have what was copied.
    fn understood(&self, steps: &[Vec<(String, String)>]) -> Result<Vec<String>> {
        let mut damaged = HashSet::new();
        for (key, _) in steps.iter().flatten() {
            if !self.is_understood(key)? {
                limits::add(&mut damaged, folder_of(key))?;
            }
        }
        collect(
            steps.iter().flatten().filter(|(key, _)| !path::is_within_any(key, &damaged)).map(|(_, to_key)| folder_of(to_key).to_string()),
        )
    }

    fn compare(&self, key: &str, to_key: &str) -> Result<()> {
        match self.documents.text(key) {
            Some(text) if get(&**self.way.to.shared(), to_key, MAX_CONSOLIDATED)?.as_ref() != Some(text) => {
                Err(err!(Checksum, "the copy has other bytes, compared with {key}").at_key(to_key))
            }
            Some(_) => Ok(()),
            None => self.compare_object(key, to_key),
        }
    }

    /// Compares an object with its copy. A run that goes on stores its last chunk again with each step: then it is copied again.
    fn compare_object(&self, key: &str, to_key: &str) -> Result<()> {
        let mut compared = self.way.compare(key, to_key);
        for _ in 1..READINGS {
            if !matches!(&compared, Err(e) if matches!(e.kind(), ErrorKind::Checksum | ErrorKind::Again)) {
                break;
            }
            self.way.move_object(key, to_key, &self.moves)?;
            compared = self.way.compare(key, to_key);
        }
        compared
    }
}

/// Whether a document and its copy differ in consolidated metadata at most, which were made anew behind the copy.
fn differs_in_consolidated_metadata(from: (&Store, &str), to: (&Store, &str)) -> Result<bool> {
    if name_of(from.1) != v3::DOCUMENT {
        return Ok(name_of(from.1) == v2::CONSOLIDATED);
    }
    let [document, copy] = [from, to].map(|(store, key)| -> Result<Option<Map>> {
        let text = get(&**store.shared(), key, MAX_CONSOLIDATED)?;
        let mut document = text.map_or(Ok(None), |text| readable(json::parse_object(&text, MAX_CONSOLIDATED)))?;
        document.iter_mut().for_each(|members| members.retain(|name, _| **name != *v3::CONSOLIDATED));
        Ok(document)
    });
    let document = document?;
    Ok(document.is_some() && document == copy?)
}
