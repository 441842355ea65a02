//! Filling a region with one value; with the array's fill value, of a region of very many chunks, only those that are stored.

use super::Array;
use super::spec::converted_fill;
use crate::dtype::Kind;
use crate::dtype::fill::Fill;
use crate::engine::{self, BoundArray, Memory, Overflow, Selection};
use crate::error::{ErrorKind, Result, bail, err};
use crate::limits::{Dims, Strides};
use std::sync::Arc;

/// Regions of fewer chunks are written chunk by chunk.
const MANY: u128 = 1 << 16;
/// So are regions of which one chunk in this number is stored: that goes side by side.
const SPARSE: u128 = 8;

impl Array {
    /// Writes one element, which `value` has with strides of 0, to all places of a selection.
    ///
    /// # Safety
    /// As for [`crate::engine::write`].
    pub unsafe fn fill_with(&self, selection: &Selection, value: &Memory) -> Result<()> {
        let bound = self.bound_for_writing(selection)?;
        // SAFETY: the caller vouches for the element.
        let chunks = if unsafe { is_erased(&bound, value) }? { self.stored_in(&bound, selection)? } else { None };
        let Some(chunks) = chunks else {
            // SAFETY: forwarded from the caller.
            return unsafe { self.write(selection, value) };
        };
        for index in chunks {
            let (start, shape) = part(&bound, selection, &index);
            let part = Selection::new(&bound.shape, &start, &shape, None)?;
            // SAFETY: forwarded from the caller.
            unsafe { self.write(&part, value) }?;
        }
        Ok(())
    }

    /// The chunks of a selection that are stored; `None` if it has few, if many of them are, or if the store cannot tell.
    fn stored_in(&self, bound: &BoundArray, selection: &Selection) -> Result<Option<Vec<Dims>>> {
        let touched = chunks_of(bound, selection);
        if touched < MANY || !self.store().capabilities().listable {
            return Ok(None);
        }
        let (mut found, mut seen) = (Vec::new(), 0);
        let listed = self.each_stored(&mut |index| {
            seen += 1;
            if seen > touched / SPARSE {
                bail!(Limit, "{seen} of {touched} chunks are stored");
            }
            if part(bound, selection, index).1.iter().all(|n| *n > 0) {
                found.try_reserve(1).map_err(|_| err!(NoMemory, "no memory for a list of {} chunks", found.len()))?;
                found.push(index.into());
            }
            Ok(())
        });
        match listed {
            Err(e) if e.kind() == ErrorKind::Limit => Ok(None),
            listed => listed.map(|()| Some(found)),
        }
    }
}

/// Whether whole chunks of this element are erased.
///
/// # Safety
/// `value` has an element of its type.
unsafe fn is_erased(bound: &BoundArray, value: &Memory) -> Result<bool> {
    // Of structs the memory may have some fields only.
    if bound.store_fill_chunks || bound.data_type.kind() == Kind::Struct || value.data_type.is_variable() {
        return Ok(false);
    }
    // SAFETY: the caller's promise.
    let element = unsafe { std::slice::from_raw_parts(value.data.add(value.offset), value.data_type.size()) };
    match converted_fill(&Fill::of_any(element)?, value.data_type, bound.data_type)? {
        Some(fill) => Ok(fill.try_element(bound.data_type)?[..] == bound.fill[..]),
        None => Ok(false),
    }
}

/// How many chunks a selection of steps of 1 touches; 0 of others.
fn chunks_of(bound: &BoundArray, selection: &Selection) -> u128 {
    if selection.shape().contains(&0) || selection.step().iter().any(|step| *step != 1) {
        return 0;
    }
    let along = |d: usize| {
        let first = selection.start()[d];
        u128::from(bound.grid.chunk_of(d, first + selection.shape()[d] - 1) - bound.grid.chunk_of(d, first) + 1)
    };
    (0..selection.shape().len()).map(along).fold(1, u128::saturating_mul)
}

/// Where a chunk and a selection of steps of 1 meet: start and shape, which has a 0 where they do not.
fn part(bound: &BoundArray, selection: &Selection, chunk: &[u64]) -> (Vec<i64>, Vec<i64>) {
    let along = |(d, &index): (usize, &u64)| {
        let (origin, first) = (bound.grid.origin(d, index), selection.start()[d]);
        let end = origin.saturating_add(bound.grid.extent(d, index)).min(first + selection.shape()[d]);
        let start = origin.max(first);
        (start as i64, end.saturating_sub(start) as i64)
    };
    chunk.iter().enumerate().map(along).unzip()
}

/// One element of the array's type as the memory of any region.
pub(super) fn repeated(array: &BoundArray, element: &mut [u8]) -> Memory {
    Memory {
        data: element.as_mut_ptr(),
        size: array.data_type.size(),
        offset: 0,
        strides: Strides::from_elem(0, array.shape.len()),
        data_type: array.data_type,
        overflow: Overflow::Error,
        // An element of variable length is an item that the array's handle keeps the bytes of.
        arena: array.data_type.is_variable().then(Default::default),
    }
}

/// Writes the fill value to all elements of `selection`. Chunks of nothing else are erased.
pub(super) fn write_fill(array: &Arc<BoundArray>, selection: &Selection) -> Result<()> {
    let mut fill = array.fill.to_element()?;
    let memory = repeated(array, &mut fill);
    // SAFETY: `fill` holds one element of the array's type and outlives the call; all strides are 0.
    unsafe { engine::write(array, selection, &memory) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::limits::Strides;
    use crate::node::Create;
    use crate::node::tests::{memory, spec};

    const LENGTHS: [u64; 3] = [1 << 21, 1 << 21, 1 << 20];

    /// An array of 2^59 chunks.
    fn sparse() -> Array {
        Array::create(&memory(), "a", &spec(&LENGTHS, &[1, 2, 4]), Create::New).unwrap()
    }

    fn fill(array: &Array, start: &[i64], shape: &[i64], value: f64) -> Result<()> {
        let selection = Selection::new(&LENGTHS, start, shape, None)?;
        let mut value = [value];
        let memory = Memory { strides: Strides::from_elem(0, 3), ..Memory::of(&mut value, &[], DataType::Float64) };
        // SAFETY: the memory is one number.
        unsafe { array.fill_with(&selection, &memory) }
    }

    fn stored(array: &Array) -> Vec<Vec<u64>> {
        let mut found = Vec::new();
        array
            .each_stored(&mut |index| {
                found.push(index.to_vec());
                Ok(())
            })
            .unwrap();
        found.sort();
        found
    }

    #[test]
    fn the_fill_value_erases_what_is_stored_of_2_to_the_59_chunks() {
        let (array, all) = (sparse(), LENGTHS.map(|n| n as i64));
        for place in [0, 1000, (1 << 20) - 4] {
            fill(&array, &[place, 2 * place, place], &[1, 2, 4], 7.0).unwrap();
        }
        assert_eq!(stored(&array).len(), 3);
        // A chunk of which a part is in the region is changed, and one outside of it is left.
        fill(&array, &[1, 0, 2], &[all[0] - 1001, all[1], 1000], 0.0).unwrap();
        assert_eq!(stored(&array).len(), 3);
        fill(&array, &[0, 1, 0], &[1 << 20, all[1] - 1, all[2]], 0.0).unwrap();
        assert_eq!(stored(&array), [vec![0, 0, 0]]);
        fill(&array, &[0, 0, 0], &all, 0.0).unwrap();
        assert_eq!(stored(&array), Vec::<Vec<u64>>::new());
    }

    #[test]
    fn a_region_of_which_much_is_stored_is_filled_as_any() {
        let array = sparse();
        fill(&array, &[0, 0, 0], &[64, 64, 20], 3.0).unwrap();
        assert_eq!(stored(&array).len(), 64 * 32 * 5);
        fill(&array, &[0, 0, 0], &[64, 64, 128], 0.0).unwrap();
        assert_eq!(stored(&array).len(), 0);
    }
}
