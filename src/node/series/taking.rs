//! The values that a series takes for the next step, once all variables are claimed.

use super::super::appender::Appender;
use super::super::together;
use super::{Series, SeriesArray, counted, is_of_store};
use crate::engine::Memory;
use crate::error::{Error, Result};
use crate::limits::collect;

impl Series {
    /// Takes a variable's values of the next step; steps before it that the variable lacks get the fill value.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub(super) unsafe fn take(&mut self, index: usize, memory: &Memory) -> Result<()> {
        self.claim_for(index)?;
        // SAFETY: forwarded from the caller.
        unsafe { self.parts[index].take(self.position, memory) }
    }

    /// Takes the values of several variables, each by its index, with the number of a coordinate's. Chunks that are whole with them are stored at the
    /// same time.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub(super) unsafe fn take_all(&mut self, given: Vec<(usize, Memory, Option<f64>)>) -> Result<()> {
        given.first().map_or(Ok(()), |(index, ..)| self.claim_for(*index))?;
        let (position, any_thread) = (self.position, self.any_thread());
        let mut parts: Vec<Option<&mut SeriesArray>> = collect(self.parts.iter_mut().map(Some))?;
        let mut given = collect(given.into_iter().filter_map(|(index, memory, value)| Some((parts[index].take()?, memory, value))))?;
        // Threads take longer to start than values to wait.
        let stores = given.iter().any(|(part, memory, _)| !part.appender.keeps_step(position, memory));
        together::for_each(self.dataset.group().store(), any_thread && stores, &mut given, |(part, memory, value)| {
            // SAFETY: forwarded from the caller.
            unsafe { part.take(position, memory) }?;
            (part.kept, part.value) = (true, *value);
            Ok(())
        })
    }

    /// Takes back the values of a step that was not ended, once all others are published: those that made a chunk whole are stored.
    pub(super) fn take_back(&mut self) -> Result<()> {
        let end = self.position;
        self.parts.iter_mut().map(|part| part.appender.take_back(end)).fold(Ok(()), Result::and)
    }

    /// Claims all variables where that is due, before the one at `index` has values: none is published without the others.
    fn claim_for(&mut self, index: usize) -> Result<()> {
        self.claim().map_err(|e| self.parts[index].not_taken(self.position, e))
    }

    /// Claims all variables where that is due.
    pub(super) fn claim(&mut self) -> Result<()> {
        if self.is_to_claim() { self.claim_by(Appender::claim) } else { Ok(()) }
    }

    fn is_to_claim(&self) -> bool {
        self.parts.iter().any(|part| part.appender.is_to_claim())
    }

    /// Calls `work`, which claims a variable where that is due, for each of them: for the first one before the others then. Of two programs that begin at
    /// the same time one gets that, and all others; else each may get some, and none could go on.
    pub(super) fn claim_by(&mut self, work: impl Fn(&mut Appender) -> Result<()> + Sync) -> Result<()> {
        let (any_thread, first) = (self.any_thread(), usize::from(self.is_to_claim()));
        let (first, others) = self.parts.split_at_mut(first);
        first.iter_mut().try_for_each(|part| work(&mut part.appender))?;
        together::for_each(self.dataset.group().store(), any_thread, others, |part| work(&mut part.appender))
    }
}

impl SeriesArray {
    /// Takes the values of the step at `position`.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    unsafe fn take(&mut self, position: u64, memory: &Memory) -> Result<()> {
        let filled = self.fill_to(position);
        // SAFETY: forwarded from the caller.
        filled.and_then(|()| unsafe { self.appender.put(1, memory) }).map_err(|e| self.not_taken(position, e))
    }

    /// Says of which variable the values are that were not taken.
    fn not_taken(&self, position: u64, e: Error) -> Error {
        match is_of_store(&e) {
            true => {
                let step = counted(position);
                e.with_note(&format!(" (values of {:?} of step {step}, which were not taken: give them again)", self.name))
            }
            false if e.key().is_none() => e.with_note(&format!(" (the variable {:?})", self.name)),
            false => e,
        }
    }
}
