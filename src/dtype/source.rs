//! The trait of sources of elements that are decoded block by block before they are converted.

use crate::error::Result;

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

impl BlockBufs {
    pub(super) const NEW: BlockBufs = BlockBufs { gathered: [0; BLOCK * 16], decoded: [0; BLOCK * 16], between: [[0; BLOCK * 16]; 2] };

    /// Runs `f` with the thread's buffers, which are not cleared between: a row may be far shorter than they are.
    pub(super) fn with<R>(f: impl FnOnce(&mut BlockBufs) -> R) -> R {
        thread_local! {
            static BUFS: std::cell::RefCell<BlockBufs> = const { std::cell::RefCell::new(BlockBufs::NEW) };
        }
        BUFS.with(|bufs| match bufs.try_borrow_mut() {
            Ok(mut bufs) => f(&mut bufs),
            // A source that converts elements itself.
            Err(_) => f(&mut { BlockBufs::NEW }),
        })
    }
}
