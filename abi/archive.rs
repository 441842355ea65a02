//! Takes the whole of `ozarr` into a static archive, its C functions among them.

pub use ozarr::*;
