//! A mask as bits, with counts of the bits that are set, so that the place of an element in the list is found at once. Pure.

use super::Selection;
use crate::counting;
use crate::error::{Result, bail};
use crate::limits::{Dims, element_count};

/// Bits of a mask in C order, and how many are set before each block of words.
pub(super) struct MaskBits {
    pub start: Dims,
    pub shape: Dims,
    words: Vec<u64>,
    before: Vec<u64>,
}

/// Words of a block.
const BLOCK: usize = 8;

impl MaskBits {
    pub fn new(region: &Selection, mask: &[u8]) -> Result<MaskBits> {
        let elements = element_count(region.shape())?;
        if let Some(d) = (0..region.step().len()).find(|&d| region.step()[d] != 1) {
            bail!(
                Argument,
                "{}: the step of a mask's region is {}, expected 1",
                counting::dimension(d, region.step().len()),
                region.step()[d]
            );
        }
        if mask.len() as u64 != elements {
            bail!(
                BufferSize,
                "the mask has {} bytes, expected {elements}, one for each element of {}",
                mask.len(),
                counting::shape(region.shape())
            );
        }
        let mut bits = MaskBits { start: region.start().into(), shape: region.shape().into(), words: Vec::new(), before: Vec::new() };
        let count = mask.len().div_ceil(64) + 1;
        let room = bits.words.try_reserve_exact(count).is_ok() && bits.before.try_reserve_exact(count / BLOCK + 2).is_ok();
        if !room {
            bail!(NoMemory, "no memory for a mask of {} elements", mask.len());
        }
        bits.words.extend(mask.chunks(64).map(|c| c.iter().enumerate().fold(0, |word, (i, &b)| word | u64::from(b != 0) << i)));
        bits.words.push(0);
        let mut sum = 0;
        for block in bits.words.chunks(BLOCK) {
            bits.before.push(sum);
            sum += block.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
        }
        Ok(bits)
    }

    /// Returns how many bits are set before bit `i`.
    pub fn rank(&self, i: u64) -> u64 {
        let (word, bit) = ((i / 64) as usize, i % 64);
        let block = word / BLOCK;
        let whole: u64 = self.words[block * BLOCK..word].iter().map(|w| u64::from(w.count_ones())).sum();
        self.before[block] + whole + u64::from((self.words[word] & ((1 << bit) - 1)).count_ones())
    }

    /// Returns the first bit from `i` on that is (not) set, or `end`.
    pub fn next(&self, i: u64, end: u64, set: bool) -> u64 {
        let mut at = i;
        while at < end {
            let word = self.words[(at / 64) as usize];
            let rest = (if set { word } else { !word }) >> (at % 64);
            if rest != 0 {
                return (at + u64::from(rest.trailing_zeros())).min(end);
            }
            at = (at / 64 + 1) * 64;
        }
        end
    }

    /// Returns the last bit that is set between `i`, which is, and `end`.
    pub fn last(&self, i: u64, end: u64) -> u64 {
        let mut at = end;
        while at > i {
            let first = (at - 1) / 64 * 64;
            let word = self.words[(first / 64) as usize] << (first + 64 - at);
            if word != 0 {
                return at - 1 - u64::from(word.leading_zeros());
            }
            at = first;
        }
        i
    }
}
