//! Selections by coordinates, as the caller gives them: an index list for each dimension, points, a mask.

use super::Selection;
use crate::counting;
use crate::error::{Result, bail};
use crate::limits::Dims;

/// Names the elements of an array by coordinates. Not checked yet.
#[derive(Clone, Copy)]
pub enum CoordinateSelection<'a> {
    /// The product of the lists of indices, one for each dimension (`None`: all of it), in any order. The result has their lengths.
    Orthogonal(&'a [Option<&'a [i64]>]),
    /// Points: as many coordinates for each as the array has dimensions. The result has one dimension.
    Points {
        /// The number of points.
        count: u64,
        /// `count` times the rank.
        coordinates: &'a [i64],
    },
    /// The elements of a box (steps of 1) whose byte in the mask, in C order, is not 0. The result has one dimension.
    Mask {
        /// The box.
        region: &'a Selection,
        /// A byte for each element of it.
        mask: &'a [u8],
    },
}

impl CoordinateSelection<'_> {
    /// Returns the shape of what is read or written of an array of shape `array_shape`.
    pub fn shape(&self, array_shape: &[u64]) -> Dims {
        match self {
            CoordinateSelection::Orthogonal(lists) => {
                lists.iter().zip(array_shape).map(|(l, &n)| l.map_or(n, |l| l.len() as u64)).collect()
            }
            CoordinateSelection::Points { count, .. } => Dims::from_elem(*count, 1),
            CoordinateSelection::Mask { mask, .. } => Dims::from_elem(mask.iter().filter(|&&b| b != 0).count() as u64, 1),
        }
    }

    /// Turns evenly spaced index lists into a region with the same elements in the same order, or `None` if they make none. An error of
    /// kind `Bounds` names the list.
    pub fn as_region(&self, array_shape: &[u64]) -> Result<Option<Selection>> {
        let CoordinateSelection::Orthogonal(lists) = self else { return Ok(None) };
        check_lists(lists, array_shape)?;
        let (mut start, mut shape, mut step) = (Vec::new(), Vec::new(), Vec::new());
        for (list, &n) in lists.iter().zip(array_shape) {
            let (first, by) = match list {
                None | Some([]) => (0, 1),
                Some([first]) => (*first, 1),
                Some([first, second, ..]) => (*first, second - first),
            };
            if by == 0 || list.is_some_and(|l| l.windows(2).any(|w| w[1] - w[0] != by)) {
                return Ok(None);
            }
            start.push(first);
            shape.push(list.map_or(n as i64, |l| l.len() as i64));
            step.push(by);
        }
        Selection::new(array_shape, &start, &shape, Some(&step)).map(Some)
    }
}

/// Checks that there is a list for each dimension, and that all indices are inside the array.
pub(super) fn check_lists(lists: &[Option<&[i64]>], array_shape: &[u64]) -> Result<()> {
    if lists.len() != array_shape.len() {
        bail!(Rank, "found {} lists of indices, expected {}, the array's rank", lists.len(), array_shape.len());
    }
    for (d, (list, &n)) in lists.iter().zip(array_shape).enumerate() {
        for (k, &i) in list.iter().flat_map(|l| l.iter().enumerate()) {
            if i < 0 || i as u64 >= n {
                let (dim, index, place) = (counting::dimension(d, array_shape.len()), counting::position(i), counting::position(k as i64));
                bail!(Bounds, "{dim}: the index {index} at position {place} of the list lies outside of the array's length {n}");
            }
        }
    }
    Ok(())
}
