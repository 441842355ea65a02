//! What a read of a store costs, to choose between one long read and many short ones.

use crate::store::Storage;

/// The price of reads, in nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Cost {
    /// A call, in nanoseconds.
    pub call: f64,
    /// A byte, in nanoseconds.
    pub byte: f64,
    /// The longest read that is put together from near ranges.
    pub merge: u64,
}

impl Cost {
    /// Files and memory (measured: 0.6 µs a call, 9.5 GB/s).
    pub const LOCAL: Cost = Cost { call: 600.0, byte: 1.0 / 9.5, merge: 4 << 20 };
    /// Assumes a network of 100 MB/s on which `gap` bytes cost as much as a request (1 MB: 10 ms).
    pub fn latency(gap: u64) -> Cost {
        Cost { call: gap.max(1) as f64 * 10.0, byte: 10.0, merge: 8 << 20 }
    }

    /// Returns the cost of reading from `store`.
    pub fn of(store: &dyn Storage) -> Cost {
        if store.capabilities().latency { Cost::latency(store.tuning().gap) } else { Cost::LOCAL }
    }

    /// Returns the largest gap that is cheaper to read than to skip.
    pub fn gap(self) -> u64 {
        (self.call / self.byte) as u64
    }
}
