//! What a program has registered that documents may then hold: storage transformers and members that must be understood.

use super::{ArrayMeta, Value};
use crate::dtype::DataType;
use crate::error::Result;
use crate::fork::Lazy;
use crate::grid::key::KeyEncoding;
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

impl ArrayMeta {
    /// Keeps the registered data type and chunk keys that `before`, an earlier document of the array, was read with, where this one names them
    /// still: another registration may have the names by now.
    pub fn keep_registered(&mut self, before: &ArrayMeta) {
        let is_same = |names: &[&str]| names.iter().all(|name| self.document.get(name) == before.document.get(name));
        let keeps_keys = matches!((self.keys, before.keys), (KeyEncoding::Registered(_), KeyEncoding::Registered(_)));
        let keeps_type = matches!((self.data_type, before.data_type), (DataType::Registered(_), DataType::Registered(_)));
        let keeps_keys = keeps_keys && is_same(&["chunk_key_encoding"]);
        let keeps_type = keeps_type && is_same(&["data_type", "dtype", "fill_value", "codecs", "order", "filters", "compressor"]);
        if keeps_keys {
            self.keys = before.keys;
        }
        if keeps_type {
            (self.data_type, self.fill, self.codecs) = (before.data_type, before.fill.clone(), before.codecs.clone());
        }
    }
}
