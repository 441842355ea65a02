//! Memory for large regions
//!
//! Fresh memory comes page by page: of an uncompressed read into memory that was just allocated most of the
//! time is the system's, for one fault every 4 KiB. A buffer of ozarr of 2 MiB or more begins at a multiple
//! of 2 MiB and asks for huge pages, which makes that 512 times fewer; the threads that read take them,
//! each where it reads to. docs/performance-memory.md has the gain. Any other memory works everywhere, too.

use super::entry;
use super::status::ozarr_status;
use super::strings::put;
use crate::error::bail;
use crate::node::buffer;
use std::ffi::c_void;

/// `ozarr_buffer_alloc`: ordinary pages, however large the buffer is.
pub const OZARR_BUFFER_SMALL_PAGES: u32 = 1;

/// Allocates at least `bytes` bytes, all 0, at the beginning of a page. `flags`: 0 or
/// `OZARR_BUFFER_SMALL_PAGES`. Free it by `ozarr_buffer_free` only. `OZARR_ERR_NO_MEMORY` if there is
/// not enough memory.
///
/// Errors: `OZARR_ERR_ARGUMENT` for another flag.
///
/// @param[out] out
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_buffer_alloc(bytes: usize, flags: u32, out: *mut *mut c_void) -> ozarr_status {
    entry!("ozarr_buffer_alloc", cleared(out), {
        if flags & !OZARR_BUFFER_SMALL_PAGES != 0 {
            bail!(Argument, "the argument `flags` is {flags}, expected 0 or OZARR_BUFFER_SMALL_PAGES");
        }
        let block = buffer::allocate(bytes, flags & OZARR_BUFFER_SMALL_PAGES != 0)?;
        // SAFETY: `out` points to room for a pointer.
        unsafe { put(block.cast(), out, "out") }
    })
}

/// Frees a buffer that no call is using. NULL is allowed. A pointer that is not a buffer of ozarr, or
/// was freed before, is left alone, and the thread's last error is `OZARR_ERR_INVALID_HANDLE`.
///
/// @param[in] buffer may be NULL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ozarr_buffer_free(buffer: *mut c_void) {
    entry!("ozarr_buffer_free", else (), { if buffer.is_null() { Ok(()) } else { buffer::free(buffer.cast()) } })
}
