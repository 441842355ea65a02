//! A look at a region that is to be written: whether it is nothing but the fill value, which is not stored.

use super::encode::ElementSource;
use crate::limits::{Dims, Strides};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A region that may be nothing but the fill value. That is seen several times as fast in the order of the memory as chunk by chunk, so the
/// first item looks at all of it, and usually at its first elements only. Other threads do not wait for that.
pub(super) struct FillProbe {
    shape: Dims,
    strides: Strides,
    seen: AtomicU8,
}

impl FillProbe {
    const UNSEEN: u8 = 0;
    const OTHER: u8 = 1;
    const FILL: u8 = 2;

    /// Nothing of it was looked at yet.
    pub fn new(shape: &[u64], strides: &Strides) -> FillProbe {
        FillProbe { shape: shape.into(), strides: strides.clone(), seen: AtomicU8::new(FillProbe::UNSEEN) }
    }

    /// Whether it is.
    pub fn is_fill(&self, source: &ElementSource) -> bool {
        if self.seen.compare_exchange(FillProbe::UNSEEN, FillProbe::OTHER, Relaxed, Relaxed).is_ok()
            && source.is_fill(&self.shape, &self.strides)
        {
            self.seen.store(FillProbe::FILL, Relaxed);
        }
        self.seen.load(Relaxed) == FillProbe::FILL
    }
}
