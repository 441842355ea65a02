//! An appender's fence: what its puts of chunks go by where another one may claim the array.

use crate::engine::Fence;
use crate::error::err;
use crate::limits::MAX_CONSOLIDATED;
use crate::node::claim::Claim;
use crate::node::{Array, document};
use std::sync::Arc;

/// What keeps this appender from replacing chunks of one that has claimed the array since; `None` where locks keep others out.
pub(super) fn of(array: &Array, claim: &Claim) -> Option<Arc<Fence>> {
    let (watch, array) = (claim.watch()?, array.for_work());
    Some(Fence::new(move || {
        let key = array.document_key();
        let (text, _) = document::read(array.store(), &key, MAX_CONSOLIDATED)?;
        let Some(text) = text else { return Err(err!(NotFound, "the array was renamed or erased meanwhile").at_key(key)) };
        watch(&text).map_err(|e| e.at_key(key))
    }))
}
