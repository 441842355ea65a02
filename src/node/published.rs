//! The document of an array as an appender published it last: the next one differs in the shape alone.

use super::state::ArrayState;
use crate::metadata::json::{self, splice::TextObject};
use crate::metadata::number_list;
use std::ops::Range;
use std::sync::Arc;

/// A document as it was published, and what was made of it. While the store has just these bytes nothing is parsed, checked and written
/// anew but the shape: measured, that was 200,000 instructions a step, a sixth of the time of one of 1 MiB.
pub(super) struct Published {
    pub text: Vec<u8>,
    /// The byte range of the shape in `text`.
    shape: Range<usize>,
    pub state: Arc<ArrayState>,
    /// The state before, which differs in the shape alone: the next one is made of it.
    before: Option<Arc<ArrayState>>,
}

impl Published {
    /// `None` where more than the shape may change with the length: the listed extents of chunks.
    pub fn new(text: Vec<u8>, state: Arc<ArrayState>) -> Option<Published> {
        state.meta.grid.regular_shape()?;
        let shape = TextObject::document(&text, &[])?.place("shape")?;
        Some(Published { text, shape, state, before: None })
    }

    /// Puts another shape into the text, and gives the state that it says.
    pub fn reshape(&mut self, shape: &[u64]) -> ArrayState {
        let list = json::to_text_within(&number_list(shape), 1);
        let end = self.shape.start + list.len();
        match self.text.get_mut(self.shape.clone()) {
            // Most often the new length has as many digits.
            Some(there) if there.len() == list.len() => there.copy_from_slice(list.as_bytes()),
            _ => drop(self.text.splice(self.shape.clone(), list.into_bytes())),
        }
        self.shape.end = end;
        match self.before.take().map(Arc::try_unwrap) {
            Some(Ok(state)) => state.into_shape(shape),
            _ => self.state.with_shape(shape),
        }
    }

    /// The array has that state from now on, and had the other one before.
    pub fn follow(&mut self, state: Arc<ArrayState>, before: Arc<ArrayState>) {
        let old = std::mem::replace(&mut self.state, state);
        self.before = Arc::ptr_eq(&old, &before).then_some(before);
    }
}
