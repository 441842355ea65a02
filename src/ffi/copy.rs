//! Copying
//!
//! A copy may have other chunks and shards, other codecs, another type or format. What is not said stays as
//! it is. With `OZARR_COPY_RAW` what is stored is copied as it is, key by key.
//!
//! ```c
//! static ozarr_status change(void *user, const char *path, ozarr_spec *spec) {
//!     const int64_t chunks[] = {512, 512, 512}, inner[] = {64, 64, 64};
//!     ozarr_status status = ozarr_spec_set_chunks(spec, chunks);
//!     return status ? status : ozarr_spec_set_inner_chunks(spec, inner);
//! }
//!
//! ozarr_copy_options options = OZARR_COPY_OPTIONS_INIT;
//! options.change = change;
//! if (ozarr_copy("run.zarr/temperature", "archive.zarr/temperature", &options)) goto fail;
//! ```

use super::context::default_context;
use super::entry;
use super::handle::Handle;
use super::host::call_back;
use super::spec::snapshot;
use super::status::{error_count, of_callback, ozarr_status};
use super::strings::{number, text};
use super::structs::{Growing, growing, read_struct};
use super::types::{Specification, create, format_of, overflow, ozarr_array, ozarr_create_mode, ozarr_overflow, ozarr_spec, ozarr_store};
use crate::error::{Result, bail, err};
use crate::metadata::Format;
use crate::node::{Mode, RechunkOptions, Spec, Store, path};
use std::ffi::{CString, c_char, c_void};

/// Copies every stored object as it is, several at a time; nothing else may be asked for but
/// `OZARR_COPY_VERIFY`.
pub const OZARR_COPY_RAW: u32 = 1;
/// With `OZARR_COPY_RAW`: reads everything again, and compares it with the source before the document of
/// the copy is written. An object that differs, as one that another program has changed meanwhile, is
/// copied once more; if it differs then, too, the error is `OZARR_ERR_CHECKSUM`.
pub const OZARR_COPY_VERIFY: u32 = 2;
/// Chunks whose bytes do not change become hard links to those of the source, where possible. From then on
/// no program may change them in place; ozarr never does.
pub const OZARR_COPY_LINK: u32 = 4;

/// Called repeatedly by functions that take long: `done` of `total` objects are done. `OZARR_OK`
/// continues; any other status ends the function, which then fails with it.
pub type ozarr_progress_fn = Option<unsafe extern "C" fn(user: *mut c_void, done: i64, total: i64) -> ozarr_status>;

/// Called for each array that is copied, with its `path` in the source's store and the specification
/// `spec` of its copy, which it may change. `spec` is freed afterwards. `OZARR_OK` continues; any other
/// status ends the copy, which then fails with it. `user` is that of the options.
pub type ozarr_copy_change_fn = Option<unsafe extern "C" fn(user: *mut c_void, path: *const c_char, spec: *mut ozarr_spec) -> ozarr_status>;

/// How a copy is made; begin with `OZARR_COPY_OPTIONS_INIT`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_copy_options {
    /// Its size in bytes.
    pub struct_size: usize,
    /// The format of all nodes: 2, 3, or 0 for the one that they have (drafts: 3). Arrays with names of
    /// dimensions keep what means "missing" to xarray: in format 2 it is the fill value, which becomes that
    /// of the attribute `_FillValue` or null, in format 3 `_FillValue`, which is added.
    pub zarr_format: i32,
    /// What to do if a node already exists: OZARR_CREATE_NEW or OZARR_CREATE_OVERWRITE. In folders what is
    /// overwritten stays until the copy is whole, so both need room; elsewhere it is erased first. Archives
    /// cannot erase: `OZARR_ERR_UNSUPPORTED`.
    pub mode: ozarr_create_mode,
    /// What to do with values that do not fit into another type.
    pub overflow: ozarr_overflow,
    /// A sum of `OZARR_COPY_...`, or 0.
    pub flags: u32,
    /// The memory to use, about, in bytes; 0 is 512 MiB. Twice the source's and the target's chunk (inner
    /// chunk) for a thread are needed in any case, and one whole chunk of a target without shards.
    pub memory: usize,
    /// Of a single array: what the copy is, as of `ozarr_array_copy_spec`. NULL: as the source is.
    pub spec: *const ozarr_spec,
    /// Changes what the copy of each array is; NULL: they are as the source is.
    pub change: ozarr_copy_change_fn,
    /// Called with the progress (chunks and nodes), in the calling thread; may be NULL.
    pub progress: ozarr_progress_fn,
    /// Given to both.
    pub user: *mut c_void,
}
growing!(ozarr_copy_options: 64);

/// Creates a specification that describes this array in the given format (2, 3; 0: the array's own): its
/// shape, chunks, codecs, fill value (but see `ozarr_copy_options.zarr_format`), names of dimensions and
/// attributes. Each can be changed on its own; a compressor, for example, replaces the compressor in the
/// list of codecs.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another format; those of documents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_copy_spec(array: *const ozarr_array, zarr_format: i32, out: *mut *mut ozarr_spec) -> ozarr_status {
    entry!("ozarr_array_copy_spec", new(out), handles(array), {
        let spec = array.spec(format(zarr_format)?)?;
        Ok(Specification::new(spec))
    })
}

/// Copies the array at `source`, or the group with all below it, to `dest`, where there is no node yet
/// (or see `mode`). `options` may be NULL. Shapes stay; of a dataset whose series publishes steps
/// meanwhile all variables get the steps that the shortest one has, by its consolidated metadata:
/// without them (`"consolidate"` `"never"`) the lengths may differ. Consolidated metadata are copied;
/// where the source has none, `ozarr_group_consolidate` makes those of the copy (xarray warns without).
/// Where another program removes a checkpoint, or an array or its last elements, that is being copied,
/// the error is `OZARR_ERR_AGAIN`; also where a run is begun again behind an earlier step, as
/// `ozarr_series_open` does, and comes as far as before: the copy would have steps of both. That is
/// noticed in object stores with conditional puts, and in folders with locks, unless the run had been
/// closed before the copy began (or the caller may not write there) and is closed again when it ends.
/// Programs that cut arrays without a series, and make them as long again, are not noticed. Chunks of
/// nothing but the fill value are not stored. They are in format 2 where the array has names of
/// dimensions and its fill value is not NaN: it has no fill value there, which xarray would take for
/// missing. Each chunk or shard of the target is written once, whole; chunks whose bytes do not change are
/// copied as they are. Nothing is written unless every node can be copied. A metadata document is written
/// after the data that it describes, that of `dest` last: an interrupted copy is not a node, and repeating
/// the call starts it anew. Where it was interrupted behind that document, as the message of an error
/// says, the same call completes it, unless that would make another copy of `source` by now. An archive
/// keeps what was put into it: remove the file before the call is repeated, after a kill, too. Files that
/// other programs keep beside the nodes, such as tables, are no part of Zarr: they are left out, unless by
/// `OZARR_COPY_RAW`. The log is told of them, and of all else that could not be kept, such as a missing
/// value that the type of the copy does not have (`ozarr_context_set_log`).
///
/// Errors: `OZARR_ERR_LOCATION`, `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NOT_FOUND`
/// if there is no source; `OZARR_ERR_AGAIN` (see above); `OZARR_ERR_NODE_KIND`; `OZARR_ERR_READ_ONLY`;
/// `OZARR_ERR_RANGE` for a value that does not fit; `OZARR_ERR_TYPE`; `OZARR_ERR_CHECKSUM` (see
/// OZARR_COPY_VERIFY); `OZARR_ERR_ARGUMENT` for options that contradict each other; `OZARR_ERR_UNSUPPORTED`
/// for a source on a web server that is no archive: its keys cannot be listed; `OZARR_ERR_CALLBACK`
/// and whatever a function of `options` returns; those of documents, chunks and stores.
///
/// @param[in] options may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_copy(source: *const c_char, dest: *const c_char, options: *const ozarr_copy_options) -> ozarr_status {
    entry!("ozarr_copy", texts(source, dest), {
        let (from, path) = Store::locate(&default_context()?, source, Mode::Read)?;
        let (to, to_path) = Store::locate(&default_context()?, dest, Mode::ReadWrite)?;
        // SAFETY: NULL or options, by the function's contract.
        unsafe { copy((&from, &path), (&to, &to_path), options) }?;
        // Nobody else has a handle on it by which NCZarr's keys would come to name the copy.
        to.close(None)
    })
}

/// Copies as `ozarr_copy` does, from `path` in one open store to `dest_path` in another, or in the same
/// store.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS` (see above); `OZARR_ERR_NOT_FOUND` if there is no
/// source; `OZARR_ERR_AGAIN` (see above); `OZARR_ERR_NODE_KIND`; `OZARR_ERR_READ_ONLY`;
/// `OZARR_ERR_RANGE` for a value that does not fit; `OZARR_ERR_TYPE`; `OZARR_ERR_CHECKSUM` (see
/// OZARR_COPY_VERIFY); `OZARR_ERR_ARGUMENT` for options that contradict each other;
/// `OZARR_ERR_CALLBACK` and whatever a function of `options` returns; those of documents, chunks and
/// stores.
///
/// @param[in] options may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_copy_at(
    store: *const ozarr_store,
    path: *const c_char,
    dest_store: *mut ozarr_store,
    dest_path: *const c_char,
    options: *const ozarr_copy_options,
) -> ozarr_status {
    entry!("ozarr_copy_at", handles(store, dest_store), {
        let (from, to) = (store, dest_store);
        // SAFETY: NUL-terminated texts, by the function's contract.
        let (path, to_path) = unsafe { (text(path, "path")?, text(dest_path, "dest_path")?) };
        // SAFETY: as for `ozarr_copy`.
        unsafe { copy((&from, path), (&to, to_path), options) }
    })
}

/// # Safety
/// `options` is NULL or points to options, whose functions may be called with their `user`.
unsafe fn copy(from: (&Store, &str), to: (&Store, &str), options: *const ozarr_copy_options) -> Result<()> {
    // SAFETY: NULL or options, by the caller's promise.
    let given = if options.is_null() { ozarr_copy_options::empty() } else { unsafe { read_struct(options, "options") }? };
    let mut progress = |done, total| tell(given.progress, given.user, done, total);
    if let Some(verify) = raw(&given)? {
        return from.0.copy_node(from.1, to, create(given.mode)?, verify, &mut progress);
    }
    let rechunk = RechunkOptions {
        format: format(given.zarr_format)?,
        memory: given.memory as u64,
        link: given.flags & OZARR_COPY_LINK != 0,
        how: create(given.mode)?,
        overflow: overflow(given.overflow)?,
    };
    let spec = if given.spec.is_null() { None } else { Some(snapshot(given.spec)?) };
    let root = path::normalize(from.1)?;
    let mut change = |path: &str, target: &mut Spec| {
        if let Some(spec) = &spec {
            if path != root {
                bail!(Argument, "found `options`->spec for a group, expected the copy of one array; use `change`");
            }
            target.clone_from(spec);
        }
        changed(&given, path, target)
    };
    to.0.tell(&from.0.rechunk_node(from.1, to, rechunk, &mut change, &mut progress)?.notes);
    Ok(())
}

/// Whether objects are copied as they are, and then whether they are compared; checks the flags.
fn raw(options: &ozarr_copy_options) -> Result<Option<bool>> {
    let has = |flag: u32| options.flags & flag != 0;
    if has(!(OZARR_COPY_RAW | OZARR_COPY_VERIFY | OZARR_COPY_LINK)) {
        bail!(Argument, "`options`->flags is {}, expected a sum of OZARR_COPY_RAW, OZARR_COPY_VERIFY and OZARR_COPY_LINK", options.flags);
    }
    if !has(OZARR_COPY_RAW) {
        if has(OZARR_COPY_VERIFY) {
            bail!(Argument, "`options`->flags has OZARR_COPY_VERIFY, expected OZARR_COPY_RAW with it");
        }
        return Ok(None);
    }
    let changes = options.zarr_format != 0 || options.overflow != 0 || !options.spec.is_null() || options.change.is_some();
    if changes || has(OZARR_COPY_LINK) {
        bail!(Argument, "`options` has OZARR_COPY_RAW and what changes the copy, expected OZARR_COPY_VERIFY at most");
    }
    Ok(Some(has(OZARR_COPY_VERIFY)))
}

/// Lets the caller change what a copy is.
fn changed(options: &ozarr_copy_options, path: &str, target: &mut Spec) -> Result<()> {
    let Some(change) = options.change else { return Ok(()) };
    let path = CString::new(path).map_err(|_| err!(Name, "the path {path:?} holds a NUL"))?;
    let handle = ozarr_spec::insert(Specification::new(target.clone()))?;
    let before = error_count();
    // SAFETY: the caller gave this function for such calls, and `user` with it; the texts live until it returns.
    let status = call_back(|| unsafe { change(options.user, path.as_ptr(), handle) });
    let wanted = snapshot(handle);
    // One that the function freed by itself is no more to be had.
    let _ = ozarr_spec::free(handle, "spec");
    of_callback(status, "the function `change`", Some(before))?;
    *target = wanted?;
    Ok(())
}

/// Calls the caller's function, if there is one.
pub(super) fn tell(progress: ozarr_progress_fn, user: *mut c_void, done: u64, total: u64) -> Result<()> {
    let Some(progress) = progress else { return Ok(()) };
    let before = error_count();
    // SAFETY: the caller gave this function for such calls, and `user` with it.
    let status = call_back(|| unsafe { progress(user, number(done), number(total)) });
    of_callback(status, "the function `progress`", Some(before))
}

/// The format of a number from C; `None` for 0.
fn format(raw: i32) -> Result<Option<Format>> {
    if raw == 0 { Ok(None) } else { format_of(raw).map(Some) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DataType;
    use crate::error::ErrorKind;
    use crate::ffi::types::OZARR_UINT8;
    use crate::node::{Array, Context, Create, Format, Group, Level, Log, Settings};
    use crate::store::suite::TestFolder;
    use std::sync::{Arc, Mutex};

    #[test]
    fn netcdf_finds_what_was_copied_to_a_location() {
        let folder = TestFolder::new("copy-named");
        let location = |name: &str| CString::new(folder.join(name).to_str().unwrap()).unwrap();
        let open = || Store::open(&default_context().unwrap(), location("n.zarr").to_str().unwrap(), Mode::ReadWrite, &[]).unwrap();
        Group::create(&open(), "", Some(Format::V2), Create::New).unwrap();
        let members = r#"{"_nczarr_superblock":{"version":"2.0.0"},"_nczarr_group":{"dimensions":{},"arrays":["a"],"groups":[]}}"#;
        open().key_put(".zattrs", members.as_bytes()).unwrap();
        let mut spec = Spec::new(DataType::Int8, &[2]).unwrap();
        spec.set_format(Format::V2).unwrap();
        Array::create(&open(), "a", &spec, Create::New).unwrap();
        for (name, flags) in [("b", 0), ("c", OZARR_COPY_RAW)] {
            let options = ozarr_copy_options { flags, ..Growing::empty() };
            // SAFETY: NUL-terminated texts, and options.
            let status = unsafe { ozarr_copy(location("n.zarr/a").as_ptr(), location(&format!("n.zarr/{name}")).as_ptr(), &options) };
            assert_eq!(status, 0);
            let text = String::from_utf8(open().key_get(".zattrs").unwrap().unwrap()).unwrap();
            let text: String = text.split_whitespace().collect();
            assert!(text[text.find("\"arrays\"").unwrap()..].contains(&format!("\"{name}\"")), "{text}");
        }
    }

    #[test]
    fn a_path_names_the_array_of_a_specification_however_it_is_written() {
        let store = Store::memory(&default_context().unwrap());
        Array::create(&store, "g/a", &Spec::new(DataType::Int8, &[2]).unwrap(), Create::New).unwrap();
        let spec = ozarr_spec::insert(Specification::new(Array::open(&store, "g/a").unwrap().spec(None).unwrap())).unwrap();
        for (path, to) in [("/g/a/", "b"), ("g//a", "c"), ("g\\a", "d")] {
            let options = ozarr_copy_options { spec, ..Growing::empty() };
            // SAFETY: options, whose functions are NULL.
            unsafe { copy((&store, path), (&store, to), &options) }.unwrap_or_else(|e| panic!("{path}: {e}"));
            // SAFETY: as above.
            let of_group = unsafe { copy((&store, "g"), (&store, "e"), &options) };
            assert_eq!(of_group.unwrap_err().kind(), ErrorKind::Argument);
        }
        let _ = ozarr_spec::free(spec, "spec");
    }

    #[test]
    fn what_a_copy_could_not_keep_is_told_to_the_log() {
        unsafe extern "C" fn halve(_: *mut c_void, _: *const c_char, spec: *mut ozarr_spec) -> ozarr_status {
            // SAFETY: the handle that a copy gives.
            unsafe { super::super::spec::ozarr_spec_set_type(spec, OZARR_UINT8) }
        }
        let lines = Arc::new(Mutex::new(Vec::new()));
        let told = lines.clone();
        let log = Some(Log { level: Level::Warning, call: Arc::new(move |_, text: &str| told.lock().unwrap().push(text.to_string())) });
        let store = Store::memory(&Context::default().with_settings(Settings { log, ..Settings::default() }));
        let mut spec = Spec::new(DataType::Int16, &[2]).unwrap();
        spec.set_attributes_json(r#"{"missing_value":-999}"#).unwrap();
        Array::create(&store, "a", &spec, Create::New).unwrap();
        let options = ozarr_copy_options { change: Some(halve), ..Growing::empty() };
        // SAFETY: options, whose function may be called.
        unsafe { copy((&store, "a"), (&store, "b"), &options) }.unwrap();
        let lines = lines.lock().unwrap();
        assert!(matches!(&lines[..], [line] if line.contains("missing_value -999 is no value of uint8")), "{lines:?}");
    }
}
