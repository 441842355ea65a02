//! Memory straight from the system, in huge pages where it has them and the block is large.

use crate::error::{Result, err};
use crate::platform::{map, page_size, unmap, want_huge_pages};

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
        let page = page_size();
        let huge = bytes >= HUGE && !plain;
        let len = bytes.max(1).checked_next_multiple_of(page).ok_or_else(no_memory)?;
        let first = map(len, if huge { HUGE } else { page }).map_err(|errno| no_memory().with_errno(errno))?;
        if huge {
            want_huge_pages(first.addr(), len);
        }
        Ok(Pages { first, len })
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
        unsafe { unmap(self.first, self.len) };
    }
}
