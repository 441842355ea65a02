//! What a codec is once its configuration is read: a [`Stage`] between bytes, or a [`VariableCodec`].

use crate::dtype::{ByteOrder, DataType, ElementType};
use crate::error::Result;
use crate::limits;
use std::any::Any;
use std::sync::Arc;

/// The elements of plain bytes.
pub(super) const BYTES: ElementType = ElementType { data_type: DataType::UInt8, order: ByteOrder::NATIVE };

/// What is known of a size before the bytes are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exactly this number of bytes.
    Exact(usize),
    /// At most this number of bytes.
    AtMost(usize),
}

impl Size {
    /// The largest size that is possible.
    pub fn max(self) -> usize {
        match self {
            Size::Exact(n) | Size::AtMost(n) => n,
        }
    }
}

/// Where a stage puts what it decodes.
pub enum Dest<'a> {
    /// Exactly this many bytes are expected: fewer or more is an error of kind `Chunk` with both numbers.
    Exact(&'a mut [u8]),
    /// The buffer is cleared and becomes the decoded bytes, at most this number of them (one more is an error of kind `Chunk`).
    AtMost(&'a mut Vec<u8>, usize),
    /// As `AtMost`; before more than [`FIRST_ROOM`] bytes are decoded, the function is given the first [`FIRST_BYTES`] of them, and its
    /// error ends the decoding. Codecs that cannot make many bytes of few need not call it.
    Checked(&'a mut Vec<u8>, usize, CheckFirst<'a>),
}

/// Looks at the first decoded bytes of a chunk that turns out to be long.
pub type CheckFirst<'a> = &'a dyn Fn(&[u8]) -> Result<()>;

/// What may be decoded before the first bytes are looked at.
pub const FIRST_ROOM: usize = 1 << 20;
/// How many of the first bytes are looked at.
pub const FIRST_BYTES: usize = 1 << 16;

impl<'a> Dest<'a> {
    /// The most bytes that may be decoded.
    pub(super) fn most(&self) -> usize {
        match self {
            Dest::Exact(d) => d.len(),
            Dest::AtMost(_, max) | Dest::Checked(_, max, _) => *max,
        }
    }

    /// Separates the function that looks at the first bytes.
    pub(super) fn split(self) -> (Dest<'a>, Option<CheckFirst<'a>>) {
        match self {
            Dest::Checked(buf, max, check) => (Dest::AtMost(buf, max), Some(check)),
            plain => (plain, None),
        }
    }

    /// Has the first bytes looked at where `n` are announced, which `decode` brings, as many as it is given room for.
    pub(super) fn check_first(self, n: usize, decode: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<Dest<'a>> {
        let (plain, check) = self.split();
        if let Some(check) = check.filter(|_| n > FIRST_ROOM) {
            let mut first = Vec::new();
            decode(limits::grow(&mut first, FIRST_BYTES)?)?;
            check(&first)?;
        }
        Ok(plain)
    }
}

/// One step between bytes and bytes: a compressor, a checksum, or a kernel over typed elements (delta, astype).
///
/// Stages are stateless; contexts of codec libraries are kept by thread, inside the codec's file.
/// Errors say what is wrong with the bytes (kinds `Chunk`, `Checksum`, `Truncated`, `Limit`); the engine adds the key.
pub trait Stage: Any + Send + Sync {
    /// The codec's name as in metadata, for messages.
    fn name(&self) -> &'static str;

    /// What is known of the encoded size, given the size of what is encoded. The default is a bound for compressors, looser than any one
    /// library's own, because the bytes may come from another writer; it only bounds what a damaged chunk can make the library allocate.
    fn encoded_size(&self, decoded: Size) -> Size {
        let n = decoded.max();
        Size::AtMost(n.saturating_add(n / 4).saturating_add(1 << 16))
    }

    /// The most bytes that it encodes at once.
    fn most(&self) -> usize {
        usize::MAX
    }

    /// Refuses what is decoded only: better when an array is made than when it is written.
    fn check_writing(&self) -> Result<()> {
        Ok(())
    }

    /// It encodes a multiple of this number of bytes only.
    fn unit(&self) -> usize {
        1
    }

    /// Encodes `src` into `dst`, which is cleared first.
    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()>;

    /// Decodes `src` into `dst`. Never reads past `src`, never allocates more than `dst`'s size and a small constant.
    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()>;

    /// Decodes only bytes `[offset, offset + dst.len())` of the decoded `total` bytes, where that is cheaper than all;
    /// `None` where it is not.
    fn decode_range(&self, src: &[u8], total: usize, offset: usize, dst: &mut [u8]) -> Option<Result<()>> {
        let _ = (src, total, offset, dst);
        None
    }

    /// Of a checksum, and of what has one inside: the same stage without the comparison when decoding.
    fn unverified(&self) -> Option<StageRef> {
        None
    }

    /// The decoded and the encoded elements, of a codec that decodes each element by itself: then any run of whole elements can be
    /// decoded alone.
    fn elements(&self) -> Option<(ElementType, ElementType)> {
        None
    }

    /// Whether an array's fill value must come back from it as it was.
    fn keeps_fill(&self) -> bool {
        false
    }

    /// Whether an element of that value, encoded, changes those behind it.
    fn spoils(&self, element: &[u8]) -> bool {
        let _ = element;
        false
    }

    /// Whether any thread may use it: not so for codecs of the program that do not say so.
    fn any_thread(&self) -> bool {
        true
    }

    /// Returns this stage for buffers of elements of `shape` (C order), if its bytes depend on the shape; called once, when the chain
    /// is bound.
    fn for_shape(&self, shape: &[u64]) -> Result<Option<StageRef>> {
        let _ = shape;
        Ok(None)
    }
}

/// A stage, shared by the chains bound for different shapes.
pub type StageRef = Arc<dyn Stage>;

/// The array→bytes codec of elements of variable length, which are [`VarItem`](crate::dtype::variable::VarItem)s in memory.
///
/// Stateless, as [`Stage`]s are.
pub trait VariableCodec: Send + Sync {
    /// The codec's name as in metadata, for messages.
    fn name(&self) -> &'static str;

    /// Encodes a buffer of items (each as its bytes), the elements of a chunk of that shape, into `dst`, which is cleared first.
    /// Elements that the data type does not allow are errors of kind `Range`.
    fn encode(&self, items: &[u8], shape: &[u64], dst: &mut Vec<u8>) -> Result<()>;

    /// Looks at the first of more decoded bytes than [`FIRST_ROOM`]: an error where they cannot be those of `count` items.
    fn check_first(&self, first: &[u8], count: usize) -> Result<()> {
        let _ = (first, count);
        Ok(())
    }

    /// Decodes `bytes` into exactly as many items as the buffer `items` has room for. They point into the buffer that is returned,
    /// which the caller keeps for as long as it uses them.
    fn decode(&self, bytes: Vec<u8>, items: &mut [u8]) -> Result<Vec<u8>>;

    /// Whether an array's fill value must come back from it as it was.
    fn keeps_fill(&self) -> bool {
        false
    }

    /// Refuses what is decoded only, or not as it was.
    fn check_writing(&self) -> Result<()> {
        Ok(())
    }

    /// Of what has checksums inside: the same codec without their comparison when decoding.
    fn unverified(&self) -> Option<Arc<dyn VariableCodec>> {
        None
    }

    /// Whether any thread may use it: not so where it has codecs of the program inside.
    fn any_thread(&self) -> bool {
        true
    }

    /// The elements of the encoded buffer, for the stages behind.
    fn encoded_item(&self) -> ElementType {
        BYTES
    }
}
