//! The trait of sources of elements that are decoded block by block before they are converted.

use crate::error::Result;
use crate::per_thread::{self, PerThread};

/// Elements of a block: few enough that blocks of numbers stay in the first-level cache, and a call for each costs nothing beside them.
pub const BLOCK: usize = 512;

/// Memory for one block of the largest type, of which every byte has a value.
pub type BlockBuf = [u8; BLOCK * 16];

/// What makes elements of stored ones, each by itself, before they are converted.
pub trait Source: Send + Sync {
    /// Decodes as many elements as `dst` has room for, at most [`BLOCK`]; `src` has exactly as many. `bufs` are for what is in
    /// between.
    fn decode(&self, src: &[u8], dst: &mut [u8], bufs: &mut [BlockBuf; 2]) -> Result<()>;
}

/// Buffers for a block that is gathered, one that is decoded, and what is in between.
pub(super) struct BlockBufs {
    pub(super) gathered: BlockBuf,
    pub(super) decoded: BlockBuf,
    pub(super) between: [BlockBuf; 2],
}

thread_local! {
    /// What the thread was given by its first call; in its own memory all of the program's threads would have room for it, on their stacks.
    static BUFS: PerThread<Option<Box<BlockBufs>>> = const { PerThread::new(None) };
}

impl BlockBufs {
    /// Makes buffers of zeros, which never pass the stack.
    fn new() -> Box<BlockBufs> {
        let mut bufs = Box::new_uninit();
        // SAFETY: all of it is bytes, for which 0 is a value, and is written here.
        unsafe {
            std::ptr::write_bytes(bufs.as_mut_ptr(), 0, 1);
            bufs.assume_init()
        }
    }

    /// Runs `f` with the thread's buffers, which are not cleared between: a row may be far shorter than they are. A source that converts elements
    /// itself has others.
    pub(super) fn with<R>(f: impl FnOnce(&mut BlockBufs) -> R) -> R {
        per_thread::with(&BUFS, |bufs| f(bufs.get_or_insert_with(BlockBufs::new)))
    }
}
