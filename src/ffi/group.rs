//! Groups

use super::array::simple_spec;
use super::context::default_context;
use super::dense::{contiguous, contiguous_of};
use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::text;
use super::types::{create, ozarr_array, ozarr_create_mode, ozarr_group, ozarr_spec, ozarr_type};
use crate::engine::Selection;
use crate::node::{Array, Group, Mode, Store};
use std::ffi::{c_char, c_void};
use std::ptr::null;

/// Creates a group at `location`, with the groups above it that are missing, up to the root. It has the
/// Zarr format of the group above it; 3 without one. `mode` says what to do if a node already exists
/// there.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`;
/// `OZARR_ERR_EXISTS`, `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_create(location: *const c_char, mode: ozarr_create_mode, out: *mut *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_create", new(out), texts(location), {
        let mode = create(mode)?;
        let (store, path) = Store::locate(&default_context()?, location, Mode::ReadWrite)?;
        Group::create(&store, &path, None, mode)
    })
}

/// Opens the group at `location`. `mode` `"r"` is for reading only, `"r+"` for reading and writing.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_READ_ONLY` where the store cannot be
/// written; `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there;
/// `OZARR_ERR_NODE_KIND` if an array is; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_open(location: *const c_char, mode: *const c_char, out: *mut *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_open", new(out), texts(location, mode), {
        let (store, path) = Store::locate(&default_context()?, location, Mode::parse(mode)?)?;
        Group::open(&store, &path)
    })
}

/// Creates a group at `path` below `group`, with the Zarr format of `group`. `path` may have several
/// names, `"a/b"`; groups in between that are missing are created.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
/// `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_create_group(
    group: *mut ozarr_group,
    path: *const c_char,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_group_create_group", new(out), handles(group), texts(path), {
        let path = group.child_path(path)?;
        Group::create(group.store(), &path, Some(group.format()), create(mode)?)
    })
}

/// Opens the group at `path` below `group`, in the mode of `group`. Consolidated metadata that `group`
/// was opened with are used; see the option `"consolidated"` of `ozarr_store_open_ex`. What they list is
/// opened without a look at its place: where an array is gone, or has another spelling of its name (in
/// Unicode form), its elements are the fill value. `ozarr_node_refresh` is `OZARR_ERR_NOT_FOUND` then.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if an array
/// is; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_open_group(
    group: *const ozarr_group,
    path: *const c_char,
    out: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_group_open_group", new(out), handles(group), texts(path), { group.open_group(path) })
}

/// Creates an array at `path` below `group` as `spec` says; `mode` as for `ozarr_array_create`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or choices that contradict each other;
/// `OZARR_ERR_STATE` for a specification without a shape; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
/// `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_create_array(
    group: *mut ozarr_group,
    path: *const c_char,
    spec: *const ozarr_spec,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_group_create_array", new(out), handles(group), texts(path), {
        let path = group.child_path(path)?;
        let spec = super::spec::snapshot(spec)?;
        Array::create(group.store(), &path, &spec, create(mode)?)
    })
}

/// Opens the array at `path` below `group`, in the group's mode. Consolidated metadata are used as by
/// `ozarr_group_open_group`.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if a group
/// is; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_open_array(
    group: *const ozarr_group,
    path: *const c_char,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_group_open_array", new(out), handles(group), texts(path), { group.open_array(path) })
}

/// Collects the metadata of everything below the group into one document, so that readers open the
/// hierarchy with one read (xarray looks for it). Call it again after nodes were added or changed. While a
/// series publishes, what its documents say at that moment is collected: variables may differ by steps
/// until it has published.
///
/// Errors: `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_consolidate(group: *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_consolidate", handles(group), { group.consolidate() })
}

/// Flushes and frees. The handle is gone, whatever the status says. A group of `ozarr_checkpoint_begin` is
/// ended by `ozarr_checkpoint_commit` instead: closing it gives the checkpoint up, and the status is still
/// `OZARR_OK`.
///
/// Errors: those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_close(group: *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_close", { ozarr_group::close(group, "group")?.close() })
}

/// Frees the handle; NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_free(group: *mut ozarr_group) {
    entry!("ozarr_group_free", else (), { ozarr_group::free(group, "group") })
}

/// Creates an array at `path` below `group` and writes it: `data` is contiguous, the last index
/// fastest, of `rank` dimensions `shape`. Chunks and compression are those of `ozarr_array_create`;
/// `OZARR_ERR_EXISTS` if a node is already there. The values are stored before the array is there: after a
/// kill or an error it has them, or does not exist. Of two processes that create it in an object store at the
/// same moment one is refused so, and the array may have the values of either, chunk by chunk.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_READ_ONLY`; `OZARR_ERR_RANK`; `OZARR_ERR_ARGUMENT` for a negative
/// length or an unknown type; `OZARR_ERR_TYPE`; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than the array
/// has; `OZARR_ERR_RANGE`; `OZARR_ERR_NODE_KIND` if a node above is an array; those of documents, chunks
/// and stores.
///
/// @param[in] shape array(rank)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_put(
    group: *mut ozarr_group,
    path: *const c_char,
    r#type: ozarr_type,
    rank: i32,
    shape: *const i64,
    data: *const c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_group_put", handles(group), {
        // SAFETY: a text and numbers as is said, by the function's contract.
        let (path, spec) = unsafe { (group.child_path(text(path, "path")?)?, simple_spec(r#type, rank, shape, null())?) };
        let memory = contiguous_of(spec.shape(), r#type, data.cast_mut(), size, "data")?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { Array::create_from(group.store(), &path, &spec, &memory) }.map(drop)
    })
}

/// Reads all of the array at `path` below `group` into `data`, as `ozarr_array_read` does.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND`, also for a checkpoint that was removed meanwhile, be
/// another one in its place or not (what `data` holds is not to be used then); `OZARR_ERR_NODE_KIND` if a
/// group is there; `OZARR_ERR_BUFFER_SIZE` for fewer bytes than needed; `OZARR_ERR_RANGE` for a value that
/// does not fit; `OZARR_ERR_ARGUMENT` and `OZARR_ERR_TYPE` for a `type` that does not fit; those of
/// documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_get(
    group: *const ozarr_group,
    path: *const c_char,
    r#type: ozarr_type,
    data: *mut c_void,
    size: usize,
) -> ozarr_status {
    entry!("ozarr_group_get", handles(group), texts(path), {
        let store = group.store_to_check()?;
        let array = group.open_array(path)?;
        let shape = array.shape();
        let memory = contiguous(&array, &shape, r#type, data, size)?;
        // SAFETY: `data` has `size` bytes, by the function's contract.
        unsafe { array.read(&Selection::all(&shape), &memory) }?;
        store.check_kept()
    })
}
