//! Whose turn it is: the requests of the queue in their order, and those on each chunk.

use super::footprint::Footprint;
use crate::error::Result;
use crate::limits::{self, Dims};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Entries in the order of their numbers, of which any may leave.
pub(super) struct Line<T> {
    /// `None` where one has left.
    slots: Vec<(u64, Option<T>)>,
    /// All before have left.
    first: usize,
    len: usize,
}

impl<T> Default for Line<T> {
    fn default() -> Line<T> {
        Line { slots: Vec::new(), first: 0, len: 0 }
    }
}

impl<T> Line<T> {
    pub fn len(&self) -> usize {
        self.len
    }

    /// Appends an entry with a number above all others.
    pub fn push(&mut self, number: u64, entry: T) -> Result<()> {
        limits::make_room(&mut self.slots, 1)?;
        self.slots.push((number, Some(entry)));
        self.len += 1;
        Ok(())
    }

    /// Returns the entries and their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        Self::there(&self.slots[self.first..])
    }

    /// Returns those with lower numbers.
    pub fn before(&self, number: u64) -> impl Iterator<Item = (u64, &T)> {
        self.iter().take_while(move |(n, _)| *n < number)
    }

    /// Returns those from that number on.
    pub fn from(&self, number: u64) -> impl Iterator<Item = (u64, &T)> {
        Self::there(&self.slots[self.slots.partition_point(|(n, _)| *n < number)..])
    }

    fn there(slots: &[(u64, Option<T>)]) -> impl Iterator<Item = (u64, &T)> {
        slots.iter().filter_map(|(n, entry)| Some((*n, entry.as_ref()?)))
    }

    pub fn get(&self, number: u64) -> Option<&T> {
        let at = self.slots.binary_search_by_key(&number, |(n, _)| *n).ok()?;
        self.slots[at].1.as_ref()
    }

    /// Takes an entry off.
    pub fn take(&mut self, number: u64) -> Option<T> {
        let at = self.slots.binary_search_by_key(&number, |(n, _)| *n).ok()?;
        let entry = self.slots[at].1.take()?;
        self.len -= 1;
        while self.slots.get(self.first).is_some_and(|(_, entry)| entry.is_none()) {
            self.first += 1;
        }
        // Half of them, or a few, so that to move the others costs each that leaves little.
        if self.slots.len() > 2 * self.len + 16 || self.len == 0 {
            self.slots.retain(|(_, entry)| entry.is_some());
            self.first = 0;
        }
        Some(entry)
    }
}

/// The requests on each chunk of each array. In each chunk the first has its turn, and the reads behind it up to a write if it reads, too.
#[derive(Default)]
pub(super) struct Turns {
    arrays: HashMap<String, HashMap<Dims, ChunkLine>>,
}

/// The requests on a chunk: whether each writes.
#[derive(Default)]
struct ChunkLine {
    line: Line<bool>,
    /// How many write.
    writes: usize,
}

impl Turns {
    /// Puts a request at the end of the lines of its chunks. Returns in how many of them it has to wait for its turn.
    pub fn add(&mut self, footprints: &[Footprint], number: u64) -> Result<usize> {
        let added = self.try_add(footprints, number);
        if added.is_err() {
            self.remove(footprints, number, &mut |_| {});
        }
        added
    }

    fn try_add(&mut self, footprints: &[Footprint], number: u64) -> Result<usize> {
        let mut waits = 0;
        for footprint in footprints {
            if !self.arrays.contains_key(&footprint.place) {
                limits::put(&mut self.arrays, limits::text_of(&footprint.place)?, HashMap::new())?;
            }
            let Some(array) = self.arrays.get_mut(&footprint.place) else { continue };
            for chunk in footprint.chunks() {
                limits::reserve_one(array)?;
                let turn = array.entry(chunk).or_default();
                waits += usize::from(turn.add(number, footprint.writes)?);
            }
        }
        Ok(waits)
    }

    /// Takes a request out of all lines, and calls `turn` for each of the others, and each of its chunks, that has its turn there by that.
    pub fn remove(&mut self, footprints: &[Footprint], number: u64, turn: &mut dyn FnMut(u64)) {
        for footprint in footprints {
            let Some(array) = self.arrays.get_mut(&footprint.place) else { continue };
            for chunk in footprint.chunks() {
                let Entry::Occupied(mut found) = array.entry(chunk) else { continue };
                found.get_mut().remove(number, turn);
                if found.get().line.len() == 0 {
                    found.remove();
                }
            }
            if array.is_empty() {
                self.arrays.remove(&footprint.place);
            }
        }
    }

    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.arrays.is_empty()
    }

    /// Returns a request that has to go on before one with these footprints and that number may begin, if there is any.
    pub fn in_front(&self, footprints: &[Footprint], number: u64) -> Option<u64> {
        footprints.iter().find_map(|footprint| {
            let array = self.arrays.get(&footprint.place)?;
            footprint.chunks().find_map(|chunk| array.get(&chunk)?.in_front(number, footprint.writes))
        })
    }
}

impl ChunkLine {
    /// Returns whether the request has to wait here. One of several entries may be here already, for another of them.
    fn add(&mut self, number: u64, writes: bool) -> Result<bool> {
        if self.line.get(number).is_some() {
            return Ok(false);
        }
        let waits = if writes { self.line.len() > 0 } else { self.writes > 0 };
        self.line.push(number, writes)?;
        self.writes += usize::from(writes);
        Ok(waits)
    }

    fn remove(&mut self, number: u64, turn: &mut dyn FnMut(u64)) {
        let was_first = self.line.iter().next().is_some_and(|(n, _)| n == number);
        let Some(wrote) = self.line.take(number) else { return };
        self.writes -= usize::from(wrote);
        if let (true, Some((next, true))) = (was_first, self.line.iter().next()) {
            turn(next);
        }
        if wrote && !self.line.before(number).any(|(_, writes)| *writes) {
            self.line.from(number).take_while(|(_, writes)| !**writes).for_each(|(next, _)| turn(next));
        }
    }

    fn in_front(&self, number: u64, writes: bool) -> Option<u64> {
        let mut before = self.line.before(number);
        let (first, first_writes) = before.next()?;
        let waits = writes || *first_writes || (self.writes > 0 && before.any(|(_, writes)| *writes));
        waits.then_some(first)
    }
}
