//! What a read of a store costs, to choose between one long read and many short ones.

use crate::store::{Storage, Tuning};

/// The price of reads, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// A call, in nanoseconds.
    pub call: f64,
    /// A byte, in nanoseconds.
    pub byte: f64,
    /// The longest read that is put together from near ranges.
    pub merge: u64,
    /// The longest read of elements that are stored as they are: more of them are read in pieces.
    pub longest: u64,
}

impl Cost {
    /// Files and memory (measured: 0.6 µs a call, 9.5 GB/s; reads longer than 1 MiB win nothing, and leave the cache).
    pub const LOCAL: Cost = Cost { call: 600.0, byte: 1.0 / 9.5, merge: 1 << 20, longest: u64::MAX };
    /// Assumes a network of 100 MB/s on which `gap` bytes cost as much as a request (1 MB: 10 ms), and on which `bytes` may be in flight.
    pub fn latency(Tuning { gap, bytes, .. }: Tuning) -> Cost {
        let merge = (bytes / 4).clamp(64 << 10, 8 << 20);
        Cost { call: gap.max(1) as f64 * 10.0, byte: 10.0, merge, longest: merge }
    }

    /// Returns the cost of reading from `store`.
    pub fn of(store: &dyn Storage) -> Cost {
        if store.capabilities().latency { Cost::latency(store.tuning()) } else { Cost::LOCAL }
    }

    /// Returns the largest gap that is cheaper to read than to skip.
    pub fn gap(self) -> u64 {
        (self.call / self.byte) as u64
    }
}
