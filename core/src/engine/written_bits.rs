//! Which elements of a chunk were written and wait, as bits, where they are not all of a box. Pure.

use super::item::Axis;
use super::mask_bits::MaskBits;
use super::waiting_box::Span;
use crate::error::{Result, err};
use crate::limits::Dims;

/// One bit for each element of a chunk, in C order.
pub(super) struct WrittenBits {
    words: Vec<u64>,
    /// The chunk's shape.
    shape: Dims,
    /// How many are set.
    count: u64,
}

impl WrittenBits {
    /// Returns the bytes of the bits of `elements`.
    pub fn bytes_of(elements: u64) -> usize {
        (elements.div_ceil(64) as usize).saturating_mul(8)
    }

    /// Returns bits of which none is set, or `None` where there is no memory.
    pub fn new(shape: &Dims) -> Option<WrittenBits> {
        Some(WrittenBits { words: zero_words(shape.iter().product())?, shape: shape.clone(), count: 0 })
    }

    /// Makes them those of another chunk of the same shape.
    pub fn copy_from(&mut self, other: &WrittenBits) {
        self.words.iter_mut().zip(&other.words).for_each(|(to, from)| *to = *from);
        self.count = other.count;
    }

    pub fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn set(&mut self, axes: &[Axis]) {
        let WrittenBits { words, shape, count } = self;
        runs(shape, axes, 0, &mut |first, n| {
            masks(first, n).for_each(|(i, mask)| {
                *count += u64::from((mask & !words[i]).count_ones());
                words[i] |= mask;
            });
            true
        });
    }

    /// Returns whether any of the selected elements was written.
    pub fn any(&self, axes: &[Axis]) -> bool {
        !runs(&self.shape, axes, 0, &mut |first, n| masks(first, n).all(|(i, mask)| self.words[i] & mask == 0))
    }

    /// Returns whether all of the selected elements were written.
    pub fn all(&self, axes: &[Axis]) -> bool {
        runs(&self.shape, axes, 0, &mut |first, n| masks(first, n).all(|(i, mask)| self.words[i] & mask == mask))
    }

    /// Clears the bits outside of a box.
    pub fn keep(&mut self, inside: &Span) {
        let (words, mut end) = (&mut self.words, 0);
        runs(&self.shape, &inside.axes(), 0, &mut |first, n| {
            masks(end, first - end).for_each(|(i, mask)| words[i] &= !mask);
            end = first + n;
            true
        });
        let all = self.shape.iter().product::<u64>();
        masks(end, all - end).for_each(|(i, mask)| words[i] &= !mask);
        self.count = words.iter().map(|word| u64::from(word.count_ones())).sum();
    }

    /// Returns the elements of a box that were written as a mask of the array, in which the box begins at `start`; `None` if none was.
    pub fn mask(&self, inside: &Span, start: &[u64]) -> Result<Option<MaskBits>> {
        let elements = inside.count.iter().product();
        let mut words = zero_words(elements).ok_or_else(|| err!(NoMemory, "no memory for a mask of {elements} elements"))?;
        let mut to = 0;
        runs(&self.shape, &inside.axes(), 0, &mut |first, n| {
            for at in (first..first + n).step_by(64) {
                let count = (first + n - at).min(64);
                let bits = self.bits(at, count);
                let (word, shift) = ((to / 64) as usize, to % 64);
                words[word] |= bits << shift;
                if shift + count > 64 {
                    words[word + 1] |= bits >> (64 - shift);
                }
                to += count;
            }
            true
        });
        if words.iter().all(|word| *word == 0) {
            return Ok(None);
        }
        MaskBits::in_place(start, &inside.count, words).map(Some)
    }

    /// Returns up to 64 bits, from bit `at` on.
    fn bits(&self, at: u64, count: u64) -> u64 {
        let (word, shift) = ((at / 64) as usize, at % 64);
        let low = self.words[word] >> shift;
        let high = if shift + count > 64 { self.words[word + 1] << (64 - shift) } else { 0 };
        (low | high) & (u64::MAX >> (64 - count))
    }
}

fn zero_words(elements: u64) -> Option<Vec<u64>> {
    let count = usize::try_from(elements.div_ceil(64)).ok()?;
    let mut words = Vec::new();
    // One more for the end of a mask.
    words.try_reserve_exact(count.checked_add(1)?).ok()?;
    words.resize(count, 0);
    Some(words)
}

/// Gives the runs of selected elements in a chunk of `shape` to `each`, by the first one's number and their count, until it returns false. False
/// where `each` said so.
fn runs(shape: &[u64], axes: &[Axis], before: u64, each: &mut dyn FnMut(u64, u64) -> bool) -> bool {
    let (Some((&length, shape)), Some((axis, axes))) = (shape.split_first(), axes.split_first()) else { return each(before, 1) };
    let at = |k: u64| before * length + axis.start.wrapping_add_signed(axis.step.wrapping_mul(k as i64));
    if axes.is_empty() && (axis.count == 1 || axis.step.unsigned_abs() == 1) {
        return each(at(0).min(at(axis.count - 1)), axis.count);
    }
    (0..axis.count).all(|k| runs(shape, axes, at(k), each))
}

/// Returns the words that `n` bits from bit `first` on are in, and where in them.
fn masks(first: u64, n: u64) -> impl Iterator<Item = (usize, u64)> {
    let end = first + n;
    let words = if n == 0 { 0..0 } else { first / 64..end.div_ceil(64) };
    words.map(move |word| {
        let (low, high) = (first.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
        (word as usize, (u64::MAX << low) & (u64::MAX >> (64 - high)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::item::Axes;
    use crate::store::suite::Random;

    #[test]
    fn bits_are_those_of_the_elements_that_were_written() {
        let mut random = Random(5);
        for shape in [&[1][..], &[200], &[7, 70], &[3, 5, 64], &[4, 1, 65], &[130, 3]] {
            let shape = Dims::from_slice(shape);
            let number = |at: &[u64]| at.iter().zip(&shape).fold(0, |n, (i, length)| n * length + i) as usize;
            let elements = |axes: &Axes| {
                let mut all = vec![Dims::new()];
                for axis in axes {
                    let along = |k: u64| axis.start.wrapping_add_signed(axis.step * k as i64);
                    all = all.iter().flat_map(|at| (0..axis.count).map(move |k| at.iter().copied().chain([along(k)]).collect())).collect();
                }
                all.iter().map(|at| number(at)).collect::<Vec<_>>()
            };
            let (mut bits, mut model) = (WrittenBits::new(&shape).unwrap(), vec![false; shape.iter().product::<u64>() as usize]);
            for turn in 0..300 {
                let axes: Axes = shape
                    .iter()
                    .map(|&length| {
                        let (a, b, step) = (random.below(length), random.below(length), random.below(3) as i64 + 1);
                        let count = (a.max(b) - a.min(b)) / step as u64 + 1;
                        if turn % 2 == 0 {
                            Axis { start: a.min(b), count, step, memory: 0 }
                        } else {
                            Axis { start: a.min(b) + (count - 1) * step as u64, count, step: -step, memory: 0 }
                        }
                    })
                    .collect();
                let selected = elements(&axes);
                assert_eq!(bits.any(&axes), selected.iter().any(|&i| model[i]), "{axes:?}");
                assert_eq!(bits.all(&axes), selected.iter().all(|&i| model[i]), "{axes:?}");
                let span = Span::around(&axes);
                match turn % 7 {
                    6 => {
                        let inside = elements(&span.axes());
                        (0..model.len()).for_each(|i| model[i] &= inside.contains(&i));
                        bits.keep(&span);
                    }
                    5 => {
                        let inside = elements(&span.axes());
                        let mask = bits.mask(&span, &span.start).unwrap();
                        let is_set = |k: u64| mask.as_ref().is_some_and(|mask| mask.next(k, k + 1, true) == k);
                        inside.iter().enumerate().for_each(|(k, &i)| assert_eq!(is_set(k as u64), model[i], "{span:?} {k}"));
                    }
                    _ => {
                        selected.iter().for_each(|&i| model[i] = true);
                        bits.set(&axes);
                    }
                }
                assert_eq!(bits.count(), model.iter().filter(|is_set| **is_set).count() as u64);
            }
        }
    }
}
