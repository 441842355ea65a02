//! Memory for large regions, in huge pages where the system has them.
//!
//! Of an uncompressed read into fresh memory most of the time is page faults, one for each 4 KiB. Here large blocks begin at a multiple
//! of 2 MiB and are advised to be huge pages: 512 times fewer faults, taken by the threads that fill the memory. The blocks that are in
//! use are listed in a table, so that the address of anything else is refused and not freed.

use crate::engine::huge_pages::Pages;
use crate::error::{Error, ErrorKind, Result};
use crate::fork::ForkPreserved;
use std::collections::HashMap;

/// The blocks in use, by where they begin.
static BLOCKS: crate::fork::Lazy<ForkPreserved<HashMap<usize, Pages>>> = crate::fork::Lazy::new(ForkPreserved::default);

/// Allocates at least `bytes` bytes, all 0, at the beginning of a page; large blocks in huge pages unless `plain`.
pub fn allocate(bytes: usize, plain: bool) -> Result<*mut u8> {
    let pages = Pages::new(bytes, plain)?;
    let first = pages.first();
    BLOCKS.get().write(|blocks| blocks.insert(first as usize, pages));
    Ok(first)
}

/// Frees a block. Any other address, or one freed before, is an error of kind `InvalidHandle` and changes nothing.
pub fn free(block: *mut u8) -> Result<()> {
    match BLOCKS.get().write(|blocks| blocks.remove(&(block as usize))) {
        Some(pages) => {
            drop(pages);
            Ok(())
        }
        None => Err(Error::new(ErrorKind::InvalidHandle, format!("no buffer of ozarr begins at {block:p}, or it was freed before"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::huge_pages::HUGE;

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
            // SAFETY: the block has at least `bytes` bytes.
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
