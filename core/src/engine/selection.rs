//! Which elements of an array: a start, a number and a step for each dimension, checked against the array's shape.

use crate::counting;
use crate::error::{Result, bail};
use crate::limits::{Dims, Strides};

/// A checked selection: element `i` of dimension `d` is `start[d] + i * step[d]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    start: Dims,
    shape: Dims,
    step: Strides,
    /// The index of its first element in the region of the caller, of which it is a part.
    first_in_region: Option<Box<[u64]>>,
}

impl Selection {
    /// All of an array.
    pub fn all(array_shape: &[u64]) -> Selection {
        Selection {
            start: Dims::from_elem(0, array_shape.len()),
            shape: Dims::from_slice(array_shape),
            step: Strides::from_elem(1, array_shape.len()),
            first_in_region: None,
        }
    }

    /// Checks a region against the array's shape. `start`, `shape` and `step` have the array's rank (`step` may be `None`: ones);
    /// `shape` counts elements. Any element outside the array is an error of kind `Bounds` that names the dimension.
    pub fn new(array_shape: &[u64], start: &[i64], shape: &[i64], step: Option<&[i64]>) -> Result<Selection> {
        let rank = array_shape.len();
        let mut s = Selection { start: Dims::new(), shape: Dims::new(), step: Strides::new(), first_in_region: None };
        if let Some(found) = [start.len(), shape.len(), step.map_or(rank, <[i64]>::len)].into_iter().find(|&n| n != rank) {
            bail!(Rank, "found a region of rank {found}, expected the array's rank {rank}");
        }
        for d in 0..rank {
            let step = step.map_or(1, |s| s[d]);
            check_axis(counting::dimension(d, array_shape.len()), array_shape[d], start[d], shape[d], step)?;
            s.start.push(start[d] as u64);
            s.shape.push(shape[d] as u64);
            // The step from a single element leads nowhere; as 1 it cannot overflow where strides are multiplied.
            s.step.push(if shape[d] > 1 { step } else { 1 });
        }
        Ok(s)
    }

    /// Makes it a part of the caller's region, in which its first element has that index: messages count from the region's first element.
    pub fn part_of_region(self, first: &[u64]) -> Selection {
        Selection { first_in_region: Some(first.into()), ..self }
    }

    /// Returns the index of the first element in the caller's region, if the selection is a part of one.
    pub fn first_in_region(&self) -> Option<&[u64]> {
        self.first_in_region.as_deref()
    }

    /// Returns the first element for each dimension.
    pub fn start(&self) -> &[u64] {
        &self.start
    }

    /// Returns the number of elements for each dimension.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns the step for each dimension; never 0.
    pub fn step(&self) -> &[i64] {
        &self.step
    }
}

fn check_axis(dim: counting::Marked<'_>, length: u64, start: i64, count: i64, step: i64) -> Result<()> {
    if step == 0 {
        bail!(Bounds, "{dim}: the step is 0");
    }
    if count < 0 {
        bail!(Bounds, "{dim}: the region's shape is {count}, expected at least 0");
    }
    if start < 0 || start as u64 > length || (count > 0 && start as u64 == length) {
        bail!(Bounds, "{dim}: start {} lies outside of the array's length {length}", counting::position(start));
    }
    if count > 0 {
        let last = (count - 1).checked_mul(step).and_then(|n| n.checked_add(start));
        match last {
            Some(last) if last >= 0 && (last as u64) < length => {}
            _ => bail!(Bounds, "{dim}: start {}, shape {count}, step {step} leaves the array's length {length}", counting::position(start)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_inside_or_an_error_that_names_the_dimension() {
        let ok = |start: i64, count: i64, step: i64| Selection::new(&[5, 10], &[0, start], &[5, count], Some(&[1, step]));
        for (start, count, step) in [(0, 10, 1), (9, 10, -1), (0, 4, 3), (10, 0, 1), (3, 0, -2), (9, 1, 1000)] {
            assert!(ok(start, count, step).is_ok(), "{start} {count} {step}");
        }
        for (start, count, step) in [
            (0, 11, 1),
            (10, 1, 1),
            (-1, 1, 1),
            (0, 1, 0),
            (0, -1, 1),
            (11, 0, 1),
            (0, 5, 3),
            (5, 7, -1),
            (0, 2, i64::MAX),
            (9, i64::MAX, i64::MAX),
            (i64::MAX, 1, 1),
            (9, 2, i64::MIN),
        ] {
            let e = ok(start, count, step).unwrap_err();
            assert!(e.to_string().contains("dimension 1"), "{e}");
        }
    }

    #[test]
    fn the_step_from_a_single_element_is_one() {
        let s = Selection::new(&[5, 5], &[2, 0], &[1, 2], Some(&[i64::MIN, 3])).unwrap();
        assert_eq!(s.step(), &[1, 3]);
    }

    #[test]
    fn the_list_of_another_length_is_named() {
        for (start, shape, step) in [(&[0, 0, 0][..], &[1][..], &[1][..]), (&[0], &[1, 1, 1], &[1]), (&[0], &[1], &[1, 1, 1])] {
            let e = Selection::new(&[5], start, shape, Some(step)).unwrap_err();
            assert_eq!(e.message(), "found a region of rank 3, expected the array's rank 1");
        }
    }

    #[test]
    fn rank_zero_selects_the_one_element() {
        let s = Selection::new(&[], &[], &[], None).unwrap();
        assert_eq!(s.shape(), &[] as &[u64]);
    }
}
