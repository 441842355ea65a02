//! How two arrays differ, in words: for the error of an array that is there already.

use super::{ArrayMeta, Format, Map, Value, json, v2, v3, v3_grid};
use crate::counting;
use crate::dtype::{DataType, parse_v3};
use crate::error::Result;

impl ArrayMeta {
    /// The first difference between this array, which is there, and the one that is wanted, in words, or `None`.
    pub fn difference(&self, wanted: &ArrayMeta) -> Result<Option<String>> {
        let differ = |what: &str, a: String, b: String| (a != b).then(|| format!("{what} {a} instead of {b}"));
        // The form of v3 tells every bit.
        let fill = |m: &ArrayMeta| if m.fill.defined { m.fill.to_json_v3(m.data_type) } else { Ok(Value::Null) };
        let fills = (fill(self)?, fill(wanted)?);
        let differing_fills =
            || (fills.0 != fills.1).then(|| format!("fill value {} instead of {}", json::brief(&fills.0), json::brief(&fills.1)));
        let fresh = |m: &ArrayMeta| if m.format == Format::V3 { v3::write_array(m) } else { v2::write_array(m) };
        let documents = (fresh(self)?, fresh(wanted)?);
        let chunks = (chunks_text(self)?, chunks_text(wanted)?);
        let codecs = |m: &ArrayMeta, fresh: &Map| {
            let names: &[&str] =
                if m.format == Format::V3 { &["codecs", "storage_transformers"] } else { &["dtype", "order", "filters", "compressor"] };
            names.iter().filter_map(|n| fresh.get(n).map(Value::to_string)).collect::<Vec<_>>().join(", ")
        };
        let found = differ("zarr_format", self.format.number().to_string(), wanted.format.number().to_string())
            .or_else(|| differ("shape", counting::shape(&self.shape).to_string(), counting::shape(&wanted.shape).to_string()))
            .or_else(|| differ("data type", type_text(self), type_text(wanted)))
            // Behind the type, from which those are that nobody asked for.
            .or_else(|| differ("chunks", chunks.0, chunks.1))
            .or_else(differing_fills)
            .or_else(|| differ("chunk keys", format!("{:?}", self.keys), format!("{:?}", wanted.keys)))
            .or_else(|| differ("codecs", codecs(self, &documents.0), codecs(wanted, &documents.1)));
        Ok(found)
    }
}

fn type_text(meta: &ArrayMeta) -> String {
    match (meta.format, meta.data_type) {
        (Format::V3, _) | (_, DataType::Struct(_)) => match parse_v3::to_json(meta.data_type) {
            Value::String(name) => name.to_string(),
            other => other.to_string(),
        },
        (_, other) => other.numpy(),
    }
}

fn chunks_text(meta: &ArrayMeta) -> Result<String> {
    match meta.grid.regular_shape() {
        Some(chunk) => Ok(counting::shape(chunk).to_string()),
        None => json::compact_of_any(&v3_grid::chunk_shapes(&meta.grid)?),
    }
}
