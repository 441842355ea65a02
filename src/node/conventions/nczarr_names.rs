//! What NCZarr's keys say of the dimensions of an array, and of an array without dimensions.
//! Convention: netCDF-C, "NetCDF-4 Zarr Implementation" (checklist NZ-06, NZ-07, NZ-11).

use super::nczarr::KeyPart;
use crate::error::Result;
use crate::metadata::{ArrayMeta, Format, Map, Value, v2};
use crate::node::listed_lengths::names_of;
use crate::node::{Array, Node};

/// The dimension of a variable that has none, as some readers see it (NZ-07).
const SCALAR: &str = "_scalar_";

/// What NCZarr says of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NcArray {
    /// Its dimensions by their whole paths (`/group/x`).
    pub dimensions: Vec<String>,
    /// Whether the variable has no dimensions, though the array has one of length 1.
    pub is_scalar: bool,
}

impl NcArray {
    /// What the keys of an array of this shape say.
    fn of(array: &Map, shape: &[u64]) -> NcArray {
        let references = array.get("dimension_references").or_else(|| array.get("dimrefs"));
        let references = references.and_then(Value::as_array).unwrap_or_default();
        let dimensions = references.iter().filter_map(|r| r.as_str().map(str::to_string)).collect();
        let is_set = |value: &Value| value.as_i64() == Some(1) || value.as_bool() == Some(true);
        let is_scalar = array.get("scalar").is_some_and(is_set) || array.get("storage").and_then(Value::as_str) == Some("scalar");
        NcArray { dimensions, is_scalar: is_scalar && shape.iter().all(|length| *length == 1) }
    }

    /// The names that the references give the dimensions, where there are as many; unnamed ones are `None` (NZ-06, NZ-11).
    fn names(&self, rank: usize) -> Option<Vec<Option<String>>> {
        if self.is_scalar && rank == 1 {
            return Some(vec![Some(SCALAR.into())]);
        }
        (self.dimensions.len() == rank).then(|| self.dimensions.iter().map(|whole| named(whole)).collect())
    }
}

impl Array {
    /// What netCDF-C wrote about the array; `None` for pure Zarr.
    pub fn nczarr(&self) -> Result<Option<NcArray>> {
        Ok(KeyPart::Array.find(&Node::Array(self.clone()))?.map(|array| NcArray::of(&array, &self.shape())))
    }

    /// Whether netCDF sees a variable without dimensions (NZ-07).
    pub fn is_nc_scalar(&self) -> Result<bool> {
        let named = self.rank() == 1 && self.dimension_names()? == [Some(SCALAR.to_string())];
        Ok(self.rank() == 0 || named || self.nczarr()?.is_some_and(|nc| nc.is_scalar))
    }

    /// The names that NCZarr's references give the dimensions; see [`NcArray::names`].
    pub(in crate::node) fn nc_names(&self) -> Result<Option<Vec<Option<String>>>> {
        Ok(self.nczarr()?.and_then(|nc| nc.names(self.rank())))
    }
}

/// Names all dimensions of an array of version 2, where its attributes do not and NCZarr's references do: other programs look for them there alone
/// in its copy, or, in version 3, for the names that they become. Objects of the oldest generation are not asked for: that would be one more request of
/// each array without names, though hardly any hierarchy has them.
pub(in crate::node) fn name_by_references(attributes: &mut Map, meta: &ArrayMeta) {
    let rank = meta.shape.len();
    if meta.format != Format::V2 || attributes.get(v2::DIMENSIONS).is_some_and(|value| names_of(value, rank).is_some()) {
        return;
    }
    let found = KeyPart::Array.of(attributes).or_else(|| KeyPart::Array.of(&meta.document));
    let names = found.and_then(|array| NcArray::of(array, &meta.shape).names(rank));
    if let Some(names) = names.and_then(|names| names.into_iter().collect::<Option<Vec<String>>>()) {
        attributes.insert(v2::DIMENSIONS.into(), names.into_iter().map(Value::from).collect());
    }
}

/// The name of a dimension: the last part of its path, unless the writer made it up.
fn named(whole: &str) -> Option<String> {
    let name = whole.rsplit('/').next().unwrap_or(whole);
    let unnamed = ["_Anonymous_Dim_", "_Anonymous_Dimension_", "_zdim_"]
        .iter()
        .any(|start| name.strip_prefix(start).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())));
    (!unnamed && !name.is_empty()).then(|| name.to_string())
}
