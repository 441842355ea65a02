//! Memory for large regions, in huge pages where the system has them.
//!
//! Of an uncompressed read into fresh memory most of the time is page faults, one for each 4 KiB. Here large blocks begin at a multiple
//! of 2 MiB and are advised to be huge pages: 512 times fewer faults, taken by the threads that fill the memory. The blocks that are in
//! use stand in a table, so that what is none of them is told and not freed.

use crate::error::{Error, ErrorKind, Result, err};
use crate::fork::Kept;
use std::collections::BTreeMap;

/// The size of a huge page; blocks of at least this many bytes begin at a multiple of it.
pub const HUGE: usize = 2 << 20;

/// The blocks in use: where they are mapped, and how many bytes.
static BLOCKS: crate::fork::Lazy<Kept<BTreeMap<usize, usize>>> = crate::fork::Lazy::new(Kept::default);

/// A block of at least so many bytes, all 0, at the beginning of a page; large ones in huge pages unless `plain`.
pub fn allocate(bytes: usize, plain: bool) -> Result<*mut u8> {
    let no_memory = || err!(NoMemory, "no memory for a buffer of {bytes} bytes");
    // SAFETY: sysconf has no preconditions.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let huge = bytes >= HUGE && !plain;
    let align = if huge { HUGE } else { page };
    let len = bytes.max(1).checked_next_multiple_of(page).ok_or_else(no_memory)?;
    let mapped = if huge { len.checked_add(HUGE - page).ok_or_else(no_memory)? } else { len };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping anywhere.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        let e = std::io::Error::last_os_error();
        return Err(no_memory().with_errno(e.raw_os_error().unwrap_or(0)));
    }
    let before = (start as usize).next_multiple_of(align) - start as usize;
    let first = start.wrapping_byte_add(before);
    // SAFETY: the ends of the new mapping, whole pages of it that nobody has; advice that the kernel may leave.
    unsafe {
        if before > 0 {
            libc::munmap(start, before);
        }
        if mapped - len > before {
            libc::munmap(first.wrapping_byte_add(len), mapped - len - before);
        }
        if huge {
            libc::madvise(first, len, libc::MADV_HUGEPAGE);
        }
    }
    BLOCKS.get().write(|blocks| blocks.insert(first as usize, len));
    Ok(first.cast())
}

/// Gives a block back. What is none, or is one no more, is an error of kind `InvalidHandle`, and stays as it is.
pub fn free(block: *mut u8) -> Result<()> {
    let Some(len) = BLOCKS.get().write(|blocks| blocks.remove(&(block as usize))) else {
        return Err(Error::new(ErrorKind::InvalidHandle, format!("no buffer of ozarr begins at {block:p}, or it was freed before")));
    };
    // SAFETY: a mapping of that length that was made above, and nobody else gives it back.
    unsafe { libc::munmap(block.cast(), len) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_zero_and_freed_once() {
        for (bytes, plain, align) in [
            (0, false, 4096),
            (1, false, 4096),
            (HUGE - 1, false, 4096),
            (HUGE, false, HUGE),
            (5 << 20, false, HUGE),
            (5 << 20, true, 4096),
        ] {
            let block = allocate(bytes, plain).unwrap();
            assert_eq!(block as usize % align, 0);
            // SAFETY: a block of so many bytes.
            let all = unsafe { std::slice::from_raw_parts_mut(block, bytes.max(1)) };
            assert!(all.iter().all(|&b| b == 0));
            all.fill(7);
            assert_eq!(free(block.wrapping_add(1)).unwrap_err().kind(), ErrorKind::InvalidHandle);
            free(block).unwrap();
            assert_eq!(free(block).unwrap_err().kind(), ErrorKind::InvalidHandle);
        }
        assert_eq!(allocate(usize::MAX, false).unwrap_err().kind(), ErrorKind::NoMemory);
        assert_eq!(allocate(1 << 62, false).unwrap_err().kind(), ErrorKind::NoMemory);
    }
}
