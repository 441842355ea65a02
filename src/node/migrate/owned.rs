//! The place of a migration to elsewhere, as that of a copy ([`super::super::place`]): its mark is that of one call alone.

use super::super::{hierarchy, in_use, marker, path, place};
use super::Job;
use crate::error::Result;
use crate::metadata::{Dialect, Map};
use crate::store::Condition;

impl Job<'_> {
    /// Puts the mark of this call in place of just the one that was read, and erases what the interrupted call has left that had put it.
    pub(super) fn take(&self, (said, condition): (Option<Map>, Condition)) -> Result<()> {
        let (at, own, begun) = ((self.to, self.to_path.as_str()), (marker::MIGRATION, self.by.as_str()), said.is_some());
        if begun {
            in_use::refuse(self.to, &self.to_path)?;
            self.to.shared().check_erase(&path::prefix(&self.to_path))?;
        }
        place::put_own(at, own, &[("from", &self.source()), ("draft", self.draft())], condition)?;
        self.to.flush()?;
        // Where the store has no locks, a node may have come until then.
        if self.to.shared().capabilities().swaps
            && let Err(e) = hierarchy::refuse_existing(self.to, &self.to_path)
        {
            return place::give_back(at, own, said).and(Err(e));
        }
        if begun { hierarchy::erase_around(self.to, &self.to_path, marker::MIGRATION) } else { Ok(()) }
    }

    /// Checks, before the root's document is published, that the place is still this call's own, and says there that nothing else is missing, and of
    /// what source.
    pub(super) fn say_whole(&self) -> Result<()> {
        let said = [("from", self.source()), ("draft", self.draft().to_string()), (place::WHOLE, self.state.clone())];
        let said: Vec<_> = said.iter().map(|(name, value)| (*name, value.as_str())).collect();
        place::say_again((self.to, &self.to_path), (marker::MIGRATION, &self.by), &said)
    }

    /// The draft that the source is of, as the marker names it.
    pub(super) fn draft(&self) -> &'static str {
        Dialect::D0.draft().filter(|_| self.d0).unwrap_or_default()
    }

    /// How many keys the place has at least, if nothing of what was made there is gone.
    pub(super) fn keys_made(&self, nodes: &[String]) -> usize {
        // Of arrays that are cut, chunks may have gone again.
        let chunks = if self.uncut.is_empty() { self.report.linked + self.report.copied } else { 0 };
        nodes.len() + chunks as usize
    }
}
