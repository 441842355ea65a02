//! Elements of variable length in memory: where each one's bytes are, and what keeps them.
//!
//! The engine moves [`VarItem`]s as it moves any element of 16 bytes. The bytes are in buffers that an [`Arena`] keeps for as long as
//! the items are used: decoded chunks while a region is read, the caller's data while it is written.

use std::sync::Mutex;

/// One element: its bytes. Valid while the buffer that it points into is kept.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct VarItem {
    /// The first byte; of no meaning where `len` is 0.
    pub data: *const u8,
    /// The number of bytes.
    pub len: usize,
}

// SAFETY: an item is a view of bytes that nobody changes while it is used; its maker keeps them.
unsafe impl Send for VarItem {}
// SAFETY: as above.
unsafe impl Sync for VarItem {}

impl VarItem {
    /// A view of `bytes`.
    pub fn new(bytes: &[u8]) -> VarItem {
        VarItem { data: bytes.as_ptr(), len: bytes.len() }
    }

    /// An element without bytes.
    pub const EMPTY: VarItem = VarItem { data: std::ptr::null(), len: 0 };

    /// The bytes.
    ///
    /// # Safety
    /// The buffer that the item points into must live as long as `'a`.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// The item as the bytes of an element.
    pub fn to_element(self) -> super::Element {
        let mut element = super::Element::new();
        element.extend_from_slice(&(self.data as usize).to_ne_bytes());
        element.extend_from_slice(&self.len.to_ne_bytes());
        element
    }
}

/// The items in a buffer of them, which need not be aligned.
///
/// # Safety
/// The buffer holds items.
pub unsafe fn items(buffer: &[u8]) -> impl ExactSizeIterator<Item = VarItem> + '_ {
    // SAFETY: each piece has the size of an item, and by the caller's promise is one.
    buffer.chunks_exact(size_of::<VarItem>()).map(|piece| unsafe { piece.as_ptr().cast::<VarItem>().read_unaligned() })
}

/// Stores `item` as number `i` of a buffer of items, which need not be aligned; `false` where there is no room.
pub fn set(buffer: &mut [u8], i: usize, item: VarItem) -> bool {
    let size = size_of::<VarItem>();
    let Some(piece) = i.checked_mul(size).and_then(|at| buffer.get_mut(at..at.checked_add(size)?)) else { return false };
    // SAFETY: the piece has the size of an item.
    unsafe { piece.as_mut_ptr().cast::<VarItem>().write_unaligned(item) };
    true
}

/// The smallest buffer for copies.
const BLOCK: usize = 64 << 10;

/// Buffers that items point into. Grows only; threads may add at the same time.
#[derive(Debug, Default)]
pub struct Arena(Mutex<Vec<Vec<u8>>>);

impl Arena {
    /// Keeps a buffer. Its bytes stay where they are.
    pub fn keep(&self, bytes: Vec<u8>) {
        if !bytes.is_empty() {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(bytes);
        }
    }

    /// Appends `bytes` to what is kept, and returns where they are; `None` where there is no memory.
    pub fn copy(&self, bytes: &[u8]) -> Option<VarItem> {
        let mut all = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // What has room does not move.
        if all.last().is_none_or(|last| last.capacity() - last.len() < bytes.len()) {
            let mut block = Vec::new();
            block.try_reserve_exact(bytes.len().max(BLOCK)).ok()?;
            all.try_reserve(1).ok()?;
            all.push(block);
        }
        let last = all.last_mut()?;
        let at = last.len();
        last.extend_from_slice(bytes);
        Some(VarItem::new(last.get(at..)?))
    }
}
