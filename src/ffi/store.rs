//! Stores
//!
//! Locations are enough for most programs. A store handle saves opening one location again for each of
//! many nodes, reaches nodes by their path in it, and is the only way to a hierarchy in memory.
//!
//! A zip archive (`x.zip`, `x.ozx`, or `zip:` and any path) is a store, too. It is written by appending,
//! so it cannot erase, nor shrink or overwrite a node; and others can read it only after a flush or
//! close, each of which writes a directory of all keys: use one store handle for many nodes. (Those that
//! newer ones made useless take at most as much room as what is stored, in archives that ozarr made and
//! that have no comment.) The last
//! handle that is freed without that finishes the archive, too, but cannot say whether it worked; after a
//! kill see `ozarr_zip_repair`. A handle that only reads a file sees what others flush into it when it
//! reads metadata again (`ozarr_node_refresh`, the functions that wait for growth), takes them from an
//! export, or looks for a chunk that it does not know. One that is open for writing does not: if another
//! program has changed the file, its first write, and the first after a flush, is `OZARR_ERR_CONFLICT`.
//! The handles of a process that write to an archive share the strictest of their options. Where an
//! archive has all in one folder that is a node, that folder is the root; a location may name it, too.
//!
//! An object store or web server is a location like any other: `s3://bucket/run.zarr`, `gs://`,
//! `az://container/run.zarr`, `abfs://container@account/run.zarr`, `https://host/run.zarr`. Credentials
//! are taken from the options below, else from the environment and the files of the service's own tools
//! (`AWS_...` and `~/.aws`, `GOOGLE_...`, `AZURE_...`), all of them from the first of these that has
//! some. Who is sent them is said by options, or by the location and the environment: keys of `AZURE_...`
//! are for the account that the environment names, else for that of the location; its tokens, and those
//! that are got by it or for a machine, are for all accounts. Both are sent to Azure's own hosts, the host
//! that the environment names and that of `"cloud.endpoint"`, and to no other that a location names. They
//! are read when a handle's store is reached first; where S3 says that they have expired, the AWS tools'
//! files are read again, and what was renewed there is used from then on. Without credentials requests are
//! not signed, as public buckets need none.
//! The variable `OZARR_CLOUD_OPTIONS` may hold options as JSON, for calls that take none. Its credentials
//! are of no effect where a call has some. What only another service knows is of no effect, either, nor an
//! endpoint or a token beside it; web servers are sent none of its tokens. An `"endpoint"` beside options of
//! the location's service and of another one is an error: name it as `"aws_endpoint_url"`,
//! `"azure_storage_endpoint"` or `"google_base_url"`. Unless an option names the
//! endpoint, its keys for Azure go to the account that it names, if it names one, and keys and tokens to
//! the hosts as above only.
//! The variables that name an endpoint are `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` (also of the service
//! that gives out keys for a web identity, if `AWS_ENDPOINT_URL_STS` does not), `AZURE_STORAGE_ENDPOINT`,
//! `AZURE_STORAGE_CONNECTION_STRING`, `GOOGLE_BASE_URL` and `STORAGE_EMULATOR_HOST` (which is asked
//! without a signature, unless an option has a credential); a host in the location goes before them.
//! Redirections of reads are followed; another host is sent no credentials, no key of yours to encrypt
//! with and no `Referer`. A service on the machine or its link that gives out the machine's credentials is
//! asked without a proxy. Web servers are read by keys and cannot list.
//! Only 404 and 410 mean that a chunk is missing; every other failure is an error, after tries within
//! the deadline. A library that was built without the feature `cloud` answers such a location with
//! `OZARR_ERR_UNSUPPORTED`.
//!
//! A path in a store is made of node names separated by `/`, without one in front (`"run/temperature"`);
//! the empty text is the root.

use super::context::{context_of, default_context};
use super::entry;
use super::handle::Handle;
use super::status::ozarr_status;
use super::strings::text;
use super::types::{
    create, format_of, node_kind, ozarr_array, ozarr_context, ozarr_create_mode, ozarr_group, ozarr_node_kind, ozarr_spec, ozarr_store,
};
use crate::error::{Result, bail};
use crate::node::{Array, Group, Mode, Store};
use std::ffi::c_char;

/// The most options that one call takes.
const MAX_OPTIONS: usize = 64;

/// Opens the store at `location` (here, the whole of it is the root). `mode` `"r"` is for reading only;
/// `"r+"` is for reading and writing, and creates the store (a directory, say) with the first write.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another `mode`; `OZARR_ERR_LOCATION`; `OZARR_ERR_READ_ONLY` where
/// the store cannot be written; `OZARR_ERR_UNSUPPORTED` for a service that this build does not have;
/// `OZARR_ERR_NOT_FOUND` for reading an archive that is not there; those of stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_open(location: *const c_char, mode: *const c_char, out: *mut *mut ozarr_store) -> ozarr_status {
    entry!("ozarr_store_open", new(out), texts(location, mode), { Store::open(&default_context()?, location, Mode::parse(mode)?, &[]) })
}

/// Opens a store as `ozarr_store_open` does, with settings (`context`, or NULL) and options (NULL, or
/// key, value, key, value, ..., NULL):
///
/// - `"file.sync"`: when files are made durable against a power cut. `"batch"` (the default): what is
///   replaced at once, what is new at flush or close; `"each"`: everything at once; `"none"`: left to the
///   system. Against a kill of the process everything stored is whole in any case.
/// - `"file.lock"`: whether processes that change parts of one chunk, or one node's metadata, at the same
///   time are kept apart by locks of the file system (Lustre needs the mount option `flock`; with
///   `localflock` locks hold on one machine only). `"try"` (the default): where it has locks; where it
///   refuses one, the change is made without, and the log of the context is told once. `"require"`: such a
///   change fails with `OZARR_ERR_IO`, and `ozarr_last_error_info` has the key and the system's errno.
///   `"none"`: the program itself sees to it that no two processes change one chunk or one node.
/// - `"file.publish"`: when a directory that does not exist yet appears. `"put"` (the default): when the
///   first value is stored. `"flush"`: whole, by the first flush or close of the store or of a node in it;
///   it is made beside its place under a hidden name, its files are stored faster, and no thread may read
///   what another one stores at the moment. Without a flush it is removed when the last handle is freed,
///   after a kill when the same directory is made again; on a file system of a network (NFS, Lustre, FUSE,
///   ...) only on the same machine (in the same container), and before that is started anew: else
///   `ozarr verify` tells of it, and it can be removed by hand. If somebody else makes the directory
///   meanwhile, the flush fails with `OZARR_ERR_EXISTS`; in a child of `fork` with `OZARR_ERR_FORKED`
///   until the parent has flushed. In the directory of a group, and where others are
///   making the same one, it appears as with `"put"`. In an object store without a root the document of
///   the root alone waits for that flush: nobody finds the root before all that was made until then, and
///   what a kill leaves has none.
/// - `"consolidated"`: `"auto"` (the default) opens and lists what is below a group from the group's
///   consolidated metadata, if it has any, as they were when the group was opened; a change through this
///   process ends that. `"never"` reads every node's own document.
/// - `"consolidate"`: when consolidated metadata are written without `ozarr_group_consolidate`.
///   `"named"` (the default): when the store, a group, or an array that was created by its location is
///   closed, for the root and for each group in which arrays with named dimensions were made (xarray
///   warns without them), and, if it can be done, of what may be left of a killed run: for those above an
///   array that `OZARR_CREATE_OPEN_IF_SAME` found, and for a root without any above a dataset that grows or
///   is defined again; `"close"`: at these times for nodes of any kind; `"flush"`: as
///   `"close"`, and by `ozarr_store_flush`; `"step"`: with the first change, and in step with every further
///   one; `"never"`. Those that are there already are kept in step with every change in any case, except
///   that with `"flush"` changes wait until then, so that readers see all of them at once.
/// - `"nczarr"`: when netCDF-C's own keys of format 2 (`_nczarr_group` and its like) are written: at the
///   times of `"consolidate"`, `"keep"` (the default) where the root has them, for netCDF-C finds nodes by
///   them; `"on"` in every hierarchy of format 2, and arrays of types that netCDF does not have are an
///   error; `"off"` never. Nodes of format 3 have no such keys: `"on"` with the option `"zarr_format"` of
///   `"3"` is an error, and does nothing for those that are created as 3.
/// - `"zarr_format"`: `"2"` or `"3"` sees nodes of that version only; `"auto"` (the default) sees both,
///   and v3 where both exist.
/// - `"dimension_separator"`: `"."` or `"/"`, of the chunks' keys of v2 arrays whose metadata do not
///   say; `"auto"` (the default) takes `"."`, unless chunks are found in directories.
/// - `"bytes_fill"`: `"text"` takes the fill values of bytes of a fixed length in v2 metadata for the text
///   itself, where that fits, as netCDF-C without its own keys, R and Julia write them; `"base64"` is the
///   default, and what the specification says. Metadata that tell their writer need no option.
/// - `"empty_chunks"`: `"missing"` takes chunks of no bytes for missing ones; `"error"` is the default.
/// - `"clipped_chunks"`: `"read"` reads chunks at the edge that were stored without their part outside of
///   the array; `"error"` is the default.
/// - `"checksums"`: `"ignore"` reads chunks whose checksums do not match; `"verify"` is the default.
/// - `"unknown_members"`: `"ignore"` reads v3 nodes with metadata that must be understood and are not (the
///   data may be other than they seem); `"error"` is the default.
///
/// For object stores and web servers (they are checked, and of no effect, for other locations):
///
/// - `"cloud.endpoint"`: the URL of a server that speaks the service's language (MinIO, Ceph, ...).
///   `"cloud.region"`; `"cloud.path_style"`: `"false"` has the bucket in the host's name.
/// - `"cloud.access_key_id"`, `"cloud.secret_access_key"`, `"cloud.session_token"` (S3);
///   `"cloud.profile"`, `"cloud.credentials_file"`: of the AWS tools (a profile that has a role or a sign-on,
///   or a process and no keys in the credentials file, is an error that says so); `"cloud.account_name"`,
///   `"cloud.account_key"`, `"cloud.sas_token"` (Azure); `"cloud.service_account"`: a file (Google);
///   `"cloud.bearer_token"`. `"cloud.anonymous"`: `"true"` or `"false"`; `"auto"` (the default) signs
///   requests where credentials are found. No message shows a credential.
/// - `"cloud.deadline"`: seconds for one operation with all its tries (300; a second more for each 64
///   KiB); `"cloud.connect_timeout"` (10), `"cloud.idle_timeout"` (30): seconds, the latter of silence,
///   and a second more for each 64 KiB on their way to the server (64 at most); `"cloud.retries"` (10).
///   A host that has never answered, because its name is not known, no server listens there, or what does
///   ends each connection within the TLS handshake, is tried 3 times at most; a certificate or a proxy
///   that refuses, once.
/// - `"cloud.requests"` (64): the most requests of this store in flight at once; `"cloud.bytes"`
///   (67108864): the most bytes of one call in flight, not of all calls at the same time: what was asked
///   for and is not yet decoded, or encoded and not yet stored. A chunk that is larger goes alone; a put
///   takes about three times its bytes of memory. `"cloud.merge_gap"` (1048576): ranges with at most this
///   many bytes between them are read as one; `"cloud.part_size"` (16777216): larger values that copying
///   and rechunking store are put in parts of this many bytes, and behind the first 5,000 in longer ones,
///   as services take 10,000 parts. What is written is one put for each chunk or shard, and S3 takes at
///   most 5 GiB in one.
/// - `"cloud.ca_file"`: a PEM file of certificates that are trusted besides the system's, which
///   `SSL_CERT_FILE` and `SSL_CERT_DIR` replace (S3: also the variable `AWS_CA_BUNDLE`).
/// - `"cloud.proxy"`: a URL, `"http://user:password@host:port"` (else the variables `HTTP_PROXY`,
///   `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`); `"cloud.allow_http"`: `"true"` allows endpoints without TLS
///   (on this machine they are); `"cloud.user_agent"`.
/// - `"cloud.conditional_put"`: whether the server keeps conditions of puts, by which processes that change
///   one node's metadata or parts of one chunk at the same time lose nothing. `"auto"` (the default) finds
///   out; where it does not, changes are made all the same, and the log of the context is told once.
///   `"require"`: they fail with `OZARR_ERR_UNSUPPORTED` there. `"always"`: it does; `"never"`: it does not,
///   and conditions are not used.
/// - `"cloud.forbidden"`: `"missing"` takes a key that the server forbids to read for a missing one,
///   because S3 reports missing keys as forbidden when the caller may not list the bucket; `"error"` is
///   the default.
/// - `"cloud.options"`: a JSON object with any of these (without `cloud.`), and with what else the crate
///   `object_store` knows of the service.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown option or value; `OZARR_ERR_LOCATION`;
/// `OZARR_ERR_READ_ONLY` where the store cannot be written; `OZARR_ERR_UNSUPPORTED` for a service
/// that this build does not have; `OZARR_ERR_NOT_FOUND` for reading an archive that is not there;
/// those of stores.
///
/// @param[in] context may be NULL
/// @param[in] options array(NULL), may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_open_ex(
    context: *const ozarr_context,
    location: *const c_char,
    mode: *const c_char,
    options: *const *const c_char,
    out: *mut *mut ozarr_store,
) -> ozarr_status {
    entry!("ozarr_store_open_ex", new(out), {
        let context = context_of(context)?;
        // SAFETY: NUL-terminated texts, and a list of such texts with a NULL at its end, by the function's contract.
        let (location, mode, options) = unsafe { (text(location, "location")?, text(mode, "mode")?, options_of(options)?) };
        Store::open(&context, location, Mode::parse(mode)?, &options)
    })
}

/// Creates an empty store in memory. Its content is kept as long as any handle on it: the store's, a
/// group's or an array's.
///
/// Errors: none of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_memory(out: *mut *mut ozarr_store) -> ozarr_status {
    entry!("ozarr_store_memory", new(out), { Ok(Store::memory(&default_context()?)) })
}

/// Creates the array `path` as `spec` says, with the groups above it that are missing; `mode` as for
/// `ozarr_array_create`.
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or choices that contradict each other;
/// `OZARR_ERR_STATE` for a specification without a shape; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
/// `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_create_at(
    store: *mut ozarr_store,
    path: *const c_char,
    spec: *const ozarr_spec,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_array,
) -> ozarr_status {
    entry!("ozarr_array_create_at", new(out), handles(store), texts(path), {
        let spec = super::spec::snapshot(spec)?;
        Array::create(&store, path, &spec, create(mode)?)
    })
}

/// Opens the array `path`, in the store's mode.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if a group
/// is; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_array_open_at(store: *const ozarr_store, path: *const c_char, out: *mut *mut ozarr_array) -> ozarr_status {
    entry!("ozarr_array_open_at", new(out), handles(store), texts(path), { Array::open(&store, path) })
}

/// Creates the group `path`, with the groups above it that are missing. `zarr_format` is 2, 3, or 0 for
/// that of the group above it (3 without one).
///
/// Errors: `OZARR_ERR_ARGUMENT` for an unknown mode or format; `OZARR_ERR_NAME`; `OZARR_ERR_EXISTS`,
/// `OZARR_ERR_AGAIN` (see `mode`); `OZARR_ERR_NODE_KIND` if a node above is an array;
/// `OZARR_ERR_READ_ONLY`; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_create_at(
    store: *mut ozarr_store,
    path: *const c_char,
    zarr_format: i32,
    mode: ozarr_create_mode,
    out: *mut *mut ozarr_group,
) -> ozarr_status {
    entry!("ozarr_group_create_at", new(out), handles(store), texts(path), {
        let format = if zarr_format == 0 { None } else { Some(format_of(zarr_format)?) };
        Group::create(&store, path, format, create(mode)?)
    })
}

/// Opens the group `path`, in the store's mode.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_NODE_KIND` if an array
/// is; those of documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_group_open_at(store: *const ozarr_store, path: *const c_char, out: *mut *mut ozarr_group) -> ozarr_status {
    entry!("ozarr_group_open_at", new(out), handles(store), texts(path), { Group::open(&store, path) })
}

/// Gets the kind of the node at `path`: an array, a group, a node that cannot be understood, or nothing
/// (which is not an error).
///
/// Errors: `OZARR_ERR_NAME`; those of stores.
///
/// @param[out] kind
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_node_kind(store: *const ozarr_store, path: *const c_char, kind: *mut ozarr_node_kind) -> ozarr_status {
    entry!("ozarr_store_node_kind", put(kind), handles(store), texts(path), { Ok(node_kind(store.node_kind(path)?)) })
}

/// Erases the node at `path`, with everything below it. What an interrupted copy, migration or erasing has
/// left there goes as well.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if nothing is there; `OZARR_ERR_AGAIN` while a
/// series is open in it (see `OZARR_CREATE_OVERWRITE`); `OZARR_ERR_READ_ONLY`; those of
/// documents and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_node_erase(store: *mut ozarr_store, path: *const c_char) -> ozarr_status {
    entry!("ozarr_store_node_erase", handles(store), texts(path), { store.erase_node(path) })
}

/// Makes everything durable that was written through any handle on this store, and stores before what
/// waits in its arrays (the setting `"write_back"`). What an appender, a series or a shard writer has taken
/// is stored by its own functions. For a zip archive: writes its directory, without which others cannot
/// read it.
///
/// Errors: those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_flush(store: *mut ozarr_store) -> ozarr_status {
    entry!("ozarr_store_flush", handles(store), { store.flush_all() })
}

/// Flushes and frees. The handle is gone, whatever the status says. What groups and arrays that stay open
/// change afterwards is told above (see the option `"consolidate"`) when they are flushed or closed.
///
/// Errors: those of documents, chunks and stores.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_close(store: *mut ozarr_store) -> ozarr_status {
    entry!("ozarr_store_close", {
        let store = ozarr_store::close(store, "store")?;
        store.let_go();
        store.close(None)
    })
}

/// Frees the handle; NULL is allowed. Groups and arrays that were opened from it stay usable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_free(store: *mut ozarr_store) {
    entry!("ozarr_store_free", else (), {
        if !store.is_null() {
            ozarr_store::close(store, "store")?.let_go();
        }
        Ok(())
    })
}

/// Pairs of key and value, up to a NULL.
///
/// # Safety `options` is NULL or points to NUL-terminated texts with a NULL after the last; they live as
/// long as the result is used.
unsafe fn options_of<'a>(options: *const *const c_char) -> Result<Vec<(&'a str, &'a str)>> {
    let mut pairs = Vec::new();
    if options.is_null() {
        return Ok(pairs);
    }
    loop {
        // SAFETY: all entries before this one were not NULL, so it is still within the list.
        let key = unsafe { options.add(2 * pairs.len()).read() };
        if key.is_null() {
            return Ok(pairs);
        }
        if pairs.len() == MAX_OPTIONS {
            bail!(Argument, "found more than {MAX_OPTIONS} `options`: is the NULL missing at the end?");
        }
        // SAFETY: not NULL, hence a NUL-terminated text, and another entry follows it.
        let (key, value) = unsafe { (text(key, "options")?, options.add(2 * pairs.len() + 1).read()) };
        if value.is_null() {
            bail!(Argument, "the option {key:?} in `options` has no value");
        }
        // SAFETY: not NULL, hence a NUL-terminated text.
        pairs.push((key, unsafe { text(value, "options") }?));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null;

    #[test]
    fn options_are_pairs_up_to_a_null() {
        let all = [c"a".as_ptr(), c"1".as_ptr(), c"b".as_ptr(), c"2".as_ptr(), null()];
        // SAFETY: lists of texts that end in NULL.
        unsafe {
            assert_eq!(options_of(all.as_ptr()).unwrap(), [("a", "1"), ("b", "2")]);
            assert_eq!(options_of(null()).unwrap(), []);
            assert_eq!(options_of(all[4..].as_ptr()).unwrap(), []);
            let odd = [c"a".as_ptr(), null()];
            assert!(options_of(odd.as_ptr()).unwrap_err().message().contains("\"a\""));
        }
    }
}
