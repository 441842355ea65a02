//! What a series publishes: the length of all documents, of which consolidated metadata are told once all of them have it.

use super::super::appender::Appender;
use super::super::listed_lengths::Lengths;
use super::super::together;
use super::super::told_length::ToldLength;
use super::super::upkeep;
use super::{Series, SeriesArray};
use crate::error::Result;
use crate::limits::collect;
use crate::metadata::Format;

impl Series {
    /// Gives the documents of all variables the length `end`, the last variable's behind the others', then consolidated metadata.
    pub(super) fn publish_documents(&mut self, end: u64, declare: fn(&mut Appender, u64) -> Result<()>) -> Result<()> {
        self.told.begin(end);
        let (others, any_thread) = (self.parts.len().saturating_sub(1), self.any_thread());
        let (others, last) = self.parts.split_at_mut(others);
        together::for_each(self.dataset.group().store(), any_thread, others, |part| declare(&mut part.appender, end))?;
        last.iter_mut().try_for_each(|part| declare(&mut part.appender, end))?;
        self.tell(end)
    }

    /// Gives the variables that other programs have defined meanwhile, and those that were put and not published, the length that the others have:
    /// readers and the next series find all of one length.
    pub(super) fn publish_late(&mut self) -> Result<()> {
        self.dataset.find_new()?;
        self.dataset.renew_names()?;
        self.take_late()?;
        let end = self.published;
        if self.parts.iter().all(|part| part.appender.position().1 >= end) {
            return Ok(());
        }
        // Where another series goes on with the run, it is for that one to say how long they are.
        self.claim_by(|appender| appender.look_again(end))?;
        self.publish_until(end)
    }

    /// Looks whether the first variable, which others make longer before they publish, has the length that this series gave it.
    pub(super) fn look_at_length(&mut self) -> Result<()> {
        self.parts.first_mut().map_or(Ok(()), |part| part.appender.look_only())
    }

    /// The longest length that a document may have by this series: longer ones are somebody else's.
    pub(super) fn longest(&self) -> u64 {
        let of = |part: &SeriesArray| [Some(part.appender.position().1), part.appender.doubtful];
        self.parts.iter().flat_map(of).flatten().fold(self.published, u64::max)
    }

    /// Publishing has failed, before which `before` was the longest length: what was told in place of others' lengths, as if they were of this series, is
    /// told anew, unless some documents have its steps.
    pub(super) fn end_at_longest(&self, before: u64) {
        let longest = self.longest();
        self.told.end_at(longest);
        if before > longest && longest == self.published {
            // What cannot be told waits for a flush.
            let _ = self.tell_lengths(Lengths::along);
        }
    }

    /// Tells consolidated metadata the length of all variables along the dimension: those of others are published by others.
    fn tell(&self, end: u64) -> Result<()> {
        self.told.tell(end);
        self.tell_lengths(Lengths::of_series)
    }

    fn tell_lengths(&self, along: fn(usize) -> Lengths) -> Result<()> {
        let changes = self.parts.iter().map(|part| (part.appender.array().path(), along(part.dim)));
        let store = self.dataset.group().store();
        // What there is no memory to list waits for a flush, too.
        let listed = collect(changes.clone()).inspect_err(|_| {
            store.note_change();
            upkeep::tell_changes_later(store, changes);
        });
        let are_v3 = self.parts.iter().all(|part| part.appender.array().format() == Format::V3);
        upkeep::after_changes(store, &listed?, are_v3.then_some(Format::V3))
    }

    /// Whether the documents of all variables have the same length now.
    fn is_even(&self) -> bool {
        let mut lengths = self.parts.iter().map(|part| {
            let array = part.appender.array();
            array.read_fresh(array.format()).ok()?.meta.shape.get(part.dim).copied()
        });
        let first = lengths.next().flatten();
        first.is_some() && lengths.all(|length| length == first)
    }
}

impl Drop for Series {
    fn drop(&mut self) {
        // Errors are ignored in `drop`; close the series to see them.
        let _ = self.publish().and_then(|()| self.take_back());
        let longest = self.longest();
        if longest == self.published || self.parts.iter().all(|part| part.appender.position().1 == longest) {
            return;
        }
        // Some documents may have steps that others lack, unless somebody has changed all of them since.
        self.told = ToldLength::new(0);
        if self.is_even() {
            let _ = self.tell_lengths(Lengths::along);
        } else {
            // What waits for a flush tells nothing that only some documents have.
            let arrays = self.parts.iter().map(|part| (part.appender.array(), part.dim));
            arrays.for_each(|(array, dim)| array.store().behind().untell(array.path(), dim));
        }
    }
}
