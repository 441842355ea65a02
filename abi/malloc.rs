//! `malloc` and its family as all code in the archive calls them: the system's, and the reserve where it has no memory. The linker puts these
//! in their place (cmake/cargo.cmake). So what asks the system itself has a reserve, too: the standard library for its threads and for the
//! destructors of their variables, for which it ends the process otherwise, and the codecs in C.
//!
//! Small blocks only: what asks for more looks whether it got it.

use ozarr::reserve;
use std::ffi::c_void;
use std::ptr::null_mut;

unsafe extern "C" {
    fn __real_malloc(size: usize) -> *mut c_void;
    fn __real_calloc(number: usize, size: usize) -> *mut c_void;
    fn __real_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn __real_free(block: *mut c_void);
    fn malloc_usable_size(block: *mut c_void) -> usize;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_malloc(size: usize) -> *mut c_void {
    // SAFETY: the caller's promise is the system's.
    let block = unsafe { __real_malloc(size) };
    if block.is_null() { reserve::take_small(size).cast() } else { block }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_calloc(number: usize, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise is the system's.
    let block = unsafe { __real_calloc(number, size) };
    let (true, Some(bytes)) = (block.is_null(), number.checked_mul(size)) else { return block };
    let slot = reserve::take_small(bytes);
    if !slot.is_null() {
        // SAFETY: a slot of at least that size, which nobody else has.
        unsafe { slot.write_bytes(0, bytes) };
    }
    slot.cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    let held = reserve::size_of(block.cast());
    if held.is_none() {
        // SAFETY: not of the reserve; the caller's promise is the system's.
        let moved = unsafe { __real_realloc(block, size) };
        if !moved.is_null() || block.is_null() || size == 0 {
            // SAFETY: as this function's.
            return if moved.is_null() && block.is_null() { unsafe { __wrap_malloc(size) } } else { moved };
        }
    }
    // Where the system has memory again, the block leaves the reserve; where it has none, the block moves into it.
    // SAFETY: as this function's; a block that is not of the reserve is one of the system's.
    let (moved, held) = unsafe { (__wrap_malloc(size), held.unwrap_or_else(|| malloc_usable_size(block))) };
    if moved.is_null() {
        return null_mut();
    }
    // SAFETY: both blocks are live, apart, and of at least that size; the old one is not used afterwards.
    unsafe {
        moved.cast::<u8>().copy_from_nonoverlapping(block.cast::<u8>(), held.min(size));
        __wrap_free(block);
    }
    moved
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_free(block: *mut c_void) {
    match reserve::size_of(block.cast()) {
        // SAFETY: not of the reserve, so that the system allocated it.
        None => unsafe { __real_free(block) },
        // SAFETY: a slot that `take_small` gave, which is not used afterwards.
        Some(_) => unsafe { reserve::put_back(block.cast()) },
    }
}
