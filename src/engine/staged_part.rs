//! A part of an uncompressed chunk that waits in the chunk's new file in place of memory: what comes next is written behind it, without a
//! copy. Nobody sees the file before it is whole.

use super::stats::{self, Counter};
use crate::error::Result;
use crate::store::{SharedStore, Staged, StagedReader};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The most parts of a process that wait so: each keeps two files open.
const MOST: usize = 32;
/// Shorter runs are copied in less time than a call of the system takes.
const SHORTEST: u64 = 128 << 10;

/// Elements that are one run in memory and in their chunk, as the store has them.
pub(super) struct Run<'a> {
    /// Where in the chunk it begins.
    pub offset: u64,
    pub bytes: &'a [u8],
    pub store: &'a SharedStore,
    pub key: &'a str,
}

/// The first bytes of a chunk.
pub(super) struct StagedPart {
    staged: Staged,
    len: usize,
    /// The bytes of the whole chunk, for which there is room in memory.
    pub room: usize,
    _counted: Counted,
}

impl StagedPart {
    /// Whether a run of so many bytes is better written than copied.
    pub fn is_worth(bytes: u64) -> bool {
        bytes >= SHORTEST
    }

    /// Begins a chunk of `room` bytes with its first elements; `None` where they are to wait in memory.
    pub fn begin(run: &Run<'_>, room: usize) -> Option<StagedPart> {
        if run.offset > 0 || run.store.files().is_none() {
            return None;
        }
        let counted = Counted::new()?;
        let staged = run.store.stage(run.key).ok().filter(|staged| matches!(staged, Staged::File(_)))?;
        let mut part = StagedPart { staged, len: 0, room, _counted: counted };
        part.add(run).then_some(part)
    }

    /// Writes a run behind what is there; false where that cannot be done.
    pub fn add(&mut self, run: &Run<'_>) -> bool {
        let fits = run.offset == self.len as u64 && self.staged.append(run.bytes).is_ok();
        self.len += if fits { run.bytes.len() } else { 0 };
        fits
    }

    /// Opens its bytes to be read, and says how many they are.
    pub fn reader(&self) -> Result<(StagedReader, usize)> {
        Ok((self.staged.reader()?, self.len))
    }

    /// Gives the file away, to be published.
    pub fn into_staged(self) -> Staged {
        stats::count(Counter::Writes, 1);
        stats::count(Counter::BytesWritten, self.len as u64);
        self.staged
    }
}

/// One of [`MOST`].
struct Counted;

static PARTS: AtomicUsize = AtomicUsize::new(0);

impl Counted {
    fn new() -> Option<Counted> {
        let one = Counted;
        (PARTS.fetch_add(1, Relaxed) < MOST).then_some(one)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        PARTS.fetch_sub(1, Relaxed);
    }
}
