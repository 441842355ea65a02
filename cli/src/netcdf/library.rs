//! libnetcdf, loaded when a file is opened: the functions that reading takes.

use crate::failure::{Failure, Outcome};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;

/// The environment's name of the library, before those of the system.
const SETTING: &str = "OZARR_LIBNETCDF";
/// The names of the library, the newest first.
const NAMES: &[&str] = &["libnetcdf.so.22", "libnetcdf.so.19", "libnetcdf.so.18", "libnetcdf.so", "libnetcdf.dylib"];

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions; all give a status.
        #[allow(non_snake_case)]
        pub struct Library {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> c_int,)*
            nc_strerror: unsafe extern "C" fn(c_int) -> *const c_char,
            nc_inq_libvers: unsafe extern "C" fn() -> *const c_char,
            handle: *mut c_void,
        }

        impl Library {
            fn of(handle: *mut c_void) -> Result<Library, &'static str> {
                Ok(Library {
                    // SAFETY: the types are those of netcdf.h, which do not change.
                    $($name: unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>(symbol(handle, stringify!($name))?) },)*
                    // SAFETY: as above.
                    nc_strerror: unsafe { transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(symbol(handle, "nc_strerror")?) },
                    // SAFETY: as above.
                    nc_inq_libvers: unsafe { transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_char>(symbol(handle, "nc_inq_libvers")?) },
                    handle,
                })
            }
        }
    };
}

functions! {
    nc_open(*const c_char, c_int, *mut c_int);
    nc_close(c_int);
    nc_inq_format(c_int, *mut c_int);
    nc_inq_grps(c_int, *mut c_int, *mut c_int);
    nc_inq_grpname(c_int, *mut c_char);
    nc_inq_dimids(c_int, *mut c_int, *mut c_int, c_int);
    nc_inq_unlimdims(c_int, *mut c_int, *mut c_int);
    nc_inq_dim(c_int, c_int, *mut c_char, *mut usize);
    nc_inq_varids(c_int, *mut c_int, *mut c_int);
    nc_inq_varid(c_int, *const c_char, *mut c_int);
    nc_inq_var(c_int, c_int, *mut c_char, *mut c_int, *mut c_int, *mut c_int, *mut c_int);
    nc_inq_var_fill(c_int, c_int, *mut c_int, *mut c_void);
    nc_inq_var_chunking(c_int, c_int, *mut c_int, *mut usize);
    nc_inq_natts(c_int, *mut c_int);
    nc_inq_attname(c_int, c_int, c_int, *mut c_char);
    nc_inq_att(c_int, c_int, *const c_char, *mut c_int, *mut usize);
    nc_get_att(c_int, c_int, *const c_char, *mut c_void);
    nc_get_vara(c_int, c_int, *const usize, *const usize, *mut c_void);
    nc_free_string(usize, *mut *mut c_char);
    nc_inq_user_type(c_int, c_int, *mut c_char, *mut usize, *mut c_int, *mut usize, *mut c_int);
    nc_inq_compound_field(c_int, c_int, c_int, *mut c_char, *mut usize, *mut c_int, *mut c_int, *mut c_int);
    nc_inq_enum_member(c_int, c_int, c_int, *mut c_char, *mut c_void);
}

/// The place of a function, or its name, if the library lacks it.
fn symbol(handle: *mut c_void, name: &'static str) -> Result<*mut c_void, &'static str> {
    let text = CString::new(name).map_err(|_| name)?;
    // SAFETY: the handle is an open library's, the text ends with NUL.
    let found = unsafe { libc::dlsym(handle, text.as_ptr()) };
    if found.is_null() { Err(name) } else { Ok(found) }
}

impl Library {
    /// Loads it, for as long as the program runs.
    pub fn load() -> Outcome<Library> {
        let named = std::env::var(SETTING).ok();
        let names: Vec<&str> = named.as_deref().map_or_else(|| NAMES.to_vec(), |name| vec![name]);
        let mut why = String::new();
        for name in names {
            let text = CString::new(name).map_err(|_| Failure::Error(format!("{SETTING} is {name:?}, which is no name of a file")))?;
            // SAFETY: the text ends with NUL; what the library does when it is loaded is its own affair.
            let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Library::of(handle)
                    .map_err(|missing| Failure::Error(format!("{name} has no function {missing}; netCDF-C 4.3.1 or newer is needed")));
            }
            // SAFETY: a failure of dlopen leaves a text.
            let told = unsafe { libc::dlerror().as_ref() }.map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
            // The name without an ending tells most: that no such file is there.
            why = told.unwrap_or_default();
        }
        Err(Failure::Error(format!(
            "reading netCDF and HDF5 takes libnetcdf: {why}; install it (Debian: libnetcdf19 or newer, Fedora: netcdf, Homebrew: netcdf), or name its file in {SETTING}"
        )))
    }

    /// Whether it reads texts of one length as one block, which has room for one of them: until 4.9.1.
    pub fn joins_texts(&self) -> bool {
        // SAFETY: the function gives a text which nobody changes.
        let text = unsafe { CStr::from_ptr((self.nc_inq_libvers)()) }.to_string_lossy();
        let version: Vec<u32> = text.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse().ok()).take(3).collect();
        version < vec![4, 9, 1]
    }

    /// The place of a function of the libraries that it is linked to.
    pub fn symbol(&self, name: &'static str) -> Option<*mut c_void> {
        symbol(self.handle, name).ok()
    }

    /// The text of a status.
    pub fn text(&self, status: c_int) -> String {
        // SAFETY: the function gives a text for every status, which nobody changes.
        unsafe { CStr::from_ptr((self.nc_strerror)(status)) }.to_string_lossy().into_owned()
    }
}
