//! A part: a piece of a chunk on its way from the object to memory.

use super::item::Axes;
use crate::error::{Error, ErrorKind, err};

/// What a part does with the bytes that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// The index of a shard.
    Index,
    /// An encoded chunk, or a shard under further codecs: all of its bytes.
    Encoded,
    /// Elements as they are.
    Raw {
        /// The distance of the first selected one from the start of the span.
        first: i64,
    },
}

/// A piece of a chunk, and which bytes of the object it wants next.
pub(super) struct Part {
    /// The depth of nesting: 0 for the chunk itself.
    pub depth: u8,
    pub kind: PartKind,
    /// The number of the inner chunk (of the innermost level), for messages.
    pub number: u64,
    /// The offset and length of the bytes in the object, or `None` for all of it.
    pub span: Option<(u64, u64)>,
    /// The selected elements.
    pub axes: Axes,
    /// The distance of the first one in memory.
    pub memory: i64,
}

impl Part {
    /// Adds the place of the part's inner chunk to an error in its bytes.
    pub fn annotate(&self, e: Error) -> Error {
        match self.span {
            Some((offset, _)) if self.depth > 0 => {
                // Bytes that the index promises and the object does not have.
                let e = match e.kind() {
                    ErrorKind::Truncated if e.field().is_none() => {
                        err!(ShardIndex, "the index points beyond the end of the shard: {}", e.message())
                    }
                    _ => e,
                };
                e.at_field(inner_name(self.number as usize, offset))
            }
            _ => e,
        }
    }

    /// Returns whether the part wants all bytes of the object.
    pub fn is_whole(&self) -> bool {
        self.span.is_none()
    }

    /// Returns whether the part wants the index of the outermost shard.
    pub fn is_first_index(&self) -> bool {
        self.depth == 0 && self.kind == PartKind::Index
    }
}

/// Sorts parts so that the one with the lowest offset is popped first. Mostly they come in rising order: then they are only reversed, since
/// a part has about 300 bytes to move.
pub(super) fn sort_for_popping(parts: &mut [Part]) {
    let falling = |part: &Part| std::cmp::Reverse(part.span.map_or(0, |s| s.0));
    parts.reverse();
    if !parts.is_sorted_by_key(falling) {
        parts.sort_unstable_by_key(falling);
    }
}

/// Names an inner chunk in messages.
pub(super) fn inner_name(number: usize, offset: u64) -> String {
    format!("inner chunk {number} at byte {offset}")
}
