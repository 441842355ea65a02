//! What a program has registered that documents may then hold: storage transformers and members that must be understood.

use super::Value;
use crate::error::Result;
use crate::fork::Lazy;
use crate::registry::Registry;
use std::any::Any;

/// A member of a node's document that the program understands.
pub trait Member: Send + Sync {
    /// Whether its value, as JSON, is one that the program understands.
    fn check(&self, value: &str) -> Result<()>;
}

/// The members of `zarr.json` that are understood.
pub static MEMBERS: Lazy<Registry<dyn Member>> = Lazy::new(Registry::default);

/// The storage transformers, by name. What they do, `node` knows.
pub static TRANSFORMERS: Lazy<Registry<dyn Any + Send + Sync>> = Lazy::new(Registry::default);

/// Checks a member that the specification does not name; false if no registered member has that name.
pub(super) fn understands(name: &str, value: &Value) -> Result<bool> {
    let Some(member) = MEMBERS.get().find("", name) else { return Ok(false) };
    member.check(&super::json::to_text(value)).map(|()| true)
}

/// Returns whether the program has registered a member of that name.
pub(super) fn is_member(name: &str) -> bool {
    MEMBERS.get().find("", name).is_some()
}
