//! Members that the documents of several versions have, read and written: lists of lengths, separators, the version itself.

use super::Value;
use super::json;
use crate::counting;
use crate::error::{Error, Result, bail, err};
use crate::grid::key::Separator;
use crate::limits::{self, Dims};

/// The error of a document of another version; one that is newer than all that are known is not damaged.
pub fn wrong_format(found: &Value, expected: u64, advice: &str) -> Error {
    let e = match json::get_u64(found) {
        Ok(newer @ 4..) => err!(Unsupported, "found {newer}, which is not supported; 2 and 3 are"),
        _ => err!(Metadata, "found {}, expected {expected}{advice}", json::brief(found)),
    };
    e.at_field("zarr_format")
}

/// Checks that the attributes are an object, if there are any; zarrita writes null for none.
pub fn check_attributes(attributes: Option<&Value>) -> Result<()> {
    match attributes {
        None | Some(Value::Null | Value::Object(_)) => Ok(()),
        Some(other) => Err(err!(Metadata, "found {}, expected an object", json::brief(other)).at_field("attributes")),
    }
}

/// A list of lengths as JSON.
pub fn number_list(dims: &[u64]) -> Value {
    Value::Array(dims.iter().map(|&n| n.into()).collect())
}

/// Reads a list of lengths, each at most 2^63 - 1, of at most the largest rank.
pub fn extents(value: &Value) -> Result<Dims> {
    let dims = json::u64_list(value)?;
    limits::check_rank(dims.len())?;
    match dims.iter().position(|&n| n > i64::MAX as u64) {
        Some(d) => bail!(Limit, "{} is {}, the limit is 2^63 - 1", counting::dimension(d, dims.len()), dims[d]),
        None => Ok(dims),
    }
}

/// Reads a list of lengths of chunks of an array of that shape. As zarr-python wrote them, `true` is 1 and, where the array has no elements along a
/// dimension, 0 is the smallest length that a chunk may have there: `smallest`, or 1.
pub fn chunk_lengths(value: &Value, shape: &[u64], smallest: Option<&[u64]>) -> Result<Dims> {
    let ones = |list: &[Value]| Value::Array(list.iter().map(|v| if v.as_bool() == Some(true) { 1.into() } else { v.clone() }).collect());
    let mut chunk = match value {
        Value::Array(list) if list.contains(&Value::Bool(true)) => extents(&ones(list))?,
        other => extents(other)?,
    };
    if chunk.len() != shape.len() {
        bail!(Metadata, "found {} extents, expected {} as in \"shape\"", chunk.len(), shape.len());
    }
    for (d, extent) in chunk.iter_mut().enumerate().filter(|(d, extent)| **extent == 0 && shape[*d] == 0) {
        *extent = smallest.and_then(|s| s.get(d)).map_or(1, |&n| n);
    }
    Ok(chunk)
}

/// `"."` or `"/"`.
pub fn separator(value: &Value) -> Result<Separator> {
    match value.as_str() {
        Some(".") => Ok(Separator::Dot),
        Some("/") => Ok(Separator::Slash),
        _ => bail!(Metadata, "found {}, expected \".\" or \"/\"", json::brief(value)),
    }
}
