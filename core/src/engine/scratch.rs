//! Buffers of a thread that are used again for every chunk: grow-only while they are in use, given back when they are large
//! (and all of them by [`crate::per_thread::give_back`]).
//!
//! Each owner has its own, so that several can be borrowed at the same time.

use super::part::Part;
use crate::per_thread::{self, PerThread};

/// Above this, a buffer is freed after the call that grew it.
const KEEP: usize = 64 << 20;

/// The buffers of one thread. Their contents mean nothing between chunks.
#[derive(Default)]
pub(super) struct Scratch {
    /// The chunk's key.
    pub key: String,
    /// The encoded bytes that the local driver read, or an old shard.
    pub io: Vec<u8>,
    /// The parts that the local driver has still to read.
    pub parts: Vec<Part>,
    /// The buffers of one chunk that is encoded or decoded.
    pub work: ChunkScratch,
}

/// Buffers for one chunk that is changed.
#[derive(Default)]
pub(super) struct ChunkScratch {
    /// A whole chunk that is read, changed and written.
    pub chunk: Vec<u8>,
    /// What one chunk needs on its way through the codecs.
    pub chain: ChainScratch,
}

/// Buffers for a chain.
#[derive(Default)]
pub(super) struct ChainScratch {
    /// What stages between bytes and bytes need.
    pub stages: StageBuffers,
    /// The elements of one chunk on their way from or to memory.
    pub gather: Vec<u8>,
    /// A shard that is put together.
    pub shard: Vec<u8>,
    /// A decoded shard index.
    pub index: Vec<u8>,
    /// A shard's index as it is stored.
    pub encoded_index: Vec<u8>,
}

/// Buffers for the stages of a chain.
#[derive(Default)]
pub(super) struct StageBuffers {
    /// Stages go back and forth between `a` and `b`.
    pub a: Vec<u8>,
    /// See `a`.
    pub b: Vec<u8>,
}

thread_local! {
    static SCRATCH: PerThread<Option<Box<Scratch>>> = const { PerThread::new(None) };
}

/// Lends the thread's buffers to `f`. A call within a call gets fresh ones.
pub(super) fn with<R>(f: impl FnOnce(&mut Scratch) -> R) -> R {
    let mut scratch = per_thread::with(&SCRATCH, Option::take).unwrap_or_default();
    let result = f(&mut scratch);
    scratch.parts.clear();
    for buf in [
        &mut scratch.io,
        &mut scratch.work.chunk,
        &mut scratch.work.chain.stages.a,
        &mut scratch.work.chain.stages.b,
        &mut scratch.work.chain.gather,
        &mut scratch.work.chain.shard,
    ] {
        if buf.capacity() > KEEP {
            *buf = Vec::new();
        }
    }
    per_thread::with(&SCRATCH, |kept| *kept = Some(scratch));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_keeps_is_given_back() {
        let kept = || with(|s| s.io.capacity());
        with(|s| s.io.reserve_exact(1000));
        assert!(kept() >= 1000);
        per_thread::give_back();
        assert_eq!(kept(), 0);
    }
}
