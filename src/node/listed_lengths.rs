//! The lengths of arrays that consolidated metadata say, where a change of an array concerns others of its lengths, or none.
//!
//! A series publishes a length in one document after the other, and in the consolidated metadata of all at once. In between, and after a kill
//! there, whoever changes something else of such an array leaves the listed length as it is.

use crate::metadata::consolidated::Listed;
use crate::metadata::json::splice::TextObject;
use crate::metadata::{Map, Value, json, number_list};
use std::collections::HashMap;

/// Which lengths of an array consolidated metadata are told: a bit for each dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lengths(u64);

impl Lengths {
    /// Those of all dimensions.
    pub const ALL: Lengths = Lengths(u64::MAX);
    /// None: only attributes changed.
    pub const NONE: Lengths = Lengths(0);

    /// That of one dimension.
    pub fn along(dim: usize) -> Lengths {
        Lengths(1 << (dim % u64::BITS as usize))
    }

    /// Both.
    pub fn and(self, other: Lengths) -> Lengths {
        Lengths(self.0 | other.0)
    }

    /// Those but that of one dimension.
    pub fn without(self, dim: usize) -> Lengths {
        Lengths(self.0 & !Lengths::along(dim).0)
    }

    fn has(self, dim: usize) -> bool {
        self.0 >> (dim % u64::BITS as usize) & 1 == 1
    }
}

/// The texts of consolidated entries, where they are needed.
pub(super) struct ListedLengths<'a>(HashMap<&'a str, &'a [u8]>);

impl<'a> ListedLengths<'a> {
    /// Those of `listed`, for such changes.
    pub fn of(listed: &'a Listed<'_>, changes: &[(&str, Lengths)]) -> ListedLengths<'a> {
        let needed = changes.iter().any(|(_, lengths)| *lengths != Lengths::ALL);
        ListedLengths(if needed { listed.texts().collect() } else { HashMap::new() })
    }

    /// Puts the listed lengths of the entry `name` into an array's document, but those that are told.
    pub fn keep(&self, name: &str, document: &mut Map, told: Lengths) {
        let Some(now) = shape_of(document) else { return };
        if (0..now.len()).all(|dim| told.has(dim)) {
            return;
        }
        let Some(listed) = self.0.get(name).and_then(|text| TextObject::document(text, &[])) else { return };
        let member = |name: &str| std::str::from_utf8(listed.value(name)?).ok().and_then(|text| json::parse_text(text).ok());
        let Some(before) = member("shape").and_then(|shape| lengths_of(&shape)).filter(|before| before.len() == now.len()) else { return };
        let kept: Vec<u64> = (0..now.len()).map(|dim| if told.has(dim) { now[dim] } else { before[dim] }).collect();
        if kept == now {
            return;
        }
        // Extents of chunks that are listed depend on the lengths.
        let is_regular = |grid: &Value| grid.get("name").is_some_and(|name| *name == "regular");
        if document.get("chunk_grid").is_some_and(|grid| !is_regular(grid)) {
            match member("chunk_grid") {
                Some(grid) if kept == before => drop(document.insert("chunk_grid".into(), grid)),
                _ => return,
            }
        }
        document.insert("shape".into(), number_list(&kept));
    }
}

/// The shape that an array's document says.
pub(super) fn shape_of(document: &Map) -> Option<Vec<u64>> {
    lengths_of(document.get("shape")?)
}

fn lengths_of(shape: &Value) -> Option<Vec<u64>> {
    shape.as_array()?.iter().map(|length| json::get_u64(length).ok()).collect()
}
