//! A change of the attributes of a node.

use super::document;
use crate::metadata::json::{self, Text};
use crate::metadata::{Map, Value};

#[derive(Clone)]
pub(super) enum AttributeChange {
    Set(Text, Value),
    /// Sets it unless it is there.
    SetDefault(Text, Value),
    /// Puts a line in front of a text, or of the items of a list of texts.
    PutInFront(Text, String),
    Erase(Text),
    /// Those that are shown.
    Replace(Map),
}

impl AttributeChange {
    /// How deep the values are nested that it sets.
    pub(super) fn depth(&self) -> usize {
        match self {
            AttributeChange::Set(_, value) | AttributeChange::SetDefault(_, value) => document::depth(value),
            AttributeChange::Replace(all) => all.values().map(document::depth).max().unwrap_or(0),
            AttributeChange::Erase(_) | AttributeChange::PutInFront(..) => 0,
        }
    }

    /// Whether it sets bare NaN or infinities.
    pub(super) fn has_non_finite(&self) -> bool {
        match self {
            AttributeChange::Set(_, value) | AttributeChange::SetDefault(_, value) => json::has_non_finite(value),
            AttributeChange::Replace(all) => all.values().any(json::has_non_finite),
            AttributeChange::Erase(_) | AttributeChange::PutInFront(..) => false,
        }
    }
}
