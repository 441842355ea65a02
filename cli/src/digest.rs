//! `ozarr digest`: a checksum of the elements, whatever their chunks, codecs, shards, byte order and format. docs/digest.md defines it.

use crate::blocks::{self, Block, Blocks, Cut};
use crate::failure::{Failure, Outcome, one_line};
use crate::output::{Progress, line, object, progress};
use crate::place::{Place, below};
use clap::Args;
use ozarr::dtype::DataType;
use ozarr::engine::Selection;
use ozarr::error::ErrorKind;
use ozarr::node::{Array, Map, Mode, Node, Value, json};
use twox_hash::XxHash3_128;

/// So many elements a run has at least, where there are so many.
const RUN: u64 = 256;
/// The attribute that --store sets.
pub const ATTRIBUTE: &str = "ozarr_digest";

/// Print a checksum of the elements that does not depend on chunks, codecs, shards, byte order or format
///
/// A line for each array: the digest (of type, shape and elements; of 128 bits by XXH3, which finds damage, not forgery), and the path. Two
/// stores of the same elements print the same. docs/digest.md says how to compute it.
#[derive(Args)]
pub struct Digest {
    #[command(flatten)]
    place: Place,
    /// Set the attribute "ozarr_digest" of each array
    #[arg(long)]
    store: bool,
    /// Compare with that attribute: a line for each array that differs, exit status 1 if there is one
    #[arg(long, conflicts_with = "store")]
    check: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl Digest {
    pub fn run(&self) -> Outcome {
        let top = self.place.node(if self.store { Mode::ReadWrite } else { Mode::Read })?;
        let mut arrays = Vec::new();
        for (path, node) in below(&top, usize::MAX)? {
            if let Node::Array(array) = node? {
                arrays.push((path, array));
            }
        }
        let total = arrays.iter().fold(0, |n: u64, (_, array)| n.saturating_add(array.element_bytes().unwrap_or(0)));
        let bar = progress(total, None, true);
        let (mut all, mut differ) = (Map::new(), false);
        for (path, array) in &arrays {
            let found = digest(array, &bar)?;
            let name = if path.is_empty() { self.place.name() } else { path.clone() };
            if self.store {
                array.attributes().set(ATTRIBUTE, found.as_str().into())?;
            }
            if self.check && !self.compare(array, &name, &found, &bar)? {
                differ = true;
            }
            if self.json {
                all.insert(name.into(), found.into());
            } else if !self.check {
                bar.above(|| line(&format!("{found}  {}", one_line(&name))))?;
            }
        }
        bar.finish_and_clear();
        if self.json && !self.check {
            line(&json::to_text(&Value::Object(all)))?;
        } else if self.json {
            line(&json::to_text(&object([("equal", (!differ).into()), ("digests", Value::Object(all))])))?;
        }
        if self.store {
            top.store().close(None)?;
        }
        if differ { Err(Failure::Different) } else { Ok(()) }
    }

    /// Returns whether the attribute is the digest; tells of one that is not.
    fn compare(&self, array: &Array, name: &str, found: &str, bar: &Progress) -> Outcome<bool> {
        let stored = match array.attributes().get(ATTRIBUTE) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                return Err(Failure::Error(format!(
                    "{name} has no attribute {ATTRIBUTE:?} to compare with; `ozarr digest --store` sets it"
                )));
            }
            other => other?,
        };
        let equal = stored.as_str() == Some(found);
        if !equal && !self.json {
            bar.above(|| line(&format!("{}: found {found}, stored is {}", one_line(name), one_line(&json::to_compact(&stored)))))?;
        }
        Ok(equal)
    }
}

/// Returns the digest of all elements, in hexadecimal digits.
fn digest(array: &Array, bar: &Progress) -> Outcome<String> {
    let (shape, data_type) = (array.shape(), array.data_type().native().packed()?);
    let lengths = lengths_of_runs(&shape);
    let blocks = Blocks::new(array, Selection::all(&shape), data_type.size(), Cut::Multiples(&lengths));
    let work = |block: &Block, buffer: &mut Vec<u8>| {
        let selection = blocks.part(block)?;
        if data_type.is_variable() {
            let elements = array.read_variable(&selection)?;
            return Ok(sum_of_runs(&shape, &lengths, block, |range, run| {
                for element in range.filter_map(|i| elements.get(i)) {
                    run.extend((element.len() as u64).to_le_bytes());
                    run.extend(element);
                }
            }));
        }
        blocks::read(array, &selection, data_type, buffer)?;
        let size = data_type.size();
        Ok(sum_of_runs(&shape, &lengths, block, |range, run| run.extend(&buffer[range.start * size..range.end * size])))
    };
    let mut sum = 0u128;
    blocks.each(Some(bar), work, |_, part| {
        sum = sum.wrapping_add(part);
        Ok(())
    })?;
    Ok(finished(data_type, &shape, sum))
}

/// The shape of a run: along dimension q as many indices as make [`RUN`] elements with all of those behind it; ones before it. q is the last
/// dimension for which that can be, else the first.
fn lengths_of_runs(shape: &[u64]) -> Vec<u64> {
    let mut lengths = vec![1; shape.len()];
    let mut inner: u64 = 1;
    for d in (0..shape.len()).rev() {
        lengths[d] = RUN.div_ceil(inner.max(1));
        if inner.saturating_mul(shape[d]) >= RUN || d == 0 {
            break;
        }
        lengths[d] = shape[d].max(1);
        inner = inner.saturating_mul(shape[d].max(1));
    }
    lengths
}

/// The sum of the hashes of a block's runs. `push` appends the bytes of elements of the block, in C order.
fn sum_of_runs(shape: &[u64], lengths: &[u64], block: &Block, push: impl Fn(std::ops::Range<usize>, &mut Vec<u8>)) -> u128 {
    let q = lengths.iter().position(|&n| n > 1).unwrap_or(shape.len().saturating_sub(1));
    let inner: u64 = shape.iter().skip(q + 1).product();
    let (along, step) = (block.shape.get(q).copied().unwrap_or(1), lengths.get(q).copied().unwrap_or(1));
    let rows: u64 = block.shape.iter().take(q).product();
    let (mut sum, mut bytes) = (0u128, Vec::new());
    for row in 0..rows {
        // The number in C order, in the array, of the row's first element.
        let (mut left, mut first, mut stride) = (row, 0u64, shape.iter().skip(q).product::<u64>());
        for d in (0..q).rev() {
            first = first.wrapping_add((block.at[d] + left % block.shape[d]).wrapping_mul(stride));
            left /= block.shape[d];
            stride = stride.wrapping_mul(shape[d]);
        }
        let origin = block.at.get(q).copied().unwrap_or(0);
        let mut at = 0;
        while at < along {
            let end = (at + step).min(along);
            let place = |i: u64| ((row * along + i) * inner) as usize;
            bytes.clear();
            push(place(at)..place(end), &mut bytes);
            let seed = first.wrapping_add((origin + at).wrapping_mul(inner));
            sum = sum.wrapping_add(XxHash3_128::oneshot_with_seed(seed, &bytes));
            at = end;
        }
    }
    sum
}

/// The digest of type, shape and the sum of all runs.
fn finished(data_type: DataType, shape: &[u64], sum: u128) -> String {
    let name = if data_type.is_variable() { data_type.name().to_string() } else { data_type.numpy() };
    let lengths: Vec<String> = shape.iter().map(u64::to_string).collect();
    let mut bytes = format!("ozarr digest 1\n{name}\n{}\n", lengths.join(",")).into_bytes();
    bytes.extend(sum.to_le_bytes());
    format!("{:032x}", XxHash3_128::oneshot(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_256_elements_or_what_makes_more_of_them() {
        let cases: &[(&[u64], &[u64])] = &[
            (&[], &[]),
            (&[5], &[256]),
            (&[1000], &[256]),
            (&[9, 1000], &[1, 256]),
            (&[9, 256], &[1, 256]),
            (&[1000, 3], &[86, 3]),
            (&[4, 100, 2, 3], &[1, 43, 2, 3]),
            (&[2, 2, 2], &[64, 2, 2]),
        ];
        for (shape, want) in cases {
            assert_eq!(lengths_of_runs(shape), *want, "{shape:?}");
        }
    }

    #[test]
    fn the_sum_does_not_depend_on_the_blocks() {
        for shape in [vec![700], vec![7, 600], vec![3, 50, 9], vec![30, 2, 3], vec![]] {
            let lengths = lengths_of_runs(&shape);
            let strides: Vec<u64> = (0..shape.len()).map(|d| shape[d + 1..].iter().product()).collect();
            let sum = |block: &Block| {
                sum_of_runs(&shape, &lengths, block, |range, bytes| {
                    // Element i of the block by its number in the array.
                    for i in range {
                        let (mut left, mut number) = (i as u64, 0);
                        for d in (0..shape.len()).rev() {
                            number += (block.at[d] + left % block.shape[d]) * strides[d];
                            left /= block.shape[d];
                        }
                        bytes.extend(number.to_le_bytes());
                    }
                })
            };
            let whole = sum(&Block { at: vec![0; shape.len()], shape: shape.clone() });
            let Some(d) = (0..shape.len()).find(|&d| shape[d] > lengths[d]) else { continue };
            let cut = lengths[d];
            let (mut left, mut right) =
                (Block { at: vec![0; shape.len()], shape: shape.clone() }, Block { at: vec![0; shape.len()], shape: shape.clone() });
            left.shape[d] = cut;
            (right.at[d], right.shape[d]) = (cut, shape[d] - cut);
            assert_eq!(whole, sum(&left).wrapping_add(sum(&right)), "{shape:?}");
        }
    }
}
