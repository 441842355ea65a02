//! What an array is and how much of it is stored, as text.

use super::{Array, json};
use crate::error::Result;
use crate::metadata::extension::Extension;
use crate::metadata::{ArrayMeta, Codecs, Value, v3_grid};

impl Array {
    /// The chunks as the document has them: `[4, 3]` for chunks of one shape, `[[4, 4, 2], 3]` with extents that are listed.
    pub fn chunks_json(&self) -> Value {
        chunks_json(&self.state().meta)
    }

    /// The array in a few words: `float64 [100, 64, 64] in chunks of [50, 32, 64]`.
    pub fn describe(&self) -> String {
        describe(&self.state().meta)
    }

    /// Returns the bytes of all elements in memory; `None` if elements are of variable length, or the number does not fit in 64 bits.
    pub fn element_bytes(&self) -> Option<u64> {
        let item = if self.data_type().is_variable() { None } else { Some(self.data_type().size() as u64) };
        self.shape().iter().try_fold(item?, |n, &length| n.checked_mul(length))
    }

    /// The codecs as the document lists them, in the order of encoding: v2's filters, then its compressor.
    pub fn codecs_json(&self) -> Vec<Value> {
        match &self.state().meta.codecs {
            Codecs::V3(list) => list.iter().map(Extension::to_v3).collect(),
            Codecs::V2 { filters, compressor, .. } => filters.iter().chain(compressor).map(Extension::to_v2).collect(),
        }
    }

    /// What the array is, a line for each thing; with `stored` also how many chunks are stored and their bytes, which lists its keys.
    pub fn info_text(&self, stored: bool) -> Result<String> {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<15}: {value}\n"));
        let list = |lengths: &[u64]| format!("{lengths:?}");
        let data_type = self.data_type();
        line("Zarr format", &self.format().number().to_string());
        line("Data type", &if data_type.code().is_some() { data_type.name().to_string() } else { data_type.numpy() });
        line("Shape", &list(&self.shape()));
        let names = self.dimension_names();
        if names.iter().any(Option::is_some) {
            let names: Vec<&str> = names.iter().map(|n| n.as_deref().unwrap_or("-")).collect();
            line("Dimensions", &names.join(", "));
        }
        line("Chunks", &json::to_compact(&self.chunks_json()).replace(',', ", "));
        if self.inner_chunk_shape() != self.chunk_shape() {
            line("Inner chunks", &list(&self.inner_chunk_shape()));
        }
        let fill = self.fill();
        line("Fill value", &if fill.defined { json::to_compact(&fill.to_json_v3(data_type)) } else { "null".into() });
        let codecs: Vec<String> = self.codecs_json().iter().map(json::to_compact).collect();
        line("Codecs", &if codecs.is_empty() { "none".into() } else { codecs.join(", ") });
        if let Some(bytes) = self.element_bytes() {
            line("Bytes", &bytes.to_string());
        }
        if stored {
            let usage = self.usage()?;
            line("Bytes stored", &usage.bytes.to_string());
            if let (Some(bytes), 1..) = (self.element_bytes(), usage.bytes) {
                line("Ratio", &format!("{:.1}", bytes as f64 / usage.bytes as f64));
            }
            line("Chunks stored", &format!("{} of {}", usage.chunks, usage.possible_chunks));
        }
        Ok(text)
    }
}

/// An array in a few words: `float64 [100, 64, 64] in chunks of [50, 32, 64]`.
pub(super) fn describe(meta: &ArrayMeta) -> String {
    let name = if meta.data_type.code().is_some() { meta.data_type.name().to_string() } else { meta.data_type.numpy() };
    let chunks = json::to_compact(&chunks_json(meta)).replace(',', ", ");
    format!("{name} {:?} in chunks of {chunks}", meta.shape.as_slice())
}

/// Returns the chunks of an array like [`Array::chunks_json`].
fn chunks_json(meta: &ArrayMeta) -> Value {
    let said = meta.document.get("chunk_grid").and_then(|grid| grid.get("configuration"));
    let said = said.and_then(|c| c.get("chunk_shapes").or_else(|| c.get("chunk_shape")));
    said.cloned().unwrap_or_else(|| v3_grid::chunk_shapes(&meta.grid))
}

#[cfg(test)]
mod tests {
    use crate::dtype::DataType;
    use crate::metadata::Format;
    use crate::node::{Array, Context, Create, Spec, Store};

    #[test]
    fn the_text_says_what_the_array_is() {
        let store = Store::memory(&Context::default());
        let mut spec = Spec::new(DataType::Float32, &[6, 4]).unwrap();
        spec.set_chunks(&[4, 4]).unwrap();
        spec.set_dimension_names(vec![Some("y".into()), None]).unwrap();
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        let want = "Zarr format    : 3\nData type      : float32\nShape          : [6, 4]\nDimensions     : y, -\nChunks         : [4, 4]\n\
                    Fill value     : 0.0\nCodecs         : {\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}, \
                    {\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}\nBytes          : 96\nBytes stored   : 0\n\
                    Chunks stored  : 0 of 2\n";
        assert_eq!(array.info_text(true).unwrap(), want);
        let mut spec = Spec::new(DataType::Int16, &[6]).unwrap();
        spec.set_format(Format::V2).unwrap();
        spec.set_filters_json("[{\"id\":\"delta\",\"dtype\":\"<i2\"}]").unwrap();
        spec.set_fill_json("null").unwrap();
        let array = Array::create(&store, "b", &spec, Create::New).unwrap();
        let text = array.info_text(false).unwrap();
        assert!(text.contains("Fill value     : null\nCodecs         : {\"id\":\"delta\",\"dtype\":\"<i2\"}, {\"id\":\"zstd\""), "{text}");
    }
}
