//! One region, or one list of elements, on its way to memory: what both drivers need to know of it.

use super::array::BoundArray;
use super::chunk_picks::ChunkPicks;
use super::cost::Cost;
use super::item::Item;
use super::plan::Plan;
use super::request;
use super::target::Target;
use crate::error::{Error, Result};
use crate::store::Folder;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Is called when the elements of an item have arrived.
pub(super) type Then = Box<dyn Fn() -> Result<()> + Send + Sync>;

/// See the module.
pub(super) struct ReadJob {
    pub array: Arc<BoundArray>,
    pub plan: Plan,
    pub target: Target,
    /// Reads are started, and only the request waits for them.
    pub latency: bool,
    pub cost: Cost,
    /// The folder of all chunks, where there are many: opened when the first of them is read.
    pub folder: OnceLock<Folder>,
    /// Whether a chunk was not in it.
    pub has_missed: AtomicBool,
    /// How many items have not been read yet.
    pub left: AtomicU64,
    /// Its number in a batch, for messages.
    pub entry: Option<usize>,
    pub then: Option<Then>,
}

impl ReadJob {
    /// Gives it the number that an entry of a batch has in messages.
    pub fn of_entry(self, entry: Option<usize>) -> ReadJob {
        ReadJob { entry, ..self }
    }

    /// Counts an item that was read; says whether it is the last one, and chunks were not in the folder.
    pub fn ends_with_misses(&self) -> bool {
        self.left.fetch_sub(1, Ordering::AcqRel) == 1 && self.has_missed.load(Ordering::Relaxed)
    }

    /// Does what is left to do with an item whose elements have arrived.
    pub fn settle(&self) -> Result<()> {
        self.then.as_ref().map_or(Ok(()), |then| then())
    }

    /// Adds the element, the key and the entry to an error in an item.
    pub fn annotate(&self, item: &Item, e: Error, key: &str) -> Error {
        request::of_entry(self.entry, self.plan.name_element(item, e).at_key(key))
    }

    /// Returns the item's own target if its elements are picked by a list, or `None` if they go to the job's.
    pub fn picking(&self, item: &Item) -> Option<Target> {
        self.plan.list().map(|list| self.target.picking(ChunkPicks::new(list, &item.chunk)))
    }
}
