//! Counters of what the engine does, for tests and benchmarks: bytes copied, chunks decoded and encoded.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes moved by the placing copy (decoding straight into the caller's memory moves none).
pub(super) static COPIED: AtomicU64 = AtomicU64::new(0);
/// Chunks (or inner chunks) that went through a codec when reading.
pub(super) static DECODED: AtomicU64 = AtomicU64::new(0);
/// Chunks (or inner chunks) that went through a codec when writing.
pub(super) static ENCODED: AtomicU64 = AtomicU64::new(0);

/// Totals of this process since it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Bytes moved by the placing copy.
    pub copied_bytes: u64,
    /// Chunks or inner chunks decoded.
    pub decoded_chunks: u64,
    /// Chunks or inner chunks encoded.
    pub encoded_chunks: u64,
}

/// The counters now. They are not taken at one instant while other threads work.
pub fn snapshot() -> Stats {
    Stats { copied_bytes: COPIED.load(Relaxed), decoded_chunks: DECODED.load(Relaxed), encoded_chunks: ENCODED.load(Relaxed) }
}
