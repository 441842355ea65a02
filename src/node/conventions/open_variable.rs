//! A variable of an open dataset: its array with the names of its dimensions.

use crate::error::{ErrorKind, Result};
use crate::node::{Array, Group};
use crate::sort::set_of;
use std::collections::BTreeSet;

/// A variable that a dataset knows.
#[derive(Clone)]
pub(super) struct OpenVariable {
    pub name: String,
    pub dimensions: Vec<String>,
    /// The places of its dimensions among those of the dataset.
    pub places: Vec<usize>,
    pub array: Array,
}

impl OpenVariable {
    /// The variable that an array is; none where one of its dimensions has no name.
    pub fn new(name: &str, array: Array) -> Result<Option<OpenVariable>> {
        let dimensions = array.dimension_names()?.into_iter().collect::<Option<Vec<String>>>();
        Ok(dimensions.map(|dimensions| OpenVariable { name: name.to_string(), dimensions, places: Vec::new(), array }))
    }

    /// The variable of that name below a group, as the store has it now.
    pub fn find(group: &Group, name: &str) -> Result<Option<OpenVariable>> {
        match Array::open(group.store(), &group.child_path(name)?) {
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NodeKind) => Ok(None),
            array => OpenVariable::new(name, array?),
        }
    }

    /// The names that its dimensions have by now, where they are others, each with a name. Those that cannot be read stay as they are known.
    pub fn new_names(&self) -> Option<Vec<String>> {
        let now = self.array.dimension_names().ok()?.into_iter().collect::<Option<Vec<String>>>()?;
        (now != self.dimensions).then_some(now)
    }

    /// Looks at the document, and tells whether the array has another shape by now.
    pub fn has_changed(&self, shape: &[u64]) -> bool {
        self.array.read_again().is_ok() && self.array.shape().as_slice() != shape
    }

    /// Whether it gives the values of its only dimension.
    pub fn is_index(&self) -> bool {
        self.dimensions.len() == 1 && self.dimensions[0] == self.name
    }
}

/// The names of the dimensions of which a variable's length was found changed.
pub(super) fn changed_dimensions<'a>(names: &'a [String], before: &[u64], now: &[u64]) -> BTreeSet<&'a str> {
    let lengths = before.iter().zip(now);
    set_of(names.iter().zip(lengths).filter(|(_, (before, now))| before != now).map(|(name, _)| name.as_str()))
}
