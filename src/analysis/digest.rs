//! A checksum of the elements of a region, whatever their chunks, codecs, shards, byte order and format. docs/digest.md defines it.

use super::blocks::{Block, Blocks, CutAt, Told, read};
use super::stored::blocks_stored;
use crate::dtype::DataType;
use crate::dtype::Element;
use crate::engine::Selection;
use crate::error::Result;
use crate::limits::Dims;
use crate::node::Array;
use twox_hash::XxHash3_128;

/// The fewest elements of a run, but for an array that has fewer.
const RUN: u64 = 256;
/// The bytes of a run that are hashed at once; longer ones are hashed piece by piece, for an element may have many MiB.
const PIECE: usize = 64 << 10;
/// The hexadecimal digits of a digest.
pub const DIGITS: usize = 32;

/// Returns the digest of a region's elements, in hexadecimal digits: that of an array which holds nothing else. `told` gets the bytes of
/// each block that is done.
pub fn digest(array: &Array, selection: Selection, told: Told<'_>) -> Result<String> {
    let data_type = array.data_type().native().packed()?;
    let shape = Dims::from_slice(selection.shape());
    let lengths = lengths_of_runs(&shape);
    let blocks = Blocks::new(array, selection, data_type.size(), CutAt::Multiples(&lengths))?;
    let size = data_type.size();
    // Elements that are not stored are hashed as all others are, but looked for in no chunk.
    let (stored, fill) = match data_type.is_variable() {
        true => (None, Vec::new()),
        false => {
            let mut fill = array.fill_as(data_type, false)?;
            plain_bools(data_type, &mut fill);
            (blocks_stored(array, &blocks)?, fill_values(fill))
        }
    };
    let work = |block: &Block, buffer: &mut Vec<u8>| {
        let selection = blocks.part(block)?;
        if data_type.is_variable() {
            let elements = array.read_variable(&selection)?;
            return Ok(sum_of_runs(&shape, &lengths, block, |range, run| {
                for element in range.filter_map(|i| elements.get(i)) {
                    run.push(&(element.len() as u64).to_le_bytes());
                    run.push(element);
                }
            }));
        }
        if !blocks.is_among(stored.as_deref(), block) {
            return Ok(sum_of_runs(&shape, &lengths, block, |range, run| run.push_repeated(&fill, range.len() * size)));
        }
        read(array, &selection, data_type, buffer)?;
        plain_bools(data_type, buffer);
        Ok(sum_of_runs(&shape, &lengths, block, |range, run| run.push(&buffer[range.start * size..range.end * size])))
    };
    let mut sum = 0u128;
    blocks.each(told, work, |_, part| {
        sum = sum.wrapping_add(part);
        Ok(())
    })?;
    Ok(finished(data_type, &shape, sum))
}

/// Makes 1 of all bytes of bools that are not 0, which other writers store: they say the same.
fn plain_bools(data_type: DataType, elements: &mut [u8]) {
    match data_type {
        DataType::Bool => elements.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0)),
        DataType::Struct(s) if has_bool(data_type) => {
            for element in elements.chunks_exact_mut(data_type.size().max(1)) {
                for field in s.fields() {
                    plain_bools(field.element.data_type, &mut element[field.offset..field.offset + field.size()]);
                }
            }
        }
        _ => {}
    }
}

fn has_bool(data_type: DataType) -> bool {
    match data_type {
        DataType::Struct(s) => s.fields().iter().any(|field| has_bool(field.element.data_type)),
        other => other == DataType::Bool,
    }
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

/// Fill values one after the other: as many as are hashed at once, or one.
fn fill_values(fill: Element) -> Vec<u8> {
    if fill.len() < PIECE { fill.repeat(PIECE / fill.len().max(1)) } else { fill.into_vec() }
}

/// The bytes of a run, kept while they are few.
#[derive(Default)]
struct RunBytes {
    seed: u64,
    few: Vec<u8>,
    many: Option<XxHash3_128>,
}

impl RunBytes {
    /// Appends bytes.
    fn push(&mut self, bytes: &[u8]) {
        if self.many.is_none() && self.few.len() + bytes.len() <= PIECE {
            self.few.extend_from_slice(bytes);
            return;
        }
        let hasher = self.many.get_or_insert_with(|| {
            let mut hasher = XxHash3_128::with_seed(self.seed);
            hasher.write(&self.few);
            hasher
        });
        hasher.write(bytes);
    }

    /// Appends `len` bytes of `bytes` over and over.
    fn push_repeated(&mut self, bytes: &[u8], mut len: usize) {
        while len > 0 {
            let piece = &bytes[..len.min(bytes.len())];
            self.push(piece);
            len -= piece.len();
        }
    }

    /// Returns the hash of the bytes that `push` appends.
    fn hash_with(&mut self, seed: u64, push: impl FnOnce(&mut RunBytes)) -> u128 {
        self.seed = seed;
        self.few.clear();
        push(self);
        self.many.take().map_or_else(|| XxHash3_128::oneshot_with_seed(seed, &self.few), |hasher| hasher.finish_128())
    }
}

/// The sum of the hashes of a block's runs. `push` appends the bytes of elements of the block, in C order.
fn sum_of_runs(shape: &[u64], lengths: &[u64], block: &Block, push: impl Fn(std::ops::Range<usize>, &mut RunBytes)) -> u128 {
    let q = lengths.iter().position(|&n| n > 1).unwrap_or(shape.len().saturating_sub(1));
    let inner: u64 = shape.iter().skip(q + 1).product();
    let (along, step) = (block.shape.get(q).copied().unwrap_or(1), lengths.get(q).copied().unwrap_or(1));
    let rows: u64 = block.shape.iter().take(q).product();
    let (mut sum, mut run) = (0u128, RunBytes::default());
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
            let seed = first.wrapping_add((origin + at).wrapping_mul(inner));
            sum = sum.wrapping_add(run.hash_with(seed, |run| push(place(at)..place(end), run)));
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
    use crate::dtype::parse_v2::parse;
    use crate::metadata::json;

    #[test]
    fn bools_count_as_0_or_1_in_structs_too() {
        let type_of = |text: &str| parse(&json::parse_text(text).unwrap()).unwrap().data_type.packed().unwrap();
        let nested = r#"[["a","<i2"],["n",[["b","|b1",[2]],["c","|u1"]],[2]],["d","|b1"]]"#;
        let cases: &[(DataType, &[u8], &[u8])] = &[
            (DataType::Bool, &[0, 1, 2, 255], &[0, 1, 1, 1]),
            (DataType::UInt8, &[0, 1, 2, 255], &[0, 1, 2, 255]),
            (
                type_of(nested),
                &[9, 9, 2, 0, 9, 7, 1, 9, 4, 9, 9, 0, 0, 9, 0, 0, 9, 0],
                &[9, 9, 1, 0, 9, 1, 1, 9, 1, 9, 9, 0, 0, 9, 0, 0, 9, 0],
            ),
        ];
        for (data_type, stored, want) in cases {
            let mut elements = stored.to_vec();
            plain_bools(*data_type, &mut elements);
            assert_eq!(elements, *want, "{data_type:?}");
        }
    }

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
                sum_of_runs(&shape, &lengths, block, |range, run| {
                    // Element i of the block by its number in the array.
                    for i in range {
                        let (mut left, mut number) = (i as u64, 0);
                        for d in (0..shape.len()).rev() {
                            number += (block.at[d] + left % block.shape[d]) * strides[d];
                            left /= block.shape[d];
                        }
                        run.push(&number.to_le_bytes());
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

    #[test]
    fn long_runs_are_hashed_as_short_ones_and_kept_nowhere() {
        let bytes: Vec<u8> = (0..3 * PIECE + 5).map(|i| (i % 251) as u8).collect();
        let mut run = RunBytes::default();
        for len in [0, 1, PIECE, PIECE + 1, bytes.len()] {
            let want = XxHash3_128::oneshot_with_seed(7, &bytes[..len]);
            for piece in [1, 100, PIECE - 1, PIECE, bytes.len()] {
                assert_eq!(run.hash_with(7, |run| bytes[..len].chunks(piece).for_each(|piece| run.push(piece))), want, "{len} {piece}");
                assert!(run.few.capacity() <= 2 * PIECE);
            }
        }
        let twice = [&bytes[..], &bytes[..9]].concat();
        assert_eq!(run.hash_with(1, |run| run.push_repeated(&bytes, twice.len())), XxHash3_128::oneshot_with_seed(1, &twice));
        for size in [1, 12, PIECE - 1, PIECE, 9 * PIECE] {
            assert!((size..=size.max(PIECE)).contains(&fill_values(Element::from_elem(0, size)).len()));
        }
    }
}
