//! The bytes of one element: how many there are at most, and in which order.

/// The most bytes, or code points, of one element of bytes or text.
pub const MAX_LENGTH: u32 = 1 << 24;

/// The bytes of one element. Those of every number live without allocation.
pub type Element = smallvec::SmallVec<[u8; 16]>;

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
