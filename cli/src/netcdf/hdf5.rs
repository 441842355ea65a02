//! What HDF5, to which libnetcdf is linked, tells of the open file, and netCDF-C does not.

use super::library::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

/// All objects, and of these the files.
const FILES: (i64, c_uint) = (0x1f, 1);
/// The most dimensions of a data set.
const RANK: usize = 32;
/// What netCDF-C puts before the name of a variable that is named as a dimension, but not along it.
const NOT_ALONG: &str = "_nc4_non_coord_";

macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $status:ty, $symbol:literal;)*) => {
        /// The functions, with the types of HDF5 1.10 and newer, which takes numbers of nothing for errors.
        #[allow(non_snake_case)]
        pub struct Hdf5 {
            $($name: unsafe extern "C" fn($($argument),*) -> $status,)*
            /// The only open file; 0 if it is not HDF5.
            file: i64,
        }

        impl Hdf5 {
            /// Asks for the only open file; none where the library does not show the functions.
            pub fn of(library: &Library) -> Option<Hdf5> {
                let mut all = Hdf5 {
                    $($name: {
                        let place = library.symbol($symbol)?;
                        // SAFETY: the types are those of the headers of HDF5.
                        unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> $status>(place) }
                    },)*
                    file: 0,
                };
                // SAFETY: there is room for one number.
                unsafe { (all.list)(FILES.0, FILES.1, 1, &mut all.file) };
                Some(all)
            }
        }
    };
}

functions! {
    list(i64, c_uint, usize, *mut i64) -> isize, "H5Fget_obj_ids";
    open_set(i64, *const c_char, i64) -> i64, "H5Dopen2";
    close(i64) -> c_int, "H5Idec_ref";
    type_of(i64) -> i64, "H5Dget_type";
    is_any_length(i64) -> c_int, "H5Tis_variable_str";
    size(i64) -> usize, "H5Tget_size";
    space_of(i64) -> i64, "H5Dget_space";
    shape(i64, *mut u64, *mut u64) -> c_int, "H5Sget_simple_extent_dims";
}

/// An open object.
struct Open<'a> {
    id: i64,
    by: &'a Hdf5,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has the number.
        unsafe { (self.by.close)(self.id) };
    }
}

impl Hdf5 {
    fn opened(&self, id: i64) -> Option<Open<'_>> {
        (id > 0).then_some(Open { id, by: self })
    }

    fn set_at(&self, path: &str) -> Option<Open<'_>> {
        let path = CString::new(path).ok()?;
        // SAFETY: the path ends with NUL; so it does in all calls below, where every number is that of an open object.
        self.opened(unsafe { (self.open_set)(self.file, path.as_ptr(), 0) })
    }

    /// Opens the data set of a variable.
    fn set_of(&self, path: &str) -> Option<Open<'_>> {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.set_at(&format!("{group}/{NOT_ALONG}{name}")).or_else(|| self.set_at(path))
    }

    /// The length of the texts of the variable at a path, 0 if each has its own; `None` where that cannot be told.
    pub fn text_length(&self, path: &str) -> Option<usize> {
        if self.file == 0 {
            return Some(0);
        }
        let set = self.set_of(path)?;
        // SAFETY: see `set_at`.
        unsafe {
            let of = self.opened((self.type_of)(set.id))?;
            match (self.is_any_length)(of.id) {
                0 => Some((self.size)(of.id)),
                any => (any > 0).then_some(0),
            }
        }
    }

    /// The shape of the data set of the variable at a path, without what its dimensions lack in it; `None` where that cannot be told.
    pub fn extent(&self, path: &str) -> Option<Vec<u64>> {
        let set = self.set_of(path)?;
        let mut all = vec![0; RANK];
        // SAFETY: see `set_at`; there is room for all dimensions.
        let space = self.opened(unsafe { (self.space_of)(set.id) })?;
        let rank = unsafe { (self.shape)(space.id, all.as_mut_ptr(), null_mut()) };
        all.truncate(usize::try_from(rank).ok()?);
        Some(all)
    }
}
