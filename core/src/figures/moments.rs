//! Figures of numbers: how many, the least, the greatest, the sum, the spread; joined in any number of parts.

use super::number::{Counted, Exact, with_type};
use crate::dtype::DataType;
use crate::multiversion::multiversion;

/// The elements that are looked at twice while they are in the nearest cache: for the mean, and for the spread around it.
const PIECE: usize = 2048;

/// Doubles have all digits of integers up to this one.
const EXACT: i128 = 1 << 53;

/// The values that are worked on side by side: what vectors of the processor hold and its adders need to be busy.
const LANES: usize = 8;

/// The figures.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    /// All elements.
    pub elements: u64,
    /// Those that mean "missing".
    pub missing: u64,
    /// Those that are NaN.
    pub nan: u64,
    /// Those that are infinite.
    pub infinite: u64,
    /// Those that are left.
    pub count: u64,
    /// The least of them.
    pub least: Option<Exact>,
    /// The greatest of them.
    pub greatest: Option<Exact>,
    mean: f64,
    /// What the mean is more than the double nearest to it: values may differ by less than a mean is rounded.
    rest: f64,
    /// The sum of the squares of the distances from the mean.
    spread: f64,
    /// The sum of integers, which gives their mean exactly.
    sum: Option<i128>,
}

impl Moments {
    /// Of elements in native order; `missing` are the bytes of those that do not count.
    pub fn of(data_type: DataType, bytes: &[u8], missing: &[Vec<u8>]) -> Moments {
        with_type!(data_type, figures, bytes, missing)
    }

    /// Of `n` elements that all have the same bytes.
    pub fn of_equal(n: u64, data_type: DataType, element: &[u8], missing: &[Vec<u8>]) -> Moments {
        let one = Moments::of(data_type, element, missing);
        let sum = one.sum.and_then(|sum| sum.checked_mul(n.into()));
        let (missing, nan, infinite) = (one.missing * n, one.nan * n, one.infinite * n);
        Moments { elements: n, missing, nan, infinite, count: one.count * n, sum, ..one }
    }

    /// Joins the figures of other elements.
    pub fn add(&mut self, other: &Moments) {
        self.elements += other.elements;
        self.missing += other.missing;
        self.nan += other.nan;
        self.infinite += other.infinite;
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            (self.count, self.mean, self.rest) = (other.count, other.mean, other.rest);
            (self.spread, self.sum) = (other.spread, other.sum);
            (self.least, self.greatest) = (other.least, other.greatest);
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let apart = (other.mean - self.mean) + (other.rest - self.rest);
        (self.mean, self.rest) = if apart.is_finite() {
            exact_sum(self.mean, self.rest + apart * (m / (n + m)))
        } else {
            // They are further from each other than the greatest double.
            (self.mean * (n / (n + m)) + other.mean * (m / (n + m)), 0.0)
        };
        self.spread += other.spread + apart * apart * (n * m / (n + m));
        self.count += other.count;
        self.sum = self.sum.zip(other.sum).and_then(|(a, b)| a.checked_add(b));
        let smaller = |a: &Exact, b: &Exact| a < b;
        self.least = self.least.zip(other.least).map(|(a, b)| if smaller(&b, &a) { b } else { a });
        self.greatest = self.greatest.zip(other.greatest).map(|(a, b)| if smaller(&a, &b) { b } else { a });
    }

    /// The least and the greatest value, if there are any.
    pub fn range(&self) -> Option<(f64, f64)> {
        self.least.zip(self.greatest).map(|(a, b)| (a.double(), b.double()))
    }

    /// The mean of those that count.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum.map_or(self.mean, |sum| quotient(sum, self.count)))
    }

    /// Their standard deviation: of all elements, not of a sample of them.
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.spread / self.count as f64).sqrt())
    }
}

/// The double nearest to `sum / count`. Both as doubles would be rounded before the quotient is.
fn quotient(sum: i128, count: u64) -> f64 {
    // 64 bits at least are left of the quotient; the last one says whether there are more.
    let shift = sum.unsigned_abs().leading_zeros().min(127);
    let (wide, count) = (sum.unsigned_abs() << shift, u128::from(count));
    let digits = (wide / count) | u128::from(wide % count != 0);
    let quotient = digits as f64 * 0.5f64.powi(shift as i32);
    if sum < 0 { -quotient } else { quotient }
}

/// Calls `each` with pieces of the values that count, and their sum; gives how many are missing, NaN and infinite.
fn values<T: Counted>(bytes: &[u8], missing: &[Vec<u8>], each: &mut dyn FnMut(&[T], f64)) -> (u64, u64, u64) {
    let missing: Vec<T> = missing.iter().filter(|b| b.len() == T::SIZE).map(|b| T::from_bytes(b)).collect();
    let (mut gone, mut nan, mut infinite) = (0, 0, 0);
    let mut piece = Vec::with_capacity(PIECE);
    for part in bytes.chunks(PIECE * T::SIZE) {
        piece.clear();
        piece.extend(part.chunks_exact(T::SIZE).map(T::from_bytes));
        // Most pieces have nothing to leave out: a sum that is finite is one of finite values.
        let mut sum = wide_sum(&piece);
        if !sum.is_finite() || missing.iter().any(|m| has(&piece, *m)) {
            let left_out = leave_out(&mut piece, &missing);
            (gone, nan, infinite) = (gone + left_out.0, nan + left_out.1, infinite + left_out.2);
            sum = wide_sum(&piece);
        }
        if !piece.is_empty() {
            each(&piece, sum);
        }
    }
    (gone, nan, infinite)
}

/// Whether a value is among others; never for NaN.
fn has<T: Counted>(piece: &[T], value: T) -> bool {
    // All are looked at, several at once.
    piece.iter().fold(0u32, |n, x| n + u32::from(*x == value)) > 0
}

/// Leaves the values that count; gives how many of the others are missing, NaN and infinite.
fn leave_out<T: Counted>(piece: &mut Vec<T>, missing: &[T]) -> (u64, u64, u64) {
    let is_missing_nan = missing.iter().any(|m| m.double().is_nan());
    let (mut left, mut gone, mut nan, all) = (0, 0, 0, piece.len());
    // Without branches, for which values are left out can seldom be guessed.
    for i in 0..all {
        let (x, wide) = (piece[i], piece[i].double());
        let is_gone = missing.iter().fold(is_missing_nan & wide.is_nan(), |is_gone, m| is_gone | (x == *m));
        gone += usize::from(is_gone);
        nan += usize::from(!is_gone & wide.is_nan());
        piece[left] = x;
        left += usize::from(!is_gone & wide.is_finite());
    }
    piece.truncate(left);
    (gone as u64, nan as u64, (all - left - gone - nan) as u64)
}

fn figures<T: Counted>(bytes: &[u8], missing: &[Vec<u8>]) -> Moments {
    let mut all = Moments { elements: (bytes.len() / T::SIZE) as u64, ..Moments::default() };
    let found = values::<T>(bytes, missing, &mut |piece, total| {
        let ((least, greatest), mut around) = around_mean(piece, total);
        let (least, greatest) = (least.exact(), greatest.exact());
        if T::SIZE == 8
            && let (Exact::Integer(from), Exact::Integer(to)) = (least, greatest)
            && from.abs().max(to.abs()) > EXACT
        {
            // Doubles have not all digits of such integers; they have those of the distances, if the integers are near one another.
            let apart: Vec<f64> = piece.iter().map(|x| if let Exact::Integer(x) = x.exact() { (x - from) as f64 } else { 0.0 }).collect();
            let (_, (mean, rest, spread)) = around_mean(&apart, wide_sum(&apart));
            let near = from as f64;
            let (mean, rest) = exact_sum(near, (from - near as i128) as f64 + mean + rest);
            around = (mean, rest, spread);
        }
        let (mean, rest, spread) = around;
        let sum = match least {
            // Of so few small integers the sum of doubles is exact.
            Exact::Integer(_) if T::SIZE <= 4 => Some(total as i128),
            Exact::Integer(_) => Some(piece.iter().fold(0, |n: i128, x| if let Exact::Integer(x) = x.exact() { n + x } else { n })),
            _ => None,
        };
        let (least, greatest) = (Some(least), Some(greatest));
        all.add(&Moments { count: piece.len() as u64, least, greatest, mean, rest, spread, sum, ..Moments::default() });
    });
    (all.missing, all.nan, all.infinite) = found;
    all
}

/// The least and the greatest of some values; their mean, what it lacks because it is rounded, and the sum of the squares of the distances from it.
fn around_mean<T: Counted>(piece: &[T], total: f64) -> ((T, T), (f64, f64, f64)) {
    let count = piece.len() as f64;
    let mean = if total.is_finite() { total / count } else { mean_of_huge(piece) };
    // How far the values are from the mean, on average, is what it lacks.
    let (ends, (apart, squares)) = wide_figures(piece, mean);
    let rest = if apart.is_finite() { apart / count } else { 0.0 };
    let spread = squares - rest * rest * count;
    // Less than 0 by rounding. NaN, of values whose squares are beyond the greatest double, is no 0.
    (ends, (mean, rest, if spread < 0.0 { 0.0 } else { spread }))
}

/// The mean of finite values whose sum is beyond the greatest double.
fn mean_of_huge<T: Counted>(piece: &[T]) -> f64 {
    // A power of two, which rounds nothing that counts.
    const SMALL: f64 = 1.0 / (2 * PIECE) as f64;
    let sum = piece.iter().map(|x| x.double() * SMALL).sum::<f64>();
    (sum / piece.len() as f64 / SMALL).clamp(f64::MIN, f64::MAX)
}

multiversion! {
    /// The sum of some values.
    fn wide_sum<T: Counted>(piece: &[T]) -> f64 {
        sum_of(piece)
    }

    /// The least and the greatest; the sum of the distances from the mean, and that of their squares.
    fn wide_figures<T: Counted>(piece: &[T], mean: f64) -> ((T, T), (f64, f64)) {
        (ends(piece), around(piece, mean))
    }
}

/// The least and the greatest of some values, none of them NaN.
#[inline(always)]
fn ends<T: Counted>(piece: &[T]) -> (T, T) {
    (furthest(piece, |a, b| if b < a { b } else { a }), furthest(piece, |a, b| if b > a { b } else { a }))
}

/// The value that `further` prefers to all others: one end at a time, which compilers turn into one instruction for several values.
#[inline(always)]
fn furthest<T: Counted>(piece: &[T], further: impl Fn(T, T) -> T) -> T {
    let mut lanes = [piece[0]; 4 * LANES];
    let (whole, rest) = piece.as_chunks::<{ 4 * LANES }>();
    for part in whole {
        for (lane, x) in lanes.iter_mut().zip(part) {
            *lane = further(*lane, *x);
        }
    }
    lanes.iter().chain(rest).fold(piece[0], |a, b| further(a, *b))
}

/// The sum of some values.
#[inline(always)]
fn sum_of<T: Counted>(piece: &[T]) -> f64 {
    let mut sums = [0.0; LANES];
    let (whole, rest) = piece.as_chunks::<LANES>();
    for part in whole {
        for (sum, x) in sums.iter_mut().zip(part) {
            *sum += x.double();
        }
    }
    sums.iter().sum::<f64>() + rest.iter().map(|x| x.double()).sum::<f64>()
}

/// The sum of the distances from the mean, and that of their squares: each in a loop of its own, which compilers turn into instructions for
/// several values.
#[inline(always)]
fn around<T: Counted>(piece: &[T], mean: f64) -> (f64, f64) {
    let (mut sums, mut squares, mut apart) = ([0.0; LANES], [0.0; LANES], [0.0; 16 * LANES]);
    let (whole, rest) = piece.as_chunks::<{ 16 * LANES }>();
    for part in whole {
        for (apart, x) in apart.iter_mut().zip(part) {
            *apart = x.double() - mean;
        }
        let (rows, _) = apart.as_chunks::<LANES>();
        for row in rows {
            (0..LANES).for_each(|i| sums[i] += row[i]);
        }
        for row in rows {
            (0..LANES).for_each(|i| squares[i] += row[i] * row[i]);
        }
    }
    let (sum, square) = (sums.iter().sum::<f64>(), squares.iter().sum::<f64>());
    rest.iter().map(|x| x.double() - mean).fold((sum, square), |(sum, square), apart| (sum + apart, square + apart * apart))
}

/// A sum, and what it lacks because it is rounded.
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    let rest = (a - (sum - from_b)) + (b - from_b);
    if sum.is_finite() { (sum, rest) } else { (sum, 0.0) }
}

/// Integers up to here are doubles.
const DIGITS: i128 = 1 << 53;

/// How many values are in each of the equal parts of a range; the greatest value is in the last part.
#[derive(Clone)]
pub struct Bins {
    least: f64,
    greatest: f64,
    /// The least integer and how far the greatest is from it, where doubles do not have all digits of both, or of the distance times the
    /// number of parts.
    digits: Option<(i128, u64)>,
    /// The number of values in each part.
    pub counts: Vec<u64>,
}

impl Bins {
    /// With `n` parts that are empty.
    pub fn new(least: Exact, greatest: Exact, n: usize) -> Bins {
        let digits = match (least, greatest) {
            (Exact::Integer(a), Exact::Integer(b)) if a.abs().max(b.abs()).max((b - a).saturating_mul(n as i128)) > DIGITS => {
                u64::try_from(b - a).ok().map(|width| (a, width))
            }
            _ => None,
        };
        Bins { least: least.double(), greatest: greatest.double(), digits, counts: vec![0; n] }
    }

    /// Counts the values among elements.
    pub fn count(mut self, data_type: DataType, bytes: &[u8], missing: &[Vec<u8>]) -> Bins {
        if let Some(range) = self.digits {
            with_type!(data_type, count_exactly, bytes, missing, range, &mut self.counts);
        } else {
            with_type!(data_type, count_in, bytes, missing, &mut self);
        }
        self
    }

    /// Counts `n` elements that all have the same bytes.
    pub fn count_equal(self, n: u64, data_type: DataType, element: &[u8], missing: &[Vec<u8>]) -> Bins {
        let mut bins = self.count(data_type, element, missing);
        bins.counts.iter_mut().for_each(|count| *count *= n);
        bins
    }

    /// Joins the counts of other elements.
    pub fn add(&mut self, other: &Bins) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// Where a part begins; of integers that doubles do not tell apart the least one that is in it.
    pub fn edge(&self, i: usize) -> Exact {
        if let Some((least, width)) = self.digits {
            return Exact::Integer(least + (i as u128 * u128::from(width)).div_ceil(self.counts.len() as u128) as i128);
        }
        if i == self.counts.len() {
            return Exact::Float(self.greatest);
        }
        let unit = self.unit();
        let (least, width) = (self.least * unit, self.greatest * unit - self.least * unit);
        // The range may be wider than the greatest double.
        Exact::Float((least + width * i as f64 / self.counts.len() as f64) / unit)
    }

    /// By what values are multiplied, so that the width of the range times the number of parts is no more than the greatest double: a power
    /// of two, which rounds nothing.
    fn unit(&self) -> f64 {
        const HUGE: f64 = 1e300;
        const SMALL: f64 = 1.0 / (1u64 << 34) as f64;
        if self.least.abs().max(self.greatest.abs()) > HUGE { SMALL } else { 1.0 }
    }
}

fn count_exactly<T: Counted>(bytes: &[u8], missing: &[Vec<u8>], (least, width): (i128, u64), counts: &mut [u64]) {
    let n = counts.len() as u128;
    values::<T>(bytes, missing, &mut |piece, _| {
        for x in piece {
            let Exact::Integer(x) = x.exact() else { continue };
            // As with doubles all are in the first part if the values are equal.
            let from = u128::try_from(x - least).unwrap_or(0).min(width.into());
            let part = (from * n).checked_div(width.into()).unwrap_or(0).min(n - 1);
            counts[part as usize] += 1;
        }
    });
}

fn count_in<T: Counted>(bytes: &[u8], missing: &[Vec<u8>], bins: &mut Bins) {
    let (n, unit) = (bins.counts.len(), bins.unit());
    let (least, width) = (bins.least * unit, bins.greatest * unit - bins.least * unit);
    // Neighbours that are in one part would wait for each other's counts: they take turns between two lists.
    let (mut even, mut odd) = (std::mem::take(&mut bins.counts), vec![0; n]);
    let mut places = [0i32; PIECE];
    // All are in the first part if the values are equal.
    let (width, scale) = if width > 0.0 { (width, n as f64) } else { (1.0, 0.0) };
    let last = (n - 1).min(i32::MAX as usize) as f64;
    values::<T>(bytes, missing, &mut |piece, _| {
        for (place, x) in places.iter_mut().zip(piece) {
            // The last part, and nothing behind it, for the greatest. Multiplied first, integers are rounded once.
            let part = ((x.double() * unit - least) * scale / width).max(0.0).min(last);
            // SAFETY: from 0 to the largest integer of the type; NaN has become 0. (Such a conversion is one instruction for several values.)
            *place = unsafe { part.to_int_unchecked() };
        }
        let (pairs, rest) = places[..piece.len()].as_chunks::<2>();
        for [a, b] in pairs {
            even[*a as usize] += 1;
            odd[*b as usize] += 1;
        }
        rest.iter().for_each(|place| even[*place as usize] += 1);
    });
    even.iter_mut().zip(&odd).for_each(|(even, odd)| *even += odd);
    bins.counts = even;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubles(all: &[f64]) -> Vec<u8> {
        all.iter().flat_map(|x| x.to_ne_bytes()).collect()
    }

    #[test]
    fn figures_do_not_depend_on_where_elements_are_cut() {
        // At 1e15 neighbours are 0.125 apart: a mean is rounded by as much as the values differ.
        for (origin, scale) in [(1e9, 1.0), (1e15, 0.125), (-1e15, 0.125)] {
            let values: Vec<f64> = (0..10_000).map(|i| origin + f64::from(i % 7) * scale).collect();
            let whole = Moments::of(DataType::Float64, &doubles(&values), &[]);
            let mut parts = Moments::default();
            values.chunks(333).for_each(|part| parts.add(&Moments::of(DataType::Float64, &doubles(part), &[])));
            let exact = {
                let mean = values.iter().map(|x| x - origin).sum::<f64>() / 1e4;
                (values.iter().map(|x| (x - origin - mean).powi(2)).sum::<f64>() / 1e4).sqrt()
            };
            for found in [&whole, &parts] {
                assert!((found.deviation().unwrap() / exact - 1.0).abs() < 1e-9, "{found:?}");
                assert_eq!((found.range(), found.elements), (Some((origin, origin + 6.0 * scale)), 10_000));
            }
        }
    }

    #[test]
    fn the_mean_of_integers_is_the_double_nearest_to_it() {
        let near_end = i64::MAX - 1024;
        let cases: [(&[i64], f64); 7] = [
            (&[-3, -4], -3.5),
            (&[0, 0], 0.0),
            // 2^53 + 1 + 1/3, a tie for the sum divided by 1.
            (&[(1 << 53) + 1, (1 << 53) + 1, (1 << 53) + 2], 9_007_199_254_740_994.0),
            (&[-(1 << 53) - 1, -(1 << 53) - 1, -(1 << 53) - 2], -9_007_199_254_740_994.0),
            // The sum, 3 * 2^53 + 5, is rounded down, and its third would be.
            (&[(1 << 53) + 1, (1 << 53) + 2, (1 << 53) + 2], 9_007_199_254_740_994.0),
            (&[i64::MIN, i64::MIN], i64::MIN as f64),
            (&[near_end, near_end, near_end + 3], near_end as f64),
        ];
        for (values, mean) in cases {
            let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_ne_bytes()).collect();
            assert_eq!(Moments::of(DataType::Int64, &bytes, &[]).mean(), Some(mean), "{values:?}");
        }
    }

    #[test]
    fn large_integers_that_are_near_one_another_have_their_deviation() {
        for origin in [0, 1 << 53, 1 << 62, i64::MAX - 6, i64::MIN, -(1 << 60)] {
            let bytes: Vec<u8> = (0..7000).flat_map(|i| (origin + i % 7).to_ne_bytes()).collect();
            let whole = Moments::of(DataType::Int64, &bytes, &[]);
            let mut parts = Moments::default();
            bytes.chunks(8 * 333).for_each(|part| parts.add(&Moments::of(DataType::Int64, part, &[])));
            for found in [whole, parts] {
                assert!((found.deviation().unwrap() - 2.0).abs() < 1e-9, "{origin}: {found:?}");
            }
        }
        let ends: Vec<u8> = [0, u64::MAX].iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(Moments::of(DataType::UInt64, &ends, &[]).deviation(), Some(u64::MAX as f64 / 2.0));
    }

    #[test]
    fn the_mean_of_values_near_the_greatest_double_is_near_them() {
        const MOST: f64 = f64::MAX;
        let cases: [(&[f64], f64); 7] = [
            (&[1.5e308, 1e308], 1.25e308),
            (&[MOST, MOST, MOST], MOST),
            (&[-MOST, -MOST, -MOST, -MOST, -MOST], -MOST),
            (&[MOST, -MOST], 0.0),
            (&[MOST, MOST, -MOST], MOST / 3.0),
            (&[-MOST, 0.0, MOST, MOST], MOST / 4.0),
            (&[1e308; 5000], 1e308),
        ];
        for (values, mean) in cases {
            let whole = Moments::of(DataType::Float64, &doubles(values), &[]);
            let mut joined = Moments::default();
            values.iter().for_each(|&x| joined.add(&Moments::of(DataType::Float64, &doubles(&[x]), &[])));
            for found in [whole, joined] {
                let off = (found.mean().unwrap() / MOST - mean / MOST).abs();
                assert!(off < 1e-13, "{:?}: {found:?}", &values[..values.len().min(5)]);
            }
        }
    }

    #[test]
    fn what_has_no_value_does_not_count() {
        let bytes = doubles(&[f64::NAN, 1.0, -9.0, f64::INFINITY, 3.0, f64::NEG_INFINITY]);
        let found = Moments::of(DataType::Float64, &bytes, &[(-9.0f64).to_ne_bytes().into()]);
        assert_eq!((found.missing, found.nan, found.infinite, found.mean()), (1, 1, 2, Some(2.0)));
        let found = Moments::of(DataType::Float64, &bytes, &[f64::NAN.to_ne_bytes().into()]);
        assert_eq!((found.missing, found.nan, found.range()), (1, 0, Some((-9.0, 3.0))));
        // Their sum is beyond the greatest double: no figure of theirs is made up.
        let huge = Moments::of(DataType::Float64, &doubles(&[1.5e308, 1e308]), &[]);
        assert_eq!((huge.range(), huge.deviation().filter(|x| x.is_finite())), (Some((1e308, 1.5e308)), None));
        let none = Moments::of(DataType::Int16, &[], &[]);
        assert!(none.range().is_none() && none.mean().is_none() && none.deviation().is_none());
    }

    #[test]
    fn equal_elements_count_as_if_there_were_so_many() {
        for (value, missing) in [(2.5f64, 0.0f64), (-9.0, -9.0), (f64::NAN, 0.0), (f64::INFINITY, 0.0)] {
            let (one, missing) = (doubles(&[value]), vec![doubles(&[missing])]);
            let many = Moments::of(DataType::Float64, &doubles(&[value; 1000]), &missing);
            let equal = Moments::of_equal(1000, DataType::Float64, &one, &missing);
            assert_eq!(format!("{equal:?}"), format!("{many:?}"));
            let bins = Bins::new(Exact::Float(0.0), Exact::Float(5.0), 4).count_equal(1000, DataType::Float64, &one, &missing);
            assert_eq!(bins.counts.iter().sum::<u64>(), many.count);
        }
        let most = Moments::of_equal(i64::MAX as u64, DataType::UInt64, &u64::MAX.to_ne_bytes(), &[]);
        assert_eq!((most.mean(), most.deviation()), (Some(u64::MAX as f64), Some(0.0)));
    }

    #[test]
    fn integers_are_exact() {
        let bytes: Vec<u8> = [i64::MAX, i64::MAX - 1, i64::MIN].iter().flat_map(|n| n.to_ne_bytes()).collect();
        let found = Moments::of(DataType::Int64, &bytes, &[]);
        let (least, greatest) = (Exact::Integer(i64::MIN.into()), Exact::Integer(i64::MAX.into()));
        assert_eq!((found.least, found.greatest), (Some(least), Some(greatest)));
        let found = Moments::of(DataType::UInt64, &u64::MAX.to_ne_bytes(), &[]);
        assert_eq!(found.least, Some(Exact::Integer(u64::MAX.into())));
    }

    #[test]
    fn the_greatest_value_is_in_the_last_part() {
        let bytes = doubles(&[0.0, 0.9, 1.0, 5.0, 9.99, 10.0, f64::NAN]);
        let bins = Bins::new(Exact::Float(0.0), Exact::Float(10.0), 10).count(DataType::Float64, &bytes, &[]);
        assert_eq!(bins.counts, [2, 1, 0, 0, 0, 1, 0, 0, 0, 2]);
        let one =
            Bins::new(Exact::Float(f64::MIN), Exact::Float(f64::MAX), 2).count(DataType::Float64, &doubles(&[f64::MIN, f64::MAX]), &[]);
        assert_eq!(one.counts, [1, 1]);
        assert_eq!(Bins::new(Exact::Integer(3), Exact::Integer(3), 2).count(DataType::UInt8, &[3, 3], &[]).counts, [2, 0]);
    }

    #[test]
    fn integers_that_are_edges_begin_their_parts() {
        for n in [3, 7, 10, 49, 100, 333, 1000] {
            let bytes: Vec<u8> = (0..=n).flat_map(i32::to_ne_bytes).collect();
            let bins = Bins::new(Exact::Integer(0), Exact::Integer(n.into()), n as usize).count(DataType::Int32, &bytes, &[]);
            let (last, others) = bins.counts.split_last().unwrap();
            assert!(*last == 2 && others.iter().all(|count| *count == 1), "{n}: {:?}", bins.counts);
            assert!((0..=n).all(|i| bins.edge(i as usize) == Exact::Float(i.into())), "{n}");
        }
        let whole = Bins::new(Exact::Float(f64::MIN), Exact::Float(f64::MAX), 4);
        for (i, want) in [f64::MIN, f64::MIN / 2.0, 0.0, f64::MAX / 2.0, f64::MAX].into_iter().enumerate() {
            assert!((whole.edge(i).double() - want).abs() <= want.abs() * f64::EPSILON, "{i}: {:?}", whole.edge(i));
        }
    }

    #[test]
    fn integers_that_doubles_do_not_tell_apart_are_in_their_own_parts() {
        let bins = |all: &[i64], n: usize| {
            let bytes: Vec<u8> = all.iter().flat_map(|x| x.to_ne_bytes()).collect();
            let found = Moments::of(DataType::Int64, &bytes, &[]);
            Bins::new(found.least.unwrap(), found.greatest.unwrap(), n).count(DataType::Int64, &bytes, &[])
        };
        const LARGE: i64 = 1 << 60;
        let found = bins(&[LARGE, LARGE + 1, LARGE + 1, LARGE + 3, LARGE + 4], 4);
        assert_eq!(found.counts, [1, 2, 0, 2]);
        let edges: Vec<Exact> = (0..=4).map(|i| found.edge(i)).collect();
        assert_eq!(edges, (0..=4).map(|i| Exact::Integer((LARGE + i).into())).collect::<Vec<_>>());
        assert_eq!(bins(&[i64::MIN, -1, 0, i64::MAX], 2).counts, [2, 2]);
        assert_eq!(bins(&[i64::MIN, -1, 0, i64::MAX], 3).counts, [1, 2, 1]);
        assert_eq!(bins(&[LARGE, LARGE], 3).counts, [2, 0, 0]);
        // Doubles have all digits of these, not of seven times these.
        const STEP: i64 = 296_721_793_425_231;
        assert_eq!(bins(&[0, STEP, 2 * STEP, 3 * STEP, 4 * STEP, 5 * STEP, 6 * STEP, 7 * STEP], 7).counts, [1, 1, 1, 1, 1, 1, 2]);
        let most = Bins::new(Exact::Integer(0), Exact::Integer(u64::MAX.into()), 65535);
        assert_eq!(most.edge(65535), Exact::Integer(u64::MAX.into()));
        assert_eq!(most.count_equal(7, DataType::UInt64, &u64::MAX.to_ne_bytes(), &[]).counts[65534], 7);
    }
}
