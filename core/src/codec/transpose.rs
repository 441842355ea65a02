//! `transpose`: a permutation of the dimensions. Costs no stage: permutations compose and become strides.
//!
//! Specification: v3 core codecs, "transpose" (v3 name `transpose`; in v2 `order: "F"` is the reversal).
//! Example: `{"name": "transpose", "configuration": {"order": [2, 0, 1]}}`

use super::config::Config;
use crate::error::{Result, err};
use crate::limits::{Dims, Strides, c_strides};
use crate::metadata::{Value, json::brief};
use smallvec::SmallVec;

/// A permutation: dimension `i` of the encoded array is dimension `p[i]` of the array's user.
pub(super) type Permutation = SmallVec<[usize; 6]>;

/// The permutation that changes nothing.
pub(super) fn identity(rank: usize) -> Permutation {
    (0..rank).collect()
}

/// The permutation of v2's order F.
pub(super) fn reversal(rank: usize) -> Permutation {
    (0..rank).rev().collect()
}

/// Reads the configuration: `order`, a permutation of `0..rank`, or one of the former strings "C" and "F".
pub(super) fn parse(config: &Config<'_>, rank: usize) -> Result<Permutation> {
    let fail = |message: String| config.error("order", message);
    let items = match config.get("order") {
        None => return Err(fail("the member is missing".into())),
        Some(Value::String(s)) if s == "C" => return Ok(identity(rank)),
        Some(Value::String(s)) if s == "F" => return Ok(reversal(rank)),
        Some(Value::Array(items)) => items,
        Some(other) => return Err(fail(format!("found {}, expected a list of {rank} integers", brief(other)))),
    };
    let dimension = |(i, value): (usize, &Value)| {
        let found = value.as_u64().and_then(|n| usize::try_from(n).ok());
        let message = || format!("found {}, expected a dimension from 0 to {}", brief(value), rank.saturating_sub(1));
        found.ok_or_else(|| config.error(&format!("order[{i}]"), message()))
    };
    let order: Permutation = items.iter().enumerate().map(dimension).collect::<Result<_>>()?;
    let mut seen = order.clone();
    seen.sort_unstable();
    if seen != identity(rank) {
        return Err(
            err!(Metadata, "found {:?}, expected a permutation of the {rank} dimensions", order.as_slice()).at_field(config.path("order"))
        );
    }
    Ok(order)
}

/// `first`, then `second`, as one permutation.
pub(super) fn compose(first: &[usize], second: &[usize]) -> Permutation {
    second.iter().filter_map(|&d| first.get(d).copied()).collect()
}

/// The shape of the encoded array.
pub(super) fn encoded_shape(shape: &[u64], permutation: &[usize]) -> Dims {
    permutation.iter().filter_map(|&d| shape.get(d).copied()).collect()
}

/// The inverse of [`encoded_shape`]: values by encoded dimension, ordered as the array's user sees them.
pub(super) fn decoded_shape(encoded: &[u64], permutation: &[usize]) -> Dims {
    let mut shape = Dims::from_elem(0, encoded.len());
    for (&d, &n) in permutation.iter().zip(encoded) {
        if let Some(slot) = shape.get_mut(d) {
            *slot = n;
        }
    }
    shape
}

/// The strides of the user's dimensions in the dense encoded buffer.
pub(super) fn strides(shape: &[u64], permutation: &[usize], item: usize) -> Strides {
    let encoded = c_strides(&encoded_shape(shape, permutation), item);
    let mut strides = Strides::from_elem(item as i64, shape.len());
    for (&d, &s) in permutation.iter().zip(&encoded) {
        if let Some(slot) = strides.get_mut(d) {
            *slot = s;
        }
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{config_of, doc_example};

    fn order(json: &str, rank: usize) -> Result<Permutation> {
        parse(&Config::v3(&config_of(json)), rank)
    }

    #[test]
    fn the_order_is_a_permutation_or_a_former_string() {
        assert_eq!(parse(&Config::v3(&doc_example(include_str!("transpose.rs"))), 3).unwrap().as_slice(), &[2, 0, 1]);
        assert_eq!(order(r#"{"order": "F"}"#, 3).unwrap().as_slice(), &[2, 1, 0]);
        assert_eq!(order(r#"{"order": "C"}"#, 2).unwrap().as_slice(), &[0, 1]);
        assert_eq!(order(r#"{"order": []}"#, 0).unwrap().as_slice(), &[] as &[usize]);
    }

    #[test]
    fn anything_else_is_refused_by_field() {
        for (json, field) in [
            ("{}", "order"),
            (r#"{"order": [0]}"#, "order"),
            (r#"{"order": [0, 0]}"#, "order"),
            (r#"{"order": [0, 2]}"#, "order"),
            (r#"{"order": [0, -1]}"#, "order[1]"),
            (r#"{"order": [true, 1.5]}"#, "order[0]"),
            (r#"{"order": 1}"#, "order"),
            (r#"{"order": "A"}"#, "order"),
        ] {
            assert_eq!(order(json, 2).unwrap_err().field(), Some(format!("configuration.{field}").as_str()), "{json}");
        }
        let e = order(r#"{"order": [0, -1]}"#, 2).unwrap_err();
        assert_eq!(e.message(), "found -1, expected a dimension from 0 to 1");
    }

    /// Elements of the encoded buffer, by following the definition one transpose after another.
    fn reference(shape: &[u64], orders: &[&[usize]]) -> Vec<u64> {
        let count = |s: &[u64]| s.iter().product::<u64>();
        let mut shape = shape.to_vec();
        let mut data: Vec<u64> = (0..count(&shape)).collect();
        for order in orders {
            let next: Vec<u64> = order.iter().map(|&d| shape[d]).collect();
            let mut out = vec![0; data.len()];
            for (flat, slot) in out.iter_mut().enumerate() {
                let mut rest = flat as u64;
                let mut index = vec![0; shape.len()];
                for i in (0..next.len()).rev() {
                    index[order[i]] = rest % next[i];
                    rest /= next[i];
                }
                *slot = data[index.iter().zip(&shape).fold(0, |at, (&i, &n)| at * n + i) as usize];
            }
            (shape, data) = (next, out);
        }
        data
    }

    #[test]
    fn strides_of_composed_transposes_match_the_definition() {
        let cases: &[&[&[usize]]] = &[&[], &[&[2, 0, 1]], &[&[1, 2, 0], &[0, 2, 1]], &[&[2, 1, 0], &[1, 0, 2], &[2, 0, 1]]];
        let shape = [2u64, 3, 4];
        for orders in cases {
            let p = orders.iter().fold(identity(3), |p, o| compose(&p, o));
            let strides = strides(&shape, &p, 1);
            let encoded = reference(&shape, orders);
            for flat in 0..24u64 {
                let index = [flat / 12, flat / 4 % 3, flat % 4];
                let at: i64 = index.iter().zip(&strides).map(|(&i, &s)| i as i64 * s).sum();
                assert_eq!(encoded[at as usize], flat, "{orders:?}");
            }
            assert_eq!(decoded_shape(&encoded_shape(&shape, &p), &p).as_slice(), &shape);
        }
    }
}
