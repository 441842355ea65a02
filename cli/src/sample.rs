//! Elements as doubles, read slab by slab, and made fewer while they are read: means, least and greatest values of bins.

use crate::failure::{Failure, Outcome};
use crate::slabs::Slabs;
use ozarr::analysis::blocks::{Block, Blocks, CutAt, Told};
use ozarr::analysis::{Exact, moments};
use ozarr::dtype::{DataType, Kind};
use ozarr::engine::{Memory, Selection};
use ozarr::error::{Error, ErrorKind, Result};
use ozarr::node::Array;

/// More results than this are refused.
pub const MOST: u64 = 1 << 26;

/// What becomes of the elements of a bin; missing ones do not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Mean,
    Min,
    Max,
}

/// Checks that the elements are real numbers or times.
pub fn check_numbers(array: &Array) -> Outcome {
    match array.data_type().kind() {
        Kind::Bool | Kind::Int | Kind::UInt | Kind::Float | Kind::Time => Ok(()),
        _ => {
            let (path, name) = (array.path(), array.data_type().name());
            Err(Failure::Error(format!(
                "the array {path:?} has elements of type {name}, expected real numbers; `ozarr read --json` prints them"
            )))
        }
    }
}

/// Reads what the selected elements mean: unpacked, missing ones as NaN, times as counts.
pub fn read(array: &Array, selection: &Selection, out: &mut Vec<f64>) -> Result<()> {
    let count = selection.shape().iter().fold(1u64, |n, &c| n.saturating_mul(c));
    let count = usize::try_from(count).map_err(|_| Error::new(ErrorKind::Limit, "the region is too large"))?;
    let more = count.saturating_sub(out.len());
    out.try_reserve_exact(more).map_err(|_| Error::new(ErrorKind::NoMemory, format!("no memory for {count} elements")))?;
    out.resize(count, 0.0);
    let kind = array.data_type().kind();
    let data_type = match kind {
        Kind::Time => array.data_type(),
        _ => DataType::Float64,
    };
    let memory = Memory::of(out, selection.shape(), data_type);
    // SAFETY: the memory is all of `out`, which nobody else touches until the call returns; times have eight bytes as doubles have.
    unsafe {
        if matches!(kind, Kind::Time | Kind::Bool) { array.read(selection, &memory)? } else { array.read_unpacked(selection, &memory)? }
    }
    if kind == Kind::Time {
        out.iter_mut().for_each(|value| *value = time(*value));
    }
    Ok(())
}

/// The count of a time whose bits are in `value`; NaN if it is none.
fn time(value: f64) -> f64 {
    let count = value.to_bits() as i64;
    if count == i64::MIN { f64::NAN } else { count as f64 }
}

/// What elements that are not stored mean, as [`read`] gives it.
fn fill(array: &Array) -> Result<f64> {
    let kind = array.data_type().kind();
    let data_type = if kind == Kind::Time { array.data_type() } else { DataType::Float64 };
    let bytes = array.fill_as(data_type, !matches!(kind, Kind::Time | Kind::Bool))?;
    let value = f64::from_ne_bytes(bytes[..].try_into().unwrap_or_default());
    Ok(if kind == Kind::Time { time(value) } else { value })
}

/// Makes figures of the elements of each block of a selection and joins them; `of` gets elements, and how often they are there: those that
/// are not stored are not read.
fn figures<T: Send>(
    array: &Array,
    selection: &Selection,
    told: Told<'_>,
    of: impl Fn(&[f64], u64) -> T + Sync,
    mut join: impl FnMut(T) + Send,
) -> Outcome {
    let blocks = Blocks::new(array, selection.clone(), size_of::<f64>(), CutAt::Chunks)?.only_stored(array)?;
    let work = |block: &Block, _: &mut Vec<u8>| {
        let mut values = Vec::new();
        read(array, &blocks.part(block)?, &mut values)?;
        Ok(of(&values, 1))
    };
    told(bytes(blocks.left_out()))?;
    blocks.each(told, work, |_, found| {
        join(found);
        Ok(())
    })?;
    if blocks.left_out() > 0 {
        join(of(&[fill(array)?], blocks.left_out()));
    }
    Ok(())
}

/// The bytes of so many elements as doubles.
fn bytes(elements: u64) -> u64 {
    elements.saturating_mul(size_of::<f64>() as u64)
}

/// What is called for each slab: with the slab, where it begins in the selection, and its elements.
type EachSlab<'a> = dyn FnMut(&Selection, &[u64], &[f64]) + 'a;

/// Calls `each` with every block that has stored elements, and where it is in the selection.
fn each_stored(array: &Array, blocks: &Blocks, told: Told<'_>, each: &mut EachSlab<'_>) -> Outcome {
    told(bytes(blocks.left_out()))?;
    let mut buffer = Vec::new();
    for block in blocks.chosen() {
        let part = blocks.part(&block)?;
        read(array, &part, &mut buffer)?;
        each(&part, &block.at, &buffer);
        told(size_of_val(buffer.as_slice()) as u64)?;
    }
    Ok(())
}

/// Calls `each` with every slab of a selection, and where it is in it.
fn each_slab(array: &Array, selection: &Selection, told: Told<'_>, each: &mut EachSlab<'_>) -> Outcome {
    let (shape, grid) = (array.shape(), array.grid());
    let mut buffer = Vec::new();
    for slab in Slabs::new(&shape, &grid, selection, size_of::<f64>(), false) {
        let part = slab?.selection;
        read(array, &part, &mut buffer)?;
        let offset = |d: usize| (part.start()[d].abs_diff(selection.start()[d])) / selection.step()[d].unsigned_abs();
        let offsets: Vec<u64> = (0..shape.len()).map(offset).collect();
        each(&part, &offsets, &buffer);
        told(size_of_val(buffer.as_slice()) as u64)?;
    }
    Ok(())
}

/// Numbers in bins, row by row.
struct Bins {
    how: How,
    values: Vec<f64>,
    /// How many elements a mean is of.
    counts: Vec<u64>,
}

impl Bins {
    fn new(how: How, len: usize) -> Bins {
        let (first, counts) = if how == How::Mean { (0.0, vec![0; len]) } else { (f64::NAN, Vec::new()) };
        Bins { how, values: vec![first; len], counts }
    }

    /// Adds elements that are in one bin.
    fn add(&mut self, bin: usize, elements: &[f64]) {
        let present = elements.iter().copied().filter(|v| !v.is_nan());
        match self.how {
            How::Mean => {
                let (sum, count) = present.fold((0.0, 0), |(sum, n), v| (sum + v, n + 1));
                self.values[bin] += sum;
                self.counts[bin] += count;
            }
            // These two take the other one where one is NaN.
            How::Min => self.values[bin] = elements.iter().fold(self.values[bin], |a, &b| a.min(b)),
            How::Max => self.values[bin] = elements.iter().fold(self.values[bin], |a, &b| a.max(b)),
        }
    }

    /// Adds `n` elements of one value that are in one bin.
    fn add_equal(&mut self, bin: usize, value: f64, n: u64) {
        if self.how != How::Mean {
            self.add(bin, &[value]);
        } else if !value.is_nan() {
            self.values[bin] += value * n as f64;
            self.counts[bin] += n;
        }
    }

    fn finish(mut self) -> Vec<f64> {
        for (value, &count) in self.values.iter_mut().zip(&self.counts) {
            *value = if count == 0 { f64::NAN } else { *value / count as f64 };
        }
        self.values
    }
}

/// How many bins a selection has along each dimension.
fn bins_of(selection: &Selection, bins: &[u64]) -> Vec<u64> {
    selection.shape().iter().zip(bins).map(|(n, b)| n.div_ceil((*b).max(1))).collect()
}

/// How many elements of a selection a bin has.
fn elements_of(mut bin: u64, selection: &Selection, bins: &[u64], counts: &[u64]) -> u64 {
    let mut n = 1;
    for ((&length, &size), &count) in selection.shape().iter().zip(bins).zip(counts).rev() {
        n *= size.max(1).min(length - bin % count * size.max(1));
        bin /= count;
    }
    n
}

/// The elements in bins of that shape, once for each `how`, row by row. Those that are not stored are not read.
pub fn reduce(array: &Array, selection: &Selection, bins: &[u64], hows: &[How], told: Told<'_>) -> Outcome<Vec<Vec<f64>>> {
    let counts = bins_of(selection, bins);
    let len = counts.iter().fold(1u64, |n, &c| n.saturating_mul(c));
    if len > MOST {
        return Err(Failure::Error(format!("{len} numbers are too many for a picture, expected at most {MOST}; select fewer elements")));
    }
    let mut all: Vec<Bins> = hows.iter().map(|&how| Bins::new(how, len as usize)).collect();
    let rank = counts.len();
    let blocks = Blocks::new(array, selection.clone(), size_of::<f64>(), CutAt::Chunks)?.only_stored(array)?;
    let is_whole = blocks.left_out() == 0;
    // How many elements of each bin were read, if not all are.
    let mut seen = vec![0; if is_whole { 0 } else { len as usize }];
    let mut add = |part: &Selection, offsets: &[u64], elements: &[f64]| {
        let Some(&width) = part.shape().last() else {
            return all.iter_mut().for_each(|b| b.add(0, elements));
        };
        let (bin, first) = (bins[rank - 1].max(1), offsets[rank - 1]);
        let mut at = vec![0u64; rank];
        for row in elements.chunks_exact((width as usize).max(1)) {
            let base = (0..rank - 1).fold(0, |n, d| n * counts[d] + (offsets[d] + at[d]) / bins[d].max(1)) * counts[rank - 1];
            let mut x = 0;
            while x < width {
                let place = (first + x) / bin;
                let end = ((place + 1) * bin - first).min(width);
                all.iter_mut().for_each(|b| b.add((base + place) as usize, &row[x as usize..end as usize]));
                if let Some(n) = seen.get_mut((base + place) as usize) {
                    *n += end - x;
                }
                x = end;
            }
            for d in (0..rank - 1).rev() {
                at[d] += 1;
                if at[d] < part.shape()[d] {
                    break;
                }
                at[d] = 0;
            }
        }
    };
    match is_whole {
        true => each_slab(array, selection, told, &mut add)?,
        false => each_stored(array, &blocks, told, &mut add)?,
    }
    let fill = if is_whole { f64::NAN } else { fill(array)? };
    for (bin, &read) in seen.iter().enumerate() {
        let left = elements_of(bin as u64, selection, bins, &counts) - read;
        all.iter_mut().filter(|_| left > 0).for_each(|b| b.add_equal(bin, fill, left));
    }
    Ok(all.into_iter().map(Bins::finish).collect())
}

/// The least and the greatest finite element, and the number of all that are finite.
pub fn extremes(array: &Array, selection: &Selection, told: Told<'_>) -> Outcome<(f64, f64, u64)> {
    let of = |elements: &[f64], times: u64| {
        let finite = elements.iter().filter(|v| v.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY, 0), |(low, high, n), &v| (low.min(v), high.max(v), n + times))
    };
    let mut all = of(&[], 1);
    figures(array, selection, told, of, |found| all = (all.0.min(found.0), all.1.max(found.1), all.2 + found.2))?;
    Ok(all)
}

/// How many elements each of equal parts of a range has; the last part has its end, too.
pub fn histogram(array: &Array, selection: &Selection, (low, high): (f64, f64), parts: usize, told: Told<'_>) -> Outcome<Vec<u64>> {
    let of = |elements: &[f64], times: u64| {
        let inside: Vec<u8> = elements.iter().filter(|v| **v >= low && **v <= high).flat_map(|v| v.to_ne_bytes()).collect();
        let counted = moments::Bins::new(Exact::Float(low), Exact::Float(high), parts).count(DataType::Float64, &inside, &[]);
        counted.counts.iter().map(|n| n * times).collect::<Vec<u64>>()
    };
    let mut all = vec![0; parts];
    figures(array, selection, told, of, |found| all.iter_mut().zip(found).for_each(|(all, n)| *all += n))?;
    Ok(all)
}

/// One element of each bin of the dimensions in `by`: the middle one.
pub fn thinned(shape: &[u64], all: &Selection, by: &[(usize, u64)]) -> Outcome<Selection> {
    let mut start: Vec<i64> = all.start().iter().map(|&n| n as i64).collect();
    let mut count: Vec<i64> = all.shape().iter().map(|&n| n as i64).collect();
    let mut step = all.step().to_vec();
    for &(d, n) in by {
        let bins = all.shape()[d].div_ceil(n);
        // The last bin may be shorter than its middle is far.
        let middle = (n / 2).min(all.shape()[d] - 1 - (bins - 1) * n);
        start[d] += middle as i64 * step[d];
        (count[d], step[d]) = (bins as i64, step[d] * n as i64);
    }
    Ok(Selection::new(shape, &start, &count, Some(&step))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ozarr::node::{Context, Create, Spec, Store};

    /// 5 x 7 elements, 10 a row and 1 a column, one missing; chunks of 2 x 3.
    fn array() -> Array {
        let store = Store::memory(&Context::default());
        let mut spec = Spec::new(DataType::Float32, &[5, 7]).unwrap();
        spec.set_chunks(&[2, 3]).unwrap();
        let array = Array::create(&store, "a", &spec, Create::New).unwrap();
        let mut values: Vec<f32> = (0..35).map(|i| (i / 7 * 10 + i % 7) as f32).collect();
        values[8] = f32::NAN;
        let memory = Memory::of(&mut values, &[5, 7], DataType::Float32);
        // SAFETY: the memory is this function's.
        unsafe { array.write(&Selection::all(&[5, 7]), &memory) }.unwrap();
        array
    }

    fn reduced(start: &[i64], count: &[i64], step: &[i64], bins: &[u64], how: How) -> Vec<f64> {
        let selection = Selection::new(&[5, 7], start, count, Some(step)).unwrap();
        reduce(&array(), &selection, bins, &[how], &|_| Ok(())).unwrap_or_else(|_| panic!("reduced")).remove(0)
    }

    #[test]
    fn bins_hold_what_their_elements_make() {
        assert_eq!(reduced(&[0, 0], &[1, 7], &[1, 1], &[1, 1], How::Mean), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(reduced(&[0, 0], &[1, 7], &[1, 1], &[1, 3], How::Mean), [1.0, 4.0, 6.0]);
        assert_eq!(reduced(&[0, 0], &[5, 7], &[1, 1], &[5, 7], How::Max), [46.0]);
        assert_eq!(reduced(&[1, 0], &[4, 7], &[1, 1], &[4, 7], How::Min), [10.0]);
        // The missing element does not count: 10 and 12 .. 16.
        assert_eq!(reduced(&[1, 0], &[1, 7], &[1, 1], &[1, 7], How::Mean), [80.0 / 6.0]);
        assert_eq!(reduced(&[4, 6], &[3, 2], &[-2, -3], &[2, 2], How::Mean), [(46.0 + 43.0 + 26.0 + 23.0) / 4.0, (6.0 + 3.0) / 2.0]);
        assert!(reduced(&[1, 1], &[1, 1], &[1, 1], &[1, 1], How::Mean)[0].is_nan());
        assert!(reduced(&[1, 1], &[1, 1], &[1, 1], &[1, 1], How::Max)[0].is_nan());
    }

    #[test]
    fn elements_are_counted_in_parts_of_a_range() {
        let (array, all) = (array(), Selection::all(&[5, 7]));
        assert_eq!(extremes(&array, &all, &|_| Ok(())).unwrap_or_default(), (0.0, 46.0, 34));
        assert_eq!(histogram(&array, &all, (0.0, 46.0), 2, &|_| Ok(())).unwrap_or_default(), [16, 18]);
        assert_eq!(histogram(&array, &all, (-1.7e308, 1.7e308), 4, &|_| Ok(())).unwrap_or_default(), [0, 0, 34, 0]);
        let told = std::sync::atomic::AtomicU64::new(0);
        let tell = |bytes| {
            told.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        };
        assert_eq!(histogram(&array, &all, (40.0, 46.0), 3, &tell).unwrap_or_default(), [2, 2, 3]);
        assert_eq!(told.into_inner(), 35 * 8);
    }

    #[test]
    fn elements_that_are_not_stored_count_by_their_fill_value() {
        const N: u64 = 100_000;
        for (fill, mean, range) in [("0", 0.0032, (0.0, 8.0)), ("\"NaN\"", 8.0, (8.0, 8.0)), ("-1", -0.9964, (-1.0, 8.0))] {
            let store = Store::memory(&Context::default());
            let mut spec = Spec::new(DataType::Float64, &[N, N]).unwrap();
            spec.set_chunks(&[1000, 1000]).unwrap();
            spec.set_fill_json(fill).unwrap();
            let array = Array::create(&store, "a", &spec, Create::New).unwrap();
            // Four chunks of eights, two of them in the upper half.
            for (row, column) in [(0, 0), (49_000, 99_000), (50_000, 1000), (99_000, 99_000)] {
                let selection = Selection::new(&[N, N], &[row, column], &[1000, 1000], None).unwrap();
                let strides = [0isize, 0].iter().map(|&s| s as _).collect();
                let memory = Memory { strides, ..Memory::of(&mut [8f64], &[], DataType::Float64) };
                // SAFETY: the memory is one element, of which all strides are 0.
                unsafe { array.write(&selection, &memory) }.unwrap();
            }
            let all = Selection::all(&[N, N]);
            let found =
                reduce(&array, &all, &[N / 2, N], &[How::Mean, How::Min, How::Max], &|_| Ok(())).unwrap_or_else(|_| panic!("{fill}"));
            assert_eq!(found, [[mean, mean], [range.0, range.0], [range.1, range.1]], "{fill}");
        }
    }
}
