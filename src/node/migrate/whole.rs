//! A migration to elsewhere that was interrupted behind its last document: the same call ends it where it would make the same now. Programs may use
//! what is there already.

use super::super::{Group, NodeKind, Store, consolidate, lookup, marker, path, place, source_state};
use super::Job;
use crate::error::{Error, Result, err};
use crate::metadata::{Map, Value};
use std::collections::BTreeMap;

impl Job<'_> {
    /// Notes what the marker says of the source: of its documents, as far as they are copied, and of its chunks.
    pub(super) fn note_state(&mut self, nodes: &[String]) -> Result<()> {
        let mut state = source_state::of_chunks(self.from, &self.from_path)?;
        for (node, found) in nodes.iter().filter_map(|node| Some((node, self.read.get(node)?))) {
            let attributes = found.attributes.as_ref().map(place::state_of).transpose()?;
            let (document, mark) = (place::state_of(&found.document)?, &found.mark);
            state = place::state_of_text(&format!("{state} {node} {document} {attributes:?} {mark:?}"));
        }
        self.state = state;
        Ok(())
    }

    /// Does what is left to do where the marker has `said` that all documents are there but the last one, which is there, too.
    pub(super) fn end_whole(&mut self, said: &Map, nodes: &[String]) -> Result<()> {
        // Nothing is copied now.
        let read = std::mem::take(&mut self.read);
        let mut is_same = said.get(place::WHOLE).and_then(Value::as_str) == Some(&self.state);
        for node in nodes {
            let made = lookup::find_bare(self.to, &self.target(node))?.map(|found| found.kind);
            is_same &= made.is_some() && made == read.get(node).map(|found| found.kind);
        }
        if !is_same {
            return Err(differs((self.to, &self.to_path)));
        }
        for node in nodes.iter().rev() {
            if consolidate::is_wanted(self.from, node, self.d0)? {
                let target = self.target(node);
                let found = lookup::require(self.to, &target, NodeKind::Group)?;
                consolidate::consolidate_unless(&Group::quietly(self.to, target, found)?, &BTreeMap::new())?;
            }
        }
        self.end(nodes, true)
    }
}

/// Says that what an interrupted migration has made is not what the same call would make now.
fn differs((to, place): (&Store, &str)) -> Error {
    let (store, key, place) = (to.shared().describe(), path::join(place, marker::MIGRATION), path::display(place));
    let what = "was made by an interrupted migration, and its source or itself is another one by now, or may be";
    err!(Exists, "{place} of {store} {what}; see that it is not wanted, then erase it, and migrate anew").at_key(key)
}
