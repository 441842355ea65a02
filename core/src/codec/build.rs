//! What the constructor of a codec gives: a stage, or an array→array codec whose byte orders are still open.

use super::config::Config;
use super::stage::{BYTES, Stage, StageRef};
use crate::dtype::ElementType;
use crate::error::Result;
use std::sync::Arc;

/// A stage, and what leaves it when encoding.
pub(super) struct Built {
    /// The stage.
    pub stage: StageRef,
    /// The elements of the buffer after it; [`BYTES`] where it makes plain bytes.
    pub item: ElementType,
}

impl Built {
    /// A stage that makes plain bytes.
    pub fn bytes(stage: impl Stage + 'static) -> Built {
        Built { stage: Arc::new(stage), item: BYTES }
    }
}

/// An array→array codec that changes values but no shape, before it is bound to byte orders.
pub(super) struct ArrayCodec {
    /// The elements before it, in the order of encoding.
    pub from: ElementType,
    /// The elements after it.
    pub to: ElementType,
    /// Whether the result depends on the order of the elements in the buffer.
    pub depends_on_order: bool,
    /// The stage between `from` and `to`, in byte orders of the caller's choice.
    make: Box<dyn Fn(ElementType, ElementType) -> StageRef>,
}

impl ArrayCodec {
    /// Makes a codec that changes each element by itself.
    pub fn new(from: ElementType, to: ElementType, make: impl Fn(ElementType, ElementType) -> StageRef + 'static) -> ArrayCodec {
        ArrayCodec { from, to, depends_on_order: false, make: Box::new(make) }
    }

    /// Says that the result depends on the order of the elements.
    pub fn ordered(self) -> ArrayCodec {
        ArrayCodec { depends_on_order: true, ..self }
    }

    /// The stage between elements `from` and `to` (the codec's types in any byte order).
    pub fn stage(&self, from: ElementType, to: ElementType) -> StageRef {
        (self.make)(from, to)
    }

    /// The stage in the codec's own byte orders, as in v2.
    pub fn built(&self) -> Built {
        Built { stage: self.stage(self.from, self.to), item: self.to }
    }
}

/// Makes a stage from its configuration and the elements of the buffer that enters it ([`BYTES`] for plain bytes).
pub(super) type Constructor = fn(&Config<'_>, ElementType) -> Result<Built>;

/// How a codec is made. v2 knows no classes: there, each is a stage at its place.
#[derive(Clone, Copy)]
pub(super) enum Make {
    /// v3: bytes→bytes.
    Bytes(Constructor),
    /// v3: array→bytes, over the elements in native order.
    Serial(Constructor),
    /// v3: array→array, changing values but no shape.
    Array(fn(&Config<'_>, ElementType) -> Result<ArrayCodec>),
}
