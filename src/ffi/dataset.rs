//! Datasets: dimensions, variables, coordinates
//!
//! A dataset is a group as netCDF and xarray see it: its arrays are variables, which share named
//! dimensions, and those that give the values of a dimension are its coordinates. What is written so opens
//! in xarray with its coordinates, units, times and missing values, in both formats:
//!
//! ```c
//! ozarr_dataset *ds = NULL;
//! ozarr_array *time = NULL, *t = NULL;
//! const char *const dims[] = {"time", "x"};
//! if (ozarr_dataset_create("run.zarr", 0, OZARR_CREATE_NEW, &ds)) goto fail;
//! if (ozarr_dataset_define_time(ds, "time", 0, 0, "hours since 2026-01-01", NULL, &time)) goto fail;
//! if (ozarr_dataset_define_coordinate(ds, "x", OZARR_FLOAT64, 100, 0, x, sizeof x, "m", NULL)) goto fail;
//! if (ozarr_dataset_define_variable(ds, "t", OZARR_FLOAT32, 2, dims, &t)) goto fail;
//! if (ozarr_attr_set_string(ozarr_array_node(t), "units", "K")) goto fail;
//! ...
//! if (ozarr_dataset_close(ds)) goto fail;
//! ```
//!
//! Dimensions are stored with the arrays that have them; one without is forgotten with the handle.

use super::context::default_context;
use super::dataset_coordinate::define_coordinate;
use super::handle::Handle;
use super::spec::ozarr_shuffle;
use super::status::ozarr_status;
use super::strings::{at_least_0, chunk_length, names, optional, position, put, put_optional, put_text, text};
use super::structs::{growing, read_struct};
use super::types::{create, data_type, ozarr_array, ozarr_create_mode, ozarr_dataset, ozarr_group, ozarr_spec, ozarr_type};
use super::{entry, err};
use crate::error::bail;
use crate::metadata::Format;
use crate::node::{Create, Dataset, Group, Mode, Store, VariableSpec};
use std::ffi::{c_char, c_void};

/// Creates a group for a dataset at `location`, with the groups above it that are missing. `zarr_format`
/// is 2 or 3; 0 is the format of the group above it, or 3 without one. `mode` as for
/// `ozarr_array_create`.
///
/// A program that makes the same calls each time it is started takes `OZARR_CREATE_OPEN_IF_SAME`: then
/// the calls that define something through this handle open what is there and the same
/// (`OZARR_CREATE_NEW` is `OZARR_CREATE_OPEN_IF_SAME`), and define what a kill has left out. What is
/// defined with a length of 0 may have grown.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or format; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
/// `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_create(
    location: *const c_char,
    zarr_format: i32,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_dataset,
) -> ozarr_status {
    entry!("ozarr_dataset_create", new(out), texts(location), {
        let format = match zarr_format {
            0 => None,
            2 => Some(Format::V2),
            3 => Some(Format::V3),
            other => bail!(Argument, "the argument `zarr_format` is {other}, expected 0, 2 or 3"),
        };
        let mode = create(mode)?;
        let (store, path) = Store::locate(&default_context()?, location, Mode::ReadWrite)?;
        Dataset::create(&store, &path, format, mode)
    })
}

/// Opens the dataset at `location`. A variable that has a dimension without a name is
/// `OZARR_ERR_METADATA` with its name. Variables may differ in length along a dimension, as they do in a
/// run that grows or was killed: `ozarr_dataset_dimension_length` has both lengths, the log is told, and
/// `ozarr_dataset_resize_dimension` or `ozarr_series_open` makes them equal. With mode `"r+"` consolidated
/// metadata that a kill left behind are brought up to date when a dimension is first asked for, when the
/// dataset is changed, and at its close; the open reads nothing else. Mode `"r"` or `"r+"`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
/// written; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there;
/// `OZARR_ERR_NODE_KIND` if an array is; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_open(location: *const c_char, mode: *const c_char, out: *mut *mut ozarr_dataset) -> ozarr_status {
    entry!("ozarr_dataset_open", new(out), texts(location, mode), {
        let (store, path) = Store::locate(&default_context()?, location, Mode::parse(mode)?)?;
        Dataset::open(Group::open(&store, &path)?)
    })
}

/// Opens a group as a dataset, in the group's mode, with the checks of `ozarr_dataset_open`. The group
/// stays open.
///
/// Errors: those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_open_dataset(group: *const ozarr_group, out: *mut *mut ozarr_dataset) -> ozarr_status {
    entry!("ozarr_group_open_dataset", new(out), handles(group), { Dataset::open(group.for_another_handle()) })
}

/// Opens the dataset's group, for its attributes, as a new handle.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_open_group(dataset: *const ozarr_dataset, out: *mut *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_dataset_open_group", new(out), handles(dataset), { Ok(dataset.group().for_another_handle()) })
}

/// Defines a dimension. A dimension of that name and length may exist already; another length is
/// `OZARR_ERR_EXISTS`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length; `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY`; those of
/// documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_define_dimension(dataset: *mut ozarr_dataset, name: *const c_char, length: i64) -> ozarr_status {
    entry!("ozarr_dataset_define_dimension", handles(dataset), texts(name), {
        dataset.define_dimension(name, at_least_0(length, "length")?)
    })
}

/// Changes the length of a dimension: all variables that have it are resized, as by `ozarr_array_resize`.
///
/// Errors: `OZARR_ERR_NOT_FOUND` if there is no such dimension; `OZARR_ERR_READ_ONLY`;
/// `OZARR_ERR_ARGUMENT` for a negative length; those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_resize_dimension(dataset: *mut ozarr_dataset, name: *const c_char, length: i64) -> ozarr_status {
    entry!("ozarr_dataset_resize_dimension", handles(dataset), texts(name), {
        dataset.resize_dimension(name, at_least_0(length, "length")?)
    })
}

/// Gets the number of dimensions.
///
/// Errors: those of documents and stores.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_dimension_count(dataset: *const ozarr_dataset, count: *mut i64) -> ozarr_status {
    entry!("ozarr_dataset_dimension_count", put(count), handles(dataset), { Ok(dataset.dimension_count()? as i64) })
}

/// Gets the name and the length (`*extent`; `extent` may be NULL) of dimension number `index`, from 0.
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no dimension `index`; those of documents and stores.
///
/// @param[out] extent may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_dimension(
    dataset: *const ozarr_dataset,
    index: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    extent: *mut i64,
) -> ozarr_status {
    entry!("ozarr_dataset_dimension", handles(dataset), {
        let place = position(index, dataset.dimension_count()?, "index", "dimensions")?;
        // Another thread may have made them fewer since.
        let Some(found) = dataset.dimension_at(place) else { bail!(Bounds, "there is no dimension {index} any more") };
        // SAFETY: room as is said, by the function's contract.
        unsafe {
            put_text(&found.name, buf, cap, len)?;
            put_optional(found.length as i64, extent);
        }
        Ok(())
    })
}

/// Gets the length of a dimension: the one that all its variables have (`*length`), and that of the longest
/// (`*longest`; `longest` may be NULL), which differs while they are appended to one after the other, and
/// after a kill. What is appended through this dataset's variables counts at once.
/// `OZARR_ERR_NOT_FOUND` if there is no dimension `name`.
///
/// Errors: those of documents and stores.
///
/// @param[out] length
/// @param[out] longest may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_dimension_length(
    dataset: *const ozarr_dataset,
    name: *const c_char,
    length: *mut i64,
    longest: *mut i64,
) -> ozarr_status {
    entry!("ozarr_dataset_dimension_length", handles(dataset), {
        // SAFETY: a NUL-terminated text and room for the numbers, by the function's contract.
        unsafe {
            let found = dataset.dimension(text(name, "name")?)?;
            put(found.length as i64, length, "length")?;
            put_optional(found.longest as i64, longest);
        }
        Ok(())
    })
}

/// Defines a variable and creates its array: the type of its elements and its `rank` dimensions, which
/// are defined before (`OZARR_ERR_NOT_FOUND`). The fill value of a floating-point variable is NaN
/// (`ozarr_array_create` sets 0), of times it is "not a time"; that of other types is 0, or undefined in
/// format 2. `out` may be NULL.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown type; `OZARR_ERR_RANK`; `OZARR_ERR_TYPE`;
/// `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` if a node of that name is there: the dataset knows it then, if it
/// is an array; `OZARR_ERR_READ_ONLY`; those of documents and stores.
///
/// @param[in] dimensions array(rank)
/// @param[out] out may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_define_variable(
    dataset: *mut ozarr_dataset,
    name: *const c_char,
    r#type: ozarr_type,
    rank: i32,
    dimensions: *const *const c_char,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_dataset_define_variable", new_or_null(out), handles(dataset), {
        // SAFETY: texts, by the function's contract.
        let (name, dimensions) = unsafe { (text(name, "name")?, names(rank, dimensions, "dimensions")?) };
        let variable = VariableSpec { dimensions, ..VariableSpec::new(data_type(r#type, None)?, &[]) };
        dataset.define_variable(name, &variable, Create::New)
    })
}

/// What variable to define. Set it to `OZARR_VARIABLE_INIT` first; a member that is NULL or 0 is left
/// out.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_variable {
    /// `sizeof(ozarr_variable)`; set by `OZARR_VARIABLE_INIT`.
    pub struct_size: usize,
    /// The type of the stored elements; 0 with `spec`: that of it.
    pub r#type: ozarr_type,
    /// The number of dimensions.
    pub rank: i32,
    /// Their names.
    pub dimensions: *const *const c_char,
    /// The shape of a chunk.
    pub chunks: *const i64,
    /// All other choices about the array, such as inner chunks. Its shape may be left out (NULL in
    /// `ozarr_spec_new` or `ozarr_spec_new_dtype`); if there is one, it must be that of the dimensions.
    pub spec: *const ozarr_spec,
    /// The attribute `units`.
    pub units: *const c_char,
    /// The attribute `calendar`, where units are those of time.
    pub calendar: *const c_char,
    /// The attribute `long_name`.
    pub long_name: *const c_char,
    /// The attribute `standard_name`.
    pub standard_name: *const c_char,
    /// Further attributes, as a JSON object.
    pub attributes: *const c_char,
    /// The value that means "missing", one element of `type`. It is also the fill value, of elements
    /// that were never written.
    pub missing: *const c_void,
    /// Stored numbers are multiplied with it; 0: no factor.
    pub scale_factor: f64,
    /// Then this is added.
    pub add_offset: f64,
    /// The compressor, as for `ozarr_spec_set_compressor`; NULL: that of `spec`, or zstd.
    pub compressor: *const c_char,
    /// The compressor's level; 0 is its default.
    pub level: i32,
    /// One of `OZARR_SHUFFLE_...`; 0: that of `spec`, or the compressor's.
    pub shuffle: ozarr_shuffle,
    /// The bits of the mantissa that are kept (`ozarr_spec_set_keep_bits`); 0: as `spec` says, or all.
    /// `missing` is a number that this does not change, such as -8192 or NaN.
    pub keep_bits: i32,
    /// 0.
    pub reserved: i32,
}
growing!(ozarr_variable: 128, reserved);

/// Defines a variable with every choice, else as `ozarr_dataset_define_variable`. `mode` says what to
/// do if a node of that name already exists. `ozarr_array_write_packed` writes packed numbers and
/// missing values.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown constant or members that contradict each other;
/// `OZARR_ERR_NOT_FOUND` for an unknown dimension; `OZARR_ERR_RANK`; `OZARR_ERR_TYPE`;
/// `OZARR_ERR_RANGE`; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`);
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
///
/// @param[out] out may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_define_variable_ex(
    dataset: *mut ozarr_dataset,
    name: *const c_char,
    variable: *const ozarr_variable,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_dataset_define_variable_ex", new_or_null(out), handles(dataset), {
        // SAFETY: a text, and a struct that begins with its size, by the function's contract.
        let (name, variable) = unsafe { (text(name, "name")?, read_struct(variable, "variable")?) };
        // SAFETY: its members are as they say, by the function's contract.
        let variable = unsafe { variable.described() }?;
        dataset.define_variable(name, &variable, create(mode)?)
    })
}

/// Defines a dimension of `length` values and its coordinate: the variable of the same name, which is
/// written from `data`: `length` numbers of the type `type`, `size` bytes; NULL with `size` 0 writes none.
/// It has `chunk` values in a chunk; 0: as many as seem good (1,024 where `length` is 0, to be appended to).
/// `units` is its attribute, or NULL; others, such as `standard_name`, are set afterwards. `out` may be
/// NULL. The values are stored before the variable is there: after a kill or an error it has them, or does
/// not exist. One that is opened because it is the same has these values already, else it is
/// `OZARR_ERR_EXISTS`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length or an unknown type; `OZARR_ERR_TYPE`;
/// `OZARR_ERR_BUFFER_SIZE` for fewer bytes than needed; `OZARR_ERR_RANGE`; `OZARR_ERR_NAME`;
/// `OZARR_ERR_EXISTS` if the dimension has another length, or a node of that name is there;
/// `OZARR_ERR_READ_ONLY`; those of documents, chunks and stores.
///
/// @param[in] units may be NULL
/// @param[out] out may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_define_coordinate(
    dataset: *mut ozarr_dataset,
    name: *const c_char,
    r#type: ozarr_type,
    length: i64,
    chunk: i64,
    data: *const c_void,
    size: usize,
    units: *const c_char,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_dataset_define_coordinate", new_or_null(out), handles(dataset), {
        // SAFETY: texts, by the function's contract.
        let (name, units) = unsafe { (text(name, "name")?, optional(units, "units")?) };
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { define_coordinate(&dataset, (name, units), r#type, (length, chunk), (data, size)) }
    })
}

/// Defines a time axis: a dimension of `length` (0: to be appended to) and the variable of the same name,
/// counts of 64 bits of `units`, such as `"hours since 2026-01-01"`, `chunk` of them in a chunk; 0: as many
/// as seem good (1,024 where `length` is 0). `calendar` is one of the CF conventions, NULL is `"standard"`.
/// `out` may be NULL. An axis whose values have fractions, such as the middles of days, is a dimension
/// (`ozarr_dataset_define_dimension`) and a variable of `OZARR_FLOAT64` of the same name, which
/// `ozarr_dataset_define_variable_ex` gives units, calendar and `standard_name`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for a negative length, and for units that cannot be understood;
/// `OZARR_ERR_UNSUPPORTED` for an unknown calendar, and for units that differ in length (months, years);
/// `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` if the dimension has another length, or a node of that name is
/// there; `OZARR_ERR_READ_ONLY`; those of documents and stores.
///
/// @param[in] calendar may be NULL
/// @param[out] out may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_define_time(
    dataset: *mut ozarr_dataset,
    name: *const c_char,
    length: i64,
    chunk: i64,
    units: *const c_char,
    calendar: *const c_char,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_dataset_define_time", new_or_null(out), handles(dataset), {
        // SAFETY: texts, by the function's contract.
        let (name, units, calendar) = unsafe { (text(name, "name")?, text(units, "units")?, optional(calendar, "calendar")?) };
        let calendar = calendar.unwrap_or("standard");
        dataset.define_time(name, at_least_0(length, "length")?, chunk_length(chunk)?, units, calendar, Create::New)
    })
}

/// Marks a variable as an auxiliary coordinate (one that is not named after its dimension): the variables
/// along its dimensions name it in their attribute `coordinates` from `ozarr_dataset_close` on.
///
/// Errors: `OZARR_ERR_NOT_FOUND` if there is no such variable; `OZARR_ERR_READ_ONLY`; those of documents
/// and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_set_coordinate(dataset: *mut ozarr_dataset, name: *const c_char) -> ozarr_status {
    entry!("ozarr_dataset_set_coordinate", handles(dataset), texts(name), { dataset.set_coordinate(name) })
}

/// Gets the number of variables, coordinates included.
///
/// Errors: none of its own.
///
/// @param[out] count
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_variable_count(dataset: *const ozarr_dataset, count: *mut i64) -> ozarr_status {
    entry!("ozarr_dataset_variable_count", put(count), handles(dataset), { Ok(dataset.variable_count() as i64) })
}

/// Gets the name of variable number `index`, from 0, in the order of the names, and whether it is a
/// coordinate (`coordinate` may be NULL).
///
/// Errors: `OZARR_ERR_BOUNDS` if there is no variable `index`; those of documents and stores.
///
/// @param[out] coordinate may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_variable(
    dataset: *const ozarr_dataset,
    index: i64,
    buf: *mut c_char,
    cap: usize,
    len: *mut usize,
    coordinate: *mut bool,
) -> ozarr_status {
    entry!("ozarr_dataset_variable", handles(dataset), {
        let place = position(index, dataset.variable_count(), "index", "variables")?;
        let name = dataset.variable_name(place).ok_or_else(|| err!(Bounds, "there are fewer variables by now"))?;
        let is_coordinate = dataset.is_coordinate(&name)?;
        // SAFETY: room as is said, by the function's contract.
        unsafe { put_text(&name, buf, cap, len).map(|()| put_optional(is_coordinate, coordinate)) }
    })
}

/// Opens the array of a variable, as a new handle. All handles of a variable share its lengths, and the
/// settings of arrays (`ozarr_node_set`). `ozarr_array_dimension_name` gives the names of its dimensions.
///
/// Errors: `OZARR_ERR_NOT_FOUND` if there is no such variable; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_open_variable(
    dataset: *const ozarr_dataset,
    name: *const c_char,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_dataset_open_variable", new(out), handles(dataset), texts(name), { dataset.variable(name) })
}

/// Writes which variables are coordinates, stores what waits to be written, consolidates metadata, flushes
/// and frees. The handle is gone, whatever the status says. Variables that have come to disagree on the
/// length of a dimension since they were opened are `OZARR_ERR_METADATA` after that, if the dataset can be
/// changed: others refuse it. (While a series of the dimension is open, they may for a moment, in stores
/// with locks; those of a killed run are brought in step by the next series.)
///
/// Errors: those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_close(dataset: *mut ozarr_dataset) -> ozarr_status {
    entry!("ozarr_dataset_close", { ozarr_dataset::close(dataset, "dataset")?.close() })
}

/// Frees the handle, without what `ozarr_dataset_close` writes: what is stored stays as it is, after a
/// kill of its writer, too, and is of use to readers. The next one that is opened to be changed and is
/// closed, or given a series, brings it in order. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_dataset_free(dataset: *mut ozarr_dataset) {
    entry!("ozarr_dataset_free", else (), { ozarr_dataset::free(dataset, "dataset") })
}
