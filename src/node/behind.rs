//! Groups whose consolidated metadata are behind, with the changed nodes below, until the program flushes the store.

use super::listed_lengths::Lengths;
use super::path;
use crate::fork::ForkPreserved;
use crate::metadata::v2;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

/// The most nodes that are noted where memory has ended: each keeps what its note took of the reserve.
pub(super) const MOST_NOTES: usize = 64;

/// The changed nodes by their paths, and which of their lengths may be told, by the paths of groups.
type Groups = BTreeMap<String, BTreeMap<String, Lengths>>;

/// See the module.
#[derive(Default)]
pub(super) struct Behind {
    groups: ForkPreserved<Groups>,
    /// How many nodes were noted where memory had ended.
    without_memory: AtomicUsize,
    /// How many calls tell of what they took. A child of `fork` in which none of them goes on reads documents for them.
    telling: AtomicUsize,
}

/// What was taken, to be told: until this is dropped groups are behind.
pub(super) struct Telling<'a> {
    pub taken: Groups,
    of: &'a Behind,
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        self.of.telling.fetch_sub(1, Release);
    }
}

impl Behind {
    /// Notes that the consolidated metadata of a group lack the change of a node.
    pub fn note(&self, group: &str, path: &str, lengths: Lengths) {
        self.groups.write(|behind| {
            let told = behind.entry(group.to_string()).or_default().entry(path.to_string()).or_insert(lengths);
            *told = told.and(lengths);
        });
    }

    /// Notes what a group cannot be told of now: changed nodes, and those that are gone, by the names of their entries.
    pub fn note_untold<'a>(&self, group: &str, changed: &[(&str, Lengths)], gone: impl Iterator<Item = &'a str>) {
        changed.iter().for_each(|(path, lengths)| self.note(group, path, *lengths));
        let is_v2 = |document: &str| [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES].contains(&document);
        let node = |entry: &'a str| entry.rsplit_once('/').filter(|(_, last)| is_v2(last)).map_or(entry, |(node, _)| node);
        gone.for_each(|entry| self.note(group, &path::join(group, node(entry)), Lengths::ALL));
    }

    /// Whether a node may be noted where memory has ended: it is noted already, or counts as such from now on.
    pub fn has_room_without_memory(&self, path: &str) -> bool {
        let is_noted = self.groups.read(|behind| behind.get("").is_some_and(|paths| paths.contains_key(path)));
        is_noted || self.without_memory.fetch_add(1, Relaxed) < MOST_NOTES
    }

    /// Whether nothing is behind.
    pub fn is_empty(&self) -> bool {
        // In this order: what is taken in between is being told by then.
        self.groups.read(Groups::is_empty) && self.telling.load(Acquire) == 0
    }

    /// Takes all that was noted.
    pub fn take(&self) -> Telling<'_> {
        self.without_memory.store(0, Relaxed);
        self.telling.fetch_add(1, AcqRel);
        Telling { taken: self.groups.write(std::mem::take), of: self }
    }

    /// Notes again what was taken.
    pub fn put_back(&self, taken: Groups) {
        let noted = self.groups.replace(taken);
        noted.iter().for_each(|(group, paths)| paths.iter().for_each(|(path, lengths)| self.note(group, path, *lengths)));
    }

    /// Leaves the length of a dimension of an array as it is told at the next flush, too: it is not published.
    pub fn untell(&self, path: &str, dim: usize) {
        self.groups.write(|behind| {
            let all = behind.values_mut().filter_map(|paths| paths.get_mut(path));
            all.for_each(|told| *told = told.without(dim));
        });
    }
}
