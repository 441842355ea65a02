//! Which checkpoints this process makes, by their marks.

use crate::fork::{ForkPreserved, Lazy};
use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};

/// The marks of the checkpoints that this process makes.
static MARKS: Lazy<ForkPreserved<BTreeSet<String>>> = Lazy::new(ForkPreserved::default);

/// Tells a checkpoint that is made from others, until the last handle of it is dropped.
pub(super) struct Mark(String);

impl Mark {
    pub fn new() -> Mark {
        let text = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        MARKS.get().write(|marks| marks.insert(text.clone()));
        Mark(text)
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Makes this process another one than the maker of the checkpoint with that mark.
    #[cfg(test)]
    pub fn disown(text: &str) {
        MARKS.get().write(|marks| marks.remove(text));
    }

    /// Whether this process makes the checkpoint with that mark.
    pub fn is_of_this_process(text: &str) -> bool {
        MARKS.get().read(|marks| marks.contains(text))
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        MARKS.get().write(|marks| marks.remove(&self.0));
    }
}
