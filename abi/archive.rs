//! Takes the whole of `ozarr` into a static archive, its C functions among them, with the allocator that has a reserve.

pub use ozarr::*;

#[cfg(feature = "reserve")]
mod malloc;

#[global_allocator]
static ALLOCATOR: ozarr::reserve::Allocator = ozarr::reserve::Allocator;
