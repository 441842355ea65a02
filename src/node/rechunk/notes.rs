//! What is told of a copy whose elements are not, or do not mean, what they were.

use crate::codec::chain::Chain;
use crate::dtype::fill::Fill;
use crate::dtype::{DataType, Element};
use crate::error::Result;
use crate::limits::readable;
use crate::metadata::extension::Extension;
use crate::metadata::{ArrayMeta, Codecs, Format, Map, Value, v3};
use crate::node::Store;
use crate::node::conventions::missing::{is_no_number, missing_of};
use crate::node::follow_type::is_lossy_zfp;
use crate::node::spec::converted_fill;

impl Store {
    /// Tells the log what a copy or a migration into the store could not keep.
    pub fn tell(&self, notes: &[String]) {
        notes.iter().for_each(|note| self.context().warn(note));
    }
}

/// The notes of a copy in which nothing means "missing" that did, in version 3 and 2.
pub(super) const MISSING_LOST: [&str; 2] = [
    "_FillValue is no value of the type of the copy: what was missing is not any more",
    "the fill value, which means \"missing\" in zarr_format 2, is another one: what was missing is not any more",
];

/// Whether the elements that mean "missing" in an array, whose numbers are of `meant`, do not in its copy, of another type, or of version 2 as the array.
pub(super) fn is_missing_lost(
    (old, meant): (&ArrayMeta, DataType),
    missing: Option<Element>,
    (new, attributes): (&ArrayMeta, &Map),
) -> bool {
    let Some(missing) = missing else { return false };
    if new.data_type == old.data_type && (old.format, new.format) != (Format::V2, Format::V2) {
        return false;
    }
    // Only a number means "missing".
    let converted = converted_fill(&Fill::from_bytes(&missing), meant, new.data_type).unwrap_or_default();
    converted.map(|fill| fill.element(new.data_type)).is_none_or(|element| {
        // What is no number is missing by itself.
        !is_no_number(new.data_type, &element) && missing_of(new, attributes).as_ref() != Some(&element)
    })
}

/// The notes on members of a document of version 3 that version 2 has no place for: other programs' own, and storage transformers.
pub(super) fn members_lost(document: &Map, attributes: &Map) -> Vec<String> {
    let is_lost = |name: &str, value: &Value| match value {
        Value::Array(list) if name == "storage_transformers" => !list.is_empty(),
        // Those of NCZarr are among the attributes.
        _ => !v3::is_own_member(name) && attributes.get(name) != Some(value),
    };
    let lost = document.iter().filter(|(name, value)| is_lost(name, value));
    lost.map(|(name, _)| format!("the member {name:?} is left out: it has no form in zarr_format 2")).collect()
}

/// Whether zfp is among the codecs and keeps not every bit. What other codecs have rounded stays as it is when they round it again.
pub(super) fn rounds_by_zfp(codecs: &Codecs) -> bool {
    let rounds = |codec: &Extension| match codec.name.as_str() {
        "sharding_indexed" => {
            let inner = codec.configuration.get("codecs").and_then(|list| v3::codec_list(list).ok());
            inner.is_some_and(|list| rounds_by_zfp(&Codecs::V3(list)))
        }
        name => is_lossy_zfp(name, &codec.configuration),
    };
    match codecs {
        Codecs::V2 { filters, compressor, .. } => filters.iter().chain(compressor).any(rounds),
        Codecs::V3(list) => list.iter().any(rounds),
    }
}

/// The note of a copy whose codecs change the fill value.
pub(super) const FILL_CHANGED: &str =
    "the codecs change the fill value: elements that were not stored are others in chunks where they are stored";

/// Whether the codecs of the copy make another value of the fill value of the array.
pub(super) fn changes_fill((old, meant): (&ArrayMeta, DataType), new: &ArrayMeta) -> Result<bool> {
    if !old.fill.defined {
        return Ok(false);
    }
    let Some(fill) =
        (if old.data_type == new.data_type { Some(old.fill.clone()) } else { converted_fill(&old.fill, meant, new.data_type)? })
    else {
        return Ok(false);
    };
    let chain = Chain::parse(&new.codecs, new.data_type, new.shape.len())?;
    Ok(readable(chain.check_fill(&fill.try_element(new.data_type)?))?.is_none())
}

/// Whether an array has shards, in which inner chunks may be missing.
pub(super) fn is_sharded(meta: &ArrayMeta) -> bool {
    matches!(&meta.codecs, Codecs::V3(list) if list.iter().any(|codec| codec.name == "sharding_indexed"))
}
