//! What the elements of a variable are that were never written.

use super::file::{File, Stored, Variable};
use crate::cdl::token::NcType;

/// Room for an element of any type of numbers.
const ROOM: usize = 16;

impl File {
    /// The element of `size` bytes that a variable has where none was written; none where netCDF-C does not tell. It is asked only of a variable without
    /// the attribute `_FillValue`: netCDF-C copies that of a classic file whatever its length is.
    pub fn fill(&self, variable: &Variable, size: usize) -> Option<Vec<u8>> {
        // Of texts netCDF-C gives pointers.
        if variable.stored == Stored::Nc(NcType::String) {
            return None;
        }
        // Where no program has set one netCDF-C leaves the memory as it is, and HDF5 has 0.
        let (mut element, mut is_unset) = (vec![0; size.max(ROOM)], 0);
        let place = element.as_mut_ptr().cast();
        // SAFETY: the file is open, and the memory has room for an element.
        let status = unsafe { (self.library.nc_inq_var_fill)(variable.group, variable.id, &mut is_unset, place) };
        element.truncate(size);
        if variable.stored == Stored::Bool {
            element.iter_mut().for_each(|b| *b = u8::from(*b == 1));
        }
        (status == 0).then_some(element)
    }
}
