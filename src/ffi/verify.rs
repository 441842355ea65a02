//! Verifying
//!
//! Looks for what is damaged in a hierarchy, and for what does not belong there: what the program
//! `ozarr verify` does.
//!
//! ```c
//! static ozarr_status report(void *user, ozarr_fault_kind kind, const char *key, const char *message,
//!                            int64_t bytes, bool repaired) {
//!     fprintf(stderr, "%s: %s\n", key, message);
//!     return OZARR_OK;
//! }
//!
//! ozarr_verified found = OZARR_VERIFIED_INIT;
//! if (ozarr_store_verify(store, "", 0, report, NULL, NULL, &found)) goto fail;
//! if (found.faults > 0) puts("not whole");
//! ```

use super::copy::{ozarr_progress_fn, tell};
use super::entry;
use super::host::call_back;
use super::status::{error_count, of_callback, ozarr_status};
use super::strings::number;
use super::structs::{counts, growing};
use super::types::ozarr_store;
use crate::error::{Result, bail, err};
use crate::node::{Fault, FaultKind, VerifyOptions};
use std::ffi::{CString, c_char, c_void};

/// `ozarr_store_verify`: lists the chunks, and reads none.
pub const OZARR_VERIFY_QUICK: u32 = 1;
/// `ozarr_store_verify`: mends what is certainly safe to mend, and nothing else: temporary files of
/// processes that are gone are removed, stale consolidated metadata are written anew.
pub const OZARR_VERIFY_REPAIR: u32 = 2;

/// What a fault is; later versions may add kinds.
pub type ozarr_fault_kind = i32;

/// A document or a chunk that is cut, has a wrong length or checksum, or cannot be decoded.
pub const OZARR_FAULT_KIND_DAMAGED: ozarr_fault_kind = 1;
/// The system or the server does not give an object, or a file and a folder are in each other's place.
pub const OZARR_FAULT_KIND_UNREADABLE: ozarr_fault_kind = 2;
/// A codec, data type or extension that this library lacks: nothing is known of these chunks.
pub const OZARR_FAULT_KIND_UNSUPPORTED: ozarr_fault_kind = 3;
/// A chunk beyond the array's shape, which shows when the array grows.
pub const OZARR_FAULT_KIND_OUTSIDE: ozarr_fault_kind = 4;
/// A key that is neither a document nor a chunk of a node.
pub const OZARR_FAULT_KIND_FOREIGN: ozarr_fault_kind = 5;
/// A temporary file that a writer has left, or has yet to rename; what a call that was interrupted has left to go on with; a file that was replaced or erased while it was open, as NFS, FUSE and SMB keep it.
pub const OZARR_FAULT_KIND_TEMPORARY: ozarr_fault_kind = 6;
/// Consolidated metadata that say something else than the documents.
pub const OZARR_FAULT_KIND_STALE: ozarr_fault_kind = 7;

/// Called for each fault: what it is; the key, or the path of the node; what was found there; how many
/// bytes are stored there, -1 where that is not known; whether it was mended. The texts are valid during
/// the call only. `OZARR_OK` continues; any other status ends the function, which then fails with it.
pub type ozarr_fault_fn = Option<
    unsafe extern "C" fn(
        user: *mut c_void,
        kind: ozarr_fault_kind,
        key: *const c_char,
        message: *const c_char,
        bytes: i64,
        repaired: bool,
    ) -> ozarr_status,
>;

/// What was looked at. Set it to `OZARR_VERIFIED_INIT` first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ozarr_verified {
    /// `sizeof(ozarr_verified)`; set by `OZARR_VERIFIED_INIT`.
    pub struct_size: usize,
    /// Nodes whose documents were read.
    pub nodes: i64,
    /// Chunks that were decoded; with `OZARR_VERIFY_QUICK`: listed.
    pub chunks: i64,
    /// Faults that were found and not mended.
    pub faults: i64,
    /// Faults that were mended.
    pub repaired: i64,
}
growing!(ozarr_verified: 40);

/// Looks through the node at `path` and all below it, and calls `each` with every fault: each document is
/// parsed, each stored chunk decoded whole, several at a time by the threads of the store's context. What
/// is stored counts: flush first what this process has written. A fault is no error: the status is
/// `OZARR_OK`, and `verified` counts. `flags` is a sum of `OZARR_VERIFY_...`, or 0. Where keys cannot be
/// listed, the nodes are those of consolidated metadata, and all chunks are looked for. `each`, and
/// `progress` with the chunks that are done of how many, are called in the calling thread, and may call
/// the library; both may be NULL. What is mended is durable with the next flush, as any change.
///
/// Errors: `OZARR_ERR_NAME`; `OZARR_ERR_NOT_FOUND` if there is no node at `path`; `OZARR_ERR_READ_ONLY`
/// for `OZARR_VERIFY_REPAIR` in a store that cannot be written; `OZARR_ERR_ARGUMENT` for unknown flags;
/// `OZARR_ERR_CALLBACK` and whatever `each` or `progress` returns; those of documents and stores.
///
/// @param[in] each,progress may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_store_verify(
    store: *mut ozarr_store,
    path: *const c_char,
    flags: u32,
    each: ozarr_fault_fn,
    progress: ozarr_progress_fn,
    user: *mut c_void,
    verified: *mut ozarr_verified,
) -> ozarr_status {
    entry!("ozarr_store_verify", fill(verified), handles(store), texts(path), {
        if flags & !(OZARR_VERIFY_QUICK | OZARR_VERIFY_REPAIR) != 0 {
            bail!(Argument, "`flags` is {flags}, expected a sum of OZARR_VERIFY_QUICK and OZARR_VERIFY_REPAIR");
        }
        let options = VerifyOptions { quick: flags & OZARR_VERIFY_QUICK != 0, repair: flags & OZARR_VERIFY_REPAIR != 0 };
        let mut told = |fault: &Fault| report(each, user, fault);
        let done = store.verify(path, options, &mut told, &mut |done, total| tell(progress, user, done, total))?;
        Ok(counts!(ozarr_verified { done: nodes, chunks, faults, repaired }))
    })
}

/// Calls the caller's function with a fault, if there is one.
fn report(each: ozarr_fault_fn, user: *mut c_void, fault: &Fault) -> Result<()> {
    let Some(each) = each else { return Ok(()) };
    let c_text = |text: &str| CString::new(text.replace('\0', "\\0")).map_err(|_| err!(Internal, "a text with a NUL"));
    let (key, message, bytes) = (c_text(&fault.key)?, c_text(&fault.message)?, fault.bytes.map_or(-1, number));
    let before = error_count();
    // SAFETY: the caller gave this function for such calls, and `user` with it; the texts live until it returns.
    let status = call_back(|| unsafe { each(user, kind(fault.kind), key.as_ptr(), message.as_ptr(), bytes, fault.repaired) });
    of_callback(status, "the function `each`", Some(before))
}

fn kind(kind: FaultKind) -> ozarr_fault_kind {
    match kind {
        FaultKind::Damaged => OZARR_FAULT_KIND_DAMAGED,
        FaultKind::Unreadable => OZARR_FAULT_KIND_UNREADABLE,
        FaultKind::Unsupported => OZARR_FAULT_KIND_UNSUPPORTED,
        FaultKind::Outside => OZARR_FAULT_KIND_OUTSIDE,
        FaultKind::Foreign => OZARR_FAULT_KIND_FOREIGN,
        FaultKind::Temporary => OZARR_FAULT_KIND_TEMPORARY,
        FaultKind::Stale => OZARR_FAULT_KIND_STALE,
    }
}
