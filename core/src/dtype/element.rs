//! The bytes of one element: how many there are at most, and in which order.

use crate::error::{Result, err};

/// The most bytes, or code points, of one element of bytes or text.
pub const MAX_LENGTH: u32 = 1 << 24;

/// The bytes of one element. Those of every number live without allocation.
pub type Element = smallvec::SmallVec<[u8; 16]>;

/// Returns an element of zeros: an error instead of an abort when memory is short, for it may have many MiB.
pub fn zeros(size: usize) -> Result<Element> {
    let mut element = Element::new();
    element.try_reserve_exact(size).map_err(|_| err!(NoMemory, "no memory for an element of {size} bytes"))?;
    element.resize(size, 0);
    Ok(element)
}

/// The order of the bytes of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first; the order of every host that the library runs on.
    Little,
    /// Most significant byte first.
    Big,
}

impl ByteOrder {
    /// The order of this host.
    pub const NATIVE: ByteOrder = ByteOrder::Little;
}
