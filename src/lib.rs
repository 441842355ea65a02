//! ozarr: the Zarr library for simulation codes. A C ABI (`include/ozarr.h`, [`ffi`]) over this Rust core.
//!
//! Layers, each a folder, each using only those before it (`tests/layers.rs` holds it):
//! [`error`], [`limits`], [`fork`] → [`dtype`], [`store`], [`grid`] → [`metadata`] → [`codec`] → [`engine`] → [`node`] → [`analysis`] → [`ffi`].
//! `docs/architecture.md` follows one read and one write from top to bottom.

#![warn(missing_docs, clippy::undocumented_unsafe_blocks)]
// Nothing outside of tests may panic on what comes from outside.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod analysis;
pub mod codec;
pub mod counting;
pub mod dtype;
pub mod engine;
pub mod error;
pub mod ffi;
pub mod fork;
pub mod grid;
pub mod inflate;
pub mod json;
pub mod limits;
pub mod metadata;
pub mod multiversion;
pub mod node;
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
