//! Any region, any memory
//!
//! A region (a hyperslab) takes every `step`-th element; memory has any distance between neighbours
//! along each dimension. Together they let a program read and write the middle of a field with a halo
//! (ghost cells), a column-major array, or a mirrored one, without a copy of its own:
//!
//! ```c
//! // The interior of u[66][66], which has a halo of one element around it, to t[0][..][..].
//! int64_t start[] = {0, 0, 0}, shape[] = {1, 64, 64}, sizes[] = {1, 66, 66}, starts[] = {0, 1, 1};
//! ozarr_region region = OZARR_REGION_INIT;
//! ozarr_memory memory = OZARR_MEMORY_INIT;
//! region.start = start;
//! region.shape = shape;
//! memory.data = u;
//! memory.size = sizeof u;
//! memory.sizes = sizes;
//! memory.starts = starts;
//! memory.type = OZARR_FLOAT64;
//! if (ozarr_array_write_ex(t, &region, &memory)) goto fail;
//!
//! // All of u, with the halo, from a field that is periodic along y and x.
//! int64_t outside[] = {0, -1, -1};
//! bool periodic[] = {false, true, true};
//! region.start = outside;
//! region.shape = sizes;
//! region.periodic = periodic;
//! memory.starts = NULL;
//! if (ozarr_array_read_ex(t, &region, &memory)) goto fail;
//! ```
//!
//! Every type of number becomes every other, except complex ones real ones. A value that does not fit is
//! `OZARR_ERR_RANGE`, unless `memory.overflow` lets it wrap or saturate. The message names such an
//! element, not always the first, by its index in the region: `element [3, 17] is 70000, int16 ends at
//! 32767`. Numbers are rounded to the nearest, ties to even, once; real numbers lose their fraction when
//! they become integers. After such an error in reading, the memory's elements hold what the array has,
//! or what they held before, and those near the named one anything; in writing, the chunks with such
//! elements are as before, all others are written.

use super::entry;
use super::status::{ozarr_order, ozarr_status};
use super::strings::{numbers, text};
use super::structs::{growing, read_struct};
use super::subarray::subarray;
use super::types::{OZARR_BY_DTYPE, data_type, is_order_f, overflow, ozarr_array, ozarr_dtype, ozarr_overflow, ozarr_type};
use crate::dtype::{DataType, ElementType, Field, Struct};
use crate::engine::{Memory, Selection};
use crate::error::{Result, bail};
use crate::limits::{Dims, Strides, c_strides, f_strides};
use crate::node::requests::{self, BatchPart};
use crate::node::{Array, periodic};
use std::ffi::{c_char, c_void};

/// Which elements of an array: element i along dimension d is `start[d] + i * step[d]`. Set it to
/// `OZARR_REGION_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_region {
    /// `sizeof(ozarr_region)`; set by `OZARR_REGION_INIT`.
    pub struct_size: usize,
    /// The first element, one number for each dimension of the array.
    pub start: *const i64,
    /// The number of elements along each dimension.
    pub shape: *const i64,
    /// The distance between selected elements along each dimension: not 0, negative for backwards. NULL
    /// is 1 in every dimension.
    pub step: *const i64,
    /// True for each dimension that is periodic: a region that begins before its first element or goes on
    /// behind its last one continues at the other end, so that one call reads a block with its ghost cells.
    /// NULL: none is. Only for `ozarr_array_read_ex`, `_write_ex`, `_iread_ex`, `_iwrite_ex`,
    /// `_read_unpacked` and `_write_packed`; others refuse it. A write that would reach an element twice is
    /// `OZARR_ERR_BOUNDS`.
    pub periodic: *const bool,
}
growing!(ozarr_region: 40);

/// Memory of the caller. No byte outside of `data` to `data + size` is touched. Set it to
/// `OZARR_MEMORY_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_memory {
    /// `sizeof(ozarr_memory)`; set by `OZARR_MEMORY_INIT`.
    pub struct_size: usize,
    /// The first byte that may be touched. Writing to an array only reads from here.
    pub data: *mut c_void,
    /// The number of bytes that may be touched.
    pub size: usize,
    /// The distance in bytes from `data` to the region's first element.
    pub offset: usize,
    /// The distance in bytes between neighbours along each dimension; may be negative. 0 repeats an element
    /// along that dimension when writing; when reading, no two elements may overlap. One for each dimension
    /// of the array, of no meaning where the region is 1 long. NULL: the elements are contiguous, in
    /// `order`.
    pub strides: *const i64,
    /// `OZARR_ORDER_C` or `OZARR_ORDER_F`; counts where `strides` is NULL.
    pub order: ozarr_order,
    /// The type of the elements; `OZARR_AS_STORED` is the array's, `OZARR_BY_DTYPE` that of `dtype`.
    pub r#type: ozarr_type,
    /// What happens to numbers that do not fit: `OZARR_OVERFLOW_ERROR`, ..._WRAP or ..._SATURATE.
    pub overflow: ozarr_overflow,
    /// 0.
    pub reserved: i32,
    /// With `OZARR_BY_DTYPE`: the type of the elements; NULL is the array's.
    pub dtype: *const ozarr_dtype,
    /// Only this field of the array's structs: `"x"`, or `"a.b"` for the field b of the field a. `type`
    /// and `dtype` are then the field's. In a field that has a shape they are those of each value, and
    /// the values are contiguous; `"v[1]"` (from 0; `"m[0,2]"`) is one of them. Writing leaves the others
    /// as they are. NULL: the whole element.
    pub field: *const c_char,
    /// Where the region is a part of a larger contiguous array in memory (in `order`): the shape of that
    /// array, as `MPI_Type_create_subarray` has it, one number for each dimension of the stored array.
    /// `strides` must be NULL then. NULL: the region is no such part.
    pub sizes: *const i64,
    /// With `sizes`: the index (from 0) in the array in memory at which the region begins, one number for each
    /// dimension; NULL is 0 in all. A region that leaves that array is `OZARR_ERR_BOUNDS`.
    pub starts: *const i64,
}
growing!(ozarr_memory: 88, reserved);

/// Reads a region (a hyperslab; NULL: the whole array) to any memory, such as the inside of a field with
/// ghost cells. A region that leaves the array is `OZARR_ERR_BOUNDS`; memory that is too small is
/// `OZARR_ERR_BUFFER_SIZE`.
///
/// Errors: `OZARR_ERR_BOUNDS` for a step of 0, too; `OZARR_ERR_RANGE` (see above); `OZARR_ERR_ARGUMENT`
/// for elements that overlap in memory, an unknown constant, or members that exclude each other;
/// `OZARR_ERR_TYPE`; `OZARR_ERR_NOT_FOUND` for an unknown field; those of chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_read_ex(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_read_ex", handles(array), {
        // SAFETY: structs that begin with their size, by the function's contract.
        match unsafe { moved(&array, region, memory, false) }? {
            // SAFETY: the memory is as the struct says, by the function's contract.
            Moved::Whole(selection, memory) => unsafe { array.read(&selection, &memory) },
            // SAFETY: as above; its layout was checked as a whole.
            Moved::Parts(parts) => unsafe { requests::read_many(parts) },
        }
    })
}

/// Writes a region (a hyperslab; NULL: the whole array) from any memory, such as the inside of a field
/// with ghost cells. A region that leaves the array is `OZARR_ERR_BOUNDS`; memory that is too small is
/// `OZARR_ERR_BUFFER_SIZE`.
///
/// Errors: `OZARR_ERR_READ_ONLY`; `OZARR_ERR_BOUNDS` for a step of 0, too; `OZARR_ERR_RANGE` (see above);
/// `OZARR_ERR_ARGUMENT` for an unknown constant or members that exclude each other; `OZARR_ERR_TYPE`;
/// `OZARR_ERR_NOT_FOUND` for an unknown field; those of chunks and stores.
///
/// @param[in] region may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_write_ex(
    array: *const ozarr_array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
) -> ozarr_status {
    entry!("ozarr_array_write_ex", to_write(array), {
        // SAFETY: structs that begin with their size, by the function's contract.
        match unsafe { moved(&array, region, memory, true) }? {
            // SAFETY: the memory is as the struct says, by the function's contract.
            Moved::Whole(selection, memory) => unsafe { array.write(&selection, &memory) },
            // SAFETY: as above; its layout was checked as a whole.
            Moved::Parts(parts) => unsafe { requests::write_many(parts) },
        }
    })
}

/// What a call moves: a selection with its memory, or the parts of a region that goes around the ends of periodic dimensions.
// One call has one of them, on its stack.
#[allow(clippy::large_enum_variant)]
pub(super) enum Moved<'a> {
    Whole(Selection, Memory),
    Parts(Vec<BatchPart<'a>>),
}

/// What `region` (NULL: the whole array) and `memory` say. `writing`: the elements are written.
///
/// # Safety
/// As for [`both`].
pub(super) unsafe fn moved<'a>(
    array: &'a Array,
    region: *const ozarr_region,
    memory: *const ozarr_memory,
    writing: bool,
) -> Result<Moved<'a>> {
    let length = array.shape();
    // SAFETY: the caller's promise.
    let lists = unsafe { lists_of(region, length.len()) }?;
    if let Some(Lists { start, shape, step, periodic: Some(periodic) }) = lists {
        let ones = vec![1; length.len()];
        // A negative number is refused with the other faults of the region.
        let counts: Dims = shape.iter().map(|&n| n.max(0) as u64).collect();
        // SAFETY: the caller's promise.
        let memory = unsafe { memory_of(array, &counts, memory) }?;
        let parts = periodic::parts(array, [start, shape, step.unwrap_or(&ones)], periodic, &memory, writing)?;
        return Ok(Moved::Parts(parts));
    }
    let selection = selection_in(&length, lists)?;
    // SAFETY: the caller's promise.
    let memory = unsafe { memory_of(array, selection.shape(), memory) }?;
    Ok(Moved::Whole(selection, memory))
}

/// The selection and the memory of a call that takes no periodic regions.
///
/// # Safety
/// `region` and `memory` are NULL or point to structs that begin with their size, whose lists have a number for each dimension.
pub(super) unsafe fn both(array: &Array, region: *const ozarr_region, memory: *const ozarr_memory) -> Result<(Selection, Memory)> {
    // SAFETY: the caller's promise.
    let selection = unsafe { selection_of(array, region) }?;
    // SAFETY: the caller's promise.
    let memory = unsafe { memory_of(array, selection.shape(), memory) }?;
    Ok((selection, memory))
}

/// The selection of a call that takes no periodic regions.
///
/// # Safety
/// `region` is NULL or points to a struct that begins with its size and whose lists have a number for each dimension.
pub(super) unsafe fn selection_of(array: &Array, region: *const ozarr_region) -> Result<Selection> {
    let length = array.shape();
    // SAFETY: the caller's promise.
    let lists = unsafe { lists_of(region, length.len()) }?;
    if lists.as_ref().is_some_and(|l| l.periodic.is_some()) {
        bail!(Argument, "`region->periodic` is given, expected NULL in this function");
    }
    selection_in(&length, lists)
}

fn selection_in(length: &[u64], lists: Option<Lists<'_>>) -> Result<Selection> {
    lists.map_or_else(|| Ok(Selection::all(length)), |l| Selection::new(length, l.start, l.shape, l.step))
}

/// The lists of a region; `periodic` only if it names a dimension.
struct Lists<'a> {
    start: &'a [i64],
    shape: &'a [i64],
    step: Option<&'a [i64]>,
    periodic: Option<&'a [bool]>,
}

/// The lists of a region; `None` for NULL, the whole array.
///
/// # Safety
/// `region` is NULL or points to a struct that begins with its size and whose lists have `rank` members.
unsafe fn lists_of<'a>(region: *const ozarr_region, rank: usize) -> Result<Option<Lists<'a>>> {
    if region.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let region = unsafe { read_struct(region, "region") }?;
    // SAFETY: as above.
    let (start, shape) = unsafe { (numbers(region.start, rank, "region->start")?, numbers(region.shape, rank, "region->shape")?) };
    // SAFETY: as above.
    let step = if region.step.is_null() { None } else { Some(unsafe { numbers(region.step, rank, "region->step") }?) };
    // SAFETY: as above.
    let periodic = (!region.periodic.is_null()).then(|| unsafe { std::slice::from_raw_parts(region.periodic, rank) });
    Ok(Some(Lists { start, shape, step, periodic: periodic.filter(|p| p.contains(&true)) }))
}

/// The type of the elements in memory: for one field, a struct that has nothing but it.
///
/// # Safety
/// `memory.field` is NULL or points to a NUL-terminated text.
unsafe fn memory_type(stored: DataType, memory: &ozarr_memory) -> Result<DataType> {
    let fields = match memory.field.is_null() {
        true => Vec::new(),
        // SAFETY: the caller's promise.
        false => fields_of(stored, unsafe { text(memory.field, "memory->field") }?)?,
    };
    let inside = fields.last().map_or(stored, |f| f.element.data_type.native());
    let wanted = match (memory.r#type, memory.dtype.is_null()) {
        (OZARR_BY_DTYPE, false) => super::dtype::memory_type(memory.dtype, "memory->dtype")?,
        (_, false) => bail!(Argument, "`memory->dtype` is given and `memory->type` is {}, expected OZARR_BY_DTYPE", memory.r#type),
        (r#type, true) => data_type(r#type, Some(inside))?,
    };
    fields.into_iter().rev().try_fold(wanted, |inner, field| {
        let element = ElementType::native(inner);
        Ok(DataType::Struct(Struct::packed(vec![Field { offset: 0, element, ..field }])?))
    })
}

/// The fields on the way from the array's type to the innermost one, with points between their names. A name may have points itself:
/// the longest one that there is counts.
fn fields_of(stored: DataType, path: &str) -> Result<Vec<Field>> {
    let (mut inside, mut rest, mut fields) = (stored, path, Vec::new());
    loop {
        let mut ends = rest.match_indices('.').map(|(end, _)| end).chain([rest.len()]).rev();
        let found = if let DataType::Struct(s) = inside { ends.find_map(|end| Some((s.part(&rest[..end])?, end))) } else { None };
        let Some((field, end)) = found else { bail!(NotFound, "the array's type has no field {path:?}") };
        inside = field.element.data_type;
        fields.push(field);
        match rest.get(end + 1..) {
            Some(next) => rest = next,
            None => return Ok(fields),
        }
    }
}

/// # Safety
/// `memory` is NULL or points to a struct that begins with its size and whose strides, if any, are
/// as many as `shape` is long.
pub(super) unsafe fn memory_of(array: &Array, shape: &[u64], memory: *const ozarr_memory) -> Result<Memory> {
    // SAFETY: NULL, which is refused, or the caller's promise.
    let memory = unsafe { read_struct(memory, "memory") }?;
    // SAFETY: NULL or a text, by the caller's promise.
    let data_type = unsafe { memory_type(array.data_type(), &memory) }?;
    let (order_f, overflow) = (is_order_f(memory.order)?, overflow(memory.overflow)?);
    if memory.data.is_null() && memory.size > 0 {
        bail!(Null, "`memory->data` is NULL and `memory->size` is {}", memory.size);
    }
    if memory.size > isize::MAX as usize {
        bail!(Argument, "`memory->size` is {}, expected at most {}, as no memory has more", memory.size, isize::MAX);
    }
    let packed = |shape: &[u64]| if order_f { f_strides(shape, data_type.size()) } else { c_strides(shape, data_type.size()) };
    let (strides, part) = match (memory.sizes.is_null(), memory.strides.is_null()) {
        (false, false) => bail!(Argument, "`memory->sizes` and `memory->strides` are both given, expected one of them"),
        // SAFETY: the caller's promise.
        (false, true) => unsafe { subarray(memory.sizes, memory.starts, shape, packed) }?,
        _ if !memory.starts.is_null() => bail!(Argument, "`memory->starts` is given and `memory->sizes` is NULL, expected both"),
        (true, true) => (packed(shape), 0),
        // SAFETY: the caller's promise.
        (true, false) => (Strides::from_slice(unsafe { numbers(memory.strides, shape.len(), "memory->strides") }?), 0),
    };
    let Some(offset) = memory.offset.checked_add(part) else {
        bail!(Bounds, "`memory->offset` is {}, beyond what memory can hold", memory.offset)
    };
    Ok(Memory { data: memory.data.cast(), size: memory.size, offset, strides, data_type, overflow, arena: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::ffi::array::ozarr_array_write;
    use crate::ffi::handle::Handle;
    use crate::ffi::select::ozarr_array_fill;
    use crate::ffi::status::OZARR_OK;
    use crate::ffi::structs::Growing;
    use crate::ffi::types::OZARR_INT32;
    use crate::node::{Context, Create, Group, Mode, Spec, Store};
    use crate::store::local::{LocalStore, SyncMode};
    use crate::store::suite::TestFolder;
    use std::sync::Arc;

    /// The region of a call.
    fn region(start: &i64, count: &i64, periodic: &bool) -> ozarr_region {
        ozarr_region { struct_size: size_of::<ozarr_region>(), start, shape: count, step: std::ptr::null(), periodic }
    }

    /// Memory that holds the values.
    fn memory(values: &[i32]) -> ozarr_memory {
        let (data, size) = (values.as_ptr().cast_mut().cast(), size_of_val(values));
        ozarr_memory { data, size, r#type: OZARR_INT32, ..Growing::empty() }
    }

    /// Another program has made the array longer, and has not told consolidated metadata of it.
    #[test]
    fn what_the_first_write_of_a_handle_covers_is_counted_by_the_document_and_not_by_consolidated_metadata() {
        static VALUES: [i32; 16] = [7; 16];
        let value = || (&raw const VALUES).cast();
        let write = |array: *const ozarr_array, number: usize| {
            let all = std::ptr::null();
            // SAFETY: the pointers are to what lives as long as the call.
            unsafe {
                match number {
                    0 => ozarr_array_fill(array, all, OZARR_INT32, value()),
                    1 => ozarr_array_write(array, OZARR_INT32, value(), 64),
                    2 => ozarr_array_write_ex(array, all, &memory(&VALUES)),
                    _ => ozarr_array_write_ex(array, &region(&-1, &1, &true), &memory(&VALUES[..1])),
                }
            }
        };
        for (i, expected) in [[7, 7], [7, 7], [7, 7], [0, 7]].into_iter().enumerate() {
            let root = TestFolder::new("first-write");
            let shared = Arc::new(LocalStore::open(&root, true, SyncMode::None).unwrap());
            let store = Store::from_shared(&Context::with_threads(1), shared, Mode::ReadWrite);
            let mut spec = Spec::new(DataType::Int32, &[10]).unwrap();
            spec.set_chunks(&[4]).unwrap();
            Array::create(&store, "g/a", &spec, Create::New).unwrap();
            Group::open(&store, "g").unwrap().consolidate().unwrap();
            let document = root.join("g/a/zarr.json");
            let text = std::fs::read_to_string(&document).unwrap().replace("\"shape\": [10]", "\"shape\": [16]");
            std::fs::write(&document, text).unwrap();
            let array = Group::open(&store, "g").unwrap().open_array("a").unwrap();
            assert_eq!(array.shape().as_slice(), [10], "from the consolidated metadata");
            let handle = ozarr_array::insert(array.clone()).unwrap();
            assert_eq!(write(handle, i), OZARR_OK, "{i}");
            drop(ozarr_array::close(handle, "array").unwrap());
            let found = [9, 15].map(|at| {
                let mut value = [0i32];
                let one = Selection::new(&[16], &[at], &[1], None).unwrap();
                let memory = Memory::of(&mut value, &[1], DataType::Int32);
                // SAFETY: the memory lives as long as the call.
                unsafe { array.read(&one, &memory).unwrap() };
                value[0]
            });
            assert_eq!(found, expected, "{i}");
        }
    }

    #[test]
    fn names_of_fields_may_have_points() {
        let field = |name: &str, data_type: DataType| Field { name: name.into(), offset: 0, element: data_type.into(), shape: vec![] };
        let make = |fields| DataType::Struct(Struct::packed(fields).unwrap());
        let inner = make(vec![field("c.d", DataType::Int8), field("c", DataType::Int16)]);
        let stored = make(vec![field("a.b", DataType::Float32), field("a", inner), field("a.b.c", inner)]);
        let found = |path| fields_of(stored, path).map(|fields| fields.into_iter().map(|f| f.name).collect::<Vec<_>>());
        for (path, names) in [
            ("a", &["a"][..]),
            ("a.b", &["a.b"]),
            ("a.c", &["a", "c"]),
            ("a.c.d", &["a", "c.d"]),
            ("a.b.c", &["a.b.c"]),
            ("a.b.c.c.d", &["a.b.c", "c.d"]),
        ] {
            assert_eq!(found(path).unwrap(), names, "{path}");
        }
        for path in ["", ".", "b", "a.", "a.c.", "a.b.d", ".a"] {
            assert_eq!(found(path).unwrap_err().kind(), ErrorKind::NotFound, "{path:?}");
        }
    }
}
