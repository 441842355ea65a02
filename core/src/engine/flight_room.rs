//! How much of a request is in flight: reads wait until there is room for their bytes.

use super::lock::lock;
use super::request::{Request, Task};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Bytes of a request that are in flight, or have come and are not used yet, until this is dropped.
pub(super) struct FlightBytes<'a> {
    request: &'a Arc<Request>,
    bytes: u64,
}

impl Drop for FlightBytes<'_> {
    fn drop(&mut self) {
        self.request.bytes_used(self.bytes);
    }
}

impl Request {
    /// Starts a read of about `bytes` by `start`: now, or when the bytes of others are used. One is started whatever it needs.
    pub(super) fn start_flight(self: &Arc<Self>, bytes: u64, start: Task) {
        {
            // Under the lock, which `bytes_used` takes after it has counted: no room is overlooked.
            let mut state = lock(&self.state);
            if !state.held.is_empty() || !self.has_room(bytes) {
                state.held.push_back((bytes, start));
                self.held.fetch_add(1, Ordering::Relaxed);
                return;
            }
            self.flight_started(bytes);
        }
        start(self);
    }

    fn has_room(&self, bytes: u64) -> bool {
        let used = self.bytes.load(Ordering::Acquire);
        used == 0 || used.saturating_add(bytes) <= self.about.tuning.bytes
    }

    /// Starts the next of the reads that wait, if there is room for its bytes; false if not.
    fn start_held(self: &Arc<Self>) -> bool {
        let mut state = lock(&self.state);
        if !state.held.front().is_some_and(|(bytes, _)| self.has_room(*bytes)) {
            return false;
        }
        let Some((bytes, start)) = state.held.pop_front() else { return false };
        self.held.fetch_sub(1, Ordering::Relaxed);
        self.flight_started(bytes);
        drop(state);
        start(self);
        true
    }

    /// Counts bytes that have come until the result is dropped.
    pub(super) fn flight_bytes(self: &Arc<Self>, bytes: u64) -> FlightBytes<'_> {
        FlightBytes { request: self, bytes }
    }

    /// Counts a read or put that was started, of about `bytes`.
    pub(super) fn flight_started(&self, bytes: u64) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts one that came back. Its bytes count until they are used.
    pub(super) fn flight_landed(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Its bytes are used.
    pub(super) fn bytes_used(self: &Arc<Self>, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        while self.start_held() {}
    }
}
