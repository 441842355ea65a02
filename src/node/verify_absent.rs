//! What [`Store::verify`] is on Windows: refused.

use super::Store;
use super::fault::Fault;
use super::transfer::OnProgress;
use crate::error::{Result, bail};

/// What would be looked at, and what would be done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Chunks are listed, and not read.
    pub quick: bool,
    /// What is certainly safe is mended.
    pub repair: bool,
}

/// What was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Nodes.
    pub nodes: u64,
    /// Chunks.
    pub chunks: u64,
    /// Faults that were not mended.
    pub faults: u64,
    /// Faults that were mended.
    pub repaired: u64,
}

impl Store {
    /// Refuses: names of files that are no text are looked for in a way of Unix's.
    pub fn verify(&self, _: &str, _: VerifyOptions, _: &mut dyn FnMut(&Fault) -> Result<()>, _: &mut OnProgress<'_>) -> Result<Verified> {
        bail!(Unsupported, "looking for damage is not there on Windows yet")
    }
}
