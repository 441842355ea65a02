//! The caller's memory: a typed, strided view of bytes, checked before anything is read or written.

use super::place::{self, PlaceAxis};
pub use crate::dtype::Overflow;
use crate::dtype::transfer::Transfer;
use crate::dtype::variable::Arena;
use crate::dtype::{DataType, ElementType, Kind, check_memory};
use crate::error::{Result, bail, err};
use crate::limits::{Strides, c_strides, element_count, grow};
use std::sync::Arc;

/// Memory that elements go to or come from. Element `i` is at `data + offset + Σ i[d] * strides[d]`.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The first byte that may be touched.
    pub data: *mut u8,
    /// The number of bytes that may be touched.
    pub size: usize,
    /// The first element's distance from `data`, in bytes.
    pub offset: usize,
    /// The distance in bytes between neighbours, for each dimension; may be negative.
    pub strides: Strides,
    /// The type of the elements, in native byte order.
    pub data_type: DataType,
    /// What happens to values that do not fit.
    pub overflow: Overflow,
    /// What keeps the bytes of elements of variable length that are read into the memory as items. Memory to be written from has one
    /// (which may be empty) to say that it holds true items, whose bytes outlive the call: bytes from elsewhere are no pointers.
    pub arena: Option<Arc<Arena>>,
}

// SAFETY: the caller of `read` and `write` promises that the memory is valid and unaliased while they run; threads of
// the library touch disjoint parts of it (reading into it) or only read it.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Which way the elements go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Elements are stored into the memory: no two may overlap.
    Destination,
    /// Elements are loaded from the memory: they may overlap (stride 0 repeats one).
    Source,
}

impl Memory {
    /// Elements of a selection of that shape in `size` bytes: dense, in C order.
    pub fn dense(data: *mut u8, size: usize, shape: &[u64], data_type: DataType) -> Memory {
        let strides = c_strides(shape, data_type.size());
        Memory { data, size, offset: 0, strides, data_type, overflow: Overflow::Error, arena: None }
    }

    /// The elements of a slice, which are of that type: [`Memory::dense`].
    pub fn of<T>(elements: &mut [T], shape: &[u64], data_type: DataType) -> Memory {
        Memory::dense(elements.as_mut_ptr().cast(), size_of_val(elements), shape, data_type)
    }

    /// Checks that every element of a selection of that shape is inside, that none overlap where that matters, and that the
    /// types can be converted.
    pub fn check(&self, shape: &[u64], file: DataType, way: Use) -> Result<()> {
        check_types(self.data_type, file, way)?;
        if self.data_type.is_variable() && self.arena.is_none() {
            let verb = if way == Use::Destination { "read" } else { "write" };
            bail!(Type, "elements of {} have no fixed size: {verb} them by the functions for variable length", self.data_type.name());
        }
        if self.strides.len() != shape.len() {
            bail!(Rank, "found {} strides, expected {}", self.strides.len(), shape.len());
        }
        if shape.contains(&0) {
            return Ok(());
        }
        self.check_extent(shape)?;
        if way == Use::Destination { self.check_overlap(shape) } else { Ok(()) }
    }

    /// Checks memory whose elements are to be written, of a selection of that shape, as far as that is possible without a look at the elements.
    pub fn check_source(&self, shape: &[u64], file: DataType) -> Result<()> {
        self.check(shape, file, Use::Source)?;
        Transfer::new(ElementType::native(self.data_type), ElementType::native(file)).map(drop)
    }

    /// Returns whether its elements leave bytes of those that they are written to as they are.
    pub fn is_partial(&self, file: DataType) -> bool {
        let change = || Transfer::new(ElementType::native(self.data_type), ElementType::native(file));
        matches!(file, DataType::Struct(_)) && change().is_ok_and(|change| change.is_partial())
    }

    /// Returns the bytes of the elements of a selection of that shape.
    pub(super) fn bytes(&self, shape: &[u64]) -> Result<u64> {
        Ok(element_count(shape)?.saturating_mul(self.data_type.size() as u64))
    }

    /// Copies the elements of a selection of that shape, which was checked, to `to`: dense, in C order. Gives the memory that they
    /// are then, which lives as long as `to` is left alone.
    ///
    /// # Safety
    /// The memory must be valid.
    pub(super) unsafe fn copy(&self, shape: &[u64], to: &mut Vec<u8>) -> Result<Memory> {
        let size = usize::try_from(self.bytes(shape)?).map_err(|_| err!(NoMemory, "no memory for a copy of the region"))?;
        let strides = c_strides(shape, self.data_type.size());
        let data = grow(to, size)?.as_mut_ptr();
        let element = ElementType::native(self.data_type);
        let axes = (0..shape.len()).map(|d| PlaceAxis { count: shape[d], src: self.strides[d], dst: strides[d] });
        let first = self.data.wrapping_add(self.offset);
        // SAFETY: all elements are inside the memory, by `check`, and inside of the copy, by its size.
        unsafe { place::place(first, data, axes, &Transfer::new(element, element)?) }.map_err(|m| m.at(0))?;
        Ok(Memory { data, size, offset: 0, strides, ..self.clone() })
    }

    fn check_extent(&self, shape: &[u64]) -> Result<()> {
        let item = self.data_type.size() as i128;
        let (mut low, mut high) = (self.offset as i128, self.offset as i128 + item);
        for (&n, &stride) in shape.iter().zip(&self.strides) {
            let reach = (n as i128 - 1) * stride as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        if low < 0 || high > self.size as i128 {
            bail!(BufferSize, "the elements need bytes {low} to {high} of the buffer, it has {} bytes", self.size);
        }
        Ok(())
    }

    /// Sorted by stride, each dimension must step over all that the smaller ones cover. This refuses some layouts whose
    /// elements interleave without touching; none of them comes from a slice of an array.
    fn check_overlap(&self, shape: &[u64]) -> Result<()> {
        let mut axes: Vec<(u64, u64)> =
            shape.iter().zip(&self.strides).filter(|(n, _)| **n > 1).map(|(&n, &s)| (s.unsigned_abs(), n)).collect();
        axes.sort_unstable();
        let mut covered = self.data_type.size() as u128;
        for (stride, n) in axes {
            if (stride as u128) < covered {
                bail!(Argument, "the strides {:?} make elements overlap", self.strides.as_slice());
            }
            covered += (n as u128 - 1) * stride as u128;
        }
        Ok(())
    }
}

/// An error where elements of the one type cannot become ones of the other.
pub(super) fn check_types(memory: DataType, file: DataType, way: Use) -> Result<()> {
    let (from, to) = if way == Use::Destination { (file, memory) } else { (memory, file) };
    if from.kind() == Kind::Complex && to.kind() != Kind::Complex {
        bail!(Type, "{} cannot be converted to {}: the imaginary part would be lost", from.name(), to.name());
    }
    if way == Use::Destination && to.is_variable() && from.in_memory() != to.in_memory() {
        let why = if from.is_variable() { "" } else { ": nothing would keep the bytes" };
        bail!(Type, "{} cannot be read as {}{why}", from.name(), to.name());
    }
    check_memory(memory, file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    fn memory(size: usize, offset: usize, strides: Strides) -> Memory {
        Memory { data: std::ptr::null_mut(), size, offset, strides, data_type: DataType::Float64, overflow: Overflow::Error, arena: None }
    }

    #[test]
    fn elements_must_lie_inside_and_apart() {
        let check = |size, offset, strides, way| memory(size, offset, strides).check(&[3, 4], DataType::Float64, way);
        assert!(check(96, 0, smallvec![32, 8], Use::Destination).is_ok());
        assert!(check(96, 0, smallvec![8, 24], Use::Destination).is_ok());
        assert!(check(96, 88, smallvec![-32, -8], Use::Destination).is_ok());
        assert!(check(95, 0, smallvec![32, 8], Use::Destination).is_err());
        assert!(check(96, 87, smallvec![-32, -8], Use::Destination).is_err());
        assert!(check(96, 8, smallvec![32, 8], Use::Destination).is_err());
        assert!(check(96, 0, smallvec![0, 8], Use::Destination).is_err());
        assert!(check(96, 0, smallvec![0, 8], Use::Source).is_ok());
        assert!(check(96, 0, smallvec![24, 8], Use::Destination).is_err());
        assert!(check(96, 0, smallvec![i64::MAX, i64::MIN], Use::Source).is_err());
    }

    #[test]
    fn no_elements_need_no_memory() {
        assert!(memory(0, 0, smallvec![8, 8]).check(&[0, 4], DataType::Int8, Use::Destination).is_ok());
    }

    #[test]
    fn complex_does_not_become_real() {
        assert!(memory(96, 0, smallvec![32, 8]).check(&[3, 4], DataType::Complex128, Use::Destination).is_err());
        assert!(memory(96, 0, smallvec![32, 8]).check(&[3, 4], DataType::Complex128, Use::Source).is_ok());
    }
}
