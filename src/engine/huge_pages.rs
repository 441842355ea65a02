//! Memory straight from the system, in huge pages where it has them and the block is large.

use crate::error::{Result, err};
use crate::platform::want_huge_pages;

/// The size of a huge page; blocks of at least this many bytes begin at a multiple of it.
pub const HUGE: usize = 2 << 20;

/// A block of memory, all 0 at first. It is given back when it is dropped.
pub struct Pages {
    first: *mut u8,
    len: usize,
}

// SAFETY: nothing but an address and a length; each access to the memory is unsafe by itself.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// Maps at least `bytes`, from the beginning of a page; large blocks in huge pages unless `plain`.
    pub fn new(bytes: usize, plain: bool) -> Result<Pages> {
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
        // SAFETY: the ends of the new mapping, whole pages of it that are given to nothing yet.
        unsafe {
            if before > 0 {
                libc::munmap(start, before);
            }
            if mapped - len > before {
                libc::munmap(first.wrapping_byte_add(len), mapped - len - before);
            }
        }
        if huge {
            want_huge_pages(first.addr(), len);
        }
        Ok(Pages { first: first.cast(), len })
    }

    /// Returns the first byte.
    pub fn first(&self) -> *mut u8 {
        self.first
    }

    /// Returns how many bytes there are.
    pub fn size(&self) -> usize {
        self.len
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: a mapping of that length that was made above, and given back only here.
        unsafe { libc::munmap(self.first.cast(), self.len) };
    }
}
