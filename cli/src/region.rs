//! The options --start, --shape and --step: which elements of an array.

use crate::failure::{Failure, Outcome};
use crate::list::List;
use clap::Args;
use ozarr::engine::Selection;

/// A region.
#[derive(Args)]
pub struct Region {
    /// The first element, one integer for each dimension, a negative one from the end (zeros; with a negative step the last element)
    #[arg(long, value_name = "I,J,..", allow_hyphen_values = true)]
    pub start: Option<List>,
    /// The number of elements along each dimension (as many as there are from the start)
    #[arg(long, value_name = "N,M,..", allow_hyphen_values = true)]
    pub shape: Option<List>,
    /// The distance between elements, which may be negative (ones)
    #[arg(long, value_name = "S,T,..", allow_hyphen_values = true)]
    pub step: Option<List>,
}

impl Region {
    /// The region of an array of that shape. `shape` is that of the data to be written, where it is known; it must not differ
    /// from what is asked for.
    pub fn selection(&self, array: &[u64], shape: Option<&[u64]>) -> Outcome<Selection> {
        let ones = || List(vec![1; array.len()]);
        let step = self.step.clone().unwrap_or_else(ones).0;
        let start: Vec<i64> = match &self.start {
            Some(list) => list.0.iter().enumerate().map(|(d, &i)| from_end(i, array.get(d))).collect(),
            None => array.iter().enumerate().map(|(d, &n)| if backward(&step, d) { (n as i64 - 1).max(0) } else { 0 }).collect(),
        };
        if step.contains(&0) {
            return Err(Failure::Usage("--step: found 0, expected another distance".into()));
        }
        if let Some(n) = self.shape.iter().flat_map(|list| &list.0).find(|&&n| n < 0) {
            return Err(Failure::Usage(format!("--shape: found {n}, expected at least 0")));
        }
        let data: Option<Vec<i64>> = shape.map(|shape| shape.iter().map(|&n| n as i64).collect());
        if let (Some(data), Some(asked)) = (&data, &self.shape)
            && *data != asked.0
        {
            return Err(Failure::Error(format!("the data has shape {data:?}, --shape says {:?}", asked.0)));
        }
        let count = data.or_else(|| self.shape.as_ref().map(|list| list.0.clone()));
        // Without a shape, no element at all is hardly meant: a step that is not there yet, say.
        let beyond = |&d: &usize| start.get(d).is_some_and(|&i| i > 0 && i as u64 == array[d]);
        if let (None, Some(d)) = (&count, (0..array.len()).find(beyond)) {
            let (i, length) = (start[d], array[d]);
            return Err(Failure::Error(format!("--start: dimension {d}: found {i}, expected less than the length {length}")));
        }
        let count = count.unwrap_or_else(|| (0..array.len()).map(|d| rest(array[d], start.get(d), step.get(d))).collect());
        Ok(Selection::new(array, &start, &count, Some(&step))?)
    }
}

/// The index that is `i` elements before the end, if it is negative. One before the first stays as it is: the check refuses it.
fn from_end(i: i64, length: Option<&u64>) -> i64 {
    match length.and_then(|&n| i64::try_from(n).ok()) {
        Some(n) if i < 0 && i >= -n => i + n,
        _ => i,
    }
}

fn backward(step: &[i64], d: usize) -> bool {
    step.get(d).is_some_and(|&s| s < 0)
}

/// How many elements there are from `start` in steps of `step`. Nonsense gives something that the check of the region refuses.
fn rest(length: u64, start: Option<&i64>, step: Option<&i64>) -> i64 {
    let (start, step) = (*start.unwrap_or(&0), *step.unwrap_or(&1));
    let reach = if step < 0 { if length == 0 { 0 } else { start.saturating_add(1) } } else { (length as i64).saturating_sub(start) };
    if step == 0 || reach <= 0 { 0 } else { reach.unsigned_abs().div_ceil(step.unsigned_abs()) as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_all_there_is() {
        let list = |text: &str| (text != "-").then(|| text.parse::<List>().unwrap());
        type Found = Option<(&'static [u64], &'static [u64])>;
        let cases: &[(&str, &str, &str, Found)] = &[
            ("-", "-", "-", Some((&[0, 0], &[10, 7]))),
            ("2,3", "-", "-", Some((&[2, 3], &[8, 4]))),
            ("2,3", "1,1", "-", Some((&[2, 3], &[1, 1]))),
            ("-", "-", "3,-1", Some((&[0, 6], &[4, 7]))),
            ("9,2", "-", "-4,-2", Some((&[9, 2], &[3, 2]))),
            ("10,0", "-", "-", None),
            ("0,7", "-", "-", None),
            ("10,0", "0,7", "-", Some((&[10, 0], &[0, 7]))),
            ("-2,-7", "-", "-", Some((&[8, 0], &[2, 7]))),
            ("-1,-1", "3,1", "-4,1", Some((&[9, 6], &[3, 1]))),
            ("-11,0", "-", "-", None),
            ("-", "-", "0,1", None),
            ("11,0", "-", "-", None),
            ("1", "-", "-", None),
            ("-", "1", "-", None),
            ("-", "-", "1", None),
            ("-", "11,1", "-", None),
            ("-", "-1,1", "-", None),
        ];
        for (start, shape, step, want) in cases {
            let region = Region { start: list(start), shape: list(shape), step: list(step) };
            let got = region.selection(&[10, 7], None).ok();
            assert_eq!(got.as_ref().map(|s| (s.start(), s.shape())), *want, "{start} {shape} {step}");
        }
    }
}
