//! Appending step by step along one dimension: steps wait in memory until their chunks are whole, and the array's shape follows the data,
//! so that readers see whole steps only.

mod claiming;
mod fencing;

use super::claim::{self, Claim};
use super::fill::{repeated, write_fill};
use super::listed_lengths::Lengths;
use super::own_folder::OwnFolder;
use super::published::Published;
use super::resize::{across, slab, undo};
use super::state::ArrayState;
use super::stored::StoredDocument;
use super::{Array, document};
use crate::counting;
use crate::engine::{self, BoundArray, Growing, Memory, Selection, WriteBack};
use crate::error::{Error, ErrorKind, Result, bail, err};
use crate::limits::{Dims, MAX_DOCUMENT};
use crate::store::{Condition, swap};
use std::sync::Arc;

/// An array that is made longer along one dimension. Used by one thread at a time, and the only one that changes this length.
///
/// Published steps are in the store. The others are lost with the process, and what they left in the store is outside of the array: a new
/// appender continues after the last published step.
pub struct Appender {
    array: Array,
    dim: usize,
    /// The array as it was when the appender was opened.
    first: Arc<ArrayState>,
    folder: OwnFolder,
    /// The array as if it had no end along the dimension; what is written to it waits for whole chunks.
    endless: Arc<BoundArray>,
    kept: Arc<WriteBack>,
    /// How many steps a chunk has.
    depth: u64,
    /// The bytes of a chunk along the dimension, across the array.
    needed: usize,
    /// A series publishes this array with others: nothing is published for it alone.
    silent: bool,
    /// The shape is published when the length passes a multiple of this; 0: with each whole chunk.
    every: u64,
    /// The length with all steps that were taken.
    position: u64,
    /// The length that the document has.
    published: u64,
    /// The length that consolidated metadata were told of.
    told: u64,
    /// A length that was being published when that failed: the document may have it.
    pub(super) doubtful: Option<u64>,
    /// The document as this appender published it last.
    known: Option<Published>,
    /// On which the document that was looked at last may be replaced.
    condition: Condition,
    /// The document as it was when chunks were stored, where it is replaced on a condition: it need not be looked at again.
    looked: Option<Arc<ArrayState>>,
    /// Steps may be stored behind the end, in a chunk that the array has: from then until their length is published, whatever fails in between.
    growing: Option<Growing>,
    /// Keeps other appenders away, where the store has no locks.
    claim: Claim,
    /// Others may be erasing behind the end of the array until they look at the claim.
    is_beside_cut: bool,
}

impl Appender {
    /// Begins behind the last step of the array. The shape is published when the length passes a multiple of `every` (0: whenever a chunk
    /// is whole along `dim`). At most `memory` bytes are used for steps that wait (0: as many as are needed, which is one chunk along
    /// `dim` across the whole array). Errors: `Limit` where that is not enough; `Unsupported` where extents of chunks are listed along
    /// `dim`; `Type` for elements of variable length.
    pub fn open(array: &Array, dim: usize, every: u64, memory: usize) -> Result<Appender> {
        let mark = Appender::prepare(array, None)?;
        let claim = Claim::new(array.store().shared().capabilities().swaps, mark);
        let mut appender = Appender::begin(array, dim, memory, false, claim)?;
        appender.every = every;
        appender.finish_cut().map(|()| appender)
    }

    /// Erases what a cut of the array has left that was interrupted, or is under way in another process.
    pub(super) fn finish_cut(&mut self) -> Result<()> {
        self.is_beside_cut |= self.array.finish_cut()?;
        Ok(())
    }

    /// Makes an array ready for an appender: it is what its document says now, which is `found` where that was read just now, while the state with it
    /// was the array's. Gives the mark of another appender behind the document. Where another thread gives the array a state meanwhile, which may be
    /// of a later document, it is read once more.
    pub(super) fn prepare(array: &Array, found: Option<(Arc<ArrayState>, StoredDocument)>) -> Result<Vec<u8>> {
        array.store().check_writable()?;
        array.dialect().refuse()?;
        array.store_waiting()?;
        if let Some((seen, mut found)) = found {
            let mark = std::mem::take(&mut found.mark);
            if array.renew_from(&seen, found)? {
                return Ok(mark);
            }
        }
        loop {
            let seen = array.state();
            let (fresh, text, _) = array.read_to_change()?;
            if array.renew_after(&seen, fresh, None)? {
                return Ok(claim::mark_in(&text));
            }
        }
    }

    /// Makes an appender at an array that is ready for it. At most `memory` bytes (0: any number) are used for steps that wait; with `least` no more
    /// than they need.
    fn begin(array: &Array, dim: usize, memory: usize, least: bool, claim: Claim) -> Result<Appender> {
        let first = array.state();
        let bound = first.bound(array.path())?;
        let Some(&position) = bound.shape.get(dim) else {
            bail!(Bounds, "{} of an array of rank {}", counting::dimension(dim, bound.shape.len()), bound.shape.len())
        };
        let Some(depth) = bound.grid.repeated(dim) else {
            bail!(
                Unsupported,
                "the extents of the chunks are listed along {}; use ozarr_array_append, which adds chunks",
                counting::dimension(dim, bound.shape.len())
            );
        };
        if bound.data_type.is_variable() {
            bail!(Type, "elements of {} have no fixed size and cannot wait; use the functions for variable length", bound.data_type.name());
        }
        let needed = across(&bound, dim, depth);
        let limit = if memory == 0 { usize::MAX } else { memory };
        let Some(needed) = needed.filter(|&needed| needed <= limit) else {
            let needed = needed.map_or("more than this machine can have".to_string(), |n| n.to_string());
            bail!(
                Limit,
                "found a limit of {memory} bytes, expected at least {needed}: one chunk along {} ({depth} steps) across the array",
                counting::dimension(dim, bound.shape.len())
            );
        };
        // Threads that have just made a chunk whole have its buffer a moment longer.
        let each = if least { 0 } else { bound.chain.shape().iter().product::<u64>() as usize * bound.data_type.size() };
        let kept = WriteBack::new(needed.saturating_add(each.saturating_mul(bound.pool.threads())).min(limit));
        let mut shape = bound.shape.clone();
        shape[dim] = i64::MAX as u64;
        // Nobody else is behind the end.
        let (growths, write_back, fence) = (bound.growths.endless(), Some(kept.clone()), fencing::of(array, &claim));
        let endless = Arc::new(BoundArray { shape, growths, write_back, fence, ..(*bound).clone() });
        Ok(Appender {
            array: array.for_work(),
            dim,
            first,
            folder: OwnFolder::of(array),
            endless,
            kept,
            depth,
            needed,
            silent: false,
            every: 0,
            position,
            published: position,
            told: position,
            doubtful: None,
            known: None,
            condition: Condition::None,
            looked: None,
            growing: None,
            claim,
            is_beside_cut: false,
        })
    }

    /// An appender for a series, which decides when something is published; [`Appender::prepare`] gave the mark of the claim. With `least` steps
    /// that wait take no more than [`Appender::needed`].
    pub(super) fn silent(array: &Array, dim: usize, claim: Claim, least: bool) -> Result<Appender> {
        let mut appender = Appender::begin(array, dim, 0, least, claim)?;
        appender.silent = true;
        Ok(appender)
    }

    /// The array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// How many steps a chunk has.
    pub(super) fn depth(&self) -> u64 {
        self.depth
    }

    /// How many bytes waiting steps take, at most.
    pub(super) fn needed(&self) -> usize {
        self.needed
    }

    /// The length along the dimension with all steps that were taken, and the length that is published.
    pub fn position(&self) -> (u64, u64) {
        (self.position, self.published)
    }

    /// Returns the array's shape with `count` steps along the appender's dimension.
    pub fn shape_of(&self, count: u64) -> Dims {
        let mut shape = Dims::from_slice(&self.endless.shape);
        shape[self.dim] = count;
        shape
    }

    /// Takes `count` steps from `memory`, whose strides are those of [`Appender::shape_of`], and publishes if it is time. After an error in
    /// taking them the position is as before, and they can be given again; in publishing it has them, and publishing is tried again.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub unsafe fn append(&mut self, count: u64, memory: &Memory) -> Result<()> {
        let end = self.end_after(count)?;
        let due = match self.every {
            0 => end - end % self.depth,
            every if end / every > self.published / every => end,
            _ => self.published,
        };
        // SAFETY: forwarded from the caller.
        unsafe { self.take_until(count, memory, due) }?;
        self.tell()
    }

    /// Checks memory that is to hold one step, before anything is taken.
    pub(super) fn check(&self, memory: &Memory) -> Result<()> {
        memory.check_source(&self.shape_of(1), self.endless.data_type)
    }

    /// Takes `count` steps like [`Appender::append`], and publishes nothing.
    ///
    /// # Safety
    /// As for [`engine::write`].
    pub(super) unsafe fn put(&mut self, count: u64, memory: &Memory) -> Result<()> {
        // SAFETY: forwarded from the caller.
        unsafe { self.take_until(count, memory, self.published) }
    }

    /// Takes `count` steps of nothing but the fill value, and publishes nothing.
    pub(super) fn skip(&mut self, count: u64) -> Result<()> {
        let mut fill = self.endless.fill.to_element()?;
        let memory = repeated(&self.endless, &mut fill);
        // SAFETY: the element lives as long as the call; all strides are 0.
        unsafe { self.put(count, &memory) }
    }

    fn end_after(&self, count: u64) -> Result<u64> {
        let long = self.position.checked_add(count).filter(|&n| n < i64::MAX as u64 - self.depth);
        let dimension = || counting::dimension(self.dim, self.array.rank());
        long.ok_or_else(|| err!(Limit, "{} of length {} cannot grow by {count}", dimension(), self.position))
    }

    /// Takes `count` steps, then publishes those before `due`.
    ///
    /// # Safety
    /// As for [`engine::write`].
    unsafe fn take_until(&mut self, count: u64, memory: &Memory, due: u64) -> Result<()> {
        let end = self.end_after(count)?;
        let slab = slab(&self.endless.shape, self.dim, self.position, count)?;
        // Steps that only wait need not be looked after, once the array is claimed.
        if self.keeps(end, memory) && due <= self.published && !self.claim.is_due() {
            // SAFETY: forwarded from the caller. Nothing of these steps is stored: another one may have published others in their place.
            return unsafe { self.take(count, memory, &slab) }
                .inspect_err(|_| self.kept.drop_from(&self.endless.grid, self.dim, self.position));
        }
        self.alone(|this, fresh| {
            // SAFETY: forwarded from the caller.
            unsafe { this.take(count, memory, &slab) }.map_err(|e| this.undo(&slab, e))?;
            this.publish(due, fresh)
        })
    }

    /// Whether the steps before `end` that come next only wait. Where a chunk begins, another one may have to make room; those without some fields do not
    /// wait.
    fn keeps(&self, end: u64, memory: &Memory) -> bool {
        let has_room = !self.position.is_multiple_of(self.depth) || self.kept.bytes() == 0;
        end / self.depth == self.position / self.depth && has_room && !memory.is_partial(self.endless.data_type)
    }

    /// Whether one step at `position` only waits, so that nothing is asked of the store.
    pub(super) fn keeps_step(&self, position: u64, memory: &Memory) -> bool {
        self.position == position && self.keeps(position.saturating_add(1), memory)
    }

    /// Takes back what is stored of steps whose taking failed with `e`. Those before them wait on.
    fn undo(&self, slab: &Selection, e: Error) -> Error {
        self.kept.drop_from(&self.endless.grid, self.dim, self.position);
        undo(&Arc::new(BoundArray { write_back: None, ..(*self.endless).clone() }), slab, e)
    }

    /// Takes back the steps from `end` on that are not published: where the array is made longer in another way it shows the fill value there. What
    /// another one has stored since in their place stays.
    pub(super) fn take_back(&mut self, end: u64) -> Result<()> {
        let end = end.max(self.published);
        if self.position <= end || self.doubtful.is_some() {
            return Ok(());
        }
        let steps = slab(&self.endless.shape, self.dim, end, self.position - end)?;
        let taken = self.alone(|this, _| {
            this.kept.drop_from(&this.endless.grid, this.dim, end);
            write_fill(&Arc::new(BoundArray { write_back: None, ..(*this.endless).clone() }), &steps)?;
            this.position = end;
            Ok(())
        });
        taken.or_else(|e| if e.kind() == ErrorKind::State { Ok(()) } else { Err(e) })
    }

    /// Writes the steps that come next, whose place is `slab`.
    ///
    /// # Safety
    /// As for [`engine::write`].
    unsafe fn take(&mut self, count: u64, memory: &Memory, slab: &Selection) -> Result<()> {
        // SAFETY: forwarded from the caller.
        unsafe { engine::write(&self.endless, slab, memory) }?;
        self.position += count;
        Ok(())
    }

    /// Stores all steps, publishes them, and makes both durable as far as the store's mode promises it.
    pub fn flush(&mut self) -> Result<()> {
        self.publish_all()?;
        self.array.store().flush_node()
    }

    /// Flushes like [`Appender::flush`], as the last call; what closing the array brings up to date is by this call where the array is closed.
    pub fn close(&mut self) -> Result<()> {
        self.publish_all()?;
        if self.array.has_handle() { self.array.store().flush_node() } else { self.array.close() }
    }

    fn publish_all(&mut self) -> Result<()> {
        if self.position > self.published {
            self.alone(|this, fresh| this.publish(this.position, fresh))?;
        }
        self.tell()
    }

    /// Brings consolidated metadata up to date if more is published than they were told.
    fn tell(&mut self) -> Result<()> {
        if self.published > self.told {
            self.array.refresh_above(Lengths::along(self.dim))?;
            self.told = self.published;
        }
        Ok(())
    }

    /// Stores the chunks of the steps before `end`, whole or in part. The length is not published, and nothing made durable. Chunks that are
    /// whole were stored when their last step came: where no other waits, the document is not looked at.
    pub(super) fn store(&mut self, end: u64) -> Result<()> {
        self.looked = None;
        if end <= self.published || self.kept.bytes() == 0 {
            return Ok(());
        }
        self.alone(|this, fresh| {
            this.store_chunks(end)?;
            this.looked = (this.condition != Condition::None).then_some(fresh);
            Ok(())
        })
    }

    /// Publishes the length `end`, whose steps are stored and durable, in the array's own document.
    pub(super) fn declare(&mut self, end: u64) -> Result<()> {
        match self.looked.take() {
            _ if end <= self.published => Ok(()),
            // What another one changed since then fails the condition, and is looked at then.
            Some(fresh) => self.publish_length(end, fresh),
            None => self.alone(|this, fresh| this.publish_length(end, fresh)),
        }
    }

    /// Publishes the length `end`, whose steps others have stored and made durable: this appender has none that wait.
    pub(super) fn declare_stored(&mut self, end: u64) -> Result<()> {
        self.declare(end).map(|()| self.position = self.position.max(end))
    }

    /// Stores the steps before `end` that are not published, makes them durable, then publishes the shape that has them.
    fn publish(&mut self, end: u64, fresh: Arc<ArrayState>) -> Result<()> {
        if end <= self.published {
            return Ok(());
        }
        self.store_chunks(end)?;
        self.array.flush_store()?;
        self.first.while_there(|| document::check_there(self.array.store(), &self.array.document_key()))?;
        self.folder.check(&self.array)?;
        self.publish_length(end, fresh)
    }

    fn store_chunks(&self, end: u64) -> Result<()> {
        if self.kept.bytes() == 0 {
            return Ok(());
        }
        let shape = self.shape_of(end);
        let steps = slab(&shape, self.dim, self.published, end - self.published)?;
        let until = Arc::new(BoundArray { shape, write_back: None, ..(*self.endless).clone() });
        engine::flush(&until, &self.kept, Some(&steps))
    }

    fn publish_length(&mut self, end: u64, fresh: Arc<ArrayState>) -> Result<()> {
        let (shared, mut fresh) = (self.array.store().shared().clone(), Some(fresh));
        swap::make(&*shared, || {
            // After another process was faster, which may have changed an attribute only.
            let fresh = fresh.take().map_or_else(|| self.look_alone(), Ok)?;
            self.publish_once(end, fresh)
        })
    }

    fn publish_once(&mut self, end: u64, fresh: Arc<ArrayState>) -> Result<()> {
        let shape = self.shape_of(end);
        // What fails is tried again with all of the document.
        match self.known.take() {
            Some(mut known) => {
                let next = known.reshape(&shape).knowing(self.array.growths().with_own());
                self.store_document(end, &known.text)?;
                let (state, before) = self.array.set_state(next);
                known.follow(state, before);
                self.known = Some(known);
            }
            None => {
                let next = self.array.reshaped(&fresh, &shape)?;
                let mut text = document::text_of(&self.array.document_key(), &next.meta.document)?.into_bytes();
                self.claim.mark(&mut text);
                if fresh.meta.shape != shape {
                    // The length that was in doubt, if that is what the document has: another one is from now on.
                    self.published = fresh.meta.shape[self.dim];
                    self.store_document(end, &text)?;
                }
                self.known = Published::new(text, self.array.set_state(next).0);
            }
        }
        self.doubtful = None;
        self.growing = None;
        self.published = end;
        Ok(())
    }

    fn store_document(&mut self, end: u64, text: &[u8]) -> Result<()> {
        // Making steps durable takes time, in which this process may have put another array in the place.
        let publish = || document::publish_text(self.array.store(), &self.array.document_key(), text, MAX_DOCUMENT, self.condition);
        let stored = self.first.while_there(|| Ok(publish()))?;
        let is_unsure = !swap::is_overtaken(&**self.array.store().shared(), &stored) || swap::is_unsure(&stored);
        self.doubtful = is_unsure.then_some(end);
        // Another process may have replaced the array just before.
        stored.and_then(|()| self.folder.check(&self.array))
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // Errors are ignored in `drop`; close the appender to see them.
        if !self.silent {
            let _ = self.publish_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::tests::own;
    use crate::node::tests::{read_all, spec, view};
    use crate::node::{Context, Create, Store};

    /// What waits of a chunk that is cut by a publication never makes it whole.
    #[test]
    fn a_chunk_that_a_publication_cuts_takes_no_room_beside_the_next_one() {
        let array = Array::create(&Store::memory(&Context::with_threads(2)), "a", &spec(&[0], &[4]), Create::New).unwrap();
        let mut appender = Appender::silent(&array, 0, Claim::new(false, Vec::new()), true).unwrap();
        for step in 0..11 {
            own!(appender.put(1, &view(&mut [step + 1], &[1]))).unwrap();
            if step % 6 == 1 {
                appender.store(step as u64 + 1).and_then(|()| appender.declare(step as u64 + 1)).unwrap();
            }
            assert!(appender.kept.bytes() <= appender.needed(), "{step}");
        }
        appender.store(11).and_then(|()| appender.declare(11)).unwrap();
        assert_eq!(read_all(&array), (1..12).collect::<Vec<_>>());
    }
}
