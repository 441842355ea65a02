//! Fences by claims: what the puts of chunks go by where another appender or series may claim the array.

use crate::engine::Fence;
use crate::error::{Result, bail};
use crate::node::Array;
use crate::node::claim::{self, Claim};
use std::sync::Arc;

/// What keeps this appender from replacing chunks of one that has claimed the array since; `None` where locks keep others out.
pub(super) fn of(array: &Array, claim: &Claim) -> Option<Arc<Fence>> {
    Some(by_mark(array, claim.own_mark()?.to_vec()))
}

fn by_mark(array: &Array, mark: Vec<u8>) -> Arc<Fence> {
    Fence::new(array.store().shared().clone(), array.document_key(), move |text| claim::check_mark(&mark, text))
}

impl Array {
    /// Keeps the text of a series' claim for [`Array::claim`].
    pub(in crate::node) fn note_claim(&self, claim: &Claim) {
        if let Some(mark) = claim.own_mark() {
            self.handle(|handling| handling.claim = String::from_utf8_lossy(mark).into_owned());
        }
    }

    /// The claim of the series that was opened last on the dataset that this array is of; empty without one, and where claims are not needed.
    pub fn claim(&self) -> String {
        self.0.now.handling(|handling| handling.claim.clone())
    }

    /// Lets writes by this handle go by a claim ([`Array::claim`]) that another process holds for all: they replace no chunk of whoever
    /// claims the array after it. An empty text: no longer.
    pub fn set_claim(&self, mark: &str) -> Result<()> {
        if !mark.is_empty() && !claim::is_mark(mark.as_bytes()) {
            bail!(Argument, "the setting \"claim\" is {mark:?}, expected what ozarr_node_get gives where the series is, or nothing");
        }
        let fence = (!mark.is_empty()).then(|| by_mark(self, mark.as_bytes().to_vec()));
        self.handle(|handling| (handling.fence, handling.claim) = (fence, mark.to_string()));
        Ok(())
    }
}
