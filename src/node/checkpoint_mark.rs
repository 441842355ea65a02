//! What a handle knows of the committed checkpoint that it is of (`kept.rs`).

use crate::fork::ForkPreserved;
use crate::metadata::{Format, Value};
use crate::store::{Stamp, Version};
use std::sync::atomic::AtomicBool;

/// A committed checkpoint, as a group was opened.
pub(super) struct CheckpointMark {
    pub path: String,
    pub format: Format,
    /// The attribute that no other checkpoint has.
    pub attribute: Value,
    /// How its document looked before that was found in it last.
    pub seen: ForkPreserved<Option<DocumentLook>>,
    pub is_checked: AtomicBool,
}

/// What is told of a document without its bytes, which hold the metadata of all arrays.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum DocumentLook {
    Stamp(Stamp),
    Version(Version),
}
