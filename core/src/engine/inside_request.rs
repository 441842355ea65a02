//! Marks threads that work for a request which goes on without its caller: they must not wait for a request, which may be their own.

use std::cell::Cell;

thread_local! {
    /// How many items of detached requests, and functions that are told of their end, this thread is inside.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
}

/// The thread is inside a detached request until this is dropped.
pub(super) struct InsideRequest(());

impl InsideRequest {
    /// Enters.
    pub fn new() -> InsideRequest {
        INSIDE.set(INSIDE.get() + 1);
        InsideRequest(())
    }
}

impl Drop for InsideRequest {
    fn drop(&mut self) {
        INSIDE.set(INSIDE.get() - 1);
    }
}

/// Returns whether this thread is inside a detached request.
pub(super) fn is_inside() -> bool {
    INSIDE.get() > 0
}
