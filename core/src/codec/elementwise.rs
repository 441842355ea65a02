//! Codecs that make one element of another: how they are stages. The sizes of both buffers follow from the types.

use super::stage::{Dest, Size, Stage};
use super::streams::{check_input, check_whole, decode_known, output};
use crate::dtype::ElementType;
use crate::error::Result;

/// A codec between buffers of elements.
pub(super) trait Elementwise: Send + Sync + 'static {
    /// The codec's name as in metadata, for messages.
    const NAME: &'static str;
    /// Whether each element is decoded by itself.
    const SEPARATE: bool = true;

    /// The decoded and the encoded elements.
    fn types(&self) -> (ElementType, ElementType);

    /// Whether an element of that value changes those behind it when they are decoded.
    fn spoils(&self, element: &[u8]) -> bool {
        let _ = element;
        false
    }

    /// As [`Stage::check_writing`].
    fn check_writing(&self) -> Result<()> {
        Ok(())
    }

    /// Encodes whole elements to as many.
    fn encode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()>;

    /// Decodes whole elements to as many.
    fn decode_to(&self, src: &[u8], dst: &mut [u8]) -> Result<()>;
}

/// The size of a buffer of `n` bytes of `from` after its elements became `to`.
fn converted(n: usize, from: ElementType, to: ElementType) -> usize {
    (n / from.size()).saturating_mul(to.size())
}

impl<C: Elementwise> Stage for C {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn elements(&self) -> Option<(ElementType, ElementType)> {
        C::SEPARATE.then(|| self.types())
    }

    fn keeps_fill(&self) -> bool {
        true
    }

    fn spoils(&self, element: &[u8]) -> bool {
        Elementwise::spoils(self, element)
    }

    fn check_writing(&self) -> Result<()> {
        Elementwise::check_writing(self)
    }

    fn encoded_size(&self, decoded: Size) -> Size {
        let (from, to) = self.types();
        match decoded {
            Size::Exact(n) => Size::Exact(converted(n, from, to)),
            Size::AtMost(n) => Size::AtMost(converted(n, from, to)),
        }
    }

    fn unit(&self) -> usize {
        self.types().0.size()
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>) -> Result<()> {
        let (from, to) = self.types();
        check_input(C::NAME, src.len(), from.size())?;
        self.encode_to(src, output(dst, converted(src.len(), from, to))?)
    }

    fn decode(&self, src: &[u8], dst: Dest<'_>) -> Result<()> {
        let (from, to) = self.types();
        check_whole(C::NAME, src.len(), to.size())?;
        decode_known(dst, converted(src.len(), to, from), &mut |out| self.decode_to(src, out))
    }
}
