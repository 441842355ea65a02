//! ozarr: the Zarr library for simulation codes. A C ABI (`include/ozarr.h`, [`ffi`]) over a Rust core.
//!
//! Arrays and groups, what is made of them, and the interface are here. The layers below are the crate `ozarr-core`, which compiles at the same time;
//! they are known here under the same names.
//!
//! Layers, each a folder, each using only those before it (`tests/layers.rs` holds it):
//! [`error`], [`limits`], [`fork`] → [`dtype`], [`store`], [`grid`] → [`metadata`] → [`codec`] → [`engine`] → [`node`] → [`analysis`] → [`ffi`].
//! `docs/architecture.md` follows one read and one write from top to bottom.

#![warn(missing_docs, clippy::undocumented_unsafe_blocks)]
// Nothing outside of tests may panic on what comes from outside.
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod analysis;
pub mod ffi;
pub mod node;

pub use ozarr_core::{
    codec, counting, dtype, engine, error, figures, fork, grid, inflate, json, limits, metadata, multiversion, per_thread, platform,
    registry, reserve, settings, sort, store, sync, threads,
};
