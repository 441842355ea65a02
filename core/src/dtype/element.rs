//! The bytes of one element: how many there are at most, and in which order.

use crate::error::{Result, err};
use crate::limits;
use std::ops::Deref;
use std::sync::Arc;

/// The most bytes, or code points, of one element of bytes or text.
pub const MAX_LENGTH: u32 = 1 << 24;

/// The bytes of one element. Those of every number live without allocation.
pub type Element = smallvec::SmallVec<[u8; 16]>;

/// The bytes of an element that change no more: copies share long ones.
#[derive(Clone)]
pub struct SharedElement(Bytes);

#[derive(Clone)]
enum Bytes {
    Short(Element),
    Long(Arc<[u8]>),
}

impl SharedElement {
    /// The element with these bytes; an error instead of an abort when memory is short.
    pub fn new(bytes: &[u8]) -> Result<SharedElement> {
        limits::with_spare(limits::shared_bytes::<u8>(bytes.len()), || SharedElement::of_few(bytes))
    }

    /// The element with these few bytes.
    pub fn of_few(bytes: &[u8]) -> SharedElement {
        let is_short = bytes.len() <= Element::new().inline_size();
        SharedElement(if is_short { Bytes::Short(Element::from_slice(bytes)) } else { Bytes::Long(bytes.into()) })
    }

    /// A copy that can be changed; an error instead of an abort when memory is short.
    pub fn to_element(&self) -> Result<Element> {
        let mut element = zeros(self.len())?;
        element.copy_from_slice(self);
        Ok(element)
    }
}

impl Deref for SharedElement {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short(bytes) => bytes,
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl PartialEq for SharedElement {
    fn eq(&self, other: &SharedElement) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for SharedElement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, f)
    }
}

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
