//! Parts whose bytes are near one another and are read at once.

use super::decode::Machine;
use super::part::Part;
use super::scratch::ChainScratch;
use crate::error::{Error, Result, err};
use crate::limits;
use crate::store::ByteRange;
use std::borrow::Borrow;

/// Parts whose bytes are read at once. The first is owned or borrowed.
pub(super) struct PartGroup<P: Borrow<Part> = Part> {
    pub first: P,
    pub first_len: u64,
    pub others: Vec<(Part, u64, u64)>,
    pub start: u64,
    pub end: u64,
}

impl<P: Borrow<Part>> PartGroup<P> {
    pub fn new(first: P, start: u64, len: u64) -> Result<PartGroup<P>> {
        let end = start.checked_add(len).ok_or_else(|| err!(ShardIndex, "the range {start} + {len} overflows"))?;
        Ok(PartGroup { first, first_len: len, others: Vec::new(), start, end })
    }

    /// Takes the next parts off `parts` as long as their spans begin near the group's end; with `spare_direct`, none that are read straight
    /// into memory.
    pub fn take_near(&mut self, machine: &Machine<'_>, parts: &mut Vec<Part>, spare_direct: bool) -> Result<()> {
        while let Some(next) = parts.last() {
            let ByteRange::Span { offset, len } = machine.want(next)? else { return Ok(()) };
            let near = offset >= self.end && offset - self.end <= machine.cost.gap();
            let end = offset.saturating_add(len);
            if !near || end - self.start > machine.cost.merge {
                return Ok(());
            }
            if (spare_direct && machine.direct(next).is_some()) || machine.known_index(next).is_some() {
                return Ok(());
            }
            limits::make_room(&mut self.others, 1)?;
            self.end = end;
            self.others.extend(parts.pop().map(|part| (part, offset, len)));
        }
        Ok(())
    }

    /// Returns how many bytes are read.
    pub fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Adds the place of the inner chunk that reaches furthest to an error in reading the bytes.
    pub fn annotate(&self, e: Error) -> Error {
        self.others.last().map_or(self.first.borrow(), |(part, ..)| part).annotate(e)
    }

    /// Gives every part its piece of the bytes.
    pub fn advance(&self, machine: &Machine<'_>, bytes: &[u8], chain: &mut ChainScratch, parts: &mut Vec<Part>) -> Result<()> {
        machine.advance(self.first.borrow(), &bytes[..self.first_len as usize], chain, parts)?;
        for (part, offset, len) in &self.others {
            let at = (offset - self.start) as usize;
            machine.advance(part, &bytes[at..at + *len as usize], chain, parts)?;
        }
        Ok(())
    }
}
