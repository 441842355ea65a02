//! A mask as bits, with counts of the bits that are set, so that the place of an element in the list is found at once. Pure.

use super::Selection;
use crate::counting;
use crate::error::{Result, bail};
use crate::limits::{Dims, element_count, make_room};

/// Bits of a mask in C order, and how many are set before each block of words.
pub(super) struct MaskBits {
    pub start: Dims,
    pub shape: Dims,
    words: Vec<u64>,
    before: Vec<u64>,
    /// The elements are in memory where they are in the mask's box; else those that are picked follow one another.
    pub is_in_place: bool,
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
        let mut words = Vec::new();
        make_room(&mut words, mask.len().div_ceil(64) + 1)?;
        words.extend(mask.chunks(64).map(|c| c.iter().enumerate().fold(0, |word, (i, &b)| word | u64::from(b != 0) << i)));
        MaskBits { start: region.start().into(), shape: region.shape().into(), words, before: Vec::new(), is_in_place: false }.counted()
    }

    /// Returns the mask of a box whose elements are in memory as in the box; `words` are its bits.
    pub fn in_place(start: &[u64], shape: &[u64], words: Vec<u64>) -> Result<MaskBits> {
        MaskBits { start: start.into(), shape: shape.into(), words, before: Vec::new(), is_in_place: true }.counted()
    }

    fn counted(mut self) -> Result<MaskBits> {
        make_room(&mut self.words, 1)?;
        self.words.push(0);
        make_room(&mut self.before, self.words.len() / BLOCK + 2)?;
        let mut sum = 0;
        for block in self.words.chunks(BLOCK) {
            self.before.push(sum);
            sum += block.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
        }
        Ok(self)
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

    /// Gives the runs of bits that are set between `from` and `end` to `each`, by the first one and their count, until it returns false.
    pub fn runs(&self, from: u64, end: u64, each: &mut dyn FnMut(u64, u64) -> bool) {
        let mut first = self.next(from, end, true);
        while first < end {
            let after = self.next(first, end, false);
            if !each(first, after - first) {
                return;
            }
            first = self.next(after, end, true);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_and_counted_as_in_the_mask_itself() {
        // One bit alone, at both sides of the ends of words and blocks, and many.
        let single = [0, 1, 63, 64, 127, 511, 512, 599].map(|i| vec![i]);
        let many = [vec![], (0..600).collect(), (0..600).filter(|i| i % 67 < 2).collect(), (0..70).chain(451..600).collect()];
        for (number, indices) in single.iter().chain(&many).enumerate() {
            let mut mask = vec![0; 600];
            indices.iter().for_each(|&i: &usize| mask[i] = 7);
            let set = |i: u64| mask[i as usize] != 0;
            let bits = MaskBits::new(&Selection::all(&[20, 30]), &mask).unwrap();
            let ends = [0, 1, 5, 62, 63, 64, 65, 128, 300, 448, 511, 512, 513, 599, 600];
            for (from, to) in ends.iter().flat_map(|&from| ends.iter().filter(move |&&to| to >= from).map(move |&to| (from, to))) {
                assert_eq!(bits.rank(to) - bits.rank(from), (from..to).filter(|&i| set(i)).count() as u64, "{number}: {from}..{to}");
                for wanted in [true, false] {
                    let next = (from..to).find(|&i| set(i) == wanted).unwrap_or(to);
                    assert_eq!(bits.next(from, to, wanted), next, "{number}: {from}..{to} {wanted}");
                }
                if from < to && set(from) {
                    assert_eq!(Some(bits.last(from, to)), (from..to).rfind(|&i| set(i)), "{number}: {from}..{to}");
                }
            }
        }
    }
}
