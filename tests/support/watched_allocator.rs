//! The allocator of tests that look at what is allocated.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;

/// The system's, which asks whether there may be a block of that size, and tells the size of one that is given back.
pub struct WatchedAllocator {
    pub may_be: fn(usize) -> bool,
    pub given_back: fn(usize),
}

// SAFETY: forwards to the system's allocator, or gives nothing.
unsafe impl GlobalAlloc for WatchedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: forwarded.
        if (self.may_be)(layout.size()) { unsafe { System.alloc(layout) } } else { null_mut() }
    }

    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        (self.given_back)(layout.size());
        // SAFETY: forwarded.
        unsafe { System.dealloc(p, layout) }
    }

    unsafe fn realloc(&self, p: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !(self.may_be)(size) {
            return null_mut();
        }
        (self.given_back)(layout.size());
        // SAFETY: forwarded.
        unsafe { System.realloc(p, layout, size) }
    }
}
