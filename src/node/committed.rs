//! A checkpoint that was committed, as the attribute of its group says.

use super::hidden::CHECKPOINT;
use crate::error::Result;
use crate::limits::{collect, collect_table};
use crate::metadata::{Map, Value};

/// A committed checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Committed {
    /// The name of its node, which others open it by.
    pub node: String,
    /// The name that it was given.
    pub name: String,
    /// Counts the checkpoints of the group: the newest has the largest.
    pub number: u64,
    /// Tells it from one that came in its place.
    pub mark: Option<String>,
}

impl Committed {
    /// The one that a node with these attributes is, if it is one.
    pub fn of(node: &str, attributes: &Map) -> Option<Committed> {
        let about = attributes.get(CHECKPOINT)?;
        let text = |member: &str| about.get(member).and_then(Value::as_str).map(str::to_string);
        let (name, number) = (text("name")?, about.get("number")?.as_u64()?);
        Some(Committed { node: node.to_string(), name, number, mark: text("mark") })
    }
}

/// Those of all committed checkpoints, which are sorted by number, that none newer of the same name took the place of.
pub(super) fn without_replaced(all: &[Committed]) -> Result<Vec<Committed>> {
    let last = collect_table(all.iter().map(|c| (c.name.as_str(), c.number)))?;
    collect(all.iter().filter(|c| last.get(c.name.as_str()) == Some(&c.number)).cloned())
}
