//! How many bytes of elements may be in flight, and what becomes of requests beyond that.

use super::inside_request::is_inside;
use super::lock::holds_chunk;
use super::request_queue::{Next, QueueState, go_on, wake_waiters};
use crate::error::{Result, bail};
use crate::fork::{ForkReset, forks};
use crate::limits::max_chunk;
use crate::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// See the module.
pub struct Budget {
    limit: AtomicU64,
    again: AtomicBool,
    used: ForkReset<AtomicU64>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { limit: AtomicU64::new(0), again: AtomicBool::new(false), used: ForkReset::new(AtomicU64::default) }
    }
}

/// Bytes that are in flight until this is dropped.
pub(super) struct Charge {
    budget: Arc<Budget>,
    bytes: u64,
    forks: u32,
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.forks == forks() {
            self.budget.used.get().fetch_sub(self.bytes, Ordering::AcqRel);
            wake_waiters();
        }
    }
}

impl Budget {
    /// Returns the most bytes in flight; by default as many as the largest chunk may have.
    pub fn limit(&self) -> u64 {
        match self.limit.load(Ordering::Relaxed) {
            0 => max_chunk(),
            limit => limit,
        }
    }

    /// Sets the most bytes in flight; more than 0.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
        wake_waiters();
    }

    /// Makes a request that is too much an error of kind `Again`, instead of waiting until there is room.
    pub fn set_again(&self, again: bool) {
        self.again.store(again, Ordering::Relaxed);
    }

    /// Whether a request that is too much is an error of kind `Again`.
    pub fn is_again(&self) -> bool {
        self.again.load(Ordering::Relaxed)
    }

    fn try_add(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= self.limit());
        self.used.get().fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).is_ok()
    }

    /// The limit, if a request of `bytes` is more by itself.
    fn limit_below(&self, bytes: u64) -> Option<u64> {
        Some(self.limit()).filter(|&limit| bytes > limit)
    }

    /// Takes `bytes`, when there is room for them.
    pub(super) fn take(self: &Arc<Self>, bytes: u64, until: Option<Instant>) -> Result<Charge> {
        let mut too_low = self.limit_below(bytes);
        let mut fits = |list: &mut QueueState, at: &mut u64| {
            // The limit may be made lower meanwhile.
            too_low = self.limit_below(bytes);
            if too_low.is_some() || self.try_add(bytes) {
                return Next::Over;
            }
            Next::help(list.begun_from(*at).map(|(number, begun)| {
                *at = number + 1;
                begun
            }))
        };
        if self.again.load(Ordering::Relaxed) || is_inside() || holds_chunk() {
            if too_low.is_none() && !self.try_add(bytes) {
                let used = self.used.get().load(Ordering::Relaxed);
                bail!(
                    Again,
                    "{used} bytes are in flight and {bytes} more are too many: the context's \"bytes_in_flight\" is {}",
                    self.limit()
                );
            }
        } else if !go_on(until, &mut fits) {
            bail!(Timeout, "the deadline passed before there was room for the request's {bytes} bytes");
        }
        if let Some(limit) = too_low {
            bail!(Limit, "the request has {bytes} bytes, more than may be in flight: the context's \"bytes_in_flight\" is {limit}");
        }
        Ok(Charge { budget: self.clone(), bytes, forks: forks() })
    }
}
