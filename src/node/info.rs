//! What an array is, as text and as JSON.

use super::{Array, json};
use crate::codec::chain::Chain;
use crate::dtype::ElementType;
use crate::limits::Dims;
use crate::metadata::{ArrayMeta, Codecs, Value, v3_grid};

impl Array {
    /// The chunks as the document has them: `[4, 3]` for chunks of one shape, `[[4, 4, 2], 3]` with extents that are listed.
    pub fn chunks_json(&self) -> Value {
        chunks_json(&self.state().meta)
    }

    /// The array in a few words: `float64 [100, 64, 64] in chunks of [50, 32, 64]`; of shards with those of the chunks inside.
    pub fn describe(&self) -> String {
        describe(&self.state().meta)
    }

    /// The shape of the chunks inside of shards, where the document has any.
    pub fn inner_chunk_listed(&self) -> Option<Dims> {
        inner_chunk(&self.state().meta)
    }

    /// The type of the elements with the byte order that the document gives it; v3's gives none.
    pub fn stored_type(&self) -> ElementType {
        let state = self.state();
        match state.meta.codecs {
            Codecs::V2 { element, .. } => element,
            Codecs::V3(_) => state.meta.data_type.into(),
        }
    }

    /// Returns the type as a document of version 3 has it; null in version 2.
    pub fn type_words(&self) -> Value {
        self.state().meta.document["data_type"].clone()
    }

    /// Returns the bytes of all elements in memory; `None` if elements are of variable length, or the number does not fit in 64 bits.
    pub fn element_bytes(&self) -> Option<u64> {
        let item = if self.data_type().is_variable() { None } else { Some(self.data_type().size() as u64) };
        self.shape().iter().try_fold(item?, |n, &length| n.checked_mul(length))
    }
}

/// An array in a few words: `float64 [100, 64, 64] in chunks of [50, 32, 64]`.
pub(super) fn describe(meta: &ArrayMeta) -> String {
    let has_name = meta.data_type.code().is_some() || meta.data_type.is_variable();
    let name = if has_name { meta.data_type.name().to_string() } else { meta.data_type.numpy() };
    let chunks = json::to_compact(&chunks_json(meta)).replace(',', ", ");
    let inner = inner_chunk(meta).map_or_else(String::new, |inner| format!(" with inner chunks of {:?}", inner.as_slice()));
    format!("{name} {:?} in chunks of {chunks}{inner}", meta.shape.as_slice())
}

/// The shape of the chunks inside of shards, where there are any.
fn inner_chunk(meta: &ArrayMeta) -> Option<Dims> {
    let Codecs::V3(list) = &meta.codecs else { return None };
    list.iter().find(|codec| codec.name == "sharding_indexed")?;
    Chain::parse(&meta.codecs, meta.data_type, meta.shape.len()).ok()?.inner_shape()
}

/// Returns the chunks of an array like [`Array::chunks_json`].
fn chunks_json(meta: &ArrayMeta) -> Value {
    let said = meta.document.get("chunk_grid").and_then(|grid| grid.get("configuration"));
    let said = said.and_then(|c| c.get("chunk_shapes").or_else(|| c.get("chunk_shape")));
    said.cloned().unwrap_or_else(|| v3_grid::chunk_shapes(&meta.grid).unwrap_or_default())
}
