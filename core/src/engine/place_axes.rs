//! The axes of a copy, brought into the simplest form, and the loop over them.

use crate::dtype::run::Run;
use smallvec::SmallVec;

/// One dimension of a copy: a number of elements and the distances in bytes between neighbours on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceAxis {
    /// The number of elements.
    pub count: u64,
    /// The source's stride in bytes.
    pub src: i64,
    /// The destination's stride in bytes.
    pub dst: i64,
}

impl PlaceAxis {
    /// Makes the run of the axis's elements from `src` to `dst`.
    #[inline(always)]
    pub(super) fn run(self, src: *const u8, dst: *mut u8) -> Run {
        Run { src, src_stride: self.src as isize, dst, dst_stride: self.dst as isize, n: self.count as usize }
    }
}

/// The axes of a copy.
pub type PlaceAxes = SmallVec<[PlaceAxis; 6]>;

/// A copy in its simplest form, and how far the first element moved on either side.
pub(super) struct Simplified {
    pub axes: PlaceAxes,
    pub src: isize,
    pub dst: isize,
}

impl Simplified {
    /// Simplifies the axes, or returns `None` if there is nothing to copy.
    pub fn new(axes: impl Iterator<Item = PlaceAxis>) -> Option<Simplified> {
        let mut s = Simplified { axes: PlaceAxes::new(), src: 0, dst: 0 };
        let mut sorted = true;
        for axis in axes {
            match axis.count {
                0 => return None,
                1 => continue,
                _ => {
                    let axis = turned(axis, &mut s.src, &mut s.dst);
                    sorted &= s.axes.last().is_none_or(|before| before.dst >= axis.dst);
                    s.axes.push(axis);
                }
            }
        }
        if !sorted {
            sort_falling(&mut s.axes);
        }
        s.merge();
        Some(s)
    }

    /// Joins neighbours that are contiguous on both sides. An axis that is dense in the destination is always the last.
    fn merge(&mut self) {
        let (axes, mut k) = (&mut self.axes[..], 0);
        for i in 1..axes.len() {
            let (outer, inner) = (axes[k], axes[i]);
            let n = inner.count as i64;
            if inner.dst.checked_mul(n) == Some(outer.dst) && inner.src.checked_mul(n) == Some(outer.src) {
                axes[k] = PlaceAxis { count: outer.count * inner.count, ..inner };
            } else {
                k += 1;
                axes[k] = inner;
            }
        }
        self.axes.truncate(k + 1);
    }

    pub fn elements(&self) -> u64 {
        self.axes.iter().map(|a| a.count).product()
    }

    /// Returns the last axis (or one element), and the others.
    pub fn split_inner(mut self, size: usize) -> (PlaceAxis, PlaceAxes) {
        let inner = self.axes.pop().unwrap_or(PlaceAxis { count: 1, src: size as i64, dst: size as i64 });
        (inner, self.axes)
    }
}

/// Sorts axes by falling strides of the destination; those with the same stay in their order. They are few, and mostly nearly sorted.
fn sort_falling(axes: &mut [PlaceAxis]) {
    for i in 1..axes.len() {
        let (axis, mut k) = (axes[i], i);
        while k > 0 && axes[k - 1].dst < axis.dst {
            axes[k] = axes[k - 1];
            k -= 1;
        }
        axes[k] = axis;
    }
}

/// Turns an axis around whose destination goes downwards, and moves the first elements.
fn turned(axis: PlaceAxis, src: &mut isize, dst: &mut isize) -> PlaceAxis {
    if axis.dst >= 0 {
        return axis;
    }
    *src += (axis.count as isize - 1) * axis.src as isize;
    *dst += (axis.count as isize - 1) * axis.dst as isize;
    PlaceAxis { count: axis.count, src: -axis.src, dst: -axis.dst }
}

/// Calls `row` with the first elements of each combination of the outer axes, until it returns false. The innermost of them is a
/// loop around the row itself, so that short rows cost little more than their copy.
///
/// # Safety
/// The pointers and axes must stay within what the caller may touch (`src` may be null if it is not used).
#[inline]
pub(super) unsafe fn each<F: FnMut(*const u8, *mut u8) -> bool>(axes: &[PlaceAxis], src: *const u8, dst: *mut u8, row: &mut F) -> bool {
    match axes {
        [] => row(src, dst),
        [axis] => {
            (0..axis.count as isize).all(|i| row(src.wrapping_offset(i * axis.src as isize), dst.wrapping_offset(i * axis.dst as isize)))
        }
        // SAFETY: forwarded from the caller.
        [axis, rest @ ..] => (0..axis.count as isize).all(|i| unsafe {
            each_outer(rest, src.wrapping_offset(i * axis.src as isize), dst.wrapping_offset(i * axis.dst as isize), row)
        }),
    }
}

/// [`each`], not inlined into itself.
///
/// # Safety
/// As [`each`].
unsafe fn each_outer<F: FnMut(*const u8, *mut u8) -> bool>(axes: &[PlaceAxis], src: *const u8, dst: *mut u8, row: &mut F) -> bool {
    // SAFETY: forwarded from the caller.
    unsafe { each(axes, src, dst, row) }
}
