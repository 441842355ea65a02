//! What HDF5, to which libnetcdf is linked, tells of the open file, and netCDF-C does not.

use super::library::Library;
use std::collections::HashSet;
use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

/// All objects, and of these the files.
const FILES: (i64, c_uint) = (0x1f, 1);
/// The most dimensions of a data set.
const RANK: usize = 32;
/// The classes of integers and floating-point numbers.
const NUMBERS: [c_int; 2] = [0, 1];
/// The most bytes that a number of netCDF has.
const WIDEST: usize = 8;
/// What netCDF-C puts before the name of a variable that is named as a dimension, but not along it.
const NOT_ALONG: &str = "_nc4_non_coord_";

/// What is called for each link of a group.
type Each = extern "C" fn(i64, *const c_char, *const c_void, *mut c_void) -> c_int;

macro_rules! functions {
    ($($name:ident($($argument:ty),*) -> $status:ty, $($symbol:literal)|+;)*) => {
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
                        let place = [$($symbol),+].iter().find_map(|name| library.symbol(name))?;
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
    open_group(i64, *const c_char, i64) -> i64, "H5Gopen2";
    close(i64) -> c_int, "H5Idec_ref";
    type_of(i64) -> i64, "H5Dget_type";
    is_any_length(i64) -> c_int, "H5Tis_variable_str";
    class(i64) -> c_int, "H5Tget_class";
    size(i64) -> usize, "H5Tget_size";
    space_of(i64) -> i64, "H5Dget_space";
    shape(i64, *mut u64, *mut u64) -> c_int, "H5Sget_simple_extent_dims";
    each(i64, c_int, c_int, *mut u64, Each, *mut c_void) -> c_int, "H5Literate2" | "H5Literate1" | "H5Literate";
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

extern "C" fn push_name(_group: i64, name: *const c_char, _info: *const c_void, names: *mut c_void) -> c_int {
    // SAFETY: HDF5 gives a text that ends with NUL, and what `unseen` gave it.
    let (name, names) = unsafe { (CStr::from_ptr(name), &mut *names.cast::<Vec<String>>()) };
    names.push(name.to_string_lossy().into_owned());
    0
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

    /// The links of the group at a path.
    fn links(&self, path: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        let at = CString::new(format!("/{path}")).unwrap_or_default();
        // SAFETY: see `set_at`; what is called takes the list of names.
        unsafe {
            let Some(group) = self.opened((self.open_group)(self.file, at.as_ptr(), 0)) else { return names };
            (self.each)(group.id, 0, 0, null_mut(), push_name, (&raw mut names).cast());
        }
        names
    }

    /// The data sets of the group at a path whose numbers are wider than those of netCDF.
    pub fn wide(&self, path: &str) -> Vec<String> {
        let is_wide = |name: &String| {
            let of = self.set_at(&format!("{path}/{name}")).and_then(|set| {
                // SAFETY: see `set_at`.
                self.opened(unsafe { (self.type_of)(set.id) })
            });
            // SAFETY: see `set_at`.
            of.is_some_and(|of| unsafe { NUMBERS.contains(&(self.class)(of.id)) && (self.size)(of.id) > WIDEST })
        };
        let all = self.links(path).into_iter().filter(is_wide);
        all.map(|name| name.strip_prefix(NOT_ALONG).map_or(name.clone(), String::from)).collect()
    }

    /// The data sets of the group at a path that do not have these names.
    pub fn others(&self, path: &str, known: &HashSet<&str>) -> Vec<String> {
        let mut names = self.links(path);
        names.retain(|name| {
            let shown = name.strip_prefix(NOT_ALONG).unwrap_or(name);
            !known.contains(shown) && self.set_at(&format!("{path}/{name}")).is_some()
        });
        names
    }
}
