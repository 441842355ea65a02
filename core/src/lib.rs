//! The engine of ozarr: everything below arrays and groups. The crate `ozarr` is built on it, and is the one to use.

#![warn(missing_docs, clippy::undocumented_unsafe_blocks)]
// Nothing outside of tests may panic on what comes from outside.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod codec;
pub mod counting;
pub mod dtype;
pub mod engine;
pub mod error;
pub mod figures;
pub mod fork;
pub mod grid;
pub mod inflate;
pub mod json;
pub mod limits;
pub mod metadata;
pub mod multiversion;
pub mod per_thread;
pub mod platform;
pub mod registry;
pub mod reserve;
pub mod settings;
pub mod sort;
pub mod store;
pub mod sync;
pub mod threads;

#[cfg(not(all(any(target_os = "linux", target_os = "macos", windows), target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "ozarr is for 64-bit little-endian Linux, Windows (run in Wine only) and macOS (never run): see Platforms in docs/installing.md"
);
