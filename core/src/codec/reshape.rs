//! `reshape` and `zarrs.squeeze`: other dimensions over the same elements in the same order. They cost no stage.
//!
//! Specification: zarr-extensions, "reshape" (v3 name `reshape`); `zarrs.squeeze` is one writer's name for a reshape that leaves
//! out the dimensions of length 1.
//! Example: `{"name": "reshape", "configuration": {"shape": [[0, 1], 4, -1]}}`
//!
//! What is left of them is the shape that the codecs behind them see. A transpose or shards behind them are not supported.

use super::config::Config;
use crate::error::{Result, bail, err};
use crate::limits::{self, Dims, element_count};
use crate::metadata::{Value, json::brief};
use smallvec::SmallVec;

/// One dimension of the output.
#[derive(Clone, Debug, PartialEq)]
enum Side {
    /// This number of elements.
    Size(u64),
    /// The product of these dimensions of the input.
    Product(SmallVec<[usize; 6]>),
    /// What is left.
    Rest,
}

/// How a shape becomes another.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reshape {
    /// `zarrs.squeeze`.
    Squeeze,
    Sides(Sides),
}

/// The checked `shape` of a `reshape`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sides(Vec<Side>);

/// Reads `shape`.
pub(super) fn parse(config: &Config<'_>) -> Result<Reshape> {
    let fail = |message: String| config.error("shape", message);
    let items = match config.get("shape") {
        None => return Err(fail("the member is missing".into())),
        Some(Value::Array(items)) if items.len() <= limits::MAX_RANK => items,
        Some(other) => return Err(fail(format!("found {}, expected a list", brief(other)))),
    };
    let side = |v: &Value| {
        let dims = |v: &Value| v.as_array()?.iter().map(|d| usize::try_from(d.as_u64()?).ok()).collect::<Option<_>>();
        match (v.as_i64(), dims(v)) {
            (Some(-1), _) => Ok(Side::Rest),
            (Some(n @ 1..), _) => Ok(Side::Size(n as u64)),
            (_, Some(dims)) => Ok(Side::Product(dims)),
            _ => Err(fail(format!("found {}, expected a length, -1 or a list of dimensions", brief(v)))),
        }
    };
    let sides = items.iter().map(side).collect::<Result<Vec<_>>>()?;
    if sides.iter().filter(|s| **s == Side::Rest).count() > 1 {
        return Err(fail("found -1 more than once".into()));
    }
    let named: Vec<usize> =
        sides.iter().filter_map(|s| if let Side::Product(dims) = s { Some(dims) } else { None }).flatten().copied().collect();
    if !named.is_sorted_by(|a, b| a < b) {
        return Err(fail(format!("found the dimensions {named:?}, expected them in rising order")));
    }
    Ok(Reshape::Sides(Sides(sides)))
}

impl Reshape {
    /// The shape behind the codec, for chunks of that shape before it.
    ///
    /// Errors: `Metadata`, at the field `shape`, where the numbers of elements differ or listed dimensions are not at their places.
    pub(super) fn apply(&self, shape: &[u64]) -> Result<Dims> {
        match self {
            Reshape::Squeeze => Ok(shape.iter().copied().filter(|n| *n != 1).collect()),
            Reshape::Sides(sides) => sides.apply(shape).map_err(|e| e.at_field("shape")),
        }
    }
}

impl Sides {
    fn apply(&self, shape: &[u64]) -> Result<Dims> {
        let all = element_count(shape)?;
        let mut out = Dims::with_capacity(self.0.len());
        for side in &self.0 {
            out.push(match side {
                Side::Size(n) => *n,
                Side::Rest => 1,
                Side::Product(dims) => {
                    let lengths = dims.iter().map(|d| shape.get(*d).copied()).collect::<Option<Dims>>();
                    element_count(&lengths.ok_or_else(|| err!(Metadata, "found dimensions {dims:?} of an array of rank {}", shape.len()))?)?
                }
            });
        }
        if let Some(slot) = self.0.iter().position(|s| *s == Side::Rest).and_then(|i| out.get_mut(i)) {
            *slot = 0;
            let others = element_count(&out.iter().copied().filter(|n| *n != 0).collect::<Dims>())?;
            if let Some(slot) = out.iter_mut().find(|n| **n == 0) {
                *slot = all / others.max(1);
            }
        }
        if element_count(&out)? != all {
            bail!(Metadata, "makes {:?} of a chunk of {shape:?}, which has another number of elements", out.as_slice());
        }
        for (i, side) in self.0.iter().enumerate() {
            let Side::Product(dims) = side else { continue };
            let (Some(first), Some(last)) = (dims.first(), dims.last()) else { continue };
            let before = element_count(out.get(..i).unwrap_or_default())? == element_count(shape.get(..*first).unwrap_or_default())?;
            let behind = element_count(out.get(i + 1..).unwrap_or_default())? == element_count(shape.get(last + 1..).unwrap_or_default())?;
            if !before || !behind {
                bail!(Metadata, "puts the dimensions {dims:?} of {shape:?} to another place in {:?}", out.as_slice());
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::*;

    fn reshape(shape: &str) -> Result<Reshape> {
        parse(&Config::v3(&config_of(&format!(r#"{{"shape": {shape}}}"#))))
    }

    #[test]
    fn shapes_follow_the_specification() {
        for (json, shape, expected) in [
            ("[[0, 1], [2], 3]", &[100, 50, 64, 3][..], &[5000, 64, 3][..]),
            ("[[0, 1]]", &[13, 9], &[117]),
            ("[-1]", &[4, 5], &[20]),
            ("[2, -1, 5]", &[4, 5], &[2, 2, 5]),
            ("[4, [1], 2, 3]", &[4, 5, 6], &[4, 5, 2, 3]),
            ("[[], [0], []]", &[7], &[1, 7, 1]),
            ("[]", &[1, 1], &[]),
        ] {
            assert_eq!(reshape(json).unwrap().apply(shape).unwrap().as_slice(), expected, "{json}");
        }
        assert_eq!(Reshape::Squeeze.apply(&[1, 13, 1, 9]).unwrap().as_slice(), [13, 9]);
    }

    #[test]
    fn shapes_that_cannot_be_are_errors() {
        for json in ["[[1], [0]]", "[[1, 0], 10]", "[-1, -1]", "[0]", "[-2]", "[\"a\"]", "7", "null"] {
            assert_eq!(reshape(json).unwrap_err().field(), Some("configuration.shape"), "{json}");
        }
        for (json, shape) in
            [("[5]", &[4][..]), ("[3, -1]", &[4, 5]), ("[[0], [2]]", &[4, 5]), ("[2, [1], 2]", &[4, 5]), ("[[0, 1], 1]", &[2, 3, 4])]
        {
            let e = reshape(json).unwrap().apply(shape).unwrap_err();
            assert_eq!((e.kind(), e.field()), (ErrorKind::Metadata, Some("shape")), "{json}");
        }
    }
}
