//! A chain whose sizes are fixed for chunks of one shape: the tree of integers and stages that the engine walks.

use super::fused::Fused;
use super::stage::{Size, StageRef, VariableCodec};
use super::streams::check_input;
use crate::dtype::ElementType;
use crate::error::{Result, bail};
use crate::limits::{Dims, Strides};
use smallvec::SmallVec;
use std::sync::Arc;

/// A codec chain for chunks of one shape: a tree, because shards hold chunks.
#[allow(clippy::large_enum_variant)] // one for each shape of chunks, never moved
pub enum BoundChain {
    /// Elements, then bytes→bytes stages.
    Leaf(Leaf),
    /// A shard: an index and inner chunks.
    Sharded(Box<Sharded>),
}

/// How the elements of a decoded chunk are arranged in its buffer.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The type and byte order of the elements.
    pub element: ElementType,
    /// For each dimension of the chunk (in the order that the array's user sees), the distance in bytes between
    /// neighbours. Always a permutation of a dense layout.
    pub strides: Strides,
    /// Bytes of the whole buffer.
    pub bytes: usize,
}

/// A chain without shards: a dense buffer of elements, passed through stages.
pub struct Leaf {
    /// The chunk's shape, in the order that the array's user sees.
    pub shape: Dims,
    /// The buffer before the first stage (and before `variable`).
    pub layout: Layout,
    /// What makes bytes of elements of variable length; `None` for all others, whose bytes are the buffer.
    pub variable: Option<Arc<dyn VariableCodec>>,
    /// Stages in the order of encoding. Empty: the stored bytes are the elements.
    pub stages: Vec<StageRef>,
    /// What is known of the sizes: `sizes[i]` before stage `i`, the last one of the stored bytes. `sizes[0]` is exact
    /// unless elements are of variable length.
    pub sizes: Vec<Size>,
    /// The first stages, if they decode each element by itself.
    pub fused: Option<Arc<Fused>>,
}

impl Leaf {
    /// Whether the stored bytes are the elements as they are.
    pub fn is_raw(&self) -> bool {
        self.stages.is_empty() && self.variable.is_none()
    }

    fn check_encodable(&self) -> Result<()> {
        for (stage, size) in self.stages.iter().zip(&self.sizes) {
            stage.check_writing()?;
            let Size::Exact(n) = *size else { continue };
            check_input(stage.name(), n, stage.unit())?;
            if n > stage.most() {
                let (name, most) = (stage.name(), stage.most());
                bail!(Limit, "a chunk of shape {:?} has {n} bytes for {name}, which takes at most {most}", self.shape.as_slice());
            }
        }
        Ok(())
    }
}

/// The end of a shard at which its index is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexLocation {
    /// Before the inner chunks.
    Start,
    /// After them.
    End,
}

/// A shard (`sharding_indexed`): inner chunks, found through an index of (offset, length).
pub struct Sharded {
    /// The shard's shape, in the order that the array's user sees.
    pub shape: Dims,
    /// For each dimension of the inner grid, the dimension of `shape` that it is (the transposes before sharding).
    pub axes: SmallVec<[usize; 6]>,
    /// The inner chunk's shape, in the inner grid's order of dimensions.
    pub inner_shape: Dims,
    /// The number of inner chunks along each dimension of the inner grid; C order in the index.
    pub grid: Dims,
    /// Where the index is.
    pub location: IndexLocation,
    /// The chain of the index: uint64 of shape `grid + [2]`. Its last size is exact: the bytes to read.
    pub index: Leaf,
    /// The chain of one inner chunk.
    pub inner: BoundChain,
    /// bytes→bytes stages over the whole shard, in the order of encoding; with any, only whole shards can be read.
    pub stages: Vec<StageRef>,
}

impl BoundChain {
    /// The chunk's shape, in the order that the array's user sees.
    pub fn shape(&self) -> &Dims {
        match self {
            BoundChain::Leaf(c) => &c.shape,
            BoundChain::Sharded(c) => &c.shape,
        }
    }

    /// Checks that their codecs encode chunks, the indexes of shards and shards, that these are not too large for them, and whole numbers of their
    /// elements: better when an array is made than when it is written.
    ///
    /// Errors: `Limit`, `Unsupported`.
    pub fn check_encodable(&self) -> Result<()> {
        match self {
            BoundChain::Leaf(leaf) => leaf.check_encodable(),
            BoundChain::Sharded(shard) => {
                shard.index.check_encodable().and_then(|()| shard.inner.check_encodable())?;
                shard.stages.iter().try_for_each(|stage| stage.check_writing())
            }
        }
    }
}
