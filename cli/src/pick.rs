//! The options that select elements by index, by coordinate and by reduction, for pictures.

use crate::failure::{Failure, Outcome};
use crate::region::Region;
use crate::sample::How;
use crate::variable::{Dim, Variable};
use clap::Args;
use ozarr::engine::Selection;
use ozarr::node::conventions::time::parse_moment;

/// Which elements, and which dimensions are reduced.
#[derive(Args)]
pub struct Pick {
    #[command(flatten)]
    region: Region,
    /// By coordinate: the nearest one, or all between two (`time=2026-03-01`, `lat=-10:10`)
    #[arg(long, value_name = "DIM=VALUE|FROM:TO", allow_hyphen_values = true)]
    at: Vec<String>,
    /// By index, from the end if negative: one, or a range without its end (`time=-1`, `z=0:10`)
    #[arg(long, value_name = "DIM=I|FROM:TO", allow_hyphen_values = true)]
    index: Vec<String>,
    /// The mean along dimensions
    #[arg(long, value_name = "DIM,..", group = "reduction", value_delimiter = ',')]
    mean: Vec<String>,
    /// The least values along dimensions
    #[arg(long, value_name = "DIM,..", group = "reduction", value_delimiter = ',')]
    min: Vec<String>,
    /// The greatest values along dimensions
    #[arg(long, value_name = "DIM,..", group = "reduction", value_delimiter = ',')]
    max: Vec<String>,
}

/// What was picked of an array.
pub struct Picked {
    pub selection: Selection,
    /// The dimensions that are left: neither reduced nor one element long by choice.
    pub kept: Vec<usize>,
    /// The dimensions that are reduced.
    pub reduced: Vec<usize>,
    pub how: How,
}

impl Pick {
    pub fn of(&self, variable: &Variable) -> Outcome<Picked> {
        let shape = variable.array.shape();
        let region = self.region.selection(&shape, None)?;
        let signed = |all: &[u64]| all.iter().map(|&n| n as i64).collect::<Vec<_>>();
        let (mut start, mut count, mut step) = (signed(region.start()), signed(region.shape()), region.step().to_vec());
        for (text, by_index) in self.at.iter().map(|t| (t, false)).chain(self.index.iter().map(|t| (t, true))) {
            let (name, value) =
                text.split_once('=').ok_or_else(|| Failure::Usage(format!("found {text:?}, expected DIM=VALUE or DIM=FROM:TO")))?;
            let d = variable.dim(name)?;
            let (first, n) = if by_index { by_position(&variable.dims[d], value)? } else { by_coordinate(&variable.dims[d], value)? };
            (start[d], count[d], step[d]) = (first as i64, n as i64, 1);
        }
        let (names, how) = match () {
            () if !self.min.is_empty() => (&self.min, How::Min),
            () if !self.max.is_empty() => (&self.max, How::Max),
            () => (&self.mean, How::Mean),
        };
        let reduced: Vec<usize> = names.iter().map(|name| variable.dim(name)).collect::<Outcome<_>>()?;
        let selection = Selection::new(&shape, &start, &count, Some(&step))?;
        if selection.shape().contains(&0) {
            return Err(Failure::Error(format!("no elements: the region of {} has shape {:?}", variable.array.path(), selection.shape())));
        }
        let kept = (0..shape.len()).filter(|d| !reduced.contains(d) && selection.shape()[*d] > 1).collect();
        Ok(Picked { selection, kept, reduced, how })
    }
}

impl Picked {
    /// The same with one element of a dimension, counted in the selection.
    pub fn fixed(&self, shape: &[u64], d: usize, index: u64) -> Outcome<Picked> {
        let all = &self.selection;
        let mut start: Vec<i64> = all.start().iter().map(|&n| n as i64).collect();
        let mut count: Vec<i64> = all.shape().iter().map(|&n| n as i64).collect();
        start[d] += index as i64 * all.step()[d];
        count[d] = 1;
        let selection = Selection::new(shape, &start, &count, Some(all.step()))?;
        let kept = self.kept.iter().copied().filter(|&k| k != d).collect();
        Ok(Picked { selection, kept, reduced: self.reduced.clone(), how: self.how })
    }

    /// The index in the array of an element of the selection.
    pub fn index(&self, d: usize, i: u64) -> u64 {
        self.selection.start()[d].wrapping_add_signed(self.selection.step()[d].wrapping_mul(i as i64))
    }
}

/// A range in two parts, at the colon for which both parts can be read; a part may be empty.
fn range<T>(text: &str, read: &dyn Fn(&str) -> Option<T>) -> Option<(Option<T>, Option<T>)> {
    let end = |part: &str| if part.is_empty() { Some(None) } else { read(part).map(Some) };
    text.match_indices(':').find_map(|(at, _)| Some((end(&text[..at])?, end(&text[at + 1..])?)))
}

fn by_position(dim: &Dim, text: &str) -> Outcome<(u64, u64)> {
    let length = dim.length as i64;
    let refuse = |why: &str| Failure::Error(format!("--index {}={text}: {why}", dim.name));
    let read = |text: &str| text.trim().parse::<i64>().ok();
    let from_end = |i: i64| if i < 0 { i + length } else { i };
    if let Some(i) = read(text) {
        let found = from_end(i);
        return if (0..length).contains(&found) {
            Ok((found as u64, 1))
        } else {
            Err(refuse(&format!("the dimension has {length} elements")))
        };
    }
    let (first, end) = range(text, &read).ok_or_else(|| refuse("expected an integer or a range of integers such as 0:10"))?;
    let first = from_end(first.unwrap_or(0)).clamp(0, length);
    let end = from_end(end.unwrap_or(length)).clamp(first, length);
    if first == end { Err(refuse(&format!("no elements; the dimension has {length}"))) } else { Ok((first as u64, (end - first) as u64)) }
}

/// The elements that are selected by coordinate, where the coordinates are the indices.
fn by_number(dim: &Dim, text: &str) -> Outcome<(u64, u64)> {
    let refuse = |why: &str| {
        let last = dim.length.saturating_sub(1);
        Failure::Error(format!("--at {}={text}: {why}; the dimension has no coordinates, its indices are 0 to {last}", dim.name))
    };
    let length = dim.length as f64;
    let read = |text: &str| text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    if let Some(wanted) = read(text) {
        let is_inside = (-0.5..=length - 0.5).contains(&wanted);
        return if is_inside { Ok(((wanted - 0.5).ceil() as u64, 1)) } else { Err(refuse("outside of the dimension")) };
    }
    let (from, to) = range(text, &read).ok_or_else(|| refuse("expected a number, or two with a colon between"))?;
    let (from, to) = (from.unwrap_or(0.0), to.unwrap_or(length));
    // Casts take what is outside to the nearest number.
    let (first, end) = (from.min(to).ceil() as u64, ((from.max(to) + 1.0).floor() as u64).min(dim.length));
    if first < end { Ok((first, end - first)) } else { Err(refuse("nothing is between them")) }
}

fn by_coordinate(dim: &Dim, text: &str) -> Outcome<(u64, u64)> {
    if dim.coordinate.is_none() {
        return by_number(dim, text);
    }
    let values: Vec<f64> = (0..dim.length).map(|i| dim.at(i)).collect();
    let axis = crate::picture::axis::Axis { label: String::new(), at: values, times: dim.times() };
    let values = &axis.at;
    let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
    let refuse = |why: &str| {
        let extent = format!("the coordinates are {} to {}", axis.shown(low), axis.shown(high));
        Failure::Error(format!("--at {}={text}: {why}; {extent}", dim.name))
    };
    let read = |text: &str| match dim.times() {
        Some(units) => {
            let at = units.calendar.nanoseconds(parse_moment(text.trim()).ok()?).ok()?;
            Some((at - units.since) as f64 / units.unit as f64)
        }
        None => text.trim().parse::<f64>().ok().filter(|v| v.is_finite()),
    };
    if let Some(wanted) = read(text) {
        let nearest = (0..values.len()).min_by(|&a, &b| (values[a] - wanted).abs().total_cmp(&(values[b] - wanted).abs()));
        let borders = axis.borders();
        let ends = (borders.iter().copied().fold(low, f64::min), borders.iter().copied().fold(high, f64::max));
        return match nearest {
            Some(i) if (ends.0..=ends.1).contains(&wanted) => Ok((i as u64, 1)),
            _ => Err(refuse("outside of the dimension")),
        };
    }
    let what = if dim.times().is_some() {
        "a date such as 2026-03-01, or two with a colon between"
    } else {
        "a number, or two with a colon between"
    };
    let (from, to) = range(text, &read).ok_or_else(|| refuse(&format!("expected {what}")))?;
    // The ends of a falling coordinate may be named in its order.
    let (from, to) = if from.zip(to).is_some_and(|(from, to)| from > to) { (to, from) } else { (from, to) };
    let inside = |v: &f64| from.is_none_or(|from| *v >= from) && to.is_none_or(|to| *v <= to);
    match (values.iter().position(inside), values.iter().rposition(inside)) {
        (Some(first), Some(last)) => Ok((first as u64, (last - first + 1) as u64)),
        _ => Err(refuse("nothing is between them")),
    }
}
