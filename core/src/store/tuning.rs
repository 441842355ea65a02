//! How many requests and bytes a read or write has under way in a store with latency.

/// How a store with latency is best used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Requests that one read or write has under way at the same time.
    pub requests: usize,
    /// Bytes that it waits for, or has not yet decoded or stored.
    pub bytes: u64,
    /// The most bytes between two ranges of an object that are read as one.
    pub gap: u64,
}

impl Tuning {
    /// What is used where nothing else is set.
    pub const USUAL: Tuning = Tuning { requests: 64, bytes: 64 << 20, gap: 1 << 20 };
}

impl Default for Tuning {
    fn default() -> Tuning {
        Tuning::USUAL
    }
}
