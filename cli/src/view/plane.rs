//! Planes and lines of an array, at the resolution of the screen.

use super::answer::Query;
use super::levels::{Level, chosen};
use crate::failure::{Failure, Outcome};
use crate::sample::{self, How};
use crate::variable::Variable;
use ozarr::analysis::blocks::read;
use ozarr::dtype::coding::Rule;
use ozarr::dtype::{DataType, Kind};
use ozarr::engine::Selection;
use ozarr::node::Array;

/// Pixels in one direction that are answered at most.
const PIXELS: u64 = 2048;
/// Of more elements than this some are taken, in equal distances, so that a picture comes soon.
const ALL: u64 = 1 << 25;

/// One element of each dimension, but of those in `runs`, of which it is a range: dimension, start, end.
fn region(variable: &Variable, query: &Query, runs: &[(usize, u64, u64)]) -> Outcome<(Vec<i64>, Vec<i64>)> {
    let (at, shape) = (query.list("at")?, variable.array.shape());
    if at.len() != shape.len() {
        return Err(Failure::Error(format!("at: found {} indices, expected {}", at.len(), shape.len())));
    }
    let mut start: Vec<i64> = at.iter().map(|&i| i64::try_from(i).unwrap_or(i64::MAX)).collect();
    let mut count = vec![1i64; shape.len()];
    for &(d, from, to) in runs {
        if d >= shape.len() || from >= to || to > shape[d] {
            return Err(Failure::Error(format!("dimension {d}: found {from} to {to}, expected a range of the shape {:?}", &shape[..])));
        }
        (start[d], count[d]) = (from as i64, (to - from) as i64);
    }
    Ok((start, count))
}

/// From here on a double has no place for every integer.
const ROUNDED: f64 = (1u64 << 53) as f64;

/// What a number is of the elements that it stands for.
#[derive(Clone, Copy)]
enum Of {
    Mean,
    /// The one in their middle.
    One,
    /// What a coarser level has for them.
    Level,
}

/// Integers of 64 bits, those without a sign too.
type Exact = Option<Vec<u64>>;

/// The means of bins along the dimensions in `by`, which has the elements of a bin; of very many elements the middle ones of the bins. Where a bin is an
/// integer that a double rounds, the integers, too.
fn reduced(array: &Array, (mut start, mut count): (Vec<i64>, Vec<i64>), by: &[(usize, u64)]) -> Outcome<(Vec<f64>, Exact, Of)> {
    let shape = array.shape();
    let (mut bins, mut step) = (vec![1; shape.len()], vec![1i64; shape.len()]);
    let is_picked = count.iter().fold(1u64, |n, &c| n.saturating_mul(c as u64)) > ALL;
    for &(d, n) in by {
        if is_picked {
            let found = (count[d] as u64).div_ceil(n);
            start[d] += (n / 2).min(count[d] as u64 - 1 - (found - 1) * n) as i64;
            (count[d], step[d]) = (found as i64, n as i64);
        } else {
            bins[d] = n;
        }
    }
    let selection = Selection::new(&shape, &start, &count, Some(&step))?;
    let values = sample::reduce(array, &selection, &bins, &[How::Mean], &|_| Ok(()))?.remove(0);
    let is_rounded = bins.iter().all(|&n| n == 1) && values.iter().any(|v| v.abs() >= ROUNDED);
    let exact = if is_rounded && has_wide_integers(array)? { Some(integers(array, &selection)?) } else { None };
    Ok((values, exact, if is_picked { Of::One } else { Of::Mean }))
}

/// Whether the elements are integers of 64 bits, or times, that are not packed.
fn has_wide_integers(array: &Array) -> Outcome<bool> {
    let data_type = array.data_type();
    if data_type.kind() == Kind::Time {
        return Ok(true);
    }
    Ok(matches!(data_type, DataType::Int64 | DataType::UInt64) && is_plain(array)?)
}

/// Whether the numbers are the elements.
fn is_plain(array: &Array) -> Outcome<bool> {
    let coding = array.packing()?;
    Ok(!coding.other_sign && coding.rule == Rule::Scale { scale: 1.0, offset: 0.0 })
}

/// The bits of elements of eight bytes.
fn integers(array: &Array, selection: &Selection) -> Outcome<Vec<u64>> {
    let mut bytes = Vec::new();
    read(array, selection, array.data_type(), &mut bytes)?;
    Ok(bytes.as_chunks().0.iter().map(|b| u64::from_ne_bytes(*b)).collect())
}

/// Numbers for the page.
pub struct Numbers {
    values: Vec<f64>,
    exact: Exact,
    /// Their shape, how many elements each is of, and what of them (see [`Of`]), as a text.
    pub shape: String,
}

impl Numbers {
    /// Their bytes and what these are: floats of 4 bytes where these hold all values of the array's type, else of 8; behind them the integers
    /// that they round.
    pub fn encoded(&self, array: &Array) -> Outcome<(Vec<u8>, &'static str)> {
        let data_type = array.data_type();
        let is_integer = matches!(data_type.kind(), Kind::Int | Kind::UInt | Kind::Time);
        if data_type != DataType::Float64 && !(is_integer && data_type.size() > 2) && is_plain(array)? {
            return Ok((self.values.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect(), "f4"));
        }
        let values = self.values.iter().flat_map(|v| v.to_le_bytes());
        let what = match (&self.exact, data_type) {
            (None, _) => "f8",
            (_, DataType::UInt64) => "f8,u8",
            _ => "f8,i8",
        };
        Ok((values.chain(self.exact.iter().flatten().flat_map(|n| n.to_le_bytes())).collect(), what))
    }
}

/// `y`, `x`: dimensions; `y0` to `y1`, `x0` to `x1`: elements, without an end up to the last one; `h`, `w`: pixels. Rows along `y`; the shape has the elements of a number and where the first one begins, too.
/// Where there are coarser levels the coarsest is read that is fine enough.
pub fn plane(variable: &Variable, levels: &[Level], query: &Query) -> Outcome<Numbers> {
    let (y, x) = (query.number("y")? as usize, query.number("x")? as usize);
    if y == x {
        return Err(Failure::Error(format!("x, y: found dimension {x} for both")));
    }
    let shape = variable.array.shape();
    let end = |name: &str, d: usize| if query.has(name) { query.number(name) } else { Ok(shape.get(d).copied().unwrap_or(0)) };
    let runs = [(y, query.number("y0")?, end("y1", y)?), (x, query.number("x0")?, end("x1", x)?)];
    let area = region(variable, query, &runs)?;
    let bin = |run: (usize, u64, u64), name: &str| -> Outcome<u64> { Ok((run.2 - run.1).div_ceil(query.number(name)?.clamp(1, PIXELS))) };
    let (by, bx) = (bin(runs[0], "h")?, bin(runs[1], "w")?);
    let level = chosen(levels, &shape, &[(y, by), (x, bx)]);
    let ratio = |d: usize| level.map_or(1, |level| level.ratios[d]);
    let ((mut start, mut count), array) = (area, level.map_or(&variable.array, |level| &level.array));
    for d in 0..start.len() {
        let end = start[d].saturating_add(count[d]) as u64;
        start[d] /= ratio(d) as i64;
        count[d] = (end.div_ceil(ratio(d)) as i64).saturating_sub(start[d]);
    }
    let (by, bx) = (by / ratio(y), bx / ratio(x));
    // An element of a coarser level may begin before the first one that was asked for.
    let (y0, x0) = (start[y] as u64 * ratio(y), start[x] as u64 * ratio(x));
    let (rows, columns) = ((count[y] as u64).div_ceil(by), (count[x] as u64).div_ceil(bx));
    let (mut values, mut exact, of) = reduced(array, (start, count), &[(y, by), (x, bx)])?;
    let (by, bx) = (by * ratio(y), bx * ratio(x));
    if y > x {
        values = transposed(&values, columns as usize, rows as usize);
        exact = exact.map(|exact| transposed(&exact, columns as usize, rows as usize));
    }
    let of = if level.is_some() { Of::Level } else { of };
    Ok(Numbers { values, exact, shape: format!("{rows},{columns},{by},{bx},{},{y0},{x0}", of as u8) })
}

/// `dim`: the dimension; `at`: the point that the line goes through; `w`: pixels.
pub fn line(variable: &Variable, query: &Query) -> Outcome<Numbers> {
    let (d, shape) = (query.number("dim")? as usize, variable.array.shape());
    let length = shape.get(d).copied().unwrap_or(0);
    let area = region(variable, query, &[(d, 0, length)])?;
    let bin = length.div_ceil(query.number("w")?.clamp(1, PIXELS));
    let (values, exact, of) = reduced(&variable.array, area, &[(d, bin)])?;
    Ok(Numbers { values, exact, shape: format!("{},{bin},{}", length.div_ceil(bin), of as u8) })
}

/// Numbers in rows and columns with the columns as rows.
fn transposed<T: Copy>(values: &[T], rows: usize, columns: usize) -> Vec<T> {
    (0..columns).flat_map(|x| (0..rows).map(move |y| values[y * columns + x])).collect()
}
