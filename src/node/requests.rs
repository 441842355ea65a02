//! Reads and writes that go on without their caller, and batches: arrays in front of the engine's requests.

use super::Array;
use crate::engine::{self, BatchEntry, BoundArray, Memory, Pending, RequestOptions, Selection};
use crate::error::{Error, Result};
use crate::limits;
use std::sync::Arc;

/// One region of a batch: the array, which of its elements, and their memory.
pub type BatchPart<'a> = (&'a Array, Selection, Memory);

impl Array {
    /// Starts to read the selected elements into `memory`.
    ///
    /// # Safety
    /// As for [`engine::start_read`].
    pub unsafe fn start_read(&self, selection: &Selection, memory: &Memory, options: RequestOptions) -> Result<Pending> {
        let bound = self.bound_for_reading(selection)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::start_read(&bound, selection, memory, self.options(options)) }
    }

    /// Starts to write the selected elements from `memory`.
    ///
    /// # Safety
    /// As for [`engine::start_write`].
    pub unsafe fn start_write(&self, selection: &Selection, memory: &Memory, options: RequestOptions) -> Result<Pending> {
        let bound = self.bound_for_writing(selection)?;
        // SAFETY: the caller vouches for the memory.
        unsafe { engine::start_write(&bound, selection, memory, self.options(options)) }
    }

    /// Bounded by the context's budget; keeps what the array needs for as long as its work goes on. That is not the handle, which stores what waits
    /// when it is dropped: whoever cancels or frees a request does no I/O.
    fn options(&self, options: RequestOptions) -> RequestOptions {
        RequestOptions { budget: self.store().context().budget(), keeps: Some(Box::new(self.state())), ..options }
    }
}

/// Reads many regions as one request.
///
/// # Safety
/// As for [`engine::read_many`].
pub unsafe fn read_many(parts: Vec<BatchPart<'_>>) -> Result<()> {
    let entries = entries(&parts, Array::bound_for_reading)?;
    // SAFETY: the caller vouches for the memory.
    unsafe { engine::read_many(&entries) }
}

/// Writes many regions as one request.
///
/// # Safety
/// As for [`engine::write_many`].
pub unsafe fn write_many(parts: Vec<BatchPart<'_>>) -> Result<()> {
    let entries = entries(&parts, Array::bound_for_writing)?;
    // SAFETY: the caller vouches for the memory.
    unsafe { engine::write_many(&entries) }
}

/// Starts to read many regions as one request; the first one's context bounds it.
///
/// # Safety
/// As for [`engine::start_read_many`].
pub unsafe fn start_read_many(parts: Vec<BatchPart<'_>>, options: RequestOptions) -> Result<Pending> {
    let entries = entries(&parts, Array::bound_for_reading)?;
    // SAFETY: the caller vouches for the memory.
    unsafe { engine::start_read_many(&entries, options_of_all(&parts, options)?) }
}

/// Starts to write many regions as one request; the first one's context bounds it.
///
/// # Safety
/// As for [`engine::start_write_many`].
pub unsafe fn start_write_many(parts: Vec<BatchPart<'_>>, options: RequestOptions) -> Result<Pending> {
    let entries = entries(&parts, Array::bound_for_writing)?;
    // SAFETY: the caller vouches for the memory.
    unsafe { engine::start_write_many(&entries, options_of_all(&parts, options)?) }
}

/// Waits for all requests that were submitted before, and ends the library's own threads.
pub fn shutdown() -> Result<()> {
    engine::request_queue::shutdown()
}

/// An error with the number of the entry that it is about.
pub fn of_entry(entry: usize, e: Error) -> Error {
    engine::request::of_entry(Some(entry), e)
}

type Bind = fn(&Array, &Selection) -> Result<Arc<BoundArray>>;

fn entries(parts: &[BatchPart<'_>], bind: Bind) -> Result<Vec<BatchEntry>> {
    let entry = |(i, (array, selection, memory)): (usize, &BatchPart<'_>)| {
        let array = bind(array, selection).map_err(|e| if selection.first_in_region().is_some() { e } else { of_entry(i, e) })?;
        Ok(BatchEntry { array, selection: selection.clone(), memory: memory.clone() })
    };
    limits::try_collect(parts.iter().enumerate().map(entry))
}

fn options_of_all(parts: &[BatchPart<'_>], options: RequestOptions) -> Result<RequestOptions> {
    let keeps = limits::collect(parts.iter().map(|(array, ..)| array.state()))?;
    let budget = parts.first().map_or_else(|| options.budget.clone(), |(array, ..)| array.store().context().budget());
    Ok(RequestOptions { budget, keeps: Some(Box::new(keeps)), ..options })
}
