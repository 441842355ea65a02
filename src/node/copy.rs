//! Copying a node with all below it, key by key, into the same or another store: several objects at a time, compared afterwards if that is
//! asked for. A copy that was cut short is no node, and the same call completes it ([`super::place`]).

use super::lookup::{find, require};
use super::transfer::{Moves, OnProgress, Way, moved_path};
use super::{Array, Create, NodeKind, Store, draft, hierarchy, path, place, stored_chunks, upkeep};
use crate::engine::tasks;
use crate::error::{Result, bail};
use crate::metadata::{v2, v3};
use crate::store::StorageExt;
use std::path::{Path, PathBuf};

/// Documents that make a node be there: they come after all other keys.
const MAKES_A_NODE: &[&str] = &[v3::DOCUMENT, v2::ARRAY, v2::GROUP];

impl Store {
    /// Copies the node at `path` with all below it to `to_path` in `to`, keys and bytes as they are, and makes the groups above
    /// it that are missing there. The documents of nodes come after all else, the node's own last. `how` is `New` or `Overwrite` (else
    /// `Argument`); what is overwritten stays until the copy is whole where folders can be replaced. A place inside of the other is an error of kind `Argument`. With `verify` every object is read again and compared with
    /// its source, before the node's own document is there; a difference is an error of kind `Checksum`. `progress` is told after
    /// each key how many are done of how many (twice as many with `verify`); its error ends the copy.
    pub fn copy_node(
        &self,
        path: &str,
        (to, to_path): (&Store, &str),
        how: Create,
        verify: bool,
        progress: &mut OnProgress<'_>,
    ) -> Result<()> {
        let (path, to_path) = (path::normalize(path)?, hierarchy::new_path(to, to_path)?);
        draft::refuse(self)?;
        self.check_listable()?;
        let found = require(self, &path, NodeKind::None)?;
        refuse_overlap((self, &path), (to, &to_path))?;
        if how == Create::OpenIfSame {
            bail!(Argument, "a copy is new or overwrites; there is nothing to open");
        }
        [(self, &path), (to, &to_path)].into_iter().for_each(|(store, path)| store.settle(path));
        let mut changed = hierarchy::ensure_ancestors(to, &to_path, found.format)?;
        let (made, replaced) = place::fill((self, &path), (to, &to_path), how, &mut |store, place| {
            let made = self.copy_keys(&path, (store, place), verify, progress)?;
            Ok(made.iter().map(|node| moved_path(node, place, &to_path)).collect::<Vec<_>>())
        })?;
        changed.extend(made);
        upkeep::after_change(to, &changed, replaced.then_some(to_path.as_str()))
    }

    /// Refuses files and folders in each other's place among the chunks of the arrays whose documents are to be copied: a listing of keys
    /// shows no empty folder, and the chunk would be missing in the copy. Arrays that cannot be understood are copied as they are.
    fn check_chunk_places(&self, steps: &[Vec<(String, String)>; 3]) -> Result<()> {
        if self.shared().files().is_none() {
            return Ok(());
        }
        for (key, _) in steps[1..].iter().flatten() {
            let node = key.rsplit_once('/').map_or("", |(folder, _)| folder);
            let Ok(Some(found)) = find(self, node) else { continue };
            if found.kind == NodeKind::Array
                && let Ok(array) = Array::quietly(self, node.to_string(), found)
            {
                stored_chunks::each_chunk(self.shared(), &array.state(), &mut |_, _| Ok(()))?;
            }
        }
        Ok(())
    }

    /// Copies all keys below `path`; returns the paths of the nodes that were made by it.
    fn copy_keys(&self, path: &str, (to, to_path): (&Store, &str), verify: bool, progress: &mut OnProgress<'_>) -> Result<Vec<String>> {
        let (from_prefix, to_prefix) = (path::prefix(path), path::prefix(to_path));
        // What holds the data, the documents of the nodes below, and those of the node itself.
        let mut steps: [Vec<(String, String)>; 3] = Default::default();
        self.shared().list(&from_prefix, &mut |key| {
            let tail = key.strip_prefix(&from_prefix).unwrap_or(key);
            let name = tail.rsplit('/').next().unwrap_or(tail);
            let step = if MAKES_A_NODE.contains(&tail) { 2 } else { usize::from(MAKES_A_NODE.contains(&name)) };
            steps[step].push((key.to_string(), format!("{to_prefix}{tail}")));
            Ok(())
        })?;
        self.check_chunk_places(&steps)?;
        let (way, moves) = (Way { from: self, to, link: false }, Moves::default());
        let total = steps.iter().map(|keys| keys.len() as u64).sum::<u64>() * if verify { 2 } else { 1 };
        let mut done = 0;
        for keys in &steps {
            way.move_all(keys, &moves, &mut |n| progress(done + n, total))?;
            done += keys.len() as u64;
            // The node's own document comes when all else is compared.
            if verify && std::ptr::eq(keys, &steps[1]) {
                for keys in &steps[..2] {
                    compare_all(&way, keys, &mut |n| progress(done + n, total))?;
                    done += keys.len() as u64;
                }
            }
        }
        if verify {
            compare_all(&way, &steps[2], &mut |n| progress(done + n, total))?;
        }
        let folder = |key: &String| key.rsplit_once('/').map_or("", |(folder, _)| folder).to_string();
        Ok(steps[1..].iter().flatten().map(|(_, to_key)| folder(to_key)).collect())
    }
}

/// Compares objects with their copies, several at a time.
fn compare_all(way: &Way<'_>, keys: &[(String, String)], told: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
    let (pool, width) = way.threads();
    let task = |i: u64, _: &tasks::Running<'_>| way.compare(&keys[i as usize].0, &keys[i as usize].1);
    tasks::run(&pool, keys.len() as u64, width, &task, told)
}

/// Refuses to copy a node into itself, or over a node that holds it, by whichever links it is named.
pub(super) fn refuse_overlap(from: (&Store, &str), to: (&Store, &str)) -> Result<()> {
    let (a, b) = (from.0.place(from.1), to.0.place(to.1));
    // Two stores in memory are two places; of two folders, one may be inside the other.
    let is_folder = a.starts_with('/') || cfg!(windows) && from.0.shared().files().is_some();
    if !std::sync::Arc::ptr_eq(from.0.shared(), to.0.shared()) && !is_folder {
        return Ok(());
    }
    let (real_a, real_b) = if is_folder { (followed(&a), followed(&b)) } else { (a.clone().into(), b.clone().into()) };
    let what = match (real_b.starts_with(&real_a), real_a.starts_with(&real_b)) {
        (false, false) => return Ok(()),
        (true, true) => "is the same as",
        (true, false) => "lies inside of",
        (false, true) => "holds",
    };
    bail!(Argument, "{} {what} {}", b.trim_end_matches('/'), a.trim_end_matches('/'))
}

/// Follows the symbolic links in a path as far as it exists.
fn followed(place: &str) -> PathBuf {
    let place = Path::new(place);
    let real = |above: &Path| Some(above.canonicalize().ok()?.join(place.strip_prefix(above).ok()?));
    place.ancestors().find_map(real).unwrap_or_else(|| place.to_path_buf())
}
