//! Nodes that consolidated metadata are not told of, for the groups above them are gone.

use super::path;
use super::stored::StoredDocument;
use crate::error::Result;
use crate::limits::add;
use std::collections::HashSet;

/// Nodes that are neither listed nor there: what is below them is not listed, which readers would take for damage; a program that makes the group
/// again tells of it.
#[derive(Default)]
pub(super) struct Gone<'a>(HashSet<&'a str>);

impl<'a> Gone<'a> {
    /// Finds a node that is asked for behind those above it, unless it is to be left out.
    pub fn or_find(
        &mut self,
        path: &'a str,
        is_named: impl Fn() -> bool,
        find: impl FnOnce() -> Result<Option<StoredDocument>>,
    ) -> Result<Option<StoredDocument>> {
        if path::is_within_any(path, &self.0) && !is_named() {
            return Ok(None);
        }
        let found = find()?;
        if found.is_none() {
            add(&mut self.0, path)?;
        }
        Ok(found)
    }
}
